-- closed_during_call_spec.lua - if a debug hook, finalizer or metamethod closed
-- an object that a call was using, the call read freed memory.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- The queue is full, so the next call waits, and the wait runs hooks.  The
-- second call that the hook sees is made by the wait.
local full = [[
  local lze = require "lze"
  local mod = lze.load "kernels/spec.spv"
  local x = lze.buffer("uint", 4)
  local out = lze.buffer("int", 10)
  local y, z = lze.buffer("int", 10), lze.buffer("int", 10)
  local q = lze.queue()
  local add, nothing = mod.add, mod.nothing
  add(1, out, 1)
  nothing(1)
  lze.wait()
  -- On a busy machine it may take several attempts.
  local function busy(queue)
    for _ = 1, 6 do
      local ev = mod.spin:launch({4, queue = queue}, x, 100000000)
      for _ = 1, 16383 do nothing {1, queue = queue} end
      if not ev:done() then return end
      lze.wait()
    end
  end
  local function closing(f)
    local calls = 0
    debug.sethook(function()
      calls = calls + 1
      if calls < 2 then return end
      debug.sethook()
      f()
      collectgarbage()
    end, "c")
  end
  local ok, err = pcall(function() %s end)
  print(ok, err)
  print(lze.wait(60))]]

describe("a hook in a wait that closes", function()
  for what, case in pairs {
    ["the kernel"] = {[[
      busy()
      local launch = {1}
      closing(function() add:close() mod:close() end)
      add(launch, out, 1)]], "kernel add is closed"},
    ["the kernel and its context"] = {[[
      busy()
      closing(function() lze.device().context:close() end)
      add(1, out, 1)]], "kernel add is closed"},
    ["the queue"] = {[[
      busy(q)
      local launch = {1, queue = q}
      closing(function() q:close() launch.queue = nil q = nil end)
      add(launch, out, 1)]], "kernel add: the queue is closed"},
    ["an argument"] = {[[
      busy()
      closing(function() out:close() end)
      add(1, out, 1)]], "kernel add: argument 1 (x): the buffer is closed"},
    ["the queue of q:launch"] = {[[
      busy(q)
      local f = q.launch
      closing(function() q:close() end)
      f(q, add, 1, out, 1)]], "kernel add: the queue is closed"},
    ["the buffer of a fill"] = {[[
      busy()
      local f = y.fill
      closing(function() y:close() end)
      f(y, 1)]], "bad argument #1 to 'f' (the buffer is closed)"},
    ["the buffers of a copy"] = {[[
      busy()
      local f = y.copy
      closing(function() z:close() end)
      f(y, z)]], "bad argument #2 to 'f' (the buffer is closed)"},
    ["the queue of q:fill"] = {[[
      busy(q)
      local f = q.fill
      closing(function() q:close() end)
      f(q, y, 1)]], "bad argument #1 to 'f' (the queue is closed)"},
    ["the queue of q:copy"] = {[[
      busy(q)
      local f = q.copy
      closing(function() q:close() end)
      f(q, y, z)]], "bad argument #1 to 'f' (the queue is closed)"},
    ["the queue of q:barrier"] = {[[
      busy(q)
      local f = q.barrier
      closing(function() q:close() end)
      f(q)]], "bad argument #1 to 'f' (the queue is closed)"},
    ["the default queue of a launch, which it is the last to have"] = {[[
      local base, launch = lze.queue(), {1}
      lze.default(lze.queue())
      busy()
      closing(function() lze.default(base) end)
      add(launch, out, 1)]]},
    ["the default queue of a fill, which it is the last to have"] = {[[
      local base, f = lze.queue(), y.fill
      lze.default(lze.queue())
      busy()
      closing(function() lze.default(base) end)
      f(y, 1)]]},
    ["the buffer that is read"] = {[[
      mod.spin(4, x, 50000000)
      local f = x.read
      closing(function() x:close() end)
      f(x)]], "bad argument #1 to 'f' (the buffer was closed during the wait)"},
    ["the device buffer that is read"] = {[[
      local d = lze.buffer("uint", 4, {usage = "device"})
      mod.spin(4, d, 50000000)
      local f = d.string
      closing(function() d:close() end)
      f(d)]]},
    ["the context of the device buffer that is read"] = {[[
      local d = lze.buffer("uint", 4, {usage = "device"})
      mod.spin(4, d, 50000000)
      local f = d.string
      closing(function() d.context:close() end)
      f(d)]], "bad argument #1 to 'f' (the buffer was closed during the wait)"},
    ["the context of the device buffer that is written"] = {[[
      local d = lze.buffer("uint", 4, {usage = "device"})
      mod.spin(4, d, 50000000)
      local f = d.write
      closing(function() d.context:close() end)
      f(d, "\1\0\0\0")]],
      "bad argument #1 to 'f' (the buffer was closed during the wait)"},
    ["the event that is waited for"] = {[[
      local ev = mod.spin:launch(4, x, 50000000)
      local f = ev.wait
      closing(function() ev:close() ev = nil end)
      assert(f(ev) == true)]]},
    ["the event whose times are read"] = {[[
      local ev = mod.spin:launch(4, x, 50000000)
      local f = ev.time
      closing(function() ev:close() end)
      f(ev)]], "bad argument #1 to 'f' (the event is closed)"},
    ["the queue that is waited for"] = {[[
      mod.spin({4, queue = q}, x, 50000000)
      local f = q.wait
      closing(function() q:close() q = nil end)
      assert(f(q) == true)]]},
    ["the context that everything waits for"] = {[[
      mod.spin({4, queue = q}, x, 50000000)
      mod.spin(4, out, 50000000)
      closing(function() lze.device().context:close() end)
      assert(lze.wait() == true)]]},
  } do
    it(what .. " does no harm", function()
      local r = process.run(full:format(case[1]), {seconds = 200})
      assert.equal("exit 0", r.how .. " " .. r.code, r.output)
      local said, waited = r.output:match "^([^\n]*)\n([^\n]*)\n$"
      if case[2] then
        -- A finalizer may run the hook before the wait begins.
        local function plain(s)
          return (s:gsub("was closed during the wait", "is closed"))
        end
        assert.equal(plain("false\t" .. case[2]),
          plain(said:gsub("\tstdin:%d+: ", "\t")))
      else
        assert.matches("^%a+\t", said)
      end
      assert.equal("true", waited)
    end)
  end
end)

