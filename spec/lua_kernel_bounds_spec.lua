-- lua_kernel_bounds_spec.lua - checked accesses of kernels made of Lua
-- functions.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"
local A, w = lze.array, lze.work

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return err
end

local function checked(f) return lze.kernel(f, {bounds = true, name = "k"}) end
local function line() return debug.getinfo(2, "l").currentline end

describe("option bounds of a Lua kernel", function()
  it("names the line, the buffer, the index and the work-item", function()
    local at = line() + 2
    local k = checked(function(i, src, dst)
      dst[i] = src[i - 1] + src[i]
    end)
    local src, dst = lze.buffer("float", {1, 2, 3}), lze.buffer("float", 3)
    assert.equal("spec/lua_kernel_bounds_spec.lua:" .. at
      .. ": kernel k: src[0] is outside 1..3 (work-item 1)",
      said(k, 3, src, dst):gsub("^%./", ""))
    -- An element outside reads as 0, and is not written.
    assert.same({1, 3, 5}, dst:read())
    k({2, offset = 1}, src, dst)
    local q <close> = lze.queue()
    assert.matches("src%[4%] is outside 1%.%.3 %(work%-item 4%)",
      said(q.launch, q, k, {2, offset = 2}, src, dst))
    assert.matches("src%[4%]", said(k.launch, k, {2, offset = 2}, src, dst))
    assert.is_true(k:launch({1, offset = 1}, src, dst):done())
  end)

  it("checks writes, atomics, captures, arrays and arrays of lze.work",
    function()
      local cap, a = lze.buffer("int", 3), A.zeros({2, 3})
      local x = lze.buffer("int", 8)
      local function get(i) return cap[i] end
      local function finds(text, f, ...)
        local err = said(checked(f), ...)
        assert.truthy(err:find(text, 1, true), err)
      end
      finds("x[9] is outside 1..8 (work-item 8)", function(i, x)
        x[i + 1] = 1
      end, 8, x)
      finds("x[-7] is outside 1..8 (work-item 8)", function(i, x)
        if i == 8 then w.atomic_add(x, 1 - i, 1) end
      end, 8, x)
      assert.same({0, 1, 1, 1, 1, 1, 1, 1}, x:read())
      finds("cap[4] is outside 1..3 (work-item 4)", function(i, x)
        x[i] = x[i + 1] or 0
        if i == 4 then x[i] = x[i] + get(i) end
      end, 8, x)
      finds("private array[4] is outside 1..3 (work-item 4)", function(i, x)
        local t = w.private_array("int", 3)
        if i == 4 then t[i] = x[i] end
      end, 8, x)
      finds("a[{2, -4}] is outside {2, 3} (work-item 2)", function(i, a)
        a[{i, -i * 2}] = 1
      end, 2, a)
      assert.equal(1.0, a[{1, 2}])
      local two = said(checked(function(i, j, a) a[{i, j}] = 1 end), {2, 4}, a)
      assert.matches("outside {2, 3} %(work%-item [12], 4%)", two)
    end)

  it("finds integer divisions by zero", function()
    local x = lze.buffer("int", {4, 4, 4})
    for _, f in ipairs {
      function(i, x) x[i] = x[i] // (i - 3) end,
      function(i, x) x[i] = x[i] % (i - 3) end
    } do
      assert.matches("kernel k: an integer is divided by zero "
        .. "%(work%-item 3%)", said(checked(f), 3, x))
    end
  end)

  it("finds dimensions that a range does not have", function()
    local x = lze.buffer("int", 3)
    for _, int in ipairs {"long", "int"} do
      local k = lze.kernel(function(i, x, d)
        x[i] = lze.work.global_id(d - i)
      end, {name = "k", bounds = true, int = int})
      for _, d in ipairs {3, 6} do
        assert.matches("kernel k: work.global_id needs 1, 2 or 3 as dimension "
          .. "%(work%-item " .. (d == 3 and 3 or "[12]") .. "%)",
          said(k, 3, x, d))
      end
      k(2, x, 3)
      assert.same({1, 2}, x:read(1, 2))
    end
  end)

  it("finds reals that are not whole if Lua needs an integer", function()
    local x, y = lze.buffer("int", 3), lze.buffer("float", {1, -2, 2.5})
    for _, f in ipairs {
      function(i, x, y) x[i] = y[i] | 0 end,
      function(i, x, y) x[i] = i & y[i] end,
      function(i, x, y) x[i] = ~y[i] end,
      function(i, x, y) x[i] = y[i] << 1 end,
      function(i, x, y) x[i] = 1 >> y[i] end
    } do
      x:fill(9)
      assert.matches("kernel k: number has no integer representation "
        .. "%(work%-item 3%)", said(checked(f), 3, x, y))
      for i = 1, 2 do
        local one = {}
        f(i, one, y)
        assert.equal(one[i], x[i])
      end
    end
    -- Whole, but too large for an integer.
    local long, beyond = lze.buffer("long", 3), lze.buffer("float", {1, -1, 0})
    y:write {0x1p62, -0x1p63, 0x1p63}
    for _, f in ipairs {
      function(i, x, y) x[i] = y[i] | 0 end,
      function(i, x, y) x[i] = y[i] // 1 end
    } do
      assert.matches("representation %(work%-item 3%)",
        said(checked(f), 3, long, y))
      assert.same({1 << 62, math.mininteger}, long:read(1, 2))
    end
    assert.matches("representation %(work%-item 3%)", said(checked(
      function(i, x, y) if i == 3 then x[i] = y[i] // y[i] end end),
      3, x, beyond))
  end)

  it("finds loops with a step of zero", function()
    local x = lze.buffer("int", 3)
    for _, f in ipairs {
      function(i, x) for n = 1, 3, i - 2 do x[i] = n end end,
      function(i, x) for n = 3.0, 1, i - 2 do x[i] = n | 0 end end,
      function(i, x) for n = 1, 3, (2 - i) / 2 do x[i] = n // 1 end end
    } do
      assert.matches("kernel k: 'for' step is zero %(work%-item 2%)",
        said(checked(f), 3, x))
    end
  end)

  it("finds integers that do not fit their elements", function()
    local x, a = lze.buffer("uchar", 3), A.zeros({2, 2}, {type = "short"})
    assert.matches("kernel k: x%[3%] = %-1 does not fit uchar "
      .. "%(work%-item 3%)", said(checked(function(i, x)
        x[i] = i == 3 and -1 or 255
      end), 3, x))
    assert.same({255, 255, 255}, x:read())
    assert.matches("kernel k: a%[{2, %-1}%] = 32768 does not fit short",
      said(checked(function(i, a)
        if i == 2 then a[{i, -1}] = i * 2 ^ 14 // 1 else a[{i, 1}] = -2 ^ 15
        end
      end), 2, a))
    assert.equal(-32768, a[{1, 1}])
  end)

  it("finds stored results of atomics that do not fit their elements",
    function()
    local m = math.mininteger
    local stored = {add = 1 << 32, sub = -1 << 33, ["and"] = m, ["or"] = -2,
      xor = -1, min = -1, max = 1 << 32, exchange = 1 << 32}
    for name, value in pairs(stored) do
      local f, x = w["atomic_" .. name], lze.buffer("int", {-5, -5, -5})
      local u = lze.buffer("uint", {5, 5, 5})
      local k = checked(function(i, x, v)
        if i == 2 then f(x, i, v) else f(x, i, 1) end
      end)
      if name == "or" or name == "xor" or name == "min" then x = u end
      assert.matches("kernel k: x%[2%] = %-?%d+ does not fit u?int "
        .. "%(work%-item 2%)", said(k, 3, x, value), name)
      k(3, x, 2)
    end
    -- The stored value must fit, not the operand.
    local u = lze.buffer("uint", {5, 5, 5, 5})
    checked(function(_, u)
      w.atomic_add(u, 1, -5)
      w.atomic_and(u, 2, ~4)
      w.atomic_compare_exchange(u, 3, 4, -1)
      w.atomic_compare_exchange(u, 4, 5, 0xffffffff)
    end)(1, u)
    assert.same({0, 1, 5, 0xffffffff}, u:read())
    assert.matches("u%[3%] = %-1 does not fit uint", said(checked(function(_, u)
      w.atomic_compare_exchange(u, 3, 5, -1)
    end), 1, u))
    for _, t in ipairs {"long", "ulong", "float"} do
      local x = lze.buffer(t, 1)
      checked(function(i, x) w.atomic_sub(x, i, 1 << 40) end)(1, x)
      assert.equal(-1 << 40, x[1])
    end
  end)

  it("allows barriers and accesses within bounds", function()
    local x = lze.buffer("int", 64)
    checked(function(i, x)
      local t, l = w.local_array("int", 16), w.local_id()
      t[l] = i
      w.barrier()
      x[i] = t[17 - l] + (x[i + 1] or 0) * 0 + i // 2
      w.barrier()
      t[l] = 0
    end)({64, group = 16}, x)
    for i = 1, 64 do
      local first = (i - 1) // 16 * 16
      assert.equal(first + 16 - (i - 1) % 16 + i // 2, x[i])
    end
  end)

  it("applies to launches of the kernel only", function()
    local x = lze.buffer("int", 4)
    local k = checked(function(i, x) x[i] = x[i] + 1 end)
    k(4, x)
    assert.equal(1, #k:variant(4, x).args)
    local g <close> = lze.graph()
    g:task("t", k, 4, x)
    local plan <close> = g:compile()
    plan:run()
    assert.same({2, 2, 2, 2}, x:read())
    assert.matches("bounds: boolean expected", said(lze.kernel,
      function() end, {bounds = 1}))
  end)

  it("is enabled by LZE_CHECK=1", function()
    local out = process.output([[
      local lze = require "lze"
      local x = lze.buffer("int", 4)
      local k = lze.kernel(function(i, x, n) x[n] = i end, {name = "k"})
      k(1, x, 4)
      print(x[4], pcall(k, 1, x, 5))]], {env = {LZE_CHECK = "1"}})
    assert.matches("^1\tfalse\t.*kernel k: x%[5%] is outside 1%.%.4 "
      .. "%(work%-item 1%)", out)
    -- Also for kernels that are made before any other use of lze.
    out = process.output([[
      local lze = require "lze"
      local none = lze.kernel(function(i)
        local t = lze.work.private_array("int", 2)
        t[i + 2] = i
      end, {name = "none"})
      local k = lze.kernel(function(i, x) x[i + 1] = i end, {name = "k"})
      print(pcall(none, 1))
      print(pcall(k, 4, lze.buffer("int", 4)))]], {env = {LZE_CHECK = "1"}})
    assert.matches("^false\t.*kernel none: private array%[3%] is outside "
      .. "1%.%.2 %(work%-item 1%)\nfalse\t.*kernel k: x%[5%] is outside "
      .. "1%.%.4 %(work%-item 4%)", out)
  end)
end)
