-- table_of_any_length_spec.lua - a table whose __len is huge was read until
-- memory ran out, before its length was compared with what fits.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local reads
local function endless(n)
  reads = 0
  return setmetatable({}, {__len = function() return n end,
    __index = function()
      reads = reads + 1
      assert(reads < 1000, "it is read")
      return 1
    end})
end

describe("a table that says it is huge", function()
  for _, n in ipairs {1 << 50, math.maxinteger} do
    it("is not a buffer: " .. n, function()
      local t = endless(n)
      assert.matches("its length is " .. n .. "; %d+ float fit the device",
        expect.misuse(function() lze.buffer("float", t) end))
      assert.equal(0, reads)
    end)

    it("is not written: " .. n, function()
      local x, t = lze.buffer("float", {1, 2, 3}), endless(n)
      assert.matches("write", expect.misuse(function() x:write(t, 2) end))
      assert.equal(0, reads)
      assert.same({1, 2, 3}, x:read())
    end)
  end

  it("is read where it fits, also if it collects", function()
    local t = setmetatable({}, {__len = function() return 3 end,
      __index = function(_, i) collectgarbage() return i * 2 end})
    assert.same({2, 4, 6}, lze.buffer("int", t):read())
    assert.same({0, 2, 4, 6}, lze.buffer("int", 4):write(t, 2):read())
  end)
end)
