-- chosen_buffer_spec.lua - if a Lua kernel chose between buffers or functions,
-- the error said that "a buffer" and "a buffer" are different types.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("a choice between buffers", function()
  local held = lze.buffer("float", 2)
  local function add(a, b) return a + b end
  local max = math.max

  local function findings(f)
    local ok, err = pcall(lze.kernel(f, {name = "k"}), 2,
                          lze.buffer("float", 2), lze.buffer("float", 2))
    assert.is_false(ok)
    return (err.log:gsub("[^\n]-:%d+: kernel k: ", ""):gsub("%d+", "N"))
  end

  it("is refused with both names and advice", function()
    local choice = " from line N; kernels cannot choose between such, only " ..
                   "between numbers"
    assert.equal("from is a buffer (y) from line N and a buffer (x)" .. choice,
      findings(function(i, x, y)
        local from
        if i > 1 then from = x else from = y end
        y[i] = from[i]
      end))
    assert.equal("from is a buffer (local array) from line N and a buffer " ..
      "(held)" .. choice,
      findings(function(i, _, y)
        local from = lze.work.local_array("float", 2)
        if i > 1 then from = held end
        y[i] = from[i]
      end))
    assert.equal("f is a function (add) from line N and a function (max)" ..
      choice,
      findings(function(i, _, y)
        local f = add
        if i > 1 then f = max end
        y[i] = f(i, 2)
      end))
    assert.equal("v is an integer from line N and a buffer (x) from line N; " ..
      "give it one type on all ways to this line",
      findings(function(i, x, y)
        local v = 1
        if i > 1 then v = x end
        y[i] = v
      end))
  end)
end)
