-- annotations_spec.lua - what scripts/annotations generates from a manual.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Runs the script on an introduction followed by `lines`. Returns its output or
-- error message, and whether it succeeded.
local function made(lines)
  local path = os.tmpname()
  process.write(path, [=[
# A manual

### How to read the reference

| name | type | |
|---|---|---|
| `x` | `buffer` | |
| `i` `j` | `integer` | |
| `mod` | `module` | |

| type | is | |
|---|---|---|
| `value` | `number` or `string` | an element |
| `module` | | a module |
| `lze` | | |
]=] .. lines)
  local r = process.run(("assert(loadfile 'scripts/annotations')(%q)"):format(
    path))
  os.remove(path)
  return r.output, r.code == 0
end

-- Checks that the output for `lines` contains the text `expected`.
local function assert_lines(expected, lines)
  local said, ok = made(lines)
  assert.is_true(ok, said)
  if not said:find(expected, 1, true) then
    error(("%s\nis not in\n%s"):format(expected, said), 2)
  end
end

local BUFFER = [=[

## Buffers

| `x` | `lze.Buffer` | an array |
|---|---|---|
| `x.type` `x.usage` | `string` | see [below](#below) |
| `x.parent` | `buffer` or `nil` | |
| `x[i]` | `value` | |
| `#x` | `integer` | |
| `x + i` `x \| i` `-x` | `buffer` | |
| `x(i)` | `string` | |
]=]

describe("scripts/annotations", function()
  it("makes aliases and classes from tables", function()
    assert_lines("---an element\n---@alias lze.Value number | string\n" ..
      "\n---a module\n---@class lze.Module\nlocal Module = {}\n", "")
    assert_lines([=[
---an array
---@class lze.Buffer
---@field type string # see below
---@field usage string # see below
---@field parent lze.Buffer | nil
---@field [integer] lze.Value
---@operator len: integer
---@operator add(integer): lze.Buffer
---@operator bor(integer): lze.Buffer
---@operator unm: lze.Buffer
---@overload fun(i: integer): string
local Buffer = {}
]=], BUFFER)
    assert_lines('---@alias lze.Policy \n---| "a"\n---| "b.c"\n', [=[

| `lze.Policy` | |
|---|---|
| `"a"` | the first |
| `"b.c"` | the other |
]=])
    assert_lines('---| "int"\n---| "i32"\n---| "uint"\n' ..
      '---| "int2"\n---| "uint2"\n---| "int4"\n---| "uint4"\n', [=[

| `lze.ElementType` | alias |
|---|---|
| `"int"` | `"i32"` |
| `"uint"` | |
| `"T2"` `"T4"` | |
]=])
  end)

  it("makes options optional unless they are required", function()
    assert_lines([=[
---@class lze.LoadOptions: lze.Buffer
---@field size integer[]
---@field kind? "a" | "b" | "c"
local LoadOptions = {}

---@param path string
---@param options? lze.LoadOptions
---@return lze.Module
function lze.load(path, options) end
]=], BUFFER .. [=[

### lze.load(path: string [, options]) -> module

| load option | `lze.LoadOptions: lze.Buffer` | |
|---|---|---|
| `size` | `integer[]`, required | |
| `kind` | `"a"`, `"b"` or `"c"` | |
]=])
  end)

  it("makes functions from headings and rows, with their text", function()
    assert_lines([=[
---What is first said,
---in two lines.
---
---And a second time.
---@param i? integer
---@param j? integer
---@return lze.Value[]
---@return integer count
function Buffer:read(i, j) end
]=], BUFFER .. [=[

### x:read([i [, j]]) -> value[], count: integer

What is first said,
in [two](#two) lines.

And a **second** time.

```lua
print "### x:nothing()"
```

This is not there.
]=])
    assert_lines([=[
---waits
---@param word? "all" | "one"
---@param ... any
---@return true
function Buffer:wait(word, ...) end
]=], BUFFER .. [=[

| function | result | |
|---|---|---|
| `x:wait(["all" \| "one", ...])` | `true` | waits |
]=])
  end)

  it("makes overloads for an optional first argument and for a second form",
    function()
      assert_lines([=[
---@param device? integer | string
---@param options? table
---@return lze.Module
---@overload fun(options?: table): lze.Module
---@overload fun(buffer: lze.Buffer): lze.Module
function lze.queue(device, options) end
]=], BUFFER .. [=[

### lze.queue([device: integer | string] [, options: table]) -> module

### lze.queue(buffer) -> module
]=])
    end)

  it("makes a function that returns its argument generic", function()
    assert_lines([=[
---@generic T: lze.Buffer | string
---@param y T
---@return T
function Module:same(y) end
]=], BUFFER .. "\n### mod:same(y: buffer | string) -> y\n")
  end)

  it("takes types of names from the section, then the chapter, then the tables",
  function()
    local names = "\n| name | type | |\n|---|---|---|\n| `i` | `%s` | |\n"
    local text = BUFFER .. names:format "string" .. "\n### x:one(i)\n" ..
      "\n### x:two(i)\n" .. names:format "number" ..
      "\n## Next\n\n### x:three(i)\n"
    assert_lines("---@param i string\nfunction Buffer:one(i) end", text)
    assert_lines("---@param i number\nfunction Buffer:two(i) end", text)
    assert_lines("---@param i integer\nfunction Buffer:three(i) end", text)
  end)

  it("reports the line of an unknown type", function()
    for lines, message in pairs {
      ["\n### lze.load(road) -> module\n"] = "17: no type road in 'road'",
      ["\n### lze.load(i) -> road[]\n"] = "17: no type road in 'road[]'",
      [BUFFER .. "| `x.road` | `rode` | |\n"] = "27: no type rode in 'rode'",
      ["\n### road:load(i)\n"] = "17: no type road in 'road'",
    } do
      local said, ok = made(lines)
      assert.is_false(ok)
      assert.equal(message, said:match ":(%d+: no type[^\n]*)")
    end
  end)

  it("turns the manual into valid Lua that equals the built file", function()
    local said = process.output(
      'assert(loadfile "scripts/annotations")("doc/manual.md")')
    assert(load(said))
    local file <close> = assert(io.open(build .. "/types/lze.lua"))
    assert.equal(said, file:read "a")
    assert.matches("\nfunction lze%.buffer%(", said)
    assert.matches("\narray%.sqrt = Array%.sqrt\n", said)
  end)
end)
