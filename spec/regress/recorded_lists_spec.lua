-- recorded_lists_spec.lua - the barriers and resets that the lists of a plan
-- need, although results do not show it if a driver runs a list in order, and
-- when lists are recorded again.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Returns how often compiling a graph makes a driver call.
local function calls(call, graph, options)
  local out
  process.with_directory(function(dir)
    process.write(dir .. "/rules", "")
    out = process.output(([[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      local x, y = lze.buffer("int", 70000), lze.buffer("int", 70000)
      local g = lze.graph "g"
      %s
      local n, ok, e = 0
      repeat
        n = n + 1
        local rules <close> = assert(io.open(os.getenv "ZE_FAULT_CONTROL", "w"))
        rules:write(("fail %s %%d 1879048195"):format(n))
        rules:flush()
        ok, e = pcall(g.compile, g, {%s})
        assert(ok or e.call == "%s")
      until ok
      print(n - 1)]]):format(graph, call, options, call),
      {env = {ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
        ZE_FAULT_CONTROL = dir .. "/rules",
        ZE_ENABLE_VALIDATION_LAYER = false}})
  end)
  return tonumber(out)
end

describe("a recorded list", function()
  it("has barriers between dependent steps and after resets", function()
    local call = "zeCommandListAppendBarrier"
    local graph = 'g:task("a", mod.add, 64, x, 1):task("b", mod.add, 64, %s, 1)'
    local n = calls(call, graph:format "y", "queues = 1")
    assert.equal(n + 1, calls(call, graph:format "x", "queues = 1"))
    assert.equal(n + 1,
      calls(call, graph:format "y", "queues = 1, profile = true"))
  end)

  it("resets both events of a profiled task that is split in parts", function()
    local call = "zeCommandListAppendEventReset"
    local graph = 'g:task("a", mod.add, {%s}, x, 1)'
    local n = calls(call, graph:format "70000, group = 70", "profile = true")
    assert.equal(n + 1,
      calls(call, graph:format "70000, group = 48", "profile = true"))
  end)

  it("is recorded again when transient buffers have moved", function()
    local count = 1 << 16
    local x, y = lze.buffer("int", count):fill(7), lze.buffer("int", 16)
    local g = lze.graph "g"
    local s, t, large = g:buffer("int", count), g:buffer("int", 16),
      g:buffer("int", 4 * count)
    g:copy("in", s, x)
    for i = 1, 80 do g:fill("f" .. i, t, i) end
    g:fill("t", t, 3):copy("out", y, s, 1, 16)
    local plan = g:compile {queues = 1}
    plan:run()
    assert.equal(7, y[16])
    assert.equal(2, plan:report().recorded)
    y:fill(0)
    plan:set("t", 1, large):run()
    assert.equal(7, y[16])
    assert.equal(2, plan:report().recorded)
  end)
end)
