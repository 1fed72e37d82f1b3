-- json.lua - text for programs: JSON, in any locale.
-- SPDX-License-Identifier: MIT

local concat, find, format, gsub, match, sub = table.concat, string.find,
  string.format, string.gsub, string.match, string.sub

-- Valid UTF-8 characters of several bytes: no surrogates, nothing above
-- U+10FFFF, no overlong forms.
local forms = {
  "^[\xC2-\xDF][\x80-\xBF]",
  "^\xE0[\xA0-\xBF][\x80-\xBF]",
  "^[\xE1-\xEC\xEE\xEF][\x80-\xBF][\x80-\xBF]",
  "^\xED[\x80-\x9F][\x80-\xBF]",
  "^\xF0[\x90-\xBF][\x80-\xBF][\x80-\xBF]",
  "^[\xF1-\xF3][\x80-\xBF][\x80-\xBF][\x80-\xBF]",
  "^\xF4[\x80-\x8F][\x80-\xBF][\x80-\xBF]",
}

-- Returns bytes beyond ASCII, with U+FFFD for each invalid byte.
local function characters(bytes)
  local parts, at = {}, 1
  while at <= #bytes do
    local last
    for i = 1, #forms do
      last = last or select(2, find(bytes, forms[i], at))
    end
    parts[#parts + 1] = last and sub(bytes, at, last) or "\u{FFFD}"
    at = (last or at) + 1
  end
  return concat(parts)
end

-- Converts a string to UTF-8, which texts for other programs must be.
local function utf(s) return (gsub(s, "[\x80-\xFF]+", characters)) end

-- Quotes a string for JSON or for Graphviz, which use the same rules here.
local function quoted(s)
  s = gsub(utf(s), '["\\]', "\\%0")
  s = gsub(s, "[\0-\31]", function(c)
    return format("\\u%04x", string.byte(c))
  end)
  return '"' .. s .. '"'
end

-- Returns a number's text with a point, regardless of the locale.
local function point(s) return (gsub(s, "[^%w+-]+", ".")) end

-- Returns the shortest text that denotes this float.
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

-- Returns v as JSON: strings, numbers, booleans, arrays, and tables by name.
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

-- Returns nanoseconds as microseconds, exactly.
local function micro(ns) return format("%d.%03d", ns // 1000, ns % 1000) end

return {quoted = quoted, point = point, json = json, micro = micro, utf = utf}
