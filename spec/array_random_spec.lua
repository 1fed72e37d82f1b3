-- array_random_spec.lua - random numbers and their distributions.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A, random = lze.array, lze.work.random

local said = require "spec.support.expect".said

local fp64 = lze.device().fp64
local reals = {"half", "bfloat16", "float", fp64 and "double" or nil}

describe("random arrays", function()
  before_each(function() A.seed(0) end)
  after_each(function() A.seed(0) end)

  it("begin with the known answer of Philox4x32-10", function()
    local words = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
    local x = A.rand{4}:read()
    for i, word in ipairs(words) do
      assert.equal((word >> 8) * 2.0 ^ -24, x[i])
    end
    if fp64 then
      A.seed(0)
      local y = A.rand({2}, {type = "double"}):read()
      assert.equal((words[1] << 21 | words[2] >> 11) * 2.0 ^ -53, y[1])
      assert.equal((words[3] << 21 | words[4] >> 11) * 2.0 ^ -53, y[2])
    end
    A.seed(0)
    local z = A.rand({4}, {type = "half"}):read()
    assert.equal((words[1] >> 21) * 2.0 ^ -11, z[1])
    A.seed(0)
    -- The span is a power of two, so it uses the upper bits of the words.
    assert.same({words[1] >> 28, words[3] >> 28},
      A.randint({2}, 0, 15, {type = "uchar"}):read())
  end)

  it("are the words of lze.work.random, call by call", function()
    A.seed(-5)
    local x, y = A.rand{3, 2}:read(), A.rand{5}:read()
    for i = 1, 6 do
      local word = select((i - 1) % 4 + 1, random(-5, (i - 1) // 4))
      assert.equal((word >> 8) * 2.0 ^ -24, x[i])
    end
    for i = 1, 5 do
      local word = select((i - 1) % 4 + 1, random(-5, 2 + (i - 1) // 4))
      assert.equal((word >> 8) * 2.0 ^ -24, y[i])
    end
    A.seed(-5)
    assert.same(x, A.rand{3, 2}:read())
  end)

  it("are at least 0 and below 1 in every type", function()
    for _, kind in ipairs(reals) do
      local x = A.rand({20, 100}, {type = kind})
      assert.equal(kind, x.type)
      assert.same({20, 100}, x.shape)
      local sum = 0
      for _, v in ipairs(x:read()) do
        assert.is_true(v >= 0 and v < 1)
        sum = sum + v
      end
      assert.is_true(math.abs(sum / 2000 - 0.5) < 0.03)
    end
  end)

  it("are normal by the Box-Muller transform", function()
    local x = fp64 and A.randn({2000}, {type = "double"}):read() or {}
    for i = 1, #x, 2 do
      local a, b, c, d = random(0, i // 2)
      local u = ((a << 21 | b >> 11) + 1) * 2.0 ^ -53
      local t = (c << 21 | d >> 11) * 2.0 ^ -53 * 2 * math.pi
      local r = math.sqrt(-2 * math.log(u))
      assert.is_true(math.abs(x[i] - r * math.cos(t)) < 1e-12)
      assert.is_true(math.abs(x[i + 1] - r * math.sin(t)) < 1e-12)
    end
    for _, kind in ipairs(reals) do
      A.seed(1)
      local sum, squares = 0, 0
      for _, v in ipairs(A.randn({4001}, {type = kind}):read()) do
        sum, squares = sum + v, squares + v * v
      end
      assert.is_true(math.abs(sum / 4001) < 0.05)
      assert.is_true(math.abs(squares / 4001 - 1) < 0.07)
    end
    A.seed(0)
    local single = A.randn{3}:read()
    local a, b = random(0, 0)
    assert.is_true(math.abs(single[1] - math.sqrt(-2 * math.log(((a >> 8) + 1) *
      2.0 ^ -24)) * math.cos((b >> 8) * 2.0 ^ -24 * 2 * math.pi)) < 1e-5)
  end)

  it("are integers of a range, including both ends", function()
    local count = {}
    for _, v in ipairs(A.randint({6000}, -2, 3):read()) do
      assert.equal("integer", math.type(v))
      count[v] = (count[v] or 0) + 1
    end
    for v = -2, 3 do assert.is_true(math.abs(count[v] - 1000) < 150) end
    assert.is_nil(count[-3])
    assert.is_nil(count[4])
    assert.equal("long", A.randint({2}, 1, 2).type)
    for _, kind in ipairs {"char", "uchar", "short", "ushort", "int", "uint",
                           "long", "ulong", "half", "float",
                           fp64 and "double" or nil} do
      local x = A.randint({2, 50}, 1, 3.0, {type = kind})
      assert.equal(kind, x.type)
      for _, v in ipairs(x:read()) do
        assert.is_true(v == 1 or v == 2 or v == 3)
      end
    end
  end)

  it("are 64-bit integers from the upper half of a product", function()
    local low, high = math.mininteger, math.maxinteger
    local a, b = random(0, 0)
    assert.equal(low + (a << 32 | b), A.randint({1}, low, high)[1] + low)
    A.seed(3)
    local span = 3 << 61
    for i, v in ipairs(A.randint({100}, low, low + span - 1):read()) do
      local words = {random(3, (i - 1) // 2)}
      local j = (i - 1) % 2 * 2
      local w = words[j + 1] << 32 | words[j + 2]
      -- w * 3 * 2^61 / 2^64 = w * 3 / 8, with w unsigned.
      local q, r = w >> 3, w & 7
      assert.equal(low + q * 3 + r * 3 // 8, v)
    end
  end)

  it("may be empty or have no dimensions", function()
    assert.same({}, A.rand{0, 3}:read())
    assert.same({}, A.randint({0}, 1, 2):read())
    assert.same({}, A.randn({}).shape)
    assert.equal(5, A.randint({}, 5, 5):item())
  end)

  it("report the wrong argument", function()
    assert.equal("rand: argument 1 (shape): a table of sizes expected, got nil",
      said(A.rand))
    assert.equal("randn: argument 2 (options): type: half, bfloat16, float or "
      .. "double expected, got int; randint gives integers",
      said(A.randn, {2}, {type = "int"}))
    assert.equal("rand: argument 2 (options): unknown option typ; there are " ..
      "type, device",
      said(A.rand, {2}, {typ = 1}))
    assert.equal("randint: argument 3 (high): an integer expected, got nil",
      said(A.randint, {2}, 1))
    assert.equal("randint: argument 2 (low): an integer expected, got 0.5",
      said(A.randint, {2}, 0.5, 1))
    assert.equal("randint: argument 3 (high): 256 is outside 0..255 of uchar",
      said(A.randint, {2}, 0, 256, {type = "uchar"}))
    assert.equal("randint: argument 2 (low): 2 is greater than high, 1",
      said(A.randint, {2}, 2, 1))
    assert.equal("seed: argument 1 (n): an integer expected, got nil",
      said(A.seed))
  end)
end)

local R = A.random

-- Returns the mean, the variance and the numbers of an array.
local function moments(a)
  local values = a:read()
  local sum, squares = 0.0, 0.0
  for _, v in ipairs(values) do sum = sum + v end
  local mean = sum / #values
  for _, v in ipairs(values) do squares = squares + (v - mean) ^ 2 end
  return mean, squares / #values, values
end

-- Checks that the mean and the variance of n numbers are as expected, within
-- five deviations; `fourth` is the fourth central moment.
local function check_moments(a, mean, variance, fourth)
  local n = a.size
  local m, v, values = moments(a)
  assert.is_true(math.abs(m - mean) < 5 * math.sqrt(variance / n),
    ("mean %g, not %g"):format(m, mean))
  assert.is_true(math.abs(v - variance) <
    5 * math.sqrt((fourth - variance ^ 2) / n) + 5 * variance / n,
    ("variance %g, not %g"):format(v, variance))
  return values
end

-- Checks the numbers of values in classes by Pearson's chi-square: below the
-- mean of its distribution and five of its deviations.  `class(v)` is 1 to #p.
local function check_classes(values, p, class)
  local counts, sum = {}, 0.0
  for k = 1, #p do counts[k] = 0 end
  for _, v in ipairs(values) do
    local k = class(v)
    counts[k] = counts[k] + 1
  end
  for k = 1, #p do
    local expected = p[k] * #values
    assert.is_true(expected > 5)
    sum = sum + (counts[k] - expected) ^ 2 / expected
  end
  local freedom = #p - 1
  assert.is_true(sum < freedom + 5 * math.sqrt(2 * freedom),
    ("chi-square %g for %d degrees of freedom"):format(sum, freedom))
end

-- Returns ten classes of equal probability below these quantiles.
local function tenth(quantiles)
  return function(v)
    for k, q in ipairs(quantiles) do if v < q then return k end end
    return #quantiles + 1
  end
end
local tenths = {}
for k = 1, 10 do tenths[k] = 0.1 end

local two = {"float", fp64 and "double" or nil}

describe("random distributions", function()
  before_each(function() A.seed(7) end)
  after_each(function() A.seed(0) end)

  it("are the same bits on every device", function()
    local function shows(text, kind, a)
      local t = {}
      for i, v in ipairs(a:read()) do t[i] = ("%a"):format(v) end
      assert.equal(text, table.concat(t, " "), kind)
    end
    A.seed(0)
    shows("0x1.fb765ep-1 -0x1.d96d66p-1 -0x1.3c3742p-1", "float", A.randn(3))
    shows("0x1.cd3b4p-6 0x1.040f5cp+0 0x1.7626ecp-2", "float",
      R.exponential(3))
    shows("0x1.a373dep-5 0x1.8de2b4p-1 0x1.878cdep-2", "float", R.gamma(3, 0.5))
    if fp64 then
      A.seed(0)
      local o = {type = "double"}
      shows("-0x1.f1bcd549837c2p-4 -0x1.599bbd8a9eda7p+0 " ..
        "-0x1.4f5b54df97ef4p-4", "double", A.randn(3, o))
      shows("0x1.f84fe29e8a8cfp+1 0x1.f5998b0641c7ep+0 0x1.e998339324db3p-3",
        "double", R.exponential(3, o))
      shows("0x1.6b34a9ab8f7abp-1 0x1.214790f17487fp-2 0x1.e7a132f9cf9ap-2",
        "double", R.gamma(3, 0.5, o))
    end
    A.seed(0)
    assert.same({3, 5, 8, 5, 1, 2, 6, 4}, R.poisson(8, 4):read())
    assert.same({9, 9, 6, 7, 7, 8, 7, 7}, R.binomial(8, 20, 0.3):read())
    assert.same({3, 7, 5, 8, 2, 4, 6, 1}, R.permutation(8):read())
  end)

  it("are uniform", function()
    for _, kind in ipairs(two) do
      local x = R.uniform({100, 200}, -2, 6, {type = kind})
      assert.equal(kind, x.type)
      local values = check_moments(x, 2, 64 / 12, 8 ^ 4 / 80)
      check_classes(values, tenths, function(v)
        assert.is_true(v >= -2 and v <= 6)
        return math.min((v + 2) / 0.8 // 1 | 0, 9) + 1
      end)
    end
    assert.same({3, 3}, R.uniform(2, 3, 3):read())
    assert.same({2}, R.uniform(2).shape)
    assert.equal("half", R.uniform(2, {type = "half"}).type)
    assert.equal("half", R.uniform(2, 0, {type = "half"}).type)
  end)

  it("are normal", function()
    local deciles = {-1.2815515655446004, -0.8416212335729143,
      -0.5244005127080407, -0.2533471031357997, 0, 0.2533471031357997,
      0.5244005127080407, 0.8416212335729143, 1.2815515655446004}
    for _, kind in ipairs {"half", table.unpack(two)} do
      local values = check_moments(A.randn({20000}, {type = kind}), 0, 1, 3)
      check_classes(values, tenths, tenth(deciles))
      check_moments(R.normal({20000}, -4, 3, {type = kind}), -4, 9, 243)
    end
    A.seed(9)
    local x = R.normal({5}, 2, 0.5):read()
    A.seed(9)
    for i, z in ipairs(A.randn {5}:read()) do
      assert.is_true(math.abs(2 + 0.5 * z - x[i]) < 1e-6)
    end
    assert.same({2, 2}, R.normal(2, 2, 0):read())
  end)

  it("are exponential", function()
    local quantiles = {}
    for k = 1, 9 do quantiles[k] = -2 * math.log(1 - k / 10) end
    for _, kind in ipairs(two) do
      local values = check_moments(R.exponential({20000}, 2, {type = kind}), 2,
        4, 9 * 16)
      check_classes(values, tenths, tenth(quantiles))
    end
    if not fp64 then return end
    A.seed(5)
    for i, v in ipairs(R.exponential({3000}, {type = "double"}):read()) do
      local a, b, c, d = random(5, (i - 1) // 2)
      if i % 2 == 0 then a, b = c, d end
      local exact = -math.log(((a << 21 | b >> 11) + 1) * 2.0 ^ -53)
      assert.is_true(math.abs(v - exact) <= 4e-16 * exact)
    end
  end)

  it("are gamma distributed", function()
    for _, kind in ipairs(two) do
      for _, k in ipairs {0.2, 0.9, 1, 2.5, 40, 1e6} do
        local x = R.gamma({20000}, k, 3, {type = kind})
        check_moments(x, 3 * k, 9 * k, 81 * (3 * k * k + 6 * k))
        assert.is_true(x:min():item() >= 0)
      end
      -- With k = 1, they are exponential; quantiles of k = 1/2 are squares of
      -- normal ones.
      local quantiles, squares = {}, {0.007895390, 0.032092377, 0.074235930,
        0.137498027, 0.227468212, 0.354163310, 0.537097160, 0.821187207,
        1.352771727}
      for i = 1, 9 do quantiles[i] = -math.log(1 - i / 10) end
      check_classes(R.gamma(20000, 1, {type = kind}):read(), tenths,
        tenth(quantiles))
      check_classes(R.gamma(20000, 0.5, {type = kind}):read(), tenths,
        tenth(squares))
    end
  end)

  it("are Poisson's", function()
    for _, rate in ipairs {0.3, 4, 50.5, 1e5} do
      local x = R.poisson({20000}, rate)
      assert.equal("long", x.type)
      check_moments(x, rate, rate, rate + 3 * rate * rate)
    end
    local p, v = {}, math.exp(-4)
    local rest = 1
    for k = 1, 10 do
      p[k], v, rest = v, v * 4 / k, rest - v
    end
    p[11] = rest
    check_classes(R.poisson({20000}, 4):read(), p, function(k)
      return math.min(k, 10) + 1
    end)
    assert.same({0, 0, 0}, R.poisson(3, 0):read())
    assert.equal("uchar", R.poisson(3, 4, {type = "uchar"}).type)
  end)

  it("are binomial", function()
    for _, t in ipairs {{10, 0.3}, {1, 0.5}, {1000, 0.001}, {100000, 0.9}} do
      local n, q = t[1], t[2]
      local variance = n * q * (1 - q)
      check_moments(R.binomial({20000}, n, q), n * q, variance,
        variance * (1 + 3 * variance - 6 * q * (1 - q)))
    end
    local p, v = {}, 0.7 ^ 4
    for k = 0, 4 do p[k + 1], v = v, v * (4 - k) / (k + 1) * 0.3 / 0.7 end
    check_classes(R.binomial({20000}, 4, 0.3):read(), p, function(k)
      return k + 1
    end)
    assert.same({0, 0}, R.binomial(2, 5, 0):read())
    assert.same({5, 5}, R.binomial(2, 5, 1):read())
    assert.same({0, 0}, R.binomial(2, 0, 0.5):read())
    assert.equal("float", R.binomial(2, 5, 0.5, {type = "float"}).type)
  end)

  it("choose elements", function()
    local p = {0.1, 0.2, 0, 0.7}
    local drawn = R.choice(4, {20000}, {p = p}):read()
    local counts = {0, 0, 0, 0}
    for _, k in ipairs(drawn) do counts[k] = counts[k] + 1 end
    assert.equal(0, counts[3])
    check_classes(drawn, {0.1, 0.2, 0.7}, function(k) return math.min(k, 3) end)
    check_classes(R.choice(4, {20000}, {p = A("float", {1, 1, 1, 1})}):read(),
      {0.25, 0.25, 0.25, 0.25}, function(k) return k end)
    check_classes(R.choice(10, {20000}):read(), tenths, function(k)
      return k
    end)
    local x = A("int", {{1, 10}, {2, 20}, {3, 30}})
    local rows = R.choice(x, {5, 2})
    assert.same({5, 2, 2}, rows.shape)
    for _, row in ipairs(rows:reshape {10, 2}:table()) do
      assert.equal(row[1] * 10, row[2])
    end
    assert.same({0}, R.choice(0, 0).shape)
    local all = R.choice(6, {2, 3}, {replace = false})
    assert.same({1, 2, 3, 4, 5, 6}, all:reshape {6}:sort():read())
    -- Without replacement, the first is drawn with these probabilities.
    local first = {}
    for i = 1, 600 do
      first[i] = R.choice(3, 2, {replace = false, p = {1, 2, 3}})[1]
    end
    check_classes(first, {1 / 6, 2 / 6, 3 / 6}, function(k) return k end)
    local two = R.choice(4, 2, {replace = false, p = {0, 1, 0, 1}})
    assert.same({2, 4}, two:sort():read())
  end)

  it("permute", function()
    local places, list = R.permutation(50):read(), {}
    for i = 1, 50 do list[i] = i end
    assert.not_same(list, places)
    table.sort(places)
    assert.same(list, places)
    local orders = {}
    for _ = 1, 600 do
      orders[#orders + 1] = table.concat(R.permutation(3):read())
    end
    local number = {["123"] = 1, ["132"] = 2, ["213"] = 3, ["231"] = 4,
      ["312"] = 5, ["321"] = 6}
    local sixth = 1 / 6
    check_classes(orders, {sixth, sixth, sixth, sixth, sixth, sixth},
      function(s) return number[s] end)
    local x = A("int", {{1, 10}, {2, 20}, {3, 30}, {4, 40}})
    local y = R.permutation(x)
    assert.same({{1, 10}, {2, 20}, {3, 30}, {4, 40}}, x:table())
    assert.same({1, 2, 3, 4}, y[{{}, 1}]:sort():read())
    local z = R.shuffle(x:t():clone():t())
    for _, row in ipairs(z:table()) do assert.equal(row[1] * 10, row[2]) end
    assert.equal(x, R.shuffle(x))
    assert.same({1, 2, 3, 4}, x[{{}, 1}]:sort():read())
    assert.same({}, R.permutation(0):read())
  end)

  it("count draws of classes", function()
    local x = R.multinomial({400, 5}, 30, {0.2, 0.3, 0.5})
    assert.same({400, 5, 3}, x.shape)
    local sums = x:sum {dim = 3}
    assert.equal(30, sums:min():item())
    assert.equal(30, sums:max():item())
    for k, p in ipairs {0.2, 0.3, 0.5} do
      local variance = 30 * p * (1 - p)
      check_moments(x[{{}, {}, k}]:clone(), 30 * p, variance,
        variance * (1 + 3 * variance - 6 * p * (1 - p)))
    end
    assert.same({0, 0}, R.multinomial({}, 0, {1, 1}):read())
    assert.same({7, 0}, R.multinomial({}, 7, {1, 0}):read())
    assert.same({0, 2}, R.multinomial({0}, 7, {1, 1}).shape)
  end)

  it("depend only on the seed and on the numbers drawn before", function()
    local g, h = R(7), A.random(7)
    local x = g:normal({4}):read()
    assert.same(x, A.randn({4}):read())
    assert.same(x, h.normal({4}):read())
    assert.not_same(x, g:normal({4}):read())
    A.rand(100)
    for _, draw in ipairs {
      function(r) return r:gamma(5, 2) end,
      function(r) return r:poisson(5, 2) end,
      function(r) return r:multinomial(5, 9, {1, 2}) end,
      function(r) return r:permutation(9) end,
      function(r) return r:rand(3) end,
    } do
      g:seed(3)
      h.seed(3)
      local first = draw(g):read()
      assert.same(first, draw(h):read())
      assert.not_same(first, draw(g):read())
    end
    assert.equal("generator: seed 7", tostring(R(7)))
    assert.same(A.random(-1):rand(3):read(), A.random(-1).rand(3):read())
  end)

  it("may be empty or have no dimensions", function()
    for name, arguments in pairs {uniform = {}, normal = {}, exponential = {},
      gamma = {2}, poisson = {2}, binomial = {5, 0.5}} do
      assert.same({0, 2}, R[name]({0, 2}, table.unpack(arguments)).shape)
      assert.equal("number",
        type(R[name]({}, table.unpack(arguments)):item()))
    end
  end)

  it("report the wrong argument", function()
    local function says(text, name, ...)
      assert.equal(name .. ": " .. text, said(R[name], ...))
    end
    says("argument 1 (shape): a table of sizes expected, got nil", "normal")
    says("argument 2 (mean): a finite number expected, got string 'x'",
      "normal", 2, "x")
    says("argument 3 (deviation): a number of 0 or more expected, got -1",
      "normal", 2, 0, -1)
    says("argument 2 (low): 2.0 is greater than high, 1.0", "uniform", 2, 2)
    says("argument 3 (high): a finite number expected, got inf", "uniform", 2,
      0, 1 / 0)
    says("argument 2 (options): type: half, bfloat16, float or double " ..
      "expected, got int", "uniform", 2, {type = "int"})
    says("argument 4 (options): unknown option typ; there are type, device",
      "uniform", 2, 0, 1, {typ = 1})
    says("argument 2 (scale): a number of 0 or more expected, got -1",
      "exponential", 2, -1)
    says("argument 2 (k): a number from 1e-3 to 1e9 expected, got 0.0",
      "gamma", 2, 0.0)
    says("argument 2 (k): a number from 1e-3 to 1e9 expected, got nil",
      "gamma", 2)
    says("argument 2 (rate): a number from 0 to 1e9 expected, got -0.5",
      "poisson", 2, -0.5)
    says("argument 3 (options): type: uchar does not hold numbers up to 500",
      "poisson", 2, 300, {type = "uchar"})
    says("argument 2 (n): an integer from 0 to 2^53 expected, got 0.5",
      "binomial", 2, 0.5, 0.5)
    says("argument 3 (p): a probability expected, got 1.5", "binomial", 2, 5,
      1.5)
    says("argument 2 (n): a variance n p (1 - p) of at most 1e9 expected, " ..
      "got 2.5e+11", "binomial", 2, 10 ^ 12, 0.5)
    says("argument 1 (source): an array or a number of integers expected, " ..
      "got nil", "choice")
    says("argument 3 (options): p: a list of 3 probabilities expected, got " ..
      "2 numbers", "choice", 3, 2, {p = {1, 2}})
    says("argument 3 (options): p: number 2: a probability expected, got -1",
      "choice", 2, 2, {p = {1, -1}})
    says("argument 3 (options): p: probabilities with a positive sum " ..
      "expected, got 0.0", "choice", 2, 2, {p = {0, 0}})
    says("argument 2 (shape): at most 3 elements without replacement, got 4",
      "choice", 3, 4, {replace = false})
    says("argument 2 (shape): at most 1 elements without replacement, got 2",
      "choice", 3, 2, {replace = false, p = {0, 1, 0}})
    says("argument 1 (source): it has no elements", "choice", 0, 1)
    says("argument 3 (options): replace: boolean expected, got integer 1",
      "choice", 3, 1, {replace = 1})
    says("argument 1 (a): array expected, got integer 3", "shuffle", 3)
    says("argument 1 (a): an array of shape {} has no rows", "shuffle",
      A.full({}, 1))
    says("argument 3 (p): a list of probabilities expected, got nil",
      "multinomial", 2, 3)
    says("argument 2 (n): an integer from 0 to 2^31 expected, got -1",
      "multinomial", 2, -1, {1})
    says("argument 3: nothing more expected, got integer 3", "rand", 2, {}, 3)
    assert.equal("random: argument 1 (seed): an integer expected, got nil",
      said(A.random))
    assert.matches("^no function 'cauchy' in a generator %(known: binomial, ",
      said(function() return R.cauchy end))
    assert.equal("a generator has no field that can be set",
      said(function() R.cauchy = 1 end))
  end)
end)
