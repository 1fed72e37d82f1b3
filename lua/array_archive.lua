-- array_archive.lua - several arrays in a file: NumPy's .npz archives.
-- SPDX-License-Identifier: MIT
--
-- An archive is a ZIP file with a member NAME.npy for each array.  PKWARE's
-- APPNOTE.TXT, sections 4.3 and 4.5.3 (64-bit sizes), describes the format.

local core = ...
local C, fail, is = core.C.files(), core.fail, core.is
local damaged, failure = core.file_damaged, core.file_failure
local ipairs, type = ipairs, type
local concat, format, mathtype = table.concat, string.format, math.type

local MOST_NAMES <const> = 1 << 26 -- bytes of the directory
local TAIL <const> = 65557         -- the end record and the longest comment
local WIDE <const> = 0xffffffff    -- stands for a size in another place
local LARGE <const> = 0xf0000000   -- from here on, sizes have 64 bits
local RATIO <const> = 1032         -- of deflate, at most
local STORED <const>, DEFLATED <const> = 0, 8

-- --- reading -----------------------------------------------------------------

local function read_at(file, position, n)
  C.seek(file, position)
  return C.read(file, n)
end

-- Returns the position, the size and the number of entries of the directory.
local function find_directory(path, file, size)
  local tail = read_at(file, math.max(size - TAIL, 0), TAIL)
  local at
  for i = #tail - 21, 1, -1 do
    if tail:sub(i, i + 3) == "PK\5\6" and
        i + 21 + ("<I2"):unpack(tail, i + 20) == #tail then
      at = i
      break
    end
  end
  if not at then damaged(path, "not an archive, or its end is missing") end
  local disk, first, here, n, bytes, position =
    ("<I2I2I2I2I4I4"):unpack(tail, at + 4)
  local wide = at > 20 and tail:sub(at - 20, at - 17) == "PK\6\7"
  if wide then
    local where = ("<i8"):unpack(tail, at - 12)
    if where < 0 or where > size - 56 then
      damaged(path, "the end of the directory is outside of the file")
    end
    local record = read_at(file, where, 56)
    if record:sub(1, 4) ~= "PK\6\6" then
      damaged(path, "the end of the directory is missing")
    end
    disk, first, here, n, bytes, position =
      ("<I4I4i8i8i8i8"):unpack(record, 17)
  end
  if disk ~= 0 or first ~= 0 or here ~= n then
    failure(path, "UNSUPPORTED_FILE", "an archive in several files")
  end
  if position < 0 or bytes < 0 or position > size or
      bytes > size - position then
    damaged(path, "the directory is outside of the file")
  elseif bytes > MOST_NAMES then
    damaged(path, "a directory of %d bytes", bytes)
  end
  return position, bytes, n
end

-- Replaces sizes by their 64-bit values in the extra fields of an entry.
local function widen(path, m, extra)
  local at = 1
  while at + 3 <= #extra do
    local kind, n = ("<I2I2"):unpack(extra, at)
    local field = extra:sub(at + 4, at + 3 + n)
    if kind == 1 then
      local place = 1
      for _, key in ipairs {"bytes", "packed", "position"} do
        if m[key] == WIDE then
          if place + 7 > #field then damaged(path, "a size is missing") end
          m[key], place = ("<i8"):unpack(field, place)
        end
      end
    end
    at = at + 4 + n
  end
end

