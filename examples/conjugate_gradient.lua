-- conjugate_gradient.lua - a sparse system of equations, solved by a task graph
-- that keeps all its numbers on the device; plain Lua inserts the answer into
-- the equations.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/conjugate_gradient.lua [SIDE]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../build/?.so"
local lze = require "lze"

local side = math.tointeger(tonumber(arg[1] or 128))
if arg[2] or not side or side < 2 or side > 1024 then
  io.stderr:write("usage: lua5.4 examples/conjugate_gradient.lua [SIDE]\n" ..
    "SIDE is 2 to 1024", "\n")
  os.exit(1)
end

-- The heat of a square plate of side x side points with a cold border: 4 times
-- each point's heat minus its neighbours' heat is the heating there.
local n = side * side
local firsts, columns, values, heating = {0}, {}, {}, {}
for row = 0, n - 1 do
  local x, y = row % side, row // side
  local function element(there, column, value)
    if there then
      columns[#columns + 1], values[#values + 1] = column, value
    end
  end
  element(y > 0, row - side, -1)
  element(x > 0, row - 1, -1)
  element(true, row, 4)
  element(x < side - 1, row + 1, -1)
  element(y < side - 1, row + side, -1)
  firsts[row + 2] = #columns
  heating[row + 1] = x == side // 3 and y == side // 2 and 1 or 0
end

local module = lze.load "cg"
local first <close> = lze.buffer("uint", firsts)
local column <close> = lze.buffer("uint", columns)
local value <close> = lze.buffer("float", values)
local b <close> = lze.buffer("float", heating)
local x <close> = lze.buffer("float", n)
local r <close> = lze.buffer("float", n)
local p <close> = lze.buffer("float", n)
local scalar <close> = lze.buffer("float", 3)

-- A sum has this many parts, each computed by one work-item.
local parts = math.min(1024, n)

-- Two graphs: one starts, the other is a step.  They share buffers, which stay
-- on the device between them.
local begin = lze.graph "begin"
local part = begin:buffer("float", parts)
begin:input(first, "first"):input(column, "first"):input(value, "first")
begin:fill("x", x, 0):copy("r", r, b):copy("p", p, b)
begin:task("r r", module.dot_parts, parts, r, r, n, parts, part)
begin:task("sum r r", module.dot_sum, 1, part, parts, 0, scalar)

local step = lze.graph "step"
local q, some = step:buffer("float", n), step:buffer("float", parts)
step:task("A p", module.multiply, n, first, column, value, p, q)
step:task("p A p", module.dot_parts, parts, p, q, n, parts, some)
step:task("sum p A p", module.dot_sum, 1, some, parts, 1, scalar)
step:task("advance", module.advance, n, scalar, p, q, x, r)
step:task("r r", module.dot_parts, parts, r, r, n, parts, some)
step:task("sum r r", module.dot_sum, 1, some, parts, 0, scalar)
step:task("turn", module.turn, n, scalar, r, p)
step:output(x, "demand"):output(scalar, "every")

local first_plan <close> = begin:compile()
local plan <close> = step:compile()
first_plan:run()
local size = scalar[1]

-- Iterate until the residual has shrunk to a millionth; check it now and then.
plan:run() -- the first run compiles, and is the first iteration
local iterations, timed, ms = 1, 0, 0
repeat
  local first_of, last = plan:start(), plan:start {iterations = 19}
  ms = ms + (last:time().end_ns - first_of:time().queued_ns) / 1e6
  iterations, timed = iterations + 20, timed + 20
until scalar[1] <= 1e-12 * size or iterations >= 8 * side
plan:fetch(x)

-- b - A x, in double precision.
local start = os.clock()
local answer, left = x:read(), 0
for row = 1, n do
  local sum = heating[row]
  for i = firsts[row] + 1, firsts[row + 1] do
    sum = sum - values[i] * answer[columns[i] + 1]
  end
  left = left + sum * sum
end
local lua_ms = (os.clock() - start) * 1e3
if left ~= left or math.sqrt(left) > 1e-4 then
  error(("after %d steps %g is left"):format(iterations, math.sqrt(left)), 0)
end

print(("%d equations, %d elements, on %s"):format(n, #columns,
  lze.device().name))
print(("  %8.2f ms  a step of %d"):format(ms / timed, iterations))
print(("  %8.2f ms  plain Lua, for a product with the matrix alone")
  :format(lua_ms))
print(("  plain Lua finds the equations met to %.1e; it is hottest by %.3f")
  :format(math.sqrt(left), math.max(table.unpack(answer, side // 2 * side + 1,
    (side // 2 + 1) * side))))
