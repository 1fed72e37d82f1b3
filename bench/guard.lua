-- guard.lua - cold calls beside many live tables, for bench/instructions.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/guard.lua guarded|bare COUNT
--
-- "bare" calls the guarded function directly: the guard's upvalue.

local lze = require "lze"

local call = lze.graph
if arg[1] == "bare" then
  local _, inner = debug.getupvalue(call, 1)
  call = assert(inner, "lze.graph is not guarded")
end
local live = {}
for i = 1, 300000 do live[i] = {i} end
for _ = 1, arg[2] do call "g" end
assert(#live == 300000)
