-- transfer_calls_spec.lua - driver calls that read and write device buffers.
-- SPDX-License-Identifier: MIT

local driver_calls = require "spec.support.driver_calls"

-- Returns the calls of a process that writes 12 MiB to a device buffer and
-- reads them again.
local function calls(rules)
  return (driver_calls([[
    local lze = require "lze"
    local text = string.pack("<i4i4", 1, 2):rep(3 << 19)
    local x = lze.buffer("int", 3 << 20, {usage = "device", zero = false})
    x:write(text)
    assert(x:string() == text)
    assert(x:string(2, 3) == string.pack("<i4i4", 2, 1))]], rules))
end

describe("a device buffer", function()
  it("is written and read in one copy each, without host memory", function()
    local list = calls ""
    assert.equal(3, list.zeCommandListAppendMemoryCopy)
    assert.is_nil(list.zeMemAllocHost)
  end)

  it("goes through host memory if the driver refuses other memory", function()
    -- The first of three pieces is refused; the others are copied at once.
    local list = calls "fail zeCommandListAppendMemoryCopy 1 0x78000004"
    assert.equal(5, list.zeCommandListAppendMemoryCopy)
    assert.equal(1, list.zeMemAllocHost)
  end)
end)
