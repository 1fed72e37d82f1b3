-- kmeans.lua - points gathered round their centres by a task graph that runs
-- again and again; checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/kmeans.lua [POINTS [CENTRES]]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local n = math.tointeger(tonumber(arg[1] or 50000))
local k = math.tointeger(tonumber(arg[2] or 8))
if arg[3] or not n or not k or k < 1 or k > 256 or n < k or n > 65536 then
  io.stderr:write("usage: lua5.4 examples/kmeans.lua [POINTS [CENTRES]]\n" ..
    "CENTRES are 1 to 256, POINTS at least as many and at most 65536", "\n")
  os.exit(1)
end
local iterations = 20

-- Clouds around k places; coordinates are whole numbers below 32768, so that
-- sums of 65536 of them fit in 32 bits.
local seed = 7
local function random(most)
  seed = seed * 16807 % 2147483647
  return seed % most
end
local places, points = {}, {}
for c = 1, k do places[c] = {4000 + random(24000), 4000 + random(24000)} end
for i = 1, n do
  local place = places[i % k + 1]
  points[i] = {place[1] + random(3000) + random(3000) - 3000,
    place[2] + random(3000) + random(3000) - 3000}
end
-- The first points are as good a guess as any.
local guesses = table.move(points, 1, k, 1, {})

local module = lze.load "kmeans"
local point <close> = lze.buffer("int2", points)
local centre <close> = lze.buffer("int2", guesses)
local nearest <close> = lze.buffer("int", n)

local g = lze.graph "kmeans"
local sums = g:buffer("int", 3 * k)
g:input(point, "first")
g:fill("zero", sums, 0)
g:task("assign", module.assign, n, point, centre, k, nearest, sums)
g:task("move", module.move, k, centre, sums)
g:output(nearest, "every"):output(centre, "every")
local plan <close> = g:compile()

plan:run() -- the first run compiles, and is the first iteration
local second = plan:start()
local last = plan:start {iterations = iterations - 2}
local ms = (last:time().end_ns - second:time().queued_ns) / 1e6
  / (iterations - 1)

local began = os.clock()
local cx, cy, mine = {}, {}, {}
for c = 1, k do cx[c], cy[c] = guesses[c][1], guesses[c][2] end
for _ = 1, iterations do
  local sx, sy, count = {}, {}, {}
  for c = 1, k do sx[c], sy[c], count[c] = 0, 0, 0 end
  for i, p in ipairs(points) do
    local best, least = 0, math.huge
    for c = 1, k do
      local dx, dy = p[1] - cx[c], p[2] - cy[c]
      local distance = dx * dx + dy * dy
      if distance < least then best, least = c, distance end
    end
    mine[i] = best - 1
    sx[best], sy[best] = sx[best] + p[1], sy[best] + p[2]
    count[best] = count[best] + 1
  end
  for c = 1, k do
    if count[c] > 0 then
      cx[c], cy[c] = sx[c] // count[c], sy[c] // count[c]
    end
  end
end
local lua_ms = (os.clock() - began) * 1e3 / iterations

for i, c in ipairs(nearest:read()) do
  if c ~= mine[i] then
    error(("point %d belongs to centre %d, not %d"):format(i, c, mine[i]), 0)
  end
end
for c, at in ipairs(centre:read()) do
  if at[1] ~= cx[c] or at[2] ~= cy[c] then
    error(("centre %d is at %d, %d, not %d, %d"):format(c - 1, at[1], at[2],
      cx[c], cy[c]), 0)
  end
end

print(("%d points round %d centres, %d iterations, on %s"):format(n, k,
  iterations, lze.device().name))
print(("  %8.2f ms  an iteration"):format(ms))
print(("  %8.2f ms  plain Lua: %.1f times as long"):format(lua_ms,
  lua_ms / ms))
print "  every point and centre is where plain Lua says"
