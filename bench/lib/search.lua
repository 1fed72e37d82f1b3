-- search.lua - the groups that a search tries.
-- SPDX-License-Identifier: MIT
--
-- In each dimension: powers of two, 3 and 5 times powers of two, and divisors
-- of the range, within the limits; of these at most 64 groups in one dimension,
-- 48 in two and 96 in three, spread evenly over the sizes.

local search = {}

local function sizes(range, most, divide)
  local set = {}
  local function add(v)
    if v <= most and v <= range and (not divide or range % v == 0) then
      set[v] = true
    end
  end
  for _, odd in ipairs {1, 3, 5} do
    local v = odd
    while v <= most do
      add(v)
      v = 2 * v
    end
  end
  for d = 1, math.min(most, math.floor(math.sqrt(range))) do
    if range % d == 0 then
      add(d)
      add(range // d)
    end
  end
  local list = {}
  for v in pairs(set) do list[#list + 1] = v end
  table.sort(list)
  return list
end

-- Returns at most n items of a list, evenly spaced, including both ends.
local function thin(list, n)
  if #list <= n then return list end
  local kept = {}
  for i = 1, n do kept[i] = list[1 + (i - 1) * (#list - 1) // (n - 1)] end
  return kept
end

-- Returns the groups for a range {x, y, z}, as triples.  `most` limits the
-- work-items of a group, max_size each dimension; `divide`: groups must divide
-- the range.
function search.groups(range, most, max_size, divide, limit)
  local groups = {}
  local nx, ny, nz = range[1], range[2] or 1, range[3] or 1
  if ny == 1 and nz == 1 then
    for _, x in ipairs(sizes(nx, math.min(most, max_size[1]), divide)) do
      groups[#groups + 1] = {x, 1, 1}
    end
    return thin(groups, limit or 64)
  end
  for _, z in ipairs(sizes(nz, math.min(most, max_size[3]), divide)) do
    for _, y in ipairs(sizes(ny, math.min(most // z, max_size[2]), divide)) do
      local left = most // z // y
      for _, x in ipairs(sizes(nx, math.min(left, max_size[1]), divide)) do
        groups[#groups + 1] = {x, y, z}
      end
    end
  end
  table.sort(groups, function(a, b)
    local na, nb = a[1] * a[2] * a[3], b[1] * b[2] * b[3]
    if na ~= nb then return na < nb end
    if a[3] ~= b[3] then return a[3] < b[3] end
    return a[1] < b[1]
  end)
  return thin(groups, limit or (nz == 1 and 48 or 96))
end

return search
