-- arrays_given_to_graphs_spec.lua - arrays in place of buffers.  A graph's task
-- and plan:set treated a non-contiguous array as a null pointer.  Inputs and
-- outputs that were arrays could not be copied from and to the script's tables.
-- An array as the only buffer of `uses` was ignored, and lze.parallel could not
-- slice an array.
local lze = require "lze"
local A = lze.array

local saxpy = lze.load("saxpy").saxpy
local apart = "an array that is not contiguous (a:clone() is)"

local function said(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

local function graph()
  local x, y = A("float", {1, 2, 3, 4}), A.zeros {4}
  return lze.graph("g"), x, y
end

-- Every second element, so not contiguous.
local function thin() return A.ones({8})[{{1, 8, 2}}] end

describe("an array that is not contiguous", function()
  it("is refused as an argument of a task", function()
    local g, _, y = graph()
    assert.matches("graph g: task t: kernel saxpy: argument 2 (x): float* " ..
      "expected (a buffer, or nil), got " .. apart, said(g.task, g, "t", saxpy,
      4, 1, thin(), y), 1, true)
  end)

  it("is refused by plan:set", function()
    local g, x, y = graph()
    local plan = g:task("t", saxpy, 4, 1, x, y):compile()
    assert.matches("task g.t: kernel saxpy: argument 2 (x): float* expected " ..
      "(a buffer, or nil), got " .. apart, said(plan.set, plan, "t", "x",
      thin()), 1, true)
    plan:run()
    assert.same({1, 2, 3, 4}, y:read())
  end)

  it("is named in the message wherever a buffer is expected", function()
    local g, x, y = graph()
    for _, f in ipairs {
      function() saxpy(4, 1, thin(), y) end,
      function() lze.buffer("float", 4):copy(thin()) end,
      function() lze.slice(thin()) end,
      function() g:input(thin()) end,
      function() g:input(x, "every", thin()) end,
      function() g:output(x, "every", thin()) end,
      function() saxpy({4, uses = thin()}, 1, x, y) end,
      function() saxpy({4, uses = {thin()}}, 1, x, y) end,
      function()
        lze.graph():task("t", saxpy, {4, uses = thin()}, 1, x, y):compile()
      end,
      function() lze.graph():copy("t", x, thin()):compile() end,
    } do
      assert.matches("expected%D*, got " .. apart:gsub("%p", "%%%0"), said(f))
    end
  end)
end)

describe("an array", function()
  it("can be an input or output with a table of the script", function()
    local g, x, y = graph()
    local from, to = {5, 6, 7, 8}, {}
    g:input(x, "every", from):task("t", saxpy, 4, 1, x, y)
    local plan = g:output(y, "every", to):compile()
    plan:run()
    assert.same({5, 6, 7, 8}, to)
    from[1] = 50
    plan:run()
    assert.same({55, 12, 14, 16}, to)
  end)

  it("can be an input or output with another array", function()
    local g, x, y = graph()
    local from, to = A("float", {5, 6, 7, 8}), A.zeros {4}
    g:input(x, "every", from):task("t", saxpy, 4, 1, x, y)
    g:output(y, "every", to):compile():run()
    assert.same({5, 6, 7, 8}, to:read())
  end)

  it("is the same output as its buffer", function()
    local g, x, y = graph()
    local plan = g:task("t", saxpy, 4, 1, x, y):output(y.buffer, "demand")
      :compile()
    plan:run()
    assert.equal(y, plan:fetch(y))
    assert.equal(y.buffer, plan:fetch(y.buffer))
    assert.matches("has no such output", said(plan.fetch, plan, x), 1, true)
  end)

  it("cannot be an input a second time as its buffer", function()
    local g, x = graph()
    g:input(x)
    assert.matches("graph g: the buffer is an input already", said(g.input, g,
      x.buffer), 1, true)
  end)

  it("can be the only buffer that a launch uses", function()
    local _, x, y = graph()
    local used = A.ones {1000}
    saxpy:launch({4, uses = used}, 1, x, y):wait()
    lze.graph():task("t", saxpy, {4, uses = used}, 1, x, y):compile():run()
    assert.same({2, 4, 6, 8}, y:read())
    used.buffer:close()
    assert.matches("uses: the buffer is closed", said(saxpy, {4, uses = used},
      1, x, y), 1, true)
  end)

  it("can be sliced for lze.parallel", function()
    local _, x, y = graph()
    lze.parallel({lze.device()}, 4, saxpy, 3, lze.slice(x * 2), lze.slice(y))
    assert.same({6, 12, 18, 24}, y:read())
  end)
end)

describe("messages", function()
  it("call an array an array", function()
    assert.matches("got array of float", said(A.fill, A.ones {2}, A.ones {2}),
      1, true)
    assert.matches("a table of arrays expected, got array of float",
      said(A.cat, A.ones {2}, A.ones {2}), 1, true)
    assert.matches("number or string expected, got array of int",
      said(lze.devices, A("int", {1})), 1, true)
  end)
end)
