-- optimize_own_member_spec.lua - a crash or hang of the optimiser is an error.
local lze = require "lze"

describe("lze.spirv.optimize", function()
  -- The second word of its only member names the struct itself.
  it("survives a struct that is its own member", function()
    local bytes = lze.spirv.assemble [[
      OpCapability Addresses
      OpCapability Linkage
      OpCapability Kernel
      OpMemoryModel Physical64 OpenCL
      %1 = OpTypeStruct %1 ]]
    local ok, result = pcall(lze.spirv.optimize, bytes)
    assert.is_true(ok or result.code == "FAILED", tostring(result))
    assert.is_nil((lze.spirv.validate(bytes)))
    assert.same({}, lze.spirv.reflect(bytes).kernels)
    assert.is_false((pcall(lze.module, bytes)))
  end)

  -- Counting its members one by one would reach 2^100.
  it("survives structs of two structs, 100 deep", function()
    local lines = {"OpCapability Addresses", "OpCapability Linkage",
      "OpCapability Kernel", "OpMemoryModel Physical64 OpenCL",
      "%int = OpTypeInt 32 0", "%s0 = OpTypeStruct %int %int"}
    for i = 1, 100 do
      lines[#lines + 1] =
        ("%%s%d = OpTypeStruct %%s%d %%s%d"):format(i, i - 1, i - 1)
    end
    local bytes = lze.spirv.assemble(table.concat(lines, "\n"))
    -- Newer SPIRV-Tools count one by one, so they are not called then.
    local many = "structs in structs have more than 1048576 members in all"
    for _, target in ipairs {false, "opencl1.2"} do
      local valid, why = lze.spirv.validate(bytes, target or nil)
      assert.is_nil(valid)
      assert.equal(many, why)
    end
    assert.same({}, lze.spirv.reflect(bytes).kernels)
    local ok, result = pcall(lze.spirv.optimize, bytes, {"-Os"})
    assert.is_false(ok)
    assert.equal("FAILED", result.code)
    assert.matches(many, tostring(result), 1, true)
  end)

  it("reports a flag that is not the flag of a pass", function()
    local bytes = lze.spirv.assemble "OpCapability Kernel"
    for _, flag in ipairs {"--help", "--version", "-o", "file.spv", "-"} do
      local ok, message = pcall(lze.spirv.optimize, bytes, {flag})
      assert.is_false(ok)
      assert.matches("is not a valid flag", message, 1, true)
    end
  end)
end)
