-- fault_spec.lua - how lze behaves if the driver fails, hangs or is slow.
-- SPDX-License-Identifier: MIT
--
-- Separate processes run scripts on spec/support/ze_fault.c, a driver that
-- forwards to ours and misbehaves by rules. The last call of each entry point
-- fails; with LZE_SWEEP=first the first call fails, with LZE_SWEEP=full every
-- call.

local lze = require "lze"
local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"
local which = os.getenv "LZE_SWEEP" or "last"

local codes = {
  ERROR_UNKNOWN = 0x7ffffffe,
  ERROR_DEVICE_LOST = 0x70000001,
  ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
}

-- Returns the contents of a report: {calls = {entry = n}, failed = {entry = n},
-- kind = {made = n, live = n, ...}}.
local function parse(text)
  local report = {calls = {}, failed = {}}
  for name, rest in text:gmatch "([%w]+): ([^\n]*)\n" do
    local t = {}
    for n, word in rest:gmatch "(%d+) (%a+)" do t[word] = tonumber(n) end
    if t.calls then
      report.calls[name], report.failed[name] = t.calls, t.failed
    else
      report[name] = t
    end
  end
  return report
end

-- Runs a script, which can change the rules with faults(rules). Returns the
-- result of process.run, and the report.
local function run(script, rules, options)
  options = options or {}
  local result, report
  process.with_directory(function(dir)
    process.write(dir .. "/rules", rules or "")
    local env = {
      ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
      ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
      ZE_FAULT_CONTROL = dir .. "/rules",
      ZE_FAULT_REPORT = dir .. "/report",
      -- The layer's own results would be counted as the driver's.
      ZE_ENABLE_VALIDATION_LAYER = false,
    }
    for k, v in pairs(options.env or {}) do env[k] = v end
    result = process.run([[
      local function faults(rules)
        local file <close> = assert(io.open(os.getenv "ZE_FAULT_CONTROL", "w"))
        file:write(rules)
      end
      ]] .. script, {env = env, seconds = options.seconds or 300})
    local file = io.open(dir .. "/report")
    report = file and parse(file:read "a")
    if file then file:close() end
  end)
  return result, report
end

-- Returns what is wrong with how a process ended and with what it left, or nil.
-- To destroy an object twice or too early is also wrong.
local function unclean(result, report)
  if result.how ~= "exit" or result.code ~= 0 then
    return ("ended by %s %d"):format(result.how, result.code)
  end
  if not report then return "no report" end
  for kind, t in pairs(report) do
    if t.live and (t.live ~= 0 or t.unknown ~= 0 or t.early ~= 0) then
      return ("%s: %d live, %d unknown, %d early"):format(kind, t.live,
        t.unknown, t.early)
    end
  end
end

