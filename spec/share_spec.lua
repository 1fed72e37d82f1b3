-- share_spec.lua - buffers shared between Lua states. Tests with several states
-- and threads are in spec/embed/capi_test.c.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

describe("x:export", function()
  it("returns a token that makes a buffer on the same memory", function()
    for _, usage in ipairs {"shared", "device", "host"} do
      local x = lze.buffer("int", {1, 2, 3}, {usage = usage})
      local y = lze.import(x:export())
      assert.equal(x.handle, y.handle)
      assert.equal(usage, y.usage)
      assert.equal(x.context, y.context)
      assert.equal(x.device, y.device)
      x:write {4}
      assert.same({4, 2, 3}, y:read())
    end
  end)

  it("covers the elements of a view", function()
    local x = lze.buffer("float4", 4)
    x[2] = {1, 2, 3, 4}
    local y = lze.import(x:view(2, 3, "float"):export())
    assert.equal("float", y.type)
    assert.same({1, 2, 3, 4, 0, 0, 0, 0}, y:read())
  end)

  it("waits for pending work on the buffer", function()
    local x = lze.buffer("uint", 1)
    local ev = lze.load "kernels/spec.spv".spin:launch(1, x, 50000000)
    local token = x:export()
    assert.is_true(ev:done())
    lze.import(token):close()
  end)

  it("keeps the memory as long as it is needed", function()
    lze.wait()
    collectgarbage() collectgarbage()
    local before = lze.stats().bytes
    local x = lze.buffer("int", {5, 6})
    local token = x:export()
    x:close()
    assert.equal(before, lze.stats().bytes)
    local y = lze.import(token)
    assert.equal(before + 8, lze.stats().bytes)
    assert.same({5, 6}, y:read())
    y:close()
    assert.equal(before, lze.stats().bytes)
  end)

  it("keeps a separate context alive", function()
    local c = lze.context(lze.device())
    local x = lze.buffer("int", {5, 6}, {context = c})
    local token = x:export()
    c:close()
    local y = lze.import(token)
    assert.same({5, 6}, y:read())
    assert.not_equal(lze.device(), y.device)
    local m = lze.load("kernels/spec.spv", {device = y.device})
    m.square(2, y, y)
    assert.same({25, 36}, y:read())
  end)

  it("orders commands on a buffer that a state has twice", function()
    local x = lze.buffer("uint", 2)
    local y = lze.import(x:export())
    lze.load "kernels/spec.spv".spin(1, x, 50000000)
    assert.is_true(y:pending())
    y:fill(7)
    assert.equal(7, x[1])
  end)

  it("works once, and for buffers that have memory", function()
    local x = lze.buffer("int", {1})
    local token = x:export()
    assert.equal("integer", math.type(token))
    lze.import(token)
    assert.matches(token ..
      " is not a token of x:export, or was imported already",
      expect.misuse(function() lze.import(token) end))
    assert.matches("token: integer expected, got boolean",
      expect.misuse(function() lze.import(true) end))
    assert.matches("an empty buffer has no memory",
      expect.misuse(function() lze.buffer("int", 0):export() end))
    x:close()
    assert.matches("the buffer is closed",
      expect.misuse(function() x:export() end))
  end)
end)
