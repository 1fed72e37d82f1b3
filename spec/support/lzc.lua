-- lzc.lua - the compiler of Lua functions alone, and kernels compiled by it.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local build = assert(os.getenv "LZE_TEST_BUILD")
local lzc = assert(package.loadlib(build .. "/spec/lzc.so", "luaopen_lzc"))()

-- Returns a function that launches the kernel of `f` and adds the values that f
-- captures.
function lzc.kernel(f, types, options)
  local spirv, hidden = lzc.compile(f, types, options)
  assert(spirv, hidden)
  -- The validator does not allow OpenCL's extension for 64-bit atomics.
  local sound, why = lze.spirv.validate(spirv)
  assert(sound or why:find "Int64Atomics", why)
  local k = lze.module(spirv).k
  local indices = 0
  for _, t in ipairs(types) do indices = indices + (t == "id" and 1 or 0) end
  return function(range, ...)
    local arguments = {...}
    local n = #types - indices
    for _, h in ipairs(hidden) do
      if h.kind ~= "length" then        -- lze finds lengths by itself
        local value
        for u = 1, 255 do
          local at, v = debug.getupvalue(f, u)
          if at == h.name then value = v break end
          if not at then break end
        end
        n = n + 1
        arguments[n] = value
      end
    end
    k(range, table.unpack(arguments, 1, n))
  end
end

return lzc
