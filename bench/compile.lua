-- compile.lua - what it costs to get a kernel ready, caches empty and full.
-- SPDX-License-Identifier: MIT
--
-- Run by bench/clocks.c, which provides the clock.  The steps are timed in a
-- process whose caches (lze's and PoCL's) are empty, then in a process that
-- finds the first one's results there, then once more in that one.  Medians of
-- the rounds are shown, in milliseconds.

package.path = "bench/lib/?.lua;" .. package.path
local stats = require "stats"
local now, clocks = _G.now, _G.clocks -- luacheck: ignore

local what = ... or "5"

local steps = {
  {"lze.compile of OpenCL C, one kernel", "compile"},
  {"lze.load of saxpy.spv", "load"},
  {"lze.load of matmul.spv, two kernels", "load_more"},
  {"first launch of saxpy, groups of 64", "launch"},
  {"first in groups of 128", "other_group"},
}

-- Prints the milliseconds of each step, twice.
local function measure()
  local lze = require "lze"
  local x = lze.buffer("float", 1024):fill(1)
  local y = lze.buffer("float", 1024):fill(1)
  local m
  lze.wait()
  local file <close> = assert(io.open "kernels/saxpy.cl")
  local source = file:read "a":gsub("saxpy", "other") -- not the file's
  local function launch(group)
    m.saxpy:launch({1024, group = group}, 2, x, y):wait()
  end
  local ways = {
    compile = function() lze.compile(source) end,
    load = function() m = lze.load "kernels/saxpy.spv" end,
    load_more = function() lze.load "kernels/matmul.spv" end,
    launch = function() launch(64) end,
    other_group = function() launch(128) end,
  }
  for _ = 1, 2 do
    for _, step in ipairs(steps) do
      local before = now()
      ways[step[2]]()
      print(step[2], (now() - before) / 1e3)
    end
  end
end

if what == "measure" then
  measure()
  return
end

local rounds = math.tointeger(tonumber(what))
if not rounds or rounds < 1 then
  error("the number of rounds is a positive integer, not " .. what, 0)
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Returns milliseconds by step, of the first time and of the second.
local function run(directory)
  local pipe = assert(io.popen(("env XDG_CACHE_HOME=%s POCL_CACHE_DIR=%s %s " ..
    "bench/compile.lua measure"):format(quoted(directory .. "/lze"),
    quoted(directory .. "/pocl"), quoted(clocks))))
  local first, second = {}, {}
  for line in pipe:lines() do
    local name, ms = line:match "^(%S+)\t(%S+)$"
    if not name then error("what is measured says: " .. line) end
    local times = first[name] and second or first
    times[name] = tonumber(ms)
  end
  assert(pipe:close())
  return first, second
end

local times = {}
for _, step in ipairs(steps) do times[step[2]] = {{}, {}, {}} end
for _ = 1, rounds do
  local pipe = assert(io.popen "mktemp -d")
  local directory = pipe:read "l"
  pipe:close()
  local ok, empty = pcall(run, directory)
  local cached, again
  if ok then ok, cached, again = pcall(run, directory) end
  os.execute("rm -rf " .. quoted(directory))
  if not ok then error(cached or empty, 0) end
  for name, t in pairs(times) do
    table.insert(t[1], empty[name])
    table.insert(t[2], cached[name])
    table.insert(t[3], again[name])
  end
end

print(("%-40s %10s %10s %10s"):format("milliseconds, medians", "empty",
  "cached", "again"))
for _, step in ipairs(steps) do
  local t = times[step[2]]
  print(("%-40s %10.1f %10.2f %10.3f"):format(step[1], stats.median(t[1]),
    stats.median(t[2]), stats.median(t[3])))
end
