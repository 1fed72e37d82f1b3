-- module_spirv_spec.lua - the SPIR-V that a module was made from.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"
local process = require "spec.support.process"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("mod:spirv", function()
  it("returns the loaded bytes unchanged", function()
    for _, path in ipairs {"kernels/saxpy.spv", "kernels/spec.spv"} do
      assert.is_true(lze.load(path):spirv() == read(path))
    end
  end)

  it("returns bytes of the other byte order in this machine's order", function()
    local bytes = read "kernels/saxpy.spv"
    local swapped = bytes:gsub("....", string.reverse)
    assert.is_true(lze.module(swapped):spirv() == bytes)
  end)

  it("returns bytes of a compiled module that make the same module again",
    function()
    local mod = lze.compile "kernel void f(global int *x) { x[0] = 7; }"
    local again = lze.module(mod:spirv())
    assert.equal("kernel f(int *x)", tostring(again.f))
    local x = lze.buffer("int", 1)
    again.f(1, x)
    assert.equal(7, x[1])
  end)

  it("works with a native binary", function()
    local mod = lze.load "kernels/saxpy.spv"
    local again = lze.module(mod:native(), {spirv = mod:spirv()})
    assert.is_true(again:spirv() == mod:spirv())
  end)

  it("refuses a closed module", function()
    local mod = lze.load "kernels/saxpy.spv"
    mod:close()
    assert.matches("the module is closed",
      expect.misuse(function() return mod:spirv() end))
  end)
end)

