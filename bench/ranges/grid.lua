-- grid.lua - cases over pictures and blocks.
-- SPDX-License-Identifier: MIT

return function(add, b)
  add("hotspot", {{1024, 1024}, {1021, 509}, {64, 20011}}, function(w, h)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(w * h, 60, 90), b.floats(w * h, 0, 1), out, w, h},
      {out}
  end)

  add("srad", {{20011, 64}, {503, 1009}, {7, 5}}, function(w, h)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(w * h, 1, 2), out, w, h}, {out}
  end)

  add("box_bytes", {{1920, 1080}, {1999, 1013}, {64, 20011}}, function(w, h)
    local out = b.buffer("uchar", w * h)
    return {w, h}, {b.bytes(w * h), out, w, h}, {out}
  end)

  add("grey", {{1920, 1080}, {20011, 64}, {13, 3}}, function(w, h)
    local out = b.buffer("uchar", w * h)
    return {w, h}, {b.tiled("uchar4", w * h, b.byte), out, w}, {out}
  end)

  add("fdtd", {{1000, 1000}, {64, 20011}, {61, 3}}, function(w, h)
    local border = (w + 1) * (h + 1)
    local out = b.buffer("float", w * h)
    return {w, h}, {b.floats(border, 0, 1), b.floats(border, -1, 1),
      b.floats(w * h, 0, 2), out, w}, {out}
  end)

  add("lbm", {{512, 512}, {331, 337}, {20011, 64}}, function(w, h)
    local out = b.buffer("float", 9 * w * h)
    return {w, h}, {b.floats(9 * w * h, 0, 1), out, w, h}, {out}
  end)

  add("heat_block", {{96, 96, 96}, {101, 103, 107}, {4001, 5, 31}},
    function(w, h, d)
      local n = (w + 2) * (h + 2) * (d + 2)
      local out = b.buffer("double", n)
      return {w, h, d}, {b.doubles(n, 0, 1), out, w, h}, {out}
    end)

  add("convolve_block", {{128, 64, 64}, {67, 71, 73}, {3, 5, 2011}},
    function(w, h, d)
      local out = b.buffer("float", w * h * d)
      return {w, h, d}, {b.floats((w + 2) * (h + 2) * (d + 2), 0, 1), out,
        b.floats(27, -1, 1), w, h}, {out}
    end)

  add("sad", {{480, 270}, {64, 2503}, {97, 89}}, function(w, h)
    local out = b.buffer("ushort", w * h)
    local n = (w + 16) * (h + 16)
    return {w, h}, {b.bytes(n), b.tiled("uchar", n,
      function(i) return i * 57 % 251 end), out, w, 3, 5}, {out}
  end)

  add("dilate_block", {{128, 128, 64}, {101, 103, 107}, {7, 1021, 31}},
    function(w, h, d)
      local out = b.buffer("uchar", w * h * d)
      return {w, h, d}, {b.bytes(w * h * d), out, w, h, d}, {out}
    end)
end
