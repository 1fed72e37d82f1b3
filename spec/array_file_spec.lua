-- array_file_spec.lua - arrays in files: NumPy files and pictures.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local png = require "spec.support.png"
local process = require "spec.support.process"
local A = lze.array

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Returns a file as NumPy writes it. The header is padded so that the elements
-- begin at a multiple of 64.
local function npy(header, elements, version)
  version = version or 1
  local width = version == 1 and 2 or 4
  header = header .. (" "):rep(-(8 + width + #header + 1) % 64) .. "\n"
  return "\x93NUMPY" .. string.char(version, 0) ..
    ("<I" .. width):pack(#header) .. header .. elements
end

local function header(descr, shape, fortran)
  return ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"):format(descr,
    fortran and "True" or "False", shape)
end

-- Calls f with the path of a file that contains `bytes`.
local function with(bytes, f)
  process.with_directory(function(directory)
    local path = directory .. "/x.npy"
    if bytes then process.write(path, bytes) end
    f(path, directory)
  end)
end

local function files(directory)
  local pipe = io.popen("ls -A '" .. directory .. "'")
  local text = pipe:read "a"
  pipe:close()
  return text
end

-- Returns the error of loading a file that contains `bytes`.
local function refused(bytes)
  local said
  with(bytes, function(path)
    local err = expect.failure(function() A.load(path) end)
    assert.equal("lze.array.load", err.call)
    assert.matches("^" .. path:gsub("%p", "%%%0") .. ": ", err.message)
    assert.matches("_spec%.lua:%d+$", err.where)
    said = err.code .. ": " .. err.message:sub(#path + 3)
  end)
  return said
end

describe("A.load", function()
  it("reads every element type that lze has, in both byte orders", function()
    for _, t in ipairs {
      {"i1", "char", "i1", {1, -2, 3, 4, 5, -128}},
      {"u1", "uchar", "I1", {1, 2, 3, 4, 5, 255}},
      {"i2", "short", "i2", {1, -2, 3, 4, 5, -32768}},
      {"u2", "ushort", "I2", {1, 2, 3, 4, 5, 65535}},
      {"i4", "int", "i4", {1, -2, 3, 4, 5, -2147483648}},
      {"u4", "uint", "I4", {1, 2, 3, 4, 5, 4294967295}},
      {"i8", "long", "i8", {1, -2, 3, 4, 5, math.mininteger}},
      {"u8", "ulong", "i8", {1, 2, 3, 4, 5, -1}},
      {"f4", "float", "f", {1.0, -2.5, 3.0, 4.0, 5.0, 2.0 ^ 100}},
      {"f8", "double", "d", {1.0, -2.5, 0.1, 4.0, 5.0, 2.0 ^ 1000}},
    } do
      local descr, kind, code, values = table.unpack(t)
      for _, order in ipairs {"<", ">", "=", "|"} do
        local packed = (order == "|" and "=" or order) .. code:rep(6)
        with(npy(header(order .. descr, "(2, 3)"),
            packed:pack(table.unpack(values))), function(path)
          local a = A.load(path)
          assert.equal(kind, a.type)
          assert.same({2, 3}, a.shape)
          assert.same(values, a:read(), order .. descr)
        end)
      end
    end
  end)

  it("reads halves and complex numbers in both byte orders", function()
    with(npy(header(">f2", "(2,)"), "\x3c\x00\xc1\x00"), function(path)
      local a = A.load(path)
      assert.equal("half", a.type)
      assert.same({1.0, -2.5}, a:read())
    end)
    with(npy(header(">c8", "(2,)"), (">ffff"):pack(1, 2, -3, 0.5)),
      function(path)
        local a = A.load(path)
        assert.equal("complex64", a.type)
        assert.same({{1.0, 2.0}, {-3.0, 0.5}}, a.buffer:read())
      end)
  end)

  it("reads booleans as a mask", function()
    with(npy(header("|b1", "(4,)"), "\0\1\2\255"), function(path)
      local a = A.load(path)
      assert.equal("uchar", a.type)
      assert.same({0, 1, 1, 1}, a:read())
      assert.same({1, 0, 0, 0}, (~a):read())
    end)
  end)

  it("keeps the indices of arrays in Fortran order", function()
    with(npy(header("<i4", "(2, 3)", true), ("<i4i4i4i4i4i4"):pack(11, 21, 12,
        22, 13, 23)), function(path)
      local a = A.load(path)
      assert.same({2, 3}, a.shape)
      assert.same({{11, 12, 13}, {21, 22, 23}}, a:table())
    end)
    with(npy(header("<i2", "(2, 2, 2)", true), ("<" .. ("i2"):rep(8)):pack(111,
        211, 121, 221, 112, 212, 122, 222)), function(path)
      assert.same({{{111, 112}, {121, 122}}, {{211, 212}, {221, 222}}},
        A.load(path):table())
    end)
    with(npy(header("<i2", "(3,)", true), ("<i2i2i2"):pack(1, 2, 3)),
      function(path) assert.same({1, 2, 3}, A.load(path):table()) end)
  end)

  it("reads versions 1 to 3 of the format", function()
    for version = 1, 3 do
      with(npy(header("<i2", "(1,)"), "\7\0", version), function(path)
        assert.same({7}, A.load(path):read())
      end)
    end
    assert.equal("UNSUPPORTED_FILE: version 4.0 of the format (known: 1.0, "
      .. "2.0, 3.0)", refused(npy(header("<i2", "(1,)"), "\7\0", 4)))
  end)

  it("reads scalars, empty arrays and eight dimensions", function()
    with(npy(header("<f4", "()"), ("<f"):pack(2.5)), function(path)
      local a = A.load(path)
      assert.same({}, a.shape)
      assert.equal(2.5, a:item())
    end)
    with(npy(header("<f4", "(0, 3)"), ""), function(path)
      assert.same({0, 3}, A.load(path).shape)
      assert.same({}, A.load(path):read())
    end)
    with(npy(header("<i2", "(1, 1, 1, 1, 1, 1, 2, 1)"), "\1\0\2\0"),
      function(path) assert.same({1, 2}, A.load(path):read()) end)
    assert.equal("UNSUPPORTED_FILE: an array of 9 dimensions (8 at most)",
      refused(npy(header("<i2", "(1, 1, 1, 1, 1, 1, 2, 1, 1)"), "\1\0\2\0")))
  end)

  it("reads headers in the styles of other programs", function()
    for _, text in ipairs {
      '{"shape":(2L,),"descr":"<i2","fortran_order":False}',
      "{ 'descr' : '<i2' , 'fortran_order' : False , 'shape' : ( +0x2 , ) }",
      "{'descr': 'int16', 'fortran_order': False, 'shape': (0_2,)}",
      "{'descr': '=h', 'fortran_order': (False), 'shape': (2,)}",
      "{'descr': u'<i2', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '\\<i2', 'fortran_order': False, 'shape': (2,)}",
    } do
      with(npy(text, "\1\0\2\0"), function(path)
        assert.same({1, 2}, A.load(path):read(), text)
      end)
    end
    with(npy(header("<i2", "(1,)"), "\1\0more"), function(path)
      assert.same({1}, A.load(path):read())
    end)
  end)

  it("refuses to save to a name with the extension of another format",
  function()
    with(nil, function(_, directory)
      for _, name in ipairs {"x.jpg", "x.npy.gz", "x."} do
        local path = directory .. "/" .. name
        assert.equal("save: argument 2 (path): a name that ends in .csv, " ..
          ".dat, .npy, .npz, .png, .tsv or .txt, or has no ending, " ..
          "expected, got '" .. path .. "'",
          expect.misuse(function() A("int", {1}):save(path) end))
        assert.equal("load: argument 1 (path): a name that ends in .csv, " ..
          ".dat, .npy, .npz, .tsv or .txt, or has no ending, expected, got '" ..
          path .. "'", expect.misuse(function() A.load(path) end))
      end
      for _, name in ipairs {"x.NPY", "x", ".x", "a.b/x"} do
        os.execute("mkdir -p '" .. directory .. "/a.b'")
        A("int", {1}):save(directory .. "/" .. name)
        assert.same({1}, A.load(directory .. "/" .. name):read())
      end
    end)
  end)

  it("keeps the bits of each half, including NaN, in every order", function()
    local bits = {0x7c01, 0x7e55, 0xfdab, 0xffff, 0x8000, 0x3c00}
    local function bytes(order)
      local parts = {}
      for i, k in ipairs(order) do parts[i] = ("<I2"):pack(bits[k]) end
      return table.concat(parts)
    end
    with(npy(header("<f2", "(2, 3)", true), bytes {1, 4, 2, 5, 3, 6}),
      function(path, directory)
        local a = A.load(path)
        local function saved(x)
          x:save(directory .. "/y.npy")
          return bytes_of(directory .. "/y.npy"):sub(129)
        end
        assert.equal(bytes {1, 2, 3, 4, 5, 6}, saved(a))
        assert.equal(bytes {1, 4, 2, 5, 3, 6}, saved(a:t()))
        assert.equal(bytes {6, 5, 4, 3, 2, 1}, saved(a:flip()))
        assert.equal(bytes {2, 3, 5, 6}, saved(a[{ {}, {2, 3} }]:clone()))
        assert.equal(bytes {2, 3, 1, 5, 6, 4}, saved(a:roll(-1, 2)))
        assert.equal(bytes {6, 1, 2, 3, 4, 5}, saved(a:roll(1)))
        assert.equal(bytes {1, 2, 3, 4, 5, 6}, saved(a:reshape(a.shape)))
        assert.equal(bytes {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6},
          saved(A.stack({a, a}, 3)))
        local b = A.zeros({2, 3}, {type = "half"})
        b:set(a)
        b[2] = a[1]
        assert.equal(bytes {1, 2, 3, 1, 2, 3}, saved(b))
      end)
    local ushorts = lze.buffer("ushort", {0x7f81, 0xffc1, 0x7fff, 0x3f80})
    local c = A("bfloat16", ushorts:view(1, 4, "bfloat16"), {2, 2}):t():clone()
    assert.same({0x7f81, 0x7fff, 0xffc1, 0x3f80},
      c.buffer:view(1, 4, "ushort"):read())
  end)

  it("names dtypes that lze does not have", function()
    for _, descr in ipairs {"|O", "<U5", "|S3", "<M8[ns]", "<f16", "|V2",
                            "<c32", "g", "<i3", ""} do
      assert.matches("^UNSUPPORTED_FILE: elements of dtype '" ..
        descr:gsub("%p", "%%%0") .. "' %(known: b1, i1", refused(npy(header(
          descr, "(1,)"), ("x"):rep(32))))
    end
    assert.equal("UNSUPPORTED_FILE: elements of several fields: dtype " ..
      "[('a', '<f4'), ('b', '<i4')]", refused(npy("{'descr': [('a', '<f4'), " ..
        "('b', '<i4')], 'fortran_order': False, 'shape': (1,), }", "12345678")))
  end)

  it("refuses damaged files", function()
    local function says(text, bytes)
      assert.equal("INVALID_FILE: " .. text, refused(bytes))
    end
    local whole = npy(header("<i4", "(3,)"), "123456789012")
    for n = 0, #whole - 1 do
      assert.matches("^INVALID_FILE: ", refused(whole:sub(1, n)))
    end
    says("12 bytes of elements, but 11 are there", whole:sub(1, -2))
    says("it ends in the header", whole:sub(1, 50))
    says("not a .npy file, which begins with \\x93NUMPY", "PK\3\4 and more")
    says("a header of 4294967295 bytes", "\x93NUMPY\2\0\255\255\255\255")
    says("the header lacks shape", npy("{'descr': '<i4', " ..
      "'fortran_order': False}", ""))
    says("the header has an unknown key, 'order'", npy("{'descr': '<i4', " ..
      "'fortran_order': False, 'shape': (1,), 'order': 1}", "1234"))
    for _, open in ipairs {"(", "[", "{'a': "} do
      says("the header is not a dictionary of Python's",
        npy(open:rep(1000000 // #open), "", 2))
    end
    says("fortran_order is neither True nor False", npy("{'descr': '<i4', " ..
      "'fortran_order': 1, 'shape': (1,)}", "1234"))
    for _, shape in ipairs {"3", "(1)", "[1]", "[1, 1]", "{'a': 1}"} do
      says("the shape is not a tuple", npy(header("<i4", shape), "1234"))
    end
    says("dimension 1 of the shape is not a size",
      npy(header("<i4", "(-1,)"), "1234"))
    says("dimension 2 of the shape is not a size",
      npy(header("<i4", "(1, 1.5)"):gsub("1%.5", "'a'"), "1234"))
    says("a shape of more elements than any memory has",
      npy(header("<i4", "(4611686018427387904, 2)"), "1234"))
    says("a shape of more elements than any memory has",
      npy(header("<i4", "(4611686018427387904,)"), "1234"))
    for _, text in ipairs {"", "nonsense", "{", "{'descr'", "{'descr':}",
        "{'descr': '<i4}", "{'descr': '<i4' 'fortran_order': False}", "()",
        header("<i4", "(1,"), header("<i4", "(1 2)"),
        header("<i4", "(,)"), header("<i4", "(1,)") .. "more", "{[]: 1}",
        "{'descr': '<i4', 'descr': '<i4'}", ("("):rep(199),
        header("<i4", "(99999999999999999999999999,)")} do
      assert.matches("^INVALID_FILE: ", refused(npy(text, "1234")), text)
    end
  end)

  it("never crashes on corrupted bytes", function()
    local whole = npy(header("<i4", "(3,)"), "123456789012")
    math.randomseed(22)
    for _ = 1, 300 do
      local at = math.random(#whole)
      local bytes = whole:sub(1, at - 1) .. string.char(math.random(0, 255)) ..
        whole:sub(at + 1)
      with(bytes, function(path)
        local ok, err = pcall(A.load, path)
        assert.is_true(ok or type(err) == "table", tostring(err))
      end)
    end
  end)

  it("refuses a file that is larger than memory", function()
    with(npy(header("<f8", "(1024, 1024, 1024, 1024)"), ""), function(path)
      -- A sparse file, if the file system supports it.
      local holes = os.execute("truncate -s 8796093022336 '" .. path ..
        "' 2>/dev/null")
      local err = expect.failure(function() A.load(path) end)
      assert.matches(holes and "^asked for 8%.0 TiB"
        or "bytes of elements, but", err.message)
    end)
  end)

  it("says why a file cannot be read", function()
    with(nil, function(path, directory)
      local err = expect.failure(function() A.load(path) end)
      assert.equal("open", err.call)
      assert.equal("ENOENT", err.code)
      assert.equal(path .. ": No such file or directory", err.message)
      err = expect.failure(function() A.load(directory .. "/") end)
      assert.equal("EISDIR", err.code)
    end)
    assert.matches("^load: argument 1 %(path%): string expected, got nil",
      expect.misuse(function() A.load() end))
    assert.matches("zero byte", expect.misuse(function() A.load "a\0b" end))
    assert.equal("load: argument 2 (options): unknown option typ; there are " ..
      "none", expect.misuse(function() A.load("a.npy", {typ = 1}) end))
  end)

  it("reads a pipe to its end", function()
    local bytes = npy(header("<i4", "(3,)"), "123456789012")
    with(bytes, function(path, directory)
      local pipe, short = directory .. "/pipe", directory .. "/short"
      assert(os.execute(("mkfifo '%s' '%s'"):format(pipe, short)))
      os.execute(("cat '%s' >'%s' &"):format(path, pipe))
      assert.same({3}, A.load(pipe).shape)
      os.execute(("head -c %d '%s' >'%s' &"):format(#bytes - 5, path, short))
      local err = expect.failure(function() A.load(short) end)
      assert.matches("5 bytes of elements are missing", err.message)
    end)
  end)
end)

describe("a:save", function()
  it("writes the same bytes as NumPy", function()
    with(nil, function(path, directory)
      for _, t in ipairs {
        {A("float", {{1, 2, 3}, {4, 5, 6}}), "<f4", "(2, 3)", "ffffff"},
        {A("double", {1, 2, 3, 4, 5, 6}), "<f8", "(6,)", "dddddd"},
        {A("char", {1, 2, 3, 4, 5, 6}), "|i1", "(6,)", "i1i1i1i1i1i1"},
        {A("ulong", {{{1, 2, 3, 4, 5, 6}}}), "<u8", "(1, 1, 6)",
          "i8i8i8i8i8i8"},
      } do
        t[1]:save(path)
        assert.equal(npy(header(t[2], t[3]), ("<" .. t[4]):pack(1, 2, 3, 4, 5,
          6)), bytes_of(path))
      end
      A("int", {1, 2, 3}):gt(1):save(path)
      assert.equal(npy(header("|b1", "(3,)"), "\0\1\1"), bytes_of(path))
      A.full({}, 2.5):save(path)
      assert.equal(npy(header("<f4", "()"), ("<f"):pack(2.5)), bytes_of(path))
      A("float", 0):save(path)
      assert.equal(npy(header("<f4", "(0,)"), ""), bytes_of(path))
      assert.equal("x.npy\n", files(directory))
    end)
  end)

  it("evaluates expressions, and writes views in index order", function()
    with(nil, function(path)
      local a = A("int", {{1, 2, 3}, {4, 5, 6}})
      a:t():save(path)
      assert.same({{1, 4}, {2, 5}, {3, 6}}, A.load(path):table())
      a[{ {}, {3, 1, -2} }]:save(path)
      assert.same({{3, 1}, {6, 4}}, A.load(path):table());
      (a * 2 + 1):save(path)
      assert.same({{3, 5, 7}, {9, 11, 13}}, A.load(path):table())
    end)
  end)

  it("leaves no partly written file", function()
    with("old", function(path, directory)
      local err = expect.misuse(function()
        A("bfloat16", {1, 2}):save(path)
      end)
      assert.matches("elements of bfloat16 have no dtype", err)
      assert.equal("old", bytes_of(path))
      assert.equal("x.npy\n", files(directory))
      err = expect.failure(function()
        A("int", {1}):save(directory .. "/none/x.npy")
      end)
      assert.equal("ENOENT", err.code)
      assert.equal("EISDIR", expect.failure(function()
        A("int", {1}):save(directory .. "/")
      end).code)
      -- A limit on the file size stands in for a full disk.
      process.run(([[
        local lze = require "lze"
        print(pcall(lze.array("float", 1 << 20).save,
          lze.array("float", 1 << 20), %q))]]):format(path),
        {before = "ulimit -f 16; trap '' XFSZ"})
      assert.equal("old", bytes_of(path))
      assert.equal("x.npy\n", files(directory))
    end)
  end)

  it("keeps links and permissions, and writes to devices", function()
    with("old", function(path, directory)
      os.execute(("chmod 640 '%s'; ln -s x.npy '%s/link'"):format(path,
        directory))
      A("int", {5}):save(directory .. "/link")
      assert.same({5}, A.load(path):read())
      local pipe = io.popen(("stat -c %%a '%s'; readlink '%s/link'"):format(
        path, directory))
      assert.equal("640\nx.npy\n", pipe:read "a")
      pipe:close()
      -- The target of a link need not exist, nor the target of a link to a
      -- link.
      os.execute(("cd '%s'; mkdir d; ln -s ../new d/to; "
        .. "ln -s \"$PWD/d/to\" far"):format(directory))
      A("int", {7}):save(directory .. "/far")
      assert.equal("d\nfar\nlink\nnew\nx.npy\n", files(directory))
      assert.same({7}, A.load(directory .. "/new"):read())
      assert.same({7}, A.load(directory .. "/far"):read())
      os.execute(("cd '%s'; ln -s round round"):format(directory))
      assert.equal("ELOOP", expect.failure(function()
        A("int", {1}):save(directory .. "/round")
      end).code)
      os.remove(directory .. "/d/to")
      os.remove(directory .. "/d")
      A("int", {1}):save "/dev/null"
      pipe = io.popen "stat -c %F /dev/null"
      assert.equal("character special file\n", pipe:read "a")
      pipe:close()
    end)
  end)
end)

describe("NumPy", function()
  local python3 = os.getenv "PYTHON" or "python3"
  local pipe = io.popen(python3 .. " -c 'import numpy; print(1)' 2>/dev/null")
  local there = pipe:read "a" == "1\n"
  pipe:close()
  local check = there and it or pending

  check("reads what lze writes, and the other way round", function()
    with(nil, function(_, directory)
      local script = directory .. "/x.py"
      process.write(script, [[
import sys, numpy as np
from numpy.lib import format
n = 0
for kind in 'b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8'.split():
  for order in '<>':
    for layout in 'CF':
      for version in (1, 0), (2, 0), (3, 0):
        a = np.array(np.arange(24).reshape(2, 3, 4) % 11,
                     dtype=np.dtype(kind).newbyteorder(order), order=layout)
        n += 1
        with open('%s/%d.npy' % (sys.argv[1], n), 'wb') as f:
          format.write_array(f, a, version=version)
print(n)
]])
      local python = io.popen(("%s '%s' '%s'"):format(python3, script,
        directory))
      local n = python:read "n"
      python:close()
      for i = 1, n do
        local file = ("%s/%d.npy"):format(directory, i)
        local a = A.load(file)
        assert.same({2, 3, 4}, a.shape)
        a:save(file)
      end
      process.write(script, [[
import sys, numpy as np
for i in range(1, int(sys.argv[2]) + 1):
  a = np.load('%s/%d.npy' % (sys.argv[1], i))
  b = (np.arange(24).reshape(2, 3, 4) % 11).astype(a.dtype)
  assert a.shape == b.shape and (a == b).all() and a.flags.c_contiguous
print('same')
]])
      python = io.popen(("%s '%s' '%s' %d 2>&1"):format(python3, script,
        directory, n))
      assert.equal("same\n", python:read "a")
      python:close()
    end)
  end)
end)

describe("A.open", function()
  it("gives the array in a file", function()
    with(nil, function(path)
      for kind, values in pairs {char = {-1, 2, 3, 4, 5, 6},
        ulong = {1, 2, 3, 4, 5, 6}, half = {0.5, 2, 3, 4, 5, 6},
        double = {0.1, 2, 3, 4, 5, 6}} do
        A(kind, values, {2, 3}):save(path)
        local a = A.open(path)
        assert.equal(kind, a.type)
        assert.same({2, 3}, a.shape)
        assert.same(values, a:read())
        assert.same(A(kind, values, {2, 3}):t():read(), a:t():read())
        assert.equal(A(kind, values):sum():item(), a:sum():item())
        assert.same({4, 5, 6}, a[2]:read())
        a:close()
        assert.matches("the array is closed", expect.misuse(function()
          a:read()
        end))
      end
      A("int", {1, 2, 3}):gt(1):save(path)
      assert.equal("array: uchar {3} [0 1 1]", tostring(A.open(path)))
    end)
    with(npy(header("<i2", "(2, 3)", true), ("<i2i2i2i2i2i2"):pack(1, 4, 2, 5,
      3, 6)), function(path)
      assert.same({{1, 2, 3}, {4, 5, 6}}, A.open(path):table())
    end)
    with(npy(header("<i2", "(0, 3)"), ""), function(path)
      assert.same({0, 3}, A.open(path).shape)
    end)
  end)

  it("sums a file that is larger than memory", function()
    local n = 1 << 30
    with(npy(header("<i8", "(1024, " .. n .. ")"), ""), function(path)
      local file <close> = assert(io.open(path, "r+b"))
      local start = file:seek "end"
      if not os.execute(("truncate -s %d '%s' 2>/dev/null"):format(
        start + 8192 * n, path)) then
        pending "no sparse files of 8 TiB"
      end
      file:seek("set", start + 8192 * n - 8)
      file:write(("<i8"):pack(7))
      file:close()
      local a = A.open(path)
      if lze.stats().bytes > 1 << 40 then pending "the device has a copy" end
      assert.equal(1024 * n, a.size)
      assert.equal(7, a[{-1, {-1000, -1}}]:sum():item())
      assert.equal(0, a[{512, n}])
    end)
  end)

  it("writes to the file only with write = true", function()
    with(nil, function(path)
      A("int", {{1, 2, 3}, {4, 5, 6}}):save(path)
      local before = bytes_of(path)
      local a = A.open(path)
      local text = "the array is open for reading only; A.open(path, " ..
        "{write = true}) opens a file for writing, a:clone() is a copy"
      for name, f in pairs {
        ["a[i] = v"] = function() a[1] = 0 end,
        ["a[{...}] = v"] = function() a[{{}, 1}] = 0 end,
        ["a[m] = v"] = function() a[a:gt(1)] = 0 end,
        set = function() a:set(a + 1) end,
        fill = function() a:t()[1]:fill(0) end,
        copy = function() a:copy(A.zeros({2, 3}, {type = "int"})) end,
      } do
        assert.equal(name .. ": " .. text, expect.misuse(f))
      end
      assert.equal("a[i] = v: " .. text, expect.misuse(function()
        a[1][2] = 7
      end))
      a.buffer:fill(0)
      assert.same({0, 0, 0, 0, 0, 0}, a:read())
      assert.equal(before, bytes_of(path))
      assert.same({2, 3, 4, 5, 6, 7}, (A.open(path) + 1):read())
      local b = A.open(path, {write = true})
      b[{1, 2}] = 20
      b[2]:set(b[2] * 10)
      b:close()
      assert.same({1, 20, 3, 40, 50, 60}, A.load(path):read())
    end)
  end)

  it("frees the mapping", function()
    with(nil, function(path)
      A("int", {1, 2, 3}):save(path)
      local function mapped()
        local n = 0
        for line in io.lines "/proc/self/maps" do
          if line:find(path, 1, true) then n = n + 1 end
        end
        return n
      end
      local a = A.open(path)
      local b = a * 2
      assert.is_true(mapped() <= 1)
      a:close()
      assert.same({2, 4, 6}, b:read())
      assert.equal(0, mapped())
      for _ = 1, 20 do A.open(path) end
      collectgarbage()
      collectgarbage()
      assert.equal(0, mapped())
    end)
  end)

  it("refuses what it cannot map", function()
    local function says(text, bytes)
      with(bytes, function(path)
        local err = expect.failure(function() A.open(path) end)
        assert.equal(path .. ": " .. text, err.message)
      end)
    end
    says("elements in another machine's byte order; A.load reads it",
      npy(header(">i4", "(1,)"), "1234"))
    local text = header("<i4", "(1,)") .. "\n"
    if #text % 4 == 2 then text = " " .. text end
    says("elements at odd addresses; A.load reads it", "\x93NUMPY\1\0" ..
      ("<I2"):pack(#text) .. text .. "1234")
    says("12 bytes of elements, but 11 are there",
      npy(header("<i4", "(3,)"), "12345678901"))
    says("not a .npy file, which begins with \\x93NUMPY", "text")
    assert.equal("open: argument 1 (path): string expected, got nil",
      expect.misuse(function() A.open() end))
    assert.equal("open: argument 2 (options): write: boolean expected, got " ..
      "integer 1", expect.misuse(function() A.open("x", {write = 1}) end))
    assert.equal("open: argument 2 (options): unknown option mode; there " ..
      "are write, device",
      expect.misuse(function() A.open("x", {mode = 1}) end))
  end)
end)

-- Pictures ------------------------------------------------------------------

describe("a:save of a picture", function()
  it("writes grey, RGB and RGBA pictures", function()
    with(nil, function(_, directory)
      local path = directory .. "/x.png"
      for _, t in ipairs {{{2, 3}, 0, 3}, {{2, 3, 3}, 2, 9},
                          {{2, 3, 4}, 6, 12}} do
        local shape, kind, row = table.unpack(t)
        local values = {}
        for i = 1, 2 * row do values[i] = i * 7 end
        A("uchar", values, shape):save(path, {compress = false})
        local c = png.chunks(bytes_of(path))
        assert.equal("IHDR IDAT IEND", table.concat(c, " "))
        assert.equal((">I4I4BBBBB"):pack(3, 2, 8, kind, 0, 0, 0), c.IHDR)
        local text = string.char(table.unpack(values))
        assert.equal("\0" .. text:sub(1, row) .. "\0" .. text:sub(row + 1),
          png.stored(c.IDAT))
      end
      assert.equal("x.png\n", files(directory))
    end)
  end)

  it("writes pictures of more than one block", function()
    with(nil, function(_, directory)
      local path = directory .. "/x.png"
      A("uchar", 300 * 300, {300, 300}):save(path, {compress = false})
      local c = png.chunks(bytes_of(path))
      assert.equal(("\0"):rep(301 * 300), png.stored(c.IDAT))
    end)
  end)

  it("compresses if the system has zlib", function()
    with(nil, function(_, directory)
      local path = directory .. "/x.png"
      A("uchar", 300 * 300, {300, 300}):save(path)
      local bytes = bytes_of(path)
      local c = png.chunks(bytes)
      assert.equal((">I4I4BBBBB"):pack(300, 300, 8, 0, 0, 0, 0), c.IHDR)
      local unpack = #bytes > 90000 and png.stored or png.unpacked
      assert.equal(("\0"):rep(300 * 301), unpack(c.IDAT))
    end)
  end)

  it("refuses an array that is not a picture", function()
    with(nil, function(_, directory)
      local path = directory .. "/x.png"
      local function says(text, a)
        assert.matches(text, expect.misuse(function() a:save(path) end))
      end
      says("a picture is of uchar and of shape {h, w}, {h, w, 3} or {h, w, 4}; "
        .. "this is float {2, 2}", A("float", {{1, 2}, {3, 4}}))
      says("this is uchar {4}", A("uchar", 4))
      says("this is uchar {1, 2, 2}", A("uchar", 4, {1, 2, 2}))
      says("a picture of 3 by 0 pixels", A("uchar", 0, {0, 3}))
      assert.equal("", files(directory))
    end)
  end)
end)
