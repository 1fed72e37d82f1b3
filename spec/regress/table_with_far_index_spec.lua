-- table_with_far_index_spec.lua - a table's highest index is not a count.
-- SPDX-License-Identifier: MIT
--
-- The size of that many elements overflowed to 0, and the first element was
-- then written past the memory that they were packed into.

local expect = require "spec.support.expect"
local lze = require "lze"

describe("a table whose highest index is far away", function()
  it("is refused with the index of its first hole", function()
    local message = "(index 2: float expected, got nil)"
    for _, far in ipairs {4, 1 << 20, 1 << 62, math.maxinteger} do
      assert.equal("bad argument #2 to 'buffer' " .. message,
        expect.misuse(function() lze.buffer("float", {1, [far] = 2}) end))
      local x = lze.buffer("float", 8)
      assert.equal("bad argument #1 to 'write' " .. message,
        expect.misuse(function() x:write {1, [far] = 2} end))
      assert.same({0, 0}, x:read(1, 2))
    end
  end)

  it("is found wherever the table stores its elements", function()
    for n = 1, 40 do
      local t = {}
      for i = 1, 64 do t["key " .. i] = true end
      for i = 1, 64 do t["key " .. i] = nil end -- room outside the array
      for i = 1, n do t[i] = i end
      assert.equal(n, #lze.buffer("int", t))
      t[n + 3] = 1
      assert.matches(("(index %d: int expected"):format(n + 1),
        expect.misuse(function() lze.buffer("int", t) end), 1, true)
      t[n + 3] = nil
      t[0], t[-1], t.x = 1, 1, 1
      assert.equal(n, #lze.buffer("int", t))
    end
  end)

  it("lets an error of a debug hook through", function()
    local x = lze.buffer("float", 8)
    local write, t = x.write, {1, 2, 3, 4}
    debug.sethook(function()
      local caller = debug.getinfo(3, "f")
      if not caller or caller.func ~= write then return end
      debug.sethook()
      error("stop", 0)
    end, "c")
    local ok, err = pcall(write, x, t)
    debug.sethook()
    -- If the call is guarded, no hook runs during it.
    if ok then
      assert.same({1, 2, 3, 4}, x:read(1, 4))
    else
      assert.equal("stop", err)
      assert.same({0, 0, 0, 0}, x:read(1, 4))
    end
  end)
end)
