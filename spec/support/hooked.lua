-- hooked.lua - calls in which a debug hook raises an error at each instruction.
-- SPDX-License-Identifier: MIT

local assert = require "luassert"
local sethook, pcall = debug.sethook, pcall -- busted looks up globals

-- Call f again and again, with an error from a hook at its first Lua
-- instruction, its second and so on, until a call succeeds.  Each call must
-- raise the error of the hook, a string or a table.  Returns the number of
-- calls.
return function(f)
  local times
  for _, raised in ipairs {"mine", {where = "here"}} do
    local ok
    times = 0
    repeat
      local err
      times = times + 1
      ok, err = pcall(function()
        sethook(function() sethook() error(raised, 0) end, "", times)
        f()
        sethook()
      end)
      if not ok then assert.equal(raised, err) end
    until ok
    if type(raised) == "table" then assert.same({where = "here"}, raised) end
  end
  return times
end
