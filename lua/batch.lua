-- batch.lua - a graph's tasks on parts of their buffers, for devices whose
-- memory is smaller than the buffers.
-- SPDX-License-Identifier: MIT

local C = ...
local format, ipairs = string.format, ipairs

-- Returns the one number that is the range of a task.
local function range(task, refuse)
  local r = task[2]
  if type(r) ~= "table" then return r end
  if #r ~= 1 then refuse(task, "its range has more than one dimension") end
  if r.offset ~= nil or r.uses ~= nil then
    refuse(task, "it has an offset, or uses buffers that are not arguments")
  end
  return r[1]
end

-- Returns the share of a buffer's elements, which other buffers may use, too.
local function share_of(shares, x, address, count)
  for _, s in ipairs(shares) do
    if s.address == address and s.count == count and s[1].type == x.type then
      return s
    end
  end
end

-- Adds the buffers of a task of `items` work-items to the shares: an array,
-- also indexed by buffer, of {buffer, elements = per item, nil if all of it is
-- used, write =, bytes = per element, address =, count =, task =, argument = of
-- its first use}.
local function add_shares(shares, task, items, refuse)
  local arguments = C.splits(task[1])
  if arguments == nil then
    refuse(task, "its kernel is closed")
  elseif not arguments then
    refuse(task, "its kernel uses groups, or how large the range is")
  end
  for i = 1, arguments do
    local x = task[i + 2]
    local kind, count, bytes, address = C.extent(x)
    if task.shapes and task.shapes[i + 2] then
      refuse(task, format("argument %d: its kernel knows the array's shape", i))
    end
    if kind == "scratch" then
      refuse(task, "it uses a transient buffer")
    elseif kind == "image" then
      refuse(task, format("argument %d: an image is not split", i))
    elseif kind == "buffer" then
      if not count then
        refuse(task, format("argument %d: the buffer is closed", i))
      end
      local write = C.writes(task[1], i, task.access and task.access[i])
      local even = count > 0 and count % items == 0
      if write and not even then
        refuse(task, format("argument %d: the %d elements that are "
          .. "written are not equal shares of %d items", i, count, items))
      end
      local share = shares[x] or share_of(shares, x, address, count)
      if not share then
        share = {x, elements = even and count // items or nil, bytes = bytes,
          address = address, count = count, task = task, argument = i}
        shares[#shares + 1] = share
      end
      shares[x] = share
      share.write = share.write or write
    end
  end
end

-- Each share has its own copy, so written elements must be in one share only.
local function check_overlap(shares, refuse)
  for i, a in ipairs(shares) do
    for k = 1, i - 1 do
      local b = shares[k]
      if (a.write or b.write) and a.address < b.address + b.count * b.bytes and
        b.address < a.address + a.count * a.bytes then
        refuse(a.task, format("argument %d: it overlaps argument %d of task %s"
          .. ", and is not the same elements", a.argument, b.argument,
          b.task.name))
      end
    end
  end
end

-- Returns the tasks of a graph for the items from `first` (counted from 0),
-- between copies to transient buffers and back.
local function steps(tasks, shares, prefix, first, items, device)
  local list = {}
  local function copy(what, i, dst, src)
    list[#list + 1] = {kind = "copy", n = 5, dst, src,
      name = format("%s: buffer %d %s", prefix, i, what)}
  end
  for i, s in ipairs(shares) do
    if s.elements then
      local n = items * s.elements
      s.view = C.view(s[1], first * s.elements, n)
      s.own = C.scratch(s[1], n, device)
      copy("in", i, s.own, s.view)
    end
  end
  for _, task in ipairs(tasks) do
    local part, launch = {}, {}
    for key, v in next, task do
      local s = type(v) == "userdata" and shares[v]
      part[key] = s and s.own or v
    end
    for i, of in next, task.lengths or {} do
      local s = shares[task[of]]
      if s and s.elements then part[i] = items * s.elements end
    end
    if type(task[2]) == "table" then
      for key, v in next, task[2] do launch[key] = v end
    end
    launch[1] = items
    part[2], part.name = launch, format("%s: %s", prefix, task.name)
    list[#list + 1] = part
  end
  for i, s in ipairs(shares) do
    if s.elements and s.write then copy("out", i, s.view, s.own) end
  end
  return list
end

-- Returns the batches of a graph's entries, each an array of steps, so that two
-- batches need at most `limit` bytes; nil if the whole graph fits.  Transient
-- buffers are placed at multiples of `alignment`.
local function batches(what, prefix, graph, limit, alignment, device)
  local function refuse(task, why)
    error(format("%s: batch_bytes: %s %s: %s", what, task.kind, task.name, why),
      0)
  end
  if #graph.swaps > 0 then
    error(what .. ": batch_bytes: buffers change places", 0)
  end
  local shares, items = {}, nil
  for _, task in ipairs(graph.entries) do
    if task.kind ~= "task" then refuse(task, "only launches can be split") end
    if task.device then refuse(task, "it has a device of its own") end
    if task.after then refuse(task, "it is put after others by name") end
    local n = range(task, refuse)
    if items and n ~= items then
      refuse(task, "its range is not that of the others")
    end
    items = n
    if n > 0 then add_shares(shares, task, n, refuse) end
  end
  local bytes = 0 -- per item
  for _, s in ipairs(shares) do bytes = bytes + (s.elements or 0) * s.bytes end
  if bytes == 0 or bytes <= limit // items then return nil end
  check_overlap(shares, refuse)
  local padding = #shares * alignment
  local most = math.max((limit // 2 - padding) // bytes, 0)
  if most > 64 then most = most - most % 64 end -- even groups, aligned shares
  if most < 1 then
    error(format("%s: batch_bytes: two work-items need %d bytes", what,
      2 * (bytes + padding)), 0)
  end
  local list = {}
  for first = 0, items - 1, most do
    list[#list + 1] = steps(graph.entries, shares,
      format("%s.batch %d", prefix, #list + 1), first,
      math.min(most, items - first), device)
  end
  return list
end

return {batches = batches}
