-- array_product_spec.lua - products over chosen dimensions, against plain Lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

-- Returns a function that reads an element of an array by a table of indices.
local function reader(a)
  local list, shape = a:read(), a.shape
  return function(index)
    local at = 0
    for d, n in ipairs(shape) do at = at * n + index[d] - 1 end
    return list[at + 1]
  end
end

-- Calls f for each index within sizes.
local function each(sizes, f)
  local index = {}
  local function walk(d)
    if d > #sizes then return f(index) end
    for i = 1, sizes[d] do
      index[d] = i
      walk(d + 1)
    end
  end
  walk(1)
end

-- Returns the labels of a term.
local function letters(term)
  local list = {}
  for l in term:gmatch "%a" do list[#list + 1] = l end
  return list
end

-- Returns the sums of einsum, computed by loops, in a list.
local function loops(inputs, output, arrays)
  local sizes, terms, readers = {}, {}, {}
  for term in inputs:gmatch "[^,]+" do terms[#terms + 1] = letters(term) end
  for i, term in ipairs(terms) do
    for d, l in ipairs(term) do sizes[l] = arrays[i].shape[d] end
    readers[i] = reader(arrays[i])
  end
  local all, rest, extents, depths = letters(output), {}, {}, {}
  local known = {}
  for d, l in ipairs(all) do extents[d], known[l] = sizes[l], true end
  for l in pairs(sizes) do if not known[l] then rest[#rest + 1] = l end end
  for d, l in ipairs(rest) do depths[d] = sizes[l] end
  local out = {}
  each(extents, function(index)
    local at, sum = {}, 0
    for d, l in ipairs(all) do at[l] = index[d] end
    each(depths, function(inner)
      for d, l in ipairs(rest) do at[l] = inner[d] end
      local v = 1
      for i, term in ipairs(terms) do
        local place = {}
        for d, l in ipairs(term) do place[d] = at[l] end
        v = v * readers[i](place)
      end
      sum = sum + v
    end)
    out[#out + 1] = sum
  end)
  return out
end

A.seed(7)

local function whole(shape) return A.randint(shape, -5, 5) end

describe("einsum", function()
  local sizes = {i = 2, j = 3, k = 4, l = 5, b = 2}

  it("agrees with loops", function()
    for _, text in ipairs {"i->i", "i->", "ij->ji", "ij->i", "ij->j", "ii->i",
      "ii->", "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,ij->ij", "ij,ij->",
      "i,j->ij", "i,i->", "bij,bjk->bik", "bij,jk->bik", "bij,bj->bi",
      "ij,jk,kl->il", "ij,jk,kl->", "ijk,ijk->k", "ijk,jil->kl", "iij,jk->ki",
      "ij,j,i->", "ijkl,lkji->jk", "i,j,k->kji", "ijk,l->ijkl", "ij,ji->ij",
      "b,bi,bij->j"} do
      local inputs, output = text:match "^(.*)%->(.*)$"
      local arrays = {}
      for term in inputs:gmatch "[^,]+" do
        local shape = {}
        for d, l in ipairs(letters(term)) do shape[d] = sizes[l] end
        arrays[#arrays + 1] = whole(shape)
      end
      local x = A.einsum(text, table.unpack(arrays))
      local shape = {}
      for d, l in ipairs(letters(output)) do shape[d] = sizes[l] end
      assert.same(shape, x.shape)
      assert.same(loops(inputs, output, arrays), x:read(), text)
      assert.equal("long", x.type)
    end
  end)

  it("finds the result's indices", function()
    local a, b = whole {2, 3}, whole {3, 4}
    assert.same(A.einsum("ij,jk->ik", a, b):read(), A.einsum("ij,jk", a, b)
      :read())
    assert.same(a:t():read(), A.einsum("ba", a):read())
    assert.equal(a:sum():item(), A.einsum("ij->", a):item())
    assert.same({2, 4}, A.einsum(" i j , j k ", a, b).shape)
  end)

  it("has dimensions without letters", function()
    local a, b = whole {2, 3, 4}, whole {2, 4, 3}
    assert.same(a:mm(b):read(), A.einsum("...ij,...jk", a, b):read())
    assert.same(a:mm(b):read(), A.einsum("...ij,...jk->...ik", a, b):read())
    assert.same(a:mm(b[1]):read(), A.einsum("...ij,...jk", a, b[1]):read())
    assert.same({4, 2, 3}, A.einsum("...j->j...", a).shape)
    assert.same(a:sum {dim = {1, 2}}:read(), A.einsum("...j->j", a):read())
    assert.same({2, 3, 5}, A.einsum("i...,i...->i...",
      whole {2, 3, 1}, whole {2, 1, 5}).shape)
    assert.same({2, 3, 4}, A.einsum("...", a).shape)
  end)

  it("takes views, reals and no elements", function()
    local a = A("double", {{1, 2}, {3, 4}, {5, 6}})
    local v = a[{{3, 1, -2}}]
    assert.same({61, 17, 17, 5}, A.einsum("ij,kj", v, v):read())
    assert.equal("double", A.einsum("ij,kj", v, whole {2, 2}).type)
    assert.same({{5, 6}, {1, 2}}, A.einsum("ij", v):table())
    local copy = A.einsum("ij", a)
    copy:fill(0)
    assert.equal(1, a[{1, 1}])
    local none = A.zeros {0, 3}
    assert.same({0, 0, 0, 0, 0, 0, 0, 0, 0},
      A.einsum("ij,ik->jk", none, none):read())
    assert.equal(0, A.einsum("ij->", none):item())
    assert.same({0, 0}, A.einsum("ij,kj->ik", none, none).shape)
  end)

  it("refuses what does not fit", function()
    local a = A.ones {2, 3}
    assert.equal("einsum: argument 1 (text): string expected, got integer 1",
      said(A.einsum, 1))
    assert.equal("einsum: argument 1 (text): 2 operands for 1 array",
      said(A.einsum, "ij,jk", a))
    assert.equal("einsum: argument 2 (a1): 'ijk' does not fit shape {2, 3}",
      said(A.einsum, "ijk", a))
    assert.equal("einsum: argument 2 (a1): 'ijk...' does not fit shape {2, 3}",
      said(A.einsum, "ijk...", a))
    assert.equal("einsum: argument 3: dimension 1, 'j', has 2 elements, not 3",
      said(A.einsum, "ij,jk", a, a))
    assert.equal("einsum: argument 2: dimension 2, 'i', has 3 elements, not 2",
      said(A.einsum, "ii", a))
    assert.equal("einsum: argument 1 (text): label 'k' of the result is in no "
      .. "operand", said(A.einsum, "ij->k", a))
    assert.equal("einsum: argument 1 (text): label 'i' of the result is in it "
      .. "twice", said(A.einsum, "ij->ii", a))
    assert.matches("letters, at most one '...', ',' and '%->' expected, got "
      .. "'i2'", said(A.einsum, "i2", a))
    assert.equal("einsum: argument 3 (a2): array expected, got integer 2",
      said(A.einsum, "ij,jk", a, 2))
  end)
end)

describe("tensordot", function()
  it("agrees with loops", function()
    local a, b = whole {2, 3, 4}, whole {4, 3, 5}
    assert.same(loops("ijk,kjl", "il", {a, b}),
      a:tensordot(b, {{2, 3}, {2, 1}}):read())
    assert.same(loops("ijk,kjl", "il", {a, b}),
      a:tensordot(b, {{-1, -2}, {1, 2}}):read())
    assert.same(loops("ijk,klm", "ijlm", {a, b}), a:tensordot(b, 1):read())
    local c = whole {3, 4, 2}
    assert.same(loops("ijk,jkl", "il", {a, c}), a:tensordot(c):read())
    assert.same({2, 3, 4, 2}, a:tensordot(A.ones(2), 0).shape)
    assert.same({}, a:tensordot(a, 3).shape)
  end)

  it("refuses dimensions that do not fit", function()
    local a, b = A.ones {2, 3}, A.ones {2, 3}
    assert.equal("tensordot: shapes {2, 3} and {2, 3} do not fit: dimension 2 "
      .. "has 3 elements, dimension 1 has 2", said(A.tensordot, a, b, 1))
    assert.equal("tensordot: argument 3 (dims): 1 dimensions of a and 2 of b",
      said(A.tensordot, a, b, {{1}, {1, 2}}))
    assert.matches("a number of dimensions of both expected, got 3",
      said(A.tensordot, a, b, 3))
    assert.matches("a number or two lists of dimensions expected",
      said(A.tensordot, a, b, {1}))
  end)
end)

describe("matmul", function()
  it("takes vectors on both sides", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    assert.same({14, 32}, a:matmul(A("int", {1, 2, 3})):read())
    assert.same({9, 12, 15}, A("int", {1, 2}):matmul(a):read())
    assert.equal(14, a[1]:matmul(a[1]):item())
    assert.same({2, 2}, a:matmul(a:t()).shape)
    local b = A.stack {a, a}
    assert.same({{14, 32}, {14, 32}}, b:matmul(A("int", {1, 2, 3})):table())
    assert.same({2, 3}, A.ones(2):matmul(b).shape)
  end)

  it("refuses numbers and sizes that do not fit", function()
    assert.equal("matmul: argument 2 (b): 1 dimension or more expected, got "
      .. "shape {}", said(A.matmul, A.ones(2), A.ones(2):sum()))
    assert.equal("matmul: shapes {2} and {3} do not fit (2 columns, 3 rows)",
      said(A.matmul, A.ones(2), A.ones(3)))
  end)
end)

describe("vecdot, cross and kron", function()
  it("multiply along a dimension", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    assert.same({14, 77}, a:vecdot(a):read())
    assert.same({17, 29, 45}, a:vecdot(a, {dim = 1}):read())
    assert.same({8, 23}, a:vecdot(A("int", {3, 1, 1})):read())
    assert.same({1 << 32, 0},
      A("int", {{1 << 16}, {0}}):vecdot(A("int", {1 << 16})):read())
    assert.same({-3, 6, -3}, a[1]:cross(a[2]):read())
    assert.same({{-3, 6, -3}, {3, -6, 3}}, a:cross(a:flip(1)):table())
    assert.same({-3, 6, -3}, a:t():cross(a:flip(1):t(), {dim = 1})
      [{{}, 1}]:read())
    assert.same({{0, 3, -2}, {0, 6, -5}}, a:cross(A("int", {1, 0, 0})):table())
  end)

  it("put all of b in place of each element", function()
    local a, b = A("int", {{1, 2}, {3, 4}}), A("int", {{1, 10}})
    assert.same({{1, 10, 2, 20}, {3, 30, 4, 40}}, a:kron(b):table())
    assert.same({1, 2, 2, 4}, A("int", {1, 2}):kron(A("int", {1, 2})):read())
    assert.same({2, 6}, a:kron(A("int", {1, 1, 1})).shape)
    assert.same({0, 2}, A.zeros {0, 2}:kron(A.ones {1, 1}).shape)
  end)

  it("refuse what does not fit", function()
    assert.equal("vecdot: shapes {2, 3} and {2} do not fit: dimension -1 has 3 "
      .. "and 2 elements", said(A.vecdot, A.ones {2, 3}, A.ones(2)))
    assert.matches("^vecdot: argument 2 %(b%): dim: a dimension of 1 to 1 "
      .. "expected, got 2", said(A.vecdot, A.ones {2, 3}, A.ones(3), {dim = 2}))
    assert.equal("cross: argument 2 (b): 3 elements along dimension 1 expected,"
      .. " got shape {1}", said(A.cross, A.ones {2, 3}, A.ones(1)))
    assert.equal("kron: shapes {1, 1, 1, 1, 1} and {2}: at most 4 dimensions "
      .. "expected", said(A.kron, A.ones {1, 1, 1, 1, 1}, A.ones(2)))
  end)
end)
