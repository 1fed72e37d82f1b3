-- stride_spec.lua - the dependence of a kernel's addresses on the work-item's
-- ids.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local HEAD = [[
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
%std = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k"
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %lid BuiltIn LocalInvocationId
OpDecorate %wid BuiltIn WorkgroupId
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%v3 = OpTypeVector %ulong 3
%v4 = OpTypeVector %float 4
%l1 = OpConstant %ulong 1
%l3 = OpConstant %ulong 3
%l100 = OpConstant %ulong 100
%lm1 = OpConstant %ulong 18446744073709551615
%f1 = OpConstant %float 1
%gp = OpTypePointer CrossWorkgroup %float
%glp = OpTypePointer CrossWorkgroup %ulong
%pair = OpTypeStruct %float %float
%gpp = OpTypePointer CrossWorkgroup %pair
%lp = OpTypePointer Workgroup %float
%fl = OpTypePointer Function %ulong
%inp = OpTypePointer Input %v3
%inl = OpTypePointer Input %ulong
%gid = OpVariable %inp Input
%lid = OpVariable %inp Input
%wid = OpVariable %inp Input
%tile = OpVariable %lp Workgroup
%fn = OpTypeFunction %void %gp %glp %ulong
%fi = OpTypeFunction %ulong %ulong %ulong
]]

-- Returns the analysis of a body that uses pointers p and q, a number n, and
-- the ids x, y, z.
local function kernel(body, before)
  local bytes = lze.spirv.assemble(HEAD .. (before or "") .. [[
%k = OpFunction %void None %fn
%p = OpFunctionParameter %gp
%q = OpFunctionParameter %glp
%n = OpFunctionParameter %ulong
%entry = OpLabel
%ids = OpLoad %v3 %gid
%x = OpCompositeExtract %ulong %ids 0
%y = OpCompositeExtract %ulong %ids 1
%z = OpCompositeExtract %ulong %ids 2
]] .. body .. "OpReturn\nOpFunctionEnd\n")
  return lze.spirv.reflect(bytes).kernels[1]
end

local function at(index)
  return "%a = OpInBoundsPtrAccessChain %gp %p " .. index ..
    "\n%v = OpLoad %float %a\n"
end

local function check(beside, apart, body, before)
  local k = kernel(body, before)
  assert.same({beside, apart}, {k.beside, k.apart}, body)
end

local function has(k, feature)
  for _, f in ipairs(k.features) do
    if f == feature then return true end
  end
  return false
end

