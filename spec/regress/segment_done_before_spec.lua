-- segment_done_before_spec.lua - a run with a callback mistook the end of its
-- first part for that of the next, and ended before its work did.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("a run with parts on the host", function()
  it("ends when its last part ends", function()
    assert.equal("right\n", process.output([[
      local lze = require "lze"
      local m, d = lze.load "kernels/spec.spv", lze.devices()
      for _, where in ipairs(d) do
        local x = lze.buffer("int", 8, {usage = "device", device = d[2]})
        local y = lze.buffer("int", 8, {usage = "device", device = d[1]})
        local plan = lze.graph()
          :task("a", m.add, {8, device = d[1]}, x, 6)
          :call("c", function() y:write {7} end)
          :task("b", m.add, {8, device = d[1]}, x, 8)
          :task("d", m.add, {8, device = d[1]}, y, 1)
          :compile {device = where}
        for i = 1, 5 do
          plan:run()
          assert(x:read()[8] == 14 * i, x:read()[8])
          assert(y:read()[1] == 8 and y:read()[8] == i)
        end
      end
      print "right"]], {env = {ZOCL_ROOT_DEVICES = "2",
                               ZOCL_PEER_ACCESS = "0",
                               ZOCL_DEVICE_MEMORY_PRIVATE = "1"}}))
  end)
end)
