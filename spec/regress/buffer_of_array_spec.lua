-- buffer_of_array_spec.lua - lze.buffer took an array for a table of elements.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

it("a buffer is made of an array or an expression", function()
  local x = lze.array("float", {{1, 2}, {3, 4}})
  assert.same({1, 2, 3, 4}, lze.buffer("float", x):read())
  assert.same({2, 4, 6, 8}, lze.buffer("float", x * 2):read())
end)
