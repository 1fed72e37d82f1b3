-- guarded_spec.lua - guarded entry points: when lze makes and uses them.
-- SPDX-License-Identifier: MIT

local linker = require "spec.support.linker"
local lze = require "lze"
local process = require "spec.support.process"

local build <const> = os.getenv "LZE_TEST_BUILD" or "build"
local compiles <const> = lze.load "kernels/saxpy.spv".saxpy:prepare(64)

-- Adds n to each cell of a range; `total` is a variable of the program.
local plain <const> = [[
  kernel void add(global uint *x, uint n) { x[get_global_id(0)] += n; }]]
local shared <const> = [[
  global uint total = 3;
  kernel void add(global uint *x, uint n) {
    x[get_global_id(0)] += n;
    atomic_inc(&total);
  }
  kernel void meet(global uint *x) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    x[get_global_id(0)] += get_global_id(0);
  }
  kernel void take(global uint *out) { *out = total; total = 3; }]]

local function is(expected, x)
  local cells = x:read()
  for i = 1, #cells do assert.equal(expected(i), cells[i], i) end
end

-- Returns a function from a cell to its value: 0 behind the first n cells.
local function first(n, value)
  return function(i) return i <= n and value or 0 end
end

describe("a guarded entry point", function()
  it("is not visible in the properties of a kernel or a module", function()
    local mod = lze.compile(plain)
    local k, x = mod.add, lze.buffer("uint", 100)
    local args, handle = #k.args, k.handle
    local text, native, spirv = tostring(k), mod:native(), mod:spirv()
    k({37, group = 8}, x, 5)
    is(first(37, 5), x)
    assert.equal(args, #k.args)
    assert.equal("n", k.args[2].name)
    assert.equal(handle, k.handle)
    assert.equal(text, tostring(k))
    assert.same({"add"}, mod:kernels())
    assert.is_true(native == mod:native())
    assert.is_true(spirv == mod:spirv())
    assert.matches("there is: add%)",
      select(2, pcall(function() return mod.lze_guarded_add end)))
  end)

  it("gets the right range after a script sets a group through the handle",
    function()
      local k, x = lze.compile(plain).add, lze.buffer("uint", 100)
      assert.truthy(k.handle)
      for n = 31, 33 do
        x:fill(0)
        k({n, group = 8}, x, 2)
        k({n, group = 16, offset = 3}, x, 5)
        is(function(i)
          return (i <= n and 2 or 0) + (i > 3 and i <= n + 3 and 5 or 0)
        end, x)
      end
    end)

  it("is made from the SPIR-V that comes with a native binary", function()
    for _, source in ipairs {plain, shared} do
      local mod = lze.compile(source, {std = "CL2.0"})
      local again = lze.module(mod:native(), {spirv = mod:spirv()})
      local x = lze.buffer("uint", 100)
      again.add({37, group = 8}, x, 5)
      again.add({41, group = 64}, x, 2)
      is(function(i) return i <= 37 and 7 or i <= 41 and 2 or 0 end, x)
    end
  end)

  it("shares a module with kernels that have no guarded form", function()
    local mod = lze.compile(shared, {std = "CL2.0"})
    local x, out = lze.buffer("uint", 100), lze.buffer("uint", 1)
    mod.add({37, group = 8}, x, 5)
    mod.take(1, out)
    assert.equal(3 + 37, out[1])
    is(first(37, 5), x)
    x:fill(0)
    mod.meet({64, group = 16}, x)
    is(function(i) return i <= 64 and i - 1 or 0 end, x)
  end)

  it("runs if another kernel of the module calls an undefined function",
    function()
      for _, head in ipairs {"", "global uint total = 3;"} do
        local counts = head ~= ""
        local mod = lze.compile(head .. [[
          uint missing(uint n);
          kernel void broken(global uint *x) { *x = missing(1); }
          kernel void fine(global uint *x) {
            x[get_global_id(0)] += 4;]] ..
          (counts and "atomic_inc(&total);" or "") .. "}" ..
          (counts and "kernel void take(global uint *x) { *x = total; }" or ""),
          {std = "CL2.0"})
        local x = lze.buffer("uint", 100)
        mod.fine({37, group = 8}, x)
        is(first(37, 4), x)
        if counts then
          mod.take(1, x)
          assert.equal(3 + 37, x[1])
        end
      end
    end)

  it("runs to its end after its module and its kernel are closed", function()
    local x = lze.buffer("uint", 1 << 16)
    for _ = 1, 5 do
      local mod = lze.compile(plain)
      local k = mod.add
      x:fill(0)
      for _ = 1, 20 do k({(1 << 16) - 3, group = 64}, x, 1) end
      k({37, group = 8}, x, 1)
      mod:close()
      k:close()
      lze.wait()
      assert.equal(21, x[1])
      assert.equal(20, x[(1 << 16) - 3])
      assert.equal(0, x[(1 << 16) - 2])
    end
  end)

  -- Runs a script in a process with its own caches (see linker.output), which
  -- has saxpy, x and y, and has compiled what the first launches need.
  local function with_caches(script)
    if not compiles then pending "nothing is compiled for a group size" end
    return linker.output([[
      local saxpy = lze.load "kernels/saxpy.spv".saxpy
      local x, y = lze.buffer("float", 100000):fill(1),
        lze.buffer("float", 100000)
      saxpy({8, group = 8}, 1, x, y)
      saxpy({7, group = 8}, 1, x, y)
      lze.wait()]] .. script, 120)
  end

  -- PoCL itself compiles once more for more than 65535 work-items.
  for what, range in pairs {
    ["short ranges"] = "i * i * 6 + i", ["long ranges"] = "70000 + i * 37",
  } do
    it("costs " .. what .. " at most one compilation", function()
      assert.equal("true\n", with_caches(([[
        local before = compiled()
        for i = 1, 100 do saxpy({%s, group = 64}, 1, x, y) end
        lze.wait()
        print(compiled() - before <= 2)]]):format(range)))
    end)
  end

  it("is compiled by k:prepare when the range needs it", function()
    assert.equal("3\t0\t7.0\n1\t0\t7.0\n", with_caches [[
      -- Whole groups and an edge; then only an edge of another group.
      for _, launch in ipairs {{70001, group = 64}, {21, group = 32}} do
        y:fill(0)
        lze.wait()
        local n, a = launch[1], compiled()
        saxpy:prepare(launch, 7, x, y)
        local b = compiled()
        saxpy(launch, 7, x, y)
        lze.wait()
        print(b - a, compiled() - b, y[n])
      end]])
  end)

  it("fails the launch if it cannot be built, and the error names the kernel",
    function()
      process.with_directory(function(dir)
        local out = process.output([[
          local lze = require "lze"
          local function faults(rules)
            local file <close> = assert(io.open(os.getenv "ZE_FAULT_CONTROL",
              "w"))
            file:write(rules)
          end
          local k = lze.load "kernels/saxpy.spv".saxpy
          local x, y = lze.buffer("float", 64):fill(1), lze.buffer("float", 64)
          lze.wait()
          for _, call in ipairs {"zeModuleCreate", "zeKernelCreate"} do
            faults("fail " .. call .. " 0 0x70000003")
            local ok, err = pcall(k, {37, group = 8}, 2, x, y)
            print(ok, err.call, err.code, err)
            print(pcall(k, {64, group = 8}, 2, x, y)) -- needs no guard
            faults ""
          end
          k({37, group = 8}, 3, x, y)
          lze.wait()
          print(y[1], y[37], y[38])
        ]], {env = {
          ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
          ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
          ZE_FAULT_CONTROL = dir .. "/rules",
          ZE_ENABLE_VALIDATION_LAYER = false,
          XDG_CACHE_HOME = dir,
        }, before = (": >'%s/rules'"):format(dir)})
        assert.matches("false\tzeModuleCreate\t[%u_]+\t[^\n]*kernel saxpy", out)
        assert.matches("false\tzeKernelCreate\t[%u_]+\t[^\n]*kernel saxpy", out)
        assert.matches("\n7.0\t7.0\t4.0\n$", out)
      end)
    end)
end)
