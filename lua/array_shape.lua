-- array_shape.lua - arrays in other shapes, and arrays of many.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, X, define = core.A, core.C, core.X, core.define
local check, check_integer, check_numbers = core.check, core.check_integer,
  core.check_numbers
local check_shape, dimension, dimensions = core.check_shape, core.dimension,
  core.dimensions
local fail = core.fail
local is, narrow, new, options = core.is, core.narrow, core.new, core.options
local same_shape, shape_text, types = X.same_shape, core.shape_text, core.types
local ipairs, max, min, type = ipairs, math.max, math.min, type
local insert, unpack = table.insert, table.unpack

local MOST_ELEMENTS <const> = 1 << 48

local function is_list(v) return type(v) == "table" and not is(v) end

-- Returns the arrays of a list as a script sees them.
local function given(list)
  for i, a in ipairs(list) do list[i] = X.given(a) end
  return list
end

-- Returns an array of reals, or of integers as long, so that sums and
-- differences of them are exact; ulong becomes float.
local function exact(a)
  if types[a.kind].real then return a end
  return a:to(a.kind == "ulong" and "float" or "long")
end

-- Returns true if nested tables contain integers only.
local function is_whole(v)
  if type(v) ~= "table" then return math.type(v) == "integer" end
  for _, one in ipairs(v) do
    if not is_whole(one) then return false end
  end
  return true
end

core.is_whole = is_whole

-- --- views -------------------------------------------------------------------

