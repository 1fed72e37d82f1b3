-- visits_that_overlap_spec.lua - two arguments of a task on another device
-- share memory, and the task writes one of them.  They were copied to two
-- places there, and the one copied back last undid the write to the other.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("arguments that overlap, for a task on another device", function()
  it("are refused if one of them is written", function()
    local said = process.output([[
      local lze = require "lze"
      local m = lze.compile(
        "kernel void sum(global const int *a, global const int *b, " ..
        "global int *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }")
      local x = lze.buffer("int", {1, 2, 3, 4}, {usage = "device"})
      local y = lze.buffer("int", 2, {usage = "device"})
      local there = {2, device = lze.devices()[2]}
      local function plan(...)
        return lze.graph "g":task("t", m.sum, there, ...):compile()
      end
      print((select(2, pcall(plan, x, y, x:view(3, 4)))))
      plan(x, x:view(3, 4), y):run()
      print(table.concat(y:read(), " "))
      plan(x:view(1, 2), x:view(1, 2), x:view(3, 4)):run()
      print(table.concat(x:read(), " "))]],
      {env = {ZOCL_ROOT_DEVICES = 2, ZOCL_PEER_ACCESS = 0}})
    assert.equal("graph g: task g.t: arguments 1 and 3 overlap, in memory " ..
      "of another device\n4 6\n1 2 2 4\n", (said:gsub("stdin:%d+: ", "")))
  end)
end)
