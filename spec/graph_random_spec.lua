-- graph_random_spec.lua - random task graphs, compared with sequential plain
-- Lua.
-- SPDX-License-Identifier: MIT
--
-- LZE_TEST_GRAPHS=N runs N graphs, LZE_TEST_SEED=S starts with seed S. If there
-- are several devices, tasks are pinned to some of them or spread over all.

local lze = require "lze"

local COUNT <const> = tonumber(os.getenv "LZE_TEST_GRAPHS" or 200)
local SEED <const> = tonumber(os.getenv "LZE_TEST_SEED" or 1)

local devices = lze.devices()

local source = [[
  kernel void sum(global const int *a, global const int *b, global int *c) {
    size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
  kernel void mix(global int *x, int n) {
    size_t i = get_global_id(0); x[i] = x[i] * 3 + n + (int)i; }
  kernel void scale(global const int *a, global int *b, int n) {
    size_t i = get_global_id(0); b[i] = a[i] * n; }
  kernel void both(global int *a, global int *b) {
    size_t i = get_global_id(0);
    int t = a[i]; a[i] = b[i]; b[i] = t + b[i]; }]]

local function wrap(v)
  return (v + (1 << 31) & 0xffffffff) - (1 << 31)
end

-- A window on a plain array, like a view of a buffer.
local function window(data, from, n)
  return {data = data, from = from, n = n}
end
local function get(w, i) return w.data[w.from + i] end
local function put(w, i, v) w.data[w.from + i] = wrap(v) end

-- The effects of the kernels on windows.
local model = {
  sum = function(n, a, b, c)
    for i = 0, n - 1 do put(c, i, get(a, i) + get(b, i)) end
  end,
  mix = function(n, x, v)
    for i = 0, n - 1 do put(x, i, get(x, i) * 3 + v + i) end
  end,
  scale = function(n, a, b, v)
    for i = 0, n - 1 do put(b, i, get(a, i) * v) end
  end,
  both = function(n, a, b)
    for i = 0, n - 1 do
      local t = get(a, i)
      put(a, i, get(b, i))
      put(b, i, t + get(b, i))
    end
  end,
}
local signatures = {sum = "wwx", mix = "xn", scale = "wxn", both = "xx"}
local names = {"both", "mix", "scale", "sum"}

local function overlap(a, b)
  return a.data == b.data and a.from < b.from + b.n and b.from < a.from + a.n
end

-- Records one graph from its seed, runs it several times with changes between
-- the runs, and compares it with the model each time.
local function try(mod, seed)
  math.randomseed(seed)
  local random = math.random

  -- Buffers with their arrays, and views of the buffers.
  local buffers, places = {}, {}
  for b = 1, random(2, 5) do
    local n = random(1, 90)
    local data = {}
    for i = 1, n do data[i] = random(-1000, 1000) end
    local usage = ({"shared", "host", "device"})[random(3)]
    local x = lze.buffer("int", n, {usage = usage})
    x:write(data)
    buffers[b] = {x = x, data = data}
    places[#places + 1] = {x = x, w = window(data, 1, n)}
    for _ = 1, random(0, 2) do
      local i = random(1, n)
      local j = random(i, n)
      places[#places + 1] = {x = x:view(i, j), w = window(data, i, j - i + 1)}
    end
  end

  local steps = {} -- functions that apply each task to the arrays
  local settable = {}
  local count = 0

  local function record(g, path, depth)
    -- Transient buffers are written before they are read.
    local mine, known = {}, {}
    for t = 1, random(0, 2) do
      local n = random(1, 60)
      local data = {}
      for i = 1, n do data[i] = 0 end
      mine[t] = {x = g:buffer("int", n), w = window(data, 1, n)}
    end
    local function pick(least)
      for _ = 1, 20 do
        local from = #known > 0 and random(3) == 1 and known or places
        local p = from[random(#from)]
        if p.w.n >= least then return p end
      end
      return places[random(#places)]
    end

    for _ = 1, random(1, 12) do
      count = count + 1
      local name = "t" .. count
      local kind = random(10)
      local fresh = mine[random(#mine + 1)]
      if fresh and not fresh.known then
        -- Fills the whole buffer.
        fresh.known = true
        known[#known + 1] = fresh
        local v, w = random(-9, 9), fresh.w
        g:fill(name, fresh.x, v)
        steps[#steps + 1] = function()
          for i = 0, w.n - 1 do put(w, i, v) end
        end
      elseif kind == 1 then
        local p, v = pick(1), random(-99, 99)
        local i = random(1, p.w.n)
        local j = random(i - 1, p.w.n)
        g:fill(name, p.x, v, i, j)
        steps[#steps + 1] = function()
          for at = i - 1, j - 1 do put(p.w, at, v) end
        end
      elseif kind <= 3 then
        local to, from = pick(1), pick(1)
        local n = random(1, math.min(to.w.n, from.w.n))
        local i, at = random(1, from.w.n - n + 1), random(1, to.w.n - n + 1)
        local a = window(from.w.data, from.w.from + i - 1, n)
        local b = window(to.w.data, to.w.from + at - 1, n)
        if not overlap(a, b) then
          g:copy(name, to.x, from.x, i, i + n - 1, at)
          steps[#steps + 1] = function()
            for o = 0, n - 1 do put(b, o, get(a, o)) end
          end
        end
      elseif kind == 4 and depth < 2 then
        local inner = lze.graph(name)
        local before = #steps
        record(inner, path .. name .. ".", depth + 1)
        if #steps > before then g:task(name, inner) end
      else
        local kernel = names[random(#names)]
        local signature = signatures[kernel]
        local arguments, values, written, n = {}, {}, {}, math.huge
        for i = 1, #signature do
          local c = signature:sub(i, i)
          if c == "n" then
            arguments[i] = random(-99, 99)
            values[i] = arguments[i]
          else
            local p = pick(1)
            arguments[i], values[i] = p.x, p.w
            n = math.min(n, p.w.n)
            if c == "x" then written[#written + 1] = i end
          end
        end
        -- Only a few sizes, because a device may compile for each.
        local sizes = {}
        for _, size in ipairs {1, 7, 16, 48} do
          if size <= n then sizes[#sizes + 1] = size end
        end
        n = sizes[random(#sizes)]
        -- Work-items must not conflict: only one may touch what it writes.
        local clean = true
        for _, i in ipairs(written) do
          for j, w in pairs(values) do
            if j ~= i and type(w) == "table" then
              -- Across devices, buffers that overlap anywhere are refused.
              local whole = #devices > 1
              local a = window(values[i].data, values[i].from,
                whole and values[i].n or n)
              local b = window(w.data, w.from, whole and w.n or n)
              local alike = a.from == b.from and (w == values[i] or
                not whole) and signature:sub(j, j) == "w"
              if overlap(a, b) and not alike then clean = false end
            end
          end
        end
        if clean then
          local range = n
          if random(4) == 1 then range = {n, group = math.min(n, 5)} end
          if #devices > 1 and random(3) == 1 then
            range = {n, device = devices[random(#devices)]}
          end
          g:task(name, mod[kernel], range, table.unpack(arguments))
          steps[#steps + 1] = function()
            model[kernel](n, table.unpack(values))
          end
          if signature:sub(-1) == "n" then
            settable[#settable + 1] = {path = path .. name, values = values,
              at = #signature}
          end
        end
      end
    end
  end

  local g = lze.graph "g"
  record(g, "g.", 0)
  if #steps == 0 then return end
  local options = {profile = random(2) == 1}
  if #devices > 1 and random(3) == 1 then options.devices = devices end
  local plan <close> = g:compile(options)

  for run = 1, 4 do
    if #settable > 0 and random(2) == 1 then
      local s = settable[random(#settable)]
      s.values[s.at] = random(-99, 99)
      plan:set(s.path, s.at, s.values[s.at])
    end
    local iterations = random(4) == 1 and random(2, 3) or 1
    plan[random(2) == 1 and "start" or "run"](plan,
      iterations > 1 and {iterations = iterations} or nil)
    for _ = 1, iterations do
      for _, step in ipairs(steps) do step() end
    end
    if random(2) == 1 or run == 4 then
      for b, buffer in ipairs(buffers) do
        for i, v in ipairs(buffer.x:read()) do
          if v ~= buffer.data[i] then
            error(("graph of seed %d, run %d, buffer %d: element %d is %d, " ..
              "not %d"):format(seed, run, b, i, v, buffer.data[i]), 0)
          end
        end
      end
    end
  end
end

describe("random task graphs", function()
  it("give the results of their tasks in sequence", function()
    local mod = lze.compile(source)
    for seed = SEED, SEED + COUNT - 1 do try(mod, seed) end
    assert.is_true(COUNT > 0)
  end)
end)
