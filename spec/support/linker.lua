-- linker.lua - a script in place of PoCL's linker that counts its runs.
-- SPDX-License-Identifier: MIT
--
-- PoCL starts `ld` once for each kernel that it compiles for a group size, so
-- the count is the number of compilations.

local process = require "spec.support.process"

local linker = {}

-- Puts the script into `dir`. Returns the PATH on which PoCL finds it.
local function install(dir)
  process.write(dir .. "/ld", ([[
#!/bin/sh
echo >>'%s/linked'
PATH=${PATH#*:} exec ld "$@"
]]):format(dir))
  assert(os.execute(("chmod +x '%s/ld'"):format(dir)))
  return dir .. ":" .. os.getenv "PATH"
end

-- Runs a script in a process with its own caches. There `lze` is loaded, and
-- compiled() returns the number of compilations so far. Returns its output.
function linker.output(script, seconds)
  local output
  process.with_directory(function(dir)
    output = process.output(([[
      local lze = require "lze"
      local function compiled()
        local file <close> = io.open "%s/linked"
        return file and #file:read "a" or 0
      end
    ]]):format(dir) .. script, {env = {POCL_CACHE_DIR = dir .. "/pocl",
      XDG_CACHE_HOME = dir, PATH = install(dir)}, seconds = seconds})
  end)
  return output
end

return linker
