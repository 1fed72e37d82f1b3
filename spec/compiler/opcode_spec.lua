-- opcode_spec.lua - every opcode of Lua 5.4 or 5.5 in kernels: its result or
-- why it is refused; operators with operands of every kind.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local lzc = require "spec.support.lzc"
local math = math

local newer = _VERSION ~= "Lua 5.4"
local all = [[MOVE LOADI LOADF LOADK LOADKX LOADFALSE LFALSESKIP LOADTRUE
  LOADNIL GETUPVAL SETUPVAL GETTABUP GETTABLE GETI GETFIELD SETTABUP SETTABLE
  SETI SETFIELD NEWTABLE SELF ADDI ADDK SUBK MULK MODK POWK DIVK IDIVK BANDK
  BORK BXORK SHRI SHLI ADD SUB MUL MOD POW DIV IDIV BAND BOR BXOR SHL SHR MMBIN
  MMBINI MMBINK UNM BNOT NOT LEN CONCAT CLOSE TBC JMP EQ LT LE EQK EQI LTI LEI
  GTI GEI TEST TESTSET CALL TAILCALL RETURN RETURN0 RETURN1 FORLOOP FORPREP
  TFORPREP TFORCALL TFORLOOP SETLIST CLOSURE VARARG VARARGPREP EXTRAARG]]
if newer then
  all = all:gsub("SHRI SHLI", "SHLI SHRI"):gsub("VARARG ",
    "%0GETVARG ERRNNIL ")
