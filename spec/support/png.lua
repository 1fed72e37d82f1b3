-- png.lua - reads the contents of a PNG file and verifies its checksums.
-- SPDX-License-Identifier: MIT

local assert = require "luassert"

local png = {}

-- Returns the chunks: their names by number, and their contents by name.
function png.chunks(bytes)
  assert.equal("\x89PNG\r\n\x1a\n", bytes:sub(1, 8))
  local list, at = {}, 9
  while at <= #bytes do
    local n = (">I4"):unpack(bytes, at)
    local crc = 0xffffffff
    for i = at + 4, at + 7 + n do
      crc = crc ~ bytes:byte(i)
      for _ = 1, 8 do
        crc = crc & 1 == 0 and crc >> 1 or crc >> 1 ~ 0xedb88320
      end
    end
    assert.equal((">I4"):unpack(bytes, at + 8 + n), crc ~ 0xffffffff)
    list[#list + 1] = bytes:sub(at + 4, at + 7)
    list[list[#list]] = bytes:sub(at + 8, at + 7 + n)
    at = at + 12 + n
  end
  return list
end

-- Check the zlib checksum of a text.
local function verify(text, sum)
  local a, b = 1, 0
  for i = 1, #text do
    a = (a + text:byte(i)) % 65521
    b = (b + a) % 65521
  end
  assert.equal(b << 16 | a, (">I4"):unpack(sum))
  return text
end

-- Returns the contents of stored zlib blocks.
function png.stored(bytes)
  local parts, at = {}, 3
  local last, n, inverse
  repeat
    last, n, inverse, at = ("<I1I2I2"):unpack(bytes, at)
    assert.equal(0xffff, n ~ inverse)
    parts[#parts + 1] = bytes:sub(at, at + n - 1)
    at = at + n
  until last == 1
  assert.equal(#bytes, at + 3)
  return verify(table.concat(parts), bytes:sub(at))
end

-- Returns the contents of zlib blocks of any kind.  It calls gzip, whose format
-- has another header and another trailer; gzip reports that the trailer is
-- missing.
function png.unpacked(bytes)
  assert.equal(0, (">I2"):unpack(bytes) % 31) -- zlib's check of its header
  local packed = os.tmpname()
  local file <close> = assert(io.open(packed, "wb"))
  file:write("\31\139\8\0\0\0\0\0\0\3", bytes:sub(3, -5))
  file:close()
  local pipe <close> = assert(io.popen(
    ("gzip -dc <'%s' 2>/dev/null"):format(packed)))
  local text = pipe:read "a"
  os.remove(packed)
  return verify(text, bytes:sub(-4))
end

return png
