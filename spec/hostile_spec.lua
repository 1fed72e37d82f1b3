-- hostile_spec.lua - finalisers and debug hooks that close, change and drop
-- what each function of lze is called with, while it is called.
-- SPDX-License-Identifier: MIT
--
-- With LZE_SWEEP=first they come at the safe points only.

local process = require "spec.support.process"

local function done(kind, where)
  local out = process.output(("print(require 'spec.support.hostile' " ..
    "(%q, %q))"):format(kind, where), {seconds = 1500})
  local guarded, inside, acts = out:match "^(%d+)\t(%d+)\t(%d+)\n$"
  assert.is_string(guarded, out)
  assert.is_true(tonumber(guarded) >= 82, guarded)
  return tonumber(inside), tonumber(acts)
end

describe("finalisers and hooks against the call they come in", function()
  -- In lze.tune, which calls the script, and where memory runs short.
  it("come in no guarded function but at its safe points", function()
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
