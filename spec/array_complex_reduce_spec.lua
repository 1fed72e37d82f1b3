-- array_complex_reduce_spec.lua - sums and products of complex numbers.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

local types = require "spec.support.complex".types

-- Compares elements with {re, im} or numbers.
local function holds(expected, z, most)
  local got = z:read()
  assert.equal(#expected, #got)
  for i, e in ipairs(expected) do
    local v = got[i]
    if type(e) ~= "table" then e, v = {e, 0}, {v, 0} end
    for part = 1, 2 do
      local far = math.abs(e[part] - v[part])
      if far ~= far or far > (most or 0) then
        error(("element %d: {%s, %s} expected, got {%s, %s}"):format(i, e[1],
          e[2], v[1], v[2]), 2)
      end
    end
  end
end

local function times(z, w)
  return {z[1] * w[1] - z[2] * w[2], z[1] * w[2] + z[2] * w[1]}
end

-- Small whole numbers: {2, 3, 4}.
local function sample(kind)
  local list = {}
  for i = 1, 24 do list[i] = {(i * 7) % 5 - 2, (i * 11) % 7 - 3} end
  return A(kind, list):reshape {2, 3, 4}, list
end

describe("sums of complex arrays", function()
  it("add the elements of the whole array or of dimensions", function()
    for _, kind in ipairs(types) do
      local z, list = sample(kind)
      local all, rows, first = {0, 0}, {}, {}
      for i, v in ipairs(list) do
        all = {all[1] + v[1], all[2] + v[2]}
        local r, c = (i - 1) // 4 + 1, (i - 1) % 12 + 1
        rows[r] = rows[r] or {0, 0}
        rows[r] = {rows[r][1] + v[1], rows[r][2] + v[2]}
        first[c] = first[c] or {0, 0}
        first[c] = {first[c][1] + v[1], first[c][2] + v[2]}
      end
      assert.equal(kind, z:sum().type)
      assert.same({}, z:sum().shape)
      holds({all}, z:sum())
      holds(rows, z:sum {dim = 3})
      holds(rows, z:sum(-1))
      holds(first, z:sum {dim = 1})
      assert.same({2, 1, 1}, z:sum({dim = {2, 3}, keep = true}).shape)
      holds({all}, z:permute(3, 1, 2):sum {dim = {1, 2, 3}})
      holds({{all[1] / 24, all[2] / 24}}, z:mean(), 1e-6)
      assert.same({2, 4}, z:mean {dim = 2}.shape)
      holds({all}, (z * 1):sum())
      holds({{0, 0}}, A.zeros({0}, {type = kind}):sum())
      holds({{0, 0}, {0, 0}}, A.zeros({0, 2}, {type = kind}):sum(1))
      holds({{3, 4}}, A(kind, {{3, 4}}):reshape {}:sum())
      local n = 30000
      local many = A.complex(A.ones {n}, A.arange(n):to "float" % 2):to(kind)
      holds({{n, n / 2}}, many:sum())
      holds({{1, 0.5}}, many:mean())
    end
    local z = sample "complex64"
    assert.equal(types[2] or "complex64",
      z:sum({type = types[2] or "complex64"}).type)
    assert.equal("sum: argument 2 (dim): a dimension of 1 to 3 expected, got 4",
      said(z.sum, z, 4))
    assert.equal("mean: argument 2 (options): unknown option type; there are "
      .. "dim, keep", said(z.mean, z, {type = "float"}))
    assert.equal("sum: argument 2 (options): dim: dimension 1 is named twice",
      said(z.sum, z, {dim = {1, -3}}))
    assert.matches("real numbers expected", said(z.sum, z, {type = "float"}))
  end)

  it("measure distances: norm, var and std are real", function()
    for _, kind in ipairs(types) do
      local z = A(kind, {{{3, 4}, {0, 1}}, {{1, 2}, {3, -2}}})
      local real = z:real().type
      assert.equal(real, z:norm().type)
      holds({math.sqrt(44)}, z:norm(), 1e-6)
      holds({5.0990195135928, math.sqrt(18)}, z:norm {dim = 2}, 1e-6)
      assert.same({1, 2}, z:norm({dim = 1, keep = true}).shape)
      -- The mean is 1.75 + 1.25 i.
      local sum = 1.25 ^ 2 + 2.75 ^ 2 + 1.75 ^ 2 + 0.25 ^ 2 + 0.75 ^ 2 +
        0.75 ^ 2 + 1.25 ^ 2 + 3.25 ^ 2
      assert.equal(real, z:var().type)
      holds({sum / 4}, z:var(), 1e-6)
      holds({sum / 3}, z:var {correction = 1}, 2e-6)
      holds({math.sqrt(sum / 4)}, z:std(), 1e-6)
      holds({4.5, 5}, z:var {dim = 2}, 1e-6)
      assert.same({2, 1}, z:std({dim = 2, keep = true}).shape)
    end
    local z = A("complex64", {1})
    assert.equal("std: argument 2 (options): correction: a finite number "
      .. "expected, got string 'x'", said(z.std, z, {correction = "x"}))
  end)

  it("run along dimensions: cumsum, and products: prod", function()
    for _, kind in ipairs(types) do
      local z, list = sample(kind)
      local sum, sums, product = {0, 0}, {}, {1, 0}
      for i, v in ipairs(list) do
        sum = {sum[1] + v[1], sum[2] + v[2]}
        sums[i] = sum
      end
      holds(sums, z:cumsum())
      holds({{1, 1}, {3, 2}, {2, 5}}, A(kind, {{1, 1}, {2, 1}, {-1, 3}})
        :cumsum(1))
      assert.same({3, 3, 4},
        z:cumsum({dim = 1, include_initial = true}).shape)
      for i = 1, 5 do product = times(product, list[i]) end
      holds({product}, z:reshape {-1}[{{1, 5}}]:prod())
      holds({{2, 0}, {-3, 1}}, A(kind, {{{1, 1}, {1, -1}}, {{-3, 1}, 1}})
        :prod(2))
      holds({{-2, 4}, {0, -1}}, A(kind, {{{1, 1}, {1, 0}}, {{1, 3}, {0, -1}}})
        :prod {dim = 1})
      assert.same({1, 2}, z[{1, 1, {1, 2}}]:reshape {1, 2}
        :prod({dim = 1, keep = true}).shape)
      holds({{1, 0}, {1, 0}}, A.zeros({0, 2}, {type = kind}):prod(1))
      holds({{3, 4}}, A(kind, {{3, 4}}):reshape {}:prod())
    end
  end)

  it("count the elements that are not 0", function()
    local z = A("complex64", {{0, 1}, 0, 2})
    holds({2}, z:count())
    holds({1}, z:any())
    holds({0}, z:all())
    holds({1, 3}, z:nonzero())
  end)
end)

describe("products of complex matrices", function()
  it("add the products, without conjugates", function()
    for _, kind in ipairs(types) do
      local a = A(kind, {{{1, 2}, {3, -1}, {0, 1}}, {{2, 2}, 1, {-1, 4}}})
      local b = A("float", {{1, 2}, {0, -1}, {3, 1}})
      holds({{4, -2}, {-3, 4}, {-3, 4}, {-14, 0}}, a:mm(a:t()))
      assert.equal(kind, a:mm(b).type)
      holds({{1, 5}, {-1, 6}, {-1, 14}, {2, 8}}, a:mm(b))
      holds({{5, 6}, {5, -1}, {-2, 9}}, A("int", {{1, 2}}):mm(a))
      holds({{4, -2}, {-3, 4}}, a:mv(a[1]))
      holds({{1, 5}, {-1, 14}}, a:mv(b[{{}, 1}]))
      holds({{-3, 4}}, a[1]:dot(a[2]))
      assert.same({}, a[1]:dot(b[{{}, 1}]).shape)
      holds({{1, 2}, {2, 4}, {3, -1}, {6, -2}, {0, 1}, {0, 2}},
        a[1]:outer(A("int", {1, 2})))
      holds({{2, 2}}, a:trace())
      holds({{1, 2}, {0, 0}, {0, 0}, {2, 2}, {1, 0}, {0, 0}}, a:tril())
      holds({{0, 0}, {3, -1}, {0, 1}, {0, 0}, {0, 0}, {-1, 4}}, a:triu(1))
      local batch = A.stack {a, a * A.complex(0, 1)}
      local product = batch:mm(a:t())
      assert.same({2, 2, 2}, product.shape)
      holds({{4, -2}, {-3, 4}, {-3, 4}, {-14, 0}, {2, 4}, {-4, -3}, {-4, -3},
        {0, -14}}, product)
      local none = A.zeros({2, 0}, {type = kind})
      holds({{0, 0}, {0, 0}, {0, 0}, {0, 0}}, none:mm(none:t()))
      assert.same({0, 2}, none:t():mm(a[{{}, {1, 2}}]).shape)
    end
    local z = A("complex64", {{{1, 1}, 1}})
    assert.equal("mm: shapes {1, 2} and {1, 2} do not fit (2 columns, 1 rows)",
      said(z.mm, z, z))
    assert.equal("dot: argument 1 (a): 1 dimension expected, got shape {1, 2}",
      said(z.dot, z, z))
  end)
end)

describe("products over dimensions and norms", function()
  it("take complex arrays; vecdot conjugates its first operand", function()
    for _, kind in ipairs(types) do
      local z = A(kind, {{{1, 2}, {3, 0}}, {{0, 1}, {2, 2}}})
      local v, w = z[1], z[2]
      local square = z:mm(z):read()
      assert.same(square, z:matmul(z):read())
      assert.same(square, z:tensordot(z, 1):read())
      assert.same(square, A.einsum("ij,jk", z, z):read())
      holds({{3, 4}}, z:trace():reshape {1})
      holds({{8, 7}}, v:vecdot(w):reshape {1})
      holds({{-2, 1}, {-2, 6}, {0, 3}, {6, 6}}, v:kron(w))
      holds({{1, 0}, {0, 0}, {0, 1}}, A(kind, {1, 1, {0, 1}}):cross(
        A(kind, {0, {0, 1}, 0})))
      assert.equal(6, A(kind, {{3, 4}, 1}):vector_norm({ord = 1}):item())
    end
  end)
end)

describe("indices of complex arrays", function()
  it("move elements of both widths", function()
    for _, kind in ipairs(types) do
      local z = A(kind, {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})
      holds({{7, 8}, {1, 2}}, z:take {4, 1})
      holds({{3, 4}, {1, 2}, {7, 8}, {5, 6}}, z:take({2, 1}, 2))
      holds({{3, 4}, {5, 6}}, z:gather(A("int", {{2}, {1}}), 2))
      holds({{5, 6}, {7, 8}, {1, 2}, {3, 4}}, z[{A("int", {2, 1}), {}}])
      holds({{5, 6}, {7, 8}}, z[z:real():gt(4)])
      holds({{5, 6}, {7, 8}}, z[A("int", {0, 1}):ne(0)])
      local flat = z:reshape {4}
      holds({{9, 0}, {3, 4}, {5, 6}, {1, -1}},
        flat:scatter(A("int", {1, 4}), A(kind, {9, {1, -1}})))
      holds({{1, 2}, {0, 1}, {5, 6}, {7, 8}},
        flat:scatter({2}, {{0, 1}}))
      holds({{2, 0}, {3, 4}, {5, 6}, {7, 8}}, flat:scatter({1}, 2))
      z[{A("int", {1}), {}}] = A.complex(0, 1)
      holds({{0, 1}, {0, 1}, {5, 6}, {7, 8}}, z)
      holds({{0, 1}, {0, 1}, {7, 8}, {5, 6}}, A.cat {z[{{1, 1}}],
        z[{{2, 2}}]:flip(2)})
      holds({{0, 1}, {0, 0}}, A.cat({z[1], A("int", {0})})[{{2, 3}}])
      holds({{0, 0}, {0, 1}, {0, 1}, {0, 0}}, z[1]:pad(1))
      assert.is_true(z:allclose(z + 1e-7))
      assert.is_false(z:allclose(z + 0.1))
      assert.is_true(z:array_equal(z:clone()))
      assert.equal("take: argument 2 (indices): index 1: 5 is outside 1..4",
        said(z.take, z, {5}))
    end
  end)
end)
