-- picture_of_closed_spec.lua - if a finalizer closed the buffer of an array
-- while a:save allocated memory for its picture, the process crashed.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

it("a:save of a picture reports that a finalizer closed the buffer", function()
  process.with_directory(function(dir)
    assert.equal("over\n", process.output(([[
      local lze = require "lze"
      local path = %q
      local armed, left, buffer
      local mt = {__gc = function()
        if not armed then return end
        left = left - 1
        if left <= 0 then
          armed = false
          buffer:close()
        end
      end}
      for n = 1, 40 do
        local a = lze.array.zeros({512, 512}, {type = "uchar"}):eval()
        buffer = a.buffer
        for _ = 1, 1000 do setmetatable({}, mt) end
        require "spec.support.collector" ("incremental", 10, 1000, 1)
        armed, left = true, n
        local ok, err = pcall(a.save, a, path)
        armed = false
        assert(ok or err:find "the %%a+ is closed$", err)
      end
      print "over"]]):format(dir .. "/a.png")))
  end)
end)
