-- linker.lua - a script in place of PoCL's linker, which counts its runs.
-- SPDX-License-Identifier: MIT
--
-- PoCL starts `ld` once for each kernel that it compiles for a group size, so
-- the count says what was compiled, whatever PoCL's cache looks like.

local process = require "spec.support.process"

local linker = {}

-- Puts the script into `dir`; returns the PATH on which PoCL finds it.
function linker.install(dir)
  process.write(dir .. "/ld", ([[
#!/bin/sh
echo >>'%s/linked'
PATH=${PATH#*:} exec ld "$@"
]]):format(dir))
  assert(os.execute(("chmod +x '%s/ld'"):format(dir)))
  return dir .. ":" .. os.getenv "PATH"
end

-- Lua code that defines compiled(), which returns the number of runs so far.
function linker.counter(dir)
  return ([[
    local function compiled()
      local file <close> = io.open "%s/linked"
      return file and #file:read "a" or 0
    end
  ]]):format(dir)
end

return linker
