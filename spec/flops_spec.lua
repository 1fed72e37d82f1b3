-- flops_spec.lua - the amount of arithmetic that a work-item does.
-- SPDX-License-Identifier: MIT

local json = require "bench.lib.json"
local lze = require "lze"
local process = require "spec.support.process"

-- Returns {half, float, double, whether there may be more} for a kernel.
local function counts(bytes, name)
  for _, k in ipairs(lze.spirv.reflect(bytes).kernels) do
    if k.name == name then
      return {k.half_flops, k.float_flops, k.double_flops, k.more_flops}
    end
  end
end

-- Returns the same for a body in OpenCL C, in a kernel with these arguments.
local function of_c(body, before)
  local mod <close> = lze.compile((before or "") .. [[
    kernel void k(global float *x, global float4 *v, global double *d, int n) {
      size_t i = get_global_id(0);
    ]] .. body .. "}")
  return counts(mod:spirv(), "k")
end

describe("arithmetic in OpenCL C", function()
  it("is counted by type, lanes and function", function()
    assert.same({0, 2, 0, false}, counts(lze.load("saxpy"):spirv(), "saxpy"))
    for body, expected in pairs {
      ["x[i] = 1.0f;"] = {0, 0, 0, false},
      ["x[i] = -x[i] + x[i + 1];"] = {0, 1, 0, false},
      ["x[i] = x[i] / 3.0f;"] = {0, 1, 0, false},
      ["x[i] = fma(x[i], 2.0f, x[n]);"] = {0, 2, 0, false},
      ["x[i] = mad(x[i], 2.0f, x[n]);"] = {0, 2, 0, false},
      ["x[i] = sqrt(fabs(fmin(x[i], 2.0f)));"] = {0, 1, 0, false},
      ["x[i] = exp(x[i]) * 2.0f;"] = {0, 2, 0, true},
      ["v[i] = fma(v[i], v[i], v[n]);"] = {0, 8, 0, false},
      ["v[i] = v[i] * x[i];"] = {0, 4, 0, false},
      ["x[i] = dot(v[i], v[n]);"] = {0, 7, 0, false},
      ["d[i] = d[i] * x[i];"] = {0, 0, 1, false},
      ["x[i] = n * 2 + 1;"] = {0, 0, 0, false},
    } do
      assert.same(expected, of_c(body), body)
    end
  end)

  it("is counted in loops with constant bounds", function()
    for body, expected in pairs {
      ["for (int k = 0; k < 16; k++) x[i] = fma(x[i], 2.0f, x[n]);"] =
        {0, 32, 0, false},
      ["for (uint k = 100; k > 0; k >>= 1) x[i] += 1.0f;"] = {0, 7, 0, false},
      ["for (long k = -3; k <= 3; k += 2) d[i] *= 3.0;"] = {0, 0, 4, false},
      ["int k = 0; do { v[i] *= 2.0f; k++; } while (k != 5);"] =
        {0, 20, 0, false},
      [ [[for (int a = 0; a < 10; a++)
            for (int b = 0; b < a; b++) x[i] += x[b];]] ] = {0, 45, 0, false},
      [ [[for (int a = 0; a < 9; a++) {
            if (a % 3 == 0) continue;
            if (a == 7) break;
            x[i] += 1.0f;
          }]] ] = {0, 4, 0, false},
      [ [[for (int a = 0; a < 4; a++)
            switch (a) {
              case 1: x[i] += 1.0f; break;
              case 2: x[i] += 1.0f; /* fall through */
              default: x[i] *= 3.0f;
            }]] ] = {0, 5, 0, false},
    } do
      assert.same(expected, of_c(body), body)
    end
  end)

  it("is not counted if it depends on other values", function()
    for body, expected in pairs {
      ["if (n > 3) x[i] += 1.0f; x[i] *= 2.0f;"] = {0, 1, 0, true},
      ["x[i] += 1.0f; if (i >= n) return; x[i] *= 2.0f;"] = {0, 1, 0, true},
      ["if (n > 3) x[i] = 1.0f; x[i] *= 2.0f;"] = {0, 1, 0, false},
      ["for (int k = 0; k < n; k++) x[i] += 1.0f; x[i] *= 2.0f;"] =
        {0, 1, 0, true},
      ["do x[i] += 1.0f; while (x[i] < 9.0f); x[i] *= 2.0f;"] =
        {0, 2, 0, true},
      -- After the branch, the values that it may have changed are unknown.
      [ [[int m = 4; if (n > 3) m = 6;
          for (int k = 0; k < m; k++) x[i] += 1.0f;]] ] = {0, 0, 0, true},
      [ [[int m = 4, l = 5; if (n > 3) m = 6;
          for (int k = 0; k < l; k++) x[i] += 1.0f;]] ] = {0, 5, 0, false},
      -- A loop that may end early counts once, up to the place of its exit.
      [ [[for (int k = 0; k < 50; k++) {
            x[i] = x[i] * x[i] + 1.0f;
            if (x[i] > 4.0f) break;
            x[i] -= 1.0f;
          }]] ] = {0, 2, 0, true},
      [ [[for (int k = 0; k < 10; k++) {
            x[i] += 1.0f;
            if (x[i] > 4.0f) x[i] = 0;
          }]] ] = {0, 10, 0, false},
    } do
      assert.same(expected, of_c(body), body)
    end
  end)

  it("is counted in functions, for each call", function()
    local before = [[
      float f(float a, int times) {
        for (int k = 0; k < times; k++) a = a * a;
        return a;
      }
      int g(int a) { return a + 2; }
      void h(int *a) { *a = *a + 1; }
    ]]
    for body, expected in pairs {
      ["x[i] = f(x[i], 3) + f(x[n], 5);"] = {0, 9, 0, false},
      ["x[i] = f(x[i], g(2));"] = {0, 4, 0, false},
      ["x[i] = f(x[i], n);"] = {0, 0, 0, true},
      ["int a = 3; h(&a); x[i] = f(x[i], a);"] = {0, 0, 0, true},
    } do
      assert.same(expected, of_c(body, before), body)
    end
  end)

  it("is counted only up to a number of steps", function()
    local c = of_c "for (int k = 0; k < 100000000; k++) x[i] += 1.0f;"
    assert.is_true(c[4])
    assert.is_true(c[2] > 1000 and c[2] < 100000000)
  end)
end)

describe("arithmetic in Lua", function()
  -- Returns the counts of a kernel over x and y of type `t`, and a number.
  local function of_lua(f, t)
    local x, y = lze.buffer(t or "float", 8), lze.buffer(t or "float", 8)
    local k = lze.kernel(f)
    local bytes = k:spirv(8, x, y, 3)
    return counts(bytes, lze.spirv.reflect(bytes).kernels[1].name)
  end

  it("is counted", function()
    local function saxpy(i, x, y, a) y[i] = a * x[i] + y[i] end
    assert.same({0, 2, 0, false}, of_lua(saxpy))
    if lze.device().fp64 then
      assert.same({0, 0, 2, false}, of_lua(saxpy, "double"))
    end
    assert.same({0, 49, 0, false}, of_lua(function(i, x, y, a)
      local s = x[i]
      for _ = 1, 16 do s = s * 1.5 + y[i] * s end
      y[i] = s + a
    end))
    assert.same({0, 1, 0, true}, of_lua(function(i, x, y, n)
      local a = x[i]
      for _ = 1, n do a = a * 1.5 + 1 end
      y[i] = a - x[i]
    end))
    -- As in the Mandelbrot set.
    assert.same({0, 2, 0, true}, of_lua(function(i, x, y, limit)
      local c, z, n = x[i] * 0.5 - 2, 0.0, 0
      while z < 4 and n < limit do
        z = z * z + c
        n = n + 1
      end
      y[i] = n
    end))
  end)
end)

describe("arithmetic in a profile", function()
  local prompt = require "lze.prompt"

  it("includes all work-items", function()
    local x, y = lze.buffer("float", 1000), lze.buffer("float", 1000)
    local saxpy <const> = lze.load("saxpy").saxpy
    local plan <close> = lze.graph "g":fill("zero", y, 0)
      :task("saxpy", saxpy, 500, 2, x, y):compile {profile = true}
    local p <close> = lze.profile(function()
      saxpy(1000, 2, x, y)
      y:fill(1)
      plan:run()
    end)
    local seen = {}
    for _, e in ipairs(p.events) do
      if e.start_ns and e.device then
        seen[#seen + 1] = e.kind .. " " .. tostring(e.float_flops)
        assert.same({}, {e.half_flops, e.double_flops, e.more_flops})
      end
    end
    assert.same({"kernel 2000", "fill nil", "graph nil", "task nil",
      "task 1000"}, seen)
  end)

  it("is in the files of the profile", function()
    local x, y = lze.buffer("float", 1000), lze.buffer("float", 1000)
    local saxpy <const> = lze.load("saxpy").saxpy
    local p <close> = lze.profile(function()
      saxpy(1000, 2, x, y)
      y:fill(1)
    end)
    process.with_directory(function(dir)
      local function read(ending)
        p:save(dir .. "/p." .. ending)
        local file <close> = assert(io.open(dir .. "/p." .. ending, "rb"))
        return file:read "a"
      end
      local data = json.decode(read "html":match
        '<script type="application/json" id="data">(.-)</script>')[1]
      local texts = {}
      for _, row in ipairs(data.rows) do
        for _, e in ipairs(row.events) do
          texts[data.strings[e[3] + 1]] = data.strings[e[13] + 1] or "none"
        end
      end
      assert.same({"2000 of float", "none"}, {texts.saxpy, texts.fill})
      assert.matches("\nkernel,saxpy,.*,,2000,,,,\n", read "csv")
      for _, e in ipairs(json.decode(read "json").traceEvents) do
        if e.cat == "kernel" then assert.equal(2000, e.args.float_flops) end
        if e.cat == "fill" then assert.is_nil(e.args.float_flops) end
      end
    end)
  end)

  it("is compared with the device's limits", function()
    local name = lze.device().name
    local before = prompt.limits(name)
    local n = 4096
    local x, y = lze.buffer("float", n), lze.buffer("float", n)
    local z = lze.buffer("float", n)
    local mod <close> = lze.compile [[
      kernel void whole(global float *x) {
        size_t i = get_global_id(0);
        for (int k = 0; k < 16; k++) x[i] = fma(x[i], 0.5f, 1.0f);
      }
      kernel void part(global float *x, int n) {
        size_t i = get_global_id(0);
        x[i] += 1.0f;
        for (int k = 0; k < n; k++) x[i] *= 0.5f;
      }
      kernel void hidden(global float *x, int n) {
        size_t i = get_global_id(0);
        for (int k = 0; k < n; k++) x[i] *= 0.5f;
      }
      kernel void none(global float *x, global float *y) {
        size_t i = get_global_id(0);
        x[i] = y[i];
      }]]
    local p <close> = lze.profile(function()
      mod.whole(n, x)
      mod.part(n, y, 3)
      mod.hidden(n, z, 3)
      mod.none(n, x, y)
    end)
    local ns, bytes = {}, {}
    for _, e in ipairs(p.events) do
      if e.kind == "kernel" then
        ns[e.name], bytes[e.name] = e.end_ns - e.start_ns, e.bytes
      end
    end
    -- Returns the line about a kernel with these limits.
    local function line(kernel, copy, float)
      prompt.limits(name, {copy = copy, float = float})
      return tostring(p):match(
        "\ncompared with what the device can do\n.-  " .. kernel ..
        ": ([^\n]*)")
    end
    local function memory(kernel, copy)
      local rate = bytes[kernel] / ns[kernel]
      return ("%.2f GB/s, %.0f %% of a copy's %.1f"):format(rate,
        100 * rate / copy, copy)
    end
    local rate = 32 * n / ns.whole
    assert.equal(("%.2f GFLOP/s, %.0f %% of the device's 0.5 GFLOP/s of " ..
      "float, "):format(rate, 200 * rate) .. memory("whole", 1e6) ..
      ": arithmetic is nearer", line("whole", 1e6, 0.5))
    assert.equal(("%.2f GFLOP/s, %.0f %% of the device's 1000000.0 GFLOP/s " ..
      "of float, "):format(rate, 1e-4 * rate) .. memory("whole", 0.5) ..
      ": memory is nearer", line("whole", 0.5, 1e6))
    rate = n / ns.part
    assert.equal(("at least %.2f GFLOP/s, at least %.0f %% of the device's " ..
      "1000000.0 GFLOP/s of float, "):format(rate, 1e-4 * rate) ..
      memory("part", 1e-6) .. ": memory is nearer, of what is counted",
      line("part", 1e-6, 1e6))
    assert.equal(("at least %.2f GFLOP/s, at least %.0f %% of the device's " ..
      "0.5 GFLOP/s of float, "):format(rate, 200 * rate) ..
      memory("part", 1e6) .. ": arithmetic is nearer", line("part", 1e6, 0.5))
    assert.equal("its arithmetic is in branches or loops that are not " ..
      "counted, " .. memory("hidden", 1e-6) ..
      ": memory is nearer, of what is counted", line("hidden", 1e-6, 1e6))
    -- A memory rate far below its limit says nothing about uncounted
    -- arithmetic.
    assert.equal("its arithmetic is in branches or loops that are not " ..
      "counted, " .. memory("hidden", 1e6), line("hidden", 1e6, 1e6))
    assert.equal("no arithmetic of floats, " .. memory("none", 0.5) ..
      ": memory is nearer", line("none", 0.5, 1e6))
    local text = tostring(p)
    local cell = (" %.2f +%%d+ +whole "):format(32 * n / ns.whole)
    assert.matches(cell:gsub("%%%.", "%%."), text)
    assert.matches((" >%.2f +%%d+ +part "):format(rate), text)
    assert.matches(" %? +%d+ +hidden ", text)
    assert.matches(" %- +%d+ +none ", text)
    prompt.limits(name, before or {})
  end)
end)
