-- kernel_spec.lua - modules, kernels, their arguments and exact ranges.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local policies = {"lze", "driver", "largest", "tornado", "tuned"}

local mod = lze.load "kernels/spec.spv"

local function file_bytes(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local spv = file_bytes "kernels/spec.spv"

describe("get_work_dim", function()
  it("counts the range's dimensions, even if the last sizes are 1", function()
    local f = lze.compile([[
      kernel void f(global uint *x) {
        if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0)
          x[0] = get_work_dim();
      }]]).f
    local x = lze.buffer("uint", 1)
    for _, try in ipairs {{7, 1}, {{31, 4, 1}, 3}, {{31, 4}, 2}, {{7}, 1},
                          {{1, 1, 1}, 3}, {{2, 1}, 2}, {{3, 2, 2}, 3}} do
      f(try[1], x)
      assert.equal(try[2], x[1])
    end
    local g = lze.graph "g"
    g:task("f", f, {31, 4, 1}, x)
    local plan = g:compile()
    assert.equal(3, plan:run() and x[1])
    plan:set("f", 0, {5, 1})
    assert.equal(2, plan:run() and x[1])
  end)
end)

describe("fences and copies by a group", function()
  it("work through SPIR-V", function()
    local m = lze.compile [[
      kernel void copies(global const int *a, global const float2 *b,
                         global int *x, global float2 *y) {
        local int s[24]; local float2 t[5];
        size_t g = get_group_id(0);
        event_t e = async_work_group_copy(s, a + 24 * g, 24, 0);
        e = async_work_group_strided_copy(t, b + g, 5, 3, e);
        wait_group_events(1, &e);
        local int r[24];
        for (int i = get_local_id(1) * 4 + get_local_id(0); i < 24; i += 8)
          r[i] = s[23 - i];
        barrier(CLK_LOCAL_MEM_FENCE);
        event_t f[2];
        f[0] = async_work_group_copy(x + 24 * g, r, 24, 0);
        f[1] = async_work_group_strided_copy(y + g, t, 5, 2, 0);
        wait_group_events(2, f);
      }
      kernel void fences(global int *x) {
        local int t[8];
        size_t i = get_local_id(0);
        t[i] = i;
        mem_fence(CLK_LOCAL_MEM_FENCE);
        read_mem_fence(CLK_GLOBAL_MEM_FENCE);
        write_mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        x[get_global_id(0)] = t[i] * 3;
      }]]
    local a, b, x, y = {}, {}, lze.buffer("int", 48), lze.buffer("float2", 11)
    for i = 1, 48 do a[i] = i * i end
    for i = 1, 14 do b[i] = {i, -i} end
    m.copies({8, 2, group = {4, 2}}, lze.buffer("int", a),
      lze.buffer("float2", b), x, y)
    for i = 1, 48 do
      assert.equal(a[i <= 24 and 25 - i or 73 - i], x[i])
    end
    for g = 1, 2 do
      for i = 1, 5 do
        assert.same(b[g + 3 * (i - 1)], {table.unpack(y[g + 2 * (i - 1)])})
      end
    end
    local z = lze.buffer("int", 16)
    m.fences({16, group = 8}, z)
    assert.same({0, 3, 6, 9, 12, 15, 18, 21, 0, 3, 6, 9, 12, 15, 18, 21},
      z:read())
  end)
end)

describe("half_sin and the other half_ functions", function()
  it("work through SPIR-V", function()
    local names = {"cos", "exp", "exp2", "exp10", "log", "log2", "log10",
                   "recip", "rsqrt", "sin", "sqrt", "tan"}
    local lines = {"x[12] = half_divide(a, 3.0f); x[13] = half_powr(a, 3.0f);"}
    for i, name in ipairs(names) do
      lines[i + 1] = ("x[%d] = half_%s(a);"):format(i - 1, name)
    end
    local x, a = lze.buffer("float", 14), 0.75
    lze.compile("kernel void f(global float *x, float a) {" ..
      table.concat(lines) .. "}").f(1, x, a)
    for i, v in ipairs {math.cos(a), math.exp(a), 2 ^ a, 10 ^ a, math.log(a),
        math.log(a, 2), math.log(a, 10), 1 / a, a ^ -0.5, math.sin(a), a ^ 0.5,
        math.tan(a), a / 3, a ^ 3} do
      assert.is_true(math.abs(x[i] - v) <= 1e-3 * math.abs(v), names[i])
    end
  end)
end)

