-- array_linear.lua - products of matrices and vectors, and parts of matrices.
-- SPDX-License-Identifier: MIT
--
-- A product is computed in tiles whose sums stay in registers.  On a CPU each
-- work-item has one tile of ROWS x COLUMNS.  Both operands are first packed
-- into panels: for each index of the sum, the elements that a tile needs are
-- adjacent, padded with zeros; if the result's sizes are not multiples of a
-- tile's, it is cut from a larger one.  On a GPU a group has a tile of TILE x
-- TILE, of which each work-item has ITEM x ITEM elements, and local memory
-- holds the operands of the next DEPTH indices.  Small products on a CPU are
-- one launch without tiles.  Every element sums BLOCK products in the order of
-- the indices, then adds up these sums in order: a large float would lose small
-- products added one by one.
--
-- On a CPU the system's BLAS multiplies large matrices of float and double, if
-- it is one that is tuned: OpenBLAS took half the time of the kernels at 128 x
-- 128 x 128 and 0.7 at 1024 x 1024 x 1024.

local core = ...
local fail, types = core.fail, core.types
local C, new, define = core.C, core.new, core.define
local shape_text, writer = core.shape_text, core.writer
local ipairs = ipairs
local concat, format, max, unpack = table.concat, string.format, math.max,
  table.unpack

local ROWS <const>, COLUMNS <const> = 4, 16
local BLOCK <const> = 512
local SMALL <const> = 1 << 15      -- products that are not worth packing
local TILE <const>, ITEM <const>, DEPTH <const> = 64, 4, 16
local GROUP <const> = TILE // ITEM -- work-items in each direction
local TURNS <const> = TILE * DEPTH // (GROUP * GROUP)
local LONGER <const> = TILE + 4

local LIBRARY <const> = 1 << 21 -- as many products may use a library

local kernels = {}

-- Returns the kernel of a name, with integers of a type, by default 64 bits.
local function kernel_for(name, int, text, ...)
  local key = name .. (int or "")
  local k = kernels[key]
  if not k then
    k = C.kernel(C.text(text(), name)(...), {name = "array_" .. name,
      int = int})
    kernels[key] = k
  end
  return k
end

local function check_rank(a, n, name, fname, rank)
  core.check(a, n, name, fname)
  if #a.dims ~= rank then
    fail("%s: argument %d (%s): %d dimension%s expected, got shape %s", fname,
      n, name, rank, rank == 1 and "" or "s", shape_text(a.dims))
  end
  return a
end

local function check_matrices(a, n, name, fname)
  core.check(a, n, name, fname)
  if #a.dims < 2 then
    fail("%s: argument %d (%s): 2 dimensions or more expected, got shape %s",
      fname, n, name, shape_text(a.dims))
  end
  return a
end

core.check_matrices = check_matrices

-- Returns the types of a product's sums and of its result.
local function product_types(fname, a, b)
  local kind, why = core.promote(a.kind, b.kind)
  if not kind then fail("%s: %s", fname, why) end
  core.needs_double(fname, kind, a)
  if not types[kind].real then return "long", "long" end
  return kind == "double" and kind or "float", kind
end

local function is_complex(a, b)
  return core.scalars[a.kind] ~= nil or core.scalars[b.kind] ~= nil
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

-- Returns a function that adds a line for each element of a tile; R in the line
-- is the row and S the column.
local function each_of(add, rows, columns)
  return function(line)
    for r = 1, rows do
      for s = 1, columns do add("%s", (line:gsub("R", r):gsub("S", s))) end
    end
  end
end

local function tile_text(zero, sum)
  local lines, add = writer()
  local each = each_of(add, ROWS, COLUMNS)
  add "local math, fma = ..."
  add "return function(i, j, z, c, a, b, abatch, bbatch, rows, columns, depth)"
  add("  local p = (z - 1) * abatch + (i - 1) * depth * %d", ROWS)
  add("  local q = (z - 1) * bbatch + (j - 1) * depth * %d", COLUMNS)
  each("  local tR_S = " .. zero)
  add("  for before = 0, depth - 1, %d do", BLOCK)
  each("    local cR_S = " .. zero)
  add("    for _ = 1, math.min(%d, depth - before) do", BLOCK)
  for s = 1, COLUMNS do add("      local b%d = b[q + %d]", s, s) end
  for r = 1, ROWS do add("      local a%d = a[p + %d]", r, r) end
  each("      cR_S = " .. sum)
  add("      p, q = p + %d, q + %d", ROWS, COLUMNS)
  add "    end"
  each "    tR_S = tR_S + cR_S"
  add "  end"
  add("  local at = ((z - 1) * rows + (i - 1) * %d) * columns + (j - 1) * %d",
    ROWS, COLUMNS)
  each "  c[at + (R - 1) * columns + S] = tR_S"
  add "end"
  return concat(lines, "\n")
