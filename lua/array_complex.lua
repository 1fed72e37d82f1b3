-- array_complex.lua - arrays of complex numbers from their parts.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, X, fail, is = core.A, core.C, core.X, core.fail, core.is
local scalars = core.scalars
local ipairs, type = ipairs, type
local format = string.format

-- Returns the complex type of results of two real operands, which are arrays or
-- numbers.
local function type_of_parts(fname, words, x, y)
  local kind = core.result_type(fname, words, x, y)
  return core.reals[kind] == "double" and "complex128" or "complex64"
end

-- Returns a function of two real operands, which broadcast.  Of two numbers it
-- makes an array without dimensions, on the default device; `number` returns
-- its element.
local function from_parts(name, words, number)
  return function(x, y, o)
    for i = 1, 2 do
      local v = select(i, x, y)
      if not is(v) and type(v) ~= "number" then
        fail("%s: argument %d (%s): an array or a number expected, got %s",
          name, i, words[i], C.describe(v))
      end
      if is(v) then core.check(v, i, words[i], name) end
    end
    if not is(x) and not is(y) then
      local kind, device = core.option_type(o, name, 3, "complex64")
      if not scalars[kind] then
        fail("%s: argument 3 (options): type: complex64 or complex128 expected,"
          .. " got %s", name, kind)
      end
      return core.filled(core.new_on(device, kind, {}), core.fitting(name, kind,
        {number(x, y)}))
    end
    core.options(o, {}, name, 3)
    core.together(name, words, x, y)
    local kind = type_of_parts(name, words, x, y)
    local shape = is(x) and is(y) and core.broadcast(name, x.dims, y.dims) or
      (is(x) and x or y).dims
    core.needs_double(name, kind, is(x) and x or y)
    for i = 1, 2 do
      local v = select(i, x, y)
      if not is(v) then
        core.fitting(format("%s: argument %d (%s)", name, i, words[i]),
          scalars[kind], v)
      end
    end
    return X.express(name, kind, shape, nil, x, y)
  end
end

-- A.complex(re, im), A.polar(r, phi): complex numbers from real arrays and
-- numbers, which broadcast; complex128 if one is an array of double, else
-- complex64.  Of two numbers, an array of shape {}, whose type and device can
-- be options.
core.define("complex", from_parts("complex", {"re", "im"}, function(x, y)
  return x, y
end))
core.define("polar", from_parts("polar", {"r", "phi"}, function(r, phi)
  return r * math.cos(phi), r * math.sin(phi)
end))

-- --- reductions --------------------------------------------------------------

-- The parts of complex numbers are another, last dimension.  Sums of complex
-- numbers are sums of their parts.

local function is_complex(a) return is(a) and scalars[a.kind] ~= nil end

-- Replaces a function by one that calls f if the first argument is complex.
local function extend(name, f)
  local of_reals = A[name]
  core.define(name, function(a, o)
    if not is_complex(a) then return of_reals(a, o) end
    core.check(a, 1, "a", name)
    core.needs_double(name, a.kind, a)
    return f(a, o)
  end)
end

-- Checks the options of a reduction.  Returns the parts of the array, the
-- dimensions to reduce, and the options as a table.
local function reduction(a, o, name, known)
  local where = "argument 2 (options): dim"
  if type(o) == "number" then o, where = {dim = o}, "argument 2 (dim)" end
  o = core.check_options(o, name, 2, known)
  local list = {}
  if o.dim ~= nil then
    list = core.dimensions(a, o.dim, name, where)
  elseif #a.dims == 0 then
    a, list = a:reshape {1}, {1}
  else
    for d = 1, #a.dims do list[d] = d end
  end
  return core.parts(a), list, o
end

for _, name in ipairs {"sum", "mean"} do
  extend(name, function(a, o)
    if name == "sum" and type(o) == "table" and not is(o) and o.type ~= nil then
      a = a:to(core.any_type_of(o.type, name, "argument 2 (options): type"))
      if not is_complex(a) then return a:sum(o) end
    end
    local p, list, options = reduction(a, o, name,
      name == "sum" and {"dim", "keep", "type"} or nil)
    return core.join(A[name](p, {dim = list, keep = options.keep}), name)
  end)
end

-- The mean squared absolute value of the distance from the mean.
extend("var", function(a, o)
  local p, list, options = reduction(a, o, "var", {"dim", "keep", "correction"})
  return p:var({dim = list, keep = options.keep,
    correction = options.correction}):sum(-1)
end)
extend("std", function(a, o)
  local p, list, options = reduction(a, o, "std", {"dim", "keep", "correction"})
  return p:std({dim = list, keep = options.keep,
    correction = options.correction}):norm(-1)
end)

