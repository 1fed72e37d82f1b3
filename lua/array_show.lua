-- array_show.lua - arrays as text, laid out as NumPy's are.
-- SPDX-License-Identifier: MIT

local core = ...
local A, fail, point = core.A, core.fail, core.point
local ipairs, type = ipairs, type
local concat, format, mathtype, rep = table.concat, string.format, math.type,
  string.rep

-- The print options: arrays with at most `threshold` elements are shown
-- in full; a line has `width` characters, if possible; a number has at most
-- `precision` digits after the point, and no exponent if `suppress`.
local current = {threshold = 1000, width = 75, precision = 8, suppress = false}

-- Bits of a mantissa, by the scalar type.
local mantissa = {half = 11, bfloat16 = 8, float = 24, double = 53}

-- The least positive number of these types.
local least = {[11] = 2 ^ -24, [8] = 2 ^ -133, [24] = 2 ^ -149}

local function rounded(v, bits)
  if bits == 53 then return v end
  if v < least[bits] * 2 ^ (bits - 1) then
    local c = least[bits] * (3 << 51)
    return v + c - c
  end
  local c = v * ((1 << 53 - bits) + 1)
  return c - (c - v)
end

-- Returns the fewest digits that identify a positive real among its type's
-- values, and its exponent, d.ddde±xx; at most `most` after the point.
local function shortest(v, bits, most)
  for n = 0, most - 1 do
    local text = format("%." .. n .. "e", v)
    if rounded(text + 0.0, bits) == v then return point(text) end
  end
  return point(format("%." .. most .. "e", v))
end

-- Splits the text of a real at its point.
local function positional(v, bits)
  local text = shortest(v, bits, 16)
  local e = text:match "e(.*)$" + 0
  local digits = #text:match "^[^e]*":gsub("%D", "")
  local n = math.min(math.max(digits - 1 - e, 1), current.precision)
  if n == 0 then return format("%.0f", v), "" end
  local whole, part = point(format("%." .. n .. "f", v))
    :match "^(%d+)%.(%d+)$"
  return whole, part:match "^(%d.-)0*$"
end

