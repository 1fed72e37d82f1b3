-- mooncl_defects_spec.lua - defects found in MoonCL, the older OpenCL binding
-- for Lua, which lze must not have.
-- SPDX-License-Identifier: MIT
--
-- MoonCL could not be loaded in a second live state; spec/states/states_test.c
-- tests this for lze.

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"
local limit = 60

describe("lze, unlike MoonCL,", function()
  it("does not abort at a launch that waits for a list of events", function()
    local x = lze.buffer("int", 4)
    local queues = {lze.queue {order = "out"}, lze.queue(),
      lze.queue {mode = "batched"}}
    for _ = 1, 50 do
      local events = {}
      for i, q in ipairs(queues) do
        events[2 * i - 1] = q:launch(mod.add, 4, x, 1)
        events[2 * i] = q:fill(x, i)
      end
      local last = mod.add:launch({4, after = events}, x, 1)
      assert.is_true(last:wait(limit))
      for _, ev in ipairs(events) do assert.is_true(ev:done()) end
      assert.same({4, 4, 4, 4}, x:read())
    end
  end)

  it("does not crash on an integer for a pointer argument", function()
    local x = lze.buffer("int", {7})
    for _, wrong in ipairs {0, 1, 16, x.pointer, -1, 1.5, "0", true, {}} do
      assert.matches("^kernel add: argument 1 %(x%): int%* expected %(a " ..
        "buffer, or nil%), got ",
        expect.misuse(function() mod.add(1, wrong, 1) end))
    end
    assert.equal(7, x[1])
  end)

  it("does not overwrite memory if a copy or read is too long", function()
    local big, small = lze.buffer("uchar", 1 << 20), lze.buffer("uchar", 16)
    big:fill(1)
    small:fill(2)
    local t = small:read()
    for _, f in ipairs {
      function() small:copy(big) end,
      function() lze.queue():copy(small, big) end,
      function() small:write(big) end,
      function() small:write(big:string()) end,
      function() small:write(big:read()) end,
      function() small:copy(big, 1, 17) end,
      function() small:copy(big, 1, 2, 16) end,
      function() small:read(1, 1 << 20) end,
      function() small:read(0, 16) end,
      function() small:string(1, 17) end,
      function() small:view(1, 1 << 20) end,
      function() small:fill(0, 1, 17) end,
    } do
      assert.is_string(expect.misuse(f))
    end
    assert.same(t, small:read())
    -- A table grows as needed.
    assert.equal(1 << 20, #big:read(1, -1, t))
  end)

  it("stores the right bits for a half", function()
    local x = lze.buffer("half", {1.5, -2, 65504, 0.333251953125})
    assert.same({1.5, -2.0, 65504.0, 0.333251953125}, x:read())
    assert.equal("003e00c0ff7b5535", (x:string():gsub(".", function(c)
      return ("%02x"):format(c:byte())
    end)))
    x[1] = 0.1 -- to the nearest
    assert.equal(0.0999755859375, x[1])
    assert.matches("^index 1: ",
      expect.misuse(function() x[1] = "1.5" end))
  end)

  it("does not abort if objects are closed while the device uses them",
    function()
    local alone = lze.buffer("uint", 4)
    mod.spin(4, alone, 200000)
    local expected = alone:read()
    for _ = 1, 20 do
      local m = lze.load "kernels/spec.spv"
      local q, x = lze.queue(), lze.buffer("uint", 4)
      local k, result = m.spin, lze.buffer("uint", 4)
      local ev = q:launch(k, 4, x, 200000)
      q:copy(result, x)
      for _, o in ipairs {x, k, m, q, ev} do o:close() end
      collectgarbage()
      assert.same(expected, result:read())
    end
  end)

  it("does not abort at a launch on a closed buffer", function()
    local x = lze.buffer("int", 4)
    mod.add(4, x, 1)
    x:close()
    for _ = 1, 3 do
      assert.equal("kernel add: argument 1 (x): the buffer is closed",
        expect.misuse(function() mod.add(4, x, 1) end))
    end
    local y = lze.buffer("int", 4)
    mod.add(4, y, 1)
    assert.same({1, 1, 1, 1}, y:read())
  end)

  it("does not keep unreferenced buffers", function()
    assert.equal("0\tnil\ttrue\n", process.output [[
      local lze = require "lze"
      local k = lze.load "kernels/spec.spv".add
      for _ = 1, 200 do
        local x = lze.buffer("int", 1 << 18)
        k(16, x, 1)
      end
      lze.wait()
      collectgarbage() collectgarbage()
      local s = lze.stats()
      print(s.bytes, s.objects.storage, s.peak_bytes >= 1 << 20)]])
  end)

  it("names the call, code, argument and place of an error", function()
    local err = expect.failure(function()
      lze.buffer("uchar", 1 << 46, {zero = false})
    end)
    assert.equal("zeMemAllocShared", err.call)
    assert.matches("^ERROR_", err.code)
    assert.equal("integer", math.type(err.result))
    assert.matches("^spec/mooncl_defects_spec%.lua:%d+$", err.where)
    assert.matches("asked for 64%.0 TiB", err.message)
    assert.matches("^kernel add: argument 2 %(n%): .*, got string 'x'$",
      expect.misuse(function() mod.add(1, lze.buffer("int", 1), "x") end))
    assert.equal("kernel add: 2 arguments (x, n) expected, got 1",
      expect.misuse(function() mod.add(1, lze.buffer("int", 1)) end))
  end)

  it("has tostring, close and defaults", function()
    local kept
    do
      local x <close> = lze.buffer("int", {1, 2})
      local q <close> = lze.queue()
      local m <close> = lze.load "kernels/spec.spv"
      local k <close> = m.add
      local ev <close> = q:launch(k, 2, x, 1)
      kept = {x, q, m, k, ev}
      assert.is_true(ev:wait(limit))
      assert.equal("buffer: int[2] shared {2, 3}", tostring(x))
      assert.matches("^queue: .*, immediate, in order, compute engine, 0 in " ..
        "flight$", tostring(q))
      assert.matches("^module kernels/spec%.spv: ", tostring(m))
      assert.equal("kernel add(int *x, int n)", tostring(k))
      assert.equal("event: kernel add, done", tostring(ev))
    end
    for _, o in ipairs(kept) do
      assert.matches("%(closed%)$", tostring(o))
      assert.equal("an object of lze", getmetatable(o))
    end
    for _, name in ipairs {"__gc", "__close", "__index", "__name"} do
      assert.is_false(pcall(function() return kept[1][name] end))
    end
  end)
end)
