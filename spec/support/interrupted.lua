-- interrupted.lua - calls that a debug hook ends in the middle of a wait.
-- SPDX-License-Identifier: MIT

-- Call f with what follows it until a hook raises an error in it; before, if it
-- is not nil, is called in that hook.
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
