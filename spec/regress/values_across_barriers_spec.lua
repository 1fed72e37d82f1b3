-- values_across_barriers_spec.lua - PoCL stores the values that a group keeps
-- across a barrier on the stack of a thread, which once overflowed.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- A kernel that keeps `count` integers across a barrier, in groups of any size.
local script = [[
  local lze = require "lze"
  local count = %d
  local text = {"local w = ... return function(i, x)\n"}
  for k = 1, count do
    text[#text + 1] = ("local v%%d = x[i + %%d] * %%d\n"):format(k, k, k)
  end
  text[#text + 1] = "w.barrier() local s = 0\n"
  for k = 1, count do text[#text + 1] = ("s = s * 3 + v%%d\n"):format(k) end
  text[#text + 1] = "x[i] = s end"
  local f = assert(load(table.concat(text)))(lze.work)
  local x = lze.buffer("long", 8192)
  local k = lze.kernel(f)
  local most = k:variant(4096, x).max_group_size
  for _, range in ipairs {{most, group = most}, {most, policy = "largest"}} do
    for i = 1, #x do x[i] = i end
    k(range, x)
    local want = 0
    for n = 1, count do want = want * 3 + (n + 1) * n end
    assert(x[1] == want)
  end
  print "done"]]

describe("a group that keeps values across a barrier", function()
  it("fits on the stack of a thread at any group size", function()
    for _, case in ipairs {{150, "ulimit -s 4096"}, {60, "ulimit -s 1024"}} do
      assert.equal("done\n", process.output(script:format(case[1]),
        {before = case[2], seconds = 120}))
    end
  end)

  -- A sanitizer itself needs more address space.
  local test = process.hosted and pending or it

  test("is smaller if stacks cannot be enlarged", function()
    assert.equal("done\n", process.output(script:format(150),
      {before = "ulimit -s 2048; ulimit -v 60000000", seconds = 120}))
  end)
end)
