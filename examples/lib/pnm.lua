-- pnm.lua - pictures as binary PPM and PGM files, read and written, and as PNG,
-- written, for the other examples.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

local pnm = {}

-- A picture is a table of kind ("P5" or "P6"), channels, width, height, most
-- (the greatest value of a byte) and bytes.
function pnm.read(path)
  local file <close> = assert(io.open(path, "rb"))
  local data, problem = file:read "a"
  if not data then error(path .. ": " .. problem, 0) end

  local kind, at = data:match "^(P[56])()"
  if not kind then
    error(path .. ": neither binary PPM (P6) nor binary PGM (P5)", 0)
  end
  -- Reads the next number of the header, after white space and comments.  With
  -- at most eight digits, no product below can overflow.
  local function number(what, least, greatest)
    local skipped
    repeat
      skipped = data:match("^%s+()", at) or data:match("^#[^\n]*()", at)
      at = skipped or at
    until not skipped
    local digits, after = data:match("^(%d+)()", at)
    if not digits then error(path .. ": no " .. what .. " in the header", 0) end
    at = after
    local n = tonumber(digits)
    if n < least or n > greatest then
      error(("%s: the %s is %s, not from %d to %d")
        :format(path, what, digits, least, greatest), 0)
    end
    return n
  end
  local p = { kind = kind, channels = kind == "P6" and 3 or 1 }
  p.width = number("width", 1, 99999999)
  p.height = number("height", 1, 99999999)
  p.most = number("greatest value", 1, 255)
  local size = p.width * p.height * p.channels
  p.bytes = data:sub(at + 1, at + size) -- after one character of white space
  if #p.bytes < size then
    error(("%s: truncated: %d bytes of %d pixels, not %d")
      :format(path, #p.bytes, p.width * p.height, size), 0)
  end
  return p
end

-- Writes a PNG file if the name ends in .png, else a file for pnm.read.
function pnm.write(path, p)
  if path:find "%.png$" then
    local shape = { p.height, p.width, p.channels == 3 and 3 or nil }
    local pixels = lze.array("uchar", lze.buffer("uchar", p.bytes), shape)
    if p.most < 255 then
      pixels = (pixels:to "int" * 255 // p.most):to "uchar"
    end
    pixels:save(path)
    return
  end
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(("%s\n%d %d\n%d\n")
    :format(p.kind, p.width, p.height, p.most), p.bytes))
end

-- Makes rings that get finer outwards in green, a smooth slope in red, and
-- squares in blue: to show how a blur affects fine detail, smooth parts and
-- edges.
function pnm.make(width, height)
  local pixels = {}
  for y = 0, height - 1 do
    for x = 0, width - 1 do
      local dx, dy = x - width / 2, y - height / 2
      local ring = 127.5 + 127.5 * math.cos((dx * dx + dy * dy) / 250)
      pixels[#pixels + 1] = string.char(255 * x // width, ring // 1 | 0,
        (x // 32 + y // 32) % 2 * 255)
    end
  end
  return { kind = "P6", channels = 3, width = width, height = height,
    most = 255, bytes = table.concat(pixels) }
end

return pnm
