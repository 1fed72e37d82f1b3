-- timeline.lua - a profile as one page: HTML, style and script.
-- SPDX-License-Identifier: MIT
--
-- The page needs no other files.  @TITLE@, @TEXT@ and @DATA@ are replaced.
-- Data is {process, boot, start, epoch, end, devices, strings, lines, plots:
-- [{name, unit, points: [[time, value], ...]}], rows: [{name, device, events:
-- [[start, length, name, where, bytes, group, global, why, kind, number, after,
-- parent, flops, arguments], ...]}]}, times in nanoseconds from the start;
-- device is an index from 0 into devices; name, where, group, global, why,
-- kind, flops and arguments are indices into strings, -1 if absent; lines has
-- the text of the script's line by the number of a where; after and parent are
-- numbers of events, or 0.  start is the machine's clock at the beginning,
-- epoch the time since 1970, as text.  `lze trace merge` inserts the data of
-- several processes, separated by commas.

return [==[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>@TITLE@</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1b1b1f;
  --faint: #66666e; --line: #dcdce2; --row: #f5f5f8; --mark: #d33;
  --path: #e80; --chosen: rgba(80, 120, 255, .18); }
@media (prefers-color-scheme: dark) {
  :root { --back: #17171b; --text: #e8e8ee; --faint: #9a9aa4;
    --line: #34343c; --row: #1e1e24; --mark: #f66; --path: #fa4;
    --chosen: rgba(120, 150, 255, .25); }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 13px/1.4 system-ui, sans-serif; display: flex;
  flex-direction: column; height: 100vh; }
header { display: flex; gap: 12px; align-items: baseline; padding: 8px 12px;
  border-bottom: 1px solid var(--line); flex-wrap: wrap; }
h1 { font-size: 15px; margin: 0; }
header span { color: var(--faint); }
input[type=search] { font: inherit; padding: 2px 6px; width: 16em; }
#time { flex: 1; overflow: auto; position: relative; min-height: 120px; }
canvas { display: block; cursor: grab; touch-action: none; }
canvas:focus { outline: none; }
section { border-top: 1px solid var(--line); padding: 8px 12px;
  max-height: 32vh; overflow: auto; flex: none; }
#text { border-top: 0; border-bottom: 1px solid var(--line);
  max-height: 24vh; }
pre { margin: 0; font: 12px/1.45 ui-monospace, monospace; }
table { border-collapse: collapse; }
th { text-align: left; font-weight: normal; color: var(--faint);
  padding: 0 16px 0 0; vertical-align: top; white-space: nowrap; }
td { padding: 0 16px 0 0; overflow-wrap: anywhere; }
td.source { font-family: ui-monospace, monospace; white-space: pre-wrap; }
</style>
</head>
<body>
<header>
  <h1>@TITLE@</h1>
  <input id="search" type="search" placeholder="search names and lines"
    aria-label="search names and lines">
  <span id="found"></span>
  <label><input id="path" type="checkbox"> critical path</label>
  <span>wheel or w, s: zoom; drag or a, d: move; shift and drag: sums; 0: all;
    click: details; c: critical path; Enter: next found</span>
</header>
<section id="text"><details open><summary>findings and tables</summary>
<pre>@TEXT@</pre></details></section>
<div id="time"><canvas id="canvas" tabindex="0"></canvas></div>
<section id="details" hidden><table id="table"></table></section>
<script type="application/json" id="data">[@DATA@]</script>
<script>
"use strict";
const sets = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("canvas");
const box = document.getElementById("time");
const search = document.getElementById("search");
const pathBox = document.getElementById("path");
const draw2d = canvas.getContext("2d");
const START = 0, LENGTH = 1, NAME = 2, WHERE = 3, BYTES = 4, GROUP = 5,
  GLOBAL = 6, WHY = 7, KIND = 8, NUMBER = 9, AFTER = 10,
  PARENT = 11, FLOPS = 12, ARGUMENTS = 13,
  PLACE = 14; // in which lane: that is found here
const LANE = 20, GAP = 8, AXIS = 24, PLOT = 44;
const FONT = "12px system-ui, sans-serif";

// Processes of one run of a machine share its clock; else 1970 is common.
const oneClock = sets.every(s => s.boot && s.boot === sets[0].boot);
const clock = s => BigInt(oneClock ? s.start : s.epoch);
const earliest = sets.map(clock).reduce((a, b) => a < b ? a : b);

// Strings of all processes in one list; -1 is none.
const strings = [], numbers = new Map(), lines = new Map();
function intern(s) {
  if (!numbers.has(s)) {
    numbers.set(s, strings.length);
    strings.push(s);
  }
  return numbers.get(s);
}
const string = i => i < 0 ? "" : strings[i];
const isHost = new Set(["wait", "build", "collection", "mark", "message"]);

// Events of one row that overlap go to lanes below each other, so that in a
// lane both the starts and the ends rise. So tasks are below the run that they
// are parts of.
const lanes = [], labels = [], plots = [];
let height = AXIS, last = 1;
for (const set of sets) {
  const shift = Number(clock(set) - earliest);
  const number = set.strings.map(intern);
  const of = i => i < 0 ? -1 : number[i];
  for (const [i, text] of Object.entries(set.lines))
    lines.set(number[i], text);
  last = Math.max(last, set.end + shift);
  set.byNumber = new Map();
  const before = sets.length > 1 ? set.process + ": " : "";
  for (const row of set.rows) {
    const own = [];
    for (const e of row.events) {
      e[START] += shift;
      for (const field of [NAME, WHERE, GROUP, GLOBAL, WHY, KIND, FLOPS,
        ARGUMENTS])
        e[field] = of(e[field]);
      set.byNumber.set(e[NUMBER], e);
    }
    row.events.sort((a, b) => a[START] - b[START] || b[LENGTH] - a[LENGTH] ||
      a[NUMBER] - b[NUMBER]);
    for (const e of row.events) {
      let lane = own.find(l => l.end <= e[START]);
      if (!lane)
        own.push(lane = {events: [], end: 0, set, name: before + row.name,
          device: set.devices[row.device]});
      lane.events.push(e);
      e[PLACE] = lane;
      lane.end = e[START] + e[LENGTH];
    }
    if (!own.length) continue;
    labels.push({name: before + row.name, y: height,
      height: own.length * LANE});
    for (const lane of own) {
      lane.y = height;
      height += LANE;
      lanes.push(lane);
    }
    height += GAP;
  }
  for (const {name, unit, points} of set.plots) {
    for (const p of points) p[0] += shift;
    labels.push({name: before + name, y: height, height: PLOT});
    plots.push({y: height, points, unit,
      most: points.reduce((m, p) => Math.max(m, p[1]), 1)});
    height += PLOT + GAP;
  }
}
// As wide as the longest name of a row, if that leaves room for the rest.
draw2d.font = FONT;
const LABEL = labels.reduce((w, l) => Math.max(w,
  Math.min(300, Math.ceil(draw2d.measureText(l.name).width) + 16)), 150);
const whole = last;
let from = 0, to = whole, chosen = null, wanted = "", width = 0;
let followers = []; // what waits for the chosen one
let selection = null, critical = new Set();

function before(e) {
  return e[AFTER] ? e[PLACE].set.byNumber.get(e[AFTER]) : undefined;
}
function runOf(e) {
  return e[PARENT] ? e[PLACE].set.byNumber.get(e[PARENT]) : undefined;
}
function afterThat(e) {
  const set = e[PLACE].set;
  return [...set.byNumber.values()].filter(o => o[AFTER] === e[NUMBER]);
}
const end = e => e[START] + e[LENGTH];

function timeText(ns, step) {
  const n = step || Math.abs(ns);
  const [unit, name] = n >= 1e9 ? [1e9, "s"] : n >= 1e6 ? [1e6, "ms"] :
    n >= 1e3 ? [1e3, "us"] : [1, "ns"];
  const digits = step ? Math.max(0, Math.ceil(-Math.log10(step / unit))) : 3;
  return (ns / unit).toFixed(unit === 1 ? 0 : digits) + " " + name;
}
function sizeText(n) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  while (n >= 1024 && u < 4) { n /= 1024; u++; }
  return (u ? n.toFixed(1) : n) + " " + units[u];
}

