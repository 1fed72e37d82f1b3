-- lua_kernel_endless_spec.lua - PoCL generated no code for a kernel with a
-- barrier and an endless loop, and jumped there, although the loop never began.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local w = lze.work

describe("a loop in a Lua kernel", function()
  local text = "a loop never ends: nothing leads out of it"
  local yes, no = true, false
  local function spin(n) while true do n = n + 1 end end

  it("is refused if it has no exit", function()
    for n, f in ipairs {
      function(i, x)
        w.barrier()
        if w.local_id() > 1000 then while true do x[i] = x[i] + 1 end end
        x[i] = i
      end,
      function(i, x)
        w.barrier()
        if w.local_id() > 1000 then repeat x[i] = i until no end
      end,
      function(i, x)
        if i > 1000 then ::again:: x[i] = 0 goto again end
      end,
      function(i, x) while yes do x[i] = i end end,
      function(i, x) if i > 1000 then x[i] = spin(i) or 0 end end,
      function(i, x)
        for k = 1, i do while true do x[k] = i if no then break end end end
      end
    } do
      local ok, err = pcall(lze.kernel(f), 8, lze.buffer("int", 8))
      assert.is_false(ok, "case " .. n)
      local _, count = err.log:gsub(text, "")
      assert.equal(1, count, err.log)
    end
  end)

  it("is compiled if it has an exit or is never reached", function()
    local x = lze.buffer("int", 8)
    lze.kernel(function(i, x)
      local n = 0
      while yes do
        n = n + 1
        if n > i then break end
      end
      w.barrier()
      repeat n = n + 1 until n > 10
      ::again::
      n = n + 1
      if n > 20 then x[i] = n return end
      goto again
    end)(8, x)
    assert.equal(21, x[8])
    lze.kernel(function(i, x) if no then while true do x[i] = 0 end end end)(8,
      x)
    assert.equal(21, x[8])
  end)
end)
