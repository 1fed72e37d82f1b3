-- array_statistics_spec.lua - statistics, and reductions over several
-- dimensions.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

-- Compares shape and elements, which may differ by 1e-5 of their size.
local function holds(shape, list, a)
  assert.same(shape, a.shape)
  local got = a:read()
  assert.equal(#list, #got)
  for i, v in ipairs(list) do
    local g = got[i]
    assert(v ~= v and g ~= g or g == v or
      math.abs(g - v) <= 1e-5 * math.max(1, math.abs(v)),
      ("element %d: %s, not %s"):format(i, g, v))
  end
end

local nan, huge = 0 / 0, math.huge
local x = A("float", {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 13}}})
local holes = A("float", {{1, nan, 3}, {nan, nan, nan}})

describe("reductions over several dimensions", function()
  it("merge the dimensions, adjacent or not", function()
    holds({2}, {30, 49}, x:sum {dim = {1, 3}})
    holds({1, 2, 1}, {30, 49}, x:sum {dim = {-1, 1}, keep = true})
    holds({3}, {22, 26, 31}, x:sum {dim = {1, 2}})
    holds({2}, {21, 58}, x:sum {dim = {2, 3}})
    holds({}, {79}, x:sum {dim = {1, 2, 3}})
    holds({2}, {9, 13}, x:max {dim = {1, 3}})
    holds({2}, {1, 4}, x:min {dim = {1, 3}})
    holds({2}, {5, 49 / 6}, x:mean {dim = {1, 3}})
    holds({2}, {6, 6}, x:count {dim = {1, 3}})
    local m = x:gt(3)
    holds({2}, {0, 1}, m:all {dim = {1, 3}})
    holds({2}, {1, 1}, m:any {dim = {1, 3}})
  end)

  it("reduce nothing for no dimensions", function()
    holds({2, 2, 3}, x:read(), x:sum {dim = {}})
  end)

  it("give the neutral element for empty dimensions", function()
    holds({2}, {0, 0}, A.zeros({0, 2, 3}):sum {dim = {1, 3}})
  end)

  it("refuse a dimension named twice and a field", function()
    assert.equal("sum: argument 2 (options): dim: dimension 1 is named twice",
      said(A.sum, x, {dim = {1, -3}}))
    assert.matches("a list of dimensions expected, got a field",
      said(A.sum, x, {dim = {d = 1}}))
  end)

  it("take a number as the dimension", function()
    holds({2, 3}, {8, 10, 12, 14, 16, 19}, x:sum(1))
    assert.equal("sum: argument 2 (dim): a dimension of 1 to 3 expected, got 4",
      said(A.sum, x, 4))
  end)
end)

describe("options of reductions", function()
  it("correct the divisor of a variance", function()
    local v = A("float", {1, 2, 3, 6})
    holds({}, {14 / 3}, v:var {correction = 1})
    holds({}, {math.sqrt(4)}, v:std {correction = 0.5})
    holds({}, {huge}, v:var {correction = 5})
    assert.matches("correction: a finite number expected, got string 'a'",
      said(A.var, v, {correction = "a"}))
  end)

  it("choose the type of sums and products", function()
    local s = A("uchar", {200, 100}):sum {type = "uchar"}
    assert.equal("uchar", s.type)
    assert.equal(44, s:item())
    assert.equal("float", A("int", {2, 3}):prod({type = "float"}).type)
  end)

  it("begin scans with the neutral element", function()
    holds({2, 4}, {0, 1, 3, 6, 0, 4, 9, 15},
      x[1]:cumsum {dim = 2, include_initial = true})
    holds({4}, {1, 1, 2, 6},
      A("int", {1, 2, 3}):cumprod {include_initial = true})
  end)
end)

