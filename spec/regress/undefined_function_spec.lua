-- undefined_function_spec.lua - a kernel that calls an undefined function does
-- no harm to the other kernels of its module.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local driver_calls = require "spec.support.driver_calls"

describe("an undefined function", function()
  local source = [[
    int other(int); int more(int);
    int between(int i) { return i > 3 ? more(i) : between(i + 1); }
    __attribute__((noinline)) int twice(int i) { return 2 * i; }
    kernel void calls(global int *x) { x[0] = other(1); }
    kernel void reaches(global int *x) { x[0] = between(1); }
    kernel void fine(global int *x) { x[0] = twice(21); }]]

  it("is named when the module is created, and by the kernel", function()
    local mod = lze.compile(source)
    table.sort(mod.warnings)
    assert.same({"kernel calls calls other, which is not defined",
      "kernel reaches calls more, which is not defined"}, mod.warnings)
    local ok, err = pcall(function() return mod.reaches end)
    assert.same({false, "zeKernelCreate"}, {ok, err.call})
    assert.matches("it calls more, which is not defined", tostring(err))
    assert.same({"calls", "reaches", "fine"}, mod:kernels())
  end)

  it("does not affect the other kernels, even from the cache", function()
    for _ = 1, 2 do
      local mod, x = lze.compile(source), lze.buffer("int", 1)
      mod.fine(1, x)
      assert.equal(42, x[1])
      assert.equal(2, #mod.warnings)
      mod:close()
    end
  end)

  it("is looked for once, not in each process", function()
    local new = os.time() % 1000000 -- not in any cache
    local program = ([[
      local lze = require "lze"
      local mod, x = lze.compile [=[%s]=], lze.buffer("int", 1)
      mod.fine({1, group = 1}, x)
      assert(x[1] == 2 * %d and #mod.warnings == 2)]]):format(
      (source:gsub("21", new)), new)
    local function builds(rules)
      return driver_calls(program, rules).zeModuleCreate
    end
    -- Without a log, the build may have failed for any reason.
    assert.equal(2, builds "fail zeModuleBuildLogGetString 0 0x78000001")
    assert.same({2, 1}, {builds(), builds()})
  end)

  it("is an error if no kernel works without it", function()
    local ok, err = pcall(lze.compile,
      "int other(int); kernel void f(global int *x) { x[0] = other(1); }")
    assert.same({false, "ERROR_MODULE_LINK_FAILURE", "zeModuleCreate"},
      {ok, err.code, err.call})
    assert.matches("other is called and not defined", tostring(err), 1, true)
  end)
end)

describe("a cache entry that PoCL writes and cannot read", function()
  it("causes an error and does not end the process", function()
    local name = "_Z25_cl_async_work_group_copyPU7CLlocaliPU8CLglobalKim" ..
      "9ocl_event"
    local ok, err = pcall(function()
      local mod = lze.compile(([[
        event_t copy(local int *, const global int *, size_t, event_t)
          __asm("%s");
        kernel void f(global int *x, local int *t) {
          event_t e = copy(t, x, 8, 0);
          wait_group_events(1, &e);
          x[get_local_id(0)] = t[7 - get_local_id(0)];
        }]]):format(name))
      local x = lze.buffer("int", {1, 2, 3, 4, 5, 6, 7, 8})
      mod.f({8, group = 8}, x, lze.local_bytes(32))
      assert.same({8, 7, 6, 5, 4, 3, 2, 1}, x:read())
    end)
    if not ok then
      assert.matches("is called and not defined", tostring(err))
    end
  end)
end)
