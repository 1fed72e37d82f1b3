-- lua_kernel_meaning_spec.lua - code that Lua kernels once refused, or
-- interpreted differently from Lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local lzc = require "spec.support.lzc"
local math, w, error = math, lze.work, error

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

local function refused(f, ...)
  return said(lze.kernel(f, {name = "k"}), 1, lze.buffer("int", 4), ...)
end

describe("a Lua kernel", function()
  local function two(v) if v > 1 then return v, 7 end return v end
  local function some(v) if v ~= 2 then return v end end
  local function chain(f)
    return function(i, x) if f then f(i, x) end x[i] = x[i] + i end
  end

  it("computes what the function computes in Lua", function()
    local yes, big = true, (1 << 24) + 1
    local cases = {
      -- One return may give fewer results than another.
      function(i, x)
        local _, b = two(i)
        x[i] = (b or -1) + (some(i) or 100)
      end,
      -- The width of reals does not affect the floor of an integer quotient.
      function(i, x)
        local t = i > 1 and -i or i
        x[i] = math.floor(big / i) + math.floor(big / t) + math.floor(t / 2)
      end,
      -- A captured boolean selects a value at compile time.
      function(i, x, y)
        local from, f = yes and x or y, not yes and math.ceil or math.floor
        x[i] = from[i] + f(i / 4)
      end,
      function(i, x)
        local s = math.type(i) == "integer" and 1 or 2
        if math.type(s / 2) == "float" and math.type(nil ~= i) == nil then
          s = s + 10
        end
        if i == 1 then x[i] = s elseif i == 2 then x[i] = 4.0 else
          x[i] = -(i * 2.5 // 1)
        end
      end,
      -- The step of a loop is a choice whose last alternative is 1.
      function(i, x)
        local s = 0
        for j = 1, 10, i < 2 and 2 or 1 do s = s + j end
        for j = 10, 1, i < 2 and -3 or 1 do s = s * 2 + j end
        x[i] = s
      end,
      -- Two functions with the same code are different functions.
      chain(chain(nil))
    }
    for n, f in ipairs(cases) do
      local x, y = lze.buffer("int", {4, 3, 2}), {4, 3, 2}
      local z = lze.buffer("float", 3)
      local k = lze.kernel(function(i, a, _) f(i, a, a) end)
      k({1}, x, z)
      f(1, y, y)
      k({2, offset = 1}, x, z)
      for i = 2, 3 do f(i, y, y) end
      assert.same(y, x:read(), "case " .. n)
    end
  end)

  it("converts integers for atomics to the type of the element", function()
    local function f(i, x, y)
      w.atomic_min(x, i, -1)
      w.atomic_max(x, i + 1, 1 << 32)
      w.atomic_max(y, i, 1 << 31)
      w.atomic_compare_exchange(y, i + 1, (1 << 32) + 5, 9)
    end
    for _, run in ipairs {lze.kernel(f), f} do
      local x, y = lze.buffer("uint", {5, 5}), lze.buffer("int", {5, 5})
      run(1, x, y)
      assert.same({5, 5, 5, 9}, {x[1], x[2], y[1], y[2]})
    end
  end)

  it("reads nil outside a buffer, wherever it is passed", function()
    local function get(x, i) return x[i] end
    local function deeper(x, i) return get(x, i) end
    local function second(x, i) local v = deeper(x, i) return 1, v end
    local function or0(v) return v or 0 end
    local function swap(v, u) return u, v end
    local cases = {
      function(i, x, y) y[i] = deeper(x, i - 1) or 100 end,
      function(i, x, y) y[i] = or0(x[i - 1]) * 10 + or0(x[i + 1]) end,
      function(i, x, y)
        local one, v = second(x, i + 1)
        y[i] = v == nil and one or v
      end,
      function(i, x, y)
        local u, v = swap(x[i - 1], x[i + 1])
        y[i] = or0(u) * 10 + (v or 3)
      end,
      function(i, x, y)
        local last
        for j = i - 1, i + 1 do
          y[i] = y[i] * 10 + or0(last)
          last = get(x, j)
        end
      end,
      function(i, x, y)
        local a, b
        a, b = x[i - 1], x[i + 1]
        if a then y[i] = a else y[i] = -1 end
        y[i] = y[i] + (b or 100)
      end,
      function(i, x, y)
        local a = x[i + 1]
        local b = a
        if i > 1 then a = 5 end
        y[i] = b == nil and 3 or a
      end,
      function(i, x, y)
        local last
        for j = i - 1, i + 1 do
          local v = x[j]
          if last then y[i] = y[i] * 10 + last end
          last = v
        end
      end
    }
    for n, f in ipairs(cases) do
      local x, y = lze.buffer("int", {4, 3, 2}), lze.buffer("int", 3)
      lze.kernel(f)(3, x, y)
      local want = {0, 0, 0}
      for i = 1, 3 do f(i, {4, 3, 2}, want) end
      assert.same(want, y:read(), "case " .. n)
    end
  end)

  it("treats arithmetic that only nil can reach as unreachable", function()
    local clamped = true
    local function either(v) return clamped and v or 1 - v end
    local function never(v) if not v then return 1 - v end return v end
    local x = lze.buffer("int", {3, -4})
    for _, f in ipairs {
      function(i, y) local v = x[i] y[i] = clamped and v or 1 - v end,
      function(i, y) local v = x[i] if v == nil then v = v + 1 end y[i] = v end,
      function(i, y) y[i] = either(x[i]) end,
      function(i, y) y[i] = never(x[i]) end,
    } do
      local y = lze.buffer("int", 2)
      lze.kernel(f)(2, y)
      assert.same({3, -4}, y:read())
    end
  end)

  it("is compiled again if a captured string has changed", function()
    local kind = "uchar"
    local k = lze.kernel(function(i, x)
      local t = w.private_array(kind, 1)
      t[1] = 300
      x[i] = t[1]
    end)
    local x = lze.buffer("int", 1)
    k(1, x)
    assert.equal(44, x[1])
    kind = "short"
    k(1, x)
    assert.equal(300, x[1])
  end)

  it("recognises two captures of the same function", function()
    local function one(v) return v end
    local function two(v) return v end
    local held = {one = one, sqrt = math.sqrt, error = error}
    local sqrt = math.sqrt
    local x = lze.buffer("int", 6)
    lze.kernel(function(_, x)
      x[1] = one == held.one and 1 or 0
      x[2] = one ~= held.one and 1 or 0
      x[3] = one == two and 1 or 0
      x[4] = sqrt == math.sqrt and held.sqrt == sqrt and 1 or 0
      x[5] = error == held.error and x == x and 1 or 0
      x[6] = one == sqrt and 1 or 0
    end)(1, x)
    assert.same({1, 0, 0, 1, 1, 0}, x:read())
    local all = {x = x}
    assert.matches("k: a buffer %(x%) is compared with a buffer %(all%.x%); "
      .. "kernels compare numbers, booleans, strings and functions",
      refused(function(_, x) x[1] = x == all.x and 1 or 0 end))
    assert.matches("k: a buffer %(x%) is compared with a buffer %(y%)",
      refused(function(_, x, y) x[1] = x == y and 1 or 0 end, x))
  end)

  it("passes all results of a function to math.max", function()
    local function some(v)
      if v > 1 then return v, v * 2 elseif v < 0 then return v end
      return v, 0.5, 9
    end
    local x, y = lze.buffer("int", {-7, 3, 0}), lze.buffer("float", 3)
    local f = function(i, x, y)
      y[i] = math.max(some(x[i])) * 100 + math.min(5, some(-x[i]))
    end
    lze.kernel(f)(3, x, y)
    local want = {}
    for i = 1, 3 do f(i, x, want) end
    assert.same({want[1] + 0.0, want[2] + 0.0, want[3] + 0.0}, y:read())
  end)

  it("refuses a field whose name contains a zero byte", function()
    local held = {a = 1, ["a\0b"] = 2}
    assert.matches("k: a field of a table %(held%) has a zero byte in its name",
      refused(function(i, x) x[i] = held["a\0b"] end))
  end)

  it("reads fields after the function's 256th constant", function()
    local text = {"local held = ... return function(i, x) local s = 0.0 "}
    for n = 1, 300 do text[#text + 1] = ("s = s + %d.5 "):format(n) end
    text[#text + 1] = "x[i] = s + math.floor(i / 2) + held.a + held.b.c end"
    local f = load(table.concat(text))({a = 3, b = {c = 4}})
    local x, want = lze.buffer("float", 2), {}
    lze.kernel(f)(2, x)
    for i = 1, 2 do f(i, want) end
    assert.same(want, x:read())
  end)

  it("takes any integer from 1 to 3 as a dimension", function()
    local x = lze.buffer("int", 1)
    lze.kernel(function(x)
      for d = 3, 1, -1 do x[1] = x[1] * 10 + w.global_id(d) end
    end)({1, 1, 1, offset = {1, 2, 3}}, x)
    assert.equal(432, x[1])
    assert.matches("work.local_id needs 1, 2 or 3 as dimension",
      refused(function(i, x) x[i] = w.local_id(4) end))
    assert.matches("work.global_id needs 1, 2 or 3 as dimension",
      refused(function(i, x) x[i] = w.global_id(i / 2) end))
  end)

  -- For a CPU with doubles, lze has functions of its own, which are faster than
  -- those that PoCL calls native.
  it("uses native float functions with the option `fast`", function()
    local f = function(i, x)
      x[i] = math.sin(x[i]) + math.sqrt(x[i]) + math.log(x[i], 2)
    end
    local text = lze.spirv.disassemble(lze.kernel(f, {fast = true})
      :spirv "float *x")
    local device = lze.device()
    local own = device.software and device.fp64
    assert.matches(own and "native_sqrt" or
      "native_sin.*native_sqrt.*native_log2", text)
    assert.equal(own, not text:find "native_sin")
    assert.not_matches("native", lze.spirv.disassemble(lze.kernel(f)
      :spirv "float *x"))
    if lze.device().fp64 then
      assert.not_matches("native", lze.spirv.disassemble(lze.kernel(f,
        {fast = true, real = "double"}):spirv "float *x"))
    end
  end)
end)

describe("a finding", function()
  it("names each of two undefined globals in one line", function()
    -- luacheck: ignore
    local err = refused(function(i, x) x[i] = here + there end)
    assert.matches("here is nil %(a global%).*there is nil %(a global%)", err)
  end)

  it("names a value that has different types", function()
    assert.matches(": a has different types on different ways to this line;",
      refused(function(i, x)
        local a = i > 1 and x or nil
        a[i] = 1
      end))
    assert.matches(": a value here is a boolean from line %d+ and an integer",
      refused(function(i, x) x[i] = (i > 2 or i) + 1 end))
  end)

  it("gives the line of a loop with two entries", function()
    local at = debug.getinfo(1, "l").currentline
    local line = refused(function(i, x)
      local c = i
      if c > 2 then goto b end
      ::a:: c = c + 1
      ::b:: c = c + 2
      if c < 10 then goto a end
      x[i] = c
    end):match "_spec.lua:(%d+): kernel k: a loop has two entries"
    -- The line of one entry: the order of the jumps differs in Lua 5.4.0.
    assert.truthy(line == tostring(at + 4) or line == tostring(at + 5), line)
  end)

  it("is omitted if it follows from another one", function()
    local err = refused(function(i, x)
      for j = 1, mth.min(i, 2) do x[j] = 1 end -- luacheck: ignore
    end)
    assert.matches("mth is nil %(a global%)", err)
    assert.matches("1 thing in the function", err)
    local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
    err = refused(function(i, x) x[i] = fib(i) end)
    assert.matches("fib calls itself %(fib calls fib%)", err)
    assert.matches("1 thing in the function", err)
    local function last(n) if n > 0 then return last(n - 1) end return 0 end
    err = refused(function(i, x) x[i] = last(i) + last(i + 1) end)
    assert.matches("last calls itself", err)
    assert.matches("1 thing in the function", err)
    local pairs = lze.buffer("float2", 4) -- luacheck: ignore
    err = refused(function(i, x)
      x[i] = math.abs(pairs[i].x) + w.global_id(pairs[i])
    end)
    assert.matches("vectors or structs .*%(pairs%) is indexed here", err)
    assert.matches("1 thing in the function", err)
  end)

  it("reports reals that are passed to math.ult", function()
    assert.matches("k: math.ult takes two integers",
      refused(function(i, x, a) x[i] = math.ult(a, i) and 1 or 2 end, 1.5))
    assert.matches("k: math.ult takes two integers",
      refused(function(i, x) x[i] = math.ult(i, 1.0) and 1 or 2 end))
  end)

  it("names captured values", function()
    local n, held = 3, {}
    local err = refused(function(i, x)
      x[i] = n[i] + n()
      x[i] = held()
      x[i] = error + i
      x[i] = "a" + i -- luacheck: ignore
    end)
    for _, text in ipairs {"an integer (n) is indexed here",
        "an integer (n) is called here", "k: a table (held) is called here",
        "+ needs a number, this is a C function (error)\n",
        "+ needs a number, this is a string"} do
      assert.truthy(err:find(text, 1, true), text)
    end
    assert.not_matches("private array", err)
  end)

  it("names the C function that is called", function()
    assert.matches("a C function %(error%) is called here",
      refused(function(i, _) error(i) end))
    assert.matches("math.randomseed has a state that work%-items cannot share",
      refused(function(i, _) math.randomseed(i) end))
  end)

  it("is made for a function whose return is past its last register",
    function()
      local _, why = lzc.compile(function()
        local x <close> = nil -- luacheck: ignore
      end, {})
      assert.matches("kernels have no <close> variables", why)
    end)
end)
