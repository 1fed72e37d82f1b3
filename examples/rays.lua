-- rays.lua - a picture by ray tracing, with a kernel that is a Lua function.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/rays.lua [FILE.png [WIDTH HEIGHT]]
--
-- The same function runs on the device and, for some of the rows, in plain Lua.
-- If the device computes in double, both agree to the bit; in float, edges may
-- move slightly: up to a fiftieth of all values may differ.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local path = arg[1] or "rays.png"
local width = math.tointeger(tonumber(arg[2] or 640))
local height = math.tointeger(tonumber(arg[3] or 400))
local function is_size(n) return n and n >= 1 and n <= 16384 end
if not is_size(width) or not is_size(height) or #arg == 2 or arg[4] then
  io.stderr:write("usage: lua5.4 examples/rays.lua [FILE.png [WIDTH HEIGHT]]\n",
    "each size is a whole number from 1 to 16384\n")
  os.exit(1)
end

local sqrt, floor, huge = math.sqrt, math.floor, math.huge
local min, max = math.min, math.max

-- Spheres: x, y, z, radius, red, green, blue, reflectance.
local scene = {
  -1.1, 0.7, 4.0, 0.7, 0.9, 0.3, 0.2, 0.3,
   0.5, 0.5, 3.2, 0.5, 0.2, 0.5, 0.9, 0.4,
   1.2, 1.0, 5.0, 1.0, 0.9, 0.8, 0.4, 0.5,
}
local count = #scene // 8
local light_x, light_y, light_z = -0.48, 0.8, -0.36 -- of length 1

-- Returns the distance along a ray to the nearest sphere, and its number; huge
-- and 0 if the ray misses.
local function nearest(spheres, ox, oy, oz, dx, dy, dz)
  local best, which = huge, 0
  for s = 1, count do
    local x = ox - spheres[8 * s - 7]
    local y = oy - spheres[8 * s - 6]
    local z = oz - spheres[8 * s - 5]
    local r = spheres[8 * s - 4]
    local b = x * dx + y * dy + z * dz
    local root = b * b - (x * x + y * y + z * z - r * r)
    if root > 0 then
      local t = -b - sqrt(root)
      if t > 0.001 and t < best then best, which = t, s end
    end
  end
  return best, which
end

local function clamped(v)
  return floor(255 * min(max(v, 0), 1) + 0.5)
end

local function trace(px, py, picture, spheres)
  local ox, oy, oz = 0.0, 1.0, -1.0
  local dx = (2 * px - 1 - width) / height
  local dy = (height + 1 - 2 * py) / height - 0.15
  local dz = 1.8
  local length = sqrt(dx * dx + dy * dy + dz * dz)
  dx, dy, dz = dx / length, dy / length, dz / length
  local red, green, blue, left = 0.0, 0.0, 0.0, 1.0
  for _ = 1, 4 do
    local t, which = nearest(spheres, ox, oy, oz, dx, dy, dz)
    local plane = dy < 0 and -oy / dy or huge
    local r, g, b, shine, nx, ny, nz
    if which == 0 and plane > 60 then -- the sky
      red = red + left * (0.5 - 0.3 * dy)
      green = green + left * (0.7 - 0.3 * dy)
      blue = blue + left
      break
    elseif plane < t then -- the floor, a chessboard
      t = plane
      local square = floor(ox + t * dx) + floor(oz + t * dz)
      r = square % 2 == 0 and 0.85 or 0.25
      g, b, shine, nx, ny, nz = r, r, 0.2, 0.0, 1.0, 0.0
      ox, oy, oz = ox + t * dx, 0.0, oz + t * dz
    else
      local at = 8 * which
      ox, oy, oz = ox + t * dx, oy + t * dy, oz + t * dz
      local radius = spheres[at - 4]
      nx = (ox - spheres[at - 7]) / radius
      ny = (oy - spheres[at - 6]) / radius
      nz = (oz - spheres[at - 5]) / radius
      r, g, b = spheres[at - 3], spheres[at - 2], spheres[at - 1]
      shine = spheres[at]
    end
    local bright = nx * light_x + ny * light_y + nz * light_z
    local _, shade = nearest(spheres, ox, oy, oz, light_x, light_y, light_z)
    if shade ~= 0 or bright < 0 then bright = 0.0 end
    local share = left * (1 - shine) * (0.2 + 0.8 * bright)
    red, green, blue = red + share * r, green + share * g, blue + share * b
    left = left * shine
    local along = 2 * (dx * nx + dy * ny + dz * nz)
    dx, dy, dz = dx - along * nx, dy - along * ny, dz - along * nz
  end
  local at = 3 * ((py - 1) * width + px)
  picture[at - 2], picture[at - 1] = clamped(red), clamped(green)
  picture[at] = clamped(blue)
end

local exact = lze.device().fp64
local real = exact and "double" or "float"
local kernel = lze.kernel(trace, { real = real, name = "rays" })
local spheres <close> = lze.buffer(real, scene)
local picture <close> = lze.buffer("uchar", 3 * width * height)
kernel:launch({ width, height }, picture, spheres):wait() -- compiles the kernel
local time = kernel:launch({ width, height }, picture, spheres):time()
local ms = (time.end_ns - time.queued_ns) / 1e6

-- Plain Lua checks some rows, at equal distances from the first to the last.
local checked = math.min(height, math.max(2, 64 * 1024 // width))
local start, off = os.clock(), 0
for i = 0, checked - 1 do
  local y = 1 + i * (height - 1) // math.max(checked - 1, 1)
  local expected = {}
  for x = 1, width do trace(x, y, expected, scene) end
  for at = 3 * (y - 1) * width + 1, 3 * y * width do
    local by = math.abs(picture[at] - expected[at])
    if by > 2 then off = off + 1 end
    if exact and by ~= 0 or off > 3 * width * checked // 50 then
      error(("row %d: byte %d is %d, not %d")
        :format(y, at, picture[at], expected[at]), 0)
    end
  end
end
local lua_ms = (os.clock() - start) * 1e3 * height / checked

lze.array("uchar", picture, { height, width, 3 }):save(path)
print(("rays: %dx%d pixels in %s on %s")
  :format(width, height, real, lze.device().name))
print(("  %8.1f ms  the kernel"):format(ms))
print(("  %8.1f ms  plain Lua%s: %.1f times as long"):format(lua_ms,
  checked == height and "" or (", reckoned from %d rows"):format(checked),
  lua_ms / ms))
print(("  %s of %d of %d rows is what plain Lua says")
  :format(exact and "every byte" or "nearly all", checked, height))
print("  written to " .. path)
