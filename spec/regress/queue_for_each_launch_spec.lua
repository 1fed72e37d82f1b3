-- queue_for_each_launch_spec.lua - queues that were created for one launch and
-- dropped stayed alive until something waited: time and memory grew.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("queues for one command each", function()
  it("are destroyed when it is done, without a wait", function()
    local out = process.output([[
      local lze = require "lze"
      local x = lze.buffer("int", 64)
      for i = 1, 1000 do
        lze.queue():fill(x, i)
        if i % 100 == 0 then collectgarbage() end
      end
      io.stderr:write "made\n"
    ]], {env = {LZE_LOG = "calls"}})
    local before = out:sub(1, assert(out:find("made\n", 1, true)))
    assert.truthy(before:find("zeCommandListDestroy", 1, true))
  end)
end)
