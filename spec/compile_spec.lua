-- compile_spec.lua - OpenCL C to SPIR-V: options, diagnostics, compilers and
-- their cache.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local process = require "spec.support.process"

local function one(source, options)
  local mod <close> = lze.compile(source, options)
  local x <close> = lze.buffer("int", 1)
  mod.f(1, x)
  return x[1]
end

-- The compiler of scripts/check-ocloc has fewer options.
local ocloc = os.getenv "LZE_COMPILER" == "ocloc"

local store = "kernel void f(global int *x) { x[0] = N; }"

describe("lze.compile", function()
  -- Lua 5.4.4 uses an invalid stack pointer if the stack grows while it holds a
  -- to-be-closed variable.
  it("compiles on stacks of any size", function()
    local function compile(...)
      local m <const> = lze.compile "kernel void f(global int *x) { *x = 1; }"
      return m, ...
    end
    for n = 0, 20 do
      for _ = 1, 3 do
        local made = table.pack(coroutine.wrap(compile)(table.unpack({}, 1, n)))
        assert.same({n + 1, "module"}, {made.n, lze.type(made[1])})
      end
    end
  end)

  it("defines macros", function()
    assert.equal(7, one(store, {defines = {N = 7}}))
    assert.equal(7, one(store, {defines = {N = ocloc and "3+4" or "3 + 4"}}))
    assert.equal(1, one(store, {defines = {N = true}}))
    assert.equal(5, one("#ifndef M\n" .. store .. "\n#endif",
      {defines = {N = 5, M = not ocloc and false or nil}}))
    assert.equal(12, one(store, {defines = {["TWICE(a)"] = "(2*a)",
                                            N = "TWICE(6)"}}))
  end)

  it("refuses invalid macros", function()
    for _, name in ipairs {"", "A B", "1", "A-B", "A=1", "A(x", "A(x)y"} do
      assert.equal(("option defines: the name of a macro expected, got " ..
        "string '%s'"):format(name), expect.misuse(function()
          lze.compile(store, {defines = {[name] = 1}})
        end))
    end
    assert.equal("option defines: names are strings, got integer 1",
      expect.misuse(function() lze.compile(store, {defines = {"N"}}) end))
    assert.equal("option defines: N: string, number or boolean expected, " ..
      "got table", expect.misuse(function()
        lze.compile(store, {defines = {N = {}}})
      end))
  end)

  it("includes files, and notices their changes", function()
    process.with_directory(function(dir)
      local options = {include = {dir}}
      for n = 1, 2 do
        process.write(dir .. "/n.h", "#define N " .. n .. "\n")
        assert.equal(n, one('#include "n.h"\n' .. store, options))
      end
    end)
  end)

  -- __DATE__ keeps the result out of the cache, so that a compiler runs. Hooks
  -- are called twenty times a second, and the compiler takes longer than that.
  it("reports a context that a hook closes while a compiler runs", function()
    if ocloc then return end -- ocloc is a library
    local _, inner = debug.getupvalue(lze.compile, 1)
    local context, closed = lze.context(), 0
    debug.sethook(function()
      for level = 2, math.huge do
        local info = debug.getinfo(level, "f")
        if not info then return end
        if info.func == inner then
          closed = closed + 1
          context:close()
        end
      end
    end, "c")
    local source = {"/* __DATE__ */"}
    for i = 1, 1500 do
      source[i + 1] = "kernel void f" .. i .. "(global float *x) " ..
        "{ x[1] = sin(x[0]); }"
    end
    local ok, err = pcall(lze.compile, table.concat(source, "\n"),
      {context = context})
    debug.sethook()
    assert.is_false(ok)
    assert.equal("the context is closed", err)
    assert.is_true(closed > 0)
  end)

  it("keeps no lock if it raises an error", function()
    if ocloc then return end -- it takes all flags at once
    local flags = {}
    for i = 1, 240 do flags[i] = "-DA" .. i end
    local function compile()
      return select(2, pcall(lze.compile, store, {flags = flags}))
    end
    collectgarbage "stop" -- it would release the lock
    local first = compile()
    debug.sethook(function() error("it waits", 0) end, "", 9000)
    local second = compile()
    debug.sethook()
    collectgarbage "restart"
    assert.equal("too many compiler options", first)
    assert.equal("too many compiler options", second)
  end)

  it("takes flags and a language version", function()
    assert.equal(3, one(store, {flags = {"-DN=3"}}))
    local version = [[
      kernel void f(global int *x) { x[0] = __OPENCL_C_VERSION__; }]]
    assert.equal(120, one(version))
    assert.equal(110, one(version, {std = "CL1.1"}))
    assert.equal("option flags: item 2: string expected, got integer 3",
      expect.misuse(function() lze.compile(store, {flags = {"-g", 3}}) end))
    assert.equal("option std: string expected, got integer 2",
      expect.misuse(function() lze.compile(store, {std = 2}) end))
  end)

  it("refuses unknown options", function()
    assert.equal("unknown key 'define' in a module's options (known: std, " ..
      "defines, include, flags, format, signature, device, context, " ..
      "options, constants, validate, spirv)",
      expect.misuse(function() lze.compile(store, {define = {}}) end))
    assert.equal("bad argument #1 to 'compile' (source: string expected, " ..
      "got nil)", expect.misuse(function() lze.compile() end))
  end)

  it("reports the user's lines and the file's name in err.log", function()
    local err = expect.failure(function()
      lze.compile "kernel void f() {\n\n  oops;\n}\n"
    end)
    assert.equal("COMPILE_FAILED", err.code)
    assert.equal(ocloc and "libocloc.so" or "clang", err.call)
    assert.matches("^source:3:3: error: use of undeclared identifier 'oops'\n",
      err.log)
    process.with_directory(function(dir)
      process.write(dir .. "/a.cl", "kernel void f() {\n  oops;\n}\n")
      err = expect.failure(function() lze.load(dir .. "/a.cl") end)
      assert.equal(1, (err.log:find(dir .. "/a.cl:2:3: error: ", 1, true)))
    end)
  end)

  it("takes double if the device has it", function()
    if not lze.device().fp64 then return end
    local f = lze.compile [[
      kernel void f(global double *x) { x[0] = sqrt(x[0]) * 0.1; }]].f
    local x = lze.buffer("double", {4})
    f(1, x)
    assert.equal(0.2, x[1])
  end)

  -- ocloc refuses the flag.
  local warnings = ocloc and pending or it
  warnings("are in mod.log, of a cached module too", function()
    local source = "kernel void f(global int *x) {\n  x[0] = 1;\n  int y;\n}"
    for _ = 1, 2 do
      local mod <close> = lze.compile(source, {flags = {"-Wall"}})
      assert.matches("^source:3:7: warning: unused variable 'y'", mod.log)
      assert.same({}, mod.warnings)
    end
    local mod <close> = lze.compile(source)
    assert.equal("", mod.log)
    assert.equal("", lze.load "kernels/saxpy.spv".log)
  end)

  it("requires a kernel", function()
    for _, source in ipairs {"", "// nothing", "int f(int a) { return a; }"} do
      local err = expect.failure(function() lze.compile(source) end)
      assert.equal("NO_KERNEL", err.code)
      assert.equal("the source has no kernel (kernel void name(...) { ... })",
        err.message)
    end
  end)
end)