end

-- Work-items of a group have every GROUPth row and column of its tile, so
-- adjacent items read local memory, and write the result, at adjacent places.
-- Each loads TURNS elements of a and of b.  Rows are padded in a's part to
-- avoid bank conflicts.
local function group_text(kind, zero, sum)
  local lines, add = writer()
  local each = each_of(add, ITEM, ITEM)
  add "local fma, w = ..."
  add("return function(c, a, b, afrom, abatch, arow, acolumn, bfrom, bbatch, "
    .. "brow, bcolumn, rows, columns, depth)")
  add('  local x = w.local_array("%s", %d)', kind, LONGER * DEPTH)
  add('  local y = w.local_array("%s", %d)', kind, TILE * DEPTH)
  add "  local column, row = w.local_id(1), w.local_id(2)"
  add("  local item = (row - 1) * %d + column - 1", GROUP)
  add("  local i, j = (w.group_id(2) - 1) * %d, (w.group_id(1) - 1) * %d", TILE,
    TILE)
  add "  local z = w.group_id(3) - 1"
  add("  local l, r = item %% %d, item // %d", DEPTH, DEPTH)
  add("  local m, s = item // %d, item %% %d", TILE, TILE)
  add "  local p = afrom + z * abatch + (i + r) * arow + l * acolumn"
  add "  local q = bfrom + z * bbatch + m * brow + (j + s) * bcolumn"
  add("  local to = l * %d + r + 1", LONGER)
  each("  local tR_S, cR_S = " .. zero .. ", " .. zero)
  local function add_sums(last)
    add("      for k = 0, %s do", last)
    for n = 1, ITEM do
      add("        local a%d = x[k * %d + row + %d]", n, LONGER,
        (n - 1) * GROUP)
      add("        local b%d = y[k * %d + column + %d]", n, TILE,
        (n - 1) * GROUP)
    end
    each("        cR_S = " .. sum)
    add "      end"
  end
  add("  for before = 0, depth - 1, %d do", DEPTH)
  add "    local v"
  for t = 0, TURNS - 1 do
    local down, further = t * GROUP * GROUP // DEPTH,
      t * GROUP * GROUP // TILE
    add("    v = %s", zero)
    add("    if before + l < depth and i + r + %d < rows then", down)
    add("      v = a[p + %d * arow]", down)
    add "    end"
    add("    x[to + %d] = v", down)
    add("    v = %s", zero)
    add("    if before + m + %d < depth and j + s < columns then", further)
    add("      v = b[q + %d * brow]", further)
    add "    end"
    add("    y[item + %d] = v", t * GROUP * GROUP + 1)
  end
  add "    w.barrier()"
  add("    if depth - before >= %d then", DEPTH)
  add_sums(DEPTH - 1) -- a constant that compilers unroll
  add "    else"
  add_sums "depth - before - 1"
  add "    end"
  add "    w.barrier()"
  add("    p, q = p + %d * acolumn, q + %d * brow", DEPTH, DEPTH)
  add("    if (before + %d) %% %d == 0 then", DEPTH, BLOCK)
  each("      tR_S, cR_S = tR_S + cR_S, " .. zero)
  add "    end"
  add "  end"
  for r = 1, ITEM do
    local own = format("i + row + %d", (r - 1) * GROUP)
    add("  if %s <= rows then", own)
    add("    local at = (z * rows + %s - 1) * columns", own)
    for s = 1, ITEM do
      local place = format("j + column + %d", (s - 1) * GROUP)
      add("    if %s <= columns then c[at + %s] = t%d_%d + c%d_%d end", place,
        place, r, s, r, s)
    end
    add "  end"
  end
  add "end"
  return concat(lines, "\n")
end

-- Returns the initial value and the update of sums of a type.
local function sums_of(kind)
  if kind == "long" then return "0", "cR_S + aR * bS" end
  return "0.0", "fma(aR, bS, cR_S)"
end

-- Returns an array of matrices with rank 3; a single one serves every batch.
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

-- Packs this array into panels across dimension d; returns them and the
-- distance from one matrix to the next in elements.
local function pack(a, d, width, kind)
  local along = d == 2 and 3 or 2
  local rows, depth = a.dims[d], a.dims[along]
  local panels = (rows + width - 1) // width
  local out = new(kind, {a.dims[1], panels, depth, width}, nil, a.home)
  kernel_for("pack", nil, pack_text, math)({depth, panels, a.dims[1]}, out.flat,
    a.base, a.from + 1, a.stride[1], a.stride[d], a.stride[along], rows,
    width, panels, depth)
  return out.flat, a.dims[1] > 1 and panels * depth * width or 0
end

