-- prompt_spec.lua - at a prompt, the module and the tables that it returns were
-- printed as addresses.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

describe("at a prompt", function()
  it("the module shows its version and its names", function()
    local text = tostring(lze)
    assert.matches("^lze " .. lze.version:gsub("%.", "%%.") .. ":\n", text)
    for name in pairs(lze) do
      if name ~= "_VERSION" and name ~= "version" then
        assert.truthy(text:find("[ \n]" .. name .. "%f[\0\n ]"), name)
      end
    end
    for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
  end)

  it("the module lists names that are loaded on first use", function()
    assert.matches(":\n  array ", process.output "print(require 'lze')")
  end)

  it("devices and drivers are shown as numbered lists", function()
    for _, list in ipairs {lze.devices(), lze.drivers()} do
      local lines = {}
      for i, v in ipairs(list) do lines[i] = i .. ": " .. tostring(v) end
      assert.is_true(#lines > 0)
      assert.equal(table.concat(lines, "\n"), tostring(list))
    end
    assert.equal("none", tostring(lze.devices "no such device"))
    assert.equal("none", tostring(lze.device():subdevices()))
  end)

  it("statistics and properties are shown as names and values", function()
    local x <close> = lze.buffer("int", 1024)
    local s = lze.stats()
    local text = tostring(s)
    assert.truthy(text:find(("\nbytes = %d\n"):format(s.bytes), 1, true) or
      text:find("^bytes = " .. s.bytes .. "\n"), text)
    assert.is_true(next(s.objects) ~= nil)
    for kind, n in pairs(s.objects) do
      assert.truthy(text:find(("%s = %d"):format(kind, n), 1, true), text)
    end
    assert.is_true(#x == 1024)
    local dev = lze.device()
    text = "\n" .. tostring(dev:properties()) .. "\n"
    assert.truthy(text:find("\nname = " .. dev.name .. "\n", 1, true))
    assert.truthy(text:find("\nsubgroup_sizes = {" ..
      table.concat(dev.subgroup_sizes, ", ") .. "}\n", 1, true), text)
  end)

  it("a module's kernels are shown as a numbered list", function()
    local list = lze.load "kernels/saxpy.spv":kernels()
    assert.equal("1: " .. list[1], tostring(list):match "^[^\n]*")
  end)

  it("elements read from a buffer are plain tables", function()
    assert.is_nil(getmetatable(lze.buffer("int", 4):read()))
    assert.is_nil(getmetatable(lze.buffer("int2", 4):read()[1]))
  end)

  it("values that a program adds to these tables are shown too", function()
    local list = lze.stats()
    for key in pairs(list) do list[key] = nil end
    list[1], list.a, list.b = "one", {2, c = 3}, true
    assert.equal("1: one\na = {2, c = 3}\nb = true", tostring(list))
  end)
end)
