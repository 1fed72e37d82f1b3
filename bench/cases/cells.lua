-- cells.lua - kernels over bytes and halves with their neighbours.
-- SPDX-License-Identifier: MIT

return function(b)
  local module = "bench/kernels/cells.spv"
  local pictures = b.areas {
    {"even", 2048, 2048}, {"prime", 2039, 1021}, {"lopsided", 23, 65537},
    {"lopsided", 100003, 11}, {"tiny", 9, 7},
  }

  -- value(cell, x, y, w, h) returns a cell of the output for an input whose
  -- cells cell(x, y) returns.
  local function case(name, kernel, type, judged, from, cell_at, value)
    b.case {
      name = name, module = module, kernel = kernel, bound = "memory",
      shapes = pictures, judged = judged,
      make = function(k, w, h)
        local n = w * h
        local x, at = b.tiled(type, n, from)
        local y = b.buffer(type, n)
        local size = type == "half" and 2 or 1
        return {
          launch = function(go) go(k, {w, h}, x, y, w, h) end,
          bytes = 2 * size * n, operations = 9 * n, outputs = {y}, c = false,
          tolerance = type == "half" and 1e-3 or nil,
          slice = b.ends(y, n, 1 << 15, function(i)
            return value(function(column, row)
              return at(cell_at(column, row, w, h))
            end, i % w, i // w)
          end),
        }
      end,
    }
  end

  local function torus(x, y, w, h) return y % h * w + x % w end
  local function clamped(x, y, w, h)
    return math.min(math.max(y, 0), h - 1) * w
      + math.min(math.max(x, 0), w - 1)
  end
  local function shades(i) return i * 37 % 256 end

  case("life", "life", "uchar", true,
    function(i) return i * 7919 % 13 % 2 end, torus,
    function(cell, x, y)
      local n = -cell(x, y)
      for j = y - 1, y + 1 do
        for i = x - 1, x + 1 do n = n + cell(i, j) end
      end
      return (n == 3 or n == 2 and cell(x, y) == 1) and 1 or 0
    end)
  case("dilate", "dilate", "uchar", false, shades, clamped,
    function(cell, x, y)
      local most = 0
      for j = y - 1, y + 1 do
        for i = x - 1, x + 1 do most = math.max(most, cell(i, j)) end
      end
      return most
    end)
  case("sobel", "sobel", "uchar", false, shades, clamped,
    function(cell, x, y)
      local across, down = 0, 0
      for k = -1, 1 do
        local weight = k == 0 and 2 or 1
        across = across + weight * (cell(x + 1, y + k) - cell(x - 1, y + k))
        down = down + weight * (cell(x + k, y + 1) - cell(x + k, y - 1))
      end
      return math.min(math.abs(across) + math.abs(down), 255)
    end)
  case("smoothHalf", "smooth_half", "half", false,
    function(i) return i * 37 % 512 end, clamped,
    function(cell, x, y)
      return 0.25 * (cell(x, y) + cell(x - 1, y) + cell(x + 1, y)
        + cell(x, y - 1) + cell(x, y + 1))
    end)

  b.case {
    name = "rule30", module = module, kernel = "rule30", bound = "memory",
    judged = true,
    shapes = b.lengths {{"even", 1 << 24}, {"prime", 16777213},
      {"prime", 1000003}, {"tiny", 37}},
    make = function(k, n)
      local x, at = b.tiled("uchar", n, function(i) return i * 31 % 7 % 2 end)
      local y = b.buffer("uchar", n)
      return {
        launch = function(go) go(k, n, x, y, n) end,
        bytes = 2 * n, operations = 2 * n, outputs = {y}, c = false,
        slice = b.ends(y, n, 1 << 16, function(i)
          return at((i - 1) % n) ~ (at(i) | at((i + 1) % n))
        end),
      }
    end,
  }
end
