-- cards.lua - several devices: a pipeline by hand, then a range split by speed.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/multi/cards.lua
--
-- Device memory of one card is copied to the next explicitly.  If a card cannot
-- reach the other's memory, lze copies through host memory.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"

local cards = {}
for _, dev in ipairs(lze.devices()) do -- cards that share a driver
  if dev.driver == lze.device().driver then cards[#cards + 1] = dev end
end

-- Each card adds to the result of the card before.
local n <const> = 50000
local previous
for i, card in ipairs(cards) do
  local saxpy = lze.load("saxpy", {device = card}).saxpy
  local ones = lze.buffer("float", n, {device = card, usage = "device"})
  local sum = lze.buffer("float", n, {device = card, usage = "device"})
  ones:fill(1)
  if previous then sum:copy(previous) end
  saxpy(n, i, ones, sum)
  previous = sum
end
local expected = #cards * (#cards + 1) / 2
for _, v in ipairs(previous:read()) do assert(v == expected) end

-- One range over all cards; each writes its own part of y.
local saxpy = lze.load "saxpy".saxpy
local x = lze.buffer("float", n):fill(2)
local y = lze.buffer("float", n)
local total = 0
for _ = 1, 3 do -- the first run has no measurements yet
  total = 0
  for _, part in ipairs(lze.parallel(cards, n, saxpy, 1.0, lze.slice(x),
    lze.slice(y))) do
    total = total + part.count
  end
end
for _, v in ipairs(y:read()) do assert(v == 6.0) end
print(("cards: %d device%s, %s after the last, %d work-items split"):format(
  #cards, #cards == 1 and "" or "s", expected, total))
