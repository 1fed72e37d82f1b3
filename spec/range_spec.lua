-- range_spec.lua - each work-item of a range runs exactly once, in any group.
-- SPDX-License-Identifier: MIT
--
-- LZE_TEST_RANGES=N runs N random kernels, LZE_TEST_SEED=S begins with that
-- one; spec/fuzz/ranges.lua runs them for as long as you like. LZE_TEST_LARGE=1
-- also runs ranges of 2^32 work-items and more, which takes half a minute.

local lze = require "lze"
local process = require "spec.support.process"
local random_range = require "spec.support.random_range"

local COUNT <const> = tonumber(os.getenv "LZE_TEST_RANGES" or
  random_range.kinds)
local SEED <const> = tonumber(os.getenv "LZE_TEST_SEED" or "1")
local LARGE <const> = os.getenv "LZE_TEST_LARGE" == "1"

-- Ranges, and a group for each.
local odd = {
  {{37}, {8}}, {{1021}, {64}}, {{5}, {64}}, {{17, 13}, {4, 4}},
  {{67, 31}, {16, 16}}, {{3, 70}, {1, 32}}, {{7, 5, 3}, {2, 2, 2}},
  {{1, 1, 129}, {1, 1, 8}},
}

local function product(range)
  local items = 1
  for _, n in ipairs(range) do items = items * n end
  return items
end

