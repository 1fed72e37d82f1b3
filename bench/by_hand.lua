-- by_hand.lua - the sum, scan and histogram of kernels/ beside arrays and C.
-- SPDX-License-Identifier: MIT
--
--   sh scripts/with-build BUILD lua5.4 bench/by_hand.lua [ROUNDS]
--
-- Each row is 2^22 integers of 64 bits, or 2^24 bytes: launched as in the
-- examples, by arrays, and in one thread of C at -O3 (baseline.c), in turns.
-- Shown are the least times and the medians; the medians are compared.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local stats = require "stats"
local c = require "bench.baseline"
local now = require "bench.reductions".now
local A = lze.array
local rounds = tonumber(arg and arg[1]) or 31
local device = lze.device()
local cores = device.compute_units
if not device.software then error("a device of processor cores expected", 0) end

local n <const>, bytes_n <const> = 1 << 22, 1 << 24
local x = (A.arange(n) * 7919 % 1009 - 500):to "long"
local bytes = (A.arange(bytes_n) * 7919 % 251):to "uchar"
local numbers, text = x.buffer, bytes.buffer
local sums, one = lze.buffer("long", 4 * cores), lze.buffer("long", 1)
local totals, out = lze.buffer("long", cores), lze.buffer("long", n)
local bins = lze.buffer("uint", 256)

local sum = lze.load "kernels/reduction.spv".sum
local scan = lze.load "kernels/scan.spv"
local histogram = lze.load "kernels/histogram.spv".histogram_runs

-- All variants write the same memory: pages of one buffer may be slower than
-- pages of another.  The checked elements are cleared before each run.
local cases = {
  {"sum", function()
    sum({4 * cores, group = 1}, numbers, n, sums, 1)
    sum({1, group = 1}, sums, #sums, one, 1)
    return one[1]
  end, function() return x:sum():item() end, function()
    c("sum", 1, 1, 1, numbers.pointer, n, one.pointer)
    return one[1]
  end, function() one[1] = -1 end},
  {"scan", function()
    scan.begin_runs(cores, numbers, n, out, totals)
    scan.end_runs(cores, numbers, n, out, totals)
    return out[n]
  end, function() return x:cumsum()[n - 1] end, function()
    c("scan_blocks", 1, 1, 1, numbers.pointer, n, n, out.pointer, one.pointer,
      2)
    return out[n]
  end, function() out[n] = -1 end},
  {"histogram", function()
    histogram(4 * cores, text, bytes_n, bins)
    return bins[9]
  end, function() return bytes:histogram(256, {low = 0, high = 256})[9] end,
  function()
    c("histogram", 1, 1, 1, text.pointer, bytes_n, bins.pointer)
    return bins[9]
  end, function() bins:fill(0) lze.wait() end}
}

print(("%-10s %14s %14s %14s %9s"):format("ms", "by hand", "array", "C",
  "C/by hand"))
for _, case in ipairs(cases) do
  local name, times, medians, text_of = case[1], {{}, {}, {}}, {}, {}
  for r = -1, rounds do                     -- the first are not counted
    collectgarbage()
    local results = {}
    for k = 1, 3 do
      case[5]()
      local start = now()
      results[k] = case[k + 1]()
      if r > 0 then times[k][r] = now() - start end
    end
    if results[1] ~= results[3] or results[2] ~= results[3] then
      error(("%s: %s by hand, %s by arrays, %s in C"):format(name,
        results[1], results[2], results[3]), 0)
    end
  end
  for k = 1, 3 do
    medians[k] = stats.median(times[k]) * 1e3
    text_of[k] = ("%.2f %.2f"):format(math.min(table.unpack(times[k])) * 1e3,
      medians[k])
  end
  print(("%-10s %14s %14s %14s %9.2f"):format(name, text_of[1], text_of[2],
    text_of[3], medians[3] / medians[1]))
end
