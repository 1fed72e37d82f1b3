-- array_factor.lua - factors, solutions and eigenvalues of matrices.
-- SPDX-License-Identifier: MIT
--
-- Matrices are the last two dimensions; the others are a batch.  LAPACK, or
-- lze's own routines (lze_lapack_own.c), compute on the host, in place, in a
-- copy of the operand.  LAPACK stores matrices column by column, so it reads
-- the rows of a copy as columns: it has the transposed matrix.  The copy is
-- transposed only if the routine requires it:
--   solve, inv, det  LU of a'; with "T" it solves for a
--   cholesky, eigh   a' = a; the other triangle
--   qr               LQ of a' = l q gives a = q' l'
--   svd              a' = u s v' gives a = v s u'
-- Sums of batches and the elements of results are computed by kernels.

local core = ...
local fail = core.fail
local C, A, X, new, define = core.C, core.A, core.X, core.new, core.define
local shape_text, array_over, made = core.shape_text, core.array_over, core.made
local ipairs, type = ipairs, type
local concat, format, unpack = table.concat, string.format, table.unpack
local max, min = math.max, math.min

-- The functions of lze_lapack_call.h, on first use.
local lapack = setmetatable({}, {__index = function(t, name)
  for key, f in next, C.lapack() do t[key] = f end
  return rawget(t, name)
end})

-- --- shapes ------------------------------------------------------------------

local function product(list)
  local n = 1
  for _, size in ipairs(list) do n = n * size end
  return n
end

