-- pca.lua - the principal components of pictures of digits: few numbers for
-- each picture that tell most about it; checked against the variance that the
-- singular values leave over, and by reading digits from these numbers.
-- SPDX-License-Identifier: MIT
--
--   lua5.4 examples/arrays/pca.lua [COMPONENTS]

local here = arg[0]:match "^(.-)[^/]*$" -- this may be a checkout
package.cpath = package.cpath .. ";" .. here .. "../../build/?.so"
local lze = require "lze"
local A = lze.array
local shapes = dofile(here .. "../lib/glyphs.lua")

local POINTS <const>, EACH <const> = 35, 60
local components = math.tointeger(tonumber(arg[1] or 6))
if arg[2] or not components or components < 1 or components > POINTS then
  io.stderr:write("usage: lua5.4 examples/arrays/pca.lua [COMPONENTS]\n" ..
    "COMPONENTS is 1 to " .. POINTS, "\n")
  os.exit(1)
end

-- Pictures of each digit, {10 * EACH, POINTS}, on dirty paper.
local clean = {}
for digit, shape in ipairs(shapes) do
  clean[digit] = {}
  for i = 1, POINTS do clean[digit][i] = shape:byte(i) == 35 and 1 or 0 end
end
A.seed(6)
clean = A("float", clean)
local digits = A.arange(#shapes):repeat_interleave(EACH)
local pictures = (clean:take(digits, 1) + 0.3 * A.randn {digits.size, POINTS})
  :eval()

-- Rows of `axes` are the components, the most important first.
local mean = pictures:mean {dim = 1}
local centred = pictures - mean
local _, s, axes = centred:svd {full_matrices = false}
axes = axes[{{1, components}}]
local numbers = centred:mm(axes:t()):eval()

-- What is lost is the sum of squares of the other singular values.
local restored = numbers:mm(axes) + mean
local lost = (pictures - restored):square():sum():item()
local all = s:square():sum():item()
local left = components < POINTS and
  s[{{components + 1, -1}}]:square():sum():item() or 0
if math.abs(lost - left) > 1e-4 * all then
  error(("%g is lost, the singular values say %g"):format(lost, left), 0)
end

-- Each picture is read as the digit whose picture has the nearest numbers.
local wanted = (clean - mean):mm(axes:t())
local distance = (numbers:unsqueeze(2) - wanted:unsqueeze(1)):square()
  :sum {dim = 3}
local read = distance:argmin {dim = 2}
local right = read:eq(digits):mean():item()
if components >= 6 and right < 0.8 then
  error(("%.0f %% of the digits are read"):format(right * 100), 0)
end
print(("%d pictures, on %s"):format(digits.size, pictures.device.name))
print(("  %d of %d numbers keep %.0f %% of the variance, %.0f %% are read " ..
  "right"):format(components, POINTS, 100 * (1 - lost / all), 100 * right))
