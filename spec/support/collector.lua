-- collector.lua - how the collector works, set alike in Lua 5.4 and 5.5.
-- SPDX-License-Identifier: MIT
--
-- A function with the arguments that collectgarbage has in 5.4:
--
--   collector("incremental", pause, stepmul, stepsize)
--   collector("generational", minor, major)

if _VERSION == "Lua 5.4" then return collectgarbage end

local function set(name, value)
  if value then collectgarbage("param", name, value) end
end

return function(mode, first, second, stepsize)
  collectgarbage(mode)
  if mode == "generational" then
    set("minormul", first)
    set("minormajor", second)
    return
  end
  set("pause", first)
  -- Steps of 5.5 end at some 2^18 bytes; with 0, each is a whole cycle.
  set("stepmul", stepsize and stepsize > 18 and 0 or second)
  set("stepsize", stepsize and 1 << stepsize)
end
