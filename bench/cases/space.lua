-- space.lua - kernels over three dimensions.
-- SPDX-License-Identifier: MIT

return function(b)
  local blocks = b.blocks {
    {"even", 256, 256, 64}, {"prime", 211, 127, 103},
    {"lopsided", 17, 1021, 129}, {"tiny", 7, 5, 3},
  }

  -- value(at, i, w, h, d) returns element i of the output, counted from 0, for
  -- an input whose elements at(i) returns.
  local function case(name, kernel, type, dimensions, bound, judged, value)
    b.case {
      name = name, module = "bench/kernels/space.spv", kernel = kernel,
      bound = bound, shapes = blocks, judged = judged,
      make = function(k, w, h, d)
        local n = w * h * d
        local size = {double = 8, float = 4, uchar = 1}
        local x, at = b.tiled(type, n, function(i) return i * 31 % 251 end)
        local y = b.buffer(type, n)
        return {
          launch = function(go)
            if dimensions == 2 then
              go(k, {w, h, d}, x, y, w, h)
            else
              go(k, {w, h, d}, x, y, w, h, d)
            end
          end,
          bytes = 2 * size[type] * n, operations = n, outputs = {y}, c = false,
          slice = b.ends(y, n, 1 << 16,
            function(i) return value(at, i, w, h, d) end),
        }
      end,
    }
  end

  local function copied(at, i) return at(i) end
  case("copyBlock", "copy_block", "float", 2, "memory", false, copied)
  case("copyBytes", "copy_block_bytes", "uchar", 2, "memory", true, copied)

  local function heat(at, i, w, h, d)
    local x, y, z = i % w, i // w % h, i // (w * h)
    local row, plane = w, w * h
    local sum = at(x > 0 and i - 1 or i) + at(x + 1 < w and i + 1 or i)
      + at(y > 0 and i - row or i) + at(y + 1 < h and i + row or i)
      + at(z > 0 and i - plane or i) + at(z + 1 < d and i + plane or i)
    return at(i) / 2 + sum / 12
  end
  case("heat", "heat", "float", 3, "memory", true, heat)
  case("heatDouble", "heat_double", "double", 3, "memory", false, heat)

  -- The output of swap_xy is d planes of w rows of h, and so on.
  local function swapped_xy(at, i, w, h)
    local y, x, z = i % h, i // h % w, i // (w * h)
    return at((z * h + y) * w + x)
  end
  case("swapXY", "swap_xy", "float", 2, "memory", false, swapped_xy)
  case("swapXYDouble", "swap_xy_double", "double", 2, "memory", false,
    swapped_xy)
  local function swapped_xz(at, i, w, h, d)
    local z, y, x = i % d, i // d % h, i // (d * h)
    return at((z * h + y) * w + x)
  end
  case("swapXZ", "swap_xz", "float", 3, "memory", true, swapped_xz)
  case("swapXZBytes", "swap_xz_bytes", "uchar", 3, "memory", false, swapped_xz)
  case("swapYZ", "swap_yz", "float", 3, "memory", false,
    function(at, i, w, h, d)
      local x, z, y = i % w, i // w % d, i // (w * d)
      return at((z * h + y) * w + x)
    end)
end