describe("a compiler", function()
  it("is not searched for in PATH or in the current directory", function()
    process.with_directory(function(dir)
      for _, name in ipairs {"clang", "clang-15", "llvm-spirv-15",
                             "clang-18", "llvm-spirv-18"} do
        process.write(dir .. "/" .. name, "#!/bin/sh\n: >" .. dir .. "/run\n")
        assert(os.execute("chmod +x " .. dir .. "/" .. name))
      end
      local path = assert(package.searchpath("lze", package.cpath))
      assert.equal("7\n", process.output([[
        local lze = require "lze"
        local x = lze.buffer("int", 1)
        lze.compile "kernel void f(global int *x) { x[0] = 7; }".f(1, x)
        print(x[1])]], {before = "path=$(realpath " .. path .. "); cd " ..
        dir .. "; export LUA_CPATH=$path",
        env = {PATH = dir .. ":.:/usr/bin:/bin", LZE_CACHE = "off"}}))
      assert.is_nil(io.open(dir .. "/run"))
    end)
  end)
end)

-- Returns the lines that a script prints with the compiler and the cache
-- directory of `env`. `dir` is the default cache directory, initially empty.
local function with_compiler(dir, env, script)
  env.XDG_CACHE_HOME = env.XDG_CACHE_HOME or dir
  local lines = {}
  for line in process.output(script, {env = env}):gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  return lines
end

local use = [[
  local lze = require "lze"
  local ok, mod = pcall(lze.compile, "kernel void f() {}", {defines = {N = 1}})
  if ok then
    local x, y = lze.buffer("float", {1, 2}), lze.buffer("float", {3, 4})
    mod.saxpy(2, 2, x, y)
    print(y[1], y[2])
    io.write(mod.log)
  else
    print(mod.call, mod.code, mod.message)
    io.write(mod.log or "")
  end]]

