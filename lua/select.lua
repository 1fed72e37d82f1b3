-- select.lua - device selectors, ours and ONEAPI_DEVICE_SELECTOR's.
-- SPDX-License-Identifier: MIT
--
-- Devices are an array of {name, type, tiles}: each root is followed by its
-- tiles.  A set of devices has true at their places.  A number in a selector
-- counts the members of the set from which it selects, in that order.

local concat, error, find, format, gmatch, ipairs, lower, match, sub, tonumber =
  table.concat, error, string.find, string.format, string.gmatch, ipairs,
  string.lower, string.match, string.sub, tonumber

local types = {gpu = true, cpu = true, npu = true, fpga = true, mca = true}

-- Returns the pieces of s between separators, without blanks around them.
local function pieces(s, separator)
  local list = {}
  for piece in gmatch(s .. separator, "([^" .. separator .. "]*)" .. separator)
  do
    list[#list + 1] = match(piece, "^ *(.-) *$")
  end
  return list
end

-- Parses "N", or "*" if `star` allows it.
local function number(s, star)
  if star and s == "*" then return s end
  return #s <= 6 and match(s, "^%d+$") and tonumber(s) or nil
end

-- Parses "N" or "N.M", with stars if allowed: returns the root, or nil, and its
-- tile.
local function position(s, star)
  local root, tile = match(s, "^([^.]*)%.(.*)$")
  if not root then return number(s) end
  root, tile = number(root, star), number(tile, star)
  if root and tile then return root, tile end
end

-- Marks members of `from` in `to`: of a type, or of any; of these the device at
-- a root's position, or all; of that device a tile, "*" for all, or itself.
local function add(to, from, devices, type, root, tile)
  local at = 0
  for k, d in ipairs(devices) do
    if from[k] and (not type or lower(d.type) == type) then
      if root == "*" or root == at then
        if not tile then to[k] = true end
        for t = 1, tile and d.tiles or 0 do
          if tile == "*" or tile == t - 1 then to[k + t] = true end
        end
      end
      at = at + 1
    end
  end
end

-- Adds one element of a term's list; returns false if the grammar of
-- ONEAPI_DEVICE_SELECTOR does not allow it.
local function add_element(to, from, devices, e, oneapi)
  local root, tile = position(e, oneapi)
  local type, rest = match(e, "^(%a+):(.*)$")
  if e == "*" then
    add(to, from, devices, nil, "*")
  elseif types[e] then
    add(to, from, devices, e, "*")
  elseif root then
    add(to, from, devices, nil, root, tile)
  elseif oneapi then
    return false
  elseif types[type] and position(rest) then
    root, tile = position(rest)
    add(to, from, devices, type, root, tile)
  else
    for k, d in ipairs(devices) do
      if from[k] and find(lower(d.name), e, 1, true) then to[k] = true end
    end
  end
  return true
end

-- Returns a selector for messages.
local function shown(text)
  return #text <= 80 and text or
    format("%s... (%d bytes)", sub(text, 1, 60), #text)
end

-- Returns the members of `from` that the terms of a selector match: "!"
-- subtracts last, and from all members if there are no other terms.  `fail`
-- raises.
local function terms(devices, from, text, oneapi, fail)
  local chosen, removed, ignored, only_removals = {}, {}, {}, true
  for _, term in ipairs(pieces(lower(text), ";")) do
    local remove = sub(term, 1, 1) == "!"
    if remove then term = sub(term, 2) else only_removals = false end
    -- Our terms may start with a backend; ONEAPI_DEVICE_SELECTOR's must.
    local backend, rest = match(term, "^ *([^:]-) *:(.*)$")
    local ours = backend == "level_zero" or backend == "*"
    if oneapi and (not backend or backend == "" or find(rest, ":", 1, true))
    then
      fail "'backend:devices' expected in each term"
    end
    local to = remove and removed or chosen
    if oneapi and not ours then to = ignored end
    if oneapi or ours then term = rest end
    for _, element in ipairs(pieces(term, ",")) do
      if element == "" and not oneapi then fail "an empty term" end
      if not add_element(to, from, devices, element, oneapi) then
        fail "a type, a number or * expected for each device"
      end
    end
  end
  local result = {}
  for k in ipairs(devices) do
    result[k] = (chosen[k] or only_removals and from[k]) and not removed[k]
  end
  return result
end

local functions = {}

-- Returns the places of the devices that a selector (a number, a string, or nil
-- for all) selects from the devices that ONEAPI_DEVICE_SELECTOR allows (nil or
-- "" for all).  `what` names the selector.
function functions.select(devices, selector, what, limit)
  local set = {}
  local at = 1
  while devices[at] do
    set[at] = true
    at = at + 1 + devices[at].tiles
  end
  if limit and limit ~= "" then
    set = terms(devices, set, limit, true, function(problem)
      error(format("ONEAPI_DEVICE_SELECTOR=%s: %s", shown(limit), problem), 0)
    end)
  end
  if math.type(selector) == "integer" then
    local one = {}
    add(one, set, devices, nil, selector - 1)
    set = one
  elseif selector then
    set = terms(devices, set, selector, false, function(problem)
      error(format("%s '%s': %s", what, shown(selector), problem), 0)
    end)
  end
  local places = {}
  for k in ipairs(devices) do
    if set[k] then places[#places + 1] = k end
  end
  return places
end

-- Raises an error that no device matches the wanted one, a description, or nil
-- for any; `devices` lists the existing ones: {name, type, tile}.
function functions.none(devices, wanted, where, limit, missing)
  local list = {}
  for i, d in ipairs(devices) do
    list[i] = format("%d%s: %s (%s%s)", i,
      wanted and format(' or "%d"', i - 1) or "", d.name, d.type,
      d.tile and " tile" or "")
  end
  local text = #list > 0 and concat(list, ", ") or "none"
  if limit and limit ~= "" then
    text = text .. "; ONEAPI_DEVICE_SELECTOR=" .. shown(limit)
  end
  if wanted then
    error(format("%sno device matches %s; there is: %s", where, wanted, text),
      0)
  end
  error(format("there is no device; the drivers show: %s%s%s", text,
    missing ~= "" and "; " or "", missing), 0)
end

return functions
