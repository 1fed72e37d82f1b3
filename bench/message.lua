-- message.lua - messages of 8 bytes from a rank to itself, for callgrind.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/message.lua COUNT

local lze, mpi = require "lze", require "lze.mpi"
local world, x = mpi.world(), lze.buffer("uchar", 8)
collectgarbage "stop"
for _ = 1, math.tointeger(tonumber(arg[1])) do
  world:send(x, 0)
  world:recv(x, 0)
end
