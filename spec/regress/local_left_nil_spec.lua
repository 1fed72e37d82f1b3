-- local_left_nil_spec.lua - a local that is nil on some paths.  A kernel treats
-- it as 0 there, and k:check reports it; it used to raise inside check.lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local function run(f)
  local x, y = lze.buffer("float", {1, 2, 3}), lze.buffer("float", 3)
  lze.kernel(f, {name = "k"})(3, x, y)
  return y:read()
end

local function some(v) if v > 2 then return v end end

describe("a local that may be nil", function()
  it("is a number if every path assigns one", function()
    for _, f in ipairs {
      function(i, x, y)
        local v
        if x[i] > 2 then v = 3 elseif x[i] > 1 then v = 2 else v = 1 end
        y[i] = v
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = x[i] goto done end
        v = 1
        ::done::
        y[i] = v
      end,
      function(i, x, y)
        local v
        repeat v = x[i] until v > 0
        y[i] = v
      end,
      function(i, x, y)
        local v
        y[i] = 1
        if x[i] <= 1 then return end
        v = x[i]
        y[i] = v
      end
    } do
      assert.same({1, 2, 3}, run(f))
    end
  end)

  it("is a number if the function tests it for nil", function()
    for _, f in ipairs {
      function(i, x, y)
        local v
        if x[i] > 1 then v = x[i] end
        y[i] = v or 1
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = x[i] end
        if v == nil then v = 1 end
        y[i] = v
      end,
      function(i, x, y)
        local v
        y[i] = 1
        if x[i] > 1 then v = x[i] end
        if v then y[i] = v end
      end,
      function(i, x, y)
        local best
        for k = 1, i do
          if best == nil or x[k] > best then best = x[k] end
        end
        y[i] = best
      end,
      function(i, x, y)
        local v = x[i + 1]
        if v then v = v - 1 else v = 3 end
        y[i] = v
      end,
      function(i, x, y) y[i] = some(x[i]) or i end
    } do
      assert.same({1, 2, 3}, run(f))
    end
  end)

  it("is a number if one would be assigned in Lua", function()
    for _, f in ipairs {
      function(i, x, y)
        local best
        for k = 1, i do
          if k == 1 or x[k] > best then best = x[k] end
        end
        y[i] = best
      end,
      function(i, x, y)
        local last
        for k = 1, 3 do last = x[k] end
        y[i] = last - 3 + i
      end
    } do
      assert.same({1, 2, 3}, run(f))
    end
  end)

  it("is reported by k:check if it is nil anyway", function()
    local count, y = 0, lze.buffer("float", 2)
    local report = lze.kernel(function(i, z)
      local best
      for k = 1, count do if best == nil or k > best then best = k end end
      z[i] = best
    end, {name = "k"}):check(2, y)
    assert.is_false(report.ok)
    assert.equal(1, #report.findings)
    assert.matches("local_left_nil_spec.lua:%d+: kernel k: z%[1%] = nil: a "
      .. "number is needed %(work%-item 1%)", report.findings[1])
  end)
end)
