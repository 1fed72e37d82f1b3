-- array_statistics.lua - statistics of arrays: quantiles, sums without NaN.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, define = core.A, core.C, core.define
local fail, types = core.fail, core.types

local check = core.check_numbers

-- Returns an array of float or double, in which sums of halves fit.
local function wide(a)
  local t = types[a.kind]
  return t.real and t.bits > 16 and a or a:to "float"
end

-- Returns a result of a wide array in the type of the original.
local function back(v, kind)
  local t = types[kind]
  return t.real and t.bits == 16 and v:to(kind) or v
end

local reduction_options = core.reduction_options

define("ptp", function(a, o)
  check(a, 1, "a", "ptp")
  o = reduction_options(a, o, "ptp", true)
  return a:max(o) - a:min(o)
end)

define("logsumexp", function(a, o)
  check(a, 1, "a", "logsumexp")
  local kind = a.kind
  a, o = wide(a), reduction_options(a, o, "logsumexp")
  if a.size == 0 then return back(a:sum(o):log(), kind) end
  local kept = {dim = o.dim, keep = true}
  local greatest = a:max(kept)
  -- The difference of two infinities is not a number.
  local shift = A.where(greatest:isfinite(), greatest, 0)
  return back(((a - shift):exp():sum(kept):log() + shift):sum(o), kind)
end)

