-- state_spec.lua - the resources of a Lua state: defaults, contexts,
-- statistics, and device memory that drives the collector.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local function collect()
  collectgarbage()
  collectgarbage()
end

describe("lze.default", function()
  local device, context, queue = lze.default()

  after_each(function()
    lze.default(device)
    lze.default(context)
    lze.default(queue)
  end)

  it("returns the current defaults", function()
    assert.equal(lze.device(), device)
    assert.equal(device.context, context)
    assert.equal(device.queue, queue)
  end)

  it("takes a device or a selector", function()
    for _, v in ipairs {device, 1, "*"} do
      assert.equal(device, (lze.default(v)))
    end
    assert.matches("no device matches string 'abacus'",
      expect.misuse(function() lze.default "abacus" end))
    assert.is_false(pcall(lze.default, {}))
  end)

  it("sets the queue for launches, fills and copies", function()
    local mod = lze.load "kernels/spec.spv"
    local mine = lze.queue {mode = "batched"}
    assert.equal(mine, select(3, lze.default(mine)))
    assert.equal(mine, device.queue)
    local x = lze.buffer("int", {1, 2})
    mod.add(2, x, 1)
    assert.matches("batched, in order, compute engine, 1 in flight$",
      tostring(mine))
    assert.same({2, 3}, x:read())
  end)

  it("refuses a queue of a copy engine", function()
    local said = process.output([[
      local lze = require "lze"
      local q = lze.queue {engine = "copy"}
      if q.engine ~= "copy" then return end -- a driver without one
      local before = lze.device().queue
      print(select(2, pcall(lze.default, q)):match "%(.*%)")
      print(lze.device().queue == before, lze.array("int", {1, 2}):sum())
    ]], {env = {ZOCL_COPY_ENGINE = "1"}})
    if said == "" then return end
    assert.equal("(a queue of a copy engine, which runs no kernels)\n" ..
      "true\tarray: long {} 3\n", said)
  end)

  it("sets the context of a queue, too", function()
    local mine <close> = lze.context {device}
    local q = lze.queue {context = mine}
    local _, in_force, used = lze.default(q)
    assert.equal(mine, in_force)
    assert.equal(q, used)
    assert.equal(q, device.queue)
    local x = lze.buffer("int", {1, 2})
    assert.equal(mine, x.context)
    lze.load "kernels/spec.spv".add(2, x, 1)
    assert.same({2, 3}, x:read())
  end)

  it("sets the context for new objects", function()
    local mine <close> = lze.context {device}
    assert.equal(mine, select(2, lze.default(mine)))
    local x = lze.buffer("int", {1, 2})
    assert.equal(mine, x.context)
    lze.load "kernels/spec.spv".add(2, x, 1)
    assert.same({2, 3}, x:read())
  end)
end)

