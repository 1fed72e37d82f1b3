-- array_signal_spec.lua - conv1d, conv2d, complex arrays, fft and related
-- functions.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local said = require "spec.support.expect".said

-- Returns numbers from -1 to 1, from a linear congruential generator.
local state = 1
local function numbers(n)
  local t = {}
  for i = 1, n do
    state = (state * 1103515245 + 12345) % (1 << 31)
    t[i] = state / (1 << 30) - 1
  end
  return t
end

-- The device's types, and the accuracy of its real types.
local all = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
  "half", "bfloat16", "float"}
local accuracy = {float = 5e-7}
if lze.device().fp64 then
  all[#all + 1] = "double"
  accuracy.double = 1e-14
end
local widest = all[#all]

describe("conv1d", function()
  local function expected(x, k, stride, padding)
    local t = {}
    for i = 1 - padding, #x + padding - #k + 1, stride do
      local sum = 0
      for j = 1, #k do sum = sum + (x[i + j - 1] or 0) * k[j] end
      t[#t + 1] = sum
    end
    return t
  end

  it("moves a kernel of every type without reversing it", function()
    for _, kind in ipairs(all) do
      local r = A(kind, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}):conv1d(
        A(kind, {1, 2, 3}))
      assert.same(expected({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, {1, 2, 3}, 1, 0),
        r:read())
      local real = kind == "half" or kind == "bfloat16" or kind == "float" or
        kind == "double"
      assert.equal(real and kind or "long", r.type)
    end
  end)

  it("pads and strides", function()
    for _, n in ipairs {1, 2, 7, 8, 9, 30} do
      local x = {}
      for i = 1, n do x[i] = i * i % 11 end
      for _, k in ipairs {{2}, {1, -1}, {1, 2, 4, 8, 16}} do
        for stride = 1, 4 do
          for padding = 0, 3 do
            if #k <= n + 2 * padding then
              assert.same(expected(x, k, stride, padding), A("float", x):conv1d(
                A("float", k), {stride = stride, padding = padding}):read())
            end
          end
        end
      end
    end
  end)

  it("works on each row, and on views", function()
    local x = A("int", {{1, 2, 3, 4}, {5, 6, 7, 8}})
    local k = A("int", {1, 10, 100, 1000})
    assert.same({{21, 32, 43}, {65, 76, 87}}, x:conv1d(k[{{1, 2}}]):table())
    assert.same({{51}, {62}, {73}, {84}}, x:t():conv1d(k[{{1, 2}}]):table())
    assert.same({{1234}, {5678}}, x:conv1d(k:flip()):table())
    assert.same({{51}, {62}, {73}, {84}}, A.conv1d(x:reshape {2, 4}:t(),
      A("float", {1, 10})):to "int":table())
    assert.same({0, 3}, A.zeros{0, 4}:conv1d(A.ones {2}).shape)
    assert.same({0, 0}, A.zeros{0}:conv1d(A.ones {1}, {padding = 1}):read())
  end)

  it("reports wrong arguments", function()
    local x = A.zeros{5}
    assert.equal("conv1d: argument 2 (kernel): array expected, got nil",
      said(x.conv1d, x))
    assert.equal("conv1d: argument 2 (kernel): 1 dimension expected, got shape "
      .. "{1, 1}", said(x.conv1d, x, A.zeros{1, 1}))
    assert.equal("conv1d: argument 1 (a): 1 dimension or more expected, got "
      .. "shape {}", said(A.conv1d, A.zeros {}, x))
    assert.equal("conv1d: argument 2 (kernel): shape {6} does not fit into "
      .. "shape {5} with its padding", said(x.conv1d, x, A.zeros{6}))
    assert.equal("conv1d: argument 2 (kernel): has no elements",
      said(x.conv1d, x, A.zeros{0}))
    assert.equal("conv1d: argument 3 (options): stride: an integer of 1 or "
      .. "more expected, got 0",
      said(x.conv1d, x, x, {stride = 0}))
    assert.equal("conv1d: argument 3 (options): padding: an integer of 0 or "
      .. "more expected, got table",
      said(x.conv1d, x, x, {padding = {1}}))
    assert.equal(("conv1d: argument 3 (options): padding: %d is too much")
      :format(math.maxinteger),
      said(x.conv1d, x, x, {padding = math.maxinteger}))
    assert.same({3.0}, A.ones {10}:conv1d(A.ones {3}, {stride = 1 << 30})
      :read())
    -- Long strides use no more memory than the elements that are read.
    local long = A.ones {16, 50003}
    collectgarbage "stop"
    local bytes = lze.stats().bytes
    local sums = long:conv1d(A("float", {1, 2, 3}), {stride = 50000}):read()
    bytes = lze.stats().bytes - bytes
    collectgarbage "restart"
    assert.same(A.full({32}, 6.0):read(), sums)
    assert.is_true(bytes < 4 * long.size)
    assert.equal("conv1d: argument 3 (options): unknown option pad; there " ..
      "are stride, padding",
      said(x.conv1d, x, x, {pad = 0}))
  end)
end)

describe("conv2d", function()
  local function expected(x, k, down, step, above, before)
    local t = {}
    for i = 1 - above, #x + above - #k + 1, down do
      local row = {}
      for j = 1 - before, #x[1] + before - #k[1] + 1, step do
        local sum = 0
        for u = 1, #k do
          for v = 1, #k[1] do
            sum = sum + ((x[i + u - 1] or {})[j + v - 1] or 0) * k[u][v]
          end
        end
        row[#row + 1] = sum
      end
      t[#t + 1] = row
    end
    return t
  end

  it("moves a kernel over rows and columns", function()
    local x = {}
    for i = 1, 7 do
      x[i] = {}
      for j = 1, 10 do x[i][j] = i * j * j % 13 end
    end
    local k = {{1, 2, -1}, {3, 0, 5}}
    for _, o in ipairs {{1, 1, 0, 0}, {2, 1, 0, 0}, {1, 3, 0, 0}, {1, 1, 2, 1},
                        {3, 2, 1, 4}} do
      local options = {stride = {o[1], o[2]}, padding = {o[3], o[4]}}
      assert.same(expected(x, k, table.unpack(o)),
        A("float", x):conv2d(A("float", k), options):table())
      assert.same(expected(x, k, table.unpack(o)),
        A("int", x):conv2d(A("short", k), options):table())
    end
    assert.same(expected(x, k, 2, 2, 1, 1), A(widest, x):conv2d(A("int", k),
      {stride = 2, padding = 1}):table())
  end)

  it("works on each of several matrices, and on views", function()
    local x = A.arange(2 * 3 * 5 * 6):reshape {2, 3, 5, 6} % 7
    local k = A("long", {{1, 2}, {3, 4}, {5, 6}})
    local y = x:conv2d(k)
    assert.same({2, 3, 3, 5}, y.shape)
    for i = 1, 2 do
      for j = 1, 3 do
        assert.same(expected(x[{i, j}]:table(), k:table(), 1, 1, 0, 0),
          y[{i, j}]:table())
        assert.same(expected(x[{i, j}]:t():table(), k:t():flip():table(), 1, 1,
          0, 0), x[{i, j}]:t():conv2d(k:t():flip()):table())
      end
    end
    assert.equal("conv2d: argument 3 (options): stride: an integer of 1 or "
      .. "more or two of them expected, got 0",
      said(A.conv2d, x, k, {stride = 0}))
    assert.equal("conv2d: argument 1 (a): 2 dimensions or more expected, got "
      .. "shape {3}", said(A.conv2d, A.zeros{3}, k))
    assert.equal("conv2d: argument 2 (kernel): shape {3, 2} does not fit "
      .. "into shape {1, 4} with its padding",
      said(A.conv2d, A.zeros{2, 1, 4}, k))
  end)
end)

local complex = {float = "complex64", double = "complex128"}

describe("complex arrays", function()
  it("are made from pairs, and return pairs", function()
    for scalar in pairs(accuracy) do
      local kind = scalar .. "2"
      local z = A(kind, {{1, 2}, {3, 4}, {5, 6}})
      assert.equal(complex[scalar], z.type)
      assert.equal(kind, z.buffer.type)
      assert.same({3}, z.shape)
      assert.same({5, 6}, {table.unpack(z[3])})
      assert.same({{1, 2}, {3, 4}, {5, 6}}, z:table())
      assert.same({{0, 0}, {0, 0}}, A(kind, 2):read())
      local x = A(scalar, z)
      assert.same({3, 2}, x.shape)
      assert.same({{1, 2}, {3, 4}, {5, 6}}, x:table())
      x[{1, 1}] = 9
      assert.same({1, 2}, {table.unpack(z[1])})
      assert.same({{9, 2}, {3, 4}, {5, 6}}, A(kind, x):table())
      assert.same({{1, 3}, {3, 5}},
        A(kind, A("int", {{1, 3}, {3, 5}})):table())
      local b = lze.buffer(kind, {{1, 2}})
      assert.same({{1, 2}}, A(kind, b):table())
    end
  end)

  it("have views, and can be copied and assigned", function()
    local z = A("float2", {{1, 2}, {3, 4}, {5, 6}, {7, 8}})
    assert.same({{7, 8}, {5, 6}, {3, 4}, {1, 2}}, z:flip():read())
    assert.same({{{1, 2}, {5, 6}}, {{3, 4}, {7, 8}}},
      z:reshape {2, 2}:t():table())
    assert.same({{1, 2}, {5, 6}}, A("float", z[{{1, 3, 2}}]):table())
    assert.same({{3, 4}, {3, 4}}, z[{{2, 2}}]:expand {2}:read())
    local c = z:clone()
    z[1] = {0, -1}
    z[{2}] = {0, -2}
    z[{{3, 4}}] = c[{{1, 2}}]
    assert.same({{0, -1}, {0, -2}, {1, 2}, {3, 4}}, z:read())
    z:set {{1, 1}, {2, 2}, {3, 3}, {4, 4}}
    z[{{2, 4}}] = z[{{1, 3}}]
    assert.same({{1, 1}, {1, 1}, {2, 2}, {3, 3}}, z:read())
    assert.same({{1, 1}, {1, 1}, {2, 2}, {3, 3}, {1, 2}},
      A.cat {z, c[{{1, 1}}]}:read())
  end)

  it("are refused by functions of reals, which name the type", function()
    local z = A("float2", {{1, 2}})
    local told = ": real numbers expected, got complex64; real, imag, abs and "
      .. "angle give some"
    for what, f in pairs {
      ["~a: integers expected, got complex64"] = function() return ~z end,
      ["a & b: a" .. told] = function() return z & 1 end,
      ["a // b: a" .. told] = function() return z // 1 end,
      ["a % b: b" .. told] = function() return 1 % z end,
      ["a:lt(b): a" .. told] = function() return z:lt(z) end,
      ["floor: argument 1 (a)" .. told] = function() return z:floor() end,
      ["to: argument 1 (a)" .. told] = function() return z:to "float" end,
      ["clamp: argument 1 (a)" .. told] = function() return z:clamp(0, 1) end
    } do
      assert.equal(what, said(f))
    end
    for _, name in ipairs {"min", "argmax", "cummax", "sort", "median"} do
      assert.equal(name .. ": argument 1 (a)" .. told, said(z[name], z))
    end
    local m, one = A("float2", {{{1, 2}}}), A("float2", {{1, 2}})
    for name, f in pairs {
      conv1d = function() return one:conv1d(one) end,
      conv2d = function() return m:conv2d(m) end
    } do
      assert.equal(name .. ": argument 1 (a)" .. told, said(f))
    end
    assert.equal("set: argument 2 (v): complex64 cannot go into elements of "
      .. "int; real, imag, abs and angle give reals",
      said(A.set, A("int", 1), z))
    assert.equal("array: argument 2 (source): complex64: a last dimension of "
      .. "2, the real and the imaginary parts, expected, got shape {3}",
      said(A, "float2", A.ones {3}))
  end)
end)

-- Returns the discrete Fourier transform of pairs, by its definition.
local function dft(x, sign)
  local n, t = #x, {}
  local cos, sin = {}, {}
  for q = 0, n - 1 do
    cos[q] = math.cos(2 * math.pi * q / n)
    sin[q] = -sign * math.sin(2 * math.pi * q / n)
  end
  for k = 0, n - 1 do
    local re, im = 0, 0
    for j = 0, n - 1 do
      local q = j * k % n
      re = re + x[j + 1][1] * cos[q] - x[j + 1][2] * sin[q]
      im = im + x[j + 1][1] * sin[q] + x[j + 1][2] * cos[q]
    end
    t[k + 1] = {re, im}
  end
  return t
end

local function pairs_like(n)
  local x, re, im = {}, numbers(n), numbers(n)
  for i = 1, n do x[i] = {re[i], im[i]} end
  return x
end

-- Returns the root mean square of the differences, relative to the values.
local function difference(expected, got)
  assert.equal(#expected, #got)
  local sum, all_of_it = 0, 0
  for i, v in ipairs(expected) do
    for part = 1, 2 do
      sum = sum + (v[part] - got[i][part]) ^ 2
      all_of_it = all_of_it + v[part] ^ 2
    end
  end
  return math.sqrt(sum / all_of_it)
end

local lengths = {25, 32, 42, 49, 60, 64, 97, 100, 121, 128, 210, 243, 256, 337,
  512}
for n = 1, 24 do table.insert(lengths, n, n) end

describe("fft and ifft", function()
  it("transform by the definition, for many lengths", function()
    for _, n in ipairs(lengths) do
      local x = pairs_like(n)
      local forwards, backwards = dft(x, 1), dft(x, -1)
      for i = 1, n do
        backwards[i] = {backwards[i][1] / n, backwards[i][2] / n}
      end
      for scalar, most in pairs(accuracy) do
        local kind = scalar .. "2"
        local z = A(kind, x)
        local y = z:fft()
        assert.equal(complex[scalar], y.type)
        assert.same({n}, y.shape)
        local e = difference(forwards, y:read())
        assert.is_true(e < most, ("fft of %d %s: %g"):format(n, kind, e))
        e = difference(backwards, z:ifft():read())
        assert.is_true(e < most, ("ifft of %d %s: %g"):format(n, kind, e))
      end
    end
  end)

  it("transform lines along any dimension, and views", function()
    local rows = {}
    for i = 1, 3 do rows[i] = pairs_like(10) end
    local z = A("float2", rows)
    local y = z:fft()
    assert.same({3, 10}, y.shape)
    for i = 1, 3 do
      assert.is_true(difference(dft(rows[i], 1), y[i]:read()) < 5e-7)
    end
    assert.same(y:t():table(), z:t():fft({dim = 1}):table())
    local box = z:reshape {3, 2, 5}
    local along = box:fft {dim = -2}
    assert.same({3, 2, 5}, along.shape)
    for i = 1, 3 do
      for j = 1, 5 do
        assert.is_true(difference(dft({rows[i][j], rows[i][5 + j]}, 1),
          along[{i, {}, j}]:read()) < 5e-7)
      end
    end
    assert.is_true(difference(dft({rows[1][9], rows[1][6], rows[1][3]}, 1),
      z[1][{{9, 3, -3}}]:fft():read()) < 5e-7)
  end)

  it("take reals of every type, and leave their operands unchanged", function()
    local x, p = {3, 1, 4, 1, 5}, {}
    for i, v in ipairs(x) do p[i] = {v, 0} end
    for _, kind in ipairs(all) do
      local a = A(kind, x)
      local y = a:fft()
      assert.equal(complex[kind] or "complex64", y.type)
      assert.is_true(difference(dft(p, 1), y:read()) < 5e-7)
      assert.same(x, a:read())
    end
    for _, n in ipairs {1, 2, 8, 11} do
      local z = A(widest .. "2", pairs_like(n))
      local from = z:read()
      z:ifft()
      assert.same(from, z:read())
      z:fft():set(z:flip())
      assert.same(from, z:read())
    end
  end)

  it("restore long lines after a round trip", function()
    for _, n in ipairs {1 << 16, 100003} do
      local x = A.rand({2, n}) * 2 - 1
      local y = A("float", x:fft():ifft())
      local from, to = x:read(), y:read()
      local sum, all_of_it = 0, 0
      for i, v in ipairs(from) do
        sum = sum + (v - to[i * 2 - 1]) ^ 2 + to[i * 2] ^ 2
        all_of_it = all_of_it + v * v
      end
      assert.is_true(math.sqrt(sum / all_of_it) < 1e-6)
    end
    -- One nonzero element gives a single wave.
    local n = 1 << 16
    local x = A.zeros {n}
    x[4322] = 1
    local y, worst = x:fft():read(), 0
    for k = 0, n - 1 do
      local angle = 2 * math.pi * (4321 * k % n) / n
      worst = math.max(worst, math.abs(y[k + 1][1] - math.cos(angle)),
        math.abs(y[k + 1][2] + math.sin(angle)))
    end
    assert.is_true(worst < 1e-6)
  end)

  it("report wrong arguments, and accept arrays without lines", function()
    assert.same({0, 4}, A.zeros{0, 4}:fft().shape)
    assert.same({0, 3}, A.zeros{0, 4}:rfft().shape)
    assert.same({0, 4}, A.zeros{0, 3}:irfft().shape)
    assert.equal("fft: argument 1 (a): dimension 2 has no elements",
      said(A.fft, A.zeros{4, 0}))
    assert.equal("ifft: argument 1 (a): an array with dimensions expected, got "
      .. "shape {}", said(A.ifft, A.zeros {}))
    assert.equal("fft: argument 1 (a): array expected, got nil", said(A.fft))
    assert.equal("fft: argument 2 (options): dim: a dimension of 1 to 1 " ..
      "expected, got 2",
      said(A.fft, A.zeros{4}, {dim = 2}))
    assert.equal("fft: argument 2 (options): unknown option axis; there are " ..
      "dim, n, norm", said(A.fft, A.zeros{4}, {axis = 2}))
    assert.equal("rfft: argument 1 (a): numbers expected, got complex64; fft "
      .. "takes them",
      said(A.rfft, A("float2", 2)))
    assert.equal("irfft: argument 2 (options): n: a size of 1 or more " ..
      "expected, got 0", said(A.irfft, A("float2", 3), {n = 0}))
  end)
end)

describe("rfft and irfft", function()
  it("compute half of fft, and its inverse", function()
    for _, n in ipairs {1, 2, 3, 4, 5, 8, 11, 12, 30, 64, 77} do
      for kind, most in pairs(accuracy) do
        local x = numbers(n)
        local p = {}
        for i, v in ipairs(x) do p[i] = {v, 0} end
        local half = {}
        for k = 1, n // 2 + 1 do half[k] = dft(p, 1)[k] end
        local y = A(kind, x):rfft()
        assert.equal(complex[kind], y.type)
        assert.is_true(difference(half, y:read()) < most)
        local back = y:irfft {n = n}
        assert.equal(kind, back.type)
        local q = {}
        for i, v in ipairs(back:read()) do q[i] = {v, 0} end
        assert.is_true(difference(p, q) < most)
        if n % 2 == 0 then assert.same(back:read(), y:irfft():read()) end
      end
    end
  end)

  it("work along any dimension", function()
    local x = A("float", numbers(24), {4, 6})
    local y = x:rfft {dim = 1}
    assert.same({3, 6}, y.shape)
    assert.same(x:t():rfft():t():table(), y:table())
    local z = y:irfft {dim = 1}
    assert.same({4, 6}, z.shape)
    for i, v in ipairs((z - x):abs():read()) do
      assert.is_true(v < 1e-6, "element " .. i)
    end
  end)
end)

describe("convolve and correlate", function()
  -- Returns the sums over pairs of elements with the same i + j or, for
  -- correlate, i - j, of lists of numbers, and the part of a mode.
  local function expected(name, a, b, mode)
    local n, m, sums = #a, #b, {}
    for k = 1, n + m - 1 do sums[k] = 0 end
    for i = 1, n do
      for j = 1, m do
        local k = name == "convolve" and i + j - 1 or i - j + m
        sums[k] = sums[k] + a[i] * b[j]
      end
    end
    if mode == "full" then return sums end
    local least, most = math.min(n, m), math.max(n, m)
    if mode == "valid" then
      return {table.unpack(sums, least, most)}
    end
    local first = (least + 1) // 2
    -- As in NumPy, the result is that of exchanged lists, reversed.
    if name == "correlate" and n < m then first = least // 2 + 1 end
    return {table.unpack(sums, first, first + most - 1)}
  end

  it("give all sums, as many as the longer list, or the complete ones",
    function()
    for _, sizes in ipairs {{1, 1}, {6, 1}, {6, 2}, {7, 3}, {3, 7}, {2, 6},
      {4, 4}, {5, 5}, {20, 9}} do
      local a, b = {}, {}
      for i = 1, sizes[1] do a[i] = i * 5 % 7 - 3 end
      for i = 1, sizes[2] do b[i] = i * 3 % 5 - 1 end
      for _, name in ipairs {"convolve", "correlate"} do
        for _, mode in ipairs {"full", "same", "valid"} do
          local e = expected(name, a, b, mode)
          assert.same(e, A("float", a)[name](A("float", a), A("float", b),
            {mode = mode}):read())
          local whole = A[name](A("char", a), A("int", b), {mode = mode})
          assert.same(e, whole:read())
          assert.equal("long", whole.type)
        end
      end
    end
    local a, b = A("float", {1, 2, 3}), A("float", {0, 1, 0.5})
    assert.same({0, 1, 2.5, 4, 1.5}, a:convolve(b):read())
    assert.same({3.5}, a:correlate(b):read())
    assert.same({0.5, 2, 3.5}, a:flip():correlate(b:flip(),
      {mode = "full"}):flip()[{ {1, 3} }]:read())
    assert.same({1, 0, 0, -4, 3}, A("float", {1, 9, 2, 9, 3})[{ {1, 5, 2} }]
      :convolve(A("int", {1, -2, 1})):read())
    assert.equal("half", A("half", {1, 2}):convolve(A("half", {3})).type)
    assert.same({1 << 62, 1}, A("long", {1 << 62, 1}):convolve(
      A("long", {1})):read())
    assert.same({1, 2, 1}, A("int", {0, 1}):lt(2):convolve(
      A("int", {0, 1}):lt(2)):read())
  end)

  it("of long lists agree with sums of products", function()
    A.seed(5)
    for _, kind in ipairs {"float", "half", widest} do
      local a, b = (A.rand(3000) - 0.5):to(kind), (A.rand(2000) - 0.5):to(kind)
      local sums = a:to(widest):conv1d(b:to(widest):flip(), {padding = 1999})
      local most = kind == "half" and 0.05 or kind == "float" and 1e-4 or 1e-10
      for mode, range in pairs {full = {}, same = {1000, 3999},
        valid = {2000, 3000}} do
        local y, part = a:convolve(b, {mode = mode}), sums[{range}]
        assert.equal(kind, y.type)
        assert.same(part.shape, y.shape)
        assert.is_true((y - part):abs():max():item() < most)
        assert.same(y:read(), b:convolve(a, {mode = mode}):read())
        assert.same(y:read(), a:correlate(b:flip(), {mode = mode}):read())
      end
      -- A NaN or an infinity reaches only the sums that it belongs to.
      a[2], a[5] = 0 / 0, math.huge
      local y = a:convolve(b):read()
      for i, v in ipairs(y) do
        assert.equal(i < 2 or i > 2004, v - v == 0)
      end
    end
    local a = A.arange(3000)
    assert.equal(3000 * 3001 // 2 - 1000 * 1001 // 2,
      a:convolve(A("long", 2000) + 1):max():item())
  end)

  it("take complex lists; correlate conjugates the second one", function()
    local a = A("float2", {{1, 2}, {3, -1}})
    local b = A("float2", {{0, 1}, {2, 0}, {1, 1}})
    assert.same({{-2, 1}, {3, 7}, {5, 1}, {4, 2}}, a:convolve(b):read())
    assert.equal("complex64", a:convolve(b).type)
    assert.same({{1, 2}, {5, 3}, {6, -2}}, a:convolve(A("int", {1, 2})):read())
    assert.same({{1, 2}, {5, 3}, {6, -2}}, A("float", {1, 2}):convolve(a)
      :read())
    assert.same({{5, 0}}, A("float2", {{1, 2}}):correlate(
      A("float2", {{1, 2}})):read())
    if widest == "double" then
      assert.equal("complex128", a:convolve(A("double", {1})).type)
    end
  end)

  it("report wrong arguments", function()
    local x = A("float", {1, 2, 3})
    for message, f in pairs {
      ["convolve: argument 2 (b): array expected, got integer 3"] = function()
        x:convolve(3)
      end,
      ["convolve: argument 1 (a): a list of numbers expected, got shape " ..
        "{2, 2}"] = function() A.ones{2, 2}:convolve(x) end,
      ["correlate: argument 2 (b): a list of numbers expected, got shape " ..
        "{0}"] = function() x:correlate(A.zeros {0}) end,
      ['correlate: argument 3 (options): mode: "full", "same" or "valid" ' ..
        "expected, got string 'all'"] = function()
        x:correlate(x, {mode = "all"})
      end,
      ["convolve: argument 3 (options): a table expected, got string " ..
        "'full'"] = function() x:convolve(x, "full") end,
      ["convolve: ulong with long has no type for its results; use :to"] =
        function() A("ulong", {1}):convolve(A("long", {1})) end
    } do
      assert.equal(message, said(f))
    end
  end)
end)
