-- complex.lua - elements of complex arrays, for the specs.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local assert = require "luassert"

local complex = {}

-- The complex types of the device.
complex.types = {"complex64"}
if lze.device().fp64 then complex.types[2] = "complex128" end

-- Returns the elements of an array as plain tables, row by row.
function complex.values(z)
  local list = z:read()
  for i, v in ipairs(list) do
    if type(v) == "table" then list[i] = {v[1], v[2]} end
  end
  return list
end

-- Returns true for equal numbers, zeros of one sign, or two NaNs.
local function same(v, w)
  if v ~= v or w ~= w then return v ~= v and w ~= w end
  return v == w and (v ~= 0 or 1 / v == 1 / w)
end

-- Returns an element as text.
local function text(v)
  return type(v) == "table" and ("{%s, %s}"):format(v[1], v[2]) or tostring(v)
end

-- Checks elements to the sign of their zeros.
function complex.exactly(expected, z)
  local got = complex.values(z)
  assert.equal(#expected, #got)
  for i, v in ipairs(expected) do
    local w = got[i]
    local ok = type(v) == "table" and same(v[1], w[1]) and same(v[2], w[2]) or
      type(v) == "number" and same(v, w)
    if not ok then
      error(("element %d: %s expected, got %s"):format(i, text(v), text(w)), 2)
    end
  end
end

-- Returns a number rounded to the parts of a complex type.
function complex.rounded(kind, v)
  return kind == "complex64" and string.unpack("f", string.pack("f", v)) or v
end

complex.same, complex.text = same, text

return complex
