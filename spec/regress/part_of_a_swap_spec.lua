-- part_of_a_swap_spec.lua - when buffers were swapped, their views were swapped
-- in tasks only.  Promises to tables and plan:current used the memory that the
-- script had named.  So did plan:fetch, instead of the buffer that had the role
-- of its output in the last run.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"

local mod = lze.load "kernels/spec.spv"

describe("when buffers are swapped,", function()
  local a, b, graph

  before_each(function()
    a, b = lze.buffer("int", 4), lze.buffer("int", 4)
    graph = lze.graph "g":copy("copy", b, a):task("step", mod.add, 4, b, 1)
      :swap(a, b)
  end)

  describe("views of them", function()
    it("follow them as inputs and outputs", function()
      local from, to = {}, {}
      local plan = graph:input(a:view(2, 3), "every", from)
        :output(b:view(2, 2), "every", to):compile()
      for i = 1, 4 do
        from[1], from[2] = 100 * i, 7
        plan:run()
        assert.same({100 * i + 1}, to)
      end
    end)

    it("follow them in plan:current", function()
      local plan = graph:compile()
      local view = a:view(2, 3)
      assert.equal(view, plan:current(view))
      plan:run()
      a[2], b[2], b[3] = 5, 6, 7
      assert.same({6, 7}, plan:current(view):read())
      assert.equal(5, plan:current(b:view(2, 2))[1])
      plan:current(view)[1] = 8
      assert.equal(8, b[2])
      plan:run()
      assert.equal(view, plan:current(view))
      assert.same({9, 8}, plan:current(view):read())
    end)

    it("are closed when the other buffer is", function()
      local c, d = lze.buffer("int", 4), lze.buffer("int", 4)
      local plan = graph:swap(c, d):compile()
      plan:run()
      local view = plan:current(c:view(1, 1))
      view[1] = 3
      assert.equal(3, d[1])
      d:close()
      collectgarbage()
      assert.is_false(pcall(function() return view[1] end))
      local after = plan:current(c:view(1, 1))
      assert.is_false(pcall(function() return after[1] end))
      plan:close()
    end)

    it("can be copied from and to tables, but larger ranges cannot", function()
      local x = lze.buffer("int", 8)
      local c, d, some = x:view(1, 4), x:view(5, 8), {1, 2, 3, 4, 5, 6, 7, 8}
      local function compile(promise, ...)
        local g = lze.graph "g":task("step", mod.add, 4, d, 10):swap(c, d)
        return g[promise](g, ...):compile()
      end
      for _, promise in ipairs {
        {"input", x, "every", some}, {"output", x, "every", {}},
        {"output", x:view(4, 5), "demand", {}},
        {"output", lze.buffer("int", 8), "demand", x},
        {"input", x:view(1, 5), "every", x:string(1, 5)},
      } do
        assert.equal("graph g: g." .. promise[1] .. " 1: it uses more than " ..
          "the buffer that is swapped",
          expect.misuse(function() compile(table.unpack(promise)) end))
      end
      compile("input", x, "first", some):run {iterations = 3}
      assert.same({11, 12, 13, 14, 25, 26, 27, 28}, x:read())
      local plan = compile("output", x, "demand"):run()
      assert.equal(x, plan:fetch(x))
    end)
  end)

  describe("plan:fetch", function()
    it("copies the buffer that had its role in the last run", function()
      local all, some = {}, lze.buffer("int", 2)
      local view = b:view(2, 3)
      local plan = graph:output(b, "demand", all):output(view, "demand", some)
        :compile()
      assert.equal(b, plan:fetch(b)) -- before the first run
      assert.same({0, 0, 0, 0}, all)
      for i = 1, 4 do
        plan:run()
        assert.equal(b, plan:fetch(b))
        assert.same({i, i, i, i}, all)
        assert.equal(view, plan:fetch(view))
        assert.same({i, i}, some:read())
      end
      plan:start {iterations = 3}
      plan:fetch(b)
      assert.same({7, 7, 7, 7}, all)
    end)

    it("copies to the buffer that has the role of its destination", function()
      local x = lze.buffer("int", {1, 2, 3, 4})
      local plan = graph:output(x, "demand", a:view(1, 4)):compile()
      plan:run {iterations = 2}
      plan:fetch(x)
      assert.same({1, 2, 3, 4}, b:read())
      assert.same({2, 2, 2, 2}, a:read())
    end)

    it("in a callback refers to the run that this is part of", function()
      local all, seen, plan = {}, {}, nil
      plan = graph:output(b, "demand", all):call("look", function()
        plan:fetch(b)
        seen[#seen + 1] = all[1]
      end):task("after", mod.add, 4, b, 10):compile()
      local ev
      for _ = 1, 4 do ev = plan:start() end
      assert.is_true(ev:wait(60))
      assert.same({1, 12, 23, 34}, seen)
      plan:fetch(b)
      assert.equal(44, all[1])
    end)

    it("raises an error if the other buffer is closed", function()
      local plan = graph:output(b, "demand"):compile()
      plan:run {iterations = 2}
      a:close()
      assert.equal("bad argument #1 to 'fetch' (what plays its part is closed)",
        expect.misuse(function() plan:fetch(b) end))
    end)
  end)
end)
