-- swaps_of_several_graphs_spec.lua - a buffer with one swap in a graph and
-- another in a nested graph sometimes took part in either; only the swaps of
-- one graph were checked together.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local mod = lze.load "kernels/spec.spv"

describe("swaps of a graph and of its nested graphs", function()
  local x, a, b, c

  before_each(function()
    x = lze.buffer("int", 8)
    a, b, c = x:view(1, 4), x:view(5, 8), lze.buffer("int", 4)
  end)

  local function compile(one, other)
    local inner = lze.graph "inner":task("i", mod.add, 1, c, 1)
      :swap(table.unpack(one))
    local g = lze.graph "outer":task("o", mod.add, 1, b:view(1, 1), 1)
      :task("inner", inner)
    if other then g:swap(table.unpack(other)) end
    return g:task("again", inner):compile()
  end

  it("are refused if a buffer is in two of them", function()
    for _, wrong in ipairs {
      {{b, c}, {a, b}}, {{c, b}, {b, a}}, {{b, c}, {a, c}},
      {{a:view(4, 4), b:view(4, 4)}, {a, b}}, {{a, c}, {x:view(2, 5), c}},
      {{a, b}, {a:view(4, 4), b:view(4, 4)}},
      {{a, b}, {x:view(1, 1), x:view(2, 2)}},
    } do
      assert.equal("graph outer: swap: a buffer changes places with two " ..
        "others", expect.misuse(function()
          compile(wrong[1], wrong[2])
        end))
    end
  end)

  it("may be the same", function()
    local plan = compile({c, b}, {b, c})
    for i = 1, 4 do
      plan:run()
      local first, second = plan:current(b), plan:current(c)
      assert.is_true(first ~= second)
      assert.equal(i % 2 == 0 and b or c, first)
      assert.equal(3 * i, first[1] + second[1])
    end
    plan = compile {a, b}
    plan:run()
    assert.equal(b, plan:current(a))
    assert.equal(a, plan:current(b))
  end)
end)
