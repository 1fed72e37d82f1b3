-- calls.lua - random sequences of calls, checked against a model.
-- SPDX-License-Identifier: MIT
--
-- See spec/fuzz/runner.lua for how to run it.
--
-- A sequence makes, uses, closes, drops and collects buffers, views, queues,
-- events, kernels, plans and contexts, with valid and invalid arguments.
-- The model tracks what each buffer must hold and whether a call must raise.
-- Step N of a seed draws its random numbers from the seed and N only, so other
-- steps can be left out.  All kernels that are launched check bounds.
--
-- With the driver of spec/support/ze_fault.c, and a file in ZE_FAULT_CONTROL,
-- driver calls fail too.  The contents of buffers are then unknown until the
-- driver has recovered, but nothing may crash, hang or leak.

local runner = require "spec.fuzz.runner"
local lze = require "lze"

local source = [[
kernel void add(global int *x, uint count, int n)
{
  size_t i = get_global_id(0);
  if (i < count) x[i] += n;
}
kernel void axpy(global int *y, uint ny, global const int *x, uint nx, int a)
{
  size_t i = get_global_id(0);
  if (i < ny && i < nx) y[i] += a * x[i];
}
kernel void groups(global int *x, uint count, int n)
{
  size_t i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  if (i < count) x[i] += n + (int)get_num_groups(0) * 0;
}
]]

local random = math.random
-- Seconds after which a wait counts as hung, even on a busy machine.
local limit = 600
local told -- true if steps are printed
local control = os.getenv "ZE_FAULT_CONTROL"
local ill -- true from a failing rule until the driver has recovered

-- Two contexts with their kernels, which live as long as the process.
local worlds = {}
local spirv
local function worlds_make()
  for i = 1, 2 do
    local options = i == 2 and {context = lze.context {lze.device()}} or nil
    local mod = spirv and lze.module(spirv, options) or
      lze.compile(source, options)
    spirv = spirv or mod:spirv()
    worlds[i] = {options = options, mod = mod}
  end
end

local function wrapped(v)
  return (v + (1 << 31)) % (1 << 32) - (1 << 31)
end

-- The state of a sequence: lists of objects that a step may choose from.
local s

local function tell(format, ...)
  if told then print(("  " .. format):format(...)) end
end

local function pick(t)
  if #t > 0 then return t[random(#t)], random(#t) end
end

-- Returns true if an object is closed.  One that a finalizer may have closed is
-- queried.
local function is_closed(o)
  if o.maybe and tostring(o.object):find "%(closed%)" then o.closed = true end
  return o.closed or o.parent and is_closed(o.parent) or false
end

local function fail(format, ...)
  error("WRONG: " .. format:format(...), 0)
end

local function any_closed(objects)
  for i = 1, objects.n or 5 do -- there may be holes
    if objects[i] and is_closed(objects[i]) then return true end
  end
  return false
end

-- Returns true if the error is allowed: a finalizer has closed one of the
-- objects in the call, or driver calls fail.
local function excused(err, objects)
  return any_closed(objects) or ill and type(err) == "table"
end

-- Call f, which must raise if `wrong`.  Otherwise it may raise only an error
-- that is excused.
local function expect(wrong, objects, f, ...)
  wrong = wrong or any_closed(objects)
  local result = table.pack(pcall(f, ...))
  if result[1] then
    if wrong then fail("nothing was raised") end
    return table.unpack(result, 2, result.n)
  end
  if wrong or excused(result[2], objects) then return nil, true end
  fail("%s", tostring(result[2]))
end

-- Returns first (from 0) and n for the elements i to j, or nil if invalid.
local function range(b, i, j)
  i, j = i or 1, j or b.count
  if i < 0 then i = i + b.count + 1 end
  if j < 0 then j = j + b.count + 1 end
  if i >= 1 and i <= b.count + 1 and j == i - 1 then return i - 1, 0 end
  if i < 1 or i > b.count or j < i or j > b.count then return nil end
  return i - 1, j - i + 1
end

-- Returns a position or an end of a range, mostly one that exists.
local function position(count)
  local r = random(20)
  if r == 1 then return nil end
  if r == 2 then return 0 end
  if r == 3 then return count + random(3) end
  if r == 4 then return -random(count + 2) end
  if r == 5 then
    return random(2) == 1 and math.maxinteger or math.mininteger
  end
  return random(count + 1)
