-- number.lua - kernels that compute much for each number.
-- SPDX-License-Identifier: MIT

return function(b)
  b.case {
    name = "blackScholes", module = "bench/kernels/finance.spv",
    kernel = "black_scholes", bound = "compute",
    shapes = b.lengths {{"tornado", 8192}, {"prime", 1000003},
      {"odd", 99999}, {"huge", 8388608}},
    make = function(k, n)
      local chance, at = b.tiled("float", n,
        function(i) return i % 1000 / 1024 end)
      local call, put = b.buffer("float", n), b.buffer("float", n)
      local function normal(x)
        local t = 1 / (1 + 0.2316419 * math.abs(x))
        local sum = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937
          + t * (-1.821255978 + t * 1.330274429))))
        local tail = 0.39894228 * math.exp(-0.5 * x * x) * sum
        return x < 0 and tail or 1 - tail
      end
      return {
        launch = function(go) go(k, n, chance, call, put) end,
        bytes = 12 * n, operations = 70 * n, outputs = {call, put},
        -- Prices are in cents: a price near 0 is the difference of large
        -- numbers.
        tolerance = 1e-4, scale = 10,
        slice = b.ends(call, n, 1 << 14, function(i)
          local r = at(i)
          local price, strike = 10 + 90 * r, 100 - 90 * r
          local time, rate = 1 + 9 * r, 0.01 + 0.04 * r
          local volatility = 0.01 + 0.09 * r
          local spread = volatility * math.sqrt(time)
          local d1 = (math.log(price / strike)
            + (rate + 0.5 * volatility * volatility) * time) / spread
          return price * normal(d1)
            - strike * math.exp(-rate * time) * normal(d1 - spread)
        end),
      }
    end,
  }

  b.case {
    name = "monteCarlo", module = "bench/kernels/finance.spv",
    kernel = "monte_carlo", bound = "compute",
    shapes = b.lengths {{"tornado", 8192}, {"prime", 8191}, {"odd", 99999}},
    make = function(k, n)
      local steps, hits = 256, b.buffer("uint", n)
      return {
        launch = function(go) go(k, n, hits, steps) end,
        bytes = 4 * n, operations = 6 * steps * n, outputs = {hits},
        slice = b.ends(hits, n, 1 << 10, function(i)
          local state, inside = i + 1, 0
          for _ = 1, steps do
            state = state * 6364136223846793005 + 1442695040888963407
            local x, y = state >> 48, state >> 32 & 0xffff
            if x * x + y * y < 0x100000000 then inside = inside + 1 end
          end
          return inside
        end),
      }
    end,
  }

  b.case {
    name = "euler", module = "bench/kernels/number.spv", kernel = "euler",
    uneven = true,
    bound = "compute",
    shapes = b.lengths {{"tornado", 128}, {"prime", 149}, {"odd", 99}},
    make = function(k, n)
      local powers = {}
      for i = 1, 2 * n do powers[i] = i ^ 5 // 1 | 0 end
      local power, found = b.buffer("long", powers), b.buffer("uint", n * n)
      return {
        launch = function(go) go(k, {n, n}, power, found, n) end,
        bytes = 4 * n * n, operations = n ^ 4 // 4 | 0, outputs = {found},
        slice = b.ends(found, n * n, 1 << 9, function(i)
          local x, y, count = i % n + 1, i // n + 1, 0
          for c = 1, y <= x and y or 0 do
            local e = x
            for d = 1, c do
              local sum = powers[x] + powers[y] + powers[c] + powers[d]
              while e < 2 * n and powers[e] < sum do e = e + 1 end
              if powers[e] == sum then count = count + 1 end
            end
          end
          return count
        end),
      }
    end,
  }

  b.case {
    name = "dft", module = "bench/kernels/number.spv", kernel = "dft",
    bound = "compute",
    shapes = b.lengths {{"tornado", 8192}, {"prime", 4093}, {"tiny", 100}},
    make = function(k, n)
      local turn_re, turn_im = {}, {}
      for i = 1, n do
        turn_re[i] = math.cos(2 * math.pi * (i - 1) / n)
        turn_im[i] = -math.sin(2 * math.pi * (i - 1) / n)
      end
      local re, at_re = b.tiled("float", n, function(i) return i % 17 / 17 end)
      local im, at_im = b.tiled("float", n, function(i) return i % 5 / 5 end)
      local cosine = b.buffer("float", turn_re)
      local sine = b.buffer("float", turn_im)
      local out_re, out_im = b.buffer("float", n), b.buffer("float", n)
      return {
        launch = function(go)
          go(k, n, re, im, cosine, sine, out_re, out_im, n)
        end,
        bytes = 24 * n, operations = 8 * n * n, outputs = {out_re, out_im},
        tolerance = 2e-3, scale = math.sqrt(n),
        slice = b.ends(out_re, n, 32, function(k_)
          local sum, at = 0, 0
          for t = 0, n - 1 do
            sum = sum + at_re(t) * turn_re[at + 1] - at_im(t) * turn_im[at + 1]
            at = (at + k_) % n
          end
          return sum
        end),
      }
    end,
  }

  b.case {
    name = "juliaSet", module = "bench/kernels/number.spv",
    kernel = "julia_set", uneven = true, bound = "compute",
    shapes = b.areas {{"tornado", 1024, 1024}, {"prime", 1021, 769},
      {"lopsided", 31, 9973}},
    make = function(k, w, h)
      local one, limit = 1 << 28, 100
      local cr, ci = -7 * one // 10, 27015 * one // 100000
      local steps = b.buffer("uint", w * h)
      return {
        launch = function(go) go(k, {w, h}, steps, w, h, cr, ci, limit) end,
        bytes = 4 * w * h, operations = 8 * 30 * w * h, outputs = {steps},
        slice = b.ends(steps, w * h, 1 << 11, function(i)
          local zr = 3 * one // w * (i % w) - 3 * one // 2
          local zi = 2 * one // h * (i // w) - one
          for n = 0, limit - 1 do
            local rr, ii = zr * zr // one, zi * zi // one
            if rr + ii > 4 * one then return n end
            zr, zi = rr - ii + cr, zr * zi // (one // 2) + ci
          end
          return limit
        end),
      }
    end,
  }

  b.case {
    name = "mandelbrot", module = "kernels/mandelbrot.spv",
    kernel = "mandelbrot", uneven = true, bound = "compute",
    shapes = b.areas {{"tornado", 512, 512}, {"prime", 1021, 769},
      {"lopsided", 9973, 31}},
    make = function(k, w, h)
      local one, limit = 1 << 28, 255
      local left, top, step = -2 * one, -one * 5 // 4, 5 * one // (2 * w)
      local pixels = b.buffer("uchar", w * h)
      return {
        launch = function(go)
          go(k, {w, h}, pixels, w, left, top, step, limit)
        end,
        bytes = w * h, operations = 8 * 60 * w * h, outputs = {pixels},
        slice = b.ends(pixels, w * h, 1 << 10, function(i)
          local cr, ci = left + i % w * step, top + i // w * step
          local zr, zi = cr, ci
          for n = 0, limit - 1 do
            local rr, ii = zr * zr // one, zi * zi // one
            if rr + ii > 4 * one then return 1 + n % 255 end
            zr, zi = rr - ii + cr, zr * zi // (one // 2) + ci
          end
          return 0
        end),
      }
    end,
  }
end
