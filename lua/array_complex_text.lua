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
    rc = "cdiv(A, -0.0, C, D, L)"},
  eq = "A == C and B == D and 1 or 0", ne = "(A ~= C or B ~= D) and 1 or 0",
  isnan = "(A ~= A or B ~= B) and 1 or 0",
  isfinite = "A - A == 0 and B - B == 0 and 1 or 0",
  isinf = "(A == A and A - A ~= 0 or B == B and B - B ~= 0) and 1 or 0",
  pow = "cpow(A, B, C, D, L)", exp = "cexp(A, B, L)", log = "clog(A, B, L)",
  log2 = "clog_by(A, B, 1.44269504088896341, L)",
  log10 = "clog_by(A, B, 0.434294481903251828, L)", sqrt = "csqrt(A, B, L)",
  sin = "csin(A, B, L)", cos = "ccos(A, B, L)", tan = "ctan(A, B)",
  sinh = "csinh(A, B, L)", cosh = "ccosh(A, B, L)", tanh = "ctanh(A, B)",
  asin = "casin(A, B, L)", acos = "cacos(A, B, L)", atan = "catan(A, B, L)",
  asinh = "casinh(A, B, L)", acosh = "cacosh(A, B, L)",
  atanh = "catanh(A, B, L)", expm1 = "cexpm1(A, B, L)",
  log1p = "clog1p(A, B, L)", sign = "csign(A, B, L)",
  square = "cmul(A, B, A, B)", reciprocal = "cdiv(1.0, -0.0, A, B, L)",
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
-- Functions of complex numbers: W. Kahan, Branch cuts for complex elementary
-- functions (1987), and the special values of G.6.  The sign of a zero selects
-- the side of a branch cut.
local function csqrt(a, b, low)
  if a == 0 and b == 0 then return 0.0, b end
  if math.abs(b) == math.huge then return math.huge, b end
  if a == math.huge then return a, copysign(b - b, b) end
  if a == -math.huge then return math.abs(b - b), copysign(math.huge, b) end
  local n, s = math.abs(a), 1.0
  if math.abs(b) > n then n = math.abs(b) end
  if n > 0.125 / low then
    a, b, s = a * 0.0625, b * 0.0625, 4.0
  elseif n < low * 0x1p60 then
    a, b, s = a * 0x1p60, b * 0x1p60, 0x1p-30
  end
  local t = math.sqrt((math.abs(a) + hypot(a, b)) * 0.5)
  if a >= 0 then return t * s, b / (t + t) * s end
  return math.abs(b) / (t + t) * s, copysign(t, b) * s
end
-- (exp(a) cos b, exp(a) sin b) times a scale, for b that is not 0.
local function cis_exp(a, b, scale, low)
  local c, s = math.cos(b) * scale, math.sin(b) * scale
  if a > (low < 0x1p-200 and 709.0 or 88.0) then
    local e = math.exp(a * 0.5)
    return c * e * e, s * e * e
  end
  local e = math.exp(a)
  return c * e, s * e
end
local function cexp(a, b, low)
  if b == 0 then return math.exp(a), b end
  if b - b ~= 0 then
    if a == -math.huge then return 0.0, copysign(0.0, b) end
    if a == math.huge then return a, b - b end
  end
  return cis_exp(a, b, 1.0, low)
end
-- log |a + b i|.  Near 1, it needs the exact squares.
local function log_hypot(a, b, low)
  local x, y = math.abs(a), math.abs(b)
  if x == math.huge or y == math.huge then return math.huge end
  if x < y then x, y = y, x end
  if x > 0.25 and x < 1.5 and y < 1.25 then
    local p, q = x * x, y * y
    local d = p - 1.0
    local s = d + q
    local t = s - d
    local rest = p - (d + 1.0) + (d - (s - t)) + (q - t) + fma(x, x, -p) +
      fma(y, y, -q)
    if s > -0.75 then return log1p(s + rest) * 0.5 end
  end
  if x > 0.125 / low then
    return math.log(hypot(x * 0.0625, y * 0.0625)) + 2.77258872223978124
  elseif x < low * 0x1p60 and x > 0 then
    return math.log(hypot(x * 0x1p60, y * 0x1p60)) - 41.5888308335967186
  end
  return math.log(hypot(x, y))
end
local function clog(a, b, low)
  return log_hypot(a, b, low), math.atan(b, a)
end
local function clog_by(a, b, factor, low)
  return log_hypot(a, b, low) * factor, math.atan(b, a) * factor
end
local function csinh(a, b, low)
  if b == 0 then return sinh(a), b end
  if b - b ~= 0 and (a == 0 or math.abs(a) == math.huge) then
    return a, b - b
  end
  if math.abs(a) > 20.0 then
    local re, im = cis_exp(math.abs(a), b, 0.5, low)
    return a < 0 and -re or re, im
  end
  return sinh(a) * math.cos(b), cosh(a) * math.sin(b)
end
local function ccosh(a, b, low)
  if b == 0 then return cosh(a), copysign(0.0, a) * b end
  if b - b ~= 0 then
    if a == 0 then return b - b, copysign(0.0, a) end
    if math.abs(a) == math.huge then return math.huge, b - b end
  end
  if math.abs(a) > 20.0 then
    local re, im = cis_exp(math.abs(a), b, 0.5, low)
    return re, a < 0 and -im or im
  end
  return cosh(a) * math.cos(b), sinh(a) * math.sin(b)
