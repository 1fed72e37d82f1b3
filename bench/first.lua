-- first.lua - how long one waits at first: new modules, new ranges.
-- SPDX-License-Identifier: MIT
--
-- Run by bench/clocks.c, which provides the clock.  Each round of modules and
-- each trace of ranges is a process with empty caches; a second process that
-- uses these caches is timed, too.  Medians and totals are shown, in
-- milliseconds.
--
-- For each trace it also shows the number of kernel forms that PoCL compiled.
-- If BASE names the build directory of another lze, that lze runs the same
-- traces in turns with this one; BASE_ENV has settings for it, as in
-- NAME=VALUE.

package.path = "bench/lib/?.lua;" .. package.path
local stats = require "stats"
local now, clocks = _G.now, _G.clocks -- luacheck: ignore

local what, which = ...
what = what or "20"

local function file_read(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read "a"
end

-- Returns the time from bytes to a kernel; `name` replaces saxpy's name.
local function timed_module(lze, bytes, name)
  local renamed = bytes:gsub("saxpy", name)
  local before = now()
  local kernel = lze.module(renamed)[name]
  return (now() - before) / 1e3, kernel
end

-- Times the first element of a result, from a Lua function and from the module
-- that another one became; the name makes either new.
local function results(lze)
  local x = lze.buffer("float", 1024):fill(1)
  local y = lze.buffer("float", 1024)
  local function saxpy(name)
    return lze.kernel(function(i, a, from, to) to[i] = a * from[i] + 7.0 end,
      {name = name})
  end
  local function timed(way, get, name)
    y:fill(0)
    lze.wait()
    local before = now()
    get(name)(1024, 2.0, x, y)
    local first = y[1]
    print(way, (now() - before) / 1e3)
    assert(first == 9.0)
  end
  local bytes = saxpy "saxpy":spirv(1024, 2.0, x, y)
  local function module(name)
    return lze.module((bytes:gsub("saxpy", name)))[name]
  end
  for _, letter in ipairs {"a", "b", "c"} do
    timed("module", module, "mod" .. letter .. "_")
    timed("lua", saxpy, "lua" .. letter .. "_")
  end
end

local function modules(first)
  local lze = require "lze"
  lze.info()
  local bytes = file_read "kernels/saxpy.spv"
  print("first", (timed_module(lze, bytes, first)))
  for _, name in ipairs {"other", "third", "forth"} do
    print("warm", (timed_module(lze, bytes, name)))
  end
  print("again", (timed_module(lze, bytes, "other")))
  results(lze)
end

local traces = {
  {"one range of 1,000,003", function() return 1000003 end},
  {"one range of 3000", function() return 3000 end},
  {"one range of 65", function() return 65 end},
  {"one range of 1000x1000", function() return {1000, 1000} end},
  {"one range of 997x991", function() return {997, 991} end},
  {"two in turns, large", function(i) return i % 2 == 0 and 777777 or 600011
  end},
  {"two in turns, small", function(i) return i % 2 == 0 and 100 or 77 end},
  {"two in turns, of two dimensions", function(i)
    return i % 2 == 0 and {640, 480} or {320, 240}
  end},
  {"three in turns", function(i) return 10007 * (1 + i % 3) end},
  {"growing by one from 1", function(i) return i end},
  {"growing by one from 100,000", function(i) return 100000 + i end},
  {"growing by one, of two dimensions", function(i) return {300 + i, 200 + i}
  end},
  {"growing by 64", function(i) return 64 * i end},
  {"random to 3000", function() return math.random(3000) end},
  {"random to 2^20", function() return math.random(1 << 20) end},
  {"random to 1000x1000", function()
    return {math.random(1000), math.random(1000)}
  end},
  {"random to 100x100x100", function()
    return {math.random(100), math.random(100), math.random(100)}
  end},
  {"powers of two", function(i) return 1 << i % 21 end},
  {"halves of 1,000,003", function(i) return 1000003 >> i % 20 end},
  {"a graph, then launches", function(i) return 4096 * (i % 5 + 1) end},
}

-- Returns the number of kernel forms in PoCL's cache; other drivers do not
-- compile for a range.
local function compiled()
  local pipe = assert(io.popen("find \"$POCL_CACHE_DIR\" -name '*.so' " ..
    "! -name 'tempfile*' | wc -l"))
  local count = pipe:read "n"
  pipe:close()
  return count
end

-- Runs 100 launches, and waits for each.
local function ranges(index)
  local lze = require "lze"
  local k = lze.compile([[
    kernel void add(global float *a) {
      size_t x = get_global_id(0), y = get_global_id(1);
      a[(get_global_id(2) * 100 + y) * 1000 % 1000000 + x] += 1.0f;
    }]]).add
  local a = lze.buffer("float", 1 << 21):fill(0)
  lze.wait()
  math.randomseed(20)
  local before_all = compiled() -- the fill is a kernel, too
  local first, worst = now(), 0
  for i = 1, 100 do
    local range, before = traces[index][2](i), now()
    if index == #traces and i == 1 then
      local g = lze.graph "trace"
      g:task("add", k, 20480, a)
      g:compile():run()
    else
      k(range, a)
    end
    lze.wait()
    worst = math.max(worst, now() - before)
  end
  print("total", (now() - first) / 1e3)
  print("worst", worst / 1e3)
  print("compiled", compiled() - before_all)
end

if what == "modules" then
  modules(which)
  return
elseif what == "ranges" then
  ranges(math.tointeger(tonumber(which)))
  return
end

local rounds = math.tointeger(tonumber(what))
if not rounds or rounds < 1 then
  error("the number of rounds is a positive integer, not " .. what, 0)
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Returns a process's output as lists of milliseconds by name.
local function run(directory, part, variables)
  local pipe = assert(io.popen(("env XDG_CACHE_HOME=%s POCL_CACHE_DIR=%s %s " ..
    "%s bench/first.lua %s"):format(quoted(directory .. "/lze"),
    quoted(directory .. "/pocl"), variables, quoted(clocks), part)))
  local times = {}
  for line in pipe:lines() do
    local name, ms = line:match "^(%S+)\t(%S+)$"
    if not name then error("what is measured says: " .. line, 0) end
    times[name] = times[name] or {}
    table.insert(times[name], tonumber(ms))
  end
  assert(pipe:close())
  return times
end

-- Calls f with a directory that is removed afterwards.
local function with_directory(f)
  local pipe = assert(io.popen "mktemp -d")
  local directory = pipe:read "l"
  pipe:close()
  local ok, message = pcall(f, directory)
  os.execute("rm -rf " .. quoted(directory))
  if not ok then error(message, 0) end
end

-- Traces differ by whole compilations, so a few rounds suffice.
local trace_rounds = math.min(rounds, 3)

local all = {first = {}, second = {}, warm = {}, again = {}, known = {},
  module = {}, lua = {}, module_known = {}, lua_known = {}}
local function keep(name, times)
  table.move(times, 1, #times, #all[name] + 1, all[name])
end
for _ = 1, rounds do
  with_directory(function(directory)
    local new = run(directory, "modules first", "")
    for _, name in ipairs {"first", "warm", "again", "module", "lua"} do
      keep(name, new[name])
    end
    local known = run(directory, "modules first", "")
    keep("known", known.first)
    keep("module_known", known.module)
    keep("lua_known", known.lua)
    keep("second", run(directory, "modules sixth", "").first)
  end)
end
local function show(title, rows)
  print(title)
  for _, row in ipairs(rows) do
    print(("%-40s %10.2f"):format(row[1], stats.median(all[row[2]])))
  end
end
show("a module, from bytes to a kernel: medians of " .. rounds .. " rounds", {
  {"new, the first of the machine", "first"},
  {"new, the first of a process", "second"}, {"new, later", "warm"},
  {"known, in the same process", "again"},
  {"known, the first of a process", "known"},
})
show("\nto the first element of a result", {
  {"a new module", "module"}, {"a new function of Lua", "lua"},
  {"a known module, in a new process", "module_known"},
  {"a known function of Lua, the same", "lua_known"},
})

-- The variants that run the traces: a title and settings for `env`.
local ways = {{"lze", ""}}
do
  local base, settings = os.getenv "BASE" or "", os.getenv "BASE_ENV" or ""
  if base ~= "" then
    local module <close> = io.open(base .. "/lze.so") or
      error("BASE: there is no lze.so in " .. base, 0)
    assert(module)
    ways[2] = {"base", "LUA_CPATH=" .. quoted(base .. "/?.so") .. " " ..
      settings}
  end
end

local header = ("%-37s"):format "100 launches: median (longest launch)"
for _, way in ipairs(ways) do
  header = header .. ("%14s %9s"):format(way[1], "compiled")
end
print("\n" .. header .. (ways[2] and "   lze / base" or ""))
for i, trace in ipairs(traces) do
  local totals, worst, count = {}, {}, {}
  for w in ipairs(ways) do totals[w], worst[w], count[w] = {}, 0, 0 end
  for round = 1, trace_rounds do
    for w, way in ipairs(ways) do
      with_directory(function(directory)
        local times = run(directory, "ranges " .. i, way[2])
        totals[w][round] = times.total[1]
        worst[w] = math.max(worst[w], times.worst[1])
        count[w] = math.max(count[w], times.compiled[1])
      end)
    end
  end
  local line = ("%-37s"):format(trace[1])
  for w in ipairs(ways) do
    totals[w] = stats.median(totals[w])
    line = line .. ("%14s %9d"):format(
      ("%.0f (%.0f)"):format(totals[w], worst[w]), count[w])
  end
  if ways[2] then
    line = line .. ("%13.2f"):format(totals[1] / totals[2])
  end
  print(line)
  io.stdout:flush()
end
