-- implicit.lua - a device with several tiles as if it were one.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/multi/implicit.lua
--
-- The driver spreads each launch and its memory over the tiles, without any
-- code in the program.  Best for work with many computations per byte; if tiles
-- wait for each other's memory, tiles.lua is faster.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"

local root = lze.device()
local units = 0
for _, tile in ipairs(root:subdevices()) do
  units = units + tile.compute_units
end

local saxpy = lze.load "saxpy".saxpy
local n <const> = 1000003
local x <close> = lze.buffer("float", n):fill(1)
local y <close> = lze.buffer("float", n)
for _ = 1, 10 do saxpy(n, 0.5, x, y) end

for _, i in ipairs {1, n // 2, n} do assert(y[i] == 5.0) end
print(("implicit: %d results on %d unit%s, of which its tiles have %d"):format(
  n, root.compute_units, root.compute_units == 1 and "" or "s", units))
