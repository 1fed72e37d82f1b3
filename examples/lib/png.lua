-- png.lua - pictures as PNG files, for the other examples.
-- SPDX-License-Identifier: MIT
--
-- What is written is not compressed, so that no library is needed.

local png = {}

-- The remainders of all bytes, for PNG's CRC-32.
local remainders = {}
for byte = 0, 255 do
  local r = byte
  for _ = 1, 8 do r = r & 1 == 0 and r >> 1 or r >> 1 ~ 0xedb88320 end
  remainders[byte] = r
end

local function crc32(bytes)
  local crc = 0xffffffff
  for i = 1, #bytes do
    crc = remainders[(crc ~ bytes:byte(i)) & 255] ~ crc >> 8
  end
  return crc ~ 0xffffffff
end

local function adler32(bytes)
  local a, b = 1, 0
  for i = 1, #bytes do
    a = (a + bytes:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b << 16 | a
end

-- zlib's form of bytes, in blocks that are stored as they are.
local function stored(bytes)
  local parts = { "\x78\x01" }
  for i = 1, #bytes, 65535 do
    local block = bytes:sub(i, i + 65534)
    local last = i + #block > #bytes and 1 or 0
    parts[#parts + 1] = ("<I1I2I2"):pack(last, #block, ~#block & 0xffff)
    parts[#parts + 1] = block
  end
  parts[#parts + 1] = (">I4"):pack(adler32(bytes))
  return table.concat(parts)
end

local function chunk(kind, body)
  return (">I4"):pack(#body) .. kind .. body ..
    (">I4"):pack(crc32(kind .. body))
end

-- Write rows of bytes: three for each pixel or, with a palette (three bytes for
-- each entry), one.
function png.write(path, width, height, bytes, palette)
  local row, lines = #bytes // height, {}
  for y = 1, height do -- each begins with its filter: 0, none
    lines[y] = "\0" .. bytes:sub((y - 1) * row + 1, y * row)
  end
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write("\x89PNG\r\n\x1a\n",
    chunk("IHDR", (">I4I4BBBBB"):pack(width, height, 8, palette and 3 or 2, 0,
      0, 0)),
    palette and chunk("PLTE", palette) or "",
    chunk("IDAT", stored(table.concat(lines))), chunk("IEND", "")))
end

return png
