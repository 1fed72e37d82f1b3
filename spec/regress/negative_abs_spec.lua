-- negative_abs_spec.lua - LLVM 14 compiles -abs(n) in a loop as abs(n).
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local abs = math.abs

describe("math.abs of an integer in a loop", function()
  it("can be negated", function()
    local function f(i, x, b)
      local s = 1
      for n = 1, 3 do
        s = -abs(s)
        if n == b then s = 0 end
      end
      x[i] = s
      x[i + 1] = abs(b)
    end
    for _, b in ipairs {-100, 2, 3, 0, math.mininteger, math.maxinteger} do
      local x, expected = lze.buffer("long", 2), {}
      lze.kernel(f)(1, x, b)
      f(1, expected, b)
      assert.same(expected, x:read())
    end
  end)
end)
