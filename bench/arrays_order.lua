-- arrays_order.lua - sorting arrays beside qsort and one thread of C.
-- SPDX-License-Identifier: MIT
--
--   make bench-arrays-order [ROUNDS=9]
--
-- The least times of several rounds over 2^22 floats in random order; results
-- are compared.

local lze = require "lze"
local A = lze.array
local c_histogram, c_sort, now = _ENV.c_histogram, _ENV.c_sort, _ENV.now
local rounds = tonumber(arg and arg[1]) or 9
local n, bins = 1 << 22, 100

local x = A.zeros {n}
lze.kernel(function(i, out)
  out[i] = (lze.work.random(7, i) >> 8) / (1 << 23) - 1
end)(n, x)
local copy, counts = lze.buffer("float", n), lze.buffer("long", bins)

local function least(f, before)
  local best = math.huge
  for _ = 0, rounds do
    if before then before() end
    local start = now()
    f()
    best = math.min(best, now() - start)
  end
  return best / 1000
end

local function wait(a) return a.buffer[1] end

local function row(name, ours, other, before)
  local mine = least(function() wait(ours()) end)
  local theirs = other and least(other, before)
  print(("%-28s %8.1f ms"):format(name, mine) .. (theirs and
    (" %8.1f ms %6.1f"):format(theirs, theirs / mine) or ""))
end

row("sort; qsort", function() return x:sort() end,
  function() c_sort(copy.pointer, n) end,
  function() copy:copy(x.buffer); copy:read(1, 1) end)
row("argsort", function() return x:argsort() end)
row("sort by a function", function()
  return x:sort {by = function(a, b) return a < b end}
end)
row("sort rows of 1024", function() return x:reshape {-1, 1024}:sort() end)
row("histogram, 100 bins; C", function()
  return (x:histogram(bins, {low = -1, high = 1}))
end, function()
  c_histogram(counts.pointer, x.buffer.pointer, n, bins, -1, 1)
end)
row("elements by a mask", function() return x[x:gt(0)] end)

local sorted = x:sort():read()
local expected = copy:read()
for i = 1, n do assert(sorted[i] == expected[i]) end
local found = (x:histogram(bins, {low = -1, high = 1})):read()
local far = 0
for b, v in ipairs(counts:read()) do far = far + math.abs(v - found[b]) end
assert(far < n // 1000) -- the C code ignores edges
