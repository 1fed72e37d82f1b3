-- array_map.lua - functions of a script, element by element.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, is, new, fail = core.A, core.C, core.is, core.new, core.fail
local format, concat, unpack = string.format, table.concat, table.unpack
local mathtype = math.type

-- Caches kernels by script function and key.
local function cache(text)
  local kernels = setmetatable({}, {__mode = "k"})
  return function(name, f, key, ...)
    local own = kernels[f] or {}
    kernels[f] = own
    if not own[key] then
      own[key] = C.script_kernel(C.text(text(key, ...), name)(f),
        {name = "array_" .. name})
    end
    return own[key]
  end
end

-- Returns "x1, x2, x3" for n = 3.
local function numbered(n)
  local names = {}
  for k = 1, n do names[k] = "x" .. k end
  return concat(names, ", ")
end

local probe = cache(function(_, n)
  return format("local f = ...\nreturn function(%s) return f(%s) end",
    numbered(n), numbered(n))
end)

-- Returns what a script function returns on a device for these arguments, which
-- are numbers or element types: "integer", "real", "boolean", "nil", or nil for
-- anything else; and a description.  Checked at each call, because f's captured
-- values may have changed.
function core.gives(name, f, device, ...)
  local samples = {...}
  for k, v in ipairs(samples) do
    local t = core.types[v]
    if t then samples[k] = t.real and 0.0 or 0 end
  end
  return core.made(C.gives, probe(name, f, name .. #samples, #samples), device,
    unpack(samples))
end

-- Each operand has a letter: c for an array, n for a number.  A mask is 1 if f
-- returns true.
local kernel_of = cache(function(_, letters, mask)
  local places = {}
  for k = 1, #letters do
    places[k] = letters:sub(k, k) == "c" and format("x%d[i]", k) or "x" .. k
  end
  return format("local f = ...\nreturn function(i, result, %s)\n"
    .. "  result[i] = f(%s)%s\nend", numbered(#letters),
    concat(places, ", "), mask and " and 1 or 0" or "")
end)

-- A.map(f, x, ...): f of the elements of arrays that broadcast, and of numbers.
-- f is a Lua function, which is compiled; its captured values are read at each
-- call.  The result has the operands' type, but float if they are integers and
-- f returns a real; it is a mask if f returns booleans.
function A.map(f, ...)
  local n = select("#", ...)
  local given, arguments, letters, samples, shape = {...}, {}, {}, {}, {}
  local first, kind
  if type(f) ~= "function" then
    fail("map: argument 1 (f): function expected, got %s", C.describe(f))
  end
  for k = 1, n do
    local x = given[k]
    if is(x) then
      core.check_numbers(x, k + 1, "x", "map")
      shape = core.broadcast("map", shape, x.dims)
      first = first or x
    elseif type(x) ~= "number" then
      fail("map: argument %d (x): an array or a number expected, got %s", k + 1,
        C.describe(x))
    end
  end
  core.together("map", "argument %d", f, ...)
  if not first then fail("map: no array among the arguments") end
  kind = core.result_type("map", "argument %d (x)", unpack(given))
  core.needs_double("map", kind, first)
  for k, x in ipairs(given) do
    local array = is(x)
    if mathtype(x) == "float" then
      core.fitting(format("map: argument %d (x)", k + 1),
        kind == "double" and kind or "float", x)
    end
    letters[k] = array and "c" or "n"
    -- Each operand is read in the order of the result.
    arguments[k] = array and core.ready(x:expand(shape)) or x
    samples[k] = array and x.kind or x
  end
  letters = concat(letters)
  local gives, words = core.gives("map", f, first.device, unpack(samples, 1, n))
  local mask = gives == "boolean"
  if not mask and gives ~= "integer" and gives ~= "real" then
    fail("map: argument 1 (f): a function that gives a number or a boolean "
      .. "expected, it gives %s", words)
  end
  if mask then
    kind = "uchar"
  elseif gives == "real" and not core.types[kind].real then
    kind = "float"
  end
  local into = new(kind, {unpack(shape)}, mask, first.home)
  core.made(kernel_of("map", f, letters .. (mask and "?" or ""), letters, mask),
    into.size, into.flat, unpack(arguments, 1, n))
  return into
end
