-- interrupted.lua - calls that a debug hook interrupts during a wait.
-- SPDX-License-Identifier: MIT

-- Call f(...), in which a hook raises an error.  The hook first calls `before`
-- unless it is nil.
return function(before, f, ...)
  local calls = 0
  debug.sethook(function()
    calls = calls + 1
    if calls > 20 then
      debug.sethook()
      if before then before() end
      error("interrupted!", 0)
    end
  end, "", 1000)
  local ok, err = pcall(f, ...)
  debug.sethook()
  assert(not ok and err == "interrupted!", err)
end
