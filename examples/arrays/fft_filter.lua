-- fft_filter.lua - removes noise from a signal: the frequencies above a limit
-- are set to zero; checked against the signal without noise, and against the
-- same filter as a convolution.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/fft_filter.lua [SAMPLES]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array

local samples = math.tointeger(tonumber(arg[1] or 100000))
if arg[2] or not samples or samples < 100 or samples > 10000000 then
  io.stderr:write("usage: lua5.4 examples/arrays/fft_filter.lua [SAMPLES]\n" ..
    "SAMPLES is 100 to 10000000", "\n")
  os.exit(1)
end

-- Two waves, of 3 and of 7 periods, and noise.
A.seed(9)
local turn = (A.arange(samples) - 1) * (2 * math.pi / samples)
local clean = ((turn * 3):sin() + 0.5 * (turn * 7):cos()):eval()
local noise = 0.4
local noisy = (clean + noise * A.randn(samples)):eval()

-- Frequencies in periods of the signal: 0, 1, ..., samples // 2.
local LIMIT <const> = 10
local frequencies = A.rfftfreq(samples, 1 / samples)
local passes = frequencies:le(LIMIT)
local filtered = A.where(passes, noisy:rfft(), 0):irfft({n = samples})

local function off(x) return (x - clean):square():mean():sqrt():item() end
local before, after = off(noisy), off(filtered)
if after > before * 0.6 then
  error(("the filtered signal is off by %g, the noisy one by %g"):format(after,
    before), 0)
end

-- The filter is a convolution of the periodic signal with the transform of
-- `passes`; for a few samples the sum is computed in plain Lua.
local kernel = passes:to "float":to "complex64":irfft({n = samples})
local k, x, y = kernel:read(), noisy:read(), filtered:read()
for i = 1, samples, samples // 7 do
  local sum = 0
  for j = 1, samples do sum = sum + x[j] * k[(i - j) % samples + 1] end
  if math.abs(sum - y[i]) > 1e-3 then
    error(("sample %d is %g, by convolution %g"):format(i, y[i], sum), 0)
  end
end
print(("%d samples, on %s"):format(samples, noisy.device.name))
print(("  off by %.3f with noise, by %.3f filtered"):format(before, after))
