-- report.lua - a plan's report as text, JSON, a trace and a graph.
-- SPDX-License-Identifier: MIT

local C = ...

local concat, format, match, rep, sub = table.concat, string.format,
  string.match, string.rep, string.sub
local to = C.json()
local quoted, point, micro = to.quoted, to.point, to.micro

-- --- for users -------------------------------------------------------------

-- Returns field `key` of t as text of at most `most` bytes, or `otherwise`.
local function text(t, key, most, otherwise)
  local v = rawget(t, key)
  if v == nil then return otherwise end
  return sub(match(tostring(v), "^[^\0]*"), 1, most)
end

-- Returns a field of nanoseconds as microseconds.
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

-- Writes the report of a measured plan for Perfetto or chrome://tracing;
-- `lanes` are the numbers of the lanes that have a queue.
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

-- Writes the dependencies for Graphviz.
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

return {text = to_text, json = to.json, trace = trace, dot = dot}
