-- arrays_under_checks_spec.lua - LZE_CHECK does not change array operations:
-- values wrap, a division by zero gives 0, and operands may overlap the
-- destination.  Script functions in array operations are checked.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("LZE_CHECK", function()
  for _, word in ipairs {"1", "lua"} do
    it(word .. " takes what arrays compute for meant", function()
      local out = process.output([[
        local A = require "lze".array
        local a = A("uchar", {250, 7})
        local function show(x) print(table.concat(x:read(), " ")) end
        show(a + 300)
        show(a // 0)
        show(~a)
        show(a:max(300))
        show(a:to "char")
        show(A("char", {-128}):abs())
        show(A("float", {1e30, -1e30}):to "half")
        show(A.where(a:gt(9), a, 1000))
        local u = A("long", {1, 2, 3, 4})
        u[{ {2, 4} }]:set(u[{ {2, 4} }] + u[{ {1, 3} }])
        show(u)
        show(u:set(u:flip() + u))
        show(A("int", {-1 << 31, 5}):sort())]], {env = {LZE_CHECK = word}})
      assert.equal("38 51\n0 0\n5 248\n44 44\n-6 7\n-128\ninf -inf\n" ..
        "250 232\n1 3 5 7\n8 8 8 8\n-2147483648 5\n", out)
    end)

    it(word .. " checks functions of scripts in them", function()
      local out = process.output([[
        local A = require "lze".array
        local a = A("uchar", {250, 7})
        local function raises(f)
          local ok, why = pcall(f)
          -- It begins with a line of the script.
          print(not ok and not why:find "^stdin:%d+: " and why or
            not ok and why:match "%S+ = %d+ does not fit uchar" or
            not ok and why:match "an integer is divided by zero" or ok)
        end
        raises(function() A.map(function(v) return v + 300 end, a):read() end)
        raises(function()
          A.filter(function(v) return v // 0 == 0 end, a):read()
        end)
        raises(function()
          A.reduce(function(p, q) return p // (q - q) end, 0, a):read()
        end)
        raises(function()
          A.scan(function(p, q) return p // (q - q) end, 0, a):read()
        end)
        raises(function()
          A.sort(a, {by = function(p, q) return p // 0 < q end}):read()
        end)]], {env = {LZE_CHECK = word}})
      assert.equal("result[1] = 550 does not fit uchar\n" ..
        ("an integer is divided by zero\n"):rep(4), out)
    end)

    it(word .. " evaluates what reads a buffer with work in flight", function()
      local out = process.output([[
        local lze = require "lze"
        local A = lze.array
        local x, y = A("int", {1, 2}), A("int", {10, 20})
        local q <close> = lze.queue {mode = "batched"}
        q:fill(y.buffer, 3)
        local other = y * 5
        print(table.concat((x * 2 + y):read(), " "))
        q:fill(y.buffer, 4)
        print(table.concat(y:set(x + y):read(), " "), other)]],
        {env = {LZE_CHECK = word}})
      assert.equal("5 7\n5 6\tarray: int {2} [15 15]\n", out)
    end)

    it(word .. " is of launches after k:variant, too", function()
      local out = process.output([[
        local lze = require "lze"
        local k = lze.kernel(function(i, x, n) x[n] = i end, {name = "k"})
        local x = lze.buffer("int", 4)
        k:variant(1, x, 4)
        print(pcall(k, 1, x, 5))
        local checked = lze.kernel(function(i, x, n) x[n] = i end,
          {name = "c", bounds = true})
        checked:variant(1, x, 4)
        print(pcall(checked, 1, x, 5))]], {env = {LZE_CHECK = word}})
      assert.matches("^false\t.*kernel k: x%[5%] is outside 1%.%.4.*\n" ..
        "false\t.*kernel c: x%[5%] is outside 1%.%.4", out)
    end)
  end
end)
