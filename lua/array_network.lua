-- array_network.lua - arrays: keys for sorting, and sorting short rows by a
-- network.
-- SPDX-License-Identifier: MIT
--
-- On a CPU, a work-item sorts some rows at once: it copies their elements, side
-- by side, as integer keys and exchanges pairs of keys.  The pairs depend only
-- on the length of the rows, so the rows are lanes of vectors.  The network is
-- K. E. Batcher's merge exchange, Sorting networks and their applications
-- (1968), for any length: D. E. Knuth, The Art of Computer Programming 3,
-- 5.2.2, algorithm M.
--
-- Equal keys stand for one element, except zeros and NaNs: rows that have
-- negative zeros or NaNs are read again, and these are written in their order.
-- Sorted indices are the lower halves of keys, so no two keys are equal.

local core = ...
local C, new, types, writer = core.C, core.new, core.types, core.writer
local concat, format, unpack = table.concat, string.format, table.unpack

local MOST <const> = 4096 -- elements of a row
local ITEMS <const> = 64

-- --- keys --------------------------------------------------------------------

-- A key is compared instead of an element's bits, unsigned.  `element` returns
-- the bits for a key, and `odd` 1 if the bits may be others: NaNs sort last,
-- and -0 equals 0.  The forms without branches become instructions of vectors.
local sort_keys = {
  integers = {
    key = function(b, _, _, flip) return b ~ flip end,
    element = function(k, _, flip) return k ~ flip end,
    odd = function() return 0 end
  },
  reals = {
    key = function(b, high, inf, flip)
      local magnitude, most = b & high - 1, high | high - 1
      local up, down = (magnitude | high) ~ flip, high - 1 - magnitude ~ flip
      local k = b ~= magnitude and down or up
      k = magnitude ~= 0 and k or up
      return magnitude > inf and most or k
    end,
    element = function(k, high, flip)
      local u = k ~ flip
      local up, down = u & high - 1, ~u & (high | high - 1)
      return u & high ~= 0 and up or down
    end,
    odd = function(b, high, inf)
      return (b & high - 1 > inf or b == high) and 1 or 0
    end
  }
}

-- The bits of infinity.
local infinite = {half = 0x7c00, bfloat16 = 0x7f80, float = 0x7f800000,
  double = 0x7ff0 << 48}

-- Returns a type's highest bit, infinity, and the bits to flip in keys.
local function key_arguments(kind, descending)
  local t = types[kind]
  local high = 1 << t.bits - 1
  local flip = descending and high | high - 1 or 0
  if t.signed then flip = flip ~ high end
  return high, infinite[kind] or 0, flip
end

core.sort_keys, core.key_arguments = sort_keys, key_arguments

-- --- the network -------------------------------------------------------------

-- Kernel of work-item i: it sorts blocks of `lanes` rows of n elements, in its
-- part of `keys`.  `sign` makes 64-bit keys compare as signed integers.
local body = [[
local math, key_of, element_of, is_odd = ...
return function(i, out, from, keys, rows, n, top, items, high, inf, flip)
  local base = (i - 1) * n * $lanes
  local block = i - 1
  while block * $lanes < rows do
    local odd = 0
    for l = 0, $lanes - 1 do
      local row = math.min(block * $lanes + l, rows - 1) * n
      local to = base + l + 1
      for p = 1, n do
        keys[to] = from[row + p]
        to = to + $lanes
      end
    end
    for p = 1, n do
      for e = base + (p - 1) * $lanes + 1, base + p * $lanes do
        local b = keys[e]
        odd = odd | is_odd(b, high, inf)
        keys[e] = $load
      end
    end
    local p = top
    while p > 0 do
      local q, r, d = top, 0, p
      while d > 0 do
        local start = r
        while start < n - d do
          for e = start, math.min(start + p, n - d) - 1 do
            local x = base + e * $lanes
            local y = x + d * $lanes
            $exchange
          end
          start = start + 2 * p
        end
        d, q, r = q - p, q >> 1, p
      end
      p = p >> 1
    end
    for l = 0, math.min($lanes, rows - block * $lanes) - 1 do
      local row = (block * $lanes + l) * n
      local at = base + l + 1
      for p = 1, n do
        local k = keys[at]
        out[row + p] = $store
        at = at + $lanes
      end
      $again
    end
    block = block + items
  end
end]]

-- Writes the zeros and NaNs of a row in the order in which they were.
local again = [[
if odd ~= 0 then
  local zero, nan = 1, 1
  while zero < n and out[row + zero] ~= 0 do zero = zero + 1 end
  while nan < n and out[row + nan] & high - 1 <= inf do nan = nan + 1 end
  for p = 1, n do
    local b = from[row + p]
    local magnitude = b & high - 1
    if magnitude == 0 then
      out[row + zero] = b
      zero = zero + 1
    elseif magnitude > inf then
      out[row + nan] = b
      nan = nan + 1
    end
  end
end]]

local function exchange_text(lanes)
  local lines, add = writer()
  for l = 1, lanes do add("local a%d = keys[x + %d]", l, l) end
  for l = 1, lanes do add("local b%d = keys[y + %d]", l, l) end
  for l = 1, lanes do add("keys[x + %d] = math.min(a%d, b%d)", l, l, l) end
  for l = 1, lanes do add("keys[y + %d] = math.max(a%d, b%d)", l, l, l) end
  return concat(lines, "\n")
end

local kernels = {}

local function kernel_of(real, wide, as_indices, lanes)
  local name = as_indices and "argsort_network" or "sort_network"
  local key = concat({name, real and "real" or "integer", wide and 64 or 32,
    lanes}, " ")
  if not kernels[key] then
    local load, store = "key_of(b, high, inf, flip)",
      "element_of(k, high, flip)"
    if as_indices then
      load, store = format("%s << 32 ~ math.mininteger | p", load),
        "k & 0xffffffff"
    elseif wide then
      load, store = load .. " ~ math.mininteger",
        "element_of(k ~ math.mininteger, high, flip)"
    end
    local text = body:gsub("%$(%l+)", {lanes = tostring(lanes), load = load,
      store = store, exchange = exchange_text(lanes),
      again = real and not as_indices and again or ""})
    local k = real and sort_keys.reals or sort_keys.integers
    kernels[key] = C.kernel(C.text(text, name)(math, k.key, k.element, k.odd),
      {name = "array_" .. name})
  end
  return kernels[key]
end

-- Sorts rows of n elements of a, which is contiguous, into a new array of
-- elements or of their indices; `high`, `inf` and `flip` describe keys.
-- Returns nil if another way is better.
function core.sort_by_network(a, n, as_indices, high, inf, flip)
  local wide = types[a.kind].bits == 64
  if not a.device.software or n > MOST or wide and as_indices then
    return nil
  end
  local rows = a.size // n
  local long = wide or as_indices
  local lanes = rows < 4 and 1 or long and 8 or 16
  local blocks = (rows + lanes - 1) // lanes
  local items = math.min(blocks, ITEMS)
  local top = 1
  while top * 2 < n do top = top * 2 end
  local into = new(as_indices and "long" or a.kind, {unpack(a.dims)},
    not as_indices and a.mask or nil, a.home)
  local keys = core.beside(a.home, long and "long" or "uint",
    items * n * lanes)
  kernel_of(types[a.kind].real, wide, as_indices, lanes)(core.items(items,
    a.device), as_indices and into.buffer or core.bits(into, "sort"),
    core.bits(a, "sort"), keys, rows, n, n > 1 and top or 0, items, high, inf,
    flip)
  return into
end
