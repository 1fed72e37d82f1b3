-- array_complex_spec.lua - arrays of complex numbers.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local complex = require "spec.support.complex"
local A = lze.array

local types, values = complex.types, complex.values
local exactly, rounded = complex.exactly, complex.rounded
local inf, nan = math.huge, 0 / 0

describe("complex arrays", function()
  it("are made from numbers, pairs of numbers, counts and buffers", function()
    for _, kind in ipairs(types) do
      local scalar = kind == "complex64" and "float" or "double"
      local z = A(kind, {{1, 2}, 3})
      assert.equal(kind, z.type)
      assert.equal(scalar .. "2", z.buffer.type)
      assert.same({2}, z.shape)
      exactly({{1, 2}, {3, 0}}, z)
      exactly({{1, 0}, {2, 0}, {3, 0}}, A(kind, {1, 2, 3}))
      local m = A(kind, {{1, {2, 3}}, {4, 5}})
      assert.same({2, 2}, m.shape)
      exactly({{1, 0}, {2, 3}, {4, 0}, {5, 0}}, m)
      exactly({{1, 0}, {2, 0}}, A(kind, {1, 2}))
      exactly({{1, 2}}, A(kind, {{1, 2}}))
      exactly({{0, 0}, {0, 0}}, A(kind, 2))
      assert.same({0, 3}, A.zeros({0, 3}, {type = kind}).shape)
      exactly({{1, 0}, {1, 0}}, A.ones({2}, {type = kind}))
      exactly({{3, -1}, {3, -1}}, A.full({2}, {3, -1}, {type = kind}))
      exactly({{7, 0}}, A.full({1}, 7, {type = kind}))
      exactly({{1, 0}, {0, 0}, {0, 0}, {1, 0}}, A.eye(2, {type = kind}))
      local b = lze.buffer(kind, {{5, 6}})
      assert.equal(scalar .. "2", b.type)
      exactly({{5, 6}}, A(kind, b))
      exactly({{5, 6}}, A(b.type, b))
      exactly({{1, 2}}, A(kind, A(scalar, {{1, 2}})))
      exactly({{1, 2}, {3, 0}}, z:to(kind))
      exactly({{1, 0}, {2, 0}}, A("int", {1, 2}):to(kind))
    end
    assert.equal("array: argument 2 (source): element 2: a number or {re, im} "
      .. "expected, got string 'x'", said(A, "complex64", {1, "x"}))
    assert.equal("array: argument 2 (source): element 2: a number or {re, im} "
      .. "expected, got table", said(A, "complex64", {1, {1, 2, 3}}))
    assert.equal("full: argument 2 (value): a number or {re, im} expected, "
      .. "got 3 elements", said(A.full, {1}, {1, 2, 3}, {type = "complex64"}))
    assert.equal("full: argument 2 (value): a number expected, got table",
      said(A.full, {1}, {1, 2}))
    assert.matches("^linspace: argument 4 %(options%): type: one of char, ",
      said(A.linspace, 0, 1, 3, {type = "complex64"}))
    assert.matches("bfloat16, float, double, complex64, complex128 expected, "
      .. "got string 'complex'$", said(A, "complex", 1))
  end)

  it("are made from real and imaginary parts, or radius and angle", function()
    local re, im = A("float", {{1}, {2}}), A("int", {3, 4})
    local z = A.complex(re, im)
    assert.equal("complex64", z.type)
    assert.same({2, 2}, z.shape)
    exactly({{1, 3}, {1, 4}, {2, 3}, {2, 4}}, z)
    exactly({{3, 1}, {4, 1}}, A.complex(im, 1))
    exactly({{0, 3}, {0, 4}}, A.complex(0, im))
    exactly({{3, 4}, {4, 3}}, im:complex(im:flip()))
    local i = A.complex(0, 1)
    assert.same({}, i.shape)
    exactly({{0, 1}}, i)
    exactly({{-3, 1}}, A.complex(1, 3) * i)
    assert.equal("complex64", i.type)
    assert.same({0}, A.complex(A.zeros {0}, 1).shape)
    local p = A.polar(A("float", {2, 1}), A("float", {0, math.pi / 2}))
    assert.is_true(p:real():allclose(A("float", {2, 0}), {atol = 1e-6}))
    assert.is_true(p:imag():allclose(A("float", {0, 1}), {atol = 1e-6}))
    if types[2] then
      assert.equal("complex128", A.complex(A("double", {1}), re).type)
      local v = A.polar(2, math.pi / 6, {type = "complex128"}):item()
      assert.equal(2 * math.cos(math.pi / 6), v[1])
      assert.equal(2 * math.sin(math.pi / 6), v[2])
    end
    assert.equal("complex: argument 1 (re): real numbers expected, got "
      .. "complex64; real, imag, abs and angle give some",
      said(A.complex, z, 1))
    assert.equal("complex: argument 2 (im): an array or a number expected, got "
      .. "nil", said(A.complex, 1))
    assert.equal("complex: shapes {2} and {3} do not broadcast (dimension 1: 2 "
      .. "and 3)", said(A.complex, im, A.zeros {3}))
    assert.equal("polar: argument 3 (options): type: complex64 or complex128 "
      .. "expected, got float", said(A.polar, 1, 2, {type = "float"}))
  end)

  it("have elements that are pairs and are written as pairs or numbers",
    function()
      for _, kind in ipairs(types) do
        local z = A(kind, {{1, 2}, {3, 4}, {5, 6}})
        assert.equal(3, z[2][1])
        assert.equal(4, z[2][2])
        z[1] = 7
        z[2] = {8, 9}
        z[3][2] = 0.5
        exactly({{7, 0}, {8, 9}, {5, 0.5}}, z)
        z[1] = z[2]
        z[{3}] = A.complex(1, 1)
        exactly({{8, 9}, {8, 9}, {1, 1}}, z)
        z[{{2, 3}}] = -1
        exactly({{8, 9}, {-1, 0}, {-1, 0}}, z)
        z[{{2, 3}}] = A("float", {2, 3})
        exactly({{8, 9}, {2, 0}, {3, 0}}, z)
        z[{{1, 2}}] = {{0, 1}, 5}
        exactly({{0, 1}, {5, 0}, {3, 0}}, z)
        z[z:abs():gt(2)] = A.complex(1, -1)
        exactly({{0, 1}, {1, -1}, {1, -1}}, z)
        z[z:eq(A.complex(0, 1))] = 4
        exactly({{4, 0}, {1, -1}, {1, -1}}, z)
        z[z:real():eq(1)] = z * 2
        exactly({{4, 0}, {2, -2}, {2, -2}}, z)
        z:fill(1)
        z:set(z + A(kind, {{0, 1}, {0, 2}, {0, 3}}))
        exactly({{1, 1}, {1, 2}, {1, 3}}, z)
        exactly({{1, 3}, {1, 2}, {1, 1}}, z:clone():copy(z:flip()))
        z[{{1, 2}}] = {5, 6}
        exactly({{5, 0}, {6, 0}, {1, 3}}, z)
        z[{{2, 2}}]:reshape {}:set {1, 1}
        exactly({{1, 1}}, z[{{2, 2}}])
        z:fill {0, 2}
        exactly({{0, 2}, {0, 2}, {0, 2}}, z)
        assert.equal(2, z[{{1, 1}}]:item()[2])
      end
      local z = A("complex64", 2)
      assert.equal("a[i] = v: a number or {re, im} expected, got string 'x'",
        said(function() z[1] = "x" end))
      assert.equal("set: argument 2 (v): complex64 cannot go into elements of "
        .. "float; real, imag, abs and angle give reals",
        said(A.set, A.zeros {2}, z))
      assert.equal("fill: argument 2 (value): number 1e+300 does not fit float",
        said(A.fill, z, {1, 1e300}))
      assert.equal("fill: argument 2 (value): a number expected, got table",
        said(A.fill, z, {1, 2, 3}))
    end)

  it("keep their elements in files", function()
    local path = os.tmpname() .. ".npy"
    for _, kind in ipairs(types) do
      A(kind, {{{1, -0.0}, {2, nan}}, {{inf, 4}, 5}}):t():save(path)
      local z = A.load(path)
      assert.equal(kind, z.type)
      assert.same({2, 2}, z.shape)
      exactly({{1, -0.0}, {inf, 4}, {2, nan}, {5, 0}}, z)
    end
    os.remove(path)
    os.remove(path:sub(1, -5))
  end)

  it("are shown as pairs", function()
    assert.equal("array: complex64 {2} [{1.0, -2.5} {3.0,  0.0}]",
      tostring(A("complex64", {{1, -2.5}, 3})))
    assert.equal("array: complex128 {0} []", tostring(A("complex128", {})))
  end)

  it("have arithmetic with reals and numbers", function()
    for _, kind in ipairs(types) do
      local z, w = A(kind, {{1, 2}, {-3, 0.5}}), A(kind, {{2, -1}, {4, 4}})
      local r = A("float", {2, -4})
      exactly({{3, 1}, {1, 4.5}}, z + w)
      exactly({{-1, 3}, {-7, -3.5}}, z - w)
      exactly({{4, 3}, {-14, -10}}, z * w)
      exactly({{0, 1}, {-0.3125, 0.4375}}, z / w)
      exactly({{-1, -2}, {3, -0.5}}, -z)
      exactly({{3, 2}, {-7, 0.5}}, z + r)
      exactly({{1, -2}, {-1, -0.5}}, r - z)
      exactly({{2, 4}, {12, -2}}, r * z)
      exactly({{0.5, 1}, {0.75, -0.125}}, z / r)
      exactly({{2, 1}, {-0.5, 0.5}}, A("int", {5, -4}) / w)
      exactly({{3, 2}, {-1, 0.5}}, z + 2)
      exactly({{1, -2}, {5, -0.5}}, 2 - z)
      exactly({{0.5, 1}, {-1.5, 0.25}}, 0.5 * z)
      exactly({{1, -2}, {-2, -0.0}}, 5 / A(kind, {{1, 2}, {-2.5, 0}}))
      exactly({{-2, 1}, {-0.5, -3}}, z * A.complex(0, 1))
    end
  end)

  it("broadcast, and are computed from views", function()
    for _, kind in ipairs(types) do
      local z = A(kind, {{{1, 1}, {2, 2}, {3, 3}}, {{4, 4}, {5, 5}, {6, 6}}})
      exactly({{2, 1}, {6, 4}, {4, 2}, {8, 5}, {6, 3}, {10, 6}},
        z:t() + A("float", {{1}, {2}, {3}}) + A("int", {0, 1}))
      exactly({{3, 3}, {1, 1}}, z[{1, {3, 1, -2}}] * 1)
      exactly({{0, 2}, {0, 8}, {0, 18}}, z[1] * z[{1}])
      exactly({{1, -1}, {4, -4}, {2, -2}, {5, -5}},
        z[{{}, {1, 2}}]:t():conj())
      local e = A.zeros({2, 0}, {type = kind})
      assert.same({2, 0}, (e + 1 / e).shape)
      local s = A(kind, {0, 0})
      s[{{1, 2, 1}}] = z[{{}, 2}] - z[{{}, 1}]
      exactly({{1, 1}, {1, 1}}, s)
      assert.equal("a + b: shapes {2, 3} and {2} do not broadcast (dimension "
        .. "2: 3 and 2)", said(function() return z + s end))
    end
  end)

  it("have the wider type of their parts", function()
    local z = A("complex64", {{1, 2}})
    assert.equal("complex64", (z + A("long", {1})).type)
    assert.equal("complex64", (z * A("half", {1})).type)
    assert.equal("complex64", (z * 1e10).type)
    assert.equal("float", z:abs().type)
    assert.equal("complex128", A.result_type(z, "double2"))
    assert.equal("complex128", A.result_type("complex64", "double"))
    assert.equal("complex64", A.result_type("float2", "ulong", 1.5))
    assert.is_true(A.can_cast("half", "complex64"))
    assert.is_true(A.can_cast("complex64", "complex128"))
    assert.is_false(A.can_cast("double", "complex64"))
    assert.is_false(A.can_cast("complex64", "float"))
    local f = A.finfo "complex64"
    assert.equal("float", f.type)
    assert.equal(2.0 ^ -23, f.eps)
    assert.equal(2.0 ^ -52, A.finfo "complex128".eps)
    if not types[2] then return end
    local w = A("complex128", {{1, 2}})
    assert.equal("complex128", (z + w).type)
    assert.equal("complex128", (z * A("double", {1})).type)
    assert.equal("double", w:abs().type)
    exactly({{1 + 0.1, 2}}, w + 0.1)
    exactly({{1 + 0.1, 2}}, z + A("double", {0.1}))
  end)

  it("have parts, absolute values and angles", function()
    for _, kind in ipairs(types) do
      local z = A(kind, {{3, 4}, {-5, 0}, {0, -2}, {-0.0, -0.0}, {inf, nan}})
      exactly({3, -5, 0, -0.0, inf}, z:real())
      exactly({4, 0, -2, -0.0, nan}, z:imag())
      exactly({{3, -4}, {-5, -0.0}, {0, 2}, {-0.0, 0}, {inf, nan}}, z:conj())
      exactly({5, 5, 2, 0, inf}, z:abs())
      local pi = rounded(kind, math.pi)
      exactly({rounded(kind, math.atan(4, 3)), pi, -pi / 2, -pi},
        z[{{1, 4}}]:angle())
      exactly({0, 0, 0, 0, 1}, z:isnan())
      exactly({1, 1, 1, 1, 0}, z:isfinite())
      exactly({0, 0, 0, 0, 1}, z:isinf())
    end
    local r = A("int", {3, -4})
    exactly({3, -4}, r:real())
    assert.equal("int", r:conj().type)
    exactly({0, 0}, r:imag())
    exactly({0, rounded("complex64", math.pi)}, r:angle())
  end)

  it("are compared for equality, and have no order", function()
    local z = A("complex64", {{1, 0}, {1, 2}, {nan, 0}})
    exactly({1, 0, 0}, z:eq(1))
    exactly({0, 1, 1}, z:ne(1))
    exactly({1, 1, 0}, z:eq(z))
    exactly({0, 1, 0}, z:eq(A.complex(1, 2)))
    exactly({1, 0, 0}, z:eq(A("int", {1, 1, 1})))
    exactly({0, 1, 1}, A("ulong", {1, 1, 1}):ne(z))
    assert.is_true(z[{{1, 2}}]:array_equal(A("double2", {1, {1, 2}})))
    for _, name in ipairs {"lt", "le", "gt", "ge"} do
      assert.equal("a:" .. name .. "(b): a: real numbers expected, got "
        .. "complex64; real, imag, abs and angle give some",
        said(z[name], z, 1))
    end
  end)

  it("are computed by graphs", function()
    local x, y = A("complex64", {{1, 2}, {0, 1}}), A("complex64", 2)
    local r = A("float", 2)
    local g = lze.graph()
    g:array("square", y, x * x + 1)
    g:array("size", r, y:real():abs())
    local plan = g:compile()
    plan:run()
    exactly({{-2, 4}, {0, 0}}, y)
    exactly({2, 0}, r)
    x[1] = {0, 5}
    plan:run()
    exactly({{-24, 0}, {0, 0}}, y)
    assert.equal("g:array: complex64 cannot go into elements of float",
      said(g.array, g, "back", r, x))
    exactly({{1, 2}}, x[{{1, 1}}]:full_like {1, 2})
    exactly({{3, 0}}, x[{{1, 1}}]:full_like(3))
  end)

  it("are chosen by where", function()
    local z, w = A("complex64", {{1, 2}, {3, 4}}), A("float", {5, 6})
    exactly({{1, 2}, {6, 0}}, A.where(A("int", {1, 0}), z, w))
    exactly({{7, 0}, {3, 4}}, A.where(A("int", {1, 0}), 7, z))
    exactly({{3, 4}, {9, 0}}, A.where(A("complex64", {{0, 1}, 0}), z:flip(), 9))
  end)

  it("fuse to the same bits as one operation after the other", function()
    local list = {}
    for i = 1, 50 do list[i] = {math.sin(i), math.cos(i * 7) * 3} end
    for _, kind in ipairs(types) do
      local z = A(kind, list)
      local function f(x)
        local y = x * x - 2 / (x + 1)
        return (y:conj() * y - x:abs() * y:real()) / (y - 0.3)
      end
      local apart = z * z
      local sum = (z + 1):eval()
      apart = (apart:eval() - (2 / sum):eval()):eval()
      local conj, abs, re = apart:conj():eval(), z:abs():eval(),
        apart:real():eval()
      local left = ((conj * apart):eval() - (abs * re):eval()):eval()
      exactly(values((left / (apart - 0.3):eval()):eval()), A.fuse(f)(z))
    end
  end)
end)

