-- function_spec.lua - functions of floats beside the same ones in double.
-- SPDX-License-Identifier: MIT
--
-- LZE_FUNCTIONS=all takes all 2^32 floats instead of 2^16.

local lze = require "lze"
local A = lze.array
local math = math -- a kernel does not see busted's globals
local device = lze.device()
local all = os.getenv "LZE_FUNCTIONS" == "all"
local own = device.fp64 and device.type == "cpu"
local N <const> = all and 1 << 24 or 1 << 16
local STRIDE <const> = all and 1 or 65521 -- a prime number
local LIMIT <const> = 0.501               -- units in the last place

local unary = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin",
  "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
  "acosh", "atanh", "cbrt", "sigmoid"}
local binary = {"atan2", "hypot", "pow"}
local functions = setmetatable({pow = function(x, y) return x ^ y end},
  {__index = A})

local huge, nan = math.huge, -(0 / 0)
local special = {0.0, -0.0, huge, -huge, nan, 1.0, -1.0, 0x1p-149, -0x1p-149,
  0x1p-126, -0x1p-126, 0x1.fffffep127, -0x1.fffffep127, 0.5, -0.5, 2.0, -2.0,
  3.0, -3.0, 0x1.fffffep-1, 0x1.000002p0, 1e-10, -1e-10, 89.0, -104.0, 128.0,
  -150.0, 0x1.921fb6p0, 0x1p24, -0x1p24, 12345679.0, 4194303.5, 1e30}

local fill = lze.kernel(function(i, bits, from, stride)
  bits[i] = (from + (i - 1) * stride) & 0xffffffff
end)

-- The error of a float `g` beside the exact result w, in units of the last
-- place of floats; 1e9 if it is something else, such as an infinity.
local measure = lze.kernel(function(i, e, got, want)
  local g, w, r = got[i] + 0.0, want[i], 0.0
  if g ~= g or w ~= w then
    if (g == g) ~= (w == w) then r = 1e9 end
  elseif g - g ~= 0 then
    if math.abs(w) < 0x1.ffffffp127 or (g > 0) ~= (w > 0) then r = 1e9 end
  elseif math.abs(w) > 0x1.ffffffp127 then
    r = 1e9
  elseif g ~= w then
    local power = math.floor(math.log(math.abs(w), 2))
    r = math.abs(g - w) / 2.0 ^ math.max(power - 23, -149)
  end
  e[i] = r
end)

