-- trace.lua - `lze trace merge`: profiles of several processes as one.
-- SPDX-License-Identifier: MIT
--
-- lua/profile.lua writes both kinds of file, one line per event.  All processes
-- since one boot of a machine share its clock, so their times are exact;
-- between machines, only the time since 1970 at the start is available.
--
-- A file has parts, one per process: {process, boot, start, epoch}.

local prompt = require "lze.prompt"

local trace = {}

-- Moves the epochs of parts so that parts of one machine differ as their starts
-- do.  Each list of parts is moved as a whole.
local function align(lists)
  local offsets = {} -- from the clock of a machine to the time since 1970
  for _, parts in ipairs(lists) do
    local move = 0
    for _, p in ipairs(parts) do
      local offset = offsets[p.boot]
      if offset then
        move = offset - (p.epoch - p.start)
        break
      end
    end
    for _, p in ipairs(parts) do
      p.epoch = p.epoch + move
      if p.boot ~= "" and not offsets[p.boot] then
        offsets[p.boot] = p.epoch - p.start
      end
    end
  end
end

-- Returns an error if a process is in two files.
local function find_twice(files)
  local seen = {}
  for _, f in ipairs(files) do
    for _, p in ipairs(f.parts) do
      local key = ("%s %s %d"):format(p.boot, p.process, p.start)
      if seen[key] then
        return ("%s: its %s is in %s, too"):format(f.path, p.process, seen[key])
      end
      seen[key] = f.path
    end
  end
end

-- --- file contents ---------------------------------------------------------

-- Raises an error about a text, and its position if known.
local function wrong(at, ...) error({at = at, what = string.format(...)}, 0) end

-- Returns the place after a string that begins at `at`.
local function skip_string(text, at)
  local to = at + 1
  while true do
    to = text:match('^[^"\\\0-\31]*()', to)
    if text:sub(to, to) == '"' then return to + 1 end
    to = text:match('^\\["\\/bfnrt]()', to) or
      text:match("^\\u%x%x%x%x()", to) or wrong(to, "the end of a string")
  end
end

-- Returns a number, and the place after it.
local function number(text, at)
  local digits, stop = text:match("^(%-?%d+%.?%d*[eE]?[-+]?%d*)()", at)
  local n = digits and not digits:find "^%-?0%d" and tonumber(digits)
  if not n then wrong(at, "a value") end
  return n, stop
end

local words = {["true"] = true, ["false"] = false}
local MOST_DEEP <const> = 16

-- Returns the JSON value that begins at `at`, and the place after it.  Strings
-- stay escaped.  Errors state the position and what is expected.
local function decode(text, at, deep)
  local c = text:sub(at, at)
  if c == '"' then
    local stop = skip_string(text, at)
    return text:sub(at + 1, stop - 2), stop
  elseif c ~= "[" and c ~= "{" then
    local word, stop = text:match("^(%l+)()", at)
    if words[word] ~= nil then return words[word], stop end
    return number(text, at)
  end
  deep = (deep or 0) + 1
  if deep > MOST_DEEP then wrong(at, "less depth") end
  local list, close = {}, c == "[" and "]" or "}"
  at = text:match("^\n?()", at + 1)
  if text:sub(at, at) == close then return list, at + 1 end
  while true do
    local key = #list + 1
    if c == "{" then
      if text:sub(at, at) ~= '"' then wrong(at, "a name") end
      local stop = skip_string(text, at)
      key, at = text:sub(at + 1, stop - 2), text:match("^:()", stop) or
        wrong(stop, "a colon")
    end
    list[key], at = decode(text, at, deep)
    local sign = text:sub(at, at)
    if sign == close then return list, at + 1 end
    at = text:match("^,\n?()", at) or wrong(at, "a comma or %s", close)
  end
end

-- Raises an error unless a table has these fields, each of a type or pattern.
local function check(t, at, fields)
  if type(t) ~= "table" then wrong(at, "{") end
  for name, form in pairs(fields) do
    local v = t[name]
    if math.type(v) ~= form and type(v) ~= form and
      not (form:find "^%^" and type(v) == "string" and v:find(form))
    then
      wrong(at, "%s", name)
    end
  end
end

-- --- traces ----------------------------------------------------------------

-- Required fields of each kind of event.
local events_have = {
  M = {args = "table"}, C = {ts = "number", args = "table"},
  X = {ts = "number", dur = "number", tid = "integer"},
  i = {ts = "number", tid = "integer"},
  s = {ts = "number", tid = "integer", id = "integer"},
  f = {ts = "number", tid = "integer", id = "integer"},
}