describe("statistics", function()
  it("of exponentials do not overflow", function()
    holds({}, {1000 + math.log(2)}, A("float", {1000, 1000}):logsumexp())
    holds({}, {-huge}, A("float", {-huge, -huge}):logsumexp())
    holds({}, {huge}, A("float", {huge, 1}):logsumexp())
    holds({2, 1}, {math.log(2), math.log(2)},
      A.zeros({2, 2}):logsumexp {dim = 2, keep = true})
    holds({2}, {0.5, 0.5}, A("float", {1000, 1000}):softmax())
    holds({2, 1}, {0.25, 0.75}, A("float", {{0}, {math.log(3)}}):softmax(1))
    holds({2}, {-math.log(2), -math.log(2)}, A.zeros({2}):log_softmax())
  end)

  it("leave NaN out", function()
    holds({2}, {4, 0}, holes:nansum {dim = 2})
    holds({2}, {2, nan}, holes:nanmean {dim = 2})
    holds({2}, {3, nan}, holes:nanmax {dim = 2})
    holds({}, {1}, holes:nanmin())
    holds({2}, {8, 9}, x:ptp {dim = {1, 3}})
  end)

  it("interpolate quantiles", function()
    holds({}, {6.5}, x:median())
    holds({1, 2, 1}, {5, 8}, x:median {dim = {1, 3}, keep = true})
    holds({2, 2}, {1.5, 4.5, 2, 5}, x[1]:quantile({0.25, 0.5}, {dim = 2}))
    holds({}, {1.9}, A("int", {4, 1, 2, 3}):percentile(30))
    holds({2}, {nan, nan}, holes:median(2))
    assert.equal("quantile: argument 2 (q): a number of 0 to 1 expected, got 2",
      said(A.quantile, x, 2))
  end)

  it("can be recorded in a graph", function()
    local a, out = A("float", {0, 0}), A.zeros {2}
    local g <close> = lze.graph "g"
    g:array("softmax", out, a:softmax())
    local plan <close> = g:compile()
    plan:run()
    holds({2}, {0.5, 0.5}, out)
  end)

  it("name the function in errors", function()
    assert.equal("nansum: argument 2 (options): unknown option axis; there " ..
      "are dim, keep", said(A.nansum, x, {axis = 1}))
    assert.equal("ptp: argument 1 (a): shape {0} has no elements to choose " ..
      "from", said(A.ptp, A.zeros {0}))
  end)

  it("weigh averages", function()
    holds({2}, {2.25, 5.25}, x[1]:average {dim = 2, weights = {1, 1, 2}})
    holds({}, {79 / 12}, x:average())
  end)

  it("relate the rows of a matrix", function()
    local m = A("float", {{1, 2, 4}, {3, 1, 0}})
    local c = -13 / 6
    holds({2, 2}, {7 / 3, c, c, 7 / 3}, m:cov())
    local r = c / (7 / 3)
    holds({2, 2}, {1, r, r, 1}, m:corrcoef())
    holds({}, {2 / 3}, A("float", {1, 2, 3}):cov {correction = 0})
  end)

  it("take weights of any kind", function()
    holds({}, {5 / 3}, A("float", {1, 2}):average {weights = A("int", {1, 2})})
    if lze.device().fp64 then
      assert.equal((0.1 + 2 * 0.2 + 3 * 0.4) / (0.1 + 0.2 + 0.4),
        A("double", {1, 2, 3}):average {weights = {0.1, 0.2, 0.4}}:item())
    end
  end)

  it("do not overflow before their results do", function()
    local h = A.full({1000}, 100, {type = "half"})
    assert.equal(100, h:nanmean():item())
    holds({}, {11.15625}, A.zeros({70000}, {type = "half"}):logsumexp())
    assert.equal(0, A("half", {-60000, 60000}):median():item())
    assert.equal("half", h:softmax().type)
    assert.equal(-math.huge, A("float", {-math.huge, 5}):median():item())
    assert.equal(0, A("float", {3e38, -3e38}):median():item())
    local r = A("float", {{1, 2, 3}, {2, 4, 7}}):corrcoef()
    assert.equal(1, r:le(1):all():item())
  end)

  it("refuse lists of dimensions with holes, and arrays for options",
    function()
      assert.equal("sum: argument 2 (options): dim: a dimension of 1 to 3 " ..
        "expected, got nil", said(x.sum, x, {dim = {nil, 2}}))
      assert.equal("quantile: argument 3 (options): dim: a list of " ..
        "dimensions expected, got a field string 'd'",
        said(x.quantile, x, 0.5, {dim = {d = 1}}))
      assert.equal("sum: argument 2 (options): a table expected, got array " ..
        "of float", said(x.sum, x, x))
      assert.equal("var: argument 2 (options): correction: a finite number " ..
        "expected, got 1e+300", said(x.var, x, {correction = 1e300}))
    end)
end)
