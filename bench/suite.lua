-- suite.lua - what group sizes come to, kernel by kernel and shape by shape.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/suite.lua [OPTION...]        (make bench BENCH="OPTION...")
--
--   --quick           about 4 minutes: two shapes a kernel, a small search
--   --device S        a selector, as for lze.device
--   --filter PATTERN  only cases whose kernel and shape, as in "saxpy 61",
--                     match the Lua pattern
--   --rounds N        at most N interleaved rounds (15; --quick: 7)
--   --seconds N       about N seconds per case (60; --quick: 2), but at least
--                     three rounds
--   --out DIR         directory of results.json and plot.svg (bench-results);
--                     cases already in it are not measured again
--   --list            print the cases and exit
--
-- For each case every policy's group and the groups of a search are launched in
-- interleaved rounds; the time is the device's own, from the first work-item to
-- the last, including edges.  The first launch of each is not timed.  Every
-- configuration's whole result is compared with the first one's, and that one,
-- on a slice, with plain Lua.

local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/lib/?.lua;" .. package.path
local lze = require "lze"
local json, stats = require "json", require "stats"
local search, svg = require "search", require "svg"
local oneapi_jl, tiled = require "oneapi_jl", require "tiled"

-- Options ---------------------------------------------------------------------

-- Reports a wrong command line; exits with status 2.
local function usage(message)
  io.stderr:write("suite.lua: ", message, "\n")
  os.exit(2, true)
end

local options = {out = "bench-results"}
do
  local flags = {quick = true, list = true}
  local values = {device = true, filter = true, rounds = true, seconds = true,
    out = true}
  local i = 1
  while arg[i] do
    local name = arg[i]:match "^%-%-(%a+)$"
    if flags[name] then
      options[name] = true
    elseif values[name] then
      i = i + 1
      options[name] = arg[i] or usage(arg[i - 1] .. " needs a value")
    else
      usage("unknown option " .. arg[i] .. " (known: --quick --device --filter "
        .. "--rounds --seconds --out --list)")
    end
    i = i + 1
  end
end
local most_rounds = math.tointeger(tonumber(options.rounds or
  (options.quick and 7 or 15))) or usage "--rounds needs a whole number"
if most_rounds < 3 then usage "--rounds needs at least 3" end
-- Seconds for the rounds of a case, and groups of a search.
local budget = tonumber(options.seconds or (options.quick and 2 or 60))
  or usage "--seconds needs a number"
local search_limit = options.quick and 6 or nil

local device = lze.device(tonumber(options.device) or options.device)
lze.default(device)

-- The last one is not a policy of lze: bench/lib/oneapi_jl.lua has its rule.
local policies = {"lze", "driver", "largest", "tornado", "oneapi.jl"}

-- Cases -----------------------------------------------------------------------

local cases = {}
local b = {buffer = lze.buffer, tiled = tiled.buffer}
local PERIOD <const> = tiled.PERIOD

