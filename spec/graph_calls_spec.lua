-- graph_calls_spec.lua - a run costs as many driver calls whatever it does.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- How often which entry point was called by a process that ran a plan of so
-- many tasks so often, and the sum.
local function calls(tasks, runs)
  local list, sum = {}, 0
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
      ZE_FAULT_REPORT = dir .. "/report",
      ZE_ENABLE_VALIDATION_LAYER = false,
    }, seconds = 300})
    for line in io.lines(dir .. "/report") do
      local name, n = line:match "^(ze%w+): (%d+) calls"
      if name then list[name], sum = tonumber(n), sum + n end
    end
  end)
  return list, sum
end

describe("the driver calls of a run", function()
  -- What waits asks as often as the device takes time.
  local waiting = {zeEventHostSynchronize = true, zeEventQueryStatus = true}

  local function of_a_run(tasks)
    local few, many = calls(tasks, 1), calls(tasks, 11)
    local sum = 0
    for name, n in pairs(many) do
      if not waiting[name] then sum = sum + n - (few[name] or 0) end
    end
    return sum / 10
  end

  it("are as few for 1000 tasks as for one", function()
    local one = of_a_run(1)
    assert.is_true(one > 0 and one <= 6, one)
    assert.equal(one, of_a_run(10))
    assert.equal(one, of_a_run(1000))
  end)
end)