// The first place in a sorted list for which `is` holds.
function first(list, is) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(list[middle])) high = middle; else low = middle + 1;
  }
  return low;
}

// From the command that ends last back to what each had to wait for: what it
// depends on, or what was before it in its row, whichever ended later; or else
// whatever ended last before it, as the script waited for that. Runs are in it,
// their tasks are not.
function findPath() {
  const path = new Set();
  const rows = lanes.filter(l =>
    !["mark", "task"].includes(string(l.events[0][KIND])));
  let e = null;
  for (const lane of rows)
    if (!isHost.has(string(lane.events[0][KIND])))
      for (const o of lane.events) if (!e || end(o) > end(e)) e = o;
  const later = (a, b) => a && (!b || end(a) > end(b)) ? a : b;
  const ahead = (lane, e) =>
    lane.events[first(lane.events, o => end(o) > e[START]) - 1];
  while (e && !path.has(e)) {
    path.add(e);
    e = later(before(e), ahead(e[PLACE], e)) ||
      rows.reduce((a, lane) => later(ahead(lane, e), a), undefined);
  }
  return path;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const hues = new Map();
function colour(e) {
  if (!hues.has(e[NAME])) {
    let hash = 7;
    for (const c of string(e[NAME]))
      hash = (hash * 31 + c.codePointAt(0)) >>> 0;
    hues.set(e[NAME], hash % 360);
  }
  const grey = string(e[KIND]) === "wait";
  return `hsl(${hues.get(e[NAME])} ${grey ? 8 : 55}% ${dark.matches ?
    38 : 72}%)`;
}
function matches(e) {
  return (string(e[NAME]) + "\n" + string(e[WHERE])).toLowerCase()
    .includes(wanted);
}

const xOf = t => LABEL + (t - from) / (to - from) * (width - LABEL);
const timeOf = x => from + (x - LABEL) / (width - LABEL) * (to - from);

function drawAxis(style) {
  const rough = (to - from) / Math.max(2, (width - LABEL) / 110);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = Math.max(1, [1, 2, 5, 10].find(s => s * power >= rough) * power);
  draw2d.strokeStyle = style.getPropertyValue("--line");
  draw2d.fillStyle = style.getPropertyValue("--faint");
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = Math.round(xOf(t)) + .5;
    draw2d.beginPath();
    draw2d.moveTo(x, AXIS - 6);
    draw2d.lineTo(x, height);
    draw2d.stroke();
    draw2d.fillText(timeText(t, step), x + 3, AXIS / 2);
  }
}

