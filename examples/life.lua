-- life.lua - Conway's game of life on a torus, with a kernel that is a Lua
-- function, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/life.lua [GENERATIONS [WIDTH HEIGHT]]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local generations = math.tointeger(tonumber(arg[1] or 100))
local width = math.tointeger(tonumber(arg[2] or 72))
local height = math.tointeger(tonumber(arg[3] or 40))
local function is(n, most) return n and n >= 1 and n <= most end
if not is(generations, 1000000) or not is(width, 16384) or
    not is(height, 16384) or #arg == 2 or arg[4] then
  io.stderr:write(
    "usage: lua5.4 examples/life.lua [GENERATIONS [WIDTH HEIGHT]]\n",
    "each size is a whole number from 1 to 16384\n")
  os.exit(1)
end

-- Computes one cell of the next generation; 1 is alive.
local function cell(x, y, now, next)
  local left, right = (x - 2) % width, x % width
  local neighbours = 0
  for dy = -1, 1 do
    local row = (y - 1 + dy) % height * width + 1
    neighbours = neighbours + now[row + left] + now[row + right]
    if dy ~= 0 then neighbours = neighbours + now[row + x - 1] end
  end
  local at = (y - 1) * width + x
  if neighbours == 3 or neighbours == 2 and now[at] == 1 then
    next[at] = 1
  else
    next[at] = 0
  end
end

-- An R-pentomino in the middle: five cells that keep changing for a long time.
local start = {}
for i = 1, width * height do start[i] = 0 end
for _, at in ipairs { { 1, 0 }, { 2, 0 }, { 0, 1 }, { 1, 1 }, { 1, 2 } } do
  local x, y = (width // 2 + at[1]) % width, (height // 2 + at[2]) % height
  start[y * width + x + 1] = 1
end

local life = lze.kernel(cell, { name = "life" })
local now <close> = lze.buffer("uchar", start)
local next <close> = lze.buffer("uchar", width * height)
life:launch({ width, height }, now, next):wait() -- compiles the kernel
local began, ended
for generation = 1, generations do
  local from, to = now, next
  if generation % 2 == 0 then from, to = next, now end
  ended = life:launch({ width, height }, from, to)
  began = began or ended
end
local last = generations % 2 == 1 and next or now
local ms = (ended:time().end_ns - began:time().queued_ns) / 1e6

-- Plain Lua computes as many generations as it can in a moment.
local a, b, checked = table.move(start, 1, #start, 1, {}), {}, 0
local limit = math.max(1, math.min(generations, 400000 // (width * height)))
local since = os.clock()
for _ = 1, limit do
  for y = 1, height do
    for x = 1, width do cell(x, y, a, b) end
  end
  a, b, checked = b, a, checked + 1
end
local lua_ms = (os.clock() - since) * 1e3 * generations / checked
now:write(start)
for generation = 1, checked do
  local from, to = now, next
  if generation % 2 == 0 then from, to = next, now end
  life:launch({ width, height }, from, to)
end
local same = checked % 2 == 1 and next or now
if checked < generations then last = same end
for i, v in ipairs(same:read()) do
  if v ~= a[i] then
    error(("cell %d of generation %d is %d, not %d"):format(i, checked, v,
      a[i]), 0)
  end
end

for y = 1, math.min(height, 40) do
  local row = last:read((y - 1) * width + 1,
    (y - 1) * width + math.min(width, 72))
  for x, v in ipairs(row) do row[x] = v == 1 and "#" or "." end
  print("  " .. table.concat(row))
end
print(("life: %d generations of %dx%d cells on %s"):format(generations, width,
  height, lze.device().name))
print(("  %8.1f ms  the device"):format(ms))
print(("  %8.1f ms  plain Lua%s"):format(lua_ms, checked == generations and ""
  or (", reckoned from %d generations"):format(checked)))
print(("  all cells are as plain Lua has them after %d generations")
  :format(checked))
