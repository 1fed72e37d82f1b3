-- plan_used_while_changed_spec.lua - a finalizer ran or changed a plan while it
-- was being recorded.  Afterwards each run did its tasks twice, or a wait for a
-- run never ended.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

it("a plan that is being changed cannot be used by a finalizer", function()
  local out = process.output([[
    local lze = require "lze"
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", 16)
    local g = lze.graph "g"
    for i = 1, 100 do g:task("t" .. i, mod.add, 16, x, 1) end
    local plan = g:compile()
    -- What a finalizer does in the n-th collection from now on, once.
    local inside, n
    local mt = {}
    function mt.__gc()
      if inside then n = n - 1 end
      if inside and n == 0 then
        local f = inside
        inside = nil
        f()
      end
      setmetatable({}, mt)
    end
    setmetatable({}, mt)
    require "spec.support.collector" ("incremental", 10, 1000)
    local second = 1
    local uses = {
      run = function() plan:run() end,
      start = function() plan:start():wait() end,
      set = function()
        plan:set("t2", 2, 3 - second)
        second = 3 - second
      end,
      current = function() plan:current(x) end,
      report = function() plan:report() end,
      dot = function() plan:dot() end,
    }
    local refused = {}
    for name, use in pairs(uses) do
      for round = 1, 60 do
        n = round % 8 + 1
        inside = function()
          local ok, err = pcall(use)
          if not ok then refused[name] = err end
        end
        plan:set("t1", 2, round % 2 + 1)
        plan:run()
        inside = nil
        x:fill(0)
        plan:run()
        assert(x[1] == 98 + round % 2 + 1 + second, x[1])
        assert(tostring(plan))
      end
    end
    for _, err in pairs(refused) do
      assert(err:find("graph g: a finalizer or hook cannot use " ..
        "it while it is changed$"), err)
    end
    print(lze.wait())]], {seconds = 120})
  assert.equal("true\n", out)
end)

it("a plan can only be closed while memory is allocated for it",
  function()
    local out = process.output([[
      local lze = require "lze"
      local x, y = lze.buffer("int", 4096):fill(5), lze.buffer("int", 4096)
      lze.gc {soft_limit_bytes = 1, growth = 1}
      for _, what in ipairs {"run", "start", "set", "report", "close"} do
        local g = lze.graph "g"
        local s, t = g:buffer("int", 4096), g:buffer("int", 8192)
        local plan = g:copy("s", s, x, 1, 16):copy("y", y, s, 1, 16):compile()
        plan:run()
        local refused
        setmetatable({}, {__gc = function()
          local arguments = what == "set" and {"s", 2, x} or {}
          local ok, err = pcall(plan[what], plan, table.unpack(arguments))
          refused = not ok and err or "nothing"
        end})
        local ok, err = pcall(function()
          plan:set("y", 2, t):set("s", 1, t)
        end)
        if what == "close" then
          assert(refused == "nothing" and not ok)
          assert(err:find "stdin:%d+: the plan is closed$", err)
          assert(tostring(plan) == "plan (closed)")
        else
          assert(ok, err)
          assert(refused:find("graph g: a finalizer or hook cannot use " ..
            "it while it is changed$"), what .. ": " .. refused)
          y:fill(0)
          plan:run()
          assert(y[16] == 5 and y[17] == 0)
        end
      end
      print(lze.wait())]])
    assert.equal("true\n", out)
  end)
