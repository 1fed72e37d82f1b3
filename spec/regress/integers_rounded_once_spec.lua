-- integers_rounded_once_spec.lua - Lua integers above 2^53 were converted to
-- double before they were stored as float, half or bfloat16: they were rounded
-- twice.
local lze = require "lze"

describe("an integer above 2^53", function()
  -- Just above the midpoint of two floats, to which a double would round it.
  local cases = {
    {"float", 2 ^ 60 | 0, 2 ^ 36 | 0, 1, 2 ^ 60 + 2 ^ 37},
    {"float", 2 ^ 60 | 0, 2 ^ 36 | 0, 0, 2 ^ 60},
    {"float", 2 ^ 60 | 0, 3 * (2 ^ 36 | 0), -1, 2 ^ 60 + 2 ^ 37},
    {"bfloat16", 2 ^ 60 | 0, 2 ^ 52 | 0, 1, 2 ^ 60 + 2 ^ 53},
    {"bfloat16", 2 ^ 60 | 0, 2 ^ 52 | 0, 0, 2 ^ 60},
  }
  for _, case in ipairs(cases) do
    local type, base, middle, more, expected = table.unpack(case)
    it(("is rounded once: %s, %+d"):format(type, more), function()
      local n = base + middle + more
      local x <close> = lze.buffer(type, {n, -n})
      assert.same({expected, -expected}, x:read())
      x[1] = n
      assert.equal(expected, x[1])
      x:fill(-n)
      assert.equal(-expected, x[2])
    end)
  end

  it("is stored in a double as Lua converts it", function()
    local x <close> = lze.buffer("double", {math.maxinteger, math.mininteger})
    assert.same({2.0 ^ 63, -2.0 ^ 63}, x:read())
  end)
end)