local function parse_json(text)
  local at = text:match '^{"displayTimeUnit":"ns","otherData":(){'
  if not at then wrong(nil, "not a profile that lze has written") end
  local about, stop = decode(text, at)
  local parts, listed = {}, about.processes or {about}
  if type(listed) ~= "table" or #listed == 0 then wrong(at, "processes") end
  for i, p in ipairs(listed) do
    check(p, at, {process = "string", boot = "string", start_ns = "integer",
      epoch_ns = "integer"})
    parts[i] = {process = p.process, boot = p.boot, start = p.start_ns,
      epoch = p.epoch_ns}
  end
  at = text:match('^,"traceEvents":%[\n()', stop) or wrong(stop, "traceEvents")
  local lines = {}
  while true do
    local e
    e, stop = decode(text, at)
    check(e, at, {ph = "string", pid = "integer", name = "string"})
    check(e, at, events_have[e.ph] or wrong(at, "ph"))
    lines[#lines + 1] = text:sub(at, stop - 1)
    at = text:match("^,\n()", stop)
    if not at then break end
  end
  if not text:find("^\n%]}%s*$", stop) then wrong(stop, "a comma or ]") end
  return {lines = lines, parts = parts}
end

-- Returns the part that began first; a trace's times start with it.
local function first_of(parts)
  local first = parts[1]
  for _, p in ipairs(parts) do if p.epoch < first.epoch then first = p end end
  return first
end

-- Merges traces: renumbers processes and arrows, and moves times.
local function merge_json(files)
  local json = prompt.json()
  local lines, pids, ids, parts = {}, 0, 0, {}
  local lists = {}
  for i, f in ipairs(files) do
    lists[i] = f.parts
    table.move(f.parts, 1, #f.parts, #parts + 1, parts)
  end
  align(lists)
  local first = first_of(parts)
  for _, f in ipairs(files) do
    local shift = first_of(f.parts).epoch - first.epoch
    local process = #f.parts == 1 and f.parts[1].process
    local most_pid, most_id = 0, 0
    for _, event in ipairs(f.lines) do
      local line = event:gsub('"pid":(%d+)', function(n)
        most_pid = math.max(most_pid, tonumber(n))
        return ('"pid":%d'):format(pids + n)
      end, 1)
      line = line:gsub('"id":(%d+)', function(n)
        most_id = math.max(most_id, tonumber(n))
        return ('"id":%d'):format(ids + n)
      end, 1)
      line = line:gsub('"ts":(%d+)%.(%d+)', function(micros, ns)
        return '"ts":' .. json.micro(micros * 1000 + ns + shift)
      end, 1)
      line = line:gsub('"sort_index":(%d+)', function(n)
        return ('"sort_index":%d'):format(pids + n)
      end, 1)
      -- Each process has its own row for a device.
      if process and line:find('"name":"process_name"', 1, true) and
        not line:find('"name":"' .. process, 1, true)
      then
        line = line:gsub('"args":{"name":"', function(s)
          return s .. process .. ": "
        end, 1)
      end
      lines[#lines + 1] = line
    end
    pids, ids = pids + most_pid, ids + most_id
  end
  for i, p in ipairs(parts) do
    parts[i] = {process = p.process, boot = p.boot, start_ns = p.start,
      epoch_ns = p.epoch}
  end
  return ('{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[\n%s\n]}\n')
    :format(json.json {processes = parts}, table.concat(lines, ",\n"))
end

-- --- pages -----------------------------------------------------------------

-- Inserts `new` between the two captures of a pattern.
local function put(text, pattern, new)
  return (text:gsub(pattern, function(before, after)
    return before .. new .. after
  end))
end

local function put_all(head, title, text)
  head = put(head, "(<title>)[^<]*(</title>)", title)
  head = put(head, "(<h1>)[^<]*(</h1>)", title)
  return put(head, "(<pre>).*(</pre>)", text)
end

local EVENT_FIELDS <const> = 14
-- The fields that are numbers of strings, from 0.
local string_fields <const> = {3, 4, 6, 7, 8, 9, 13, 14}

-- Checks the data of a process; lua/timeline.lua describes it.
local function check_set(set, at)
  check(set, at, {process = "string", boot = "string", start = "^%d+$",
    epoch = "^%d+$", ["end"] = "integer", devices = "table",
    strings = "table", lines = "table", plots = "table", rows = "table"})
  for _, plot in ipairs(set.plots) do
    check(plot, at, {name = "string", unit = "string", points = "table"})
  end
  for _, row in ipairs(set.rows) do
    check(row, at, {name = "string", device = "integer", events = "table"})
    for i, e in ipairs(row.events) do
      local good = type(e) == "table" and #e == EVENT_FIELDS
      for n = 1, good and EVENT_FIELDS or 0 do
        good = good and math.type(e[n]) == "integer"
      end
      for _, n in ipairs(good and string_fields or {}) do
        good = good and e[n] < #set.strings
      end
      if not good then wrong(at, "an event at %d of %s", i, row.name) end
    end
  end
end

local function parse_html(text)
  local head, at = text:match
    '^(.*<script type="application/json" id="data">)()%['
  local own = head and head:find "<title>lze: "
  if not own and not text:find "<title>lze: [^<]*</title>.*<style>" then
    wrong(nil, "not a profile that lze has written")
  end
  local shown = own and head:match "<pre>(.*)</pre>"
  if not shown then wrong(#text + 1, "data") end
  local sets, stop = decode(text, at)
  local parts = {}
  for i, set in ipairs(sets) do
    check_set(set, at)
    parts[i] = {process = set.process, boot = set.boot,
      start = math.tointeger(tonumber(set.start)) or wrong(at, "start"),
      epoch = math.tointeger(tonumber(set.epoch)) or wrong(at, "epoch")}
  end
  local rest = text:sub(stop)
  if not rest:find "^</script>" then
    wrong(#rest < #"</script>" and #text + 1 or stop, "</script>")
  end
  if not rest:find "</html>%s*$" then wrong(#text + 1, "</html>") end
  if #sets == 0 then wrong(at, "a process") end
  return {head = head .. "[", data = text:sub(at + 1, stop - 2),
    rest = "]" .. rest, parts = parts, text = shown}
end

-- Merges pages: the page shows the data of several processes by itself.
local function merge_html(files)
  local data, texts, lists = {}, {}, {}
  for _, f in ipairs(files) do
    for _, p in ipairs(f.parts) do lists[#lists + 1] = {p} end
  end
  align(lists)
  for i, f in ipairs(files) do
    local n = 0
    data[i] = f.data:gsub('"epoch":"%d+"', function()
      n = n + 1
      return ('"epoch":"%d"'):format(f.parts[n].epoch)
    end, #f.parts)
    -- A merged page already has the names of its processes.
    local name = #f.parts == 1 and f.parts[1].process .. "\n\n" or ""
    texts[i] = (f.text:sub(1, #name) == name and "" or name) .. f.text
  end
  return put_all(files[1].head, ("lze: %d processes"):format(#lists),
    table.concat(texts, "\n\n")) .. table.concat(data, ",\n") .. files[1].rest
end

-- Pages of different versions cannot read each other's data.
local function check_alike(files)
  local function frame(f) return put_all(f.head, "", "") .. f.rest end
  local first = frame(files[1])
  for i = 2, #files do
    if frame(files[i]) ~= first then
      return ("%s: its page is not that of %s: another version of lze has " ..
        "written it, or one of them is damaged"):format(files[i].path,
        files[1].path)
    end
  end
end

-- Describes what is wrong with a file, from an error of its parser.
local function reason(path, text, err)
  if type(err) ~= "table" then error(err, 0) end
  if not err.at then return ("%s: %s"):format(path, err.what) end
  local cut = text:find("^[\\%w%s.,%]-]*$", err.at)
  local before = cut and text or text:sub(1, err.at - 1)
  return (cut and
    "%s: it is cut: it ends in line %d, where there should be %s" or
    "%s: it is damaged: line %d: %s expected"):format(path,
      1 + select(2, before:gsub("\n", "")), err.what)
end

local parsers = {json = parse_json, html = parse_html}

-- Merges the files named in `paths`; read(path) returns their bytes.  Returns
-- nil and a reason if a file is invalid.
function trace.merge(paths, read)
  local ending, files = nil, {}
  for i, path in ipairs(paths) do
    local own = path:match "%.(%l+)$"
    if not parsers[own or ""] then
      return nil, path .. ": a name that ends in .json or .html expected"
    end
    if ending and own ~= ending then
      return nil, path .. ": all of them .json or all .html expected"
    end
    ending = own
    local text = read(path)
    local ok, file = pcall(function()
      local parsed = parsers[own](text)
      local length, at = utf8.len(text)
      if not length then wrong(at, "UTF-8") end
      return parsed
    end)
    if not ok then return nil, reason(path, text, file) end
    file.path = path
    files[i] = file
  end
  local refused = ending == "html" and check_alike(files) or find_twice(files)
  if refused then return nil, refused end
  return (ending == "html" and merge_html or merge_json)(files)
end

return trace
