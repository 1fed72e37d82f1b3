-- set_to_transient_spec.lua - transient buffers that plan:set had put into a
-- plan stayed in it.  A buffer that was refused for lack of memory left the
-- plan unusable, and each buffer cost memory and time forever.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local mod = lze.load "kernels/spec.spv"

describe("plan:set to a transient buffer", function()
  it("leaves the plan unchanged if it is refused", function()
    local g, out = lze.graph "g", lze.buffer("int", 1000)
    local a = g:buffer("int", 1000)
    local plan = g:fill("zero", a, 0):task("t", mod.add, 4, a, 1)
      :copy("c", out, a):compile {memory_bytes = 450000}
    plan:run()
    for _ = 1, 2 do
      assert.matches("^graph g: memory_bytes: it needs %d+ bytes",
        expect.misuse(function()
          plan:set("t", 1, g:buffer("int", 120000))
        end))
      out:fill(9)
      plan:run()
      assert.same({1, 1, 0}, {out[1], out[4], out[5]})
    end
  end)

  it("drops the earlier transient buffers", function()
    local g, out = lze.graph "g", lze.buffer("int", 1000)
    local a = g:buffer("int", 1000)
    local plan = g:fill("f", a, 1):task("t", mod.add, 16, a, 1)
      :copy("c", out, a):compile()
    local before = plan:report()
    for _ = 1, 50 do
      local b = g:buffer("int", 1000)
      plan:set("f", 1, b):set("t", 1, b):set("c", 2, b)
    end
    assert.equal(before.unshared_bytes, plan:report().unshared_bytes)
    plan:set("t", 1, a):set("f", 1, a):set("c", 2, a)
    assert.equal(before.unshared_bytes, plan:report().unshared_bytes)
    plan:run()
    assert.same({2, 1}, {out[16], out[17]})
  end)
end)
