-- arrays_linear.lua - products of matrices beside a plain kernel, OpenBLAS's
-- and NumPy's.
-- SPDX-License-Identifier: MIT
--
-- Run by bench/clocks.c, which provides the clock.  The competitors take turns,
-- round by round; medians are shown, in milliseconds, including waits but not
-- the first time.  OpenBLAS is the system's, on all cores, and omitted if it is
-- not installed.  NumPy runs in a separate process and times itself; it is
-- omitted if python3 does not have it.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local median = require "stats".median
local now, gemm = _G.now, _G.gemm -- luacheck: ignore
local A = lze.array

local rounds = tonumber((...)) or 9

local naive = lze.kernel(function(j, i, a, b, c, columns, depth)
  local sum = 0.0
  for k = 1, depth do
    sum = sum + a[(i - 1) * depth + k] * b[(k - 1) * columns + j]
  end
  c[(i - 1) * columns + j] = sum
end)

local program = [[
import numpy, time
a = numpy.random.rand(%d, %d).astype("%s")
b = numpy.random.rand(%d, %d).astype("%s")
a @ b
t = time.perf_counter()
for _ in range(3): a @ b
print((time.perf_counter() - t) / 3 * 1e3)
]]

local function numpy(m, k, n, dtype)
  local p = io.popen("python3 -c '" .. program:format(m, k, dtype, k, n, dtype)
    .. "' 2>/dev/null")
  local ms = p:read "n"
  p:close()
  return ms
end

local function timed(f)
  local t = now()
  f()
  lze.wait()
  return (now() - t) / 1e3
end

print("| product | mm, ms | Gflop/s | plain kernel, ms | OpenBLAS, ms | " ..
  "NumPy, ms |")
print "|---|---|---|---|---|---|"
for _, case in ipairs {
  {"float", 256, 256, 256}, {"float", 1024, 1024, 1024},
  {"float", 1021, 1031, 1019}, {"float", 2048, 2048, 2048},
  {"float", 4096, 64, 4096}, {"double", 1024, 1024, 1024}
} do
  local kind, m, k, n = table.unpack(case)
  local a, b = A.rand({m, k}, {type = kind}), A.rand({k, n}, {type = kind})
  local c = lze.buffer(kind, m * n)
  local own, plain, blas, other = {}, {}, {}, {}
  a:eval() b:eval()
  lze.wait()
  for round = 0, rounds do
    local product, there
    own[round] = timed(function() product = a:mm(b) end)
    local t = timed(function()
      there = gemm(kind, m, n, k, a.buffer.pointer, b.buffer.pointer, c.pointer)
    end)
    if there then
      blas[round] = t
      local far = (product - A(kind, c, {m, n})):abs():max():item()
      if far > 1e-3 * k then
        error(("OpenBLAS's product differs by %g"):format(far), 0)
      end
    end
    if round < 2 and m * k * n <= 1 << 30 then -- it is slow
      plain[round] = timed(function()
        naive({n, m}, a.buffer, b.buffer, c, n, k)
      end)
    end
    other[round] = numpy(m, k, n, kind == "float" and "f4" or "f8")
  end
  local function text(t) return t[1] and ("%.3g"):format(median(t)) or "-" end
  print(("| %s %dx%dx%d | %s | %.0f | %s | %s | %s |"):format(kind, m, k, n,
    text(own), 2 * m * k * n / median(own) / 1e6, text(plain), text(blas),
    text(other)))
end