-- Reads the directory: a list of members.
local function directory(path, file, size)
  local position, bytes, n = find_directory(path, file, size)
  local text, at, list = read_at(file, position, bytes), 1, {}
  while #list < n do
    if at + 45 > #text or text:sub(at, at + 3) ~= "PK\1\2" then
      damaged(path, "entry %d of the directory is missing", #list + 1)
    end
    local m = {}
    local names, extras, comments
    m.flags, m.method = ("<I2I2"):unpack(text, at + 8)
    m.crc, m.packed, m.bytes, names, extras, comments =
      ("<I4I4I4I2I2I2"):unpack(text, at + 16)
    m.position = ("<I4"):unpack(text, at + 42)
    local last = at + 45 + names + extras + comments
    if last > #text then
      damaged(path, "entry %d of the directory is missing", #list + 1)
    end
    m.name = text:sub(at + 46, at + 45 + names)
    widen(path, m, text:sub(at + 46 + names, at + 45 + names + extras))
    list[#list + 1], at = m, last + 1
  end
  return list, position
end

-- Checks the sizes of a member; `last` is the end of the members.
local function check_member(where, m, last)
  if m.flags & 1 ~= 0 then
    failure(where, "UNSUPPORTED_FILE", "it is encrypted")
  elseif m.method ~= STORED and m.method ~= DEFLATED then
    failure(where, "UNSUPPORTED_FILE",
      "compression method %d (known: 0, stored, and 8, deflate)", m.method)
  elseif m.packed < 0 or m.bytes < 0 or m.position < 0 or
      m.position > last or m.packed > last - m.position then
    damaged(where, "it is outside of the file")
  elseif m.method == STORED and m.packed ~= m.bytes then
    damaged(where, "%d bytes, stored in %d", m.bytes, m.packed)
  elseif m.bytes // RATIO > m.packed then
    damaged(where, "%d bytes, compressed to %d, which is impossible", m.bytes,
      m.packed)
  end
end

-- Makes the file read a member; returns the end of it.
local function enter(where, file, m, last)
  local head = read_at(file, m.position, 30)
  if #head < 30 or head:sub(1, 4) ~= "PK\3\4" then
    damaged(where, "its header is missing")
  end
  local names, extras = ("<I2I2"):unpack(head, 27)
  local start = m.position + 30 + names + extras
  if start > last or m.packed > last - start then
    damaged(where, "it is outside of the file")
  end
  C.seek(file, start)
  if not C.member(file, m.method == DEFLATED, m.packed, m.bytes, m.crc) then
    failure(where, "UNSUPPORTED_FILE", "it is compressed, and libz.so.1 is "
      .. "missing (Debian's package zlib1g)")
  end
  return start + m.packed
end

local function load(path)
  local file <close>, size = C.open(path)
  if not size then
    failure(path, "UNSUPPORTED_FILE", "an archive in a pipe")
  end
  local list, last = directory(path, file, size)
  table.sort(list, function(a, b) return a.position < b.position end)
  local arrays, free = {}, 0
  for _, m in ipairs(list) do
    local name = m.name:match "^(.*)%.npy$"
    local where = format("%s: member '%s'", path, m.name:gsub("[%c'\\]", "?"))
    check_member(where, m, last)
    if m.position < free then damaged(where, "it overlaps another one") end
    free = enter(where, file, m, last)
    if name then
      if arrays[name] then damaged(where, "it is there twice") end
      local a = core.read_npy(where, file, m.bytes)
      local rest, right = C.rest(file)
      if rest > 0 then damaged(where, "%d bytes too many", rest) end
      if not right then damaged(where, "its checksum is wrong") end
      arrays[name] = a
    end
  end
  for name, a in next, arrays do arrays[name] = core.X.given(a) end
  return arrays
end

-- --- writing -----------------------------------------------------------------

-- Returns the header of a member before its bytes: sizes have 64 bits if wide.
local function local_header(m)
  local extra = m.wide and ("<I2I2I8I8"):pack(1, 16, m.bytes, m.packed) or ""
  return ("<c4I2I2I2I2I2I4I4I4I2I2"):pack("PK\3\4", m.wide and 45 or 20,
    m.flags, m.method, 0, 33, m.crc, m.wide and WIDE or m.packed,
    m.wide and WIDE or m.bytes, #m.name, #extra) .. m.name .. extra
end

-- Returns the entry of a member in the directory: for everybody, a plain file
-- of its owner.
local function entry(m)
  local wide = m.wide or m.position >= LARGE
  local extra = wide and ("<I2I2I8I8I8"):pack(1, 24, m.bytes, m.packed,
    m.position) or ""
  return ("<c4I2I2I2I2I2I2I4I4I4I2I2I2I2I2I4I4"):pack("PK\1\2", 0x0314,
    wide and 45 or 20, m.flags, m.method, 0, 33, m.crc,
    wide and WIDE or m.packed, wide and WIDE or m.bytes, #m.name, #extra, 0, 0,
    0, 384 << 16, wide and WIDE or m.position) .. m.name .. extra
end

-- Returns the end of an archive.
local function ending(n, bytes, position)
  local text = ""
  if position >= LARGE or n >= 0xffff then
    text = ("<c4I8I2I2I4I4I8I8I8I8"):pack("PK\6\6", 44, 45, 45, 0, 0, n, n,
      bytes, position) ..
      ("<c4I4I8I4"):pack("PK\6\7", 0, position + bytes, 1)
  end
  return text .. ("<c4I2I2I2I2I4I4I2"):pack("PK\5\6", 0, 0,
    math.min(n, 0xffff), math.min(n, 0xffff), math.min(bytes, WIDE),
    text ~= "" and WIDE or position, 0)
end

-- Writes an array as a member at a position; returns the member.
local function write_member(file, path, name, a, position, compress)
  local buffer, head = core.encode_npy(a)
  local bytes = #head + a.size * C.size(a.kind)
  local m = {name = name .. ".npy", method = compress and DEFLATED or STORED,
    flags = name:find "[\x80-\xff]" and 0x800 or 0, crc = 0, packed = 0,
    bytes = bytes, wide = bytes >= LARGE, position = position}
  C.write(file, local_header(m))
  if not C.begin(file, compress) then
    C.fail("lze.array.save", "MISSING_LIBRARY", path
      .. ": compression needs libz.so.1 (Debian's package zlib1g)")
  end
  C.write(file, head)
  C.save(file, buffer)
  m.crc, m.packed = C.finish(file)
  C.patch(file, position, local_header(m))
  return m
end

-- Saves a list of {name, array}.
local function save(list, path, compress)
  local file <close> = C.create(path)
  local position, entries = 0, {}
  for i, t in ipairs(list) do
    local m = write_member(file, path, t[1], t[2], position, compress)
    position = position + #local_header(m) + m.packed
    entries[i] = entry(m)
  end
  local text = concat(entries)
  C.write(file, text)
  C.write(file, ending(#list, #text, position))
  C.commit(file)
end

-- Returns a table of arrays as a list of {name, array}, sorted by name.  As in
-- NumPy, the i-th array without a name is called arr_ and i - 1.
local function named(arrays)
  if type(arrays) ~= "table" or is(arrays) then
    fail("save: argument 2 (arrays): a table of arrays expected, got %s",
      core.C.describe(arrays))
  end
  local list, seen = {}, {}
  for key, v in next, arrays do
    local name = mathtype(key) == "integer" and key > 0 and "arr_" .. key - 1 or
      key
    if type(name) ~= "string" or name == "" or #name > 1000 or
        name:find "%z" then
      fail("save: argument 2 (arrays): a name or an index expected, got the "
        .. "key %s", core.C.describe(key))
    elseif seen[name] then
      fail("save: argument 2 (arrays): two arrays have the name '%s'", name)
    end
    local a = core.X.table_of(v)
    if not is(a) then
      fail("save: argument 2 (arrays): '%s': array expected, got %s", name,
        core.C.describe(v))
    elseif core.is_closed(a) then
      fail("save: argument 2 (arrays): '%s': the array is closed", name)
    end
    seen[name], list[#list + 1] = true, {name, a}
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function save_all(list, path, o)
  core.options(o, {"compress"}, "save", 3)
  core.made(save, list, path, core.option_truth(o, "compress", false))
end

core.formats[".npz"] = {
  load = function(path, o)
    core.options(o, {}, "load", 2)
    return core.made(load, path)
  end,
  save = function(a, path, o) save_all({{"arr_0", a}}, path, o) end,
  save_all = function(arrays, path, o) save_all(named(arrays), path, o) end
}