describe("LZE_COMPILER", function()
  local fake = os.getenv "LZE_TEST_BUILD" .. "/spec"

  it("must name a known compiler", function()
    process.with_directory(function(dir)
      local lines = with_compiler(dir, {LZE_COMPILER = "gcc"}, [[
        print(pcall(require "lze".compile, "kernel void f() {}"))]])
      assert.matches("LZE_COMPILER is 'gcc' %(known: llvm%-spirv, clang, " ..
        "ocloc%)$", lines[1])
    end)
  end)

  it("that names a missing compiler is an error that says what to install",
  function()
    process.with_directory(function(dir)
      -- The system may have it.
      local env = {LZE_COMPILER = "ocloc", LD_LIBRARY_PATH = false}
      local lines = with_compiler(dir, env, [[
        print(package.loadlib("libocloc.so", "*"))]])
      if lines[1]:find "^nil" then
        lines = with_compiler(dir, env, use)
        assert.matches("^ocloc\tNOT_FOUND\tLZE_COMPILER is 'ocloc', which " ..
          "is not there%. .*apt install clang%-15 llvm%-spirv%-15", lines[1])
      end
      for _, clang in ipairs {"/bin/true", "clang"} do
        lines = with_compiler(dir, {LZE_COMPILER = "clang", LZE_CLANG = clang},
          use)
        assert.matches("^clang\tNOT_FOUND\tLZE_CLANG is '" .. clang ..
          "', not ", lines[1])
      end
    end)
  end)

  it("can be a clang that writes SPIR-V itself", function()
    process.with_directory(function(dir)
      local clang = dir .. "/clang"
      process.write(clang, ([[
#!/bin/sh
echo "$*" >>DIR/calls
case $1 in
  -print-targets) echo "    spirv64 - SPIR-V 64-bit"; exit ;;
esac
case "$*" in
  *"-x cl"*) cat >DIR/source; echo "a warning" >&2; echo LLVM ;;
  *"-x ir"*) cat >DIR/llvm; cat kernels/saxpy.spv ;;
esac
]]):gsub("DIR", dir))
      assert(os.execute("chmod +x " .. clang))
      local env = {LZE_COMPILER = "clang", LZE_CLANG = clang}
      for _ = 1, 2 do -- the second time from the cache
        assert.same({"5.0\t8.0", "a warning"}, with_compiler(dir, env, use))
      end
      local calls <close> = assert(io.open(dir .. "/calls"))
      local both = "-O0 -Xclang -disable-O0-optnone -cl-kernel-arg-info " ..
        "-fno-discard-value-names -target spirv64v1.2-unknown-unknown " ..
        "-cl-std=CL1.2 -DN=1 "
      assert.same({"-print-targets", both .. "-S -emit-llvm -x cl - -o -",
        both .. "-c -fintegrated-objemitter -Qunused-arguments -x ir - -o -"},
        {calls:read "l", calls:read "l", calls:read "l", calls:read "l"})
      local source <close> = assert(io.open(dir .. "/source"))
      assert.equal('#line 1 "source"\nkernel void f() {}', source:read "a")
      local llvm <close> = assert(io.open(dir .. "/llvm"))
      assert.equal("LLVM\n", llvm:read "a")
    end)
  end)

  -- scripts/check-clang has such a clang.
  it("takes argument types from clang's LLVM IR if its SPIR-V lacks them",
  function()
    process.with_directory(function(dir)
      process.write(dir .. "/made.spv", lze.spirv.assemble [[
        OpCapability Addresses
        OpCapability Kernel
        OpCapability Int8
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %f "f"
        OpSource OpenCL_C 102000
        OpName %x "x"
        OpName %t "t"
        OpName %n "n"
        %void = OpTypeVoid
        %uchar = OpTypeInt 8 0
        %uint = OpTypeInt 32 0
        %global = OpTypePointer CrossWorkgroup %uchar
        %local = OpTypePointer Workgroup %uchar
        %type = OpTypeFunction %void %global %local %uint
        %f = OpFunction %void None %type
        %x = OpFunctionParameter %global
        %t = OpFunctionParameter %local
        %n = OpFunctionParameter %uint
        %l = OpLabel
        OpReturn
        OpFunctionEnd]])
      local clang = dir .. "/clang"
      process.write(clang, ([[
#!/bin/sh
case "$*" in
  -print-targets) echo spirv64 ;;
  *"-x cl"*)
    echo 'define spir_kernel void @f() !kernel_arg_base_type !2 {'
    echo '!2 = !{!"ulong*", !"double*", !"int"}' ;;
  *) cat DIR/made.spv ;;
esac
]]):gsub("DIR", dir))
      assert(os.execute("chmod +x " .. clang))
      local lines = with_compiler(dir, {LZE_COMPILER = "clang",
        LZE_CLANG = clang}, [[
        local lze = require "lze"
        local mod = lze.compile "kernel void f() {}"
        print(mod.f, mod:spirv() == lze.compile "kernel void f() {}":spirv())
        local x = lze.buffer("ulong", 1)
        mod.f({1, group = 1}, x, 4, -1)
        print(select(2, pcall(mod.f, {1, group = 1}, x, 1e6, 1)))
        print(select(2, pcall(mod.f, 1, lze.buffer("float", 1), 4, 1)))]])
      assert.equal("kernel f(ulong *x, local double *t, int n)\ttrue",
        lines[1])
      assert.matches("^kernel f: argument 2 %(t%): more local memory than ",
        lines[2])
      assert.equal("kernel f: argument 1 (x): ulong* expected, got buffer " ..
        "of float", lines[3])
    end)
  end)

  -- scripts/check-clang has such a clang.
  it("can be an unmodified clang", function()
    process.with_directory(function(dir)
      local lines = with_compiler(dir, {LZE_COMPILER = "clang"}, [[
        local lze = require "lze"
        local ok, mod = pcall(lze.compile, [=[
          typedef struct { float a, b; } pair;
          typedef short number;
          kernel void reverse(global const long *from, global long *to,
                              local long *t, uint n) {
            uint i = get_local_id(0);
            t[i] = from[i];
            barrier(CLK_LOCAL_MEM_FENCE);
            to[i] = t[n - 1 - i];
          }
          kernel void other(constant number *x, local uint4 *t, global pair *p,
                            char c, unsigned char u) {
            p[0].a = x[0] + t[0].x + c + u;
          }]=])
        if not ok then print(mod.code) os.exit() end
        print(mod.reverse)
        print(mod.other)
        for _, a in ipairs(mod.reverse.args) do print(a.space, a.access) end
        local k = mod.reverse
        local x, y = lze.buffer("long", {1, 2, 3, 4}), lze.buffer("long", 4)
        k({4, group = 4}, x, y, 4, 4)
        print(table.concat(y:read(), " "))
        print(select(2, pcall(k, 4, lze.buffer("float", 4), y, 4, 4)))]])
      if lines[1] == "NOT_FOUND" then return pending "no such clang is here" end
      assert.same({
        "kernel reverse(const long *from, long *to, local long *t, uint n)",
        "kernel other(const short *x, local uint4 *t, pair *p, char c, " ..
          "uchar u)",
        "global\tread", "global\twrite", "local\tnil", "nil\tnil", "4 3 2 1",
        "kernel reverse: argument 1 (from): long* expected, got buffer of " ..
          "float"}, lines)
    end)
  end)

  it("is called clang in errors, regardless of its file name", function()
    process.with_directory(function(dir)
      local clang = dir .. "/my-compiler-99"
      process.write(clang, "#!/bin/sh\n" ..
        "[ $1 = -print-targets ] && echo spirv64 && exit\nexit 1\n")
      assert(os.execute("chmod +x " .. clang))
      local env = {LZE_COMPILER = "clang", LZE_CLANG = clang}
      assert.equal("clang\tCOMPILE_FAILED\tthe source does not compile",
        with_compiler(dir, env, use)[1])
    end)
  end)

  it("that cannot be started is not reported as a source error",
    function()
      process.with_directory(function(dir)
        local clang = dir .. "/clang"
        process.write(clang, "#!/bin/sh\n" ..
          "[ $1 = -print-targets ] && echo spirv64 && chmod a-x $0\n")
        assert(os.execute("chmod +x " .. clang))
        local lines = with_compiler(dir, {LZE_COMPILER = "clang",
          LZE_CLANG = clang}, use)
        assert.equal("clang\tNOT_STARTED\tthe compiler cannot be started",
          lines[1])
      end)
    end)

  it("is stopped by a debug hook, with all its child processes", function()
    process.with_directory(function(dir)
      local clang = dir .. "/clang"
      process.write(clang, ([[
#!/bin/sh
[ $1 = -print-targets ] && echo spirv64 && exit
sleep 600 &
echo $! $$ >DIR/started
wait
]]):gsub("DIR", dir))
      assert(os.execute("chmod +x " .. clang))
      -- Disable the process that builds modules, which would keep running.
      local lines = with_compiler(dir, {LZE_COMPILER = "clang",
        LZE_CLANG = clang, LZE_BUILD_SECONDS = "0"}, ([[
        local lze = require "lze"
        lze.device()
        local own <close> = io.open "/proc/self/stat"
        local pid = own:read "n"
        local function open_files()
          os.execute("ls /proc/" .. pid .. "/fd >DIR/files")
          local file <close> = io.open "DIR/files"
          return select(2, file:read "a":gsub("\n", ""))
        end
        local before = open_files()
        local function running(process)
          local file <close> = io.open(("/proc/%d/stat"):format(process))
          local state = file and file:read "a" -- nil once it is reaped
          return state and not state:find "%) Z"
        end
        local first, second
        debug.sethook(function()
          local file <close> = io.open "DIR/started"
          if file then first, second = file:read("n", "n") end
          if second then
            debug.sethook()
            error("enough", 0)
          end
        end, "", 1)
        print(pcall(lze.compile, "kernel void f() {}"))
        collectgarbage()
        print("files", open_files() - before)
        while running(first) or running(second) do end
        local children = io.open("/proc/self/task/" .. pid .. "/children")
        print("children", children and children:read "a" or "")]])
        :gsub("DIR", dir))
      assert.same({"false\tenough", "files\t0", "children\t"}, lines)
    end)
  end)

  it("can be libocloc", function()
    process.with_directory(function(dir)
      local env = {LZE_COMPILER = "ocloc", LD_LIBRARY_PATH = fake,
        OCLOC_FAKE_CALL = dir .. "/call", OCLOC_FAKE_SPV = "kernels/saxpy.spv"}
      assert.same({"5.0\t8.0", "source:1: a warning"},
        with_compiler(dir, env, use))
      local call <close> = assert(io.open(dir .. "/call"))
      assert.equal([[
ocloc
compile
-spv_only
-file
source.cl
-device
tgllp
]] .. (lze.device().fp64 and [[
-internal_options
-cl-ext=+cl_khr_fp64
]] or "") .. [[
-options
-cl-std=CL1.2 -cl-kernel-arg-info -DN=1
source.cl:
#line 1 "source"
kernel void f() {}
]], call:read "a")
      os.remove(dir .. "/call")
      assert.same({"5.0\t8.0", "source:1: a warning"},
        with_compiler(dir, env, use))
      assert.is_nil(io.open(dir .. "/call"))
      env.OCLOC_FAKE_SPV, env.XDG_CACHE_HOME = false, dir .. "/other"
      assert.same({"libocloc.so\tCOMPILE_FAILED\tthe source does not compile",
        "source:1: an error"}, with_compiler(dir, env, use))
    end)
  end)

  it("for libocloc refuses options with white space", function()
    process.with_directory(function(dir)
      local lines = with_compiler(dir, {LZE_COMPILER = "ocloc",
        LD_LIBRARY_PATH = fake}, [[
        print(pcall(require "lze".compile, "kernel void f() {}",
          {defines = {N = "1 + 1"}}))]])
      assert.matches("libocloc takes no option with white space " ..
        "%('%-DN=1 %+ 1'%)$", lines[1])
    end)
  end)