local saxpy = [[
  local function works()
    local lze = require "lze"
    local k = lze.load("kernels/saxpy.spv").saxpy
    local x = lze.buffer("float", {1, 2, 3})
    local y = lze.buffer("float", {10, 20, 30})
    k(#x, 2.0, x, y)
    return table.concat(y:read(), " ") == "12.0 24.0 36.0"
  end
]]

-- Steps that print the errors raised, then whether the state still works.
local script = saxpy .. [[
  local function step(name, f)
    local ok, err = pcall(f)
    if ok then return end
    if type(err) == "table" then
      print(("error %%s %%s in %%s"):format(err.call, err.code, name))
    else
      print(("string %%s in %%s"):format(err, name))
    end
  end
  %s
  faults ""
  print("works", pcall(works))
]]

-- Calls that may fail without an error, and the reason.
local quiet = {}
local untimed = "there are no times then"
for names, why in pairs {
  ["zeContextDestroy zeCommandQueueDestroy zeCommandListDestroy zeMemFree " ..
    "zeMemCloseIpcHandle zeEventPoolDestroy zeEventDestroy zeModuleDestroy " ..
    "zeKernelDestroy zeModuleBuildLogDestroy zeImageDestroy " ..
    "zeSamplerDestroy"] = "nothing can be done about it",
  ["zeEventHostReset"] = "the event is not used again",
  ["zeEventQueryStatus"] = "it is asked again, or waited for",
  ["zeEventQueryKernelTimestamp zeDeviceGetGlobalTimestamps"] = untimed,
  ["zeEventHostSynchronize"] = "it may be the one of an event's descriptor",
  ["zeEventCreate"] = "a pool may have fewer",
  ["zeModuleBuildLogGetString"] = "there is no log then",
  ["zeModuleGetNativeBinary"] = "there is no cache then",
  ["zeModuleCreate"] = "what the cache has may be of no use",
  ["zeKernelGetProperties"] = "nothing is known of the kernel then",
  ["zeDeviceGetMemoryAccessProperties"] = "a file is not mapped then",
  ["zeDeviceCanAccessPeer"] = "memory goes by way of the host then",
  ["zeCommandListAppendBarrier"] = "it may be one that nobody waits for",
} do
  for name in names:gmatch "%S+" do quiet[name] = why end
end

-- Returns true if only the first use makes the call.
local function is_start(name)
  return name == "zeInit" or name:find "^zeDriverGet" or
    name:find "^zeDeviceGet" and name ~= "zeDeviceGetGlobalTimestamps" and
    name ~= "zeDeviceGetImageProperties" and
    name ~= "zeDeviceGetMemoryAccessProperties"
end

-- Returns how the n-th call of an entry point fails: rules, each with the name
-- of its code.
local function rules_for(name, n)
  if name:find "^zeMemAlloc" then -- lze tries it twice
    local code = codes.ERROR_OUT_OF_DEVICE_MEMORY
    return {{("fail %s %d %d;fail %s %d %d"):format(name, n, code, name,
      n + 1, code), "ERROR_OUT_OF_DEVICE_MEMORY"}}
  end
  local rules = {{("fail %s %d %d"):format(name, n, codes.ERROR_UNKNOWN),
    "ERROR_UNKNOWN"}}
  if name == "zeEventHostSynchronize" or name == "zeEventQueryStatus" then
    rules[2] = {("fail %s %d %d"):format(name, n, codes.ERROR_DEVICE_LOST),
      "ERROR_DEVICE_LOST"}
  end
  return rules
end

-- Returns a script of steps, and the driver calls that it makes.
local function new_sweep(steps, env)
  local sweep = {script = script:format(steps),
    options = {env = env, seconds = 600}}
  -- The second run finds the entries of the first run in the caches.
  for _ = 1, 2 do
    local result, report = run(sweep.script, nil, sweep.options)
    assert.equal("works\ttrue\ttrue\n", result.output)
    assert.is_nil(unclean(result, report))
    sweep.calls = report.calls
  end
  sweep.names = {}
  for name in pairs(sweep.calls) do sweep.names[#sweep.names + 1] = name end
  table.sort(sweep.names)
  return sweep
end

-- Returns what is wrong if a call of an entry point fails by that rule, or nil.
local function fail(sweep, name, rule, code)
  local result, report = run(sweep.script, rule, sweep.options)
  local wrong = unclean(result, report)
  local reached = report and (report.failed[name] or 0) > 0
  local errors = 0
  for line in result.output:gmatch "[^\n]+" do
    if line:find "^error " then
      errors = errors + 1
      if not line:find(("error %s %s "):format(name, code), 1, true) then
        wrong = wrong or line
      end
    elseif line ~= "works\ttrue\ttrue" and
        not (quiet[name] == untimed and line:find "could not be measured") then
      wrong = wrong or line
    end
  end
  if not result.output:find "works\ttrue\ttrue\n" then
    wrong = wrong or "it does not work again"
  elseif errors > 1 then
    wrong = wrong or errors .. " errors"
  elseif errors == 0 and reached and not quiet[name] then
    wrong = wrong or "no error"
  end
  return wrong and ("%s: %s\n%s"):format(rule, wrong, result.output)
end

-- Returns which of `count` calls fail, at most about 500.
local function chosen(count)
  local first = which == "last" and count or 1
  local last = which == "first" and 1 or count
  local numbers = {}
  for n = first, last, math.max(1, (last - first + 1) // 500) do
    numbers[#numbers + 1] = n
  end
  return numbers
end

local everything = new_sweep [[
  require "spec.support.everything" (step)]]

describe("the script of the sweeps", function()
  it("uses every public function and field", function()
    -- The state lists these: the contents of the module's table and metatables.
    local out = process.output [[
      local lze = require "lze"
      local wanted, touched, count = {}, {}, 0
      local function want(key, value)
        wanted[key] = value or key
        count = count + 1
      end
      local function module(name, t)
        for key, v in pairs(t) do
          if type(v) == "function" and v ~= coroutine.yield then
            want(v, name .. "." .. key)
          end
          if type(v) == "table" then module(name .. "." .. key, v) end
        end
      end
      module("lze", lze)
      -- What there is for an error only, and finalizers, which have no hooks.
      local plain = debug.getmetatable(lze.device()).__newindex
      local function kind(mt)
        local name, index = mt.__name:sub(5), mt.__index
        if index then
          local _, known = debug.getupvalue(index, 1)
          for key in pairs(known) do want(name .. ":" .. key) end
          mt.__index = function(o, key)
            touched[name .. ":" .. tostring(key)] = true
            return index(o, key)
          end
        end
        for key, v in pairs(mt) do
          if type(v) == "function" and v ~= plain and key ~= "__gc" and
              key ~= "__index" then
            want(v, name .. " " .. key)
          end
        end
      end
      for _, mt in pairs(debug.getregistry()) do
        if type(mt) == "table" and type(rawget(mt, "__name")) == "string" and
            mt.__name:find "^lze" then
          kind(mt)
        end
      end
      debug.sethook(function()
        touched[debug.getinfo(2, "f").func] = true
      end, "c")
      require "spec.support.everything" (function(_, f) f() end)
      debug.sethook()
      local missing = {}
      for key, name in pairs(wanted) do
        if not touched[key] then missing[#missing + 1] = name end
      end
      table.sort(missing)
      print(count, table.concat(missing, ", "))]]
    local count, missing = out:match "^(%d+)\t(.*)\n$"
    assert.equal("", missing, out)
    assert.is_true(tonumber(count) >= 170, out)
  end)
end)

describe("a driver that fails", function()
  it("is called through every function that lze uses", function()
    local file <close> = assert(io.open "src/device/lze_loader.h")
    local list = file:read "a":match "#define LZE_FUNCTIONS%(X%)(.-)\n\n"
    local missing = {}
    local needless = {
      -- A newer loader does by itself what an older one needs this for.
      zeDriverGetExtensionFunctionAddress = true,
      -- Only if there are several devices.
      zeDeviceCanAccessPeer = true,
      -- Only if the device is reported as lost: see below.
      zeDeviceGetStatus = true,
      -- Only if a function is missing: see below.
      zeModuleGetProperties = true,
      -- Only if another process has exported memory: see below.
      zeMemOpenIpcHandle = true,
      zeMemCloseIpcHandle = true,
    }
    for name in list:gmatch "X%((%w+)%)" do
      if not everything.calls[name] and not needless[name] then
        missing[#missing + 1] = name
      end
    end
    assert.equal("", table.concat(missing, " "))
  end)

  -- Without a pattern, all entry points fail in turn.
  local function fails_well(sweep, pattern)
    for _, name in ipairs(sweep.names) do
      if not is_start(name) and name:find(pattern or "") then
        it("at " .. name, function()
          local found = {}
          for _, n in ipairs(chosen(sweep.calls[name])) do
            for _, rule in ipairs(rules_for(name, n)) do
              found[#found + 1] = fail(sweep, name, table.unpack(rule))
            end
          end
          assert.equal("", table.concat(found, "\n"))
        end)
      end
    end
  end

  fails_well(everything)

  -- This module is in no cache, so every process builds it.
  describe("and does not find a function", function()
    fails_well(new_sweep [[
      step("build what can be", function()
        local m <close> = require "lze".compile [=[
          int other(int); kernel void calls(global int *x) { x[0] = other(1); }
          kernel void fine(global int *x) { x[0] = 7; }]=]
        assert(#m.warnings == 1)
      end)]], "^zeModule[CG]")
  end)

  describe("beside another device", function()
    fails_well(new_sweep([[
      require "spec.support.everything" (function(name, f)
        if name == "memory of another device" then step(name, f) end
      end)]], {ZOCL_ROOT_DEVICES = "2", ZOCL_DEVICE_MEMORY_PRIVATE = "1"}))
  end)

  -- The memory that this process exports.
  local exported = lze.buffer("int", 3)
  local can, token = pcall(exported.export, exported, "process")
  if can then
    describe("with the memory of another process", function()
      teardown(function() exported:close() end)
      fails_well(new_sweep(([[
        local lze = require "lze"
        for i = 1, 2 do
          step("import", function()
            local x <close> = lze.import(%q)
            local y = lze.import(%q)
            x:write {1, 2, 3}
            lze.load "kernels/spec.spv".add(3, x, i)
            assert(y:read()[3] == 3 + i)
            if i == 2 then y:close() end
          end)
          collectgarbage()
        end]]):format(token, token)))
    end)
  end

  -- If a call of the first use fails, the error says why no device was found,
  -- or the device has fewer known properties.
  for _, name in ipairs(everything.names) do
    if is_start(name) then
      it("at first use, at " .. name, function()
        for n = 1, everything.calls[name] do
          local result, report = run(saxpy .. [[
            local lze = require "lze"
            for _ = 1, 2 do
              local ok, err = pcall(works)
              if type(err) == "table" then
                print(err.call, err.code)
              elseif ok then
                print("works", err)
              else
                print(err:match "there is no device", lze.info():match
                  "left out: [^\n]*ERROR_UNKNOWN")
              end
            end]], ("fail %s %d %d"):format(name, n, codes.ERROR_UNKNOWN))
          assert.is_nil(unclean(result, report))
          assert.equal(1, report.failed[name])
          local line, again = result.output:match "^([^\n]*)\n([^\n]*)\n$"
          assert.equal(line, again)
          -- Newer loaders (1.20) call some of these in zeInit, to sort drivers.
          if line ~= "works\ttrue" and
              line ~= "zeInit\tERROR_UNKNOWN" and
              line ~= name .. "\tERROR_UNKNOWN" then
            assert.matches("^there is no device\tleft out: ", line)
          end
        end
      end)
    end
  end
end)

describe("a driver without memory", function()
  it("is tried again after a collection", function()
    local result, report = run([[
      local lze = require "lze"
      local x = lze.buffer("int", 1000)
      x = nil
      faults "fail zeMemAllocShared 1 0x70000003"
      print(lze.buffer("int", 1000)[1000], lze.stats().bytes, x)]])
    assert.equal("0\t4000\tnil\n", result.output)
    assert.is_nil(unclean(result, report))
    assert.equal(1, report.failed.zeMemAllocShared)
    assert.equal(4000, report.memory.peak)
  end)
end)

describe("a driver that has no more memory", function()
  it("is reported with the memory requested, in use, pinned and free",
  function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local kept = lze.buffer("uchar", 1 << 20)
      local used = lze.buffer("uint", 512)
      m.spin(1, used, 1)
      lze.wait()
      faults "hang;fail zeMemAllocDevice 0 0x70000003"
      m.spin(1, used, 1)
      local before = lze.stats().collections
      local ok, err = pcall(lze.buffer, "double", 384, {usage = "device"})
      print(ok, err.call, err.code, lze.stats().collections - before)
      local free, of, rest = err.message:match "free (.-) of the device's (.*)"
      print((err.message:gsub("; free.*", "")))
      print(free ~= nil and of ~= nil, #kept)
      faults ""
      print(lze.buffer("double", 384, {usage = "device"}):read()[384])]])
    assert.equal([[
false	zeMemAllocDevice	ERROR_OUT_OF_DEVICE_MEMORY	1
asked for 3.0 KiB; in use by this state 1.0 MiB, of it pinned by work in ]] ..
      "flight 2.0 KiB\ntrue\t1048576\n0.0\n", result.output)
    assert.is_nil(unclean(result, report))
    assert.equal(2, report.failed.zeMemAllocDevice)
  end)

  it("causes no collection if the collector is stopped", function()
    local result, report = run([[
      local lze = require "lze"
      lze.buffer("int", 1000)
      collectgarbage "stop"
      faults "fail zeMemAllocShared 0 0x70000003"
      local ok, err = pcall(lze.buffer, "int", 1000)
      print(ok, err.code, lze.stats().collections, lze.stats().bytes)]])
    assert.equal("false\tERROR_OUT_OF_DEVICE_MEMORY\t0\t4000\n",
      result.output)
    assert.is_nil(unclean(result, report))
  end)
end)

describe("a driver that fails in the middle of a command", function()
  -- Either a hint, then the barrier that marks its end; or the whole groups of
  -- a launch, its edge, then the barrier that marks their end.
  local middle = [[
    warn "@on"
    local lze = require "lze"
    local m = lze.load "kernels/spec.spv"
    local q = lze.queue {mode = "%s", order = "%s"}
    local x = lze.buffer("int", 70001)
    m.add({70001, queue = q}, x, 0)
    assert(q:wait(60))
    faults "%s"
    local ok, err = pcall(function() %s end)
    print(ok, err.call)
    faults "hang"
    x:close()
    x = nil
    collectgarbage()
    print(lze.stats().bytes)
    faults ""
    q:barrier():wait()
    print(lze.stats().bytes, lze.wait(60))]]
  local hint = {"fail zeCommandListAppendBarrier 0 0x7ffffffe",
    "q:prefetch(x)", "zeCommandListAppendBarrier"}

  for what, case in pairs {
    ["a hint"] = hint,
    ["a launch of several parts"] = {
      "fail zeCommandListAppendLaunchKernel 2 0x7ffffffe;" ..
      "fail zeCommandListAppendBarrier 1 0x7ffffffe",
      "m.add({70001, group = 16, queue = q}, x, 1)",
      "zeCommandListAppendLaunchKernel"}} do
    it("retains memory in use until the next command ends: " .. what, function()
      local result, report = run(middle:format("immediate", "in",
        table.unpack(case)))
      assert.equal(("false\t%s\n280004\n0\ttrue\n"):format(case[3]),
        result.output)
      assert.is_nil(unclean(result, report))
    end)
  end

  it("leaks memory in use if nothing reports its end", function()
    for _, order in ipairs {"in", "out"} do
      local result, report = run(middle:format("batched", order,
        table.unpack(hint)), nil, {env = {ASAN_OPTIONS = "detect_leaks=0"}})
      assert.equal("false\tzeCommandListAppendBarrier\n" ..
        "280004\n280004\ttrue\n" ..
        "Lua warning: lze: the device is still busy; what it uses is leaked " ..
        "rather than freed under it\n", result.output)
      assert.equal("exit 0", result.how .. " " .. result.code)
      assert.equal(1, report.memory.live)
      assert.equal(0, report.memory.early + report.context.early)
    end
  end)
end)

describe("a device that hangs", function()
  it("makes waits time out, and leaks the memory that it uses", function()
    local result, report = run([[
      warn "@on"
      local lze = require "lze"
      lze.gc {close_seconds = 1}
      local m = lze.load "kernels/spec.spv"
      local q = lze.queue {mode = "batched"}
      used, unused = lze.buffer("int", 1 << 20), lze.buffer("int", 1 << 20)
      m.add(1, used, 1)
      m.add(1, unused, 1)
      lze.wait()
      faults "hang"
      local ev = m.add:launch(1, used, 1)
      local later = m.nothing:launch {1, queue = q, after = ev}
      local fd = later:fd()
      print(ev:wait(0.2), later:wait(0.2), q:wait(0.1), lze.wait(0.1))
      print(ev:done(), later:done(), used:pending(), unused:pending())
      used:close()
      unused:close()
      collectgarbage()
      print(fd >= 0, lze.stats().bytes)
      print(tostring(ev), tostring(used))]], nil,
      {env = {ASAN_OPTIONS = "detect_leaks=0"}})
    assert.equal("exit 0", result.how .. " " .. result.code)
    assert.equal([[
false	false	false	false
false	false	true	false
true	4194304
event: kernel add, pending	buffer: int[1048576] (closed)
Lua warning: lze: the device is still busy; what it uses is leaked rather ]] ..
      "than freed under it\n", result.output)
    assert.equal(1, report.memory.live)
    assert.equal(4 << 20, report.memory.bytes)
    assert.equal(1, report.context.live)
    assert.equal(0, report.memory.early + report.context.early)
  end)

  it("does not delay the closing of a context, nor finalizers", function()
    local result, report = run([[
      warn "@on"
      local lze = require "lze"
      lze.gc {close_seconds = 0.5}
      local c = lze.context(lze.device())
      local options = {context = c}
      local m = lze.load("kernels/spec.spv", options)
      local q = lze.queue(options)
      local batched = lze.queue {context = c, mode = "batched"}
      local x, y = lze.buffer("int", 8, options), lze.buffer("int", 8, options)
      local plan = lze.graph():task("t", m.add, 8, x, 1)
        :call("c", function() end):task("u", m.add, 8, y, 1):compile()
      plan:run()
      faults "hang"
      local ev = q:launch(m.add, 8, x, 1)
      batched:copy(y, x)
      plan:start()
      plan:start()
      lze.buffer("int", 8, options):copy(x)
      c:close()
      collectgarbage()
      print(x, q, plan, ev:wait(0))
      m, q, batched, x, y, plan, ev, c, options = nil
      collectgarbage() collectgarbage()
      print(lze.stats().bytes)]], nil,
      {env = {ASAN_OPTIONS = "detect_leaks=0"}})
    assert.equal("buffer: int[8] (closed)\tqueue (closed)\t" ..
      "plan (closed)\tfalse\n96\nLua warning: lze: the device is " ..
      "still busy; what it uses is leaked rather than freed under it\n",
      result.output)
    assert.equal("exit 0", result.how .. " " .. result.code)
    for kind, t in pairs(report) do
      if t.live then assert.equal(0, t.early + t.unknown, kind) end
    end
  end)

  it("delays the end of a state by close_seconds", function()
    for _, seconds in ipairs {0, 0.5, 2} do
      local result = run(([[
        local start
        local function now()
          return tonumber(io.open("/proc/uptime"):read "a":match "%%S+")
        end
        -- Made before the first thing of lze, it is finalized after the last.
        last = setmetatable({}, {__gc = function()
          print(now() - start)
        end})
        local lze = require "lze"
        lze.gc {close_seconds = %s}
        local m = lze.load "kernels/spec.spv"
        local queues = {}
        for i = 1, 20 do
          queues[i] = lze.queue {mode = i %% 2 == 0 and "batched" or nil}
        end
        local x = lze.buffer("int", 20)
        m.add(20, x, 1)
        lze.wait()
        faults "hang"
        for i, q in ipairs(queues) do
          assert(q:launch(m.add, 1, x:view(i, i), 1):fd())
        end
        start = now()
        os.exit(true, true)]]):format(seconds), nil,
        {env = {ASAN_OPTIONS = "detect_leaks=0"}})
      assert.equal("exit 0", result.how .. " " .. result.code, result.output)
      local took = assert(tonumber(result.output), result.output)
      assert.is_true(took >= seconds - 0.02 and took < seconds + 15,
        result.output)
    end
  end)

  -- Only lua5.4 has a handler for the signal.
  local test = process.hosted and pending or it
  test("can be interrupted, and goes on", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 1)
      m.add(1, x, 1)
      print(x[1])
      local pid = io.open("/proc/self/stat"):read "n"
      faults "hang"
      local ev = m.add:launch(1, x, 1)
      local ok, err = pcall(function()
        -- os.execute would ignore the signal till its shell has ended.
        local kill <close> = io.popen("sleep 0.1; kill -INT " .. pid)
        ev:wait()
      end)
      print(ok, tostring(err):match "interrupted!$", x:pending())
      faults ""
      print(ev:wait(60), x[1])]])
    assert.equal("1\nfalse\tinterrupted!\ttrue\ntrue\t2\n", result.output)
    assert.is_nil(unclean(result, report))
  end)
end)

describe("a device that is lost", function()
  it("is reported once for each command, by name", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
      local q = lze.queue {mode = "batched"}
      m.add(4, x, 1)
      print(x[1])
      local function try(f, ...)
        local ok, err = pcall(f, ...)
        if ok then err = {object = err} end
        print(ok, err.object, err.call, err.code)
      end
      local ev = m.add:launch(4, x, 1)
      m.square({4, queue = q}, x, y)
      faults "lost zeEventHostSynchronize 1"
      try(ev.wait, ev)
      try(ev.wait, ev)
      try(ev.done, ev)
      try(y.read, y)
      print(pcall(q.wait, q))
      try(m.add, 4, x, 1)
      try(lze.buffer, "int", 4)
      try(lze.load, "kernels/saxpy.spv")
      print(pcall(lze.wait))
      print(tostring(ev), lze.info():match "device 1")
    ]])
    assert.equal([[
1
false	kernel add	zeEventHostSynchronize	ERROR_DEVICE_LOST
true	true	nil	nil
true	true	nil	nil
false	kernel square	zeCommandQueueExecuteCommandLists	ERROR_DEVICE_LOST
true	true
false	kernel add	zeCommandListAppendLaunchKernel	ERROR_DEVICE_LOST
false	nil	zeMemAllocShared	ERROR_DEVICE_LOST
false	module kernels/saxpy.spv	zeModuleCreate	ERROR_DEVICE_LOST
true	true
event: kernel add, failed	device 1
]], result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("ends runs of plans that nothing waits for any more", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
      do
        local g = lze.graph("g"):task("t", m.add, 4, x, 1)
        g:call("called", function() end)
        local plan = g:compile()
        plan:start()
      end
      faults "lost zeEventHostSynchronize 1"
      print(pcall(m.add:launch(4, y, 1).wait))
      collectgarbage()
      collectgarbage()
      os.exit(true, true)
    ]])
    assert.equal("exit 0", result.how .. " " .. result.code, result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("does not block commands that wait for a run", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x, y = lze.buffer("int", 4):fill(1), lze.buffer("int", 4)
      local plan = lze.graph "g":task("t", m.add, 4, x, 1)
        :call("called", function() end):compile()
      plan:start()
      y:copy(x)
      faults("fail zeEventQueryStatus 1 0x70000001;" ..
        "fail zeDeviceGetStatus 1 0x70000001")
      lze.buffer("int", 4) -- which asks first whether the run is over
      faults ""
      print(pcall(lze.wait))
      print(lze.wait(20))
      -- The real device goes on with the task: its memory goes after that.
      repeat os.execute "sleep 0.02" until x[1] == 2]])
    assert.matches("^false\t%S+ graph g: zeEventQueryStatus: " ..
      "ERROR_DEVICE_LOST[^\n]*\ntrue\n$", result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("is not treated as lost while it reports that it works", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
      local plan = lze.graph "g":task("t", m.add, 4, x, 1)
        :call("called", function() end):compile()
      for _, queue in ipairs {lze.device().queue, lze.queue {order = "out"},
        lze.queue {mode = "batched"}} do
        plan:start()
        local ev = m.add:launch({4, queue = queue}, x, 1)
        local copied = lze.queue():copy(y, x)
        faults "hang;fail zeEventQueryStatus 1 0x70000001"
        print(ev:done(), lze.stats().in_flight > 0)
        faults "hang;fail zeEventHostSynchronize 1 0x70000001"
        local ok, err = pcall(ev.wait, ev)
        print(ok, err.call, err.code, x:pending(), copied:done())
        faults ""
        print(copied:wait(60), ev:wait(60), y[1])
      end]])
    local one = "false\ttrue\nfalse\tzeEventHostSynchronize\t" ..
      "ERROR_DEVICE_LOST\ttrue\tfalse\ntrue\ttrue\t%d\n"
    assert.equal((one .. one .. one):format(2, 4, 6), result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("ends only its own work, at any call", function()
    for _, n in ipairs {1, 2, 40, 80, 120} do
      for _, name in ipairs {"zeEventHostSynchronize",
        "zeCommandListAppendLaunchKernel", "zeCommandListAppendMemoryCopy"} do
        local result, report = run([[
          require "spec.support.everything" (function(name, f)
            local ok, err = pcall(f)
            if ok then return end
            if type(err) ~= "table" then
              print(name, err)
            elseif err.code ~= "ERROR_DEVICE_LOST" then
              print(name, err.call, err.code)
            end
          end)]], ("lost %s %d"):format(name, n))
        assert.equal("", result.output)
        assert.is_nil(unclean(result, report))
      end
    end
  end)
end)

