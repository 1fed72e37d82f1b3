-- lua_kernels.lua - kernels in Lua beside the same in OpenCL C.
-- SPDX-License-Identifier: MIT
--
--   sh scripts/with-build BUILD lua5.4 bench/lua_kernels.lua [ROUNDS]
--
-- Both kernels of a pair must compute the same, which is checked; their
-- launches take turns, in groups of the size that lze chooses for the OpenCL C,
-- and the medians are compared.  Integers are int in OpenCL C, as people write
-- it, and 64 bits wide in Lua.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local median = require "stats".median
local w = lze.work
local sqrt, exp, log, abs, floor = math.sqrt, math.exp, math.log, math.abs,
  math.floor
local rounds = tonumber(arg and arg[1]) or 15

local seed = 1
local function random(type, n, low, high)
  local t = {}
  for i = 1, n do
    seed = seed + 1
    local v = low + (w.random(7, seed) >> 8) / (1 << 24) * (high - low)
    t[i] = type == "int" and floor(v) or v
  end
  return lze.buffer(type, t)
end

-- name, OpenCL C, the Lua function, range, arguments of both (the last is
-- written and compared), more arguments of the OpenCL C.
local cases = {}
local function case(...) cases[#cases + 1] = table.pack(...) end

local n = 1 << 20
case("saxpy", [[kernel void k(global const float *x, global float *y) {
    int i = get_global_id(0); y[i] = 2.5f * x[i] + y[i]; }]],
  function(i, x, y) y[i] = 2.5 * x[i] + y[i] end, n,
  {random("float", n, 0, 1), random("float", n, 0, 1)})

case("mandelbrot", [[kernel void k(global int *out) {
    int x = get_global_id(0), y = get_global_id(1);
    float cr = x * (3.0f / 512) - 2.25f, ci = y * (2.5f / 384) - 1.25f;
    float zr = 0, zi = 0; int n = 0;
    while (n < 200 && zr * zr + zi * zi <= 4) {
      float t = zr * zr - zi * zi + cr; zi = 2 * zr * zi + ci; zr = t; n++; }
    out[y * 512 + x] = n; }]],
  function(x, y, out)
    local cr, ci = (x - 1) * (3.0 / 512) - 2.25, (y - 1) * (2.5 / 384) - 1.25
    local zr, zi, k = 0.0, 0.0, 0
    while k < 200 and zr * zr + zi * zi <= 4 do
      zr, zi, k = zr * zr - zi * zi + cr, 2 * zr * zi + ci, k + 1
    end
    out[(y - 1) * 512 + x] = k
  end, {512, 384}, {lze.buffer("int", 512 * 384)})

local bodies = 2048
case("n-body", [[kernel void k(global const float *p, global float *a) {
    int i = get_global_id(0); float x = p[3 * i], y = p[3 * i + 1],
      z = p[3 * i + 2], ax = 0, ay = 0, az = 0;
    for (int j = 0; j < 2048; j++) {
      float dx = p[3 * j] - x, dy = p[3 * j + 1] - y, dz = p[3 * j + 2] - z;
      float r = dx * dx + dy * dy + dz * dz + 0.01f;
      float s = 1 / (r * sqrt(r));
      ax += s * dx; ay += s * dy; az += s * dz; }
    a[3 * i] = ax; a[3 * i + 1] = ay; a[3 * i + 2] = az; }]],
  function(i, p, a)
    local x, y, z = p[3 * i - 2], p[3 * i - 1], p[3 * i]
    local ax, ay, az = 0.0, 0.0, 0.0
    for j = 1, 2048 do
      local dx, dy, dz = p[3 * j - 2] - x, p[3 * j - 1] - y, p[3 * j] - z
      local r = dx * dx + dy * dy + dz * dz + 0.01
      local s = 1 / (r * sqrt(r))
      ax, ay, az = ax + s * dx, ay + s * dy, az + s * dz
    end
    a[3 * i - 2], a[3 * i - 1], a[3 * i] = ax, ay, az
  end, bodies, {random("float", 3 * bodies, -1, 1),
    lze.buffer("float", 3 * bodies)})

local side = 320
case("matmul", [[kernel void k(global const float *a, global const float *b,
      global float *c) {
    int x = get_global_id(0), y = get_global_id(1); float s = 0;
    for (int k = 0; k < 320; k++) s += a[y * 320 + k] * b[k * 320 + x];
    c[y * 320 + x] = s; }]],
  function(x, y, a, b, c)
    local s, row = 0.0, (y - 1) * 320
    for k = 1, 320 do s = s + a[row + k] * b[(k - 1) * 320 + x] end
    c[row + x] = s
  end, {side, side}, {random("float", side * side, 0, 1),
    random("float", side * side, 0, 1), lze.buffer("float", side * side)})

case("tiled", [[kernel void k(global const float *a, global const float *b,
      global float *c) {
    local float ta[256], tb[256];
    int x = get_global_id(0), y = get_global_id(1);
    int lx = get_local_id(0), ly = get_local_id(1); float s = 0;
    for (int t = 0; t < 320; t += 16) {
      ta[ly * 16 + lx] = a[y * 320 + t + lx];
      tb[ly * 16 + lx] = b[(t + ly) * 320 + x];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int k = 0; k < 16; k++) s += ta[ly * 16 + k] * tb[k * 16 + lx];
      barrier(CLK_LOCAL_MEM_FENCE); }
    c[y * 320 + x] = s; }]],
  function(x, y, a, b, c)
    local ta, tb = w.local_array("float", 256), w.local_array("float", 256)
    local lx, row, s = w.local_id(1), (w.local_id(2) - 1) * 16, 0.0
    local first, at = (y - 1) * 320 + lx, (w.local_id(2) - 1) * 320 + x
    for t = 0, 319, 16 do
      ta[row + lx], tb[row + lx] = a[first + t], b[at + t * 320]
      w.barrier()
      for k = 1, 16 do s = s + ta[row + k] * tb[(k - 1) * 16 + lx] end
      w.barrier()
    end
    c[(y - 1) * 320 + x] = s
  end, {side, side, group = {16, 16}}, {random("float", side * side, 0, 1),
    random("float", side * side, 0, 1), lze.buffer("float", side * side)})

