-- array_reduce.lua - reductions and scans of arrays.
-- SPDX-License-Identifier: MIT
--
-- An array has outer * n * inner elements, row-major, and is reduced over n.  A
-- work-item reduces a chunk of a row (if inner is 1), or of adjacent columns;
-- the results of the chunks are reduced in the same way until one is left.  The
-- order of merging depends on the sizes only, so the bits are the same in
-- groups of any size and in each run.

local core = ...
local A, C, X, new, ready, define = core.A, core.C, core.X, core.new,
  core.ready, core.define
local fail, options, types = core.fail, core.options, core.types
local beside, reductions, shape_text = core.beside, core.reductions,
  core.shape_text
local ipairs, next, select, type = ipairs, next, select, type
local concat, unpack = table.concat, table.unpack
local format, mathtype = string.format, math.type

local LANES <const> = 16   -- independent results of a work-item
local BLOCK <const> = 512  -- elements that become LANES results
local CHUNK <const> = 4096 -- elements of a row
local ROWS <const> = 64    -- elements of a column
local STEPS <const> = 8    -- elements of a scan
local RUN <const> = 4      -- steps in a dependency chain
local AHEAD <const> = 64   -- elements of an expression that are computed before
                           -- they are merged: compilers vectorise that

local check = core.check_numbers

-- --- kernels -----------------------------------------------------------------

-- An operation has a map of an element X (P is the place of its row or column),
-- a merge of two results A and B, the result of no elements, and a finish of
-- the last result V.  f is a script's function; its result is multiplied by 1
-- so that anything but a number is refused.
local prelude = [[
local math, given, element, private_array = ...
local function f(a, b) return given(a, b) * 1 end
local function square(x) return x * x end
local function real(x)
  return x >= 0 and x + 0.0 or (x >> 1 | x & 1) * 2.0
end
local function quotient(x, y) -- x has no sign, y is at least 1
  local q = (x >> 1) // y << 1
  if not math.ult(x - q * y, y) then q = q + 1 end
  return q
end
local function difference(x, y)
  return math.ult(x, y) and -real(y - x) or real(x - y)
end
-- Compilers vectorise these forms, which differ for LLVM's sake.
local function min(a, b)
  local v = a <= b and a or b
  v = a ~= a and a or v
  return b ~= b and b or v
end
local function max(a, b)
  local v = a < b and b or a
  return b ~= b and b or v
end
]]

local function fill_in(text, names)
  return (text:gsub("%f[%w]%u%f[%W]", names))
end

local function merge(op, a, b)
  return fill_in(op.merge, {A = a, B = b})
end

