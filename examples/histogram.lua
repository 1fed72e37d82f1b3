-- histogram.lua - how often each byte occurs in a file, checked against plain
-- Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/histogram.lua FILE

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local path = arg[1]
if not path then
  io.stderr:write "usage: lua5.4 examples/histogram.lua FILE\n"
  os.exit(1)
end

local data
do
  local file <close> = assert(io.open(path, "rb"))
  data = assert(file:read "a")
end

local device = lze.device()
local bytes <close> = lze.buffer("uchar", data)
local bins <close> = lze.buffer("uint", 256)
local module = lze.load "histogram"

-- Any number of work-items works.  A core of a CPU runs a few, which share
-- nothing; a unit of a GPU runs many, in groups that share a table.
local histogram = device.software and module.histogram_runs or module.histogram
local items = device.compute_units * (device.software and 4 or 1024)

-- Returns milliseconds from the call to the end.
local function elapsed(ev)
  local t = ev:time()
  return (t.end_ns - t.queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.
local first = elapsed(histogram:launch(items, bytes, #bytes, bins))
bins:fill(0)
local ms = elapsed(histogram:launch(items, bytes, #bytes, bins))

local start = os.clock()
local counts = {}
for b = 1, 256 do counts[b] = 0 end
for i = 1, #data, 128 do
  local some = {data:byte(i, i + 127)}
  for k = 1, #some do
    local b = some[k] + 1
    counts[b] = counts[b] + 1
  end
end
local lua_ms = (os.clock() - start) * 1e3

local commonest = 1
for b, count in ipairs(bins:read()) do
  if count ~= counts[b] then
    error(("byte %d: %d times, not %d"):format(b - 1, count, counts[b]), 0)
  end
  if count > counts[commonest] then commonest = b end
end

local _, _, _, why = histogram:group(items)
print(("histogram of %s (%d bytes) on %s"):format(path, #data, device.name))
print(("  %8.1f ms  a launch (the first one %.1f ms)"):format(ms, first))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms, lua_ms / ms))
print("  group: " .. why)
print(("  every count is what plain Lua says; %d is commonest, %d times")
  :format(commonest - 1, counts[commonest]))
