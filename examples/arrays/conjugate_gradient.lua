-- conjugate_gradient.lua - how warm a plate gets, by the method of
-- conjugate gradients on whole arrays; checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/conjugate_gradient.lua [SIDE]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local side = math.tointeger(tonumber(arg[1] or 100))
if arg[2] or not side or side < 3 or side > 4000 then
  io.stderr:write("usage: lua5.4 examples/arrays/conjugate_gradient.lua " ..
    "[SIDE]\nSIDE is 3 to 4000", "\n")
  os.exit(1)
end

-- 4 times each point's heat minus its neighbours' heat is the heating there.
-- The direction p has a cold border, so each inner point has four neighbours.
local whole = A.zeros {side + 2, side + 2}
local rows, columns = {2, side + 1}, {2, side + 1}
local p = whole[{rows, columns}]
local up, down = whole[{{1, side}, columns}], whole[{{3, side + 2}, columns}]
local left, right = whole[{rows, {1, side}}], whole[{rows, {3, side + 2}}]

local b = A.zeros {side, side}
local sx, sy = side // 3 + 1, side // 2 + 1
b[{sy, sx}] = 1
local x, r, q = A.zeros {side, side}, b:clone(), A.zeros {side, side}
p:set(r)
local rr = (r * r):sum():item()
local first, iterations = rr, 0
repeat
  q:set(4 * p - up - down - left - right)
  local alpha = rr / (p * q):sum():item()
  x:set(x + alpha * p)
  r:set(r - alpha * q)
  local before = rr
  rr = (r * r):sum():item()
  p:set(r + rr / before * p)
  iterations = iterations + 1
until rr <= 1e-12 * first or iterations >= 8 * side

-- b - A x, in double precision.
local t, rest = x:table(), 0
local function at(i, j) return t[i] and t[i][j] or 0 end
for i = 1, side do
  for j = 1, side do
    local heat = i == sy and j == sx and 1 or 0
    rest = rest + (heat - 4 * t[i][j] + at(i - 1, j) + at(i + 1, j) +
      at(i, j - 1) + at(i, j + 1)) ^ 2
  end
end
rest = math.sqrt(rest)
if rest ~= rest or rest > 1e-4 then
  error(("after %d steps %g is left"):format(iterations, rest), 0)
end
print(("%d equations, on %s"):format(side * side, x.device.name))
print(("  %d steps; plain Lua finds them met to %.1e"):format(iterations, rest))
print(("  hottest, at %d, %d, by %.3f"):format(sy, sx, x:max():item()))
if x:argmax():item() ~= (sy - 1) * side + sx then
  error("it is hottest elsewhere than where it is heated", 0)
end
