-- event_spec.lua - events, waiting and times.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local process = require "spec.support.process"

local mod = lze.load "kernels/spec.spv"

-- Starts a launch that takes about a second or more on any device. Returns its
-- event and its output buffer.
local rounds = 150000000
local function slow(launch)
  local out = lze.buffer("uint", 1)
  return mod.spin:launch(launch or 1, out, rounds), out
end

-- Sixty seconds, the limit of waits that should end immediately.
local limit = 60

describe("an event", function()
  it("is done when its launch is", function()
    local x = lze.buffer("int", {1, 2, 3})
    local ev = mod.add:launch(3, x, 1)
    assert.is_true(ev:wait(limit))
    assert.is_true(ev:done())
    assert.is_true(ev:wait())
    assert.is_true(ev:wait(0))
    assert.same({2, 3, 4}, x:read())
  end)

  it("names its command", function()
    local ev = mod.add:launch(1, lze.buffer("int", 1), 1)
    assert.equal("kernel add", ev.command)
    ev:wait()
    assert.equal("event: kernel add, done", tostring(ev))
    assert.matches("^no field 'kernel' in an event %(known: ",
      expect.misuse(function() return ev.kernel end))
    assert.equal("an event has no field that can be set (string 'command')",
      expect.misuse(function() ev.command = "x" end))
  end)

  it("of long work is not done immediately", function()
    local ev, out = slow()
    assert.equal("event: kernel spin, pending", tostring(ev))
    assert.is_false(ev:done())
    assert.is_false(ev:wait(0))
    assert.is_false(ev:wait(0.01))
    assert.is_false(lze.wait(0))
    assert.is_false(lze.device().queue:wait(0))
    assert.is_true(out:pending())
    assert.matches("^buffer: uint%[1%] shared.*busy", tostring(out))
    assert.is_true(ev:wait(limit))
    assert.is_false(out:pending())
    assert.is_true(ev:done())
    assert.matches("^buffer: uint%[1%] shared {%d+}$", tostring(out))
  end)

  it("returns from a wait in time", function()
    local ev = slow()
    local start = os.time()
    assert.is_boolean(ev:wait(0.05))
    assert.is_true(os.time() - start <= 20)
    ev:wait()
  end)

  it("checks the seconds of a wait", function()
    local ev = mod.nothing:launch(1)
    assert.equal("bad argument #1 to 'wait' (seconds: number expected, got " ..
      "string '1')", expect.misuse(function() ev:wait "1" end))
    assert.equal("bad argument #1 to 'wait' (seconds: a number that is not " ..
      "negative expected, got integer -1)",
      expect.misuse(function() ev:wait(-1) end))
    assert.matches("^bad argument #1 to 'wait' %(seconds: a number that is " ..
      "not negative expected, got number %-?nan%)$",
      expect.misuse(function() ev:wait(0 / 0) end))
    assert.equal("bad argument #1 to 'wait' (seconds: number expected, got " ..
      "table)", expect.misuse(function() lze.wait {} end))
    assert.is_true(ev:wait(math.huge))
    assert.is_true(ev:wait(1e300))
    assert.is_true(lze.wait(math.huge))
  end)

  it("has times on one clock", function()
    local x = lze.buffer("int", 1000)
    local last = 0
    for _ = 1, 20 do
      local t = mod.add:launch(1000, x, 1):time()
      for _, key in ipairs {"queued_ns", "start_ns", "end_ns",
                            "kernel_ns"} do
        assert.equal("integer", math.type(t[key]))
      end
      assert.is_true(t.queued_ns >= last)
      assert.is_true(t.start_ns >= t.queued_ns)
      assert.is_true(t.end_ns >= t.start_ns)
      assert.equal(t.end_ns - t.start_ns, t.kernel_ns)
      last = t.queued_ns
    end
  end)

  it("has times in order even if a reading of the clocks is delayed", function()
    local build = os.getenv "LZE_TEST_BUILD" or "build"
    assert.equal("true\n", process.output([[
      local lze = require "lze"
      local q, x = lze.queue(), lze.buffer("int", 4)
      local first, second = q:fill(x, 1), q:fill(x, 2)
      print(first:time().end_ns <= second:time().start_ns)]], {env = {
        ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
        ZE_FAULT = "late zeDeviceGetGlobalTimestamps 1 20000",
        ZE_ENABLE_VALIDATION_LAYER = false}}))
  end)

  it("reports long times for long work", function()
    local ev = slow()
    local t = ev:time()
    local quick = mod.add:launch(1, lze.buffer("int", 1), 1):time()
    assert.is_true(t.kernel_ns > 10 * 1000 * 1000)
    assert.is_true(t.kernel_ns > quick.kernel_ns)
    assert.is_true(quick.start_ns >= t.end_ns)
    assert.same(t, ev:time())
  end)

  it("of a split launch times the whole launch", function()
    local n = 100003
    local out = lze.buffer("uint", n)
    local body = mod.spin:launch({n, group = 64}, out, 2000):time()
    assert.is_true(body.start_ns >= body.queued_ns)
    assert.equal(body.end_ns - body.start_ns, body.kernel_ns)
    assert.is_true(body.kernel_ns > 1000 * 1000)
  end)

  it("outlives its module and its buffer", function()
    local ev
    do
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 1000)
      ev = m.add:launch(1000, x, 1)
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(ev:wait(limit))
    assert.equal("kernel add", ev.command)
    assert.is_true(ev:time().kernel_ns >= 0)

    local m = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", 1000)
    ev = m.add:launch(1000, x, 1)
    x:close()
    m:close()
    assert.is_true(ev:wait(limit))
    local t = ev:time()
    assert.equal(t.end_ns - t.start_ns, t.kernel_ns)
  end)

  it("can be closed", function()
    local ev = slow()
    ev:close()
    ev:close()
    assert.equal("event (closed)", tostring(ev))
    for _, f in ipairs {
      function() ev:done() end,
      function() ev:wait() end,
      function() ev:time() end,
      function() return ev.command end,
    } do
      assert.matches("the event is closed", expect.misuse(f), 1, true)
    end
    assert.equal("kernel nothing: after: the event is closed",
      expect.misuse(function() mod.nothing {1, after = ev} end))
    assert.is_true(lze.wait(limit))
    do
      local kept <close> = mod.nothing:launch(1)
      ev = kept
    end
    assert.equal("event (closed)", tostring(ev))
  end)

  it("may be dropped by the thousand", function()
    local x = lze.buffer("int", 1)
    for _ = 1, 5000 do mod.add:launch(1, x, 1) end
    assert.equal(5000, x[1])
  end)

  it("may be kept by the thousand", function()
    local x = lze.buffer("int", 1)
    local events = {}
    for i = 1, 2000 do events[i] = mod.add:launch(1, x, 1) end
    assert.is_true(events[2000]:wait(limit))
    for i = 2000, 1, -1 do assert.is_true(events[i]:done()) end
    local before = 0
    for i = 1, 2000, 100 do
      local t = events[i]:time()
      assert.is_true(t.start_ns >= before)
      before = t.end_ns
    end
    assert.equal(2000, x[1])
  end)
