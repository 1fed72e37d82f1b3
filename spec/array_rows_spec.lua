-- array_rows_spec.lua - operations on arrays whose rows are repeated, permuted
-- or apart.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array

-- Returns elements of a shape that f gives for their indices.
local function elements(shape, f)
  local list, index = {}, {}
  local function fill(d)
    if d > #shape then
      list[#list + 1] = f(table.unpack(index))
      return
    end
    for i = 1, shape[d] do
      index[d] = i
      fill(d + 1)
    end
  end
  fill(1)
  return list
end

local function holds(shape, f, a)
  assert.same(shape, a.shape)
  local got = a:read()
  for i, v in ipairs(elements(shape, f)) do
    if got[i] ~= v then
      error(("element %d is %s, not %s"):format(i, got[i], v), 2)
    end
  end
end

-- Returns the integers from 1 on in a shape.
local function counted(...)
  local size = 1
  for _, s in ipairs {...} do size = size * s end
  return A.arange(size):to "int":reshape {...}
end

describe("operations on rows and columns", function()
  it("repeat a row, a column, or both", function()
    for _, s in ipairs {{1, 1}, {3, 1}, {1, 5}, {2, 3}, {70, 33}, {3, 9001}} do
      local h, w = s[1], s[2]
      local m, row, col = counted(h, w), counted(w), counted(h, 1)
      holds({h, w}, function(i, j) return (i - 1) * w + 2 * j end, m + row)
      holds({h, w}, function(i, j) return i * (w + 1) - w + j end, m + col)
      holds({h, w}, function(i, j) return 1000 * i + j end, col * 1000 + row)
      holds({h, w}, function(i, j) return i * j end, col:reshape {h}:outer(row))
    end
  end)

  it("merge dimensions only if all operands allow it", function()
    local a, c = counted(4, 3, 5), counted(5)
    holds({4, 3, 5}, function(i, j, k) return (i * 15 + j * 5 + 2 * k) - 20 end,
      a + c)
    holds({4, 3, 5}, function(i, j, k)
      return i * 15 + j * 5 + k - 20 + 100 * j
    end, a + counted(3, 1) * 100)
    holds({4, 3, 5}, function(i, j, k)
      return i * 15 + j * 5 + k - 20 + 100 * i
    end, a + counted(4, 1, 1) * 100)
    holds({4, 3, 5}, function(i, j, k) return 100 * i + 10 * j + k end,
      counted(4, 1, 1) * 100 + counted(3, 1) * 10 + c)
    holds({5, 4, 3}, function(k, i, j) return i * 15 + j * 5 + k - 20 end,
      a:permute(3, 1, 2):clone())
    holds({1, 4, 1, 3, 5}, function(_, i, _, j, k)
      return i * 15 + j * 5 + 2 * k - 20
    end, a:reshape {1, 4, 1, 3, 5} + c)
  end)

  it("have more rows than a group has items", function()
    local tall = counted(70000, 3)
    holds({70000, 3}, function(i, j) return 3 * i - 3 + 2 * j end,
      tall + counted(3))
    holds({3, 70000}, function(i, j) return 3 * j - 3 + i end, tall:t():clone())
  end)

  it("read steps, also backwards, and transposed tiles", function()
    local a = counted(200, 301)
    holds({301, 200}, function(i, j) return (j - 1) * 301 + i end,
      a:t():clone())
    holds({301, 200}, function(i, j) return (j - 1) * 301 + 301 - i + 1 end,
      a:flip(2):t() + 0)
    holds({100, 100}, function(i, j)
      return (2 * i - 2) * 301 + 301 - 3 * j + 3
    end, a[{ {1, -1, 2}, {-1, 4, -3} }]:clone())
    local square = counted(130, 130)
    holds({130, 130}, function(i, j) return (i + j - 2) * 131 + 2 end,
      square + square:t())
  end)

  it("write only the elements of a view", function()
    local a = A.zeros({40, 50}, {type = "int"})
    a[{ {}, 5 }] = 7
    a[{ {2, -1, 3}, {10, 20, 2} }] = counted(6)
    a[{ {}, {-1, 46, -1} }] = counted(40, 1)
    holds({40, 50}, function(i, j)
      if j == 5 then return 7 elseif j > 45 then return i end
      if i % 3 == 2 and j >= 10 and j <= 20 and j % 2 == 0 then
        return (j - 8) // 2
      end
      return 0
    end, a)
    assert.same({}, (A.zeros {0, 3} + A.zeros {3}):read())
    assert.same({}, (A.zeros {3, 0}:t() + A.zeros {1, 3}):read())
  end)

  it("reduce permuted views as they reduce their copies", function()
    local a = A.randint({5, 70, 6}, -50, 50, {type = "int"})
    local orders = {{3, 2, 1}, {2, 3, 1}, {1, 3, 2}, {3, 1, 2}}
    local lists = {1, 2, 3, -1, {1, 2}, {3, 1}, {2, 3}, {1, 2, 3}}
    for _, order in ipairs(orders) do
      local v = a:permute(order)
      local c = v:clone()
      for _, name in ipairs {"sum", "max", "any", "mean", "var", "count"} do
        local got, want = v[name](v), c[name](c)
        assert.same({}, got.shape)
        assert.is_true(math.abs(got:item() - want:item()) < 1e-3)
        for k, dims in ipairs(lists) do
          local o = {dim = dims, keep = k % 2 == 0}
          got, want = v[name](v, o), c[name](c, o)
          assert.same(want.shape, got.shape)
          assert.equal(want.type, got.type)
          assert.is_true((got - want):abs():max():item() < 1e-3)
        end
      end
      assert.same(c:argmax {dim = 2}:read(), v:argmax {dim = 2}:read())
      assert.equal(c:argmin():item(), v:argmin():item())
    end
  end)

  it("give the same bits in one kernel and in several", function()
    local m, row, col = A.rand {37, 530}, A.rand {530}, A.rand {37, 1}
    local function f() return ((m - row) * col + m):exp() / (row + col) end
    local together = A.fuse(f)()
    local a = ((m - row):eval() * col):eval()
    a = (a + m):eval():exp():eval()
    assert.same((a / (row + col):eval()):read(), together:read())
    assert.same((m:t():clone() + col:t()):read(), (m:t() + col:t()):read())
  end)
end)
