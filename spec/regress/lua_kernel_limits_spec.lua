-- lua_kernel_limits_spec.lua - values that a Lua kernel cannot represent, which
-- it once mistook for others.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local math, w = math, lze.work

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

describe("a Lua kernel", function()
  it("treats nil as equal to nil but not to any number", function()
    local function same(a, b) return a == b and 1 or 0 end
    local function f(i, x, y)
      local v, u = x[i + 5], x[i + 7]
      if v == u then y[1] = 1 else y[1] = 2 end
      if v == x[i] then y[2] = 1 else y[2] = 2 end
      if x[i] ~= u then y[3] = 1 else y[3] = 2 end
      local p, q
      if #x > 5 then p = x[i] end
      if #x > 1 then q = x[2] end
      y[4] = p == q and 1 or 0
      q = p
      y[5] = p == q and 1 or 0
      y[6] = same(x[i - 1], x[i + 2]) * 10 + same(x[i], x[i + 1]) +
        same(x[i], p)
      if x[1] == x[2] then y[7] = 1 else y[7] = 2 end
      if x[i] == i then y[8] = 1 else y[8] = 2 end
    end
    local x, y = lze.buffer("int", {0, 0}), lze.buffer("int", 8)
    local want = {}
    for i = 1, 8 do want[i] = 0 end
    f(1, {0, 0}, want)
    lze.kernel(f)(1, x, y)
    assert.same(want, y:read())
  end)

  it("needs no buffer size to compare an element with a number", function()
    local text = lze.spirv.disassemble(lze.kernel(function(i, x, n)
      if x[i] == n or x[i] == 7 or x[i] == i * 2 then x[i] = 0 end
    end):spirv "int *x, int n")
    assert.is_nil(text:find "size1_1_1")
    assert.is_nil(text:find "x.length")
  end)

  it("refuses indices that do not fit its 32-bit integers", function()
    local y = lze.buffer("long", 1)
    local k = lze.kernel(function(i, y) y[1] = i end, {int = "int"})
    local own = lze.kernel(function(y) y[1] = w.global_id(2) end, {int = "int"})
    k({1, offset = (1 << 31) - 2}, y)
    assert.equal((1 << 31) - 1, y[1])
    local message = "the last index of the range is 2147483648, and integers "
      .. 'of 32 bits (int = "int") end at 2147483647'
    assert.matches(message, said(k, {1, offset = (1 << 31) - 1}, y), 1, true)
    assert.matches(message, said(k, 1 << 31, y), 1, true)
    assert.matches(message, said(own, {1, 1, offset = {0, (1 << 31) - 1}}, y),
      1, true)
    own({1, 1, offset = {(1 << 31) - 2, 5}}, y)
    assert.equal(6, y[1])
  end)

  it("refuses constants that do not fit its reals", function()
    local big = 1e308
    local y = lze.buffer("float", 1)
    assert.matches("number 1e+308 does not fit float",
      said(lze.kernel(function(_, y) y[1] = big end), 1, y), 1, true)
    local ok, err = pcall(lze.kernel(function(_, y) y[1] = 1e308 end), 1, y)
    assert.is_false(ok)
    assert.matches("1e+308 does not fit float, which this kernel's reals are",
      tostring(err), 1, true)
    lze.kernel(function(_, y) y[1] = 0x1.fffffep127 + 1e-300 end)(1, y)
    assert.equal(0x1.fffffep127, y[1])
    lze.kernel(function(_, y) y[1] = math.huge end)(1, y)
    assert.equal(math.huge, y[1])
  end)
end)
