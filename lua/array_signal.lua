-- array_signal.lua - convolutions and complex numbers.
-- SPDX-License-Identifier: MIT

local core = ...
local fail, types = core.fail, core.types
local A, C, new, define = core.A, core.C, core.new, core.define
local shape_text, array_over = core.shape_text, core.array_over
local ipairs, mathtype, tostring, type = ipairs, math.type, tostring, type
local concat, format, unpack = table.concat, string.format, table.unpack
local math, max, min = math, math.max, math.min

local kernels = {}

-- Returns the kernel of that name, made from a text or from the text that a
-- function returns for the arguments that follow.
local function kernel_for(name, text, ...)
  local k = kernels[name]
  if not k then
    if type(text) == "function" then text = text(...) end
    k = C.kernel(C.text(text, name)(math, C.work.fma),
      {name = "array_" .. name})
    kernels[name] = k
  end
  return k
end

local function up(n, step) return (n + step - 1) // step * step end

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
  return kernel_for(name, conv_text, whole and "0" or "0.0",
    whole and "S + w * X" or "fma(w, X, S)", step)
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

-- Returns the sums of products of a with a kernel that moves over its last
-- dimensions, as many as `rank`.
local function move_over(a, k, o, fname, rank)
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
  local count = core.count_of(lead)
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
define("conv1d", function(a, k, o) return move_over(a, k, o, "conv1d", 1) end)
define("conv2d", function(a, k, o) return move_over(a, k, o, "conv2d", 2) end)

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

-- --- convolutions of lists ---------------------------------------------------

-- Returns elements first .. first + count - 1 of the convolution of two lists,
-- from all of their products.  k is not longer than x.
local function sums_of_products(x, k, first, count)
  local before = k.size - first
  local padding = max(before, first + count - 1 - x.size)
  local skip = padding - before
  local y = x:conv1d(k:flip(), {padding = padding})
  if y.size == count then return y end
  return y[{ {skip + 1, skip + count} }]:clone()
end

-- Returns the least size from n on that is quick to transform.
local function quick_size(n)
  local least = math.maxinteger
  for _, odd in ipairs {1, 3, 5, 9, 15} do
    local size = odd
    while size < n do size = size * 2 end
    least = min(least, size)
  end
  return least
end

-- The time of a transform of size n, divided by n log2 n, in products of
-- sums_of_products: measured on CPUs.
local COST <const> = 50

-- Returns these elements of the convolution of two lists of reals or integers.
local function convolved(x, k, first, count)
  local kind = core.promote(x.kind, k.kind)
  local n, m = x.size, k.size
  -- A circular convolution adds the elements behind its last to its first ones;
  -- none of those is among the results.
  local size = quick_size(max(n, first + count - 1, n + m - first))
  if not types[kind].real or
      m * (count + 0.0) < COST * size * math.log(size, 2) then
    return sums_of_products(x, k, first, count)
  end
  local wide = kind == "double" and kind or "float"
  local y = core.circular(x:to(wide), k:to(wide), size)
  y = y[{ {first, first + count - 1} }]
  -- Through transforms, one infinity or NaN would reach every element.
  if y:isfinite():all():item() == 0 then
    return sums_of_products(x, k, first, count)
  end
  return kind == wide and y:clone() or y:to(kind)
end

-- Returns the real and the imaginary parts of an array; nil for those of reals.
local function both_parts(a)
  if types[a.kind] then return a end
  local z = parts(a)
  return z[{{}, 1}], z[{{}, 2}]
end

-- Returns the convolution of lists that may be complex.
local function convolved_complex(x, k, first, count)
  local xr, xi = both_parts(x)
  local kr, ki = both_parts(k)
  local re, im = convolved(xr, kr, first, count), nil
  if not xi and not ki then return re end
  if xi and ki then re = re - convolved(xi, ki, first, count) end
  if xi then im = convolved(xi, kr, first, count) end
  if ki then
    local other = convolved(xr, ki, first, count)
    im = im and im + other or other
  end
  return join(core.contiguous(A.stack({re, im}, 2)))
end

-- Returns a with imaginary parts of the other sign.
local function conjugate(a)
  local re, im = both_parts(a)
  return im and join(core.contiguous(A.stack({re, -im}, 2))) or re
end

-- Returns the first of the elements of a full convolution that a mode has, and
-- their number; n and m are the sizes of the longer and the shorter list.
local modes = {
  full = function(n, m) return 1, n + m - 1 end,
  same = function(n, m) return (m + 1) // 2, n end,
  valid = function(n, m) return m, n - m + 1 end
}

-- Checks the arguments; returns the function of the mode.
local function check_lists(a, b, o, fname, usual)
  for n, v in ipairs {core.check(a, 1, "a", fname),
                      core.check(b, 2, "b", fname)} do
    local name = n == 1 and "a" or "b"
    if not scalars[v.kind] then core.check_numbers(v, n, name, fname) end
    if #v.dims ~= 1 or v.size == 0 then
      fail("%s: argument %d (%s): a list of numbers expected, got shape %s",
        fname, n, name, shape_text(v.dims))
    end
  end
  core.together(fname, {"a", "b"}, a, b)
  local kind, why = core.promote(scalars[a.kind] or a.kind,
    scalars[b.kind] or b.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
  o = core.options(o, {"mode"}, fname, 3)
  local mode = modes[o.mode == nil and usual or o.mode]
  if not mode then
    fail('%s: argument 3 (options): mode: "full", "same" or "valid" expected, '
      .. "got %s", fname, C.describe(o.mode))
  end
  return mode
end

-- a:convolve(b [, options]): the sums of a[i] * b[j] for which i + j is the
-- same, in the order of i + j.
define("convolve", function(a, b, o)
  local mode = check_lists(a, b, o, "convolve", "full")
  if a.size < b.size then a, b = b, a end
  return convolved_complex(a, b, mode(a.size, b.size))
end)

-- a:correlate(b [, options]): the sums of a[i] * b[j] for which i - j is the
-- same, in the order of i - j; b is conjugated.
define("correlate", function(a, b, o)
  local mode = check_lists(a, b, o, "correlate", "valid")
  b = conjugate(b):flip()
  if a.size >= b.size then
    return convolved_complex(a, b, mode(a.size, b.size))
  end
  local first, count = mode(b.size, a.size)
  -- With exchanged lists, the result is reversed.
  first = a.size + b.size - first - count + 1
  return convolved_complex(b, a, first, count)
end)

-- Exports for the other files of arrays.
core.parts, core.join, core.kernel_for = parts, join, kernel_for
