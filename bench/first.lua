-- first.lua - how long one waits at first: new modules, new ranges.
-- SPDX-License-Identifier: MIT
--
-- Run by bench/clocks.c, which has the clock.  Each round of modules and each
-- trace of ranges is a process with empty caches; what a second process finds
-- there is timed as well.  Medians and totals are shown, in milliseconds; the
-- traces with LZE_GROUP_LEARN=0, too, which always compiles a range's own size,
-- with `never`, and over the better of these two.

package.path = "bench/lib/?.lua;" .. package.path
local stats = require "stats"
local now, clocks = _G.now, _G.clocks -- luacheck: ignore

local what, which = ...
what = what or "20"

local function file_read(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read "a"
end

-- From bytes to a kernel; `name` takes the place of saxpy's.
local function timed_module(lze, bytes, name)
  local renamed = bytes:gsub("saxpy", name)
  local before = now()
  local kernel = lze.module(renamed)[name]
  return (now() - before) / 1e3, kernel
end

-- To the first element of a result, from a function of Lua and from the module
-- that another has become; a name makes either new.
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

-- 100 launches, each waited for.
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

-- What a process prints, as lists of milliseconds by name.
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

-- A trace takes up to half a minute where every range is compiled.
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

local ways = {"1", "0", "never"}
print(("\n%-34s %12s %12s %12s %8s"):format("100 launches: medians, and worst",
  "learned", "always", "never", "factor"))
for i, trace in ipairs(traces) do
  local totals, worst = {}, {}
  for round = 1, trace_rounds do
    for w, way in ipairs(ways) do
      with_directory(function(directory)
        local times = run(directory, "ranges " .. i, "LZE_GROUP_LEARN=" .. way)
        totals[w] = totals[w] or {}
        totals[w][round] = times.total[1]
        worst[w] = math.max(worst[w] or 0, times.worst[1])
      end)
    end
  end
  local row = {}
  for w = 1, #ways do
    totals[w] = stats.median(totals[w])
    row[w] = ("%.0f (%.0f)"):format(totals[w], worst[w])
  end
  print(("%-34s %12s %12s %12s %8.2f"):format(trace[1], row[1], row[2], row[3],
    totals[1] / math.min(totals[2], totals[3])))
end
