-- box_beside_itself_spec.lua - copying a box within one buffer was refused
-- if the rows of source and destination only interleaved.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local function numbered(n)
  local t = {}
  for i = 1, n do t[i] = i end
  return lze.buffer("ushort", t)
end

describe("copy_box in one buffer", function()
  it("copies the left half of an image to the right", function()
    local image = numbered(12)
    image:copy_box(image, {size = {2, 3}, src_width = 4, dst_width = 4,
                           dst = {3, 1}})
    assert.same({1, 2, 1, 2, 5, 6, 5, 6, 9, 10, 9, 10}, image:read())
  end)

  it("refuses a copy only if source and destination overlap", function()
    local width, height, depth = 5, 4, 3
    local copied, refused = 0, 0
    math.randomseed(1)
    for _ = 1, 300 do
      local size = {math.random(width), math.random(height),
                    math.random(depth)}
      local function place()
        return {math.random(width - size[1] + 1),
                math.random(height - size[2] + 1),
                math.random(depth - size[3] + 1)}
      end
      local src, dst = place(), place()
      local image = numbered(width * height * depth)
      local expected, taken, overlap = image:read(), {}, false
      local function each(f)
        for z = 0, size[3] - 1 do
          for y = 0, size[2] - 1 do
            for x = 0, size[1] - 1 do
              local function index(at)
                return ((at[3] + z - 1) * height + at[2] + y - 1) * width +
                  at[1] + x
              end
              f(index(src), index(dst))
            end
          end
        end
      end
      each(function(from) taken[from] = true end)
      each(function(from, to)
        overlap = overlap or taken[to]
        expected[to] = from
      end)
      local function copy()
        image:copy_box(image, {size = size, src = src, dst = dst,
                               src_width = width, dst_width = width,
                               src_height = height, dst_height = height})
      end
      if overlap then
        assert.matches("source and destination overlap", expect.misuse(copy))
        refused = refused + 1
      else
        copy()
        assert.same(expected, image:read())
        copied = copied + 1
      end
    end
    assert.is_true(copied > 50 and refused > 50)
  end)

  it("refuses only overlapping boxes if row lengths differ", function()
    local copied, refused = 0, 0
    math.randomseed(2)
    for _ = 1, 300 do
      local size = {math.random(3), math.random(3), math.random(2)}
      local pitch = {math.random(3, 6), math.random(3, 6)}
      local tall = {math.random(3, 4), math.random(3, 4)}
      local at = {math.random(0, 20), math.random(0, 20)}
      local image, taken, overlap = numbered(100), {}, false
      local expected = image:read()
      local function index(side, x, y, z)
        return at[side] + (z * tall[side] + y) * pitch[side] + x + 1
      end
      for pass = 1, 2 do
        for z = 0, size[3] - 1 do
          for y = 0, size[2] - 1 do
            for x = 0, size[1] - 1 do
              local from, to = index(1, x, y, z), index(2, x, y, z)
              if pass == 1 then
                taken[from] = true
              else
                overlap = overlap or taken[to]
                expected[to] = from
              end
            end
          end
        end
      end
      local function copy()
        image:view(at[2] + 1):copy_box(image:view(at[1] + 1), {size = size,
          src_width = pitch[1], dst_width = pitch[2],
          src_height = tall[1], dst_height = tall[2]})
      end
      if overlap then
        assert.matches("source and destination overlap", expect.misuse(copy))
        refused = refused + 1
      else
        copy()
        assert.same(expected, image:read())
        copied = copied + 1
      end
    end
    assert.is_true(copied > 30 and refused > 30)
  end)
end)
