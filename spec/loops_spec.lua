-- loops_spec.lua - detection of short loops in kernels.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local HEAD = [[
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k"
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%m2 = OpConstant %uint 4294967294
%m1 = OpConstant %uint 4294967295
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%c6 = OpConstant %uint 6
%c15 = OpConstant %uint 15
%c17 = OpConstant %uint 17
%c100 = OpConstant %uint 100
%wide9 = OpConstant %ulong 9
%vp = OpTypePointer Function %uint
%fn = OpTypeFunction %void %uint
%k = OpFunction %void None %fn
%n = OpFunctionParameter %uint
%entry = OpLabel
%i = OpVariable %vp Function
%j = OpVariable %vp Function
]]

-- Returns two booleans: the kernel with this body has loops, and long loops.
local function loops(body)
  local has = {}
  local kernel = lze.spirv.reflect(lze.spirv.assemble(HEAD .. body ..
    "OpReturn\nOpFunctionEnd\n")).kernels[1]
  for _, feature in ipairs(kernel.features) do has[feature] = true end
  return has.loops or false, has["long loops"] or false
end

-- Returns a loop that tests before each round, with its counter in a variable.
-- Names in braces are replaced.
local function before(values)
  local text = [[
OpStore %{i} {first}
OpBranch %head{i}
%head{i} = OpLabel
%a{i} = OpLoad %uint %{i}
%b{i} = {compare} %bool {operands}
OpBranchConditional %b{i} {to}
%body{i} = OpLabel
{body}OpBranch %next{i}
%next{i} = OpLabel
%c{i} = OpLoad %uint %{i}
%d{i} = {sum}
OpStore %{i} %d{i}
OpBranch %head{i}
%out{i} = OpLabel
]]
  local all = {i = "i", first = "%c0", compare = "OpSLessThan",
    operands = "%a{i} %c6", to = "%body{i} %out{i}", body = "",
    sum = "OpIAdd %uint %c{i} %c1"}
  for name, value in pairs(values or {}) do all[name] = value end
  for _ = 1, 2 do text = text:gsub("{(%w+)}", all) end
  return text
end

-- Returns a loop that tests after each round, with a phi as its counter.
local function behind(first, sum, compare, to)
  return ([[
OpBranch %%head
%%head = OpLabel
%%p = OpPhi %%uint %s %%entry %%q %%head
%%q = %s
%%e = %s
OpBranchConditional %%e %s
%%out = OpLabel
]]):format(first, sum, compare, to or "%head %out")
end

local function assert_short(text)
  assert.same({true, false}, {loops(text)}, text)
end

local function assert_long(text)
  assert.same({true, true}, {loops(text)}, text)
end

describe("loops of a kernel", function()
  it("are not reported for a kernel without loops", function()
    assert.same({false, false}, {loops ""})
  end)

  it("are short between constants that are near each other", function()
    assert_short(before())
    assert_short(before {first = "%m2", operands = "%a{i} %c2"})
    assert_short(before {operands = "%a{i} %c15"})
    assert_short(before {first = "%c6", compare = "OpSGreaterThan",
      operands = "%a{i} %c0", sum = "OpIAdd %uint %c{i} %m1"})
    assert_short(before {first = "%c6", compare = "OpINotEqual",
      operands = "%c0 %a{i}", sum = "OpISub %uint %c{i} %c1"})
    assert_short(before {operands = "%a{i} %c100", sum =
      "OpIAdd %uint %c{i} %c15"})
    assert_short(before {compare = "OpIEqual", to = "%out{i} %body{i}"})
    assert_short(before {compare = "OpSGreaterThanEqual",
      operands = "%a{i} %c6\n%n{i} = OpLogicalNot %bool %b{i}",
      to = "%body{i} %out{i}"}:gsub("Conditional %%bi", "Conditional %%ni"))
    assert_short(before {compare = "OpULessThan",
      operands = "%w{i} %wide9"}:gsub("%%bi =",
        "%%wi = OpUConvert %%ulong %%ai\n%0"))
  end)

  it("are long between distant or unknown bounds", function()
    assert_long(before {operands = "%a{i} %c17"})
    assert_long(before {operands = "%a{i} %n"})
    assert_long(before {first = "%n"})
    assert_long(before {sum = "OpIAdd %uint %c{i} %n"})
    assert_long(before {sum = "OpIMul %uint %c{i} %c2"})
    assert_long(before {sum = "OpIAdd %uint %c{i} %c0"})
    assert_long(before {sum = "OpISub %uint %c{i} %c1"})
    assert_long(before {sum = "OpIAdd %uint %n %c1"})
    assert_long(before {body = "OpStore %{i} %c3\n"})
    assert_long(before {body = "%m = OpIAdd %uint %a{i} %m1\n" ..
      "OpStore %{i} %m\n"})
  end)

  it("may count in phis", function()
    assert_short(behind("%c0", "OpIAdd %uint %p %c1",
      "OpULessThan %bool %q %c6"))
    assert_short(behind("%c6", "OpISub %uint %p %c2",
      "OpSLessThanEqual %bool %p %c0", "%out %head"))
    assert_long(behind("%c0", "OpIAdd %uint %p %c1",
      "OpULessThan %bool %q %c100"))
    assert_long(behind("%c0", "OpIAdd %uint %p %n",
      "OpULessThan %bool %q %c6"))
    assert_long(behind("%n", "OpIAdd %uint %p %c1",
      "OpULessThan %bool %q %c6"))
    assert_long(behind("%c0", "OpIAdd %uint %n %c1",
      "OpULessThan %bool %p %c6"))
  end)

  it("multiply if they are nested, but not if they follow each other",
    function()
    local three = {i = "j", operands = "%a{i} %c3"}
    assert_short(before {operands = "%a{i} %c3", body = before(three)})
    assert_long(before {body = before(three)})
    assert_short(before() .. before(three))
  end)

  it("are long with a long body", function()
    local body = {}
    for k = 1, 300 do
      body[k] = ("%%x%d = OpIAdd %%uint %%n %%c1\n"):format(k)
    end
    assert_long(before {body = table.concat(body)})
    assert_short(before {body = table.concat(body, "", 1, 200)})
  end)

  it("are recognised in Lua kernels, too", function()
    local function long(f)
      local k <close> = lze.kernel(f)
      local has = {}
      for _, feature in ipairs(lze.spirv.reflect(k:spirv(
        "float *x, long n")).kernels[1].features) do
        has[feature] = true
      end
      assert.is_true(has.loops)
      return has["long loops"] or false
    end
    assert.is_false(long(function(i, x, n)
      for dy = -1, 1 do
        for dx = -1, 1 do x[i] = x[i] + n * dx + dy end
      end
    end))
    assert.is_false(long(function(i, x, n)
      local k = 0
      while k < 7 do x[i] = x[i] + n; k = k + 2 end
    end))
    assert.is_true(long(function(i, x, n)
      for k = 1, n do x[i] = x[i] + k end
    end))
    assert.is_true(long(function(i, x, n)
      for k = 1, 100 do x[i] = x[i] + k * n end
    end))
  end)
end)
