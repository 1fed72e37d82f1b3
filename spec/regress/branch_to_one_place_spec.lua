-- branch_to_one_place_spec.lua - a test in a Lua kernel that decides nothing.
-- llvm-spirv 18 aborts if both targets of a branch are the same.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("a test whose two branches are the same", function()
  local k = lze.kernel(function(i, x)
    if x[i] > 2 then end -- luacheck: ignore 542
    x[i] = x[i] + 1
  end)

  it("compiles without a conditional branch", function()
    local text = lze.spirv.disassemble(k:spirv("int *x"))
    local ways = 0
    for yes, no in text:gmatch "OpBranchConditional %S+ (%S+) (%S+)" do
      assert.not_equal(yes, no)
      ways = ways + 1
    end
    assert.equal(0, ways)
  end)

  it("lets the code after it run", function()
    local x = lze.buffer("int", {1, 2, 3, 4})
    k(#x, x)
    assert.same({2, 3, 4, 5}, x:read())
  end)
end)