describe("a hook in the wait of a checked launch", function()
  it("may close the parent of a view", function()
    assert.equal("buffer: uint[4096] (closed)\n", process.output([[
      local lze = require "lze"
      local spin = lze.load "kernels/spec.spv".spin
      local x = lze.buffer("uint", 4096)
      local v, calls = x:view(11, 14), 0
      debug.sethook(function()
        calls = calls + 1
        if calls < 2 then return end
        debug.sethook()
        x:close()
        collectgarbage()
      end, "c")
      spin(4, v, 20000000)
      print(x)]], {env = {LZE_CHECK = "1"}}))
  end)
end)

describe("a metamethod of a launch table", function()
  it("is never called", function()
    assert.equal("true\n1\n", process.output [[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      local k, out = mod.add, lze.buffer("int", 1)
      print(pcall(k, setmetatable({1}, {__index = function()
        k:close()
        mod:close()
      end}), out, 1))
      print(out[1])]])
  end)
end)

describe("a finalizer that closes", function()
  it("the kernel of the launch that ran it does no harm", function()
    assert.equal("true\n", process.output [[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 1)
      local closed, launched = 0, 0
      require "spec.support.collector" ("incremental", 1, 1000, 5)
      while closed < 200 do
        local k = mod.add
        setmetatable({}, {__gc = function() k:close() end})
        local launch = k.launch
        for _ = 1, 1000 do
          local ok, err = pcall(launch, k, {1}, x, 1)
          if not ok then
            assert(err:find "kernel add is closed", err)
            closed = closed + 1
            break
          end
          launched = launched + 1
        end
      end
      print(x[1] == launched)]])
  end)

  it("the queue, the buffer or the module of a call does no harm", function()
    assert.equal("true\n", process.output [[
      local lze = require "lze"
      local spv = io.open("kernels/saxpy.spv", "rb"):read "a"
      local mod = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 4)
      require "spec.support.collector" ("incremental", 1, 1000, 5)
      local calls = {
        function(o) return o:launch(mod.add, 1, x, 1) end,
        function(o) return o:fill(x, 1) end,
        function(o) return o:copy(x, lze.buffer("int", 4)) end,
        function(o) return o:barrier() end,
        function(o) return tostring(o) .. o.mode end,
      }
      for i, call in ipairs(calls) do
        for _ = 1, 20 do
          local q = lze.queue()
          setmetatable({}, {__gc = function() q:close() end})
          for _ = 1, 200 do
            local ok, err = pcall(call, q)
            if not ok then assert(tostring(err):find "closed", err) break end
          end
        end
      end
      for _ = 1, 100 do
        local b = lze.buffer("int", {1, 2, 3, 4})
        setmetatable({}, {__gc = function() b:close() end})
        for _ = 1, 100 do
          local ok, err = pcall(function()
            local v = b:view(2, 3)
            b:copy(b, 1, 3, 2)
            assert(#b:read() == 4 and #b:string() == 16 and #v:read() == 2)
            return tostring(b)
          end)
          if not ok then assert(tostring(err):find "closed", err) break end
        end
      end
      for _ = 1, 20 do
        local m = lze.module(spv)
        setmetatable({}, {__gc = function() m:close() end})
        for _ = 1, 100 do
          local ok, err = pcall(function()
            local k = m.saxpy
            local s = tostring(m) .. tostring(k) .. #m:kernels() .. #k.args
            k:close()
            return s
          end)
          if not ok then assert(tostring(err):find "closed", err) break end
        end
      end
      print(lze.wait(60))]])
  end)

  it("a buffer that is being printed does no harm", function()
    -- It runs while the text or the table of a vector is created.
    assert.equal("buffer: int4[2] (closed)\n", process.output [[
      local lze = require "lze"
      require "spec.support.collector" ("incremental", 1, 1000, 5)
      local text
      for _ = 1, 500 do
        local x = lze.buffer("int4", 2)
        setmetatable({}, {__gc = function() x:close() end})
        repeat
          text = tostring(x)
        until text:find "closed"
        local y, ok, t = lze.buffer("int4", {{1, 2, 3, 4}})
        setmetatable({}, {__gc = function() y:close() end})
        repeat
          ok, t = pcall(function() return y[1] end)
          assert(not ok or t[4] == 4)
        until not ok
      end
      print(text)]])
  end)

  it("the context of a call does no harm", function()
    assert.equal("true\ttrue\n", process.output [[
      local lze = require "lze"
      local spv = io.open("kernels/saxpy.spv", "rb"):read "a"
      require "spec.support.collector" ("incremental", 1, 1000, 30)
      local closed = 0
      local calls = {
        function(o) return lze.buffer("int", {1, 2}, o) end,
        function(o) return lze.queue(o) end,
        function(o) return lze.queue(1, o) end,
        function(o) return lze.buffer("int", 1, o).context.driver end,
        function() return lze.device().context.driver end,
        function() return lze.device().queue.mode end,
        function() return lze.buffer("int", 1):fill(1)[1] end,
        function() return lze.default() end,
      }
      for _, call in ipairs(calls) do
        for i = 1, 10 do
          local o = {context = lze.context(i % 2 == 0 and {1} or nil)}
          -- It closes in the i-th collection, each at another place.
          local n, mt = i, {}
          function mt.__gc()
            n = n - 1
            if n > 0 then
              setmetatable({}, mt)
              return
            end
            o.context:close()
            o.context = lze.context {1}
          end
          setmetatable({}, mt)
          for _ = 1, 200 do
            local ok, err = pcall(call, o)
            if not ok then
              assert(tostring(err):find "closed", err)
              closed = closed + 1
              break
            end
          end
        end
      end
      print(closed > 0, lze.wait(60))]])
  end)
