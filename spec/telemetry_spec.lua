-- telemetry_spec.lua - telemetry of devices through sysman, with a driver that
-- invents the values.
-- SPDX-License-Identifier: MIT

local json = require "bench.lib.json"
local process = require "spec.support.process"
local lze = require "lze"

local build = os.getenv "LZE_TEST_BUILD"

-- Returns the telemetry of a device or tile, read twice, as lines of sorted
-- pairs.
local function telemetry(mode, device, env)
  local environment = {
    ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
    ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
    ZE_FAULT_SYSMAN = mode,
    ZES_ENABLE_SYSMAN = "1",
  }
  for k, v in pairs(env or {}) do environment[k] = v end
  return process.output(([[
    local lze = require "lze"
    for i = 1, 2 do
      local lines = {}
      for k, v in pairs(lze.device(%q):telemetry()) do
        lines[#lines + 1] = ("%%s=%%.14g"):format(k, v)
      end
      table.sort(lines)
      print(table.concat(lines, " "))
    end]]):format(device or "0"), {env = environment})
end

describe("dev:telemetry", function()
  it("returns the values that the devices have", function()
    for _, dev in ipairs(lze.devices()) do
      local t = dev:telemetry()
      assert.is_true(t.memory_used_bytes == nil or
        t.memory_used_bytes <= t.memory_total_bytes)
    end
  end)

  -- The driver for CPUs reads Linux's files; these files are invented.
  it("returns Linux's values for CPUs", function()
    process.with_directory(function(root)
      local function put(directory, name, text)
        os.execute(("mkdir -p %s/%s"):format(root, directory))
        local f = assert(io.open(("%s/%s/%s"):format(root, directory, name),
          "w"))
        f:write(text)
        f:close()
      end
      local env = {ZE_ENABLE_ALT_DRIVERS = build .. "/libze_opencl.so",
        ZOCL_SYSFS_ROOT = root}
      assert.equal("\n\n", telemetry(false, "0", env))
      put("proc", "meminfo", "MemTotal: 4096 kB\nMemAvailable: 1024 kB\n")
      put("proc", "stat", "cpu 1 1 1 5 1 0 0 0 0 0\ncpu0 1 1 1 5 1 0 0 0\n")
      put("sys/class/hwmon/hwmon0", "name", "k10temp\n")
      put("sys/class/hwmon/hwmon0", "temp1_input", "61500\n")
      put("sys/devices/system/cpu/cpufreq/policy0", "scaling_cur_freq",
        "2400000\n")
      put("sys/class/powercap/intel-rapl:0", "name", "package-0\n")
      put("sys/class/powercap/intel-rapl:0", "energy_uj", "2500000\n")
      -- Nothing changes here, so power is the only rate.
      local line = "energy_joules=2.5 frequency_mhz=2400 " ..
        "memory_total_bytes=4194304 memory_used_bytes=3145728 power_watts=0 " ..
        "temperature_celsius=61.5\n"
      assert.equal(line .. line, telemetry(false, "0", env))
      -- A tile has no values itself.
      env.ZOCL_SUB_DEVICES = "2"
      assert.equal("\n\n", telemetry(false, "0.1", env))
    end)
  end)

  it("returns the sensors of a device", function()
    local first, second = telemetry "whole":match "^(.-)\n(.-)\n$"
    local always = "frequency_mhz=1100 memory_total_bytes=17179869184 " ..
      "memory_used_bytes=3221225472 power_watts=50 temperature_celsius=70.5"
    assert.equal("activity=0.25 copy_activity=0.5 energy_joules=1 " .. always,
      first)
    assert.equal("activity=0.25 copy_activity=0.5 energy_joules=1.5 " .. always,
      second)
  end)

  it("uses the sensors of the tiles if the device lacks its own", function()
    assert.equal("activity=0.375 energy_joules=2 frequency_mhz=1200 " ..
      "memory_total_bytes=17179869184 memory_used_bytes=3221225472 " ..
      "power_watts=100 temperature_celsius=70.5",
      (telemetry "tiles":match "^(.-)\n"))
  end)

  -- Returns the power values that a profile records while a script waits, at
  -- least three or until `most_ns`.
  local function powers(mode, most_ns)
    local output, files = nil, {}
    process.with_directory(function(dir)
      output = process.output(([[
        local lze = require "lze"
        local m = lze.load "kernels/spec.spv"
        local x = lze.buffer("int", 1 << 18)
        local p = lze.profile()
        local list, began
        repeat
          for _ = 1, 20 do m.add(#x, x, 1) end
          lze.wait()
          list = {}
          for _, e in ipairs(p.events) do
            if e.kind == "power" then list[#list + 1] = e end
            began = began or e.kind == "wait" and e.start_ns
          end
        until #list >= 3 or p.end_ns > began + %d
        p:stop()
        local before = began
        for _, e in ipairs(list) do
          print(e.name, e.watts, e.device == lze.device().name,
            e.end_ns - e.start_ns >= 50000000, e.start_ns <= before)
          before = e.end_ns
        end
        print((tostring(p):match
          "\npower\n.-\n *%%S+ +%%S+ +%%S+ +(%%S+ +%%S+)"))
        p:save "%s/p.json" p:save "%s/p.html" p:save "%s/p.csv"]]):format(
        most_ns, dir, dir, dir), {env = {
        ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so", ZE_FAULT_SYSMAN = mode,
        ZES_ENABLE_SYSMAN = "1"}})
      for _, ending in ipairs {"json", "html", "csv"} do
        local file <close> = assert(io.open(dir .. "/p." .. ending))
        files[ending] = file:read "a"
      end
    end)
    return output, files
  end

  it("appears in profiles as power if a device reports its energy", function()
    local output, files = powers("whole", 60000000000)
    local n = select(2, output:gsub("power", ""))
    assert.is_true(n >= 3)
    assert.matches("^" .. ("power\t50.0\ttrue\ttrue\ttrue\n"):rep(n) ..
      "50.0 +50.0\n$", output)
    local watts, pids, expected = {}, {}, {}
    for i = 1, n do expected[i] = 50 end
    expected[n + 1] = 0
    for _, e in ipairs(json.decode(files.json).traceEvents) do
      if e.ph == "C" and e.name == "power" then
        watts[#watts + 1] = e.args.watts
        assert.equal(2, e.pid)
      elseif e.cat == "kernel" then
        pids[e.pid] = true
      end
    end
    assert.same({expected, {[2] = true}}, {watts, pids})
    local data = json.decode(files.html:match
      '<script type="application/json" id="data">%[(.-)%]</script>')
    local plot = data.plots[#data.plots]
    assert.same({"power", "watts", n + 1}, {plot.name, plot.unit, #plot.points})
    assert.same({50, 0}, {plot.points[n][2], plot.points[n + 1][2]})
    assert.equal(n, select(2, files.csv:gsub("\npower,power,.-,50%.0", "")))
    output, files = powers("broken", 400000000)
    assert.equal("nil\n", output)
    assert.is_nil(files.csv:find("power", 1, true))
  end)

  it("omits sensors that cannot be read", function()
    assert.equal("\n\n", telemetry "broken")
  end)

  it("does not query a driver without sysman enabled", function()
    local out = telemetry("whole", "0", {ZES_ENABLE_SYSMAN = false})
    -- A loader since 1.14 enables it.
    if out ~= telemetry "whole" then assert.equal("\n\n", out) end
  end)
end)
