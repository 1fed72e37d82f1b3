-- graph_devices_spec.lua - plans on several devices, in separate processes.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local script = [[
  local lze = require "lze"
  local first, second = table.unpack(lze.devices())
  local m, n = lze.load "kernels/spec.spv", 1000
  local function inserted(plan)
    local count = 0
    for _, t in ipairs(plan:report().tasks) do
      if t.name:find "%(.*host%)" or t.name:find "%(.*device%)" then
        count = count + 1
      end
    end
    return count
  end
  -- A whole plan where its kernels are not from.
  local x = lze.buffer("int", n)
  local p = lze.graph():task("add", m.add, n, x, 1):compile {device = second}
  p:run()
  print("whole", p.device == second, x[1], x[n])

  -- Tasks pinned to devices.
  p = lze.graph():task("one", m.add, n, x, 1)
    :task("two", m.add, {n, device = second}, x, 10)
    :task("three", m.add, n, x, 100):compile()
  p:run():run()
  print("pinned", x[1], x[n], inserted(p))

  -- Memory of one used on the other.
  local y = lze.buffer("int", n, {usage = "device", device = first})
  local z = lze.buffer("int", n, {usage = "device", device = second})
  p = lze.graph():task("one", m.add, n, y, 1)
    :task("two", m.add, {n, device = second}, y, 10):copy("z", z, y)
    :task("three", m.add, {n, device = second}, z, 100):compile()
  p:run():run()
  print("moved", y:read()[n], z:read()[n], inserted(p))
  p:set("two", 2, 20):run()
  print("set", y:read()[n], z:read()[n])

  -- Spread.
  local g, b = lze.graph(), {}
  for i = 1, 6 do
    b[i] = lze.buffer("int", n)
    g:task("a" .. i, m.add, n, b[i], i):task("b" .. i, m.add, n, b[i], i)
  end
  p = g:compile {devices = {first, second}}
  p:run()
  local sum, lanes = 0, {}
  for i = 1, 6 do sum = sum + b[i][n] end
  for _, t in ipairs(p:report().tasks) do lanes[t.lane] = true end
  local count = 0
  for _ in pairs(lanes) do count = count + 1 end
  print("spread", sum, count, inserted(p))
  -- Of two tasks after one, one stays where that was.
  x, y, z = lze.buffer("int", n), lze.buffer("int", n), lze.buffer("int", n)
  p = lze.graph():task("one", m.add, n, x, 1):task("left", m.square, n, x, y)
    :task("right", m.square, n, x, z)
    :compile {devices = {first, second}, queues = 1}
  p:run()
  lanes = {}
  for i, t in ipairs(p:report().tasks) do lanes[i] = t.lane end
  print("fork", y[n], z[n], table.concat(lanes, " "))
  -- Steps stay with memory that not all the devices reach.
  x = lze.buffer("int", n, {device = second})
  y = lze.buffer("int", n, {usage = "device", device = second})
  z = lze.buffer("int", n, {device = second})
  local w = lze.buffer("int", n)
  for i, devices in ipairs {{first}, {first, second}, {second, first}} do
    lze.graph():task("x", m.add, n, x, 1):task("y", m.add, n, y, 10)
      :fill("z", z, i):copy("w", w, z):compile {devices = devices}:run()
  end
  print("stay", x[n], y:read()[n], z[n], w[n])
  print(select(2, pcall(g.compile, g, {devices = {first}, device = second})))
]]

-- Checks the script's output with that environment. `transfers` is the number
-- of transfers inserted for the pinned tasks, `lanes` the number of lanes that
-- the spread tasks use.
local function check(transfers, lanes, fork, env)
  local output = process.output(script, {env = env, seconds = 100})
  assert.equal(([[
whole	true	1	1
pinned	223	223	%d
moved	22	122	5
set	43	143
spread	42	%d	0
fork	1	1	%s
stay	3	30	3	3
options device and devices: one or the other
]]):format(transfers, lanes, fork), output)
end

