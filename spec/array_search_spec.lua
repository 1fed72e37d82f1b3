-- array_search_spec.lua - arrays: searching, counting, and arrays in an index.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

local function same(expected, a, kind)
  assert.same(expected, a:table())
  if kind then assert.equal(kind, a.type) end
end

local function random_list(n, least, most)
  local list = {}
  for i = 1, n do list[i] = math.random(least, most) end
  return list
end

describe("lze.array", function()
  setup(function() math.randomseed(5) end)

  it("gives a row of indices for each element that is not 0", function()
    same({{2}, {3}}, A("int", {0, 3, 4}):argwhere(), "long")
    same({{1, 2}, {2, 1}}, A("int", {{0, 3}, {4, 0}}):argwhere(), "long")
    assert.same({0, 2}, A.zeros {2, 2}:argwhere().shape)
    assert.same({1, 0}, A("int", {7}):reshape {}:argwhere().shape)
  end)

  it("finds which elements are among values", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    same({{0, 1, 0}, {0, 0, 1}}, a:isin {2, 6, 9}, "uchar")
    same({{0, 0}, {1, 0}, {0, 1}}, a:t():isin {2, 6, 9})
    same({{0, 0, 1}, {0, 0, 0}}, a:isin(3))
    same({{0, 0, 0}, {0, 0, 0}}, a:isin {})
    same({0, 1, 0}, A("float", {0/0, 1, -1/0}):isin {1, 0/0})
    same({1, 0}, a[1][{ {1, 2} }]:isin(A("float", {1, 2.5})))
    same({9}, a[a:isin {3, 6}]:sum():reshape {1})
    assert.equal("isin: argument 2 (values): array expected, got boolean",
      said(A.isin, a, true))
  end)

  it("counts integers from 1 on, and adds weights", function()
    local list = random_list(500, 1, 20)
    local counts, sums, weights = {}, {}, random_list(500, -9, 9)
    for i = 1, 20 do counts[i], sums[i] = 0, 0 end
    for i, v in ipairs(list) do
      counts[v], sums[v] = counts[v] + 1, sums[v] + weights[i]
    end
    for _, kind in ipairs {"uchar", "int", "ulong"} do
      local a = A(kind, list)
      same(counts, a:bincount {size = 20}, "long")
      same(sums, a:reshape {5, 100}:bincount {size = 3,
        weights = A("int", weights):reshape {5, 100}}, "long")
    end
    same({0.5, 0, 3}, A("int", {1, 3, 3}):bincount {
      weights = A("float", {0.5, 1, 2})}, "float")
    same({0, 0}, A("int", {}):bincount {size = 2})
    assert.equal("bincount: argument 1 (a): integers from 1 on expected, got 0",
      said(A.bincount, A("int", {0, 3})))
    assert.equal("bincount: argument 1 (a): integers expected, got float",
      said(A.bincount, A.zeros {2}))
    assert.equal("bincount: argument 2 (options): weights: shape {2} " ..
      "expected, got {3}",
      said(A.bincount, A("int", {1, 2}), {weights = A.zeros {3}}))
  end)

  it("finds different elements with counts, inverse and index", function()
    local a = A("int", {{3, 1}, {3, 2}})
    local values, counts, inverse, index = a:unique {counts = true,
      inverse = true, index = true}
    same({1, 2, 3}, values, "int")
    same({1, 1, 2}, counts, "long")
    same({{3, 1}, {3, 2}}, inverse, "long")
    same({2, 4, 1}, index, "long")
    same(a:table(), values:take(inverse))
    local _, places = a:t():unique {index = true}
    same({3, 4, 1}, places)
    local none, back = A("int", {}):unique {inverse = true}
    assert.same({0, 0}, {none.size, back.size})
  end)

  it("adds values at indices", function()
    local list, values, sums = random_list(300, -4, 4), {}, {0, 0, 0, 0}
    for i, v in ipairs(list) do
      if v == 0 then list[i], v = 4, 4 end
      local k = v < 0 and v + 5 or v
      values[i] = i
      sums[k] = sums[k] + i
    end
    for _, kind in ipairs {"int", "float", "ulong"} do
      same(sums, A.zeros({4}, {type = kind}):scatter_add(list, values), kind)
    end
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    same({{21, 2, 3}, {4, 25, 6}}, a:scatter_add({{1, 1}, {2, 2}}, 10))
    same({{1, 2, 3}, {24, 15, 16}},
      a:scatter_add({{2, -1, 2}}, {{20, 10, 10}}, 1))
    same({{4, 2, 6}, {13, 5, 12}}, a:index_add(2, {1, 1, -1},
      A("int", {{1, 2, 3}, {4, 5, 6}})))
    same({{1, 4}, {4, 7}, {4, 7}}, a:t():index_add(1, {2, 2, 3},
      A("int", {1, 1})))
    assert.equal("index_add: argument 3 (indices): index 2: 3 is outside 1..2",
      said(A.index_add, a, 1, {2, 3}, 1))
    assert.equal("index_add: argument 3 (indices): one dimension expected, " ..
      "got 2", said(A.index_add, a, 1, {{1}}, 1))
  end)

  it("sorts by several keys, and by the place of one element", function()
    local first, second = A("int", {1, 5, 1, 4, 3, 4, 4}),
      A("int", {9, 4, 0, 4, 0, 2, 1})
    same({3, 5, 7, 6, 4, 2, 1}, A.lexsort {first, second}, "long")
    same({3, 1, 5, 7, 6, 4, 2}, A.lexsort {second, first})
    same({1, 2, 3}, A("int", {3, 1, 2}):partition(2))
    same({{2, 1}, {3, 4}}, A("int", {{3, 1}, {2, 4}}):partition(1, {dim = 1}))
    same({2, 3, 1}, A("int", {3, 1, 2}):argpartition(-1), "long")
    assert.equal("partition: argument 2 (k): an index of 1 to 3 expected, " ..
      "got 4", said(A.partition, A("int", {3, 1, 2}), 4))
    assert.equal("lexsort: argument 1 (list): element 2: shape {7} " ..
      "expected, got {2}", said(A.lexsort, {first, A("int", {1, 2})}))
  end)

  it("finds values on lines between points", function()
    local x = A("float", {0, 1, 1.5, 2.75, 3, 4})
    same({3, 3, 2.5, 0.5, 0, 0}, x:interp({1, 2, 3}, {3, 2, 0}), "float")
    assert.equal(1, A.interp(2.5, A("int", {1, 2, 3}), {3, 2, 0}):item())
    same({7, 7}, A("int", {1, 2}):interp({1}, {7}), "float")
    assert.equal(0, A("float", {0/0}):interp({1, 2}, {3, 4}):isfinite():item())
    assert.equal("interp: argument 3 (ys): shape {2} expected, got {1}",
      said(A.interp, x, {1, 2}, {1}))
  end)

  it("counts in bins with given edges and weights", function()
    local a = A("float", {1, 2, 1, 4, 0/0, -1, 5})
    local counts, edges = a:histogram {0, 1, 2, 4}
    same({0, 2, 2}, counts, "long")
    same({0, 1, 2, 4}, edges)
    same({1, 0, 7}, (A("int", {1, 2, 4, 4}):histogram({1, 2, 2, 4}, {
      weights = A("float", {1, 2, 4, 1})})))
    same({3.5, 4}, (A("float", {1, 2, 1, 4}):histogram(2,
      {weights = A("float", {0.5, 2, 1, 4})})))
    local both, xs, ys = A("float", {1, 2, 1, 4, 9}):histogram2d(
      A("float", {1, 2, 3, 4, 1}), {A("float", {1, 2, 4}), A("int", {1, 3, 4})})
    same({{1, 1}, {1, 1}}, both, "long")
    same({1, 2, 4}, xs)
    same({1, 3, 4}, ys)
    assert.equal("histogram: argument 2 (bins): the edges must ascend",
      said(A.histogram, a, {1, 0}))
  end)

  it("reads arrays of indices in an index", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    local rows, columns = A("int", {2, -2, 1}), A("long", {3, 1})
    for _, x in ipairs {a, a:t():clone():t(), a + 0} do
      same({{4, 5, 6}, {1, 2, 3}, {1, 2, 3}}, x[{rows, {}}], "int")
      same({{4, 5, 6}, {1, 2, 3}, {1, 2, 3}}, x[{rows}])
      same({{3, 1}, {6, 4}}, x[{{}, columns}])
      same({{6, 4}}, x[{{-1, -1}, columns}])
      same({6, 4}, x[{2, columns}])
      same({4, 1, 1}, x[{rows, 1}])
      same({3, 4}, x[{A("int", {1, 2}), columns}])
      same({{3, 1}, {6, 4}}, x[{A("int", {{1}, {2}}), columns}])
      same({{1, 3}, {4, 6}}, x[{{}, A("int", {1, 0, 1}):gt(0)}])
    end
    assert.same({2, 0}, a[{{}, A("int", {})}].shape)
    local c = A.arange(24):reshape {2, 3, 4}
    same({{1, 5, 9}, {4, 8, 12}}, c[{1, {}, A("int", {1, 4})}])
    assert.equal("index 1: element 1: 3 is outside 1..2",
      said(function() return a[{columns, {}}] end))
    assert.equal("index 2: integers or a mask expected, got float",
      said(function() return a[{1, A.zeros {2}}] end))
  end)

  it("reads and writes at an array of indices that is the index", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    for _, kind in ipairs {"uchar", "int", "long", "ulong"} do
      same({{4, 5, 6}, {1, 2, 3}}, a[A(kind, {2, 1})], "int")
    end
    same({{{4, 5, 6}}, {{1, 2, 3}}}, a[A("int", {{-1}, {1}})])
    same({30, 10}, A("float", {10, 20, 30})[A("int", {3, 1})], "float")
    same({1, 2, 3}, a[A("int", {1}):reshape {}])
    assert.same({0, 3}, a[A("int", {})].shape)
    local b = A("int", {1, 2, 3, 4})
    b[A("uchar", {4, 1})] = A("int", {-4, -1})
    same({-1, 2, 3, -4}, b)
    b[A("int", {2, 2})] = 0
    same({-1, 0, 3, -4}, b)
    a[A("int", {2})] = {{7, 8, 9}}
    same({{1, 2, 3}, {7, 8, 9}}, a)
    assert.equal("index 1: element 2: 0 is outside 1..4",
      said(function() return b[A("uchar", {1, 0, 1, 1})] end))
    assert.equal("index 1: element 1: 5 is outside 1..4",
      said(function() b[A("int", {5})] = 1 end))
  end)

  it("reads and writes at masks of several dimensions in an index", function()
    local c = A.arange(24):reshape {2, 3, 4}
    local m = A("int", {{1, 0, 0}, {0, 1, 1}}):gt(0)
    same({2, 18, 22}, c[{m, 2}], "long")
    same(c[m]:table(), c[{m}])
    same({{1, 2, 3, 4}, {17, 18, 19, 20}, {21, 22, 23, 24}}, c[{m, {}}])
    same({{{1, 2, 3, 4}}, {{17, 18, 19, 20}}, {{21, 22, 23, 24}}},
      c[{m, A.newaxis, {}}])
    local n = A("int", {{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}}):gt(0)
    same({14, 17, 24}, c[{2, n}])
    same({{2, 5, 12}, {14, 17, 24}}, c[{{}, n}])
    same({14, 5, 24}, c[{A("int", {2, 1, -1}), n}])
    same({12}, c[{{1, 1}, n}][{ {}, {3, 3} }]:reshape {1})
    assert.same({2, 0}, c[{{}, n & ~n}].shape)
    c[{{}, n}] = 0
    same({0, 0, 0}, c[{2, n}])
    c[{m, 1}] = A("long", {-1, -2, -3})
    same({-1, -2, -3}, c[{m, 1}])
    assert.equal(-3, c[{2, 3, 1}])
    assert.equal("index 1: a mask of shape {2, 3} expected, got {3, 4}",
      said(function() return c[{n, 1}] end))
    assert.equal("a[{...}]: one index for each dimension of {2, 3, 4} at " ..
      "most, got 4", said(function() return c[{m, m}] end))
  end)

  it("searches numbers that are not of the list's type", function()
    local a = A("int", {10, 20, 20, 30})
    same({2, 2, 4, 5, 1}, a:searchsorted {10.5, 20, 20.5, 1e30, -5}, "long")
    same({2, 4, 4, 5, 1}, a:searchsorted({10.5, 20, 20.5, 1e30, -5},
      {right = true}))
    same({{1, 5}, {5, 2}}, A("uchar", {0, 7, 200, 255}):searchsorted {{-1, 300},
      {256, 1}})
    local far = A("long", {1 << 53, (1 << 53) + 1, math.maxinteger})
    same({2, 1, 3}, far:searchsorted {(1 << 53) + 1, 0x1p53, 0x1p62})
    same({1, 3}, A("ulong", {1, -1}):searchsorted({0.5, -1}, {right = true}))
    assert.same({0}, a:searchsorted({}).shape)
    assert.equal("searchsorted: argument 2 (values): element 2: a number " ..
      "expected, got string 'x'", said(A.searchsorted, a, {1, "x"}))
  end)

  it("names the call and the argument in errors of bins", function()
    local a, y = A("float", {1, 2, 3}), A("float", {1, 0 / 0, 3})
    for message, f in pairs {
      ["histogram2d: argument 2 (y): there are elements that are not " ..
        "finite; give edges"] = function() a:histogram2d(y, 3) end,
      ["histogram2d: argument 1 (a): there are elements that are not " ..
        "finite; give edges"] = function() y:histogram2d(a, 3) end,
      ["histogram2d: argument 3 (bins): an integer of 1 to 2147483647 " ..
        "expected, got 0"] = function() a:histogram2d(a, {2, 0}) end,
      ["histogram2d: argument 2 (y): shape {3} expected, got {2}"] =
        function() a:histogram2d(A.zeros {2}, 2) end,
      ["histogram2d: argument 4 (options): weights: shape {3} expected, " ..
        "got {2}"] = function() a:histogram2d(a, 2, {weights = {1, 2}}) end,
      ["histogram: argument 3 (options): weights: array or table expected, " ..
        "got string 'a'"] = function() a:histogram(2, {weights = "a"}) end,
      ["average: argument 2 (options): weights: numbers expected, got " ..
        "complex64"] = function() a:average {weights = A("float2", 3)} end
    } do
      assert.equal(message, said(f))
    end
    same({3, 2.5}, (a:histogram(2, {weights = {3, 0.5, 2}})), "float")
  end)

  it("writes at arrays of indices in an index", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    a[{{}, A("int", {3, 1})}] = 0
    same({{0, 2, 0}, {0, 5, 0}}, a)
    a[{A("int", {2, 2}), {1, 2}}] = {{7, 8}, {9, 10}}
    same({{0, 2, 0}, {9, 10, 0}}, a)
    a:t()[{A("int", {1, 2}), A("int", {1, 2})}] = A("int", {-1, -2})
    same({{-1, 2, 0}, {9, -2, 0}}, a)
    assert.equal("a[{...}] = v: shapes {2, 2} and {3} do not broadcast " ..
      "(dimension 2: 2 and 3)",
      said(function() a[{{}, A("int", {1, 2})}] = A("int", {1, 2, 3}) end))
  end)

  it("reads and writes rows by a mask of fewer dimensions", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    local m = A("int", {1, 2}):gt(1)
    same({{4, 5, 6}}, a[m])
    assert.same({0, 3}, a[~m & m].shape)
    a[m] = A("int", {7, 8, 9})
    same({{1, 2, 3}, {7, 8, 9}}, a)
    a[~m] = 0
    same({{0, 0, 0}, {7, 8, 9}}, a)
  end)

  it("makes new dimensions in an index", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    same({{1, 2, 3}}, a[{A.newaxis, 1}])
    same({{2}, {5}}, a[{{}, A.newaxis, 2}])
    same({{{4, 5, 6}}}, a[{A("int", {2}), A.newaxis}])
    a[{A.newaxis, 1}] = {{7, 8, 9}}
    same({{7, 8, 9}, {4, 5, 6}}, a)
  end)

  it("records isin of a graph's array", function()
    local x, dst = A("int", {1, 2, 3}), A.zeros({3}, {type = "float"})
    local g = lze.graph()
    g:array("line", dst, x * 2 + x:isin {2})
    g:compile():run()
    same({2, 5, 6}, dst)
  end)

  it("takes A.newaxis alone", function()
    local a = A("int", {{1, 2}, {3, 4}})
    same({{{1, 2}, {3, 4}}}, a[A.newaxis])
    a[A.newaxis] = {{{5, 6}, {7, 8}}}
    same({{5, 6}, {7, 8}}, a)
    assert.has_error(function() A.newaxis[1] = 1 end)
  end)

  it("finds numbers beyond the type of the elements", function()
    same({0, 1, 0}, A("int", {1, 2, 3}):isin {1.5, 2})
    same({0, 0}, A("uchar", {44, 2}):isin {300})
  end)

  it("interpolates between infinite values as NumPy", function()
    local x = A("float", {1, 2, 3, 1.5})
    same({1, math.huge, 3, math.huge}, x:interp({1, 2, 3}, {1, math.huge, 3}))
    same({5}, A("float", {2}):interp({1, 2, 3}, {1, 5, math.huge}))
    assert.equal(2, A("float", {1, 3}):histogram2d(A("float", {1, 2}), 2)
      .strides[1])
  end)
end)
