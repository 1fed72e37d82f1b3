-- finalizer_in_arguments_spec.lua - for an integer that fits its argument only
-- as unsigned, in a module that does not state whether the argument is signed,
-- lze first created an error message.  This could run a finalizer in the middle
-- of the launch.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

it("a launch that is reading its arguments runs no finalizer", function()
  local out = process.output [[
    local lze = require "lze"
    local file <close> = io.open("kernels/spec.spv", "rb")
    local spirv = lze.spirv.assemble((lze.spirv.disassemble(file:read "a")
      :gsub("[^\n]*OpString[^\n]*kernel_arg_type[^\n]*\n", "")))
    local mod = lze.module(spirv)
    local armed, act
    local mt = {__gc = function()
      if armed then
        armed = nil
        act()
      end
    end}
    require "spec.support.collector" ("incremental", 10, 1000, 1)
    for _, what in ipairs {"launch", "close", "close the kernel"} do
      for n = 1, 60 do
        local x, y, add = lze.buffer("int", 4), lze.buffer("int", 4), mod.add
        act = what == "launch" and function() add(4, y, 7) end or
          what == "close" and function() x:close() end or
          function() add:close() end
        lze.wait()
        for _ = 1, 200 do setmetatable({}, mt) end
        armed = true
        local ok, err = pcall(add, 4, x, 0x80000001)
        armed = nil
        if ok and what ~= "close" then
          assert(x[1] == -0x7fffffff and (y[1] == 0 or y[1] == 7))
        end
        assert(ok or err:find "is closed", err)
        if what == "close the kernel" then mod = lze.module(spirv) end
      end
    end
    print(lze.wait())]]
  assert.equal("true\n", out)
end)
