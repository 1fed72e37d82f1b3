-- work_spec.lua - work functions in kernels: arrays, atomics, random numbers.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local lzc = require "spec.support.lzc"
local w, kernel = lzc.work, lzc.kernel
local math = math

local function numbers(type, n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return lze.buffer(type, t)
end

describe("local arrays", function()
  it("are shared by a group between barriers", function()
    local size = 64
    local f = function(i, x, out)
      local t, l, s = w.local_array("float", size), w.local_id(),
        w.local_size()
      t[l] = x[i]
      w.barrier()
      while s > 1 do
        s = s // 2
        if l <= s then t[l] = t[l] + t[l + s] end
        w.barrier()
      end
      if l == 1 then out[w.group_id()] = t[1] + #t end
    end
    local run = kernel(f, {"id", "const float*", "float*"})
    local out = lze.buffer("float", 4)
    run({256, group = 64}, numbers("float", 256, function(i) return i end), out)
    for g = 1, 4 do
      assert.equal((g - 1) * 64 * 64 + 65 * 32 + 64, out[g])
    end
  end)

  it("need a size that is known at compile time", function()
    local _, why = lzc.compile(function(i, x)
      local t = w.local_array("float", i)
      t[1] = x[i]
    end, {"id", "float*"})
    assert.matches("work.local_array: needs a size", why)
    _, why = lzc.compile(function(i, x)
      local t = w.private_array("float", 4.0)
      t[1] = x[i]
    end, {"id", "float*"})
    assert.matches("needs a size .* 16777216; this is a real %(math.tointeger",
      why)
    _, why = lzc.compile(function(i, x)
      local t = w.private_array("flot", 4)
      t[1] = x[i]
    end, {"id", "float*"})
    assert.matches('takes the name of a type .* a size, got "flot"', why)
  end)
end)

describe("private arrays", function()
  it("belong to one work-item each", function()
    local run = kernel(function(i, x)
      local t = w.private_array("long", 8)
      for k = 1, #t do t[k] = i * k end
      local s = 0
      for k = #t, 1, -1 do s = s * 3 + t[k] end
      x[i] = s
    end, {"id", "long*"})
    local x = lze.buffer("long", 100)
    run(100, x)
    for i = 1, 100 do
      local s = 0
      for k = 8, 1, -1 do s = s * 3 + i * k end
      assert.equal(s, x[i])
    end
  end)
end)

describe("atomics", function()
  it("add, exchange and find the minimum and maximum of floats", function()
    for _, type in ipairs {"float", "double"} do
      local run = kernel(function(i, x)
        w.atomic_add(x, 1, i)
        w.atomic_sub(x, 2, 0.5)
        w.atomic_min(x, 3, -i)
        w.atomic_max(x, 4, i * 2)
        local old = w.atomic_exchange(x, 5, 7.5)
        if old ~= 7.5 then x[6] = old end
      end, {"id", type .. "*"})
      local x = lze.buffer(type, {0, 0, 0, 0, 3, 0})
      run(1000, x)
      assert.same({500500.0, -500.0, -1000.0, 2000.0, 7.5, 3.0}, x:read())
    end
  end)

  it("exchange a value if it is the expected one", function()
    local run = kernel(function(i, x, y)
      -- The first work-item takes its place; the second sees that.
      local place = i % 10 + 1
      if w.atomic_compare_exchange(x, place, 0, i) == 0 then
        y[place] = i
      end
      w.atomic_compare_exchange(x, place, -5, 1)
    end, {"id", "int*", "int*"})
    local x, y = lze.buffer("int", 10), lze.buffer("int", 10)
    run(500, x, y)
    for k = 1, 10 do
      assert.equal(k - 1, x[k] % 10)
      assert.equal(x[k], y[k])
    end
  end)

  it("count in a group's local arrays", function()
    local run = kernel(function(i, x, out)
      local t, l = w.local_array("uint", 16), w.local_id()
      if l <= 16 then t[l] = 0 end
      w.barrier()
      w.atomic_add(t, x[i] % 16 + 1, 1)
      w.barrier()
      if l <= 16 then w.atomic_add(out, l, t[l]) end
    end, {"id", "const int*", "int*"})
    local out = lze.buffer("int", 16)
    run({256, group = 64}, numbers("int", 256, function(i) return i * i end),
      out)
    local want = {}
    for k = 1, 16 do want[k] = 0 end
    for i = 1, 256 do want[i * i % 16 + 1] = want[i * i % 16 + 1] + 1 end
    assert.same(want, out:read())
  end)

  it("are refused for unsupported types and private arrays", function()
    local function why(f, ...)
      return select(2, lzc.compile(f, {"id", ...}))
    end
    assert.matches("needs integers", why(function(i, x)
      w.atomic_or(x, i, 1)
    end, "float*"))
    assert.matches("needs cells of 32 or 64 bits", why(function(i, x)
      w.atomic_add(x, i, 1)
    end, "short*"))
    assert.matches("these are of bfloat16", why(function(i, x)
      w.atomic_add(x, i, 1)
    end, "bfloat16*"))
    assert.matches("private array", why(function(i, x)
      local t = w.private_array("int", 4)
      x[i] = w.atomic_add(t, 1, 1)
    end, "int*"))
  end)
end)

describe("random numbers", function()
  it("are Philox4x32-10", function()
    local run = kernel(function(i, seed, counter, x)
      local a, b, c, d = w.random(seed[i], counter[i])
      x[i * 4 - 3], x[i * 4 - 2], x[i * 4 - 1], x[i * 4] = a, b, c, d
    end, {"id", "const long*", "const long*", "long*"})
    local x = lze.buffer("long", 8)
    run(2, lze.buffer("long", {0, 0x299f31d0a4093822}),
      lze.buffer("long", {0, 0x85a308d3243f6a88}), x)
    -- The first result is a known answer of Random123 (kat_vectors); the second
    -- is computed from the definition below.
    assert.same({0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {x[1], x[2], x[3], x[4]})
    local k0, k1 = 0xa4093822, 0x299f31d0
    local c0, c1, c2, c3 = 0x243f6a88, 0x85a308d3, 0, 0
    for _ = 1, 10 do
      local p, q = 0xd2511f53 * c0, 0xcd9e8d57 * c2
      c0, c1, c2, c3 = q >> 32 ~ c1 ~ k0, q & 0xffffffff,
        p >> 32 ~ c3 ~ k1, p & 0xffffffff
      k0, k1 = k0 + 0x9e3779b9 & 0xffffffff, k1 + 0xbb67ae85 & 0xffffffff
    end
    assert.same({c0, c1, c2, c3}, {x[5], x[6], x[7], x[8]})
  end)
end)

describe("an element that may be missing", function()
  it("can be tested in any later condition", function()
    local run = kernel(function(i, x, y)
      local left, right = x[i - 1], x[i + 1]
      local s = 0
      if left and right then
        s = left + right
      elseif right then
        s = -right
      elseif left ~= nil then
        s = left * 100
      end
      local gone = not x[i + 2]
      if gone then s = s + 10000 end
      y[i] = s
    end, {"id", "const int*", "int*"})
    local y = lze.buffer("int", 5)
    run(5, lze.buffer("int", {1, 2, 3, 4, 5}), y)
    assert.same({-2, 4, 6, 10008, 10400}, y:read())
  end)

  it("counts as a number once it has been used as one", function()
    local run = kernel(function(i, x, y)
      local v = x[i]
      y[i] = v * 2
      if v and v ~= nil then y[i] = y[i] + 1 end
    end, {"id", "const int*", "float*"})
    local y = lze.buffer("float", 3)
    run(3, lze.buffer("int", {1, 2, 3}), y)
    assert.same({3.0, 5.0, 7.0}, y:read())
  end)

  it("ends a loop", function()
    local run = kernel(function(i, x, y)
      local n, v = i, x[i]
      while v do
        y[i] = y[i] + v
        n = n + 1
        v = x[n]
      end
    end, {"id", "const int*", "int*"})
    local y = lze.buffer("int", 5)
    run(5, lze.buffer("int", {1, 2, 3, 4, 5}), y)
    assert.same({15, 14, 12, 9, 5}, y:read())
  end)
end)

describe("a finding", function()
  local function why(f, ...)
    return select(2, lzc.compile(f, {"id", ...}))
  end

  it("names operators and counts arguments", function()
    for text, f in pairs {
      ["//"] = function(_, x) x[1] = x // 2 end,
      ["-"] = function(_, x) x[1] = 2.5 - x end,
      ["<<"] = function(i, x) x[1] = i << x end,
      ["~"] = function(i, x) x[1] = x ~ i end,
    } do
      assert.matches(text:gsub("%p", "%%%0") .. " needs a number, x is a " ..
        "buffer", why(f, "int*"))
    end
    assert.matches("math.sqrt: takes at least 1 argument, not 0",
      why(function(_, x) x[1] = math.sqrt() end, "float*"))
    assert.matches("math.ult: takes at least 2 arguments, not 1",
      why(function(i, x) if math.ult(i) then x[1] = 1 end end, "float*"))
    assert.matches("math.max: takes at most 8 arguments, not 9",
      why(function(i, x) x[1] = math.max(i, 2, 3, 4, 5, 6, 7, 8, 9) end,
        "float*"))
  end)

  it("names the function that it is in", function()
    local function half(v) return v / nothing end -- luacheck: ignore
    assert.matches("^%d+: half nothing: is nil %(a global%)",
      why(function(i, x) x[i] = half(i) end, "float*"))
  end)

  it("spells out the cycle of a recursion", function()
    local first
    local function second(n) return first(n) end
    function first(n) return second(n) end
    assert.matches("itself %(first calls second calls first%)",
      why(function(i, x) x[i] = first(i) end, "float*"))
  end)

  it("names both lines of conflicting types", function()
    local text = why(function(i, x)
      local v = 1
      if x[i] > 0 then
        v = true
      end
      x[i] = v
    end, "int*")
    local first, second, line = text:match("^(%d+): v: is an integer from " ..
      "line (%d+) and a boolean from line (%d+)")
    if first == nil then error(text) end
    assert.equal(4, first - second)
    assert.equal(2, first - line)
  end)

  it("suggests a similar name if there is one", function()
    assert.matches("math.sqr: is nil; did you mean math.sqrt%?",
      why(function(i, x) x[i] = math.sqr(i) end, "float*"))
    assert.matches("w.atomic_ad: is nil; did you mean w.atomic_add%?",
      why(function(i, x) w.atomic_ad(x, 1, i) end, "int*"))
    assert.not_matches("did you mean",
      why(function(i, x) x[i] = math.hypotenuse(i) end, "float*"))
  end)
end)
