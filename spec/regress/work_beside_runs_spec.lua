-- work_beside_runs_spec.lua - runs of plans and other work wait for each other
-- if they access the same bytes.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("a run of a plan", function()
  local slow -- writes n after a long loop

  setup(function()
    slow = lze.compile([[
      kernel void slow(global int *x, int n) {
        volatile int wasted = 0;
        for (int k = 0; k < 4000000; k++) wasted = wasted + k;
        x[get_global_id(0)] = n;
      }]]).slow
  end)

  it("that starts immediately waits for other work on its buffers", function()
    local x, y = lze.buffer("int", 16), lze.buffer("int", 16)
    local plan = lze.graph():copy("y", y, x):compile()
    for i = 1, 3 do
      plan:run()
      slow(16, x, i)
      plan:run()
      assert.equal(i, y[16])
    end
  end)

  it("is waited for if it writes to a swapped buffer", function()
    local x = lze.buffer("int", 64)
    local a, b = x:view(1, 16), x:view(49, 64)
    local plan = lze.graph():task("slow", slow, 16, a, 42):swap(a, b):compile()
    plan:run()
    assert.equal(42, x[16])
    plan:start()
    assert.equal(42, b:read()[16])
  end)
end)
