-- tiles.lua - all tiles of a device, each with a queue and memory of its own.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/multi/tiles.lua
--
-- The tiles share a context, so one can read what another has written: here
-- each fills a part of the whole and the first adds up all parts.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"

local root = lze.device()
local tiles = root:subdevices()
if #tiles == 0 then tiles = {root} end

local source = [[
  kernel void fill(global int *part, int first) {
    part[get_global_id(0)] = first + (int)get_global_id(0);
  }
  kernel void add(global long *sum, global const int *part, int n) {
    for (int i = 0; i < n; i++) sum[0] += part[i];
  }
]]

local n <const> = 10000 -- for each tile
local parts, filled = {}, {}
for i, tile in ipairs(tiles) do
  local mod = lze.compile(source, {device = tile})
  local q = lze.queue(tile)
  parts[i] = lze.buffer("int", n, {device = tile})
  filled[i] = q:launch(mod.fill, n, parts[i], (i - 1) * n)
end

-- lze runs a launch after the writes that it depends on, even across queues.
local add = lze.compile(source, {device = tiles[1]}).add
local sum = lze.buffer("long", {0}, {device = tiles[1]})
for _, part in ipairs(parts) do add(1, sum, part, n) end

local total = n * #tiles
assert(sum[1] == total * (total - 1) // 2, "a wrong sum")
for _, ev in ipairs(filled) do assert(ev:done()) end
print(("tiles: %d tile%s, a sum of %d"):format(#tiles,
  #tiles == 1 and "" or "s", sum[1]))
