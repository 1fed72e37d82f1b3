-- display_spec.lua - objects that show themselves in notebooks.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

local m = lze.load "kernels/spec.spv"

describe("obj:display", function()
  -- Returns the HTML that a notebook gets for an object.
  local function shown(object)
    local given = {}
    _G.ilua = {display = {html = function(...) given = {...} end}}
    local n = select("#", object:display())
    _G.ilua = nil
    assert.same({0, 1}, {n, #given})
    return given[1]
  end

  it("shows text, after pending writes", function()
    local x = lze.buffer("int", 4)
    m.add(4, x, 7)
    assert.equal("<pre>buffer: int[4] shared {7, 7, 7, 7}</pre>", shown(x))
    local A = lze.array
    assert.equal("<pre>array: float {2, 2}\n[[1.0 1.0]\n [1.0 1.0]]</pre>",
      shown(A.ones {2, 2}))
    assert.equal("<pre>array: long {0} []</pre>", shown(A.arange(0)))
    local plan <close> = lze.graph "a<b & c":task("t", m.add, 4, x, 1)
      :compile()
    assert.equal("<pre>" .. tostring(plan):gsub("&", "&amp;"):gsub("<",
      "&lt;") .. "</pre>", shown(plan))
  end)

  it("shows the page of a profile", function()
    local p <close> = lze.profile(lze.mark, '"<&', function() end)
    local html = shown(p)
    local page = html:match '^<iframe [^>]*srcdoc="([^"]*)"></iframe>$'
    page = page:gsub("&quot;", '"'):gsub("&amp;", "&")
    assert.matches("^<!DOCTYPE html>.*</html>%s*$", page)
    assert.is_truthy(page:find('"strings":["\\"\\u003c&",', 1, true))
  end)

  it("prints outside notebooks", function()
    assert.equal("buffer: int[1] shared {5}\narray: long {2} [1 2]\n",
      process.output [[
        local lze = require "lze"
        lze.buffer("int", {5}):display()
        ilua = {display = setmetatable({}, {__index = error})}
        lze.array.arange(2):display()]])
    local x = lze.buffer("int", 1)
    x:close()
    assert.has_error(function() x:display() end)
  end)
end)
