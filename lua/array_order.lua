-- array_order.lua - arrays: sorting and what follows from it.
-- SPDX-License-Identifier: MIT
--
-- Rows are sorted in parallel.  Long rows are sorted by digits of 8 bits, the
-- least significant first: each piece of a row counts its digits, the counts
-- become places, and each piece moves its elements there.  Short rows, and all
-- rows with a script's comparison function, are sorted by merging.  Both are
-- stable, and the number of pieces does not affect the result.

local core = ...
local C, A, fail, is = core.C, core.A, core.fail, core.is
local new, ready, types = core.new, core.ready, core.types
local define, check, dimension = core.define, core.check_numbers,
  core.dimension
local bits, program, items, cut = core.bits, core.program, core.items, core.cut
local ipairs, math, setmetatable, tostring, type =
  ipairs, math, setmetatable, tostring, type
local private_array = C.work.private_array
local floor, max, min, mathtype, ult =
  math.floor, math.max, math.min, math.type, math.ult
local unpack = table.unpack
local sort_keys, key_arguments = core.sort_keys, core.key_arguments

local DIGITS <const> = 256
local RUN <const> = 32        -- sorted by insertion
local LONG <const> = 4096     -- rows this long are sorted by digits

-- --- by digits ---------------------------------------------------------------

local function radix_functions(key)
  -- Collects the bits in which keys differ from the first key.
  local function spread(i, into, from, n, length, high, inf, flip)
    local first, seen = key(from[1], high, inf, flip), 0
    for p = (i - 1) * length + 1, min(i * length, n) do
      seen = seen | key(from[p], high, inf, flip) ~ first
    end
    into[i] = seen
  end

  local function count(i, counts, from, n, pieces, length, shift, high, inf,
                       flip)
    local block, row, piece = (i - 1) * DIGITS + 1, (i - 1) // pieces * n,
      (i - 1) % pieces
    for d = block, block + DIGITS - 1 do counts[d] = 0 end
    for p = row + piece * length + 1, row + min((piece + 1) * length, n) do
      local d = block + (key(from[p], high, inf, flip) >> shift & DIGITS - 1)
      counts[d] = counts[d] + 1
    end
  end

  -- Turns the counts of a piece and of its row into places of its elements.
  local function place(counts, block, totals, row, n)
    local sum = row * n + 1
    for d = 0, DIGITS - 1 do
      counts[block + d] = counts[block + d] + sum
      sum = sum + totals[row * DIGITS + d + 1]
    end
  end

  local function move(i, counts, totals, out, from, n, pieces, length, shift,
                      high, inf, flip)
    local block, row, piece = (i - 1) * DIGITS + 1, (i - 1) // pieces,
      (i - 1) % pieces
    place(counts, block, totals, row, n)
    row = row * n
    for p = row + piece * length + 1, row + min((piece + 1) * length, n) do
      local x = from[p]
      local d = block + (key(x, high, inf, flip) >> shift & DIGITS - 1)
      local to = counts[d]
      counts[d] = to + 1
      out[to] = x
    end
  end

  -- Also moves the indices of elements; in the first pass these are the places.
  local function move_both(i, counts, totals, out, from, n, pieces, length,
                           shift, high, inf, flip, out_at, from_at, is_first)
    local block, row, piece = (i - 1) * DIGITS + 1, (i - 1) // pieces,
      (i - 1) % pieces
    place(counts, block, totals, row, n)
    row = row * n
    for p = row + piece * length + 1, row + min((piece + 1) * length, n) do
      local x, at = from[p], p - row
      if is_first == 0 then at = from_at[p] end
      local d = block + (key(x, high, inf, flip) >> shift & DIGITS - 1)
      local to = counts[d]
      counts[d] = to + 1
      out[to] = x
      out_at[to] = at
    end
  end

  return {spread = spread, count = count, move = move, move_both = move_both}
end

local radix = {integers = radix_functions(sort_keys.integers.key),
  reals = radix_functions(sort_keys.reals.key)}

-- Turns each piece's count into the count of earlier pieces; totals per row.
local function place_pieces(digit, row, counts, totals, pieces)
  local sum = 0
  for p = (row - 1) * pieces, row * pieces - 1 do
    local at = p * DIGITS + digit
    local n = counts[at]
    counts[at] = sum
    sum = sum + n
  end
  totals[(row - 1) * DIGITS + digit] = sum
