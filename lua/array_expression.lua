-- array_expression.lua - expressions of arrays: what is computed, when and how.
-- SPDX-License-Identifier: MIT
--
-- An expression is an array without elements yet.  Instead of kind, key, base,
-- from, strides and flat it has op, which is false in other arrays, and its
-- operands x, y and z (arrays, expressions, numbers).  op describes the whole
-- tree: its operations and the types of their operands.  The missing fields are
-- computed when they are first needed; from then on the expression is an array
-- like any other.
--
-- Expressions are evaluated one operation after another, or by one kernel for
-- the whole tree.  Either way each result is rounded to the type of its
-- operation, so the bits are equal.  A walk through the tree finds the kernel
-- and its arguments; for trees that recur, a generated function extracts the
-- arguments.
--
-- Each new expression is noted (src/array/lze_expression.c).  Before a storage
-- is written, the noted expressions that remain are sorted by the storages they
-- read, into one weak list per storage; the live readers of that storage are
-- evaluated.

local core = ...
local complex = core.C.part("array_complex_text", core)
local scalars, applies = complex.scalars, complex.applies
local C, beside, is, meta, types = core.C, core.beside, core.is, core.meta,
  core.types
local abs, ipairs, mathtype, next = math.abs, ipairs, math.type, next
local rawget, rawset, select, setmetatable = rawget, rawset, select,
  setmetatable
local expressions = C.expressions(meta, core.outer_meta)
local tostring, type = tostring, type
local concat, format, max, min, unpack = table.concat, string.format, math.max,
  math.min, table.unpack

local NODES <const> = 48         -- in a tree of operations, operands included
local NAMES <const> = 180        -- in a kernel: Lua functions have 200 locals
local LANES <const> = 60         -- further names that a reduction needs
local CALLS <const> = 400        -- in a kernel: the compiler allows 500
local REDUCED_CALLS <const> = 10 -- of an operand: a reduction has many copies
local LARGE <const> = 1 << 28    -- elements times operations
local MOST_TREES <const> = 1024  -- in the cache
local FRESH <const> = 3          -- fused kernels before its own one
local MOST_LAUNCHES <const> = 8  -- remembered per tree
local DOUBTFUL <const> = 4096    -- elements per KiB of Lua memory
local MOST <const> = (1 << 32) - 1 -- elements in a launch
local MOST_ROWS <const> = 65535  -- groups in CUDA's second dimension
local TILED <const> = 1 << 14    -- elements whose transposition needs tiles
local TILE <const> = {64, 16}    -- columns and rows

-- --- operations --------------------------------------------------------------

-- Kernel text of each operation; X, Y and Z are the operands.
local texts = {
  copy = "X", range = "X + (i - 1) * Y",
  neg = "-X", bnot = "~X", lnot = "1 - X",
  add = "X + Y", sub = "X - Y", mul = "X * Y", div = "X / Y", idiv = "X // Y",
  mod = "X % Y", pow = "X ^ Y", band = "X & Y", bor = "X | Y", bxor = "X ~ Y",
  shl = "X << Y", shr = "X >> Y",
  eq = "X == Y and 1 or 0", ne = "X ~= Y and 1 or 0", lt = "X < Y and 1 or 0",
  le = "X <= Y and 1 or 0", gt = "X > Y and 1 or 0", ge = "X >= Y and 1 or 0",
  abs = "math.abs(X)", sign = "X > 0 and 1 or (X < 0 and -1 or X - X)",
  sqrt = "math.sqrt(X)", rsqrt = "1 / math.sqrt(X)", exp = "math.exp(X)",
  log = "math.log(X)", log2 = "math.log(X, 2)", log10 = "math.log(X, 10)",
  log1p = "log1p(X)", expm1 = "expm1(X)", sin = "math.sin(X)",
  cos = "math.cos(X)", tan = "math.tan(X)", asin = "math.asin(X)",
  acos = "math.acos(X)", atan = "math.atan(X)", atan2 = "math.atan(X, Y)",
  sinh = "sinh(X)", cosh = "cosh(X)", tanh = "tanh(X)", sigmoid = "sigmoid(X)",
  floor = "X // 1", ceil = "-(-X // 1)", round = "round(X)",
  trunc = "X < 0 and -(-X // 1) or X // 1",
  least = "math.min(X, Y)", greatest = "math.max(X, Y)",
  clamp = "math.min(math.max(X, Y), Z)",
  fma = "fma(X, Y, Z)", lerp = "X + (Y - X) * Z",
  isnan = "X ~= X and 1 or 0", isfinite = "X - X == 0 and 1 or 0",
  where = "X ~= 0 and Y or Z",
  to_integer = "X < 0 and math.ceil(X) or math.floor(X)",
  positive = "X", square = "X * X", reciprocal = "1 / X",
  relu = "X <= 0 and 0 or X", remainder = "X % Y",
  fmod = "math.fmod(X, Y)",
  isinf = "X == X and X - X ~= 0 and 1 or 0",
  signbit = "negative(X) and 1 or 0", copysign = "copysign(X, Y)",
  hypot = "hypot(X, Y)", asinh = "asinh(X)", acosh = "acosh(X)",
  atanh = "atanh(X)", exp2 = "2.0 ^ X", logaddexp = "logaddexp(X, Y)",
  softplus = "softplus(X)", cbrt = "cbrt(X)",
  nextafter = "nextafter(X, Y, U, E, M)", erf = "erf(X, U)",
  erfc = "erfc(X, U)", gamma = "gamma(X, U)", lgamma = "lgamma(X)",
  real = "X", conj = "X", imag = "0", angle = "math.atan(0.0, X)"
}

-- Operations for numbers as exponents, for which kernels need no pow.
local powers = {[0.5] = "pow_half", [-1] = "pow_minus_1", [-2] = "pow_minus_2"}
for n = 2, 16 do powers[n] = "pow_" .. n end
for n, name in next, powers do texts[name] = "X ^ (" .. n .. ")" end

-- Texts for ulong: a kernel reads its elements from 2^63 on as negative.
local unsigned_texts = {
  idiv = "udiv(X, Y)", mod = "umod(X, Y)",
  lt = "math.ult(X, Y) and 1 or 0", le = "math.ult(Y, X) and 0 or 1",
  gt = "math.ult(Y, X) and 1 or 0", ge = "math.ult(X, Y) and 0 or 1",
  remainder = "umod(X, Y)", fmod = "umod(X, Y)", relu = "X",
  abs = "X", sign = "X ~= 0 and 1 or 0", least = "umin(X, Y)",
  greatest = "umax(X, Y)", clamp = "umin(umax(X, Y), Z)",
  to_integer = "X >= 0x1p63 and math.floor(X - 0x1p63) ~ math.mininteger or "
    .. "(X < 0 and math.ceil(X) or math.floor(X))"
}

-- Texts for reals.  Integers become reals first, so all results are reals.
local real_texts = {
  least = "least(X * 1.0, Y * 1.0)", greatest = "greatest(X * 1.0, Y * 1.0)",
  clamp = "least(greatest(X * 1.0, Y * 1.0), Z * 1.0)"
}

-- Texts for integers of 31 bits and a sign and an integer that is a number.
local number_texts = {idiv = "quotient(X, Y)", mod = "rest(X, Y)",
  remainder = "rest(X, Y)"}

-- Texts of integers compared with reals: the reals for which the comparison, of
-- the real with the integer, has the same result.
local real_bounds = {lt = "above(Y, V)", ge = "above(Y, V)",
  le = "below(Y, V)", gt = "below(Y, V)", eq = "exactly(Y)", ne = "exactly(Y)"}

local comparisons = {eq = true, ne = true, lt = true, le = true, gt = true,
  ge = true}

-- Coefficients, the highest power first.  The first three polynomials
-- interpolate, in Chebyshev's points, erf(x) / x - 1 in x^2 for |x| <= 1,
-- x exp(x^2) erfc(x) in 1 - 7 / (x + 3) for x >= 0.5, and log(gamma(2 + x)) / x
-- for |x| <= 0.5.  The last one is the start of Stirling's series.
local polynomials = {
  erf = [[
    5.9571761477489113e-11 -1.1372848856791674e-09 1.4659775274047436e-08
    -1.6350312701054695e-07 1.6461000484121368e-06 -1.4925595266831182e-05
    0.0001205533111164271 -0.000854832698083379 0.0052239776248180145
    -0.026866170645076792 0.11283791670954879 -0.37612638903183748
    0.12837916709551259]],
  erfc = [[
    5.5217227567450669e-11 4.8530945270305217e-11 -6.113038022637604e-10
    -7.3766681075414279e-10 4.0344791695020068e-09 6.7572609286829321e-09
    -2.3633810471463721e-08 -5.1085518337164353e-08 1.5241921443424501e-07
    3.5257098670643158e-07 -1.2036915469439658e-06 -2.1105258223900691e-06
    1.1455062387827695e-05 4.958899305980242e-06 -0.00011367529279175854
    0.00019474771334810587 0.00068261387762701294 -0.0049592183436213385
    0.016148789627243462 -0.035910288048929283 0.059186061164101522
    -0.071308849926010456 0.052258032714828997 0.54799783050024553]],
  gamma = [[
    6.3790475076197741e-08 -1.3412819758517287e-07 2.0304806751615227e-07
    -4.3035587603599611e-07 9.5786633341147582e-07 -2.0449201467015115e-06
    4.3743749169151311e-06 -9.4384587162428114e-06 2.0507267416057789e-05
    -4.4926351103833334e-05 9.9457509098893921e-05 -0.00022315475074520367
    0.00050966952488530962 -0.0011927539120010226 0.002890510330738737
    -0.0073855510286681535 0.020580808427784571 -0.067352301053198144
    0.3224670334241132 0.42278433509846713]],
  stirling = [[
    -3617/122400 1/156 -691/360360 1/1188 -1/1680 1/1260 -1/360 1/12]]
}

