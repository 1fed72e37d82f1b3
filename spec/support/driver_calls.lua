-- driver_calls.lua - how often scripts call entry points of the driver.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- Run a script with a driver that counts, under these rules of ze_fault.c, and
-- those that it writes into the file that ZE_FAULT_CONTROL names.  Returns the
-- number of calls by name, and for how many events its commands wait.
local function driver_calls(script, rules)
  local build = os.getenv "LZE_TEST_BUILD" or "build"
  local count, waits = {}, nil
  process.with_directory(function(dir)
    process.output(script, {seconds = 300, env = {
      ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
      ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
      ZE_FAULT = rules or "",
      ZE_FAULT_CONTROL = dir .. "/rules",
      ZE_FAULT_REPORT = dir .. "/report",
      -- The layer's own calls would be counted, too.
      ZE_ENABLE_VALIDATION_LAYER = false,
    }})
    for line in io.lines(dir .. "/report") do
      local name, n = line:match "^(ze%w+): (%d+) calls"
      if name then count[name] = tonumber(n) end
      waits = tonumber(line:match "^waits: (%d+)") or waits
    end
  end)
  return count, waits
end

return driver_calls
