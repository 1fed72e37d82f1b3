-- mpi.lua - require "lze.mpi": communicators, what their methods check and do.
-- SPDX-License-Identifier: MIT

local C, lze = ...

local concat, format = table.concat, string.format
local pack, unpack = string.pack, string.unpack
local mathtype, tointeger = math.type, math.tointeger
local lzetype, type = lze.type, type
-- Posts an operation; returns the state of an object; describes a buffer.
local issue, state_of, buffer_of = C.post, C.state, C.buffer
local kinds = C.kinds                       -- of operations
local SEND, RECV = kinds.send, kinds.recv

-- --- errors ------------------------------------------------------------------

-- Raises an error about misuse at the script's line.
local function fail(...) error(C.where() .. format(...), 0) end

local function argument(n, fname, ...)
  fail("bad argument #%d to '%s' (%s)", n, fname, format(...))
end

local function describe(v)
  local kind = lzetype(v) or type(v)
  if kind == "string" then
    return #v <= 24 and format("string '%s'", v) or
      format("a string of %d bytes", #v)
  elseif kind == "number" then
    return format("%s %s", mathtype(v) == "integer" and "integer" or "number",
      tostring(v))
  end
  return kind
end

local function integer(v, n, fname, name)
  local i = type(v) == "number" and tointeger(v)
  if not i then
    argument(n, fname, "%s: integer expected, got %s", name, describe(v))
  end
  return i
end

local function positive(v, n, fname, name)
  local i = integer(v, n, fname, name)
  if i < 1 then argument(n, fname, "%s: %d is not positive", name, i) end
  return i
end

-- Returns a copy of a list of sizes, and their product: a real, which does not
-- wrap.
local function sizes_of(list, n, fname, name)
  local sizes, product = {}, 1.0
  for i = 1, #list do
    sizes[i] = positive(list[i], n, fname, format("%s[%d]", name, i))
    product = product * sizes[i]
  end
  return sizes, product
end

local function check_keys(t, known, n, fname, what)
  if type(t) ~= "table" then
    argument(n, fname, "%s: table expected, got %s", what, describe(t))
  end
  for key in next, t do
    if not known[key] then
      argument(n, fname, "%s: unknown key %s (known: %s)", what,
        type(key) == "string" and "'" .. key .. "'" or describe(key),
        known.names)
    end
  end
end

local function keys(...)
  local known = {names = concat({...}, ", ")}
  for _, key in ipairs {...} do known[key] = true end
  return known
end

-- --- values ------------------------------------------------------------------

local MOST_BYTES = 2 ^ 31 - 1

-- Returns a value as bytes for string.unpack: a letter for each value, then its
-- data.  A table becomes a number, and the contents of tables follow in the
-- order of their numbers; a table that occurs twice arrives as one table.
local function to_bytes(whole, fname)
  local out, tables, numbers = {}, {}, {}
  local owners, places = {}, {}             -- the table that contains a table

  local function path(owner, place)
    local names = {}
    while owner do
      names[#names + 1] = type(place) == "string" and "." .. place or
        "[" .. tostring(place) .. "]"
      owner, place = owners[owner], places[owner]
    end
    names[#names + 1] = "value"
    for i = 1, #names // 2 do
      names[i], names[#names + 1 - i] = names[#names + 1 - i], names[i]
    end
    return concat(names)
  end

  local function put(v, owner, place)
    local kind = type(v)
    if kind == "nil" then
      out[#out + 1] = "n"
    elseif kind == "boolean" then
      out[#out + 1] = v and "t" or "f"
    elseif kind == "number" then
      out[#out + 1] = mathtype(v) == "integer" and pack("<c1i8", "i", v) or
        pack("<c1d", "d", v)
    elseif kind == "string" then
      out[#out + 1] = pack("<c1s8", "s", v)
    elseif kind == "table" and not lzetype(v) then
      local number = numbers[v]
      if not number then
        number = #tables + 1
        tables[number], numbers[v] = v, number
        owners[number], places[number] = owner, place
      end
      out[#out + 1] = pack("<c1i8", "{", number)
    else
      argument(1, fname,
        "%s: numbers, strings, booleans and tables of them can be sent, got %s",
        path(owner, place), describe(v))
    end
  end

  put(whole)
  local number = 1
  while tables[number] do                   -- put() finds more
    local count, at = 0, #out + 1
    out[at] = ""
    for key, value in next, tables[number] do
      count = count + 1
      put(key, number, key)
      put(value, number, key)
    end
    out[at] = pack("<i8", count)
    number = number + 1
  end
  local bytes = concat(out)
  if #bytes > MOST_BYTES then
    argument(1, fname, "value: %d bytes; a buffer may have more than 2^31",
      #bytes)
  end
  return bytes
end

local function from_bytes(s)
  local tables, at = {}, 1

  local function take()
    local letter, v
    letter, at = unpack("c1", s, at)
    if letter == "n" then return nil
    elseif letter == "t" then return true
    elseif letter == "f" then return false
    elseif letter == "i" then v, at = unpack("<i8", s, at)
    elseif letter == "d" then v, at = unpack("<d", s, at)
    elseif letter == "s" then v, at = unpack("<s8", s, at)
    else
      local number
      number, at = unpack("<i8", s, at)
      v = tables[number] or {}
      tables[number] = v
    end
    return v
  end

  local v = take()
  local number = 1
  while tables[number] do
    local count
    count, at = unpack("<i8", s, at)
    for _ = 1, count do
      local key = take()
      tables[number][key] = take()
    end
    number = number + 1
  end
  return v
end

-- --- buffers -----------------------------------------------------------------

local is_buffer = {buffer = true, array = true}

-- Returns the buffer at argument n, or of the array there, with its type, count
-- and bytes, true if it is device memory, and its context.  Returns nil for
-- anything else if `may_be_value`.
local function buffer(x, n, fname, may_be_value)
  local what = lzetype(x)
  local kind, count, bytes, of_device, context
  if what ~= "array" then
    kind, count, bytes, of_device, context = buffer_of(x)
    if kind then return x, kind, count, bytes, of_device, context end
  end
  if may_be_value and not is_buffer[what] then return nil end
  if what == "array" then x = x:eval() end
  kind, count, bytes, of_device, context = buffer_of(x, true)
  if kind then return x.buffer, kind, count, bytes, of_device, context end
  argument(n, fname, "%s", what == "array" and
    "an array that is not contiguous; x:clone() is" or count)
end

-- True, by handle, for devices whose memory is passed to MPI.
local direct = {}
local kept = {}                             -- buffers that MPI may use forever

-- Returns why MPI cannot use a device's memory, by sending a short and a long
-- message to this rank itself.
local function try(device)
  local options = {usage = "device", device = device}
  local letters = "the bytes of a message from a rank to itself; "
  for _, bytes in ipairs {64, 1 << 20} do
    local x = lze.buffer("uchar", bytes, options)
    local y = lze.buffer("uchar", bytes, options)
    x:write(string.rep(letters, bytes // #letters + 1):sub(1, bytes))
    local why = C.try(x, y)
    if why then
      kept[#kept + 1] = {x, y}
      return why
    elseif x:string() ~= y:string() then
      return format("of a message of %d bytes others came", bytes)
    end
    x:close()
    y:close()
  end
end

-- Returns true if MPI is passed x itself: device memory only with
-- LZE_MPI_GPU=1, if the library claims to support it and does.
local function is_given(x)
  if x.usage ~= "device" then return true end
  local device = x.device
  local handle = device.handle
  if direct[handle] == nil then
    local asked, why = C.gpu()
    if asked then
      why = why or try(device)
      C.note(format("LZE_MPI_GPU=1: memory of %s %s", device.name,
        why and "goes through the host's all the same: " .. why or
        "is given to MPI as it is"))
    end
    direct[handle] = asked and not why
  end
  return direct[handle]
end

-- Returns host memory in x's context.
local function host_buffer(x, kind, count)
  return lze.buffer(kind, count,
    {usage = "host", zero = false, device = x.device, context = x.context})
end

-- Queues for copies of device memory, by context and device: on the default
-- queue they would wait for earlier commands.
local queues = setmetatable({}, {__mode = "k"})

local function queue_of(x)
  local context, device = x.context, x.device
  local devices = queues[context] or {}
  queues[context] = devices
  local handle = device.handle
  devices[handle] = devices[handle] or
    lze.queue(device, {order = "out", context = context})
  return devices[handle]
end

-- Returns a copy in host memory that MPI uses instead of x.
local function stage_of(x, reads)
  local copy = host_buffer(x, x.type, #x)
  if reads then queue_of(x):copy(copy, x) end
  return copy
end

-- Returns host memory through which x is transferred in pieces.
local function pieces_of(x)
  local bytes = math.max(x.bytes, C.head)
  if bytes > C.piece then
    bytes = math.min((bytes - 1) // C.piece + 1, C.staged) * C.piece
  end
  return host_buffer(x, "uchar", bytes)
end

-- Calls f(x, y, into), which posts an operation, with memory that MPI can use
-- for what is read and what is written; the operation copies the latter to
-- `into`, if it is a copy.  `keeps`: a part of what is written may stay
-- unchanged.  Exchanges between all ranks are staged as a whole.
local function with_host_memory(x, y, keeps, f)
  local from, to = x, y
  if x and not is_given(x) then from = stage_of(x, true) end
  if y and not is_given(y) then to = stage_of(y, keeps) end
  local a, b, c = f(from, to, to ~= y and y or nil)
  if to ~= y then to:close() end              -- closed once unused
  if from ~= x then from:close() end
  return a, b, c
end

-- Posts a message of x to or from a rank, on a handle of c.  Device memory (x
-- is not, if `of_device` is false) is transferred through a few pieces of host
-- memory; a message of at most one piece is copied before it is sent.
local function post_message(c, kind, wait, handle, peer, tag, x, of_device)
  local sends, stage, whole = kind == SEND, nil, nil
  if of_device and not is_given(x) then
    if sends and x.bytes <= C.piece then
      x = stage_of(x, true)
      whole = x
    else
      stage = pieces_of(x)
    end
  end
  local a, b, d = issue(kind, wait, c, handle, c.rank, c.size, peer, tag,
    nil, false, sends and x or nil, not sends and x or nil, nil, nil, nil, nil,
    c.pieces, stage)
  if stage then stage:close() end             -- closed once unused
  if whole then whole:close() end
  return a, b, d
end

-- Posts a broadcast or, with an operator, a reduction of x, which this rank
-- reads, writes, or both.  MPI computes only in host memory: no test on a
-- single rank could show that it can do otherwise.
local function post_combined(c, kind, wait, root, op, by_rank, x, of_device,
    reads, writes)
  local part, into, stage = x, nil, nil
  if of_device and (op or not is_given(x)) then
    if wait then
      stage = pieces_of(x)
    else
      part, into = stage_of(x, reads), writes and x or nil
    end
  end
  local event = issue(kind, wait, c, c.handle, c.rank, c.size, root, nil, op,
    by_rank, not writes and part or nil, writes and part or nil, nil, nil, nil,
    into, nil, stage)
  if stage then stage:close() end             -- closed once unused
  if part ~= x then part:close() end
  return event
end

-- --- communicators -----------------------------------------------------------

local methods, fields, meta = {}, {}, {}

local function open(self, fname)
  local c = state_of(self, meta)
  if not c then
    fail("calling '%s' on bad self (communicator expected, got %s)", fname,
      describe(self))
  end
  if c.closed then fail("%s: the communicator is closed", fname) end
  return c
end

local function check_rank(c, rank, n, fname, name)
  local r = mathtype(rank) == "integer" and rank or
    integer(rank, n, fname, name)
  if r < 0 or r >= c.size then
    argument(n, fname, "%s: %d is outside 0..%d", name, r, c.size - 1)
  end
  return r
end

local function root_of(c, root, n, fname)
  if root == nil then return 0 end
  return check_rank(c, root, n, fname, "root")
end

local message_keys = keys("first", "last", "tag")

-- Returns the elements and the tag that a message's options name.
local function message(x, count, options, fname)
  if options == nil then return x, nil end
  check_keys(options, message_keys, 3, fname, "options")
  local tag = options.tag
  if tag ~= nil then
    tag = integer(tag, 3, fname, "tag")
    if tag < 0 or tag > 32767 then
      argument(3, fname, "tag: %d is outside 0..32767", tag)
    end
  end
  local first, last = options.first, options.last
  if first == nil and last == nil then return x, tag end
  if not x then
    argument(3, fname, "first and last are for buffers, not for values")
  end
  first = first == nil and 1 or integer(first, 3, fname, "first")
  last = last == nil and count or integer(last, 3, fname, "last")
  local i = first < 0 and first + count + 1 or first
  local j = last < 0 and last + count + 1 or last
  if not (i >= 1 and i <= count + 1 and j == i - 1) then
    if i < 1 or i > count then
      argument(3, fname, "first: %d is outside 1..%d", first, count)
    elseif j < i or j > count then
      argument(3, fname, "last: %d is outside %d..%d", last, i - 1, count)
    end
  end
  return x:view(i, j), tag
end

local function define_send(fname, wait)
  methods[fname] = function(self, x, rank, options)
    local c = open(self, fname)
    local to = check_rank(c, rank, 2, fname, "rank")
    local b, _, count, _, of_device = buffer(x, 1, fname, true)
    if not b then
      local _, tag = message(nil, 0, options, fname)
      return issue(SEND, wait, c, c.values, c.rank, c.size, to, tag or 0,
        nil, false, nil, nil, to_bytes(x, fname))
    end
    local part, tag = b, nil
    if options ~= nil then part, tag = message(b, count, options, fname) end
    local event = post_message(c, SEND, wait, c.handle, to, tag or 0, part,
      of_device)
    if not wait then return event end
  end
end
define_send("send", true)
define_send("isend", false)

-- Receives posted by irecv, by event.
local receives = setmetatable({}, {__mode = "k"})

-- Returns the number of elements in the bytes from a rank.
local function elements_of(length, element, source, fname)
  if length % element ~= 0 then
    fail("%s: %d bytes came from rank %d, not a number of elements of %d " ..
      "bytes", fname, length, source, element)
  end
  return length // element
end

local function define_recv(fname, wait)
  methods[fname] = function(self, y, rank, options)
    local c = open(self, fname)
    local from = rank ~= nil and check_rank(c, rank, 2, fname, "rank") or nil
    if y == nil and wait then
      local _, tag = message(nil, 0, options, fname)
      local source, got, bytes = issue(RECV, true, c, c.values, c.rank,
        c.size, from, tag, nil, false, nil, nil, true)
      return from_bytes(bytes), source, got
    end
    local b, _, count, bytes, of_device = buffer(y, 1, fname)
    local element = count > 0 and bytes // count or 1
    local part, tag = b, nil
    if options ~= nil then part, tag = message(b, count, options, fname) end
    local source, got, length = post_message(c, RECV, wait, c.handle, from,
      tag, part, of_device)
    if not wait then
      receives[source] = {got, element}
      return source
    end
    return source, got, elements_of(length, element, source, fname)
  end
end
define_recv("recv", true)
define_recv("irecv", false)

-- mpi.status(ev) -> source, tag, count; nil unless it has succeeded
local function status(ev)
  local receive = receives[ev]
  if not receive then
    argument(1, "status", "the event of a world:irecv expected, got %s",
      describe(ev))
  end
  local source, tag, length = C.came(receive[1])
  if not source then return nil end
  return source, tag, elements_of(length, receive[2], source, "status")
end

local function define_barrier(fname, wait)
  methods[fname] = function(self)
    local c = open(self, fname)
    return issue(kinds.barrier, wait, c, c.handle, c.rank, c.size, nil, nil,
      nil, false)
  end
end
define_barrier("barrier", true)
define_barrier("ibarrier", false)

local function define_bcast(fname, wait)
  methods[fname] = function(self, x, root)
    local c = open(self, fname)
    root = root_of(c, root, 2, fname)
    local gives = c.rank == root
    local b, _, _, _, of_device = buffer(x, 1, fname, true)
    if b then
      return post_combined(c, kinds.bcast, wait, root, nil, false, b, of_device,
        gives, not gives) or x
    end
    if not wait then
      argument(1, fname, "buffer expected, got %s; bcast takes values",
        describe(x))
    end
    local mine = gives and to_bytes(x, fname)
    local _, _, bytes = issue(kinds.bcast, true, c, c.values, c.rank, c.size,
      root, nil, nil, false, nil, nil, mine or true)
    return from_bytes(bytes)
  end
end
define_bcast("bcast", true)
define_bcast("ibcast", false)

-- The core's names of reductions, by the type of the elements, then the
-- operator.
local reductions = C.reductions
local OPERATORS = "sum, prod, min, max, band, bor or bxor"

local reduce_keys = keys("order")

local function refuse_reduction(kind, op, fname)
  if reductions.int[op] == nil then
    argument(2, fname, "operator: %s expected, got %s", OPERATORS, describe(op))
  end
  local scalar = kind:match "^%l+%f[%d\0]" or kind
  if scalar == "half" or scalar == "bfloat" then
    argument(1, fname, "%s: MPI has no such numbers; copy them into a " ..
      "buffer of float, reduce that, and copy back", kind)
  elseif reductions[kind] == nil then
    argument(1, fname, "a buffer of numbers expected, got buffer of %s", kind)
  end
  argument(2, fname, "operator: %s is for integers, not for %s", op, kind)
end

-- Returns the core's reduction, and true if it follows the order of the ranks.
local function check_reduction(kind, op, options, n, fname)
  local known = reductions[kind]
  local reduction = known and known[op]
  if not reduction then refuse_reduction(kind, op, fname) end
  if options == nil then return reduction, false end
  check_keys(options, reduce_keys, n, fname, "options")
  if options.order ~= nil and options.order ~= "rank" then
    argument(n, fname, "order: 'rank' expected, got %s",
      describe(options.order))
  end
  return reduction, options.order == "rank"
end

-- Refuses to combine the parts of an array's complex numbers as if they were
-- reals: only sums allow that.
local function check_complex(x, op, fname)
  if lzetype(x) == "array" and op ~= "sum" and reductions.int[op] and
    x.type:find "^complex"
  then
    argument(2, fname, "operator: sum expected for %s, got %s", x.type, op)
  end
end

local function define_reduction(name, fname, wait, rooted)
  local kind = kinds[name]
  methods[fname] = function(self, x, op, root, options)
    local c = open(self, fname)
    if not rooted then root, options = nil, root end
    root = rooted and root_of(c, root, 3, fname) or 0
    local b, elements, _, _, of_device = buffer(x, 1, fname)
    check_complex(x, op, fname)
    local reduction, by_rank = check_reduction(elements, op, options,
      rooted and 4 or 3, fname)
    return post_combined(c, kind, wait, root, reduction, by_rank, b, of_device,
      true, not rooted or c.rank == root) or x
  end
end
for _, name in ipairs {"allreduce", "scan"} do
  define_reduction(name, name, true, false)
  define_reduction(name, "i" .. name, false, false)
end
define_reduction("reduce", "reduce", true, true)
define_reduction("reduce", "ireduce", false, true)

-- gather, scatter, allgather, alltoall: the side that only the root has, and
-- the number of blocks on each side.
local exchanges = {
  gather = {x = 1, y = "size", y_on_root = true},
  scatter = {x = "size", y = 1, x_on_root = true},
  allgather = {x = 1, y = "size"},
  alltoall = {x = "size", y = "size"}
}

local exchange_keys = {
  gather = keys("counts", "rows"), scatter = keys("counts", "rows"),
  allgather = keys("counts", "rows"), alltoall = keys("counts", "received")
}

-- Counts of MPI are ints, and so are the offsets of blocks of different sizes.
local MOST_COUNTED = 2 ^ 31 - 1

-- Returns a copy of an option's counts, one for each rank, with their sum.
local function check_counts(c, t, n, fname, name)
  if type(t) ~= "table" then
    argument(n, fname, "%s: table expected, got %s", name, describe(t))
  elseif #t ~= c.size then
    argument(n, fname, "%s: %d number%s expected, one for each rank, got %d",
      name, c.size, c.size == 1 and "" or "s", #t)
  end
  local counts = {sum = 0, name = name}
  for i = 1, c.size do
    local count = integer(t[i], n, fname, format("%s[%d]", name, i))
    if count < 0 then
      argument(n, fname, "%s[%d]: %d is negative", name, i, count)
    elseif count > MOST_COUNTED - counts.sum then
      argument(n, fname, "%s: more than %d elements in all; exchange them " ..
        "in several calls", name, MOST_COUNTED)
    end
    counts[i], counts.sum = count, counts.sum + count
  end
  return counts
end

-- Returns the first and the last work-item of a rank.
local function part_of(n, rank, size)
  return n * rank // size + 1, n * (rank + 1) // size
end

-- Checks that this rank's part has this rank's number of rows, and that the
-- whole, if it is on this rank, has rows of the same shape.  The part is
-- argument `at`.
local function check_rows(c, rows, x, whole, at, fname)
  local shape, first, last = x.shape, part_of(rows, c.rank, c.size)
  if shape[1] ~= last - first + 1 then
    argument(at, fname, "an array of %d row%s expected for rank %d by rows, " ..
      "got one of {%s}", last - first + 1, last == first and "" or "s", c.rank,
      concat(shape, ", "))
  end
  if lzetype(whole) ~= "array" then return end
  local other = whole.shape
  local same = #other == #shape
  for i = 2, #shape do same = same and other[i] == shape[i] end
  if not same then
    argument(3 - at, fname, "an array expected whose rows are like those of " ..
      "the part of {%s}, got one of {%s}", concat(shape, ", "),
      concat(other, ", "))
  end
end

-- Returns the counts of rows, divided as world:part divides work-items.
local function counts_of_rows(c, rows, x, whole, at, n, fname)
  rows = integer(rows, n, fname, "rows")
  if rows < 0 or rows > MOST_COUNTED then
    argument(n, fname, "rows: %d is outside 0..%d", rows, MOST_COUNTED)
  elseif lzetype(x) ~= "array" then
    argument(n, fname, "rows: they are those of arrays, got %s", describe(x))
  end
  check_rows(c, rows, x, whole, at, fname)
  local elements, counts, shape = 1, {}, x.shape
  for i = 2, #shape do elements = elements * shape[i] end
  for rank = 0, c.size - 1 do
    local first, last = part_of(rows, rank, c.size)
    counts[rank + 1] = (last - first + 1) * elements
  end
  return check_counts(c, counts, n, fname, "rows")
end

-- Returns the counts of elements to send and to receive from the options; `x`
-- is this rank's block, argument `at`, and `whole` has the blocks of all ranks.
local function exchange_counts(c, name, options, x, whole, at, n, fname)
  if options == nil then return nil end
  check_keys(options, exchange_keys[name], n, fname, "options")
  local counts, received = options.counts, options.received
  if options.rows ~= nil then
    if counts ~= nil then argument(n, fname, "rows: not with counts") end
    return counts_of_rows(c, options.rows, x, whole, at, n, fname)
  elseif counts == nil and received == nil then
    return nil
  end
  counts = check_counts(c, counts, n, fname, "counts")
  if name ~= "alltoall" then return counts end
  received = check_counts(c, received, n, fname, "received")
  local mine = c.rank + 1
  if counts[mine] ~= received[mine] then
    argument(n, fname, "received[%d]: rank %d sends itself %d elements, as " ..
      "counts[%d] says, got %d", mine, c.rank, counts[mine], mine,
      received[mine])
  end
  return counts, received
end

-- Checks that a buffer has room for the counts.
local function check_counted(c, x, n, fname, blocks, counts)
  local count, mine = #x, counts[c.rank + 1]
  if blocks == 1 and count ~= mine then
    argument(n, fname, "a buffer of %d elements expected for rank %d by " ..
      "%s, got one of %d", mine, c.rank, counts.name, count)
  elseif blocks ~= 1 and count < counts.sum then
    argument(n, fname, "a buffer of %d elements or more expected by %s, " ..
      "got one of %d", counts.sum, counts.name, count)
  end
end

-- Checks two buffers of a call: the same type, no overlap except this rank's
-- block.
local function check_blocks(c, e, x, y, fname, counts)
  local _, xkind, xcount, _, _, xcontext = buffer(x, 1, fname)
  local _, ykind, ycount, _, _, ycontext = buffer(y, 2, fname)
  if xkind ~= ykind then
    argument(2, fname, "buffer of %s expected, got buffer of %s", xkind, ykind)
  elseif xcontext ~= ycontext then
    argument(2, fname, "a buffer of another context")
  end
  local xblocks = e.x == "size" and c.size or e.x
  local yblocks = e.y == "size" and c.size or e.y
  if counts then                                -- checked by check_counted
    if xcount == 0 or ycount == 0 then return end
  elseif xcount % xblocks ~= 0 then
    argument(1, fname, "%d elements are not the same number for each of %d " ..
      "ranks", xcount, xblocks)
  elseif ycount ~= xcount // xblocks * yblocks then
    argument(2, fname, "a buffer of %d elements expected, got one of %d",
      xcount // xblocks * yblocks, ycount)
  end
  local first, last = x.pointer, y.pointer
  if first and last and first < last + y.bytes and last < first + x.bytes then
    -- In place: the block that this rank would copy.
    local place = c.rank * (x.bytes // xblocks)
    if counts then
      place = 0
      for i = 1, c.rank do place = place + counts[i] end
      place = place * (x.bytes // xcount)
    end
    local inner, outer = first, last
    if e.x == "size" then inner, outer = last, first end
    if e.x == e.y or inner ~= outer + place then
      argument(2, fname, "it overlaps the other buffer, and not as rank " ..
        "%d's own block", c.rank)
    end
  end
end

local function define_exchange(name, fname, wait)
  local e = exchanges[name]
  local rooted = e.x_on_root or e.y_on_root
  methods[fname] = function(self, x, y, root, options)
    local c = open(self, fname)
    if not rooted then root, options = nil, root end
    root = rooted and root_of(c, root, 3, fname) or 0
    local at, into = e.x == 1 and 1 or 2, y
    local block, whole = x, y
    if at == 2 then block, whole = y, x end
    if rooted and c.rank ~= root then whole = nil end
    if e.x_on_root and c.rank ~= root then
      x, y = nil, buffer(y, 2, fname)
    elseif e.y_on_root and c.rank ~= root then
      x, y = buffer(x, 1, fname), nil
    else
      x, y = buffer(x, 1, fname), buffer(y, 2, fname)
    end
    local counts, received = exchange_counts(c, name, options, block,
      whole, at, rooted and 4 or 3, fname)
    if counts and x then check_counted(c, x, 1, fname, e.x, counts) end
    if counts and y then
      check_counted(c, y, 2, fname, e.y, received or counts)
    end
    if x and y then check_blocks(c, e, x, y, fname, counts) end
    local event = with_host_memory(x, y, counts ~= nil,
      function(from, to, behind_it)
        return issue(kinds[name], wait, c, c.handle, c.rank, c.size, root,
          nil, nil, false, from, to, nil, counts, received, behind_it)
      end)
    return event or y and into
  end
end
for name in pairs(exchanges) do
  define_exchange(name, name, true)
  define_exchange(name, "i" .. name, false)
end

-- --- new communicators -------------------------------------------------------

-- State shared by all objects for the communicator of all ranks: its inner
-- handle, message numbers, and so on.
local of_world = {}

-- Returns true if an error comes from MPI, not from a hook for example.
local function is_of_mpi(err)
  return type(err) == "table" and type(err.call) == "string" and
    err.call:find "^MPI_"
end

-- Waits for messages of `fname`, which its errors name.  After a timeout, waits
-- for the others, too, so that each is marked as late: later launches would
-- wait for them.
local function wait_for(events, fname)
  local first
  for _, event in ipairs(events) do
    local good, err = pcall(event.wait, event)
    local ours = not good and is_of_mpi(err)
    if ours then err.object = fname end
    if not good then first = first or err end
    if not good and not (ours and err.code == "TIMEOUT") then break end
  end
  if first ~= nil then error(first, 0) end
end

local GIVEN_UP = "this rank has left an earlier call that makes " ..
  "communicators: this one can have no more of them"

-- Precedes an MPI call that cannot be interrupted.  In waits that can be
-- interrupted, all ranks arrive, and so do earlier collectives of the handle,
-- and of values if `values`.  If a rank leaves the first round, all others miss
-- it in the second: so no rank enters the call.  The second round uses a
-- communicator with messages only, so remains of the first meet no other
-- collective; a rank that has left joins no further round.  Only a rank that
-- leaves the second round after all have arrived is missing in the call itself.
local function meet(c, fname, values)
  local owner = c.world and of_world or c
  local function barrier(handle, wait)
    return issue(kinds.barrier, wait, c, handle, c.rank, c.size, nil, nil, nil,
      false)
  end
  local good, err = pcall(function()
    if owner.left then C.raise("MPI_Barrier", "GIVEN_UP", GIVEN_UP) end
    owner.left = true
    -- Both are started, so that a rank that leaves has not skipped one.
    local other = values and barrier(c.values, false)
    barrier(c.handle, true)
    if other then other:wait() end
    barrier(c.pieces, true)
    owner.left = false
  end)
  if not good then
    if type(err) == "table" and type(err.call) == "string" and
        err.call:find "^MPI_I?[bB]arrier$" then
      err.call = "MPI_Barrier"
      if err.code:find "^MPI_" then owner.left = false end -- not even started
      err.object = fname
      err.message = err.message:gsub("^barrier", fname)
    end
    error(err, 0)
  end
  if c.closed then
    fail("%s: the communicator was closed during the wait", fname)
  end
end

-- Returns a communicator of the same ranks for lze's own messages.
local function inner(c, fname)
  if c.world then c.inner = of_world.inner or false end
  if not c.inner then
    meet(c, fname)
    c.inner = C.dup(c.handle)
    if c.world then of_world.inner = c.inner end
  end
  return c.inner
end

local handles = {"handle", "values", "pieces", "inner"}

-- Each collective call has a serial number, for its own tags: a message left
-- over from one call is not received by another.
local NUMBERS, DIRECTIONS = 1000, 27

local function next_number(c)
  local owner = c.world and of_world or c
  owner.number = (owner.number or -1) + 1
  return owner.number
end

-- Returns a tag for a launch over all ranks, which no halo uses.  It hashes
-- what all ranks share, so launches that differ rarely have the same tag.
local function tag_of(c, launch)
  local first, h = NUMBERS * DIRECTIONS, 0
  for i = 1, #launch do h = (h ~ launch:byte(i)) * 0x100000001b3 end
  return first + (h >> 16) % (c.most_tag - first + 1)
end

-- Frees all MPI handles of a communicator; returns the first error, or nil.
local function free(c)
  local why
  for _, name in ipairs(handles) do
    if c[name] then
      local good, err = pcall(C.free, c[name])
      if not good then why = why or err end
    end
  end
  return why
end

local function object(c)
  c.rank, c.size = C.place(c.handle)
  local node = c.world and of_world.node or {C.node(c.handle)}
  if c.world then of_world.node = node end
  c.node_rank, c.node_size = node[1], node[2]
  if c.dims then c.coords = C.coords(c.handle, c.rank, #c.dims) end
  return C.object(meta, c)
end

-- Returns a communicator whose handles make(c) sets; nil if it does not set
-- them.  If that fails half-way, the handles are freed.
local function new(of, make)
  -- The fields exist, so that setting them needs no memory.
  local c = {handle = false, values = false, pieces = false, inner = false,
    library = of.library, most_tag = of.most_tag}
  local good, made = pcall(function()
    make(c)
    return c.handle and object(c) or nil
  end)
  if good then return made end
  free(c)
  error(made, 0)
end

-- world:split(color, key) -> communicator; nil if the color is nil
function methods.split(self, color, key)
  local c = open(self, "split")
  if color ~= nil then
    color = integer(color, 1, "split", "color")
    if color < 0 or color > MOST_BYTES then
      argument(1, "split", "color: %d is outside 0..2^31-1", color)
    end
  end
  key = key == nil and c.rank or integer(key, 2, "split", "key")
  if key < -MOST_BYTES or key > MOST_BYTES then
    argument(2, "split", "key: %d does not fit 32 bits", key)
  end
  meet(c, "split", true)
  return new(c, function(part)
    for i = 1, 3 do
      part[handles[i]] = C.split(c[handles[i]], color, key) or false
    end
  end)
end

local cart_keys = keys("periodic", "reorder")

-- world:cart(dims [, options]) -> communicator; nil on surplus ranks
function methods.cart(self, dims, options)
  local c = open(self, "cart")
  if type(dims) ~= "table" or #dims == 0 or #dims > 8 then
    argument(1, "cart", "dims: a table of 1 to 8 integers expected, got %s",
      type(dims) == "table" and format("one of %d", #dims) or describe(dims))
  end
  local copy, product = sizes_of(dims, 1, "cart", "dims")
  if product > c.size then
    argument(1, "cart", "dims: {%s} is more than the %d rank%s",
      concat(copy, ", "), c.size, c.size == 1 and "" or "s")
  end
  options = options == nil and {} or options
  check_keys(options, cart_keys, 2, "cart", "options")
  local given, periodic = options.periodic, {}
  if given ~= nil and type(given) ~= "boolean" and type(given) ~= "table" then
    argument(2, "cart", "periodic: a boolean or a table of them expected, " ..
      "got %s", describe(given))
  elseif type(given) == "table" and #given ~= #copy then
    argument(2, "cart", "periodic: %d boolean%s expected, one for each " ..
      "dimension, got %d", #copy, #copy == 1 and "" or "s", #given)
  end
  for i = 1, #copy do
    local p = given or false
    if type(given) == "table" then p = given[i] end
    if type(p) ~= "boolean" then
      argument(2, "cart", "periodic[%d]: boolean expected, got %s", i,
        describe(p))
    end
    periodic[i] = p
  end
  local reorder = options.reorder
  if reorder ~= nil and type(reorder) ~= "boolean" then
    argument(2, "cart", "reorder: boolean expected, got %s", describe(reorder))
  end
  meet(c, "cart")
  return new(c, function(cart)
    cart.handle = C.cart(c.handle, copy, periodic, reorder or false) or false
    if not cart.handle then return end
    cart.values = C.dup(cart.handle)
    cart.pieces = C.dup(cart.handle)
    cart.dims, cart.periodic = copy, periodic
  end)
end

-- cart:shift(dimension [, by]) -> source rank, destination rank; nil if absent
function methods.shift(self, dimension, by)
  local c = open(self, "shift")
  if not c.dims then fail("shift: a Cartesian communicator expected") end
  local d = integer(dimension, 1, "shift", "dimension")
  if d < 1 or d > #c.dims then
    argument(1, "shift", "dimension: %d is outside 1..%d", d, #c.dims)
  end
  by = by == nil and 1 or integer(by, 2, "shift", "by")
  local n = c.dims[d]                       -- equivalent, in 32 bits
  by = c.periodic[d] and by % n or math.max(-n, math.min(n, by))
  return C.shift(c.handle, d - 1, by)
end

-- world:device() -> the device of this node that this rank should use
function methods.device(self)
  local c = open(self, "device")
  local devices = lze.devices()
  if #devices == 0 then return lze.device() end -- raises the reason
  return devices[c.node_rank % #devices + 1]
end

-- --- halos -------------------------------------------------------------------

local halo_methods, halo_meta = {}, {}

local function open_halo(self, fname)
  local h = state_of(self, halo_meta)
  if not h then
    fail("calling '%s' on bad self (halo expected, got %s)", fname,
      describe(self))
  end
  local u, parts = h.u, h.parts             -- a hook may close it later
  if h.closed then fail("%s: the halo is closed", fname) end
  if h.failed then
    fail("%s: an exchange of the halo has failed, make another", fname)
  end
  return h, u, parts
end

-- Returns the box for copy_box between a part of u, from 0 and of these sizes,
-- and a buffer of exactly that part; `u` is "src" or "dst".
local function box_of(shape, first, size, u)
  local box = {size = {}, [u] = {}}
  for d = 1, 3 do
    local i = #shape + 1 - d                -- the last index is x
    box.size[d] = size[i] or 1
    box[u][d] = (first[i] or 0) + 1
  end
  box[u .. "_width"] = shape[#shape]
  box[u .. "_height"] = shape[#shape - 1] or 1
  return box
end

-- Returns the part sent to, and received from, the neighbour in a direction:
-- -1, 0 or 1 for each dimension of the grid.
local function halo_part(h, c, direction)
  local from, to, size, elements = {}, {}, {}, 1
  local coords = {}
  for i = 1, #h.shape do
    local n, w, step = h.shape[i], h.width, direction[i] or 0
    if i > #c.dims then
      from[i], to[i], size[i] = 0, 0, n      -- not divided
    elseif step == 0 then
      from[i], to[i], size[i] = w, w, n - 2 * w
    else
      size[i] = w
      from[i] = step < 0 and w or n - 2 * w
      to[i] = step < 0 and 0 or n - w
    end
    elements = elements * size[i]
  end
  for i = 1, #c.dims do
    local at = c.coords[i] + direction[i]
    if c.periodic[i] then at = at % c.dims[i] end
    if at < 0 or at >= c.dims[i] then return nil end
    coords[i] = at
  end
  -- Ranks and tags: data sent in one direction arrives from the opposite one.
  local tag, back = 0, 0                    -- below DIRECTIONS
  for i = 1, #c.dims do
    tag = tag * 3 + direction[i] + 1
    back = back * 3 - direction[i] + 1
  end
  local options = {zero = false, device = h.u.device, context = h.u.context,
    usage = h.u.usage == "device" and "device" or nil}
  local base = h.number * DIRECTIONS
  return {rank = C.rank(c.handle, coords), tag = base + tag, back = base + back,
    out = lze.buffer(h.u.type, elements, options),
    into = lze.buffer(h.u.type, elements, options),
    pack = box_of(h.shape, from, size, "src"),
    unpack = box_of(h.shape, to, size, "dst")}
end

local halo_keys = keys("width", "shape")

-- cart:halo(u [, options]) -> halo
function methods.halo(self, u, options)
  local c = open(self, "halo")
  if not c.dims then fail("halo: a Cartesian communicator expected") end
  local number = next_number(c)
  if #c.dims > 3 then
    fail("halo: a grid of 1 to 3 dimensions expected, got one of %d", #c.dims)
  end
  local memory, _, count = buffer(u, 1, "halo")
  options = options == nil and {} or options
  check_keys(options, halo_keys, 2, "halo", "options")
  local width = options.width
  width = width == nil and 1 or positive(width, 2, "halo", "width")
  local shape = options.shape
  if shape == nil and lzetype(u) == "array" then shape = u.shape end
  if type(shape) ~= "table" then
    argument(2, "halo", "shape: the sizes of the buffer's dimensions " ..
      "expected, got %s", describe(shape))
  end
  if #shape > 3 or #shape < #c.dims then
    argument(2, "halo", "shape: %s dimensions expected, got %d",
      #c.dims == 3 and "3" or #c.dims .. " to 3", #shape)
  end
  local sizes, product = sizes_of(shape, 2, "halo", "shape")
  if product ~= count then
    argument(2, "halo", "shape: {%s} is not %d elements",
      concat(sizes, ", "), count)
  end
  for i = 1, #c.dims do
    if sizes[i] // 3 < width then
      argument(2, "halo", "shape[%d]: %d has no room for borders of width " ..
        "%d on both sides and as much between", i, sizes[i], width)
    end
  end
  local h = {u = memory, shape = sizes, width = width, parts = {}, of = c,
    number = number % NUMBERS}
  inner(c, "halo")
  local direction = {}
  for code = 0, 3 ^ #c.dims - 1 do
    local rest, other = code, false
    for i = #c.dims, 1, -1 do
      direction[i] = rest % 3 // 1 - 1
      rest = rest // 3
      other = other or direction[i] ~= 0
    end
    h.parts[#h.parts + 1] = other and halo_part(h, c, direction) or nil
  end
  return C.object(halo_meta, h)
end

-- halo:start() -> halo: packs the elements next to the border and sends them;
-- until halo:wait(), u may be read and its border is unchanged.
function halo_methods.start(self)
  local h, u, parts = open_halo(self, "start")
  if h.started then fail("start: the halo has been started, wait first") end
  if h.of.closed then fail("start: the communicator is closed") end
  for _, part in ipairs(parts) do part.out:copy_box(u, part.pack) end
  h.arrived, h.sent, h.failed = {}, {}, true
  for i, part in ipairs(parts) do
    h.arrived[i] = post_message(h.of, RECV, false, h.of.inner, part.rank,
      part.back, part.into, true)
  end
  for i, part in ipairs(parts) do
    h.sent[i] = post_message(h.of, SEND, false, h.of.inner, part.rank,
      part.tag, part.out, true)
  end
  h.started = true
  h.failed = nil
  return self
end

-- halo:wait() -> halo: waits for the messages, and enqueues copies of them into
-- the border.
function halo_methods.wait(self)
  local h, u, parts = open_halo(self, "wait")
  if not h.started then fail("wait: the halo has not been started") end
  h.started, h.failed = nil, true
  for i = 1, #parts do h.sent[i]:wait() end -- raises the error of a failed one
  for i, part in ipairs(parts) do
    h.arrived[i]:wait()
    u:copy_box(part.into, part.unpack)
  end
  h.failed = nil
  return self
end

function halo_methods.close(self)
  local h = state_of(self, halo_meta)
  if not h then
    fail("calling 'close' on bad self (halo expected, got %s)", describe(self))
  end
  h.closed, h.parts, h.u = true, {}, nil
end

function halo_meta.__index(_, key)
  if halo_methods[key] then return halo_methods[key] end
  fail("halo: unknown field %s (known: close, start, wait)",
    type(key) == "string" and "'" .. key .. "'" or describe(key))
end

function halo_meta.__newindex(_, key)
  fail("halo: field %s cannot be set", tostring(key))
end

function halo_meta.__tostring(self)
  local h = state_of(self, halo_meta)
  if h.closed then return "halo (closed)" end
  return format("halo: {%s}, width %d, %d neighbour%s", concat(h.shape, ", "),
    h.width, #h.parts, #h.parts == 1 and "" or "s")
end

halo_meta.__close = halo_methods.close
halo_meta.__name = "halo"
halo_meta.__metatable = "an object of lze.mpi"

-- --- one range over all ranks ------------------------------------------------

local slice_meta = {__name = "slice", __metatable = "an object of lze.mpi"}
local MOST_ITEMS = (1 << 32) - 1

function slice_meta.__tostring(self)
  local s = state_of(self, slice_meta)
  return format("slice of %d: %s", s.size, tostring(s.x))
end

-- mpi.slice(x [, size [, width]]) -> an argument of world:parallel
local function slice(x, size, width)
  local b, _, count = buffer(x, 1, "slice")
  return C.object(slice_meta, {x = b, count = count,
    size = size == nil and 1 or positive(size, 2, "slice", "size"),
    width = width ~= nil and
      math.min(positive(width, 3, "slice", "width"), MOST_ITEMS) or nil})
end

local function range_of(n, fname)
  n = integer(n, 1, fname, "n")
  if n < 0 or n > MOST_ITEMS then
    argument(1, fname, "n: %d is outside 0..%d", n, MOST_ITEMS)
  end
  return n
end

-- world:part(n [, rank]) -> first, last
function methods.part(self, n, rank)
  local c = open(self, "part")
  n = range_of(n, "part")
  rank = rank == nil and c.rank or check_rank(c, rank, 2, "part", "rank")
  return part_of(n, rank, c.size)
end

-- Posts the messages that bring each rank what it needs of a slice: `width`
-- work-items on both sides of its part, or all.
local function spread(c, s, n, tag, events)
  local function needed(rank)
    local first, last = part_of(n, rank, c.size)
    if not s.width then return 1, n end
    if last < first then return 1, 0 end
    return math.max(1, first - s.width), math.min(n, last + s.width)
  end
  -- Posts the part that `to` needs from `from`.
  local function post(kind, from, to)
    local first, last = part_of(n, from, c.size)
    local low, high = needed(to)
    first, last = math.max(first, low), math.min(last, high)
    if first > last then return end
    local x = s.x:view((first - 1) * s.size + 1, last * s.size)
    events[#events + 1] = post_message(c, kind, false, c.inner,
      kind == SEND and to or from, tag, x, true)
  end
  for rank = 0, c.size - 1 do
    if rank ~= c.rank then post(RECV, rank, c.rank) end
  end
  for rank = 0, c.size - 1 do
    if rank ~= c.rank then post(SEND, c.rank, rank) end
  end
end

-- Calls f(...), a function of lze; its errors name world:parallel.
local function call(f, ...)
  local good, result = pcall(f, ...)
  if good then return result end
  if type(result) ~= "string" or not (result:find "^lze%.parallel: " or
      result:find "^kernel ") then
    error(result, 0)                        -- a hook's, too
  end
  fail("parallel: %s", (result:gsub("^lze%.parallel: ", "")
    :gsub(": use lze%.slice$", "")))
end

-- world:parallel(n, k, ...) -> what lze.parallel returns for this rank's part
function methods.parallel(self, n, k, ...)
  local c = open(self, "parallel")
  local number = next_number(c)
  n = range_of(n, "parallel")
  if lzetype(k) ~= "kernel" then
    argument(2, "parallel", "k: kernel expected, got %s", describe(k))
  end
  local arguments = {n = select("#", ...), ...}
  local slices, is_sliced = {}, {}
  local launch = {number, n}                  -- the same on all ranks
  for i = 1, arguments.n do
    local s = state_of(arguments[i], slice_meta)
    if s then
      buffer(s.x, i + 2, "parallel")        -- checks that it is open
      if n > s.count // s.size then
        argument(i + 2, "parallel", "%d work-items of %d elements each are " ..
          "more than the %d of the slice", n, s.size, s.count)
      end
      slices[#slices + 1] = s
      arguments[i] = s.x
      is_sliced[i] = true
      launch[#launch + 1] = format("%d %s %d %d", i, s.x.type, s.size,
        s.width or 0)
    end
  end
  if #slices == 0 then
    fail("parallel: none of the arguments is a slice, so what the kernel " ..
      "computes would stay on its rank")
  end
  local known = call(k.variant, k, n,
    table.unpack(arguments, 1, arguments.n)).args
  for i = 1, arguments.n do
    if not is_sliced[i] and is_buffer[lzetype(arguments[i])] and known[i] and
        known[i].access ~= "read" then
      argument(i + 2, "parallel", "the kernel writes to it: mpi.slice says " ..
        "which elements belong to which work-item")
    end
  end
  local first, last = part_of(n, c.rank, c.size)
  inner(c, "parallel")                      -- all ranks have one from here on
  local function launch_on_device(count, offset)
    return call(lze.parallel, {slices[1].x.device}, {count, offset = offset}, k,
      table.unpack(arguments, 1, arguments.n))
  end
  -- Kernels that cannot run a part of a range are refused if the offset is not
  -- 0.  Ranks with offset 0 try offset 1, so that all ranks raise the error.
  if c.size > 1 and first == 1 then launch_on_device(0, 1) end
  local parts = launch_on_device(last - first + 1, first - 1)
  local events, tag = {}, tag_of(c, concat(launch, ","))
  for _, s in ipairs(slices) do spread(c, s, n, tag, events) end
  wait_for(events, "parallel")
  return last >= first and parts or {}
end

-- --- the end of communicators ------------------------------------------------

function methods.close(self)
  local c = state_of(self, meta)
  if not c then
    fail("calling 'close' on bad self (communicator expected, got %s)",
      describe(self))
  end
  if c.closed then return end
  c.closed = true
  if not c.world then
    local why = free(c)
    if why then error(why, 0) end
  end
end

-- --- objects -----------------------------------------------------------------

local shown = {"rank", "size", "node_rank", "node_size", "library"}
for _, name in ipairs(shown) do fields[name] = true end
local cart_fields = {dims = true, coords = true, periodic = true}

local function copied(v)
  if type(v) ~= "table" then return v end
  local t = {}
  for i, item in ipairs(v) do t[i] = item end
  return t
end

function meta.__index(self, key)
  local method = methods[key]
  if method then return method end
  local c = state_of(self, meta)
  if fields[key] then return c[key] end
  if cart_fields[key] and c.dims then return copied(c[key]) end
  local known = {}
  for name in pairs(methods) do known[#known + 1] = name end
  for name in pairs(fields) do known[#known + 1] = name end
  if c.dims then
    for name in pairs(cart_fields) do known[#known + 1] = name end
  end
  table.sort(known)
  fail("communicator: unknown field %s (known: %s)",
    type(key) == "string" and "'" .. key .. "'" or describe(key),
    concat(known, ", "))
end

function meta.__newindex(_, key)
  fail("communicator: field %s cannot be set", tostring(key))
end

function meta.__tostring(self)
  local c = state_of(self, meta)
  if c.closed then return "communicator (closed)" end
  local what = format("communicator: rank %d of %d", c.rank, c.size)
  if c.dims then
    what = format("%s, at {%s} of {%s}", what, concat(c.coords, ", "),
      concat(c.dims, ", "))
  end
  return what
end

meta.__close = methods.close
meta.__name = "communicator"
meta.__metatable = "an object of lze.mpi"

local mpi, world = {slice = slice, status = status}, nil

-- mpi.world() -> the communicator of all ranks, the same each time
function mpi.world()
  if world and not state_of(world, meta).closed then return world end
  -- If MPI opened the loader first, it would lack lze's settings.
  pcall(lze.devices)
  local library, handle, values, pieces, most_tag = C.open()
  if not C.thread() then
    fail("world: MPI was begun on another thread, and for one thread only")
  end
  world = object {handle = handle, values = values, pieces = pieces,
    inner = false, world = true, library = library, most_tag = most_tag}
  return world
end

return mpi
