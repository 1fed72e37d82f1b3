-- trace_spec.lua - lze trace merge: profiles of several processes as one.
-- SPDX-License-Identifier: MIT

local json = require "bench.lib.json"
local process = require "spec.support.process"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Returns the output of the command and its exit status.
local function run(words)
  local r = process.run(("arg = {[0] = 'bin/lze', 'trace', %s}\n" ..
    "dofile 'bin/lze'"):format(words))
  return r.output, r.code
end

local script = [[
  local lze = require "lze"
  local m = lze.load "kernels/spec.spv"
  local x = lze.buffer("int", 64)
  m.add(64, x, 1)
  m.add(64, x, 1)
  lze.mark('"pid":7 "ts":1.5', lze.wait)
]]

local function profiles(dir, ending)
  local paths = {}
  for rank = 0, 1 do
    process.output(script, {env = {LZE_PROFILE = dir .. "/run" .. ending,
      PMI_RANK = tostring(rank)}})
    paths[rank + 1] = ("%s/run.%d%s"):format(dir, rank, ending)
  end
  return paths
end

describe("lze trace merge", function()
  it("puts traces of one machine on one clock", function()
    process.with_directory(function(dir)
      local paths = profiles(dir, ".json")
      local output, code = run(("'merge', %q, '-o', %q, %q"):format(paths[1],
        dir .. "/all.json", paths[2]))
      assert.same({"", 0}, {output, code})
      local all = json.decode(read(dir .. "/all.json"))
      local one, starts = {}, {}
      for i, path in ipairs(paths) do
        one[i] = json.decode(read(path))
        starts[i] = one[i].otherData.start_ns
        assert.equal("rank " .. i - 1, one[i].otherData.process)
      end
      for i, about in ipairs(all.otherData.processes) do
        assert.equal(starts[i], about.start_ns)
      end
      assert.equal(#one[1].traceEvents + #one[2].traceEvents, #all.traceEvents)
      local names, ids = {}, {}
      local function ns(micros) return math.floor(micros * 1000 + .5) end
      for i, e in ipairs(all.traceEvents) do
        local second = i > #one[1].traceEvents
        local old = second and one[2].traceEvents[i - #one[1].traceEvents] or
          one[1].traceEvents[i]
        assert.equal(old.name, e.name)
        if old.ts then
          assert.equal(ns(old.ts) + (second and starts[2] - starts[1] or 0),
            ns(e.ts))
        end
        -- The two traces have separate processes and arrows.
        assert.equal(second, e.pid > 2)
        if e.ph == "s" then ids[#ids + 1] = e.id end
        if e.name == "process_name" then names[#names + 1] = e.args.name end
      end
      local device = "device 1: " .. require "lze".device().name
      assert.same({"rank 0", "rank 0: " .. device, "rank 1",
        "rank 1: " .. device}, names)
      assert.is_true(#ids == 2 and ids[1] ~= ids[2])
    end)
  end)

  -- Returns a trace with one event, named after its process.
  local function trace_of(name, boot, start, epoch)
    return ('{"displayTimeUnit":"ns","otherData":{"process":"%s",' ..
      '"boot":"%s","start_ns":%d,"epoch_ns":%d},"traceEvents":[\n' ..
      '{"ph":"X","pid":2,"tid":1,"name":"%s","ts":1.500,"dur":2.000}\n]}\n')
      :format(name, boot, start, epoch, name)
  end

  -- Merges files of a table; returns the trace and each event's start in it.
  local function merged(files, ...)
    local text, reason = dofile "command/trace.lua".merge({...},
      function(path) return files[path] end)
    local at = {}
    for _, e in ipairs(json.decode(assert(text, reason)).traceEvents) do
      at[e.name] = e.ts
    end
    return text, at
  end

  it("uses the time of day for traces of several machines", function()
    -- Traces that do not name their machine count as several machines, too.
    for boot, other in pairs {one = "two", [""] = ""} do
      local _, at = merged({["a.json"] = trace_of("a", boot, 999, 5000),
        ["b.json"] = trace_of("b", other, 1, 7250)}, "a.json", "b.json")
      assert.same({a = 1.5, b = 3.75}, at)
    end
  end)

  it("keeps one clock for each machine among several machines", function()
    -- One machine's clock was set by a second between its two traces.
    local files = {["a.json"] = trace_of("a", "one", 1000, 5000),
      ["b.json"] = trace_of("b", "one", 3000, 1000005000),
      ["c.json"] = trace_of("c", "two", 1, 6000)}
    local wanted = {a = 1.5, b = 3.5, c = 2.5}
    local _, at = merged(files, "a.json", "b.json", "c.json")
    assert.same(wanted, at)
    files["all.json"], at = merged(files, "a.json", "c.json")
    assert.same({a = 1.5, c = 2.5}, at)
    -- Merging a merged trace again gives the same result.
    files["whole.json"], at = merged(files, "all.json", "b.json")
    assert.same(wanted, at)
    files["d.json"] = trace_of("d", "two", 11001, 5)
    wanted.d = 13.5
    _, at = merged(files, "d.json", "whole.json")
    assert.same(wanted, at)
  end)

  it("refuses a process that it already has", function()
    local trace = dofile "command/trace.lua"
    local files = {["a.json"] = trace_of("rank 0", "one", 1000, 5000),
      ["b.json"] = trace_of("rank 1", "one", 1000, 5000),
      ["c.json"] = trace_of("rank 0", "one", 1001, 5000)}
    files["all.json"] = merged(files, "a.json", "b.json", "c.json")
    for reason, paths in pairs {
      ["a.json: its rank 0 is in a.json, too"] = {"a.json", "b.json", "a.json"},
      ["b.json: its rank 1 is in all.json, too"] = {"all.json", "b.json"},
    } do
      assert.same({nil, reason}, {trace.merge(paths, function(path)
        return files[path]
      end)})
    end
    process.with_directory(function(dir)
      local paths = profiles(dir, ".html")
      local all = dir .. "/all.html"
      process.write(all, (assert(trace.merge(paths, read))))
      assert.same({nil, all .. ": its rank 1 is in " .. paths[2] .. ", too"},
        {trace.merge({paths[2], all}, read)})
    end)
  end)

  it("merges pages, with the text of all of them", function()
    process.with_directory(function(dir)
      local paths = profiles(dir, ".html")
      local output, code = run(("'merge', %q, %q"):format(paths[1], paths[2]))
      assert.equal(0, code)
      local data = json.decode(output:match
        '<script type="application/json" id="data">(.-)</script>')
      assert.same({"rank 0", "rank 1"}, {data[1].process, data[2].process})
      assert.equal(data[1].boot, data[2].boot)
      assert.is_true(math.tointeger(tonumber(data[1].start)) <
        math.tointeger(tonumber(data[2].start)))
      -- The difference must be the same even if the clock was set in between.
      local function since(key)
        return math.tointeger(tonumber(data[2][key])) -
          math.tointeger(tonumber(data[1][key]))
      end
      assert.equal(since "start", since "epoch")
      assert.matches("<title>lze: 2 processes</title>", output)
      assert.matches("<pre>rank 0\n\nprofile: .*\n\nrank 1\n\nprofile: ",
        output)
    end)
  end)

  it("names the process of a page once, even after several merges", function()
    local trace = dofile "command/trace.lua"
    process.with_directory(function(dir)
      local paths = profiles(dir, ".html")
      local whole, one = assert(trace.merge(paths, read)), dir .. "/one.html"
      process.write(one, (assert(trace.merge({paths[1]}, read))))
      assert.equal(whole, (trace.merge({one, paths[2]}, read)))
    end)
  end)

  it("refuses a truncated file, and reports the line", function()
    process.with_directory(function(dir)
      for _, ending in ipairs {".json", ".html"} do
        local whole, other = table.unpack(profiles(dir, ending))
        local text = read(whole)
        local trace = dofile "command/trace.lua"
        assert.is_string(trace.merge({whole, other}, read))
        -- The last byte is a line end, which may be missing.
        for n = 0, #text - 2, 7 do
          local merged, reason = trace.merge({other, "cut" .. ending},
            function(path)
              return path == other and read(other) or text:sub(1, n)
            end)
          assert.is_nil(merged)
          local line = 1 + select(2, text:sub(1, n):gsub("\n", ""))
          if n > 600 then
            assert.equal(("cut%s: it is cut: it ends in line %d, where " ..
              "there should be "):format(ending, line),
              reason:match "^(.- be ).")
          else -- the style of a page
            assert.matches("^cut%.", reason)
          end
        end
      end
    end)
  end)

  it("refuses a damaged file, and says what is wrong", function()
    process.with_directory(function(dir)
      local pages, traces = profiles(dir, ".html"), profiles(dir, ".json")
      local function refused(paths, pattern, new, reason)
        local text, n = read(paths[1]):gsub(pattern, new, 1)
        assert.equal(1, n, pattern)
        local bad = dir .. "/bad" .. paths[1]:match "%.%l+$"
        process.write(bad, text)
        local output, code = run(("'merge', %q, %q"):format(paths[2], bad))
        assert.same({1, "lze trace: " .. bad .. ": " .. reason .. "\n"},
          {code, (output:gsub("line %d+", "line N"))})
      end
      local function damaged(what)
        return "it is damaged: line N: " .. what .. " expected"
      end
      refused(traces, '"name":"add"', '"name":add', damaged "a value")
      refused(traces, '"add"', '"add\xFF"', damaged "UTF-8")
      refused(traces, '"add"', '"add\\"', damaged "a comma or }")
      refused(traces, '"add"', '"a\0d"', damaged "the end of a string")
      refused(traces, '"dur":', '"dur"', damaged "a colon")
      refused(traces, '"dur":', '"du":', damaged "dur")
      refused(traces, '"ph":"X"', '"ph":"Y"', damaged "ph")
      refused(traces, '"pid":2', '"pid":02', damaged "a value")
      refused(traces, '"pid":2', '"pid":[2]', damaged "pid")
      refused(traces, ',\n{"ph"', '\n{"ph"', damaged "a comma or ]")
      refused(traces, '"epoch_ns":', '"epoch":', damaged "epoch_ns")
      refused(traces, '"args":{"name"', '"args":' .. ("["):rep(99),
        damaged "less depth")
      refused(pages, '"rows":', '"row":', damaged "rows")
      refused(pages, '"boot":"', '"boot":7,"', damaged "a colon")
      local script = '("name":"script","device":%-1,"events":%[%[%d+'
      refused(pages, script .. ")", "%1.5", damaged "an event at 1 of script")
      refused(pages, script .. ",%d+,)", "%1999",
        damaged "an event at 1 of script")
      refused(pages, "const sets", "const set", "its page is not that of " ..
        pages[2] .. ": another version of lze has written it, or one of " ..
        "them is damaged")
    end)
  end)

  it("refuses files that are not profiles", function()
    process.with_directory(function(dir)
      process.write(dir .. "/a.json", "{}")
      process.write(dir .. "/a.html", "<html></html>")
      for words, message in pairs {
        [("'merge', %q"):format(dir .. "/a.json")] =
          "a.json: not a profile that lze has written\n",
        [("'merge', %q"):format(dir .. "/a.html")] =
          "a.html: not a profile that lze has written\n",
        ["'merge', 'a.csv'"] = "a.csv: a name that ends in .json or .html " ..
          "expected\n",
        [("'merge', '-o', %q, %q"):format(dir .. "/b.html", dir .. "/a.json")] =
          "b.html: a name that ends in .json expected\n",
        ["'merge', '-o', 'b.json', '.'"] = ".: a name that ends in .json " ..
          "or .html expected\n",
        ["'merge', '/proc/none/a.json'"] = "/proc/none/a.json: No such file " ..
          "or directory\n",
      } do
        local output, code = run(words)
        assert.equal(1, code)
        assert.is_truthy(output:find(message, 1, true), output)
      end
      for words, message in pairs {["'merge'"] = "FILE... expected",
        ["'split', 'a'"] = "merge FILE... expected",
        ["'merge', '-x', 'a'"] = "unknown option -x"} do
        local output, code = run(words)
        assert.equal(2, code)
        assert.is_truthy(output:find(message, 1, true), output)
      end
    end)
  end)
end)
