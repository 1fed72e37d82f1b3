-- numpy_rows.lua - many operations of arrays beside one thread of NumPy.
-- SPDX-License-Identifier: MIT
--
--   PYTHON=python3 sh scripts/with-build BUILD lua5.4 bench/numpy_rows.lua
--     [ROUNDS [PATTERN ...]]
--
-- Both take turns, round by round; the least times are shown, in microseconds,
-- waits included.  The last column compares processor time, lze's divided by
-- the number of cores: other programs do not change it much.  With patterns,
-- only rows whose name matches one are shown.  The rows in which lze takes
-- longer are listed at the end.

package.path = "bench/lib/?.lua;" .. package.path
local lze = require "lze"
local c = require "bench.reductions"
local A = lze.array
local rounds = tonumber(arg and arg[1]) or 9
local patterns = {table.unpack(arg or {}, 2)}

local cores = lze.device().compute_units
local x, y, z = A.rand {1 << 22}, A.rand {1 << 22}, A.rand {1 << 22}
local p, d = A.rand {1 << 20}, A.rand({1 << 20}, {type = "double"})
local i = A.randint({1 << 20}, -1000, 1000, {type = "int"})
local u = A.randint({1 << 22}, 0, 100, {type = "uchar"})
local places = A.randint({1 << 20}, 1, 1 << 20)
local m, k = A.rand {2000, 2000}, A.rand {1000, 1000}
local row, col = A.rand {2000}, A.rand {2000, 1}
local a512, a1024 = A.rand {512, 512}, A.rand {1024, 1024}
local d512 = A.rand({512, 512}, {type = "double"})
local image, five, k31 = A.rand {1024, 1024}, A.rand {5, 5}, A.rand {31}
local s, t, t10, u10 = A.rand {1000}, A.rand {1000}, A.rand {10}, A.rand {10}
local m16 = A.rand {16, 16}
for _, a in ipairs {x, y, z, p, d, i, u, places, m, k, row, col, a512, a1024,
  d512, image, five, k31, s, t, t10, u10, m16} do a:eval() end

