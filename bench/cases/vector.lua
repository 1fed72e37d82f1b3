-- vector.lua - saxpy, stencil, sums and their like.
-- SPDX-License-Identifier: MIT

return function(b)
  local lengths = {
    {"tornado", 16777216}, {"prime", 16777213}, {"odd", 1000003 * 3},
    {"prime", 1000003}, {"tiny", 61}, {"huge", 67108864},
  }

  b.case {
    name = "saxpy", module = "bench/kernels/vector.spv", kernel = "saxpy",
    bound = "memory", shapes = b.lengths(lengths),
    make = function(k, n)
      local x, at_x = b.tiled("float", n, function(i) return i % 1001 end)
      local y, at_y = b.tiled("float", n, function(i) return i % 77 end)
      local z = b.buffer("float", n)
      return {
        launch = function(go) go(k, n, 0.5, x, y, z) end,
        bytes = 12 * n, operations = 2 * n, outputs = {z},
        slice = b.ends(z, n, 1 << 18, function(i)
          return 0.5 * at_x(i) + at_y(i)
        end),
      }
    end,
  }

  b.case {
    name = "stencil", module = "bench/kernels/vector.spv", kernel = "stencil",
    bound = "memory",
    shapes = b.lengths {
      {"tornado", 1048576}, {"prime", 1048573}, {"odd", 999999},
      {"tiny", 127}, {"huge", 50000017},
    },
    make = function(k, n)
      local x, at = b.tiled("float", n, function(i) return i * 37 % 1024 end)
      local y = b.buffer("float", n)
      return {
        launch = function(go) go(k, n, x, y, n) end,
        bytes = 8 * n, operations = 5 * n, outputs = {y},
        slice = b.ends(y, n, 1 << 18, function(i)
          return 0.25 * at(math.max(i - 1, 0)) + 0.5 * at(i)
            + 0.25 * at(math.min(i + 1, n - 1))
        end),
      }
    end,
  }

  -- Work-items stride over the data, so any number of them works.
  b.case {
    name = "reduction", module = "bench/kernels/group.spv",
    kernel = "reduction", bound = "memory",
    shapes = b.lengths {{"tornado", 16777216}, {"odd", 3000000},
      {"tiny", 100}},
    make = function(k, n)
      local x, at, period = b.tiled("int", n,
        function(i) return i % 1000 - 300 end)
      local sum = b.buffer("int", 1)
      local range = n > 1000000 and (n % 4096 == 0 and 65536 or 48000) or 60
      return {
        launch = function(go) go(k, range, x, n, sum) end,
        reset = function() sum:fill(0) end,
        bytes = 4 * n, operations = n, outputs = {sum},
        slice = b.total(sum, n, period, at),
      }
    end,
  }

  b.case {
    name = "histogram", module = "kernels/histogram.spv",
    kernel = "histogram", bound = "memory",
    shapes = b.lengths {{"tornado", 16777216}, {"odd", 3000001},
      {"tiny", 100}},
    make = function(k, n)
      local x, at, period = b.tiled("uchar", n,
        function(i) return i * i % 251 end)
      local bins = b.buffer("uint", 256)
      return {
        launch = function(go) go(k, n > 1000 and 2048 or 64, x, n, bins) end,
        reset = function() bins:fill(0) end,
        bytes = n, operations = n, outputs = {bins},
        slice = {
          of = n, items = math.min(n, period),
          lua = function()
            local counts = {}
            for i = 1, 256 do counts[i] = 0 end
            for i = 0, math.min(n, period) - 1 do
              local c = at(i) + 1
              counts[c] = counts[c] + 1
            end
            if n <= period then return counts end
            -- Whole periods, and the rest of one.
            for i = 1, 256 do counts[i] = counts[i] * (n // period) end
            for i = 0, n % period - 1 do
              local c = at(i) + 1
              counts[c] = counts[c] + 1
            end
            return counts
          end,
          device = function() return bins:read() end,
        },
      }
    end,
  }

  -- A group shares a block, so the caller chooses the group.
  b.case {
    name = "scan", module = "kernels/scan.spv", kernel = "scan_blocks",
    bound = "memory", fixed = true,
    shapes = b.lengths {{"tornado", 4194304}, {"odd", 3000001}},
    make = function(k, n)
      local each, group = 8, math.min(256, k.max_group_size)
      local blocks = (n - 1) // (each * group) + 1
      local x, at = b.tiled("long", n, function(i) return i * 7919 % 1009 end)
      local out, totals = b.buffer("long", n), b.buffer("long", blocks)
      return {
        launch = function(go)
          go(k, {blocks * group, group = group}, x, n, each, out, totals,
            2 * group)
        end,
        bytes = 16 * n, operations = 2 * n, outputs = {out, totals},
        slice = {
          of = n, items = math.min(n, each * group),
          lua = function()
            local sums, sum = {}, 0
            for i = 1, math.min(n, each * group) do
              sums[i] = sum
              sum = sum + at(i - 1)
            end
            return sums
          end,
          device = function() return out:read(1, math.min(n, each * group)) end,
        },
      }
    end,
  }

  b.case {
    name = "bitonic", module = "bench/kernels/sort.spv", kernel = "bitonic",
    bound = "memory",
    shapes = b.lengths {{"tornado", 1048576}, {"tiny", 256}},
    make = function(k, n)
      local source = b.tiled("int", n,
        function(i) return i * 40503 % 65521 - 30000 end)
      local x = b.buffer("int", n)
      local passes = math.tointeger(math.log(n, 2))
      passes = passes * (passes + 1) // 2
      return {
        launch = function(go)
          local block = 2
          while block <= n do
            local step = block // 2
            while step >= 1 do
              go(k, n // 2, x, step, block)
              step = step // 2
            end
            block = 2 * block
          end
        end,
        reset = function() x:copy(source) end,
        bytes = 8 * n * passes, operations = n // 2 * passes, outputs = {x},
        slice = {
          of = n, items = n,
          lua = function()
            local sorted = source:read()
            table.sort(sorted)
            return sorted
          end,
          device = function() return x:read() end,
        },
      }
    end,
  }
end