case("blur", [[kernel void k(global const float *a, global float *b) {
    int x = get_global_id(0), y = get_global_id(1); float s = 0;
    for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++)
      s += a[(y + j) * 1026 + x + i];
    b[y * 1024 + x] = s / 9; }]],
  function(x, y, a, b)
    local s = 0.0
    for j = 0, 2 do
      for i = 0, 2 do s = s + a[(y - 1 + j) * 1026 + x + i] end
    end
    b[(y - 1) * 1024 + x] = s / 9
  end, {1024, 512}, {random("float", 1026 * 514, 0, 1),
    lze.buffer("float", 1024 * 512)})

case("black-scholes", [[
  float cdf(float x) {
    float k = 1 / (1 + 0.2316419f * fabs(x));
    float v = 1 - 0.39894228f * exp(-0.5f * x * x) * k * (0.31938153f + k *
      (-0.356563782f + k * (1.781477937f + k * (-1.821255978f +
      k * 1.330274429f))));
    return x < 0 ? 1 - v : v; }
  kernel void k(global const float *s, global float *c) {
    int i = get_global_id(0);
    float d1 = (log(s[i] / 100) + (0.02f + 0.045f) * 1.5f) /
      (0.3f * sqrt(1.5f)), d2 = d1 - 0.3f * sqrt(1.5f);
    c[i] = s[i] * cdf(d1) - 100 * exp(-0.03f) * cdf(d2); }]],
  (function()
    local function cdf(x)
      local k = 1 / (1 + 0.2316419 * abs(x))
      local v = 1 - 0.39894228 * exp(-0.5 * x * x) * k * (0.31938153 + k *
        (-0.356563782 + k * (1.781477937 + k * (-1.821255978 +
        k * 1.330274429))))
      if x < 0 then return 1 - v end
      return v
    end
    return function(i, s, c)
      local d1 = (log(s[i] / 100) + (0.02 + 0.045) * 1.5) / (0.3 * sqrt(1.5))
      local d2 = d1 - 0.3 * sqrt(1.5)
      c[i] = s[i] * cdf(d1) - 100 * exp(-0.03) * cdf(d2)
    end
  end)(), n // 2, {random("float", n // 2, 50, 150),
    lze.buffer("float", n // 2)})

case("reduction", [[kernel void k(global const float *x, global float *out) {
    local float t[64]; int l = get_local_id(0); float v = 0;
    for (int j = get_global_id(0); j < 1 << 20; j += get_global_size(0))
      v += x[j];
    t[l] = v; barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s /= 2) { if (l < s) t[l] += t[l + s];
      barrier(CLK_LOCAL_MEM_FENCE); }
    if (l == 0) out[get_group_id(0)] = t[0]; }]],
  function(i, x, out)
    local t, l, v = w.local_array("float", 64), w.local_id(), 0.0
    for j = i, 1 << 20, w.global_size() do v = v + x[j] end
    t[l] = v
    w.barrier()
    local s = 32
    while s > 0 do
      if l <= s then t[l] = t[l] + t[l + s] end
      w.barrier()
      s = s // 2
    end
    if l == 1 then out[w.group_id()] = t[1] end
  end, {4096, group = 64}, {random("float", n, 0, 1), lze.buffer("float", 64)})

case("histogram", [[kernel void k(global const int *x, global int *h) {
    for (int j = get_global_id(0); j < 1 << 20; j += 64)
      atomic_inc(&h[x[j] & 255]); }]],
  function(i, x, h)
    for j = i, 1 << 20, 64 do w.atomic_add(h, (x[j] & 255) + 1, 1) end
  end, {64, group = 8}, {random("int", n, 0, 256), lze.buffer("int", 256)})

case("k-means", [[kernel void k(global const float *p, global const float *c,
      global int *near) {
    int i = get_global_id(0), best = 0; float least = INFINITY;
    for (int j = 0; j < 16; j++) {
      float dx = p[2 * i] - c[2 * j], dy = p[2 * i + 1] - c[2 * j + 1];
      float d = dx * dx + dy * dy; if (d < least) { least = d; best = j + 1; } }
    near[i] = best; }]],
  function(i, p, c, near)
    local best, least, x, y = 0, math.huge, p[2 * i - 1], p[2 * i]
    for j = 1, 16 do
      local dx, dy = x - c[2 * j - 1], y - c[2 * j]
      local d = dx * dx + dy * dy
      if d < least then least, best = d, j end
    end
    near[i] = best
  end, n // 2, {random("float", n, 0, 1), random("float", 32, 0, 1),
    lze.buffer("int", n // 2)})

local rows, each = 1 << 16, 24
local first, columns = {}, {}
for r = 0, rows do first[r + 1] = r * each end
for i = 1, rows * each do columns[i] = (i * 7919) % rows end
case("spmv", [==[kernel void k(global const int *first,
      global const int *column,
      global const float *a, global const float *x, global float *y) {
    int r = get_global_id(0); float s = 0;
    for (int j = first[r]; j < first[r + 1]; j++) s += a[j] * x[column[j]];
    y[r] = s; }]==],
  function(r, start, column, a, x, y)
    local s = 0.0
    for j = start[r] + 1, start[r + 1] do s = s + a[j] * x[column[j] + 1] end
    y[r] = s
  end, rows, {lze.buffer("int", first), lze.buffer("int", columns),
    random("float", rows * each, 0, 1), random("float", rows, 0, 1),
    lze.buffer("float", rows)})

-- Checks that the last argument is the same for both, or nearly so.
local function check(name, a, b)
  for i = 1, #a do
    local off = abs(a[i] - b[i])
    if off > 1e-3 * (1 + abs(b[i])) then
      error(("%s: element %d is %s in Lua and %s in OpenCL C")
        :format(name, i, a[i], b[i]), 0)
    end
  end
end

print(("%-14s %10s %10s %7s"):format("", "Lua us", "C us", "C/Lua"))
local logs = 0
for _, c in ipairs(cases) do
  local name, source, f, range, arguments = table.unpack(c)
  local compiled = lze.compile(source).k
  local out = arguments[#arguments]
  local zero = lze.buffer(out.type, out)
  local kernel = lze.kernel(f, {name = "k", real = "float"})
  local launch = type(range) == "table" and table.move(range, 1, #range, 1, {})
    or {range}
  local x, y, z = compiled:group(range)
  launch.group = type(range) == "table" and range.group or {x, y, z}
  local function run(k)
    out:copy(zero)
    local t = k:launch(launch, table.unpack(arguments)):time()
    return t.kernel_ns / 1e3, out:read()
  end
  local _, a = run(kernel)
  local _, b = run(compiled)
  check(name, a, b)
  local lua, opencl = {}, {}
  for r = 1, rounds do
    lua[r] = run(kernel)
    opencl[r] = run(compiled)
  end
  local ratio = median(opencl) / median(lua)
  logs = logs + log(ratio)
  print(("%-14s %10.1f %10.1f %7.3f"):format(name, median(lua),
    median(opencl), ratio))
end
print(("%-14s %29.3f"):format("geometric mean", exp(logs / #cases)))

-- From bytecode to SPIR-V: the function of n-body has 90 instructions.
local nbody = lze.kernel(cases[3][3])
local times = {}
for r = 1, 20 * rounds do
  local began = os.clock()
  nbody:spirv "const float *p, float *a"
  times[r] = (os.clock() - began) * 1e6
end
print(("%-14s %10.1f us"):format("to SPIR-V", median(times)))