-- Returns the text of a polynomial of a variable.
local function polynomial(name, variable)
  local text
  for c in polynomials[name]:gmatch "%S+" do
    text = text and format("(%s * %s + %s)", text, variable, c) or c
  end
  return text
end

-- log1p and expm1: W. Kahan's, HP-15C Advanced Functions Handbook (1982).
local functions = [[
-- The first of equals; NaN if there is one.  Compilers vectorise this form.
local function least(x, y)
  local v = x <= y and x or y
  return x ~= x and x or v
end
local function greatest(x, y)
  local v = x >= y and x or y
  return x ~= x and x or v
end
-- x // y for |x| <= 2^31.  The multiplier depends on y only, so it is computed
-- once; the product is at most 1 off.
local function quotient(x, y)
  local a = math.abs(y)
  local m = a > 0 and (1 << 31) // a or 0
  local v = y < 0 and -x or x
  local q = (v * m + (1 << 62) >> 31) - (1 << 31)
  local r = v - q * a
  local low, high = q - 1, q + 1
  local other = r < 0 and low or high
  q = math.ult(r, a) and q or other
  return y ~= 0 and q or 0
end
local function rest(x, y)
  local r = x - quotient(x, y) * y
  return y ~= 0 and r or 0
end
-- The nearest reals at or above and at or below an integer, and the same real
-- or NaN; v is a little more than half the distance from 1 to the next real.
local function above(y, v)
  local r = y + 0.0
  local next = r + math.abs(r) * v
  return r < y and next or r
end
local function below(y, v)
  local r = y + 0.0
  local next = r - math.abs(r) * v
  return r > y and next or r
end
local function exactly(y)
  local r = y + 0.0
  return r == y and r or 0.0 / 0.0
end
local function log1p(x)
  local u = 1.0 + x
  if u == 1.0 or u == math.huge then return x * 1.0 end
  return math.log(u) * (x / (u - 1.0))
end
local function expm1(x)
  local u = math.exp(x)
  if u == 1.0 or u == math.huge then return u == 1.0 and x * 1.0 or u end
  local v = u - 1.0
  if v == -1.0 then return -1.0 end
  return v * (x / math.log(u))
end
-- exp(x) / 2, finite even if exp(x) is too large.
local function half_exp(x)
  local e = math.exp(x / 2.0)
  return e / 2.0 * e
end
local function cosh(x)
  local a = math.abs(x * 1.0)
  if a > 20.0 then return half_exp(a) end
  local e = math.exp(a)
  return (e + 1.0 / e) / 2.0
end
local function sinh(x)
  if x == 0 then return x * 1.0 end
  local a, s = math.abs(x * 1.0)
  if a > 20.0 then
    s = half_exp(a)
  else
    local e = expm1(a)
    s = (e + e / (e + 1.0)) / 2.0
  end
  return x < 0 and -s or s
end
local function tanh(x)
  if x > 20.0 then return 1.0 elseif x < -20.0 then return -1.0 end
  local e = expm1(x + x)
  return e / (e + 2.0)
end
local function sigmoid(x)
  local e = math.exp(-math.abs(x * 1.0))
  return (x < 0 and e or 1.0) / (1.0 + e)
end
local function round(x)
  local f = x // 1
  local d = x - f
  if d < 0.5 or d ~= d or d == 0.5 and f % 2 == 0 then return f end
  return -(-f - 1) -- -0.0 if f is -1
end
local function negative(x) return x < 0 or x == 0 and 1 / x < 0 end
local function copysign(x, y)
  local a = math.abs(x * 1.0)
  return negative(y) and -a or a
end
local function hypot(x, y)
  local a, b = math.abs(x * 1.0), math.abs(y * 1.0)
  if a == math.huge or b == math.huge then return math.huge end
  if a < b then a, b = b, a end
  if b == 0 then return a end
  local r = b / a
  return a * math.sqrt(1.0 + r * r)
end
-- log(2 x) for x from 2^28, for which x + 1 and x - 1 are as good as x.
local function log_twice(x) return math.log(x) + 0.69314718055994531 end
local function asinh(x)
  if x == 0 then return x * 1.0 end
  local a, s = math.abs(x * 1.0)
  if a >= 0x1p28 then
    s = log_twice(a)
  else
    local q = a * a
    s = log1p(a + q / (1.0 + math.sqrt(1.0 + q)))
  end
  return x < 0 and -s or s
end
local function acosh(x)
  if x >= 0x1p28 then return log_twice(x) end
  if x < 1 then return math.sqrt(-1.0) end
  local t = x - 1.0
  return log1p(t + math.sqrt(t * (t + 2.0)))
end
local function atanh(x)
  if x == 0 then return x * 1.0 end
  local a = math.abs(x * 1.0)
  local s = log1p(2.0 * a / (1.0 - a)) / 2.0
  return x < 0 and -s or s
end
local function softplus(x)
  local s = log1p(math.exp(-math.abs(x * 1.0)))
  return x > 0 and x + s or s
end
local function logaddexp(x, y)
  if x == y then return x + 0.69314718055994531 end -- infinities too
  return (x > y and x or y) + log1p(math.exp(-math.abs(x - y * 1.0)))
end
-- One step of Newton's method from a root that may be some digits off.  Small
-- numbers are scaled, else the step would vanish.
local function cbrt(x)
  local a, s = math.abs(x * 1.0), 1.0
  if a == 0 or a - a ~= 0 then return x * 1.0 end
  if a < 0x1p-96 then a, s = a * 0x1p108, 0x1p-36 end
  local y = a ^ (1.0 / 3.0)
  y = (y - fma(y * y, y, -a) / (3.0 * y * y)) * s
  return x < 0 and -y or y
end
-- The types' numbers are spaced by 2 u from 1 on, and by least next to 0; most
-- is the largest.  The store rounds half and bfloat16.  S. M. Rump et al.,
-- Computing predecessor and successor in rounding to nearest (2009).
local function nextafter(x, y, u, least, most)
  if not (x < y or x > y) then return x == y and y or x + y end
  local s = x < y and 1.0 or -1.0
  local v, a, e = x * s, math.abs(x), u + 2.0 * u * u
  if v == -math.huge then v = -most
  elseif a < least / u then v = v + least
  elseif a < 1 then v = (v / u + a / u * e) * u
  else v = v + a * e end
  return v == 0 and x * 0.0 or v * s
end
-- erfc(x) for x >= 0.5: x^2 is the exact square of z and a small rest.
local function erfc_tail(x, u)
  if x > 28 then return 0.0 end
  local s = u < 0x1p-30 and 65536.0 or 128.0
  local z, t = x * s // 1 / s, 1.0 - 7.0 / (x + 3.0)
  return math.exp(-z * z) * math.exp((z - x) * (z + x)) * $erfc(t) / x
end
local function erf(x, u)
  local a = math.abs(x * 1.0)
  if a >= 1 then
    local s = 1.0 - erfc_tail(a, u)
    return x < 0 and -s or s
  end
  local w = a * a
  return x + x * $erf(w)
end
local function erfc(x, u)
  if x > 0.75 then return erfc_tail(x * 1.0, u) end
  return 1.0 - erf(x, u)
end
-- log(gamma(2 + x)) for |x| <= 0.5.
local function log_gamma(x) return x * $gamma(x) end
local function stirling(x)
  local w = 1.0 / (x * x)
  return $stirling(w) / x
end
-- |sin(pi x)| and true if the sine is negative, for x >= 0.
local function sin_pi(x)
  local r = x % 2.0
  local down = r >= 1
  if down then r = r - 1.0 end
  if r > 0.5 then r = 1.0 - r end
  return math.sin(3.14159265358979324 * r), down
end
-- gamma(-x) is -pi / (x sin(pi x) gamma(x)).
local function gamma(x, u)
  local a = math.abs(x * 1.0)
  if a < 0.5 then return math.exp(log_gamma(x * 1.0)) / (x * (1.0 + x)) end
  local p, q = 1.0, 1.0                     -- gamma(a) is their product
  if a < 1.5 then
    p = math.exp(log_gamma(a - 1.0)) / a
  elseif a < 24 then
    local y = a
    while y >= 2.5 do
      y = y - 1.0
      q = q * y
    end
    p = math.exp(log_gamma(y - 2.0))
  elseif a > (u < 0x1p-30 and 190 or 42) then
    p = math.huge
  else
    q = a ^ (a / 2.0 - 0.25)
    p = q * math.exp(-a) * (2.50662827463100050 * math.exp(stirling(a)))
  end
  if x >= 0 then return p * q end
  local s, down = sin_pi(a)
  if s == 0 then return 0.0 / 0.0 end
  s = 3.14159265358979324 / (a * s) / p / q
  return down and s or -s
end
local function lgamma(x)
  local a, g = math.abs(x * 1.0)
  if a < 0.5 then
    return log_gamma(x * 1.0) - log1p(x) - math.log(a)
  elseif a < 1.5 then
    g = log_gamma(a - 1.0) - log1p(a - 1.0)
  elseif a < 8 then
    local y, q = a, 1.0
    while y >= 2.5 do
      y = y - 1.0
      q = q * y
    end
    g = math.log(q) + log_gamma(y - 2.0)
  else
    g = (a - 0.5) * (math.log(a) - 1.0) + 0.418938533204672742 + stirling(a)
  end
  if x > 0 or x ~= x then return g end
  if a // 1 == a then return math.huge end
  local s = sin_pi(a)
  return math.log(3.14159265358979324 / (a * s)) - g
end
local function umin(x, y) return math.ult(y, x) and y or x end
local function umax(x, y) return math.ult(x, y) and y or x end
local function udiv(x, y)
  if y < 0 then return math.ult(x, y) and 0 or 1 end
  if x >= 0 then return x // y end
  local q = (x >> 1) // y << 1
  if y ~= 0 and not math.ult(x - q * y, y) then q = q + 1 end
  return q
end
local function umod(x, y)
  if y == 0 then return x % y end
  return x - udiv(x, y) * y
end
-- Half of an element of ulong from 2^63 on, which rounds and compares with the
-- halves of reals as all of it would; and what reals are multiplied by for it.
local function low(x) return x >= 0 and x or x >> 1 | x & 1 end
local function scale(x) return x >= 0 and 1.0 or 0.5 end
local function real(x) return x >= 0 and x + 0.0 or low(x) * 2.0 end
-- A float that rounds to bfloat16 as an integer from 0 would.
local function odd(x)
  local s = 1.0
  while x >= 0x1000000 do
    x, s = x >> 8 | (x & 255 ~= 0 and 1 or 0), s * 256.0
  end
  return x * s
end
]]
functions = functions:gsub("%$(%l+)%((%l)%)", polynomial)
functions = functions .. complex.functions

