-- closed_under_array_spec.lua - if the buffer of an array was closed, errors
-- named a line in lze's Lua code, not in the script.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array

describe("an array whose buffer is closed", function()
  local function closed(shape)
    local a = A.zeros(shape)
    a.buffer:close()
    return a
  end

  it("raises an error that names the script's line", function()
    local x, y = closed {2}, closed {2, 2}
    for name, f in pairs {
      read = function() x:read() end,
      table = function() y:table() end,
      element = function() return x[1] end,
      index = function() return y[{1, 2}] end,
      row = function() return y[1] end,
      assignment = function() x[1] = 1 end,
      set = function() x:set(1) end,
      fill = function() x:fill(1) end,
      source = function() A.zeros({2}):copy(x) end,
      operand = function() return (x + 1):read() end,
      reduction = function() x:sum() end,
      sort = function() x:sort() end,
      product = function() y:mm(y) end,
      map = function() A.map(function(v) return v end, x) end,
      device = function() return x.device end
    } do
      local ok, message = pcall(f)
      assert.is_false(ok)
      local line = debug.getinfo(f, "S").linedefined
      local what = message:match("^spec/regress/closed_under_array_spec.lua:" ..
        line .. ": (.*)$")
      assert.matches("the %a+ is closed$", what, name)
    end
    assert.equal("array: float {2} (closed)", tostring(x))
  end)
end)