end)

describe("a context closed while its default queue is busy", function()
  it("lets the work finish before it is destroyed", function()
    for _, batched in ipairs {false, "0"} do
      assert.equal("true\t1\n", process.output([[
        local lze = require "lze"
        for i = 1, 10 do
          local mod = lze.load "kernels/spec.spv"
          local x = lze.buffer("uint", 4)
          mod.spin(4, x, 1000000)
          for _ = 1, 10 do mod.nothing(1) end
          local ev = i % 2 == 0 and mod.nothing:launch(1)
          lze.device().context:close()
          if i % 3 == 0 then collectgarbage() end
          if ev and i % 4 == 0 then assert(ev:wait(60)) end
        end
        local x = lze.buffer("int", 1)
        lze.load "kernels/spec.spv".add(1, x, 1)
        print(lze.wait(60), x[1])]],
        {env = {LZE_USE_IMMEDIATE_COMMANDLISTS = batched}}))
    end
  end)
end)

describe("a hook in the evaluation of an expression", function()
  for _, method in ipairs {"current", "fetch"} do
    it("can close the plan whose " .. method .. " is given it", function()
      local out = process.output(([[
        local lze = require "lze"
        local m = lze.load "kernels/spec.spv"
        for n = 1, 12 do
          local a, b = lze.buffer("int", 2), lze.buffer("int", 2)
          local plan = lze.graph "g":task("t", m.add, 2, a, 1):swap(a, b)
            :compile()
          local e, calls = lze.array("int", {1, 2}) * 1, 0
          debug.sethook(function()
            calls = calls + 1
            if calls == n then plan:close() end
          end, "c")
          local ok, err = pcall(plan.%s, plan, e)
          debug.sethook()
          assert(not ok and err:find("plan is closed", 1, true), err)
        end
        print "right"]]):format(method))
      assert.equal("right\n", out)
    end)
  end
end)