end)

describe("the cache", function()
  local function entries(dir)
    local pipe = assert(io.popen("find " .. dir ..
      " -type f -printf '%f %m\\n'"))
    local kinds, modes = {}, {}
    for name, mode in pipe:read "a":gmatch "(%S+) (%d+)\n" do
      local kind = name:match "^%x+%.(%a+)$" or name
      kinds[kind] = (kinds[kind] or 0) + 1
      modes[mode] = true
    end
    pipe:close()
    return kinds, modes
  end

  -- Compiles, and prints whether a cache is used.
  local work = [[
    local lze = require "lze"
    local mod = lze.compile "kernel void f(global int *x) { x[0] = 9; }"
    local x = lze.buffer("int", 1)
    mod.f({1, group = 1}, x)
    local c = lze.cache()
    print(x[1], c.directory, c.entries, c.bytes > 0)]]

  it("keeps SPIR-V and binaries, for this user only", function()
    process.with_directory(function(dir)
      local env = {XDG_CACHE_HOME = dir .. "/a/b"}
      assert.matches("^9\t" .. dir:gsub("%p", "%%%0") .. "/a/b/lze\t%d\ttrue$",
        with_compiler(dir, env, work)[1])
      local kinds, modes = entries(dir .. "/a/b/lze")
      assert.equal(1, kinds.spv)
      assert.equal(1, kinds.native)
      assert.same({["600"] = true}, modes)
      local pipe = assert(io.popen("stat -c %a " .. dir .. "/a/b/lze"))
      assert.equal("700", pipe:read "l")
      pipe:close()
      assert.equal("0 0", process.output([[
        local lze = require "lze"
        local c = lze.cache "clear"
        io.write(c.entries, " ", c.bytes)]], {env = env}))
      -- The lock file stays, because another process may hold the lock.
      assert.same({lock = 1}, (entries(dir .. "/a/b/lze")))
    end)
  end)

  it("deletes files that killed processes left unfinished", function()
    process.with_directory(function(dir)
      local name = "/lze/" .. ("0"):rep(32) .. ".spv."
      assert(os.execute(("mkdir -m 700 %s/lze; touch -d '2 hours ago' %s; " ..
        "touch %s"):format(dir, dir .. name .. "1.0.tmp", dir .. name ..
        "2.0.tmp")))
      local script = [[require "lze".cache()]]
      process.output(script, {env = {XDG_CACHE_HOME = dir}})
      local pipe = assert(io.popen("ls " .. dir .. "/lze"))
      assert.equal(name:match "%x+%.spv%." .. "2.0.tmp\n", pipe:read "a")
      pipe:close()
    end)
  end)

  it("is not used if others can enter it", function()
    for _, mode in ipairs {"755", "770", "701"} do
      process.with_directory(function(dir)
        assert(os.execute(("mkdir -m %s %s/lze"):format(mode, dir)))
        assert.same({"9\tnil\t0\tfalse"},
          with_compiler(dir, {XDG_CACHE_HOME = dir}, work))
        assert.same({}, (entries(dir .. "/lze")))
      end)
    end
  end)

  it("is not used if it is a symbolic link", function()
    process.with_directory(function(dir)
      assert(os.execute(("mkdir -m 700 %s/there; ln -s there %s/lze")
        :format(dir, dir)))
      assert.same({"9\tnil\t0\tfalse"},
        with_compiler(dir, {XDG_CACHE_HOME = dir}, work))
      assert.same({}, (entries(dir)))
    end)
  end)

  it("is not used if another user owns it", function()
    local id = assert(io.popen "id -u")
    local root = id:read "n" == 0
    id:close()
    if not root then return pending "only root can give a directory away" end
    process.with_directory(function(dir)
      assert(os.execute(("mkdir -m 700 %s/lze; chown 12345 %s/lze"):format(dir,
        dir)))
      assert.same({"9\tnil\t0\tfalse"},
        with_compiler(dir, {XDG_CACHE_HOME = dir}, work))
      assert.same({}, (entries(dir .. "/lze")))
    end)
  end)

  it("is off with LZE_CACHE=off", function()
    process.with_directory(function(dir)
      assert.same({"9\tnil\t0\tfalse"},
        with_compiler(dir, {XDG_CACHE_HOME = dir, LZE_CACHE = "off"}, work))
      assert.same({}, (entries(dir)))
    end)
  end)

  it("never uses an entry of another source, device or version",
    function()
      process.with_directory(function(dir)
        local env = {XDG_CACHE_HOME = dir}
        assert.equal("9\t", with_compiler(dir, env, work)[1]:sub(1, 2))
        local other = work:gsub("= 9", "= 8")
        assert.equal("8\t", with_compiler(dir, env, other)[1]:sub(1, 2))
        -- Each file gets the other's name. The keys inside tell them apart.
        assert(os.execute("cd " .. dir .. [[/lze && for k in spv native; do
          set -- *.$k; mv $1 t; mv $2 $1; mv t $2; done]]))
        assert.equal("9\t", with_compiler(dir, env, work)[1]:sub(1, 2))
        assert.equal("8\t", with_compiler(dir, env, other)[1]:sub(1, 2))
      end)
    end)

  it("drops the least recently used entries when it grows too large", function()
    process.with_directory(function(dir)
      -- Sparse files named like entries, together larger than the limit.
      local a, b = ("a"):rep(32) .. ".old", ("b"):rep(32) .. ".newer"
      assert(os.execute(([[
        mkdir -m 700 %s/lze && cd %s/lze &&
        truncate -s 400M %s && truncate -s 200M %s &&
        touch -d '2 days ago' %s && touch -d yesterday %s &&
        echo mine >other-file]]):format(dir, dir, a, b, a, b)))
      with_compiler(dir, {XDG_CACHE_HOME = dir}, work)
      assert.is_nil(io.open(dir .. "/lze/" .. a))
      for _, name in ipairs {b, "other-file"} do
        local file = assert(io.open(dir .. "/lze/" .. name))
        file:close()
      end
      assert.equal(1, (entries(dir .. "/lze")).spv)
    end)
  end)

  it("ignores entries that are truncated or changed in one byte", function()
    process.with_directory(function(dir)
      local env = {XDG_CACHE_HOME = dir}
      with_compiler(dir, env, work)
      local pipe = assert(io.popen("find " .. dir .. " -type f -name '*.*'"))
      local paths = {}
      for path in pipe:lines() do
        local file <close> = assert(io.open(path, "rb"))
        paths[path] = file:read "a"
      end
      pipe:close()
      local function damage(f)
        for path, bytes in pairs(paths) do process.write(path, f(bytes)) end
        assert.equal("9\t", with_compiler(dir, env, work)[1]:sub(1, 2))
      end
      damage(function(b) return b:sub(1, #b // 2) end)
      damage(function(b) return b .. "x" end)
      damage(function(b)
        local i = #b - #b // 3
        return b:sub(1, i - 1) .. string.char(b:byte(i) ~ 1) .. b:sub(i + 1)
      end)
      damage(function(b) return b:sub(1, 8) end)
    end)
  end)
end)

describe("format = \"source\"", function()
  local source = [[
    kernel void saxpy(float a, global const float *x, global float *y) {
      size_t i = get_global_id(0);
      y[i] += FACTOR * a * x[i];
    }
    kernel __attribute__((reqd_work_group_size(8, 1, 1)))
    void first(global int *x, local int *t) {
      t[get_local_id(0)] = get_global_id(0);
      barrier(CLK_LOCAL_MEM_FENCE);
      x[get_global_id(0)] = t[0];
    }]]
  local function with(signature)
    return {format = "source", signature = signature, std = "CL1.2",
            defines = {FACTOR = 2}}
  end
  local saxpy = "saxpy(float a, const float *x, float *y)"
  local first =
    "__attribute__((reqd_work_group_size(8, 1, 1))) first(int *x, local int *t)"

  it("has the driver compile it", function()
    local mod <close> = lze.compile(source, with(saxpy .. "; " .. first))
    assert.same({"saxpy", "first"}, mod:kernels())
    assert.equal("kernel " .. saxpy, tostring(mod.saxpy))
    assert.equal("read", mod.saxpy.args[2].access)
    assert.equal("both", mod.saxpy.args[3].access)
    local n = 1003
    local x, y = lze.buffer("float", n):fill(1), lze.buffer("float", n)
    mod.saxpy(n, 3, x, y)
    assert.same({6, 6}, {y[1], y[n]})
    local z = lze.buffer("int", 16)
    mod.first(16, z, 8)
    assert.same({0, 0, 8, 8}, {z[1], z[8], z[9], z[16]})
    assert.same({8, 1, 1}, mod.first.required_group_size)
  end)

  it("takes only exact divisors, because lze cannot inspect the kernel",
    function()
      local mod <close> = lze.compile(source, with(saxpy))
      local g = mod.saxpy:group(1003) -- 17 * 59
      assert.is_true(1003 % g == 0, g)
      local x = lze.buffer("float", 1003)
      assert.matches("^kernel saxpy: the given group 64 does not divide the " ..
        "range 1003", expect.misuse(function()
          mod.saxpy({1003, group = 64}, 1, x, x)
        end))
    end)

  it("has no SPIR-V", function()
    local mod <close> = lze.compile(source, with(saxpy))
    for _, method in ipairs {"spirv", "native"} do
      assert.equal("module source was compiled by the driver from source " ..
        "and has no SPIR-V", expect.misuse(function() mod[method](mod) end))
    end
  end)

  it("requires a valid signature, and a signature requires it", function()
    local function is(message, options)
      assert.equal(message,
        expect.misuse(function() lze.compile(source, options) end))
    end
    is("option signature: the kernels' declarations expected, as nothing " ..
      "else says what a driver's own compiler makes", {format = "source"})
    is('option signature: it goes with format = "source"', {signature = saxpy})
    is("option format: \"source\" expected, got string 'spirv'",
      {format = "spirv"})
    for text, message in pairs {
      [""] = "no kernel is declared",
      ["f"] = "'(' expected, got the end",
      ["f(int"] = "')' expected, got the end",
      ["f(pair p)"] = "kernel f: parameter 1: a scalar, vector, image or " ..
        "sampler type, struct(SIZE), or a pointer expected, got 'pair'",
      ["f(struct() p)"] = "struct: a size expected, got ')'",
      ["f(struct(4 p)"] = "')' expected, got 'p'",
      ["f(image2d_depth_t i)"] = "kernel f: parameter 1: a scalar, vector, " ..
        "image or sampler type, struct(SIZE), or a pointer expected, got " ..
        "'image2d_depth_t'",
      ["f(int **p)"] = "kernel f: parameter 1: a pointer to a pointer",
      ["f(int a, *)"] = "kernel f: parameter 2: a type expected",
      ["f() f()"] = "kernel f is declared twice",
      ["f(" .. ("int,"):rep(255) .. "int)"] =
        "kernel f: more than 255 parameters",
      ["3f()"] = "the name of a kernel expected, got 3f",
    } do
      is("option signature: " .. message, with(text))
    end
  end)

  it("checks the signature against the compiled kernels", function()
    local mod <close> = lze.compile(source, with "saxpy(float a); other()")
    assert.equal("kernel saxpy: the signature has 1 arguments, the source 3",
      expect.misuse(function() return mod.saxpy end))
    local err = expect.failure(function() return mod.other end)
    assert.equal("ERROR_INVALID_KERNEL_NAME", err.code)
  end)

  it("has the messages of the driver's compiler in err.log", function()
    local err = expect.failure(function()
      lze.compile("kernel void f() { oops; }", with "f()")
    end)
    assert.equal("ERROR_MODULE_BUILD_FAILURE", err.code)
    -- If a loader wraps handles, the messages are in err.message.
    assert.matches("use of undeclared identifier 'oops'",
      err.log or err.message)
  end)

  it("takes types that the source defines", function()
    local types = [[
      typedef struct { float mass; int kind; float4 by; } body;
      struct triple { char x[3]; };
      union both { int i; float f; };
      enum color { RED, GREEN = 7 };
      typedef enum color shade;
      typedef float real;
      typedef float4 vec;
      typedef struct { int x[100]; } big;
    ]]
    local mod <close> = lze.compile(types .. [[
      kernel void f(global float *out, body b, struct triple t, union both u,
                    enum color c, shade s, real r, vec v, big many,
                    global body *p, local struct triple *q) {
        out[0] = b.mass; out[1] = b.kind; out[2] = b.by.w; out[3] = t.x[2];
        out[4] = u.f; out[5] = c; out[6] = s; out[7] = r; out[8] = v.z;
        out[9] = many.x[99]; out[10] = p->kind;
      }
      kernel void g(global int *out, struct triple t) { out[0] = t.x[0]; } //]],
      {format = "source", signature = [[
        f(float *out, struct(32) b, struct(3) t, struct(4) u, int c, uint s,
          float r, float4 v, struct(400) many, struct body *p,
          local char *q);
        g(int *out, struct(3) t)]]})
    local out, p = lze.buffer("float", 11), lze.buffer("uchar", 32)
    local body = string.pack("!16 f i4 Xi16 ffff", 2, 7, 1, 2, 3, 4)
    p:write(body)
    mod.f({1, group = 1}, out, body, "\1\2\3", string.pack("f", 2.5), 7, 8, 1.5,
          {1, 2, 3, 4}, string.rep("\0", 396) .. string.pack("i4", 99), p, 1)
    assert.same({2, 7, 4, 3, 2.5, 7, 8, 1.5, 3, 99, 7}, out:read())
    local i = lze.buffer("int", 1)
    mod.g(1, i, "\9\0\0")
    assert.equal(9, i[1])
    assert.matches("argument 2 %(t%): a string of 3 bytes expected, got one",
      expect.misuse(function() mod.g(1, i, "1234") end))
    local wrong <close> = lze.compile(
      "typedef struct { int x[2]; } two;\n" ..
      "kernel void h(global int *out, two t) { out[0] = t.x[1]; }",
      {format = "source", signature = "h(int *out, struct(4) t)"})
    assert.matches("argument 1 of kernel h has 8 bytes, not 4",
      expect.failure(function() wrong.h(1, i, "1234") end).message)
  end)

  it("takes long names", function()
    local name = ("n"):rep(200)
    local mod <close> = lze.compile("kernel void " .. name ..
      "(global int *out) { out[0] = 5; } //", {format = "source",
      signature = name .. "(int *out)"})
    local i = lze.buffer("int", 1)
    mod[name](1, i)
    assert.equal(5, i[1])
  end)

  it("takes images and samplers", function()
    if #lze.device():image_formats() == 0 then return pending "no images" end
    local f = "f(read_only image2d_t from, write_only image2d_t to, " ..
      "sampler_t how)"
    local mod <close> = lze.compile("kernel void " .. f .. [[ {
      int2 p = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(to, p, 2 * read_imagef(from, how, p));
    }]], {format = "source", signature = f})
    assert.same({"read", "write"}, {mod.f.args[1].access, mod.f.args[2].access})
    local from = lze.image("r32float", {2, 2})
    local to = lze.image("r32float", {2, 2})
    from:write {1, 2, 3, 4}
    mod.f({2, 2}, from, to, lze.sampler {filter = "nearest"})
    assert.same({2, 4, 6, 8}, to:read())
  end)

  it("names an argument whose size OpenCL does not report", function()
    for declared, said in pairs {
      ["struct { int x; } p"] = "kernel f: parameter p: OpenCL does not say " ..
        "what size '",
      ["smp p"] = "kernel f: parameter p: OpenCL does not say what size 'smp'",
    } do
      local err = expect.failure(function()
        lze.compile("typedef sampler_t smp; kernel void f(" .. declared ..
          ") {}", {format = "source", signature = "f(struct(4) p)"})
      end)
      assert.equal("ERROR_MODULE_BUILD_FAILURE", err.code)
      assert.matches(said, err.log or err.message, 1, true)
    end
  end)

  it("takes every scalar and vector, and pointers of each space", function()
    if not lze.device().fp64 then return pending "the device has no double" end
    local types = {"char", "uchar", "short", "ushort", "int", "uint", "long",
                   "ulong", "float", "double"}
    local declared, body = {}, {}
    for i, t in ipairs(types) do
      declared[#declared + 1] = t .. " a" .. i
      declared[#declared + 1] = t .. "3 v" .. i
      body[#body + 1] = ("x[%d] = a%d + v%d.z;"):format(i - 1, i, i)
    end
    local f = "f(global double *x, constant int *c, " ..
      table.concat(declared, ", ") .. ")"
    local mod <close> = lze.compile("kernel void " .. f .. " { " ..
      table.concat(body, " ") .. " x[10] = c[0]; }",
      {format = "source", signature = f})
    local x, c = lze.buffer("double", 11), lze.buffer("int", {42})
    local arguments = {}
    for i = 1, #types do
      arguments[#arguments + 1] = i
      arguments[#arguments + 1] = {0, 0, 2 * i}
    end
    mod.f(1, x, c, table.unpack(arguments))
    assert.same({3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 42}, x:read())
  end)
end)
