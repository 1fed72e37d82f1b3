-- tune_spec.lua - group sizes found by measuring.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

describe("lze.tune", function()
  it("measures a kernel, and restores the buffers", function()
    local a, b = lze.buffer("int", 30011), lze.buffer("int", 30011)
    for i = 1, #a do a[i] = i end
    b:fill(7)
    local r = lze.tune(mod.square, #a, a, b)
    assert.equal(3, #r.group)
    assert.is_true(r.ns > 0 and r.rounds >= 5)
    assert.same({7, 7, 7}, {b[1], b[30000], b[30011]})
    assert.is_true(#r.results >= 3)
    local seen, winner = {}, false
    for i, c in ipairs(r.results) do
      local size = table.concat(c.group, "x")
      assert.is_nil(seen[size])
      seen[size] = true
      assert.is_true(c.ns > 0 and c.rounds >= 1)
      winner = winner or size == table.concat(r.group, "x")
      local before = r.results[i - 1]
      if before ~= nil and (c.rounds == before.rounds) then
        assert.is_true(before.ns <= c.ns)
      end
    end
    assert.is_true(winner)
    -- The heuristic's own size is among the results.
    local own = table.concat({mod.square:group(#a)}, "x", 1, 3)
    assert.is_true(seen[own])
  end)

  it("does not reject its own size because of one short time", function()
    -- The module's Lua part on a simulated device: its own size looks hopeless
    -- at first, then the device gets slower.
    local launches, core = 0, {
      check = function()
        return {name = "f", n = 0, writes = {}, kernel = "kernel"}
      end,
      sizes = function() return {{1, 1, 1}, {2, 1, 1}} end,
      choose = function() end, buffer_of = function() end,
      keep = function() return true end, now = function() return 0 end,
      pcall = pcall, raise = error,
    }
    function core.call(object, method, launch)
      if method == "launch" then
        launches = launches + 1
        local own = launch.group[1] == 1
        return {kernel_ns = launches > 4 and 100 or own and 30 or 10}
      elseif method == "time" then
        return object
      end
    end
    local r = assert(loadfile "lua/tune.lua")(core).tune("kernel", 8)
    assert.same({1, 1, 1}, r.group)
    assert.equal([[
f: 1x1x1, 0.1 us
group               us   times  rounds
1x1x1              0.1    1.00      11
2x1x1              0.1    1.00      11]], tostring(r))
    assert.same({100, 11}, {r.ns, r.rounds})
  end)

  it("restores memory written through atomics, views and uses", function()
    local seen = lze.buffer("int", 1000)
    seen:fill(3)
    lze.tune(mod.count, {20, 25}, seen:view(1, 500), 20, 25)
    for i = 1, #seen do assert.equal(3, seen[i]) end
    local poke = lze.compile([[kernel void poke(global const ulong *at) {
      *(global int *)at[0] += 1; }]]).poke
    local cell = lze.buffer("int", {41})
    local at = lze.buffer("ulong", {cell.pointer})
    poke({1, uses = cell}, at)
    assert.equal(42, cell[1])
    lze.tune(poke, {1, uses = {cell}}, at)
    assert.equal(42, cell[1])
  end)

  it("is used only on request, for ranges of the same class", function()
    -- A unique name, which no run of the suite has tuned before.
    local name = ("square_%d_%s"):format(os.time(), tostring(expect):match
      "%x+$")
    local source = "kernel void " .. name .. [[(global const int *a,
      global int *b) {
        b[get_global_id(0)] = a[get_global_id(0)] * a[get_global_id(0)];
      }]]
    local square = lze.compile(source)[name]
    local a, b = lze.buffer("int", 50021), lze.buffer("int", 50021)
    square:prepare(50021) -- makes it choose its own size
    local usual = {square:group(50021)}
    local before = {square:group {50021, policy = "tuned"}}
    assert.same(usual, before)
    local r = lze.tune(square, 50021, a, b)
    assert.is_true(r.stored)
    assert.same(usual, {square:group(50021)})
    local gx, _, _, why = square:group {50021, policy = "tuned"}
    assert.equal(r.group[1], gx)
    assert.matches("measured by lze.tune", why, 1, true)
    assert.equal(r.group[1], (square:group {50023, policy = "tuned"}))
    assert.not_matches("measured",
      select(4, square:group {500021, policy = "tuned"}))
    -- In another process, with any name and place there.
    assert.equal(r.group[1] .. "\n", process.output(([[
      local lze = require "lze"
      print((lze.compile(%q).%s:group {50021,
        policy = "tuned"}))]]):format(source, name)))
    a:fill(3)
    square({50021, policy = "tuned"}, a, b)
    assert.same({9, 9}, {b[1], b[50021]})
  end)

  it("limits a size that must divide to the measured range", function()
    local x, sizes = lze.buffer("int", 4800), lze.buffer("int", 4800)
    local r = lze.tune(mod.count_groups, 4800, x, sizes)
    for _, c in ipairs(r.results) do assert.equal(0, 4800 % c.group[1]) end
    assert.matches("measured by lze.tune",
      select(4, mod.count_groups:group {4800, policy = "tuned"}), 1, true)
    assert.not_matches("measured",
      select(4, mod.count_groups:group {4799, policy = "tuned"}))
    assert.equal(0, x[1] + sizes[4800])
  end)

  it("tries only the required size", function()
    local out = lze.buffer("int", 64)
    local r = lze.tune(mod.eights, 64, out)
    assert.equal(1, #r.results)
    assert.same({8, 1, 1}, r.group)
  end)

  it("stores nothing without a cache", function()
    assert.equal("false\tfalse\n", process.output([[
      local lze = require "lze"
      local k = lze.load("kernels/spec.spv").square
      local a, b = lze.buffer("int", 700), lze.buffer("int", 700)
      local r = lze.tune(k, 700, a, b)
      local why = select(4, k:group {700, policy = "tuned"})
      print(r.stored, why:find "measured" ~= nil)]],
      {env = {LZE_CACHE = "off"}}))
  end)

  it("checks all arguments first", function()
    local a, b = lze.buffer("int", 10), lze.buffer("int", 10)
    local function fails(...)
      local args = table.pack(...)
      return expect.misuse(function()
        lze.tune(table.unpack(args, 1, args.n))
      end)
    end
    assert.matches("kernel expected, got number", fails(3), 1, true)
    assert.equal("kernel square: no global size", fails(mod.square))
    assert.equal("kernel square: 2 arguments (a, b) expected, got 1",
      fails(mod.square, 10, a))
    assert.equal("lze.tune: kernel square: an empty range runs nothing",
      fails(mod.square, 0, a, b))
    for _, key in ipairs {"group", "policy", "after", "signal"} do
      assert.equal("lze.tune: " .. key ..
        ": not in a launch table that is measured",
        fails(mod.square, {10, [key] = 1}, a, b))
    end
    assert.matches("needs `group`",
      fails(mod.reverse, 10, a, 10), 1, true)
    local closed = lze.load("kernels/spec.spv").square
    closed:close()
    assert.equal("the kernel is closed", fails(closed, 10, a, b))
  end)
end)
