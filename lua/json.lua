-- json.lua - text for programs: JSON, whatever the locale.
-- SPDX-License-Identifier: MIT

local concat, format, gsub, match = table.concat, string.format, string.gsub,
  string.match

-- A string as JSON, or as Graphviz has them, which is the same here.
local function quoted(s)
  s = gsub(s, '["\\]', "\\%0")
  s = gsub(s, "[\0-\31]", function(c)
    return format("\\u%04x", string.byte(c))
  end)
  return '"' .. s .. '"'
end

-- A number as text, with a point whatever the locale has for one.
local function point(s) return (gsub(s, "[^%w+-]+", ".")) end

-- The shortest text that is this float.
local function float(x)
  local s
  for digits = 15, 17 do
    s = format("%." .. digits .. "g", x)
    if tonumber(s) == x then break end
  end
  s = point(s)
  return match(s, "^-?%d+$") and s .. ".0" or s
end

local json

local function json_array(t)
  local items = {}
  for i = 1, #t do items[i] = json(t[i]) end
  return "[" .. concat(items, ",") .. "]"
end

-- v as JSON: strings, numbers, booleans, arrays, and tables by name.
function json(v)
  if type(v) == "string" then return quoted(v) end
  if math.type(v) == "float" then return float(v) end
  if type(v) ~= "table" then return tostring(v) end
  if #v > 0 or next(v) == nil then return json_array(v) end
  local items = {}
  for key, value in next, v do
    items[#items + 1] = quoted(key) .. ":" .. json(value)
  end
  return "{" .. concat(items, ",") .. "}"
end

-- Nanoseconds as microseconds, exactly.
local function micro(ns) return format("%d.%03d", ns // 1000, ns % 1000) end

return {quoted = quoted, point = point, json = json, micro = micro}
