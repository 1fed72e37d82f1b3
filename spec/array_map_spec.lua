-- array_map_spec.lua - a script's functions, applied element by element.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local inside = require "spec.support.inside"

local function message(...)
  local ok, err = pcall(...)
  assert.is_false(ok)
  return tostring(err)
end

describe("A.map", function()
  it("applies f to the elements of arrays and to numbers", function()
    local x, y = A("int", {{1, 2, 3}, {4, 5, 6}}), A("int", {100, 200, 300})
    local function f(a, b, c) return a * c + b end
    local r = A.map(f, x, y, 10)
    assert.same({{110, 220, 330}, {140, 250, 360}}, r:table())
    assert.equal("int", r.type)
    assert.same({{110, 140}, {220, 250}, {330, 360}},
      A.map(f, x:t(), y:reshape {3, 1}, 10):table())
    assert.same({{360, 250, 140}, {330, 220, 110}},
      A.map(f, x:flip(), y:flip(), 10):table())
  end)

  it("has a type that fits f's results", function()
    local x = A("short", {1, 2, 3})
    local halves = A.map(function(a) return a / 2 end, x)
    assert.same({"float", {0.5, 1.0, 1.5}}, {halves.type, halves:table()})
    local odd = A.map(function(a) return a % 2 == 1 end, x)
    assert.same({"uchar", true, {1, 0, 1}},
      {odd.type, inside(odd).mask, odd:table()})
    local sum = A.map(function(a, b) return a + b end, x, A("long", {7, 8, 9}))
    assert.same({"long", {8, 10, 12}}, {sum.type, sum:table()})
    assert.equal("float", A.map(function(a, b) return a + b end, x, 1.5).type)
  end)

  it("reads captured values at each call", function()
    local x, k = A("float", {1, 2}), 3
    local function f(a) return a * k end
    assert.same({3.0, 6.0}, A.map(f, x):table())
    k = 5
    assert.same({5.0, 10.0}, A.map(f, x):table())
  end)

  it("determines f's result type again if a captured value has changed",
  function()
    local x, k = A("int", {1, 2}), 3
    local function f(a) return k and a * k end
    assert.same({"int", {3, 6}}, {A.map(f, x).type, A.map(f, x):read()})
    k = 0.5
    assert.same({"float", {0.5, 1.0}}, {A.map(f, x).type, A.map(f, x):read()})
    k = 4
    assert.same({"int", {4, 8}}, {A.map(f, x).type, A.map(f, x):read()})
    k = false
    assert.same({"uchar", {0, 0}}, {A.map(f, x).type, A.map(f, x):read()})
  end)

  it("takes functions of math", function()
    assert.same({1.0, 2.0}, A.map(math.sqrt, A("float", {1, 4})):read())
    assert.same({1, 4}, A.map(math.abs, A("int", {1, -4})):read())
  end)

  it("takes empty arrays and arrays without dimensions", function()
    local function f(a) return a + 1 end
    assert.same({0, 3}, A.map(f, A.zeros {0, 3}).shape)
    assert.equal(2.0, A.map(f, A.ones {}):item())
  end)

  it("reports unusable functions and arguments", function()
    local x = A("int", {1, 2})
    local line = debug.getinfo(1, "l").currentline + 1
    local said = message(A.map, function(a) return a .. "" end, x)
    assert.matches("strings are joined", said, 1, true)
    assert.matches("array_map_spec.lua:" .. line, said, 1, true)
    assert.matches("map: argument 1 (f): function expected, got integer 3",
      message(A.map, 3, x), 1, true)
    assert.matches("map: argument 3 (x): an array or a number expected, " ..
      "got string 'y'", message(A.map, math.abs, x, "y"), 1, true)
    for given, f in next, {
      ["nil"] = function(a) local _ = a * 2 end,
      ["a number or nil"] = function(a) if a > 1 then return a end end,
      ["a string"] = function() return "x" end,
      ["values of several types"] = function(a)
        if a > 1 then return a end
        return true
      end
    } do
      assert.matches("map: argument 1 (f): a function that gives a number or "
        .. "a boolean expected, it gives " .. given .. "\n",
        message(A.map, f, x) .. "\n", 1, true)
    end
    local large = 1e300
    assert.matches("^[^ ]*array_map_spec.lua:%d+: kernel array_map: argument 3 "
      .. "%(large%): number 1e%+300 does not fit float$", message(A.map,
        function(a) return a + large end, A.ones(1)))
    assert.matches("map: no array among the arguments",
      message(A.map, math.abs, 1), 1, true)
    assert.matches("map: shapes {2} and {3} do not broadcast",
      message(A.map, function(a, b) return a + b end, x, A.ones {3}), 1, true)
  end)
end)