// What is narrower than a pixel is drawn as one with what follows in it.
let drawn = 0;
function drawLane(lane, style) {
  const text = style.getPropertyValue("--text");
  const mark = style.getPropertyValue("--mark");
  const lit = style.getPropertyValue("--path");
  const pixel = (to - from) / (width - LABEL);
  const list = lane.events;
  let i = first(list, e => end(e) >= from);
  while (i < list.length && list[i][START] <= to) {
    const e = list[i];
    const x = Math.max(LABEL, Math.round(xOf(e[START]))); // not blurred
    const right = Math.min(width, xOf(end(e)));
    const w = Math.max(1, right - x);
    draw2d.globalAlpha = wanted && !matches(e) ? .2 : 1;
    draw2d.fillStyle = e[LENGTH] ? colour(e) : mark;
    draw2d.fillRect(x, lane.y, w > 3 ? w - 1 : w, LANE - 2);
    drawn++;
    if (e === chosen || critical.has(e)) {
      draw2d.strokeStyle = e === chosen ? mark : lit;
      draw2d.lineWidth = 2;
      draw2d.strokeRect(x, lane.y, w, LANE - 2);
      draw2d.lineWidth = 1;
    }
    if (w > 24) {
      draw2d.save();
      draw2d.beginPath();
      draw2d.rect(x, lane.y, w - 3, LANE);
      draw2d.clip();
      draw2d.fillStyle = text;
      draw2d.fillText(string(e[NAME]), x + 4, lane.y + LANE / 2 - 1);
      draw2d.restore();
    }
    i++;
    if (w <= 1 && !wanted && !critical.size) {
      const after = e[START] + pixel;
      i = Math.max(i, first(list, o => end(o) >= after));
    }
  }
  draw2d.globalAlpha = 1;
}

