-- environment_spec.lua - environments that a driver or a compiler may not
-- support. Each causes a clear error or no harm, and everything else works.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- Launches a kernel that was never compiled before, uses a buffer, and tries
-- again.
local script = [[
  local lze = require "lze"
  local function attempt()
    local x = lze.buffer("int", {1, 2, 3})
    local mod <close> = lze.load "kernels/spec.spv"
    mod.add(3, x, 10)
    return table.concat(x:read(), " ")
  end
  for _ = 1, 2 do
    local ok, v = pcall(attempt)
    if ok then
      print("result", v)
    elseif type(v) == "table" and v.call and v.code and #v.message > 0 then
      print("error", (tostring(v):gsub("\n.*", "")))
    else
      print("no error object", v)
    end
    collectgarbage()
  end
  local ok, v = pcall(function()
    return table.concat(lze.buffer("int", {4, 5}):read(), " ")
  end)
  print("buffer", ok and v or v.code)]]

-- Runs `text` or that script with empty caches and `options`. Returns its
-- lines.
local function surrounded(options, text)
  local lines = {}
  process.with_directory(function(dir)
    local env = {POCL_CACHE_DIR = dir .. "/pocl",
                 XDG_CACHE_HOME = dir .. "/xdg", TMPDIR = dir}
    for name, value in pairs(options.env or {}) do env[name] = value end
    local r = process.run(text or script, {env = env, before = options.before})
    assert.equal("exit 0", r.how .. " " .. r.code, r.output)
    for line in r.output:gmatch "[^\n]+" do lines[#lines + 1] = line end
  end)
  return lines
end

-- Checks that the lines are the results, or a proper error each time.
local function assert_clear(lines)
  assert.equal(3, #lines, table.concat(lines, "\n"))
  for i = 1, 2 do
    if lines[i] ~= "result\t11 12 13" then
      assert.matches("^error\tstdin:%d+: .+: .+: .+", lines[i])
    end
  end
end

local worked = {"result\t11 12 13", "result\t11 12 13", "buffer\t4 5"}

-- An invalid variable is reported at the script's line by the first call, and
-- again by each next call.
describe("a variable", function()
  local said = {
    LZE_CHECK = "=x: 0, 1 or lua expected", LZE_SYNC = "=x: 0 or 1 expected",
    LZE_GROUP_POLICY = ": unknown policy 'x'", LZE_LOG = ": unknown word 'x'",
    LZE_USE_IMMEDIATE_COMMANDLISTS = "=x: 0 or 1 expected",
  }
  local first = {"lze.array.zeros {3}", "lze.array('int', {1}) + 1",
    "lze.buffer('int', 1)", "lze.queue()", "lze.graph():compile()",
    "lze.default()", "lze.module ''"}
  for name, what in pairs(said) do
    it(name .. " says what is wrong with it", function()
      local script = {"local lze = require 'lze'"}
      for _, call in ipairs(first) do
        script[#script + 1] = ("print(pcall(function() local v = %s end))")
          :format(call)
      end
      local lines = process.output(table.concat(script, "\n"),
        {env = {[name] = "x"}})
      local n = 0
      for line in lines:gmatch "[^\n]+" do
        n = n + 1
        local start = ("false\tstdin:%d: %s%s"):format(n + 1, name, what)
        assert.equal(start, line:sub(1, #start))
      end
      assert.equal(#first, n)
    end)
  end

  it("is named even if the error has no call to name", function()
    local function ends(script, name, value)
      return process.run(script, {env = {[name] = value}}).output
    end
    assert.matches("^lua5?%.?%d*: stdin:2: LZE_PROFILE=x: %-, or a name",
      ends("\nrequire 'lze'", "LZE_PROFILE", "x"):gsub("^.*/", ""))
    assert.matches("stdin:3: LZE_FUSE=x: auto, always or never expected",
      ends("\nlocal lze = require 'lze'\nprint(lze.array)", "LZE_FUSE", "x"))
  end)
end)

describe("lze", function()
  it("works in an ordinary environment", function()
    assert.same(worked, surrounded {})
  end)

  it("works or fails clearly without an `ld` on PATH", function()
    process.with_directory(function(dir)
      local lines = surrounded {env = {PATH = dir}}
      assert_clear(lines)
      assert.equal("buffer\t4 5", lines[3])
    end)
    assert_clear(surrounded {env = {PATH = ""}})
    assert_clear(surrounded {env = {PATH = false}})
  end)

  it("works or fails clearly with SIGCHLD ignored", function()
    local lines = surrounded {before = "trap '' CHLD"}
    assert_clear(lines)
    assert.equal("buffer\t4 5", lines[3])
  end)

  it("reports a full file system of OpenCL caches, and recovers", function()
    if process.hosted or
      not os.execute "unshare -rm mount -t tmpfs none /mnt 2>/dev/null" then
      pending "no file system can be mounted here"
    end
    process.with_directory(function(dir)
      assert(os.execute("mkdir " .. dir .. "/small"))
      process.write(dir .. "/script.lua", [[
        local lze = require "lze"
        local saxpy = lze.load "saxpy".saxpy
        local x = lze.buffer("float", 64):fill(1)
        saxpy({64, group = 64}, 1, x, x)
        lze.wait()
        local file = assert(io.open(arg[1] .. "/full", "wb"))
        file:setvbuf "no"
        repeat until not file:write(("x"):rep(4096))
        file:close()
        local function try(f, ...)
          local ok, err = pcall(f, ...)
          print(ok or err.code .. ": " .. (err.message .. " " ..
            (err.log or "")):match "file system of PoCL's cache directory")
        end
        try(saxpy, {64, group = 32}, 1, x, x)
        try(saxpy.prepare, saxpy, {64, group = 16}, 1, x, x)
        try(lze.load, "vector_add")
        try(saxpy, {64, group = 64}, 1, x, x)
        os.remove(arg[1] .. "/full")
        try(saxpy, {64, group = 32}, 1, x, x)
        print(x:read()[64])]])
      local pipe = assert(io.popen(([[unshare -rm sh -c '
        mount -t tmpfs -o size=16m none %s/small && mkdir %s/small/pocl &&
        POCL_CACHE_DIR=%s/small/pocl exec %s %s/script.lua %s/small' 2>&1]])
        :format(dir, dir, dir, process.lua, dir, dir)))
      local said = pipe:read "a"
      local refused = "ERROR_MODULE_BUILD_FAILURE: file system of PoCL's " ..
        "cache directory\n"
      assert.equal(refused:rep(3) .. "true\ntrue\n8.0\n", said)
      assert(pipe:close())
    end)
  end)

  it("reports that PoCL lacks /proc or /sys", function()
    if process.hosted or
      not os.execute "unshare -rm mount -t tmpfs none /mnt 2>/dev/null" then
      pending "no file system can be mounted here"
    end
    process.with_directory(function(dir)
      process.write(dir .. "/script.lua",
        "print(select(2, pcall(require 'lze'.device)))")
      for hidden, said in pairs {
        ["/sys"] = "needs /sys, which is not mounted here",
        ["/proc"] = "needs /proc, which is not mounted here",
        ["/sys /proc"] = "needs /proc and /sys, which are not mounted here"}
      do
        local pipe <close> = io.popen(([[unshare -rm sh -c '
          for path in %s; do mount -t tmpfs none $path; done
          exec %s %s/script.lua' 2>&1]]):format(hidden, process.lua, dir))
        assert.matches("the software driver shows no device: PoCL " .. said ..
          "\n$", pipe:read "a")
      end
    end)
  end)

  it("checks modules again with another translator", function()
    if process.hosted or not os.execute [[
        ls /usr/bin/llvm-spirv-* >/dev/null 2>&1 &&
        unshare -rm mount -t tmpfs none /mnt 2>/dev/null]] then
      pending "no translator can be put in the other's place here"
    end
    process.with_directory(function(dir)
      process.write(dir .. "/script.lua", [[require "lze".load "saxpy"]])
      -- Returns how many modules are marked as good after a run.
      local function good(before)
        assert(os.execute(([[XDG_CACHE_HOME=%s unshare -rm sh -c '%s
          exec %s %s/script.lua']]):format(dir, before, process.lua, dir)))
        local pipe = assert(io.popen("find " .. dir .. " -name '*.ok' | wc -l"))
        local n = pipe:read "n"
        pipe:close()
        return n
      end
      local first = good ""
      if first == 0 then pending "nothing is translated here" end
      assert.equal(first, good "")
      assert.equal(2 * first, good(([[
        for tool in /usr/bin/llvm-spirv-*; do
          cp "$tool" %s/other && mount --bind %s/other "$tool" || exit 1
          mv %s/other %s/${tool##*/}
        done;]]):gsub("%%s", dir)))
    end)
  end)

  it("works in another directory if it was loaded by a relative path",
  function()
    local lfs = package.searchpath("lfs", package.cpath)
    if process.hosted or not lfs then
      pending "a script cannot change its directory here"
    end
    for _, driver in ipairs {"./libze_opencl.so", false} do
      local lines = surrounded({
        before = "cd " .. os.getenv "LZE_TEST_BUILD",
        env = {ZE_ENABLE_ALT_DRIVERS = driver,
          LUA_CPATH = "./?.so;" .. lfs:gsub("lfs%.so$", "?.so")},
      }, ([[
        local lze, lfs = require "lze", require "lfs"
        local given = %s and lze.device() -- the loader opens it
        lfs.chdir "/"
        local saxpy = lze.load "saxpy".saxpy
        local x = lze.buffer("float", {1})
        saxpy:prepare(1, {background = true})
        saxpy(1, 2, x, x)
        print(x[1])]]):format(driver and true))
      assert.same({"3.0"}, lines)
    end
  end)

  it("works with other signals ignored or blocked", function()
    assert.same(worked, surrounded {before = "trap '' PIPE HUP ALRM USR1"})
  end)

  it("works without a writable cache or home", function()
    assert.same(worked, surrounded {env = {
      HOME = "/dev/null/home", XDG_CACHE_HOME = "/dev/null/xdg"}})
    assert.same(worked, surrounded {env = {
      HOME = false, XDG_CACHE_HOME = false}})
    assert.same(worked, surrounded {env = {
      HOME = "", XDG_CACHE_HOME = "relative/path"}})
  end)

  it("works uncached without a home directory, and does not create it",
  function()
    process.with_directory(function(dir)
      local home = dir .. "/missing"
      local env = {HOME = home, XDG_CACHE_HOME = false, POCL_CACHE_DIR = false,
                   TMPDIR = dir}
      assert.same(worked, surrounded {env = env})
      for _, xdg in ipairs {false, home .. "/.cache"} do
        env.XDG_CACHE_HOME = xdg
        local text = process.output([[
          local lze = require "lze"
          print(lze.info(), lze.cache().entries)]], {env = env})
        assert.matches("nothing is kept for the next process: HOME=" .. home ..
          " is not a directory\n", text, 1, true)
        assert.matches("\t0\n$", text)
        assert.is_nil(io.open(home))
      end
      -- PoCL needs a directory that only this user can enter.
      local function shell(command)
        local pipe <close> = assert(io.popen(command:format(dir)))
        return pipe:read "a"
      end
      assert.equal("drwx------\n", shell "stat -c %%A %s/lze-*")
      shell "chmod 755 %s/lze-*"
      assert.matches("only this user enters",
        table.concat(surrounded {env = env}, "\n"))
    end)
  end)

  it("works or fails clearly without a cache that OpenCL can write", function()
    for _, tmp in ipairs {false, "/dev/null/tmp"} do
      local lines = surrounded {env = {
        HOME = "/dev/null/home", XDG_CACHE_HOME = "/dev/null/xdg",
        POCL_CACHE_DIR = "/dev/null/pocl", TMPDIR = tmp}}
      assert_clear(lines)
    end
    assert_clear(surrounded {env = {
      HOME = "/dev/null/home", XDG_CACHE_HOME = "/dev/null/xdg",
      POCL_CACHE_DIR = false}})
  end)

  it("says what stops our driver if no driver initialises", function()
    local r = process.run([[print(pcall(require "lze".devices))]],
      {env = {ZOCL_NOWHERE = "1", LZE_OPENCL = false}})
    assert.matches("zeInit: ERROR_UNINITIALIZED: no Level Zero driver " ..
      "initialised: ZOCL_NOWHERE is not known, of ZOCL_", r.output, 1, true)
  end)

  it("uses the home without XDG_CACHE_HOME", function()
    process.with_directory(function(dir)
      assert.same(worked, surrounded {env = {HOME = dir,
                                             XDG_CACHE_HOME = false}})
    end)
  end)

  it("works or fails clearly with few descriptors", function()
    for _, n in ipairs {12, 14, 16, 20, 24, 32, 48} do
      local lines = surrounded {before = "ulimit -n " .. n}
      assert_clear(lines)
    end
  end)

  -- A sanitizer itself needs more stack and address space than that.
  local test = process.hosted and pending or it

  test("with a small stack", function()
    for _, kilobytes in ipairs {64, 96, 128} do
      local lines = surrounded({before = "ulimit -s " .. kilobytes},
        [[print(#require "lze".devices() > 0)]])
      assert.same({"true"}, lines)
    end
    assert.same(worked, surrounded {before = "ulimit -s 128"})
  end)

  it("recovers after running out of descriptors", function()
    local lines = surrounded({before = "ulimit -n 64"}, [[
      local lze = require "lze"
      lze.buffer("int", 1) -- drivers are opened
      local files = {}
      while true do
        local file = io.open "/dev/null"
        if not file then break end
        files[#files + 1] = file
      end
      print(#files > 10)
      local x = lze.buffer("int", {1, 2, 3})
      local ok, err = pcall(function()
        local mod = lze.load "kernels/spec.spv"
        mod.add(3, x, 10)
        x:read()
      end)
      print(ok and "worked" or err.code and #err.message > 0)
      for _, file in ipairs(files) do file:close() end
      x:write {1, 2, 3}
      lze.load "kernels/spec.spv".add(3, x, 10)
      print(table.concat(x:read(), " "))]])
    assert.equal("true", lines[1])
    assert.is_true(lines[2] == "worked" or lines[2] == "true", lines[2])
    assert.equal("11 12 13", lines[3])
  end)

  -- As in a program that is linked with lze and is in any directory.
  it("finds the driver in the system's library path", function()
    if process.hosted then return end -- there lze is part of the program
    local build = os.getenv "LZE_TEST_BUILD" or "build"
    process.with_directory(function(path)
      assert(os.execute("cp " .. build .. "/lze.so " .. path))
      local function try(libraries)
        return process.run([[
          package.cpath = "]] .. path .. [[/?.so"
          print(pcall(function() return #require "lze".devices() > 0 end))
        ]], {env = {LUA_CPATH = path .. "/?.so", LD_LIBRARY_PATH = libraries,
                    ZE_ENABLE_ALT_DRIVERS = false}}).output
      end
      assert.equal("true\ttrue\n", try(build))
      -- After `make install`, the system's library path has it anyway.
      local installed = process.output(
        [[io.write(tostring(package.loadlib("libze_opencl.so", "*")))]],
        {env = {LD_LIBRARY_PATH = false}}) == "true"
      local said = try(false)
      if installed then
        assert.equal("true\ttrue\n", said)
      else
        assert.matches("libze_opencl.so is not near lze nor where the " ..
          "system looks for libraries", said, 1, true)
      end
    end)
  end)

  it("works in another directory with a relative path to itself", function()
    local path = assert(package.searchpath("lze", package.cpath))
    local lines = surrounded({before = ("cd %s"):format(
      (path:gsub("/[^/]*$", ""))), env = {LUA_CPATH = "./?.so"}},
      [[print(#require "lze".devices() > 0)]])
    assert.same({"true"}, lines)
  end)

  it("works with standard streams closed", function()
    local r = process.run([[
      local lze = require "lze"
      local x = lze.buffer("int", {1, 2, 3})
      lze.load "kernels/spec.spv".add(3, x, 10)
      os.exit(x[3] == 13 and 0 or 1, true)]], {before = "exec 1>&- 2>&-"})
    assert.equal("exit 0", r.how .. " " .. r.code)
  end)

  test("under a limit of memory", function()
    local lines = surrounded({before = "ulimit -v 4000000"}, [[
      local lze = require "lze"
      local x = lze.buffer("int", {1, 2, 3})
      local ok, err = pcall(lze.buffer, "uchar", 8 << 30)
      print(ok, not ok and err.call, not ok and err.message:match "^asked %a+")
      lze.load "kernels/spec.spv".add(3, x, 10)
      print(table.concat(x:read(), " "))]])
    assert.same({"false\tzeMemAllocShared\tasked for", "11 12 13"}, lines)
  end)
end)

describe("a cache", function()
  it("is ignored if it is damaged", function()
    process.with_directory(function(dir)
      local env = {POCL_CACHE_DIR = dir .. "/pocl",
                   XDG_CACHE_HOME = dir .. "/xdg"}
      local out = process.output(script, {env = env})
      os.execute("find " .. dir .. "/xdg -type f -exec " ..
        "sh -c 'echo nonsense >\"$1\"' - {} \\;")
      assert.equal(out, process.output(script, {env = env}))
      os.execute("find " .. dir .. "/xdg -type f -exec " ..
        "sh -c ': >\"$1\"' - {} \\;")
      assert.equal(out, process.output(script, {env = env}))
    end)
  end)

  it("may be used by several processes at once", function()
    process.with_directory(function(dir)
      local env = {POCL_CACHE_DIR = dir .. "/pocl",
                   XDG_CACHE_HOME = dir .. "/xdg"}
      local out = process.output(([[
        for i = 1, 3 do
          os.execute("'%s' - <<'X' &\n" .. [==[
            local lze = require "lze"
            local x = lze.buffer("int", {1, 2, 3})
            lze.load "kernels/spec.spv".add(3, x, 10)
            io.write(table.concat(x:read(), " ") .. "\n")]==] .. "\nX")
        end
        os.execute "wait"]]):format(process.lua), {env = env, seconds = 120})
      assert.equal(("11 12 13\n"):rep(3), out)
    end)
  end)
end)
