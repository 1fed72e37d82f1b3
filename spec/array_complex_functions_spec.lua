-- array_complex_functions_spec.lua - functions of complex numbers.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local complex = require "spec.support.complex"
local A = lze.array

local types, values = complex.types, complex.values
local exactly, rounded = complex.exactly, complex.rounded
local same, text = complex.same, complex.text
local inf, nan = math.huge, 0 / 0

local function product(z, w)
  return {z[1] * w[1] - z[2] * w[2], z[1] * w[2] + z[2] * w[1]}
end
local function quotient(z, w)
  local n = w[1] * w[1] + w[2] * w[2]
  return {(z[1] * w[1] + z[2] * w[2]) / n, (z[2] * w[1] - z[1] * w[2]) / n}
end

-- Complex numbers as {re, im} in plain Lua, by the definitions.
local function exp(z)
  local e = math.exp(z[1])
  return {e * math.cos(z[2]), e * math.sin(z[2])}
end
local function log(z)
  return {math.log(z[1] ^ 2 + z[2] ^ 2) / 2, math.atan(z[2], z[1])}
end
local function root(z)
  local l = log(z)
  return exp {l[1] / 2, l[2] / 2}
end
local function plus(z, w) return {z[1] + w[1], z[2] + w[2]} end
local function times(z, by) return {z[1] * by, z[2] * by} end
local one = {1, 0}
local function turned(z) return {-z[2], z[1]} end -- i z
local function turned_back(z) return {z[2], -z[1]} end

local oracle = {exp = exp, log = log, sqrt = root}
function oracle.log2(z) return times(log(z), 1 / math.log(2)) end
function oracle.log10(z) return times(log(z), 1 / math.log(10)) end
function oracle.sinh(z) return times(plus(exp(z), times(exp(times(z, -1)), -1)),
  0.5) end
function oracle.cosh(z) return times(plus(exp(z), exp(times(z, -1))), 0.5) end
function oracle.tanh(z) return quotient(oracle.sinh(z), oracle.cosh(z)) end
function oracle.asinh(z)
  return log(plus(z, root(plus(product(z, z), one))))
end
function oracle.acosh(z)
  return log(plus(z, product(root(plus(z, one)), root(plus(z, {-1, 0})))))
end
function oracle.atanh(z)
  return times(plus(log(plus(one, z)), times(log(plus(one, times(z, -1))), -1)),
    0.5)
end
for name in pairs {sin = 1, tan = 1, asin = 1, atan = 1} do
  local hyperbolic = oracle[name:gsub("^a?%a+$", "%0h")]
  oracle[name] = function(z) return turned_back(hyperbolic(turned(z))) end
end
function oracle.cos(z) return oracle.cosh(turned(z)) end
function oracle.acos(z)
  return plus({math.pi / 2, 0}, times(oracle.asin(z), -1))
end
function oracle.expm1(z) return plus(exp(z), {-1, 0}) end
function oracle.log1p(z) return log(plus(z, one)) end
function oracle.square(z) return product(z, z) end
function oracle.reciprocal(z) return quotient(one, z) end
function oracle.sign(z) return times(z, 1 / math.sqrt(z[1] ^ 2 + z[2] ^ 2)) end