-- Returns the number of digits after the point that identify a real, written
-- with an exponent, among its type's values: at least one.
local function decimals(v, bits)
  return math.max(1, #shortest(v, bits, current.precision):match "^%d%.?(%d*)e")
end

-- Splits the text of a real with an exponent: the digit before the point,
-- `digits` digits after it, and the exponent.
local function scientific(v, digits)
  return point(format("%." .. digits .. "e", v)):match "^(%d)%.(%d*)e(.*)$"
end

local function finite(v) return v - v == 0 end

-- Returns texts of reals, of one width, with aligned points.
local function reals(values, bits)
  local high, low = 0, math.huge
  for _, v in ipairs(values) do
    local a = math.abs(v)
    if a > 0 and finite(a) then
      if a > high then high = a end
      if a < low then low = a end
    end
  end
  local exponents = not current.suppress and (high >= 1e8 or low < 1e-4 or
    high > 0 and high / low > 1000)
  local parts, before, behind, other, digits = {}, 0, 0, 0, 1
  for _, v in ipairs(exponents and values or {}) do
    if finite(v) then digits = math.max(digits, decimals(math.abs(v), bits)) end
  end
  for i, v in ipairs(values) do
    if finite(v) then
      local negative = v < 0 or v == 0 and 1 / v < 0
      local whole, part, e
      if exponents then whole, part, e = scientific(math.abs(v), digits)
      else whole, part = positional(math.abs(v), bits) end
      if negative then whole = "-" .. whole end
      parts[i] = {whole, part, e}
      before = math.max(before, #whole)
      behind = math.max(behind, #part)
      if e then other = math.max(other, #e) end
    else
      parts[i] = v ~= v and "nan" or v > 0 and "inf" or "-inf"
    end
  end
  local texts = {}
  for i, p in ipairs(parts) do
    if type(p) == "string" then
      texts[i] = p
    elseif p[3] then
      local e = p[3]
      if #e < other then e = e:sub(1, 1) .. rep("0", other - #e) .. e:sub(2) end
      texts[i] = rep(" ", before - #p[1]) .. p[1] .. "." .. p[2] .. "e" .. e
    else
      texts[i] = rep(" ", before - #p[1]) .. p[1] .. "." .. p[2] ..
        rep(" ", behind - #p[2])
    end
  end
  return texts
end

-- Returns the text of an integer, as a ulong element if `unsigned`.
function core.integer_text(v, unsigned)
  if mathtype(v) ~= "integer" or v >= 0 or not unsigned then
    return format("%d", v)
  end
  local q = (v >> 1) // 5
  return format("%d%d", q, v - q * 10)
end

-- Returns texts of one width for values of an element type.
local function texts_of(values, kind)
  local scalar = core.scalars[kind] or kind
  local texts = {}
  if type(values[1]) == "table" then -- vectors: their parts in columns
    local columns = {}
    for c = 1, #values[1] do
      local column = {}
      for i, v in ipairs(values) do column[i] = v[c] end
      columns[c] = texts_of(column, scalar)
    end
    for i = 1, #values do
      local row = {}
      for c, column in ipairs(columns) do row[c] = column[i] end
      texts[i] = "{" .. concat(row, ", ") .. "}"
    end
    return texts
  end
  if mantissa[scalar] then
    texts = reals(values, mantissa[scalar])
  else
    local unsigned = scalar == "ulong"
    for i, v in ipairs(values) do texts[i] = core.integer_text(v, unsigned) end
  end
  local longest = 0
  for _, s in ipairs(texts) do longest = math.max(longest, #s) end
  for i, s in ipairs(texts) do texts[i] = rep(" ", longest - #s) .. s end
  return texts
end

-- Returns the number of places shown at each end of a long dimension.
local function edge(rank)
  return rank <= 3 and 3 or rank == 4 and 2 or 1
end

-- Returns the places of a dimension to show, from 1; 0 stands for the gap.
local function shown(size, cut, ends)
  local list = {}
  if not cut or size <= 2 * ends then
    for i = 1, size do list[i] = i end
    return list
  end
  for i = 1, ends do list[i] = i end
  list[ends + 1] = 0
  for i = size - ends + 1, size do list[#list + 1] = i end
  return list
end

-- Returns the elements of an array in brackets.  `read(place)` returns the
-- element at a place, counted from 0 by the strides.
local function elements(kind, shape, strides, read)
  local rank, n, limit = #shape, 1, current.threshold
  for _, size in ipairs(shape) do
    if size == 0 then return rep("[", rank) .. rep("]", rank) end
    -- Stop before the count overflows.
    n = n > limit and n or n * size
  end
  local lists, values = {}, {}
  for d = 1, rank do lists[d] = shown(shape[d], n > limit, edge(rank)) end
  local function gather(d, place)
    if d > rank then
      values[#values + 1] = read(place)
      return
    end
    for _, i in ipairs(lists[d]) do
      if i > 0 then gather(d + 1, place + (i - 1) * strides[d]) end
    end
  end
  gather(1, 0)
  local texts, next_text = texts_of(values, kind), 0
  -- Returns the lines of dimension d, all but the first indented.
  local function lay(d)
    if d > rank then
      next_text = next_text + 1
      return texts[next_text]
    end
    local out, indent = {}, "\n" .. rep(" ", d)
    if d < rank then
      for j, i in ipairs(lists[d]) do
        out[j] = i == 0 and "..." or lay(d + 1)
      end
      return "[" .. concat(out, rep("\n", rank - d) .. rep(" ", d)) .. "]"
    end
    local column = d
    for j, i in ipairs(lists[d]) do
      local s = i == 0 and "..." or lay(d + 1)
      if j > 1 and column + 1 + #s + rank > current.width then
        out[#out] = out[#out]:match "^(.-) *$"
        out[#out + 1], column = indent, d
      elseif j > 1 then
        out[#out + 1], column = " ", column + 1
      end
      out[#out + 1], column = s, column + #s
    end
    return "[" .. concat(out) .. "]"
  end
  return lay(1)
end

local function text(a)
  local function read(place)
    return core.element(a, a.from + place + 1, "print")
  end
  return elements(a.kind, a.dims, a.stride, read)
end

-- Describes an array without its elements.
local function without(a, head, why)
  local hint = #a.dims == 0 and "; a:item() gives the number" or ""
  return format("%s (%s%s)", head, why, hint)
end

-- tostring of an array.  print waits for the elements; any other caller gets
-- what is already computed, without errors.
core.meta.__tostring = function(a)
  local head = format("array: %s%s %s", a.kind, a.mask and " mask" or "",
    core.shape_text(a.dims))
  local body
  if a.op then
    if core.is_closed(a) then return head .. " (closed)" end
    if not core.C.printed() then return without(a, head, "not computed") end
    a:eval()
  end
  local open, busy = core.C.pcall(a.base.pending, a.base)
  if not open then return head .. " (closed)" end
  if core.C.printed() then
    body = text(a)
  elseif busy then
    return without(a, head, "busy")
  elseif a.base.usage == "device" then
    return without(a, head, "on the device")
  else
    local ok, said = core.C.pcall(text, a)
    if not ok then return head .. " (failed)" end
    body = said
  end
  local fits = #a.dims < 2 and #body < current.width - #head
  return head .. (fits and " " or "\n") .. body
end

-- Least and largest values of the options that are integers.
local ranges = {precision = {0, 17}, threshold = {0, math.maxinteger},
  width = {1, math.maxinteger}}

-- A.print_options([options]): sets how arrays are printed; returns all options.
function A.print_options(o)
  o = core.options(o, {"precision", "threshold", "width", "suppress"},
    "print_options", 1)
  local new = {}
  for name, v in next, o do
    local range = ranges[name]
    if not range and type(v) ~= "boolean" then
      fail("print_options: argument 1 (options): suppress: boolean expected, "
        .. "got %s", core.C.describe(v))
    elseif range and v == math.huge then
      v = range[2]
    elseif range then
      v = core.check_integer(v, "print_options",
        "argument 1 (options): " .. name, format("an integer from %d to %d",
          range[1], range[2]), range[1], range[2])
    end
    new[name] = v
  end
  for name, v in next, current do
    if new[name] == nil then new[name] = v end
  end
  current = new
  local copy = {}
  for name, v in next, new do copy[name] = v end
  return copy
end
