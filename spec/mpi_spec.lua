-- mpi_spec.lua - lze.mpi: one rank in this process, several under launchers.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local mpi = require "lze.mpi"
local json = require "bench.lib.json"
local interrupted = require "spec.support.interrupted"
local process = require "spec.support.process"

-- Allows many processes on few cores.
local LIGHT = "export OMPI_MCA_rmaps_base_oversubscribe=1 " ..
  "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe " ..
  "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " ..
  "PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 " ..
  "POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1\n"

local launchers = {}
for _, name in ipairs {"mpirun.mpich", "mpirun.openmpi"} do
  if os.execute("command -v " .. name .. " >/dev/null 2>&1") then
    launchers[#launchers + 1] = name
  end
end

-- Returns the output of a command, both streams, and its exit status.
local function shell(command)
  local pipe = assert(io.popen("exec 2>&1\n" .. LIGHT .. command))
  local output = pipe:read "a"
  local _, how, code = pipe:close()
  return output, how, code
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("lze.mpi without a launcher", function()
  local world = mpi.world()

  it("is one rank", function()
    assert.equal(0, world.rank)
    assert.equal(1, world.size)
    assert.equal(0, world.node_rank)
    assert.equal(1, world.node_size)
    assert.equal("none: one rank", world.library)
    assert.equal("communicator: rank 0 of 1", tostring(world))
    assert.equal(lze.devices()[1], world:device())
    assert.equal(world, mpi.world())
  end)

  it("keeps a message apart from thousands of later messages", function()
    local function bytes(value) return lze.buffer("uchar", 13):fill(value) end
    local first, other, to = bytes(1), bytes(2), bytes(0)
    world:send(first, 0, {tag = 1})
    for i = 1, 33000 do
      world:send(other, 0, {tag = 2})
      world:recv(to, 0, {tag = 2})
      assert(to[1] == 2, i)
    end
    world:recv(to, 0, {tag = 1})
    assert.equal(1, to[13])
  end)

  it("passes the test program of several ranks", function()
    local output, how, code = shell(process.runner ..
      " spec/support/mpi_program.lua 1")
    assert.equal("rank 0 of 1 is right\n", output)
    assert.equal("exit 0", how .. " " .. code)
  end)

  it("returns an event or nothing, usable as a last argument", function()
    local x, y = lze.buffer("int", {1, 2, 3}), lze.buffer("int", 3)
    local events = {}
    table.insert(events, world:isend(x, 0))
    table.insert(events, world:irecv(y, 0))
    table.insert(events, world:isend("value", 0))
    assert.equal(0, select("#", world:send(x, 0)))
    assert.equal(0, select("#", world:send("other", 0)))
    assert.equal(3, select("#", world:recv(y, 0)))
    assert.equal(3, select("#", world:recv(nil, 0)))
    assert.equal("other", (world:recv(nil, 0)))
    for _, event in ipairs(events) do assert.is_true(event:wait()) end
  end)

  it("returns the status of an irecv once it is over", function()
    local x, y = lze.buffer("short", {1, 2, 3}), lze.buffer("short", 5)
    local ev = world:irecv(y)
    assert.is_nil(mpi.status(ev))
    world:send(x, 0, {tag = 7, first = 2})
    assert.is_true(ev:wait())
    assert.same({0, 7, 2}, {mpi.status(ev)})
    assert.same({0, 7, 2}, {mpi.status(ev)})
    ev = world:irecv(lze.buffer("short", 1))
    world:send(x, 0)
    assert.is_false(pcall(ev.wait, ev))
    assert.is_nil(mpi.status(ev))
    ev = world:irecv(lze.buffer("int", 2))
    world:send(x, 0)
    assert.is_true(ev:wait())
    assert.error_matches(function() mpi.status(ev) end, "status: 6 bytes " ..
      "came from rank 0, not a number of elements of 4 bytes$")
    for _, v in ipairs {world:isend(x, 0), y, 3} do
      assert.error_matches(function() mpi.status(v) end, "bad argument #1 " ..
        "to 'status' %(the event of a world:irecv expected, got ")
    end
    world:recv(y, 0)
    assert.error_matches(function() mpi.status(nil) end, "got nil")
    -- An event holds no communicator.
    local part <close> = world:split(0)
    ev = part:irecv(y)
    part:send(x, 0)
    part:close()
    ev:wait()
    assert.same({0, 0, 3}, {mpi.status(ev)})
  end)

  it("returns no status of an irecv in a finalizer", function()
    assert.equal("0 0 1\nnil\n0 0 1\nover\nnil\n", process.output([[
      local lze, mpi = require "lze", require "lze.mpi"
      local world, y = mpi.world(), lze.buffer("int", 1)
      local function make()
        local t = setmetatable({}, {__gc = function(t)
          print(mpi.status(t.event))
        end})
        t.event = world:irecv(y, 0)
        world:send(lze.buffer("int", 1), 0)
        t.event:wait()
        print(table.concat({mpi.status(t.event)}, " "))
        return t
      end
      make()
      collectgarbage()
      kept = make()                              -- until the state is closed
      print "over"]]))
  end)

  it("reports a failed message, either immediately or later", function()
    local x, y = lze.buffer("int", {1, 2, 3}), lze.buffer("int", 2)
    local where = debug.getinfo(1, "S").short_src .. ":%d+: "
    local said = "MPI_ERR_TRUNCATE: the message from rank 0, tag 0 is " ..
      "longer than the buffer of 8 bytes$"
    world:isend(x, 0)
    local _, err = pcall(function() world:recv(y, 0) end)
    assert.matches("^" .. where .. "recv: MPI_Recv: " .. said, tostring(err))
    local got = world:irecv(y, 0)
    world:send(x, 0)
    _, err = pcall(function() got:wait() end)
    assert.matches("^" .. where .. "irecv: MPI_Irecv: " .. said, tostring(err))
  end)

  it("refuses invalid counts", function()
    local x, y = lze.buffer("int", 3), lze.buffer("int", 5)
    local a = lze.array("int", {{1, 2}})
    local function raises(message, name, ...)
      local ok, err = pcall(world[name], world, ...)
      assert.is_false(ok)
      assert.equal(message, (tostring(err):gsub("^.-:%d+: ", "")))
    end
    raises("bad argument #3 to 'allgather' (counts: table expected, got " ..
      "integer 3)", "allgather", x, y, {counts = 3})
    raises("bad argument #4 to 'gather' (counts: 1 number expected, one for " ..
      "each rank, got 2)", "gather", x, y, 0, {counts = {3, 1}})
    raises("bad argument #4 to 'iscatter' (counts[1]: integer expected, got " ..
      "string 'a')", "iscatter", x, y, 0, {counts = {"a"}})
    raises("bad argument #4 to 'scatter' (counts[1]: -1 is negative)",
      "scatter", x, y, 0, {counts = {-1}})
    raises("bad argument #3 to 'iallgather' (counts: more than 2147483647 " ..
      "elements in all; exchange them in several calls)", "iallgather", x, y,
      {counts = {math.maxinteger}})
    raises("bad argument #1 to 'gather' (a buffer of 2 elements expected " ..
      "for rank 0 by counts, got one of 3)", "gather", x, y, 0, {counts = {2}})
    raises("bad argument #2 to 'scatter' (a buffer of 3 elements expected " ..
      "for rank 0 by counts, got one of 5)", "scatter", x, y, 0,
      {counts = {3}})
    raises("bad argument #2 to 'gather' (a buffer of 5 elements or more " ..
      "expected by counts, got one of 3)", "gather", y, x, 0, {counts = {5}})
    raises("bad argument #1 to 'alltoall' (a buffer of 4 elements or more " ..
      "expected by counts, got one of 3)", "alltoall", x, y,
      {counts = {4}, received = {4}})
    raises("bad argument #2 to 'ialltoall' (a buffer of 4 elements or more " ..
      "expected by received, got one of 3)", "ialltoall", y, x,
      {counts = {4}, received = {4}})
    raises("bad argument #3 to 'alltoall' (received: table expected, got " ..
      "nil)", "alltoall", x, y, {counts = {3}})
    raises("bad argument #3 to 'alltoall' (received[1]: rank 0 sends itself " ..
      "3 elements, as counts[1] says, got 2)", "alltoall", x, y,
      {counts = {3}, received = {2}})
    raises("bad argument #2 to 'allgather' (buffer of int expected, got " ..
      "buffer of float)", "allgather", x, lze.buffer("float", 3),
      {counts = {3}})
    raises("bad argument #2 to 'allgather' (it overlaps the other buffer, " ..
      "and not as rank 0's own block)", "allgather", y:view(2, 4), y,
      {counts = {3}})
    raises("bad argument #4 to 'gather' (options: unknown key 'received' " ..
      "(known: counts, rows))", "gather", x, y, 0, {received = {3}})
    raises("bad argument #3 to 'allgather' (rows: they are those of arrays, " ..
      "got buffer)", "allgather", x, y, {rows = 3})
    raises("bad argument #3 to 'allgather' (rows: not with counts)",
      "allgather", a, a, {rows = 1, counts = {2}})
    raises("bad argument #3 to 'allgather' (rows: -1 is outside " ..
      "0..2147483647)", "allgather", a, a, {rows = -1})
    local two = lze.array("int", {{1, 2}, {3, 4}})
    raises("bad argument #1 to 'allgather' (an array of 2 rows expected for " ..
      "rank 0 by rows, got one of {1, 2})", "allgather", a, two, {rows = 2})
    raises("bad argument #2 to 'scatter' (an array of 1 row expected for " ..
      "rank 0 by rows, got one of {})", "scatter", a,
      lze.array.zeros({}, {type = "int"}), 0, {rows = 1})
    -- The number of elements does not matter: the lengths of rows differ.
    local wide, narrow = lze.array.zeros({4, 3}, {type = "int"}),
      lze.array.zeros({2, 2}, {type = "int"})
    raises("bad argument #2 to 'igather' (an array expected whose rows are " ..
      "like those of the part of {2, 2}, got one of {4, 3})", "igather", narrow,
      wide, 0, {rows = 2})
    raises("bad argument #1 to 'scatter' (an array expected whose rows are " ..
      "like those of the part of {2, 2}, got one of {4})", "scatter",
      lze.array("int", {1, 2, 3, 4}), narrow, 0, {rows = 2})
  end)

  it("refuses an invalid launch over all ranks", function()
    local x = lze.buffer("int", 4)
    local k = lze.kernel(function(i, x) x[i] = i end)
    local gone = lze.kernel(function(i, x) x[i] = i end)
    local s = mpi.slice(x)
    local file = debug.getinfo(1, "S").short_src
    local function raises(message, ...)
      local line = debug.getinfo(1, "l").currentline + 1
      local ok, err = pcall(function(...) world:parallel(...) end, ...)
      assert.is_false(ok)
      assert.equal(("%s:%d: %s"):format(file, line, message), tostring(err))
    end
    gone:close()
    raises("parallel: " .. tostring(gone):match "^kernel [%w_]+" ..
      " is closed", 4, gone, s)
    raises("parallel: " .. tostring(k):match "^kernel [%w_]+" .. ": a range " ..
      "of 1 dimension and 3 arguments, but the function has 2 parameters " ..
      "(i, x): 4 (indices first) or 3 (no indices) expected", 4, k, s, 1, 2)
    x:close()
    raises("bad argument #3 to 'parallel' (the buffer is closed)", 4, k, s)
  end)

  it("lets a debug hook end a wait, after which the work goes on", function()
    local x, y = lze.buffer("int", {1, 2, 3}), lze.buffer("int", 3)
    interrupted(nil, world.recv, world, y, 0)
    assert.is_true(y:pending())
    world:send(x, 0)
    assert.same({1, 2, 3}, y:read())
    interrupted(nil, world.recv, world, nil, 0) -- it takes the next value
    world:send("lost", 0)
    local ev = world:isend("kept", 0)
    assert.equal("kept", (world:recv(nil, 0)))
    assert.is_true(ev:wait())
    interrupted(function()                 -- the value has arrived, and is lost
      ev = world:isend("lost", 0)
      assert.is_true(ev:wait())
    end, world.recv, world, nil, 0)
    world:isend("kept", 0)
    assert.equal("kept", (world:recv(nil, 0)))
  end)

  it("keeps the memory of messages even if the script drops it", function()
    local y = lze.buffer("int", 4)
    do
      local x = lze.buffer("int", {4, 3, 2, 1})
      world:irecv(y, 0)
      world:isend(x, 0):close()
      x:close()
    end
    collectgarbage()
    collectgarbage()
    assert.same({4, 3, 2, 1}, y:read())
    local z = lze.buffer("int", 1)
    local ev = world:irecv(z, 0)
    z:close()
    collectgarbage()
    world:send(lze.buffer("int", {5}), 0)
    assert.is_true(ev:wait())
  end)

  it("reports to poll loops that its events need calls of lze", function()
    local y = lze.buffer("int", 1)
    local ev = world:irecv(y, 0)
    assert.error_matches(function() ev:fd() end, "goes on in calls of lze only")
    world:send(lze.buffer("int", {5}), 0)
    assert.is_true(ev:wait())
  end)

  it("shows one row for each message in profiles", function()
    local x, y = lze.buffer("int", 100), lze.buffer("int", 200)
    local p <close> = lze.profile()
    local line = debug.getinfo(1, "l").currentline + 1
    local got = world:irecv(y, nil)                   -- tag not known yet
    local late = world:irecv(lze.buffer("int", 100), 0, {tag = 9})
    local k = tostring(p)                             -- while both are pending
    world:send(x, 0, {tag = 7, last = 60})
    got:wait()
    world:isend(x, 0, {tag = 9}):wait()
    late:wait()
    world:send({1}, 0)
    world:recv(nil, 0)
    world:bcast(x, 0)
    world:barrier()
    p:stop()
    assert.matches(" 3 events, 2 not over\n", k)
    local said, lines = {}, {}
    for _, e in ipairs(p.events) do
      if e.kind == "message" then
        said[#said + 1] = e.name .. ": " .. (e.bytes or 0)
        lines[#lines + 1] = tonumber(e.where:match ":(%d+)$") - line
        assert.is_true(e.queued_ns <= e.start_ns and e.start_ns <= e.end_ns)
        assert.is_nil(e.failed)
      end
    end
    assert.same({"irecv from rank 0, tag 7: 240",
      "irecv from rank 0, tag 9: 400", "send to rank 0, tag 7: 240",
      "isend to rank 0, tag 9: 400", "send to rank 0, tag 0: 35",
      "recv from rank 0, tag 0: 35", "bcast, root 0: 400", "barrier: 0"}, said)
    assert.same({0, 1, 3, 5, 7, 8, 9, 10}, lines)
    process.with_directory(function(dir)
      for ending, pattern in pairs {txt = "messages\n.-barrier",
          csv = "\nmessage,\"irecv from rank 0, tag 7\"",
          html = '"name":"messages 2"', json = '"messages 2"'} do
        p:save(dir .. "/p." .. ending)
        local file <close> = io.open(dir .. "/p." .. ending)
        assert.matches(pattern, file:read "a")
      end
    end)
    -- Receives that overlap have separate rows; a failed one is marked.
    local q <close> = lze.profile()
    assert.is_false(pcall(world.recv, world, lze.buffer("int", 1), 0,
      {tag = world:isend(x, 0, {tag = 3}) and 3}))
    q:stop()
    for _, e in ipairs(q.events) do
      if e.kind == "message" then
        assert.equal(e.name:find "^recv" ~= nil, e.failed == true)
      end
    end
  end)

  it("lets no receive wait for another, in any kind of memory", function()
    assert.equal("1 2\t1 2\t3 4\n1 2\t1 2\t3 4\n1 2\t1 2\t3 4\n",
      process.output [[
        local lze, world = require "lze", require "lze.mpi".world()
        local function buffer(usage, t)
          return lze.buffer("int", t, {usage = usage})
        end
        local function text(x) return table.concat(x:read(), " ") end
        for _, usage in ipairs {"shared", "host", "device"} do
          local a, b, c = buffer(usage, 2), buffer(usage, 2), buffer(usage, 2)
          local x, y = buffer(usage, {1, 2}), buffer(usage, {3, 4})
          world:irecv(a, 0, {tag = 1})
          world:irecv(b, 0, {tag = 2})
          world:send(x, 0, {tag = 2})
          local later = text(b)               -- a has not come
          world:iallgather(y, c)
          local gathered = text(c)
          world:send(x, 0, {tag = 1})
          print(text(a), later, gathered)
        end]])
  end)

  it("reports a message for a device that the driver failed to copy", function()
    process.with_directory(function(dir)
      local build = os.getenv "LZE_TEST_BUILD" or "build"
      process.write(dir .. "/rules", "")
      assert.equal("true\t2\n" ..
        "false\tzeCommandListAppendMemoryCopy\tERROR_UNKNOWN\t" ..
        "memory of a device was not copied: ERROR_UNKNOWN\n" ..
        "false\tzeCommandListAppendMemoryCopy\tERROR_OUT_OF_DEVICE_MEMORY\n" ..
        "0\t0\t2\n2\n", process.output([[
          local lze, world = require "lze", require "lze.mpi".world()
          local function fail(code)
            local file <close> = io.open(os.getenv "ZE_FAULT_CONTROL", "w")
            file:write("fail zeCommandListAppendMemoryCopy 1 ", code)
          end
          local x = lze.buffer("int", {1, 2})
          local y = lze.buffer("int", 2, {usage = "device"})
          local z = lze.buffer("int", 2, {usage = "device"})
          local a = world:irecv(y, 0, {tag = 1})
          local b = world:irecv(z, 0, {tag = 2})
          fail "0x7ffffffe"
          world:send(x, 0, {tag = 1})
          world:send(x, 0, {tag = 2})
          print(b:wait(), z:read()[2])
          local ok, err = pcall(a.wait, a)
          print(ok, err.call, err.code, err.message)
          world:isend(x, 0, {tag = 3})
          fail "0x70000003"
          ok, err = pcall(world.recv, world, y, 0, {tag = 3})
          print(ok, err.call, err.code)
          world:isend(x, 0)
          print(world:recv(y, 0))
          print(y:read()[2])]], {env = {
            ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
            ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
            ZE_FAULT_CONTROL = dir .. "/rules",
            ZE_FAULT_REPORT = dir .. "/report",
            ZE_ENABLE_VALIDATION_LAYER = false}}))
    end)
  end)

  it("uses little host memory for messages of a device", function()
    assert.equal("true\t0\nallreduce\t33554432\t1\ntrue\t0\t3\nfalse\t0\n",
      process.output [[
      local lze, world = require "lze", require "lze.mpi".world()
      collectgarbage "stop"
      local x = lze.buffer("int", 1 << 23, {usage = "device"}):fill(3)
      local y = lze.buffer("int", 1 << 20, {usage = "device"})
      local before = lze.stats().peak_bytes
      local p = lze.profile()
      world:allreduce(x, "sum")
      p:stop()
      world:bcast(x, 0)
      lze.wait()
      local s = lze.stats()
      print(s.peak_bytes - before <= 9 << 20, s.host_bytes >> 20)
      local first, count = nil, 0
      for _, e in ipairs(p.events) do
        if e.kind == "message" then first, count = first or e, count + 1 end
      end
      print(first.name, first.bytes, count)
      local z = lze.buffer("int", #x, {usage = "device"})
      before = lze.stats().peak_bytes
      world:irecv(z, 0)
      world:send(x, 0)                        -- 8 MiB on each side
      lze.wait()
      s = lze.stats()
      print(s.peak_bytes - before <= 17 << 20, s.host_bytes >> 20,
        z:read(#z)[1])
      for i = 1, 20 do
        world:isend(x, 0, {last = #y})
        world:irecv(y, 0)
        world:isend(y, 0)
        world:recv(y, 0)
        world:iallreduce(y, "max")
        lze.wait()
      end
      print(y:pending(), lze.stats().host_bytes >> 20)]])
  end)

  it("accepts device memory of a user's own context", function()
    local context <close> = lze.context(lze.device())
    local options = {usage = "device", context = context}
    local x, y = lze.buffer("int", {1, 2, 3}, options),
      lze.buffer("int", 3, options)
    world:isend(x, 0)
    world:recv(y, 0)
    assert.same({1, 2, 3}, y:read())
    world:allgather(x:fill(4), y)
    assert.same({4, 4, 4}, y:read())
    world:allreduce(x:fill(5), "sum")
    assert.same({5, 5, 5}, x:read())
    world:iallreduce(x:fill(6), "sum"):wait()
    assert.same({6, 6, 6}, x:read())
    local long = lze.buffer("int", (1 << 20) + 1, options):fill(7)
    local got = lze.buffer("int", #long, options)
    world:irecv(got, 0)
    world:send(long, 0)
    assert.equal(7, got:read(-1)[1])
  end)

  it("is closed like other objects", function()
    do
      local w <close> = world
      assert.equal(world, w)
    end
    assert.equal("communicator (closed)", tostring(world))
    assert.error_matches(function() world:barrier() end,
      "barrier: the communicator is closed")
    world = mpi.world()
    world:barrier()
  end)

  it("does not start a halo with a closed buffer", function()
    local cart <close> = world:cart({1}, {periodic = true})
    local u = lze.buffer("int", {0, 5, 0})
    local halo = cart:halo(u, {shape = {3}})
    halo:start():wait()
    assert.same({5, 5, 5}, u:read())
    u:close()
    local before = lze.stats().in_flight
    for _ = 1, 2 do
      assert.error_matches(function() halo:start() end, "the buffer is closed")
      assert.error_matches(function() halo:wait() end,
        "wait: the halo has not been started")
    end
    assert.equal(before, lze.stats().in_flight)
  end)

  it("refuses a halo after an exchange has failed", function()
    local cart <close> = world:cart({1}, {periodic = true})
    local u = lze.buffer("int", 3)
    local halo = cart:halo(u, {shape = {3}}):start()
    u:close()
    assert.error_matches(function() halo:wait() end, "closed")
    for _, name in ipairs {"start", "wait"} do
      assert.error_matches(function() halo[name](halo) end,
        name .. ": an exchange of the halo has failed, make another")
    end
  end)

  it("exchanges the right borders after a hook has ended halo:start", function()
    assert.equal("true\ttrue\ttrue\n", process.output([[
      local lze, world = require "lze", require "lze.mpi".world()
      local cart = world:cart({1}, {periodic = true})
      local function exchange(halo, u, v)
        u:write {0, v, 0}
        halo:start():wait()
        assert(u[1] == v and u[3] == v)
      end
      local function try(n)
        local u = lze.buffer("int", {0, 1, 0})
        local halo, ended = cart:halo(u, {shape = {3}}), false
        local ok, err = pcall(function()
          debug.sethook(function()
            debug.sethook()
            ended = true
            error("ended", 0)
          end, "", n)
          halo:start()
          debug.sethook()
        end)
        if not ended then return "over" end
        assert(not ok and err == "ended", err)
        ok, err = pcall(function()
          exchange(halo, u, 2)
          exchange(halo, u, 3)
        end)
        if ok then return "as before" end
        local other = lze.buffer("int", 3)
        exchange(cart:halo(other, {shape = {3}}), other, 4)
        return tostring(err):match(": start: (.*)$")
      end
      local n, seen = 0, {}
      repeat
        n = n + 1
        local became = try(n)
        seen[became] = true
      until became == "over"
      print(n > 20, seen["as before"],
        seen["an exchange of the halo has failed, make another"])]],
      {env = {LZE_MPI_TIMEOUT = "1"}}))
  end)

  it("passes on the error of a hook while ranks meet", function()
    assert.equal("true\n", process.output [[
      local world = require "lze.mpi".world()
      local given_up = false
      for n = 1, 200 do
        local part <close> = world:split(0)
        local raised = {}
        local ok, err = pcall(function()
          debug.sethook(function() debug.sethook() error(raised) end, "", n)
          part:cart {1}
          debug.sethook()
        end)
        assert(ok or err == raised, err)
        ok, err = pcall(part.cart, part, {1})
        assert(ok or err.code == "GIVEN_UP" and
          tostring(err):find "cart: MPI_Barrier: GIVEN_UP", err)
        given_up = given_up or not ok
      end
      print(given_up)]])
  end)

  it("accepts that a hook closes it in the middle of a halo", function()
    local sethook, pcall = debug.sethook, pcall -- busted looks up globals
    local function try(n, name)
      local cart = world:cart({1}, {periodic = true})
      local u = lze.buffer("int", {0, 5, 0})
      local halo = cart:halo(u, {shape = {3}})
      local calls, armed = 0, true
      sethook(function()
        calls = calls + 1
        if armed and calls == n then
          armed = false
          if name == "cart" then cart:close() else halo:close() end
        end
      end, "", 5)
      local ok, err = pcall(function()
        halo:start()
        halo:wait()
        armed = false
      end)
      sethook()
      if ok then
        assert.same({5, 5, 5}, u:read())
      else
        assert.matches(": %l+: the %l+ is closed$", err)
      end
      cart:close()
      return calls >= n
    end
    for _, name in ipairs {"cart", "halo"} do
      local n = 0
      repeat n = n + 1 until not try(n, name)
      assert.is_true(n > 20)
    end
  end)

  it("refuses an invalid grid", function()
    local u = lze.buffer("int", 9)
    local line <close> = world:cart {1}
    local many <close> = world:cart({1, 1, 1, 1}, {periodic = true})
    local function raises(message, f, ...)
      local ok, err = pcall(f, ...)
      assert.is_false(ok)
      assert.equal(message, (tostring(err):gsub("^.-:%d+: ", "")))
    end
    local function cart(message, ...)
      raises("bad argument " .. message, world.cart, world, ...)
    end
    cart("#1 to 'cart' (dims[2]: integer expected, got nil)", {1, nil, 1})
    cart("#1 to 'cart' (dims[2]: integer expected, got table)", {2, {}})
    cart("#1 to 'cart' (dims[1]: 0 is not positive)", {0, 2})
    cart("#1 to 'cart' (dims: {2, 1} is more than the 1 rank)", {2, 1.0})
    cart("#2 to 'cart' (periodic: 1 boolean expected, one for each " ..
      "dimension, got 2)", {1}, {periodic = {true, false}})
    cart("#2 to 'cart' (periodic: 2 booleans expected, one for each " ..
      "dimension, got 1)", {1, 1}, {periodic = {true}})
    cart("#2 to 'cart' (periodic[1]: boolean expected, got nil)", {1, 1},
      {periodic = {nil, true}})
    local function halo(message, options)
      raises("bad argument #2 to 'halo' (shape" .. message .. ")", line.halo,
        line, u, options)
    end
    halo("[2]: -1 is not positive", {shape = {9, -1, -1}})
    halo("[2]: integer expected, got nil", {shape = {9, nil, 1}})
    halo(": 1 to 3 dimensions expected, got 0", {shape = {}})
    halo("[1]: 9 has no room for borders of width 4 on both sides and as " ..
      "much between", {shape = {9}, width = 4})
    raises("halo: a grid of 1 to 3 dimensions expected, got one of 4",
      many.halo, many, u, {shape = {9}})
  end)

  it("reports invalid values of its variables", function()
    local script = [[
      local ok, err = pcall(require "lze.mpi".world)
      print(ok, type(err), err.call, err.code, err.message)]]
    assert.matches("^false\ttable\tdlopen\tLIBRARY_NOT_FOUND\tLZE_MPI: " ..
      "/proc/none/libmpi.so", process.output(script,
        {env = {LZE_MPI = "/proc/none/libmpi.so"}}))
    assert.matches("LZE_MPI_TIMEOUT: a number of seconds expected, got: soon",
      process.output(script, {env = {LZE_MPI_TIMEOUT = "soon"}}))
    assert.equal("false\ttable\tlze.mpi\tWRONG_VARIABLE\tLZE_MPI_GPU: 0 or " ..
      "1 expected, got: yes\n",
      process.output(script, {env = {LZE_MPI_GPU = "yes"}}))
  end)

  it("says what to install if the launcher's library is missing", function()
    process.with_directory(function(dir)
      for _, name in ipairs {"libmpi.so", "libmpi.so.12", "libmpi.so.40",
          "libmpi_abi.so.0", "libmpich.so.12"} do
        process.write(dir .. "/" .. name, "not a library")
      end
      local path = os.getenv "LD_LIBRARY_PATH"
      for variable, package in pairs {OMPI_COMM_WORLD_RANK = "libopenmpi3",
          PMI_RANK = "libmpich12", PMIX_RANK = "libopenmpi3"} do
        local said = process.output([[
          local ok, err = pcall(require "lze.mpi".world)
          print(ok, type(err), err.call, err.code, err.message)]], {env = {
            [variable] = "0", LZE_MPI = false,
            LD_LIBRARY_PATH = dir .. (path and ":" .. path or "")}})
        assert.matches("^false\ttable\tdlopen\tLIBRARY_NOT_FOUND\ta " ..
          "launcher of [^\n]* install it, on Debian " .. package ..
          "[^\n]*, or name one with LZE_MPI: " .. dir:gsub("%p", "%%%0"),
          said)
      end
    end)
  end)

  it("reports the effect of LZE_MPI_GPU once", function()
    local said = process.output([[
      local lze, world = require "lze", require "lze.mpi".world()
      local x = lze.buffer("int", {1, 2}, {usage = "device"})
      print(world:bcast(x, 0):read()[2])
      collectgarbage()
      world:bcast(x, 0)]], {env = {LZE_MPI_GPU = "1", LZE_LOG = "notes",
        ZOCL_DEVICE_MEMORY_PRIVATE = "1"}})
    assert.matches("^lze: note: LZE_MPI_GPU=1: memory of [^\n]* goes " ..
      "through the host's all the same: there is one rank, without a " ..
      "library of MPI\n2\n$", said)
  end)

  it("ends a wait after LZE_MPI_TIMEOUT, and names what it waits for",
    function()
    local late = "recv from rank 0, tag 7: rank 0 of 1 has waited for " ..
      "0.05 s (LZE_MPI_TIMEOUT)\n"
    assert.equal("false\ttable\tMPI_Recv\tTIMEOUT\t" .. late .. "1\n" ..
      "recv: MPI_Recv: TIMEOUT: " .. late, process.output([[
        local lze, world = require "lze", require "lze.mpi".world()
        local x = lze.buffer("int", {1})
        local ok, err = pcall(world.recv, world, x, 0, {tag = 7})
        print(ok, type(err), err.call, err.code, err.message)
        print(x[1])
        ok, err = pcall(world.recv, world, nil, 0, {tag = 7})
        print((tostring(err):gsub("^.-: ", "")))]],
        {env = {LZE_MPI_TIMEOUT = "0.05"}}))
  end)

  it("ends only the awaited message after LZE_MPI_TIMEOUT", function()
    assert.equal("recv 2\nrecv 3\ndone\trecv 4\nrecv 7\trecv 5\n" ..
      "recv 8\nrecv 9\ndone\n5\t6\n", process.output([[
        local lze, world = require "lze", require "lze.mpi".world()
        local function int(n) return lze.buffer("int", {n}) end
        local function irecv(y, tag) return world:irecv(y, 0, {tag = tag}) end
        local function try(f, ...)
          local ok, err = pcall(f, ...)
          if ok then return "done" end
          return (err.message:gsub(
            "^(recv) from rank 0, tag (%d): rank 0 of 1 has .*$", "%1 %2"))
        end
        local a, b, c, d, e, y = int(0), int(0), int(0), int(0), int(0), int(0)
        local idle, poll = irecv(a, 1), irecv(b, 6)
        print(try(world.recv, world, y, 0, {tag = 2}))
        print(try(world.recv, world, nil, 0, {tag = 3}))
        -- What comes after a message waits for it.
        local k = lze.kernel(function(i, x, y) y[i] = x[i] end)
        local got = irecv(c, 4)
        local after = k:launch(1, c, y)
        print(try(after.wait, after), try(got.wait, got))
        -- And so does what begins later, in the order of the calls.
        got = irecv(d, 5)
        world:isend(d, 0, {tag = 5})
        print(try(world.recv, world, y, 0, {tag = 7}), try(got.wait, got))
        got = irecv(e, 8)
        local co = coroutine.wrap(function() return got:await() end)
        print(try(function() repeat until co() == true end))
        irecv(e, 9)
        idle:done()
        world:isend(int(5), 0, {tag = 1})
        world:isend(int(6), 0, {tag = 6})
        print(try(lze.wait))
        print(try(lze.wait))
        assert(idle:wait() and poll:wait())
        print(a[1], b[1])]], {env = {LZE_MPI_TIMEOUT = "0.05"}}))
  end)

  it("counts only the time of waits for LZE_MPI_TIMEOUT", function()
    assert.equal("false\nTIMEOUT\n", process.output([[
      local lze, world = require "lze", require "lze.mpi".world()
      local got = world:irecv(lze.buffer("int", 1), 0)
      local function work(seconds)
        local from = os.clock()
        while os.clock() - from < seconds do end
      end
      local over
      for _ = 1, 12 do
        over = got:wait(0)
        work(0.05)
      end
      print(over)
      local await = coroutine.wrap(function() got:await() end)
      await()
      work(0.5)
      print(select(2, pcall(await)).code)]], {env = {LZE_MPI_TIMEOUT = "0.5"}}))
  end)

  it("is shown in lze.info(), together with the affinity", function()
    local list = io.open("/proc/self/status"):read "a"
      :match "Cpus_allowed_list:%s*(%S+)"
    local output = process.output("print(require 'lze'.info())", {
      env = {PMI_SIZE = "1"},
      before = "taskset -p -c " .. list:match "%d+" .. " $$ >/dev/null"})
    assert.matches("\nPMI_SIZE=1\n", output)
    if list:find "[,-]" then
      assert.matches("note: affinity: this process may use 1 of %d+ processor",
        output)
    end
  end)

  it("ends pending receives with the state", function()
    assert.equal("over\n", process.output([[
      local lze, world = require "lze", require "lze.mpi".world()
      world:irecv(lze.buffer("int", 1), 0)
      print "over"]], {seconds = 9}))
  end)
end)

describe("an MPI library", function()
  local fake = (os.getenv "LZE_TEST_BUILD" or "build") .. "/spec/mpi_fake.so"
  if not fake:find "^/" then fake = "./" .. fake end

  it("is used only on the thread for which the program has initialised it",
    function()
    local function world(host)
      return process.output([[
        local ok, err = pcall(require "lze.mpi".world)
        print(ok and err.size or err.code .. ": " .. err.message)]],
        {env = {LZE_MPI = fake, MPI_FAKE_HOST = host}})
    end
    local wrong = "WRONG_THREAD: MPI was begun on another thread, and for " ..
      "that one only\n"
    assert.equal("1\n", world "0 1")
    assert.equal(wrong, world "0 0")             -- MPI_THREAD_SINGLE
    assert.equal("1\n", world "1024 1")
    assert.equal(wrong, world "1024 0")          -- MPI_THREAD_FUNNELED
    assert.equal("1\n", world "2048 0")
    assert.equal("1\n", world "4096 0")
  end)

  -- Runs a script in which control(line) sets the behaviour of the library.
  local function with_fake(script, env)
    env = env or {}
    local output
    process.with_directory(function(dir)
      env.LZE_MPI, env.MPI_FAKE_CONTROL = fake, dir .. "/control"
      output = process.output([[
        local lze, mpi = require "lze", require "lze.mpi"
        local serial = 0
        local function control(line)
          serial = serial + 1
          local file <close> = io.open("]] .. dir .. [[/control", "w")
          file:write(serial, " ", line)
        end
        control "none 0"
        local world = mpi.world()
        ]] .. script, {env = env})
    end)
    return output
  end

  it("is not called after the program has finalized it", function()
    local output = with_fake([[
      local x, y = lze.buffer("int", 2), lze.buffer("int", 2 << 20)
      local z = lze.buffer("int", 2 << 20, {usage = "device"})
      local part, cart = world:split(0), world:cart({1}, {periodic = true})
      local halo = cart:halo(lze.buffer("int", 3), {shape = {3}})
      local got, late = world:irecv(x, 0), part:irecv(z, 0, {tag = 1})
      control "end 0"
      print(pcall(got.wait, got))
      local function ends(f, ...)
        local ok, err = pcall(f, ...)
        assert(not ok and err.call == "MPI_Finalized" and
          tostring(err):find "MPI has been ended$", err)
      end
      ends(world.isend, world, y, 0)
      ends(world.send, world, "text", 0)
      ends(world.allreduce, world, z, "sum")
      ends(world.allgather, world, y, lze.buffer("int", #y))
      ends(world.barrier, world)
      ends(world.split, world, 0)
      ends(cart.shift, cart, 1)
      ends(halo.start, halo)
      part:close()
      world:close()
      ends(mpi.world)
      print "over"]])
    assert.matches("^false\t[^\n]*irecv: MPI_Irecv: ENDED: MPI has been " ..
      "ended\n.*over\n$", output)
  end)

  it("keeps the memory that a failed collective may still write", function()
    local output = with_fake [[
      local y, failures = lze.buffer("int", 2 << 20), 0  -- of two pieces
      for k = 1, 8 do
        control("fail " .. k)
        if not pcall(world.bcast, world, y, 0) then failures = failures + 1 end
      end
      control "none 0"
      y:close()
      collectgarbage()
      print(failures > 2, lze.stats().bytes >= 8 << 20)]]
    assert.equal("true\ttrue\n", output)
  end)

  it("may fail in any call, and works again", function()
    local output = with_fake [[
      local function buffer(t) return lze.buffer("int", t) end
      local x, y = buffer {1, 2}, buffer {0, 0}
      local list = {
        send = function() world:send(x, 0) world:recv(y, 0) end,
        value = function()
          world:isend({1}, 0):wait()
          assert(world:recv(nil, 0)[1] == 1)
        end,
        events = function()
          assert(world:isend(x, 0):wait())
          assert(world:irecv(y, 0):wait())
        end,
        bcast = function() world:bcast(x, 0) world:bcast({1}, 0) end,
        reduce = function()
          world:allreduce(x, "sum")
          world:reduce(x, "sum", 0)
          world:scan(x, "sum", {order = "rank"})
        end,
        exchange = function()
          world:gather(x, y, 0)
          world:scatter(x, y, 0)
          world:allgather(x, y)
          world:alltoall(x, y)
          world:barrier()
        end,
        counts = function()
          local options = {counts = {2}}
          world:gather(x, y, 0, options)
          world:scatter(x, y, 0, options)
          world:allgather(x, y, options)
          world:alltoall(x, y, {counts = {2}, received = {2}})
        end,
        halo = function()
          local cart <close> = world:cart({1}, {periodic = true})
          local u = buffer {0, 5, 0}
          cart:halo(u, {shape = {3}}):start():wait()
          assert(u[1] == 5 and u[3] == 5)
        end,
        device = function()
          local d = lze.buffer("int", 2, {usage = "device"}):fill(7)
          local e = lze.buffer("int", (1 << 20) + 10, {usage = "device"})
          world:send(d, 0, {tag = 9})           -- what is left fits any receive
          world:recv(e, 0, {tag = 9})
          world:allreduce(e, "sum")
          world:bcast(e, 0)
          assert(e:read(2, 2)[1] == 7)
          world:iallreduce(e, "max"):wait()
        end,
        split = function() world:split(1, 0):close() end
      }
      local failures, calls = 0, {}
      for name, f in pairs(list) do
        local k = 0
        repeat
          k = k + 1
          control("fail " .. k)
          local ok, err = pcall(f)
          if not ok then
            failures = failures + 1
            if type(err) ~= "table" then error(name .. ": " .. err) end
            assert(type(err) == "table" and err.call:find "^MPI_", err)
            assert(err.code == "MPI_ERR_INTERN", err.code)
            assert(err.message == "the library was told to fail")
            calls[err.call] = true
          end
          control "none 0"
          -- What is still under way, or was left behind, ends.
          pcall(lze.wait, 0)
          collectgarbage()
        until ok and k > 40
        x:write {1, 2}
      end
      for _, name in ipairs {"Gather", "Scatter", "Allgather", "Alltoall"} do
        assert(calls["MPI_" .. name] and calls["MPI_" .. name .. "v"], name)
      end
      print(failures > 50, failures)]]
    assert.matches("^true\t%d+\n$", output)
  end)

  it("decides which ranks belong to a grid", function()
    assert.equal("nil\t{1}\n", with_fake [[
      control "apart 0"
      local none = world:cart({1}, {reorder = true})
      control "none 0"
      print(none, "{" .. world:cart({1}, {reorder = true}).dims[1] .. "}")]])
  end)

  it("gets its communicators back if making one fails", function()
    -- The remaining communicators belong to mpi.world.
    assert.equal("true\ntrue\nover\n4 communicators left\n", with_fake([[
      local function make(f)
        local failures = 0
        for k = 1, 30 do
          control("fail " .. k)
          local ok, made = pcall(f)
          control "none 0"
          if ok then made:close() else failures = failures + 1 end
        end
        print(failures > 7)
      end
      make(function() return world:split(0) end)
      make(function() return world:cart({1}) end)
      local part = world:split(0)
      control "break 1"
      assert(not pcall(part.close, part))
      control "none 0"
      part:close()
      print "over"]], {MPI_FAKE_COMMUNICATORS = "1"}))
  end)

  -- The announcement and three pieces: 4 MPI_Isend with an MPI_Test each, then
  -- 4 MPI_Irecv with an MPI_Test and an MPI_Get_elements_x. The result of each
  -- side: "." done, "e" the library's error, "t" truncated, "-" not tried.
  it("may fail in any call of a message in pieces, and works again", function()
    local fails = "fail\te- et et et et et et e. " ..
      (".e "):rep(12) .. "..\n"
    local halves = "halve\t.t .t .t ..\n"
    local breaks = "break\te- e- e- .e .e .e\n"
    local one = fails .. halves .. breaks .. "0\n"
    assert.equal(one .. one, with_fake [[
      local n = 2 * (4 << 20) + 5
      local tag = 0
      local function try(fname, f, ...)
        local ok, err = pcall(f, ...)
        if ok then return "." end
        assert(err.call == "MPI_" .. fname, err)
        if err.code == "MPI_ERR_TRUNCATE" then
          assert(err.message == "the message is longer than the buffer", err)
          return "t"
        end
        assert(err.code == "MPI_ERR_INTERN", err)
        assert(err.message == "the library was told to fail")
        return "e"
      end
      local function memory()
        collectgarbage()
        local s = lze.stats()
        assert(s.in_flight == 0)
        return s.shared_bytes + s.device_bytes + s.host_bytes
      end
      for _, usage in ipairs {"shared", "device"} do
        local before = memory()
        local options = {usage = usage}
        local x = lze.buffer("uchar", n, options):fill(7)
        local y = lze.buffer("uchar", n + 1, options)
        local function send()
          return try("Send", world.send, world, x, 0, {tag = tag})
        end
        local function recv()
          return try("Recv", world.recv, world, y, 0, {tag = tag})
        end
        local function run(how, first, last)
          local row = {}
          for k = first, last do
            tag = tag + 1
            y:fill(0)
            control(how .. " " .. k)
            local sent = send()
            local got = sent == "e" and k == 1 and "-" or recv()
            control "none 0"
            if sent .. got == ".." then
              assert(y:read(1)[1] == 7 and y:read(n)[1] == 7)
              assert(y:read(n + 1)[1] == 0)
            end
            row[#row + 1] = sent .. got
          end
          print(how, table.concat(row, " "))
        end
        run("fail", 1, 21)
        run("halve", 2, 5)
        local row = {}
        for i, k in ipairs {1, 4, 7, 1, 5, 9} do
          tag = tag + 1
          lze.wait()
          if i > 3 then send() end
          control("break " .. k)
          row[i] = i > 3 and "." .. recv() or send() .. "-"
          control "none 0"
        end
        print("break", table.concat(row, " "))
        x:close()
        y:close()
        print(memory() - before)
      end]])
  end)

  it("uses the faster reduction if the caller waits for a long one", function()
    -- Each column counts calls of the library. The faster reduction needs one
    -- call a piece, and two for a barrier before each piece except the first.
    -- LZE_MPI_TIMEOUT could not end the faster reduction.
    local script = [[
      local function calls(bytes, f)
        local x, k = lze.buffer("uchar", bytes), 0
        repeat
          k = k + 1
          control("fail " .. k)
        until pcall(f, x)
        return k - 1
      end
      local function wait(x) world:allreduce(x, "sum") end
      local function later(x) world:iallreduce(x, "sum"):wait() end
      local function in_order(x)
        world:allreduce(x, "sum", {order = "rank"})
      end
      local function root(x) world:reduce(x, "sum") end
      local long, piece = 1 << 15, 1 << 22
      print(calls(long - 1, wait), calls(long, later), calls(long, wait),
        calls(long, in_order), calls(long, root), calls(piece + 8, wait),
        calls(piece + long, wait))]]
    assert.equal("2\t2\t1\t2\t1\t3\t4\n", with_fake(script))
    assert.equal("2\t2\t2\t2\t2\t4\t4\n",
      with_fake(script, {LZE_MPI_TIMEOUT = "9"}))
  end)

  it("loses no message that arrives while a receive is cancelled", function()
    assert.equal("0\t1\t2\t7\n0\t2\t3145728\t7\n0\t3\t2\t7\n" ..
      "0\t4\t3145728\t7\nMPI_ERR_TRUNCATE\n", with_fake([[
      local tag = 0
      for _, usage in ipairs {"shared", "device"} do
        for _, n in ipairs {2, 3 << 20} do
          local x = lze.buffer("int", n, {usage = usage}):fill(7)
          local y = lze.buffer("int", n, {usage = usage})
          tag = tag + 1
          control "delay 1000000000"
          world:isend(x, 0, {tag = tag})
          local source, got, count = world:recv(y, 0)  -- as long as the timeout
          print(source, got, count, y:read(n)[1])
        end
      end
      -- Nor what is wrong with it.
      control "delay 1000000000"
      world:isend(lze.buffer("int", 9), 0)
      print(select(2, pcall(world.recv, world, lze.buffer("int", 4), 0)).code)
      ]], {LZE_MPI_TIMEOUT = "0.05"}))
  end)

  it("is subject to LZE_MPI_TIMEOUT only once a call has begun", function()
    assert.equal("true\n", with_fake([[
      local k = lze.compile [=[kernel void slow(global uint *x) {
        uint v = x[0];
        for (int i = 0; i < 1000000000; i++) v = (v ^ v >> 7) * 5 + 3;
        x[0] = v;
      }]=]
      local x = lze.buffer("uint", 1)
      control "delay 3"
      k.slow:launch(1, x)
      print(world:iallreduce(x, "sum"):wait())]], {LZE_MPI_TIMEOUT = "0.5"}))
  end)

  it("gets no later collectives after one was given up in the middle",
    function()
    assert.equal("bcast TIMEOUT\nallreduce GIVEN_UP\nsplit GIVEN_UP\n" ..
      "bcast TIMEOUT\nbcast GIVEN_UP\ntrue\nsplit GIVEN_UP\n", with_fake([[
      local x = lze.buffer("int", 2 << 20, {usage = "device"})
      local y = lze.buffer("int", 1)
      local part = world:split(0)
      local function try(comm, name, ...)
        local ok, err = pcall(comm[name], comm, ...)
        assert(not ok)
        print(name .. " " .. err.code)
      end
      control "delay 1000000000"
      try(world, "bcast", x, 0)
      control "none 0"
      try(world, "allreduce", y, "sum")
      try(world, "split", 0)
      control "delay 1000000000"
      try(part, "bcast", {1}, 0)
      control "none 0"
      try(part, "bcast", {1}, 0)
      part:isend(y, 0)                             -- messages go on,
      print(part:irecv(y, 0):wait())
      part:allreduce(y, "sum")                     -- and those of buffers
      try(part, "split", 0)]], {LZE_MPI_TIMEOUT = "0.05"}))
  end)

  it("gets no later collectives after one was given up before it began",
    function()
    assert.equal("ended\nTIMEOUT\nGIVEN_UP\n", with_fake([[
      local x = lze.buffer("int", 2 << 20, {usage = "device"})
      local y = lze.buffer("int", 1)
      control "delay 1000000000"
      debug.sethook(function()
        if debug.getinfo(2, "S").source == "=lze" then error("ended", 0) end
      end, "", 1)
      local ended = select(2, pcall(world.bcast, world, x, 0))
      debug.sethook()
      print(ended)
      print(select(2, pcall(world.allreduce, world, y, "sum")).code)
      control "none 0"
      lze.wait()
      local good, err = pcall(world.allreduce, world, y, "sum")
      print(good or err.code)]], {LZE_MPI_TIMEOUT = "0.05"}))
  end)

  -- Returns how often messages in device memory are copied, their results, and
  -- the note of lze.info. The library behaves as `line` says until lze has
  -- found out whether the library can use device memory.
  local function device_memory(env, line)
    env.LZE_MPI_GPU = env.LZE_MPI_GPU or "1"
    return with_fake(("control '%s'\n"):format(line or "none 0") .. [[
      local function device(t)
        return lze.buffer("int", t, {usage = "device"})
      end
      local x, y = device {1, 2, 3}, device {0, 0, 0}
      world:bcast(x, 0)
      control "none 0"
      local cart = world:cart({1}, {periodic = true})
      local u = device {0, 5, 0}
      local halo = cart:halo(u, {shape = {3}})
      local list = {
        {"ibcast", function() world:ibcast(x, 0):wait() end},
        {"send", function()
          local sent = world:isend(x, 0, {first = 2})
          world:recv(y, 0)
          sent:wait()
        end},
        {"long", function()
          local n = (1 << 20) + 1
          local long, got = device(n):fill(7), device(n)
          world:irecv(got, 0)
          world:send(long, 0)
          assert(got:read(n)[1] == 7)
        end},
        {"announced", function()
          local bytes = lze.buffer("uchar", 13, {usage = "device"})
          bytes:write "1234567890123"
          local got = lze.buffer("uchar", 13, {usage = "device"})
          world:irecv(got, 0)
          world:send(bytes, 0)
          assert(got:string() == "1234567890123")
        end},
        {"allgather", function() world:iallgather(x, y):wait() end},
        {"halo", function() halo:start():wait() end},
        {"allreduce", function() world:allreduce(x, "sum") end},
        {"in order", function()
          world:iallreduce(x, "sum", {order = "rank"}):wait()
        end}}
      for _, item in ipairs(list) do
        local name, f = table.unpack(item)
        local p <close> = lze.profile()
        f()
        p:stop()
        local copies = 0
        for _, e in ipairs(p.events) do
          if e.kind == "copy" then copies = copies + 1 end
        end
        print(name, copies, table.concat(y:read(), " "))
      end
      print(table.concat(x:read(), " "), table.concat(u:read(), " "))
      print(lze.info():match "note: LZE_MPI_GPU[^\n]*")]], env)
  end

  -- With copies through host memory, and without.
  local HOSTED = "ibcast\t1\t0 0 0\nsend\t1\t2 3 0\nlong\t1\t2 3 0\n" ..
    "announced\t3\t2 3 0\nallgather\t1\t1 2 3\n" ..
    "halo\t6\t1 2 3\nallreduce\t0\t1 2 3\nin order\t1\t1 2 3\n" ..
    "1 2 3\t5 5 5\n"
  local GIVEN = "ibcast\t0\t0 0 0\nsend\t0\t2 3 0\nlong\t1\t2 3 0\n" ..
    "announced\t2\t2 3 0\nallgather\t0\t1 2 3\n" ..
    "halo\t4\t1 2 3\nallreduce\t0\t1 2 3\nin order\t1\t1 2 3\n" ..
    "1 2 3\t5 5 5\n"

  it("receives device memory only with LZE_MPI_GPU=1", function()
    assert.equal(HOSTED .. "nil\n",
      device_memory {LZE_MPI_GPU = "0", MPI_FAKE_GPU = "1"})
    local said = device_memory {MPI_FAKE_GPU = "1"}
    assert.equal(GIVEN, said:match "^(.*)note: ")
    assert.matches("note: LZE_MPI_GPU=1: memory of [^\n]* is given to MPI " ..
      "as it is\n$", said)
  end)

  it("receives collectives in order with LZE_MPI_GPU=1 too", function()
    -- An allgather copies its own block first, which takes a while.
    assert.equal("MPI_Iallgather\n", with_fake([[
      local x = lze.buffer("int", 16 << 20, {usage = "device"})
      local y = lze.buffer("int", 16 << 20, {usage = "device"})
      world:bcast(x, 0)
      control "fail 1"
      for _, ev in ipairs {world:iallgather(x, y), world:ibarrier()} do
        local good, err = pcall(ev.wait, ev)
        if not good then print(err.call) end
      end]], {LZE_MPI_GPU = "1", MPI_FAKE_GPU = "1"}))
  end)

  it("receives no device memory if it reports no support", function()
    local said = device_memory {ZOCL_DEVICE_MEMORY_PRIVATE = "1"}
    assert.equal(HOSTED, said:match "^(.*)note: ")
    assert.matches("goes through the host's all the same: the library says " ..
      "that it cannot use it\n$", said)
  end)

  it("receives no device memory if a trial message fails", function()
    local said = device_memory({MPI_FAKE_GPU = "1"}, "halve 1")
    assert.equal(HOSTED, said:match "^(.*)note: ")
    assert.matches("goes through the host's all the same: of a message of " ..
      "64 bytes others came\n$", said)
    for k, call in ipairs {"Comm_dup", "Comm_set_errhandler", "Irecv", "Isend",
        "Test", "Test"} do
      said = device_memory({MPI_FAKE_GPU = "1"}, "fail " .. k)
      if call == "Comm_set_errhandler" then
        assert.equal(GIVEN, said:match "^(.*)note: ")
      else
        assert.equal(HOSTED, said:match "^(.*)note: ")
        assert.matches("all the same: MPI_" .. call .. ": MPI_ERR_INTERN: " ..
          "the library was told to fail\n", said)
      end
    end
  end)

  -- The messages of a halo are under way from before the inside is computed
  -- until after it.
  it("may take long while the inside of a halo is computed", function()
    assert.equal("true\ttrue\t4\t6\n", with_fake [[
      local cart = world:cart({1}, {periodic = true})
      local u, v = lze.buffer("int", {0, 5, 6, 7, 0}), lze.buffer("int", 5)
      local inside = lze.kernel(function(i, u, v) v[i + 2] = u[i + 2] end)
      local halo = cart:halo(u, {shape = {5}})
      local p <close> = lze.profile()
      control "delay 1000000"
      halo:start()
      inside:launch(1, u, v):wait()
      control "none 0"
      halo:wait()
      p:stop()
      local messages, before, after = 0, true, true
      local kernel
      for _, e in ipairs(p.events) do
        if e.kind == "kernel" then kernel = e end
      end
      for _, e in ipairs(p.events) do
        if e.kind == "message" then
          messages = messages + 1
          before = before and e.start_ns < kernel.start_ns
          after = after and e.end_ns > kernel.end_ns
        end
      end
      print(before, after, messages, v[3])]])
  end)

  it("may take long for each request", function()
    assert.equal("2\t1\t9\n", with_fake [[
      control "delay 50"
      local x, y = lze.buffer("int", {1, 2}), lze.buffer("int", 2)
      local sent, got = world:isend(x, 0), world:irecv(y, 0)
      assert(not got:done())
      local z = lze.buffer("int", 2):copy(y)
      x:fill(9)                                    -- once it has been sent
      got:wait()
      world:allreduce(x, "sum")
      local long = lze.buffer("uchar", 2 * (4 << 20) + 5)
      local into = lze.buffer("uchar", #long, {usage = "device"})
      got = world:irecv(into, 0)
      world:send(long:fill(7), 0)
      got:wait()
      assert(into:read(#into)[1] == 7)
      print(z[2], y[1], x[1])]])
  end)
end)

-- One run is enough: skip the sanitizers' program and the collector's modes.
local once = not process.hosted and not os.getenv "LZE_TEST_GC" and
  not os.getenv "ZE_ENABLE_VALIDATION_LAYER"
for _, launcher in ipairs(once and launchers or {}) do
  describe(launcher, function()
    local function run(n, rest, variables)
      return shell(("%s exec timeout 100 %s -n %d %s %s"):format(
        variables or "", launcher, n, process.lua, rest))
    end

    for _, n in ipairs {1, 2, 3, 8} do
      it(("gives the results of one rank with %d"):format(n), function()
        local output, how, code = run(n, "spec/support/mpi_program.lua " .. n)
        assert.equal(n, count(output, "rank %d of " .. n .. " is right"),
          output)
        assert.equal("exit 0", how .. " " .. code)
      end)
    end

    it("starts ranks whose child programs are single ranks", function()
      process.with_directory(function(dir)
        process.write(dir .. "/child.lua", [[
          local world = require "lze.mpi".world()
          print("child", world.rank, world.size)]])
        process.write(dir .. "/rank.lua", ([[
          require "lze.mpi".world()
          os.execute("env -u OMPI_COMM_WORLD_RANK -u PMIX_RANK -u PMI_RANK " ..
            "%s %s/child.lua")]]):format(process.lua, dir))
        local output, how, code = run(2, dir .. "/rank.lua")
        assert.equal(2, count(output, "child\t0\t1\n"), output)
        assert.equal("exit 0", how .. " " .. code)
      end)
    end)

    it("refuses a collective if the ranks' calls differ", function()
      local output = run(2, [[-e '
        local lze, world = require "lze", require "lze.mpi".world()
        local first = world.rank == 0
        local function ints(n) return lze.buffer("int", n):fill(1) end
        local function sum(name, n) world[name](world, ints(n), "sum") end
        local counts = first and {2, 1} or {2, 2}
        local calls = {
          function() world:bcast(ints(first and 9 or 8), 0) end,
          function() world:bcast(ints(9), world.rank) end,
          function() world:ibcast(ints(first and 8 or 9), 0):wait() end,
          function() sum("allreduce", first and 2000000 or 1000) end,
          function() sum(first and "allreduce" or "scan", 3) end,
          function() world:reduce(ints(1), first and "sum" or "max", 0) end,
          function()
            world:allreduce(lze.buffer(first and "int" or "float", 3), "sum")
          end,
          function()
            world:allreduce(ints(3), "sum", first and {order = "rank"} or nil)
          end,
          function()
            local n = first and 2 or 3
            world:gather(ints(n), ints(2 * n), 0)
          end,
          function() world:scatter(ints(6), ints(first and 3 or 1), 0) end,
          function()
            local n = first and 3 or 2
            world:allgather(ints(n), ints(2 * n))
          end,
          function() local n = first and 2 or 4 world:alltoall(ints(n), ints(n))
          end,
          function()
            world:alltoall(ints(4), ints(4), {counts = counts,
              received = {2, 2}})
          end,
          function() world:allgather(ints(2), ints(4), {counts = counts}) end,
          function()                           -- elements of another size
            local kind = first and "int" or "double"
            world:allgather(lze.buffer(kind, 2), lze.buffer(kind, 4),
              {counts = {2, 2}})
          end,
          function() if first then sum("allreduce", 8) else world:barrier() end
          end,
          function() if first then world:barrier() else sum("scan", 8) end end
        }
        for i, call in ipairs(calls) do
          local ok, err = pcall(call)
          assert(not ok and err.code == "DIFFERS", i .. ": " .. tostring(err))
        end
        -- Both forms go together, also where one is the faster reduction.
        local x = ints(20000)
        if first then world:reduce(x, "sum", 0)
        else world:ireduce(x, "sum", 0):wait() end
        assert(not first or x[20000] == 2)
        local y = ints(1 << 21)
        if first then world:iallreduce(y, "sum"):wait()
        else world:allreduce(y, "sum") end
        assert(y[1] == 2 and y[1 << 21] == 2)
        print(("rank %d saw them all"):format(world.rank))']])
      assert.equal(2, count(output, "rank %d saw them all"), output)
    end)

    it("ends though nobody receives a sent message", function()
      local output, how, code = run(2, [[-e '
        local lze, world = require "lze", require "lze.mpi".world()
        lze.gc {close_seconds = 0.1}
        if world.rank == 0 then world:isend(lze.buffer("int", 4000000), 1) end
        print(("rank %d is over"):format(world.rank))']])
      assert.equal(2, count(output, "rank %d is over"), output)
      assert.equal("exit 0", how .. " " .. code)
    end)

    it("frees the resources of closed communicators", function()
      local output = run(1, [[-e '
        local world = require "lze.mpi".world()
        for i = 1, 1000 do                     -- MPICH has 2048 at most
          world:split(0):close()
          world:cart({1}):close()
        end
        print "over"']])
      assert.equal("over\n", output)
    end)

    it("keeps no rank in a call that another rank has left", function()
      local output = run(2, [[-e '
        local lze, mpi = require "lze", require "lze.mpi"
        local world = mpi.world()
        local k = lze.kernel(function(i, v) v[i] = i end)
        local v = lze.buffer("int", 4)
        local calls = {
          {"split", function(c) c:split(0) end},
          {"cart", function(c) c:cart {2} end},
          {"parallel", function(c) c:parallel(4, k, mpi.slice(v)) end}}
        local function comes()
          repeat until pcall(world.recv, world, nil, 1 - world.rank)
        end
        local function together()
          local sent = world:isend(1, 1 - world.rank)
          comes()
          sent:wait()
        end
        k(4, v)                                -- built, which may take long
        for _, item in ipairs(calls) do
          local name, f = table.unpack(item)
          together()
          local c = world:split(0)
          local function try()
            local ok, err = pcall(f, c)
            return ok or tostring(err):match(": (" .. name .. ": [^\n]*)")
          end
          -- This one comes when the other has left.
          if world.rank == 1 then comes() end
          local first = try()
          world:send(1, 1 - world.rank)
          if world.rank == 0 then comes() end
          local x = lze.buffer("int", {1})
          local sum = c:allreduce(x, "sum")[1]
          -- At once: the other rank writes, too.
          io.write(("%d %s; %s\n"):format(sum, first, try()))
        end']], "LZE_MPI_TIMEOUT=1")
      for _, name in ipairs {"split", "cart", "parallel"} do
        for rank = 0, 1 do
          local line = ("2 %s: MPI_Barrier: TIMEOUT: %s: rank %d of 2 has " ..
            "waited for 1 s (LZE_MPI_TIMEOUT); %s: MPI_Barrier: GIVEN_UP: " ..
            "this rank has left an earlier call"):format(name, name, rank, name)
          assert.is_truthy(output:find(line, 1, true), output)
        end
      end
    end)

    it("takes no data from a world:parallel that failed on another rank",
      function()
      local output = run(2, [[-e '
        local lze, mpi = require "lze", require "lze.mpi"
        local world = mpi.world()
        local k = lze.kernel(function(i, v, a) v[i] = a end)
        local v = lze.buffer("int", 2)
        local function parallel(a)
          return pcall(world.parallel, world, 2, k, mpi.slice(v), a)
        end
        local function together()
          local sent = world:isend(1, 1 - world.rank)
          repeat until pcall(world.recv, world, nil, 1 - world.rank)
          sent:wait()
        end
        k(1, v, 0)                             -- built, which may take long
        together()
        assert(parallel(0))
        local ok, err = parallel(world.rank == 0 and 1 or "a")
        assert(not ok and (world.rank == 1 or err.code == "TIMEOUT"))
        together()
        assert(parallel(2))
        io.write(table.concat(v:read(), " ") .. "\n")
        os.exit(0, false)']], "LZE_MPI_TIMEOUT=1")
      assert.equal(2, count(output, "2 2\n"), output)
    end)

    it("does not mix up different calls of world:parallel", function()
      local output = run(3, [[-e '
        local lze, mpi = require "lze", require "lze.mpi"
        local world = mpi.world()
        local last = world.rank == world.size - 1
        local k = lze.kernel(function(i, v, a) v[i] = a end)
        local v = lze.buffer("int", 12)
        local function together()
          for rank = 0, 2 do world:isend(1, rank) end
          for rank = 0, 2 do
            repeat until pcall(world.recv, world, nil, rank)
          end
        end
        local function parallel(n, k, ...)
          together()
          local ok, err = pcall(world.parallel, world, n, k, ...)
          return not ok and err.code == "TIMEOUT" and tostring(err)
        end
        k(4, v, 0)                             -- built, which may take long
        local s = mpi.slice(v)
        together()
        world:parallel(12, k, s, -1)
        local calls = {
          {{12, k, s, 1}, {11, k, s, 1}},
          {{6, k, mpi.slice(v, 2), 1}, {6, k, s, 1}},
          {{12, k, mpi.slice(v, 1, 1), 1}, {12, k, s, 1}}}
        for i, both in ipairs(calls) do
          local err = parallel(table.unpack(both[last and 1 or 2]))
          assert(err and err:find "^%(command line%):%d+: parallel: MPI_I", err)
          assert(i > 1 or v[last and 1 or 12] == -1)
        end
        assert(not parallel(12, k, s, 5))
        assert(v[1] == 5 and v[12] == 5)
        io.write("right\n")                    -- at once: others write, too
        os.exit(0, false)']], "LZE_MPI_TIMEOUT=1")
      assert.equal(3, count(output, "right\n"), output)
    end)

    it("accepts different numbers and names of kernels in a world:parallel",
      function()
      local output = run(2, [[-e '
        local lze, mpi = require "lze", require "lze.mpi"
        local world = mpi.world()
        local kernels = {
          lze.kernel(function(i, v, a) v[i] = (a + i) // 1 end),
          lze.kernel(function(i, v, a) v[i] = (a + i) // 1 end)}
        assert(kernels[1].name ~= kernels[2].name)
        local v = lze.buffer("int", 4)
        for _, k in ipairs(kernels) do k(4, v, 0); k(4, v, 0.5) end
        world:barrier()
        for _, a in ipairs {10, 20.0} do
          v:fill(0)
          world:parallel(4, kernels[world.rank + 1], mpi.slice(v),
            a * (world.rank + 1))
          io.write(table.concat(v:read(), " ") .. "\n")
        end
        os.exit(0, false)']], "LZE_MPI_TIMEOUT=10")
      assert.equal(2, count(output, "11 12 23 24\n"), output)
      assert.equal(2, count(output, "21 22 43 44\n"), output)
    end)

    it("exchanges blocks that are longer than its counts", function()
      local output = run(1, [[-e '
        local lze, world = require "lze", require "lze.mpi".world()
        local made, x = pcall(lze.buffer, "uchar", 1 << 31, {zero = false})
        -- In place: nothing is copied.
        if made then assert(world:allgather(x, x) == x) end
        print "over"']])
      assert.equal("over\n", output)
    end)

    it("gives each rank its own device, and the same results", function()
      local devices = "ZOCL_ROOT_DEVICES=4 ZOCL_PEER_ACCESS=0 " ..
        "ZOCL_DEVICE_MEMORY_PRIVATE=1"
      local output = run(4, [[-e 'local lze = require "lze"
        local world = require "lze.mpi".world()
        for i, d in ipairs(lze.devices()) do
          if d == world:device() then
            print(("rank %d has device %d of %d"):format(world.rank, i,
              #lze.devices()))
          end
        end']], devices)
      for rank = 0, 3 do
        assert.matches(("rank %d has device %d of 4"):format(rank, rank + 1),
          output)
      end
      output = run(4, "spec/support/mpi_program.lua 4", devices)
      assert.equal(4, count(output, "rank %d of 4 is right"), output)
      output = run(4, "examples/mpi/heat.lua", devices)
      assert.matches("cells is that of one process\n$", output)
    end)

    it("runs the examples, which check themselves", function()
      for name, said in pairs {heat = "cells is that of one process",
          nbody = "bodies is where one process has it",
          kmeans = "the centers are those of one process"} do
        local output, how, code = run(3, "examples/mpi/" .. name .. ".lua")
        assert.matches("%d+ steps by 3 processes: .*" .. said .. "\n$", output)
        assert.equal("exit 0", how .. " " .. code)
      end
    end)

    it("compiles a kernel once for all ranks", function()
      process.with_directory(function(dir)
        local output = run(3, [[-e '
          local lze, world = require "lze", require "lze.mpi".world()
          world:barrier()
          lze.compile("kernel void once(global int *x) { x[0] = 3; }")']],
          "LZE_LOG=builds XDG_CACHE_HOME=" .. dir)
        for _, what in ipairs {"SPIR%-V of", "module"} do
          local each = "build " .. what .. " [^\n]*: "
          assert.equal(1, count(output, each .. "compiled"), output)
          assert.equal(2, count(output, each .. "from the cache"), output)
        end
      end)
    end)

    it("gives each rank's profile its own name", function()
      process.with_directory(function(dir)
        run(2, [[-e '
          local lze, world = require "lze", require "lze.mpi".world()
          world:bcast(lze.buffer("int", 1):fill(1), 0)']],
          "LZE_PROFILE=" .. dir .. "/run.csv")
        for rank = 0, 1 do
          local file <close> = io.open(dir .. "/run." .. rank .. ".csv")
          assert.matches("fill", file:read "a")
        end
      end)
    end)

    it("shows the messages of all ranks in merged profiles", function()
      process.with_directory(function(dir)
        for _, ending in ipairs {".json", ".html"} do
          run(2, [[-e '
            local lze, world = require "lze", require "lze.mpi".world()
            local x, y = lze.buffer("int", 100):fill(1), lze.buffer("int", 100)
            local other = 1 - world.rank
            local got = world:irecv(y, other, {tag = 7})
            world:barrier()
            world:send(x, other, {tag = 7})
            got:wait()']], "LZE_PROFILE=" .. dir .. "/run" .. ending)
        end
        local function merged(ending)
          return assert(dofile "command/trace.lua".merge({dir .. "/run.0" ..
            ending, dir .. "/run.1" .. ending}, read))
        end
        -- Maps each rank to its messages in the trace; times use one clock.
        local ranks, at = {}, {}
        for _, e in ipairs(json.decode(merged ".json").traceEvents) do
          if e.name == "process_name" then
            local rank, device = e.args.name:match "^rank (%d)(.*)$"
            ranks[e.pid] = device == "" and tonumber(rank) or nil
          elseif e.name == "thread_name" and e.args.name:find "^messages" then
            assert.is_true(ranks[e.pid] ~= nil and e.tid >= 4)
          elseif e.cat == "message" then
            local rank = ranks[e.pid]
            at[rank .. " " .. e.name] = {e.ts, e.ts + e.dur, e.args.bytes}
          end
        end
        for rank = 0, 1 do
          local sent = at[("%d send to rank %d, tag 7"):format(rank, 1 - rank)]
          local got = at[("%d irecv from rank %d, tag 7"):format(1 - rank,
            rank)]
          assert.same({400, 400}, {sent[3], got[3]})
          assert.is_true(sent[1] <= got[2])
        end
        -- No rank leaves a barrier before the other enters it.
        local a, b = at["0 barrier"], at["1 barrier"]
        assert.is_true(a[1] <= b[2] and b[1] <= a[2])
        local data = json.decode(merged ".html":match
          '<script type="application/json" id="data">(.-)</script>')
        for i, set in ipairs(data) do
          assert.equal("rank " .. i - 1, set.process)
          local names = {}
          for _, row in ipairs(set.rows) do
            for _, e in ipairs(row.name:find "^messages" and row.events or {})
            do
              names[#names + 1] = set.strings[e[3] + 1]
            end
          end
          table.sort(names)
          assert.same({"barrier", ("irecv from rank %d, tag 7"):format(2 - i),
            ("send to rank %d, tag 7"):format(2 - i)}, names)
        end
      end)
    end)

    it("ends all ranks with the first that fails, and names it", function()
      -- A rank's messages go to a file: mpirun may lose them when all end.
      process.with_directory(function(dir)
        process.write(dir .. "/fails.lua", [[
          local world = require "lze.mpi".world()
          if world.rank == 1 then
            local x = nil + 1
          end
          world:recv(nil, 1)]])
        local _, how, code = shell((
          "exec timeout 100 %s -n 3 sh -c 'exec %s %s/fails.lua 2>>%s/said'")
          :format(launcher, process.lua, dir, dir))
        local file <close> = io.open(dir .. "/said")
        local said = file:read "a"
        assert.matches("fails.lua:3: attempt to perform arithmetic", said)
        assert.matches("lze.mpi: rank 1 of 3 ended with status 1, so all end",
          said)
        assert.is_true(how == "exit" and code ~= 0, said)
      end)
    end)

    it("ends all ranks with one that is killed", function()
      local output, how, code = run(2, [[-e '
        local world = require "lze.mpi".world()
        world:barrier()
        if world.rank == 1 then
          os.execute("kill -9 " .. io.open("/proc/self/stat"):read "n")
        end
        print(world:recv(nil, 1))']])
      assert.not_equal(124, code)               -- not by the time limit
      assert.not_matches("nil", output)
      -- MPICH 4.2's mpirun returns 0 without a message one time in eight.
      assert.is_true(launcher == "mpirun.mpich" or how ~= "exit" or code ~= 0,
        output)
    end)

    it("leaves no files of ranks that wait for one that is killed", function()
      process.with_directory(function(dir)
        local output, how, code = run(3, [[-e '
          local lze, world = require "lze", require "lze.mpi".world()
          if world.rank == 2 then
            world:allreduce(lze.buffer("int", 3 << 20), "sum")
          else
            local x = lze.buffer("uchar", 50 << 20, {usage = "device"})
            local other = 1 - world.rank
            local ev = other == 1 and world:irecv(x, 1) or world:isend(x, 0)
            world:send("begun", other)
            world:recv(nil, other)
            if world.rank == 1 then
              os.execute("kill -9 " .. io.open("/proc/self/stat"):read "n")
            end
            ev:wait()
            world:barrier()
          end
          print "over"']], "TMPDIR=" .. dir)
        assert.not_equal(124, code)             -- not by the time limit
        assert.not_matches("over", output)
        -- MPICH's mpirun: as above.
        assert.is_true(launcher == "mpirun.mpich" or how ~= "exit" or
          code ~= 0, output)
        local files = shell("find " .. dir .. " -mindepth 1")
        assert.equal("", files)
      end)
    end)

    it("ends a long message if either rank ends or fails", function()
      for _, first in ipairs {0, 1} do           -- the sender is 0
        for _, how in ipairs {"os.exit(0, true)", "error 'fails'"} do
          local output, _, code = run(2, ([[-e '
            local lze, world = require "lze", require "lze.mpi".world()
            local x = lze.buffer("uchar", 50 << 20, {usage = "device"})
            local ev = world.rank == 0 and world:isend(x, 1) or
              world:irecv(x, 0)
            world:barrier()
            if world.rank == %d then
              world:close()
              x:close()
              %s
            end
            ev:wait()
            print "over"']]):format(first, how:gsub("'", '"')))
          assert.equal(how:find "exit" and 0 or 1, code, output)
          -- Open MPI 5 may print its own warnings.
          if code == 0 then assert.matches("over\n", output) end
        end
      end
    end)

    it("is not mixed up with another MPI", function()
      if #launchers < 2 then
        pending "one MPI is installed"
        return
      end
      local other = launcher:find "mpich" and "libmpi.so.40" or
        "libmpich.so.12"
      local output = run(2, [[-e 'print(pcall(require "lze.mpi".world))']],
        "LZE_MPI=" .. other)
      assert.matches("has started 2 processes, and .- takes this one for " ..
        "the only one", output)
    end)
  end)
end
