-- array_fourier.lua - arrays: Fourier transforms.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, define, fail = core.A, core.C, core.define, core.fail
local new, array_over, narrow = core.new, core.array_over, core.narrow
local types, scalars, shape_text = core.types, core.scalars, core.shape_text
local kernel_for = core.kernel_for
local count_of = core.count_of
local ipairs, math, type = ipairs, math, type
local concat, format, unpack = table.concat, string.format, table.unpack

-- --- one line ----------------------------------------------------------------

-- A transform takes passes (Stockham's), each of which combines as many parts
-- as its radix, and ends with its elements in order.  If n has a factor other
-- than these radices, Bluestein's convolution of a power of two is used.
local radices = {4, 2, 3, 5, 7}

-- One butterfly: m is the product of the radices of the earlier passes.  sign
-- is 1 forwards and -1 backwards.
local function pass_text(radix)
  local lines = {"return function(j, line, y, x, table, n, m, sign, scale)",
    format("  local k, q, step = (j - 1) %% m, n // %d, n // (m * %d)", radix,
      radix),
    "  local p, d = ((line - 1) * n + j - 1) * 2 + 1, "
      .. format("((line - 1) * n + (j - 1 - k) * %d + k) * 2 + 1", radix)}
  local function add(...) lines[#lines + 1] = format(...) end
  add "  local r0, i0 = x[p], x[p + 1]"
  for s = 1, radix - 1 do
    add("  local t%d, a%d = k * step * %d * 2 + 1, p + %d * q * 2", s, s, s, s)
    add("  local c%d, s%d = table[t%d], table[t%d + 1] * sign", s, s, s, s)
    add("  local e%d, f%d = x[a%d], x[a%d + 1]", s, s, s, s)
    add("  local r%d, i%d = e%d * c%d - f%d * s%d, e%d * s%d + f%d * c%d", s, s,
      s, s, s, s, s, s, s, s)
  end
  local function put(s, real, imaginary)
    add("  y[d + %d * m * 2] = (%s) * scale", s, real)
    add("  y[d + %d * m * 2 + 1] = (%s) * scale", s, imaginary)
  end
  if radix == 2 then
    put(0, "r0 + r1", "i0 + i1")
    put(1, "r0 - r1", "i0 - i1")
  elseif radix == 4 then
    add "  local gr, gi, hr, hi = r0 + r2, i0 + i2, r0 - r2, i0 - i2"
    add "  local ur, ui = r1 + r3, i1 + i3"
    add "  local vr, vi = (r1 - r3) * sign, (i1 - i3) * sign"
    put(0, "gr + ur", "gi + ui")
    put(1, "hr + vi", "hi - vr")
    put(2, "gr - ur", "gi - ui")
    put(3, "hr - vi", "hi + vr")
  else
    local real, imaginary = "r0", "i0"
    for s = 1, radix // 2 do
      local o = radix - s
      add("  local gr%d, gi%d = r%d + r%d, i%d + i%d", s, s, s, o, s, o)
      add("  local hr%d, hi%d = (r%d - r%d) * sign, (i%d - i%d) * sign", s, s,
        s, o, s, o)
      real = real .. " + gr" .. s
      imaginary = imaginary .. " + gi" .. s
    end
    put(0, real, imaginary)
    for t = 1, radix // 2 do
      local ar, ai, br, bi = "r0", "i0", "0.0", "0.0"
      for s = 1, radix // 2 do
        local angle = 2 * math.pi * (s * t % radix) / radix
        local function with(sum, name, by)
          return format("%s + %s%d * (%s)", sum, name, s,
            core.point(format("%.17g", by)))
        end
        ar = with(ar, "gr", math.cos(angle))
        ai = with(ai, "gi", math.cos(angle))
        br = with(br, "hr", math.sin(angle))
        bi = with(bi, "hi", math.sin(angle))
      end
      add("  local ar%d, ai%d, br%d, bi%d = %s, %s, %s, %s", t, t, t, t, ar, ai,
        br, bi)
      put(t, format("ar%d + bi%d", t, t), format("ai%d - br%d", t, t))
      put(radix - t, format("ar%d - bi%d", t, t),
        format("ai%d + br%d", t, t))
    end
  end
  add "end"
  return concat(lines, "\n")
end

-- exp(-2 pi i q / n) for q from 0: the product of a coarse factor and a fine
-- one, from which 1 is subtracted to retain precision.
local table_text = [[
return function(i, out, coarse, fine, size)
  local c, f = (i - 1) // size * 2 + 1, (i - 1) % size * 2 + 1
  local cr, ci, fr, fi = coarse[c], coarse[c + 1], fine[f], fine[f + 1]
  out[i * 2 - 1] = cr + (cr * fr - ci * fi)
  out[i * 2] = ci + (cr * fi + ci * fr)
end]]

-- Bluestein's factors: exp(pi i q^2 / n), q from 0, the same backwards from the
-- end, and zeros between.
local chirp_text = [[
return function(i, out, table, n, size)
  local q, re, im = math.min(i - 1, size - i + 1), 0.0, 0.0
  if q < n then
    local t = q * q % (n * 2) * 2 + 1
    re, im = table[t], -table[t + 1]
  end
  out[i * 2 - 1], out[i * 2] = re, im
end]]

-- Rows of x, element by element times factors, padded with zeros or cut.
local times_text = [[
return function(i, line, y, x, by, xsize, ysize, count, sign)
  local re, im = 0.0, 0.0
  if i <= count then
    local p = ((line - 1) * xsize + i) * 2
    local a, b, c, s = x[p - 1], x[p], by[i * 2 - 1], by[i * 2] * sign
    re, im = a * c - b * s, a * s + b * c
  end
  local q = ((line - 1) * ysize + i) * 2
  y[q - 1], y[q] = re, im
end]]

-- Half of a spectrum, and the other half, which is its mirror image.
local mirror_text = [[
return function(i, line, y, x, n, half)
  local k, sign = i, 1.0
  if i > half then k, sign = n - i + 2, -1.0 end
  local p, q = ((line - 1) * half + k) * 2, ((line - 1) * n + i) * 2
  y[q - 1], y[q] = x[p - 1], x[p] * sign
end]]

-- Rows of reals as complex numbers, padded with zeros or cut.
local pairs_text = [[
return function(i, line, y, x, xsize, ysize)
  local v, q = 0.0, ((line - 1) * ysize + i) * 2
  if i <= xsize then v = x[(line - 1) * xsize + i] end
  y[q - 1], y[q] = v, 0.0
end]]

local function with_math(text) return "local math = ...\n" .. text end

local function pass_kernel(radix)
  return kernel_for("fft_" .. radix, pass_text, radix)
end

local function scratch(home, kind, n)
  return core.beside(home, kind, n * 2)
end

local function roots(home, kind, n)
  local size = math.ceil(math.sqrt(n))
  local coarse, fine = {}, {}
  for q = 0, size - 1 do
    local angle = -2 * math.pi * (q * size / n)
    coarse[q * 2 + 1], coarse[q * 2 + 2] = math.cos(angle), math.sin(angle)
    angle = -2 * math.pi * (q / n)
    fine[q * 2 + 1] = -2 * math.sin(angle / 2) ^ 2
    fine[q * 2 + 2] = math.sin(angle)
  end
  local out = scratch(home, kind, n)
  kernel_for("fft_table", table_text)(n, out,
    core.filled_beside(home, kind, coarse),
    core.filled_beside(home, kind, fine), size)
  return out
end

local transform

-- Returns a plan for transforms of a length: the radices and a table, or the
-- power of two for Bluestein's convolution and the spectrum to multiply by.
local function make_plan(home, kind, n)
  local plan = {kind = kind, n = n, device = home.device,
    context = home.context, radices = {}}
  local rest = n
  for _, radix in ipairs(radices) do
    while rest % radix == 0 do
      plan.radices[#plan.radices + 1] = radix
      rest = rest // radix
    end
  end
  if rest == 1 then
    plan.table = roots(home, kind, n)
    return plan
  end
  local size = 1
  while size < n * 2 - 1 do size = size * 2 end
  plan.inner = make_plan(home, kind, size)
  plan.chirp = scratch(home, kind, size)
  kernel_for("fft_chirp", with_math(chirp_text))(size, plan.chirp,
    roots(home, kind, n * 2), n, size)
  plan.spectrum = scratch(home, kind, size)
  transform(plan.inner, plan.spectrum, plan.chirp, 1, 1, 1)
  return plan
end

-- The most recently used plans, the newest first.
local plans, MOST_PLANS <const> = {}, 8

-- Plans of a closed context are not found again.
local function plan_for(home, kind, n)
  local device, context = home.device, home.context
  for i, plan in ipairs(plans) do
    if plan.n == n and plan.kind == kind and plan.device == device and
      plan.context == context
    then
      table.insert(plans, 1, table.remove(plans, i))
      return plan
    end
  end
  local plan = make_plan(home, kind, n)
  table.insert(plans, 1, plan)
  plans[MOST_PLANS + 1] = nil
  return plan
end

-- Transforms lines of x into y, which must differ from x.
function transform(plan, y, x, lines, sign, scale)
  local n, kind = plan.n, plan.kind
  local count = #plan.radices
  if plan.inner then
    local size, times = plan.inner.n, kernel_for("fft_times", times_text)
    local a = scratch(x, kind, lines * size)
    local b = scratch(x, kind, lines * size)
    times({size, lines}, a, x, plan.chirp, n, size, n, -sign)
    transform(plan.inner, b, a, lines, 1, 1)
    times({size, lines}, a, b, plan.spectrum, size, size, size, sign)
    transform(plan.inner, b, a, lines, -1, scale / size)
    times({n, lines}, y, b, plan.chirp, size, n, n, -sign)
  elseif count == 0 then
    y:copy(x)
  else
    local other = count > 1 and scratch(x, kind, lines * n)
    local m = 1
    for i, radix in ipairs(plan.radices) do
      local into = (count - i) % 2 == 0 and y or other
      pass_kernel(radix)({n // radix, lines}, into, x, plan.table, n, m, sign,
        i == count and scale or 1)
      x, m = into, m * radix
    end
  end
end


-- --- dimensions --------------------------------------------------------------

-- Returns a view whose last dimension is dimension d of an array.
local function turned(a, d)
  local rank = #a.dims
  if d == rank then return a end
  local order = {}
  for e = 1, rank do order[e] = e end
  table.remove(order, d)
  order[rank] = d
  return a:permute(order)
end

-- Returns a view whose dimension d is the last dimension of an array.
local function turned_back(a, d)
  local rank = #a.dims
  if d == rank then return a end
  local order = {}
  for e = 1, rank - 1 do order[e] = e end
  table.insert(order, d, rank)
  return a:permute(order)
end

local function with_last(shape, n)
  shape = {unpack(shape)}
  shape[#shape] = n
  return shape
end

-- Returns the real type in which the numbers of an array are transformed.
local function real_type(a)
  return scalars[a.kind] or a.kind == "double" and "double" or "float"
end

-- Returns the numbers of an array as pairs of reals, in lines of the last
-- dimension that are cut to n or padded with zeros.
local function pairs_of(a, n)
  local kind, rank = real_type(a), #a.dims
  local size, shape = a.dims[rank], with_last(a.dims, n)
  if not scalars[a.kind] then
    local lines = count_of(shape) // n
    local x = core.beside(a.home, kind, lines * n * 2)
    if lines > 0 then
      if a.size == 0 then return x:fill(0) end
      kernel_for("fft_pairs", pairs_text)({n, lines}, x,
        core.contiguous(a:to(kind)).flat, size, n)
    end
    return x
  end
  if n < size then a = narrow(a, rank, 1, n, 1) end
  if n > size then
    local x = core.filled(new(a.kind, shape, nil, a.home), {0, 0})
    if a.size > 0 then
      core.X.compute("copy", narrow(x, rank, 1, size, 1), a)
    end
    a = x
  end
  return core.contiguous(core.parts(a)).flat
end

-- Transforms pairs in lines of n into a complex array of a shape.
local function fourier(x, kind, shape, n, sign, scale)
  local y = new(core.complex_of[kind], shape, nil, x)
  if y.size > 0 then
    transform(plan_for(x, kind, n), y.flat:view(1, y.size, kind), x,
      y.size // n, sign, scale)
  end
  return y
end

-- Returns the circular convolution, of period n, of two lists of reals of one
-- type with n elements at most.
function core.circular(a, b, n)
  local kind = a.kind
  local x, y = scratch(a.home, kind, n * 2),
    scratch(a.home, kind, n * 2)
  local plan, to_pairs = plan_for(x, kind, n), kernel_for("fft_pairs",
    pairs_text)
  for i, v in ipairs {a, b} do
    to_pairs({n, 1}, x:view((i - 1) * n * 2 + 1, i * n * 2),
      core.contiguous(v).flat, v.size, n)
  end
  transform(plan, y, x, 2, 1, 1)
  local product, result = x:view(1, n * 2), y:view(1, n * 2)
  kernel_for("fft_times", times_text)({n, 1}, product, result,
    y:view(n * 2 + 1, n * 4), n, n, n, 1)
  transform(plan, result, product, 1, -1, 1 / n)
  return array_over(result, 0, {n}, {2})
end

-- Factors of transforms forwards and backwards, by the option norm.
local norms = {
  backward = function(n, sign) return sign < 0 and 1 / n or 1 end,
  ortho = function(n) return 1 / math.sqrt(n) end,
  forward = function(n, sign) return sign > 0 and 1 / n or 1 end
}

-- These functions transform dimension d: n is the size of the lines that are
-- transformed, and `scale` one of norms.
local function whole_to_whole(a, d, n, sign, scale)
  a = turned(a, d)
  return turned_back(fourier(pairs_of(a, n), real_type(a),
    with_last(a.dims, n), n, sign, scale(n, sign)), d)
end

local function whole_to_half(a, d, n, sign, scale)
  local y = whole_to_whole(a, d, n, sign, scale)
  return narrow(y, d, 1, n // 2 + 1, 1)
end

local function half_to_reals(a, d, n, sign, scale)
  a = turned(a, d)
  local kind, half, shape = real_type(a), n // 2 + 1, with_last(a.dims, n)
  local x, lines = pairs_of(a, half), count_of(shape) // n
  if lines == 0 then
    return turned_back(new(kind, shape, nil, a.home), d)
  end
  local whole = scratch(x, kind, lines * n)
  kernel_for("fft_mirror", mirror_text)({n, lines}, whole, x, n, half)
  local y = core.parts(fourier(whole, kind, shape, n, sign, scale(n, sign)))
  return turned_back(array_over(y.base, 0, shape,
    {unpack(y.stride, 1, #shape)}), d)
end

-- --- arguments ---------------------------------------------------------------

local N <const> = "argument 2 (options): n"

-- Returns the option n as a list in which false stands for the size that a
-- dimension has; nil if it is absent.
local function sizes_of(n, fname)
  if n == nil then return nil end
  local list, sizes = n, {}
  local one = type(n) ~= "table" or core.is(n)
  if one then list = {n} end
  for i = 1, #list do
    local size = core.whole(list[i])
    sizes[i] = size ~= -1 and core.check_integer(size, fname,
      one and N or N .. ": element " .. i, "a size of 1 or more", 1)
  end
  return sizes
end

-- Returns the dimensions of a to transform, their sizes as sizes_of does, and
-- the function of the norm.  If the options do not name any, the last `usual`
-- dimensions are transformed; all, if usual is nil.
local function check_options(a, o, fname, usual)
  local rank = #core.check(a, 1, "a", fname).dims
  if not scalars[a.kind] and not types[a.kind] then
    fail("%s: argument 1 (a): numbers or complex64 expected, got %s", fname,
      a.kind)
  end
  core.needs_double(fname, real_type(a), a)
  o = core.options(o, {"dim", "n", "norm"}, fname, 2)
  local scale = norms[o.norm == nil and "backward" or o.norm]
  if not scale then
    fail('%s: argument 2 (options): norm: "backward", "ortho" or "forward" '
      .. "expected, got %s", fname, C.describe(o.norm))
  end
  local sizes = sizes_of(o.n, fname)
  local list = o.dim
  if list == nil then
    local count = usual or sizes and #sizes or rank
    if count > rank or rank == 0 then
      fail("%s: argument 1 (a): an array with %sdimensions expected, got shape "
        .. "%s", fname, count > 1 and count .. " " or "", shape_text(a.dims))
    end
    list = {}
    for i = 1, count do list[i] = rank - count + i end
  end
  list = core.dimensions(a, list, fname, "argument 2 (options): dim")
  if #list == 0 then
    fail("%s: argument 2 (options): dim: a dimension expected, got an empty "
      .. "table", fname)
  elseif sizes and #sizes ~= #list then
    fail("%s: %s: %d size%s expected, one for each dimension, got %d", fname, N,
      #list, #list > 1 and "s" or "", #sizes)
  end
  return list, sizes or {}, scale
end

-- Returns the size of a dimension to transform, which is `size` or that of the
-- array.
local function size_of(a, d, size, fname)
  size = size or a.dims[d]
  if size == 0 then
    fail("%s: argument 1 (a): dimension %d has no elements", fname, d)
  end
  return size
end

-- Checks that the result is not too large.
local function check_result(a, list, sizes, fname)
  local shape = {unpack(a.dims)}
  for i, d in ipairs(list) do shape[d] = sizes[i] end
  core.check_shape(shape, fname)
end

-- --- functions ---------------------------------------------------------------

-- Defines a transform of complex numbers.  `usual` is the number of dimensions
-- that it transforms if the options do not name any; nil means all of them.
local function define_whole(name, sign, usual)
  define(name, function(a, o)
    local list, sizes, scale = check_options(a, o, name, usual)
    for i, d in ipairs(list) do
      sizes[i] = size_of(a, d, sizes[i], name)
    end
    check_result(a, list, sizes, name)
    for i = #list, 1, -1 do
      a = whole_to_whole(a, list[i], sizes[i], sign, scale)
    end
    return core.contiguous(a)
  end)
end

-- Defines a transform of reals: of the last dimension that it transforms, the
-- result has the first n // 2 + 1 elements; the others are mirror images.
local function define_half(name, sign, usual)
  define(name, function(a, o)
    local list, sizes, scale = check_options(a, o, name, usual)
    if scalars[a.kind] then
      fail("%s: argument 1 (a): numbers expected, got %s; %s takes them", name,
        a.kind, name == "ihfft" and "ifft" or name:sub(2))
    end
    for i, d in ipairs(list) do
      sizes[i] = size_of(a, d, sizes[i], name)
    end
    check_result(a, list, sizes, name)
    a = whole_to_half(a, list[#list], sizes[#list], sign, scale)
    for i = #list - 1, 1, -1 do
      a = whole_to_whole(a, list[i], sizes[i], sign, scale)
    end
    return core.contiguous(a)
  end)
end

-- Defines a transform to n reals; n is even by default.
local function define_reals(name, sign, usual)
  define(name, function(a, o)
    local list, sizes, scale = check_options(a, o, name, usual)
    local count = #list
    for i, d in ipairs(list) do
      if i < count then
        sizes[i] = size_of(a, d, sizes[i], name)
      elseif not sizes[i] then
        sizes[i] = math.max(size_of(a, d, nil, name) * 2 - 2, 1)
      end
    end
    check_result(a, list, sizes, name)
    for i = 1, count - 1 do
      a = whole_to_whole(a, list[i], sizes[i], sign, scale)
    end
    return core.contiguous(half_to_reals(a, list[count], sizes[count], sign,
      scale))
  end)
end

define_whole("fft", 1, 1)
define_whole("ifft", -1, 1)
define_whole("fft2", 1, 2)
define_whole("ifft2", -1, 2)
define_whole("fftn", 1)
define_whole("ifftn", -1)
define_half("rfft", 1, 1)
define_half("rfft2", 1, 2)
define_half("rfftn", 1)
define_half("ihfft", -1, 1)
define_reals("irfft", -1, 1)
define_reals("irfft2", -1, 2)
define_reals("irfftn", -1)
define_reals("hfft", 1, 1)

-- Returns the numbers from 0 to `last`, a function of n, and from -(n // 2) to
-- -1 if `both` is true, divided by n * d.
local function frequencies(fname, n, d, o, last, both)
  n = core.check_integer(n, fname, "argument 1 (n)", "a size of 1 or more", 1)
  local place = 3 -- of the options
  if type(d) == "table" and not core.is(d) then d, o, place = nil, d, 2 end
  if d == nil then d = 1 end
  if type(d) ~= "number" or d ~= d or d == 0 then
    fail("%s: argument 2 (d): a number other than 0 expected, got %s", fname,
      type(d) == "number" and d or C.describe(d))
  end
  local kind, device = core.option_type(o, fname, place, "float")
  if not types[kind].real then
    fail("%s: argument %d (options): type: half, bfloat16, float or double "
      .. "expected, got %s", fname, place, kind)
  end
  local wide = {type = kind == "double" and kind or "float", device = device}
  local by = core.fitting(fname .. ": argument 2 (d): n * d", wide.type,
    n * (d + 0.0))
  core.check_shape({n}, fname)
  local k = A.arange(0, last(n), wide)
  if both and n > 1 then k = A.cat {k, A.arange(-(n // 2), -1, wide)} end
  core.needs_double(fname, wide.type, k)
  k = k / by
  return kind == wide.type and k or k:to(kind)
end

-- A.fftfreq(n [, d] [, options]): the frequencies of the elements of fft for n
-- samples at a distance of d: 0, 1, ... and then ..., -2, -1, divided by n * d.
function A.fftfreq(n, d, o)
  return frequencies("fftfreq", n, d, o, function(m) return (m - 1) // 2 end,
    true)
end

-- A.rfftfreq(n [, d] [, options]): the frequencies of the elements of rfft.
function A.rfftfreq(n, d, o)
  return frequencies("rfftfreq", n, d, o, function(m) return m // 2 end)
end

-- a:fftshift([options]): a copy with the frequency 0 in the middle of the
-- dimensions of the option dim, by default all; a:ifftshift is the inverse.
for name, sign in next, {fftshift = 1, ifftshift = -1} do
  define(name, function(a, o)
    core.check(a, 1, "a", name)
    o = core.options(o, {"dim"}, name, 2)
    local list = o.dim
    if list == nil then
      list = {}
      for d = 1, #a.dims do list[d] = d end
    end
    list = core.dimensions(a, list, name, "argument 2 (options): dim")
    if #list == 0 then return a:clone() end
    local by = {}
    for i, d in ipairs(list) do by[i] = sign * (a.dims[d] // 2) end
    return a:roll(by, list)
  end)
end

core.tables.fft = {"fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft",
  "irfft", "rfft2", "irfft2", "rfftn", "irfftn", "hfft", "ihfft", "fftfreq",
  "rfftfreq", "fftshift", "ifftshift"}
