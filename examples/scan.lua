-- scan.lua - exclusive prefix sums of n numbers, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/scan.lua [n]
--
-- The third element of the result is the sum of the first two numbers.  In this
-- way a device finds the place of each of many results of any length.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local n = math.tointeger(tonumber(arg[1] or 1 << 22))
local most = 1 << 24 -- plain Lua's tables take 16 bytes for each number
if not n or n < 1 or n > most or arg[2] then
  io.stderr:write("usage: lua5.4 examples/scan.lua [n]\n" ..
    "n, how many numbers, is a whole number from 1 to " .. most, "\n")
  os.exit(1)
end

local numbers = {}
for i = 1, n do numbers[i] = i * 7919 % 1009 - 500 end

local module = lze.load "scan"
local device = lze.device()

local x <close> = lze.buffer("long", numbers)
local out <close> = lze.buffer("long", n)

-- Each of these functions enqueues the scan of from[1 .. count] to `to`, which
-- may be the same buffer, and returns the first and the last event.  `totals`
-- is closed while the device still uses it; lze retains its memory until then.
local scan, shape

if device.software then
  -- A core of a CPU runs one work-item, which shares nothing: each item has a
  -- run, and there is one more run, so that memory is read little more than
  -- once.
  local items = device.compute_units
  shape = ("%d runs of about %d"):format(items + 1, n // (items + 1))

  function scan(from, count, to)
    local totals <close> = lze.buffer("long", items)
    return module.begin_runs:launch(items, from, count, to, totals),
      module.end_runs:launch(items, from, count, to, totals)
  end
else
  -- A group shares a block through local memory, so we choose its size.  More
  -- numbers per work-item mean fewer blocks, fewer numbers more parallel work.
  local scan_blocks, add_blocks = module.scan_blocks, module.add_blocks
  local size, each = math.min(256, scan_blocks.max_group_size), 8
  local function blocks_of(count) return (count - 1) // (size * each) + 1 end
  shape = ("%d blocks of %d; a group shares %d bytes of local memory")
    :format(blocks_of(n), each * size, 16 * size)

  -- The totals of the blocks are scanned in the same way: 4 million numbers
  -- make 2048 blocks, and their totals make one block.
  function scan(from, count, to)
    local blocks = blocks_of(count)
    local range = {blocks * size, group = size}
    local totals <close> = lze.buffer("long", blocks)
    local first = scan_blocks:launch(range, from, count, each, to, totals,
      2 * size)
    if blocks == 1 then return first, first end
    scan(totals, blocks, totals)
    return first, add_blocks:launch(range, to, count, each, totals)
  end
end

-- Returns milliseconds from the first call to the end.
local function elapsed(first, last)
  return (last:time().end_ns - first:time().queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.
local first_ms = elapsed(scan(x, n, out))
out:fill(-1)
lze.wait()
local ms = elapsed(scan(x, n, out))

local start = os.clock()
local sums, sum = {}, 0
for i = 1, n do
  sums[i] = sum
  sum = sum + numbers[i]
end
local lua_ms = (os.clock() - start) * 1e3

for i, value in ipairs(out:read()) do
  if value ~= sums[i] then
    error(("element %d is %d, not %d"):format(i, value, sums[i]), 0)
  end
end

print(("scan of %d numbers on %s"):format(n, device.name))
print(("  %8.1f ms  all launches (the first time %.1f ms)")
  :format(ms, first_ms))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms, lua_ms / ms))
print("  " .. shape)
print(("  every element is what plain Lua says; the last one is %d")
  :format(sums[n]))
