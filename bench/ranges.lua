-- ranges.lua - lze's group sizes beside a search, on kernels of many kinds.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/ranges.lua HALF [ROUNDS [PATTERN]]
--
-- HALF is "tuned", the kernels on which lze's rule may be developed;
-- "held-out", the kernels that only judge it; "all"; or "list", which names
-- the cases.  ROUNDS (9) is the least number of rounds in which two groups are
-- compared.  With PATTERN, a Lua pattern, only cases run whose kernel and
-- shape, as in "grey 13x3", match it.
--
-- Each kernel has three ranges.  lze first launches all of them in its own
-- groups, one after the other, as a program with several shapes does.  Then,
-- for each range, a search launches the same kernel, loaded a second time, in
-- groups that it sets explicitly: a coarse grid, then all neighbours of the
-- best group as long as one is faster.  The four best groups compete again; the
-- winner and lze's own group then alternate in new rounds.  The ratio is the
-- least time of these rounds divided by the least time of lze's choice: at most
-- 1.  A time is the device's own, from the first work-item to the last.

local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/lib/?.lua;" .. package.path
local lze = require "lze"
local stats, tiled = require "stats", require "tiled"
local neighbourhood = require "neighbourhood"

-- The halves were drawn with this seed before any case had been measured.
local SEED <const> = 20261201
-- A case that takes less than this is sampled by a burst of launches.
local SHORT <const> = 0.0002
local BURST <const> = 8
-- Seconds for the rounds of a pair, beyond the requested rounds.
local PAIR_SECONDS <const> = 0.4
-- Seconds after which a search tries no further neighbours.
local SEARCH_SECONDS <const> = 6

local function usage(message)
  io.stderr:write("ranges.lua: ", message, "\n")
  os.exit(2, true)
end

local half, rounds, pattern = arg[1], tonumber(arg[2] or "9"), arg[3] or ""
local known = {tuned = true, ["held-out"] = true, all = true, list = true}
if not known[half] then
  usage "which half? tuned, held-out, all or list expected"
end
if not math.tointeger(rounds) or rounds < 1 then
  usage "ROUNDS needs a positive integer"
end

-- Cases -----------------------------------------------------------------------

local b = {buffer = lze.buffer, tiled = tiled.buffer}

function b.byte(i) return i * 37 % 256 end

function b.float(low, high)
  return function(i) return low + i * 7919 % 10007 / 10007 * (high - low) end
end

function b.floats(n, low, high)
  return b.tiled("float", n, b.float(low, high))
end

function b.doubles(n, low, high)
  return b.tiled("double", n, b.float(low, high))
end

function b.ints(n, low, high)
  return b.tiled("int", n,
    function(i) return low + i * 7919 % (high - low + 1) end)
end

function b.bytes(n) return b.tiled("uchar", n, b.byte) end

