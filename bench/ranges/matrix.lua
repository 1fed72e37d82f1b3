-- matrix.lua - cases over matrices.
-- SPDX-License-Identifier: MIT

return function(add, b)
  add("transposed", {{2048, 1024}, {1021, 997}, {64, 20011}}, function(w, h)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(w * h, 0, 1), out, h, w}, {out}
  end)

  add("gaussian", {{1500, 1024}, {20011, 64}, {31, 33}}, function(w, h)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(w * h, 1, 2), b.floats(h, 0, 1), out, w, h // 3},
      {out}
  end)

  -- Rows and columns; the range is one of them.
  add("rows_times", {{2048, 2048}, {1009, 3001}, {37, 20011}}, function(h, w)
    local y = b.buffer("float", h)
    return h, {b.floats(w * h, 0, 1), b.floats(w, -1, 1), y, w}, {y}
  end)

  add("columns_times", {{2048, 1024}, {20011, 64}, {61, 5003}}, function(w, h)
    local y = b.buffer("float", w)
    return w, {b.floats(w * h, 0, 1), b.floats(h, -1, 1), y, h, w}, {y}
  end)

  add("gemver", {{1280, 720}, {997, 1013}, {64, 20011}}, function(w, h)
    local out = b.buffer("double", w * h)
    return {w, h}, {b.doubles(w * h, 0, 1), b.doubles(h, 0, 1),
      b.doubles(w, 0, 1), b.doubles(h, 1, 2), b.doubles(w, 2, 3), out, w},
      {out}
  end)

  add("correlation", {{256, 256}, {251, 241}, {19, 23}}, function(w, h)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(50 * w, 0, 1), out, 50, w}, {out}
  end)

  add("floyd", {{1024, 1024}, {509, 509}, {37, 37}}, function(n)
    local way = b.ints(n * n, 1, 1000)
    return {n, n}, {way, n, n // 2}, {way}
  end)

  add("sweep_columns", {{1024, 1024}, {20011, 64}, {53, 4001}}, function(w, h)
    local out = b.buffer("float", w * h)
    return w, {b.floats(w * h, 0, 1), out, h, w}, {out}
  end)

  add("sweep_rows", {{1024, 1024}, {20011, 64}, {41, 5003}}, function(h, w)
    local out = b.buffer("float", w * h)
    return h, {b.floats(w * h, 0, 1), out, w}, {out}
  end)

  add("layer", {{4096, 256}, {1009, 1021}, {17, 65537}}, function(w, h)
    local out = b.buffer("float", w)
    return w, {b.floats(h, 0, 1), b.floats(w * h, -0.01, 0.01), out, h, w},
      {out}
  end)

  add("transposed_tiles", {{1024, 1024}, {1000, 750}, {48, 20000}},
    function(w, h)
      local out = b.buffer("float", w * h)
      return {w, h}, {b.floats(w * h, 0, 1), out, h, w}, {out}
    end, {16, 16})
end
