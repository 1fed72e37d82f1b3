-- bin_spec.lua - the command bin/lze.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

-- Runs bin/lze with the suite's interpreter. Returns the exit status and the
-- output of both streams.
local function run(...)
  local words = {}
  for i, word in ipairs {...} do words[i] = ("%q"):format(word) end
  local r = process.run(("arg = {[0] = 'bin/lze', %s}\ndofile 'bin/lze'")
    :format(table.concat(words, ", ")))
  assert(r.how == "exit", r.output)
  return r.code, r.output
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("lze", function()
  it("without a command, or with an unknown one, exits 2", function()
    local hint = "lze help lists what there is\n"
    assert.same({2, "lze: no command\n" .. hint}, {run()})
    assert.same({2, "lze: unknown command frob\n" .. hint}, {run "frob"})
    assert.same({2, "lze info: unknown option -q\n" .. hint},
      {run("info", "-q")})
    assert.same({2, "lze info: unexpected x\n" .. hint}, {run("info", "x")})
    assert.same({2, "lze dis: FILE.spv expected\n" .. hint}, {run "dis"})
    assert.same({2, "lze dis: one FILE.spv expected, got a b\n" .. hint},
      {run("dis", "a", "b")})
    assert.same({2, "lze compile: FILE.cl or FILE.lua expected\n" .. hint},
      {run "compile"})
    assert.same({2, "lze compile: -o expects a value\n" .. hint},
      {run("compile", "a.cl", "-o")})
    assert.same({2, "lze compile: -o is given twice\n" .. hint},
      {run("compile", "a.cl", "-ox", "-o", "y")})
    assert.same({2, "lze compile: a file that ends in .cl or .lua " ..
      "expected, got a.c\n" .. hint}, {run("compile", "a.c")})
    assert.same({2, "lze compile: -D expects NAME or NAME=VALUE, got 1=2\n" ..
      hint}, {run("compile", "a.cl", "-D1=2")})
  end)

  it("exits 1 if its output cannot be written", function()
    for command, to in pairs {version = ">&-", bench = ">/dev/full",
      ["validate kernels/saxpy.spv"] = ">/dev/full",
      ["top --json"] = ">/dev/full"} do
      local r = process.run(("os.exit(select(3, " ..
        "os.execute '%s bin/lze %s %s'))"):format(process.runner, command, to))
      assert.same({1, ("lze %s: stdout: %s\n"):format(command:match "^%a+",
        to == ">&-" and "Bad file descriptor" or "No space left on device")},
        {r.code, r.output})
    end
    local r = process.run(("os.exit(select(3, " ..
      "os.execute 'echo 1 | %s bin/lze repl >/dev/full'))"):format(
      process.runner))
    assert.same({1, "lze repl: stdout: write error\n"}, {r.code, r.output})
  end)

  it("finds its installed files through a symbolic link", function()
    process.with_directory(function(dir)
      local r = process.run(("os.execute 'ln -s $PWD/bin/lze %s/it'\n" ..
        "os.exit(select(3, os.execute 'LUA_CPATH=\";;\" " ..
        "LUA_CPATH_5_4=\";;\" %s %s/it trace merge x.csv'))"):format(dir,
        process.runner, dir))
      assert.same({1, "lze trace: x.csv: a name that ends in .json or " ..
        ".html expected\n"}, {r.code, r.output})
    end)
  end)

  it("help lists every command", function()
    local code, text = run "help"
    assert.equal(0, code)
    for _, command in ipairs {"info", "compile", "validate", "dis", "bench",
      "version", "repl", "top", "trace", "run", "help"} do
      assert.matches("lze " .. command, text)
    end
    assert.equal(text, select(2, run "--help"))
  end)

  it("COMMAND --help describes that command", function()
    for _, command in ipairs {"info", "compile", "validate", "dis", "bench",
      "version", "repl", "top", "trace", "run", "help"} do
      local code, text = run(command, "--help")
      assert.equal(0, code)
      assert.matches("^usage:\n  lze " .. command .. "[ \n]", text)
      assert.equal(1, select(2, text:gsub("  lze %l+", "")))
      assert.equal(text, select(2, run(command, "-h")))
    end
    assert.matches("\n      %-%-target TARGET ", select(2,
      run("validate", "--help")))
    assert.same({run("trace", "--help")}, {run("trace", "merge", "--help")})
  end)

  it("help explains commands and words of the manual, and refuses others",
  function()
    assert.same({0, lze.help "lze.mark" .. "\n"}, {run("help", "lze.mark")})
    assert.same({0, lze.help() .. "\n"}, {run("help", "")})
    for _, command in ipairs {"validate", "trace", "top", "help"} do
      assert.same({0, select(2, run(command, "--help")) .. "\n" ..
        lze.help(command) .. "\n"}, {run("help", command)})
    end
    for word, near in pairs {bufer = "near: a.buffer, ",
      ["-x-"] = "lze.help() "} do
      local code, text = run("help", "--", word)
      assert.equal(2, code)
      local said = "lze help: the manual has nothing on '%s'; %s"
      assert.is_truthy(text:find(said:format(word, near), 1, true), text)
      assert.matches("\nlze help lists what there is\n$", text)
    end
  end)

  it("version and info agree with the module", function()
    assert.same({0, lze._VERSION .. "\n"}, {run "version"})
    local code, text = run "info"
    assert.equal(0, code)
    assert.equal(lze.info():match "[^\n]*", text:match "[^\n]*")
  end)
end)

