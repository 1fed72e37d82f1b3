-- report.lua - a plan's report as text, JSON, a trace and a graph.
-- SPDX-License-Identifier: MIT

local concat, format, gsub, match, rep, sub = table.concat, string.format,
  string.gsub, string.match, string.rep, string.sub

-- --- for a person ----------------------------------------------------------

-- Field `key` of t as text of at most `most` bytes, or `otherwise`.
local function text(t, key, most, otherwise)
  local v = rawget(t, key)
  if v == nil then return otherwise end
  return sub(match(tostring(v), "^[^\0]*"), 1, most)
end

-- A field of nanoseconds, as microseconds.
local function us(t, key, otherwise)
  local v = rawget(t, key)
  if math.type(v) ~= "integer" then return text(t, key, 20, otherwise) end
  return sub(format("%.1f", v / 1e3), 1, 20)
end

local function left(s, width) return s .. rep(" ", width - #s) end
local function right(s, width) return rep(" ", width - #s) .. s end

local function group(task)
  local g = rawget(task, "group")
  if type(g) ~= "table" then return "" end
  local size = {}
  for d = 1, 3 do
    local n = rawget(g, d)
    size[d] = format("%d", type(n) == "number" and math.tointeger(n) or 0)
  end
  return sub(concat(size, "x"), 1, 40)
end

local function row(task, mark)
  return concat({
    left(text(task, "name", 60, "?"), 28),
    left(text(task, "kind", 10, ""), 5),
    right(text(task, "lane", 10, "-"), 4),
    right(us(task, "start_ns", "-"), 10),
    right(us(task, "ns", "-"), 9) .. mark,
    right(text(task, "bytes", 20, "-"), 10),
    " " .. left(group(task), 12),
    text(task, "why", 200, ""),
  }, " ")
end

local function each(list)
  if type(list) ~= "table" then list = {} end
  local i, n = 0, rawlen(list)
  return function()
    while i < n do
      i = i + 1
      local v = rawget(list, i)
      if type(v) == "table" then return v end
    end
  end
end

-- tostring(report)
local function to_text(r)
  local runs = text(r, "runs", 20, "?")
  local lines = {
    format("%s on %s, %s run%s", text(r, "name", 100, "?"),
      text(r, "device", 100, "?"), runs, runs == "1" and "" or "s"),
    format("%-28s %-5s %4s %10s %10s %10s  %-12s %s", "task", "kind", "lane",
      "start us", "us", "bytes", "group", "why"),
  }
  for task in each(rawget(r, "tasks")) do
    lines[#lines + 1] = row(task, rawget(task, "critical") and "*" or " ")
  end
  for t in each(rawget(r, "transfers")) do
    local took = us(t, "ns", "")
    if took ~= "" then took = ", " .. took .. " us" end
    lines[#lines + 1] = format("%s, %s: %s, %s bytes%s",
      text(t, "name", 60, "?"), text(t, "when", 10, "?"),
      text(t, "how", 40, "?"), text(t, "bytes", 20, "?"), took)
  end
  if rawget(r, "total_ns") ~= nil then
    lines[#lines + 1] = format(
      "%s us in all, %s us the longest chain (*), %s us of work, overlap %.2f",
      us(r, "total_ns", "-"), us(r, "critical_ns", "-"),
      us(r, "busy_ns", "-"), tonumber(rawget(r, "overlap")) or 0)
  end
  lines[#lines + 1] = format(
    "memory: %s bytes of buffers, %s of transient ones that would be %s " ..
    "unshared", text(r, "captured_bytes", 20, "?"),
    text(r, "transient_bytes", 20, "?"), text(r, "unshared_bytes", 20, "?"))
  return concat(lines, "\n")
end

-- --- for programs ----------------------------------------------------------

-- A string as JSON, or as Graphviz has them, which is the same here.
local function quoted(s)
  s = gsub(s, '["\\]', "\\%0")
  s = gsub(s, "[\0-\31]", function(c)
    return format("\\u%04x", string.byte(c))
  end)
  return '"' .. s .. '"'
end

-- A number as text, with a point whatever the locale has for one.
local function point(s) return (gsub(s, "[^%w+-]+", ".")) end

-- The shortest text that is this float.
local function float(x)
  local s
  for digits = 15, 17 do
    s = format("%." .. digits .. "g", x)
    if tonumber(s) == x then break end
  end
  s = point(s)
  return match(s, "^-?%d+$") and s .. ".0" or s
end

local json

local function json_array(t)
  local items = {}
  for i = 1, #t do items[i] = json(t[i]) end
  return "[" .. concat(items, ",") .. "]"
end

-- v as JSON: what reports consist of.
function json(v)
  if type(v) == "string" then return quoted(v) end
  if math.type(v) == "float" then return float(v) end
  if type(v) ~= "table" then return tostring(v) end
  if #v > 0 or next(v) == nil then return json_array(v) end
  local items = {}
  for key, value in next, v do
    items[#items + 1] = quoted(key) .. ":" .. json(value)
  end
  return "{" .. concat(items, ",") .. "}"
end

-- Nanoseconds as microseconds, exactly.
local function micro(ns) return format("%d.%03d", ns // 1000, ns % 1000) end

-- For Perfetto or chrome://tracing: the report of a plan that was measured, and
-- the numbers of the lanes that have a queue.
local function trace(r, lanes)
  local events = {'{"ph":"M","pid":1,"name":"process_name","args":{"name":' ..
    quoted(r.name) .. "}}"}
  for _, lane in ipairs(lanes) do
    events[#events + 1] = format('{"ph":"M","pid":1,"tid":%d,' ..
      '"name":"thread_name","args":{"name":"lane %d"}}', lane, lane)
  end
  for _, task in ipairs(r.tasks) do
    if task.start_ns then
      events[#events + 1] = format('{"ph":"X","pid":1,"name":%s,"cat":"%s",' ..
        '"tid":%d,"ts":%s,"dur":%s,"args":{"bytes":%d,"group":"%dx%dx%d"}}',
        quoted(task.name), task.kind, task.lane, micro(task.start_ns),
        micro(task.ns), task.bytes, table.unpack(task.group or {0, 0, 0}))
    end
  end
  return '{"displayTimeUnit":"ns","traceEvents":[\n' ..
    concat(events, ",\n") .. "\n]}\n"
end

-- For Graphviz: what waits for what.
local function dot(r)
  local critical = {}
  for _, name in ipairs(r.critical_path or {}) do critical[name] = true end
  local lines = {"digraph " .. quoted(r.name) .. " {\n"}
  local function add(...) lines[#lines + 1] = format(...) end
  for _, task in ipairs(r.tasks) do
    local took = ""
    if task.ns then
      took = format(',xlabel="%s us"%s', point(format("%.1f", task.ns / 1e3)),
        task.critical and ",style=bold" or "")
    end
    add("  %s [shape=%s%s];\n", quoted(task.name),
      task.kind == "task" and "box" or "ellipse", took)
    for _, before in ipairs(task.after) do
      local bold = critical[task.name] and critical[before]
      add("  %s -> %s%s;\n", quoted(before), quoted(task.name),
        bold and " [style=bold]" or "")
    end
  end
  return concat(lines) .. "}\n"
end

return {text = to_text, json = json, trace = trace, dot = dot}
