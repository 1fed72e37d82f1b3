-- parallel.lua - lze.parallel: one range over several devices.
-- SPDX-License-Identifier: MIT
--
-- Each device gets a part of the range, according to its measured speed in
-- earlier calls.  This does what a script would do by hand: launches on the
-- devices' own queues and, if memory cannot be reached, copies.

local C = ...

local format, unpack = string.format, table.unpack

-- Parts begin at a multiple of this, so that groups divide them and the same
-- parts recur.
local GRAIN = 64
local MOST_DEVICES = 64
local MOST_ITEMS = (1 << 32) - 1

-- Approximate time of a launch itself: a part that is not much longer says
-- little about its device's speed.
local LAUNCH_NS = 20000

-- Work-items per nanosecond, by kernel and device; `shortest` is the duration
-- of the shortest part of the last launch.
local speeds = setmetatable({}, {__mode = "k"})

local function fail(...) error("lze.parallel: " .. format(...), 0) end

-- Returns the device that v is or selects; `name` names v in errors.
local function device_of(v, name)
  local ok, device, own = C.pcall(C.device, v)
  if ok then return device end
  if not own or type(device) ~= "string" then C.raise(device) end
  fail("%s: %s", name, (device:gsub("^devices: ", "")))
end

-- Returns the devices of a device, which stands for its tiles if it has any, or
-- of an array of devices and selectors.
local function devices_of(given)
  local devices = {}
  if type(given) == "table" then
    local n = rawlen(given)
    if n == 0 then fail "devices: an empty table" end
    if n > MOST_DEVICES then
      fail("devices: %d are more than %d", n, MOST_DEVICES)
    end
    for key in next, given do
      if math.type(key) ~= "integer" or key < 1 or key > n then
        fail("devices: unknown key %s", C.describe(key))
      end
    end
    for i = 1, n do
      devices[i] = device_of(rawget(given, i), format("devices[%d]", i))
    end
  else
    local device = device_of(given, "devices")
    local tiles = device:subdevices()
    for i = 1, math.min(#tiles, MOST_DEVICES) do devices[i] = tiles[i] end
    devices[1] = devices[1] or device
  end
  local seen = {}
  for _, device in ipairs(devices) do
    if seen[device] then fail("devices: %s is named twice", device.name) end
    seen[device] = true
  end
  return devices
end

-- Returns the share of a range for each device: by measured speed and, the
-- shorter the measured parts, the more by numbers of units.  Otherwise a device
-- with a short part would seem slow, get a shorter part, and so on.
local function shares_of(devices, speed)
  local units, sum, shortest = 0, 0, speed.shortest or 0
  for _, device in ipairs(devices) do
    local own = speed[device] or 0
    if own == 0 then shortest = 0 end
    units, sum = units + device.compute_units, sum + own
  end
  local trust, shares = shortest / (shortest + LAUNCH_NS), {}
  for i, device in ipairs(devices) do
    local share = device.compute_units / units
    if trust > 0 then share = share + trust * (speed[device] / sum - share) end
    shares[i] = share
  end
  return shares
end

-- Splits a range into parts.
local function split(total, devices, speed)
  local parts, first, before = {}, 0, 0
  local shares = shares_of(devices, speed)
  for i, device in ipairs(devices) do
    before = before + shares[i]
    local last = total
    if i < #devices then
      last = math.min(math.floor(total * before + 0.5), total)
      if total >= GRAIN * #devices then last = last - last % GRAIN end
      last = math.max(last, first)
    end
    parts[i] = {device = device, first = first, count = last - first,
      measured = speed[device] ~= nil}
    first = last
  end
  return parts
end

-- Returns the slices among the arguments, by number, with the checks that a
-- launch on one device would not make.
local function slices_of(job)
  local slices = {}
  for i = 1, job.n do
    local buffer, size, count = C.slice(job.arguments[i])
    if buffer then
      if not count then
        fail("argument %d: the buffer of the slice is closed", i)
      end
      if job.offset + job.total > count // size then
        fail("argument %d: %d work-items of %d elements each are more than " ..
          "the %d of the slice", i, job.offset + job.total, size, count)
      end
      slices[i] = {buffer = buffer, size = size}
    end
  end
  return slices
end

-- Returns the range of a part.  It starts at the part's first work-item or, if
-- arguments are slices, at 0.
local function range_of(job, part)
  local first = job.offset + part.first
  local offset = not next(job.slices) and first > 0 and first or nil
  return {part.count, offset = offset}
end

-- Checks what a part launches before any part runs, as a launch would.  Slices
-- that will be copied are checked with the original buffers.  A range with one
-- set of buffers is checked as a whole first, so that an error states its size.
local function check(job, part)
  local kernel, _, queue = C.place(job.kernel, job.variant, part.device)
  local arguments = {}
  for i = 1, job.n do
    local slice = job.slices[i]
    arguments[i] = job.arguments[i]
    if slice then
      arguments[i] = C.stub(queue, part.device, slice.buffer,
        part.count * slice.size)
    end
  end
  if not next(job.slices) then
    local all = range_of(job, {first = 0, count = job.total})
    C.check(kernel, queue, all, unpack(arguments, 1, job.n))
  end
  C.check(kernel, queue, range_of(job, part), unpack(arguments, 1, job.n))
end

-- Returns the buffer for a slice on a device: a view or, if its memory cannot
-- be reached, a copy, which is also the second result.
local function place_slice(job, part, i, context, queue)
  local x, size = job.slices[i].buffer, job.slices[i].size
  local from = (job.offset + part.first) * size + 1
  local to = from + part.count * size - 1
  if C.reaches(queue, x) then return C.call(x, "view", from, to) end
  local copy = C.buffer(x.type, to - from + 1, {usage = "device",
    context = context, device = part.device, zero = false})
  -- Copy a slice that is only written, too: some elements may remain unwritten.
  C.call(queue, "copy", copy, x, from, to, 1)
  return copy, copy
end

-- Enqueues a part.  `part.copies` has the copies of slices in its own memory.
local function start(job, part)
  local kernel, context, queue = C.place(job.kernel, job.variant, part.device)
  local arguments = {}
  part.copies = {}
  for i = 1, job.n do
    arguments[i] = job.arguments[i]
    if job.slices[i] then
      arguments[i], part.copies[i] = place_slice(job, part, i, context, queue)
    end
  end
  part.launched = C.call(queue, "launch", kernel, range_of(job, part),
    unpack(arguments, 1, job.n))
end

-- Enqueues the copies back of what a part has written, or waits for them if
-- they are in another context; called once all parts are enqueued.
local function bring_back(job, part, copied)
  for i = 1, job.n do
    local copy = part.copies[i]
    if copy and C.writes(job.variant, i) then
      local x, size = job.slices[i].buffer, job.slices[i].size
      copied[#copied + 1] = C.call(C.queue(x), "copy", x, copy, 1,
        part.count * size, (job.offset + part.first) * size + 1)
    end
  end
end

-- Waits for a part; returns its duration.  The first launch of a kernel may
-- include compilation, so it is not measured.  Later times are smoothed,
-- because a machine has other work, too.
local function finish(job, part, speed)
  local ns = 0
  if part.launched then
    C.call(part.launched, "wait")
    ns = C.call(part.launched, "time").kernel_ns
  end
  if part.count > 0 then
    local before = speed[part.device] or 0
    local now = part.measured and ns > 0 and part.count / ns or before
    speed[part.device] = before > 0 and (before + now) / 2 or now
  end
  return {device = part.device, first = job.offset + part.first + 1,
    count = part.count, kernel_ns = ns}
end

local function whole(v, name, most)
  local n = type(v) == "number" and math.tointeger(v)
  if not n then fail("%s: integer expected, got %s", name, C.describe(v)) end
  if n < 0 or n > most then fail("%s: %d is outside 0..%d", name, n, most) end
  return n
end

-- Returns the number of work-items, and the number of the first one from 0.
local function range_read(n)
  if type(n) ~= "table" then return whole(n, "n", MOST_ITEMS), 0 end
  for key in next, n do
    if key ~= 1 and key ~= "offset" then
      fail("n: unknown key %s (known: 1, offset)", C.describe(key))
    end
  end
  local count = whole(rawget(n, 1), "n[1]", MOST_ITEMS)
  local offset = rawget(n, "offset")
  if offset == nil then return count, 0 end
  return count, whole(offset, "n.offset", MOST_ITEMS - count)
end

local functions = {}

-- lze.parallel(devices, n, k, ...).  If it raises an error, parts that have
-- started continue, as after any failed launch.
function functions.parallel(devices, n, k, ...)
  devices = devices_of(devices)
  local offset
  n, offset = range_read(n)
  if not C.is_open(k) then
    fail("k: an open kernel expected, got %s", C.describe(k))
  end
  local job = {kernel = k, total = n, offset = offset, n = select("#", ...),
    arguments = {...}}
  if C.is_lua(k) then
    job.variant = C.variant(k, n, ...)
  else
    job.variant = k
  end
  job.slices = slices_of(job)
  if not next(job.slices) and (#devices > 1 or offset > 0) and
      not C.splits(job.variant) then
    fail("%s: it uses more than its global id, or the driver has no global " ..
      "offsets, so its range cannot be split: use lze.slice", tostring(k))
  end
  local speed = speeds[k] or {}
  speeds[k] = speed
  local parts, results, copied = split(n, devices, speed), {}, {}
  for i, part in ipairs(parts) do
    if part.count > 0 or n == 0 and i == 1 then check(job, part) end
  end
  for _, part in ipairs(parts) do
    if part.count > 0 then start(job, part) end
  end
  for _, part in ipairs(parts) do
    if part.count > 0 then bring_back(job, part, copied) end
  end
  local shortest = math.huge
  for i, part in ipairs(parts) do
    results[i] = finish(job, part, speed)
    shortest = math.min(shortest, results[i].kernel_ns)
  end
  speed.shortest = shortest
  for _, ev in ipairs(copied) do C.call(ev, "wait") end
  return results
end

return functions