local function launch(range, group)
  local t = table.move(range, 1, #range, 1, {})
  t.group = group
  return t
end

describe("a random range", function()
  local function run(way, seed, launches)
    local world = random_range.world(way)
    for s = seed, seed + COUNT - 1 do
      random_range.try(world, s, {launches = launches})
    end
  end

  it("runs each work-item exactly once", function()
    run("plain", SEED, 4)
    assert.is_true(COUNT > 0)
  end)

  it("runs each work-item of an optimised module exactly once", function()
    if not os.execute "command -v spirv-opt >/dev/null" then
      pending "spirv-opt is missing"
    end
    run("optimized", SEED + COUNT, 2)
  end)

  it("runs each work-item of a module with debug information exactly once",
    function()
      run("debug", SEED + 2 * COUNT, 2)
    end)

  it("runs each work-item exactly once with LZE_CHECK=1", function()
    assert.equal("done\n", process.output(([[
      local random_range = require "spec.support.random_range"
      local world = random_range.world()
      for seed = %d, %d do
        random_range.try(world, seed, {launches = 2})
      end
      print "done"]]):format(SEED, SEED + COUNT - 1),
      {env = {LZE_CHECK = "1"}, seconds = 60 + 30 * COUNT}))
  end)
end)

describe("the model of random ranges", function()
  -- Returns a world in which f launches the kernels.
  local function failing(f)
    local world = random_range.world()
    for name, k in pairs(world.kernels) do
      if name ~= "in Lua" then
        local fake = {}
        function fake.launch(_, range, ...)
          f(k, range, ...)
          return {wait = function() lze.wait() end}
        end
        world.kernels[name] = setmetatable(fake, {__call = fake.launch})
      end
    end
    world.queues = {{launch = function(_, k, ...) k(...) end}}
    return world
  end

  local function message(f)
    local world = failing(f)
    for seed = 1, 20 do
      local form = random_range.form(seed)
      if form == "plain" or form == "returns" then
        local ok, said = pcall(random_range.try, world, seed,
          {launches = 1, simple = true})
        assert.is_false(ok)
        return said
      end
    end
  end

  it("finds a work-item that is missing, runs twice, or is beyond the range",
    function()
      assert.matches("ran 0 times", message(function() end))
      assert.matches("work%-item 0 ran %d times", message(function(k, ...)
        k(...)
        k(...)
      end))
      assert.matches("a work%-item beyond the range ran", message(
        function(k, range, ...)
          local more = table.move(range, 1, #range, 1, {})
          more[1], more.offset = more[1] + 1, range.offset
          k(more, ...)
        end))
    end)
end)

describe("a range that the group does not divide", function()
  it("prints a line for each work-item", function()
    local out = process.output [==[
      local lze = require "lze"
      local k = lze.compile([[
        kernel void say(void) {
          printf("at %d %d\n", (int)get_global_id(0), (int)get_global_id(1));
        }]]).say
      k({7, 5, group = {4, 2}})
      lze.wait()]==]
    local seen, lines = {}, 0
    for x, y in out:gmatch "at (%d+) (%d+)\n" do
      seen[x .. " " .. y], lines = true, lines + 1
    end
    assert.equal(35, lines, out)
    for y = 0, 4 do
      for x = 0, 6 do assert.is_true(seen[x .. " " .. y]) end
    end
  end)

  it("changes a variable of the program once for each work-item", function()
    local mod = lze.compile([[
      global uint total = 3;
      static void add(void) { atomic_inc(&total); }
      kernel void count(void) { if (get_global_id(0) < 4000000000u) add(); }
      kernel void take(global uint *out) { *out = total; total = 3; }
    ]], {std = "CL2.0"})
    local out = lze.buffer("uint", 1)
    for _, case in ipairs(odd) do
      mod.count(launch(table.unpack(case)))
      mod.take(1, out)
      assert.equal(3 + product(case[1]), out[1], table.concat(case[1], "x"))
    end
  end)

  it("has the specialization constants of its module, and debug lines",
    function()
      -- Adds a constant to the cell of each id.
      local bytes = lze.spirv.assemble [[
               OpCapability Addresses
               OpCapability Kernel
               OpCapability Int64
               OpMemoryModel Physical64 OpenCL
               OpEntryPoint Kernel %kernel "add" %id
       %file = OpString "hand.cl"
               OpName %kernel "add"
               OpDecorate %id BuiltIn GlobalInvocationId
               OpDecorate %id Constant
               OpDecorate %step SpecId 7
       %void = OpTypeVoid
       %uint = OpTypeInt 32 0
      %ulong = OpTypeInt 64 0
      %three = OpTypeVector %ulong 3
      %input = OpTypePointer Input %three
         %id = OpVariable %input Input
       %step = OpSpecConstant %uint 11
      %scope = OpConstant %uint 1
       %none = OpConstant %uint 0
    %pointer = OpTypePointer CrossWorkgroup %uint
       %type = OpTypeFunction %void %pointer
     %kernel = OpFunction %void None %type
        %out = OpFunctionParameter %pointer
      %entry = OpLabel
               OpLine %file 3 1
        %all = OpLoad %three %id Aligned 32
          %x = OpCompositeExtract %ulong %all 0
               OpLine %file 4 1
       %cell = OpInBoundsPtrAccessChain %pointer %out %x
        %old = OpAtomicIAdd %uint %cell %scope %none %step
               OpReturn
               OpFunctionEnd]]
      for _, step in ipairs {11, 5} do
        local k = lze.module(bytes, step ~= 11 and {constants = {[7] = step}}
          or nil).add
        local out = lze.buffer("uint", 100)
        for _, group in ipairs {8, 64, 100} do
          out:fill(0)
          k({37, group = group, offset = 2}, out)
          local cells = out:read()
          for i = 1, 100 do
            assert.equal(i > 2 and i <= 39 and step or 0, cells[i])
          end
        end
      end
    end)

  it("writes each pixel of an image", function()
    local ok, image = pcall(lze.image, "r32uint", {67, 31})
    if not ok then pending "the device has no images" end
    local k = lze.compile([[
      kernel void paint(write_only image2d_t to, global uint *count) {
        int x = get_global_id(0), y = get_global_id(1);
        atomic_inc(count);
        write_imageui(to, (int2)(x, y), (uint4)(y * 1000 + x, 0, 0, 0));
      }]]).paint
    local count = lze.buffer("uint", 1)
    k({67, 31, group = {16, 8}}, image, count)
    assert.equal(67 * 31, count[1])
    local pixels = image:read()
    for i = 0, 67 * 31 - 1 do
      assert.equal(i // 67 * 1000 + i % 67, pixels[i + 1])
    end
  end)

  it("leaves the module's kernels, arguments and SPIR-V as they were",
    function()
      local mod = lze.compile [[
        kernel void one(global uint *x, uint n) { x[get_global_id(0)] += n; }
        kernel void other(global uint *x) { x[get_global_id(0)] = 2; }]]
      local spirv, native = mod:spirv(), mod:native()
      local x = lze.buffer("uint", 100)
      mod.one({37, group = 8}, x, 5)
      mod.other({41, group = 16}, x)
      lze.wait()
      assert.same({"one", "other"}, mod:kernels())
      assert.equal(2, #mod.one.args)
      assert.equal(1, #mod.other.args)
      assert.equal(spirv, mod:spirv())
      assert.equal(#native, #mod:native())
      local again = lze.module(spirv).one
      again({37, group = 8}, x, 5)
      assert.same({7, 7}, {x[1], x[37]})
      assert.equal(2, x[38])
    end)

  it("is refused by kernels that need whole groups", function()
    local mod = lze.compile [[
      static void meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }
      static uint place(void) { return get_group_id(0); }
      static uint size(void) { return get_local_size(0); }
      static uint all(void) { return get_global_size(0); }
      static uint deep(void) { return place(); }
      kernel void meets(global uint *x) { meet(); x[get_global_id(0)]++; }
      kernel void places(global uint *x) { x[get_global_id(0)] += deep(); }
      kernel void sizes(global uint *x) { x[get_global_id(0)] += size(); }
      kernel void total(global uint *x) { x[get_global_id(0)] += all(); }
      kernel void outer(global uint *x) { places(x); }]]
    local x = lze.buffer("uint", 1024)
    for _, name in ipairs(mod:kernels()) do
      local k = mod[name]
      local ok, said = pcall(k, {1021, group = 64}, x)
      assert.is_false(ok, name)
      assert.matches("does not divide the range 1021", said)
      -- The group that lze chooses divides the range.
      local group = k:group(1021)
      assert.equal(0, 1021 % group, name)
    end
    x:fill(0)
    mod.meets(1021, x)
    for i, v in ipairs(x:read()) do assert.equal(i <= 1021 and 1 or 0, v) end
  end)

  it("works for a kernel with a required group size", function()
    local mod = lze.compile [[
      kernel __attribute__((reqd_work_group_size(16, 1, 1)))
      void line(global uint *x) { atomic_inc(&x[get_global_id(0)]); }
      kernel __attribute__((reqd_work_group_size(16, 1, 1)))
      void meets(global uint *x) {
        barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)]++;
      }]]
    local x = lze.buffer("uint", 100)
    for _, n in ipairs {1, 15, 16, 17, 37} do
      x:fill(0)
      mod.line(n, x)
      mod.line({n, group = 16}, x)
      for i, v in ipairs(x:read()) do assert.equal(i <= n and 2 or 0, v) end
    end
    assert.matches("does not divide the range 37",
      select(2, pcall(mod.meets, 37, x)))
  end)

  it("may have 2^32 - 1 work-items in a dimension, and more in all", function()
    if not LARGE then pending "LZE_TEST_LARGE=1 runs it" end
    local k = lze.compile([[
      kernel void sparse(global uint *x, uint step) {
        ulong i = get_global_id(1) * 0xffffffff + get_global_id(0);
        if (i % step == step - 1) atomic_inc(&x[i / step]);
      }]]).sparse
    local x = lze.buffer("uint", 64)
    for _, range in ipairs {{(1 << 32) - 1}, {(1 << 32) - 1, 2}} do
      x:fill(0)
      range.group = {4096, 1}
      k(range, x, 1 << 28)
      local last = product(range) // (1 << 28)
      for i, v in ipairs(x:read()) do assert.equal(i <= last and 1 or 0, v) end
    end
  end)
end)
