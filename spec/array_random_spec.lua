-- array_random_spec.lua - rand, randn, randint, seed.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A, random = lze.array, lze.work.random

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return (tostring(err):gsub("^%S*array_random_spec.lua:%d+: ", ""))
end

local fp64 = lze.device().fp64
local reals = {"half", "bfloat16", "float", fp64 and "double" or nil}

describe("random arrays", function()
  before_each(function() A.seed(0) end)
  after_each(function() A.seed(0) end)

  it("begin with the known answer of Philox4x32-10", function()
    local words = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
    local x = A.rand{4}:read()
    for i, word in ipairs(words) do
      assert.equal((word >> 8) * 2.0 ^ -24, x[i])
    end
    if fp64 then
      A.seed(0)
      local y = A.rand({2}, {type = "double"}):read()
      assert.equal((words[1] << 21 | words[2] >> 11) * 2.0 ^ -53, y[1])
      assert.equal((words[3] << 21 | words[4] >> 11) * 2.0 ^ -53, y[2])
    end
    A.seed(0)
    local z = A.rand({4}, {type = "half"}):read()
    assert.equal((words[1] >> 21) * 2.0 ^ -11, z[1])
    A.seed(0)
    -- The span is a power of two, so it uses the upper bits of the words.
    assert.same({words[1] >> 28, words[3] >> 28},
      A.randint({2}, 0, 15, {type = "uchar"}):read())
  end)

  it("are the words of lze.work.random, call by call", function()
    A.seed(-5)
    local x, y = A.rand{3, 2}:read(), A.rand{5}:read()
    for i = 1, 6 do
      local word = select((i - 1) % 4 + 1, random(-5, (i - 1) // 4))
      assert.equal((word >> 8) * 2.0 ^ -24, x[i])
    end
    for i = 1, 5 do
      local word = select((i - 1) % 4 + 1, random(-5, 2 + (i - 1) // 4))
      assert.equal((word >> 8) * 2.0 ^ -24, y[i])
    end
    A.seed(-5)
    assert.same(x, A.rand{3, 2}:read())
  end)

  it("are at least 0 and below 1 in every type", function()
    for _, kind in ipairs(reals) do
      local x = A.rand({20, 100}, {type = kind})
      assert.equal(kind, x.type)
      assert.same({20, 100}, x.shape)
      local sum = 0
      for _, v in ipairs(x:read()) do
        assert.is_true(v >= 0 and v < 1)
        sum = sum + v
      end
      assert.is_true(math.abs(sum / 2000 - 0.5) < 0.03)
    end
  end)

  it("are normal by the Box-Muller transform", function()
    local x = fp64 and A.randn({2000}, {type = "double"}):read() or {}
    for i = 1, #x, 2 do
      local a, b, c, d = random(0, i // 2)
      local u = ((a << 21 | b >> 11) + 1) * 2.0 ^ -53
      local t = (c << 21 | d >> 11) * 2.0 ^ -53 * 2 * math.pi
      local r = math.sqrt(-2 * math.log(u))
      assert.is_true(math.abs(x[i] - r * math.cos(t)) < 1e-12)
      assert.is_true(math.abs(x[i + 1] - r * math.sin(t)) < 1e-12)
    end
    for _, kind in ipairs(reals) do
      A.seed(1)
      local sum, squares = 0, 0
      for _, v in ipairs(A.randn({4001}, {type = kind}):read()) do
        sum, squares = sum + v, squares + v * v
      end
      assert.is_true(math.abs(sum / 4001) < 0.05)
      assert.is_true(math.abs(squares / 4001 - 1) < 0.07)
    end
    A.seed(0)
    local single = A.randn{3}:read()
    local a, b = random(0, 0)
    assert.is_true(math.abs(single[1] - math.sqrt(-2 * math.log(((a >> 8) + 1) *
      2.0 ^ -24)) * math.cos((b >> 8) * 2.0 ^ -24 * 2 * math.pi)) < 1e-5)
  end)

  it("are integers of a range, including both ends", function()
    local count = {}
    for _, v in ipairs(A.randint({6000}, -2, 3):read()) do
      assert.equal("integer", math.type(v))
      count[v] = (count[v] or 0) + 1
    end
    for v = -2, 3 do assert.is_true(math.abs(count[v] - 1000) < 150) end
    assert.is_nil(count[-3])
    assert.is_nil(count[4])
    assert.equal("long", A.randint({2}, 1, 2).type)
    for _, kind in ipairs {"char", "uchar", "short", "ushort", "int", "uint",
                           "long", "ulong", "half", "float",
                           fp64 and "double" or nil} do
      local x = A.randint({2, 50}, 1, 3.0, {type = kind})
      assert.equal(kind, x.type)
      for _, v in ipairs(x:read()) do
        assert.is_true(v == 1 or v == 2 or v == 3)
      end
    end
  end)

  it("are 64-bit integers from the upper half of a product", function()
    local low, high = math.mininteger, math.maxinteger
    local a, b = random(0, 0)
    assert.equal(low + (a << 32 | b), A.randint({1}, low, high)[1] + low)
    A.seed(3)
    local span = 3 << 61
    for i, v in ipairs(A.randint({100}, low, low + span - 1):read()) do
      local words = {random(3, (i - 1) // 2)}
      local j = (i - 1) % 2 * 2
      local w = words[j + 1] << 32 | words[j + 2]
      -- w * 3 * 2^61 / 2^64 = w * 3 / 8, with w unsigned.
      local q, r = w >> 3, w & 7
      assert.equal(low + q * 3 + r * 3 // 8, v)
    end
  end)

  it("may be empty or have no dimensions", function()
    assert.same({}, A.rand{0, 3}:read())
    assert.same({}, A.randint({0}, 1, 2):read())
    assert.same({}, A.randn({}).shape)
    assert.equal(5, A.randint({}, 5, 5):item())
  end)

  it("report the wrong argument", function()
    assert.equal("rand: argument 1 (shape): a table of sizes expected, got nil",
      said(A.rand))
    assert.equal("randn: argument 2 (options): type: half, bfloat16, float or "
      .. "double expected, got int; randint gives integers",
      said(A.randn, {2}, {type = "int"}))
    assert.equal("rand: argument 2 (options): unknown option typ; there are " ..
      "type, device",
      said(A.rand, {2}, {typ = 1}))
    assert.equal("randint: argument 3 (high): an integer expected, got nil",
      said(A.randint, {2}, 1))
    assert.equal("randint: argument 2 (low): an integer expected, got 0.5",
      said(A.randint, {2}, 0.5, 1))
    assert.equal("randint: argument 3 (high): 256 is outside 0..255 of uchar",
      said(A.randint, {2}, 0, 256, {type = "uchar"}))
    assert.equal("randint: argument 2 (low): 2 is greater than high, 1",
      said(A.randint, {2}, 2, 1))
    assert.equal("seed: argument 1 (n): an integer expected, got nil",
      said(A.seed))
  end)
end)
