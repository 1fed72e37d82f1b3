-- tiled.lua - large buffers of data that Lua computes quickly.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

-- Data repeat after this many elements: a prime, so that no kernel's stride
-- meets the same elements again, and few enough to compute them in Lua.
local tiled = {PERIOD = 65521}
local PERIOD <const> = tiled.PERIOD

-- Returns a buffer of n elements that f returns, a function that returns an
-- element of that buffer, and the period; both functions count from 0.  For
-- vectors, f returns lane after lane, and the returned function takes the
-- element and the lane.
function tiled.buffer(type, n, f)
  local base, lanes = type:match "^(%a+)(%d+)$"
  lanes = math.tointeger(tonumber(lanes)) or 1
  local values, count = {}, math.min(n, PERIOD) * lanes
  for i = 1, count do values[i] = f(i - 1) end
  local block <close> = lze.buffer(base or type, values)
  local x = lze.buffer(type, n)
  local all = x:view(1, n, base or type)
  for at = 1, #all, #block do
    all:copy(block, 1, math.min(#block, #all - at + 1), at)
  end
  if lanes == 1 then
    return x, function(i) return f(i % PERIOD) end, PERIOD
  end
  return x, function(i, lane) return f(i % PERIOD * lanes + lane) end, PERIOD
end

return tiled
