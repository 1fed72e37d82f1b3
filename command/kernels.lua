-- kernels.lua - `lze compile FILE.lua`: kernels in Lua, as one module.
-- SPDX-License-Identifier: MIT
--
-- Modules are joined as text.  Ids are renamed in each module, except ids of
-- what a module declares once: types, constants, imports and built-in
-- variables.

local kernels = {}

-- Sections of a module, in order, by their instructions.  Other instructions
-- are types, constants or variables or, after the first OpFunction, code.
local sections = {
  {"OpCapability"}, {"OpExtension"}, {"OpExtInstImport"}, {"OpMemoryModel"},
  {"OpEntryPoint"}, {"OpExecutionMode"}, {"OpString", "OpSource"},
  {"OpName", "OpMemberName"},
  {"OpDecorate", "OpMemberDecorate", "OpDecorationGroup", "OpGroupDecorate"},
}
local GLOBAL <const>, CODE <const> = #sections + 1, #sections + 2
local section_of = {}
for n, names in ipairs(sections) do
  for _, name in ipairs(names) do section_of[name] = n end
end

-- Returns a line with its ids renamed, except in quotes.
local function renamed(line, rename)
  local parts, at = {}, 1
  while true do
    local quote = line:find('"', at, true)
    parts[#parts + 1] = line:sub(at, (quote or 0) - 1):gsub("%%[%w_]+", rename)
    if not quote then return table.concat(parts) end
    local close = quote + 1
    while line:sub(close, close) ~= '"' do
      close = close + (line:sub(close, close) == "\\" and 2 or 1)
    end
    parts[#parts + 1] = line:sub(quote, close)
    at = close + 1
  end
end

local function lines_of(text)
  local lines, code = {}, false
  for line in text:gmatch "%s*([^\n]+)" do
    local op = line:match "^%%[%w_]+ = (Op%w+)" or line:match "^Op%w+"
    code = code or op == "OpFunction"
    if op then
      lines[#lines + 1] = {text = line, op = op,
        section = code and CODE or section_of[op] or GLOBAL}
    end
  end
  return lines
end

-- list: {{name = , old = , bytes = }, ...}, valid modules of one kernel, which
-- is called `old` there and will be called `name`; the entry points' names end
-- with these.  Returns the joined module.
function kernels.join(spirv, list)
  local out, known = {}, {}
  for n = 1, CODE do out[n] = {} end
  for n, module in ipairs(list) do
    local lines = lines_of(spirv.disassemble(module.bytes))
    local ids = {}
    local function rename(id)
      ids[id] = ids[id] or ("%%m%d_%s"):format(n, id:sub(2))
      return ids[id]
    end
    for _, l in ipairs(lines) do
      local id, rest = l.text:match "^(%%[%w_]+) = (.*)$"
      if id and (l.op:find "^OpType" or l.op:find "^OpConstant" or
        l.op == "OpExtInstImport" or rest:find "^OpVariable %S+ Input$")
      then
        local key = renamed(rest, rename)
        if l.op == "OpVariable" then key = key .. id end
        known[key] = known[key] or rename(id)
        ids[id] = known[key]
      end
    end
    local kernel, entry, renamed_entry
    for _, l in ipairs(lines) do
      local text = renamed(l.text, rename)
      if l.op == "OpEntryPoint" then
        kernel, entry = text:match '(%%[%w_]+) "([^"]*)"'
        renamed_entry = entry:sub(1, -1 - #module.old) .. module.name
        text = text:gsub('"[^"]*"', '"' .. renamed_entry .. '"', 1)
      elseif l.op == "OpName" and text:match "%%[%w_]+" == kernel then
        text = ('OpName %s "%s"'):format(kernel, renamed_entry)
      elseif l.op == "OpString" then
        text = text:gsub('"(kernel_arg_type[%w_]*%.)' .. entry .. "%.",
          '"%1' .. renamed_entry .. ".")
      end
      local section = out[l.section]
      if l.section == CODE or not section[text] then
        section[#section + 1] = text
        section[text] = true
      end
    end
  end
  for n = 1, CODE do out[n] = table.concat(out[n], "\n") end
  return spirv.assemble(table.concat(out, "\n"))
end

return kernels
