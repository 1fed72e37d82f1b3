-- return_hook_spec.lua - a debug hook for returns ran after a step or a token
-- was looked up, but before the result was used: a plan was recorded with the
-- arguments of the hook's launch, and memory was counted twice.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("a hook for returns", function()
  it("may use and close the objects a plan is recorded with", function()
    local out = process.output [[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      for _, what in ipairs {"launch", "close", "close the kernel"} do
        for n = 1, 24 do
          local x, y, add = lze.buffer("int", 4), lze.buffer("int", 4), mod.add
          local plan = lze.graph "g":task("t", add, 4, x, 1):compile():run()
          x:fill(0)
          plan:set("t", 2, 2):set("t", 2, 1)
          local count = 0
          debug.sethook(function()
            count = count + 1
            if count ~= n then return end
            debug.sethook()
            if what == "launch" then add(4, y, 7)
            elseif what == "close" then x:close()
            else add:close() end
          end, "r")
          local ok, err = pcall(plan.run, plan)
          debug.sethook()
          assert(ok or tostring(err):find "closed", err)
          if what == "launch" then
            y:fill(0)
            x:fill(0)
            plan:run()
            assert(x[1] == 1 and y[1] == 0, n)
          elseif what == "close the kernel" then
            mod = lze.load "kernels/spec.spv"
          end
        end
      end
      print(lze.wait())]]
    assert.equal("true\n", out)
  end)

  it("may raise an error during an import", function()
    local out = process.output [[
      local lze = require "lze"
      for n = 1, 12 do
        local x = lze.buffer("int", 1024):fill(42)
        local token = x:export()
        x = nil
        collectgarbage()
        local count, ok, y = 0, false, nil
        pcall(function()
          debug.sethook(function()
            count = count + 1
            if count == n then
              debug.sethook()
              error "interrupted"
            end
          end, "r")
          ok, y = pcall(lze.import, token)
          debug.sethook()
        end)
        debug.sethook()
        collectgarbage()
        if not ok then ok, y = pcall(lze.import, token) end
        if ok then assert(y[1] == 42 and y[1024] == 42) end
        y = nil
        collectgarbage()
        collectgarbage()
        assert(lze.stats().bytes == 0, n)
        assert(not pcall(lze.import, token))
      end
      print "true"]]
    assert.equal("true\n", out)
  end)
end)
