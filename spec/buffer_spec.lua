-- buffer_spec.lua - making, reading and writing buffers.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local usages = {"shared", "device", "host"}

-- Returns a buffer of ints 1..n with that usage.
local function counting(n, usage)
  local t = {}
  for i = 1, n do t[i] = i end
  return lze.buffer("int", t, {usage = usage})
end

describe("lze.buffer", function()
  it("makes zeros from a count", function()
    for _, usage in ipairs(usages) do
      local x = lze.buffer("int", 5, {usage = usage})
      assert.equal(5, #x)
      assert.same({0, 0, 0, 0, 0}, x:read())
      assert.equal(usage, x.usage)
    end
    assert.equal("shared", lze.buffer("int", 5).usage)
    assert.equal(3, #lze.buffer("int", 3.0))
  end)

  it("fills reused memory with zeros", function()
    for _ = 1, 20 do
      local x = lze.buffer("int", 1000)
      assert.equal(("\0"):rep(4000), x:string())
      x:fill(-1)
      x:string()
      x:close()
    end
  end)

  it("leaves the contents undefined with zero = false #undefined", function()
    local x = lze.buffer("int", 4, {zero = false})
    assert.equal(4, #x)
    assert.equal(16, #x:string())
    assert.same({5, 6, 7, 8}, x:write({5, 6, 7, 8}):read())
    assert.same({0, 0}, lze.buffer("int", 2, {zero = true}):read())
  end)

  it("takes a table", function()
    for _, usage in ipairs(usages) do
      local x = lze.buffer("float", {1, 2.5, -3}, {usage = usage})
      assert.same({1.0, 2.5, -3.0}, x:read())
    end
  end)

  it("takes a table with __len and __index", function()
    local function proxy(n, holes)
      return setmetatable({7}, {
        __len = function() return n end,
        __index = function(_, i) return not holes and i * 11 or nil end
      })
    end
    for _, usage in ipairs(usages) do
      local x = lze.buffer("int", proxy(3), {usage = usage})
      assert.same({7, 22, 33}, x:read())
      assert.same({7, 7, 22}, x:write(proxy(2), 2):read())
      assert.same({7, 7, 22}, x:write(proxy(0)):read())
      assert.matches("index 2: int expected .*, got nil",
        expect.misuse(function() x:write(proxy(3, true)) end))
      assert.matches("do not fit a buffer of 3",
        expect.misuse(function() x:write(proxy(4)) end))
      assert.same({7, 7, 22}, x:read())
      local closing = setmetatable({1}, {
        __len = function() x:close() return 1 end
      })
      assert.matches("the buffer is closed",
        expect.misuse(function() x:write(closing) end))
    end
  end)

  it("takes the bytes of a string", function()
    for _, usage in ipairs(usages) do
      local x = lze.buffer("ushort", "\1\0\2\0\0\1", {usage = usage})
      assert.same({1, 2, 256}, x:read())
      assert.equal("\1\0\2\0\0\1", x:string())
    end
  end)

  it("may be empty", function()
    for _, usage in ipairs(usages) do
      for _, from in ipairs {0, {}, ""} do
        local x = lze.buffer("double", from, {usage = usage})
        assert.equal(0, #x)
        assert.equal(0, x.bytes)
        assert.same({}, x:read())
        assert.equal("", x:string())
        assert.equal(x, x:fill(1))
        assert.equal(x, x:write {})
        assert.equal(x, x:copy(x))
        assert.equal(0, #x:view(1, 0))
        assert.is_false(x:pending())
        assert.equal("integer", math.type(x.pointer))
        x:close()
      end
    end
  end)

  it("refuses invalid contents", function()
    assert.equal("bad argument #2 to 'buffer' (count: -1 is negative)",
      expect.misuse(function() lze.buffer("int", -1) end))
    assert.equal("bad argument #2 to 'buffer' (count: integer expected, got " ..
      "number 1.5)", expect.misuse(function() lze.buffer("int", 1.5) end))
    assert.equal("bad argument #2 to 'buffer' (count, table, string or " ..
      "buffer expected, got nil)",
      expect.misuse(function() lze.buffer("int") end))
    assert.equal("bad argument #2 to 'buffer' (count, table, string or " ..
      "buffer expected, got boolean)",
      expect.misuse(function() lze.buffer("int", true) end))
    assert.equal("bad argument #2 to 'buffer' (5 bytes are not a whole " ..
      "number of int (4 bytes each))",
      expect.misuse(function() lze.buffer("int", "hello") end))
    assert.equal("bad argument #2 to 'buffer' (count: 4611686018427387904 " ..
      "int are larger than any memory)",
      expect.misuse(function() lze.buffer("int", 1 << 62) end))
  end)

  it("names the index of a hole or of a value that does not fit", function()
    local range = "int expected (an integer from -2147483648 to 2147483647)"
    assert.equal("bad argument #2 to 'buffer' (index 2: " .. range ..
      ", got nil)",
      expect.misuse(function() lze.buffer("int", {1, nil, 3}) end))
    assert.equal("bad argument #2 to 'buffer' (index 3: " .. range ..
      ", got number 2.5)",
      expect.misuse(function() lze.buffer("int", {1, 2, 2.5}) end))
    assert.equal("bad argument #2 to 'buffer' (index 1: " .. range ..
      ", got string 'a')",
      expect.misuse(function() lze.buffer("int", {"a"}) end))
    assert.equal("bad argument #2 to 'buffer' (index 2: float expected, " ..
      "got nil)",
      expect.misuse(function() lze.buffer("float", {1, [5] = 2}) end))
  end)

  it("refuses unknown and invalid options", function()
    assert.equal("unknown key 'useage' in a buffer's options (known: usage, " ..
      "device, context, zero)", expect.misuse(function()
        lze.buffer("int", 1, {useage = "host"})
      end))
    assert.equal("unknown key '1' in a buffer's options (known: usage, " ..
      "device, context, zero)", expect.misuse(function()
        lze.buffer("int", 1, {"host"})
      end))
    assert.equal("option usage: shared, device or host expected, got " ..
      "string 'local'", expect.misuse(function()
        lze.buffer("int", 1, {usage = "local"})
      end))
    assert.equal("option usage: shared, device or host expected, got " ..
      "integer 1", expect.misuse(function()
        lze.buffer("int", 1, {usage = 1})
      end))
    assert.equal("option zero: boolean expected, got integer 0",
      expect.misuse(function() lze.buffer("int", 1, {zero = 0}) end))
    assert.equal("option device: device or selector expected, got table",
      expect.misuse(function() lze.buffer("int", 1, {device = {}}) end))
    assert.equal("option context: context expected, got lze.device",
      expect.misuse(function()
        lze.buffer("int", 1, {context = lze.device()})
      end))
    assert.equal("bad argument #3 to 'buffer' (table expected, got string)",
      expect.misuse(function() lze.buffer("int", 1, "host") end))
  end)

  it("takes a device and a context", function()
    local d = lze.device()
    local x = lze.buffer("int", 1, {device = d, context = d.context})
    assert.equal(d, x.device)
    assert.equal(d.context, x.context)
    assert.equal(d, lze.buffer("int", 1, {device = 1}).device)
    assert.equal(d, lze.buffer("int", 1, {device = "*"}).device)
  end)

  it("reports the requested size if it finds no memory", function()
    local err = expect.failure(function() lze.buffer("char", 1 << 46) end)
    assert.equal("zeMemAllocShared", err.call)
    assert.matches("^ERROR_", err.code)
    assert.equal("integer", math.type(err.result))
    assert.matches("^asked for 64%.0 TiB; in use by this state .*, of it " ..
      "pinned by work in flight .*; free .* of the device's ", err.message)
    assert.matches("_spec%.lua:%d+$", err.where)
    for _, usage in ipairs {"device", "host"} do
      err = expect.failure(function()
        lze.buffer("char", 1 << 46, {usage = usage})
      end)
      assert.equal(usage == "host" and "zeMemAllocHost" or "zeMemAllocDevice",
        err.call)
    end
    assert.equal(0, lze.buffer("char", 1)[1]) -- the next call works
  end)
end)

describe("the fields of a buffer", function()
  it("describe it", function()
    local x = lze.buffer("float4", 10, {usage = "host"})
    assert.equal("float4", x.type)
    assert.equal("host", x.usage)
    assert.equal(160, x.bytes)
    assert.equal("integer", math.type(x.pointer))
    assert.equal(0, x.pointer % 128)
    assert.equal(("userdata: 0x%x"):format(x.pointer), (tostring(x.handle)
      :gsub("^userdata: 0x0+", "userdata: 0x")))
  end)

  it("are listed in errors, and cannot be set", function()
    local x = lze.buffer("int", 1)
    local known = " in a buffer (known: bytes, close, context, copy, " ..
      "copy_box, device, display, export, fill, handle, load, pending, " ..
      "pointer, read, save, string, type, usage, view, write)"
    assert.equal("no field 'size'" .. known,
      expect.misuse(function() return x.size end))
    assert.equal("a buffer has no field that can be set (string 'type')",
      expect.misuse(function() x.type = "float" end))
    assert.equal("a buffer has no field that can be set (boolean)",
      expect.misuse(function() x[true] = 1 end))
    assert.equal("no field boolean" .. known,
      expect.misuse(function() return x[true] end))
  end)
end)

describe("an element", function()
  it("that is a vector is a copy, but setting its parts writes to the buffer",
  function()
    local x = lze.buffer("float4", {{1, 2, 3, 4}, {5, 6, 7, 8}})
    local copy = x[1]
    copy[2] = 99
    x[2][3] = 77
    assert.same({{1, 99, 3, 4}, {5, 6, 77, 8}}, x:read())
    x[1] = {0, 0, 0, 0}
    assert.same({1.0, 99.0, 3.0, 4.0}, {table.unpack(copy)})
    x[1], x[2] = x[2], copy
    assert.same({{5, 6, 77, 8}, {1, 99, 3, 4}}, x:read())
    local other = lze.buffer("double4", 1)
    other:write {x[2]}
    other[1][1] = other[1][1] + 1
    other:view():fill(other[1])
    assert.same({{2, 99, 3, 4}}, other:read())
    local seen = {}
    for i, v in pairs(copy) do seen[i] = v end
    assert.same({1.0, 99.0, 3.0, 4.0}, seen)
    assert.equal("1.0 99.0 3.0 4.0", table.concat(copy, " "))
    assert.equal(4, #copy)
    assert.is_nil(copy[5])
    assert.equal("{1.0, 99.0, 3.0, 4.0}", tostring(copy))
    assert.equal("a vector of 4 has no element integer 5",
      expect.misuse(function() x[1][5] = 1 end))
    assert.equal("index 2: float expected, got string 'a'",
      expect.misuse(function() x[1][2] = "a" end))
    local body = lze.buffer(lze.struct "int n; float2 at",
      {{n = 1, at = {1, 2}}})
    body[1].at[2] = 7
    assert.same({{n = 1, at = {1, 7}}}, body:read())
    x:close()
    assert.equal("the buffer of this element is closed",
      expect.misuse(function() copy[1] = 1 end))
    assert.equal(99, copy[2])
  end)

  it("is read and written by a 1-based index", function()
    for _, usage in ipairs {"shared", "host"} do
      local x = lze.buffer("int", 3, {usage = usage})
      x[1], x[2], x[3.0] = 10, 20, 30
      assert.equal(10, x[1])
      assert.equal(30, x[3])
      assert.equal(20, x[2.0])
      assert.same({10, 20, 30}, x:read())
    end
  end)

  it("outside the buffer is nil", function()
    local x = counting(3)
    for _, i in ipairs {0, 4, -1, math.mininteger, math.maxinteger} do
      assert.is_nil(x[i])
    end
  end)

  it("outside the buffer cannot be written", function()
    local x = counting(3)
    for _, i in ipairs {0, 4, -1, math.mininteger, math.maxinteger} do
      assert.equal(("index %d is outside 1..3"):format(i),
        expect.misuse(function() x[i] = 1 end))
    end
    assert.same({1, 2, 3}, x:read())
  end)

  it("has an integer index", function()
    local x = counting(3)
    assert.equal("a buffer's index is an integer, got number 1.5",
      expect.misuse(function() return x[1.5] end))
    assert.equal("a buffer's index is an integer, got number 1.5",
      expect.misuse(function() x[1.5] = 1 end))
  end)

  it("of a device buffer cannot be accessed", function()
    local x = counting(3, "device")
    local message = "a device buffer has no elements on the host: use :read " ..
      "or :write"
    assert.equal(message, expect.misuse(function() return x[1] end))
    assert.equal(message, expect.misuse(function() x[1] = 1 end))
    assert.same({1, 2, 3}, x:read())
  end)

  it("is visited by pairs", function()
    local x, seen = lze.buffer("int2", {{1, 2}, {3, 4}, {5, 6}}), {}
    for i, v in pairs(x) do seen[i] = {table.unpack(v)} end
    assert.same({{1, 2}, {3, 4}, {5, 6}}, seen)
    for _ in pairs(lze.buffer("int", 0)) do error "one of none" end
    assert.equal("a device buffer has no elements on the host: use :read or " ..
      ":write", expect.misuse(function()
        for i in pairs(lze.buffer("int", 1, {usage = "device"})) do
          error("element " .. i)
        end
      end))
    assert.equal("bad argument #1 to 'for iterator' (the buffer is closed)",
      expect.misuse(function() for _ in pairs(x) do x:close() end end))
  end)

  it("is visited by ipairs and the functions of table", function()
    local x = lze.buffer("int", {3, 1, 4, 1, 5})
    local seen = {}
    for i, v in ipairs(x) do seen[i] = v end
    assert.same({3, 1, 4, 1, 5}, seen)
    assert.equal("3 1 4 1 5", table.concat(x, " "))
    assert.same({3, 1, 4, 1, 5}, {table.unpack(x)})
    assert.same({1, 4}, {table.unpack(x, 2, 3)})
    assert.same({3, 1, 4, 1, 5}, table.move(x, 1, #x, 1, {}))
    table.move({7, 8}, 1, 2, 4, x)
    assert.same({3, 1, 4, 7, 8}, x:read())
    table.move(x, 1, 3, 2)
    assert.same({3, 3, 1, 4, 8}, x:read())
    table.sort(x)
    assert.same({1, 3, 3, 4, 8}, x:read())
    assert.equal(5, #x)
    assert.equal(5, select("#", table.unpack(x)))
  end)
end)

describe("read", function()
  it("takes a range", function()
    for _, usage in ipairs(usages) do
      local x = counting(6, usage)
      assert.same({1, 2, 3, 4, 5, 6}, x:read())
      assert.same({3, 4, 5, 6}, x:read(3))
      assert.same({3, 4}, x:read(3, 4))
      assert.same({6}, x:read(6))
      assert.same({5, 6}, x:read(-2))
      assert.same({4, 5}, x:read(-3, -2))
      assert.same({1, 2, 3, 4, 5, 6}, x:read(-6, -1))
      assert.same({1, 2}, x:read(nil, 2))
      assert.same({}, x:read(1, 0))
      assert.same({}, x:read(4, 3))
      assert.same({}, x:read(7, 6))
      assert.same({}, x:read(7))
    end
  end)

  it("fills the given table", function()
    local x = counting(3)
    local t = {9, 9, 9, 9}
    assert.equal(t, x:read(1, -1, t))
    assert.same({1, 2, 3, 9}, t)
    assert.same({3, 2, 3, 9}, x:read(3, 3, t))
    assert.same({3, 2, 3, 9}, x:read(3, 2, t))
  end)

  it("reads more than one piece", function()
    for _, usage in ipairs(usages) do
      local n = 5000
      local x = counting(n, usage)
      local t = x:read()
      for i = 1, n do
        if t[i] ~= i then error(("%s: t[%d] is %s"):format(usage, i, t[i])) end
      end
      assert.is_nil(t[n + 1])
    end
  end)

  it("refuses ranges outside the buffer", function()
    for _, usage in ipairs(usages) do
      local x = counting(6, usage)
      for _, case in ipairs {
        {0, 3, "#1", "i: 0 is outside 1..6"},
        {8, 9, "#1", "i: 8 is outside 1..6"},
        {-7, 3, "#1", "i: -7 is outside 1..6"},
        {1, 7, "#2", "j: 7 is outside 0..6"},
        {3, 1, "#2", "j: 1 is outside 2..6"},
        {2, -8, "#2", "j: -8 is outside 1..6"},
        {math.maxinteger, math.maxinteger, "#1",
         "i: 9223372036854775807 is outside 1..6"},
        {1, math.mininteger, "#2",
         "j: -9223372036854775808 is outside 0..6"},
      } do
        local i, j = case[1], case[2]
        assert.equal(("bad argument %s to 'read' (%s)"):format(case[3],
          case[4]), expect.misuse(function() x:read(i, j) end))
        assert.equal(("bad argument %s to 'string' (%s)"):format(case[3],
          case[4]), expect.misuse(function() x:string(i, j) end))
      end
      assert.same({}, x:read(1, -7)) -- 1 to 0
    end
  end)

  it("checks its arguments", function()
    local x = counting(6)
    assert.equal("bad argument #1 to 'read' (i: integer expected, got " ..
      "string '1')", expect.misuse(function() x:read("1") end))
    assert.equal("bad argument #2 to 'read' (j: integer expected, got " ..
      "number 2.5)", expect.misuse(function() x:read(1, 2.5) end))
    assert.matches("table expected, got array", expect.misuse(function()
      lze.buffer("int", 4):read(1, 4, lze.array.zeros {4})
    end))
    assert.equal("bad argument #3 to 'read' (table expected, got boolean)",
      expect.misuse(function() x:read(1, 2, true) end))
    assert.equal("calling 'read' on bad self (buffer expected, got table)",
      expect.misuse(function() local t = {read = x.read}; t:read() end))
  end)
end)

describe("string", function()
  it("returns the bytes of a range", function()
    for _, usage in ipairs(usages) do
      local x = lze.buffer("ushort", {0x4241, 0x4443, 0x4645},
        {usage = usage})
      assert.equal("ABCDEF", x:string())
      assert.equal("CDEF", x:string(2))
      assert.equal("CD", x:string(2, 2))
      assert.equal("EF", x:string(-1))
      assert.equal("", x:string(2, 1))
      assert.equal("", x:string(4))
    end
  end)

  it("returns bytes that lze.buffer accepts", function()
    local bytes = {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    bytes = table.concat(bytes):rep(40)
    for _, usage in ipairs(usages) do
      assert.equal(bytes, lze.buffer("int", bytes, {usage = usage}):string())
    end
  end)

  it("copies a large device buffer in pieces", function()
    local n = (9 << 20) + 12 -- more than two pieces
    local bytes = ("0123456789abcde"):rep(n // 15 + 1):sub(1, n)
    local x = lze.buffer("uchar", bytes, {usage = "device"})
    assert.is_true(bytes == x:string())
    assert.equal(bytes:sub(4194300, 4194310), x:string(4194300, 4194310))
    x:write("XYZ", 4194303)
    assert.equal(bytes:sub(4194300, 4194302) .. "XYZ" ..
      bytes:sub(4194306, 4194310), x:string(4194300, 4194310))
  end)
end)

describe("write", function()
  it("takes a table, a string or a buffer", function()
    for _, usage in ipairs(usages) do
      local x = lze.buffer("int", 5, {usage = usage})
      assert.equal(x, x:write {1, 2, 3, 4, 5})
      assert.same({1, 2, 3, 4, 5}, x:read())
      x:write({7, 8}, 4)
      assert.same({1, 2, 3, 7, 8}, x:read())
      x:write({9}, -5)
      assert.same({9, 2, 3, 7, 8}, x:read())
      x:write("\1\0\0\0\255\255\255\255", 2)
      assert.same({9, 1, -1, 7, 8}, x:read())
      for _, other in ipairs(usages) do
        x:fill(0)
        x:write(counting(2, other), 3)
        assert.same({0, 0, 1, 2, 0}, x:read())
      end
      x:write({}, 6)
      x:write("", 1)
      assert.same({0, 0, 1, 2, 0}, x:read())
    end
  end)

  it("writes part of a buffer with a short table", function()
    local x = counting(4)
    x:write {9}
    assert.same({9, 2, 3, 4}, x:read())
  end)

  it("refuses more elements than fit", function()
    for _, usage in ipairs(usages) do
      local x = counting(3, usage)
      local function fails(source, at, n)
        assert.equal(("bad argument #1 to 'write' (%d element%s from " ..
          "position %d on do not fit a buffer of 3)")
            :format(n, n == 1 and "" or "s", at),
          expect.misuse(function() x:write(source, at) end))
      end
      fails({1, 2, 3, 4}, 1, 4)
      fails({1, 2}, 3, 2)
      fails({1}, 4, 1)
      fails(("\0"):rep(16), 1, 4)
      fails(counting(3), 2, 3)
      assert.equal("bad argument #2 to 'write' (i: 5 is outside 1..4)",
        expect.misuse(function() x:write({1}, 5) end))
      assert.equal("bad argument #2 to 'write' (i: 0 is outside 1..4)",
        expect.misuse(function() x:write({1}, 0) end))
      assert.equal("bad argument #2 to 'write' (i: -4 is outside 1..4)",
        expect.misuse(function() x:write({1}, -4) end))
      assert.same({1, 2, 3}, x:read())
    end
  end)

  it("writes nothing when an element does not fit its type", function()
    for _, usage in ipairs(usages) do
      local x = counting(3, usage)
      local range = "int expected (an integer from -2147483648 to 2147483647)"
      assert.equal("bad argument #1 to 'write' (index 3: " .. range ..
        ", got number 0.5)",
        expect.misuse(function() x:write {7, 8, 0.5} end))
      assert.equal("bad argument #1 to 'write' (index 2: " .. range ..
        ", got nil)", expect.misuse(function() x:write {7, nil, 9} end))
      assert.equal("bad argument #1 to 'write' (index 1: " .. range ..
        ", got string 'x')", expect.misuse(function() x:write({"x"}, 2) end))
      assert.equal("bad argument #1 to 'write' (5 bytes are not a whole " ..
        "number of int (4 bytes each))",
        expect.misuse(function() x:write "12345" end))
      assert.same({1, 2, 3}, x:read())
    end
  end)

  it("takes only buffers of the same type", function()
    local x = lze.buffer("int", 2)
    assert.equal("bad argument #1 to 'write' (buffer of int expected, got " ..
      "buffer of float (x:view can change the type))",
      expect.misuse(function() x:write(lze.buffer("float", 2)) end))
    assert.equal("bad argument #1 to 'write' (table, string or buffer " ..
      "expected, got nil)", expect.misuse(function() x:write() end))
    assert.equal("bad argument #1 to 'write' (table, string or buffer " ..
      "expected, got integer 1)", expect.misuse(function() x:write(1) end))
  end)

  it("has read its source when it returns", function()
    for _, usage in ipairs(usages) do
      local t = {1, 2, 3}
      local source = lze.buffer("int", t)
      local x = lze.buffer("int", 3, {usage = usage})
      x:write(t)
      t[1] = 99
      assert.same({1, 2, 3}, x:read())
      x:write(source)
      source[1] = 99
      assert.same({1, 2, 3}, x:read())
    end
  end)
end)

describe("fill", function()
  it("sets a range", function()
    for _, usage in ipairs(usages) do
      local x = counting(6, usage)
      assert.equal(x, x:fill(0, 2, 3))
      assert.same({1, 0, 0, 4, 5, 6}, x:read())
      assert.same({1, 0, 0, 4, 7, 7}, x:fill(7, -2):read())
      assert.same({1, 0, 0, 4, 7, 7}, x:fill(8, 3, 2):read())
      assert.same({9, 9, 9, 9, 9, 9}, x:fill(9):read())
    end
  end)

  it("takes elements of each size", function()
    for _, type in ipairs {"uchar", "ushort", "uint", "ulong", "double"} do
      local x = lze.buffer(type, 1001):fill(7)
      for i, v in ipairs(x:read()) do
        if v ~= 7 then error(type .. " " .. i) end
      end
    end
    local x = lze.buffer("float16", 7)
    local v = {}
    for i = 1, 16 do v[i] = i + 0.5 end
    for _, got in ipairs(x:fill(v):read()) do assert.same(v, got) end
  end)

  it("checks its arguments", function()
    local x = counting(6)
    assert.equal("bad argument #1 to 'fill' (int expected (an integer from " ..
      "-2147483648 to 2147483647), got number 0.5)",
      expect.misuse(function() x:fill(0.5) end))
    assert.equal("bad argument #1 to 'fill' (int expected (an integer from " ..
      "-2147483648 to 2147483647), got nil)",
      expect.misuse(function() x:fill() end))
    assert.equal("bad argument #2 to 'fill' (i: 0 is outside 1..6)",
      expect.misuse(function() x:fill(1, 0) end))
    assert.equal("bad argument #3 to 'fill' (j: 7 is outside 0..6)",
      expect.misuse(function() x:fill(1, 1, 7) end))
    assert.same({1, 2, 3, 4, 5, 6}, x:read())
  end)
end)

describe("copy", function()
  it("copies between all usages", function()
    for _, from in ipairs(usages) do
      for _, to in ipairs(usages) do
        local x, y = counting(6, from), lze.buffer("int", 6, {usage = to})
        assert.equal(y, y:copy(x))
        assert.same({1, 2, 3, 4, 5, 6}, y:read())
        y:fill(0):copy(x, 2, 4)
        assert.same({2, 3, 4, 0, 0, 0}, y:read())
        y:fill(0):copy(x, 2, 4, 4)
        assert.same({0, 0, 0, 2, 3, 4}, y:read())
        y:fill(0):copy(x, -2, -1, -2)
        assert.same({0, 0, 0, 0, 5, 6}, y:read())
        y:copy(x, 3, 2)
        y:copy(x, 7, 6, 7)
        assert.same({0, 0, 0, 0, 5, 6}, y:read())
      end
    end
  end)

  it("copies the old elements within a buffer", function()
    for _, usage in ipairs(usages) do
      assert.same({1, 1, 2, 3, 4, 6},
        (function() local x = counting(6, usage)
          return x:copy(x, 1, 4, 2):read() end)())
      assert.same({3, 4, 5, 6, 5, 6},
        (function() local x = counting(6, usage)
          return x:copy(x, 3, 6, 1):read() end)())
      assert.same({1, 2, 3, 1, 2, 3},
        (function() local x = counting(6, usage)
          return x:copy(x, 1, 3, 4):read() end)())
      assert.same({1, 2, 3, 4, 5, 6},
        (function() local x = counting(6, usage)
          return x:copy(x):read() end)())
      local x = counting(6, usage)
      x:view(2, 6):copy(x:view(1, 5))
      assert.same({1, 1, 2, 3, 4, 5}, x:read())
    end
  end)

  it("checks its arguments", function()
    local x, y = counting(6), lze.buffer("int", 3)
    assert.equal("bad argument #1 to 'copy' (6 elements from position 1 on " ..
      "do not fit a buffer of 3)", expect.misuse(function() y:copy(x) end))
    assert.equal("bad argument #1 to 'copy' (2 elements from position 3 on " ..
      "do not fit a buffer of 3)",
      expect.misuse(function() y:copy(x, 1, 2, 3) end))
    assert.equal("bad argument #4 to 'copy' (at: 0 is outside 1..4)",
      expect.misuse(function() y:copy(x, 1, 2, 0) end))
    assert.equal("bad argument #4 to 'copy' (at: 5 is outside 1..4)",
      expect.misuse(function() y:copy(x, 1, 2, 5) end))
    assert.equal("bad argument #2 to 'copy' (i: 7 is outside 1..6)",
      expect.misuse(function() y:copy(x, 7, 7) end))
    assert.equal("bad argument #1 to 'copy' (buffer of int expected, got " ..
      "buffer of uint (x:view can change the type))",
      expect.misuse(function() y:copy(lze.buffer("uint", 1)) end))
    assert.equal("bad argument #1 to 'copy' (buffer expected, got table)",
      expect.misuse(function() y:copy {1} end))
    assert.same({0, 0, 0}, y:read())
  end)
end)

describe("view", function()
  it("shares its buffer's storage", function()
    for _, usage in ipairs(usages) do
      local x = counting(6, usage)
      local v = x:view(2, 4)
      assert.equal(3, #v)
      assert.same({2, 3, 4}, v:read())
      assert.equal(x.pointer + 4, v.pointer)
      assert.equal(12, v.bytes)
      assert.equal(usage, v.usage)
      assert.equal(x.device, v.device)
      v:write({20, 30, 40})
      assert.same({1, 20, 30, 40, 5, 6}, x:read())
      x:fill(0)
      assert.same({0, 0, 0}, v:read())
      v:fill(7, 2, 2)
      assert.same({0, 0, 7, 0, 0, 0}, x:read())
    end
  end)

  it("of a view counts from the view's start", function()
    local x = counting(9)
    local v = x:view(3, 8):view(2, 4)
    assert.same({4, 5, 6}, v:read())
    v[1] = 40
    assert.equal(40, x[4])
    assert.is_nil(v[4])
    assert.is_nil(v[0])
  end)

  it("may have another type", function()
    local x = lze.buffer("uint", {0x3f800000, 0x40000000, 1, 2})
    assert.same({1.0, 2.0}, x:view(1, 2, "float"):read())
    assert.same({1 | 2 << 32}, x:view(3, 4, "ulong"):read())
    local bytes = x:view(3, 4, "uchar")
    assert.equal(8, #bytes)
    assert.same({1, 0, 0, 0, 2, 0, 0, 0}, bytes:read())
    assert.same({{0x3f800000, 0x40000000}, {1, 2}},
      x:view(1, 4, "uint2"):read())
    assert.equal("uint2", x:view(1, 4, "uint2").type)
  end)

  it("must begin and end with whole elements", function()
    local x = lze.buffer("uint", 6)
    assert.equal("bad argument #3 to 'view' (12 bytes from byte 0 on are " ..
      "not whole elements of ulong (8 bytes each))",
      expect.misuse(function() x:view(1, 3, "ulong") end))
    assert.equal("bad argument #3 to 'view' (8 bytes from byte 4 on are not " ..
      "whole elements of ulong (8 bytes each))",
      expect.misuse(function() x:view(2, 3, "ulong") end))
    assert.equal("bad argument #3 to 'view' (16 bytes from byte 4 on are " ..
      "not whole elements of ushort8 (16 bytes each))",
      expect.misuse(function() x:view(2, 5, "ushort8") end))
    assert.equal("bad argument #2 to 'view' (j: 7 is outside 0..6)",
      expect.misuse(function() x:view(1, 7) end))
    assert.matches("^bad argument #3 to 'view' %(type: one of char ",
      expect.misuse(function() x:view(1, 2, "text") end))
  end)

  it("may be empty", function()
    local x = counting(3)
    for _, i in ipairs {1, 2, 4} do
      local v = x:view(i, i - 1)
      assert.equal(0, #v)
      assert.same({}, v:read())
      assert.equal(v, v:fill(1))
    end
    assert.same({1, 2, 3}, x:read())
  end)
end)

describe("a closed buffer", function()
  it("can only be closed, printed and passed to lze.type", function()
    for _, usage in ipairs(usages) do
      local x, y = counting(3, usage), counting(3)
      assert.is_nil(x:close())
      x:close()
      local closed = {
        function() return #x end,
        function() return x[1] end,
        function() x[1] = 1 end,
        function() x:read() end,
        function() x:write {1} end,
        function() x:string() end,
        function() x:fill(1) end,
        function() x:copy(y) end,
        function() y:copy(x) end,
        function() y:write(x) end,
        function() x:view(1, 2) end,
        function() x:pending() end,
        function() return x.type end,
        function() return x.usage end,
        function() return x.bytes end,
        function() return x.pointer end,
        function() return x.device end,
        function() return x.context end,
        function() return x.handle end,
      }
      for i, f in ipairs(closed) do
        assert.matches("the buffer is closed", expect.misuse(f), 1, true, i)
      end
      assert.equal("buffer: int[3] (closed)", tostring(x))
      assert.equal("buffer", lze.type(x))
    end
  end)

  it("is named by its argument in errors", function()
    local x, y = counting(3), counting(3)
    x:close()
    assert.equal("calling 'read' on bad self (the buffer is closed)",
      expect.misuse(function() x:read() end))
    assert.equal("bad argument #1 to 'copy' (the buffer is closed)",
      expect.misuse(function() y:copy(x) end))
  end)

  it("closes its views; closing a view closes only that", function()
    local x = counting(6)
    local v, w = x:view(1, 3), x:view(4, 6)
    local deep = v:view(2, 3)
    w:close()
    assert.same({1, 2, 3, 4, 5, 6}, x:read())
    assert.same({2, 3}, deep:read())
    v:close()
    assert.same({2, 3}, deep:read())
    x:close()
    assert.equal("buffer: int[2] (closed)", tostring(deep))
    assert.equal("calling 'read' on bad self (the buffer is closed)",
      expect.misuse(function() deep:read() end))
  end)

  it("results from <close>", function()
    local kept
    do
      local x <close> = counting(3)
      kept = x
      assert.equal(3, #x)
    end
    assert.equal("buffer: int[3] (closed)", tostring(kept))
  end)

  it("differs from a dropped one, whose views stay valid", function()
    local v = counting(6):view(2, 3)
    collectgarbage()
    collectgarbage()
    for _ = 1, 50 do lze.buffer("int", 6):fill(-1) end
    assert.same({2, 3}, v:read())
  end)
end)

describe("tostring", function()
  it("shows type, usage, count and the first few values", function()
    assert.equal("buffer: int[3] shared {1, 2, 3}", tostring(counting(3)))
    assert.equal("buffer: int[8] shared {1, 2, 3, 4, 5, 6, 7, 8}",
      tostring(counting(8)))
    assert.equal("buffer: int[9] host {1, 2, 3, 4, 5, 6, 7, 8, ...}",
      tostring(counting(9, "host")))
    assert.equal("buffer: float[2] shared {1.5, -2.0}",
      tostring(lze.buffer("float", {1.5, -2})))
    assert.equal("buffer: int2[2] shared {{1, 2}, {3, 4}}",
      tostring(lze.buffer("int2", {{1, 2}, {3, 4}})))
    assert.equal("buffer: int[2] shared view {2, 3}",
      tostring(counting(3):view(2, 3)))
    assert.equal("buffer: int[0] shared", tostring(lze.buffer("int", 0)))
    local x = counting(3, "device")
    x:read()
    assert.equal("buffer: int[3] device", tostring(x))
  end)
end)

describe("pending", function()
  it("reports work in flight on these elements", function()
    local x = lze.buffer("int", 100)
    assert.is_false(x:pending())
    x:fill(1)
    x:read()
    assert.is_false(x:pending())
    x:fill(2)
    assert.is_boolean(x:pending())
    lze.wait()
    assert.is_false(x:pending())
  end)
end)

describe("copies between contexts", function()
  it("go through host memory, for every usage", function()
    for _, from in ipairs(usages) do
      for _, to in ipairs(usages) do
        local ctx <close> = lze.context(lze.device())
        local x = counting(6, from)
        local y = lze.buffer("int", 6, {usage = to, context = ctx})
        assert.equal(y, y:copy(x, 2, 4, 3))
        assert.same({0, 0, 2, 3, 4, 0}, y:read())
        assert.equal(x, x:write(y))
        assert.same({0, 0, 2, 3, 4, 0}, x:read())
        y:fill(0):copy_box(counting(6, from), {size = {2, 2}, src_width = 3,
          dst = {2, 1}, dst_width = 3})
        assert.same({0, 1, 2, 0, 4, 5}, y:read())
      end
    end
  end)
end)

describe("copy_box", function()
  -- Returns a buffer of width x height x depth elements, 100 z + 10 y + x each.
  local function grid(width, height, depth, usage)
    local t = {}
    for z = 1, depth or 1 do
      for y = 1, height do
        for x = 1, width do t[#t + 1] = 100 * z + 10 * y + x end
      end
    end
    return lze.buffer("int", t, {usage = usage})
  end

  it("copies rows", function()
    for _, from in ipairs(usages) do
      for _, to in ipairs(usages) do
        local src = grid(5, 4, 1, from)
        local dst = lze.buffer("int", 12, {usage = to})
        assert.equal(dst, dst:copy_box(src, {size = {3, 2}, src = {2, 3},
          src_width = 5, dst = {1, 2}, dst_width = 4}))
        assert.same({0, 0, 0, 0, 132, 133, 134, 0, 142, 143, 144, 0},
          dst:read())
      end
    end
  end)

  it("copies slices", function()
    local src = grid(4, 3, 3)
    local dst = lze.buffer("int", 8)
    dst:copy_box(src, {size = {2, 2, 2}, src = {3, 2, 2}, src_width = 4,
                       src_height = 3})
    assert.same({223, 224, 233, 234, 323, 324, 333, 334}, dst:read())
  end)

  it("copies one row like copy", function()
    local dst = lze.buffer("int", 5)
    dst:copy_box(grid(5, 1), {size = {5}})
    assert.same({111, 112, 113, 114, 115}, dst:read())
  end)

  it("refuses boxes outside either buffer", function()
    local src, dst = grid(5, 4), lze.buffer("int", 12)
    local function call(box)
      local message = expect.misuse(function() dst:copy_box(src, box) end)
      assert.matches("^box: ", message)
      return message
    end
    assert.matches("not inside src", call {size = {5, 5}, src_width = 5})
    assert.matches("not inside dst", call {size = {5, 4}, src_width = 5})
    assert.matches("not inside src",
      call {size = {1}, src = {1, 5}, src_width = 5})
    assert.matches("beyond the rows",
      call {size = {3, 1}, src = {4, 1}, src_width = 5})
    assert.matches("beyond the rows of 5 or the 2 rows of src",
      call {size = {1, 3}, src_width = 5, src_height = 2})
    call {size = {math.maxinteger, math.maxinteger, math.maxinteger}}
    call {size = {1}, src = {math.maxinteger, 1, math.maxinteger}}
    call {size = {2, 2}, src_width = math.maxinteger, src = {1, 2}}
    call {size = {0}}
    call {size = {}}
    call {size = {1, 1, 1, 1}}
    call {size = {1.5}}
    call {size = 3}
    call {}
    assert.is_false(pcall(dst.copy_box, dst, src, {size = {1}, sise = {1}}))
    assert.is_false(pcall(dst.copy_box, dst, src))
    assert.matches("overlap", expect.misuse(function()
      dst:copy_box(dst, {size = {2, 2}, src_width = 3, dst = {2, 1},
                         dst_width = 3})
    end))
    assert.matches("box: rows and slices are limited to 4 GiB each",
      expect.misuse(function()
        dst:copy_box(src, {size = {1}, src_width = 1 << 30})
      end))
    assert.equal(("\0"):rep(48), dst:string())
  end)
end)

describe("save and load", function()
  it("move bytes to and from a file", function()
    for _, usage in ipairs(usages) do
      local file <close> = io.tmpfile()
      local x = counting(5000, usage)
      assert.equal(x, x:save(file))
      x:save(file, -2)
      x:save(file, 3, 2)
      file:seek "set"
      assert.equal(x:string() .. x:string(-2), file:read "a")
      file:seek "set"
      local y = lze.buffer("int", 6000, {usage = usage})
      assert.equal(5002, y:load(file))
      assert.equal(x:string(), y:string(1, 5000))
      assert.same({4999, 5000, 0}, y:read(5001, 5003))
      assert.equal(0, y:load(file))
      file:seek("set", 4)
      assert.equal(2, y:load(file, 1, 2))
      assert.same({2, 3, 3}, y:read(1, 3))
      assert.equal(12, file:seek())
    end
  end)

  it("report errors of the file", function()
    local x = counting(3)
    local file = io.tmpfile()
    file:write "12345"
    file:seek "set"
    local err = expect.failure(function() x:load(file) end)
    assert.equal("fread", err.call)
    assert.matches("the file ends 1 bytes into an element of int", err.message)
    assert.is_false(pcall(x.save, x, file, 0))
    file:close()
    assert.is_false(pcall(x.save, x, file))
    assert.is_false(pcall(x.load, x, file))
    assert.is_false(pcall(x.save, x, "name"))
    assert.is_false(pcall(x.load, x))
    local full <close> = assert(io.open("/dev/full", "w"))
    full:setvbuf "no"
    err = expect.failure(function() x:save(full) end)
    assert.equal("fwrite", err.call)
    assert.same({1, 2, 3}, x:read())
  end)
end)
