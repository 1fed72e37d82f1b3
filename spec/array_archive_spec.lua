-- array_archive_spec.lua - several arrays in a file.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local process = require "spec.support.process"
local A = lze.array

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Calls f with the path of a new archive with these bytes, or without a file.
local function with(bytes, f)
  process.with_directory(function(directory)
    local path = directory .. "/x.npz"
    if bytes then process.write(path, bytes) end
    f(path, directory)
  end)
end

-- Returns the bytes of an archive of arrays.
local function saved(arrays, o)
  local bytes
  with(nil, function(path)
    A.save(path, arrays, o)
    bytes = bytes_of(path)
  end)
  return bytes
end

local function crc32(text)
  local crc = 0xffffffff
  for i = 1, #text do
    crc = crc ~ text:byte(i)
    for _ = 1, 8 do
      crc = crc & 1 == 0 and crc >> 1 or crc >> 1 ~ 0xedb88320
    end
  end
  return crc ~ 0xffffffff
end

local function npy(elements, shape)
  local header = ("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }")
    :format(shape)
  return "\x93NUMPY\1\0" .. ("<I2"):pack(#header) .. header .. elements
end

-- Returns an archive of members {name, bytes, method =, crc =, size =, flags =,
-- position =, wide =}, made from the format's description.
local function zip(members)
  local text, entries, n = "", "", 0
  for _, m in ipairs(members) do
    local name, bytes = m[1], m[2]
    local size, crc = m.size or #bytes, m.crc or crc32(bytes)
    local at = m.position or #text
    local extra = m.wide and ("<I2I2i8i8i8"):pack(1, 24, size, #bytes, at) or ""
    text = text .. ("<c4I2I2I2I2I2I4I4I4I2I2"):pack("PK\3\4", 20, 0,
      m.method or 0, 0, 0, crc, #bytes, size & 0xffffffff, #name, 0) .. name ..
      bytes
    entries = entries .. ("<c4I2I2I2I2I2I2I4I4I4I2I2I2I2I2I4I4"):pack(
      "PK\1\2", 20, 20, m.flags or 0, m.method or 0, 0, 0, crc,
      m.wide and 0xffffffff or #bytes, m.wide and 0xffffffff or
      size & 0xffffffff, #name, #extra, 0, 0, 0, 0,
      m.wide and 0xffffffff or at) .. name .. extra
    n = n + 1
  end
  return text .. entries .. ("<c4I2I2I2I2I4I4I2"):pack("PK\5\6", 0, 0, n, n,
    #entries, #text, 0)
end

-- Returns the error of loading an archive with these bytes.
local function refused(bytes)
  local said
  with(bytes, function(path)
    local err = expect.failure(function() A.load(path) end)
    assert.equal("lze.array.load", err.call)
    assert.equal(path .. ": ", err.message:sub(1, #path + 2))
    said = err.code .. ": " .. err.message:sub(#path + 3)
  end)
  return said
end

describe("an archive", function()
  it("holds arrays by name", function()
    local x, y = A("float", {{1, 2}, {3, 4}}), A("int", {1, 2, 3})
    for _, compress in ipairs {false, true} do
      with(nil, function(path)
        A.save(path, {x = x:t(), ["weiß"] = y:gt(1), sum = y + 1,
          none = A.zeros {0, 3}, one = A.full({}, 7)}, {compress = compress})
        local t, names = A.load(path), {}
        for name, a in pairs(t) do
          names[#names + 1] = name
          assert.equal("array", lze.type(a))
        end
        table.sort(names)
        assert.same({"none", "one", "sum", "weiß", "x"}, names)
        assert.same({{1, 3}, {2, 4}}, t.x:table())
        assert.equal("array: uchar mask {3} [0 1 1]", tostring(t["weiß"]))
        assert.same({2, 3, 4}, t.sum:read())
        assert.same({0, 3}, t.none.shape)
        assert.equal(7, t.one:item())
      end)
    end
  end)

  it("holds one array, or a list, under NumPy's names", function()
    with(nil, function(path)
      local x = A("int", {5, 6})
      x:save(path)
      assert.same({5, 6}, A.load(path).arr_0:read())
      A.save(path, {x, x + 1})
      assert.same({6, 7}, A.load(path).arr_1:read())
      A.save(path, {})
      assert.same({}, A.load(path))
    end)
  end)

  it("is written by the format's description", function()
    local x = A("uchar", {1, 2, 3})
    local bytes = saved {x = x}
    local member
    with(nil, function(_, directory)
      x:save(directory .. "/x.npy")
      member = bytes_of(directory .. "/x.npy")
    end)
    assert.equal(("<c4I2I2I2I2I2I4I4I4I2I2"):pack("PK\3\4", 20, 0, 0, 0, 33,
      crc32(member), #member, #member, 5, 0) .. "x.npy" .. member,
      bytes:sub(1, 35 + #member))
    assert.equal(("<c4I2I2I2I2I4I4I2"):pack("PK\5\6", 0, 0, 1, 1, 51,
      35 + #member, 0), bytes:sub(-22))
    assert.equal(51 + 22 + 35 + #member, #bytes)
  end)

  it("is compressed on request", function()
    local x = A.zeros {100, 1000}
    local small = saved({x = x}, {compress = true})
    assert.is_true(#small < 5000)
    assert.is_true(#saved {x = x} > 400000)
    with(small, function(path)
      local y = A.load(path).x
      assert.same({100, 1000}, y.shape)
      assert.equal(0, y:abs():max():item())
    end)
  end)

  it("may have comments, other members and 64-bit sizes", function()
    local a = npy("\1\2\3", "(3,)")
    local bytes = zip {{"a.npy", a, wide = true}, {"b.txt", "hello"}}
    with(bytes:sub(1, -3) .. ("<I2"):pack(7) .. "comment", function(path)
      local t = A.load(path)
      assert.same({1, 2, 3}, t.a:read())
      assert.is_nil(t.b)
    end)
    local n, at = ("<I4I4"):unpack(bytes, #bytes - 9)
    local wide = bytes:sub(1, -23) .. ("<c4I8I2I2I4I4I8I8I8I8"):pack("PK\6\6",
      44, 45, 45, 0, 0, 2, 2, n, at) ..
      ("<c4I4I8I4"):pack("PK\6\7", 0, #bytes - 22, 1) ..
      ("<c4I2I2I2I2I4I4I2"):pack("PK\5\6", 0, 0, 0xffff, 0xffff, 0xffffffff,
        0xffffffff, 0)
    with(wide, function(path)
      assert.same({1, 2, 3}, A.load(path).a:read())
    end)
  end)

  it("is refused if it is cut or damaged", function()
    local whole = saved({x = A("uchar", {1, 2, 3})}, {compress = true})
    for n = 0, #whole - 1 do
      assert.matches("^INVALID_FILE: ", refused(whole:sub(1, n)))
    end
    assert.equal("INVALID_FILE: not an archive, or its end is missing",
      refused "")
    math.randomseed(53)
    for _ = 1, 300 do
      local at = math.random(#whole)
      with(whole:sub(1, at - 1) .. string.char(math.random(0, 255)) ..
        whole:sub(at + 1), function(path)
          local ok, err = pcall(A.load, path)
          assert.is_true(ok or type(err) == "table", tostring(err))
        end)
    end
  end)

  it("is refused if sizes, places or sums are wrong", function()
    local a = npy("\1\2\3", "(3,)")
    local function says(text, ...)
      assert.equal("INVALID_FILE: member 'a.npy': " .. text, refused(zip {...}))
    end
    says("its checksum is wrong", {"a.npy", a, crc = 1})
    says("1 bytes too many", {"a.npy", a .. "x"})
    says("3 bytes of elements, but 2 are there", {"a.npy", a:sub(1, -2)})
    says(#a + 1 .. " bytes, stored in " .. #a, {"a.npy", a, size = #a + 1})
    says("it is outside of the file", {"a.npy", a, position = 9999})
    says("it is outside of the file",
      {"a.npy", a, position = -1, wide = true})
    says("it is outside of the file", {"a.npy", a, wide = true,
      position = math.maxinteger})
    says("its header is missing", {"a.npy", a, position = 1})
    says("not a .npy file, which begins with \\x93NUMPY", {"a.npy", "text"})
    says("it overlaps another one", {"a.npy", a}, {"a.npy", a, position = 0})
    says("it is there twice", {"a.npy", a}, {"a.npy", a})
    -- A compressed member that says that it has more bytes than it can.
    says((1 << 40) .. " bytes, compressed to 100, which is impossible",
      {"a.npy", ("\0"):rep(100), method = 8, wide = true, size = 1 << 40})
    says("it is outside of the file", {"a.npy", a, method = 8, wide = true,
      size = -1})
    says("not a .npy file, which begins with \\x93NUMPY", {"a.npy",
      ("\xff"):rep(100), method = 8, size = 1000})
    assert.equal("UNSUPPORTED_FILE: member 'a.npy': it is encrypted",
      refused(zip {{"a.npy", a, flags = 1}}))
    assert.equal("UNSUPPORTED_FILE: member 'a.npy': compression method 12 " ..
      "(known: 0, stored, and 8, deflate)",
      refused(zip {{"a.npy", a, method = 12}}))
    assert.equal("UNSUPPORTED_FILE: member 'a??.npy': it is encrypted",
      refused(zip {{"a\n'.npy", a, flags = 1}}))
    local bytes = zip {{"a.npy", a}}
    local function ended(...)
      return refused(bytes:sub(1, -23) .. ("<c4I2I2I2I2I4I4I2"):pack("PK\5\6",
        ...))
    end
    local n, at = ("<I4I4"):unpack(bytes, #bytes - 9)
    assert.equal("UNSUPPORTED_FILE: an archive in several files",
      ended(1, 0, 1, 1, n, at, 0))
    assert.equal("INVALID_FILE: the directory is outside of the file",
      ended(0, 0, 1, 1, n, at + 1000, 0))
    assert.equal("INVALID_FILE: entry 2 of the directory is missing",
      ended(0, 0, 9, 9, n, at, 0))
  end)

  it("needs names, arrays and a file", function()
    local x = A("int", {1})
    local function says(text, ...)
      local arguments = table.pack(...)
      assert.equal("save: argument " .. text, expect.misuse(function()
        A.save(table.unpack(arguments, 1, arguments.n))
      end))
    end
    says("2 (arrays): a table of arrays expected, got nil", "x.npz")
    says("2 (arrays): a table of arrays expected, got array of int",
      "x.npz", x)
    says("2 (arrays): 'a': array expected, got integer 1", "x.npz", {a = 1})
    says("2 (arrays): a name or an index expected, got the key number 0.5",
      "x.npz", {[0.5] = x})
    says("2 (arrays): a name or an index expected, got the key string ''",
      "x.npz", {[""] = x})
    says("2 (arrays): two arrays have the name 'arr_0'", "x.npz",
      {x, arr_0 = x})
    says("3 (options): compress: boolean expected, got integer 1", "x.npz",
      {x}, {compress = 1})
    says("3 (options): unknown option level; there are compress", "x.npz", {x},
      {level = 1})
    says("1 (path): a name that ends in .npz expected, got 'x.csv'", "x.csv",
      {x})
    local closed = A("int", {1})
    closed:close()
    says("2 (arrays): 'a': the array is closed", "x.npz", {a = closed})
    with(nil, function(path, directory)
      assert.equal("ENOENT", expect.failure(function() A.load(path) end).code)
      assert(os.execute("mkfifo '" .. path .. "'"))
      os.execute("true >'" .. path .. "' &")
      local err = expect.failure(function() A.load(path) end)
      assert.matches("an archive in a pipe$", err.message)
      assert.equal("MISSING", select(2, pcall(function()
        A.save(directory .. "/b.npz", {x = A("bfloat16", {1})})
      end)):find "no dtype" and "MISSING")
    end)
  end)
end)

describe("NumPy", function()
  local python3 = os.getenv "PYTHON" or "python3"
  local pipe = io.popen(python3 .. " -c 'import numpy; print(1)' 2>/dev/null")
  local there = pipe:read "a" == "1\n"
  pipe:close()
  local check = there and it or pending

  check("reads archives of lze, and the other way round", function()
    with(nil, function(path, directory)
      A.save(directory .. "/a.npz", {x = A.arange(6), y = A("float", {{1}})})
      A.save(directory .. "/b.npz", {x = A.arange(6), y = A("float", {{1}})},
        {compress = true})
      local script = directory .. "/x.py"
      process.write(script, [[
import sys, numpy as np
for name in 'ab':
  z = np.load('%s/%s.npz' % (sys.argv[1], name))
  assert sorted(z) == ['x', 'y'] and (z['x'] == np.arange(1, 7)).all()
  assert z['y'].dtype == 'f4' and z['y'].shape == (1, 1)
for name, f in ('c', np.savez), ('d', np.savez_compressed):
  f('%s/%s.npz' % (sys.argv[1], name), np.arange(3.), q=np.eye(2))
print('same')
]])
      local python = io.popen(("%s '%s' '%s' 2>&1"):format(python3, script,
        directory))
      assert.equal("same\n", python:read "a")
      python:close()
      for _, name in ipairs {"c", "d"} do
        local t = A.load(directory .. "/" .. name .. ".npz")
        assert.same({0, 1, 2}, t.arr_0:read())
        assert.same({{1, 0}, {0, 1}}, t.q:table())
      end
      assert.is_nil(io.open(path))
    end)
  end)
end)
