-- array_model.lua - arrays in plain Lua, evaluated at once; specs compare
-- arrays with them.
-- SPDX-License-Identifier: MIT
--
-- A model is {type =, shape =, strides =, offset =, data =, mask =}; views
-- share their data.  Offsets count from 1; strides are in elements.

local model = {}

local widths = {char = 8, uchar = 8, short = 16, ushort = 16, int = 32,
  uint = 32, long = 64, ulong = 64}
local mantissas = {half = 11, bfloat16 = 8}
local reals = {half = 1, bfloat16 = 1, float = 2, double = 3}

function model.is_real(kind) return reals[kind] ~= nil end
function model.is_unsigned(kind) return kind:sub(1, 1) == "u" end

local function single(v) return (string.unpack("<f", string.pack("<f", v))) end

-- Returns a real rounded to `bits` bits, ties to even, and to the exponents
-- `low` to `high`.
local function few_bits(v, bits, low, high)
  v = single(v)
  if v ~= v or v == 0 or v - v ~= 0 then return v end
  local e = (string.unpack("<I8", string.pack("<d", v)) >> 52 & 2047) - 1023
  local unit = 2.0 ^ (math.max(e, low) - bits + 1)
  local n = v / unit
  local whole = math.floor(n)
  local rest = n - whole
  if rest > 0.5 or rest == 0.5 and whole % 2 == 1 then whole = whole + 1 end
  local r = whole * unit
  if r == 0 and v < 0 then r = -0.0 end
  if math.abs(r) >= 2.0 ^ (high + 1) then r = v < 0 and -math.huge or math.huge
  end
  return r
end

-- Returns an element of ulong as a real.  Reads return values from 2^63 on as
-- negative integers.
local function real_of(v)
  return v >= 0 and v + 0.0 or (v >> 1 | v & 1) * 2.0
end

-- Returns the value of an element of type `kind` after v, an element of type
-- `from`, is stored into it.
function model.round(kind, v, from)
  local n = widths[kind]
  if from == "ulong" and not n then v = real_of(v) end
  if n then
    if math.type(v) ~= "integer" then
      error("a real for " .. kind .. ": " .. tostring(v), 2)
    end
    if n == 64 then return v end
    v = v & (1 << n) - 1
    if not model.is_unsigned(kind) and v >> n - 1 == 1 then v = v - (1 << n) end
    return v
  end
  v = v * 1.0 -- keeps -0.0
  if kind == "double" then return v end
  if kind == "float" then return single(v) end
  if kind == "half" then return few_bits(v, mantissas.half, -14, 15) end
  return few_bits(v, mantissas.bfloat16, -126, 127)
end

-- Returns the result of :to for v: a real that becomes an integer is truncated.
function model.cut(kind, v)
  if not reals[kind] and math.type(v) == "float" then v = math.tointeger(
    v < 0 and math.ceil(v) or math.floor(v)) end
  return model.round(kind, v)
end

-- Returns the type of a result of two types, or nil if they cannot be mixed.
function model.promote(a, b)
  if a == b then return a end
  local ra, rb = reals[a], reals[b]
  if ra and rb then return ra == rb and "float" or ra > rb and a or b end
  if ra or rb then return ra and a or b end
  local ua, ub = model.is_unsigned(a), model.is_unsigned(b)
  local wa, wb = widths[a], widths[b]
  if ua == ub then return wa >= wb and a or b end
  if ub then a, wa, wb = b, wb, wa end -- a is the unsigned one
  if a == "ulong" then return nil end
  local wide = math.max(wb, 2 * wa)
  return ({[16] = "short", [32] = "int", [64] = "long"})[wide]
end

-- Returns the type of a result with a number, whose type is weak.
function model.promote_number(a, v)
  if reals[a] or math.type(v) == "integer" then return a end
  return "float"
end

function model.count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

function model.strides(shape)
  local strides, n = {}, 1
  for d = #shape, 1, -1 do
    strides[d] = n
    n = n * shape[d]
  end
  return strides
end

function model.new(kind, shape, data)
  return {type = kind, shape = shape, strides = model.strides(shape),
    offset = 1, data = data}
end

-- Call f(place, index) for each element, in row-major order.  All calls get the
-- same table `index`, changed.
function model.each(m, f)
  local rank, index = #m.shape, {}
  for d = 1, rank do
    if m.shape[d] == 0 then return end
    index[d] = 1
  end
  local place = m.offset
  while true do
    f(place, index)
    local d = rank
    while d >= 1 do
      place = place + m.strides[d]
      index[d] = index[d] + 1
      if index[d] <= m.shape[d] then break end
      place = place - m.shape[d] * m.strides[d]
      index[d] = 1
      d = d - 1
    end
    if d < 1 then return end
  end
end

