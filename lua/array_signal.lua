-- array_signal.lua - convolutions, complex numbers and Fourier transforms.
-- SPDX-License-Identifier: MIT

local core = ...
local fail, types = core.fail, core.types
local C, new, define = core.C, core.new, core.define
local shape_text, array_over = core.shape_text, core.array_over
local ipairs, mathtype, tostring, type = ipairs, math.type, tostring, type
local max = math.max
local concat, format, unpack = table.concat, string.format, table.unpack

local kernels = {}

local function kernel_for(name, text)
  local k = kernels[name]
  if not k then
    k = C.kernel(C.text(text, name)(math, C.work.fma),
      {name = "array_" .. name})
    kernels[name] = k
  end
  return k
end

local function up(n, step) return (n + step - 1) // step * step end

local function product(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

-- --- convolutions ------------------------------------------------------------

-- Sums of a row that a work-item has side by side in registers.
local TILE <const> = 8
local BLOCK <const> = 512

-- step: true if the inputs of adjacent sums are not adjacent.  Sums beyond the
-- last column repeat it.  After BLOCK or more products the sums are added to
-- other sums, as in mm.
local function conv_text(zero, sum, step)
  local lines = {"local math, fma = ...",
    "return function(j, i, z, r, x, k, rows, columns, height, width, down, "
      .. "step, last, krows, kcolumns)",
    "  local p = ((z - 1) * height + (i - 1) * down) * width",
    format("  local first = (j - 1) * %d", TILE)}
  local function add(...) lines[#lines + 1] = format(...) end
  for s = 1, TILE do
    add("  local t%d, c%d = %s, %s", s, s, zero, zero)
    if step then
      add("  local p%d = math.min(first + %d, last) * step", s, s - 1)
    end
  end
  if not step then add "  p = p + first" end
  add "  local held = 0"
  add "  for u = 0, krows - 1 do"
  add("    for before = 0, kcolumns - 1, %d do", BLOCK)
  add("    local stop = math.min(before + %d, kcolumns)", BLOCK)
  add "    for v = before + 1, stop do"
  add "      local w, q = k[u * kcolumns + v], p + u * width + v"
  for s = 1, TILE do
    add("      c%d = %s", s, (sum:gsub("%u", {S = "c" .. s,
      X = format(step and "x[q + p%d]" or "x[q + %d]", step and s or s - 1)})))
  end
  add "    end"
  add "    held = held + stop - before"
  add("    if held >= %d then", BLOCK)
  add "      held = 0"
  for s = 1, TILE do add("      t%d, c%d = t%d + c%d, %s", s, s, s, s, zero) end
  add "    end\n    end\n  end"
  add("  local at = ((z - 1) * rows + i - 1) * columns + first")
  for s = 1, TILE do add("  r[at + %d] = t%d + c%d", s, s, s) end
  add "end"
  return concat(lines, "\n")
end

local function conv_kernel(whole, step)
  local name = (whole and "conv_long" or "conv") .. (step and "_step" or "")
  return kernels[name] or kernel_for(name, conv_text(whole and "0" or "0.0",
    whole and "S + w * X" or "fma(w, X, S)", step))
end

-- Returns numbers for rows and columns: one number is used for both, or in
-- conv1d, whose array is one row, for columns.
local function pair(v, least, otherwise, name, fname, rank)
  if v == nil then v = otherwise end
  local given = type(v) == "table" and v or
    rank == 1 and {otherwise, v} or {v, v}
  local first, second = core.whole(given[1]), core.whole(given[2])
  for _, n in ipairs {first or false, second or false} do
    if mathtype(n) ~= "integer" or n < least or #given > 2 or
        type(v) == "table" and rank == 1 then
      fail("%s: argument 3 (options): %s: an integer of %d or more%s expected, "
        .. "got %s", fname, name, least, rank == 2 and " or two of them" or "",
        mathtype(v) and tostring(v) or C.describe(v))
    elseif n > 1 << 31 then
      fail("%s: argument 3 (options): %s: %d is too much", fname, name, n)
    end
  end
  return first, second
end

local function convolve(a, k, o, fname, rank)
  for n, v in ipairs {core.check_numbers(a, 1, "a", fname),
                      core.check_numbers(k, 2, "kernel", fname)} do
    if #v.dims < rank or n == 2 and #v.dims > rank then
      fail("%s: argument %d (%s): %d dimension%s%s expected, got shape %s",
        fname, n, n == 1 and "a" or "kernel", rank, rank > 1 and "s" or "",
        n == 1 and " or more" or "", shape_text(v.dims))
    end
  end
  core.together(fname, {"a", "kernel"}, a, k)
  o = core.options(o, {"stride", "padding"}, fname, 3)
  local down, step = pair(o.stride, 1, 1, "stride", fname, rank)
  local above, before = pair(o.padding, 0, 0, "padding", fname, rank)
  local kind, why = core.promote(a.kind, k.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
  a, k = core.operand_in(a, kind), core.operand_in(k, kind)
  local whole = not types[kind].real
  if whole then kind = "long" end
  local last = #a.dims
  local width, kcolumns = a.dims[last], k.dims[rank]
  local height = rank == 2 and a.dims[last - 1] or 1
  local krows = rank == 2 and k.dims[1] or 1
  if k.size == 0 then
    fail("%s: argument 2 (kernel): has no elements", fname)
  elseif krows > height + 2 * above or kcolumns > width + 2 * before then
    fail("%s: argument 2 (kernel): shape %s does not fit into shape %s with "
      .. "its padding", fname, shape_text(k.dims),
      shape_text {unpack(a.dims, last - rank + 1)})
  end
  local rows = (height + 2 * above - krows) // down + 1
  local columns = (width + 2 * before - kcolumns) // step + 1
  local shape = {unpack(a.dims)}
  shape[last] = columns
  if rank == 2 then shape[last - 1] = rows end
  local lead = {unpack(a.dims, 1, last - rank)}
  local count = product(lead)
  if count == 0 then return new(kind, shape, nil, a.home) end
  -- Tiles are full: the input of their sums beyond the last column must exist,
  -- too.
  local wide = step > 1 and width + 2 * before or
    up(columns, TILE) - 1 + kcolumns
  local x = a
  if wide > width or above > 0 then
    x = core.filled(new(a.kind, core.check_shape({count, height + 2 * above,
      wide}, fname), nil, a.home), 0)
    if a.size > 0 then
      core.set(x[{{}, {above + 1, above + height}, {before + 1,
        before + width}}], a:reshape {count, height, width}, fname)
    end
    height, width = height + 2 * above, wide
  end
  local padded = {count, rows, up(columns, TILE)}
  local into = new(kind, padded, nil, a.home)
  conv_kernel(whole, step > 1)({padded[3] // TILE, rows, count}, into.flat,
    core.contiguous(x).flat, core.contiguous(k).flat, rows, padded[3], height,
    width, down, step, columns - 1, krows, kcolumns)
  return into[{{}, {}, {1, columns}}]:reshape(shape)
end

-- a:conv1d(kernel [, options]), a:conv2d(kernel [, options]): sums of products
-- with a kernel that is moved over the last one or two dimensions, without
-- flipping it.
define("conv1d", function(a, k, o) return convolve(a, k, o, "conv1d", 1) end)
define("conv2d", function(a, k, o) return convolve(a, k, o, "conv2d", 2) end)

-- --- complex numbers ---------------------------------------------------------

local scalars = core.scalars

-- Returns the parts of a complex array in another dimension; shares elements.
local function parts(z)
  local shape, strides = {unpack(z.dims)}, {}
  for d = 1, #shape do strides[d] = z.stride[d] * 2 end
  shape[#shape + 1], strides[#strides + 1] = 2, 1
  return array_over(z.base:view(1, #z.base, scalars[z.kind]), z.from * 2, shape,
    strides)
end

-- Returns a new complex array from an array whose last dimension has the parts;
-- `what` names it in errors.
local function join(x, what)
  local kind = core.complex_of[x.kind]
  if x.dims[#x.dims] ~= 2 then
    fail("%s: %s: a last dimension of 2, the real and the imaginary parts, "
      .. "expected, got shape %s", what, kind, shape_text(x.dims))
  end
  local shape = {unpack(x.dims, 1, #x.dims - 1)}
  if x.size == 0 then return new(kind, shape, nil, x.home) end
  return array_over(x.flat:view(1, x.size, kind), 0, shape,
    core.packed_strides(shape))
end

-- --- Fourier transforms ------------------------------------------------------

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

local function with_math(text) return "local math = ...\n" .. text end

local function pass_kernel(radix)
  local name = "fft_" .. radix
  return kernels[name] or kernel_for(name, pass_text(radix))
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

-- Returns the array with the dimension to transform last, and its number.
local function turned(a, o, fname)
  local rank = #core.check(a, 1, "a", fname).dims
  if rank == 0 then
    fail("%s: argument 1 (a): an array with dimensions expected, got shape {}",
      fname)
  end
  local d = core.dimension(#a.dims, o.dim == nil and -1 or o.dim, fname,
    "argument 2 (options): dim")
  if d == rank then return a, d end
  local order = {}
  for e = 1, rank do order[e] = e end
  table.remove(order, d)
  order[rank] = d
  return a:permute(order), d
end

local function turned_back(a, d)
  local rank = #a.dims
  if d == rank then return a end
  local order = {}
  for e = 1, rank - 1 do order[e] = e end
  table.insert(order, d, rank)
  return core.contiguous(a:permute(order))
end

-- Returns the numbers of a real or complex array as pairs of float or double.
local function pairs_of(a, fname)
  local kind = scalars[a.kind]
  if not kind and not types[a.kind] then
    fail("%s: argument 1 (a): numbers expected, got %s", fname, a.kind)
  end
  if not kind then kind = a.kind == "double" and "double" or "float" end
  core.needs_double(fname, kind, a)
  local x
  if scalars[a.kind] then
    x = core.contiguous(parts(a))
  else
    x = core.filled(new(kind, {a.size, 2}, nil, a.home), 0)
    if a.size > 0 then
      core.set(x[{{}, 1}], a:reshape {a.size}, fname)
    end
  end
  return x.flat, kind
end

-- Returns the array with the dimension to transform last, its size and number.
local function input(a, o, fname)
  local d
  a, d = turned(a, o, fname)
  local n = a.dims[#a.dims]
  if n == 0 then
    fail("%s: argument 1 (a): dimension %d has no elements", fname, d)
  end
  return a, n, d
end

-- Transforms pairs in lines of n into a complex array of a shape.
local function fourier(x, kind, shape, n, sign)
  local y = new(kind .. "2", shape, nil, x)
  if y.size > 0 then
    transform(plan_for(x, kind, n), y.flat:view(1, y.size, kind), x,
      y.size // n, sign, sign < 0 and 1 / n or 1)
  end
  return y
end

-- Returns the first elements of the lines of a contiguous array.
local function cut(a, size)
  local shape = {unpack(a.dims)}
  shape[#shape] = size
  return array_over(a.base, 0, shape, a.stride)
end

-- a:fft([options]), a:ifft([options]): of real or complex numbers, along the
-- last dimension or dim; fft does not scale, ifft scales by 1 / n.
for name, sign in next, {fft = 1, ifft = -1} do
  define(name, function(a, o)
    o = core.options(o, {"dim"}, name, 2)
    local n, d, x, kind
    a, n, d = input(a, o, name)
    x, kind = pairs_of(a, name)
    return turned_back(fourier(x, kind, {unpack(a.dims)}, n, sign), d)
  end)
end

-- a:rfft([options]): the first n // 2 + 1 elements of the transform of reals;
-- the others are mirror images.
define("rfft", function(a, o)
  o = core.options(o, {"dim"}, "rfft", 2)
  local n, d, x, kind
  a, n, d = input(a, o, "rfft")
  if not types[a.kind] then
    fail("rfft: argument 1 (a): numbers expected, got %s; fft takes them",
      a.kind)
  end
  x, kind = pairs_of(a, "rfft")
  local y = fourier(x, kind, {unpack(a.dims)}, n, 1)
  return core.contiguous(turned_back(cut(y, n // 2 + 1), d))
end)

-- a:irfft([options]): the n reals whose rfft is a; n is even by default.
define("irfft", function(a, o)
  o = core.options(o, {"dim", "n"}, "irfft", 2)
  local half, d, x, kind
  a, half, d = input(a, o, "irfft")
  local n = max(half * 2 - 2, 1)
  if o.n ~= nil then
    n = core.check_integer(o.n, "irfft", "argument 2 (options): n",
      format("%d%s for %d elements", n, half > 1 and " or " .. n + 1 or "",
        half), n, half > 1 and n + 1 or n)
  end
  x, kind = pairs_of(a, "irfft")
  local shape, lines = {unpack(a.dims)}, a.size // half
  shape[#shape] = n
  if a.size == 0 then
    return turned_back(new(kind, shape, nil, a.home), d)
  end
  local whole = scratch(x, kind, lines * n)
  kernel_for("fft_mirror", mirror_text)({n, lines}, whole, x, n, half)
  local y = parts(fourier(whole, kind, shape, n, -1))
  local strides = {unpack(y.stride, 1, #shape)}
  return core.contiguous(turned_back(array_over(y.base, 0, shape, strides), d))
end)

-- Exports for array.lua.
core.parts, core.join = parts, join
