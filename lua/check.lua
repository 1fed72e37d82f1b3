-- check.lua - k:check: a Lua kernel's function itself, work-item by work-item,
-- and the device's results compared with it.
-- SPDX-License-Identifier: MIT

local C = ...
local error, ipairs, rawget, rawset, select, setmetatable, tostring, type =
  error, ipairs, rawget, rawset, select, setmetatable, tostring, type
local concat, unpack = table.concat, table.unpack
local abs, huge, mathtype = math.abs, math.huge, math.type
local format = string.format

-- The current work-item of the current run; nil outside of a check.
local item

-- --- findings ----------------------------------------------------------------

-- Reports each kind of problem once per line, with the first work-item that had
-- it.  Indices before a buffer and after its end are different kinds.
local function find(run, where, kind, message, who)
  local key = where .. kind
  if run.told[key] then return end
  run.told[key] = true
  if who then
    message = format("%s (work-item %s)", message, concat(who.id, ", "))
  end
  run.findings[#run.findings + 1] =
    format("%s%s: %s", where, run.name, message)
end

-- --- cells: what a kernel indexes --------------------------------------------

local bits = {char = 8, uchar = 8, short = 16, ushort = 16, int = 32, uint = 32}
-- The least numbers that round to infinity.
local infinite = {half = 65520, bfloat16 = 0x1.ffp127, float = 0x1.ffffffp127}

-- Returns a function that rounds a number to what a cell stores; nil for reals
-- that overflow.
local function rounding(kind)
  local n = bits[kind]
  if n then
    local signed = kind:sub(1, 1) ~= "u"
    return function(v)
      v = v & (1 << n) - 1
      if signed and v >> n - 1 == 1 then v = v - (1 << n) end
      return v
    end
  elseif kind == "double" or kind == "long" or kind == "ulong" then
    return function(v) return v end
  end
  local most = infinite[kind]
  local one = C.lze().buffer(kind, 1, {usage = "host"})
  return function(v)
    local size = abs(v + 0.0)
    if size >= most and size < huge then return nil end
    one[1] = v
    return one[1]
  end
end

-- Writes the i-th element of a buffer, or of an array of a shape, as Lua.
local function element(name, shape, i)
  if not shape or #shape < 2 then return format("%s[%d]", name, i) end
  local index = {}
  i = i - 1
  for d = #shape, 1, -1 do
    index[d] = i % shape[d] + 1
    i = i // shape[d]
  end
  return format("%s[{%s}]", name, concat(index, ", "))
end

-- If one of two work-items writes, they need a barrier between them; items of
-- different groups cannot have one.
local function race(cells, i, where, other)
  find(item.run, where, "race " .. cells.name, format("race: %s is used by "
    .. "work-items %s and %s, one writes, and no barrier is between",
    element(cells.name, cells.shape, i), concat(other.id, ", "),
    concat(item.id, ", ")))
end

local function meets(other, epoch)
  return other and other ~= item and
    (other.group ~= item.group or epoch == item.group.epoch)
end

-- Users of an element, each with its group's number of barriers so far: the
-- last user and a different one, because a user's last access must not hide
-- another user.  A user in another group remains: no barrier separates it from
-- later uses.
local function users_new()
  return {who = {}, when = {}, other = {}, other_when = {}}
end

local function note(users, k)
  local last, epoch = users.who[k], item.group.epoch
  if last and last.group ~= item.group then
    users.other[k], users.other_when[k] = item, epoch
    return
  end
  if last and last ~= item then
    users.other[k], users.other_when[k] = last, users.when[k]
  end
  users.who[k], users.when[k] = item, epoch
end

-- Returns a user without a barrier between it and the current work-item.
local function met(users, k)
  local last, other = users.who[k], users.other[k]
  return meets(last, users.when[k]) and last or
    meets(other, users.other_when[k]) and other or nil
end

-- Users by element or, if buffers overlap, by address.  Only the last writer of
-- an element is needed: an earlier one wrote the same value, or a race was
-- reported.
local function track_new()
  return {writer = {}, wrote = {}, readers = users_new(), atomics = users_new()}
end

local function met_writer(t, k)
  local w = t.writer[k]
  return meets(w, t.wrote[k]) and w or nil
end

-- Atomics race with other accesses, but not with each other.
local function touch_read(cells, i)
  local t, k = cells.track, cells.base + i * cells.step
  local own, others = t.readers, t.atomics
  if item.atomic then own, others = others, own end
  local other = met_writer(t, k) or met(others, k)
  if other then race(cells, i, C.where(), other) end
  note(own, k)
end

local function touch_write(cells, i, same)
  if item.atomic then return end -- its read was checked, too
  local t, k = cells.track, cells.base + i * cells.step
  local other = not same and met_writer(t, k) or met(t.atomics, k) or
    met(t.readers, k)
  if other then race(cells, i, C.where(), other) end
  t.writer[k], t.wrote[k] = item, item.group.epoch
end

local function outside(cells, i)
  if type(i) == "table" then
    return format("%s[{%s}] is outside {%s}", cells.name, concat(i, ", "),
      concat(cells.shape, ", "))
  end
  return format("%s[%s] is outside 1..%d", cells.name, tostring(i), cells.count)
end

-- Returns the cell of an index, from 1; nil if it is out of range.
local function cell(cells, index)
  local shape, place = cells.shape, 0
  if type(index) ~= "table" then
    local inside = mathtype(index) == "integer" and index >= 1 and
      index <= cells.count and (not shape or #shape == 1)
    return inside and index or nil
  end
  for d = 1, shape and #shape == #index and #index or 0 do
    local i = index[d]
    if mathtype(i) ~= "integer" then return nil end
    if i < 0 then i = i + shape[d] + 1 end
    if i < 1 or i > shape[d] then return nil end
    place = place * shape[d] + i - 1
  end
  return place + 1
end

-- Returns the proxy that the function indexes instead of a buffer or an array:
-- data[i] are the numbers.  `overlap`: the place of a buffer among others; nil
-- for an array of lze.work, which is undefined until it is written.  `shape`:
-- of an array.
local function cells_new(name, kind, count, data, overlap, shape)
  local o = overlap or {track = track_new(), base = 0, step = 1}
  local cells = {name = name, count = count, track = o.track, base = o.base,
    step = o.step, shape = shape}
  local round = rounding(kind)
  local written = not overlap and {}
  local whole = bits[kind] or kind == "long" or kind == "ulong"
  local meta = {__elements = kind, __len = function()
    return shape and shape[1] or count
  end}
  function meta.__index(_, index)
    local i = cell(cells, index)
    if not i then
      if index ~= nil then -- a nil index was an earlier read out of range
        item.missing, item.missed = outside(cells, index), C.where()
        item.missed_kind = format("outside %s%s", name,
          mathtype(index) == "integer" and index < 1 and " before" or "")
      end
      return nil
    end
    touch_read(cells, i)
    if written and not written[i] then
      find(item.run, C.where(), "unwritten " .. name, format("%s[%d] is read "
        .. "before it is written", name, i), item)
      return 0
    end
    return data[i]
  end
  function meta.__newindex(_, index, v)
    local i = cell(cells, index)
    if not i then
      find(item.run, C.where(), "outside " .. name, outside(cells, index), item)
      return
    end
    if v == nil then
      if item.missed then
        find(item.run, item.missed, item.missed_kind, item.missing, item)
      else
        find(item.run, C.where(), "nil " .. name, format("%s = nil: a number "
          .. "is needed", element(name, shape, i)), item)
      end
      return
    end
    if whole and mathtype(v) ~= "integer" then
      local n = math.tointeger(v)
      if not n then
        find(item.run, C.where(), "not whole", format("%s[%d] = %s: no "
          .. "integer is that", name, i, tostring(v)), item)
        return
      end
      v = n
    end
    local stored = round(v)
    if stored == nil or whole and stored ~= v then
      find(item.run, C.where(), "fits " .. name, format("%s = %s does not fit "
        .. "%s", element(name, shape, i), tostring(v), kind), item)
      if stored == nil then return end
    end
    v = stored
    if item.atomic then item.run.atomics = true end
    touch_write(cells, i, data[i] == v)
    if written then written[i] = true end
    data[i] = v
  end
  cells.proxy = setmetatable({}, meta)
  return cells.proxy
end

-- --- what the function captures ----------------------------------------------

-- Returns a copy of a function with its captured buffers replaced by `at`.
local function replaced(f, at)
  local known = {}
  local function other(v, name)
    if known[v] ~= nil then return known[v] end
    local kind = type(v)
    if C.flat(v) then
      return at(v, name)
    elseif kind == "function" and C.is_lua(v) then
      local new, count = C.copy_function(v)
      known[v] = new
      for i = 1, count do
        local value, upvalue = C.upvalue(v, i)
        if value ~= nil then C.set_upvalue(new, i, other(value, upvalue)) end
      end
      return new
    elseif kind == "table" then
      -- Kernels read fields raw, too.
      local new = setmetatable({}, {__index = function(t, key)
        local field = rawget(v, key)
        if field ~= nil then
          field = other(field, format("%s.%s", name, tostring(key)))
        end
        rawset(t, key, field)
        return field
      end})
      known[v] = new
      return new
    end
    return v
  end
  return other(f)
end

-- --- running the function ----------------------------------------------------

-- Returns the sizes of a range in three dimensions, and its offset.
local function sizes(range)
  local n, from = {1, 1, 1}, {0, 0, 0}
  if type(range) == "number" then
    n[1] = range
  else
    local offset = range.offset or 0
    for d = 1, 3 do
      n[d] = range[d] or 1
      from[d] = type(offset) == "table" and (offset[d] or 0) or
        d == 1 and offset or 0
    end
  end
  return n, from
end

-- Reports the error of a work-item; raises errors of the driver, which are not
-- about the function.
local function died(run, who, message)
  if type(message) == "table" then C.raise(message) end
  local where, text, kind = "", tostring(message), nil
  local at = text:find(": ", 1, true)
  if at and text:find("^[^\n]*:%d+: ") then
    where, text = text:match("^([^\n]*:%d+: )(.*)$")
  end
  if who.missing and
     (text:find("nil", 1, true) or text:find("is outside", 1, true)) then
    where, text, kind = who.missed, who.missing, who.missed_kind
  elseif text:find("by zero", 1, true) or text:find("(zero)", 1, true) or
         text:find("'n[/%%]") then
    text = "an integer is divided by zero"
  elseif text:find("no integer representation", 1, true) then
    text = "number has no integer representation"
  end
  find(run, where, kind or text, text, who)
end

local function run_group(run, group, items)
  local total = #items
  local waiting
  repeat
    waiting = 0
    local first, by, differs
    local ended = 0
    for _, it in ipairs(items) do
      if it.thread then
        item = it
        it.atomic = false
        local at, message = C.go(it.thread, run.arguments(it))
        if at then
          local calls = message
          waiting = waiting + 1
          it.began = true
          first, by = first or at, by or calls
          if calls ~= by then differs = at end
        else
          it.thread = nil
          if message ~= nil then
            died(run, it, message)
            total = total - 1
          else
            it.done = true
          end
        end
      end
      if it.done then ended = ended + 1 end
    end
    if waiting > 0 and ended > 0 then
      find(run, first, "barrier", format("barrier: %d of %d work-items "
        .. "of a group never come", ended, total))
    elseif differs then
      find(run, first, "barrier", format("barrier: other work-items of "
        .. "the group wait at %s", differs == first and
        "this line by another call" or differs:gsub(": $", "")))
    end
    group.epoch = group.epoch + 1
  until waiting == 0
end

-- Runs all work-items, group by group; if `backwards`, the last first.
local function run_all(run, backwards)
  local n, from, g = run.size, run.offset, run.group
  local groups = {}
  for d = 1, 3 do groups[d] = (n[d] + g[d] - 1) // g[d] end
  run.groups = groups
  local count = groups[1] * groups[2] * groups[3]
  for at = 0, count - 1 do
    local b = backwards and count - 1 - at or at
    local group = {epoch = 1, arrays = {},
      id = {b % groups[1], b // groups[1] % groups[2],
        b // groups[1] // groups[2]}}
    local items = {}
    for z = 0, g[3] - 1 do for y = 0, g[2] - 1 do for x = 0, g[1] - 1 do
      local l = {x, y, z}
      local it = {run = run, group = group, id = {}, lid = {}, gid = {},
        ordinals = {}, arrays = {}}
      local there = true
      for d = 1, 3 do
        local i = group.id[d] * g[d] + l[d]
        there = there and i < n[d]
        it.gid[d], it.lid[d] = from[d] + i + 1, l[d] + 1
        if d <= run.rank then it.id[d] = it.gid[d] end
      end
      if there then
        it.thread = C.thread(run.f)
        items[#items + 1] = it
      end
    end end end
    if backwards then
      for i = 1, #items // 2 do
        items[i], items[#items + 1 - i] = items[#items + 1 - i], items[i]
      end
    end
    run_group(run, group, items)
  end
end

-- --- copies ------------------------------------------------------------------

-- Returns copies of buffers that overlap like the originals, and the place of
-- each among the others: tables by buffer.
local function copies_of(list)
  local lze = C.lze()
  local sorted, copy, overlap = {}, {}, {}
  for _, x in ipairs(list) do
    if not copy[x] then
      copy[x] = true
      sorted[#sorted + 1] = x
    end
  end
  table.sort(sorted, function(a, b) return a.pointer < b.pointer end)
  local i = 1
  while i <= #sorted do
    local first, last, j = sorted[i].pointer, sorted[i].pointer, i
    -- Kernels may rely on the alignment of storages.
    first = first & ~127
    while j <= #sorted and (j == i or sorted[j].pointer < last) do
      local e = sorted[j].pointer + sorted[j].bytes
      if e > last then last = e end
      j = j + 1
    end
    local all = lze.buffer("uchar", last - first,
      {usage = "shared", device = sorted[i].device})
    local track = track_new()
    for n = i, j - 1 do
      local x = sorted[n]
      local at = x.pointer - first
      overlap[x] = j == i + 1 and {track = track, base = 0, step = 1} or
        {track = track, base = at, step = #x > 0 and x.bytes // #x or 1}
      copy[x] = all:view(at + 1, at + x.bytes, x.type)
      copy[x]:copy(x)
    end
    i = j
  end
  return copy, overlap
end

-- --- comparing ---------------------------------------------------------------

local function equal(a, b)
  return a == b and (a ~= 0 or 1 / a == 1 / b) or a ~= a and b ~= b
end

-- Relative to the larger one; for tiny numbers, to the smallest normal float.
local function distance(a, b)
  if a == b or a ~= a and b ~= b then return 0 end
  local d = abs(a - b) / math.max(abs(a), abs(b), 0x1p-126)
  return d == d and d or huge
end

local exact = {sqrt = true, fabs = true, floor = true, ceil = true,
  trunc = true, fma = true, fmin = true, fmax = true, copysign = true,
  printf = true, rint = true, fmod = true}

-- Returns true if every device computes a kernel's results to the bit.
local function is_exact(kernel)
  for line in C.lze().spirv.disassemble(kernel:spirv()):gmatch "[^\n]+" do
    local name = line:match "OpExtInst %S+ %S+ (%S+)"
    if name and not exact[name] and not name:find "^v[ls]" and
      not name:find "^[su]_" then
      return false
    end
  end
  return true
end

-- Largest difference, by element type, between two results that are both
-- correct within OpenCL's limits for mathematical functions.
local slack = {half = 0x1p-7, bfloat16 = 0x1p-5, float = 0x1p-18,
  double = 0x1p-40}

-- --- k:check -----------------------------------------------------------------

local report_meta = {__name = "lze check"}

function report_meta.__tostring(r)
  local lines = {}
  if r.ok then
    lines[1] = format("%s: ok: %s", r.name, r.compared)
    if r.worst > 0 then
      lines[2] = format("worst relative error of the run as asked: %.3g (%s)",
        r.worst, r.worst_at)
    end
    return concat(lines, "\n")
  end
  lines[1] = format("%s: %d finding%s", r.name, #r.findings,
    #r.findings == 1 and "" or "s")
  for _, f in ipairs(r.findings) do lines[#lines + 1] = f end
  return concat(lines, "\n")
end

local function launch(kernel, range, arguments, n, copy)
  local given = {}
  for i = 1, n do
    local v = arguments[i]
    local x, shape = C.flat(v)
    if shape then v = C.lze().array(x.type, copy[x], shape)
    elseif x then v = copy[x] end
    given[i] = v
  end
  local event = kernel:launch(range, unpack(given, 1, n))
  event:wait()
end

-- Runs on the device with copies of the arguments.  Captured buffers are
-- restored.  Returns a function that reads a buffer's result.
local function device_run(kernel, range, arguments, n, buffers, captured)
  local copy = copies_of(buffers)
  local kept = copies_of(captured)
  local after
  local ok, err = C.pcall(function()
    launch(kernel, range, arguments, n, copy)
    after = copies_of(captured)
  end)
  for _, x in ipairs(captured) do x:copy(kept[x]) end
  if not ok then C.raise(err) end
  return function(x) return (copy[x] or after[x]):read() end
end

-- Compares the buffers after two runs.  Calls different(x, i, a, b) for each
-- element that differs.
local function compare(lists, one, other, different)
  for _, x in ipairs(lists) do
    local a, b = one(x), other(x)
    for i = 1, #a do
      if not equal(a[i], b[i]) then different(x, i, a[i], b[i]) end
    end
  end
end

-- Returns the names of arguments and captures by buffer, and the buffers.  An
-- array is represented by its buffer; its shape is stored with the names.
local function name_buffers(about, arguments, n)
  local names, buffers, captured = {shapes = {}}, {}, {}
  local function add(v, name, list)
    local x, shape = C.flat(v)
    if C.elements(x) and not names[x] then
      names[x], names.shapes[x] = name, shape
      list[#list + 1] = x
    end
  end
  for i = 1, n do
    add(arguments[i], about.parameters[about.indices + i] or "argument " .. i,
      buffers)
  end
  for _, c in ipairs(about.captures) do add(c.value, c.name, captured) end
  return names, buffers, captured
end

-- Runs the function on copies of the buffers.  Returns a function that reads a
-- buffer's result.
local function host_run(run, about, arguments, n, names, all, backwards)
  local proxy, copy, overlap = {}, copies_of(all)
  local function proxy_of(v, name)
    local x, shape = C.flat(v)
    if not C.elements(x) then
      error(format("%s: %s: the buffer is closed", about.name, name), 0)
    end
    if not copy[x] then
      -- Reached through a function: not named by the kernel's own captures.
      local one, place = copies_of({x})
      copy[x], overlap[x] = one[x], place[x]
      names[x], names.shapes[x] = names[x] or name, shape
      all[#all + 1] = x
      run.more[#run.more + 1] = x
    end
    proxy[v] = proxy[v] or
      cells_new(names[x], C.elements(x), #x, copy[x], overlap[x], shape)
    return proxy[v]
  end
  local given = {}
  for i = 1, n do
    local v = arguments[i]
    if C.flat(v) then
      v = proxy_of(v, about.parameters[about.indices + i] or "argument " .. i)
    end
    given[i] = v
    local scalar = about.scalars[i]
    if scalar and type(v) == "number" and slack[scalar] then
      given[i] = rounding(scalar)(v) or v -- the launch refuses an overflow
    end
  end
  run.f = replaced(about.f, proxy_of)
  function run.arguments(it)
    if it.began then return end
    if about.indices == 0 then return unpack(given, 1, n) end
    local list = {}
    for d = 1, about.indices do list[d] = it.gid[d] end
    for i = 1, n do list[about.indices + i] = given[i] end
    return unpack(list, 1, about.indices + n)
  end
  local was = item
  C.checking(true)
  local ok, err = C.pcall(run_all, run, backwards)
  item = was
  C.checking(was ~= nil)
  if not ok then C.raise(err) end
  return function(x) return copy[x]:read() end
end

local function run_new(about, kernel, range)
  local size, offset = sizes(range)
  local run = {name = about.name, told = {}, findings = {}, more = {},
    rank = type(range) == "table" and #range or 1, size = size,
    offset = offset, group = {1, 1, 1}}
  if size[1] > 0 and size[2] > 0 and size[3] > 0 then
    local g = run.group
    g[1], g[2], g[3] = kernel:group(range)
    for d = 1, 3 do g[d] = g[d] or 1 end
  end
  return run
end

local function check(kernel, range, ...)
  local n, arguments = select("#", ...), {...}
  local variant = kernel:variant(range, ...)
  local about = C.about(kernel, range, ...)
  local run = run_new(about, variant, range)
  local names, buffers, captured = name_buffers(about, arguments, n)
  local all = {}
  for _, x in ipairs(buffers) do all[#all + 1] = x end
  for _, x in ipairs(captured) do all[#all + 1] = x end
  local report = setmetatable({name = about.name, findings = run.findings,
    worst = 0, ok = false}, report_meta)
  local host = host_run(run, about, arguments, n, names, all)
  if #run.findings > 0 then return report end
  for _, x in ipairs(run.more) do captured[#captured + 1] = x end
  local depends = {}
  if run.atomics then
    -- Results of atomics depend on the order of the work-items.
    local again = run_new(about, variant, range)
    local other = host_run(again, about, arguments, n, names, all, true)
    compare(all, host, other, function(x, i)
      depends[x] = depends[x] or {}
      depends[x][i] = true
    end)
  end
  local reference = host
  local double = C.has_double(variant)
  if not double then about.twin.real = nil end
  local twin, reports = C.lze().kernel(about.f, about.twin), C.reports()
  local ran, left =
    C.pcall(device_run, twin, range, arguments, n, buffers, captured)
  local to_the_bit = ran and is_exact(twin)
  twin:close()
  if not ran then
    -- In Lua, an element out of range was only compared, or read and not used.
    if C.reports() == reports then C.raise(left) end
    run.findings[1] = left
    return report
  end
  if double then
    compare(all, host, left, function(x, i, a, b)
      if depends[x] and depends[x][i] then return end
      if not to_the_bit and
        distance(a, b) <= (slack[C.elements(x)] or 0) then
        return
      end
      find(run, about.where, "differs " .. names[x], format("%s is %s in Lua "
        .. "and %s on the device", element(names[x], names.shapes[x], i),
        tostring(a), tostring(b)))
    end)
    reference = left
  end
  local device = device_run(kernel, range, arguments, n, buffers, captured)
  compare(all, reference, device, function(x, i, a, b)
    local d = distance(a, b)
    if not (depends[x] and depends[x][i]) and d > report.worst then
      report.worst, report.worst_at = d,
        element(names[x], names.shapes[x], i)
    end
  end)
  report.ok = #run.findings == 0
  report.compared = format("%d work-items in Lua%s and as asked",
    run.size[1] * run.size[2] * run.size[3],
    double and ", on the device in double" or "")
  return report
end

-- --- lze.work ----------------------------------------------------------------

local work = {}

-- Defines a query about a dimension.
local function ask_of(name, f)
  work[name] = function(_, d)
    if d == nil then d = 1 end
    if d ~= 1 and d ~= 2 and d ~= 3 then
      error("work." .. name .. " needs 1, 2 or 3 as dimension", 0)
    end
    return f(d)
  end
end
ask_of("global_id", function(d) return item.gid[d] end)
ask_of("local_id", function(d) return item.lid[d] end)
ask_of("group_id", function(d) return item.group.id[d] + 1 end)
ask_of("global_size", function(d) return item.run.size[d] end)
ask_of("num_groups", function(d) return item.run.groups[d] end)
ask_of("local_size", function(d)
  local g = item.run.group[d]
  local left = item.run.size[d] - item.group.id[d] * g
  return left < g and left or g
end)
-- The device decides the size of sub-groups: here each has one item.
function work.sub_group_size() return 1 end
function work.lane() return 1 end

-- Returns the array that this call made before, or a new one; calls on one line
-- are distinguished by their order.
local function array(arrays, name, where, kind, n)
  local ordinals = item.ordinals
  local order = (ordinals[where] or 0) + 1
  ordinals[where] = order
  local key = where .. order
  if not arrays[key] then
    arrays[key] = cells_new(name, kind, n, {})
  end
  return arrays[key]
end

function work.local_array(where, kind, n)
  return array(item.group.arrays, "local array", where, kind, n)
end

function work.private_array(where, kind, n)
  return array(item.arrays, "private array", where, kind, n)
end

-- A check within a check applies to its own launches.
local function checked(...)
  C.within(1)
  local ok, result = C.pcall(check, ...)
  C.within(-1)
  if ok then return result end
  if type(result) == "string" then
    -- Errors raised by calls in this file are about the script's line.
    local text, own = result:gsub("^lze [^:]+:%d+: ", "")
    if own > 0 then result = C.where() .. text end
  end
  C.raise(result)
end

return {
  check = checked,
  -- LZE_CHECK=lua: before a launch of few work-items.
  before_launch = function(kernel, range, ...)
    local n = sizes(range)
    if n[1] * n[2] * n[3] > 4096 then return end
    for i = 1, select("#", ...) do
      local x = C.flat((select(i, ...)))
      -- A transient buffer, or a slice before its part begins, has nothing to
      -- copy yet.
      if C.elements(x) and #x > 0 and x.pointer == 0 then return end
    end
    local report = checked(kernel, range, ...)
    if not report.ok then error(concat(report.findings, "\n"), 0) end
  end,
  ask = function(name, where, ...) return work[name](where, ...) end,
  begin_atomic = function() item.atomic = true end,
  end_atomic = function() item.atomic = false end
}
