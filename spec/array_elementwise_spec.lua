-- array_elementwise_spec.lua - arrays: further elementwise functions, compared
-- with exact values and plain Lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local said = require "spec.support.expect".said
local A = lze.array
local huge, nan = math.huge, -(0 / 0)
local fp64 = lze.device().fp64

local function rounded(kind, v)
  return kind == "double" and v or (string.unpack("f", string.pack("f", v)))
end

-- Says what a number is: its digits, its sign if it is 0, or "nan".
local function text(v)
  if v ~= v then return "nan" end
  return ("%.17g"):format(v)
end

local function same(expected, got)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do assert.equal(text(v), text(got[i])) end
end

-- Returns the elements of f(...), where lists become arrays of a kind.
local function of(kind, name, ...)
  local list = {...}
  for i, v in ipairs(list) do
    if type(v) == "table" then list[i] = A(kind, v) end
  end
  local r = A[name](table.unpack(list))
  return r:read(), r.type
end

-- {argument, result}, the result rounded from 60 digits.
local exact = {
  erf = {{1e-300, 1.1283791670955126e-300}, {0.3125, 0.34146863350159501},
    {-0.96875, -0.82931915059331518}, {1.0, 0.84270079294971489}, {2.5,
    0.99959304798255499}, {-5.5, -0.99999999999999267}},
  erfc = {{-1.5, 1.9661051464753108}, {0.5, 0.47950012218695348}, {0.75,
    0.28884436634648486}, {0.875, 0.21592493894014034}, {4.6875,
    3.3768008496558794e-11}, {9.125, 4.2346826791392676e-38}, {26.5,
    2.2109076642637343e-307}},
  gamma = {{1e-300, 9.999999999999999e299}, {0.125, 7.5339415987976119},
    {-0.3125, -4.2185517513938873}, {0.6875, 1.3182974223105899}, {4.5,
    11.631728396567448}, {15.125, 121849383262.30469}, {30.25,
    2.0628053137753467e31}, {170.5, 5.5620924145599999e305}, {-1.5,
    2.3632718012073548}, {-4.25, -0.12617664186267893}, {-16.25,
    -1.0515732450080852e-13}, {-100.3, -1.0431432495783088e-158}},
  lgamma = {{1e-300, 690.77552789821368}, {0.125, 2.0194183575537963},
    {-0.3125, 1.4394918822723424}, {1.0000001, -5.772155829918507e-08},
    {1.9921875, -0.0032832885992213341}, {2.3125, 0.16173224571501024},
    {7.6875, 7.901866169705241}, {33.5, 83.302425502950058}, {1e20,
    4.5051701859880912e21}, {-0.6875, 1.42764278947846}, {-1.5,
    0.86004701537648098}, {-20.25, -41.600961915340527}},
  asinh = {{1e-300, 1e-300}, {0.0009765625, 0.0009765623447796375},
    {-0.3125, -0.30762506738861911}, {2.0, 1.4436354751788103}, {-65536.0,
    -11.783502069577278}, {1e300, 691.46867507877369}},
  acosh = {{1.0009765625, 0.044190578083110096}, {1.5, 0.96242365011920694},
    {20.0, 3.6882538673612966}, {1e300, 691.46867507877369}},
  atanh = {{1e-300, 1e-300}, {0.0009765625, 0.00097656281044103594},
    {-0.3125, -0.32331358246252623}, {0.75, 0.97295507452765662},
    {-0.9990234375, -3.8120652928306447}},
  cbrt = {{5e-324, 1.7031839360032603e-108}, {-1e-300, -1e-100}, {0.3125,
    0.67860440414872669}, {2.0, 1.2599210498948732}, {-27.0, -3}, {1e300,
    1e100}},
  softplus = {{-700.0, 9.8596765437597708e-305}, {-30.0,
    9.3576229688397368e-14}, {-1.5, 0.20141327798275241}, {0.3125,
    0.86155486227066824}, {20.0, 20.000000002061153}, {800.0, 800}},
  exp2 = {{-1.5, 0.35355339059327379}, {0.0, 1}, {10.0, 1024}, {0.3125,
    1.241857812073484}}
}

