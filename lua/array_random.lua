-- array_random.lua - arrays of random numbers.
-- SPDX-License-Identifier: MIT
--
-- Philox makes four 32-bit words from a seed and a counter (lze.work.random).
-- A call uses as many counters as it needs, starting after earlier calls, so
-- its numbers depend on nothing else.

local core = ...
local A, fail, types = core.A, core.fail, core.types
local C = core.C
local ipairs, mathtype, tostring = ipairs, math.type, tostring
local concat, format = table.concat, string.format

local FIRST_SEED <const> = 0

-- Bits of a mantissa, which a random number of the type has, too.
local mantissa = {half = 11, bfloat16 = 8, float = 24, double = 53}

local seed, counter = FIRST_SEED, 0

-- A.seed(n): the same numbers follow each A.seed(n).
function A.seed(n)
  n = core.check_integer(n, "seed", "argument 1 (n)", "an integer")
  seed, counter = n, 0
end

-- Texts of the numbers made from a block of words a, b, c, d.  The Box-Muller
-- transform makes two normal numbers from two words; its logarithm's argument
-- is never 0.
local texts = {
  rand = {
    narrow = {"(a >> shift) * unit", "(b >> shift) * unit",
      "(c >> shift) * unit", "(d >> shift) * unit"},
    wide = {"(a << 21 | b >> 11) * unit", "(c << 21 | d >> 11) * unit"}
  },
  randn = {
    narrow = {"normal(a, shift, unit) * cosine(b, shift, unit)",
      "normal(a, shift, unit) * sine(b, shift, unit)",
      "normal(c, shift, unit) * cosine(d, shift, unit)",
      "normal(c, shift, unit) * sine(d, shift, unit)"},
    wide = {"normal(a << 32 | b, shift, unit) * cosine(c << 32 | d, shift, "
      .. "unit)", "normal(a << 32 | b, shift, unit) * sine(c << 32 | d, shift, "
      .. "unit)"}
  },
  randint = {wide = {"whole(a, b, low, span)", "whole(c, d, low, span)"}}
}

local arguments = {rand = "shift, unit", randn = "shift, unit",
  randint = "low, span"}

-- whole: the upper half of the product of 64 random bits and the span; a span
-- of 0 means 2^64.
local prelude = [[
local math, random = ...
local function normal(word, shift, unit)
  return math.sqrt(-2 * math.log(((word >> shift) + 1) * unit))
end
local function cosine(word, shift, unit)
  return math.cos((word >> shift) * unit * 6.283185307179586)
end
local function sine(word, shift, unit)
  return math.sin((word >> shift) * unit * 6.283185307179586)
end
local function whole(high, low_word, low, span)
  if span == 0 then return high << 32 | low_word end
  local s, t = span & 0xffffffff, span >> 32
  local u = high * s + (low_word * s >> 32)
  local v = low_word * t + (u & 0xffffffff)
  return low + high * t + (u >> 32) + (v >> 32)
end
]]

local kernels = {}

local function kernel_for(op, width)
  local key = op .. width
  if not kernels[key] then
    local values, lines = texts[op][width], {}
    for j, value in ipairs(values) do
      lines[j] = format("  if at + %d <= #x then x[at + %d] = %s end", j, j,
        value)
    end
    local text = format("%sreturn function(i, x, seed, counter, %s)\n"
      .. "  local a, b, c, d = random(seed, counter + i - 1)\n"
      .. "  local at = (i - 1) * %d\n%s\nend", prelude, arguments[op], #values,
      concat(lines, "\n"))
    kernels[key] = C.kernel(C.text(text, op)(math, C.work.random),
      {name = "array_" .. op})
  end
  return kernels[key], #texts[op][width]
end

local function draw(op, width, a, ...)
  if a.size == 0 then return a end
  local kernel, each = kernel_for(op, width)
  local blocks = (a.size + each - 1) // each
  kernel(blocks, a.flat, seed, counter, ...)
  counter = counter + blocks
  return a
end

local function reals(op, shape, o)
  shape = core.check_shape(shape, op, 1)
  local kind, device = core.option_type(o, op, 2, "float", core.type_of)
  if not types[kind].real then
    fail("%s: argument 2 (options): type: half, bfloat16, float or double "
      .. "expected, got %s; randint gives integers", op, kind)
  end
  local a = core.new_on(device, kind, shape)
  core.needs_double(op, kind, a)
  return a, kind == "double" and "wide" or "narrow"
end

-- A.rand(shape [, options]): uniform numbers, at least 0 and below 1.
function A.rand(shape, o)
  local a, width = reals("rand", shape, o)
  local bits = mantissa[a.kind]
  return draw("rand", width, a, 32 - bits, 2.0 ^ -bits)
end

-- A.randn(shape [, options]): normal numbers, mean 0 and standard deviation 1.
function A.randn(shape, o)
  local a, width = reals("randn", shape, o)
  local bits = width == "wide" and 53 or 24
  return draw("randn", width, a, width == "wide" and 11 or 8, 2.0 ^ -bits)
end

-- Returns the bounds of the integers that a type represents exactly.
local function range_of(kind)
  local t = types[kind]
  if t.real then return -(1 << mantissa[kind]), 1 << mantissa[kind] end
  if t.bits == 64 then
    return t.signed and math.mininteger or 0, math.maxinteger
  end
  if t.signed then return -(1 << t.bits - 1), (1 << t.bits - 1) - 1 end
  return 0, (1 << t.bits) - 1
end

-- A.randint(shape, low, high [, options]): integers from low to high,
-- inclusive.
function A.randint(shape, low, high, o)
  shape = core.check_shape(shape, "randint", 1)
  local kind, device = core.option_type(o, "randint", 4, "long",
    core.type_of)
  local least, most = range_of(kind)
  local function bound(v, n, name)
    local i = mathtype(v) and math.tointeger(v)
    if not i then
      fail("randint: argument %d (%s): an integer expected, got %s", n, name,
        mathtype(v) and tostring(v) or C.describe(v))
    elseif i < least or i > most then
      fail("randint: argument %d (%s): %d is outside %d..%d of %s", n, name, i,
        least, most, kind)
    end
    return i
  end
  low, high = bound(low, 2, "low"), bound(high, 3, "high")
  if low > high then
    fail("randint: argument 2 (low): %d is greater than high, %d", low, high)
  end
  local a = core.new_on(device, kind, shape)
  core.needs_double("randint", kind, a)
  return draw("randint", "wide", a, low, high - low + 1)
end
