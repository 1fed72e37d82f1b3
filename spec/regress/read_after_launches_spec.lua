-- read_after_launches_spec.lua - reading waited for a later launch of the same
-- kernel on another buffer of the same size, as if it had used this one too.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

describe("reading", function()
  it("does not wait for launches of the kernel on other buffers", function()
    local a, b = lze.buffer("uint", 1), lze.buffer("uint", 1)
    mod.spin(1, a, 1)
    for _ = 1, 3 do
      mod.spin(1, a, 1000)
      mod.spin(1, b, 100000000)
      assert.is_true(a[1] > 0)
      assert.is_true(b:pending())
      assert.is_true(lze.wait(60))
    end
  end)
end)
