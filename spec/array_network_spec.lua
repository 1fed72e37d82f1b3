-- array_network_spec.lua - sorting short rows.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array

local nan, huge = 0 / 0, math.huge
local random = math.random

-- Returns true if x comes before y.
local function before(x, y, descending)
  if x ~= x or y ~= y then return x == x and y ~= y end
  if descending then return x > y end
  return x < y
end

-- Returns the indices that sort a list, equal elements in their order.
local function order_of(list, descending)
  local order = {}
  for i = 1, #list do order[i] = i end
  table.sort(order, function(i, j)
    if before(list[i], list[j], descending) then return true end
    return not before(list[j], list[i], descending) and i < j
  end)
  return order
end

-- Distinguishes zeros and compares NaNs.
local function is_same(x, y)
  if x ~= x then return y ~= y end
  return x == y and (x ~= 0 or 1 / x == 1 / y)
end

local function check(kind, rows, n, make)
  local list = {}
  for i = 1, rows * n do list[i] = make() end
  local a = A(kind, list)
  if n > 0 then list = a:read() end
  a = a:reshape {rows, n}
  for _, descending in ipairs {false, true} do
    local sorted = a:sort {descending = descending}
    local order = a:argsort {descending = descending}
    assert.same({rows, n}, sorted.shape)
    assert.equal(kind, sorted.type)
    assert.equal("long", order.type)
    sorted, order = sorted:read(), order:read()
    for r = 0, rows - 1 do
      local row = table.move(list, r * n + 1, r * n + n, 1, {})
      for p, from in ipairs(order_of(row, descending)) do
        local got = sorted[r * n + p]
        if order[r * n + p] ~= from or not is_same(row[from], got) then
          error(("%s {%d, %d}: row %d, element %d is %s, index %d, not %s, %d")
            :format(kind, rows, n, r + 1, p, got, order[r * n + p], row[from],
              from), 2)
        end
      end
    end
  end
end

describe("short rows", function()
  it("of any length and number are sorted", function()
    math.randomseed(7)
    for _, n in ipairs {1, 2, 3, 7, 8, 9, 31, 33, 64, 100, 1025} do
      for _, rows in ipairs {1, 3, 4, 16, 17, 40} do
        if n < 1000 or rows < 5 then
          check("float", rows, n, function() return random(-n, n) / 4 end)
        end
      end
    end
    check("float", 2, 4095, function() return random() end)
    assert.same({3, 0}, A.zeros({3, 0}):sort().shape)
    assert.same({0, 3}, A.zeros({0, 3}):argsort().shape)
  end)

  it("of all types are sorted, limits included", function()
    local limits = {char = {-128, 127}, uchar = {0, 255},
      short = {-32768, 32767}, ushort = {0, 65535},
      int = {-0x80000000, 0x7fffffff}, uint = {0, 0xffffffff},
      long = {math.mininteger, math.maxinteger}}
    for kind, l in pairs(limits) do
      check(kind, 18, 50, function()
        local v = random(4)
        return v < 3 and l[v] or random(math.max(l[1], -5), 5)
      end)
    end
    assert.same({3, (1 << 63) - 1, 1 << 63, -1}, A("ulong", {-1, 1 << 63, 3,
      (1 << 63) - 1}):reshape {1, 4}:sort():read())
  end)

  it("keep the order of zeros, and of NaNs behind all others", function()
    local values = {0.0, -0.0, nan, -nan, huge, -huge, 1, -1, 0.5}
    local kinds = {"half", "bfloat16", "float"}
    if lze.device().fp64 then kinds[4] = "double" end
    for _, kind in ipairs(kinds) do
      check(kind, 20, 37, function() return values[random(#values)] end)
      check(kind, 1, 300, function() return values[random(#values)] end)
      check(kind, 5, 9, function() return values[random(4)] end)
      check(kind, 5, 9, function() return -0.0 end)
      check(kind, 5, 9, function() return nan end)
    end
    local bits = A("int", {0x7fc00001, 0, -0x400000, 5, 0x7fc00002})
    local a = A("float", bits.buffer:view(1, 5, "float"), {1, 5})
    local got = a:sort().buffer
    assert.same({0, 5, 0x7fc00001, -0x400000, 0x7fc00002},
      got:view(1, 5, "int"):read())
  end)

  it("are sorted along any dimension, and in views", function()
    local a = A.rand {9, 20, 11}
    for d = 1, 3 do
      local got = a:sort {dim = d}
      assert.same(a.shape, got.shape)
      local last = got:moveaxis(d, 3):clone()
      local n = last.shape[3]
      assert.equal(1, last[{ {}, {}, {2, -1} }]:ge(
        last[{ {}, {}, {1, n - 1} }]):all():item())
      assert.same(got:read(), a:gather(a:argsort {dim = d}, d):read())
    end
    local v = a[{ {}, {-1, 2, -3}, {2, 9} }]
    assert.same(v:clone():sort():read(), v:sort():read())
  end)
end)

describe("the first elements of long lists", function()
  -- Compares them with those of the sorted list.
  local function check_first(a, k, largest)
    local values, places = a:topk(k, {largest = largest})
    local order = a:argsort {descending = largest}[{ {1, k} }]
    assert.same(order:read(), places:read())
    local want, got = a:take(order):read(), values:read()
    for i, w in ipairs(want) do assert.is_true(is_same(w, got[i])) end
  end

  it("are found without sorting all", function()
    for _, kind in ipairs {"float", "int", "ulong", "double"} do
      if kind ~= "double" or lze.device().fp64 then
        local a = A.randint({20000}, 0, 3000, {type = kind})
        for _, k in ipairs {1, 3, 4} do
          check_first(a, k, true)
          check_first(a, k, false)
        end
      end
    end
    check_first(A.randn {70001} * 100, 16, true)
  end)

  it("are the first of equals; NaNs are last", function()
    local a = A.zeros {20001}
    check_first(a, 4, true)
    a[{ {1, 19990} }] = nan
    a[{ {19995, 19996} }] = -0.0
    check_first(a, 4, true)
    check_first(a, 4, false)
    a[{ {1, -1} }] = nan
    check_first(a, 3, true)
    local values, places = A.arange(20000):reshape {1, 20000}:topk(2)
    assert.same({1, 2}, values.shape)
    assert.same({20000, 19999}, places:read())
    values = A.arange(20000):reshape {20000, 1}:topk(2, {dim = 1})
    assert.same({2, 1}, values.shape)
  end)
end)
