-- trace_spec.lua - lze trace merge: profiles of several processes as one.
-- SPDX-License-Identifier: MIT

local json = require "bench.lib.json"
local process = require "spec.support.process"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- What the command says, and its exit status.
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
      assert.equal(starts[1], all.otherData.start_ns)
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
        -- Processes and arrows of the two are apart.
        assert.equal(second, e.pid > 2)
        if e.ph == "s" then ids[#ids + 1] = e.id end
        if e.name == "process_name" then names[#names + 1] = e.args.name end
      end
      local device = "device 1: " .. require "lze".device().name
      assert.same({"rank 0", "rank 0: " .. device, "rank 1",
        "rank 1: " .. device}, names)
      assert.is_true(#ids == 2 and ids[1] ~= ids[2])
      -- What was merged can be merged again.
      output, code = run(("'merge', %q, %q"):format(dir .. "/all.json",
        paths[1]))
      assert.equal(0, code)
      assert.equal(#all.traceEvents + #one[1].traceEvents,
        #json.decode(output).traceEvents)
    end)
  end)

  it("takes the time of day for those of several machines", function()
    process.with_directory(function(dir)
      local form = '{"displayTimeUnit":"ns","otherData":{"process":"%s",' ..
        '"boot":"%s","start_ns":%d,"epoch_ns":%d},"traceEvents":[\n' ..
        '{"ph":"X","pid":2,"tid":1,"name":"k","ts":1.500,"dur":2.000}\n]}\n'
      process.write(dir .. "/a.json", form:format("a", "one", 999, 5000))
      process.write(dir .. "/b.json", form:format("b", "two", 1, 7250))
      local output = run(("'merge', %q, %q"):format(dir .. "/a.json",
        dir .. "/b.json"))
      local events = json.decode(output).traceEvents
      assert.same({1.5, 3.75}, {events[1].ts, events[2].ts})
    end)
  end)

  it("puts pages together, with the text of all", function()
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
      assert.matches("<title>lze: 2 processes</title>", output)
      assert.matches("<pre>rank 0\n\nprofile: .*\n\nrank 1\n\nprofile: ",
        output)
    end)
  end)

  it("refuses what is cut, and says where", function()
    process.with_directory(function(dir)
      for _, ending in ipairs {".json", ".html"} do
        local whole, other = table.unpack(profiles(dir, ending))
        local text = read(whole)
        local trace = dofile "command/trace.lua"
        assert.is_string(trace.merge({whole, other}, read))
        -- It ends in a line end, which is not missed.
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
          else -- of a page, that is its style
            assert.matches("^cut%.", reason)
          end
        end
      end
    end)
  end)

  it("refuses what is damaged, and says what is wrong", function()
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

  it("refuses what is not such a file", function()
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
        ["'merge', '/nowhere/a.json'"] = "/nowhere/a.json: No such file or " ..
          "directory\n",
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
