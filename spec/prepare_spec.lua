-- prepare_spec.lua - compiling ahead of a launch.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local linker = require "spec.support.linker"
local lze = require "lze"
local process = require "spec.support.process"

local compiles = lze.load "kernels/saxpy.spv".saxpy:prepare(64)

-- Runs a script in a process with its own caches (see linker.output). There
-- await(n, between) waits until n kernels are compiled, calling `between` again
-- and again if given.
local function with_caches(script)
  if not compiles then pending "nothing is compiled for a group size" end
  return linker.output([[
    local saxpy = lze.load "kernels/saxpy.spv".saxpy
    local function await(n, between)
      while compiled() < n do
        if between then between() else os.execute "sleep 0.02" end
      end
    end
  ]] .. script, 600)
end

describe("k:prepare", function()
  it("compiles what the launch then uses", function()
    assert.equal("true\tmore\nnone\t5.0\nmore\n", with_caches [[
      local n = 100003 -- groups of 64, and an edge
      local x, y = lze.buffer("float", n):fill(1), lze.buffer("float", n)
      lze.wait()
      local before = compiled()
      local launch = {n, group = 64}
      print(saxpy:prepare(launch, 5, x, y), compiled() > before and "more")
      before = compiled()
      saxpy(launch, 5, x, y)
      lze.wait()
      print(compiled() == before and "none", y[n])
      saxpy({n, group = 32}, 5, x, y)
      lze.wait()
      print(compiled() > before and "more")]])
  end)

  it("is among the builds that LZE_LOG prints", function()
    if not compiles then pending "nothing is compiled for a group size" end
    local out = process.output([[
      local k = require "lze".load "kernels/saxpy.spv".saxpy
      k:prepare(0)
      k:prepare {64, group = 32}]], {env = {LZE_LOG = "builds"}})
    assert.matches(" ms build kernel saxpy for groups of {32, 1, 1}: " ..
      "prepared\n", out)
    assert.equal(1, select(2, out:gsub("for groups of", "")))
  end)

  it("compiles for a range with an offset and for two dimensions", function()
    assert.equal("true\ttrue\tnone\n", with_caches [[
      local y = lze.buffer("float", 70000)
      local one = {100, group = 16, offset = 7}
      local two = {70000, 1, group = {8, 1}}
      local a, b = saxpy:prepare(one), saxpy:prepare(two)
      local before = compiled()
      saxpy(one, 1, y, y)
      saxpy(two, 1, y, y)
      lze.wait()
      print(a, b, compiled() == before and "none")]])
  end)

  it("compiles in the background while launches go on", function()
    assert.equal("true\t5.0\tnone\t6.0\ttrue\n", with_caches [[
      local n = 100003
      local x, y = lze.buffer("float", n):fill(1), lze.buffer("float", n)
      saxpy({n, group = 64}, 5, x, y)
      lze.wait()
      local launch, options = {n, group = 32}, {background = true}
      local before = compiled()
      local begun = saxpy:prepare(launch, options, 6, x, y)
      await(before + 1, function()
        saxpy({n, group = 64}, 0, x, y)
        lze.wait()
      end)
      local five = y[n]
      saxpy:prepare(launch)
      before = compiled()
      saxpy(launch, 1, x, y)
      lze.wait()
      print(begun, five, compiled() == before and "none", y[n],
        saxpy:prepare(launch, options))]])
  end)

  it("is done by graphs while the script goes on", function()
    assert.equal("compiled\t3.0\n", with_caches [[
      local x = lze.buffer("float", 4096):fill(1)
      local y = lze.buffer("float", 4096):fill(1)
      lze.wait()
      local g = lze.graph "ahead"
      g:task("saxpy", saxpy, {4096, group = 16}, 2, x, y)
      local before = compiled()
      local plan = g:compile()
      await(before + 1)
      saxpy:prepare {4096, group = 16} -- which waits until that is over
      local now = compiled()
      plan:run()
      print(now > before and compiled() == now and "compiled", y[4096])]])
  end)

  it("runs nothing", function()
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", {1, 2, 3})
    local launches = lze.stats().launches
    if not compiles then pending "nothing is compiled for a group size" end
    assert.is_true(mod.add:prepare(3, x, 10))
    assert.is_true(mod.add:prepare({3, group = 3}, x, 10))
    assert.is_false(x:pending())
    assert.same({1, 2, 3}, x:read())
    assert.equal(launches, lze.stats().launches)
    assert.is_true(mod.add:prepare(0))
    assert.is_true(mod.add:prepare(0, {background = true}))
  end)

  it("is helped by a build server that starts before a new source compiles",
    function()
    local out = process.output([[
      local lze = require "lze"
      local source = ("kernel void k(global int *x) { *x = %d; }"):format(
        os.time())
      for i = 1, 2 do
        lze.compile(source)
        io.stderr:write("compiled\n")
      end]], {env = {LZE_LOG = "calls"}})
    local order = {}
    for line in out:gmatch "[^\n]+" do
      local name = line == "compiled" and line or
        line:match "zoclDriverExpectModule" or line:match "zeModuleCreate"
      if name then order[#order + 1] = name end
    end
    assert.equal("zoclDriverExpectModule zeModuleCreate compiled " ..
      "zeModuleCreate compiled", table.concat(order, " "))
  end)

  it("fails with the error of a launch", function()
    if not compiles then pending "nothing is compiled for a group size" end
    local out = process.output([[
      local lze = require "lze"
      local saxpy = lze.load "saxpy".saxpy
      local x, files = lze.buffer("float", 4), {}
      local whole = {4, group = 4}
      while true do
        local file = io.open "/dev/null"
        if not file then break end
        files[#files + 1] = file
      end
      local _, one = pcall(saxpy.prepare, saxpy, whole, 1, x, x)
      local _, two = pcall(saxpy, whole, 1, x, x)
      for _, file in ipairs(files) do file:close() end
      print(one.call, one.code == two.code, one.message == two.message)
      print(two.message)]], {before = "ulimit -n 100"})
    assert.equal("zoclKernelPrepare\ttrue\ttrue\nfewer than 40 file " ..
      "descriptors are free: PoCL could not compile and would abort\n", out)
  end)

  it("checks its arguments as a launch does", function()
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", 3)
    assert.equal("kernel add: no global size",
      expect.misuse(function() mod.add:prepare() end))
    assert.equal("kernel add: 2 arguments (x, n) expected, got 1",
      expect.misuse(function() mod.add:prepare(3, x) end))
    assert.matches("^kernel add: argument 2 %(n%): int expected",
      expect.misuse(function() mod.add:prepare(3, x, "y") end))
    assert.equal("unknown key 'later' in prepare option (known: background)",
      expect.misuse(function()
        mod.add:prepare(3, {later = true})
      end))
    assert.equal("option background: boolean expected, got integer 1",
      expect.misuse(function() mod.add:prepare(3, {background = 1}) end))
    assert.equal("kernel add: group: 0 is outside 1..4294967295",
      expect.misuse(function() mod.add:prepare {3, group = 0} end))
    local k = lze.load "kernels/spec.spv".add
    k:close()
    assert.equal("kernel add is closed",
      expect.misuse(function() k:prepare(3) end))
  end)

  it("builds the same code in the build server and in the program", function()
    if not compiles then pending "nothing is compiled for a group size" end
    local codes = {}
    for _, seconds in ipairs {"60", "0"} do
      process.with_directory(function(dir)
        codes[#codes + 1] = process.output(([==[
          local lze = require "lze"
          local k = lze.compile([[
            kernel void f(global float4 *a, global int *n) {
              size_t i = get_global_id(0);
              float4 x = a[i];
              int4 e;
              x += sin(x) + pow(x, cbrt(x)) + erf(x) + lgamma(fabs(x));
              x += frexp(x, &e) + normalize(x) * dot(x, x.wzyx);
              a[i] = mix(x, fmod(x, exp10(x)), smoothstep(x, x + 1, x));
              n[i] = popcount(n[i]) + mul_hi(n[i], e.x) + rotate(n[i], e.y);
            }]]).f
          if os.getenv "LZE_BUILD_SECONDS" == "0" then
            k({1024, group = 64}, lze.buffer("float", 4096),
              lze.buffer("int", 1024))
            lze.wait()
          else
            k:prepare {1024, group = 64}
          end
          os.execute [[
            cd '%s/pocl' && find . -path '*/64-1-1*' -name '*.so' |
              sort | xargs cksum]] ]==]):format(dir),
          {env = {POCL_CACHE_DIR = dir .. "/pocl", XDG_CACHE_HOME = dir,
                  LZE_BUILD_SECONDS = seconds}, seconds = 120})
      end)
    end
    assert.matches("64%-1%-1.*%.so", codes[1])
    assert.equal(codes[2], codes[1])
  end)
end)
