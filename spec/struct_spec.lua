-- struct_spec.lua - structs as elements and as arguments of kernels.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"

local body = lze.struct "float mass; int kind; float4 pos"
local one = {mass = 1.5, kind = 7, pos = {1.0, 2.0, 3.0, 4.0}}
local two = {mass = 2.5, kind = -8, pos = {5.0, 6.0, 7.0, 8.0}}

local source = [[
typedef struct { float mass; int kind; float4 pos; } body;
kernel void shift(global body *b, body by) {
  size_t i = get_global_id(0);
  b[i].mass += by.mass;
  b[i].kind += by.kind;
  b[i].pos += by.pos;
}
/* What OpenCL C says of the layout of T, whose fields are FIELDS. */
#ifdef FIELDS
typedef struct { FIELDS } T;
kernel void layout(global int *out) { out[0] = sizeof(T); OFFSETS }
#endif
]]

describe("lze.struct", function()
  it("lists its fields with their offsets", function()
    assert.equal("struct", lze.type(body))
    assert.equal("struct {float mass; int kind; float4 pos;}", body.name)
    assert.equal(body.name, tostring(body))
    assert.equal(32, body.bytes)
    assert.same({{name = "mass", type = "float", offset = 0},
                 {name = "kind", type = "int", offset = 4},
                 {name = "pos", type = "float4", offset = 16}}, body.fields)
  end)

  it("returns one type for texts that mean the same", function()
    local same = lze.struct " struct { f32 mass ; i32 kind;float4 pos; } ; "
    assert.equal(body, same)
    assert.not_equal(body, lze.struct "float mass; int kind; float4 p")
    local x = lze.buffer(body, {one})
    assert.same({one}, lze.buffer(same, 1):copy(x):read())
    assert.same({one}, lze.buffer(x.type, x):read())
  end)

  it("may begin with a struct", function()
    local s = lze.struct "struct {float a; struct {int b;} c;} s, t"
    assert.equal(lze.struct "struct {float a; struct {int b;} c;}",
      lze.struct(s.fields[2].type))
    assert.equal("struct {struct {float a; struct {int b;} c;} s; " ..
      "struct {float a; struct {int b;} c;} t;}", s.name)
    assert.equal(s, lze.struct(s.name))
  end)

  it("lays fields out as OpenCL C does", function()
    local texts = {
      "struct {char a; double b;} a; char b",
      "char a; double b; short c", "uchar3 a; char b", "char a; float3 b[2]",
      "char a; struct {char b; long c;} d[3]; half e", "double16 a; uchar b",
      "short a, b, c; float d[5]; ulong e; char2 f",
      "char a; struct {struct {float2 x; char y;} b; char c;} d; char e",
    }
    for _, text in ipairs(texts) do
      local s = lze.struct(text)
      local expected, offsets = {s.bytes}, {}
      for i, field in ipairs(s.fields) do
        expected[i + 1] = field.offset
        offsets[i] = ("out[%d] = (int)(size_t)&((global T *)0)->%s;"):format(i,
          field.name)
      end
      local mod = lze.compile(source, {
        defines = {FIELDS = text .. ";", OFFSETS = table.concat(offsets)}})
      local out = lze.buffer("int", #expected)
      mod.layout(1, out)
      assert.same(expected, out:read(), text)
    end
  end)

  it("reports errors in a text", function()
    for text, why in pairs {
      [""] = "no fields",
      ["float"] = "a field's name expected at 'the end'",
      ["float x; foo y"] = "unknown type 'foo'",
      ["float x; float x"] = "two fields are called x",
      ["float " .. ("x"):rep(64)] = "field " .. ("x"):rep(40) ..
        "...: its name has more than 63 letters",
      ["float x y"] = "; expected at 'y'",
      ["float x[0]"] = "field x: a length from 1 to 4096 expected",
      ["float x[3"] = "] expected at 'the end'",
      ["float x}"] = "; expected at '}'",
      ["struct {float x;} y z"] = "; expected at 'z'",
      ["struct {float x;} struct {float x;}"] = "; expected at '{float x;}'",
      ["struct {float x; };;"] = "a field's name expected at ';;'",
      ["struct {float x; struct {int y;"] = "a type expected at 'the end'",
      ["struct float x"] = "{ expected after struct, at 'float x'",
      ["double x[512]; char y"] = "a struct of more than 4096 bytes",
      ["float x\0; int y"] = "a zero in the text",
      [("struct {"):rep(9) .. "int x;" .. ("} y;"):rep(9)] =
        "structs nested more than 8 deep",
      [("int %s;"):rep(65):format(table.unpack((function()
        local names = {}
        for i = 1, 65 do names[i] = "x" .. i end
        return names
      end)()))] = "more than 64 fields",
    } do
      assert.equal(("bad argument #1 to 'struct' (%s)"):format(why),
        expect.misuse(function() lze.struct(text) end))
    end
    assert.equal("bad argument #1 to 'struct' (string expected, got table)",
      expect.misuse(function() lze.struct {} end))
    assert.equal("bad argument #1 to 'buffer' (type: unknown type 'foo')",
      expect.misuse(function() lze.buffer("struct {foo x;}", 1) end))
  end)

  it("converts tables to bytes, and bytes to tables", function()
    assert.equal(("<fi4xxxxxxxxffff"):pack(1.5, 7, 1, 2, 3, 4), body(one))
    assert.same(one, body:unpack(body(one)))
    assert.equal("field kind is missing",
      expect.misuse(function() body {mass = 1, pos = one.pos} end))
    assert.equal("unknown field string 'size' (known: mass, kind, pos)",
      expect.misuse(function() body {size = 1} end))
    assert.equal("field pos: lane 4: float expected, got nil",
      expect.misuse(function() body {pos = {1, 2, 3}} end))
    assert.equal("field kind: int expected (an integer from -2147483648 to " ..
      "2147483647), got number 2.5",
      expect.misuse(function() body {kind = 2.5} end))
    assert.equal(body.name .. " expected (a table of its fields), got nil",
      expect.misuse(function() body(nil) end))
    assert.equal("bad argument #1 to 'unpack' (" .. body.name ..
      " (32 bytes) expected, got a string of 3)",
      expect.misuse(function() body:unpack "abc" end))
  end)
end)

describe("a buffer of structs", function()
  it("is made, read and written with tables", function()
    local x = lze.buffer(body, {one, two})
    assert.equal(body.name, x.type)
    assert.same({2, 64}, {#x, x.bytes})
    assert.same({one, two}, x:read())
    x:write({body(two), one}, 1)
    assert.same({two, one}, x:read())
    assert.equal(body(two) .. body(one), x:string())
    assert.same({two, one}, lze.buffer(body, x:string()):read())
    assert.equal("bad argument #2 to 'buffer' (index 2: field kind is missing)",
      expect.misuse(function()
        lze.buffer(body, {one, {mass = 1, pos = one.pos}})
      end))
    local device = lze.buffer(body, 2, {usage = "device"})
    assert.equal(("\0"):rep(64), device:string())
    device:write {one, two}
    assert.same({two}, device:read(2))
  end)

  it("has elements whose fields are read and written", function()
    local x = lze.buffer(body, {one, two})
    local e = x[2]
    assert.equal("element", lze.type(e))
    assert.same({2.5, -8}, {e.mass, x[2].kind})
    assert.same({5.0, 6.0, 7.0, 8.0}, {table.unpack(e.pos)})
    x[2].mass, e.pos = 9, {1, 1, 1, 1}
    assert.same({mass = 9.0, kind = -8, pos = {1.0, 1.0, 1.0, 1.0}},
      x:read(2)[1])
    x[1] = e
    assert.same(x:read(2, 2), x:read(1, 1))
    x[1] = one
    assert.same({one}, x:read(1, 1))
    assert.is_nil(x[3])
    local seen = {}
    for name, value in pairs(x[1]) do
      if name == "pos" then value = {table.unpack(value)} end
      seen[#seen + 1] = {name, value}
    end
    assert.same({{"mass", 1.5}, {"kind", 7}, {"pos", one.pos}}, seen)
    assert.equal("element: {mass = 1.5, kind = 7, pos = {1.0, 2.0, 3.0, 4.0}}",
      tostring(x[1]))
    assert.equal("buffer: " .. body.name .. "[1] shared view " ..
      "{{mass = 1.5, kind = 7, pos = {1.0, 2.0, 3.0, 4.0}}}",
      tostring(x:view(1, 1)))
  end)

  it("has elements that are accepted as values of their struct", function()
    local y = lze.buffer(body, {one, two})
    assert.equal(body(two), body(y[2]))
    for _, usage in ipairs {"shared", "device"} do
      local x = lze.buffer(body, {y[2], y[1], two}, {usage = usage})
      assert.same({two, one, two}, x:read())
      assert.same({two, one, one}, x:write({y[1]}, 3):read())
      assert.same({one, one, one}, x:fill(y[1]):read())
    end
    local pair = lze.struct("char c; " .. body.name .. " a; " .. body.name ..
      " b[2]")
    local z = lze.buffer(pair, {{c = 1, a = y[1], b = {y[2], one}}})
    local all = {c = 1, a = one, b = {two, one}}
    assert.same({all}, z:read())
    assert.same(all, pair:unpack(pair {c = 1, a = z[1].a, b = {two, y[1]}}))
    z[1].b = {y[1], y[2]}
    y:write({z[1].a}, 2)
    assert.same({c = 1, a = one, b = {one, two}}, z:read()[1])
    assert.same({one, one}, y:read())
    lze.compile(source).shift(1, y, body(y[2]))
    assert.same({3.0, 1.5}, {body:unpack(body(y[1])).mass, y[2].mass})
  end)

  it("refuses elements of another struct, and of closed buffers", function()
    local x, y = lze.buffer(body, {one}), lze.buffer(lze.struct "int a", 1)
    local got = body.name .. " expected (a table of its fields), got " ..
      "element of struct {int a;}"
    assert.equal("bad argument #1 to 'write' (index 1: " .. got .. ")",
      expect.misuse(function() x:write {y[1]} end))
    assert.equal("bad argument #1 to 'fill' (" .. got .. ")",
      expect.misuse(function() x:fill(y[1]) end))
    assert.equal(got, expect.misuse(function() body(y[1]) end))
    local z = lze.buffer(body, {two})
    local e = z[1]
    z:close()
    assert.equal("the buffer of this element is closed",
      expect.misuse(function() x:write {e} end))
    assert.same({one}, x:read())
  end)

  it("refuses unknown fields and invalid values", function()
    local x, y = lze.buffer(body, {one}), lze.buffer(lze.struct "int a", 1)
    local known = " in an element (known: mass, kind, pos)"
    assert.equal("no field string 'mas'" .. known,
      expect.misuse(function() x[1].mas = 1 end))
    assert.equal("no field integer 1" .. known,
      expect.misuse(function() return x[1][1] end))
    assert.equal("field mass: float expected, got string 'a'",
      expect.misuse(function() x[1].mass = "a" end))
    assert.equal("index 1: " .. body.name .. " expected (a table of its " ..
      "fields), got element of struct {int a;}",
      expect.misuse(function() x[1] = y[1] end))
    assert.equal("index 1: field kind is missing",
      expect.misuse(function() x[1] = {mass = 1} end))
    assert.same({one}, x:read())
    local e = x[1]
    x:close()
    assert.equal("the buffer of this element is closed",
      expect.misuse(function() return e.mass end))
    assert.equal("the buffer of this element is closed",
      expect.misuse(function() e.mass = 1 end))
    assert.equal("element: " .. body.name .. " (closed)", tostring(e))
  end)

  it("supports nested structs and arrays", function()
    local s = lze.struct "char c; struct {float w[3]; int n;} inner; short t[2]"
    local zero = {c = 1, inner = {w = {1.0, 2.0, 3.0}, n = 4}, t = {5, 6}}
    local x = lze.buffer(s, {zero})
    assert.same({zero}, x:read())
    x[1].inner.n = 9
    x[1].inner.w = {7, 8, 9}
    x[1].t = {-1, -2}
    assert.same({{c = 1, inner = {w = {7.0, 8.0, 9.0}, n = 9}, t = {-1, -2}}},
      x:read())
    x[1].inner = zero.inner
    assert.same(zero.inner, x:read()[1].inner)
    assert.equal("field inner: field w: index 2: float expected, got string " ..
      "'a'", expect.misuse(function()
        x[1].inner = {n = 1, w = {1, "a", 2}}
      end))
    assert.equal("field t: a table of 2 short expected, got one of 3",
      expect.misuse(function() x[1].t = {1, 2, 3} end))
    assert.equal("field t: a table of 2 short expected, got number",
      expect.misuse(function() x[1].t = 1 end))
  end)

  it("is filled, copied and viewed", function()
    local s = lze.struct "uchar r, g, b"
    for _, usage in ipairs {"shared", "device"} do
      local x = lze.buffer(s, 5, {usage = usage}):fill({r = 1, g = 2, b = 3},
        2, 4)
      assert.equal("\0\0\0\1\2\3\1\2\3\1\2\3\0\0\0", x:string())
      assert.equal("\1\2\3\0\0\0", x:view(4, 5):string())
      assert.same({1, 2, 3}, x:view(2, 2, "uchar"):read())
    end
    local bytes = lze.buffer("uchar", "x\1\2\3\4\5\6") -- behind a header
    local b = bytes:view(2, 7, s)
    assert.same({{r = 1, g = 2, b = 3}, {r = 4, g = 5, b = 6}}, b:read())
    assert.matches("source and destination overlap", expect.misuse(function()
      b:copy_box(bytes:view(3, 5, s), {size = {1}})
    end))
    assert.matches("6 bytes from byte 2 on are not whole elements",
      expect.misuse(function()
        lze.buffer("uchar", 8):view(3, 8, lze.struct "int i; short s")
      end))
    local q, x = lze.default().queue, lze.buffer(s, 2)
    assert.equal("bad argument #1 to 'fill' (queues and graphs do not fill " ..
      "structs: x:fill, or a copy)",
      expect.misuse(function() q:fill(x, {r = 1, g = 2, b = 3}) end))
  end)

  it("waits for the kernels that use it, and passes structs to them", function()
    local mod = lze.compile(source)
    local x = lze.buffer(body, {one, two})
    mod.shift(2, x, body {mass = 1, kind = 2, pos = {10, 20, 30, 40}})
    assert.same({2.5, 3.5}, {x[1].mass, x[2].mass})
    assert.same({{mass = 2.5, kind = 9, pos = {11.0, 22.0, 33.0, 44.0}},
                 {mass = 3.5, kind = -6, pos = {15.0, 26.0, 37.0, 48.0}}},
      x:read())
    assert.equal("kernel shift: argument 2 (by): body expected (a string of " ..
      "its bytes, as lze.struct makes), got table",
      expect.misuse(function() mod.shift(2, x, one) end))
    local add = lze.compile
      "kernel void add(global float *x) { x[get_global_id(0)] += 1; }"
    assert.equal("kernel add: argument 1 (x): float* expected, got " ..
      "buffer of " .. body.name, expect.misuse(function() add.add(1, x) end))
  end)
end)

describe("lze.buffer of a buffer", function()
  it("copies its contents once pending work is done", function()
    local mod = lze.compile
      "kernel void add(global int *x) { x[get_global_id(0)] += 1; }"
    for _, usage in ipairs {"shared", "device", "host"} do
      local x = lze.buffer("int", {1, 2, 3})
      mod.add(3, x)
      local y = lze.buffer("int", x, {usage = usage})
      x:fill(0)
      assert.equal(usage, y.usage)
      assert.same({2, 3, 4}, y:read())
    end
    assert.equal(0, #lze.buffer("int", lze.buffer("int", 0)))
    assert.same({2}, lze.buffer("int", lze.buffer("int", {1, 2}):view(2, 2))
      :read())
  end)

  it("accepts an open buffer of its type only", function()
    local x = lze.buffer("float", 2)
    assert.equal("bad argument #2 to 'buffer' (buffer of int expected, got " ..
      "buffer of float (x:view can change the type))",
      expect.misuse(function() lze.buffer("int", x) end))
    x:close()
    assert.equal("bad argument #2 to 'buffer' (the buffer is closed)",
      expect.misuse(function() lze.buffer("float", x) end))
  end)
end)
