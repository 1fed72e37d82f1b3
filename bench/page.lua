-- page.lua - how long the page of a profile of very many events takes.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 bench/page.lua [EVENTS [BROWSER]]
--
-- Writes a page with events of 4 queues, and shows it in headless Chromium:
-- measures the time to load it, to draw it, and to zoom in by the wheel, 20
-- times; medians in milliseconds.

package.path = "bench/lib/?.lua;" .. package.path
local json, stats = require "json", require "stats"

local count, browser = tonumber((...)) or 1000000, select(2, ...) or "chromium"

local profile = assert(loadfile "lua/profile.lua") {
  json = assert(loadfile "lua/json.lua"),
  page = assert(loadfile "lua/timeline.lua"),
  limits = function() end, source = function() end,
}

local script = [[
const seen = {there: performance.now(), events: 0, zoom: []};
for (const lane of lanes) seen.events += lane.events.length;
function timed(act) {
  const before = performance.now();
  act();
  draw();
  return performance.now() - before;
}
seen.draw = timed(() => {});
const r = canvas.getBoundingClientRect();
for (let i = 0; i < 20; i++)
  seen.zoom.push(timed(() => canvas.dispatchEvent(new WheelEvent("wheel",
    {deltaY: -200, clientX: r.left + 500, clientY: r.top + 40,
    cancelable: true}))));
document.body.textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
]]

local events = {}
for i = 1, count do
  local start = i * 2000
  events[i] = {kind = "kernel", name = "k" .. i % 7, where = "a.lua:" .. i % 9,
    device = "d", device_number = 1, queue = i % 4 + 1, queued_ns = start,
    start_ns = start, end_ns = start + 3000 + i % 11 * 400, call_ns = 900,
    bytes = 4096, ["global"] = {1024}, group = {256}, why = "256 of 1024",
    after = i > 4 and i - 4 or nil}
end

local path = os.tmpname() .. ".html"
do
  local before = os.clock()
  local text = profile.write("html", events, {start_ns = 0, dropped = 0,
    end_ns = (count + 10) * 2000, bytes = 0})
  print(("%d events, %.1f MB, written in %.1f s"):format(count, #text / 1e6,
    os.clock() - before))
  text = text:gsub("</body>", function()
    return "<script>" .. script .. "</script></body>"
  end)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end
local pipe <close> = assert(io.popen(browser .. " --headless --no-sandbox " ..
  "--disable-gpu --disable-dev-shm-usage --window-size=1200,900 --dump-dom " ..
  "file://" .. path .. " 2>/dev/null"))
local said = pipe:read "a":match "<body>SEEN(.-)SEEN"
os.remove(path)
os.remove((path:gsub("%.html$", "")))
local seen = json.decode(assert(said, "the browser says nothing"))
assert(seen.events == count)
print(("there after %.0f ms, drawn in %.1f, zoomed in %.1f"):format(seen.there,
  seen.draw, stats.median(seen.zoom)))
