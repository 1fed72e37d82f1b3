-- kmeans.lua - points gathered round their centres, in whole arrays;
-- checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/kmeans.lua [POINTS [CENTRES]]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local n = math.tointeger(tonumber(arg[1] or 20000))
local k = math.tointeger(tonumber(arg[2] or 8))
if arg[3] or not n or not k or k < 1 or n < k then
  io.stderr:write("usage: lua5.4 examples/arrays/kmeans.lua " ..
    "[POINTS [CENTRES]]\nCENTRES are at least 1, POINTS as many", "\n")
  os.exit(1)
end
local iterations <const> = 10

-- Clouds around k places, of whole numbers.
A.seed(7)
local points = A.randint({k, 2}, 4000, 28000):take(A.arange(n) % k + 1, 1) +
  A.randint({n, 2}, -1500, 1500) + A.randint({n, 2}, -1500, 1500)
points:eval()

local x, y = points[{{}, {1, 1}}], points[{{}, {2, 2}}]      -- {n, 1}
local cx, cy = x[{{1, k}, 1}]:clone(), y[{{1, k}, 1}]:clone() -- {k}
local numbers, nearest = A.arange(k), nil
local function iterate()
  local dx, dy = x - cx, y - cy                               -- {n, k}
  nearest = (dx * dx + dy * dy):argmin {dim = 2}
  local mine = nearest:reshape {n, 1}:eq(numbers):eval()
  local count = mine:count {dim = 1}
  local some = count:max(1)
  cx = A.where(count:gt(0), (mine * x):sum {dim = 1} // some, cx):eval()
  cy = A.where(count:gt(0), (mine * y):sum {dim = 1} // some, cy):eval()
end
iterate() -- the first iterations compile
iterate()
local start = os.clock()
for _ = 3, iterations do iterate() end
local centres = A.stack({cx, cy}, 2):table()
local ms = (os.clock() - start) * 1e3 / (iterations - 2)

-- The same in plain Lua.
local list, px, py, mine = points:table(), {}, {}, {}
for c = 1, k do px[c], py[c] = list[c][1], list[c][2] end
for _ = 1, iterations do
  local sx, sy, count = {}, {}, {}
  for c = 1, k do sx[c], sy[c], count[c] = 0, 0, 0 end
  for i, p in ipairs(list) do
    local best, least = 0, math.huge
    for c = 1, k do
      local dx, dy = p[1] - px[c], p[2] - py[c]
      local distance = dx * dx + dy * dy
      if distance < least then best, least = c, distance end
    end
    mine[i] = best
    sx[best], sy[best] = sx[best] + p[1], sy[best] + p[2]
    count[best] = count[best] + 1
  end
  for c = 1, k do
    if count[c] > 0 then
      px[c], py[c] = sx[c] // count[c], sy[c] // count[c]
    end
  end
end
for i, c in ipairs(nearest:read()) do
  if c ~= mine[i] then
    error(("point %d belongs to centre %d, not %d"):format(i, c, mine[i]), 0)
  end
end
for c, at in ipairs(centres) do
  if at[1] ~= px[c] or at[2] ~= py[c] then
    error(("centre %d is at %d, %d, not %d, %d"):format(c, at[1], at[2], px[c],
      py[c]), 0)
  end
end
print(("%d points round %d centres, on %s"):format(n, k, points.device.name))
print(("  %.2f ms an iteration, of the processor"):format(ms))
print "  every point and centre is where plain Lua says"
