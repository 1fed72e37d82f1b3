-- local_left_nil_spec.lua - a local that some way leaves nil was 0 where a
-- kernel stored it or computed with it.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local math = math

local function run(f)
  local x, y = lze.buffer("float", {1, 2, 3}), lze.buffer("float", 3)
  lze.kernel(f, {name = "k"})(3, x, y)
  return y:read()
end

local function refused(f)
  local ok, err = pcall(run, f)
  assert.is_false(ok)
  local line = debug.getinfo(f, "S").linedefined
  local at, what = err.log:match "local_left_nil_spec.lua:(%d+): kernel k: (.*)"
  assert.equal(line + 3, tonumber(at), err.log)
  return what
end

local function some(v) if v > 2 then return v end end

describe("a local that may be nil", function()
  local n = 3
  local advice = " may be nil here; give it a value on all ways to this line, "
    .. "or say what nil stands for (%s or 0)"

  it("is refused where a number is needed, by name and line", function()
    for _, f in ipairs {
      function(i, x, y)
        local v
        if x[i] > 1 then v = 1 end
        y[i] = v
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = 1.5 end
        y[i] = v + 1
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = 1 end
        y[v] = 1
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = 1 end
        for k = 1, v do y[i] = k end
      end,
      function(i, x, y)
        local v
        if x[i] > 1 then v = 1 end
        y[i] = math.max(2, v)
      end,
      function(i, x, y)
        local v
        for k = 1, n do v = x[k] + i end
        y[i] = v
      end
    } do
      assert.equal("v" .. advice:format "v", refused(f))
    end
    assert.equal("b" .. advice:format "b", refused(function(i, x, y)
      local a, b = 1, nil
      if x[i] > 1 then b = 2 else a = 3 end
      y[i] = a + b
    end))
    assert.equal("a number is needed here, this may be nil; say what nil "
      .. "stands for (as f(x) or 0)", refused(function(i, x, y)
      local v = 1
      v = v + x[i]
      y[i] = some(v)
    end))
  end)

  it("is a number where all ways give it one", function()
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

  it("is a number where the function looks for nil", function()
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

  it("is found by k:check where it is nil after all", function()
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
