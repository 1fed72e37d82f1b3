-- array_shape_spec.lua - arrays in other shapes, differences, comparisons of
-- whole arrays.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local huge, nan = math.huge, 0 / 0

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return (tostring(err):gsub("^%S*array_shape_spec.lua:%d+: ", ""))
end

-- Returns the tables of a list of arrays.
local function tables(list)
  local t = {}
  for i, a in ipairs(list) do t[i] = a:table() end
  return t
end

describe("an array in another shape", function()
  local x, v

  before_each(function()
    x = A("float", {{1, 2, 3}, {4, 5, 6}})
    v = A("int", {1, 2, 3})
  end)

  it("is a view that shares its elements", function()
    assert.same({1, 2, 3}, x:unsqueeze(1).shape)
    assert.same({2, 1, 3}, A.expand_dims(x, 2).shape)
    assert.same({2, 3, 1}, x:expand_dims(-1).shape)
    assert.same({{1, 4}, {2, 5}, {3, 6}}, x:swapaxes(1, -1):table())
    local z = A.zeros {2, 3, 4}
    assert.same({3, 4, 2}, z:moveaxis(1, -1).shape)
    assert.same({3, 4, 2}, z:moveaxis({1, 2}, {3, 1}).shape)
    x:unsqueeze(2)[{2, 1, 3}] = 60
    x:swapaxes(1, 2)[{1, 2}] = 40
    x:ravel()[2] = 20
    assert.same({{1, 20, 3}, {40, 5, 60}}, x:table())
  end)

  it("is a copy if it is flattened", function()
    x:flatten()[1] = 9
    assert.same({1, 4, 2, 5, 3, 6}, x:t():flatten():read())
    assert.same({1, 4, 2, 5, 3, 6}, x:t():ravel():read())
    assert.equal(1, x[{1, 1}])
    assert.same({5}, A.full({}, 5):ravel():read())
    assert.same({0}, A.zeros({0, 2}):flatten().shape)
  end)

  it("is turned in steps of 90 degrees", function()
    assert.same({{3, 6}, {2, 5}, {1, 4}}, x:rot90():table())
    assert.same({{6, 5, 4}, {3, 2, 1}}, x:rot90(2):table())
    assert.same({{4, 1}, {5, 2}, {6, 3}}, x:rot90(-1):table())
    assert.same(x:table(), x:rot90(4):table())
    assert.same(x:rot90(-1):table(), x:rot90(1, {2, 1}):table())
  end)

  it("is rolled in several dimensions", function()
    assert.same({{6, 4, 5}, {3, 1, 2}}, x:roll({1, -2}, {1, 2}):table())
    assert.same({{6, 4, 5}, {3, 1, 2}}, x:roll(1, {1, 2}):table())
    assert.equal("roll: argument 3 (dim): 1 dimensions expected, got 2",
      said(x.roll, x, {1}, {1, 2}))
  end)

  it("is split into views", function()
    assert.same({{{1}, {4}}, {{2}, {5}}, {{3}, {6}}}, tables(x:split(3, 2)))
    local p = A.split(x, {1, 0, 2}, 2)
    assert.same({2, 0}, p[2].shape)
    assert.same({{2, 3}, {5, 6}}, p[3]:table())
    p[1][{2, 1}] = 7
    assert.same({{1, 2, 3}, {7, 5, 6}}, tables(x:unstack()))
    assert.same({{1, 7}, {2, 5}, {3, 6}}, tables(x:unstack(2)))
    assert.same({}, A.zeros({0, 3}):unstack())
  end)

  it("repeats its elements", function()
    assert.same({1, 1, 2, 2, 3, 3}, v:repeat_interleave(2):read())
    assert.same({1, 1, 1, 2, 2, 2, 3, 3, 3}, v["repeat"](v, 3):read())
    assert.same({{1, 2, 3}, {1, 2, 3}, {4, 5, 6}, {4, 5, 6}},
      x:repeat_interleave(2, 1):table())
    assert.same({{1, 3, 3}, {4, 6, 6}},
      x:repeat_interleave({1, 0, 2}, 2):table())
    assert.same({2, 0}, x:repeat_interleave(0, 2).shape)
    assert.same({0}, A.zeros({0}):repeat_interleave(3).shape)
  end)

  it("gets borders of four modes", function()
    assert.same({0, 0, 1, 2, 3, 0, 0}, v:pad(2):read())
    assert.same({7, 1, 2, 3, 7, 7}, v:pad({1, 2}, {value = 7}):read())
    assert.same({1, 1, 1, 2, 3, 3, 3}, v:pad(2, {mode = "edge"}):read())
    assert.same({3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2},
      v:pad({4, 5}, {mode = "wrap"}):read())
    assert.same({1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2},
      v:pad({4, 5}, {mode = "reflect"}):read())
    assert.same({5, 5, 5}, A("int", {5}):pad(1, {mode = "reflect"}):read())
    assert.same({{0, 0, 0, 0}, {1, 2, 3, 0}, {4, 5, 6, 0}},
      x:pad {{1, 0}, {0, 1}}:table())
    assert.same({{6, 5, 4, 5, 6}, {3, 2, 1, 2, 3}},
      x:flip(1):pad({{0, 0}, {2, 0}}, {mode = "reflect"}):table())
    assert.same({2, 5}, A.zeros({0, 3}):pad(1).shape)
  end)

  it("broadcasts with others, and spans grids", function()
    local b = A.broadcast_arrays {x, A("float", {10, 20, 30}), A.ones {2, 1}}
    assert.equal(3, #b)
    assert.same({{10, 20, 30}, {10, 20, 30}}, b[2]:table())
    local g = A.meshgrid {A.arange(3), A.arange(2)}
    assert.same({{{1, 2, 3}, {1, 2, 3}}, {{1, 1, 1}, {2, 2, 2}}}, tables(g))
    g = A.meshgrid({A.arange(3), A.arange(2)}, {indexing = "ij"})
    assert.same({{1, 1}, {2, 2}, {3, 3}}, g[1]:table())
    assert.same({2}, A.meshgrid {A.arange(2)}[1].shape)
  end)

  it("gives its shape and type to new arrays", function()
    assert.same({{0, 0, 0}, {0, 0, 0}}, x:zeros_like():table())
    assert.equal("float", x:zeros_like().type)
    assert.equal("int", x:ones_like({type = "int"}).type)
    assert.same({7, 7, 7}, v:full_like(7):read())
    local r = x:rand_like()
    assert.same({2, 3}, r.shape)
    assert.is_true(r:ge(0):all():item() == 1 and r:lt(1):all():item() == 1)
  end)

  it("refuses wrong arguments", function()
    assert.equal("unsqueeze: argument 2 (dim): a dimension of 1 to 3 " ..
      "expected, got 5", said(x.unsqueeze, x, 5))
    assert.equal("expand_dims: argument 1 (a): it has 8 dimensions; arrays " ..
      "have at most 8", said(A.expand_dims, A.zeros {1, 1, 1, 1, 1, 1, 1, 1},
      1))
    assert.equal("split: argument 2 (parts): 2 elements do not divide into " ..
      "4 parts", said(x.split, x, 4))
    assert.equal("split: argument 2 (parts): sizes that add up to 2 " ..
      "expected, got 3", said(x.split, x, {1, 2}))
    assert.equal("pad: argument 2 (widths): a width expected, got string 'a'",
      said(x.pad, x, "a"))
    assert.equal("pad: argument 2 (widths): {before, after} expected, got " ..
      "3 numbers", said(x.pad, x, {1, 2, 3}))
    assert.equal("pad: argument 3 (options): mode: 'constant', 'edge', " ..
      "'reflect' or 'wrap' expected, got string 'x'",
      said(x.pad, x, 1, {mode = "x"}))
    assert.equal("pad: argument 3 (options): value: the mode 'edge' has none",
      said(x.pad, x, 1, {mode = "edge", value = 1}))
    assert.equal("pad: argument 1 (a): dimension 1 has no elements to repeat",
      said(A.pad, A.zeros {0}, 1, {mode = "wrap"}))
    assert.equal("rot90: argument 3 (dims): dimension 1 is named twice",
      said(x.rot90, x, 1, {1, 1}))
    assert.equal("moveaxis: argument 3 (to): a list of 1 expected, got 2",
      said(x.moveaxis, x, {1}, {1, 2}))
    assert.equal("repeat_interleave: argument 2 (n): a count expected, got -1",
      said(v.repeat_interleave, v, -1))
    assert.equal("meshgrid: argument 1 (list): element 1: 1 dimension " ..
      "expected, got shape {2, 3}", said(A.meshgrid, {x}))
    x:close()
    for _, name in ipairs {"flatten", "diff", "zeros_like", "array_equal"} do
      assert.equal(name .. ": argument 1 (a): the array is closed",
        said(A[name], x))
    end
  end)
end)

describe("differences of an array", function()
  it("are taken along a dimension, again and again", function()
    local x = A("int", {{1, 4, 9}, {16, 25, 36}})
    assert.same({{3, 5}, {9, 11}}, x:diff():table())
    assert.same({{2}, {2}}, x:diff({n = 2}):table())
    assert.same({{15, 21, 27}}, A.diff(x, {dim = 1}):table())
    assert.same(x:table(), x:diff({n = 0}):table())
    assert.same({2, 0}, x:diff({n = 9}).shape)
    assert.same({3, 1, 5}, A("float", {1, 4, 5, 10}):t():diff():read())
  end)

  it("give slopes and integrals", function()
    local y = A("float", {1, 2, 4, 7})
    assert.same({1, 1.5, 2.5, 3}, y:gradient():read())
    assert.same({0.5, 0.75, 1.25, 1.5}, y:gradient({dx = 2}):read())
    assert.same({{2, 2}, {2, 2}},
      A("int", {{1, 2}, {3, 4}}):gradient({dim = 1}):table())
    assert.equal(10.0, y:trapz():item())
    assert.equal(20.0, y:trapz({dx = 2}):item())
    assert.equal(6.5, A("float", {1, 2, 3}):trapz(A("float", {0, 1, 3})):item())
    assert.same({2.0, 3.0}, A("int", {{1, 2}, {3, 4}}):trapz({dim = 1}):read())
    assert.equal(0.0, A("float", {5}):trapz():item())
    assert.equal("trapz: argument 2 (x): shape {4} expected, got {3}",
      said(y.trapz, y, A("float", {1, 2, 3})))
    assert.equal("gradient: argument 1 (a): 2 elements or more expected in " ..
      "dimension 1, got 1", said(A.gradient, A("float", {1})))
  end)
end)

describe("a comparison of whole arrays", function()
  it("returns a boolean", function()
    local x = A("float", {1, 2, huge, 4})
    assert.is_true(x:array_equal(A("float", {1, 2, huge, 4})))
    assert.is_false(x:array_equal(x:reshape {2, 2}))
    assert.is_false(x:array_equal(x + 1))
    assert.is_false(A("float", {nan}):array_equal(A("float", {nan})))
    assert.is_true(A.zeros({0}):array_equal(A.zeros {0}))
    assert.is_true(x:allclose(A("float", {1 + 5e-6, 2, huge, 4})))
    assert.is_false(x:allclose(A("float", {1.001, 2, huge, 4})))
    assert.is_true(x:allclose(A("float", {1.001, 2, huge, 4}), {rtol = 0.01}))
    assert.is_false(x:allclose(A("float", {1, 2, -huge, 4})))
    assert.is_false(x:allclose(A("float", {1, 2, 1e30, 4})))
    assert.is_false(A("float", {1, 2, 1e30, 4}):allclose(x))
    assert.is_true(A("int", {3, 3}):allclose(3))
    local n = A("float", {nan, 1})
    assert.is_false(n:allclose(n))
    assert.is_true(n:allclose(n, {equal_nan = true}))
    assert.equal("allclose: argument 3 (options): rtol: a number from 0 on " ..
      "expected, got -1", said(x.allclose, x, x, {rtol = -1}))
  end)
end)

describe("the types of arrays", function()
  it("have limits", function()
    assert.equal(0x1p-23, A.finfo("float").eps)
    assert.equal(65504.0, A.finfo("half").max)
    assert.equal(-0x1.fep127, A.finfo("bfloat16").min)
    assert.equal(2.2250738585072014e-308, A.finfo("double").smallest_normal)
    assert.same({bits = 8, min = 0, max = 255}, A.iinfo "uchar")
    assert.same({bits = 16, min = -32768, max = 32767}, A.iinfo "short")
    assert.same({bits = 64, min = math.mininteger, max = math.maxinteger},
      A.iinfo "long")
    assert.equal(-1, A.iinfo("ulong").max)
    assert.equal("finfo: argument 1 (type): a type of reals expected, got int",
      said(A.finfo, "int"))
  end)

  it("are combined as by operators", function()
    local x = A.zeros {1}
    assert.equal("float", A.result_type("int", x))
    assert.equal("long", A.result_type("int", "uint"))
    assert.equal("float", A.result_type("half", "bfloat16"))
    assert.matches("^result_type: argument 2: ", said(A.result_type, "ulong",
      "int"))
    assert.is_true(A.can_cast("uchar", "short"))
    assert.is_true(A.can_cast("int", "double"))
    assert.is_true(A.can_cast(x, "double"))
    assert.is_false(A.can_cast("int", "float"))
    assert.is_false(A.can_cast("char", "ulong"))
    assert.is_false(A.can_cast("half", "bfloat16"))
    assert.is_false(A.can_cast("float", "long"))
  end)
end)