end)

describe("after", function()
  it("takes an event or an array of events, done or not", function()
    local x = lze.buffer("int", {1})
    local first, out = slow()
    local second = mod.add:launch({1, after = first}, x, 1)
    local third = mod.add:launch({1, after = {first, second}}, x, 1)
    assert.is_true(third:wait(limit))
    assert.is_true(first:done())
    assert.is_false(out:pending())
    mod.add({1, after = {first, second, third}}, x, 1)
    mod.add({1, after = {}}, x, 1)
    assert.equal(5, x[1])
    assert.is_true(second:time().start_ns >= first:time().end_ns)
    assert.is_true(third:time().start_ns >= second:time().end_ns)
  end)

  it("orders queues that nothing else orders", function()
    local q = lze.queue()
    local first = slow()
    local ev = mod.nothing:launch {1, queue = q, after = first}
    assert.is_false(ev:wait(0))
    assert.is_true(ev:wait(limit))
    assert.is_true(first:done())
    assert.is_true(ev:time().start_ns >= first:time().end_ns)
  end)

  it("is an event, or an array of events", function()
    local x = lze.buffer("int", 1)
    local function call(after)
      return expect.misuse(function() mod.add({1, after = after}, x, 1) end)
    end
    assert.equal("kernel add: after: event expected, got integer 1", call(1))
    assert.equal("kernel add: after: event expected, got buffer of int",
      call(x))
    assert.equal("kernel add: after: event expected, got string 'x'",
      call {mod.nothing:launch(1), "x"})
    assert.equal("kernel add: after: array expected, got a table with the " ..
      "key string 'a'", call {mod.nothing:launch(1), a = mod.nothing:launch(1)})
    assert.equal("kernel add: uses: array expected, got a table with the " ..
      "key string 'a'", expect.misuse(function()
        mod.add({1, uses = {a = x}}, x, 1)
      end))
    assert.equal(0, x[1])
  end)
end)

