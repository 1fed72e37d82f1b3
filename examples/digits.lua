-- digits.lua - handwriting of a kind: a small neural network learns to tell
-- digits in plain Lua and reads thousands of them by a task graph.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/digits.lua [IMAGES]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"
local progress = dofile(here .. "lib/progress.lua")

local images = math.tointeger(tonumber(arg[1] or 20000))
if arg[2] or not images or images < 100 or images > 1000000 then
  io.stderr:write("usage: lua5.4 examples/digits.lua [IMAGES]\n" ..
    "IMAGES are 100 to 1000000", "\n")
  os.exit(1)
end

-- Digits of 5 x 7 points, written somewhere on 10 x 10, more or less strongly,
-- on dirty paper.
local shapes = dofile(here .. "lib/glyphs.lua")
local SIDE <const>, INPUTS <const> = 10, 100
local HIDDEN <const>, DIGITS <const> = 24, 10

local seed = 42
local function random()
  seed = seed * 16807 % 2147483647
  return seed / 2147483647
end

local function write_digit(digit)
  local image, shape = {}, shapes[digit + 1]
  for i = 1, INPUTS do image[i] = 0.25 * random() end
  local dx, dy = math.floor(6 * random()), math.floor(4 * random())
  local strength = 0.6 + 0.4 * random()
  for y = 0, 6 do
    for x = 0, 4 do
      if shape:byte(y * 5 + x + 1) == 35 then
        local at = (y + dy) * SIDE + x + dx + 1
        image[at] = math.min(1, strength + image[at])
      end
    end
  end
  return image
end

-- Learning: plain stochastic gradient descent, in ever smaller steps.
local w1, b1, w2, b2 = {}, {}, {}, {}
for i = 1, INPUTS * HIDDEN do w1[i] = 0.3 * (random() - 0.5) end
for i = 1, HIDDEN * DIGITS do w2[i] = 0.6 * (random() - 0.5) end
for i = 1, HIDDEN do b1[i] = 0 end
for i = 1, DIGITS do b2[i] = 0 end

local function think(image)
  local hidden, out = {}, {}
  for h = 1, HIDDEN do
    local sum = b1[h]
    for i = 1, INPUTS do sum = sum + image[i] * w1[(i - 1) * HIDDEN + h] end
    hidden[h] = sum > 0 and sum or 0
  end
  for d = 1, DIGITS do
    local sum = b2[d]
    for h = 1, HIDDEN do sum = sum + hidden[h] * w2[(h - 1) * DIGITS + d] end
    out[d] = sum
  end
  return hidden, out
end

local function learn(image, digit, rate)
  local hidden, out = think(image)
  local greatest, total, back = math.max(table.unpack(out)), 0, {}
  for d = 1, DIGITS do
    out[d] = math.exp(out[d] - greatest)
    total = total + out[d]
  end
  for d = 1, DIGITS do
    out[d] = rate * (out[d] / total - (d - 1 == digit and 1 or 0))
  end
  for h = 1, HIDDEN do
    local sum = 0
    for d = 1, DIGITS do
      local at = (h - 1) * DIGITS + d
      sum = sum + out[d] * w2[at]
      w2[at] = w2[at] - out[d] * hidden[h]
    end
    back[h] = hidden[h] > 0 and sum or 0
    b1[h] = b1[h] - back[h]
  end
  for d = 1, DIGITS do b2[d] = b2[d] - out[d] end
  for i = 1, INPUTS do
    local v, at = image[i], (i - 1) * HIDDEN
    for h = 1, HIDDEN do w1[at + h] = w1[at + h] - v * back[h] end
  end
end

local lessons = 10000
for i = 1, lessons do
  local digit = i % DIGITS
  learn(write_digit(digit), digit, 0.08 * (1 - i / lessons) + 0.005)
  if i % 100 == 0 then progress("learning: %d of %d", i, lessons) end
end
progress()

-- Reading.
local module = lze.load "network"
local input <close> = lze.buffer("float", images * INPUTS)
local read <close> = lze.buffer("uchar", images)
local weight1 <close> = lze.buffer("float", w1)
local bias1 <close> = lze.buffer("float", b1)
local weight2 <close> = lze.buffer("float", w2)
local bias2 <close> = lze.buffer("float", b2)

-- A thousand images, repeated as often as necessary.
local some = {}
for i = 1, math.min(images, 1000) do some[i] = write_digit(i % DIGITS) end
for i = 1, images do
  input:write(some[(i - 1) % #some + 1], (i - 1) * INPUTS + 1)
end

local g = lze.graph "digits"
local hidden = g:buffer("float", images * HIDDEN)
local out = g:buffer("float", images * DIGITS)
g:input(input, "every")
for _, x in ipairs {weight1, bias1, weight2, bias2} do g:input(x, "first") end
g:task("hidden", module.layer, {HIDDEN, images}, input, weight1, bias1, hidden,
  INPUTS, HIDDEN, 1)
g:task("out", module.layer, {DIGITS, images}, hidden, weight2, bias2, out,
  HIDDEN, DIGITS, 0)
g:task("largest", module.largest, images, out, read, DIGITS)
g:output(read, "every")
local plan <close> = g:compile {profile = true}

plan:run() -- the device compiles kernels at their first launch
local event = plan:start()
event:wait()
local time = event:time()
local ms = (time.end_ns - time.queued_ns) / 1e6

-- Plain Lua reads the thousand.  If two digits are equally likely except for
-- rounding, both answers are accepted.
local answers, right = read:read(), 0
local start = os.clock()
for i, image in ipairs(some) do
  local _, likely = think(image)
  local greatest = math.max(table.unpack(likely))
  if greatest - likely[answers[i] + 1] > 1e-3 then
    error(("image %d was read as %d"):format(i, answers[i]), 0)
  end
end
local lua_ms = (os.clock() - start) * 1e3 * images / #some
for i, digit in ipairs(answers) do
  if digit ~= answers[(i - 1) % #some + 1] then
    error(("image %d was read as %d"):format(i, digit), 0)
  end
  if digit == ((i - 1) % #some + 1) % DIGITS then right = right + 1 end
end
if right < 0.95 * images then
  error(("only %d of %d were read rightly"):format(right, images), 0)
end

print(("%d digits of %dx%d points on %s"):format(images, SIDE, SIDE,
  lze.device().name))
print(("  %8.1f ms  a run of the plan"):format(ms))
print(("  %8.1f ms  plain Lua, reckoned from %d: %.1f times as long")
  :format(lua_ms, #some, lua_ms / ms))
print(plan:report())
print(("  plain Lua reads them alike; %.1f %% are read rightly")
  :format(100 * right / images))
