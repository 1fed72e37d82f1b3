-- lua_kernel_given_spec.lua - numbers that a launch passes to a Lua kernel:
-- results once depended on the numbers of earlier launches.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local math = math

-- Returns the n elements of y after f(1, y, ...) in Lua.
local function host(n, f, ...)
  local y = {}
  for i = 1, n do y[i] = 0.0 end
  f(1, y, ...)
  return y
end

local function device(k, n, ...)
  local y = lze.buffer("double", n)
  k(1, y, ...)
  return y:read()
end

local function shown(list)
  local texts = {}
  for i, v in ipairs(list) do texts[i] = ("%.17g"):format(v) end
  return table.concat(texts, " ")
end

describe("a Lua kernel, after a launch with a real,", function()
  local big = (1 << 53) + 1
  -- Each treats an integer differently from a real.
  local cases = {
    function(_, y, a) y[1] = 1 / (a * 0) end,
    function(_, y, a) y[1] = a + 1 - 1.0 end,
    function(_, y, a) y[1] = 1 / -(a - a) end,
    function(_, y, a) y[1] = 1 / -a end,
    function(_, y, a) y[1] = a == 9007199254740993 and 1 or 0 end,
    function(_, y, a) y[1] = a > 9007199254740992 and 1 or 0 end,
    function(_, y, a) y[1] = math.type(a) == "integer" and 1 or 0 end,
    function(_, y, a) y[1] = math.max(a, 9007199254740992) - (1 << 53) end,
    function(_, y, a) y[1] = math.abs(a) - (1 << 53) end,
    function(_, y, a) y[1] = math.floor(a) - (1 << 53) end,
    function(_, y, a)
      local n = 0
      for j = 1 << 53, a do n = n * 2 + (j & 3) end
      y[1] = n
    end,
    function(_, y, a)
      local n = 0
      for j = a - 1, a + 2 do n = n * 2 + (j == 1 << 53 and 1 or 0) end
      y[1] = n
    end,
    function(_, y, a)
      local s = 0
      if y[1] == 0 then s = a end
      y[1] = s - (1 << 53)
    end,
    function(_, y, a)
      local either = y[2] > 0 and 1 or a
      y[1] = either // 1 - (1 << 53)
    end
  }

  it("computes with integers if the launch passes one", function()
    if not lze.device().fp64 then return pending "the device has no double" end
    for n, f in ipairs(cases) do
      local k = lze.kernel(f)
      for _, v in ipairs {0.5, big, 0, -1.5, 3.0, 3} do
        assert.equal(shown(host(2, f, v)), shown(device(k, 2, v)),
          ("case %d: %s"):format(n, v))
      end
    end
  end)

  it("computes with integers that it captures", function()
    if not lze.device().fp64 then return pending "the device has no double" end
    local a, b = 0.5, 0.5
    local f = function(_, y)
      y[1] = 1 / (a * 0)
      y[2] = math.floor(b / 1) // 1 - (1 << 53)
    end
    local k = lze.kernel(f)
    for _, v in ipairs {0.5, -3, -3.0} do
      a = v
      assert.equal(shown(host(2, f)), shown(device(k, 2)))
    end
    b = big -- the floor of an integer quotient is computed with integers
    assert.equal(1.0, device(k, 2)[2])
  end)

  it("is not compiled again if integers would be converted", function()
    local x, y = lze.buffer("float", {1, 2, 3, 4}), lze.buffer("float", 4)
    local a, b, c = 2.5, 0.5, 4.0
    local k = lze.kernel(function(i, x, y, d)
      local s = x[i] * a
      if s > c then s = d end
      y[i] = math.sqrt(b) * 0 + s / d + math.min(x[i], b, c) + x[i] ^ c + d / 2
    end)
    k(4, x, y, 1.0)
    a, b, c = 3, 1, 2
    k(4, x, y, 2)
    assert.matches(", 1 variant;", tostring(k))
    for i = 1, 4 do
      local s = x[i] * 3
      if s > 2 then s = 2 end
      assert.equal(s / 2 + 1 + x[i] ^ 2 + 1, y[i])
    end
  end)
end)
