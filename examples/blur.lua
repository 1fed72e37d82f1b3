-- blur.lua - a Gaussian blur of a photograph, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/blur.lua [IN OUT [SIGMA]]
--
-- IN is a binary PPM (P6, colour) or PGM (P5, grey) file, which ImageMagick,
-- GIMP and ffmpeg write; OUT is one, too, or NAME.png.  With no arguments it
-- makes a picture itself and writes before.png and after.png.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local sigma = tonumber(arg[3] or 3)
if #arg == 1 or arg[4] or not sigma or not (sigma > 0 and sigma <= 100) then
  io.stderr:write("usage: lua5.4 examples/blur.lua [IN OUT [SIGMA]]\n" ..
    "SIGMA, in pixels, is a number above 0 and at most 100", "\n")
  os.exit(1)
end
local pnm = dofile(here .. "lib/pnm.lua")
local progress = dofile(here .. "lib/progress.lua")

-- Half of the curve, in 65536ths that sum to 65536 for the whole curve: rounded
-- sums of its tail, so that errors do not add up.
local function gaussian(radius)
  local function curve(d) return math.exp(-d * d / (2 * sigma * sigma)) end
  local sum = curve(0)
  for d = 1, radius do sum = sum + 2 * curve(d) end
  local weight, tail, rounded = {}, 0, 0
  for d = radius, 1, -1 do
    tail = tail + curve(d) / sum
    local all = math.floor(65536 * tail + 0.5)
    weight[d + 1] = all - rounded
    rounded = all
  end
  weight[1] = 65536 - 2 * rounded
  return weight
end

local path = arg[2] or "after.png"
local picture
if arg[1] then
  picture = pnm.read(arg[1])
else
  picture = pnm.make(480, 320)
  pnm.write("before.png", picture)
end
local width, height = picture.width, picture.height
local channels = picture.channels
local row_bytes = width * channels
local radius = math.ceil(3 * sigma)
local weight = gaussian(radius)

local from <close> = lze.buffer("uchar", picture.bytes)
local sums <close> = lze.buffer("ushort", #picture.bytes)
local to <close> = lze.buffer("uchar", #picture.bytes)
local weights <close> = lze.buffer("uint", weight)
local module = lze.load "blur"

-- Returns milliseconds from the first call to the end of both passes.
local range = { row_bytes, height }
local function blur()
  local first = module.blur_rows:launch(range, from, sums, weights, radius,
    width, channels)
  local last = module.blur_columns:launch(range, sums, to, weights, radius,
    height, row_bytes)
  return (last:time().end_ns - first:time().queued_ns) / 1e6
end

-- The device compiles a kernel at its first launch.
local first = blur()
to:fill(0)
lze.wait()
local ms = blur()
local blurred = to:string()

-- Plain Lua does 24 million steps of a sum in a second or two: for larger
-- pictures it checks some columns, at equal distances from the first to the
-- last.  Such a column consists of byte `column` of each row.
local bytes, min, max = picture.bytes, math.min, math.max
local checked = min(row_bytes,
  max(2, (24 << 20) // (2 * height * (radius + 1))))
local start = os.clock()
for i = 0, checked - 1 do
  local column = i * (row_bytes - 1) // max(checked - 1, 1)
  local x, channel = column // channels, column % channels
  local sum = {}
  for y = 0, height - 1 do
    local at = y * row_bytes + channel + 1
    local s = bytes:byte(at + x * channels) * weight[1]
    for d = 1, radius do
      s = s + weight[d + 1] * (bytes:byte(at + max(x - d, 0) * channels) +
        bytes:byte(at + min(x + d, width - 1) * channels))
    end
    sum[y] = s + (1 << 7) >> 8
  end
  for y = 0, height - 1 do
    local s = sum[y] * weight[1]
    for d = 1, radius do
      s = s + weight[d + 1] * (sum[max(y - d, 0)] + sum[min(y + d, height - 1)])
    end
    local expected = s + (1 << 23) >> 24
    local byte = blurred:byte(y * row_bytes + column + 1)
    if byte ~= expected then
      error(("pixel %d, %d, channel %d is %d, not %d")
        :format(x, y, channel, byte, expected), 0)
    end
  end
  progress("plain Lua: column %d of %d", column + 1, row_bytes)
end
local lua_ms = (os.clock() - start) * 1e3 * row_bytes / checked
progress()

picture.bytes = blurred
pnm.write(path, picture)

local _, _, _, why = module.blur_rows:group(range)
print(("blur of %s, %dx%d pixels of %d bytes, sigma %g, on %s")
  :format(arg[1] or "before.png", width, height, channels, sigma,
    lze.device().name))
print(("  %8.1f ms  two launches (the first time %.1f ms)"):format(ms, first))
print(("  %8.1f ms  plain Lua%s: %.1f times as long"):format(lua_ms,
  checked == row_bytes and "" or (", reckoned from %d columns"):format(checked),
  lua_ms / ms))
print("  group: " .. why)
print(("  every byte of %d of %d columns is what plain Lua says")
  :format(checked, row_bytes))
print("  written to " .. path)
