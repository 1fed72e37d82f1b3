-- array_show_spec.lua - arrays as text.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local expect = require "spec.support.expect"
local process = require "spec.support.process"
local A = lze.array

local function shows(text, a)
  lze.wait()
  assert.equal("array: " .. text, tostring(a))
end

describe("tostring of an array", function()
  it("shows its type and shape, and aligns its elements", function()
    shows("float {3} [ 1.0  2.5 -3.0]", A("float", {1, 2.5, -3}))
    shows("int {2, 3}\n[[  1 -20 300]\n [  4   5   6]]",
      A("int", {{1, -20, 300}, {4, 5, 6}}))
    shows("int {2, 2, 3}\n[[[ 1  2  3]\n  [ 4  5  6]]\n\n" ..
      " [[ 7  8  9]\n  [10 11 12]]]", A.arange(12):to "int":reshape {2, 2, 3})
    shows("float {} 0.1", A.full({}, 0.1))
    shows("int {0, 3}\n[[]]", A.zeros({0, 3}, {type = "int"}))
    shows("ulong {2} [18446744073709551615                    5]",
      A("ulong", {-1, 5}))
    shows("uchar mask {3} [0 1 1]", A("int", {1, 2, 3}):gt(1):eval())
    shows("uchar mask {3} (not computed)", A("int", {1, 2, 3}):gt(1))
    shows("int {2, 2}\n[[1 3]\n [2 4]]", A("int", {{1, 2}, {3, 4}}):t())
  end)

  it("shows enough digits to distinguish a value from its neighbours",
  function()
    shows("float {4} [0.1        0.33333334 1.0        2.5       ]",
      A("float", {0.1, 1 / 3, 1, 2.5}))
    shows("half {3} [0.1    1.0    0.3333]", A("half", {0.1, 1, 1 / 3}))
    shows("double {2} [0.33333333 0.001     ]", A("double", {1 / 3, 1e-3}))
    shows("float {3} [ 0.0 -0.0  1.0]", A("float", {0.0, -0.0, 1}))
  end)

  it("uses exponents if columns would be too wide", function()
    shows("float {2, 3}\n[[ 1.0000e+00  2.5000e+00 -3.0000e+00]\n" ..
      " [        nan         inf  1.2341e+03]]",
      A("float", {{1, 2.5, -3}, {0 / 0, 1 / 0, 1234.1}}))
    shows("float {2} [1.0e+00 2.5e-07]", A("float", {1, 2.5e-7}))
    shows("double {2} [ 1.0e+000 -1.0e+300]", A("double", {1, -1e300}))
    shows("half {2} [1.0e-05 6.0e-08]", A("half", {1e-5, 2 ^ -24}))
    shows("float {2} [1.0e-40 1.4e-45]", A("float", {1e-40, 2 ^ -149}))
    -- Two decimals distinguish 5392 from other halves, but the column has
    -- three. The third is a digit of the value.
    shows("half {3} [5.392e+03 3.333e-01 2.999e-04]",
      A("half", {5392, 1 / 3, 3e-4}))
  end)

  it("shortens arrays of more than 1000 elements, and breaks lines", function()
    shows("long {4000} [   1    2    3 ... 3998 3999 4000]", A.arange(4000))
    shows("long {1000, 4}\n[[   1    2    3    4]\n [   5    6    7    8]\n" ..
      " [   9   10   11   12]\n ...\n [3989 3990 3991 3992]\n" ..
      " [3993 3994 3995 3996]\n [3997 3998 3999 4000]]",
      A.arange(4000):reshape {1000, 4})
    local list = A.arange(1000)
    lze.wait()
    for line in tostring(list):gmatch "[^\n]+" do
      assert.is_true(#line <= 75, line)
    end
    -- Lines do not end in blanks, even if numbers differ in length.
    local values = {}
    for i = 1, 40 do values[i] = 1 / 3 + i end
    list = A("float", values)
    lze.wait()
    assert.matches("%d\n", tostring(list))
    assert.not_matches(" \n", tostring(list), 1, true)
    -- The text of an array with many dimensions is bounded.
    local many = A.zeros {7, 7, 7, 7, 7, 7}
    lze.wait()
    assert.is_true(#tostring(many) > 500 and #tostring(many) < 4000)
  end)

  it("follows the print options", function()
    local first = A.print_options()
    assert.same({precision = 8, threshold = 1000, width = 75, suppress = false},
      first)
    finally(function() A.print_options(first) end)
    local third = A("float", {1 / 3, 2, 1e-9})
    assert.equal(3, A.print_options({precision = 3}).precision)
    shows("float {3} [3.333e-01 2.000e+00 1.000e-09]", third)
    assert.same({precision = 3, threshold = 1000, width = 75, suppress = true},
      A.print_options {suppress = true})
    shows("float {3} [0.333 2.0   0.0  ]", third)
    shows("double {2} [123456789.0         0.1]", A("double", {123456789, 0.1}))
    A.print_options {precision = 0}
    shows("float {3} [0. 2. 0.]", third)
    A.print_options {precision = 17}
    shows("double {1} [0.1]", A("double", {0.1}))
    A.print_options {threshold = 4, width = 20}
    shows("long {7}\n[1 2 3 ... 5 6 7]", A.arange(7))
    shows("long {4}\n[1000 1001 1002\n 1003]", A.arange(1000, 1003))
    A.print_options {threshold = math.huge, width = 75}
    local all = A.arange(1001)
    lze.wait()
    assert.is_nil(tostring(all):find("...", 1, true))
    first.width = 1 -- a copy
    assert.equal(75, A.print_options().width)
    first.width = 75
  end)

  it("refuses wrong print options", function()
    local function says(text, o)
      assert.equal("print_options: argument 1 (options)" .. text,
        expect.misuse(function() A.print_options(o) end))
    end
    local before = A.print_options()
    says(": precision: an integer from 0 to 17 expected, got 18",
      {precision = 18})
    says(": precision: an integer from 0 to 17 expected, got 0.5",
      {precision = 0.5, width = 3})
    says(": width: an integer from 1 to 9223372036854775807 expected, got 0",
      {width = 0})
    says(": suppress: boolean expected, got integer 1", {suppress = 1})
    says(": unknown option digits; there are precision, threshold, width, " ..
      "suppress", {digits = 3})
    says(": a table expected, got integer 3", 3)
    assert.same(before, A.print_options())
  end)

  it("says how to get the number of an array without dimensions", function()
    local mod = lze.load "kernels/spec.spv"
    local loss = A("float", {1, 2, 4}):sum() * 1
    assert.equal("loss: array: float {} (not computed; a:item() gives the " ..
      "number)", "loss: " .. tostring(loss))
    local x = lze.buffer("uint", 4)
    mod.spin(1, x, 10)
    lze.wait()
    local one = lze.buffer("float", {7})
    mod.spin(1, x, 1000000000)
    local busy = A("float", one, {})
    lze.default().queue:launch(lze.kernel(function(_, u, v)
      v[1] = v[1] + u[1] * 0
    end), 1, x, one)
    assert.equal("array: float {} (busy; a:item() gives the number)",
      tostring(busy))
    assert.equal(7, busy:item())
    shows("float {} 7.0", busy)
    shows("float {} (on the device; a:item() gives the number)",
      A("float", lze.buffer("float", {1}, {usage = "device"}), {}))
    assert.equal(7, loss:item())
    assert.equal("loss: array: float {} 7.0", "loss: " .. tostring(loss))
    assert.equal("a .. b: an array is not text; tostring(a) shows it, " ..
      "a:item() gives the number of one without dimensions",
      expect.misuse(function() return "loss: " .. loss end))
    assert.equal("a .. b: arrays are not joined by ..; A.cat{a, b} does that",
      expect.misuse(function() return loss .. loss end))
  end)

  it("never waits and never raises; print waits", function()
    local b = lze.buffer("float", {1, 2})
    local a = A("float", b)
    b:close()
    shows("float {2} (closed)", a)
    local d = A("float", lze.buffer("float", {1, 2}, {usage = "device"}))
    shows("float {2} (on the device)", d)
    assert.equal("array: float {2} [1.0 2.0]\n" ..
      "array: int {4} (busy)\tarray: int {4} (busy)\tarray: int {4} (busy)\n" ..
      "array: int {4} [1 1 1 1]\n", process.output [[
      local lze = require "lze"
      local A = lze.array
      print(A("float", lze.buffer("float", {1, 2}, {usage = "device"})))
      local k = lze.load "kernels/spec.spv".spin
      local x = lze.buffer("uint", 4)
      local a = A("uint", x)
      k(1, x, 10)
      lze.wait()
      local b = lze.buffer("int", {1, 1, 1, 1})
      local c = A("int", b)
      k(1, x, 1000000000)
      lze.default().queue:launch(lze.kernel(function(i, x, y) y[1] = y[1] end),
        1, x, b)
      local function quiet(v) return tostring(v) end
      local s = ("%s"):format(c)
      print(tostring(c), s, quiet(c))
      print(c)]])
  end)
end)
