-- oracle_spec.lua - kernels in Lua compute the same as Lua, to the bit: every
-- operator with every kind of operand, loops, random functions.
-- SPDX-License-Identifier: MIT
--
-- Each kernel holds many functions, because a new module costs half a second.
-- LZE_ORACLE=SEED:COUNT runs COUNT kernels of random functions, starting at
-- SEED. LLVM 18 fails on one in two ("did not reach a fixpoint"), but not on
-- the default ones.

local lze = require "lze"
local lzc = require "spec.support.lzc"
local kernel = lzc.kernel

local function shown(v)
  return math.type(v) == "float" and ("%a"):format(v) or tostring(v)
end

local whole = {0, 1, -1, 2, 3, -7, 10, 63, 64, -64, 255, 1 << 31, 1 << 53,
  (1 << 53) + 1, math.maxinteger, math.mininteger}
local real = {0.0, -0.0, 1.0, -1.5, 2.0, 0.1, -7.25, 1e300, -1e300, 5e-324,
  2.0 ^ 53, 2.0 ^ 63, -2.0 ^ 63, 1 / 0, -1 / 0, 0 / 0}
local N = #whole * #real

-- The operands of item i: all pairs of each kind.
local a, b, u, v = {}, {}, {}, {}
for i = 1, #whole do
  for j = 1, #real do
    a[#a + 1], b[#b + 1] = whole[i], whole[j]
    u[#u + 1], v[#v + 1] = real[i], real[j]
  end
end

-- Returns the value of an expression in Lua.  If Lua raises an error, kernels
-- have a defined value or any value.
local ANY = {}
local function value_of(f, ...)
  local ok, r = pcall(f, ...)
  if ok then
    if r == true then return 1 end
    return r or 0
  end
  if r:find "attempt to perform 'n" or r:find "divide by zero" then return 0 end
  assert(r:find "has no integer representation", r)
  return ANY
end

local function same(x, y)
  return math.type(x) == math.type(y) and (x == y and 1 / x == 1 / y or
    x == y and x ~= 0 or x ~= x and y ~= y)
end

-- Checks expressions over integers a, b and reals u, v: `ints` give integers or
-- booleans, `reals` give reals.
local function expressions(ints, reals)
  local names = "local floor, ceil, abs, max, min, fmod, ult, sqrt, modf, " ..
    "tointeger = math.floor, math.ceil, math.abs, math.max, math.min, " ..
    "math.fmod, math.ult, math.sqrt, math.modf, math.tointeger\n" ..
    "local function second(_, b) return b end\n"
  local text = {names .. "return function(i, A, B, U, V, P, Q) " ..
    "local a, b, u, v = A[i], B[i], U[i], V[i]\n"}
  local host = {}
  for k, list in ipairs {ints, reals} do
    local out = k == 1 and "P" or "Q"
    for n, e in ipairs(list) do
      local truth = not e:find " and " and not e:find " or " and
        (e:find "[<>=~]=" or e:find "[^<]<[^<]" or e:find "[^>]>[^>]" or
         e:find "^not " or e:find "ult")
      text[#text + 1] = ("%s[(i - 1) * %d + %d] = %s\n"):format(out, #list, n,
        truth and "(" .. e .. ") and 1 or 0" or e)
      host[#host + 1] = {out = out, n = n, of = #list, text = e,
        f = load("local a, b, u, v = ... " .. names .. "return " .. e)}
    end
  end
  text[#text + 1] = "end"
  local f = assert(load(table.concat(text), "=expressions"))()
  local run = kernel(f, {"id", "const long*", "const long*", "const double*",
                         "const double*", "long*", "double*"})
  local out = {P = lze.buffer("long", N * #ints),
               Q = lze.buffer("double", N * #reals)}
  run(N, lze.buffer("long", a), lze.buffer("long", b),
    lze.buffer("double", u), lze.buffer("double", v), out.P, out.Q)
  local wrong = {}
  for _, h in ipairs(host) do
    for i = 1, N do
      local want = value_of(h.f, a[i], b[i], u[i], v[i])
      local got = out[h.out][(i - 1) * h.of + h.n]
      if want ~= ANY and not same(want, got) then
        wrong[#wrong + 1] = ("%s is %s, not %s, with %s %s %s %s"):format(
          h.text, shown(got), shown(want), a[i], b[i], shown(u[i]),
          shown(v[i]))
        break
      end
    end
  end
  assert.equal("", table.concat(wrong, "\n"))
end

describe("an operator in a kernel", function()
  it("gives the same results as Lua for integers", function()
    local ints = {}
    local constants = {0, 1, -1, 2, 8, 7, -3, 127, 128, -128, 1000000,
      math.maxinteger, "math.mininteger"}
    for _, op in ipairs {"+", "-", "*", "//", "%", "&", "|", "~", "<<", ">>",
                         "==", "~=", "<", "<=", ">", ">="} do
      ints[#ints + 1] = ("a %s b"):format(op)
      for _, c in ipairs(constants) do
        c = c == "math.mininteger" and "(-0x7fffffffffffffff - 1)" or
          "(" .. c .. ")"
        ints[#ints + 1] = ("a %s %s"):format(op, c)
        ints[#ints + 1] = ("%s %s b"):format(c, op)
      end
    end
    for _, e in ipairs {"-a", "~a", "not a", "abs(a)", "max(a, b)",
                        "min(a, b)", "max(a, b, 3)", "ult(a, b)", "floor(a)",
                        "ceil(a)", "a and b", "a or b", "a == a",
                        "a > b and a or b", "(a < b) == (b > a)"} do
      ints[#ints + 1] = e
    end
    expressions(ints, {"a / b", "a / 3", "1 / a", "a ^ 2", "a + 0.0",
                       "a * 0.5", "a - b / 2"})
  end)

  it("gives the same results as Lua for reals and mixed operands", function()
    local ints, reals = {}, {}
    local operands = {"v", "b", "0", "1", "(-1)", "3", "0.5", "2.0", "(-0.0)",
                      "1e300", "(1 << 53)", "9007199254740993"}
    for _, op in ipairs {"+", "-", "*", "/", "//", "%"} do
      for _, o in ipairs(operands) do
        reals[#reals + 1] = ("u %s %s"):format(op, o)
        reals[#reals + 1] = ("%s %s u"):format(o, op)
      end
    end
    for _, op in ipairs {"==", "~=", "<", "<=", ">", ">="} do
      for _, o in ipairs(operands) do
        ints[#ints + 1] = ("u %s %s"):format(op, o)
        ints[#ints + 1] = ("%s %s u"):format(o, op)
      end
    end
    for _, op in ipairs {"&", "|", "~", "<<", ">>"} do
      for _, o in ipairs {"v", "b", "3", "2.0"} do
        ints[#ints + 1] = ("u %s %s"):format(op, o)
        ints[#ints + 1] = ("%s %s u"):format(o, op)
      end
    end
    for _, e in ipairs {"-u", "abs(u)", "sqrt(u)", "max(u, v)", "min(u, v)",
                        "u ^ 2", "u and v", "u or v", "fmod(u, v)"} do
      reals[#reals + 1] = e
    end
    for _, e in ipairs {"second(modf(u))", "second(modf(a))"} do
      reals[#reals + 1] = e
    end
    for _, e in ipairs {"(modf(a))", "(modf(max(-1e9, min(1e9, u))))",
                        "tointeger(u) or -5", "tointeger(a)"} do
      ints[#ints + 1] = e
    end
    ints[#ints + 1] = "not u"
    ints[#ints + 1] = "~u"
    expressions(ints, reals)
  end)
end)

describe("a loop in a kernel", function()
  it("runs as often as in Lua", function()
    local most, least = "0x7fffffffffffffff", "(-0x7fffffffffffffff - 1)"
    local limits = {"b", "v", "3", "-2", most, "1e300", "-1e300", "2.5", "u"}
    local text, rows, mistakes = {}, 0, {}
    local function row(start, limit, step)
      rows = rows + 1
      text[rows] = ([[do local n, s = 0, 0
        for j = %s, %s, %s do
          n = n + 1 s = s * 5 + (j < b and 1 or 0) + (j == u and 2 or 0)
          if n > 6 then break end
        end
        P[(i - 1) * M + %d] = s * 8 + n end]]):format(start, limit, step, rows)
    end
    -- Only every seventh: the driver takes a tenth of a second for a loop.
    local nth = 0
    for _, start in ipairs {"a", "u", "1", least, most} do
      for _, limit in ipairs(limits) do
        for _, step in ipairs {"1", "-1", "3", "b | 1", "v + 0.25"} do
          nth = nth + 1
          if nth % 7 == 0 then row(start, limit, step) end
        end
      end
    end
    local body = table.concat(text, "\n")
    local one = ("local M <const> = %d\nreturn function(i, A, B, U, V, P) " ..
      "local a, b, u, v = A[i], B[i], U[i], V[i]\n%s end"):format(rows, body)
    local f = assert(load(one, "=loops"))()
    local P, want = lze.buffer("long", N * rows), {}
    kernel(f, {"id", "const long*", "const long*", "const double*",
               "const double*", "long*"})(N, lze.buffer("long", a),
      lze.buffer("long", b), lze.buffer("double", u), lze.buffer("double", v),
      P)
    for i = 1, N do f(i, a, b, u, v, want) end
    for k = 1, N * rows do
      if want[k] ~= P[k] then
        local i = (k - 1) // rows + 1
        mistakes[#mistakes + 1] = ("%s\nwith %s %s %s %s is %s, not %s")
          :format(text[(k - 1) % rows + 1], a[i], b[i], shown(u[i]),
            shown(v[i]), P[k], want[k])
        if #mistakes == 5 then break end
      end
    end
    assert.equal("", table.concat(mistakes, "\n"))
  end)
end)

-- Returns functions that draw a number from 1 to n, and an element of a list.
local function randomizer(state)
  local function random(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
  return random, function(list) return list[random(#list)] end
end

-- Makes random functions of two integers and two reals that return one of each.
local function generator(seed)
  local g = {}
  local random, one = randomizer(seed)
  local int, flt, names, read
  -- An element of a captured buffer, with a default outside of it.
  local function element(list, value)
    return random(3) > 1 and ("%s[(%s & 7) + 1]"):format(one(list), int(0)) or
      ("(%s[%s] or %s)"):format(one(list), int(0), value(0))
  end
  local function leaf_int()
    local r = random(10)
    if r <= 6 then return one(names.int) end
    if r == 7 then return "(" .. tostring(random(2000) - 1000) .. ")" end
    if r == 8 then return "captured" end
    if r == 9 then return element(read, int) end
    return tostring(one {0, 1, 2, 3, 5, 8, 16, 63, 64, 255, 65535,
                         0x7fffffff, 0x7fffffffffffffff})
  end
  local function leaf_flt()
    local r = random(10)
    if r <= 6 then return one(names.flt) end
    if r == 7 then return "captures.real" end
    if r == 8 then return element({"singles"}, flt) end
    return one {"0.5", "1.0", "2.25", "(-3.0)", "0.1", "1e10", "100.0", "0.0",
                "(0 / 0)", "(1 / 0)", "(-1 / 0)", "1e300"}
  end
  local function cond(d)
    local r = random(10)
    local op = one {"<", "<=", ">", ">=", "==", "~="}
    if r == 8 then return "yes" end
    if r == 10 then return read[1] .. "[" .. int(d - 1) .. "] == nil" end
    if r == 9 then return "ult(" .. int(d - 1) .. ", " .. int(d - 1) .. ")" end
    if d <= 0 or r <= 2 then
      return int(d - 1) .. " " .. op .. " " .. int(d - 1)
    end
    if r <= 4 then return flt(d - 1) .. " " .. op .. " " .. flt(d - 1) end
    if r == 5 then return int(d - 1) .. " " .. op .. " " .. flt(d - 1) end
    return "(" .. cond(d - 1) .. ") " .. one {"and", "or"} .. " not (" ..
      cond(d - 1) .. ")"
  end
  function int(d)
    if d <= 0 then return leaf_int() end
    local r = random(19)
    if r == 17 then
      return "fmod(" .. int(d - 1) .. ", " .. int(d - 1) .. " | 1)"
    end
    if r == 18 then
      return "(tointeger(" .. flt(d - 1) .. ") or " .. int(d - 1) .. ")"
    end
    if r == 19 then return "abs(" .. int(d - 1) .. ")" end
    if r <= 6 then
      return "(" .. int(d - 1) .. " " .. one {"+", "-", "*", "&", "|", "~"} ..
        " " .. int(d - 1) .. ")"
    end
    if r <= 8 then
      return "(" .. int(d - 1) .. one {" // ", " % "} .. "(" .. int(d - 1) ..
        " | 1))"
    end
    if r == 9 then
      return "(" .. int(d - 1) .. one {" // ", " % "} ..
        one {"3", "4", "7", "16", "(-2)", "(-5)", "(-1)"} .. ")"
    end
    if r == 10 then
      return "(" .. int(d - 1) .. one {" << ", " >> "} .. int(d - 1) .. ")"
    end
    if r == 11 then return "(-" .. int(d - 1) .. ")" end
    if r == 12 then return "(~" .. int(d - 1) .. ")" end
    if r == 13 then
      return one {"max", "min"} .. "(" .. int(d - 1) .. ", " .. int(d - 1) ..
        ")"
    end
    if r == 14 then
      return "((" .. cond(d - 1) .. ") and " .. int(d - 1) .. " or " ..
        int(d - 1) .. ")"
    end
    if r == 15 then
      return one {"floor", "ceil"} .. "(max(-1e9, min(1e9, " .. flt(d - 1) ..
        ")))"
    end
    return leaf_int()
  end
  function flt(d)
    if d <= 0 then return leaf_flt() end
    local r = random(13)
    if r <= 5 then
      return "(" .. flt(d - 1) .. one {" + ", " - ", " * ", " / "} ..
        flt(d - 1) .. ")"
    end
    if r == 13 then
      return "fmod(" .. flt(d - 1) .. ", " .. flt(d - 1) .. ")"
    end
    if r == 6 then return "(" .. flt(d - 1) .. one {" + ", " * ", " - "} ..
      int(d - 1) .. ")" end
    if r == 7 then return "(" .. int(d - 1) .. " / " .. int(d - 1) .. ")" end
    if r == 8 then return "(" .. flt(d - 1) .. one {" // ", " % "} ..
      flt(d - 1) .. ")" end
    if r == 9 then return "sqrt(abs(" .. flt(d - 1) .. "))" end
    if r == 10 then
      return "((" .. cond(d - 1) .. ") and " .. flt(d - 1) .. " or " ..
        flt(d - 1) .. ")"
    end
    if r == 11 then return "(-" .. flt(d - 1) .. ")" end
    return leaf_flt()
  end
  local count, block
  local function fresh() count = count + 1 return "t" .. count end
  local function statement(d)
    local r = random(d > 0 and 13 or 5)
    if r <= 2 then return one(names.vi) .. " = " .. int(2) .. "\n" end
    if r == 3 then return one(names.vf) .. " = " .. flt(2) .. "\n" end
    if r == 4 then
      local n = fresh()
      local text = "local " .. n .. " = "
      if random(2) == 1 then
        text = text .. int(2) .. "\n"
        names.int[#names.int + 1] = n
      else
        text = text .. flt(2) .. "\n"
        names.flt[#names.flt + 1] = n
      end
      return text
    end
    if r == 5 and random(2) == 1 then
      local n = fresh()
      return ("do local %s = %s if %s == (%s) then %s = %s end end\n"):format(n,
        cond(2), n, cond(1), one(names.vi), int(1))
    end
    if r == 5 and random(3) == 1 then
      local n, m = fresh(), fresh()
      return ("do local %s, %s if %s then %s = %s end if %s then %s = %s " ..
        "end if %s %s %s then %s = %s end end\n"):format(n, m, cond(1), n,
        int(1), cond(1), m, one {int, flt}(1), n, one {"==", "~="}, m,
        one(names.vi), int(1))
    end
    if r == 5 then
      return ("%s, %s = %s, %s\n"):format(names.vi[1], names.vi[2], int(1),
        int(1))
    end
    if r <= 7 then
      return "if " .. cond(2) .. " then\n" .. block(d - 1) ..
        (random(2) == 1 and "else\n" .. block(d - 1) or "") .. "end\n"
    end
    if r <= 9 then
      local n = fresh()
      local from, to, by = random(9) - 5, random(9) - 5, one {1, 1, 2, -1, -3}
      if random(4) == 1 then from = "(" .. leaf_int() .. ") % 5" end
      if random(6) == 1 then
        by = "(" .. cond(1) .. ") and " .. by .. " or " .. one {1, 2, -1}
      end
      local head = ("for %s = %s, %s%s do\n"):format(n, from, to,
        by == 1 and "" or ", " .. by)
      names.int[#names.int + 1] = n
      local body = block(d - 1)
      local last = #names.int
      for k = 1, last do
        if names.int[k] == n then table.remove(names.int, k) break end
      end
      if random(3) == 1 then
        body = body .. "if " .. cond(1) .. " then break end\n"
      end
      return head .. body .. "end\n"
    end
    if r == 10 then
      local n = fresh()
      return ("local %s = 0\nwhile %s < %d and not (%s) do\n%s = %s + 1\n" ..
        "%send\n"):format(n, n, random(6), cond(1), n, n, block(d - 1))
    end
    if r == 11 then
      local n = fresh()
      return ("local %s = 0\nrepeat\n%s = %s + 1\n%suntil %s > %d or %s\n")
        :format(n, n, n, block(d - 1), n, random(4), cond(1))
    end
    if r == 12 then
      local n = fresh()
      return ("do local %s = 0\n::%s_::\n%s = %s + 1\n%sif %s < %d " ..
        "then goto %s_ end\nend\n"):format(n, n, n, n, block(d - 1), n,
          random(5), n)
    end
    if g.helpers > 0 then
      -- The second result may be missing.
      local n = fresh()
      return ("do local %s %s, %s = h%d(%s, %s) %s = %s or %s end\n"):format(n,
        one(names.vi), n, random(g.helpers), int(1), flt(1), one(names.vf), n,
        flt(1))
    end
    local n = fresh()
    return "goto " .. n .. "x\n::" .. n .. "x::\n"
  end
  function block(d)
    local ni, nf = #names.int, #names.flt
    local text = {}
    for _ = 1, random(4) do text[#text + 1] = statement(d) end
    while #names.int > ni do table.remove(names.int) end
    while #names.flt > nf do table.remove(names.flt) end
    return "do " .. table.concat(text) .. "end\n"
  end
  g.helpers = 0
  function g.body(d, head, partial)
    count = 0
    names = {int = {"a", "b", "s"}, flt = {"u", "v", "r"},
             vi = {"a", "b", "s"}, vf = {"u", "v", "r"}}
    -- Not all buffers: a kernel has at most 250 arguments and captures.
    read = {one {"bytes", "shorts"}, one {"words", "counts"}}
    local early = random(3) == 1 and "if " .. cond(1) .. " then return s end\n"
    return head .. block(d) .. (partial and early or "") .. block(d) ..
      "return s + a, r + u\nend\n"
  end
  return g
end

local FUNCTIONS, ITEMS = 24, 16

-- Returns buffers of eight elements that random functions read.
local function captured()
  return {lze.buffer("char", {0, 1, -1, 127, -128, 64, 10, -77}),
    lze.buffer("ushort", {0, 1, 0xffff, 0x7fff, 0x8000, 255, 1000, 13}),
    lze.buffer("int", {0, 1, -1, 0x7fffffff, -0x80000000, 46341, 9, -65536}),
    lze.buffer("uint", {0, 1, 0xffffffff, 0x80000000, 65536, 31, 7, 1 << 30}),
    lze.buffer("float", {0.0, -0.0, 1.5, -1e30, 0.1, 1e-40, 16777216.0, -3.0})}
end

local function random_kernel(seed)
  local g = generator(seed)
  local parts = {"local floor, ceil, max, min, abs, sqrt = math.floor, " ..
    "math.ceil, math.max, math.min, math.abs, math.sqrt\n" ..
    "local fmod, ult, tointeger = math.fmod, math.ult, math.tointeger\n" ..
    "local captured, captures, yes = -3, {real = 0.75}, true\n" ..
    "local bytes, shorts, words, counts, singles = ...\n"}
  for n = 1, 3 do
    parts[#parts + 1] = g.body(1, ("local function h%d(a, u) " ..
      "local b, s, v, r = a, 0, u, 1.5\n"):format(n), true)
    g.helpers = n
  end
  for n = 1, FUNCTIONS do
    parts[#parts + 1] = g.body(2, ("local function f%d(a, b, u, v) " ..
      "local s, r = 1, 0.5\n"):format(n))
  end
  local calls = {}
  for n = 1, FUNCTIONS do
    calls[n] = ("do local s, r = f%d(A[i], B[i], U[i], V[i]) " ..
      "local k = (i - 1) * %d + %d P[k], Q[k], R[k] = s, r, s end\n"):format(n,
      FUNCTIONS, n)
  end
  local text = table.concat(parts) ..
    "return function(i, A, B, U, V, P, Q, R)\n" .. table.concat(calls) ..
    "end"
  local f = assert(load(text, "=random"))(table.unpack(captured()))
  local A, B, U, V = {}, {}, {}, {}
  for i = 1, ITEMS do
    A[i], B[i] = whole[i], whole[(i * 7 + seed) % 16 + 1]
    U[i], V[i] = real[i], real[(i * 5 + seed) % 16 + 1]
  end
  local wantP, wantQ = {}, {}
  for i = 1, ITEMS do f(i, A, B, U, V, wantP, wantQ, {}) end
  local P = lze.buffer("long", FUNCTIONS * ITEMS)
  local Q = lze.buffer("double", FUNCTIONS * ITEMS)
  local R = lze.buffer("short", FUNCTIONS * ITEMS)
  local run = lze.kernel(f)
  run(ITEMS, lze.buffer("long", A), lze.buffer("long", B),
    lze.buffer("double", U), lze.buffer("double", V), P, Q, R)
  assert(lze.spirv.validate(run:spirv()))
  for k = 1, FUNCTIONS * ITEMS do
    if not same(wantP[k], P[k]) or not same(wantQ[k], Q[k]) or
       R[k] & 0xffff ~= P[k] & 0xffff then
      local n, i = (k - 1) % FUNCTIONS + 1, (k - 1) // FUNCTIONS + 1
      error(("seed %d, f%d(%s, %s, %s, %s) is %s %s, not %s %s:\n%s\n%s")
        :format(seed, n, A[i], B[i], shown(U[i]), shown(V[i]), shown(P[k]),
          shown(Q[k]), shown(wantP[k]), shown(wantQ[k]),
          text:match(("(local function f%d%%(.-)\nlocal function f"):format(n))
            or text, text:match "^(.-)local function f1%("), 0)
    end
  end
end

-- Makes random functions that change SIZE elements of a buffer in place, in
-- loops and around barriers, and later use values read before.  PoCL 7.1
-- computes kernels with loops and barriers wrongly in groups of one work-item.
local SIZE = 8

local function in_place(seed, barriers)
  local random, one = randomizer(seed * 977 + 5)
  local reads, loops = 0, {}
  local block
  local function place()
    local k = #loops > 0 and random(4) > 1 and one(loops)
    return not k and ("x[b + %d]"):format(random(SIZE)) or
      ("x[b + (%d + %s%s) %% %d + 1]"):format(random(SIZE), one {"", "2 * ",
        "-", "3 * "}, k, SIZE)
  end
  local function value()
    if reads > 0 and random(2) == 1 then return "r" .. random(reads) end
    return random(4) == 1 and one {"2", "3", "10"} or place()
  end
  local function changed()
    return ("%s %s %s"):format(place(), one {"+", "-", "*"}, value())
  end
  local function statement(d)
    local r = random(d > 0 and 8 or 5)
    if r <= 2 then
      return ("%s = %s\n"):format(place(), changed())
    elseif r <= 4 then
      return ("do local t, u = %s, %s %s = t %s = u end\n"):format(changed(),
        changed(), place(), place())
    elseif r == 5 then
      return ("%s, %s = %s, %s\n"):format(place(), place(), changed(),
        changed())
    elseif r == 6 then
      return ("if %s < %s then\n%send\n"):format(place(), value(),
        block(d - 1))
    end
    local k = "k" .. #loops + 1
    loops[#loops + 1] = k
    local body = block(d - 1)
    loops[#loops] = nil
    return ("for %s = %d, %s do\n%send\n"):format(k, random(3) - 1,
      one {"3", "4", "7", "n", "n + 1"}, body)
  end
  function block(d)
    local text = {}
    for k = 1, random(3) do text[k] = statement(d) end
    return table.concat(text)
  end
  local text = {}
  for _ = 1, 3 do
    reads = reads + 1
    text[#text + 1] = ("local r%d = %s\n"):format(reads, place())
    text[#text + 1] = block(2)
    if random(4) == 1 and barriers then
      text[#text + 1] = "work.barrier()\n"
    end
  end
  return table.concat(text) .. ("%s = %s\n"):format(place(), changed())
end

-- Runs a kernel of COUNT in-place functions, each with its own elements.
local COUNT, GROUPS = 6, {1, 4, ITEMS}

local function in_place_kernel(seed)
  local text, group = {"return function(i, n, x)\n"}, GROUPS[seed % 3 + 1]
  for k = 1, COUNT do
    text[#text + 1] = ("do local b = ((i - 1) * %d + %d) * %d\n%send\n")
      :format(COUNT, k - 1, SIZE, in_place(seed * COUNT + k, group > 1))
  end
  text[#text + 1] = "end"
  text = table.concat(text)
  local f = assert(load(text, "=in_place", "t", {work = lze.work}))()
  local host = assert(load(text, "=host", "t",
    {work = {barrier = function() end}}))()
  local type = seed % 3 == 0 and "long" or "double"
  local have = {}
  for k = 1, ITEMS * COUNT * SIZE do
    have[k] = type == "long" and k * 7919 % 23 - 9 or k % 13 - 4.5
  end
  local x = lze.buffer(type, have)
  lze.kernel(f)({ITEMS, group = group}, 3, x)
  for i = 1, ITEMS do host(i, 3, have) end
  for k = 1, #have do
    if not same(have[k], x[k]) then
      error(("seed %d, %s %d of item %d is %s, not %s:\n%s"):format(seed, type,
        (k - 1) % (COUNT * SIZE) + 1, (k - 1) // (COUNT * SIZE) + 1,
        shown(x[k]), shown(have[k]), text), 0)
    end
  end
end

describe("random functions", function()
  local seed, count = (os.getenv "LZE_ORACLE" or "23:2"):match "(%d+):(%d+)"
  local first, last = seed // 1 | 0, seed + count - 1

  it("compute the same as in Lua", function()
    for s = first, last do random_kernel(s) end
  end)

  it("change a buffer in place as in Lua", function()
    for s = first, last do in_place_kernel(s) end
  end)
end)
