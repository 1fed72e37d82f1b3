-- array_lazy_spec.lua - expressions: when they are computed, and their values
-- if operands are written first.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"
local A = lze.array
local inside = require "spec.support.inside"

local function launches() return lze.stats().launches end

-- Returns how many kernels f launches.
local function launched(f)
  local before = launches()
  f()
  return launches() - before
end

local function floats(list) return A("float", list) end

-- Calls f(...) once for each of its instructions; a debug hook calls act(...)
-- before that instruction. make returns the arguments `...`, and check is
-- called with k and f's result.
local function at_each_instruction(make, f, act, check)
  local k, ran = 0
  repeat
    k = k + 1
    ran = false
    local given, n = table.pack(make()), 0
    debug.sethook(function()
      n = n + 1
      if n ~= k then return end
      debug.sethook()
      ran = true
      act(table.unpack(given))
    end, "", 1)
    local ok, err = pcall(f, table.unpack(given))
    debug.sethook()
    if ran then check(k, ok, err, table.unpack(given)) end
  until not ran
  assert(k > 20)
end

local never = os.getenv "LZE_FUSE" == "never"

describe("an expression", function()
  it("is computed once, when its elements are read", function()
    local x, y = floats {1, 2, 3}, nil
    assert.equal(0, launched(function() y = (x * 2 + 1):abs() end))
    assert.equal("float", y.type)
    assert.same({3}, y.shape)
    assert.equal(3, #y)
    assert.equal(x.device, y.device)
    assert.equal("array: float {3} (not computed)", tostring(y))
    assert.is_true(launched(function() y:eval() end) > 0)
    assert.equal(0, launched(function()
      assert.equal(y, y:eval())
      assert.same({3, 5, 7}, y:read())
      assert.equal(5, y[2])
      assert.same({1}, y.strides)
    end))
    assert.matches("%[3%.0 5%.0 7%.0%]", tostring(y))
    assert.same({3, 5, 7}, ((x * 2 + 1):abs()).buffer:read())
  end)

  it("is recognised by its operations", function()
    -- Returns how many Lua instructions it takes to evaluate an expression.
    local function count(y)
      local n = 0
      debug.sethook(function() n = n + 1 end, "", 1)
      y:eval()
      debug.sethook()
      return n
    end
    local x, y = floats {1, 2}, floats {3, 4}
    local function make() return ((x + y) * x - y * 2 + 5):abs() end
    for _ = 1, 3 do make():eval() end
    if not never then assert.is_true(count(make()) < 450) end
    for _ = 1, 3 do (x / y):eval() end
    assert.is_true(count(x / y) < 450)
  end)

  it("is right if it only resembles an earlier one", function()
    local function make(p, q, r) return (p * q + r):sqrt() - 1 end
    local x, y, z = floats {1, 2}, floats {3, 5}, floats {6, 6}
    for _ = 1, 3 do assert.same({2, 3}, make(x, y, z):read()) end
    -- The same array twice, and then two arrays again.
    local square = floats {0, 5}
    for _ = 1, 3 do assert.same({1, 3}, make(x, y, square + 1):read()) end
    for _ = 1, 3 do assert.same({0, 3}, make(x, x, floats {0, 12}):read()) end
    assert.same({2, 3}, make(x, y, z):read())
    assert.same({0, 3}, make(x, x, floats {0, 12}):read())
    -- Elements of another type, in another order or of another shape.
    assert.same({2, 3}, make(x, y, A("int", {6, 6})):read())
    assert.same({2, 3}, make(x, A("uchar", {3, 5}), z):read())
    for _ = 1, 3 do
      local apart = floats {8, 0, 15}[{{1, 3, 2}}]
      assert.same({3, 4}, (apart + 1):sqrt():read())
    end
    assert.same({1, 2}, (floats {0, 3} + 1):sqrt():read())
    local large = A("ulong", {1 << 63, 3 << 62})
    for _ = 1, 3 do assert.same({3, 4}, (floats {6, 8} / 2):read()) end
    assert.same({0x1p63, 0x1.8p63}, (large / 1.0):read())
    for _ = 1, 3 do assert.same({7, 9}, (floats {6, 8} + y / y):read()) end
    assert.same({0x1p63, 0x1.8p63}, (large + y / y):read())
    assert.same({2, 3}, make(x, y, floats {6}):read())
    assert.same({{2, 3}, {3, 4}}, make(x, y, floats {{6, 6}, {13, 15}}):table())
    assert.same({2, 3, 0}, make(floats {1, 2, 1}, floats {3, 5, 1},
      floats {6, 6, 0}):read())
    -- Operands that are expressions, already computed or not.
    local product = x * y
    local sum = product + z
    assert.same({3, 10}, product:read())
    assert.same({2, 3}, (sum:sqrt() - 1):read())
    assert.same({2, 3}, (sum:sqrt() - 1):read())
    assert.same({9, 16}, sum:read())
    assert.same({2, 3}, (sum:sqrt() - 1):read())
    assert.same({2, 3}, make(x, y, floats {5, 5} + 1):read())
    local function twice(p, q) return (p * q + 1):abs() end
    for _ = 1, 3 do assert.same({2, 5}, twice(x, x):read()) end
    assert.same({4, 11}, twice(x, y):read())
    -- Other operations and numbers.
    for _ = 1, 3 do
      assert.same({1, 2}, ((x * y + z):sqrt() - 2):read())
      assert.same({2, 0}, ((x * y - floats {-6, 9}):sqrt() - 1):read())
      assert.same({4, 5}, ((x * y + z):sqrt() + 1):read())
      assert.same({2, 3}, ((x * y + z):sqrt() - 1.0):read())
    end
  end)

  it("raises errors for wrong operands at the line of the operation", function()
    local x = A.zeros {3, 4}
    local ok, err = pcall(function() return x + A.zeros {5} end)
    assert.is_false(ok)
    assert.matches("^spec/array_lazy_spec.lua:%d+: a %+ b: shapes {3, 4} " ..
      "and {5} do not broadcast %(dimension 2: 4 and 5%)$", err)
    local problem = ": number 1e+300 does not fit float"
    for what, f in pairs {
      ["a * b: b"] = function() return x * 1e300 end,
      ["a - b: a"] = function() return 1e300 - A("half", 1) end,
      ["a:lt(b): b"] = function() return A("float", 1):lt(1e300) end,
      ["clamp: argument 3 (high)"] = function() return x:clamp(0, 1e300) end,
      ["where: argument 2 (a)"] =
        function() return A.where(A("double", 1), 1e300, x) end
    } do
      ok, err = pcall(f)
      assert.is_false(ok)
      assert.equal(what .. problem, (err:gsub("^.-:%d+: ", "")))
    end
    assert.same({1}, A("float", {5}):lt(math.huge):read())
    assert.same({1}, A("int", {5}):lt(1e300):read())
    if x.device.fp64 then
      assert.same({1e300}, (A("double", {1}) * 1e300):read())
    end
  end)

  it("uses the same kernel when a similar expression follows", function()
    local x, y = floats {3, 6}, floats {4, 8}
    local function make() return (x * x + y * y):sqrt() - 1 end
    local first = A.stats()
    assert.same({4, 9}, make():read())
    local second = A.stats()
    assert.equal(never and 5 or 1, launched(function()
      assert.same({4, 9}, make():read())
    end))
    x, y = floats {{6, 5}, {0, 8}}, floats {{8, 12}, {1, 15}}
    local third = A.stats()
    assert.equal(never and 5 or 1, launched(function()
      assert.same({{9, 12}, {0, 16}}, make():table())
    end))
    assert.equal(first.operations + 5, second.operations)
    local fourth = A.stats()
    assert.equal(third.builds, fourth.builds)
    assert.equal(third.fused + (never and 0 or 1), fourth.fused)
  end)

  it("does not grow without bound", function()
    local x = floats {0, 0}
    for _ = 1, 3 do
      for _ = 1, 200 do
        x = x + 0.5
        assert.is_true(inside(x).op.nodes <= 48)
      end
    end
    assert.same({300, 300}, x:read())
    local sum = floats {1}
    for _ = 1, 6 do sum = sum + sum end
    assert.is_true(inside(sum).op.nodes <= 64)
    assert.equal(64, sum:item())
  end)

  it("has the same value once its operation is cached", function()
    local u, m = A("uchar", {7, 3, 0}), floats {0, 2, 2}:gt(1):eval()
    local n = m:eq(0)
    for _ = 1, 2 do
      assert.is_nil(inside(u & u).mask)
      assert.same({7, 3, 0}, (u & u):read())
      assert.is_true(inside(m & m).mask)
      assert.is_true(inside(m & n).mask)
      assert.is_nil(inside(u & m).mask)
      assert.same({0, 1, 0}, (u & m):read())
      assert.is_nil(inside(m + m).mask)
      assert.same({0, 2, 2}, (m + m):read())
      assert.is_true(inside(~n).mask)
      assert.equal("uchar", (m & n).type)
    end
    local x = floats {1, 2, 3}
    for _ = 1, 2 do
      assert.same({3}, (x - x:mean()).shape)
      assert.same({-1, 0, 1}, (x - x:mean()):read())
      assert.same({3, 3}, (x + x:reshape {3, 1}).shape)
      assert.has_error(function() return x + floats {1, 2} end,
        "a + b: shapes {3} and {2} do not broadcast (dimension 1: 3 and 2)")
      assert.same({2, 4, 6}, (x + floats {1, 2, 3}):read())
      assert.same({2, 3, 4}, (x + 1):read())
      assert.same({1.5, 2.5, 3.5}, (x + 0.5):read())
      assert.error_matches(function() return x + 1e39 end,
        "^a %+ b: b: number 1e%+39 does not fit float")
      assert.error_matches(function() return x + "1" end,
        "^a %+ b: b: an array or a number expected, got ")
      assert.error_matches(function() return x:sqrt(2) end,
        "^sqrt: argument 2: nothing more expected, got integer 2")
      assert.error_matches(function() return x:gt(2, nil) end,
        "^gt: argument 3: nothing more expected, got nil")
      assert.error_matches(function() return A.sqrt() end,
        "^sqrt: argument 1 %(a%): array expected, got nil")
    end
    local closed = floats {1, 2, 3}
    closed:close()
    assert.has_error(function() return x + closed end,
      "a + b: b: the array is closed")
    assert.has_error(function() return closed:sqrt() end,
      "sqrt: argument 1 (a): the array is closed")
  end)

  -- More trees than the cache holds. None of them comes again before all are
  -- evicted.
  it("is right if there are many trees", function()
    local x, y = floats {1, 2}, floats {3, 4}
    local function add(a, b) return a + b end
    local function sub(a, b) return a - b end
    local first = inside(x + y).op
    for _ = 1, 2 do
      for i = 0, 1100 do
        local e, expected, rest = x, 1, i
        for _ = 1, 11 do
          local f = rest % 2 == 0 and add or sub
          e, expected, rest = f(e, y), f(expected, 3), rest // 2
        end
        if i % 100 == 0 or i > 1090 then assert.equal(expected, e[1]) end
      end
    end
    assert.not_equal(first, inside(x + y).op)
  end)

  it("is freed when nothing refers to it", function()
    local x = floats {1, 2}
    local kept = x * 2
    local function bytes_after(rounds)
      for _ = 1, rounds do
        for _ = 1, 1000 do local _ = (x + 1) * 3 end
        collectgarbage()
      end
      return collectgarbage "count" * 1024
    end
    local before = bytes_after(3)
    assert.is_true(bytes_after(10) < before + 100000)
    x:fill(5)
    assert.same({2, 4}, kept:read())
  end)

  it("is right if a finalizer resurrects it", function()
    local function dropped(make)
      local x, kept = floats {1, 2, 3}, {}
      local function drop()
        setmetatable({make(x)}, {__gc = function(t)
          kept[1] = t[1]
        end})
      end
      drop()
      collectgarbage()
      collectgarbage()
      return x, kept[1]
    end
    local x, e = dropped(function(x) return x + 1 end)
    x:fill(100)
    assert.same({2, 3, 4}, e:read())
    x, e = dropped(function(x) return (x + 1) * 2 end)
    x:fill(100)
    assert.same({4, 6, 8}, e:read())
    x, e = dropped(function(x) return x - 1 end)
    x:close()
    assert.same({0, 1, 2}, e:read())
    local v = floats {1, 2} * 2
    setmetatable({v + 1}, {__gc = function(t) e = t[1] end})
    local w = floats {1}
    local sorts = w + 1
    w:fill(2)
    assert.same({2}, sorts:read())
    collectgarbage()
    collectgarbage()
    v:eval():fill(9)
    assert.same({3, 5}, e:read())
  end)

  it("reads the old elements of its operand among many other expressions",
  function()
    local x, list = floats {1, 2}, {}
    for i = 1, 300 do list[i] = (i % 3 == 0 and floats {i, i} or x) + i end
    local y = list[300] * 2
    assert.equal(0, launched(function() list[1].device.name:len() end))
    x:fill(0)
    list[300]:eval():fill(7)
    for i = 1, 299 do
      assert.equal((i % 3 == 0 and i or 1) + i, list[i][1])
    end
    assert.same({7, 7}, list[300]:read())
    assert.same({1200, 1200}, y:read())
  end)

  it("is fused on request", function()
    local f = A.fuse(function(a, b) return (a - b) ^ 2 + 1, #a, a end)
    local x = floats {1, 2, 5}
    local y, n, same
    assert.equal(never and 3 or 1, launched(function()
      y, n, same = f(x, 2)
    end))
    assert.same({2, 1, 10}, y:read())
    assert.equal(3, n)
    assert.equal(x, same)
    assert.has_error(function() A.fuse(3) end,
      "fuse: argument 1 (f): function expected, got integer 3")
  end)

  -- In a separate process: finalizers run more often if there are fewer
  -- objects.
  it("is right if a finalizer computes another expression during evaluation",
  function()
    assert.equal("0 wrong\n", process.output [[
      local A = require "lze".array
      local u, v = A("float", {1, 2, 3}), A("float", {4, 5, 6})
      local busy, others, wrong, left = false, 0, 0, 0
      local function again()
        setmetatable({}, {__gc = function()
          if not busy then
            busy = true
            assert(((v * 2 + v) - u):eval()[1] == 11)
            busy, others, left = false, others + 1, left - 1
          end
          if left > 0 then again() end
        end})
      end
      require "spec.support.collector" ("incremental", 100, 1000, 0)
      for i = 1, 200 do
        -- The number is limited: some expressions are compiled, and then a
        -- finalizer at each allocation would take a minute.
        if left == 0 then
          left = 20
          again()
        end
        -- Each i has a tree of its own, of which nothing is known.
        local e, first, rest = u, 1, i
        while rest > 0 do
          local w, n = rest % 3 == 0 and u or v, rest % 3 == 0 and 1 or 4
          e = rest % 3 == 2 and e - w or e + w
          first = rest % 3 == 2 and first - n or first + n
          rest = rest // 3
        end
        if e:read()[1] ~= first then wrong = wrong + 1 end
      end
      busy = true
      assert(others > 0)
      print(wrong .. " wrong")
    ]])
  end)

  it("is right if a debug hook evaluates a part of it during evaluation",
  function()
    local x, y = floats {1, 2}, floats {3, 4}
    -- lze caches functions for trees of up to a certain size only; use one of
    -- each.
    for _, times in ipairs {1, 2} do
      local function make()
        local t = x + y
        local a = t * x - t
        for _ = 1, times do a = 2 * a end
        return a, t
      end
      for k = 1, 450 do
        for which = 1, 2 do
          local parts = {make()}
          local a = parts[1]
          debug.sethook(function()
            debug.sethook()
            parts[which]:eval()
          end, "", k)
          a:eval()
          debug.sethook()
          assert.same({0, 6 * 2 ^ times}, a:read())
        end
      end
    end
  end)

  it("is right if its operand is written while it is being computed",
  function()
    at_each_instruction(function()
      local x, z = floats {1, 2, 3}, floats {4, 5, 6}
      return x, z, x * z + x, (x - z) * z
    end, function(_, z) z:fill(0) end, function(_, z) z[2] = 100 end,
    function(k, ok, err, _, _, e, other)
      assert(ok, err)
      assert.same({5, 12, 21}, e:read(), k)
      assert.same({-12, -15, -18}, other:read(), k)
    end)
  end)

  it("is right if other expressions are computed while it is computed",
  function()
    -- This expression is not cached, so its tree is walked each time.
    local function make(x, j) return x:expand {2, #x} * j + x end
    at_each_instruction(function()
      local x, g = floats {1, 2, 3}, floats {5, 6}
      return make(x, 3), make(g, 2), make(x, 5)
    end, function(e) e:eval() end, function(_, other, third)
      other:eval()
      third:eval()
    end, function(k, ok, err, e, other, third)
      assert(ok, err)
      assert.same({4, 8, 12, 4, 8, 12}, e:read(), k)
      assert.same({15, 18, 15, 18}, other:read(), k)
      assert.same({6, 12, 18, 6, 12, 18}, third:read(), k)
    end)
  end)

  it("is right if a finalizer writes an operand during evaluation", function()
    assert.equal("0 wrong\n", process.output [[
      local A = require "lze".array
      local u, runs, wrong = A.ones {4}, 0, 0
      collectgarbage "stop"
      for i = 1, 200 do
        u:fill(i)
        local v = i % 4 < 2 and u or u[{{4, 1, -1}}]
        local e = i % 2 == 0 and v + 1 or (v + 1) * 2
        setmetatable({}, {__gc = function()
          runs = runs + 1
          u:fill(-5)
        end})
        collectgarbage "restart"
        require "spec.support.collector" ("incremental", 100, 1000, 6 + i % 10)
        e:eval()
        collectgarbage "stop"
        if e[1] ~= (i + 1) * (i % 2 + 1) then wrong = wrong + 1 end
      end
      assert(runs > 0)
      print(wrong .. " wrong")
    ]])
  end)

  it("is right if a finalizer writes an operand while it is assigned",
  function()
    assert.equal("0 wrong\n", process.output [[
      local A = require "lze".array
      local u, t, runs, wrong = A.ones {4}, A.ones {4}, 0, 0
      collectgarbage "stop"
      for i = 1, 300 do
        u:fill(i)
        local e = i % 2 == 0 and u + 1 or (u + 1) * 2
        setmetatable({}, {__gc = function()
          runs = runs + 1
          u:fill(-5)
        end})
        local into = i % 3 == 0 and u or t
        collectgarbage "restart"
        require "spec.support.collector" ("incremental", 100, 1000, 4 + i % 10)
        into:set(e)
        collectgarbage "stop"
        -- Either may be last.
        local expected, got = (i + 1) * (i % 2 + 1), into[1]
        if got ~= expected and (into ~= u or got ~= -5) or e[1] ~= expected then
          wrong = wrong + 1
        end
      end
      assert(runs > 0)
      print(wrong .. " wrong")
    ]])
  end)

  it("is right if a finalizer writes an operand while it is compiled",
  function()
    assert.equal("0 wrong\n", process.output [[
      local A = require "lze".array
      local u, runs, wrong = A.ones {4}, 0, 0
      local steps = {
        {function(x) return x + 1 end, function(v) return v + 1 end},
        {function(x) return x * 2 end, function(v) return v * 2 end},
        {A.neg, function(v) return -v end},
        {function(x) return x - 3 end, function(v) return v - 3 end},
        {A.abs, math.abs}
      }
      collectgarbage "stop"
      for i = 1, 60 do
        u:fill(i)
        local e, v, rest = u, i, i
        repeat
          local step = steps[rest % 5 + 1]
          e, v, rest = step[1](e), step[2](v), rest // 5
        until rest == 0
        setmetatable({}, {__gc = function()
          runs = runs + 1
          u:fill(-50)
        end})
        collectgarbage "restart"
        require "spec.support.collector" ("incremental", 100, 1000, 4 + i % 10)
        local _, sum = pcall(function()
          return i % 3 == 0 and e:sum():item() or e:eval()[1] * 4
        end)
        collectgarbage "stop"
        if sum ~= v * 4 or e[1] ~= v then wrong = wrong + 1 end
      end
      assert(runs > 0)
      print(wrong .. " wrong")
    ]])
  end)

  it("explains how it would be computed", function()
    local x = floats {1, 2}
    for _, e in ipairs {x * 3, x + x, x:exp()} do e:eval() end
    local text = (x * 3 + x):exp():explain()
    assert.matches(os.getenv "LZE_FUSE" == "always" and "one kernel" or
      "^float {2}: one operation after the other, 3 kernels: ", text)
    assert.matches("s1: float {2}\n  s2: 3\n", text)
    assert.matches("result%[i%] = math.exp%(t%d%)$", text)
    assert.equal("float {2}: computed", x:explain())
    local parts = ((x * 2) + A.zeros {3, 2}):explain()
    assert.matches("^float {2}: one kernel: it is one operation\n.*\n" ..
      "float {3, 2}: one kernel: it is one operation", parts)
  end)

  it("rounds to the type of each operation, fused or not", function()
    local x = A("uchar", {200, 100, 7})
    local d = A("float", {1e-8, 16777217, 0.1})
    local real = lze.device().fp64 and "double" or "half"
    local f = A.fuse(function()
      return (x + x) // 3, (x - 8):to "float" / 2,
        (A("int", {16777217}):to "float" // 2),
        d:to(real) + 1, ((d * 3):to "half" * 3):to "float",
        ((x * 2):gt(100) & d:gt(0.5)):eq(1)
    end)
    local function values(...)
      local t = {}
      for i, a in ipairs {...} do t[i] = a:read() end
      return t
    end
    local function plain()
      local sum, less = (x + x):eval(), (x - 8):eval():to "float"
      local whole = A("int", {16777217}):to "float":eval()
      local wide = d:to(real):eval()
      local half = ((d * 3):eval():to "half":eval() * 3):eval()
      local mask = ((x * 2):eval():gt(100):eval() & d:gt(0.5):eval()):eval()
      return sum // 3, less:eval() / 2, whole // 2, wide + 1,
        half:to "float", mask:eq(1)
    end
    assert.same(values(plain()), values(f()))
    assert.same({48, 66, 4}, ((x + x) // 3):read())
  end)
end)

describe("an expression keeps its value after",
function()
  local k = lze.kernel(function(i, y, x) y[i] = x[i] + 1 end)

  -- Ways to write 9 to all elements of an array of floats.
  local writers = {
    ["x[i] = v"] = function(x) for i = 1, 3 do x[i] = 9 end end,
    ["a buffer's element"] = function(x)
      for i = 1, 3 do x.buffer[i] = 9 end
    end,
    ["fill"] = function(x) x:fill(9) end,
    ["a buffer's fill"] = function(x) x.buffer:fill(9) end,
    ["a queue's fill"] = function(x) lze.queue():fill(x.buffer, 9) end,
    ["write"] = function(x) x.buffer:write {9, 9, 9} end,
    ["write of a buffer"] = function(x)
      x.buffer:write(lze.buffer("float", {9, 9, 9}))
    end,
    ["copy"] = function(x) x.buffer:copy(lze.buffer("float", {9, 9, 9})) end,
    ["copy of an expression"] = function(x)
      x.buffer:copy(floats {4, 4, 4} * 2 + 1)
    end,
    ["copy_box"] = function(x)
      x.buffer:copy_box(lze.buffer("float", {9, 9, 9}), {size = {3}})
    end,
    ["set"] = function(x) x:set(floats {8, 8, 8} + 1) end,
    ["set from itself"] = function(x) x:set(x * 0 + 9) end,
    ["a view"] = function(x) x[{{3, 1, -1}}]:fill(9) end,
    ["a mask"] = function(x) x[x:lt(100)] = 9 end,
    ["a launch"] = function(x) k(3, x, floats {8, 8, 8}) end,
    ["uses"] = function(x)
      local y = x.buffer
      k({3, uses = y}, y, floats {8, 8, 8})
    end,
    ["a graph"] = function(x)
      local plan <close> = lze.graph("g"):task("t", k, 3, x,
        floats {8, 8, 8}):compile()
      plan:run()
    end,
    ["a file"] = function(x)
      local file = assert(io.tmpfile())
      file:write(("<fff"):pack(9, 9, 9))
      file:seek "set"
      x.buffer:load(file)
      file:close()
    end,
  }
  local names = {}
  for name in pairs(writers) do names[#names + 1] = name end
  table.sort(names)

  for _, name in ipairs(names) do
    it(name, function()
      local x = floats {1, 2, 3}
      local early, view = x * 2, x[{{2, 3}}]
      local later = early + view:sum()
      local second = view - 1
      writers[name](x)
      assert.same({9, 9, 9}, x:read())
      assert.same({7, 9, 11}, later:read())
      assert.same({2, 4, 6}, early:read())
      assert.same({1, 2}, second:read())
      assert.same({18, 18, 18}, (x * 2):read())
    end)
  end

  it("a write to a device buffer", function()
    local b = lze.buffer("float", {1, 2, 3}, {usage = "device"})
    local x = A("float", b)
    local y = x * 2
    b:write {7, 7, 7}
    assert.same({2, 4, 6}, y:read())
    y = x * 2
    b:fill(1)
    assert.same({14, 14, 14}, y:read())
  end)

  it("a write to an operand that was an expression", function()
    local x = floats {1, 2, 3}
    local y = x * 2
    local z, others = y + 1, {y - 1, y * y}
    y:eval()
    y:fill(9)
    assert.same({3, 5, 7}, z:read())
    assert.same({1, 3, 5}, others[1]:read())
    assert.same({4, 16, 36}, others[2]:read())
    y = x * 2
    z = y + 1
    y[2] = 0
    assert.same({3, 5, 7}, z:read())
    z = (y:eval() + 1) * 2
    y:set(y * 0)
    assert.same({6, 2, 14}, z:read())
  end)

  it("an assignment to one of its operands", function()
    local x = floats {1, 2, 3}
    local a = x + 1
    local b, c = a * x, a * 2
    x:set(a)
    assert.same({2, 3, 4}, x:read())
    assert.same({2, 6, 12}, b:read())
    assert.same({4, 6, 8}, c:read())
    assert.same({2, 3, 4}, a:read())
  end)

  it("each run of a plan", function()
    local x = floats {1, 2, 3}
    local plan <close> = lze.graph():fill("f", x.buffer, 9):compile()
    plan:run()
    for i = 1, 3 do
      x.buffer:write {i, 2, 3}
      local y = x + 1
      plan:run()
      assert.same({9, 9, 9}, x.buffer:read())
      assert.same({i + 1, 3, 4}, y:read())
    end
  end)

  it("later tasks of a run if a callback of the run created it", function()
    local m <close> = lze.load "kernels/spec.spv"
    local x, made = A("int", {1, 2}), {}
    local function add(g, name) g:task(name, m.add, 2, x.buffer, 10) end
    local function make() made[#made + 1] = x * 1 end
    local g <close> = lze.graph()
    add(g, "a")
    g:call("b", make)
    add(g, "c")
    g:call("d", make)
    local plan <close> = g:compile()
    plan:start()
    plan:start():wait()
    assert.same({41, 42}, x:read())
    for i = 1, 4 do
      assert.same({1 + 10 * i, 2 + 10 * i}, made[i]:read())
    end
  end)

  it("a write that follows a run to a buffer that the run reads", function()
    local m <close> = lze.load "kernels/spec.spv"
    local x, y = A("int", {1, 2}), lze.buffer("int", 2)
    local inside
    local g <close> = lze.graph():task("a", m.square, 2, x.buffer, y)
      :call("b", function() inside = x * 1 end)
      :task("c", m.square, 2, x.buffer, y)
    local plan <close> = g:compile()
    plan:start()
    x:fill(7)
    local after = x * 1
    lze.wait()
    assert.same({1, 2}, inside:read())
    assert.same({7, 7}, after:read())
  end)

  it("a callback that writes to a buffer that its run reads", function()
    local m <close> = lze.load "kernels/spec.spv"
    local x, y = A("int", {1, 2}), lze.buffer("int", 2)
    local before = x + 1
    local g <close> = lze.graph():task("a", m.square, 2, x.buffer, y)
      :call("b", function() x:fill(9) end)
    local plan <close> = g:compile()
    plan:run()
    assert.same({2, 3}, before:read())
  end)

  -- An expression that exists when the callback begins reads the result of the
  -- run.
  it("a write in a callback or after the run",
    function()
      local m <close> = lze.load "kernels/spec.spv"
      local x, inside = A("int", {1, 2}), {}
      local function add(g, name) g:task(name, m.add, 2, x.buffer, 10) end
      local g <close> = lze.graph()
      add(g, "a")
      g:call("b", function()
        inside[1], inside[2] = x * 1, x * 2
        x:fill(100)
      end)
      add(g, "c")
      local plan <close> = g:compile()
      plan:start()
      local after, both = x * 1, x * 2 + x
      lze.wait()
      x:fill(0)
      assert.same({110, 110}, after:read())
      assert.same({330, 330}, both:read())
      assert.same({11, 12}, inside[1]:read())
      assert.same({22, 24}, inside[2]:read())
    end)

  it("a write that follows a run whose callback failed", function()
    local m <close> = lze.load "kernels/spec.spv"
    local x = A("int", {1, 2})
    local g <close> = lze.graph():task("a", m.add, 2, x.buffer, 10)
      :call("b", function() error "no" end)
    local plan <close> = g:compile()
    plan:start()
    local after = x * 1
    assert.has_error(lze.wait)
    x:fill(0)
    assert.same({11, 12}, after:read())
  end)

  it("closing a view if arrays may read through it", function()
    local b = lze.buffer("float", 8)
    local v, w = b:view(2, 3), b:view(2, 3)
    local e, f = A("float", b) + 1, A("float", v) + 1
    local before = lze.stats().launches
    w:close()
    assert.equal(before, lze.stats().launches)
    v:close()
    assert.is_true(lze.stats().launches > before)
    assert.same({1, 1}, {e[2], f[1]})
  end)

  it("closing the buffer of its operand", function()
    local x, y = floats {1, 2, 3}, floats {4, 5, 6}
    local z, w = x + y, (x * 2):sqrt() * 2
    assert.same({2, 3}, (function()
      local part = x[{{2, 3}}] * 1
      x.buffer:close()
      return part:read()
    end)())
    assert.same({5, 7, 9}, z:read())
    assert.equal(4, w[2])
    do
      local b <close> = lze.buffer("float", {7, 8})
      y = A("float", b) + 1
    end
    assert.same({8, 9}, y:read())
  end)

  it("closing the buffer of a part of its operand", function()
    local x = floats {1, 2, 3}
    local part = x[{{1, 2}}]
    local before = part * 2 + x[{{2, 3}}]
    part.buffer:close()
    assert.same({4, 7}, before:read())
    part = x[{{1, 2}}]
    local set = part * 3
    part:set(set)
    part.buffer:close()
    assert.same({3, 6}, set:eval():read())
    assert.same({3, 6, 3}, x:read())
    local waiting = x + 1
    for what, f in pairs {
      ["a + b: a"] = function() return (part + floats {1, 2}) * 2 end,
      ["a * b: b"] = function() return 2 * part end,
      ["sqrt: argument 1 (a)"] = function() return part:sqrt() end
    } do
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.equal(what .. ": the array is closed", (err:gsub("^.-:%d+: ", "")))
    end
    x:fill(0)
    assert.same({4, 7, 4}, waiting:read())
  end)

  it("being assigned to its operand", function()
    local x = floats {1, 2, 3}
    local y = x + 1
    x:set(y)
    assert.same({2, 3, 4}, x:read())
    x:fill(0)
    assert.same({2, 3, 4}, y:read())
    local part = x * 1 + 5
    local whole = part * 2
    x:set(whole)
    x:set(x - 1)
    assert.same({9, 9, 9}, x:read())
    assert.same({10, 10, 10}, whole:read())
    assert.same({5, 5, 5}, part:read())
  end)
end)

describe("x:set of an expression", function()
  it("is computed in place by one kernel", function()
    local x, y = floats {1, 2, 3}, floats {4, 5, 6}
    local function go() x:set(y * 2 + y) end
    go()
    assert.equal(never and 2 or 1, launched(go))
    assert.same({12, 15, 18}, x:read())
    local b = x.buffer
    x:set(x + y)
    assert.equal(b, x.buffer)
    assert.same({16, 20, 24}, x:read())
    x[{{1, 2}}] = y[{{2, 3}}] - 1
    assert.same({4, 5, 24}, x:read())
    x:set(y:gt(4.5))
    assert.same({0, 1, 1}, x:read())
  end)

  it("reads the old elements of the array that it writes", function()
    local x = floats {1, 2, 3, 4}
    x:set(x:flip() * 10)
    assert.same({40, 30, 20, 10}, x:read())
    x[{{2, 4}}] = x[{{1, 3}}] + 1
    assert.same({40, 41, 31, 21}, x:read())
    x:set(x + x:flip())
    assert.same({61, 72, 72, 61}, x:read())
    local m = A("float", {{1, 2}, {3, 4}})
    m:set(m:t() + m)
    assert.same({{2, 5}, {5, 8}}, m:table())
    m:set(m[1] * 2)
    assert.same({{4, 10}, {4, 10}}, m:table())
  end)

  it("leaves an expression unevaluated if the launch fails", function()
    local build = os.getenv "LZE_TEST_BUILD" or "build"
    process.with_directory(function(dir)
      process.write(dir .. "/rules", "")
      assert.equal("false\tzeCommandListAppendLaunchKernel\n" ..
          "1.0\t4.0\n4.0\t18.0\n8.0\t18.0\n20.0\n",
        process.output([[
          local function faults(rules)
            local file <close> = assert(io.open(os.getenv "ZE_FAULT_CONTROL",
              "w"))
            file:write(rules)
          end
          local A = require "lze".array
          local x, y = A("float", {1, 2, 4}), A("float", {2, 3, 4})
          x:set(x * y + 2)
          x:set {1, 2, 4}
          local e = x * y + 2
          faults "fail zeCommandListAppendLaunchKernel 0 0x70000003"
          local ok, err = pcall(x.set, x, e)
          print(ok, err.call)
          faults ""
          print(x[1], x[3])
          x:set(e)
          print(x[1], e[3])
          x:set(e * 2)
          print(x[1], e[3])
          x:set(e + x * x / 4)
          print(x[1])
        ]], {env = {
          ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
          ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
          ZE_FAULT_CONTROL = dir .. "/rules",
          ZE_ENABLE_VALIDATION_LAYER = false,
        }}))
    end)
  end)

  it("runs the collector if much memory may be unused", function()
    local n = 1 << 23
    collectgarbage()
    if collectgarbage "count" * 4096 > n // 2 then return end
    local x, y = A.ones({n}), A.ones({n})
    local function go() x:set(0.5 * x + 0.25 * y) end
    for _ = 1, 3 do go() end
    local before = lze.stats().collections
    if not never then assert.equal(1, launched(go)) end
    assert.is_true(never or lze.stats().collections > before)
    local held = x * 2
    x:set(held + x)
    local value = x[n]
    x:fill(0)
    assert.is_true(math.abs(held[n] * 1.5 - value) < 1e-6)
  end)
end)

it("views of one storage are assigned to each other as if by a copy", function()
  math.randomseed(5)
  local random = math.random
  for _ = 1, 200 do
    local x, values = A.arange(48):to "float", {}
    for i = 1, 48 do values[i] = i end
    local n = random(8)
    local function view()
      local step = random(5)
      local from = random(48 - (n - 1) * step)
      if random(2) == 1 then
        return from, step, x[{{from, from + (n - 1) * step, step}}]
      end
      from = from + (n - 1) * step
      return from, -step, x[{{from, from - (n - 1) * step, -step}}]
    end
    local to, to_step, a = view()
    local from, step, b = view()
    a:set(b * 2 + 1)
    local read = {}
    for i = 0, n - 1 do read[i] = 2 * values[from + i * step] + 1 end
    for i = 0, n - 1 do values[to + i * to_step] = read[i] end
    assert.same(values, x:read(), ("%d numbers, %d by %d to %d by %d"):format(n,
      from, step, to, to_step))
  end
end)

describe("g:array", function()
  local function misuse(...)
    local g <close> = lze.graph("g")
    local ok, err = pcall(g.array, g, ...)
    assert.is_false(ok)
    return (err:gsub("^spec/array_lazy_spec.lua:%d+: ", ""))
  end

  it("computes an expression in each run from the current elements", function()
    local x, r = floats {1, 2, 3}, floats {10, 20, 30}
    local rows = A.zeros {2, 3}
    local g <close> = lze.graph("relax")
    local kept = 0.5 * x + 2 * r
    assert.equal(g, g:array("step", x, kept):array("rows", rows, x + 1))
    local plan <close> = g:compile()
    plan:run()
    assert.same({20.5, 41, 61.5}, x:read())
    assert.same({{21.5, 42, 62.5}, {21.5, 42, 62.5}}, rows:table())
    plan:set("step", 2, 0.25):set("step", 4, 0.5)
    plan:set("step", 5, floats {4, 8, 12})
    plan:run()
    assert.same({7.125, 14.25, 21.375}, x:read())
    assert.same({20.5, 41, 61.5}, kept:read())
  end)

  it("computes one column from other columns", function()
    local x = floats {{1, 2, 3}, {4, 5, 6}}
    local g <close> = lze.graph("columns")
    g:array("sum", x[{{}, 2}], x[{{}, 1}] + x[{{}, 3}])
    local plan <close> = g:compile()
    plan:run()
    assert.same({{1, 4, 3}, {4, 10, 6}}, x:table())
  end)

  it("refuses an expression that a task cannot compute", function()
    local x = floats {1, 2, 3}
    assert.equal("g:array: the expression may read elements of dst in other " ..
      "places than it writes", misuse("t", x, x:flip() + 1))
    assert.matches("g:array: an operand, float {1}, is of another shape",
      misuse("t", x, floats {1} * 2 + x))
    assert.equal("g:array: a real cannot go into elements of int; use :to",
      misuse("t", A("int", 3), x * 2))
    assert.equal("g:array: argument 4 (expression): array expected, got " ..
      "integer 3", misuse("t", x, 3))
    assert.equal("g:array: argument 3 (dst): an array expected, got an " ..
      "expression", misuse("t", x + 1, x))
    assert.matches("shapes {3} and {2} do not broadcast",
      misuse("t", x, A.zeros {2}))
    assert.matches("g:array: the indices of dimension 1, which was expanded",
      misuse("t", floats {1}:expand {3}, x))
    assert.matches("name: string expected", misuse(3, x, x))
  end)
end)

describe("lze compiles", function()
  -- Returns how many modules a script compiles, and how many it takes from the
  -- cache.
  local function builds(script, dir, words)
    local env = {LZE_LOG = "builds", XDG_CACHE_HOME = dir .. "/xdg",
      POCL_CACHE_DIR = dir .. "/pocl"}
    for name, v in pairs(words or {}) do env[name] = v end
    local out = process.output([[
      local lze = require "lze"
      local A = lze.array
      local x, y = A("float", {3, 6, 5}), A("float", {4, 8, 12})
    ]] .. script .. "\nprint 'it ran'", {env = env})
    assert.matches("it ran", out)
    local _, all = out:gsub(" build module array_", "")
    local _, compiled = out:gsub(" build module array_[^\n]*: compiled", "")
    return compiled, all - compiled
  end

  it("each new expression once, and nothing in the next process", function()
    process.with_directory(function(dir)
      os.execute(("mkdir '%s/xdg' '%s/pocl'"):format(dir, dir))
      local script = [[
        for _ = 1, 3 do
          assert(((x * x + y * y):sqrt() - 1 / x):floor()[2] == 9)
        end
        for _ = 1, 2 do assert((x * x - y):sum():item() == 46) end
      ]]
      local words = {LZE_FUSE = false}
      local compiled = builds(script, dir, words)
      assert.equal(2, compiled)
      local again, kept = builds(script, dir, words)
      assert.equal(0, again)
      assert.equal(2, kept)
      -- Other sizes and numbers need no new kernels.
      assert.equal(0, (builds([[
        x, y = A.zeros {70000}:set(3), A.zeros {70000}:set(4)
        assert(((x * x + y * y):sqrt() - 7 / x):floor()[7000] == 2)
      ]], dir, words)))
    end)
  end)

  it("each operation once, after several kernels that contain it", function()
    process.with_directory(function(dir)
      os.execute(("mkdir '%s/xdg' '%s/pocl'"):format(dir, dir))
      assert.equal(5, (builds([[
        local function launched(f)
          local before = lze.stats().launches
          f():eval()
          return lze.stats().launches - before
        end
        assert(launched(function() return x * y + x end) == 1)
        assert(launched(function() return x + y * y end) == 1)
        assert(launched(function() return (x + x) * y end) == 1)
        assert(launched(function() return (y + x) * y * y end) == 3)
      ]], dir, {LZE_FUSE = false})))
    end)
  end)
end)

describe("an operation", function()
  it("works after a debug hook has aborted its first use", function()
    assert.equal("true\n", process.output [[
      local A = require "lze".array
      local n, broken = 0, nil
      for _, kind in ipairs {"char", "uchar", "short", "ushort", "int", "uint",
                             "long", "ulong", "half", "float", "double"} do
        local x = A(kind, {1, 2})
        for _, f in ipairs {
          function() return x + x end, function() return x - x end,
          function() return x * x end, function() return x + 1 end,
          function() return x - 1 end, function() return x * 1 end,
          function() return 1 + x end, function() return 1 - x end,
          function() return x:eq(x) end, function() return x:lt(x) end,
          function() return x:eq(1) end, function() return x:lt(1) end} do
          n = n + 3
          pcall(function()
            debug.sethook(function() debug.sethook() error "stop" end, "", n)
            f()
          end)
          debug.sethook()
          local ok, why = pcall(f)
          broken = broken or not ok and why
        end
      end
      print(broken or n > 300)]])
  end)
end)

describe("LZE_FUSE", function()
  local script = [[
    local A = require "lze".array
    local x = A("float", {1, 2})
    local before = require "lze".stats().launches
    for _ = 1, 3 do (x * 2 + 1):eval() end
    print(require "lze".stats().launches - before)
  ]]
  for word, n in pairs {auto = 3, always = 3, never = 6} do
    it("=" .. word, function()
      assert.equal(n .. "\n", process.output(script, {env = {LZE_FUSE = word}}))
    end)
  end
  it("refuses any other word", function()
    assert.matches("LZE_FUSE=now: auto, always or never expected",
      process.run("print(require 'lze'.array)",
        {env = {LZE_FUSE = "now"}}).output)
  end)
end)
