-- array.lua - lze.array: arrays of any rank over buffers.
-- SPDX-License-Identifier: MIT
--
-- An array is a table that no script sees.  A script has a userdata in its
-- place (src/array/lze_expression.c); the functions of A, as scripts call them,
-- take and return that userdata.  The table holds what only these files use:
-- kind (the element type), dims (the shape), stride (of each dimension, in
-- elements), mask (true if it is the result of a comparison), base (the buffer
-- that holds its elements), from (number of elements before the first), size
-- (number of elements), flat (a buffer of exactly its elements, if they are
-- contiguous), key ("mask" for a mask, else kind), and the fields of
-- array_expression.lua.
-- Arrays share tables of dims, so scripts get a copy of it.

local C = ...
local lze = C.lze()
C.work, C.type = lze.work, lze.type
local error, getmetatable, ipairs, select, setmetatable, tostring, type =
  error, getmetatable, ipairs, select, setmetatable, tostring, type
local concat, unpack = table.concat, table.unpack
local format, max, mathtype = string.format, math.max, math.type

-- Kernels that contain a script function are checked like the script's own
-- kernels.  Kernels of these files alone are not: their behaviour is intended,
-- such as integers that wrap.
C.script_kernel = lze.kernel
function C.kernel(f, o) return C.meant(lze.kernel(f, o)) end

-- Allocates memory for an array; profiles count it as such.
function C.buffer(...) return C.own(lze.buffer(...)) end

local MOST_DIMENSIONS <const> = 8
local MOST_ELEMENTS <const> = 1 << 48

local A, methods = {}, {}

-- Value of getmetatable(array); identifies arrays.  If a script sets it as a
-- metatable, getmetatable returns the text of lze's other objects.
local mark = {__metatable = "an object of lze"}
local meta = {__metatable = mark}                    -- of tables
local outer_meta = {__metatable = mark, __name = "array"} -- of userdata

local function fail(...) error(C.where() .. format(...), 0) end

local function is(v) return getmetatable(v) == mark end

-- --- types -------------------------------------------------------------------

-- Size in bits, and whether the type is real or signed.
local types = {
  char = {bits = 8, signed = true}, uchar = {bits = 8},
  short = {bits = 16, signed = true}, ushort = {bits = 16},
  int = {bits = 32, signed = true}, uint = {bits = 32},
  long = {bits = 64, signed = true}, ulong = {bits = 64},
  half = {bits = 16, real = true}, bfloat16 = {bits = 16, real = true},
  float = {bits = 32, real = true}, double = {bits = 64, real = true}
}
local aliases = {i8 = "char", u8 = "uchar", i16 = "short", u16 = "ushort",
  i32 = "int", u32 = "uint", i64 = "long", u64 = "ulong", f16 = "half",
  bf16 = "bfloat16", f32 = "float", f64 = "double", int8 = "char",
  uint8 = "uchar", int16 = "short", uint16 = "ushort", int32 = "int",
  uint32 = "uint", int64 = "long", uint64 = "ulong", float16 = "half",
  float32 = "float", float64 = "double", float2 = "complex64",
  double2 = "complex128"}
local signed = {[8] = "char", [16] = "short", [32] = "int", [64] = "long"}
local names = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "bfloat16", "float", "double"}

-- Returns true if kernels with 32-bit integers can compute with every value of
-- a type.
local function is_narrow(kind)
  local t = types[kind]
  return t.real or t.bits < 32 or kind == "int"
end

-- Checks the name of a real type; errors name the argument as in "argument 2
-- (type)".
local function type_of(name, fname, where)
  name = aliases[name] or name
  if not types[name] then
    fail("%s: %s: one of %s expected, got %s", fname, where,
      concat(names, ", "), C.describe(name))
  end
  return name
end

-- Checks the name of a type, which may be complex.
local function any_type_of(name, fname, where)
  name = aliases[name] or name
  if C.core.scalars[name] then return name end
  if types[name] then return name end
  fail("%s: %s: one of %s, complex64, complex128 expected, got %s", fname,
    where, concat(names, ", "), C.describe(name))
end

-- Returns the type of a result of two arrays; nil and the reason if they have
-- no common type.
local function promote(a, b)
  if a == b then return a end
  local s, t = types[a], types[b]
  if not (s and t) then -- one of them is complex
    local double = C.core.reals[a] == "double" or C.core.reals[b] == "double"
    return double and "complex128" or "complex64"
  elseif s.real and t.real then
    if s.bits == t.bits then return "float" end
    return s.bits > t.bits and a or b
  elseif s.real or t.real then
    return s.real and a or b
  elseif s.signed == t.signed then
    return s.bits > t.bits and a or b
  end
  local unsigned = s.signed and t or s
  local other = s.signed and s or t
  if unsigned.bits < other.bits then return s.signed and a or b end
  if unsigned.bits == 64 then
    return nil, format("%s with %s has no type for its results; use :to", a, b)
  end
  return signed[unsigned.bits * 2]
end

-- --- arrays ------------------------------------------------------------------

local function count_of(shape)
  local n = 1
  for d = 1, #shape do n = n * shape[d] end
  return n
end

-- Returns true if a shape has more elements than an array may have.
local function is_too_large(shape)
  local n, large = 1, false
  for d = 1, #shape do
    local s = shape[d]
    if s == 0 then return false end
    large = large or n > MOST_ELEMENTS // s
    n = n * s
  end
  return large
end

local function packed_strides(shape)
  local strides, n = {}, 1
  for d = #shape, 1, -1 do
    strides[d] = n
    n = n * max(shape[d], 1)
  end
  return strides
end

local function shape_text(shape) return "{" .. concat(shape, ", ") .. "}" end

-- Returns true if the elements, if any, are contiguous in row-major order.
local function is_packed(shape, strides)
  local n = 1
  for d = #shape, 1, -1 do
    if shape[d] ~= 1 and strides[d] ~= n then return false end
    n = n * shape[d]
  end
  return true
end

-- Returns an array over elements of a buffer.  `owner` is true if the buffer
-- was made for it.  An empty array ignores `from`.
local function array_over(base, from, shape, strides, mask, owner)
  local size, kind = count_of(shape), base.type
  kind = C.core.complex_kinds[kind] or kind
  local a = {kind = kind, dims = shape, stride = strides, base = base,
    from = size > 0 and from or 0, size = size, mask = mask, op = false,
    owner = owner, key = mask and "mask" or kind}
  if size == 0 or is_packed(shape, strides) then
    a.flat = a.from == 0 and size == #base and base or
      base:view(a.from + 1, a.from + size)
  end
  return setmetatable(a, meta)
end

