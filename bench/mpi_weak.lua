-- mpi_weak.lua - what heat and n-body would take on many machines.
-- SPDX-License-Identifier: MIT
--
--   build/bench/clocks bench/mpi_weak.lua [ROUNDS [LATENCY [RATE]]]
--
-- One process does the work of one rank of P, on its own device: its kernels
-- are timed.  The time of its messages is modelled as LATENCY us + bytes / RATE
-- GB/s each (R. Hockney, "The communication challenge for MPP", Parallel
-- Computing 20, 1994), by default 2 us and 10 GB/s.  Each rank has the same
-- share for any P; in n-body it interacts with P times as many bodies.  The
-- efficiency is the time of the kernels divided by the time of the step.

local lze = require "lze"
local now = _G.now -- luacheck: ignore
local rounds, latency, rate = ...
rounds = math.tointeger(tonumber(rounds or 15))
latency, rate = tonumber(latency or 2), tonumber(rate or 10)
assert(rounds and rounds > 0 and latency and rate and rate > 0,
  "usage: mpi_weak.lua [ROUNDS [LATENCY [RATE]]]")

local function message(bytes) return latency + bytes / (rate * 1e3) end

-- Returns the least of several rounds, in us.
local function time(f)
  local least = math.huge
  for i = 0, rounds do                       -- the first is not counted
    local start = now()
    f()
    lze.wait()
    if i > 0 then least = math.min(least, now() - start) end
  end
  return least
end

local function row(p, kernels, messages, step)
  print(("%6d %12.1f %12.1f %12.1f %11.3f"):format(p, kernels, messages, step,
    kernels / step))
end

local function head(text)
  print(("%s\n%6s %12s %12s %12s %11s"):format(text, "ranks", "kernels us",
    "messages us", "a step us", "efficiency"))
end

-- Rows of 1024 cells: a row is sent to each neighbour and received from it
-- while the inside is computed, for the two neighbours one after the other.
local width, rows = 1024, 1024
local heat = lze.kernel(function(x, y, u, v, first)
  local at = (first + y - 2) * width + x + 1
  v[at] = u[at] + 0.2 * (u[at - 1] + u[at + 1] + u[at - width] +
    u[at + width] - 4.0 * u[at])
end, {name = "heat"})
local u = lze.buffer("float", width * (rows + 2)):fill(1)
local v = lze.buffer("float", u)
local inside = time(function() heat({width - 2, rows - 2}, u, v, 3) end)
local border = time(function()
  heat({width - 2, 1}, u, v, 2)
  heat({width - 2, 1}, u, v, rows + 1)
end)
head(("heat, %d x %d cells a rank"):format(width, rows))
for _, p in ipairs {1, 2, 4, 16, 64} do
  local neighbours = p == 1 and 0 or p == 2 and 1 or 2
  local messages = neighbours * message(width * 4)
  row(p, inside + border, messages, math.max(inside, messages) + border)
end

-- All positions to all, by a ring (R. Thakur, R. Rabenseifner, W. Gropp,
-- "Optimization of collective communication operations in MPICH", 2005).
local own = 1024
local move = lze.kernel(function(i, x, y, newx, newy, n)
  local ownx, owny, ax, ay = x[i], y[i], 0.0, 0.0
  for j = 1, n do
    local dx, dy = x[j] - ownx, y[j] - owny
    local d = dx * dx + dy * dy + 0.01
    local f = 1.0 / (d * math.sqrt(d))
    ax, ay = ax + f * dx, ay + f * dy
  end
  newx[i], newy[i] = ax, ay
end, {name = "move"})
head(("\nn-body, %d bodies a rank"):format(own))
for _, p in ipairs {1, 2, 4, 16, 64} do
  local n = own * p
  local x, y = lze.buffer("float", n):fill(1), lze.buffer("float", n):fill(2)
  local newx, newy = lze.buffer("float", own), lze.buffer("float", own)
  local kernels = time(function() move(own, x, y, newx, newy, n) end)
  local messages = (p - 1) * 2 * message(own * 4)
  row(p, kernels, messages, kernels + messages)
end
