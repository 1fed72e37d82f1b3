-- plan_given_in_part_spec.lua - in a run on several queues, the driver accepts
-- some lists and refuses the next: the accepted lists would wait forever.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Runs four lanes on a driver that follows a rule.  The first %s extends the
-- graph, the second is the rule, and the last starts the run.
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
  faults "%s"
  local ok, err = pcall(function() %s end)
  faults ""
  print(ok, err.object, err.call, err.code)
  print(select(2, pcall(plan.run, plan)))
  plan:close()
  plan, g = nil, nil
  x:close()
  collectgarbage()
  assert(lze.wait(60))
  print(lze.stats().pending, lze.buffer("int", 4):fill(3)[4])]]

local execute = "zeCommandQueueExecuteCommandLists"
local append = "zeCommandListImmediateAppendCommandListsExp"

-- The calls that submit the lanes, in order, if the driver accepts closed lists
-- in the list of the plan's queue, and if it does not.
local ways = {
  ["in the queue's own list"] = {rules = "",
    calls = {{execute, 1}, {execute, 2}, {execute, 3}, {append, 1}}},
  ["in another queue"] = {
    rules = "api 1 8;fail zeDriverGetExtensionFunctionAddress 0 0x78000003",
    calls = {{execute, 1}, {execute, 2}, {execute, 3}, {execute, 4}}}}

-- Returns the output of the process without positions, and the driver's report.
local function run(more, rules, rule, how)
  local said, report
  process.with_directory(function(dir)
    process.write(dir .. "/rules", rules)
    said = process.output(script:format(more, rule, how), {seconds = 120,
      env = {ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
        ZE_FAULT_CONTROL = dir .. "/rules",
        ZE_FAULT_REPORT = dir .. "/report",
        ZE_ENABLE_VALIDATION_LAYER = false,
        ASAN_OPTIONS = rule:find "^lost" and "detect_leaks=0" or nil}})
    local file <close> = assert(io.open(dir .. "/report"))
    report = file:read "a"
  end)
  assert.is_nil(report:match "[1-9]%d* early")
  assert.is_nil(report:match "[1-9]%d* unknown")
  return said:gsub("stdin:%d+: ", ""), report
end

local function said(call, code, pending)
  return ("false\tgraph wide\t%s\t%s\ngraph wide: a start or set has " ..
    "failed half way; compile it again\n%d\t3\n"):format(call, code, pending)
end

describe("a run with some refused lists", function()
  for what, more in pairs {
    alone = "", ["with a callback"] = "g:call('call', function() end)"} do
    for where, way in pairs(ways) do
      it("fails, and frees what it uses when the rest has ended, " .. what ..
        ", " .. where, function()
        local function fails(call, n, code, name)
          for _, how in ipairs {"plan:start():wait(60)", "plan:run()"} do
            local out, report = run(more, way.rules,
              ("fail %s %d %s"):format(call, n, code), how)
            assert.equal(said(call, name, 0), out)
            assert.is_nil(report:match "[1-9]%d* live")
          end
        end
        for _, call in ipairs(way.calls) do
          fails(call[1], call[2], "0x7ffffffe", "ERROR_UNKNOWN")
        end
        local last = way.calls[#way.calls]
        fails(last[1], last[2], "0x70000003", "ERROR_OUT_OF_DEVICE_MEMORY")
      end)

      it("leaks what a lost device may be using, " .. what .. ", " .. where,
      function()
        local last = way.calls[#way.calls]
        for _, how in ipairs {"plan:start():wait(60)", "plan:run()"} do
          local out, report = run(more, way.rules,
            ("lost %s %d"):format(last[1], last[2]), how)
          assert.equal(said(last[1], "ERROR_DEVICE_LOST", 2), out)
          -- All except the list of the default queue.
          local made, live = report:match "list: (%d+) made.- (%d+) live"
          assert.equal(made - 1, tonumber(live))
        end
      end)
    end
  end
end)
