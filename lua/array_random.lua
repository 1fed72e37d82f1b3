-- array_random.lua - arrays of random numbers.
-- SPDX-License-Identifier: MIT
--
-- Philox makes four 32-bit words from a seed and a counter (lze.work.random).
-- A call uses as many counters as it needs, starting after earlier calls, so
-- its numbers depend on nothing else.  They are the same on every device: they
-- are made by integer arithmetic or by additions, multiplications and square
-- roots, each rounded once.  Tables of probabilities are made on the host, by
-- Lua's double arithmetic.

local core = ...
local A, fail, is, types = core.A, core.fail, core.is, core.types
local C = core.C
local ipairs, mathtype, next, tostring, type = ipairs, math.type, next,
  tostring, type
local concat, format, max = table.concat, string.format, math.max

local FIRST_SEED <const> = 0
local ATTEMPTS <const> = 64        -- of a rejection method, a counter for each
local MOST_VARIANCE <const>, MOST_TEXT <const> = 1e9, "1e9" -- of a table
local MOST_CLASSES <const> = 1 << 24

-- Bits of a mantissa, which a random number of the type has, too.
local mantissa = {half = 11, bfloat16 = 8, float = 24, double = 53}

-- --- kernels -----------------------------------------------------------------

-- Returns the text of a real constant.
local function literal(v) return core.point(format("%.17g", v)) end