describe("lze compile", function()
  it("writes SPIR-V beside the source, or to the file named by -o", function()
    process.with_directory(function(dir)
      process.write(dir .. "/f.cl",
        "#ifdef TWICE\nkernel void f(global int *x) { x[0] = N; }\n#endif\n")
      assert.same({0, ""}, {run("compile", dir .. "/f.cl", "-DTWICE", "-D",
        "N=7")})
      assert.same({0, ""}, {run("compile", "-o", dir .. "/g.spv", "-DN=7",
        "-DTWICE", "--std=CL1.2", dir .. "/f.cl")})
      local bytes = read(dir .. "/f.spv")
      assert.is_true(bytes == read(dir .. "/g.spv"))
      local lze = require "lze"
      local x = lze.buffer("int", 1)
      lze.module(bytes).f(1, x)
      assert.equal(7, x[1])
    end)
  end)

  it("compiles Lua kernels to SPIR-V", function()
    process.with_directory(function(dir)
      process.write(dir .. "/one.lua", [[
        local lze = require "lze"
        return lze.kernel(function(i, x) x[i] = x[i] + 3 end,
          {name = "three", signature = "int *x"})]])
      assert.same({0, ""}, {run("compile", dir .. "/one.lua")})
      local x = lze.buffer("int", {1, 2})
      lze.load(dir .. "/one.spv").three(2, x)
      assert.same({4, 5}, x:read())
      process.write(dir .. "/two.lua", [[
        local lze = require "lze"
        local function make(n)
          return lze.kernel(function(i, x) x[i] = n end, "int *x")
        end
        local w, f = lze.work, 0.5
        local real = lze.device().fp64 and "double" or "float"
        return {a = make(1), b = make(2), printf = make(3),
          sum = lze.kernel(function(i, y, x)
            local t = w.local_array("float", 4)
            t[w.local_id()] = x[i] * f
            w.barrier()
            y[i] = t[1] + t[4] + #x
          end, "float *y, const float *x"),
          root = lze.kernel(function(i, y) y[i] = math.sqrt(y[i]) + i end,
            {signature = real .. " *y", real = real}),
          say = lze.kernel(function(i) w.print("100% of \"%m1\" %d", i) end,
            "")}]])
      assert.same({0, ""}, {run("compile", dir .. "/two.lua", "-o",
        dir .. "/c.spv")})
      local m = lze.load(dir .. "/c.spv")
      assert.same({"a", "b", "printf", "root", "say", "sum"}, m:kernels())
      for name, n in pairs {a = 1, b = 2, printf = 3} do
        local k = m:kernel(name)
        assert.same({"x", "n"}, {k.args[1].name, k.args[2].name})
        assert.matches("its function captures n", select(2, pcall(k, 2, x)))
        k(2, x, 7 * n)
        assert.same({7 * n, 7 * n}, x:read())
      end
      local y, v = lze.buffer("float", 4), lze.buffer("float", {1, 2, 3, 4})
      m.sum({4, group = 4}, y, v, 0.5)
      assert.same({6.5, 6.5, 6.5, 6.5}, y:read())
      local d = lze.buffer(lze.device().fp64 and "double" or "float", {4, 9})
      m.root(2, d)
      assert.same({3.0, 5.0}, d:read())
      assert.is_true(lze.spirv.validate(m:spirv()))
      assert.same({0, ""}, {run("compile", dir .. "/two.lua")})
      assert.is_true(read(dir .. "/two.spv") == read(dir .. "/c.spv"))
      local code, text
      process.write(dir .. "/bad.lua", [[
        return require "lze".kernel(function(i, x) x[i] = {} end, "int *x")]])
      code, text = run("compile", dir .. "/bad.lua")
      assert.equal(1, code)
      assert.matches("bad%.lua:1: kernel bad_1: a table is made here", text)
      process.write(dir .. "/none.lua", "return 1")
      code, text = run("compile", dir .. "/none.lua")
      assert.same({1, "lze compile: " .. dir .. "/none.lua: it returns neither "
        .. "a kernel nor a table of kernels\n"}, {code, text})
      process.write(dir .. "/late.lua", [[
        return require "lze".kernel(function(i, x) x[i] = 1 end)]])
      code, text = run("compile", dir .. "/late.lua")
      assert.equal(1, code)
      assert.matches("late.lua: kernel late_1: nothing is compiled yet: the "
        .. "types of its arguments are not known before a signature", text)
      process.write(dir .. "/closed.lua", [[
        local k = require "lze".kernel(function(i, x) x[i] = 1 end, "int *x")
        k:close()
        return k]])
      assert.same({1, "lze compile: " .. dir .. "/closed.lua: kernel closed_1 "
        .. "is closed\n"}, {run("compile", dir .. "/closed.lua")})
    end)
  end)

  it("compiles Lua kernels with captures as arguments and with known sizes",
    function()
      process.with_directory(function(dir)
        process.write(dir .. "/k.lua", [[
          local lze = require "lze"
          local a, b = 3, lze.buffer("int", {10, 20})
          return lze.kernel(function(i, y, m)
            y[i] = #y + a * m[{i, -1}] + (b[i + 1] or #b) * #m
          end, {name = "k", signature = "int *y, const int *m"})]])
        assert.same({0, ""}, {run("compile", dir .. "/k.lua", "-o",
          dir .. "/k.spv")})
        local lze = require "lze"
        local k = lze.load(dir .. "/k.spv").k
        local function said(f, ...)
          local ok, err = pcall(f, ...)
          assert.is_false(ok)
          return err
        end
        local y, b = lze.buffer("int", 2), lze.buffer("int", {10, 20})
        local m = lze.array("int", {{1, 2, 3}, {4, 5, 6}})
        assert.matches("kernel k: 4 arguments %(y, m, a, b%) expected, got 2; "
          .. "its function captures a, b", said(k, 2, y, m))
        k(2, y, m, 3, b)
        assert.same({2 + 9 + 40, 2 + 18 + 4}, y:read())
        assert.matches("argument 2 %(m%): an array of 2 dimensions expected, "
          .. "got a buffer", said(k, 2, y, b, 3, b))
        assert.matches("argument 2 %(m%): a buffer of numbers or an array "
          .. "expected, got integer 7", said(k, 2, y, 7, 3, b))
        assert.matches("argument 1 %(y%): a buffer of numbers or an array "
          .. "expected, got nil", said(k, 2, nil, m, 3, b))
        local plan <close> = lze.graph():task("t", k, 2, y, m, 3, b):compile()
        plan:set("t", "b", lze.buffer("int", {1, 2, 3}))
        plan:run()
        assert.same({2 + 9 + 4, 2 + 18 + 6}, y:read())
        lze.parallel(lze.devices(), 2, k, y, m, 1, b)
        assert.same({2 + 3 + 40, 2 + 6 + 4}, y:read())
      end)
    end)

  it("reports compile errors with lines, and exits 1", function()
    process.with_directory(function(dir)
      local path = dir .. "/f.cl"
      process.write(path, "kernel void f() {\n  oops;\n}\n")
      local code, text = run("compile", path)
      assert.equal(1, code)
      assert.matches("^lze compile: [^\n]*/f%.cl: clang[^:]*: " ..
        "COMPILE_FAILED: the source does not compile\n", text)
      assert.matches("/f%.cl:2:3: error: use of undeclared identifier 'oops'",
        text)
      assert.is_nil(io.open(dir .. "/f.spv"))
    end)
  end)

  it("reports files that cannot be read or written", function()
    assert.same({1, "lze compile: lze.load: ENOENT: /proc/none/f.cl: No " ..
      "such file or directory\n"}, {run("compile", "/proc/none/f.cl")})
    assert.same({1, "lze compile: /proc/none/f: No such file or directory\n"},
      {run("compile", "kernels/saxpy.cl", "-o", "/proc/none/f")})
    assert.same({1, "lze compile: /dev/full: No space left on device\n"},
      {run("compile", "kernels/saxpy.cl", "-o", "/dev/full")})
  end)

  it("leaves no partly written file", function()
    process.with_directory(function(dir)
      local r = process.run(("os.exit(select(3, os.execute [[" ..
        "%s bin/lze dis kernels/nbody.spv -o '%s/a b']]))"):format(
        process.runner, dir), {before = "trap '' XFSZ; ulimit -f 1"})
      assert.same({1, ("lze dis: %s/a b: File too large\n"):format(dir)},
        {r.code, r.output})
      assert.is_nil(io.open(dir .. "/a b"))
      assert.is_not_nil(io.open("/dev/full"))
    end)
  end)
end)

