-- image.lua - kernels over pictures.
-- SPDX-License-Identifier: MIT

return function(b)
  local pictures = b.areas {
    {"tornado", 2048, 2048}, {"prime", 2039, 2053}, {"odd", 1999, 1001},
    {"lopsided", 37, 65537}, {"lopsided", 100003, 7}, {"tiny", 9, 5},
  }
  local channels = 4

  b.case {
    name = "addImage", module = "bench/kernels/image.spv",
    kernel = "add_image", bound = "memory", shapes = pictures,
    make = function(k, w, h)
      local n = w * h
      local a, at_a = b.tiled("float4", n, function(i) return i % 255 end)
      local c, at_c = b.tiled("float4", n, function(i) return i % 101 end)
      local sum = b.buffer("float4", n)
      local slice = math.min(n, 1 << 16)
      return {
        launch = function(go) go(k, {w, h}, a, c, sum, w) end,
        bytes = 48 * n, operations = 4 * n, outputs = {sum},
        slice = {
          of = n, items = slice,
          lua = function()
            local t = {}
            for i = 0, channels * slice - 1 do
              t[i + 1] = at_a(i // channels, i % channels)
                + at_c(i // channels, i % channels)
            end
            return t
          end,
          device = function()
            return sum:view(1, n, "float"):read(1, channels * slice)
          end,
        },
      }
    end,
  }

  -- The sum over a window of at(x, y), clamped to the picture.
  local function window(w, h, size, weight, at, x, y)
    local half, sum = size // 2, 0
    for j = 0, size - 1 do
      local row = math.min(math.max(y + j - half, 0), h - 1)
      for i = 0, size - 1 do
        local column = math.min(math.max(x + i - half, 0), w - 1)
        sum = sum + at(row * w + column) * weight[j * size + i + 1]
      end
    end
    return sum
  end

  local function weights(size, f)
    local t = {}
    for i = 1, size * size do t[i] = f(i) end
    return t
  end

  local size = 5
  local fractions = weights(size, function(i) return i / 325 end)

  b.case {
    name = "convolveArray", module = "bench/kernels/image.spv",
    kernel = "convolve_array", bound = "compute", shapes = pictures,
    make = function(k, w, h)
      local n = w * h
      local picture, at = b.tiled("float", n, function(i) return i % 255 end)
      local weight, out = b.buffer("float", fractions), b.buffer("float", n)
      return {
        launch = function(go)
          go(k, {w, h}, picture, weight, out, w, h, size)
        end,
        bytes = 8 * n, operations = 2 * size * size * n, outputs = {out},
        slice = b.ends(out, n, 1 << 14, function(i)
          return window(w, h, size, fractions, at, i % w, i // w)
        end),
      }
    end,
  }

  b.case {
    name = "convolveImage", module = "bench/kernels/image.spv",
    kernel = "convolve_image", bound = "compute", shapes = pictures,
    make = function(k, w, h)
      local n = w * h
      local picture, at = b.tiled("float4", n, function(i) return i % 255 end)
      local weight, out = b.buffer("float", fractions), b.buffer("float4", n)
      local slice = math.min(n, 1 << 12)
      return {
        launch = function(go)
          go(k, {w, h}, picture, weight, out, w, h, size)
        end,
        bytes = 32 * n, operations = 8 * size * size * n, outputs = {out},
        slice = {
          of = n, items = slice,
          lua = function()
            local t = {}
            for i = 0, slice - 1 do
              for c = 0, channels - 1 do
                t[#t + 1] = window(w, h, size, fractions,
                  function(p) return at(p, c) end, i % w, i // w)
              end
            end
            return t
          end,
          device = function()
            return out:view(1, n, "float"):read(1, channels * slice)
          end,
        },
      }
    end,
  }

  local wide = 31
  local curve = weights(wide, function(i)
    local x, y = (i - 1) % wide - 15, (i - 1) // wide - 15
    return 451 - x * x - y * y
  end)
  local total = 0
  for _, v in ipairs(curve) do total = total + v end

  b.case {
    name = "blurFilter", module = "bench/kernels/image.spv",
    kernel = "blur_filter", bound = "compute",
    shapes = b.areas {{"tornado", 512, 512}, {"prime", 211, 223},
      {"lopsided", 17, 4001}},
    make = function(k, w, h)
      local n = w * h
      local picture, at = b.tiled("int", 3 * n,
        function(i) return i * 31 % 256 end)
      local weight, out = b.buffer("int", curve), b.buffer("int", 3 * n)
      return {
        launch = function(go)
          go(k, {w, h, 3}, picture, weight, out, w, h, wide, total)
        end,
        bytes = 24 * n, operations = 6 * wide * wide * n, outputs = {out},
        slice = b.ends(out, 3 * n, 1 << 10, function(i)
          local plane = i // n * n
          return window(w, h, wide, curve,
            function(p) return at(plane + p) end, i % n % w,
            i % n // w) // total
        end),
      }
    end,
  }

  local colours = {[1] = {128, 128, 128}, [-1] = {0, 0, 0}, [-2] = {255, 0, 0},
    [-3] = {0, 255, 0}, [-4] = {0, 0, 255}, [-5] = {255, 255, 0},
    [0] = {255, 128, 128}}

  b.case {
    name = "renderTrack", module = "bench/kernels/image.spv",
    kernel = "render_track", bound = "memory",
    shapes = b.areas {{"tornado", 8192, 8192}, {"prime", 2039, 2053},
      {"lopsided", 11, 200003}, {"tiny", 13, 3}},
    make = function(k, w, h)
      local n = w * h
      local state, at = b.tiled("char", n, function(i) return i % 7 - 5 end)
      local rgb = b.buffer("uchar", 3 * n)
      return {
        launch = function(go) go(k, {w, h}, state, rgb, w) end,
        bytes = 4 * n, operations = n, outputs = {rgb},
        slice = b.ends(rgb, 3 * n, 3 << 16, function(i)
          return colours[at(i // 3)][i % 3 + 1]
        end),
      }
    end,
  }
end
