-- help.lua - lze.help: what the manual says of a function, object or word.
-- SPDX-License-Identifier: MIT

local C = ...

local concat, find, format, gmatch, gsub, lower, match, max, min, rep, sort,
  sub = table.concat, string.find, string.format, string.gmatch, string.gsub,
  string.lower, string.match, math.max, math.min, string.rep, table.sort,
  string.sub

local WIDTH = 79

-- Names in the manual for an object of each kind.
local receivers = {
  device = "dev", driver = "drv", context = "ctx", buffer = "x",
  module = "mod", kernel = "k", queue = "q", event = "ev", graph = "g",
  plan = "plan", profile = "p", scratch = "s", struct = "st", image = "img",
  sampler = "sampler",
}

-- The same for lze.mpi, by the names of the metatables.
local of_mpi = {communicator = "world", halo = "halo"}

-- Chapters about objects with a different name.
local chapters = {
  array = "arrays", ["lze.array"] = "arrays", mpi = "several processes",
  ["lze.mpi"] = "several processes",
}

-- --- the manual ------------------------------------------------------------

local function trim(s) return match(s, "^%s*(.-)%s*$") end

-- Converts Markdown links and emphasis to plain text.
local function plain(s)
  s = gsub(s, "%[([^%]]+)%]%((%S-)%)", function(text, target)
    return find(target, "^https?:") and format("%s (%s)", text, target) or text
  end)
  return (gsub(s, "%*%*", ""))
end

