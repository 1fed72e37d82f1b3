-- array_linear.lua - products of matrices and vectors, and parts of matrices.
-- SPDX-License-Identifier: MIT
--
-- A product is computed in tiles of ROWS x COLUMNS, one a work-item, whose sums
-- stay in registers; there are no barriers and no local memory.  Both operands
-- are first laid out in panels: for each index of the sum the ROWS or COLUMNS
-- elements that a tile needs lie side by side, filled up with zeros.  Where the
-- result's sizes are not multiples of a tile's, it is cut from a larger one.
-- Every element sums in the order of the indices.

local core = ...
local fail, types = core.fail, core.types
local C, new, define = core.C, core.new, core.define
local shape_text = core.shape_text
local ipairs = ipairs
local concat, format, unpack = table.concat, string.format, table.unpack

local ROWS <const>, COLUMNS <const> = 4, 16

local kernels = {}

local function kernel_for(name, text, ...)
  local k = kernels[name]
  if not k then
    k = C.kernel(C.text(text(), name)(...), {name = "array_" .. name})
    kernels[name] = k
  end
  return k
end

local function check_rank(a, n, name, fname, rank)
  core.check_numbers(a, n, name, fname)
  if #a.dims ~= rank then
    fail("%s: argument %d (%s): %d dimension%s expected, got shape %s", fname,
      n, name, rank, rank == 1 and "" or "s", shape_text(a.dims))
  end
  return a
end

local function check_matrices(a, n, name, fname)
  core.check_numbers(a, n, name, fname)
  if #a.dims < 2 then
    fail("%s: argument %d (%s): 2 dimensions or more expected, got shape %s",
      fname, n, name, shape_text(a.dims))
  end
  return a
end