describe("half", function()
  it("is used in computations if the device supports it", function()
    if not lze.device().fp16 then return end
    local half = lze.compile [[
      #pragma OPENCL EXTENSION cl_khr_fp16 : enable
      kernel void f(global half *x) {
        size_t i = get_global_id(0);
        x[i] = x[i] * (half)3 + sqrt(x[i]);
      }]]
    local x = lze.buffer("half", {0, 1, 4, 9, 2049, 1 / 0})
    half.f(#x, x)
    -- 2048 * 3 is 6144; the root of 2048, as a half, is 45.25.
    assert.same({0.0, 4.0, 14.0, 30.0, 6188.0, 1 / 0}, x:read())
  end)
end)

describe("lze.load", function()
  it("returns a module of the file", function()
    assert.equal("module", lze.type(mod))
    assert.equal(lze.device(), mod.device)
    assert.matches("^module kernels/spec.spv: count, count_groups, square, ",
      tostring(mod))
  end)

  it("names a missing file", function()
    local err = expect.failure(function() lze.load "nowhere/no.spv" end)
    assert.equal("lze.load", err.call)
    assert.equal("ENOENT", err.code)
    assert.equal("nowhere/no.spv: No such file or directory", err.message)
    assert.matches("_spec%.lua:%d+: lze.load: ENOENT: nowhere/no.spv: No " ..
      "such file or directory$", tostring(err))
  end)

  it("finds the kernels that come with lze by their names", function()
    local saxpy = lze.load "saxpy"
    assert.equal("module saxpy: saxpy", tostring(saxpy))
    assert.equal(file_bytes "kernels/saxpy.spv", saxpy:spirv())
    process.with_directory(function(dir)
      assert.equal("module blur: blur_rows, blur_columns\n", process.output([[
        print(require "lze".load "blur")]], {before = [[
        export LUA_CPATH="${LUA_CPATH:-$PWD/build/?.so;;}"
        cd ]] .. dir}))
    end)
    local known = "(known: blur, cg, histogram, kmeans, mandelbrot, " ..
      "matmul, nbody, network, reduction, saxpy, scan, sobel, vector_add)"
    for _, name in ipairs {"saxpyy", "cgs"} do
      local err = expect.failure(function() lze.load(name) end)
      assert.equal(name .. ": No such file or directory, and no kernels of " ..
        "that name come with lze " .. known, err.message)
      assert.equal("ENOENT", err.code)
    end
    for _, name in ipairs {"../kernels/saxpy", "saxpy.spv", "Saxpy", ""} do
      local err = expect.failure(function() lze.load(name) end)
      assert.equal(name .. ": No such file or directory", err.message)
    end
  end)

  it("reports a directory", function()
    local err = expect.failure(function() lze.load "kernels" end)
    assert.equal("lze.load EISDIR kernels: Is a directory",
      err.call .. " " .. err.code .. " " .. err.message)
  end)

  it("reads a pipe, and only the start of a file that is not SPIR-V", function()
    process.with_directory(function(directory)
      local pipe = directory .. "/pipe"
      assert(os.execute("mkfifo " .. pipe .. " && cat kernels/saxpy.spv > " ..
        pipe .. " &"))
      while not os.execute("test -p " .. pipe) do end
      assert.same({"saxpy"}, lze.load(pipe):kernels())
      local zeros = directory .. "/zeros.spv"
      assert(os.execute("truncate -s 64G " .. zeros))
      for _, path in ipairs {zeros, "/dev/zero"} do
        local err = expect.failure(function() lze.load(path) end)
        assert.matches("does not start with the magic number", err.message)
      end
    end)
  end)

  it("refuses a path that is not a string", function()
    assert.equal("bad argument #1 to 'load' (path: string expected, got nil)",
      expect.misuse(function() lze.load() end))
    assert.equal("bad argument #1 to 'load' (path: string expected, got " ..
      "integer 1)", expect.misuse(function() lze.load(1) end))
  end)

  it("names a file that is not SPIR-V", function()
    process.with_directory(function(dir)
      for name, bytes in pairs {empty = "", short = "\3\2\35\7", text = "hello",
                                zeros = ("\0"):rep(64)} do
        local path = dir .. "/" .. name .. ".spv"
        process.write(path, bytes)
        local err = expect.failure(function() lze.load(path) end)
        assert.equal("INVALID_SPIRV", err.code)
        assert.matches("^not a SPIR%-V module that can be decoded: .",
          err.message)
        assert.matches("^module .*" .. name, err.object)
      end
    end)
  end)
end)

describe("lze.module", function()
  it("returns a module of the bytes", function()
    local m = lze.module(spv)
    assert.equal("module", lze.type(m))
    assert.matches("^module from a string: count, ", tostring(m))
    local x = lze.buffer("int", {1, 2, 3})
    m.add(3, x, 10)
    assert.same({11, 12, 13}, x:read())
  end)

  it("refuses a module that is cut short anywhere", function()
    for n = 0, #spv - 1, 97 do
      local ok, err = pcall(lze.module, spv:sub(1, n))
      assert.is_false(ok, n)
      assert.equal("table", type(err))
      assert.matches("^[A-Z_0-9]+$", err.code)
    end
    for _, n in ipairs {4, 8, 20, 24, 2000, #spv - 4, #spv - 8} do
      assert.is_false((pcall(lze.module, spv:sub(1, n))))
    end
    local err = expect.failure(function() lze.module(spv:sub(1, -5)) end)
    assert.equal("INVALID_SPIRV", err.code)
    assert.matches("cut short: its last function has no end", err.message, 1,
      true)
  end)

  it("refuses a module with damaged words", function()
    local damaged = spv:sub(1, 20) .. ("\255"):rep(16) .. spv:sub(37)
    local err = expect.failure(function() lze.module(damaged) end)
    assert.equal("INVALID_SPIRV", err.code)
    assert.equal("module from a string", err.object)
  end)

  it("takes each specialization constant once, by name or by number", function()
    local file <close> = io.open "spec/driver/kernels/constants.spvasm"
    local bytes = lze.spirv.assemble((file:read "a":gsub("OpDecorate",
      'OpName %%number "c1"\nOpName %%wide "c2"\nOpDecorate', 1)))
    assert.equal("module", lze.type(lze.module(bytes,
      {constants = {c1 = 5, [8] = 6}})))
    for _, key in ipairs {7, "c1"} do
      local t = {c1 = 5, [7] = 5, c2 = 6, [8] = 6}
      t[key] = 4
      assert.matches("^option constants: c[12]: it is given twice$",
        expect.misuse(function() lze.module(bytes, {constants = t}) end))
    end
  end)

  it("sets all constants of one number, and refuses an ambiguous name",
    function()
      local file <close> = io.open "spec/driver/kernels/constants.spvasm"
      local same = file:read "a":gsub("SpecId 8", "SpecId 7")
        :gsub("(%%wide = OpSpecConstant) %%ulong", "%1 %%uint")
        :gsub("OpStore %%second %%wide", "%%w = OpUConvert %%ulong %%wide\n" ..
          "OpStore %%second %%w")
        :gsub("OpDecorate", 'OpName %%number "c"\nOpName %%wide "c"\n%0', 1)
      local x = lze.buffer("ulong", 2)
      for _, key in ipairs {7, "c"} do
        lze.module(lze.spirv.assemble(same), {constants = {[key] = 5}})
          .constants(1, x)
        assert.same({5, 5}, x:read())
      end
      local other = lze.spirv.assemble((same:gsub("SpecId 7", "SpecId 8", 1)))
      lze.module(other, {constants = {[7] = 6}}).constants(1, x)
      assert.same({11, 6}, x:read())
      assert.equal("option constants: 8 and 7 are both c",
        expect.misuse(function()
          lze.module(other, {constants = {c = 1}})
        end))
    end)

  it("refuses bytes that are not a string", function()
    assert.equal("bad argument #1 to 'module' (bytes: string expected, got " ..
      "table)", expect.misuse(function() lze.module {} end))
  end)

  it("checks its options", function()
    assert.matches("^unknown key 'optoins' in a module's options %(known: ",
      expect.misuse(function() lze.module(spv, {optoins = ""}) end))
    assert.equal("option options: string expected, got integer 1",
      expect.misuse(function() lze.module(spv, {options = 1}) end))
    assert.equal("option constants: table expected, got string 'N'",
      expect.misuse(function() lze.module(spv, {constants = "N"}) end))
    assert.equal("option constants: no specialization constant string 'N' " ..
      "(there is: none)",
      expect.misuse(function() lze.module(spv, {constants = {N = 1}}) end))
    assert.equal("bad argument #2 to 'module' (table expected, got string)",
      expect.misuse(function() lze.module(spv, "-g") end))
    assert.equal("module", lze.type(lze.module(spv, {
      device = lze.device(), context = lze.device().context})))
  end)
end)

describe("a module", function()
  it("lists its kernels", function()
    local names = mod:kernels()
    local known = {}
    for _, name in ipairs(names) do known[name] = true end
    for _, name in ipairs {"count", "add", "spin", "nothing"} do
      assert.is_true(known[name])
    end
    assert.same({"saxpy"}, lze.load("kernels/saxpy.spv"):kernels())
  end)

  it("has each kernel as one object", function()
    assert.equal(mod.add, mod.add)
    assert.equal(mod.add, mod:kernel "add")
    assert.not_equal(mod.add, mod.square)
    assert.not_equal(mod.add, lze.module(spv).add)
  end)

  it("names an unknown kernel and lists the known ones", function()
    local saxpy = lze.load "kernels/saxpy.spv"
    local message = "module kernels/saxpy.spv has no kernel 'sxapy' (there " ..
      "is: saxpy)"
    assert.equal(message, expect.misuse(function() return saxpy.sxapy end))
    assert.equal(message, expect.misuse(function() saxpy:kernel "sxapy" end))
    assert.equal("a module has kernels by name, got integer 1",
      expect.misuse(function() return saxpy[1] end))
    assert.equal("bad argument #1 to 'kernel' (name: string expected, got " ..
      "no value)", expect.misuse(function() saxpy:kernel() end))
    assert.equal("a module has no field that can be set (string 'x')",
      expect.misuse(function() saxpy.x = 1 end))
  end)

  it("closes its kernels with it", function()
    local m = lze.module(spv)
    local k = m.add
    m:close()
    m:close()
    assert.equal("module (closed)", tostring(m))
    assert.equal("kernel add (closed)", tostring(k))
    assert.equal("kernel add is closed", expect.misuse(function()
      k(1, lze.buffer("int", 1), 1)
    end))
    assert.equal("kernel add is closed", expect.misuse(function()
      k:launch(1, lze.buffer("int", 1), 1)
    end))
    assert.equal("kernel add is closed",
      expect.misuse(function() k:group(1) end))
    assert.equal("kernel add is closed",
      expect.misuse(function() return k.args end))
    assert.matches("the module is closed",
      expect.misuse(function() return m.add end))
    assert.matches("the module is closed",
      expect.misuse(function() m:kernels() end))
  end)

  it("creates a kernel again after it was closed", function()
    local m = lze.module(spv)
    local k = m.add
    k:close()
    k:close()
    assert.equal("kernel add (closed)", tostring(k))
    assert.not_equal(k, m.add)
    local x = lze.buffer("int", {1})
    m.add(1, x, 1)
    assert.equal(2, x[1])
  end)

  it("lives on in its kernels after it was dropped", function()
    local k = lze.module(spv).add
    collectgarbage()
    collectgarbage()
    local x = lze.buffer("int", {1})
    k(1, x, 1)
    assert.equal(2, x[1])
  end)
end)

describe("a kernel", function()
  it("prints as its declaration", function()
    assert.equal("kernel square(const int *a, int *b)", tostring(mod.square))
    assert.equal("kernel reverse(int *data, local int *scratch)",
      tostring(mod.reverse))
    assert.equal("kernel vectors(float4 *f, int *i, float4 a, int2 b, " ..
      "uchar3 c)", tostring(mod.vectors))
    assert.equal("kernel nothing()", tostring(mod.nothing))
    assert.equal("kernel saxpy(float a, const float *x, float *y)",
      tostring(lze.load("kernels/saxpy.spv").saxpy))
  end)

  it("describes its arguments", function()
    assert.same({
      {name = "a", type = "int*", space = "global", access = "read"},
      {name = "b", type = "int*", space = "global", access = "write"},
    }, mod.square.args)
    assert.same({
      {name = "table", type = "int*", space = "constant", access = "read"},
      {name = "x", type = "int*", space = "global", access = "both"},
    }, mod.look_up.args)
    assert.same({name = "scratch", type = "int*", space = "local"},
      mod.reverse.args[2])
    assert.same({name = "p", type = "pair"}, mod.structs.args[2])
    local types = {}
    for i, a in ipairs(mod.scalars.args) do types[i] = a.type end
    assert.same({"double*", "long*", "char", "uchar", "short", "ushort",
                 "int", "uint", "long", "ulong", "float", "double"}, types)
    assert.same({}, mod.nothing.args)
  end)

  it("reports its limits and requirements", function()
    local k = mod.square
    assert.equal("square", k.name)
    assert.is_true(k.max_group_size >= 1)
    assert.is_true(k.max_group_size <= lze.device().max_group_size)
    assert.is_nil(k.required_group_size)
    assert.same({8, 1, 1}, mod.eights.required_group_size)
    assert.equal(0, k.local_bytes)
    assert.equal(1024, lze.load("kernels/histogram.spv").histogram.local_bytes)
    assert.equal("integer", math.type(k.private_bytes))
    assert.equal("integer", math.type(k.spill_bytes))
    assert.equal("integer", math.type(k.subgroup_size))
    assert.matches("^no field 'max_group' in a kernel %(known: args, ",
      expect.misuse(function() return k.max_group end))
    assert.equal("a kernel has no field that can be set but " ..
      "group_hint (string 'group')",
      expect.misuse(function() k.group = 64 end))
  end)

  it("returns nothing from a call, and an event from launch", function()
    local x = lze.buffer("int", {1, 2, 3})
    assert.equal(0, select("#", mod.add(3, x, 1)))
    assert.equal("event", lze.type(mod.add:launch(3, x, 1)))
    assert.same({3, 4, 5}, x:read())
  end)
end)

describe("the number of arguments", function()
  it("is checked", function()
    local x = lze.buffer("int", {1})
    assert.equal("kernel square: 2 arguments (a, b) expected, got 1",
      expect.misuse(function() mod.square(1, x) end))
    assert.equal("kernel square: 2 arguments (a, b) expected, got 0",
      expect.misuse(function() mod.square:launch(1) end))
    assert.equal("kernel square: 2 arguments (a, b) expected, got 3",
      expect.misuse(function() mod.square(1, x, x, nil) end))
    assert.equal("kernel offsets: 1 argument (out) expected, got 2",
      expect.misuse(function() mod.offsets(1, x, x) end))
    assert.equal("kernel nothing: 0 arguments expected, got 1",
      expect.misuse(function() mod.nothing(1, x) end))
    assert.equal("kernel square: no global size",
      expect.misuse(function() mod.square() end))
    assert.equal("kernel square: no global size",
      expect.misuse(function() mod.square:launch() end))
  end)
end)

describe("a scalar argument", function()
  -- Calls the kernel with one argument replaced.
  local function call(position, value)
    local reals = lze.buffer("double", 2)
    local integers = lze.buffer("long", 8)
    local args = {reals, integers, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
    args[position] = value
    mod.scalars(1, table.unpack(args, 1, 12))
    return reals, integers
  end

  it("is passed unchanged", function()
    local reals = lze.buffer("double", 2)
    local integers = lze.buffer("long", 8)
    for _, case in ipairs {
      {-128, 255, -32768, 65535, -0x80000000, 0xffffffff, math.mininteger,
       -1, 0x1.fffffep127, 0x1.fffffffffffffp1023},
      {127, 0, 32767, 0, 0x7fffffff, 0, math.maxinteger, math.mininteger,
       -2.0 ^ -149, -2.0 ^ -1074},
      {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9, 10},
      {0, 0, 0, 0, 0, 0, (1 << 53) + 1, (1 << 53) + 1, math.huge, -math.huge},
    } do
      mod.scalars(1, reals, integers, table.unpack(case))
      for i = 1, 8 do assert.equal(case[i], integers[i]) end
      assert.equal(case[9], reals[1])
      assert.equal(case[10], reals[2])
    end
    mod.scalars(1, reals, integers, 0, 0, 0, 0, 0, 0, 0, 0, -0.0, 0 / 0)
    assert.equal(-math.huge, 1 / reals[1])
    assert.is_true(reals[2] ~= reals[2])
  end)

  it("of 32 bits is rounded to float once", function()
    local reals = call(11, 0.1)
    assert.equal(0x1.99999ap-4, reals[1])
  end)

  it("must fit its type", function()
    for i, t in ipairs {
      {"c", "char", -128, 127}, {"uc", "uchar", 0, 255},
      {"s", "short", -32768, 32767}, {"us", "ushort", 0, 65535},
      {"i", "int", -0x80000000, 0x7fffffff}, {"ui", "uint", 0, 0xffffffff},
    } do
      for _, v in ipairs {t[3] - 1, t[4] + 1} do
        assert.equal(("kernel scalars: argument %d (%s): %s expected (an " ..
          "integer from %d to %d), got integer %d"):format(i + 2, t[1], t[2],
            t[3], t[4], v), expect.misuse(function() call(i + 2, v) end))
      end
      assert.equal(("kernel scalars: argument %d (%s): %s expected (an " ..
        "integer from %d to %d), got number 0.5"):format(i + 2, t[1], t[2],
          t[3], t[4]), expect.misuse(function() call(i + 2, 0.5) end))
    end
    assert.equal("kernel scalars: argument 11 (f): number 1e+39 does not " ..
      "fit float", expect.misuse(function() call(11, 1e39) end))
    assert.equal("kernel scalars: argument 9 (l): long expected (an integer " ..
      "from -9223372036854775808 to 9223372036854775807), got number 1e+19",
      expect.misuse(function() call(9, 1e19) end))
  end)

  it("must be a number", function()
    local int = "kernel scalars: argument 7 (i): int expected (an integer " ..
      "from -2147483648 to 2147483647), got "
    assert.equal(int .. "string '1'",
      expect.misuse(function() call(7, "1") end))
    assert.equal(int .. "nil", expect.misuse(function() call(7, nil) end))
    assert.equal(int .. "boolean", expect.misuse(function() call(7, true) end))
    assert.equal(int .. "table", expect.misuse(function() call(7, {}) end))
    assert.equal(int .. "buffer of int",
      expect.misuse(function() call(7, lze.buffer("int", 1)) end))
    assert.equal("kernel scalars: argument 12 (d): double expected, got nil",
      expect.misuse(function() call(12, nil) end))
    assert.equal("kernel scalars: argument 11 (f): float expected, got " ..
      "string '1'", expect.misuse(function() call(11, "1") end))
  end)
end)

describe("a vector argument", function()
  local f = lze.buffer("float4", 1)
  local i = lze.buffer("int", 5)

  it("is a table", function()
    mod.vectors(1, f, i, {1, 2.5, -3, 4}, {5, -6}, {7, 8, 255})
    assert.same({1.0, 2.5, -3.0, 4.0}, {table.unpack(f[1])})
    assert.same({5, -6, 7, 8, 255}, i:read())
  end)

  it("must have all its lanes, within their ranges", function()
    local function call(a, b, c)
      return expect.misuse(function() mod.vectors(1, f, i, a, b, c) end)
    end
    local four = {1, 2, 3, 4}
    assert.equal("kernel vectors: argument 3 (a): float4 expected (a table " ..
      "of 4), got integer 1", call(1, {1, 2}, {1, 2, 3}))
    assert.equal("kernel vectors: argument 3 (a): lane 4: float expected, " ..
      "got nil", call({1, 2, 3}, {1, 2}, {1, 2, 3}))
    assert.equal("kernel vectors: argument 4 (b): int2 expected (a table of " ..
      "2), got one of 3", call(four, {1, 2, 3}, {1, 2, 3}))
    assert.equal("kernel vectors: argument 5 (c): lane 2: uchar expected " ..
      "(an integer from 0 to 255), got integer 256",
      call(four, {1, 2}, {1, 256, 3}))
  end)
end)

describe("a struct argument", function()
  local out = lze.buffer("float", 2)

  it("is a string of its bytes", function()
    mod.structs(1, out, string.pack("<i4f", -7, 2.5))
    assert.same({-7.0, 2.5}, out:read())
  end)

  it("must have the right size", function()
    assert.equal("kernel structs: argument 2 (p): a string of 8 bytes " ..
      "expected, got one of 7",
      expect.misuse(function() mod.structs(1, out, "1234567") end))
    assert.equal("kernel structs: argument 2 (p): a string of 8 bytes " ..
      "expected, got one of 0",
      expect.misuse(function() mod.structs(1, out, "") end))
    assert.equal("kernel structs: argument 2 (p): pair expected (a string " ..
      "of its bytes, as lze.struct makes), got table",
      expect.misuse(function() mod.structs(1, out, {1, 2}) end))
    assert.equal("kernel structs: argument 2 (p): pair expected (a string " ..
      "of its bytes, as lze.struct makes), got nil",
      expect.misuse(function() mod.structs(1, out, nil) end))
    local pair = lze.struct "int i; float f"
    local x = lze.buffer(pair, {{i = 3, f = 1.5}})
    assert.matches("a string of its bytes, as lze.struct makes%), got element",
      expect.misuse(function() mod.structs(1, out, x[1]) end))
    mod.structs(1, out, pair(x[1]))
    assert.same({3.0, 1.5}, out:read())
  end)
end)

describe("a pointer argument", function()
  it("is a buffer of that scalar, of either sign and any width", function()
    for _, type in ipairs {"int", "uint"} do
      local x = lze.buffer(type, {1, 2, 3, 4})
      mod.add(4, x, 1)
      assert.same({2, 3, 4, 5}, x:read())
    end
    local x = lze.buffer("int4", {{1, 2, 3, 4}})
    mod.add(4, x, 1)
    assert.same({2, 3, 4, 5}, {table.unpack(x[1])})
    local f, i = lze.buffer("float", 4), lze.buffer("int", 5)
    mod.vectors(1, f, i, {1, 2, 3, 4}, {0, 0}, {0, 0, 0})
    assert.same({1.0, 2.0, 3.0, 4.0}, f:read())
  end)

  it("may be of any usage, or a view", function()
    for _, usage in ipairs {"shared", "device", "host"} do
      local x = lze.buffer("int", {1, 2, 3, 4, 5}, {usage = usage})
      mod.add(2, x:view(3, 4), 10)
      assert.same({1, 2, 13, 14, 5}, x:read())
    end
  end)

  it("accepts any buffer for bytes or structs", function()
    local out = lze.buffer("uint", 1)
    for type, sum in pairs {uchar = 6, char = 6, int = 6, ulong = 6,
                            float = 0x40 + 0x40 + 0x3f + 0x80 + 0x40} do
      local x = lze.buffer(type, {1, 2, 3})
      mod.sum_bytes(1, x, x.bytes, out)
      assert.equal(sum, out[1])
    end
    local pairs_ = lze.buffer("uchar", string.pack("<i4fi4f", 1, 2.0, 3, 4.0))
    mod.swap_pairs(2, pairs_)
    assert.equal(string.pack("<i4fi4f", 2, 1.0, 4, 3.0), pairs_:string())
    local words = lze.buffer("uint", string.pack("<i4f", 5, 6.0))
    mod.swap_pairs(1, words)
    assert.equal(string.pack("<i4f", 6, 5.0), words:string())
  end)

  it("accepts a buffer for constant memory", function()
    local table_ = lze.buffer("int", {10, 20, 30})
    local x = lze.buffer("int", {2, 0, 1})
    mod.look_up(3, table_, x)
    assert.same({30, 10, 20}, x:read())
  end)

  it("reads the values of buffers of 16-bit floats", function()
    local values = {1, -2, 0.1, 65504, 2.0 ^ -24, 2.0 ^ -14, 1 / 3, -0.0,
                    math.huge, -math.huge}
    local out = lze.buffer("float", #values)
    local h = lze.buffer("half", values)
    mod.widen_half(#values, h, out)
    assert.same(h:read(), out:read())
    local b = lze.buffer("bfloat16", values)
    mod.widen_bfloat16(#values, b, out)
    assert.same(b:read(), out:read())
  end)

  it("refuses a buffer of another scalar", function()
    local int, out = lze.buffer("int", 4), lze.buffer("int", 4)
    for _, type in ipairs {"float", "short", "long", "double", "char",
                           "float4", "half", "bfloat16", "ushort2"} do
      assert.equal("kernel square: argument 1 (a): int* expected, got " ..
        "buffer of " .. type, expect.misuse(function()
          mod.square(4, lze.buffer(type, 4), out)
        end))
    end
    assert.equal("kernel widen_half: argument 2 (out): float* expected, got " ..
      "buffer of int", expect.misuse(function()
        mod.widen_half(1, lze.buffer("half", 1), int)
      end))
    assert.equal("kernel widen_half: argument 1 (h): half* expected, got " ..
      "buffer of bfloat16", expect.misuse(function()
        mod.widen_half(1, lze.buffer("bfloat16", 1), lze.buffer("float", 1))
      end))
  end)

  it("refuses other values", function()
    local out = lze.buffer("int", 1)
    local known = "kernel square: argument 1 (a): int* expected (a buffer, " ..
      "or nil), got "
    for _, case in ipairs {{1, "integer 1"}, {"x", "string 'x'"}, {{}, "table"},
                           {true, "boolean"}, {print, "function"},
                           {lze.device(), "lze.device"},
                           {io.stdout, "FILE*"}} do
      assert.equal(known .. case[2],
        expect.misuse(function() mod.square(1, case[1], out) end))
    end
    assert.equal(known .. "integer " .. out.pointer,
      expect.misuse(function() mod.square(1, out.pointer, out) end))
  end)

  it("refuses a closed buffer", function()
    local x, out = lze.buffer("int", 1), lze.buffer("int", 1)
    local v = x:view(1, 1)
    x:close()
    assert.equal("kernel square: argument 1 (a): the buffer is closed",
      expect.misuse(function() mod.square(1, x, out) end))
    assert.equal("kernel square: argument 2 (b): the buffer is closed",
      expect.misuse(function() mod.square(1, out, v) end))
  end)

  it("may be null", function()
    local out, p = lze.buffer("int", {7}), lze.buffer("float", 1)
    mod.is_null(1, out, nil)
    assert.equal(1, out[1])
    mod.is_null(1, out, p)
    assert.equal(0, out[1])
    mod.is_null(1, out, nil)
    assert.equal(1, out[1])
  end)

  it("accepts an empty buffer, whose address must not be used", function()
    local out = lze.buffer("int", {7})
    mod.is_null(1, out, lze.buffer("float", 0))
    assert.is_number(out[1])
    mod.is_null(1, out, lze.buffer("float", 3):view(3, 2))
    assert.equal(0, out[1])
  end)

  -- If a driver cannot access all host memory, it looks up the owner of an
  -- address. An empty view at the end begins outside its memory, or in a
  -- neighbour.
  it("accepts an empty view that begins behind its memory",
    function()
      assert.equal("0\n", process.output([[
        local lze = require "lze"
        local mod = lze.compile [=[kernel void is_null(global int *out,
          global const float *p) { out[0] = p == 0; }]=]
        local out = lze.buffer("int", {7})
        mod.is_null(1, out, lze.buffer("float", 1):view(2, 1))
        print(out[1])
      ]], {env = {ZOCL_MEMORY = "svm"}}))
    end)
end)

describe("a local argument", function()
  local function reversed(n, group, argument)
    local t = {}
    for i = 1, n do t[i] = i end
    local x = lze.buffer("int", t)
    mod.reverse({n, group = group}, x, argument)
    return x:read()
  end

  it("is a count of elements or lze.local_bytes", function()
    local expected = {8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9}
    assert.same(expected, reversed(16, 8, 8))
    assert.same(expected, reversed(16, 8, 100))
    assert.same(expected, reversed(16, 8, lze.local_bytes(32)))
    assert.same({4, 3, 2, 1, 8, 7, 6, 5}, reversed(8, 4, 4))
    assert.equal("local_bytes: 32", tostring(lze.local_bytes(32)))
  end)

  it("needs a group, even if nothing is launched", function()
    for _, call in ipairs {
      function() reversed(16, nil, 8) end,
      function() mod.reverse:group(16) end,
      function() mod.reverse:group {16} end,
      function() mod.reverse:prepare(16) end,
    } do
      assert.equal("kernel reverse: a kernel with local memory for an " ..
        "argument needs `group` in the launch table", expect.misuse(call))
    end
    assert.equal(8, (mod.reverse:group {16, group = 8}))
  end)

  it("is checked", function()
    local known = "kernel reverse: argument 2 (scratch): "
    local function call(v)
      return expect.misuse(function() reversed(16, 8, v) end)
    end
    assert.equal(known .. "int* expected (a count of elements, or " ..
      "lze.local_bytes), got nil", call(nil))
    assert.equal(known .. "int* expected (a count of elements, or " ..
      "lze.local_bytes), got number 1.5", call(1.5))
    assert.equal(known .. "int* expected (a count of elements, or " ..
      "lze.local_bytes), got buffer of int", call(lze.buffer("int", 8)))
    for _, n in ipairs {0, -1} do
      assert.equal(known .. "int* expected (a positive count of elements), " ..
        "got integer " .. n, call(n))
    end
    for _, n in ipairs {1 << 40, math.maxinteger, lze.local_bytes(1 << 40)} do
      assert.matches("^kernel reverse: argument 2 %(scratch%): more local " ..
        "memory than the %d+ bytes of the device$", call(n))
    end
    assert.equal("bad argument #1 to 'local_bytes' (n: a positive number of " ..
      "bytes expected, got 0)",
      expect.misuse(function() lze.local_bytes(0) end))
    assert.equal("bad argument #1 to 'local_bytes' (n: integer expected, " ..
      "got string '8')", expect.misuse(function() lze.local_bytes "8" end))
  end)
end)

-- Launches `k` over a range and checks that each work-item in it ran exactly
-- once, and no other. `dims` has one to three sizes; `options` are added to the
-- launch table.
local function check_count(k, dims, options)
  local offset = options and options.offset or {}
  if type(offset) == "number" then offset = {offset} end
  local size = {1, 1, 1}
  for d = 1, 3 do size[d] = (dims[d] or 1) + (offset[d] or 0) end
  local n = size[1] * size[2] * size[3]
  local seen = lze.buffer("int", n + 64)
  local launch = table.move(dims, 1, #dims, 1, {})
  for key, value in pairs(options or {}) do launch[key] = value end
  local bad
  if k == mod.count then
    k(launch, seen, size[1], size[2])
  elseif k == mod.count_groups3 then
    bad = lze.buffer("int", 1)
    k(launch, seen, bad, size[1], size[2])
  else
    bad = lze.buffer("int", n + 64)
    k(launch, seen, bad)
  end
  local row = ("\0\0\0\0"):rep(offset[1] or 0) ..
    ("\1\0\0\0"):rep(dims[1])
  local plane = ("\0\0\0\0"):rep(size[1] * (offset[2] or 0)) ..
    row:rep(dims[2] or 1)
  local all = ("\0\0\0\0"):rep(size[1] * size[2] * (offset[3] or 0)) ..
    plane:rep(dims[3] or 1)
  if seen:string() ~= all .. ("\0"):rep(64 * 4) then
    local wrong, first = 0, nil
    for i, v in ipairs(seen:read()) do
      local want = all:byte(4 * i - 3) or 0
      if v ~= want then
        wrong = wrong + 1
        first = first or ("element %d is %d, not %d"):format(i, v, want)
      end
    end
    error(("%s over %s: %d are wrong: %s"):format(k.name,
      table.concat(dims, "x"), wrong, first), 2)
  end
  return bad
end

describe("a range", function()
  it("of one dimension is exact", function()
    for _, n in ipairs {1, 2, 3, 7, 61, 64, 97, 100, 127, 1000, 1009, 4096,
                        4099, 10007, 65537, 100003, 1 << 18} do
      check_count(mod.count, {n})
    end
  end)

  it("of two dimensions is exact", function()
    for _, dims in ipairs {{1, 1}, {17, 13}, {1, 1009}, {1009, 1}, {31, 37},
                           {64, 64}, {100, 7}, {641, 3}, {1, 1 << 12}} do
      check_count(mod.count, dims)
    end
  end)

  it("of three dimensions is exact", function()
    for _, dims in ipairs {{1, 1, 1}, {3, 5, 7}, {17, 13, 7}, {1, 1, 97},
                           {8, 8, 8}, {101, 1, 3}, {2, 257, 3}} do
      check_count(mod.count, dims)
    end
  end)

  it("may be a number or a table of one number", function()
    local seen = lze.buffer("int", 10)
    mod.count(7, seen, 7, 1)
    mod.count({3}, seen, 7, 1)
    mod.count(2.0, seen, 7, 1)
    assert.same({3, 3, 2, 1, 1, 1, 1, 0, 0, 0}, seen:read())
  end)

  it("is exact with any given group", function()
    for _, case in ipairs {{1000, 64}, {1000, 1000}, {1000, 1}, {63, 64},
                           {1009, 256}} do
      local n, group = case[1], case[2]
      if group <= n then
        check_count(mod.count, {n}, {group = group})
        assert.equal(group, (mod.count:group {n, group = group}))
      end
    end
    check_count(mod.count, {100, 33}, {group = {16, 8}})
    check_count(mod.count, {10, 11, 12}, {group = {4, 4, 4}})
  end)

  it("is exact with an offset", function()
    check_count(mod.count, {100}, {offset = 5})
    check_count(mod.count, {1009}, {offset = {17}})
    check_count(mod.count, {1000}, {offset = 3, group = 64})
    check_count(mod.count, {17, 13}, {offset = {3, 2}})
    check_count(mod.count, {17, 13}, {offset = {0, 2}})
    check_count(mod.count, {5, 6, 7}, {offset = {1, 2, 3}})
    local out = lze.buffer("int", 3)
    mod.offsets({1, 1, 1, offset = {4, 5, 6}}, out)
    assert.same({4, 5, 6}, out:read())
    mod.offsets(1, out)
    assert.same({0, 0, 0}, out:read())
    mod.offsets({1, offset = 9}, out)
    assert.same({9, 0, 0}, out:read())
  end)

  it("is exact under every policy", function()
    for _, policy in ipairs(policies) do
      check_count(mod.count, {1009}, {policy = policy})
      check_count(mod.count, {1000}, {policy = policy})
      check_count(mod.count, {17, 13}, {policy = policy})
      local gx, gy, gz, why = mod.count:group {1000, policy = policy}
      assert.is_true(gx >= 1 and gx <= 1000)
      assert.equal(1, gy)
      assert.equal(1, gz)
      assert.is_string(why)
      assert.is_true(#why > 10)
    end
  end)

  it("may be empty; then nothing runs", function()
    local x = lze.buffer("int", {1, 2, 3})
    for _, range in ipairs {{0}, {0, 5}, {5, 0}, {5, 5, 0},
                            {0, group = 8}} do
      mod.add(range, x, 1)
      local ev = mod.add:launch(range, x, 1)
      assert.is_true(ev:done())
      assert.is_true(ev:wait(0))
      assert.equal(0, ev:time().kernel_ns)
    end
    mod.add(0, x, 1)
    assert.same({1, 2, 3}, x:read())
    assert.equal("kernel add: 2 arguments (x, n) expected, got 0",
      expect.misuse(function() mod.add(0) end))
    assert.equal("kernel add: argument 1 (x): int* expected (a buffer, or " ..
      "nil), got integer 1", expect.misuse(function() mod.add(0, 1, 1) end))
  end)

  it("is checked", function()
    local x = lze.buffer("int", 1)
    local function call(range)
      return expect.misuse(function() mod.add(range, x, 1) end)
    end
    assert.equal("kernel add: global size: integer expected, got nil",
      call(nil))
    assert.equal("kernel add: global size: integer expected, got string '8'",
      call "8")
    assert.equal("kernel add: global size: integer expected, got number 1.5",
      call(1.5))
    assert.equal("kernel add: global size: -1 is outside 0..4294967295",
      call(-1))
    assert.equal("kernel add: global size: 4294967296 is outside " ..
      "0..4294967295", call(1 << 32))
    assert.equal("kernel add: global size: one to three numbers expected, " ..
      "got 0", call {})
    assert.equal("kernel add: global size: one to three numbers expected, " ..
      "got 4", call {1, 1, 1, 1})
    assert.equal("kernel add: global size: integer expected, got string 'x'",
      call {1, "x"})
    assert.equal("kernel add: global size: -5 is outside 0..4294967295",
      call {2, -5})
    assert.equal("kernel add: group: 0 is outside 1..4294967295",
      call {1, group = 0})
    assert.equal("kernel add: group: integer expected, got string '8'",
      call {1, group = "8"})
    assert.equal("kernel add: group: one to three numbers expected, got 4",
      call {1, group = {1, 1, 1, 1}})
    assert.equal("kernel add: offset: -1 is outside 0..4294967295",
      call {1, offset = -1})
    assert.equal("kernel add: offset: integer expected, got boolean",
      call {1, offset = {true}})
    for _, case in ipairs {
      {{4}, "group", {1, 2}, 2}, {{4}, "group", {4, 1, 2}, 3},
      {{4, 4}, "group", {4, 1, 2}, 3}, {{4}, "offset", {1, 1}, 2},
      {{4}, "offset", {0, 0, 1}, 3}, {{4, 4}, "offset", {0, 0, 1}, 3}}
    do
      local launch, option, values, dimension = table.unpack(case)
      local dimensions = #launch
      launch[option] = values
      local said = ("kernel add: %s: %d in dimension %d of a range that " ..
        "has %d"):format(option, values[dimension], dimension, dimensions)
      assert.equal(said, call(launch))
      assert.equal(said, expect.misuse(function() mod.add:group(launch) end))
    end
    assert.equal("kernel add: unknown policy 'best' (known: lze, driver, " ..
      "largest, tornado, tuned)", call {1, policy = "best"})
    assert.equal("kernel add: policy: string expected, got integer 1",
      call {1, policy = 1})
    assert.equal("kernel add: queue: queue expected, got string 'q'",
      call {1, queue = "q"})
    assert.equal("kernel add: uses: buffer expected, got integer 1",
      call {1, uses = {1}})
    assert.equal("kernel add: after: event expected, got table",
      call {1, after = {{}}})
    assert.equal(0, x[1])
  end)

  it("refuses unknown keys in its table", function()
    local x = lze.buffer("int", 1)
    local known = " in a launch table (known: after, group, offset, policy, " ..
      "queue, signal, uses)"
    assert.equal("kernel add: unknown key string 'groups'" .. known,
      expect.misuse(function() mod.add({1, groups = 8}, x, 1) end))
    assert.equal("kernel add: unknown key integer 3" .. known,
      expect.misuse(function() mod.add({1, [3] = 8}, x, 1) end))
    assert.equal("kernel add: unknown key boolean" .. known,
      expect.misuse(function() mod.add({1, [true] = 8}, x, 1) end))
    assert.equal(0, x[1])
  end)

  it("reads its table, and neither changes nor keeps it", function()
    local x = lze.buffer("int", 8)
    local kept = setmetatable({}, {__mode = "k"})
    do
      local launch = setmetatable({8, group = 4, offset = {0}, policy = "lze",
                                   uses = {x}, after = {}},
        {__newindex = function() error "written" end,
         __index = function() error "looked for more" end})
      local before = {}
      for key, v in pairs(launch) do before[key] = v end
      for _ = 1, 3 do mod.add(launch, x, 1) end
      for key, v in pairs(launch) do assert.equal(v, before[key]) end
      for key, v in pairs(before) do assert.equal(v, rawget(launch, key)) end
      kept[launch] = true
    end
    assert.same({3, 3, 3, 3, 3, 3, 3, 3}, x:read())
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("may be too large for a driver with groups of one", function()
    -- 2^32 - 1 work-items in each of three dimensions: refused or cut, but
    -- never wrapped around.
    local x = lze.buffer("int", 1)
    local ok, err = pcall(function()
      return mod.add:group(0xffffffff, 0xffffffff, 0xffffffff)
    end)
    assert.is_true(ok or type(err) == "string")
    assert.equal(0, x[1])
  end)
end)

describe("a kernel that reads its place in the group", function()
  it("gets a group that divides the range", function()
    for _, n in ipairs {1, 2, 7, 61, 100, 1000, 1009, 4096, 10007, 65536} do
      local sizes = check_count(mod.count_groups, {n})
      local group, gy, gz, why = mod.count_groups:group(n)
      assert.equal(0, n % group)
      assert.equal(1, gy)
      assert.equal(1, gz)
      assert.is_string(why)
      assert.equal(string.pack("<i4", group):rep(n), sizes:string(1, n))
    end
  end)

  it("gets a group that divides every dimension", function()
    for _, dims in ipairs {{5}, {64, 3}, {17, 13, 7}, {12, 10, 6}} do
      local bad = check_count(mod.count_groups3, dims)
      assert.equal(0, bad[1])
      local gx, gy, gz = mod.count_groups3:group(table.unpack(dims))
      assert.equal(0, dims[1] % gx)
      assert.equal(0, (dims[2] or 1) % gy)
      assert.equal(0, (dims[3] or 1) % gz)
    end
    assert.equal(0, check_count(mod.count_groups3, {12, 10, 6},
      {offset = {1, 2, 3}})[1])
  end)

  it("takes a given group that divides the range", function()
    local sizes = check_count(mod.count_groups, {100}, {group = 20})
    assert.equal(20, sizes[1])
    assert.equal(20, (mod.count_groups:group {100, group = 20}))
    assert.equal(0,
      check_count(mod.count_groups3, {12, 10, 6}, {group = {4, 5, 2}})[1])
  end)

  it("refuses a given group that does not divide the range", function()
    local x = lze.buffer("int", 100)
    local function call(launch)
      return expect.misuse(function() mod.count_groups(launch, x, x) end)
    end
    assert.equal("kernel count_groups: the given group 7 does not divide " ..
      "the range 100, which it must because the kernel reads its place in " ..
      "the group", call {100, group = 7})
    assert.equal("kernel count_groups: the given group 64 does not divide " ..
      "the range 100, which it must because the kernel reads its place in " ..
      "the group", call {100, group = 64})
    assert.matches("^kernel count_groups: the given group .* does not " ..
      "divide the range 10x10, which it must",
      call {10, 10, group = {5, 3}})
    local max = mod.count_groups.max_group_size
    assert.matches("^kernel count_groups: the given group " .. 2 * max ..
      " is more than the " .. max .. " ", call {2 * max, group = 2 * max})
    assert.equal(("\0"):rep(400), x:string())
  end)

  it("gets a group that divides the range under every policy", function()
    for _, policy in ipairs(policies) do
      for _, n in ipairs {1000, 1009} do
        check_count(mod.count_groups, {n}, {policy = policy})
        assert.equal(0, n % mod.count_groups:group {n, policy = policy})
      end
    end
  end)
end)

describe("a required group", function()
  local out = lze.buffer("int", 24)

  it("is used", function()
    mod.eights(24, out)
    local expected = {}
    for i = 0, 23 do expected[i + 1] = i % 8 end
    assert.same(expected, out:read())
    assert.equal(8, (mod.eights:group(24)))
    mod.eights({16, group = 8}, out)
  end)

  it("must divide the range", function()
    assert.equal("kernel eights: the required group 8 does not divide the " ..
      "range 12, which it must because the kernel reads its place in the group",
      expect.misuse(function() mod.eights(12, out) end))
    assert.equal("kernel eights: the required group 8 does not divide the " ..
      "range 12, which it must because the kernel reads its place in the group",
      expect.misuse(function() mod.eights:group(12) end))
  end)

  it("cannot be replaced by another group", function()
    assert.equal("kernel eights: the given group 4 is not the 8x1x1 the " ..
      "kernel requires",
      expect.misuse(function() mod.eights({16, group = 4}, out) end))
  end)
end)

describe("LZE_GROUP_POLICY", function()
  local script = [[
    local lze = require "lze"
    local ok, v = pcall(function()
      return lze.load("kernels/spec.spv").count:group(1000)
    end)
    print(v)]]

  it("sets the policy", function()
    for _, policy in ipairs(policies) do
      -- A kernel that was never launched.
      local count = lze.load("kernels/spec.spv").count
      local group = count:group {1000, policy = policy}
      assert.equal(group .. "\n",
        process.output(script, {env = {LZE_GROUP_POLICY = policy}}))
    end
  end)

  it("must be a known policy", function()
    assert.equal("stdin:3: LZE_GROUP_POLICY: unknown policy 'best' (known: " ..
      "lze, driver, largest, tornado, tuned)\n",
      process.output(script, {env = {LZE_GROUP_POLICY = "best"}}))
  end)
end)

describe("k:group", function()
  it("takes numbers or a launch table", function()
    local gx, gy = mod.count:group(64, 64)
    local hx, hy, hz, why = mod.count:group {64, 64}
    assert.same({gx, gy, 1}, {hx, hy, hz})
    assert.is_string(why)
    assert.equal("kernel count: at most three dimensions expected, got 4",
      expect.misuse(function() mod.count:group(1, 2, 3, 4) end))
    assert.equal("kernel count: no global size",
      expect.misuse(function() mod.count:group() end))
    assert.equal("kernel count: global size: integer expected, got string " ..
      "'a'", expect.misuse(function() mod.count:group "a" end))
    assert.equal(1, (mod.count:group(0)))
  end)

  it("and k:prepare refuse the same values as a launch", function()
    local k, x = mod.add, lze.buffer("int", 64)
    local gone = k:launch(64, x, 1)
    gone:close()
    for _, n in ipairs {64, 0} do
      for _, bad in ipairs {{"after", 5}, {"after", {1}}, {"after", {a = 1}},
          {"after", gone}, {"uses", x.pointer}, {"uses", {x, 2}},
          {"uses", {a = x}}, {"signal", 3}, {"signal", k:launch(64, x, 1)},
          {"queue", 1}, {"policy", "good"}, {"group", "a"}} do
        local launch = {n, [bad[1]] = bad[2]}
        local expected = expect.misuse(function() k(launch, x, 1) end)
        assert.matches("^kernel add: ", expected)
        assert.equal(expected, expect.misuse(function() k:group(launch) end))
        assert.equal(expected, expect.misuse(function() k:prepare(launch) end))
        assert.equal(expected, expect.misuse(function()
          k:prepare(launch, x, 1)
        end))
      end
    end
  end)
end)

describe("uses", function()
  it("lets a kernel follow addresses stored in memory", function()
    for _, usage in ipairs {"shared", "host", "device"} do
      local target = lze.buffer("int", {42, 43}, {usage = usage})
      local address = lze.buffer("ulong", {target.pointer})
      local out = lze.buffer("int", 1)
      mod.indirect({1, uses = {target}}, address, out)
      assert.equal(42, out[1])
      mod.indirect({1, uses = target}, address, out)
      assert.equal(42, out[1])
      address[1] = target:view(2, 2).pointer
      mod.indirect({1, uses = {target, address}}, address, out)
      assert.equal(43, out[1])
    end
  end)

  it("counts as a write, so that reading the buffer waits", function()
    local target = lze.buffer("uint", 1 << 10)
    local address = lze.buffer("ulong", {target.pointer})
    local out = lze.buffer("int", 1)
    lze.wait()
    local slow = lze.buffer("uint", 1)
    mod.spin(1, slow, 100000000)
    mod.indirect({1, uses = {target}}, address, out)
    assert.is_true(target:pending())
    lze.wait()
    assert.is_false(target:pending())
  end)

  it("accepts open buffers only", function()
    local x = lze.buffer("int", 1)
    x:close()
    assert.equal("kernel nothing: uses: the buffer is closed",
      expect.misuse(function() mod.nothing {1, uses = {x}} end))
    assert.equal("kernel nothing: uses: buffer expected, got lze.device",
      expect.misuse(function() mod.nothing {1, uses = lze.device()} end))
  end)
end)

describe("launches of one kernel", function()
  it("each have their own arguments and range", function()
    local n = 200
    local x = {}
    for i = 1, n do
      x[i] = lze.buffer("int", i)
      mod.add(i, x[i], i)
    end
    for i = 1, n do
      assert.equal(string.pack("<i4", i):rep(i), x[i]:string())
    end
  end)

  it("run in the order of issue on one buffer", function()
    local x = lze.buffer("int", {3})
    for i = 1, 20 do
      mod.add(1, x, i % 3 - 1)
      mod.square(1, x, x)
      if x[1] > 1000 then x[1] = 2 end
    end
    local v = 3
    for i = 1, 20 do
      v = (v + i % 3 - 1) ^ 2
      if v > 1000 then v = 2 end
    end
    assert.equal(v, x[1])
  end)
end)

describe("a launch", function()
  -- Returns the bytes of garbage that `n` calls of `f` leave.
  local function garbage(n, f)
    f()
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for _ = 1, n do f() end
    local after = collectgarbage "count"
    collectgarbage "restart"
    return (after - before) * 1024
  end

  it("makes no garbage if the range is a number", function()
    local x = lze.buffer("int", 64)
    assert.equal(0, garbage(10000, function() mod.add(64, x, 1) end))
    local hoisted = {64}
    assert.equal(0, garbage(100, function() mod.add(hoisted, x, 1) end))
    assert.equal(10001 + 101, x[1])
  end)

  it("makes one event and no other garbage if an event is requested", function()
    local x = lze.buffer("int", 64)
    local kept
    -- A userdata with one user value: its header, that value and two words.
    local header = _VERSION == "Lua 5.4" and 40 or 48
    local each = garbage(1000, function() kept = mod.add:launch(64, x, 1) end)
    assert.equal(1000 * (header + 16 + 16), each)
    assert.is_true(kept:wait())
    assert.equal(1001, x[1])
  end)
end)
