-- graph_transfer_spec.lua - transfers that plans on several devices avoid.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Returns the names of the transfers that a script's plan makes between two
-- devices that cannot reach each other's memory, and the bytes of all appended
-- copies.
local function transfers(record)
  local names, bytes = nil, nil
  process.with_directory(function(dir)
    local out = process.output(([[
      local lze = require "lze"
      local first, second = table.unpack(lze.devices())
      local m, n = lze.load "kernels/spec.spv", 1000
      local x = lze.buffer("int", n, {usage = "device", device = first})
      local y = lze.buffer("int", n, {usage = "device", device = second})
      lze.wait()
      local g = lze.graph "g"
      %s
      local p <close> = g:compile {device = first}
      p:run():run()
      lze.wait()
      for _, t in ipairs(p:report().tasks) do
        local task, what = t.name:match "^g%%.(%%w+) %%(argument %%d (.*)%%)"
        if task then print(task .. " " .. what) end
      end
      check()
    ]]):format(record), {seconds = 100, env = {
      ZOCL_ROOT_DEVICES = "2", ZOCL_PEER_ACCESS = "0",
      ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
      ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
      ZE_FAULT_REPORT = dir .. "/report",
      ZE_ENABLE_VALIDATION_LAYER = false,
    }})
    names = out
    local file <close> = assert(io.open(dir .. "/report"))
    bytes = tonumber(file:read "a":match "copies: %d+ copies, (%d+) bytes")
  end)
  return names, bytes
end