-- Returns a softmax along a dimension, by default the last.
local function shifted(a, d, name)
  check(a, 1, "a", name)
  a = wide(a)
  d = core.dimension(#a.dims, d == nil and -1 or d, name, "argument 2 (dim)")
  if a.size == 0 then return a, d end
  return a - a:max {dim = d, keep = true}, d
end

define("softmax", function(a, d)
  local x
  x, d = shifted(a, d, "softmax")
  local e = x:exp()
  return back(e / e:sum {dim = d, keep = true}, a.kind)
end)

define("log_softmax", function(a, d)
  local x
  x, d = shifted(a, d, "log_softmax")
  return back(x - x:exp():sum({dim = d, keep = true}):log(), a.kind)
end)

define("nansum", function(a, o)
  check(a, 1, "a", "nansum")
  o = reduction_options(a, o, "nansum")
  return (types[a.kind].real and A.where(a:isnan(), 0, a) or a):sum(o)
end)

define("nanmean", function(a, o)
  check(a, 1, "a", "nanmean")
  o = reduction_options(a, o, "nanmean")
  if not types[a.kind].real then return a:mean(o) end
  local none = a:isnan()
  return back(A.where(none, 0, wide(a)):sum(o) / none:eq(0):count(o), a.kind)
end)

for name, worst in next, {nanmax = -math.huge, nanmin = math.huge} do
  local chosen = name:sub(4)
  define(name, function(a, o)
    check(a, 1, "a", name)
    o = reduction_options(a, o, name, true)
    if not types[a.kind].real then return a[chosen](a, o) end
    local none = a:isnan()
    local rest = A.where(none, worst, a)
    return A.where(none:all(o), 0 / 0, rest[chosen](rest, o))
  end)
end

-- Returns a with the dimensions of the options as its last, merged; the shape
-- of the others, and the shape of a reduction's result.
local function merged(a, o, name)
  if type(o) == "number" then o = {dim = o} end
  o = core.check_options(o, name, 3)
  local list = o.dim
  if list == nil then
    list = {}
    for d = 1, #a.dims do list[d] = d end
  end
  local _, last = core.dimensions(a, list, name, "argument 3 (options): dim")
  local order, chosen, rest, shape, n = {}, {}, {}, {}, 1
  for d, s in ipairs(a.dims) do
    if last[d] then
      n, chosen[#chosen + 1] = n * s, d
      if o.keep then shape[#shape + 1] = 1 end
    else
      order[#order + 1], rest[#rest + 1], shape[#shape + 1] = d, s, s
    end
  end
  table.move(chosen, 1, #chosen, #order + 1, order)
  rest[#rest + 1] = n
  if #order > 0 then a = a:permute(table.unpack(order)) end
  return a:reshape(rest), shape, n
end

-- Returns quantiles; the shape of q precedes the shape of the others.
local function quantiles(a, q, o, name, scale)
  check(a, 1, "a", name)
  local list, shape = {q}, {}
  if core.is(q) then
    check(q, 2, "q", name)
    list, shape = q:read(), {table.unpack(q.dims)}
  elseif type(q) == "table" then
    list, shape = q, {#q}
  end
  for _, v in ipairs(list) do
    if type(v) ~= "number" or not (v >= 0 and v <= scale) then
      fail("%s: argument 2 (q): a number of 0 to %d expected, got %s", name,
        scale, type(v) == "number" and v or C.describe(v))
    end
  end
  local x, rest, n = merged(wide(a), o, name)
  if n == 0 then
    fail("%s: argument 1 (a): shape %s has no elements to choose from", name,
      core.shape_text(a.dims))
  end
  local low, high, share = {}, {}, {}
  for i, v in ipairs(list) do
    local place = v / scale * (n - 1)
    low[i] = math.floor(place) + 1
    high[i] = math.ceil(place) + 1
    share[i] = place - math.floor(place)
  end
  table.move(rest, 1, #rest, #shape + 1, shape)
  if #list == 0 or x.size == 0 then
    return back(core.new(x.kind, shape, nil, x.home), a.kind)
  end
  x = x:sort {dim = -1}
  local function at(places)
    return x:take(core.from_tables("long", places, name, x.home), -1)
  end
  local a1, a2 = at(low), at(high)
  local t = core.from_tables(x.kind, share, name, x.home)
  -- Neither an infinity nor a large difference makes this NaN.
  local v = A.where(a1:eq(a2) | t:eq(0), a1, a1 * (1 - t) + a2 * t)
  -- NaN is sorted last.
  v = A.where(at {n}:isnan(), 0 / 0, v)
  local rank = #v.dims
  local order = {rank}
  for d = 1, rank - 1 do order[d + 1] = d end
  return back(v, a.kind):permute(table.unpack(order)):reshape(shape)
end

define("quantile", function(a, q, o)
  return quantiles(a, q, o, "quantile", 1)
end)
define("percentile", function(a, q, o)
  return quantiles(a, q, o, "percentile", 100)
end)
define("median", function(a, o)
  check(a, 1, "a", "median")
  return quantiles(a, 0.5, reduction_options(a, o, "median"), "median", 1)
end)

-- Returns the option `weights`, argument n of fname, as an array beside a, or
-- nil.
function core.weights_of(a, o, fname, n)
  local what = fname .. ": argument " .. n .. " (options): weights"
  local w = core.X.table_of(o.weights)
  if w == nil then return nil end
  if type(w) ~= "table" then
    fail("%s: array or table expected, got %s", what, C.describe(w))
  elseif not core.is(w) then
    return core.from_tables(a.kind == "double" and "double" or "float", w, what,
      a.home)
  elseif core.is_closed(w) then
    fail("%s: the array is closed", what)
  elseif not types[w.kind] then
    fail("%s: numbers expected, got %s", what, w.kind)
  end
  core.together(fname, {"a", "the weights"}, a, w)
  return w
end

define("average", function(a, o)
  check(a, 1, "a", "average")
  o = core.options(o, {"dim", "keep", "weights"}, "average", 2)
  local how = {dim = o.dim, keep = o.keep}
  reduction_options(a, how, "average")
  local w = core.weights_of(a, o, "average", 2)
  if w == nil then return a:mean(how) end
  if #w.dims == 1 and #a.dims > 1 and math.type(o.dim) then
    local shape = {}
    for d = 1, #a.dims do shape[d] = 1 end
    shape[core.dimension(#a.dims, o.dim, "average",
      "argument 2 (options): dim")] = w.size
    w = w:reshape(shape)
  end
  if not core.X.same_shape(core.broadcast("average", a.dims, w.dims),
      a.dims) then
    fail("average: argument 2 (options): weights: shape %s does not broadcast "
      .. "to %s", core.shape_text(w.dims), core.shape_text(a.dims))
  end
  w = wide(w)
  return back((wide(a) * w):sum(how) / w:expand(a.dims):sum(how), a.kind)
end)

-- Returns the covariances of the rows of a matrix, and their sums of squares.
local function covariances(a, correction, name)
  check(a, 1, "a", name)
  if #a.dims ~= 1 and #a.dims ~= 2 then
    fail("%s: argument 1 (a): 1 or 2 dimensions expected, got shape %s", name,
      core.shape_text(a.dims))
  end
  a = wide(a)
  if #a.dims == 1 then a = a:reshape {1, a.size} end
  local x = a - a:mean {dim = 2, keep = true}
  return x:mm(x:t()) / math.max(a.dims[2] - correction, 0.0),
    (x * x):sum {dim = 2}
end

define("cov", function(a, o)
  o = core.options(o, {"correction"}, "cov", 2)
  local c = o.correction
  if c == nil then c = 1 end
  if type(c) ~= "number" then
    fail("cov: argument 2 (options): correction: a number expected, got %s",
      C.describe(c))
  end
  local v = back(covariances(a, c, "cov"), a.kind)
  return #a.dims == 1 and v:reshape {} or v
end)

define("corrcoef", function(a)
  local v, squares = covariances(a, 0, "corrcoef")
  local s = (squares / math.max(a.dims[#a.dims], 1)):sqrt()
  v = back((v / s / s:reshape {s.size, 1}):clamp(-1, 1), a.kind)
  return #a.dims == 1 and v:reshape {} or v
end)
