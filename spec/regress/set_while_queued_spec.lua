-- set_while_queued_spec.lua - runs with parts on the host are submitted to the
-- device part by part; plan:set changed the parts not submitted yet.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local mod = lze.load "kernels/spec.spv"
local limit = 60

describe("plan:set", function()
  it("does not change runs that wait for one with a callback", function()
    local x = lze.buffer("int", 4)
    local plan = lze.graph "g":task("add", mod.add, 4, x, 0)
      :call("call", function() end):compile()
    local ev
    for _, n in ipairs {10, 100, 1000, 10000, 100000} do
      ev = plan:set("add", "n", n):start()
    end
    assert.is_true(ev:wait(limit))
    assert.same({111110, 111110, 111110, 111110}, x:read())
  end)

  it("does not change the buffers of runs that wait", function()
    local x, y, z = lze.buffer("int", 4), lze.buffer("int", 4), {}
    local plan = lze.graph "g":call("call", function() collectgarbage() end)
      :task("one", mod.add, 4, x, 1):task("two", mod.add, 4, y, 10):compile()
    plan:start()
    plan:start()
    plan:set("two", 1, x)
    plan:start()
    for i = 1, 4 do
      z[i] = lze.buffer("int", 4)
      plan:set("one", 1, z[i]):start()
    end
    assert.is_true(lze.wait(limit))
    assert.same({3 + 5 * 10, 53, 53, 53}, x:read())
    assert.same({20, 20, 20, 20}, y:read())
    for i = 1, 4 do assert.same({1, 1, 1, 1}, z[i]:read()) end
  end)

  it("in a callback applies to the next run", function()
    local x, n = lze.buffer("int", 4), 0
    local plan
    plan = lze.graph "g":task("before", mod.add, 4, x, 1)
      :call("set", function()
        n = n + 1
        plan:set("after", 2, 1000 * n):set("before", 2, 100)
      end)
      :task("after", mod.add, 4, x, 10):compile()
    plan:run()
    assert.same({11, 11, 11, 11}, x:read())
    plan:run()
    assert.same({1111, 1111, 1111, 1111}, x:read())
    plan:start():wait(limit)
    assert.equal(1111 + 100 + 2000, x[1])
  end)
end)
