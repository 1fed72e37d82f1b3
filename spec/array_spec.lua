-- array_spec.lua - lze.array: arrays, views, operators.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local math, unpack = math, table.unpack
local A = lze.array
local fp64 = lze.device().fp64
local wide = fp64 and "double" or "float"

local said = require "spec.support.expect".said

local function close(expected, got)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do
    assert.is_true(math.abs(got[i] - v) <= 1e-6 * math.max(1, math.abs(v)),
      ("element %d: %s, not %s"):format(i, got[i], v))
  end
end

describe("lze.array", function()
  it("is made from nested tables, counts, buffers and shapes", function()
    local x = A("float", {{1, 2, 3}, {4, 5, 6}})
    assert.equal("array", lze.type(x))
    assert.same({2, 3}, x.shape)
    assert.same({3, 1}, x.strides)
    assert.equal("float", x.type)
    assert.equal(2, #x)
    assert.same({{1, 2, 3}, {4, 5, 6}}, x:table())
    assert.same({1, 2, 3, 4, 5, 6}, x:read())
    assert.same({0, 0, 0}, A("int", 3):read())
    assert.same({{1, 2}, {3, 4}}, A("int", {1, 2, 3, 4}, {2, 2}):table())
    local b = lze.buffer("short", {1, 2, 3})
    local s = A("short", b)
    b[2] = 9
    assert.same({1, 9, 3}, s:read())
    assert.equal(b, s.buffer)
    assert.same({2, 0, 3}, A.zeros({2, 0, 3}).shape)
    assert.equal(0, #A.zeros({2, 0, 3}):read())
    assert.equal(7, A.full({}, 7, {type = "long"}):item())
    assert.same({1, 1}, A.ones({2}, {type = "i8"}):read())
    assert.equal("array: argument 2 (source): element 2: 2 elements " ..
      "expected, got 3",
      said(A, "int", {{1, 2}, {1, 2, 3}}))
    assert.matches("^array: argument 1 %(type%): one of char, uchar",
      said(A, "string", 3))
    assert.equal("zeros: argument 2 (options): unknown option typ; there " ..
      "are type, device",
      said(A.zeros, {2}, {typ = "int"}))
    assert.equal("zeros: sizes are one table: A.zeros {2, 3}",
      said(A.zeros, 2, 3))
  end)

  it("protects its fields from scripts", function()
    local x, y = A.ones {2, 3}, A.ones {2, 3}
    local sum = x + y
    local shape, strides = x.shape, x.strides
    shape[1], strides[1] = 1000, 1000
    assert.same({2, 3}, x.shape)
    assert.same({3, 1}, x.strides)
    assert.same({2, 3}, sum.shape)
    assert.equal(2, #x)
    assert.equal(12.0, sum:sum():item())
    for name, value in pairs {shape = {3, 2}, strides = {1, 2},
      type = "double", other = 1} do
      assert.equal(("an array has no field that can be set (string '%s')")
        :format(name), said(function() x[name] = value end))
    end
    assert.equal("float", x.type)
  end)

  it("makes ranges of numbers", function()
    assert.same({1, 2, 3}, A.arange(3):read())
    assert.equal("long", A.arange(3).type)
    assert.same({5, 3, 1}, A.arange(5, 1, -2):read())
    assert.same({}, A.arange(3, 1):read())
    assert.same({}, A.arange(math.maxinteger, math.mininteger):read())
    assert.same({0, 0.25, 0.5, 0.75, 1}, A.arange(0, 1, 0.25):read())
    for k = 1, 100 do -- reaches the end despite rounding
      for _, case in ipairs {{0, k / 10, 0.1}, {k / 10, 0, -0.1},
          {1000, 1000 + k / 10, 0.1}, {0, k * 0.4, 0.4}} do
        local first, last, step = unpack(case)
        local t = A.arange(first, last, step):read()
        assert.equal(k + 1, #t)
        assert.same(A("float", {first, last}):read(), {t[1], t[k + 1]})
      end
    end
    assert.equal(3, #A.arange(0, 0.29, 0.1))
    assert.equal(3, #A.arange(0, 0.2999999, 0.1))
    assert.equal(1, #A.arange(0.5, 1, 0.75))
    -- Far from 0, a step is not a rounding error.
    assert.same({1700000000000000, 1700000000000004},
      A.arange(1.7e15, 1.7e15 + 7, 4, {type = "long"}):read())
    assert.equal(4, #A.arange(2.0 ^ 50, 2.0 ^ 50 + 15, 4, {type = "long"}))
    if lze.device().fp64 then
      local t = A.arange(2.0 ^ 49, 2.0 ^ 49 + 10.25, 1, {type = "double"})
      assert.same({11, 2.0 ^ 49 + 10}, {#t, t[11]})
      local tiny = 2.0 ^ -1070
      assert.same({0, tiny, 2 * tiny, 3 * tiny}, A.arange(0, 3 * tiny, tiny,
        {type = "double"}):read())
    end
    assert.same({1, 3, 5}, A.arange(1, 6, 2, {type = "float"}):read())
    assert.same({0, 1, 2}, A.arange(0, 2.75, 1, {type = "int"}):read())
    assert.same({0, 0.5, 1}, A.linspace(0, 1, 3):read())
    assert.same({}, A.linspace(0, 1, 0):read())
    assert.same({2}, A.linspace(2, 5, 1):read())
    for n = 2, 9 do -- both ends are exact
      local t = A.linspace(0.1, -0.7, n, {type = "float"}):read()
      assert.same(A("float", {0.1, -0.7}):read(), {t[1], t[n]})
    end
    if fp64 then -- the nearest floats, computed in double as Lua does
      for _, n in ipairs {7, 101, 1001} do
        local t = A.linspace(0, 1, n):read()
        for i = 1, n do
          assert.equal(("f"):unpack(("f"):pack((i - 1) / (n - 1))), t[i])
        end
      end
    end
    -- The distance between the ends may exceed the largest real.
    for kind, most in pairs {float = 0x1.8p127,
        double = lze.device().fp64 and 0x1.8p1023 or nil} do
      for n, expected in pairs {[2] = {-1, 1}, [3] = {-1, 0, 1},
          [5] = {-1, -0.5, 0, 0.5, 1}} do
        for i, v in ipairs(expected) do expected[i] = v * most end
        assert.same(expected,
          A.linspace(-most, most, n, {type = kind}):read())
      end
    end
    assert.same({-0x1p63, 0, 0x1p63},
      A.linspace(math.mininteger, math.maxinteger, 3):read())
    local least, most = math.mininteger, math.maxinteger
    -- Integers are exact at any distance.
    local third = (1 << 60) + 1
    assert.same({0, third, third * 2, third * 3},
      A.linspace(0, third * 3, 4, {type = "long"}):read())
    third = most // 3 * 2 + 1
    assert.same({least, least + third, most - third, most},
      A.linspace(least, most, 4, {type = "long"}):read())
    assert.same({-1, -1 - third, third, 0},
      A.linspace(-1, 0, 4, {type = "ulong"}):read())
    assert.same({{1, 0, 0}, {0, 1, 0}}, A.eye(2, 3):table())
  end)

  it("broadcasts, and reports shapes that do not", function()
    local x = A("float", {{1, 2, 3}, {4, 5, 6}})
    assert.same({{11, 22, 33}, {14, 25, 36}},
      (x + A("float", {10, 20, 30})):table())
    assert.same({{11, 12, 13}, {24, 25, 26}},
      (A("float", {{10}, {20}}) + x):table())
    assert.same({{2, 3, 4}, {5, 6, 7}}, (1 + x):table())
    assert.equal("a + b: shapes {2, 3} and {4} do not broadcast (dimension 2: "
      .. "3 and 4)", said(function() return x + A.zeros {4} end))
    assert.equal("a < b: arrays have no order; a:lt(b) compares element by "
      .. "element", said(function() return x < x end))
    assert.is_true(x == x)
    assert.is_false(x == x:clone())
    assert.equal("a * b: b: an array or a number expected, got boolean",
      said(function() return x * true end))
    assert.equal("a - b: a: an array or a number expected, got table",
      said(function() return {} - x end))
  end)

  it("refuses results with too many elements", function()
    local n = 1 << 32
    local x, y = A.ones {1, 1}:expand {n, 1}, A.ones {1, 1}:expand {1, n + 1}
    assert.equal("a + b: shapes {4294967296, 1} and {1, 4294967296} broadcast "
      .. "to too many elements", said(function()
        return x + A.ones {1, 1}:expand {1, n}
      end))
    local two = "shapes {4294967296, 1} and {1, 4294967297} broadcast to too "
      .. "many elements"
    assert.equal("a + b: " .. two, said(function() return x + y end))
    assert.equal("a:lt(b): " .. two, said(A.lt, x, y))
    assert.equal("clamp: " .. two, said(A.clamp, x, y, 1))
    assert.equal("map: " .. two, said(A.map, math.max, x, y))
    local shape = ": shape {4294967296, 4294967296} has too many elements"
    assert.equal("mm" .. shape, said(A.mm, x, A.ones {1, 1}:expand {1, n}))
    local half = (1 << 31) - 1
    assert.equal("conv2d: shape {1, 4294967296, 4294967296} has too many "
      .. "elements", said(A.conv2d, A.ones {2, 2}, A.ones {1, 1},
        {padding = half}))
    local most = A.ones {1}:expand {1 << 48}
    assert.equal("cat: shape {562949953421312} has too many elements",
      said(A.cat, {most, most}))
    -- More elements than one launch can compute.
    local many = A.ones({1}, {type = "uchar"}):expand {n + 4}
    assert.equal("shape {4294967300}: 4294967300 elements are too many to be "
      .. "computed at once; at most 4294967295",
      said(A.eval, many + 1))
    -- Zero elements are never too many.
    local none = A.zeros {0, n, n}:permute(2, 3, 1) + 1
    assert.same({n, n, 0}, none.shape)
    assert.same({}, none:read())
  end)

  it("has a result type for each pair of types", function()
    local function kind(a, b)
      return (A.ones({1}, {type = a}) + A.ones({1}, {type = b})).type
    end
    assert.equal("float", kind("int", "float"))
    assert.equal("float", kind("long", "float"))
    if fp64 then assert.equal("double", kind("float", "double")) end
    assert.equal("half", kind("half", "int"))
    assert.equal("float", kind("half", "bfloat16"))
    assert.equal("short", kind("char", "uchar"))
    assert.equal("long", kind("int", "uint"))
    assert.equal("int", kind("int", "ushort"))
    assert.equal("ulong", kind("uint", "ulong"))
    assert.equal("a + b: long with ulong has no type for its results; use :to",
      said(kind, "long", "ulong"))
    local x = A("int", {7, -7})
    assert.equal("int", (x + 1).type)
    assert.equal("float", (x + 1.5).type)
    assert.same({3, -4}, (x // 2):read())
    assert.same({3.5, -3.5}, (x / 2):read())
    assert.same({1, 1}, (x % 2):read())
    assert.equal("float", (x ^ 2).type)
    assert.equal("half", (A.ones({1}, {type = "half"}) * 2.5).type)
    assert.same({6, -8}, (x & -2):read())
    assert.equal("a & b: integers expected, got float",
      said(function() return A.ones {1} & 1 end))
  end)

  it("computes elementwise as Lua does", function()
    local list = {-2.5, -1, -0.5, 0.25, 0.5, 1.5, 2.5, 3}
    local x = A(wide, list)
    for name, f in next, {abs = math.abs, exp = math.exp, sin = math.sin,
      cos = math.cos, tan = math.tan, atan = math.atan,
      floor = function(v) return math.floor(v) end,
      ceil = function(v) return math.ceil(v) end,
      trunc = function(v) return (math.modf(v)) end,
      sign = function(v) return v > 0 and 1 or -1 end,
      neg = function(v) return -v end,
      sigmoid = function(v) return 1 / (1 + math.exp(-v)) end,
      sinh = function(v) return (math.exp(v) - math.exp(-v)) / 2 end,
      cosh = function(v) return (math.exp(v) + math.exp(-v)) / 2 end,
      tanh = function(v)
        return (math.exp(v) - math.exp(-v)) / (math.exp(v) + math.exp(-v))
      end,
      expm1 = function(v) return math.exp(v) - 1 end} do
      local expected = {}
      for i, v in ipairs(list) do expected[i] = f(v) end
      close(expected, x[name](x):read())
      close(expected, A[name](x:to "float"):read())
    end
    local p = A(wide, {0.25, 1, 4})
    close({0.5, 1, 2}, p:sqrt():read())
    close({2, 1, 0.5}, p:rsqrt():read())
    close({-2, 0, 2}, p:log2():read())
    close({math.log(1.25), math.log(2), math.log(5)}, p:log1p():read())
    assert.is_true(math.abs(A(wide, {1e-9}):log1p():item() -
      (1e-9 - 0.5e-18)) < (fp64 and 1e-24 or 1e-15))
    close({math.pi / 4}, A.atan2(A.ones {1}, A.ones {1}):read())
    assert.equal("atan2: argument 1 (a): array expected, got integer 1",
      said(A.atan2, 1, 2))
    assert.same({-2, 0, 0, 2, 2}, A("float", {-1.5, -0.5, 0.5, 1.5, 2.5})
      :round():read())
    assert.same({0, 0.5, 1}, A("float", {-3, 0.5, 9}):clamp(0, 1):read())
    assert.same({7}, A.fma(A("float", {2}), 3, 1):read())
    assert.same({2.5}, A.lerp(A("float", {2}), 4, 0.25):read())
    assert.same({1, 2, 3}, A("int", {1, 5, 3}):min(A("int", {4, 2, 3})):read())
    assert.same({4, 5, 4}, A.max(A("int", {1, 5, 3}), 4):read())
    local nan = A("float", {0 / 0, 1, math.huge})
    assert.same({1, 0, 0}, nan:isnan():read())
    assert.same({0, 1, 0}, nan:isfinite():read())
    assert.is_true(nan:min(0)[1] ~= nan:min(0)[1])
  end)

  -- Models, computed in double from terms that do not cancel.
  local exact = {}
  local function series(x, first, step)
    local term, sum = first, first
    for k = step == 1 and 2 or first == x and 3 or 2, 40, step do
      term = term * x / k
      if step == 2 then term = term * x / (k - 1) end
      sum = sum + term
    end
    return sum
  end
  function exact.expm1(x)
    return math.abs(x) < 0.5 and series(x, x, 1) or math.exp(x) - 1
  end
  function exact.log1p(x)
    local u = 1 + x
    return math.log(u) + (x - (u - 1)) / u
  end
  -- Returns exp(|x|) / 2 even if exp(|x|) overflows.
  local function half_exp(x) return math.exp(math.abs(x) - 1) * math.exp(1) / 2
  end
  function exact.sinh(x)
    if math.abs(x) < 1 then return series(x, x, 2) end
    local y = half_exp(x) - math.exp(-math.abs(x)) / 2
    return x < 0 and -y or y
  end
  function exact.cosh(x)
    if math.abs(x) < 1 then return series(x, 1, 2) end
    return half_exp(x) + math.exp(-math.abs(x)) / 2
  end
  function exact.tanh(x)
    if math.abs(x) > 30 then return x < 0 and -1 or 1 end
    local e = exact.expm1(2 * x)
    return e / (e + 2)
  end
  function exact.sigmoid(x)
    local e = math.exp(-math.abs(x))
    return (x < 0 and e or 1) / (1 + e)
  end

  it("computes exponentials and related functions over the range of a type",
  function()
    local types = {half = {0x1p-10, 0x1p-24, 65504, 13},
      float = {0x1p-20, 0x1p-126, 0x1.fffffep127, 91}}
    if fp64 then
      types.double = {0x1p-48, 0x1p-1022, 0x1.fffffffffffffp1023, 713}
    end
    for kind, t in next, types do
      local tolerance, least, largest, far = table.unpack(t)
      local list = {0, 85, 88.8, 709.9, 1e37, -0.99, largest}
      local size = least
      while size < largest / 1.7 do
        list[#list + 1], size = size, size * 1.7
      end
      for k = 1, 600 do list[#list + 1] = k * far / 600 end
      for k = 1, #list do
        list[k] = math.min(list[k], largest)
        list[#list + 1] = -list[k]
      end
      local x = A(kind, list)
      local points = x:read()
      for name, f in next, exact do
        local values = x[name](x):read()
        for i, v in ipairs(points) do
          local w, g = f(v), values[i]
          local same = g == w or w ~= w and g ~= g or
            math.abs(g - w) <= tolerance * math.abs(w) + least or
            math.abs(w) > largest * (1 - tolerance) and
            g == (w < 0 and -1 or 1) * math.huge
          assert(same, ("%s of %s %.17g: %.17g, not %.17g"):format(name, kind,
            v, g, w))
        end
      end
    end
  end)

  it("computes exponentials of the least and the greatest integer", function()
    local x = A("long", {math.mininteger, math.maxinteger})
    assert.same({-math.huge, math.huge}, x:sinh():read())
    assert.same({math.huge, math.huge}, x:cosh():read())
    assert.same({-1, 1}, x:tanh():read())
    assert.same({0, 1}, x:sigmoid():read())
    assert.same({-1, math.huge}, x:expm1():read())
  end)

  it("converts between types", function()
    assert.same({-2, 2}, A("float", {-2.7, 2.7}):to "int":read())
    assert.same({-1}, A("int", {255}):to "char":read())
    assert.same({1.5}, A(wide, {1.5}):to "half":read())
  end)

  it("rounds to bfloat16 once", function()
    local function check(kind, list)
      local expected = lze.buffer("bfloat16", list):read()
      assert.same(expected, A(kind, list):to "bfloat16":read(), kind)
      local x = A.zeros({#list}, {type = "bfloat16"})
      assert.same(expected, x:set(A(kind, list)):read(), kind)
      local b = lze.buffer("bfloat16", #list)
      local copy = lze.kernel(function(i, to, from) to[i] = from[i] end)
      if kind ~= "ulong" then -- a kernel takes ulong as signed
        copy(#list, b, lze.buffer(kind, list))
        assert.same(expected, b:read(), kind)
      end
    end
    local reals, longs, ulongs = {}, {}, {}
    for _, tie in ipairs {0x1.01p0, 0x1.03p0, 0x1.fdp0, 0x1.ffp0} do
      for _, off in ipairs {0, 0x1p-40, -0x1p-40, 0x1p-24, -0x1p-24} do
        for _, by in ipairs {1, 0x1p20, -1, -0x1p-60} do
          reals[#reals + 1] = (tie + off) * by
        end
      end
      for bits = 24, 63 do
        local n = math.tointeger(tie * 0x1p20) << bits - 20
        for off = -1, 1 do
          ulongs[#ulongs + 1] = n + off
          if bits < 63 then
            longs[#longs + 1], longs[#longs + 2] = n + off, -n - off
          end
        end
      end
    end
    if fp64 then check("double", reals) end
    table.insert(longs, math.maxinteger)
    table.insert(longs, math.mininteger)
    check("long", longs)
    check("int", {(1 << 30) + (1 << 22) + 1, -(1 << 30) - (1 << 22) - 1})
    -- A buffer takes integers as signed, so halve the ones from 2^63 on.
    local x = A("ulong", ulongs):to "bfloat16":read()
    for i, n in ipairs(ulongs) do
      local half = n >= 0 and n or n >> 1 | n & 1
      local y = lze.buffer("bfloat16", {half})[1]
      assert.equal(n >= 0 and y or 2 * y, x[i])
    end
  end)

  it("rounds a number the same way for some elements as for all", function()
    for kind, v in next, {bfloat16 = 1 + 0x1p-8 + 0x1p-40,
      half = 1 + 0x1p-11 + 0x1p-40}
    do
      local x = A.zeros({4}, {type = kind})
      local y = x[{{1, 4, 2}}]:fill(v)
      assert.equal(lze.buffer(kind, {v})[1], x:fill(v)[1])
      assert.same({x[1], x[1]}, y:read())
      x[{{2, 4, 2}}] = v
      assert.same({y[1], y[1]}, x[{{2, 4, 2}}]:read())
    end
  end)

  it("compares integers with floats exactly", function()
    local names = {eq = "==", ne = "~=", lt = "<", le = "<=", gt = ">",
      ge = ">="}
    local of = {char = {-128, -1, 0, 2}, int = {16777216, 16777217, -3, 0},
      long = {1 << 40, (1 << 53) + 1, math.mininteger, math.maxinteger},
      ulong = {0, 3, 1 << 40, math.maxinteger}}
    local numbers = {2^24 + 1, 2.0^40, 2^40 + 1, 2.0^53, 2.5, -0.5, -0.0, -3.0,
      2.0^63, -2.0^63, 2.0^64, -1e30, 1 / 0, -1 / 0, 0 / 0}
    for kind, list in pairs(of) do
      local a = A(kind, list)
      for name, sign in pairs(names) do
        local holds = load("local v, w = ... return v " .. sign .. " w")
        for _, w in ipairs(numbers) do
          local left, right = {}, {}
          for i, v in ipairs(list) do
            left[i] = holds(v, w) and 1 or 0
            right[i] = holds(w, v) and 1 or 0
          end
          local words = ("%s %s %s"):format(kind, sign, w)
          assert.same(left, a[name](a, w):read(), words)
          assert.same(right, A[name](w, a):read(), words)
        end
      end
    end
    local u = A("ulong", {-1, math.mininteger, 5})
    assert.same({1, 0, 0}, u:gt(2.0^63):read())
    assert.same({0, 1, 0}, u:eq(2.0^63):read())
    assert.same({1, 1, 1}, u:lt(2.0^64):read())
    assert.equal("lt: argument 2 (b): the array is closed", said(function()
      local closed = A("int", {1})
      closed:close()
      return A.lt(1.5, closed)
    end))
  end)

  it("returns masks from comparisons, for which & | ~ are logical", function()
    local x = A("float", {1, 5, 3})
    local m = x:gt(2)
    assert.equal("uchar", m.type)
    assert.same({0, 1, 1}, m:read())
    assert.same({1, 0, 0}, (~m):read())
    assert.same({0, 0, 1}, (m & x:lt(4)):read())
    assert.same({0, 1, 0}, A.eq(x, 5):read())
    assert.same({-1, 50, -1}, A.where(x:eq(5), 50, -1):read())
    assert.same({9, 5, 9}, A.where(x:ge(5), x, 9):read())
    x[m] = 0
    assert.same({1, 0, 0}, x:read())
    assert.equal("index 1: integers or a mask expected, got float",
      said(function() x[A.zeros {2}] = 1 end))
    assert.equal("a[m] = v: a mask of shape {3} expected, got {2}",
      said(function() x[A.ones{2}:gt(0)] = 1 end))
    assert.equal("a[m] = v: shapes {3} and {2} do not broadcast " ..
      "(dimension 1: 3 and 2)", said(function() x[m] = A.zeros {2} end))
    x[m] = {7, 8, 9}
    assert.same({1, 8, 9}, x:read())
    assert.equal("a[m] = v: shapes {3} and {2} do not broadcast " ..
      "(dimension 1: 3 and 2)", said(function() x[m] = {1, 2} end))
    assert.equal("a[m] = v: element 2: a number expected, got string 'a'",
      said(function() x[m] = {1, "a", 2} end))
  end)

  it("returns masks from choices among masks", function()
    local x = A("int", {1, 2, 3})
    local m, n = x:gt(1), x:lt(2)
    assert.same({1, 3}, x[A.where(x:eq(3), m, n)]:read())
    assert.same({1, 2, 3}, x[m:max(n)]:read())
    assert.same({2, 3}, x[n:min(m) | m]:read())
    assert.same({2, 3}, x[A.cat {m, n}[{ {1, 3} }]]:read())
    -- The result is not a mask if it may be another number.
    for _, made in ipairs {A.where(m, n, 5), A.where(m, n, x), m:max(2),
      m << n, m >> n, m + n} do
      assert.is_nil(tostring(made):find("mask", 1, true))
    end
    assert.same({0, 2, 2}, (m << A("int", {1, 1, 1}):gt(0)):read())
  end)

  it("keeps masks at 0 and 1 for any value written", function()
    local x = A("float", {1, 2, 3})
    local m = x:gt(1):eval()
    m[1] = 4
    assert.same({0, 0, 0}, (~m):read())
    assert.same({1, 2, 3}, x[m]:read())
    m:set(A("int", {0, 256, 2}))
    assert.same({0, 1, 1}, m:read())
    m:set {3, 0, 0}
    assert.same({1, 0, 0}, m:read())
    m:fill(2)
    assert.same({1, 1, 1}, m:read())
    m[m] = A("uchar", {0, 7, 0})
    assert.same({0, 1, 0}, m:read())
    m[{{2, 3}}] = 8
    assert.same({0, 1, 1}, m:read())
    assert.same({1, 1, 1}, m:scatter({1}, 5):read())
  end)

  it("reports missing operands", function()
    local x = A.ones {2}
    for name, operands in pairs {clamp = {"low", "high"}, fma = {"b", "c"},
      lerp = {"b", "t"}, where = {"a", "b"}} do
      for given, operand in ipairs(operands) do
        assert.equal(("%s: argument %d (%s): an array or a number expected, " ..
          "got nil"):format(name, given + 1, operand),
          said(A[name], x, table.unpack({1}, 1, given - 1)))
      end
    end
    assert.equal("atan2: argument 2 (b): an array or a number expected, " ..
      "got nil", said(A.atan2, x))
    assert.equal("fma: no array among the arguments", said(A.fma, 1, 2, 3))
    assert.equal("copy: argument 2 (src): a buffer of 2 elements expected, "
      .. "got 3",
      said(x.copy, x, lze.buffer("float", 3)))
  end)

  it("names the argument or the element that is wrong", function()
    for text, f in pairs {
      [("arange: from %d to 0 is further than integers reach"):format(
        math.mininteger)] =
        function() A.arange(math.mininteger, 0, 1 << 62) end,
      ["arange: argument 1 (n): a finite number expected, got nil"] =
        function() A.arange() end,
      ["arange: argument 1 (n): a finite number expected, got string 'a'"] =
        function() A.arange "a" end,
      ["arange: argument 2 (last): a finite number expected, got string " ..
        "'a'"] = function() A.arange(1, "a") end,
      ["arange: argument 2 (last): a finite number expected, got number " ..
        "inf"] = function() A.arange(1, math.huge) end,
      ["arange: argument 2 (last): uchar expected (an integer from 0 to " ..
        "255), got integer 256"] =
        function() A.arange(250, 256, 1, {type = "uchar"}) end,
      ["linspace: argument 2 (last): a finite number expected, got number " ..
        "inf"] = function() A.linspace(0, math.huge, 3) end,
      ["linspace: argument 1 (first): a finite number expected, got number " ..
        "-inf"] = function() A.linspace(-math.huge, 1, 1) end,
      ["linspace: argument 2 (last): uchar expected (an integer from 0 to " ..
        "255), got integer 256"] =
        function() A.linspace(0, 256, 2, {type = "uchar"}) end,
      [("linspace: 3 numbers of long from %d to %d: the step is not whole")
        :format(math.mininteger, math.maxinteger)] = function()
          A.linspace(math.mininteger, math.maxinteger, 3, {type = "long"})
        end,
      ["linspace: 3 numbers of long from 0 to 9007199254740993: the step is "
        .. "not whole"] =
        function() A.linspace(0, (1 << 53) + 1, 3, {type = "long"}) end,
      ["permute: argument 2 (order): the order of 1 dimensions expected, " ..
        "got nothing"] =
        function() A.zeros(1):permute() end,
      ["arange: argument 2 (last): a finite number expected, got nil"] =
        function() A.arange(3, nil, 2) end,
      ["atan2: argument 2 (b): an array or a number expected, got string " ..
        "'a'"] = function() A.atan2(A.zeros(1), "a") end,
      ["lt: argument 1 (a): an array or a number expected, got nil"] =
        function() A.lt(nil, A.zeros(1)) end,
      ["set: argument 2 (v): an array, a number or tables of numbers " ..
        "expected, got string 'a'"] = function() A.zeros(1):set "a" end,
      ["zeros: argument 1 (shape): sizes expected, got a field string " ..
        "'type'; options are a table of their own"] =
        function() A.zeros {2, type = "int"} end,
      ["reshape: argument 2 (shape): {0, -1}: dimension 2, beside one of " ..
        "no elements, can have any size"] =
          function() A.zeros {3, 0}:reshape {0, -1} end,
      ["reshape: argument 2 (shape): {4, -1} has a multiple of 4 elements, " ..
        "the array has 6"] = function() A.zeros(6):reshape {4, -1} end,
      ["flip: argument 2 (dim): a dimension of 1 to 1 expected, got nil"] =
        function() A.zeros(6):flip(nil, 1) end,
      ["permute: argument 3: nothing more expected, got integer 1"] =
        function() A.zeros(6):permute({1}, 1) end,
      ["array: argument 4: nothing more expected, got table"] =
        function() A("float", 6, {2, 3}, {}) end,
      ["save: argument 3 (options): unknown option type; there are none"] =
        function() A.zeros(1):save("a.npy", {type = "int"}) end,
      ["zeros: sizes are one table: A.zeros {2, 3}"] =
        function() A.zeros(2, 3) end,
      ["randn: sizes are one table: A.randn {2, 3, 4}"] =
        function() A.randn(2, 3, 4) end,
      ["reshape: sizes are one table: a:reshape {6, 2}"] =
        function() A.zeros(6):reshape(6, 2) end,
      ["view: sizes are one table: a:view {6, 2}"] =
        function() A.view(A.zeros(6), 6, 2) end,
      ["expand: sizes are one table: a:expand {6, 2}"] =
        function() A.zeros(1):expand(6, 2) end,
      ["tile: sizes are one table: a:tile {6, 2}"] =
        function() A.zeros(1):tile(6, 2) end,
      ["reshape: argument 3: nothing more expected, got integer 2"] =
        function() A.zeros(6):reshape({6}, 2) end,
      ["ones: argument 2 (options): a table expected, got integer 2"] =
        function() A.ones({6}, 2) end,
      ["sqrt: argument 2: nothing more expected, got table"] =
        function() A.zeros(6):sqrt {type = "double"} end,
      ["max: argument 3: nothing more expected, got nil"] =
        function() A.zeros(6):max(1, nil) end,
      ["index 1: {first, last [, step]} expected, got a field string 'step'"] =
        function() return A.zeros(6)[{{1, 6, step = 2}}] end,
      ["a[i] = v: one element expected, got shape {6}"] =
        function() A.zeros(6)[1] = A.zeros(6) end,
      ["a[i] = v: element 2: a number expected, got string 'a'"] =
        function() A.zeros {1, 2}[1] = {1, "a"} end,
      ["take: argument 2 (indices): element 1: long expected (an integer " ..
        "from -9223372036854775808 to 9223372036854775807), got number 1.5"] =
        function() A.zeros(6):take {1.5} end,
      ["searchsorted: argument 2 (values): element 1: a number expected, " ..
        "got string 'a'"] =
        function() A.zeros(6):searchsorted {"a"} end,
      ["clamp: argument 3 (high): an array or a number expected, got nil"] =
        function() A.zeros(6):clamp(1) end,
      ["where: argument 3 (b): an array or a number expected, got nil"] =
        function() A.zeros(6):where(1) end,
      ["lerp: argument 1 (a): an array or a number expected, got string 'a'"] =
        function() A.lerp("a", A.zeros(6), 1) end,
      ["array: argument 2 (source): a size expected, got -1"] =
        function() A("float", -1) end,
      ["array: argument 3 (shape): dimension 1: a size expected, got -3"] =
        function() A("float", {1, 2}, {-3}) end,
      ["eye: argument 2 (m): a size expected, got 1.5"] =
        function() A.eye(1, 1.5) end,
      ["tile: argument 2 (times): dimension 1: a size expected, got string "
        .. "'a'"] = function() A.zeros(2):tile {"a"} end,
      ["arange: from 1 to 1e+30 by 1 are too many"] =
        function() A.arange(1, 1e30) end,
      ["map: argument 3 (x): number 1e+300 does not fit float"] = function()
        A.map(function(a, b) return a + b end, A.ones {3}, 1e300)
      end,
      ["linspace: argument 3 (n): a size expected, got nil"] =
        function() A.linspace(0, 1) end,
      ["eye: argument 1 (n): a size expected, got nil"] =
        function() A.eye() end,
      ["array: argument 2 (source): element 2: int expected (an integer " ..
        "from -2147483648 to 2147483647), got number 2.5"] =
        function() A("int", {1, 2.5}) end,
      ["array: argument 2 (source): element 2, 1: char expected (an " ..
        "integer from -128 to 127), got integer 128"] =
          function() A("char", {{1, 2}, {128, 3}}) end,
      ["array: argument 3 (shape): {2, 2} has 4 elements, the array has 3"] =
        function() A("float", {1, 2, 3}, {2, 2}) end,
    } do
      assert.equal(text, said(f))
    end
  end)

  it("is indexed by rows, elements and ranges with steps", function()
    local x = A.arange(24):reshape {2, 3, 4}
    assert.equal(7, x[{1, 2, 3}])
    assert.equal(24, x[{-1, -1, -1}])
    assert.same({{13, 14, 15, 16}, {17, 18, 19, 20}, {21, 22, 23, 24}},
      x[2]:table())
    assert.is_nil(x[3])
    assert.is_nil(x[0])
    assert.equal(8, x[1][2][4])
    assert.same({{2, 4}, {10, 12}}, x[{1, {1, 3, 2}, {2, 4, 2}}]:table())
    assert.same({3, 2, 1}, A.arange(3)[{ {-1, 1, -1} }]:read())
    assert.same({}, A.arange(3)[{ {2, 1} }]:read())
    assert.equal("index 1: {2, 9} is outside 1..3",
      said(function() return A.arange(3)[{ {2, 9} }] end))
    assert.same({}, A.arange(3)[{ {4, 3, 2} }]:read())
    assert.same({}, A.arange(3)[{ {3, 4, -2} }]:read())
    assert.equal("index 1: {3, 1} with a step of 1 has the last before the " ..
      "first", said(function() return A.arange(3)[{ {3, 1} }] end))
    assert.equal("index 2: {1, -1} with a step of -2 has the last before " ..
      "the first", said(function() return x[{ 1, {1, -1, -2} }] end))
    assert.equal("index 1: {1, -9} is outside 1..3",
      said(function() return A.arange(3)[{ {1, -9} }] end))
    assert.equal("index 2: 5 is outside 1..4",
      said(function() return x[1][{1, 5}] end))
    for key, index in pairs {["string 'n'"] = {{}, n = 1}, ["integer 3"] =
      {[3] = 1}, ["number 1.5"] = {1, [1.5] = 2}} do
      local text = "a[{...}]: a list of indices expected, got a field " .. key
      assert.equal(text, said(function() return x[index] end))
      assert.equal(text, said(function() x[index] = 0 end))
    end
    x[{ {}, 1, 1 }] = 0
    assert.equal(0, x[{2, 1, 1}])
    x[1][2] = A("long", {-1, -2, -3, -4})
    assert.same({-1, -2, -3, -4}, x[{1, 2}]:read())
    x[{1, 1, 4}] = 99
    assert.equal(99, x[1][1][4])
    local y = A.arange(5)
    y[2] = 20
    y[{ {2, 5} }] = y[{ {1, 4} }]
    assert.same({1, 1, 20, 3, 4}, y:read())
    assert.equal("a[i] = v: 6 is outside 1..5",
      said(function() y[6] = 1 end))
    assert.equal("an array's index is an integer, got number 1.5",
      said(function() y[1.5] = 1 end))
    local text = "a[{...}]: one index for each dimension of {5} at most, got 2"
    assert.equal(text, said(function() return y[{1, 2}] end))
    assert.equal(text, said(function() y[{1, 2}] = 1 end))
    assert.matches("a real cannot go into elements of long",
      said(function() y:set(A.ones {5}) end))
  end)

  it("takes whole floats as integers in every kind of write",
  function()
    local x = A.zeros({2, 3}, {type = "int"})
    local column = x[{ {}, 1 }]
    x:set(2.0)
    assert.same({2, 2, 2, 2, 2, 2}, x:read())
    x:fill(3.0)
    x[{ {}, 2 }] = 4.0
    x[{1, 3}] = 5.0
    x[x:eq(5)] = 6.0
    column:fill(7.0)
    assert.same({7, 4, 6, 7, 4, 3}, x:read())
    assert.same({7, 8}, column:scatter({2}, 8.0):read())
    assert.same({1, 2, 3}, A.arange(1.0, 3.0, {type = "int"}):read())
    assert.same({1, 3, 5}, A.linspace(1, 5, 3, {type = "int"}):read())
    assert.same({3, 2, 1}, A.arange(3, 1, -1, {type = "uint"}):read())
    local expected = "int expected %%(an integer from %%-2147483648 to "
      .. "2147483647%%), got number 2.5"
    for name, f in pairs {
      ["set: argument 2 %(v%)"] = function() x:set(2.5) end,
      ["fill: argument 2 %(value%)"] = function() x:fill(2.5) end,
      ["a%[i%] = v"] = function() x[1] = 2.5 end,
      ["a%[{%.%.%.}%] = v"] = function() x[{ {}, 1 }] = 2.5 end,
      ["a%[m%] = v"] = function() x[x:eq(1)] = 2.5 end,
      ["scatter: argument 3 %(values%)"] = function()
        column:scatter({1}, 2.5)
      end,
      ["arange: argument 3 %(step%)"] = function()
        A.arange(0, 5, 2.5, {type = "int"})
      end,
      ["linspace: argument 2 %(last%)"] = function()
        A.linspace(0, 2.5, 3, {type = "int"})
      end,
      ["full: argument 2 %(value%)"] =
        function() A.full({1}, 2.5, {type = "int"}) end
    } do
      assert.matches("^" .. name .. ": " .. expected:gsub("%%%%", "%%"),
        said(f))
    end
  end)

  it("keeps the sign of zero", function()
    local x = A("float", {-0.0, -0.4, -0.5, 0.4})
    local function signs(a)
      local list = {}
      for i, v in ipairs(a:read()) do list[i] = 1 / v end
      return list
    end
    local least = -math.huge
    local fused = A.fuse(function(a)
      return a:round() * 1, a:ceil() * 1, a:trunc() * 1
    end)
    for _, list in ipairs {{x:round(), x:ceil(), x:trunc()},
      {fused(x)}}
    do
      assert.same({least, least, least, math.huge}, signs(list[1]))
      assert.same({least, least, least, 1}, signs(list[2]))
      assert.same({least, least, least, math.huge}, signs(list[3]))
    end
    assert.equal(least, signs(x:log1p())[1])
    assert.equal(least, signs(x:expm1())[1])
    assert.equal(least, signs(x:tanh())[1])
    assert.equal(least, signs(x:sinh())[1])
  end)

  it("writes only through set, fill and copy", function()
    local x = A("float", {1, 2, 3})
    x:set(0.5 * x + x)
    assert.same({1.5, 3, 4.5}, x:read())
    assert.equal(x, x:fill(2))
    assert.same({2, 2, 2}, x:read())
    x:copy(lze.buffer("float", {7, 8, 9}))
    local y = x:clone()
    x:fill(0)
    assert.same({7, 8, 9}, y:read())
    assert.same({{7, 8, 9}, {7, 8, 9}}, A.zeros {2, 3}:set(y):table())
    local wide = A.zeros {2, 1}:expand {2, 3}
    assert.equal("set: the indices of dimension 2, which was expanded, are " ..
      "one element; a:clone() has one for each", said(wide.set, wide, y))
    assert.same({{3, 3, 3}, {3, 3, 3}}, wide:fill(3):table())
  end)

  it("closes with its views; a view closes alone", function()
    local x = A("float", {{1, 2}, {3, 4}})
    local row, column, sum, e = x[1], x[{{}, 1}], x:sum(), x + 1
    column:close()
    column:close()
    assert.equal("array: float {2} (closed)", tostring(column))
    assert.equal("set: argument 1 (a): the array is closed",
      said(column.set, column, 1))
    assert.equal("read: argument 1 (a): the array is closed",
      said(column.read, column))
    assert.same({1, 2}, row:read())
    do
      local y <close> = x
      assert.same({2, 2}, y.shape)
    end
    x:close()
    for _, a in ipairs {x, row} do
      assert.equal("read: argument 1 (a): the array is closed", said(a.read, a))
    end
    assert.same({2, 3, 4, 5}, e:read())
    assert.equal(10, sum:item())
    local twice = e * 2
    e:close()
    assert.equal("read: argument 1 (a): the array is closed",
      said(e.read, e))
    assert.same({4, 6, 8, 10}, twice:read())
    local b = lze.buffer("float", {5, 6})
    local over = A("float", b)
    over:close()
    assert.equal("read: argument 1 (a): the array is closed",
      said(over.read, over))
    assert.same({5, 6}, b:read())
    local into = A.zeros(2)
    local what = A.ones(2) + 1
    into:set(what)
    what:close()
    assert.same({2, 2}, into:read())
  end)

  it("converts values to its own type in masked writes", function()
    local u = A("ulong", {1, 2, 3})
    u[u:gt(1)] = A("long", {4, 5, 6})
    assert.same({1, 5, 6}, u:read())
    local c = A("uchar", {1, 2, 3})
    c[c:gt(1)] = A("int", {4, 261, 6})
    assert.same({1, 5, 6}, c:read())
    assert.equal("a[m] = v: a real cannot go into elements of uchar; use :to",
      said(function() c[c:gt(1)] = A.ones(3) end))
  end)

  it("changes shapes without copies if possible", function()
    local x = A.arange(6):reshape {2, 3}
    assert.same({{1, 4}, {2, 5}, {3, 6}}, x:t():table())
    assert.same({1, 4, 2, 5, 3, 6}, x:t():reshape {-1}:read())
    assert.equal("view: argument 1 (a): the array is not contiguous; use " ..
      "reshape",
      said(function() x:t():view {6} end))
    x:view {6}[1] = 100
    assert.equal(100, x[1][1])
    assert.same({4, 2, 3}, A.zeros {2, 3, 4}:permute(3, 1, 2).shape)
    assert.same({{1, 2}, {1, 2}}, A.arange(2):expand {2, 2}:table())
    assert.same({3}, A.zeros {1, 3, 1}:squeeze().shape)
    assert.same({1, 3}, A.zeros {1, 3, 1}:squeeze(3).shape)
    assert.same({3, 2, 1}, A.arange(3):flip():read())
    assert.same({3, 1, 2}, A.arange(3):roll(1):read())
    assert.same({2, 3, 1}, A.arange(3):roll(-1):read())
    assert.same({{2, 1}, {4, 3}}, A.arange(4):reshape {2, 2}:roll(1, 2):table())
    assert.same({1, 2, 1, 2}, A.arange(2):tile(2):read())
    assert.same({{1, 2}, {1, 2}}, A.arange(2):tile {2, 1}:table())
    assert.same({{{1, 2, 1, 2}}, {{1, 2, 1, 2}}},
      A.arange(2):tile {2, 1, 2}:table())
    local many = A.arange(4):reshape {1, 2, 1, 1, 1, 1, 1, 2}
    assert.same({1, 4, 1, 3, 1, 1, 2, 2},
      many:tile {1, 2, 1, 3, 1, 1, 2, 1}.shape)
    assert.same({0, 4}, A.zeros {2, 2}:tile {0, 2}.shape)
    local one = A.arange(2)
    one:tile(1)[1] = 7
    assert.equal(1, one[1])
    assert.same({1, 2, 1, 2, 3}, A.cat({A.arange(2), A.arange(3)}):read())
    assert.same({{1, 2, 1}, {1, 2, 1}},
      A.cat({A.arange(2):expand {2, 2}, A.ones({2, 1}, {type = "int"})}, 2)
        :table())
    assert.same({{1, 1}, {2, 2}},
      A.stack({A.arange(2), A.arange(2)}, 2):table())
    assert.same({{1, 1}, {2, 2}},
      A.stack({A.arange(2), A.arange(2)}, -1):table())
    assert.same({2, 1, 3}, A.stack({A.zeros {2, 3}}, -2).shape)
    assert.matches("stack: argument 2 %(dim%): a dimension of 1 to 2 " ..
      "expected, got %-3",
      said(A.stack, {A.arange(2)}, -3))
    assert.matches("reshape: argument 2 %(shape%): dimensions 1 and 3 are " ..
      "both %-1",
      said(A.reshape, A.zeros {6}, {-1, 2, -1}))
    assert.equal("cat: argument 1 (list): element 2: shapes {2, 2} and {2, " ..
      "3} differ in more " ..
      "than dimension 1", said(A.cat, {A.zeros {2, 2}, A.zeros {2, 3}}))
    assert.same({{1, 1}, {2, 2}},
      A.stack({A.arange(2), A.arange(2)}, -1):table())
    assert.equal("stack: argument 1 (list): element 2: shape {2} expected, " ..
      "got {3}",
      said(A.stack, {A.zeros {2}, A.zeros {3}}))
    assert.equal("stack: argument 2 (dim): a dimension of 1 to 2 expected, " ..
      "got 3",
      said(A.stack, {A.zeros {2}}, 3))
    assert.equal("cat: argument 1 (list): a table of arrays expected, got " ..
      "an empty one", said(A.cat, {}))
    assert.matches("^stack: argument 1 %(list%): a table of arrays " ..
      "expected, got array of float",
      said(A.stack, A.zeros {2}))
    local most = A.zeros {1, 1, 1, 1, 1, 1, 1, 1}
    assert.equal("stack: 9 dimensions; arrays have at most 8",
      said(A.stack, {most, most}))
  end)

  it("refuses tables that are not lists", function()
    assert.equal("array: argument 2 (source): a list expected, got a table " ..
      "with the key string 'n'", said(A, "long", {n = 1}))
    assert.equal("array: argument 2 (source): element 2: a list expected, " ..
      "got a table with the key string 'n'", said(A, "long", {{}, {n = 1}}))
    assert.matches("^take: argument 2 %(indices%): a list expected",
      said(A.take, A.arange(3), {n = 1}))
    assert.equal("linspace: argument 2 (last): a finite number expected, " ..
      "got nil", said(A.linspace, 1))
  end)

  it("clamps to NaN as min and max do", function()
    local nan = 0 / 0
    for _, bounds in ipairs {{nan, 1}, {0, nan}, {nan, nan}} do
      local x = A("float", {-1, 0.5, 2}):clamp(bounds[1], bounds[2])
      for i = 1, 3 do assert.is_true(x[i] ~= x[i]) end
    end
    local low = A("float", {0, nan, 0})
    local x = A("float", {-1, 0.5, 2}):clamp(low, 1)
    assert.equal(0, x[1])
    assert.is_true(x[2] ~= x[2])
    assert.equal(1, x[3])
  end)

  it("has empty views at any position", function()
    local x = A.zeros {3, 0}
    assert.same({0}, x[3].shape)
    assert.same({3, 0}, x:flip().shape)
    assert.same({0, 2}, A.ones {2, 3}[{{3, 2}, {2, 3}}].shape)
    assert.same({0}, A.ones {2, 3}[{2, {4, 3}}].shape)
    assert.same({0, 5}, A.cat({A.zeros {0, 2}, A.zeros {0, 3}}, 2).shape)
    assert.same({2, 0}, A.stack({A.zeros(0), A.zeros(0)}).shape)
    x[3] = 1
    x[{{2, 3}}] = 1
    -- An empty view can replace a buffer, with any steps.
    local none = A.zeros {4, 4}[{{1, 0}, {1, 4, 2}}]
    assert.equal(0, #none.buffer)
    assert.same({0, 3}, none:view({0, 3}).shape)
    assert.equal(0, #lze.buffer("float", 0):copy(none))
  end)

  it("takes integer operands unchanged, and wraps results", function()
    local x = A("uchar", {1, 200, 255})
    assert.same({1, 1, 1}, x:lt(300):read())
    assert.same({1, 1, 1}, x:gt(-1):read())
    assert.same({0, 0, 0}, x:eq(300):read())
    assert.same({0, 0, 0}, (x // 300):read())
    assert.same({45, 244, 43}, (x + 300):read())
    assert.same({44, 44, 44}, x:max(300):read())
    assert.same({1, 200, 255}, x:clamp(-5, 300):read())
    assert.same({1.0}, A("int", {1}):lt(2.0 ^ 70):to "float":read())
  end)

  it("can replace a buffer if it is contiguous", function()
    local x, y = A.ones {4}, A.arange(4):to "float"
    lze.load("kernels/saxpy.spv").saxpy(4, 2, x, y)
    assert.same({3, 4, 5, 6}, y:read())
    lze.kernel(function(i, a) a[i] = a[i] * 10 end)(4, y)
    assert.same({30, 40, 50, 60}, y:read())
    lze.load("kernels/saxpy.spv").saxpy(2, 1, x, y[{ {3, 4} }])
    assert.same({30, 40, 51, 61}, y:read())
    local plan = lze.graph "g":task("t", lze.load("kernels/saxpy.spv").saxpy, 4,
      1, x, y):compile()
    plan:run()
    assert.same({31, 41, 52, 62}, y:read())
    assert.matches("argument 3 %(y%)", said(lze.load("kernels/saxpy.spv").saxpy,
      2, 1, x, y[{ {1, 4, 2} }]))
    assert.same({31, 41, 52, 62}, lze.buffer("float", 4):copy(y):read())
  end)

  it("computes arrays of any rank up to 8, with any strides", function()
    local shape = {2, 1, 3, 2, 1, 2, 2, 2}
    local x = A.arange(96):reshape(shape)
    local y = x:permute(8, 7, 6, 5, 4, 3, 2, 1)
    local list = (y + 0):read()
    local n = 0
    for h = 1, 2 do for g = 1, 2 do for f = 1, 2 do for d = 1, 2 do
      for c = 1, 3 do for a = 1, 2 do
        n = n + 1
        assert.equal(x[{a, 1, c, d, 1, f, g, h}], list[n])
      end end
    end end end end
    assert.matches("9 dimensions; arrays have at most 8",
      said(A.zeros, {1, 1, 1, 1, 1, 1, 1, 1, 1}))
  end)
end)

describe("arrays in a script's own context", function()
  local process = require "spec.support.process"

  -- Each function is called with an array of numbers and an array of indices.
  local operations = {
    elementwise = function(x) return (x * x + 1):sqrt():floor() end,
    comparison = function(x) return x:gt(2) & ~x:eq(3) end,
    conversion = function(x) return x:to "int" // 2 end,
    where = function(x) return A.where(x:gt(2), x, 0):clamp(0, x * 0 + 3) end,
    broadcast = function(x) return x + x[{ {}, {1, 1} }] end,
    sum = function(x) return x:sum() end,
    sums = function(x) return (x + 1):sum {dim = 1} end,
    large_sum = function(x) return x:expand {3000, 2, 3}:clone():mean() end,
    whole_mean = function(_, i) return i:mean() end,
    std = function(x) return x:std() end,
    norm = function(x) return x:norm() end,
    dot = function(x) return x[1]:dot(x[2]) end,
    argmax = function(x) return x:argmax {dim = 2} end,
    cumsum = function(x) return x:cumsum {dim = 2} end,
    large_cumsum = function(x)
      return x:expand {1000, 2, 3}:clone():cumsum()
    end,
    sort = function(x) return x:sort() end,
    large_sort = function(x)
      return x:expand {4000, 2, 3}:clone():reshape {-1}:sort()
    end,
    argsort = function(x) return x:argsort() end,
    topk = function(x) return (x:topk(2)) end,
    unique = function(x) return select(2, x:unique {counts = true}) end,
    searchsorted = function(x)
      return x:reshape {6}:sort():searchsorted {2, 3.5}
    end,
    histogram = function(x) return (x:histogram(3)) end,
    edges = function(x) return select(2, x:histogram(3)) end,
    mm = function(x) return x:mm(x:permute(2, 1)) end,
    mv = function(x) return x:mv(x[1]) end,
    outer = function(x) return x[1]:outer(x[2]) end,
    tril = function(x) return x:tril() end,
    fft = function(x) return A("float", x:fft():ifft()):round() end,
    long_fft = function(x)
      return A("float", x:reshape {6}[{ {1, 5} }]:fft()):round()
    end,
    prime_fft = function(x)
      return A("float", x:expand {11, 2, 3}:reshape {-1, 11}:fft()):round()
    end,
    irfft = function(x) return x:rfft():irfft {n = 3}:round() end,
    conv1d = function(x) return x:conv1d(x[1], {padding = 1}) end,
    conv2d = function(x) return x:conv2d(x) end,
    take = function(x, i) return x:take(i) end,
    take_numbers = function(x) return x:take {1, -1} end,
    take_rows = function(x) return x:take(-1, 1) end,
    gather = function(x) return x:gather {{1, 2}, {3, 1}} end,
    scatter = function(x) return x:scatter({{1}, {3}}, {{9}, {8}}) end,
    mask = function(x) return x[x:gt(2)] end,
    nonzero = function(x) return x:gt(2):nonzero() end,
    cat = function(x) return A.cat {x, A.stack {x[1], x[2]}} end,
    roll = function(x) return x:roll(1) end,
    writes = function(x)
      local y = x:clone()
      y[{ {}, 2 }] = {7, 8}
      y[y:gt(7)] = 0
      y[1] = y[2]
      return y
    end,
    map = function(x)
      return A.map(function(v, w) return v * 2 + w end, x, x[1])
    end,
    filter = function(x) return A.filter(function(v) return v > 2 end, x) end,
    reduce = function(x)
      return A.reduce(function(v, w) return v + w end, 0.0, x)
    end,
    scan = function(x)
      return A.scan(function(v, w) return v + w end, 0.0, x)
    end,
    sort_by = function(x)
      return x:sort {by = function(v, w) return v > w end}
    end
  }

  local numbers, places = {4, 1, 3, 2, 6, 5}, {6, 1, 3}
  local c, x, i

  before_each(function()
    c = lze.context(lze.device())
    x = A("float", lze.buffer("float", numbers, {context = c}), {2, 3})
    i = A("long", lze.buffer("long", places, {context = c}))
  end)

  for name, f in next, operations do
    it("compute in that context: " .. name, function()
      local y = f(x, i)
      assert.equal(c, y.buffer.context)
      local z = f(A("float", numbers):reshape {2, 3}, A("long", places))
      assert.equal(lze.device().context, z.buffer.context)
      assert.same(z.shape, y.shape)
      assert.same(z:read(), y:read())
    end)
  end

  it("have the correct values", function()
    assert.same({9, 3, 7, 5, 13, 11}, (x * 2 + 1):read())
    assert.equal(21, x:sum():item())
    assert.same({4, 5, 8, 10, 16, 21}, x:cumsum():read())
    assert.same({1, 3, 4, 2, 5, 6}, x:sort():read())
    assert.same({{26, 29}, {29, 65}}, x:mm(x:permute(2, 1)):table())
    assert.same({5, 4, 3}, x:take(i):read())
    assert.matches("%[%[4%.0 1%.0 3%.0%]", tostring(x:eval()))
    assert.same({4, 1, 3, 2, 6, 5}, x:clone():read())
  end)

  it("compute in that context, fused and unfused", function()
    for _, word in ipairs {"always", "never"} do
      assert.equal("9.0 3.0 7.0 33.0 true\n", process.output([[
        local lze = require "lze"
        local c = lze.context(lze.device())
        local b = lze.buffer("float", {4, 1, 3}, {context = c})
        local x = lze.array("float", b)
        local y = (x + x) * 1 + 1
        print(y[1] .. " " .. y[2] .. " " .. y[3] .. " " ..
          ((x * x + x) - 1):sum():item() + 2 .. " " ..
          tostring(y.buffer.context == c))
      ]], {env = {LZE_FUSE = word}}))
    end
  end)

  it("are made in that context if it is the default", function()
    assert.equal("2.0 true true true true 3.0\n", process.output([[
      local lze = require "lze"
      local A = lze.array
      local path = os.tmpname() .. ".npy"
      A("float", {1, 2}):save(path)
      local x = A("float", {1, 2})
      local c = lze.context(lze.device())
      local b = lze.buffer("float", {1, 1}, {context = c})
      local old = lze.device().context
      lze.default(c)
      local y = A("float", b) + A.ones {2}
      local function there(a) return tostring(a.buffer.context == c) end
      print(y[1] .. " " .. there(y) .. " " .. there(A.load(path)) .. " " ..
        there(A.rand {2}) .. " " .. tostring((x + 1).buffer.context == old) ..
        " " .. (A("float", {1, 2}) + y)[1])
      os.remove(path)
      os.remove(path:sub(1, -5))
    ]]))
  end)

  it("cannot be mixed with arrays of another context", function()
    local y = A.ones {2, 3}
    for text, f in next, {
      ["a + b: a and b are in different contexts"] = function()
        return x + y
      end,
      ["a / b: a and b are in different contexts"] = function()
        return (x + 1) / (y * 2)
      end,
      ["a:gt(b): a and b are in different contexts"] = function()
        return y:gt(x)
      end,
      ["clamp: a and high are in different contexts"] = function()
        return x:clamp(0, y)
      end,
      ["where: c and b are in different contexts"] = function()
        return A.where(x:gt(2), 1, y)
      end,
      ["mm: a and b are in different contexts"] = function()
        return y:mm(x:permute(2, 1))
      end,
      ["mv: a and x are in different contexts"] = function()
        return y:mv(x[1])
      end,
      ["dot: a and b are in different contexts"] = function()
        return x[1]:dot(y[1])
      end,
      ["conv1d: a and kernel are in different contexts"] = function()
        return y:conv1d(x[1])
      end,
      ["take: a and the indices are in different contexts"] = function()
        return y:take(i)
      end,
      ["searchsorted: a and values are in different contexts"] = function()
        return y[1]:searchsorted(x)
      end,
      ["a[m]: a and m are in different contexts"] = function()
        return y[x:gt(2)]
      end,
      ["a[m] = v: a and m are in different contexts"] = function()
        y[x:gt(2)] = 0
      end,
      ["cat: element 1 and element 3 are in different contexts"] = function()
        return A.cat {y, y, x}
      end,
      ["map: argument 2 and argument 4 are in different contexts"] = function()
        return A.map(function(u, v, w) return u + v + w end, x, 1, y)
      end,
      ["copy: the array and what is put into it are in different contexts"] =
        function() y:copy(x) end,
      ["g:array: dst and the expression are in different contexts"] = function()
        lze.graph():array("t", y, x + 1)
      end
    } do
      assert.equal(text, said(f))
    end
    assert.same({1, 1, 1, 1, 1, 1}, y:read())
  end)

  it("take elements from another context through buffer:copy", function()
    local y = A.arange(6):to "float"
    x.buffer:copy(y.buffer)
    assert.same({2, 4, 6, 8, 10, 12}, (x + x):read())
  end)
end)