end

local function value() return random(-1000, 1000) end

local function values(n)
  local t = {}
  for i = 1, n do t[i] = value() end
  return t
end

-- Compare the elements that were read with the model.
local function compare(b, first, t, n)
  if ill then return end
  for i = 1, n do
    local wanted = b.data[b.at + first + i]
    if t[i] ~= wanted then
      fail("element %d of %s is %s, not %s", first + i, b.name,
        tostring(t[i]), wanted)
    end
  end
end

-- The effects of fills, copies and launches, from element `first` (from 0) on.
local function model_fill(b, first, n, v)
  for i = 1, n do b.data[b.at + first + i] = v end
end

local function model_copy(dst, to, src, first, n)
  table.move(src.data, src.at + first + 1, src.at + first + n,
    dst.at + to + 1, dst.data)
end

local function model_launch(first, n, v, y, x)
  for i = first + 1, math.min(first + n, y.count, x and x.count or y.count) do
    y.data[y.at + i] = wrapped(y.data[y.at + i] +
      (x and v * x.data[x.at + i] or v))
  end
end

local function add_buffer(b)
  s.made = s.made + 1
  b.name = "b" .. s.made
  s.buffers[#s.buffers + 1] = b
  return b
end

local steps, weights = {}, 0
local function step(weight, name, f)
  for _ = 1, weight do
    weights = weights + 1
    steps[weights] = {name = name, run = f}
  end
end

step(8, "buffer", function()
  local world = worlds[random(8) == 1 and 2 or 1]
  local n = random(4) == 1 and random(3000) or random(0, 70)
  local usage = pick {"shared", "shared", "host", "device"}
  local options = {usage = usage, context = world.options and
    world.options.context}
  local what, data = n, {}
  for i = 1, n do data[i] = 0 end
  local r = random(3)
  if r > 1 then data = values(n) end
  if r == 2 then what = data end
  if r == 3 then what = ("<" .. ("i4"):rep(n)):pack(table.unpack(data)) end
  local object = expect(false, {}, lze.buffer, "int", what, options)
  if not object then return end
  if r == 2 then data = {table.unpack(data)} end
  local b = add_buffer {object = object, data = data, at = 0, count = n,
    world = world, usage = usage}
  tell("%s = buffer of %d, %s", b.name, n, usage)
end)

step(4, "view", function()
  local b = pick(s.buffers)
  if not b then return end
  local i, j = position(b.count), position(b.count)
  local first, n = range(b, i, j)
  tell("%s:view(%s, %s)", b.name, i, j)
  local v = expect(not first, {b}, function() return b.object:view(i, j) end)
  if v then
    add_buffer {object = v, data = b.data, at = b.at + first, count = n,
      world = b.world, usage = b.usage, parent = b.parent or b, view = true}
  end
end)

step(6, "write", function()
  local b = pick(s.buffers)
  if not b then return end
  local n, at = random(0, 8), position(b.count)
  local t = values(n)
  local what = random(2) == 1 and t or
    ("<" .. ("i4"):rep(n)):pack(table.unpack(t))
  local from = at or 1
  if from < 0 then from = from + b.count + 1 end
  local ok = from >= 1 and from <= b.count + 1 and n <= b.count - from + 1
  tell("%s:write(%d, %s)", b.name, n, at)
  local _, raised = expect(not ok, {b}, function()
    b.object:write(what, at)
  end)
  if raised then return end
  for i = 1, n do b.data[b.at + from - 1 + i] = t[i] end
end)

step(8, "read", function()
  local b = pick(s.buffers)
  if not b then return end
  local i, j = position(b.count), position(b.count)
  local first, n = range(b, i, j)
  tell("%s:read(%s, %s)", b.name, i, j)
  local as_string = random(3) == 1
  local got, raised = expect(not first, {b}, function()
    if not as_string then return b.object:read(i, j) end
    local bytes = b.object:string(i, j)
    return {("<" .. ("i4"):rep(#bytes // 4)):unpack(bytes)}
  end)
  if not raised then compare(b, first, got, n) end
end)

step(4, "element", function()
  local b = pick(s.buffers)
  if not b then return end
  local i, v = position(b.count) or 1, value()
  local there = i >= 1 and i <= b.count
  if random(2) == 1 then
    tell("%s[%d]", b.name, i)
    local got, raised = expect(b.usage == "device", {b}, function()
      return b.object[i]
    end)
    if raised then return end
    if not ill and got ~= (there and b.data[b.at + i] or nil) then
      fail("%s[%d] is %s, not %s", b.name, i, tostring(got),
        tostring(b.data[b.at + i]))
    end
  else
    tell("%s[%d] = %d", b.name, i, v)
    local _, raised = expect(b.usage == "device" or not there, {b}, function()
      b.object[i] = v
    end)
    if not raised then b.data[b.at + i] = v end
  end
end)

local function queue_for(world)
  local q = pick(s.queues)
  if q and q.world == world and random(3) > 1 then return q end
end

local function add_event(ev, q)
  if ev then s.events[#s.events + 1] = {object = ev, queue = q} end
end

step(8, "fill", function()
  local b = pick(s.buffers)
  if not b then return end
  local i, j, v = position(b.count), position(b.count), value()
  local first, n = range(b, i, j)
  local q = queue_for(b.world)
  tell("%s%s:fill(%d, %s, %s)", q and q.name .. " " or "", b.name, v, i, j)
  local ev, raised = expect(not first, {b, q}, function()
    if q then return q.object:fill(b.object, v, i, j) end
    b.object:fill(v, i, j)
  end)
  if raised then return end
  add_event(ev)
  model_fill(b, first, n, v)
end)

step(10, "copy", function()
  local dst, src = pick(s.buffers), pick(s.buffers)
  if not dst then return end
  local i, j, at = position(src.count), position(src.count),
    position(dst.count)
  if random(3) > 1 and dst.count > 0 then at = random(dst.count) end
  local first, n = range(src, i, j)
  local to = at or 1
  if to < 0 then to = to + dst.count + 1 end
  local ok = first and to >= 1 and to <= dst.count + 1 and
    n <= dst.count - to + 1
  local q = queue_for(dst.world)
  tell("%s%s:copy(%s, %s, %s, %s)", q and q.name .. " " or "", dst.name,
    src.name, i, j, at)
  local ev, raised = expect(not ok, {dst, src, q}, function()
    if q then return q.object:copy(dst.object, src.object, i, j, at) end
    dst.object:copy(src.object, i, j, at)
  end)
  if raised then return end
  add_event(ev)
  model_copy(dst, to - 1, src, first, n)
end)

-- Returns true if two buffers share elements at different positions.
local function overlap(a, b)
  return a.data == b.data and a.at ~= b.at and a.at < b.at + b.count and
    b.at < a.at + a.count
end

-- Ranges of more than a few work-items.  There are few of them, as the device
-- compiles for each group size in use.
local ranges = {64, 96, 100, 128, 250, 255, 256, 500, 1000, 1009, 1024, 2000,
  2048, 2999, 3000}

step(16, "launch", function()
  local y, x = pick(s.buffers), pick(s.buffers)
  if not y then return end
  local world = y.world
  local q = queue_for(world)
  local module = world == worlds[1] and pick(s.modules) or nil
  if module and is_closed(module) then module = nil end
  local mod = module and module.object or world.mod
  local name = pick {"add", "add", "axpy", "groups"}
  if name == "axpy" and overlap(x, y) then name = "add" end
  local n = random(10) == 1 and 0 or
    y.count > 70 and pick(ranges) or random(y.count + 3)
  local how_far = {n, queue = q and q.object}
  local offset = name ~= "groups" and random(4) == 1 and random(0, 9) or nil
  how_far.offset = offset
  if random(3) == 1 then
    local g = random(6)
    if name ~= "groups" or n % g == 0 then how_far.group = g end
  end
  how_far.policy = random(4) == 1 and pick {"lze", "driver", "largest",
    "tornado"} or nil
  local e = pick(s.events)
  local others = {y, q, module}
  if e and random(2) == 1 and e.world == world then
    how_far.after = e.object
    others[4] = e
  end
  local wrong = false
  if name == "axpy" then
    others[5] = x
    wrong = x.world ~= world
  end
  local v, how = value(), random(3)
  tell("%s%s(%d, %s%s, %d)%s", q and q.name .. " " or "", name, n, y.name,
    name == "axpy" and ", " .. x.name or "", v,
    offset and " from " .. offset or "")
  local ev, raised = expect(wrong, others, function()
    local k = mod[name]
    local simple = not next(how_far, 1) and random(2) == 1
    local r = simple and n or how_far
    if name == "axpy" then
      if how == 1 then
        return k:launch(r, y.object, y.count, x.object, x.count, v)
      end
      k(r, y.object, y.count, x.object, x.count, v)
    else
      if how == 1 then return k:launch(r, y.object, y.count, v) end
      k(r, y.object, y.count, v)
    end
  end)
  if raised then return end
  if ev then
    s.events[#s.events + 1] = {object = ev, world = world}
  end
  model_launch(offset or 0, n, v, y, name == "axpy" and x or nil)
end)

step(3, "queue", function()
  local world = worlds[random(8) == 1 and 2 or 1]
  local q = {world = world, name = "q" .. #s.queues + 1}
  local options = {mode = pick {"immediate", "batched"},
    order = pick {"in", "out"}, priority = pick {"low", "normal", "high"},
    context = world.options and world.options.context}
  q.object = expect(false, {}, lze.queue, options)
  if not q.object then return end
  s.queues[#s.queues + 1] = q
  tell("%s = queue %s %s", q.name, options.mode, options.order)
end)

step(5, "use a queue", function()
  local q = pick(s.queues)
  if not q then return end
  local what = random(5)
  tell("%s: %d", q.name, what)
  local ev = expect(false, {q}, function()
    if what == 1 then return q.object:barrier() end
    if what == 2 then q.object:flush() end
    if what == 3 then q.object:wait(0) end
    if what == 4 then assert(q.object:wait(limit)) end
    if what == 5 then assert(#q.object.mode > 0) end
  end)
  if what == 1 and ev then
    s.events[#s.events + 1] = {object = ev, world = q.world}
  end
end)

step(2, "prefetch", function()
  local q, b = pick(s.queues), pick(s.buffers)
  if not q or not b or b.usage ~= "shared" then return end
  tell("%s:prefetch(%s)", q.name, b.name)
  expect(q.world ~= b.world, {q, b}, function()
    if random(2) == 1 then q.object:prefetch(b.object)
    else q.object:advise(b.object, "read_mostly") end
  end)
end)

step(6, "event", function()
  local e = pick(s.events)
  if not e then return end
  local what = random(7)
  tell("event: %d", what)
  expect(false, {e}, function()
    if what == 1 then e.object:done() end
    if what == 2 then e.object:wait(0) end
    if what == 3 then assert(e.object:wait(limit)) end
    if what == 4 then assert(e.object:time().end_ns >= 0) end
    if what == 5 then assert(e.object:fd() >= 0) end
    if what == 6 then assert(#e.object.command > 0) end
    if what == 7 then
      local co = coroutine.wrap(function() return e.object:await() end)
      repeat local done = co() until done == true
    end
  end)
end)

-- Copy the contents of the buffers to the model: they are right by definition.
local function believe()
  for _, b in ipairs(s.buffers) do
    if not is_closed(b) then
      local t = expect(false, {b}, function() return b.object:read() end)
      for i = 1, t and b.count or 0 do b.data[b.at + i] = t[i] end
    end
  end
end

-- Wait for everything until nothing raises any more: each failure is raised
-- once, by the first call that meets it.  `expected(err)` returns true if an
-- error is allowed.
local function recover_from(expected)
  local function try(o, f)
    local ok, result
    for _ = 1, 100 do
      ok, result = pcall(f)
      if ok then return result end
      if is_closed(o) then return nil end
      if not expected(result) then break end
    end
    fail("it does not recover: %s", tostring(result))
  end
  if not try({}, function() return lze.wait(limit) end) then
    fail("it hangs")
  end
  for _, list in ipairs {s.queues, s.events} do
    for _, o in ipairs(list) do
      if not is_closed(o) then
        try(o, function() return o.object:wait(limit) end)
      end
    end
  end
  for _, b in ipairs(s.buffers) do
    if not is_closed(b) then
      try(b, function() return b.object:read() end)
    end
  end
  believe()
end

-- The effects of a plan's entries on the model.  `role` returns the buffer that
-- has the role of the given one after swaps.
local effects = {
  fill = function(op, role)
    model_fill(role(op.y), op.i - 1, op.j - op.i + 1, op.v)
  end,
  copy = function(op, role)
    model_copy(role(op.y), op.at - 1, role(op.x), op.i - 1, op.j - op.i + 1)
  end,
  add = function(op, role) model_launch(0, op.n, op.v, role(op.y)) end,
  axpy = function(op, role)
    model_launch(0, op.n, op.v, role(op.y), role(op.x))
  end,
  -- A callback uses the script's buffer itself, even if it has been swapped.
  call = function(op) model_fill(op.y, 0, op.y.count, op.v) end,
  put = function(op, role)
    for i, v in ipairs(op.values) do
      local y = role(op.y)
      y.data[y.at + i] = v
    end
  end,
}

-- Add one entry to a graph; returns its operation, or nil.
local function plan_entry(g, name, y, x, mod)
  local op = {name = name, y = y, v = value(), kind = pick {"fill", "copy",
    "add", "add", "axpy", "axpy", "call", name == "t1" and "put" or "add"}}
  if op.kind == "fill" then
    op.i = random(y.count + 1)
    op.j = random(op.i - 1, y.count)
    g:fill(name, y.object, op.v, op.i, op.j)
  elseif op.kind == "copy" then
    local n = random(0, math.min(x.count, y.count))
    op.x, op.i, op.at = x, random(x.count - n + 1), random(y.count - n + 1)
    op.j = op.i + n - 1
    if x.data == y.data then return nil end
    g:copy(name, y.object, x.object, op.i, op.j, op.at)
  elseif op.kind == "call" then
    -- Filling a view that is closed by then would fail.
    if y.view or s.may_close or random(3) > 1 then return nil end
    local object, v = y.object, op.v
    g:call(name, function()
      object:fill(v)
      if v > 0 then collectgarbage() end
    end)
  elseif op.kind == "put" then
    op.values = values(random(0, y.count))
    g:input(y.object, "every", op.values)
  else
    op.n = pick {0, 1, 7, 16, 48}
    if op.kind == "axpy" then
      if overlap(x, y) then return nil end
      op.x = x
      g:task(name, mod.axpy, op.n, y.object, y.count, x.object, x.count, op.v)
    else
      g:task(name, mod.add, op.n, y.object, y.count, op.v)
    end
  end
  return op
end

step(3, "plan", function()
  local first = pick(s.buffers)
  if not first then return end
  local g, world = lze.graph(), first.world
  local mine, used, ops = {}, {n = 0}, {}
  for _, b in ipairs(s.buffers) do
    if b.world == world and not is_closed(b) then mine[#mine + 1] = b end
  end
  if #mine == 0 then return end
  local function use(b)
    used.n = used.n + 1
    used[used.n] = b
  end
  local p = {world = world, used = used, ops = ops, name = "a plan"}
  local count, swap, options = random(4), random(3) == 1, nil
  if random(2) == 1 then
    options = {profile = random(2) == 1, queues = random(4)}
  end
  for i = 1, count do
    local y, x = pick(mine), pick(mine)
    local ok, op = pcall(plan_entry, g, "t" .. i, y, x, world.mod)
    if not ok then
      if not excused(op, {y, x}) then fail("%s", tostring(op)) end
      return
    end
    if op then
      use(y)
      if op.x then use(x) end
      tell("t%d: %s of %s%s, %d", i, op.kind, y.name,
        op.x and " and " .. x.name or "", op.v)
      ops[#ops + 1] = op
      p.hosted = p.hosted or op.kind == "call"
    end
  end
  if #ops == 0 or #ops == 1 and ops[1].kind == "put" then return end
  local a, b = pick(mine), pick(mine)
  if swap and a.count == b.count and a.data ~= b.data and not a.view and
      not b.view and a.usage == b.usage then
    local _, raised = expect(false, {a, b}, function()
      g:swap(a.object, b.object)
    end)
    if raised then return end
    use(a) use(b)
    tell("%s and %s change places", a.name, b.name)
    p.a, p.b = a, b
  end
  -- A buffer that was closed in between is an error, unless it is not used.
  local ok, plan = pcall(g.compile, g, options)
  if ok then
    p.object = plan
    s.plans[#s.plans + 1] = p
  elseif not excused(plan, used) then
    fail("%s", tostring(plan))
  end
end)

-- A buffer or view of a swap refers to the storage that now has its role.
local function role_in(p)
  return function(b)
    if not p.swapped then return b end
    local other = b.data == p.a.data and p.b or b.data == p.b.data and p.a
    return other and {data = other.data, at = b.at, count = b.count} or b
  end
end

-- An operation with nothing to do uses nothing.  A closed view matters only if
-- the operation is recorded again.
local function uses_closed(op)
  if op.y.count == 0 or op.x and op.x.count == 0 or op.n == 0 or
      op.i and op.j < op.i then
    return false
  end
  return is_closed(op.y.parent or op.y) or
    op.x and is_closed(op.x.parent or op.x)
end

-- A plan whose run has failed refuses further runs.
local function half_done(p, err)
  return p.ill and tostring(err):find "failed half way"
end

step(8, "run a plan", function()
  local p = pick(s.plans)
  if not p then return end
  local times = random(3)
  local start = not p.hosted and random(2) == 1
  tell("%s the plan %d times", start and "start" or "run", times)
  local wrong = is_closed(p)
  for _, op in ipairs(p.ops) do
    wrong = wrong or uses_closed(op)
  end
  local options = times > 1 and {iterations = times} or nil
  p.ill = p.ill or ill
  local ok, ev = pcall(p.object[start and "start" or "run"], p.object, options)
  if not ok then
    -- Recording an operation again checks the views too.
    if not wrong and not excused(ev, p.used) and not is_closed(p) and
        not half_done(p, ev) then
      fail("%s", tostring(ev))
    end
    -- It is unknown how far it got; each of the runs may have failed.
    if not ill then recover_from(function() return true end) end
    p.object:close()
    p.closed = true
    return
  end
  if wrong then fail("nothing was raised") end
  if start then s.events[#s.events + 1] = {object = ev, world = p.world} end
  for _ = 1, times do
    for _, op in ipairs(p.ops) do effects[op.kind](op, role_in(p)) end
    if p.a then p.swapped = not p.swapped end
  end
end)

step(4, "use a plan", function()
  local p = pick(s.plans)
  if not p then return end
  local what, op = random(5), pick(p.ops)
  local v, n = value(), pick {0, 1, 7, 16, 48}
  local value_at = ({fill = 2, add = 3, axpy = 5})[op.kind]
  local launches = op.kind == "add" or op.kind == "axpy"
  if what == 1 and not value_at or what == 2 and not launches then what = 3 end
  tell("plan: %d of %s", what, op.name)
  local wrong = is_closed(p)
  local ok, err = pcall(function()
    if what == 1 then
      p.object:set(op.name, value_at, v)
    elseif what == 2 then
      p.object:set(op.name, 0, n)
    elseif what == 3 then
      assert(#p.object:dot() > 0)
    elseif what == 4 then
      assert(#tostring(p.object:report()) > 0)
    else
      local now = p.object:current(op.y.object)
      if role_in(p)(op.y) == op.y and now ~= op.y.object then
        fail("another buffer plays its part")
      end
    end
  end)
  if not ok then
    if not excused(err, p.used) and not is_closed(p) and
        not half_done(p, err) then
      fail("%s", tostring(err))
    end
    return
  end
  if wrong then fail("nothing was raised") end
  if what == 1 then op.v = v end
  if what == 2 then op.n = n end
end)

-- Returns a random object to close, drop or leave to a finalizer, and its list.
local function some_object()
  local list = pick {s.buffers, s.buffers, s.queues, s.events, s.modules,
    s.plans}
  local o = pick(list)
  return o, list
end

step(5, "close", function()
  local o = some_object()
  if not o then return end
  tell("close %s", o.name or "an event, module or plan")
  o.object:close()
  o.object:close()
  if random(4) == 1 then tostring(o.object) end
  o.closed = true
end)

step(5, "drop", function()
  local o, list = some_object()
  if not o then return end
  tell("drop %s", o.name or "an event, module or plan")
  for i = #list, 1, -1 do
    if list[i] == o then table.remove(list, i) end
  end
end)

step(2, "close in a finalizer", function()
  local o = some_object()
  if not o then return end
  tell("close %s some time", o.name or "an event, module or plan")
  o.maybe, s.may_close = true, true
  local object = o.object
  setmetatable({}, {__gc = function() object:close() end})
end)

step(4, "collect", function()
  local r = random(6)
  tell("collect %d", r)
  if r == 1 then collectgarbage() end
  if r == 2 then collectgarbage "step" end
  if r == 3 then collectgarbage "stop" end
  if r == 4 then collectgarbage "restart" end
  if r == 5 then collectgarbage(pick {"incremental", "generational"}) end
  if r == 6 then lze.gc {soft_limit_bytes = random(4) * 4096} end
end)

step(3, "wait", function()
  local seconds = random(2) == 1 and 0 or limit
  tell("wait %d", seconds)
  local done, raised = expect(false, {}, lze.wait, seconds)
  if seconds == limit and not done and not raised then fail("it hangs") end
end)

step(1, "module", function()
  if #s.modules > 1 or random(4) > 1 then return end
  tell("another module")
  local object = expect(false, {}, lze.module, spirv)
  if object then s.modules[#s.modules + 1] = {object = object} end
end)

step(1, "context", function()
  if random(8) > 1 then return end
  tell("a context that comes and goes")
  local c = expect(false, {}, lze.context, {lze.device()})
  if not c then return end
  local b = expect(false, {}, lze.buffer, "int", 8, {context = c})
  if b then expect(false, {}, b.fill, b, 3) end
  local src = pick(s.buffers)
  if src and src.count >= 8 and not is_closed(src) then
    local t = expect(false, {src}, function()
      return lze.buffer("int", 8, {context = c}):copy(src.object, 1, 8):read()
    end)
    if t then compare(src, 0, t, 8) end
  end
  if random(2) == 1 then c:close() end
end)

local function set_rules(text)
  local file <close> = assert(io.open(control, "w"))
  file:write(text)
end

local function recover()
  set_rules ""
  recover_from(function(err) return type(err) == "table" end)
  ill = false
end

if control then
  local entries = {"zeMemAllocShared", "zeMemAllocHost", "zeMemAllocDevice",
    "zeCommandListCreateImmediate", "zeCommandListCreate",
    "zeCommandListAppendLaunchKernel", "zeCommandListAppendMemoryCopy",
    "zeCommandListAppendMemoryFill", "zeCommandListAppendMemoryPrefetch",
    "zeCommandListAppendMemAdvise", "zeCommandListAppendEventReset",
    "zeCommandListAppendQueryKernelTimestamps",
    "zeCommandListAppendMemoryCopyRegion", "zeCommandListAppendBarrier",
    "zeCommandListImmediateAppendCommandListsExp", "zeKernelSetGlobalOffsetExp",
    "zeCommandListClose", "zeCommandListReset", "zeCommandQueueCreate",
    "zeCommandQueueExecuteCommandLists", "zeEventPoolCreate", "zeEventCreate",
    "zeEventHostReset", "zeEventQueryStatus", "zeEventHostSynchronize",
    "zeEventQueryKernelTimestamp", "zeKernelSetArgumentValue",
    "zeKernelSetGroupSize", "zeKernelSuggestGroupSize", "zeModuleCreate",
    "zeKernelCreate", "zeContextCreate", "zeContextCreateEx",
    "zeDeviceGetStatus"}
  local codes = {"0x70000001", "0x70000002", "0x70000003", "0x78000004",
    "0x7ffffffe"}
  step(6, "fail", function()
    if ill then
      tell("the driver is well again")
      return recover()
    end
    local entry, call = pick(entries), random(0, 3) -- 0 means every call
    -- If every barrier fails, nothing shows which work is over: it must leak.
    if entry == "zeCommandListAppendBarrier" then call = random(3) end
    local rule = ("fail %s %d %s"):format(entry, call, pick(codes))
    tell("%s", rule)
    set_rules(rule)
    ill = true
  end)
end

-- Random values for random functions.  A call must not crash, and one that
-- raises changes nothing in the model.
local junk = {false, true, 0, -1, 1, 2.5, 0 / 0, 1e308, math.maxinteger, "",
  "x", ("y"):rep(300), {}, {1, 2, 3}, {1, nil, 3}, print, io.stdout,
  {group = 0}, {5, group = 2, offset = 3}, {after = {}}, {uses = 1}}
local methods = {
  buffer = {"read", "write", "string", "fill", "copy", "copy_box", "view",
    "pending", "save", "load"},
  queue = {"wait", "copy", "fill", "barrier", "prefetch", "advise"},
  event = {"wait", "fd", "time"},
}
local functions = {"buffer", "queue", "module", "context", "local_bytes",
  "type", "gc", "device", "devices"}

step(6, "junk", function()
  local b, q, e = pick(s.buffers), pick(s.queues), pick(s.events)
  local objects = {b and b.object, q and q.object, e and e.object,
    worlds[1].mod.add, worlds[1].mod}
  local function any()
    if random(3) == 1 then return objects[random(5)] end
    return junk[random(#junk)]
  end
  local a1, a2, a3, a4 = any(), any(), any(), any()
  local kind = pick {"buffer", "queue", "event", "lze", "kernel"}
  local object = kind == "buffer" and b and b.object or
    kind == "queue" and q and q.object or kind == "event" and e and e.object
  tell("junk to %s: %s %s %s %s", kind, tostring(a1), tostring(a2),
    tostring(a3), tostring(a4))
  local gc = lze.gc()
  local ok
  if kind == "lze" then
    local name = pick(functions)
    if name == "buffer" then a1 = pick {"int", "float4", a1} end
    -- A count of any size is valid, but it must not exhaust memory.
    if type(a2) == "number" and a2 > 1000 then a2 = 1000 end
    ok = pcall(lze[name], a1, a2, a3, a4)
  elseif kind == "kernel" then
    -- The kernel checks bounds, but the bounds of another buffer are wrong.
    if type(a3) == "number" then a3 = b and b.count or 0 end
    ok = pcall(worlds[1].mod.add, a1, b and b.object, a3, a4)
  elseif object then
    local name = pick(methods[kind])
    if name == "save" or name == "load" then a1 = "no file" end
    if name == "wait" then a1 = 0 end
    ok = pcall(object[name] or print, object, a1, a2, a3, a4)
  end
  lze.gc(gc)
  if not ok then return end
  believe()
end)

-- The collector's limits at the start of the process.
local limits = lze.gc()

-- Run the sequence of a seed without the steps in `skipped`.
local function sequence(seed, skipped)
  s = {buffers = {}, queues = {}, events = {}, modules = {}, plans = {},
    made = 0}
  math.randomseed(seed, 0)
  local length = random(5, 50)
  for i = 1, length do
    math.randomseed(seed, i)
    local each = steps[random(weights)]
    if not (skipped and skipped[i]) then
      if told then print(i, each.name) end
      local ok, err = pcall(each.run)
      if not ok then
        error(("seed %d, step %d, %s: %s"):format(seed, i, each.name,
          tostring(err)), 0)
      end
    end
  end
  if ill then recover() end
  for _, b in ipairs(s.buffers) do
    if not is_closed(b) then
      local t = expect(false, {b}, function() return b.object:read() end)
      if t then compare(b, 0, t, b.count) end
    end
  end
  s = nil
  -- The next sequence begins as it would alone.
  collectgarbage "restart"
  collectgarbage "incremental"
  lze.gc(limits)
end

-- Check that nothing of a sequence is left after a collection.
local function settle(base)
  collectgarbage() collectgarbage()
  assert(lze.wait(limit))
  local now = lze.stats()
  if now.bytes ~= base.bytes or now.pending ~= 0 or
      now.objects.storage ~= base.objects.storage then
    fail("%d bytes and %s storages are left, not %d and %s", now.bytes,
      tostring(now.objects.storage), base.bytes,
      tostring(base.objects.storage))
  end
end

-- The number of sequences between two checks for leaks.
local chunk = 50

local function run(seeds, skipped, words)
  told = words
  if control then set_rules "" end
  worlds_make()
  settle(lze.stats())
  local base = lze.stats()
  for seed in seeds do
    sequence(seed, skipped)
    if seed % chunk == 0 then settle(base) end
  end
  settle(base)
end

local ok = runner.main {count = 20000, steps = 50, run = run}
if not ok then os.exit(false) end
