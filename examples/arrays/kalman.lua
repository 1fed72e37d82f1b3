-- kalman.lua - follows many bodies through noisy measurements by a Kalman
-- filter on batches of matrices; one of them is checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/kalman.lua [BODIES]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local bodies = math.tointeger(tonumber(arg[1] or 500))
if arg[2] or not bodies or bodies < 1 or bodies > 100000 then
  io.stderr:write("usage: lua5.4 examples/arrays/kalman.lua [BODIES]\n" ..
    "BODIES is 1 to 100000\n")
  os.exit(1)
end

-- A body has a place and a speed.  The speed is disturbed at each step; only
-- the place is measured.
local steps, dt, push, noise = 40, 0.1, 0.05, 0.5
local forward = A("float", {{1, dt}, {0, 1}})
local seen = A("float", {{1, 0}})
local disturbed = A("float", {{0, 0}, {0, push ^ 2}})
local blurred = A("float", {{noise ^ 2}})
local unit = A.eye(2)

A.seed(4)
local place, speed = A.zeros(bodies), A.randn(bodies)
local x = A.zeros {bodies, 2, 1}
local p = unit:expand {bodies, 2, 2}
local kept, measured = {}, {}
for step = 1, steps do
  place = (place + dt * speed):eval()
  speed = (speed + push * A.randn(bodies)):eval()
  local z = (place + noise * A.randn(bodies)):eval()
  -- What is expected, and how uncertain that is.
  x = forward:mm(x)
  p = forward:mm(p):mm(forward:t()) + disturbed
  -- The gain is p seen' s^-1: s is symmetric, so s gain' = seen p'.
  local s = seen:mm(p):mm(seen:t()) + blurred
  local gain = s:solve(seen:mm(p:matrix_transpose())):matrix_transpose()
  x = (x + gain:mm(z:reshape {bodies, 1, 1} - seen:mm(x))):eval()
  p = (unit - gain:mm(seen)):mm(p):eval()
  kept[step], measured[step] = x[{1, 1, 1}], z[1]
end

-- The first body, with numbers instead of matrices.
local at, v, pp, pv, vv = 0, 0, 1, 0, 1
for step = 1, steps do
  at = at + dt * v
  pp, pv, vv = pp + 2 * dt * pv + dt * dt * vv, pv + dt * vv, vv + push ^ 2
  local s = pp + noise ^ 2
  local g, h = pp / s, pv / s
  local far = measured[step] - at
  at, v = at + g * far, v + h * far
  pp, pv, vv = (1 - g) * pp, (1 - g) * pv, vv - h * pv
  if math.abs(at - kept[step]) > 1e-3 * (1 + math.abs(at)) then
    error(("step %d: the place is %g, plain Lua has %g"):format(step,
      kept[step], at), 0)
  end
end

local function off(estimate)
  local d = estimate - place
  return math.sqrt((d * d):mean():item())
end
local filtered = off(x[{{}, 1, 1}])
if bodies >= 100 and filtered > 0.6 * noise then
  error(("the places are off by %g, measurements by %g"):format(filtered,
    noise), 0)
end
print(("%d bodies, %d steps, on %s"):format(bodies, steps, x.device.name))
print(("  measured places are off by %.3f, filtered ones by %.3f"):format(noise,
  filtered))
