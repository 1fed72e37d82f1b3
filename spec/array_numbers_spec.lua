-- array_numbers_spec.lua - operations of arrays with numbers, and the least and
-- greatest of two.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array

local nan, huge = 0 / 0, math.huge
local reals = {"half", "float", "double"}
if not lze.device().fp64 then reals[3] = nil end

-- Compares bits: signs of zeros count, NaN equals NaN.
local function same(want, a)
  local got = a:read()
  assert.equal(#want, #got)
  for i, w in ipairs(want) do
    local g = got[i]
    if g ~= w and (g == g or w == w) or g == 0 and 1 / g ~= 1 / w then
      error(("element %d is %s, not %s"):format(i, g, w), 2)
    end
  end
end

describe("arrays and numbers", function()
  it("list the places of few, many and all elements", function()
    for _, n in ipairs {1, 2, 63, 4095, 4096, 8192, 20001} do
      local x = A.randint({n}, 1, 100, {type = "int"})
      local list = x:read()
      for _, most in ipairs {0, 1, 50, 99, 100} do
        local places, values = {}, {}
        for i, v in ipairs(list) do
          if v <= most then
            places[#places + 1], values[#values + 1] = i, v
          end
        end
        local mask = x:le(most)
        assert.same(places, mask:nonzero():read())
        assert.same(values, x[mask]:read())
        assert.same(places, (x * mask):nonzero():read())
      end
    end
    assert.same({1, 3}, A("float", {nan, 0.0, -1, -0.0}):nonzero():read())
  end)

  it("divide integers by any integer", function()
    local limits = {char = {-128, 127}, ushort = {0, 65535},
      int = {-0x80000000, 0x7fffffff}, uint = {0, 0xffffffff}}
    for kind, l in pairs(limits) do
      local list = {l[1], l[1] + 1, l[2] - 1, l[2], 0}
      for v = -30, 30 do
        if v >= l[1] then list[#list + 1] = v end
      end
      local wide = A("long", list)
      local a = wide:to(kind)
      local t = A("long", list):read()
      for _, y in ipairs {1, -1, 2, -2, 3, -7, 10, 255, 256, -65537, 0x7fffffff,
        -0x80000000, 1 << 40, math.maxinteger, math.mininteger, 0}
      do
        local q, r = {}, {}
        for i, v in ipairs(t) do
          q[i], r[i] = y == 0 and 0 or v // y, y == 0 and 0 or v % y
        end
        same(A("long", q):to(kind):read(), a // y)
        same(A("long", r):to(kind):read(), a % y)
        same(A("long", r):to(kind):read(), a:remainder(y))
      end
      assert.same((a * 1 // 7):read(), (a // 7):read())
    end
  end)

  it("compare reals with integers that no real equals", function()
    local numbers = {0, 1, -1, 2, (1 << 24) + 1, -(1 << 24) - 1, (1 << 24) + 3,
      (1 << 53) + 1, -(1 << 53) - 1, math.maxinteger, math.mininteger, 257}
    for _, kind in ipairs(reals) do
      local a = A("float", {0, -0.0, 1, -1, 0.5, 2, 3, nan, huge, -huge, 256,
        258, 1 << 24, -(1 << 24), (1 << 24) + 2, (1 << 24) + 4, 0x1p53, -0x1p53,
        0x1p63, -0x1p63}):to(kind)
      for _, n in ipairs(numbers) do
        local want = {eq = {}, ne = {}, lt = {}, le = {}, gt = {}, ge = {}}
        for i, v in ipairs(a:read()) do
          want.eq[i], want.ne[i] = v == n and 1 or 0, v ~= n and 1 or 0
          want.lt[i], want.le[i] = v < n and 1 or 0, v <= n and 1 or 0
          want.gt[i], want.ge[i] = v > n and 1 or 0, v >= n and 1 or 0
        end
        for name, list in pairs(want) do same(list, a[name](a, n)) end
        same(want.gt, A.lt(n, a))
        same(want.le, A.ge(n, a))
        same(want.eq, A.eq(n, a))
      end
    end
  end)

  it("choose the first of equals, and NaN", function()
    for _, kind in ipairs(reals) do
      local x = A(kind, {0.0, -0.0, 1, nan, 2, -huge, nan, 3})
      local y = A(kind, {-0.0, 0.0, nan, 1, 3, huge, nan, 2})
      same({0.0, -0.0, nan, nan, 2, -huge, nan, 2}, x:min(y))
      same({0.0, -0.0, nan, nan, 3, huge, nan, 3}, x:max(y))
      same({0.0, -0.0, 1, nan, 1, 0.0, nan, 1}, x:clamp(0, 1))
      same({0.5, 0.5, 1, nan, 1, 0.5, nan, 1}, x:clamp(0.5, 1))
      same({0, 0, 0, nan, 0, 0, nan, 0}, x:clamp(0, -0.0):abs())
      same({nan, nan, nan, nan, nan, nan, nan, nan}, x:clamp(0, nan))
      same({nan, nan, nan, nan, nan, nan, nan, nan}, x:clamp(nan, 0))
    end
    same({1, 2, 2}, A("int", {0, 2, 5}):clamp(1, 2))
    same({1.5, 2}, A("int", {1, 2}):max(1.5))
  end)

  it("find NaN and infinities among many elements", function()
    for _, n in ipairs {1, 15, 16, 17, 4097} do
      local a = A.rand {n, 3}
      a[{ {}, 2 }] = -huge
      a[{n, 3}] = nan
      local top, bottom = a:max {dim = 1}:read(),
        a:min {dim = 1}:read()
      assert.equal(-huge, top[2])
      assert.equal(-huge, bottom[2])
      assert.is_true(top[3] ~= top[3] and bottom[3] ~= bottom[3])
      assert.is_true(top[1] < 1 and bottom[1] >= 0)
      assert.is_true(a:max():item() ~= a:max():item())
      assert.equal(3 * n, a:argmax():item())
      assert.equal(3 * n, a:argmin():item())
    end
    assert.equal(1, A("float", {nan, 1, nan}):argmax():item())
    local z = A("float", {0.0, -0.0})
    assert.equal(huge, 1 / z:max():item())
    assert.equal(huge, 1 / z:min():item())
  end)
end)
