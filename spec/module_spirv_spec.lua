-- module_spirv_spec.lua - a module gives back the SPIR-V it was made from.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("mod:spirv", function()
  it("is what was loaded, to the byte", function()
    for _, path in ipairs {"kernels/saxpy.spv", "kernels/spec.spv"} do
      assert.is_true(lze.load(path):spirv() == read(path))
    end
  end)

  it("of the other byte order is in this machine's", function()
    local bytes = read "kernels/saxpy.spv"
    local swapped = bytes:gsub("....", string.reverse)
    assert.is_true(lze.module(swapped):spirv() == bytes)
  end)

  it("of a compiled module makes the same module again", function()
    local mod = lze.compile "kernel void f(global int *x) { x[0] = 7; }"
    local again = lze.module(mod:spirv())
    assert.equal("kernel f(int *x)", tostring(again.f))
    local x = lze.buffer("int", 1)
    again.f(1, x)
    assert.equal(7, x[1])
  end)

  it("goes with a native binary", function()
    local mod = lze.load "kernels/saxpy.spv"
    local again = lze.module(mod:native(), {spirv = mod:spirv()})
    assert.is_true(again:spirv() == mod:spirv())
  end)

  it("of a closed module is an error", function()
    local mod = lze.load "kernels/saxpy.spv"
    mod:close()
    assert.matches("the module is closed",
      expect.misuse(function() return mod:spirv() end))
  end)
end)
