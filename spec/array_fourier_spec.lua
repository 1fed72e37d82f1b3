-- array_fourier_spec.lua - arrays: options and kinds of Fourier transforms.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"
local A, said = lze.array, expect.said
local fp64 = lze.device().fp64

-- Returns the transform of lists of numbers or pairs, by its definition; sign
-- is 1 forwards.
local function dft(list, sign, factor)
  local n, out = #list, {}
  for k = 0, n - 1 do
    local re, im = 0, 0
    for j = 0, n - 1 do
      local v = list[j + 1]
      local a, b = v, 0
      if type(v) == "table" then a, b = v[1], v[2] end
      local angle = -sign * 2 * math.pi * (j * k % n) / n
      re = re + a * math.cos(angle) - b * math.sin(angle)
      im = im + a * math.sin(angle) + b * math.cos(angle)
    end
    out[k + 1] = {re * (factor or 1), im * (factor or 1)}
  end
  return out
end

-- Checks that elements, numbers or pairs, are close.
local function close(expected, got, most)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do
    local w = got[i]
    if type(v) ~= "table" then v, w = {v}, {w} end
    for part = 1, #v do
      assert.is_true(math.abs(v[part] - w[part]) < (most or 1e-5),
        ("element %d: %s, expected %s"):format(i, w[part], v[part]))
    end
  end
end

local function same_values(x, y)
  assert.same(x.shape, y.shape)
  assert.equal(x.type, y.type)
  close(x:read(), y:read())
end

