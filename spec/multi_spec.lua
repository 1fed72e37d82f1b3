-- multi_spec.lua - several devices and tiles, emulated with variables of the
-- driver.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local hooked = require "spec.support.hooked"
local process = require "spec.support.process"
local lze = require "lze"

-- Returns the output of a script that runs with `env`.
local function run(env, script)
  return process.output('local lze = require "lze"\n' .. script, {env = env})
end

describe("the example", function()
  local machines = {
    {name = "one device", env = {}, roots = 1, tiles = 0},
    {name = "two tiles", env = {ZOCL_SUB_DEVICES = 2}, roots = 1, tiles = 2},
    {name = "two devices of two tiles", roots = 2, tiles = 2,
      env = {ZOCL_ROOT_DEVICES = 2, ZOCL_SUB_DEVICES = 2}},
    {name = "three devices without peer access", roots = 3, tiles = 0,
      env = {ZOCL_ROOT_DEVICES = 3, ZOCL_PEER_ACCESS = 0}},
    {name = "two devices with private memory", roots = 2, tiles = 0,
      env = {ZOCL_ROOT_DEVICES = 2, ZOCL_DEVICE_MEMORY_PRIVATE = 1}},
  }
  for _, m in ipairs(machines) do
    local tiles = math.max(m.tiles, 1)
    local total = 10000 * tiles
    local printed = {
      one_tile = "^one_tile: 100003 results on " ..
        (m.tiles > 0 and "a tile of the device" or "a device without tiles"),
      tiles = ("^tiles: %d tiles?, a sum of %d\n$"):format(tiles,
        total * (total - 1) // 2),
      implicit = "^implicit: 1000003 results on ",
      cards = ("^cards: %d devices?, %.1f after the last, 50000 "):format(
        m.roots, m.roots * (m.roots + 1) / 2),
    }
    for name, pattern in pairs(printed) do
      it(name .. ".lua runs on " .. m.name, function()
        assert.matches(pattern, process.output(
          ('dofile "examples/multi/%s.lua"'):format(name), {env = m.env}))
      end)
    end
  end
end)

describe("a selector", function()
  it("finds tiles, in lze.devices and in the variables", function()
    local env = {ZOCL_ROOT_DEVICES = 2, ZOCL_SUB_DEVICES = 2}
    local script = [[
      local function show(selector)
        local t = {}
        for _, d in ipairs(lze.devices(selector)) do
          local root = d.parent or d
          local r, k = 0, 0
          for i, x in ipairs(lze.drivers()[1] and all) do
            if x == root then r = i - 1 end
          end
          for i, x in ipairs(root:subdevices()) do
            if x == d then k = i - 1 end
          end
          t[#t + 1] = d.parent and r .. "." .. k or tostring(r)
        end
        print(selector, "{" .. table.concat(t, " ") .. "}")
      end
      all = lze.devices()
      for _, s in ipairs {"*", "0", "1", "0.1", "1.0,0.0", "cpu:1.1", "cpu",
        "*;!0", "0.0,0.1;!0.0", "2", "0.2"} do
        show(s)
      end]]
    assert.equal([[
*	{0 1}
0	{0}
1	{1}
0.1	{0.1}
1.0,0.0	{0.0 1.0}
cpu:1.1	{1.1}
cpu	{0 1}
*;!0	{1}
0.0,0.1;!0.0	{0.1}
2	{}
0.2	{}
]], run(env, script))
    env.LZE_DEVICE = "1.1"
    assert.equal("true\ttrue\n", run(env, [[
      local d = lze.device()
      print(d.parent == lze.devices()[2], d == d.parent:subdevices()[2])]]))
    env.LZE_DEVICE = false
    env.ONEAPI_DEVICE_SELECTOR = "level_zero:0.*,1.1"
    assert.equal("3\ttrue\ttrue\n", run(env, [[
      local d = lze.devices()
      print(#d, d[1].parent == d[2].parent, d[3].parent ~= d[1].parent)]]))
  end)
end)

describe("the drivers' variables", function()
  -- Returns the number of tiles of each root device.
  local function shape(env)
    env.ZOCL_ROOT_DEVICES, env.ZOCL_SUB_DEVICES = 2, 2
    return run(env, [[
      local t = {}
      for _, d in ipairs(lze.devices()) do t[#t + 1] = #d:subdevices() end
      print(table.concat(t, " "))]])
  end

  it("select the kind of hierarchy", function()
    assert.equal("2 2\n", shape {ZE_FLAT_DEVICE_HIERARCHY = "COMPOSITE"})
    assert.equal("0 0 0 0\n", shape {ZE_FLAT_DEVICE_HIERARCHY = "FLAT"})
    assert.equal("0 0 0 0\n", shape {ZE_FLAT_DEVICE_HIERARCHY = "COMBINED"})
  end)

  it("mask devices and tiles", function()
    assert.equal("2\n", shape {ZE_AFFINITY_MASK = "1"})
    assert.equal("0\n", shape {ZE_AFFINITY_MASK = "0.1"})
    assert.equal("2 0\n", shape {ZE_AFFINITY_MASK = "0,1.0"})
    assert.equal("0 0\n", shape {ZE_AFFINITY_MASK = "1,3",
      ZE_FLAT_DEVICE_HIERARCHY = "FLAT"})
  end)

  it("are shown in lze.info", function()
    local info = run({ZE_AFFINITY_MASK = "0", ZOCL_ROOT_DEVICES = 2,
      ZE_FLAT_DEVICE_HIERARCHY = "FLAT"}, "print(lze.info())")
    assert.matches("\nZE_AFFINITY_MASK=0\n", info)
    assert.matches("\nZE_FLAT_DEVICE_HIERARCHY=FLAT\n", info)
  end)
end)

describe("dev:reaches", function()
  it("reports peer access", function()
    local script = [[
      local a, b = lze.device(1), lze.device(2)
      print(a:reaches(a), a:reaches(b), b:reaches(1))]]
    assert.equal("true\ttrue\ttrue\n", run({ZOCL_ROOT_DEVICES = 2}, script))
    assert.equal("true\tfalse\tfalse\n",
      run({ZOCL_ROOT_DEVICES = 2, ZOCL_PEER_ACCESS = 0}, script))
    local a = lze.device()
    assert.is_true(a:reaches(a))
    assert.matches("other: device or selector expected, got no value",
      expect.misuse(function() a:reaches() end))
  end)
end)

describe("a copy between devices that do not reach each other", function()
  it("goes through host memory, in order, on any queue", function()
    assert.equal("true\ntrue\ntrue\n", run({ZOCL_ROOT_DEVICES = 2,
      ZOCL_DEVICE_MEMORY_PRIVATE = 1}, [[
      local a, b = lze.device(1), lze.device(2)
      local n = 100000
      local function same(x, v)
        for _, y in ipairs(x:read()) do if y ~= v then return false end end
        return true
      end
      for _, q in ipairs {a.queue, b.queue, lze.queue(b, {mode = "batched"})} do
        local x = lze.buffer("int", n, {device = a, usage = "device"})
        local y = lze.buffer("int", n, {device = b, usage = "device"})
        x:fill(7)
        local ev = q:copy(y, x)
        x:fill(8) -- after the copy has read it
        print(same(y, 7) and same(x, 8) and ev:wait(60))
      end]]))
  end)

  it("copies once if they do reach each other", function()
    -- A driver in between counts the copies.
    local build = os.getenv "LZE_TEST_BUILD"
    process.with_directory(function(directory)
      local report = directory .. "/report"
      local function copies(peer)
        run({ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
          ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
          ZE_FAULT_REPORT = report, ZOCL_ROOT_DEVICES = 2,
          ZOCL_PEER_ACCESS = peer}, [[
          local x = lze.buffer("int", 256, {device = 1, usage = "device"})
          local y = lze.buffer("int", 256, {device = 2, usage = "device"})
          y:copy(x)
          lze.wait()]])
        for line in io.lines(report) do
          if line:match "^copies" then return line end
        end
      end
      assert.equal("copies: 1 copies, 1024 bytes", copies(1))
      assert.equal("copies: 2 copies, 2048 bytes", copies(0))
    end)
  end)
end)

describe("mod:on", function()
  it("returns the same module on another device, with its options", function()
    assert.equal("true\ttrue\ttrue\n21 22\n", run({ZOCL_ROOT_DEVICES = 2}, [[
      local a, b = lze.device(1), lze.device(2)
      local m = lze.load("kernels/spec.spv", {device = a})
      local n = m:on(b)
      print(m:on(a) == m, m:on(2) == n, n.device == b)
      local x = lze.buffer("int", {20, 21}, {device = b})
      n.add(2, x, 1)
      print(table.concat(x:read(), " "))]]))
  end)
end)

describe("memory that a device cannot reach", function()
  local env = {ZOCL_ROOT_DEVICES = 2, ZOCL_PEER_ACCESS = 0}
  local here = [[
    local d, source = lze.devices(), "kernel void add(global int *x, " ..
      "global int *y) { y[get_global_id(0)] += x[get_global_id(0)]; }"
    local add = lze.compile(source, {device = d[1]}).add
    local function buffer(device, usage)
      return lze.buffer("int", 128, {device = device, usage = usage}):fill(1)
    end ]]

  it("is refused by a launch, which names the argument", function()
    assert.equal("false\tkernel add: argument 2 (y): a buffer of another " ..
      "device, whose memory this one cannot reach\n" ..
      "false\tkernel add: argument 1 (x): a device buffer of another " ..
      "device\ntrue\n", run(env, here .. [[
      local x, y = buffer(d[1]), buffer(d[2])
      print(pcall(add, 128, x, y))
      print(pcall(add, 128, buffer(d[2], "device"), x))
      print(pcall(add, 128, buffer(d[2], "host"), x))]]))
  end)

  it("is filled on a queue of its device", function()
    assert.equal("true\t7\ttrue\n", run(env, here .. [[
      local x, q = buffer(d[2], "device"), lze.queue(d[1])
      local ev = q:fill(x, 7, 2)
      print(ev:wait(60), x:read()[2], x:read()[1] == 1)]]))
  end)

  it("is refused if a swap would pass it to a task", function()
    local why = "its device cannot reach the memory of a buffer that is swapped"
    assert.equal("false\tstdin:8: graph g: task g.t: " .. why .. "\ntrue\n" ..
      "false\tgraph g: task g.t: " .. why .. "\n3\t2\t2\n", run(env, here .. [[
      local function compiled(x, y, z)
        return lze.graph "g":task("t", add, 128, x, y):swap(y, z):compile {
          device = d[1]}
      end
      local x, y, z = buffer(d[1]), buffer(d[1]), buffer(d[2])
      print(pcall(compiled, x, y, z))
      print((pcall(compiled, x, y, buffer(d[2], "host"))))
      local far = buffer(d[2], "host")
      local plan = lze.graph "g":task("t", add, 128, x, y)
        :task("u", add, {128, device = d[2]}, far, far)
        :swap(far, z):compile {device = d[1]}
      print(pcall(plan.set, plan, "t", 1, far))
      plan:run()
      plan:run()
      print(y[1], far[1], z[1])]]))
  end)

  it("is refused by arrays, with the script's line", function()
    assert.equal("false\tstdin:5: kernel array_add: argument 3 (s2): a " ..
      "buffer of another device, whose memory this one cannot reach\n",
      run(env, [[
      local A, d = lze.array, lze.devices()
      local a = A.ones({3}, {device = d[1]})
      print(pcall(function()
        return (a + A.ones({3}, {device = d[2]})):eval()
      end))]]))
  end)

  it("is copied through host memory, also in boxes", function()
    assert.equal(("2 2 9 9 2 2 9 9 "):rep(4), run(env, [[
      local d = lze.devices()
      for _, usages in ipairs {{"shared", "device"}, {"device", "shared"}} do
        for i = 1, 2 do
          local x = lze.buffer("int", 4, {device = d[i], usage = usages[i]})
          local y = lze.buffer("int", 8,
            {device = d[3 - i], usage = usages[3 - i]}):fill(9)
          x:fill(2)
          y:copy_box(x, {size = {2, 2}, dst_width = 4})
          x:fill(3) -- comes after
          io.write(table.concat(y:read(), " "), " ")
        end
      end]]))
  end)

  it("is refused by lze.parallel before any part runs", function()
    local function refused(what)
      return "false\tkernel add: argument 1 (x): " .. what ..
        "\t1 1\n"
    end
    assert.equal(
      refused "a buffer of another device, whose memory this one cannot reach"
      .. refused "a device buffer of another device", run(env, here .. [[
      for _, usage in ipairs {"shared", "device"} do
        local x, y = buffer(d[1], usage), buffer(d[1])
        local ok, why = pcall(lze.parallel, d, 128, add, x, lze.slice(y))
        print(ok, why, y[1] .. " " .. y[128])
      end]]))
  end)
end)

describe("lze.parallel", function()
  local two = {ZOCL_ROOT_DEVICES = 2, ZOCL_SUB_DEVICES = 2}

  it("covers every work-item once, in place", function()
    assert.equal("1000003\t2\n1000003\t2\n1000003\t2\n", run(two, [[
      local add = lze.load "kernels/spec.spv".add
      local n = 1000003
      for _ = 1, 3 do
        local x = lze.buffer("int", n)
        local parts = lze.parallel(lze.devices(), n, add, x, 1)
        local sum = 0
        for i = 1, n, 997 do assert(x[i] == 1) end
        local s, first = 0, 1
        for _, p in ipairs(parts) do
          assert(p.first == first and p.kernel_ns > 0 and p.count > 0)
          first = first + p.count
          s = s + p.count
        end
        for _, v in ipairs(x:read()) do assert(v == 1) end
        print(s, #parts)
      end]]))
  end)

  it("splits slices, and accepts tiles or a single device", function()
    for _, env in ipairs {two, {ZOCL_ROOT_DEVICES = 2, ZOCL_SUB_DEVICES = 2,
      ZOCL_DEVICE_MEMORY_PRIVATE = 1}} do
      assert.equal("2 ok\n2 ok\n1 ok\n4 ok\n", run(env, [[
        local square = lze.load "kernels/spec.spv".square
        local n = 10007
        local t = {}
        for i = 1, n do t[i] = i % 100 end
        local roots = lze.devices()
        local every = {}
        for _, root in ipairs(roots) do
          for _, tile in ipairs(root:subdevices()) do
            every[#every + 1] = tile
          end
        end
        for _, devices in ipairs {roots, roots[2], {"0.0"}, every} do
          local x = lze.buffer("int", t, {usage = "device"})
          local y = lze.buffer("int", n, {usage = "device"})
          local parts = lze.parallel(devices, n, square, lze.slice(x),
            lze.slice(y))
          for i, v in ipairs(y:read()) do
            assert(v == t[i] * t[i], "element " .. i)
          end
          print(#parts, "ok")
        end]]):gsub("\t", " ") .. "")
    end
  end)

  it("accepts slices of buffers of another context", function()
    local square = lze.load "kernels/spec.spv".square
    local context <close> = lze.context(lze.device())
    local x = lze.buffer("int", {1, 2, 3, 4}, {context = context})
    local y = lze.buffer("int", 4, {context = context, usage = "device"})
    lze.parallel({1}, 4, square, lze.slice(x), lze.slice(y))
    assert.same({1, 4, 9, 16}, y:read())
  end)

  it("splits slices of several elements", function()
    assert.equal("ok\n", run({ZOCL_ROOT_DEVICES = 3}, [[
      local k = lze.compile([=[
        kernel void sum(global const int *rows, global int *sums) {
          size_t i = get_global_id(0);
          for (int j = 0; j < 5; j++) sums[i] += rows[5 * i + j];
        }]=]).sum
      local n = 1001
      local rows = lze.buffer("int", 5 * n):fill(3)
      local sums = lze.buffer("int", n):fill(1)
      lze.parallel(lze.devices(), n, k, lze.slice(rows, 5), lze.slice(sums))
      for _, v in ipairs(sums:read()) do assert(v == 16) end
      print "ok"]]))
  end)

  it("keeps the elements of a slice that are not written", function()
    assert.equal("true\n", run({ZOCL_ROOT_DEVICES = 2, ZOCL_PEER_ACCESS = 0}, [[
      local k = lze.compile([=[
        kernel void odd(global int *y) {
          size_t i = get_global_id(0);
          if (i % 2) y[i] = 1;
        }]=]).odd
      local y = lze.buffer("int", 1000, {usage = "device"}):fill(7)
      lze.parallel(lze.devices(), 1000, k, lze.slice(y))
      local wrong = 0
      for i, v in ipairs(y:read()) do
        if v ~= (i % 2 == 0 and 1 or 7) then wrong = wrong + 1 end
      end
      print(wrong == 0)]]))
  end)

  -- Each model device runs `speed` work-items a nanosecond, and a launch takes
  -- 5 us more.
  local function parts_of(devices, n, launches, disturbed)
    local core = {is_open = function() return true end,
      is_lua = function() end, slice = function() end,
      splits = function() return true end, check = function() end,
      pcall = pcall, device = function(device) return device end}
    function core.place(kernel, _, device) return kernel, nil, device end
    local launch = 0
    function core.call(object, method, _, range)
      if method ~= "launch" then return object end
      local ns = 5000 + range[1] // object.speed
      if launch == disturbed and object == devices[1] then ns = ns + 1e9 end
      return {kernel_ns = ns}
    end
    local parallel = assert(loadfile "lua/parallel.lua")(core).parallel
    local kernel, parts = {}, nil
    for k = 1, launches do
      launch = k
      parts = parallel(devices, n, kernel)
    end
    return parts
  end

  it("gives equal devices equal parts again after a disturbance", function()
    local devices = {{speed = 1, compute_units = 8},
      {speed = 1, compute_units = 8}}
    for _, n in ipairs {6400, 64000, 6400000, 640000000} do
      local parts = parts_of(devices, n, 40, 3)
      assert.is_true(math.abs(parts[1].count / n - 0.5) < 0.02, parts[1].count)
    end
  end)

  it("lets the parts of long kernels end together", function()
    local devices = {{speed = 8, compute_units = 8},
      {speed = 1, compute_units = 8}, {speed = 2, compute_units = 1}}
    local parts = parts_of(devices, 110000000, 40)
    for i = 2, 3 do
      local ratio = parts[i].kernel_ns / parts[1].kernel_ns
      assert.is_true(ratio > 0.95 and ratio < 1.05, ratio)
    end
  end)

  it("splits by measured speed", function()
    local out = run({ZOCL_SUB_DEVICES = 2}, [[
      local k = lze.compile([=[
        kernel void work(global float *x) {
          float v = x[get_global_id(0)];
          for (int i = 0; i < 2000; i++) v = v * 0.999f + 1.0f;
          x[get_global_id(0)] = v;
        }]=]).work
      local n = 1 << 15
      local x = lze.buffer("float", n)
      for i = 1, 4 do
        local parts = lze.parallel({"0.0", "0.1"}, n, k, x)
        print(parts[1].count, parts[2].count, parts[1].kernel_ns > 0)
      end
      -- By the number of units where nothing was measured: 2 and 1.
      k = lze.compile("kernel void other(global float *x) {" ..
        " x[get_global_id(0)] = 1; }").other
      print(lze.parallel({"0", "0.1"}, 30000, k, x)[1].count)]])
    assert.matches("\n19968\n$", out)
    local rows = {}
    for a, b in out:gmatch "(%d+)\t(%d+)\ttrue\n" do
      rows[#rows + 1] = {tonumber(a), tonumber(b)}
      assert.equal(1 << 15, a + b)
      assert.equal(0, a % 64)
    end
    assert.equal(4, #rows)
    assert.same({1 << 14, 1 << 14}, rows[1]) -- nothing measured yet
    assert.same(rows[1], rows[2])            -- first launch not measured
    for i = 3, 4 do assert.is_true(rows[i][1] > 0 and rows[i][2] > 0) end
  end)

  it("launches parts of any size in one group size", function()
    assert.equal(("256\n"):rep(6), run({ZOCL_ROOT_DEVICES = 2}, [[
      local k = lze.load "kernels/saxpy.spv".saxpy
      local x = lze.buffer("float", 100000)
      local p <close> = lze.profile(function()
        for i = 1, 3 do
          lze.parallel(lze.devices(), #x - i, k, 2, lze.slice(x), lze.slice(x))
        end
      end)
      for _, e in ipairs(p.events) do
        if e.kind == "kernel" then print(e.group[1]) end
      end]]))
  end)

  it("runs nothing over an empty range, and handles a small one", function()
    local add = lze.load "kernels/spec.spv".add
    local x = lze.buffer("int", 3)
    local parts = lze.parallel({1}, 0, add, x, 1)
    assert.equal(0, parts[1].count)
    assert.equal(0, parts[1].kernel_ns)
    assert.equal(lze.device(1), parts[1].device)
    lze.parallel({1}, 3, add, x, 1)
    assert.same({1, 1, 1}, x:read())
    assert.equal("1 1\n", run({ZOCL_ROOT_DEVICES = 3}, [[
      local x = lze.buffer("int", 2)
      lze.parallel(lze.devices(), 2, lze.load "kernels/spec.spv".add, x, 1)
      print(table.concat(x:read(), " "))]]))
  end)

  it("skips work-items before an offset", function()
    local add = lze.load "kernels/spec.spv".add
    local x = lze.buffer("int", 5)
    local parts = lze.parallel({1}, {2, offset = 1}, add, x, 7)
    assert.same({2, 2}, {parts[1].first, parts[1].count})
    assert.same({0, 7, 7, 0, 0}, x:read())
    lze.parallel({1}, {2, offset = 3}, add, lze.slice(x), 1)
    assert.same({0, 7, 7, 1, 1}, x:read())
    assert.equal("0 0 1 1 1 1\n", run({ZOCL_ROOT_DEVICES = 3}, [[
      local x = lze.buffer("int", 6)
      lze.parallel(lze.devices(), {4, offset = 2},
        lze.load "kernels/spec.spv".add, lze.slice(x), 1)
      print(table.concat(x:read(), " "))]]))
  end)

  it("passes on the error of a debug hook", function()
    local k = lze.kernel(function(i, x) x[i] = i end)
    local x = lze.buffer("int", 100)
    assert.is_true(hooked(function()
      lze.parallel(1, 100, k, lze.slice(x))
    end) > 100)
  end)

  it("treats an offset of 0 as no offset", function()
    local sized = lze.compile [[kernel void sized(global int *v) {
      v[get_global_id(0)] = get_global_size(0);
    }]].sized
    local x = lze.buffer("int", 2)
    for _, zero in ipairs {0, 0.0, -0.0} do
      x:fill(0)
      lze.parallel({1}, {2, offset = zero}, sized, x)
      assert.same({2, 2}, x:read())
    end
    assert.matches("^lze.parallel: kernel sized%(.*%): it uses more than " ..
      "its global id, .* so its range cannot be split: use lze.slice$",
      expect.misuse(function()
        lze.parallel({1}, {1, offset = 1}, sized, x)
      end))
    lze.parallel({1}, {1, offset = 1}, sized, lze.slice(x))
    assert.same({2, 1}, x:read())
  end)

  it("reports invalid arguments", function()
    local add = lze.load "kernels/spec.spv".add
    local x = lze.buffer("int", 3)
    local function misuse(...)
      local arguments = table.pack(...)
      return expect.misuse(function()
        lze.parallel(table.unpack(arguments, 1, arguments.n))
      end)
    end
    assert.equal("lze.parallel: devices: an empty table",
      misuse({}, 3, add, x, 1))
    assert.matches("^lze.parallel: devices: .* is named twice$",
      misuse({1, 1}, 3, add, x, 1))
    assert.equal("lze.parallel: devices: device or selector expected, got nil",
      misuse(nil, 3, add, x, 1))
    assert.equal("lze.parallel: n: integer expected, got number 1.5",
      misuse({1}, 1.5, add, x, 1))
    assert.equal("lze.parallel: n: -1 is outside 0..4294967295",
      misuse({1}, -1, add, x, 1))
    assert.equal(
      "lze.parallel: n: unknown key string 'offst' (known: 1, offset)",
      misuse({1}, {1, offst = 1}, add, x, 1))
    assert.equal("lze.parallel: n.offset: 4294967295 is outside 0..4294967294",
      misuse({1}, {1, offset = 4294967295}, add, x, 1))
    assert.equal("lze.parallel: k: an open kernel expected, got integer 5",
      misuse({1}, 1, 5))
    assert.equal("lze.parallel: n.offset: integer expected, got boolean",
      misuse({1}, {1, offset = false}, add, x, 1))
    assert.equal("lze.parallel: devices[2]: device or selector expected, " ..
      "got number 1.5", misuse({1, 1.5}, 1, add, x, 1))
    assert.equal("lze.parallel: devices: device or selector expected, " ..
      "got number 1.5", misuse(1.5, 1, add, x, 1))
    assert.equal("lze.parallel: devices: unknown key string 'first'",
      misuse({1, first = 1}, 1, add, x, 1))
    for n = 0, 1 do
      assert.matches("^kernel add: 2 arguments %(.*%) expected, got 1$",
        misuse({1}, n, add, x))
      assert.matches("^kernel add: argument 2 %(%w+%): ",
        misuse({1}, n, add, x, "y"))
    end
    assert.matches("argument 1: 4 work%-items of 1 elements each are more " ..
      "than the 3 of the slice", misuse({1}, 4, add, lze.slice(x), 1))
    assert.matches("size: a positive integer expected, got 0",
      expect.misuse(function() lze.slice(x, 0) end))
    assert.equal("slice of 2: " .. tostring(x), tostring(lze.slice(x, 2)))
    assert.equal("slice", lze.type(lze.slice(x)))
    local s = lze.slice(x)
    x:close()
    assert.matches("the buffer of the slice is closed",
      misuse({1}, 3, add, s, 1))
    assert.matches("it uses more than its global id.*use lze.slice",
      run({ZOCL_ROOT_DEVICES = 2}, [[
        local k = lze.load "kernels/spec.spv".count_groups
        local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
        print(pcall(lze.parallel, lze.devices(), 64, k, x, y))]]))
  end)
end)
