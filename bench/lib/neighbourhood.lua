-- neighbourhood.lua - the groups that a search tries for a range, step by step.
-- SPDX-License-Identifier: MIT
--
-- In each dimension the sizes are the powers of two, the whole range and half
-- of it, and with one dimension also three times the powers of two; if groups
-- must divide the range, its divisors.

local neighbourhood = {}
local Space = {}
Space.__index = Space

-- Groups with few work-items are omitted if there would be more groups.
local MOST_GROUPS <const> = 1 << 17

local function divisors(n, most)
  local list = {}
  for d = 1, math.min(n, most) do
    if n % d == 0 then list[#list + 1] = d end
  end
  return list
end

local function sizes(n, most, triples)
  local set, list = {[1] = true}, {}
  for _, odd in ipairs {1, triples and 3 or 1} do
    local v = odd
    while v <= math.min(n, most) do
      set[v] = true
      v = 2 * v
    end
  end
  for _, v in ipairs {n, (n + 1) // 2} do
    if v <= most then set[v] = true end
  end
  for v in pairs(set) do list[#list + 1] = v end
  table.sort(list)
  return list
end

-- Returns a space of groups for a range of one to three sizes.  limits: `most`
-- work-items in a group, at most sizes[d] in dimension d, and `divide` is true
-- if groups must divide the range.
function neighbourhood.new(range, limits)
  local space = {most = limits.most, least = 1, sizes = {}}
  local items = 1
  for d, n in ipairs(range) do
    items = items * n
    local most = math.min(limits.most, limits.sizes[d])
    space.sizes[d] = limits.divide and divisors(n, most)
      or sizes(n, most, #range == 1)
  end
  if not limits.divide then
    space.least = math.max(1, math.min(items // MOST_GROUPS, limits.most))
  end
  return setmetatable(space, Space)
end

function Space:legal(group)
  local items = 1
  for _, size in ipairs(group) do items = items * size end
  return items <= self.most and items >= self.least
end

-- Returns a coarse grid: all sizes of one dimension, or every second size of
-- several, combined.  In three dimensions, sizes above 64 in the second and
-- third are omitted.
function Space:coarse()
  local groups, step = {}, #self.sizes == 1 and 1 or 2
  local function extend(group, d)
    if d > #self.sizes then
      if self:legal(group) then
        groups[#groups + 1] = table.move(group, 1, #group, 1, {})
      end
      return
    end
    for i = 1, #self.sizes[d], step do
      local size = self.sizes[d][i]
      if #self.sizes < 3 or d == 1 or size <= 64 then
        group[d] = size
        extend(group, d + 1)
      end
    end
    group[d] = nil
  end
  extend({}, 1)
  return groups
end

-- Returns the groups that differ by one step in one dimension, or by opposite
-- steps in two.
function Space:near(group)
  local groups = {}
  local function moved(from, d, step)
    for i, size in ipairs(self.sizes[d]) do
      if size == from[d] then
        local to = table.move(from, 1, #from, 1, {})
        to[d] = self.sizes[d][i + step]
        return to[d] and to
      end
    end
  end
  local function add(to)
    if to and self:legal(to) then groups[#groups + 1] = to end
  end
  for d = 1, #group do
    for _, step in ipairs {1, -1} do
      local to = moved(group, d, step)
      add(to)
      for e = d + 1, #group do
        if to then add(moved(to, e, -step)) end
      end
    end
  end
  return groups
end

return neighbourhood