describe("a driver that malfunctions", function()
  it("is reported by each query, not polled for ever", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 4)
      local function try(f, ...)
        local ok, err = pcall(f, ...)
        print(ok, err.call, err.code)
      end
      local ev = m.add:launch(4, x, 1)
      faults "hang;fail zeEventQueryStatus 0 0x7ffffffe"
      try(ev.done, ev)
      try(coroutine.wrap(function() ev:await() end))
      try(x.pending, x)
      print(x)
      faults ""
      print(ev:wait(60), ev:done(), x:pending(), x[1])]])
    local one = "false\tzeEventQueryStatus\tERROR_UNKNOWN\n"
    assert.equal(one .. one .. one .. "buffer: int[4] shared (busy)\n" ..
      "true\ttrue\tfalse\t1\n", result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("fails consecutive runs with the failure of the first", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 4)
      local function try(f, ...)
        local ok, err = pcall(f, ...)
        print(ok, ok or err.call or err, ok or err.code)
      end
      for _, how in ipairs {"run", "start"} do
        local plan = lze.graph "g":task("t", m.add, 4, x, 1)
          :call("called", print):compile()
        faults "fail zeCommandListImmediateAppendCommandListsExp 0 0x7ffffffe"
        try(function()
          local ev = plan[how](plan, {iterations = 3})
          if how == "start" then ev:wait() end
        end)
        faults ""
        try(lze.wait)
      end]])
    local one = "false\tzeCommandListImmediateAppendCommandListsExp\t" ..
      "ERROR_UNKNOWN\ntrue\ttrue\ttrue\n"
    assert.equal(one .. one, result.output)
    assert.is_nil(unclean(result, report))
  end)

  it("does not stop runs of plans if waits still work", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", 4)
      local seen = {}
      local plan = lze.graph "g":task("t", m.add, 4, x, 1)
        :call("called", function() seen[#seen + 1] = x[1] end):compile()
      faults "fail zeEventQueryStatus 0 0x7ffffffe"
      plan:run()
      local ev = plan:start()
      repeat until ev:wait(0)
      plan:run {iterations = 2}
      faults ""
      print(table.concat(seen, " "))]])
    assert.equal("1 2 3 4\n", result.output)
    assert.is_nil(unclean(result, report))
  end)
