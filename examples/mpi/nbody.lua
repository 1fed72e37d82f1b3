-- nbody.lua - bodies that attract each other, of which each process moves some,
-- checked against one process.
-- SPDX-License-Identifier: MIT
--
--   mpirun -n 4 lua5.4 examples/mpi/nbody.lua [STEPS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze, mpi = require "lze", require "lze.mpi"

local steps = math.tointeger(tonumber(arg[1] or 20))
local world = mpi.world()
local bodies = 240
if not steps or steps < 1 or bodies % world.size ~= 0 then
  io.stderr:write("usage: mpirun -n N lua5.4 examples/mpi/nbody.lua [STEPS]\n",
    "with an N that divides 240\n")
  os.exit(1)
end
lze.default(world:device())

-- Moves body i, counted from `first`, according to all earlier positions.
local function move(i, x, y, vx, vy, newx, newy, first)
  local ownx, owny = x[first + i - 1], y[first + i - 1]
  local ax, ay = 0.0, 0.0
  for j = 1, bodies do
    local dx, dy = x[j] - ownx, y[j] - owny
    local d = dx * dx + dy * dy + 0.01
    local f = 1.0 / (d * math.sqrt(d))
    ax, ay = ax + f * dx, ay + f * dy
  end
  vx[i] = vx[i] + 0.0001 * ax
  vy[i] = vy[i] + 0.0001 * ay
  newx[i] = ownx + 0.01 * vx[i]
  newy[i] = owny + 0.01 * vy[i]
end
local kernel = lze.kernel(move, {name = "move"})

-- Runs `count` bodies from `first`; exchange(part, all) is called with their
-- new positions, and with the buffer for all positions.
local function run(first, count, exchange)
  local tx, ty = {}, {}
  for i = 1, bodies do
    tx[i], ty[i] = math.cos(i * i) * i / bodies, math.sin(i * 7) * i / bodies
  end
  local x, y = lze.buffer("float", tx), lze.buffer("float", ty)
  local vx, vy = lze.buffer("float", count), lze.buffer("float", count)
  local newx, newy = lze.buffer("float", count), lze.buffer("float", count)
  for _ = 1, steps do
    kernel(count, x, y, vx, vy, newx, newy, first)
    exchange(newx, x)
    exchange(newy, y)
  end
  return x:string() .. y:string()
end

local own = bodies // world.size
local got = run(world.rank * own + 1, own, function(part, all)
  world:allgather(part, all)
end)
if world.rank == 0 then
  local one = run(1, bodies, function(part, all) all:copy(part) end)
  assert(got == one, "not what one process gets")
  print(("%d steps by %d process%s: each of %d bodies is where one process " ..
    "has it"):format(steps, world.size, world.size == 1 and "" or "es", bodies))
end
