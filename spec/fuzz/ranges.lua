-- ranges.lua - random launches over random ranges, checked against a model.
-- SPDX-License-Identifier: MIT
--
-- spec/fuzz/runner.lua says how to run it, spec/support/random_range.lua what a
-- seed draws. A seed has no steps.

local runner = require "spec.fuzz.runner"
local random_range = require "spec.support.random_range"

local function run(seeds, _, told)
  local worlds = {[0] = random_range.world "plain",
    random_range.world "optimized"}
  for seed in seeds do
    random_range.try(worlds[seed % 2], seed,
      {tell = told and function(words) print("  " .. words) end})
  end
end

local ok = runner.main {run = run, count = 200, steps = 0}
if not ok then os.exit(false) end
