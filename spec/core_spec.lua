-- core_spec.lua - the module, drivers, devices, contexts and selectors.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

describe("the module", function()
  it("is a table that sets no global", function()
    local out = process.output [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local lze = require "lze"
      lze.devices()
      for name in pairs(_G) do
        if not before[name] then print("global", name) end
      end
      print(type(lze), package.loaded.lze == lze)]]
    assert.equal("table\ttrue\n", out)
  end)

  it("prints nothing when it is loaded", function()
    assert.equal("", process.output 'require "lze"')
  end)

  it("has its version in two forms", function()
    assert.matches("^%d+%.%d+%.%d+$", lze.version)
    assert.equal("lze " .. lze.version, lze._VERSION)
    assert.matches(" array ", tostring(lze))
    -- tostring(lze) never raises an error.
    assert.matches("^lze %d", process.output("print(require 'lze')",
      {env = {LZE_FUSE = "never or so"}}))
  end)

  it("suggests a similar field, or lists all fields, for an unknown field",
  function()
    local function said(t, key)
      return expect.misuse(function() return t[key] end)
    end
    assert.equal("no field 'bufer' in lze; did you mean lze.buffer?",
      said(lze, "bufer"))
    assert.equal("no field 'Buffer' in lze; did you mean lze.buffer?",
      said(lze, "Buffer"))
    assert.equal("no field 'device_' in lze; did you mean lze.device or " ..
      "lze.devices?", said(lze, "device_"))
    assert.matches("^no field 'qwxyzz' in lze %(known: .*buffer, .*, wrap, " ..
      "yield%)$", said(lze, "qwxyzz"))
    assert.matches("no field 'aray' in lze; did you mean lze%.array%?\n$",
      process.output [[
        print(select(2, pcall(function() return require "lze".aray end)))]])
    assert.equal("no field 'mpi' in lze: it is a module of its own, " ..
      "require \"lze.mpi\"", said(lze, "mpi"))
    assert.equal("no field 'validat' in lze.spirv; did you mean " ..
      "lze.spirv.validate?", said(lze.spirv, "validat"))
    assert.equal("no field 'globalid' in lze.work; did you mean " ..
      "lze.work.global_id?", said(lze.work, "globalid"))
  end)

  it("returns nil for keys that only programs look up", function()
    for _, t in ipairs {lze, lze.spirv, lze.work} do
      for _, key in ipairs {1, true, "_NAME", "__index"} do
        assert.is_nil(t[key])
      end
    end
  end)

  it("returns the same module if it is opened twice in a state", function()
    local open = assert(package.loadlib(
      assert(package.searchpath("lze", package.cpath)), "luaopen_lze"))
    local again = open()
    assert.equal(lze, again)
    local x = again.buffer("int", {1, 2, 3})
    assert.equal("buffer", lze.type(x))
    assert.equal(lze.device(), again.device())
    assert.same({1, 2, 3}, lze.buffer("int", 3):copy(x):read())
  end)

  it("can be opened first in a coroutine that dies", function()
    assert.equal("30.0\n", process.output [[
      local co = coroutine.create(function()
        local lze = require "lze"
        x = lze.buffer("float", {10, 20, 30})
        error "dead"
      end)
      assert(not coroutine.resume(co))
      co = nil
      collectgarbage() collectgarbage()
      print(x[3])]])
  end)
end)

describe("lze.type", function()
  it("names the types of lze objects", function()
    local x = lze.buffer("int", 1)
    local mod = lze.load "kernels/spec.spv"
    assert.equal("buffer", lze.type(x))
    assert.equal("buffer", lze.type(x:view(1, 1)))
    assert.equal("device", lze.type(lze.device()))
    assert.equal("driver", lze.type(lze.device().driver))
    assert.equal("context", lze.type(lze.device().context))
    assert.equal("queue", lze.type(lze.device().queue))
    assert.equal("module", lze.type(mod))
    assert.equal("kernel", lze.type(mod.nothing))
    assert.equal("event", lze.type(mod.nothing:launch(1)))
    assert.equal("local_bytes", lze.type(lze.local_bytes(4)))
    x:close()
    assert.equal("buffer", lze.type(x))
  end)

  it("is nil for anything else", function()
    for _, v in ipairs {1, "buffer", {}, true, print, io.stdout} do
      assert.is_nil(lze.type(v))
    end
    assert.is_nil(lze.type(nil))
    assert.equal("bad argument #1 to 'type' (value expected)",
      expect.misuse(function() lze.type() end))
  end)
end)

