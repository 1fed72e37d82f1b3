-- zero_in_name_spec.lua - a zero byte truncated the name of a type: "int\0x"
-- was accepted as "int".
local lze = require "lze"

describe("the name of a type", function()
  it("may not contain a zero byte", function()
    for _, name in ipairs {"int\0x", "float4\0", "\0float"} do
      local ok, message = pcall(lze.buffer, name, 4)
      assert.is_false(ok)
      assert.matches("type: one of", message, 1, true)
    end
  end)

  it("may be NumPy's if OpenCL C has no vector of that name", function()
    -- For example, int8 and float16 are vectors in OpenCL.
    for alias, name in pairs {int32 = "int", uint32 = "uint", int64 = "long",
      uint64 = "ulong", float32 = "float", float64 = "double"} do
      assert.equal(name, lze.buffer(alias, 1).type)
    end
  end)
end)

describe("a zero byte", function()
  local saxpy = lze.load("saxpy")
  local x = lze.buffer("float", 1)
  local refused = {
    ["a module's kernel"] = function() return saxpy:kernel "saxpy\0" end,
    ["a module's field"] = function() return saxpy["saxpy\0"] end,
    ["a path"] = function() lze.load "kernels/saxpy.spv\0x" end,
    ["a shipped kernel's name"] = function() lze.load "saxpy\0" end,
    ["a graph's name"] = function() lze.graph "g\0" end,
    ["an option's word"] = function() lze.queue {mode = "batched\0"} end,
    ["an option's key"] = function() lze.queue {["mode\0"] = "batched"} end,
    ["a launch's key"] = function()
      saxpy.saxpy({1, ["group\0"] = 1}, 1, x, x)
    end,
    ["a policy"] = function() saxpy.saxpy:group {1, policy = "lze\0"} end,
  }
  local source = "kernel void f() {}"
  for name, options in pairs {
    std = {std = "CL1.2\0"}, include = {include = {"a\0b"}},
    flags = {flags = {"-g\0"}}, ["a macro"] = {defines = {["N\0"] = 1}},
    ["a macro's text"] = {defines = {N = "1\0"}},
    ["the driver's options"] = {options = "-ze-opt-level=O0\0"},
  } do
    refused[name] = function() lze.compile(source, options) end
  end
  for name, call in pairs(refused) do
    it("is refused in " .. name, function()
      assert.is_false((pcall(call)))
    end)
  end
end)
