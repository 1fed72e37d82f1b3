-- kmeans.lua - k-means over points of which each process has some, checked
-- against one process.
-- SPDX-License-Identifier: MIT
--
--   mpirun -n 4 lua5.4 examples/mpi/kmeans.lua [STEPS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze, mpi = require "lze", require "lze.mpi"

local steps = math.tointeger(tonumber(arg[1] or 10))
local world = mpi.world()
local points, clusters = 2400, 4
if not steps or steps < 1 or points % world.size ~= 0 then
  io.stderr:write("usage: mpirun -n N lua5.4 examples/mpi/kmeans.lua " ..
    "[STEPS]\nwith an N that divides 2400\n")
  os.exit(1)
end
lze.default(world:device())

-- Finds the nearest center of point i.
local function nearest(i, x, y, cx, cy, label)
  local best, least = 1, 1e30
  for c = 1, clusters do
    local dx, dy = x[i] - cx[c], y[i] - cy[c]
    local d = dx * dx + dy * dy
    if d < least then
      best, least = c, d
    end
  end
  label[i] = best
end
local kernel = lze.kernel(nearest, {name = "nearest"})

-- Runs points first to last; total(sums) adds up the sums of all processes.
-- Coordinates are whole, so sums do not depend on the order.
local function run(first, last, total)
  local tx, ty = {}, {}
  for i = first, last do
    local c = i % clusters
    tx[#tx + 1] = 100 * (c // 2) + i * 37 % 61
    ty[#ty + 1] = 100 * (c % 2) + i * 53 % 59
  end
  local n = #tx
  local x, y = lze.buffer("float", tx), lze.buffer("float", ty)
  local cx = lze.buffer("float", {0, 50, 80, 100})
  local cy = lze.buffer("float", {0, 90, 20, 100})
  local label = lze.buffer("int", n)
  local sums = lze.buffer("long", 3 * clusters)
  for _ = 1, steps do
    kernel(n, x, y, cx, cy, label)
    local t = {}
    for i = 1, 3 * clusters do t[i] = 0 end
    for i, c in ipairs(label:read()) do
      local at = 3 * c - 2
      t[at], t[at + 1], t[at + 2] = t[at] + tx[i], t[at + 1] + ty[i],
        t[at + 2] + 1
    end
    sums:write(t)
    total(sums)
    for c = 1, clusters do
      local count = sums[3 * c]
      if count > 0 then
        cx[c], cy[c] = sums[3 * c - 2] / count, sums[3 * c - 1] / count
      end
    end
  end
  return cx:string() .. cy:string(), cx, cy
end

local own = points // world.size
local got, cx, cy = run(world.rank * own + 1, world.rank * own + own,
  function(sums) world:allreduce(sums, "sum") end)
if world.rank == 0 then
  assert(got == run(1, points, function() end), "not what one process gets")
  for c = 1, clusters do print(("center %d: %.2f %.2f"):format(c, cx[c], cy[c]))
  end
  print(("%d steps by %d process%s: the centers are those of one process")
    :format(steps, world.size, world.size == 1 and "" or "es"))
end
