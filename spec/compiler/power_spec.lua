-- power_spec.lua - powers in kernels and arrays beside Lua's own.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local fp64 = lze.device().fp64
local exponents = {0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 0.5, -1, -2, -3, -7,
  -16}

local function single(v) return (string.unpack("f", string.pack("f", v))) end

-- Numbers whose powers are exact, or not numbers, or not finite.
local special = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1.5, -1.5, 0.5, -0.25, 3.0,
  10.0, -7.0, 0x1p-20, 0x1p60, -0x1p100, 0x1p-149, -0x1p-149, 0x1p-126,
  -0x1p-130, 0x1.8p127, -0x1.8p127, 1 / 0, -1 / 0, 0 / 0}
-- Others; the first powers of the last ones are too small or too large.
local ordinary = {}
do
  local state = 1
  local function random(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n
  end
  for k = 1, 4000 do
    local scale = k % 4 == 0 and 60 or 3
    ordinary[k] = single((random(2) * 2 - 1) * (1 + random(1 << 23) / 0x1p23) *
      2.0 ^ (random(2 * scale) - scale))
  end
end

local function same(x, y)
  return x == y and 1 / x == 1 / y or x ~= x and y ~= y
end

local function shown(...) return ("%a ^ %s is %a, not %a"):format(...) end

-- A kernel with all exponents as constants.
local text = {"return function(i, x, y) local v, k = x[i], (i - 1) * N\n"}
for k, e in ipairs(exponents) do
  text[#text + 1] = ("y[k + %d] = v ^ (%s)\n"):format(k, e)
end
text[#text + 1] = "end"
local source = table.concat(text):gsub("N", #exponents)
local constant = lze.kernel(load(source, "=powers")())

-- Calls f(base, exponent, result) for all results of kernel and arrays.  Arrays
-- use pow for exponents below -2.
local function each(kind, list, f)
  local x = A(kind, list):eval()
  local y = lze.buffer(kind, #list * #exponents)
  constant(#list, x, y)
  local got = y:read()
  for k, e in ipairs(exponents) do
    local r = e >= -2 and (x ^ e):read()
    for i, v in ipairs(list) do
      f(v, e, got[(i - 1) * #exponents + k])
      if r then f(v, e, r[i]) end
    end
  end
end

local kinds = fp64 and {"float", "double"} or {"float"}

describe("a power with a known exponent", function()
  it("is Lua's for exact results, signed zeros, infinities and NaNs",
    function()
      for _, kind in ipairs(kinds) do
        each(kind, special, function(v, e, got)
          local want = v ^ e
          if kind == "float" then want = single(want) end
          -- 0x1.8p127 ^ 16 and others are finite doubles, but not exact.
          local large = kind == "double" and want - want == 0 and
            math.abs(got - want) <= 0x1p-52 * math.abs(want)
          assert(same(got, want) or large and want ~= 0,
            shown(v, e, got, want))
        end)
      end
    end)

  it("is Lua's rounded to float in every bit", function()
    if not fp64 then return pending "needs a device with fp64" end
    each("float", ordinary, function(v, e, got)
      local want = single(v ^ e)
      if not same(got, want) then error(shown(v, e, got, want)) end
    end)
  end)

  it("is Lua's in double in nearly all bits", function()
    if not fp64 then return pending "needs a device with fp64" end
    local wrong, count = 0, 0
    each("double", ordinary, function(v, e, got)
      local want = v ^ e
      count = count + 1
      if same(got, want) then return end
      wrong = wrong + 1
      -- pow is not always rounded correctly.
      if math.abs(got - want) > 0x1p-52 * math.abs(want) then
        error(shown(v, e, got, want))
      end
    end)
    assert(wrong * 100 < count, wrong .. " of " .. count)
  end)

  it("is the product of doubles with their errors", function()
    if not fp64 then return pending "needs a device with fp64" end
    -- 1 + 3 u + 3 u^2 + u^3 is rounded once, down for u = -0x1p-27.
    local x = A("double", {1 + 0x1p-27, 1 - 0x1p-27, 0x1.0000001p-400})
    assert.same({1 + 3 * 0x1p-27 + 0x1.8p-53 + 0x1p-54,
      1 - 3 * 0x1p-27 + 0x1p-53, 0.0}, (x ^ 3):read())
    assert.equal(1 / 3, (A("double", {3}) ^ -1):item())
  end)
end)

describe("a power of an array", function()
  it("is real for integers, and names the operator in errors", function()
    local r = A("int", {-3, 0, 2}) ^ 3
    assert.equal("float", r.type)
    assert.same({-27.0, 0.0, 8.0}, r:read())
    assert.same({4.0, 9.0}, (A("long", {{2}, {3}}) ^ 2.0):read())
    assert.equal(0, (A.zeros {0} ^ 3).size)
    assert.same({4.0, 1.0}, (A("float", {1, 3, 2})[{{3, 1, -2}}] ^ 2):read())
    local closed = A.ones {2}
    closed:close()
    local _, err = pcall(function() return closed ^ 3 end)
    assert.matches("a %^ b: .*the array is closed", err)
  end)

  it("is the same with an exponent that only a launch knows", function()
    local list = {-1.5, -0.0, 0.0, 2.0, 1 / 0}
    local e = A("float", {2, 3, 3, 0.5, -1})
    local r = (A("float", list) ^ e):read()
    for i, v in ipairs(list) do
      local want = single(v ^ e[i])
      assert(same(r[i], want), shown(v, e[i], r[i], want))
    end
  end)
end)
