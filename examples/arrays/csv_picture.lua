-- csv_picture.lua - turns a table of numbers into a picture: each row of a CSV
-- file is a place and a height, which become a grey map with the mean height of
-- each point; checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/csv_picture.lua [FILE.csv [FILE.png]]
--
-- The file has columns x, y and z under a header.  Without a file, the example
-- writes one of its own.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local file, picture = arg[1], arg[2]
if arg[3] or file and not file:find "%.csv$" then
  io.stderr:write("usage: lua5.4 examples/arrays/csv_picture.lua " ..
    "[FILE.csv [FILE.png]]", "\n")
  os.exit(1)
end

local SIDE <const> = 64
if not file then
  file = os.tmpname() .. ".csv"
  A.seed(2)
  local x, y = A.rand(20000), A.rand(20000)
  local z = (x * 9):sin() * (y * 7):cos()
  A.stack({x, y, z}, 2):save(file, {header = {"x", "y", "z"}})
end
local rows = A.load(file, {skip = 1, columns = {1, 2, 3}})
if not arg[1] then
  os.remove(file)
  os.remove((file:gsub("%.csv$", "")))
end

-- Returns the point of each row along one dimension, from 0.
local function points(v)
  local least, most = v:min(), v:max()
  return ((v - least) / (most - least) * SIDE):floor():clamp(0, SIDE - 1)
    :to "long"
end
local column, line = points(rows[{{}, 1}]), points(rows[{{}, 2}])
local place = (line * SIDE + column + 1):eval()
local heights = rows[{{}, 3}]
local count = place:bincount({size = SIDE * SIDE})
local sums = place:bincount({size = SIDE * SIDE, weights = heights})
local means = A.where(count:gt(0), sums / count:clamp(1, math.huge), 0)
local least, most = means:min(), means:max()
local grey = ((means - least) / (most - least) * 255 + 0.5):to "uchar"
if picture then grey:reshape {SIDE, SIDE}:save(picture) end

-- The same means in plain Lua.
local numbers, sum, seen = rows:table(), {}, {}
for i, at in ipairs(place:read()) do
  sum[at], seen[at] = (sum[at] or 0) + numbers[i][3], (seen[at] or 0) + 1
end
for at, mean in ipairs(means:read()) do
  local expected = seen[at] and sum[at] / seen[at] or 0
  if math.abs(mean - expected) > 1e-4 * (1 + math.abs(expected)) then
    error(("point %d is %g, plain Lua has %g"):format(at, mean, expected), 0)
  end
end
print(("%d rows, %d x %d points, on %s"):format(#rows, SIDE, SIDE,
  rows.device.name))
print(("  heights from %.3f to %.3f"):format(least:item(), most:item()))
