-- changed_by_finalizer_spec.lua - a finalizer changed a graph during an
-- addition to it, or the table that lze.wrap was reading: outputs were lost,
-- names were duplicated, batches were wrong, and lze.wrap crashed.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- `meanwhile(n, act, f)` calls f, and act in the n-th collection during f.
local meanwhile = [[
  local lze = require "lze"
  local mod = lze.load "kernels/spec.spv"
  local armed, act, left
  local mt = {__gc = function()
    if not armed then return end
    left = left - 1
    if left <= 0 then
      armed = false
      act()
    end
  end}
  local function meanwhile(n, f, ...)
    act = f
    for _ = 1, 300 do setmetatable({}, mt) end
    require "spec.support.collector" ("incremental", 10, 1000, 1)
    armed, left = true, n
    local results = table.pack(pcall(...))
    armed = false
    return table.unpack(results, 1, results.n)
  end
]]

describe("a finalizer that changes", function()
  it("a graph's promises does not lose any", function()
    assert.equal("true\n", process.output(meanwhile .. [[
      for n = 1, 40 do
        local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
        local one, other, g = {}, {}, lze.graph "g"
        g:task("x", mod.add, 4, x, 1):task("y", mod.add, 4, y, 1)
        local output, ran = g.output, false
        meanwhile(n % 4, function()
          ran = true
          output(g, y, "every", other)
        end, output, g, x, "every", one)
        g:compile():run()
        assert(one[1] == 1 and (other[1] == 1 or not ran))
      end
      print(lze.wait())]]))
  end)

  it("a buffer during a write does no harm", function()
    assert.equal("true\n", process.output(meanwhile .. [[
      local A = lze.array
      local function set(x) x[1] = 3 end
      local close = lze.buffer("int", 1).close
      for n = 1, 60 do
        local x = lze.buffer("int", 4)
        -- Its storage is asked for readers, of which there are none any more.
        local _ = (A("int", x) + 1)[1]
        lze.wait()
        meanwhile(n // 2, function() close(x) end, n % 2 == 0 and set or close,
          x)
      end
      print(lze.wait())]]))
  end)

  it("a graph's tasks does not create duplicate names", function()
    assert.equal("true\n", process.output(meanwhile .. [[
      for n = 1, 60 do
        local x, y, g = lze.buffer("int", 4), lze.buffer("int", 4), lze.graph()
        local task, ran = g.task, false
        local ok, err = meanwhile(n, function()
          ran = pcall(task, g, "t", mod.add, 4, x, 1)
        end, task, g, "t", mod.add, 4, y, 1)
        assert(ok ~= ran, err)
        assert(ok or err:find "task t: there is one of that name already$")
        g:compile():run()
        assert(x[1] + y[1] == 1)
      end
      print(lze.wait())]]))
  end)

  it("a graph during g:compile changes the plan fully or not at all",
    function()
      assert.equal("true\n", process.output(meanwhile .. [[
        for n = 1, 48, 3 do
          local x, y = lze.buffer("int", 4096), lze.buffer("int", 4096)
          local g = lze.graph "g":task("x", mod.add, 4096, x, 1)
          local ok, plan = meanwhile(n, function()
            g:task("late", mod.add, 4096, y, 1)
          end, g.compile, g, {batch_bytes = 8192})
          assert(ok, plan)
          plan:run()
          assert(x[1] == 1 and x[4096] == 1)
          assert(y[1] == y[4096] and y[2048] == y[1])
        end
        print(lze.wait())]]))
    end)

  it("the options of lze.wrap causes at most an error", function()
    assert.equal("true\n", process.output(meanwhile .. [[
      local x = lze.buffer("int", 4)
      for n = 1, 60 do
        local t = {buffer = x.handle, type = "int", count = 4,
                   device = lze.device()}
        meanwhile(n % 12, function() t.count, t[true] = nil, 4 end,
          lze.wrap, t)
      end
      print(lze.wait())]]))
  end)
end)
