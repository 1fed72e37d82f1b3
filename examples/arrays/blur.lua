-- blur.lua - a picture and its blurred copy, by sums of views; checked
-- against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/blur.lua [SIDE [FILE.png]]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local side = math.tointeger(tonumber(arg[1] or 256))
local file = arg[2]
if arg[3] or not side or side < 16 or side > 8192 then
  io.stderr:write("usage: lua5.4 examples/arrays/blur.lua [SIDE [FILE.png]]\n"
    .. "SIDE is 16 to 8192", "\n")
  os.exit(1)
end

-- Rings around two places.
local across = A.linspace(-1, 1, side)
local y, x = across:reshape {side, 1}, across
local function rings(cx, cy)
  return (((x - cx) ^ 2 + (y - cy) ^ 2):sqrt() * 60):sin()
end
local picture = ((rings(-0.4, -0.2) + rings(0.5, 0.3)) * 63 + 127.5):eval()

-- Weights of a bell curve.  The picture's edge lines are repeated beyond it.
local RADIUS <const> = 6
local bell = ((A.arange(-RADIUS, RADIUS):to "float" / 3) ^ 2 * -0.5):exp()
bell = (bell / bell:sum()):read()

-- Each line of a picture becomes the weighted sum of the lines around it.
local function blur_lines(a)
  local first, last = a[{{1, 1}}], a[{{side, side}}]
  local wide = A.cat {first:expand {RADIUS, side}, a,
    last:expand {RADIUS, side}}
  local sum = 0
  for i, weight in ipairs(bell) do
    sum = sum + weight * wide[{{i, i + side - 1}}]
  end
  return sum
end
local blurred = blur_lines(blur_lines(picture):t()):t()
local result = (blurred + 0.5):clamp(0, 255):to "uchar"
if file then result:save(file) end

-- A few points in plain Lua.
local before, after = picture:table(), blurred:clone():table()
local function clamp(i) return math.max(1, math.min(side, i)) end
local worst = 0
for k = 0, 199 do
  local i, j = k * 37 % side + 1, k * 101 % side + 1
  local sum = 0
  for di = -RADIUS, RADIUS do
    for dj = -RADIUS, RADIUS do
      sum = sum + bell[di + RADIUS + 1] * bell[dj + RADIUS + 1] *
        before[clamp(i + di)][clamp(j + dj)]
    end
  end
  worst = math.max(worst, math.abs(sum - after[i][j]))
end
if worst ~= worst or worst > 1e-2 then
  error(("a point is off by %g"):format(worst), 0)
end
print(("%d x %d points, on %s"):format(side, side, picture.device.name))
print(("  contrast %.1f, blurred %.1f"):format(picture:std():item(),
  blurred:std():item()))
print(("  200 points differ from plain Lua's by at most %.1e"):format(worst))
