-- run_while_fed_spec.lua - a run of a plan that was started while the inputs of
-- another run were being copied overwrote them.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

it("a plan cannot be run while its inputs are copied", function()
  local mod = lze.load "kernels/spec.spv"
  local a, c = lze.buffer("int", 4), lze.buffer("int", 4)
  local plan, inside, seen
  local source = setmetatable({0, 0, 0, 0}, {__len = function()
    for _, f in ipairs(inside and {plan.run, plan.start} or {}) do
      local ok, err = pcall(f, plan)
      seen[#seen + 1] = not ok and err
    end
    return 4
  end})
  plan = lze.graph "g":input(a, "every", {1, 1, 1, 1}):input(c, "every", source)
    :task("add", mod.add, 4, a, 1000):compile()
  plan:run()
  assert.equal(1001, a[1])
  inside, seen = true, {}
  plan:run()
  assert.equal(1001, a[1])
  assert.is_true(#seen >= 2)
  for _, err in ipairs(seen) do
    assert.equal("graph g: it cannot be run while it is given its inputs", err)
  end
  source[1] = "junk"
  assert.is_false(pcall(plan.run, plan))
  source[1], inside = 5, false
  plan:run()
  assert.same({1001, 5}, {a[1], c[1]})
end)
