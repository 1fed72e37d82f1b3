-- array_linalg.lua - norms, powers and diagonals of matrices; A.linalg.
-- SPDX-License-Identifier: MIT

local core = ...
local fail, types = core.fail, core.types
local C, A, X, new, define = core.C, core.A, core.X, core.new, core.define
local shape_text, linear = core.shape_text, core.linear
local ipairs, type = ipairs, type
local unpack = table.unpack
local huge = math.huge

local real_type, with = linear.real_type, linear.with

-- --- norms -------------------------------------------------------------------

local function number_text(v)
  return type(v) == "number" and v or
    type(v) == "string" and '"' .. v .. '"' or C.describe(v)
end

-- Returns the elements in a type for norms.
local function reals(a)
  local kind = real_type(a.kind)
  return a.kind == kind and a or a:to(kind)
end

local function vector_norm(a, ord, o, fname)
  if ord == nil then ord = 2 end
  if type(ord) ~= "number" or ord ~= ord then
    fail("%s: argument 2 (options): ord: a number expected, got %s", fname,
      number_text(ord))
  end
  o = core.reduction_options(a, {dim = o.dim, keep = o.keep}, fname,
    ord == huge or ord == -huge)
  local x = reals(a)
  if ord == 2 then return core.plain_norm(x, o) end
  if ord == 0 then return x:ne(0):sum(o):to(x.kind) end
  x = x:abs()
  if ord == 1 then return x:sum(o) end
  if ord == huge then return x:max(o) end
  if ord == -huge then return x:min(o) end
  return (x ^ ord):sum(o) ^ (1 / ord)
end

-- a:vector_norm([options]): (sum |x|^ord)^(1 / ord) of all elements or along
-- dim; ord = 2 is the default, 0 counts elements that are not 0, infinities
-- give the largest and the least absolute value.
define("vector_norm", function(a, o)
  core.check(a, 1, "a", "vector_norm")
  if not types[a.kind] then a = a:abs() end
  o = core.options(o, {"dim", "keep", "ord"}, "vector_norm", 2)
  return vector_norm(a, o.ord, o, "vector_norm")
end)

-- Norms of matrices from the singular values.
local spectral = {
  [2] = function(s) return s:max {dim = -1} end,
  [-2] = function(s) return s:min {dim = -1} end,
  nuc = function(s) return s:sum {dim = -1} end
}

-- Norms from the sums of the absolute values of a row or column: the dimension
-- of the sums, and what is chosen of them.
local absolute = {[1] = {-2, "max"}, [-1] = {-2, "min"}, [huge] = {-1, "max"},
  [-huge] = {-1, "min"}}

local function matrix_norm(a, ord, fname)
  if ord == nil or ord == "fro" then
    return core.plain_norm(reals(a), {dim = {-2, -1}})
  elseif spectral[ord] then
    local _, s = linear.singular(a, nil, fname)
    return spectral[ord](s)
  elseif absolute[ord] then
    local dim, choice = unpack(absolute[ord])
    local sums = reals(a):abs():sum {dim = dim}
    return sums[choice](sums, {dim = -1})
  end
  fail('%s: argument 2 (options): ord: "fro", "nuc", 1, -1, 2, -2, math.huge '
    .. "or -math.huge expected, got %s", fname, number_text(ord))
end

-- Returns the norm with the two dimensions kept if requested.
local function kept(norm, keep)
  return keep and norm:reshape(with(norm.dims, 1, 1)) or norm
end

-- a:matrix_norm([options]) of the last two dimensions; ord = "fro" is the
-- default.
define("matrix_norm", function(a, o)
  linear.check_matrices(a, 1, "a", "matrix_norm")
  o = core.options(o, {"keep", "ord"}, "matrix_norm", 2)
  return kept(matrix_norm(a, o.ord, "matrix_norm"), o.keep)
end)

