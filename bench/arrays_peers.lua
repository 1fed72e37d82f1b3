-- arrays_peers.lua - operations of arrays beside NumPy's and pyopencl.array's.
-- SPDX-License-Identifier: MIT
--
--   PYTHON=python3 sh scripts/with-build BUILD lua5.4 bench/arrays_peers.lua
--     [ROUNDS]
--
-- All three take turns, round by round; medians are shown, in milliseconds,
-- including waits but not the first two times.  Python stays in a separate
-- process and times itself.  pyopencl, or an operation, is omitted if Python
-- lacks it.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local median = require "stats".median
local c = require "bench.reductions"
local A = lze.array
local rounds = tonumber(arg and arg[1]) or 9
local n <const>, few <const>, rank <const> = 1 << 24, 1 << 22, 1024

local x, y, z = A.rand {n}, A.rand {n}, A.zeros {n}
local s, m, rows = A.rand {few}, A.rand {rank, rank}, A.rand {1 << 14, 1 << 10}
for _, a in ipairs {x, y, s, m, rows} do a:eval() end

local operations = {
  {"z:set(2 * x + y)", function() z:set(2 * x + y) end,
    "z[:] = 2 * x + y", "2 * X + Y"},
  {"(x * x + y * y):sqrt():sum()",
    function() return (x * x + y * y):sqrt():sum():item() end,
    "np.sqrt(x * x + y * y).sum()",
    "cla.sum(clm.sqrt(X * X + Y * Y)).get()"},
  {"x:exp():eval()", function() x:exp():eval() end, "np.exp(x)", "clm.exp(X)"},
  {"x:sum()", function() return x:sum():item() end, "x.sum()",
    "cla.sum(X).get()"},
  {"x:max()", function() return x:max():item() end, "x.max()",
    "cla.max(X).get()"},
  {"x:argmax()", function() return x:argmax():item() end, "x.argmax()"},
  {"x:cumsum()", function() x:cumsum() end, "x.cumsum()", "scan(X)"},
  {"rows:sum {dim = 2}", function() rows:sum {dim = 2} end, "rows.sum(1)"},
  {"x[x:gt(0.5)]", function() return x[x:gt(0.5)] end, "x[x > 0.5]",
    "alg.copy_if(X, 'ary[i] > 0.5f')[1].get()"},
  {"s:sort()", function() s:sort() end, "np.sort(s)"},
  {"s:sin():eval()", function() s:sin():eval() end, "np.sin(s)"},
  {"s:tanh():eval()", function() s:tanh():eval() end, "np.tanh(s)"},
  {"s:log():eval()", function() s:log():eval() end, "np.log(s)"},
  {"(s ^ 2):eval()", function() (s ^ 2):eval() end, "s ** 2"},
  {"(s ^ 0.7):eval()", function() (s ^ 0.7):eval() end, "s ** np.float32(.7)"},
  {"m:mm(m)", function() m:mm(m) end, "m @ m"}
}

local program = [[
import sys, time
import numpy as np
r = np.random.default_rng(1)
n, few, rank = %d, %d, %d
x, y = r.random(n, 'f4'), r.random(n, 'f4')
z, s, m = np.zeros(n, 'f4'), r.random(few, 'f4'), r.random((rank, rank), 'f4')
rows = r.random((1 << 14, 1 << 10), 'f4')
try:
  import pyopencl as cl, pyopencl.array as cla, pyopencl.clmath as clm
  import pyopencl.algorithm as alg
  from pyopencl.scan import InclusiveScanKernel
  context = cl.Context(cl.get_platforms()[0].get_devices())
  queue = cl.CommandQueue(context)
  X, Y = (cla.to_device(queue, v) for v in (x, y))
  scan = InclusiveScanKernel(context, np.float32, 'a + b', neutral='0')
except ImportError: queue = None
answers = open(sys.argv[1], 'w', 1)
for line in sys.stdin:
  try:
    code = compile(line.strip(), 'operation', 'exec')
    start = time.perf_counter()
    exec(code)
    if queue: queue.finish()
    print((time.perf_counter() - start) * 1e3, file=answers)
  except Exception as error:
    print('nan', file=answers)
    print(line, error, file=sys.stderr)
]]

local pipe <close> = io.popen "mktemp -d"
local directory = pipe:read "l"
os.execute(("mkfifo '%s/answers'"):format(directory))
local file = assert(io.open(directory .. "/peers.py", "w"))
file:write(program:format(n, few, rank))
file:close()
local python = io.popen(("%s '%s/peers.py' '%s/answers'"):format(
  os.getenv "PYTHON" or "python3", directory, directory), "w")
local answers = assert(io.open(directory .. "/answers"))

-- Returns the milliseconds that a line of Python takes.
local function asked(line)
  python:write(line, "\n")
  python:flush()
  local answer = answers:read "l" or error("Python ended", 0)
  return tonumber(answer)
end

local function timed(f)
  local start = c.now()
  f()
  lze.wait()
  return (c.now() - start) * 1e3
end

local function text(t, own)
  if not t[1] then return "-" end
  return own and ("%.2f, %.2f"):format(median(t), median(t) / own) or
    ("%.2f"):format(median(t))
end

print "| 2^24 floats; sort 2^22, mm 1024 x 1024 | lze | NumPy | pyopencl |"
print "|---|---|---|---|"
for _, operation in ipairs(operations) do
  local name, f, numpy, pyopencl = table.unpack(operation)
  local own, others = {}, {{}, {}}
  for round = -1, rounds do
    local ours = timed(f)
    local theirs = {asked(numpy), pyopencl and asked(pyopencl)}
    if round > 0 then
      own[round] = ours
      for k = 1, 2 do others[k][round] = theirs[k] end
    end
    collectgarbage()
  end
  local mine = median(own)
  print(("| `%s` | %s | %s | %s |"):format(name, text(own),
    text(others[1], mine), text(others[2], mine)))
end
python:close()
answers:close()
os.execute(("rm -r '%s'"):format(directory))
