-- profile_spec.lua - lze.profile and lze.mark, their findings and their output.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local json = require "bench.lib.json"
local gated = require "spec.support.gate"
local process = require "spec.support.process"

local m = lze.load "kernels/spec.spv"
local here = debug.getinfo(1, "S").source:sub(2)

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Returns the calling line in the form that events use.
local function line(further)
  return here .. ":" .. debug.getinfo(2, "l").currentline + (further or 0)
end

-- Returns the events of one kind.
local function of(p, kind)
  local list = {}
  for _, e in ipairs(p.events) do
    if e.kind == kind then list[#list + 1] = e end
  end
  return list
end

-- Frees what earlier specs have dropped, so that later specs do not free it.
local function collect()
  collectgarbage()
  collectgarbage()
end

describe("lze.profile", function()
  before_each(collect)

  it("makes no garbage for a launch", function()
    local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
    local square <const> = m.square
    local p <close> = lze.profile()
    square(64, x, y)
    collect()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for _ = 1, 3000 do square(64, x, y) end
    local after = collectgarbage "count"
    collectgarbage "restart"
    assert.equal(before, after)
    assert.equal(3001, #of(p, "kernel"))
  end)

  it("records the script's device commands with their lines", function()
    local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)
    local p = lze.profile()
    local lines = {line(1), line(2)}
    m.square(1000, x, y)
    local ev = m.square:launch(1000, x, y)
    x:fill(7)
    y:copy(x, 1, 10)
    local waited = line(1)
    assert(y[1] == 7)
    assert.is_true(p.recording)
    assert.equal(p, p:stop())
    assert.is_false(p.recording)

    local launches = of(p, "kernel")
    assert.equal(2, #launches)
    for i, e in ipairs(launches) do
      assert.equal("square", e.name)
      assert.equal(lines[i], e.where)
      assert.same({1000}, e.global)
      assert.equal(m.square:group(1000), e.group[1])
      assert.equal(select(4, m.square:group(1000)), e.why)
      assert.equal(x.device.name, e.device)
      assert.is_true(e.queued_ns <= e.start_ns and e.start_ns <= e.end_ns)
      assert.is_true(p.start_ns <= e.queued_ns and e.end_ns <= p.end_ns)
    end
    local t = ev:time()
    for _, key in ipairs {"queued_ns", "start_ns", "end_ns"} do
      assert.equal(t[key], launches[2][key])
    end
    assert.equal(4000, of(p, "fill")[1].bytes)
    assert.equal(40, of(p, "copy")[1].bytes)
    for _, e in ipairs(of(p, "wait")) do assert.equal(waited, e.where) end
    assert.equal(0, p.dropped)
    assert.equal(p.events, p.events)
    p:close()
  end)

  it("records the group size of each launch, in each profile", function()
    local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)
    local function cut(n)
      local group, _, _, why = m.square:group(n)
      return {{n}, group, why}
    end
    local all, few = cut(1000), cut(10)
    local given = {{1000}, 8, "the given group"}
    for _ = 1, 2 do
      local p <close> = lze.profile()
      m.square(1000, x, y)
      m.square(1000, x, y)
      m.square(10, x, y)
      m.square({1000, group = 8}, x, y)
      m.square({1000, group = 8}, x, y)
      m.square(1000, x, y)
      p:stop()
      local seen = {}
      for i, e in ipairs(of(p, "kernel")) do
        seen[i] = {e.global, e.group[1], e.why:match "the given group" or e.why}
      end
      assert.same({all, all, few, given, given, all}, seen)
    end
  end)

  it("records the arguments of launches", function()
    local function given(f)
      local p = lze.profile()
      f()
      p:stop()
      local list = {}
      for _, e in ipairs(p.events) do
        if e.kind == "kernel" then list[#list + 1] = e.arguments end
      end
      return list
    end
    local x, y = lze.buffer("float", 64), lze.buffer("int", 8)
    local three = 3
    local add = lze.kernel(function(i, a, t, n) t[i] = a * t[i] + n * three end)
    local sum = lze.load("kernels/reduction.spv").sum
    local many = lze.kernel(function(i, t, a, b, c, d, e, f)
      t[i] = a + b + c + d + e + f
    end)
    local none = lze.kernel(function(_) end)
    local both = {
      "a = -1.5, t = float[64], n = -7, three = 3",
      "a = 0.25, t = float[4], n = 1099511627776, three = 3",
      "x = long[2], n = 2, sums = long[1], scratch = 16 bytes of local memory",
      "t = int[8], a = 1, b = 2, c = 3, d = 4, e = 5, ..."
    }
    local function launch()
      add(4, -1.5, x, -7)
      add(4, 0.25, x:view(1, 4), 1 << 40)
      sum({1, group = 1}, lze.buffer("long", 2), 2, lze.buffer("long", 1), 2)
      many(8, y, 1, 2, 3, 4, 5, 6)
      none(1)
    end
    assert.same(both, given(launch))
    assert.same(both, given(launch)) -- with another recorder
    local p = lze.profile()
    launch()
    p:stop()
    process.with_directory(function(dir)
      for _, ending in ipairs {".html", ".json", ".csv"} do
        p:save(dir .. "/p" .. ending)
        local file <close> = assert(io.open(dir .. "/p" .. ending))
        assert.truthy(file:read "a":find(both[1], 1, true), ending)
      end
    end)
  end)

  it("finds the script's line through any kind of caller", function()
    local x = lze.buffer("int", 16)
    local text = "local add, x = ...\n\nadd(16, x, 1)\nreturn nil"
    local p <close> = lze.profile()
    local wanted = {}
    local function next_is(where) wanted[#wanted + 1] = where end

    next_is(line(1))
    pcall(m.add, 16, x, 1)
    local co = coroutine.wrap(function()
      next_is(line(1))
      m.add(16, x, 1)
      coroutine.yield()
      next_is(line(1))
      pcall(pcall, m.add, 16, x, 1)
    end)
    co()
    co()
    -- Functions come and go, possibly at the same address.
    for i = 1, 20 do
      next_is("chunk" .. i % 3 .. ".lua:3")
      load(text, "@chunk" .. i % 3 .. ".lua")(m.add, x)
      collect()
    end
    next_is('[string "local add, x = ......"]:3')
    load(text)(m.add, x)
    for _, name in ipairs {"of mine", "lze", "lzelike"} do
      next_is(name .. ":3")
      load(text, "=" .. name)(m.add, x)
    end
    -- A file that was changed and loaded again.
    next_is "chunk1.lua:4"
    load("\n" .. text, "@chunk1.lua")(m.add, x)
    -- A tail call, functions in C, and no Lua function at all.
    local tail = load("local add, x = ...\nreturn add(16, x, 1)", "@tail.lua")
    next_is "tail.lua:2"
    tail(m.add, x);
    (function() return tail(m.add, x) end)()
    next_is "tail.lua:2"
    next_is(line(1))
    string.gsub("a", "a", function() m.add(16, x, 1) end)
    next_is(line(1))
    table.sort({1, 2}, function() return m.add(16, x, 1) ~= nil end)
    next_is "no line"
    coroutine.wrap(m.add.launch)(m.add, 16, x, 1)
    -- A function without lines is skipped, as are lze's own functions in Lua.
    local stripped = load(string.dump(load(text), true), "=stripped", "b")
    next_is(line(1))
    stripped(m.add, x)
    local lines_of_lze = load(text, "=lze part.lua")
    next_is(line(1))
    lines_of_lze(m.add, x)
    local hooked
    local function hook()
      debug.sethook()
      hooked = line(1)
      m.add(16, x, 1)
    end
    debug.sethook(hook, "l")
    local _ = hooked
    debug.sethook()
    next_is(hooked)

    local found = {}
    for _, e in ipairs(of(p, "kernel")) do
      found[#found + 1] = e.where or "no line"
    end
    assert.same(wanted, found)
    assert.equal(#wanted, x[16])
  end)

  -- Lua's messages omit the beginning of a name this long.
  it("shows the whole name of a script, and the lines of the script", function()
    process.with_directory(function(dir)
      local path = dir .. "/" .. ("long"):rep(20) .. ".lua"
      process.write(path, 'local lze = require "lze"\nlze.mark "here" -- line')
      local p <close> = lze.profile(assert(loadfile(path)))
      assert.equal(path .. ":2", of(p, "mark")[1].where)
      p:save(dir .. "/run.html")
      local page = read(dir .. "/run.html")
      assert.is_truthy(page:find('lze.mark \\"here\\" -- line', 1, true))
      p:save(dir .. "/run.csv")
      assert.is_truthy(read(dir .. "/run.csv"):find(path .. ":2", 1, true))
    end)
  end)

  it("records only until it is stopped, and changes nothing else", function()
    local x = lze.buffer("int", 16)
    m.add(16, x, 1)
    local p = lze.profile()
    m.add(16, x, 2)
    m.add(16, x, 3)
    p:stop()
    m.add(16, x, 4)
    assert.equal(2, #of(p, "kernel"))
    assert.equal(10, x[16])
    local before = #p.events
    lze.mark "after the end"
    assert.equal(before, #p.events)
    p:close()
  end)

  it("records a call, and returns the call's results", function()
    local x = lze.buffer("int", 16)
    local p, a, b, c = lze.profile(function(...)
      m.add(16, x, 1)
      return ...
    end, 1, nil, 3)
    assert.same({1, nil, 3}, {a, b, c})
    assert.equal(1, #of(p, "kernel"))
    assert.is_false(p.recording)
    local q = lze.profile(setmetatable({}, {__call = function() end}))
    assert.same({}, q.events)
    local co = coroutine.wrap(function()
      local r, v = lze.profile(function()
        local n = coroutine.yield "half"
        m.add(16, x, n)
        return n
      end)
      return #of(r, "kernel"), v
    end)
    assert.equal("half", co())
    assert.same({1, 9}, {co(9)})
    assert.equal(10, x[1])
  end)

  it("ends with an error in the call, and raises that error unchanged",
    function()
    local thrown = {}
    local ok, err = pcall(lze.profile, function() error(thrown) end)
    assert.is_false(ok)
    assert.equal(thrown, err)
    local function inside() error "boom" end
    assert.matches("boom\n.*'inside'", select(2, xpcall(lze.profile,
      debug.traceback, function()
        inside()
        return nil
      end)))
  end)

  it("nests, and each profile records the events of its time", function()
    local x = lze.buffer("int", 16)
    local outer = lze.profile()
    m.add(16, x, 1)
    local inner = lze.profile(function() m.add(16, x, 1) end)
    m.add(16, x, 1)
    outer:stop()
    assert.equal(1, #of(inner, "kernel"))
    assert.equal(3, #of(outer, "kernel"))
    inner:close()
    assert.equal(3, #of(outer, "kernel"))
    outer:close()
  end)

  it("keeps the newest events when it is full, and counts the dropped ones",
    function()
    local p = lze.profile {events = 10}
    for i = 1, 5000 do lze.mark("m" .. i) end
    assert.equal(4990, p.dropped)
    p:stop()
    assert.equal(4990, p.dropped)
    assert.equal(10, #p.events)
    assert.equal("m4991", p.events[1].name)
    assert.equal("m5000", p.events[10].name)
    assert.matches("4990 older ones dropped", tostring(p))
    -- A larger profile begins while a small one records.
    local few = lze.profile {events = 4}
    for i = 1, 10 do lze.mark("f" .. i) end
    local more = lze.profile {events = 3000}
    for i = 1, 2500 do lze.mark("g" .. i) end
    few:stop()
    more:stop()
    assert.equal("g2497", few.events[1].name)
    assert.equal(2506, few.dropped)
    assert.same({2500, 0}, {#more.events, more.dropped})
    assert.equal("g1", more.events[1].name)
    -- At this point some events lie before the newest event's slot, some after.
    few = lze.profile {events = 4}
    for i = 1, 6 do lze.mark("h" .. i) end
    more = lze.profile {events = 3000}
    lze.mark "h7"
    few:stop()
    more:stop()
    local names = {}
    for i, e in ipairs(few.events) do names[i] = e.name end
    assert.same({"h4", "h5", "h6", "h7"}, names)
  end)

  it("records builds, memory and runs of plans", function()
    local x = lze.buffer("int", 16)
    local plan <close> = lze.graph "sums":task("a", m.add, 16, x, 1):compile()
    local p = lze.profile()
    local mod <close> = lze.load "kernels/saxpy.spv"
    local y = lze.buffer("float", 1 << 10)
    y:close()
    plan:run()
    plan:run()
    p:stop()
    assert.equal("module kernels/saxpy.spv", of(p, "build")[1].name)
    assert.equal(4096, of(p, "alloc")[1].bytes)
    assert.equal(of(p, "alloc")[1].storage, of(p, "free")[1].storage)
    assert.is_nil(of(p, "free")[1].collected)
    assert.equal(2, #of(p, "graph"))
    assert.equal("sums", of(p, "graph")[1].name:match "sums")
    assert.equal(2, x[1])
    assert.is_not_nil(mod)
  end)

  it("records the collections that memory has forced", function()
    local before = lze.gc()
    local kept, collections = {}, lze.stats().collections
    local p = lze.profile()
    lze.gc {soft_limit_bytes = lze.stats().bytes + (4 << 20)}
    for i = 1, 8 do kept[i] = lze.buffer("uchar", 1 << 20, {zero = false}) end
    lze.gc {soft_limit_bytes = before.soft_limit_bytes}
    p:stop()
    local forced = lze.stats().collections - collections
    assert.is_true(#kept == 8 and forced > 0)
    local events = of(p, "collection")
    assert.equal(forced, #events)
    for _, e in ipairs(events) do
      assert.matches("profile_spec.lua:%d+$", e.where)
      assert.is_true(e.end_ns >= e.start_ns)
    end
    assert.matches("\ncollections\n +%% +total +count +memory freed +line\n",
      tostring(p))
  end)

  describe("of a plan whose tasks are measured", function()
    local n = 4096
    local sizes = {["sums.zero"] = 4 * n, ["sums.one"] = 8 * n,
      ["sums.two"] = 8 * n}
    local x, y

    local function a_plan(options)
      x, y = lze.buffer("int", n), lze.buffer("int", n)
      return lze.graph "sums":fill("zero", x, 3)
        :task("one", m.add, n, x, 1):task("two", m.square, n, x, y)
        :compile(options)
    end

    -- Returns the tasks of the event at `place`, after checking that they lie
    -- in its time.
    local function tasks_of(p, place)
      local list, run = {}, p.events[place]
      for i, e in ipairs(p.events) do
        if e.parent == place then
          assert.equal("task", e.kind)
          assert.is_true(i > place and run.start_ns <= e.start_ns and
            e.start_ns < e.end_ns and e.end_ns <= run.end_ns, e.name)
          assert.same({run.where, run.queue, run.device, run.queued_ns},
            {e.where, e.queue, e.device, e.queued_ns})
          list[#list + 1] = e
        end
      end
      return list
    end

    local function place_of(p, event)
      for i, e in ipairs(p.events) do if e == event then return i end end
    end

    it("has the tasks within the run", function()
      local plan <close> = a_plan {profile = true}
      plan:run()
      local where
      local p <close> = lze.profile(function()
        where = line(1)
        plan:run()
        plan:run()
      end)
      assert.equal(16, y[n])
      local runs = of(p, "graph")
      assert.equal(2, #runs)
      assert.equal(where, runs[1].where)
      for _, run in ipairs(runs) do
        local tasks = tasks_of(p, place_of(p, run))
        assert.equal(3, #tasks)
        local at
        for i, name in ipairs {"sums.zero", "sums.one", "sums.two"} do
          local e = tasks[i]
          assert.same({name, sizes[name]}, {e.name, e.bytes})
          assert.equal(at, e.after)
          assert.is_true(at == nil or p.events[at].end_ns <= e.start_ns)
          at = place_of(p, e)
          assert.is_nil(e.call_ns)
        end
        assert.is_nil(tasks[1].group)
        assert.is_true(n % tasks[2].group[1] == 0 and tasks[2].why ~= nil)
        assert.same({n, 1, 1}, {n, tasks[2].group[2] or 1,
          tasks[2].group[3] or 1})
      end
      -- The plan's report of the last run is the same.
      for i, task in ipairs(plan:report().tasks) do
        local e = tasks_of(p, place_of(p, runs[2]))[i]
        assert.equal(task.name, e.name)
        assert.is_true(math.abs(task.ns - (e.end_ns - e.start_ns)) <= 1)
        assert.same(task.why, e.why)
      end
    end)

    it("counts the time of tasks once", function()
      local plan <close> = a_plan {profile = true}
      local p <close> = lze.profile(function() plan:run() end)
      local run, text = of(p, "graph")[1], tostring(p)
      assert.equal(3, #of(p, "task"))
      local busy = 100 * (run.end_ns - run.start_ns) / (p.end_ns - p.start_ns)
      assert.equal(("%.0f"):format(busy), text:match "device busy (%d+) %%")
      local kernels, tasks = text:match
        "kernels\n(.-)\n\ntasks, in the runs of their plans\n(.-)\n\n"
      assert.matches("graph sums", kernels)
      assert.is_nil(kernels:find("sums.one", 1, true))
      for name in pairs(sizes) do
        assert.is_truthy(tasks:find(name, 1, true), name)
      end
      -- Tasks do not appear in the findings.
      local texts = {}
      for i, f in ipairs(p.findings) do texts[i] = f.text end
      assert.is_nil(table.concat(texts):find("sums.", 1, true))
    end)

    it("writes tasks into the run's row", function()
      local plan <close> = a_plan {profile = true}
      local p <close> = lze.profile(function() plan:run() end)
      process.with_directory(function(dir)
        p:save(dir .. "/p.json"):save(dir .. "/p.csv")
        local run, seen = nil, {}
        for _, e in ipairs(json.decode(read(dir .. "/p.json")).traceEvents) do
          if e.cat == "graph" then run = e end
          if e.cat == "task" then
            assert.same({run.pid, run.tid}, {e.pid, e.tid})
            assert.is_true(run.ts <= e.ts and
              e.ts + e.dur <= run.ts + run.dur + 0.0005)
            assert.equal(sizes[e.name], e.args.bytes)
            seen[#seen + 1] = e.name
          end
        end
        assert.same({"sums.zero", "sums.one", "sums.two"}, seen)
        local rows, parents = {}, {}
        for row in read(dir .. "/p.csv"):gmatch "[^\n]+" do
          rows[#rows + 1] = row
          if row:find "^task," then
            parents[#parents + 1] = row:match "(%d*),[^,]*$"
          end
        end
        assert.matches(",parent,submitted_ns$", rows[1])
        assert.equal(3, #parents)
        for _, parent in ipairs(parents) do
          assert.matches("^graph,", rows[1 + tonumber(parent)])
        end
      end)
    end)

    it("writes tasks that run in parallel into separate rows", function()
      local big = 1 << 20
      local a, b = lze.buffer("int", big), lze.buffer("int", big)
      local plan <close> = lze.graph "wide":task("one", m.add, big, a, 1)
        :task("two", m.add, big, b, 1):compile {profile = true}
      plan:run()
      local p <close> = lze.profile(function() plan:run() end)
      local one, two = table.unpack(of(p, "task"))
      local overlap = one.start_ns < two.end_ns and two.start_ns < one.end_ns
      process.with_directory(function(dir)
        p:save(dir .. "/p.json")
        local rows, tids = {}, {}
        for _, e in ipairs(json.decode(read(dir .. "/p.json")).traceEvents) do
          if e.name == "thread_name" then rows[e.tid] = e.args.name end
          if e.cat == "task" then tids[#tids + 1] = e.tid end
        end
        assert.equal(overlap, tids[1] ~= tids[2])
        assert.equal("queue " .. one.queue, rows[math.min(table.unpack(tids))])
        if overlap then
          assert.equal(("queue %d, tasks 2"):format(one.queue),
            rows[math.max(table.unpack(tids))])
        end
      end)
    end)

    it("has the tasks of each of several runs in flight", function()
      gated(function(d, gate, open)
        local k = lze.load("kernels/spec.spv", {device = d})
        local a = lze.buffer("int", n, {device = d})
        local b = lze.buffer("int", n, {device = d})
        local plan <close> = lze.graph "sums":fill("zero", a, 3)
          :task("one", k.add, n, a, 1):task("two", k.square, n, a, b)
          :compile {profile = true, device = d}
        local other <close> = lze.graph "other":task("one", k.add, n, b, 1)
          :compile {profile = true, device = d}
        local q = lze.queue(d)
        local p <close> = lze.profile()
        q:barrier(gate)
        q:fill(a, 7)
        plan:start()
        plan:start()
        other:start()
        local last, behind = plan:start(), other:start()
        assert.same({false, false}, {last:done(), behind:done()})
        assert.same({}, of(p, "task"))
        open()
        lze.wait()
        assert.same({16, 17}, {b[1] - 1, b[n]})
        p:stop()
        local names = {}
        for i, run in ipairs(of(p, "graph")) do
          local ends = 0 -- the clocks are compared again for each run
          assert.is_nil(run.untimed)
          for _, e in ipairs(tasks_of(p, place_of(p, run))) do
            names[#names + 1] = i .. " " .. e.name
            assert.is_true(ends <= e.start_ns)
            ends = e.end_ns
          end
        end
        assert.same({"1 sums.zero", "1 sums.one", "1 sums.two", "2 sums.zero",
          "2 sums.one", "2 sums.two", "3 other.one", "4 sums.zero",
          "4 sums.one", "4 sums.two", "5 other.one"}, names)
        assert.is_nil(tostring(p):find("without all their", 1, true))
        -- Without a profile nothing is recorded.
        plan:run {iterations = 3}
        assert.equal(11, #of(p, "task"))
        local after <close> = lze.profile(plan.run, plan)
        assert.same({1, 3}, {#of(after, "graph"), #of(after, "task")})
      end)
    end)

    it("has the tasks of runs with calls", function()
      local calls = 0
      x, y = lze.buffer("int", n), lze.buffer("int", n)
      local plan <close> = lze.graph "sums":fill("zero", x, 3)
        :task("one", m.add, n, x, 1):call("count", function()
          calls = calls + 1
        end):task("two", m.square, n, x, y):compile {profile = true}
      local p <close> = lze.profile(function()
        plan:run {iterations = 3}
      end)
      assert.same({3, 3, 9}, {calls, #of(p, "graph"), #of(p, "task")})
      for _, run in ipairs(of(p, "graph")) do
        assert.equal(3, #tasks_of(p, place_of(p, run)))
      end
    end)

    -- Returns the output of a script about three runs in flight together. The
    -- driver follows `rules` while the runs start.
    local function in_flight(rules)
      local out
      process.with_directory(function(dir)
        local build = os.getenv "LZE_TEST_BUILD"
        process.write(dir .. "/rules", rules)
        out = process.output([[
          local lze = require "lze"
          local m = lze.load "kernels/spec.spv"
          local x = lze.buffer("int", 64)
          local plan = lze.graph "g":task("a", m.add, 64, x, 1)
            :compile {profile = true}
          local p = lze.profile()
          local path = os.getenv "ZE_FAULT_CONTROL"
          local before <close> = io.open(path)
          local text = before:read "a"
          local function rules(more)
            local file <close> = io.open(path, "w")
            file:write(text, more)
          end
          rules "\nhang"
          for _ = 1, 3 do plan:start() end
          rules ""
          p:stop()
          print(tostring(p):match "\n(  %d of [^\n]*)")
          for i, e in ipairs(p.events) do
            if e.kind == "graph" or e.kind == "task" then
              print(i, e.name, e.parent, e.untimed)
            end
          end
          print(x[1])]], {env = {ZE_FAULT_CONTROL = dir .. "/rules",
          ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
          ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
          ZE_ENABLE_VALIDATION_LAYER = false}})
      end)
      return out
    end

    it("says which runs have no tasks, and why", function()
      local why = "zeCommandListAppendQueryKernelTimestamps: ERROR_UNKNOWN"
      assert.equal("  2 of 3 runs of plans without all their tasks: " .. why ..
        "\n1\tgraph g\tnil\t" .. why .. "\n2\tgraph g\tnil\t" .. why ..
        "\n3\tgraph g\tnil\tnil\n4\tg.a\t3\tnil\n3\n", in_flight(
          "fail zeCommandListAppendQueryKernelTimestamps 0 " .. 0x7ffffffe))
    end)

    it("has tasks on a driver that does not order commands by itself",
      function()
      assert.equal("nil\n1\tgraph g\tnil\tnil\n2\tg.a\t1\tnil\n" ..
        "3\tgraph g\tnil\tnil\n4\tg.a\t3\tnil\n5\tgraph g\tnil\tnil\n" ..
        "6\tg.a\t5\tnil\n3\n", in_flight "api 1 4")
    end)

    it("has no tasks of a plan that is not measured", function()
      local plan <close> = a_plan()
      local p <close> = lze.profile(function() plan:run() end)
      assert.same({1, 0}, {#of(p, "graph"), #of(p, "task")})
    end)

    it("has no tasks of a run that is not in the profile", function()
      local plan <close> = a_plan {profile = true}
      local outer <close> = lze.profile()
      plan:start()
      local inner <close> = lze.profile()
      lze.wait()
      assert.same({1, 3}, {#of(outer, "graph"), #of(outer, "task")})
      assert.same({0, 0}, {#of(inner, "graph"), #of(inner, "task")})
      -- Nor of a run that did not fit.
      local few <close> = lze.profile({events = 2}, function() plan:run() end)
      assert.same({}, of(few, "task"))
    end)

    it("has the tasks of a plan that was changed or collected during a run",
      function()
      local plan <close> = a_plan {profile = true}
      local p <close> = lze.profile()
      plan:start()
      plan:set("one", 2, 7)
      plan:start()
      lze.wait()
      a_plan {profile = true}:start()
      collect()
      p:stop()
      local runs = of(p, "graph")
      assert.equal(3, #runs)
      for _, run in ipairs(runs) do
        local tasks = tasks_of(p, place_of(p, run))
        assert.equal(3, #tasks)
        for _, e in ipairs(tasks) do assert.equal(sizes[e.name], e.bytes) end
      end
      assert.equal(3, x[n] - 1)
    end)
  end)

  it("records which command another one depends on", function()
    local n = 1000
    local x, y = lze.buffer("int", n), lze.buffer("int", n)
    local other = lze.queue()
    lze.wait()
    local p = lze.profile(function()
      x:fill(2)
      m.square(n, x, y)
      other:launch(m.add, n, y, 1)
      m.add(n, x, 1)
      lze.wait()
      m.add(n, x, 1)
    end)
    local after = {}
    for i, e in ipairs(p.events) do
      if e.kind == "kernel" or e.kind == "fill" then
        after[#after + 1] = e.after and p.events[e.after].name or false
      end
      assert.is_true((e.after or 0) < i)
    end
    assert.same({false, "fill", "square", "square", "add"}, after)
    -- Halves of a buffer are independent of each other, and so are two readers.
    lze.wait()
    p = lze.profile(function()
      m.add(n // 2, x:view(1, n // 2), 1)
      m.add(n // 2, x:view(n // 2 + 1, n), 1)
      y:copy(x, 1, 10)
      y:copy(x, 11, 20, 11)
    end)
    local e = of(p, "kernel")
    -- Under the validation layer each command waits for the one before.
    if not os.getenv "ZE_ENABLE_VALIDATION_LAYER" then
      assert.same({}, {e[1].after, e[2].after})
      e = of(p, "copy")
      assert.same({1, 1}, {e[1].after, e[2].after})
    end
    -- Several parts of a buffer, written again in any order.
    local z = lze.buffer("int", 40)
    lze.wait()
    p = lze.profile(function()
      for _, part in ipairs {1, 2, 3, 4, 2, 1, 3, 3} do
        z:fill(part, 10 * part - 9, 10 * part)
      end
    end)
    if not os.getenv "ZE_ENABLE_VALIDATION_LAYER" then
      local fills, places, befores = of(p, "fill"), {}, {}
      for i, fill in ipairs(fills) do
        befores[i] = fill.after and places[p.events[fill.after]] or 0
        places[fill] = i
      end
      assert.same({0, 0, 0, 0, 2, 1, 3, 7}, befores)
    end
    p:close()
    other:close()
  end)

  it("distinguishes copies of the same bytes from other copies", function()
    local n = 4096
    local x = lze.buffer("int", n)
    local y = lze.buffer("int", n)
    local d = lze.buffer("int", n, {usage = "device"})
    local function again(f)
      local list = {}
      for i, e in ipairs(of((lze.profile(f)), "copy")) do
        list[i] = e.again and e.name .. " again" or e.name
      end
      return table.concat(list, ", ")
    end
    local t = x:read()
    assert.equal("write, write again, write, write", again(function()
      d:write(t)
      d:write(t)
      t[n] = 5
      d:write(t)
      m.add(n, d, 1)
      d:write(t)
    end))
    assert.equal("read, read again, read, read", again(function()
      d:read()
      d:read()
      d:fill(1)
      d:read()
      d:read(1, 10)
    end))
    assert.equal("copy, copy again, copy, copy, copy again", again(function()
      y:copy(x)
      y:copy(x)
      x[1] = 3
      y:copy(x)
      y[1] = 4
      y:copy(x)
      y:copy(x)
    end))
    assert.equal("copy, copy, copy, copy", again(function()
      d:copy(x)
      m.add(n, x, 1)
      d:copy(x)
      lze.wait()
      x[5] = 99
      d:copy(x)
      d:copy(x, 1, 10, 20)
    end))
    -- If some bytes of a long copy are unchanged, all of them are compared.
    local many = lze.buffer("int", 1 << 16)
    local far = lze.buffer("int", 1 << 16, {usage = "device"})
    local near = lze.buffer("int", 1 << 16)
    for _, both in ipairs {{many, far}, {near, near}} do
      local changed, to = both[1], both[2]
      assert.equal("copy, copy, copy again, copy, copy again", again(function()
        for i = 1, 5 do
          lze.wait()
          if i == 4 then changed[30000] = changed[30000] + 1 end
          to:copy(many)
        end
      end))
    end
  end)

  it("records the whole time of reads and writes, including their waits",
    function()
    local x = lze.buffer("int", 4, {usage = "device"})
    lze.wait()
    local t = setmetatable({}, {__len = function() return 4 end,
      __index = function(_, i)
        lze.mark "converted"
        return i
      end})
    local p = lze.profile(function()
      x:write(t)
      assert.same({1, 2, 3, 4}, x:read())
    end)
    local copies, marks, waits = of(p, "copy"), of(p, "mark"), of(p, "wait")
    assert.same({"write", "read"}, {copies[1].name, copies[2].name})
    for _, mark in ipairs(marks) do
      assert.is_true(copies[1].queued_ns <= mark.start_ns)
    end
    for i, copy in ipairs(copies) do
      assert.equal(copy.name, waits[i].name)
      assert.is_true(copy.queued_ns <= waits[i].start_ns)
      assert.is_true(copy.queued_ns + copy.call_ns >= waits[i].end_ns)
    end
    p:close()
  end)

  it("counts no memory of reads and writes as garbage", function()
    local d = lze.buffer("int", 1 << 16, {usage = "device"})
    local t = d:read()
    local p <close> = lze.profile(function()
      m.add(1 << 16, d, 1)
      d:write(t)
      d:write(("abcd"):rep(1 << 16))
      d:read()
      d:string()
      collectgarbage()
      collectgarbage()
    end)
    local made, freed = {}, {}
    for _, e in ipairs(of(p, "alloc")) do made[e.storage] = true end
    for _, e in ipairs(of(p, "free")) do
      if made[e.storage] then freed[e.storage] = e.collected ~= true end
    end
    assert.is_not_nil(next(made))
    assert.same(made, freed)
  end)

  it("reports invalid arguments, and any use after it is closed", function()
    local p <close> = lze.profile()
    for message, f in pairs {
      ["bad argument #1 to 'profile' %(function expected, got integer 3%)"] =
        function() lze.profile(3) end,
      ["bad argument #2 to 'profile' %(function expected, got integer 3%)"] =
        function() lze.profile({}, 3) end,
      ["unknown key.*known: events"] =
        function() lze.profile {event = 3} end,
      ["option events: an integer from 1 to 16777216 expected, got integer 0"] =
        function() lze.profile {events = 0} end,
      ["bad argument #1 to 'mark' %(name: string expected, got no value%)"] =
        function() lze.mark() end,
      ["bad argument #1 to 'mark' %(name: it contains a zero byte%)"] =
        function() lze.mark "a\0b" end,
      ["bad argument #2 to 'mark' %(function expected, got integer 7%)"] =
        function() lze.mark("a", 7) end,
      ["bad argument #1 to 'save' %(path: string expected, got no value%)"] =
        function() p:save() end,
      ["path: a name that ends in .csv, .html, .json or .txt expected, " ..
        'got "run"'] = function() p:save "run" end,
      ["bad argument #1 to 'save' %(path: it contains a zero byte%)"] =
        function() p:save "a\0b.csv" end,
      ["no field 'event' in a profile"] = function() return p.event end,
    } do
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.matches(message, err)
    end
    local ok, err = pcall(function() p:save "/proc/none/run.csv" end)
    assert.same({false, "ENOENT"}, {ok, err.code})
    assert.matches("^" .. here:gsub("%p", "%%%0") .. ":%d+: ", tostring(err))
    local other = lze.profile()
    assert.equal("profile", lze.type(other))
    other:close()
    other:close()
    assert.equal("profile (closed)", tostring(other))
    for _, f in ipairs {
      function() other:stop() end, function() return other.events end,
      function() return other.findings end, function() other:save "a.csv" end,
    } do
      ok, err = pcall(f)
      assert.is_false(ok)
      assert.matches("closed", err)
    end
    ok, err = pcall(function() return other.findings end)
    assert.is_false(ok)
    assert.matches("field 'findings': the profile is closed$", err)
  end)
end)

describe("lze.mark", function()
  it("records a point, or the time of a call, even if the call fails",
    function()
    local p = lze.profile()
    lze.mark "point"
    assert.same({1, nil, 3}, {lze.mark("call", function(...) return ... end,
      1, nil, 3)})
    assert.equal(0, select("#", lze.mark("none", function() end)))
    local ok, err = pcall(lze.mark, "bad", error, "why", 0)
    assert.same({false, "why"}, {ok, err})
    local co = coroutine.wrap(function()
      return lze.mark("outer", function()
        return lze.mark("inner", coroutine.yield, 5)
      end)
    end)
    assert.equal(5, co())
    assert.equal(6, co(6))
    p:stop()
    local names = {}
    for i, e in ipairs(of(p, "mark")) do
      names[i] = e.name
      assert.is_true(e.start_ns <= e.end_ns)
    end
    assert.same({"point", "call", "none", "bad", "inner", "outer"}, names)
    assert.equal(p.events[1].start_ns, p.events[1].end_ns)
  end)

  it("has the line of its beginning, however it ends", function()
    local wanted = {}
    local function mark(further, ...)
      wanted[#wanted + 1] = further
      lze.mark(...)
    end
    local p = lze.profile()
    local began = line(-3)
    pcall(function() mark(began, "error", error, "why") end)
    pcall(pcall, mark, began, "error", error)
    lze.mark("outer", function()
      pcall(mark, began, "inner", error)
    end)
    wanted[#wanted + 1] = line(-3)
    local name = line(2)
    local co = coroutine.create(function()
      lze.mark("closed", coroutine.yield)
    end)
    coroutine.resume(co)
    coroutine.close(co)
    wanted[#wanted + 1] = name
    co = coroutine.create(lze.mark)
    coroutine.resume(co, "no line", coroutine.yield)
    coroutine.close(co)
    wanted[#wanted + 1] = "none"
    p:stop()
    local found = {}
    for i, e in ipairs(of(p, "mark")) do found[i] = e.where or "none" end
    assert.same(wanted, found)
  end)

  it("accepts any number of names, and leaves room for names of other events",
    function()
    local x = lze.buffer("int", 16)
    local p <close> = lze.profile {events = 10}
    for i = 1, 70000 do lze.mark("m" .. i) end
    load("local add, x = ...\nadd(16, x, 1)", "=late")(m.add, x)
    p:stop()
    local e = of(p, "kernel")[1]
    assert.same({"add", "late:2", x.device.name}, {e.name, e.where, e.device})
    assert.equal("(further names)", of(p, "mark")[1].name)
  end)

  it("calls the function even if nothing records", function()
    assert.equal(7, lze.mark("m", function(a, b) return a + b end, 3, 4))
    assert.equal(0, select("#", lze.mark "m"))
    assert.is_false(pcall(lze.mark, "m", error))
  end)
end)

-- The rules of profiles, applied to events with given times.
local rules = assert(loadfile "lua/profile.lua") {
  json = assert(loadfile "lua/json.lua"), limits = function() end,
}

local us, ms = 1000, 1000000

-- Returns the same events one after the other. `took` gives the duration of
-- each kind or name in microseconds; a call by the host takes one microsecond.
local function set_times(events, took)
  local now, list = 0, {}
  for i, e in ipairs(events) do
    local c = {}
    for k, v in pairs(e) do c[k] = v end
    local long = took[e.name] or took[e.kind] or 0
    c.queued_ns, c.start_ns = now * us, now * us
    now = now + long
    c.end_ns = now * us
    c.call_ns = e.call_ns and us
    list[i] = c
  end
  return list, {start_ns = 0, end_ns = math.max(1, now) * us, dropped = 0}
end

local function findings(f, took)
  local p = lze.profile(f)
  local list = rules.findings(set_times(p.events, took))
  p:close()
  return list
end

-- Checks the rule, the text and the line of a script's first finding.
local function leads_to(rule, says, where, f, took)
  local list = findings(f, took or {kernel = 1000, copy = 100, wait = 10})
  assert.is_not_nil(list[1])
  assert.equal(rule, list[1].rule)
  assert.matches(says, list[1].text)
  if where then assert.equal(where, list[1].where) end
  assert.is_true(list[1].share > 0 and list[1].share <= 1)
end

describe("findings", function()
  local n = 1 << 16
  local x, y = lze.buffer("int", n), lze.buffer("int", n)

  -- Events made by hand; only their times matter.
  local function launch(queue, from, to, name)
    return {kind = "kernel", name = name or "k", where = "a.lua:" .. queue,
      queue = queue, device = "d", queued_ns = from * ms, call_ns = us,
      start_ns = from * ms, end_ns = to * ms, global = {64}, group = {32}}
  end

  local function wait(from, to, name)
    return {kind = "wait", name = name or "k", where = "a.lua:9",
      queued_ns = from * ms, start_ns = from * ms, end_ns = to * ms}
  end

  local function copy(name, from, to)
    local e = launch(1, from, to, name)
    e.kind, e["global"], e.group, e.bytes = "copy", nil, nil, 4
    return e
  end

  local function found(events, to)
    return rules.findings(events, {start_ns = 0, end_ns = to * ms,
      dropped = 0})
  end

  it("are empty for a good script", function()
    assert.same({}, findings(function()
      x:fill(1)
      for _ = 1, 8 do m.square(n, x, y) end
      y:read(1, 1)
    end, {kernel = 1000, fill = 100, wait = 8000}))
    -- A graph that runs repeatedly; its result is read once.
    local plan <close> = lze.graph():task("add", m.add, n, x, 1):compile()
    assert.same({}, findings(function()
      for _ = 1, 20 do plan:start() end
      lze.wait()
      x:read(1, 4)
    end, {graph = 1000, wait = 20000}))
    -- A copy each time its source has changed.
    local d = lze.buffer("int", n, {usage = "device"})
    assert.same({}, findings(function()
      for _ = 1, 8 do
        m.add(n, x, 1)
        d:copy(x)
      end
    end, {kernel = 1000, copy = 500}))
    -- A read of the result now and then: the device soon has the next command.
    local looks = {}
    for i = 0, 19 do
      looks[#looks + 1] = launch(1, i, i + .98)
      looks[#looks + 1] = wait(i, i + .99)
    end
    assert.same({}, found(looks, 20))
    -- New data each time, and work with it.
    local writes = {}
    for i = 0, 19 do
      writes[#writes + 1] = copy("write", i, i + .3)
      writes[#writes + 1] = wait(i, i + .5, "write")
      writes[#writes + 1] = launch(1, i + .5, i + 1)
    end
    assert.same({}, found(writes, 20))
    -- Late messages from another rank: a buffer, which is waited for, and a
    -- value.
    local messages = {}
    for i = 0, 19 do
      messages[#messages + 1] = launch(1, i, i + .1)
      messages[#messages + 1] = {kind = "message", name = "recv from rank 1",
        where = "a.lua:8", queued_ns = i * ms, start_ns = i * ms,
        end_ns = (i + 1) * ms, call_ns = us}
      if i % 2 == 0 then messages[#messages + 1] = wait(i, i + 1, "recv") end
    end
    assert.same({}, found(messages, 20))
    -- A window of commands in flight: the device always has the next command.
    local window = {}
    for i = 0, 19 do
      window[#window + 1] = launch(1, i, i + 1)
      window[#window].queued_ns = math.max(0, i - 2) * ms
      if i >= 2 then
        window[#window + 1] = wait(i - 2, i - 1)
      end
    end
    assert.same({}, found(window, 20))
    -- The clocks of device and host differ by some microseconds.
    for _, e in ipairs(window) do
      if e.kind == "wait" then e.end_ns = e.end_ns + 2 * ms + us end
    end
    assert.same({}, found(window, 20))
    -- A few short launches and a few waits do not matter.
    assert.same({}, findings(function()
      for _ = 1, 5 do m.add:launch(64, x, 1):wait() end
    end, {kernel = 1, wait = 1}))
  end)

  it("report launches shorter than their cost", function()
    local where = line(2)
    leads_to("short_launches", "add was launched 200 times for 1.0 us",
      where, function() for _ = 1, 200 do m.add(64, x, 1) end end,
      {kernel = 1})
  end)

  it("report waiting inside a loop", function()
    local where = line(3)
    leads_to("waits", "waits here for the device 20 times, .* 91 %%", where,
      function()
        for _ = 1, 20 do m.add:launch(n, x, 1):wait() end
      end, {kernel = 1000, wait = 10000})
  end)

  it("report waiting by reads of elements", function()
    local where = line(4)
    leads_to("waits", "waits here for the device 20 times", where, function()
      for i = 1, 20 do
        m.add(n, x, 1)
        if x[i] == -1 then break end
      end
    end, {kernel = 1000, wait = 10000})
    where = line(4)
    leads_to("waits", "waits here for the device 15 times", where, function()
      for _ = 1, 15 do
        m.square(n, x, y)
        lze.wait()
      end
    end, {kernel = 1000, wait = 10000})
  end)

  it("count only the idle time that waiting costs", function()
    -- In each round the device idles from the end of a wait to the next
    -- command.
    local list = {}
    for i = 0, 19 do
      list[#list + 1] = launch(1, i, i + .7)
      list[#list].queued_ns = math.max(0, i - .1) * ms
      list[#list + 1] = wait(i, i + .8)
    end
    local waits = found(list, 20)
    assert.same({"waits", 1}, {waits[1].rule, #waits})
    assert.equal("195", ("%.0f"):format(waits[1].share * 1000))
    -- The script's work in between does not count.
    for _, e in ipairs(list) do
      if e.kind == "kernel" then e.queued_ns = e.start_ns end
      if e.kind == "wait" then e.end_ns = e.start_ns + .75 * ms end
    end
    assert.same({}, found(list, 20))
    -- Nor does the time until the first launch has been compiled.
    list = {copy("read", 0, 1), wait(0, 1, "read"), launch(1, 1, 81)}
    list[3].start_ns = 80 * ms
    for i = 81, 99 do
      list[#list + 1] = copy("read", i, i + .4)
      list[#list + 1] = wait(i, i + .5, "read")
      list[#list + 1] = launch(1, i + .5, i + 1)
    end
    local late = found(list, 100)
    assert.same({"first_launches", 1}, {late[1].rule, #late})
  end)

  it("do not count the kernel's time on the same cores as launch cost",
    function()
    local list = {}
    for i = 0, 299 do
      list[#list + 1] = launch(1, i / 10, (i + .9) / 10)
      list[#list].call_ns = .091 * ms
    end
    assert.same({}, found(list, 30))
    for _, e in ipairs(list) do
      e.start_ns, e.end_ns = e.start_ns + .06 * ms, e.start_ns + .09 * ms
    end
    local short = found(list, 30)[1]
    assert.equal("short_launches", short.rule)
    assert.matches("300 times for 30.0 us each, .* about 61.0 us", short.text)
  end)

  it("report launches of several kernels shorter than their cost", function()
    local where = line(4)
    leads_to("short_launches", "square was launched 150 times", where,
      function()
      for _ = 1, 150 do
        m.square(64, x, y)
        m.add(64, y, 1)
      end
    end, {square = 2, add = 1})
  end)

  it("report repeated copies of the same bytes", function()
    local d = lze.buffer("int", n, {usage = "device"})
    local t = x:read()
    local where = line(3)
    leads_to("copies", "copied 3 more times, 768.0 KiB in all", where,
      function()
        for _ = 1, 5 do d:write(t) end
        m.add(n, d, 1)
      end)
    where = line(3)
    leads_to("copies", "read 3 more times", where, function()
      m.add(n, d, 1)
      for _ = 1, 4 do d:read() end
    end)
    x:fill(3)
    lze.wait()
    where = line(3)
    leads_to("copies", "copied 5 more times", where, function()
      for _ = 1, 7 do
        d:copy(x)
        m.square(n, d, y)
      end
    end)
  end)

  it("use the script's time for copies if it exceeds the device's", function()
    local list = {}
    for i = 0, 3 do
      list[#list + 1] = {kind = "copy", name = "write", where = "a.lua:1",
        device = "d", queue = 1, storage = 1, bytes = 4, again = i > 0 or nil,
        queued_ns = i * 10 * ms, call_ns = 9 * ms,
        start_ns = (i * 10 + 7) * ms, end_ns = (i * 10 + 8) * ms}
    end
    list = found(list, 40)
    assert.equal(1, #list)
    assert.equal("copies", list[1].rule)
    assert.equal(27 / 40, list[1].share)
  end)

  it("omit anything that costs hardly any time", function()
    local list = {launch(1, 0, 990)}
    for i = 0, 2 do
      local read = copy("read", 990 + i, 990 + i + .001)
      read.again, read.storage = i > 0 or nil, 1
      list[#list + 1] = read
      list[#list + 1] = {kind = "build", name = "module a", where = "a.lua:1",
        storage = 1, queued_ns = (993 + i) * ms, start_ns = (993 + i) * ms,
        end_ns = (994 + i) * ms}
    end
    local one = launch(1, 996, 1000)
    one.group = {1}
    list[#list + 1] = one
    assert.same({}, found(list, 1000))
  end)

  it("report groups of one", function()
    local seen, sizes = lze.buffer("int", 1009 * 1009 + 8),
      lze.buffer("int", 1009 * 1009 + 8)
    -- A prime larger than any group, with a kernel that must not be split.
    local where = line(2)
    leads_to("groups_of_one", "count_groups runs in groups of one work%-item",
      where, function() m.count_groups(1000003, seen, sizes) end)
    local new = launch(1, 0, 1)
    new["global"], new.group = {1009}, {1}
    new.why = "1 of 1009: no better size up to 4096 divides it"
    assert.equal("groups_of_one", found({new}, 1)[1].rule)
    new.why = "1 of 1009: the given group"
    assert.matches("given group%): leave `group` out$", found({new}, 1)[1].text)
    new.name = "array_sum" -- which no script can change
    assert.same({}, found({new}, 1))
  end)

  it("print as text", function()
    local p <close> = lze.profile(function()
      for _ = 1, 3 do lze.load "kernels/saxpy.spv":close() end
    end)
    local lines = {}
    for i, f in ipairs(p.findings) do
      lines[i] = ("%d: {rule = %s, share = %s, text = %s, where = %s}"):format(
        i, f.rule, f.share, f.text, f.where)
    end
    assert.is_true(#lines > 0)
    assert.equal(table.concat(lines, "\n"), tostring(p.findings))
  end)

  it("report builds inside the measured time", function()
    local where = line(3)
    leads_to("builds", "module kernels/saxpy.spv is built 3 times", where,
      function()
        for _ = 1, 3 do lze.load "kernels/saxpy.spv":close() end
      end, {build = 1})
    where = line(5)
    leads_to("builds", "module inside is built 3 times", where, function()
      for i = 1, 3 do
        local k <close> = lze.kernel(function(j, a) a[j] = i end,
          {name = "inside"})
        k(8, x)
      end
    end, {build = 1})
    -- Builds for two devices are one mistake.
    local events = {}
    for i = 1, 8 do
      events[i] = {kind = "build", name = "module k", where = "a.lua:1",
        storage = i % 2, queued_ns = i * ms, start_ns = i * ms,
        end_ns = (i + 1) * ms}
    end
    local list = rules.findings(events,
      {start_ns = 0, end_ns = 10 * ms, dropped = 0})
    assert.equal(1, #list)
    assert.matches("^module k is built 8 times", list[1].text)
    -- Builds that differ, or that happen once.
    assert.same({}, findings(function()
      local double <close> = lze.kernel(function(i, a) a[i] = a[i] + a[i] end)
      for _, kind in ipairs {"short", "int", "long", "float"} do
        double(8, lze.buffer(kind, 8))
      end
      for i = 1, 4 do m.square:prepare(1000 * i) end
    end, {build = 1, kernel = 1000}))
    where = line(3)
    leads_to("builds", "50 %% of the measured time, 1.0 ms, is building", where,
      function()
        lze.load "kernels/saxpy.spv":close()
        m.add(n, x, 1)
      end, {build = 1000, kernel = 1000})
  end)

  it("report the start of a whole program only if it takes long", function()
    local function build(to)
      return {kind = "build", name = "module a", where = "a.lua:1",
        storage = 1, queued_ns = 0, start_ns = 0, end_ns = to * ms}
    end
    local function of_program(events, to)
      return rules.findings(events, {start_ns = 0, end_ns = to * ms,
        dropped = 0, program = true})
    end
    -- The device also waits until its first kernel begins.
    local late = launch(1, 0, 1900)
    late.start_ns = 900 * ms
    assert.equal("builds", found({build(900)}, 1000)[1].rule)
    assert.same({}, of_program({build(900)}, 1000))
    assert.same("first_launches", found({late}, 1900)[1].rule)
    assert.same({}, of_program({late}, 1900))
    local list = of_program({build(1200)}, 3000)
    assert.equal("40 % of the program's time, 1.20 s, is building (module " ..
      "a): a further run may find it in a cache", list[1].text)
    late.start_ns = 1100 * ms
    assert.same("first_launches", of_program({late}, 1900)[1].rule)
    late.name = "array_add"
    assert.matches(": a further run may find it in a cache$",
      of_program({late}, 1900)[1].text)
    late.name = "k"
    -- The time before the first command belongs to the start of the program.
    assert.equal("idle", found({launch(1, 900, 910)}, 910)[1].rule)
    assert.same({}, of_program({launch(1, 900, 910)}, 910))
    assert.equal("idle", of_program({launch(1, 1100, 1110)}, 1110)[1].rule)
    -- Repeated builds are always a mistake.
    assert.equal("builds", of_program({build(1), build(1), build(1)},
      100)[1].rule)
    assert.is_nil(process.output([[
      local lze = require "lze"
      lze.load "kernels/saxpy.spv"]], {env = {LZE_PROFILE = "-"}})
      :find("measured time", 1, true))
  end)

  it("rank garbage after findings that cost time", function()
    local list = {}
    for i = 0, 19 do
      local from = i * 100
      list[#list + 1] = {kind = "alloc", name = "shared", bytes = 16 << 20,
        storage = i, where = "a.lua:1", queued_ns = from * ms,
        start_ns = from * ms, end_ns = from * ms}
      list[#list + 1] = launch(1, from, from + 60)
      list[#list + 1] = wait(from + 50, from + 91)
      list[#list + 1] = {kind = "free", name = "shared", bytes = 16 << 20,
        storage = i, collected = true, queued_ns = 1999 * ms,
        start_ns = 1999 * ms, end_ns = 1999 * ms}
    end
    table.sort(list, function(a, b) return a.queued_ns < b.queued_ns end)
    local rows = {}
    for i, f in ipairs(found(list, 2000)) do rows[i] = f.rule end
    assert.same({"waits", "garbage"}, rows)
  end)

  it("report memory held by garbage", function()
    local kept, where = {}, line(3)
    leads_to("garbage", "6 buffers that were made here, 96.0 MiB, were " ..
      "there at once until the collector freed them", where, function()
      for i = 1, 6 do kept[i] = lze.buffer("int", 1 << 22, {zero = false}) end
      assert.equal(6, #kept)
      kept = nil
      collectgarbage()
      collectgarbage()
    end)
    assert.same({}, findings(function()
      for _ = 1, 6 do
        local b <close> = lze.buffer("int", 1 << 22, {zero = false})
        assert(#b > 0)
      end
    end, {}))
    -- Many buffers are made, and the collector keeps up.
    local list = {}
    for i = 0, 99 do
      for _, kind in ipairs {"alloc", "free"} do
        list[#list + 1] = {kind = kind, name = "shared", bytes = 16 << 20,
          storage = i, where = kind == "alloc" and "a.lua:1" or nil,
          collected = kind == "free" or nil, queued_ns = i * ms,
          start_ns = i * ms, end_ns = i * ms}
      end
    end
    assert.same({}, found(list, 100))
  end)

  it("report buffers made again and again", function()
    local list = {}
    for i = 0, 9 do
      local from = i * 10
      list[#list + 1] = {kind = "alloc", name = "shared", bytes = 4,
        storage = i, where = "a.lua:3", queued_ns = from * ms,
        start_ns = from * ms, end_ns = (from + 8) * ms}
      list[#list + 1] = launch(1, from + 8, from + 10)
    end
    local made = found(list, 100)
    assert.same({"buffers", "a.lua:3", .8, 1},
      {made[1].rule, made[1].where, made[1].share, #made})
    assert.matches("^10 buffers are made here, .* 80 %% of the time",
      made[1].text)
    -- Not if the device has work during that time.
    for _, e in ipairs(list) do
      if e.kind == "kernel" then e.end_ns = e.end_ns + 8 * ms end
    end
    assert.same({}, found(list, 110))
    -- Nor for a few buffers: the device's next work is unknown then.
    assert.same({}, found({list[1], list[2]}, 16))
    local p <close> = lze.profile(function() lze.buffer("int", n):close() end)
    local e = of(p, "alloc")[1]
    assert.is_true(e.start_ns < e.end_ns)
  end)

  it("use only the recorded part of a profile without its beginning", function()
    local list = {}
    for i = 900, 999 do
      list[#list + 1] = launch(1, i, i + 1)
      list[#list].queued_ns = (i - 800) * ms -- after the dropped events
    end
    local about = {start_ns = 0, end_ns = 1000 * ms, dropped = 4321}
    assert.same({}, rules.findings(list, about))
    assert.matches("^profile: 100.0 ms, device busy 100 %%",
      rules.text(list, about))
    -- The profile cannot tell which launches are first.
    local late = launch(1, 900, 1000)
    late.start_ns = 960 * ms
    assert.same({}, rules.findings({late}, about))
    about.dropped = 0
    late.queued_ns = 0
    assert.equal("first_launches", rules.findings({late}, about)[1].rule)
  end)

  it("report a device that is idle while the host computes", function()
    local list = found({launch(1, 0, 10), launch(2, 90, 100)}, 100)
    assert.equal("idle", list[1].rule)
    assert.equal("a.lua:2", list[1].where)
    assert.matches("80.0 ms, 80 %% of the time.*%(80.0 ms of it before this " ..
      "line", list[1].text)
    list = found({launch(1, 0, 10), launch(2, 40, 50)}, 100)
    assert.equal("a.lua:2", list[1].where)
    assert.matches("80.0 ms, 80 %% of the time.*%(50.0 ms of it after this " ..
      "line", list[1].text)
    assert.same({}, found({launch(1, 0, 10), {kind = "wait", name = "k",
      queued_ns = 10 * ms, start_ns = 10 * ms, end_ns = 90 * ms},
      launch(2, 90, 100)}, 100))
  end)

  it("report a script that computes between its launches", function()
    local where = line(4)
    leads_to("idle", "100.0 ms, 100 %% of the time", where, function()
      for i = 1, 5 do
        lze.mark("compute", math.sqrt, i)
        m.add(n, x, 1)
      end
    end, {mark = 20000, kernel = 100})
  end)

  it("report two queues on the same buffer", function()
    local q <close> = lze.queue()
    local where = line(5)
    leads_to("queues", "never work at the same time, 4.0 ms and 4.0 ms",
      where, function()
      for _ = 1, 4 do
        q:launch(m.add, n, x, 1)
        m.add(n, x, 1)
      end
    end)
  end)

  it("do not report queues that are used one after the other", function()
    local list = {}
    for i = 0, 9 do
      list[#list + 1] = launch(i < 5 and 1 or 2, i * 10, i * 10 + 10)
    end
    assert.same({}, found(list, 100))
    -- All are enqueued before the first is over.
    for _, e in ipairs(list) do e.queued_ns = 0 end
    assert.equal("queues", found(list, 100)[1].rule)
  end)

  it("report short copies and fills like short launches", function()
    for _, kind in ipairs {"copy", "fill"} do
      local list = {}
      for i = 0, 999 do
        local e = copy(kind, 0, 0)
        e.kind, e.queued_ns = kind, i * 10 * us
        e.start_ns = e.queued_ns + us
        e.end_ns = e.start_ns + 30
        list[i + 1] = e
      end
      local made = found(list, 10)
      assert.same({"short_launches", .5, 1}, {made[1].rule, made[1].share,
        #made})
      assert.matches("^" .. kind .. " was called 1000 times for 30 ns each, " ..
        "and a call costs about 5.0 us: " .. kind .. " more at once$",
        made[1].text)
      -- The cost is at most the time from one call to the next.
      for i, e in ipairs(list) do
        e.queued_ns = 2 * i * us
        e.start_ns, e.end_ns = e.queued_ns + 970, e.queued_ns + us
      end
      assert.matches("a call costs about 2.0 us: ", found(list, 2)[1].text)
      -- The call for a large copy has no separate cost.
      for _, e in ipairs(list) do e.bytes = 1 << 20 end
      assert.same(kind == "fill" and "short_launches" or nil,
        (found(list, 10)[1] or {}).rule)
    end
  end)

  it("report work that waits in a batched queue", function()
    local late = launch(1, 900, 950)
    late.queued_ns, late.submitted_ns = 0, 899 * ms
    local list = found({late}, 1000)
    assert.same({"unflushed", .899, 1}, {list[1].rule, list[1].share, #list})
    assert.matches("^k lay in a batched queue .* 899.0 ms in all: q:flush",
      list[1].text)
    -- The device had other work.
    local before = launch(1, 0, 900)
    assert.same({}, found({before, late}, 1000))
    local q = lze.queue {mode = "batched"}
    local p <close> = lze.profile(function()
      q:launch(m.add, n, x, 1)
      q:flush()
      m.add(n, x, 1)
    end)
    local e, other = p.events[1], p.events[2]
    assert.is_true(e.submitted_ns >= e.queued_ns + e.call_ns)
    assert.is_nil(other.submitted_ns)
    q:close()
  end)

  it("do not report first launches behind earlier work", function()
    local late = launch(1, 0, 150)
    late.start_ns = 140 * ms
    assert.equal("first_launches", found({late}, 160)[1].rule)
    local function pending(list)
      return rules.findings(list, {start_ns = 0,
        end_ns = list[#list].end_ns, dropped = 0, pending = true})
    end
    assert.same({}, pending {late})
    -- From here on the state of the device is known.
    local other = launch(1, 150, 290, "other")
    other.start_ns = 280 * ms
    assert.equal("first_launches", pending({late, other})[1].rule)
  end)

  it("do not blame `group` for a size that the source requires", function()
    local e = launch(1, 0, 10)
    e.group, e.why = {1}, "1 of 64: the required group"
    assert.matches("leave reqd_work_group_size out of its source$",
      found({e}, 10)[1].text)
  end)

  it("do not report buffers that a script does not make", function()
    local d = lze.buffer("int", n, {usage = "device"})
    local names = {}
    local p <close> = lze.profile(function()
      d:write({1, 2, 3})
      lze.buffer("int", 4):close()
      lze.array.ones(8):eval()
      lze.array("int", {1, 2})
      load("local x <close> = (...)('int', 3)", "=lze array of mine")(
        lze.buffer)
    end)
    for _, e in ipairs(p.events) do
      if e.kind == "alloc" then
        names[e.name] = (names[e.name] or 0) + 1
      end
    end
    assert.same({staging = 1, shared = 2, array = 2}, names)
    local list = {}
    for i = 0, 9 do
      local from = i * 10 * ms
      list[#list + 1] = {kind = "alloc", name = "staging", bytes = 4,
        storage = i, where = "a.lua:3", queued_ns = from, start_ns = from,
        end_ns = from + 8 * ms}
      list[#list + 1] = launch(1, i * 10 + 8, i * 10 + 10)
    end
    assert.same({}, found(list, 100))
    for _, e in ipairs(list) do
      if e.kind == "alloc" then e.name = "array" end
    end
    assert.matches("^10 arrays are made here.*: write into arrays that are " ..
      "there, by x:set$", found(list, 100)[1].text)
  end)

  it("take one line each, even if names contain line breaks", function()
    local list = {}
    for i = 1, 3 do
      list[i] = {kind = "build", name = "module a\n  2. b\27[2J\u{9B}3m",
        storage = 1, where = "a.lua:1", queued_ns = i * ms, start_ns = i * ms,
        end_ns = (i + 1) * ms}
    end
    assert.matches("^module a   2. b %[2J 3m is built 3 times",
      found(list, 4)[1].text)
  end)

  it("report queues that never overlap", function()
    local apart = {launch(1, 0, 20), launch(2, 20, 50), launch(1, 50, 80),
      launch(2, 80, 100)}
    local list = found(apart, 100)
    assert.equal("queues", list[1].rule)
    assert.matches("queues 1 and 2 never work at the same time, 50.0 ms and " ..
      "50.0 ms", list[1].text)
    apart[2].start_ns = 10 * ms
    assert.same({}, found(apart, 100))
  end)

  it("report a first launch that waits for the driver's compiler", function()
    local late = launch(1, 0, 100)
    late.start_ns = 60 * ms
    local list = found({late, launch(1, 100, 140)}, 140)
    assert.equal("first_launches", list[1].rule)
    assert.matches("60.0 ms until k began for the first time", list[1].text)
    -- Not if the device was busy during that time.
    assert.same({}, found({launch(1, 0, 60, "other"), late}, 100))
    -- Nor if the launch waited for a dependency.
    local other, behind = launch(1, 0, 100, "other"), launch(2, 0, 150)
    other.device_number, behind.device_number = 1, 2
    behind.start_ns, behind.after = 110 * ms, 1
    assert.same({}, found({other, behind}, 150))
    behind.after = nil
    assert.equal("first_launches", found({other, behind}, 150)[1].rule)
    -- In several group sizes, and a kernel that no script can prepare.
    local again = launch(1, 100, 160)
    again.start_ns, again.group = 150 * ms, {16}
    list = found({late, again}, 160)
    assert.matches("110.0 ms until k began for the first time in each of 2 " ..
      "group sizes, .*: launch it with fewer ranges", list[1].text)
    late.name = "array_add"
    list = found({late}, 100)
    assert.matches(": run it once before what is measured$", list[1].text)
    late.name = "k"
    -- A plan's first run, if a later one is shorter.
    local runs = {launch(1, 0, 100, "graph g"), launch(1, 100, 110, "graph g")}
    for _, e in ipairs(runs) do e.kind, e.group = "graph", nil end
    list = found(runs, 110)
    assert.equal("the first run of graph g on the device took 90.0 ms more " ..
      "than later ones, in which drivers compile its kernels: run it once " ..
      "before what is measured", list[1].text)
    runs[2].end_ns = 190 * ms
    assert.same({}, found(runs, 190))
    -- Each device compiles for itself.
    local first, second = launch(1, 0, 10), launch(2, 0, 100)
    second.start_ns = 60 * ms
    first.device_number, second.device_number = 1, 2
    list = found({first, second}, 100)
    assert.equal("first_launches", list[1].rule)
    assert.matches("^device 2 waited 60.0 ms until k began for the first time",
      list[1].text)
  end)

  it("are ordered by their cost", function()
    local events = {}
    for i = 0, 199 do
      events[#events + 1] = launch(1, i, i + .001)
      events[#events].end_ns = i * ms + us
      events[#events + 1] = {kind = "wait", name = "k", where = "a.lua:9",
        queued_ns = i * ms, start_ns = i * ms, end_ns = i * ms + 700 * us}
    end
    local list = found(events, 200)
    assert.equal("waits", list[1].rule)
    for i = 2, #list do
      assert.is_true(list[i - 1].share >= list[i].share)
    end
  end)

  it("appear in the text of a profile", function()
    local p = lze.profile(function()
      for _ = 1, 3 do lze.load "kernels/saxpy.spv":close() end
    end)
    assert.equal("builds", p.findings[1].rule)
    assert.matches("findings\n  1%. " .. here:gsub("%p", "%%%0") ..
      ":%d+: module kernels/saxpy.spv is built 3 times", tostring(p))
    p:close()
  end)
end)

describe("tostring of a profile", function()
  it("has a table for each kind of event", function()
    local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)
    local p = lze.profile(function()
      for _ = 1, 2 do m.square(1000, x, y) end
      y:fill(1)
      lze.mark("here", y.read, y)
    end)
    local text = tostring(p)
    assert.matches("^profile: [%d.]+ %a+, device busy %d+ %%, host waiting " ..
      "%d+ %%, building 0 %%, %d+ events\n", text)
    assert.matches("\nkernels\n *%% +total +count +mean +min +max ", text)
    assert.matches("\n +[%d.]+ +[%d.]+ %l+ +2 +[%d.]+ %l+ .* square +" ..
      here:gsub("%p", "%%%0"), text)
    for _, title in ipairs {"copies and fills", "marks", "findings"} do
      assert.matches("\n" .. title, text)
    end
    p:close()
  end)

  it("shows times and sizes in suitable units", function()
    local function event(kind, name, ns, bytes)
      return {kind = kind, name = name, where = "x.lua:1", device = "d",
        queue = 1, queued_ns = 0, submitted_ns = 0, start_ns = 0, end_ns = ns,
        call_ns = 1500, bytes = bytes, ["global"] = {1}, group = {1}}
    end
    local text = rules.write("txt", {event("kernel", "slow", 824472700, nil),
      event("kernel", "quick", 65300, nil), event("copy", "moved", 2000000,
      3 << 20)}, {start_ns = 0, end_ns = 10 ^ 9, dropped = 0})
    assert.matches("\n +82%.4 +824%.5 ms +1" .. (" +824%.5 ms"):rep(3) ..
      " [^\n]* slow +x%.lua:1\n", text)
    assert.matches("\n +0%.0 +65%.3 us +1 +65%.3 us [^\n]* quick +x%.lua:1\n",
      text)
    assert.matches("\n +0%.2 +2%.0 ms +1 +3%.0 MiB +1%.57 +1%.5 us +moved +" ..
      "x%.lua:1\n", text)
  end)

  it("names kernels of arrays by the operations that they compute", function()
    local A = lze.array
    local x = A("float", {1, 2, 3})
    local p = lze.profile(function()
      A.fuse(function() return (x * 2 + 1):sqrt() * x end)():eval()
      A.fuse(function()
        return ((x * 2 + 1) * x - 1):abs():exp():neg()
      end)():eval()
      x:neg():eval()
    end)
    local names = {}
    for i, e in ipairs(of(p, "kernel")) do names[i] = e.name end
    assert.same({"array_mul_add_sqrt_mul",
      "array_1_more_add_mul_sub_abs_exp_neg", "array_neg"}, names)
    p:close()
  end)

  it("counts the same bytes for tasks and for launches", function()
    local n <const> = 100
    local x, y = lze.buffer("int", 4 * n), lze.buffer("int", 5 * n)
    local plan <close> = lze.graph():task("square", m.square, n, x, y)
      :task("add", m.add, n, y, 1):compile {profile = true}
    local p <close> = lze.profile(function()
      m.square(n, x, y)
      m.add(n, y, 1)
      plan:run()
    end)
    local launches, tasks = of(p, "kernel"), of(p, "task")
    assert.same({8 * n, 8 * n}, {launches[1].bytes, launches[2].bytes})
    assert.same({8 * n, 8 * n}, {tasks[1].bytes, tasks[2].bytes})
  end)

  it("compares kernels with the limits of the device", function()
    local prompt = require "lze.prompt"
    local name = lze.device().name
    local n = 1 << 12
    local x, y = lze.buffer("int", n), lze.buffer("int", n + 7)
    local p = lze.profile(function()
      m.square(n, x, y)
      m.add(n, y, 1)
    end)
    local launches = of(p, "kernel")
    -- square reads one buffer and writes the other; add reads and writes one.
    assert.same({8 * n, 8 * n}, {launches[1].bytes, launches[2].bytes})
    local before = prompt.limits(name)
    prompt.limits(name, {copy = 1e-3, float = 3.25})
    local text = tostring(p)
    local e = launches[1]
    local rate = e.bytes / (e.end_ns - e.start_ns)
    assert.matches((" %.2f +%.0f %% +%%- +%d +square "):format(rate, rate * 1e5,
      e.group[1]):gsub("%% ", "%%%% "), text)
    assert.is_truthy(text:find(name .. " was measured: a copy 0.0 GB/s " ..
      "(more: from caches, or with fewer stores than loads), float 3.2 " ..
      "GFLOP/s\n", 1, true))
    prompt.limits(name, before or {})
    if not before then
      assert.matches("was not measured: lze bench %-%-device does",
        tostring(lze.profile(m.add, n, y, 1)))
    end
    p:close()
  end)

  it("does not wait while the profile records", function()
    local x = lze.buffer("int", 16)
    local p <close> = lze.profile()
    m.add(16, x, 1)
    assert.matches("^profile: .* so far, ", tostring(p))
    assert.equal(1, #of(p, "kernel"))
  end)

  it("says how many events are pending, and shows no times for them", function()
    local x = lze.buffer("int", 16)
    local p <close> = lze.profile()
    local q <close> = lze.queue {mode = "batched"}
    q:launch(m.add, 16, x, 1)
    assert.matches("^[^\n]*, %d+ events, 1 not over\n\nfindings", tostring(p))
    p:stop()
    assert.matches("^[^\n]*, %d+ events\n\nkernels", tostring(p))
  end)
end)

describe("p:save", function()
  before_each(collect)

  local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)

  local function profile()
    return (lze.profile(function()
      m.square(1000, x, y)
      lze.mark('"a, <b> \\ c"\n', y.copy, y, x, 1, 10)
      lze.mark "point"
      lze.buffer("int", 10):close()
      lze.wait()
    end))
  end

  it("begins and ends with the profile", function()
    collectgarbage()
    collectgarbage()
    local p
    local old = lze.buffer("int", 1 << 18)
    local around <close> = lze.profile()
    lze.mark("long", function()
      local before = os.clock()
      while os.clock() < before + .02 do end
      p = lze.profile()
    end)
    local new = lze.buffer("int", 1 << 16)
    old:close()
    p:stop()
    local now = lze.stats().bytes
    local ms_in_all = (p.end_ns - p.start_ns) / 1e6
    local took, unit = tostring(p):match "%d+%.%d +([%d.]+) (%ls) +1  long "
    local ms = {ms = 1, us = 1e-3, ns = 1e-6}
    assert.is_true(ms[unit] * took <= ms_in_all + .051)
    process.with_directory(function(dir)
      p:save(dir .. "/p.json")
      local trace = json.decode(read(dir .. "/p.json")).traceEvents
      local memory = {}
      for _, e in ipairs(trace) do
        if e.name == "long" then
          assert.is_true(e.dur <= ms_in_all * 1000 + .001)
        elseif e.ph == "C" and e.name == "memory" then
          memory[#memory + 1] = e.args.bytes
        end
      end
      -- Memory from before the profile counts.
      assert.equal(now, memory[#memory])
      assert.equal(now + (1 << 20), math.max(table.unpack(memory)))
    end)
    new:close()
    p:close()
    assert.is_true(around.recording)
  end)

  it("is not affected if a script changes the events", function()
    local x = lze.buffer("int", 64)
    local p <close> = lze.profile(function() m.add(64, x, 1) end)
    local text, events = tostring(p), p.events
    assert.equal(events, p.events)
    table.sort(events, function(a, b) return a.queued_ns > b.queued_ns end)
    events[1].name = nil
    assert.equal(text, tostring(p))
  end)

  it("writes a table of all events", function()
    process.with_directory(function(dir)
      local p = profile()
      assert.equal(p, p:save(dir .. "/run.csv"))
      local text = read(dir .. "/run.csv")
      assert.matches("^kind,name,where,device,queue,queued_ns,start_ns,", text)
      assert.matches('\nmark,"""a, <b> \\ c""\n",', text)
      local e = of(p, "kernel")[1]
      assert.is_truthy(text:find(("\nkernel,square,%s,%s,%d,%d,%d,%d,"):format(
        e.where, (e.device:gsub(".*,.*", '"%0"')), e.queue, e.queued_ns,
        e.start_ns, e.end_ns), 1, true))
      -- The table has a column for every field of an event.
      local columns = {}
      for column in text:match "^[^\n]*":gmatch "[^,]+" do
        columns[column] = true
      end
      for _, event in ipairs(p.events) do
        for key in pairs(event) do assert.is_true(columns[key], key) end
      end
      p:save(dir .. "/run.txt")
      assert.equal(tostring(p) .. "\n", read(dir .. "/run.txt"))
    end)
  end)

  it("writes a trace that includes every nanosecond", function()
    process.with_directory(function(dir)
      local p = profile():save(dir .. "/run.json")
      local trace = json.decode(read(dir .. "/run.json"))
      local by_name, rows = {}, {}
      for _, e in ipairs(trace.traceEvents) do
        if e.ph == "M" then rows[#rows + 1] = e.args.name
        elseif e.ph == "s" or e.ph == "f" then by_name[e.ph] = e
        elseif e.cat ~= "wait" then by_name[e.name] = e end
      end
      local e, t = of(p, "kernel")[1], by_name.square
      assert.equal("X", t.ph)
      assert.is_true(t.pid > 1)
      local function ns(micros) return math.floor(micros * 1000 + .5) end
      assert.equal(e.start_ns - p.start_ns, ns(t.ts))
      assert.equal(e.end_ns - e.start_ns, ns(t.dur))
      assert.equal(e.where, t.args.where)
      assert.equal("1000", t.args.global)
      -- The copy waits for the kernel that reads the copy's target.
      assert.same({t.pid, by_name.copy.pid}, {by_name.s.pid, by_name.f.pid})
      assert.equal(by_name.s.id, by_name.f.id)
      assert.equal(by_name.copy.ts, by_name.f.ts)
      assert.is_true(by_name.s.ts >= t.ts and by_name.s.ts <= t.ts + t.dur)
      assert.equal("i", by_name.point.ph)
      assert.equal("X", by_name['"a, <b> \\ c"\n'].ph)
      assert.equal("C", by_name.memory.ph)
      local names = table.concat(rows, ",")
      assert.matches("^process %d+,script,waits,builds,", names)
      assert.is_truthy(names:find(e.device, 1, true))
    end)
  end)

  it("writes marks that overlap into separate rows", function()
    local function mark(name, from, to)
      return {kind = "mark", name = name, queued_ns = from, start_ns = from,
        end_ns = to}
    end
    local trace = json.decode(rules.write("json", {mark("inner", 20, 30),
      mark("outer", 10, 50), mark("other", 40, 70), mark("point", 45, 45),
      mark("within", 55, 70), mark("after", 50, 60), mark("last", 70, 80)},
      {start_ns = 0, end_ns = 100, dropped = 0}))
    local names, found = {}, {}
    for _, e in ipairs(trace.traceEvents) do
      if e.name == "thread_name" then names[e.tid] = e.args.name end
      if e.cat == "mark" then found[e.name] = e.tid end
    end
    for name, tid in pairs(found) do found[name] = names[tid] end
    assert.same({inner = "script", outer = "script", other = "script 2",
      point = "script", after = "script", within = "script 2",
      last = "script"}, found)
  end)

  it("writes a page that needs no other files", function()
    process.with_directory(function(dir)
      local p = profile():save(dir .. "/run.html")
      local page = read(dir .. "/run.html")
      assert.matches("^<!DOCTYPE html>", page)
      assert.is_nil(page:find "https?:")
      assert.is_nil(page:find "@%u+@")
      -- The findings come first, because people open the page for them.
      assert.matches("<pre>profile: [^\n]*\n\nfindings.-\n\nkernels\n", page)
      assert.is_true(page:find("<pre>", 1, true) <
        page:find("<canvas", 1, true))
      local data = json.decode(page:match
        '<script type="application/json" id="data">(.-)</script>')[1]
      assert.equal(p.end_ns - p.start_ns, data["end"])
      local rows = {}
      for _, row in ipairs(data.rows) do
        rows[row.name] = {}
        for i, v in ipairs(row.events) do
          rows[row.name][i] = data.strings[v[3] + 1]
        end
      end
      assert.same({'"a, <b> \\ c"\n', "point"}, rows.script)
      assert.same({"square"}, rows["queue " .. of(p, "kernel")[1].queue])
      assert.same({"copy"}, rows["queue " .. of(p, "copy")[1].queue ..
        " copies"])
      assert.equal(2, #data.plots[1].points)
    end)
  end)

  it("writes UTF-8 even if names are not valid UTF-8", function()
    local lost, good = "\u{FFFD}", "A\u{7FF}\u{800}\u{D7FF}\u{E000}" ..
      "\u{FFFD}\u{10000}\u{10FFFF}\"\t"
    local names = {[good] = good, ["a\xFFb"] = "a" .. lost .. "b",
      ["\x80\xBF"] = lost .. lost,
      ["\xC3\xC3\xA4\xC3"] = lost .. "\u{E4}" .. lost,
      ["\xC0\x80"] = lost .. lost, ["\xE0\x9F\xBF"] = lost:rep(3),
      ["\xED\xA0\x80z"] = lost:rep(3) .. "z",
      ["\xF0\x8F\xBF\xBF"] = lost:rep(4),
      ["\xF4\x90\x80\x80"] = lost:rep(4),
      ["\xE2\x82"] = lost .. lost, ["\xF8"] = lost}
    local marked = {}
    local p = lze.profile(function()
      for name in pairs(names) do
        marked[#marked + 1] = name
        lze.mark(name)
      end
    end)
    process.with_directory(function(dir)
      p:save(dir .. "/run.json"):save(dir .. "/run.html")
      local text, page = read(dir .. "/run.json"), read(dir .. "/run.html")
      assert.is_truthy(utf8.len(text))
      assert.is_truthy(utf8.len(page))
      local found, wanted = {}, {}
      for _, e in ipairs(json.decode(text).traceEvents) do
        if e.cat == "mark" then found[#found + 1] = e.name end
      end
      for i, name in ipairs(marked) do wanted[i] = names[name] end
      assert.same(wanted, found)
      local data = json.decode(page:match
        '<script type="application/json" id="data">(.-)</script>')[1]
      for i, e in ipairs(data.rows[1].events) do
        assert.equal(wanted[i], data.strings[e[3] + 1])
      end
    end)
  end)

  it("counts characters in tables, and never cuts one in half", function()
    local p = lze.profile(function()
      lze.mark(("\u{E4}"):rep(20))
      lze.mark "short"
    end)
    local cut = ("\u{E4}"):rep(6) .. "..." .. ("\u{E4}"):rep(8)
    local text = tostring(p)
    assert.is_truthy(text:find("  " .. cut .. "  " .. here .. ":", 1, true))
    assert.is_truthy(text:find("  short" .. (" "):rep(utf8.len(cut) - 5) ..
      "  " .. here .. ":", 1, true))
  end)

  it("keeps each name on one line, even if it contains line breaks", function()
    local p = lze.profile(function()
      lze.mark "a\n  b\27[2J\u{E4}"
      assert(load("require('lze').mark 'x'", "=c\n\27[2Jd"))()
    end)
    local text = tostring(p)
    assert.is_truthy(text:find("  a   b [2J\u{E4}  " .. here .. ":", 1, true))
    assert.is_truthy(text:find("  c  [2Jd:1\n", 1, true))
  end)

  -- Runs a script and returns the names of its processes and rows, in order.
  local function of_devices(script, env)
    local found
    process.with_directory(function(dir)
      env.SPEC_DIR = dir
      local output = process.output([[
        local lze = require "lze"
        local seen = {}
        local function launch(d)
          local k = lze.load("kernels/spec.spv", {device = d}).add
          local x = lze.buffer("int", 64, {device = d})
          k(64, x, 1)
          assert(x[64] == 1)
        end
        local p = lze.profile(function() ]] .. script .. [[ end)
        for _, e in ipairs(p.events) do
          if e.kind == "kernel" or e.kind == "alloc" then
            seen[#seen + 1] = ("%s %s.%s"):format(e.kind, e.device_number,
              e.tile)
          end
        end
        p:save(os.getenv "SPEC_DIR" .. "/p.json")
        p:save(os.getenv "SPEC_DIR" .. "/p.html")
        print(table.concat(seen, "\n"))]], {env = env})
      local data = json.decode(read(dir .. "/p.html"):match
        '<script type="application/json" id="data">(.-)</script>')[1]
      found = {events = output, processes = {}, rows = {},
        devices = data.devices}
      for _, e in ipairs(json.decode(read(dir .. "/p.json")).traceEvents) do
        if e.name == "process_name" and e.pid > 1 then
          found.processes[#found.processes + 1] = e.args.name
        end
      end
      for _, row in ipairs(data.rows) do
        if row.device >= 0 then
          found.rows[#found.rows + 1] = row.name:gsub(" %d+$", "")
          found[#found + 1] = data.devices[row.device + 1]
        end
      end
    end)
    return found
  end

  it("numbers devices of one name as lze.devices() does",
    function()
      local name = lze.device().name
      local seen = of_devices("launch(lze.devices()[2]) launch(1)",
        {ZOCL_ROOT_DEVICES = "2"})
      assert.equal("alloc 2.nil\nkernel 2.nil\nalloc 1.nil\nkernel 1.nil\n",
        seen.events)
      local names = {"device 2: " .. name, "device 1: " .. name}
      assert.same({names, names}, {seen.processes, seen.devices})
      assert.same(names, {seen[1], seen[2]})
      assert.same({"device 2, queue", "device 1, queue"}, seen.rows)

      seen = of_devices("launch(1) launch(lze.device():subdevices()[2])",
        {ZOCL_SUB_DEVICES = "2"})
      assert.equal("alloc 1.nil\nkernel 1.nil\nalloc 1.2\nkernel 1.2\n",
        seen.events)
      assert.same({"device 1, queue", "device 1 tile 2, queue"}, seen.rows)
      -- Only visible devices are numbered.
      seen = of_devices("launch(1) launch(2)", {ZOCL_SUB_DEVICES = "2",
        ONEAPI_DEVICE_SELECTOR = "*:0.*"})
      assert.equal("alloc 1.nil\nkernel 1.nil\nalloc 2.nil\nkernel 2.nil\n",
        seen.events)
      -- With one device, the names of rows do not mention it.
      seen = of_devices("launch(1)", {})
      assert.same({{"queue"}, {"device 1: " .. name}},
        {seen.rows, seen.processes})
    end)

  it("has separate rows for each of several devices", function()
    local text = process.output([[
      local lze = require "lze"
      local prompt = require "lze.prompt"
      local before = prompt.limits(lze.device().name)
      prompt.limits(lze.device().name, {copy = 1, float = 1})
      print(lze.profile(function()
        for i, d in ipairs(lze.devices()) do
          local k = lze.load("saxpy", {device = d}).saxpy
          local x = lze.buffer("float", 16, {device = d})
          for _ = 1, i do k(16, 2, x, x) x:fill(1) end
        end
      end))
      prompt.limits(lze.device().name, before or {})]],
      {env = {ZOCL_ROOT_DEVICES = "2"}})
    local rows = {}
    for count, device, name in text:gmatch
      "\n +[%d.]+ +[%d.]+ %l+ +(%d+) [^\n]* (device %d) +(%a+)  stdin:"
    do
      rows[#rows + 1] = ("%s %s %s"):format(device, count, name)
    end
    table.sort(rows)
    assert.same({"device 1 1 fill", "device 1 1 saxpy", "device 2 2 fill",
      "device 2 2 saxpy"}, rows)
    for i = 1, 2 do
      assert.matches(("\n  saxpy on device %d: [^\n]*GFLOP"):format(i), text)
    end
  end)

  it("also numbers devices at the program's end", function()
    process.with_directory(function(dir)
      process.output([[
        local lze = require "lze"
        lze.buffer("int", 16, {device = lze.devices()[2]}):fill(1)
        lze.wait()]], {env = {LZE_PROFILE = dir .. "/p.csv",
        ZOCL_ROOT_DEVICES = "2"}})
      local head, fill = read(dir .. "/p.csv"):match "^(.-)\n.-\n(fill,.-)\n"
      assert.matches(",untimed,device_number,tile,", head)
      assert.matches(",2,,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,$", fill)
    end)
  end)

  it("writes decimal points in a locale with commas", function()
    local script = [[
      local lze = require "lze"
      assert(os.setlocale(os.getenv "SPEC_LOCALE"))
      assert(tostring(0.5) == "0,5")
      local p = lze.profile(lze.mark, "m", function() end)
      p:save(os.getenv "SPEC_DIR" .. "/run.json")
      p:save(os.getenv "SPEC_DIR" .. "/run.html")
      local rules = assert(loadfile "lua/profile.lua") {
        json = assert(loadfile "lua/json.lua")}
      local events = {{kind = "power", name = "power", device = "d",
        watts = 12.5, queued_ns = 0, start_ns = 0, end_ns = 9}}
      local about = {start_ns = 0, end_ns = 9, bytes = 0}
      assert(rules.write("csv", events, about):find ",12.5,")
      assert(rules.write("json", events, about):find ":12.500}") ]]
    process.with_directory(function(dir)
      local made = os.execute(("exec >'%s/log' 2>&1; localedef -c -i de_DE " ..
        "-f UTF-8 '%s/de_DE.UTF-8'"):format(dir, dir))
      if not made then pending "no localedef, or nothing to make one from" end
      process.output(script, {env = {LOCPATH = dir, SPEC_DIR = dir,
        SPEC_LOCALE = "de_DE.UTF-8"}})
      assert.matches('"ts":%d+%.%d%d%d,"dur":%d+%.%d%d%d', read(dir ..
        "/run.json"))
    end)
  end)
end)

describe("LZE_PROFILE", function()
  local script = [[
    local lze = require "lze"
    local m = lze.load "kernels/spec.spv"
    local x = lze.buffer("int", 64)
    m.add(64, x, 1)
    assert(x[64] == 1)
    lze.mark "near the end"
    m.add(64, x, 1)
  ]]

  it("writes a file however the program ends", function()
    process.with_directory(function(dir)
      for ending, code in pairs {[""] = 0, ["os.exit(3)"] = 3,
        ["os.exit(4, true)"] = 4, ["error 'boom'"] = 1,
        ["coroutine.wrap(function() os.exit(5) end)()"] = 5} do
        local path = dir .. "/run.json"
        local r = process.run(script .. ending, {env = {LZE_PROFILE = path}})
        assert.equal(code, r.code)
        local names = {}
        for _, e in ipairs(json.decode(read(path)).traceEvents) do
          names[e.name] = true
        end
        assert.is_true(names.add and names["near the end"])
        os.remove(path)
      end
    end)
  end)

  it("writes nothing else into the file if standard streams are closed",
    function()
    process.with_directory(function(dir)
      local path = dir .. "/run.csv"
      for closed, write in pairs {["1>&-"] = "print 'this'",
        ["2>&-"] = "io.stderr:write 'this'"} do
        local r = process.run("local lze = require 'lze'\n" .. write,
          {env = {LZE_PROFILE = path}, before = "exec " .. closed})
        assert.equal(0, r.code)
        assert.matches("^kind,name,where,[^\n]*\n$", read(path))
      end
    end)
  end)

  it("leaves no file if a signal ends the program", function()
    process.with_directory(function(dir)
      process.write(dir .. "/old.csv", "of an earlier run")
      assert(os.execute(("ln -s old.csv '%s/link.csv'"):format(dir)))
      for _, name in ipairs {"new", "old", "link"} do
        local r = process.run(script .. "os.execute 'kill -TERM $PPID'" ..
          "while true do end", {env = {LZE_PROFILE = dir .. "/" .. name ..
          ".csv"}})
        assert.same({"signal", 15}, {r.how, r.code})
      end
      local list <close> = io.popen(("ls '%s'"):format(dir))
      assert.equal("link.csv\n", list:read "a")
      -- The link still points to its file.
      process.output(script, {env = {LZE_PROFILE = dir .. "/link.csv"}})
      assert.matches("^kind,name,", read(dir .. "/old.csv"))
    end)
  end)

  it("puts the process and the rank into the name", function()
    process.with_directory(function(dir)
      local r = process.run(script, {env = {LZE_PROFILE = dir .. "/a.%p.csv",
        PMI_RANK = "3"}, before = "echo $$"})
      assert.equal("", r.output:gsub("^%d+\n", ""))
      local list <close> = io.popen(("ls '%s'"):format(dir))
      assert.matches("^a%.%d+%.3%.csv\n$", list:read "a")
    end)
  end)

  it("also writes to files that cannot be truncated", function()
    process.with_directory(function(dir)
      for device, said in pairs {["/dev/null"] = "", ["/dev/full"] =
        "lze: LZE_PROFILE: the profile is not written: No space left on " ..
        "device\n"} do
        local path = dir .. device:gsub("/", ".") .. ".csv"
        assert(os.execute(("ln -s %s '%s'"):format(device, path)))
        assert.equal(said, process.run(script, {env = {LZE_PROFILE = path}})
          .output)
      end
    end)
  end)

  it("shows text, and immediately refuses a file that it cannot write",
    function()
    assert.matches("\nkernels\n", process.output(script,
      {env = {LZE_PROFILE = "-"}}))
    for name, message in pairs {
      ["run.pdf"] = "LZE_PROFILE=run.pdf: %-, or a name that ends in .csv, " ..
        ".html, .json or .txt expected",
      ["/proc/none/run.csv"] = "LZE_PROFILE=/proc/none/run.csv: " ..
        "/proc/none/run.csv: No such file or directory",
    } do
      local r = process.run(script, {env = {LZE_PROFILE = name}})
      assert.equal(1, r.code)
      assert.matches(message, r.output)
    end
  end)
end)
