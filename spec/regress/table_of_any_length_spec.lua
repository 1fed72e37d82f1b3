-- table_of_any_length_spec.lua - a table whose __len is huge was read until
-- memory ran out, before its length was compared with the limit.
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

describe("a table with __len", function()
  for _, n in ipairs {1 << 50, math.maxinteger} do
    it("is refused by lze.buffer if it is huge: " .. n, function()
      local t = endless(n)
      assert.matches("its length is " .. n .. "; %d+ float fit the device",
        expect.misuse(function() lze.buffer("float", t) end))
      assert.equal(0, reads)
    end)

    it("is refused by x:write if it is huge: " .. n, function()
      local x, t = lze.buffer("float", {1, 2, 3}), endless(n)
      assert.matches("write", expect.misuse(function() x:write(t, 2) end))
      assert.equal(0, reads)
      assert.same({1, 2, 3}, x:read())
    end)
  end

  it("is read if it fits, even if that collects garbage", function()
    local t = setmetatable({}, {__len = function() return 3 end,
      __index = function(_, i) collectgarbage() return i * 2 end})
    assert.same({2, 4, 6}, lze.buffer("int", t):read())
    assert.same({0, 2, 4, 6}, lze.buffer("int", 4):write(t, 2):read())
  end)
end)