local cases = {}
for _, file in ipairs {"grid", "items", "matrix", "written"} do
  -- Adds a case whose kernel is the one of this name in the file's module,
  -- unless the caller sets `f`, a function in Lua.  sizes: the largest group,
  -- for a kernel that has no room for a larger one.
  local function add(name, ranges, make, sizes)
    local case = {name = name, ranges = ranges, make = make, sizes = sizes,
      module = here .. "/kernels/ranges_" .. file .. ".spv"}
    cases[#cases + 1] = case
    return case
  end
  dofile(here .. "/ranges/" .. file .. ".lua")(add, b)
end
table.sort(cases, function(one, other) return one.name < other.name end)

math.randomseed(SEED)
do
  local order = {}
  for i = 1, #cases do order[i] = i end
  stats.shuffle(order)
  for i, place in ipairs(order) do
    cases[place].half = i <= #cases // 2 and "tuned" or "held-out"
  end
end

local function label(shape) return table.concat(shape, "x") end

if half == "list" then
  for _, case in ipairs(cases) do
    local shapes = {}
    for i, shape in ipairs(case.ranges) do shapes[i] = label(shape) end
    print(("%-9s %-17s %s"):format(case.half, case.name,
      table.concat(shapes, " ")))
  end
  os.exit(true, true)
end

-- Launches --------------------------------------------------------------------

local device = lze.device()

local function kernel_of(case)
  if case.f then return lze.kernel(case.f, {name = case.name}) end
  return lze.load(case.module)[case.name]
end

-- Returns the least time in seconds of `count` launches, one after the other.
local function sample(k, launch, arguments, count)
  local events, least = {}, math.huge
  for i = 1, count do
    events[i] = k:launch(launch, table.unpack(arguments))
  end
  for _, event in ipairs(events) do
    local time = event:time()
    least = math.min(least, time.end_ns - time.start_ns)
  end
  return least / 1e9
end

local function burst(seconds) return seconds < SHORT and BURST or 1 end

-- Raises an error if the buffer differs from the bytes by more than rounding:
-- a driver may compute exp differently in another group.
local function compare(x, reference, what)
  local bytes, size = x:string(), 1 << 16
  if bytes == reference then return end
  local scalar = x.type:match "^%a+"
  local now, before = lze.buffer(scalar, bytes), lze.buffer(scalar, reference)
  local each = now.bytes // #now
  for at = 1, #bytes, size do
    if bytes:sub(at, at + size - 1) ~= reference:sub(at, at + size - 1) then
      local first = (at - 1) // each + 1
      local last = math.min(first + size // each - 1, #now)
      local old = before:read(first, last)
      for i, v in ipairs(now:read(first, last)) do
        if math.abs(v - old[i]) > 1e-3 * math.max(1, math.abs(old[i])) then
          error(("%s: element %d is %s, not %s"):format(what, first + i - 1, v,
            old[i]), 0)
        end
      end
    end
  end
end

-- Launches once, which may compile, and compares what was computed.
local function first_launch(k, launch, work, what)
  for _, x in ipairs(work.outputs) do x:view(1, #x, "uchar"):fill(0) end
  k(launch, table.unpack(work.arguments))
  lze.wait()
  for i, x in ipairs(work.outputs) do
    if work.reference[i] then
      compare(x, work.reference[i], what)
    else
      work.reference[i] = x:string()
    end
  end
end

-- Search ----------------------------------------------------------------------

local properties = device:properties()

local function with_group(work, group)
  local launch = table.move(work.range, 1, #work.range, 1, {})
  launch.group = group
  return launch
end

-- Returns the groups with which a search found the kernel fastest, best first.
-- It launches k; `own`, the same kernel, tests which groups are legal.
local function search(own, k, case, work)
  local tried, found, least = {}, {}, math.huge
  local splits = pcall(own.group, own, {2 * work.range[1] + 1, group = 2})
  local sizes = {properties.max_group_size_x, properties.max_group_size_y,
    properties.max_group_size_z}
  for d, size in ipairs(case.sizes or {}) do
    sizes[d] = math.min(sizes[d], size)
  end
  local space = neighbourhood.new(work.range, {
    most = own.max_group_size, divide = not splits, sizes = sizes,
  })
  local stop = os.time() + SEARCH_SECONDS

  local function try(group)
    local key = label(group)
    if tried[key] then return end
    tried[key] = true
    local launch = with_group(work, group)
    if not pcall(own.group, own, launch) then return end
    first_launch(k, launch, work, case.name .. " in groups of " .. key)
    local seconds = sample(k, launch, work.arguments, 1)
    if seconds < 2 * least then
      for _ = 1, 2 do
        seconds = math.min(seconds, sample(k, launch, work.arguments,
          burst(seconds)))
      end
    end
    least = math.min(least, seconds)
    found[#found + 1] = {group = group, text = key, launch = launch,
      seconds = seconds}
  end
  local function sort()
    table.sort(found, function(one, other)
      return one.seconds < other.seconds
    end)
  end

  for _, group in ipairs(space:coarse()) do try(group) end
  sort()
  repeat
    local before = {found[1], found[2]}
    for _, candidate in ipairs(before) do
      for _, group in ipairs(space:near(candidate.group)) do try(group) end
    end
    sort()
  until found[1] == before[1] and found[2] == before[2] or os.time() > stop
  return found
end

-- Comparison ------------------------------------------------------------------

-- Launches all competitors, {k, launch, seconds}, in turns and leaves the least
-- time of each in its field `seconds`.
local function compete(list, arguments)
  local each = 0
  for _, one in ipairs(list) do each = each + one.seconds + 1e-4 end
  local count = burst(each / #list)
  local most = math.floor(PAIR_SECONDS / each / count)
  for _, one in ipairs(list) do one.seconds = math.huge end
  for _ = 1, math.max(rounds, math.min(most, 20 * rounds)) do
    stats.shuffle(list)
    for _, one in ipairs(list) do
      one.seconds = math.min(one.seconds,
        sample(one.k, one.launch, arguments, count))
    end
  end
end

local function measure(case, own, k, work)
  local found = search(own, k, case, work)
  local finalizts = {}
  for i = 1, math.min(4, #found) do
    found[i].k = k
    if found[i].seconds < 1.5 * found[1].seconds then
      finalizts[#finalizts + 1] = found[i]
    end
  end
  compete(finalizts, work.arguments)
  table.sort(finalizts, function(one, other)
    return one.seconds < other.seconds
  end)
  local best = finalizts[1]
  local chosen = {k = own, launch = work.range, seconds = best.seconds}
  compete({best, chosen}, work.arguments)
  local least = math.min(best.seconds, chosen.seconds)
  local gx, gy, gz = own:group(work.range)
  return {
    name = case.name, shape = work.shape, half = case.half,
    best = least, own = chosen.seconds, ratio = least / chosen.seconds,
    best_group = best.text,
    own_group = label(table.move({gx, gy, gz}, 1, #work.range, 1, {})),
    tried = #found,
  }
end

local function make(case, shape)
  local range, arguments, outputs = case.make(table.unpack(shape))
  if type(range) ~= "table" then range = {range} end
  return {shape = label(shape), range = range, arguments = arguments,
    outputs = outputs, reference = {}}
end

local format = "%-17s %-11s %9s %9s %6s  %-12s %-12s %5s"
print(("%s, %s; %s, at least %d rounds"):format(device.name, lze._VERSION, half,
  rounds))
print(format:format("kernel", "shape", "best ms", "lze ms", "ratio",
  "best group", "lze's group", "tried"))

local results, failures, begun = {}, 0, os.time()

local function wanted(case)
  local works = {}
  for _, shape in ipairs(case.ranges) do
    if (half == "all" or half == case.half) and
      (case.name .. " " .. label(shape)):find(pattern) then
      works[#works + 1] = make(case, shape)
    end
  end
  return works
end

local function show(case, work, ok, r)
  if ok then
    results[#results + 1] = r
    print(format:format(r.name, r.shape, ("%.4f"):format(1e3 * r.best),
      ("%.4f"):format(1e3 * r.own), ("%.2f"):format(r.ratio), r.best_group,
      r.own_group, r.tried))
  else
    failures = failures + 1
    print(("%-17s %-11s failed: %s"):format(case.name, work.shape, r))
  end
  io.stdout:flush()
end

for _, case in ipairs(cases) do
  local own, k, works = kernel_of(case), kernel_of(case), wanted(case)
  for _ = 1, 2 do
    for _, work in ipairs(works) do
      first_launch(own, work.range, work, case.name)
    end
  end
  for _, work in ipairs(works) do
    show(case, work, pcall(measure, case, own, k, work))
  end
  works = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
end
if #results + failures == 0 then usage "no case matches PATTERN" end

-- Prints the count, the geometric mean and the worst of results that `keep`
-- accepts.
local function summary(title, keep)
  local ratios, worst = {}, nil
  for _, r in ipairs(results) do
    if keep(r) then
      ratios[#ratios + 1] = r.ratio
      if not worst or r.ratio < worst.ratio then worst = r end
    end
  end
  if worst then
    print(("%-28s %5d %15.3f  %.2f %s %s"):format(title, #ratios,
      stats.geometric_mean(ratios), worst.ratio, worst.name, worst.shape))
  end
end

print(("\n%-28s %5s %15s  %s"):format("", "cases", "geometric mean", "worst"))
for _, name in ipairs {"tuned", "held-out"} do
  summary(name, function(r) return r.half == name end)
  summary(name .. ", above 0.2 ms", function(r)
    return r.half == name and r.best > 0.0002
  end)
end
print(("\n%d s"):format(os.time() - begun))
if failures > 0 then os.exit(1, true) end