describe("functions of complex arrays", function()
  local list = {}
  math.randomseed(7)
  for i = 1, 60 do
    list[i] = {math.random() * 4 - 2, math.random() * 4 - 2}
  end
  list[61], list[62], list[63] = {0.6, 0.8}, {3, -1e-3}, {-1.5, 1e-3}

  local function near(name, kind, expected, got)
    local most = kind == "complex64" and 4e-6 or 1e-14
    for i, v in ipairs(values(got)) do
      local e = expected[i]
      local far = math.sqrt((v[1] - e[1]) ^ 2 + (v[2] - e[2]) ^ 2)
      local size = math.max(1e-2, math.sqrt(e[1] ^ 2 + e[2] ^ 2))
      if far ~= far or far > most * size then
        error(("%s of %s: %s expected, got %s"):format(name, text(list[i]),
          text(e), text(v)), 2)
      end
    end
  end

  it("agree with their definitions", function()
    for _, kind in ipairs(types) do
      local z = A(kind, list)
      local given = values(z)
      for name, f in pairs(oracle) do
        local expected = {}
        for i, v in ipairs(given) do expected[i] = f(v) end
        near(name, kind, expected, z[name](z))
      end
      near("conj(conj)", kind, given, z:conj():conj())
      near("sin(asin)", kind, given, z:asin():sin())
      near("cosh(acosh)", kind, given, z:acosh():cosh())
      near("polar", kind, given, A.polar(z:abs(), z:angle()))
    end
  end)

  it("raise to powers of reals and complex numbers", function()
    for _, kind in ipairs(types) do
      local z = A(kind, list)
      local given, cube, inverse, some = values(z), {}, {}, {}
      local both, of_two = {}, {}
      for i, v in ipairs(given) do
        cube[i] = product(product(v, v), v)
        inverse[i] = quotient(one, product(v, v))
        some[i] = exp(times(log(v), 1.5))
        both[i] = exp(product(log(v), {0.5, -1}))
        of_two[i] = exp(times(v, math.log(2)))
      end
      near("z^3", kind, cube, z ^ 3)
      near("z^-2", kind, inverse, z ^ -2)
      near("z^1.5", kind, some, z ^ 1.5)
      near("z^(0.5-i)", kind, both, z ^ A.complex(0.5, -1))
      near("2^z", kind, of_two, 2 ^ z)
      near("z^int", kind, cube, z ^ A("int", {3}))
      exactly({{1, 0}, {1, 0}}, A(kind, {0, {inf, nan}}) ^ 0)
      exactly({{0, 0}, {0, 0}}, A(kind, {0, 0}) ^ A(kind, {2, {1, 1}}))
      exactly({{-4, 0}, {0, -0.75}}, A(kind, {{1, 1}}) ^ A("int", {4, -2})
        - A(kind, {0, {0, 0.25}}))
    end
  end)

  it("have the branch cuts of annex G, and a zero's sign tells the side",
    function()
      for _, kind in ipairs(types) do
        local pi = rounded(kind, math.pi)
        local function r(v) return rounded(kind, v) end
        exactly({{0, 2}, {0, -2}}, A(kind, {{-4, 0}, {-4, -0.0}}):sqrt())
        exactly({{0, pi}, {0, -pi}}, A(kind, {{-1, 0}, {-1, -0.0}}):log())
        local up, down = A(kind, {{2, 0}}), A(kind, {{2, -0.0}})
        assert.equal(r(pi / 2), up:asin():item()[1])
        assert.is_true(up:asin():item()[2] > 1.3)
        assert.is_true(down:asin():item()[2] < -1.3)
        assert.is_true(up:acos():item()[2] < -1.3)
        assert.is_true(down:acos():item()[2] > 1.3)
        assert.equal(r(pi / 2), up:atanh():item()[2])
        assert.equal(-r(pi / 2), down:atanh():item()[2])
        local side = A(kind, {{0, 2}, {-0.0, 2}})
        assert.is_true(side:asinh()[1][1] > 1.3)
        assert.is_true(side:asinh()[2][1] < -1.3)
        assert.equal(r(pi / 2), side:atan()[1][1])
        assert.equal(-r(pi / 2), side:atan()[2][1])
        local under = A(kind, {{0.5, 0}, {0.5, -0.0}}):acosh()
        assert.is_true(under[1][2] > 1)
        assert.is_true(under[2][2] < -1)
      end
    end)

  it("have the special values of annex G", function()
    for _, kind in ipairs(types) do
      local function r(v) return rounded(kind, v) end
      local half = r(math.pi / 2)
      local function check(name, ...)
        local inputs = {}
        for i, v in ipairs {...} do inputs[i] = {v[1], v[2]} end
        local got = values(A[name](A(kind, inputs)))
        for i, v in ipairs {...} do
          for part = 1, 2 do
            local e, w = v[part + 2], got[i][part]
            if not (same(e, w) or math.abs(e - w) <= 3e-7 * math.abs(e)) then
              error(("%s of %s: %s expected, got %s"):format(name,
                text(inputs[i]), text {v[3], v[4]}, text(got[i])), 2)
            end
          end
        end
      end
      check("exp", {0, -0.0, 1, -0.0}, {-inf, nan, 0, 0}, {inf, 0, inf, 0},
        {inf, nan, inf, nan}, {nan, 0, nan, 0}, {1, inf, nan, nan})
      check("log", {-0.0, 0, -inf, r(math.pi)}, {0, 0, -inf, 0},
        {1, inf, inf, half}, {inf, -inf, inf, -r(math.pi / 4)},
        {nan, inf, inf, nan}, {nan, 1, nan, nan})
      check("sqrt", {-0.0, -0.0, 0, -0.0}, {nan, inf, inf, inf},
        {-inf, 1, 0, inf}, {inf, -1, inf, -0.0}, {inf, nan, inf, nan},
        {1, nan, nan, nan})
      check("sinh", {0, 0, 0, 0}, {inf, 0, inf, 0}, {inf, inf, inf, nan},
        {nan, 0, nan, 0}, {1, inf, nan, nan}, {inf, 2, -inf, inf})
      check("cosh", {0, 0, 1, 0}, {inf, -0.0, inf, -0.0}, {inf, inf, inf, nan},
        {inf, 2, -inf, inf}, {1, nan, nan, nan})
      check("tanh", {inf, 1, 1, 0}, {-inf, nan, -1, 0}, {nan, 0, nan, 0},
        {1, inf, nan, nan}, {500, 1, 1, 0})
      check("acos", {0, 0, half, -0.0}, {0, nan, half, nan},
        {-inf, 1, r(math.pi), -inf}, {inf, 1, 0, -inf},
        {inf, inf, r(math.pi / 4), -inf}, {inf, nan, nan, -inf},
        {nan, inf, nan, -inf}, {2, nan, nan, nan})
      check("acosh", {0, 0, 0, half}, {-inf, 1, inf, r(math.pi)},
        {nan, inf, inf, nan}, {1, -inf, inf, -half})
      check("asinh", {0, -0.0, 0, -0.0}, {1, inf, inf, half}, {inf, 1, inf, 0},
        {inf, nan, inf, nan}, {nan, 0, nan, 0}, {2, nan, nan, nan})
      check("atanh", {0, nan, 0, nan}, {1, 0, inf, 0}, {inf, 1, 0, half},
        {2, inf, 0, half}, {inf, nan, 0, nan}, {nan, inf, 0, half},
        {nan, 1, nan, nan})
    end
  end)

  it("are the same in trees that have too many calls for one kernel", function()
    local z = A("complex64", {{{0.5, 0.5}, {0.1, -0.2}, 3}})
    for _ = 1, 2 do -- the second tree would be computed by one kernel
      local p, q = z, z
      for _ = 1, 20 do p, q = p * z + 1, (q * z + 1):eval() end
      assert.same(q:read(), p:read())
      p, q = z, z
      for _ = 1, 8 do p, q = p:asin(), q:asin():eval() end
      assert.same(q:read(), p:read())
      assert.equal(1, z:asin():isfinite():all():item())
    end
  end)

  it("do not overflow before their results do", function()
    for _, kind in ipairs(types) do
      local most = kind == "complex64" and 0x1p127 or 0x1p1023
      local z = A(kind, {{most, most}, {-most, most}})
      assert.is_true(z:sqrt():isfinite():all():item() ~= 0)
      for _, name in ipairs {"log", "asin", "acos", "asinh", "acosh", "atan",
        "atanh"}
      do
        assert.equal(1, z[name](z):isfinite():all():item())
      end
      assert.equal(rounded(kind, most), (z:sqrt() ^ 2)[1][1] * 0 + most)
      local edge = kind == "complex64" and 89 or 710
      local e = A(kind, {{edge, 1.5}}):exp():item()
      assert.is_true(e[1] > 0 and e[1] < inf and e[2] == inf or e[2] > 1e30)
    end
  end)
end)