-- The types of a product's sums and of its result.
local function product_types(fname, a, b)
  local kind, why = core.promote(a.kind, b.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
  if not types[kind].real then return "long", "long" end
  return kind == "double" and kind or "float", kind
end

-- --- mm ----------------------------------------------------------------------

local function pack_text()
  return [[
local math = ...
return function(l, p, z, out, x, from, batch, row, column, rows, width, panels,
    depth)
  local at = (((z - 1) * panels + p - 1) * depth + l - 1) * width
  local place = from + (z - 1) * batch + (p - 1) * width * row +
    (l - 1) * column
  local last = math.min(rows - (p - 1) * width, width)
  for w = 1, last do out[at + w] = x[place + (w - 1) * row] end
  for w = last + 1, width do out[at + w] = 0 end
end]]
end

local function tile_text(zero, sum)
  local lines = {"local fma = ...",
    "return function(i, j, z, c, a, b, abatch, bbatch, rows, columns, depth)",
    format("  local p = (z - 1) * abatch + (i - 1) * depth * %d", ROWS),
    format("  local q = (z - 1) * bbatch + (j - 1) * depth * %d", COLUMNS)}
  local function add(...) lines[#lines + 1] = format(...) end
  local function each(line)
    for r = 1, ROWS do
      for s = 1, COLUMNS do
        lines[#lines + 1] = line:gsub("R", r):gsub("S", s)
      end
    end
  end
  each("  local cR_S = " .. zero)
  add "  for _ = 1, depth do"
  for s = 1, COLUMNS do add("    local b%d = b[q + %d]", s, s) end
  for r = 1, ROWS do add("    local a%d = a[p + %d]", r, r) end
  each("    cR_S = " .. sum)
  add("    p, q = p + %d, q + %d", ROWS, COLUMNS)
  add "  end"
  add("  local at = ((z - 1) * rows + (i - 1) * %d) * columns + (j - 1) * %d",
    ROWS, COLUMNS)
  each "  c[at + (R - 1) * columns + S] = cR_S"
  add "end"
  return concat(lines, "\n")
end

local function whole_tile() return tile_text("0", "cR_S + aR * bS") end
local function real_tile() return tile_text("0.0", "fma(aR, bS, cR_S)") end

-- An array of matrices as one of rank 3; a single one serves every batch.
local function matrices(a, batch)
  local rank = #a.dims
  local rows, columns = a.dims[rank - 1], a.dims[rank]
  if a.size == rows * columns then
    return core.array_over(a.base, a.from, {1, rows, columns},
      {0, a.stride[rank - 1], a.stride[rank]})
  end
  local shape = {unpack(batch)}
  shape[#shape + 1], shape[#shape + 2] = rows, columns
  return a:expand(shape):reshape {-1, rows, columns}
end

-- The panels of such an array, across dimension d, and the number of elements
-- from one matrix to the next.
local function pack(a, d, width, kind)
  local along = d == 2 and 3 or 2
  local rows, depth = a.dims[d], a.dims[along]
  local panels = (rows + width - 1) // width
  local out = new(kind, {a.dims[1], panels, depth, width}, nil, a.home)
  kernel_for("pack", pack_text, math)({depth, panels, a.dims[1]}, out.flat,
    a.base, a.from + 1, a.stride[1], a.stride[d], a.stride[along], rows,
    width, panels, depth)
  return out.flat, a.dims[1] > 1 and panels * depth * width or 0
end

local function up(n, step) return (n + step - 1) // step * step end

-- a:mm(b): the product of matrices; dimensions before the last two broadcast.
define("mm", function(a, b)
  check_matrices(a, 1, "a", "mm")
  check_matrices(b, 2, "b", "mm")
  local m, k = a.dims[#a.dims - 1], a.dims[#a.dims]
  local n = b.dims[#b.dims]
  if b.dims[#b.dims - 1] ~= k then
    fail("mm: shapes %s and %s do not fit (%d columns, %d rows)",
      shape_text(a.dims), shape_text(b.dims), k, b.dims[#b.dims - 1])
  end
  local batch = core.broadcast("mm: the dimensions before the last two",
    {unpack(a.dims, 1, #a.dims - 2)}, {unpack(b.dims, 1, #b.dims - 2)})
  core.together("mm", {"a", "b"}, a, b)
  local sums, kind = product_types("mm", a, b)
  a, b = core.operand_in(a, sums), core.operand_in(b, sums)
  local shape, padded, count = {unpack(batch)}, {unpack(batch)}, 1
  for _, size in ipairs(batch) do count = count * size end
  shape[#shape + 1], shape[#shape + 2] = m, n
  core.check_shape(shape, "mm")
  local rows, columns = up(m, ROWS), up(n, COLUMNS)
  padded[#padded + 1], padded[#padded + 2] = rows, columns
  if count * m * n == 0 then return new(kind, shape, nil, a.home) end
  local into = new(kind, padded, nil, a.home)
  if k == 0 then
    into:fill(0)
  else
    local x, xbatch = pack(matrices(a, batch), 2, ROWS, sums)
    local y, ybatch = pack(matrices(b, batch), 3, COLUMNS, sums)
    local whole = sums == "long"
    kernel_for(whole and "mm_long" or "mm", whole and whole_tile or real_tile,
      C.work.fma)({rows // ROWS, columns // COLUMNS, count}, into.flat, x, y,
      xbatch, ybatch, rows, columns, k)
  end
  if rows == m and columns == n then return into end
  return core.contiguous(core.array_over(into.base, 0, shape, into.stride))
end)

-- --- mv, outer, trace --------------------------------------------------------

-- Sums of every eighth product, then of these in pairs.
local function rows_text(zero, sum)
  local lines = {"local fma = ...", "return function(i, r, a, b, depth)",
    "  local p = (i - 1) * depth"}
  local function add(...) lines[#lines + 1] = format(...) end
  local function step(s, at)
    add("    c%d = %s", s, (sum:gsub("%u", {C = "c" .. s,
      A = "a[p + " .. at .. "]", B = "b[" .. at .. "]"})))
  end
  for s = 1, 8 do add("  local c%d = %s", s, zero) end
  add "  for q = 0, depth - 8, 8 do"
  for s = 1, 8 do step(s, "q + " .. s) end
  add "  end"
  add "  for q = depth - depth %% 8 + 1, depth do"
  step(1, "q")
  add "  end"
  add "  r[i] = ((c1 + c2) + (c3 + c4)) + ((c5 + c6) + (c7 + c8))"
  add "end"
  return concat(lines, "\n")
end

local function whole_rows() return rows_text("0", "C + A * B") end
local function real_rows() return rows_text("0.0", "fma(A, B, C)") end

-- a:mv(x): the product of a matrix and a vector.
define("mv", function(a, x)
  check_rank(a, 1, "a", "mv", 2)
  check_rank(x, 2, "x", "mv", 1)
  local rows, depth = a.dims[1], a.dims[2]
  if x.dims[1] ~= depth then
    fail("mv: shapes %s and %s do not fit (%d columns, %d elements)",
      shape_text(a.dims), shape_text(x.dims), depth, x.dims[1])
  end
  core.together("mv", {"a", "x"}, a, x)
  local sums, kind = product_types("mv", a, x)
  a, x = core.operand_in(a, sums), core.operand_in(x, sums)
  local into = new(kind, {rows}, nil, a.home)
  if rows == 0 then return into end
  if depth == 0 then return into:fill(0) end
  local whole = sums == "long"
  kernel_for(whole and "mv_long" or "mv", whole and whole_rows or real_rows,
    C.work.fma)(rows, into.flat, core.contiguous(a).flat,
    core.contiguous(x).flat, depth)
  return into
end)

local product = core.binary("mul", "outer")

-- a:outer(b): the products of each element of a with each of b.
define("outer", function(a, b)
  check_rank(a, 1, "a", "outer", 1)
  check_rank(b, 2, "b", "outer", 1)
  return product(a:reshape {-1, 1}, b)
end)

local function trace_text()
  return [[
return function(i, r, x, from, step, n)
  local sum = x[from]
  for k = 1, n - 1 do sum = sum + x[from + k * step] end
  r[i] = sum
end]]
end

-- a:trace(): the sum of the diagonal.
define("trace", function(a)
  check_rank(a, 1, "a", "trace", 2)
  core.needs_double("trace", a.kind, a)
  local kind = types[a.kind].real and a.kind or "long"
  local into = new(kind, {}, nil, a.home)
  local n = math.min(a.dims[1], a.dims[2])
  if n == 0 then return into:fill(0) end
  kernel_for("trace", trace_text)(1, into.flat, a.base, a.from + 1,
    a.stride[1] + a.stride[2], n)
  return into
end)

-- --- tril, triu --------------------------------------------------------------

local function triangle_text(condition)
  return format([[
return function(j, i, z, r, x, rows, columns, k)
  local at = ((z - 1) * rows + i - 1) * columns + j
  local v = x[at]
  r[at] = %s and v or 0
end]], condition)
end

-- a:tril([k]), a:triu([k]): the elements on and below, on and above the k-th
-- diagonal (0, the main one, when not given; 1 is above it); 0 elsewhere.
for name, condition in next, {tril = "j - i <= k", triu = "j - i >= k"} do
  define(name, function(a, k)
    local rank = #check_matrices(a, 1, "a", name).dims
    if k ~= nil then
      k = core.check_integer(k, name, "argument 2 (k)", "an integer")
    end
    core.needs_double(name, a.kind, a)
    local into = new(a.kind, {unpack(a.dims)}, a.mask, a.home)
    if a.size == 0 then return into end
    local rows, columns = a.dims[rank - 1], a.dims[rank]
    kernel_for(name, function() return triangle_text(condition) end)(
      {columns, rows, a.size // (rows * columns)}, into.flat,
      core.contiguous(a).flat, rows, columns, k or 0)
    return into
  end)
end
