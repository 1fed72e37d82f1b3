-- buffer_of_array_spec.lua - lze.buffer and x:write treated an array as a table
-- of elements.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

it("a buffer can be made from an array or an expression", function()
  local x = lze.array("float", {{1, 2}, {3, 4}})
  assert.same({1, 2, 3, 4}, lze.buffer("float", x):read())
  assert.same({2, 4, 6, 8}, lze.buffer("float", x * 2):read())
end)

it("a buffer can be written from an array or an expression", function()
  local x = lze.array("float", {{1, 2}, {3, 4}})
  local b = lze.buffer("float", 6)
  b:write(x)
  b:write(x[1] * 10, 5)
  assert.same({1, 2, 3, 4, 10, 20}, b:read())
  local ok, message = pcall(b.write, b, x:t())
  assert.is_false(ok)
  assert.matches("buffer expected, got an array that is not contiguous",
    message)
  ok, message = pcall(b.write, b, x, 4)
  assert.is_false(ok)
  assert.matches("4 elements from position 4 on do not fit a buffer of 6",
    message)
  assert.same({1, 2, 3, 4, 10, 20}, b:read())
end)
