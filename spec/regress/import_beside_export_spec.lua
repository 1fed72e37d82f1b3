-- import_beside_export_spec.lua - a buffer imported in the state that exported
-- it was closed with the original buffer.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("a buffer imported in the state that exported it", function()
  local function bytes()
    collectgarbage()
    collectgarbage()
    lze.wait()
    return lze.stats().bytes
  end

  it("outlives the original buffer", function()
    local before = bytes()
    local x = lze.buffer("int", {1, 2, 3})
    local y, z = lze.import(x:export()), lze.import(x:view(2, 3):export())
    x:close()
    assert.equal("buffer: int[3] (closed)", tostring(x))
    assert.same({1, 2, 3}, y:read())
    y:close()
    assert.same({2, 3}, z:read())
    assert.equal(before + 12, bytes())
    z:close()
    assert.equal(before, bytes())
  end)

  it("does not close the original when it is closed first", function()
    local before = bytes()
    local x = lze.buffer("int", {1, 2, 3})
    lze.import(x:export()):close()
    lze.import(x:export())
    collectgarbage()
    assert.same({1, 2, 3}, x:read())
    local v = x:view(2, 2)
    x:close()
    assert.is_false(pcall(v.read, v))
    assert.equal(before, bytes())
  end)
end)
