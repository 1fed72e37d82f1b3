-- mpi_program.lua - the program of every rank in the runs of mpi_spec.lua.
-- SPDX-License-Identifier: MIT
--
--   mpirun -n N lua5.4 spec/support/mpi_program.lua [RANKS]
--
-- Every rank prints one line if all its results are right.

local lze, mpi = require "lze", require "lze.mpi"
local interrupted = require "spec.support.interrupted"
local world = mpi.world()
local rank, size = world.rank, world.size
assert(size == tonumber(arg[1] or 1), "the number of ranks")
assert(world == mpi.world() and world.node_size == size)
assert(world.node_rank == rank)
lze.default(world:device())
local m = lze.load "kernels/spec.spv"
local after, before = (rank + 1) % size, (rank - 1) % size

local function same(expected, got, what)
  assert(#expected == #got, what)
  for i = 1, #expected do
    if expected[i] ~= got[i] then
      error(("%s: [%d] is %s, not %s"):format(what, i, got[i], expected[i]), 2)
    end
  end
end

-- Returns a table of the n numbers f(i).
local function list(n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return t
end

local function raises(pattern, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "nothing was raised: " .. pattern)
  local text = tostring(err)
  assert(text:find(pattern), text)
  return err
end

-- Returns the keys of a table, in the same order on all ranks.
local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local usages = {"shared", "host", "device"}
local tests = {}

-- Messages come after the kernels that compute them, and before the kernels
-- that use them.
function tests.order()
  local n = 5000
  for _, usage in ipairs(usages) do
    local x = lze.buffer("int", list(n, function(i) return i + rank end),
      {usage = usage})
    local y = lze.buffer("int", n, {usage = usage})
    local z = lze.buffer("int", n, {usage = usage})
    local w = lze.buffer("int", n, {usage = usage})
    m.square(n, x, y)
    local sent = world:isend(y, after)
    local source, tag, count
    local got = world:irecv(z, before)
    m.square(n, z, w)                        -- waits for the received data
    y:fill(0)                                -- waits until y was sent
    got:wait()
    same(list(n, function(i) return (i + before) ^ 2 // 1 end), z:read(), usage)
    same(list(n, function(i) return ((i + before) ^ 4 // 1 + 2 ^ 31) % 2 ^ 32
      - 2 ^ 31 end), w:read(), usage)
    assert(sent:wait() and y:read()[n] == 0)

    m.square(n, x, y)
    local ev = world:isend(y, after, {first = 2, last = 3, tag = 5})
    source, tag, count = world:recv(z, before, {first = 11, tag = 5})
    assert(source == before and tag == 5 and count == 2)
    ev:wait()
    same({(10 + before) ^ 2 // 1, (2 + before) ^ 2 // 1,
      (3 + before) ^ 2 // 1, (13 + before) ^ 2 // 1}, z:read(10, 13), usage)
  end
  collectgarbage()
end

-- A launch and a copy after an event, coroutines, x:pending.
function tests.events()
  local x, y = lze.buffer("int", {7 + rank}), lze.buffer("int", 1)
  local z = lze.buffer("int", 1)
  local got = world:irecv(y, nil, {tag = 1})
  assert(got.command == "irecv" and tostring(got):find "irecv")
  assert(y:pending() and not got:done() and not got:wait(0.001))
  local ev = m.square:launch({1, after = got}, x, z)
  local turns = 0
  local thread = coroutine.wrap(function()
    got:await(function() turns = turns + 1 coroutine.yield() end)
    return "over"
  end)
  thread()
  world:barrier()                            -- no rank has sent before this
  local sent = world:isend(x, after, {tag = 1})
  while thread() ~= "over" do lze.wait(0) end
  assert(turns >= 1 and y[1] == 7 + before)
  ev:wait()
  assert(z[1] == (7 + rank) ^ 2)
  sent:wait()
  same({before, 1, 1}, {mpi.status(got)}, "status")
  local t = got:time()
  assert(t.start_ns >= t.queued_ns and t.end_ns >= t.start_ns)
  local g = lze.graph()
  g:call("swap", function()
    local s = world:isend(x, after)
    world:recv(y, before)
    s:wait()
  end)
  x[1] = rank + 40
  g:compile():run()
  assert(y[1] == before + 40)
end

-- A send waits only for work that it needs.
function tests.ahead()
  for _, usage in ipairs(usages) do
    local x = lze.buffer("int", 100, {usage = usage}):fill(rank)
    local y, z = lze.buffer("int", 100), lze.buffer("int", 100)
    local got = world:irecv(y, before)
    m.square(100, y, z)                       -- waits for the message
    local sent = world:isend(x, after)
    assert(got:wait() and sent:wait() and z[100] == before * before)
  end
end

function tests.values()
  local deep = {}
  for i = 1, 100 do deep = {deep, i} end
  local values = {nil, true, false, 1, -0.0, 1 / 0, math.mininteger, "",
    ("x"):rep(100000), {}, {1, 2, {a = "b", [3.5] = false}}, deep}
  for i = 1, 12 do
    local ev = world:isend(values[i], after, {tag = i})
    local v, source, tag = world:recv(nil, before, {tag = i})
    assert(source == before and tag == i)
    if type(values[i]) == "table" then
      if i == 11 then assert(v[3].a == "b" and v[3][3.5] == false) end
      if i == 12 then assert(v[2] == 100 and v[1][2] == 99) end
    else
      assert(v == values[i] and math.type(v) == math.type(values[i]))
    end
    ev:wait()
  end
  for root = 0, size - 1 do
    local v = world:bcast({from = rank, n = root}, root)
    assert(v.from == root and v.n == root)
    assert(world:bcast(rank == root and "text" or nil, root) == "text")
  end
  -- A table that occurs twice arrives as one table, and may contain itself.
  local shared = {7}
  local t = {a = shared, b = shared, [shared] = "key"}
  t.t = t
  local got = world:bcast(t, 0)
  assert(got.t == got and got.a == got.b and got.a[1] == 7)
  assert(got[got.a] == "key" and (rank ~= 0 or got ~= t))
  -- Tables may be nested to any depth.
  local chain = {}
  for _ = 1, 100000 do chain = {chain} end
  local links = 0
  got = world:bcast(chain, size - 1)[1]
  while got do links, got = links + 1, got[1] end
  assert(links == 100000)
  raises("value%.a%[1%]%.f: .* got function", world.send, world,
    {a = {{f = print}}}, rank)
  raises("value%.f: .* got function", world.send, world, {f = print}, rank)
end

local limits = {char = 2, uchar = 3, short = 1000, ushort = 1000, int = 1000,
  uint = 1000, long = 10 ^ 9 // 1, ulong = 10 ^ 9 // 1, float = 100,
  double = 10 ^ 9 // 1}

local operators = {
  sum = function(a, b) return a + b end,
  prod = function(a, b) return a * b end,
  min = math.min, max = math.max,
  band = function(a, b) return a & b end,
  bor = function(a, b) return a | b end,
  bxor = function(a, b) return a ~ b end
}

-- Returns element i of rank r.
local function element(kind, r, i)
  local v = (i * 7 + r * 13) % (limits[kind] + 1)
  return (kind == "float" or kind == "double") and v + 0.0 or v
end

local function folded(kind, op, i, last)
  local v = element(kind, 0, i)
  for r = 1, last do v = operators[op](v, element(kind, r, i)) end
  return v
end

function tests.reductions()
  local n = 9
  for _, kind in ipairs(sorted(limits)) do
    for _, op in ipairs(sorted(operators)) do
      local real = kind == "float" or kind == "double"
      local small = kind == "char" or kind == "uchar"
      if (real and not op:find "^b") or
          (not real and not (small and op == "prod")) then
        local function fresh()
          return lze.buffer(kind, list(n, function(i)
            return element(kind, rank, i)
          end))
        end
        local function expect(last)
          return list(n, function(i) return folded(kind, op, i, last) end)
        end
        if op == "prod" and kind:find "long" then goto continue end
        if op == "prod" and size > 3 and kind ~= "double" then
          goto continue
        end
        if op == "prod" and kind:find "short" then goto continue end
        local what = kind .. " " .. op
        local x = fresh()
        assert(world:allreduce(x, op) == x)
        same(expect(size - 1), x:read(), what)
        x = fresh()
        world:allreduce(x, op, {order = "rank"})
        same(expect(size - 1), x:read(), what .. " in order")
        x = fresh()
        world:scan(x, op, kind == "int" and {order = "rank"} or nil)
        same(expect(rank), x:read(), what .. " scan")
        x = fresh()
        world:reduce(x, op, size - 1, op == "sum" and {order = "rank"} or nil)
        same(rank == size - 1 and expect(size - 1) or fresh():read(), x:read(),
          what .. " reduce")
        ::continue::
      end
    end
  end
  -- In the order of the ranks, the sum is the same as in one process.
  local x = lze.buffer("float", {1e8 * (-1) ^ rank, 0.1 + rank / 3})
  local sum, one = lze.buffer("float", {0, 0}), lze.buffer("float", 2)
  for r = 0, size - 1 do
    one:write {1e8 * (-1) ^ r, 0.1 + r / 3}
    if r == 0 then
      sum:copy(one)
    else
      local a, b = sum:read(), one:read()
      sum:write {a[1] + b[1], a[2] + b[2]}
    end
  end
  world:allreduce(x, "sum", {order = "rank"})
  assert(x:string() == sum:string())
  -- Unsigned numbers that are larger than any signed number.
  local highest = {uchar = 255, ushort = 65535, uint = 2 ^ 32 - 1, ulong = -1}
  for _, kind in ipairs(sorted(highest)) do
    local most = highest[kind]
    for _, order in ipairs {false, {order = "rank"}} do
      local high = lze.buffer(kind, {rank == size - 1 and most or 1, most})
      world:allreduce(high, "max", order or nil)
      same({most, most}, high:read(), kind .. " max")
      high:write {most, rank == size - 1 and most or 2}
      world:scan(high, "min", order or nil)
      same({most, size > 1 and 2 or most}, high:read(), kind .. " min")
      high:write {rank == 0 and most or 1, rank}
      world:reduce(high, "max", 0, order or nil)
      same(rank == 0 and {most, size - 1} or {1, rank}, high:read(), kind)
    end
  end
  -- Integers wrap.
  local bits_of = {char = 8, uchar = 8, short = 16, ushort = 16, int = 32,
    uint = 32}
  for _, kind in ipairs(sorted(bits_of)) do
    local bits = bits_of[kind]
    local lowest = kind:find "^u" and 0 or -1 << bits - 1
    local most = lowest + (1 << bits) - 1
    local function wrapped(v) return (v - lowest) % (1 << bits) + lowest end
    for _, order in ipairs {false, {order = "rank"}} do
      local high = lze.buffer(kind, 100):fill(most)
      world:allreduce(high, "sum", order or nil)
      local all = wrapped(most * size)
      same(list(100, function() return all end), high:read(), kind .. " sum")
      world:iscan(high:fill(lowest), "sum", order or nil):wait()
      all = wrapped(lowest * (rank + 1))
      same(list(100, function() return all end), high:read(), kind .. " scan")
    end
  end
  -- Device memory; kernels that must run first; vectors, by components.
  for _, usage in ipairs(usages) do
    local v = lze.buffer("int", 1000, {usage = usage})
    local w = lze.buffer("int", list(1000, function(i) return i end),
      {usage = usage})
    m.square(1000, w, v)
    world:allreduce(v, "sum")
    same(list(1000, function(i) return i * i * size end), v:read(), usage)
    local ev = world:iallreduce(w, "max")
    assert(ev:wait() and w:read()[7] == 7)
  end
  local v4 = lze.buffer("int4", {{1, 2, 3, rank}})
  world:allreduce(v4, "sum")
  same({size, 2 * size, 3 * size, size * (size - 1) // 2}, v4[1], "int4")
  raises("copy them into a buffer of float", world.allreduce, world,
    lze.buffer("half", 2), "sum")
  raises("copy them into a buffer of float", world.scan, world,
    lze.buffer("bfloat16", 2), "sum")
  raises("band is for integers", world.allreduce, world, lze.buffer("float", 2),
    "band")
  raises("sum, prod, min, max, band, bor or bxor expected", world.allreduce,
    world, x, "avg")
  raises("'rank' expected", world.allreduce, world, x, "sum",
    {order = "size"})
  raises("unknown key 'ordr' %(known: order%)", world.allreduce, world, x,
    "sum", {ordr = "rank"})
end

function tests.exchanges()
  local n = 300
  local function block(r)
    return list(n, function(i) return r * 1000 + i end)
  end
  local all = {}
  for r = 0, size - 1 do table.move(block(r), 1, n, #all + 1, all) end
  for _, usage in ipairs(usages) do
    local options = {usage = usage}
    local x = lze.buffer("int", block(rank), options)
    local y = lze.buffer("int", n * size, options)
    assert(world:allgather(x, y) == y)
    same(all, y:read(), "allgather")
    y:fill(0)
    world:iallgather(x, y):wait()
    same(all, y:read(), "iallgather")
    for root = 0, size - 1 do
      y:fill(0)
      world:gather(x, rank == root and y or nil, root)
      same(rank == root and all or list(n * size, function() return 0 end),
        y:read(), "gather")
      if rank == root then y:write(all) end
      x:fill(0)
      world:scatter(rank == root and y or nil, x, root)
      same(block(rank), x:read(), "scatter")
      local z = lze.buffer("int", block(root), options)
      if rank ~= root then z:fill(0) end
      world:bcast(z, root)
      same(block(root), z:read(), "bcast")
    end
    local from, to = lze.buffer("long", size * 2, options),
      lze.buffer("long", size * 2, options)
    from:write(list(size * 2, function(i) return rank * 100 + i end))
    world:alltoall(from, to)
    same(list(size * 2, function(i)
      return (i - 1) // 2 * 100 + rank * 2 + 2 - i % 2
    end), to:read(), "alltoall")
  end
  -- A rank's own block in place, an array, an empty buffer.
  local y = lze.buffer("int", n * size)
  local mine = y:view(rank * n + 1, rank * n + n):write(block(rank))
  world:allgather(mine, y)
  same(all, y:read(), "in place")
  if size > 1 then
    raises("it overlaps the other buffer", world.allgather, world,
      y:view((rank + 1) % size * n + 1, (rank + 1) % size * n + n), y)
  end
  local a = lze.array("int", {{1, 2}, {3, rank}})
  world:allreduce(a, "sum")
  same({size, 2 * size, 3 * size, size * (size - 1) // 2}, a:read(), "array")
  -- Rows of an array.
  local rows = lze.array("int", list(2 * size, function(i) return {i, -i} end))
  local own = lze.array("int", {{0, 0}, {0, 0}})
  world:scatter(rank == 0 and rows or nil, own, 0)
  same({2 * rank + 1, -2 * rank - 1, 2 * rank + 2, -2 * rank - 2}, own:read(),
    "rows")
  own[{1, 2}] = rank
  world:gather(own, rank == 0 and rows or nil, 0)
  if rank == 0 then
    for r = 1, size do assert(rows[{2 * r - 1, 2}] == r - 1, "rows") end
  end
  local b = lze.array("int", {1, 2})
  local twice = b * 2                        -- from the current elements
  world:allreduce(b, "sum")
  same({2, 4}, twice:read(), "an expression of before")
  same({2 * size, 4 * size}, world:allreduce(twice, "sum"):read(),
    "an expression")
  raises("not contiguous", world.allreduce, world, a:t(), "sum")
  local e = lze.buffer("int", 0)
  world:allreduce(e, "sum")
  world:allgather(e, e)
  world:bcast(e, 0)
  raises("a buffer of %d+ elements expected, got one of 3", world.allgather,
    world, lze.buffer("int", 2), lze.buffer("int", 3))
  raises("buffer of int expected, got buffer of float", world.allgather, world,
    lze.buffer("int", 1), lze.buffer("float", size))
  raises("buffer expected, got nil", world.allreduce, world, nil, "sum")
end

-- Data longer than a piece, in memory whose kind differs by rank.
function tests.pieces()
  local n = (1 << 21) + 10
  local set = lze.kernel(function(i, x, r) x[i] = (i & 0xffff) * 3 + r end)
  local x = lze.buffer("int", n, {usage = usages[rank % 3 + 1]})
  -- Check that each element i is (i & 0xffff) * 3 * times + plus.
  local function check(times, plus, what)
    for _, first in ipairs {1, (1 << 20) - 5, n - 20} do
      same(list(20, function(i)
        return ((i + first - 1) & 0xffff) * 3 * times + plus
      end), x:read(first, first + 19), what)
    end
  end
  for _, i in ipairs {"", "i"} do
    local function call(name, ...)
      if name ~= "bcast" then set(n, x, rank) end
      local got = world[i .. name](world, x, ...)
      assert(i == "" and got == x or got:wait())
    end
    call("allreduce", "sum")
    check(size, size * (size - 1) // 2, "allreduce")
    call("scan", "sum")
    check(rank + 1, rank * (rank + 1) // 2, "scan")
    call("reduce", "max", size - 1)
    check(1, rank, "reduce")
    call("bcast", size - 1)
    check(1, size - 1, "bcast")
    if size <= 3 then
      call("allreduce", "sum", {order = "rank"})
      check(size, size * (size - 1) // 2, "allreduce in order")
      call("reduce", "min", 0, {order = "rank"})
      check(1, rank == 0 and 0 or rank, "reduce in order")
    end
  end
  -- A piece that is not a multiple of the element size.
  local s = lze.struct "int a, b, c"
  local y = lze.buffer(s, (1 << 22) // 12 + 5, {usage = usages[rank % 3 + 1]})
  if rank == 0 then y:write({{a = 1, b = 2, c = 3}}, #y - 5) end
  world:bcast(y, 0)
  assert(y:read(#y - 5, #y - 5)[1].b == 2)
  -- A message does not wait for a collective that the other rank has not begun.
  set(n, x, rank)
  local small = lze.buffer("int", {5})
  if rank == 1 then world:recv(small, 0) end
  local ev = world:iallreduce(x, "max")
  if rank == 0 and size > 1 then world:send(small, 1) end
  world:barrier()
  assert(ev:wait())
  check(1, size - 1, "iallreduce")
end

-- If a debug hook ends the wait for a collective on one rank, the collective
-- goes on in later collectives, which come after all of it.
function tests.interrupted()
  local last = size - 1
  if size == 1 or size > 3 then return end
  local n = (2 << 20) + 5                    -- three pieces
  local sum = size * (size + 1) // 2
  local calls = {
    {function(x) world:bcast(x, 0) end, 1},
    {function(x) world:reduce(x, "sum", last) end, sum},
    {function(x) world:allreduce(x, "sum") end, sum},
    {function(x) world:scan(x, "sum") end, sum},
    {function(x) world:allreduce(x, "sum", {order = "rank"}) end, sum},
    {function() world:bcast({1, 2}, 0) end, size}}
  for _, usage in ipairs(usages) do
    for i, call in ipairs(calls) do
      local f, expected = table.unpack(call)
      local x = lze.buffer("int", n, {usage = usage}):fill(rank + 1)
      local y = lze.buffer("int", {rank})
      if rank == last then                   -- the others have not begun
        interrupted(nil, f, x)
        for to = 0, last - 1 do world:isend("come", to) end
      else
        assert(world:recv(nil, last) == "come")
        f(x)
      end
      world:allreduce(y, "max")
      assert(y[1] == last)
      assert(world:bcast({i, usage}, 0)[1] == i)
      if rank == last then
        same({expected, expected, expected},
          {x:read(1)[1], x:read(n // 2)[1], x:read(n)[1]}, usage .. i)
      end
    end
  end
end

-- Announced messages among other messages, and messages that do not fit.
function tests.lengths()
  local piece = 1 << 22
  local function bytes(n, from)
    local letters = ("%d of 251 bytes, and so on; "):format(from):rep(20)
    letters = letters:sub(1, 251)
    return letters:rep(n // 251 + 1):sub(1, n)
  end
  local function buffer(usage, text)
    return lze.buffer("uchar", #text, {usage = usage}):write(text)
  end
  local turn = 0
  for _, sent in ipairs(usages) do
    for _, got in ipairs(usages) do
      turn = turn + 1
      local n = ({piece + 1, 2 * piece + 13, piece})[turn % 3 + 1]
      local lengths = {13, n, 0, 12, 13}
      local xs, ys, events = {}, {}, {}
      for i, length in ipairs(lengths) do
        xs[i] = buffer(sent, bytes(length, rank + i))
        ys[i] = buffer(got, ("."):rep(length + i % 2 * 3))
        -- Some receives begin before the sends.
        if i < turn % 4 then events[i] = world:irecv(ys[i], before) end
      end
      for i, x in ipairs(xs) do
        events[#events + 1] = world:isend(x, after, {tag = i % 2})
      end
      for i, length in ipairs(lengths) do
        local source, tag, count = before, i % 2, length
        if i >= turn % 4 then source, tag, count = world:recv(ys[i]) end
        assert(source == before and tag == i % 2 and count == length)
        local text = bytes(length, before + i) .. ("..."):rep(i % 2)
        assert(ys[i]:string() == text, sent .. " " .. got .. " " .. length)
      end
      for _, ev in ipairs(events) do assert(ev:wait()) end
    end
    local x, last = buffer(sent, bytes(2 * piece + 1, 1)), buffer(sent, "last")
    for _, room in ipairs {0, 5, 12, 13, piece, piece + 1} do
      local first = world:isend(x, after)
      local second = world:isend(last, after)
      local y = lze.buffer("uchar", room, {usage = sent})
      local err = raises("MPI_Recv: MPI_ERR_TRUNCATE", world.recv, world, y)
      assert(err.code == "MPI_ERR_TRUNCATE")
      assert(err.message:find("the message from rank " .. before .. ", tag 0 ",
        1, true), err.message)
      assert(err.message:find("buffer of " .. room .. " bytes", 1, true))
      y = lze.buffer("uchar", 6, {usage = sent})
      assert(select(3, world:recv(y, before)) == 4)
      assert(y:string(1, 4) == "last")
      assert(first:wait() and second:wait())
    end
    collectgarbage()
  end
end

-- Blocks whose lengths differ, some of them empty, against a model.  Elements
-- after the blocks stay unchanged.
function tests.counts()
  local spare = 3
  for round = 0, 2 do
    -- Returns the length of the block from rank `from` to rank `to`.
    local function length(from, to)
      return (from * 5 + to * 3 + round * 2) % 7
    end
    local counts, whole = {}, {}
    for r = 0, size - 1 do
      counts[r + 1] = length(r, 0)
      for i = 1, counts[r + 1] do whole[#whole + 1] = r * 100 + i end
    end
    local own = list(counts[rank + 1], function(i) return rank * 100 + i end)
    local behind = {table.unpack(whole)}
    for _ = 1, spare do behind[#behind + 1] = -1 end
    local sent, received, from, to = {}, {}, {}, {}
    for r = 0, size - 1 do
      sent[r + 1], received[r + 1] = length(rank, r), length(r, rank)
      for i = 1, sent[r + 1] do from[#from + 1] = rank * 100 + r * 10 + i end
      for i = 1, received[r + 1] do to[#to + 1] = r * 100 + rank * 10 + i end
    end
    for _, usage in ipairs(usages) do
      for _, kind in ipairs {"int", "short", "double"} do
        local what = kind .. " " .. usage
        local function fresh(t)
          return lze.buffer(kind, t, {usage = usage})
        end
        local function room() return fresh(#whole + spare):fill(-1) end
        local options = {counts = counts}
        local x, y = fresh(own), room()
        assert(world:allgather(x, y, options) == y)
        same(behind, y:read(), "allgather " .. what)
        y:fill(-1)
        assert(world:iallgather(x, y, options):wait())
        same(behind, y:read(), "iallgather " .. what)
        for root = 0, size - 1 do
          y = room()
          world:gather(x, rank == root and y or nil, root, options)
          local none = list(#behind, function() return -1 end)
          same(rank == root and behind or none, y:read(), "gather " .. what)
          if rank == root then y:write(behind) end
          x:fill(0)
          world:iscatter(rank == root and y or nil, x, root, options):wait()
          same(own, x:read(), "scatter " .. what)
        end
        x, y = fresh(from), fresh(to):fill(0)
        options = {counts = sent, received = received}
        world:alltoall(x, y, options)
        same(to, y:read(), "alltoall " .. what)
        y:fill(0)
        assert(world:ialltoall(x, y, options):wait())
        same(to, y:read(), "ialltoall " .. what)
      end
    end
    -- This rank's own block in place.
    local y = lze.buffer("int", #whole + spare):fill(-1)
    local first = 1
    for r = 1, rank do first = first + counts[r] end
    local mine = #own > 0 and y:view(first, first + #own - 1):write(own) or
      lze.buffer("int", 0)
    world:allgather(mine, y, {counts = counts})
    same(behind, y:read(), "in place")
    for root = 0, size - 1 do
      y:fill(-1)
      if #own > 0 then mine:write(own) end
      world:gather(mine, y, root, {counts = counts})
      if rank == root then same(behind, y:read(), "gather in place") end
      if rank ~= root then mine:fill(0) end
      world:scatter(y, mine, root, {counts = counts})
      same(own, mine:read(), "scatter in place")
    end
  end
  -- Rows of an array, as world:part divides them.
  for rows = 0, 2 * size + 1 do
    local first, last = world:part(rows)
    local function row(i) return {i, -i, i * i} end
    local all = lze.array.zeros({rows, 3}, {type = "int"})
    local own = lze.array.zeros({last - first + 1, 3}, {type = "int"})
    local model, part = {}, {}
    for i = 1, rows do table.move(row(i), 1, 3, #model + 1, model) end
    for i = first, last do table.move(row(i), 1, 3, #part + 1, part) end
    if rank == size - 1 and rows > 0 then all.buffer:write(model) end
    local options = {rows = rows}
    world:scatter(rank == size - 1 and all or nil, own, size - 1, options)
    same(part, own:read(), "rows to all")
    all = lze.array.zeros({rows, 3}, {type = "int"})
    world:gather(own, rank == 0 and all or nil, 0, options)
    if rank == 0 then same(model, all:read(), "rows of all") end
    assert(rawequal(world:allgather(own, all, options), all))
    same(model, all:read(), "rows of all, for all")
  end
end

function tests.communicators()
  local half = world:split(rank % 2, -rank)
  local members = (size + 1 - rank % 2) // 2
  assert(half.size == members)
  local x = lze.buffer("int", {rank})
  half:allreduce(x, "sum")
  local sum = 0
  for r = rank % 2, size - 1, 2 do sum = sum + r end
  assert(x[1] == sum)
  assert(half:bcast(rank, 0) == (members - 1) * 2 + rank % 2)
  half:close()
  half:close()
  assert(tostring(half) == "communicator (closed)")
  raises("barrier: the communicator is closed", half.barrier, half)
  assert((world:split(rank > 0 and 1 or nil, 0) == nil) == (rank == 0))
  raises("unknown field 'ranks' %(known: .*rank, .*size",
    function() return world.ranks end)
  raises("cannot be set", function() world.rank = 1 end)
  raises("unknown field 'coords'", function() return world.coords end)

  local dims = size == 4 and {2, 2} or {size}
  local cart = world:cart(dims, {periodic = true})
  assert(#cart.coords == #dims)
  assert(cart.coords[1] == (size == 4 and rank // 2 or rank))
  local source, to = cart:shift(1)
  if size ~= 4 then assert(source == before and to == after) end
  if size == 4 then
    assert(source == (rank + 2) % 4 and select(2, cart:shift(2)) == rank ~ 1)
  end
  local open = world:cart({size})
  source, to = open:shift(1)
  assert(source == (rank > 0 and rank - 1 or nil))
  assert(to == (rank < size - 1 and rank + 1 or nil))
  assert(open.dims[1] == size and open.periodic[1] == false)
  assert(tostring(open) == ("communicator: rank %d of %d, at {%d} of {%d}")
    :format(rank, size, rank, size))
  local one = world:cart {1}
  assert((one == nil) == (rank > 0))
  raises("more than the %d rank", world.cart, world, {size, 2})
end

-- Pending messages outlive their communicator, including messages in pieces and
-- messages that have not begun.
function tests.closing()
  local n = (1 << 20) + 1
  local part = world:split(0)
  local x, y = lze.buffer("int", n):fill(rank + 1), lze.buffer("int", n)
  local z = lze.buffer("int", n)
  local got = part:irecv(y, before)
  m.square(n, x, z)
  local sent = part:isend(z, after)
  part:close()
  assert(got:wait() and sent:wait() and y[n] == (before + 1) ^ 2)

  local cart = world:cart({size}, {periodic = true})
  local u = lze.buffer("int", 3):fill(rank)
  local halo = cart:halo(u, {shape = {3}})
  halo:start()
  cart:close()
  halo:wait()
  same({before, rank, after}, u:read(), "halo")
  raises("start: the communicator is closed", halo.start, halo)
end

-- Borders get the edge elements of the neighbours, including corners.
function tests.halos()
  local dims = size == 4 and {2, 2} or {size, 1}
  for _, usage in ipairs(usages) do
    for _, periodic in ipairs {false, true} do
      local cart = world:cart(dims, {periodic = periodic})
      local ny, nx, w = 6, 5, 2
      local height, width = dims[1] * ny, dims[2] * nx
      local u = lze.buffer("int", (ny + 2 * w) * (nx + 2 * w),
        {usage = usage})
      local y0, x0 = cart.coords[1] * ny, cart.coords[2] * nx
      -- Returns the value at a place of the whole, -1 outside.
      local function at(y, x, own)
        if periodic then
          y, x = y % height, x % width
        elseif y < 0 or y >= height or x < 0 or x >= width then
          return -1
        end
        return own and y * 100 + x or -1
      end
      local function values(all)
        local t = {}
        for j = -w, ny + w - 1 do
          for i = -w, nx + w - 1 do
            local own = j >= 0 and j < ny and i >= 0 and i < nx
            t[#t + 1] = at(y0 + j, x0 + i, own or all)
          end
        end
        return t
      end
      u:write(values(false))
      local halo = cart:halo(u, {width = w, shape = {ny + 2 * w, nx + 2 * w}})
      for round = 1, 2 do
        assert(halo:start() == halo)
        assert(round == 2 or u:read()[1] == -1)
        halo:wait()
        same(values(true), u:read(), usage .. " halo")
      end
      halo:close()
      assert(tostring(halo) == "halo (closed)")
      raises("start: the halo is closed", halo.start, halo)
      cart:close()
    end
  end
  local line = world:cart({size}, {periodic = true})
  local a = lze.array("int", {{0, 0}, {rank, rank + 1}, {0, 0}})
  local halo = line:halo(a, {width = 1})
  assert(tostring(halo) == "halo: {3, 2}, width 1, 2 neighbours")
  raises("has not been started", halo.wait, halo)
  halo:start():wait()
  same({before, before + 1, rank, rank + 1, after, after + 1}, a:read(),
    "rows")
  raises("shape%[1%]: 2 has no room", line.halo, line, lze.buffer("int", 4),
    {shape = {2, 2}})
  raises("shape: {3} is not 4 elements", line.halo, line,
    lze.buffer("int", 4), {shape = {3}})
  -- Numbers that do not fit 32 bits, or wrap in 64.
  raises("shape: {%d+, 4} is not 0 elements", line.halo, line,
    lze.buffer("int", 0), {shape = {1 << 62, 4}})
  raises("room for borders of width %d+", line.halo, line, a, {width = 1 << 62})
  raises("dims: .* is more than the", world.cart, world, {size, 1 << 62, 4})
  for _, by in ipairs {1 << 40, math.mininteger, math.maxinteger} do
    local source, to = line:shift(1, by)
    assert(source == (rank - by % size) % size)
    assert(to == (rank + by % size) % size)
  end
  local open = world:cart {size}
  assert(not open:shift(1, 1 << 40) and not open:shift(1, math.mininteger))
  open:close()
  raises("a Cartesian communicator expected", world.halo, world, a)
end

function tests.errors()
  local x, y = lze.buffer("int", 10), lze.buffer("int", 5)
  local ev = world:isend(x, after, {tag = 3})
  local err = raises("MPI_Recv: MPI_ERR_TRUNCATE", world.recv, world, y, before)
  assert(err.call == "MPI_Recv" and err.code == "MPI_ERR_TRUNCATE")
  assert(#err.message > 0 and err.where:find "mpi_program.lua:%d")
  ev:wait()
  for _, usage in ipairs(usages) do
    ev = world:isend(x, after, {tag = 3})
    local short = lze.buffer("int", 5, {usage = usage})
    local got = world:irecv(short, before)
    err = raises("irecv: MPI_Irecv: MPI_ERR_TRUNCATE", got.wait, got)
    assert(err.code == "MPI_ERR_TRUNCATE")
    ev:wait()
    short:fill(1)                             -- it can be used again
    assert(short:read()[5] == 1)
    ev = world:isend(x, after, {tag = 3})
    world:irecv(short, before)
    raises("irecv: MPI_Irecv: MPI_ERR_TRUNCATE", short.read, short)
    ev:wait()
  end
  -- A message that is too long is never written past the buffer.
  for _, usage in ipairs(usages) do
    for _, n in ipairs {600, 1500, 5000, 300000, 1 << 22, 9 << 20} do
      for to = 0, 1 do                         -- to itself, to another
        local long = lze.buffer("uchar", n, {usage = usage}):fill(7)
        local behind = lze.buffer("uchar", 12 << 20, {usage = usage})
        ev = world:isend(long, to == 0 and rank or after)
        local room = n // 2
        err = raises("MPI_ERR_TRUNCATE", world.recv, world,
          behind:view(1, room), to == 0 and rank or before)
        assert(err.call == "MPI_Recv")
        ev:wait()
        assert(not behind:string():find("\7", room + 1, true), n)
      end
    end
  end
  raises("rank: %d+ is outside 0%.%.%d", world.send, world, x, size)
  raises("rank: integer expected, got string 'a'", world.send, world, x, "a")
  raises("first: 0 is outside 1..10", world.send, world, x, 0, {first = 0})
  raises("last: 11 is outside 0..10", world.send, world, x, 0, {last = 11})
  raises("unknown key 'tga'", world.send, world, x, 0, {tga = 1})
  raises("tag: %-1 is outside", world.send, world, x, 0, {tag = -1})
  local closed = lze.buffer("int", 1)
  closed:close()
  raises("bad argument #1 to 'send' %(the buffer is closed%)", world.send,
    world, closed, 0)
  raises("on bad self", world.send, {}, x, 0)
end

-- One range over all ranks gives the results of one process: with slices, their
-- neighbours' elements, and buffers that are read completely.
function tests.parallel()
  local twice = lze.kernel(function(i, x, y, all)
    y[i] = x[i] * 2 + all[#all] + i
  end)
  local step = lze.kernel(function(i, n, u, v)
    if i > 1 and i < n then
      v[i] = u[i - 1] + 3 * u[i] + 5 * u[i + 1] & 0xffff
    else
      v[i] = u[i]
    end
  end)
  local pair = lze.kernel(function(i, z) z[2 * i] = z[2 * i - 1] + i end)
  for _, usage in ipairs(usages) do
    local options = {usage = usage}
    for _, n in ipairs {1, 2, 3, 1000} do
      local x = lze.buffer("int", list(n, function(i) return i end), options)
      local y = lze.buffer("int", n, options)
      local parts = world:parallel(n, twice, x, mpi.slice(y), x)
      same(list(n, function(i) return 3 * i + n end), y:read(), "slices")
      local first, last = world:part(n)
      assert(#parts == (first <= last and 1 or 0))
      if parts[1] then
        assert(parts[1].first == first and parts[1].count == last - first + 1)
      end
      local z = lze.buffer("int", 2 * n + 1, options)
      z:write(list(2 * n + 1, function(i) return 10 * i end))
      world:parallel(n, pair, mpi.slice(z, 2))
      same(list(2 * n + 1, function(i)
        return i % 2 == 1 and 10 * i or 10 * (i - 1) + i // 2
      end), z:read(), "pairs")
    end
    -- A width of any size means the whole buffer if all ranks have a part.
    local some = 2 * size
    local w = lze.buffer("int", list(some, function(i) return i end), options)
    local all = lze.buffer("int", some, options)
    world:parallel(some, twice, w, mpi.slice(all, 1, math.maxinteger), w)
    same(list(some, function(i) return 3 * i + some end), all:read(),
      "the largest width")
    local n, expected = 50, list(50, function(i) return i * i end)
    local u = lze.buffer("int", expected, options)
    local v = lze.buffer("int", n, options)
    for round = 1, 7 do
      local width = round % 3 == 0 and 20 or 1
      local last = round == 7
      world:parallel(n, step, n, u, last and mpi.slice(v) or
        mpi.slice(v, 1, width))
      u, v = v, u
      local before = expected
      expected = list(n, function(i)
        if i == 1 or i == n then return before[i] end
        return before[i - 1] + 3 * before[i] + 5 * before[i + 1] & 0xffff
      end)
      local first, last_one = world:part(n)
      first = math.max(1, first - width)
      last_one = math.min(n, last_one + width)
      if last then first, last_one = 1, n end
      same({table.unpack(expected, first, last_one)},
        u:read(first, last_one), "neighbours")
    end
  end
  local covered = 0
  for r = 0, size - 1 do
    local first, last = world:part(10, r)
    assert(first == covered + 1)
    covered = last
  end
  assert(covered == 10)
  local x = lze.buffer("int", 4)
  local k = m.square
  raises("argument #4 to 'parallel' %(the kernel writes to it: mpi.slice",
    world.parallel, world, 4, k, mpi.slice(x), x)
  -- All ranks get the error, even ranks with nothing to do.
  if size > 1 then
    local sized = lze.compile [[kernel void sized(global int *v) {
      v[get_global_id(0)] = get_global_size(0);
    }]]
    for _, n in ipairs {0, 1, 4} do
      raises("parallel: kernel sized%(.*%): it uses more than its global " ..
        "id, .* so its range cannot be split$", world.parallel, world, n,
        sized.sized, mpi.slice(x))
    end
  end
  raises("parallel: kernel square: 2 arguments %(.*%) expected, got 1",
    world.parallel, world, 1, k, mpi.slice(x))
  raises("none of the arguments is a slice", world.parallel, world, 4, k, x, x)
  raises("argument #3 to 'parallel' %(5 work%-items of 1 elements each",
    world.parallel, world, 5, k, mpi.slice(x), mpi.slice(x))
  raises("argument #2 to 'parallel' %(k: kernel expected, got nil",
    world.parallel, world, 5)
  raises("argument #1 to 'parallel' %(n: %-1 is outside", world.parallel, world,
    -1, k)
  raises("argument #2 to 'slice' %(size: 0 is not positive", mpi.slice, x, 0)
  raises("argument #3 to 'slice' %(width: integer expected", mpi.slice, x, 1,
    "a")
  raises("rank: %d is outside", world.part, world, 10, size)
  assert(tostring(mpi.slice(x)):find "^slice of 1: buffer")
end

-- Random messages with known contents to random ranks, many in flight.
function tests.storm()
  local random = 12345
  local function draw(n)
    random = (random * 1103515245 + 12345) % 2 ^ 31 // 1
    return random // 65536 % n
  end
  local pending, checks = {}, {}
  for step = 1, 60 do
    local from, to = draw(size), draw(size)
    local n = draw(2) == 0 and draw(40) + 1 or draw(30000) + 1
    local tag = draw(3)
    if rank == from then
      local x = lze.buffer("int", n, {zero = false}):fill(step)
      pending[#pending + 1] = world:isend(x, to, {tag = tag})
    end
    if rank == to then
      local y = lze.buffer("int", n + draw(2))
      pending[#pending + 1] = world:irecv(y, from, {tag = tag})
      checks[#checks + 1] = {y, n, step}
    else
      draw(2)
    end
    if draw(6) == 0 then
      local x = lze.buffer("int", {step + rank})
      world:allreduce(x, "max")
      assert(x[1] == step + size - 1)
    end
    if draw(9) == 0 then collectgarbage() end
  end
  for _, c in ipairs(checks) do
    local y, n, step = table.unpack(c)
    assert(y[1] == step and y[n] == step and (#y == n or y[n + 1] == 0))
  end
  for _, ev in ipairs(pending) do assert(ev:wait()) end
end

for _, name in ipairs(sorted(tests)) do
  local ok, err = xpcall(tests[name], debug.traceback)
  if not ok then error(("rank %d: %s: %s"):format(rank, name, err), 0) end
end
lze.wait()
world:barrier()
assert(lze.stats().in_flight == 0)
print(("rank %d of %d is right"):format(rank, size))
