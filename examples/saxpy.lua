-- saxpy.lua - y = a * x + y over n floats, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/saxpy.lua [n]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local n = tonumber(arg[1] or 1 << 24)
local a = 2.0

-- Small whole numbers: floats and Lua's doubles then agree to the last bit.
local xs, ys = {}, {}
for i = 1, n do xs[i], ys[i] = i % 1000, i % 777 end

local x <close> = lze.buffer("float", xs)
local y <close> = lze.buffer("float", ys)
local saxpy = lze.load "saxpy".saxpy

-- Returns milliseconds from the call to the end.
local function elapsed(ev)
  local t = ev:time()
  return (t.end_ns - t.queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.  With a = 0 that launch
-- leaves y unchanged.
local first = elapsed(saxpy:launch(n, 0.0, x, y))
local ms = elapsed(saxpy:launch(n, a, x, y))

local start = os.clock()
for i = 1, n do ys[i] = a * xs[i] + ys[i] end
local lua_ms = (os.clock() - start) * 1e3

-- Read in pieces: a table of n numbers is four times the size of the buffer.
local piece = {}
for i = 1, n, 65536 do
  local last = math.min(i + 65535, n)
  y:read(i, last, piece)
  for j = i, last do
    if piece[j - i + 1] ~= ys[j] then
      error(("y[%d] is %s, not %s"):format(j, piece[j - i + 1], ys[j]), 0)
    end
  end
end

local _, _, _, why = saxpy:group(n)
print(("saxpy of %d floats on %s"):format(n, lze.device().name))
print(("  %8.1f ms  a launch (the first one %.1f ms)"):format(ms, first))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms, lua_ms / ms))
print("  group: " .. why)
print("  every element is what plain Lua says")
