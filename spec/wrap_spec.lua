-- wrap_spec.lua - native objects of the host, wrapped as lze objects.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local native = assert(package.loadlib(
  os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()

local spec = "kernels/spec.spv"
local limit = 60
local dev = lze.device()
local driver = dev.driver.handle

-- Calls f with a device in a context of the host, and with that context. Both
-- are released afterwards.
local function with_context(f)
  local context = native.context(driver)
  local wrapped = lze.wrap {driver = driver, device = dev.handle,
    context = context}
  local ok, err = pcall(f, wrapped, context)
  assert(lze.wait(limit))
  wrapped.context:close()
  native.context_destroy(context)
  if not ok then error(err, 0) end
end

describe("a wrapped context", function()
  it("is the context of the returned device", function()
    with_context(function(d, context)
      assert.equal("device", lze.type(d))
      assert.equal(dev.name, d.name)
      assert.equal(dev.handle, d.handle)
      assert.equal(context, d.context.handle)
      assert.equal(d, d.queue.device)
      assert.not_equal(dev.context, d.context)
    end)
  end)

  it("is the same each time, and needs no driver", function()
    with_context(function(d, context)
      assert.equal(d, lze.wrap {device = dev, context = context})
      assert.equal(d.context,
        lze.wrap({device = dev.handle, context = context}).context)
    end)
  end)

  it("supports modules, buffers and launches", function()
    with_context(function(d)
      local mod = lze.load(spec, {device = d})
      local x = lze.buffer("int", {1, 2, 3}, {device = d})
      local y = lze.buffer("int", 3, {device = d, usage = "device"})
      mod.square(3, x, y)
      assert.same({1, 4, 9}, y:read())
      assert.equal(d, x.device)
      assert.equal(d.context, y.context)
    end)
  end)

  it("makes objects on its own device if the system's is named", function()
    with_context(function(d)
      local x = lze.buffer("int", {1, 2, 3}, {device = dev,
        context = d.context})
      assert.equal(d, x.device)
      local q = lze.queue(dev, {context = d.context})
      assert.equal(d, q.device)
      local mod = lze.load(spec, {device = d})
      local y = lze.buffer("int", 3, {device = d, usage = "device"})
      q:launch(mod.square, 3, x, y)
      assert.same({1, 4, 9}, y:read())
    end)
  end)

  it("appears in profiles, without a number if lze.devices() raises", function()
    assert.equal("fill nil false\n", process.output([[
      local lze = require "lze"
      local native = assert(package.loadlib(os.getenv "LZE_TEST_BUILD" ..
        "/spec/native.so", "luaopen_native"))()
      local driver = lze.drivers()[1].handle
      local context = native.context(driver)
      local d = lze.wrap {driver = driver, device = native.device(driver),
        context = context}
      local p = lze.profile(function()
        lze.buffer("int", 16, {device = d}):fill(1)
      end)
      for _, e in ipairs(p.events) do
        if e.kind == "fill" then
          print(("%s %s %s"):format(e.kind, e.device_number,
            (pcall(lze.devices))))
        end
      end
      d.context:close()
      native.context_destroy(context)
    ]], {env = {ONEAPI_DEVICE_SELECTOR = "gpu"}}))
  end)

  it("does not mix with another context", function()
    with_context(function(d)
      local mod = lze.load(spec, {device = d})
      local x = lze.buffer("int", 3)
      assert.matches("another context",
        expect.misuse(function() mod.square(3, x, x) end))
      local plan = lze.graph():fill("f", lze.buffer("int", 3, {device = d}), 1)
        :compile()
      assert.matches("task graph.f: a buffer of another context",
        expect.misuse(function() plan:set("f", 1, x) end))
    end)
  end)

  it("can be the default", function()
    local before, context, queue = lze.default()
    with_context(function(d)
      lze.default(d)
      assert.equal(d, (lze.default()))
      local x = lze.buffer("int", {3})
      assert.equal(d, x.device)
      lze.load(spec).square(1, x, x)
      assert.equal(9, x[1])
      lze.default(before)
      lze.default(context)
      lze.default(queue)
    end)
    assert.equal(before, lze.buffer("int", 1).device)
  end)

  it("is closed cleanly, with its objects", function()
    local context = native.context(driver)
    local d = lze.wrap {device = dev, context = context}
    local x = lze.buffer("int", 1, {device = d})
    d.context:close()
    assert.matches("closed", expect.misuse(function() return x[1] end))
    assert.matches("the context is closed",
      expect.misuse(function() lze.buffer("int", 1, {device = d}) end))
    native.context_destroy(context)
  end)

  it("is released by a collection when nothing is in flight", function()
    assert.equal("41\n", process.output(([[
      local native = assert(package.loadlib(%q, "luaopen_native"))()
      local lze = require "lze"
      local dev = lze.device()
      local context = native.context(dev.driver.handle)
      local p = native.alloc("shared", context, dev.handle, 64)
      local d = lze.wrap {device = dev, context = context}
      local x = lze.wrap {buffer = p, type = "int", count = 4, device = d}
      x[1] = 41
      lze.wait()
      x, d = nil, nil
      collectgarbage() collectgarbage()
      print((("i4"):unpack(native.peek(p, 4))))
      native.free(context, p)
      native.context_destroy(context)]]):format(
        os.getenv "LZE_TEST_BUILD" .. "/spec/native.so")))
  end)

  it("runs plans and tasks that name the system's device", function()
    with_context(function(d)
      local mod <close> = lze.load(spec, {device = d})
      local x <close> = lze.buffer("int", 4, {device = d, usage = "device"})
      local double = lze.kernel(function(i, a) a[i] = a[i] * 2 end)
      x:fill(0)
      for _, options in ipairs {{device = dev}, {devices = {dev}}, {}} do
        local plan <close> = lze.graph()
          :task("t", mod.add, {4, device = dev}, x, 1)
          :task("in Lua", double, {4, device = dev}, x):compile(options)
        plan:run()
        assert.equal(d, plan.device)
        assert.equal(2, #plan:report().tasks)
      end
      assert.same({14, 14, 14, 14}, x:read())
    end)
  end)
end)

describe("lze.wrap of a context", function()
  local function misuse(t)
    return expect.misuse(function() lze.wrap(t) end)
  end

  it("refuses an invalid context", function()
    assert.matches("one of queue, buffer, event or context expected",
      misuse {device = dev})
    assert.matches("light userdata%) expected, got integer 5",
      misuse {context = 5})
    assert.matches("option context: a null handle",
      misuse {context = native.null()})
    assert.matches("it is the handle of a device",
      misuse {context = dev.handle})
    assert.matches("it is the handle of a driver",
      misuse {context = driver})
    assert.matches("unknown key 'contxt' in what is to be wrapped",
      misuse {contxt = driver})
    assert.matches("option count: of no use where a context is wrapped",
      misuse {context = native.offset(driver, 8), count = 1})
  end)

  it("refuses an unknown device or driver", function()
    local context = native.context(driver)
    assert.matches("no driver of this loader has a device of that handle",
      misuse {context = context, device = native.offset(dev.handle, 1)})
    assert.matches("option driver: the device is of another driver",
      misuse {context = context, device = dev,
        driver = native.offset(driver, 1)})
    native.context_destroy(context)
  end)

  it("refuses a context that lze made", function()
    local own = lze.context(dev)
    assert.matches("it is lze's own: use that context",
      misuse {context = own.handle, device = dev})
    own:close()
    -- The default context is an exception: it returns the device itself.
    assert.equal(dev, lze.wrap {context = dev.context.handle, device = dev})
  end)
end)

describe("lze.wrap in a closed context of the host", function()
  it("refuses all objects of that context", function()
    local context = native.context(driver)
    local d = lze.wrap {context = context, device = dev}
    local p = native.alloc("shared", context, dev.handle, 64)
    local x = lze.wrap {buffer = p, type = "int", count = 4, device = d}
    local q = lze.queue(d)
    local event, pool = native.event(context)
    local ev = lze.wrap {event = event, device = d}
    d.context:close()
    for _, t in ipairs {
      {buffer = p, type = "int", count = 4, device = d},
      {event = p, device = d},
      {queue = p, device = d},
    } do
      assert.matches("the context is closed",
        expect.misuse(function() lze.wrap(t) end))
    end
    assert.matches("the context is closed",
      expect.misuse(function() lze.buffer("int", 1, {device = d}) end))
    assert.matches("closed", expect.misuse(function() return x[1] end))
    assert.matches("closed", expect.misuse(function() q:wait() end))
    for _, name in ipairs {"done", "wait", "time", "await", "fd"} do
      assert.matches("closed", expect.misuse(function() ev[name](ev) end))
    end
    assert.equal("event (closed)", tostring(ev))
    native.event_destroy(event, pool)
    native.free(context, p)
    native.context_destroy(context)
  end)
end)

describe("a wrapped buffer", function()
  it("limits the range that a kernel writes", function()
    with_context(function(d, context)
      local p = native.alloc("shared", context, dev.handle, 64)
      local x = lze.wrap {buffer = p, type = "int", count = 4, device = d}
      x:write {1, 2, 3, 4}
      local add = lze.load(spec, {device = d}).add
      assert.matches("global size 5: argument 1 %(%w+%) has 4 elements, " ..
        "and element 5 is accessed", expect.misuse(function()
          add(5, x, 1)
        end))
      add(4, x, 1)
      assert.same({2, 3, 4, 5}, x:read())
      x:close()
      native.free(context, p)
    end)
  end)

  for _, usage in ipairs {"shared", "device", "host"} do
    it("is the host's memory: " .. usage, function()
      with_context(function(d, context)
        local p = native.alloc(usage, context, dev.handle, 64)
        local x = lze.wrap {buffer = p, type = "int", count = 16, device = d}
        assert.equal(usage, x.usage)
        assert.equal(16, #x)
        assert.equal("int", x.type)
        assert.equal(p, x.handle)
        x:write {1, 2, 3}
        lze.load(spec, {device = d}).square(3, x, x)
        assert.same({1, 4, 9}, x:read(1, 3))
        if usage ~= "device" then
          native.poke(p, ("i4"):pack(7))
          assert.equal(7, x[1])
        end
        x:close()
        native.free(context, p)
      end)
    end)
  end

  it("does not count as device memory of the state", function()
    with_context(function(d, context)
      collectgarbage() collectgarbage()
      assert(lze.wait(limit))
      local before = lze.stats().bytes
      local p = native.alloc("shared", context, dev.handle, 1 << 20)
      local x = lze.wrap {buffer = p, type = "char", count = 1 << 20,
        device = d}
      assert.equal(before, lze.stats().bytes)
      x:close()
      native.free(context, p)
      assert.equal(before, lze.stats().bytes)
    end)
  end)

  it("may begin and end anywhere inside an allocation, but not outside",
    function()
    with_context(function(d, context)
      local p = native.alloc("shared", context, dev.handle, 64)
      local function wrap(bytes, count, type)
        return lze.wrap {buffer = native.offset(p, bytes), count = count,
          type = type or "int", device = d}
      end
      local x <close> = wrap(0, 16)
      local y <close> = wrap(8, 2)
      x:write {1, 2, 3, 4}
      assert.same({3, 4}, y:read())
      assert.equal(0, #wrap(60, 0))
      assert.equal(1, #wrap(60, 1))
      for _, bad in ipairs {{0, 17}, {60, 2}, {8, 1 << 62}} do
        assert.matches("option count: %d+ int are more than the %d+ bytes",
          expect.misuse(function() wrap(bad[1], bad[2]) end))
      end
      assert.matches("option count: %-1 is negative",
        expect.misuse(function() wrap(0, -1) end))
      assert.matches("is not aligned for int",
        expect.misuse(function() wrap(2, 1) end))
      assert.matches("is not aligned for float4",
        expect.misuse(function() wrap(8, 1, "float4") end))
      local three = lze.struct "int a, b, c" -- aligned as its fields are
      for at = 0, 8, 4 do
        local z <close> = wrap(at, 1, three)
        assert.equal(x[at // 4 + 2], z[1].b)
      end
      assert.matches("is not aligned for struct", expect.misuse(function()
        wrap(2, 1, three)
      end))
      lze.wait()
      native.free(context, p)
    end)
  end)

  it("is ordered with other buffers on the same allocation", function()
    with_context(function(d, context)
      local mod = lze.load(spec, {device = d})
      local p = native.alloc("shared", context, dev.handle, 4 * 256)
      local a = lze.wrap {buffer = p, type = "uint", count = 256, device = d}
      local b = lze.wrap {buffer = native.offset(p, 4), type = "uint",
        count = 255, device = d}
      local c = lze.wrap {buffer = p, type = "int", count = 256, device = d}
      local slow = lze.queue(d):launch(mod.spin, 1, a, 30000000)
      local other = lze.queue(d):fill(b, 5)
      assert.is_true(other:wait(limit))
      assert.is_true(slow:done())
      assert.equal(5, c[2])
      a:close()
      assert.equal(5, b[1]) -- another buffer on it is not closed
      b:close() c:close()
      lze.wait()
      native.free(context, p)
    end)
  end)

  it("may use memory of lze, which then stays allocated", function()
    local x = lze.buffer("int", {1, 2, 3, 4})
    local p = x.handle
    local y = lze.wrap {buffer = native.offset(p, 8), type = "int", count = 2,
      device = x.device}
    x = nil -- luacheck: ignore 311
    collectgarbage() collectgarbage()
    assert.same({3, 4}, y:read())
  end)

  it("is refused if the pointer is not USM of the context", function()
    with_context(function(d, context)
      local p = native.alloc("shared", context, dev.handle, 64)
      local function misuse(t)
        return expect.misuse(function() lze.wrap(t) end)
      end
      assert.matches("is not unified shared memory %(USM%) of this context",
        misuse {buffer = native.offset(native.null(), 4096), type = "int",
          count = 1, device = d})
      assert.matches("not unified shared memory",
        misuse {buffer = native.offset(p, -64), type = "int", count = 1,
          device = d})
      for got, type in pairs {["string 'itn'"] = "itn", ["nil"] = false} do
        assert.matches("option type: one of char .* expected, got " .. got,
          misuse {buffer = p, type = type or nil, count = 1, device = d})
      end
      assert.matches("option count: integer expected, got nil",
        misuse {buffer = p, type = "int", device = d})
      assert.matches("option event: of no use where a buffer is wrapped",
        misuse {buffer = p, type = "int", count = 1, event = p})
      assert.matches("not unified shared memory %(USM%) of this context",
        misuse {buffer = p, type = "int", count = 1, device = dev})
      assert.matches("not unified shared memory %(USM%) of this context",
        misuse {buffer = lze.buffer("int", 1).handle, type = "int", count = 1,
          device = d})
      native.free(context, p)
      assert.matches("not unified shared memory",
        misuse {buffer = p, type = "int", count = 1, device = d})
    end)
  end)
end)

describe("a wrapped queue", function()
  it("appends to the host's immediate list", function()
    with_context(function(d, context)
      local list = native.list(context, dev.handle, "immediate")
      local q = lze.wrap {queue = list, device = d}
      assert.equal("queue", lze.type(q))
      assert.equal(list, q.handle)
      assert.equal("immediate", q.mode)
      local x = lze.buffer("int", {1, 2, 3}, {device = d})
      local mod = lze.load(spec, {device = d})
      local ev = q:launch(mod.square, 3, x, x)
      assert.is_true(ev:wait(limit))
      assert.same({1, 4, 9}, x:read())
      for _ = 1, 3 do q:fill(x, 7, 2, 2) end
      mod.square({3, queue = q}, x, x)
      assert.is_true(q:wait(limit))
      assert.same({1, 49, 81}, x:read())
      -- The list still belongs to the host: before, between and after.
      local y = lze.buffer("int", 4, {device = d})
      native.fill(list, y.handle, 1, 16)
      q:copy(y, x, 1, 1):wait(limit)
      assert.same({1, 0x01010101}, y:read(1, 2))
      q:close()
      -- lze does not track commands of the list's owner, and does not wait for
      -- them.
      local event, pool = native.event(context)
      native.fill(list, y.handle, 2, 16, event)
      assert.is_true(native.done(event, limit))
      assert.equal(0x02020202, y[4])
      native.event_destroy(event, pool)
      native.list_destroy(list)
    end)
  end)

  it("is refused for another kind, context or device of list", function()
    with_context(function(d, context)
      local regular = native.list(context, dev.handle, "regular")
      assert.matches("a regular command list; an immediate one expected",
        expect.misuse(function()
          lze.wrap {queue = regular, device = d}
        end))
      native.list_destroy(regular)
      local list = native.list(context, dev.handle, "immediate")
      assert.matches("option queue: the list is of another context",
        expect.misuse(function() lze.wrap {queue = list, device = dev} end))
      native.list_destroy(list)
    end)
  end)
end)

describe("a wrapped event", function()
  local function with_event(f)
    with_context(function(d, context)
      local event, pool = native.event(context)
      local ok, err = pcall(f, d, event, context)
      lze.wait()
      native.event_destroy(event, pool)
      if not ok then error(err, 0) end
    end)
  end

  it("follows the host's event", function()
    with_event(function(d, event)
      local ev = lze.wrap {event = event, device = d}
      assert.equal("event", lze.type(ev))
      assert.equal(event, ev.handle)
      assert.equal("event: event, of the host", tostring(ev))
      assert.is_false(ev:done())
      assert.is_false(ev:wait(0))
      assert.is_false(ev:wait(0.01))
      native.signal(event)
      assert.is_true(ev:done())
      assert.is_true(ev:wait())
      native.reset(event)
      assert.is_false(ev:done())
      ev:close()
      assert.matches("closed", expect.misuse(function() ev:done() end))
    end)
  end)

  it("delays a launch until it is signalled", function()
    with_event(function(d, event)
      local mod = lze.load(spec, {device = d})
      local x = lze.buffer("int", {3}, {device = d})
      local gate = lze.wrap {event = event, device = d}
      local ev = mod.square:launch({1, after = gate}, x, x)
      assert.is_false(ev:wait(0.05))
      native.signal(event)
      assert.is_true(ev:wait(limit))
      assert.equal(9, x[1])
      -- Again, with the same event and in an array, on a separate queue.
      native.reset(event)
      local q = lze.queue(d)
      local other = q:barrier {ev, gate}
      local copied = q:fill(x, 4)
      assert.is_false(copied:wait(0.05))
      assert.is_false(other:done())
      native.signal(event)
      assert.is_true(copied:wait(limit))
      assert.equal(4, x[1])
    end)
  end)

  for _, kind in ipairs {{}, {mode = "batched"}, {order = "out"}} do
    local name = kind.mode or kind.order or "immediate"
    it("is signalled by launches and queues: " .. name, function()
      with_event(function(d, event)
        local mod = lze.load(spec, {device = d})
        local x = lze.buffer("uint", {3}, {device = d})
        local q = lze.queue(d, kind)
        local out = lze.wrap {event = event, device = d}
        mod.spin({1, queue = q, signal = out}, x, 100000000)
        assert.is_false(native.done(event))
        assert.is_true(native.done(event, limit))
        native.reset(event)
        local ev = q:launch(mod.spin, {1, signal = out}, x, 100000000)
        assert.is_false(native.done(event))
        assert.is_true(out:wait(limit))
        assert.is_true(ev:wait(limit))
        native.reset(event)
        q:fill(x, 5)
        local signalled = q:signal(out)
        assert.is_true(native.done(event, limit))
        assert.is_true(signalled:wait(limit))
        assert.equal(5, x[1])
        -- An empty launch also signals the event, in its turn.
        native.reset(event)
        q:launch(mod.spin, 1, x, 100000000)
        mod.spin({0, queue = q, signal = out}, x, 1)
        assert.is_false(native.done(event))
        assert.is_true(native.done(event, limit))
      end)
    end)
  end

  it("has a time and a descriptor, and can be awaited", function()
    with_event(function(d, event)
      local ev = lze.wrap {event = event, device = d}
      local co = coroutine.wrap(function() return ev:await() end)
      co()
      local fd = ev:fd()
      assert.is_true(fd > 2)
      assert.equal(fd, ev:fd())
      native.signal(event)
      assert.is_true(co())
      assert.equal(0, ev:time().queued_ns)
      ev:close()
    end)
  end)

  it("is refused if it belongs to another context or is closed", function()
    with_event(function(d, event)
      local mod = lze.load(spec)
      local x = lze.buffer("int", 1)
      assert.matches("option event: it is of another context",
        expect.misuse(function() lze.wrap {event = event, device = dev} end))
      local ev = lze.wrap {event = event, device = d}
      assert.matches("kernel square: after: an event of another context",
        expect.misuse(function() mod.square({1, after = ev}, x, x) end))
      assert.matches("kernel square: signal: an event of another context",
        expect.misuse(function() mod.square({1, signal = ev}, x, x) end))
      local own = mod.square:launch(1, x, x)
      assert.matches("kernel square: signal: an event of lze's own",
        expect.misuse(function() mod.square({1, signal = own}, x, x) end))
      assert.matches("q:signal: event expected, got integer 3",
        expect.misuse(function() dev.queue:signal(3) end))
      ev:close()
      assert.matches("kernel square: signal: the event is closed",
        expect.misuse(function() mod.square({1, signal = ev}, x, x) end))
    end)
  end)
end)

describe("the handle of an event that lze made", function()
  it("is not reused for another command while the event exists", function()
    local mod = lze.load(spec)
    local x = lze.buffer("uint", 1)
    local ev = mod.spin:launch(1, x, 30000000)
    local handle = ev.handle
    assert.equal("userdata", type(handle))
    assert.is_true(ev:wait(limit))
    for _ = 1, 200 do mod.spin:launch(1, x, 1):wait(limit) end
    assert.is_true(native.done(handle))
    assert.equal(handle, ev.handle)
    ev:close()
    local done = mod.spin:launch(1, x, 1)
    done:wait(limit)
    assert.is_nil(done.handle)
  end)

  it("of a batched queue will be signalled", function()
    local q = lze.queue {mode = "batched"}
    local ev = q:fill(lze.buffer("int", 4), 1)
    assert.is_true(native.done(ev.handle, limit))
  end)
end)
