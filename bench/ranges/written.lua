-- written.lua - cases whose kernels are functions in Lua.
-- SPDX-License-Identifier: MIT

return function(add, b)
  local exp, log, sqrt = math.exp, math.log, math.sqrt

  local function written(name, ranges, f, make)
    add(name, ranges, make).f = f
  end

  written("black_scholes", {{1 << 18}, {100003}, {53}},
    function(i, price, strike, years, call, put)
      local s, x, t = price[i], strike[i], years[i]
      local root = 0.3 * sqrt(t)
      local d1 = (log(s / x) + (0.02 + 0.045) * t) / root
      local d2 = d1 - root
      local n1 = 1.0 / (1.0 + exp(-1.5976 * d1 - 0.07056 * d1 * d1 * d1))
      local n2 = 1.0 / (1.0 + exp(-1.5976 * d2 - 0.07056 * d2 * d2 * d2))
      local later = x * exp(-0.02 * t)
      call[i] = s * n1 - later * n2
      put[i] = later * (1.0 - n2) - s * (1.0 - n1)
    end,
    function(n)
      local call, put = b.buffer("float", n), b.buffer("float", n)
      return n, {b.floats(n, 10, 50), b.floats(n, 10, 60), b.floats(n, 0.2, 5),
        call, put}, {call, put}
    end)

  written("mandelbrot", {{320, 240}, {64, 2503}, {1021, 31}},
    function(x, y, out, w, h)
      local cr, ci = 3.0 * x / w - 2.25, 2.5 * y / h - 1.25
      local zr, zi, k = 0.0, 0.0, 0
      while k < 60 and zr * zr + zi * zi <= 4.0 do
        zr, zi, k = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci, k + 1
      end
      out[(y - 1) * w + x] = k
    end,
    function(w, h)
      local out = b.buffer("int", w * h)
      return {w, h}, {out, w, h}, {out}
    end)

  written("hash", {{1 << 21}, {999983}, {37}},
    function(i, x, out)
      local v = x[i]
      v = (v ~ v >> 16) * 0x7feb352d & 0xffffffff
      v = (v ~ v >> 15) * 0x846ca68b & 0xffffffff
      out[i] = v ~ v >> 16
    end,
    function(n)
      local out = b.buffer("uint", n)
      return n, {b.tiled("uint", n, function(i) return i end), out}, {out}
    end)

  written("jacobi", {{1 << 20}, {1000003}, {50}},
    function(i, x, right, out)
      out[i] = 0.5 * (x[i] + x[i + 2] - right[i])
    end,
    function(n)
      local out = b.buffer("double", n)
      return n, {b.doubles(n + 2, 0, 1), b.doubles(n, -1, 1), out}, {out}
    end)

  written("monte_carlo", {{16384, 64}, {10007, 101}, {24, 4096}},
    function(i, hits, steps)
      local s, inside = i * 2654435761 & 0xffffffff | 1, 0
      for _ = 1, steps do
        s = s ~ s << 13 & 0xffffffff
        s = s ~ s >> 17
        s = s ~ s << 5 & 0xffffffff
        local x, y = s & 0xffff, s >> 16
        if x * x + y * y < 0x100000000 then inside = inside + 1 end
      end
      hits[i] = inside
    end,
    function(n, steps)
      local hits = b.buffer("int", n)
      return n, {hits, steps}, {hits}
    end)

  written("nearest", {{1 << 20}, {1000003}, {59}},
    function(i, latitude, longitude, out, x, y)
      local dx, dy = latitude[i] - x, longitude[i] - y
      out[i] = sqrt(dx * dx + dy * dy)
    end,
    function(n)
      local out = b.buffer("float", n)
      return n, {b.floats(n, -90, 90), b.floats(n, -180, 180), out, 48.5, 9.25},
        {out}
    end)
end
