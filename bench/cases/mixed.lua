-- mixed.lua - kernels whose work or accesses are uneven.
-- SPDX-License-Identifier: MIT

return function(b)
  local module = "bench/kernels/mixed.spv"
  local lengths = b.lengths {
    {"even", 1 << 22}, {"prime", 4000037}, {"odd", 999999}, {"tiny", 37},
  }
  -- Few long rows, and many short ones.
  local rows = b.areas {
    {"lopsided", 65536, 61}, {"even", 2048, 2048}, {"prime", 17, 200003},
    {"tiny", 5, 13},
  }

  local function case(name, kernel, bound, judged, shapes, make)
    b.case {
      name = name, module = module, kernel = kernel, bound = bound,
      judged = judged, shapes = shapes,
      make = function(k, ...)
        local work = make(k, ...)
        work.c = false
        return work
      end,
    }
  end

  case("collatz", "collatz", "compute", true, lengths, function(k, n)
    local from, at = b.tiled("uint", n, function(i) return i % 9973 + 1 end)
    local steps = b.buffer("uint", n)
    return {
      launch = function(go) go(k, n, from, steps) end,
      bytes = 8 * n, operations = 60 * n, outputs = {steps},
      slice = b.ends(steps, n, 1 << 12, function(i)
        local v, count = at(i), 0
        while v > 1 do
          v = v % 2 == 0 and v // 2 or 3 * v + 1
          count = count + 1
        end
        return count
      end),
    }
  end)

  case("gcd", "gcd", "compute", true, lengths, function(k, n)
    local x, at_x = b.tiled("uint", n, function(i) return i * 7919 + 12 end)
    local y, at_y = b.tiled("uint", n, function(i) return i * 31 % 5040 end)
    local out = b.buffer("uint", n)
    return {
      launch = function(go) go(k, n, x, y, out) end,
      bytes = 12 * n, operations = 20 * n, outputs = {out},
      slice = b.ends(out, n, 1 << 14, function(i)
        local p, q = at_x(i), at_y(i)
        while q ~= 0 do p, q = q, p % q end
        return p
      end),
    }
  end)

  -- Returns a permutation of 0 .. n - 1 in which neighbours are never adjacent:
  -- the step and n have no common divisor.
  local function places(n)
    local step = 40503
    while n > 1 and n % step == 0 do step = step + 2 end
    local function common(p, q)
      while q ~= 0 do p, q = q, p % q end
      return p
    end
    while common(step, n) ~= 1 do step = step + 2 end
    local list = {}
    for i = 0, n - 1 do list[i + 1] = i * step % n end
    return b.buffer("uint", list), function(i) return i * step % n end, step
  end

  case("gather", "gather", "memory", false, lengths, function(k, n)
    local x, at = b.tiled("float", n, function(i) return i % 1001 end)
    local place, place_at = places(n)
    local y = b.buffer("float", n)
    return {
      launch = function(go) go(k, n, x, place, y) end,
      bytes = 12 * n, operations = n, outputs = {y},
      slice = b.ends(y, n, 1 << 16,
        function(i) return at(place_at(i)) end),
    }
  end)

  case("scatter", "scatter", "memory", true, lengths, function(k, n)
    local x, at = b.tiled("float", n, function(i) return i % 1001 end)
    local place, place_at = places(n)
    local y = b.buffer("float", n)
    local from = {}
    for i = 0, n - 1 do from[place_at(i)] = i end
    return {
      launch = function(go) go(k, n, x, place, y) end,
      bytes = 12 * n, operations = n, outputs = {y},
      slice = b.ends(y, n, 1 << 16, function(i) return at(from[i]) end),
    }
  end)

  -- Each launch of a case moves the particles, so each run resets them.
  case("moveStructs", "move_structs", "memory", false, lengths,
    function(k, n)
      local start, at = b.tiled("float", 8 * n,
        function(i) return i % 509 end)
      local body = b.buffer("float", 8 * n)
      return {
        reset = function() body:copy(start) end,
        launch = function(go) go(k, n, body, 0.5) end,
        bytes = 36 * n, operations = 6 * n, outputs = {body},
        slice = b.ends(body, 8 * n, 1 << 16, function(i)
          return i % 8 < 3 and at(i) + at(i + 3) * 0.5 or at(i)
        end),
      }
    end)

  case("moveArrays", "move_arrays", "memory", false, lengths, function(k, n)
    local start, at = b.tiled("float", n, function(i) return i % 509 end)
    local speed, speed_at = b.tiled("float", n, function(i) return i % 77 end)
    local x, y, z = b.buffer("float", n), b.buffer("float", n),
      b.buffer("float", n)
    return {
      reset = function()
        x:copy(start)
        y:copy(start)
        z:copy(start)
      end,
      launch = function(go)
        go(k, n, x, y, z, speed, speed, speed, 0.5)
      end,
      bytes = 36 * n, operations = 6 * n, outputs = {x, y, z},
      slice = b.ends(z, n, 1 << 16,
        function(i) return at(i) + speed_at(i) * 0.5 end),
    }
  end)

  case("rowSums", "row_sums", "memory", true, rows, function(k, n, columns)
    local x, at = b.tiled("float", n * columns, function(i) return i % 13 end)
    local y = b.buffer("float", n)
    return {
      launch = function(go) go(k, n, x, y, columns) end,
      bytes = 4 * n * columns, operations = n * columns, outputs = {y},
      slice = b.ends(y, n, 16, function(row)
        local sum = 0
        for i = 0, columns - 1 do sum = sum + at(row * columns + i) end
        return sum
      end),
    }
  end)

  case("columnSums", "column_sums", "memory", true, rows,
    function(k, n, columns)
      local x, at = b.tiled("float", n * columns,
        function(i) return i % 13 end)
      local y = b.buffer("float", columns)
      return {
        launch = function(go) go(k, columns, x, y, n, columns) end,
        bytes = 4 * n * columns, operations = n * columns, outputs = {y},
        slice = b.ends(y, columns, 16, function(column)
          local sum = 0
          for i = 0, n - 1 do sum = sum + at(i * columns + column) end
          return sum
        end),
      }
    end)

  case("softmax", "softmax", "compute", true, rows, function(k, n, columns)
    local x, at = b.tiled("float", n * columns,
      function(i) return i * 37 % 41 / 8 end)
    local y = b.buffer("float", n * columns)
    return {
      launch = function(go) go(k, n, x, y, columns) end,
      bytes = 8 * n * columns, operations = 10 * n * columns, outputs = {y},
      tolerance = 1e-4, scale = 1e-3,
      slice = b.ends(y, n * columns, 256, function(i)
        local first, sum, most = i // columns * columns, 0, -math.huge
        for j = 0, columns - 1 do most = math.max(most, at(first + j)) end
        for j = 0, columns - 1 do
          sum = sum + math.exp(at(first + j) - most)
        end
        return math.exp(at(i) - most) / sum
      end),
    }
  end)

  case("strideModulo", "stride_modulo", "memory", false, lengths,
    function(k, n)
      local x, at = b.tiled("int", n, function(i) return i * 31 % 9973 end)
      local y = b.buffer("int", n)
      return {
        launch = function(go) go(k, n, x, y, n, 97) end,
        bytes = 8 * n, operations = 2 * n, outputs = {y},
        slice = b.ends(y, n, 1 << 16,
          function(i) return at(i * 7 % n) % 97 end),
      }
    end)

  case("withCalls", "with_calls", "compute", true, lengths, function(k, n)
    local x, at = b.tiled("float", n, function(i) return i % 64 / 64 end)
    local y = b.buffer("float", n)
    local function horner(v, first, rest)
      local sum = first
      for _ = 1, 6 do sum = sum * v + rest end
      return sum
    end
    return {
      launch = function(go) go(k, n, x, y) end,
      bytes = 8 * n, operations = 26 * n, outputs = {y},
      slice = b.ends(y, n, 1 << 16, function(i)
        local v = at(i)
        return horner(v, 1, 0.5) + horner(0.5 * v, 0.25, 1)
      end),
    }
  end)

  case("median", "median_of_9", "compute", true, b.areas {
    {"even", 1024, 1024}, {"prime", 1021, 509}, {"lopsided", 13, 40009},
    {"tiny", 7, 9},
  }, function(k, w, h)
    local n = w * h
    local x, at = b.tiled("int", n, function(i) return i * 7919 % 1000 end)
    local y = b.buffer("int", n)
    return {
      launch = function(go) go(k, {w, h}, x, y, w, h) end,
      bytes = 8 * n, operations = 60 * n, outputs = {y},
      slice = b.ends(y, n, 1 << 12, function(i)
        local list = {}
        for row = i // w - 1, i // w + 1 do
          for column = i % w - 1, i % w + 1 do
            list[#list + 1] = at(math.min(math.max(row, 0), h - 1) * w
              + math.min(math.max(column, 0), w - 1))
          end
        end
        table.sort(list)
        return list[5]
      end),
    }
  end)
end