-- The functions in their order: {name, text}.  They call earlier ones.  Kernels
-- that know functions of floats call those.
local definitions, floats = {}, C.floats()
for line in functions:gmatch "[^\n]+" do
  local name = line:match "^local function ([%w_]+)"
  if name then definitions[#definitions + 1] = {name, ""} end
  if line:sub(1, 2) ~= "--" then
    local d = definitions[#definitions]
    d[2] = d[2] .. line .. "\n"
    if name and floats[name] then
      d[2] = format("%s  if floats.known() then return floats.%s end\n", d[2],
        line:match "%w+%b()")
    end
  end
end

-- Counts of the calls that a call of each function consists of: the compiler
-- puts each into its place.
local weights = {}

local function calls_in(text)
  local n = 0
  for name in text:gmatch "([%a_][%w_]*)%(" do n = n + (weights[name] or 0) end
  return n
end
for _, d in ipairs(definitions) do weights[d[1]] = 1 + calls_in(d[2]) end

-- Returns the text of a kernel after the functions that it calls.
local function complete(text)
  for k = #definitions, 1, -1 do
    local name, definition = definitions[k][1], definitions[k][2]
    if text:find("%f[%w_]" .. name .. "%(") then text = definition .. text end
  end
  return "local math, fma, floats = ...\n" .. text
end

-- The real type in which each real or complex type is computed.
local reals = {half = "float", bfloat16 = "float", float = "float",
  double = "double"}
for name, scalar in next, scalars do reals[name] = scalar end
core.reals = reals

-- U, E and M in texts: half the distance from 1 to the next larger number of a
-- type, its smallest number above 0, and its largest number.
local limits = {
  half = {U = "0x1p-11", E = "0x1p-24", M = "0x1.ffcp15"},
  bfloat16 = {U = "0x1p-8", E = "0x1p-133", M = "0x1.fep127"},
  float = {U = "0x1p-24", E = "0x1p-149", M = "0x1.fffffep127"},
  double = {U = "0x1p-53", E = "0x1p-1074", M = "0x1.fffffffffffffp1023"}
}

-- Wraps an integer that is not stored in between to its type.
local wraps = {
  char = "((%s) + 128 & 255) - 128", uchar = "(%s) & 255",
  short = "((%s) + 32768 & 65535) - 32768", ushort = "(%s) & 65535",
  int = "((%s) + 2147483648 & 4294967295) - 2147483648",
  uint = "(%s) & 4294967295"
}

local function step(at, key)
  local to = at[key]
  if not to then
    to = {}
    at[key] = to
  end
  return to
end

-- Operations: {name =, type = of results, reals =, apart = true if only a store
-- rounds results to their type because the kernel computes in wider reals,
-- arity =, x =, y =, z = math.type of each operand that is a number, trial =
-- {left = number of fused kernels that may still include it before it counts as
-- having its own kernel}, operation = itself}.  Each operation has one table;
-- operations that differ only in which operands are numbers share a trial.
local operations = {}

local function operation(name, kind, width, x, y, z)
  local at = step(step(step(operations, name), kind), width or "none")
  local trial = step(at, "trial")
  trial.left = trial.left or FRESH
  local arity = z ~= nil and 3 or y ~= nil and 2 or 1
  x, y, z = mathtype(x), y ~= nil and mathtype(y), z ~= nil and mathtype(z)
  local op = step(step(step(step(at, arity), x or "array"), y or "array"),
    z or "array")
  if not op.operation then                  -- set last: a hook may raise before
    op.name, op.type, op.reals, op.trial = name, kind, width, trial
    op.apart = reals[kind] ~= nil and (scalars[kind] or kind) ~= width
    op.arity, op.x, op.y, op.z = arity, x, y, z
    op.operation = op
  end
  return op
end

-- Keys of operands: see src/array/lze_expression.c.
local number_keys = {integer = 1, float = 2}

local function key_of(v)
  if type(v) == "number" then return number_keys[mathtype(v)] end
  return type(v) == "table" and (v.op or v.key) or nil
end

-- Trees by their operations, and the caches of the operators: trees by the keys
-- of their operands.  All are cleared when there are too many.
local trees, tree_count, operators = {}, 0, {}

local function forget_trees()
  trees, tree_count = {}, 0
  for _, known in next, operators do
    for key in next, known do known[key] = nil end
  end
end

local function nodes_of(key)
  return type(key) == "table" and key.nodes or key and 1 or 0
end

-- Returns the tree of an operation on operands with these keys: a copy of the
-- operation with mask = true if results are a mask, nodes = its size, operands
-- included, and launches = the list that `remember` fills.  Each tree has one
-- table.
local function tree(op, mask, x, y, z)
  op = op.operation
  local at = step(step(step(trees, op), mask and "mask" or "none"), x)
  if y then at = step(at, y) end
  if z then at = step(at, z) end
  if not at.tree then
    local t = {mask = mask and true or nil, launches = {},
      nodes = 1 + nodes_of(x) + nodes_of(y) + nodes_of(z)}
    for key, v in next, op do t[key] = v end
    if tree_count == MOST_TREES then forget_trees() end
    at.tree, tree_count = t, tree_count + 1
  end
  return at.tree
end

-- Returns the operation of an array, or false, and its operands.  Any call may
-- run a finalizer or a debug hook, which may evaluate the array: so all are
-- read together.
local function parts_of(a)
  local op = a.op
  if not op then return false end
  local arity = op.arity
  local x, y, z = a.x, arity > 1 and a.y or nil, arity > 2 and a.z or nil
  if a.op ~= op then return parts_of(a) end
  return op, x, y, z
end

-- Returns the operands of an expression.
local function operands(a) return select(2, parts_of(a)) end

local function wider(width, v)
  if width == "double" or v == nil then return width end
  if mathtype(v) then return width or mathtype(v) == "float" and "float" end
  return reals[v.kind] or width
end

local function inherited(v)
  local op = type(v) == "table" and v.op
  return op and op.reals
end

-- Returns the operation called `name` on operands, with results of a type.  If
-- neither has reals, it computes in the reals of the operations that produced
-- its operands.
local function operation_of(name, kind, x, y, z)
  local width = wider(wider(wider(reals[kind], x), y), z)
  return operation(name, kind, width or inherited(x) or inherited(y) or
    inherited(z) or nil, x, y, z)
end

-- --- kernels -----------------------------------------------------------------

-- Cache of trees, found by their operations and by the types, layouts and
-- identities of their operands.
local known = {}

local known_count, MOST_KNOWN <const> = 0, 4096

-- Keys of operands: the type if contiguous and of the result's shape, else one
-- of these.
local strided_keys = {}
for name in next, types do strided_keys[name] = "strided " .. name end
for name in next, scalars do strided_keys[name] = "strided " .. name end

local function same_shape(a, b)
  if a == b then return true end
  if #a ~= #b then return false end
  for d = 1, #b do
    if a[d] ~= b[d] then return false end
  end
  return true
end

-- Returns true if two arrays have one shape; from then on they share its table.
local function alike(a, b)
  local shape = a.dims
  if not same_shape(shape, b.dims) then return false end
  b.dims = shape
  return true
end

-- State of a walk through a tree: the array for the results (into), its buffer
-- if the results are in order there (out), the leaves and numbers in order
-- (slots), the kernel's arguments (args), its operations (ops), true if some
-- leaf is an expression (pending), true if the results or some leaf are complex
-- (pairs), and what it has seen of the tree: for a leaf its slot number, for an
-- expression STEPS plus its step number.  If some operands have strides, `rank`
-- is the number of the kernel's dimensions, the last one first, `sizes` are
-- their sizes and `places` their last dimensions in the shape; if `linear`, the
-- kernel has a range of one dimension anyway.  One state is reused by the next
-- walk.
local spare
local walks = 0
local STEPS <const> = 1 << 8
local NEXT_WALK <const> = 1 << 10

local function take_walk()
  local w = spare or {slots = {}, args = {}, ops = {}, seen = {}, sizes = {},
    places = {}}
  spare = nil
  return w
end

-- Nothing here or in a visit may trigger garbage collection repeatedly: no C
-- function is called, and new objects are found by the next walk.
local function begin_walk(w, into, real, linear)
  local id = walks + NEXT_WALK
  walks, w.id = id, id
  w.into, w.out, w.dims, w.real = into, into.flat, into.dims, real
  w.count, w.steps, w.strided, w.kept = 0, 0, into.flat and 0 or 1, 0
  w.pending, w.pairs = false, scalars[into.kind] ~= nil
  w.rank, w.linear = 1, linear
end

-- Ends a walk; returns true if no other walk has started since.
local function leave_walk(w)
  local slots, args, seen = w.slots, w.args, w.seen
  for k in next, slots do slots[k] = nil end
  for k in next, args do args[k] = nil end
  for v in next, seen do seen[v] = nil end
  w.into, w.out, w.dims, w.entry = nil, nil, nil, nil
  spare = w
  return walks == w.id
end

local visit

local function visit_number(w, v)
  local n = w.count + 1
  if w.real then v = v * 1.0 end
  w.count, w.slots[n], w.args[n + 1] = n, v, v
end

local function visit_operation(w, at, op, x, y, z)
  local steps = w.steps + 1
  w.steps, w.ops[steps] = steps, op
  at = step(at, op.operation)
  if op.x then visit_number(w, x) else at = visit(w, at, x, op) end
  if op.y then visit_number(w, y)
  elseif y ~= nil then at = visit(w, at, y, op) end
  if op.z then visit_number(w, z)
  elseif z ~= nil then at = visit(w, at, z, op) end
  return at
end

-- Returns true if an operand with the operation `own` is computed together with
-- the operation `op` of a shape.
local function joins(v, own, op, shape)
  return (own.reals == op.reals or not own.reals) and not own.apart and
    (v.dims == shape or same_shape(v.dims, shape))
end

-- Returns true if a leaf is read in the order of the result.  An expression
-- will be flat once it is evaluated.
local function is_flat(w, v)
  return (v.dims == w.dims or same_shape(v.dims, w.dims)) and
    (v.op or v.flat)
end

-- Visits v, an operand of the operation `above`.
function visit(w, at, v, above)
  local id, seen, op, x, y, z = w.id, w.seen, v.op, nil, nil, nil
  local ref = (seen[v] or 0) - id
  if ref > 0 then return step(at, ref) end
  if op then op, x, y, z = parts_of(v) end
  if op and joins(v, op, above, w.dims) then
    seen[v] = id + STEPS + w.steps + 1
    return visit_operation(w, at, op, x, y, z)
  end
  local n, key, data = w.count + 1, op and op.type or v.kind, is_flat(w, v)
  if not data then
    w.strided, key = w.strided + 1, strided_keys[key]
    data = op or v.base
  end
  if op then w.pending = true end
  if scalars[v.kind] then w.pairs = true end
  w.count, w.slots[n], w.args[n + 1], seen[v] = n, v, data, id + n
  return step(at, key)
end

-- Returns true if each device is a CPU, which has no limit of groups.
local function are_software()
  for _, d in ipairs(core.devices()) do
    if not d.software then return false end
  end
  return true
end
local all_software

-- Returns the stride of an operand in dimension d of the result.
local function stride_in(w, v, d)
  local dims = v.dims
  local e = d - #w.dims + #dims
  if e < 1 or dims[e] == 1 then return 0 end
  if not v.op then return v.stride[e] end
  local stride = 1
  for k = e + 1, #dims do stride = stride * dims[k] end
  return stride
end

-- Returns true if operand k of a walk, 0 for the result, has strides.
local function has_strides(w, k)
  if k == 0 then return not w.out end
  local v = w.slots[k]
  return not mathtype(v) and not is_flat(w, v)
end

-- Returns true if a stride in dimension d spans a group of `size` elements from
-- dimension e on, in all operands.
local function is_one_group(w, d, e, size)
  for k = 0, w.count do
    if has_strides(w, k) then
      local v = k == 0 and w.into or w.slots[k]
      if stride_in(w, v, d) ~= stride_in(w, v, e) * size then return false end
    end
  end
  return true
end

-- Merges the dimensions of a walk in which all operands advance alike.
local function merge_dimensions(w)
  local dims, sizes, places, rank, rows = w.dims, w.sizes, w.places, 0, 1
  for d = #dims, 1, -1 do
    local size = dims[d]
    if rank > 0 and is_one_group(w, d, places[rank], sizes[rank]) then
      sizes[rank] = sizes[rank] * size
    elseif size ~= 1 then
      rank = rank + 1
      sizes[rank], places[rank] = size, d
    end
  end
  if rank == 0 then rank, sizes[1], places[1] = 1, 1, #dims end
  for d = 2, rank do rows = rows * sizes[d] end
  w.rank, w.linear = rank, w.linear or rows > MOST_ROWS and not all_software
end

-- Returns the stride of operand k of a walk, 0 for the result, in its kernel's
-- first dimension: 0, 1, or nil if the kernel is given the stride.
local function known_stride(w, k)
  local stride = stride_in(w, k == 0 and w.into or w.slots[k], w.places[1])
  return (stride == 0 or stride == 1) and stride or nil
end

-- Returns the cache entry for the dimensions and known strides of a walk.
local function step_layout(w, at)
  at = step(at, w.linear and -w.rank or w.rank)
  for k = 0, w.count do
    if has_strides(w, k) then at = step(at, known_stride(w, k) or "given") end
  end
  return at
end

-- Returns the cache entry of an operation on operands into an array.  `real`:
-- its numbers are read as reals.  `root`: its other purpose, if any.  With
-- `linear` or `root`, the kernel has a range of one dimension.
local function walk(into, op, x, y, z, real, root, linear)
  local kind = into.kind
  if all_software == nil then all_software = are_software() end
  local w = take_walk()
  local at
  linear = linear or root ~= nil
  repeat -- again if a finalizer has walked and may have evaluated operands
    begin_walk(w, into, real, linear)
    if known_count > MOST_KNOWN then known, known_count = {}, 0 end
    at = step(known, root or w.out and kind or strided_keys[kind])
    if real then at = step(at, "real") end
    at = visit_operation(w, at, op, x, y, z)
    if w.strided > 0 then
      merge_dimensions(w)
      at = step_layout(w, at)
    end
  until walks == w.id
  local entry = at[0]
  if not entry then
    entry = {times = 0}
    at[0], known_count = entry, known_count + 1
  end
  return w, entry
end

local function is_real(v)
  if v == nil then return false end
  if mathtype(v) then return mathtype(v) == "float" end
  return reals[v.kind] ~= nil
end

local function is_ulong(v) return type(v) == "table" and v.kind == "ulong" end

-- Returns true if v is an array whose integers have at most 31 bits and a sign.
local function is_narrow(v)
  local t = type(v) == "table" and types[v.kind]
  return t and not t.real and (t.signed and t.bits <= 32 or t.bits < 32)
end

local mirrored = {lt = "gt", gt = "lt", le = "ge", ge = "le"}

-- Returns the text of the real that stands for an integer, named Y, that is
-- compared with a real; `name` is the comparison of the real with it.
local function bound_text(name, width, Y)
  return (real_bounds[name]:gsub("[YV]", {Y = Y,
    V = width == "double" and "0x1.0000000000002p-53" or "0x1.000004p-24"}))
end

-- Returns the text of an operation on x, y and z, whose names are X, Y and Z.
local function fill_in(op, x, y, z, X, Y, Z)
  if applies(op, x, y, z) then return complex.fill_in(op, x, y, z, X, Y, Z) end
  local name, text = op.name, texts[op.name]
  if name == "copy" and op.type == "bfloat16" and not is_real(x) then
    -- The store rounds integers once, and reads ulong as signed.
    return is_ulong(x) and format("odd(low(%s)) / scale(%s)", X, X) or X
  elseif comparisons[name] then
    if is_real(x) or is_real(y) then -- exact, as in Lua
      if is_ulong(x) then
        X, Y = format("low(%s)", X), format("(%s * scale(%s))", Y, X)
      elseif is_ulong(y) then
        X, Y = format("(%s * scale(%s))", X, Y), format("low(%s)", Y)
      elseif mathtype(y) == "integer" then
        Y = bound_text(name, op.reals, Y)
      elseif mathtype(x) == "integer" then
        X = bound_text(mirrored[name] or name, op.reals, X)
      end
    elseif is_ulong(x) or is_ulong(y) then
      text = unsigned_texts[name] or text
    end
  elseif reals[op.type] then
    if is_ulong(x) then X = format("real(%s)", X) end
    if is_ulong(y) then Y = format("real(%s)", Y) end
    if is_ulong(z) then Z = format("real(%s)", Z) end
    text = real_texts[name] or text
  elseif op.type == "ulong" then
    text = unsigned_texts[name] or text
  elseif mathtype(y) and is_narrow(x) then
    text = number_texts[name] or text
  end
  if limits[op.type] then text = text:gsub("[UEM]", limits[op.type]) end
  text = text:gsub("[XYZ]", {X = X, Y = Y, Z = Z})
  if reals[op.type] and not (is_real(x) or is_real(y) or is_real(z)) then
    text = "(" .. text .. ") * 1.0" -- the operands are integers
  end
  return text
end

-- Returns true if the range of a walk's kernel has two dimensions, so that no
-- division finds an element's place in a row.
local function has_rows(w) return w.rank > 1 and not w.linear end

-- Writes the kernel for the walk of a tree: returns its parameters, its lines,
-- and the text of the result.
local function write_tree(w, op, x, y, z)
  local parameters, lines, names, slot, steps = {}, {}, {}, 0, 0
  local layout, rank = {}, w.rank
  local function add(...) lines[#lines + 1] = format(...) end
  local function place(name, k)
    if not has_strides(w, k) then return "i" end
    local text, stride = name .. "from", known_stride(w, k)
    layout[#layout + 1] = text
    if stride == 1 then text = text .. " + i1" end
    for d = stride and 2 or 1, rank do
      layout[#layout + 1] = name .. "_" .. d
      text = format("%s + i%d * %s_%d", text, d, name, d)
    end
    return text
  end
  local function divide(first)
    for d = first, rank - 1 do
      layout[#layout + 1] = "n" .. d
      add("local i%d = q %% n%d; q = q // n%d", d, d, d)
    end
    add("local i%d = q", rank)
  end
  if has_rows(w) then
    layout[1] = "n1"
    add "local i = (row - 1) * n1 + column"
    add "local i1, q = column - 1, row - 1"
    divide(2)
  elseif w.strided > 0 then
    add "local q = i - 1"
    divide(1)
  end
  local result = place("r", 0)
  local value
  local function operand(v, above)
    if v == nil then return nil end
    if mathtype(v) then
      slot = slot + 1
      parameters[slot] = "s" .. slot
      return parameters[slot]
    end
    local name = names[v]
    if name then return name end
    local own, a, b, c = parts_of(v)
    if own and joins(v, own, above, w.dims) then
      local text = value(own, a, b, c)
      if wraps[own.type] then text = format(wraps[own.type], text) end
      steps = steps + 1
      name = "t" .. steps
      local both = scalars[own.type] and name .. "r, " .. name .. "i"
      add("local %s = %s", both or name, text)
    else
      slot = slot + 1
      name, parameters[slot] = "v" .. slot, "s" .. slot
      local from = place("s" .. slot, slot)
      if scalars[v.kind] then
        add("local v%dr, v%di = s%d[2 * (%s) - 1], s%d[2 * (%s)]", slot, slot,
          slot, from, slot, from)
      else
        add("local v%d = s%d[%s]", slot, slot, from)
      end
    end
    names[v] = name
    return name
  end
  function value(o, a, b, c)
    local X, Y, Z = operand(a, o), operand(b, o), operand(c, o)
    return fill_in(o, a, b, c, X, Y, Z)
  end
  local text = value(op, x, y, z)
  for _, name in next, layout do parameters[#parameters + 1] = name end
  return parameters, lines, text, result
end

-- Notes that the operations of a walk have a kernel.
local function use_operations(w)
  for k = 1, w.steps do
    local trial = w.ops[k].trial
    trial.left = w.steps > 1 and max(trial.left - 1, 0) or 0
  end
end

-- Returns true if two or more operations of a walk have no kernels yet.
local function is_fresh(w)
  local fresh = 0
  for k = 1, w.steps do
    if w.ops[k].trial.left > 0 then fresh = fresh + 1 end
  end
  return fresh > 1
end

-- Names a walk by its operations, the last ones at the end.
local MOST_NAMED <const> = 6

local function name_of_walk(w)
  local names, more = {}, w.steps - MOST_NAMED
  if more > 0 then names[1] = more .. "_more" end
  for k = min(w.steps, MOST_NAMED), 1, -1 do
    names[#names + 1] = w.ops[k].name
  end
  return concat(names, "_")
end

local function make_kernel(w, op, x, y, z)
  local name = name_of_walk(w)
  local parameters, lines, value, place = write_tree(w, op, x, y, z)
  use_operations(w)
  local target = format(scalars[op.type] and
    "r[2 * (%s) - 1], r[2 * (%s)]" or "r[%s]", place, place)
  local text = format("return function(%s, r, %s)\n  %s\n  %s = %s\nend",
    has_rows(w) and "column, row" or "i", concat(parameters, ", "),
    concat(lines, "\n  "), target, value)
  return C.kernel(C.text(complete(text), name)(math, C.work.fma, floats),
    {name = "array_" .. name, real = op.reals})
end

-- Replaces the buffers of complex numbers among a walk's arguments.
local function pass_reals(w, list)
  if not w.pairs then return list end
  if scalars[w.into.kind] then list[1] = complex.as_reals(list[1]) end
  for k = 1, w.count do
    local v = w.slots[k]
    if type(v) == "table" and scalars[v.kind] then
      list[k + 1] = complex.as_reals(list[k + 1])
    end
  end
  return list
end

-- Returns the arguments of a walk's kernel, and their number; the first is
-- `out`, by default the array of the walk.
local function arguments(w, out)
  local into, slots, list, n = w.into, w.slots, w.args, w.count + 1
  list[1] = out or w.out or into.base
  if w.strided > 0 then
    local rank, places = w.rank, w.places
    for d = 1, rank - 1 do list[n + d] = w.sizes[d] end
    n = n + rank - 1
    for k = 0, w.count do
      if has_strides(w, k) then
        local v = k == 0 and into or slots[k]
        n = n + 1
        list[n] = v.from + 1
        for d = known_stride(w, k) and 2 or 1, rank do
          n = n + 1
          list[n] = stride_in(w, v, places[d])
        end
      end
    end
  end
  w.kept = n
  return pass_reals(w, list), n
end

local mode = C.fuse()
local counts = {evaluations = 0, fused = 0, hits = 0, builds = 0,
  build_ms = 0.0}

local function check_count(shape, size)
  if size > MOST then
    core.fail("shape %s: %d elements are too many to be computed at once; " ..
      "at most %d", core.shape_text(shape), size, MOST)
  end
end

-- Returns the buffer of an operand whose adjacent elements in a row of the
-- result lie apart, if any.
local function crossing(w)
  for k = 1, w.count do
    local v = w.slots[k]
    if has_strides(w, k) and abs(stride_in(w, v, w.places[1])) > 1 then
      return v.base
    end
  end
  return nil
end

-- Returns the range of a walk's kernel.  On a CPU, a group reads whole cache
-- lines of operands whose rows are columns of the result.
local function range_of(w, size)
  if not has_rows(w) then return size end
  local range = {w.sizes[1], size // w.sizes[1]}
  local base = size >= TILED and crossing(w)
  if base and C.storage(base) and base.device.software then
    range.group = TILE
  end
  return range
end

-- Launches the kernel of a walk and ends the walk.
local function run(w, entry, size, list, n)
  check_count(w.dims, size)
  local range = range_of(w, size)
  if entry.runs then
    entry.kernel(range, unpack(list, 1, n))
    counts.hits = counts.hits + 1
  else
    local start = C.now()
    entry.kernel(range, unpack(list, 1, n))
    entry.runs = true
    counts.builds = counts.builds + 1
    counts.build_ms = counts.build_ms + (C.now() - start) * 1e3
  end
  leave_walk(w)
end

local function launch(w, entry, size, op, x, y, z)
  if not entry.kernel then entry.kernel = make_kernel(w, op, x, y, z) end
  run(w, entry, size, arguments(w))
end

-- --- expressions -------------------------------------------------------------

local stores = setmetatable({}, {__mode = "v"}) -- by the storage's number

-- Names of operations and operands as scripts write them.
local calls = {add = "a + b", sub = "a - b", mul = "a * b", div = "a / b",
  idiv = "a // b", mod = "a % b", pow = "a ^ b", band = "a & b", bor = "a | b",
  bxor = "a ~ b", shl = "a << b", shr = "a >> b", neg = "-a", bnot = "~a",
  lnot = "~a", copy = "to", to_integer = "to", least = "min", greatest = "max"}
for _, name in next, powers do calls[name] = calls.pow end
local operand_names = {clamp = {"a", "low", "high"}, lerp = {"a", "b", "t"},
  where = {"c", "a", "b"}}

local function refuse_closed(op, n)
  local call = calls[op.name] or op.name
  core.fail("%s: the array is closed", core.label(call,
    operand_names[op.name] or {"a", "b", "c"}, n))
end

-- Returns the record of an array's storage, which lists its readers; nil if the
-- array is closed.
local function store_of(a)
  local s = a.store
  if s then return s end
  local number = C.storage(a.flat or a.base)
  if not number then return nil end
  s = stores[number]
  if not s then
    s = {readers = setmetatable({}, {__mode = "kv"})}
    stores[number] = s
  end
  rawset(a, "store", s)
  return s
end

local function add_reader(v, reader)
  local s = store_of(v)
  if s then
    s.readers[reader] = true
    C.await(v.base)
  end
end

-- Expressions by each operand that is an expression.  Once that operand is
-- computed, they read its storage.
local parents = setmetatable({}, {__mode = "k"})

local function add_parent(v, parent)
  local list = parents[v]
  if not list then
    list = setmetatable({}, {__mode = "kv"})
    parents[v] = list
  end
  list[parent] = true
end

-- Calls f with an operand and each expression known to read it later.
local function each_parent(v, f)
  for parent in next, parents[v] or {} do
    if parent.op then f(v, parent) end
  end
end

-- Notes that an expression will read an operand; a debug hook may compute that
-- operand in between.
local function reads(a, v)
  if v.op then add_parent(v, a) end
  if not v.op then add_reader(v, a) end
end

local function reads_all(a, op, x, y, z)
  if not op.x then reads(a, x) end
  if y ~= nil and not op.y then reads(a, y) end
  if z ~= nil and not op.z then reads(a, z) end
end

-- Sorts the remaining expressions by what they read.
local function sort_readers()
  local unsorted = expressions.unsorted()
  while unsorted do
    for a in next, unsorted do
      local op, x, y, z = parts_of(a)
      if op then reads_all(a, op, x, y, z) end
    end
    expressions.sorted(unsorted)
    unsorted = expressions.unsorted()
  end
end

local evaluate

local function evaluate_operands(x, y, z)
  if type(x) == "table" then evaluate(x) end
  if type(y) == "table" then evaluate(y) end
  if type(z) == "table" then evaluate(z) end
end

-- Returns an expression of a shape that is computed as a tree describes.
local function make(t, shape, x, y, z)
  if t.nodes > NODES then
    evaluate_operands(x, y, z)
    t = tree(t, t.mask, key_of(x), key_of(y), key_of(z))
  end
  local a = {op = t, dims = shape, x = x, y = y, z = z}
  local closed = expressions.note(a)
  if closed then refuse_closed(t, closed) end
  return a
end

local function express(name, kind, shape, mask, x, y, z)
  return make(tree(operation_of(name, kind, x, y, z), mask, key_of(x),
    key_of(y), key_of(z)), shape, x, y, z)
end

-- Returns a function for an operation on `arity` operands (-1 for a metamethod
-- on one).  broadcast returns the shape of two operands.  check is called with
-- the operands of a call that the cache lacks; it returns the operation, true
-- if results are a mask, their shape, true if all operands with the same keys
-- have that operation, and operands that replace the given ones.
local function operator(arity, broadcast, check)
  local own = {}
  operators[#operators + 1] = own
  local function other(...)
    local x, y = ...
    local first, second = key_of(x), key_of(y)
    local op, mask, shape, all, left, right = check(...)
    if left then
      return make(tree(op, mask, key_of(left), key_of(right)), shape, left,
        right)
    end
    local t = tree(op, mask, first, second)
    -- The keys may have changed, if a finalizer has evaluated an operand.
    if all and t.nodes <= NODES and key_of(x) == first and key_of(y) == second
    then
      if second then step(own, first)[second] = t else own[first] = t end
    end
    return make(t, shape, x, y)
  end
  return expressions.operator(own, arity, broadcast, other)
end

-- Writes the definition of an operand to a list after place n.  It does not
-- refer to the expressions in it, so they can be collected.
local function note(list, n, v)
  local op = type(v) == "table" and v.op
  if not op then
    list[n + 1] = v == nil and false or v
    return n + 1
  end
  list[n + 1], list[n + 2] = op, v.dims
  local x, y, z = operands(v)
  n = note(list, n + 2, x)
  n = note(list, n, y)
  return note(list, n, z)
end

-- Reads the operand after place n of this list; returns also the next place.
local function noted(list, n)
  local v = list[n + 1]
  if type(v) ~= "table" or is(v) then return v or nil, n + 1 end
  local shape, x, y, z = list[n + 2]
  x, n = noted(list, n + 2)
  y, n = noted(list, n)
  z, n = noted(list, n)
  return express(v.name, v.type, shape, v.mask, x, y, z), n
end

-- Returns an expression's result for a walk: contiguous, in a buffer.  Each has
-- its own table, because a debug hook may evaluate others at any instruction.
local function flat_result(a, base)
  return {kind = a.kind, dims = a.dims, flat = base}
end

-- Evaluates the expressions among the leaves of a walk, and ends the walk.
local function evaluate_leaves(w)
  local list = {}
  for k = 1, w.count do
    local v = w.slots[k]
    if type(v) == "table" and v.op then list[#list + 1] = v end
  end
  leave_walk(w)
  for k = 1, #list do evaluate(list[k]) end
end

-- Returns the calls in an operation of a walk.
local function calls_of(w, op)
  local key = w.pairs and "pair_calls" or "calls"
  if not op[key] then
    local text = w.pairs and complex.texts[op.name] or texts[op.name]
    op[key] = calls_in(type(text) == "table" and text.cc or text or "")
  end
  return op[key]
end

-- Returns true if the functions of a tree are too many for one kernel.
local function has_many_calls(w, most)
  local n = 0
  for k = 1, w.steps do n = n + calls_of(w, w.ops[k]) end
  return n > most
end

-- Returns true if one kernel must compute a tree, and the reason.  `how` is
-- "fuse", "apart" or nil; `names` is the number of names the kernel can have.
local function fuses(w, entry, size, how, names)
  local rank = w.rank
  if how == "apart" or mode == "never" then return false, "LZE_FUSE=never" end
  local each = w.pairs and 2 or 1
  if w.count * (each + 1) + w.steps * each + (w.strided + 2) * (rank + 1) >
      (names or NAMES) then
    return false, "too many operands with strides for one kernel"
  elseif has_many_calls(w, names and REDUCED_CALLS or CALLS) then
    return false, "too many calls of functions for one kernel"
  elseif how == "fuse" or mode == "always" then
    return true, "LZE_FUSE=always"
  elseif size * w.steps > LARGE then
    return true, "it is large"
  elseif entry.times > 0 then
    return true, "its like has been evaluated before"
  elseif is_fresh(w) then
    return true, "its operations have no kernels of their own yet"
  end
  return false, "its like has not been evaluated before"
end

-- Walks an expression, if it still is one, into an array or a buffer.
local function walk_into(into, a, base)
  local op, x, y, z = parts_of(a)
  if not op then return nil end
  return walk(into or flat_result(a, base), op, x, y, z)
end

local plan

-- Finishes `plan` for a walk: compiles its kernel and collects its arguments.
-- If a finalizer has walked in between, it may have evaluated a part of the
-- tree; then everything starts again.
local function planned(w, entry, a, ...)
  local kernel = entry.kernel
  local op, x, y, z = parts_of(a)
  if not kernel and op and walks == w.id then
    kernel = make_kernel(w, op, x, y, z)
  end
  local list, n = arguments(w)
  if not entry.runs and op and walks == w.id then
    local start = C.now()
    kernel:variant(range_of(w, a.size), unpack(list, 1, n))
    counts.build_ms = counts.build_ms + (C.now() - start) * 1e3
  end
  if walks ~= w.id or not a.op then
    leave_walk(w)
    return plan(a, ...)
  end
  entry.kernel = kernel
  return w, entry
end

-- Returns the walk of an expression, ready to launch, into an array or into
-- `flat_result` of a buffer.  Returns nil if a finalizer has evaluated it.
function plan(a, into, base, how)
  local w, entry = walk_into(into, a, base)
  if not w then return nil end
  if w.pending then
    evaluate_leaves(w)
    return plan(a, into, base, how)
  elseif w.steps == 1 then
    return planned(w, entry, a, into, base, how)
  end
  local fused = how ~= "apart" and
    (entry.fused or fuses(w, entry, a.size, how))
  if how ~= "apart" then entry.times = entry.times + 1 end
  if fused then
    entry.fused = true
    counts.fused = counts.fused + 1
    return planned(w, entry, a, into, base, how)
  end
  leave_walk(w)
  for _, v in next, {operands(a)} do
    if type(v) == "table" then evaluate(v, "apart") end
  end
  w, entry = walk_into(into, a, base)
  if not w then return nil end
  return planned(w, entry, a, into, base, how)
end

-- --- trees that come again ---------------------------------------------------

local function has_walked(id) return walks ~= id end

-- Returns a function that computes an expression into a buffer, which it
-- returns, if the expression's tree matches an operation on operands; else it
-- returns false.  Making the buffer may run a finalizer: if that walks, the
-- function returns nil and the buffer, and is called again with it.  A debug
-- hook may evaluate an operand between reads; an evaluated operand has no
-- operands itself.
local function write_relaunch(kernel, shape, kind, ...)
  local lines, names, inner, passed, leaf = {}, {}, {}, {}, nil
  local function add(...) lines[#lines + 1] = format(...) end
  local read_operands
  local function read(place, v, above)
    if names[v] then
      add("if %s ~= %s then return false end", place, names[v])
      return
    end
    local name = "v" .. #lines
    add("local %s = %s; if not %s then return false end", name, place, name)
    if mathtype(v) then
      passed[#passed + 1] = name
      return
    end
    local own, x, y, z = parts_of(v)
    names[v] = name
    local same = format("(%s.dims == dims or alike(a, %s))", name, name)
    if own and joins(v, own, above, shape) then
      inner[#inner + 1] = own
      add("if %s.op ~= o%d or not %s then return false end", name, #inner,
        same)
      read_operands(name, own, x, y, z)
    else
      add("if %s.op or %s.kind ~= %q or not %s or not %s.flat then "
        .. "return false end", name, name, v.kind, same, name)
      passed[#passed + 1] = name .. ".flat"
      leaf = leaf or name
    end
  end
  function read_operands(name, op, x, y, z)
    read(name .. ".x", x, op)
    if y ~= nil then read(name .. ".y", y, op) end
    if z ~= nil then read(name .. ".z", z, op) end
  end
  read_operands("a", ...)
  local given = {"alike", "beside", "has_walked", "kernel"}
  for k = 1, #inner do given[k + 4] = "o" .. k end
  local text = format("local %s = ...\nreturn function(a, dims, id, out)\n"
    .. "  %s\n  local size = %s.size\n"
    .. "  if size < 1 or size > %d then return false end\n"
    .. "  if not out then\n    out = beside(%s.flat, %q, size)\n"
    .. "    if has_walked(id) then return nil, out end\n  end\n"
    .. "  kernel(size, out, %s)\n  return out\nend", concat(given, ", "),
    concat(lines, "\n  "), leaf, MOST, leaf, kind, concat(passed, ", "))
  return C.text(text, "relaunch")(alike, beside, has_walked, kernel,
    unpack(inner))
end

-- Remembers how walk `id`, which has ended, launched an expression, unless
-- another walk has started.  Each tree remembers a few: operands may be
-- the same array, or already computed.
local function remember(a, w, entry, id)
  local op, x, y, z = parts_of(a)
  if not op or w.strided > 0 or w.pairs or #op.launches == MOST_LAUNCHES then
    return
  end
  local like = {fused = w.steps > 1 and 1 or 0,
    run = write_relaunch(entry.kernel, a.dims, op.type, op, x, y, z)}
  if walks ~= id then return end
  op.launches[#op.launches + 1] = like
end

-- Computes an expression like an earlier one.  Returns the buffer and the
-- number of this walk; nil if no earlier expression matches.
local function relaunch(a)
  local op = a.op
  if not op then return nil end
  local launches, dims, id = op.launches, a.dims, walks + NEXT_WALK
  walks = id
  for k = 1, #launches do
    local l = launches[k]
    local base, made = l.run(a, dims, id)
    if made then
      id = walks + NEXT_WALK
      walks = id
      base = l.run(a, dims, id, made)
    end
    if base then
      counts.fused, counts.hits = counts.fused + l.fused, counts.hits + 1
      return base, id
    end
  end
  return nil
end

-- Returns false if a debug hook has evaluated a.
local function first_array(a)
  local op = a.op
  return op and (op.x and (op.y and a.z or a.y) or a.x)
end

-- Computes the elements of an array, if it is an expression; `how` is "fuse" or
-- "apart" to override the choice that its tree implies.
function evaluate(a, how)
  if not a.op then return a end
  local base, id = relaunch(a)
  local again, w, entry = false, nil, nil
  if not base then
    local leaf = a
    repeat leaf = first_array(leaf) until not leaf or not leaf.op
    if not leaf then return evaluate(a, how) end
    local size = leaf.dims == a.dims and leaf.size or a.size
    check_count(a.dims, size)
    base, id = beside(leaf.base, a.kind, size), walks
    if size > 0 then
      w, entry = plan(a, nil, base, how)
      if not w then return a end
      again, id = entry.runs, w.id
      run(w, entry, size, w.args, w.kept)
    end
  end
  if walks ~= id then return evaluate(a, how) end
  if #base > 0 then counts.evaluations = counts.evaluations + 1 end
  if again then remember(a, w, entry, id) end
  -- It remains an expression until all of this is done: memory may run out.
  expressions.computed(a, base)
  if parents[a] then each_parent(a, add_reader) end
  expressions.detach(a)
  -- A debug hook may have sorted other expressions.
  if parents[a] then each_parent(a, add_reader) end
  return a
end

-- --- operands of reductions --------------------------------------------------

-- Walks an expression for a reduction called `name`, whose first kernel writes
-- elements of a type.
local function walk_reduction(a, name, kind)
  local op, x, y, z = parts_of(a)
  if not op then return nil end
  if op.apart or op.reals and reals[kind] and op.reals ~= reals[kind] then
    return nil, nil, format("%s elements are computed apart from %s", a.kind,
      kind)
  end
  local w, entry = walk(flat_result(a, true), op, x, y, z, nil, name)
  w.entry = entry
  return w, entry
end

-- Returns the walk that a reduction reads to compute an expression on the fly;
-- `leave` ends it.  Returns nil if the elements must be computed first.  `how`
-- is "fuse" to do this even for one operation on computed arrays.  An
-- expression that is reduced again is computed: more reductions may follow.
local function operand(a, name, kind, how)
  local op = a.op
  if not op or rawget(a, "reduced") then return nil end
  local w, entry = walk_reduction(a, name, kind)
  if not w then return nil end
  if not a.op then -- a finalizer has evaluated it
    leave_walk(w)
    return nil
  end
  if w.pending then
    evaluate_leaves(w)
    return operand(a, name, kind, how)
  end
  if how ~= "fuse" or w.steps > 1 then
    local fused = fuses(w, entry, a.size, nil, NAMES - LANES)
    entry.times = entry.times + 1
    if not fused then
      leave_walk(w)
      if how ~= "fuse" then return nil end
      evaluate_operands(operands(a))
      return operand(a, name, kind, how)
    end
    counts.fused = counts.fused + 1
  end
  if not entry.element then
    local parameters, lines, value = write_tree(w, op, operands(a))
    if wraps[a.kind] then value = format(wraps[a.kind], value) end
    parameters = concat(parameters, ", ")
    if walks ~= w.id then -- a finalizer may have evaluated a part of the tree
      leave_walk(w)
      return operand(a, name, kind, how)
    end
    use_operations(w)
    entry.element = C.text(complete(format("return function(i, %s)\n  %s\n" ..
      "  return %s\nend", parameters, concat(lines, "\n  "), value)),
      "operand")(math, C.work.fma, floats)
    entry.parameters, entry.real, entry.kernels = parameters, op.reals, {}
    entry.type, entry.name = a.kind, name_of_walk(w)
  end
  rawset(a, "reduced", true)
  return w
end

-- Returns the arguments of a kernel that reduces this operand into `out`, and
-- their number.
local function operand_arguments(w, out, ...)
  local list, n = arguments(w, out)
  local more = select("#", ...)
  for k = 1, more do list[n + k] = select(k, ...) end
  w.kept = n + more
  return list, n + more
end

-- Returns the size of an element in bytes.
local function width_of(a)
  return a.base.bytes // max(#a.base, 1)
end

-- Returns the addresses of an array's first byte and of the byte after its
-- last.
local function extent(a)
  local first, last = a.from, a.from
  for d = 1, #a.dims do
    local span = (a.dims[d] - 1) * a.stride[d]
    if span < 0 then first = first + span else last = last + span end
  end
  local address, width = C.address(a.base), width_of(a)
  return address + first * width, address + (last + 1) * width
end

-- Returns the greatest common divisor of a number and an array's strides.
local function divisor(n, a)
  for d = 1, #a.dims do
    local m = a.dims[d] > 1 and a.stride[d] or 0
    while m ~= 0 do n, m = m, n % m end
  end
  return abs(n)
end

-- Returns true if two arrays may share an element.  The elements of both are
-- spaced by the common divisor of their strides, so columns of one array, or
-- its even and odd elements, are recognised as disjoint.
local function overlap(a, b)
  if a.size == 0 or b.size == 0 then return false end
  local first, last = extent(a)
  local other, other_last = extent(b)
  if first >= other_last or other >= last then return false end
  local width = width_of(a)
  local stride = width * divisor(divisor(0, a), b)
  if stride == 0 or width ~= width_of(b) then return true end
  local apart = (first - other) % stride
  return apart < width or stride - apart < width
end

-- Returns true if each element of two arrays of one shape is in the same place.
local function same_places(a, b)
  return a.kind == b.kind and same_shape(a.dims, b.dims) and
    C.address(a.base) + a.from * width_of(a) ==
    C.address(b.base) + b.from * width_of(b) and
    same_shape(a.stride, b.stride)
end

-- Calls f in protected mode without the collector, so that no finalizer runs;
-- returns two results of pcall.
local function without_collector(f)
  local runs = C.run_collector(false)
  local ok, result = C.pcall(f)
  C.run_collector(runs)
  return ok, result
end

-- Launches the walk of an expression into `into`, which it also reads,
-- and turns the expression into a copy of that array, made when it is needed.
-- Returns false if a finalizer has walked in between.
local function replace(into, a, w, entry)
  local kept, list, n = {}, w.args, w.kept
  note(kept, 0, a)
  local copy = tree(operation("copy", a.kind, reals[a.kind], into), a.mask,
    key_of(into))
  local size, kind, key = a.size, into.kind, a.mask and "mask" or into.kind
  -- The launch evaluates other readers of the array, and must find out which of
  -- them are still needed.
  local function launch_detached()
    if walks ~= w.id then return false end
    rawset(a, "kind", kind)
    rawset(a, "key", key)
    expressions.detach(a)
    run(w, entry, size, list, n)
    return true
  end
  local ok, done = without_collector(launch_detached)
  if not ok then
    local e = noted(kept, 0)
    local x, y, z = operands(e)
    expressions.attach(a, e.op, x, y, z)
    C.raise(done)
  elseif done then
    expressions.attach(a, copy, into)
  else
    leave_walk(w)
  end
  return done
end

-- Computes an expression into an array of its type and shape.  Returns false if
-- its operands would be overwritten too early, other readers are pending, or a
-- finalizer has walked and may have evaluated a part of it.
local function write(into, a)
  local w, entry = plan(a, into)
  if not w then return false end
  local own, apart = false, true
  for k = 1, w.count do
    local v = w.slots[k]
    if not mathtype(v) and overlap(v, into) then
      own, apart = true, apart and same_places(v, into)
    end
  end
  if own then
    sort_readers()
    each_parent(a, function() apart = false end)
  end
  if not apart or walks ~= w.id then
    leave_walk(w)
    return false
  end
  counts.evaluations = counts.evaluations + 1
  if own then return replace(into, a, w, entry) end
  run(w, entry, a.size, w.args, w.kept)
  return true
end

-- Returns the elements of an array as integers of the same width.
local function as_bits(a)
  local base = a.base
  return core.array_over(base:view(1, #base, "ushort"), a.from, a.dims,
    a.stride)
end

-- Returns true if a copy into `into` copies bits: a kernel would load 16-bit
-- reals as floats, which loses the payload of NaNs.
local function copies_bits(name, into, x)
  local t = types[into.kind]
  return name == "copy" and t and t.real and t.bits == 16 and
    type(x) == "table" and x.kind == into.kind
end

-- Computes an operation on operands immediately, into an array; in reals of
-- `width` if given.
local function compute(name, into, x, y, z, width)
  if into.size == 0 then return into end
  evaluate_operands(x, y, z)
  if copies_bits(name, into, x) then
    compute(name, as_bits(into), as_bits(x))
    return into
  end
  local op = width and operation(name, into.kind, width, x, y, z) or
    operation_of(name, into.kind, x, y, z)
  local w, entry = walk(into, op, x, y, z)
  launch(w, entry, into.size, op, x, y, z)
  return into
end

-- --- writes ------------------------------------------------------------------

-- Returns the number of elements of a storage's pending readers; removes the
-- evaluated readers.
local function work_of(s)
  local work, readers = 0, s.readers
  for reader in next, readers do
    if reader.op then work = work + max(reader.size, 1)
    else readers[reader] = nil end
  end
  return work
end

local function evaluate_readers(s)
  local list = {}
  for reader in next, s.readers do
    if reader.op then list[#list + 1] = reader end
  end
  for k = 1, #list do evaluate(list[k]) end
end

-- Evaluates the readers of a storage before it is written.  If they are large,
-- the garbage collector first removes those no longer needed.
local function flush_readers(number)
  sort_readers()
  local s = stores[number]
  if not s then return end
  local work = work_of(s)
  if work == 0 then return end
  if work > DOUBTFUL * C.heap() then C.collect() end
  evaluate_readers(s)
  return flush_readers(number)
end

-- Moves the readers of a storage to a list while a callback of a run runs;
-- they are restored after the callback.
local function suspend_readers(number, list)
  sort_readers()
  local s = stores[number]
  if not s then return end
  local fresh, n = setmetatable({}, {__mode = "kv"}), #list
  list[n + 1], list[n + 2] = s, s.readers
  s.readers = fresh
end

local function restore_readers(list)
  for k = 1, #list, 2 do
    local s, readers = list[k], list[k + 1]
    for reader in next, s.readers do
      if reader.op then readers[reader] = true end
    end
    s.readers = readers
    for reader in next, readers do
      for _, v in next, reader.op and {operands(reader)} or {} do
        if type(v) == "table" and not v.op and rawget(v, "store") == s then
          C.await(v.base)
        end
      end
    end
  end
end

-- --- graphs ------------------------------------------------------------------

-- Returns true if all arrays in a tree are real.
local function all_real(a)
  local all = reals[a.kind] ~= nil
  if a.op then
    for _, v in next, {operands(a)} do
      all = all and (mathtype(v) or all_real(v))
    end
  end
  return all
end

-- g:array(name, dst, e): adds a task that computes an expression into an array
-- in each run, from the current contents of its operands.
local function record(g, name, dst, e)
  local what = "g:array"
  local function fail(...) core.fail("%s: " .. format(...), what) end
  core.check(dst, 3, "dst", what)
  core.check(e, 4, "expression", what)
  if dst.op then
    fail("argument 3 (dst): an array expected, got an expression")
  elseif scalars[e.kind] and not scalars[dst.kind] then
    fail("%s cannot go into elements of %s", e.kind, dst.kind)
  elseif reals[e.kind] and not reals[dst.kind] then
    fail("a real cannot go into elements of %s; use :to", dst.kind)
  elseif not same_shape(core.broadcast(what, dst.dims, e.dims), dst.dims)
  then
    fail("shape %s does not go into %s", core.shape_text(e.dims),
      core.shape_text(dst.dims))
  end
  core.together(what, {"dst", "the expression"}, dst, e)
  core.check_places(dst, what)
  if dst.mask and not e.mask then e = e:ne(0) end
  if not e.op or e.kind ~= dst.kind then
    e = express("copy", dst.kind, dst.dims, nil, e)
  end
  local x, y, z = operands(e)
  local w, entry = walk(dst, e.op, x, y, z, all_real(e), nil, true)
  local problem
  for k = 1, w.count do
    local v = w.slots[k]
    if type(v) == "table" and v.op then
      problem = format("an operand, %s %s, is of another shape, or not "
        .. "computed as %s is: record it as a task of its own, or a:eval() it",
        v.kind, core.shape_text(v.dims), e.kind)
    elseif type(v) == "table" and overlap(v, dst) and
        not same_places(v, dst) then
      problem = "the expression may read elements of dst in other places than "
        .. "it writes"
    end
  end
  if problem then
    leave_walk(w)
    fail("%s", problem)
  end
  if not entry.kernel then
    entry.kernel = make_kernel(w, e.op, x, y, z)
  end
  local list, n = arguments(w)
  list = {unpack(list, 1, n)}
  leave_walk(w)
  local ok, err = C.pcall(g.task, g, name, entry.kernel, dst.size,
    unpack(list, 1, n))
  if ok then return g end
  if type(err) == "string" then
    core.fail("%s", (err:gsub("^lze [%w_]+%.lua:%d+: ", "")))
  end
  C.raise(err)
end

-- --- reports -----------------------------------------------------------------

local function name_of(v) return format("%s %s", v.kind,
  core.shape_text(v.dims)) end

-- Writes lines that say how an expression would be evaluated; expressions that
-- are evaluated before it come first.
local function explain(a, lines)
  local op = a.op
  local function add(...) lines[#lines + 1] = format(...) end
  if not op then
    local by = rawget(a, "by")
    add("%s: computed%s", name_of(a), by and " by " .. by or "")
    return
  end
  local w, entry = walk(flat_result(a, true), op, operands(a))
  local slots, count = {unpack(w.slots, 1, w.count)}, w.count
  local _, steps, text = write_tree(w, op, operands(a))
  local number, fused, why = w.steps, true, "it is one operation"
  if number > 1 then fused, why = fuses(w, entry, a.size) end
  leave_walk(w)
  for k = 1, count do
    if type(slots[k]) == "table" and slots[k].op then
      explain(slots[k], lines)
    end
  end
  add("%s: %s: %s", name_of(a), fused and "one kernel" or format(
    "one operation after the other, %d kernels", number), why)
  if fused and entry.runs then add("  the kernel is there") end
  for k = 1, count do
    local v = slots[k]
    add("  s%d: %s", k, mathtype(v) and tostring(v) or name_of(v))
  end
  for _, line in ipairs(steps) do add("  %s", (line:gsub("^local ", ""))) end
  add("  result[i] = %s", text)
end

-- Writes how a reduction of an expression would read it.
local function explain_reduction(a, name, lines)
  local kind = core.first_type(a, name)
  local w, entry, why = nil, nil, "its elements are there"
  if a.op then
    if rawget(a, "reduced") then why = "it is reduced again"
    else w, entry, why = walk_reduction(a, name, kind) end
  end
  local fused
  if w then
    fused, why = fuses(w, entry, a.size, nil, NAMES - LANES)
    leave_walk(w)
  end
  lines[#lines + 1] = format("a:%s(): %s: %s", name, fused and
    "computes the elements itself" or "reads elements that are computed first",
    why)
end

-- a:explain([reduction]): describes how a, or its reduction, is evaluated.
core.define("explain", function(a, name)
  local lines = {}
  core.check(a, 1, "a", "explain")
  explain(a, lines)
  if name ~= nil then
    explain_reduction(core.check_numbers(a, 1, "a", "explain"), name, lines)
  end
  return concat(lines, "\n")
end)

-- a:eval() -> a: computes its elements now, if necessary.
core.define("eval", function(a)
  return evaluate(core.check(a, 1, "a", "eval"))
end)

-- A.fuse(f) -> a function that calls f with its arguments and evaluates each
-- expression that f returns in one kernel, compiled on first use.
function core.A.fuse(f)
  if type(f) ~= "function" then
    core.fail("fuse: argument 1 (f): function expected, got %s", C.describe(f))
  end
  local function fuse(...)
    for k = 1, select("#", ...) do
      local v = select(k, ...)
      if is(v) then evaluate(expressions.table(v), "fuse") end
    end
    return ...
  end
  return function(...) return fuse(f(...)) end
end

-- A.stats() -> counts since the start: operations of expressions, expressions
-- evaluated, and how many of them by one kernel of several operations (fused);
-- launches of existing kernels (hits), first launches of new kernels (builds),
-- and the time of these (build_ms).
function core.A.stats()
  local t = {operations = expressions.made()}
  for key, v in next, counts do t[key] = v end
  return t
end

return {compute = compute, express = express, operator = operator,
  forget_trees = forget_trees, index = expressions.index,
  too_large = expressions.too_large, public = expressions.public,
  len = expressions.len, table_of = expressions.table,
  given = expressions.given,
  operation_of = operation_of, evaluate = evaluate, operands = operands,
  first_array = first_array, alike = alike,
  record = record, flush_readers = flush_readers,
  suspend_readers = suspend_readers, restore_readers = restore_readers,
  write = write, same_shape = same_shape,
  overlap = overlap, operand = operand, arguments = operand_arguments,
  leave = leave_walk, powers = powers}
