-- set_to_more_than_a_swap_spec.lua - plan:set accepted a buffer of which only a
-- part is swapped, which compiling refuses: every second run used memory that
-- was not swapped, not ordered after the tasks that wrote it.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local mod = lze.load "kernels/spec.spv"

describe("plan:set to more than a swapped buffer", function()
  local x, a, out, plan

  before_each(function()
    x = lze.buffer("int", 8)
    a, out = x:view(1, 4), lze.buffer("int", 8)
    local b, other = lze.buffer("int", 4), lze.buffer("int", 3)
    plan = lze.graph "g":copy("copy", b, a):task("step", mod.add, 4, b, 1)
      :copy("look", out, other):task("late", mod.add, 0, other, 10)
      :swap(a, b):compile()
  end)

  local function why(...)
    local arguments = {...}
    return expect.misuse(function()
      plan:set(table.unpack(arguments))
    end)
  end

  it("is refused, and changes nothing", function()
    for _, wrong in ipairs {x, x:view(4, 8)} do
      assert.equal("graph g: task g.look: it uses more than the buffer that " ..
        "is swapped", why("look", 2, wrong))
    end
    plan:run()
    assert.same({0, 0, 0}, out:read(1, 3))
    plan:set("look", 2, a:view(2, 4))
    for i = 2, 5 do
      plan:run()
      assert.equal(i, plan:current(a)[1])
      assert.same({i - 1, i - 1, i - 1}, out:read(1, 3))
    end
  end)

  it("is refused once the task has something to do", function()
    plan:set("late", 1, x)
    assert.equal("graph g: task g.late: it uses more than the buffer that " ..
      "is swapped", why("late", 0, 8))
    plan:set("late", 1, x:view(5, 8)):set("late", 0, 4):run()
    assert.same({0, 0, 0, 0, 10, 10, 10, 10}, x:read())
  end)
end)
