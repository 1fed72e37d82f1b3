-- array_file.lua - arrays in files: NumPy's, and pictures.
-- SPDX-License-Identifier: MIT
--
-- The format is that of numpy.lib.format: "\x93NUMPY", the version, the length
-- of the header, the header (a Python literal), the elements.

local core = ...
local C, A, fail = core.C.files(), core.A, core.fail
local ipairs, tonumber, type = ipairs, tonumber, type
local concat, format, mathtype = table.concat, string.format, math.type

local most = 1 << 20 -- bytes of a header; NumPy writes less than 10000
local deepest = 100 -- nesting of literals

-- Element types by the part of descr after the byte order, with the width in
-- bytes to which the byte order applies.
local elements = {
  b1 = {"uchar", 1, mask = true}, i1 = {"char", 1}, u1 = {"uchar", 1},
  i2 = {"short", 2}, u2 = {"ushort", 2}, i4 = {"int", 4}, u4 = {"uint", 4},
  i8 = {"long", 8}, u8 = {"ulong", 8}, f2 = {"half", 2}, f4 = {"float", 4},
  f8 = {"double", 8}, c8 = {"complex64", 4},
  c16 = {"complex128", 8}
}

local kinds = {} -- descr by element type
for descr, t in next, elements do
  if not t.mask then kinds[t[1]] = (t[2] == 1 and "|" or "<") .. descr end
end

-- Other NumPy names of dtypes: by letter, and in words.
local dtypes = {["?"] = "b1", bool = "b1", b = "i1", int8 = "i1", B = "u1",
  uint8 = "u1", h = "i2", int16 = "i2", H = "u2", uint16 = "u2", i = "i4",
  int32 = "i4", I = "u4", uint32 = "u4", l = "i8", q = "i8", int64 = "i8",
  L = "u8", Q = "u8", uint64 = "u8", e = "f2", float16 = "f2", half = "f2",
  f = "f4", float32 = "f4", single = "f4", d = "f8", float64 = "f8",
  double = "f8", F = "c8", complex64 = "c8", D = "c16", complex128 = "c16"}

local escapes = {n = "\n", t = "\t", r = "\r"}

-- Parses the Python literal at position i of a text, nested in `depth` others.
-- Returns its value and its end; nil if it is invalid or too deep.  Tuples and
-- lists become arrays, tuples with `tuple`, dictionaries tables of `keys`.
-- None and anything that contains None also return nil.
local literal

