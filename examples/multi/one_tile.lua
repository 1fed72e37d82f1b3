-- one_tile.lua - the first tile of a device, and nothing else of it.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/multi/one_tile.lua
--
-- For a problem that fits one tile: its memory is the nearest, and nothing must
-- be divided.  A device without tiles is used as its own tile.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"

local root = lze.device()
local tile = root:subdevices()[1] or root
local saxpy = lze.load("saxpy", {device = tile}).saxpy

local n <const> = 100003
local x <close> = lze.buffer("float", n, {device = tile, usage = "device"})
local y <close> = lze.buffer("float", n, {device = tile, usage = "device"})
x:fill(2)
saxpy(n, 3.0, x, y)

for i, v in ipairs(y:read()) do
  assert(v == 6.0, ("element %d is %s"):format(i, v))
end
print(("one_tile: %d results on %s"):format(n,
  tile.parent and "a tile of the device" or "a device without tiles"))