function drawPlot(plot, style) {
  const yOf = n => plot.y + PLOT - n / plot.most * (PLOT - 4);
  const pixel = (to - from) / (width - LABEL);
  const points = plot.points;
  let i = Math.max(0, first(points, p => p[0] > from) - 1);
  draw2d.beginPath();
  draw2d.moveTo(LABEL, yOf(points[i][0] > from ? 0 : points[i][1]));
  while (i < points.length && points[i][0] <= to) {
    const [t, n] = points[i];
    const x = Math.max(LABEL, xOf(t));
    draw2d.lineTo(x, yOf(i ? points[i - 1][1] : 0));
    draw2d.lineTo(x, yOf(n));
    i = Math.max(i + 1, first(points, p => p[0] >= t + pixel / 4));
    draw2d.lineTo(x, yOf(points[i - 1][1]));
  }
  if (i) draw2d.lineTo(width, yOf(points[i - 1][1]));
  draw2d.strokeStyle = style.getPropertyValue("--text");
  draw2d.stroke();
}

// An arrow from the end of what another event waits for to its beginning.
function drawArrow(a, b, style) {
  const x = xOf(end(a)), y = a[PLACE].y + LANE / 2 - 1;
  const right = xOf(b[START]), bottom = b[PLACE].y + LANE / 2 - 1;
  const middle = (x + right) / 2;
  draw2d.strokeStyle = draw2d.fillStyle = style.getPropertyValue("--mark");
  draw2d.beginPath();
  draw2d.moveTo(x, y);
  draw2d.bezierCurveTo(middle, y, middle, bottom, right, bottom);
  draw2d.stroke();
  draw2d.beginPath();
  draw2d.moveTo(right, bottom);
  draw2d.lineTo(right - 7, bottom - 4);
  draw2d.lineTo(right - 7, bottom + 4);
  draw2d.fill();
}

// Browsers draw nothing on a canvas with more pixels than that on a side, so
// that a great many rows are drawn coarser.
const MOST_PIXELS = 32000;
function draw() {
  const style = getComputedStyle(document.documentElement);
  const scale = Math.min(devicePixelRatio || 1, MOST_PIXELS / height);
  width = box.clientWidth;
  drawn = 0;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  draw2d.setTransform(scale, 0, 0, scale, 0, 0);
  draw2d.font = FONT;
  draw2d.textBaseline = "middle";
  draw2d.clearRect(0, 0, width, height);
  for (const label of labels) {
    draw2d.fillStyle = style.getPropertyValue("--row");
    draw2d.fillRect(0, label.y - 2, width, label.height + 2);
  }
  drawAxis(style);
  for (const lane of lanes) drawLane(lane, style);
  for (const plot of plots) drawPlot(plot, style);
  if (selection) {
    draw2d.fillStyle = style.getPropertyValue("--chosen");
    const x = xOf(selection[0]);
    draw2d.fillRect(x, AXIS, xOf(selection[1]) - x, height);
  }
  if (chosen && before(chosen)) drawArrow(before(chosen), chosen, style);
  for (const b of followers) drawArrow(chosen, b, style);
  draw2d.fillStyle = style.getPropertyValue("--back");
  draw2d.fillRect(0, AXIS, LABEL - 4, height);
  draw2d.fillStyle = style.getPropertyValue("--text");
  for (const label of labels)
    draw2d.fillText(label.name, 8, label.y + LANE / 2, LABEL - 16);
  draw2d.fillStyle = style.getPropertyValue("--faint");
  for (const plot of plots)
    draw2d.fillText("to " + (plot.unit === "bytes" ? sizeText(plot.most) :
      plot.most.toFixed(1) + " " + plot.unit), 8, plot.y + LANE * 1.5);
}
let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}

