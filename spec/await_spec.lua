-- await_spec.lua - events in coroutines and for poll loops.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"
local limit = 60

local function slow()
  return mod.spin:launch(1, lze.buffer("uint", 1), 50000000)
end

describe("await", function()
  it("yields until the work is done", function()
    local ev = slow()
    local result
    local co = coroutine.create(function() result = ev:await() end)
    local resumes = 0
    repeat
      local ok, yielded = coroutine.resume(co)
      assert.is_true(ok, yielded)
      if coroutine.status(co) == "suspended" then
        assert.equal(ev, yielded)
        ev:wait(0.01) -- a scheduler would do something else
      end
      resumes = resumes + 1
    until coroutine.status(co) == "dead"
    assert.is_true(resumes >= 2)
    assert.is_true(result)
    assert.is_true(ev:done())
  end)

  it("lets several coroutines run at once", function()
    local x = lze.buffer("int", 8)
    local running = {}
    for i = 1, 8 do
      running[i] = coroutine.create(function()
        for _ = 1, 5 do mod.add:launch(1, x:view(i, i), i):await() end
        assert(x[i] == 5 * i)
        return "end"
      end)
    end
    local ended = 0
    while ended < 8 do
      for i, co in pairs(running) do
        local ok, v = coroutine.resume(co)
        assert.is_true(ok, v)
        if coroutine.status(co) == "dead" then
          assert.equal("end", v)
          running[i] = nil
          ended = ended + 1
        end
      end
    end
    assert.same({5, 10, 15, 20, 25, 30, 35, 40}, x:read())
  end)

  it("accepts another function to yield", function()
    local ev = slow()
    local co = coroutine.wrap(function()
      return ev:await(function(e)
        coroutine.yield("mine", e)
      end)
    end)
    local word, e = co()
    assert.equal("mine", word)
    assert.equal(ev, e)
    ev:wait(limit)
    assert.is_true(co())
  end)

  it("checks the yield function even if the work is done", function()
    local ev = slow()
    for _ = 1, 2 do
      assert.matches("yield: function expected, got integer 5",
        expect.misuse(function() ev:await(5) end))
      assert.matches("yield: function expected, got table",
        expect.misuse(function() ev:await {} end))
      ev:wait(limit)
    end
    local callable = setmetatable({}, {__call = coroutine.yield})
    assert.is_true(ev:await(callable))
  end)

  it("checks lze.yield", function()
    finally(function() lze.yield = coroutine.yield end)
    for _, case in ipairs {{"integer 5", 5}, {"table", {}}, {"nil"}} do
      lze.yield = case[2]
      local ev = slow()
      assert.matches("lze%.yield: function expected, got " .. case[1],
        expect.misuse(coroutine.wrap(function() ev:await() end)))
      ev:wait(limit)
    end
  end)

  it("uses lze.yield", function()
    assert.equal(coroutine.yield, lze.yield)
    lze.yield = function(ev) coroutine.yield("ours", ev) end
    local ev = slow()
    local co = coroutine.wrap(function() return ev:await() end)
    local word = co()
    lze.yield = coroutine.yield
    assert.equal("ours", word)
    ev:wait(limit)
    assert.is_true(co())
  end)

  it("waits if it cannot yield", function()
    local script = coroutine.wrap(function()
      -- The comparison function of a sort cannot yield.
      local ev = slow()
      table.sort({1, 2}, function(a, b)
        assert(ev:await() and ev:done())
        return a < b
      end)
      return true
    end)
    assert.is_true(script())
  end)

  it("passes on errors from the yield function", function()
    local ev = slow()
    local co = coroutine.create(function()
      ev:await(function() error "no more" end)
    end)
    local ok, err = coroutine.resume(co)
    assert.is_false(ok)
    assert.matches("no more$", err)
    assert.is_true(ev:wait(limit))
  end)

  it("raises an error if the event is closed while it yields", function()
    local ev = slow()
    local co = coroutine.create(function() ev:await() end)
    assert.is_true(coroutine.resume(co))
    ev:close()
    local ok, err = coroutine.resume(co)
    assert.is_false(ok)
    assert.matches("the event is closed", err)
    lze.wait()
  end)

  it("does no harm if its coroutine is dropped", function()
    do
      local co = coroutine.create(function() slow():await() end)
      coroutine.resume(co)
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(lze.wait(limit))
  end)
end)

describe("fd", function()
  local pid = io.open("/proc/self/stat"):read "n"
  local function is_open(fd)
    return (os.execute(("test -e /proc/%d/fd/%d"):format(pid, fd)))
  end

  it("is a descriptor that belongs to the event", function()
    local ev = slow()
    local fd = ev:fd()
    assert.equal("integer", math.type(fd))
    assert.equal(fd, ev:fd())
    assert.is_true(is_open(fd))
    assert.is_true(ev:wait(limit))
    assert.is_true(ev:done())
    ev:close()
    assert.is_nil(is_open(fd))
  end)

  it("exists for finished work, too", function()
    local ev = mod.nothing:launch(1)
    ev:wait()
    local fd = ev:fd()
    assert.is_true(is_open(fd))
    ev = nil
    collectgarbage()
    collectgarbage()
    assert.is_nil(ev)
    assert.is_nil(is_open(fd))
  end)

  it("of a batched queue closes with its event", function()
    local q = lze.queue {mode = "batched"}
    for _ = 1, 3 do
      local ev = q:launch(mod.nothing, 1)
      local fd = ev:fd()
      assert.is_true(is_open(fd))
      assert.is_true(ev:wait(limit))
      ev:close()
      assert.is_nil(is_open(fd))
    end
  end)

  it("can be created by the hundred", function()
    local x = lze.buffer("int", 1)
    for _ = 1, 5 do
      local events = {}
      for i = 1, 100 do
        events[i] = mod.add:launch(1, x, 1)
        events[i]:fd()
      end
      for _, ev in ipairs(events) do ev:close() end
    end
    assert.equal(500, x[1])
    assert.matches("the event is closed",
      expect.misuse(function()
        local ev = mod.nothing:launch(1)
        ev:close()
        ev:fd()
      end))
  end)
end)
