-- mixed_spec.lua - scripts that use many features at once and drop objects in
-- use. Checks that their results are right and that nothing leaks.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"
local limit = 60

local function counts()
  collectgarbage() collectgarbage() collectgarbage()
  assert.is_true(lze.wait(limit))
  collectgarbage()
  local s = lze.stats()
  return {s.bytes, s.pinned, s.pending, s.in_flight, s.objects}
end

-- Checks that a second run of f leaves no more than the first, which fills the
-- caches.
local function leaves_nothing(f)
  f()
  local before = counts()
  f()
  assert.same(before, counts())
end

local function filled(n, v)
  local t = {}
  for i = 1, n do t[i] = v end
  return t
end

local function slowly(x)
  return mod.spin:launch(1, x, 2000000)
end

describe("a script leaves nothing behind after", function()
  it("views of views of other types, some closed while in use", function()
    leaves_nothing(function()
      local root = lze.buffer("int", 4096)
      local views, v = {}, root
      for i = 1, 300 do
        v = v:view(2, -2)
        views[i] = v
        if i % 3 == 0 then mod.add(#v, v, 1) end
        if i % 3 == 0 then v:view(1, -1, "uchar"):view(1, 4, "uint"):close() end
        if i % 7 == 0 then views[i - 1]:close() end
        if i % 20 == 0 then collectgarbage() end
      end
      root = nil
      collectgarbage()
      -- Element i of the last view was in every third view.
      assert.same(filled(#v, 100), v:read())
      assert.equal(4096 - 600, #v)
      v:close()
      assert.equal(99, views[299]:view(1, 1)[1])
      assert.is_nil(root)
    end)
  end)

  it("views that are closed while a plan runs on them", function()
    leaves_nothing(function()
      local x, total = lze.buffer("int", 64), 0
      local a, b = x:view(1, 32), x:view(17, 48)
      local g = lze.graph "g":task("a", mod.add, 32, a, 1)
        :call("c", function()
          total = total + 1
          if total == 3 then a:close() end
          if total == 4 then b:close() end
          if total % 2 == 0 then collectgarbage() end
        end)
        :task("b", mod.add, 32, b, 10)
      local plan = g:compile()
      local done = 0
      for i = 1, 6 do
        if pcall(i % 2 == 0 and plan.run or plan.start, plan) then
          done = done + 1
        end
      end
      assert.is_true(lze.wait(limit))
      local expected = {}
      for i = 1, 64 do
        expected[i] = (i <= 32 and done or 0) +
          (i >= 17 and i <= 48 and 10 * done or 0)
      end
      assert.same(expected, x:read())
      assert.equal(done, total)
    end)
  end)

  it("arguments that are set while runs are in flight", function()
    leaves_nothing(function()
      local x, slow = lze.buffer("int", 16), lze.buffer("uint", 1)
      local other = lze.buffer("int", 16)
      local plan
      plan = lze.graph "g":task("slow", mod.spin, 1, slow, 300000)
        :task("add", mod.add, 16, x, 0)
        :call("set", function()
          -- A value that is set during a run applies to the next run.
          if other[1] % 2 == 1 then plan:set("more", 2, 1000) end
        end)
        :task("more", mod.add, 16, other, 1):compile()
      local expected, events = 0, {}
      for i = 1, 12 do
        plan:set("add", "n", i)
        plan:set("slow", 2, i % 3 * 100000)
        events[i] = plan:start()
        expected = expected + i
        if i % 4 == 0 then events[i - 1]:close() end
        if i % 5 == 0 then
          plan:set("add", 1, other):set("add", 1, x)
        end
      end
      assert.is_true(events[12]:wait(limit))
      assert.same(filled(16, expected), x:read())
      plan:close()
    end)
  end)

  it("a kernel tuned in the callbacks of a plan that uses it", function()
    leaves_nothing(function()
      local m = lze.load "kernels/spec.spv"
      local k, n = m.add, 64
      local x, y = lze.buffer("int", n), lze.buffer("int", n)
      local tuned = {}
      local plan = lze.graph "g":task("one", k, n, x, 1)
        :call("tune", function()
          tuned[#tuned + 1] = pcall(lze.tune, k, n, y, 1)
          collectgarbage()
        end)
        :task("two", k, n, x, 2):compile()
      plan:run()
      local ev = plan:start()
      plan:start()
      m:close()
      assert.is_true(ev:wait(limit) and lze.wait(limit))
      assert.same(filled(n, 9), x:read())
      -- Tuning restores the values that it has changed.
      assert.same(filled(n, 0), y:read())
      assert.is_true(tuned[1])
      assert.is_false(tuned[3])
      assert.matches("is closed$", select(2, pcall(plan.run, plan)))
    end)
  end)

  it("coroutines that wait for events, and are dropped or closed", function()
    leaves_nothing(function()
      local x, slow = lze.buffer("int", 300), lze.buffer("uint", 1)
      local gate = slowly(slow)
      local waiting = {}
      for i = 1, 300 do
        local co = coroutine.create(function()
          local mine <close> = lze.buffer("int", 1)
          local v = x:view(i, i)
          mod.add({1, after = gate}, mine, i)
          local ev = lze.device().queue:copy(v, mine)
          if i % 3 == 0 then ev:await(function() error "stop" end) end
          if i % 5 == 0 then ev:close() end
          ev:await()
          return true
        end)
        local ok = coroutine.resume(co)
        if i % 7 == 0 then coroutine.close(co) co = nil end
        waiting[i] = ok and co or nil
        if i % 50 == 0 then collectgarbage() end
      end
      for i in pairs(waiting) do
        if i % 2 == 0 then waiting[i] = nil end
      end
      collectgarbage()
      repeat
        local any = false
        for i, co in pairs(waiting) do
          any = true
          coroutine.resume(co)
          if coroutine.status(co) == "dead" then waiting[i] = nil end
        end
      until not any
      local t = x:read()
      for i = 1, 300 do assert.equal(i, t[i]) end
    end)
  end)

  it("errors of every type in nested callbacks", function()
    leaves_nothing(function()
      local x = lze.buffer("int", 4)
      local what
      local inner = lze.graph "inner":task("add", mod.add, 4, x, 1)
        :call("fail", function() error(what, 0) end)
        :task("never", mod.add, 4, x, 1000):compile()
      local seen = {}
      local outer = lze.graph "outer":call("run", function()
        local co = coroutine.create(function() inner:run() end)
        local _, err = coroutine.resume(co)
        seen[#seen + 1] = err == nil and "nil" or err
        inner:run()
      end):compile()
      local _, refused = pcall(lze.load, "nowhere.spv")
      local finalized = setmetatable({}, {__gc = function() x:fill(7) end})
      for _, v in ipairs {"text", 1.5, false, refused, finalized, print} do
        what = v
        local ok, err = pcall(outer.run, outer)
        assert.is_false(ok)
        assert.equal(v, err)
        local ev = outer:start()
        ok, err = pcall(ev.wait, ev)
        assert.is_false(ok)
        assert.equal(v, err)
        outer:start() -- which nobody waits for
        pcall(lze.wait, limit)
      end
      what = nil
      assert.is_false(pcall(outer.run, outer))
      local _, none = pcall(error) -- nil, or Lua 5.5's replacement
      assert.equal(tostring(none), seen[#seen])
      assert.equal("text", seen[1])
      assert.same(filled(4, 2 * 19), x:read())
    end)
  end)

  it("hooks that close objects and fail during waits", function()
    leaves_nothing(function()
      for i = 1, 40 do
        local q = lze.queue {mode = i % 2 == 0 and "batched" or "immediate"}
        local m = lze.load "kernels/spec.spv"
        local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
        local plan = lze.graph():task("t", m.add, 64, x, 1)
          :call("c", function() y:fill(2) end):compile()
        local victims = {q, m, x, y, plan, m.add}
        q:launch(m.spin, 1, lze.buffer("uint", 1), 50000)
        m.add({64, queue = q}, x, 1)
        local n = 0
        local function work()
          plan:run()
          y:copy(x)
          q:wait(limit)
          y:read()
          plan:start():wait(limit)
          lze.wait(limit)
        end
        debug.sethook(function()
          n = n + 1
          if n % 3 == i % 3 then victims[(n + i) % #victims + 1]:close() end
          -- In a wait of lze, not in the code after it.
          local caller = debug.getinfo(3, "f")
          if n > 4 + i and caller and caller.func == work then
            error "enough"
          end
        end, "", 3)
        local ok, err = pcall(work)
        debug.sethook()
        assert.is_truthy(ok or err:find "closed" or err:find "enough", err)
        if i % 8 == 0 then collectgarbage() end
      end
    end)
  end)

  it("finalizers that use, close and keep dead objects", function()
    for _, mode in ipairs {"incremental", "generational"} do
      leaves_nothing(function()
        collectgarbage(mode)
        local kept, slow = {}, lze.buffer("uint", 1)
        local sum = lze.buffer("int", 8)
        slowly(slow)
        for number = 1, 60 do
          local i = number
          local x = lze.buffer("int", filled(8, i))
          local q = lze.queue()
          local plan = lze.graph():task("t", mod.add, 8, x, 1):compile()
          local ev = plan:start()
          setmetatable({}, {__gc = function(o)
            pcall(function()
              mod.add({8, queue = q}, x, 1)
              sum:copy(x)
              plan:start()
            end)
            if i % 4 == 0 then x:close() end
            if i % 4 == 1 then ev:close() plan:close() end
            if i % 4 == 2 then kept[#kept + 1] = {x, q, plan, ev} end
            -- Once more, when all of them are dead.
            if i % 4 == 3 then
              i = 0
              setmetatable(o, getmetatable(o))
            end
          end})
          if i % 10 == 0 then collectgarbage() end
          if i % 10 == 5 then collectgarbage "step" end
        end
        collectgarbage() collectgarbage()
        assert.is_true(#kept > 0)
        -- Objects that died with their keeper have been finalized.
        for _, t in ipairs(kept) do
          for _, o in ipairs(t) do
            if not tostring(o):find "%(closed%)$" then
              if lze.type(o) == "plan" then o:run() end
              if lze.type(o) == "buffer" then
                assert.is_true(o[1] > 2 and o[1] == o[8])
              else
                o:close()
              end
            end
          end
        end
        collectgarbage "incremental"
      end)
    end
  end)

  it("a stopped collector, with everything dropped", function()
    leaves_nothing(function()
      collectgarbage "stop"
      local result = lze.buffer("int", 16)
      for i = 1, 300 do
        local x = lze.buffer("int", 16)
        local q = i % 30 == 0 and lze.queue {order = "out"} or nil
        local ev = mod.add:launch({16, queue = q}, x, i)
        local y = lze.buffer("int", 16, {usage = "device"}):copy(x)
        result:copy(y)
        if i % 100 == 0 then
          assert.is_true(ev:wait(limit))
          assert.same(filled(16, i), result:read())
        end
        if i % 50 == 0 then
          lze.graph():task("t", mod.add, 16, x, 1):copy("c", result, x)
            :compile():start()
        end
      end
      local forced = lze.stats().collections
      collectgarbage "restart"
      assert.equal(forced, lze.stats().collections)
      assert.same(filled(16, 301), result:read())
    end)
  end)

  it("contexts that are closed before all other objects", function()
    leaves_nothing(function()
      for i = 1, 6 do
        local ev, tokens = nil, {}
        pcall(function()
          local c = lze.context(lze.device())
          local options = {context = c}
          local m <close> = lze.module(mod:spirv(), options)
          local k <close> = m.add
          local q <close> = lze.queue(options)
          local x <close> = lze.buffer("int", 64, options)
          local plan <close> = lze.graph():task("t", k, 64, x, 1)
            :call("c", function() end):compile()
          local first <close> = c
          assert(first == c)
          ev = q:launch(m.spin, 1, lze.buffer("uint", 1, options), 300000)
          k({64, queue = q, after = ev}, x, 1)
          plan:start()
          tokens[1] = x:export()
          if i % 2 == 0 then error "in the middle" end
          if i % 3 == 0 then c:close() end
        end)
        collectgarbage()
        assert.is_true(ev:wait(limit))
        local there = tokens[1] and lze.import(tokens[1])
        if there then assert.equal(there[1], there[64]) end
      end
    end)
  end)
end)

describe("a closed state", function()
  it("ends normally with all kinds of objects in flight", function()
    for i = 1, 4 do
      local r = process.run(([[
        warn "@on"
        collectgarbage(%q)
        local lze = require "lze"
        local m = lze.load "kernels/spec.spv"
        local c = lze.context(lze.device())
        local x = lze.buffer("int", 64)
        plan = lze.graph "g":task("s", m.spin, 1, lze.buffer("uint", 1),
            2000000):task("t", m.add, 64, x, 1)
          :call("c", function() x:fill(1) end)
          :task("u", m.add, 2, x:view(2, 3), 1):compile {profile = true}
        plan:start() plan:start()
        other = lze.graph "h":task("t", m.add, 64, x, 1):compile()
        events = {other:start(), m.add:launch(64, x, 1)}
        q = lze.queue {mode = "batched"}
        q:launch(m.add, 64, lze.buffer("int", 64), 1)
        host = lze.wrap {event = events[2].handle, device = lze.device()}
        token = lze.buffer("int", 8, {context = c}):export()
        co = coroutine.create(function()
          local y <close> = lze.buffer("int", 64)
          m.add(64, y, 1)
          m.add:launch(64, y, 1):await()
        end)
        coroutine.resume(co)
        for i = 1, 3 do
          _G["last" .. i] = setmetatable({}, {__gc = function()
            pcall(plan.start, plan)
            pcall(other.run, other)
            pcall(c.close, c)
            pcall(lze.import, token)
            pcall(coroutine.resume, co)
            made = lze.buffer("int", 8)
          end})
        end
        if %d == 3 then x.context:close() end
        if %d == 4 then error "over" end
        os.exit(true, true)]]):format(i % 2 == 0 and "generational" or
          "incremental", i, i))
      assert.equal("exit " .. (i == 4 and 1 or 0), r.how .. " " .. r.code,
        r.output)
      assert.is_nil(r.output:find "busy", r.output)
    end
  end)
end)