-- Complex multiplication and division with sums that a double holds nearly
-- exactly for operands of float.
local function product(z, w)
  return {z[1] * w[1] - z[2] * w[2], z[1] * w[2] + z[2] * w[1]}
end
local function quotient(z, w)
  local n = w[1] * w[1] + w[2] * w[2]
  return {(z[1] * w[1] + z[2] * w[2]) / n, (z[2] * w[1] - z[1] * w[2]) / n}
end

describe("products and quotients of complex arrays", function()
  it("are accurate for numbers of every size", function()
    math.randomseed(53)
    for _, kind in ipairs(types) do
      local eps = kind == "complex64" and 2.0 ^ -24 or 2.0 ^ -53
      local most = kind == "complex64" and 60 or 500
      local a, b, up = {}, {}, {}
      local function number() return (math.random() * 2 - 1) end
      for i = 1, 400 do
        a[i] = {rounded(kind, number()), rounded(kind, number())}
        b[i] = {rounded(kind, number()), rounded(kind, number())}
        up[i] = 2.0 ^ math.random(-most, most)
      end
      local z, w = A(kind, a), A(kind, b)
      local scale = A(types[2] and "double" or "float", up):to(
        z:real().type)
      local function near(expected, got, by)
        for i, v in ipairs(values(got)) do
          local s = by and up[i] or 1
          local far = math.sqrt((v[1] / s - expected[i][1]) ^ 2 +
            (v[2] / s - expected[i][2]) ^ 2)
          local size = math.sqrt(expected[i][1] ^ 2 + expected[i][2] ^ 2)
          assert.is_true(far <= 8 * eps * size + 1e-300)
        end
      end
      local p, q = {}, {}
      for i = 1, #a do
        p[i], q[i] = product(a[i], b[i]), quotient(a[i], b[i])
      end
      near(p, z * w)
      near(q, z / w)
      near(p, (z * scale) * w, true)
      near(q, (z * scale) / w, true)
      near(q, (z * scale) / (w * scale))
      local far = kind == "complex64" and 2.0 ^ 127 or 2.0 ^ 1023
      exactly({{1, 0}, {0, -1}, {0.5, 0}, {1, 0}},
        A(kind, {{far, far}, {far, 0}, {far / 2, 0}, {1 / far / 4, 0}}) /
        A(kind, {{far, far}, {0, far}, {far, 0}, {1 / far / 4, 0}}))
    end
  end)

  it("treat infinities as annex G does", function()
    for _, kind in ipairs(types) do
      local function infinite(list)
        for _, v in ipairs(values(list)) do
          assert.is_true(math.abs(v[1]) == inf or math.abs(v[2]) == inf)
        end
      end
      local some = A(kind, {{inf, nan}, {nan, -inf}, {inf, inf}, {inf, 0}})
      infinite(some * A(kind, {{1, 1}}))
      infinite(A(kind, {{0, -2}}) * some)
      infinite(some * some)
      infinite(some / A(kind, {{1, -3}}))
      infinite(A(kind, {{1, -3}, {nan, 1}}) / A(kind, {{0, 0}}))
      exactly({{0, 0}, {0, 0}}, (A(kind, {{1, 1}}) /
        A(kind, {{inf, nan}, {inf, inf}})):abs() * A(kind, {{1, 0}}))
      exactly({{nan, nan}, {nan, nan}, {nan, nan}},
        A(kind, {{0, 0}, {nan, nan}, {inf, 0}}) /
        A(kind, {{0, 0}, {1, 1}, {inf, inf}}))
      exactly({{nan, nan}}, A(kind, {{nan, 0}}) * A(kind, {{1, 1}}))
    end
  end)
end)