-- Name, function of lze, line of NumPy, runs per round (1 if absent).  A row's
-- array is evaluated and waited for.
local rows = {
  {"x + y", function() return x + y end, "x + y"},
  {"(x * y + x - 0.5) / 2", function() return (x * y + x - 0.5) / 2 end,
    "(x * y + x - 0.5) / 2"},
  {"sqrt(x * x + y * y)", function() return (x * x + y * y):sqrt() end,
    "np.sqrt(x * x + y * y)"},
  {"z = x * 0.5 + y in place", function() z:set(x * 0.5 + y) end,
    "np.multiply(x, 0.5, out=z); np.add(z, y, out=z)"},
  {"exp", function() return x:exp() end, "np.exp(x)"},
  {"sin", function() return x:sin() end, "np.sin(x)"},
  {"tanh", function() return x:tanh() end, "np.tanh(x)"},
  {"log double", function() return d:log() end, "np.log(d)"},
  {"x ^ 2", function() return x ^ 2 end, "x ** 2"},
  {"x ^ 0.7", function() return x ^ 0.7 end, "x ** 0.7"},
  {"i // 7 int", function() return i // 7 end, "i // 7"},
  {"i % 7 int", function() return i % 7 end, "i % 7"},
  {"u + u uchar", function() return u + u end, "u + u"},
  {"where(x > 0.5, x, y)",
    function() return A.where(x:gt(0.5), x, y) end, "np.where(x > 0.5, x, y)"},
  {"clip", function() return x:clamp(0.2, 0.8) end, "np.clip(x, 0.2, 0.8)"},
  {"x > y", function() return x:gt(y) end, "x > y"},
  {"sum", function() return x:sum():item() end, "x.sum()"},
  {"sum of columns", function() return m:sum(1) end, "m.sum(0)"},
  {"sum of rows", function() return m:sum(2) end, "m.sum(1)"},
  {"sum int", function() return i:sum():item() end, "i.sum()"},
  {"mean", function() return x:mean():item() end, "x.mean()"},
  {"std", function() return x:std():item() end, "x.std()"},
  {"max", function() return x:max():item() end, "x.max()"},
  {"argmax", function() return x:argmax():item() end, "x.argmax()"},
  {"norm", function() return x:norm():item() end, "np.linalg.norm(x)"},
  {"sum(x * y)", function() return (x * y):sum():item() end, "(x * y).sum()"},
  {"dot", function() return x:dot(y):item() end, "x @ y"},
  {"any(x > 2)", function() return x:gt(2):any():item() end, "(x > 2).any()"},
  {"all(x < 2)", function() return x:lt(2):all():item() end, "(x < 2).all()"},
  {"count(x > 0.5)", function() return x:gt(0.5):count():item() end,
    "np.count_nonzero(x > 0.5)"},
  {"cumsum", function() return p:cumsum() end, "p.cumsum()"},
  {"cumsum int", function() return i:cumsum() end, "i.cumsum()"},
  {"cumsum of columns", function() return m:cumsum(1) end, "m.cumsum(0)"},
  {"cumsum of rows", function() return m:cumsum(2) end, "m.cumsum(1)"},
  {"sort", function() return p:sort() end, "np.sort(p)"},
  {"sort int", function() return i:sort() end, "np.sort(i)"},
  {"argsort", function() return p:argsort() end, "np.argsort(p)"},
  {"sort rows", function() return m:sort {dim = 2} end, "np.sort(m, 1)"},
  {"sort columns", function() return m:sort {dim = 1} end, "np.sort(m, 0)"},
  {"sort 1000 rows of 1000", function() return k:sort {dim = 2} end,
    "np.sort(k, 1)"},
  {"topk 10", function() return p:topk(10) end, "np.partition(p, -10)[-10:]"},
  {"unique int", function() return i:unique() end, "np.unique(i)"},
  {"histogram 100", function() return p:histogram(100, {low = 0, high = 1}) end,
    "np.histogram(p, 100, (0, 1))"},
  {"take random", function() return p:take(places) end, "p[places]"},
  {"p[p > 0.5]", function() return p[p:gt(0.5)] end, "p[p > 0.5]"},
  {"p[p > 0.5] = 1", function() p[p:gt(0.5)] = 1 end, "p[p > 0.5] = 1"},
  {"nonzero", function() return p:gt(0.5):nonzero() end, "(p > 0.5).nonzero()"},
  {"m + row", function() return m + row end, "m + row"},
  {"m + col", function() return m + col end, "m + col"},
  {"row + col", function() return row + col end, "row + col"},
  {"m - mean(rows)", function() return m - m:mean {dim = 2, keep = true} end,
    "m - m.mean(1, keepdims=True)"},
  {"outer", function() return row:outer(row) end, "np.outer(row, row)"},
  {"x[::2] + y[::2]",
    function() return x[{ {1, -1, 2} }] + y[{ {1, -1, 2} }] end,
    "x[::2] + y[::2]"},
  {"x[::-1] copy", function() return x:flip():clone() end, "x[::-1].copy()"},
  {"m.T copy", function() return m:t():clone() end, "m.T.copy()"},
  {"m + m.T", function() return m + m:t() end, "m + m.T"},
  {"sum(m.T)", function() return m:t():sum():item() end, "m.T.sum()"},
  {"m[:, 5] = 7", function() m[{ {}, 5 }] = 7 end, "m[:, 5] = 7"},
  {"m[5] = 7", function() m[5] = 7 end, "m[5] = 7"},
  {"mm 512", function() return a512:mm(a512) end, "a512 @ a512"},
  {"mm 1024", function() return a1024:mm(a1024) end, "a1024 @ a1024"},
  {"mm 512 double", function() return d512:mm(d512) end, "d512 @ d512"},
  {"mm 512 a b.T", function() return a512:mm(a512:t()) end, "a512 @ a512.T"},
  {"m row", function() return m:mv(row) end, "m @ row"},
  {"fft 2^18", function() return x[{ {1, 1 << 18} }]:fft() end,
    "np.fft.fft(x[:1 << 18])"},
  {"rfft 2^20", function() return p:rfft() end, "np.fft.rfft(p)"},
  {"conv2d 5 x 5", function() return image:conv2d(five) end,
    "np.einsum('ijkl,kl', windows(image, (5, 5)), five)"},
  {"rand", function() return A.rand {1 << 20} end, "r.random(1 << 20, 'f4')"},
  {"randn", function() return A.randn {1 << 20} end,
    "r.standard_normal(1 << 20, 'f4')"},
  {"randint",
    function() return A.randint({1 << 20}, 0, 99, {type = "int"}) end,
    "r.integers(0, 100, 1 << 20, 'i4')"},
  {"zeros", function() return A.zeros {1 << 22} end,
    "np.zeros(1 << 22, 'f4').fill(0)"},
  {"arange", function() return A.arange(1, 1 << 20, {type = "float"}) end,
    "np.arange(1, (1 << 20) + 1, dtype='f4')"},
  {"cat", function() return A.cat {x, y} end, "np.concatenate((x, y))"},
  {"to double", function() return x:to "double" end, "x.astype('f8')"},
  {"s + t, 1000", function() return s + t end, "s + t", 200},
  {"chain of 5, 1000", function() return ((s + t) * s - t) / 2 + 1 end,
    "((s + t) * s - t) / 2 + 1", 200},
  {"sum, 1000", function() return s:sum():item() end, "s.sum()", 200},
  {"max, 1000", function() return s:max():item() end, "s.max()", 200},
  {"a + b, 10", function() return t10 + u10 end, "t10 + u10", 200},
  {"view, 1000", function() local _ = s[{ {3, 500} }] end, "s[2:500]",
    200},
  {"sort, 1000", function() return s:sort() end, "np.sort(s)", 200},
  {"mm 16 x 16", function() return m16:mm(m16) end, "m16 @ m16", 200}
}

local pipe <close> = io.popen "mktemp -d"
local directory = pipe:read "l"
os.execute(("mkfifo '%s/answers'"):format(directory))
local python = io.popen(("OPENBLAS_NUM_THREADS=1 %s bench/numpy_rows.py "
  .. "'%s/answers'"):format(os.getenv "PYTHON" or "python3", directory), "w")
local answers = assert(io.open(directory .. "/answers"))

-- Returns the milliseconds that one of `count` runs of a line of Python takes,
-- and those of the processor.
local function asked(count, line)
  python:write(count, " ", line, "\n")
  python:flush()
  local answer = answers:read "l" or error("Python ended", 0)
  local ms, used = answer:match "(%S+) (%S+)"
  return tonumber(ms) or 0 / 0, tonumber(used) or 0 / 0
end

-- Returns the milliseconds, and those of the processor for each core.
local function timed(count, f)
  local start, used = c.now(), os.clock()
  for _ = 1, count do
    local a = f()
    if type(a) == "userdata" or type(a) == "table" then a:eval() end
    lze.wait()
  end
  return (c.now() - start) * 1e3 / count,
    (os.clock() - used) * 1e3 / count / cores
end

local function is_chosen(name)
  for _, pattern in ipairs(patterns) do
    if name:find(pattern) then return true end
  end
  return #patterns == 0
end

local lost, shown = {}, 0
print "| operation | NumPy, us | lze, us | lze / NumPy | processor / NumPy |"
print "|---|---|---|---|---|"
for _, r in ipairs(rows) do
  local name, f, line, count = table.unpack(r)
  if is_chosen(name) then
    local own, other, processor, python_processor = math.huge, math.huge,
      math.huge, math.huge
    for round = -1, rounds do
      local ours, used = timed(count or 1, f)
      local theirs, python_used = asked(count or 1, line)
      if round > 0 then
        own, other = math.min(own, ours), math.min(other, theirs)
        processor = math.min(processor, used)
        python_processor = math.min(python_processor, python_used)
      end
      collectgarbage()
    end
    local ratio = own / other
    print(("| `%s` | %.1f | %.1f | %.2f | %.2f |"):format(name, other * 1e3,
      own * 1e3, ratio, processor / python_processor))
    shown = shown + 1
    if ratio > 1 then lost[#lost + 1] = ("`%s` %.2f"):format(name, ratio) end
  end
end
print(("\n%d of %d rows take longer than NumPy: %s"):format(#lost, shown,
  table.concat(lost, ", ")))
python:close()
answers:close()
os.execute(("rm -r '%s'"):format(directory))