end)

describe("a state that is closed", function()
  -- Lua finalizes the younger of two objects first if both die at once, and an
  -- old object may refer to a young one. The driver must not be affected.
  it("destroys young and old objects in the required order", function()
    for i, mode in ipairs {"incremental", "generational", "generational"} do
      local result, report = run(([[
        collectgarbage(%q)
        math.randomseed(%d, 0)
        local lze = require "lze"
        local c = lze.context(lze.device())
        local options = {context = c}
        local spirv = lze.load "kernels/spec.spv":spirv()
        local all = {}
        for i = 1, 12 do
          local own = i %% 2 == 0 and options or nil
          local m = lze.module(spirv, own)
          local q, x = lze.queue(own), lze.buffer("int", 8, own)
          local t = {m, q, x, m.add, x:view(2, 3), q:launch(m.add, 8, x, 1),
            lze.graph():task("t", m.add, 8, x, 1):compile()}
          t[7]:start()
          t[8] = not own and
            lze.wrap {event = t[6].handle, device = x.device} or nil
          -- They get old; what they are held by is made anew.
          for _ = 1, math.random(0, 3) do collectgarbage "step" end
          local kept = {}
          for k = 1, 8 do kept[math.random(99)] = t[k] end
          all[i] = setmetatable(kept, {__gc = function(o)
            if i %% 3 == 0 then
              for _, v in pairs(o) do v:close() break end
            end
          end})
          if i %% 4 == 0 then all[math.random(i)] = nil end
        end
        keep = all
        if %d == 3 then os.exit(true, true) end]]):format(mode, i, i))
      assert.equal("", result.output)
      assert.is_nil(unclean(result, report))
    end
  end)
end)

