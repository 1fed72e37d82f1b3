-- math_of_constant_nan_spec.lua - a kernel may compute a function of a constant
-- NaN, or a remainder that is NaN.
-- SPDX-License-Identifier: MIT
--
-- PoCL's functions have undefined behaviour for a NaN.  If LLVM knew that the
-- argument is a NaN, it removed the function and other parts of the kernel.

local lze = require "lze"

-- Each is computed from constants; n is a NaN.
local expressions = {"n // 1", "-(n // 1)", "math.exp(n)", "n % 2.5",
  "math.fmod(n, 2.5)", "math.fmod(2.5, n)", "math.fmod(2.5, 0.0)",
  "math.fmod(1 / 0, 2.5)", "math.fmod(1e30, 1 / 0)", "math.fmod(-0.0, 3.0)",
  "math.fmod(-2.5, 1e-300)", "2.5 % 0.0", "1e30 % (1 / 0)",
  "-1e30 % (1 / 0)", "(1 / 0) % n", "math.sin(n)", "math.cos(n)",
  "math.tan(n)", "math.sqrt(n)", "math.log(n)", "math.asin(n)",
  "math.acos(n)", "math.atan(n)", "math.atan(n, 1.0)", "n ^ 0.5",
  "second(math.modf(n))", "second(math.modf(-1 / 0))",
  -- LLVM peels the loop, so that the operands become constants.
  "repeated(n, 2.5)", "repeated(2.5, 0.0)", "repeated(1e30, 1 / 0)"}

local text = {[[
local function second(_, b) return b end
local function repeated(x, y)
  local r = math.fmod(3.0, y)
  for _ = 3, 8 do r = math.fmod(r + x, y) end
  return r
end
return function(i, p)
  local n = 0 / 0
  p[i] = 1.0
]]}
for k, e in ipairs(expressions) do
  text[#text + 1] = ("  p[i + %d] = %s\n"):format(k * 2, e)
end
text[#text + 1] = "end"
local f = assert(load(table.concat(text), "=nan"))()

local function same(x, y)
  return x == y and 1 / x == 1 / y or x == y and x ~= 0 or x ~= x and y ~= y
end

describe("a function of a constant NaN", function()
  for _, options in ipairs {{}, {fast = true}} do
    it("is the same as in Lua" .. (options.fast and ", with `fast`" or ""),
      function()
        local p, want = lze.buffer("double", 2 * #expressions + 2), {}
        p:fill(-77)
        lze.kernel(f, options)(1, p)
        f(1, want)
        assert.equal(1.0, p[1])
        for k, e in ipairs(expressions) do
          local at = 1 + 2 * k
          assert(same(want[at], p[at]),
            ("%s is %s, not %s"):format(e, p[at], want[at]))
        end
      end)
  end
end)