end
local names = {}
for name in all:gmatch "%u[%u%d]*" do names[#names + 1] = name end

-- Returns the opcodes of a function as a set.
local function opcodes(f)
  local code, set = string.dump(f, true), {}
  local at = newer and 42 or 33 -- after the header and count of upvalues
  local function size()
    local n = 0
    repeat
      local b = code:byte(at)
      n, at = n << 7 | b & 0x7f, at + 1
    until (b & 0x80 ~= 0) ~= newer
    return n
  end
  assert(newer or size() == 0)
  size() size()
  at = at + 3
  local count = size()
  if newer then at = (at + 2) // 4 * 4 + 1 end -- aligned
  for k = 0, count - 1 do
    local word = string.unpack("<I4", code, at + 4 * k)
    set[names[(word & 0x7f) + 1]] = true
  end
  return set
end

-- The source of a test function: parameters, then a body.
local head = "local cfg, floor, one, two, none, yes = ...\n" ..
  "return function(i, a, u, x, d)\n"
local cfg = {n = 7, r = 0.25, deep = {n = 9}}
local function one(v) return v + 1 end
local function two(v, w) return v * 2, w end
local function none() end
local function make(body)
  return assert(load(head .. body .. "\nend", "=row"))(cfg, math.floor, one,
    two, none, true)
end

local long = "local v = 0\n" -- enough constants to need LOADKX
do
  local parts = {"if a > 1000 then\n"}
  for n = 1, 131100 do parts[n + 1] = "v = " .. n + 1000000 .. "\n" end
  parts[#parts + 1] = "v = 7654321 end\nx[1] = v + a\n"
  long = long .. table.concat(parts)
end

-- Opcodes, code that contains them and, if it is refused, the finding.  a and u
-- are an integer and a real, x and d buffers of both.
local rows = {
  {"MOVE", "local v, w = a, u; v = v x[1] = v d[1] = w"},
  {"LOADI LOADF", "local v, w = -5, 3.0 x[1] = v d[1] = w"},
  {"LOADK", "local v, w = 1 << 40, 0.1 x[1] = v d[1] = w"},
  {"LOADFALSE LOADTRUE", "local v, w = true, false " ..
    "if a > 0 then v, w = w, v end x[1] = v and 1 or w and 2 or 3"},
  {"LFALSESKIP LOADTRUE", "local v = a < u x[1] = v and 1 or 2"},
  {"LOADNIL", "local v, w if a > 0 then v = a end x[1] = v or 4 x[2] = w or 5"},
  {"GETUPVAL", "x[1] = one(a)"},
  {"GETFIELD", "x[1] = cfg.n + cfg.deep.n d[1] = cfg.r"},
  {"GETTABUP", "x[1] = math.abs(a)"},
  {"GETTABLE SETTABLE", "x[i] = x[a] d[i] = d[a] x[a] = 5 d[a] = 2"},
  {"GETI SETI", "x[1] = x[2] d[1] = d[3] x[3] = 5"},
  {"ADDI", "x[1] = a + 5 x[2] = a - 5 d[1] = u + 100 d[2] = u - 3"},
  {"ADDK SUBK MULK", "x[1] = a + 1000 x[2] = a - 1000 x[3] = a * 3 " ..
    "d[1] = u + 0.5 d[2] = u - 1e9 d[3] = u * 0.1"},
  {"MODK IDIVK", "x[1] = a % 3 x[2] = a // 3 d[1] = u % 0.7 d[2] = u // 0.7"},
  {"DIVK", "d[1] = a / 3 d[2] = u / 0.3"}, {"POWK", "d[1] = u ^ 2"},
  {"BANDK BORK BXORK", "x[1] = a & 6 x[2] = a | 6 x[3] = a ~ 6 x[4] = 6 & a"},
  {"SHRI SHLI", "x[1] = a >> 2 x[2] = a << 2 x[3] = 5 << a x[4] = 70 >> a"},
  {"ADD SUB MUL", "x[1] = a + i x[2] = a - i x[3] = a * i " ..
    "d[1] = u + a d[2] = a - u d[3] = u * u"},
  {"MOD IDIV DIV", "x[1] = a % i x[2] = a // i d[1] = u % a d[2] = a // u " ..
    "d[3] = a / i"},
  {"POW", "local v = d[2] d[1] = v ^ (v / v)"},
  {"BAND BOR BXOR", "x[1] = a & i x[2] = a | i x[3] = a ~ i"},
  {"SHL SHR", "x[1] = a << i x[2] = a >> i x[3] = a << -i"},
  {"UNM BNOT NOT", "local v = not x[9] x[1] = -a x[2] = ~a d[1] = -u " ..
    "x[3] = v and 1 or 2"},
  {"LEN", "x[1] = #x + #d"},
  {"EQ LT LE", "x[1] = a == i and 1 or 2 x[2] = a < i and 1 or 2 " ..
    "x[3] = a <= i and 1 or 2 x[4] = u == a and 1 or 2"},
  {"EQ", "local v, w, z = x[a] or nil, x[99] or nil, d[98] or nil " ..
    "x[1] = v == w and 1 or 2 x[2] = w == z and 1 or 2 " ..
    "x[3] = w ~= z and 1 or 2 x[4] = v == x[a] and 1 or 2"},
  {"EQK EQI", "x[1] = a == 1 << 40 and 1 or 2 x[2] = a == 3 and 1 or 2 " ..
    "x[3] = u == 2.25 and 1 or 2 x[4] = x[99] == nil and 1 or 2"},
  {"LTI LEI GTI GEI", "x[1] = a < 3 and 1 or 2 x[2] = a <= 3 and 1 or 2 " ..
    "x[3] = a > 3 and 1 or 2 x[4] = a >= 3 and 1 or 2"},
  {"TEST JMP", "local v = x[99] if v then x[1] = 1 else x[1] = 2 end"},
  {"TESTSET", "local v = x[99] local w = v or a local z = w and u x[1] = w " ..
    "d[1] = z"},
  {"TESTSET", "local v, w = x[99], x[98] w = v or w x[1] = w or 5"},
  {"CALL", "x[1], x[2] = two(a, i) x[3] = two(two(a, i)) + one(two(i, 2)) " ..
    "none()"},
  {"TAILCALL", "if a > 2 then x[1] = 3 return none() end x[1] = 4"},
  {"RETURN RETURN0", "x[1] = 1 if a > 2 then return a, u end x[1] = 2"},
  {"RETURN1", "x[1] = 1 if a > 2 then return a end x[1] = 2"},
  {"FORPREP FORLOOP", "local s = 0 for n = 1, a do s = s + n end x[1] = s " ..
    "for n = u, 5, 0.5 do d[1] = d[1] + n end"},
  {"CLOSE", "while true do local v <const> = a goto out end ::out:: x[1] = 1",
    none = true},
  {"LOADKX EXTRAARG", long},
  {"SETUPVAL", "one = a", says = "a captured local (one) is assigned"},
  {"SETTABUP", "global = a", says = "a global (global) is assigned"},
  {"SETFIELD", "local t = cfg t.n = a", says = "a field (n) is assigned"},
  {"NEWTABLE SETLIST", "local t = {a, u}", says = "a table is made here"},
  {"SELF", "x:fill(a)", says = "a method (fill) is called"},
  {"CONCAT", "local s = a .. u", says = "strings are joined"},
  {"TBC", "local v <close> = nil", says = "no <close> variables"},
  {"TFORPREP TFORCALL TFORLOOP", "for k in one, a do x[k] = 1 end",
    says = "write `for i = 1, #x do`"},
  {"CLOSURE", "local f = function() return a end", says = "a function is made"},
  {"CLOSE", "do local v = a local f = function() return v end f() goto l " ..
    "end ::l::", says = "a function is made"}
}

if newer then
  rows[#rows + 1] = {"ERRNNIL", "global v = a",
    says = "a global (v) is assigned"}
end

local types = {"id", "long", "double", "long*", "double*"}

describe("an opcode", function()
  it("computes the same as in Lua, or is refused", function()
    local seen, bodies = {VARARGPREP = true, VARARG = true, MMBIN = true,
      MMBINI = true, MMBINK = true, GETVARG = true}, {}
    for _, row in ipairs(rows) do
      local f = make(row[2])
      local has = opcodes(f)
      for name in row[1]:gmatch "%S+" do
        if not row.none then
          assert.is_true(has[name], name .. " is not in: " .. row[2]:sub(1, 99))
        end
        seen[name] = true
      end
      local spirv, why = lzc.compile(f, types)
      if row.says then
        assert.is_nil(spirv, row[2])
        assert.truthy(why:find(row.says, 1, true), why)
      else
        assert.is_string(spirv, why)
        if #row[2] < 1000 then bodies[#bodies + 1] = row[2] end
      end
    end
    local _, why = lzc.compile(function(_, ...) return ... end, {"id"})
    assert.matches("not %.%.%.", why)
    if newer then
      local f = load "return function(i, ...rest) return rest[i] end" ()
      assert.is_true(opcodes(f).GETVARG)
      _, why = lzc.compile(f, {"id"})
      assert.matches("not %.%.%.", why)
    end
    for _, name in ipairs(names) do assert.is_true(seen[name], name) end
    -- All bodies that compile, in one kernel.
    local text = {[[local F, w = ...
      return function(i, A, U, P, Q)
        local a, u = A[i], U[i]
        local x, d = w.private_array("long", 4), w.private_array("double", 4)
        ]]}
    local F, calls = {}, #bodies
    for n, body in ipairs(bodies) do
      F["f" .. n] = make(body)
      text[n + 1] = ([[for k = 1, 4 do x[k] = k + a d[k] = k - u end
        F.f%d(i, a, u, x, d)
        for k = 1, 4 do
          P[((i - 1) * %d + %d) * 4 + k] = x[k]
          Q[((i - 1) * %d + %d) * 4 + k] = d[k]
        end
        ]]):format(n, calls, n - 1, calls, n - 1)
    end
    text[#text + 1] = "end"
    local run = lze.kernel(load(table.concat(text), "=all")(F, lze.work))
    local A, U = {3, 2, 4, 1}, {2.25, -1.5, 3.0, 0.75}
    local P = lze.buffer("long", 16 * calls)
    local Q = lze.buffer("double", 16 * calls)
    run(4, lze.buffer("long", A), lze.buffer("double", U), P, Q)
    for i = 1, 4 do
      for n, body in ipairs(bodies) do
        local x, d = {}, {}
        for k = 1, 4 do x[k], d[k] = k + A[i], k - U[i] end
        F["f" .. n](i, A[i], U[i], x, d)
        local at = ((i - 1) * calls + n - 1) * 4
        assert.same({x, d}, {P:read(at + 1, at + 4), Q:read(at + 1, at + 4)},
          body)
      end
    end
  end)
end)

describe("an operator", function()
  -- The expression for each kind of operand, and which kinds are numbers.
  local kinds = {integer = "a", real = "u", ["5"] = "5", ["0.5"] = "0.5",
    element = "x[1]", boolean = "yes", ["nil"] = "nil", buffer = "x",
    ["function"] = "one", builtin = "floor", string = "'s'", table = "cfg"}
  local number = {integer = true, real = true, ["5"] = true, ["0.5"] = true,
    element = true}
  local whole = {integer = true, ["5"] = true, element = true}

  -- Returns true if the body compiles; otherwise it must give a finding.
  local function compiles(body)
    local spirv, why = lzc.compile(make(body), types)
    assert.is_true(spirv ~= nil or why ~= "", body)
    if spirv then assert(lze.spirv.validate(spirv)) end
    return spirv ~= nil
  end

  it("accepts operands of its kinds and refuses all others", function()
    for kind, text in pairs(kinds) do
      for other, right in pairs(kinds) do
        local both = (number[kind] and number[other]) == true
        for _, op in ipairs {"+", "-", "*", "/", "//", "%", "^"} do
          local body = ("d[1] = (%s) %s (%s)"):format(text, op, right)
          assert.equal(both, compiles(body), body)
        end
        -- A real with an integral value has the bits of that integer.
        local bits = both and kind ~= "0.5" and other ~= "0.5"
        for _, op in ipairs {"&", "|", "~", "<<", ">>"} do
          local body = ("d[1] = (%s) %s (%s)"):format(text, op, right)
          assert.equal(bits, compiles(body), body)
        end
        for _, op in ipairs {"<", "<=", ">", ">="} do
          local body = ("x[1] = (%s) %s (%s) and 1 or 2"):format(text, op,
            right)
          assert.equal(both, compiles(body), body)
        end
        for _, op in ipairs {"==", "~="} do
          assert.is_true(compiles(("x[1] = (%s) %s (%s) and 1 or 2")
            :format(text, op, right)))
        end
      end
      local n, w = number[kind] == true, whole[kind] == true
      for body, takes in pairs {
          ["d[1] = -(%s)"] = n, ["d[1] = %s"] = n,
          ["x[1] = ~(%s)"] = n and kind ~= "0.5",
          ["x[1] = not (%s) and 1 or 2"] = true, ["x[1] = %s"] = w,
          ["x[1] = #(%s)"] = kind == "buffer", ["d[%s] = 1"] = w,
          ["d[1] = (%s)[1]"] = kind == "buffer",
          ["(%s)[1] = 1"] = kind == "buffer", ["d[1] = x[%s]"] = w,
          ["local v = (%s)(a)"] = kind == "function" or kind == "builtin",
          ["for k = 1, %s do x[k] = 1 end"] = n,
          ["for k = %s, 5 do x[1] = 1 end"] = n,
          ["local v = %s x[1] = v and 1 or 2"] = true,
          ["d[1] = floor(%s)"] = n, ["d[1] = one(%s)"] = n,
          ["local v = (%s).n d[1] = v"] = kind == "table"} do
        local said = body:format(text)
        local f = load(head .. said .. "\nend")
        if f then assert.equal(takes, compiles(said), said) end
      end
    end
  end)
end)
