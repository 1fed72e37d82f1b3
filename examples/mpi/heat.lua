-- heat.lua - heat that spreads in a plate, of which each process has some rows,
-- checked against one process.
-- SPDX-License-Identifier: MIT
--
--   mpirun -n 4 lua5.4 examples/mpi/heat.lua [STEPS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze, mpi = require "lze", require "lze.mpi"

local steps = math.tointeger(tonumber(arg[1] or 100))
local world = mpi.world()
local width, height = 96, 120
if not steps or steps < 1 or height % world.size ~= 0 or
    height // world.size < 3 then
  io.stderr:write("usage: mpirun -n N lua5.4 examples/mpi/heat.lua [STEPS]\n",
    "with an N that divides 120, and is at most 40\n")
  os.exit(1)
end
lze.default(world:device())

-- Computes one step of cell x of row y, which is row first + y - 1 in memory.
local function cell(x, y, u, v, first)
  local at = (first + y - 2) * width + x + 1
  v[at] = u[at] + 0.2 * (u[at - 1] + u[at + 1] + u[at - width] +
    u[at + width] - 4.0 * u[at])
end
local step = lze.kernel(cell, {name = "heat"})

-- Returns rows first to last of the plate, with another row on both sides.
local function plate(first, last)
  local t = {}
  for y = first - 1, last + 1 do
    for x = 1, width do
      local hot = y >= 40 and y <= 70 and x >= 20 and x <= 50
      t[#t + 1] = hot and 100.0 or 0.0
    end
  end
  return lze.buffer("float", t)
end

local rows = height // world.size
local cart = world:cart {world.size}
local u = plate(world.rank * rows + 1, world.rank * rows + rows)
local v = lze.buffer("float", u)
local shape = {rows + 2, width}
local halos = {[u] = cart:halo(u, {shape = shape}),
  [v] = cart:halo(v, {shape = shape})}
for _ = 1, steps do
  local halo = halos[u]:start()
  step({width - 2, rows - 2}, u, v, 3)        -- rows without a neighbour
  halo:wait()
  step({width - 2, 1}, u, v, 2)
  step({width - 2, 1}, u, v, rows + 1)
  u, v = v, u
end

local whole = world.rank == 0 and lze.buffer("float", height * width) or nil
world:gather(u:view(width + 1, (rows + 1) * width), whole, 0)
if world.rank == 0 then
  local a = plate(1, height)
  local b = lze.buffer("float", a)
  for _ = 1, steps do
    step({width - 2, height}, a, b, 2)
    a, b = b, a
  end
  assert(a:string(width + 1, (height + 1) * width) == whole:string(),
    "not what one process gets")
  print(("%d steps by %d process%s: each of %d cells is that of one process")
    :format(steps, world.size, world.size == 1 and "" or "es", #whole))
end