function look(a, b) {
  const length = Math.min(whole * 1.1, Math.max(20, b - a));
  const middle = Math.min(whole, Math.max(0, (a + b) / 2));
  from = middle - length / 2;
  to = middle + length / 2;
  redraw();
}
function zoom(factor, t) {
  look(t - (t - from) * factor, t + (to - t) * factor);
}
function move(part) {
  const by = (to - from) * part;
  look(from + by, to + by);
}

function showTable(rows) {
  const table = document.getElementById("table");
  table.textContent = "";
  document.getElementById("details").hidden = !rows.length;
  for (const [name, ...values] of rows) {
    const row = table.insertRow();
    const head = document.createElement("th");
    head.textContent = name;
    row.append(head);
    for (const value of values) {
      const cell = row.insertCell();
      cell.textContent = value;
      if (name === "source") cell.className = "source";
    }
  }
  redraw();
}

function show(e) {
  chosen = e;
  followers = e ? afterThat(e) : [];
  selection = null;
  if (!e) return showTable([]);
  const set = e[PLACE].set, waited = before(e), part = runOf(e);
  const rows = [["name", string(e[NAME])], ["what", string(e[KIND])],
    ["process", sets.length > 1 ? set.process : ""],
    ["device", e[PLACE].device],
    ["part of", part && string(part[NAME])],
    ["line", string(e[WHERE])], ["source", (lines.get(e[WHERE]) || "").trim()],
    ["start", timeText(e[START])], ["time", timeText(e[LENGTH])],
    ["arguments", string(e[ARGUMENTS])],
    ["range", string(e[GLOBAL])], ["group", string(e[GROUP])],
    ["why", string(e[WHY])],
    ["bytes", e[BYTES] && `${e[BYTES]} (${sizeText(e[BYTES])}` +
      (e[LENGTH] ? `, ${(e[BYTES] / e[LENGTH]).toFixed(2)} GB/s)` : ")")],
    ["operations", string(e[FLOPS])],
    ["after", waited && `${string(waited[NAME])}, which ended ` +
      `${timeText(e[START] - end(waited))} before`]];
  showTable(rows.filter(row => row[1]));
}

// Sums of what lies in a span of time, by name.
function sums(a, b) {
  const byName = new Map();
  for (const lane of lanes)
    for (let i = first(lane.events, e => end(e) >= a);
      i < lane.events.length && lane.events[i][START] <= b; i++) {
      const e = lane.events[i];
      const key = string(e[KIND]) + " " + string(e[NAME]);
      const sum = byName.get(key) || {count: 0, ns: 0, bytes: 0};
      sum.count++;
      sum.ns += Math.min(b, end(e)) - Math.max(a, e[START]);
      sum.bytes += e[BYTES];
      byName.set(key, sum);
    }
  return [...byName].sort((p, q) => q[1].ns - p[1].ns);
}
function select(a, b) {
  show(null);
  selection = [Math.min(a, b), Math.max(a, b)];
  showTable([["selected", timeText(selection[1] - selection[0])],
    ...sums(...selection).slice(0, 30).map(([name, s]) => [name, s.count,
      timeText(s.ns), s.bytes ? sizeText(s.bytes) : ""])]);
}

