-- hazard_spec.lua - which commands wait for which, and what lze retains of
-- commands and kernels between launches.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local driver_calls = require "spec.support.driver_calls"
local gated = require "spec.support.gate"

local native = assert(package.loadlib(
  os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()
local mod = lze.load "kernels/spec.spv"

-- Returns how often a script calls each entry point of the driver and, in
-- `waits`, for how many events its commands wait.
local function calls(script)
  local count, waits = driver_calls(script)
  count.waits = waits
  return setmetatable(count, {__index = function() return 0 end})
end

describe("a command that uses a part of an older command's buffer", function()
  it("does not replace it as a dependency", function()
    gated(function(d, gate)
      local q = lze.queue(d)
      local x = lze.buffer("int", 100, {device = d})
      q:barrier(gate)
      q:fill(x, 1)
      q:fill(x, 2, 1, 50)
      assert.is_true(x:view(51, 100):pending())
    end)
  end)

  it("does not replace a write if it reads", function()
    gated(function(d, gate, open)
      local q, r = lze.queue(d), lze.queue(d)
      local x = lze.buffer("int", 4, {device = d})
      local y = lze.buffer("int", 4, {device = d})
      local z = lze.buffer("int", 4, {device = d})
      q:barrier(gate)
      q:fill(x, 7)
      q:copy(y, x)
      local ev = r:copy(z, x)
      assert.is_false(ev:wait(0.1))
      open()
      assert.same({7, 7, 7, 7}, z:read())
    end)
  end)
end)

describe("a command", function()
  it("waits for another command of an out-of-order queue", function()
    gated(function(d, gate, open)
      local add = lze.load("kernels/spec.spv", {device = d}).add
      local q = lze.queue(d, {order = "out"})
      local x = lze.buffer("int", {7, 7, 7, 7}, {device = d})
      local y = lze.buffer("int", 4, {device = d})
      add({4, queue = q, after = gate}, x, 5)
      local ev = q:copy(y, x)
      assert.is_false(ev:wait(0.1))
      open()
      assert.same({12, 12, 12, 12}, y:read())
    end)
  end)

  -- A device may keep an order that nothing requires, so the test counts the
  -- events that the driver must wait for.
  it("waits for each conflicting command, and for no other", function()
    local function waits(script)
      return calls([[
        local lze = require "lze"
        local m = lze.load "kernels/spec.spv"
        local function queue(hazards)
          return lze.queue(nil, {order = "out", hazards = hazards})
        end
        local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
        local function rule(text)
          local file <close> = io.open(os.getenv "ZE_FAULT_CONTROL", "w")
          file:write(text)
        end
        rule "hang"
      ]] .. script .. [[
        rule ""
        lze.wait()]]).waits
    end
    assert.equal(0, waits [[local q = queue(true)
      m.add({4, queue = q}, x, 5) m.add({4, queue = q}, y, 5)]])
    assert.equal(1, waits [[local q = queue(true)
      m.add({4, queue = q}, x, 5) m.add({4, queue = q}, x, 5)]])
    -- Neither command replaces the other for a command in another queue.
    assert.equal(2, waits [[local q = queue(false)
      m.add({4, queue = q}, x, 5) m.add({4, queue = q}, x, 5)
      m.add(4, x, 5)]])
  end)

  -- In a callback, lze checks whether each event depends on the run.
  it("may depend on others through any number of paths", function()
    gated(function(d, gate, open)
      local nothing = lze.load("kernels/spec.spv", {device = d}).nothing
      local q = lze.queue(d, {order = "out"})
      local last, over
      local plan = lze.graph():call("back", function()
        local after = gate
        for _ = 1, 64 do
          local launch = {1, queue = q, after = after}
          after = {nothing:launch(launch), nothing:launch(launch)}
        end
        last = after[1]
        over = last:done()
        open()
      end):compile {device = d}
      plan:run()
      assert.is_false(over)
      assert.is_true(last:wait(60))
    end)
  end)

  it("may use any number of buffers", function()
    gated(function(d, gate, open)
      local add = lze.load("kernels/spec.spv", {device = d}).add
      local x, uses = lze.buffer("int", 4, {device = d}), {}
      for i = 1, 40 do uses[i] = lze.buffer("int", 4, {device = d}) end
      local ev = add:launch({4, after = gate, uses = uses}, x, 1)
      for i, b in ipairs(uses) do assert.is_true(b:pending(), i) end
      open()
      assert.is_true(ev:wait(60))
      for i, b in ipairs(uses) do assert.is_false(b:pending(), i) end
      assert.same({1, 1, 1, 1}, x:read())
    end)
  end)
end)

describe("commands without their own event", function()
  it("are released while the script only enqueues", function()
    -- One command in 64 has an event, which is checked from time to time.
    local count = calls [[
      local mod = require "lze".load "kernels/spec.spv"
      local x = require "lze".buffer("int", 4)
      for _ = 1, 3200 do
        mod.add(4, x, 1)
        mod.square(4, x, x)
      end]]
    assert.equal(6400, count.zeCommandListAppendLaunchKernel)
    assert.is_true(count.zeEventQueryStatus >= 50, count.zeEventQueryStatus)
  end)

  it("include most commands whose buffers the next commands use", function()
    -- Nothing completes before the end, so no event is used twice.
    local function events(launches)
      return calls(([[
        local lze = require "lze"
        local mod = lze.load "kernels/spec.spv"
        local x = lze.buffer("int", 4)
        local function rule(text)
          local file <close> = io.open(os.getenv "ZE_FAULT_CONTROL", "w")
          file:write(text)
        end
        rule "hang"
        for _ = 1, %d do
          mod.add(4, x, 1)
          mod.square(4, x, x)
        end
        rule ""
        lze.wait()]]):format(launches)).zeEventCreate
    end
    assert.is_true(events(500) - events(10) <= 20)
  end)
end)

describe("a kernel", function()
  it("gets its argument again if a new buffer has an old buffer's address",
  function()
    local function script(again)
      return ([[
        local lze = require "lze"
        local add = lze.load "kernels/spec.spv".add
        local x = lze.buffer("int", 1 << 18)
        local address = x.pointer
        add(1 << 18, x, 1)
        lze.wait()
        if %s then
          x:close()
          local kept = {}
          repeat
            kept[#kept + 1] = lze.buffer("int", 1 << 18)
            x = kept[#kept]
            if #kept > 100 then error "it never lies there" end
          until x.pointer == address
        end
        add(1 << 18, x, 1)
        print(x[1])]]):format(again)
    end
    local name = "zeKernelSetArgumentValue"
    assert.equal(calls(script "false")[name] + 1, calls(script "true")[name])
  end)

  it("uses the group and the offset of each launch", function()
    local x = lze.buffer("int", 4 * 7)
    local place = lze.kernel(function(i, j, to) to[(j - 1) * 4 + i] = j end)
    place({4, 7, group = {1, 4}}, x)
    for k, v in ipairs(x:read()) do assert.equal((k - 1) // 4 + 1, v) end
  end)
end)

describe("a kernel whose native handle was requested", function()
  it("has its group set at each launch", function()
    local add <close> = mod:kernel "add"
    local x = lze.buffer("int", 100)
    for _ = 1, 2 do
      native.group(add.handle, 1)
      add({100, group = 10}, x, 1)
    end
    for i = 1, 100 do assert.equal(2, x[i]) end
  end)
end)

describe("a launch in parts", function()
  it("needs a barrier to mark its end only in an out-of-order queue", function()
    local function barriers(order)
      return calls(([[
        local lze = require "lze"
        local q = lze.queue {order = %q}
        local x = lze.buffer("int", 70001)
        q:launch(lze.load "kernels/spec.spv".add, {#x, group = 4}, x, 1):wait()
        ]]):format(order)).zeCommandListAppendBarrier
    end
    assert.equal(1, barriers "out")
    assert.equal(0, barriers "in")
  end)
end)

describe("an overlapping copy", function()
  it("goes through a third buffer, in either direction", function()
    local function copies(i, j, at)
      return calls(([[
        local x = require "lze".buffer("int", 100)
        x:copy(x, %d, %d, %d)
        require "lze".wait()]]):format(i, j, at)).zeCommandListAppendMemoryCopy
    end
    assert.equal(2, copies(1, 50, 20))
    assert.equal(2, copies(20, 69, 1))
    assert.equal(1, copies(1, 50, 51))
    assert.equal(1, copies(51, 100, 1))
  end)
end)
