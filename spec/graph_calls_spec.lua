-- graph_calls_spec.lua - the number of driver calls of a run is constant.
-- SPDX-License-Identifier: MIT

local driver_calls = require "spec.support.driver_calls"

-- A driver that cannot append closed lists to an immediate list.
local old = "api 1 8;fail zeDriverGetExtensionFunctionAddress 0 0x78000003"

-- Returns the calls of a process that ran a plan of `tasks` tasks `runs` times.
local function calls(tasks, runs, rules)
  return (driver_calls(([[
    local lze = require "lze"
    local m, x = lze.load "kernels/spec.spv", lze.buffer("int", 64)
    local g = lze.graph()
    for i = 1, %d do g:task("t" .. i, m.add, 64, x, 1) end
    local plan <close> = g:compile()
    for _ = 1, %d do plan:run() end
    assert(x[64] == %d)]]):format(tasks, runs, tasks * runs), rules))
end

describe("the driver calls of a run", function()
  -- The number of these calls depends on how long the device takes.
  local waiting = {zeEventHostSynchronize = true, zeEventQueryStatus = true}

  -- Returns the calls of a run, and how many of them give lists to a queue and
  -- to a list.
  local function of_a_run(tasks, rules)
    local few, many = calls(tasks, 1, rules), calls(tasks, 11, rules)
    local sum = 0
    local function more(name)
      return ((many[name] or 0) - (few[name] or 0)) / 10
    end
    for name in pairs(many) do
      if not waiting[name] then sum = sum + more(name) end
    end
    return sum, more "zeCommandQueueExecuteCommandLists",
      more "zeCommandListImmediateAppendCommandListsExp"
  end

  for what, rules in pairs {["in the queue's own list"] = "",
    ["in another queue"] = old} do
    it("are as few for 1000 tasks as for one, " .. what, function()
      local one, executed, appended = of_a_run(1, rules)
      assert.is_true(one > 0 and one <= (rules == "" and 2 or 6), one)
      assert.equal(rules == "" and 0 or 1, executed)
      assert.equal(rules == "" and 1 or 0, appended)
      assert.equal(one, (of_a_run(10, rules)))
      assert.equal(one, (of_a_run(1000, rules)))
    end)
  end
end)