function core.writer()
  local lines = {}
  return lines, function(...) lines[#lines + 1] = format(...) end
end
local writer = core.writer

local function each_lane(add, text, lanes)
  for l = 1, lanes do add("%s", (text:gsub("@", l))) end
end

-- Returns the text of the element of x at a place; x is a buffer, the name of
-- an array, or an expression from X.operand that is computed as it is read.
local function read(x, place)
  if type(x) == "string" then return format("%s[%s]", x, place) end
  if type(x) ~= "table" then return format("x[%s]", place) end
  return format("element(%s, %s)", place, x.entry.parameters)
end

local function parameters_of(x)
  return type(x) == "table" and x.entry.parameters or "x"
end

-- Merges the elements after the places `place` into a1 .. aN.
local function step(add, op, x, place, list, lanes)
  local element = fill_in(op.map, {X = "x@", P = list})
  each_lane(add, "local x@ = " .. read(x, place .. " + @"), lanes)
  each_lane(add, "a@ = " .. merge(op, "a@", element), lanes)
end

local function declare_ahead(add, x, n)
  if type(x) == "table" then
    add("local ahead = private_array('%s', %d)", x.entry.type, n)
  end
end

-- Work-item i reduces a chunk of a row.
local function row_text(op, x)
  local lines, add = writer()
  add("local row = (i - 1) // chunks")
  add("local j = row * n + (i - 1 - row * chunks) * %d", CHUNK)
  add("local last = math.min(j + %d, row * n + n)", CHUNK)
  add("local v = %s", op.none)
  declare_ahead(add, x, AHEAD)
  add("while j < last do")
  add("local stop = math.min(j + %d, last)", BLOCK)
  each_lane(add, "local a@ = " .. op.none, LANES)
  if type(x) == "table" then
    add("while j + %d <= stop do", AHEAD)
    add("for l = 1, %d do ahead[l] = %s end", AHEAD, read(x, "j + l"))
    add("for l = 0, %d, %d do", AHEAD - LANES, LANES)
    step(add, op, "ahead", "l", "(row + 1)", LANES)
    add("end")
    add("j = j + %d", AHEAD)
    add("end")
  end
  add("while j + %d <= stop do", LANES)
  step(add, op, x, "j", "(row + 1)", LANES)
  add("j = j + %d", LANES)
  add("end")
  add("while j < stop do")
  step(add, op, x, "j", "(row + 1)", 1)
  add("j = j + 1")
  add("end")
  local width = LANES // 2
  while width > 0 do
    for l = 1, width do
      add("a%d = %s", l, merge(op, "a" .. l, "a" .. l + width))
    end
    width = width // 2
  end
  add("v = %s", merge(op, "v", "a1"))
  add("end")
  add("out[i] = %s", fill_in(op.finish, {V = "v"}))
  return concat(lines, "\n")
end

-- Work-item i has LANES columns of a chunk of rows; `columns` writes the text
-- for a number of columns.
local function each_column(add, columns)
  add("local blocks = (inner + %d) // %d", LANES - 1, LANES)
  add("local q = (i - 1) // blocks")
  add("local at = (i - 1 - q * blocks) * %d", LANES)
  add("local o = q // chunks")
  add("local first = (q - o * chunks) * %d", ROWS)
  add("local rows = math.min(%d, n - first)", ROWS)
  add("local j = (o * n + first) * inner + at")
  add("local to, column = q * inner + at, o * inner + at")
  add("if at + %d <= inner then", LANES)
  columns(LANES)
  add("else")
  add("for _ = 1, inner - at do")
  columns(1)
  add("j, to, column = j + 1, to + 1, column + 1")
  add("end")
  add("end")
end

local function column_text(op, x)
  local lines, add = writer()
  local function columns(lanes)
    each_lane(add, "local a@ = " .. op.none, lanes)
    add("local k = j")
    add("for _ = 1, rows do")
    if lanes > 1 and type(x) == "table" then
      add("for l = 1, %d do ahead[l] = %s end", lanes, read(x, "k + l"))
      step(add, op, "ahead", "0", "(column + @)", lanes)
    else
      step(add, op, x, "k", "(column + @)", lanes)
    end
    add("k = k + inner")
    add("end")
    each_lane(add, "out[to + @] = " .. fill_in(op.finish, {V = "a@"}), lanes)
  end
  declare_ahead(add, x, LANES)
  each_column(add, columns)
  return concat(lines, "\n")
end

-- Kernels by what they compute and the types of their buffers; kernels of
-- script functions are found by the function first.
local kernels = {}
local own = setmetatable({}, {__mode = "k"})

-- Returns the kernel of a key; make_text(op, x) writes its body if it is new.
local function kernel_of(name, key, parameters, make_text, op, x)
  local list, entry = kernels, type(x) == "table" and x.entry
  if entry then
    list = entry.kernels
  elseif op.f then
    list = own[op.f] or {}
    own[op.f] = list
  end
  local k = list[key]
  if not k then
    local text = format("%sreturn function(i, %s)\n%s\nend", prelude,
      parameters, make_text(op, x))
    local make = op.f and core.script_kernel or C.kernel
    k = make(C.text(text, name)(math, op.f, entry and entry.element,
      C.work.private_array),
      {name = "array_" .. (entry and entry.name .. "_" or "") .. name,
        real = entry and entry.real or nil})
    list[key] = k
  end
  return k
end

-- Launches a kernel that writes `out`, reads x and has other arguments.
local function launch(k, items, x, out, ...)
  if type(x) ~= "table" then
    k(items, out, x, ...)
    return
  end
  local list, n = X.arguments(x, out, ...)
  k(items, unpack(list, 1, n))
end

-- --- reductions --------------------------------------------------------------

-- Returns a copy of an operation with some changes.
local function like(op, changes)
  for key, v in next, op do
    if changes[key] == nil then changes[key] = v end
  end
  return changes
end

-- Returns the number of chunks of n elements.
local function chunks_of(n, inner)
  local size = inner == 1 and CHUNK or ROWS
  return (n + size - 1) // size
end

-- Returns the work-items for one chunk of a row or of all columns.
local function items_of(inner)
  return inner == 1 and 1 or (inner + LANES - 1) // LANES
end

-- Reduces the chunks of x, outer * n * inner elements, into out.  `centres` has
-- a value for each row or column; `count` is for op's finish.
local function reduce_chunks(op, x, outer, n, inner, out, count, centres)
  local chunks = chunks_of(n, inner)
  local key = concat({inner == 1 and "r" or "c", op.map, op.merge, op.none,
    op.finish, x.type or "", out.type, centres and centres.type or ""}, " ")
  local k = kernel_of(op.name, key, format(
    "out, %s, n, inner, chunks, count%s", parameters_of(x),
    centres and ", c" or ""), inner == 1 and row_text or column_text, op, x)
  local items = outer * chunks * items_of(inner)
  if centres then
    launch(k, items, x, out, n, inner, chunks, count, centres)
  else
    launch(k, items, x, out, n, inner, chunks, count)
  end
end

-- Reduces x into a buffer; intermediate results have the type `kind`.
local function fold(op, x, outer, n, inner, into, kind, centres)
  local count = n
  local finishes = op.finish ~= "V" or into.type ~= kind
  local middle = like(op, {finish = "V"})
  local rest = like(op, {map = "X"})
  if chunks_of(n, inner) > 1 or finishes then
    repeat
      local chunks = chunks_of(n, inner)
      local out = beside(into, kind, outer * chunks * inner)
      reduce_chunks(middle, x, outer, n, inner, out, count, centres)
      x, n, centres = out, chunks, nil
      middle = like(rest, {finish = "V"})
    until chunks == 1 or chunks_of(chunks, inner) == 1
    op = rest
  end
  reduce_chunks(op, x, outer, n, inner, into, count, centres)
end

-- Checks the options of a reduction, argument `place`, against known names.
local function check_options(o, name, place, known)
  o = options(o, known or {"dim", "keep"}, name, place)
  if o.keep ~= nil and type(o.keep) ~= "boolean" then
    fail("%s: argument %d (options): keep: boolean expected, got %s", name,
      place, C.describe(o.keep))
  end
  return o
end

-- Returns the extent of a reduction: the sizes before, of and after the
-- dimension, and the shape of the result.  Its options are argument `place`, by
-- default 2; `known` are their names.  Without `place`, a number is a
-- dimension.
local function extent(a, o, name, place, where, known)
  if type(o) == "number" and not place then
    o, where = {dim = o}, "argument 2 (dim)"
  end
  o = check_options(o, name, place or 2, known)
  if o.dim == nil then
    local shape = {}
    if o.keep then for d = 1, #a.dims do shape[d] = 1 end end
    return 1, a.size, 1, shape
  end
  local dim = core.dimension(#a.dims, o.dim, name,
    where or "argument 2 (options): dim")
  local outer, inner, shape = 1, 1, {}
  for d, s in ipairs(a.dims) do
    if d < dim then outer = outer * s elseif d > dim then inner = inner * s end
    if d ~= dim then shape[#shape + 1] = s
    elseif o.keep then shape[#shape + 1] = 1 end
  end
  return outer, a.dims[dim], inner, shape
end

-- Returns the dimensions that a number or a list names, as a list and as a set.
local function dimensions(a, v, name, where)
  if type(v) ~= "table" or core.is(v) then
    v = {core.dimension(#a.dims, v, name, where)}
  end
  local list, chosen, count = {}, {}, 0
  for key in next, v do
    count = count + 1
    if mathtype(key) ~= "integer" then
      fail("%s: %s: a list of dimensions expected, got a field %s", name, where,
        C.describe(key))
    end
  end
  for i = 1, count do
    local d = core.dimension(#a.dims, v[i], name, where)
    if chosen[d] then
      fail("%s: %s: dimension %d is named twice", name, where, d)
    end
    list[i], chosen[d] = d, true
  end
  return list, chosen
end

-- Returns the extent of a reduction over one dimension or a list of them, and
-- the array to reduce: a permuted view if other dimensions lie between them.
local function extent_of_several(a, o, name, known)
  if type(o) ~= "table" or core.is(o) or type(o.dim) ~= "table" or
    core.is(o.dim)
  then
    local outer, n, inner, shape = extent(a, o, name, nil, nil, known)
    return outer, n, inner, shape, a
  end
  local _, chosen = dimensions(a, o.dim, name, "argument 2 (options): dim")
  check_options(o, name, 2, known)
  local outer, n, inner, shape = 1, 1, 1, {}
  local order, last, runs = {}, {}, 0
  for d, s in ipairs(a.dims) do
    if chosen[d] then
      n, last[#last + 1] = n * s, d
      if not chosen[d - 1] then runs = runs + 1 end
      if o.keep then shape[#shape + 1] = 1 end
    else
      if runs == 0 then outer = outer * s else inner = inner * s end
      order[#order + 1], shape[#shape + 1] = d, s
    end
  end
  if runs > 1 then
    a = a:permute(unpack(table.move(last, 1, #last, #order + 1, order)))
    outer, inner = outer * inner, 1
  end
  return outer, n, inner, shape, a
end

core.check_options, core.dimensions = check_options, dimensions

-- Returns the checked options of a reduction as a table; errors name `name`.
-- If it must choose an element, there must be some.
function core.reduction_options(a, o, name, chooses)
  local _, n, _, shape = extent_of_several(a, o, name)
  local size = 1
  for _, s in ipairs(shape) do size = size * s end
  if chooses and n == 0 and size > 0 then
    fail("%s: argument 1 (a): shape %s has no elements to choose from", name,
      shape_text(a.dims))
  end
  return type(o) == "number" and {dim = o} or o or {}
end

-- Returns the result of no elements, if it is defined.
local function nothing(into, value, name, a)
  if value == nil and into.size > 0 then
    fail("%s: argument 1 (a): shape %s has no elements to choose from", name,
      shape_text(a.dims))
  end
  if into.size > 0 then into.flat:fill(value) end
  return into
end

-- Returns the type in which elements of a type are merged.
local function wide(kind)
  if not types[kind].real then return "long" end
  return types[kind].bits == 16 and "float" or kind
end

local function real(kind) return types[kind].real and kind or "float" end

-- Returns the text of X as a real; kernels read only ulong differently.
local function real_of(kind) return kind == "ulong" and "real(X)" or "X" end

-- Types of intermediate results, by the name of the reduction and the array.
local middle_types = {}

function core.first_type(a, name)
  local middle = middle_types[name]
  if not middle then
    local known = {}
    for word in next, middle_types do known[#known + 1] = word end
    table.sort(known)
    fail("explain: argument 2 (reduction): one of %s expected, got %s",
      concat(known, ", "), C.describe(name))
  end
  return middle(a.kind, a)
end

-- Calls f with an array's elements: a buffer, or an expression that is computed
-- as it is read; X.operand describes `how`.
local function with_elements(a, name, how, f)
  local x = X.operand(a, name, core.first_type(a, name), how)
  if x then
    f(x)
    if X.leave(x) then return end
    -- A finalizer may have written what x reads.
  end
  f(ready(a))
end

-- Returns a view whose elements are contiguous, and the list of its dimensions
-- in an array, if they are those of the array in another order; else nil.
local function in_memory_order(a)
  if a.op or a.flat then return nil end
  local order, strides = {}, a.stride
  for d = 1, #a.dims do order[d] = d end
  table.sort(order, function(d, e)
    return strides[d] > strides[e] or strides[d] == strides[e] and d < e
  end)
  local b = a:permute(order)
  if b.flat then return b, order end
  return nil
end

-- Returns the dimensions of a view that are among `chosen` ones of its array,
-- and the dimensions of the view's reduction in the order of the array.
local function in_view(order, chosen)
  local dims, left, back = {}, {}, {}
  for place, d in ipairs(order) do
    if chosen[d] then
      dims[#dims + 1] = place
    else
      left[#left + 1] = d
    end
  end
  for k = 1, #left do back[k] = k end
  table.sort(back, function(k, l) return left[k] < left[l] end)
  return dims, back
end

-- Reduces an array according to its options.  `result` is the type of the
-- result, `by` the function that reduces its elements into a buffer.  A
-- permuted view is reduced in the order of the elements in memory.
local function reduce_by(by, op, a, o, result, mask, how)
  core.needs_double(op.name, a.kind, a)
  local outer, n, inner, shape, rows = extent_of_several(a, o, op.name,
    op.options)
  local view, order = in_memory_order(a)
  if view then
    local d = type(o) == "table" and o.dim or mathtype(o) and o or nil
    local chosen = select(2, dimensions(a, d or order, op.name))
    local dims, back = in_view(order, chosen)
    local got = reduce_by(by, op, view, {dim = dims}, result, mask, how)
    return core.contiguous(got:permute(back)):reshape(shape)
  end
  a = rows
  local into = new(result, shape, mask, a.home)
  if n == 0 or into.size == 0 then
    return nothing(into, op.empty, op.name, a)
  end
  with_elements(a, op.name, how, function(x)
    by(op, x, outer, n, inner, into.flat, core.first_type(a, op.name))
  end)
  return into
end

local function reduce(...) return reduce_by(fold, ...) end

local sum = {name = "sum", map = "X", merge = "A + B", none = "0", finish = "V",
  empty = 0}
local prod = like(sum, {name = "prod", merge = "A * B", none = "1", empty = 1})

for _, plain in ipairs {sum, prod} do
  local op = like(plain, {options = {"dim", "keep", "type"}})
  middle_types[op.name] = wide
  define(op.name, function(a, o)
    check(a, 1, "a", op.name)
    local kind = types[a.kind].real and a.kind or wide(a.kind)
    if type(o) == "table" and not core.is(o) and o.type ~= nil then
      kind = core.type_of(o.type, op.name, "argument 2 (options): type")
      core.needs_double(op.name, kind, a)
      a = a:to(kind)
    end
    return reduce(op, a, o, kind)
  end)
end

local counts = like(sum, {name = "count", map = "(X ~= 0 and 1 or 0)"})
local function long() return "long" end
middle_types.count = long
define("count", function(a, o)
  return reduce(counts, check(a, 1, "a", "count"), o, "long")
end)

for name, op in next, {
  all = like(counts, {name = "all", finish = "V == count and 1 or 0",
    empty = 1}),
  any = like(counts, {name = "any", finish = "V > 0 and 1 or 0"})
} do
  middle_types[name] = long
  define(name, function(a, o)
    return reduce(op, check(a, 1, "a", name), o, "uchar", true)
  end)
end

-- --- means -------------------------------------------------------------------

local nan = 0.0 / 0.0

-- Returns true if the sum of n integers may overflow 64 bits; the sums of their
-- upper and of their lower halves do not.
local function needs_halves(kind, n)
  return not types[kind].real and n > 1 << 63 - types[kind].bits
end

-- Returns the bits to flip to make elements unsigned: F in texts.
local function flip_of(kind)
  return types[kind].signed and "(1 << 63)" or "0"
end

-- The mean of list i is whole + rest / count; rest is at most count / 2.
local function halves_text(op)
  return fill_in([[
local h, l = high[i] + (low[i] >> 32), low[i] & 0xffffffff
local q = quotient(h, count)
l = (h - q * count << 32) + l + count // 2
local r = quotient(l, count)
local whole = (q << 32) + r ~ F
local rest = l - r * count - count // 2
]], {F = flip_of(op.kind)}) .. op.result
end

-- Writes op's result for the means of integers into a buffer, by halves.
local function fold_halves(op, x, outer, n, inner, into)
  local flip = flip_of(op.kind)
  local function half(map)
    local sums = beside(into, "long", outer * inner)
    fold(like(sum, {name = op.name, map = fill_in(map, {F = flip})}), x, outer,
      n, inner, sums, "long")
    return sums
  end
  if n >= 1 << 32 then
    fail("%s: %d elements of %s are too many to be exact; at most %d", op.name,
      n, op.kind, (1 << 32) - 1)
  end
  local high, low = half "((X ~ F) >> 32)", half "(X & 0xffffffff)"
  kernel_of(op.name, concat({"h", op.result, flip}, " "),
    "out, high, low, count", halves_text, op)(outer * inner, into, high, low, n)
end

local function fold_mean(op, x, outer, n, inner, into, kind)
  local by = needs_halves(op.kind, n) and fold_halves or fold
  by(op, x, outer, n, inner, into, kind)
end

middle_types.mean = wide
define("mean", function(a, o)
  check(a, 1, "a", "mean")
  return reduce_by(fold_mean, like(sum, {name = "mean", kind = a.kind,
    finish = "V / count", empty = nan, result = fill_in(
      "out[i] = R + rest / count", {R = fill_in(real_of(a.kind),
      {X = "whole"})})}), a, o, real(a.kind))
end)

-- Computes the mean squared distance of elements from their mean.
local function fold_squares(op, x, outer, n, inner, into, kind)
  local halves = needs_halves(op.kind, n)
  local centre = like(sum, {name = op.name, kind = op.kind})
  if types[op.kind].real then
    op.map, centre.finish = "square(X - c[P])", "V / count"
  elseif halves then
    centre.result = "out[2 * i - 1], out[2 * i] = whole, rest"
    -- The sum of these squares may overflow a float.
    op.map = fill_in("square((difference(X ~ F, c[2 * P - 1] ~ F) - " ..
      "c[2 * P] / count) * 0x1p-32)", {F = flip_of(op.kind)})
    op.finish = op.finish .. (op.name == "var" and " * 0x1p64" or " * 0x1p32")
  else -- the centre is a sum
    op.map = "square(X - c[P] // count - c[P] % count / count)"
  end
  local wide_kind = wide(op.kind)
  local centres = beside(into, wide_kind, outer * inner * (halves and 2 or 1))
  local by = halves and fold_halves or fold
  by(centre, x, outer, n, inner, centres, wide_kind)
  fold(op, x, outer, n, inner, into, kind, centres)
end

-- Returns the text of the divisor of a variance.
local function divisor_of(o, name)
  local c
  if type(o) == "table" and not core.is(o) then c = o.correction end
  if c == nil or c == 0 then return "count" end
  if type(c) ~= "number" or not (c > -1e30 and c < 1e30) then
    fail("%s: argument 2 (options): correction: a finite number expected, "
      .. "got %s", name, type(c) == "number" and c or C.describe(c))
  end
  c = core.whole(c)
  return format(mathtype(c) == "integer" and "math.max(count - %d, 0)" or
    "math.max(count - %.17g, 0.0)", c)
end

for name, finish in next, {var = "V / N", std = "math.sqrt(V / N)"} do
  middle_types[name] = function(kind) return wide(real(kind)) end
  define(name, function(a, o)
    check(a, 1, "a", name)
    return reduce_by(fold_squares, like(sum, {name = name, kind = a.kind,
      finish = fill_in(finish, {N = divisor_of(o, name)}), empty = nan,
      options = {"dim", "keep", "correction"}}), a, o, real(a.kind))
  end)
end

-- --- least and greatest ------------------------------------------------------

-- Returns the least or greatest integer of a type, as a text for kernels.
local function bound(kind, greatest)
  local t = types[kind]
  if not t.signed then
    return greatest and format("%d", (1 << t.bits) - 1) or "0"
  elseif t.bits == 64 then
    return greatest and "math.maxinteger" or "math.mininteger"
  end
  local half = 1 << t.bits - 1
  return format("%d", greatest and half - 1 or -half)
end

-- Returns min or max of a type; `better` is true if v precedes best.
local function extreme(name, kind)
  local greatest = name == "max"
  local op = {name = name, map = "X", finish = "V",
    merge = format("math.%s(A, B)", name),
    better = greatest and "v > best" or "v < best"}
  if types[kind].real then
    op.merge = format("%s(A, B)", name)
    op.none = greatest and "-math.huge" or "math.huge"
    return op
  end
  op.none = bound(kind, not greatest)
  if kind == "ulong" then
    op.better = greatest and "math.ult(best, v)" or "math.ult(v, best)"
    op.merge = greatest and "(math.ult(A, B) and B or A)" or
      "(math.ult(B, A) and B or A)"
  elseif kind == "long" then -- the faster of two forms
    op.merge = greatest and "(B > A and B or A)" or "(B < A and B or A)"
  end
  return op
end

local function same(kind) return kind end

for _, name in ipairs {"min", "max"} do
  middle_types[name] = same
  reductions[name] = function(a, o)
    check(a, 1, "a", name)
    return reduce(extreme(name, a.kind), a, o, a.kind, a.mask)
  end
end

-- Result i is the place of the first best element, found in the first best
-- chunk.  NaN precedes all others.
local function place_text(op, x)
  return (([[
local o = (i - 1) // inner
local first = i - o * inner
local best, chunk = bests[o * chunks * inner + first], 0
for c = 1, chunks - 1 do
  local v = bests[(o * chunks + c) * inner + first]
  if best == best and (v ~= v or BETTER) then best, chunk = v, c end
end
local j = chunk * size
local k = o * n * inner + first
while j < n - 1 do
  local v = ELEMENT
  if v == best or v ~= v then break end
  j = j + 1
end
out[i] = j + 1]]):gsub("BETTER", op.better):gsub("ELEMENT",
    read(x, "k + j * inner")))
end

for _, name in ipairs {"argmin", "argmax"} do
  middle_types[name] = same
  define(name, function(a, o)
    check(a, 1, "a", name)
    core.needs_double(name, a.kind, a)
    local outer, n, inner, shape = extent(a, o, name)
    local into = new("long", shape, nil, a.home)
    if n == 0 or into.size == 0 then return nothing(into, nil, name, a) end
    local chunks = chunks_of(n, inner)
    local best = beside(a.home, a.kind, outer * chunks * inner)
    local op = extreme(name:sub(4), a.kind)
    with_elements(a, name, nil, function(x)
      reduce_chunks(op, x, outer, n, inner, best, n)
      local k = kernel_of(name, name .. " " .. a.kind, format(
        "out, %s, n, inner, chunks, size, bests", parameters_of(x)),
        place_text, op, x)
      launch(k, outer * inner, x, into.flat, n, inner, chunks,
        inner == 1 and CHUNK or ROWS, best)
    end)
    return into
  end)
end

-- --- products ----------------------------------------------------------------

function middle_types.norm(kind, a)
  return a.device.fp64 and "double" or wide(real(kind))
end
define("norm", function(a, o)
  check(a, 1, "a", "norm")
  local op = like(sum, {name = "norm", finish = "math.sqrt(V)",
    map = format("square(%s + 0.0)", real_of(a.kind))})
  return reduce(op, a, o, real(a.kind))
end)

-- A sum of products that are not rounded before they are added.
local dot = like(sum, {name = "dot"})
middle_types.dot = wide
define("dot", function(a, b)
  core.check(a, 1, "a", "dot")
  core.check(b, 2, "b", "dot")
  for n, v in ipairs {a, b} do
    if #v.dims ~= 1 then
      fail("dot: argument %d (%s): 1 dimension expected, got shape %s", n,
        n == 1 and "a" or "b", shape_text(v.dims))
    end
  end
  if a.size ~= b.size then
    fail("dot: argument 2 (b): shape %s expected, got %s", shape_text(a.dims),
      shape_text(b.dims))
  end
  core.together("dot", {"a", "b"}, a, b)
  if core.scalars[a.kind] or core.scalars[b.kind] then
    return core.complex_product(a:reshape {1, a.size}, b:reshape {b.size, 1})
      :reshape {}
  end
  local kind, why = core.promote(a.kind, b.kind)
  if not kind then fail("dot: %s", why) end
  core.needs_double("dot", kind, a)
  return reduce(dot, X.express("mul", wide(kind), a.dims, nil, a, b), nil,
    types[kind].real and kind or wide(kind), nil, "fuse")
end)

-- --- scans -------------------------------------------------------------------

-- Work-item i scans a chunk of a row; off[i] is the result of the chunks
-- before.  init is the initial value of a script's function.
local function scan_row_text(op)
  local lines, add = writer()
  add("local row = (i - 1) // chunks")
  add("local j = row * n + (i - 1 - row * chunks) * %d", CHUNK)
  add("local last = math.min(j + %d, row * n + n)", CHUNK)
  add("local v = %s", op.none)
  add("if chunks > 1 then v = off[i] end")
  if not op.f then
    -- The chunk's own result w starts empty, so that errors stay small, and
    -- depends on only one of the steps.
    add("local base, w = v, %s", op.none)
    add("while j + %d <= last do", STEPS)
    each_lane(add, "local a@ = x[j + @]", STEPS)
    for l = 2, STEPS do
      if l % RUN ~= 1 then
        add("a%d = %s", l, merge(op, "a" .. l - 1, "a" .. l))
      end
    end
    for l = RUN + 1, STEPS do
      add("a%d = %s", l, merge(op, "a" .. (l - 1) // RUN * RUN, "a" .. l))
    end
    each_lane(add, "out[j + @] = " .. merge(op, "v", "a@"), STEPS)
    add("w = %s", merge(op, "w", "a" .. STEPS))
    add("v = %s", merge(op, "base", "w"))
    add("j = j + %d", STEPS)
    add("end")
  end
  add("while j < last do")
  add("v = %s", merge(op, "v", "x[j + 1]"))
  add("out[j + 1] = v")
  add("j = j + 1")
  add("end")
  return concat(lines, "\n")
end

local function scan_column_text(op)
  local lines, add = writer()
  local function columns(lanes)
    each_lane(add, format("local a@, b@ = %s, %s", op.none, op.none), lanes)
    add("if chunks > 1 then")
    each_lane(add, "b@ = off[to + @]", lanes)
    add("end")
    add("local k = j")
    add("for _ = 1, rows do")
    each_lane(add, "a@ = " .. merge(op, "a@", "x[k + @]"), lanes)
    each_lane(add, "out[k + @] = " .. merge(op, "b@", "a@"), lanes)
    add("k = k + inner")
    add("end")
  end
  each_column(add, columns)
  return concat(lines, "\n")
end

-- Work-item i has a row or column: off receives the result before each of its
-- chunks.  Chunks are first merged by 64, so that errors stay small.  A single
-- loop that tests for the 64th chunk crashes LLVM 18, which "did not reach a
-- fixpoint".
local function offset_text(op)
  return (([[
local o = (i - 1) // inner
local at = o * chunks * inner + i - o * inner
local base, c = NONE, 0
off[at] = base
while c < chunks - 1 do
  local v = x[at]
  at = at + inner
  off[at] = MERGE_BASE
  local last = math.min(c + 64, chunks - 1)
  for _ = c + 2, last do
    local e = x[at]
    v = MERGE_V
    at = at + inner
    off[at] = MERGE_BASE
  end
  base = MERGE_BASE
  c = last
end]]):gsub("NONE", op.none):gsub("MERGE_V", merge(op, "v", "e"))
    :gsub("MERGE_BASE", merge(op, "base", "v")))
end

-- Reduces the chunks of x by a script's function; the last one starts at init.
local function fold_text()
  return [[
local q = (i - 1) // inner
local o = q // chunks
local first = (q - o * chunks) * size
local k = (o * n + first) * inner + i - q * inner
local count = math.min(size, n - first)
local v = x[k]
local rest = 1
if inner == 1 and count == size then
  rest = size // 8
  local b, c, d, e, g, h, l = x[k + rest], x[k + 2 * rest], x[k + 3 * rest],
    x[k + 4 * rest], x[k + 5 * rest], x[k + 6 * rest], x[k + 7 * rest]
  for j = k + 1, k + rest - 1 do
    v, b, c, d = f(v, x[j]), f(b, x[j + rest]), f(c, x[j + 2 * rest]),
      f(d, x[j + 3 * rest])
    e, g, h, l = f(e, x[j + 4 * rest]), f(g, x[j + 5 * rest]),
      f(h, x[j + 6 * rest]), f(l, x[j + 7 * rest])
  end
  v = f(f(f(v, b), f(c, d)), f(f(e, g), f(h, l)))
  rest = count
end
for j = rest, count - 1 do v = f(v, x[k + j * inner]) end
if last == 1 then v = f(init, v) end
out[i] = v]]
end

local function fold_chunks(op, x, outer, n, inner, out, last)
  local chunks = chunks_of(n, inner)
  local key = concat({"f", x.type, out.type}, " ")
  local k = kernel_of(op.name, key,
    "x, out, n, inner, chunks, size, init, last", fold_text, op)
  k(outer * chunks * inner, x, out, n, inner, chunks,
    inner == 1 and CHUNK or ROWS, op.init, last and 1 or 0)
end

-- Scans x, a buffer of outer * n * inner elements, into a buffer; intermediate
-- results have the type `kind`.
local function scan(op, x, outer, n, inner, into, kind)
  local chunks, init = chunks_of(n, inner), op.init or 0
  local off = beside(into, kind, chunks > 1 and outer * chunks * inner or 1)
  if chunks > 1 then
    local totals = beside(into, kind, outer * chunks * inner)
    if op.f then fold_chunks(op, x, outer, n, inner, totals)
    else reduce_chunks(op, x, outer, n, inner, totals, n) end
    local k = kernel_of(op.name, concat({"o", op.merge, kind}, " "),
      "x, off, chunks, inner, init", offset_text, op)
    k(outer * inner, totals, off, chunks, inner, init)
  end
  local k = kernel_of(op.name, concat({inner == 1 and "rs" or "cs", op.merge,
    x.type, kind, into.type}, " "), "x, off, out, n, inner, chunks, init",
    inner == 1 and scan_row_text or scan_column_text, op)
  k(outer * chunks * items_of(inner), x, off, into, n, inner, chunks, init)
end

local function scan_of(name, op, a, o, result, kind, mask)
  local where
  local known = op.options or {"dim"}
  if type(o) == "number" then o, where = {dim = o}, "argument 2 (dim)" end
  o = options(o, known, name, 2)
  local initial = o.include_initial
  if initial ~= nil and type(initial) ~= "boolean" then
    fail("%s: argument 2 (options): include_initial: boolean expected, got %s",
      name, C.describe(initial))
  end
  core.needs_double(name, a.kind, a)
  local outer, n, inner, shape = 1, a.size, 1, {a.size}
  if o.dim ~= nil then
    outer, n, inner = extent(a, o, name, 2, where, known)
    shape = {unpack(a.dims)}
  end
  local into = new(result, shape, mask, a.home)
  if into.size > 0 then
    scan(op, ready(a), outer, n, inner, into.flat, kind)
  end
  if not initial then return into end
  local d = o.dim and core.dimension(#shape, o.dim, name, where) or 1
  local first = {unpack(shape)}
  first[d] = 1
  return A.cat({new(result, first, mask, a.home):fill(op.empty), into}, d)
end

for name, op in next, {cumsum = sum, cumprod = prod} do
  op = like(op, {name = name, options = {"dim", "include_initial"}})
  define(name, function(a, o)
    check(a, 1, "a", name)
    local kind = wide(a.kind)
    return scan_of(name, op, a, o, types[a.kind].real and a.kind or kind, kind)
  end)
end

for name, chosen in next, {cummax = "max", cummin = "min"} do
  define(name, function(a, o)
    check(a, 1, "a", name)
    local op = like(extreme(chosen, a.kind), {name = name})
    return scan_of(name, op, a, o, a.kind, a.kind, a.mask)
  end)
end

-- --- script functions --------------------------------------------------------

-- Checks the arguments of reduce and scan; returns the operation, and the types
-- of results and of intermediate results.
local function own_operation(name, f, init, x)
  if type(f) ~= "function" then
    fail("%s: argument 1 (f): function expected, got %s", name, C.describe(f))
  end
  if type(init) ~= "number" then
    fail("%s: argument 2 (init): a number expected, got %s", name,
      C.describe(init))
  end
  check(x, 3, "x", name)
  core.needs_double(name, x.kind, x)
  local kind, result = wide(x.kind), x.kind
  if not types[x.kind].real then
    if mathtype(init) == "float" then kind = "float" end
    result = kind
  end
  core.fitting(name .. ": argument 2 (init)", kind, init)
  local gives, words = core.gives(name, f, x.device, kind, x.kind)
  if gives ~= "integer" and gives ~= "real" then
    fail("%s: argument 1 (f): a function that gives a number expected, it "
      .. "gives %s", name, words)
  end
  if gives == "real" and not types[kind].real then
    fail("%s: f gives a real for elements of %s: argument 2 (init) must be "
      .. "one, such as 0.0", name, x.kind)
  end
  return {name = name, f = f, init = init, none = "init", merge = "f(A, B)"},
    result, kind
end

-- A.reduce(f, init, x [, options]): f(a, b) must be associative.
function A.reduce(f, init, x, o)
  local op, result, kind = own_operation("reduce", f, init, x)
  local outer, n, inner, shape = extent(x, o, "reduce", 4,
    "argument 4 (options): dim")
  local into = new(result, shape, nil, x.home)
  if n == 0 or into.size == 0 then
    return into:set(new(kind, {}, nil, x.home):fill(init))
  end
  local from, chunks = ready(x), chunks_of(n, inner)
  while chunks > 1 do
    local out = beside(x.home, kind, outer * chunks * inner)
    fold_chunks(op, from, outer, n, inner, out)
    from, n, chunks = out, chunks, chunks_of(chunks, inner)
  end
  fold_chunks(op, from, outer, n, inner, into.flat, true)
  return into
end

-- A.scan(f, init, x): f of all elements so far, starting at init.
function A.scan(f, init, x)
  local op, result, kind = own_operation("scan", f, init, x)
  local into = new(result, {x.size}, nil, x.home)
  if x.size == 0 then return into end
  scan(op, ready(x), 1, x.size, 1, into.flat, kind)
  return into
end
