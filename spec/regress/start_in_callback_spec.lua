-- start_in_callback_spec.lua - if a callback tried in vain to start its plan,
-- the inputs of the next run overwrote the results of the current run.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

it("a callback that cannot start its plan changes nothing", function()
  local mod, x = lze.load "kernels/spec.spv", lze.buffer("int", 4)
  local plan, errors = nil, {}
  plan = lze.graph "g":input(x, "every", {1, 1, 1, 1})
    :task("t", mod.add, 4, x, 10):call("c", function()
      for _, f in ipairs {plan.run, plan.start} do
        local ok, err = pcall(f, plan)
        errors[#errors + 1] = not ok and err
      end
    end):task("u", mod.add, 4, x, 100):compile()
  plan:run()
  assert.same({111, 111, 111, 111}, x:read())
  assert.equal(2, #errors)
  for _, err in ipairs(errors) do
    assert.equal("graph g: a callback of the plan cannot start it", err)
  end
end)
