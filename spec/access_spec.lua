-- access_spec.lua - the reported access of pointer arguments, on random
-- kernels.
-- SPDX-License-Identifier: MIT
--
-- The generator writes OpenCL C and counts the accesses as it writes them.
-- lze.compile leaves the code unoptimised, so every pointer passes through
-- Function variables, calls and selections.

local lze = require "lze"

local seed = tonumber(os.getenv "LZE_TEST_SEED") or 1
local KERNELS = 120

local PRELUDE = [[
#define G global float *
typedef struct { int pad; G p; G q; } pair;
float get(global const float *p) { return p[1]; }
void put(G p, float v) { if (v > 0.5f) *p = v; }
void swap_into(G p, global const float *q) { put(p, get(q)); }
G pick(G p, G q, int c) { return c ? p : q; }
G pass(G p, G unused) { return p + 1; }
void place(G *at, G p) { *at = p; }
G part(pair s) { return s.q; }
]]

-- Makes a kernel of four pointers. Returns its source, the expected access of
-- each pointer, and whether the report must be exact: if pointers meet, more
-- accesses may be reported.
local function make(name, draw)
  local exact = draw(2) == 1
  local lines, reads, writes, vars = {}, {}, {}, {}
  local function emit(...) lines[#lines + 1] = "  " .. string.format(...) end
  for i = 1, 4 do vars[i] = {name = "a" .. i, of = {[i] = true}} end
  local function any() return vars[draw(#vars)] end
  local function mark(set, v)
    for i in pairs(v.of) do set[i] = true end
  end
  local function new(of, text, ...)
    local v = {name = "v" .. #vars, of = of}
    emit("G %s = " .. text .. ";", v.name, ...)
    vars[#vars + 1] = v
  end
  local function union(v, w)
    local of = {}
    for i in pairs(v.of) do of[i] = true end
    for i in pairs(w.of) do of[i] = true end
    return of
  end
  local function read(v) mark(reads, v) end
  local function write(v) mark(writes, v) end
  local steps = {
    function(v) emit("x += %s[i];", v.name) read(v) end,
    function(v) emit("%s[i] = x;", v.name) write(v) end,
    function(v) emit("x += get(%s + i);", v.name) read(v) end,
    function(v) emit("put(%s, x);", v.name) write(v) end,
    function(v, w)
      emit("swap_into(%s, %s);", v.name, w.name) write(v) read(w)
    end,
    function(v) emit("%s[i] += x;", v.name) read(v) write(v) end,
    function(v)
      emit("atomic_inc((volatile global int *)%s);", v.name) read(v) write(v)
    end,
    function(v) emit("x += vload4(i, %s).y;", v.name) read(v) end,
    function(v) emit("vstore2((float2)(x), i, %s);", v.name) write(v) end,
    function(v) emit("*(global int *)(%s + i) = i;", v.name) write(v) end,
    function(v, w)
      emit("*(global float4 *)%s = *(global float4 *)%s;", v.name, w.name)
      write(v) read(w)
    end,
    function(v)
      emit("for (G e = %s; e < %s + 4; e++) x += *e;", v.name, v.name)
      read(v)
    end,
    function(v)
      emit("{ pair s = {0, 0, %s}; x += part(s)[2]; }", v.name) read(v)
    end,
    function(v) new(v.of, "%s + i", v.name) end,
    function(v, w) new(v.of, "pass(%s, %s)", v.name, w.name) end,
    function(v) emit("if (%s == 0) x++;", v.name) end,
    -- The steps from here on let pointers meet.
    function(v, w) new(union(v, w), "i > 3 ? %s : %s", v.name, w.name) end,
    function(v, w)
      new(union(v, w), "pick(%s, %s, (int)i)", v.name, w.name)
    end,
    function(v, w)
      new(union(v, w), "%s", v.name)
      emit("for (int k = 0; k < 2; k++) if (k == (int)i) %s = %s;",
        vars[#vars].name, w.name)
    end,
    function(v, w)
      new(union(v, w), "%s", v.name)
      emit("if (i == 2) place(&%s, %s);", vars[#vars].name, w.name)
    end,
    function(v, w)
      emit("G t%d[2] = {%s, %s};", #lines, v.name, w.name)
      new(union(v, w), "t%d[i & 1]", #lines - 1)
    end,
  }
  for _ = 1, 2 + draw(8) do
    steps[draw(exact and 16 or #steps)](any(), any())
  end
  local params, expected = {}, {}
  for i = 1, 4 do
    local const = not writes[i] and draw(3) == 1
    params[i] = (const and "global const float *c" or "global float *a") .. i
    if const then table.insert(lines, 1, string.format("  G a%d = (G)c%d;", i,
      i)) end
    expected[i] = reads[i] and writes[i] and "both" or reads[i] and "read"
      or writes[i] and "write" or "none"
  end
  return string.format("kernel void %s(%s) {\n  size_t i = " ..
    "get_global_id(0); float x = 0;\n%s\n}\n", name,
    table.concat(params, ", "), table.concat(lines, "\n")), expected, exact
end

describe("the access of random kernels", function()
  local state = seed
  local function draw(n)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % n + 1
  end
  local sources, expected, exact = {PRELUDE}, {}, {}
  for i = 1, KERNELS do
    sources[i + 1], expected[i], exact[i] = make("k" .. i, draw)
  end
  local bits = {none = 0, read = 1, write = 2, both = 3}
  local mod

  setup(function() mod = lze.compile(table.concat(sources)) end)
  teardown(function() mod:close() end)

  it("is exactly what the kernel does if no pointers meet", function()
    for i = 1, KERNELS do
      if exact[i] then
        for j, a in ipairs(mod["k" .. i].args) do
          assert.equal(expected[i][j], a.access, "seed " .. seed ..
            " argument " .. j .. " of\n" .. sources[i + 1])
        end
      end
    end
  end)

  it("is never less than what the kernel does", function()
    local more = 0
    for i = 1, KERNELS do
      for j, a in ipairs(mod["k" .. i].args) do
        local real, said = bits[expected[i][j]], bits[a.access]
        assert.equal(real, real & said, "seed " .. seed ..
          " argument " .. j .. " is " .. a.access .. " in\n" .. sources[i + 1])
        if said ~= real then more = more + 1 end
      end
    end
    -- If pointers meet, some are mistaken for each other, but not most.
    assert.is_true(more < KERNELS, more .. " of " .. KERNELS * 4)
  end)
end)
