-- array_complex.lua - arrays of complex numbers from their parts.
-- SPDX-License-Identifier: MIT

local core = ...
local C, X, fail, is = core.C, core.X, core.fail, core.is
local scalars = core.scalars
local type = type
local format = string.format

-- Returns the complex type of results of two real operands, which are arrays or
-- numbers.
local function type_of_parts(fname, words, x, y)
  local kind = core.result_type(fname, words, x, y)
  return core.reals[kind] == "double" and "complex128" or "complex64"
end

-- Returns a function of two real operands, which broadcast.  Of two numbers it
-- makes an array without dimensions, on the default device; `number` returns
-- its element.
local function from_parts(name, words, number)
  return function(x, y, o)
    for i = 1, 2 do
      local v = select(i, x, y)
      if not is(v) and type(v) ~= "number" then
        fail("%s: argument %d (%s): an array or a number expected, got %s",
          name, i, words[i], C.describe(v))
      end
      if is(v) then core.check(v, i, words[i], name) end
    end
    if not is(x) and not is(y) then
      local kind, device = core.option_type(o, name, 3, "complex64")
      if not scalars[kind] then
        fail("%s: argument 3 (options): type: complex64 or complex128 expected,"
          .. " got %s", name, kind)
      end
      return core.filled(core.new_on(device, kind, {}), core.fitting(name, kind,
        {number(x, y)}))
    end
    core.options(o, {}, name, 3)
    core.together(name, words, x, y)
    local kind = type_of_parts(name, words, x, y)
    local shape = is(x) and is(y) and core.broadcast(name, x.dims, y.dims) or
      (is(x) and x or y).dims
    core.needs_double(name, kind, is(x) and x or y)
    for i = 1, 2 do
      local v = select(i, x, y)
      if not is(v) then
        core.fitting(format("%s: argument %d (%s)", name, i, words[i]),
          scalars[kind], v)
      end
    end
    return X.express(name, kind, shape, nil, x, y)
  end
end

-- A.complex(re, im), A.polar(r, phi): complex numbers from real arrays and
-- numbers, which broadcast; complex128 if one is an array of double, else
-- complex64.  Of two numbers, an array of shape {}, whose type and device can
-- be options.
core.define("complex", from_parts("complex", {"re", "im"}, function(x, y)
  return x, y
end))
core.define("polar", from_parts("polar", {"r", "phi"}, function(r, phi)
  return r * math.cos(phi), r * math.sin(phi)
end))
