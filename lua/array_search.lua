-- array_search.lua - arrays: the places of values, how often they occur, and
-- values between them.
-- SPDX-License-Identifier: MIT

local core = ...
local C, A, fail, is = core.C, core.A, core.fail, core.is
local new, types, shape_text = core.new, core.types, core.shape_text
local define, check = core.define, core.check_numbers
local ipairs, max, type = ipairs, math.max, type
local table_of, unpack = core.X.table_of, table.unpack

-- Returns argument n as an array beside a.  Tables become elements of its type,
-- or of a wider one if it is a type of integers.
local function beside(a, v, n, name, fname)
  local what = fname .. ": argument " .. n .. " (" .. name .. ")"
  if type(v) == "table" and not is(v) then
    local kind = a.kind
    if not types[kind].real and kind ~= "ulong" then
      kind = core.is_whole(v) and "long" or a.device.fp64 and "double" or
        "float"
    end
    v = core.from_tables(kind, v, what, a.home)
  end
  check(v, n, name, fname)
  core.together(fname, {"a", name}, a, v)
  return v
end

-- argwhere(a): a row of indices for each element that is not 0.
define("argwhere", function(a)
  check(a, 1, "a", "argwhere")
  local places = a:nonzero()
  return #a.dims == 1 and places:reshape {places.size, 1} or places
end)

-- isin(a, values): the mask of the elements that are among the values.
define("isin", function(a, values)
  check(a, 1, "a", "isin")
  if type(values) == "number" then return a:eq(values) end
  values = beside(a, values, 2, "values", "isin")
  if values.size == 0 or a.size == 0 then
    return core.filled(new("uchar", {unpack(a.dims)}, true, a.home), 0)
  end
  local kind = core.common_type(a, values.kind, "isin")
  a = a:to(kind)
  local sorted = values:to(kind):reshape {values.size}:sort()
  return sorted:take(sorted:searchsorted(a):clamp(1, values.size)):eq(a)
end)

-- Returns the option `weights`, argument n: an array of the shape of a, or nil.
local function check_weights(a, o, fname, n)
  local w = core.weights_of(a, o, fname, n)
  if w and not core.X.same_shape(w.dims, a.dims) then
    fail("%s: argument %d (options): weights: shape %s expected, got %s", fname,
      n, shape_text(a.dims), shape_text(w.dims))
  end
  return w
end

-- Returns how often each of 1..n is in `a`, or the sums of its weights.
local function count(a, n, weights)
  if not weights then
    local sorted = a:reshape {a.size}:sort()
    local all = core.spaced(new("long", {n}, nil, a.home), 1, n)
    return sorted:searchsorted(all, {right = true}) - sorted:searchsorted(all)
  end
  local kind = weights.kind
  if not types[kind].real then kind = kind == "ulong" and kind or "long" end
  local zeros = core.filled(new(kind, {n}, nil, a.home), 0)
  if n == 0 or a.size == 0 then return zeros end
  return core.add_at(zeros, a:to "long":reshape {a.size},
    weights:to(kind):reshape {a.size})
end

-- bincount(a [, options]): how often each integer from 1 on occurs.
define("bincount", function(a, o)
  check(a, 1, "a", "bincount")
  if types[a.kind].real or a.mask then
    fail("bincount: argument 1 (a): integers expected, got %s",
      a.mask and "a mask" or a.kind)
  end
  o = core.options(o, {"weights", "size"}, "bincount", 2)
  local weights = check_weights(a, o, "bincount", 2)
  local n = o.size == nil and 0 or core.check_integer(o.size, "bincount",
    "argument 2 (options): size", "a size", 0)
  if a.size > 0 then
    local least = a:min():item()
    if a.kind ~= "ulong" and least < 1 or least == 0 then
      fail("bincount: argument 1 (a): integers from 1 on expected, got %d",
        least)
    end
    local most = a:max():item()
    if most < 0 then
      fail("bincount: argument 1 (a): %s is too large",
        C.core.integer_text(most, true))
    end
    n = max(n, most)
  end
  core.check_shape({n}, "bincount")
  return count(a.kind == "ulong" and a:to "long" or a, n, weights)
end)

