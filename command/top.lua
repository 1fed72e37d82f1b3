-- top.lua - `lze top`: devices, and the programs that use lze.
-- SPDX-License-Identifier: MIT
--
-- Each program writes a page of 4096 bytes, $XDG_RUNTIME_DIR/lze/PROCESS;
-- src/host/lze_top.c describes it.

local lze = require "lze"
local prompt = require "lze.prompt"

local top = {}

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local function lines_of(command)
  local pipe <close> = io.popen(command)
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  return list
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- --- programs --------------------------------------------------------------

-- Returns the start time of a process as in its page; nil if it does not exist.
local function start_of(process)
  local stat = read("/proc/" .. process .. "/stat")
  local rest = stat and stat:match "^.*%) (.*)$"
  local field = 2
  for word in (rest or ""):gmatch "%S+" do
    field = field + 1
    if field == 22 then return word end
  end
end

-- Other numbers in a page.
local known_counts <const> = {started = true, shared = true, device = true,
  host = true}

local function integer(text) return text and math.tointeger(tonumber(text)) end

-- Parses a page; returns nil if it is invalid, or is being written.  The page
-- of another lze version may lack some fields, and have unknown ones.
local function parse(page)
  if not page then return nil end
  local launches, bytes, peak, in_flight, version =
    string.unpack("=I8I8I8I8I8", page)
  if version % 2 == 1 then return nil end
  local p = {launches = launches, bytes = bytes, peak_bytes = peak,
    in_flight = in_flight >= 0 and in_flight or nil, version = version,
    devices = {}, kernels = {}}
  for line in page:sub(41):match "^[^\0]*":gmatch "[^\n]+" do
    local key, value = line:gsub("%c", " "):match "^(%S+) (.*)$"
    local n = integer(key)
    if key == "lze" then
      p.lze = value
    elseif key == "on" then
      p.devices[#p.devices + 1] = value
    elseif n then
      p.kernels[#p.kernels + 1] = {name = value:gsub("^kernel ", ""),
        launches = n}
    elseif known_counts[key] then
      p[key] = integer(value)
    end
  end
  return p.lze and p.started and p or nil
end

-- Returns the contents of a page that its program is not writing, or nil; and
-- true if the page exists.
local function page_of(directory, name)
  local first
  for _ = 1, 10 do
    first = prompt.page(directory, name)
    local p = parse(first)
    local again = p and prompt.page(directory, name)
    if again and string.unpack("=I8", again, 33) == p.version then
      return p, true
    end
    if not first then break end
    os.execute "sleep 0.01" -- its program may be waiting for a core
  end
  return nil, first ~= nil
end

-- Returns the command line of a process, without the interpreter.
local function name_of(process)
  local words = {}
  for word in (read("/proc/" .. process .. "/cmdline") or ""):gmatch "[^\0]+" do
    words[#words + 1] = word
  end
  local first = 1
  if words[2] and words[1]:find "lua[%d.]*$" then first = 2 end
  return words[1] and table.concat(words, " ", first):gsub("%c", " ") or "?"
end

-- Returns the running programs, by the name of their page; removes the pages of
-- killed programs.
local function programs(directory)
  local found = {}
  local own = read "/proc/self/stat":match "^%d+"
  for _, name in ipairs(directory and
    lines_of("ls " .. quoted(directory) .. " 2>/dev/null") or {})
  do
    local process = name:match "^(%d+)%.?%d*$"
    local p, is_page
    if process and process ~= own then p, is_page = page_of(directory, name) end
    if p and start_of(process) == tostring(p.started) then
      p.process, p.name = math.tointeger(tonumber(process)), name_of(process)
      found[name] = p
    elseif is_page and (p or not start_of(process)) then
      prompt.remove_page(directory, name)
    end
  end
  return found
end

-- --- devices ---------------------------------------------------------------

-- Returns the ticks that all processors together were busy, and all ticks.
local function processor_ticks()
  local all, idle, n = 0, 0, 0
  for ticks in (read "/proc/stat" or ""):match "^cpu +([^\n]*)":gmatch "%d+" do
    n = n + 1
    if n <= 8 then all = all + ticks end
    if n == 4 or n == 5 then idle = idle + ticks end
  end
  return {busy = all - idle, all = all}
end

-- Returns the bytes on a device of programs that use no other device.
local function bytes_on(name, by_name)
  local bytes = 0
  for _, p in pairs(by_name) do
    if #p.devices == 1 and p.devices[1] == name then bytes = bytes + p.bytes end
  end
  return bytes
end

local function devices(before, now, by_name)
  local list = {}
  local ok, found = pcall(lze.devices)
  for i, dev in ipairs(ok and found or {}) do
    local known, _, total = pcall(dev.memory, dev)
    local sensed, telemetry = pcall(dev.telemetry, dev)
    local d = sensed and telemetry or {}
    d.name, d.type = dev.name, dev.type
    if known then
      local used = d.memory_used_bytes or bytes_on(dev.name, by_name)
      d.memory_total_bytes = total
      d.memory_free_bytes = math.max(0, total - used)
    end
    if dev.type == "cpu" and not d.activity and before then
      local all = now.all - before.all
      d.activity = all > 0 and (now.busy - before.busy) / all or 0
    end
    list[i] = d
  end
  local why = found
  if ok and #found == 0 then why = select(2, pcall(lze.device)) end
  return list, #list == 0 and tostring(why):gsub("^[^ ]+:%d+: ", "") or nil
end

-- --- samples ---------------------------------------------------------------

-- Returns the current state; with an earlier sample, also rates per second.
function top.sample(directory, before)
  local now = {at = tonumber(read "/proc/uptime":match "^%S+"),
    ticks = processor_ticks(), by_name = programs(directory),
    programs = {}}
  now.devices, now.problem = devices(before and before.ticks, now.ticks,
    now.by_name)
  for name, p in pairs(now.by_name) do
    local old = before and before.by_name[name]
    if old and old.started == p.started then
      local seconds = math.max(0.01, now.at - before.at)
      p.launches_per_second = (p.launches - old.launches) / seconds
      local counts = {}
      for _, k in ipairs(old.kernels) do counts[k.name] = k.launches end
      for _, k in ipairs(p.kernels) do
        k.launches_per_second = math.max(0, k.launches - (counts[k.name] or 0))
          / seconds
      end
    end
    now.programs[#now.programs + 1] = p
  end
  table.sort(now.programs, function(a, b) return a.process < b.process end)
  return now
end

local orders = {
  {"launches", function(p) return -(p.launches_per_second or 0) end},
  {"memory", function(p) return -p.bytes end},
  {"process", function(p) return p.process end},
}

local function in_order(list, order)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted, function(a, b)
    local x, y = order(a), order(b)
    if x ~= y then return x < y end
    return a.process < b.process
  end)
  return sorted
end

-- --- for users -------------------------------------------------------------

local function size(bytes)
  if not bytes then return "-" end
  local unit = 1
  local units = {"B", "KiB", "MiB", "GiB", "TiB"}
  while bytes >= 1024 and unit < #units do
    bytes, unit = bytes / 1024, unit + 1
  end
  return (unit == 1 and "%d %s" or "%.1f %s"):format(bytes, units[unit])
end

local function rate(n)
  if not n then return "-" end
  return n >= 1e6 and ("%.1fM"):format(n / 1e6) or
    n >= 1e4 and ("%.1fk"):format(n / 1e3) or ("%.0f"):format(n)
end

-- Blocks for eighths.
local blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

local function graph(values)
  local most, text = 1, {}
  for _, v in ipairs(values) do most = math.max(most, v) end
  for i, v in ipairs(values) do
    text[i] = blocks[math.max(1, math.ceil(8 * v / most))]
  end
  return table.concat(text)
end

-- Returns the lines for a sample; `view`: order (1 is the first), kernels
-- (false hides them), history (numbers by the name of a page).
function top.lines(now, view)
  local lines = {}
  local function add(...) lines[#lines + 1] = string.format(...) end
  for i, d in ipairs(now.devices) do
    local parts = {}
    if d.activity then
      parts[#parts + 1] = ("busy %.0f %%"):format(100 * d.activity)
    end
    if d.memory_free_bytes then
      parts[#parts + 1] = ("memory %s of %s free"):format(
        size(d.memory_free_bytes), size(d.memory_total_bytes))
    end
    if d.power_watts then
      parts[#parts + 1] = ("%.0f W"):format(d.power_watts)
    end
    if d.frequency_mhz then
      parts[#parts + 1] = ("%.0f MHz"):format(d.frequency_mhz)
    end
    if d.temperature_celsius then
      parts[#parts + 1] = ("%.0f C"):format(d.temperature_celsius)
    end
    add("device %d: %s (%s)  %s", i, d.name, d.type, table.concat(parts, ", "))
  end
  if now.problem then add("no devices: %s", now.problem) end
  add ""
  if now.unseen then
    add("programs are not seen: %s", now.unseen)
    return lines
  end
  if #now.programs == 0 then
    add "no program that uses lze is running"
    return lines
  end
  local order = orders[view.order]
  add("%8s %10s %10s %9s %10s  %s", "process", "memory", "peak", "in flight",
    "launches/s", "program")
  for _, p in ipairs(in_order(now.programs, order[2])) do
    add("%8d %10s %10s %9s %10s  %s", p.process, size(p.bytes),
      size(p.peak_bytes), p.in_flight or "-", rate(p.launches_per_second),
      p.name)
    local past = view.history and view.history[p.process]
    if past and #past > 1 then add("%51s  %s", "", graph(past)) end
    if view.kernels then
      local kernels = table.move(p.kernels, 1, #p.kernels, 1, {})
      table.sort(kernels, function(a, b)
        local x, y = a.launches_per_second or 0, b.launches_per_second or 0
        if x ~= y then return x > y end
        return a.launches > b.launches
      end)
      for i = 1, math.min(3, #kernels) do
        local k = kernels[i]
        add("%40s %10s  %s, %d in all", "", rate(k.launches_per_second), k.name,
          k.launches)
      end
    end
  end
  return lines
end

-- Returns the sample for programs.
local function to_json(now)
  local list = {}
  for i, p in ipairs(now.programs) do
    list[i] = {process = p.process, name = p.name, bytes = p.bytes,
      peak_bytes = p.peak_bytes, shared_bytes = p.shared,
      device_bytes = p.device, host_bytes = p.host, in_flight = p.in_flight,
      launches = p.launches, launches_per_second = p.launches_per_second,
      devices = p.devices, kernels = p.kernels}
  end
  return prompt.json().json {devices = now.devices, problem = now.problem,
    programs = list}
end

-- --- on a terminal ---------------------------------------------------------

-- Enters the alternate screen, without a cursor and with lines cut at its edge,
-- even lines with wide characters; and leaves it.
local ENTER <const>, LEAVE <const> = "\27[?1049h\27[?25l\27[?7l",
  "\27[?7h\27[?25h\27[?1049l"

-- Returns a file; once it is closed, even by a killed process, the terminal is
-- restored.
local function restoring(leave)
  return io.popen("trap '' HUP INT QUIT TERM TSTP TTOU; read -r _; " .. leave,
    "w")
end

-- Cuts a line to the available columns.
local function cut(line, columns)
  local long = utf8.len(line)
  if (long or #line) <= columns then return line end
  return line:sub(1, long and utf8.offset(line, columns + 1) - 1 or columns)
end

local function watch(take)
  local leave = ("printf %%s %s; stty %s <&1"):format(quoted(LEAVE),
    lines_of "stty -g"[1])
  local terminal <close> = restoring(leave) -- luacheck: ignore
  local view = {order = 1, kernels = true, history = {}}
  local sample = take()
  local function draw()
    local size_of = lines_of "stty size"[1] or ""
    local rows, columns = size_of:match "^(%d+) (%d+)"
    rows, columns = tonumber(rows) or 24, tonumber(columns) or 80
    if rows == 0 then rows, columns = 24, 80 end
    local lines = top.lines(sample, view)
    local text = {"\27[H"}
    for i = 1, math.min(#lines, rows - 2) do
      text[#text + 1] = cut(lines[i], columns) .. "\27[K\n"
    end
    text[#text + 1] = ("\27[J\27[%d;1H%s"):format(rows,
      cut(("q: quit  s: sort (%s)  k: kernels"):format(
        orders[view.order][1]), columns))
    io.write(table.concat(text))
    io.flush()
  end
  -- A read ends after a second; Ctrl-Z is a key.
  local function enter()
    os.execute "stty -icanon -echo susp undef min 0 time 10"
    io.write(ENTER)
  end
  enter()
  local ok, err = pcall(function()
    local started = os.time()
    while true do
      draw()
      local key = io.read(1)
      if key == "q" then return end
      if key == "s" then view.order = view.order % #orders + 1 end
      if key == "\26" then
        os.execute(leave .. "; kill -TSTP 0") -- until it is continued
        enter()
      end
      if key == "k" then view.kernels = not view.kernels end
      local now = os.time()
      if now > started then
        sample = take(sample)
        started = now
        for _, p in ipairs(sample.programs) do
          local past = view.history[p.process] or {}
          view.history[p.process] = past
          past[#past + 1] = p.launches_per_second
          if #past > 28 then table.remove(past, 1) end
        end
      end
    end
  end)
  io.flush()
  if not ok and not tostring(err):find "interrupted!$" then error(err, 0) end
end

-- Returns the directory of the pages, or nil and the reason.
local function directory_of_pages()
  local runtime = os.getenv "XDG_RUNTIME_DIR"
  local there <close> = runtime and runtime:find "^/" and io.open(runtime)
  if not there then return nil, "XDG_RUNTIME_DIR does not name a directory" end
  local directory = runtime .. "/lze"
  if prompt.private(directory) ~= false then return directory end
  return nil, directory .. " is not a directory for this user alone"
end

-- The command; how: "once", "json", or nil, which watches if possible.  Returns
-- the text to write, unless it has watched.
function top.main(how)
  local directory, unseen = directory_of_pages()
  local function take(before)
    local now = top.sample(directory, before)
    now.unseen = unseen
    return now
  end
  local term = os.getenv "TERM" or ""
  local terminal = prompt.terminal(0) and prompt.terminal(1) and term ~= "" and
    term ~= "dumb"
  if not how and terminal then
    watch(take)
    return nil
  end
  local first = take()
  os.execute "sleep 0.5"
  local now = take(first)
  if how == "json" then return to_json(now) .. "\n" end
  return table.concat(top.lines(now, {order = 1, kernels = true}), "\n") .. "\n"
end

return top
