-- show.lua - tables that print themselves.
-- SPDX-License-Identifier: MIT

local concat, format, next, rawget, sort, tostring, type = table.concat,
  string.format, next, rawget, table.sort, tostring, type

local function keys(t)
  local list = {}
  for key in next, t do
    if type(key) == "string" then list[#list + 1] = key end
  end
  sort(list)
  return list
end

-- Returns a value on one line: tables as names and values in braces.
local function inline(v)
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  for i = 1, #v do parts[i] = tostring(rawget(v, i)) end
  for _, key in next, keys(v) do
    parts[#parts + 1] = key .. " = " .. tostring(rawget(v, key))
  end
  return "{" .. concat(parts, ", ") .. "}"
end

local functions = {}

-- Returns a line for each item of an array and for each named value.
function functions.table(t)
  local lines = {}
  for i = 1, #t do lines[i] = format("%d: %s", i, inline(rawget(t, i))) end
  for _, key in next, keys(t) do
    lines[#lines + 1] = key .. " = " .. inline(rawget(t, key))
  end
  return #lines > 0 and concat(lines, "\n") or "none"
end

-- Returns the module's version and the names in it.
function functions.module(t)
  local lines, width = {tostring(rawget(t, "_VERSION")) .. ":"}, 80
  local names = keys(t)
  if rawget(t, "array") == nil then -- loaded at its first use
    names[#names + 1] = "array"
    sort(names)
  end
  for _, key in next, names do
    if key ~= "_VERSION" and key ~= "version" then
      if width + #key + 1 > 76 then
        lines[#lines + 1] = " "
        width = 1
      end
      lines[#lines] = lines[#lines] .. " " .. key
      width = width + #key + 1
    end
  end
  return concat(lines, "\n")
end

return functions
