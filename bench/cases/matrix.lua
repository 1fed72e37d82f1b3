-- matrix.lua - kernels over matrices, bodies and plates.
-- SPDX-License-Identifier: MIT

return function(b)
  -- A product of square matrices, and one of rectangular ones.
  local function product(name, module, kernel, type, tiled)
    b.case {
      name = name, module = module, kernel = kernel, bound = "compute",
      fixed = tiled,
      shapes = b.areas {{"tornado", 512, 512}, {"prime", 499, 503},
        {"lopsided", 4001, 29}},
      make = function(k, w, h)
        local inner = 512
        local a, at_a = b.tiled(type, h * inner,
          function(i) return i % 13 - 6 end)
        local c, at_c = b.tiled(type, w * inner,
          function(i) return i % 11 - 5 end)
        local out = b.buffer(type, w * h)
        local bytes = type == "float" and 4 or 8
        return {
          launch = function(go)
            if tiled then
              go(k, {(w + 15) // 16 * 16, (h + 15) // 16 * 16}, a, c, out, h,
                w, inner)
            else
              go(k, {w, h}, a, c, out, w, inner)
            end
          end,
          c = not tiled and kernel or "matmul", c_range = {w, h},
          c_arguments = {a, c, out, w, inner},
          bytes = bytes * (w * h + (w + h) * inner),
          operations = 2 * w * h * inner, outputs = {out},
          slice = b.ends(out, w * h, 256, function(i)
            local x, y, sum = i % w, i // w, 0
            for j = 0, inner - 1 do
              sum = sum + at_a(y * inner + j) * at_c(j * w + x)
            end
            return sum
          end),
        }
      end,
    }
  end
  product("sgemm", "kernels/matmul.spv", "matmul", "float")
  product("sgemm tiled", "kernels/matmul.spv", "matmul_tiled", "float", true)
  product("dgemm", "bench/kernels/dgemm.spv", "dgemm", "double")

  b.case {
    name = "sgemv", module = "bench/kernels/matrix.spv", kernel = "sgemv",
    bound = "memory",
    shapes = b.areas {{"tornado", 4096, 4096}, {"prime", 1021, 4093},
      {"lopsided", 31, 500009}},
    make = function(k, columns, rows)
      local a, at_a = b.tiled("float", rows * columns,
        function(i) return i % 13 - 6 end)
      local x, at_x = b.tiled("float", columns,
        function(i) return i % 11 - 5 end)
      local y = b.buffer("float", rows)
      return {
        launch = function(go) go(k, rows, a, x, y, columns) end,
        bytes = 4 * rows * columns, operations = 2 * rows * columns,
        outputs = {y},
        slice = b.ends(y, rows, 64, function(row)
          local sum = 0
          for i = 0, columns - 1 do
            sum = sum + at_a(row * columns + i) * at_x(i)
          end
          return sum
        end),
      }
    end,
  }

  b.case {
    name = "spmv", module = "bench/kernels/matrix.spv", kernel = "spmv",
    bound = "memory",
    shapes = b.lengths {{"tornado", 131072}, {"prime", 100003},
      {"odd", 30001 * 3}},
    make = function(k, n)
      -- Rows of 8 to 24 elements, scattered.
      local firsts, sum = {0}, 0
      for row = 1, n do
        sum = sum + 8 + row * 7 % 17
        firsts[row + 1] = sum
      end
      local first = b.buffer("uint", firsts)
      local column, at_column = b.tiled("uint", sum,
        function(i) return i * 7919 % n end)
      local value, at_value = b.tiled("float", sum,
        function(i) return i % 9 - 4 end)
      local x, at_x = b.tiled("float", n, function(i) return i % 7 - 3 end)
      local y = b.buffer("float", n)
      return {
        launch = function(go) go(k, n, first, column, value, x, y) end,
        bytes = 8 * sum + 4 * sum + 8 * n, operations = 2 * sum,
        outputs = {y},
        slice = b.ends(y, n, 1 << 13, function(row)
          local total = 0
          for i = firsts[row + 1], firsts[row + 2] - 1 do
            total = total + at_value(i) * at_x(at_column(i))
          end
          return total
        end),
      }
    end,
  }

  local planes = b.areas {
    {"tornado", 2048, 2048}, {"prime", 2039, 2053}, {"lopsided", 37, 40009},
    {"lopsided", 40009, 37}, {"tiny", 11, 6},
  }
  local function transposition(name, kernel, tiled)
    b.case {
      name = name, module = "bench/kernels/matrix.spv", kernel = kernel,
      bound = "memory", shapes = planes, fixed = tiled,
      make = function(k, w, h)
        local x, at = b.tiled("float", w * h, function(i) return i end)
        local y = b.buffer("float", w * h)
        return {
          launch = function(go)
            local range = tiled and {(w + 15) // 16 * 16, (h + 15) // 16 * 16}
              or {w, h}
            go(k, range, x, y, w, h)
          end,
          c = "transpose", c_range = {w, h}, c_arguments = {x, y, w, h},
          bytes = 8 * w * h, operations = w * h, outputs = {y},
          slice = b.ends(y, w * h, 1 << 18, function(i)
            return at(i % h * w + i // h)
          end),
        }
      end,
    }
  end
  transposition("transpose", "transpose")
  transposition("transpose tiled", "transpose_tiled", true)

  b.case {
    name = "hotspot", module = "bench/kernels/physics.spv", kernel = "hotspot",
    bound = "memory", shapes = planes,
    make = function(k, w, h)
      local heat, at = b.tiled("float", w * h, function(i) return i % 301 end)
      local power, at_power = b.tiled("float", w * h,
        function(i) return i % 7 end)
      local out = b.buffer("float", w * h)
      return {
        launch = function(go) go(k, {w, h}, heat, power, out, w, h) end,
        bytes = 12 * w * h, operations = 8 * w * h, outputs = {out},
        slice = b.ends(out, w * h, 1 << 17, function(i)
          local x, y, here = i % w, i // w, at(i)
          local sum = at(x > 0 and i - 1 or i) + at(x + 1 < w and i + 1 or i)
            + at(y > 0 and i - w or i) + at(y + 1 < h and i + w or i)
          return here + 0.1 * (sum - 4 * here) + 0.05 * at_power(i)
        end),
      }
    end,
  }

  b.case {
    name = "nbody", module = "bench/kernels/physics.spv", kernel = "nbody",
    bound = "compute",
    shapes = b.lengths {{"tornado", 16384}, {"prime", 4093}, {"tiny", 50}},
    make = function(k, n)
      local body, at = b.tiled("float4", n,
        function(i) return i * 37 % 1009 / 100 + 1 end)
      local force = b.buffer("float4", n)
      local slice = math.min(n, 16)
      return {
        launch = function(go) go(k, n, body, force, n, 0.01) end,
        bytes = 32 * n, operations = 20 * n * n, outputs = {force},
        tolerance = 1e-3, scale = n / 100,
        slice = {
          of = n, items = slice,
          lua = function()
            local t = {}
            for i = 0, slice - 1 do
              local ax, ay, az = 0, 0, 0
              for j = 0, n - 1 do
                local dx = at(j, 0) - at(i, 0)
                local dy = at(j, 1) - at(i, 1)
                local dz = at(j, 2) - at(i, 2)
                local r2 = dx * dx + dy * dy + dz * dz + 0.01
                local pull = at(j, 3) / (r2 * math.sqrt(r2))
                ax, ay, az = ax + dx * pull, ay + dy * pull, az + dz * pull
              end
              table.move({ax, ay, az, 0}, 1, 4, #t + 1, t)
            end
            return t
          end,
          device = function()
            return force:view(1, n, "float"):read(1, 4 * slice)
          end,
        },
      }
    end,
  }
end