function at(x, y) {
  const lane = lanes.find(l => y >= l.y && y < l.y + LANE);
  if (!lane || x < LABEL) return null;
  const t = timeOf(x), near = (to - from) / (width - LABEL) * 3;
  const i = first(lane.events, e => end(e) >= t - near);
  const e = lane.events[i];
  return e && e[START] <= t + near ? e : null;
}

canvas.addEventListener("wheel", event => {
  event.preventDefault();
  if (event.shiftKey) move(Math.sign(event.deltaY || event.deltaX) * .1);
  else zoom(Math.pow(1.0015, event.deltaY), timeOf(event.offsetX));
}, {passive: false});

// One pointer moves or, with shift, selects; two zoom.
const held = new Map();
let grip = null;
function hold() {
  const xs = [...held.values()].map(p => p.x);
  grip = {times: xs.map(timeOf), from, to, moved: grip && grip.moved};
}
canvas.addEventListener("pointerdown", event => {
  held.set(event.pointerId, {x: event.offsetX, first: event.offsetX});
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  grip = held.size > 1 ? {moved: true} : null;
  hold();
  grip.select = event.shiftKey;
});
canvas.addEventListener("pointermove", event => {
  const p = held.get(event.pointerId);
  if (!p) return;
  p.x = event.offsetX;
  if (Math.abs(p.x - p.first) > 3) grip.moved = true;
  if (!grip.moved) return;
  const xs = [...held.values()].map(q => q.x);
  if (grip.select) {
    select(grip.times[0], timeOf(xs[0]));
  } else if (xs.length === 1) {
    const by = grip.times[0] - timeOf(xs[0]);
    look(from + by, to + by);
  } else if (Math.abs(xs[1] - xs[0]) > 8) {
    // The times under the two fingers stay there.
    const scale = (grip.times[1] - grip.times[0]) / (xs[1] - xs[0]);
    if (scale > 0) {
      const a = grip.times[0] - (xs[0] - LABEL) * scale;
      look(a, a + (width - LABEL) * scale);
    }
  }
});
function letGo(event) {
  if (!held.delete(event.pointerId)) return;
  if (event.type === "pointerup" && !held.size && !grip.moved)
    show(at(event.offsetX, event.offsetY));
  if (held.size) hold();
}
canvas.addEventListener("pointerup", letGo);
canvas.addEventListener("pointercancel", letGo);

function setPath(on) {
  pathBox.checked = on;
  critical = on ? findPath() : new Set();
  redraw();
}
pathBox.addEventListener("change", () => setPath(pathBox.checked));
addEventListener("keydown", event => {
  if (event.target === search || event.ctrlKey || event.metaKey ||
    event.altKey) return;
  const middle = (from + to) / 2;
  const keys = {w: () => zoom(.7, middle), s: () => zoom(1 / .7, middle),
    a: () => move(-.2), d: () => move(.2), ArrowLeft: () => move(-.2),
    ArrowRight: () => move(.2), 0: () => look(0, whole),
    c: () => setPath(!pathBox.checked), Escape: () => show(null)};
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

let found = [], next = 0;
search.addEventListener("input", () => {
  wanted = search.value.trim().toLowerCase();
  found = [];
  next = 0;
  if (wanted)
    for (const lane of lanes)
      for (const e of lane.events) if (matches(e)) found.push(e);
  found.sort((a, b) => a[START] - b[START]);
  const within = e => runOf(e) && matches(runOf(e)); // its time is in that
  const sum = found.reduce((ns, e) => ns + (within(e) ? 0 : e[LENGTH]), 0);
  document.getElementById("found").textContent =
    wanted ? `${found.length} found, ${timeText(sum)} in all` : "";
  redraw();
});
search.addEventListener("keydown", event => {
  if (event.key !== "Enter" || !found.length) return;
  const e = found[next++ % found.length];
  const side = Math.max(e[LENGTH] * 2, (to - from) / 2);
  show(e);
  look(e[START] - side, end(e) + side);
});
dark.addEventListener("change", redraw);
new ResizeObserver(redraw).observe(box);
draw();
</script>
</body>
</html>
]==]