-- As in Python, parentheses make a tuple only if they contain a comma or are
-- empty.
local function sequence(text, i, last, depth)
  local list, comma = {}, true
  while true do
    i = text:match("^%s*()", i)
    if text:sub(i, i) == last then
      if last == ")" and #list == 1 and not comma then return list[1], i + 1 end
      list.tuple = last == ")"
      return list, i + 1
    end
    if not comma then return nil end
    local v
    v, i = literal(text, i, depth)
    if v == nil then return nil end
    list[#list + 1] = v
    i, comma = text:match("^%s*()(,?)", i)
    comma = comma == ","
    if comma then i = i + 1 end
  end
end

local function dictionary(text, i, depth)
  local t, comma = {}, true
  while true do
    i = text:match("^%s*()", i)
    if text:sub(i, i) == "}" then return {keys = t}, i + 1 end
    if not comma then return nil end
    local key, v
    key, i = literal(text, i, depth)
    if type(key) ~= "string" or t[key] ~= nil then return nil end
    i = text:match("^%s*:()", i)
    if not i then return nil end
    v, i = literal(text, i, depth)
    if v == nil then return nil end
    t[key] = v
    i, comma = text:match("^%s*()(,?)", i)
    comma = comma == ","
    if comma then i = i + 1 end
  end
end

local function quoted(text, i, mark)
  local parts = {}
  while true do
    local plain, at = text:match("^([^\\'\"\n]*)()", i)
    parts[#parts + 1] = plain
    local c = text:sub(at, at)
    if c == mark then return concat(parts), at + 1 end
    if c == "\\" then
      at = at + 1
      c = text:sub(at, at)
      c = escapes[c] or c
    elseif c == "\n" then
      return nil
    end
    if c == "" then return nil end
    parts[#parts + 1] = c
    i = at + 1
  end
end

function literal(text, i, depth)
  if depth == deepest then return nil end
  i = text:match("^%s*()", i)
  local c = text:sub(i, i)
  if c == "{" then return dictionary(text, i + 1, depth + 1) end
  if c == "(" then return sequence(text, i + 1, ")", depth + 1) end
  if c == "[" then return sequence(text, i + 1, "]", depth + 1) end
  local prefix, mark = text:match("^([bu]?)(['\"])", i)
  if mark then return quoted(text, i + #prefix + 1, mark) end
  local sign, digits, after = text:match("^([+-]?)(0[xX]_?%x[%x_]*)()", i)
  if not digits then
    -- Python 2 wrote 3L.
    sign, digits, after = text:match("^([+-]?)(%d[%d_]*)L?()", i)
  end
  if digits then
    local n = tonumber((digits:gsub("_", "")))
    return sign == "-" and -n or n, after
  end
  local word
  word, after = text:match("^(%a+)()", i)
  if word == "True" then return true, after end
  if word == "False" then return false, after end
end

local function failure(path, code, ...)
  C.fail("lze.array.load", code, path .. ": " .. format(...))
end

local function damaged(path, ...) failure(path, "INVALID_FILE", ...) end

-- Parses a header: returns {type, width in bytes to which the byte order
-- applies, swap =, mask =}, the shape, and true if columns come first.
local function understand(path, text)
  local t, at = literal(text, 1, 0)
  local keys = type(t) == "table" and t.keys
  if not keys or text:find("[^%s%z]", at) then
    damaged(path, "the header is not a dictionary of Python's")
  end
  for _, name in ipairs {"descr", "fortran_order", "shape"} do
    if keys[name] == nil then damaged(path, "the header lacks %s", name) end
  end
  for name in next, keys do
    if name ~= "descr" and name ~= "fortran_order" and name ~= "shape" then
      damaged(path, "the header has an unknown key, '%s'", name)
    end
  end
  if type(keys.fortran_order) ~= "boolean" then
    damaged(path, "fortran_order is neither True nor False")
  end
  local shape = keys.shape
  if type(shape) ~= "table" or not shape.tuple then
    damaged(path, "the shape is not a tuple")
  end
  shape.tuple = nil
  for i, n in ipairs(shape) do
    if mathtype(n) ~= "integer" or n < 0 then
      damaged(path, "dimension %d of the shape is not a size", i)
    end
  end
  if #shape > 8 then
    failure(path, "UNSUPPORTED_FILE", "an array of %d dimensions (8 at most)",
      #shape)
  end
  local descr = keys.descr
  if type(descr) ~= "string" then
    failure(path, "UNSUPPORTED_FILE",
      "elements of several fields: dtype %s", text:match "'descr':%s*(%b[])"
      or text:match '"descr":%s*(%b[])' or "unknown")
  end
  local order, kind = descr:match "^([<>=|]?)([%w?]+)$"
  local element = elements[kind] or elements[dtypes[kind]]
  if not element then
    failure(path, "UNSUPPORTED_FILE", "elements of dtype '%s' (known: b1, i1, "
      .. "i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, of either order)",
      descr)
  end
  return {element[1], element[2], mask = element.mask,
    swap = order == ">" and element[2] > 1}, shape, keys.fortran_order
end

-- Returns the number of elements of a shape; nil if it overflows an integer.
local function count(shape)
  local n = 1
  for _, size in ipairs(shape) do
    if size == 0 then return 0 end
  end
  for _, size in ipairs(shape) do
    if n > math.maxinteger // size then return nil end
    n = n * size
  end
  return n
end

-- Reads the header of an open file that has `size` bytes, or nil if that is not
-- known.  Returns what `understand` returns, the number of elements, and the
-- position of the first one; errors begin with the path.
local function read_header(path, file, size)
  local head = C.read(file, 8)
  if head:sub(1, 6) ~= "\x93NUMPY" then
    damaged(path, "not a .npy file, which begins with \\x93NUMPY")
  elseif #head < 8 then
    damaged(path, "it ends in the header")
  end
  local major, minor = head:byte(7, 8)
  if major < 1 or major > 3 or minor ~= 0 then
    failure(path, "UNSUPPORTED_FILE",
      "version %d.%d of the format (known: 1.0, 2.0, 3.0)", major, minor)
  end
  local width = major == 1 and 2 or 4
  local length = C.read(file, width)
  if #length < width then damaged(path, "it ends in the header") end
  length = ("<I" .. width):unpack(length)
  if length > most then damaged(path, "a header of %d bytes", length) end
  local text = C.read(file, length)
  if #text < length then damaged(path, "it ends in the header") end
  local element, shape, fortran = understand(path, text)
  local n = count(shape)
  local bytes = C.size(element[1])
  if not n or n > math.maxinteger // bytes then
    damaged(path, "a shape of more elements than any memory has")
  end
  local there = size and size - 8 - width - length
  if there and there < n * bytes then
    damaged(path, "%d bytes of elements, but %d are there", n * bytes, there)
  end
  return element, shape, fortran, n, 8 + width + length
end

-- Returns a shape, or that of its dimensions in reverse order.
local function stored_shape(shape, fortran)
  if not fortran then return shape end
  local stored = {}
  for d = 1, #shape do stored[d] = shape[#shape + 1 - d] end
  return stored
end

-- Returns an array or, if columns come first in its elements, a view of it with
-- the dimensions in reverse order.
local function in_order(a, fortran)
  if not fortran or #a.dims < 2 then return a end
  local order = {}
  for d = 1, #a.dims do order[d] = #a.dims + 1 - d end
  return a:permute(order)
end

-- Reads an array from an open file; the arguments are those of read_header.
local function read(path, file, size)
  local element, shape, fortran = read_header(path, file, size)
  local a = core.new_on(nil, element[1], stored_shape(shape, fortran),
    element.mask)
  local lacks = C.load(file, a.flat, element.swap and element[2] or 1,
    element.mask or false)
  if lacks > 0 then damaged(path, "%d bytes of elements are missing", lacks) end
  return in_order(a, fortran)
end

local function load(path)
  local file <close>, size = C.open(path)
  return read(path, file, size)
end

-- Returns the buffer and the .npy header of an array.
local function encoded(a)
  local descr = a.mask and "|b1" or kinds[a.kind]
  if not descr then
    fail("save: argument 1 (a): elements of %s have no dtype in .npy files%s",
      a.kind,
      a.kind == "bfloat16" and '; a:to "float" has one' or "")
  end
  local buffer = core.ready(a)
  local sizes = concat(a.dims, ", ")
  if #a.dims == 1 then sizes = sizes .. "," end
  local text = format("{'descr': '%s', 'fortran_order': False, "
    .. "'shape': (%s), }", descr, sizes)
  text = text .. (" "):rep(-(10 + #text + 1) % 64) .. "\n"
  return buffer, "\x93NUMPY\1\0" .. ("<I2"):pack(#text) .. text
end

-- Saves the elements of an array, row by row, as a NumPy file.
local function save(a, path)
  local buffer, head = encoded(a)
  local file <close> = C.create(path)
  C.write(file, head)
  C.save(file, buffer)
  C.commit(file)
end

-- Saves a picture: rows of pixels of 3 or 4 bytes each or, at rank 2, one byte.
local function picture(a, path, compress)
  local shape = a.dims
  local channels = #shape == 2 and 1 or shape[3]
  if a.kind ~= "uchar" or #shape < 2 or #shape > 3 or
      #shape == 3 and channels ~= 3 and channels ~= 4 then
    fail("save: argument 1 (a): a picture is of uchar and of shape {h, w}, "
      .. "{h, w, 3} or {h, w, 4}; this is %s %s", a.kind,
      core.shape_text(shape))
  end
  local height, width = shape[1], shape[2]
  if height < 1 or width < 1 or height > 0x7fffffff or width > 0x7fffffff then
    fail("save: argument 1 (a): a picture of %d by %d pixels", width, height)
  end
  local buffer = core.ready(a)
  local file <close> = C.create(path)
  C.picture(file, buffer, width, height, channels, compress)
  C.commit(file)
end

-- Formats by the ending of a name: functions load(path, options) -> array,
-- save(a, path, options) and save_all(arrays, path, options), which is for
-- tables of arrays; load and save_all may be absent.  They check the options.
local formats = {
  [".npy"] = {
    load = function(path, o)
      core.options(o, {}, "load", 2)
      return core.made(load, path)
    end,
    save = function(a, path, o)
      core.options(o, {}, "save", 3)
      core.made(save, a, path)
    end
  },
  [".png"] = {
    save = function(a, path, o)
      core.options(o, {"compress"}, "save", 3)
      core.made(picture, a, path, core.option_truth(o, "compress", true))
    end
  }
}
core.formats, core.read_npy, core.encode_npy = formats, read, encoded
core.file_failure, core.file_damaged = failure, damaged

-- Returns the truth value of an option of A.save, argument 3.
function core.option_truth(o, name, otherwise)
  local v = o and o[name]
  if v == nil then return otherwise end
  if type(v) ~= "boolean" then
    fail("save: argument 3 (options): %s: boolean expected, got %s", name,
      core.C.describe(v))
  end
  return v
end

local function check_path(path, n, fname)
  if type(path) ~= "string" then
    fail("%s: argument %d (path): string expected, got %s", fname, n,
      core.C.describe(path))
  elseif path:find("\0", 1, true) then
    fail("%s: argument %d (path): it contains a zero byte", fname, n)
  end
end

-- Returns the format of a path, argument n of fname, which has a function
-- called `action` for it.  A name without an ending is a .npy file.
local function format_of(path, n, fname, action)
  check_path(path, n, fname)
  local ending = path:lower():match "[^/](%.[^./]*)$" or ".npy"
  local f = formats[ending]
  if f and f[action] then return f end
  local known = {}
  for name, other in next, formats do
    if other[action] then known[#known + 1] = name end
  end
  table.sort(known)
  local text = concat(known, ", "):gsub(", ([^,]*)$", " or %1")
  if formats[".npy"][action] then text = text .. ", or has no ending," end
  fail("%s: argument %d (path): a name that ends in %s expected, got '%s'",
    fname, n, text, path)
end

-- A.load(path [, options]) -> the array in a file or, for an archive, a table
-- of arrays by name.
function A.load(path, o)
  return format_of(path, 1, "load", "load").load(path, o)
end

-- a:save(path [, options]), or A.save(path, arrays [, options]).
core.define("save", function(a, path, o)
  if type(a) == "string" then
    local f = format_of(a, 1, "save", "save_all")
    return f.save_all(path, a, o)
  end
  core.check(a, 1, "a", "save")
  format_of(path, 2, "save", "save").save(a, path, o)
end)

-- Returns the array in a file whose elements are read when they are used.
local function open(path, write, device)
  local file <close>, size = C.open(path)
  if not size then failure(path, "UNSUPPORTED_FILE", "a pipe") end
  local element, shape, fortran, n, position = read_header(path, file, size)
  if element.swap or position % C.size(element[1]) ~= 0 then
    failure(path, "UNSUPPORTED_FILE", "%s; A.load reads it", element.swap and
      "elements in another machine's byte order" or "elements at odd addresses")
  end
  shape = stored_shape(core.check_shape(shape, "open"), fortran)
  local base = n > 0 and
    C.map(file, position, element[1], n, write, device)
  if not base then return nil end
  local a = core.array_over(core.placed(base), 0, shape,
    core.packed_strides(shape), nil, true)
  core.is_file(a, write)
  return in_order(a, fortran)
end

-- A.open(path [, options]) -> the array in a .npy file, without reading it now.
function A.open(path, o)
  check_path(path, 1, "open")
  o = core.options(o, {"write", "device"}, "open", 2)
  if o.write ~= nil and type(o.write) ~= "boolean" then
    fail("open: argument 2 (options): write: boolean expected, got %s",
      core.C.describe(o.write))
  end
  local _, device = core.option_type({device = o.device}, "open", 2)
  return core.made(open, path, o.write or false, device) or A.load(path)
end
