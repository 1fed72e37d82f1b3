-- graph_spec.lua - task graphs: recording, compiling, running, setting.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"
local interrupted = require "spec.support.interrupted"

local function filled(n, v)
  local t = {}
  for i = 1, n do t[i] = v end
  return t
end

describe("task graphs", function()
  local mod

  setup(function()
    mod = lze.compile [[
      kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }
      kernel void set(global int *x, int n) { x[get_global_id(0)] = n; }
      kernel void sum(global const int *a, global const int *b, global int *c) {
        size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
      kernel void twod(global int *x, int w) {
        x[get_global_id(1) * w + get_global_id(0)]++; }]]
  end)

  it("run repeatedly", function()
    local x, y = lze.buffer("int", 100), lze.buffer("int", 100)
    local g = lze.graph "twice"
    assert.equal(g, g:input(x, "every"))
    g:task("one", mod.add, 100, x, 1):copy("copy", y, x)
    g:task("two", mod.add, {100, group = 10}, y, 10):output(y)
    local plan = g:compile()
    for i = 1, 5 do
      assert.equal(plan, plan:run())
      assert.same(filled(100, i), x:read())
      assert.same(filled(100, i + 10), y:read())
    end
  end)

  it("start one after another, and return events", function()
    local x = lze.buffer("int", 64)
    local plan = lze.graph():task("add", mod.add, 64, x, 1):compile()
    local events = {}
    for i = 1, 20 do events[i] = plan:start() end
    assert.is_true(events[20]:wait(60))
    for i = 1, 20 do assert.is_true(events[i]:done()) end
    assert.same(filled(64, 20), x:read())
    assert.equal("graph graph", events[1].command)
    assert.is_true(events[1]:time().kernel_ns > 0)
  end)

  it("run in order with other commands on their buffers", function()
    local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
    local plan = lze.graph():task("add", mod.add, 64, x, 1)
      :task("set", mod.set, 64, y, 1):compile()
    local q = lze.queue {order = "out"}
    for i = 1, 20 do
      plan:run()
      assert.equal(3 * i - 2, x[64])
      mod.add(64, x, 1)
      q:launch(mod.add, 64, y, i)
      plan:run()
      assert.equal(3 * i, x[1])
      assert.equal(1, y[1])
      assert.same({64 * 4, 64 * 4}, {x.bytes, y.bytes})
    end
    assert.matches("40 runs", tostring(plan))
  end)

  it("can be run and closed by finalizers", function()
    local x = lze.buffer("int", 1)
    local plan = lze.graph():task("add", mod.add, 1, x, 1):compile()
    plan:run()
    local other = lze.graph():task("add", mod.add, 1, x, 10):compile()
    other:run()
    setmetatable({}, {__gc = function()
      plan:run()
      other:close()
    end})
    collectgarbage()
    assert.equal(12, x[1])
    assert.matches("the plan is closed",
      expect.misuse(function() other:run() end))
    plan:run()
    assert.equal(13, x[1])
    x:close()
    assert.matches("a buffer that it uses is closed",
      expect.misuse(function() plan:run() end))
  end)

  it("report kernels that were closed between runs", function()
    local m = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", 1)
    local plan = lze.graph "g":task("add", m.add, 1, x, 1):compile()
    for _ = 1, 3 do plan:run() end
    m:close()
    assert.matches("graph g: task g.add: .*add.* is closed",
      expect.misuse(function() plan:run() end))
  end)

  it("separate runs that start before others have ended", function()
    for _ = 1, 10 do
      local g, x = lze.graph "wide", {}
      for i = 1, 6 do
        x[i] = lze.buffer("int", 64)
        g:task("a" .. i, mod.add, 64, x[i], i)
      end
      g:copy("b", x[1], x[2]):copy("c", x[3], x[1])
      local plan = g:compile()
      local ev
      for _ = 1, 4 do ev = plan:start() end
      assert.is_true(ev:wait(60))
      assert.same({8, 8, 8, 16, 20, 24}, {x[1][64], x[2][64], x[3][64],
        x[4][64], x[5][64], x[6][64]})
    end
  end)

  it("wait for earlier commands, and later commands wait for them", function()
    local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)
    local q <close> = lze.queue {order = "out"}
    local plan = lze.graph():task("a", mod.sum, 1000, x, x, y):compile()
    for i = 1, 20 do
      mod.set({1000, queue = q}, x, i)
      local ev = plan:start()
      mod.set({1000, queue = q}, x, -1)
      assert.same(filled(1000, 2 * i), y:read())
      assert.is_true(ev:done())
      assert.equal(-1, x[1000])
    end
  end)

  it("find dependencies, in views too", function()
    local x = lze.buffer("int", 100)
    local low, high = x:view(1, 50), x:view(51, 100)
    local plan = lze.graph "g"
      :task("low", mod.set, 50, low, 1)
      :task("high", mod.set, 50, high, 2)
      :task("all", mod.add, 100, x, 1)
      :task("low again", mod.add, 50, low, 1)
      :compile()
    plan:run()
    assert.same({3, 3, 3, 3}, {x[1], x[50], x[51], x[100]})
    local dot = plan:dot()
    assert.is_truthy(dot:find('"g.low" -> "g.all"', 1, true))
    assert.is_truthy(dot:find('"g.high" -> "g.all"', 1, true))
    assert.is_nil(dot:find('"g.low" -> "g.high"', 1, true))
    assert.is_truthy(dot:find('"g.all" -> "g.low again"', 1, true))
    assert.is_nil(dot:find('"g.low" -> "g.low again"', 1, true))
  end)

  it("stay below their memory limit when a buffer is set", function()
    local x, y = lze.buffer("int", 10), lze.buffer("int", 10)
    local large = lze.buffer("int", 30)
    local plan = lze.graph "g":task("one", mod.set, 10, x, 1)
      :task("two", mod.set, 10, y, 2):compile {memory_bytes = 100}
    plan:run()
    assert.equal("graph g: memory_bytes: it needs 160 bytes, 0 for its " ..
      "transient buffers, of 100", expect.misuse(function()
        plan:set("one", 1, large)
      end))
    -- Nothing has changed.
    x:fill(0)
    plan:run()
    assert.same({1, 2, 0}, {x[10], y[10], large[1]})
    plan:set("one", 1, y):run()
    assert.equal(2, y[1])
    plan:set("two", 1, x):run()
    assert.same({2, 1}, {x[1], y[1]})
  end)

  it("accept new arguments, ranges and buffers between runs", function()
    local x, y = lze.buffer("int", 100), lze.buffer("int", 100)
    local plan = lze.graph "g":task("set", mod.set, 100, x, 1):compile()
    plan:run()
    assert.equal(plan, plan:set("set", "n", 2))
    plan:run()
    assert.same(filled(100, 2), x:read())
    plan:set("g.set", 2, 3):set("set", 0, 50):run()
    assert.same({3, 3, 2, 2}, {x[1], x[50], x[51], x[100]})
    plan:set("set", 1, y):run()
    assert.same({3, 0}, {y[50], y[51]})
    plan:set("set", 0, 0):set("set", 2, 9):run()
    assert.equal(3, y[1])
    assert.equal(3, x[1])
  end)

  it("accept the recorded buffer again after a longer one", function()
    local x, y = lze.buffer("int", 4), lze.buffer("int", 9)
    local plan = lze.graph "g":task("add", mod.add, 4, x, 1):compile()
    plan:set("add", 1, y):run():set("add", "x", x):run()
    assert.same({1, 1, 1, 1}, x:read())
    assert.same({1, 1, 1, 1, 0}, y:read(1, 5))
    assert.equal("bad argument #3 to 'set' (task g.add: a buffer of at " ..
      "least 4 int expected, got buffer of int, 3)", expect.misuse(function()
        plan:set("add", 1, y):set("add", 1, lze.buffer("int", 3))
      end))
  end)

  it("accept only a size as a new range, and require a value", function()
    local x = lze.buffer("int", 8)
    local plan = lze.graph "g":task("a", mod.add, {8, group = 4}, x, 1)
      :task("b", mod.add, 8, x, 1):compile()
    for _, name in ipairs {"a", "b"} do
      assert.equal("graph g: task g." .. name .. ": unknown key string " ..
        "'group' in a global size (the rest of the launch table stays as it " ..
        "was recorded)", expect.misuse(function()
          plan:set(name, 0, {4, group = 2})
        end))
    end
    assert.equal("bad argument #3 to 'set' (value expected, or nil)",
      expect.misuse(function() plan:set("a", "x") end))
    assert.equal("bad argument #1 to 'set' (task 'c': there is none (there " ..
      "is: a or g.a, b or g.b))",
      expect.misuse(function() plan:set("c", 1, x) end))
    plan:set("a", 0, {4}):set("b", 0, {2}):run()
    assert.same({2, 2, 1, 1, 0, 0, 0, 0}, x:read())
    assert.same({4, 1, 1}, plan:report().tasks[1].group)
    assert.matches("^plan of graph g: 2 steps on .*, 1 run$", tostring(plan))
  end)

  it("record again only the lists that a set affects", function()
    local x, g = lze.buffer("int", 8), lze.graph "g"
    for i = 1, 300 do g:task("t" .. i, mod.add, 8, x, 1) end
    local plan = g:compile()
    local lists = plan:report().lists
    assert.equal(5, lists)
    assert.equal(lists, plan:report().recorded)
    plan:run():set("t150", "n", 1001):run()
    assert.equal(lists, plan:report().lists)
    assert.equal(1, plan:report().recorded)
    assert.equal(300 + 1300, x[8])
  end)

  it("do not change a run in flight when arguments are set", function()
    local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
    local plan = lze.graph():task("add", mod.add, 64, x, 1):compile()
    for i = 1, 30 do
      plan:start()
      plan:set("add", 1, i % 2 == 0 and x or y):set("add", 2, i + 1)
    end
    lze.wait()
    local odd, even = 0, 0
    for i = 1, 30 do
      if i % 2 == 1 then odd = odd + i else even = even + i end
    end
    assert.same({odd, even}, {x[64], y[64]})
  end)

  it("share memory among transient buffers", function()
    local x = lze.buffer("int", {1, 2, 3})
    local g = lze.graph "g"
    local a, b, c = g:buffer("int", 3), g:buffer("int", 3), g:buffer("int", 3)
    assert.equal(3, #a)
    assert.equal("int", a.type)
    g:copy("in", a, x):copy("ab", b, a):copy("bc", c, b)
      :task("add", mod.add, 3, c, 1):copy("out", x, c)
    local plan = g:compile {memory_bytes = 12 + 128 + 12}
    plan:run():run()
    assert.same({3, 4, 5}, x:read())
    assert.equal("graph g: memory_bytes: it needs 152 bytes, 140 for its " ..
      "transient buffers, of 100", expect.misuse(function()
        g:compile {memory_bytes = 100}
      end))
  end)

  it("order tasks by transient buffers that are not arguments", function()
    local x = lze.buffer("int", 10)
    local g = lze.graph "g"
    local s, t = g:buffer("int", 10), g:buffer("int", 10)
    local r = g:fill("s", s, 1):fill("t", t, 1)
      :task("array", mod.add, {10, uses = {s}}, x, 1)
      :task("one", mod.add, {10, uses = t}, x, 1):compile():report()
    assert.same({"g.s"}, r.tasks[3].after)
    assert.same({"g.t", "g.array"}, r.tasks[4].after)
  end)

  it("derive no order from tasks that run nothing", function()
    local x = lze.buffer("int", 10)
    local r = lze.graph "g":fill("a", x, 1):task("none", mod.add, 0, x, 1)
      :fill("b", x, 2):compile():report()
    assert.same({{}, {}, {"g.a"}},
      {r.tasks[1].after, r.tasks[2].after, r.tasks[3].after})
    assert.equal(0, r.tasks[2].bytes)
  end)

  it("take other graphs as tasks", function()
    local x = lze.buffer("int", 10)
    local inner = lze.graph "inner":task("add", mod.add, 10, x, 1)
    local outer = lze.graph "outer":fill("zero", x, 0)
      :task("first", inner):task("second", inner)
    local plan = outer:compile()
    plan:run():run()
    assert.equal(2, x[10])
    plan:set("outer.second.add", 2, 5):run()
    assert.equal(6, x[10])
    assert.equal("bad argument #1 to 'set' (task add: it may be " ..
      "outer.first.add or outer.second.add)",
      expect.misuse(function() plan:set("add", 2, 5) end))
    inner:task("circle", outer)
    assert.equal("graph outer: graphs are nested more than 16 deep, or in a " ..
      "circle", expect.misuse(function() outer:compile() end))
  end)

  it("copy tables and strings in and out", function()
    local x = lze.buffer("int", 4, {usage = "device"})
    local source, result = {1, 2, 3, 4}, {}
    local plan = lze.graph():input(x, "every", source)
      :task("add", mod.add, 4, x, 10):output(x, "every", result):compile()
    plan:run()
    assert.same({11, 12, 13, 14}, result)
    source[1] = 5
    plan:run()
    assert.same({15, 12, 13, 14}, result)
    local y = lze.buffer("int", 4)
    local once = lze.graph():input(y, "first", "\1\0\0\0\2\0\0\0")
      :task("add", mod.add, 4, y, 1):output(y, "demand"):compile()
    once:run():run()
    assert.equal(y, once:fetch(y))
    assert.same({3, 4, 2, 2}, y:read())
  end)

  it("report errors of a task while it is recorded", function()
    local g, x = lze.graph "g", lze.buffer("int", 4)
    assert.equal("graph g: task t: kernel add: argument 2 (n): int expected " ..
      "(an integer from -2147483648 to 2147483647), got number 1.5",
      expect.misuse(function() g:task("t", mod.add, 4, x, 1.5) end))
    assert.equal("graph g: task t: kernel add: 2 arguments (x, n) expected, " ..
      "got 1", expect.misuse(function() g:task("t", mod.add, 4, x) end))
    assert.equal("graph g: task t: queue: a plan chooses its queues",
      expect.misuse(function()
        g:task("t", mod.add, {4, queue = lze.device().queue}, x, 1)
      end))
    assert.equal("graph g: copy c: argument 4: j: 9 is outside 1..4",
      expect.misuse(function() g:copy("c", x, x, 2, 9) end))
    g:task("t", mod.add, 4, x, 1)
    assert.equal("graph g: task t: there is one of that name already",
      expect.misuse(function() g:task("t", mod.add, 4, x, 1) end))
    assert.equal("graph g: task u: after: nothing of the name string 'v' has" ..
      " been recorded before it", expect.misuse(function()
        g:task("u", mod.add, {4, after = "v"}, x, 1)
      end))
    for key, what in pairs {after = "", uses = "kernel add: "} do
      assert.equal("graph g: task u: " .. what .. key .. ": array expected, " ..
        "got a table with the key string 'a'", expect.misuse(function()
          g:task("u", mod.add, {4, [key] = {a = key == "uses" and x or "t"}},
            x, 1)
        end))
    end
    assert.equal("graph g: task u: access: kernel add has no argument " ..
      "string 'z'", expect.misuse(function()
        g:task("u", mod.add, {4, access = {z = "read"}}, x, 1)
      end))
  end)

  it("report all problems when they are compiled", function()
    local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
    local g = lze.graph "g":task("a", mod.add, 4, x, 1)
      :task("b", mod.add, 4, y, 1):copy("c", x, y)
    x:close()
    assert.equal("graph g: 2 problems:\n  task g.a: kernel add: argument 1 " ..
      "(x): the buffer is closed\n  copy g.c: argument 1: the buffer is " ..
      "closed", expect.misuse(function() g:compile() end))
  end)

  it("free their own memory when they are closed", function()
    local x = lze.buffer("int", 4)
    local g = lze.graph()
    local t = g:buffer("int", 1 << 20)
    g:fill("fill", t, 7):copy("copy", x, t, 1, 4)
    lze.wait()
    collectgarbage()
    collectgarbage()
    local before = lze.stats().bytes
    for _, run in ipairs {"run", "start"} do
      local plan = g:compile()
      plan[run](plan)
      assert.is_true(lze.stats().bytes >= before + (4 << 20))
      plan:close()
      lze.wait()
      assert.equal(before, lze.stats().bytes)
      assert.same({7, 7, 7, 7}, x:read())
    end
  end)

  it("retain what they captured, unless it is closed", function()
    local x = lze.buffer("int", 4)
    local plan
    do
      local t = lze.buffer("int", {1, 2, 3, 4})
      local m = lze.load "kernels/spec.spv"
      plan = lze.graph "g":task("add", m.add, 4, t, 1):copy("c", x, t)
        :compile()
    end
    collectgarbage()
    collectgarbage()
    plan:run()
    assert.same({2, 3, 4, 5}, x:read())
    plan:start()
    x:close()
    assert.equal("graph g: a buffer that it uses is closed",
      expect.misuse(function() plan:run() end))
    plan:close()
    plan:close()
    assert.equal("plan (closed)", tostring(plan))
    assert.equal("calling 'run' on bad self (the plan is closed)",
      expect.misuse(function() plan:run() end))
  end)

  it("can swap buffers between runs", function()
    local a, b = lze.buffer("int", {1, 1, 1}), lze.buffer("int", 3)
    local g = lze.graph "g":task("step", mod.sum, 3, a, a, b):swap(a, b)
    local plan = g:compile()
    assert.equal(a, plan:current(a))
    plan:run()
    assert.equal(b, plan:current(a))
    assert.same({2, 2, 2}, b:read())
    plan:run {iterations = 4}
    assert.same({16, 16, 16}, a:read())
    assert.same({32, 32, 32}, plan:current(a):read())
    assert.equal("bad argument #2 to 'swap' (it is swapped already)",
      expect.misuse(function() g:swap(lze.buffer("int", 3), b) end))
    assert.equal("bad argument #2 to 'swap' (it shares memory with the other)",
      expect.misuse(function() g:swap(a, a) end))
  end)

  it("can swap parts of a buffer", function()
    local x = lze.buffer("int", {1, 2, 3, 0, 0, 0})
    local a, b = x:view(1, 3), x:view(4, 6)
    local one = x:view(3, 3)
    local plan = lze.graph "g":task("a", mod.sum, 3, a, a, b)
      :task("b", mod.add, 1, one, 100):swap(a, b):compile()
    plan:run()
    assert.same({1, 2, 103, 2, 4, 6}, x:read())
    plan:run()
    assert.same({4, 8, 12, 2, 4, 106}, x:read())
    assert.equal("graph g: task g.all: it uses more than the buffer that is " ..
      "swapped", expect.misuse(function()
        lze.graph "g":task("all", mod.add, 6, x, 1):swap(a, b):compile()
      end))
    assert.equal("graph g: task g.late: it uses more than the buffer that " ..
      "is swapped", expect.misuse(function()
        lze.graph "g":task("late", mod.add, 3, x:view(2, 4), 1)
          :swap(x:view(3, 4), lze.buffer("int", 2)):compile()
      end))
  end)

  it("call back between tasks", function()
    local x, seen = lze.buffer("int", 4), {}
    local plan = lze.graph "g":task("add", mod.add, 4, x, 1)
      :call("look", function()
        seen[#seen + 1] = x[1]
        x[2] = 10 * x[1]
      end)
      :task("again", mod.add, 4, x, 5)
      :call("last", function() seen[#seen + 1] = x[2] end)
      :compile()
    plan:run()
    assert.same({6, 15, 6, 6}, x:read())
    assert.same({1, 15}, seen)
    local first, second = plan:start(), plan:start()
    assert.is_true(second:wait(60))
    assert.is_true(first:done())
    assert.same({1, 15, 7, 75, 13, 135}, seen)
    plan:start()
    assert.equal(24, x[1]) -- reading makes the run continue
    local ev = plan:start()
    while not ev:done() do end
    assert.equal(30, x[1])
    local co = coroutine.wrap(function() return plan:start():await() end)
    local result
    repeat result = co() until result
    assert.equal(36, x[1])
  end)

  it("make reads wait for them, even between two runs", function()
    local x, u, called = lze.buffer("int", 1), lze.buffer("uint", 1), 0
    local spin = lze.load "kernels/spec.spv".spin
    local plan = lze.graph "g":task("add", mod.add, 1, x, 1)
      :task("spin", spin, 1, u, 10000000)
      :call("c", function() called = called + 1 end):compile()
    plan:start {iterations = 3}
    local last = plan:start()
    while called == 0 do last:done() end
    assert.equal(4, x[1])
    assert.equal(4, called)
  end)

  it("start no more iterations once a hook raises an error", function()
    local x, many = lze.buffer("int", 1), {iterations = 100000}
    local plan = lze.graph "g":task("add", mod.add, 1, x, 1):compile()
    interrupted(nil, plan.run, plan, many)
    assert.is_true(x[1] > 0 and x[1] < 100000)
    interrupted(nil, plan.start, plan, many)
    interrupted(function() plan:close() end, plan.run, plan, many)
    x:fill(0)
    plan = lze.graph "g":task("add", mod.add, 1, x, 1):compile()
    assert.equal(1000, plan:run {iterations = 1000} and x[1])
  end)

  it("let callbacks enqueue work, but not wait for themselves", function()
    local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
    local message
    local plan = lze.graph "g":task("add", mod.add, 4, x, 1)
      :call("launch", function()
        mod.add(4, x, 10)
        message = select(2, pcall(lze.wait))
      end)
      :copy("copy", y, x):compile()
    plan:run()
    assert.same({11, 11, 11, 11}, y:read())
    plan:start():wait()
    assert.matches("graph g: what it waits for is the run that the callback is"
      .. " part of$", message)
    assert.same({22, 22, 22, 22}, y:read())
  end)

  it("cannot be started by their own callbacks", function()
    local plan, other
    local message = "graph g: a callback of the plan cannot start it"
    plan = lze.graph "g":call("c", function() plan:run() end):compile()
    assert.equal(message, expect.misuse(function() plan:run() end))
    local through = lze.graph "h":call("c", function() plan:run() end)
    other = through:compile()
    plan = lze.graph "g":call("c", function() other:start():wait() end)
      :compile()
    assert.equal(message, expect.misuse(function() plan:run() end))
  end)

  it("fail once if a callback fails, and can run again", function()
    local x, fails = lze.buffer("int", 4), true
    local plan = lze.graph "g":task("add", mod.add, 4, x, 1)
      :call("fail", function() if fails then error("no", 0) end end)
      :task("never", mod.add, 4, x, 100):compile()
    local ok, err = pcall(plan.run, plan)
    assert.is_false(ok)
    assert.equal("no", err)
    assert.same({1, 1, 1, 1}, x:read())
    local ev = plan:start()
    ok, err = pcall(ev.wait, ev)
    assert.is_false(ok)
    assert.equal("no", err)
    assert.is_true(ev:wait())
    fails = false
    plan:run()
    assert.same({103, 103, 103, 103}, x:read())
  end)

  it("fail if a callback fails in one of several iterations", function()
    for failing = 1, 3 do
      local x, called = lze.buffer("int", 4), 0
      local plan <close> = lze.graph():task("add", mod.add, 4, x, 1)
        :call("c", function()
          called = called + 1
          if called == failing then error("no", 0) end
        end):compile()
      for _, fails in ipairs {
        function() plan:run {iterations = 3} end,
        function() plan:start {iterations = 3}:wait() end,
        function() plan:start {iterations = 3} lze.wait() end,
        function() plan:start {iterations = 3} return x[1] end,
      } do
        called = 0
        x:fill(0)
        assert.same({false, "no"}, {pcall(fails)})
        assert.equal(failing, called)
        assert.same({failing, failing, failing, failing}, x:read())
        assert.is_true(lze.wait())
        assert.is_true(plan:start():wait())
        assert.equal(failing + 1, x[4])
      end
    end
  end)

  it("swap buffers once for each iteration that began", function()
    for iterations = 1, 4 do
      local x, y = lze.buffer("int", {1}), lze.buffer("int", 1)
      local called = 0
      local plan <close> = lze.graph():task("step", mod.sum, 1, x, x, y)
        :call("c", function()
          called = called + 1
          if called == 1 then error("no", 0) end
        end)
        :task("one", mod.add, 1, y, 1):swap(x, y):compile()
      local ev = plan:start {iterations = iterations}
      local later = plan:start()
      assert.is_false(pcall(ev.wait, ev))
      assert.is_true(later:wait())
      plan:run()
      -- 2 by the first iteration, which ended in the middle; then 5 and 11.
      assert.equal(11, plan:current(x)[1], iterations)
    end
  end)

  it("do not fail because of another start", function()
    local x, called = lze.buffer("int", 4), 0
    local plan <close> = lze.graph():task("add", mod.add, 4, x, 1)
      :call("c", function()
        called = called + 1
        if called == 1 then error("no", 0) end
      end):compile()
    local first, second = plan:start {iterations = 2}, plan:start()
    assert.is_true(second:wait())
    assert.same({false, "no"}, {pcall(first.wait, first)})
    assert.same({2, 2}, {called, x[1]})
  end)

  it("report each failure, regardless of earlier failures", function()
    local x, n = lze.buffer("int", 4), 0
    local plan = lze.graph():task("add", mod.add, 4, x, 1)
      :call("c", function() n = n + 1 error("failure " .. n, 0) end):compile()
    local read = function() plan:start() x:read() end
    local wait = function() plan:start() lze.wait() end
    for _, first in ipairs {
      function() plan:run() end, function() plan:start():wait() end, read, wait,
      function() plan:start() return x[1] end,
    } do
      for _, second in ipairs {read, wait} do
        n = 0
        assert.same({false, "failure 1"}, {pcall(first)})
        assert.same({false, "failure 2"}, {pcall(second)})
        assert.is_true(lze.wait())
      end
    end
  end)

  -- Ever deeper in the stack, until a read has only its own slots.
  it("fail if the stack has no room for a callback", function()
    local x, called = lze.buffer("int", 4), 0
    local plan = lze.graph():task("add", mod.add, 4, x, 1)
      :call("c", function() called = called + 1 end):compile()
    local many, codes = {}, {}
    for i = 1, 999985 do many[i] = false end
    for size = 999945, 999985 do
      called = 0
      local ev = plan:start()
      local read = x.read
      local function deep(...) -- luacheck: no unused args
        return (read(x))
      end
      -- Lua would run finalizers there, too, without any room for them.
      collectgarbage "stop"
      local ok, err = coroutine.resume(coroutine.create(function()
        return deep(table.unpack(many, 1, size))
      end))
      collectgarbage "restart"
      assert.equal(ok and 1 or 0, called)
      if not ok and type(err) == "table" then
        codes[err.call .. err.code] = err.message
      end
      pcall(ev.wait, ev)
    end
    assert.same({callERROR_OUT_OF_HOST_MEMORY = "not enough host memory"},
      codes)
    plan:run()
    assert.is_true(lze.wait())
  end)

  it("retain their values if the script changes its tables", function()
    local m = lze.compile [[
      kernel void put(global float *x, float2 v) {
        x[get_global_id(0)] = v.x + get_local_size(0); }
      kernel void follow(global const ulong *a) {
        ((global float *)a[0])[get_global_id(0)] += 1; }]]
    local x, y = lze.buffer("float", 4), lze.buffer("float", 4)
    local v, group, uses = {10, 0}, {2}, {x}
    local g = lze.graph():task("x", m.put, {4, group = group}, x, v)
      :task("f", m.follow, {4, uses = uses}, lze.buffer("ulong", {x.pointer}))
      :task("y", m.put, 4, y, {0, 0})
      :fill("z", lze.buffer("float2", 1), v)
    v[1], group[1], uses[1] = "junk", 3, nil
    local plan = g:compile()
    plan:run()
    assert.same({13, 13, 13, 13}, x:read())
    assert.same({"graph.x"}, plan:report().tasks[2].after)
    local range = {4}
    v[1] = 20
    plan:set("x", "v", v):set("x", 0, range):set("f", 0, 4)
    v[1], range[1] = 30, 0
    plan:set("y", "v", v)
    v[1] = 40
    plan:set("y", 0, 2)
    plan:run()
    assert.same({23, 23, 23, 23}, x:read())
    assert.is_true(y[1] >= 31 and y[1] < 40)
    assert.same({"graph.x"}, plan:report().tasks[2].after)
  end)

  it("can be closed without an effect on their plans", function()
    local x = lze.buffer("int", 4)
    local g = lze.graph "inner":task("add", mod.add, 4, x, 1)
    local outer = lze.graph "outer":task("in", g)
    local function compiled()
      local closed <close> = g
      return closed:compile()
    end
    local plan = compiled()
    g:close()
    assert.equal("graph inner (closed)", tostring(g))
    assert.matches("'compile' on bad self %(the graph is closed%)",
      expect.misuse(function() g:compile() end))
    assert.matches("'task' on bad self %(the graph is closed%)",
      expect.misuse(function() g:task("add", mod.add, 4, x, 1) end))
    assert.matches("field 'name': the graph is closed",
      expect.misuse(function() return g.name end))
    assert.matches("graph inner: the graph is closed",
      expect.misuse(function() outer:compile() end))
    plan:run()
    assert.equal(1, x[4])
  end)

  it("refuse a string that does not fit when it is recorded", function()
    local x = lze.buffer("int", 2)
    for _, source in ipairs {"abc", ("abcd"):rep(3)} do
      assert.equal("bad argument #3 to 'input' (a string of at most 8 " ..
        "bytes, whole int of 4, expected, got one of " .. #source .. ")",
        expect.misuse(function() lze.graph():input(x, "every", source) end))
    end
  end)

  it("name the input that does not fit", function()
    local x, source = lze.buffer("int", 2), {1, 2}
    local plan = lze.graph "g":input(lze.buffer("int", 1), "first", {1})
      :input(x, "every", source):task("add", mod.add, 2, x, 1):compile()
    source[2] = "two"
    assert.matches("^graph g%.input 2: index 2: int expected .*, got string",
      expect.misuse(function() plan:run() end))
    source[2], source[3] = 2, 3
    assert.equal("graph g.input 2: 3 elements from position 1 on do not fit " ..
      "a buffer of 2", expect.misuse(function() plan:start() end))
    source[3] = nil
    assert.same({2, 3}, plan:run() and x:read())
  end)

  it("count launches, not copies and fills", function()
    local x, y = lze.buffer("int", 2), lze.buffer("int", 2)
    local plan = lze.graph():fill("f", x, 1):task("add", mod.add, 2, x, 1)
      :copy("c", y, x):compile()
    local before = lze.stats().launches
    plan:run {iterations = 3}
    assert.equal(3, lze.stats().launches - before)
  end)

  it("fill the output tables of a started run, too", function()
    local x, t = lze.buffer("int", 2), {}
    local plan = lze.graph "g":task("add", mod.add, 2, x, 1)
      :output(x, "every", t):compile()
    local ev = plan:start()
    ev:wait()
    assert.same({1, 1}, t)
  end)
end)
