-- hostile_spec.lua - finalizers and debug hooks that close, change and drop the
-- arguments of each function of lze during the call.
-- SPDX-License-Identifier: MIT
--
-- With LZE_SWEEP=first they run only at the safe points.

local process = require "spec.support.process"

local function done(kind, where)
  local out = process.output(("print(require 'spec.support.hostile' " ..
    "(%q, %q))"):format(kind, where), {seconds = 1500})
  local guarded, inside, acts = out:match "^(%d+)\t(%d+)\t(%d+)\n$"
  assert.is_string(guarded, out)
  assert.is_true(tonumber(guarded) >= 82, guarded)
  return tonumber(inside), tonumber(acts)
end

describe("finalizers and hooks during a call", function()
  -- In lze.tune, which calls the script, and when memory runs out.
  it("run in a guarded function only at its safe points", function()
    for _, kind in ipairs {"gc", "crli"} do
      local inside, acts = done(kind, "inside")
      assert.equal(inside, acts)
      assert.is_true(acts > 0 and acts < 200, acts)
    end
  end)

  local kinds = {"gc", "cr", "li"}
  for _, kind in ipairs(os.getenv "LZE_SWEEP" ~= "first" and kinds or {}) do
    it("break nothing (" .. kind .. ")", function()
      local _, acts = done(kind, "anywhere")
      assert.is_true(acts > 50, acts)
    end)
  end
end)