describe("strides", function()
  it("are found for sums, products and shifts", function()
    check({1, 0, 0}, {0, 0, 0}, at "%x")
    check({0, 0, 1}, {0, 0, 0}, at "%z")
    check({0, 0, 0}, {0, 0, 0}, at "%n")
    check({1, 0, 0}, {0, 1, 0}, "%i = OpIMul %ulong %y %n\n" ..
      "%j = OpIAdd %ulong %i %x\n" .. at "%j")
    check({0, 1, 0}, {1, 0, 0}, "%i = OpIMul %ulong %l100 %x\n" ..
      "%j = OpISub %ulong %i %y\n" .. at "%j")
    check({1, 0, 0}, {0, 0, 0}, "%i = OpShiftLeftLogical %ulong %x %l3\n" ..
      at "%i")
    check({0, 0, 0}, {1, 0, 0}, "%i = OpShiftLeftLogical %ulong %x %l100\n" ..
      at "%i")
    -- Counting down is as good as counting up; terms that cancel have no
    -- stride.
    check({1, 0, 0}, {0, 0, 0}, "%i = OpIMul %ulong %x %lm1\n" .. at "%i")
    check({0, 0, 0}, {0, 0, 0}, "%i = OpISub %ulong %x %x\n" .. at "%i")
  end)

  it("count local ids like global ones", function()
    check({1, 0, 0}, {0, 0, 0}, "%l = OpLoad %v3 %lid\n" ..
      "%i = OpCompositeExtract %ulong %l 0\n" .. at "%i")
    check({1, 0, 0}, {0, 0, 0}, "%c = OpInBoundsAccessChain %inl %lid %l0\n" ..
      "%i = OpLoad %ulong %c\n" .. at "%i", "%l0 = OpConstant %ulong 0\n")
    check({0, 0, 0}, {0, 0, 0}, "%l = OpLoad %v3 %wid\n" ..
      "%i = OpCompositeExtract %ulong %l 0\n" .. at "%i")
  end)

  it("are unknown for indices read from memory", function()
    check({1, 0, 0}, {1, 0, 0}, "%b = OpInBoundsPtrAccessChain %glp %q %x\n" ..
      "%i = OpLoad %ulong %b\n" .. at "%i")
    check({0, 0, 0}, {0, 0, 0}, "%i = OpLoad %ulong %q\n" .. at "%i")
  end)

  it("are found in images that are stored in one dimension", function()
    check({1, 0, 0}, {0, 0, 0}, [[
%c = OpUMod %ulong %x %n
%r = OpUDiv %ulong %x %n
%i = OpIMul %ulong %r %n
%j = OpIAdd %ulong %i %c
]] .. at "%j")
    check({1, 0, 0}, {0, 0, 0}, [[
%b = OpExtInst %ulong %std s_min %x %n
%c = OpExtInst %ulong %std s_clamp %b %l1 %n
%e = OpIEqual %bool %x %n
%d = OpSelect %ulong %e %l1 %c
]] .. at "%d")
  end)

  it("are found through variables, casts and structs", function()
    check({2, 0, 0}, {0, 0, 0}, [[
%i = OpVariable %fl Function
OpStore %i %x
%j = OpLoad %ulong %i
%b = OpBitcast %gpp %p
%c = OpInBoundsPtrAccessChain %gpp %b %j
%d = OpInBoundsAccessChain %gp %c %u1
OpStore %d %f1
%e = OpExtInst %v4 %std vloadn %j %p 4
]], "%u1 = OpConstant %uint 1\n")
    check({0, 0, 0}, {1, 0, 0}, "%i = OpIMul %ulong %x %l3\n" ..
      "%e = OpExtInst %v4 %std vloadn %l6 %p 4\n" ..
      "%g = OpIMul %ulong %i %l3\n" ..
      "%f = OpExtInst %v4 %std vloadn %g %p 4\n",
      "%l6 = OpConstant %ulong 6\n")
  end)

  it("are found through calls", function()
    local helper = [[
%at = OpFunction %ulong None %fi
%h1 = OpFunctionParameter %ulong
%h2 = OpFunctionParameter %ulong
%hl = OpLabel
%h3 = OpIMul %ulong %h1 %l100
%h4 = OpIAdd %ulong %h3 %h2
OpReturnValue %h4
OpFunctionEnd
]]
    check({1, 0, 0}, {0, 1, 0}, "%i = OpFunctionCall %ulong %at %y %x\n" ..
      at "%i", helper)
  end)

  local loop = [[
%%i = OpVariable %%fl Function
OpStore %%i %s
OpBranch %%top
%%top = OpLabel
%%j = OpLoad %%ulong %%i
%s
%%h = OpIAdd %%ulong %%j %%n
OpStore %%i %%h
%%e = OpULessThan %%bool %%h %%l100
OpBranchConditional %%e %%top %%out
%%out = OpLabel
]]
  it("weigh more in loops", function()
    check({8, 0, 0}, {0, 0, 0}, loop:format("%x", at "%j"))
    check({0, 0, 0}, {0, 0, 0}, loop:format("%l1", at "%j"))
    check({0, 0, 0}, {8, 0, 0}, loop:format("%l1",
      "%b = OpIMul %ulong %x %n\n%c = OpIAdd %ulong %b %j\n" .. at "%c"))
  end)

  it("distinguish memory that a group fills from its work-items' own",
    function()
    local fill = "%c = OpInBoundsPtrAccessChain %lp %tile %j\n" ..
      "OpStore %c %f1\n"
    local own = fill:gsub("%%j", "%%x")
    assert.is_true(has(kernel(loop:format("%x", fill)), "sweeps local memory"))
    assert.is_false(has(kernel(loop:format("%x", own)), "sweeps local memory"))
    assert.is_true(has(kernel(loop:format("%x", own)), "loops"))
    assert.is_false(has(kernel(own), "loops"))
    assert.is_true(has(kernel "%e = OpExtInst %float %std exp %f1\n",
      "long maths"))
    assert.is_false(has(kernel "%e = OpExtInst %float %std fabs %f1\n",
      "long maths"))
  end)

  it("report the widest step", function()
    local k = kernel("%d = OpIMul %ulong %x %l3\n" .. at "%d" ..
      "%e = OpIMul %ulong %y %l100\n" ..
      "%b = OpInBoundsPtrAccessChain %gp %p %e\n" ..
      "%w = OpLoad %float %b\n%f = OpInBoundsPtrAccessChain %gp %p %x\n" ..
      "%u = OpLoad %float %f\n")
    assert.same({2, 0, 0}, k.beside)
    assert.same({12, 0, 0}, k.spacing)
  end)

  it("of real kernels match their authors' intention", function()
    local function of(file)
      local f <close> = assert(io.open("kernels/" .. file .. ".spv", "rb"))
      return lze.spirv.reflect(f:read "a").kernels
    end
    assert.same({3, 0, 0}, of "saxpy"[1].beside)
    assert.same({0, 0, 0}, of "saxpy"[1].apart)
    assert.same({9, 0, 0}, of "matmul"[1].beside)
    assert.same({0, 9, 0}, of "matmul"[1].apart)
    assert.same({0, 0, 0}, of "saxpy"[1].again)
    assert.same({0, 8, 8}, of "matmul"[1].again)
    assert.same({1, 0, 0}, of "saxpy"[1].stores)
    assert.same({1, 0, 0}, of "matmul"[1].stores)
    assert.same({4, 0, 0}, of "saxpy"[1].spacing)
  end)
end)
