-- work.lua - what the functions of lze.work do on the host.
-- SPDX-License-Identifier: MIT

local C = ...
local error, ipairs, select = error, ipairs, select
local format, mathtype = string.format, math.type

-- Bits of an integer cell, to which a stored integer wraps.
local bits = {char = 8, uchar = 8, short = 16, ushort = 16, int = 32,
  uint = 32, long = 64, ulong = 64}

local function wrap(kind, v)
  local n = bits[kind]
  if not n or n == 64 then return v end
  v = v & (1 << n) - 1
  if kind:sub(1, 1) ~= "u" and v >> n - 1 == 1 then v = v - (1 << n) end
  return v
end

-- Returns the value that a cell stores; k:check reports values that do not fit.
local function taken(kind, v)
  return C.is_checked() and v or wrap(kind, v)
end

local function less(kind, a, b)
  if kind == "ulong" then return math.ult(a, b) end
  return a < b
end

local change = {
  atomic_add = function(_, old, v) return old + v end,
  atomic_sub = function(_, old, v) return old - v end,
  atomic_min = function(kind, old, v)
    return less(kind, v, old) and v or old
  end,
  atomic_max = function(kind, old, v)
    return less(kind, old, v) and v or old
  end,
  atomic_and = function(_, old, v) return old & v end,
  atomic_or = function(_, old, v) return old | v end,
  atomic_xor = function(_, old, v) return old ~ v end,
  atomic_exchange = function(_, _, v) return v end
}

-- Returns the element type of an atomic's argument, checked as in a kernel; the
-- arguments after i are `v`, or `expected` and `v`.
local function cell(name, x, i, ...)
  local kind = C.type(x)
  if not kind then
    C.argument(1, format("x: buffer expected, got %s", C.describe(x)))
  end
  local rank = C.rank(x) or 1
  if rank > 1 then
    C.argument(1, format("x: a buffer or an array of one dimension expected, "
      .. "got one of %d", rank))
  end
  if mathtype(i) ~= "integer" then
    C.argument(2, format("i: integer expected, got %s", C.describe(i)))
  end
  local width = bits[kind]
  if (width or 0) < 32 and kind ~= "float" and kind ~= "double" then
    error(format("%s needs cells of 32 or 64 bits (int, uint, long, ulong, "
      .. "float, double), these are of %s", name, kind), 0)
  end
  local n = select("#", ...)
  for k = 1, n do
    local v = select(k, ...)
    if not mathtype(v) or width and mathtype(v) ~= "integer" then
      C.argument(k + 2, format("%s: %s expected, got %s",
        k == n and "v" or "expected", width and "integer" or "number",
        C.describe(v)))
    end
  end
  return kind
end

-- Returns the element at i.
local function held(x, i)
  local old = C.get(x, i)
  if old == nil then
    C.argument(2, format("i: %d is outside 1..%d", i, #x))
  end
  return old
end

local work = {}

for name, f in next, change do
  local whole = name == "atomic_and" or name == "atomic_or" or
    name == "atomic_xor"
  local picks = name == "atomic_min" or name == "atomic_max"
  work[name] = function(x, i, v)
    local kind = cell(name, x, i, v)
    if whole and not bits[kind] then
      error(format("%s needs integers, these are of %s", name, kind), 0)
    end
    local old = held(x, i)
    -- Compare the stored value: k:check reports a v that does not fit.
    if picks and C.is_checked() and wrap(kind, v) ~= v then
      C.set(x, i, v)
      v = wrap(kind, v)
    end
    C.set(x, i, taken(kind, f(kind, old, taken(kind, v))))
    return old
  end
end

-- Returns true if a cell stores two numbers as the same bits.
local function same(kind, a, b)
  if bits[kind] then return a == wrap(kind, b) end
  local text = kind == "float" and "f" or "d"
  return string.pack(text, a) == string.pack(text, b)
end

-- The expected value comes before the new one; returns the old one.
function work.atomic_compare_exchange(x, i, expected, v)
  local kind = cell("atomic_compare_exchange", x, i, expected, v)
  local old = held(x, i)
  if same(kind, old, expected) then C.set(x, i, taken(kind, v)) end
  return old
end

-- Philox-4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel
-- random numbers: as easy as 1, 2, 3. SC 2011).  The key is the seed, the
-- counter's upper half is zero.
function work.random(seed, counter)
  for i, v in ipairs {seed or "nothing", counter or "nothing"} do
    if mathtype(v) ~= "integer" then
      C.argument(i, format("%s: integer expected, got %s",
        i == 1 and "seed" or "counter", C.describe(i == 1 and seed or counter)))
    end
  end
  local low = 0xffffffff
  local k0, k1 = seed & low, seed >> 32
  local a, b, c, d = counter & low, counter >> 32, 0, 0
  for _ = 1, 10 do
    local p, q = a * 0xd2511f53, c * 0xcd9e8d57
    a, b, c, d = q >> 32 ~ b ~ k0, q & low, p >> 32 ~ d ~ k1, p & low
    k0, k1 = k0 + 0x9e3779b9 & low, k1 + 0xbb67ae85 & low
  end
  return a, b, c, d
end

return work
