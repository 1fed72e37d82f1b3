-- graph_calls_spec.lua - a run costs as many driver calls whatever it does.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- A driver that takes no closed lists in an immediate one.
local old = "api 1 8;fail zeDriverGetExtensionFunctionAddress 0 0x78000003"

-- How often which entry point was called by a process that ran a plan of so
-- many tasks so often, with a driver under such rules.
local function calls(tasks, runs, rules)
  local list = {}
  process.with_directory(function(dir)
    process.output(([[
      local lze = require "lze"
      local m, x = lze.load "kernels/spec.spv", lze.buffer("int", 64)
      local g = lze.graph()
      for i = 1, %d do g:task("t" .. i, m.add, 64, x, 1) end
      local plan <close> = g:compile()
      for _ = 1, %d do plan:run() end
      assert(x[64] == %d)
    ]]):format(tasks, runs, tasks * runs), {env = {
      ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
      ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
      ZE_FAULT = rules,
      ZE_FAULT_REPORT = dir .. "/report",
      ZE_ENABLE_VALIDATION_LAYER = false,
    }, seconds = 300})
    for line in io.lines(dir .. "/report") do
      local name, n = line:match "^(ze%w+): (%d+) calls"
      if name then list[name] = tonumber(n) end
    end
  end)
  return list
end

describe("the driver calls of a run", function()
  -- What waits asks as often as the device takes time.
  local waiting = {zeEventHostSynchronize = true, zeEventQueryStatus = true}

  -- The sum of a run, and how many give lists to a queue and to a list.
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
