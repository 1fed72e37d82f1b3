-- plan_given_in_part_spec.lua - of a run on several queues the driver takes
-- some lists and refuses the next: those wait for what never comes.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Make the n-th list that is given to a queue be refused, in a run whose end
-- `wait` waits for; %s is what else the graph has.
local script = [[
  local lze = require "lze"
  local function faults(rules)
    local file <close> = assert(io.open(os.getenv "ZE_FAULT_CONTROL", "w"))
    file:write(rules)
  end
  local m = lze.load "kernels/spec.spv"
  local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
  local g = lze.graph "wide"
  for i = 1, 4 do
    g:task("x" .. i, m.add, 16, x:view(16 * i - 15, 16 * i), i)
  end
  g:task("all", m.square, 64, x, y)
  %s
  local plan = g:compile {queues = 4}
  plan:run()
  assert(y[64] == 16)
  faults "fail zeCommandQueueExecuteCommandLists %d 0x7ffffffe"
  local ok, err = pcall(function() plan:start():wait(60) end)
  faults ""
  print(ok, err.object, err.call, err.code)
  print(select(2, pcall(plan.run, plan)))
  plan:close()
  plan, g = nil, nil
  x:close()
  collectgarbage()
  assert(lze.wait(60))
  print(lze.stats().pending, lze.buffer("int", 4):fill(3)[4])]]

describe("a run of which some lists are refused", function()
  for what, more in pairs {
    alone = "", ["with a callback"] = "g:call('call', function() end)"} do
    it("fails, and what it uses goes when the rest is over, " .. what,
    function()
      for n = 1, 4 do
        process.with_directory(function(dir)
          process.write(dir .. "/rules", "")
          local out = process.output(script:format(more, n), {seconds = 120,
            env = {ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
              ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
              ZE_FAULT_CONTROL = dir .. "/rules",
              ZE_FAULT_REPORT = dir .. "/report",
              ZE_ENABLE_VALIDATION_LAYER = false}})
          assert.equal("false\tgraph wide\tzeCommandQueueExecuteCommandLists" ..
            "\tERROR_UNKNOWN\n" ..
            "graph wide: a start or set has failed half way; compile it " ..
            "again\n" ..
            "0\t3\n", (out:gsub("stdin:%d+: ", "")))
          local file <close> = assert(io.open(dir .. "/report"))
          local report = file:read "a"
          assert.is_nil(report:match "[1-9]%d* early")
          assert.is_nil(report:match "[1-9]%d* live")
          assert.is_nil(report:match "[1-9]%d* unknown")
        end)
      end
    end)
  end
end)
