-- lifetime_spec.lua - checks that memory outlives the device's use of it,
-- however a script drops, closes or collects objects, and that nothing leaks.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"
local limit = 60

-- Rounds of `spin` that take some tenths of a second for four work-items.
local rounds = 25000000

-- The results of `spin`, computed once on an otherwise idle device.
local spun
do
  local x = lze.buffer("uint", 4)
  mod.spin(4, x, rounds)
  spun = x:read()
end

local function collect()
  collectgarbage()
  collectgarbage()
end

-- Makes allocations that would reuse and overwrite memory that was freed too
-- early.
local function churn(bytes)
  local t = {}
  for i = 1, 64 do
    t[i] = lze.buffer("uchar", bytes, {zero = false})
    for j = 1, bytes, 4096 do t[i][j] = 255 end
    t[i][1] = 255
  end
  for _, x in ipairs(t) do x:close() end
end

describe("when dropped in flight", function()
  it("buffers and kernels live until the work is done", function()
    local result = lze.buffer("uint", 4)
    do
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("uint", 4)
      m.spin(4, x, rounds)
      result:copy(x)
    end
    collect()
    churn(16)
    assert.same(spun, result:read())
  end)

  it("views keep their storage", function()
    local v
    do
      local x = lze.buffer("uint", 8)
      v = x:view(3, 6)
      mod.spin(4, v, rounds)
    end
    collect()
    churn(32)
    assert.same(spun, v:read())
  end)

  it("sources of copies live on", function()
    local n = 1 << 20
    local result = lze.buffer("uint", n)
    local busy = lze.buffer("uint", 4)
    mod.spin(4, busy, rounds)
    local bytes = ("abcdefgh"):rep(n // 2)
    do
      local x = lze.buffer("uint", bytes)
      result:copy(x)
    end
    collect()
    churn(4 * n)
    assert.is_true(result:string() == bytes)
  end)

  it("queues live on", function()
    local result = lze.buffer("uint", 4)
    do
      local q = lze.queue()
      mod.spin({4, queue = q}, result, rounds)
    end
    collect()
    assert.same(spun, result:read())
  end)
end)

describe("an object closed in flight", function()
  it("is freed after the work if it is a buffer", function()
    local result = lze.buffer("uint", 4)
    local x = lze.buffer("uint", 4)
    mod.spin(4, x, rounds)
    result:copy(x)
    x:close()
    churn(16)
    assert.same(spun, result:read())
    assert.equal("buffer: uint[4] (closed)", tostring(x))
  end)

  it("is freed after the work if it is a kernel or a module", function()
    local m = lze.load "kernels/spec.spv"
    local result = lze.buffer("uint", 4)
    local k = m.spin
    k(4, result, rounds)
    k:close()
    m:close()
    for _ = 1, 3 do lze.load("kernels/saxpy.spv"):close() end
    assert.same(spun, result:read())
    assert.equal("kernel spin is closed",
      expect.misuse(function() k(4, result, 1) end))
  end)

  it("is freed after the work if it is a queue", function()
    local result = lze.buffer("uint", 4)
    local q = lze.queue()
    local ev = mod.spin:launch({4, queue = q}, result, rounds)
    q:close()
    q:close()
    assert.equal("queue (closed)", tostring(q))
    assert.equal("kernel nothing: queue: the queue is closed",
      expect.misuse(function() mod.nothing {1, queue = q} end))
    assert.is_true(ev:wait(limit))
    assert.same(spun, result:read())
  end)

  it("does not stop lze.wait from waiting if it is an event", function()
    local result = lze.buffer("uint", 4)
    local ev = mod.spin:launch(4, result, rounds)
    ev:close()
    assert.is_true(lze.wait(limit))
    assert.is_false(result:pending())
    assert.same(spun, result:read())
  end)
end)

describe("closing", function()
  it("a context closes all of its objects, and lze starts with a new one",
    function()
    local out = process.output [[
      local lze = require "lze"
      local context = lze.device().context
      local mod = lze.load "kernels/spec.spv"
      local x = lze.buffer("uint", 4)
      local view = x:view(1, 2)
      local queue = lze.device().queue
      local k = mod.spin
      local ev = k:launch(4, x, 25000000)
      context:close()
      context:close()
      print(context)
      print(x, view)
      print(mod, k)
      print(queue)
      print(pcall(function() k(1, x, 1) end))
      print(pcall(function() return x[1] end))
      print(pcall(function() return mod.add end))
      print(pcall(function()
        lze.buffer("int", 1, {context = context})
      end))
      print(ev:wait(60), ev.command)
      local y = lze.buffer("int", {1, 2, 3})
      lze.load("kernels/spec.spv").add(3, y, 1)
      print(table.concat(y:read(), " "), lze.device().context == context)
      print(lze.wait())]]
    assert.equal([[
context (closed)
buffer: uint[4] (closed)	buffer: uint[2] (closed)
module (closed)	kernel spin (closed)
queue (closed)
false	stdin:15: kernel spin is closed
false	stdin:16: index 1: the buffer is closed
false	stdin:17: field 'add': the module is closed
false	stdin:19: option context: the context is closed
true	kernel spin
2 3 4	false
true
]], out)
  end)

  it("twice has the same effect as once", function()
    local q = lze.queue()
    local m = lze.load "kernels/spec.spv"
    local objects = {lze.buffer("int", 1), q, m, m.add, m.nothing:launch(1)}
    for _, o in ipairs(objects) do
      o:close()
      local text = tostring(o)
      assert.matches("%(closed%)$", text)
      o:close()
      assert.equal(text, tostring(o))
    end
    collect()
    for _, o in ipairs(objects) do o:close() end
  end)

  it("happens at the end of <close> variables, even after an error", function()
    local kept = {}
    local ok, err = pcall(function()
      local m <close> = lze.load "kernels/spec.spv"
      local k <close> = m.spin
      local x <close> = lze.buffer("uint", 4)
      local q <close> = lze.queue()
      local ev <close> = k:launch({4, queue = q}, x, rounds)
      kept = {m, k, x, q, ev}
      error "in the middle"
    end)
    assert.is_false(ok)
    assert.matches("in the middle$", err)
    for _, o in ipairs(kept) do assert.matches("%(closed%)$", tostring(o)) end
    assert.is_true(lze.wait(limit))
  end)
end)

describe("a script with an error", function()
  it("in the arguments leaves all objects usable", function()
    local x = lze.buffer("uint", 4)
    mod.spin(4, x, rounds)
    for _ = 1, 100 do
      assert.is_false(pcall(mod.spin, 4, x, "rounds"))
      assert.is_false(pcall(mod.spin, {4, group = 0}, x, 1))
      assert.is_false(pcall(x.write, x, {1, "2"}))
      assert.is_false(pcall(x.view, x, 1, 9))
    end
    assert.same(spun, x:read())
  end)

  it("in a coroutine leaves its work to finish", function()
    local x = lze.buffer("uint", 4)
    local co = coroutine.wrap(function()
      local m = lze.load "kernels/spec.spv"
      m.spin(4, x, rounds)
      local _ = lze.buffer("int", 1000)
      coroutine.yield()
    end)
    co()
    co = nil
    collect()
    churn(4096)
    assert.same(spun, x:read())
    assert.is_nil(co)
  end)

  it("can work and wait in coroutines", function()
    local x = lze.buffer("int", 10)
    local threads = {}
    for i = 1, 10 do
      threads[i] = coroutine.create(function()
        local v = x:view(i, i)
        mod.add(1, v, i)
        coroutine.yield()
        assert(v[1] == i)
        local ev = mod.add:launch(1, v, i)
        coroutine.yield()
        assert(ev:wait(limit))
      end)
    end
    for _ = 1, 3 do
      for _, co in ipairs(threads) do
        assert.is_true(select(2, assert(coroutine.resume(co))) == nil)
      end
    end
    local expected = {}
    for i = 1, 10 do expected[i] = 2 * i end
    assert.same(expected, x:read())
  end)
end)

describe("the collector", function()
  local function work()
    local source = lze.buffer("int", {1, 2, 3, 4})
    for i = 1, 300 do
      local x = lze.buffer("int", 4)
      x:copy(source)
      mod.add(4, x, i)
      local ev = mod.add:launch(4, x:view(1, 4), i)
      local y = lze.buffer("int", 4):copy(x)
      if i % 50 == 0 then
        assert(ev:wait(limit))
        assert.same({2 * i + 1, 2 * i + 2, 2 * i + 3, 2 * i + 4}, y:read())
      end
    end
  end

  it("may run at any time in incremental mode", function()
    local mode = collectgarbage "incremental"
    work()
    collectgarbage(mode)
  end)

  it("may run at any time in generational mode", function()
    local mode = collectgarbage "generational"
    work()
    collectgarbage(mode)
  end)

  it("may be stopped", function()
    collectgarbage "stop"
    work()
    collectgarbage "restart"
    collect()
  end)

  it("may run after each step", function()
    local x = lze.buffer("int", 4)
    for i = 1, 20 do
      mod.add(4, x, 1)
      collectgarbage()
      local ev = mod.add:launch(4, lze.buffer("int", 4):copy(x), i)
      collectgarbage()
      ev:wait(limit)
    end
    assert.same({20, 20, 20, 20}, x:read())
  end)

  -- A script with close_in. For n = 1, 2, ... it makes a call with a collection
  -- at each allocation; in the n-th collection a finalizer closes an object.
  -- `make` returns the call and the object. The script prints unexpected errors
  -- and leaks, and returns how often the object was closed.
  local closing = [[
    local lze = require "lze"
    local mod = lze.load "kernels/spec.spv"
    local function bytes()
      for _ = 1, 2 do
        collectgarbage() collectgarbage()
        assert(lze.wait(60))
      end
      return lze.stats().bytes
    end
    local function try(make, n)
      local call, object = make()
      local closed, mt = false, {}
      function mt.__gc()
        n = n - 1
        if n > 0 then
          setmetatable({}, mt)
        else
          closed = true
          object:close()
        end
      end
      collectgarbage() collectgarbage()
      collectgarbage "stop"
      setmetatable({}, mt)
      require "spec.support.collector" ("incremental", 1, 1000, 30)
      collectgarbage "restart"
      local ok, err = pcall(call)
      collectgarbage "stop"
      require "spec.support.collector" ("incremental", 200, 100, 13)
      collectgarbage "restart"
      if not ok and not tostring(err):find("closed", 1, true) then
        print(err)
      end
      return closed
    end
    local function close_in(name, make)
      local base, n = bytes(), 0
      repeat
        n = n + 1
        local closed = try(make, n)
        local left = bytes() - base
        if left ~= 0 then print(name, n, left) end
      until not closed
      return n - 1
    end
    -- A call that is guarded seldom makes a step at its end in 5.5.
    local function enough(closes, least)
      return closes > (_VERSION == "Lua 5.4" and least or least // 2)
    end
  ]]

  it("may close a plan anywhere in its methods", function()
    local out = process.output(closing .. [[
      local closes = 0
      for name, call in pairs {
        set = function(plan) plan:set("t", 2, 7) end,
        start = function(plan) plan:start() end,
        run = function(plan) plan:run {iterations = 2} end,
        starts = function(plan) plan:start {iterations = 3} end,
        report = function(plan) plan:report() end,
        dot = function(plan) plan:dot() end,
      } do
        for _, hosted in ipairs {false, true} do
          for _, stale in ipairs {false, true} do
            closes = closes + close_in(name, function()
              local x, y = lze.buffer("int", 18), lze.buffer("int", 18)
              local g = lze.graph():task("t", mod.add, 18, x, 1)
              g:copy("c", y, x)
              if hosted then g:call("h", function() end) end
              local plan = g:compile()
              if stale then plan:run():set("t", 2, 3) end
              return function() call(plan) end, plan
            end)
          end
        end
      end
      print(closes >= 24)]]) -- at least once in each method
    assert.equal("true\n", out)
  end)

  it("may close any argument anywhere in a call", function()
    local out = process.output(closing .. [[
      local spirv = mod:spirv()
      local closes = 0
      for name, call in pairs {
        launch = function(o) o.m.add:launch({18, queue = o.q}, o.x, 1) end,
        copy = function(o) o.q:copy(o.y, o.x) end,
        box = function(o)
          o.y:copy_box(o.x, {size = {2, 3}, src = {2, 1}, dst = {1, 2},
                             src_width = 6, dst_width = 4})
        end,
        far_box = function(o)
          o.z:copy_box(o.x, {size = {2, 3}, src_width = 6})
          o.y:copy_box(o.z, {size = {4}})
        end,
        far_copy = function(o)
          o.z:copy(o.x)
          o.q:copy(o.y, o.z)
        end,
        inside = function(o) o.x:copy(o.x, 1, 8, 2) end,
        queue_inside = function(o) o.q:copy(o.x, o.x, 1, 8, 2) end,
        fetch = function(o) o.p:fetch(o.y) end,
        string = function(o) o.x:string() end,
        write = function(o) o.x:write {1, 2, 3} end,
        view = function(o) o.x:view(2, 5):fill(1) end,
        export = function(o) lze.import(o.x:export()):close() end,
        module = function(o) lze.module(spirv, {context = o.c}) end,
        graph = function(o)
          lze.graph():task("t", o.m.add, 18, o.x, 1):copy("c", o.y, o.x)
            :swap(o.x, o.y):compile()
        end,
        run = function(o)
          lze.graph():input(o.x, "every", {1, 2}):copy("c", o.y, o.x)
            :call("h", function() end):task("t", o.m.add, 18, o.y, 1)
            :output(o.y, "every"):compile({profile = true}):run()
        end,
      } do
        for _, victim in ipairs {"x", "y", "m", "q", "c"} do
          closes = closes + close_in(name .. " " .. victim, function()
            local o = {c = lze.context(lze.device())}
            local options = {context = o.c}
            o.m, o.q = lze.module(spirv, options), lze.queue(options)
            o.x = lze.buffer("int", 18, {context = o.c, usage = "device"})
            o.y, o.z = lze.buffer("int", 18, options), lze.buffer("int", 18)
            if name == "fetch" then
              o.p = lze.graph():copy("c", o.y, o.x)
                :output(o.y, "demand", {}):compile():run()
            end
            return function() call(o) end, o[victim]
          end)
        end
      end
      print(enough(closes, 150))]], {seconds = 300})
    assert.equal("true\n", out)
  end)

  it("may close any image anywhere in a call", function()
    local out = process.output(closing .. [[
      local source = "kernel void k(read_only image2d_t m, sampler_t s, " ..
        "write_only image2d_t n) { int2 p = (int2)(get_global_id(0), 0);" ..
        "write_imagei(n, p, read_imagei(m, s, p)); }"
      local spirv = lze.compile(source):spirv()
      local closes = 0
      local gaps = {size = {2, 2}, src_width = 3}
      for name, call in pairs {
        read = function(o) o.m:read() end,
        string = function(o) o.m:string {at = {2, 2}} end,
        write = function(o) o.m:write({1, 2}, {size = {2}}) end,
        new = function(o) lze.image("r32sint", {4, 2}, {context = o.c}) end,
        copy = function(o) o.m:copy(o.n):copy(o.x) end,
        queue = function(o) o.q:copy(o.x, o.m) end,
        box = function(o)
          o.m:copy_box(o.x, gaps)
          o.x:copy_box(o.n, {size = {2, 2}, dst_width = 3})
        end,
        launch = function(o) o.k:launch({4, queue = o.q}, o.m, o.s, o.n) end,
        graph = function(o)
          lze.graph():task("k", o.k, 4, o.m, o.s, o.n):compile():run()
        end,
      } do
        for _, victim in ipairs {"m", "n", "s", "x", "q", "c"} do
          closes = closes + close_in(name .. " " .. victim, function()
            local o = {c = lze.context(lze.device())}
            local options = {context = o.c}
            o.q, o.s = lze.queue(options), lze.sampler(options)
            o.k = lze.module(spirv, options).k
            o.m = lze.image("r32sint", {4, 2}, options)
            o.n = lze.image("r32sint", {4, 2}, options)
            o.x = lze.buffer("int", 8, options)
            return function() call(o) end, o[victim]
          end)
        end
      end
      print(enough(closes, 60))]], {seconds = 300})
    assert.equal("true\n", out)
  end)

  it("may change the default anywhere in a call", function()
    local out = process.output(closing .. [[
      local native = assert(package.loadlib(
        os.getenv "LZE_TEST_BUILD" .. "/spec/native.so", "luaopen_native"))()
      local dev, spirv = lze.device(), mod:spirv()
      local base, context = lze.queue(), native.context(dev.driver.handle)
      local box = {size = {2, 3}, src_width = 6, dst_width = 4}
      -- What is the default's alone, until a finalizer sets another.
      local defaults = {
        queue = function() lze.default(lze.queue()) end,
        context = function() lze.default(lze.context(dev)) end,
        device = function()
          lze.default(lze.wrap {device = dev, context = context})
        end,
      }
      local changes = 0
      for name, call in pairs {
        launch = function(o) o.k:launch({18, after = {}}, o.x, 1) end,
        call = function(o) o.k({18, after = {}, uses = {o.y}}, o.x, 1) end,
        nothing = function(o) o.k({0, after = {}}, o.x, 1) end,
        fill = function(o) o.y:fill(1) end,
        copy = function(o) o.y:copy(o.x) end,
        inside = function(o) o.y:copy(o.y, 1, 8, 2) end,
        box = function(o) o.y:copy_box(o.x, box) end,
        string = function(o) return o.y:string() end,
        write = function(o)
          o.y:write {1, 2, 3}
          o.y:write(o.x)
        end,
        scratch = function()
          local g = lze.graph()
          g:fill("f", g:buffer("int", 4), 1)
        end,
        compile = function() lze.graph():compile() end,
        compile_for = function(o) lze.graph():compile {device = o.d} end,
        run = function(o)
          lze.graph():task("t", o.k, 18, o.x, 1):fill("f", o.y, 1):compile()
            :run()
        end,
        buffer = function() lze.buffer("int", {1, 2, 3}):close() end,
        some = function(o) lze.buffer("int", 2, {device = o.d}):close() end,
        queue = function() lze.queue {order = "out"} end,
        module = function() lze.module(spirv) end,
        device = function() return lze.device().queue.device.context end,
        context = function() return lze.context().handle end,
        default = function() lze.default() end,
      } do
        for kind, set in pairs(defaults) do
          changes = changes + close_in(name .. " " .. kind, function()
            lze.default(base)
            local o = {k = mod.add, d = dev, x = lze.buffer("int", 18)}
            o.y = lze.buffer("int", 18, {usage = "device"})
            set()
            return function() call(o) end,
              {close = function() lze.default(base) end}
          end)
          lze.default(base)
        end
      end
      print(enough(changes, 100))
      bytes()
      native.context_destroy(context)]], {seconds = 300})
    assert.equal("true\n", out)
  end)

  it("runs because of device memory", function()
    -- 4 GiB in all, freed only when the collector runs.
    for _ = 1, 64 do lze.buffer("uchar", 64 << 20, {zero = false}) end
    collect()
    assert.equal(0, lze.buffer("int", 1)[1])
  end)
end)

-- Runs `round` 30,000 times after `setup`. Expects the resident size to grow by
-- less than `mib` MiB after the first third, in which caches and the
-- allocators' arenas fill.
local function expect_flat(mib, setup, round)
  local out = process.output(([[
    local lze = require "lze"
    local mod = lze.load "kernels/spec.spv"
    %s
    local function size()
      for line in io.lines "/proc/self/status" do
        local kib = line:match "^VmRSS:%%s+(%%d+)"
        if kib then return tonumber(kib) end
      end
    end
    for i = 1, 6 do
      for j = 1, 5000 do
        %s
        -- What is in flight at once does not grow with the machine's load.
        if j %% 500 == 0 then lze.wait() end
      end
      collectgarbage() collectgarbage()
      print(size())
    end]]):format(setup, round))
  local sizes = {}
  for kib in out:gmatch "%d+" do sizes[#sizes + 1] = tonumber(kib) end
  assert.equal(6, #sizes)
  assert.is_true(math.min(sizes[5], sizes[6]) - sizes[2] < mib * 1024, out)
end

describe("memory", function()
  -- A sanitizer keeps freed memory for a while.
  local test = process.hosted and pending or it

  test("does not grow with launches on fresh, dropped buffers", function()
    expect_flat(8, "", [[
      local x = lze.buffer("int", 1024)
      mod.add(16, x, j)]])
  end)

  test("does not grow with events, views, queues and errors", function()
    expect_flat(8, "local x = lze.buffer('int', 16)", [[
      local ev = mod.add:launch(16, x:view(1, 16), 1)
      if j % 100 == 0 then
        local q = lze.queue()
        mod.nothing {1, queue = q, after = ev}
      end
      pcall(mod.add, 16, x, "1")]])
  end)

  test("does not grow with modules and kernels", function()
    expect_flat(16, "local spv = io.open('kernels/saxpy.spv', 'rb')" ..
      ":read 'a'", [[
      if j % 200 == 0 then
        local m = lze.module(spv)
        local x = lze.buffer("float", {1, 2})
        m.saxpy(2, 1.0, x, x)
        if j % 400 == 0 then m:close() end
      end]])
  end)
end)

describe("a process that ends with work in flight", function()
  local busy = [[
    local lze = require "lze"
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("uint", 4)
    local q = lze.queue()
    local ev = mod.spin:launch(4, x, 25000000)
    mod.spin({4, queue = q}, lze.buffer("uint", 4), 10000000)
    mod.add(4, x, 1) ]]

  -- A single run may succeed by luck.
  local function ends(last, code, output)
    for _ = 1, 5 do
      -- Memory that os.exit leaves behind is not a leak
      -- (scripts/check-lifetime).
      local r = process.run(busy .. last, {env = {LZE_LEAKS = "/dev/null"}})
      assert.equal(("exit %d: %s"):format(code, output or ""),
        ("%s %d: %s"):format(r.how, r.code, r.output))
    end
  end

  it("is not killed at the end of its script", function()
    ends("", 0)
  end)

  it("is not killed by os.exit(true, true)", function()
    ends("os.exit(true, true)", 0)
  end)

  it("is not killed by os.exit without closing its state", function()
    ends("os.exit(true)", 0)
    ends("os.exit(7)", 7)
  end)

  it("is not killed by an error", function()
    local r = process.run(busy .. "error 'over'")
    assert.equal("exit 1", r.how .. " " .. r.code)
    assert.matches("over", r.output)
  end)

  it("is not killed by os.exit while the first launch compiles", function()
    process.with_directory(function(dir)
      for i = 1, 4 do
        local r = process.run(([[
          local lze = require "lze"
          local mod = lze.load "kernels/spec.spv"
          local x = lze.buffer("int", 4096)
          mod.add({4096, group = %d}, x, 1)
          os.exit(true, %s)]]):format(1 << i, i % 2 == 0),
          {env = {POCL_CACHE_DIR = dir, XDG_CACHE_HOME = dir,
                  LZE_LEAKS = "/dev/null"}})
        assert.equal("exit 0: ", ("%s %d: %s"):format(r.how, r.code,
          r.output))
      end
    end)
  end)

  it("waits for an endless kernel only as long as the limit", function()
    -- One second for the state, and the driver's three for the process.
    local function now()
      local file <close> = assert(io.open "/proc/uptime")
      return file:read "n"
    end
    local out = process.output([[
      warn "@on"
      local lze = require "lze"
      lze.gc {close_seconds = 1}
      local mod = lze.load "kernels/spec.spv"
      local x = lze.buffer("uint", 4)
      mod.spin(4, x, 1)
      assert(lze.wait(60))
      local ev = mod.spin:launch(4, x, 4000000000)
      x:close()
      print(ev:wait(0.1), lze.stats().pending)
      print(io.open("/proc/uptime"):read "n")
      os.exit(true, true)]], {env = {ASAN_OPTIONS = "detect_leaks=0",
        LZE_LEAKS = "/dev/null"}})
    local took = now() - out:match "\n([%d.]+)\n"
    assert.matches("^false\t1\n[%d.]+\nLua warning: lze: the device is " ..
      "still busy; what it uses is leaked rather than freed under it\n$", out)
    assert.is_true(took >= 1 and took < 6.5, took)
  end)

  it("runs finalizers that use lze, or reports a closed lze to them", function()
    -- Lua does not finalize objects made while a state closes; lze does.
    local out = process.output([[
      local lze = require "lze"
      local x = lze.buffer("int", {1, 2, 3})
      local mod = lze.load "kernels/spec.spv"
      local function finalizer(name)
        return setmetatable({}, {__gc = function()
          local ok, err = pcall(function()
            mod.add(3, x, 1)
            return x[1]
          end)
          io.stdout:write(name, " ", tostring(ok), "\n")
          local again = pcall(lze.buffer, "int", 1)
          io.stdout:write(name, " ", tostring(again), "\n")
        end})
      end
      keep = finalizer "young"]])
    assert.matches("^young %a+\nyoung %a+\n$", out)
  end)

  it("finalizes objects of every kind that finalizers make", function()
    -- LeakSanitizer checks that all of them are freed.
    local out = process.output([[
      local lze = require "lze"
      local spirv = io.open("kernels/spec.spv", "rb"):read "a"
      keep = setmetatable({}, {__gc = function()
        local ctx = lze.context(lze.device())
        local mod = lze.module(spirv, {context = ctx})
        local x = lze.buffer("int", {1, 2, 3}, {context = ctx})
        local v = x:view(2, 3)
        local q = lze.queue {context = ctx, mode = "batched"}
        local ev = q:launch(mod.add, 2, v, 10)
        local plan = lze.graph():task("t", mod.add, 3, x, 1):compile()
        local run = plan:start()
        mod.add(3, lze.buffer("int", 3, {context = ctx}), 1)
        print(run:wait(60), ev:wait(60), x[1], x[2])
        q:launch(mod.spin, 1, lze.buffer("uint", 4, {context = ctx}), 100000)
      end})]])
    assert.equal("true\ttrue\t2\t13\n", out)
  end)

  it("finalizes an object made by a finalizer once it is garbage", function()
    local kept = {}
    do
      local object = setmetatable({}, {__gc = function()
        kept.made = lze.buffer("int", 8)
      end})
      assert(object)
    end
    collectgarbage()
    assert.equal(8, #kept.made)
    local before = lze.stats().bytes
    kept.made = nil
    collectgarbage()
    collectgarbage()
    assert.equal(32, before - lze.stats().bytes)
  end)
end)

describe("the default queue of a context", function()
  it("lives as long as a reference to it, and keeps its context alive",
    function()
    lze.wait()
    collectgarbage() collectgarbage()
    local before = lze.stats().objects.context
    local _, old = lze.default()
    local kept = {}
    kept.q = select(3, lze.default(lze.context(lze.device())))
    lze.default(old)
    collectgarbage()
    collectgarbage()
    assert.equal(before + 1, lze.stats().objects.context)
    assert.equal("compute", kept.q.engine)
    assert.is_true(kept.q:barrier():wait(60))
    -- A queue that was set with lze.default does so too.
    lze.default(kept.q)
    kept.q = nil
    collectgarbage()
    assert.equal(lze.default(), lze.device())
    kept.q, kept.x = lze.device().queue, lze.buffer("int", 8)
    assert.is_true(kept.q:fill(kept.x, 3):wait(60))
    assert.equal(3, kept.x[8])
    kept.x = nil
    lze.default(old) -- the queue brought its context
    lze.default(lze.queue())
    kept.q = nil
    collectgarbage()
    collectgarbage()
    assert.equal(before, lze.stats().objects.context)
  end)

  it("is closed with the context", function()
    local _, old = lze.default()
    local ctx = lze.context(lze.device())
    local q = select(3, lze.default(ctx))
    lze.default(old)
    ctx:close()
    assert.equal("queue (closed)", tostring(q))
    assert.has_error(function() q:barrier() end)
  end)

  it("outlives a script that drops all objects with work in flight", function()
    local _, old = lze.default()
    local spirv = lze.load "kernels/spec.spv":spirv()
    local ev
    local kept = {}
    do
      local ctx = lze.context(lze.device())
      lze.default(ctx)
      local m = lze.module(spirv)
      kept.x = lze.buffer("uint", 4)
      ev = m.spin:launch(4, kept.x, 10000000)
      lze.default(old)
    end
    for _ = 1, 3 do collectgarbage() end
    assert.is_true(ev:wait(60))
    assert.is_true(kept.x[1] ~= 0)
    kept.x = nil
    collectgarbage()
    assert.equal(0, lze.stats().pending)
  end)
end)

describe("Ctrl-C", function()
  -- lua5.4 sets a hook when the signal comes, and a wait must let the hook run.
  -- lua5.4 does this once: a second signal kills the process.
  local test = process.hosted and pending or it -- only lua5.4 has the handler
  local script = [[
    local lze = require "lze"
    local mod = lze.load "kernels/spec.spv"
    local x = lze.buffer("uint", 4)
    local y = lze.buffer("uint", 4, {usage = "device"})
    local q = lze.device().queue
    mod.spin(4, x, 1)
    lze.wait()
    local pid = io.open("/proc/self/stat"):read "n"
    local ev = mod.spin:launch(1, x, %d)
    y:copy(x)
    local ok, err = pcall(function()
      -- os.execute would ignore the signal till its shell has ended.
      local kill <close> = io.popen("sleep 0.1; kill -INT " .. pid)
      %s
    end)
    print(ok, tostring(err):match "interrupted!$", ev:done(), x:pending())
    io.stdout:flush()
    %s]]
  local broken = "false\tinterrupted!\tfalse\ttrue\n"

  for name, wait in pairs {
    ["an event"] = "ev:wait()", everything = "lze.wait()",
    ["a queue"] = "q:wait()", read = "x:read()",
    ["staged read"] = "y:read()", index = "return x[1]",
    assignment = "x[1] = 1", string = "x:string()", time = "ev:time()",
    write = "x:write {1}", ["x:save"] = "x:save(io.tmpfile())",
    ["x:export"] = "x:export()", ["an event in a coroutine"] =
      "coroutine.wrap(function() ev:wait() end)()",
    await = "ev:await()", ["await in a coroutine"] =
      "local co = coroutine.wrap(function() ev:await() end) " ..
      "while true do co() end",
    ["a yield that is not one"] =
      "coroutine.wrap(function() ev:await(function() end) end)()",
    ["a queue that is full"] = "while true do q:barrier() end",
    ["plan:run"] = "lze.graph():task('t', mod.add, 1, x, 1):compile():run()",
    ["plan:run with calls"] = "lze.graph():task('t', mod.add, 1, x, 1)" ..
      ":call('c', print):compile():run()",
    ["plan:fetch"] = "local p = lze.graph():task('t', mod.add, 1, x, 1)" ..
      ":output(x, 'demand'):compile() p:start() p:fetch(x)",
    ["plan:report"] = "local p = lze.graph():task('t', mod.add, 1, x, 1)" ..
      ":compile {profile = true} p:start() p:report()",
    ["an input from a table"] = "lze.graph():input(x, 'every', {1})" ..
      ":task('t', mod.add, 1, x, 1):compile():run()",
    ["lze.tune"] = "lze.tune(mod.add, 1, x, 1)",
  } do
    test("interrupts the wait of " .. name, function()
      -- Long work that is not waited for: the process kills itself.
      local r = process.run(script:format(4000000000, wait,
        "os.execute('kill -KILL ' .. pid)"))
      assert.equal(broken .. "signal 9", r.output .. r.how .. " " .. r.code)
    end)
  end

  for _, count in ipairs {1, 100, 10000, 50000} do
    test("is like a debug hook after " .. count .. " instructions", function()
      local r = process.run(([[
        local lze = require "lze"
        local mod = lze.load "kernels/spec.spv"
        local pid = io.open("/proc/self/stat"):read "n"
        local ev = mod.spin:launch(1, lze.buffer("uint", 1), 4000000000)
        local function watch() debug.sethook() error "enough" end
        local ok, err = pcall(function()
          debug.sethook(watch, "", %d)
          ev:wait()
        end)
        print(ok, err:match "enough", ev:done())
        io.stdout:flush()
        os.execute("kill -KILL " .. pid)]]):format(count))
      assert.equal("false\tenough\tfalse\nsignal 9",
        r.output .. r.how .. " " .. r.code)
    end)
  end

  test("lets the work go on", function()
    local out = process.output(script:format(200000000, "x:read()",
      "print(ev:wait(60), x[1] ~= 0, x[1] == y:read(1, 1)[1])"))
    assert.equal(broken .. "true\ttrue\ttrue\n", out)
  end)
end)
