-- array_text.lua - arrays in files of text, with a row in each line.
-- SPDX-License-Identifier: MIT

local core = ...
local C, fail, types = core.C.files(), core.fail, core.types
local formats = core.formats
local ipairs, type = ipairs, type
local concat, format = table.concat, string.format

local PIECE <const> = 1 << 24  -- bytes that are read at once
local FIELDS <const> = 1 << 20 -- columns of a text
local ROWS <const> = 1 << 14   -- elements that are written at once

local function describe(v)
  return type(v) == "number" and tostring(v) or core.C.describe(v)
end

-- Returns a one-character option; `otherwise` if it is nil.
local function character(o, name, otherwise, fname, n)
  local v = o[name]
  if v == nil then return otherwise end
  if type(v) ~= "string" or #v ~= 1 or v:find '[%w+."\r\n%z-]' then
    fail("%s: argument %d (options): %s: one character other than a letter, a "
      .. "digit, '+', '-', '.' or '\"' expected, got %s", fname, n, name,
      core.C.describe(v))
  end
  return v
end

-- Returns the delimiter as C takes it: a blank stands for any blanks.
local function delimiter_of(o, otherwise, fname, n)
  local c = character(o, "delimiter", otherwise, fname, n)
  return c == " " and "" or c
end

-- Returns the last column of option columns, a column or a list, how many there
-- are, and the place of each among them or false.
local function places_of(columns)
  local list = type(columns) == "table" and columns or {columns}
  local places, last = {}, 0
  if #list == 0 then
    fail("load: argument 2 (options): columns: a column expected, got an "
      .. "empty table")
  end
  for i, column in ipairs(list) do
    local c = core.check_integer(column, "load",
      "argument 2 (options): columns", format("a column of 1 to %d", FIELDS), 1,
      FIELDS)
    for j = last + 1, c do places[j] = false end
    if places[c] then
      fail("load: argument 2 (options): columns: column %d is named twice", c)
    end
    places[c], last = i, math.max(last, c)
  end
  return last, #list, places
end

-- Checks the options of load; returns them as `load` below takes them.
local function options_of(o, otherwise)
  o = core.options(o, {"skip", "columns", "delimiter", "comment", "missing",
    "type", "device"}, "load", 2)
  local kind, device = core.option_type({type = o.type, device = o.device},
    "load", 2, "float")
  local t = {kind = kind, device = device, missing = o.missing,
    one = o.columns ~= nil and type(o.columns) ~= "table",
    delimiter = delimiter_of(o, otherwise, "load", 2),
    comment = o.comment == false and "" or character(o, "comment", "#", "load",
      2),
    skip = o.skip == nil and 0 or core.check_integer(o.skip, "load",
      "argument 2 (options): skip", "a number of lines", 0)}
  if o.columns ~= nil then
    t.fields, t.width, t.places = places_of(o.columns)
  end
  if o.missing ~= nil then
    if type(o.missing) ~= "number" then
      fail("load: argument 2 (options): missing: a number expected, got %s",
        core.C.describe(o.missing))
    end
    t.missing = core.fitting("load: argument 2 (options): missing", kind,
      o.missing)
  end
  return t
end

local function text_of(path)
  local file <close> = C.open(path)
  local pieces = {}
  repeat
    local piece = C.read(file, PIECE)
    pieces[#pieces + 1] = piece
  until #piece < PIECE
  return concat(pieces)
end

local function load(path, o)
  local text = text_of(path)
  local rows, fields, position, line = C.survey(text, o.skip, o.delimiter,
    o.comment)
  if not o.places and fields > FIELDS then
    core.file_damaged(path, "a row of %d columns (%d at most)", fields, FIELDS)
  end
  local width = o.width or fields
  local a = core.new_on(o.device, o.kind,
    core.check_shape(o.one and {rows} or {rows, width}, "load"))
  if a.size == 0 then return a end
  local where, column, problem = C.parse(text, position, line, a.flat,
    o.fields or fields, width, o.places, o.missing, o.delimiter, o.comment)
  if not where then return a end
  core.file_damaged(path, "line %d%s: %s", where,
    column > 0 and format(", column %d", column) or "", problem)
end

-- Returns the first line: the names of columns.
local function header_of(names, columns, delimiter)
  if names == nil then return nil end
  if type(names) ~= "table" or #names ~= columns then
    fail("save: argument 3 (options): header: a list of %d names expected, "
      .. "got %s", columns, type(names) == "table" and #names .. " names" or
      describe(names))
  end
  local texts = {}
  for i, name in ipairs(names) do
    if type(name) ~= "string" or name:find "[\r\n]" then
      fail("save: argument 3 (options): header: name %d: a string without line "
        .. "breaks expected, got %s", i, describe(name))
    end
    if name:find('"', 1, true) or name:find(delimiter, 1, true) then
      name = '"' .. name:gsub('"', '""') .. '"'
    end
    texts[i] = name
  end
  return concat(texts, delimiter) .. "\n"
end

local function save(a, path, delimiter, header)
  local columns = a.dims[2] or 1
  local rows = a.size // math.max(columns, 1)
  local buffer = core.ready(a)
  local file <close> = C.create(path)
  if header then C.write(file, header) end
  local step = math.max(ROWS // math.max(columns, 1), 1)
  for first = 0, rows - 1, step do
    C.write(file, C.print(buffer, first * columns, math.min(step, rows - first),
      columns, delimiter))
  end
  C.commit(file)
end

-- Text formats by ending, with their delimiters; "" is any number of blanks.
for ending, delimiter in next, {[".csv"] = ",", [".tsv"] = "\t", [".txt"] = "",
  [".dat"] = ""} do
  formats[ending] = {
    load = function(path, o)
      return core.made(load, path, options_of(o, delimiter))
    end,
    save = function(a, path, o)
      o = core.options(o, {"delimiter", "header"}, "save", 3)
      local c = delimiter_of(o, delimiter, "save", 3)
      if c == "" then c = " " end
      if not types[a.kind] then
        fail("save: argument 1 (a): elements of %s have no text in files",
          a.kind)
      elseif #a.dims > 2 then
        fail("save: argument 1 (a): an array of at most 2 dimensions expected "
          .. "for text, got shape %s", core.shape_text(a.dims))
      end
      core.made(save, a, path, c, header_of(o.header, a.dims[2] or 1, c))
    end
  }
end
