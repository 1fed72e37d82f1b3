-- timeline_spec.lua - the page of a profile, tested in a browser.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local json = require "bench.lib.json"
local process = require "spec.support.process"

local m = lze.load "kernels/spec.spv"

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The installed browser may be too old, or may not run at all: make check-page
-- sets which one to use.
local browser = os.getenv "LZE_TEST_BROWSER"

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- Firefox cannot print a page as text, only what the page dumps. It stays open
-- until it has taken a screenshot.
local preferences = [[
user_pref("browser.dom.window.dump.enabled", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("ui.systemUsesDarkTheme", %d);
]]

-- Returns the command that opens a file in the browser and prints its contents.
local function command_of(path, dark)
  local file = quoted("file://" .. path)
  if not browser:find "firefox" then
    return browser .. " --headless --no-sandbox --disable-gpu " ..
      "--disable-dev-shm-usage --window-size=1200,900 " ..
      "--virtual-time-budget=10000 --dump-dom " ..
      (dark and "--blink-settings=preferredColorScheme=0 " or "") .. file
  end
  local profile = path .. ".profile"
  assert(os.execute("mkdir -p " .. quoted(profile)))
  process.write(profile .. "/user.js", preferences:format(dark and 1 or 0))
  return browser .. " --headless --no-remote --window-size=1200,900 " ..
    "--profile " .. quoted(profile) .. " --screenshot " ..
    quoted(path .. ".png") .. " " .. file
end

-- Returns the findings of spec/support/timeline_check.js in a page.
local function look(path, dark)
  local page = read(path)
  local script = read "spec/support/timeline_check.js"
  page = page:gsub("<head>", function()
    return "<head><script>const pageErrors = []; onerror = (m, f, line) => " ..
      "pageErrors.push(m + ' ' + line); console.error = m => " ..
      "pageErrors.push(String(m));</script>"
  end, 1)
  page = page:gsub("</body>", function()
    return "<script>" .. script .. "</script></body>"
  end)
  process.write(path .. ".check.html", page)
  -- A browser makes sockets in this directory, whose names must be short.
  local pipe <close> = io.popen(("dir=$(mktemp -d /tmp/lze.XXXXXX) && " ..
    "{ HOME=%s TMPDIR=$dir timeout 120 %s 2>%s; rm -rf \"$dir\"; }"):format(
    quoted(path:match "^(.*)/"), command_of(path .. ".check.html", dark),
    quoted(path .. ".log")))
  local text = pipe:read "a":match '<pre id="check">(.-)</pre>'
  assert(text, "the browser says nothing: " .. read(path .. ".log"))
  return json.decode((text:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&amp;",
    "&")))
end

local function a_browser()
  if process.hosted then return pending "needs busted" end
  if browser then return true end
  pending "make check-page runs it"
end

-- Returns the first event of a kind.
local function of_kind(p, kind)
  for _, e in ipairs(p.events) do if e.kind == kind then return e end end
end