describe("lze validate", function()
  it("exits 0 for a valid module", function()
    assert.same({0, "kernels/saxpy.spv: valid SPIR-V 1.0; kernels: saxpy\n"},
      {run("validate", "kernels/saxpy.spv")})
    assert.same({0, "kernels/saxpy.spv: valid SPIR-V 1.0; kernels: saxpy\n"},
      {run("validate", "kernels/saxpy.spv", "--target", "opencl1.2")})
  end)

  it("exits 1 and says why for an invalid file", function()
    process.with_directory(function(dir)
      local path = dir .. "/text"
      process.write(path, ("text"):rep(9))
      assert.same({1, "lze validate: " .. path .. ": not SPIR-V: it does " ..
        "not start with the magic number\n"}, {run("validate", path)})
    end)
    assert.same({1, "lze validate: /proc/none/f.spv: No such file or " ..
      "directory\n"}, {run("validate", "/proc/none/f.spv")})
    assert.same({1, "lze validate: kernels: Is a directory\n"},
      {run("validate", "kernels")})
  end)

  it("exits 2 for an unknown target", function()
    assert.same({2, "lze validate: --target: unknown environment x\n" ..
      "lze help lists what there is\n"},
      {run("validate", "kernels/saxpy.spv", "--target=x")})
  end)
end)

