-- array_shape_spec.lua - arrays in other shapes, and arrays of many.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array

local function holds(shape, list, a)
  assert.same(shape, a.shape)
  assert.same(list, a:read())
end

-- Compares elements that may differ by 1e-6.
local function is_near(list, a)
  local got = a:read()
  assert.equal(#list, #got)
  for i, v in ipairs(list) do assert.is_true(math.abs(got[i] - v) < 1e-6) end
end

local nan, huge = 0 / 0, math.huge
local x = A("int", {{1, 2, 3}, {4, 5, 6}})
local v = A("int", {1, 2, 3})
local cube = A("int", {{{1, 2}, {3, 4}, {5, 6}}})       -- shape {1, 3, 2}
local deep = A.zeros({1, 1, 1, 1, 1, 1, 1, 1})

describe("views of arrays", function()
  it("have a new dimension at any place", function()
    assert.same({1, 2, 3}, x:unsqueeze(1).shape)
    assert.same({2, 1, 3}, A.expand_dims(x, 2).shape)
    assert.same({2, 3, 1}, x:t():t():unsqueeze(-1).shape)
    holds({1}, {7}, A("int", {7}):reshape {}:unsqueeze(1))
    x:unsqueeze(1)[{1, 1, 1}] = 9
    assert.equal(9, x[{1, 1}])
    x[{1, 1}] = 1
    assert.equal("unsqueeze: argument 2 (dim): a dimension of 1 to 3 " ..
      "expected, got 4", said(A.unsqueeze, x, 4))
    assert.equal("expand_dims: 9 dimensions; arrays have at most 8",
      said(A.expand_dims, deep, 1))
  end)

  it("have their dimensions in another order", function()
    holds({2, 3, 1}, {1, 3, 5, 2, 4, 6}, cube:swapaxes(1, -1))
    holds({3, 2, 1}, {1, 2, 3, 4, 5, 6}, cube:moveaxis(1, -1))
    holds({2, 1, 3}, {1, 3, 5, 2, 4, 6}, cube:moveaxis({3, 1}, {1, 2}))
    assert.same({1, 3, 2}, cube:moveaxis({}, {}).shape)
    assert.equal("moveaxis: argument 3 (to): 2 dimensions expected, got 1",
      said(A.moveaxis, cube, {1, 2}, 3))
    assert.equal("moveaxis: argument 2 (from): dimension 3 is named twice",
      said(A.moveaxis, cube, {3, -1}, {1, 2}))
    assert.equal("swapaxes: argument 3 (other): a dimension of 1 to 3 " ..
      "expected, got nil", said(A.swapaxes, cube, 1))
  end)

  it("have one dimension, and share elements if they can", function()
    holds({6}, {1, 4, 2, 5, 3, 6}, x:t():ravel())
    holds({6}, {1, 2, 3, 4, 5, 6}, x:flatten())
    local a = A("int", {{1, 2}})
    a:flatten()[1] = 5
    assert.equal(1, a[{1, 1}])
    a:ravel()[1] = 5
    assert.equal(5, a[{1, 1}])
    holds({1}, {3}, A("int", {3}):reshape {}:flatten())
    holds({0}, {}, A.zeros({2, 0}):ravel())
    assert.equal("uchar", x:gt(2):ravel().type)
  end)

  it("are turned in quarters", function()
    holds({3, 2}, {3, 6, 2, 5, 1, 4}, x:rot90())
    holds({2, 3}, {6, 5, 4, 3, 2, 1}, x:rot90(2))
    holds({3, 2}, {4, 1, 5, 2, 6, 3}, x:rot90(-1))
    holds({3, 2}, {4, 1, 5, 2, 6, 3}, x:rot90(1, {2, 1}))
    holds({2, 3}, x:read(), x:rot90(4))
    assert.equal("rot90: argument 1 (a): 2 dimensions or more expected, got " ..
      "shape {3}", said(A.rot90, v))
    assert.equal("rot90: argument 3 (dims): 2 dimensions expected, got 1",
      said(A.rot90, x, 1, {1}))
  end)

  it("are the parts of a dimension", function()
    local list = x:split(3, 2)
    assert.equal(3, #list)
    holds({2, 1}, {2, 5}, list[2])
    list = A.split(x, {0, 1, 2}, -1)
    holds({2, 0}, {}, list[1])
    holds({2, 2}, {2, 3, 5, 6}, list[3])
    holds({2, 3}, x:read(), A.cat(x:split(2)))
    assert.same({}, A.zeros({0, 2}):split({}))
    assert.equal("split: argument 2 (sizes): dimension 2 has 3 elements, " ..
      "which are not 2 equal parts", said(A.split, x, 2, 2))
    assert.equal("split: argument 2 (sizes): dimension 2 has 3 elements, " ..
      "the parts have 4", said(A.split, x, {1, 3}, 2))
    assert.equal("split: argument 2 (sizes): part 1: a size expected, got -1",
      said(A.split, x, {-1, 3}))
    assert.equal("split: argument 2 (sizes): a number of parts, or a table " ..
      "of sizes, expected, got nil", said(A.split, x))
  end)

  it("are the rows of a dimension", function()
    local rows = x:unstack()
    assert.equal(2, #rows)
    holds({3}, {4, 5, 6}, rows[2])
    holds({2}, {3, 6}, A.unstack(x, -1)[3])
    holds({2, 3}, x:read(), A.stack(x:unstack(2), 2))
    holds({}, {2}, v:unstack()[2])
    assert.equal("unstack: argument 2 (dim): a dimension of 1 to 2 " ..
      "expected, got 3", said(A.unstack, x, 3))
  end)

  it("broadcast to one shape", function()
    local list = A.broadcast_arrays {v, A("int", {{10}, {20}}), x}
    assert.equal(3, #list)
    holds({2, 3}, {1, 2, 3, 1, 2, 3}, list[1])
    holds({2, 3}, {10, 10, 10, 20, 20, 20}, list[2])
    holds({0, 3}, {}, A.broadcast_arrays({v, A.zeros {0, 1}})[1])
    assert.equal("broadcast_arrays: shapes {3} and {2} do not broadcast " ..
      "(dimension 1: 3 and 2)", said(A.broadcast_arrays, {v, A.zeros {2}}))
    assert.equal("broadcast_arrays: argument 1 (list): a table of arrays " ..
      "expected, got an empty one", said(A.broadcast_arrays, {}))
  end)

  it("have the coordinates of a grid", function()
    local y = A("int", {7, 8})
    local list = A.meshgrid {v, y}
    holds({2, 3}, {1, 2, 3, 1, 2, 3}, list[1])
    holds({2, 3}, {7, 7, 7, 8, 8, 8}, list[2])
    list = A.meshgrid({v, y}, {indexing = "ij"})
    holds({3, 2}, {1, 1, 2, 2, 3, 3}, list[1])
    assert.same({2, 3, 2}, A.meshgrid({v, y, y})[3].shape)
    holds({3}, {1, 2, 3}, A.meshgrid({v})[1])
    assert.equal('meshgrid: argument 2 (options): indexing: "xy" or "ij" ' ..
      "expected, got string 'yx'", said(A.meshgrid, {v}, {indexing = "yx"}))
    assert.equal("meshgrid: argument 1 (list): element 2: one dimension " ..
      "expected, got shape {2, 3}", said(A.meshgrid, {v, x}))
  end)
end)

describe("copies of arrays", function()
  it("repeat elements or rows", function()
    holds({12}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}, x:repeat_interleave(2))
    holds({4, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, x["repeat"](x, 2, 1))
    holds({2, 3}, {1, 1, 3, 4, 4, 6}, A["repeat"](x, {2, 0, 1}, 2))
    holds({3, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6},
      x:repeat_interleave(A("uchar", {2, 1}), 1))
    holds({0, 3}, {}, x:repeat_interleave(0, 1))
    holds({0}, {}, A.zeros({0}):repeat_interleave({}))
    local a = A("int", {1})
    a:repeat_interleave(1)[1] = 2
    assert.equal(1, a[1])
  end)

  it("refuse to repeat what they do not have", function()
    assert.equal("repeat: argument 2 (n): a size expected, got -1",
      said(A["repeat"], x, -1))
    assert.equal("repeat_interleave: argument 2 (n): sizes expected, got -1",
      said(A.repeat_interleave, x, {-1, 1}, 1))
    assert.equal("repeat: argument 2 (n): shape {3} expected, got {2}",
      said(A["repeat"], x, {1, 1}, 2))
    assert.equal("repeat: argument 2 (n): integers expected, got float",
      said(A["repeat"], v, A.ones {3}))
  end)

  it("have constants around them", function()
    holds({3, 6}, {7, 7, 7, 7, 7, 7, 7, 7, 1, 2, 3, 7, 7, 7, 4, 5, 6, 7},
      x:pad({{1, 0}, {2, 1}}, {value = 7}))
    holds({6}, {0, 0, 1, 2, 3, 0}, v:pad {2, 1})
    holds({5}, {0, 1, 2, 3, 0}, A.pad(v, 1))
    holds({2, 2}, {3, 3, 3, 3}, A.zeros({0, 2}):pad({{2, 0}, {0, 0}},
      {value = 3}))
    holds({}, {5}, A("int", {5}):reshape {}:pad(1))
    holds({3}, {1, 1, 0}, A("int", {1, 0}):gt(0):pad({1, 0}, {value = 4}))
    holds({2}, {{1, 2}, {0, 0}}, A("float2", {{1, 2}}):pad {0, 1})
  end)

  it("go on at their ends as NumPy's do", function()
    local places = {
      edge = function(i, n) return math.min(math.max(i, 1), n) end,
      wrap = function(i, n) return (i - 1) % n + 1 end,
      reflect = function(i, n)
        local m = (i - 1) % math.max(2 * n - 2, 1)
        return math.min(m, 2 * n - 2 - m) + 1
      end
    }
    local wide = A("int", {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}})
    for mode, place in pairs(places) do
      for _, a in ipairs {x, wide[{{2, 1, -1}, {1, 5, 2}}], x[{{2, 2}}]} do
        local before, after = {2, 13}, {7, 5}
        local n, m = a.shape[1], a.shape[2]
        local list = {}
        for i = 1 - before[1], n + after[1] do
          for j = 1 - before[2], m + after[2] do
            list[#list + 1] = a[{place(i, n), place(j, m)}]
          end
        end
        holds({n + 9, m + 18}, list, a:pad({{2, 7}, {13, 5}}, {mode = mode}))
      end
    end
  end)

  it("are padded only as they can be", function()
    assert.equal("pad: argument 1 (a): dimension 1 has no elements to repeat",
      said(A.pad, A.zeros {0}, 1, {mode = "edge"}))
    assert.equal('pad: argument 3 (options): value: only mode "constant" ' ..
      "has one", said(A.pad, v, 1, {mode = "wrap", value = 1}))
    assert.equal('pad: argument 3 (options): mode: "constant", "edge", ' ..
      "\"reflect\" or \"wrap\" expected, got string 'symmetric'",
      said(A.pad, v, 1, {mode = "symmetric"}))
    assert.equal("pad: argument 2 (widths): a size expected, got -1",
      said(A.pad, v, -1))
    assert.equal("pad: argument 2 (widths): dimension 2: {before, after} " ..
      "expected, got 1 numbers", said(A.pad, x, {{1, 1}, {1}}))
    assert.equal("pad: argument 2 (widths): {before, after} for each of 2 " ..
      "dimensions expected, got 3", said(A.pad, x, {{1, 1}, {1, 1}, {1, 1}}))
    assert.matches("^pad: argument 3 %(options%): value: ",
      said(A.pad, A.zeros({1}, {type = "uchar"}), 1, {value = 300}))
  end)

  it("have the shape and the type of another array", function()
    local half = A.zeros({2, 0, 3}, {type = "half"})
    assert.equal("half", half:zeros_like().type)
    assert.same({2, 0, 3}, half:ones_like().shape)
    holds({3}, {1, 1, 1}, v:ones_like())
    holds({2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
      x:t():t():full_like(0.5, {type = "float"}))
    holds({2}, {1, 1}, A("int", {0, 3}):gt(0):full_like(4))
    assert.matches("uchar mask", tostring(v:gt(1):zeros_like()))
    assert.matches("full_like: argument 2 %(value%): .*0%.5",
      said(A.full_like, v, 0.5))
    assert.equal("full_like: argument 2 (value): a number expected, got nil",
      said(A.full_like, v))
    assert.equal("zeros_like: argument 2 (options): unknown option kind; " ..
      "there are type, device", said(A.zeros_like, v, {kind = "int"}))
  end)

  it("have random numbers from the common sequence", function()
    A.seed(3)
    local drawn = A.rand({2, 3}):read()
    A.seed(3)
    holds({2, 3}, drawn, x:rand_like())
    assert.equal("double", A.rand_like(x, {type = "double"}).type)
    assert.equal("rand_like: argument 2 (options): type: half, bfloat16, " ..
      "float or double expected, got int",
      said(A.rand_like, x, {type = "int"}))
  end)

  it("are rolled over several dimensions", function()
    holds({2, 3}, {6, 4, 5, 3, 1, 2}, x:roll({1, -2}, {1, 2}))
    holds({2, 3}, {6, 4, 5, 3, 1, 2}, x:roll(1, {1, -1}))
    holds({2, 3}, {3, 1, 2, 6, 4, 5}, x:roll({2, -1}, {2, 2}))
    holds({2, 3}, {6, 1, 2, 3, 4, 5}, x:roll(1))
    assert.equal("roll: argument 2 (n): a number for each of 2 dimensions " ..
      "expected, got 1", said(A.roll, x, {1}, {1, 2}))
    assert.equal("roll: argument 3 (dim): a dimension expected, got an " ..
      "empty table", said(A.roll, x, 1, {}))
  end)
end)

describe("differences of neighbours", function()
  local squares = A("int", {1, 4, 9, 16})

  it("are taken n times", function()
    holds({3}, {3, 5, 7}, squares:diff())
    holds({2}, {2, 2}, squares:diff {n = 2})
    holds({4}, {1, 4, 9, 16}, squares:diff {n = 0})
    holds({0}, {}, squares:diff {n = 9})
    holds({1, 3}, {3, 3, 3}, x:diff {dim = 1})
    holds({2, 0}, {}, A.zeros({2, 0}):diff())
    holds({2}, {254, 1}, A("uchar", {3, 1, 2}):diff())
    holds({2}, {0, 1}, A("int", {0, 0, 1}):gt(0):diff())
    assert.equal("diff: argument 2 (options): n: a size expected, got -1",
      said(A.diff, v, {n = -1}))
    assert.equal("diff: argument 2 (options): a table expected, got integer 1",
      said(A.diff, v, 1))
  end)

  it("can be recorded in a graph", function()
    local a, out = A("int", {1, 1, 1, 1}), A.zeros({3}, {type = "int"})
    local g <close> = lze.graph "g"
    g:array("diff", out, a:diff())
    local plan <close> = g:compile()
    a:set(squares)
    plan:run()
    holds({3}, {3, 5, 7}, out)
  end)

  it("make slopes", function()
    holds({4}, {3, 4, 6, 7}, squares:gradient())
    holds({4}, {1.5, 2, 3, 3.5}, squares:gradient(2))
    is_near({3, 17 / 6, 2.25, 1.75}, squares:gradient {1, 2, 4, 8})
    local down, right = x:gradient()
    holds({2, 3}, {3, 3, 3, 3, 3, 3}, down)
    holds({2, 3}, {1, 1, 1, 1, 1, 1}, right)
    holds({2, 3}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
      (x:gradient(A("float", {0, 2, 4}), {dim = -1})))
    assert.equal(1, select("#", x:gradient {dim = 1}))
    holds({2}, {-2, -2}, A("uchar", {3, 1}):gradient())
    assert.equal("gradient: argument 1 (a): 2 elements or more in dimension " ..
      "1 expected, got 1", said(A.gradient, x[{{1, 1}}]))
    assert.matches("^gradient: argument 2 %(x%): a number expected for 2 " ..
      "dimensions, got ", said(A.gradient, x, {1, 2}))
    assert.equal("gradient: argument 2 (x): shape {3} expected, got {2}",
      said(A.gradient, v, {1, 2}))
  end)

  it("weigh the trapezoids of an integral", function()
    holds({}, {4}, v:trapz())
    holds({2}, {2, 5}, x:trapz(0.5))
    holds({3}, {2.5, 3.5, 4.5}, x:trapz {dim = 1})
    holds({2}, {6.5, 15.5}, x:trapz {1, 2, 4})
    holds({2}, {6.5, 10}, x:trapz(A("float", {{1, 2, 4}, {0, 1, 2}})))
    holds({}, {0}, A("int", {7}):trapz())
    assert.equal("trapz: argument 3 (options): unknown option dx; there are " ..
      "dim", said(A.trapz, v, {dx = 1}))
  end)
end)

describe("comparisons of whole arrays", function()
  it("are true for equal shapes and elements", function()
    assert.is_true(x:array_equal(x + 0))
    assert.is_false(A.array_equal(x, x + 1))
    assert.is_false(x:array_equal(x:t()))
    assert.is_false(v:array_equal(A("int", {{1, 2, 3}})))
    assert.is_true(A.zeros({0, 2}):array_equal(A.ones {0, 2}))
    assert.is_true(v:array_equal(v:to "float"))
    local n = A("float", {nan})
    assert.is_false(n:array_equal(n))
    local z = A("float2", {{1, 2}})
    assert.is_true(z:array_equal(z:clone()))
    assert.is_false(z:array_equal(A("float2", {{1, 3}})))
    assert.equal("array_equal: argument 2 (b): array expected, got integer 1",
      said(A.array_equal, x, 1))
  end)

  it("allow a distance", function()
    local a = A("float", {1, 100, huge})
    assert.is_true(a:allclose(A("float", {1.000005, 100.0005, huge})))
    assert.is_false(a:allclose(A("float", {1.00005, 100, huge})))
    assert.is_false(a:allclose(A("float", {1, 100, -huge})))
    assert.is_false(a:allclose(A("float", {1, huge, huge})))
    assert.is_false(A("float", {huge}):allclose(1, {atol = huge}))
    assert.is_true(A("float", {1, 2}):allclose(1.5, {atol = 0.5, rtol = 0}))
    assert.is_false(A("float", {1, 2.25}):allclose(1.5, {atol = 0.5, rtol = 0}))
    assert.is_true(A.allclose(1, A("uchar", {0, 2}), {atol = 1}))
    assert.is_false(A("uchar", {255}):allclose(0, {atol = 1}))
    assert.is_false(A("int", {16777217}):allclose(16777216, {rtol = 0}))
    local n = A("float", {nan, 1})
    assert.is_false(n:allclose(n))
    assert.is_true(n:allclose(n, {equal_nan = true}))
    assert.is_false(n:allclose(1, {equal_nan = true}))
    assert.is_true(A.zeros({0}):allclose(1))
    assert.equal("allclose: shapes {2, 3} and {2} do not broadcast " ..
      "(dimension 2: 3 and 2)", said(A.allclose, x, A.zeros {2}))
    assert.equal("allclose: argument 3 (options): rtol: a number from 0 on " ..
      "expected, got -1", said(A.allclose, x, x, {rtol = -1}))
    assert.equal("allclose: argument 1 (a): array expected, got integer 1",
      said(A.allclose, 1, 1))
  end)
end)

describe("properties of types", function()
  it("of reals are as in IEEE 754", function()
    assert.same({type = "half", bits = 16, eps = 0x1p-10, max = 65504.0,
      min = -65504.0, smallest_normal = 0x1p-14,
      smallest_subnormal = 0x1p-24}, A.finfo "half")
    local double = A.finfo(A.zeros({1}, {type = "double"}))
    assert.equal(0x1p-52, double.eps)
    assert.equal(0x1.fffffffffffffp1023, double.max)
    assert.equal(0x1p-1074, double.smallest_subnormal)
    assert.equal(0x1.fep127, A.finfo("bf16").max)
    assert.equal("finfo: argument 1 (type): half, bfloat16, float or double " ..
      "expected, got int", said(A.finfo, "int"))
  end)

  it("of integers are their bounds", function()
    assert.same({type = "char", bits = 8, min = -128, max = 127},
      A.iinfo "int8")
    assert.same({type = "uint", bits = 32, min = 0, max = 4294967295},
      A.iinfo "uint")
    assert.same({type = "long", bits = 64, min = math.mininteger,
      max = math.maxinteger}, A.iinfo "long")
    assert.same({type = "ulong", bits = 64, min = 0, max = -1},
      A.iinfo "ulong")
    assert.equal("int", A.iinfo(x).type)
    assert.equal("iinfo: argument 1 (type): a type of integers expected, " ..
      "got float", said(A.iinfo, "float"))
  end)

  it("are those of results", function()
    assert.equal("short", A.result_type("char", "uchar"))
    assert.equal("double", A.result_type(x, "half", "double"))
    assert.equal("int", A.result_type(x, 1))
    assert.equal("float", A.result_type(x, 0.5))
    assert.equal("half", A.result_type("half", 0.5))
    assert.equal("long", A.result_type(1, 2))
    assert.equal("float", A.result_type(1, 2.0))
    assert.equal((x + v:to "uint").type, A.result_type(x, "uint"))
    assert.equal("result_type: argument 2: ulong with long has no type for " ..
      "its results; use :to", said(A.result_type, "ulong", "long"))
    assert.equal("result_type: argument 1: array, type or number expected, " ..
      "got nothing", said(A.result_type))
    assert.matches("^result_type: argument 1 %(type%): one of char, ",
      said(A.result_type, "tensor"))
  end)

  it("say which type another fits into", function()
    assert.is_true(A.can_cast("int", "long"))
    assert.is_true(A.can_cast(x, "float"))
    assert.is_true(A.can_cast("uchar", "short"))
    assert.is_false(A.can_cast("float", "int"))
    assert.is_false(A.can_cast("half", "bfloat16"))
    assert.is_false(A.can_cast("long", "ulong"))
    assert.matches("^can_cast: argument 2 %(to%): one of char, ",
      said(A.can_cast, "int", nil))
  end)

  it("keep the places of points, and large integers", function()
    local t = 1700000000
    local y = A("float", {1, 2, 3})
    assert.same({1, 1, 1}, y:gradient {t, t + 1, t + 2}:read())
    assert.equal(4, y:trapz {t, t + 1, t + 2}:item())
    assert.equal(60000, A("half", {60000, 60000}):trapz():item())
    local big = A("long", {1 << 62})
    assert.is_false(big:allclose(-(1 << 62), {rtol = 0}))
    assert.is_false(A("ulong", {-1}):allclose(-1))
    assert.is_true(A("ulong", {5}):array_equal(A("long", {5})))
    assert.is_false(A("ulong", {-1}):array_equal(A("long", {-1})))
  end)
end)