-- Returns the elements as a flat list.
function model.read(m)
  local t = {}
  model.each(m, function(place) t[#t + 1] = m.data[place] end)
  return t
end

-- Returns the common shape of two shapes, or nil.
function model.broadcast(a, b)
  local shape, rank = {}, math.max(#a, #b)
  for d = 1, rank do
    local x, y = a[#a - rank + d] or 1, b[#b - rank + d] or 1
    if x ~= y and x ~= 1 and y ~= 1 then return nil end
    shape[d] = x == 1 and y or x
  end
  return shape
end

-- Returns a view of a larger shape.
function model.expand(m, shape)
  local strides, skip = {}, #shape - #m.shape
  for d = 1, #shape do
    local size = m.shape[d - skip]
    strides[d] = size and not (size == 1 and shape[d] ~= 1) and
      m.strides[d - skip] or 0
  end
  return {type = m.type, mask = m.mask, shape = shape, strides = strides,
    offset = m.offset, data = m.data}
end

-- Returns a view with permuted dimensions: dimension d was dimension order[d].
function model.permute(m, order)
  local v = {type = m.type, mask = m.mask, shape = {}, strides = {},
    offset = m.offset, data = m.data}
  for d, from in ipairs(order) do
    v.shape[d], v.strides[d] = m.shape[from], m.strides[from]
  end
  return v
end

-- Returns a view by an index table: numbers and {first, last, step}, all valid.
function model.index(m, list)
  local v = {type = m.type, mask = m.mask, shape = {}, strides = {},
    offset = m.offset, data = m.data}
  for d, size in ipairs(m.shape) do
    local i = list[d] or {}
    if type(i) == "number" then
      if i < 0 then i = size + 1 + i end
      v.offset = v.offset + (i - 1) * m.strides[d]
    else
      local first, last, step = i[1] or 1, i[2] or size, i[3] or 1
      if first < 0 then first = size + 1 + first end
      if last < 0 then last = size + 1 + last end
      v.shape[#v.shape + 1] = math.max((last - first + step) // step, 0)
      v.strides[#v.strides + 1] = m.strides[d] * step
      v.offset = v.offset + (first - 1) * m.strides[d]
    end
  end
  return v
end

-- Returns f of lists or numbers with the highest bit changed, and the function
-- that changes it: ulong is ordered as long is with that bit changed.
function model.flipped(f)
  local function flip(v, ...)
    if type(v) == "table" then
      local t = {}
      for i, x in ipairs(v) do t[i] = x ~ math.mininteger end
      return t
    end
    if v ~= nil then return v ~ math.mininteger, flip(...) end
  end
  return function(...) return f(flip(...)) end, flip
end

-- Returns quotient and remainder of elements of ulong, bit by bit; both are 0
-- for a division by zero.
function model.divide(x, y)
  local q, r = 0, 0
  if y == 0 then return 0, 0 end
  for bit = 63, 0, -1 do
    local carried = r < 0
    r = r << 1 | x >> bit & 1
    if carried or not math.ult(r, y) then q, r = q | 1 << bit, r - y end
  end
  return q, r
end

-- Returns a list of elements of ulong as reals.
function model.reals(list)
  local t = {}
  for i, v in ipairs(list) do t[i] = real_of(v) end
  return t
end

-- Returns a new model with f of the elements of models of one shape.
function model.map(kind, f, ...)
  local first, lists, out = ..., {}, {}
  for i, m in ipairs {...} do lists[i] = model.read(m) end
  for i = 1, model.count(first.shape) do
    local values = {}
    for k, list in ipairs(lists) do values[k] = list[i] end
    out[i] = model.round(kind, f(table.unpack(values)))
  end
  return model.new(kind, first.shape, out)
end

-- Write the elements of another model, broadcast to this one's shape.
function model.write(m, from)
  local list, i = model.read(model.expand(from, m.shape)), 0
  model.each(m, function(place)
    i = i + 1
    m.data[place] = model.round(m.type, list[i], from.type)
  end)
end

-- Reduce dimension d, or the whole model if d is nil, by f(list) -> value.
function model.reduce(m, kind, f, d, keep)
  if not d then
    return model.new(kind, {}, {model.round(kind, f(model.read(m)))})
  end
  local order, shape, kept = {}, {}, {}
  for k, size in ipairs(m.shape) do
    if k ~= d then
      order[#order + 1], shape[#shape + 1], kept[k] = k, size, size
    else
      kept[k] = 1
    end
  end
  order[#order + 1] = d
  local list, n, out = model.read(model.permute(m, order)), m.shape[d], {}
  for i = 1, model.count(shape) do
    out[i] = model.round(kind, f(table.move(list, (i - 1) * n + 1, i * n, 1,
      {})))
  end
  return model.new(kind, keep and kept or shape, out)
end

-- Scan dimension d by f(list) -> list.
function model.scan(m, kind, f, d)
  local order, back = {}, {}
  for k = 1, #m.shape do if k ~= d then order[#order + 1] = k end end
  order[#order + 1] = d
  for k, from in ipairs(order) do back[from] = k end
  local p = model.permute(m, order)
  local list, n, out = model.read(p), m.shape[d], {}
  for i = 0, n > 0 and #list // n - 1 or -1 do
    local part = f(table.move(list, i * n + 1, (i + 1) * n, 1, {}))
    for k = 1, n do out[i * n + k] = model.round(kind, part[k]) end
  end
  return model.permute(model.new(kind, p.shape, out), back)
end

return model