describe("lze dis", function()
  it("prints text that assembles to a valid module", function()
    local code, text = run("dis", "kernels/saxpy.spv")
    assert.equal(0, code)
    assert.matches('OpEntryPoint Kernel %%%S+ "saxpy"', text)
    local spirv = require "lze".spirv
    assert.is_true(spirv.validate(spirv.assemble(text)))
  end)

  it("exits 1 for a file that is not SPIR-V", function()
    local code, text = run("dis", "kernels/saxpy.cl")
    assert.equal(1, code)
    assert.matches("^lze dis: kernels/saxpy%.cl: ", text)
  end)
end)

describe("lze bench", function()
  it("measures bandwidth and launches, and checks the result", function()
    local code, text = run("bench", "--device")
    assert.equal(0, code)
    local gb = tonumber(text:match "a launch, ([%d.]+) GB/s")
    local enqueue = tonumber(text:match "([%d.]+) us   only enqueued")
    local wait = tonumber(text:match "([%d.]+) us   and waited for")
    assert.is_true(gb > 0.01 and gb < 1e5, text)
    assert.is_true(enqueue > 0 and enqueue < 1e4, text)
    assert.is_true(wait > 0 and wait < 1e6, text)
    -- Profiles use the measured limits.
    local limits = require "lze.prompt".limits(lze.device().name)
    local function says(pattern, n)
      return assert.equal(("%.1f"):format(n), text:match(pattern))
    end
    says("([%d.]+) GB/s      copied by a kernel", limits.copy)
    says("([%d.]+) GFLOP/s   of float", limits.float)
    assert.is_true(limits.copy > 0.01 and limits.float > 0.001, text)
    assert.equal(lze.device().fp64, limits.double ~= nil)
  end)

  it("keeps the best limits that were measured", function()
    local prompt, name = require "lze.prompt", lze.device().name
    local before = prompt.limits(name)
    prompt.limits(name, {copy = 123456, float = 0.001, double = 0.001})
    assert.equal(0, (run("bench", "--device")))
    local limits = prompt.limits(name)
    prompt.limits(name, before)
    assert.equal(123456, limits.copy)
    assert.is_true(limits.float > 0.001)
  end)

  it("exits 1 for an unknown device", function()
    local code, text = run("bench", "--device", "no such device")
    assert.equal(1, code)
    assert.matches("^lze bench: no device matches string 'no such device'",
      text)
  end)
end)

