-- lua_check_spec.lua - k:check and LZE_CHECK=lua.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"
local math, w = math, lze.work

local function floats(...) return lze.buffer("float", {...}) end

-- Returns the findings of a check without their files and lines.
local function found(report)
  local list = {}
  for i, f in ipairs(report.findings) do
    list[i] = f:gsub("^%S*lua_check_spec.lua:%d+: ", "")
  end
  assert.equal(#list == 0, report.ok)
  return list
end

describe("k:check", function()
  it("names a closed buffer", function()
    local held, x = lze.buffer("int", 1), lze.buffer("int", 1)
    local k = lze.kernel(function(i, x) x[i] = held[i] end, {name = "k"})
    k(1, x)
    held:close()
    local ok, err = pcall(k.check, k, 1, x)
    assert.is_false(ok)
    assert.matches("kernel k: held: the buffer is closed", err)
    held = lze.buffer("int", 1)
    x:close()
    ok, err = pcall(k.check, k, 1, x)
    assert.is_false(ok)
    assert.matches("kernel k: x: the buffer is closed", err)
  end)

  it("passes on an error whose text looks like a finding", function()
    local k = lze.kernel(function(i, x) x[i] = x[i] + 1 end, {name = "k"})
    local x = lze.buffer("int", 4)
    local pcall, sethook = pcall, debug.sethook -- busted looks up globals
    local n, raised = 0, 0
    local ok, r
    k:check(4, x)
    repeat                                  -- a hook stops it, later each time
      n = n + 1
      local calls = 0
      sethook(function()
        calls = calls + 1
        if calls == n then
          sethook()
          error("stop (work-item 1)", 0)
        end
      end, "", 50)
      ok, r = pcall(function()
        local report = k:check(4, x)
        n = -n                              -- no hook from here on
        return report
      end)
      sethook()
      n = math.abs(n)
      if not ok then raised = raised + 1 end
      assert.equal(ok and "kernel k: ok" or "stop (work-item 1)",
        tostring(r):match "^kernel k: ok" or tostring(r))
    until calls < n
    assert.is_true(ok and raised > 10)
  end)

  it("runs the function in Lua and on the device, and changes nothing",
    function()
      local a = 2.5
      local k = lze.kernel(function(i, x, y) y[i] = a * x[i] + y[i] end,
        {name = "saxpy"})
      local x, y = floats(1, 2, 3), floats(10, 20, 30)
      local r = k:check(3, x, y)
      assert.is_true(r.ok)
      assert.equal(0, r.worst)
      assert.equal(("kernel saxpy: ok: 3 work-items in Lua%s and as asked")
        :format(lze.device().fp64 and ", on the device in double" or ""),
        tostring(r))
      assert.same({10, 20, 30}, y:read())
    end)

  it("finds out-of-range indices, and names the element and the work-item",
    function()
    local blur = lze.kernel(function(i, src, dst)
      dst[i] = (src[i - 1] + src[i] + src[i + 1]) / 3
    end, {name = "blur"})
    local x, y = floats(1, 2, 3), floats(0, 0, 0)
    local r = blur:check(3, x, y)
    assert.same({"kernel blur: src[0] is outside 1..3 (work-item 1)",
      "kernel blur: src[4] is outside 1..3 (work-item 3)"}, found(r))
    assert.equal(2 + 1, select(2, tostring(r):gsub("\n", "\n")) + 1)
    -- A write out of range, and a write of a missing element.
    local far = lze.kernel(function(i, z) z[i + 1] = i end, {name = "far"})
    assert.same({"kernel far: z[4] is outside 1..3 (work-item 3)"},
      found(far:check(3, y)))
    local shift = lze.kernel(function(i, z, v) z[i] = v[i + 1] end,
      {name = "shift"})
    assert.same({"kernel shift: v[4] is outside 1..3 (work-item 3)"},
      found(shift:check(3, y, x)))
    -- One finding for each line and side, for the first work-item, with the
    -- index that was wrong first.
    assert.same({"kernel blur: src[0] is outside 1..3 (work-item 1)",
      "kernel blur: src[4] is outside 1..3 (work-item 3)"},
      found(blur:check(9, x, lze.buffer("float", 9))))
    local chain = lze.kernel(function(i, z, v) z[i] = v[v[i + 1]] end,
      {name = "chain"})
    assert.same({"kernel chain: v[4] is outside 1..3 (work-item 3)"},
      found(chain:check(3, y, lze.buffer("int", {1, 2, 3}))))
    -- Lua accepts a missing element in a comparison, or unused.
    for name, f in pairs {
      equal = function(i, z, v) z[i] = v[i + 1] == 5 and 1 or 2 end,
      unused = function(i, z, v) local _ = v[i + 1] z[i] = 1 end,
      branch = function(i, z, v)
        if v[math.floor(z[i]) + 4] ~= 0 then z[i] = 1 end
      end
    } do
      assert.matches("^kernel " .. name .. ": v%[4%] is outside 1%.%.3 " ..
        "%(work%-item %d%)$",
        found(lze.kernel(f, {name = name}):check(3, y, x))[1])
    end
    -- A test for a missing element is not a mistake.
    local ask = lze.kernel(function(i, src, dst)
      dst[i] = (src[i - 1] or 0) + (src[i + 1] == nil and 5 or 7)
    end)
    assert.is_true(ask:check(3, x, y).ok)
  end)

  local function sums(between)
    return lze.kernel(function(i, x, out)
      local t, l = w.local_array("float", 64), w.local_id()
      local s = w.local_size()
      t[l] = x[i]
      if between then w.barrier() end
      while s > 1 do
        s = s // 2
        if l <= s then t[l] = t[l] + t[l + s] end
        w.barrier()
      end
      if l == 1 then out[w.group_id()] = t[1] end
    end, {name = "sum"})
  end

  it("runs groups with local arrays and barriers", function()
    local x, out = lze.buffer("float", 256), lze.buffer("float", 4)
    for i = 1, 256 do x[i] = i end
    local r = sums(true):check({256, group = 64}, x, out)
    assert.same({}, found(r))
    assert.same({0, 0, 0, 0}, out:read())
  end)

  it("finds races, and cells that are read before they are written", function()
    local x, out = lze.buffer("float", 256), lze.buffer("float", 4)
    local list = found(sums(false):check({256, group = 64}, x, out))
    assert.equal("kernel sum: local array[33] is read before it is "
      .. "written (work-item 1)", list[1])
    assert.matches("race: local array%[33%] is used by work%-items 1 and 33",
      list[2])
    local one = lze.kernel(function(i, z) z[1] = i end, {name = "one"})
    assert.same({"kernel one: race: z[1] is used by work-items 1 and 2, "
      .. "one writes, and no barrier is between"}, found(one:check(2, out)))
    -- Equal values from all work-items are not a race, nor are atomics.
    local same = lze.kernel(function(z) z[1] = 3 end)
    assert.is_true(same:check(8, out).ok)
    local h = lze.buffer("uint", 4)
    local count = lze.kernel(function(i, h) w.atomic_add(h, i % 4 + 1, 1) end)
    assert.is_true(count:check(100, h).ok)
    assert.same({0, 0, 0, 0}, h:read())
    -- Groups have no barrier between them.
    local other = lze.kernel(function(z)
      local g = w.group_id()
      z[g] = g
      w.barrier()
      z[g % 4 + 1] = z[g % 4 + 1] + 1
    end, {name = "other"})
    assert.matches("race: z%[%d%]",
      found(other:check({8, group = 2}, out))[1])
  end)

  it("finds races between atomics and other uses", function()
    local x, out = lze.buffer("int", 2), lze.buffer("int", 64)
    local function race(range, f)
      local list = found(lze.kernel(f, {name = "k"}):check(range, x, out))
      return (table.concat(list, "; "):gsub("kernel k: race: ", "")
        :gsub(" is used by work%-items", ":")
        :gsub(", one writes, and no barrier is between", ""))
    end
    -- A work-item's own atomic does not hide another use before or after it.
    assert.equal("x[1]: 1 and 2", race({2, group = 1}, function(i, x, out)
      if i == 1 then x[1] = 5 end
      out[i] = w.atomic_add(x, 1, 1)
    end))
    assert.equal("x[1]: 1 and 2", race(2, function(i, x, out)
      out[i] = w.atomic_add(x, 1, 1)
      if i == 2 then x[1] = 5 end
    end))
    assert.equal("x[1]: 1 and 2", race(2, function(i, x, out)
      w.atomic_add(x, 1, 1)
      if i == 2 then out[1] = x[1] end
    end))
    assert.equal("x[1]: 1 and 2", race(2, function(i, x, out)
      if i == 1 then out[1] = x[1] else w.atomic_add(x, 1, 1) end
    end))
    assert.equal("x[1]: 1 and 3", race({3, group = 1}, function(i, x, out)
      if i < 3 then w.atomic_add(x, 1, 1) end
      if i > 1 then out[i] = x[i == 2 and 2 or 1] end
    end))
    -- The first of three groups is remembered.
    assert.equal("x[1]: 1 and 4", race({6, group = 2}, function(i, x, out)
      local l = w.local_id()
      if l == 1 and i < 5 then w.atomic_max(x, 1, 0) end
      w.barrier()
      if i == 4 then out[4] = x[1] end
    end))
    -- A work-item's own uses are not races, nor are uses before a barrier.
    assert.equal("", race(64, function(i, x, out)
      w.atomic_add(out, i, 1)
      out[i] = out[i] + 1
      w.atomic_add(out, i, 1)
      w.atomic_add(x, 1, 1)
    end))
    assert.equal("", race({64, group = 8}, function(i, x, out)
      local t, l = w.local_array("int", 1), w.local_id()
      if l == 8 then t[1] = 0 end
      w.barrier()
      w.atomic_add(t, 1, i)
      w.barrier()
      if l == 1 then w.atomic_add(x, 1, t[1]) end
      out[i] = t[1]
    end))
  end)

  it("does not report a read before a barrier as a race", function()
    -- Each cell is read by its neighbour, then by its own work-item.
    local scan = lze.kernel(function(i, x)
      local t, l = w.local_array("int", 8), w.local_id()
      t[l] = x[i]
      w.barrier()
      local d = 1
      repeat
        local before = l > d and t[l - d] or 0
        w.barrier()
        t[l] = t[l] + before
        w.barrier()
        d = d * 2
      until d >= 8
      x[i] = t[l]
    end)
    local x = lze.buffer("int", 16):fill(1)
    assert.same({}, found(scan:check({16, group = 8}, x)))
    local early = lze.kernel(function(z)
      local t, l = w.local_array("int", 4), w.local_id()
      t[l] = l
      w.barrier()
      local before = t[l % 4 + 1]
      t[l] = t[l] + before
      z[l] = t[l]
    end, {name = "early"})
    assert.equal("kernel early: race: local array[2] is used by work-items "
      .. "1 and 2, one writes, and no barrier is between",
      found(early:check({4, group = 4}, x))[1])
  end)

  it("does not report results that depend on the order of atomics", function()
    local n, out = lze.buffer("int", 1), lze.buffer("int", 64)
    local k = lze.kernel(function(i, n, out)
      out[w.atomic_add(n, 1, 1) + 1] = i
    end)
    assert.same({}, found(k:check(64, n, out)))
  end)

  it("finds barriers that not all work-items reach", function()
    local k = lze.kernel(function(z)
      if w.local_id() > 3 then
        w.barrier()
      end
      z[1] = 0
    end, {name = "some"})
    local z = floats(0)
    assert.same({"kernel some: barrier: 3 of 8 work-items of a group "
      .. "never come"}, found(k:check({16, group = 8}, z)))
    local two = lze.kernel(function(z)
      if w.local_id() > 3 then
        w.barrier()
      else
        w.barrier()
      end
      z[1] = 0
    end, {name = "two"})
    local list = found(two:check({16, group = 8}, z))
    assert.equal(1, #list)
    assert.matches("^kernel two: barrier: other work%-items of the group "
      .. "wait at .*:%d+$", list[1])
  end)

  it("distinguishes barriers that are reached by different calls", function()
    local function sync() w.barrier() end
    local function deep(n) sync() return n end
    local function wrong(f)
      local list = found(lze.kernel(f, {name = "k"})
        :check({16, group = 8}, floats(0)))
      return #list == 1 and list[1]:match "^kernel k: barrier: (.*)$" or
        table.concat(list, "\n")
    end
    local text = "other work-items of the group wait at this line by another "
      .. "call"
    assert.equal(text, wrong(function(z)
      if w.local_id() > 3 then w.barrier() else w.barrier() end
      z[1] = 0
    end))
    assert.equal(text, wrong(function(z)
      if w.local_id() > 3 then
        sync()
      else
        sync()
      end
      z[1] = 0
    end))
    assert.equal(text, wrong(function(z)
      z[1] = w.local_id() > 3 and deep(0) or w.local_id() < 4 and deep(0) or 0
    end))
    assert.equal("", wrong(function(z)
      for k = 1, 4 do
        if k % 2 == 0 then sync() else w.barrier() end
        w.barrier() w.barrier()
      end
      z[1] = deep(0)
    end))
  end)

  it("finds integer divisions by zero, and reals that are not whole",
    function()
      local z = lze.buffer("int", {1, 0, 2})
      local k = lze.kernel(function(i, z) z[i] = 7 // z[i] end, {name = "div"})
      assert.same({"kernel div: an integer is divided by zero "
        .. "(work-item 2)"}, found(k:check(3, z)))
      k = lze.kernel(function(i, z) z[i] = 7 % z[i] end, {name = "mod"})
      assert.same({"kernel mod: an integer is divided by zero "
        .. "(work-item 2)"}, found(k:check(3, z)))
      k = lze.kernel(function(i, x, z) z[i] = x[i] | 0 end, {name = "whole"})
      assert.same({"kernel whole: number has no integer representation "
        .. "(work-item 2)"}, found(k:check(3, floats(1, 2.5, 3), z)))
    end)

  it("finds dimensions that a range does not have", function()
    local x = lze.buffer("int", 3)
    for _, name in ipairs {"global_id", "local_id", "group_id", "global_size",
      "local_size", "num_groups"} do
      local ask = w[name]
      local k = lze.kernel(function(i, x, d)
        x[i] = ask(d - i)
      end, {name = "dim"})
      assert.same({"kernel dim: work." .. name
        .. " needs 1, 2 or 3 as dimension (work-item 3)"},
        found(k:check(3, x, 3)))
    end
  end)

  it("finds out-of-range atomics with their lines, and steps of zero",
    function()
    local h = lze.buffer("int", {1, 0, 2})
    local k = lze.kernel(function(i, h) w.atomic_add(h, i + 1, 1) end,
      {name = "count"})
    local text = k:check(3, h).findings[1]
    assert.matches("^.*lua_check_spec%.lua:%d+: kernel count: h%[4%] is outside"
      .. " 1%.%.3 %(work%-item 3%)$", text)
    k = lze.kernel(function(i, h)
      for n = 1, 3, h[i] do h[i] = n end
    end, {name = "step"})
    assert.same({"kernel step: 'for' step is zero (work-item 2)"},
      found(k:check(3, h)))
  end)

  it("finds integers that do not fit their elements", function()
    local x = lze.buffer("uchar", 3)
    local k = lze.kernel(function(i, x) x[i] = 100 * i end, {name = "wide"})
    assert.same({"kernel wide: x[3] = 300 does not fit uchar (work-item 3)"},
      found(k:check(3, x)))
    assert.same({}, found(k:check(2, x)))
    x = lze.buffer("uint", {0, 9, 9})
    k = lze.kernel(function(i, x) w.atomic_add(x, i, -i) end, {name = "count"})
    assert.same({"kernel count: x[1] = -1 does not fit uint (work-item 1)"},
      found(k:check(3, x)))
    k = lze.kernel(function(i, x)
      w.atomic_compare_exchange(x, i, 9, -1)
      w.atomic_max(x, 1, -1)
    end, {name = "swap"})
    assert.same({"kernel swap: x[1] = -1 does not fit uint (work-item 1)",
      "kernel swap: x[2] = -1 does not fit uint (work-item 2)"},
      found(k:check(3, x)))
    x = lze.buffer("int", {5, 9, 9})
    k = lze.kernel(function(i, x)
      w.atomic_min(x, i, (1 << 32) + i)
    end, {name = "least"})
    assert.same({"kernel least: x[1] = 4294967297 does not fit int " ..
      "(work-item 1)"}, found(k:check(3, x)))
  end)

  it("finds finite reals that become infinite in their elements", function()
    local k = lze.kernel(function(i, x, v, n) x[i] = v[i] * n end,
      {name = "large"})
    for _, t in ipairs {{"half", 65519.9, 65520.0}, {"float", 3.4e38, 1e39},
        {"bfloat16", 3.39e38, 3.4e38}} do
      local x, v = lze.buffer(t[1], 2), lze.buffer("double", {t[2], t[3]})
      assert.same({"kernel large: x[2] = " .. t[3] * -1 .. " does not fit " ..
        t[1] .. " (work-item 2)"}, found(k:check(2, x, v, -1)))
      assert.same({}, found(k:check(1, x, v, 1)))
      v[1] = math.huge
      assert.same({}, found(k:check(1, x, v, 1)))
    end
    local given = lze.kernel(function(i, x, n) x[i] = n * 0 end,
      "float *x, float n")
    assert.matches("argument 2 %(n%): number 1e%+300 does not fit float",
      select(2, pcall(given.check, given, 1, floats(0), 1e300)))
  end)

  it("compares captured buffers, and restores them", function()
    local real = lze.device().fp64 and "double" or "float"
    local box = {x = lze.buffer(real, {1, 2, 3}), by = 3}
    local k = lze.kernel(function(i) box.x[i] = box.x[i] ^ 2 * box.by end)
    local r = k:check(3)
    assert.same({}, found(r))
    assert.same({1, 2, 3}, box.x:read())
    local function get(i) return box.x[i + 1] end
    k = lze.kernel(function(i, y) y[i] = get(i) end, {name = "deep"})
    assert.same({"kernel deep: box.x[4] is outside 1..3 (work-item 3)"},
      found(k:check(3, floats(0, 0, 0))))
  end)

  it("accepts captured variables that are nil", function()
    local none = nil
    local k = lze.kernel(function(i, x) x[i] = none == nil and 2 or 3 end)
    assert.same({}, found(k:check(2, lze.buffer("int", 2))))
  end)

  it("reports the difference between the requested run and double", function()
    local x = lze.buffer("float", 100)
    local r = lze.kernel(function(i, x) x[i] = math.sin(i) / 3 + i ^ 1.5 end)
      :check(100, x)
    assert.is_true(r.ok)
    assert.is_true(r.worst > 0 and r.worst < 1e-6)
    assert.matches("^x%[%d+%]$", r.worst_at)
    assert.matches("worst relative error of the run as asked: ", tostring(r))
  end)

  it("accepts overlapping views, ranges of three dimensions and offsets",
    function()
      local x = lze.buffer("int", 20)
      local k = lze.kernel(function(i, a, b) a[i] = i; b[i + 8] = -i end)
      assert.is_true(k:check(6, x, x:view(3, 20)).ok)
      local list = found(k:check(9, x, x:view(1, 20)))
      assert.matches("race: a%[9%]", list[1])
      local cube = lze.kernel(function(i, j, l, z)
        z[((l - 1) * 3 + j - 1) * 2 + i - 1] = i + j + l + w.global_id(2)
      end)
      local z = lze.buffer("long", 24)
      assert.same({}, found(cube:check({2, 3, 4, offset = {1, 0, 0}}, z)))
      assert.matches("z%[0%] is outside 1..24 %(work%-item 1, 1, 1%)",
        found(cube:check({2, 3, 4}, z))[1])
    end)

  it("refuses invalid launches", function()
    local k = lze.kernel(function(i, x) x[i] = i end, {name = "k"})
    for _, f in ipairs {function() k:check() end, function() k:check(3, {}) end,
      function() k:check("x", floats(1)) end,
      function() lze.load("kernels/saxpy.spv").saxpy:check(3) end} do
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.matches("kernel", tostring(err))
    end
    local ok, err = pcall(w.barrier)
    assert.is_false(ok)
    assert.matches("only a work%-item can ask that", err)
  end)

  it("ends its work-items when the program interrupts it", function()
    local output = process.output([[
      local lze = require "lze"
      local k = lze.kernel(function(x) for i = 1, 1 << 40 do x[1] = i end end)
      local x = lze.buffer("int", 1)
      debug.sethook(function() error("stop", 0) end, "", 100000)
      print(pcall(k.check, k, 1, x))
      debug.sethook()
      print(pcall(lze.work.lane))
      print(x[1])]])
    assert.matches("^false\tstop\nfalse\t.*only a work%-item can ask.*\n0\n$",
      output)
  end)
end)

describe("misuse of k:check", function()
  it("is reported at the script's line", function()
    local k = lze.kernel(function(i, x) x[i] = 1 end, {name = "one"})
    local x = lze.buffer("int", 4)
    for _, case in ipairs {
      {function() return (k:check({4, grp = 1}, x)) end,
        "kernel one: unknown key string 'grp' in a launch table"},
      {function() return (k:check(4)) end,
        "kernel one: a range of 1 dimension and 0 arguments"},
    } do
      local ok, err = pcall(case[1])
      assert.is_false(ok)
      assert.matches("^%S*lua_check_spec.lua:%d+: " .. case[2], err)
    end
  end)
end)

describe("LZE_CHECK=lua", function()
  it("checks kernels in Lua before they run", function()
    assert.equal("false\tx.lua:3: kernel x_3: x[4] is outside 1..3 "
      .. "(work-item 3)\nfalse\tstdin:7: x.lua:3: kernel x_3: x[4] is outside "
      .. "1..3 (work-item 3)\n2.0\t3.0\t3.0\n",
      (process.output([[
      local lze = require "lze"
      local k = load("local x, y = ...\n\nreturn function(i, x, y) " ..
        "y[i] = x[i + 1] end", "@x.lua")()
      local x, y = lze.buffer("float", {1, 2, 3}), lze.buffer("float", 3)
      k = lze.kernel(k)
      print(pcall(k, 3, x, y))
      print(pcall(function() lze.graph("g"):task("t", k, 3, x, y) end))
      k(2, x, y)
      y[3] = 3
      print(table.unpack(y:read()))]], {env = {LZE_CHECK = "lua"}})))
  end)

  it("skips launches whose buffers have no memory yet", function()
    assert.equal("3 4 5\n3 4 5\nfalse\tx[4] is outside 1..3 (work-item 3)\n",
      (process.output([[
      local lze = require "lze"
      local k = lze.kernel(function(i, x, y) y[i] = x[i] + 1 end)
      local x, y = lze.buffer("int", {1, 2, 3}), lze.buffer("int", 3)
      local g = lze.graph()
      local t = g:buffer("int", 3)
      g:task("a", k, 3, x, t):task("b", k, 3, t, y):compile():run()
      print(table.concat(y:read(), " "))
      x:write {2, 3, 4}
      lze.parallel(lze.devices(), 3, k, lze.slice(x), lze.slice(y))
      print(table.concat(y:read(), " "))
      k = lze.kernel(function(i, x, y) y[i] = x[i + 1] end)
      local ok, why = pcall(lze.parallel, lze.devices(), 3, k, lze.slice(x),
        lze.slice(y))
      print(ok, (why:gsub("^.*: ", "")))]], {env = {LZE_CHECK = "lua"}})))
  end)
end)
