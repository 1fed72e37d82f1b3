-- lzc.lua - the compiler of Lua functions by itself, and kernels made by it.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local build = assert(os.getenv "LZE_TEST_BUILD")
local lzc = assert(package.loadlib(build .. "/spec/lzc.so", "luaopen_lzc"))()

-- The device's kernel of `f`, and a call of it that adds hidden arguments.
function lzc.kernel(f, types, options)
  local spirv, hidden = lzc.compile(f, types, options)
  assert(spirv, hidden)
  -- The validator does not know that OpenCL has an extension for these.
  local sound, why = lze.spirv.validate(spirv)
  assert(sound or why:find "Int64Atomics", why)
  local k = lze.module(spirv).k
  local indices = 0
  for _, t in ipairs(types) do indices = indices + (t == "id" and 1 or 0) end
  return function(range, ...)
    local arguments = {...}
    local n = #types - indices
    for i, h in ipairs(hidden) do
      if h.kind == "length" then
        arguments[n + i] = #arguments[h.argument]
      else
        local name, value = h.name, nil
        for u = 1, 255 do
          local at, v = debug.getupvalue(f, u)
          if at == name then value = v break end
          if not at then break end
        end
        arguments[n + i] = value
      end
    end
    k(range, table.unpack(arguments, 1, n + #hidden))
  end
end

return lzc
