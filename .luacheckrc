-- luacheck's settings for the examples, the suite and the packaging.
std = "lua54"
max_line_length = 80
files["spec"] = { std = "lua54+busted" }
files["rockspec"] = { std = "rockspec" }
exclude_files = { "build" }
