-- array_complex_text.lua - kernel text of operations on complex numbers.
-- SPDX-License-Identifier: MIT
--
-- A kernel has two reals for a complex number: an operand called v1 is v1r and
-- v1i there.  Kernels read and write buffers of complex numbers as reals.

local core = ...
local format, type = string.format, type

-- The type of the parts of each complex type, and complex types by the types of
-- their buffers and of their parts.
local scalars = {complex64 = "float", complex128 = "double"}
local kinds = {float2 = "complex64", double2 = "complex128"}
local by_scalar = {float = "complex64", double = "complex128"}

-- Texts of operations.  A and B are the parts of the first operand, C and D of
-- the second, E and F of the third; a real X, Y or Z has itself and 0 as parts.
-- L is twice the least normal number of the type.  A key tells which operands
-- are complex, if it matters: "r" for a real, "c" for a complex number.
local texts = {
  copy = "A, B", positive = "A, B", neg = "-A, -B", conj = "A, -B",
  real = "A", imag = "B", abs = "hypot(A, B)", angle = "math.atan(B, A)",
  complex = "A, C", polar = "A * math.cos(C), A * math.sin(C)",
  add = {cc = "A + C, B + D", cr = "A + Y, B", rc = "X + C, D"},
  sub = {cc = "A - C, B - D", cr = "A - Y, B", rc = "X - C, -D"},
  mul = {cc = "cmul(A, B, C, D)", cr = "A * Y, B * Y", rc = "X * C, X * D"},
  div = {cc = "cdiv(A, B, C, D, L)", cr = "A / Y, B / Y",
    rc = "cdiv(A, B, C, D, L)"},
  eq = "A == C and B == D and 1 or 0", ne = "(A ~= C or B ~= D) and 1 or 0",
  isnan = "(A ~= A or B ~= B) and 1 or 0",
  isfinite = "A - A == 0 and B - B == 0 and 1 or 0",
  isinf = "(A == A and A - A ~= 0 or B == B and B - B ~= 0) and 1 or 0",
  square = "cmul(A, B, A, B)", reciprocal = "cdiv(1.0, 0.0, A, B, L)",
  where = "(A ~= 0 or B ~= 0) and C or E, (A ~= 0 or B ~= 0) and D or F"
}

