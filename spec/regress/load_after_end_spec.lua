-- load_after_end_spec.lua - x:load found nothing in a file that had grown since
-- its end was reached, and failed if an earlier call on the file had failed.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

describe("x:load", function()
  local name, writer

  before_each(function()
    name = os.tmpname()
    writer = assert(io.open(name, "wb"))
    writer:setvbuf "no"
    writer:write "ab"
  end)

  after_each(function()
    writer:close()
    os.remove(name)
  end)

  it("reads data added after the end of the file was reached", function()
    local x <close> = lze.buffer("uchar", 4)
    local file <close> = assert(io.open(name, "rb"))
    assert.equal("ab", file:read "a")
    writer:write "cd"
    assert.equal(2, x:load(file))
    assert.equal("cd\0\0", x:string())
    assert.equal(0, x:load(file))
    writer:write "ef"
    assert.equal(2, x:load(file, 3))
    assert.equal("cdef", x:string())
  end)

  it("reads after a failed write to the file", function()
    local x <close> = lze.buffer("uchar", 2)
    local file <close> = assert(io.open(name, "rb"))
    assert.is_nil(file:write "no")
    assert.equal(2, x:load(file))
    assert.equal("ab", x:string())
  end)
end)
