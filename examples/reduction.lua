-- reduction.lua - the sum of n numbers, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/reduction.lua [n]
--
-- The kernel is written in Lua: each group adds up its share in local memory,
-- then one group adds up the groups' results.  x:sum() of an array does the
-- same.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"
local w, min = lze.work, math.min

local n = math.tointeger(tonumber(arg[1] or 1 << 22))
local most = 1 << 24 -- plain Lua's tables take 16 bytes for each number
if not n or n < 1 or n > most or arg[2] then
  io.stderr:write("usage: lua5.4 examples/reduction.lua [n]\n" ..
    "n, how many numbers, is a whole number from 1 to " .. most, "\n")
  os.exit(1)
end

local numbers = {}
for i = 1, n do numbers[i] = i * 7919 % 1000003 - 500000 end

-- Work-items of a group share local memory, so we choose its size: on a GPU a
-- tree of 8 levels, and each item first adds up to 32 numbers, so that few
-- trees are needed.  A core of a CPU runs a few items, which share nothing.
local device = lze.device()
local size = device.software and 1 or min(256, device.max_group_size)
local groups = device.software and 4 * device.compute_units
  or (n + 32 * size - 1) // (32 * size)

-- Writes group g's sum of its share of x[1 .. count] to sums[g]: all groups
-- together add every element once.  Groups take equal, adjacent shares.
local sum = lze.kernel(function(x, count, sums)
  local t, item = w.local_array("long", size), w.local_id()
  local share = (count + w.num_groups() - 1) // w.num_groups()
  local before, own = (w.group_id() - 1) * share, 0
  for i = before + item, min(before + share, count), size do
    own = own + x[i]
  end
  t[item] = own
  w.barrier()
  -- A tree: the upper half is added to the lower half until one is left.  With
  -- an odd width the middle element waits for the next round.
  local width = size
  while width > 1 do
    local half = (width + 1) // 2
    if item <= width // 2 then t[item] = t[item] + t[item + half] end
    w.barrier()
    width = half
  end
  if item == 1 then sums[w.group_id()] = t[1] end
end)

local x <close> = lze.buffer("long", numbers)
local sums <close> = lze.buffer("long", groups)
local total <close> = lze.buffer("long", 1)

local every = { groups * size, group = size }
local one = { size, group = size }

-- Returns milliseconds from the first call to the end.
local function reduce()
  local first = sum:launch(every, x, n, sums)
  local last = sum:launch(one, sums, groups, total)
  return (last:time().end_ns - first:time().queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.
local first = reduce()
total:fill(-1)
lze.wait()
local ms = reduce()

local start = os.clock()
local lua_total = 0
for i = 1, n do lua_total = lua_total + numbers[i] end
local lua_ms = (os.clock() - start) * 1e3

if total[1] ~= lua_total then
  error(("the sum is %d, not %d"):format(total[1], lua_total), 0)
end

print(("reduction of %d numbers on %s"):format(n, device.name))
print(("  %8.1f ms  two launches (the first time %.1f ms)"):format(ms, first))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms, lua_ms / ms))
print(("  group: %d of %d: a tree over %d bytes of local memory")
  :format(size, size * groups, size * 8))
print(("  the sum is %d, as plain Lua says"):format(lua_total))