describe("transfers between devices", function()
  it("bring nothing twice, and take back only what is written", function()
    local names, bytes = transfers [[
      g:task("one", m.square, {n, device = second}, x, y)
        :task("two", m.square, {n, device = second}, x, y)
        :task("three", m.add, {n, device = second}, x, 1)
        :task("four", m.square, {n, device = second}, x, y)
      function check() assert(x:string() == lze.buffer("int", n):fill(2)
                                :string()) end
    ]]
    assert.equal("one to the host\none to the device\n" ..
      "three from the device\nthree from the host\n", names)
    -- The four transfers, and one out of the device by the script's last lines.
    assert.equal(5 * 4000, bytes)
  end)

  it("take back once if nothing reads the data in between", function()
    local names, bytes = transfers [[
      for i = 1, 5 do g:task("t" .. i, m.add, {n, device = second}, x, i) end
      function check() assert(x:read()[n] == 30) end
    ]]
    assert.equal("t1 to the host\nt1 to the device\n" ..
      "t5 from the device\nt5 from the host\n", names)
    assert.equal(5 * 4000, bytes)
  end)

  it("are made when other steps change or read the home buffer", function()
    local names = transfers [[
      g:task("one", m.add, {n, device = second}, x, 1)
        :task("home", m.add, n, x, 10)
        :task("two", m.add, {n, device = second}, x, 100)
        :call("look", function() assert(x:read()[1] % 1000 == 111) end)
        :task("three", m.add, {n, device = second}, x, 889)
      function check() assert(x:read()[n] == 2000) end
    ]]
    assert.equal("one to the host\none to the device\n" ..
      "one from the device\none from the host\n" ..
      "two to the host\ntwo to the device\n" ..
      "two from the device\ntwo from the host\n" ..
      "three to the host\nthree to the device\n" ..
      "three from the device\nthree from the host\n", names)
  end)

  it("are repeated if a view changes a part of the buffer", function()
    local names = transfers [[
      g:task("one", m.add, {n, device = second}, x, 1)
        :task("part", m.add, {n // 2, device = second}, x:view(1, n // 2), 1)
        :task("two", m.add, {n, device = second}, x, 1)
      function check()
        assert(x:read()[1] == 6 and x:read()[n] == 4)
      end
    ]]
    assert.equal(3 * 4, select(2, names:gsub("\n", "")))
  end)

  it("are made once for two arguments with the same buffer", function()
    local names = transfers [[
      g:task("one", m.square, {n, device = second}, x, x)
      p = lze.graph "f":fill("three", x, 3):compile()
      p:run()
      function check() assert(x:read()[n] == 81) end
    ]]
    assert.equal("one to the host\none to the device\n" ..
      "one from the device\none from the host\n", names)
  end)
end)

-- So a task cannot see both its own copy and the home buffer.
describe("a value set later", function()
  it("is refused if it is on another device", function()
    assert.equal("ok\n", process.output([[
      local lze = require "lze"
      local first, second = table.unpack(lze.devices())
      local m, n = lze.load "kernels/spec.spv", 4
      local x = lze.buffer("int", {1, 2, 3, 4}, {usage = "device",
        device = first})
      local y = lze.buffer("int", n)
      local p <close> = lze.graph "g"
        :task("square", m.square, {n, device = second}, x, y)
        :compile {device = first}
      p:run()
      assert(table.concat(y:read(), " ") == "1 4 9 16")
      local ok, message = pcall(p.set, p, "square", 2, x:view(1, n))
      assert(not ok)
      assert(tostring(message):find(
        "task g.square: kernel square: argument 2 (b): a device buffer of "
        .. "another device", 1, true), tostring(message))
      y:fill(0)
      x:write {2, 3, 4, 5}
      p:run()
      assert(table.concat(y:read(), " ") == "4 9 16 25")
      print "ok"
    ]], {seconds = 100, env = {ZOCL_ROOT_DEVICES = "2"}}))
  end)
end)

-- Random graphs on two devices, with views, callbacks and plan:set, compared
-- with plain Lua.
local random_graphs = [==[
  local lze = require "lze"
  local devices = lze.devices()
  local m, n = lze.load "kernels/spec.spv", 24
  math.randomseed(SEED)
  local random = math.random
  for graph = 1, 40 do
    local buffers, model, pieces = {}, {}, {}
    for b = 1, 3 do
      local t = {}
      for i = 1, n do t[i] = random(0, 9) end
      buffers[b] = lze.buffer("int", t, {
        usage = random(3) == 1 and "shared" or "device",
        device = devices[random(2)]})
      model[b] = t
      pieces[#pieces + 1] = {b, 0, n, buffers[b]}
      local from = random(0, n // 2)
      pieces[#pieces + 1] = {b, from, n // 2,
                             buffers[b]:view(from + 1, from + n // 2)}
    end
    local g, steps = lze.graph(), {}
    for s = 1, random(3, 9) do
      local name, kind = "s" .. s, random(10)
      local p, q = pieces[random(#pieces)], pieces[random(#pieces)]
      local device = devices[random(2)]
      if kind <= 5 then
        local step = {p = p, add = random(9)}
        g:task(name, m.add, {p[3], device = device}, p[4], step.add)
        step.run = function()
          for i = step.p[2] + 1, step.p[2] + p[3] do
            model[step.p[1]][i] = model[step.p[1]][i] + step.add
          end
        end
        steps[s] = step
      elseif kind <= 8 and p[3] == q[3] and p[1] ~= q[1] then
        g:task(name, m.square, {p[3], device = device}, p[4], q[4])
        steps[s] = {run = function()
          for i = 1, p[3] do
            local v = model[p[1]][p[2] + i]
            model[q[1]][q[2] + i] = (v * v + 0x80000000) % 0x100000000 -
              0x80000000
          end
        end}
      elseif kind == 9 then
        g:call(name, function()
          p[4]:write({s}, 1)
        end)
        steps[s] = {run = function() model[p[1]][p[2] + 1] = s end}
      else
        g:fill(name, p[4], s)
        steps[s] = {run = function()
          for i = p[2] + 1, p[2] + p[3] do model[p[1]][i] = s end
        end}
      end
    end
    local plan <close> = g:compile {device = devices[random(2)]}
    for run = 1, 3 do
      for s, step in ipairs(steps) do
        if step.add and random(3) == 1 then
          step.add = random(9)
          plan:set("s" .. s, 2, step.add)
        end
      end
      plan:run()
      for _, step in ipairs(steps) do
        step.run()
        for b = 1, 3 do
          for i = 1, n do
            model[b][i] = (model[b][i] + 0x80000000) % 0x100000000 -
              0x80000000
          end
        end
      end
      for b = 1, 3 do
        local got = buffers[b]:read()
        for i = 1, n do
          if got[i] ~= model[b][i] then
            error(("seed SEED, graph %d, run %d: buffer %d[%d] is %d, not %d")
              :format(graph, run, b, i, got[i], model[b][i]))
          end
        end
      end
    end
  end
  print "as in plain Lua"
]==]

describe("random graphs on two devices", function()
  it("compute the same as plain Lua", function()
    for seed = 1, 3 do
      assert.equal("as in plain Lua\n", process.output(
        random_graphs:gsub("SEED", seed), {seconds = 200, env = {
          ZOCL_ROOT_DEVICES = "2", ZOCL_PEER_ACCESS = "0",
          ZOCL_DEVICE_MEMORY_PRIVATE = "1"}}))
    end
  end)
end)
