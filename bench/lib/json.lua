-- json.lua - the part of JSON that results need, both ways.
-- SPDX-License-Identifier: MIT

local json = {}

local escapes = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n"}

local function quote(s)
  return '"' .. s:gsub('[%c"\\]', function(c)
    return escapes[c] or ("\\u%04x"):format(c:byte())
  end) .. '"'
end

-- Encodes a value.  A table with [1], or an empty one, is an array, any other
-- an object with its keys in order.
local function encode(value, indent)
  local kind = math.type(value) or type(value)
  if kind == "string" then return quote(value) end
  if kind == "float" then
    local finite = value - value == 0
    return finite and ("%.9g"):format(value) or "null"
  end
  if kind ~= "table" then return tostring(value) end
  local inner, parts = indent .. " ", {}
  if value[1] ~= nil or next(value) == nil then
    for i, v in ipairs(value) do parts[i] = encode(v, inner) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  local keys = {}
  for k in pairs(value) do keys[#keys + 1] = k end
  table.sort(keys)
  for i, k in ipairs(keys) do
    parts[i] = inner .. quote(k) .. ": " .. encode(value[k], inner)
  end
  return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

function json.encode(value)
  return encode(value, "") .. "\n"
end

local unescapes = {n = "\n", t = "\t", r = "\r", b = "\b", f = "\f"}
local words = {["true"] = true, ["false"] = false}

-- Returns the value of a text; raises an error if it is not JSON.  null is nil.
function json.decode(text)
  local at = 1

  local function fail(expected)
    error(("JSON: %s expected at byte %d"):format(expected,
      text:find("%S", at) or #text + 1), 0)
  end

  local function take(pattern)
    local from, to, found = text:find("^%s*" .. pattern, at)
    if from then at = to + 1 end
    return from and (found or true)
  end

  local value
  local function list(close, each)
    if take("%" .. close) then return end
    repeat each() until not take ","
    if not take("%" .. close) then fail("'" .. close .. "'") end
  end

  local function string()
    local s = take '"([^"\\]*)'
    local parts = {s}
    while s and text:sub(at, at) == "\\" do
      local c = text:sub(at + 1, at + 1)
      at = at + 2
      if c == "u" then
        c = utf8.char(tonumber(text:sub(at, at + 3), 16))
        at = at + 4
      end
      local rest = text:match('^[^"\\]*', at)
      parts[#parts + 1] = (unescapes[c] or c) .. rest
      at = at + #rest
    end
    if s and not take '"' then fail "end of string" end
    return s and table.concat(parts)
  end

  function value()
    local t = {}
    if take "{" then
      list("}", function()
        local key = string() or fail "key"
        if not take ":" then fail "':'" end
        t[key] = value()
      end)
      return t
    elseif take "%[" then
      list("]", function() t[#t + 1] = value() end)
      return t
    end
    local s = string()
    if s then return s end
    local word = take "(%a+)"
    if word then return words[word] end
    return tonumber(take "([%d.eE+-]+)" or fail "value")
  end

  local result = value()
  if not take "$" then fail "end" end
  return result
end

return json