end
local function ctanh(a, b)
  if b == 0 then return tanh(a), b end
  if b - b ~= 0 then
    if a == 0 then return a, b - b end
    if math.abs(a) == math.huge then
      return copysign(1.0, a), copysign(0.0, b)
    end
    return b - b, b - b
  end
  if math.abs(a) > 20.0 then
    local e = math.exp(-math.abs(a))
    return copysign(1.0, a), 4.0 * math.sin(b) * math.cos(b) * e * e
  end
  local t, s = math.tan(b), sinh(a)
  local beta = 1.0 + t * t
  local d = 1.0 + beta * s * s
  return beta * math.sqrt(1.0 + s * s) * s / d, t / d
end
-- log |2 (a + b i)|, the limit of the inverse functions.
local function log_twice_hypot(a, b, low)
  return log_hypot(a, b, low) + 0.69314718055994531
end
local function cacos(a, b, low)
  if math.abs(a) > 0.125 / low or math.abs(b) > 0.125 / low then
    return math.atan(math.abs(b), a), -copysign(log_twice_hypot(a, b, low), b)
  end
  if a == 0 and b ~= b then return 1.57079632679489662, b end
  local pr, pi = csqrt(1.0 + a, b, low)
  local mr, mi = csqrt(1.0 - a, -b, low)
  return 2.0 * math.atan(mr, pr), asinh(pr * mi - pi * mr)
end
local function cacosh(a, b, low)
  local re, im = cacos(a, b, low)
  return math.abs(im), copysign(re, b)
end
local function casinh(a, b, low)
  if math.abs(a) > 0.125 / low or math.abs(b) > 0.125 / low then
    return copysign(log_twice_hypot(a, b, low), a), math.atan(b, math.abs(a))
  end
  if b == 0 and a ~= a then return a, b end
  local pr, pi = csqrt(1.0 + b, -a, low)
  local mr, mi = csqrt(1.0 - b, a, low)
  return asinh(pr * mi - pi * mr), math.atan(b, pr * mr - pi * mi)
end
local function catanh(a, b, low)
  if a == 0 and b ~= b then return a, b end
  local x, y = math.abs(a), math.abs(b)
  local far, re, im = low < 0x1p-200 and 0x1p60 or 0x1p30, 0.0, 0.0
  if x > far or y > far then
    local r, i = cdiv(1.0, 0.0, x, y, low)
    re, im = r, copysign(1.57079632679489662, b)
    if b ~= b or x ~= x and y ~= math.huge then im = a + b end
  else
    if x == 1 and y < 0x1p-8 then
      re = (math.log(hypot(2.0, y)) - math.log(y)) * 0.5
    else
      re = log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)) * 0.25
    end
    im = math.atan(2.0 * b, (1.0 - x) * (1.0 + x) - y * y) * 0.5
  end
  return copysign(re, a), im
end
local function csin(a, b, low)
  local re, im = csinh(-b, a, low)
  return im, -re
end
local function ccos(a, b, low) return ccosh(-b, a, low) end
local function ctan(a, b)
  local re, im = ctanh(-b, a)
  return im, -re
end
local function casin(a, b, low)
  local re, im = casinh(-b, a, low)
  return im, -re
end
local function catan(a, b, low)
  local re, im = catanh(-b, a, low)
  return im, -re
end
local function csign(a, b, low)
  if a == 0 and b == 0 then return a, b end
  return cdiv(a, b, hypot(a, b), 0.0, low)
end
local function cexpm1(a, b, low)
  if b == 0 then return expm1(a), b end
  if math.abs(a) > 1 or b - b ~= 0 or a ~= a then
    local re, im = cexp(a, b, low)
    return re - 1.0, im
  end
  local h = math.sin(b * 0.5)
  return expm1(a) * math.cos(b) - 2.0 * h * h, math.exp(a) * math.sin(b)
end
local function clog1p(a, b, low)
  if a < -0.5 or a > 1 or b > 0.5 or b < -0.5 then
    return log_hypot(1.0 + a, b, low), math.atan(b, 1.0 + a)
  end
  return log1p(a * (2.0 + a) + b * b) * 0.5, math.atan(b, 1.0 + a)
end
-- a + b i to the power c + d i: repeated products for small integers.
local function cpow(a, b, c, d, low)
  if d == 0 and c // 1 == c and c <= 64.0 and c >= -64.0 then
    if c == 0 then return 1.0, 0.0 end
    local n = math.abs(c)
    while n % 2 == 0 do
      a, b = cmul(a, b, a, b)
      n = n / 2
    end
    local re, im = a, b
    while n > 1 do
      n = n // 2
      a, b = cmul(a, b, a, b)
      if n % 2 == 1 then re, im = cmul(re, im, a, b) end
    end
    if c < 0 then re, im = cdiv(1.0, -0.0, re, im, low) end
    return re, im
  end
  if a == 0 and b == 0 then
    if c > 0 then return 0.0, 0.0 end
    if c < 0 then return math.huge, 0.0 / 0.0 end
    return 0.0 / 0.0, 0.0 / 0.0
  end
  local l, phi = clog(a, b, low)
  if d == 0 then return cexp(c * l, c * phi, low) end
  return cexp(c * l - d * phi, c * phi + d * l, low)
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
