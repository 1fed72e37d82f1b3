-- array_names_spec.lua - arrays: names of the array API standard.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

local function same(x, y)
  assert.same(x.shape, y.shape)
  assert.equal(x.type, y.type)
  assert.same(x:table(), y:table())
end

describe("a function with the standard's name", function()
  it("is an operator or a comparison", function()
    local a, b = A("int", {{7, -3, 2}, {0, 5, -6}}), A("int", {2, 3, 4})
    local f = a:to "float" / 4
    for name, op in pairs {
      add = function(x, y) return x + y end,
      subtract = function(x, y) return x - y end,
      multiply = function(x, y) return x * y end,
      divide = function(x, y) return x / y end,
      floor_divide = function(x, y) return x // y end,
      pow = function(x, y) return x ^ y end,
      equal = A.eq, not_equal = A.ne, less = A.lt, less_equal = A.le,
      greater = A.gt, greater_equal = A.ge, maximum = A.max, minimum = A.min
    } do
      same(op(a, b), A[name](a, b))
    end
    same(f - b, f:subtract(b))
    same(f / 2, f:divide(2))
    same(A.lt(3, b), A.less(3, b))
    for name, op in pairs {
      bitwise_and = function(x, y) return x & y end,
      bitwise_or = function(x, y) return x | y end,
      bitwise_xor = function(x, y) return x ~ y end,
      bitwise_left_shift = function(x, y) return x << y end,
      bitwise_right_shift = function(x, y) return x >> y end
    } do
      same(op(a, b), a[name](a, b))
      assert.equal(name .. ": integers expected, got float",
        said(A[name], f, b))
    end
    same(-a, a:negative())
    same(~a, a:bitwise_invert())
    local m = a:gt(0)
    assert.same({{0, 1, 0}, {1, 0, 1}}, m:bitwise_invert():table())
    assert.same({1, 0}, (~m[1][{ {1, 2} }]:bitwise_and(m[1][{ {2, 3} }]))
      :bitwise_xor(A("int", {0, 1}):gt(0)):read())
    assert.equal("add: shapes {2, 3} and {2} do not broadcast (dimension 2: " ..
      "3 and 2)", said(A.add, a, A("int", {1, 2})))
    assert.equal("less: argument 2 (b): an array or a number expected, got " ..
      "nil", said(a.less, a))
    assert.equal("bitwise_invert: argument 1 (a): integers expected, got " ..
      "float",
      said(f.bitwise_invert, f))
    assert.equal("negative: argument 1 (a): array expected, got integer 1",
      said(A.negative, 1))
  end)

  it("is clamp with either bound", function()
    local a = A("float", {-1, 0.5, 3})
    assert.same({0, 0.5, 1}, a:clip(0, 1):read())
    assert.same({0, 0.5, 3}, a:clip(0):read())
    assert.same({-1, 0.5, 1}, a:clip(nil, 1):read())
    assert.same({-1, 0.5, 3}, a:clip():read())
    assert.same({0, 0.5, 2}, a:clip(A("float", {0, 0, 4}),
      A("float", {5, 1, 2})):read())
    assert.equal("clip: argument 3 (high): an array or a number expected, " ..
      "got string '1'", said(A.clip, a, 0, "1"))
  end)

  it("is a function with another name, which errors have", function()
    local a = A("int", {{3, 0, 1}, {2, 2, 0}})
    same(A.cat({a, a}, 2), A.concat({a, a}, 2))
    same(a:permute {2, 1}, a:permute_dims {2, 1})
    same(a:permute(2, 1), A.permute_dims(a, 2, 1))
    same(a:expand {2, 2, 3}, a:broadcast_to {2, 2, 3})
    same(a:gather({{3, 1}, {1, 2}}, 2), a:take_along_axis({{3, 1}, {1, 2}}, 2))
    same(a:count {dim = 1}, a:count_nonzero {dim = 1})
    same(a:cumsum(2), a:cumulative_sum(2))
    same(a:cumprod {dim = 1, include_initial = true},
      a:cumulative_prod {dim = 1, include_initial = true})
    same(a:to "double", a:astype "double")
    same(A.zeros({2, 2}, {type = "long"}), A.empty({2, 2}, {type = "long"}))
    same(a:zeros_like(), a:empty_like())
    assert.equal("concat: argument 1 (list): a table of arrays expected, " ..
      "got nil", said(A.concat))
    assert.equal("broadcast_to: argument 2 (shape): dimension 2: 3 " ..
      "cannot become 4", said(a.broadcast_to, a, {2, 4}))
    assert.equal("take_along_axis: argument 3 (dim): a dimension of 1 to " ..
      "2 expected, got 3", said(a.take_along_axis, a, {{1}}, 3))
    assert.equal("cumulative_sum: argument 2 (dim): a dimension of 1 to 2 " ..
      "expected, got 0", said(a.cumulative_sum, a, 0))
    assert.equal("astype: argument 3: nothing more expected, got integer 1",
      said(a.astype, a, "int", 1))
  end)

  it("is unique with certain results", function()
    local a = A("int", {{3, 1}, {3, 2}})
    local function all(...)
      local list = {...}
      for i, v in ipairs(list) do list[i] = v:table() end
      return list
    end
    assert.same({{1, 2, 3}}, all(a:unique_values()))
    assert.same({{1, 2, 3}, {1, 1, 2}}, all(a:unique_counts()))
    assert.same({{1, 2, 3}, {{3, 1}, {3, 2}}}, all(a:unique_inverse()))
    assert.same({{1, 2, 3}, {2, 4, 1}, {{3, 1}, {3, 2}}, {1, 1, 2}},
      all(A.unique_all(a)))
    assert.same({{}, {}}, all(A("int", {}):unique_counts()))
    assert.equal("unique_all: argument 1 (a): array expected, got nil",
      said(A.unique_all))
  end)

  it("tells the kind of a type", function()
    for name, list in pairs {
      ["signed integer"] = {"int", "int8", "long"},
      ["unsigned integer"] = {"uchar", "ulong", "u16"},
      ["real floating"] = {"half", "bfloat16", "double"},
      ["complex floating"] = {"float2", "double2"}
    } do
      for _, kind in ipairs(list) do
        assert.is_true(A.isdtype(kind, name))
        assert.is_true(A.isdtype(kind, "numeric"))
        assert.equal(name:find "integer" ~= nil, A.isdtype(kind, "integral"))
        assert.is_true(A.isdtype(kind, {"bool", name}))
        assert.is_true(A.isdtype(kind, kind))
        assert.is_false(A.isdtype(kind, "bool"))
        assert.is_false(A.isdtype(kind, {"short", "bool"}))
      end
    end
    assert.is_true(A.isdtype("int32", "int"))
    assert.is_false(A.isdtype("int", {}))
    assert.matches("isdtype: argument 2 (kind): one of char, ", said(A.isdtype,
      "int", "whole"), 1, true)
    assert.matches("isdtype: argument 1 (type): one of char, ", said(A.isdtype,
      3, "bool"), 1, true)
    assert.matches("isdtype: argument 2 (kind): one of char, ", said(A.isdtype,
      "int"), 1, true)
  end)
end)

