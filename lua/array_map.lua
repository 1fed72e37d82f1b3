-- array_map.lua - functions of a script, element by element.
-- SPDX-License-Identifier: MIT

local core = ...
local A, C, is, new, fail = core.A, core.C, core.is, core.new, core.fail
local format, concat, unpack = string.format, table.concat, table.unpack

-- What f gives, from the likeliest on: numbers of the operands' type, reals of
-- integers, and whether something is true.
local gives = {
  {value = "f(%s)", type = function(kind) return kind end},
  {value = "f(%s)", type = function(kind)
    return not core.types[kind].real and "float" or nil
  end},
  {value = "f(%s) and 1 or 0", type = function() return "uchar" end,
    mask = true}
}

-- What the compiler says of line 3 of a kernel below where f gives no value,
-- which the last way above would take for false.
local nothing = "^lze array map:3:[^\n]* this is nil"

-- Kernels by function, and by what the operands are: a letter each, c for an
-- array and n for a number.
local kernels = setmetatable({}, {__mode = "k"})

local function kernel_of(f, letters, give)
  local own = kernels[f] or {}
  kernels[f] = own
  local key = letters .. give.value
  if not own[key] then
    local names, places = {}, {}
    for k = 1, #letters do
      names[k] = "x" .. k
      places[k] = letters:sub(k, k) == "c" and format("x%d[i]", k) or names[k]
    end
    own[key] = C.kernel(C.text(format(
      "local f = ...\nreturn function(i, result, %s)\n  result[i] = %s\nend",
      concat(names, ", "), format(give.value, concat(places, ", "))), "map")(f),
      {name = "array_map"})
  end
  return own[key]
end

-- A.map(f, x, ...): f of the elements of arrays that broadcast, and of numbers.
-- f is a Lua function, compiled; what it captures is read at each call.  The
-- result has the operands' type, float where they are integers and f gives a
-- real, and is a mask where f gives booleans.
function A.map(f, ...)
  local n = select("#", ...)
  local given, arguments, letters, shape = {...}, {}, {}, {}
  local first, kind
  if type(f) ~= "function" then
    fail("map: argument 1 (f): function expected, got %s", C.describe(f))
  end
  for k = 1, n do
    local x = given[k]
    if is(x) then
      if not core.types[x.type] then
        fail("map: argument %d: %s has no arithmetic", k + 1, x.type)
      end
      shape = core.broadcast("map", shape, x.shape)
      first = first or x
    elseif type(x) ~= "number" then
      fail("map: argument %d: an array or a number expected, got %s", k + 1,
        C.describe(x))
    end
  end
  if not first then fail("map: no array among the arguments") end
  kind = core.result_type("map", unpack(given))
  core.needs_double("map", kind, first)
  for k, x in ipairs(given) do
    letters[k] = is(x) and "c" or "n"
    -- Each operand is read in the order of the result.
    arguments[k] = is(x) and core.ready(x:expand(shape)) or x
  end
  letters = concat(letters)
  local problem
  for _, give in ipairs(gives) do
    local t = give.type(kind)
    if t then
      local into = new(t, {unpack(shape)}, give.mask, first.device)
      local ok, err = C.pcall(kernel_of(f, letters, give), into.size, into.flat,
        unpack(arguments, 1, n))
      if ok then return into end
      problem = problem or err
      if type(err) == "table" and (err.log or ""):find(nothing) then
        fail("map: argument 1 (f): a function that gives a number or a "
          .. "boolean expected; it gives nothing")
      end
      if type(err) ~= "table" or err.code ~= "NOT_COMPILED" then break end
    end
  end
  if type(problem) == "table" then
    problem.where = C.where():match "^(.*): $"
  end
  C.raise(problem)
end