-- interp(x, xs, ys): values at x of the lines between points; xs ascends.
define("interp", function(x, xs, ys)
  local a = is(x) and x or is(xs) and xs or ys
  if not is(a) then check(x, 1, "x", "interp") end
  if type(x) == "number" then
    x = core.filled(new(types[a.kind].real and a.kind or "float", {}, nil,
      a.home), x)
  end
  check(x, 1, "x", "interp")
  local lists = {xs, ys}
  local kind = types[x.kind].real and x.kind or "float"
  for _, v in ipairs(lists) do
    if is(v) and types[v.kind] and types[v.kind].real then
      kind = core.promote(kind, v.kind)
    end
  end
  for i, name in ipairs {"xs", "ys"} do
    local v = lists[i]
    if type(v) == "table" and not is(v) then
      v = core.from_tables(kind, v, "interp: argument " .. i + 1 .. " (" ..
        name .. ")", x.home)
    end
    v = beside(x, v, i + 1, name, "interp")
    if #v.dims ~= 1 or v.size == 0 then
      fail("interp: argument %d (%s): a list of numbers expected, got shape %s",
        i + 1, name, shape_text(v.dims))
    end
    lists[i] = v
  end
  xs, ys = lists[1], lists[2]
  local n = xs.size
  if n ~= ys.size then
    fail("interp: argument 3 (ys): shape %s expected, got %s",
      shape_text(xs.dims), shape_text(ys.dims))
  end
  for _, v in ipairs(lists) do
    kind = core.promote(kind, types[v.kind].real and v.kind or kind)
  end
  x, xs, ys = x:to(kind), xs:to(kind), ys:to(kind)
  local first, last = ys[{ {1, 1} }]:reshape {}, ys[{ {n, n} }]:reshape {}
  local low, high = xs[{ {1, 1} }]:reshape {}, xs[{ {n, n} }]:reshape {}
  local inside = x * 0 + first
  if n > 1 then
    local j = xs:searchsorted(x, {right = true}):clamp(2, n):eval()
    local x0, y0, x1, y1 = xs:take(j - 1), ys:take(j - 1), xs:take(j),
      ys:take(j)
    local slope = (y1 - y0) / (x1 - x0)
    inside = y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    -- As in NumPy, infinite values count from the other end.
    inside = A.where(inside:isnan(), y1 + (x - x1) * slope, inside)
    inside = A.where(x:eq(x0) | (y0:eq(y1) & x:eq(x)), y0, inside)
  end
  return A.where(x:lt(low), first, A.where(x:ge(high), last, inside))
end)

-- Returns edges as an array, from argument n.
local function edges_of(a, v, fname, n)
  local what = fname .. ": argument " .. n .. " (bins)"
  if not is(v) then
    v = core.from_tables(a.device.fp64 and "double" or "float", v, what, a.home)
  end
  v = beside(a, v, n, "bins", fname)
  if #v.dims ~= 1 or v.size < 2 then
    fail("%s: a list of 2 edges or more expected, got shape %s", what,
      shape_text(v.dims))
  end
  if v[{ {2, -1} }]:ge(v[{ {1, -2} }]):all():item() == 0 then
    fail("%s: the edges must ascend", what)
  end
  return v
end

-- Returns the bin of each element, from 1, and one more for the others.
local function bins_of(a, edges)
  local n = edges.size - 1
  local bin = edges:searchsorted(a, {right = true}) - 1
  local last = a:eq(edges[{ {n + 1, n + 1} }]:reshape {})
  bin = A.where(last, n, bin)
  return A.where(bin:lt(1), n + 1, bin)
end

-- histogram(a, bins [, options]) -> counts, edges: bins is a number of bins of
-- equal width, or the edges.
define("histogram", function(a, bins, o)
  check(a, 1, "a", "histogram")
  o = core.options(o, {"low", "high", "weights"}, "histogram", 3)
  local weights = check_weights(a, o, "histogram", 3)
  local counts, edges
  if type(bins) == "table" then
    for _, name in ipairs {"low", "high"} do
      if o[name] ~= nil then
        fail("histogram: argument 3 (options): %s: edges have their own bounds",
          name)
      end
    end
    edges = edges_of(a, bins, "histogram", 2)
  else
    counts, edges = core.count_equal(a, bins, o, "histogram",
      "argument 1 (a)", "argument 2 (bins)")
    if not weights then return counts, edges end
  end
  local n = edges.size - 1
  return count(bins_of(a, edges), n + 1, weights)[{ {1, n} }], edges
end)

-- histogram2d(a, y, bins [, options]) -> counts, edges of a, edges of y.
define("histogram2d", function(a, y, bins, o)
  check(a, 1, "a", "histogram2d")
  check(y, 2, "y", "histogram2d")
  core.together("histogram2d", {"a", "y"}, a, y)
  if shape_text(a.dims) ~= shape_text(y.dims) then
    fail("histogram2d: argument 2 (y): shape %s expected, got %s",
      shape_text(a.dims), shape_text(y.dims))
  end
  o = core.options(o, {"weights"}, "histogram2d", 4)
  local weights = check_weights(a, o, "histogram2d", 4)
  local both = {bins, bins}
  if type(bins) == "table" and not is(bins) then
    if #bins ~= 2 then
      fail("histogram2d: argument 3 (bins): bins for a and for y expected, "
        .. "got %d", #bins)
    end
    both = bins
  end
  local function edges(v, b, name)
    b = table_of(b)
    if type(b) == "table" then return edges_of(v, b, "histogram2d", 3) end
    local _, e = core.count_equal(v, b, nil, "histogram2d", name,
      "argument 3 (bins)")
    return e
  end
  local xs = edges(a, both[1], "argument 1 (a)")
  local ys = edges(y, both[2], "argument 2 (y)")
  local n, m = xs.size - 1, ys.size - 1
  local place = (bins_of(a, xs) - 1) * (m + 1) + bins_of(y, ys)
  local counts = count(place, (n + 1) * (m + 1), weights)
  return counts:reshape {n + 1, m + 1}[{ {1, n}, {1, m} }]:clone(), xs, ys
end)
