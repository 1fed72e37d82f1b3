-- array_index_spec.lua - arrays: indexing and masks, compared with plain Lua
-- loops.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"
local lze = require "lze"
local A = lze.array
local inside = require "spec.support.inside"

local kinds = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "bfloat16", "float"}
if lze.device().fp64 then kinds[#kinds + 1] = "double" end
local integers = table.move(kinds, 1, 8, 1, {})

local said = require "spec.support.expect".said

-- Returns small whole numbers that every type can represent.
local function numbers(n, least)
  local list = {}
  for i = 1, n do list[i] = math.random(least or 0, 9) end
  return list
end

-- Returns the same elements as an array with strides.
local function strided(kind, list, shape)
  local wide = {table.unpack(shape)}
  wide[#wide] = wide[#wide] * 2
  local all = {}
  for i = 1, #list do
    all[2 * i], all[2 * i - 1] = list[#list + 1 - i], 99
  end
  local ranges = {}
  for d = 1, #shape do ranges[d] = {-1, 1, -1} end
  ranges[#shape] = {-1, 2, -2}
  return A(kind, all):reshape(wide)[ranges]
end

local function same_numbers(expected, got)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do assert.equal(v, got[i]) end
end

describe("lze.array", function()
  setup(function() math.randomseed(11) end)

  it("takes elements by index", function()
    for _, kind in ipairs(kinds) do
      local list = numbers(24)
      local x = A(kind, list):reshape {2, 3, 4}
      local y = strided(kind, list, {2, 3, 4})
      assert.same(x:table(), y:table())
      for _, a in ipairs {x, y} do
        local t = a:take {1, -1, 24, 7, 7}
        assert.equal(kind, t.type)
        same_numbers({list[1], list[24], list[24], list[7], list[7]}, t:read())
        local rows = a:take({{3, 1}, {-2, 2}}, 2)
        assert.same({2, 2, 2, 4}, rows.shape)
        local expected, own = {}, a:table()
        for i = 1, 2 do
          for _, r in ipairs {3, 1, 2, 2} do
            for k = 1, 4 do expected[#expected + 1] = own[i][r][k] end
          end
        end
        same_numbers(expected, rows:read())
        assert.same(own[2], a:take(-1, 1):table())
      end
    end
    local x = A("float", {5, 6, 7})
    for _, kind in ipairs(integers) do
      same_numbers({7, 5}, x:take(A(kind, {3, 1})):read())
    end
    same_numbers({5, 6, 7}, x:take(A("int", {9, 3, 9, 2, 9, 1})[{{-1, 2, -2}}])
      :read())
    assert.equal(6.0, A.take(x, 2):item())
    assert.same({}, x:take(2).shape)
    assert.same({0}, x:take({}).shape)
    assert.same({0, 2}, A.zeros({0, 3}):take({1, 2}, 2).shape)
    assert.is_true(inside(x:gt(5):take({1, 2})).mask)
  end)

  it("names an index that is out of range", function()
    local x = A("float", {{1, 2, 3}, {4, 5, 6}})
    assert.equal("take: argument 2 (indices): index 2: 7 is outside 1..6",
      said(x.take, x, {1, 7, 8}))
    assert.equal("take: argument 2 (indices): index 1: 0 is outside 1..2",
      said(x.take, x, {0}, 1))
    assert.equal("take: argument 2 (indices): index 3: -4 is outside 1..3",
      said(x.take, x, {1, -3, -4}, 2))
    assert.equal("gather: argument 2 (indices): index 4: 4 is outside 1..3",
      said(x.gather, x, {{1, 2}, {3, 4}}))
    assert.equal("scatter: argument 2 (indices): index 1: 3 is outside 1..2",
      said(x.scatter, x, {{3, 2, 1}}, 0, 1))
    assert.equal("take: argument 1 (a): dimension 1 has no elements",
      said(A.take, A.zeros {0}, {1}))
    assert.equal("scatter: argument 1 (a): dimension 2 has no elements",
      said(A.scatter, A.zeros {1, 0}, {{1}}, 1))
    assert.equal("take: argument 2 (indices): integers expected, got float",
      said(x.take, x, x))
    assert.equal("take: argument 2 (indices): integers expected, got a mask; "
      .. "use a[m]",
      said(x.take, x, x:gt(1)))
    assert.equal("take: argument 2 (indices): integers expected, got nil",
      said(x.take, x))
    assert.equal(x[{1, 3}], x:take(3.0):item())
    assert.equal("gather: argument 1 (a): array expected, got nil",
      said(A.gather))
    assert.equal("take: argument 3 (dim): a dimension of 1 to 2 expected, " ..
      "got 3",
      said(x.take, x, {1}, 3))
    assert.equal("gather: argument 2 (indices): shape {2} does not go with "
      .. "shape {2, 3} along dimension 2", said(x.gather, x, {1, 2}))
    assert.equal("scatter: argument 3 (values): shapes {2, 2} and {3} do "
      .. "not broadcast (dimension 2: 2 and 3)",
      said(x.scatter, x, {{1, 2}, {1, 2}}, {1, 2, 3}))
    assert.matches("a real cannot go into elements of int",
      said(A.scatter, A("int", {1, 2}), {1}, A("float", {0.5})))
  end)

  it("never counts an index of type ulong from the end", function()
    local x, i = A("int", {10, 20, 30}), A("ulong", {2, -1, 1})
    local outside = "index 2: 18446744073709551615 is outside 1..3"
    for name, f in pairs {take = x.take, gather = x.gather,
      scatter = function(a, k) return a:scatter(k, 5) end} do
      local ok, e = pcall(f, x, i)
      assert.is_false(ok, name)
      assert.matches(outside, e, 1, true)
    end
    assert.same({20, 30}, x:take(A("ulong", {2, 3})):read())
    assert.same({20, 30}, x:take(A("long", {2, -1})):read())
  end)

  it("takes and scatters on a device without 64-bit atomics", function()
    assert.equal([[
false	true
4	1
false	stdin:6: take: argument 2 (indices): index 2: -5 is outside 1..4
1	2	3	9
false	stdin:8: scatter: argument 2 (indices): index 1: 5 is outside 1..4
]], process.output([[
      local lze = require "lze"
      local x = lze.array("int", {1, 2, 3, 4})
      print(lze.device():properties().int64_atomics,
        lze.info():match ", no 64%-bit atomics" ~= nil)
      print(table.unpack(x:take({4, 1}):read()))
      print(pcall(function() return x:take {4, -5, 7} end))
      print(table.unpack(x:scatter({4, 4}, {8, 9}):read()))
      print(pcall(function() return x:scatter({5, 6}, 0) end))]],
      {env = {ZOCL_INT64_ATOMICS = 0}}))
  end)

  it("gathers and scatters along a dimension", function()
    for _, kind in ipairs(kinds) do
      local list = numbers(24)
      for d = 1, 3 do
        local sizes = {2, 3, 4}
        local n, m = sizes[d], 5
        sizes[d] = m
        local index = {}
        for i = 1, sizes[1] * sizes[2] * sizes[3] do
          index[i] = math.random(1, n) - math.random(0, 1) * (n + 1)
        end
        local at = A("int", index):reshape(sizes)
        for _, a in ipairs {A(kind, list):reshape {2, 3, 4},
          strided(kind, list, {2, 3, 4})} do
          local own, get, put = a:table(), {}, a:table()
          local values, p = numbers(#index), 0
          for i = 1, sizes[1] do
            for j = 1, sizes[2] do
              for k = 1, sizes[3] do
                p = p + 1
                local to = {i, j, k}
                to[d] = index[p] < 0 and index[p] + n + 1 or index[p]
                get[p] = own[to[1]][to[2]][to[3]]
                put[to[1]][to[2]][to[3]] = values[p]
              end
            end
          end
          local got = a:gather(at, d - 4)
          assert.equal(kind, got.type)
          assert.same(sizes, got.shape)
          same_numbers(get, got:read())
          assert.same(A(kind, put):table(),
            a:scatter(at, A(kind, values):reshape(sizes), d):table())
          assert.same(own, a:table())
        end
      end
    end
    local x = A("int", {1, 2, 3})
    same_numbers({3, 1}, x:gather {-1, 1}:read())
    same_numbers({1, 7, 3}, x:scatter({2}, 7):read())
    same_numbers({1, 9, 3}, x:scatter({2, 2, 2}, {7, 8, 9}):read())
    same_numbers({1, 2, 3}, x:scatter({}, 7):read())
    assert.same({2, 0}, A.zeros({2, 3}):gather(A("int", 0, {2, 0})).shape)
  end)

  it("returns the elements that a mask selects", function()
    for _, kind in ipairs(kinds) do
      for _, shape in ipairs {{7}, {2, 3}, {2, 3, 4}, {9001}} do
        local n = 1
        for _, s in ipairs(shape) do n = n * s end
        local list = numbers(n)
        for _, a in ipairs {A(kind, list):reshape(shape),
          strided(kind, list, shape)} do
          local expected = {}
          for _, v in ipairs(list) do
            if v > 5 then expected[#expected + 1] = v end
          end
          local got = a[a:gt(5)]
          assert.equal(kind, got.type)
          assert.same({#expected}, got.shape)
          same_numbers(expected, got:read())
        end
      end
    end
    local x = A("float", {{1, 2}, {3, 4}})
    assert.same({0}, x[x:gt(9)].shape)
    assert.same({0}, A.zeros({0, 2})[A.zeros({0, 2}):gt(1)].shape)
    assert.same({1}, A.ones({})[A.ones({}):eq(1)].shape)
    assert.equal("a[m]: a mask of shape {2, 2} expected, got {3}",
      said(function() return x[A("int", {1, 0, 1}):gt(0)] end))
    assert.equal("index 1: integers or a mask expected, got float",
      said(function() return x[A("float", {1})] end))
  end)

  it("writes 1 into a mask for every value that is not 0", function()
    local m, k = A("int", {0, 1, 0, 1}):gt(0), A("int", {1, 1, 1, 0}):gt(0)
    m[k] = A("int", {256, 0, 3, 7})
    assert.same({1, 0, 1, 1}, m:read())
    m[k] = A("long", {0, 1 << 40, 0, 0})
    assert.same({0, 1, 0, 1}, m:read())
    m[k] = A("int", {1, 0, 1, 0}):gt(0)
    assert.same({1, 0, 1, 1}, m:read())
  end)

  it("finds the elements that are not 0", function()
    for _, kind in ipairs(kinds) do
      local list = numbers(24, -3)
      for i = 1, 24, 3 do list[i] = 0 end
      if kind:sub(1, 1) == "u" then
        for i = 1, 24 do list[i] = math.abs(list[i]) end
      end
      for _, a in ipairs {A(kind, list):reshape {2, 3, 4},
        strided(kind, list, {2, 3, 4})} do
        local expected = {}
        for p, v in ipairs(list) do
          if v ~= 0 then
            expected[#expected + 1] = {(p - 1) // 12 + 1,
              (p - 1) // 4 % 3 + 1, (p - 1) % 4 + 1}
          end
        end
        local got = a:nonzero()
        assert.equal("long", got.type)
        assert.same(expected, got:table())
      end
      local places = {}
      for p, v in ipairs(list) do
        if v ~= 0 then places[#places + 1] = p end
      end
      same_numbers(places, A(kind, list):nonzero():read())
    end
    assert.same({1, 0}, A.ones({}):nonzero().shape)
    assert.same({0, 0}, A.zeros({}):nonzero().shape)
    assert.same({0, 2}, A.zeros({3, 0}):nonzero().shape)
    assert.same({0}, A.zeros({3}):nonzero().shape)
    same_numbers({1, 3}, A("float", {0 / 0, -0.0, 1e-45}):nonzero():read())
  end)

  it("has only the documented fields", function()
    local a = A("int", {1, 2, 3})
    for _, x in ipairs {a, a + 1, a[{{1, 2}}], A("int", 3):sum()} do
      for key, name in pairs {shapes = "'shapes'", [true] = "boolean",
        [print] = "function"} do
        local ok, message = pcall(function() return x[key] end)
        assert.is_false(ok)
        assert.matches("^%S+array_index_spec.lua:%d+: no field " .. name ..
          " in an array %(known: buffer, device, rank, shape, size, strides, "
          .. "type and",
          message)
      end
      assert.equal("no function 'map' of an array; lze.array.map is called "
        .. "with a point", said(function() return x:map(math.sqrt) end))
      local ok, message = pcall(function() return x[1.5] end)
      assert.is_false(ok)
      assert.matches("an array's index is an integer, got number 1.5", message,
        1, true)
      assert.is_nil(x[4])
      assert.is_nil(x[0])
    end
  end)

  it("has a size and a rank", function()
    local a = A("int", {{1, 2, 3}, {4, 5, 6}})
    for x, expected in pairs {[a] = {6, 2}, [a + 1] = {6, 2}, [a[1]] = {3, 1},
      [a[{ {}, {1, 2} }]] = {4, 2}, [a:sum()] = {1, 0},
      [A.zeros {0, 3}] = {0, 2}} do
      assert.same(expected, {x.size, x.rank})
    end
    assert.equal("array: int {2, 3} (not computed)", tostring(a + 1))
  end)

  -- The location of an array's elements is internal to lze: if a script could
  -- set a size, a kernel would write beyond the array.
  it("hides its internal fields", function()
    local a = A("float", {1, 2, 3})
    local b, c = a * 2, a[{ {1, 2} }]
    for _, x in ipairs {a, b, c, a:sum()} do
      for _, key in ipairs {"size", "rank", "flat", "op", "from", "dims",
        "shape", "kind", "base", "store", "key", "home", "owner"} do
        local ok, message = pcall(function() x[key] = 1 << 28 end)
        assert.is_false(ok)
        assert.matches("an array has no field that can be set", message, 1,
          true)
        assert.is_false(pcall(rawset, x, key, 1 << 28))
        assert.is_false(pcall(rawget, x, key))
      end
      for _, key in ipairs {"flat", "op", "from", "dims", "kind", "base",
        "store", "key", "home", "owner", "mask", "stride"} do
        local ok, message = pcall(function() return x[key] end)
        assert.is_false(ok)
        assert.matches("no field '" .. key .. "' in an array", message, 1, true)
      end
      assert.is_false(pcall(next, x))
      assert.is_false(pcall(pairs(x), x))
      assert.is_false(pcall(setmetatable, x, {}))
      assert.equal("userdata", type(x))
      assert.equal("array", lze.type(x))
    end
    assert.equal(6, a:sum():item())
    assert.same({2, 4, 6}, b:read())
    assert.same({1, 2}, c:read())
  end)

  it("returns the same object from functions that return their first argument",
    function()
    local a = A("float", {1, 2, 3})
    local seen = {[a] = "a"}
    assert.equal("a", seen[a:set(4)])
    assert.equal("a", seen[a:fill(5)])
    assert.equal("a", seen[a:copy(a + 1)])
    assert.equal("a", seen[a:eval()])
    assert.equal("a", seen[a:t()])
    assert.equal("a", seen[A.fuse(function(x) return x end)(a)])
    assert.is_nil(seen[a:reshape {3}])
  end)

  it("writes only numbers that fit, and reports others at the script's line",
    function()
      local char = "char expected (an integer from -128 to 127), got "
      for _, case in ipairs {{"char", 300, char .. "integer 300"},
        {"char", -129, char .. "integer -129"},
        {"uchar", -1, "uchar expected (an integer from 0 to 255), got " ..
          "integer -1"}, {"half", 65520.0, "number 65520.0 does not fit half"},
        {"half", -65520, "integer -65520 does not fit half"},
        {"bfloat16", 0x1.ffp127, ("number %s does not fit bfloat16"):format(
          0x1.ffp127)},
        {"float", 1e300, "number 1e+300 does not fit float"}} do
        local kind, v, problem = table.unpack(case)
        local a = A(kind, {1, 2, 3, 4})
        local square = a:reshape {2, 2}
        for what, write in pairs {
          ["a[i] = v"] = function() a[2] = v end,
          ["a[{...}] = v"] = function() a[{{1, 4, 2}}] = v end,
          ["a[m] = v"] = function() a[a:gt(1)] = v end,
          ["fill: argument 2 (value)"] = function() a:fill(v) end,
          ["set: argument 2 (v)"] = function() a:flip():set(v) end,
          ["full: argument 2 (value)"] = function()
            A.full({2}, v, {type = kind})
          end
        } do
          assert.equal(what .. ": " .. problem, said(write))
        end
        assert.equal("a[i] = v: " .. problem,
          said(function() square[{2, -1}] = v end))
        assert.equal("a[i] = v: " .. problem,
          said(function() square[2] = v end))
        same_numbers({1, 2, 3, 4}, a:read())
      end
      local a = A("int", {1, 2})
      assert.equal("a[i] = v: int expected (an integer from -2147483648 to " ..
        "2147483647), got number 1.5", said(function() a[1] = 1.5 end))
      a[1] = 2.0
      same_numbers({2, 2}, a:read())
      local edge = A("half", {1, 2})
      edge[{{1, 2, 2}}] = 65519
      edge[edge:lt(3)] = -math.huge
      same_numbers({65504.0, -math.huge}, edge:read())
      local long = A("ulong", {1, 2})
      long[long:eq(1)] = -1
      same_numbers({-1, 2}, long:read())
      assert.equal("a[i] = v: long expected (an integer from " ..
        "-9223372036854775808 to 9223372036854775807), got number 1e+30",
        said(function() A("long", {1})[1] = 1e30 end))
      assert.equal("a[i] = v: a number or {re, im} expected, got table",
        said(function() A("float2", {{1, 2}})[1] = {1, 2, 3} end))
    end)
end)