describe("devices", function()
  local devices = lze.devices()

  it("are an array in a stable order", function()
    assert.is_true(#devices >= 1)
    for i, d in ipairs(lze.devices()) do assert.equal(devices[i], d) end
  end)

  it("put GPUs first", function()
    local rank = {gpu = 1, npu = 2, fpga = 2, mca = 2, other = 2, cpu = 3}
    local last = 0
    for _, d in ipairs(devices) do
      assert.is_true(rank[d.type] >= last)
      last = rank[d.type]
    end
  end)

  it("have the fields that scripts choose by", function()
    for _, d in ipairs(devices) do
      assert.is_string(d.name)
      assert.is_true(#d.name > 0)
      assert.is_string(d.type)
      assert.is_string(d.vendor)
      assert.equal("integer", math.type(d.memory_bytes))
      assert.is_true(d.memory_bytes > 1 << 20)
      assert.is_true(d.compute_units >= 1)
      assert.is_true(d.max_group_size >= 1)
      assert.is_table(d.subgroup_sizes)
      for _, n in ipairs(d.subgroup_sizes) do
        assert.equal("integer", math.type(n))
      end
      assert.is_boolean(d.fp64)
      assert.is_boolean(d.fp16)
      assert.is_true(d.fp16 or not d.software) -- rewritten if necessary
      assert.matches("^%x+%-%x+%-%x+%-%x+%-%x+$", d.uuid)
      assert.equal(36, #d.uuid)
      assert.equal("driver", lze.type(d.driver))
      assert.equal("context", lze.type(d.context))
      assert.equal("queue", lze.type(d.queue))
      assert.equal(d.type == "cpu", d.software)
      assert.is_nil(d.parent)
      assert.equal("userdata", type(d.handle))
      assert.equal(("device: %s (%s)"):format(d.name, d.type), tostring(d))
    end
  end)

  it("are the same objects each time", function()
    local d = lze.device()
    assert.equal(d, lze.device())
    assert.equal(d.context, d.context)
    assert.equal(d.queue, d.queue)
    assert.equal(d.driver, d.driver)
    assert.equal(d, d.queue.device)
  end)

  it("share the context of their driver", function()
    for _, d in ipairs(devices) do
      for _, e in ipairs(devices) do
        assert.equal(d.driver == e.driver, d.context == e.context)
      end
    end
  end)

  it("list their tiles, whose parent is the device", function()
    for _, d in ipairs(devices) do
      for _, tile in ipairs(d:subdevices()) do
        assert.equal(d, tile.parent)
        assert.equal(("device: %s (%s tile)"):format(tile.name, tile.type),
          tostring(tile))
      end
    end
  end)

  it("refuse fields they do not have and list those they have", function()
    local d = lze.device()
    assert.equal("no field 'nam' in a device (known: compute_units, " ..
      "context, driver, fp16, fp64, handle, image_formats, " ..
      "max_group_size, memory, " ..
      "memory_bytes, name, parent, properties, queue, reaches, software, " ..
      "subdevices, subgroup_sizes, telemetry, type, uuid, vendor)",
      expect.misuse(function() return d.nam end))
    assert.matches("^no field integer 1 in a device %(known: ",
      expect.misuse(function() return d[1] end))
    assert.equal("a device has no field that can be set (string 'name')",
      expect.misuse(function() d.name = "x" end))
  end)

  it("protect their metatable", function()
    assert.equal("an object of lze", getmetatable(lze.device()))
    assert.is_false(pcall(setmetatable, lze.device(), {}))
    local a = lze.array.zeros {1}
    assert.is_false(pcall(setmetatable, a, {}))
    -- A table with the value of getmetatable(array) is not an array.
    local other = setmetatable({}, getmetatable(a))
    assert.equal("an object of lze", getmetatable(other))
    assert.is_nil(lze.type(other))
    assert.matches("got table", expect.misuse(function() return a + other end))
  end)
end)

describe("drivers", function()
  it("are an array, each with a name and versions", function()
    local drivers = lze.drivers()
    assert.is_true(#drivers >= 1)
    for _, d in ipairs(drivers) do
      assert.is_string(d.name)
      assert.equal("integer", math.type(d.version))
      assert.matches("^%d+%.%d+$", d.api)
      assert.matches("^driver: .*Level Zero %d+%.%d+$", tostring(d))
    end
  end)

  it("include the driver of every device", function()
    local known = {}
    for _, d in ipairs(lze.drivers()) do known[d] = true end
    for _, d in ipairs(lze.devices()) do assert.is_true(known[d.driver]) end
  end)

  it("refuse fields they do not have", function()
    assert.equal("no field 'devices' in a driver (known: api, " ..
      "handle, name, version)",
      expect.misuse(function() return lze.drivers()[1].devices end))
  end)
end)

describe("contexts", function()
  it("show their driver", function()
    local c = lze.device().context
    assert.equal(lze.device().driver, c.driver)
    assert.matches("^context of driver %d+$", tostring(c))
    assert.equal("no field 'device' in a context (known: close, " ..
      "driver, handle)", expect.misuse(function() return c.device end))
  end)
end)

describe("a selector", function()
  local all = lze.devices()
  local function names(list)
    local t = {}
    for i, d in ipairs(list) do t[i] = tostring(d) end
    return t
  end

  it("may be a position", function()
    for i, d in ipairs(all) do
      assert.same({tostring(d)}, names(lze.devices(i)))
      assert.equal(d, lze.device(i))
    end
    assert.same({}, lze.devices(0))
    assert.same({}, lze.devices(#all + 1))
    assert.same({}, lze.devices(-1))
  end)

  it("may be a string of types, positions and names", function()
    assert.same(names(all), names(lze.devices "*"))
    assert.same(names(all), names(lze.devices "level_zero:*"))
    assert.same(names(all), names(lze.devices "*:*"))
    assert.same({tostring(all[1])}, names(lze.devices "0"))
    assert.same({tostring(all[1])}, names(lze.devices "level_zero:0"))
    assert.same({}, lze.devices "99")
    for _, d in ipairs(all) do
      assert.equal(d.type, lze.device(d.type).type)
      assert.equal(d.type, lze.device(d.type .. ":0").type)
      assert.equal(d.name, lze.device(d.name).name)
      assert.equal(d.name, lze.device(d.name:upper():sub(2, -2)).name)
    end
    assert.same({}, lze.devices "no such device")
    assert.same({}, lze.devices "cpu:99")
    assert.same(names(all), names(lze.devices "no such device,*"))
  end)

  it("may exclude devices", function()
    assert.same({}, lze.devices "!*")
    assert.same({}, lze.devices "*;!*")
    assert.same(names(all), names(lze.devices "!99"))
    assert.same(names(all), names(lze.devices "!no such device"))
    assert.same({}, lze.devices "!gpu;!cpu;!npu;!fpga;!mca;!other")
    local rest = lze.devices("!" .. all[1].type .. ":0")
    assert.equal(#all - 1, #rest)
  end)

  it("chooses a device, or raises an error that lists the devices", function()
    assert.equal(all[1], lze.device "*")
    local list = {}
    for i, d in ipairs(all) do
      list[i] = ('%d or "%d": %s (%s)'):format(i, i - 1, d.name, d.type)
    end
    list = table.concat(list, ", ")
    assert.equal("no device matches string 'abacus'; there is: " .. list,
      expect.misuse(function() lze.device "abacus" end))
    assert.equal("no device matches integer 99; there is: " .. list,
      expect.misuse(function() lze.device(99) end))
  end)

  it("is shortened in errors if it is long", function()
    for _, bad in ipairs {("x"):rep(20000), ("x"):rep(20000) .. ";;"} do
      local message = expect.misuse(function() lze.device(bad) end)
      assert.is_true(#message < 400 + 200 * #all, #message)
      assert.matches("2000%d bytes", message)
    end
    local out = process.output([[
      print(select(2, pcall(require "lze".device)))]],
      {env = {ONEAPI_DEVICE_SELECTOR = "level_zero:" .. ("x"):rep(20000)}})
    assert.is_true(#out < 400, #out)
    assert.matches("ONEAPI_DEVICE_SELECTOR=level_zero:xx*%.%.%. %(20011 bytes",
      out)
  end)

  it("uses the numbers that lze.info shows", function()
    local text = lze.info()
    for i, d in ipairs(all) do
      local from = text:find(("device %d: "):format(i), 1, true)
      local n = text:match('in a selector string "(%d+)"\n', from)
      assert.equal(d, lze.device(n))
    end
  end)

  it("is a number or a string", function()
    assert.equal("bad argument #1 to 'devices' (selector: number or string " ..
      "expected, got table)", expect.misuse(function() lze.devices {} end))
    assert.equal("bad argument #1 to 'device' (selector: integer expected, " ..
      "got number 1.5)", expect.misuse(function() lze.device(1.5) end))
    assert.equal("bad argument #1 to 'context' (device: device or selector " ..
      "expected, got number 1.5)",
      expect.misuse(function() lze.context(1.5) end))
    assert.equal("bad argument #1 to 'context' (devices: element 1: device " ..
      "or selector expected, got boolean)",
      expect.misuse(function() lze.context {true} end))
    assert.equal("bad argument #1 to 'queue' (device: device or selector " ..
      "expected, got boolean)", expect.misuse(function() lze.queue(true) end))
    assert.equal("bad argument #1 to 'default' (device, queue or context: " ..
      "device or selector expected, got boolean)",
      expect.misuse(function() lze.default(true) end))
    assert.equal("option device: device or selector expected, got number 0.5",
      expect.misuse(function() lze.buffer("int", 1, {device = 0.5}) end))
    assert.equal("selector '': an empty term",
      expect.misuse(function() lze.devices "" end))
    assert.equal("selector 'cpu,': an empty term",
      expect.misuse(function() lze.devices "cpu," end))
    assert.equal("selector 'cpu;;gpu': an empty term",
      expect.misuse(function() lze.devices "cpu;;gpu" end))
    assert.equal("selector '!': an empty term",
      expect.misuse(function() lze.devices "!" end))
    assert.equal("selector ' ; *': an empty term",
      expect.misuse(function() lze.devices " ; *" end))
    assert.equal(lze.device(1), lze.device " gpu, 0 ; ! npu ")
  end)
end)

describe("LZE_DEVICE", function()
  local name = lze.device().name

  it("picks the default device", function()
    assert.equal(name .. "\n", process.output(
      "print(require('lze').device().name)", {env = {LZE_DEVICE = "0"}}))
    assert.equal(name .. "\n", process.output(
      "print(require('lze').device().name)", {env = {LZE_DEVICE = name}}))
  end)

  it("does nothing when it is empty", function()
    assert.equal(name .. "\n", process.output(
      "print(require('lze').device().name)", {env = {LZE_DEVICE = ""}}))
  end)

  it("that matches nothing is an error at first use of the default",
    function()
      local out = process.output([[
        local lze = require "lze"
        print(#lze.devices() > 0, lze.device(1).name)
        print(select(2, pcall(function() lze.buffer("int", 1) end)))]],
        {env = {LZE_DEVICE = "abacus"}})
      assert.equal(("true\t%s\nstdin:3: LZE_DEVICE: no device matches " ..
        "string 'abacus'; there is: 1 or \"0\": %s (%s)\n"):format(name, name,
        lze.device().type), out:gsub(", 2 or .*$", "\n"))
    end)

  it("with a syntax error is named in the error", function()
    assert.equal("stdin:1: LZE_DEVICE 'cpu;;': an empty term\n",
      (process.output([[
print(select(2, pcall(function() require "lze".buffer("int", 1) end)))]],
        {env = {LZE_DEVICE = "cpu;;"}})))
  end)

  it("is overridden by an argument", function()
    assert.equal("1\n", process.output([[
      local lze = require "lze"
      print(#lze.buffer("int", 1, {device = "*"}))]],
      {env = {LZE_DEVICE = "abacus"}}))
  end)

  it("is overridden by every argument that determines a device", function()
    local script = [[
      local lze = require "lze"
      local d = lze.devices()[%d]
      local c = lze.context(d)
      local x = lze.buffer("float", {1, 2}, {context = c})
      local mod = lze.load("kernels/saxpy.spv", {context = c})
      local q = lze.queue {context = c}
      mod.saxpy({2, queue = q}, 3, x, x)
      print(x[1], x[2], x.device == d, q.device == d)
      for _, made in ipairs {lze.queue(d), lze.queue("%d"),
                             lze.queue(d, {mode = "batched"}),
                             lze.queue(d, {context = c})} do
        made:wait()
        io.write(tostring(made.device == d), " ")
      end
      print(lze.default(c) == d)]]
    local expected = "4.0\t8.0\ttrue\ttrue\ntrue true true true true\n"
    assert.equal(expected, process.output(script:format(1, 0),
      {env = {LZE_DEVICE = "abacus"}}))
    assert.equal(expected, process.output(script:format(2, 1),
      {env = {LZE_DEVICE = "abacus", ZOCL_ROOT_DEVICES = "2"}}))
  end)

  it("is used if a context has several devices", function()
    local script = [[
      local lze = require "lze"
      local d = lze.devices()
      local ok, v = pcall(lze.buffer, "int", 1, {context = lze.context(d)})
      print(ok and v.device == d[2] or v:match "^[^;]*")]]
    local env = {ZOCL_ROOT_DEVICES = "2", LZE_DEVICE = "1"}
    assert.equal("true\n", process.output(script, {env = env}))
    env.LZE_DEVICE = "abacus"
    assert.equal("LZE_DEVICE: no device matches string 'abacus'\n",
      process.output(script, {env = env}))
  end)
end)

describe("ONEAPI_DEVICE_SELECTOR", function()
  local function count(selector)
    return process.output([[
      local ok, found = pcall(function()
        return #require "lze".devices()
      end)
      print(found)]], {env = {ONEAPI_DEVICE_SELECTOR = selector}})
  end
  local n = #lze.devices()

  it("limits the devices that exist", function()
    assert.equal(n .. "\n", count "level_zero:*")
    assert.equal(n .. "\n", count "*:*")
    assert.equal("1\n", count "level_zero:0")
    assert.equal("1\n", count "*:0,99")
    assert.equal(n .. "\n", count "Level_Zero:CPU,GPU,Npu")
    assert.equal("0\n", count "level_zero:99")
    assert.equal("0\n", count "opencl:*")
    assert.equal("0\n", count "!level_zero:*")
    assert.equal(n .. "\n", count "!opencl:*")
    assert.equal("1\n", count "opencl:*;level_zero:0")
    assert.equal(n .. "\n", count "")
    assert.equal("1\n", count "opencl:* ; level_zero:99, 0")
  end)

  it("limits the listed devices, and renumbers them", function()
    local out = process.output([[
      local lze = require "lze"
      print(select(2, pcall(lze.device, "1")))
      print(lze.info())
    ]], {env = {ONEAPI_DEVICE_SELECTOR = "level_zero:1",
                ZOCL_ROOT_DEVICES = "2", ZOCL_SUB_DEVICES = "2"}})
    out = out:gsub("[^\n:]* %(cpu", "NAME (cpu")
    assert.truthy(out:find("no device matches string '1'; there is: 1 or " ..
      "\"0\":NAME (cpu); ONEAPI", 1, true), out)
    assert.truthy(out:find("\ndevice 1:NAME (cpu, driver 1), the default\n", 1,
      true), out)
    assert.truthy(out:find("\nleft out:NAME (cpu, driver 1), by " ..
      "ONEAPI_DEVICE_SELECTOR\n", 1, true), out)
    assert.is_nil(out:find("device 2", 1, true))
  end)

  it("shows tiles as devices", function()
    local out = process.output([[io.write(require "lze".info())]],
      {env = {ONEAPI_DEVICE_SELECTOR = "level_zero:0.*",
              ZOCL_SUB_DEVICES = "2"}})
    local units = lze.device().compute_units // 2
    assert.matches(("\ndevice 1: .* %%(cpu tile, driver 1%%), the default\n" ..
      "  %d compute unit%s, "):format(units, units == 1 and "" or "s"), out)
    assert.matches("\ndevice 2: .* %(cpu tile, driver 1%)\n", out)
    assert.is_nil(out:find("left out", 1, true))
  end)

  it("with a syntax error is an error", function()
    assert.equal("stdin:2: ONEAPI_DEVICE_SELECTOR=level_zero:gpu:0: " ..
      "'backend:devices' expected in each term\n", count "level_zero:gpu:0")
    assert.equal("stdin:2: ONEAPI_DEVICE_SELECTOR=gpu: 'backend:devices' " ..
      "expected in each term\n", count "gpu")
    assert.equal("stdin:2: ONEAPI_DEVICE_SELECTOR=level_zero:abacus: a " ..
      "type, a number or * expected for each device\n",
      count "level_zero:abacus")
  end)

  it("that leaves no device is named when the default is used", function()
    local out = process.output([[
      print(select(2, pcall(require "lze".buffer, "int", 1)))]],
      {env = {ONEAPI_DEVICE_SELECTOR = "opencl:*"}})
    assert.matches("^there is no device; the drivers show: 1: ", out)
    assert.matches("ONEAPI_DEVICE_SELECTOR=opencl:%*", out)
  end)
end)

describe("lze.info", function()
  it("shows every driver and device on one screen", function()
    local text = lze.info()
    assert.equal("lze " .. lze.version, text:match "^lze [%d.]+")
    assert.matches("^[^\n]*libze_loader%.so", text)
    for i, d in ipairs(lze.devices()) do
      local line = ("device %d: %s (%s"):format(i, d.name, d.type)
      assert.truthy(text:find(line, 1, true), line)
    end
    for i in ipairs(lze.drivers()) do
      assert.truthy(text:find(("driver %d: "):format(i), 1, true))
    end
    assert.truthy(text:find(", the default\n", 1, true))
    assert.equal("\n", text:sub(-1))
    assert.is_true(select(2, text:gsub("\n", "")) < 40)
  end)

  it("says why nothing is kept for the next process", function()
    local said = "note: nothing is kept for the next process: "
    local function info(env)
      return process.output("io.write(require'lze'.info())", {env = env})
    end
    assert.truthy(info {XDG_CACHE_HOME = "", HOME = ""}:find(said ..
      "neither XDG_CACHE_HOME nor HOME names a directory\n", 1, true))
    process.with_directory(function(dir)
      assert.is_nil(info {XDG_CACHE_HOME = dir}:find(said, 1, true))
      assert(os.execute(("chmod 755 '%s/lze'"):format(dir)))
      assert.truthy(info {XDG_CACHE_HOME = dir}:find(said .. dir ..
        "/lze is no directory for this user alone\n", 1, true))
      assert.is_nil(info {XDG_CACHE_HOME = dir, LZE_CACHE = "off"}:find(said, 1,
        true))
    end)
  end)

  it("lists the variables that are set", function()
    local out = process.output("io.write(require'lze'.info())",
      {env = {LZE_DEVICE = "0", LZE_GROUP_POLICY = "largest", LZE_SYNC = "1",
              LZE_FUSE = "never", LZE_TOP = "0",
              ZE_AFFINITY_MASK = "0"}})
    for _, text in ipairs {"LZE_FUSE=never", "LZE_TOP=0"} do
      assert.truthy(out:find(text .. "\n", 1, true))
    end
    assert.truthy(out:find("LZE_SYNC=1\n", 1, true))
    assert.truthy(out:find("LZE_DEVICE=0\n", 1, true))
    assert.truthy(out:find("LZE_GROUP_POLICY=largest\n", 1, true))
    assert.truthy(out:find("ZE_AFFINITY_MASK=0\n", 1, true))
  end)
end)