describe("a Fourier transform", function()
  local list = {3, -1, 4, 1, -5}

  it("has the size n: lines are cut or padded with zeros", function()
    local pairs_of = {{3, 1}, {-1, 2}, {4, 0}, {1, -3}, {-5, 1}}
    for _, kind in ipairs {"float", "int", "half", fp64 and "double" or "long"}
    do
      local x = A(kind, list)
      local z = A(kind == "double" and "double2" or "float2", pairs_of)
      for _, n in ipairs {1, 3, 5, 8, 11} do
        local reals, complex = {}, {}
        for i = 1, n do
          reals[i], complex[i] = list[i] or 0, pairs_of[i] or {0, 0}
        end
        local y = x:fft {n = n}
        assert.equal(z.type, y.type)
        close(dft(reals, 1), y:read())
        close(dft(reals, -1, 1 / n), x:ifft({n = n}):read())
        close(dft(complex, 1), z:fft({n = n}):read())
        close(dft(complex, -1, 1 / n), z:ifft({n = n}):read())
        close({table.unpack(dft(reals, 1), 1, n // 2 + 1)},
          x:rfft({n = n}):read())
        assert.same(y:read(), x:fft({n = {n}}):read())
      end
      assert.same(x:fft():read(), x:fft({n = -1}):read())
      assert.same(list, x:read())
    end
    local m = A("float", {list, {1, 2, 3, 4, 5}})
    same_values(m:t():fft {n = 7, dim = 1}, m:fft({n = 7}):t())
    close(dft({3, 4, -5, 0}, 1), m[1][{ {1, 5, 2} }]:fft({n = 4}):read())
    close(dft({4, -1}, 1), m[1][{ {3, 1, -1} }]:fft({n = 2}):read())
  end)

  it("has its factor by the option norm", function()
    local x, n = A("float", list), #list
    local root = 1 / math.sqrt(n)
    for norm, factors in pairs {backward = {1, 1 / n}, ortho = {root, root},
      forward = {1 / n, 1}} do
      close(dft(list, 1, factors[1]), x:fft({norm = norm}):read())
      close(dft(list, -1, factors[2]), x:ifft({norm = norm}):read())
      close(list, x:rfft({norm = norm}):irfft({norm = norm, n = n}):read())
      close({table.unpack(dft(list, -1, factors[2]), 1, 3)},
        x:ihfft({norm = norm}):read())
      close(list, x:ihfft({norm = norm}):hfft({norm = norm, n = n}):read())
      same_values(x:reshape {1, n}:fft2 {norm = norm},
        x:fft({norm = norm}):reshape {1, n})
      same_values(x:reshape {5, 1}:fftn {norm = norm, n = {8, 2}},
        x:reshape {5, 1}:fft({norm = norm, dim = 1, n = 8}):fft {norm = norm,
          n = 2})
    end
  end)

  it("of several dimensions transforms one after the other", function()
    A.seed(7)
    for _, x in ipairs {A.rand {3, 4, 5}, A.rand {5, 4, 3}:permute(3, 2, 1),
      A("float2", A.rand {3, 4, 5, 2})} do
      local both = x:fft {dim = 2}:fft {dim = 3}
      same_values(both, x:fft2())
      same_values(both, x:fftn {dim = {2, 3}})
      same_values(both, x:fft {dim = {3, -2}})
      same_values(x:ifft {dim = 1}:ifft {dim = 2}:ifft {dim = 3}, x:ifftn())
      same_values(x:ifft {dim = 2}:ifft {dim = 3}, x:ifft2())
      same_values(x:fft {dim = 2, n = 3}:fft {dim = 3, n = 6},
        x:fftn {n = {3, 6}})
      same_values(x:fft {dim = 1, n = 4}:fft {dim = 3}, x:fft2 {dim = {1, 3},
        n = {4, -1}})
    end
  end)

  it("of reals has half of the last dimension given", function()
    A.seed(8)
    local x = A.rand {3, 4, 5}
    same_values(x:fft2()[{{}, {}, {1, 3}}], x:rfft2())
    same_values(x:fftn()[{{}, {}, {1, 3}}], x:rfftn())
    same_values(x:fftn {dim = {3, 2}}[{{}, {1, 3}}], x:rfftn {dim = {3, 2}})
    same_values(x:fftn {n = {2, 9}}[{{}, {}, {1, 5}}], x:rfftn {n = {2, 9}})
    same_values(x, x:rfftn():irfftn {n = x.shape})
    same_values(x, x:rfft2():irfft2 {n = {4, 5}})
    same_values(x[{{}, {}, {1, 4}}], x:rfftn {n = {3, 4, 4}}:irfftn())
    same_values(x, x:rfftn {dim = {3, 1, 2}}:irfftn {dim = {3, 1, 2}})
  end)

  it("to reals takes n // 2 + 1 elements", function()
    local z = A("float2", {{3, 0}, {1, 2}, {-1, 1}, {2, 0}})
    local function whole(n)
      local full = {}
      for i = 1, n do
        local k = i <= n // 2 + 1 and i or n - i + 2
        local v = k <= 4 and z[k] or {0, 0}
        full[i] = {v[1], k == i and v[2] or -v[2]}
      end
      -- The imaginary part of an element that is its own mirror has no effect.
      full[1][2] = 0
      if n % 2 == 0 then full[n // 2 + 1][2] = 0 end
      return full
    end
    for n = 1, 9 do
      local function reals(list_of_pairs)
        local r = {}
        for i, v in ipairs(list_of_pairs) do r[i] = v[1] end
        return r
      end
      close(reals(dft(whole(n), -1, 1 / n)), z:irfft({n = n}):read())
      close(reals(dft(whole(n), 1)), z:hfft({n = n}):read())
    end
    same_values(z:irfft {n = 6}, z:irfft())
    same_values(z:hfft {n = 6}, z:hfft())
    assert.equal("float", z:hfft().type)
  end)

  it("accepts arrays of up to 8 dimensions and arrays without lines",
    function()
    local x = A("float", {1, 2, 3, 4, 5, 6}):reshape {2, 1, 1, 3, 1, 1, 1, 1}
    local y = A("float", {{1, 2, 3}, {4, 5, 6}}):fft2()
    close(y:read(), x:fftn():read())
    close({1, 2, 3, 4, 5, 6}, x:rfftn({dim = {1, 4}}):irfftn({dim = {1, 4},
      n = {2, 3}}):read())
    assert.same({0, 2, 7}, A.zeros{0, 2, 3}:fftn({n = {2, 7}}).shape)
    assert.same({0, 4}, A.zeros{0, 2}:rfft({n = 7}).shape)
    assert.same({0, 7}, A.zeros{0, 2}:irfft({n = 7}).shape)
    -- Elements that are missing are zeros.
    local z = A.zeros{2, 0}:fft {n = 3}
    assert.same({2, 3}, z.shape)
    assert.same({0, 0}, z:read()[6])
    assert.same({0, 0}, A("float2", A.zeros{1, 0, 2}):fft({n = 1}):read()[1])
    assert.same({0, 0, 0}, A.zeros{0}:irfft({n = 3}):read())
  end)

  it("reports wrong arguments", function()
    local x = A.zeros {2, 3}
    local n = "fft: argument 2 (options): n: "
    for message, f in pairs {
      [n .. "a size of 1 or more expected, got 0"] = function()
        x:fft {n = 0}
      end,
      [n .. "a size of 1 or more expected, got 1.5"] = function()
        x:fft {n = 1.5}
      end,
      [n .. "element 2: a size of 1 or more expected, got string '4'"] =
        function() x:fft {dim = {1, 2}, n = {4, "4"}} end,
      [n .. "1 size expected, one for each dimension, got 2"] = function()
        x:fft {n = {2, 3}}
      end,
      ["fft2: argument 2 (options): n: 2 sizes expected, one for each " ..
        "dimension, got 1"] = function() x:fft2 {n = 4} end,
      ["fftn: argument 1 (a): an array with 3 dimensions expected, got " ..
        "shape {2, 3}"] = function() x:fftn {n = {1, 2, 3}} end,
      ["rfft2: argument 1 (a): an array with 2 dimensions expected, got " ..
        "shape {3}"] = function() x[1]:rfft2() end,
      ["fftn: argument 1 (a): an array with dimensions expected, got shape " ..
        "{}"] = function() A.fftn(A.zeros {}) end,
      ['fft: argument 2 (options): norm: "backward", "ortho" or "forward" ' ..
        "expected, got string 'Ortho'"] = function()
        x:fft {norm = "Ortho"}
      end,
      ["irfftn: argument 2 (options): dim: dimension 2 is named twice"] =
        function() x:irfftn {dim = {2, -1}} end,
      ["fftn: argument 2 (options): dim: a dimension expected, got an empty " ..
        "table"] = function() x:fftn {dim = {}} end,
      ["ihfft: argument 1 (a): numbers expected, got complex64; ifft takes " ..
        "them"] = function() A("float2", 1):ihfft() end,
      ["rfftn: argument 1 (a): numbers expected, got complex64; fftn takes " ..
        "them"] = function() A("float2", 1):rfftn() end,
      ["fft: shape {2, 1125899906842624} has too many elements"] = function()
        x:fft {n = 1 << 50}
      end,
      ["hfft: argument 1 (a): dimension 1 has no elements"] = function()
        A.zeros{0}:hfft()
      end
    } do
      assert.equal(message, said(f))
    end
  end)
end)

describe("the table A.fft", function()
  it("can be called, and has all transforms", function()
    local x = A("float", {1, 2, 3, 4})
    same_values(x:fft(), A.fft(x))
    same_values(x:fft {n = 3}, A.fft(x, {n = 3}))
    for _, name in ipairs {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft",
      "fftn", "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift"} do
      same_values(x[name](x), A.fft[name](x))
    end
    for _, name in ipairs {"fft2", "ifft2", "rfft2", "irfft2"} do
      local m = x:reshape {2, 2}
      same_values(m[name](m), A.fft[name](m))
    end
    assert.equal(A.fftfreq, A.fft.fftfreq)
    assert.equal(A.rfftfreq, A.fft.rfftfreq)
    assert.equal("fft: argument 3: nothing more expected, got integer 1",
      said(A.fft, x, {}, 1))
    assert.equal("fft: argument 1 (a): array expected, got nil", said(A.fft))
  end)

  it("is described by lze.help, as are its functions", function()
    for _, x in ipairs {A.fft, "A.fft", "a:fft"} do
      assert.matches("a:fft([options])", lze.help(x), 1, true)
    end
    for _, x in ipairs {A.fft.irfft, "A.fft.irfft", "lze.array.fft.irfft"} do
      assert.matches("a:irfft([options])", lze.help(x), 1, true)
    end
  end)
end)

describe("fftfreq and rfftfreq", function()
  it("give the frequencies of elements", function()
    for n, k in pairs {{0}, {0, -1}, {0, 1, -1}, {0, 1, -2, -1},
      {0, 1, 2, -2, -1}} do
      local x = A.fftfreq(n)
      assert.equal("float", x.type)
      local expected = {}
      for i, v in ipairs(k) do expected[i] = v / n end
      close(expected, x:read(), 1e-7)
      for i, v in ipairs(k) do expected[i] = v / n / 0.25 end
      close(expected, A.fftfreq(n, 0.25):read(), 1e-6)
      for i = n // 2 + 2, n do expected[i] = nil end
      for i, v in ipairs(expected) do expected[i] = math.abs(v) end
      close(expected, A.rfftfreq(n, 0.25):read(), 1e-6)
    end
    assert.equal("half", A.fftfreq(4, {type = "half"}).type)
    assert.same({0, 0.5, -1, -0.5}, A.fftfreq(4, 0.5, {type = "half"}):read())
    if fp64 then
      assert.same({0, 1 / 3, -1 / 3}, A.fftfreq(3, {type = "double"}):read())
    end
  end)

  it("report wrong arguments", function()
    assert.equal("fftfreq: argument 1 (n): a size of 1 or more expected, got 0",
      said(A.fftfreq, 0))
    assert.equal("rfftfreq: argument 2 (d): a number other than 0 expected, " ..
      "got 0", said(A.rfftfreq, 4, 0))
    assert.equal("rfftfreq: argument 2 (d): a number other than 0 expected, " ..
      "got string '1'", said(A.rfftfreq, 4, "1"))
    assert.equal("fftfreq: argument 2 (options): type: half, bfloat16, " ..
      "float or double expected, got int", said(A.fftfreq, 4, {type = "int"}))
    assert.equal("fftfreq: argument 3 (options): unknown option dtype; " ..
      "there are type, device", said(A.fftfreq, 4, 1, {dtype = "float"}))
  end)
end)

describe("fftshift and ifftshift", function()
  it("move the frequency 0 to the middle and back", function()
    assert.same({4, 5, 1, 2, 3}, A.arange(5):fftshift():read())
    assert.same({3, 4, 5, 1, 2}, A.arange(5):ifftshift():read())
    assert.same({3, 4, 1, 2}, A.arange(4):fftshift():read())
    local x = A("uchar", {{1, 2, 3}, {4, 5, 6}})
    assert.same({{6, 4, 5}, {3, 1, 2}}, x:fftshift():table())
    assert.same({{3, 1, 2}, {6, 4, 5}}, x:fftshift({dim = 2}):table())
    assert.same({{4, 5, 6}, {1, 2, 3}}, x:ifftshift({dim = {-2}}):table())
    assert.same(x:table(), x:fftshift():ifftshift():table())
    assert.equal("uchar", x:fftshift().type)
    assert.same({{3, 6}, {1, 4}, {2, 5}}, x:t():fftshift({dim = 1}):table())
    local z = A("float2", {{1, 2}, {3, 4}, {5, 6}}):fftshift()
    assert.same({{5, 6}, {1, 2}, {3, 4}}, z:read())
    local m = A("int", {1, 0, 0}):gt(0):fftshift()
    assert.same({0, 1, 0}, m:read())
    assert.same({1, 0, 1}, (~m):read()) -- still a mask
    assert.same({7}, A.full({}, 7):fftshift():read())
    assert.same({0, 3}, A.zeros{0, 3}:fftshift().shape)
    assert.equal("fftshift: argument 2 (options): dim: a dimension of 1 to " ..
      "2 expected, got 3", said(A.fftshift, x, {dim = 3}))
  end)
end)