-- Returns the largest error of a function, and its arguments.
local function worst(name, x, y)
  local f = functions[name]
  local got, want
  if y then
    got, want = f(x, y):eval(), f(x:to "double", y:to "double"):eval()
  else
    got, want = f(x):eval(), f(x:to "double"):eval()
  end
  local errors = A.zeros({#x}, {type = "double"})
  measure(#x, errors.buffer, got.buffer, want.buffer)
  local at = errors:argmax():item()
  return errors[at], x[at], y and y[at]
end

-- Calls f(x, y) with arrays of floats of all sizes.
local function each_part(f)
  local x = A.zeros {N}:eval()
  local y = A.zeros {N}:eval()
  for from = 0, (1 << 32) - 1, N * STRIDE do
    fill(N, x.buffer:view(1, N, "uint"), from, STRIDE)
    fill(N, y.buffer:view(1, N, "uint"), from * 3 + 1, 1234577)
    f(x, y)
  end
end

local function bits(v) return v ~= v and "nan" or ("%a"):format(v) end
-- Returns the text of a float, of `w` if they are neighbours: the exact result
-- may be next to the middle between them.
local function near(v, w)
  local d = math.abs(v - w)
  return bits(d > 0 and d <= math.abs(w) * 0x1p-23 and w or v)
end

local function single(v) return (string.unpack("f", string.pack("f", v))) end

-- Functions for which C's Annex F and Lua's math agree.
local host = {exp = math.exp, log = math.log, sin = math.sin, cos = math.cos,
  tan = math.tan, asin = math.asin, acos = math.acos, atan = math.atan,
  log2 = function(v) return math.log(v, 2) end,
  log10 = function(v) return math.log(v, 10) end,
  exp2 = function(v) return 2.0 ^ v end}

-- Results of the others for some of the special values.
local exact = {
  expm1 = {{-0.0, -0.0}, {-huge, -1.0}, {huge, huge}, {-104.0, -1.0}},
  log1p = {{-0.0, -0.0}, {-1.0, -huge}, {huge, huge}, {-2.0, nan}},
  sinh = {{-0.0, -0.0}, {-huge, -huge}, {89.0, single(math.exp(89.0) / 2)}},
  cosh = {{-0.0, 1.0}, {-huge, huge}},
  tanh = {{-0.0, -0.0}, {-huge, -1.0}, {huge, 1.0}, {0x1p-149, 0x1p-149}},
  asinh = {{-0.0, -0.0}, {-huge, -huge}, {-0x1p-149, -0x1p-149}},
  acosh = {{1.0, 0.0}, {huge, huge}, {0.5, nan}, {-3.0, nan}, {-huge, nan}},
  atanh = {{-0.0, -0.0}, {1.0, huge}, {-1.0, -huge}, {2.0, nan}, {huge, nan}},
  cbrt = {{-0.0, -0.0}, {-huge, -huge}, {-0x1p-149, single(-0x1p-149 ^
    (1 / 3))}, {27.0, 3.0}, {-0x1p126, -0x1p42}},
  sigmoid = {{-0.0, 0.5}, {-huge, 0.0}, {huge, 1.0}}
}

-- A sum of the bits of results, the same on all devices.
local digests = {
  acos = "92ac14f033eaa402", acosh = "f12a68af0f165fe4",
  asin = "5eedbf9139f4fff4", asinh = "2eb923216455cfb1",
  atan = "4978c9e3d126a016", atan2 = "3455e97d6ed5fff4",
  atanh = "836f9eb52c614b00", cbrt = "fa7c2a4e1426b227",
  cos = "c6362d8640f02346", cosh = "0643f2163d1961b2",
  exp = "5d17b9abab0c04b6", exp2 = "6d8a4edf224a60a8",
  expm1 = "47813dd69e19cea0", hypot = "cccaf68b03b78276",
  log = "4de3af6fc049f1a7", log10 = "7a0daeb0bd09c75d",
  log1p = "537c0598ead6f275", log2 = "6a9e3bceacf1d607",
  pow = "321672e9bd1ffe36", sigmoid = "b0080578028ca8e7",
  sin = "10c20392c2914eba", sinh = "8844c0575c38aeb2",
  tan = "7b475bcc551974b2", tanh = "fd7336d28c89fdf8"
}

local function digest(a)
  local sum = 0
  for i, v in ipairs(a:read()) do
    local n = v ~= v and 0x7fc00000 or string.unpack("I4", string.pack("f", v))
    sum = (sum ~ n + i) * 0x100000001b3
  end
  return ("%016x"):format(sum)
end

describe("a function of floats", function()
  if not own then return end

  it("is within 0.501 units of the last place", function()
    each_part(function(x)
      for _, name in ipairs(unary) do
        local e, v = worst(name, x)
        if e > LIMIT then error(("%s(%a): %g"):format(name, v, e)) end
      end
    end)
  end)

  it("of two arguments is within 0.501 units of the last place", function()
    each_part(function(x, y)
      for _, name in ipairs(binary) do
        local e, v, w = worst(name, x, y)
        if e > LIMIT then error(("%s(%a, %a): %g"):format(name, v, w, e)) end
      end
    end)
  end)

  it("returns the same bits on all devices", function()
    local x = (A.arange(3200):to "float" * 0.03125 - 30):eval()
    local y = (x * 0.375 - 5):eval()
    local got = {}
    for _, name in ipairs(unary) do got[name] = digest(A[name](x)) end
    for _, name in ipairs(binary) do
      got[name] = digest(functions[name](x, y))
    end
    assert.same(digests, got)
  end)

  it("has the special values of Lua's", function()
    for name, f in next, host do
      local r = A[name](A("float", special)):read()
      for i, v in ipairs(special) do
        v = single(v)
        assert.equal(bits(single(f(v))), bits(r[i]), name .. " " .. bits(v))
      end
    end
  end)

  it("has the special values of C's Annex F", function()
    for name, list in next, exact do
      for _, pair in ipairs(list) do
        local r = A[name](A("float", {pair[1]})):item()
        assert.equal(bits(pair[2]), bits(r), name .. " " .. bits(pair[1]))
      end
      assert.equal("nan", bits(A[name](A("float", {nan})):item()), name)
    end
  end)

  it("of two arguments has the special values of C's", function()
    local x, y = {}, {}
    for _, v in ipairs(special) do
      for _, w in ipairs(special) do x[#x + 1], y[#y + 1] = v, w end
    end
    local a, b = A("float", x), A("float", y)
    local power, atan, hypot = (a ^ b):read(), a:atan2(b):read(),
      a:hypot(b):read()
    for i = 1, #x do
      local v, w = single(x[i]), single(y[i])
      local what = bits(v) .. " " .. bits(w)
      local p, t = single(v ^ w), single(math.atan(v, w))
      assert.equal(bits(p), near(power[i], p), what)
      assert.equal(bits(t), near(atan[i], t), what)
      local h = math.abs(v) == huge and huge or math.abs(w) == huge and huge or
        single(math.sqrt(v * v + w * w))
      assert.equal(bits(h), bits(hypot[i]), what)
    end
  end)

  it("is the same in a kernel and in a reduction", function()
    local x = A.linspace(-3, 3, 1000):to "float":eval()
    local y = lze.buffer("float", 1000)
    lze.kernel(function(i, to, from)
      to[i] = math.sin(from[i]) + math.exp(from[i])
    end)(1000, y, x)
    assert.same(y:read(), (A.sin(x) + A.exp(x)):read())
    local t = x:tanh():eval()
    assert.equal(t:max():item(), x:tanh():max():item())
  end)
end)
