-- collector.lua - sets the parameters of the collector in Lua 5.4 and 5.5.
-- SPDX-License-Identifier: MIT
--
-- Returns a function with the arguments of collectgarbage in 5.4:
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
  set("stepmul", second)
  if not stepsize then return end
  -- A step of 5.5 is at most about 2^18 bytes, but with stepmul 0 each step is
  -- a whole cycle; so is a step of less than a word.
  if stepsize > 18 then set("stepmul", 0) end
  set("stepsize", 1 << math.max(stepsize, 5))
end
