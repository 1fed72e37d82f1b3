-- array_index.lua - arrays: elements by indices and by masks.
-- SPDX-License-Identifier: MIT
--
-- The kernels here are functions of this file.  Kernels that only move elements
-- access them as unsigned integers of the same width, regardless of their type.

local core = ...
local C, fail, is = core.C, core.fail, core.is
local new, ready, types = core.new, core.ready, core.types
local shape_text, define, check = core.shape_text, core.define, core.check
local atomic_max, atomic_min = C.work.atomic_max, C.work.atomic_min
local ipairs, math, type = ipairs, math, type
local max, min = math.max, math.min
local format, unpack = string.format, table.unpack

local carriers = {"uchar", "ushort", [4] = "uint", [8] = "ulong"}

-- Returns the elements of an array, row by row, as unsigned integers.
local function bits(a, fname)
  local b, n = ready(a)
  local carrier = carriers[b.bytes // max(n, 1)]
  if not carrier then fail("%s: elements of %s are too wide", fname, a.kind) end
  return b:view(1, n, carrier)
end

-- Kernels by function and key, because one kernel retains only a few variants.
-- `o` are further options.
local programs = {}

local function program(f, name, key, o)
  local by_key = programs[f]
  if not by_key then
    by_key = {}
    programs[f] = by_key
  end
  local k = by_key[key or name]
  if not k then
    k = C.kernel(f, {name = "array_" .. name, real = o and o.real,
      int = o and o.int})
    by_key[key or name] = k
  end
  return k
end

-- On a CPU, each work-item that processes many elements is a separate group:
-- groups run in parallel, the items of one group do not.
local function items(n, device)
  return device.software and {n, group = 1} or n
end

-- Returns the number of pieces for n elements, and the most elements in a
-- piece.  Pieces have at least `least` elements.
local function cut(n, device, least)
  local count = max(1, min(n // least, device.software and 64 or 4096))
  return count, (n + count - 1) // count
end

-- --- by indices --------------------------------------------------------------

-- Returns integers as an array beside a: from an array, a number, or tables;
-- they are argument n, by default 2.
local function indices(a, v, fname, n)
  n = n or 2
  local what = format("%s: argument %d (indices)", fname, n)
  if type(v) == "number" then
    return core.filled(new("long", {}, nil, a.home),
      core.fitting(what, "long", v))
  end
  if type(v) == "table" and not is(v) then
    return core.from_tables("long", v, what, a.home)
  end
  if not is(v) then
    fail("%s: integers expected, got %s", what, C.describe(v))
  end
  check(v, n, "indices", fname)
  if v.mask then fail("%s: integers expected, got a mask; use a[m]", what) end
  if not types[v.kind] or types[v.kind].real then
    fail("%s: integers expected, got %s", what, v.kind)
  end
  core.together(fname, {"a", "the indices"}, a, v)
  return v
end

-- Returns the sizes before a dimension, of it, and after it.
local function around(shape, d)
  local outer, inner = 1, 1
  for e = 1, d - 1 do outer = outer * shape[e] end
  for e = d + 1, #shape do inner = inner * shape[e] end
  return outer, shape[d], inner
end

-- Returns the range: adjacent work-items are adjacent in a row of `inner`
-- elements or, if rows are short, in the dimension before.
local function range_of(inner, m, outer)
  if inner < 8 then return {m, inner, outer}, 1 end
  return {inner, m, outer}, 0
end

-- Returns the number to add to an index that a kernel reads as negative, so
-- that it counts from the end.  A ulong index is never negative: it remains out
-- of range.
local function behind(index, size)
  return index.kind == "ulong" and 0 or size + 1
end

-- Strides locate the index of a result's element.  Indices out of range are not
-- read; the first of them is found by its place among the indices.
local function pick(i, j, o, swap, out, from, index, m, size, back, inner, so,
                    sj, si, bad)
  if swap ~= 0 then i, j = j, i end
  local place = (o - 1) * so + (j - 1) * sj + (i - 1) * si + 1
  local k = index[place]
  if k < 0 then k = k + back end
  if k >= 1 and k <= size then
    out[((o - 1) * m + j - 1) * inner + i] =
      from[((o - 1) * size + k - 1) * inner + i]
  else
    atomic_min(bad, 1, place)
  end
end

local function raise_outside(bad, index, size, fname, n)
  local place = bad[1]
  if place <= index.size then
    fail("%s: argument %d (indices): index %d: %s is outside 1..%d", fname,
      n or 2, place, C.core.integer_text(index:reshape {-1}[place],
        index.kind == "ulong"), size)
  end
end

-- Allocates memory for places among indices.  Not all devices have 64-bit
-- atomics.
local function places(index, n_or_list)
  return core.filled_beside(index.home,
    index.size < 0x7fffffff and "int" or "long", n_or_list)
end

local function nothing_bad(index) return places(index, {index.size + 1}) end

-- Fills outer x m x inner results from outer x size x inner elements.  The
-- indices are argument n, by default 2.
local function choose(a, index, into, d, along, fname, n)
  if into.size == 0 then return into end
  local outer, size, inner = around(a.dims, d)
  if size == 0 then
    fail("%s: argument 1 (a): dimension %d has no elements", fname, d)
  end
  local m = into.size // (outer * inner)
  local so, sj, si = 0, 1, 0
  if along then so, sj, si = m * inner, inner, 1 end
  local bad = nothing_bad(index)
  local range, swap = range_of(inner, m, outer)
  program(pick, fname, fname .. index.kind)(range, swap, bits(into, fname),
    bits(a, fname), (ready(index)), m, size, behind(index, size), inner, so, sj,
    si, bad)
  raise_outside(bad, index, size, fname, n)
  return into
end

-- Returns the places of the elements of a, from 1, as an array of its shape.
local function numbered(a)
  return core.spaced(new("long", {a.size}, nil, a.home), 1, a.size)
    :reshape(a.dims)
end

-- take(a, indices [, dim]): elements, or rows of a dimension, by their indices.
define("take", function(a, index, d)
  check(a, 1, "a", "take")
  index = indices(a, index, "take")
  if d == nil then
    return choose(a:reshape {a.size}, index,
      new(a.kind, {unpack(index.dims)}, a.mask, a.home), 1, false, "take")
  end
  d = core.dimension(#a.dims, d, "take", "argument 3 (dim)")
  local shape = {unpack(a.dims, 1, d - 1)}
  for _, s in ipairs(index.dims) do shape[#shape + 1] = s end
  for e = d + 1, #a.dims do shape[#shape + 1] = a.dims[e] end
  return choose(a, index,
    new(a.kind, core.check_shape(shape, "take"), a.mask, a.home), d, false,
    "take")
end)

-- Checks a call's indices and dimension; shapes may differ only there.
local function along(a, index, d, fname, where)
  check(a, 1, "a", fname)
  index = indices(a, index, fname)
  d = core.dimension(#a.dims, d == nil and -1 or d, fname, where)
  for e = 1, max(#a.dims, #index.dims) do
    if #a.dims ~= #index.dims or
      e ~= d and a.dims[e] ~= index.dims[e]
    then
      fail("%s: argument 2 (indices): shape %s does not go with shape %s along "
        .. "dimension %d", fname, shape_text(index.dims), shape_text(a.dims), d)
    end
  end
  return index, d
end

-- gather(a, indices [, dim]): for each index, the element at that index along a
-- dimension, by default the last.
define("gather", function(a, index, d)
  index, d = along(a, index, d, "gather", "argument 3 (dim)")
  return choose(a, index,
    new(a.kind, {unpack(index.dims)}, a.mask, a.home), d, true, "gather")
end)

-- If an element is written several times, the last index wins.
local function own(i, j, o, swap, owner, index, m, size, back, inner, bad)
  if swap ~= 0 then i, j = j, i end
  local place = ((o - 1) * m + j - 1) * inner + i
  local k = index[place]
  if k < 0 then k = k + back end
  if k >= 1 and k <= size then
    atomic_max(owner, ((o - 1) * size + k - 1) * inner + i, place)
  else
    atomic_min(bad, 1, place)
  end
end

local function place_owned(i, out, from, values, owner)
  local place = owner[i]
  if place > 0 then out[i] = values[place] else out[i] = from[i] end
end

-- scatter(a, indices, values [, dim]): a copy with values (an array that
-- broadcasts to the indices, a table, or a number) written at the indices.
define("scatter", function(a, index, values, d)
  index, d = along(a, index, d, "scatter", "argument 4 (dim)")
  if is(values) then check(values, 3, "values", "scatter") end
  values = core.set(new(a.kind, {unpack(index.dims)}, a.mask, a.home),
    values, "scatter", "scatter: argument 3 (values)")
  local outer, size, inner = around(a.dims, d)
  if index.size == 0 then return a:clone() end
  if size == 0 then
    fail("scatter: argument 1 (a): dimension %d has no elements", d)
  end
  local into = new(a.kind, {unpack(a.dims)}, a.mask, a.home)
  local owner = places(index, a.size)
  local bad = nothing_bad(index)
  local m = index.dims[d]
  local range, swap = range_of(inner, m, outer)
  program(own, "scatter", index.kind)(range, swap, owner, (ready(index)), m,
    size, behind(index, size), inner, bad)
  raise_outside(bad, index, size, "scatter")
  program(place_owned, "scatter_values")(a.size, bits(into, "scatter"),
    bits(a, "scatter"), bits(values, "scatter"), owner)
  return into
end)

local function add_targets(i, out, from, values, order, first, behind_last)
  local sum = from[i]
  for p = first[i], behind_last[i] - 1 do sum = sum + values[order[p]] end
  out[i] = sum
end

-- Returns a with each value added to the element at its target, in the order of
-- the values, so that results are the same in every run.
local function add_at(a, targets, values)
  local order = targets:argsort()
  local sorted = targets:take(order)
  local all = numbered(a)
  local into = new(a.kind, {unpack(a.dims)}, nil, a.home)
  program(add_targets, "add_at", a.kind)(a.size, into.buffer, (ready(a)),
    (ready(values)), order.buffer, sorted:searchsorted(all).buffer,
    sorted:searchsorted(all, {right = true}).buffer)
  return into
end

-- Adds values to the elements of a at indices along dimension d: one index for
-- each value, or a list of indices.
local function add_along(a, index, values, d, is_list, fname, where)
  local shape = {unpack(is_list and a.dims or index.dims)}
  if is_list then shape[d] = index.size end
  if is(values) then core.check_numbers(values, is_list and 4 or 3,
    is_list and "v" or "values", fname) end
  values = core.set(new(a.kind, shape, nil, a.home), values, fname, where)
  if values.size == 0 then return a:clone() end
  local targets = choose(numbered(a), index, new("long", shape, nil, a.home), d,
    not is_list, fname, is_list and 3):reshape {values.size}
  return add_at(a, targets, values)
end

-- scatter_add(a, indices, values [, dim]): a copy with values added at the
-- indices.
define("scatter_add", function(a, index, values, d)
  core.check_numbers(a, 1, "a", "scatter_add")
  index, d = along(a, index, d, "scatter_add", "argument 4 (dim)")
  return add_along(a, index, values, d, false, "scatter_add",
    "scatter_add: argument 3 (values)")
end)

-- index_add(a, dim, indices, v): a copy with the rows of v added to the rows of
-- dimension dim at the indices.
define("index_add", function(a, d, index, v)
  core.check_numbers(a, 1, "a", "index_add")
  d = core.dimension(#a.dims, d, "index_add", "argument 2 (dim)")
  index = indices(a, index, "index_add", 3)
  if #index.dims > 1 then
    fail("index_add: argument 3 (indices): one dimension expected, got %d",
      #index.dims)
  end
  return add_along(a, index, v, d, true, "index_add",
    "index_add: argument 4 (v)")
end)

-- --- in an index -------------------------------------------------------------

-- Returns arrays of indices from 1, as long, for an array that is index i of
-- a[{...}]: one for each of these sizes of dimensions.  A mask stands for the
-- indices of its 1s.
local function checked_indices(v, i, sizes, a)
  if core.is_closed(v) then fail("index %d: the array is closed", i) end
  core.together("a[{...}]", {"a", "an index"}, a, v)
  if v.mask then
    if not core.X.same_shape(v.dims, sizes) then
      fail("index %d: a mask of shape %s expected, got %s", i,
        shape_text(sizes), shape_text(v.dims))
    end
    local rows, list = v:nonzero(), {}
    if #sizes == 1 then return {rows} end
    for d = 1, #sizes do list[d] = rows[{{}, d}] end
    return list
  end
  local size = sizes[1]
  if not types[v.kind] or types[v.kind].real then
    fail("index %d: integers or a mask expected, got %s", i, v.kind)
  end
  if v.size > 0 then
    local outside = v:eq(0) | v:gt(size)
    if types[v.kind].signed then outside = outside | v:lt(-size) end
    if outside:any():item() ~= 0 then
      local place = outside:reshape {-1}:nonzero()[1]
      fail("index %d: element %d: %s is outside 1..%d", i, place,
        C.core.integer_text(v:reshape {-1}[place], v.kind == "ulong"), size)
    end
  end
  v = v:to "long"
  return {v:lt(0):where(v + (size + 1), v)}
end

-- Returns the elements of a view at arrays of indices, which replace their
-- dimensions and stand, as one block, at dimension `there`.
local function take_lists(part, lists, there)
  local order, shape, listed = {}, {}, {}
  for _, l in ipairs(lists) do listed[l.dim] = true end
  for e = 1, #part.dims do
    if not listed[e] then order[#order + 1] = e end
  end
  for place, e in ipairs(order) do
    shape[place < there and place or place + 1] = part.dims[e]
  end
  local index, size
  for n, l in ipairs(lists) do
    table.insert(order, there + n - 1, l.dim)
    local s = part.dims[l.dim]
    if not index then
      index, size = l.index, s
    else
      core.broadcast("a[{...}]", index.dims, l.index.dims)
      index, size = (index - 1) * s + l.index, size * s
    end
  end
  shape[there] = size
  return part:permute(order):reshape(shape):take(index, there)
end

-- Writes v to the elements that take_lists returns; the last value wins.
local function put_lists(part, lists, there, v)
  local what = "a[{...}] = v"
  local targets = take_lists(numbered(part), lists, there)
  local values = core.set(new(part.kind, {unpack(targets.dims)}, part.mask,
    part.home), v, what)
  if values.size == 0 then return end
  core.check_places(part, what)
  core.set(part, part:reshape {part.size}:scatter(
    targets:reshape {targets.size}, values:reshape {values.size})
    :reshape(part.dims), what)
end

-- --- by masks ----------------------------------------------------------------

local function count_chosen(i, counts, mask, n, length)
  local found = 0
  for p = (i - 1) * length + 1, min(i * length, n) do
    found = found + (mask[p] ~= 0 and 1 or 0)
  end
  counts[i] = found
end

-- Returns the buffer of a mask's elements, the number that are not 0, and the
-- range and arguments of a kernel that goes through them.  Waits.
local function chosen(m)
  local mask, n = ready(m)
  local pieces, length = cut(n, m.device, 4096)
  local starts = core.beside(m.home, "long", pieces + 1)
  local range = items(pieces, m.device)
  program(count_chosen, "count")(range, starts, mask, n, length)
  local list, sum = starts:read(), 0
  for i = 1, pieces do list[i], sum = sum, sum + list[i] end
  list[pieces + 1] = sum
  starts:write(list)
  return sum, range, starts, mask, n, length
end

-- Each element is written where the next one that is chosen goes: no branch
-- depends on the mask.
local function keep_chosen(i, starts, mask, n, length, out, from)
  local to, last, p = starts[i], starts[i + 1], (i - 1) * length
  while to < last and p < n do
    p = p + 1
    out[to + 1] = from[p]
    to = to + (mask[p] ~= 0 and 1 or 0)
  end
end

local function write_list(i, starts, mask, n, length, out)
  local to, last, p = starts[i], starts[i + 1], (i - 1) * length
  while to < last and p < n do
    p = p + 1
    out[to + 1] = p
    to = to + (mask[p] ~= 0 and 1 or 0)
  end
end

-- Returns a mask that broadcasts to a, from a mask of its first dimensions; nil
-- if the shapes differ.
local function mask_for(a, m)
  local rank = #m.dims
  if rank > #a.dims or rank == 0 and #a.dims > 0 then return nil end
  local shape = {}
  for d = 1, #a.dims do
    if d <= rank and m.dims[d] ~= a.dims[d] then return nil end
    shape[d] = m.dims[d] or 1
  end
  return rank == #a.dims and m or m:reshape(shape)
end

-- a[m]: the elements for which a mask is 1, in order; the rows, if the mask has
-- fewer dimensions.
local function compact(a, m)
  if not mask_for(a, m) then
    fail("a[m]: a mask of shape %s expected, got %s", shape_text(a.dims),
      shape_text(m.dims))
  end
  core.together("a[m]", {"a", "m"}, a, m)
  if #m.dims < #a.dims then
    return a:reshape {m.size, unpack(a.dims, #m.dims + 1)}:take(
      m:reshape {m.size}:nonzero(), 1)
  end
  if a.size == 0 then return new(a.kind, {0}, a.mask, a.home) end
  local count, range, starts, mask, n, length = chosen(m)
  local into = new(a.kind, {count}, a.mask, a.home)
  if count > 0 then
    program(keep_chosen, "compact")(range, starts, mask, n, length,
      bits(into, "a[m]"), bits(a, "a[m]"))
  end
  return into
end

local function write_places(i, starts, mask, n, length, out, shape, rank)
  local row = starts[i] * rank
  for p = (i - 1) * length + 1, min(i * length, n) do
    if mask[p] ~= 0 then
      local place = p - 1
      for d = rank, 2, -1 do
        local size = shape[d]
        out[row + d] = place % size + 1
        place = place // size
      end
      out[row + 1] = place + 1
      row = row + rank
    end
  end
end

-- nonzero(a): the indices of the elements that are not 0, as a list; unless the
-- array has one dimension, each element has a row of indices.
define("nonzero", function(a)
  core.check_numbers(a, 1, "a", "nonzero")
  local rank = #a.dims
  local function result(count)
    return new("long", rank == 1 and {count} or {count, rank}, nil, a.home)
  end
  if a.size == 0 then return result(0) end
  local count, range, starts, mask, n, length = chosen(a)
  local into = result(count)
  if into.size > 0 and rank == 1 then
    program(write_list, "nonzero")(range, starts, mask, n, length, into.buffer)
  elseif into.size > 0 then
    program(write_places, "nonzero")(range, starts, mask, n, length,
      (ready(into)), core.filled_beside(a.home, "long", a.dims), rank)
  end
  return into
end)

core.bits, core.program, core.items, core.cut = bits, program, items, cut
core.compact, core.mask_for = compact, mask_for
core.checked_indices, core.take_lists, core.put_lists, core.add_at =
  checked_indices, take_lists, put_lists, add_at
