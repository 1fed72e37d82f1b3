-- stats.lua - medians and intervals of interleaved rounds.
-- SPDX-License-Identifier: MIT

local stats = {}

function stats.median(values)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local n = #sorted
  return (sorted[(n + 1) // 2] + sorted[n // 2 + 1]) / 2
end

-- Shuffles a list in place (Fisher and Yates).
function stats.shuffle(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
end

function stats.geometric_mean(values)
  local sum = 0
  for _, v in ipairs(values) do sum = sum + math.log(v) end
  return math.exp(sum / #values)
end

-- Returns the ratio of the medians of two series measured in the same rounds,
-- and the interval that contains 95 % of the ratios of resampled rounds
-- (percentile bootstrap, Efron 1979).
function stats.ratio(a, b, samples)
  samples = samples or 400
  local n, ratios = #a, {}
  local ra, rb = {}, {}
  for s = 1, samples do
    for i = 1, n do
      local round = math.random(n)
      ra[i], rb[i] = a[round], b[round]
    end
    ratios[s] = stats.median(ra) / stats.median(rb)
  end
  table.sort(ratios)
  local cut = samples * 25 // 1000
  return stats.median(a) / stats.median(b), ratios[cut + 1],
    ratios[samples - cut]
end

return stats
