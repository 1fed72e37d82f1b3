-- range_spec.lua - ranges of integers in Lua kernels, which change the
-- generated code but not its results.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local function made(body, parameters)
  local f = assert(load(("return function(i, x, %s) %s end"):format(parameters,
    body), "=row"))()
  return lze.kernel(f, "long *x, " .. parameters:gsub("%a+", {
    n = "const int *n", m = "const int *m", u = "const ushort *u",
    b = "const char *b", l = "const long *l", w = "const uint *w"})), f
end

-- Returns the widths of the quotients and remainders in a kernel, and true if
-- its divisors are compared with zero.
local function divisions(k)
  local text = lze.spirv.disassemble(k:spirv())
  local widths = {}
  local width = {}
  for id, bits in text:gmatch "(%%%w+) = OpTypeInt (%d+)" do
    width[id] = bits
  end
  for op, t in text:gmatch "Op(%u%u?[DRM][ieo][vmd]) (%%%w+)" do
    widths[#widths + 1] = op .. width[t]
  end
  return table.concat(widths, " "), text:find "OpIEqual" ~= nil
end

local edges = {0, 1, -1, 2, 3, 7, -7, 50, 127, -128, 255, 32767, -32768, 65535,
  2147483647, -2147483648, -2147483647, 1000003}

local function fitting(first, last)
  local t = {}
  for _, v in ipairs(edges) do
    if v >= first and v <= last then t[#t + 1] = v end
  end
  return t
end

local values = {
  n = {"int", edges}, m = {"int", edges},
  u = {"ushort", fitting(0, 65535)}, b = {"char", fitting(-128, 127)},
  w = {"uint", {0, 1, 4294967295, 2147483648, 7}},
  l = {"long", {0, 1, -1, math.mininteger, math.maxinteger, 4294967296, -7}}
}

-- Checks that the kernel and the function agree for each pair of values.
local function agrees(k, f, parameters)
  local a, b = parameters:match "(%a), (%a)"
  local first, second = values[a or parameters], values[b or parameters]
  local p, q = {}, {}
  for _, v in ipairs(first[2]) do
    for _, w in ipairs(a and second[2] or {v}) do
      p[#p + 1], q[#q + 1] = v, w
    end
  end
  local x, expected = lze.buffer("long", #p), {}
  local buffers = {lze.buffer(first[1], p)}
  if a then buffers[2] = lze.buffer(second[1], q) end
  k(#p, x, table.unpack(buffers))
  for i = 1, #p do
    local ok = pcall(f, i, expected, p, q)
    if not ok then expected[i] = 0 end -- a division by zero
  end
  assert.same(expected, x:read())
end

local function check(body, parameters, ops, guarded)
  local k, f = made(body, parameters)
  local found, compared = divisions(k)
  assert.equal(ops, found, body)
  assert.equal(guarded, compared, body)
  agrees(k, f, parameters)
end

describe("an integer's range", function()
  it("comes from elements, and narrows divisions", function()
    check("x[i] = u[i] // 7", "u", "UDiv32", false)
    check("x[i] = u[i] % 10", "u", "UMod32", false)
    check("x[i] = n[i] % 10", "n", "SRem32", false)
    check("x[i] = b[i] // -3", "b", "SRem32 SDiv32", false)
    check("x[i] = n[i] // m[i]", "n, m", "SRem32 SDiv32", true)
    check("x[i] = b[i] % n[i]", "b, n", "SRem32", true)
  end)

  it("does not narrow divisions of wider values", function()
    check("x[i] = w[i] % 10", "w", "UMod64", false)
    check("x[i] = l[i] % 10", "l", "SRem64", false)
    check("x[i] = l[i] // l[i]", "l", "SRem64 SDiv64", true)
    check("x[i] = (n[i] + 1) % 10", "n", "SRem64", false)
    check("x[i] = n[i] * m[i] // 10", "n, m", "SRem64 SDiv64", false)
  end)

  it("is computed for the results of operators", function()
    check("x[i] = (l[i] & 255) // 10", "l", "UDiv32", false)
    check("x[i] = (b[i] + 200) % 7", "b", "UMod32", false)
    check("x[i] = -b[i] % 7", "b", "SRem32", false)
    check("x[i] = (u[i] - b[i]) // 9", "u, b", "SRem32 SDiv32", false)
    check("x[i] = b[i] * b[i] // 9", "b", "SRem32 SDiv32", false)
    check("x[i] = (l[i] % 100) // 9", "l", "SRem64 UDiv32", false)
    check("x[i] = (u[i] >> 3) % 100", "u", "UMod32", false)
    check("x[i] = (u[i] << 3) % 100", "u", "UMod32", false)
    check("x[i] = (l[i] >> 40) % 100", "l", "UMod32", false)
    check("x[i] = (l[i] >> 1) % 100", "l", "SRem64", false)
    check("x[i] = (u[i] ~ 77) % 100", "u", "UMod32", false)
    check("x[i] = (u[i] | 0x10000) % 100", "u", "UMod32", false)
    check("x[i] = n[i] // (u[i] + 1)", "n, u", "SRem32 SDiv32", false)
    check("x[i] = n[i] // (u[i] + 1 << 20)", "n, u", "SRem64 SDiv64", false)
  end)

  it("comes from a loop's limits for its index", function()
    check("local s = 0 for j = 1, 50 do s = s + n[i] % j end x[i] = s", "n",
      "SRem32", false)
    check("local s = 0 for j = 1, u[i] & 15 do s = s + 77 // j end x[i] = s",
      "u", "UDiv32", false)
    check([[local s = 0
      for j = -2, 2 do if j ~= 0 then s = s + n[i] // j end end x[i] = s]], "n",
      "SRem32 SDiv32", true)
    check("local s = 0 for j = 9, 1, -1 do s = s + n[i] // j end x[i] = s",
      "n", "UDiv64 SRem64 SDiv64", true) -- the first counts the steps
    check("local s = 0 for j = 1, 9, 2 do s = s + n[i] // j end x[i] = s",
      "n", "UDiv64 SRem64 SDiv64", true)
  end)

  it("grows in loops until it is unknown", function()
    check([[local s = 1 for j = 1, 70 do s = s * 3 end x[i] = s // 7 + u[i] ]],
      "u", "SRem64 SDiv64", false)
    check([[local s = 0
      for j = 1, 40 do s = s + u[i] // (s + 1) * 70000 end x[i] = s]],
      "u", "SRem64 SDiv64", true)
    check([[local v, s = u[i], 0 while v > 0 do s, v = s + v % 10, v // 10 end
      x[i] = s]], "u", "UMod32 UDiv32", false)
    check([[local v = 5 if n[i] > 3 then v = -7 elseif n[i] < 0 then v = 100 end
      x[i] = m[i] // v]], "n, m", "SRem32 SDiv32", true)
  end)
end)
