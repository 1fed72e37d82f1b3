-- luacheck's settings for the examples, the suite and the packaging.
std = "lua54"
max_line_length = 80
-- A kernel in Lua names its arguments as the script does what it passes.
files["spec"] = { std = "lua54+busted", ignore = { "431" } }
files["bench/lua_kernels.lua"] = { ignore = { "431" } }
files["rockspec"] = { std = "rockspec" }
exclude_files = { "build" }
