-- process.lua - runs scripts in separate processes.
-- SPDX-License-Identifier: MIT

local process = {}

local function quoted(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- The program that runs a script from its standard input: the interpreter that
-- runs this, or the host program, as only that can load a sanitizer build.
local lowest = 0
while arg and arg[lowest - 1] do lowest = lowest - 1 end
process.lua = lowest < 0 and arg[lowest] or
  (os.getenv "LZE_TEST_BUILD" or "build") .. "/spec/host"
process.hosted = lowest == 0
-- The command that runs the script in a file whose name follows.
process.runner = process.lua .. (process.hosted and " --script" or "")

-- Returns true if `script` is installed, which gives a program a terminal.
function process.has_terminals()
  return os.execute "command -v script >/dev/null"
end

-- Run a script; options: env ({NAME = value, or false to unset}; ASAN_OPTIONS
-- is added to the current value), before (lines of shell), seconds (the time
-- limit).  Returns {output, how, code}: the output of both streams, and the
-- results of io.close.
function process.run(script, options)
  options = options or {}
  local env = {}
  for name, value in pairs(options.env or {}) do
    local inherited = name == "ASAN_OPTIONS" and os.getenv(name)
    if inherited then value = inherited .. ":" .. value end
    env[#env + 1] = value and quoted(name .. "=" .. value) or
      "-u " .. quoted(name)
  end
  table.sort(env, function(a, b) return a > b end) -- -u comes first
  local mark = "END OF SCRIPT"
  local command = ("exec 2>&1\n%s\n" ..
      "exec timeout -s KILL %d env %s %s - <<'%s'\n%s\n%s\n"):format(
    options.before or "", options.seconds or 60, table.concat(env, " "),
    quoted(process.lua), mark, script, mark)
  local pipe = assert(io.popen(command, "r"))
  local output = pipe:read "a"
  local _, how, code = pipe:close()
  return {output = output, how = how, code = code}
end

-- Returns the output of a script that succeeds; anything else is an error.
function process.output(script, options)
  local r = process.run(script, options)
  if r.how ~= "exit" or r.code ~= 0 then
    error(("%s %d:\n%s"):format(r.how, r.code, r.output), 2)
  end
  return r.output
end

-- Call f with the path of a new, empty directory, which is removed afterwards.
function process.with_directory(f)
  local pipe = assert(io.popen("mktemp -d", "r"))
  local path = pipe:read "l"
  assert(pipe:close())
  local ok, err = pcall(f, path)
  os.execute("chmod -R u+rwX " .. quoted(path) .. "; rm -rf " .. quoted(path))
  if not ok then error(err, 0) end
end

-- Write a file with these bytes.
function process.write(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(bytes))
end

return process