describe("the validator", function()
  local file = assert(io.open("kernels/saxpy.spv", "rb"))
  local good = file:read "a"
  file:close()
  -- Decodable, but it uses 64-bit integers without declaring the capability.
  local bad = lze.spirv.assemble((lze.spirv.disassemble(good)
    :gsub("[^\n]*OpCapability Int64[^\n]*\n", "", 1)))

  it("writes to mod.warnings if the driver builds the module anyway",
    function()
      assert.is_nil((lze.spirv.validate(bad)))
      local built, err = pcall(lze.module, bad)
      if not built then
        assert.equal("ERROR_MODULE_BUILD_FAILURE", err.code)
        assert.matches("Int64", err.log or err.message)
        return pending "the OpenCL refuses it"
      end
      local native = lze.module(good):native()
      local x = lze.buffer("float", {1, 2})
      for _, mod in ipairs {lze.module(bad),
                            lze.module(native, {spirv = bad})} do
        assert.equal(1, #mod.warnings)
        assert.matches("Int64", mod.warnings[1])
        mod.saxpy(2, 1, x, x)
      end
      assert.equal(8, x[2])
      assert.same({}, lze.module(good).warnings)
    end)

  -- Our driver refuses such a module if it cannot try it in another process.
  it("writes to err.log if the driver refuses the module, too", function()
    local out = process.output(([[
      local lze = require "lze"
      local ok, err = pcall(lze.module, lze.spirv.assemble(%q))
      print(ok, err.call, err.log)]]):format(lze.spirv.disassemble(bad)),
      {env = {LZE_BUILD_SECONDS = "0", XDG_CACHE_HOME = "/proc/none"}})
    assert.matches("^false\tzeModuleCreate\tthe validator says: [^\n]*Int64",
      out)
  end)

  it("survives a type that makes no sense", function()
    for _, type in ipairs {"%v 4", "%half 4096"} do
      local said = process.output(([[
        local lze = require "lze"
        print(pcall(lze.module, lze.spirv.assemble %q))]]):format(([[
          OpCapability Kernel
          OpCapability Addresses
          OpCapability Float16
          OpMemoryModel Physical64 OpenCL
          OpEntryPoint Kernel %%kernel "kernel"
          %%void = OpTypeVoid
          %%half = OpTypeFloat 16
          %%v = OpTypeVector %s
          %%type = OpTypeFunction %%void
          %%u = OpUndef %%v
          %%kernel = OpFunction %%void None %%type
          %%begin = OpLabel
          %%dot = OpDot %%half %%u %%u
          OpReturn
          OpFunctionEnd]]):format(type)))
      assert.matches("^%a+\t", said)
    end
  end)

  it("refuses the module with validate = \"strict\"", function()
    local err = expect.failure(function()
      lze.module(bad, {validate = "strict"})
    end)
    assert.same({"spirv_validate", "INVALID_SPIRV"}, {err.call, err.code})
    assert.matches("Int64", err.message)
    local mod <close> = lze.module(good, {validate = "strict"})
    assert.same({"saxpy"}, mod:kernels())
  end)
end)

describe("debug information of the set SPIRV.debug", function()
  -- Returns saxpy as older translators write it, with the set and with
  -- instructions that only this set has.
  local function with_debug(bytes)
    local words, out, bound = {}, {}, string.unpack("<I4", bytes, 13)
    for at = 1, #bytes, 4 do
      words[#words + 1] = string.unpack("<I4", bytes, at)
    end
    local function add(...)
      for _, w in ipairs {...} do out[#out + 1] = string.pack("<I4", w) end
    end
    add(words[1], words[2], words[3], bound + 2, words[5])
    local at = 6
    while at <= #words do
      local n, opcode = words[at] >> 16, words[at] & 0xffff
      add(table.unpack(words, at, at + n - 1))
      if opcode == 11 then -- OpExtInstImport
        local a, b, c = string.unpack("<I4I4I4", "SPIRV.debug\0")
        add(5 << 16 | 11, bound, a, b, c)
      elseif opcode == 19 then -- OpTypeVoid; OpExtInst
        add(5 << 16 | 12, words[at + 1], bound + 1, bound, 35)
      end
      at = at + n
    end
    return table.concat(out)
  end

  local debugged = with_debug(read "kernels/saxpy.spv")

  it("is removed from a module, whose kernels run", function()
    local y = lze.buffer("float", {1, 2, 3})
    lze.module(debugged, {validate = "strict"}).saxpy(3, 2, y, y)
    assert.same({3, 6, 9}, y:read())
  end)

  it("is removed by every function of lze.spirv", function()
    assert.is_true(lze.spirv.validate(debugged))
    local text = lze.spirv.disassemble(debugged)
    assert.matches("OpEntryPoint Kernel", text)
    assert.not_matches("debug", text)
    assert.is_true(lze.spirv.validate(lze.spirv.optimize(debugged)))
  end)
end)

describe("lze.spirv.optimize", function()
  local bytes = read "kernels/saxpy.spv"

  it("makes a shorter module that does the same", function()
    local shorter = lze.spirv.optimize(bytes, {"--strip-debug"})
    assert.is_true(#shorter < #bytes and lze.spirv.validate(shorter))
    local y = lze.buffer("float", {1, 2, 3})
    lze.module(lze.spirv.optimize(bytes)).saxpy(3, 2, y, y)
    assert.same({3, 6, 9}, y:read())
  end)

  it("names an unknown flag", function()
    for flag, problem in pairs {
      ["--eliminate-all"] = "Unknown flag '%-%-eliminate%-all'",
      ["strip-debug"] = "strip%-debug is not a valid flag",
      ["--scalar-replacement=-1"] = "%-%-scalar%-replacement must have",
    } do
      assert.matches("^bad argument #2 to 'optimize' %(passes: " .. problem,
        expect.misuse(function()
          lze.spirv.optimize(bytes, {"--strip-debug", flag})
        end))
    end
    local ok, err = pcall(lze.spirv.optimize, "no SPIR-V")
    assert.same({false, "INVALID_SPIRV"}, {ok, err.code})
  end)
end)

describe("a module with pointers of any address space", function()
  it("runs, or is refused if the device does not support them", function()
    local ok, mod = pcall(lze.load, "spec/driver/kernels/generic.spv")
    if not ok then
      assert.equal("ERROR_MODULE_BUILD_FAILURE", mod.code)
      assert.matches("the module has pointers of any address space " ..
        "%(GenericPointer%), and .* has none", mod.log or mod.message)
      return
    end
    for in_local = 0, 1 do
      local out = lze.buffer("int", 2)
      mod.count({64, group = 64}, out, in_local)
      assert.same({64 | 1 << 20, 64 | 1 << 20}, out:read())
    end
  end)
end)
