-- nbody.lua - a cloud of bodies that attract each other: one function in Lua is
-- the kernel, in a task graph whose buffers take turns, and also checks it.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/nbody.lua [BODIES [STEPS]]

local folder = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. folder .. "../build/?.so"
local lze = require "lze"
local progress = dofile(folder .. "lib/progress.lua")

local n = math.tointeger(tonumber(arg[1] or 2048))
local steps = math.tointeger(tonumber(arg[2] or 200))
if arg[3] or not n or not steps or n < 1 or n > 65536 or steps < 2
  or steps % 2 == 1 then
  io.stderr:write("usage: lua5.4 examples/nbody.lua [BODIES [STEPS]]\n" ..
    "BODIES are 1 to 65536, STEPS an even number", "\n")
  os.exit(1)
end
local softening, dt, sqrt = 0.01, 1 / 512, math.sqrt

-- Computes one step of body i of `from`, in which x, y, z and mass of each body
-- are adjacent: the force of all bodies changes its velocity for the whole
-- step, then it moves.  Forces are softened, because bodies may meet.
local function step(i, from, to, velocity)
  local at = 4 * i - 3
  local x, y, z = from[at], from[at + 1], from[at + 2]
  local ax, ay, az = 0, 0, 0
  for j = 1, #from, 4 do
    local dx, dy, dz = from[j] - x, from[j + 1] - y, from[j + 2] - z
    local r2 = dx * dx + dy * dy + dz * dz + softening
    local pull = from[j + 3] / (r2 * sqrt(r2))
    ax, ay, az = ax + dx * pull, ay + dy * pull, az + dz * pull
  end
  local u, v = velocity[at] + dt * ax, velocity[at + 1] + dt * ay
  local w = velocity[at + 2] + dt * az
  velocity[at], velocity[at + 1], velocity[at + 2] = u, v, w
  to[at], to[at + 1], to[at + 2] = x + dt * u, y + dt * v, z + dt * w
  to[at + 3] = from[at + 3]
end

-- A rotating disc, thinner outwards; the same one each time.
local bodies, velocities, seed = {}, {}, 1
local function random()
  seed = seed * 16807 % 2147483647
  return seed / 2147483647
end
for i = 1, 4 * n, 4 do
  local radius, angle = random() ^ 0.5, 2 * math.pi * random()
  local x, y = radius * math.cos(angle), radius * math.sin(angle)
  table.move({x, y, 0.1 * (random() - 0.5), 1 / n}, 1, 4, i, bodies)
  table.move({-0.6 * y, 0.6 * x, 0, 0}, 1, 4, i, velocities)
end

local now <close> = lze.buffer("float", bodies)
local later <close> = lze.buffer("float", 4 * n)
local velocity <close> = lze.buffer("float", velocities)

-- After each iteration `now` and `later` change places, so after an even number
-- of iterations the bodies are in `now` again.
local g = lze.graph "cloud"
g:task("step", lze.kernel(step), n, now, later, velocity)
g:swap(now, later)
g:output(now, "every"):output(velocity, "every")
local plan <close> = g:compile()

-- Both in double precision: a step changes neither, except by rounding.
local function momentum_and_energy()
  local p, v = now:read(), velocity:read()
  local px, py, kinetic = 0, 0, 0
  for i = 1, 4 * n, 4 do
    local m = p[i + 3]
    px, py = px + m * v[i], py + m * v[i + 1]
    kinetic = kinetic + m * (v[i] ^ 2 + v[i + 1] ^ 2 + v[i + 2] ^ 2) / 2
  end
  return px, py, kinetic
end

-- The first two steps of some bodies, in plain Lua.
local checked = math.min(n, 16)
local start = os.clock()
local px, py = momentum_and_energy()
plan:run {iterations = 2}
local first, second = later:read(), now:read() -- after one step and after two
local once, expected = {}, {}
for i = 1, checked do
  step(i, bodies, once, velocities)
  step(i, first, expected, velocities)
end
local lua_ms = (os.clock() - start) * 1e3 * n / checked / 2
for i = 1, checked do
  for part, name in ipairs {"x", "y", "z", "mass"} do
    local k = 4 * i - 4 + part
    if math.abs(second[k] - expected[k]) > 1e-5 then
      error(("body %d, %s: %.9g, not %.9g"):format(i, name, second[k],
        expected[k]), 0)
    end
  end
end

-- The remaining steps, about a second's work at a time.
local done, ms = 2, 0
local chunk = math.max(2, (1 << 28) // (n * n) // 2 * 2)
while done < steps do
  local count = math.min(chunk, steps - done)
  local one, last = plan:start(), plan:start {iterations = count - 1}
  ms = ms + (last:time().end_ns - one:time().queued_ns) / 1e6
  done = done + count
  progress("step %d of %d", done, steps)
end
progress()
local qx, qy, kinetic = momentum_and_energy()
local drift = math.sqrt((qx - px) ^ 2 + (qy - py) ^ 2)
if not (drift < 1e-4 and kinetic > 0 and kinetic < 10) then
  error(("the momentum drifted by %g, the motion's energy is %g"):format(drift,
    kinetic), 0)
end

print(("%d bodies, %d steps, on %s"):format(n, steps, lze.device().name))
if steps > 2 then
  ms = ms / (steps - 2)
  print(("  %8.2f ms  a step"):format(ms))
  print(("  %8.2f ms  plain Lua, reckoned from %d bodies: %.1f times as long")
    :format(lua_ms, checked, lua_ms / ms))
end
print(("  %d bodies are where plain Lua says after two steps; the momentum" ..
  " drifted by %.1e"):format(checked, drift))