-- Functions of kernels.  Infinities and NaN follow annex G of C11.
local functions = [[
-- 1 or 0 with the sign of x: 1 if x is infinite.
local function unit(x)
  return copysign(x == x and x - x ~= 0 and 1.0 or 0.0, x)
end
local function zero_nan(x)
  return x ~= x and copysign(0.0, x) or x
end
-- The product of numbers that gives NaN: G.5.1, 4.
local function cmul_special(a, b, c, d)
  local again = false
  if math.abs(a) == math.huge or math.abs(b) == math.huge then
    a, b, c, d, again = unit(a), unit(b), zero_nan(c), zero_nan(d), true
  end
  if math.abs(c) == math.huge or math.abs(d) == math.huge then
    a, b, c, d, again = zero_nan(a), zero_nan(b), unit(c), unit(d), true
  end
  if not again and (math.abs(a * c) == math.huge or
    math.abs(b * d) == math.huge or math.abs(a * d) == math.huge or
    math.abs(b * c) == math.huge)
  then
    a, b, c, d, again = zero_nan(a), zero_nan(b), zero_nan(c), zero_nan(d), true
  end
  if not again then return a * c - b * d, a * d + b * c end
  return math.huge * (a * c - b * d), math.huge * (a * d + b * c)
end
local function cmul(a, b, c, d)
  local re, im = a * c - b * d, a * d + b * c
  if re ~= re and im ~= im then re, im = cmul_special(a, b, c, d) end
  return re, im
end
-- R. L. Smith's quotient (1962), with the care for underflow and the scales of
-- M. Baudin and R. L. Smith, A robust complex division in Scilab (2012).
local function cdiv_plain(a, b, c, d)
  if math.abs(d) > math.abs(c) then
    local r = c / d
    local t = 1.0 / (c * r + d)
    if r ~= 0 then return (a * r + b) * t, (b * r - a) * t end
    return (c * (a / d) + b) * t, (c * (b / d) - a) * t
  end
  local r = d / c
  local t = 1.0 / (c + d * r)
  if r ~= 0 then return (a + b * r) * t, (b - a * r) * t end
  return (a + d * (b / c)) * t, (b - d * (a / c)) * t
end
-- The quotient of numbers that gives NaN: G.5.1, 8.
local function cdiv_special(a, b, c, d)
  if c == 0 and d == 0 and (a == a or b == b) then
    local s = copysign(math.huge, c)
    return s * a, s * b
  elseif (math.abs(a) == math.huge or math.abs(b) == math.huge) and
    c - c == 0 and d - d == 0
  then
    a, b = unit(a), unit(b)
    return math.huge * (a * c + b * d), math.huge * (b * c - a * d)
  elseif (math.abs(c) == math.huge or math.abs(d) == math.huge) and
    a - a == 0 and b - b == 0
  then
    c, d = unit(c), unit(d)
    return 0.0 * (a * c + b * d), 0.0 * (b * c - a * d)
  end
  return 0.0 / 0.0, 0.0 / 0.0
end
-- low is twice the least normal number.
local function cdiv(a, b, c, d, low)
  local n, m = math.abs(a), math.abs(c)
  if math.abs(b) > n then n = math.abs(b) end
  if math.abs(d) > m then m = math.abs(d) end
  local up, s = low < 0x1p-200 and 0x1p110 or 0x1p50, 1.0
  if n > 0.125 / low then a, b, s = a * 0.0625, b * 0.0625, s * 16.0
  elseif n < low * up then a, b, s = a * up, b * up, s / up end
  if m > 0.125 / low then c, d, s = c * 0.0625, d * 0.0625, s * 0.0625
  elseif m < low * up then c, d, s = c * up, d * up, s * up end
  local re, im = cdiv_plain(a, b, c, d)
  if re ~= re and im ~= im then re, im = cdiv_special(a, b, c, d) end
  return re * s, im * s
end
]]

local normal = {float = "0x1p-125", double = "0x1p-1021"}

-- Returns true if an operand is complex.
local function is_complex(v)
  return type(v) == "table" and scalars[v.kind] ~= nil
end

-- Adds the parts of operand v, called `name`, to a table of names.
local function add_parts(names, word, re, im, v, name)
  if v == nil then return end
  names[word] = name
  if is_complex(v) then
    names[re], names[im] = name .. "r", name .. "i"
    return
  end
  if type(v) == "table" and v.kind == "ulong" then
    names[word] = format("real(%s)", name)
  end
  names[re], names[im] = format("(%s * 1.0)", names[word]), "0.0"
end

-- Returns the text of an operation on x, y and z, whose names are X, Y and Z:
-- of two reals if its results are complex.
local function fill_in(op, x, y, z, X, Y, Z)
  local names = {L = normal[op.reals]}
  add_parts(names, "X", "A", "B", x, X)
  add_parts(names, "Y", "C", "D", y, Y)
  add_parts(names, "Z", "E", "F", z, Z)
  local text = texts[op.name]
  if type(text) == "table" then
    text = text[(is_complex(x) and "c" or "r") ..
      (is_complex(y) and "c" or "r")]
  end
  return (text:gsub("%f[%w]%u%f[%W]", names))
end

-- Returns a buffer of complex numbers, or one of an array's, as reals.
local function as_reals(base)
  return base:view(1, #base, scalars[kinds[base.type]])
end

-- Returns true if an operation is computed by these texts.
local function applies(op, x, y, z)
  return scalars[op.type] ~= nil or is_complex(x) or is_complex(y) or
    is_complex(z)
end

-- Operations on complex numbers: "real" if their results are, else true.
local results = {real = "real", imag = "real", abs = "real", angle = "real"}
for name in next, texts do results[name] = results[name] or true end

core.scalars, core.complex_kinds, core.complex_of = scalars, kinds, by_scalar
core.complex_results = results

return {scalars = scalars, texts = texts, functions = functions,
  applies = applies, fill_in = fill_in, as_reals = as_reals}
