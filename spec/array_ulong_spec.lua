-- array_ulong_spec.lua - elements of ulong from 2^63 on, which are negative
-- integers in Lua, are positive in all array operations.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array

local high = math.mininteger               -- 2^63
local function ulong(...) return A("ulong", {...}) end
local function one(...) return A("float", {...}) end

-- Returns the results of the expressions of `f`, one operation at a time.
-- Checks that one kernel for each expression gives the same.
local function both_ways(f, ...)
  local apart = {f(...)}
  local fused = {A.fuse(f)(...)}
  for i, a in ipairs(apart) do
    apart[i] = a:eval():read()
    fused[i] = fused[i]:read()
  end
  assert.same(apart, fused)
  return apart
end

describe("arrays of ulong from 2^63 on", function()
  it("compare as unsigned, and exactly with reals", function()
    local got = both_ways(function(u, v)
      return u:lt(v), u:le(v), u:gt(v), u:ge(v), u:eq(v), u:ne(v)
    end, ulong(1, high, -1, 5), ulong(2, 3, high, 5))
    assert.same({{1, 0, 0, 0}, {1, 0, 0, 1}, {0, 1, 1, 0}, {0, 1, 1, 1},
      {0, 0, 0, 1}, {1, 1, 1, 0}}, got)
    local u, f = ulong(high - 1, high, high + 1, 3), A("float", {0x1p63, 0x1p63,
      0x1p63, 3.5})
    got = both_ways(function(x, y)
      return x:lt(y), x:eq(y), y:lt(x), y:ge(x), x:ne(1.5)
    end, u, f)
    assert.same({{1, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 1, 0, 1},
      {1, 1, 1, 1}}, got)
    assert.same({0, 0, 0}, ulong(1, high, -1):lt(0 / 0):read())
  end)

  it("divide and clamp as unsigned", function()
    local got = both_ways(function(u, v)
      return u // v, u % v, u:max(v), u:min(v), u:clamp(3, 9), u:abs(),
        u:sign(), u // 10
    end, ulong(-1, high, -2, 7, -1), ulong(10, 3, -1, -1, 0))
    assert.same({
      {1844674407370955161, 3074457345618258602, 0, 0, 0}, {5, 2, -2, 7, 0},
      {-1, high, -1, -1, -1}, {10, 3, -2, 7, 0}, {9, 9, 9, 7, 9},
      {-1, high, -2, 7, -1}, {1, 1, 1, 1, 1},
      {1844674407370955161, 922337203685477580, 1844674407370955161, 0,
        1844674407370955161}}, got)
  end)

  it("convert to reals, and reals convert to them", function()
    local u = ulong(high, -1, 3)
    local got = both_ways(function(x, y)
      return x / 2, x * y, x + 0.5, x:sqrt(), x:to "float",
        A.where(y:gt(0), x, y), (x + 1) * 1.0
    end, u, one(1, 1, 1))
    assert.same({{0x1p62, 0x1p63, 1.5}, {0x1p63, 0x1p64, 3},
      {0x1p63, 0x1p64, 3.5}, {3037000448.0, 0x1p32, 1.7320507764816284},
      {0x1p63, 0x1p64, 3}, {0x1p63, 0x1p64, 3},
      {0x1p63, 0, 4}}, got)
    assert.same({high, high + (1 << 40), 3, -1, -3},
      A("float", {0x1p63, 0x1p63 + 0x1p40, 3.9, 0x1p64, -3.5}):to "ulong"
        :read())
    local f = A.zeros {3}
    f:set(u)
    assert.same({0x1p63, 0x1p64, 3}, f:read())
    assert.same({0x1p63, 0x1p64, 3, 1}, A.cat {u, one(1)}:read())
    assert.same({0x1p63, 0x1p64, 3}, A("float", u):read())
  end)

  it("round to float once", function()
    -- Halfway between two floats, and a little more.
    local u = ulong(high + (1 << 39), high + (1 << 39) + 1)
    assert.same({0x1p63, 0x1p63 + 0x1p40}, u:to "float":read())
  end)

  it("are summed, ordered and multiplied as unsigned", function()
    local u = ulong(high, 1, -1)
    assert.equal(3, u:argmax():item())
    assert.equal(2, u:argmin():item())
    assert.same({high, high, -1}, u:cummax():read())
    assert.same({1, high, -1}, u:sort():read())
    assert.equal(0x1.8p64, u:dot(one(1, 1, 1)):item())
    assert.same({0x1.8p64}, A("ulong", {{high, 1, -1}}):mv(one(1, 1, 1)):read())
    assert.same({0x1.8p64},
      A("ulong", {{high, 1, -1}}):mm(A("float", {{1}, {1}, {1}})):read())
    assert.same({0x1p63, 0x1p64}, u:conv1d(one(1, 1)):read())
    assert.same({0x1p63, 1, 0x1p64}, u:outer(one(1)):read())
    assert.equal(0x1p63, u:mean():item())
    assert.matches("9223372036854775808", tostring(u))
  end)
end)
