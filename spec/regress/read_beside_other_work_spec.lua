-- read_beside_other_work_spec.lua - device memory is read and written by copies
-- on the default queue; they waited for all earlier work on that queue.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local gate = require "spec.support.gate"
local process = require "spec.support.process"

local native = assert(package.loadlib(
  os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()

local dev = lze.device()

-- Calls f in a separate context, with a default queue created with `options`.
-- f gets the device, a gate that blocks the work waiting for it, and a function
-- that opens the gate.
local function gated(options, f)
  gate(function(d, ...)
    local before = {lze.default()}
    lze.default(options and lze.queue(d, options) or d.context)
    local ok, err = pcall(f, d, ...)
    for _, v in ipairs(before) do lze.default(v) end
    if not ok then error(err, 0) end
  end)
end

-- Returns true if f waited for `patience` twentieths of a second, after which
-- `otherwise` was called, and the results of pcall(f).  A wait calls the hook
-- from time to time, from its own function.
local function attempt(f, patience, otherwise)
  local looks = 0
  debug.sethook(function()
    if debug.getinfo(2, "S").source ~= "=lze" then return end
    looks = looks + 1
    if looks == patience then otherwise() end
  end, "c")
  local ok, result = pcall(f)
  debug.sethook()
  return looks >= patience, ok, result
end

-- Returns the result of f, which must not wait for the gate.
local function at_once(open, f)
  local waited, ok, result = attempt(f, 200, open)
  assert(ok, result)
  assert.is_false(waited)
  return result
end

local device = {usage = "device"}
local cases = {
  ["x:read"] = function(x) return x:read() end,
  ["x:string"] = function(x)
    return lze.buffer("int", x:string()):read()
  end,
  ["x:write of a table"] = function(x) return x:write {1, 2, 3}:read() end,
  ["x:write of a string"] = function(x)
    return x:write(string.pack("i4i4i4", 1, 2, 3)):read()
  end,
  ["x:write of a buffer"] = function(x)
    return lze.buffer("int", 3):write(x):read()
  end,
  ["x:write of a buffer that overlaps"] = function(x)
    x:write {2, 3, 0}:view(2, 3):write(x:view(1, 2))
    return {x:read(1, 1)[1] - 1, table.unpack(x:read(2))}
  end,
  ["lze.buffer of a table"] = function()
    return lze.buffer("int", {1, 2, 3}, device):read()
  end,
}

local queues = {
  ["the default queue"] = false,
  ["a batched queue"] = {mode = "batched"},
  ["a queue out of order"] = {order = "out"},
}

for what, case in pairs(cases) do
  for name, options in pairs(queues) do
    it(what .. " does not wait for other work on " .. name, function()
      gated(options, function(d, gate, open)
        local x = lze.buffer("int", {1, 2, 3}, device)
        local ev = d.queue:barrier(gate)
        assert.same({1, 2, 3}, at_once(open, function() return case(x) end))
        assert.is_false(ev:done())
        assert.is_false(x:pending())
        assert.same({1, 2, 3}, at_once(open, function() return case(x) end))
        assert.is_false(ev:done())
      end)
    end)
  end
end

for name, options in pairs(queues) do
  describe("reading device memory, with " .. name .. " in use,", function()
    it("waits for work on that memory, not for later work", function()
      gated(options, function(d, gate, open)
        local x = lze.buffer("int", {1, 2, 3}, device)
        lze.load("kernels/spec.spv").add(3, x, 4)
        local ev = d.queue:barrier(gate)
        assert.same({5, 6, 7}, at_once(open, function() return x:read() end))
        assert.is_false(ev:done())
      end)
    end)

    it("waits for work on that memory even if it is blocked itself", function()
      gated(options, function(d, gate, open)
        local x = lze.buffer("int", {1, 2, 3}, device)
        d.queue:barrier(gate)
        lze.load("kernels/spec.spv").add(3, x, 4)
        local waited, ok, t = attempt(function() return x:read() end, 2,
          open)
        assert.is_true(ok)
        assert.is_true(waited)
        assert.same({5, 6, 7}, t)
      end)
    end)

    it("does not wait for an abandoned read", function()
      gated(options, function(d, gate, open)
        local add = lze.load("kernels/spec.spv").add
        local x = lze.buffer("int", {1, 2, 3}, device)
        local y = lze.buffer("int", {4, 5, 6}, device)
        local ev = add:launch({3, queue = lze.queue(d), after = gate}, x, 4)
        for _ = 1, 4 do
          local _, ok, err = attempt(function() return x:read() end, 2,
            function() error("given up", 0) end)
          assert.is_false(ok)
          assert.equal("given up", err)
          assert.same({4, 5, 6},
            at_once(open, function() return y:read() end))
        end
        assert.is_false(ev:done())
        open()
        assert.same({5, 6, 7}, x:read())
      end)
    end)
  end)
end

it("abandoned reads use only a few queues", function()
  local out = process.run([[
    local lze = require "lze"
    local x = lze.buffer("int", {1, 2, 3}, {usage = "device"})
    local mod = lze.load "kernels/spec.spv"
    local ev = mod.spin:launch({1, queue = lze.queue()},
      lze.buffer("uint", 1), 4000000000)
    lze.queue():barrier(ev)
    mod.add:launch({3, after = ev}, x, 4)
    for i = 1, 9 do
      debug.sethook(function()
        if debug.getinfo(2, "S").source == "=lze" then error "given up" end
      end, "c")
      assert(not pcall(x.read, x))
      debug.sethook()
    end
    local own <close> = io.open "/proc/self/stat"
    os.execute("kill -KILL " .. own:read "n")]],
    {env = {LZE_LOG = "calls", LZE_USE_IMMEDIATE_COMMANDLISTS = false}}).output
  local made = 0
  for _ in out:gmatch "zeCommandListCreateImmediate SUCCESS" do
    made = made + 1
  end
  assert.is_true(made > 4 and made <= 7, made)
end)

it("device memory is read after commands the host appended itself", function()
  gated(false, function(d, gate, open)
    local list = native.list(d.context.handle, dev.handle, "immediate")
    local q <close> = lze.wrap {queue = list, device = d}
    local x = lze.buffer("int", {1, 2, 3}, device)
    lze.default(q)
    q:barrier(gate)
    native.fill(list, x.handle, 0, x.bytes)
    q:barrier()
    local waited, ok, t = attempt(function() return x:read() end, 2, open)
    assert.is_true(ok)
    assert.is_true(waited)
    assert.same({0, 0, 0}, t)
    lze.default(d.context)
    q:close()
    native.list_destroy(list)
  end)
end)
