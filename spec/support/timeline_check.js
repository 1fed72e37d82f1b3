// timeline_check.js - put at the end of a page of lua/timeline.lua, it uses the
// page as a person does and writes what it saw into the element `check`.
// SPDX-License-Identifier: MIT
"use strict";
canvas.setPointerCapture = () => {}; // no such pointer is there
const seen = {errors: pageErrors};
const all = lanes.flatMap(lane => lane.events.map(e => ({lane, e})));
const cells = () => [...document.querySelectorAll("#table tr")].map(row =>
  [...row.children].map(cell => cell.textContent));
function pointer(type, x, y, more) {
  const r = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent(type, {clientX: r.left + x,
    clientY: r.top + y, pointerId: 1, bubbles: true, ...more}));
}
function click(x, y) {
  pointer("pointerdown", x, y);
  pointer("pointerup", x, y);
}
function rgb(text) {
  const one = document.createElement("canvas").getContext("2d");
  one.fillStyle = text;
  one.fillRect(0, 0, 1, 1);
  return one.getImageData(0, 0, 1, 1).data;
}
let arrows = 0;
const arrow = drawArrow;
drawArrow = (...between) => {
  arrows++;
  arrow(...between);
};
const same = (a, b) => a.every((v, i) => Math.abs(v - b[i]) <= 2);
try {
  seen.rows = labels.map(l => l.name);
  seen.names = all.map(({e}) => string(e[NAME]));
  draw();
  seen.named = labels.every(l =>
    draw2d.measureText(l.name).width <= LABEL - 16);
  seen.fits = all.length >= drawn && drawn > 0;

  // Each event alone fills the middle third of the width, in its colour; a
  // click there shows it.
  seen.events = [];
  for (const {lane, e} of all) {
    const length = Math.max(60, e[LENGTH]);
    from = e[START] - length;
    to = e[START] + 2 * length;
    draw();
    const x = LABEL + (width - LABEL) / 3;
    const middle = e[LENGTH] ? x + (width - LABEL) * e[LENGTH] / length / 6 :
      x + .5;
    const pixel = (px, py) => [...draw2d.getImageData(px, py, 1, 1).data];
    const inside = pixel(middle, lane.y + LANE - 4);
    const own = rgb(e[LENGTH] ? colour(e) :
      getComputedStyle(document.documentElement).getPropertyValue("--mark"));
    click(middle, lane.y + 5);
    arrows = 0;
    draw();
    seen.events.push({name: string(e[NAME]), lane: lanes.indexOf(lane) + 1,
      placed: same(inside, own), arrows,
      chosen: chosen === e, table: Object.fromEntries(cells())});
  }

  // What it waits for is the end of an arrow.
  const late = all.find(({e}) => before(e));
  look(0, whole);
  if (late) {
    show(late.e);
    const shot = () => draw2d.getImageData(0, 0, width, height).data.join();
    draw();
    const with_arrows = shot();
    const after = late.e[AFTER];
    late.e[AFTER] = 0;
    draw();
    seen.arrow = with_arrows !== shot();
    late.e[AFTER] = after;
    seen.after = string(before(late.e)[NAME]);
  }
  show(null);
  seen.hidden = document.getElementById("details").hidden;

  // The wheel zooms where the pointer is; keys, too.
  draw();
  const x = LABEL + (width - LABEL) / 4, t = timeOf(x), length = to - from;
  const r = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -300,
    clientX: r.left + x, clientY: r.top + 40, cancelable: true}));
  seen.wheel = to - from < length * .7 && Math.abs(timeOf(x) - t) < whole / 1e3;
  const key = k => dispatchEvent(new KeyboardEvent("keydown", {key: k}));
  let span = to - from;
  key("w");
  seen.zoomed = Math.abs((to - from) / span - .7) < .01;
  let start = from;
  key("d");
  seen.moved = from > start;
  key("0");
  seen.whole = from === 0 && to === whole;

  // A finger moves, two zoom: what is under each stays there.
  look(whole / 4, whole / 2);
  start = from;
  pointer("pointerdown", 400, 60);
  pointer("pointermove", 300, 60);
  pointer("pointerup", 300, 60);
  seen.dragged = from > start && chosen === null;
  const left = timeOf(300), right = timeOf(400);
  pointer("pointerdown", 300, 60, {pointerId: 1});
  pointer("pointerdown", 400, 60, {pointerId: 2});
  pointer("pointermove", 250, 60, {pointerId: 1});
  pointer("pointermove", 500, 60, {pointerId: 2});
  seen.pinched = Math.abs(timeOf(250) - left) < whole / 1e3 &&
    Math.abs(timeOf(500) - right) < whole / 1e3;
  pointer("pointerup", 250, 60, {pointerId: 1});
  pointer("pointerup", 500, 60, {pointerId: 2});

  // Sums of a span, the search, the critical path.
  key("0");
  pointer("pointerdown", LABEL, 60, {shiftKey: true});
  pointer("pointermove", width, 60, {shiftKey: true});
  pointer("pointerup", width, 60, {shiftKey: true});
  seen.sums = cells();
  key("Escape");
  search.value = " SQUARE ";
  search.dispatchEvent(new Event("input"));
  seen.found = document.getElementById("found").textContent;
  search.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
  seen.next = chosen && string(chosen[NAME]);
  search.value = "sums";
  search.dispatchEvent(new Event("input"));
  seen.runs = document.getElementById("found").textContent;
  search.value = "";
  search.dispatchEvent(new Event("input"));
  key("c");
  seen.path = [...critical].map(e => string(e[NAME]));
  key("c");
  seen.off = critical.size === 0;
  seen.background = getComputedStyle(document.body).backgroundColor;
} catch (error) {
  seen.errors.push(String(error) + error.stack);
}
const check = document.createElement("pre");
check.id = "check";
check.textContent = JSON.stringify(seen);
document.body.append(check);
if (window.dump) dump(check.outerHTML + "\n"); // Firefox has it, on stdout