-- Returns the array with two dimensions last, and an array's shape in which
-- they have one element.
local function last_two(a, dims, fname)
  local list, chosen = core.dimensions(a, dims, fname,
    "argument 2 (options): dim")
  local order, shape = {}, {}
  for d, size in ipairs(a.dims) do
    if not chosen[d] then order[#order + 1] = d end
    shape[d] = chosen[d] and 1 or size
  end
  return a:permute(with(order, list[1], list[2])), shape
end

-- a:norm([options]): the square root of the sum of squares or, with ord, the
-- norm of that order: of a vector along one dimension, of matrices along two;
-- without dim, of an array of one or two dimensions.
core.plain_norm = A.norm
define("norm", function(a, o)
  if type(o) ~= "table" or core.is(o) or o.ord == nil then
    return core.plain_norm(a, o)
  end
  core.check_numbers(a, 1, "a", "norm")
  core.options(o, {"dim", "keep", "ord"}, "norm", 2)
  local dim, rank = o.dim, #a.dims
  if dim == nil and rank ~= 1 and rank ~= 2 then
    fail("norm: argument 2 (options): dim: one or two dimensions expected for "
      .. "ord, got none for shape %s", shape_text(a.dims))
  end
  local several = dim == nil and rank == 2 or type(dim) == "table" and #dim == 2
  if not several then return vector_norm(a, o.ord, o, "norm") end
  local x, shape = last_two(a, dim or {1, 2}, "norm")
  core.needs_double("norm", x.kind, x)
  local norm = matrix_norm(x, o.ord, "norm")
  return o.keep and norm:reshape(shape) or norm
end)

-- a:cond([ord]): how much errors of a grow in solutions: the norm of a times
-- the norm of its inverse; by default of order 2, from the singular values.
-- It is infinite for singular matrices.
define("cond", function(a, ord)
  linear.check_matrices(a, 1, "a", "cond")
  if a.size == 0 then
    fail("cond: argument 1 (a): shape %s has no elements", shape_text(a.dims))
  end
  if ord == nil or ord == 2 or ord == -2 then
    local _, s = linear.singular(a, nil, "cond")
    local largest, least = s:max {dim = -1}, s:min {dim = -1}
    if ord == -2 then return least / largest end
    return A.where(least:gt(0), largest / least, huge)
  end
  if not (ord == "fro" or ord == "nuc" or absolute[ord]) then
    fail('cond: argument 2 (ord): "fro", "nuc", 1, -1, 2, -2, math.huge or '
      .. "-math.huge expected, got %s", number_text(ord))
  end
  linear.check_square(a, "cond")
  local x, info = linear.invert("cond", a)
  local bad = info:ne(0)
  x = A.where(bad:reshape(with(bad.dims, 1, 1)), 0, x)
  return A.where(bad, huge, matrix_norm(a, ord, "cond") *
    matrix_norm(x, ord, "cond"))
end)

-- --- powers ------------------------------------------------------------------

-- a:matrix_power(n): the product of n times a; of the inverse if n is negative.
define("matrix_power", function(a, n)
  linear.check_square(a, "matrix_power")
  n = core.check_integer(n, "matrix_power", "argument 2 (n)", "an integer")
  local x = a
  if n < 0 then x, n = linear.inverse("matrix_power", a), -n end
  if n < 0 then
    fail("matrix_power: argument 2 (n): %d is too far from 0", n)
  end
  local kind = types[x.kind].real and x.kind or "long"
  if n == 0 then
    return linear.identity(kind, linear.batch_of(a), a.dims[#a.dims], a.home)
  end
  local power
  while true do
    if n & 1 == 1 then power = power and power:mm(x) or x end
    n = n >> 1
    if n == 0 then break end
    x = x:mm(x)
  end
  return power.kind == kind and power ~= a and power or power:to(kind):clone()
end)

-- The numerator of the Pade approximant of exp of order 13, and the 1-norm up
-- to which it has the precision of double: N. Higham, "The scaling and squaring
-- method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26
-- (2005).
local pade = {64764752532480000, 32382376266240000, 7771770303897600,
  1187353796428800, 129060195264000, 10559470521600, 670442572800,
  33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
local largest <const> = 5.371920351148152

-- Returns u and v of the approximant (v + u) / (v - u).
local function approximant(x, unit)
  local b = {}
  -- Divided by the first, so that floats can hold them.
  for i, v in ipairs(pade) do b[i] = v / pade[1] end
  local x2 = x:mm(x)
  local x4 = x2:mm(x2)
  local x6 = x4:mm(x2)
  local function part(k)
    return x6:mm(x6 * b[k + 12] + x4 * b[k + 10] + x2 * b[k + 8]) +
      x6 * b[k + 6] + x4 * b[k + 4] + x2 * b[k + 2] + unit * b[k]
  end
  return x:mm(part(2)), part(1)
end

-- a:expm(): the exponential of a matrix, the sum of a^n / n!.  All matrices of
-- a batch are halved as often as the largest one.
define("expm", function(a)
  linear.check_square(a, "expm")
  local kind, n = real_type(a.kind), a.dims[#a.dims]
  local x, batch = a:to(kind), linear.batch_of(a)
  if a.size == 0 then return x:clone() end
  local norm = matrix_norm(x, 1, "expm"):max():item()
  if norm - norm ~= 0 then
    fail "expm: argument 1 (a): it has elements that are not finite"
  end
  local times = norm > largest and math.ceil(math.log(norm / largest, 2)) or 0
  x = x * 2.0 ^ -times
  local u, v = approximant(x, linear.identity(kind, {}, n, a.home))
  local e = linear.solve("expm", (v - u):eval(), (v + u):eval(), kind, batch)
  for _ = 1, times do e = e:mm(e) end
  return core.contiguous(e)
end)

-- --- diagonals ---------------------------------------------------------------

local function check_offset(k, fname)
  if k == nil then return 0 end
  return core.check_integer(k, fname, "argument 2 (k)", "an integer",
    -1 << 48, 1 << 48)
end

local function check_rank(a, fname, rank)
  core.check(a, 1, "a", fname)
  if #a.dims < rank then
    fail("%s: argument 1 (a): %d dimension%s or more expected, got shape %s",
      fname, rank, rank > 1 and "s" or "", shape_text(a.dims))
  end
end

-- a:diagonal([k]): the k-th diagonal of the last two dimensions, a view; 0, the
-- default, is the main one, 1 the one above it.
define("diagonal", function(a, k)
  check_rank(a, "diagonal", 2)
  return linear.diagonal(a, check_offset(k, "diagonal"))
end)

-- a:diag([k]): a matrix with the elements of a vector on its k-th diagonal and
-- zeros elsewhere; the k-th diagonal of matrices, a view.
define("diag", function(a, k)
  check_rank(a, "diag", 1)
  k = check_offset(k, "diag")
  if #a.dims > 1 then return linear.diagonal(a, k) end
  local n = a.size + math.abs(k)
  local x = core.filled(new(a.kind, core.check_shape({n, n}, "diag"), a.mask,
    a.home), types[a.kind] and 0 or {0, 0})
  if a.size > 0 then X.compute("copy", linear.diagonal(x, k), a) end
  return x
end)

-- a:trace([k]): the sums of the k-th diagonals.
define("trace", function(a, k)
  check_rank(a, "trace", 2)
  return linear.diagonal(a, check_offset(k, "trace")):sum {dim = -1}
end)

-- a:matrix_transpose(): a view with the last two dimensions swapped.
define("matrix_transpose", function(a)
  check_rank(a, "matrix_transpose", 2)
  return linear.swapped(a)
end)

-- Names of A.linalg.
core.tables.linalg = {"cholesky", "cond", "cross", "det", "diag", "diagonal",
  "eig", "eigh", "eigvals", "eigvalsh", "einsum", "expm", "inv", "kron",
  "lstsq", "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
  "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
  "svdvals", "tensordot", "trace", "triangular_solve", "vecdot", "vector_norm"}
