-- mpi.lua - what lze.mpi costs beside MPI itself.
-- SPDX-License-Identifier: MIT
--
--   mpirun -n 2 lua5.4 bench/mpi.lua [ROUNDS]
--
-- Messages between two ranks and allreduce, by lze and by C, in turns and on
-- the same buffers; the least of ROUNDS times each.

local lze, mpi = require "lze", require "lze.mpi"
local world = mpi.world()
local raw = assert(package.loadlib(
  os.getenv "LZE_BENCH_BUILD" .. "/bench/mpi_raw.so", "luaopen_mpi_raw"))()
local rounds = math.tointeger(tonumber(arg[1] or 21))
local rank = world.rank
if world.size < 2 then error("at least two ranks, by mpirun -n 2", 0) end
lze.default(world:device())

local function pingpong(x, times)
  local start = raw.now()
  for _ = 1, rank < 2 and times or 0 do
    if rank == 0 then
      world:send(x, 1)
      world:recv(x, 1)
    else
      world:recv(x, 0)
      world:send(x, 0)
    end
  end
  return raw.since(start) / (2 * times)
end

local function allreduce(x, times)
  local start = raw.now()
  for _ = 1, times do world:allreduce(x, "max") end
  return raw.since(start) / times
end

-- C uses y if x is device memory.
local function compare(what, x, times, ours, theirs, amount, aim, y)
  local least = {math.huge, math.huge}
  for _ = 0, rounds do                       -- the first is not counted
    least[1] = math.min(least[1], ours(x, times))
    least[2] = math.min(least[2], theirs((y or x).pointer, amount, times))
  end
  if rank ~= 0 then return end
  print(("%-34s %9.2f us %9.2f us %6.2f  %s"):format(what, least[1] * 1e6,
    least[2] * 1e6, least[1] / least[2], aim))
end

if rank == 0 then
  print(("%s, %d ranks"):format(world.library:match "[^,]*", world.size))
  print(("%34s %12s %12s %6s  %s"):format("", "lze", "C", "times", "at most"))
end
local small = lze.buffer("uchar", 8)
local large = lze.buffer("float", 1 << 20):fill(rank)
compare("a message of 8 bytes", small, 1000, pingpong, raw.pingpong, 8,
  "1.1 + 2 us")
compare("a message of 4 MiB", large, 10, pingpong, raw.pingpong, 1 << 22,
  "1.02")
compare("allreduce of 4 MiB", large, 10, allreduce, raw.allreduce, 1 << 20,
  "1.02")
local huge = lze.buffer("uchar", 1 << 28):fill(rank)
compare("a message of 256 MiB", huge, 1, pingpong, raw.pingpong, 1 << 28,
  "1.02")
local device = {usage = "device"}
compare("4 MiB in memory of a device", lze.buffer("uchar", 1 << 22, device),
  10, pingpong, raw.pingpong, 1 << 22, "", large)
compare("256 MiB in memory of a device", lze.buffer("uchar", 1 << 28, device),
  1, pingpong, raw.pingpong, 1 << 28, "", huge)