describe("an option of the standard", function()
  it("of eye moves the diagonal", function()
    assert.same({{0, 1, 0}, {0, 0, 1}, {0, 0, 0}}, A.eye(3, {k = 1}):table())
    assert.same({{0, 0}, {1, 0}, {0, 1}}, A.eye(3, 2, {k = -1}):table())
    assert.same({{0, 0, 1}, {0, 0, 0}}, A.eye(2, 3, {k = 2}):table())
    assert.same({{0, 0}, {0, 0}}, A.eye(2, {k = -5, type = "int"}):table())
    assert.equal("eye: argument 2 (options): k: an integer expected, got 0.5",
      said(A.eye, 2, {k = 0.5}))
  end)

  it("of linspace leaves the end out", function()
    assert.same({0, 0.25, 0.5, 0.75}, A.linspace(0, 1, 4,
      {endpoint = false}):read())
    assert.same({0, 2, 4}, A.linspace(0, 6, 3, {endpoint = false,
      type = "int"}):read())
    assert.same({5}, A.linspace(5, 6, 1, {endpoint = false}):read())
    assert.same({0}, A.linspace(5, 6, 0, {endpoint = false}).shape)
    assert.same({0, 1}, A.linspace(0, 1, 2, {endpoint = true}):read())
    assert.equal("linspace: argument 4 (options): endpoint: boolean expected, "
      .. "got integer 0", said(A.linspace, 0, 1, 4, {endpoint = 0}))
  end)
end)