local function cells(line)
  local list = {}
  line = gsub(line, "\\|", "\1")
  for cell in gmatch(sub(line, 2), "([^|]*)|") do
    list[#list + 1] = gsub(trim(plain(cell)), "\1", "|")
  end
  return list
end

-- Sections {title, names, lines, rows, level, chapter} in order; rows are table
-- rows: {first cell, other cells, names in the first}.
local sections

local function read_manual()
  local list, section, chapter, code = {}, nil, nil, false
  for line in gmatch(C.manual(), "([^\n]*)\n") do
    local marks, title = match(line, "^(##+) (.*)$")
    if code then marks = nil end
    if find(line, "^```") then code = not code end
    if marks then
      section = {title = plain(title), names = {}, lines = {}, rows = {},
        level = #marks}
      if #marks == 2 then chapter = section end
      section.chapter = chapter
      local called = gsub(title, "%->.*", "")
      for receiver, sign, name in
        gmatch(called, "%f[%w_]([%w_.]*%w)([.:])([%a_][%w_]*)")
      do
        section.names[#section.names + 1] = receiver .. sign .. name
      end
      list[#list + 1] = section
    elseif section and not code and find(line, "^!%[") then
      section.lines[#section.lines] = nil -- a picture, and the empty line
    elseif section then
      section.lines[#section.lines + 1] = line
      if not code and find(line, "^| ") then
        local row = cells(line)
        row.names = {}
        for span in gmatch(row[1] or "", "`([^`]+)`") do
          row.names[#row.names + 1] = match(span, "^[^=(]+")
        end
        section.rows[#section.rows + 1] = row
      end
    end
  end
  return list
end

-- Returns the lines of a text wrapped at WIDTH.
local function wrapped(text, first, hanging)
  local lines, line = {}, first
  for word in gmatch(text, "%S+") do
    if #line + 1 + #word > WIDTH and find(line, "%S") then
      lines[#lines + 1] = line
      line = hanging .. word
    else
      line = line .. (find(line, "%S$") and " " or "") .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- Width limit of the first column; longer cells have their own line.
local MOST_WIDE = 24

local function width_of(rows)
  local wide = 0
  for _, row in ipairs(rows) do
    wide = max(wide, #row[1] <= MOST_WIDE and #row[1] or 2)
  end
  return wide
end

-- Adds a table row: its first cell with the others beside it.
local function add_row(lines, row, wide)
  local rest = {}
  for i = 2, #row do
    if row[i] ~= "" then rest[#rest + 1] = row[i] end
  end
  local margin = rep(" ", wide + 4)
  local first = "  " .. row[1]
  if #first + 2 <= #margin then
    first = first .. sub(margin, #first + 1)
  else
    lines[#lines + 1] = first
    first = margin
  end
  for _, line in ipairs(wrapped(concat(rest, "; "), first, margin)) do
    lines[#lines + 1] = match(line, "^(.-)%s*$")
  end
end

-- Adds the text of a section as lines for a terminal.
local function add_section(lines, s)
  if #lines > 0 then lines[#lines + 1] = "" end
  lines[#lines + 1] = s.title
  local rows, code = {}, false
  local function end_table()
    local wide = width_of(rows)
    for _, row in ipairs(rows) do add_row(lines, row, wide) end
    rows = {}
  end
  for _, line in ipairs(s.lines) do
    if find(line, "^```") then
      code = not code
    elseif code then
      lines[#lines + 1] = "    " .. line
    elseif find(line, "^|") then
      local row = cells(line)
      if not find(row[1], "^%-+$") then rows[#rows + 1] = row end
    else
      end_table()
      if line ~= "" or lines[#lines] ~= "" then
        lines[#lines + 1] = plain(line)
      end
    end
  end
  end_table()
  while lines[#lines] == "" do lines[#lines] = nil end
end

-- Adds the headings in a chapter.
local function add_contents(lines, chapter)
  local any = false
  for _, s in ipairs(sections) do
    if s.chapter == chapter and s ~= chapter then
      if not any then lines[#lines + 1] = "" end
      any = true
      lines[#lines + 1] = "  " .. s.title
    end
  end
end

-- --- words -----------------------------------------------------------------

local function last_part(name) return match(name, "[^.:]+$") or name end

-- Removes the number or letter: "10. Task graphs" becomes "task graphs".
local function heading(s)
  return lower((gsub(s.title, "^%w+%. ", "")))
end

-- Returns the number of letters to change to turn one word into another.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local before = row[0]
    row[0] = i
    for j = 1, #b do
      local above = row[j]
      row[j] = min(above + 1, row[j - 1] + 1, before +
        (sub(a, i, i) == sub(b, j, j) and 0 or 1))
      before = above
    end
  end
  return row[#b]
end

-- Returns up to six names spelled like the word.
local function near(word)
  local found, seen = {}, {}
  word = last_part(word)
  local function try(name)
    if seen[name] then return end
    seen[name] = true
    local short = lower(last_part(name))
    local far = distance(word, short)
    local inside = #word >= 3 and find(short, word, 1, true) or
      #short >= 4 and find(word, short, 1, true)
    if far <= max(1, #word // 3) or inside then
      found[#found + 1] = {name, inside and min(far, 2) or far}
    end
  end
  for _, s in ipairs(sections) do
    for _, name in ipairs(s.names) do try(name) end
    if #s.names == 0 then try(heading(s)) end
    for _, row in ipairs(s.rows) do
      for _, name in ipairs(row.names) do
        if find(name, "^[%a_][%w_.:]*$") then try(name) end
      end
    end
  end
  sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  local names = {}
  for i = 1, min(6, #found) do names[i] = found[i][1] end
  return names
end

-- Normalizes a name for comparison: a cart is a communicator, like the world.
local function by_kind(name)
  return (gsub(gsub(name, ":", "."), "^cart%.", "world."))
end

-- Returns true if a word means a name in the manual: "k:group", "group".
local function is_called(name, word)
  name = lower(name)
  return by_kind(name) == by_kind(word) or
    last_part(name) == word
end

-- Returns true if a section's title or text contains a word; code is ignored.
local function mentions(s, word)
  if #word < 2 then return false end
  local pattern = "%f[%w_]" .. gsub(word, "%p", "%%%0") .. "s?%f[^%w_]"
  local found, code = find(lower(s.title), pattern), false
  for _, line in ipairs(s.lines) do
    if find(line, "^```") then code = not code end
    found = found or not code and find(lower(line), pattern)
  end
  return found
end

-- If more than MOST_SHOWN sections match, titles are listed, at most
-- MOST_LISTED.
local MOST_SHOWN, MOST_LISTED = 3, 12

local function add_titles(lines, title, list)
  if #list == 0 then return end
  if #lines > 0 then lines[#lines + 1] = "" end
  lines[#lines + 1] = title
  for i = 1, min(#list, MOST_LISTED) do
    lines[#lines + 1] = "  " .. list[i].title
  end
  if #list > MOST_LISTED then
    lines[#lines + 1] = format("  and %d more", #list - MOST_LISTED)
  end
end

-- Returns the text about a lower-case word, and true if the manual has it;
-- `asked` is the word as the user wrote it.
local function of_word(word, asked)
  asked = asked or word
  word = gsub(word, "%(%)$", "")
  local named, titled, rows, elsewhere = {}, {}, {}, {}
  local exact = false
  for _, s in ipairs(sections) do
    local here = false
    for _, name in ipairs(s.names) do
      here = here or is_called(name, word)
      exact = exact or here and lower(name) == word
    end
    if here then
      named[#named + 1] = s
    elseif heading(s) == word then
      titled[#titled + 1] = s
      exact = true
    else
      for _, row in ipairs(s.rows) do
        for _, name in ipairs(row.names) do
          if is_called(name, word) then
            rows[#rows + 1] = {s, row}
            here = true
            break
          end
        end
      end
      if not here and mentions(s, word) then elsewhere[#elsewhere + 1] = s end
    end
  end
  if #named + #titled + #rows + #elsewhere == 0 then
    local names = near(word)
    return format("the manual has nothing on '%s'; %s", asked,
      #names > 0 and "near: " .. concat(names, ", ") or
      "lze.help() lists its chapters"), false
  end
  local lines = {}
  if #named > MOST_SHOWN then
    lines[1] = format("'%s' is the name of", asked)
    for _, s in ipairs(named) do lines[#lines + 1] = "  " .. s.title end
  else
    for _, s in ipairs(named) do add_section(lines, s) end
  end
  for _, s in ipairs(titled) do
    add_section(lines, s)
    if s.level == 2 then add_contents(lines, s) end
  end
  local before
  for _, found in ipairs(rows) do
    if found[1] ~= before then
      if #lines > 0 then lines[#lines + 1] = "" end
      lines[#lines + 1] = found[1].title
      before = found[1]
    end
    add_row(lines, found[2], width_of {found[2]})
  end
  if #lines == 0 and #elsewhere <= MOST_SHOWN then
    for _, s in ipairs(elsewhere) do add_section(lines, s) end
  elseif not exact then
    add_titles(lines, #lines > 0 and "named in" or format("'%s' is named in",
      asked), elsewhere)
  end
  return concat(lines, "\n"), true
end

-- --- values ----------------------------------------------------------------

local function contents()
  local lines = {"lze.help(x) shows what the manual says of a function, an " ..
    "object or a word", "of lze. Its chapters:", ""}
  for _, s in ipairs(sections) do
    if s.level == 2 then lines[#lines + 1] = "  " .. s.title end
  end
  return concat(lines, "\n")
end

-- Returns the start of the chapter about a kind of object, and its methods.
local function of_object(kind)
  local receiver = receivers[kind] or of_mpi[kind]
  if not receiver then return of_word(chapters[kind] or kind) end
  local own, chapter = {}, nil
  for _, s in ipairs(sections) do
    for _, name in ipairs(s.names) do
      if match(by_kind(name), "^(.-)%.") == receiver then
        own[#own + 1] = s
        chapter = chapter or s.chapter
        break
      end
    end
  end
  local lines = {format("a %s, %s in the manual:", kind, receiver)}
  if find(kind, "^[aeiou]") then lines[1] = "an" .. sub(lines[1], 2) end
  for _, s in ipairs(own) do lines[#lines + 1] = "  " .. s.title end
  local fields = {}
  for _, s in ipairs(sections) do
    for _, row in ipairs(s.rows) do
      if find(row.names[1] or "", "^" .. receiver .. "%.") then
        fields[#fields + 1] = row
      end
    end
  end
  local wide = width_of(fields)
  if #fields > 0 then lines[#lines + 1] = "" end
  for _, row in ipairs(fields) do add_row(lines, row, wide) end
  if chapter then add_section(lines, chapter) end
  return concat(lines, "\n")
end

-- Returns the manual's name for a function or table of lze, or nil.
local function name_of(value)
  local lze = C.lze()
  if value == lze then return "lze" end
  for name, v in next, lze do
    if v == value then return "lze." .. name end
  end
  for _, part in ipairs {"spirv", "work", "array"} do
    local t = rawget(lze, part)
    for name, v in next, type(t) == "table" and t or {} do
      if v == value then -- the manual has a:sum() and A.zeros()
        return (part == "array" and "a" or "lze." .. part) .. "." .. name
      end
    end
  end
  for kind, known in next, C.kinds() do
    for name, v in next, known do
      if v == value then
        return (receivers[kind] or kind) .. ":" .. name
      end
    end
  end
end

-- lze.help(x): x is an object of `kind`, or another value.  For a word, returns
-- also true if the manual has it.
local function help(x, kind)
  sections = sections or read_manual()
  if x == nil then return contents() end
  if type(x) == "string" then
    local word = lower(trim(x))
    if word == "" then return contents(), true end
    word = gsub(word, "^lze%.array%.", "a.") -- as in the manual
    word = gsub(word, "^a%.%l+%.", "a.") -- a table of functions, as A.fft
    word = gsub(word, "^w%.", "lze.work.")
    if chapters[word] then return of_word(chapters[word]) end
    if receivers[word] and rawget(C.lze(), word) == nil then
      return of_object(word), true -- no function of lze makes one
    end
    return of_word(word, trim(x))
  end
  if not kind and type(x) == "userdata" and of_mpi[C.name(x)] then
    kind = C.name(x)
  end
  if kind then return of_object(kind) end
  local name = (type(x) == "function" or type(x) == "table") and name_of(x)
  if not name then
    C.argument(1, format("x: a function or an object of lze, or a word " ..
      "expected, got %s", C.describe(x)))
  end
  if name == "lze" then return contents() end
  return of_word(chapters[name] or name)
end

-- Raises the error that lze, or a table in it, lacks a field.
local function missing(t, key, name)
  local known, meant, least = {}, {}, max(1, #key // 3)
  if t == C.lze() and rawget(t, "array") == nil then
    known[1] = "array" -- loaded at its first use
  end
  for field in next, t do
    if type(field) == "string" and not find(field, "^_") then
      known[#known + 1] = field
    end
  end
  sort(known)
  for _, field in ipairs(known) do
    local far = distance(lower(key), lower(field))
    if far < least then meant, least = {}, far end
    if far == least then meant[#meant + 1] = name .. "." .. field end
  end
  local hint = format(" (known: %s)", concat(known, ", "))
  if t == C.lze() and key == "mpi" then
    hint = ": it is a module of its own, require \"lze.mpi\""
  elseif #meant > 0 then
    hint = format("; did you mean %s?", concat(meant, " or "))
  end
  error(format("no field '%s' in %s%s", key, name, hint), 0)
end

return {help = help, missing = missing, receivers = receivers}