extend("norm", function(a, o)
  local p, list, options = reduction(a, o, "norm")
  list[#list + 1] = #p.dims
  local n = p:norm {dim = list, keep = options.keep}
  return options.keep and n:squeeze(-1) or n
end)

-- Multiplies the elements of two halves until one is left.
extend("prod", function(a, o)
  local kind = type(o) == "table" and not is(o) and o.type
  if kind then
    a = a:to(core.any_type_of(kind, "prod", "argument 2 (options): type"))
    if not is_complex(a) then return a:prod(o) end
  end
  local _, list, options = reduction(a, o, "prod", {"dim", "keep", "type"})
  if #a.dims == 0 then a = a:reshape {1} end
  local order, shape, chosen, n, rest = {}, {}, {}, 1, 1
  for _, d in ipairs(list) do chosen[d] = true end
  for d, size in ipairs(a.dims) do
    if chosen[d] then
      n = n * size
      if options.keep and #list > 0 then shape[#shape + 1] = 1 end
    else
      rest = rest * size
      order[#order + 1], shape[#shape + 1] = d, size
    end
  end
  for _, d in ipairs(list) do order[#order + 1] = d end
  if n == 0 or rest == 0 then
    return core.filled(core.new(a.kind, shape, nil, a.home), 1)
  end
  local x = a:permute(order):reshape {rest, n}
  while n > 1 do
    local half = n // 2
    local product = x[{{}, {1, half}}] * x[{{}, {half + 1, half * 2}}]
    if n % 2 == 1 then product = A.cat({product, x[{{}, {n, n}}]}, 2) end
    x, n = product:eval(), half + n % 2
  end
  return x:reshape(shape)
end)

extend("cumsum", function(a, o)
  local where = "argument 2 (options): dim"
  if type(o) == "number" then o, where = {dim = o}, "argument 2 (dim)" end
  o = core.options(o, {"dim", "include_initial"}, "cumsum", 2)
  local d = 1
  if o.dim == nil then a = a:reshape {a.size}
  else d = core.dimension(#a.dims, o.dim, "cumsum", where) end
  return core.join(core.parts(a):cumsum {dim = d,
    include_initial = o.include_initial}, "cumsum")
end)

for _, name in ipairs {"all", "any", "count"} do
  extend(name, function(a, o) return A[name](a:ne(0), o) end)
end
extend("nonzero", function(a) return a:ne(0):nonzero() end)

-- --- products ----------------------------------------------------------------

-- Returns a range of a dimension, counted from the end, as a view.
local function range(a, back, first, last)
  return core.narrow(a, #a.dims - back, first, last, 1)
end

-- Returns the product of matrices, of which at least one is complex: one real
-- product of matrices that have both parts.
function core.complex_product(a, b)
  local rows, columns = a.dims[#a.dims - 1], b.dims[#b.dims]
  if not is_complex(a) then
    local r = a:mm(A.cat({b:real(), b:imag()}, -1)):eval()
    return A.complex(range(r, 0, 1, columns),
      range(r, 0, columns + 1, columns * 2))
  end
  local re, im = a:real(), a:imag()
  local r
  if is_complex(b) then
    r = A.cat({A.cat({re, -im}, -1), A.cat({im, re}, -1)}, -2):mm(
      A.cat({b:real(), b:imag()}, -2))
  else
    r = A.cat({re, im}, -2):mm(b)
  end
  r:eval()
  return A.complex(range(r, 1, 1, rows), range(r, 1, rows + 1, rows * 2))
end

-- Calls f with the real and the imaginary parts of an array, and returns the
-- complex numbers of the results.
local function by_parts(a, f)
  return A.complex(f(a:real()), f(a:imag()))
end

for _, name in ipairs {"tril", "triu"} do
  extend(name, function(a, k)
    return by_parts(a, function(x) return A[name](x, k) end)
  end)
end

-- --- indices -----------------------------------------------------------------

-- Kernels that move elements as integers move at most 64 bits.
local function is_wide(a) return is(a) and a.kind == "complex128" end

for _, name in ipairs {"take", "gather"} do
  local narrow = A[name]
  core.define(name, function(a, index, d)
    if not is_wide(a) then return narrow(a, index, d) end
    core.check(a, 1, "a", name)
    return by_parts(a, function(x) return narrow(x, index, d) end)
  end)
end

local scatter = A.scatter
core.define("scatter", function(a, index, values, d)
  if not is_wide(a) then return scatter(a, index, values, d) end
  core.check(a, 1, "a", "scatter")
  local what = "scatter: argument 3 (values)"
  if type(values) == "number" then
    values = core.filled(core.new(a.kind, {}, nil, a.home),
      core.fitting(what, a.kind, values))
  elseif type(values) == "table" and not is(values) then
    values = core.from_tables(a.kind, values, what, a.home)
  elseif not is(values) then
    return scatter(a:real(), index, values, d)
  end
  return A.complex(scatter(a:real(), index, values:real(), d),
    scatter(a:imag(), index, values:imag(), d))
end)

local compact = core.compact
function core.compact(a, m)
  if not is_wide(a) then return compact(a, m) end
  return by_parts(a, function(x) return compact(x, m) end)
end
