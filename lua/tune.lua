-- tune.lua - lze.tune: group sizes found by measuring.
-- SPDX-License-Identifier: MIT

local C = ...

local setmetatable = setmetatable
local concat, format, sort, unpack = table.concat, string.format, table.sort,
  table.unpack

-- Enough for a median that one disturbed round does not move, and still odd
-- after the budget has cut it.
local ROUNDS, LEAST_ROUNDS = 11, 5
local BUDGET_NS = 10000000000 -- for all rounds together
-- A size whose first time is this many times the best is not timed again,
-- except the heuristic's own: a single time must not make it the best.
local HOPELESS = 2
-- The heuristic's size stays unless another is better by this factor: medians
-- of few rounds vary that much by chance.
local NOISE = 1.02

-- Fields that lze.tune must set itself.
local decided = {group = true, policy = true, after = true, signal = true}

-- Returns a launch table from the script's range or launch table.
local function launch_of(range)
  if type(range) ~= "table" then return {range} end
  local launch = {}
  for key, value in next, range do
    if decided[key] then
      error(format("lze.tune: %s: not in a launch table that is measured",
        key), 0)
    end
    launch[key] = value
  end
  return launch
end

-- The heuristic's own size comes first, then sizes that its rule ranks well and
-- the choices of other policies.
local function candidates(t)
  local list, seen = {}, {}
  local function add(size)
    local key = size and concat(size, "x")
    if not key or seen[key] then return end
    seen[key] = true
    list[#list + 1] = {group = size, times = {}, live = true}
  end
  local sizes = C.sizes(t.input)
  for _, size in ipairs(sizes) do add(size) end
  if #sizes > 1 then
    for _, policy in ipairs {"largest", "tornado"} do
      add(C.choose(t.input, policy))
    end
  end
  return list
end

-- --- the buffers that the kernel writes ------------------------------------

-- Adds the buffer x, or an array's, with a copy of it.
local function save(saved, x)
  x = C.buffer_of(x)
  if not x or #x == 0 then return end
  local copy = C.buffer(x.type, #x, {usage = x.usage, device = x.device,
    context = x.context, zero = false})
  C.call(copy, "copy", x)
  saved[#saved + 1] = {x, copy}
end

-- Saves all that the kernel may write: arguments, and buffers named by `uses`.
local function save_all(t, uses)
  local saved = {}
  for i = 1, t.n do
    if t.writes[i] == "image" then
      error(format("lze.tune: %s: argument %d: an image that the kernel " ..
        "writes to, which is not copied", t.name, i), 0)
    end
    if t.writes[i] then save(saved, t[i]) end
  end
  if C.buffer_of(uses) then uses = {uses} end
  for i = 1, type(uses) == "table" and rawlen(uses) or 0 do
    save(saved, rawget(uses, i))
  end
  return saved
end

-- Restores the buffers, after all commands still running.
local function restore_all(saved)
  for _, pair in ipairs(saved) do C.call(pair[1], "copy", pair[2]) end
end

-- --- measuring -------------------------------------------------------------

-- Launches each once untimed, because that compiles, then times all in turns.
local function measure(t, launch, saved, all)
  local function time(c)
    launch.group = c.group
    local event = C.call(t.kernel, "launch", launch, unpack(t, 1, t.n))
    C.call(event, "wait")
    local ns = C.call(event, "time").kernel_ns
    restore_all(saved)
    return ns
  end
  for _, c in ipairs(all) do time(c) end
  local started = C.now()
  for round = 1, ROUNDS do
    if round > LEAST_ROUNDS and round % 2 == 0 and
      C.now() - started > BUDGET_NS then
      break
    end
    for i = 1, #all do
      -- Each round starts with a different size.
      local c = all[(i + round - 2) % #all + 1]
      if c.live then c.times[#c.times + 1] = time(c) end
    end
    if round == 1 then
      local best = math.maxinteger
      for _, c in ipairs(all) do best = math.min(best, c.times[1]) end
      for i, c in ipairs(all) do
        c.live = i == 1 or c.times[1] // HOPELESS <= best
      end
    end
  end
end

-- Returns a candidate for the report.
local function result(c)
  return {group = {unpack(c.group)}, ns = c.ns, rounds = #c.times}
end

-- The fastest comes first; candidates that were timed only once come last.
local function is_before(a, b)
  local once_a, once_b = #a.times == 1, #b.times == 1
  if once_a ~= once_b then return once_b end
  return a.ns < b.ns
end

-- Returns a metatable that prints a kernel's report.
local function printed(name)
  return {__name = "lze tune", __tostring = function(r)
    local lines = {
      format("%s: %s, %.1f us%s", name, concat(r.group, "x"), r.ns / 1e3,
        r.stored and "" or "; not kept: there is no cache"),
      "group               us   times  rounds"
    }
    for _, c in ipairs(r.results) do
      lines[#lines + 1] = format("%-12s %9.1f %7.2f %7d", concat(c.group, "x"),
        c.ns / 1e3, c.ns / r.ns, c.rounds)
    end
    return concat(lines, "\n")
  end}
end

local functions = {}

-- lze.tune(k, range | launch_table, ...)
function functions.tune(k, range, ...)
  local launch = launch_of(range)
  local t = C.check(k, launch, ...)
  if t.empty then
    error(format("lze.tune: %s: an empty range runs nothing", t.name), 0)
  end
  local all = candidates(t)
  local saved = save_all(t, launch.uses)
  -- The buffers are restored even after an error.
  local ok, err = C.pcall(measure, t, launch, saved, all)
  restore_all(saved)
  if not ok then C.raise(err) end
  for _, c in ipairs(all) do
    sort(c.times)
    c.ns = c.times[#c.times // 2 + 1]
  end
  local usual = all[1]
  sort(all, is_before)
  local best = all[1]
  if usual.ns <= best.ns * NOISE then best = usual end
  local report = result(best)
  report.stored = C.keep(t.kernel, t.input, best.group)
  report.results = {}
  for i, c in ipairs(all) do report.results[i] = result(c) end
  return setmetatable(report, printed(t.name))
end

return functions
