-- range_beyond_buffer_spec.lua - a range larger than its buffers read and wrote
-- past their ends, either silently or with a crash.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local module = lze.compile [[
  kernel void saxpy(float a, global const float *x, global float *y) {
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
  }
  kernel void guarded(int n, global int *y) {
    int i = get_global_id(0);
    if (i < n) y[i] = i;
  }
  kernel void returns(int n, global int *y) {
    int i = get_global_id(0);
    if (i >= n) return;
    y[i] = i;
  }
  kernel void loops(int n, global int *y) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = i;
  }
  kernel void chosen(int n, global int *y) {
    int i = get_global_id(0);
    y[i < n ? i : 0] = 1;
  }
  kernel void wraps(int n, global int *y) {
    int i = get_global_id(0);
    y[i % n] = 1;
  }
  kernel void changed(int n, global int *y) {
    int i = get_global_id(0);
    int *p = &i;
    *p = 0;
    y[i] = 1;
  }
  kernel void bytes(global char *y) { y[get_global_id(0)] = 1; }
  kernel void four(global float4 *y) { y[get_global_id(0)] = 1; }
  kernel void steps(global int *y) {
    global int *p = y + 2 * get_global_id(0);
    p[3] = 1;
  }
  kernel void back(global int *y) { y[get_global_id(0) - 5] = 1; }
  kernel void both(global int *y) {
    y[get_global_id(1) * 16 + get_global_id(0)] = 1;
  }
]]

local function refused(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  message = tostring(message)
  assert.truthy(message:find(text, 1, true), message)
end

describe("a range larger than a buffer", function()
  it("is refused before the launch", function()
    local saxpy = module:kernel "saxpy"
    local x, y = lze.buffer("float", 100), lze.buffer("float", 100000)
    refused("kernel saxpy: global size 128: argument 2 (x) has 100 " ..
      "elements, and element 128 is accessed", saxpy, 128, 2, x, y)
    refused("argument 3 (y) has 100 elements", saxpy, 100000, 2, y, x)
    refused("argument 2 (x) has 100 elements", saxpy, 101, 2, x, y)
    saxpy(100, 2, x, y)
    saxpy(0, 2, x, y)
    lze.wait()
  end)

  it("is found through choices that a constant decides", function()
    -- Debian 13's clang and translator write y[get_global_id(0)] = 1 this way.
    local text = [[
      OpCapability Addresses
      OpCapability Kernel
      OpCapability Int64
      OpMemoryModel Physical64 OpenCL
      OpEntryPoint Kernel %f "f" %id
      OpName %y "y"
      OpDecorate %id BuiltIn GlobalInvocationId
      OpDecorate %id Constant
      %long = OpTypeInt 64 0
      %int = OpTypeInt 32 0
      %zero = OpConstant %long 0
      %one = OpConstant %int 1
      %three = OpTypeVector %long 3
      %input = OpTypePointer Input %three
      %void = OpTypeVoid
      %bool = OpTypeBool
      %yes = OpConstantTrue %bool
      %no = OpConstantFalse %bool
      %pointer = OpTypePointer CrossWorkgroup %int
      %type = OpTypeFunction %void %pointer
      %id = OpVariable %input Input
      %f = OpFunction %void None %type
      %y = OpFunctionParameter %pointer
      %entry = OpLabel
      %ids = OpLoad %three %id Aligned 32
      %x = OpCompositeExtract %long %ids 0
      %a = OpSelect %long %yes %x %zero
      %b = OpSelect %long %no %zero %a
      %at = OpInBoundsPtrAccessChain %pointer %y %b
      OpStore %at %one Aligned 4
      OpReturn
      OpFunctionEnd]]
    local f = lze.module(lze.spirv.assemble(text)).f
    local y = lze.buffer("int", 10)
    refused("argument 1 (y) has 10 elements", f, 11, y)
    f(10, y)
    assert.equal(1, y[10])
    local swapped = text:gsub("%%yes %%x %%zero", "%%no %%x %%zero")
    lze.module(lze.spirv.assemble(swapped)).f(11, y)
    lze.wait()
  end)

  it("is computed with the offset", function()
    local saxpy, x = module:kernel "saxpy", lze.buffer("float", 100)
    refused("argument 2 (x) has 100 elements", saxpy, {50, offset = 51}, 2,
      x, x)
    saxpy({50, offset = 50}, 2, x, x)
    lze.wait()
  end)

  it("is compared in bytes", function()
    local words = lze.buffer("int", 4)
    module:kernel "bytes"(16, words)
    refused("argument 1 (y) has 4 elements, and element 5 is accessed",
      module:kernel "bytes", 17, words)
    local floats = lze.buffer("float", 16)
    module:kernel "four"(4, floats)
    refused("has 16 elements", module:kernel "four", 5, floats)
    lze.wait()
  end)

  it("is computed with strides, constants and dimensions", function()
    local y = lze.buffer("int", 64)
    module:kernel "steps"(31, y)
    refused("has 64 elements, and element 66 is accessed",
      module:kernel "steps", 32, y)
    module:kernel "both"({16, 4}, y)
    refused("kernel both: global size 16x5: argument 1 (y) has 64 elements",
      module:kernel "both", {16, 5}, y)
    module:kernel "back"({64, offset = 5}, y)
    refused("has 64 elements", module:kernel "back", {65, offset = 5}, y)
    lze.wait()
  end)

  it("is refused for a Lua kernel that reads the next element", function()
    local k = lze.kernel(function(i, x, y) y[i] = x[i + 1] end, {name = "k"})
    local x, y = lze.buffer("float", 4), lze.buffer("float", 4)
    refused("kernel k: global size 4: argument 1 (x) has 4 elements, and " ..
      "element 5 is accessed", k, 4, x, y)
  end)

  it("is not refused if the access is not certain", function()
    local y = lze.buffer("int", 10)
    for _, name in ipairs {"guarded", "returns", "loops", "chosen", "wraps",
                           "changed"} do
      module:kernel(name)(64, 10, y)
      lze.wait()
    end
  end)

  it("is refused in graphs", function()
    local x = lze.buffer("float", 100)
    local g = lze.graph "g"
    refused("argument 2 (x) has 100 elements", function()
      g:task("t", module:kernel "saxpy", 128, 2, x, x)
      g:compile()
    end)
  end)

  it("is refused by plan:set, which leaves the plan unchanged", function()
    local x, y = lze.buffer("float", 128):fill(1), lze.buffer("float", 128)
    local small = lze.buffer("float", 127)
    local g = lze.graph "g"
    g:task("t", module:kernel "saxpy", 128, 2, x, y)
    local plan = g:compile()
    refused("task g.t: a buffer of at least 128 float expected, got buffer " ..
      "of float, 127", plan.set, plan, "t", "x", small)
    refused("a buffer of at least 128 float", plan.set, plan, "t", 3,
      x:view(1, 127))
    plan:run()
    assert.same({2.0, 2.0}, {y[1], y[128]})
  end)

  it("is refused for views", function()
    local x = lze.buffer("float", 100)
    refused("has 10 elements", module:kernel "saxpy", 11, 2,
      x:view(1, 10), x)
  end)
end)
