-- queue_spec.lua - queues: their kinds, their order and their commands.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local process = require "spec.support.process"

local mod = lze.load "kernels/spec.spv"
local limit = 60

-- Launches some tenths of a second of work.
local function slow(q, x)
  return q:launch(mod.spin, 1, x or lze.buffer("uint", 1), 100000000)
end

local kinds = {}
for _, mode in ipairs {"immediate", "batched"} do
  for _, order in ipairs {"in", "out"} do
    kinds[#kinds + 1] = {mode = mode, order = order}
  end
end

describe("lze.queue", function()
  it("reports its settings", function()
    local q = lze.queue()
    assert.equal("immediate", q.mode)
    assert.equal("in", q.order)
    assert.equal("compute", q.engine)
    assert.equal(lze.device(), q.device)
    assert.equal("userdata", type(q.handle))
    assert.matches("^queue: .*, immediate, in order, compute engine, 0 in " ..
      "flight$", tostring(q))
    for _, kind in ipairs(kinds) do
      q = lze.queue(kind)
      assert.equal(kind.mode, q.mode)
      assert.equal(kind.order, q.order)
      assert.matches(kind.order == "in" and ", in order, " or
        ", out of order, ", tostring(q), 1, true)
    end
    for _, priority in ipairs {"low", "normal", "high"} do
      assert.equal("queue", lze.type(lze.queue {priority = priority}))
    end
  end)

  it("takes a device or a selector", function()
    local d = lze.device()
    assert.equal(d, lze.queue(d).device)
    assert.equal(d, lze.queue(d, {mode = "batched"}).device)
    assert.equal("batched", lze.queue(d, {mode = "batched"}).mode)
    assert.equal(d, lze.queue("*").device)
    assert.equal(d, lze.queue(1, {}).device)
    assert.equal(d, lze.queue(d, {context = d.context}).device)
  end)

  it("uses the compute engine if the device has no copy engine", function()
    local q = lze.queue {engine = "copy"}
    assert.is_true(q.engine == "copy" or q.engine == "compute")
    local x = lze.buffer("int", {1, 2, 3})
    local y = lze.buffer("int", 3)
    assert.is_true(q:copy(y, x):wait(limit))
    assert.same({1, 2, 3}, y:read())
    if q.engine == "copy" then
      assert.equal("kernel nothing: queue: a copy engine runs no kernels",
        expect.misuse(function() q:launch(mod.nothing, 1) end))
    else
      assert.is_true(q:launch(mod.nothing, 1):wait(limit))
    end
  end)

  it("checks its options", function()
    assert.matches("^unknown key 'moed' in a queue's options %(known: ",
      expect.misuse(function() lze.queue {moed = "batched"} end))
    assert.equal("option device: argument 1 is the device already",
      expect.misuse(function() lze.queue(1, {device = 1}) end))
    assert.equal("option mode: immediate or batched expected, got string " ..
      "'fast'", expect.misuse(function() lze.queue {mode = "fast"} end))
    assert.equal("option order: in or out expected, got boolean",
      expect.misuse(function() lze.queue {order = true} end))
    assert.equal("option engine: compute or copy expected, got string 'dma'",
      expect.misuse(function() lze.queue {engine = "dma"} end))
    assert.equal("option priority: normal, low or high expected, got " ..
      "integer 1", expect.misuse(function() lze.queue {priority = 1} end))
    assert.equal("option hazards: boolean expected, got integer 0",
      expect.misuse(function() lze.queue {hazards = 0} end))
    assert.matches("^no field 'length' in a queue %(known: ",
      expect.misuse(function() return lze.queue().length end))
  end)
end)

for _, kind in ipairs(kinds) do
  local name = kind.mode .. " queue, " .. kind.order .. " of order"
  if kind.order == "in" then name = kind.mode .. " queue in order" end

  describe("an " .. name, function()
    it("launches, fills, copies and waits", function()
      local q = lze.queue(kind)
      local x, y = lze.buffer("int", 8), lze.buffer("int", 8)
      local events = {
        q:fill(x, 5),
        q:launch(mod.add, 8, x, 1),
        q:copy(y, x, 1, 4, 5),
        q:launch(mod.add, {4, group = 2}, y:view(5, 8), 10),
        q:fill(y, 1, 1, 2),
      }
      assert.is_true(q:wait(limit))
      for i, command in ipairs {"fill", "kernel add", "copy", "kernel add",
                                "fill"} do
        assert.is_true(events[i]:done())
        assert.equal(command, events[i].command)
        local t = events[i]:time()
        assert.is_true(t.queued_ns <= t.start_ns)
        assert.is_true(t.start_ns <= t.end_ns)
        assert.equal(t.end_ns - t.start_ns, t.kernel_ns)
      end
      assert.same({6, 6, 6, 6, 6, 6, 6, 6}, x:read())
      assert.same({1, 1, 0, 0, 16, 16, 16, 16}, y:read())
    end)

    it("keeps the order of commands that conflict", function()
      local q = lze.queue(kind)
      local x = lze.buffer("int", 64)
      for i = 1, 100 do
        q:launch(mod.add, 64, x, i)
        q:launch(mod.square, 64, x, x)
        q:fill(x, 0, 1, 32)
        q:fill(x, i, 33, 64)
      end
      assert.equal(string.pack("<i4", 0):rep(32) ..
        string.pack("<i4", 100):rep(32), x:string())
    end)

    it("is exact with split ranges", function()
      local q = lze.queue(kind)
      for _, n in ipairs {10007, 100003} do
        local seen = lze.buffer("int", n)
        local ev = q:launch(mod.count, n, seen, n, 1)
        assert.is_true(ev:wait(limit))
        assert.is_true(seen:string() == ("\1\0\0\0"):rep(n))
      end
    end)

    it("is flushed when any other call needs its work", function()
      local x = lze.buffer("int", 3)
      local q = lze.queue(kind)
      q:launch(mod.add, 3, x, 1)
      assert.equal(1, x[1])
      q:launch(mod.add, 3, x, 1)
      assert.same({2, 2, 2}, x:read())
      local ev = q:launch(mod.add, 3, x, 1)
      assert.is_true(ev:wait(limit))
      q:launch(mod.add, 3, x, 1)
      mod.add(3, x, 1)
      assert.equal("\5\0\0\0", x:string(1, 1))
      q:launch(mod.add, 3, x, 1)
      q:flush()
      q:flush()
      x:write({x[1] + 1}, 1)
      q:launch(mod.add, 3, x, 1)
      q:close()
      assert.same({8, 7, 7}, x:read())
      q = lze.queue(kind)
      q:launch(mod.add, 3, x, 1)
      q = nil
      collectgarbage()
      collectgarbage()
      assert.is_true(lze.wait(limit))
      assert.same({9, 8, 8}, x:read())
      assert.is_nil(q)
    end)

    it("waits for events", function()
      local q, other = lze.queue(kind), lze.queue(kind)
      local first = slow(other)
      local x = lze.buffer("int", 1)
      local second = q:launch(mod.add, {1, after = first}, x, 1)
      assert.is_false(second:wait(0))
      assert.is_true(second:wait(limit))
      assert.is_true(first:done())
    end)

    it("supports barriers", function()
      local q = lze.queue(kind)
      local x = lze.buffer("uint", 1)
      local first = slow(q, x)
      local barrier = q:barrier()
      local last = q:launch(mod.nothing, 1)
      assert.equal("barrier", barrier.command)
      assert.is_true(last:wait(limit))
      assert.is_true(barrier:done())
      assert.is_true(first:done())
      assert.is_true(barrier:time().end_ns >= first:time().end_ns)
      assert.is_true(last:time().start_ns >= first:time().end_ns)
      local other = lze.queue()
      first = slow(other, x)
      barrier = q:barrier {first, last}
      assert.is_false(barrier:wait(0))
      assert.is_true(barrier:wait(limit))
      assert.is_true(first:done())
      assert.is_true(q:barrier(first):wait(limit))
    end)

    it("accepts hints", function()
      local q = lze.queue(kind)
      local x = lze.buffer("int", {1, 2, 3})
      assert.equal(0, select("#", q:prefetch(x)))
      for _, word in ipairs {"read_mostly", "not_read_mostly",
                             "prefer_device", "not_prefer_device",
                             "non_atomic_mostly", "not_non_atomic_mostly"} do
        q:advise(x, word)
      end
      q:prefetch(lze.buffer("int", 0))
      assert.is_true(q:wait(limit))
      assert.same({1, 2, 3}, x:read())
      assert.matches("advice: read_mostly, .* expected, got string 'x'",
        expect.misuse(function() q:advise(x, "x") end))
    end)

    it("counts correctly through any mix of launches, flushes and waits",
      function()
        local q = lze.queue(kind)
        local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
        local n, m = 0, 0
        math.randomseed(7)
        for _ = 1, 5000 do
          local r = math.random(12)
          if r <= 7 then
            mod.add({4, queue = q}, x, 1)
            n = n + 1
          elseif r == 8 then
            mod.add({4, queue = q}, y, 1)
            m = m + 1
          elseif r == 9 then
            q:flush()
          elseif r == 10 then
            local ev = mod.add:launch({4, queue = q}, x, 1)
            n = n + 1
            if math.random(3) == 1 then assert.is_true(ev:wait(limit)) end
          elseif r == 11 then
            if math.random(20) == 1 then assert.equal(n, x[1]) end
          else
            mod.add(4, x, 1)
            n = n + 1
          end
        end
        assert.same({n, n, n, n}, x:read())
        assert.same({m, m, m, m}, y:read())
      end)

    it("accepts hundreds of commands", function()
      local q = lze.queue(kind)
      local x, y = lze.buffer("int", 1), lze.buffer("int", 1)
      for _ = 1, 1000 do
        q:launch(mod.add, 1, x, 1)
        q:launch(mod.add, 1, y, 2)
      end
      assert.is_true(q:wait(limit))
      assert.equal(1000, x[1])
      assert.equal(2000, y[1])
    end)
  end)
end

describe("a queue", function()
  it("checks its arguments", function()
    local q = lze.queue()
    local x = lze.buffer("int", 3)
    assert.equal("bad argument #1 to 'launch' (kernel expected, got buffer " ..
      "of int)", expect.misuse(function() q:launch(x, 1) end))
    assert.equal("kernel add: no global size",
      expect.misuse(function() q:launch(mod.add) end))
    assert.equal("kernel add: 2 arguments (x, n) expected, got 1",
      expect.misuse(function() q:launch(mod.add, 1, x) end))
    assert.equal("bad argument #1 to 'fill' (buffer expected, got integer 1)",
      expect.misuse(function() q:fill(1, 1) end))
    assert.equal("bad argument #3 to 'fill' (i: 9 is outside 1..3)",
      expect.misuse(function() q:fill(x, 1, 9) end))
    assert.equal("bad argument #2 to 'copy' (buffer expected, got nil)",
      expect.misuse(function() q:copy(x) end))
    assert.matches("event expected, got integer 1",
      expect.misuse(function() q:barrier(1) end))
    assert.same({0, 0, 0}, x:read())
  end)

  it("is immediate unless the driver or the environment says otherwise",
    function()
    local build = os.getenv "LZE_TEST_BUILD" or "build"
    local function modes(api, variable)
      return process.output([[
        local ok, err = pcall(function()
          local lze = require "lze"
          local x = lze.buffer("int", 4):fill(7)
          print(lze.device().queue.mode, lze.queue().mode,
            lze.queue {mode = "immediate"}.mode, x[4])
        end)
        if not ok then print((err:gsub("^stdin:%d+: ", ""))) end]], {env = {
          ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
          ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
          ZE_FAULT = "api " .. api,
          ZE_ENABLE_VALIDATION_LAYER = false,
          LZE_USE_IMMEDIATE_COMMANDLISTS = variable}})
    end
    assert.equal("immediate\timmediate\timmediate\t7\n", modes("1 7"))
    assert.equal("batched\tbatched\timmediate\t7\n", modes("1 6"))
    assert.equal("immediate\timmediate\timmediate\t7\n", modes("1 6", "1"))
    assert.equal("batched\tbatched\timmediate\t7\n", modes("1 10", "0"))
    assert.equal("LZE_USE_IMMEDIATE_COMMANDLISTS=2: 0 or 1 expected\n",
      modes("1 10", "2"))
  end)

  it("returns finished events for empty commands", function()
    local q = lze.queue()
    local x = lze.buffer("int", 3)
    for _, ev in ipairs {q:fill(x, 1, 2, 1), q:copy(x, x, 3, 2),
                         q:launch(mod.add, 0, x, 1)} do
      assert.is_true(ev:done())
      assert.is_true(ev:wait(0))
    end
    assert.same({0, 0, 0}, x:read())
  end)

  it("does not wait for other queues without hazards", function()
    local q = lze.queue {hazards = false}
    local busy = lze.queue()
    local x = lze.buffer("uint", 2)
    local first = slow(busy, x)
    local second = q:fill(x, 7, 2, 2)
    assert.is_true(second:wait(limit))
    assert.is_true(first:wait(limit))
    assert.equal(7, x[2])
  end)

  it("reports that it is closed", function()
    local q = lze.queue()
    local x = lze.buffer("int", 1)
    q:close()
    for _, f in ipairs {
      function() q:launch(mod.nothing, 1) end,
      function() q:fill(x, 1) end,
      function() q:copy(x, x) end,
      function() q:barrier() end,
      function() q:prefetch(x) end,
      function() q:advise(x, "read_mostly") end,
      function() q:flush() end,
      function() q:wait() end,
      function() return q.mode end,
      function() return q.order end,
      function() return q.engine end,
      function() return q.device end,
      function() return q.handle end,
    } do
      assert.matches("the queue is closed", expect.misuse(f), 1, true)
    end
  end)
end)
