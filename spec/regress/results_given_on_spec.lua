-- results_given_on_spec.lua - when all results of a call were passed to another
-- call or returned, results beyond the function's registers were left out.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("all results of a call", function()
  local function three(a) return a, a + 1, a * 3 end
  local function seven(a) return a, 2, 3, 4, three(a) end
  local function add(a, b, c) return a + b * 10 + c * 100 end
  local function on(a) return three(a) end
  local function behind(a) return 5, on(a) end
  local max = math.max

  it("can be passed to another call or returned, as in Lua", function()
    for n, f in ipairs {
      function(i, y) y[i] = add(three(i)) end,
      function(i, y) y[i] = add(2, three(i)) end,
      function(i, y) y[i] = max(three(i)) + max(seven(i)) * 100 end,
      function(i, y)
        local a, b, c, d = on(i)
        y[i] = a + b * 10 + c * 100
        if d == nil then y[i] = -y[i] end
      end,
      function(i, y) local a, b, c, d = behind(i) y[i] = add(b, c, d) - a end,
      function(i, y)
        local a, b, c, d, e, f, g, h = seven(i)
        y[i] = add(a, b, c) + add(d, e, f) * 7 + (h or g) * 1000
      end
    } do
      local got, expected = lze.buffer("long", 5), lze.buffer("long", 5)
      lze.kernel(f)(5, got)
      for i = 1, 5 do f(i, expected) end
      assert.same(expected:read(), got:read(), "function " .. n)
    end
  end)
end)