describe("an elementwise function of lze.array", function()
  setup(function() math.randomseed(7) end)

  it("is accurate to a few units in the last place", function()
    for _, kind in ipairs {"float", fp64 and "double"} do
      local unit = kind == "float" and 0x1p-24 or 0x1p-53
      for name, rows in pairs(exact) do
        local list, expected = {}, {}
        for _, row in ipairs(rows) do
          local a = math.abs(row[2])
          if kind == "double" or rounded(kind, row[1]) == row[1] and
              a > 0x1p-120 and a < 0x1p120 then
            list[#list + 1], expected[#list + 1] = row[1], row[2]
          end
        end
        for i, v in ipairs(of(kind, name, list)) do
          local off = math.abs(v - expected[i])
          if off > 10 * unit * math.abs(expected[i]) then
            error(("%s of %s %s: %.17g expected, got %.17g"):format(name, kind,
              list[i], expected[i], v))
          end
        end
      end
    end
  end)

  it("has NumPy's results for infinities, NaN and zeros", function()
    local x = {0.0, -0.0, huge, -huge, nan, -1.0}
    for name, expected in pairs {
      square = {0.0, 0.0, huge, huge, nan, 1.0},
      reciprocal = {huge, -huge, 0.0, -0.0, nan, -1.0},
      positive = x, relu = {0.0, 0.0, huge, 0.0, nan, 0.0},
      asinh = {0.0, -0.0, huge, -huge, nan},
      acosh = {nan, nan, huge, nan, nan, nan},
      atanh = {0.0, -0.0, nan, nan, nan, -huge},
      exp2 = {1.0, 1.0, huge, 0.0, nan, 0.5},
      softplus = {[3] = huge, [4] = 0.0, [5] = nan},
      cbrt = {0.0, -0.0, huge, -huge, nan, -1.0},
      erf = {0.0, -0.0, 1.0, -1.0, nan}, erfc = {1.0, 1.0, 0.0, 2.0, nan},
      gamma = {huge, -huge, huge, nan, nan, nan},
      lgamma = {huge, huge, huge, huge, nan, huge},
      isinf = {0, 0, 1, 1, 0, 0}, signbit = {0, 1, 0, 1, 0, 1}
    } do
      local got = of("float", name, x)
      for i, v in pairs(expected) do assert.equal(text(v), text(got[i])) end
    end
    assert.same({1, 2, 6, 24, 120, 720}, (of("float", "gamma",
      {2, 3, 4, 5, 6, 7})))
    same({0.0, 0.0, huge}, (of("float", "lgamma", {1, 2, 1e38})))
    same({-huge, 3, huge}, (of("float", "logaddexp", {-huge, 3, huge},
      {-huge, -huge, huge})))
  end)

  it("takes two operands", function()
    local x, y = {0.0, -0.0, 3, -3, huge, -huge, nan, 5.5, -5.5},
      {-1, 1, -0.0, 4, nan, -2, huge, 2, 2}
    same({-0.0, 0.0, -3, 3, huge, -huge, nan, 5.5, 5.5},
      (of("float", "copysign", x, y)))
    same({1, 1, 3, 5, huge, huge, huge}, {table.unpack((of("float", "hypot", x,
      y)), 1, 7)})
    same({0.0, -0.0, nan, -3, nan, nan, nan, 1.5, -1.5},
      (of("float", "fmod", x, y)))
    same({1.5, 0.5}, (of("float", "remainder", {5.5, -5.5}, 2)))
    same({1.5, -1.5}, (of("float", "fmod", {5.5, -5.5}, -2)))
    same({-1.0, -1.0}, (of("float", "copysign", {1, -1}, -0.0)))
    same({rounded("float", 5e30), 0x1p-140}, (of("float", "hypot",
      {3e30, 0x1p-140}, {4e30, 0})))
    same({5, 13}, (of("int", "hypot", {3, -5}, {4, 12})))
    local log2 = rounded("float", math.log(2))
    same({100, log2, 0x1p100}, (of("float", "logaddexp", {100, 0, 0x1p100},
      {-100, 0, 1})))
  end)

  it("keeps integers where a real is not needed", function()
    local x, y = {7, -7, 0, 5, -5}, {3, 3, 4, 0, -3}
    for name, expected in pairs {remainder = {1, 2, 0, 0, -2},
      fmod = {1, -1, 0, 0, -2}} do
      local got, kind = of("int", name, x, y)
      assert.same(expected, got)
      assert.equal("int", kind)
    end
    for name, expected in pairs {square = {49, 49, 0, 25, 25}, positive = x,
      relu = {7, 0, 0, 5, 0}} do
      local got, kind = of("int", name, x)
      assert.same(expected, got)
      assert.equal("int", kind)
    end
    assert.same({-60}, (of("char", "square", {50})))
    assert.same({0, 1, 0, 0, 1}, (of("int", "signbit", x)))
    for _, name in ipairs {"reciprocal", "erf", "lgamma"} do
      assert.equal("float", select(2, of("int", name, x)))
    end
    assert.equal("float", select(2, of("int", "nextafter", x, y)))
  end)

  it("uses the true values of ulong", function()
    local x = {-1, 1 << 63, 5}
    assert.same({0, 2, 2}, (of("ulong", "fmod", x, 3)))
    assert.same({0, 2, 2}, (of("ulong", "remainder", x, 3)))
    assert.same(x, (of("ulong", "relu", x)))
    assert.same({0, 0, 0}, (of("ulong", "signbit", x)))
    assert.same({1, 1, 1}, (of("ulong", "logical_or", x, 0)))
    assert.same({0x1p64, 0x1p63, 5}, (of("ulong", "hypot", x, 0)))
  end)

  it("combines truth values of any types into masks", function()
    local m = A("float", {{0, -0.0, nan, 2}}):isnan()
    local x = A("long", {{1 << 32}, {0}})
    local y = A("half", {{0.0, 0.5, -0.0, nan}})
    for name, expected in pairs {
      logical_and = {{0, 1, 0, 1}, {0, 0, 0, 0}},
      logical_or = {{1, 1, 1, 1}, {0, 1, 0, 1}},
      logical_xor = {{1, 0, 1, 0}, {0, 1, 0, 1}}
    } do
      assert.same(expected, x[name](x, y):table())
      assert.same(expected, A[name](y, x:t():t()):table())
    end
    assert.same({{1, 0, 1, 0}}, y:logical_not():table())
    assert.same({{1, 1, 0, 1}}, m:logical_not():table())
    assert.same({{0, 0, 1, 0}}, A.logical_and(1e300, m):table())
    local v = A("int", {{10, 20, 30, 40}})
    assert.same({30}, v[m:logical_or(0)]:read())
  end)

  it("steps to the next number of its type", function()
    local widths = {half = "H", bfloat16 = "H", float = "I4",
      double = fp64 and "I8" or nil}
    for kind, code in pairs(widths) do
      local bytes = string.packsize(code)
      local whole = ({[2] = "ushort", [4] = "uint", [8] = "ulong"})[bytes]
      local sign, list = 1 << (bytes * 8 - 1), {}
      local most = ({half = 0x7c00, bfloat16 = 0x7f80, float = 0x7f800000,
        double = 0x7ff << 52})[kind]
      for i = 1, 500 do list[i] = math.random(1, most - 1) end
      for i = 1, 100 do list[500 + i] = i end           -- without full digits
      for i = 1, 60 do                                  -- beside powers of 2
        list[600 + i] = math.random(most >> 1) // (most >> 5) * (most >> 5) +
          most // 8 + i % 3 - 1
      end
      list[#list + 1] = most - 1
      local function reals(t)
        local b = lze.buffer(whole, t)
        return A(kind, b:view(1, #t, kind))
      end
      local function bits(a) return a.buffer:view(1, a.size, whole):read() end
      local up, down, negative, more = {}, {}, {}, {}
      for i, v in ipairs(list) do
        up[i], down[i] = v + 1, v - 1
        negative[i], more[i] = v | sign, v - 1 | sign
      end
      assert.same(up, bits(A.nextafter(reals(list), huge)))
      assert.same(down, bits(A.nextafter(reals(list), -huge)))
      assert.same(more, bits(A.nextafter(reals(negative), huge)))
      assert.same({1, most - 1, most - 1 | sign, 1 | sign},
        bits(A.nextafter(reals {0, most, most | sign, sign},
          A(kind, {1, 0, 0, -1}))))
      assert.same({1, 1 | sign, sign}, bits(A.nextafter(0, A(kind, {1, -1,
        -0.0}))))
    end
    same({nan, nan}, (of("float", "nextafter", {nan, 1}, {1, nan})))
  end)

  it("accepts views, broadcasts, and keeps empty arrays empty", function()
    local x = A("float", {{3, 4, 5}, {6, 8, 10}})
    assert.same({{25, 9}, {100, 36}}, x[{{}, {-1, 1, -2}}]:square():table())
    assert.same({{5}, {10}}, A.hypot(x[{{}, {1, 1}}], x[{{}, {2, 2}}]):table())
    assert.same({{3, 4, 1}, {2, 2, 2}}, x:fmod(A("float", {4, 6, 4})):table())
    for _, name in ipairs {"square", "gamma", "logical_not"} do
      assert.same({0, 3}, A[name](x[{{1, 0}}]).shape)
    end
    assert.same({0, 3}, A.nextafter(x[{{1, 0}}], 1).shape)
    assert.same({0, 3}, A.logical_xor(x[{{1, 0}}], 1).shape)
    assert.equal(24.0, A("float", {5}):reshape {}:gamma():item())
  end)

  it("is computed by graphs", function()
    local x, y = A("float", {3, 5, -8}), A("float", {4, 12, 15})
    local r = A.zeros {3}
    local g <close> = lze.graph("g"):array("length", r, A.hypot(x, y))
    local plan <close> = g:compile()
    plan:run()
    assert.same({5, 13, 17}, r:read())
    x:set {0, 9, 6}
    y:set {2, 12, 8}
    plan:run()
    assert.same({2, 15, 10}, r:read())
  end)

  it("refuses what it cannot compute", function()
    local x, y = A.zeros {2, 3}, A.zeros {4}
    assert.equal("square: argument 1 (a): array expected, got integer 3",
      said(A.square, 3))
    assert.equal("relu: argument 2: nothing more expected, got integer 1",
      said(x.relu, x, 1))
    for _, name in ipairs {"hypot", "fmod", "remainder", "nextafter",
      "logical_and"} do
      assert.matches("shapes {2, 3} and {4} do not broadcast (dimension 2: " ..
        "3 and 4)", said(A[name], x, y), 1, true)
      assert.equal(name .. ": argument 2 (b): an array or a number " ..
        "expected, got nil", said(A[name], x))
      assert.equal(name .. ": argument 1 (a): array expected, got integer 1",
        said(A[name], 1, 2))
    end
    assert.equal("logical_not: argument 1 (a): array expected, got nil",
      said(A.logical_not))
    assert.equal("hypot: argument 2 (b): number 1e+300 does not fit float",
      said(x.hypot, x, 1e300))
    assert.equal("fmod: ulong with int has no type for its results; use :to",
      said(A.fmod, A("ulong", 2), A("int", 2)))
    y:close()
    for _, name in ipairs {"square", "isinf", "signbit", "logical_not"} do
      assert.equal(name .. ": argument 1 (a): the array is closed",
        said(A[name], y))
    end
    for _, name in ipairs {"remainder", "copysign", "logical_xor",
      "nextafter"} do
      assert.equal(name .. ": argument 2 (b): the array is closed",
        said(A[name], 1, y))
    end
  end)
end)