-- Returns the text of a polynomial in x with these coefficients, by Horner's
-- scheme.
local function polynomial(x, coefficients)
  local text = literal(coefficients[#coefficients])
  for i = #coefficients - 1, 1, -1 do
    text = format("(%s + %s * %s)", literal(coefficients[i]), x, text)
  end
  return text
end

-- Returns the coefficients of Taylor series: of log(1 + x) / x, and of
-- sin(x) / x and cos(x) as series in x^2.
local function log_series(n)
  local list = {}
  for i = 1, n do list[i] = (i % 2 == 1 and 1 or -1) / i end
  return list
end

local function wave_series(first, n)
  local list, v = {}, 1.0
  for i = 1, n do
    list[i] = v
    v = -v / ((first + 1) * (first + 2))
    first = first + 2
  end
  return list
end

-- Returns the text of functions on reals with `bits` bits; `logs`, `sines` and
-- `exponents` are the lengths of the series that they need.
--   minus_log(x): -log(x / 2^bits) of an integer x, 1 to 2^bits.  x / 2^bits is
--     2^-s * (1 + f) / (1 + q), with a small f and q one of four numbers.
--   wave(x): cosine and sine of the angle 2 pi x / 2^bits, by the nearest
--     quarter of a turn.
--   log_real(v): log(v) of a positive number.
--   exp_real(v): e^v for v of 0 or less: 2^-n * e^y with a small y; 0 if n is
--     larger than `least`.
local function real_functions(bits, least, logs, sines, exponents)
  local shifts, scales, factorials, v = {}, {}, {}, 1.0
  for step = bits == 53 and 5 or 4, 0, -1 do
    local n = 1 << step
    shifts[#shifts + 1] = format(
      "  if x < %d.0 then x, s = x * %d.0, s + %d.0 end\n", 1 << bits - n,
      1 << n, n)
  end
  for step = 9, 0, -1 do
    local n = 1 << step
    if n <= least then
      scales[#scales + 1] = format(
        "  if n >= %d.0 then e, n = e * %s, n - %d.0 end\n", n,
        literal(2.0 ^ -n), n)
    end
  end
  for i = 1, exponents do factorials[i], v = v, v / i end
  return format([[
local function minus_log(x)
  local s, l, q = 0.0, 0.0, 0.0
%s  x = x * %s
  if x < 0.875 then l, q = 0.22314355131420976, 0.25 end
  if x < 0.7 then l, q = 0.40546510810816438, 0.5 end
  if x < 0.58333333333333337 then l, q = 0.62860865942237414, 0.875 end
  local f = (x - 1.0) + x * q
  return s * 0.69314718055994531 + (l - f * %s)
end
local function wave(x)
  local t = x * %s
  local q = (4.0 * t + 0.5) // 1.0
  local y = (t - 0.25 * q) * 6.283185307179586
  local z = y * y
  local s, c = y * %s, %s
  if q == 1.0 or q == 3.0 then s, c = c, -s end
  if q == 2.0 or q == 3.0 then s, c = -s, -c end
  return c, s
end
local function log_real(v)
  local s = 0.0
  while v < 0.5 do v, s = v * 2.0, s - 1.0 end
  while v > 1.0 do v, s = v * 0.5, s + 1.0 end
  return s * 0.69314718055994531 - minus_log(v * %d.0)
end
local function exp_real(v)
  local n = (v * -1.4426950408889634 + 0.5) // 1.0
  local y, e = v + n * 0.69314718055994531, 1.0
  if n > %d.0 then return 0.0 end
%s  return %s * e
end
]], concat(shifts), literal(2.0 ^ -bits),
    polynomial("f", log_series(logs)), literal(2.0 ^ -bits),
    polynomial("z", wave_series(1, sines)),
    polynomial("z", wave_series(0, sines + 1)), 1 << bits, least,
    concat(scales), polynomial("y", factorials))
end

-- whole: the upper half of the product of 64 random bits and the span; a span
-- of 0 means 2^64.  whole_short: the same for a span below 2^32.
-- search: the first place in a table of a number above 62 random bits.
local whole_functions = [[
local function whole(high, low_word, low, span)
  if span == 0 then return high << 32 | low_word end
  local s, t = span & 0xffffffff, span >> 32
  local u = high * s + (low_word * s >> 32)
  local v = low_word * t + (u & 0xffffffff)
  return low + high * t + (u >> 32) + (v >> 32)
end
local function whole_short(high, low_word, low, span)
  return low + (high * span + (low_word * span >> 32) >> 32)
end
local function search(t, high, low_word)
  local word, first, last = high << 30 | low_word >> 2, 1, #t
  while first < last do
    local middle = first + last >> 1
    if word < t[middle] then last = middle else first = middle + 1 end
  end
  return first
end
]]

-- By width: functions, and the random integers in a block of words a, b, c, d.
local widths = {
  narrow = {real_functions(24, 126, 8, 5, 9), "(a >> 8)", "(b >> 8)",
    "(c >> 8)", "(d >> 8)"},
  wide = {real_functions(53, 1022, 18, 9, 15), "(a << 21 | b >> 11)",
    "(c << 21 | d >> 11)"}
}

-- Texts of the numbers made from a block, by width, and of their arguments.
-- "WORD" is a random integer, "NEXT" another one.  The Box-Muller transform
-- makes two normal numbers of two integers; the logarithm is never that of 0.
local radius = "math.sqrt(2.0 * minus_log((WORD + 1) * 1.0))"
local forms = {
  rand = {"shift, unit",
    narrow = {"(a >> shift) * unit", "(b >> shift) * unit",
      "(c >> shift) * unit", "(d >> shift) * unit"},
    wide = {"(a << 21 | b >> 11) * unit", "(c << 21 | d >> 11) * unit"}},
  randn = {"", pair = {"RADIUS * COSINE", "RADIUS * SINE"}},
  normal = {"mean, deviation",
    pair = {"mean + deviation * (RADIUS * COSINE)",
      "mean + deviation * (RADIUS * SINE)"}},
  exponential = {"scale", each = "scale * minus_log((WORD + 1) * 1.0)"},
  randint = {"low, span", wide = {"whole(a, b, low, span)",
    "whole(c, d, low, span)"}},
  randint_short = {"low, span", wide = {"whole_short(a, b, low, span)",
    "whole_short(c, d, low, span)"}},
  discrete = {"t, low", wide = {"low + search(t, a, b)",
    "low + search(t, c, d)"}}
}
forms.uniform = {"low, size, " .. forms.rand[1]}
for _, width in ipairs {"narrow", "wide"} do
  local values = {}
  for j, value in ipairs(forms.rand[width]) do
    values[j] = format("low + size * (%s)", value)
  end
  forms.uniform[width] = values
end

-- Returns the texts of the numbers of a block, and the lines before them.
local function values_of(form, width)
  local values, lines = form[width], {}
  if values then return values, lines end
  values = {}
  for j = 2, #widths[width] do
    local word = widths[width][j]
    if form.each then
      values[j - 1] = form.each:gsub("WORD", word)
    elseif j % 2 == 0 then
      local following = widths[width][j + 1]
      lines[#lines + 1] = format("  local r%d = %s\n  local c%d, s%d = "
        .. "wave(%s * 1.0)", j, radius:gsub("WORD", word), j, j, following)
      for n, value in ipairs(form.pair) do
        values[j - 2 + n] = value:gsub("RADIUS", "r" .. j):gsub("COSINE",
          "c" .. j):gsub("SINE", "s" .. j)
      end
    end
  end
  return values, lines
end

local kernels = {}

-- Returns a kernel of a text, which is kept under a name.
local function kernel_of(name, width, text)
  if not kernels[name] then
    local whole = concat {"local math, random = ...\n", widths[width][1],
      whole_functions, text}
    kernels[name] = C.kernel(C.text(whole, name)(math, C.work.random),
      {name = "array_" .. name})
  end
  return kernels[name]
end

-- Returns the kernel of an operation, and how many numbers a block makes.
local function block_kernel(op, width)
  local values, lines = values_of(forms[op], width)
  local name = op .. "_" .. width
  if kernels[name] then return kernels[name], #values end
  for j, value in ipairs(values) do
    lines[#lines + 1] = format("  if at + %d <= #x then x[at + %d] = %s end", j,
      j, value)
  end
  local arguments = forms[op][1]
  return kernel_of(name, width, format(
    "return function(i, x, seed, counter%s)\n"
    .. "  local a, b, c, d = random(seed, counter + i - 1)\n"
    .. "  local at = (i - 1) * %d\n%s\nend",
    arguments ~= "" and ", " .. arguments or "", #values,
    concat(lines, "\n"))), #values
end

-- Fills an array with the numbers of an operation, which advances a generator.
local function draw(g, op, width, a, ...)
  if a.size == 0 then return a end
  local kernel, each = block_kernel(op, width)
  local blocks = (a.size + each - 1) // each
  kernel(blocks, a.flat, g.seed, g.counter, ...)
  g.counter = g.counter + blocks
  return a
end

-- Gamma-distributed numbers (G. Marsaglia, W. W. Tsang: A simple method for
-- generating gamma variables. ACM TOMS 26, 2000).  An attempt uses two blocks.
-- For a parameter k below 1, the number for k + 1 is multiplied by U^(1/k).
local gamma_text = [[
return function(i, x, seed, counter, d, c, scale, inverse)
  local at, result, again, tried = counter + (i - 1) * ATTEMPTS, d, true, 0
  while again and tried < ATTEMPTS do
    local a, b, e, f = random(seed, at + tried)
    local n = NORMAL
    local v = 1.0 + c * n
    a, b, e, f = random(seed, at + tried + 1)
    tried = tried + 2
    if v > 0.0 then
      v = v * v * v
      if -minus_log((FIRST + 1) * 1.0) < 0.5 * n * n + d - d * v +
          d * log_real(v) then
        again, result = false, d * v
      end
    end
    if inverse > 0.0 then
      result = again and result or
        result * exp_real(-inverse * minus_log((SECOND + 1) * 1.0))
    end
  end
  x[i] = scale * result
end
]]
local gamma_words = {narrow = {"(a >> 8)", "(b >> 8)"},
  wide = {"(a << 21 | b >> 11)", "(e << 21 | f >> 11)"}}

local function gamma_kernel(width)
  local first, second = gamma_words[width][1], gamma_words[width][2]
  local text = gamma_text:gsub("%u%u%u+", {ATTEMPTS = tostring(ATTEMPTS),
    NORMAL = format("math.sqrt(2.0 * minus_log((%s + 1) * 1.0)) * "
      .. "(wave(%s * 1.0))", first, second), FIRST = first, SECOND = second})
  return kernel_of("gamma_" .. width, width, text)
end

-- Counts, in each row of x, how often each class is drawn by n draws.
local multinomial_text = [[
return function(i, x, t, seed, counter, n, blocks)
  local row, at = (i - 1) * #t, counter + (i - 1) * blocks
  for j = 1, #t do x[row + j] = 0 end
  for k = 1, blocks do
    local a, b, c, d = random(seed, at + k - 1)
    local class = row + search(t, a, b)
    x[class] = x[class] + 1
    if 2 * k <= n then
      class = row + search(t, c, d)
      x[class] = x[class] + 1
    end
  end
end
]]

-- --- tables of probabilities -------------------------------------------------

-- Returns the cumulative sums of the weights in a list; the last one is 2^62.
local function thresholds(weights)
  local total, sum, list = 0.0, 0.0, {}
  for i = 1, #weights do total = total + weights[i] end
  for i = 1, #weights do
    sum = sum + weights[i]
    list[i] = math.tointeger(sum / total * 0x1p62 // 1)
  end
  return list
end

-- Returns the thresholds of a distribution of whole numbers, and the number
-- before the first.  `ratio(k)` is the probability of k, divided by that of
-- k - 1; the numbers reach from `least` to `most`, with the mode in between.
local function distribution(mode, least, most, ratio)
  local below, weights = {}, {}
  local weight, k = 1.0, mode
  while k > least and weight > 0x1p-80 do
    weight = weight / ratio(k)
    below[#below + 1], k = weight, k - 1
  end
  for i = #below, 1, -1 do weights[#weights + 1] = below[i] end
  local first = k
  weight, k = 1.0, mode
  weights[#weights + 1] = weight
  while k < most and weight > 0x1p-80 do
    k = k + 1
    weight = weight * ratio(k)
    weights[#weights + 1] = weight
  end
  return thresholds(weights), first - 1
end

-- --- arguments ---------------------------------------------------------------

-- Returns the checked finite number that is argument n; `otherwise` if it is
-- nil.  `least` and `most`, if given, limit it; `expected` describes it.
local function number(v, fname, n, word, otherwise, expected, least, most)
  if v == nil and otherwise then return otherwise end
  if type(v) ~= "number" or v - v ~= 0 or least and v < least or
      most and v > most then
    fail("%s: argument %d (%s): %s expected, got %s", fname, n, word, expected,
      type(v) == "number" and tostring(v) or C.describe(v))
  end
  return v + 0.0
end

-- Returns values, options and the options' place for arguments from 2 on: n
-- values that may be absent, then the options.
local function optional(x, y, o)
  if type(x) == "table" and y == nil then return nil, nil, x, 2 end
  if type(y) == "table" and o == nil then return x, nil, y, 3 end
  return x, y, o, 4
end

-- Returns a new array of reals, and the width of a kernel for it.
local function reals(op, shape, o, n)
  shape = core.check_shape(shape, op, 1)
  local kind, device = core.option_type(o, op, n, "float", core.type_of)
  if not types[kind].real then
    fail("%s: argument %d (options): type: half, bfloat16, float or double "
      .. "expected, got %s%s", op, n, kind,
      op:find "^rand" and "; randint gives integers" or "")
  end
  local a = core.new_on(device, kind, shape)
  core.needs_double(op, kind, a)
  return a, kind == "double" and "wide" or "narrow"
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

-- Returns a new array for whole numbers from 0 to `most`, of argument n's type.
local function wholes(op, shape, o, n, most)
  shape = core.check_shape(shape, op, 1)
  local kind, device = core.option_type(o, op, n, "long", core.type_of)
  local _, largest = range_of(kind)
  if most > largest then
    fail("%s: argument %d (options): type: %s does not hold numbers up to %d",
      op, n, kind, most)
  end
  local a = core.new_on(device, kind, shape)
  core.needs_double(op, kind, a)
  return a
end

-- Returns the weights in a list or an array of one dimension, which is the
-- argument of op that `where` names; there are n weights, if n is given.
local function weights_of(p, op, where, n)
  local list = p
  if is(p) then
    core.check_numbers(p, tonumber(where:match "%d+"), "p", op)
    list = #p.dims == 1 and p:read() or nil
  end
  if type(list) ~= "table" or #list == 0 or #list > MOST_CLASSES or
      n and #list ~= n then
    fail("%s: %s: a list of %sprobabilities expected, got %s", op, where,
      n and n .. " " or "", type(list) == "table" and #list .. " numbers" or
      C.describe(p))
  end
  local sum, copy = 0.0, {}
  for i, v in ipairs(list) do
    if type(v) ~= "number" or not (v >= 0 and v < math.huge) then
      fail("%s: %s: number %d: a probability expected, got %s", op, where, i,
        type(v) == "number" and tostring(v) or C.describe(v))
    end
    copy[i], sum = v + 0.0, sum + v
  end
  if #copy ~= #list or not (sum > 0 and sum < math.huge) then
    fail("%s: %s: probabilities with a positive sum expected, got %s", op,
      where, tostring(sum))
  end
  return copy
end

-- Returns a buffer of a list of thresholds beside an array.
local function table_beside(a, list)
  return core.made(core.filled_beside, a.base, "long", list)
end

local function draw_discrete(g, a, list, low)
  if a.size == 0 then return a end
  return draw(g, "discrete", "wide", a, table_beside(a, list), low)
end

-- --- generators --------------------------------------------------------------

-- Returns the functions of a generator, which is {seed =, counter =}.
local function functions_of(g)
  local R = {}

  -- seed(n): the same numbers follow each seed(n).
  function R.seed(n)
    n = core.check_integer(n, "seed", "argument 1 (n)", "an integer")
    g.seed, g.counter = n, 0
  end

  -- rand(shape [, options]): uniform numbers, at least 0 and below 1.
  function R.rand(shape, o)
    local a, width = reals("rand", shape, o, 2)
    local bits = mantissa[a.kind]
    return draw(g, "rand", width, a, 32 - bits, 2.0 ^ -bits)
  end

  -- randn(shape [, options]): normal numbers, of mean 0 and deviation 1.
  function R.randn(shape, o)
    local a, width = reals("randn", shape, o, 2)
    return draw(g, "randn", width, a)
  end

  -- randint(shape, low, high [, options]): integers from low to high,
  -- inclusive.
  function R.randint(shape, low, high, o)
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
        fail("randint: argument %d (%s): %d is outside %d..%d of %s", n, name,
          i, least, most, kind)
      end
      return i
    end
    low, high = bound(low, 2, "low"), bound(high, 3, "high")
    if low > high then
      fail("randint: argument 2 (low): %d is greater than high, %d", low, high)
    end
    local a = core.new_on(device, kind, shape)
    core.needs_double("randint", kind, a)
    local span = high - low + 1
    local short = span > 0 and span < 1 << 32
    return draw(g, short and "randint_short" or "randint", "wide", a, low, span)
  end

  -- uniform(shape [, low, high] [, options]): uniform numbers.
  function R.uniform(shape, low, high, o)
    local n
    low, high, o, n = optional(low, high, o)
    low = number(low, "uniform", 2, "low", 0.0, "a finite number")
    high = number(high, "uniform", 3, "high", 1.0, "a finite number")
    if low > high then
      fail("uniform: argument 2 (low): %s is greater than high, %s", low, high)
    end
    local a, width = reals("uniform", shape, o, n)
    local bits = mantissa[a.kind]
    return draw(g, "uniform", width, a, low, high - low, 32 - bits, 2.0 ^ -bits)
  end

  -- normal(shape [, mean, deviation] [, options])
  function R.normal(shape, mean, deviation, o)
    local n
    mean, deviation, o, n = optional(mean, deviation, o)
    mean = number(mean, "normal", 2, "mean", 0.0, "a finite number")
    deviation = number(deviation, "normal", 3, "deviation", 1.0,
      "a number of 0 or more", 0)
    local a, width = reals("normal", shape, o, n)
    return draw(g, "normal", width, a, mean, deviation)
  end

  -- exponential(shape [, scale] [, options]): the mean is the scale.
  function R.exponential(shape, scale, o)
    local n = 3
    if type(scale) == "table" and o == nil then scale, o, n = nil, scale, 2 end
    scale = number(scale, "exponential", 2, "scale", 1.0,
      "a number of 0 or more", 0)
    local a, width = reals("exponential", shape, o, n)
    return draw(g, "exponential", width, a, scale)
  end

  -- gamma(shape, k [, scale] [, options]): the density is proportional to
  -- x^(k - 1) e^(-x / scale).
  function R.gamma(shape, k, scale, o)
    local n = 4
    if type(scale) == "table" and o == nil then scale, o, n = nil, scale, 3 end
    k = number(k, "gamma", 2, "k", nil, "a number from 1e-3 to 1e9", 1e-3, 1e9)
    scale = number(scale, "gamma", 3, "scale", 1.0, "a number of 0 or more", 0)
    local a, width = reals("gamma", shape, o, n)
    if a.size == 0 then return a end
    local d = (k < 1 and k + 1 or k) - 1 / 3
    gamma_kernel(width)(a.size, a.flat, g.seed, g.counter, d,
      1 / math.sqrt(9 * d), scale, k < 1 and 1 / k or 0.0)
    g.counter = g.counter + a.size * ATTEMPTS
    return a
  end

  -- poisson(shape, rate [, options]): numbers of events, of mean `rate`.
  function R.poisson(shape, rate, o)
    rate = number(rate, "poisson", 2, "rate", nil,
      "a number from 0 to " .. MOST_TEXT, 0, MOST_VARIANCE)
    local list, low = distribution(rate // 1 | 0, 0, 1 << 53,
      function(k) return rate / k end)
    local a = wholes("poisson", shape, o, 3, low + #list)
    return draw_discrete(g, a, list, low)
  end

  -- binomial(shape, n, p [, options]): numbers of successes of n trials.
  function R.binomial(shape, n, p, o)
    n = core.check_integer(n, "binomial", "argument 2 (n)",
      "an integer from 0 to 2^53", 0, 1 << 53)
    p = number(p, "binomial", 3, "p", nil, "a probability", 0, 1)
    if n * p * (1 - p) > MOST_VARIANCE then
      fail("binomial: argument 2 (n): a variance n p (1 - p) of at most %s "
        .. "expected, got %.3g", MOST_TEXT, n * p * (1 - p))
    end
    local list, low = {1 << 62}, p < 1 and -1 or n - 1
    if p > 0 and p < 1 then
      local mode = math.min((n + 1) * p // 1 | 0, n)
      local odds = p / (1 - p)
      list, low = distribution(mode, 0, n,
        function(k) return (n + 1 - k) / k * odds end)
    end
    local a = wholes("binomial", shape, o, 4, low + #list)
    return draw_discrete(g, a, list, low)
  end

  -- Returns the order of n random keys.
  local function order(n)
    return R.randint({n}, math.mininteger, math.maxinteger):argsort()
  end

  -- Returns the number of rows of a source, argument 1, and true if it is an
  -- array.
  local function rows_of(source, fname)
    if is(source) then
      core.check(source, 1, "source", fname)
      if #source.dims == 0 then
        fail("%s: argument 1 (source): an array of shape {} has no rows", fname)
      end
      return source.dims[1], true
    end
    return core.check_integer(source, fname, "argument 1 (source)",
      "an array or a number of integers", 0, 1 << 48), false
  end

  -- permutation(n or a): 1 to n, or the rows of a, in random order.
  function R.permutation(source)
    local n, rows = rows_of(source, "permutation")
    local places = order(n)
    return rows and source:take(places, 1) or places
  end

  -- shuffle(a): brings the rows of a in random order; returns a.
  function R.shuffle(a)
    core.check(a, 1, "a", "shuffle")
    if #a.dims == 0 then
      fail "shuffle: argument 1 (a): an array of shape {} has no rows"
    end
    return core.set(a, a:take(order(a.dims[1]), 1), "shuffle")
  end

  -- Returns k different places of n, with probabilities proportional to those
  -- of the list p: the least of exponential numbers divided by p.
  local function different(n, k, p)
    if not p then return order(n)[{{1, k}}] end
    local possible = 0
    for i = 1, n do possible = possible + (p[i] > 0 and 1 or 0) end
    if k > possible then
      fail("choice: argument 2 (shape): at most %d elements without "
        .. "replacement, got %d", possible, k)
    end
    local keys = R.exponential({n}, 1.0, {type = "double"}):read()
    local places = {}
    for i = 1, n do places[i], keys[i] = i, keys[i] / p[i] end
    table.sort(places, function(i, j)
      return keys[i] < keys[j] or keys[i] == keys[j] and i < j
    end)
    return core.from_tables("long", {table.unpack(places, 1, k)}, "choice")
  end

  -- choice(n or a, shape [, options]): integers from 1 to n, or rows of a.
  function R.choice(source, shape, o)
    local n, rows = rows_of(source, "choice")
    shape = core.check_shape(shape, "choice", 2)
    o = core.options(o, {"replace", "p"}, "choice", 3)
    if o.replace ~= nil and type(o.replace) ~= "boolean" then
      fail("choice: argument 3 (options): replace: boolean expected, got %s",
        C.describe(o.replace))
    end
    local p = o.p ~= nil and
      weights_of(core.X.table_of(o.p), "choice", "argument 3 (options): p", n)
    local k = 1
    for _, size in ipairs(shape) do k = k * size end
    if n == 0 and k > 0 then
      fail "choice: argument 1 (source): it has no elements"
    end
    local places
    if k == 0 then
      places = A.zeros(shape, {type = "long"})
    elseif o.replace == false then
      if k > n then
        fail("choice: argument 2 (shape): at most %d elements without "
          .. "replacement, got %d", n, k)
      end
      places = different(n, k, p):reshape(shape)
    elseif p then
      places = draw_discrete(g, core.new_on(nil, "long", shape), thresholds(p),
        0)
    else
      places = R.randint(shape, 1, n)
    end
    return rows and source:take(places, 1) or places
  end

  -- multinomial(shape, n, p [, options]): how often each class occurs in n
  -- draws with the probabilities p; the result has one more dimension.
  function R.multinomial(shape, n, p, o)
    shape = core.check_shape(shape, "multinomial", 1)
    n = core.check_integer(n, "multinomial", "argument 2 (n)",
      "an integer from 0 to 2^31", 0, 1 << 31)
    local list = thresholds(weights_of(p, "multinomial", "argument 3 (p)"))
    shape[#shape + 1] = #list
    local a = wholes("multinomial", shape, o, 4, n)
    local rows = a.size // #list
    if a.size == 0 then return a end
    local blocks = (n + 1) // 2
    kernel_of("multinomial", "wide", multinomial_text)(rows, a.flat,
      table_beside(a, list), g.seed, g.counter, n, blocks)
    g.counter = g.counter + rows * max(blocks, 1)
    return a
  end

  return R
end

local default = functions_of {seed = FIRST_SEED, counter = 0}
for _, name in ipairs {"seed", "rand", "randn", "randint"} do
  A[name] = default[name]
end

-- Returns a generator for scripts, with functions as `public` makes them.  They
-- can be called as g.f(...) and as g:f(...).  `call` is for calls of it.
local function generator(functions, public, name, call)
  local own, known = {}, {}
  local g = {}
  for key, f in next, functions do
    local called = public(key, f)
    known[#known + 1] = key
    own[key] = function(first, ...)
      if rawequal(first, g) then return called(...) end
      return called(first, ...)
    end
  end
  table.sort(known)
  return setmetatable(g, {__metatable = "generator", __name = "generator",
    __call = call, __tostring = function() return name end,
    __index = function(_, key)
      return own[key] or fail("no function %s in a generator (known: %s)",
        type(key) == "string" and format("'%s'", key) or C.describe(key),
        concat(known, ", "))
    end,
    __newindex = function()
      fail "a generator has no field that can be set"
    end})
end

-- Returns A.random: a function that makes a generator, and the functions of the
-- default one.
function core.random(public)
  return generator(default, public, "lze.array.random", function(_, seed, ...)
    seed = core.check_integer(seed, "random", "argument 1 (seed)", "an integer")
    core.no_more("random", 1, ...)
    return generator(functions_of {seed = seed, counter = 0}, public,
      format("generator: seed %d", seed))
  end)
end
