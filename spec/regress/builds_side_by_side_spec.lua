-- builds_side_by_side_spec.lua - scripts/with-build sometimes failed when
-- another instance ended and removed the directory that both used.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("scripts/with-build", function()
  it("can run several times at once and leaves nothing behind", function()
    process.with_directory(function(dir)
      local line = "for i in 1 2 3 4; do (for j in 0 1 2 3 4 5 6 7 8 9; do " ..
        "LZE_TEST_CACHE= sh scripts/with-build '%s' true || echo failed; " ..
        "done) & done; wait; ls '%s'"
      local shell <close> = io.popen(line:format(dir, dir) .. " 2>&1")
      assert.equal("", shell:read "a")
    end)
  end)
end)
