-- set_by_way_of_nil_spec.lua - plan:set lost the size of the recorded buffer if
-- the argument was nil in between, and did not check transient buffers at all:
-- kernels wrote outside any buffer.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local mod = lze.load "kernels/spec.spv"

describe("plan:set", function()
  local small, large = lze.buffer("float", 2), lze.buffer("float", 1000)
  local out = lze.buffer("int", 1)

  local function why(plan, value)
    return expect.misuse(function() plan:set("null", 2, value) end)
  end

  it("requires the recorded size after the argument was nil", function()
    local plan = lze.graph "g":task("null", mod.is_null, 1, out, large)
      :compile()
    local direct = why(plan, small)
    assert.equal("bad argument #3 to 'set' (task g.null: a buffer of at " ..
      "least 1000 float expected, got buffer of float, 2)", direct)
    plan:set("null", 2, nil):run()
    assert.equal(1, out[1])
    assert.equal(direct, why(plan, small))
    assert.matches("1000 float expected, got buffer of int, 1000",
      why(plan, lze.buffer("int", 1000)), 1, true)
    local closed = lze.buffer("float", 1000)
    closed:close()
    assert.matches("expected, got a closed buffer", why(plan, closed), 1, true)
    plan:set("null", 2, lze.buffer("float", 1001)):run()
    assert.equal(0, out[1])
    assert.equal(direct, why(plan, small))
    plan:set("null", 2, large):set("null", 2, nil)
    assert.equal(direct, why(plan, small))
  end)

  it("requires the size of the first buffer if nil was recorded", function()
    local plan = lze.graph "g":task("null", mod.is_null, 1, out, nil)
      :compile()
    plan:set("null", 2, small):set("null", 2, large):set("null", 2, nil)
    plan:set("null", 2, small):run()
    assert.equal(0, out[1])
    assert.matches("at least 2 float expected", why(plan, small:view(1, 1)), 1,
      true)
  end)

  it("checks the size of transient buffers", function()
    local g = lze.graph "g"
    local plan = g:task("null", mod.is_null, 1, out, large):compile()
    assert.matches("at least 1000 float expected",
      why(plan, g:buffer("float", 999)), 1, true)
    plan:set("null", 2, g:buffer("float", 1000)):run()
    assert.equal(0, out[1])
    assert.matches("at least 1000 float expected", why(plan, small), 1, true)
  end)
end)