-- unsqueeze(a, dim): a view with a new dimension of one element.
for _, name in ipairs {"unsqueeze", "expand_dims"} do
  define(name, function(a, d)
    check(a, 1, "a", name)
    d = dimension(#a.dims + 1, d, name, "argument 2 (dim)")
    local shape, strides = {unpack(a.dims)}, {unpack(a.stride)}
    insert(shape, d, 1)
    insert(strides, d, 0)
    return core.view(a, a.from, check_shape(shape, name), strides)
  end)
end

-- swapaxes(a, dim, other): a view with two dimensions exchanged.
define("swapaxes", function(a, d, e)
  check(a, 1, "a", "swapaxes")
  d = dimension(#a.dims, d, "swapaxes", "argument 2 (dim)")
  e = dimension(#a.dims, e, "swapaxes", "argument 3 (other)")
  local order = {}
  for i = 1, #a.dims do order[i] = i end
  order[d], order[e] = e, d
  return a:permute(order)
end)

-- moveaxis(a, from, to): a view with dimensions at other places; the order of
-- the others remains.
define("moveaxis", function(a, from, to)
  check(a, 1, "a", "moveaxis")
  from = dimensions(a, from, "moveaxis", "argument 2 (from)")
  to = dimensions(a, to, "moveaxis", "argument 3 (to)")
  if #from ~= #to then
    fail("moveaxis: argument 3 (to): %d dimensions expected, got %d", #from,
      #to)
  end
  local order, moved, rest = {}, {}, 1
  for i, d in ipairs(to) do order[d], moved[from[i]] = from[i], true end
  for d = 1, #a.dims do
    if not order[d] then
      while moved[rest] do rest = rest + 1 end
      order[d], rest = rest, rest + 1
    end
  end
  return a:permute(order)
end)

define("ravel", function(a)
  check(a, 1, "a", "ravel")
  return a:reshape {a.size}
end)

define("flatten", function(a)
  check(a, 1, "a", "flatten")
  return a:clone():reshape {a.size}
end)

-- Returns the sizes of the parts into which n elements of dimension d are cut.
local function part_sizes(sizes, d, n)
  local list, total = {}, 0
  if not is_list(sizes) then
    local count = check_integer(sizes, "split", "argument 2 (sizes)",
      "a number of parts, or a table of sizes,", 1)
    if n % count ~= 0 then
      fail("split: argument 2 (sizes): dimension %d has %d elements, which " ..
        "are not %d equal parts", d, n, count)
    end
    for i = 1, count do list[i] = n // count end
    return list
  end
  for i = 1, #sizes do
    list[i] = check_integer(sizes[i], "split", "argument 2 (sizes): part " .. i,
      "a size", 0, MOST_ELEMENTS)
    total = total + list[i]
  end
  if total ~= n then
    fail("split: argument 2 (sizes): dimension %d has %d elements, the " ..
      "parts have %d", d, n, total)
  end
  return list
end

-- split(a, sizes or count [, dim]): a list of views, one after the other.
define("split", function(a, sizes, d)
  check(a, 1, "a", "split")
  d = dimension(#a.dims, d == nil and 1 or d, "split", "argument 3 (dim)")
  local list, last = part_sizes(sizes, d, a.dims[d]), 0
  for i, n in ipairs(list) do
    list[i], last = narrow(a, d, last + 1, last + n, 1), last + n
  end
  return given(list)
end)

-- unstack(a [, dim]): a list of views, one for each index of a dimension.
define("unstack", function(a, d)
  check(a, 1, "a", "unstack")
  d = dimension(#a.dims, d == nil and 1 or d, "unstack", "argument 2 (dim)")
  local list = {}
  for i = 1, a.dims[d] do list[i] = narrow(a, d, i, i, 1):squeeze(d) end
  return given(list)
end)

-- rot90(a [, k [, dims]]): a view turned k times from the first of two
-- dimensions towards the second.
define("rot90", function(a, k, dims)
  check(a, 1, "a", "rot90")
  k = k == nil and 1 or check_integer(k, "rot90", "argument 2 (k)",
    "an integer")
  if #a.dims < 2 then
    fail("rot90: argument 1 (a): 2 dimensions or more expected, got shape %s",
      shape_text(a.dims))
  end
  dims = dimensions(a, dims == nil and {1, 2} or dims, "rot90",
    "argument 3 (dims)")
  if #dims ~= 2 then
    fail("rot90: argument 3 (dims): 2 dimensions expected, got %d", #dims)
  end
  local d, e = dims[1], dims[2]
  k = k % 4
  if k == 0 then return a end
  if k == 1 then return a:flip(e):swapaxes(d, e) end
  if k == 2 then return a:flip(d, e) end
  return a:swapaxes(d, e):flip(e)
end)

-- A.broadcast_arrays(list): a list of views of one shape.
function A.broadcast_arrays(list)
  local first, own = core.first_of(list, "broadcast_arrays")
  local shape = first.dims
  for i = 2, #own do
    shape = core.broadcast("broadcast_arrays", shape, own[i].dims)
  end
  for i, a in ipairs(own) do own[i] = a:expand(shape) end
  return given(own)
end

-- A.meshgrid(list [, options]): for each list of coordinates, a view with the
-- coordinate of each point of their grid; with "xy" the second one is first in
-- the shape.
function A.meshgrid(list, o)
  local _, own = core.first_of(list, "meshgrid")
  o = options(o, {"indexing"}, "meshgrid", 2)
  local indexing = o.indexing == nil and "xy" or o.indexing
  if indexing ~= "xy" and indexing ~= "ij" then
    fail('meshgrid: argument 2 (options): indexing: "xy" or "ij" expected, '
      .. "got %s", C.describe(indexing))
  end
  local places, shape = {}, {}
  for i = 1, #own do places[i] = i end
  if indexing == "xy" and #own > 1 then places[1], places[2] = 2, 1 end
  for i, a in ipairs(own) do
    if #a.dims > 1 then
      fail("meshgrid: argument 1 (list): element %d: one dimension expected, "
        .. "got shape %s", i, shape_text(a.dims))
    end
    shape[places[i]] = a.size
  end
  shape = check_shape(shape, "meshgrid")
  for i, a in ipairs(own) do
    local sizes = {}
    for d = 1, #own do sizes[d] = d == places[i] and a.size or 1 end
    own[i] = a:reshape(sizes):expand(shape)
  end
  return given(own)
end

-- --- copies ------------------------------------------------------------------

-- Returns the index of a row for each row of the result, from how often each of
-- the n rows is repeated.
local function repeated(a, counts, n, fname)
  local what = fname .. ": argument 2 (n)"
  if not is(counts) then
    counts = core.from_tables("long", counts, what, a.home)
  end
  check_numbers(counts, 2, "n", fname)
  core.together(fname, {"a", "n"}, a, counts)
  if types[counts.kind].real then
    fail("%s: integers expected, got %s", what, counts.kind)
  elseif not same_shape(counts.dims, {n}) then
    fail("%s: shape {%d} expected, got %s", what, n, shape_text(counts.dims))
  end
  counts = counts:to "long"
  local total = 0
  if n > 0 then
    local least = counts:min():item()
    if least < 0 then fail("%s: sizes expected, got %d", what, least) end
    counts = counts:cumsum()
    total = counts[n]
  end
  check_shape({total}, fname)
  return counts:searchsorted(core.spaced(new("long", {total}, nil, a.home), 1,
    total))
end

-- repeat(a, n [, dim]): each element, or row of a dimension, n times; n is a
-- number or a list of one for each.
for _, name in ipairs {"repeat", "repeat_interleave"} do
  define(name, function(a, n, d)
    check(a, 1, "a", name)
    if d == nil then a, d = a:reshape {a.size}, 1 end
    d = dimension(#a.dims, d, name, "argument 3 (dim)")
    local size = a.dims[d]
    if type(n) == "table" then return a:take(repeated(a, n, size, name), d) end
    n = check_integer(n, name, "argument 2 (n)", "a size", 0,
      MOST_ELEMENTS // max(size, 1))
    if n == 1 then return a:clone() end
    local shape, outer, inner = {unpack(a.dims)}, 1, 1
    for e, s in ipairs(shape) do
      if e <= d then outer = outer * s else inner = inner * s end
    end
    shape[d] = size * n
    shape = check_shape(shape, name)
    return a:reshape {outer, 1, inner}:expand {outer, n, inner}:reshape(shape)
  end)
end

-- Returns a number as an element of a: 1 or 0 for a mask.
local function element_of(a, v, what)
  v = core.fitting(what, a.kind, v)
  if a.mask then return v ~= 0 and 1 or 0 end
  return v
end

-- Returns the numbers of elements before and after each dimension.
local function check_widths(widths, rank)
  local what = "argument 2 (widths)"
  local function width(v, where)
    return check_integer(v, "pad", where, "a size", 0, MOST_ELEMENTS)
  end
  local before, after = {}, {}
  if not is_list(widths) then
    widths = width(widths, what)
    widths = {widths, widths}
  end
  local list = type(widths[1]) == "table" and widths or {widths}
  if #list ~= 1 and #list ~= rank then
    fail("pad: %s: {before, after} for each of %d dimensions expected, got %d",
      what, rank, #list)
  end
  for d = 1, rank do
    local where = #list == 1 and what or what .. ": dimension " .. d
    local both = list[#list == 1 and 1 or d]
    if type(both) ~= "table" or #both ~= 2 then
      fail("pad: %s: {before, after} expected, got %s", where,
        type(both) == "table" and #both .. " numbers" or C.describe(both))
    end
    before[d], after[d] = width(both[1], where), width(both[2], where)
  end
  return before, after
end

-- Fills the first elements of dimension d from the n elements that follow; each
-- copy reads all that earlier ones wrote.
local function fill_before(x, d, count, n, mode)
  if mode == "reflect" and n == 1 then mode = "edge" end
  local full = n
  while count > 0 do
    local from, m, first, last, step = count, count, count + 1, count + 1, 1
    if mode == "wrap" then
      local whole = full // n * n
      m = min(count, whole)
      first, last = from - m + 1 + whole, from + whole
    elseif mode == "reflect" then
      m = min(count, (full - 1) // (n - 1) * (n - 1))
      first, last, step = from + 1 + m, from + 2, -1
    end
    X.compute("copy", narrow(x, d, from - m + 1, from, 1),
      narrow(x, d, first, last, step))
    count, full = count - m, full + m
  end
end

local modes <const> = {constant = true, edge = true, reflect = true,
  wrap = true}

-- pad(a, widths [, options]): a copy with more elements at the ends of its
-- dimensions.
define("pad", function(a, widths, o)
  check(a, 1, "a", "pad")
  local rank = #a.dims
  local before, after = check_widths(widths, rank)
  o = options(o, {"mode", "value"}, "pad", 3)
  local mode = o.mode == nil and "constant" or o.mode
  if not modes[mode] then
    fail('pad: argument 3 (options): mode: "constant", "edge", "reflect" or '
      .. '"wrap" expected, got %s', C.describe(mode))
  end
  local value = o.value == nil and 0 or o.value
  if o.value ~= nil and mode ~= "constant" then
    fail('pad: argument 3 (options): value: only mode "constant" has one')
  elseif type(value) ~= "number" then
    fail("pad: argument 3 (options): value: a number expected, got %s",
      C.describe(value))
  end
  value = element_of(a, value, "pad: argument 3 (options): value")
  local shape = {}
  for d, s in ipairs(a.dims) do
    shape[d] = before[d] + s + after[d]
    if s == 0 and shape[d] > 0 and mode ~= "constant" then
      fail("pad: argument 1 (a): dimension %d has no elements to repeat", d)
    end
  end
  local into = new(a.kind, check_shape(shape, "pad"), a.mask, a.home)
  if mode == "constant" then core.filled(into, value) end
  -- Returns the part of `into` that has the elements of a, in dimensions from d
  -- on.
  local function middle(d)
    local x = into
    for e = d, rank do
      x = narrow(x, e, before[e] + 1, before[e] + a.dims[e], 1)
    end
    return x
  end
  X.compute("copy", middle(1), a)
  if mode == "constant" then return into end
  for d = 1, rank do
    local x = middle(d + 1)
    fill_before(x, d, before[d], a.dims[d], mode)
    fill_before(x:flip(d), d, after[d], a.dims[d], mode)
  end
  return into
end)

-- Returns an uninitialised array like a; options are argument n.
local function like(a, o, fname, n)
  check(a, 1, "a", fname)
  local kind, device = core.option_type(o, fname, n)
  local mask = not kind and a.mask
  kind = kind or a.kind
  if device then return core.new_on(device, kind, a.dims, mask) end
  return new(kind, a.dims, mask, a.home)
end

for name, value in next, {zeros_like = 0, ones_like = 1} do
  define(name, function(a, o)
    local into = like(a, o, name, 2)
    return core.filled(into, element_of(into, value, name))
  end)
end

define("full_like", function(a, value, o)
  local into = like(a, o, "full_like", 3)
  if type(value) ~= "number" and types[into.kind] then
    fail("full_like: argument 2 (value): a number expected, got %s",
      C.describe(value))
  end
  return core.filled(into,
    element_of(into, value, "full_like: argument 2 (value)"))
end)

-- rand_like(a [, options]): numbers as A.rand draws them; float for integers.
define("rand_like", function(a, o)
  check_numbers(a, 1, "a", "rand_like")
  local kind, device = core.option_type(o, "rand_like", 2,
    types[a.kind].real and a.kind or "float", core.type_of)
  if not types[kind].real then
    fail("rand_like: argument 2 (options): type: half, bfloat16, float or "
      .. "double expected, got %s", kind)
  end
  return A.rand(a.dims, {type = kind, device = device or a.home.device})
end)

-- --- differences -------------------------------------------------------------

-- Returns views of a dimension without its first n and without its last n
-- elements.
local function shifted(a, d, n)
  local size = a.dims[d]
  return narrow(a, d, n + 1, size, 1), narrow(a, d, 1, size - n, 1)
end

-- diff(a [, options]): differences of neighbours, n times; of masks, the mask
-- of neighbours that differ.
define("diff", function(a, o)
  check_numbers(a, 1, "a", "diff")
  o = options(o, {"n", "dim"}, "diff", 2)
  local n = o.n == nil and 1 or check_integer(o.n, "diff",
    "argument 2 (options): n", "a size", 0)
  local d = dimension(#a.dims, o.dim == nil and -1 or o.dim, "diff",
    "argument 2 (options): dim")
  for _ = 1, min(n, a.dims[d]) do
    local high, low = shifted(a, d, 1)
    a = a.mask and high:ne(low) or high - low
  end
  return a
end)

-- Returns the arguments x and options of a call in which either can be absent.
local function points_and_options(x, o, fname)
  if o == nil and is_list(x) and #x == 0 then x, o = nil, x end
  return x, options(o, {"dim"}, fname, 3)
end

-- Returns x, the distance of points or their places along dimension d of a:
-- places have the rank of a.
local function points(a, x, d, fname)
  if x == nil then return 1 end
  if type(x) == "number" then return x end
  if is_list(x) then
    x = core.from_tables(is_whole(x) and "long" or a.kind == "double" and
      "double" or "float", x, fname .. ": argument 2 (x)", a.home)
  end
  check_numbers(x, 2, "x", fname)
  core.together(fname, {"a", "x"}, a, x)
  x = exact(x)
  if same_shape(x.dims, a.dims) then return x end
  if not same_shape(x.dims, {a.dims[d]}) then
    fail("%s: argument 2 (x): shape {%d} expected, got %s", fname, a.dims[d],
      shape_text(x.dims))
  end
  local shape = {}
  for e = 1, #a.dims do shape[e] = e == d and x.size or 1 end
  return x:reshape(shape)
end

-- Returns the slopes of a along dimension d: at each point the slope of the
-- parabola through it and its neighbours, at the ends the slope of the line.
local function slopes(a, x, d)
  local n = a.dims[d]
  if n < 2 then
    fail("gradient: argument 1 (a): 2 elements or more in dimension %d " ..
      "expected, got %d", d, n)
  end
  x = points(a, x, d, "gradient")
  local high, low = shifted(a, d, 1)
  local lines, inside = high - low
  if is(x) then
    local right, left = shifted(x, d, 1)
    local width = right - left
    lines = lines / width
    high, low = shifted(lines, d, 1)
    right, left = shifted(width, d, 1)
    inside = (high * left + low * right) / (left + right)
  else
    lines = lines / x
    high, low = shifted(a, d, 2)
    inside = (high - low) / (2.0 * x)
  end
  return A.cat({narrow(lines, d, 1, 1, 1), inside,
    narrow(lines, d, n - 1, n - 1, 1)}, d)
end

-- gradient(a [, x] [, options]) -> an array for each dimension.
define("gradient", function(a, x, o)
  check_numbers(a, 1, "a", "gradient")
  x, o = points_and_options(x, o, "gradient")
  local dims = {}
  for d = 1, #a.dims do dims[d] = d end
  dims = dimensions(a, o.dim == nil and dims or o.dim, "gradient",
    "argument 3 (options): dim")
  if #dims == 0 then
    fail("gradient: argument 1 (a): 1 dimension or more expected, got none")
  elseif #dims > 1 and x ~= nil and type(x) ~= "number" then
    fail("gradient: argument 2 (x): a number expected for %d dimensions, got "
      .. "%s", #dims, C.describe(x))
  end
  local list = {}
  a = exact(a)
  for i, d in ipairs(dims) do list[i] = slopes(a, x, d) end
  return unpack(list)
end)

-- trapz(a [, x] [, options]): integral by the trapezoidal rule.
define("trapz", function(a, x, o)
  check_numbers(a, 1, "a", "trapz")
  x, o = points_and_options(x, o, "trapz")
  local d = dimension(#a.dims, o.dim == nil and -1 or o.dim, "trapz",
    "argument 3 (options): dim")
  a = exact(a)
  x = points(a, x, d, "trapz")
  local high, low = shifted(a, d, 1)
  if is(x) then
    local right, left = shifted(x, d, 1)
    return ((high / 2 + low / 2) * (right - left)):sum {dim = d}
  end
  return (high / 2 + low / 2):sum {dim = d} * x
end)

-- --- comparisons -------------------------------------------------------------

-- array_equal(a, b) -> true if shapes and elements are equal.
define("array_equal", function(a, b)
  check(a, 1, "a", "array_equal")
  check(b, 2, "b", "array_equal")
  if not same_shape(a.dims, b.dims) then return false end
  if not core.promote(a.kind, b.kind) then -- ulong and a signed type
    a, b = a:to "long", b:to "long"
    return (a:eq(b) & a:ge(0)):all():item() ~= 0
  end
  return a:eq(b):all():item() ~= 0
end)

-- Returns operand i of allclose as an array of long, float or double; a number
-- is placed beside the other operand.
local function comparable(v, other, i, name)
  if type(v) == "number" then
    local kind = math.type(v) == "integer" and "long" or
      core.reals[other.kind] == "double" and "double" or "float"
    v = core.filled(new(kind, {}, nil, other.home), core.fitting(
      "allclose: argument " .. i .. " (" .. name .. ")", kind, v))
  end
  check(v, i, name, "allclose")
  local t = types[v.kind]
  if not t then return v end
  return t.real and t.bits == 16 and v:to "float" or exact(v)
end

-- allclose(a, b [, options]) -> true if |a - b| <= atol + rtol |b| everywhere.
define("allclose", function(a, b, o)
  if type(b) ~= "number" then check(b, 2, "b", "allclose") end
  if not is(b) or type(a) ~= "number" then check(a, 1, "a", "allclose") end
  o = options(o, {"rtol", "atol", "equal_nan"}, "allclose", 3)
  local limits = {rtol = 1e-5, atol = 1e-8}
  for name in next, limits do
    local v = o[name]
    if v ~= nil and not (type(v) == "number" and v >= 0) then
      fail("allclose: argument 3 (options): %s: a number from 0 on expected, "
        .. "got %s", name, type(v) == "number" and v or C.describe(v))
    end
    limits[name] = (v or limits[name]) + 0.0
  end
  if o.equal_nan ~= nil and type(o.equal_nan) ~= "boolean" then
    fail("allclose: argument 3 (options): equal_nan: a boolean expected, got "
      .. "%s", C.describe(o.equal_nan))
  end
  local x, y = comparable(a, b, 1, "a"), comparable(b, a, 2, "b")
  core.together("allclose", {"a", "b"}, x, y)
  core.broadcast("allclose", x.dims, y.dims)
  -- The difference of integers could wrap.
  local function real(v)
    if core.has_fractions(v.kind) then return v end
    return v:to(v.device.fp64 and "double" or "float")
  end
  local u, v = real(x), real(y)
  local close = (u - v):abs():le(v:abs() * limits.rtol + limits.atol) &
    u:isfinite() & v:isfinite() | x:eq(y)
  if o.equal_nan then close = close | x:isnan() & y:isnan() end
  return close:all():item() ~= 0
end)

-- --- types -------------------------------------------------------------------

-- Returns the type that argument n is, or that its elements have.
local function type_given(v, fname, n, name)
  if is(v) then return check(v, n, name, fname).kind end
  return core.any_type_of(v, fname, "argument " .. n .. " (" .. name .. ")")
end

-- Bits of the fraction, and the greatest exponent.
local reals <const> = {half = {10, 15}, bfloat16 = {7, 127}, float = {23, 127},
  double = {52, 1023}}

-- A.finfo(type) -> what numbers of a real type, or parts of complex ones, there
-- are.
function A.finfo(kind)
  kind = type_given(kind, "finfo", 1, "type")
  kind = core.scalars[kind] or kind
  local t = reals[kind]
  if not t then
    fail("finfo: argument 1 (type): half, bfloat16, float or double expected, "
      .. "got %s", kind)
  end
  local eps, least = 2.0 ^ -t[1], 2.0 ^ (1 - t[2])
  local most = (2 - eps) * 2.0 ^ t[2]
  return {type = kind, bits = types[kind].bits, eps = eps, max = most,
    min = -most, smallest_normal = least, smallest_subnormal = least * eps}
end

-- A.iinfo(type) -> what numbers of a type of integers there are.
function A.iinfo(kind)
  kind = type_given(kind, "iinfo", 1, "type")
  local t = types[kind]
  if core.has_fractions(kind) then
    fail("iinfo: argument 1 (type): a type of integers expected, got %s", kind)
  end
  local range = t.signed and 1 << t.bits - 1 or
    t.bits < 64 and 1 << t.bits or 0
  return {type = kind, bits = t.bits, max = range - 1,
    min = t.signed and -range or 0}
end

-- A.result_type(...) -> the type of results of arrays, types and numbers.
function A.result_type(...)
  local kind, real
  local count = select("#", ...)
  if count == 0 then
    fail("result_type: argument 1: array, type or number expected, got nothing")
  end
  for i = 1, count do
    local v = select(i, ...)
    if type(v) == "number" then
      real = real or math.type(v) == "float"
    else
      local t, why = type_given(v, "result_type", i, "type"), nil
      if kind then t, why = core.promote(kind, t) end
      if not t then fail("result_type: argument %d: %s", i, why) end
      kind = t
    end
  end
  if real and not (kind and core.has_fractions(kind)) then return "float" end
  return kind or "long"
end

-- A.can_cast(from, to) -> true if results of both types are of type `to`.
function A.can_cast(from, to)
  from = type_given(from, "can_cast", 1, "from")
  to = core.any_type_of(to, "can_cast", "argument 2 (to)")
  return core.promote(from, to) == to
end