describe("lze.context", function()
  local mod = lze.load "kernels/spec.spv"

  it("returns the shared context without an argument", function()
    assert.equal(lze.device().context, lze.context())
  end)

  it("makes a context whose objects work together", function()
    local context <close> = lze.context {lze.device()}
    assert.not_equal(lze.device().context, context)
    assert.equal(lze.device().driver, context.driver)
    local options = {context = context}
    local m = lze.load("kernels/spec.spv", options)
    local x = lze.buffer("int", {1, 2, 3}, options)
    local q = lze.queue(options)
    m.add(3, x, 1)
    q:launch(m.add, 3, x, 1)
    assert.same({3, 4, 5}, x:read())
    assert.equal(context, x.context)
  end)

  it("makes a context whose objects do not mix with others", function()
    local context <close> = lze.context {lze.device()}
    local options = {context = context}
    local m = lze.load("kernels/spec.spv", options)
    local x, y = lze.buffer("int", 3), lze.buffer("int", {1, 2, 3}, options)
    assert.equal("kernel add: argument 1 (x): a buffer of another context",
      expect.misuse(function() m.add(3, x, 1) end))
    assert.equal("kernel add: argument 1 (x): a buffer of another context",
      expect.misuse(function() mod.add(3, y, 1) end))
    assert.equal("kernel add: queue: a queue of another device or context " ..
      "than the kernel", expect.misuse(function()
        m.add({3, queue = lze.queue()}, y, 1)
      end))
    assert.equal("kernel nothing: uses: a buffer of another context",
      expect.misuse(function() mod.nothing {1, uses = {y}} end))
    local ev = m.spin:launch(1, lze.buffer("uint", 1, options), 50000000)
    assert.equal("kernel nothing: after: an event of another context",
      expect.misuse(function() mod.nothing {1, after = ev} end))
    ev:wait()
    mod.nothing {1, after = ev} -- finished work satisfies any context
    assert.same({1, 2, 3}, y:read())
  end)

  it("closes all objects that were made in it, and no others", function()
    local context = lze.context {lze.device()}
    local options = {context = context}
    local m = lze.load("kernels/spec.spv", options)
    local x, y = lze.buffer("uint", 4, options), lze.buffer("int", {7})
    local q = lze.queue(options)
    local ev = q:launch(m.spin, 4, x, 10000000)
    local k, v = m.add, x:view(1, 2)
    context:close()
    for _, o in ipairs {context, m, x, q, k, v} do
      assert.matches("%(closed%)$", tostring(o))
    end
    assert.is_true(ev:wait(60))
    assert.equal(7, y[1])
    assert.equal("context (closed)", tostring(context))
    assert.equal("option context: the context is closed",
      expect.misuse(function() lze.buffer("int", 1, options) end))
  end)

  it("lives on in its objects after it was dropped", function()
    local x
    do
      local options = {context = lze.context {lze.device()}}
      x = lze.buffer("int", {1, 2, 3}, options)
    end
    collect()
    x:fill(5)
    assert.same({5, 5, 5}, x:read())
    assert.equal("context", lze.type(x.context))
  end)

  it("needs valid devices", function()
    assert.is_false(pcall(lze.context, {}))
    assert.is_false(pcall(lze.context, {1, "abacus"}))
    assert.is_false(pcall(lze.context, true))
    assert.equal("bad argument #1 to 'context' (devices: more than there are)",
      expect.misuse(function() lze.context {1, 1, 1, 1, 1, 1, 1, 1, 1} end))
  end)

  it("applies to its devices and their tiles only", function()
    assert.equal([[
2	2	2
t.lua:13: the context was made without this device: NAME
t.lua:14: the context was made without this device: NAME
1	true
2	true
1	true
true
3	4
]], (process.output([[
      assert(load([=[
local lze = require "lze"
local d = lze.devices()
local function index(v)
  for i, each in ipairs(d) do if each == v then return i end end
  return v.parent and index(v.parent)
end
local c = lze.context(d[2])
local options = {context = c}
local x = lze.buffer("float", {1, 2}, options)
local mod = lze.load("kernels/saxpy.spv", options)
print(index(x.device), index(mod.device), index(lze.queue(options).device))
local function try(f, ...) print(select(2, pcall(f, ...))) end
try(function() lze.buffer("float", 2, {context = c, device = d[1]}) end)
try(function() mod:on(d[1]) end)
local tile = d[2]:subdevices()[2]
lze.buffer("float", 2, {context = c, device = tile})
print(index(lze.default()), lze.context() == lze.device().context)
lze.default(c) -- has another device
print(index(lze.default()), lze.context() == c)
lze.default(d[1]) -- which it does not have
print(index(lze.default()), lze.context() ~= c)
print(lze.buffer("float", 1, {context = lze.context(tile)}).device == tile)
lze.parallel({d[2]}, 2, mod.saxpy, 2, x, x) -- in the kernel's context
mod.saxpy(0, 2, x, x)
print(#lze.parallel({tile, d[2]:subdevices()[1], d[2]}, 2, mod.saxpy, 0, x, x),
  #d[2]:subdevices() + #d)
]=], "=t.lua"))()
    ]], {env = {ZOCL_ROOT_DEVICES = 2, ZOCL_SUB_DEVICES = 2}})
      :gsub("device: [^\n]+", "device: NAME")))
  end)
end)

describe("a device", function()
  it("reports its memory", function()
    local d = lze.device()
    local before, total = d:memory()
    assert.equal(d.memory_bytes, total)
    local x <close> = lze.buffer("uchar", 1 << 20)
    local free = d:memory()
    assert.is_true(free <= before and free >= 0)
    assert.equal(1 << 20, #x)
  end)

  it("has properties", function()
    local d = lze.device()
    local p = d:properties()
    assert.equal(d.name, p.name)
    assert.equal(d.type, p.type)
    assert.equal(d.uuid, p.uuid)
    assert.equal(d.max_group_size, p.max_group_size)
    assert.is_true(p.max_group_size_x >= 1)
    assert.is_true(p.max_group_count_x >= 1)
    assert.is_true(p.timer_hz > 0)
    assert.matches("^%d%.%d+$", p.spirv_version)
    for key, v in pairs(p) do
      assert.is_string(key)
      assert.is_not_nil(v)
    end
    p.name = "changed" -- a plain table owned by the caller
    assert.equal(d.name, d:properties().name)
  end)
end)

describe("lze.stats", function()
  it("counts objects, bytes and launches", function()
    assert.equal([[
0	0	0	0
1048576	1	1
1048576	1048576	1	true	true
0	1048576	0	0	0
2
]], process.output [[
      local lze = require "lze"
      local s = lze.stats()
      print(s.bytes, s.peak_bytes, s.launches, s.in_flight)
      local x = lze.buffer("uchar", 1 << 20)
      local mod = lze.load "kernels/spec.spv"
      local k = mod.spin
      s = lze.stats()
      print(s.bytes, s.objects.storage, s.objects.module)
      k(4, x:view(1, 16, "uint"), 30000000)
      s = lze.stats()
      print(s.bytes, s.pinned_bytes, s.pinned, s.in_flight >= 1,
        s.launches == 1)
      x:close()
      k:close()
      mod:close()
      assert(lze.stats().pending >= 3)
      lze.wait()
      s = lze.stats()
      print(s.bytes, s.peak_bytes, s.pinned, s.in_flight, s.pending)
      lze.load "kernels/spec.spv".nothing(1)
      print(lze.stats().launches)]])
  end)

  it("counts bytes by usage", function()
    collectgarbage() collectgarbage()
    lze.wait()
    local before = lze.stats()
    local kept = {}
    for usage, n in pairs {shared = 1000, device = 2000, host = 4000} do
      kept[usage] = lze.buffer("uchar", n, {usage = usage})
      local now = lze.stats()
      assert.equal(n, now[usage .. "_bytes"] - before[usage .. "_bytes"])
    end
    assert.equal(7000, lze.stats().bytes - before.bytes)
    for _, x in pairs(kept) do x:close() end
    local after = lze.stats()
    assert.equal(before.shared_bytes, after.shared_bytes)
    assert.equal(before.host_bytes, after.host_bytes)
    lze.wait() -- the device buffer's zeros
    assert.equal(before.device_bytes, lze.stats().device_bytes)
  end)

  it("shows that dropped objects are freed", function()
    assert.equal("true\n0\tnil\n", process.output [[
      local lze = require "lze"
      for _ = 1, 10 do
        local x = lze.buffer("uchar", 1 << 20)
        x:fill(1)
        lze.buffer("uchar", 1 << 20):copy(x)
      end
      print(lze.stats().bytes > 0)
      lze.wait()
      collectgarbage() collectgarbage()
      local s = lze.stats()
      print(s.bytes, s.objects.storage)]])
  end)
end)

describe("device memory", function()
  it("drives the collector", function()
    -- 4 GiB, each piece dropped immediately; a stopped collector does not run.
    local script = [[
      local lze = require "lze"
      lze.gc {soft_limit_bytes = 64 << 20}
      %s
      for _ = 1, %d do
        lze.buffer("uchar", 16 << 20, {zero = false})
      end
      local s = lze.stats()
      print(s.peak_bytes <= 160 << 20, s.collections)]]
    for _, mode in ipairs {"incremental", "generational"} do
      assert.matches("^true\t%d+\n$", process.output(
        script:format(("collectgarbage %q"):format(mode), 256)))
    end
    assert.equal("false\t0\n",
      process.output(script:format("collectgarbage 'stop'", 16)))
  end)

  it("is collected in full past the limit if steps are too slow",
    function()
      -- 300,000 live objects: a cycle takes thousands of steps.
      local peak, forced = process.output([[
        local lze = require "lze"
        collectgarbage "incremental"
        local live = {}
        for i = 1, 300000 do live[i] = {i} end
        lze.gc {soft_limit_bytes = 1 << 20}
        for _ = 1, 100 do lze.buffer("uchar", 100000, {zero = false}) end
        local s = lze.stats()
        print(s.peak_bytes, s.collections, #live)]]):match "^(%d+)\t(%d+)\t"
      assert.is_true(tonumber(peak) <= 2 << 20, peak)
      assert.is_true(tonumber(forced) > 0, forced)
    end)

  it("drives the collector with small buffers, too", function()
    -- 400 MB in pieces of 4 KiB, with few and with many other Lua objects.
    local script = [[
      collectgarbage(%q)
      local lze = require "lze"
      local live = {}
      for i = 1, %d do live[i] = {i} end
      for _ = 1, 100000 do lze.buffer("uchar", 4096, {zero = false}) end
      local s = lze.stats()
      print(s.peak_bytes, s.collections, #live)]]
    for _, mode in ipairs {"incremental", "generational"} do
      for live, most in pairs {[0] = 4 << 20, [100000] = 32 << 20} do
        local peak, forced = process.output(script:format(mode, live))
          :match "^(%d+)\t(%d+)\t"
        assert.is_true(tonumber(peak) <= most, peak)
        assert.equal("0", forced)
      end
    end
  end)

  it("stays bounded if a script never waits for its commands", function()
    -- 400 MiB without a wait; a dropped buffer is freed after its command.
    local peak = process.output [[
      local lze = require "lze"
      local A = lze.array
      lze.gc {soft_limit_bytes = 16 << 20}
      for _ = 1, 200 do
        local a = A.zeros {1 << 18} + 1
        a:eval()
      end
      print(lze.stats().peak_bytes >> 20)]]
    assert.is_true(tonumber(peak) <= 32, peak)
  end)

  it("does not call the collector in a finalizer", function()
    local limits, ran = lze.gc(), nil
    lze.gc {soft_limit_bytes = 4096}
    setmetatable({}, {__gc = function()
      local before = lze.stats().collections
      for _ = 1, 8 do lze.buffer("uchar", 65536) end
      ran = lze.stats().collections - before
    end})
    collectgarbage()
    lze.gc(limits)
    assert.equal(0, ran)
  end)

  it("has limits that can be set", function()
    local before = lze.gc()
    assert.equal("integer", math.type(before.soft_limit_bytes))
    assert.is_true(before.growth >= 1)
    local now = lze.gc {soft_limit_bytes = 1 << 30, growth = 2}
    assert.equal(1 << 30, now.soft_limit_bytes)
    assert.equal(2.0, now.growth)
    lze.gc(before)
    assert.same(before, lze.gc())
    assert.is_false(pcall(lze.gc, {soft_limit_bytes = -1}))
    assert.is_false(pcall(lze.gc, {soft_limit_bytes = "1"}))
    assert.equal(0.25, lze.gc {close_seconds = 0.25}.close_seconds)
    assert.equal(0.25, lze.gc().close_seconds)
    lze.gc(before)
    for _, bad in ipairs {-1, 0 / 0, 86401, "1", true} do
      assert.matches("^option close_seconds: a number from 0 to 86400 " ..
        "expected, got ", expect.misuse(function()
          lze.gc {close_seconds = bad}
        end))
    end
    assert.is_false(pcall(lze.gc, {growth = 0.5}))
    assert.is_false(pcall(lze.gc, {growth = 0 / 0}))
    assert.is_false(pcall(lze.gc, {groth = 2}))
    assert.is_false(pcall(lze.gc, 1))
    assert.same(before, lze.gc())
  end)

  it("is collected before an out-of-memory error is raised", function()
    local out = process.output([[
      local lze = require "lze"
      lze.gc {soft_limit_bytes = 1 << 40}
      local kept = {}
      for _ = 1, 40 do
        kept[1] = lze.buffer("uchar", 512 << 20, {zero = false})
      end
      print(#kept[1] == 512 << 20)]],
      {before = process.hosted and "" or "ulimit -v 6000000"})
    assert.equal("true\n", out)
  end)
end)
