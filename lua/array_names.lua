-- array_names.lua - arrays: names of the Python array API standard.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, define, fail = core.A, core.C, core.define, core.fail
local check, types = core.check_numbers, core.types
local ipairs, type = ipairs, type

-- Operators and comparisons as functions.
for name, o in next, {add = {"add"}, subtract = {"sub"}, multiply = {"mul"},
  divide = {"div", "real"}, floor_divide = {"idiv"}, pow = {"pow", "real"},
  bitwise_and = {"band", "bits"}, bitwise_or = {"bor", "bits"},
  bitwise_xor = {"bxor", "bits"}, bitwise_left_shift = {"shl", "bits"},
  bitwise_right_shift = {"shr", "bits"}, equal = {"eq", "mask"},
  not_equal = {"ne", "mask"}, less = {"lt", "mask"},
  less_equal = {"le", "mask"}, greater = {"gt", "mask"},
  greater_equal = {"ge", "mask"}, maximum = {"greatest"},
  minimum = {"least"}} do
  define(name, core.binary(o[1], name, o[2], name))
end

define("negative", function(a) return -check(a, 1, "a", "negative") end)

define("bitwise_invert", function(a)
  check(a, 1, "a", "bitwise_invert")
  if types[a.kind].real then
    fail("bitwise_invert: argument 1 (a): integers expected, got %s", a.kind)
  end
  return ~a
end)

-- clip(a [, low [, high]]): elements that are not below low or above high.
define("clip", function(a, low, high)
  check(a, 1, "a", "clip")
  for n, v in next, {[2] = low, [3] = high} do
    if type(v) ~= "number" and not core.is(v) then
      fail("clip: argument %d (%s): an array or a number expected, got %s", n,
        n == 2 and "low" or "high", C.describe(v))
    end
  end
  if low ~= nil and high ~= nil then return a:clamp(low, high) end
  if low ~= nil then return a:max(low) end
  if high ~= nil then return a:min(high) end
  return a:clone()
end)

for name, o in next, {unique_values = {}, unique_counts = {counts = true},
  unique_inverse = {inverse = true}} do
  define(name, function(a)
    check(a, 1, "a", name)
    return a:unique(o)
  end)
end

define("unique_all", function(a)
  check(a, 1, "a", "unique_all")
  local values, counts, inverse, index = a:unique {counts = true,
    inverse = true, index = true}
  return values, index, inverse, counts
end)

-- The kinds of types in the standard; masks are uchar.
local kinds = {bool = {}, ["signed integer"] = {signed = true},
  ["unsigned integer"] = {unsigned = true},
  integral = {signed = true, unsigned = true},
  ["real floating"] = {real = true},
  ["complex floating"] = {complex = true},
  numeric = {signed = true, unsigned = true, real = true, complex = true}}

-- Returns the name of a type that may be complex, and what sort of type it is.
local function sort_of(name, where)
  name = core.any_type_of(name, "isdtype", where)
  local t = types[name]
  if not t then return name, "complex" end
  return name, t.real and "real" or t.signed and "signed" or "unsigned"
end

-- A.isdtype(type, kind) -> true if a type is of a kind, or of one of a list.
function A.isdtype(name, kind)
  local sort
  name, sort = sort_of(name, "argument 1 (type)")
  local list = type(kind) == "table" and not core.is(kind) and kind or {kind}
  if kind == nil then sort_of(kind, "argument 2 (kind)") end
  local found = false
  for _, k in ipairs(list) do
    if kinds[k] then
      found = found or kinds[k][sort] == true
    else
      found = sort_of(k, "argument 2 (kind)") == name or found
    end
  end
  return found
end

-- Functions with a second name, by that name.
core.aliases = {concat = "cat", permute_dims = "permute",
  broadcast_to = "expand", take_along_axis = "gather", count_nonzero = "count",
  cumulative_sum = "cumsum", cumulative_prod = "cumprod", astype = "to",
  empty = "zeros", empty_like = "zeros_like"}
