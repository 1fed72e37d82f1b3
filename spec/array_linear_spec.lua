-- array_linear_spec.lua - mm, mv, outer, trace, tril, triu.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"
local A = lze.array
local inside = require "spec.support.inside"

local said = require "spec.support.expect".said

local all = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
  "half", "bfloat16", "float"}
if lze.device().fp64 then all[#all + 1] = "double" end
local widest = all[#all]

-- Small whole numbers, whose products are exact in every type.
local function numbers(kind, shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  local t = {}
  for i = 1, n do t[i] = i * 7 % 5 - (kind:find "^u" and 0 or 2) end
  if n == 0 then return A.zeros(shape, {type = kind}) end
  return A(kind, t, shape)
end

local function product(x, y, m, k, n)
  local t = {}
  for i = 1, m do
    t[i] = {}
    for j = 1, n do
      local sum = 0
      for l = 1, k do sum = sum + x[i][l] * y[l][j] end
      t[i][j] = sum
    end
  end
  return t
end

describe("mm", function()
  it("multiplies matrices of every type", function()
    for _, kind in ipairs(all) do
      local x, y = numbers(kind, {5, 9}), numbers(kind, {9, 18})
      local z = x:mm(y)
      assert.same(product(x:table(), y:table(), 5, 9, 18), z:table())
      local real = kind == "half" or kind == "bfloat16" or kind == "float" or
        kind == "double"
      assert.equal(real and kind or "long", z.type)
    end
    local half = A.ones({1, 2}, {type = "half"})
    assert.equal("float", half:mm(A.ones{2, 1}).type)
    assert.equal(widest,
      A.ones({1, 2}, {type = "int"}):mm(A.ones({2, 1}, {type = widest})).type)
  end)

  it("gives the same bits with a GPU's work-groups", function()
    -- Sizes around a tile of 64 x 64 and 16 indices; operands in any order, and
    -- one for all matrices of the other.
    local script = [[
      local lze = require "lze"
      local A = lze.array
      local function sum_of(z)
        local sum = 0
        for i, v in ipairs(z:reshape{-1}:table()) do
          sum = sum * 31 + string.unpack("<I8", string.pack(
            math.type(v) == "float" and "<d" or "<i8", v)) + i
        end
        return sum
      end
      local function numbers(kind, ...)
        local shape, n = {...}, 1
        for _, size in ipairs(shape) do n = n * size end
        local x = A.arange(n) * 7919 % 101 - 50
        if kind ~= "int" then x = x:to "float" * 0.37 end
        return x:to(kind):reshape(shape)
      end
      for _, kind in ipairs {"float", "int"} do
        for _, s in ipairs {{1, 1, 1}, {64, 16, 64}, {65, 17, 63},
                            {63, 15, 65}, {3, 33, 130}, {129, 5, 2},
                            {3, 1100, 5}, {2, 1024, 3}} do
          local x, y = numbers(kind, s[1], s[2]), numbers(kind, s[2], s[3])
          print(kind, sum_of(x:mm(y)), sum_of(y:t():mm(x:t())))
        end
        local x, y = numbers(kind, 2, 3, 20, 70), numbers(kind, 70, 66)
        print(kind, sum_of(x:mm(y)), sum_of(y:t():mm(x[1]:permute{1, 3, 2})))
      end
      print(A("uint", {{(1 << 32) - 1}}):mm(A("float", {{0.5}})))
    ]]
    local function bits(gpu)
      return process.output(script, {env = {ZOCL_GPU = gpu}})
    end
    assert.equal(bits(false), bits "1")
  end)

  it("multiplies matrices of sizes near a tile's", function()
    for _, s in ipairs {{1, 1, 1}, {4, 1, 16}, {3, 2, 15}, {5, 3, 17},
                        {8, 4, 32}, {1, 40, 33}, {33, 7, 1}, {12, 64, 48}} do
      local x = numbers("float", {s[1], s[2]})
      local y = numbers("float", {s[2], s[3]})
      assert.same(product(x:table(), y:table(), s[1], s[2], s[3]),
        A.mm(x, y):table())
    end
  end)

  it("reads views", function()
    local x, y = numbers("float", {6, 10}), numbers("float", {7, 12})
    local a, b = x:t()[{{-1, 1, -2}, {2, 5}}], y:flip(1)[{{1, 4}, {3, 9}}]
    assert.same({5, 4}, a.shape)
    assert.same(product(a:table(), b:table(), 5, 4, 7), a:mm(b):table())
    local wide = A("float", {1, 2, 3}):expand {4, 3}
    assert.same(product(wide:table(), wide:t():table(), 4, 3, 4),
      wide:mm(wide:t()):table())
  end)

  it("broadcasts the dimensions before the last two", function()
    local x, y = numbers("float", {2, 1, 3, 4}), numbers("float", {5, 4, 6})
    local z = x:mm(y)
    assert.same({2, 5, 3, 6}, z.shape)
    for i = 1, 2 do
      for j = 1, 5 do
        assert.same(product(x[{i, 1}]:table(), y[j]:table(), 3, 4, 6),
          z[{i, j}]:table())
      end
    end
    local one = numbers("int", {4, 2})
    local several = numbers("int", {3, 5, 4})
    local w = several:mm(one)
    for i = 1, 3 do
      assert.same(product(several[i]:table(), one:table(), 5, 4, 2),
        w[i]:table())
    end
    w = several:permute {1, 3, 2}:mm(several)
    assert.same({3, 4, 4}, w.shape)
    assert.same(several[3]:t():mm(several[3]):table(), w[3]:table())
  end)

  it("sums in index order without rounding the products",
    function()
      if not lze.device().fp64 then
        return pending "the device has no double"
      end
      local x, y = A.rand({3, 50}, {type = "double"}), A.rand({50, 4},
        {type = "double"})
      local a, b, c = x:table(), y:table(), x:mm(y):table()
      for i = 1, 3 do
        for j = 1, 4 do
          local sum = 0.0
          for l = 1, 50 do sum = lze.work.fma(a[i][l], b[l][j], sum) end
          assert.equal(sum, c[i][j])
        end
      end
      local whole = x:mm(A.cat({y, y, y, y, y}, 2))
      for i = 1, 5 do
        assert.same(c, whole[{{}, {i * 4 - 3, i * 4}}]:table())
      end
    end)

  it("gives the same bits for small matrices as in large ones", function()
    for _, kind in ipairs {"float", "half", "int", "long"} do
      for _, k in ipairs {1, 17, 513} do
        local x = A.randint({60, k}, -99, 99, {type = kind}) / 64
        local y = A.randint({k, 60}, -99, 99, {type = kind}) / 100
        if kind == "int" or kind == "long" then
          x, y = x:to(kind), y:to(kind)
        end
        local whole = x:mm(y)
        local u, v = x[{ {4, 10}, {} }], y[{ {}, {-3, 50, -2} }]
        assert.same(whole[{ {4, 10}, {-3, 50, -2} }]:table(), u:mm(v):table())
        assert.same(whole[{ {4, 10}, {-3, 50, -2} }]:t():table(),
          v:t():mm(u:t()):table())
      end
    end
  end)

  -- Ones that are added one by one to a float of 2^24 are all lost.
  it("adds up floats in blocks, as do mv, trace and conv1d", function()
    local n = 2048
    local large = A.ones {n}
    large[1] = 2.0^24
    local ones, square = A.ones {n}, A.zeros {n, n}
    for name, sum in pairs {
      mm = large:reshape {1, n}:mm(ones:reshape {n, 1}),
      mm_right = ones:reshape {1, n}:mm(large:reshape {n, 1}),
      mv = large:reshape {1, n}:mv(ones),
      conv1d = large:conv1d(ones),
      conv1d_step = large:conv1d(ones, {stride = 2}),
      conv2d = large:reshape {32, 64}:conv2d(ones:reshape {32, 64}),
      trace = (square + large:reshape {n, 1}):trace()
    } do
      local far = 2^24 + n - sum:item()
      assert.is_true(math.abs(far) <= n / 4, name .. " " .. far)
    end
  end)

  it("gives results without elements, and sums of no elements", function()
    assert.same({0, 3}, A.zeros{0, 2}:mm(A.zeros{2, 3}).shape)
    assert.same({2, 0}, A.zeros{2, 2}:mm(A.zeros{2, 0}).shape)
    assert.same({{0, 0, 0}, {0, 0, 0}}, A.ones{2, 0}:mm(A.ones{0, 3}):table())
    assert.same({0, 2, 2}, A.zeros{0, 2, 2}:mm(A.zeros{2, 2}).shape)
  end)

  it("reports shapes that do not fit", function()
    local x = A.zeros{3, 4}
    assert.equal("mm: shapes {3, 4} and {5, 6} do not fit (4 columns, 5 rows)",
      said(x.mm, x, A.zeros{5, 6}))
    assert.equal("mm: argument 2 (b): 2 dimensions or more expected, got shape "
      .. "{4}", said(x.mm, x, A.zeros{4}))
    assert.equal("mm: argument 2 (b): array expected, got number 2.5",
      said(x.mm, x, 2.5))
    assert.equal("mm: argument 1 (a): array expected, got nil", said(A.mm))
    assert.equal("mm: the dimensions before the last two: shapes {2} and {3} "
      .. "do not broadcast (dimension 1: 2 and 3)",
      said(A.mm, A.zeros{2, 3, 4}, A.zeros{3, 4, 5}))
    assert.equal("mm: ulong with int has no type for its results; use :to",
      said(A.mm, A.zeros({1, 1}, {type = "ulong"}),
        A.zeros({1, 1}, {type = "int"})))
  end)
end)

describe("mm of large matrices", function()
  -- Whole numbers, whose sums are exact in any order.
  local function whole(shape, kind)
    return A.randint(shape, -9, 9, {type = "int"}):to(kind)
  end

  -- Multiplies in two parts, each of which is too small for a library.
  local function halves(a, b)
    local half = b.shape[#b.shape - 1] // 2
    local columns, rows = {{1, half}}, {{1, half}, {}}
    local more, further = {{half + 1, -1}}, {{half + 1, -1}, {}}
    while #columns < #a.shape do
      table.insert(columns, 1, {})
      table.insert(more, 1, {})
    end
    while #rows < #b.shape do
      table.insert(rows, 1, {})
      table.insert(further, 1, {})
    end
    return a[columns]:mm(b[rows]) + a[more]:mm(b[further])
  end

  local function check(a, b)
    assert.equal(0, (a:mm(b) - halves(a, b)):abs():max():item())
  end

  it("agrees with mm of small ones for views and batches", function()
    A.seed(9)
    for _, kind in ipairs {"float", widest} do
      local big = whole({330, 340}, kind)
      local a, b = big[{{1, 130}, {3, 152}}], big[{{1, 150}, {5, 140}}]
      check(a, b)
      check(b:t(), a:t())
      check(big[{{150, 1, -1}, {1, 140}}]:t(), b)
      check(big[{{1, 300, 2}, {1, 140}}], big[{{1, 140}, {2, 302, 2}}])
      check(whole({3, 90, 100}, kind), whole({100, 90}, kind))
      check(whole({100, 90}, kind), whole({3, 90, 100}, kind))
      check(whole({2, 1, 90, 80}, kind), whole({3, 80, 90}, kind))
      check(whole({2, 80, 130}, kind):matrix_transpose(),
        whole({2, 80, 130}, kind))
      check(whole({1, 2000}, kind), whole({2000, 1100}, kind))
      check(whole({2000, 1100}, kind), whole({1100, 1}, kind))
    end
  end)

  it("waits for the operands and for later changes of them", function()
    local a = whole({160, 160}, "float")
    local b = (a * 2):mm(a + 1)
    a:fill(0)
    assert.equal(0, a:mm(a):sum():item())
    assert.is_true(b:abs():sum():item() > 0)
  end)

  it("says what computed it", function()
    local info = lze.info()
    local tuned = lze.device().software and
      (info:match "\nLAPACK: (OpenBLAS), " or info:match "\nLAPACK: (MKL), " or
       info:match "\nLAPACK: (BLIS), ")
    local a = A.ones {128, 128}
    assert.equal("float {128, 128}: computed" ..
      (tuned and " by sgemm of " .. tuned or ""), a:mm(a):explain())
    assert.equal("float {127, 127}: computed",
      A.ones {127, 127}:mm(A.ones {127, 127}):explain())
    assert.equal("long {128, 128}: computed",
      a:to "int":mm(a:to "int"):explain())
    assert.equal("float {128, 128}: computed\n", process.output([[
      local A = require "lze".array
      local a = A.ones {128, 128}
      print(a:mm(a):explain())]], {env = {LZE_LIBRARIES = "off"}}))
  end)
end)

describe("mv", function()
  it("multiplies a matrix and a vector of every type", function()
    for _, kind in ipairs(all) do
      for _, depth in ipairs {1, 7, 8, 19} do
        local x, y = numbers(kind, {5, depth}), numbers(kind, {depth})
        local a, b, t = x:table(), y:read(), {}
        for i = 1, 5 do
          t[i] = 0
          for l = 1, depth do t[i] = t[i] + a[i][l] * b[l] end
        end
        assert.same(t, x:mv(y):read())
      end
    end
  end)

  it("reads views, and gives sums of no elements", function()
    local x = numbers("float", {6, 4})
    local y = A("float", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    local a, b = x:t():table(), y[{{12, 2, -2}}]:read()
    local t = {}
    for i = 1, 4 do
      t[i] = 0
      for l = 1, 6 do t[i] = t[i] + a[i][l] * b[l] end
    end
    assert.same(t, x:t():mv(y[{{12, 2, -2}}]):read())
    assert.same({0, 0}, A.zeros{2, 0}:mv(A.zeros{0}):read())
    assert.same({}, A.zeros{0, 2}:mv(A.zeros{2}):read())
  end)

  it("reports shapes that do not fit", function()
    local x = A.zeros{3, 4}
    assert.equal("mv: shapes {3, 4} and {3} do not fit (4 columns, 3 elements)",
      said(x.mv, x, A.zeros{3}))
    assert.equal("mv: argument 1 (a): 2 dimensions expected, got shape {3}",
      said(A.mv, A.zeros{3}, A.zeros{3}))
    assert.equal("mv: argument 2 (x): 1 dimension expected, got shape {3, 4}",
      said(x.mv, x, x))
  end)
end)

describe("outer", function()
  it("multiplies every element of one by every element of the other", function()
    local x, y = A("int", {1, 2, 3}), A("float", {4, 5})
    local z = x:outer(y)
    assert.equal("float", z.type)
    assert.same({{4, 5}, {8, 10}, {12, 15}}, z:table())
    assert.equal("int", A.outer(x, x[{{3, 1, -2}}]).type)
    assert.same({{3, 1}, {6, 2}, {9, 3}}, x:outer(x[{{3, 1, -2}}]):table())
    assert.same({3, 0}, x:outer(A.zeros{0}).shape)
    assert.same({0, 3}, A.zeros{0}:outer(x).shape)
    assert.equal("outer: argument 2 (b): 1 dimension expected, got shape "
      .. "{1, 1}", said(A.outer, x, A.zeros{1, 1}))
  end)
end)

describe("trace", function()
  it("sums the diagonal", function()
    for _, kind in ipairs(all) do
      local x = numbers(kind, {4, 6})
      local t, sum = x:table(), 0
      for i = 1, 4 do sum = sum + t[i][i] end
      assert.equal(sum, x:trace():item())
      assert.equal(sum, x:t():trace():item())
      sum = 0
      for i = 1, 4 do sum = sum + t[5 - i][i] end
      assert.equal(sum, x:flip(1):trace():item())
    end
    assert.same({}, A.eye(3):trace().shape)
    assert.equal("long", A.eye(3, {type = "uchar"}):trace().type)
    assert.equal("half", A.eye(3, {type = "half"}):trace().type)
    assert.equal(math.huge,
      A("float", {{math.huge, 1}, {2, 3}}):trace():item())
    assert.equal(0, A.zeros{0, 4}:trace():item())
    assert.equal("trace: argument 1 (a): 2 dimensions or more expected, "
      .. "got shape {2}",
      said(A.trace, A.zeros{2}))
  end)
end)

describe("tril and triu", function()
  local function cut(t, keep)
    local out = {}
    for i, row in ipairs(t) do
      out[i] = {}
      for j, v in ipairs(row) do out[i][j] = keep(i, j) and v or 0 end
    end
    return out
  end

  it("keep the elements on one side of a diagonal", function()
    for _, kind in ipairs(all) do
      local x = A(kind, {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}})
      assert.equal(kind, x:tril().type)
      for k = -4, 5 do
        assert.same(cut(x:table(), function(i, j) return j - i <= k end),
          x:tril(k):table())
        assert.same(cut(x:t():table(), function(i, j) return j - i >= k end),
          x:t():triu(k):table())
      end
    end
    local x = A("float", {{1, 0 / 0}, {math.huge, 2}})
    assert.same({{1, 0}, {math.huge, 2}}, x:tril():table())
    assert.same({{1, 0}, {0, 2}}, A.triu(x:tril()):table())
  end)

  it("work on the last two dimensions, and keep masks", function()
    local x = numbers("int", {2, 3, 4, 4})
    local y = x:triu(1)
    for i = 1, 2 do
      for j = 1, 3 do
        assert.same(cut(x[{i, j}]:table(), function(r, c) return c > r end),
          y[{i, j}]:table())
      end
    end
    local mask = A.ones({3, 3}):gt(0):tril()
    assert.is_true(inside(mask).mask)
    assert.same({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}, mask:table())
    assert.same({2, 0, 3}, A.zeros{2, 0, 3}:triu().shape)
    assert.equal("tril: argument 2 (k): an integer expected, got 0.5",
      said(A.tril, x, 0.5))
    assert.equal("triu: argument 1 (a): 2 dimensions or more expected, got "
      .. "shape {3}", said(A.triu, A.zeros{3}))
  end)
end)
