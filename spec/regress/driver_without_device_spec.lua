-- driver_without_device_spec.lua - if another driver fails to initialise, as
-- Intel's does without its device, loaders wrap handles although zeDriverGet
-- lists only one driver.  The log of a failed build must not be touched then.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("a driver next to one that finds no device", function()
  it("reports a failed build of a source module", function()
    local build = os.getenv "LZE_TEST_BUILD" or "build"
    local out = process.output([[
      local lze = require "lze"
      print(#lze.drivers())
      local _, err = pcall(lze.compile, "kernel void f(global int *a) { oops }",
        {format = "source", signature = "f(int *a)"})
      print(err.call, err.code)
      local x = lze.buffer("int", {1})
      lze.load "kernels/spec.spv".add(1, x, 2)
      print(x[1])]], {env = {
        ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so," .. build ..
          "/libze_opencl.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
        ZE_FAULT = "fail zeInit 0 0x78000001",
        -- The log leaks.
        ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") ..
          ":detect_leaks=0"}})
    assert.equal("1\nzeModuleCreate\tERROR_MODULE_BUILD_FAILURE\n3\n", out)
  end)
end)