describe("lze run", function()
  local test = process.hosted and pending or it -- lua5.4 must load it
  test("runs a script as Lua does, and says where its time went", function()
    process.with_directory(function(dir)
      local script, table_of = dir .. "/script.lua", dir .. "/of.csv"
      process.write(script, [[
        require "lze".mark "here"
        print(#arg, arg[0] == ..., select(2, ...))
        os.exit(7)]])
      assert.same({7, "3\ttrue\t--profile\tb c\n"},
        {run("run", script, script, "--profile", "b c")})
      assert.same({7, "1\ttrue\n"},
        {run("run", "--profile=" .. table_of, script, script)})
      assert.matches("\nmark,here,[^\n]*script.lua:1,", read(table_of))
      local code, text = run("run", "--profile", script, script)
      assert.equal(7, code)
      assert.matches("^1\ttrue\nprofile: .*  here  ", text)
    end)
  end)

  test("says what is wrong with the profile's file, and no more", function()
    process.with_directory(function(dir)
      local script = dir .. "/script.lua"
      process.write(script, 'print(pcall(require, "lze")) os.exit(3)')
      local code, text = run("run", "--profile=a.foo", script)
      assert.equal(3, code)
      assert.matches("^false\t.*LZE_PROFILE=a.foo: %-, or a name that ends " ..
        "in .csv, .html, .json or .txt expected\n$", text)
    end)
  end)

  test("says that there is no profile where the script never loads lze",
    function()
      process.with_directory(function(dir)
        local script, table_of = dir .. "/script.lua", dir .. "/of.csv"
        process.write(script, "print 'done' os.exit(3)")
        local said = "done\nlze run: no profile: " .. script ..
          " did not load lze\n"
        assert.same({3, said}, {run("run", "--profile", script)})
        assert.same({3, said}, {run("run", "--profile=" .. table_of, script)})
        assert.is_nil(io.open(table_of))
        assert.same({3, "done\n"}, {run("run", script)})
      end)
    end)

  it("exits 2 for unknown options, with or without --profile", function()
    local hint = "\nlze help lists what there is\n"
    assert.same({2, "lze run: FILE.lua expected" .. hint}, {run "run"})
    assert.same({2, "lze run: FILE.lua expected" .. hint},
      {run("run", "--profile")})
    assert.same({2, "lze run: unknown option --frob" .. hint},
      {run("run", "--frob", "a.lua")})
    assert.same({2, "lze run: unknown option -e" .. hint},
      {run("run", "--profile", "-e", "print(1)")})
  end)
end)
