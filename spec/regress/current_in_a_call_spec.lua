-- current_in_a_call_spec.lua - in a callback, plan:current referred to the next
-- run.  A script that read the result of the preceding task got that of the
-- previous run.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

describe("plan:current in a g:call", function()
  local a, b, plan, seen

  before_each(function()
    a, b = lze.buffer("int", 4), lze.buffer("int", 4)
    seen = {}
    plan = lze.graph "g":copy("copy", b, a):task("step", mod.add, 4, b, 1)
      :call("look", function()
        local view = b:view(2, 2)
        seen[#seen + 1] = plan:current(b)[1]
        seen[#seen + 1] = plan:current(view)[1]
        plan:current(a)[3] = 100
      end):swap(a, b):compile()
  end)

  it("refers to the run that the call is part of", function()
    for i = 1, 3 do
      plan:run()
      assert.same({i, i}, seen)
      assert.same({i, i}, plan:current(a):read(1, 2))
      assert.equal(100, plan:current(b)[3])
      seen = {}
    end
  end)

  it("refers to that run if more runs have been started", function()
    local ev
    for _ = 1, 4 do ev = plan:start() end
    local next_a = plan:current(a)
    assert.equal(a, next_a)
    assert.is_true(ev:wait(60))
    assert.same({1, 1, 2, 2, 3, 3, 4, 4}, seen)
    assert.equal(next_a, plan:current(a))
  end)

  it("refers to the next run again after the call has failed", function()
    local c, d, fails = lze.buffer("int", 1), lze.buffer("int", 1), nil
    local failing
    failing = lze.graph "g":task("step", mod.add, 1, d, 1)
      :call("fail", function()
        fails = failing:current(d)
        error "on purpose"
      end):swap(c, d):compile()
    assert.is_false(pcall(failing.run, failing))
    assert.equal(d, fails)
    assert.equal(c, failing:current(d))
  end)
end)