describe("a plan on several devices", function()
  it("uses shared memory in place, and moves other memory", function()
    check(0, 6, "1 1 2", {ZOCL_ROOT_DEVICES = "2"})
  end)

  it("moves shared memory if the devices have no peer access", function()
    check(4, 4, "1 1 1",
      {ZOCL_ROOT_DEVICES = "2", ZOCL_PEER_ACCESS = "0"})
  end)

  it("does not need memory that the host can access", function()
    check(4, 4, "1 1 1",
      {ZOCL_ROOT_DEVICES = "2", ZOCL_DEVICE_MEMORY_PRIVATE = "1"})
  end)

  it("accepts only memory that the step's device reaches", function()
    local said = process.output([[
      local lze = require "lze"
      local first, second = table.unpack(lze.devices())
      local add = lze.load "kernels/spec.spv".add
      local here, last = lze.buffer("int", 4), lze.buffer("int", 4)
      local plan = lze.graph "g":task("add", add, 4, here, 1)
        :fill("fill", last, 5):copy("copy", last, here):compile()
      for _, usage in ipairs {"shared", "device"} do
        local far = lze.buffer("int", 4, {device = second, usage = usage})
        for argument, task in ipairs {"add", "fill", "copy", "copy"} do
          local _, why = pcall(plan.set, plan, task, argument == 4 and 2 or 1,
            far)
          print(tostring(why):match "%((.*)%)")
        end
      end
      plan:set("copy", 1, lze.buffer("int", 4, {device = second,
        usage = "host"})):run()
      print(here[4], last[4])]], {env = {ZOCL_ROOT_DEVICES = "2",
        ZOCL_DEVICE_MEMORY_PRIVATE = "1"}})
    local expected = {}
    for _ = 1, 2 do
      for _, task in ipairs {"add", "fill", "copy", "copy"} do
        expected[#expected + 1] = ("task g.%s: a buffer of another device, " ..
          "whose memory this one cannot reach\n"):format(task)
      end
    end
    assert.equal(table.concat(expected) .. "1\t5\n", said)
  end)

  it("refuses a device that is not in the context of its buffers", function()
    local out = process.output([[
      local lze = require "lze"
      local first, second = table.unpack(lze.devices())
      local x = lze.buffer("int", 4, {context = lze.context(first)})
      local g = lze.graph():fill("f", x, 1)
      print(pcall(g.compile, g, {device = second}))
      print(pcall(g.compile, g, {devices = {first, second}}))
      g:compile {device = first}:run()
      print(x[4])]], {env = {ZOCL_ROOT_DEVICES = "2"}})
    local refused = "false\tthe context was made without this device: [^\n]*\n"
    assert.matches("^" .. refused:rep(2) .. "1\n$", out)
  end)

  it("keeps a task on the device of the memory swapped into it", function()
    for _, private in ipairs {"0", "1"} do
      assert.equal("64 64\n", process.output([[
        local lze = require "lze"
        local first, second = table.unpack(lze.devices())
        local m, g, a = lze.load "kernels/spec.spv", lze.graph(), {}
        local b = {}
        for i = 1, 4 do
          a[i] = lze.buffer("int", 64)
          b[i] = lze.buffer("int", 64, {usage = "device", device = first})
          g:task("add" .. i, m.add, 64, a[i], i):swap(a[i], b[i])
        end
        local plan = g:compile {devices = {first, second}}
        for _ = 1, 4 do plan:run() end
        local n = {0, 0}
        for i = 1, 4 do
          for k = 1, 64 do
            n[1] = n[1] + (a[i][k] == 2 * i and 1 or 0) / 4
            n[2] = n[2] + (b[i]:read()[k] == 2 * i and 1 or 0) / 4
          end
        end
        print(("%d %d"):format(n[1], n[2]))]], {env = {
          ZOCL_ROOT_DEVICES = "2", ZOCL_DEVICE_MEMORY_PRIVATE = private}}))
    end
  end)

  it("runs on tiles", function()
    check(0, 6, "1 1 2",
      {ZOCL_SUB_DEVICES = "2", ZE_FLAT_DEVICE_HIERARCHY = "FLAT"})
  end)
end)
