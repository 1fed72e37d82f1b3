-- driver_calls.lua - counts a script's calls of the driver's entry points.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- Run a script with a driver that counts, under these rules of ze_fault.c and
-- the rules that the script writes to the file $ZE_FAULT_CONTROL.  Returns the
-- number of calls by name, and the number of events that its commands wait for.
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
      -- The layer's own calls would be counted too.
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
