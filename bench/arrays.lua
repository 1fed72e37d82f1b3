-- arrays.lua - reductions and a scan of arrays beside memcpy and plain C.
-- SPDX-License-Identifier: MIT
--
--   sh scripts/with-build BUILD lua5.4 bench/arrays.lua [ROUNDS]
--
-- Each row is about 2^24 floats; lengths are sqrt(x * x + y * y):sum().  lze,
-- memcpy and a loop in C at -O3, both on one thread, take turns; medians are
-- compared.  lze's time is from the call until its result is available,
-- including allocation.  Then z:set(a * x + y) is compared with a Lua kernel
-- that does the same.  Last come the costs to write and launch an expression of
-- five operations on few elements whose kernel exists, and one of five nodes
-- including operands, compared with a launch and a buffer: alone, and behind a
-- kernel that keeps the device busy.  There no thread must be woken, which may
-- take longer than either: PoCL's threads sleep if launches come slower than
-- they end.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local stats = require "stats"
local c = require "bench.reductions"
local A = lze.array
local rounds = tonumber(arg and arg[1]) or 21

local n <const> = 1 << 24
local seeds = A.arange(n)
-- Small whole numbers: their sums are exact in any order.
local x = ((seeds * 7919) % 101 - 50):to "float"
seeds = nil -- luacheck: ignore
x[n - 7] = 60
x[n // 3] = -60
local to = lze.buffer("float", n):fill(0)
local from = x.buffer.pointer
lze.wait()

-- Computes the sum of the lengths of (x, y) without storing them.
local other = A.ones {n}
local function lengths() return (x * x + other * other):sqrt():sum():item() end

-- How often elements are read or written: memcpy does each once.
local cases = {
  {"sum", 1, function() return x:sum():item() end,
    function() return c.sum(from, n) end},
  {"min", 1, function() return x:min():item() end,
    function() return c.min(from, n) end},
  {"argmax", 1, function() return x:argmax():item() end,
    function() return c.argmax(from, n) end},
  {"lengths", 2, lengths,
    function() return c.lengths(from, other.buffer.pointer, n) end, 1e-3},
  {"cumsum", 3, function() return x:cumsum()[n] end,
    function()
      c.cumsum(to.pointer, from, n)
      return to[n]
    end}
}

local function timed(f)
  local start = c.now()
  local result = f()
  return c.now() - start, result
end

local function median(t) return stats.median(t) * 1e3 end

print(("%-8s %8s %8s %8s %12s %8s %8s"):format("", "lze ms", "memcpy", "C",
  "memcpy/lze", "of rate", "C/lze"))
for _, case in ipairs(cases) do
  local name, moves, ours, theirs, near = table.unpack(case)
  local a, b, m = {}, {}, {}
  for _ = 1, 2 do ours() end -- the second fuses
  for r = 1, rounds do
    local got, expected
    collectgarbage()
    a[r], got = timed(ours)
    m[r] = timed(function() c.copy(to.pointer, from, n) end)
    b[r], expected = timed(theirs)
    if math.abs(got - expected) > (near or 0) * math.abs(expected) then
      error(("%s: %s, and %s in C"):format(name, got, expected), 0)
    end
  end
  local t, copy, plain = median(a), median(m), median(b)
  print(("%-8s %8.2f %8.2f %8.2f %12.2f %8.2f %8.2f"):format(name, t, copy,
    plain, copy / t, moves / 2 * copy / t, plain / t))
end

-- z:set(a * x + y) and a kernel -----------------------------------------------

local y, z = A.ones {n}, A.zeros {n}
local saxpy = lze.kernel(function(i, r, a, p, q) r[i] = a * p[i] + q[i] end,
  {name = "saxpy"})
local function set()
  z:set(0.5 * x + y)
  lze.wait()
end
local function launch()
  saxpy(n, z, 0.5, x, y)
  lze.wait()
end
for _ = 1, 2 do set() launch() end
local a, b = {}, {}
for r = 1, rounds do
  collectgarbage()
  a[r], b[r] = timed(set), timed(launch)
end
local ours, theirs = median(a), median(b)
print(("%-20s %8.2f ms, the kernel %8.2f ms: %.2f"):format("z:set(a * x + y)",
  ours, theirs, ours / theirs))

-- Five operations; then five nodes, two of them operations --------------------

local few <const>, times <const> = 16, 1000
local u, v = A.ones {few}, A.ones {few}
local five = lze.kernel(function(i, t, p, q)
  t[i] = math.sqrt(p[i] * p[i] + q[i] * q[i]) - 1
end)
local function operations() return ((u * u + v * v):sqrt() - 1):eval() end
local function launched()
  local t = lze.buffer("float", few, {zero = false})
  five(few, t, u, v)
  return t
end
local function nodes() return (0.5 * u + v):eval() end
local function saxpy_launched()
  local t = lze.buffer("float", few, {zero = false})
  saxpy(few, t, 0.5, u, v)
  return t
end
local holding = lze.kernel(function(i, t, count)
  local root = t[i]
  for _ = 1, count do root = root * 0.5 + 1.0 / root end
  t[i] = root
end)
local held = lze.buffer("float", 1):fill(1)
local holds = 1000
local function hold()
  holding(1, held, holds)
  lze.wait()
end
for _ = 1, 3 do operations() launched() nodes() saxpy_launched() hold() end
repeat holds = holds * 2 until timed(hold) > 0.02

local function cost(f, count, behind)
  lze.wait()
  collectgarbage()
  if behind then holding(1, held, holds) end
  local took = timed(function() for _ = 1, count do f() end end)
  lze.wait()
  return took / count
end

local function bytes_of(f)
  collectgarbage()
  collectgarbage "stop"
  local before = collectgarbage "count"
  for _ = 1, times do f() end
  local bytes = (collectgarbage "count" - before) * 1024 / times
  collectgarbage "restart"
  lze.wait()
  return bytes
end

local function compare(what, expression, plain, count, behind)
  local e, p, more = {}, {}, {}
  for r = 1, rounds do
    e[r], p[r] = cost(expression, count, behind), cost(plain, count, behind)
    more[r] = e[r] - p[r]
  end
  local between = median(more) * 1e3
  print(("%-24s %6.2f us, launch and buffer %6.2f us: %.2f more; least %.2f, "
    .. "%.2f"):format(what, median(e) * 1e3, median(p) * 1e3, between,
    math.min(table.unpack(e)) * 1e6, math.min(table.unpack(p)) * 1e6))
end
compare("five operations", operations, launched, times, false)
compare("behind a busy device", operations, launched, times // 5, true)
compare("a * x + y, likewise", nodes, saxpy_launched, times // 5, true)
print(("bytes of Lua: %.0f, launch and buffer %.0f"):format(
  bytes_of(operations), bytes_of(launched)))
