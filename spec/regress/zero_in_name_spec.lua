-- A zero within the name of a type cut it there: "int\0x" was taken for "int".
local lze = require "lze"

describe("the name of a type", function()
  it("has no zero within it", function()
    for _, name in ipairs {"int\0x", "float4\0", "\0float"} do
      local ok, message = pcall(lze.buffer, name, 4)
      assert.is_false(ok)
      assert.matches("type: one of", message, 1, true)
    end
  end)

  it("may be NumPy's where OpenCL C has no vector of that name", function()
    -- But int8 and float16, say, are OpenCL's vectors.
    for alias, name in pairs {int32 = "int", uint32 = "uint", int64 = "long",
      uint64 = "ulong", float32 = "float", float64 = "double"} do
      assert.equal(name, lze.buffer(alias, 1).type)
    end
  end)
end)
