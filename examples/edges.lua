-- edges.lua - the edges of a photograph by a task graph: blurred, its slopes,
-- and how steep they are; checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/edges.lua [IN OUT]
--
-- IN is a binary PPM (P6) or PGM (P5) file, of which the green or only channel
-- is used; OUT is a PGM file, or a PNG file if its name ends in .png.  With no
-- arguments it makes a picture itself and writes shapes.png and edges.png.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

if #arg == 1 or arg[3] then
  io.stderr:write("usage: lua5.4 examples/edges.lua [IN OUT]", "\n")
  os.exit(1)
end
local pnm = dofile(here .. "lib/pnm.lua")

-- A disc, a square and a triangle before a slope that has no edges.
local function shapes(width, height)
  local pixels = {}
  for y = 0, height - 1 do
    for x = 0, width - 1 do
      local grey = 100 * x // width
      if (x - 120) ^ 2 + (y - 160) ^ 2 < 70 ^ 2 then grey = 220 end
      if x // 100 == 2 and y // 100 == 1 then grey = 160 end
      if y < 240 and 2 * math.abs(x - 390) < y - 80 then grey = 250 end
      pixels[#pixels + 1] = string.char(grey)
    end
  end
  local picture = {kind = "P5", channels = 1, width = width, height = height,
    most = 255, bytes = table.concat(pixels)}
  pnm.write("shapes.png", picture)
  return picture
end

local picture = arg[1] and pnm.read(arg[1]) or shapes(480, 320)
local path = arg[2] or "edges.png"
local width, height = picture.width, picture.height
local n = width * height
local grey = picture.bytes
if picture.channels == 3 then
  grey = grey:gsub(".(.).", "%1")
end
-- Half of a Gaussian curve of sigma 1.4, in 65536ths.
local weight = {18803, 14541, 6726, 1860, 240}
weight[1] = 65536 - 2 * (weight[2] + weight[3] + weight[4] + weight[5])
local radius = #weight - 1

local blur = lze.load "blur"
local sobel = lze.load "sobel".sobel
local histogram = lze.load "histogram".histogram
local items = lze.device().compute_units * 1024

local from <close> = lze.buffer("uchar", grey)
local steep <close> = lze.buffer("uchar", n)
local bins <close> = lze.buffer("uint", 256)
local weights <close> = lze.buffer("uint", weight)

-- Only the plan has buffers for the data between the tasks.
local g = lze.graph "edges"
local sums, blurred = g:buffer("ushort", n), g:buffer("uchar", n)
g:input(from, "first"):input(weights, "first")
g:task("rows", blur.blur_rows, {width, height}, from, sums, weights, radius,
  width, 1)
g:task("columns", blur.blur_columns, {width, height}, sums, blurred, weights,
  radius, height, width)
g:task("slopes", sobel, {width, height}, blurred, steep, width, height)
g:fill("none yet", bins, 0)
g:task("count", histogram, items, steep, n, bins)
g:output(steep, "every"):output(bins, "every")

local plan <close> = g:compile {profile = true}
plan:run() -- the device compiles kernels at their first launch
local event = plan:start()
event:wait()
local time = event:time()
local ms = (time.end_ns - time.queued_ns) / 1e6
local edges, counts = steep:string(), bins:read()

-- Plain Lua checks all of it.
local start = os.clock()
local min, max = math.min, math.max
local row_sums, smooth = {}, {}
for y = 0, height - 1 do
  local at = y * width + 1
  for x = 0, width - 1 do
    local s = grey:byte(at + x) * weight[1]
    for d = 1, radius do
      s = s + weight[d + 1] * (grey:byte(at + max(x - d, 0))
        + grey:byte(at + min(x + d, width - 1)))
    end
    row_sums[at + x] = s + (1 << 7) >> 8
  end
end
for y = 0, height - 1 do
  for x = 1, width do
    local s = row_sums[y * width + x] * weight[1]
    for d = 1, radius do
      s = s + weight[d + 1] * (row_sums[max(y - d, 0) * width + x]
        + row_sums[min(y + d, height - 1) * width + x])
    end
    smooth[y * width + x] = s + (1 << 23) >> 24
  end
end
local expected = {}
for i = 0, 255 do expected[i] = 0 end
for y = 0, height - 1 do
  local above, at = max(y - 1, 0) * width, y * width
  local below = min(y + 1, height - 1) * width
  for x = 1, width do
    local left, right = max(x - 1, 1), min(x + 1, width)
    local across = smooth[above + right] + 2 * smooth[at + right]
      + smooth[below + right] - smooth[above + left] - 2 * smooth[at + left]
      - smooth[below + left]
    local down = smooth[below + left] + 2 * smooth[below + x]
      + smooth[below + right] - smooth[above + left] - 2 * smooth[above + x]
      - smooth[above + right]
    local value = min((math.abs(across) + math.abs(down)) // 2, 255)
    if edges:byte(at + x) ~= value then
      error(("pixel %d, %d is %d, not %d")
        :format(x - 1, y, edges:byte(at + x), value), 0)
    end
    expected[value] = expected[value] + 1
  end
end
for value, count in pairs(expected) do
  if counts[value + 1] ~= count then
    error(("slope %d: %d times, not %d"):format(value, counts[value + 1],
      count), 0)
  end
end
local lua_ms = (os.clock() - start) * 1e3

pnm.write(path, {kind = "P5", channels = 1, width = width, height = height,
  most = 255, bytes = edges})

local flat = counts[1] + counts[2] + counts[3] + counts[4]
print(("edges of %s, %dx%d pixels, on %s"):format(arg[1] or "shapes.png",
  width, height, lze.device().name))
print(("  %8.1f ms  a run of the plan"):format(ms))
print(("  %8.1f ms  plain Lua: %.1f times as long"):format(lua_ms,
  lua_ms / ms))
print(plan:report())
print(("  every pixel and count is what plain Lua says; %.1f %% is flat")
  :format(100 * flat / n))
print("  written to " .. path)