end

-- Returns the shifts of the digits in which not all keys agree.
local function shifts_of(f, from, count, a, ...)
  local list, width, seen = {}, types[a.kind].bits, -1
  if width > 16 then
    local pieces, length = cut(count, a.device, 4096)
    local found = core.beside(a.home, "long", pieces)
    program(f.spread, "sort_bits")(items(pieces, a.device), found, from, count,
      length, ...)
    seen = 0
    for _, v in ipairs(found:read()) do seen = seen | v end
  end
  for shift = 0, width - 8, 8 do
    if seen >> shift & DIGITS - 1 ~= 0 then list[#list + 1] = shift end
  end
  -- Equal elements must still be moved into the result.
  return #list > 0 and list or {0}
end

-- Sorts rows of n elements of a, which is contiguous, into a new array of
-- elements or of their indices.
local function sort_by_digits(a, n, descending, as_indices)
  local f = types[a.kind].real and radix.reals or radix.integers
  local high, inf, flip = key_arguments(a.kind, descending)
  local device, rows = a.device, a.size // n
  local from = bits(a, "sort")
  local pieces, length = cut(n, device, 4096)
  local range = items(rows * pieces, device)
  local width = n < 1 << 31 and a.size < 1 << 31 and "int" or "long"
  local counts = core.beside(a.home, width, rows * pieces * DIGITS)
  local totals = core.beside(a.home, width, rows * DIGITS)
  local shifts = shifts_of(f, from, a.size, a, high, inf, flip)
  local function another(kind, mask)
    return new(kind, {unpack(a.dims)}, mask, a.home)
  end
  local into = another(a.kind, a.mask)
  local out, spare, places, spare_places = bits(into, "sort"), nil, nil, nil
  if as_indices or #shifts > 1 then spare = bits(another(a.kind), "sort") end
  if as_indices then places, spare_places = another "long", another "long" end
  -- The last pass must write into `out`.
  if #shifts % 2 == 0 then out, spare = spare, out end
  for pass, shift in ipairs(shifts) do
    program(f.count, "sort_count")(range, counts, from, n, pieces, length,
      shift, high, inf, flip)
    program(place_pieces, "sort_places")({DIGITS, rows}, counts, totals, pieces)
    if as_indices then
      program(f.move_both, "argsort_move")(range, counts, totals, out, from, n,
        pieces, length, shift, high, inf, flip, places.buffer,
        spare_places.buffer, pass == 1 and 1 or 0)
      places, spare_places = spare_places, places
    else
      program(f.move, "sort_move")(range, counts, totals, out, from, n, pieces,
        length, shift, high, inf, flip)
    end
    from, out, spare = out, spare, out
  end
  return as_indices and spare_places or into
end

-- --- by merging --------------------------------------------------------------

local function place_itself(_, _, p) return p end
local function element_there(from, row, p) return from[row + p] end
local function place_value(from, row, x) return from[row + x] end
local function value_itself(_, _, x) return x end

-- before(x, y, ...) returns true if x comes before y.  Rows contain values, or
-- indices of values in `from`.
local function merge_functions(before, as_indices)
  local first = as_indices and place_itself or element_there
  local value = as_indices and place_value or value_itself

  local function runs(i, out, from, n, pieces, length, high, inf, flip)
    local row, start = (i - 1) // pieces * n, (i - 1) % pieces * length
    local stop = min(start + length, n)
    while start < stop do
      for p = start + 1, min(start + RUN, stop) do
        local x = first(from, row, p)
        local v, to = value(from, row, x), row + p
        while to > row + start + 1 and
          before(v, value(from, row, out[to - 1]), high, inf, flip)
        do
          out[to] = out[to - 1]
          to = to - 1
        end
        out[to] = x
      end
      start = start + RUN
    end
  end

  -- Merges runs of `width` into runs of twice that.  A work-item writes
  -- `length` elements: it searches both runs for the places they come from.
  local function merge(i, out, list, from, n, pieces, length, width, high, inf,
                       flip)
    local row, to = (i - 1) // pieces * n, (i - 1) % pieces * length
    local last = min(to + length, n)
    while to < last do
      local left = to // (2 * width) * (2 * width)
      local right = min(left + width, n)
      local stop = min(left + 2 * width, n)
      local done = to - left
      local low, most = max(0, done - (stop - right)), min(done, right - left)
      while low < most do
        local m = (low + most) // 2
        if before(value(from, row, list[row + right + done - m]),
            value(from, row, list[row + left + m + 1]), high, inf, flip)
        then
          most = m
        else
          low = m + 1
        end
      end
      local l, r = left + low, right + done - low
      local ends = min(last, stop)
      while to < ends do
        local from_right = l >= right
        if l < right and r < stop then
          from_right = before(value(from, row, list[row + r + 1]),
            value(from, row, list[row + l + 1]), high, inf, flip)
        end
        to = to + 1
        if from_right then
          r = r + 1
          out[row + to] = list[row + r]
        else
          l = l + 1
          out[row + to] = list[row + l]
        end
      end
    end
  end

  return {runs = runs, merge = merge}
end

local function both_ways(before)
  return {values = merge_functions(before, false),
    places = merge_functions(before, true)}
end

local function merge_keys(key)
  return both_ways(function(x, y, high, inf, flip)
    return ult(key(x, high, inf, flip), key(y, high, inf, flip))
  end)
end

local mergers = {integers = merge_keys(sort_keys.integers.key),
  reals = merge_keys(sort_keys.reals.key)}

-- Mergers of script functions live as long as the functions.
local own_mergers = setmetatable({}, {__mode = "k"})

local function own_merger(f)
  local own = own_mergers[f]
  if not own then
    own = both_ways(function(x, y) return f(x, y) end)
    own_mergers[f] = own
  end
  return own
end
local own_kernels = setmetatable({}, {__mode = "k"})

local function kernel_of(f, name, own)
  if not own then return program(f, name) end
  local k = own_kernels[f]
  if not k then
    k = core.script_kernel(f, {name = "array_" .. name})
    own_kernels[f] = k
  end
  return k
end

local function sort_by_merging(a, n, by, descending, as_indices)
  local device = a.device
  local how = by and own_merger(by) or
    types[a.kind].real and mergers.reals or mergers.integers
  how = as_indices and how.places or how.values
  local high, inf, flip = key_arguments(a.kind, descending)
  local kind = as_indices and "long" or a.kind
  local function another()
    return new(kind, {unpack(a.dims)}, not as_indices and a.mask or nil,
      a.home)
  end
  local into = another()
  local length = device.software and LONG or 8 * RUN
  local pieces = (n + length - 1) // length
  local range = items(pieces * (a.size // n), device)
  -- A script's function gets the elements, other comparisons their bits.
  local function open(x)
    if by or as_indices and x ~= a then return (ready(x)) end
    return bits(x, "sort")
  end
  local from, out = open(a), open(into)
  kernel_of(how.runs, "sort_runs", by)(range, out, from, n, pieces, length,
    high, inf, flip)
  if n <= RUN then return into end
  local spare = another()
  local other, width = open(spare), RUN
  while width < n do
    kernel_of(how.merge, "sort_merge", by)(range, other, out,
      as_indices and from or out, n, pieces, length, width, high, inf, flip)
    out, other, into, spare = other, out, spare, into
    width = width * 2
  end
  return into
end

-- --- sort, argsort, topk -----------------------------------------------------

-- Checks a boolean option of argument n.
local function check_flag(o, name, fname, n)
  if o[name] ~= nil and type(o[name]) ~= "boolean" then
    fail("%s: argument %d (options): %s: true or false expected, got %s", fname,
      n, name, C.describe(o[name]))
  end
  return o[name]
end

local function check_function(f, what)
  if type(f) ~= "function" then
    fail("%s: function expected, got %s", what, C.describe(f))
  end
end

-- Raises an error unless f returns a boolean for elements of these types on the
-- device of a.  Any number, such as a difference or a key, is true in Lua.
local function check_says(f, what, fname, a, ...)
  local gives, words = core.gives(fname, f, a.device, ...)
  if gives ~= "boolean" then
    fail("%s: a function that gives true or false expected, it gives %s", what,
      words)
  end
end

-- Returns elements with dimension d moved last, and a function that undoes it.
local function as_rows(a, d)
  local there, back = {}, {}
  for e = 1, #a.dims do
    if e ~= d then there[#there + 1] = e end
  end
  there[#there + 1] = d
  for place, e in ipairs(there) do back[e] = place end
  return core.contiguous(a:permute(there)), function(rows)
    return core.contiguous(rows:permute(back))
  end
end

-- Returns rows, each sorted: the elements, or their indices.
local function sorted_rows(rows, by, descending, as_indices)
  local n = rows.dims[#rows.dims]
  if rows.size == 0 then
    return new(as_indices and "long" or rows.kind, {unpack(rows.dims)},
      not as_indices and rows.mask or nil, rows.home)
  end
  if by then return sort_by_merging(rows, n, by, descending, as_indices) end
  if n < LONG then
    return core.sort_by_network(rows, n, as_indices,
        key_arguments(rows.kind, descending)) or
      sort_by_merging(rows, n, nil, descending, as_indices)
  end
  return sort_by_digits(rows, n, descending, as_indices)
end

-- Returns a dimension, by default the last.
local function last_or(a, d, fname, where)
  return dimension(#a.dims, d == nil and -1 or d, fname, where)
end

local function sort_with(fname, as_indices)
  define(fname, function(a, o)
    check(a, 1, "a", fname)
    o = core.options(o, {"dim", "descending", "by"}, fname, 2)
    local descending = check_flag(o, "descending", fname, 2)
    local by = o.by
    if by ~= nil then
      local what = fname .. ": argument 2 (options): by"
      check_function(by, what)
      if descending ~= nil then
        fail("%s: argument 2 (options): by and descending: by says the order",
          fname)
      end
      check_says(by, what, fname, a, a.kind, a.kind)
    end
    if #a.dims == 0 and o.dim == nil then
      return sorted_rows(a:reshape {1}, by, descending, as_indices):reshape {}
    end
    local rows, back = as_rows(a, last_or(a, o.dim, fname,
      "argument 2 (options): dim"))
    return back(sorted_rows(rows, by, descending, as_indices))
  end)
end

-- sort(a [, options]), argsort(a [, options]): dim, descending, by; by(x, y)
-- returns true if x comes before y.
sort_with("sort", false)
sort_with("argsort", true)

-- --- selection ---------------------------------------------------------------

local SPAN <const> = 1024     -- elements of a list of which one key is kept
local LANES <const> = 16

local function selection_functions(key)
  -- Finds the first key of each span, as signed integers.
  local function first_keys(i, into, from, n, high, inf, flip)
    local list, start = private_array("long", LANES), (i - 1) * SPAN
    for l = 1, LANES do list[l] = math.maxinteger end
    local p, last = start, min(start + SPAN, n)
    while p + LANES <= last do
      for l = 1, LANES do
        list[l] = min(list[l], key(from[p + l], high, inf, flip) ~
          math.mininteger)
      end
      p = p + LANES
    end
    while p < last do
      p = p + 1
      list[1] = min(list[1], key(from[p], high, inf, flip) ~ math.mininteger)
    end
    for l = 2, LANES do list[1] = min(list[1], list[l]) end
    into[i] = list[1]
  end

  local function mark(i, mask, from, bounds, k, high, inf, flip)
    mask[i] = key(from[i], high, inf, flip) ~ math.mininteger <= bounds[k]
      and 1 or 0
  end

  return {first_keys = first_keys, mark = mark}
end

local selection = {integers = selection_functions(sort_keys.integers.key),
  reals = selection_functions(sort_keys.reals.key)}

-- Returns the indices of the first k elements of a long list in order; nil if
-- sorting it all is better.  k spans have a first key that is at most the k-th
-- one of these keys, so no element behind that key is among the first k.
local function first_places(list, k, descending)
  local n = list.size
  if n < 4 * LONG or k == 0 or k > n // SPAN // 4 then return nil end
  local f = types[list.kind].real and selection.reals or selection.integers
  local high, inf, flip = key_arguments(list.kind, descending)
  local from, spans = bits(list, "topk"), (n + SPAN - 1) // SPAN
  local found = new("long", {spans}, nil, list.home)
  program(f.first_keys, "topk_keys")(items(spans, list.device), found.buffer,
    from, n, high, inf, flip)
  local mask = new("uchar", {n}, true, list.home)
  program(f.mark, "topk_mark")(n, mask.buffer, from,
    sorted_rows(found).buffer, k, high, inf, flip)
  local places = mask:nonzero()
  if places.size > n // 4 then return nil end
  local order = sorted_rows(list:take(places), nil, descending, true)
  return places:take(order[{ {1, k} }])
end

-- topk(a, k [, options]) -> the k largest along a dimension, their indices.
define("topk", function(a, k, o)
  check(a, 1, "a", "topk")
  o = core.options(o, {"dim", "largest"}, "topk", 3)
  local largest = check_flag(o, "largest", "topk", 3) ~= false
  local d = last_or(a, o.dim, "topk", "argument 3 (options): dim")
  k = core.check_integer(k, "topk", "argument 2 (k)",
    "an integer of 0 to " .. a.dims[d], 0, a.dims[d])
  local rows, back = as_rows(a, d)
  local places = rows.size == a.dims[d] and
    first_places(rows:reshape {rows.size}, k, largest)
  if places then
    local shape = {unpack(rows.dims)}
    shape[#shape] = k
    places = places:reshape(shape)
  else
    local part = {}
    for e = 1, #a.dims do part[e] = {} end
    part[#part] = {1, k}
    places = core.contiguous(sorted_rows(rows, nil, largest, true)[part])
  end
  return back(rows:gather(places)), back(places)
end)

-- --- sorted elements ---------------------------------------------------------

local function mark_new(i, mask, sorted)
  local is_new = 1
  if i > 1 then
    local x, y = sorted[i - 1], sorted[i]
    if x == y or x ~= x then is_new = 0 end
  end
  mask[i] = is_new
end

-- unique(a [, options]) -> the distinct elements, sorted; then, as the options
-- say: the number of times that each occurs, the index in the result of each
-- element of a, the index of each one's first occurrence.
define("unique", function(a, o)
  check(a, 1, "a", "unique")
  o = core.options(o, {"counts", "inverse", "index"}, "unique", 2)
  local count = check_flag(o, "counts", "unique", 2)
  local inverse = check_flag(o, "inverse", "unique", 2)
  local index = check_flag(o, "index", "unique", 2)
  local list, more = core.contiguous(a):reshape {a.size}, {}
  local order, sorted
  if inverse or index then
    order = sorted_rows(list, nil, nil, true)
    sorted = list:take(order)
  else
    sorted = sorted_rows(list)
  end
  if a.size == 0 then
    local function none(shape) return new("long", shape, nil, a.home) end
    if count then more[1] = none {0} end
    if inverse then more[#more + 1] = none {unpack(a.dims)} end
    if index then more[#more + 1] = none {0} end
    return sorted, unpack(more)
  end
  local marks = new("uchar", sorted.dims, true, a.home)
  program(mark_new, "unique")(a.size, marks.buffer, sorted.buffer)
  local values = core.compact(sorted, marks)
  if not (count or order) then return values end
  local first = marks:nonzero()
  if count then
    local behind = core.filled(new("long", {1}, nil, a.home), a.size + 1)
    more[1] = A.cat {first[{ {2, -1} }], behind} - first
  end
  if inverse then
    more[#more + 1] = order:scatter(order, marks:cumsum()):reshape(a.dims)
  end
  if index then more[#more + 1] = order:take(first) end
  return values, unpack(more)
end)

-- Functions that put the k-th element of a sorted row at its place: the rows
-- are sorted.
for name, sorter in next, {partition = "sort", argpartition = "argsort"} do
  define(name, function(a, k, o)
    check(a, 1, "a", name)
    o = core.options(o, {"dim"}, name, 3)
    local d = last_or(a, o.dim, name, "argument 3 (options): dim")
    local n = a.dims[d]
    local what = "an index of 1 to " .. n
    if core.check_integer(k, name, "argument 2 (k)", what, -n, n) == 0 then
      fail("%s: argument 2 (k): %s expected, got 0", name, what)
    end
    return a[sorter](a, {dim = d})
  end)
end

-- A.lexsort(list [, options]): the indices that sort by the last array of a
-- list, equal elements by the array before it, and so on.
function A.lexsort(list, o)
  local first, keys = core.first_of(list, "lexsort")
  o = core.options(o, {"dim"}, "lexsort", 2)
  local d = last_or(first, o.dim, "lexsort", "argument 2 (options): dim")
  for i, key in ipairs(keys) do
    if not types[key.kind] then
      fail("lexsort: argument 1 (list): element %d: %s has no order", i,
        key.kind)
    elseif table.concat(key.dims, ", ") ~= table.concat(first.dims, ", ") then
      fail("lexsort: argument 1 (list): element %d: shape %s expected, got %s",
        i, core.shape_text(first.dims), core.shape_text(key.dims))
    end
  end
  local order = first:argsort {dim = d}
  for i = 2, #keys do
    order = order:gather(keys[i]:gather(order, d):argsort {dim = d}, d)
  end
  return order
end

local function less_integer(x, y) return x < y end
local function less_real(x, y) return x < y or y ~= y and x == x end

local function search_function(less)
  return function(i, out, sorted, values, n, right)
    local v, low, high = values[i], 1, n + 1
    while low < high do
      local m = (low + high) // 2
      local behind
      if right ~= 0 then
        behind = not less(v, sorted[m])
      else
        behind = less(sorted[m], v)
      end
      if behind then low = m + 1 else high = m end
    end
    out[i] = low
  end
end

local search = {real = search_function(less_real),
  integer = search_function(less_integer), ulong = search_function(ult)}

-- Returns the type for comparing elements: exact if the device has one.
local function common_type(a, kind, fname)
  local s, t = types[a.kind], types[kind]
  if not s.real ~= not t.real and a.device.fp64 and
    (s.real and t or s).bits >= 32
  then
    return "double"
  end
  local both, why = core.promote(a.kind, kind)
  if not both then fail("%s: %s", fname, why) end
  return both
end

-- Returns nested tables with integers that compare, with all elements of a type
-- of integers, as the numbers of `v` do; nil if there is none for a number.
local function whole_values(kind, v, up)
  if type(v) ~= "table" then
    return mathtype(v) == "float" and core.nearest_whole(kind, v, up) or
      mathtype(v) == "integer" and v or nil
  end
  local list = {}
  for i, one in ipairs(v) do
    list[i] = whole_values(kind, one, up)
    if list[i] == nil then return nil end
  end
  return list
end

-- Returns tables of numbers to search in a, as an array beside a.
local function searched(a, values, right)
  local what, kind = "searchsorted: argument 2 (values)", a.kind
  if not types[kind].real then
    local integers = whole_values(kind, values, not right)
    if integers then
      values, kind = integers, kind == "ulong" and kind or "long"
    else
      kind = a.device.fp64 and "double" or "float"
    end
  end
  return core.from_tables(kind, values, what, a.home)
end

-- searchsorted(a, values [, options]) -> the place to insert each value so that
-- a stays sorted: before equal elements, or after them with right = true.
define("searchsorted", function(a, values, o)
  check(a, 1, "a", "searchsorted")
  o = core.options(o, {"right"}, "searchsorted", 3)
  local right = check_flag(o, "right", "searchsorted", 3)
  if #a.dims ~= 1 then
    fail("searchsorted: argument 1 (a): one dimension expected, got %d",
      #a.dims)
  end
  if mathtype(values) == "float" and not types[a.kind].real then
    -- Use an integer that compares the same with all others: no rounding.
    values = core.nearest_whole(a.kind, values, not right) or values
  end
  if type(values) == "number" then
    local kind = mathtype(values) == "float" and
      (types[a.kind].real and a.kind or a.device.fp64 and "double" or "float")
      or a.kind == "ulong" and "ulong" or "long"
    values = core.filled(new(kind, {}, nil, a.home),
      core.fitting("searchsorted: argument 2 (values)", kind, values))
  elseif type(values) == "table" and not is(values) then
    values = searched(a, values, right)
  end
  check(values, 2, "values", "searchsorted")
  core.together("searchsorted", {"a", "values"}, a, values)
  local kind = common_type(a, values.kind, "searchsorted")
  local into = new("long", {unpack(values.dims)}, nil, a.home)
  if into.size == 0 then return into end
  local function as_kind(x)
    return (ready(x.kind == kind and x or x:to(kind)))
  end
  local f = kind == "ulong" and "ulong" or types[kind].real and "real" or
    "integer"
  program(search[f], "searchsorted")(into.size, into.buffer, as_kind(a),
    as_kind(values), a.size, right and 1 or 0)
  return into
end)

-- --- histogram ---------------------------------------------------------------

-- Converts a ulong element, which is read as signed, to a real.
local function as_real(v)
  local x = v + 0.0
  if x < 0.0 then x = x + 0x1p64 end
  return x
end

local function find_bounds(i, lows, highs, from, n, length, wraps)
  local low = from[(i - 1) * length + 1] + 0.0
  if wraps ~= 0 then low = as_real(from[(i - 1) * length + 1]) end
  local high = low
  for p = (i - 1) * length + 1, min(i * length, n) do
    local x = from[p] + 0.0
    if wraps ~= 0 then x = as_real(from[p]) end
    if x < low or x ~= x then low = x end
    if x > high then high = x end
  end
  lows[i], highs[i] = low, high
end

-- Rounding leads at most to a neighbouring bin, and only within `doubt` of an
-- edge: then, recorded as -1 - bin, the edges decide.  A piece has two more
-- bins: for elements at the last edge, and for elements out of range.
local function bin_counter(value)
  return function(i, counts, from, n, length, bins, low, high, scale, doubt,
                  edges)
    local block = (i - 1) * (bins + 2) + 1
    local found = private_array("int", 256)
    local p, last = (i - 1) * length, min(i * length, n)
    while p < last do
      local m = min(256, last - p)
      for q = 1, m do
        local x = value(from[p + q])
        local place = (x - low) * scale
        local bin = floor(max(0.0, min(bins - 1.0, place)))
        local above = place - bin
        if above < doubt or above > 1.0 - doubt then bin = -1 - bin end
        if not (x >= low and x <= high) then bin = bins + 1 end
        found[q] = bin
      end
      for q = 1, m do
        local bin = found[q]
        if bin < 0 then
          local x = value(from[p + q])
          bin = -1 - bin
          if x < edges[bin + 1] then bin = bin - 1 end
          if x >= edges[bin + 2] then bin = bin + 1 end
        end
        local at = block + bin
        counts[at] = counts[at] + 1
      end
      p = p + m
    end
  end
end

-- Bounds are reals: an integer beyond 2^53 may be outside bounds made from it.
local count_bins = bin_counter(function(v) return v + 0.0 end)
local count_unsigned = bin_counter(as_real)

local function add_pieces(i, out, counts, pieces, bins)
  local sum = 0
  for p = 0, pieces - 1 do
    local at = p * (bins + 2) + i
    sum = sum + counts[at]
    if i == bins then sum = sum + counts[at + 1] end
  end
  out[i] = sum
end

-- 8-bit integers are counted by value, which is twice as fast as counting the
-- digits of a sort; these counts are then added to bins.
local function count_bytes(i, counts, from, n, length)
  local block = (i - 1) * DIGITS + 1
  for d = block, block + DIGITS - 1 do counts[d] = 0 end
  for p = (i - 1) * length + 1, min(i * length, n) do
    local at = block + from[p]
    counts[at] = counts[at] + 1
  end
end

local function add_bytes(i, out, totals, bins, edges, least)
  local low, high, sum = edges[i], edges[i + 1], 0
  local v = max(least + 0.0, -(-low // 1))
  while v < least + 256.0 and (v < high or i == bins and v == high) do
    sum = sum + totals[(floor(v) & DIGITS - 1) + 1]
    v = v + 1.0
  end
  out[i] = sum
end

local function finite(v) return v - v == 0 end

-- Returns the lowest and the highest element of the argument `name`, in errors;
-- `advice` is what to give instead.  Waits.
local function bounds_of(a, name, advice)
  if a.size == 0 then return 0.0, 1.0 end
  local wide = a.device.fp64 and "double" or "float"
  local from, n = ready(a)
  local _, length = cut(n, a.device, 4096)
  local pieces = (n + length - 1) // length -- each has an element
  local lows = core.beside(a.home, wide, pieces)
  local highs = core.beside(a.home, wide, pieces)
  program(find_bounds, "bounds", a.kind)(items(pieces, a.device), lows, highs,
    from, n, length, a.kind == "ulong" and 1 or 0)
  local low, high = math.huge, -math.huge
  for _, v in ipairs(lows:read()) do
    if v < low or v ~= v then low = v end
    if v ~= v then break end
  end
  for _, v in ipairs(highs:read()) do high = max(high, v) end
  if not finite(low) or not finite(high) then
    fail("%s: there are elements that are not finite; give %s", name, advice)
  end
  if low == high then return low - 0.5, high + 0.5 end
  return low, high
end

-- Returns a type that can represent edges this close together.
local function edge_type(a, bins, low, high, where)
  local far = max(-low, low, -high, high) * bins
  local t = types[a.kind]
  local wide = a.device.fp64 and (a.kind == "double" or
    not t.real and t.bits >= 32 or high - low > 0x1p127)
  local scale = bins / (high - low) -- that type must represent it, too
  if not wide and far <= (high - low) * 0x1p20 and scale < 0x1p127 then
    return "float"
  end
  if a.device.fp64 and far <= (high - low) * 0x1p49 and finite(scale) then
    return "double"
  end
  fail("%s: %d bins between %s and %s are too narrow", where, bins, low, high)
end

-- Counts elements in bins of equal width between low and high; the last bin
-- includes its upper edge.  In errors of the call fname, `name` names a and
-- `where` the bins; without o, the elements have the bounds.
local function count_equal(a, bins, o, fname, name, where)
  bins = core.check_integer(bins, fname, where,
    "an integer of 1 to 2147483647", 1, (1 << 31) - 1)
  local advice = o and "low and high" or "edges"
  o = o or {}
  for _, option in ipairs {"low", "high"} do
    local v = o[option]
    if v ~= nil and (type(v) ~= "number" or not finite(v)) then
      fail("%s: argument 3 (options): %s: a finite number expected, got %s",
        fname, option, type(v) == "number" and tostring(v) or C.describe(v))
    end
  end
  local low, high = o.low, o.high
  if not low or not high then
    local least, most = bounds_of(a, fname .. ": " .. name, advice)
    low, high = low or least, high or most
  end
  if low >= high or not finite(high - low) then
    fail("%s: %s: low below high expected, got %s and %s", fname,
      next(o) and "argument 3 (options)" or name, low, high)
  end
  local kind = edge_type(a, bins, low, high, fname .. ": " .. where)
  -- Elements are compared with the edges as returned.
  local ends = C.buffer(kind, {low, high}):read()
  low, high = ends[1], ends[2]
  local edges = core.spaced(new(kind, {bins + 1}, nil, a.home), low, high)
  local counts = new("long", {bins}, nil, a.home)
  local from, n = ready(a)
  if n == 0 then
    counts:fill(0)
    return counts, edges
  end
  if types[a.kind].bits == 8 then
    local pieces, length = cut(n, a.device, 4096)
    local width = n < 1 << 31 and "int" or "long"
    local int = n < 1 << 30 and "int" or "long"
    local private = core.beside(a.home, width, pieces * DIGITS)
    local totals = core.beside(a.home, width, DIGITS)
    program(count_bytes, "histogram_bytes", int, {int = int})(
      items(pieces, a.device), private, from:view(1, n, "uchar"), n, length)
    program(place_pieces, "sort_places")({DIGITS, 1}, private, totals, pieces)
    program(add_bytes, "histogram_values", kind, {real = kind})(bins,
      counts.buffer, totals, bins, edges.buffer,
      types[a.kind].signed and -128 or 0)
    return counts, edges
  end
  local pieces, length = cut(n, a.device, max(4096, bins))
  local private = core.filled_beside(a.home,
    n < 1 << 31 and "int" or "long", pieces * (bins + 2))
  -- 32-bit integers are faster, if elements and places fit.
  local int = max(n, pieces * (bins + 2)) < 1 << 30 and
    core.is_narrow(a.kind) and "int" or "long"
  local scale = bins / (high - low)
  program(a.kind == "ulong" and count_unsigned or count_bins, "histogram",
    kind .. int .. a.kind, {real = kind, int = int})(items(pieces, a.device),
    private, from, n, length, bins, low, high, scale,
    max(-low, high) * scale * (kind == "float" and 0x1p-20 or 0x1p-49),
    edges.buffer)
  program(add_pieces, "histogram_sum")(bins, counts.buffer, private, pieces,
    bins)
  return counts, edges
end

core.common_type, core.count_equal = common_type, count_equal

-- --- filter ------------------------------------------------------------------

local filters = setmetatable({}, {__mode = "k"})

-- A.filter(f, x): the elements for which f(element) is true, in order.
function A.filter(f, x)
  check_function(f, "filter: argument 1 (f)")
  check(x, 2, "x", "filter")
  check_says(f, "filter: argument 1 (f)", "filter", x, x.kind)
  local k = filters[f]
  if not k then
    k = core.script_kernel(function(i, mask, from)
      if f(from[i]) then mask[i] = 1 else mask[i] = 0 end
    end, {name = "array_filter"})
    filters[f] = k
  end
  local mask = new("uchar", {unpack(x.dims)}, true, x.home)
  if x.size > 0 then k(x.size, mask.buffer, (ready(x))) end
  return core.compact(x, mask)
end
