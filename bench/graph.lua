-- graph.lua - what a run of a plan costs beside launches one by one.
-- SPDX-License-Identifier: MIT
--
-- Run by bench/clocks.c, which provides the clocks.  The competitors take
-- turns, round by round, in one process; medians are shown, in microseconds.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local median = require "stats".median
local cpu, now = _G.cpu, _G.now -- luacheck: ignore

local rounds = tonumber((...)) or 101

local mod = lze.compile [[
  kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }
  kernel void work(global float *x, int n) {
    size_t i = get_global_id(0);
    float v = x[i];
    for (int k = 0; k < n; k++) v = v * 0.999f + 0.5f;
    x[i] = v; }]]

-- Returns the medians of each function's results, in turns.
local function compare(count, ...)
  local ways, samples = {...}, {}
  for w, f in ipairs(ways) do
    f() -- compiles, and warms up
    samples[w] = {}
  end
  for _ = 1, count do
    for w, f in ipairs(ways) do table.insert(samples[w], f()) end
  end
  for w in ipairs(ways) do samples[w] = median(samples[w]) end
  return table.unpack(samples)
end

-- Returns a function that measures a run of a plan.
local function timed(plan)
  return function()
    local before = now()
    plan:run()
    return now() - before
  end
end

local function row(what, a, b, most)
  print(("%-44s %10.1f %10.1f %7.3f %6s"):format(what, a, b, a / b,
    most or ""))
end

print(("%-44s %10s %10s %7s %6s"):format("", "plan", "other", "ratio", "most"))

-- Two branches on two devices: `make bench-graph` splits a CPU's cores into two
-- devices.
if (...) == "branches" then
  local devices, n = lze.devices(), 1 << 14
  assert(devices[2], "there is one device only")
  local x = {lze.buffer("float", n), lze.buffer("float", n)}
  local rounds_of_each = 500
  local function branches(serial)
    local g = lze.graph()
    for i = 1, 2 do
      g:task("b" .. i, mod.work, {n, device = devices[i],
        after = serial and i == 2 and "b1" or nil}, x[i], rounds_of_each)
    end
    return timed(g:compile())
  end
  repeat
    rounds_of_each = rounds_of_each * 2
    local serial = branches(true)
    serial() -- compiles
  until serial() > 300000
  local a, b = compare(7, branches(), branches(true))
  row(("two branches of %.0f ms: on two devices, serial"):format(b / 2e3), a,
    b, "0.59")
  return
end

-- One chain of tiny tasks.
for _, count in ipairs {1, 10, 100, 1000} do
  local x, g = lze.buffer("int", 64), lze.graph()
  for i = 1, count do g:task("t" .. i, mod.add, 64, x, 1) end
  local plan = g:compile()
  local function started()
    local before = cpu()
    local ev = plan:start()
    local spent = cpu() - before
    ev:wait()
    return spent
  end
  local function launched()
    local before = cpu()
    for _ = 1, count do mod.add(64, x, 1) end
    local spent = cpu() - before
    lze.wait()
    return spent
  end
  local n = count == 1000 and rounds // 4 + 1 or rounds
  local a, b = compare(n, started, launched)
  row(("start of %d tasks, CPU time of the thread"):format(count), a, b,
    count == 100 and "0.1" or "")
  a, b = compare(n, timed(plan), function()
    local before = now()
    for _ = 1, count do mod.add(64, x, 1) end
    lze.wait()
    return now() - before
  end)
  row(("run of %d tasks and the wait for it"):format(count), a, b, "1.0")
end

-- Measuring each task.
do
  local x, plans = lze.buffer("float", 64), {}
  local n = 1
  repeat -- a kernel of about 10 us
    n = 2 * n
    local ev = mod.work:launch(64, x, n)
  until ev:time().kernel_ns > 7000 and mod.work:launch(64, x, n):time()
    .kernel_ns > 7000
  for i, profile in ipairs {false, true} do
    local g = lze.graph()
    for t = 1, 100 do g:task("t" .. t, mod.work, 64, x, n) end
    plans[i] = g:compile {profile = profile}
  end
  local b, a = compare(rounds, timed(plans[1]), timed(plans[2]))
  row("run of 100 tasks of 10 us: profiled, or not", a, b, "1.05")
end

-- Transient buffers of a long pipeline.
do
  local g, n = lze.graph(), 1 << 16
  local x, before = lze.buffer("float", n), nil
  for i = 1, 16 do
    local s = g:buffer("float", n)
    g:copy("c" .. i, s, before or x)
    before = s
  end
  g:copy("last", x, before)
  local r = g:compile():report()
  row("memory of 16 transient buffers: planned, sum", r.transient_bytes,
    r.unshared_bytes, "")
end
