-- guard_spec.lua - calls during which no Lua code runs.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local hooked = require "spec.support.hooked"
local process = require "spec.support.process"
local native = assert(package.loadlib(
  os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()

local modes = {"incremental", "generational"}

-- For scripts: `guarded`, a function of lze with a guard, and `bare`, the
-- function without it, which the guard calls.
local functions = [[
  local lze = require "lze"
  local guarded = lze.local_bytes
  local _, bare = debug.getupvalue(guarded, 1)
  assert(type(bare) == "function" and bare ~= guarded)
  -- How many cycles the collector does meanwhile: in each, the finalizer of
  -- the one before is made anew.
  local function cycles_of(f)
    local cycles, counting = 0, true
    local function sentinel()
      setmetatable({}, {__gc = function()
        if counting then
          cycles = cycles + 1
          sentinel()
        end
      end})
    end
    sentinel()
    f()
    counting = false
    return cycles
  end
]]

describe("a guarded call", function()
  it("lets the collector work: 10^6 calls take bounded memory", function()
    for _, mode in ipairs(modes) do
      local peak = process.output(functions .. ([[
        collectgarbage(%q)
        collectgarbage()
        local before, peak = collectgarbage "count", 0
        for i = 1, 1000000 do
          guarded(i)
          if i %% 1000 == 0 then
            peak = math.max(peak, collectgarbage "count")
          end
        end
        print(peak - before)]]):format(mode))
      -- In KB; all the objects together take 70 MB.
      assert.is_true(tonumber(peak) < 8192, mode .. ": " .. peak)
    end
  end)

  -- Lua 5.5 makes a collector step after each guarded call
  -- (common/lua_versions.h).
  local exact = _VERSION == "Lua 5.4" and it or pending
  exact("costs no more cycles than one without a guard", function()
    for _, mode in ipairs(modes) do
      local function cycles(name)
        return tonumber(process.output(functions .. ([[
          collectgarbage(%q)
          local live, f = {}, %s
          for i = 1, 300000 do live[i] = {i} end
          collectgarbage()
          print(cycles_of(function()
            for i = 1, 2000000 do f(i) end
          end))
          assert(#live == 300000)]]):format(mode, name)))
      end
      local without, within = cycles "bare", cycles "guarded"
      assert.is_true(without >= 4, without)
      assert.is_true(within >= without - 1 and within <= without + 1,
        mode .. ": " .. without .. ", " .. within)
    end
  end)

  it("leaves a stopped collector alone", function()
    for _, mode in ipairs(modes) do
      assert.equal("0\tfalse\ttrue\n", process.output(functions .. ([[
        collectgarbage(%q)
        collectgarbage "stop"
        local cycles = cycles_of(function()
          for i = 1, 100000 do guarded(i) end
        end)
        local running = collectgarbage "isrunning"
        collectgarbage "restart"
        print(cycles, running, cycles_of(function()
          for i = 1, 1000000 do guarded(i) end
        end) > 0)]]):format(mode)))
    end
  end)

  it("leaves the collector alone in a finalizer", function()
    for _, mode in ipairs(modes) do
      assert.equal("1000\ttrue\ttrue\n", process.output(functions .. ([[
        collectgarbage(%q)
        local ran = 0
        for i = 1, 1000 do
          setmetatable({}, {__gc = function()
            for j = 1, 100 do guarded(j) end
            ran = ran + 1
          end})
        end
        collectgarbage()
        print(ran, collectgarbage "isrunning", cycles_of(function()
          for i = 1, 1000000 do guarded(i) end
        end) > 0)]]):format(mode)))
    end
  end)

  it("runs no finalizer, and does not lose any that is due", function()
    local _, inner = debug.getupvalue(lze.graph, 1)
    assert.is_function(inner)
    local within, ran = 0, 0
    local mt = {__gc = function()
      ran = ran + 1
      for level = 2, math.huge do
        local info = debug.getinfo(level, "f")
        if not info then break end
        if info.func == inner then within = within + 1 end
      end
    end}
    local name = ("x"):rep(1 << 16)
    for _ = 1, 2000 do
      for _ = 1, 10 do setmetatable({}, mt) end
      lze.graph(name)
    end
    collectgarbage()
    assert.equal(20000, ran)
    assert.equal(0, within)
  end)

  it("removes the script's hook and restores it", function()
    for _, mask in ipairs {"c", "r", "l", "crl"} do
      local seen, target = {}, lze.graph
      local function hook(event)
        seen[#seen + 1] = debug.getinfo(2, "f").func
        assert(event)
      end
      debug.sethook(hook, mask)
      target "g"
      local set, kind = debug.gethook()
      debug.sethook()
      assert.equal(hook, set)
      assert.equal(#mask, #kind)
      for _, f in ipairs(seen) do
        local _, inner = debug.getupvalue(target, 1)
        assert.are_not.equal(inner, f)
      end
    end
    local count = 0
    debug.sethook(function() count = count + 1 end, "", 1)
    lze.graph "g"
    local _, _, every = debug.gethook()
    debug.sethook()
    assert.equal(1, every)
    assert.is_true(count > 0)
  end)

  it("keeps the hook that a signal sets during the call", function()
    for _, lines in ipairs {false, true} do
      local n, pending = 0, nil
      repeat
        n = n + 1
        debug.sethook(function() end, "l")
        local ok, err = pcall(function()
          native.signal_at(n, lines)
          lze.graph "interrupted"
          pending = native.signal_at(0)
        end)
        debug.sethook()
        -- If the signal's hook was set, it was also called at a line.
        assert.equal(pending or false, ok)
        assert.is_true(ok or err:find "interrupted!$" ~= nil, err)
      until pending
      assert.is_true(n > 3, n)
    end
  end)
end)

describe("an error of a guarded function", function()
  -- Returns the line of this file at which the error is raised, and the rest.
  local function raised(f, ...)
    local ok, err = pcall(f, ...)
    assert.is_false(ok)
    local line, message = err:match "^spec/guard_spec%.lua:(%d+): (.*)$"
    assert.is_string(line, err)
    return tonumber(line), message
  end

  it("has the position of the call and the function's name", function()
    local here = debug.getinfo(1, "l").currentline
    local line, message = raised(function()
      lze.buffer("int", true)
    end)
    assert.equal(here + 2, line)
    assert.equal("bad argument #2 to 'buffer' (count, table, string or " ..
      "buffer expected, got boolean)", message)
    line, message = raised(function()
      local options = {usage = "none"}
      lze.buffer("int", 4, options)
    end)
    assert.equal(here + 9, line)
    assert.equal("option usage: shared, device or host expected, got " ..
      "string 'none'", message)
  end)

  it("has both for a method", function()
    local g = lze.graph "g"
    local here = debug.getinfo(1, "l").currentline
    local line, message = raised(function()
      g:task("t", 1)
    end)
    assert.equal(here + 2, line)
    assert.equal("bad argument #2 to 'task' (kernel expected, got integer 1)",
      message)
    line, message = raised(function()
      local none = lze.device()
      g.compile(none)
    end)
    assert.equal(here + 9, line)
    assert.matches("^bad argument #1 to 'compile' %(graph expected, got ",
      message)
  end)

  it("has both in a coroutine", function()
    local here = debug.getinfo(1, "l").currentline
    local co = coroutine.create(function()
      coroutine.yield()
      lze.buffer("int", true)
    end)
    assert.is_true(coroutine.resume(co))
    local ok, err = coroutine.resume(co)
    assert.is_false(ok)
    assert.equal(("spec/guard_spec.lua:%d: bad argument #2 to 'buffer' " ..
      "(count, table, string or buffer expected, got boolean)")
      :format(here + 3), err)
  end)

  it("does not change what a metamethod of an argument raises", function()
    local x = lze.buffer("int", 3)
    for _, raised in ipairs {"spec.lua:1: mine", "mine", {}} do
      local list = setmetatable({}, {__len = function() error(raised, 0) end})
      local function same(f, ...)
        local ok, err = pcall(f, ...)
        assert.is_false(ok)
        assert.equal(raised, err)
      end
      same(x.write, x, list)
      same(lze.buffer, "int", list)
      local image = lze.image("rgba8uint", 2)
      same(image.write, image, list)
      local plan = lze.graph "inputs":input(x, "every", list)
        :fill("fill", x, 1):compile()
      same(plan.run, plan)
    end
  end)

  it("does not change what a debug hook raises in lze's Lua code", function()
    local A = lze.array
    assert.is_true(hooked(function() A("float", {1, 2, 3}) end) > 50)
  end)

  it("has the position in error objects, too", function()
    local here = debug.getinfo(1, "l").currentline
    local ok, err = pcall(function()
      lze.buffer("int", 1 << 50)
    end)
    assert.is_false(ok)
    assert.equal(("spec/guard_spec.lua:%d"):format(here + 2), err.where)
  end)
end)