local function element_text(zero, sum)
  return (([[
local math, fma = ...
return function(j, i, z, c, a, b, afrom, abatch, arow, acolumn, bfrom, bbatch,
    brow, bcolumn, rows, columns, depth)
  local p = afrom + (z - 1) * abatch + (i - 1) * arow
  local q = bfrom + (z - 1) * bbatch + (j - 1) * bcolumn
  local total = ZERO
  for before = 0, depth - 1, BLOCK do
    local s = ZERO
    for _ = 1, math.min(BLOCK, depth - before) do
      s = SUM
      p, q = p + acolumn, q + brow
    end
    total = total + s
  end
  c[((z - 1) * rows + i - 1) * columns + j] = total
end]]):gsub("%u%u+", {ZERO = zero, BLOCK = BLOCK, SUM = sum:gsub("%f[%w][%w_]+",
    {aR = "a[p]", bS = "b[q]", cR_S = "s"})}))
end

-- Returns the places of matrices that kernels take.
local function layout(a)
  return a.from + 1, a.dims[1] > 1 and a.stride[1] or 0, a.stride[2],
    a.stride[3]
end

-- Multiplies small matrices on a CPU.
local function product_by_elements(kind, shape, sums, a, b)
  local m, k, n = a.dims[2], a.dims[3], b.dims[3]
  local into = new(kind, shape, nil, a.home)
  local afrom, abatch, arow, acolumn = layout(a)
  local bfrom, bbatch, brow, bcolumn = layout(b)
  kernel_for("mm_small_" .. sums, nil, function()
    return element_text(sums_of(sums))
  end, math, C.work.fma)({n, m, max(a.dims[1], b.dims[1])}, into.flat, a.base,
    b.base, afrom, abatch, arow, acolumn, bfrom, bbatch, brow, bcolumn, m, n, k)
  return into
end

local function up(n, step) return (n + step - 1) // step * step end

