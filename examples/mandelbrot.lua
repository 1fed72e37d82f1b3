-- mandelbrot.lua - a picture of the Mandelbrot set as a PNG file: one function
-- in Lua is the kernel, and also checks it.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/mandelbrot.lua [FILE.png [WIDTH HEIGHT]]
--
-- Numbers are fixed-point, so plain Lua and every device agree on each pixel,
-- even near the border of the set.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"
local progress = dofile(here .. "lib/progress.lua")

local path = arg[1] or "mandelbrot.png"
local width = math.tointeger(tonumber(arg[2] or 720))
local height = math.tointeger(tonumber(arg[3] or 480))
local function is_size(n) return n and n >= 1 and n <= 16384 end
if not is_size(width) or not is_size(height) or #arg == 2 or arg[4] then
  io.stderr:write(
    "usage: lua5.4 examples/mandelbrot.lua [FILE.png [WIDTH HEIGHT]]\n" ..
    "each size is a whole number from 1 to 16384", "\n")
  os.exit(1)
end

-- The picture shows 3.5 x 2.5 around the point -0.75, cropped to its shape;
-- 2^28 stands for 1.  Constants of Lua are constants of the kernel.
local one <const> = 1 << 28
local limit <const> = 256
local step = math.min(7 * one // (2 * width), 5 * one // (2 * height))
local left = -3 * one // 4 - step * (width - 1) // 2
local top = -step * (height - 1) // 2

-- Returns how soon a point leaves the circle of radius 2: 1 + steps % 255, or 0
-- if it is still inside after `limit` steps.
local function pixel(cr, ci)
  local zr, zi, n = cr, ci, 0
  while n < limit do
    local rr, ii = zr * zr // one, zi * zi // one
    if rr + ii > 4 * one then return 1 + n % 255 end
    zr, zi, n = rr - ii + cr, zr * zi // (one // 2) + ci, n + 1
  end
  return 0
end

local mandelbrot = lze.kernel(function(column, row, pixels)
  pixels[(row - 1) * width + column] =
    pixel(left + (column - 1) * step, top + (row - 1) * step)
end)
local pixels <close> = lze.buffer("uchar", width * height)

-- One launch for each band of rows, to show progress: a launch's offset is
-- included in the kernel's indices.
local rows = math.max(1, (1 << 18) // width)
local band = { width, rows, offset = { 0, 0 } }
local function launch(y)
  band[2], band.offset[2] = math.min(rows, height - y), y
  return mandelbrot:launch(band, pixels)
end

-- The device compiles a kernel at its first launch.
local first = launch(0):time()
local events = {}
for y = 0, height - 1, rows do events[#events + 1] = launch(y) end
for i, ev in ipairs(events) do
  ev:wait()
  progress("device: %d of %d bands", i, #events)
end
local ms = (events[#events]:time().end_ns - events[1]:time().queued_ns) / 1e6

-- Plain Lua takes a second or two for a picture of 720x480: for a larger one it
-- checks some rows, at equal distances from the first to the last.
local checked = math.min(height, math.max(2, 720 * 480 // width))
local start = os.clock()
for i = 0, checked - 1 do
  local y = i * (height - 1) // math.max(checked - 1, 1)
  local row = pixels:string(y * width + 1, (y + 1) * width)
  for x = 0, width - 1 do
    local expected = pixel(left + x * step, top + y * step)
    if row:byte(x + 1) ~= expected then
      error(("pixel %d, %d is %d, not %d")
        :format(x, y, row:byte(x + 1), expected), 0)
    end
  end
  progress("plain Lua: row %d of %d", y + 1, height)
end
local lua_ms = (os.clock() - start) * 1e3 * height / checked
progress()

-- Pixels are entries of a palette: 0 is the set, black, the others a circle of
-- colours that starts at deep blue.
local palette = { { 0, 0, 0 } }
for i = 0, 254 do
  local function wave(times, phase)
    local angle = 2 * math.pi * (times * i / 255 + phase)
    return math.floor(127.5 - 127.5 * math.cos(angle))
  end
  palette[i + 2] = { wave(7, 0), wave(9, 0.03), wave(11, 0.15) }
end

local A = lze.array
local entries = A("uchar", pixels, { height, width }):to "short" + 1
A("uchar", palette):take(entries, 1):save(path)

-- A preview of up to 64 x 21 characters, which are twice as high as wide.
local scale = math.max(1, width / 64, height / 42)
for y = 0, height - 1, 2 * scale do
  local characters = {}
  for x = 0, width - 1, scale do
    local n = pixels[math.floor(y) * width + math.floor(x) + 1]
    local shade = n == 0 and 8 or math.min(n // 2, 7)
    characters[#characters + 1] = (" .:-=+*%#"):sub(shade + 1, shade + 1)
  end
  print("  " .. table.concat(characters))
end

local _, _, _, why = mandelbrot:group { width, math.min(rows, height) }
print(("mandelbrot of %dx%d pixels on %s")
  :format(width, height, lze.device().name))
print(("  %8.1f ms  launches: %d (the first one %.1f ms)")
  :format(ms, #events, (first.end_ns - first.queued_ns) / 1e6))
print(("  %8.1f ms  plain Lua%s: %.1f times as long"):format(lua_ms,
  checked == height and "" or (", reckoned from %d rows"):format(checked),
  lua_ms / ms))
print("  group: " .. why)
print(("  every pixel of %d of %d rows is what plain Lua says")
  :format(checked, height))
print("  written to " .. path)
