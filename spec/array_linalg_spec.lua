-- array_linalg_spec.lua - linear algebra: residuals, shapes and errors.
-- SPDX-License-Identifier: MIT
--
-- LZE_LIBRARIES=off leaves out what needs LAPACK.

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

local info = lze.info()
local library = not info:find "\nLAPACK: none"
local with_library = library and it or function() end

local epsilon = {float = 0x1p-23, double = 0x1p-52}

-- Returns the largest absolute value of an array, or of its parts.
local function largest(a)
  if a.size == 0 then return 0 end
  return a:abs():max():item()
end

-- Checks that two arrays differ by at most `times` rounding errors of `scale`.
local function close(x, y, times, scale)
  assert.same(x.shape, y.shape)
  local most = times * epsilon[x.type] * math.max(scale or 1, largest(y))
  local far = largest(x - y)
  assert(far <= most, ("%g is more than %g"):format(far, most))
end

local function random(shape, kind)
  return A.randn(shape, {type = kind})
end

local function unit(n, kind) return A.eye(n, {type = kind}) end

-- Sizes that fill blocks of lze's own routines, or do not.
local sizes = {1, 2, 3, 5, 31, 32, 33, 70}

A.seed(53)

for kind in pairs(epsilon) do
  describe("systems of " .. kind, function()
    it("have small residuals", function()
      for _, n in ipairs(sizes) do
        local a, b = random({n, n}, kind), random({n, 3}, kind)
        local x = a:solve(b)
        close(a:mm(x), b, 40 * n, largest(x) * largest(a))
        local v = random({n}, kind)
        close(a:mv(a:solve(v)), v, 40 * n, largest(a:solve(v)) * largest(a))
        local y = a:inv()
        close(a:mm(y), unit(n, kind), 40 * n, largest(y) * largest(a))
      end
    end)

    it("have small residuals if ill-conditioned", function()
      local n = 10
      local i = A.arange(1, n, {type = kind})
      local hilbert = 1 / (i:reshape {n, 1} + i - 1)
      local b = random({n}, kind)
      local x = hilbert:solve(b)
      close(hilbert:mv(x), b, 40 * n, largest(x))
    end)

    it("broadcast matrices and right sides", function()
      local a, b = random({4, 5, 5}, kind), random({4, 5, 2}, kind)
      local x = a:solve(b)
      assert.same({4, 5, 2}, x.shape)
      close(a:mm(x), b, 1000, largest(x))
      x = a[1]:solve(b)
      close(a[1]:mm(x), b, 1000, largest(x))
      x = a:solve(b[2])
      close(a:mm(x), b[2]:expand {4, 5, 2}, 1000, largest(x))
      x = a:reshape({2, 2, 5, 5}):solve(b:reshape {4, 1, 5, 2}[{{1, 3}}]
        :reshape {3, 1, 1, 5, 2})
      assert.same({3, 2, 2, 5, 2}, x.shape)
      x = a:solve(A.ones({5}, {type = kind}))
      assert.same({4, 5}, x.shape)
      close(a[3]:mv(x[3]), A.ones({5}, {type = kind}), 1000, largest(x))
    end)

    it("take views and transposed matrices", function()
      local big = random({12, 12}, kind)
      local a = big[{{2, 12, 2}, {-1, -6, -1}}]
      local b = random({3, 6}, kind):t()
      local x = a:t():solve(b)
      close(a:t():mm(x), b, 1000, largest(x))
      close(a:inv():mm(a), unit(6, kind), 1000, largest(a:inv()))
      close((a + a):inv():mm(a) * 2, unit(6, kind), 1000, largest(a:inv()))
    end)

    it("have determinants with signs", function()
      local a = A(kind, {{0, 2}, {3, 4}})
      assert.near(-6, a:det():item(), 1e-5)
      local sign, logarithm = a:slogdet()
      assert.equal(-1, sign:item())
      assert.near(math.log(6), logarithm:item(), 1e-6)
      assert.equal(kind, a:det().type)
      local b = random({3, 4, 4}, kind)
      local d = b:det()
      assert.same({3}, d.shape)
      close(b:mm(b):det(), d * d, 200)
      close(b:inv():det() * d, A.ones({3}, {type = kind}), 1000)
      sign, logarithm = b:slogdet()
      close(sign * logarithm:exp(), d, 100)
      assert.equal(0, A.ones({2, 2}, {type = kind}):det():item())
      sign, logarithm = A.zeros({2, 2}, {type = kind}):slogdet()
      assert.equal(0, sign:item())
      assert.equal(-math.huge, logarithm:item())
    end)

    it("may be triangles", function()
      for _, n in ipairs(sizes) do
        local a = random({n, n}, kind) + unit(n, kind) * n
        local b = random({n, 2}, kind)
        close(a:tril():mm(a:triangular_solve(b)), b, 40 * n)
        close(a:triu():mm(a:triangular_solve(b, {upper = true})), b, 40 * n)
        close(a:tril():t():mm(a:triangular_solve(b, {transpose = true})), b,
          40 * n)
        close(a:triu():t():mm(a:triangular_solve(b, {upper = true,
          transpose = true})), b, 40 * n)
        local l = a:tril(-1) / n + unit(n, kind)
        close(l:mm((a / n):triangular_solve(b, {unit = true})), b, 40 * n, 10)
      end
      assert.same({1, 0.5}, A(kind, {{1, 7}, {2, 4}}):triangular_solve(
        A(kind, {1, 4})):read())
    end)
  end)

  describe("factors of " .. kind, function()
    local shapes = {{1, 1}, {3, 3}, {5, 2}, {2, 5}, {40, 33}, {33, 40},
      {2, 3, 4, 4}, {3, 5, 2}, {3, 2, 5}}

    it("of Cholesky multiply to the matrix", function()
      for _, n in ipairs(sizes) do
        local b = random({n, n}, kind)
        local a = b:mm(b:t()) + unit(n, kind)
        local l = a:cholesky()
        close(l:mm(l:t()), a, 10 * n)
        assert.equal(0, largest(l:triu(1)))
        local u = a:cholesky {upper = true}
        close(u:t():mm(u), a, 10 * n)
        assert.equal(0, largest(u:tril(-1)))
        close(a:tril():cholesky(), l, 10 * n)
        close(a:triu():cholesky {upper = true}, u, 10 * n)
      end
      local a = A(kind, {{{4, 2}, {2, 5}}, {{9, 0}, {0, 1}}})
      assert.same({2, 0, 1, 2, 3, 0, 0, 1}, a:cholesky():read())
    end)

    it("of QR are orthonormal and triangular", function()
      for _, shape in ipairs(shapes) do
        local a = random(shape, kind)
        local m, n = shape[#shape - 1], shape[#shape]
        for _, mode in ipairs {"reduced", "complete"} do
          local q, r = a:qr {mode = mode}
          local k = mode == "complete" and m or math.min(m, n)
          assert.same({m, k}, {table.unpack(q.shape, #shape - 1)})
          assert.same({k, n}, {table.unpack(r.shape, #shape - 1)})
          close(q:mm(r), a, 10 * m)
          assert.equal(0, largest(r:tril(-1)))
          local square = q:matrix_transpose():mm(q)
          close(square, unit(k, kind):expand(square.shape), 10 * m)
        end
      end
      local q, r = A.zeros({3, 2}, {type = kind}):qr()
      assert.equal(0, largest(r))
      close(q:t():mm(q), unit(2, kind), 1)
    end)

    it("of LU multiply to the matrix with exchanged rows", function()
      for _, shape in ipairs(shapes) do
        local a = random(shape, kind)
        local p, l, u = a:lu()
        close(p:mm(l):mm(u), a, 10 * shape[#shape])
        assert.equal(0, largest(u:tril(-1)))
        assert.equal(0, largest(l:triu(1)))
        assert(largest(l) <= 1)
        assert.equal(shape[#shape - 1], p:sum():item() // (a.size //
          (shape[#shape] * shape[#shape - 1])))
      end
      local p, l, u = A.ones({2, 2}, {type = kind}):lu()
      assert.same({1, 0, 0, 1}, p:read())
      assert.same({1, 0, 1, 1}, l:read())
      assert.same({1, 1, 0, 0}, u:read())
    end)

    with_library("of SVD are orthonormal, and values descend", function()
      for _, shape in ipairs(shapes) do
        local a = random(shape, kind)
        local m, n = shape[#shape - 1], shape[#shape]
        local u, s, vh, _ = a:svd {full_matrices = false}
        close((u * s:unsqueeze(-2)):mm(vh), a, 20 * (m + n))
        close(a:svdvals(), s, 20 * (m + n))
        assert.same(s:read(), s:sort({descending = true}):read())
        u, _, vh = a:svd()
        assert.same({m, m}, {table.unpack(u.shape, #shape - 1)})
        assert.same({n, n}, {table.unpack(vh.shape, #shape - 1)})
        local square = u:matrix_transpose():mm(u)
        close(square, unit(m, kind):expand(square.shape), 20 * m)
        square = vh:mm(vh:matrix_transpose())
        close(square, unit(n, kind):expand(square.shape), 20 * n)
      end
    end)

    with_library("of symmetric matrices are eigenvectors", function()
      for _, n in ipairs(sizes) do
        local b = random({2, n, n}, kind)
        local a = b + b:matrix_transpose()
        local w, v = a:eigh()
        close(a:mm(v), v * w:unsqueeze(-2), 20 * n, largest(a))
        local square = v:matrix_transpose():mm(v)
        close(square, unit(n, kind):expand(square.shape), 20 * n)
        close(a:eigvalsh(), w, 20 * n)
        close(a:triu():eigvalsh {upper = true}, w, 20 * n)
        close(a:tril():eigvalsh(), w, 20 * n)
      end
      assert.same({1, 3}, A(kind, {{3, 0}, {0, 1}}):eigvalsh():read())
    end)

    with_library("of any matrix are complex eigenvectors", function()
      for _, n in ipairs {1, 2, 3, 8, 33} do
        local a = random({2, n, n}, kind)
        local w, v = a:eig()
        assert.equal(kind == "double" and "complex128" or "complex64", w.type)
        assert.same({2, n}, w.shape)
        local lambda, vectors = A(kind, w), A(kind, v)
        local re, im = vectors[{{}, {}, {}, 1}], vectors[{{}, {}, {}, 2}]
        local lr = lambda[{{}, {}, 1}]:unsqueeze(-2)
        local li = lambda[{{}, {}, 2}]:unsqueeze(-2)
        close(a:mm(re), re * lr - im * li, 100 * n, largest(a))
        close(a:mm(im), re * li + im * lr, 100 * n, largest(a))
        close((re * re + im * im):sum {dim = -2},
          A.ones({2, n}, {type = kind}), 20 * n)
        -- The products and the sums of eigenvalues.
        close(lambda[{{}, {}, 1}]:sum {dim = -1}, a:trace(), 100 * n)
        assert.same(w.shape, a:eigvals().shape)
      end
      assert.same({0, 1, 0, -1},
        A(kind, A(kind, {{0, 1}, {-1, 0}}):eigvals()):read())
    end)
  end)

  describe("least squares of " .. kind, function()
    with_library("solve the normal equations", function()
      for _, shape in ipairs {{7, 3}, {3, 7}, {4, 4}, {2, 9, 4}} do
        local a = random(shape, kind)
        local m = shape[#shape - 1]
        local b = random({m, 2}, kind)
        local x, sums, rank, s = a:lstsq(b)
        local rest = a:mm(x) - b
        close(a:matrix_transpose():mm(rest), x * 0, 1000)
        close(sums, (rest * rest):sum {dim = -2}, 100)
        assert.equal("long", rank.type)
        assert.equal(math.min(m, shape[#shape]), rank:max():item())
        close(s, a:svdvals(), 100)
        close(a:pinv():mm(b), x, 1000)
      end
      local x, sums = A(kind, {{1, 1}, {1, 2}, {1, 3}}):lstsq(
        A(kind, {1, 2, 2}))
      close(x, A(kind, {2 / 3, 1 / 2}), 100)
      close(sums, A(kind, {1 / 6}):reshape {}, 100)
    end)

    with_library("take matrices that are not of full rank", function()
      local a = A(kind, {{1, 2, 3}, {2, 4, 6}, {1, 0, 1}})
      assert.equal(2, a:matrix_rank():item())
      assert.same({2, 3}, A.stack {a, unit(3, kind)}:matrix_rank():read())
      assert.equal(1, (unit(3, kind) * A(kind, {1, 0.1, 0.1})):matrix_rank
        {rtol = 0.5}:item())
      local p = a:pinv()
      close(a:mm(p):mm(a), a, 100)
      close(p:mm(a):mm(p), p, 100)
      local _, _, rank = a:lstsq(A(kind, {1, 2, 3}))
      assert.equal(2, rank:item())
    end)
  end)

  describe("norms and powers of " .. kind, function()
    local a = A(kind, {{1, -2}, {3, 4}})

    it("follow their definitions", function()
      local function norm(ord) return a:matrix_norm({ord = ord}):item() end
      assert.near(math.sqrt(30), a:matrix_norm():item(), 1e-6)
      assert.near(math.sqrt(30), norm "fro", 1e-6)
      assert.equal(6, norm(1))
      assert.equal(4, norm(-1))
      assert.equal(7, norm(math.huge))
      assert.equal(3, norm(-math.huge))
      local v = A(kind, {3, 0, -4})
      local function of(ord) return v:vector_norm({ord = ord}):item() end
      assert.equal(5, v:vector_norm():item())
      assert.equal(7, of(1))
      assert.equal(2, of(0))
      assert.equal(4, of(math.huge))
      assert.equal(0, of(-math.huge))
      assert.near(91 ^ (1 / 3), of(3), 1e-5)
      assert.same({3, 7}, a:vector_norm {ord = 1, dim = 2}:read())
      assert.same({1, 2}, a:vector_norm {ord = 1, dim = 1, keep = true}.shape)
      assert.near(math.sqrt(30), a:vector_norm():item(), 1e-6)
    end)

    it("are chosen by norm from the dimensions", function()
      assert.near(math.sqrt(30), a:norm():item(), 1e-6)
      assert.equal(6, a:norm {ord = 1}:item())
      assert.equal(7, A(kind, {3, 0, -4}):norm {ord = 1}:item())
      assert.same({4, 6}, a:norm {ord = 1, dim = 1}:read())
      local b = A.stack {a, a * 2}
      assert.same({6, 12}, b:norm {ord = 1, dim = {2, 3}}:read())
      assert.same({7, 14}, b:norm {ord = 1, dim = {3, 2}}:read())
      assert.same({2, 1, 1}, b:norm {ord = 1, dim = {2, 3}, keep = true}.shape)
      assert.same({2, 1, 1}, b:matrix_norm {keep = true}.shape)
    end)

    with_library("come from singular values", function()
      local s = a:svdvals():read()
      assert.near(s[1], a:matrix_norm {ord = 2}:item(), 1e-5)
      assert.near(s[2], a:matrix_norm {ord = -2}:item(), 1e-5)
      assert.near(s[1] + s[2], a:matrix_norm {ord = "nuc"}:item(), 1e-5)
      assert.near(s[1] / s[2], a:cond():item(), 1e-4)
      assert.near(s[2] / s[1], a:cond(-2):item(), 1e-5)
      assert.equal(math.huge, A.zeros({2, 2}, {type = kind}):cond():item())
    end)

    it("give condition numbers", function()
      assert.near(6 * 0.7, a:cond(1):item(), 1e-5)
      assert.near(7 * 0.6, a:cond(math.huge):item(), 1e-5)
      assert.near(3, a:cond "fro":item(), 1e-5)
      local b = A.stack {a, A.ones({2, 2}, {type = kind})}
      assert.near(4.2, b:cond(1)[1], 1e-5)
      assert.equal(math.huge, b:cond(1)[2])
    end)

    it("multiply as often as the power", function()
      close(a:matrix_power(5), a:mm(a):mm(a):mm(a):mm(a), 10)
      close(a:matrix_power(-2), a:inv():mm(a:inv()), 100)
      close(a:matrix_power(0), unit(2, kind), 1)
      local one = a:matrix_power(1)
      one:fill(0)
      assert.equal(1, a[{1, 1}])
      assert.same({3, 2, 2}, A.ones({3, 2, 2}):matrix_power(0).shape)
      local whole = A("int", {{1, 1}, {1, 0}}):matrix_power(40)
      assert.equal("long", whole.type)
      assert.equal(102334155, whole[{1, 2}])
    end)

    it("include the exponential", function()
      local turn = A(kind, {{0, -1}, {1, 0}}) * math.pi
      close(turn:expm(), -unit(2, kind), 40)
      local b = random({3, 6, 6}, kind)
      close((b * 3):expm(), b:expm():matrix_power(3), 1e5)
      local e = A(kind, {{1, 1}, {0, 1}}):expm()
      close(e, A(kind, {{1, 1}, {0, 1}}) * math.exp(1), 20)
      close(A.zeros({3, 3}, {type = kind}):expm(), unit(3, kind), 1)
      close((A(kind, {{0, 1}, {0, 0}}) * 1000):expm(),
        A(kind, {{1, 1000}, {0, 1}}), 1000)
    end)
  end)
end

describe("matrices without elements", function()
  local none, flat, tall = A.zeros {0, 0}, A.zeros {0, 3}, A.zeros {3, 0}
  local batch = A.zeros {0, 2, 2}

  it("have solutions, inverses and determinants", function()
    assert.same({0}, none:solve(A.zeros(0)).shape)
    assert.same({0, 2}, none:solve(A.zeros {0, 2}).shape)
    assert.same({2, 0}, A.eye(2):solve(A.zeros {2, 0}).shape)
    assert.same({0, 0}, none:inv().shape)
    assert.equal(1, none:det():item())
    local sign, logarithm = none:slogdet()
    assert.equal(1, sign:item())
    assert.equal(0, logarithm:item())
    assert.same({0, 2, 2}, batch:inv().shape)
    assert.same({0}, batch:det().shape)
    assert.same({0, 2}, batch:solve(A.zeros {2}).shape)
    assert.same({0, 0}, none:expm().shape)
    assert.same({0, 0}, none:matrix_power(-3).shape)
    assert.equal(0, none:trace():item())
  end)

  it("have factors", function()
    assert.same({0, 0}, none:cholesky().shape)
    local q, r = tall:qr()
    assert.same({{3, 0}, {0, 0}}, {q.shape, r.shape})
    q, r = tall:qr {mode = "complete"}
    assert.same({1, 0, 0, 0, 1, 0, 0, 0, 1}, q:read())
    assert.same({3, 0}, r.shape)
    q, r = flat:qr()
    assert.same({{0, 0}, {0, 3}}, {q.shape, r.shape})
    local p, l, u = tall:lu()
    assert.same({1, 0, 0, 0, 1, 0, 0, 0, 1}, p:read())
    assert.same({{3, 0}, {0, 0}}, {l.shape, u.shape})
  end)

  with_library("have singular values and eigenvalues", function()
    local u, s, vh = tall:svd()
    assert.same({1, 0, 0, 0, 1, 0, 0, 0, 1}, u:read())
    assert.same({{0}, {0, 0}}, {s.shape, vh.shape})
    u, s, vh = flat:svd {full_matrices = false}
    assert.same({{0, 0}, {0}, {0, 3}}, {u.shape, s.shape, vh.shape})
    local w, v = none:eigh()
    assert.same({{0}, {0, 0}}, {w.shape, v.shape})
    w, v = batch:eig()
    assert.same({{0, 2}, {0, 2, 2}}, {w.shape, v.shape})
    assert.equal(0, none:matrix_rank():item())
    assert.same({0, 3}, tall:pinv().shape)
    local x, sums, rank = tall:lstsq(A.ones(3))
    assert.same({0}, x.shape)
    assert.equal(3, sums:item())
    assert.equal(0, rank:item())
    x = flat:lstsq(A.zeros(0))
    assert.same({0, 0, 0}, x:read())
  end)
end)

describe("other types", function()
  it("are computed as float", function()
    local a = A("int", {{2, 1}, {1, 3}})
    assert.equal("float", a:inv().type)
    assert.near(5, a:det():item(), 1e-5)
    assert.equal("float", a:to "half":inv().type)
    assert.equal("double", a:solve(A("double", {1, 2})).type)
    close(a:solve(A("double", {1, 2})), A("double", {0.2, 0.6}), 10)
    close(A("ulong", {{2, 0}, {0, 4}}):inv(), A("float", {{0.5, 0}, {0, 0.25}}),
      1)
  end)
end)

describe("without a library, linear algebra", function()
  local process = require "spec.support.process"

  it("is done by own routines or names the package", function()
    assert.equal("ok\n", process.output([[
      local lze = require "lze"
      local A = lze.array
      assert(lze.info():find("LAPACK: none: LZE_LIBRARIES is off\n", 1, true))
      A.seed(3)
      for _, kind in ipairs {"float", "double"} do
        local most = kind == "float" and 1e-3 or 1e-11
        local function close(x, y)
          local far = (x - y):abs():max():item()
          assert(far < most, far)
        end
        local n = 70
        local unit = A.eye(n, {type = kind})
        local a = A.randn({2, n, n}, {type = kind}) + unit * n
        local b = A.randn({n, 3}, {type = kind})
        close(a:mm(a:solve(b)), b:expand {2, n, 3})
        close(a:mm(a:inv()), unit:expand {2, n, n})
        local q, r = a:qr()
        close(q:mm(r), a)
        close(q:matrix_transpose():mm(q), unit:expand {2, n, n})
        local s = a:mm(a:matrix_transpose()) / n
        local l = s:cholesky()
        close(l:mm(l:matrix_transpose()) / n, s / n)
        close(a:tril():mm(a:triangular_solve(b)), b:expand {2, n, 3})
        local p, lower, u = a:lu()
        close(p:mm(lower):mm(u), a)
        local _, logarithm = a:slogdet()
        close(logarithm, u:diagonal():abs():log():sum {dim = -1})
      end
      assert(A("float", {{0, 2}, {3, 4}}):det():item() == -6)
      local _, err = pcall(A.svd, A.eye(2))
      assert(err:find("svd: LAPACK is needed, and there is none: " ..
        "LZE_LIBRARIES is off", 1, true), err)
      _, err = pcall(A.inv, A.ones {2, 2})
      assert(err:find("the matrix is singular: pivot 2 is 0", 1, true), err)
      print "ok"]], {env = {LZE_LIBRARIES = "off"}}))
  end)

  it("says which library is missing", function()
    assert.matches("LAPACK: none: LZE_LAPACK=/none: /none: ",
      process.output([[io.write(require "lze".info())]],
        {env = {LZE_LAPACK = "/none"}}))
  end)
end)

describe("A.linalg", function()
  it("has the functions of the standard", function()
    for _, name in ipairs {"cholesky", "cross", "det", "diagonal", "eigh",
      "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
      "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd",
      "svdvals", "tensordot", "trace", "vecdot", "vector_norm"} do
      assert.equal(A[name], A.linalg[name])
      assert.equal("function", type(A.linalg[name]))
    end
    assert.same({1, 2}, A.linalg.solve(A.eye(2), A("float", {1, 2})):read())
  end)
end)

describe("diagonals", function()
  it("are views of the last two dimensions", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    assert.same({1, 5}, a:diagonal():read())
    assert.same({2, 6}, a:diagonal(1):read())
    assert.same({4}, a:diagonal(-1):read())
    assert.same({}, a:diagonal(3):read())
    assert.same({}, a:diagonal(-5):read())
    assert.same({{1, 5}, {1, 5}}, A.stack {a, a}:diagonal():table())
    a:diagonal():fill(0)
    assert.same({0, 2, 3, 4, 0, 6}, a:read())
    assert.equal(8, a:trace(1):item())
    assert.equal(0, A.stack {a, a}:trace()[2])
  end)

  it("are made of vectors by diag", function()
    assert.same({{0, 1, 0}, {0, 0, 2}, {0, 0, 0}},
      A("int", {1, 2}):diag(1):table())
    assert.same({{0, 0}, {3, 0}}, A("double", {3}):diag(-1):table())
    assert.same({1, 4}, A("int", {{1, 2}, {3, 4}}):diag():read())
    assert.same({0, 0}, A.zeros(0):diag().shape)
  end)

  it("refuse vectors and offsets that are not integers", function()
    assert.equal("diagonal: argument 1 (a): 2 dimensions or more expected, got "
      .. "shape {3}", said(A.diagonal, A.ones(3)))
    assert.equal("diag: argument 1 (a): 1 dimension or more expected, got "
      .. "shape {}", said(A.diag, A.ones(3):sum()))
    assert.matches("argument 2 %(k%): an integer expected, got 1.5",
      said(A.trace, A.eye(2), 1.5))
  end)
end)

describe("errors of linear algebra", function()
  local a = A.eye(3)

  it("name the singular matrix and the pivot", function()
    local singular = A("float", {{1, 2}, {2, 4}})
    assert.equal("solve: argument 1 (a): the matrix is singular: pivot 2 is 0",
      said(A.solve, singular, A.ones(2)))
    local two = A.stack {A.eye(2), singular}
    assert.equal("inv: argument 1 (a): matrix 2 is singular: pivot 2 is 0",
      said(A.inv, two))
    assert.equal("solve: argument 1 (a): matrix {2, 1} is singular: pivot 2 is "
      .. "0", said(A.solve, two:reshape {2, 1, 2, 2}, A.ones(2)))
    assert.equal("triangular_solve: argument 1 (a): matrix 2 is singular: "
      .. "pivot 1 is 0", said(A.triangular_solve,
        A.stack {A.eye(2), A("float", {{0, 0}, {1, 1}})}, A.ones(2)))
    assert.equal("matrix_power: argument 1 (a): the matrix is singular: pivot 2"
      .. " is 0", said(A.matrix_power, singular, -1))
    assert.equal("cholesky: argument 1 (a): matrix 2 is not positive definite: "
      .. "pivot 2 is not positive",
      said(A.cholesky, A.stack {A.eye(2), A("float", {{1, 2}, {2, 1}})}))
    assert.equal("cholesky: argument 1 (a): the matrix has elements that are "
      .. "not finite", said(A.cholesky, A("float", {{1, 0}, {0 / 0, 1}})))
    assert.same({1, 0, 0, 1},
      A("float", {{1, 0 / 0}, {0, 1}}):cholesky():read())
  end)

  it("name shapes", function()
    assert.equal("inv: argument 1 (a): square matrices expected, got shape "
      .. "{2, 3}", said(A.inv, A.ones {2, 3}))
    assert.equal("det: argument 1 (a): 2 dimensions or more expected, got shape"
      .. " {3}", said(A.det, A.ones(3)))
    assert.equal("solve: shapes {3, 3} and {2} do not fit: 3 rows expected in "
      .. "argument 2 (b)", said(A.solve, a, A.ones(2)))
    assert.equal("solve: shapes {3, 3} and {2, 3} do not fit: 3 rows expected "
      .. "in argument 2 (b)", said(A.solve, a, A.ones {2, 3}))
    assert.equal("solve: the dimensions before the last two: shapes {2} and {4}"
      .. " do not broadcast (dimension 1: 2 and 4)",
      said(A.solve, A.ones {2, 3, 3}, A.ones {4, 3, 1}))
  end)

  it("name arguments and options", function()
    assert.equal("svd: argument 1 (a): array expected, got integer 1",
      said(A.svd, 1))
    assert.equal("solve: argument 2 (b): array expected, got integer 1",
      said(A.solve, a, 1))
    assert.equal("solve: argument 3: nothing more expected, got table",
      (said(A.solve, a, a, {}):gsub("got table.*", "got table")))
    assert.matches('mode: "reduced" or "complete" expected, got',
      said(A.qr, a, {mode = "r"}))
    assert.matches("upper: boolean expected, got",
      said(A.cholesky, a, {upper = 1}))
    assert.matches("unknown option lower; there are upper",
      said(A.eigh, a, {lower = true}))
    assert.matches('ord: "fro", "nuc", 1, %-1, 2, %-2, math.huge or '
      .. '%-math.huge expected, got "f"', said(A.matrix_norm, a, {ord = "f"}))
    assert.matches("ord: a number expected, got",
      said(A.vector_norm, a, {ord = "fro"}))
    assert.matches("one or two dimensions expected for ord, got none for shape "
      .. "{1, 1, 1}", said(A.norm, A.ones {1, 1, 1}, {ord = 1}))
    assert.matches("cond: argument 1 %(a%): shape {0, 0} has no elements",
      said(A.cond, A.zeros {0, 0}))
    assert.matches("rtol: a number of 0 or more expected, got %-1",
      said(A.pinv, a, {rtol = -1}))
    assert.matches("argument 2 %(n%): an integer expected, got 0.5",
      said(A.matrix_power, a, 0.5))
    local closed = A.ones {2, 2}
    closed:close()
    assert.equal("inv: argument 1 (a): the array is closed",
      said(A.inv, closed))
  end)

  with_library("refuse elements that are not finite", function()
    local b = A("float", {{{1, 0}, {0, 1}}, {{1, 0 / 0}, {0, 1}}})
    for _, name in ipairs {"svd", "svdvals", "eigh", "eigvalsh", "eig",
      "eigvals", "pinv", "matrix_rank"} do
      assert.equal(name .. ": argument 1 (a): matrix 2 has elements that are "
        .. "not finite", said(A[name], b))
    end
    assert.equal("lstsq: argument 2 (b): the matrix has elements that are not "
      .. "finite", said(A.lstsq, a, A("float", {1, math.huge, 3})))
    assert.equal("expm: argument 1 (a): it has elements that are not finite",
      said(A.expm, b))
  end)

  if not library then
    it("name the package that is missing", function()
      for _, name in ipairs {"svd", "eigh", "eig", "pinv"} do
        assert.matches("^" .. name .. ": LAPACK is needed, and there is none: ",
          said(A[name], a))
      end
      assert.matches("^lstsq: LAPACK is needed", said(A.lstsq, a, a))
    end)
  end
end)
