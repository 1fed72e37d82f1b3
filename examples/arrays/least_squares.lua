-- least_squares.lua - a parabola through noisy points, and the errors of its
-- coefficients, by QR; checked against the normal equations in plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/least_squares.lua [POINTS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local count = math.tointeger(tonumber(arg[1] or 1000))
if arg[2] or not count or count < 10 or count > 1000000 then
  io.stderr:write("usage: lua5.4 examples/arrays/least_squares.lua ",
    "[POINTS]\nPOINTS is 10 to 1000000\n")
  os.exit(1)
end

-- A thrown ball: its height at n times, measured with an error of 5 cm.
local truth, noise = {1.5, 12, -9.81 / 2}, 0.05
A.seed(1)
local t = A.linspace(0, 2.5, count)
local height = truth[1] + truth[2] * t + truth[3] * t * t +
  noise * A.randn(count)

-- Each row of the matrix has the factors of the coefficients.
local a = A.stack({t * 0 + 1, t, t * t}, 2)
local q, r = a:qr()
local x = r:triangular_solve(q:t():mv(height), {upper = true})

-- The variance of a point, from what is left, and those of the coefficients.
local rest = height - a:mv(x)
local variance = (rest * rest):sum():item() / (count - 3)
local inverse = r:inv()
local errors = (variance * (inverse * inverse):sum {dim = 2}):sqrt()

-- The same sums of squares by Gauss's elimination, in double precision.
local function plain()
  local times, heights = t:read(), height:read()
  local m = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}
  for i, v in ipairs(times) do
    local row = {1, v, v * v, heights[i]}
    for j = 1, 3 do
      for k = 1, 4 do m[j][k] = m[j][k] + row[j] * row[k] end
    end
  end
  for j = 1, 3 do
    for i = 1, 3 do
      local by = i ~= j and m[i][j] / m[j][j] or 0
      for k = 1, 4 do m[i][k] = m[i][k] - by * m[j][k] end
    end
  end
  return {m[1][4] / m[1][1], m[2][4] / m[2][2], m[3][4] / m[3][3]}
end

print(("%d points, on %s"):format(count, a.device.name))
local expected = plain()
for i, name in ipairs {"height", "speed", "half the acceleration"} do
  local value, sigma = x[i], errors[i]
  if math.abs(value - expected[i]) > 1e-3 * (1 + math.abs(expected[i])) then
    error(("%s is %g, plain Lua has %g"):format(name, value, expected[i]), 0)
  elseif math.abs(value - truth[i]) > 6 * sigma + 1e-4 then
    error(("%s is %g +- %g, not %g"):format(name, value, sigma, truth[i]), 0)
  end
  print(("  %s: %.4f +- %.4f, in truth %.4f"):format(name, value, sigma,
    truth[i]))
end
