-- graph_report_spec.lua - the reports of plans.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

describe("a plan's report", function()
  local plan, n = nil, 100003

  setup(function()
    local mod = lze.compile [[
      kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }]]
    local g = lze.graph "g"
    local x, y = lze.buffer("int", n), lze.buffer("int", n)
    local a, b, c = g:buffer("int", n), g:buffer("int", n), g:buffer("int", n)
    plan = g:input(x, "every"):output(y, "demand")
      :copy("a", a, x):copy("b", b, a):copy("c", c, b)
      :task("add", mod.add, n, c, 1):copy("y", y, c)
      :task("alone", mod.add, n, x, 0):compile {profile = true}
  end)

  it("describes the plan before anything has run", function()
    local r = plan:report()
    assert.equal("graph g", r.name)
    assert.equal(0, r.runs)
    assert.equal(6, #r.tasks)
    assert.is_nil(r.total_ns)
    local add = r.tasks[4]
    assert.equal("g.add", add.name)
    assert.equal("task", add.kind)
    assert.same({"g.c"}, add.after)
    assert.is_true(add.group[1] > 0)
    assert.is_string(add.why)
    assert.equal(8 * n, add.bytes)
    assert.same({"g.a"}, r.tasks[6].after) -- it writes what g.a reads
    assert.same({{name = "g.input 1", direction = "input", when = "every",
                  how = "in place", bytes = 0},
                 {name = "g.output 1", direction = "output", when = "demand",
                  how = "in place", bytes = 0}}, r.transfers)
    assert.matches("\ng%.input 1, every: in place, 0 bytes\n", tostring(r))
    assert.equal(12 * n, r.unshared_bytes)
    assert.is_true(r.transient_bytes < 9 * n)
    assert.equal(8 * n, r.captured_bytes)
    assert.matches("^graph g on .*, 0 runs\n", tostring(r))
    assert.equal("graph g: a trace needs a run",
      expect.misuse(function() plan:trace() end))
  end)

  it("has the times of the last run", function()
    plan:run()
    plan:start()
    local r = plan:report()
    assert.equal(2, r.runs)
    local busy, chain, ends = 0, 0, {}
    for _, t in ipairs(r.tasks) do
      local ready = 0
      for _, before in ipairs(t.after) do
        ready = math.max(ready, ends[before])
      end
      ends[t.name] = t.start_ns + t.ns
      assert.equal(#t.after > 0 and math.max(t.start_ns - ready, 0) or 0,
        t.wait_ns)
      assert.is_true(t.ns > 0)
      assert.is_true(t.start_ns >= 0 and t.start_ns + t.ns <= r.total_ns)
      busy = busy + t.ns
      if t.critical then chain = chain + t.ns end
    end
    assert.equal(busy, r.busy_ns)
    assert.equal(chain, r.critical_ns)
    assert.is_true(r.critical_ns <= r.total_ns)
    assert.near(r.busy_ns / r.total_ns, r.overlap, 1e-9)
    assert.equal("g.a", r.critical_path[1])
    for i = 2, 5 do
      assert.is_true(r.tasks[i].start_ns >=
        r.tasks[i - 1].start_ns + r.tasks[i - 1].ns)
    end
    assert.matches("\ng%.a +copy +%d +[%d.]+ +[%d.]+%*", tostring(r))
  end)

  it("is available as JSON, as a trace and for Graphviz", function()
    plan:run()
    local json = plan:json()
    assert.matches('^{.*"critical_path":%["g.a",.*}$', json)
    assert.matches('"name":"g.add"', json)
    assert.equal(select(2, json:gsub("{", "")), select(2, json:gsub("}", "")))
    local trace = plan:trace()
    local spans = 0
    local pattern = '"ph":"X","pid":1,"name":"([^"]*)","cat":"%l+",' ..
      '"tid":(%d+),"ts":[%d.]+,"dur":([%d.]+)'
    for name, lane, dur in trace:gmatch(pattern) do
      assert.matches("^g%.", name)
      assert.is_true(tonumber(lane) > 0 and tonumber(dur) > 0)
      spans = spans + 1
    end
    assert.equal(6, spans)
    assert.matches('^digraph "graph g" {\n', plan:dot())
    assert.matches('"g.c" %-> "g.add"', plan:dot())
  end)

  it("has exact numbers, escapes and the longest chain in these formats",
  function()
    local x = lze.buffer("int", 1 << 16)
    local p = lze.graph "g\31\"":fill("x", x, 1):compile {profile = true}
    p:run()
    assert.matches('"overlap":1%.0[,}]', p:json()) -- there is one step
    assert.matches([["name":"g\u001f\".x"]], p:json(), 1, true)
    local y, z = lze.buffer("int", 1 << 16), lze.buffer("int", 1 << 16)
    p = lze.graph "g":fill("x", x, 1):fill("y", y, 2)
      :task("z", lze.load "kernels/spec.spv".add, {16, uses = {x, y}}, z, 1)
      :compile {profile = true}
    p:run()
    local path, dot = p:report().critical_path, p:dot()
    assert.equal("g.z", path[2])
    assert.same({('  "%s" -> "g.z" [style=bold];'):format(path[1])},
      {dot:match "[^\n]*%->[^\n]*bold[^\n]*"})
    assert.equal(1, select(2, dot:gsub("%->[^\n]*bold", "")))
    assert.equal(2, select(2, dot:gsub("%->", "")))
  end)

  it("has the times of copies by the host", function()
    local mod = lze.load "kernels/spec.spv"
    for _, usage in ipairs {"shared", "device"} do
      local x = lze.buffer("uint", 4, {usage = usage})
      local y = lze.buffer("uint", 4, {usage = usage})
      local z = lze.buffer("uint", 4, {usage = usage})
      local source = {1, 2, 3, 4}
      local function graph()
        return lze.graph "g":input(x, "every", source)
          :input(y, "first", string.pack("=I4I4I4I4", 5, 6, 7, 8))
          :task("x", mod.add, 4, x, 1):task("y", mod.add, 4, y, 1)
          :copy("z", z, x)
      end
      local xs, ys = {}, {}
      local p = graph():output(x, "every", xs):output(y, "demand", ys)
        :output(z):compile {profile = true}
      local function times()
        local t = {}
        for i, transfer in ipairs(p:report().transfers) do
          t[i] = transfer.ns or false
          assert.equal(i == 5 and 0 or 16, transfer.bytes)
        end
        return t
      end
      assert.same({false, false, false, false, false}, times())
      p:run()
      local first = times()
      for i = 1, 3 do
        assert.equal("integer", math.type(first[i]))
        assert.is_true(first[i] > 0)
      end
      assert.same({false, false}, {first[4], first[5]})
      p:run():fetch(y)
      local second = times()
      assert.equal(first[2], second[2])
      assert.is_true(second[4] > 0)
      assert.is_false(second[5])
      assert.same({{2, 3, 4, 5}, {7, 8, 9, 10}}, {xs, ys})
      assert.matches("\ng%.input 1, every: copied before the run, 16 bytes, " ..
        "[%d.]+ us\n", tostring(p:report()))
      assert.matches('"ns":%d+', p:json())
      p = graph():compile()
      p:run()
      assert.same({false, false}, times())
    end
  end)

  it("has no measurements by default", function()
    local x = lze.buffer("int", 4)
    local p = lze.graph "q":fill("zero \"x\"", x, 0):compile()
    p:run()
    assert.is_nil(p:report().total_ns)
    assert.equal("graph q: a trace needs profile = true when it is compiled",
      expect.misuse(function() p:trace() end))
    assert.matches([["name":"q%.zero \"x\""]], p:json())
  end)
end)