local function passed(ok, ...)
  if ok then return ... end
  local e, own = ...
  local where = C.where()
  if not own and not (type(e) == "string" and e:find "^lze [^:]+:%d+: ") then
    C.raise(e)                              -- raised by a debug hook
  end
  if type(e) == "string" then
    if e:sub(1, #where) == where then error(e, 0) end -- raised by `fail`
    fail("%s", (e:gsub("^lze [^:]+:%d+: ", "")))
  end
  if type(e) == "table" then
    e.where = where:match "^(.*): $"
    -- Lines of kernels that call a script function.
    if e.log then e.log = e.log:gsub("%f[^\n\0]lze array %S+:%d+: ", where) end
  end
  C.raise(e)
end

-- Calls f, which returns a buffer for example; reports errors at the script's
-- line.
local function made(f, ...) return passed(C.pcall(f, ...)) end

local function buffer(...) return made(C.buffer, ...) end

-- Returns a launcher for a kernel that calls a script function.
local function script_kernel(f, o)
  local k = C.script_kernel(f, o)
  return function(...) return made(k, ...) end
end

-- The native context of the first array; true if arrays have other contexts.
local context, several = nil, false

-- Notes the context of a buffer that was not placed beside another array.
local function placed(base)
  local handle = base.context.handle
  context = context or handle
  if handle ~= context and not several then
    several = true
    C.core.X.forget_trees()
  end
  return base
end

-- Returns an uninitialised buffer in the context and on the device of another.
local beside = C.beside

-- Returns a buffer there of n zeros or of a list's numbers; without a home, on
-- the default device.
local function filled_beside(home, kind, n_or_list)
  return C.buffer(kind, n_or_list,
    home and {device = home.device, context = home.context})
end

-- Returns an uninitialised array beside the buffer `home`.
local function new(kind, shape, mask, home)
  return array_over(beside(home, kind, count_of(shape)), 0, shape,
    packed_strides(shape), mask, true)
end

-- Returns an uninitialised array on a device, by default the default device.
local function new_on(device, kind, shape, mask)
  local base = placed(buffer(kind, count_of(shape),
    {zero = false, device = device}))
  return array_over(base, 0, shape, packed_strides(shape), mask, true)
end

-- Refuses operands in different contexts.  `words` are the operands' names, or
-- a format that makes a name from an operand's number.
local function together(what, words, ...)
  if not several then return end
  local first, where
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if is(v) then
      local base = v.home
      if not C.storage(base) then
        fail("%s: the array is closed", C.core.label(what, words, i))
      end
      first, where = first or i, where or base.context
      if base.context ~= where then
        local numbered = type(words) == "string"
        fail("%s: %s and %s are in different contexts", what,
          numbered and format(words, first) or words[first],
          numbered and format(words, i) or words[i])
      end
    end
  end
end

-- Converts a whole float to an integer; returns other values unchanged.
local function whole(v)
  return mathtype(v) == "float" and math.tointeger(v) or v
end

-- Returns v as a size, or nil if it is not one.
local function size_of(v)
  v = whole(v)
  return mathtype(v) == "integer" and v >= 0 and v or nil
end

local function number_text(v)
  return type(v) == "number" and tostring(v) or C.describe(v)
end

-- Checks that an argument of fname is an integer, within the bounds if given;
-- `expected` describes it in errors.
local function check_integer(v, fname, where, expected, least, most)
  local i = whole(v)
  if mathtype(i) ~= "integer" or least and i < least or most and i > most then
    fail("%s: %s: %s expected, got %s", fname, where, expected, number_text(v))
  end
  return i
end

-- Checks argument n of a function, called `word`, as a size.
local function check_size(v, fname, n, word)
  local size = size_of(v)
  if not size then
    fail("%s: argument %d (%s): a size expected, got %s", fname, n, word,
      number_text(v))
  end
  return size
end

local function check_number(v, fname, n, word)
  if type(v) == "number" then return end
  fail("%s: argument %d (%s): a number expected, got %s", fname, n, word,
    C.describe(v))
end

-- Returns a copy of a checked shape: argument n, or a result's shape if n is
-- nil.
local function check_shape(shape, fname, n, word)
  if size_of(shape) then shape = {shape} end
  local what = fname
  if n then what = format("%s: argument %d (%s)", fname, n, word or "shape") end
  if type(shape) ~= "table" or is(shape) then
    fail("%s: a table of sizes expected, got %s", what, C.describe(shape))
  end
  for key in next, shape do
    if mathtype(key) ~= "integer" then
      fail("%s: sizes expected, got a field %s; options are a table of their "
        .. "own", what, C.describe(key))
    end
  end
  local copy = {}
  if #shape > MOST_DIMENSIONS then
    fail("%s: %d dimensions; arrays have at most %d", what, #shape,
      MOST_DIMENSIONS)
  end
  for d = 1, #shape do
    copy[d] = size_of(shape[d])
    if not copy[d] then
      fail("%s: dimension %d: a size expected, got %s", what, d,
        number_text(shape[d]))
    end
  end
  if is_too_large(copy) then
    fail("%s: shape %s has too many elements", what, shape_text(copy))
  end
  return copy
end

local function check_array(v, n, name, fname)
  if not is(v) then
    fail("%s: argument %d (%s): array expected, got %s", fname, n, name,
      C.describe(v))
  end
  return v
end

-- Returns true if an array is closed, or if an expression's home is closed
-- together with its context.
local function is_closed(v)
  if v.op then return C.closes() and not C.storage(v.home) end
  return not C.storage(v.flat or v.base)
end

-- Checks for an open array or an expression.
local function check(v, n, name, fname)
  check_array(v, n, name, fname)
  if is_closed(v) then
    fail("%s: argument %d (%s): the array is closed", fname, n, name)
  end
  return v
end

-- Checks that the arrays of an index are open: the array, its mask if any, and
-- the value written if it is an array.
local function check_open(what, a, m, v)
  local name = is_closed(a) and "a" or m and is_closed(m) and "m" or
    is(v) and is_closed(v) and "v"
  if name then fail("%s: %s: the array is closed", what, name) end
end

-- Checks the options, which are argument n.
local function options(t, allowed, fname, n)
  if t == nil then return {} end
  if type(t) ~= "table" or is(t) then
    fail("%s: argument %d (options): a table expected, got %s", fname, n,
      C.describe(t))
  end
  for key in next, t do
    local known = false
    for _, name in ipairs(allowed) do known = known or name == key end
    if not known then
      fail("%s: argument %d (options): unknown option %s; there are %s",
        fname, n, tostring(key),
        #allowed > 0 and concat(allowed, ", ") or "none")
    end
  end
  return t
end

-- Refuses arguments after the n that fname takes.
local function no_more(fname, n, ...)
  if select("#", ...) > 0 then
    fail("%s: argument %d: nothing more expected, got %s", fname, n + 1,
      C.describe((...)))
  end
end

-- Checks a dimension of 1 to rank; negative numbers count from the end.
local function dimension(rank, v, fname, where)
  if rank == 0 then
    fail("%s: %s: an array of shape {} has no dimensions", fname, where)
  end
  local d = whole(v)
  if mathtype(d) ~= "integer" or d == 0 or d > rank or d < -rank then
    fail("%s: %s: a dimension of 1 to %d expected, got %s", fname, where, rank,
      number_text(v))
  end
  return d < 0 and d + rank + 1 or d
end

-- --- expressions -------------------------------------------------------------

-- Defines a function as A.name(a, ...) and a:name(...).
local function define(name, f) A[name], methods[name] = f, f end

local core = {A = A, C = C, beside = beside, check = check, define = define,
  devices = lze.devices,
  check_array = check_array, fail = fail, is = is, is_narrow = is_narrow,
  outer_meta = outer_meta, meta = meta, new = new, new_on = new_on,
  shape_text = shape_text, groups = {},
  types = types}
C.core, core.point = core, C.json().point
local X = C.part("array_expression", core)
core.X = X
local compute, evaluate, express = X.compute, X.evaluate, X.express
local operation_of = X.operation_of
local table_of = X.table_of
local alike, same_shape = X.alike, X.same_shape

-- Returns the shape to which two shapes broadcast.
local function broadcast(what, a, b)
  local rank = max(#a, #b)
  local shape = {}
  for d = rank, 1, -1 do
    local s, t = a[d - rank + #a] or 1, b[d - rank + #b] or 1
    if s ~= t and s ~= 1 and t ~= 1 then
      fail("%s: shapes %s and %s do not broadcast (dimension %d: %d and %d)",
        what, shape_text(a), shape_text(b), d, s, t)
    end
    shape[d] = s == 1 and t or s
  end
  if is_too_large(shape) then
    fail("%s: shapes %s and %s broadcast to too many elements", what,
      shape_text(a), shape_text(b))
  end
  return shape
end

local function contiguous(a)
  if a.flat then return a end
  return compute("copy", new(a.kind, a.dims, a.mask, a.home), a)
end

local function ready(a)
  a = contiguous(a)
  return a.flat, a.size
end

-- --- operators ---------------------------------------------------------------

-- Names operand i of a call in errors; `words` are the names of all operands,
-- or a format that makes a name from the number.
local function label(what, words, i)
  if type(words) == "string" then
    return format("%s: %s", what, format(words, i))
  elseif what:find "^%l[%l%d_]*$" then
    return format("%s: argument %d (%s)", what, i, words[i])
  end
  return format("%s: %s", what, words[i])
end

local function kind_of(v, what)
  if is(v) then return v.kind end
  if type(v) == "number" then return mathtype(v) end
  fail("%s: an array or a number expected, got %s", what, C.describe(v))
end

-- Checks the operands of a call; `words` are their names.
local function check_operands(what, words, ...)
  for i = 1, #words do kind_of((select(i, ...)), label(what, words, i)) end
end

-- Returns the number v as elements of kind hold it, by the rule of buffers: an
-- integer type accepts a whole float.  Complex elements are tables of two
-- numbers, and also accept a real number.
local fitting
function fitting(what, kind, v)
  local scalar = C.core.scalars[kind]
  if scalar then
    local pair = type(v) == "table" and v or {v, 0}
    if #pair ~= 2 then
      fail("%s: a number or {re, im} expected, got %d elements", what, #pair)
    end
    return {fitting(what, scalar, pair[1]), fitting(what, scalar, pair[2])}
  end
  local problem = C.misfit(kind, v)
  if problem then fail("%s: %s", what, problem) end
  return types[kind].real and v or math.tointeger(v)
end

-- Refuses complex numbers.
local function needs_reals(what, a)
  if not types[a.kind] then
    fail("%s: real numbers expected, got %s; real, imag, abs and angle give "
      .. "some", what, a.kind)
  end
end

local function check_numbers(v, n, name, fname)
  check(v, n, name, fname)
  if not types[v.kind] then
    needs_reals(format("%s: argument %d (%s)", fname, n, name), v)
  end
  return v
end

-- Returns true if a type is real or complex, not of integers.
local function has_fractions(kind) return C.core.reals[kind] ~= nil end

-- Returns the result type of operands that may be numbers: it follows from the
-- arrays, then from whether any number is not an integer.
local function common_type(what, words, ...)
  local kind, real
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if is(v) then
      local t, why = v.kind, nil
      if kind then t, why = promote(kind, t) end
      if not t then fail("%s: %s", what, why) end
      kind = t
    else
      kind_of(v, label(what, words, i))
      real = real or mathtype(v) == "float"
    end
  end
  if real and not has_fractions(kind) then kind = "float" end
  return kind
end

-- Returns that type; refuses complex operands.
local function result_type(what, words, ...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if is(v) then needs_reals(label(what, words, i), v) end
  end
  return common_type(what, words, ...)
end

-- Refuses to compute in double if an array's device cannot.
local function needs_double(what, kind, a)
  if C.core.reals[kind] ~= "double" then return end
  local base = a.home
  if C.storage(base) and not base.device.fp64 then
    fail("%s: %s does not compute in double", what, base.device.name)
  end
end

-- Returns true if every device computes in a type.
local devices, all_double = lze.devices, nil
local function is_everywhere(kind)
  if C.core.reals[kind] ~= "double" then return true end
  if all_double == nil then
    local all = true
    for _, d in ipairs(devices()) do all = all and d.fp64 end
    all_double = all
  end
  return all_double
end

-- Returns an array for a kernel that computes in a type: kernels of reals would
-- read ulong elements from 2^63 on as negative.
local function operand_in(a, kind)
  if a.kind ~= "ulong" or not types[kind].real then return a end
  return a:to(kind == "double" and kind or "float")
end

local function first_array(x, y, z) return is(x) and x or is(y) and y or z end

local pair <const> = {"a", "b"} -- names of two operands

local TOO_LARGE = X.too_large -- for a float

-- Returns the operation called `name` on two operands, and true if all operands
-- with the same keys have the same operation.
local function new_binary(name, what, rule, fname, x, y)
  check_operands(fname or what, pair, x, y)
  if not is(y) then check_array(x, 1, "a", what) end
  local kind = (C.core.complex_results[name] and common_type or result_type)(
    what, pair, x, y)
  if rule == "real" and not has_fractions(kind) then kind = "float" end
  if rule == "bits" and types[kind].real then
    fail("%s: integers expected, got %s", what, kind)
  end
  needs_double(what, kind, first_array(x, y))
  local all = is_everywhere(kind)
  if rule == "mask" then kind = "uchar" end
  return operation_of(name, kind, x, y), all
end

local mirrored <const> = {eq = "eq", ne = "ne", lt = "gt", gt = "lt", le = "ge",
  ge = "le"}

-- Returns the nearest integer at or above a float, or at or below one, as
-- elements of a type store it; nil if the type cannot represent it.
local function nearest_whole(kind, v, up)
  local i = (up and math.ceil or math.floor)(v)
  if kind ~= "ulong" then return math.tointeger(i) end
  if i < 0 then return nil end
  return math.tointeger(i) or i < 0x1p64 and
    math.tointeger(i - 0x1p63) ~ math.mininteger or nil
end

-- Comparing integers with a float must not round them to the kernel's reals.
-- Returns a comparison with an integer that has the same results, and that
-- integer; `first` is true if the number is the first operand.
local function whole_comparison(name, kind, v, first)
  local of_array = first and mirrored[name] or name -- as in: array `of_array` v
  local up = of_array == "lt" or of_array == "ge"
  local i = nearest_whole(kind, v, up)
  if i and (up or of_array == "le" or of_array == "gt" or v // 1 == v) then
    return name, i
  end
  local all
  if of_array == "eq" or of_array == "ne" or v ~= v then
    all = of_array == "ne"
  else
    all = (v > 0) == (of_array == "lt" or of_array == "le")
  end
  local always = all and "ge" or "lt"         -- compared with the least integer
  return first and mirrored[always] or always,
    kind == "ulong" and 0 or math.mininteger
end

-- Returns true if v is an array of integers and w a float.
local function are_integers(v, w)
  return mathtype(w) == "float" and is(v) and types[v.kind] and
    not types[v.kind].real
end

-- Returns the results of check_it in `binary` for integers and a float.
local function compare_whole(name, x, y)
  local first = type(x) == "number"
  local a, v = x, y
  if first then a, v = y, x end
  name, v = whole_comparison(name, a.kind, v, first)
  local op = operation_of(name, "uchar", first and v or a, first and a or v)
  return op, true, a.dims, false, first and v or a, first and a or v
end

-- Operations whose results are masks if both operands are.
local logical = {band = true, bor = true, bxor = true, least = true,
  greatest = true}

-- Returns a function for an elementwise operation on two operands; fname is its
-- name if it is not an operator.
local function binary(name, what, rule, fname)
  local both = logical[name]
  local function shape_of(a, b) return broadcast(what, a, b) end
  local function check_it(x, y, ...)
    if fname and select("#", ...) > 0 then no_more(fname, 2, ...) end
    if rule == "mask" and (are_integers(x, y) or are_integers(y, x)) then
      return compare_whole(name, x, y)
    end
    local op, all = new_binary(name, what, rule, fname, x, y)
    if several then together(what, pair, x, y) end
    local number = op.x and x or op.y and y
    if number and (number >= TOO_LARGE or number <= -TOO_LARGE) then
      fitting(label(what, pair, op.x and 1 or 2), op.reals, number)
    end
    local shape = (op.x and y or x).dims
    if not (op.x or op.y) and shape ~= y.dims then
      shape = alike(x, y) and shape or broadcast(what, shape, y.dims)
    end
    local mask = rule == "mask" or
      both and not (op.x or op.y) and x.mask and y.mask
    return op, mask, shape, all and not several
  end
  return X.operator(2, shape_of, check_it)
end

-- Returns the operation called `name` on one operand, and true if all operands
-- with the same key have the same operation.
local function new_unary(name, what, rule, x)
  local kind = x.kind
  local result = C.core.complex_results[name]
  if not result then needs_reals(label(what, pair, 1), x) end
  needs_double(what, kind, x)
  local all, real = is_everywhere(kind), has_fractions(kind)
  if result == "real" then kind = C.core.scalars[kind] or kind end
  if rule == "whole" and not real then name = "copy" end
  if rule == "real" and not real then kind = "float" end
  if rule == "mask" then kind = "uchar" end
  return operation_of(name, kind, x), all
end

-- Returns a function for an operation on one operand.  fname is its name if it
-- is not an operator; check_operand then checks its argument.
local function unary(name, what, rule, fname, check_operand)
  local function check_it(x, ...)
    if fname and select("#", ...) > 0 then no_more(fname, 1, ...) end
    if fname then check_operand(x, 1, "a", fname) end
    local op, all = new_unary(name, what, rule, x)
    return op, rule == "mask", x.dims, all
  end
  return X.operator(fname and 1 or -1, nil, check_it)
end

local operators = {
  __add = {"add", "a + b"}, __sub = {"sub", "a - b"}, __mul = {"mul", "a * b"},
  __div = {"div", "a / b", "real"}, __idiv = {"idiv", "a // b"},
  __mod = {"mod", "a % b"}, __pow = {"pow", "a ^ b", "real"},
  __band = {"band", "a & b", "bits"}, __bor = {"bor", "a | b", "bits"},
  __bxor = {"bxor", "a ~ b", "bits"}, __shl = {"shl", "a << b", "bits"},
  __shr = {"shr", "a >> b", "bits"}
}
for event, o in next, operators do
  meta[event] = binary(o[1], o[2], o[3])
end

-- Powers of reals with known exponents are operations of their own.
local power_of, power = {}, meta.__pow
for n, name in next, X.powers do power_of[n] = unary(name, "a ^ b", "real") end
function meta.__pow(x, y)
  local f = power_of[y]
  if f and types[x.kind] then return f(x) end
  return power(x, y)
end

meta.__unm = unary("neg", "-a")

function meta.__bnot(x)
  if has_fractions(x.kind) then
    fail("~a: integers expected, got %s", x.kind)
  end
  return express(x.mask and "lnot" or "bnot", x.kind, x.dims, x.mask, x)
end

local function no_order(sign, method)
  return function()
    fail("a %s b: arrays have no order; a:%s(b) compares element by element",
      sign, method)
  end
end
meta.__lt, meta.__le = no_order("<", "lt"), no_order("<=", "le")

function meta.__concat(a, b)
  if not (is(a) and is(b)) then
    fail("a .. b: an array is not text; tostring(a) shows it, a:item() " ..
      "gives the number of one without dimensions")
  end
  fail("a .. b: arrays are not joined by ..; A.cat{a, b} does that")
end

for _, name in ipairs {"eq", "ne", "lt", "le", "gt", "ge"} do
  define(name, binary(name, "a:" .. name .. "(b)", "mask", name))
end

-- If one operand is real, they are compared in the wider type; results are
-- masks.
for name, rule in next, {isnan = "mask", isfinite = "mask", neg = "same",
  abs = "same", sign = "same", sqrt = "real", rsqrt = "real", exp = "real",
  log = "real", log2 = "real", log10 = "real", log1p = "real", expm1 = "real",
  sin = "real", cos = "real", tan = "real", asin = "real", acos = "real",
  atan = "real", sinh = "real", cosh = "real", tanh = "real", sigmoid = "real",
  floor = "whole", ceil = "whole", round = "whole", trunc = "whole",
  isinf = "mask", positive = "same", square = "same", relu = "same",
  reciprocal = "real", asinh = "real", acosh = "real", atanh = "real",
  exp2 = "real", softplus = "real", cbrt = "real", erf = "real", erfc = "real",
  gamma = "real", lgamma = "real", real = "same", imag = "same", conj = "same",
  angle = "real"} do
  define(name, unary(name, name, rule, name,
    rule == "whole" and check or check_array))
end

for _, name in ipairs {"atan2", "copysign", "hypot", "logaddexp"} do
  define(name, binary(name, name, "real", name))
end
for _, name in ipairs {"fmod", "remainder"} do
  define(name, binary(name, name, nil, name))
end

local real_signbit = unary("signbit", "signbit", "mask", "signbit", check_array)
define("signbit", function(a)
  check_numbers(a, 1, "a", "signbit")
  if not types[a.kind].real then return a:lt(0) end
  return real_signbit(a)
end)

-- Elementwise functions that reduce if no operand follows, only options.
local reductions = {}
for name, op in next, {min = "least", max = "greatest"} do
  local f = binary(op, name, nil, name)
  define(name, function(x, y)
    if is(y) or type(y) == "number" or type(x) == "number" then
      return f(x, y)
    end
    return reductions[name](x, y)
  end)
end

local function ternary(op, words, x, y, z, kind, as_real, mask)
  local a, what = first_array(x, y, z), op
  if not is(a) then fail("%s: no array among the arguments", what) end
  together(what, words, x, y, z)
  kind = kind or result_type(what, words, x, y, z)
  if as_real and not types[kind].real then kind = "float" end
  needs_double(what, kind, a)
  local shape = {}
  local width = C.core.reals[kind] == "double" and "double" or "float"
  for i, v in ipairs {x, y, z} do
    if is(v) then
      shape = broadcast(what, shape, v.dims)
    elseif has_fractions(kind) and C.misfit(width, v) then
      fitting(label(what, words, i), width, v)
    end
  end
  return express(op, kind, shape, mask, x, y, z)
end

define("clamp", function(x, low, high)
  check_array(x, 1, "a", "clamp")
  local words = {"a", "low", "high"}
  check_operands("clamp", words, x, low, high)
  return ternary("clamp", words, x, low, high)
end)
for name, operands in next, {fma = {"a", "b", "c"}, lerp = {"a", "b", "t"}} do
  define(name, function(x, y, z)
    check_operands(name, operands, x, y, z)
    return ternary(name, operands, x, y, z, nil, true)
  end)
end

-- where(c, a, b): element of a if c is not 0, else of b.
define("where", function(c, x, y)
  check_array(c, 1, "c", "where")
  local words = {"c", "a", "b"}
  check_operands("where", words, c, x, y)
  local kind
  if is(x) or is(y) then
    kind = common_type("where", words, 1, x, y) -- c has no effect on the type
  else
    kind = mathtype(x) == "integer" and mathtype(y) == "integer" and "long" or
      "float"
  end
  return ternary("where", words, c, x, y, kind, false,
    is(x) and is(y) and x.mask and y.mask)
end)

-- Converts a value for a mask: 1 if it is not 0.
local function truth(v) return v ~= 0 and 1 or 0 end

-- Checks two operands of fname; returns the first array.
local function check_pair(x, y, fname)
  check_operands(fname, pair, x, y)
  if not is(y) then check_array(x, 1, "a", fname) end
  for i, v in ipairs {x, y} do
    if is(v) then check_numbers(v, i, pair[i], fname) end
  end
  together(fname, pair, x, y)
  return first_array(x, y)
end

-- Returns the mask of the elements that are not 0; 1 or 0 for a number.
local function truths(v)
  if not is(v) then return truth(v) end
  return v.mask and v or v:ne(0)
end

for name, op in next, {logical_and = "band", logical_or = "bor",
  logical_xor = "bxor"} do
  define(name, function(x, y)
    local a = check_pair(x, y, name)
    local shape = is(x) and is(y) and broadcast(name, x.dims, y.dims) or a.dims
    return express(op, "uchar", shape, true, truths(x), truths(y))
  end)
end
define("logical_not", function(a)
  return ~truths(check_numbers(a, 1, "a", "logical_not"))
end)

-- nextafter(a, b): the next number of the result's type, so operands are
-- rounded to that type first.
define("nextafter", function(x, y)
  local a = check_pair(x, y, "nextafter")
  local kind = result_type("nextafter", pair, x, y)
  if not types[kind].real then kind = "float" end
  local function rounded(i, v)
    if is(v) then return v.kind == kind and v or v:to(kind) end
    local one = new(kind, {}, nil, a.home)
    one.base:fill(fitting(label("nextafter", pair, i), kind, v))
    return one
  end
  return ternary("nextafter", pair, rounded(1, x), rounded(2, y), nil, kind)
end)

-- a:to(type): reals become integers by dropping the fraction.
define("to", function(x, kind)
  check_array(x, 1, "a", "to")
  kind = any_type_of(kind, "to", "argument 2 (type)")
  if types[kind] then needs_reals("to: argument 1 (a)", x) end
  needs_double("to", kind, x)
  local cuts = has_fractions(x.kind) and not has_fractions(kind)
  return express(cuts and "to_integer" or "copy", kind, x.dims, nil, x)
end)

-- --- construction ------------------------------------------------------------

-- Returns the type and the device that options, which are argument n, name;
-- `check_type` is type_of or, by default, any_type_of.  The call also has the
-- option `other`, if given.
local function option_type(t, fname, n, otherwise, check_type, other)
  local o = options(t, {"type", "device", other}, fname, n)
  local kind = otherwise
  if o.type ~= nil then
    kind = (check_type or any_type_of)(o.type, fname,
      format("argument %d (options): type", n))
  end
  if o.device == nil or C.type(o.device) == "device" then
    return kind, o.device
  end
  local given = type(o.device)
  if given ~= "number" and given ~= "string" then
    fail("%s: argument %d (options): device: device or selector expected, " ..
      "got %s", fname, n, C.describe(o.device))
  end
  local ok, device = C.pcall(lze.device, o.device)
  if not ok and type(device) == "string" then
    fail("%s: argument %d (options): device: %s", fname, n,
      device:match "%(selector: (.*)%)$" or device:gsub("^%S+:%d+: ", ""))
  elseif not ok then
    C.raise(device)
  end
  return kind, device
end

-- Fills a new array; a complex one also with a real number.
local function filled(a, value)
  if not types[a.kind] and type(value) == "number" then value = {value, 0} end
  if a.size > 0 then a.base:fill(value) end
  return a
end

function A.zeros(shape, o)
  local kind, device = option_type(o, "zeros", 2, "float")
  return filled(new_on(device, kind, check_shape(shape, "zeros", 1)), 0)
end

function A.ones(shape, o)
  local kind, device = option_type(o, "ones", 2, "float")
  return filled(new_on(device, kind, check_shape(shape, "ones", 1)), 1)
end

function A.full(shape, value, o)
  local kind, device = option_type(o, "full", 3, "float")
  if types[kind] then check_number(value, "full", 2, "value") end
  value = fitting("full: argument 2 (value)", kind, value)
  return filled(new_on(device, kind, check_shape(shape, "full", 1)), value)
end

-- Fills an array with numbers that start at `first`.  If the device has double,
-- reals are rounded only once.
local function range(a, first, step)
  local wide = types[a.kind].real and a.device.fp64 and "double" or nil
  return compute("range", a, first, step, nil, wide)
end

-- Returns the step between n integers from first to last, both included.  Their
-- distance is an unsigned 64-bit number.
local function whole_step(kind, first, last, n)
  local down = last < first
  if kind == "ulong" then down = math.ult(last, first) end
  local far, steps = down and first - last or last - first, n - 1
  local step = (far >> 1) // steps << 1
  if not math.ult(far - step * steps, steps) then step = step + 1 end
  if step * steps ~= far then
    fail("linspace: %d numbers of %s from %d to %d: the step is not whole", n,
      kind, first, last)
  end
  return down and -step or step
end

-- Fills an array of one dimension with equally spaced numbers.
local function spaced(a, first, last)
  local kind, n, step = a.kind, a.size, 0
  if not types[kind].real then
    step = n > 1 and whole_step(kind, first, last, n) or 0
  elseif n > 2 then
    step = (last - (first + 0.0)) / (n - 1) -- integers would wrap
    if step - step ~= 0 then -- the distance overflows: use halves
      step = (last / 2 - first / 2) / (n - 1) * 2
    end
  end
  local back = n // 2
  range(array_over(a.base, 0, {n - back}, {1}), first, step)
  range(array_over(a.base, n - 1, {back}, {-1}), last, -step)
  return a
end

-- Returns the number of steps from first to last, and true if they end at last,
-- within the rounding of the three numbers, their difference and the quotient.
local function count_steps(first, last, step)
  local n = (last - first) / step
  local slack = (math.abs(first) + math.abs(last)) / math.abs(step) * 0x1p-51
  local nearest = (n + 0.5) // 1
  local ends = math.abs(n - nearest) <= math.min(slack, 0x1p-10)
  return ends and nearest or n // 1, ends
end

-- Returns a start or a step for elements of kind: an integer if possible.
local function counted(what, kind, v)
  return not types[kind].real and math.tointeger(v) or fitting(what, kind, v)
end

local function check_finite(v, fname, n, word)
  if type(v) == "number" and v - v == 0 then return end
  fail("%s: argument %d (%s): a finite number expected, got %s", fname, n,
    word, C.describe(v))
end

-- A.arange(n | first, last [, step] [, options]): includes both ends.
function A.arange(first, last, step, o)
  local place = 4 -- of the options
  if type(last) == "table" then last, o, place = nil, last, 2 end
  if type(step) == "table" then step, o, place = nil, step, 3 end
  local words = last == nil and step == nil and {"n"} or
    {"first", "last", "step"}
  for i, word in ipairs(words) do
    check_finite(select(i, first, last, step or 1), "arange", i, word)
  end
  if last == nil then first, last = 1, first end
  step = step or 1
  if step == 0 then
    fail("arange: argument 3 (step): a number other than 0 expected, got %s",
      step)
  end
  local exact = mathtype(first) == "integer" and mathtype(last) == "integer" and
    mathtype(step) == "integer"
  local from, to, by = math.tointeger(first), math.tointeger(last),
    math.tointeger(step)
  local reach = from and to and by and (to - from < 0) == (to < from)
  local kind, device = option_type(o, "arange", place,
    exact and "long" or "float", type_of)
  local n, ends = 0, false
  if last == first or (last < first) == (step < 0) then
    if exact and not reach then
      fail("arange: from %d to %d is further than integers reach", first, last)
    end
    if reach then
      n = (to - from) // by
    else
      n, ends = count_steps(first, last, step)
    end
    n = size_of(n + 1) or
      fail("arange: from %s to %s by %s are too many", first, last, step)
  end
  check_shape({n}, "arange")
  local function argument(i)
    return format("arange: argument %d (%s)", i, words[i] or words[1])
  end
  first = counted(argument(1), kind, first)
  step = counted(argument(3), kind, step)
  if n > 0 then
    fitting(argument(1), kind, first)
    fitting(argument(#words > 1 and 2 or 1), kind, first + (n - 1) * step)
  end
  local a = new_on(device, kind, {n})
  if ends and types[kind].real then return spaced(a, first, last) end
  return range(a, first, step)
end

-- A.linspace(first, last, n [, options]): n numbers, including both ends; only
-- the first one if the option endpoint is false.
function A.linspace(first, last, n, o)
  check_finite(first, "linspace", 1, "first")
  check_finite(last, "linspace", 2, "last")
  local kind, device = option_type(o, "linspace", 4, "float", type_of,
    "endpoint")
  local ends = not o or o.endpoint == nil or o.endpoint
  if type(ends) ~= "boolean" then
    fail("linspace: argument 4 (options): endpoint: boolean expected, got %s",
      C.describe(ends))
  end
  n = check_size(n, "linspace", 3, "n")
  check_shape({n}, "linspace")
  first = fitting("linspace: argument 1 (first)", kind, first)
  last = fitting("linspace: argument 2 (last)", kind, last)
  if ends then return spaced(new_on(device, kind, {n}), first, last) end
  local all = spaced(new_on(device, kind, {n + 1}), first, last)
  return array_over(all.base, 0, {n}, {1}, nil, true)
end

-- A.eye(n [, m] [, options]): 1 on the diagonal or the k-th above it, else 0.
function A.eye(n, m, o)
  local place = 3 -- of the options
  if type(m) == "table" then m, o, place = nil, m, 2 end
  n = check_size(n, "eye", 1, "n")
  m = m == nil and n or check_size(m, "eye", 2, "m")
  local kind, device = option_type(o, "eye", place, "float", nil, "k")
  local k = o and o.k
  k = k == nil and 0 or check_integer(k, "eye",
    format("argument %d (options): k", place), "an integer", -MOST_ELEMENTS,
    MOST_ELEMENTS)
  local a = filled(new_on(device, kind, check_shape({n, m}, "eye")), 0)
  local row, column = max(-k, 0), max(k, 0)
  local count = math.min(n - row, m - column)
  if count > 0 then
    compute("copy", array_over(a.base, row * m + column, {count}, {m + 1}), 1)
  end
  return a
end

-- Returns true if v is a table of two numbers: a complex number.
local function is_pair(v)
  return type(v) == "table" and not is(v) and #v == 2 and
    type(v[1]) == "number" and type(v[2]) == "number"
end

-- Returns the shape of nested tables, and their numbers in a list.  With
-- `pairs`, a table of two numbers inside them is a complex number, and the list
-- has tables of two.
local function flatten(source, what, pairs)
  local shape, list = {}, {}
  local level = source
  while type(level) == "table" and not is(level) and
    not (pairs and #shape > 0 and is_pair(level))
  do
    shape[#shape + 1] = #level
    level = level[1]
  end
  if #shape > MOST_DIMENSIONS then
    fail("%s: %d dimensions; arrays have at most %d", what, #shape,
      MOST_DIMENSIONS)
  end
  local function walk(t, d, where)
    local function refuse(...)
      fail("%s%s: " .. format(...), what,
        where == "" and "" or ": element " .. where)
    end
    if d > #shape then
      if pairs and type(t) == "number" then t = {t, 0} end
      if pairs and not is_pair(t) then
        refuse("a number or {re, im} expected, got %s", C.describe(t))
      elseif not pairs and type(t) ~= "number" then
        refuse("a number expected, got %s", C.describe(t))
      end
      list[#list + 1] = t
      return
    end
    if type(t) == "table" and #t == 0 and next(t) ~= nil then
      refuse("a list expected, got a table with the key %s",
        C.describe(next(t)))
    elseif type(t) ~= "table" or #t ~= shape[d] then
      refuse("%d elements expected, got %s", shape[d],
        type(t) == "table" and tostring(#t) or C.describe(t))
    end
    for i = 1, shape[d] do
      walk(t[i], d + 1, where == "" and tostring(i) or where .. ", " .. i)
    end
  end
  walk(source, 1, "")
  return shape, list
end

-- --- shapes ------------------------------------------------------------------

local function view(a, from, shape, strides)
  return array_over(a.base, from, shape, strides, a.mask)
end

-- Resolves a shape in which one size may be -1, which means the rest.
local function resolve_shape(a, shape, fname, n)
  if mathtype(whole(shape)) == "integer" then shape = {shape} end
  if type(shape) ~= "table" or is(shape) then check_shape(shape, fname, n) end
  local copy, open = {}, nil
  for d, size in next, shape do
    copy[d] = size
    if size == -1 then
      if open then
        fail("%s: argument %d (shape): dimensions %d and %d are both -1",
          fname, n, open, d)
      end
      open, copy[d] = d, 1
    end
  end
  copy = check_shape(copy, fname, n)
  local known = count_of(copy)
  if open and known == 0 then
    fail("%s: argument %d (shape): %s: dimension %d, beside one of no " ..
      "elements, can have any size", fname, n, shape_text(shape), open)
  elseif open then
    copy[open] = a.size // known
  end
  if count_of(copy) ~= a.size then
    fail("%s: argument %d (shape): %s has %s%d elements, the array has %d",
      fname, n, shape_text(shape), open and "a multiple of " or "", known,
      a.size)
  end
  return copy
end

local function reshaped(a, shape, fname, n)
  shape = resolve_shape(a, shape, fname, n)
  a = contiguous(a)
  return view(a, a.from, shape, packed_strides(shape))
end

define("reshape", function(a, shape)
  check(a, 1, "a", "reshape")
  return reshaped(a, shape, "reshape", 2)
end)

-- Returns a buffer of the numbers of nested tables of that shape.
local function from_list(kind, list, shape, what, home)
  local ok, base, own = C.pcall(filled_beside, home, kind, list)
  local place, why
  if type(base) == "string" then
    place, why = base:match "%(index (%d+): (.*)%)$"
  end
  if not place then return placed(passed(ok, base, own)) end
  local index, n = {}, place - 1
  for d = #shape, 1, -1 do
    index[d], n = n % shape[d] + 1, n // shape[d]
  end
  fail("%s: element %s: %s", what, concat(index, ", "), why)
end

-- Returns an array of the numbers of nested tables, beside the buffer `home` if
-- given; errors begin with `what`.
local function from_tables(kind, source, what, home)
  local shape, list = flatten(source, what, C.core.scalars[kind])
  local base = from_list(kind, list, shape, what, home)
  return array_over(base, 0, shape, packed_strides(shape), nil, true)
end

-- A(type, source [, shape])
setmetatable(A, {__call = function(_, kind, source, shape, ...)
  no_more("array", 3, ...)
  kind = any_type_of(kind, "array", "argument 1 (type)")
  local scalar = C.core.scalars[kind]
  local a
  if mathtype(whole(source)) == "integer" then
    local n = check_size(source, "array", 2, "source")
    a = filled(new_on(nil, kind, check_shape({n}, "array", 2, "source")), 0)
  elseif type(source) == "table" and not is(source) then
    a = from_tables(kind, source, "array: argument 2 (source)")
  elseif is(source) then
    check(source, 2, "source", "array")
    a = types[source.kind] and source or C.core.parts(source)
    a = a:to(scalar or kind)
  elseif C.type(source) == "buffer" then
    if not C.storage(source) then
      fail("array: argument 2 (source): the buffer is closed")
    elseif (C.core.complex_kinds[source.type] or source.type) ~= kind then
      fail("array: argument 2 (source): a buffer of %s expected, got one of %s",
        kind, source.type)
    end
    a = array_over(placed(C.lend(source)), 0, {#source}, {1})
  else
    fail("array: argument 2 (source): numbers in tables, a count or a buffer "
      .. "expected, got %s", C.describe(source))
  end
  if scalar and types[a.kind] then
    a = C.core.join(a, "array: argument 2 (source)")
  end
  if shape == nil then return a end
  return reshaped(a, shape, "array", 3)
end})

define("view", function(a, shape)
  check(a, 1, "a", "view")
  if not a.flat then
    fail("view: argument 1 (a): the array is not contiguous; use reshape")
  end
  shape = resolve_shape(a, shape, "view", 2)
  return view(a, a.from, shape, packed_strides(shape))
end)

-- Names of the arguments of permute and flip, for errors.
local order_arguments, flip_arguments = {}, {}
for i = 1, MOST_DIMENSIONS do
  order_arguments[i] = format("argument %d (order)", i + 1)
  flip_arguments[i] = format("argument %d (dim)", i + 1)
end

define("permute", function(a, ...)
  check(a, 1, "a", "permute")
  local rank, order, count = #a.dims, ..., select("#", ...)
  local listed = type(order) == "table" and not is(order)
  if listed then
    no_more("permute", 2, select(2, ...))
    count = #order
  else
    order = {...}
  end
  if count ~= rank then
    fail("permute: argument 2 (order): the order of %d dimensions expected, "
      .. "got %s", rank, count > 0 and count or listed and "an empty table" or
      "nothing")
  end
  local shape, strides, seen = {}, {}, {}
  for i = 1, rank do
    local where = listed and "argument 2 (order)" or order_arguments[i]
    local d = dimension(rank, order[i], "permute", where)
    if seen[d] then
      fail("permute: %s: dimension %d is named twice", where, d)
    end
    seen[d] = true
    shape[i], strides[i] = a.dims[d], a.stride[d]
  end
  return view(a, a.from, shape, strides)
end)

define("t", function(a)
  check(a, 1, "a", "t")
  if #a.dims > 2 then
    fail("t: argument 1 (a): 2 dimensions expected, got %d; use permute",
      #a.dims)
  end
  if #a.dims < 2 then return a end
  return a:permute(2, 1)
end)

define("expand", function(a, shape)
  check(a, 1, "a", "expand")
  shape = check_shape(shape, "expand", 2)
  local strides = {}
  if #shape < #a.dims then
    fail("expand: argument 2 (shape): %s has fewer dimensions than %s",
      shape_text(shape), shape_text(a.dims))
  end
  for d = 1, #shape do
    local e = d - #shape + #a.dims
    local s = e >= 1 and a.dims[e] or 1
    if s ~= 1 and s ~= shape[d] then
      fail("expand: argument 2 (shape): dimension %d: %d cannot become %d", d,
        s, shape[d])
    end
    strides[d] = s ~= 1 and a.stride[e] or 0
  end
  return view(a, a.from, shape, strides)
end)

define("squeeze", function(a, d)
  check(a, 1, "a", "squeeze")
  if d ~= nil then
    d = dimension(#a.dims, d, "squeeze", "argument 2 (dim)")
    if a.dims[d] ~= 1 then
      fail("squeeze: argument 2 (dim): dimension %d has %d elements, not 1", d,
        a.dims[d])
    end
  end
  local shape, strides = {}, {}
  for e = 1, #a.dims do
    if a.dims[e] ~= 1 or d and d ~= e then
      shape[#shape + 1], strides[#strides + 1] = a.dims[e], a.stride[e]
    end
  end
  return view(a, a.from, shape, strides)
end)

define("flip", function(a, ...)
  check(a, 1, "a", "flip")
  local given = select("#", ...) > 0
  local strides, from = {unpack(a.stride)}, a.from
  local chosen = {}
  for i = 1, select("#", ...) do
    chosen[dimension(#a.dims, (select(i, ...)), "flip", flip_arguments[i] or
      format("argument %d (dim)", i + 1))] = true
  end
  for d = 1, #a.dims do
    if chosen[d] or not given then
      from = from + (a.dims[d] - 1) * strides[d]
      strides[d] = -strides[d]
    end
  end
  return view(a, from, {unpack(a.dims)}, strides)
end)

-- Returns a view of elements first..last of a dimension, every step-th.
local function narrow(a, d, first, last, step)
  local shape, strides = {unpack(a.dims)}, {unpack(a.stride)}
  local n = (last - first) // step + 1
  shape[d] = max(n, 0)
  strides[d] = strides[d] * step
  return view(a, a.from + (first - 1) * a.stride[d], shape, strides)
end

local function roll(a, n, d)
  n = check_integer(n, "roll", "argument 2 (n)", "an integer")
  d = dimension(#a.dims, d, "roll", "argument 3 (dim)")
  local size = a.dims[d]
  local into = new(a.kind, {unpack(a.dims)}, a.mask, a.home)
  if into.size == 0 then return into end
  n = n % size
  compute("copy", narrow(into, d, n + 1, size, 1), narrow(a, d, 1, size - n, 1))
  if n > 0 then
    compute("copy", narrow(into, d, 1, n, 1),
      narrow(a, d, size - n + 1, size, 1))
  end
  return into
end

-- roll(a, n [, dim]): with a list of dimensions, n is a number or one for each.
define("roll", function(a, n, d)
  check(a, 1, "a", "roll")
  if type(d) == "table" and not is(d) then
    local listed = type(n) == "table" and not is(n)
    if listed and #n ~= #d then
      fail("roll: argument 2 (n): a number for each of %d dimensions expected, "
        .. "got %d", #d, #n)
    elseif #d == 0 then
      fail("roll: argument 3 (dim): a dimension expected, got an empty table")
    end
    for i = 1, #d do a = roll(a, listed and n[i] or n, d[i]) end
    return a
  elseif d == nil and #a.dims ~= 1 then
    return roll(a:reshape {a.size}, n, 1):reshape(a.dims)
  end
  return roll(a, n, d == nil and 1 or d)
end)

-- Returns the first array of a list given to A.cat or A.stack, and all of them.
local function first_of(list, fname)
  if type(list) ~= "table" or is(list) or #list == 0 then
    fail("%s: argument 1 (list): a table of arrays expected, got %s", fname,
      type(list) == "table" and not is(list) and "an empty one" or
      C.describe(list))
  end
  local own = {}
  for i = 1, #list do
    local a = table_of(list[i])
    own[i] = a
    if not is(a) then
      fail("%s: argument 1 (list): element %d: array expected, got %s", fname,
        i, C.describe(a))
    elseif is_closed(a) then
      fail("%s: argument 1 (list): element %d: the array is closed", fname, i)
    end
  end
  if several then together(fname, "element %d", unpack(own)) end
  return own[1], own
end

local function join(list, d, fname)
  local first, total = list[1], 0
  local kind, mask = first.kind, first.mask
  for i, a in ipairs(list) do
    local t, why = promote(kind, a.kind)
    if not t then
      fail("%s: argument 1 (list): element %d: %s", fname, i, why)
    end
    kind, mask = t, mask and a.mask
    for e = 1, max(#first.dims, #a.dims) do
      if e ~= d and first.dims[e] ~= a.dims[e] or #a.dims ~= #first.dims
      then
        fail("%s: argument 1 (list): element %d: shapes %s and %s differ in "
          .. "more than dimension %d", fname, i, shape_text(first.dims),
          shape_text(a.dims), d)
      end
    end
    total = total + a.dims[d]
  end
  local shape = {unpack(first.dims)}
  shape[d] = total
  check_shape(shape, fname)
  local into, at = new(kind, shape, mask, first.home), 0
  for _, a in ipairs(list) do
    compute("copy", narrow(into, d, at + 1, at + a.dims[d], 1), a)
    at = at + a.dims[d]
  end
  return into
end

-- A.cat(list [, dim]): joins arrays one after the other.
function A.cat(list, d)
  local first, own = first_of(list, "cat")
  d = dimension(#first.dims, d == nil and 1 or d, "cat", "argument 2 (dim)")
  return join(own, d, "cat")
end

-- A.stack(list [, dim]): makes arrays of one shape the rows of a new dimension.
function A.stack(list, d)
  local first, own = first_of(list, "stack")
  local rows = {}
  local rank = #first.dims + 1
  d = dimension(rank, d == nil and 1 or d, "stack", "argument 2 (dim)")
  if rank > MOST_DIMENSIONS then
    fail("stack: %d dimensions; arrays have at most %d", rank, MOST_DIMENSIONS)
  end
  for i, a in ipairs(own) do
    if not same_shape(a.dims, first.dims) then
      fail("stack: argument 1 (list): element %d: shape %s expected, got %s",
        i, shape_text(first.dims), shape_text(a.dims))
    end
    local shape = {unpack(a.dims)}
    table.insert(shape, d, 1)
    rows[i] = a:reshape(shape)
  end
  return join(rows, d, "stack")
end

define("tile", function(a, times)
  check(a, 1, "a", "tile")
  times = check_shape(times, "tile", 2, "times")
  local rank = max(#times, #a.dims)
  local shape, tiled = {}, a
  for d = 1, rank do shape[d] = a.dims[d - rank + #a.dims] or 1 end
  for d = rank, 1, -1 do
    local n = times[d - rank + #times] or 1
    if n ~= 1 then
      local outer, inner = 1, 1
      for e = 1, rank do
        if e < d then outer = outer * shape[e] else inner = inner * shape[e] end
      end
      shape[d] = shape[d] * n
      check_shape(shape, "tile")
      tiled = tiled:reshape {outer, 1, inner}:expand {outer, n, inner}
        :reshape {outer * n * inner}
    end
  end
  if tiled == a then tiled = a:clone() end
  return tiled:reshape(shape)
end)

-- --- indices -----------------------------------------------------------------

-- Parses one index or range of a dimension into first, last, step, and true if
-- the dimension remains.
local function range_of(r, d, size)
  local function place(i)
    i = whole(i)
    if mathtype(i) ~= "integer" then
      fail("index %d: integers expected, got %s", d, C.describe(i))
    end
    return i < 0 and i + size + 1 or i
  end
  if type(r) ~= "table" then
    local i = place(r)
    if i < 1 or i > size then
      fail("index %d: %d is outside 1..%d", d, r, size)
    end
    return i, i, 1, false
  end
  if is(r) then fail("index %d: an array cannot be one", d) end
  for key in next, r do
    if mathtype(key) ~= "integer" then
      fail("index %d: {first, last [, step]} expected, got a field %s", d,
        C.describe(key))
    end
  end
  if #r == 0 then return 1, size, 1, true end
  if #r > 3 or #r < 2 then
    fail("index %d: {first, last [, step]} expected, got %d numbers", d, #r)
  end
  local first, last, step = place(r[1]), place(r[2]), whole(r[3] or 1)
  if mathtype(step) ~= "integer" or step == 0 then
    fail("index %d: step: an integer other than 0 expected, got %s", d,
      tostring(step))
  end
  local ahead = step > 0 and last - first or first - last
  if ahead == -1 and (first < 1 or first > size + 1) or
      ahead ~= -1 and max(first, last) > size or
      ahead ~= -1 and (first < 1 or last < 1) then
    fail("index %d: {%d, %d} is outside 1..%d", d, r[1], r[2], size)
  elseif ahead < -1 then
    fail("index %d: {%d, %d} with a step of %d has the last before the first",
      d, r[1], r[2], step)
  end
  return first, last, step, true
end

-- Stands in an index for a new dimension of one element.
local newaxis = setmetatable({}, {__metatable = "newaxis",
  __tostring = function() return "newaxis" end,
  __newindex = function() fail "A.newaxis has no fields" end})

-- Returns the number of dimensions that index r of a[{...}] is for.
local function dimensions_of(r)
  if rawequal(r, newaxis) then return 0 end
  if not is(r) then return 1 end
  local v = table_of(r)
  return v.mask and max(#v.dims, 1) or 1
end

-- Resolves an index table to a view, or to the place of one element.  With
-- arrays of indices, the view has all elements of their dimensions; the third
-- result lists the arrays, the fourth is the place of their dimensions.
local function at(a, index)
  local n, used = #index, 0
  for i = 1, n do used = used + dimensions_of(index[i]) end
  if used > #a.dims then
    fail("a[{...}]: one index for each dimension of %s at most, got %d",
      shape_text(a.dims), used)
  end
  for key in next, index do
    if mathtype(key) ~= "integer" or key < 1 or key > n then
      fail("a[{...}]: a list of indices expected, got a field %s",
        C.describe(key))
    end
  end
  local from, shape, strides, full = a.from, {}, {}, true
  local function stay(size, stride)
    shape[#shape + 1], strides[#strides + 1] = size, stride
    full = false
  end
  -- Indices that are numbers or arrays; `place` if these are adjacent.
  local lists, count, earliest, latest, place = {}, 0, nil, nil, nil
  local d = 0
  for i = 1, n + #a.dims - used do
    local r = index[i]
    if i > n then r = {} end
    local stays = true
    if rawequal(r, newaxis) then
      stay(1, 0)
    elseif is(r) then
      stays = false
      place = place or #shape + 1
      local sizes = {unpack(a.dims, d + 1, d + dimensions_of(r))}
      for e, v in ipairs(C.core.checked_indices(table_of(r), i, sizes, a)) do
        stay(sizes[e], a.stride[d + e])
        lists[#lists + 1] = {dim = #shape, index = v}
      end
      d = d + #sizes
    else
      d = d + 1
      local first, last, step
      first, last, step, stays = range_of(r, i, a.dims[d])
      if stays then
        stay(max((last - first) // step + 1, 0), a.stride[d] * step)
      else
        place = place or #shape + 1
      end
      from = from + (first - 1) * a.stride[d]
    end
    if not stays then
      count, earliest, latest = count + 1, earliest or i, i
    end
  end
  if #shape > MOST_DIMENSIONS then
    fail("a[{...}]: %d dimensions; arrays have at most %d", #shape,
      MOST_DIMENSIONS)
  end
  if full then return nil, from + 1 end
  local part = view(a, from, shape, strides)
  if #lists == 0 then return part end
  return part, nil, lists, latest - earliest + 1 == count and place or 1
end

-- Returns the index table that a key, such as an array of indices, stands for.
local function index_table(key)
  return (is(key) or rawequal(key, newaxis)) and {key} or key
end

-- Returns the element at a place of the buffer, for the call fname.
local function element(a, place, fname)
  local base = a.base
  local open, remote = C.storage(base)
  if not open then fail("%s: a: the array is closed", fname) end
  if remote then return base:read(place, place)[1] end
  return base[place]
end

-- By serial number of each storage that is a file: true if it can be written.
local files = {}

local function is_file(a, writable)
  files[C.storage(a.base)] = writable
end

-- Refuses to write an array over a file that is open for reading only.
local function check_writable(a, fname)
  if next(files) and files[C.storage(a.base)] == false then
    fail("%s: the array is open for reading only; A.open(path, {write = true}) "
      .. "opens a file for writing, a:clone() is a copy", fname)
  end
end

local function store(base, place, v)
  local _, remote = C.storage(base)
  if remote then base:write({v}, place)
  else base[place] = v end
end

local function put(a, place, v)
  check_writable(a, "a[i] = v")
  if type(v) == "table" and is(v) then
    if v.size ~= 1 then
      fail("a[i] = v: one element expected, got shape %s", shape_text(v.dims))
    end
    v = v:item()
  end
  if not types[a.kind] then
    if type(v) ~= "number" and not is_pair(v) then
      fail("a[i] = v: a number or {re, im} expected, got %s", C.describe(v))
    end
  elseif type(v) ~= "number" then
    fail("a[i] = v: a number expected, got %s", C.describe(v))
  end
  v = fitting("a[i] = v", a.kind, v)
  store(a.base, place, a.mask and truth(v) or v)
end

-- Refuses to read a field of a closed array.
local function check_field(a, name)
  if is_closed(a) then fail("a.%s: the array is closed", name) end
end

local fields = {
  device = function(a)
    check_field(a, "device")
    return a.home.device
  end,
  -- A buffer with the context and device of this array.
  home = function(a)
    local leaf = a
    while leaf and leaf.op do leaf = X.first_array(leaf) end
    return (leaf or evaluate(a)).base
  end,
  buffer = function(a)
    if a.op then check_field(a, "buffer") end
    return C.lend(a.flat or a.base)
  end
}
-- Fields that an expression has only once it is evaluated.
for _, name in ipairs {"base", "from", "flat"} do
  fields[name] = function(a)
    if a.op then return rawget(evaluate(a), name) end
  end
end
function fields.size(a) return count_of(a.dims) end
function fields.rank(a) return #a.dims end
-- The result of an expression is contiguous.
function fields.stride(a)
  rawset(evaluate(a), "stride", packed_strides(a.dims))
  return rawget(a, "stride")
end
function fields.type(a) return a.kind end
function fields.shape(a) return {unpack(a.dims)} end
function fields.strides(a)
  if a.op then check_field(a, "strides") end
  return {unpack(a.stride)}
end

-- Fields that scripts can read.
local field_names = {"buffer", "device", "rank", "shape", "size", "strides",
  "type"}
local public_fields = {}
for _, name in ipairs(field_names) do public_fields[name] = fields[name] end

local function no_field(key)
  if type(key) == "string" and A[key] then
    fail("no function '%s' of an array; lze.array.%s is called with a point",
      key, key)
  end
  fail("no field %s in an array (known: %s and the functions of lze.array)",
    type(key) == "string" and format("'%s'", key) or C.describe(key),
    concat(field_names, ", "))
end

local function integer_index(key)
  return math.tointeger(key) or
    fail("an array's index is an integer, got %s", C.describe(key))
end

-- Reads a field that is neither a method nor an expression's type or mask.
local function further(a, key)
  local kind = type(key)
  if kind == "string" then
    local f = fields[key]
    if f then return f(a) end
    if key == "owner" or key == "store" then return nil end
  elseif kind == "number" then
    local n, i = a.dims[1], integer_index(key)
    if not n or i < 1 or i > n then return nil end
    if a.op or #a.dims ~= 1 then check_open("a[i]", a) end
    if #a.dims == 1 then
      return element(a, a.from + 1 + (i - 1) * a.stride[1], "a[i]")
    end
    return view(a, a.from + (i - 1) * a.stride[1], {unpack(a.dims, 2)},
      {unpack(a.stride, 2)})
  elseif is(key) and key.mask then
    check_open("a[m]", a, key)
    return C.core.compact(a, key)
  elseif kind == "table" then
    check_open("a[{...}]", a)
    local v, place, lists, there = at(a, index_table(key))
    if lists then return C.core.take_lists(v, lists, there) end
    if v then return v end
    return element(a, place, "a[{...}]")
  end
  no_field(key)
end

-- Reads an index, other than a method, of an array for a script.
local function public_further(a, key)
  if type(key) ~= "string" then return further(a, key) end
  local f = public_fields[key]
  if f then return f(a) end
  no_field(key)
end

-- Refuses to write an array in which several indices share an element: it would
-- be undefined which value remains.
local function check_places(a, fname)
  for d = 1, #a.dims do
    if a.stride[d] == 0 and a.dims[d] > 1 then
      fail("%s: the indices of dimension %d, which was expanded, are one " ..
        "element; a:clone() has one for each", fname, d)
    end
  end
end

local ends <const> = {"the array", "what is put into it"}

-- Writes a number, a table or an array into the elements of a view; `what`
-- names the value in errors, by default the call fname.
local function set(a, v, fname, what)
  what = what or fname
  evaluate(a)
  check_writable(a, fname)
  local whole_pair = not types[a.kind] and is_pair(v) and
    (fname == "fill" or #a.dims == 0)
  if type(v) == "table" and not is(v) and not whole_pair then
    v = from_tables(a.kind, v, what, a.home)
  end
  local kind = whole_pair and a.kind or kind_of(v, what)
  if is(v) and not types[kind] and types[a.kind] then
    fail("%s: %s cannot go into elements of %s; real, imag, abs and angle give "
      .. "reals", what, kind, a.kind)
  elseif is(v) and has_fractions(kind) and not has_fractions(a.kind) then
    fail("%s: a real cannot go into elements of %s; use :to", what, a.kind)
  end
  if not is(v) then
    v = fitting(what, a.kind, v)
    if a.mask then v = truth(v) end
    if a.flat and a.size > 0 then a.flat:fill(v)
    else
      local t = types[a.kind]
      if not t or t.bits == 16 and t.real then -- A kernel would read a float.
        v = filled(new(a.kind, {}, nil, a.home), v)
      end
      compute("copy", a, v)
    end
    return a
  end
  together(fname, ends, a, v)
  if not alike(a, v) and
      not same_shape(a.dims, broadcast(what, a.dims, v.dims)) then
    fail("%s: shape %s does not go into %s", what, shape_text(v.dims),
      shape_text(a.dims))
  end
  if a.size == 0 then return a end
  check_places(a, fname)
  if a.mask and not v.mask then v = v:ne(0) end
  if v.op and v.kind == a.kind and same_shape(v.dims, a.dims) and
      X.write(a, v) then
    return a
  end
  if X.overlap(evaluate(v), a) then
    -- Elements must be read before they are overwritten.
    v = compute("copy", new(v.kind, v.dims, v.mask, v.home), v)
  end
  return compute("copy", a, v)
end

function meta.__newindex(a, key, v)
  local kind = type(key)
  if kind == "number" then
    local n, i = a.dims[1] or 0, integer_index(key)
    if i < 1 or i > n then fail("a[i] = v: %d is outside 1..%d", i, n) end
    check_open("a[i] = v", a, nil, v)
    if #a.dims == 1 then return put(a, a.from + 1 + (i - 1) * a.stride[1], v)
    end
    set(further(a, i), v, "a[i] = v")
  elseif is(key) and key.mask then
    check_open("a[m] = v", a, key, v)
    local wide = C.core.mask_for(a, key)
    if not wide then
      fail("a[m] = v: a mask of shape %s expected, got %s",
        shape_text(a.dims), shape_text(key.dims))
    end
    together("a[m] = v", {"a", "m", "v"}, a, key, v)
    if type(v) == "table" and not is(v) then
      v = from_tables(a.kind, v, "a[m] = v", a.home)
    end
    if is(v) then
      broadcast("a[m] = v", a.dims, v.dims)
      local fits = has_fractions(a.kind) or not has_fractions(v.kind)
      fits = fits and (types[v.kind] or not types[a.kind])
      if fits and a.mask and not v.mask then v = v:ne(0)
      elseif fits and v.kind ~= a.kind then v = v:to(a.kind) end
    else
      kind_of(v, "a[m] = v")
      v = fitting("a[m] = v", a.kind, v)
      if not types[a.kind] then v = v[1] end
    end
    set(a, A.where(wide, v, a), "a[m] = v")
  elseif kind == "table" then
    check_open("a[{...}] = v", a, nil, v)
    local part, place, lists, there = at(a, index_table(key))
    if lists then
      C.core.put_lists(part, lists, there, v)
    elseif part then
      set(part, v, "a[{...}] = v")
    else
      put(a, place, v)
    end
  else
    fail("an array has no field that can be set (%s)", C.describe(key))
  end
end

meta.__len = X.len

define("set", function(a, v)
  check(a, 1, "a", "set")
  if type(v) ~= "number" and type(v) ~= "table" then
    fail("set: argument 2 (v): an array, a number or tables of numbers "
      .. "expected, got %s", C.describe(v))
  end
  if is(v) then check(v, 2, "v", "set") end
  return set(a, v, "set", "set: argument 2 (v)")
end)
define("fill", function(a, v)
  check(a, 1, "a", "fill")
  if types[a.kind] or not is_pair(v) then
    check_number(v, "fill", 2, "value")
  end
  return set(a, v, "fill", "fill: argument 2 (value)")
end)
define("copy", function(a, v)
  check(a, 1, "a", "copy")
  if C.type(v) == "buffer" then
    if not C.storage(v) then
      fail("copy: argument 2 (src): the buffer is closed")
    elseif #v ~= a.size then
      fail("copy: argument 2 (src): a buffer of %d elements expected, got %d",
        a.size, #v)
    end
    v = array_over(placed(v), 0, a.dims, packed_strides(a.dims))
  end
  return set(a, check(v, 2, "src", "copy"), "copy", "copy: argument 2 (src)")
end)
define("clone", function(a)
  check(a, 1, "a", "clone")
  return compute("copy", new(a.kind, {unpack(a.dims)}, a.mask, a.home), a)
end)

-- Closing an array closes the buffer that was made for it, and so its views.  A
-- view, an expression's result or an array over a buffer is closed alone.
-- Pending expressions that read the elements are evaluated first.
local function close(a)
  if a.op and is_closed(a) then return end
  evaluate(a)
  local storage = C.storage(a.base)
  if not storage then return end
  if files[storage] ~= nil then -- Its buffer is a view of the file.
    X.flush_readers(storage)
    lze.wait()
  end
  if a.owner then return a.base:close() end
  X.flush_readers(storage)
  local gone = a.base:view(1, 0)
  gone:close()
  a.base = gone
  rawset(a, "store", nil)
  if a.flat then a.flat = gone end
end

define("close", function(a) close(check_array(a, 1, "a", "close")) end)

-- --- reads -------------------------------------------------------------------

define("read", function(a)
  check(a, 1, "a", "read")
  return (ready(a)):read()
end)

-- Shows the array in a notebook, or prints it, after waiting for its elements.
define("display", function(a)
  check(a, 1, "a", "display")
  ready(a)
  if a.size > 0 then element(a, a.from + 1, "display") end
  C.display(X.given(a))
end)

define("item", function(a)
  check(a, 1, "a", "item")
  if a.size ~= 1 then
    fail("item: argument 1 (a): an array of one element expected, got shape "
      .. "%s", shape_text(a.dims))
  end
  return element(a, a.from + 1, "item")
end)

define("table", function(a)
  check(a, 1, "a", "table")
  local list, i = a:read(), 0
  local function nest(d)
    if d > #a.dims then
      i = i + 1
      return list[i]
    end
    local t = {}
    for n = 1, a.dims[d] do t[n] = nest(d + 1) end
    return t
  end
  return nest(1)
end)

-- Exports for the other files of arrays.
for key, v in next, {methods = methods, ready = ready,
  contiguous = contiguous,
  promote = promote, options = options, option_type = option_type,
  dimension = dimension, type_of = type_of, check_shape = check_shape,
  array_over = array_over, from_tables = from_tables, together = together,
  filled = filled, filled_beside = filled_beside, spaced = spaced,
  packed_strides = packed_strides, broadcast = broadcast, set = set,
  check_places = check_places, fitting = fitting,
  reductions = reductions, binary = binary, needs_double = needs_double,
  nearest_whole = nearest_whole, element = element, is_closed = is_closed,
  first_of = first_of, narrow = narrow, view = view,
  operand_in = operand_in,
  check_numbers = check_numbers, result_type = result_type,
  common_type = common_type, any_type_of = any_type_of,
  has_fractions = has_fractions, label = label,
  check_integer = check_integer, whole = whole, made = made,
  count_of = count_of, tables = {},
  script_kernel = script_kernel, placed = placed, is_file = is_file,
  no_more = no_more} do
  core[key] = v
end

meta.__name = "array"
meta.__close = close
meta.__index = X.index(methods, further)
meta.evaluate, meta.flush_readers = evaluate, X.flush_readers
meta.suspend_readers = X.suspend_readers
meta.restore_readers = X.restore_readers
C.keep(meta, outer_meta)
C.part("array_file", core)
C.part("array_archive", core)
C.part("array_text", core)
C.part("array_map", core)
C.part("array_reduce", core)
C.part("array_linear", core)
C.part("array_random", core)
C.part("array_show", core)
C.part("array_index", core)
C.part("array_network", core)
C.part("array_order", core)
C.part("array_signal", core)
C.part("array_fourier", core)
C.part("array_shape", core)
C.part("array_statistics", core)
C.part("array_search", core)
C.part("array_complex", core)
C.part("array_factor", core)
C.part("array_product", core)
C.part("array_linalg", core)
C.part("array_names", core)

-- Functions that take sizes in one table, and the beginning of their calls.
local sized = {zeros = "A.", ones = "A.", rand = "A.", randn = "A.",
  reshape = "a:", view = "a:", expand = "a:", tile = "a:"}

-- Refuses sizes that are separate arguments, as in NumPy.
local function check_sizes(name, ...)
  local list = {select(sized[name] == "a:" and 2 or 1, ...)}
  for _, v in ipairs(list) do
    if type(v) ~= "number" then return end
  end
  if #list > 1 then
    fail("%s: sizes are one table: %s%s {%s}", name, sized[name], name,
      concat(list, ", "))
  end
end

-- Wraps a function for scripts: it refuses extra arguments, such as options for
-- a function without any, which would otherwise be ignored.
local function public(name, f)
  local n, called = C.parameters(f), f
  local function refuse(...)
    if sized[name] then check_sizes(name, ...) end
    no_more(name, n, select(n + 1, ...))
  end
  if sized[name] == "A." then
    called = function(shape, o)
      if type(o) == "number" then check_sizes(name, shape, o) end
      return f(shape, o)
    end
  end
  return X.public(called, n or -1, refuse)
end

local exported, public_methods = {}, {}
for name, f in next, A do
  exported[name] = public(name, f)
  if methods[name] then public_methods[name] = exported[name] end
end
-- Returns what f, called under another name, returned to C.pcall; errors have
-- the name of the call.
local function renamed(name, alias, ok, ...)
  if ok then return ... end
  local e, start = ..., C.where() .. name .. ":"
  if type(e) == "string" and e:sub(1, #start) == start then
    fail("%s", alias .. e:sub(#start))
  end
  C.raise(e)
end

for alias, name in next, core.aliases do
  local f, n = A[name], C.parameters(A[name])
  exported[alias] = X.public(function(...)
    return renamed(name, alias, C.pcall(f, ...))
  end, n or -1, function(...) no_more(alias, n, select(n + 1, ...)) end)
  if methods[name] then public_methods[alias] = exported[alias] end
end

-- Tables of functions of one subject; one that has the name of a function can
-- be called like it.
for name, list in next, core.tables do
  local t, f = {}, exported[name]
  for _, member in ipairs(list) do t[member] = exported[member] end
  exported[name] = setmetatable(t, f and {
    __call = function(_, ...) return f(...) end})
end
exported.newaxis = newaxis
exported.random = core.random(public)
setmetatable(exported, {__call = X.public(getmetatable(A).__call, -1)})
for event, f in next, meta do
  if event:find "^__" and type(f) == "function" then
    outer_meta[event] = X.public(f, -1)
  end
end
outer_meta.__index = X.public(public_further, -1, nil, public_methods)

return {
  open = function() return exported end,
  -- g:array(...): the caller adds the position to errors.
  record = function(g, name, dst, e)
    local ok, v = C.pcall(X.record, g, name, table_of(dst), table_of(e))
    if ok then return v end
    if type(v) ~= "string" then C.raise(v) end
    local where = C.where()
    error(v:sub(1, #where) == where and v:sub(#where + 1) or v, 0)
  end
}
