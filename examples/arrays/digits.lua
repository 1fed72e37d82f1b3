-- digits.lua - a small neural network that learns to tell digits, in whole
-- arrays; checked by the number of unseen digits that it reads, and its
-- gradient against differences.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/digits.lua [STEPS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local steps = math.tointeger(tonumber(arg[1] or 150))
if arg[2] or not steps or steps < 1 then
  io.stderr:write("usage: lua5.4 examples/arrays/digits.lua [STEPS]\n" ..
    "STEPS are at least 1", "\n")
  os.exit(1)
end

-- Digits of 5 x 7 points, written somewhere on 10 x 10, more or less strongly,
-- on dirty paper.
local shapes = dofile(here .. "../lib/glyphs.lua")
local SIDE <const>, HIDDEN <const>, DIGITS <const> = 10, 32, 10

-- All digits in all places: {digits * places, points}.
local clean, kinds = {}, {}
for digit, shape in ipairs(shapes) do
  for place = 0, 5 * 3 - 1 do
    local image = {}
    for i = 1, SIDE * SIDE do image[i] = 0 end
    for y = 0, 6 do
      for x = 0, 4 do
        local at = (y + place // 5) * SIDE + x + place % 5 + 1
        if shape:byte(y * 5 + x + 1) == 35 then image[at] = 1 end
      end
    end
    clean[#clean + 1], kinds[#kinds + 1] = image, digit
  end
end
clean, kinds = A("float", clean), A("long", kinds)

-- Returns n images, {n, points}, and the digit of each, {n}.
local function write_digits(n)
  local which = A.randint({n}, 1, #kinds)
  local strength = A.rand {n, 1} * 0.4 + 0.6
  return (clean:take(which, 1) * strength +
    A.rand {n, SIDE * SIDE} * 0.25):eval(), kinds:take(which)
end

A.seed(42)
local numbers = A.arange(DIGITS)
local function weights(n, m)
  return A.randn({n, m}):set(A.randn {n, m} * (1 / math.sqrt(n)))
end
local net = {w1 = weights(SIDE * SIDE, HIDDEN), b1 = A.zeros {HIDDEN},
  w2 = weights(HIDDEN, DIGITS), b2 = A.zeros {DIGITS}}

-- Returns the hidden layer, and the probability of each digit for each image,
-- {n, digits}.
local function think(images)
  local hidden = (images:mm(net.w1) + net.b1):max(0):eval()
  local out = hidden:mm(net.w2) + net.b2
  local e = (out - out:max {dim = 2, keep = true}):exp():eval()
  return hidden, e / e:sum {dim = 2, keep = true}
end

-- Returns the loss and its gradient.
local function learn(images, digits)
  local n = #images
  local hidden, likely = think(images)
  local truth = digits:reshape {n, 1}:eq(numbers)
  local loss = (truth * likely:log()):sum():item() / -n
  local out = ((likely - truth) / n):eval()
  local back = (out:mm(net.w2:t()) * hidden:gt(0)):eval()
  return loss, {w1 = images:t():mm(back), b1 = back:sum {dim = 1},
    w2 = hidden:t():mm(out), b2 = out:sum {dim = 1}}
end

local images, digits = write_digits(128)
local loss, gradient = learn(images, digits)
-- The gradient predicts the effect of a small change.
for name, index in pairs {w1 = {34, 5}, b1 = {3}, w2 = {7, 4}, b2 = {2}} do
  local w = net[name]
  local old, h = w[index], 0.02
  w[index] = old + h
  local more = learn(images, digits)
  w[index] = old - h
  local less = learn(images, digits)
  w[index] = old
  local expected, slope = (more - less) / (2 * h), gradient[name][index]
  if math.abs(expected - slope) > 2e-3 + 0.05 * math.abs(expected) then
    error(("the gradient of %s is %g, not %g"):format(name, slope, expected), 0)
  end
end

local first = loss
for _ = 1, steps do
  images, digits = write_digits(128)
  loss, gradient = learn(images, digits)
  for name, w in pairs(net) do w:set(w - 0.5 * gradient[name]) end
end
images, digits = write_digits(2000)
local _, likely = think(images)
local right = likely:argmax {dim = 2}:eq(digits):count():item() / 2000
print(("%d steps, on %s"):format(steps, images.device.name))
print(("  off by %.3f, at first by %.3f"):format(loss, first))
print(("  %.1f %% of 2000 new digits are read"):format(right * 100))
if not (loss < first and right > (steps >= 100 and 0.9 or 0.1)) then
  error("it has not learnt to read", 0)
end
