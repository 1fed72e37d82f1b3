-- callback_queue_spec.lua - work that a plan's callback enqueues while other
-- work already waits for the run.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

-- Returns a plan that adds 1 to x, calls f and adds 1 again.
local function hosted(x, f)
  return lze.graph()
    :task("before", mod.add, #x, x, 1)
    :call("call", f)
    :task("after", mod.add, #x, x, 1)
    :compile()
end

describe("a callback of a run that work on the default queue waits for",
function()
  local x, y
  before_each(function()
    x = lze.buffer("int", 8, {usage = "device"}):fill(10)
    y = lze.buffer("int", 8, {usage = "device"})
  end)

  it("can enqueue work and read device memory", function()
    local seen
    local plan <close> = hosted(x, function()
      seen = x:read(8, 8)[1]
      x:fill(20, 1, 4)
      mod.add(8, x, 5)
    end)
    plan:start()
    y:copy(x)
    mod.add(8, y, 100)
    assert.same({126, 126, 126, 126, 117, 117, 117, 117}, y:read())
    assert.equal(11, seen)
    assert.same({26, 26, 26, 26, 17, 17, 17, 17}, x:read())
  end)

  it("can be called by each of several runs", function()
    local plan <close> = hosted(x, function() x:fill(7, 1, 1) end)
    plan:run {iterations = 3}
    assert.same({8, 16}, x:read(1, 2))
  end)

  it("can run another plan that has a callback", function()
    local inner <close> = hosted(y, function() y:fill(3, 1, 1) end)
    local plan <close> = hosted(x, function()
      inner:start()
      local z = lze.buffer("int", 8, {usage = "device"}):copy(y)
      inner:run()
      x:copy(z, 1, 2)
    end)
    plan:start()
    local copy = lze.buffer("int", 8, {usage = "device"}):copy(x)
    assert.same({5, 3, 12}, copy:read(1, 3))
    assert.same({4, 4}, y:read(1, 2))
  end)

  it("cannot use a queue or an event that waits for the run", function()
    local q <close> = lze.queue()
    local message, of_event, ev
    local plan <close> = hosted(x, function()
      message = select(2, pcall(q.fill, q, y, 1))
      of_event = select(2, pcall(mod.add, {8, after = ev}, y, 1))
    end)
    plan:start()
    ev = q:copy(y, x)
    assert.same({12}, y:read(8, 8))
    assert.matches("fill: the queue has work that waits for the run that " ..
      "the callback is part of$", message)
    assert.matches("after: an event that waits for the run that the " ..
      "callback is part of$", of_event)
    assert.is_true(ev:done())
  end)
end)
