-- array_property_spec.lua - array operations, compared with plain Lua loops.
-- SPDX-License-Identifier: MIT
--
-- A seed and a size determine every case. If a case fails, it is tried again
-- with smaller sizes, and the smallest failing one is reported.
-- LZE_ARRAY_CASES=n runs n cases of each kind and 25 n programs instead of the
-- usual number; each may compile a kernel. LZE_ARRAY_SEED=n makes other cases.

local lze = require "lze"
local model = require "spec.support.array_model"
local A = lze.array

local cases = tonumber(os.getenv "LZE_ARRAY_CASES") or 1
local first_seed = tonumber(os.getenv "LZE_ARRAY_SEED") or 1
local sizes = {1, 2, 3, 5}

local integers = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong"}
local floats = {"half", "bfloat16", "float", "double"}
if not lze.device().fp64 then floats[4] = nil end
local kinds = table.move(floats, 1, #floats, #integers + 1,
  table.move(integers, 1, #integers, 1, {}))

local random = math.random
local function pick(list) return list[random(#list)] end

-- The tolerance of inexact results.
local tolerance = {half = 2e-3, bfloat16 = 1.6e-2, float = 1e-5,
  double = 1e-12}

local function text(list)
  local parts = {}
  for i, v in ipairs(list) do
    parts[i] = type(v) == "table" and text(v) or
      math.type(v) == "float" and ("%.17g"):format(v) or tostring(v)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- Returns the difference between an array and a model, or nil.
local function difference(a, m, exact)
  if a.type ~= m.type then
    return ("type %s, not %s"):format(a.type, m.type)
  end
  if text(a.shape) ~= text(m.shape) then
    return ("shape %s, not %s"):format(text(a.shape), text(m.shape))
  end
  local got, want = a:read(), model.read(m)
  if #got ~= #want then
    return ("%d elements, not %d"):format(#got, #want)
  end
  for i, w in ipairs(want) do
    local g = got[i]
    local same = g == w and (g ~= 0 or 1 / g == 1 / w) or g ~= g and w ~= w
    if not same and not exact and model.is_real(m.type) and g == g then
      same = math.abs(g - w) <= tolerance[m.type] * math.max(math.abs(w), 1e-3)
    end
    if not same then
      return ("element %d of %s is %s, not %s; all: %s and %s"):format(i,
        text(m.shape), g, w, text(got):sub(1, 500), text(want):sub(1, 500))
    end
  end
end

-- Runs make(size) for many seeds. make returns a description, an array or a
-- function that returns one, a model, and whether bits must agree.
local function property(count, make)
  for seed = first_seed, first_seed + count - 1 do
    local function try(size)
      math.randomseed(seed, size)
      local what, a, m, exact = make(size)
      if not what then return nil end
      local ok, said = pcall(function()
        if type(a) == "function" then a = a() end
        return difference(a, m, exact)
      end)
      if not ok then said = "raised " .. tostring(said) end
      return said and ("seed %d, size %d: %s: %s"):format(seed, size, what,
        said)
    end
    local failed = try(sizes[(seed - 1) % #sizes + 1])
    if failed then
      for _, size in ipairs(sizes) do
        local smaller = try(size)
        if smaller then error(smaller, 0) end
      end
      error(failed, 0)
    end
  end
end

-- Values ----------------------------------------------------------------------

local extremes = {
  char = {-128, 127}, uchar = {255}, short = {-32768, 32767},
  ushort = {65535}, int = {-2147483648, 2147483647}, uint = {4294967295},
  long = {math.mininteger, math.maxinteger},
  ulong = {-1, math.mininteger, math.maxinteger},
}
local specials = {0 / 0, 1 / 0, -1 / 0, -0.0}

-- Returns a small value of a type. Reals are multiples of 1/4, so sums are
-- exact. With `wild`, some values are at the ends of the range. Values of ulong
-- are often 2^63 or more.
local function value(kind, wild)
  if kind == "ulong" and random(3) == 1 then
    return random(4) == 1 and pick(extremes.ulong) or random(0)
  end
  if model.is_real(kind) then
    if wild and random(8) == 1 then return pick(specials) end
    return random(-16, 16) / 4
  end
  if wild and random(8) == 1 then return pick(extremes[kind]) end
  return model.is_unsigned(kind) and random(0, 9) or random(-9, 9)
end

local function shape_of(size, least)
  local shape = {}
  for d = 1, random(least or 0, math.min(size, 4)) do
    shape[d] = random(12) == 1 and 0 or random(size)
  end
  return shape
end

-- Returns an array of a type and shape, and its model. The array is contiguous
-- or a view with steps and permuted dimensions.
local function pair(kind, shape, wild, draw)
  local rank, order, back = #shape, {}, {}
  for d = 1, rank do order[d] = d end
  local plain = random(3) == 1
  if not plain then
    for d = rank, 2, -1 do
      local k = random(d)
      order[d], order[k] = order[k], order[d]
    end
  end
  local whole, list = {}, {}
  for d = 1, rank do
    back[order[d]] = d
    local n = shape[order[d]]
    local step = plain and 1 or pick {1, 1, 2, -1, -2}
    local before, after = 0, 0
    if not plain then before, after = random(0, 1), random(0, 1) end
    whole[d] = math.max((n - 1) * math.abs(step) + 1, 0) + before + after
    if n == 0 then
      list[d] = {1, 0}
    elseif step > 0 then
      list[d] = {before + 1, before + (n - 1) * step + 1, step}
    else
      list[d] = {before - (n - 1) * step + 1, before + 1, step}
    end
  end
  local data = {}
  for i = 1, model.count(whole) do
    data[i] = model.round(kind, (draw or value)(kind, wild))
  end
  local a = #data == 0 and A.zeros(whole, {type = kind}) or
    A(kind, table.move(data, 1, #data, 1, {}), whole)
  local m = model.new(kind, whole, data)
  if plain then return a, m end
  if rank > 0 then a, m = a[list], model.index(m, list) end
  if rank > 1 then a, m = a:permute(back), model.permute(m, back) end
  return a, m
end

-- Returns another shape that broadcasts with `shape`.
local function partner(shape)
  local other, skip = {}, random(0, #shape)
  for d = skip + 1, #shape do
    other[#other + 1] = random(4) == 1 and 1 or shape[d]
  end
  return other
end

-- Elementwise -----------------------------------------------------------------

local function floor_divide(x, y)
  if math.type(x) == "integer" then return y == 0 and 0 or x // y end
  return x // y
end

local function modulo(x, y)
  if math.type(x) == "integer" then return y == 0 and 0 or x % y end
  return x % y
end

local function larger(x, y)
  if x ~= x or y ~= y then return 0 / 0 end
  return math.max(x, y)
end
local function smaller(x, y)
  if x ~= x or y ~= y then return 0 / 0 end
  return math.min(x, y)
end

local operators = {
  ["+"] = function(x, y) return x + y end,
  ["-"] = function(x, y) return x - y end,
  ["*"] = function(x, y) return x * y end,
  ["/"] = function(x, y) return x / y end,
  ["//"] = floor_divide,
  ["%"] = modulo,
  ["&"] = function(x, y) return x & y end,
  ["|"] = function(x, y) return x | y end,
  ["~"] = function(x, y) return x ~ y end,
}
local whole_only = {["&"] = true, ["|"] = true, ["~"] = true}
local comparisons = {
  eq = function(x, y) return x == y end,
  ne = function(x, y) return x ~= y end,
  lt = function(x, y) return x < y end,
  le = function(x, y) return x <= y end,
  gt = function(x, y) return x > y end,
  ge = function(x, y) return x >= y end,
}

local function sorted(t)
  local list = {}
  for k in pairs(t) do list[#list + 1] = k end
  table.sort(list)
  return list
end
local operator_names, comparison_names = sorted(operators), sorted(comparisons)

-- Returns the type in which a type is computed.
local function wide(kind)
  return (kind == "half" or kind == "bfloat16") and "float" or kind
end

-- The functions that differ for elements of ulong.
local unsigned = {
  [floor_divide] = function(x, y) return (model.divide(x, y)) end,
  [modulo] = function(x, y) return select(2, model.divide(x, y)) end,
  [larger] = function(x, y) return math.ult(x, y) and y or x end,
  [smaller] = function(x, y) return math.ult(y, x) and y or x end,
}

-- Returns the model of a binary operation on two models of one shape.
local function binary(kind, f, m, n)
  local in_kind = wide(kind)
  f = kind == "ulong" and unsigned[f] or f
  return model.map(kind, function(x, y)
    x, y = model.round(in_kind, x, m.type), model.round(in_kind, y, n.type)
    return model.round(in_kind, f(x, y))
  end, m, n)
end

local function operate(name, a, b)
  if name == "+" then return a + b
  elseif name == "-" then return a - b
  elseif name == "*" then return a * b
  elseif name == "/" then return a / b
  elseif name == "//" then return a // b
  elseif name == "%" then return a % b
  elseif name == "&" then return a & b
  elseif name == "|" then return a | b
  end
  return a ~ b
end

-- Returns two types that have a common result type for an operation.
local function two_kinds(whole)
  local from = whole and integers or kinds
  local k, l
  repeat k, l = pick(from), pick(from) until model.promote(k, l)
  return k, l
end

describe("arrays, compared with plain Lua:", function()
  for _, name in ipairs(operator_names) do
    it("a " .. name .. " b", function()
      property(cases, function(size)
        local k, l = two_kinds(whole_only[name])
        local shape = shape_of(size)
        -- // and % differ from C only for values that are exact here.
        local wild = name ~= "//" and name ~= "%"
        local a, m = pair(k, shape, wild)
        local b, n = pair(l, partner(shape), wild)
        if random(2) == 1 then a, m, b, n, k, l = b, n, a, m, l, k end
        local kind = model.promote(k, l)
        if name == "/" and not model.is_real(kind) then kind = "float" end
        local both = model.broadcast(m.shape, n.shape)
        return ("%s%s %s %s%s"):format(k, text(m.shape), name, l,
            text(n.shape)),
          function() return operate(name, a, b) end,
          binary(kind, operators[name], model.expand(m, both),
            model.expand(n, both)), true
      end)
    end)

    it("a " .. name .. " number", function()
      property(cases, function(size)
        local k = pick(whole_only[name] and integers or kinds)
        local shape = shape_of(size)
        local a, m = pair(k, shape)
        local v = (whole_only[name] or random(2) == 1) and random(1, 5) or
          random(1, 8) / 2
        local kind = model.promote_number(k, v)
        if name == "/" and not model.is_real(kind) then kind = "float" end
        local n = model.new(kind, shape, {})
        for i = 1, model.count(shape) do n.data[i] = v end
        if random(2) == 1 then
          return ("%s%s %s %s"):format(k, text(shape), name, v),
            function() return operate(name, a, v) end,
            binary(kind, operators[name], m, n), true
        end
        return ("%s %s %s%s"):format(v, name, k, text(shape)),
          function() return operate(name, v, a) end,
          binary(kind, operators[name], n, m), true
      end)
    end)
  end

  for _, name in ipairs(comparison_names) do
    it("a:" .. name .. "(b)", function()
      property(cases, function(size)
        local k, l = two_kinds()
        local shape = shape_of(size)
        local a, m = pair(k, shape, true)
        local b, n = pair(l, partner(shape), true)
        local kind = wide(model.promote(k, l))
        local f = comparisons[name]
        if kind == "ulong" then f = model.flipped(f) end
        return ("%s%s:%s(%s%s)"):format(k, text(m.shape), name, l,
            text(n.shape)),
          function() return a[name](a, b) end,
          model.map("uchar", function(x, y)
            x = model.round(kind, x, m.type)
            return f(x, model.round(kind, y, n.type)) and 1 or 0
          end, m, model.expand(n, shape)), true
      end)
    end)
  end

  -- Functions of one real: their arguments and results. `exact` if every device
  -- gives the same result.
  local any = function() return random(-16, 16) / 4 end
  local positive = function() return random(1, 32) / 4 end
  local unit = function() return random(-8, 8) / 8 end
  local function sign(x) return x > 0 and 1 or x < 0 and -1 or x end
  local unary = {
    neg = {any, function(x) return -x end, true},
    abs = {any, math.abs, true},
    sign = {any, sign, true},
    floor = {any, function(x) return x // 1 end, true},
    ceil = {any, function(x) return -(-x // 1) end, true},
    trunc = {any, function(x)
      return x < 0 and -(-x // 1) or x // 1
    end, true},
    round = {any, function(x)
      local n = math.abs(x) // 1
      local rest = math.abs(x) - n
      if rest > 0.5 or rest == 0.5 and n % 2 == 1 then n = n + 1 end
      return (x < 0 or 1 / x < 0) and -n or n
    end, true},
    sqrt = {positive, math.sqrt},
    rsqrt = {positive, function(x) return 1 / math.sqrt(x) end},
    exp = {any, math.exp},
    log = {positive, math.log},
    log2 = {positive, function(x) return math.log(x, 2) end},
    log10 = {positive, function(x) return math.log(x, 10) end},
    log1p = {positive, function(x) return math.log(1 + x) end},
    expm1 = {any, function(x) return math.exp(x) - 1 end},
    sin = {any, math.sin}, cos = {any, math.cos}, tan = {unit, math.tan},
    asin = {unit, math.asin}, acos = {unit, math.acos}, atan = {any, math.atan},
    sinh = {any, function(x) return (math.exp(x) - math.exp(-x)) / 2 end},
    cosh = {any, function(x) return (math.exp(x) + math.exp(-x)) / 2 end},
    tanh = {any, function(x)
      local e = math.exp(2 * x)
      return (e - 1) / (e + 1)
    end},
    sigmoid = {any, function(x) return 1 / (1 + math.exp(-x)) end},
  }
  for _, name in ipairs(sorted(unary)) do
    it("a:" .. name .. "()", function()
      local draw, f, exact = table.unpack(unary[name])
      property(cases, function(size)
        local kind, shape = pick(floats), shape_of(size)
        local a, m = pair(kind, shape, false, draw)
        return ("%s%s:%s()"):format(kind, text(shape), name),
          function() return a[name](a) end, model.map(kind, f, m), exact
      end)
    end)
  end

  it("a:neg, abs, sign of integers; ~a", function()
    property(cases, function(size)
      local kind, shape = pick(integers), shape_of(size)
      local a, m = pair(kind, shape, true)
      local name = pick {"neg", "abs", "sign", "~"}
      local positive_only = model.is_unsigned(kind)
      local f = ({
        neg = function(x) return -x end,
        abs = function(x) return positive_only and x or math.abs(x) end,
        sign = function(x)
          return positive_only and (x ~= 0 and 1 or 0) or sign(x)
        end,
        ["~"] = function(x) return ~x end
      })[name]
      return ("%s%s:%s()"):format(kind, text(shape), name), function()
        if name == "~" then return ~a end
        return a[name](a)
      end, model.map(kind, f, m), true
    end)
  end)

  it("a:min(b), a:max(b)", function()
    property(2 * cases, function(size)
      local k, l = two_kinds()
      local shape = shape_of(size)
      local a, m = pair(k, shape, true)
      local b, n = pair(l, partner(shape), true)
      local name = pick {"min", "max"}
      return ("%s%s:%s(%s%s)"):format(k, text(shape), name, l, text(n.shape)),
        function() return a[name](a, b) end,
        binary(model.promote(k, l), name == "min" and smaller or larger, m,
          model.expand(n, shape)), true
    end)
  end)

  it("A.where(c, a, b)", function()
    property(2 * cases, function(size)
      local k, l = two_kinds()
      local shape = shape_of(size)
      local a, m = pair(k, shape, true)
      local b, n = pair(l, partner(shape), true)
      local c, q = pair("int", shape)
      local kind = model.promote(k, l)
      n = model.expand(n, shape)
      return ("where(int%s, %s, %s%s)"):format(text(shape), k, l,
          text(n.shape)),
        function() return A.where(c:gt(0), a, b) end,
        model.map(kind, function(v, x, y)
          if v > 0 then return model.round(kind, x, k) end
          return model.round(kind, y, l)
        end, q, m, n), true
    end)
  end)

  it("a:to(type)", function()
    property(4 * cases, function(size)
      local k, l, shape = pick(kinds), pick(kinds), shape_of(size)
      -- Only values that fit: others are converted as the device likes.
      local a, m = pair(k, shape, false, function(kind)
        local v = random(0, 100)
        if kind == "ulong" and (l == kind or model.is_real(l)) then
          return value(kind)
        elseif l == "ulong" and (kind == "float" or kind == "double") and
          v > 50
        then
          return 2.0 ^ 63 + v * 2.0 ^ 40
        end
        return model.is_real(kind) and v / 4 or v
      end)
      return ("%s%s:to %s"):format(k, text(shape), l),
        function() return a:to(l) end,
        model.map(l, function(v)
          if model.is_real(l) then return model.round(l, v, k) end
          if v >= 2.0 ^ 63 then
            return math.tointeger(v - 2.0 ^ 63) ~ math.mininteger
          end
          return math.tointeger(v // 1)
        end, m), true
    end)
  end)

  it("clamp of integers, fma and sqrt of ulong", function()
    property(3 * cases, function(size)
      local kind, shape = pick {"ulong", "uint", "ulong"}, shape_of(size)
      local a, m = pair(kind, shape, true)
      local what = pick {"clamp", "fma", "sqrt"}
      return ("%s%s:%s"):format(kind, text(shape), what), function()
        if what == "clamp" then return a:clamp(3, math.maxinteger)
        elseif what == "fma" then return a:fma(0.5, 2) end
        return a:sqrt()
      end, model.map(what == "clamp" and kind or "float", function(v)
        local x = model.round("double", v, kind)
        if what == "fma" then return x * 0.5 + 2
        elseif what == "sqrt" then return math.sqrt(x) end
        return x < 3 and 3 or x >= 2.0 ^ 63 and math.maxinteger or v
      end, m), what == "clamp"
    end)
  end)

  it("fma, clamp, lerp", function()
    property(2 * cases, function(size)
      local kind, shape = pick {"float", "double", "float"}, shape_of(size)
      if not lze.device().fp64 then kind = "float" end
      local a, m = pair(kind, shape)
      local b, n = pair(kind, partner(shape))
      local c, q = pair(kind, partner(shape))
      local what = pick {"fma", "clamp", "lerp"}
      n, q = model.expand(n, shape), model.expand(q, shape)
      local f = ({
        fma = function(x, y, z) return x * y + z end,
        clamp = function(x) return math.min(math.max(x, -1), 2) end,
        lerp = function(x, y, z) return x + (y - x) * z end
      })[what]
      return ("%s%s:%s"):format(kind, text(shape), what), function()
        if what == "clamp" then return a:clamp(-1, 2) end
        return a[what](a, b, c)
      end, model.map(kind, f, m, n, q)
    end)
  end)
end)

-- Reductions and scans --------------------------------------------------------

local function fold(f, start)
  return function(list)
    local r = start
    for _, v in ipairs(list) do r = f(r, v) end
    return r
  end
end

local function extreme(better)
  return function(list)
    local best = list[1]
    for i = 2, #list do
      if best ~= best then break end
      if list[i] ~= list[i] or better(list[i], best) then best = list[i] end
    end
    return best
  end
end

local function extreme_place(better)
  return function(list)
    local best = 1
    for i = 2, #list do
      if better(list[i], list[best]) then best = i end
    end
    return best
  end
end

local function add(x, y) return x + y end
local function times(x, y) return x * y end
local function less(x, y) return x < y end
local function more(x, y) return x > y end

local function mean(list) return fold(add, 0.0)(list) / #list end
local function variance(list)
  local u, s = mean(list), 0
  for _, v in ipairs(list) do s = s + (v - u) ^ 2 end
  return s / #list
end

local function same_kind(kind) return kind end
local function sum_kind(kind) return model.is_real(kind) and kind or "long" end
local function real_kind(kind)
  return model.is_real(kind) and kind or "float"
end
local function always(kind) return function() return kind end end

-- Returns the model of a reduction or scan of ulong; f is the model for other
-- types.
local function of_ulong(name, f, kind_of)
  if kind_of == real_kind then
    return function(list) return f(model.reals(list)) end
  elseif not name:find "m[ia][nx]$" then
    return f
  end
  local flipped, flip = model.flipped(f)
  if kind_of ~= same_kind then return flipped end
  return function(list) return flip(flipped(list)) end
end

-- {result type, f, whether bits agree, whether an empty array has a result}
local reductions = {
  sum = {sum_kind, fold(add, 0), true, true},
  prod = {sum_kind, fold(times, 1), true, true, function(kind)
    return pick {1, 1, 2, 1, model.is_unsigned(kind) and 1 or -1}
  end},
  min = {same_kind, extreme(less), true},
  max = {same_kind, extreme(more), true},
  argmin = {always "long", extreme_place(less), true},
  argmax = {always "long", extreme_place(more), true},
  all = {always "uchar", fold(function(r, v)
    return v == 0 and 0 or r
  end, 1), true, true},
  any = {always "uchar", fold(function(r, v)
    return v ~= 0 and 1 or r
  end, 0), true, true},
  count = {always "long", fold(function(r, v)
    return v ~= 0 and r + 1 or r
  end, 0), true, true},
  mean = {real_kind, mean},
  var = {real_kind, variance},
  std = {real_kind, function(list) return math.sqrt(variance(list)) end},
  norm = {real_kind, function(list)
    local s = 0
    for _, v in ipairs(list) do s = s + v * v end
    return math.sqrt(s)
  end, false, true},
}

describe("reductions of arrays, compared with plain Lua:", function()
  for _, name in ipairs(sorted(reductions)) do
    it(name, function()
      if not A.sum then return pending(name) end
      local kind_of, f, exact, of_nothing, draw =
        table.unpack(reductions[name], 1, 5)
      property(3 * cases, function(size)
        local kind = pick(kinds)
        local f = f
        if kind == "ulong" then f = of_ulong(name, f, kind_of) end
        local shape = shape_of(size)
        if random(6) == 1 then shape = {random(2000)} end
        if random(10) == 1 then shape = {3, random(700)} end
        local a, m = pair(kind, shape, false, draw)
        local d = #shape > 0 and random(3) > 1 and random(#shape) or nil
        if (d and shape[d] or model.count(shape)) == 0 and not of_nothing then
          return nil
        end
        local keep = d and random(2) == 1
        local result = kind_of(kind)
        local longest = d and shape[d] or model.count(shape)
        if (kind == "half" or kind == "bfloat16") and longest > 30 then
          return nil -- sums are not exact there
        end
        if name == "prod" and longest > 5 then return nil end
        return ("%s%s:%s(dim = %s, keep = %s)"):format(kind, text(shape), name,
            d, keep),
          function()
            if not d then return a[name](a) end
            return a[name](a, {dim = d, keep = keep})
          end,
          model.reduce(m, result, function(list)
            local r = f(list)
            return model.is_real(result) and r + 0.0 or math.tointeger(r)
          end, d, keep), exact
      end)
    end)
  end

  it("min and max of NaN", function()
    if not A.sum then return pending "reductions" end
    for _, name in ipairs {"min", "max"} do
      for n = 1, 40 do
        local list = {}
        for i = 1, 100 do list[i] = i end
        list[n] = 0 / 0
        local r = A("float", list)[name](A("float", list)):item()
        assert.is_true(r ~= r)
      end
    end
  end)
end)

local function running(f)
  return function(list)
    local out, r = {}, nil
    for i, v in ipairs(list) do
      if i == 1 then r = v else r = f(r, v) end
      out[i] = r
    end
    return out
  end
end

local scans = {
  cumsum = {sum_kind, running(add)},
  cumprod = {sum_kind, running(times), function(kind)
    return pick {1, 1, 1, model.is_unsigned(kind) and 1 or -1}
  end},
  cummin = {same_kind, running(math.min)},
  cummax = {same_kind, running(math.max)},
}

describe("scans of arrays, compared with plain Lua:", function()
  for _, name in ipairs(sorted(scans)) do
    it(name, function()
      if not A[name] then return pending(name) end
      local kind_of, f, draw = table.unpack(scans[name], 1, 3)
      property(3 * cases, function(size)
        local kind, shape = pick(kinds), shape_of(size, 1)
        local f = f
        if kind == "half" or kind == "bfloat16" then kind = "int" end
        if kind == "ulong" then f = of_ulong(name, f, kind_of) end
        if random(5) == 1 then shape = {random(3000)} end
        local a, m = pair(kind, shape, false, draw)
        local d = random(#shape)
        return ("%s%s:%s(dim = %d)"):format(kind, text(shape), name, d),
          function()
            if #shape == 1 and random(2) == 1 then return a[name](a) end
            return a[name](a, {dim = d})
          end,
          model.scan(m, kind_of(kind), f, d), true
      end)
    end)
  end
end)

-- Types -----------------------------------------------------------------------

describe("the types of results", function()
  -- Only a quarter of the pairs compile a kernel, with each type on either
  -- side.
  it("follow one table for every pair", function()
    for i, k in ipairs(kinds) do
      for j, l in ipairs(kinds) do
        local a, b = A(k, {1, 2}), A(l, {3, 1})
        local kind = model.promote(k, l)
        if kind then
          assert.equal(kind, (a + b).type, k .. " + " .. l)
          if (i + j) % 4 == 0 then
            assert.same({4, 3}, (a + b):read(), k .. " + " .. l)
          end
          local real = model.is_real(kind) and kind or "float"
          assert.equal(real, (a / b).type, k .. " / " .. l)
        else
          local ok, err = pcall(function() return a + b end)
          assert.is_false(ok, k .. " + " .. l)
          assert.matches(k, tostring(err))
          assert.matches(l, tostring(err))
        end
      end
      assert.equal(k, (A(k, {1}) + 1).type)
      assert.equal(model.is_real(k) and k or "float", (A(k, {1}) + 0.5).type)
      assert.equal(model.is_real(k) and k or "float", (1.5 * A(k, {1})).type)
    end
  end)
end)

-- Programs --------------------------------------------------------------------

-- A program is a list of steps on a few places. Each place holds an array and
-- its model, which is evaluated immediately. Steps that cannot be done are
-- skipped, so any part of a program is a program.
local places = 5

local function step_new(p, s)
  local shape = {}
  for d, n in ipairs(s.shape) do shape[d] = n end
  local data = {}
  for i = 1, model.count(shape) do data[i] = (s.seed * i) % 17 - 8 end
  if model.is_real(s.kind) then
    for i, v in ipairs(data) do data[i] = v / 4 end
  end
  p[s.to] = {A(s.kind, table.move(data, 1, #data, 1, {}), shape),
    model.new(s.kind, shape, data)}
end

local function both(p, s)
  local x, y = p[s.a], p[s.b]
  if not x or not y then return nil end
  local shape = model.broadcast(x[2].shape, y[2].shape)
  local kind = model.promote(x[2].type, y[2].type)
  if not shape or not kind or model.count(shape) > 300 then return nil end
  return x, y, shape, kind
end

local steps = {
  new = step_new,
  operate = function(p, s)
    local x, y, shape, kind = both(p, s)
    if not x then return end
    p[s.to] = {operate(s.name, x[1], y[1]), binary(kind, operators[s.name],
      model.expand(x[2], shape), model.expand(y[2], shape))}
  end,
  number = function(p, s)
    local x = p[s.a]
    if not x then return end
    local kind = x[2].type
    local n = model.new(kind, x[2].shape, {})
    for i = 1, model.count(n.shape) do n.data[i] = s.value end
    p[s.to] = {operate(s.name, x[1], s.value),
      binary(kind, operators[s.name], x[2], n)}
  end,
  abs = function(p, s)
    local x = p[s.a]
    if not x then return end
    p[s.to] = {x[1]:abs(), model.map(x[2].type, math.abs, x[2])}
  end,
  view = function(p, s)
    local x = p[s.a]
    if not x or #x[2].shape == 0 then return end
    local list = {}
    for d, n in ipairs(x[2].shape) do
      local i, j = (s.seed + d) % n + 1, (s.seed * 7 + d) % n + 1
      if s.seed % 3 == 0 and #x[2].shape > 1 and d == 1 then
        list[d] = i
      else
        list[d] = {i, j, (i <= j and 1 or -1) * (s.seed % 2 + 1)}
      end
    end
    p[s.to] = {x[1][list], model.index(x[2], list)}
  end,
  transpose = function(p, s)
    local x = p[s.a]
    if not x or #x[2].shape ~= 2 then return end
    p[s.to] = {x[1]:t(), model.permute(x[2], {2, 1})}
  end,
  set = function(p, s)
    local x, y = p[s.a], p[s.b]
    if not x or not y then return end
    if model.promote(x[2].type, y[2].type) ~= x[2].type then return end
    local shape = model.broadcast(x[2].shape, y[2].shape)
    if not shape or text(shape) ~= text(x[2].shape) then return end
    x[1]:set(y[1])
    model.write(x[2], y[2])
  end,
  update = function(p, s) -- in place, from itself and another
    local x, y, shape, kind = both(p, s)
    if not x or kind ~= x[2].type then return end
    if text(shape) ~= text(x[2].shape) then return end
    x[1]:set(x[1] + y[1])
    model.write(x[2], binary(kind, operators["+"], x[2],
      model.expand(y[2], shape)))
  end,
  fill = function(p, s)
    local x = p[s.a]
    if not x then return end
    x[1]:fill(s.value)
    model.each(x[2], function(place)
      x[2].data[place] = model.round(x[2].type, s.value)
    end)
  end,
  assign = function(p, s)
    local x = p[s.a]
    if not x or #x[2].shape ~= 1 or x[2].shape[1] == 0 then return
    end
    local i = s.seed % x[2].shape[1] + 1
    x[1][i] = s.value
    x[2].data[x[2].offset + (i - 1) * x[2].strides[1]] =
      model.round(x[2].type, s.value)
  end,
  copy = function(p, s)
    local x = p[s.a]
    if not x then return end
    p[s.to] = {x[1]:clone(), model.map(x[2].type, function(v) return v end,
      x[2])}
  end,
  sum = function(p, s)
    local x = p[s.a]
    if not x or not A.sum or model.is_real(x[2].type) then return end
    local kind = sum_kind(x[2].type)
    p[s.to] = {x[1]:sum(), model.reduce(x[2], kind, fold(add, 0))}
  end,
  drop = function(p, s)
    p[s.to] = nil
    if s.seed % 2 == 0 then collectgarbage() end
  end,
  read = function(p, s)
    local x = p[s.a]
    if x then return difference(x[1], x[2], true) end
  end,
  evaluate = function(p, s)
    local x = p[s.a]
    if x and x[1].eval then x[1]:eval() end
  end,
}
local step_names = sorted(steps)

local function describe_step(s)
  local parts = {}
  for _, k in ipairs(sorted(s)) do
    parts[#parts + 1] = k .. " = " .. (type(s[k]) == "table" and text(s[k]) or
      tostring(s[k]))
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- Runs a program. Returns the failure, or nil.
local function run(program)
  local p = {}
  local ok, said = pcall(function()
    for i, s in ipairs(program) do
      local wrong = steps[s.what](p, s)
      if wrong then return ("step %d: %s"):format(i, wrong) end
    end
    for place = 1, places do
      local x = p[place]
      local wrong = x and difference(x[1], x[2], true)
      if wrong then return ("at the end, %d: %s"):format(place, wrong) end
    end
  end)
  return ok and said or not ok and "raised " .. tostring(said) or nil
end

local function random_program(kind)
  local program = {}
  for i = 1, random(5, 40) do
    local s = {what = i <= 3 and "new" or pick(step_names), a = random(places),
      b = random(places), to = random(places), seed = random(100),
      name = pick {"+", "-", "*"}, kind = kind,
      value = random(-8, 8)}
    if model.is_real(kind) then s.value = s.value / 4 end
    if s.what == "new" then
      s.shape = pick {{}, {4}, {1}, {6}, {3, 4}, {1, 4}, {3, 1}, {2, 3, 4}}
    end
    program[i] = s
  end
  return program
end

-- Returns the fewest steps that still fail.
local function shrink(program)
  local i = 1
  while i <= #program do
    local part = {}
    for k, s in ipairs(program) do if k ~= i then part[#part + 1] = s end end
    if run(part) then program = part else i = i + 1 end
  end
  return program
end

-- Returns a random tree of operations; calls `each` with every result.
local unaries = {"neg", "abs", "sign", "floor", "ceil", "round", "trunc",
  "sqrt", "exp", "tanh", "isnan"}
local binaries = {"+", "-", "*", "/", "//", "%"}

local function random_tree(leaves, depth, each)
  if depth == 0 or random(6) == 1 then return pick(leaves) end
  local x, how = random_tree(leaves, depth - 1, each), random(10)
  if how <= 2 then return each(x[pick(unaries)](x)) end
  if how == 3 then return each(x:to(pick(kinds))) end
  local y = random(4) == 1 and random(-3, 9) / pick {1, 2} or
    random_tree(leaves, depth - 1, each)
  if how == 4 then
    return each(A.where(random_tree(leaves, depth - 1, each), x, y))
  elseif how == 5 then
    return each(x[pick(comparison_names)](x, y))
  elseif how == 6 then
    return each(x:max(y))
  end
  return each(operate(pick(binaries), x, y))
end

describe("an expression", function()
  it("has the same bits in one kernel and in one kernel per operation",
  function()
    for seed = first_seed, first_seed + cases - 1 do
      local results = {}
      local function values(tree, each)
        math.randomseed(seed)
        local leaves = {}
        for k = 1, 3 do leaves[k] = pair(pick(kinds), {2, 3}, true) end
        -- ulong has no common type with some types.
        local ok, a = pcall(tree, leaves, random(2, 4), each)
        if not ok then return {a:match "no type" or a} end
        return {a.type, a:explain(), table.unpack(a:read())}
      end
      results[1] = values(random_tree, function(a) return a:eval() end)
      results[2] = values(A.fuse(random_tree), function(a) return a end)
      for i, v in ipairs(results[1]) do
        local w = results[2][i]
        local zeros = v == 0 and w == 0 and 1 / v ~= 1 / w
        if zeros or v ~= w and (v == v or w == w) then
          error(("seed %d: value %d is %s one by one, %s fused"):format(seed,
            i - 2, v, w), 0)
        end
      end
      assert.equal(#results[1], #results[2])
    end
  end)
end)

-- Expressions of x, of type s, and y, of type t. Each has a model of one
-- element in plain Lua: its type, and its value for elements v and w.
local of_two_types = {
  {"x:to(t):to(s)", function(x, y) return x:to(y.type):to(x.type) end,
    function(s, t, v)
      return s, model.cut(s, model.cut(t, v))
    end},
  {"x - x:to(t)", function(x, y) return x - x:to(y.type) end,
    function(s, t, v)
      return model.promote(s, t), v - model.cut(t, v)
    end},
  {"x:to(t):eq(x)", function(x, y) return x:to(y.type):eq(x) end,
    function(_, t, v)
      return "uchar", model.cut(t, v) == v and 1 or 0
    end},
  {"A.where(x, y, 0.1) + x", function(x, y) return A.where(x, y, 0.1) + x end,
    function(s, t, v, w)
      local kind = model.promote_number(t, 0.1)
      local chosen = v ~= 0 and w or 0.1
      return model.promote(kind, s), model.round(kind, chosen) + v
    end}
}

describe("an expression of arrays of two types", function()
  local function model_of(kind)
    local list = {0, 1, 3, 100, 7, 77}
    if model.is_real(kind) then
      list = {0.0, 1.1, 1 / 3, 100.7, 2^-20, 77.123456789}
      for i, v in ipairs(list) do list[i] = model.round(kind, v) end
    end
    return model.new(kind, {#list}, list)
  end
  -- Every pair of types tests one expression; more cases test more of them.
  it("rounds each result to its type, in one kernel too", function()
    local turn = first_seed
    for _, s in ipairs(kinds) do
      for _, t in ipairs(kinds) do
        local m, n = model_of(s), model_of(t)
        for _ = 1, math.min(cases, #of_two_types) do
          turn = turn % #of_two_types + 1
          local name, f, one = table.unpack(of_two_types[turn])
          local kind = model.promote(s, t) and one(s, t, m.data[1], n.data[1])
          if kind then
            local list = {}
            for i, v in ipairs(m.data) do
              list[i] = model.round(kind, select(2, one(s, t, v, n.data[i])))
            end
            local said = difference(A.fuse(f)(A(s, m.data), A(t, n.data)),
              model.new(kind, {#list}, list), true)
            if said then error(("%s, s is %s, t %s: %s"):format(name, s, t,
              said), 0) end
          end
        end
      end
      turn = turn + 1 -- so that a type does not always have the same expression
    end
  end)
end)

describe("random programs of arrays", function()
  for _, kind in ipairs {"int", "float", "long"} do
    it("give the results of immediate evaluation: " .. kind, function()
      for seed = first_seed, first_seed + 25 * cases - 1 do
        math.randomseed(seed)
        local program = random_program(kind)
        if run(program) then
          program = shrink(program)
          local lines = {("seed %d: %s"):format(seed, run(program))}
          for i, s in ipairs(program) do lines[i + 1] = describe_step(s) end
          error(table.concat(lines, "\n"), 0)
        end
      end
    end)
  end
end)