-- Multiplies arrays of matrices on a CPU.
local function product_by_tiles(kind, shape, sums, a, b)
  local count, m, k, n = a.dims[1], a.dims[2], a.dims[3], b.dims[3]
  local rows, columns = up(m, ROWS), up(n, COLUMNS)
  local padded = {unpack(shape)}
  padded[#shape - 1], padded[#shape] = rows, columns
  local into = new(kind, padded, nil, a.home)
  local x, xbatch = pack(a, 2, ROWS, sums)
  local y, ybatch = pack(b, 3, COLUMNS, sums)
  kernel_for(sums == "long" and "mm_long" or "mm", nil, function()
    return tile_text(sums_of(sums))
  end, math, C.work.fma)({rows // ROWS, columns // COLUMNS,
    max(count, b.dims[1])}, into.flat, x, y, xbatch, ybatch, rows, columns, k)
  if rows == m and columns == n then return into end
  return core.contiguous(core.array_over(into.base, 0, shape, into.stride))
end

-- Multiplies them on a GPU.  32-bit integers are faster, if places fit.
local function product_by_groups(kind, shape, sums, a, b)
  local m, k, n = a.dims[2], a.dims[3], b.dims[3]
  local into = new(kind, shape, nil, a.home)
  local int = sums ~= "long" and core.is_narrow(a.kind) and
    core.is_narrow(b.kind) and max(into.size, #a.base, #b.base) < 1 << 30 and
    "int" or "long"
  local range = {up(n, TILE) // ITEM, up(m, TILE) // ITEM,
    max(a.dims[1], b.dims[1]), group = {GROUP, GROUP, 1}}
  kernel_for("mm_group_" .. sums, int, function()
    return group_text(sums, sums_of(sums))
  end, C.work.fma, C.work)(range, into.flat, a.base, b.base, a.from + 1,
    a.dims[1] > 1 and a.stride[1] or 0, a.stride[2], a.stride[3], b.from + 1,
    b.dims[1] > 1 and b.stride[1] or 0, b.stride[2], b.stride[3], m, n, k)
  return into
end

-- Returns "N" or "T" and the distance of rows or columns of matrices that BLAS
-- can read as they are: elements of a row, or of a column, are adjacent.
local function blas_layout(a)
  local rows, columns = a.dims[2], a.dims[3]
  local down, right = a.stride[2], a.stride[3]
  if (right == 1 or columns == 1) and (down >= columns or rows == 1) then
    return "N", max(down, columns)
  elseif (down == 1 or rows == 1) and (right >= rows or columns == 1) then
    return "T", max(right, rows)
  end
end

-- Returns matrices that BLAS can read, their letter and distance.
local function readable(a)
  local letter, distance = blas_layout(a)
  if letter then return a, letter, distance end
  a = core.contiguous(a)
  return a, "N", a.dims[3]
end

-- Returns true if the system's BLAS multiplies matrices faster than the
-- kernels.  Small products do not open it: their results are the same on every
-- machine.
local function by_library(kind, device, work, a, b)
  if work < LIBRARY or not device.software or
      kind ~= "float" and kind ~= "double" or a.kind ~= kind or
      b.kind ~= kind then
    return false
  end
  local path, maker = core.linear.lapack.about()
  if not path or maker == "reference" then return false end
  local _, far = C.storage(a.base)
  local _, further = C.storage(b.base)
  return not far and not further
end

-- Multiplies arrays of matrices by the system's BLAS.  It reads rows as
-- columns, and so computes c' = b' a'.
local function product_by_library(kind, shape, a, b)
  local m, k, n = a.dims[2], a.dims[3], b.dims[3]
  local count = max(a.dims[1], b.dims[1])
  local into = new(kind, shape, nil, a.home)
  local x, first, xdistance = readable(a)
  local y, second, ydistance = readable(b)
  local function given(v)
    return {v.base, v.from, v.dims[1] > 1 and v.stride[1] or 0}
  end
  core.made(core.linear.lapack.call, "gemm", kind, count, {second, first, n, m,
    k, 1.0, given(y), ydistance, given(x), xdistance, 0.0, into.flat, n})
  local _, maker = core.linear.lapack.about()
  rawset(into, "by", format("%sgemm of %s", kind == "double" and "d" or "s",
    maker))
  return into
end

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
  if is_complex(a, b) then return core.complex_product(a, b) end
  local sums, kind = product_types("mm", a, b)
  a, b = core.operand_in(a, sums), core.operand_in(b, sums)
  local shape = {unpack(batch)}
  shape[#shape + 1], shape[#shape + 2] = m, n
  core.check_shape(shape, "mm")
  local work = k
  for _, size in ipairs(shape) do work = work * size end
  if work == 0 then return new(kind, shape, nil, a.home):fill(0) end
  local device, x, y = a.device, matrices(a, batch), matrices(b, batch)
  if by_library(kind, device, work, x, y) then
    return product_by_library(kind, shape, x, y)
  end
  local grouped = not device.software and
    device.max_group_size >= GROUP * GROUP
  local product = grouped and product_by_groups or
    device.software and a.kind == sums and b.kind == sums and
      work <= SMALL and product_by_elements or
    product_by_tiles
  return product(kind, shape, sums, x, y)
end)

-- --- mv, outer ---------------------------------------------------------------

-- Makes eight sums of every eighth product in a BLOCK, then adds them in pairs.
local function rows_text(zero, sum)
  local lines, add = writer()
  add "local math, fma = ..."
  add "return function(i, r, a, b, depth)"
  add "  local p = (i - 1) * depth"
  add("  local total = %s", zero)
  add("  for before = 0, depth - 1, %d do", BLOCK)
  add("  local last = math.min(before + %d, depth)", BLOCK)
  local function step(s, at)
    add("    c%d = %s", s, (sum:gsub("%u", {C = "c" .. s,
      A = "a[p + " .. at .. "]", B = "b[" .. at .. "]"})))
  end
  for s = 1, 8 do add("  local c%d = %s", s, zero) end
  add "  for q = before, last - 8, 8 do"
  for s = 1, 8 do step(s, "q + " .. s) end
  add "  end"
  add "  for q = last - last %% 8 + 1, last do"
  step(1, "q")
  add "  end"
  add "  total = total + (((c1 + c2) + (c3 + c4)) + ((c5 + c6) + (c7 + c8)))"
  add "  end"
  add "  r[i] = total"
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
  if is_complex(a, x) then
    return core.complex_product(a, x:reshape {depth, 1}):reshape {rows}
  end
  local sums, kind = product_types("mv", a, x)
  a, x = core.operand_in(a, sums), core.operand_in(x, sums)
  local into = new(kind, {rows}, nil, a.home)
  if rows == 0 then return into end
  if depth == 0 then return into:fill(0) end
  local whole = sums == "long"
  kernel_for(whole and "mv_long" or "mv", nil,
    whole and whole_rows or real_rows, math, C.work.fma)(rows, into.flat,
    core.contiguous(a).flat, core.contiguous(x).flat, depth)
  return into
end)

local product = core.binary("mul", "outer")

-- a:outer(b): the products of each element of a with each element of b.
define("outer", function(a, b)
  check_rank(a, 1, "a", "outer", 1)
  check_rank(b, 2, "b", "outer", 1)
  return product(a:reshape {-1, 1}, b)
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

-- a:tril([k]), a:triu([k]): the elements on and below, or on and above, the
-- k-th diagonal (default 0, the main one; 1 is above it); 0 elsewhere.
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
    kernel_for(name, nil, function() return triangle_text(condition) end)(
      {columns, rows, a.size // (rows * columns)}, into.flat,
      core.contiguous(a).flat, rows, columns, k or 0)
    return into
  end)
end
