-- oneapi_jl.lua - the group size that oneAPI.jl gives a launch.
-- SPDX-License-Identifier: MIT
--
-- oneAPI.jl fills a group along x, then y, then z, up to the limits of the
-- kernel and the device.  It limits a group's spilled memory to 1 MiB, by a
-- power of two.

local oneapi_jl = {}

local SPILL_BYTES <const> = 1 << 20

-- Returns {x, y, z} for a range of one to three sizes.  limits: `most`
-- work-items in a group of the kernel, at most sizes[d] in dimension d, and
-- `spill` bytes spilled per work-item.
function oneapi_jl.group(range, limits)
  local left = limits.most
  if limits.spill > 0 and left > SPILL_BYTES // limits.spill then
    left = 1
    while 2 * left * limits.spill <= SPILL_BYTES do left = 2 * left end
  end
  local group = {}
  for d = 1, 3 do
    group[d] = math.min(left, limits.sizes[d], range[d] or 1)
    left = left // group[d]
  end
  return group
end

return oneapi_jl
