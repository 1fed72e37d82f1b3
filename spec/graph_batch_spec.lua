-- graph_batch_spec.lua - graphs whose data exceed a device's memory.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"
local process = require "spec.support.process"

describe("batches", function()
  local mod

  setup(function()
    mod = lze.compile [[
      kernel void sum(global const int *a, global const int *b, global int *c) {
        size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
      kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }
      kernel void pairs(global int *x, constant int *by) {
        size_t i = get_global_id(0);
        x[2 * i] *= by[0]; x[2 * i + 1] *= by[1]; }
      kernel void size(global int *x) {
        x[get_global_id(0)] = get_global_size(0); }
      kernel void square(global int *x, int w) {
        x[get_global_id(1) * w + get_global_id(0)] = 1; }]]
  end)

  it("give the result of a single run, including uneven tails", function()
    for _, n in ipairs {1000, 1001, 4096, 10007} do
      local a = lze.buffer("int", n, {usage = "host"})
      local b, c = lze.buffer("int", n), lze.buffer("int", 2 * n)
      for i = 1, n do a[i], b[i] = i, 2 * i end
      local by = lze.buffer("int", {3, 5})
      local g = lze.graph "g":task("sum", mod.sum, n, a, b, a)
        :task("add", mod.add, {n}, a, 1):task("pairs", mod.pairs, n, c, by)
      c:fill(1)
      local plan = g:compile {batch_bytes = 9000}
      plan:run()
      local t, u = a:read(), c:read()
      local wrong
      for i = 1, n do
        if t[i] ~= 3 * i + 1 or u[2 * i - 1] ~= 3 or u[2 * i] ~= 5 then
          wrong = wrong or i
        end
      end
      assert.is_nil(wrong)
      local r = plan:report()
      assert.is_true(r.transient_bytes <= 9000)
      assert.is_true(#r.tasks >= 3 * (n * 16 // 4500))
    end
  end)

  it("have whole multiples of 64 items, and keep launch tables", function()
    local n = 1000
    local x = lze.buffer("int", n)
    local plan = lze.graph "g":task("add", mod.add, {n, group = 4}, x, 1)
      :compile {batch_bytes = 1200} -- two times 118 items and their padding
    local tasks = plan:report().tasks
    assert.equal(3 * 16, #tasks)
    assert.same({4, 1, 1}, tasks[2].group)
    plan:run()
    assert.same({1, 1}, {x[1], x[n]})
  end)

  it("copy back elements that one task writes and the next reads", function()
    local n = 1000
    local a, c = lze.buffer("int", n):fill(3), lze.buffer("int", n)
    local d = lze.buffer("int", n)
    lze.graph "g":task("c", mod.sum, n, a, a, c):task("d", mod.sum, n, c, a, d)
      :compile {batch_bytes = 4000}:run()
    assert.same({6, 6, 9, 9}, {c[1], c[n], d[1], d[n]})
  end)

  it("have one copy of elements that several buffers share", function()
    local n = 1000
    local x, y = lze.buffer("int", n):fill(3), lze.buffer("int", n)
    lze.graph "g":task("a", mod.add, n, x:view(1, n), 1)
      :task("b", mod.sum, n, x:view(1, n), x, y)
      :compile {batch_bytes = 4000}:run()
    assert.same({4, 4, 8, 8}, {x[1], x[n], y[1], y[n]})
  end)

  it("do not split data that fits", function()
    local x = lze.buffer("int", 100)
    local plan = lze.graph():task("add", mod.add, 100, x, 1)
      :compile {batch_bytes = 400}
    plan:run()
    assert.equal(1, x[100])
    assert.equal(1, #plan:report().tasks)
  end)

  it("say why a graph cannot be split", function()
    local n = 1000
    local x = lze.buffer("int", n)
    local function why(g)
      return (expect.misuse(function() g:compile {batch_bytes = 2000} end)
        :gsub("^graph g: batch_bytes: ", ""))
    end
    local function graph() return lze.graph "g":task("a", mod.add, n, x, 1) end
    assert.equal("copy c: only launches can be split",
      why(graph():copy("c", lze.buffer("int", n), x)))
    assert.equal("task s: its kernel uses groups, or how large the range is",
      why(graph():task("s", mod.size, n, x)))
    assert.equal("task q: its range has more than one dimension",
      why(graph():task("q", mod.square, {10, 100}, x, 10)))
    assert.equal("task b: its range is not that of the others",
      why(graph():task("b", mod.add, n - 1, x, 1)))
    assert.equal("task o: argument 1: the 1500 elements that are written " ..
      "are not equal shares of 1000 items",
      why(graph():task("o", mod.add, n, lze.buffer("int", 1500), 1)))
    assert.equal("task p: it is put after others by name",
      why(graph():task("p", mod.add, {n, after = "a"}, x, 1)))
    local long = lze.buffer("int", n + 1)
    assert.equal("task w: argument 1: it overlaps argument 1 of task v, " ..
      "and is not the same elements",
      why(graph():task("v", mod.add, n, long:view(1, n), 1)
        :task("w", mod.add, n, long:view(2, n + 1), 1)))
    local closed = lze.buffer("int", n)
    local g = graph():task("c", mod.add, n, closed, 1)
    closed:close()
    local other = graph()
    assert.equal("task c: argument 1: the buffer is closed", why(g))
    assert.equal("task t: it uses a transient buffer",
      why(other:task("t", mod.add, n, other:buffer("int", n), 1)))
    assert.equal("buffers change places",
      why(graph():swap(x, lze.buffer("int", n))))
    assert.equal("options batch_bytes and devices: one or the other",
      expect.misuse(function()
        graph():compile {batch_bytes = 8, devices = {lze.device()}}
      end))
  end)

  it("work on a device with little memory", function()
    assert.equal("1000003\t2000005\ttrue\n", process.output([[
      local lze = require "lze"
      local m, n = lze.load "kernels/spec.spv", 1000003
      local x = lze.buffer("int", n, {usage = "host"})
      for i = 1, n do x[i] = i end
      local ok = pcall(lze.buffer, "int", n, {usage = "device"})
      assert(not ok)
      local plan = lze.graph():task("one", m.add, n, x, 1)
        :task("two", m.add, n, x, n - 1):compile {batch_bytes = 1 << 20}
      plan:run()
      print(x[1] - 1, x[n] - 1, plan:report().transient_bytes <= 1 << 20)
    ]], {env = {ZOCL_MEMORY_BYTES = "2000000"}}))
  end)
end)
