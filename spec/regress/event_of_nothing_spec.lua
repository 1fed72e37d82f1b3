-- event_of_nothing_spec.lua - the event of an empty launch did not own its
-- command: after a wait, the next launch reused it.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("the event of an empty range", function()
  it("keeps its own command", function()
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("uint", 4)
    for _ = 1, 3 do
      local empty = mod.add:launch(0, x, 1)
      assert.is_true(empty:wait())
      local ev = mod.spin:launch(1, x, 100000000)
      assert.equal("kernel add", empty.command)
      assert.equal("kernel spin", ev.command)
      assert.is_true(empty:done())
      assert.is_false(ev:done())
      empty:close()
      assert.equal("kernel spin", ev.command)
      assert.is_true(ev:wait(60))
      assert.equal("kernel spin", ev.command)
    end
  end)

  it("keeps its command for empty fills and copies on a queue", function()
    local q = lze.queue()
    local x = lze.buffer("int", 0)
    for _, ev in ipairs {q:fill(x, 1), q:copy(x, x)} do
      local name = ev.command
      assert.is_true(ev:wait())
      local other = q:barrier()
      assert.equal(name, ev.command)
      assert.equal("barrier", other.command)
      assert.is_true(ev:done())
    end
  end)
end)
