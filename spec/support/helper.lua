-- helper.lua - settings for every run of the suite.
-- SPDX-License-Identifier: MIT
--
-- LZE_TEST_GC=incremental or generational makes the collector run all the time
-- in that mode, so that unreferenced objects are collected at once.

local mode = os.getenv "LZE_TEST_GC"
if mode == "incremental" then
  -- No pause between cycles, large steps, one after every 2^10 bytes.
  require "spec.support.collector" ("incremental", 1, 1000, 10)
elseif mode == "generational" then
  -- A young collection for every 1 % of growth, a full one for every 10 %.
  require "spec.support.collector" ("generational", 1, 10)
elseif mode then
  error("LZE_TEST_GC is '" .. mode .. "', not incremental or generational", 0)
end