local source = [[
local m, x, y = ...
m.square(#x, x, y) -- <first> & "this"
m.add(#y, y, 1)
require "lze".wait()]]

describe("the page of a profile", function()
  local function profile(dir)
    local x, y = lze.buffer("int", 1000), lze.buffer("int", 1000)
    local path = dir .. "/" .. ("a"):rep(60) .. ".lua"
    process.write(path, source)
    local script = assert(loadfile(path))
    lze.wait()
    return (lze.profile(function()
      lze.mark("a mark", script, m, x, y)
      lze.mark "point"
      x:copy(y, 1, 10)
      lze.buffer("int", 100):close()
      lze.wait()
    end))
  end

  it("shows the recorded events, and reacts to input", function()
    if not a_browser() then return end
    process.with_directory(function(dir)
      local p = profile(dir):save(dir .. "/run.html")
      local seen = look(dir .. "/run.html")
      assert.same({}, seen.errors)

      local names, by_name, n = {}, {}, 0
      for _, e in ipairs(p.events) do
        if e.end_ns and e.kind ~= "alloc" and e.kind ~= "free" then
          names[#names + 1] = e.name
          by_name[e.kind .. e.name] = e
          n = n + 1
        end
      end
      table.sort(names)
      table.sort(seen.names)
      assert.same(names, seen.names)
      local queue = "queue " .. by_name.kernelsquare.queue
      assert.same({"script", "waits", queue, queue .. " copies", "memory"},
        seen.rows)
      assert.is_true(seen.fits)
      for _, e in ipairs(seen.events) do
        assert.same({e.name, true, true}, {e.name, e.placed, e.chosen})
        local record = by_name[e.table.what .. e.name]
        assert.equal(record.where, e.table.line)
      end
      local table_of = {}
      for _, e in ipairs(seen.events) do
        table_of[e.table.what .. e.name] = e.table
      end
      local square = table_of.kernelsquare
      assert.equal('m.square(#x, x, y) -- <first> & "this"', square.source)
      assert.equal(by_name.kernelsquare.arguments, square.arguments)
      assert.matches("= int%[1000%], .*= int%[1000%]$", square.arguments)
      assert.equal("1000", square.range)
      assert.equal("device 1: " .. lze.device().name, square.device)
      assert.is_nil(table_of["marka mark"].device)
      assert.equal(by_name.kernelsquare.why, square.why)
      assert.is_nil(square.operations)
      assert.matches("^40 %(40 bytes", table_of.copycopy.bytes)
      assert.matches("^square, which ended ", table_of.kerneladd.after)

      -- Arrows come from the event's direct dependency, and go to its direct
      -- dependants only.
      local arrows = {}
      for _, e in ipairs(seen.events) do arrows[e.name] = e.arrows end
      assert.same({1, 2, 1, 0}, {arrows.square, arrows.add, arrows.copy,
        arrows.point})
      assert.equal("square", seen.after)
      for _, what in ipairs {"arrow", "hidden", "wheel", "zoomed", "moved",
        "whole", "dragged", "pinched", "off"} do
        assert.is_true(seen[what], what)
      end
      local sums = {}
      for _, row in ipairs(seen.sums) do sums[row[1]] = row[2] end
      assert.equal("1", sums["kernel square"])
      assert.equal("1", sums["mark a mark"])
      assert.matches("^1 found, ", seen.found)
      assert.equal("square", seen.next)
      assert.equal("copy", seen.path[1])
      assert.equal("square", seen.path[#seen.path])
      assert.equal("rgb(255, 255, 255)", seen.background)
      assert.is_true(n >= 6)
    end)
  end)

  it("shows the tasks of a plan below its run", function()
    if not a_browser() then return end
    local n = 1 << 16
    local x, y = lze.buffer("int", n), lze.buffer("int", n)
    local plan <close> = lze.graph "sums":task("one", m.add, n, x, 1)
      :task("square", m.square, n, x, y):compile {profile = true}
    plan:run()
    process.with_directory(function(dir)
      local p <close> = lze.profile(function()
        plan:run()
        plan:run()
      end)
      p:save(dir .. "/run.html")
      local seen = look(dir .. "/run.html")
      assert.same({}, seen.errors)
      local queue = "queue " .. of_kind(p, "graph").queue
      assert.same({"waits", queue}, seen.rows)
      local of_lane = {}
      for _, e in ipairs(seen.events) do
        assert.same({e.name, true, true}, {e.name, e.placed, e.chosen})
        if e.table.what ~= "wait" then
          local list = of_lane[e.lane] or {}
          of_lane[e.lane] = list
          list[#list + 1] = e.table.what .. " " .. e.name
        end
        assert.equal(e.table.what == "task" and "graph sums" or nil,
          e.table["part of"])
      end
      assert.same({[2] = {"graph graph sums", "graph graph sums"},
        [3] = {"task sums.one", "task sums.square", "task sums.one",
          "task sums.square"}}, of_lane)
      -- The search for "square" finds two tasks; their sum includes no other.
      assert.matches("^2 found, ", seen.found)
      assert.is_true(#seen.path > 0)
      for _, name in ipairs(seen.path) do assert.equal("graph sums", name) end
      local took = 0 -- of runs, and of waits for them
      for _, e in ipairs(p.events) do
        if e.kind ~= "task" then took = took + e.end_ns - e.start_ns end
      end
      assert.equal(("%d found, %s in all"):format(#p.events, took < 1e6 and
        ("%.3f us"):format(took / 1e3) or ("%.3f ms"):format(took / 1e6)),
        seen.runs)
    end)
  end)

  it("shows a lane for each mark inside another", function()
    if not a_browser() then return end
    local function deep(n)
      lze.mark("mark " .. n, function()
        if n < 16 then return deep(n + 1) end
        for i = 1, 3 do lze.mark("leaf " .. i, function() end) end
      end)
    end
    process.with_directory(function(dir)
      local p <close> = lze.profile(function() deep(1) end)
      p:save(dir .. "/run.html")
      local seen = look(dir .. "/run.html")
      assert.same({}, seen.errors)
      assert.equal(19, #seen.events)
      for _, e in ipairs(seen.events) do
        local depth = tonumber(e.name:match "^mark (%d+)$") or 17
        assert.same({e.name, depth, true, true},
          {e.name, e.lane, e.placed, e.chosen})
      end
    end)
  end)

  it("shows several processes, and is dark if the system is", function()
    if not a_browser() then return end
    process.with_directory(function(dir)
      local p = profile(dir):save(dir .. "/a.html")
      -- The second is the same, but began a second later.
      process.write(dir .. "/b.html", (read(dir .. "/a.html"):gsub(
        '"start":"(%d+)"', function(start)
          return ('"start":"%d"'):format(start + 1000000000)
        end, 1)))
      local text = assert(dofile "command/trace.lua".merge({dir .. "/a.html",
        dir .. "/b.html"}, read))
      process.write(dir .. "/all.html", text)
      local seen = look(dir .. "/all.html", true)
      assert.same({}, seen.errors)
      assert.is_true(seen.named)
      assert.equal("rgb(23, 23, 27)", seen.background)
      local name = text:match '"process":"(process %d+)"'
      local queue = "queue " .. of_kind(p, "kernel").queue
      local rows = {}
      for i, row in ipairs {"script", "waits", queue, queue .. " copies",
        "memory"} do
        rows[i], rows[i + 5] = name .. ": " .. row, name .. ": " .. row
      end
      assert.same(rows, seen.rows)
      local starts = {}
      for _, e in ipairs(seen.events) do
        assert.same({e.name, true, true}, {e.name, e.placed, e.chosen})
        assert.equal(name, e.table.process)
        if e.table.what == "kernel" and e.name == "square" then
          starts[#starts + 1] = e.table.start
        end
      end
      assert.equal(2, #starts)
      assert.matches("^1%.%d+ s$", starts[2])
    end)
  end)
end)
