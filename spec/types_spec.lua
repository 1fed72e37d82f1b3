-- types_spec.lua - the values of each element type, bit for bit.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local inf, nan = math.huge, 0 / 0

-- name, alias, bytes, format of string.pack, lowest and highest.
local integers = {
  {"char", "i8", 1, "b", -128, 127},
  {"uchar", "u8", 1, "B", 0, 255},
  {"short", "i16", 2, "h", -32768, 32767},
  {"ushort", "u16", 2, "H", 0, 65535},
  {"int", "i32", 4, "i4", -0x80000000, 0x7fffffff},
  {"uint", "u32", 4, "I4", 0, 0xffffffff},
  {"long", "i64", 8, "i8", math.mininteger, math.maxinteger},
  {"ulong", "u64", 8, "I8", math.mininteger, math.maxinteger},
}
local floats = {
  {"half", "f16", 2},
  {"bfloat16", "bf16", 2},
  {"float", "f32", 4, "f"},
  {"double", "f64", 8, "d"},
}
local scalars = {}
for _, t in ipairs(integers) do scalars[#scalars + 1] = t end
for _, t in ipairs(floats) do scalars[#scalars + 1] = t end

-- Returns true if a and b are the same number; zeros differ by their sign.
local function same(a, b)
  if a ~= a then return b ~= b end
  return a == b and (a ~= 0 or 1 / a == 1 / b) and
    math.type(a) == math.type(b)
end

local function assert_same(a, b, what)
  if not same(a, b) then
    error(("%s: %s expected, got %s"):format(what, a, b), 2)
  end
end

describe("every type", function()
  it("has its name, its alias and its size", function()
    for _, t in ipairs(scalars) do
      for _, name in ipairs {t[1], t[2]} do
        local x = lze.buffer(name, 3)
        assert.equal(t[1], x.type)
        assert.equal(3 * t[3], x.bytes)
        assert.equal(("\0"):rep(3 * t[3]), x:string())
      end
    end
  end)

  it("has vectors; a vector of 3 takes the space of 4", function()
    for _, t in ipairs(scalars) do
      for _, lanes in ipairs {2, 3, 4, 8, 16} do
        local x = lze.buffer(t[1] .. lanes, 2)
        assert.equal(t[1] .. lanes, x.type)
        assert.equal(2 * t[3] * (lanes == 3 and 4 or lanes), x.bytes)
      end
    end
  end)

  it("needs a known name", function()
    local known = "bad argument #1 to 'buffer' (type: one of char uchar " ..
      "short ushort int uint long ulong half bfloat16 float double (or a " ..
      "vector such as float4) expected, got "
    for _, name in ipairs {"floot", "", "float5", "float1", "f32x4", "Float",
                           "i82"} do
      assert.equal(known .. "string '" .. name .. "')",
        expect.misuse(function() lze.buffer(name, 1) end))
    end
    assert.equal(known .. "integer 4)",
      expect.misuse(function() lze.buffer(4, 1) end))
    assert.equal(known .. "nil)",
      expect.misuse(function() lze.buffer() end))
  end)
end)

describe("an integer type", function()
  it("holds its bounds", function()
    for _, t in ipairs(integers) do
      local low, high = t[5], t[6]
      local x = lze.buffer(t[1], {low, high, 0, 1, high // 2, low // 2})
      assert.same({low, high, 0, 1, high // 2, low // 2}, x:read())
      for i = 1, 6 do assert.equal("integer", math.type(x[i])) end
      assert.equal(("<" .. t[4]:rep(2)):pack(low, high), x:string(1, 2))
    end
  end)

  it("refuses values beyond its bounds", function()
    for _, t in ipairs(integers) do
      local name, bytes, low, high = t[1], t[3], t[5], t[6]
      if bytes < 8 then
        local x = lze.buffer(name, {low, high})
        for _, v in ipairs {low - 1, high + 1, math.mininteger} do
          assert.equal(("index 1: %s expected (an integer from %d to %d), " ..
            "got integer %d"):format(name, low, high, v),
            expect.misuse(function() x[1] = v end))
        end
        assert.same({low, high}, x:read())
      end
    end
  end)

  it("accepts a float only if it is an integer", function()
    for _, t in ipairs(integers) do
      local x = lze.buffer(t[1], {7})
      x[1] = 2.0
      assert.equal(2, x[1])
      assert.equal("integer", math.type(x[1]))
      for _, v in ipairs {2.5, inf, -inf, nan, 2.0 ^ 63, -2.0 ^ 64} do
        assert.equal(("index 1: %s expected (an integer from %d to %d), " ..
          "got number %s"):format(t[1], t[5], t[6], v),
          expect.misuse(function() x[1] = v end))
      end
      assert.equal(2, x[1])
    end
  end)

  it("refuses other values", function()
    local x = lze.buffer("int", {7})
    local known = "index 1: int expected (an integer from -2147483648 to " ..
      "2147483647), got "
    assert.equal(known .. "string '2'",
      expect.misuse(function() x[1] = "2" end))
    assert.equal(known .. "nil", expect.misuse(function() x[1] = nil end))
    assert.equal(known .. "boolean", expect.misuse(function() x[1] = true end))
    assert.equal(known .. "table", expect.misuse(function() x[1] = {} end))
    assert.equal(7, x[1])
  end)

  it("of 64 bits holds every Lua integer", function()
    local values = {math.mininteger, math.maxinteger, -1, 0, (1 << 53) + 1,
                    -(1 << 53) - 1}
    for _, name in ipairs {"long", "ulong"} do
      local x = lze.buffer(name, values)
      assert.same(values, x:read())
      for i, v in ipairs(values) do
        assert.equal(("<J"):pack(v), x:string(i, i))
        assert.equal(v, x[i])
      end
    end
  end)
end)

describe("double", function()
  it("holds every number bit for bit", function()
    local values = {0.0, -0.0, 1.5, -1.5, inf, -inf, nan, 2.0 ^ -1074,
                    -2.0 ^ -1074, 2.0 ^ -1022, 0x1.fffffffffffffp1023,
                    2.0 ^ 53, 0.1, math.pi}
    local x = lze.buffer("double", values)
    local back = x:read()
    for i, v in ipairs(values) do
      assert_same(v, back[i], "read " .. i)
      assert_same(v, x[i], "x[" .. i .. "]")
      if v == v then assert.equal(("<d"):pack(v), x:string(i, i)) end
    end
  end)

  it("keeps the payload of a NaN", function()
    local bytes = ("<I8"):pack(0x7ff8000000abcdef)
    local x = lze.buffer("double", bytes)
    local y = lze.buffer("double", x:read())
    assert.equal(bytes, y:string())
  end)

  it("rounds an integer to the nearest number", function()
    local x = lze.buffer("double", {3, math.maxinteger})
    assert_same(3.0, x[1], "3")
    assert_same(2.0 ^ 63, x[2], "2^63 - 1")
  end)
end)

describe("float", function()
  it("holds its numbers bit for bit", function()
    local values = {0.0, -0.0, 1.5, -1.5, inf, -inf, nan, 2.0 ^ -149,
                    -2.0 ^ -149, 2.0 ^ -126, 0x1.fffffep127,
                    -0x1.fffffep127, 16777216.0}
    local x = lze.buffer("float", values)
    local back = x:read()
    for i, v in ipairs(values) do
      assert_same(v, back[i], "read " .. i)
      assert_same(v, x[i], "x[" .. i .. "]")
      if v == v then assert.equal(("<f"):pack(v), x:string(i, i)) end
    end
  end)

  it("rounds to nearest, ties to even", function()
    local x = lze.buffer("float", {16777217, 16777219, 0.1, 2.0 ^ -150,
                                   2.0 ^ -150 * 1.0001, 0x1.fffffefp127})
    assert.same({16777216.0, 16777220.0, 0x1.99999ap-4, 0.0, 2.0 ^ -149,
                 0x1.fffffep127}, x:read())
  end)

  it("refuses finite values that would become infinite", function()
    local x = lze.buffer("float", {7})
    for _, v in ipairs {0x1.ffffffp127, -0x1.ffffffp127, 1e39, -1e300} do
      assert.equal(("index 1: number %s does not fit float"):format(v),
        expect.misuse(function() x[1] = v end))
    end
    assert.equal(7.0, x[1])
  end)
end)

-- Checks that each value is stored as the given bits, and that these bits are
-- read as the third number, or as the value if it is missing.
local function check_bits(name, cases)
  for _, case in ipairs(cases) do
    local value, bits = case[1], case[2]
    local back = case[3] or value
    local x = lze.buffer(name, {value})
    local got = ("<I2"):unpack(x:string())
    if got ~= bits then
      error(("%a is 0x%04x as %s, not 0x%04x"):format(value, got, name, bits))
    end
    assert_same(back * 1.0, x[1], ("%s 0x%04x"):format(name, bits))
  end
end

describe("half", function()
  it("is rounded to nearest, ties to even, in one step", function()
    check_bits("half", {
      {0.0, 0x0000}, {-0.0, 0x8000}, {1, 0x3c00}, {-2, 0xc000},
      {1.5, 0x3e00}, {0.1, 0x2e66, 0x1.998p-4}, {1 / 3, 0x3555, 0x1.554p-2},
      {65504, 0x7bff}, {-65504, 0xfbff},
      {65519, 0x7bff, 65504}, {-65519.99, 0xfbff, -65504},
      {inf, 0x7c00}, {-inf, 0xfc00},
      -- Halfway between 1 and the next number, 1 + 2^-10.
      {1 + 2.0 ^ -11, 0x3c00, 1}, {1 + 3 * 2.0 ^ -11, 0x3c02, 1 + 2.0 ^ -9},
      -- Just above halfway, and just below: rounding to float first would hide
      -- it.
      {1 + 2.0 ^ -11 + 2.0 ^ -40, 0x3c01, 1 + 2.0 ^ -10},
      {1 + 2.0 ^ -11 - 2.0 ^ -40, 0x3c00, 1},
      {1 + 3 * 2.0 ^ -11 - 2.0 ^ -40, 0x3c01, 1 + 2.0 ^ -10},
      -- The carry goes into the exponent.
      {2 - 2.0 ^ -12, 0x4000, 2}, {2 - 2.0 ^ -11, 0x4000, 2},
      -- Denormals.
      {2.0 ^ -14, 0x0400}, {2.0 ^ -24, 0x0001}, {-2.0 ^ -24, 0x8001},
      {1023 * 2.0 ^ -24, 0x03ff},
      {2.0 ^ -14 - 2.0 ^ -25, 0x0400, 2.0 ^ -14},
      {2.0 ^ -25, 0x0000, 0.0}, {-2.0 ^ -25, 0x8000, -0.0},
      {2.0 ^ -25 * 1.000001, 0x0001, 2.0 ^ -24},
      {3 * 2.0 ^ -25, 0x0002, 2.0 ^ -23}, {5 * 2.0 ^ -25, 0x0002, 2.0 ^ -23},
      {2.0 ^ -26, 0x0000, 0.0}, {2.0 ^ -1074, 0x0000, 0.0},
      {-2.0 ^ -1074, 0x8000, -0.0},
    })
  end)

  it("keeps NaN a NaN, with its payload", function()
    local x = lze.buffer("half", {nan})
    assert.is_true(x[1] ~= x[1])
    x = lze.buffer("half", ("<I2I2"):pack(0x7e01, 0xfe2a))
    assert.equal(("<I2I2"):pack(0x7e01, 0xfe2a),
      lze.buffer("half", x:read()):string())
  end)

  it("holds each of its 65,536 patterns", function()
    local bits = {}
    for i = 0, 0xffff do bits[i + 1] = i end
    local x = lze.buffer("ushort", bits):view(1, -1, "half")
    local y = lze.buffer("half", x:read()):view(1, -1, "ushort")
    for i, b in ipairs(y:read()) do
      local quiet = i - 1
      -- A signalling NaN may become the quiet one with its payload.
      if quiet & 0x7c00 == 0x7c00 and quiet & 0x3ff ~= 0 then
        quiet, b = quiet | 0x200, b | 0x200
      end
      if b ~= quiet then
        error(("0x%04x came back as 0x%04x"):format(i - 1, b))
      end
    end
  end)

  it("refuses finite values that would become infinite", function()
    local x = lze.buffer("half", {7})
    for _, v in ipairs {65520.0, -65520.0, 1e300} do
      assert.equal(("index 1: number %s does not fit half"):format(v),
        expect.misuse(function() x[1] = v end))
    end
    assert.equal("index 1: integer 65520 does not fit half",
      expect.misuse(function() x[1] = 65520 end))
    assert.equal("index 1: half expected, got string '1'",
      expect.misuse(function() x[1] = "1" end))
    assert.equal(7.0, x[1])
  end)
end)

describe("bfloat16", function()
  it("is rounded to nearest, ties to even, in one step", function()
    check_bits("bfloat16", {
      {0.0, 0x0000}, {-0.0, 0x8000}, {1, 0x3f80}, {-2, 0xc000},
      {math.pi, 0x4049, 3.140625}, {256, 0x4380}, {257, 0x4380, 256},
      {259, 0x4382, 260}, {inf, 0x7f80}, {-inf, 0xff80},
      {0x1.fep127, 0x7f7f}, {-0x1.fep127, 0xff7f},
      {0x1.feffp127, 0x7f7f, 0x1.fep127},
      {1 + 2.0 ^ -8, 0x3f80, 1}, {1 + 3 * 2.0 ^ -8, 0x3f82, 1 + 2.0 ^ -6},
      {1 + 2.0 ^ -8 + 2.0 ^ -40, 0x3f81, 1 + 2.0 ^ -7},
      {1 + 2.0 ^ -8 - 2.0 ^ -40, 0x3f80, 1},
      {2 - 2.0 ^ -8, 0x4000, 2},
      {2.0 ^ -126, 0x0080}, {2.0 ^ -133, 0x0001}, {-2.0 ^ -133, 0x8001},
      {127 * 2.0 ^ -133, 0x007f}, {127.5 * 2.0 ^ -133, 0x0080, 2.0 ^ -126},
      {2.0 ^ -134, 0x0000, 0.0}, {2.0 ^ -134 * 1.000001, 0x0001, 2.0 ^ -133},
      {3 * 2.0 ^ -134, 0x0002, 2.0 ^ -132}, {-2.0 ^ -1074, 0x8000, -0.0},
    })
  end)

  it("keeps NaN a NaN, with its payload", function()
    local x = lze.buffer("bfloat16", {nan})
    assert.is_true(x[1] ~= x[1])
    x = lze.buffer("bfloat16", ("<I2I2"):pack(0x7fc1, 0xffea))
    assert.equal(("<I2I2"):pack(0x7fc1, 0xffea),
      lze.buffer("bfloat16", x:read()):string())
  end)

  it("refuses finite values that would become infinite", function()
    local x = lze.buffer("bfloat16", {7})
    for _, v in ipairs {0x1.ffp127, -0x1.ffp127, 1e39} do
      assert.equal(("index 1: number %s does not fit bfloat16"):format(v),
        expect.misuse(function() x[1] = v end))
    end
    assert.equal(7.0, x[1])
  end)
end)

describe("a vector type", function()
  it("uses tables as elements", function()
    for _, t in ipairs(scalars) do
      for _, lanes in ipairs {2, 3, 4, 8, 16} do
        local a, b = {}, {}
        for i = 1, lanes do
          a[i], b[i] = i, 100 + i
          if t[5] == nil then a[i], b[i] = a[i] + 0.0, b[i] + 0.0 end
        end
        local x = lze.buffer(t[1] .. lanes, {a, b})
        assert.equal(2, #x)
        assert.same({a, b}, x:read())
        assert.same(b, {table.unpack(x[2])})
        x[1] = b
        assert.same(b, {table.unpack(x[1])})
        x:fill(a, 2, 2)
        assert.same({b, a}, x:read())
      end
    end
  end)

  it("of 3 has a padding lane of zero", function()
    local x = lze.buffer("uchar3", {{1, 2, 3}, {4, 5, 6}})
    assert.equal("\1\2\3\0\4\5\6\0", x:string())
    x:fill({7, 8, 9})
    assert.equal("\7\8\9\0\7\8\9\0", x:string())
    assert.same({7, 8, 9}, {table.unpack(x[1])})
  end)

  it("needs a table of its lanes", function()
    local x = lze.buffer("int2", {{1, 2}})
    assert.equal("index 1: int2 expected (a table of 2), got integer 3",
      expect.misuse(function() x[1] = 3 end))
    assert.equal("index 1: int2 expected (a table of 2), got nil",
      expect.misuse(function() x[1] = nil end))
    assert.equal("index 1: int2 expected (a table of 2), got one of 3",
      expect.misuse(function() x[1] = {1, 2, 3} end))
    local range = "int expected (an integer from -2147483648 to 2147483647)"
    assert.equal("index 1: lane 2: " .. range .. ", got nil",
      expect.misuse(function() x[1] = {1} end))
    assert.equal("index 1: lane 1: " .. range .. ", got number 0.5",
      expect.misuse(function() x[1] = {0.5, 1} end))
    assert.equal("index 1: lane 2: " .. range .. ", got integer 4294967296",
      expect.misuse(function() x[1] = {1, 1 << 32} end))
    assert.same({1, 2}, {table.unpack(x[1])})
    assert.equal("bad argument #2 to 'buffer' (index 2: lane 1: float " ..
      "expected, got string 'x')", expect.misuse(function()
        lze.buffer("float2", {{1, 2}, {"x", 2}})
      end))
  end)
end)
