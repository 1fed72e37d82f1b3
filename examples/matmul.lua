-- matmul.lua - the product of two matrices, in a plain way and in tiles of
-- local memory, checked against plain Lua.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/matmul.lua [ROWS COLUMNS INNER]
--
-- a has ROWS x INNER elements, b INNER x COLUMNS, c = a * b ROWS x COLUMNS.

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"
local progress = dofile(here .. "lib/progress.lua")

local sizes = { 400, 400, 400 }
for i = 1, #arg > 0 and 3 or 0 do
  sizes[i] = math.tointeger(tonumber(arg[i]))
  if not sizes[i] or sizes[i] < 1 or sizes[i] > 1 << 18 or arg[4] then
    io.stderr:write(
      "usage: lua5.4 examples/matmul.lua [ROWS COLUMNS INNER]\n" ..
      "each size is a whole number from 1 to 262144", "\n")
    os.exit(1)
  end
end
local rows, columns, inner = table.unpack(sizes)
if math.max(rows * inner, inner * columns, rows * columns) > 1 << 24 then
  error("a matrix of more than 16777216 numbers: plain Lua's table of one " ..
    "takes 16 bytes for each", 0)
end

-- Whole numbers from -8 to 8: a float represents every sum of up to 2^18
-- products, so floats and Lua's doubles agree regardless of the order.
local as, bs = {}, {}
for i = 1, rows * inner do as[i] = i * 7919 % 17 - 8 end
for i = 1, inner * columns do bs[i] = i * 104729 % 17 - 8 end

local a <close> = lze.buffer("float", as)
local b <close> = lze.buffer("float", bs)
local c <close> = lze.buffer("float", rows * columns)
local c_tiled <close> = lze.buffer("float", rows * columns)
local module = lze.load "matmul"

-- The tiled kernel needs whole groups of its required size.
local range = { columns, rows }
local tile = module.matmul_tiled.required_group_size[1]
local whole = {
  (columns + tile - 1) // tile * tile, (rows + tile - 1) // tile * tile,
}

-- Returns milliseconds from the call to the end, for the second of two
-- launches, because the device compiles a kernel at its first launch.
local function elapsed(kernel, ...)
  kernel:launch(...):wait()
  local ev = kernel:launch(...)
  local t = ev:time()
  return (t.end_ns - t.queued_ns) / 1e6
end

local ms = elapsed(module.matmul, range, a, b, c, columns, inner)
local tiled_ms = elapsed(module.matmul_tiled, whole, a, b, c_tiled, rows,
  columns, inner)

-- Plain Lua multiplies 60 million times in a second or two: beyond that it
-- checks some of the rows, at equal distances from the first to the last.
local checked = math.min(rows, math.max(2, (1 << 26) // (columns * inner)))
local start = os.clock()
for i = 0, checked - 1 do
  local y = i * (rows - 1) // math.max(checked - 1, 1)
  local sums = {}
  for x = 1, columns do sums[x] = 0 end
  for k = 1, inner do
    local factor, before = as[y * inner + k], (k - 1) * columns
    for x = 1, columns do sums[x] = sums[x] + factor * bs[before + x] end
  end
  for x, value in ipairs(c:read(y * columns + 1, (y + 1) * columns)) do
    if value ~= sums[x] then
      error(("row %d, column %d is %s, not %s")
        :format(y + 1, x, value, sums[x]), 0)
    end
  end
  progress("plain Lua: row %d of %d", y + 1, rows)
end
local lua_ms = (os.clock() - start) * 1e3 * rows / checked
progress()

if c_tiled:string() ~= c:string() then
  error("the tiled kernel gives another product than the plain one", 0)
end

local function line(what, time)
  local gigaflops = 2e-6 * rows * columns * inner / time
  print(("  %10.1f ms  %6.2f GFLOP/s  %s"):format(time, gigaflops, what))
end
local _, _, _, why = module.matmul:group(range)
local _, _, _, why_tiled = module.matmul_tiled:group(whole)
print(("matmul of %dx%d by %dx%d floats on %s")
  :format(rows, inner, inner, columns, lze.device().name))
line("plain: a launch", ms)
line("tiled: a launch", tiled_ms)
line(checked == rows and "plain Lua" or
  ("plain Lua, reckoned from %d rows"):format(checked), lua_ms)
print("  group, plain: " .. why)
print("  group, tiled: " .. why_tiled)
print("  both kernels agree on every element")
print(("  every element of %d of %d rows is what plain Lua says")
  :format(checked, rows))
