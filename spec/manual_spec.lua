-- manual_spec.lua - runs every program in the manual and the README, and checks
-- its output.
-- SPDX-License-Identifier: MIT
--
-- A program is a block that begins with ```lua. Each runs from the top
-- directory in its own interpreter. Its comments `--> text` are the expected
-- lines, in order; `...` in them stands for any text. Other lines may stand
-- between them. A block that requires a missing library is pending.

local process = require "spec.support.process"

-- Returns {line, source} for each block of a Markdown file.
local function blocks(path)
  local found, block, number = {}, nil, 0
  for line in io.lines(path) do
    number = number + 1
    if block and line:match "^```%s*$" then
      block.source = table.concat(block, "\n")
      found[#found + 1] = block
      block = nil
    elseif block then
      block[#block + 1] = line
    elseif line:match "^```lua%s*$" then
      block = {line = number}
    end
  end
  if block then
    error(("%s:%d: a block with no end"):format(path, block.line))
  end
  return found
end

-- Returns the lines that a program should print.
local function announced(source)
  local lines = {}
  for text in source:gmatch "%-%-> ([^\n]*)" do lines[#lines + 1] = text end
  return lines
end

local function matches(line, text)
  local pattern = text:gsub("%p", "%%%0"):gsub("%%%.%%%.%%%.", ".*")
  return line:match("^" .. pattern .. "$") ~= nil
end

-- Returns the first expected line that is not printed in order, or nil.
local function missing(source, output)
  local printed = {}
  for line in output:gmatch "[^\n]+" do printed[#printed + 1] = line end
  local at = 1
  for _, text in ipairs(announced(source)) do
    while printed[at] and not matches(printed[at], text) do at = at + 1 end
    if not printed[at] then return text end
    at = at + 1
  end
end

-- Returns a third-party library that the block requires and that does not load,
-- or nil. The library's Lua part may be present without its C part.
local function absent(source)
  for name in source:gmatch "require%s*%(?%s*[\"']([%w_.]+)[\"']" do
    if not name:find "^lze" and not pcall(require, name) then return name end
  end
end

describe("the check of a block's output", function()
  it("finds an expected line in its place, and reports a missing one",
    function()
      local source = "print(1) --> 1\nprint(2)\nprint '3.5 ns' --> ... ns"
      assert.is_nil(missing(source, "1\n2\n3.5 ns\n"))
      assert.equal("... ns", missing(source, "1\n2\n3.5 ms\n"))
      assert.equal("1", missing(source, "2\n3.5 ns\n"))
      assert.equal("a.b", missing("--> a.b", "axb\n"))
    end)
end)

for _, path in ipairs {"README.md", "doc/manual.md"} do
  describe(path, function()
    local found = blocks(path)

    it("has programs", function() assert.is_true(#found > 0) end)

    for _, block in ipairs(found) do
      local name = ("%s:%d"):format(path, block.line)
      -- The driver's own compiler is not used if a layer forbids it.
      local how = block.source:find('"source"', 1, true) and " from source" or
        ""
      it("line " .. block.line .. " runs" .. how .. " and prints what it says",
        function()
        local library = absent(block.source)
        if library then
          pending(("needs the library %s"):format(library))
          return
        end
        local output = process.output(block.source)
        local text = missing(block.source, output)
        if text then
          error(("%s: this was not printed: %s\nwhat was:\n%s"):format(name,
            text, output), 0)
        end
      end)
    end
  end)
end
