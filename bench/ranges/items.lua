-- items.lua - cases over lists of items.
-- SPDX-License-Identifier: MIT

return function(add, b)
  -- Returns the starts of n lists, which have 0 to 2 * mean - 1 elements each,
  -- and the total number of elements.
  local function starts(n, mean)
    local list, at = {}, 0
    for i = 1, n do
      list[i] = at
      at = at + i * 7919 % 1013 % (2 * mean)
    end
    list[n + 1] = at
    return b.buffer("int", list), at
  end

  local function spread(count, n)
    return b.tiled("int", count, function(i) return i * 40503 % n end)
  end

  add("spmv_csr", {{200003, 7}, {16384, 64}, {37, 500}}, function(n, mean)
    local start, count = starts(n, mean)
    local y = b.buffer("float", n)
    return n, {start, spread(count, n), b.floats(count, 0, 1),
      b.floats(n, -1, 1), y}, {y}
  end)

  add("spmv_ell", {{65536, 16}, {100003, 7}, {61, 256}}, function(n, entries)
    local y = b.buffer("float", n)
    return n, {spread(n * entries, n), b.floats(n * entries, 0, 1),
      b.floats(n, -1, 1), y, n, entries}, {y}
  end)

  add("breadth", {{1 << 19}, {300007}, {43}}, function(n)
    local start, count = starts(n, 4)
    local next = b.buffer("uchar", n)
    return n, {start, spread(count, n),
      b.tiled("uchar", n, function(i) return i % 3 == 0 and 1 or 0 end),
      b.tiled("uchar", n, function(i) return i % 7 == 0 and 1 or 0 end), next},
      {next}
  end)

  add("pathfinder", {{1 << 20}, {1000003}, {29}}, function(n)
    local out = b.buffer("int", n)
    return n, {b.ints(n, 0, 9), b.ints(n, 100, 900), out, n}, {out}
  end)

  add("flux", {{196608}, {100003}, {41}}, function(n)
    local out = b.buffer("float", 4 * n)
    return n, {spread(4 * n, n), b.floats(4 * n, 1, 2), out, n}, {out}
  end)

  add("waves", {{4096, 64}, {2003, 101}, {31, 2048}}, function(n, count)
    local out = b.buffer("float2", n)
    return n, {b.floats(n, -1, 1), b.floats(n, -1, 1),
      b.tiled("float4", count, b.float(-3, 3)), out, count}, {out}
  end)

  add("potential", {{32, 32, 32}, {31, 37, 41}, {509, 5, 3}},
    function(w, h, d)
      local out = b.buffer("float", w * h * d)
      return {w, h, d}, {b.tiled("float4", 32, b.float(0, 48)), out, 32, w, h},
        {out}
    end)

  add("histogram_own", {{1024, 4096}, {509, 4001}, {16, 65536}},
    function(n, slice)
      local bins = b.buffer("uint", 16 * n)
      return n, {b.bytes(n * slice), bins, slice}, {bins}
    end)

  -- Work-items, and the distance between the two of a pair.
  add("butterfly", {{1 << 18, 1024}, {100003, 64}, {32, 8}},
    function(n, stride)
      local room = 2 * (n + stride)
      local out = b.buffer("float2", room)
      return n, {b.tiled("float2", room, b.float(-1, 1)), out, stride}, {out}
    end)

  add("gravity", {{1024}, {1009}, {61}}, function(n)
    local out = b.buffer("float4", n)
    return n, {b.tiled("float4", n, b.float(-1, 1)), out, n}, {out}
  end)

  add("match_bytes", {{1 << 21}, {2000003}, {40}}, function(n)
    local out = b.buffer("uchar", n)
    local function letter(i) return i % 5 == 4 and i % 11 or i % 5 end
    return n, {b.tiled("uchar", n + 16, letter), b.tiled("uchar", 16,
      function(i) return i % 5 end), out, 16}, {out}
  end)

  add("complex_times", {{1 << 20}, {1000003}, {67}}, function(n)
    local out = b.buffer("float2", n)
    return n, {b.tiled("float2", n, b.float(-1, 1)),
      b.tiled("float2", n, b.float(0, 2)), out}, {out}
  end)

  add("sum_groups", {{1 << 20}, {1000000}, {960}}, function(n)
    local total = b.buffer("int", 1)
    return n, {b.ints(n, 0, 100), total}, {}
  end, {256})

  add("smooth_groups", {{1 << 20}, {999000}, {600}}, function(n)
    local out = b.buffer("float", n)
    return n, {b.floats(n + 32, 0, 1), out}, {out}
  end, {4096})
end