describe("waiting", function()
  it("for everything waits for every queue", function()
    local queues = {lze.queue(), lze.queue()}
    local events = {}
    for i, q in ipairs(queues) do events[i] = slow {1, queue = q} end
    assert.is_false(lze.wait(0))
    assert.is_true(lze.wait(limit))
    for _, ev in ipairs(events) do assert.is_true(ev:done()) end
    assert.is_true(lze.wait(0))
  end)

  it("for a queue waits for that queue", function()
    local q = lze.queue()
    assert.is_true(q:wait(0))
    local ev = slow {1, queue = q}
    assert.is_false(q:wait(0))
    assert.is_true(q:wait(limit))
    assert.is_true(ev:done())
  end)

  it("is part of reading, but only for work that uses the buffer", function()
    local other = lze.buffer("int", {1, 2, 3})
    local q = lze.queue()
    local ev, out = slow {1, queue = q}
    assert.same({1, 2, 3}, other:read())
    assert.equal(2, other[2])
    other[1] = 5
    other:write({6}, 2)
    assert.equal("\5\0\0\0", other:string(1, 1))
    assert.is_false(ev:done())
    assert.is_true(out[1] > 0)
    assert.is_true(ev:done())
  end)

  it("for one part of a buffer does not wait for another", function()
    local x = lze.buffer("uint", 64)
    local ev = mod.spin:launch(1, x:view(1, 1), rounds)
    assert.equal(0, x[64])
    assert.same({0, 0}, x:read(2, 3))
    assert.is_false(x:view(2, 64):pending())
    assert.is_true(x:pending())
    assert.is_false(ev:done())
    assert.not_equal(0, x[1])
    assert.is_true(ev:done())
  end)
end)

describe("two queues", function()
  it("keep the order of commands that share a buffer", function()
    local q = lze.queue()
    local x = lze.buffer("uint", 1)
    mod.spin(1, x, rounds // 4)
    local expected = x[1]
    for _ = 1, 3 do
      x[1] = 0
      mod.spin({1, queue = q}, x, rounds // 4)
      mod.add(1, x, 1)
      mod.add({1, queue = q}, x, 1)
      assert.equal((expected + 2) & 0xffffffff, x[1])
    end
  end)

  it("do not wait for readers of the same buffer", function()
    local q = lze.queue()
    local a = lze.buffer("int", {7})
    local b, c = lze.buffer("int", 1), lze.buffer("int", 1)
    mod.square(1, a, b)
    mod.square({1, queue = q}, a, c)
    assert.equal(49, b[1])
    assert.equal(49, c[1])
  end)
end)
