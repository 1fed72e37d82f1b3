-- profile.lua - what a profile says: tables, findings, files.
-- SPDX-License-Identifier: MIT
--
-- A profile arrives as an array of events, in the order of the records, and a
-- table about the whole: start_ns, end_ns, dropped, recording, pending (true if
-- commands were pending when it began), bytes (memory in use at its end).
-- Tasks are parts of the runs of plans and included in their time: sums and
-- findings use the other events.

local C = ...

local concat, find, format, gsub, insert, match, rep, sort, sub = table.concat,
  string.find, string.format, string.gsub, table.insert, string.match,
  string.rep, table.sort, string.sub
local max, min = math.max, math.min

-- --- sums ------------------------------------------------------------------

local on_device = {
  kernel = true, copy = true, fill = true, graph = true, command = true,
}

-- Returns the duration of an event; 0 if it has not ended.
local function length(e)
  return e.end_ns and e.end_ns - e.start_ns or 0
end

-- Returns the duration of an event inside the profile: work of the host may
-- have begun earlier, and work of devices may end later.
local function inside(e, about)
  return max(0, min(e.end_ns, about.end_ns) - max(e.start_ns, about.start_ns))
end

-- Returns the events for which `wanted` returns true.
local function select_events(events, wanted)
  local list = {}
  for _, e in ipairs(events) do
    if wanted(e) then list[#list + 1] = e end
  end
  return list
end

local function of_kind(events, kind)
  return select_events(events, function(e) return e.kind == kind end)
end

-- Returns events as disjoint intervals, in order, inside the profile.
local function intervals(events, about)
  local list, last_ns, ordered = {}, 0, true
  for _, e in ipairs(events) do
    if e.end_ns and e.end_ns > about.start_ns and e.start_ns < about.end_ns then
      local start_ns = max(e.start_ns, about.start_ns)
      list[#list + 1] = {start_ns, min(e.end_ns, about.end_ns), e}
      ordered, last_ns = ordered and start_ns >= last_ns, start_ns
    end
  end
  if not ordered then -- rarely: sorting takes longer than all the rest
    sort(list, function(a, b) return a[1] < b[1] end)
  end
  local joined = {}
  for _, i in ipairs(list) do
    local last = joined[#joined]
    if last and i[1] <= last[2] then
      last[2] = max(last[2], i[2])
    else
      joined[#joined + 1] = i
    end
  end
  return joined
end

local function total(list)
  local ns = 0
  for _, i in ipairs(list) do ns = ns + i[2] - i[1] end
  return ns
end

-- Returns the total time during which two lists of disjoint intervals overlap.
local function overlap(a, b)
  local ns, i, j = 0, 1, 1
  while a[i] and b[j] do
    ns = ns + max(0, min(a[i][2], b[j][2]) - max(a[i][1], b[j][1]))
    if a[i][2] < b[j][2] then i = i + 1 else j = j + 1 end
  end
  return ns
end

-- Returns the intervals in which devices worked.
local function busy_times(events, about)
  return intervals(select_events(events, function(e)
    return on_device[e.kind]
  end), about)
end

-- Groups events by the result of `key`; groups with the most time come first.
local function group_by(events, key)
  local groups, by_key = {}, {}
  for _, e in ipairs(events) do
    local k = key(e)
    local g = by_key[k]
    if not g then
      g = {first = e, n = 0, ns = 0, call_ns = 0, bytes = 0, least = math.huge,
        most = 0}
      by_key[k] = g
      groups[#groups + 1] = g
    end
    local ns = length(e)
    g.n = g.n + 1
    g[g.n] = e
    g.ns = g.ns + ns
    g.call_ns = g.call_ns + (e.call_ns or 0)
    g.bytes = g.bytes + (e.bytes or 0)
    g.least, g.most = min(g.least, ns), max(g.most, ns)
    g.order = g.order or #groups
  end
  sort(groups, function(a, b)
    if a.ns ~= b.ns then return a.ns > b.ns end
    return a.order < b.order
  end)
  return groups
end

local function by_line(e)
  return e.name .. "\0" .. (e.where or "")
end

-- --- text ------------------------------------------------------------------

local function time_text(ns)
  if ns < 1e3 then return format("%.0f ns", ns) end
  if ns < 1e6 then return format("%.1f us", ns / 1e3) end
  if ns < 1e9 then return format("%.1f ms", ns / 1e6) end
  return format("%.2f s", ns / 1e9)
end

local function size_text(bytes)
  if bytes < 1024 then return format("%d bytes", bytes) end
  local units, u = {"KiB", "MiB", "GiB", "TiB"}, 0
  while bytes >= 1024 and u < #units do
    bytes, u = bytes / 1024, u + 1
  end
  return format("%.1f %s", bytes, units[u])
end

local function percent(part, whole)
  return format("%.0f %%", 100 * part / whole)
end

-- Names may contain anything; they are shown on one line, without control
-- characters; those above 0x7f are two bytes in UTF-8.
local function on_line(text)
  return (gsub(gsub(text, "%c", " "), "\xC2[\x80-\x9F]", " "))
end

local function at(e) return on_line(e.where or "an unknown line") end

-- Names a device; devices of one name are distinguished.
local function device_of(e)
  local tile = e.tile and " tile " .. e.tile or ""
  return e.device_number and "device " .. e.device_number .. tile or
    "device" .. tile
end

local function device_name(e) return device_of(e) .. ": " .. e.device end

local function size_of(numbers)
  return numbers and concat(numbers, "x") or ""
end

local function product(numbers)
  local n = 1
  for _, size in ipairs(numbers or {}) do n = n * size end
  return n
end

-- --- findings --------------------------------------------------------------

-- The start and the first builds belong to a whole program and are not
-- mistakes; they are reported only if a user notices them.
local NOTICED_NS = 1000000000

-- Findings below this share of the time are not reported.
local LEAST = 0.01

local function is_worth(ns, about, share)
  return ns / about.ns >= share and (not about.program or ns >= NOTICED_NS)
end

-- Each rule receives the events, the table about them, and `add` for a finding:
-- the line, the share of the time that it costs (for memory, a tenth of the
-- share of memory, because users notice time), the problem and the remedy.
local rules = {}

-- A launch costs the host the time of its call, minus the time in which the
-- device worked: that may be the kernel itself, on the same cores.  The cost on
-- the device cannot be measured, and is rarely less than this; at most it is
-- all of the time from one launch to the next.
local LAUNCH_NS = 5000

-- Returns the time from the first call in a list to the end of the last event.
local function time_of_use(events)
  local from, to = math.huge, 0
  for _, e in ipairs(events) do
    from, to = min(from, e.queued_ns), max(to, e.end_ns or 0)
  end
  return {{from, to}}
end

-- Texts about many short commands.
local short_texts = {
  kernel = "%s was launched %d times for %s each, and a launch costs about " ..
    "%s: give each more work, or record them in a graph",
  copy = "%s was called %d times for %s each, and a call costs about %s: " ..
    "copy more at once",
  fill = "%s was called %d times for %s each, and a call costs about %s: " ..
    "fill more at once",
}

-- Copies up to this size are short.  Calls of longer copies take time for
-- copying, or for converting to values.
local SHORT_BYTES = 4096

function rules.short_launches(events, about, add)
  local busy = busy_times(events, about)
  local short = select_events(events, function(e)
    return short_texts[e.kind] and (e.kind ~= "copy" or
      e.bytes <= SHORT_BYTES)
  end)
  for _, g in ipairs(group_by(short, by_line)) do
    local calls = {}
    for i, e in ipairs(g) do
      calls[i] = {start_ns = e.queued_ns, end_ns = e.queued_ns + e.call_ns}
    end
    calls = intervals(calls, about)
    local least = max((total(calls) - overlap(calls, busy)) / g.n, LAUNCH_NS)
    local cost = min(least, total(time_of_use(g)) / g.n)
    local share = g.n * cost / about.ns
    if g.n >= 100 and g.ns / g.n < least and share >= 0.05 then
      add(at(g.first), share, short_texts[g.first.kind], g.first.name, g.n,
        time_text(g.ns / g.n), time_text(cost))
    end
  end
end

-- A script can neither change nor prepare the kernels of arrays.
local function is_of_arrays(e) return find(e.name, "^array_") ~= nil end

-- Drivers may compile a kernel at its first launch with a group size.
local COMPILE_NS = 20000000

-- Returns the launches before which an idle device waited this long although
-- they were submitted and their dependencies had ended; and the first runs of
-- plans that took this much longer than any later run.  If events at the start
-- were dropped, the first launches are unknown.  If commands were pending at
-- the start, their end before a device's first launch is unknown.
local function late_launches(events, about)
  local seen, ends, late = {}, {}, {}
  if about.dropped > 0 then return late, ends end
  local function add(e, start_ns, end_ns)
    if end_ns - start_ns >= COMPILE_NS then
      late[#late + 1] = {name = e.name, where = e.where, start_ns = start_ns,
        end_ns = end_ns, device = device_name(e), first = e}
    end
  end
  local runs = {} -- per plan: the first run, and the longest later one
  for _, e in ipairs(events) do
    if on_device[e.kind] and e.end_ns then
      local device = device_name(e)
      local before = e.after and events[e.after]
      local known = ends[device] or not about.pending
      local free = max(e.submitted_ns or e.queued_ns, ends[device] or 0,
        before and before.end_ns or 0)
      ends[device] = max(e.end_ns, ends[device] or 0)
      local key = device .. " " .. e.name .. " " .. size_of(e.group)
      if e.kind == "graph" then
        key = key .. " " .. (e.where or "")
        if seen[key] then
          seen[key].most = max(seen[key].most or 0, length(e))
        else
          seen[key] = {first = e}
          runs[#runs + 1] = seen[key]
        end
      elseif e.kind == "kernel" and not seen[key] then
        seen[key] = true
        if known then add(e, free, e.start_ns) end
      end
    end
  end
  for _, r in ipairs(runs) do
    if r.most then add(r.first, r.first.start_ns, r.first.end_ns - r.most) end
  end
  return late, ends
end

-- Returns the cost of each wait: the time in it during which no device had
-- work, plus the time from the next call until that call's work began.  Script
-- code in between does not count, nor do unnecessary copies, late launches, and
-- messages that other ranks have yet to send.  A write always waits for its own
-- copy.
local function own_waits(events, about)
  local late, costs, list = {}, {}, {}
  for _, e in ipairs(late_launches(events, about)) do late[e.first] = true end
  local copy, last, last_ns = nil, nil, 0
  for _, e in ipairs(events) do
    if on_device[e.kind] then
      local begun_ns = late[e] and 0 or e.start_ns or 0
      if last then
        costs[last] = costs[last] +
          max(0, begun_ns - max(e.queued_ns, last_ns))
      end
      copy, last = e.kind == "copy" and e, nil
      last_ns = max(last_ns, e.end_ns or 0)
    elseif e.kind == "message" then
      last_ns = max(last_ns, e.end_ns or 0)
    elseif e.kind == "wait" then
      if not (copy and (copy.again or copy.name == "write")) then
        costs[e] = max(0, e.end_ns - max(e.start_ns, last_ns))
        last = e
        list[#list + 1] = e
      end
      copy = nil
    end
  end
  return list, costs
end

function rules.waits(events, about, add)
  local number = {} -- of commands enqueued before each wait
  local commands = 0
  for _, e in ipairs(events) do
    if e.kind == "wait" then number[e] = commands end
    if on_device[e.kind] then commands = commands + 1 end
  end
  local waits, costs = own_waits(events, about)
  for _, g in ipairs(group_by(waits, function(e) return e.where or "" end)) do
    local times, ns, before = 0, 0, nil -- waits with work since the wait before
    for _, e in ipairs(g) do
      if number[e] ~= before then times = times + 1 end
      ns, before = ns + costs[e], number[e]
    end
    local share = ns / about.ns
    if times >= 10 and share >= 0.1 then
      add(at(g.first), share, "the script waits here for the device %d " ..
        "times, which then has nothing to do, %s of the time: enqueue more " ..
        "before each wait, at best all of it", times, percent(ns, about.ns))
    end
  end
end

function rules.copies(events, about, add)
  local again = select_events(events, function(e)
    return e.kind == "copy" and e.again
  end)
  local groups = group_by(again, function(e)
    return by_line(e) .. "\0" .. e.storage
  end)
  for _, g in ipairs(groups) do
    local share = max(g.ns, g.call_ns) / about.ns
    if g.n >= 2 and share >= LEAST then
      if g.first.name == "read" then
        add(at(g.first), share, "a buffer was read %d more times and had " ..
          "not changed, %s in all: read it once, and keep what it gave", g.n,
          size_text(g.bytes))
      else
        add(at(g.first), share, "the same bytes were copied %d more times, " ..
          "%s in all: copy them once, before the loop", g.n,
          size_text(g.bytes))
      end
    end
  end
end

-- Ranges with fewer work-items do not need a larger group.
local FEW_ITEMS = 64

-- `global` is a keyword in some builds of Lua 5.5.
function rules.groups_of_one(events, about, add)
  local ones = select_events(events, function(e)
    return e.kind == "kernel" and product(e.group) == 1 and
      product(e["global"]) >= FEW_ITEMS and
      not is_of_arrays(e)
  end)
  for _, g in ipairs(group_by(ones, by_line)) do
    local e = g.first
    local why = e.why or ""
    local advice = "give it a range that small numbers divide, and let the " ..
      "kernel skip what is beyond the data"
    if find(why, "the given group", 1, true) then
      advice = "leave `group` out"
    elseif find(why, "the required group", 1, true) then
      advice = "leave reqd_work_group_size out of its source"
    end
    local share = g.ns / about.ns
    if share >= LEAST then
      add(at(e), share, "%s runs in groups of one work-item (%s): %s", e.name,
        e.why or size_of(e["global"]), advice)
    end
  end
end

function rules.builds(events, about, add)
  local builds = of_kind(events, "build")
  local repeated, again = {}, {}
  -- Builds of the same for the same device: Lua kernels are built for each
  -- type.
  for _, g in ipairs(group_by(builds, function(e)
    return by_line(e) .. "\0" .. (e.storage or "")
  end)) do
    if g.n >= 3 and g.first.storage then
      repeated[g.first.name] = true
      table.move(g, 1, g.n, #again + 1, again)
    end
  end
  for _, g in ipairs(group_by(again, by_line)) do
    local share = g.ns / about.ns
    if share >= LEAST then
      add(at(g.first), share, "%s is built %d times: build it once, " ..
        "outside the loop, and keep it", g.first.name, g.n)
    end
  end
  local once = select_events(builds, function(e)
    return not repeated[e.name]
  end)
  local ns = total(intervals(once, about))
  if is_worth(ns, about, 0.05) then
    local longest = group_by(once, by_line)[1].first
    add(at(longest), ns / about.ns, "%s of the %s, %s, is building (%s): %s",
      percent(ns, about.ns), about.program and "program's time" or
      "measured time", time_text(ns), longest.name, about.program and
      "a further run may find it in a cache" or
      "build it before what is measured")
  end
end

function rules.first_launches(events, about, add)
  local late, ends = late_launches(events, about)
  local ns = total(intervals(late, about))
  if is_worth(ns, about, 0.2) then
    local longest = group_by(late, function(e)
      return by_line(e) .. "\0" .. e.device
    end)[1]
    local e = longest.first.first
    local device = next(ends, next(ends)) and device_of(e) or "the device"
    local advice = about.program and "a further run may find it in a cache" or
      "run it once before what is measured"
    if e.kind == "kernel" and not is_of_arrays(e) then
      advice = longest.n == 1 and "k:prepare has that done earlier" or
        "launch it with fewer ranges, or have k:prepare do that earlier"
    end
    local time = time_text(longest.ns)
    if e.kind == "graph" then
      add(at(e), ns / about.ns, "the first run of %s on %s took %s more " ..
        "than later ones, in which drivers compile its kernels: %s", e.name,
        device, time, advice)
    else
      add(at(e), ns / about.ns, "%s waited %s until %s began for the first " ..
        "time%s, which drivers do to compile it: %s", device, time, e.name,
        longest.n > 1 and format(" in each of %d group sizes", longest.n) or
        "", advice)
    end
  end
end

-- Scripts make and close buffers; arrays are created and collected.
local function is_array(e) return e.name == "array" end

-- With less memory than this, or fewer buffers, no buffer needs to be closed.
local GARBAGE_BYTES, GARBAGE_BUFFERS = 64 << 20, 4

function rules.garbage(events, _, add)
  local made, alive, peak, collected = {}, 0, 0, {}
  for _, e in ipairs(events) do
    if e.kind == "alloc" then
      made[e.storage] = e
      alive = alive + e.bytes
      peak = max(peak, alive)
    elseif e.kind == "free" and made[e.storage] then
      alive = alive - e.bytes
      if e.collected then collected[made[e.storage]] = true end
    end
  end
  -- Memory now in use per line, and the peak.
  local lines, by_where = {}, {}
  for _, e in ipairs(events) do
    local memory = e.kind == "alloc" or e.kind == "free"
    local first = memory and made[e.storage]
    if first and collected[first] then
      local where = first.where or ""
      local g = by_where[where]
      if not g then
        g = {first = first, n = 0, bytes = 0, most = 0, held = 0}
        by_where[where] = g
        lines[#lines + 1] = g
      end
      local sign = e == first and 1 or -1
      g.n, g.bytes = g.n + sign, g.bytes + sign * e.bytes
      if g.bytes > g.held then g.most, g.held = g.n, g.bytes end
    end
  end
  for _, g in ipairs(lines) do
    if g.most >= GARBAGE_BUFFERS and g.held >= GARBAGE_BYTES and
      g.held >= peak / 2
    then
      local array = is_array(g.first)
      add(at(g.first), min(1, g.held / peak) / 10, "%d %s that were made " ..
        "here, %s, were there at once until the collector freed them, and " ..
        "the most in use was %s: %s", g.most, array and "arrays" or "buffers",
        size_text(g.held), size_text(peak), array and
        "a lower soft_limit_bytes of lze.gc has it do so earlier" or
        "close them, or declare them <close>, or use one again")
    end
  end
end

-- Fewer allocations on a line than this are not reported.
local MANY_BUFFERS = 3

function rules.buffers(events, about, add)
  local busy = busy_times(events, about)
  local by_script = select_events(events, function(e)
    return e.kind == "alloc" and e.name ~= "staging"
  end)
  for _, g in ipairs(group_by(by_script, by_line)) do
    local made = intervals(g, about)
    local ns = total(made) - overlap(made, busy)
    if g.n >= MANY_BUFFERS and is_worth(ns, about, 0.1) then
      local array = is_array(g.first)
      add(at(g.first), ns / about.ns, "%d %s are made here, and the device " ..
        "has nothing to do meanwhile, %s of the time: %s", g.n, array and
        "arrays" or "buffers", percent(ns, about.ns), array and
        "write into arrays that are there, by x:set" or
        "make them once, before the loop, and use them again")
    end
  end
end

-- Gaps between calls up to this length are normal.
local CALLS_NS = 10000

-- Returns true if the time of an event is accounted for by lze or a device.
local function is_known(e)
  return on_device[e.kind] or e.kind == "wait" or e.kind == "build" or
    e.kind == "alloc" or e.kind == "collection" or e.kind == "message"
end

function rules.idle(events, about, add)
  local device = select_events(events, function(e)
    return on_device[e.kind] and e.end_ns
  end)
  if #device == 0 then return end
  local known = {}
  for i, e in ipairs(select_events(events, is_known)) do
    known[i] = {start_ns = e.queued_ns, where = e.where, end_ns = max(
      e.end_ns or 0, e.queued_ns + (e.call_ns or 0))}
  end
  local idle, longest, first, side = 0, 0, device[1], "before"
  local before = about.start_ns
  local function add_idle(ns, next_one, where)
    if ns < CALLS_NS then return end
    idle = idle + ns
    if ns > longest then longest, first, side = ns, next_one, where end
  end
  for _, i in ipairs(intervals(known, about)) do
    add_idle(i[1] - before, i[3], "before")
    before = i[2]
  end
  add_idle(about.end_ns - before, known[#known], "after")
  if not is_worth(idle, about, 0.5) or idle < 10000000 then return end
  add(at(first), idle / about.ns, "the device had nothing to do for %s, %s " ..
    "of the time, while the script did other work (%s of it %s this line): " ..
    "let kernels do that work, or enqueue theirs first", time_text(idle),
    percent(idle, about.ns), time_text(longest), side)
end

-- Less than this may wait in a batched queue.
local UNFLUSHED_NS = 10000000

-- Finds work that waits in a queue while its device is idle.
function rules.unflushed(events, about, add)
  local busy = busy_times(events, about)
  local lying = {}
  for i, e in ipairs(select_events(events, function(e)
    return e.submitted_ns
  end)) do
    lying[i] = {name = e.name, where = e.where, start_ns = e.queued_ns,
      end_ns = e.submitted_ns}
  end
  local times = intervals(lying, about)
  local ns = total(times) - overlap(times, busy)
  if is_worth(ns, about, 0.1) and ns >= UNFLUSHED_NS then
    local e = group_by(lying, by_line)[1].first
    add(at(e), ns / about.ns, "%s lay in a batched queue while the device " ..
      "had nothing to do, %s in all: q:flush hands over what it has", e.name,
      time_text(ns))
  end
end

-- Finds queues in use at the same time whose commands never overlap.
function rules.queues(events, about, add)
  local device = select_events(events, function(e)
    return on_device[e.kind] and e.end_ns and e.queue
  end)
  local queues = group_by(device, function(e) return e.queue end)
  for i = 1, #queues do
    local a = queues[i]
    local busy = intervals(a, about)
    for j = i + 1, #queues do
      local b = queues[j]
      local less = min(a.ns, b.ns)
      if a.n >= 2 and b.n >= 2 and less >= about.ns / 10 and
        overlap(time_of_use(a), time_of_use(b)) >= less / 2 and
        overlap(busy, intervals(b, about)) < less / 100
      then
        local one = device_name(a.first) == device_name(b.first)
        add(at(b.first), less / about.ns, "queues %d and %d never work at " ..
          "the same time, %s and %s: let their commands use different " ..
          "buffers%s", min(a.first.queue, b.first.queue),
          max(a.first.queue, b.first.queue), time_text(a.ns), time_text(b.ns),
          one and ", or use one queue" or "")
      end
    end
  end
end

-- Returns the table with the time that the events cover: if older events were
-- dropped, it starts when the first recorded command starts, or else at the
-- first event.
local function measured(events, about)
  local start_ns = about.start_ns
  if about.dropped > 0 then
    local first = events[1]
    for _, e in ipairs(events) do
      if on_device[e.kind] and e.end_ns then
        first = e
        break
      end
    end
    start_ns = max(start_ns, first and (first.start_ns or first.queued_ns) or
      0)
  end
  return setmetatable({start_ns = start_ns,
    ns = max(1, about.end_ns - start_ns)}, {__index = about})
end

-- Returns the findings, the worst first: {rule, where, share, text}.
local function findings(events, about)
  local list = {}
  about = measured(events, about)
  for name, rule in pairs(rules) do
    rule(events, about, function(where, share, ...)
      list[#list + 1] = {rule = name, where = where, share = min(1, share + .0),
        text = on_line(format(...))}
    end)
  end
  sort(list, function(a, b)
    if a.share ~= b.share then return a.share > b.share end
    return a.rule .. a.where < b.rule .. b.where
  end)
  return list
end

-- --- for users -------------------------------------------------------------

local MOST_ROWS = 20

-- Returns the number of characters in a UTF-8 text.
local function width(s) return #s - select(2, gsub(s, "[\x80-\xBF]", "")) end

-- Shortens a name to the column of a table by removing its middle, because
-- paths differ at their ends.
local function short(name)
  name = on_line(name)
  if #name <= 32 then return name end
  local first, last = sub(name, 1, 12), sub(name, -17)
  if find(name, "^[\x80-\xBF]", 13) then
    first = gsub(first, "[\xC2-\xF4]?[\x80-\xBF]*$", "")
  end
  return first .. "..." .. gsub(last, "^[\x80-\xBF]+", "")
end

-- Returns the lines of a table; columns whose title begins with a blank contain
-- numbers, and the last column is not padded.
local function columns(titles, rows)
  local widths = {}
  for c, title in ipairs(titles) do
    widths[c] = #title
    for _, row in ipairs(rows) do widths[c] = max(widths[c], width(row[c])) end
  end
  local lines = {}
  for r = 0, #rows do
    local cells = {}
    for c, cell in ipairs(rows[r] or titles) do
      local blank = rep(" ", widths[c] - width(cell))
      cells[c] = sub(titles[c], 1, 1) == " " and blank .. cell or
        c == #titles and cell or cell .. blank
    end
    lines[#lines + 1] = "  " .. match(concat(cells, "  "), "^(.-)%s*$")
  end
  return lines
end

-- Adds a table of groups, with a line about the groups that do not fit.
local function add_table(lines, title, groups, titles, row)
  if #groups == 0 then return end
  local rows = {}
  for i = 1, min(#groups, MOST_ROWS) do rows[i] = row(groups[i]) end
  lines[#lines + 1] = ""
  lines[#lines + 1] = title
  for _, line in ipairs(columns(titles, rows)) do lines[#lines + 1] = line end
  if #groups > MOST_ROWS then
    lines[#lines + 1] = format("  and %d more", #groups - MOST_ROWS)
  end
end

-- Returns the operations in all launches of a group, with more = true if others
-- were not counted; nil if they are unknown.
local function flops_of(g)
  local sum = {half = 0, float = 0, double = 0, more = false}
  for _, e in ipairs(g) do
    if not e.float_flops then return nil end
    sum.half = sum.half + (e.half_flops or 0)
    sum.float = sum.float + e.float_flops
    sum.double = sum.double + (e.double_flops or 0)
    sum.more = sum.more or e.more_flops or false
  end
  sum.all = sum.half + sum.float + sum.double
  return sum
end

-- Returns a table cell with these operations.
local function flops_cell(g)
  local sum = g.ns > 0 and flops_of(g)
  if not sum or sum.all == 0 then return sum and sum.more and "?" or "-" end
  return (sum.more and ">" or "") .. format("%.2f", sum.all / g.ns)
end

-- Returns the share of a device's measured arithmetic and bandwidth that a
-- kernel reached, and the nearer limit.
local function reached(g, limits)
  local sum, least = flops_of(g), ""
  local parts, share, memory = {}, 0, 0
  if sum and sum.more then least = "at least " end
  if sum and sum.all > 0 then
    local kind = "float"
    share = sum.float / g.ns / limits.float
    if limits.double and sum.double / g.ns / limits.double > share then
      kind, share = "double", sum.double / g.ns / limits.double
    end
    parts[1] = format("%s%.2f GFLOP/s", least, sum.all / g.ns)
    if share > 0 then
      parts[2] = format("%s%s of the device's %.1f GFLOP/s of %s", least,
        percent(share, 1), limits[kind], kind)
    end
  elseif sum and sum.more then
    parts[1] = "its arithmetic is in branches or loops that are not counted"
  else
    parts[1] = sum and "no arithmetic of floats" or
      "its arithmetic is not known"
  end
  if g.bytes > 0 then
    memory = g.bytes / g.ns / limits.copy
    parts[#parts + 1] = format("%.2f GB/s, %s of a copy's %.1f", g.bytes / g.ns,
      percent(memory, 1), limits.copy)
  end
  local text = concat(parts, ", ")
  if share > 0 and share >= memory then
    return text .. ": arithmetic is nearer"
  end
  local known = sum and not sum.more -- else memory must be near by itself
  if memory > 0 and known or memory >= 0.5 then
    text = text .. ": memory is nearer" .. (known and "" or
      ", of what is counted")
  end
  return text
end

-- Returns the group sizes of launches for a table.
local function groups_of(g)
  local text = size_of(g.first.group)
  for _, e in ipairs(g) do
    if size_of(e.group) ~= text then return text .. " and others" end
  end
  return text
end

local function add_findings(lines, found)
  lines[#lines + 1] = ""
  lines[#lines + 1] = #found == 0 and "findings: none" or "findings"
  for i, f in ipairs(found) do
    lines[#lines + 1] = format("%3d. %s: %s", i, f.where, f.text)
  end
end

-- tostring(profile).  The findings come last, because users look just before
-- the next prompt; or first if `findings_first`.
local function to_text(events, about, findings_first)
  local found = findings(events, about)
  about = measured(events, about)
  local count = #events
  events = select_events(events, function(e) return e.end_ns end)
  local device = select_events(events, function(e) return on_device[e.kind] end)
  local waits, builds = of_kind(events, "wait"), of_kind(events, "build")
  local lines = {format("profile: %s%s, device busy %s, host waiting %s, " ..
    "building %s, %d events%s%s", time_text(about.ns),
    about.recording and " so far" or "",
    percent(total(intervals(device, about)), about.ns),
    percent(total(intervals(waits, about)), about.ns),
    percent(total(intervals(builds, about)), about.ns), count,
    about.dropped > 0 and format(" (%d older ones dropped)", about.dropped) or
      "", #events < count and format(", %d not over", count - #events) or "")}

  if findings_first then add_findings(lines, found) end

  -- Rows name their device if there are several.
  local several = false
  for _, e in ipairs(device) do
    several = several or device_name(e) ~= device_name(device[1])
  end
  local function by_device(e)
    return several and by_line(e) .. "\0" .. device_name(e) or by_line(e)
  end
  local function with_device(row, word)
    if several then insert(row, #row - 1, word) end
    return row
  end

  local limits, names = {}, {} -- of measured devices
  local work = with_device({"      %", "  total", "   count", "   mean",
    "    min", "    max", "   GB/s", "  of copy", "  GFLOP/s", "group",
    "name", "line"}, "device")
  local compared = {} -- with the limits of their device
  local function work_row(g)
    local e = g.first
    local rate = e.bytes and g.ns > 0 and g.bytes / g.ns
    if e.device and limits[e.device] == nil then
      limits[e.device] = C.limits(e.device) or false
      names[#names + 1] = e.device
    end
    local copy = limits[e.device] and limits[e.device].copy
    if copy and g.ns > 0 and e.group then
      compared[#compared + 1] = format("  %s%s: %s", short(e.name),
        several and " on " .. device_of(e) or "", reached(g, limits[e.device]))
    end
    return with_device({format("%.1f", 100 * g.ns / about.ns), time_text(g.ns),
      tostring(g.n), time_text(g.ns / g.n), time_text(g.least),
      time_text(g.most),
      rate and format("%.2f", rate) or "-",
      rate and copy and percent(rate, copy) or "-", flops_cell(g),
      groups_of(g), short(e.name), at(e)}, device_of(e))
  end
  add_table(lines, "kernels", group_by(select_events(events, function(e)
    return e.kind == "kernel" or e.kind == "graph"
  end), by_device), work, work_row)
  add_table(lines, "tasks, in the runs of their plans",
    group_by(of_kind(events, "task"), by_device), work, work_row)
  local runs = of_kind(events, "graph")
  for _, g in ipairs(group_by(select_events(runs, function(e)
    return e.untimed
  end), function(e) return e.untimed end)) do
    lines[#lines + 1] = format("  %d of %d runs of plans without all their " ..
      "tasks: %s", g.n, #runs, g.first.untimed)
  end
  if #names > 0 then
    lines[#lines + 1] = "  GB/s if each work-item reads or writes one " ..
      "element of each buffer, at least"
    lines[#lines + 1] = "  GFLOP/s of what the source says; >: at least, " ..
      "without branches and loops that only arguments or data decide"
  end
  for _, name in ipairs(names) do
    local l = limits[name]
    lines[#lines + 1] = l and format("  %s was measured: a copy %.1f GB/s " ..
      "(more: from caches, or with fewer stores than loads), float %.1f " ..
      "GFLOP/s%s", name, l.copy, l.float,
      l.double and format(", double %.1f GFLOP/s", l.double) or "") or
      format("  %s was not measured: lze bench --device does", name)
  end
  if #compared > 0 then
    lines[#lines + 1] = ""
    lines[#lines + 1] = "compared with what the device can do"
    for _, line in ipairs(compared) do lines[#lines + 1] = line end
  end
  add_table(lines, "copies and fills", group_by(select_events(events,
    function(e) return e.kind == "copy" or e.kind == "fill" end), by_device),
    with_device({"      %", "  total", "   count", "     size",
    "   GB/s", "   host", "name", "line"}, "device"), function(g)
    return with_device({format("%.1f", 100 * g.ns / about.ns), time_text(g.ns),
      tostring(g.n), size_text(g.bytes),
      g.ns > 0 and format("%.2f", g.bytes / g.ns) or "-", time_text(g.call_ns),
      g.first.name, at(g.first)}, device_of(g.first))
  end)
  add_table(lines, "messages", group_by(of_kind(events, "message"), by_line),
    {"  total", "   count", "     size", "   mean", "name", "line"},
    function(g)
      return {time_text(g.ns), tostring(g.n), size_text(g.bytes),
        time_text(g.ns / g.n), short(g.first.name), at(g.first)}
    end)
  add_table(lines, "power", group_by(of_kind(events, "power"), device_name),
    {"  measured", "    joules", "  mean W", "   max W", "device"},
    function(g)
      local joules, most = 0, 0
      for _, e in ipairs(g) do
        joules = joules + e.watts * length(e) / 1e9
        most = max(most, e.watts)
      end
      return {time_text(g.ns), format("%.3f", joules), format("%.1f", joules /
        max(1, g.ns) * 1e9), format("%.1f", most), device_name(g.first)}
    end)
  local function host(g)
    local ns = 0
    for _, e in ipairs(g) do ns = ns + inside(e, about) end
    return {format("%.1f", 100 * ns / about.ns), time_text(ns), tostring(g.n),
      short(g.first.name), at(g.first)}
  end
  add_table(lines, "waits", group_by(waits, by_line),
    {"      %", "  total", "   count", "for", "line"}, host)
  add_table(lines, "builds", group_by(builds, by_line),
    {"      %", "  total", "   count", "of", "line"}, host)
  add_table(lines, "collections", group_by(of_kind(events, "collection"),
    by_line), {"      %", "  total", "   count", "memory freed", "line"},
    function(g)
      local cells = host(g)
      cells[4] = size_text(g.bytes)
      return cells
    end)
  add_table(lines, "marks", group_by(of_kind(events, "mark"), by_line),
    {"      %", "  total", "   count", "name", "line"}, host)

  if not findings_first then add_findings(lines, found) end
  return concat(lines, "\n")
end

-- --- for programs ----------------------------------------------------------

local to = C.json()

local function field(v)
  if math.type(v) == "float" then return to.json(v) end
  v = v == nil and "" or to.utf(tostring(v))
  if not match(v, '[",\r\n]') then return v end
  return '"' .. gsub(v, '"', '""') .. '"'
end

-- Returns a table of all events, one line each.
local function to_csv(events)
  local names = {"kind", "name", "where", "device", "queue", "queued_ns",
    "start_ns", "end_ns", "call_ns", "bytes", "arguments", "global", "group",
    "why", "after", "storage", "again", "collected", "failed",
    "watts", "untimed", "device_number", "tile", "half_flops", "float_flops",
    "double_flops", "more_flops", "parent", "submitted_ns"}
  local lines = {concat(names, ",")}
  for _, e in ipairs(events) do
    local cells = {}
    for i, name in ipairs(names) do
      local v = e[name]
      if type(v) == "table" then v = size_of(v) end
      cells[i] = field(v)
    end
    lines[#lines + 1] = concat(cells, ",")
  end
  return concat(lines, "\n") .. "\n"
end

-- Rows of the host, which is process 1 of a trace; rows of devices are queues.
local host_rows = {"script", "waits", "builds", "collections"}
local row_of = {mark = 1, wait = 2, build = 3, collection = 4}
local MESSAGES = #host_rows + 1 -- the first row of messages
local LANE_ROWS = 1000000 -- from a lane of tasks or marks to the next

-- Returns the first lane, from 1, in which an event overlaps no earlier one.
local function free_lane(e, ends)
  local lane = 1
  while ends[lane] and ends[lane] > e.start_ns do lane = lane + 1 end
  ends[lane] = e.end_ns
  return lane
end

-- Returns the row of a message, from 0, and its name.
local function message_lane(e, ends)
  local lane = free_lane(e, ends)
  return lane - 1, lane == 1 and "messages" or format("messages %d", lane)
end

-- Returns the lanes of tasks, by event; overlapping tasks of a queue need
-- several.
local function task_lanes(events)
  local tasks, lanes, ends = of_kind(events, "task"), {}, {}
  sort(tasks, function(a, b) return a.start_ns < b.start_ns end)
  for _, e in ipairs(tasks) do
    local key = device_name(e) .. " " .. e.queue
    ends[key] = ends[key] or {}
    lanes[e] = free_lane(e, ends[key])
  end
  return lanes
end

-- Returns the lanes of marks, by event: marks in a lane are disjoint or nested.
-- Marks of coroutines may overlap in other ways.
local function mark_lanes(events)
  local marks, lanes, open = of_kind(events, "mark"), {}, {}
  sort(marks, function(a, b)
    if a.start_ns ~= b.start_ns then return a.start_ns < b.start_ns end
    return a.end_ns > b.end_ns
  end)
  for _, e in ipairs(marks) do
    local lane = 0
    repeat
      lane = lane + 1
      local ends = open[lane] or {} -- of marks that may contain it
      open[lane] = ends
      while #ends > 0 and ends[#ends] <= e.start_ns do ends[#ends] = nil end
    until #ends == 0 or e.end_ns <= ends[#ends]
    insert(open[lane], e.end_ns)
    lanes[e] = lane
  end
  return lanes
end

-- Events that are values at a time, or over a time.
local counted = {alloc = true, free = true, power = true}

-- Returns the values over time, each {name, unit, first, points = {{ns, value},
-- ...}}; `first` is the first event of a device's values.  They are the memory
-- in use, and the power of devices, which ends at its last sample.
local function counters(events, about)
  local list, by_key = {}, {}
  local alive = about.bytes -- at the end; then before the first event
  for _, e in ipairs(events) do
    if e.kind == "alloc" then alive = alive - e.bytes end
    if e.kind == "free" then alive = alive + e.bytes end
  end
  local function add(name, unit, first, ns, value)
    local key = name .. (first and device_name(first) or "")
    local c = by_key[key]
    if not c then
      c = {name = name, unit = unit, first = first, points = {}}
      by_key[key] = c
      list[#list + 1] = c
    end
    c.points[#c.points + 1] = {ns, value}
  end
  for _, e in ipairs(events) do
    if e.kind == "power" then
      add("power", "watts", e, e.start_ns, e.watts)
    elseif counted[e.kind] then
      alive = max(0, alive + (e.kind == "alloc" and e.bytes or -e.bytes))
      add("memory", "bytes", nil, e.start_ns, alive)
    end
  end
  for i = #events, 1, -1 do
    local e = events[i]
    local c = e.kind == "power" and by_key["power" .. device_name(e)]
    if c and not c.over then
      c.over = true
      c.points[#c.points + 1] = {e.end_ns, 0}
    end
  end
  return list
end

local function value_text(value)
  return math.type(value) == "integer" and format("%d", value) or
    to.point(format("%.3f", value))
end

-- Writes a trace for Perfetto: host and devices are processes, their rows are
-- threads; events inside another event are shown below it.
local function to_json(events, about)
  local quoted, micros = to.quoted, to.micro
  local lines, rows, processes, count = {}, {}, {}, 1
  local places = {} -- process and row of device events
  local lanes, script_lanes = task_lanes(events), mark_lanes(events)
  local function add(...) lines[#lines + 1] = format(...) end
  local function name_process(pid, name)
    add('{"ph":"M","pid":%d,"name":"process_name","args":{"name":%s}}', pid,
      quoted(name))
    add('{"ph":"M","pid":%d,"name":"process_sort_index",' ..
      '"args":{"sort_index":%d}}', pid, pid)
  end
  local function name_row(pid, tid, name)
    add('{"ph":"M","pid":%d,"tid":%d,"name":"thread_name",' ..
      '"args":{"name":%s}}', pid, tid, quoted(name))
  end
  name_process(1, about.process or "host")
  for tid, name in ipairs(host_rows) do name_row(1, tid, name) end
  local function process_of(e)
    local device = device_name(e)
    if not processes[device] then
      count = count + 1
      processes[device] = count
      name_process(count, device)
    end
    return processes[device]
  end
  -- Returns the process and the row of a device event.
  local function place(e)
    local pid = process_of(e)
    local lane = lanes[e] or 1
    local tid = (lane - 1) * LANE_ROWS + e.queue
    local key = pid .. " " .. tid
    if not rows[key] then
      rows[key] = true
      name_row(pid, tid, format("queue %d%s", e.queue, lane > 1 and
        format(", tasks %d", lane) or ""))
    end
    return pid, tid
  end
  local function ts(ns) return micros(max(0, ns - about.start_ns)) end
  for _, c in ipairs(counters(events, about)) do
    local pid = c.first and process_of(c.first) or 1
    for _, point in ipairs(c.points) do
      add('{"ph":"C","pid":%d,"name":"%s","ts":%s,"args":{"%s":%s}}', pid,
        c.name, ts(point[1]), c.unit, value_text(point[2]))
    end
  end
  local ends = {}
  for _, e in ipairs(events) do
    if e.end_ns and not counted[e.kind] then
      local pid, tid, name = 1, row_of[e.kind], nil
      local lane = script_lanes[e] or 1
      if lane > 1 then
        tid, name = (lane - 1) * LANE_ROWS + tid, format("script %d", lane)
      elseif e.kind == "message" then
        lane, name = message_lane(e, ends)
        tid = MESSAGES + lane
      elseif not tid then
        pid, tid = place(e)
        places[e] = {pid, tid}
      end
      if name and not rows[name] then
        rows[name] = true
        name_row(1, tid, name)
      end
      local args = {where = e.where, bytes = e.bytes, why = e.why,
        ["global"] = e["global"] and size_of(e["global"]),
        group = e.group and size_of(e.group), again = e.again,
        untimed = e.untimed, half_flops = e.half_flops,
        float_flops = e.float_flops, double_flops = e.double_flops,
        more_flops = e.more_flops, arguments = e.arguments}
      local text = next(args) and to.json(args) or "{}"
      if e.kind == "mark" and e.start_ns == e.end_ns then
        add('{"ph":"i","s":"g","pid":%d,"tid":%d,"name":%s,"cat":"mark",' ..
          '"ts":%s,"args":%s}', pid, tid, quoted(e.name), ts(e.start_ns), text)
      else
        add('{"ph":"X","pid":%d,"tid":%d,"name":%s,"cat":"%s","ts":%s,' ..
          '"dur":%s,"args":%s}', pid, tid, quoted(e.name), e.kind,
          ts(e.start_ns), micros(inside(e, about)), text)
      end
    end
  end
  -- Dependencies are arrows from the end of one event to the start of another.
  for i, e in ipairs(events) do
    local before = e.after and events[e.after]
    if places[e] and before and places[before] then
      add('{"ph":"s","id":%d,"cat":"after","name":"after","pid":%d,' ..
        '"tid":%d,"ts":%s}', i, places[before][1], places[before][2],
        ts(max(before.start_ns, before.end_ns - 1)))
      add('{"ph":"f","bp":"e","id":%d,"cat":"after","name":"after",' ..
        '"pid":%d,"tid":%d,"ts":%s}', i, places[e][1], places[e][2],
        ts(e.start_ns))
    end
  end
  return format('{"displayTimeUnit":"ns","otherData":%s,"traceEvents":[\n' ..
    "%s\n]}\n", to.json {process = about.process or "", boot = about.boot or
    "", start_ns = about.start_ns, epoch_ns = about.epoch_ns or 0},
    concat(lines, ",\n"))
end

-- Escapes what HTML would interpret.
local function plain(s)
  return (gsub(to.utf(s), "[&<>]", {
    ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
  }))
end

-- Returns the floating-point operations of an event, if it has any.
local function flops_text(e)
  local parts = {}
  for _, kind in ipairs {"half", "float", "double"} do
    local n = e[kind .. "_flops"] or 0
    if n > 0 then parts[#parts + 1] = format("%d of %s", n, kind) end
  end
  return #parts > 0 and (e.more_flops and "at least " or "") ..
    concat(parts, ", ") or nil
end

-- Returns a page with all events; lua/timeline.lua describes it.
local function to_html(events, about)
  local numbers, strings, sources = {}, {}, {}
  local function number(s)
    if not s or s == "" then return -1 end
    if not numbers[s] then
      strings[#strings + 1] = to.quoted(s)
      numbers[s] = #strings - 1
    end
    return numbers[s]
  end
  local function line_of(where)
    local n = number(where)
    if n >= 0 and sources[n] == nil then
      local path, line = match(where, "^(.*):(%d+)$")
      local text = path and C.source(path, tonumber(line))
      sources[n] = text and format('"%d":%s', n, to.quoted(text)) or false
    end
    return n
  end
  local rows, by_name = {}, {}
  -- Rows are sorted by their places.
  local function row(place, name, device)
    if not by_name[name] then
      by_name[name] = {place = place, name = name, device = device or -1}
      rows[#rows + 1] = by_name[name]
    end
    return by_name[name]
  end
  for i, name in ipairs(host_rows) do row(i, name) end
  local devices, places = {}, {}
  for _, e in ipairs(events) do
    local device = (e.queue or e.watts) and device_name(e)
    if device and not places[device] then
      places[device] = #devices
      devices[#devices + 1] = device
    end
  end
  -- Names a part of a device; the device is omitted if there is only one.
  local function of_device(e, name)
    return #devices > 1 and device_of(e) .. ", " .. name or name
  end
  local function device_row(e)
    local copies = e.kind == "copy" or e.kind == "fill"
    local device = places[device_name(e)]
    return row((device + 1) * LANE_ROWS + 2 * e.queue + (copies and 1 or 0),
      of_device(e, format("queue %d%s", e.queue, copies and " copies" or "")),
      device)
  end
  local ends = {}
  for i, e in ipairs(events) do
    if e.end_ns and not counted[e.kind] then
      local place = row_of[e.kind]
      local host = host_rows[place]
      if e.kind == "message" then
        place, host = message_lane(e, ends)
        place = place + MESSAGES
      end
      local r = host and row(place, host) or device_row(e)
      r[#r + 1] = format("[%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d]",
        max(0, e.start_ns - about.start_ns), inside(e, about), number(e.name),
        line_of(e.where), e.bytes or 0, number(size_of(e.group)),
        number(size_of(e["global"])), number(e.why), number(e.kind), i,
        e.after or 0, e.parent or 0, number(flops_text(e)),
        number(e.arguments))
    end
  end
  local texts = {}
  for n = 0, #strings - 1 do
    if sources[n] then texts[#texts + 1] = sources[n] end
  end
  sort(rows, function(a, b) return a.place < b.place end)
  for i, r in ipairs(rows) do
    rows[i] = format('{"name":%s,"device":%d,"events":[%s]}',
      to.quoted(r.name), r.device, concat(r, ",\n"))
  end
  local plots = {}
  for i, c in ipairs(counters(events, about)) do
    local points = {}
    for k, point in ipairs(c.points) do
      points[k] = format("[%d,%s]", max(0, point[1] - about.start_ns),
        value_text(point[2]))
    end
    plots[i] = format('{"name":%s,"unit":"%s","points":[%s]}', to.quoted(
      c.first and of_device(c.first, c.name) or c.name), c.unit,
      concat(points, ","))
  end
  for i, name in ipairs(devices) do devices[i] = to.quoted(name) end
  local values = {
    TITLE = format("lze: %s, %d events", time_text(about.end_ns -
      about.start_ns), #events),
    TEXT = plain(to_text(events, about, true)),
    -- Nothing in the data may close the element that contains it.
    DATA = gsub(format('{"process":%s,"boot":%s,"start":"%d",' ..
      '"epoch":"%d","end":%d,"devices":[%s],"strings":[%s],' ..
      '"lines":{%s},\n"plots":[%s],\n"rows":[%s]}', to.quoted(about.process or
      ""), to.quoted(about.boot or ""), about.start_ns, about.epoch_ns or 0,
      about.end_ns - about.start_ns, concat(devices, ","),
      concat(strings, ","), concat(texts, ","), concat(plots, ",\n"),
      concat(rows, ",\n")), "<", "\\u003c"),
  }
  return (gsub(C.page(), "@(%u+)@", values))
end

-- Writers by file name extension.
local writers = {
  csv = to_csv, html = to_html, json = to_json,
  txt = function(events, about)
    return to.utf(to_text(events, about)) .. "\n"
  end,
}

-- Returns the text of a file with this extension.
local function write(ending, events, about)
  return writers[ending](events, about)
end

-- p:save(path)
local function save(path, events, about)
  if find(path, "\0", 1, true) then
    C.argument(2, "path: it contains a zero byte")
  end
  local ending = match(path, "%.(%l+)$")
  if not writers[ending or ""] then
    C.argument(2, format("path: a name that ends in .csv, .html, .json " ..
      "or .txt expected, got \"%s\"", path))
  end
  local text, files = write(ending, events, about), C.files()
  local file <close> = files.create(path)
  files.write(file, text)
  files.commit(file)
end

-- Returns the page for embedding in another page.
local function frame(events, about)
  local page = gsub(to_html(events, about), '[&"]', {
    ["&"] = "&amp;", ['"'] = "&quot;",
  })
  return '<iframe style="width: 100%; height: 600px; border: 0" srcdoc="' ..
    page .. '"></iframe>'
end

return {findings = findings, text = to_text, save = save, write = write,
  frame = frame}