describe("a driver that is slow", function()
  -- Everything, with a collection after each part, then with dropped buffers.
  local busy = [[
    collectgarbage(%q)
    require "spec.support.everything" (function(name, f)
      local ok, err = pcall(f)
      collectgarbage()
      if not ok then print(name, err) end
    end)
    local lze = require "lze"
    local m = lze.load "kernels/spec.spv"
    local queues = {lze.device().queue, lze.queue {order = "out"},
      lze.queue {mode = "batched"}}
    local result = lze.buffer("int", 4)
    for i = 1, 60 do
      local x = lze.buffer("int", 4)
      local q = queues[i %% 3 + 1]
      m.add({4, queue = q}, x, i)
      local ev = q:copy(result, x)
      if i %% 4 == 0 then x:close() end
      if i %% 10 == 0 then
        local bad = lze.buffer("int", 4):fill(-1)
        assert(result[4] == i and ev:done())
        bad:close()
      end
      if i %% 7 == 0 then collectgarbage() end
    end
    print(result[1])]]

  for _, mode in ipairs {"incremental", "generational"} do
    for _, delay in ipairs {"0 500", "2000 2000", "0 5000"} do
      it(("gets all of it right: %s, %s us"):format(mode, delay), function()
        local result, report = run(busy:format(mode), "delay " .. delay)
        assert.equal("60\n", result.output)
        assert.is_nil(unclean(result, report))
      end)
    end
  end
end)

describe("a driver that does nothing", function()
  it("is never waited for", function()
    local result, report = run([[
      local lze = require "lze"
      local m = lze.load "kernels/spec.spv"
      local x = lze.buffer("int", {1, 2, 3})
      faults "null"
      for _ = 1, 1000 do m.add(3, x, 1) end
      local ev = m.add:launch(3, x, 1)
      lze.buffer("int", 3):copy(x)
      print(ev:wait(60), table.concat(x:read(), " "))]])
    assert.equal("true\t1 2 3\n", result.output)
    assert.is_nil(unclean(result, report))
    assert.equal(1001, report.calls.zeCommandListAppendLaunchKernel)
    assert.equal(1, report.copies.copies)
    assert.equal(12, report.copies.bytes)
  end)
end)
