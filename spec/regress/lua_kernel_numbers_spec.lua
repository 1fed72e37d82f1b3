-- lua_kernel_numbers_spec.lua - numbers that Lua kernels once computed
-- differently from Lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local math, w = math, lze.work
local huge = math.huge
local nan = 0.0 / 0.0

local function shown(v)
  if v ~= v then return "nan" end
  return ("%.17g"):format(v)
end

-- Returns the n doubles of y after f(1, y, ...), in Lua and in a kernel.
local function both(n, f, ...)
  local y, want = lze.buffer("double", n), {}
  for i = 1, n do want[i] = 0.0 end
  lze.kernel(f, {real = "double"})(1, y, ...)
  f(1, want, ...)
  local got = y:read()
  for i = 1, n do got[i], want[i] = shown(got[i]), shown(want[i]) end
  return table.concat(want, " "), table.concat(got, " ")
end

local function it_is_right(title, n, f, ...)
  local arguments = table.pack(...)
  it(title, function()
    if not lze.device().fp64 then return pending "the device has no double" end
    local want, got = both(n, f, table.unpack(arguments, 1, arguments.n))
    assert.equal(want, got)
  end)
end

describe("a Lua kernel", function()
  local two, ten, tenth = 2, 10.0, 0.1
  local function maybe(v) if v > 1 then return v end end
  it_is_right("computes logarithms to every base as Lua does", 10,
    function(_, y, b, x)
      y[1] = math.log(8.0, 2)
      y[2] = math.log(1000.0, 10.0)
      y[3] = math.log(1000.0, ten)
      y[4] = math.log(x, b)
      y[5] = math.log(2.0 ^ 29, two)
      y[6] = math.floor(math.log(1000, b))
      y[7] = math.log(1000.0, tenth * 100)
      y[8] = math.log(8, maybe(b))
      y[9] = math.log(1.0, maybe(-b))
      y[10] = math.floor(math.log(125, 5) * 1000)
    end, 10, 1e15)

  local half, square = 0.5, 2.0
  it_is_right("squares where an exponent is 2, and takes the root of 0.5", 12,
    function(_, y, e, x)
      y[1] = x ^ e
      y[2] = x ^ square
      y[3] = x ^ 2.0
      y[4] = x ^ (e + 0.0)
      y[5] = (x * 7) ^ half
      y[6] = x ^ 0.5
      y[7] = (-0.0 * x) ^ half
      y[8] = (-huge * x) ^ half
      y[9] = (0.0 * x) ^ 0.5
      y[10] = (huge * x) ^ 0.5
      y[11] = 3 ^ e
      y[12] = 1.0 ^ e
    end, 2, 0.1)

  it_is_right("runs no loop upwards to a limit that is NaN", 7,
    function(i, y)
      local n = 0
      for _ = i, 0 / 0 + 1 do n = n + 1 end
      y[1] = n
      for _ = i, -(0 / 0) do n = n + 1 end
      y[2] = n
      for _ = i, huge - huge do n = n + 1 end
      y[3] = n
      for _ = i, 0 / 0 // 1 do n = n + 1 end
      y[4] = n
      for _ = i, nan do n = n + 1 end
      y[5] = n
      for _ = i, 0 / 0, -1 do
        n = n + 1
        if n > 4 then break end
      end
      y[6] = n
      y[7] = 7
    end)

  it_is_right("takes the larger and smaller number as Lua does", 12,
    function(_, y, x)
      y[1] = math.max(3.0, math.max(x, 3.0))
      y[2] = math.min(3.0, math.min(x, 3.0))
      y[3] = math.max(x, 3.0)
      y[4] = math.min(3.0, x)
      y[5] = 1 / math.max(-0.0, math.max(0.0, x))
      y[6] = 1 / math.max(0.0, math.min(-0.0, 0.0))
      y[7] = 1 / math.min(0.0, -0.0 * y[1])
      y[8] = 1 / math.max(-0.0, 0.0 * y[1])
      y[9] = math.max(x, math.max(3.0, x), 5)
      y[10] = math.max(2, math.max(1.5, 2))
      y[11] = math.min(math.max(0, x), 1)
      y[12] = math.min(math.max(x, 0), 1)
    end, nan)

  it("rounds an integer only once when it stores it in a float", function()
    if not lze.device().fp64 then return pending "the device has no double" end
    local n = (1 << 54) + (1 << 30) + 1
    local x, d = lze.buffer("float", 6), lze.buffer("double", 1)
    lze.kernel(function(_, x, d, a)
      x[1] = a
      x[2] = 18014399583223809
      w.atomic_exchange(x, 3, a)
      local own = w.private_array("float", 1)
      own[1] = -a
      x[4] = own[1]
      w.atomic_add(x, 5, a)
      x[6] = a + 0.0
      d[1] = a
    end)(1, x, d, n)
    local above = 0x1.000002p54
    assert.same({above, above, above, -above, above, 0x1p54}, x:read())
    assert.equal(n + 0.0, d[1])
    -- A constant in a kernel whose reals are floats.
    lze.kernel(function(_, x) x[1] = 0 + x[2] * 0 + 18014399583223809 end)(1, x)
    assert.equal(above, x[1])
  end)
end)