-- Returns the sizes of a batch followed by others.
local function with(batch, ...)
  local shape = {unpack(batch)}
  for _, size in ipairs {...} do shape[#shape + 1] = size end
  return shape
end

local function batch_of(a) return {unpack(a.dims, 1, #a.dims - 2)} end

-- Returns the rows and columns of an array of matrices.
local function size_of(a) return a.dims[#a.dims - 1], a.dims[#a.dims] end

-- Returns a view with the last two dimensions swapped.
local function swapped(a)
  local rank = #a.dims
  local shape, strides = {unpack(a.dims)}, {unpack(a.stride)}
  shape[rank - 1], shape[rank] = shape[rank], shape[rank - 1]
  strides[rank - 1], strides[rank] = strides[rank], strides[rank - 1]
  return core.view(a, a.from, shape, strides)
end

-- Returns a view of the k-th diagonal of the last two dimensions.
local function diagonal(a, k)
  local rank, rows, columns = #a.dims, size_of(a)
  local down, right = a.stride[rank - 1], a.stride[rank]
  local n = max(min(k < 0 and rows + k or rows, k > 0 and columns - k or
    columns), 0)
  local shape, strides = {unpack(a.dims, 1, rank - 2)},
    {unpack(a.stride, 1, rank - 2)}
  shape[rank - 1], strides[rank - 1] = n, down + right
  local from = n > 0 and a.from + max(-k, 0) * down + max(k, 0) * right or 0
  return core.view(a, from, shape, strides)
end

-- Returns unit matrices.
local function identity(kind, batch, n, home)
  local a = core.filled(new(kind, core.check_shape(with(batch, n, n), "eye"),
    nil, home), 0)
  if a.size > 0 then X.compute("copy", diagonal(a, 0), 1) end
  return a
end

-- --- operands ----------------------------------------------------------------

-- Returns the type in which reals are computed: float, except for double.
local function real_type(kind) return kind == "double" and kind or "float" end

local function check_matrices(a, n, name, fname)
  core.check_numbers(a, n, name, fname)
  core.check_matrices(a, n, name, fname)
  core.needs_double(fname, a.kind, a)
  return a
end

local function check_square(a, fname)
  check_matrices(a, 1, "a", fname)
  local rows, columns = size_of(a)
  if rows ~= columns then
    fail("%s: argument 1 (a): square matrices expected, got shape %s", fname,
      shape_text(a.dims))
  end
  return a
end

-- Returns a copy of matrices that LAPACK may overwrite, in a batch to which
-- theirs expands.
local function bring(a, kind, batch, transposed)
  a = core.operand_in(a, kind)
  if transposed then a = swapped(a) end
  local shape = with(batch, size_of(a))
  local into = new(kind, shape, nil, a.home)
  if into.size > 0 then X.compute("copy", into, a:expand(shape)) end
  return into
end

-- Returns the only matrix of a batch of one.
local function single(a)
  local rank = #a.dims
  return array_over(a.base, a.from, {size_of(a)}, {unpack(a.stride, rank - 1)})
end

-- Checks option `name`, a boolean, by default `otherwise`.
local function flag(o, name, otherwise, fname, n)
  local v = o[name]
  if v == nil then return otherwise end
  if type(v) ~= "boolean" then
    fail("%s: argument %d (options): %s: boolean expected, got %s", fname, n,
      name, C.describe(v))
  end
  return v
end

-- --- calls -------------------------------------------------------------------

-- Names matrix z, from 1, of a batch.
local function name_of(batch, z)
  if #batch == 0 then return "the matrix" end
  local index, rest = {}, z - 1
  for d = #batch, 1, -1 do
    index[d], rest = rest % batch[d] + 1, rest // batch[d]
  end
  return #batch == 1 and "matrix " .. z or format("matrix {%s}",
    concat(index, ", "))
end

-- Refuses to go on without a library that has a routine.
local function needs(fname, routine, kind)
  if lapack.has(routine, kind) then return end
  local path, why = lapack.about()
  if path then fail("%s: %s has no routine %s", fname, path, routine) end
  fail("%s: LAPACK is needed, and there is none: %s", fname, why)
end

-- Calls a routine for each matrix of a batch; returns the number of the first
-- that fails and its info.
local function call(fname, routine, kind, batch, list)
  needs(fname, routine, kind)
  return made(lapack.call, routine, kind, product(batch), list)
end

-- Calls an iteration, which may not converge.
local function iterate(fname, routine, kind, batch, list)
  local z = call(fname, routine, kind, batch, list)
  if z then
    fail("%s: argument 1 (a): %s: the iteration did not converge", fname,
      name_of(batch, z))
  end
end

-- Refuses infinities and NaN, with which iterations may not end.
local function check_finite(fname, n, name, a, batch)
  local z = a.size > 0 and made(lapack.finite, a.flat, product(batch))
  if z then
    fail("%s: argument %d (%s): %s has elements that are not finite", fname, n,
      name, name_of(batch, z))
  end
end

local function integers() return (select(3, lapack.about())) end

-- Returns an array of integers that routines use.
local function whole(shape, home) return new(integers(), shape, nil, home) end

-- Returns scratch memory, which the matrices of a batch share.
local function shared(a) return {a.flat, 0, 0} end

-- --- LU ----------------------------------------------------------------------

-- Factors square matrices in place; returns the pivots, and the infos.
local function factor(fname, lu, kind, batch)
  local n = lu.dims[#lu.dims]
  local pivots, info = whole(with(batch, n), lu.home), whole(batch, lu.home)
  if lu.size > 0 then
    call(fname, "getrf", kind, batch, {n, n, lu.flat, n, pivots.flat,
      info.flat})
  end
  return pivots, info
end

-- Raises if the info of a matrix is a pivot that is 0.
local function check_pivots(fname, info, batch)
  if info.size == 0 then return end
  for z, pivot in ipairs(info:read()) do
    if pivot ~= 0 then
      fail("%s: argument 1 (a): %s is singular: pivot %d is 0", fname,
        name_of(batch, z), pivot)
    end
  end
end

-- Returns x with a x = b, both of the last two dimensions, for a type and a
-- batch.
local function solve(fname, a, b, kind, batch)
  local n, columns = size_of(b)
  local own = batch
  if product(batch_of(a)) == 1 then a, own = single(a), {} end
  local lu, x = bring(a, kind, own), bring(b, kind, batch, true)
  if n > 0 and product(own) > 0 then
    local pivots, info = factor(fname, lu, kind, own)
    check_pivots(fname, info, own)
    if x.size > 0 then
      local every = own == batch
      call(fname, "getrs", kind, batch, {"T", n, columns,
        every and lu.flat or shared(lu), n,
        every and pivots.flat or shared(pivots), x.flat, n, "info"})
    end
  end
  return swapped(x)
end

-- Checks a system of equations, with one vector on its right side or matrices;
-- returns the right side as matrices, the type, the batch, and true for a
-- vector.
local function system(a, b, fname)
  core.check_numbers(b, 2, "b", fname)
  core.together(fname, {"a", "b"}, a, b)
  local kind, why = core.promote(a.kind, b.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
  local rows, vector = a.dims[#a.dims - 1], #b.dims == 1
  if #b.dims == 0 or b.dims[vector and 1 or #b.dims - 1] ~= rows then
    fail("%s: shapes %s and %s do not fit: %d rows expected in argument 2 (b)",
      fname, shape_text(a.dims), shape_text(b.dims), rows)
  end
  if vector then b = b:reshape {rows, 1} end
  local batch = core.broadcast(fname .. ": the dimensions before the last two",
    batch_of(a), batch_of(b))
  return b, real_type(kind), batch, vector
end

-- Returns a solution without its last dimension if the right side was a vector.
local function solution(x, vector)
  return vector and x:squeeze(-1) or x
end

-- a:solve(b): x with a x = b.
define("solve", function(a, b)
  check_square(a, "solve")
  local kind, batch, vector
  b, kind, batch, vector = system(a, b, "solve")
  return solution(solve("solve", a, b, kind, batch), vector)
end)

-- Returns the inverse matrices, and the infos.
local function invert(fname, a)
  local kind, batch, n = real_type(a.kind), batch_of(a), a.dims[#a.dims]
  local lu = bring(a, kind, batch)
  local x = identity(kind, batch, n, a.home)
  local pivots, info = factor(fname, lu, kind, batch)
  if x.size > 0 then
    call(fname, "getrs", kind, batch, {"N", n, n, lu.flat, n, pivots.flat,
      x.flat, n, "info"})
  end
  return x, info
end

-- Returns the inverse matrices; raises for a singular one.
local function inverse(fname, a)
  local x, info = invert(fname, a)
  if x.size > 0 then check_pivots(fname, info, batch_of(a)) end
  return x
end

-- a:inv(): the inverse matrix.
define("inv", function(a) return inverse("inv", check_square(a, "inv")) end)

-- Returns the diagonal of LU factors, and the sign of their rows' exchanges.
local function pivots_of(a, fname)
  local kind, batch, n = real_type(a.kind), batch_of(a), a.dims[#a.dims]
  local lu = bring(a, kind, batch)
  local pivots = factor(fname, lu, kind, batch)
  if lu.size == 0 then return diagonal(lu, 0), 1 end
  local place = new(pivots.kind, {n}, nil, a.home)
  X.compute("range", place, 1, 1)
  local swaps = pivots:ne(place):sum {dim = -1}
  return diagonal(lu, 0), 1 - (swaps % 2) * 2
end

-- a:det(): the determinant.
define("det", function(a)
  local d, sign = pivots_of(check_square(a, "det"), "det")
  return (d:prod {dim = -1} * sign):to(d.kind)
end)

-- a:slogdet(): the determinant's sign, and the logarithm of its absolute value.
define("slogdet", function(a)
  local d, sign = pivots_of(check_square(a, "slogdet"), "slogdet")
  return (d:sign():prod {dim = -1} * sign):to(d.kind),
    d:abs():log():sum {dim = -1}
end)

-- Returns the row of a that each row of the exchanged matrix is, for the pivots
-- of a batch.
local function exchanged(pivots, rows)
  local least, list, places = pivots.dims[#pivots.dims], pivots:read(), {}
  for first = 0, #list - 1, max(least, 1) do
    local row = {}
    for i = 1, rows do row[i] = i end
    for i = 1, least do
      local k = list[first + i]
      row[i], row[k] = row[k], row[i]
    end
    table.move(row, 1, rows, #places + 1, places)
  end
  return places
end

-- Returns a matrix of exchanges: 1 if a row has the number of the column.
local function exchanges(kind, batch, rows, pivots, home)
  if pivots.size == 0 then return identity(kind, batch, rows, home) end
  local places = core.from_tables("long", exchanged(pivots, rows), "lu", home)
  local row = new("long", {rows, 1}, nil, home)
  X.compute("range", row, 1, 1)
  return places:reshape(with(batch, 1, rows)):eq(row):to(kind)
end

-- Returns rows [1, rows] and columns [1, columns] of matrices, as a view.
local function corner(a, rows, columns)
  local rank = #a.dims
  return core.narrow(core.narrow(a, rank - 1, 1, rows, 1), rank, 1, columns, 1)
end

-- a:lu(): p, l, u with a = p l u: exchanges of rows, a unit lower triangle, an
-- upper triangle.
define("lu", function(a)
  check_matrices(a, 1, "a", "lu")
  local kind, batch = real_type(a.kind), batch_of(a)
  local rows, columns = size_of(a)
  local least = min(rows, columns)
  local x = bring(a, kind, batch, true)
  local pivots = whole(with(batch, least), a.home)
  if x.size > 0 then
    local info = whole(batch, a.home)
    call("lu", "getrf", kind, batch, {rows, columns, x.flat, rows, pivots.flat,
      info.flat})
  end
  x = swapped(x)
  local lower = corner(x, rows, least):tril(-1)
  if lower.size > 0 then X.compute("copy", diagonal(lower, 0), 1) end
  return exchanges(kind, batch, rows, pivots, a.home), lower,
    corner(x, least, columns):triu()
end)

-- --- triangles ---------------------------------------------------------------

-- a:cholesky([options]): the lower triangle l with a = l l', of which only the
-- lower triangle of a is read; with upper = true u with a = u' u, of the upper.
define("cholesky", function(a, o)
  check_square(a, "cholesky")
  o = core.options(o, {"upper"}, "cholesky", 2)
  local upper = flag(o, "upper", false, "cholesky", 2)
  local kind, batch, n = real_type(a.kind), batch_of(a), a.dims[#a.dims]
  local x = bring(a, kind, batch, upper):tril()
  if x.size > 0 then
    check_finite("cholesky", 1, "a", x, batch)
    local z, pivot = call("cholesky", "potrf", kind, batch,
      {"U", n, x.flat, n, "info"})
    if z then
      fail("cholesky: argument 1 (a): %s is not positive definite: pivot %d is "
        .. "not positive", name_of(batch, z), pivot)
    end
  end
  return upper and swapped(x) or x
end)

-- a:triangular_solve(b [, options]): x with a x = b for a lower triangle or,
-- with upper = true, an upper one; transpose = true takes the transposed of
-- this triangle, unit = true a diagonal of 1.
define("triangular_solve", function(a, b, o)
  local fname = "triangular_solve"
  check_square(a, fname)
  local kind, batch, vector
  b, kind, batch, vector = system(a, b, fname)
  o = core.options(o, {"upper", "transpose", "unit"}, fname, 3)
  local upper = flag(o, "upper", false, fname, 3)
  local transposed = flag(o, "transpose", false, fname, 3)
  local unit = flag(o, "unit", false, fname, 3)
  local n, columns = size_of(b)
  local t, x = bring(a, kind, batch), bring(b, kind, batch, true)
  if x.size > 0 then
    local z, pivot = call(fname, "trtrs", kind, batch, {upper and "L" or "U",
      transposed and "N" or "T", unit and "U" or "N", n, columns, t.flat, n,
      x.flat, n, "info"})
    if z then
      fail("%s: argument 1 (a): %s is singular: pivot %d is 0", fname,
        name_of(batch, z), pivot)
    end
  end
  return solution(swapped(x), vector)
end)

-- --- QR ----------------------------------------------------------------------

-- a:qr([options]): q, r with a = q r: orthonormal columns and an upper
-- triangle.  mode = "reduced", the default: q has as many columns as a, at most
-- as many as rows; "complete": q is square.
define("qr", function(a, o)
  check_matrices(a, 1, "a", "qr")
  o = core.options(o, {"mode"}, "qr", 2)
  local mode = o.mode == nil and "reduced" or o.mode
  if mode ~= "reduced" and mode ~= "complete" then
    fail('qr: argument 2 (options): mode: "reduced" or "complete" expected, '
      .. "got %s", C.describe(mode))
  end
  local kind, batch = real_type(a.kind), batch_of(a)
  local rows, columns = size_of(a)
  local least = min(rows, columns)
  local wide = mode == "complete" and rows or least
  local q = new(kind, core.check_shape(with(batch, rows, max(wide, columns)),
    "qr"), nil, a.home)
  if a.size == 0 then
    return corner(identity(kind, batch, rows, a.home), rows, wide),
      core.filled(new(kind, with(batch, wide, columns), nil, a.home), 0)
  end
  X.compute("copy", corner(q, rows, columns), core.operand_in(a, kind))
  local stride = q.dims[#q.dims]
  local tau = new(kind, with(batch, least), nil, a.home)
  call("qr", "gelqf", kind, batch, {columns, rows, q.flat, stride, tau.flat,
    "work", "info"})
  local r = corner(q, wide, columns):triu()
  call("qr", "orglq", kind, batch, {wide, rows, least, q.flat, stride, tau.flat,
    "work", "info"})
  return core.contiguous(corner(q, rows, wide)), r
end)

-- --- singular values ---------------------------------------------------------

-- Returns u, s and vh, or only s if `full` is nil.
local function singular(a, full, fname)
  local kind, batch = real_type(a.kind), batch_of(a)
  local rows, columns = size_of(a)
  local least = min(rows, columns)
  local function matrix(r, c)
    return new(kind, core.check_shape(with(batch, r, c), fname), nil, a.home)
  end
  local s, vectors = matrix(least, 1):squeeze(-1), full ~= nil
  if a.size == 0 then
    return full and identity(kind, batch, rows, a.home) or matrix(rows, 0), s,
      full and identity(kind, batch, columns, a.home) or matrix(0, columns)
  end
  local u = vectors and matrix(rows, full and rows or least)
  local vh = vectors and matrix(full and columns or least, columns)
  local x = bring(a, kind, batch)
  check_finite(fname, 1, "a", x, batch)
  iterate(fname, "gesdd", kind, batch, {
    vectors and (full and "A" or "S") or "N", columns, rows, x.flat, columns,
    s.flat, vectors and vh.flat or shared(s), columns,
    vectors and u.flat or shared(s), u and u.dims[#u.dims] or 1, "work",
    shared(whole({8 * least}, a.home)), "info"})
  return u, s, vh
end

-- a:svd([options]): u, s, vh with a = u diag(s) vh; s descends.  By default u
-- and vh are square; with full_matrices = false they have only the vectors for
-- s.
define("svd", function(a, o)
  check_matrices(a, 1, "a", "svd")
  o = core.options(o, {"full_matrices"}, "svd", 2)
  return singular(a, flag(o, "full_matrices", true, "svd", 2), "svd")
end)

-- a:svdvals(): the singular values, descending.
define("svdvals", function(a)
  check_matrices(a, 1, "a", "svdvals")
  local _, s = singular(a, nil, "svdvals")
  return s
end)

-- Returns the distance from 1 to the next number of a type.
local function epsilon(kind) return kind == "double" and 0x1p-52 or 0x1p-23 end

-- Returns a tolerance relative to the largest singular value: option `name`,
-- by default as many rounding errors as the matrix has rows or columns.
local function tolerance(o, name, a, fname, n)
  local v = o[name]
  if v == nil then
    return max(size_of(a)) * epsilon(real_type(a.kind))
  elseif type(v) ~= "number" or v < 0 or v ~= v then
    fail("%s: argument %d (options): %s: a number of 0 or more expected, got "
      .. "%s", fname, n, name, type(v) == "number" and v or C.describe(v))
  end
  return v + 0.0
end

-- Returns a mask of the singular values that are not negligible.
local function considerable(s, rtol)
  return s:gt(s:max {dim = -1, keep = true} * rtol)
end

-- a:matrix_rank([options]): the number of singular values above rtol times the
-- largest one; rtol is by default max(rows, columns) rounding errors.
define("matrix_rank", function(a, o)
  check_matrices(a, 1, "a", "matrix_rank")
  o = core.options(o, {"rtol"}, "matrix_rank", 2)
  local rtol = tolerance(o, "rtol", a, "matrix_rank", 2)
  local _, s = singular(a, nil, "matrix_rank")
  if s.size == 0 then
    return core.filled(new("long", batch_of(a), nil, a.home), 0)
  end
  return considerable(s, rtol):sum {dim = -1}
end)

-- a:pinv([options]): the pseudoinverse, for which singular values at or below
-- rtol times the largest one count as 0.
define("pinv", function(a, o)
  check_matrices(a, 1, "a", "pinv")
  o = core.options(o, {"rtol"}, "pinv", 2)
  local rtol = tolerance(o, "rtol", a, "pinv", 2)
  local rows, columns = size_of(a)
  local u, s, vh = singular(a, false, "pinv")
  if a.size == 0 then
    return core.filled(new(s.kind, with(batch_of(a), columns, rows), nil,
      a.home), 0)
  end
  local by = A.where(considerable(s, rtol), 1 / s, 0)
  return swapped(vh * by:reshape(with(s.dims, 1))):mm(swapped(u))
end)

-- --- eigenvalues -------------------------------------------------------------

-- Returns the eigenvalues of symmetric matrices, and the vectors if wanted.
local function symmetric(a, o, fname, vectors)
  check_square(a, fname)
  o = core.options(o, {"upper"}, fname, 2)
  local upper = flag(o, "upper", false, fname, 2)
  local kind, batch, n = real_type(a.kind), batch_of(a), a.dims[#a.dims]
  local x = bring(a, kind, batch)
  local w = new(kind, with(batch, n), nil, a.home)
  if x.size > 0 then
    check_finite(fname, 1, "a", x, batch)
    iterate(fname, "syevd", kind, batch, {vectors and "V" or "N",
      upper and "L" or "U", n, x.flat, n, w.flat, "work", "iwork", "info"})
  end
  return w, vectors and swapped(x) or nil
end

-- a:eigh([options]): eigenvalues, ascending, and eigenvectors, the columns of a
-- matrix, of symmetric matrices, of which the lower triangle is read or, with
-- upper = true, the upper one.
define("eigh", function(a, o) return symmetric(a, o, "eigh", true) end)

-- a:eigvalsh([options]): only the eigenvalues.
define("eigvalsh", function(a, o)
  return (symmetric(a, o, "eigvalsh", false))
end)

-- Returns a complex array of the real and the imaginary parts.
local function complex(re, im)
  return core.join(A.stack({re, im}, -1), "eig")
end

-- Returns an array with its rows moved by n.
local function moved(v, n) return v:roll(n, #v.dims - 1) end

-- Returns complex vectors, the rows of a matrix.  For two conjugate eigenvalues
-- the first row has the real parts of their vectors, the second the imaginary
-- parts.
local function complex_vectors(v, im)
  im = im:reshape(with(im.dims, 1))
  local second, first = im:lt(0), im:gt(0)
  return complex(A.where(second, moved(v, 1), v),
    A.where(first, moved(v, -1), A.where(second, -v, 0)))
end

local function general(a, fname, vectors)
  check_square(a, fname)
  local kind, batch, n = real_type(a.kind), batch_of(a), a.dims[#a.dims]
  local x = bring(a, kind, batch, true)
  local re, im = new(kind, with(batch, n), nil, a.home),
    new(kind, with(batch, n), nil, a.home)
  local v = vectors and new(kind, x.dims, nil, a.home)
  if x.size == 0 then
    return new(kind .. "2", re.dims, nil, a.home),
      vectors and new(kind .. "2", x.dims, nil, a.home) or nil
  end
  check_finite(fname, 1, "a", x, batch)
  iterate(fname, "geev", kind, batch, {"N", vectors and "V" or "N", n, x.flat,
    n, re.flat, im.flat, shared(x), 1, vectors and v.flat or shared(x), n,
    "work", "info"})
  return complex(re, im), vectors and swapped(complex_vectors(v, im)) or nil
end

-- a:eig(): eigenvalues and eigenvectors, the columns of a matrix; both complex.
define("eig", function(a) return general(a, "eig", true) end)

-- a:eigvals(): only the eigenvalues.
define("eigvals", function(a) return (general(a, "eigvals", false)) end)

-- --- least squares -----------------------------------------------------------

-- Returns at least as many integers as GELSD uses: the depth of its tree is at
-- most the number of halvings.
local function least_integers(least)
  local depth = 1
  while least >> depth > 0 do depth = depth + 1 end
  return 3 * least * (depth + 1) + 11 * least + 1
end

-- a:lstsq(b [, options]): x for which the sum of squares of a x - b is least
-- and, of those, the shortest; these sums; the rank of a; its singular values.
-- Singular values at or below rcond times the largest one count as 0.
define("lstsq", function(a, b, o)
  check_matrices(a, 1, "a", "lstsq")
  local kind, batch, vector
  b, kind, batch, vector = system(a, b, "lstsq")
  o = core.options(o, {"rcond"}, "lstsq", 3)
  local rows, n = size_of(a)
  local rcond = tolerance(o, "rcond", a, "lstsq", 3)
  local columns, least, most = b.dims[#b.dims], min(rows, n), max(rows, n)
  local x = core.filled(new(kind, core.check_shape(with(batch, columns, most),
    "lstsq"), nil, a.home), 0)
  local s = new(kind, with(batch, least), nil, a.home)
  local rank = core.filled(whole(batch, a.home), 0)
  if x.size > 0 and least > 0 then
    local copy = bring(a, kind, batch, true)
    check_finite("lstsq", 1, "a", copy, batch)
    X.compute("copy", core.narrow(x, #x.dims, 1, rows, 1),
      swapped(core.operand_in(b, kind)):expand(with(batch, columns, rows)))
    check_finite("lstsq", 2, "b", x, batch)
    iterate("lstsq", "gelsd", kind, batch, {rows, n, columns, copy.flat, rows,
      x.flat, most, s.flat, rcond, rank.flat, "work",
      shared(whole({least_integers(least)}, a.home)), "info"})
  end
  x = swapped(core.contiguous(core.narrow(x, #x.dims, 1, n, 1)))
  local rest = core.operand_in(a, kind):to(kind):mm(x) - b
  local sums = (rest * rest):sum {dim = -2}
  return solution(x, vector), vector and sums:squeeze(-1) or sums,
    rank:to "long", s
end)

-- Exports for array_linalg.lua.
core.linear = {batch_of = batch_of, check_matrices = check_matrices,
  check_square = check_square, diagonal = diagonal, identity = identity,
  inverse = inverse, invert = invert, lapack = lapack, real_type = real_type,
  singular = singular, size_of = size_of, solve = solve, swapped = swapped,
  with = with}
