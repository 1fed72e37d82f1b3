-- lua_kernel_array_spec.lua - arrays in kernels made of Lua functions.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local w = lze.work
local math = math

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

-- Checks that a kernel gives the same result as its function on the host,
-- called for each work-item.
local function same(f, range, make)
  local device, host = make(), make()
  lze.kernel(f)(range, table.unpack(device))
  for i = 1, range[1] do
    for j = 1, range[2] or 1 do
      for k = 1, range[3] or 1 do
        local index = {i, j, k}
        local all = {table.unpack(index, 1, #range)}
        for n = 1, #host do all[#range + n] = host[n] end
        f(table.unpack(all))
      end
    end
  end
  for n = 1, #host do assert.same(host[n]:table(), device[n]:table()) end
end

describe("an array in a Lua kernel", function()
  it("needs as many indices as it has dimensions", function()
    local a, b = A("float", {{1, 2, 3}, {4, 5, 6}}), A.zeros({3, 2})
    lze.kernel(function(i, j, a, b) b[{j, i}] = 10 * a[{i, j}] end)({2, 3}, a,
      b)
    assert.same({{10, 40}, {20, 50}, {30, 60}}, b:table())
    local c = A.zeros({2, 3, 4}, {type = "int"})
    lze.kernel(function(i, j, k, c) c[{i, j, k}] = 100 * i + 10 * j + k end)(
      {2, 3, 4}, c)
    assert.equal(111, c[{1, 1, 1}])
    assert.equal(234, c[{2, 3, 4}])
    assert.equal(223, c[{2, 2, 3}])
    local x = A("float", {1, 2, 3})
    lze.kernel(function(i, x) x[{i}] = x[i] + x[{-1}] end)(2, x)
    assert.same({4, 5, 3}, x:table())
  end)

  it("gives the same results as on the host", function()
    local function make()
      local real = lze.device().fp64 and "double" or "float"
      return {A(real, {{1, 2, 3}, {4, 5, 6}}),
        A.zeros({2, 3}, {type = "long"})}
    end
    local half = 2
    same(function(i, j, a, b)
      local k = i - 3
      b[{i, j}] = math.floor(a[{k, -j}]) * #a + (a[{i, j}] > 3 and 7 or -7)
    end, {2, 3}, make)
    same(function(i, j, k, a, b, c)
      local at = i
      if j > 1 then at = -i end
      c[{at, j, k}] = a[{j, k}] + half * #c
      for n = 1, #b do b[{n, k}] = n + k end
      for n = #b, 1, -1 do b[{n, k // 1}] = b[{n % 3, k}] + 1 end
    end, {3, 2, 3}, function()
      local all = make()
      all[3] = A.zeros({3, 2, 3})
      return all
    end)
    -- A function with two results, and values across branches.
    local function swap(i, j) return j, i end
    same(function(i, j, a, b)
      b[{swap(j, i)}] = i == 1 and j > 2 and 5 or i
      a[{(swap(j, i)), j}] = a[{i, j}] * (j == 2 and b[{i, j}] or 1)
    end, {2, 3}, make)
  end)

  it("has the length of its first dimension", function()
    local a, b = A.zeros({3, 5}), A.zeros({4}, {type = "long"})
    local k = lze.kernel(function(i, a, b) b[i] = #a * 10 + #b end)
    k(4, a, b)
    assert.same({34, 34, 34, 34}, b:table())
    k(4, A.zeros({7, 2}), b)
    assert.same({74, 74, 74, 74}, b:table())
    assert.matches("1 variant", tostring(k))
  end)

  it("returns d for `a[{i, j}] or d` outside its bounds", function()
    local a, b = A.ones({2, 2}), A.zeros({2, 2})
    lze.kernel(function(i, j, a, b)
      local s = 0
      for n = -1, 1 do s = s + (a[{i + n, j + 1}] or 10) end
      if a[{i + 1, j}] == nil then s = s + 100 end
      b[{i, j}] = s
    end)({2, 2}, a, b)
    -- Index 0 and indices beyond the end are outside.
    assert.same({{12, 30}, {112, 130}}, b:table())
  end)

  it("is captured, with its sizes read at each launch", function()
    local a = A.zeros({2, 3})
    local k = lze.kernel(function(i, j) a[{i, j}] = 10 * i + j end)
    k({2, 3})
    assert.same({{11, 12, 13}, {21, 22, 23}}, a:table())
    a = A.zeros({3, 2})
    k({3, 2})
    assert.same({{11, 12}, {21, 22}, {31, 32}}, a:table())
    assert.matches("1 variant; captures a = array", tostring(k))
    a = A.zeros({3, 2, 1})
    assert.matches("a is an array of 3 dimensions; 2 indices stand here",
      said(k, {3, 2}))
  end)

  it("is supported by k:check", function()
    local a, b = A("float", {{1, 2}, {3, 4}}), A.zeros({2, 2})
    local k = lze.kernel(function(i, j, a, b)
      b[{i, j}] = a[{i, -j}] + #a + (a[{i + 1, j}] or 1)
    end)
    local report = k:check({2, 2}, a, b)
    assert.is_true(report.ok, tostring(report))
    assert.same({{0, 0}, {0, 0}}, b:table())
    report = k:check({2, 3}, a, b)
    assert.matches(":%d+: kernel .-: a%[{1, %-3}%] is outside {2, 2} "
      .. "%(work%-item 1, 3%)", report.findings[1])
    local captured = A.zeros({2, 2})
    report = lze.kernel(function(i, j) captured[{1, j}] = i end):check({2, 2})
    assert.matches("race: captured%[{1, 1}%] is used by work%-items 1, 1 and "
      .. "2, 1", tostring(report))
    assert.same({{0, 0}, {0, 0}}, captured:table())
  end)

  it("is refused in place of a buffer, and a buffer in place of an array",
    function()
    local a, b = A.zeros({2, 3}), A.zeros({2, 3})
    local k = lze.kernel(function(i, j, a, b) b[{i, j}] = a[{i, j}] end)
    k({2, 3}, a, b)
    assert.matches("argument 2 %(b%) is a buffer; an array of 2 dimensions is "
      .. "needed here", said(k, {2, 3}, a, lze.buffer("float", 6)))
    assert.matches("argument 1 %(a%) is an array of 3 dimensions; 2 indices "
      .. "stand here", said(k, {2, 3}, A.zeros({2, 3, 1}), b))
    assert.matches("argument 1 %(a%) is an array of 2 dimensions, and is "
      .. "indexed by one number here", said(lze.kernel(function(i, a)
        a[i] = 1 end), 2, a))
    assert.matches("argument 1 %(a%).-not contiguous", said(k, {3, 2}, a:t(),
      b))
    k({2, 3}, a, b)
    -- The use in the function determines whether a signature's pointer is an
    -- array.
    local s = lze.kernel(function(i, j, a, x) a[{i, j}] = x[1] end,
      "float *a, const float *x")
    s({2, 3}, a, lze.buffer("float", {7}))
    assert.equal(7.0, a[{2, 3}])
    assert.matches("argument 1 %(a%): an array of 2 dimensions expected, got a "
      .. "buffer", said(s, {2, 3}, lze.buffer("float", 6), A.zeros(1)))
    assert.matches("argument 2 %(x%): an array of 1 dimension expected, got "
      .. "one of 2", said(s, {2, 3}, a, b))
  end)

  it("is the only object that a kernel may index with a table", function()
    local refused = "a table is made here; kernels have none"
    local a, x = A.zeros({2, 3}), lze.buffer("float", 3)
    for _, f in ipairs {
      function(i, a) local t = {i, 1} a[t] = 1 end,
      function(i, a) a[{i, {1, 2}}] = 1 end,
      function(i, a) a[{i, x = 1}] = 1 end,
      function(i, a) a[{}] = i end,
      function(i, a) a[{i, 2}] = #{1, 2} end,
      function(i, a) a[{1, 2}] = w.atomic_add(a, {i, 1}, 1) end
    } do
      assert.matches(refused, said(lze.kernel(f), 2, a))
    end
    assert.matches("index 2 must be an integer, this is a real",
      said(lze.kernel(function(i, a) a[{i, i / 2}] = 1 end), 2, a))
    assert.matches("is a buffer; an array of 2 dimensions",
      said(lze.kernel(function(i, x) x[{i, 1}] = 1 end), 2, x))
    assert.matches("an index has 1 to 8 numbers", said(lze.kernel(
      function(i, a) a[{i, i, i, i, i, i, w.random(1, 2)}] = 1 end), 2, a))
  end)

  it("keeps its shape in graphs", function()
    local a, b = A("float", {{1, 2, 3}, {4, 5, 6}}), A.zeros({2, 3})
    local sum = A.zeros({2, 3})
    local k = lze.kernel(function(i, j, a, b)
      b[{i, j}] = a[{i, -j}]
      sum[{i, j}] = sum[{i, j}] + a[{i, j}]
    end)
    local g <close> = lze.graph()
    g:task("flip", k, {2, 3}, a, b)
    local plan <close> = g:compile()
    plan:run()
    assert.same({{3, 2, 1}, {6, 5, 4}}, b:table())
    plan:set("flip", "a", A("float", {{7, 8, 9}, {0, 0, 0}})):run()
    assert.same({{9, 8, 7}, {0, 0, 0}}, b:table())
    assert.same({{8, 10, 12}, {4, 5, 6}}, sum:table())
    assert.matches("task graph.flip: an array of shape {2, 3} expected, got "
      .. "{3, 2}", said(plan.set, plan, "flip", "a", A.zeros({3, 2})))
    assert.matches("got buffer of float",
      said(plan.set, plan, "flip", 2, lze.buffer("float", 6)))
    assert.matches("an array of shape {2, 3} expected, got {6}",
      said(plan.set, plan, "flip", "sum", A.zeros({6})))
    plan:run()
    assert.same({{15, 18, 21}, {4, 5, 6}}, sum:table())
  end)

  it("can be tuned, and works in atomics like a buffer", function()
    local a, b = A.ones({2, 3}), A.zeros({2, 3})
    local k = lze.kernel(function(i, j, a, b) b[{i, j}] = a[{i, j}] end)
    assert.equal("table", type(lze.tune(k, {2, 3}, a, b)))
    assert.same({{0, 0, 0}, {0, 0, 0}}, b:table())
    local x = A.zeros({2}, {type = "int"})
    lze.kernel(function(_, x) w.atomic_add(x, 2, 3) end)(5, x)
    assert.equal(15, w.atomic_add(x, 2, 1))
    assert.same({0, 16}, x:table())
    assert.matches("argument 1 %(a%) is an array of 2 dimensions",
      said(lze.kernel(function(i, a) w.atomic_add(a, i, 1) end), 2, a))
  end)
end)
