-- vector_add.lua - c = a + b over n floats, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/vector_add.lua [n]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local n = math.tointeger(tonumber(arg[1] or 1 << 22))
local most = 1 << 24 -- plain Lua's tables take 16 bytes for each number
if not n or n < 1 or n > most or arg[2] then
  io.stderr:write("usage: lua5.4 examples/vector_add.lua [n]\n" ..
    "n, how many floats, is a whole number from 1 to " .. most, "\n")
  os.exit(1)
end

-- Small whole numbers: floats and Lua's doubles then agree to the last bit.
local as, bs = {}, {}
for i = 1, n do as[i], bs[i] = i % 1000, i % 777 end

local a <close> = lze.buffer("float", as)
local b <close> = lze.buffer("float", bs)
local c <close> = lze.buffer("float", n)
local vector_add = lze.load "vector_add".vector_add

-- Returns milliseconds from the call to the end.
local function elapsed(ev)
  local t = ev:time()
  return (t.end_ns - t.queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.
local first = elapsed(vector_add:launch(n, a, b, c))
c:fill(-1)
lze.wait()
local ms = elapsed(vector_add:launch(n, a, b, c))

local start = os.clock()
local cs = {}
for i = 1, n do cs[i] = as[i] + bs[i] end
local lua_ms = (os.clock() - start) * 1e3

for i, value in ipairs(c:read()) do
  if value ~= cs[i] then
    error(("c[%d] is %s, not %s"):format(i, value, cs[i]), 0)
  end
end

local _, _, _, why = vector_add:group(n)
print(("vector_add of %d floats on %s"):format(n, lze.device().name))
print(("  %8.1f ms  a launch (the first one %.1f ms)"):format(ms, first))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms, lua_ms / ms))
print("  group: " .. why)
print("  every element is what plain Lua says")
