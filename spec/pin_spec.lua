-- pin_spec.lua - group sizes that the user pins.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

describe("k.group_hint", function()
  local k = mod.count
  after_each(function() k.group_hint = nil end)

  it("is used if a launch gives no group", function()
    assert.is_nil(k.group_hint)
    k.group_hint = 40
    assert.same({40, 1, 1}, k.group_hint)
    local gx, gy, gz, why = k:group(1000)
    assert.same({40, 1, 1, "40 of 1000: the group_hint"}, {gx, gy, gz, why})
    assert.equal(50, (k:group {1000, group = 50}))
    k.group_hint = {8, 4}
    assert.same({8, 4, 1}, k.group_hint)
    gx, gy = k:group(64, 64)
    assert.same({8, 4}, {gx, gy})
    k.group_hint = nil
    assert.is_nil(k.group_hint)
    assert.not_equal("40 of 1000: the group_hint", select(4, k:group(1000)))
  end)

  it("determines the group that runs", function()
    local groups = mod.count_groups
    local seen, sizes = lze.buffer("int", 1000), lze.buffer("int", 1000)
    groups.group_hint = 250
    groups(1000, seen, sizes)
    assert.same({250, 250}, {sizes[1], sizes[1000]})
    groups({1000, group = 100}, seen, sizes)
    assert.same({100, 100}, {sizes[1], sizes[1000]})
    groups.group_hint = nil
    groups({1000, policy = "largest"}, seen, sizes)
    assert.same({1000, 3}, {sizes[1], seen[1000]})
  end)

  it("replaces the group of a kernel with local arguments", function()
    local x = lze.buffer("int", {1, 2, 3, 4, 5, 6})
    local reverse = mod.reverse
    reverse.group_hint = 3
    reverse(6, x, 3)
    assert.same({3, 2, 1, 6, 5, 4}, x:read())
    reverse.group_hint = nil
    assert.matches("needs `group`", expect.misuse(function()
      reverse(6, x, 3)
    end), 1, true)
  end)

  it("reports the rule that it violates", function()
    local groups = mod.count_groups
    groups.group_hint = 64
    assert.equal("kernel count_groups: the group_hint 64 does not divide " ..
      "the range 1009, which it must because the kernel reads its place in " ..
      "the group", expect.misuse(function() groups:group(1009) end))
    groups.group_hint = nil
    k.group_hint = k.max_group_size + 1
    assert.matches("kernel count: the group_hint %d+ is more than the %d+ ",
      expect.misuse(function() k:group(1000000) end))
    mod.eights.group_hint = 4
    assert.equal("kernel eights: the group_hint 4 is not the 8x1x1 the " ..
      "kernel requires", expect.misuse(function() mod.eights:group(64) end))
    mod.eights.group_hint = nil
  end)

  it("is checked when it is set", function()
    local function set(v)
      return expect.misuse(function() k.group_hint = v end)
    end
    assert.equal("kernel count: group_hint: 0 is outside 1..4294967295", set(0))
    assert.equal("kernel count: group_hint: integer expected, got string 'x'",
      set "x")
    assert.equal("kernel count: group_hint: one to three numbers expected, " ..
      "got 4", set {1, 2, 3, 4})
    assert.is_nil(k.group_hint)
    assert.equal("a kernel has no field that can be set but group_hint " ..
      "(string 'name')", expect.misuse(function() k.name = "y" end))
    local closed = lze.load("kernels/spec.spv").count
    closed:close()
    assert.equal("kernel count is closed",
      expect.misuse(function() closed.group_hint = 1 end))
  end)
end)

describe("LZE_GROUP", function()
  local function run(script, groups)
    return process.output([[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      local function try(f, ...) print(select(2, pcall(f, ...))) end
      ]] .. script, {env = {LZE_GROUP = groups}})
  end

  it("pins kernels, before hints but after launch tables", function()
    assert.equal("50\t8\t8\n40\n", run([[
      mod.count.group_hint = 100
      local a, _, _, why = mod.count:group(1000)
      assert(why == "50 of 1000: the group of LZE_GROUP", why)
      local gx, gy = mod.count_groups3:group(64, 64)
      print(a, gx, gy)
      print((mod.count:group {1000, group = 40}))]],
      " count=50; count_groups3=8x8,  other=1; "))
  end)

  it("pins tasks of plans, before kernels", function()
    local script = [[
      local x = lze.buffer("int", 1000)
      local g = lze.graph "g"
      g:task("one", mod.count, 1000, x, 1000, 1)
      g:task("two", mod.count, 1000, x, 1000, 1)
      local plan <close> = g:compile()
      plan:run()
      local groups = {}
      for _, t in ipairs(plan:report().tasks) do
        groups[#groups + 1] = t.name .. " " .. t.why
      end
      print(table.concat(groups, "; "))]]
    assert.equal("g.one 50 of 1000: the group of LZE_GROUP; " ..
      "g.two 25 of 1000: the group of LZE_GROUP\n",
      run(script, "g.two=25;count=50"))
  end)

  it("reports the rule that it violates", function()
    assert.matches("kernel count_groups: the group of LZE_GROUP 64 does not " ..
      "divide the range 1009", run("try(mod.count_groups.group, " ..
      "mod.count_groups, 1009)", "count_groups=64"), 1, true)
  end)

  it("must consist of names and sizes", function()
    for _, bad in ipairs {"count", "=64", "count=", "count=0", "count=8x",
                          "count=8x8x8x8", "count=4294967296", "count=8 "} do
      assert.matches("LZE_GROUP: '" .. bad .. "' is not NAME=SIZE",
        process.output([[print(pcall(require("lze").devices))
          print(pcall(require("lze").buffer, "int", 1))]],
          {env = {LZE_GROUP = "a=1;" .. bad}}), 1, true)
    end
  end)
end)