-- Returns the slice for x of n elements: up to m of its first and last
-- elements, f(i) counting from 0.
function b.ends(x, n, m, f)
  local first = math.min(n, m // 2)
  local last = math.max(first, n - m // 2)
  return {
    of = n, items = first + n - last,
    lua = function()
      local t = {}
      for i = 0, first - 1 do t[i + 1] = f(i) end
      for i = last, n - 1 do t[#t + 1] = f(i) end
      return t
    end,
    device = function()
      local t = x:read(1, first)
      if last < n then
        table.move(x:read(last + 1, n), 1, n - last, first + 1, t)
      end
      return t
    end,
  }
end

-- Returns the slice for a 32-bit sum over n elements that repeat after
-- `period`.
function b.total(x, n, period, at)
  return {
    of = n, items = math.min(n, period),
    lua = function()
      local whole, rest = 0, 0
      for i = 0, math.min(n, period) - 1 do
        whole = whole + at(i)
        if i < n % period then rest = rest + at(i) end
      end
      local sum = n < period and whole or n // period * whole + rest
      return {(sum + (1 << 31) & 0xffffffff) - (1 << 31)}
    end,
    device = function() return x:read() end,
  }
end

function b.lengths(list)
  local shapes = {}
  for i, s in ipairs(list) do
    shapes[i] = {kind = s[1], label = tostring(s[2]), s[2]}
  end
  return shapes
end

function b.areas(list)
  local shapes = {}
  for i, s in ipairs(list) do
    shapes[i] = {kind = s[1], label = s[2] .. "x" .. s[3], s[2], s[3]}
  end
  return shapes
end

function b.blocks(list)
  local shapes = {}
  for i, s in ipairs(list) do
    shapes[i] = {kind = s[1], label = table.concat(s, "x", 2), s[2], s[3],
      s[4]}
  end
  return shapes
end

-- With --quick, adds the first shape and the first awkward one only.
function b.case(case)
  for i, shape in ipairs(case.shapes) do
    local key = case.name .. " " .. shape.label
    if (not options.quick or i <= 2)
      and (not options.filter or key:find(options.filter)) then
      cases[#cases + 1] = setmetatable({shape = shape}, {__index = case})
    end
  end
end

for _, name in ipairs {"vector", "image", "number", "matrix", "space", "cells",
  "mixed"} do
  dofile(here .. "/cases/" .. name .. ".lua")(b)
end
if options.list then
  for _, case in ipairs(cases) do
    print(case.name, case.shape.label, case.shape.kind, case.bound)
  end
  os.exit(true, true)
end

-- One case --------------------------------------------------------------------

local modules = {}
local function load(path)
  modules[path] = modules[path] or lze.load(here .. "/../" .. path)
  return modules[path]
end

local properties = device:properties()
local max_sizes = {properties.max_group_size_x or device.max_group_size,
  properties.max_group_size_y or device.max_group_size,
  properties.max_group_size_z or device.max_group_size}

-- Returns a launch's range as a table, with the fields of `with` added.
local function extended(global, with)
  local t = {}
  for key, value in pairs(with) do t[key] = value end
  if type(global) ~= "table" then
    t[1] = global
    return t
  end
  for key, value in pairs(global) do t[key] = value end
  return t
end

-- Does the same; oneAPI.jl's rule sets a group, unless lze refuses that group.
local function launch_table(k, global, with)
  if with.policy ~= "oneapi.jl" then return extended(global, with) end
  local range = type(global) == "table" and global or {global}
  local launch = extended(global, {group = oneapi_jl.group(range,
    {most = k.max_group_size, sizes = max_sizes, spill = k.spill_bytes})})
  return pcall(k.group, k, launch) and launch or extended(global, {})
end

-- Returns the seconds of device work in all launches of a case, and the seconds
-- from the first call to the end.
local function run(work, with)
  local events = {}
  if work.reset then work.reset() end
  work.launch(function(k, global, ...)
    events[#events + 1] = k:launch(launch_table(k, global, with), ...)
  end)
  local ns, first, last = 0, nil, nil
  for _, event in ipairs(events) do
    local time = event:time()
    ns = ns + time.end_ns - time.start_ns
    first, last = first or time.queued_ns, time.end_ns
  end
  return ns / 1e9, (last - first) / 1e9
end

-- Returns a policy's launches as a word: equal words mean equal launches, which
-- need not be measured twice.
local function configuration(work, policy)
  local words = {}
  work.launch(function(k, global)
    words[#words + 1] = ("%dx%dx%d"):format(k:group(
      launch_table(k, global, {policy = policy})))
  end)
  return words[1], table.concat(words, " ")
end

local function same(a, expected, tolerance, scale)
  for i, v in ipairs(expected) do
    local w = a[i]
    local error_bound = tolerance * math.max(math.abs(v), scale)
    if w == nil or math.abs(v - w) > error_bound then
      return false, ("element %d is %s, not %s"):format(i, w, v)
    end
  end
  return true
end

local function check_outputs(work, reference, what)
  for i, x in ipairs(work.outputs) do
    local bytes = x:string()
    if not reference[i] then
      reference[i] = bytes
    elseif bytes ~= reference[i] then
      local before = lze.buffer(x.type, reference[i])
      local scalar = x.type:match "^%a+"
      local now = x:view(1, #x, scalar)
      before = before:view(1, #before, scalar)
      for at = 1, #now, PERIOD do
        local to = math.min(at + PERIOD - 1, #now)
        local ok, why = same(now:read(at, to), before:read(at, to),
          work.tolerance or 1e-5, work.scale or 1)
        if not ok then error(what .. ": " .. why, 0) end
      end
    end
  end
end

-- Runs the launches in C on one thread: the kernels' own source, see
-- baseline.c.
local has_baseline, baseline = pcall(require, "bench.baseline")

local function c_seconds(work)
  if not has_baseline or work.c == false then return end
  local function go(k, global, ...)
    local arguments = {...}
    for i, v in ipairs(arguments) do
      arguments[i] = lze.type(v) == "buffer" and v.pointer or v
    end
    local gx, gy, gz = global, 1, 1
    if type(global) == "table" then
      gx, gy, gz = global[1], global[2] or 1, global[3] or 1
    end
    return baseline(k, gx, gy, gz, table.unpack(arguments))
  end
  local times = {}
  for i = 1, options.quick and 1 or 3 do
    if work.reset then work.reset() end
    lze.wait()
    local start = os.clock()
    if work.c then
      go(work.c, work.c_range, table.unpack(work.c_arguments))
    else
      work.launch(function(k, ...) go(k.name, ...) end)
    end
    times[i] = os.clock() - start
  end
  return stats.median(times)
end

local function measure(case)
  local module = load(case.module)
  local k = module[case.kernel]
  local work = case.make(k, table.unpack(case.shape))
  local configs, by_key, chosen, first_group = {}, {}, {}, {}

  local function add(key, launch_with, group)
    if not by_key[key] then
      local config = {key = key, with = launch_with, group = group, times = {}}
      by_key[key] = config
      configs[#configs + 1] = config
    end
    return by_key[key]
  end

  if case.fixed then
    chosen.given = add("given", {}, "given")
  else
    for _, policy in ipairs(policies) do
      local group, key = configuration(work, policy)
      chosen[policy] = add(key, {policy = policy}, group)
      first_group[policy] = group
    end
    local range
    work.launch(function(_, global)
      range = range or (type(global) == "table" and global or {global})
    end)
    local splits = pcall(k.group, k, {2 * range[1] + 1, group = 2})
    local tried = search.groups(range, k.max_group_size, max_sizes, not splits,
      search_limit)
    for _, g in ipairs(tried) do
      add(("%dx%dx%d"):format(table.unpack(g)), {group = g},
        ("%dx%dx%d"):format(table.unpack(g)))
    end
  end

  -- The first launch of each compiles; the second is the first sample.
  local reference, first_ms = {}, nil
  for _, config in ipairs(configs) do
    local _, wall = run(work, config.with)
    first_ms = first_ms or wall * 1e3
    check_outputs(work, reference, "in groups of " .. config.group)
    config.median = (run(work, config.with)) -- of one sample so far
  end

  local wanted = {}
  for _, config in pairs(chosen) do wanted[config] = true end
  local kept = configs

  local function by_median(one, other) return one.median < other.median end

  -- Drops configurations, except policies' choices, that took more than `most`
  -- times as long as the best, or that rank below `places`.
  local function drop(most, places)
    local left = {}
    table.sort(kept, by_median)
    for i, config in ipairs(kept) do
      if wanted[config] or
        config.median <= most * kept[1].median and i <= places then
        left[#left + 1] = config
      end
    end
    kept = left
  end

  local function round()
    stats.shuffle(kept)
    for _, config in ipairs(kept) do
      config.times[#config.times + 1] = (run(work, config.with))
    end
  end

  -- Runs `least` to `most` rounds, within half of the case's time.
  local function rounds(most, least)
    local seconds = 0
    for _, config in ipairs(kept) do
      seconds = seconds + config.median + 5e-5
    end
    local count = math.max(least,
      math.min(most, math.floor(budget / 2 / seconds)))
    for _ = 1, count do round() end
    if count == 0 then return 0 end
    for _, config in ipairs(kept) do
      config.median = stats.median(config.times)
    end
    return count
  end

  -- Rounds of all candidates for the best, then of the closest; the fastest of
  -- these is the search's result.  It is fastest partly by chance, so the
  -- comparison uses new rounds of it and the policies' choices alone.
  drop(3, #kept)
  rounds(3, options.quick and 0 or 3)
  drop(1.2, #kept)
  rounds(most_rounds - 3, options.quick and 0 or 3)
  drop(1, 1)
  local fastest = kept[1]
  for _, config in ipairs(kept) do config.times = {} end
  local final_rounds = rounds(most_rounds, 3)

  -- Plain Lua, on the slice.
  run(work, fastest.with)
  local slice = work.slice
  local start = os.clock()
  local expected = slice.lua()
  local lua = (os.clock() - start) * slice.of / slice.items
  local ok, why = same(slice.device(), expected, work.tolerance or 1e-5,
    work.scale or 1)
  if not ok then error("against plain Lua: " .. why, 0) end

  local result = {
    name = case.name, shape = case.shape.label, kind = case.shape.kind,
    bound = case.bound, judged = case.judged or false,
    rounds = final_rounds, tried = {},
    best_ms = fastest.median * 1e3, best_group = fastest.group,
    gigabytes_per_second = work.bytes / fastest.median / 1e9,
    gigaoperations_per_second = work.operations / fastest.median / 1e9,
    lua_ms = not case.uneven and lua * 1e3 or nil, first_ms = first_ms,
  }
  for i, config in ipairs(configs) do
    result.tried[i] = {group = config.group,
      ms = config.median * 1e3, rounds = #config.times}
  end
  local c = c_seconds(work)
  if c then result.c_ms = c * 1e3 end
  if not case.fixed then
    result.ratio, result.low, result.high, result.least = {}, {}, {}, {}
    result.group, result.ms = first_group, {}
    local least = math.min(table.unpack(fastest.times))
    for policy, config in pairs(chosen) do
      local ratio, low, high = stats.ratio(fastest.times, config.times)
      result.ratio[policy], result.low[policy], result.high[policy] =
        ratio, low, high
      result.least[policy] = least / math.min(table.unpack(config.times))
      result.ms[policy] = config.median * 1e3
    end
  end
  for _, x in ipairs(work.outputs) do x:close() end
  return result
end

-- All cases -------------------------------------------------------------------

local function read_results(path)
  local file = io.open(path, "rb")
  if not file then return {} end
  local text = file:read "a"
  file:close()
  return json.decode(text).cases
end

local function write_file(path, text)
  local file <close> = assert(io.open(path .. ".new", "wb"))
  assert(file:write(text))
  assert(file:close())
  assert(os.rename(path .. ".new", path))
end

os.execute(("mkdir -p '%s'"):format(options.out:gsub("'", "'\\''")))
local results_path = options.out .. "/results.json"
local results = read_results(results_path)
local done = {}
for _, r in ipairs(results) do done[r.name .. " " .. r.shape] = r end

local driver = device.driver
local machine = {
  device = device.name, type = device.type, driver = driver.name,
  driver_version = driver.version, api = driver.api, lze = lze._VERSION,
  compute_units = device.compute_units, quick = options.quick or false,
  date = os.date "!%Y-%m-%d",
}

local function save()
  write_file(results_path, json.encode {machine = machine, cases = results})
  write_file(options.out .. "/plot.svg",
    svg.plot("part of the search's best, " .. device.name, results, policies))
end

if #cases == 0 then usage "no case matches --filter" end
print(("%s, %s; %d cases, at most %d rounds"):format(device.name, lze._VERSION,
  #cases, most_rounds))
local format = "%-15s %-13s %9s %7s %8s"
local header = format:format("kernel", "shape", "best ms", "GB/s", "Gop/s")
for _, policy in ipairs(policies) do
  header = header .. ("%10s"):format(policy)
end
print(header .. ("%9s%9s  %s"):format("C", "Lua", "best group, lze's group"))

local function show(r)
  local line = format:format(r.name, r.shape, ("%.4g"):format(r.best_ms),
    ("%.3g"):format(r.gigabytes_per_second),
    ("%.3g"):format(r.gigaoperations_per_second))
  for _, policy in ipairs(policies) do
    local ratio = r.ratio and r.ratio[policy]
    line = line .. ("%10s"):format(ratio and ("%.2f"):format(ratio) or "-")
  end
  line = line .. ("%9s%9s  %s, %s"):format(
    r.c_ms and ("%.3gx"):format(r.c_ms / r.best_ms) or "-",
    r.lua_ms and ("%.3gx"):format(r.lua_ms / r.best_ms) or "-", r.best_group,
    r.group and r.group.lze or "given")
  print(line)
  io.stdout:flush()
end

local failures = {}
local begun, count = os.time(), 0
for i, case in ipairs(cases) do
  local key = case.name .. " " .. case.shape.label
  local result = done[key]
  if not result then
    io.stderr:write(("\r[%d of %d, %d s] %s          \r"):format(i, #cases,
      os.time() - begun, key))
    local ok, value = pcall(measure, case)
    collectgarbage()
    if ok then
      result = value
      results[#results + 1] = value
      save()
    else
      failures[#failures + 1] = key .. ": " .. tostring(value)
    end
  end
  if result then
    show(result)
    count = count + 1
  else
    print(failures[#failures])
  end
end

-- Prints for each policy, over cases that `keep` accepts, the geometric mean
-- and the worst of the share of the best that it reaches, by `field` of the
-- results.
local function summary(field, title, keep)
  local line, any = ("%-60s"):format(title), false
  for _, policy in ipairs(policies) do
    local ratios = {}
    for _, r in ipairs(results) do
      if r[field] and r[field][policy] and keep(r) then
        ratios[#ratios + 1] = r[field][policy]
      end
    end
    any = any or #ratios > 0
    line = line .. ("%18s"):format(#ratios > 0
      and ("%.3f (%.2f)"):format(stats.geometric_mean(ratios),
        math.min(table.unpack(ratios))) or "-")
  end
  if any then print(line) end
end

local awkward = {prime = true, odd = true, lopsided = true}

local function summaries(field, title)
  print(("\n%-60s"):format(title)
    .. ("%18s"):rep(#policies):format(table.unpack(policies)))
  summary(field, "all", function() return true end)
  summary(field, "over 0.2 ms", function(r) return r.best_ms > 0.2 end)
  summary(field, "memory-bound, prime, odd or lopsided",
    function(r) return r.bound == "memory" and awkward[r.kind] end)
  summary(field, "compute-bound", function(r) return r.bound == "compute" end)
  for _, judged in ipairs {false, true} do
    summary(field, "kernels that the rule is " ..
      (judged and "judged on" or "developed on"),
      function(r) return r.judged == judged end)
    summary(field, "those, over 0.2 ms",
      function(r) return r.judged == judged and r.best_ms > 0.2 end)
  end
end
-- Other load on a machine only adds to a time: the least times show what a
-- group can do.
summaries("ratio", "geometric mean of best / policy (and its worst)")
summaries("least", "the same by the least times of the rounds")

-- Prints the cases over 0.2 ms whose intervals show that `policy` was faster.
local function faster(policy)
  local list = {}
  for _, r in ipairs(results) do
    if r.ratio and r.best_ms > 0.2 and r.high.lze < r.low[policy] then
      list[#list + 1] = ("%s %s (%.2f)"):format(r.name, r.shape,
        r.ratio.lze / r.ratio[policy])
    end
  end
  print(("\nslower by lze's choice than by %s's, beyond the intervals: %s")
    :format(policy, #list > 0 and table.concat(list, ", ") or "none"))
end
faster "driver"
faster "tornado"

print(("\n%d cases, %d s; %s and plot.svg beside it"):format(count,
  os.time() - begun, results_path))
if #failures > 0 then
  print(#failures .. " failed:")
  for _, f in ipairs(failures) do print("  " .. f) end
  os.exit(1, true)
end
