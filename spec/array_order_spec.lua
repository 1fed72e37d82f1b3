-- array_order_spec.lua - arrays: sorting and related functions, compared with
-- plain Lua loops.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local inside = require "spec.support.inside"
local math = math

local kinds = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "bfloat16", "float"}
local fp64 = lze.device().fp64
if fp64 then kinds[#kinds + 1] = "double" end
-- Kernels that are compiled for each type are tested with some types only.
local some = {"char", "uint", "ulong", "half", "bfloat16", "float"}
local wide = fp64 and "double" or "float"
if fp64 then some[#some + 1] = "double" end
local reals = {half = true, bfloat16 = true, float = true, double = true}
local nan, inf = 0 / 0, math.huge

local said = require "spec.support.expect".said

-- Returns numbers of a type, including duplicates and extreme values.
local function numbers(kind, n)
  local special = {nan, inf, -inf, 0.0, -0.0, 1.5, -1.5, -nan}
  local ends = {char = {-128, 127}, uchar = {0, 255}, short = {-32768, 32767},
    ushort = {0, 65535}, int = {-1 << 31, (1 << 31) - 1},
    uint = {0, (1 << 32) - 1}, long = {math.mininteger, math.maxinteger},
    ulong = {-1, math.mininteger}}
  local list = {}
  for i = 1, n do
    local v = math.random(kind:sub(1, 1) == "u" and 0 or -50, 50)
    if reals[kind] then
      v = math.random(8) == 1 and special[math.random(#special)] or v + 0.0
    elseif math.random(8) == 1 then
      v = ends[kind][math.random(2)]
    end
    list[i] = v
  end
  return list
end

-- Returns the comparison function of a stable sort.
local function comes_before(kind, descending)
  return function(x, y)
    if x ~= x or y ~= y then return x == x end
    if descending then x, y = y, x end
    if kind == "ulong" then return math.ult(x, y) end
    return x < y
  end
end

-- Returns the indices of a list in sorted order.
local function order(list, before)
  local places = {}
  for i = 1, #list do places[i] = i end
  table.sort(places, function(p, q)
    local x, y = list[p], list[q]
    if before(x, y) then return true end
    if before(y, x) then return false end
    return p < q
  end)
  return places
end

local function pick(list, places)
  local picked = {}
  for i, p in ipairs(places) do picked[i] = list[p] end
  return picked
end

-- Compares including the sign of 0; NaN equals NaN.
local function same_numbers(expected, got)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do
    local g = got[i]
    if not (v == g and (v ~= 0 or 1 / v == 1 / g) or v ~= v and g ~= g) then
      error(("element %d is %s, not %s"):format(i, g, v), 2)
    end
  end
end

-- Returns the lines of an array along a dimension, as lists of element indices.
local function lines(shape, d)
  local inner, outer = 1, 1
  for e = 1, d - 1 do outer = outer * shape[e] end
  for e = d + 1, #shape do inner = inner * shape[e] end
  local all = {}
  for o = 0, outer - 1 do
    for i = 1, inner do
      local line = {}
      for k = 0, shape[d] - 1 do
        line[k + 1] = (o * shape[d] + k) * inner + i
      end
      all[#all + 1] = line
    end
  end
  return all
end

-- Checks that a is sorted correctly along d.
local function check_sorted(a, d, descending)
  local list, shape = a:read(), a.shape
  local values, places = {}, {}
  for _, line in ipairs(lines(shape, d)) do
    local own = pick(list, line)
    local there = order(own, comes_before(a.type, descending))
    for k, p in ipairs(there) do
      values[line[k]], places[line[k]] = own[p], p
    end
  end
  local o = {dim = d, descending = descending}
  local sorted, at = a:sort(o), a:argsort(o)
  assert.equal(a.type, sorted.type)
  assert.equal("long", at.type)
  assert.same(shape, sorted.shape)
  assert.same(shape, at.shape)
  same_numbers(values, sorted:read())
  same_numbers(places, at:read())
  same_numbers(list, a:read())
end

describe("lze.array", function()
  setup(function() math.randomseed(5) end)

  it("sorts short rows of all types", function()
    for _, kind in ipairs(kinds) do
      for _, n in ipairs {1, 2, 31, 33, 500} do
        check_sorted(A(kind, numbers(kind, n)), 1)
      end
      check_sorted(A(kind, numbers(kind, 70)), 1, true)
      local a = A(kind, numbers(kind, 5 * 40 * 3)):reshape {5, 40, 3}
      for d = 1, 3 do check_sorted(a, d, d == 2) end
    end
  end)

  it("sorts long rows of all types", function()
    for _, kind in ipairs(kinds) do
      check_sorted(A(kind, numbers(kind, 9001)), 1)
      check_sorted(A(kind, numbers(kind, 9001)), 1, true)
    end
    for _, kind in ipairs {"float", "int", "uchar", "long"} do
      local a = A(kind, numbers(kind, 3 * 4100)):reshape {3, 4100}
      check_sorted(a, 2)
      check_sorted(a:t(), 1, true)
    end
    -- Several pieces and passes, none of which can be skipped.
    local wide = {}
    for i = 1, 20000 do wide[i] = math.random(0) end
    check_sorted(A("long", wide), 1)
    check_sorted(A("ulong", wide), 1)
    -- All equal: nothing needs to move.
    check_sorted(A("int", 5000):fill(3), 1)
    check_sorted(A("float", 5000):fill(nan), 1)
  end)

  it("merges rows that are longer than a work-item's share", function()
    local list = {}
    for i = 1, 13000 do list[i] = math.random(500) end
    local by = function(x, y) return x % 100 < y % 100 end
    same_numbers(pick(list, order(list, by)),
      A("int", list):sort{by = by}:read())
    local at = A("int", list):argsort {by = by}
    same_numbers(order(list, by), at:read())
  end)

  it("sorts views, broadcast arrays, and empty and single-element arrays",
  function()
    local a = A("float", numbers("float", 120)):reshape {4, 5, 6}
    local v = a[{ {-1, 1, -1}, {2, 4}, {6, 1, -2} }]
    for d = 1, 3 do check_sorted(v, d) end
    check_sorted(a:permute(2, 3, 1), 3)
    check_sorted(A("int", {3, 1, 2}):expand {2, 3}, 2)
    check_sorted(A("int", {3, 1, 2}):expand {2, 3}, 1)
    check_sorted(A.zeros {0}, 1)
    check_sorted(A.zeros {3, 0}, 1)
    check_sorted(A.zeros {3, 0}, 2)
    local one = A("int", {7}):reshape {}
    assert.equal(7, one:sort():item())
    assert.equal(1, one:argsort():item())
    assert.same({}, one:argsort().shape)
    assert.same({{1, 3}, {2, 4}},
      A("int", {{3, 1}, {2, 4}}):sort():table())
    assert.is_true(inside(A("int", {1, 2}):gt(1):sort()).mask)
    local x = A("int", {3, 1, 2})
    x:sort():set(0)
    same_numbers({3, 1, 2}, x:read())
    assert.are_not.equal(x.shape, x:sort().shape)
  end)

  it("sorts by the program's functions", function()
    for _, kind in ipairs {"ulong", "half", "float"} do
      local list = {}
      for i = 1, 300 do list[i] = math.random(0, 100) end
      local function by(x, y) return x % 8 > y % 8 end
      local expected = pick(list, order(list, by))
      same_numbers(expected, A.sort(A(kind, list), {by = by}):read())
    end
    local target = 10
    local near = function(x, y)
      return math.abs(x - target) < math.abs(y - target)
    end
    local x = A("float", {{1, 12, 9}, {30, 10, 3}})
    assert.same({{9, 12, 1}, {10, 3, 30}}, x:sort {by = near}:table())
    target = 1
    assert.same({{1, 9, 12}, {3, 10, 30}}, x:sort {by = near}:table())
    assert.same({{1, 2, 2}, {2, 1, 1}}, x:argsort {by = near, dim = 1}:table())
    assert.equal("sort: argument 2 (options): by: function expected, got " ..
      "boolean",
      said(x.sort, x, {by = true}))
    assert.equal("sort: argument 2 (options): by and descending: by says the "
      .. "order",
      said(x.sort, x, {by = near, descending = true}))
    assert.matches("a table is made here", said(x.sort, x,
      {by = function(p, q) return {p} < {q} end}))
  end)

  it("refuses functions that do not return which element comes first",
  function()
    local expected = ": argument 2 (options): by: a function that gives true "
      .. "or false expected, it gives "
    for what, by in pairs {
      ["a number"] = function(x, y) return x - y end,
      ["nil"] = function() end,
      ["values of several types"] = function(x, y)
        if x < y then return true end
      end,
      ["a string"] = function() return "yes" end,
    } do
      for _, kind in ipairs {"int", "float"} do
        local x = A(kind, {3, 1, 2})
        local gives = what ~= "a number" and what or
          kind == "int" and "an integer" or "a real"
        assert.equal("sort" .. expected .. gives, said(x.sort, x, {by = by}))
        assert.equal("argsort" .. expected .. gives,
          said(x.argsort, x, {by = by}))
        assert.equal("filter: argument 1 (f): a function that gives true or "
          .. "false expected, it gives an integer",
          said(A.filter, function(v) return v // 1 | 0 end, x))
      end
    end
  end)

  it("puts NaN as the program's function orders it", function()
    local x = A("float", {3, 0 / 0, 1, 0 / 0, 2})
    assert.same({3, 5, 1, 2, 4}, x:argsort {by = function(p, q)
      return p < q or p == p and q ~= q
    end}:read())
    assert.same({2, 4, 1, 5, 3}, x:argsort {by = function(p, q)
      return p > q or p ~= p and q == q
    end}:read())
  end)

  it("returns the largest and the smallest elements", function()
    for _, kind in ipairs(kinds) do
      local list = numbers(kind, 60)
      local a = A(kind, list):reshape {3, 20}
      for _, d in ipairs {1, 2} do
        for _, largest in ipairs {true, false} do
          local values, at = a:topk(3, {dim = d, largest = largest})
          local range = d == 1 and {{1, 3}, {}} or {{}, {1, 3}}
          local o = {dim = d, descending = largest}
          same_numbers(a:sort(o)[range]:read(), values:read())
          same_numbers(a:argsort(o)[range]:read(), at:read())
          assert.equal(kind, values.type)
        end
      end
    end
    local x = A("int", {3, 9, 7})
    local values, at = A.topk(x, 2)
    same_numbers({9, 7}, values:read())
    same_numbers({2, 3}, at:read())
    assert.same({0}, x:topk(0).shape)
    assert.equal("topk: argument 2 (k): an integer of 0 to 3 expected, got 4",
      said(x.topk, x, 4))
    assert.equal("topk: argument 2 (k): an integer of 0 to 3 expected, got nil",
      said(x.topk, x))
    assert.equal("topk: argument 3 (options): largest: true or false " ..
      "expected, got integer 1",
      said(x.topk, x, 1, {largest = 1}))
  end)

  it("returns each distinct element, and its count", function()
    for _, kind in ipairs(some) do
      for _, n in ipairs {1, 60, 5000} do
        local list = numbers(kind, n)
        local places = order(list, comes_before(kind))
        local values, counts = {}, {}
        for _, p in ipairs(places) do
          local v, last = list[p], values[#values]
          if #values > 0 and (v == last or v ~= v and last ~= last) then
            counts[#counts] = counts[#counts] + 1
          else
            values[#values + 1], counts[#counts + 1] = v, 1
          end
        end
        local got, often = A(kind, list):unique {counts = true}
        assert.equal(kind, got.type)
        same_numbers(values, got:read())
        same_numbers(counts, often:read())
      end
    end
    local x = A("int", {{3, 1}, {1, 3}})
    same_numbers({1, 3}, x:t():unique():read())
    assert.equal(1, select("#", x:unique()))
    local none, often = A.zeros({0, 2}):unique {counts = true}
    assert.same({0}, none.shape)
    assert.same({0}, often.shape)
    assert.equal("unique: argument 2 (options): unknown option count; there " ..
      "are counts, inverse, index",
      said(x.unique, x, {count = true}))
  end)

  it("finds insertion places in sorted elements", function()
    for _, kind in ipairs(some) do
      local before = comes_before(kind)
      local list = numbers(kind, 70)
      local sorted = pick(list, order(list, before))
      local wanted = numbers(kind, 60)
      local left, right = {}, {}
      for i, v in ipairs(wanted) do
        left[i], right[i] = 1, 1
        for p, s in ipairs(sorted) do
          if before(s, v) then left[i] = p + 1 end
          if not before(v, s) then right[i] = p + 1 end
        end
      end
      local a = A(kind, sorted)
      local v = A(kind, wanted):reshape {6, 10}
      local got = a:searchsorted(v)
      assert.equal("long", got.type)
      assert.same({6, 10}, got.shape)
      same_numbers(left, got:read())
      same_numbers(right, a:searchsorted(v, {right = true}):read())
    end
    local x = A("uchar", {1, 3, 3, 5})
    assert.same({}, x:searchsorted(3).shape)
    assert.equal(2, x:searchsorted(3):item())
    assert.equal(4, x:searchsorted(3, {right = true}):item())
    assert.equal(5, x:searchsorted(259):item())
    assert.equal(4, x:searchsorted(3.5):item())
    local far = A("long", {(1 << 53) - 1, 1 << 53, (1 << 53) + 1})
    assert.equal(2, far:searchsorted(2.0^53):item())
    assert.equal(3, far:searchsorted(2.0^53, {right = true}):item())
    assert.equal(1, x:searchsorted(-1):item())
    same_numbers({1, 5}, x:searchsorted {0, 9}:read())
    same_numbers({2, 4}, x[{{-1, 1, -1}}]:sort()
      :searchsorted(A("float", {2.5, 4})):read())
    if fp64 then -- 2^24 + 1 is not a float
      same_numbers({1}, A("int", {(1 << 24) + 1})
        :searchsorted(A("float", {1 << 24})):read())
    end
    same_numbers({1, 1}, A.zeros({0}):searchsorted {1, 2}:read())
    assert.same({0}, x:searchsorted({}).shape)
    assert.equal("searchsorted: argument 1 (a): one dimension expected, got 2",
      said(A.searchsorted, A.zeros {2, 2}, 1))
    assert.equal("searchsorted: argument 2 (values): array expected, got nil",
      said(x.searchsorted, x))
    assert.equal("searchsorted: long with ulong has no type for its results; "
      .. "use :to", said(A.searchsorted, A("long", 1), A("ulong", 1)))
  end)

  it("counts the elements of each bin", function()
    local function check(a, bins, o)
      local counts, edges = a:histogram(bins, o)
      assert.equal("long", counts.type)
      assert.same({bins}, counts.shape)
      assert.same({bins + 1}, edges.shape)
      local e, expected = edges:read(), {}
      for b = 1, bins do expected[b] = 0 end
      for _, v in ipairs(a:read()) do
        if a.type == "ulong" and v < 0 then v = v + 0x1p64 end
        for b = 1, bins do
          if v >= e[b] and (v < e[b + 1] or b == bins and v == e[b + 1]) then
            expected[b] = expected[b] + 1
          end
        end
      end
      same_numbers(expected, counts:read())
      return counts, edges
    end
    for _, kind in ipairs(some) do
      local list = {}
      for i = 1, 700 do list[i] = math.random(0, 100) end
      local a = A(kind, list)
      for _, bins in ipairs {1, 3, 10, 64} do check(a, bins) end
      local counts, edges = check(a:reshape {70, 10}:t()[{{2, 9, 3}}], 7,
        {low = 10, high = 90})
      assert.equal(10, edges[1])
      assert.equal(90, edges[8])
      assert.is_true(counts:read()[1] > 0)
    end
    local bytes = {}
    for i = 1, 20000 do bytes[i] = math.random(-128, 127) end
    for kind, least in pairs {char = -128, uchar = 0} do
      local a = A("char", bytes):to(kind)
      for _, bins in ipairs {1, 5, 255, 256, 300} do
        check(a, bins)
        check(a, bins, {low = least, high = least + 256})
        check(a, bins, {low = least + 0.5, high = least + 99.5})
      end
      check(a, 4, {low = -1e9, high = 1e9})
      check(a, 4, {low = 1e3, high = 1e9})
      check(a[{{-1, 1, -3}}], 7)
    end
    local list = {}
    for i = 1, 20000 do list[i] = math.random() end
    check(A("float", list), 13)
    check(A("float", list), 10, {low = 0.1})
    check(A("float", list), 10, {high = 0.7})
    for bins = 1, 40 do -- many of these have elements at their edges
      for _, kind in ipairs {"float", wide} do
        local x = A.linspace(0, 1, 61, {type = kind})
        check(x, bins)
        check(x, bins, {low = 0.1, high = 0.7})
      end
    end
    check(A.linspace(0, 0.9, 10), 10, {low = 0, high = 1})
    check(A("float", {-0x1p127, 0x1p127, inf, -inf, nan}), 3,
      {low = 0, high = 1})
    local counts, edges = A("float", {1, 2, 3, 4, 4}):histogram(3)
    same_numbers({1, 1, 3}, counts:read())
    same_numbers({1, 2, 3, 4}, edges:read())
    assert.equal("float", edges.type)
    check(A("float", {nan, inf, -inf, 1, 2}), 2, {low = 0, high = 2})
    same_numbers({0, 2}, A("int", {3, 3}):histogram(2):read())
    same_numbers({0, 0}, A.zeros({0}):histogram(2):read())
    same_numbers({1, 1}, A("long", {5, (1 << 60) + 1}):histogram(2):read())
    check(A("uint", {0, 5, (1 << 32) - 1, 1 << 31}), 3)
    check(A("int", {-1 << 31, 5, (1 << 31) - 1}), 3)
    if fp64 then
      local long = check(A("ulong", {0, -1, 5, math.mininteger}), 2)
      same_numbers({2, 2}, long:read())
      local big = A("long", {1 << 40, (1 << 40) + 1, (1 << 40) + 2})
      same_numbers({1, 1, 1}, big:histogram(3):read())
      local x = A("float", {1e6, 1e6 + 0.5, 1e6 + 1})
      local _, fine = check(x, 100)
      assert.equal("double", fine.type)
    end
    local x = A("float", {1, 2, nan})
    assert.equal("histogram: argument 1 (a): there are elements that are " ..
      "not finite; give low and high", said(x.histogram, x, 2))
    assert.equal("histogram: argument 3 (options): low below high expected, "
      .. "got 2 and 1",
      said(x.histogram, x, 2, {low = 2, high = 1}))
    for _, n in ipairs {0, 1 << 31} do
      assert.equal("histogram: argument 2 (bins): an integer of 1 to " ..
        "2147483647 expected, got " .. n, said(x.histogram, x, n))
    end
    assert.equal("histogram: argument 3 (options): low: a finite number " ..
      "expected, got nan",
      said(x.histogram, x, 2, {low = nan}):gsub("%-nan", "nan"), nil)
    assert.matches("are too narrow$", said(x.histogram, x, 2,
      {low = 0x1p60, high = 0x1p60 + 256}))
    if lze.device().fp64 then
      assert.same({1, 1, 1, 1}, (A("float", {0, 2.6e-39, 5.1e-39, 1e-38})
        :histogram(4)):read())
      local tiny = A("double", {0, 2e-311, 1e-310})
      assert.matches("are too narrow$", said(tiny.histogram, tiny, 4))
    end
  end)

  it("filters by the program's functions", function()
    local limit = 5
    local above = function(v) return v > limit end
    for _, kind in ipairs {"short", "ulong", "half", "float"} do
      local list = {}
      for i = 1, 5000 do list[i] = math.random(0, 9) end
      local expected = {}
      for _, v in ipairs(list) do
        if v > limit then expected[#expected + 1] = v end
      end
      local got = A.filter(above, A(kind, list))
      assert.equal(kind, got.type)
      same_numbers(expected, got:read())
    end
    local x = A("float", {{1, 9}, {7, 3}})
    same_numbers({9, 7}, A.filter(above, x):read())
    same_numbers({7, 9}, A.filter(above, x:t()):read())
    limit = 8
    same_numbers({9}, A.filter(above, x):read())
    assert.same({0}, A.filter(above, A.zeros {2, 0}).shape)
    assert.matches("^filter: argument 1 %(f%): function expected, got ",
      said(A.filter, x, above))
    assert.equal("filter: argument 2 (x): array expected, got nil",
      said(A.filter, above))
    assert.equal("filter: argument 3: nothing more expected, got table",
      said(A.filter, above, x, {dim = 1}))
    assert.matches("a table is made here",
      said(A.filter, function(v) return #{v} == 1 end, x))
  end)

  it("names unknown options and wrong arguments", function()
    local x = A("float", {{1, 2}, {3, 4}})
    assert.equal("sort: argument 1 (a): array expected, got nil", said(A.sort))
    assert.equal("sort: argument 2 (options): unknown option reverse; there "
      .. "are dim, descending, by",
      said(x.sort, x, {reverse = true}))
    assert.equal("sort: argument 2 (options): dim: a dimension of 1 to 2 " ..
      "expected, got 3",
      said(x.sort, x, {dim = 3}))
    assert.equal("argsort: argument 2 (options): descending: true or false " ..
      "expected, got string 'yes'", said(x.argsort, x, {descending = "yes"}))
    assert.equal("sort: argument 2 (options): a table expected, got integer 1",
      said(x.sort, x, 1))
    assert.equal("topk: argument 3 (options): a table expected, got integer 2",
      said(x.topk, x, 1, 2))
    assert.equal("searchsorted: argument 2 (values): number 1e+300 does not "
      .. "fit float",
      said(A.searchsorted, A("float", {1, 2}), 1e300))
  end)
end)
