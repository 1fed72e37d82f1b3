-- image_spec.lua - images and samplers, compared with plain Lua tables.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local build = os.getenv "LZE_TEST_BUILD" or "build"
local limit = 60

local mod = lze.compile [[
  constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE |
                            CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

  kernel void blur(read_only image2d_t from, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0;
    for (int y = -1; y <= 1; y++)
      for (int x = -1; x <= 1; x++)
        sum += read_imagef(from, edge, p + (int2)(x, y));
    write_imagef(to, p, sum / 9);
  }

  kernel void twice(read_only image2d_t from, write_only image2d_t to) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, 2 * read_imagef(from, edge, p));
  }

  kernel void slow(read_only image1d_t from, write_only image1d_t to,
                   uint rounds) {
    int x = get_global_id(0);
    uint v = read_imageui(from, x).x;
    for (uint i = 0; i < rounds; i++) v = v * 1664525u + 1013904223u;
    write_imageui(to, x, (uint4)(v, 0, 0, 0));
  }

  kernel void sum3(read_only image3d_t from, global int *out) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[(z * get_image_height(from) + y) * get_image_width(from) + x] =
      100 + read_imagei(from, (int4)(x, y, z, 0)).x;
  }

  kernel void channels(read_only image2d_t from, global float4 *out) {
    int i = get_global_id(0);
    out[i] = read_imagef(from, edge, (int2)(i, 0));
  }

  kernel void put(write_only image2d_t to, float4 v) {
    write_imagef(to, (int2)(get_global_id(0), get_global_id(1)), v);
  }

  kernel void layers(read_only image2d_array_t from, global float *out) {
    out[0] = read_imagef(from, (int4)(0, 0, 0, 0)).x;
  }

  kernel void plain(global int *out) {
    out[get_global_id(0)] = get_global_id(0);
  }
]]

-- llvm-spirv 15 rejects a source that has both a sampler constant and a sampler
-- argument.
local at = lze.compile [[
  kernel void at(read_only image2d_t from, sampler_t s, global const float2 *p,
                 global float *out) {
    int i = get_global_id(0);
    out[i] = read_imagef(from, s, p[i]).x;
  }
]].at

local function counting(n, from)
  local t = {}
  for i = 1, n do t[i] = (from or 0) + i end
  return t
end

-- Returns the box that starts at (x, y, z) from a table of pixels.
local function part(t, width, height, x, y, z, w, h, d)
  local r = {}
  for k = z, z + d - 1 do
    for j = y, y + h - 1 do
      for i = x, x + w - 1 do
        r[#r + 1] = t[((k - 1) * height + j - 1) * width + i]
      end
    end
  end
  return r
end

-- Returns an image whose pixels count up, and a table of its pixels.
local function counted(format, size)
  local n = size[1] * (size[2] or 1) * (size[3] or 1)
  local t = counting(n)
  return lze.image(format, size):write(t), t
end

describe("lze.image", function()
  it("describes itself", function()
    local m <close> = lze.image("rgba8unorm", {7, 5, 3})
    assert.same({"rgba8unorm", "uchar4", 7, 5, 3, 3, 420, "both"},
      {m.format, m.type, m.width, m.height, m.depth, m.dimensions, m.bytes,
        m.access})
    assert.equal("image", lze.type(m))
    assert.equal("image: rgba8unorm 7x5x3", tostring(m))
    assert.equal(lze.device(), m.device)
    assert.equal(lze.device().context, m.context)
    assert.equal("userdata", type(m.handle))
    local line = lze.image("r8uint", 9)
    assert.same({9, 1, 1, 1, "image: r8uint 9"},
      {line.width, line.height, line.depth, line.dimensions, tostring(line)})
    m:close()
    assert.equal("image: rgba8unorm 7x5x3 (closed)", tostring(m))
  end)

  it("is initialised to zero", function()
    for _, size in ipairs {{3}, {3, 2}, {3, 2, 2}, {4096, 1100},
      {33, 40, 900}} do
      local m <close> = lze.image("r32uint", size)
      assert.is_nil(m:string():find "[^\0]")
    end
  end)

  it("holds what is written, in each format", function()
    for dimensions = 1, 3 do
      local formats = lze.device():image_formats(dimensions)
      assert.is_true(#formats >= 10)
      for _, format in ipairs(formats) do
        local size = {table.unpack({5, 4, 3}, 1, dimensions)}
        local m <close> = lze.image(format, size)
        local bytes = {}
        for i = 1, m.bytes do bytes[i] = string.char(i * 7 % 120) end
        local s = table.concat(bytes)
        assert.equal(s, m:write(s):string(), format)
        -- A buffer of the image's type reads the same bytes in the same way.
        local x = lze.buffer(m.type, s)
        assert.same(x:read(), m:read(), format)
        assert.same(x:read(), m:write(x:read()):read(), format)
        assert.equal(s, m:string())
      end
    end
  end)

  it("is read and written in boxes", function()
    local w, h, d = 6, 5, 4
    local m, t = counted("r32sint", {w, h, d})
    assert.same(part(t, w, h, 2, 3, 2, 3, 2, 2),
      m:read {at = {2, 3, 2}, size = {3, 2, 2}})
    assert.same(part(t, w, h, 1, 1, 1, 4, 1, 1), m:read {size = {4}})
    assert.same(part(t, w, h, 5, 4, 3, 2, 2, 2), m:read {at = {5, 4, 3}})
    assert.equal(("<i4"):pack(t[#t]), m:string {at = {w, h, d}})
    local into = {0, 0, 0, 0, 99}
    assert.equal(into, m:read({size = {2, 2}}, into))
    assert.same({1, 2, 7, 8, 99}, into)
    m:write({-1, -2, -3, -4}, {at = {2, 2, 2}, size = {2, 2}})
    for i, v in ipairs {-1, -2, -3, -4} do
      t[(1 * h + 1 + (i - 1) // 2) * w + 2 + (i - 1) % 2] = v
    end
    m:write(("<i4i4"):pack(-5, -6), {at = {5, 5, 4}, size = {2}})
    t[#t - 1], t[#t] = -5, -6
    assert.same(t, m:read())
  end)

  it("accepts a table with a __len metamethod", function()
    local m = lze.image("r32sint", {2, 2})
    m:write(setmetatable({}, {__len = function() return 4 end,
      __index = function(_, i) return 10 * i end}))
    assert.same({10, 20, 30, 40}, m:read())
  end)

  it("refuses invalid formats, sizes and options", function()
    local limits = lze.device():properties()
    local function image(...)
      local arguments = table.pack(...)
      return function()
        lze.image(table.unpack(arguments, 1, arguments.n))
      end
    end
    for what, f in pairs {
      ["format: string expected, got nil"] = image(),
      ["format: unknown format string 'rgba8'"] = image("rgba8", {1}),
      ["format: unknown format string 'r8float'"] = image("r8float", {1}),
      ["format: unknown format a string of 8 bytes"] =
        image("r8uint\0x", {1}),
      ["size: a table of one to three integers expected, got nil"] =
        image("r8uint"),
      ["size: a table of one to three integers expected, got table"] =
        image("r8uint", {}),
      ["size: width: a positive integer expected, got integer 0"] =
        image("r8uint", {0, 3}),
      ["size: height: a positive integer expected, got number 2.5"] =
        image("r8uint", {1, 2.5}),
      ["size: depth: a positive integer expected, got string '3'"] =
        image("r8uint", {1, 2, "3"}),
      ["size: height: " .. limits.max_image_2d + 1 .. " is more than the " ..
        limits.max_image_2d] = image("r8uint", {1, limits.max_image_2d + 1}),
      ["size: width: 9223372036854775807 is more"] =
        image("r8uint", math.maxinteger),
      ["unknown key 'zeros' in an image's options"] =
        image("r8uint", {1}, {zeros = true}),
      ["option zero: boolean expected"] = image("r8uint", {1}, {zero = 1}),
      ["table expected, got number"] = image("r8uint", {1}, 1),
    } do
      assert.matches(what, expect.misuse(f), 1, true)
    end
    local ok, large = pcall(lze.image, "rgba32float", {2048, 2048, 2048})
    if ok then large:close() else
      assert.not_equal("ERROR_UNKNOWN", large.code)
    end
    -- PoCL has no formats of two channels.
    local has = {}
    for _, name in ipairs(lze.device():image_formats()) do has[name] = true end
    if not has.rg8snorm then
      local err = expect.failure(function() lze.image("rg8snorm", {2, 2}) end)
      assert.equal("ERROR_UNSUPPORTED_IMAGE_FORMAT", err.code)
      assert.matches("has no images of rg8snorm in 2 dimensions", err.message)
    end
  end)

  it("refuses data and boxes that do not fit", function()
    local m = lze.image("r32float", {4, 3})
    for what, f in pairs {
      ["12 pixels expected, got 11"] = function() m:write(counting(11)) end,
      ["12 pixels expected, got 13"] = function() m:write(counting(13)) end,
      ["48 bytes expected, got 3"] = function() m:write "abc" end,
      ["index 2: float expected, got string 'x'"] = function()
        m:write({1, "x"}, {size = {2}})
      end,
      ["table or string expected, got nil"] = function() m:write() end,
      ["(m:copy takes buffers)"] = function()
        m:write(lze.buffer("float", 12))
      end,
      ["box: it is not inside the image, of 4x3"] = function()
        m:read {at = {4, 3}, size = {2}}
      end,
      ["box: it is not inside the image"] = function() m:read {at = {5}} end,
      ["the image, of 4x3"] = function() m:read {size = {1, 1, 2}} end,
      ["box: at: item 1: a positive integer expected, got integer 0"] =
        function() m:string {at = {0}} end,
      ["box: size: a table of one to three integers expected, got integer 3"] =
        function() m:string {size = 3} end,
      ["unknown key 'src' in an image's box"] = function()
        m:read {src = {1}}
      end,
      ["table expected, got number"] = function() m:read(1) end,
      ["table expected, got string"] = function() m:read(nil, "t") end,
      ["table expected, got array"] = function()
        m:read(nil, lze.array.zeros {12})
      end,
      ["dimensions: 4 is outside 1..3"] = function()
        lze.device():image_formats(4)
      end,
    } do
      assert.matches(what, expect.misuse(f), 1, true)
    end
  end)

  it("refuses a wrong self and a closed image", function()
    local m = lze.image("r32float", {2, 2})
    local x = lze.buffer("float", 4)
    for _, name in ipairs {"read", "write", "string", "copy", "copy_box",
      "pending", "close"} do
      assert.matches("image expected, got buffer of float",
        expect.misuse(function() m[name](x) end), 1, true)
      assert.matches("image expected, got nil",
        expect.misuse(function() m[name](nil) end), 1, true)
    end
    local read, copy = m.read, m.copy
    m:close()
    m:close()
    assert.matches("the image is closed",
      expect.misuse(function() read(m) end), 1, true)
    assert.matches("the image is closed",
      expect.misuse(function() return m.width end), 1, true)
    assert.matches("the image is closed",
      expect.misuse(function() x:copy(m) end), 1, true)
    assert.matches("the image is closed", expect.misuse(function()
      copy(lze.image("r32float", {2, 2}), m)
    end), 1, true)
    assert.matches("no field 'nothing' in an image",
      expect.misuse(function() return lze.image("r8uint", 1).nothing end))
  end)
end)

describe("copies of images", function()
  it("go to and from buffers and other images", function()
    for _, size in ipairs {{7}, {5, 4}, {3, 4, 5}} do
      for _, usage in ipairs {"shared", "device", "host"} do
        local m, t = counted("r32float", size)
        local x = lze.buffer("float", #t, {usage = usage})
        local n = lze.image("r32float", size)
        assert.equal(x, x:copy(m))
        assert.equal(n, n:copy(x))
        assert.same(t, n:read())
        assert.same(t, x:read())
        local o = lze.image("r32float", size)
        assert.equal(o, o:copy(n))
        assert.equal(o, o:copy(o))
        assert.same(t, o:read())
      end
    end
  end)

  it("use parts of buffers through views", function()
    local m = lze.image("rgba8uint", {2, 2})
    local x = lze.buffer("uchar", counting(32))
    m:copy(x:view(9, 24, "uchar4"))
    assert.same({{9, 10, 11, 12}, {13, 14, 15, 16}, {17, 18, 19, 20},
      {21, 22, 23, 24}}, m:read())
    x:view(1, 16, "uchar4"):copy(m)
    assert.same({9, 10, 11}, x:read(1, 3))
  end)

  it("return events of their queues", function()
    local m, t = counted("r16uint", {4, 4})
    local x = lze.buffer("ushort", 16)
    for _, mode in ipairs {"immediate", "batched"} do
      for _, order in ipairs {"in", "out"} do
        local q = lze.queue {mode = mode, order = order}
        x:fill(0)
        local n = lze.image("r16uint", {4, 4})
        q:copy(n, m)
        local ev = q:copy(x, n)
        assert.is_true(ev:wait(limit))
        assert.is_true(ev:time().end_ns >= ev:time().start_ns)
        assert.same(t, x:read())
      end
    end
  end)

  it("go in boxes", function()
    local w, h, d = 6, 5, 4
    local m, t = counted("r32sint", {w, h, d})
    local box = {size = {3, 2, 2}, src = {2, 3, 2}}
    local expected = part(t, w, h, 2, 3, 2, 3, 2, 2)
    -- To a buffer without gaps, and with gaps.
    for _, usage in ipairs {"shared", "device"} do
      local tight = lze.buffer("int", 12, {usage = usage})
      assert.equal(tight, tight:copy_box(m, box))
      assert.same(expected, tight:read())
      local wide = lze.buffer("int", 100, {usage = usage}):fill(-1)
      wide:copy_box(m, {size = {3, 2, 2}, src = {2, 3, 2}, dst = {2, 2, 2},
        dst_width = 5, dst_height = 4})
      local all, n = wide:read(), 0
      for i = 1, 100 do
        local x, y, z = (i - 1) % 5 + 1, (i - 1) // 5 % 4 + 1, (i - 1) // 20 + 1
        local inside = x >= 2 and x <= 4 and y >= 2 and y <= 3 and
          z >= 2 and z <= 3
        if inside then n = n + 1 end
        assert.equal(inside and expected[n] or -1, all[i], i)
      end
      -- And back.
      local o = lze.image("r32sint", {4, 4, 4})
      o:copy_box(wide, {size = {3, 2, 2}, src = {2, 2, 2}, src_width = 5,
        src_height = 4, dst = {1, 2, 3}})
      assert.same(expected, o:read {at = {1, 2, 3}, size = {3, 2, 2}})
      local sum = 0
      for _, v in ipairs(o:read()) do sum = sum + v end
      for _, v in ipairs(expected) do sum = sum - v end
      assert.equal(0, sum)
      o:copy_box(tight, {size = {3, 2, 2}, dst = {2, 3, 1}})
      assert.same(expected, o:read {at = {2, 3, 1}, size = {3, 2, 2}})
    end
    -- With gaps between slices only.
    local slices = lze.buffer("int", 15):fill(-1)
    slices:copy_box(m, {size = {3, 2, 2}, src = {2, 3, 2}, dst_height = 3})
    local seen = slices:read()
    for i = 1, 6 do assert.equal(expected[i], seen[i]) end
    for i = 7, 9 do assert.equal(-1, seen[i]) end
    for i = 10, 15 do assert.equal(expected[i - 3], seen[i]) end
    -- Between images, and within one image.
    local o = lze.image("r32sint", {3, 2, 2})
    assert.equal(o, o:copy_box(m, box))
    assert.same(expected, o:read())
    m:copy_box(m, {size = {3, 2, 2}, src = {2, 3, 2}, dst = {4, 1, 3}})
    assert.same(expected, m:read {at = {4, 1, 3}, size = {3, 2, 2}})
    -- Between images with different numbers of dimensions.
    local flat = lze.image("r32sint", {3, 2})
    flat:copy_box(m, {size = {3, 2}, src = {2, 3, 2}})
    assert.same(part(t, w, h, 2, 3, 2, 3, 2, 1), flat:read())
  end)

  it("are refused if formats, sizes or contexts do not match", function()
    local m = lze.image("r32float", {4, 3})
    local other = lze.image("r32float", {3, 4})
    local x = lze.buffer("float", 12)
    local q = lze.queue()
    for what, f in pairs {
      ["image of 4x3 expected, got one of 3x4"] = function() m:copy(other) end,
      ["image of r32float expected, got image of r32uint"] = function()
        m:copy(lze.image("r32uint", {4, 3}))
      end,
      ["buffer of float, as pixels of r32float are stored, expected, got " ..
        "buffer of int"] = function() m:copy(lze.buffer("int", 12)) end,
      ["12 elements expected, as the image of 4x3 has pixels, got 11"] =
        function() x:view(1, 11):copy(m) end,
      ["an image is copied whole here, a part of it by copy_box"] =
        function() x:copy(m, 1, 4) end,
      ["buffer or image expected, got integer 7"] = function() m:copy(7) end,
      ["buffer or image expected, got nil"] = function() q:copy(m) end,
      ["box: src_width: an image has its own"] = function()
        x:copy_box(m, {size = {2}, src_width = 2})
      end,
      ["box: dst_height: an image has its own"] = function()
        m:copy_box(x, {size = {2}, dst_height = 2})
      end,
      ["box: it is not inside src, of 4x3"] = function()
        x:copy_box(m, {size = {2, 2}, src = {3, 3}})
      end,
      ["box: it is not inside dst, of 4x3"] = function()
        m:copy_box(x, {size = {5, 1}})
      end,
      ["box: it is not inside src, a buffer of 12"] = function()
        m:copy_box(x, {size = {4, 3}, src = {2, 1}})
      end,
      ["box: source and destination overlap"] = function()
        m:copy_box(m, {size = {2, 2}, dst = {2, 2}})
      end,
      ["unknown key 'at' in a box"] = function()
        m:copy_box(x, {size = {1}, at = {1}})
      end,
    } do
      assert.matches(what, expect.misuse(f), 1, true)
    end
    local c <close> = lze.context(lze.device())
    local far = lze.image("r32float", {4, 3}, {context = c})
    assert.matches("an image of another context",
      expect.misuse(function() m:copy(far) end), 1, true)
    assert.matches("a buffer of another context", expect.misuse(function()
      m:copy(lze.buffer("float", 12, {context = c}))
    end), 1, true)
    assert.matches("another context",
      expect.misuse(function() q:copy(far, far) end), 1, true)
  end)
end)

describe("kernels with images", function()
  it("describe their arguments", function()
    assert.same({{name = "from", type = "image2d_t", access = "read"},
      {name = "to", type = "image2d_t", access = "write"}}, mod.blur.args)
    assert.same({name = "s", type = "sampler_t"}, at.args[2])
    assert.equal("image3d_t", mod.sum3.args[1].type)
    local stripped = lze.spirv.reflect(mod:spirv())
    for _, k in ipairs(stripped.kernels) do
      if k.name == "blur" then
        assert.equal("read", k.args[1].access)
        assert.equal("write", k.args[2].access)
      end
    end
  end)

  it("give the same blur as a loop", function()
    local w, h = 37, 23
    local from = lze.image("r32float", {w, h})
    local to = lze.image("r32float", {w, h})
    local t = {}
    for i = 1, w * h do t[i] = i * i % 101 end
    from:write(t)
    mod.blur({w, h}, from, to)
    local got = to:read()
    local function clamp(v, most) return math.max(0, math.min(v, most)) end
    for y = 0, h - 1 do
      for x = 0, w - 1 do
        local sum = 0
        for j = -1, 1 do
          for i = -1, 1 do
            sum = sum + t[clamp(y + j, h - 1) * w + clamp(x + i, w - 1) + 1]
          end
        end
        assert.is_true(math.abs(got[y * w + x + 1] - sum / 9) < 1e-4)
      end
    end
  end)

  it("read three dimensions", function()
    local m, t = counted("r32sint", {5, 4, 3})
    local out = lze.buffer("int", #t)
    mod.sum3({5, 4, 3}, m, out)
    for i, v in ipairs(t) do assert.equal(100 + v, out[i]) end
  end)

  it("see the channels that the format defines", function()
    local out = lze.buffer("float4", 1)
    local function seen(format, pixel)
      mod.channels(1, lze.image(format, {1, 1}):write {pixel}, out)
      return {table.unpack(out[1])}
    end
    assert.same({1, 0, 0.2, 0.4}, (function()
      local v = seen("rgba8unorm", {255, 0, 51, 102})
      for i = 1, 4 do v[i] = math.floor(v[i] * 10 + 0.5) / 10 end
      return v
    end)())
    assert.same({0, 1, 1, 0}, seen("bgra8unorm", {255, 255, 0, 0}))
    assert.same({1, -1, 0, -1}, seen("rgba8snorm", {127, -127, 0, -128}))
    assert.same({2.5, 0, 0, 1}, seen("r32float", 2.5))
    assert.same({1, -2, 0.5, 1024}, seen("rgba16float", {1, -2, 0.5, 1024}))
    local m = lze.image("rgba8unorm", {2, 1})
    mod.put({2, 1}, m, {1, 0, 2, -1})
    assert.same({{255, 0, 255, 0}, {255, 0, 255, 0}}, m:read())
  end)

  it("read through samplers", function()
    local w, h = 4, 2
    local m = lze.image("r32float", {w, h}):write {1, 2, 4, 8, 10, 20, 40, 80}
    local function read(options, points)
      local out = lze.buffer("float", #points)
      at(#points, m, lze.sampler(options), lze.buffer("float2", points), out)
      return out:read()
    end
    assert.same({1, 2, 80}, read({}, {{0.5, 0.5}, {1.9, 0.1}, {3.5, 1.5}}))
    assert.same({1, 80}, read({address = "clamp"}, {{-3, -2}, {9, 9}}))
    assert.same({0, 0, 2}, read({address = "border"},
      {{-3, 0.5}, {9, 0.5}, {1.5, 0.5}}))
    assert.same({1.5, 5.5}, read({filter = "linear"}, {{1, 0.5}, {0.5, 1}}))
    assert.same({1, 2, 2, 20}, read({address = "repeat", normalized = true},
      {{0.1, 0.2}, {0.3, 0.2}, {1.3, 0.2}, {-0.7, 0.7}}))
    assert.same({4.5}, read({address = "repeat", normalized = true,
      filter = "linear"}, {{0, 0.25}}))
    assert.same({8, 8}, read({address = "mirror", normalized = true},
      {{0.9, 0.2}, {1.1, 0.2}}))
  end)

  it("use a new sampler at each launch", function()
    local m = lze.image("r32float", {2, 1}):write {1, 2}
    local out = lze.buffer("float", 1)
    local points = lze.buffer("float2", {{-1, 0.5}})
    for i = 1, 40 do
      local border = i % 3 == 0
      do
        local s <close> = lze.sampler {address = border and "border" or "clamp"}
        at(1, m, s, points, out)
      end
      if i % 5 == 0 then collectgarbage() end
      assert.equal(border and 0 or 1, out[1])
    end
  end)

  it("refuse invalid arguments", function()
    local m = lze.image("r32float", {2, 2})
    local s = lze.sampler()
    local x, p = lze.buffer("float", 4), lze.buffer("float2", 4)
    local c <close> = lze.context(lze.device())
    local closed, no_sampler = lze.image("r32float", {2, 2}), lze.sampler()
    closed:close()
    no_sampler:close()
    for what, f in pairs {
      ["kernel blur: argument 2 (to): image2d_t expected (an image), got " ..
        "buffer of float"] = function() mod.blur({2, 2}, m, x) end,
      ["argument 1 (from): image2d_t expected (an image), got nil"] =
        function() mod.blur({2, 2}, nil, m) end,
      ["argument 1 (from): image2d_t expected (an image), got sampler"] =
        function() mod.blur({2, 2}, s, m) end,
      ["argument 1 (from): image2d_t expected (an image of 2 dimensions), " ..
        "got image of r32float in 1 dimension"] = function()
        mod.blur({2, 2}, lze.image("r32float", 4), m)
      end,
      ["argument 1 (from): image3d_t expected (an image of 3 dimensions), " ..
        "got image of r32float in 2 dimensions"] = function()
        mod.sum3({2, 2}, m, lze.buffer("int", 4))
      end,
      ["argument 2 (to): the image is closed"] = function()
        mod.blur({2, 2}, m, closed)
      end,
      ["argument 1 (from): an image of another context"] = function()
        mod.blur({2, 2}, lze.image("r32float", {2, 2}, {context = c}), m)
      end,
      ["kernel at: argument 2 (s): sampler_t expected (a sampler), got " ..
        "image of r32float in 2 dimensions"] = function() at(4, m, m, p, x) end,
      ["argument 2 (s): the sampler is closed"] = function()
        at(4, m, no_sampler, p, x)
      end,
      ["argument 2 (s): a sampler of another context"] = function()
        at(4, m, lze.sampler {context = c}, p, x)
      end,
      ["kernel plain: argument 1 (out): int* expected (a buffer, or nil), " ..
        "got image of r32float in 2 dimensions"] = function()
        mod.plain(4, m)
      end,
      ["kernel layers: argument 1 (from): image2d_array_t is not supported"] =
        function() mod.layers(1, m, x) end,
      ["uses: buffer expected, got image"] = function()
        mod.plain({4, uses = m}, lze.buffer("int", 4))
      end,
    } do
      assert.matches(what, expect.misuse(f), 1, true)
    end
    -- A refused argument is not kept.
    mod.twice({2, 2}, m:write {1, 2, 3, 4}, m)
  end)

  it("read what was written, in each format of reals", function()
    local out = lze.buffer("float4", 1)
    local places = {r = 1, g = 2, b = 3, a = 4}
    for _, format in ipairs(lze.device():image_formats()) do
      local channels, bits, kind = format:match "^(%a+)(%d+)(%a+)$"
      bits = math.tointeger(tonumber(bits))
      local most = kind == "unorm" and (1 << bits) - 1 or
        kind == "snorm" and (1 << bits - 1) - 1 or kind == "float" and 1
      if most and #channels ~= 2 then
        local pixel = {}
        for i = 1, #channels do pixel[i] = 10 + i end
        local m <close> = lze.image(format, {1, 1})
        m:write {#channels == 1 and pixel[1] or pixel}
        mod.channels(1, m, out)
        for i = 1, #channels do
          local got = out[1][places[channels:sub(i, i)]]
          assert.is_true(math.abs(got * most - pixel[i]) < 0.01,
            format .. " " .. got)
        end
      end
    end
  end)

  it("refuse to write to read-only images", function()
    for _, format in ipairs(lze.device():image_formats()) do
      local m <close> = lze.image(format, {2, 2})
      if m.access == "read" then
        assert.matches("on this device images of " .. format ..
          " are for reading only",
          expect.misuse(function() mod.put({2, 2}, m, {1, 1, 1, 1}) end))
        local vector = m:read()
        mod.channels(1, m:write(vector), lze.buffer("float4", 1))
      end
    end
  end)

  it("run in the order of their dependencies", function()
    local w, h = 16, 8
    local queues = {}
    for i = 1, 3 do
      queues[i] = lze.queue {order = i == 1 and "in" or "out"}
    end
    local a, b = lze.image("r32float", {w, h}), lze.image("r32float", {w, h})
    local x = lze.buffer("float", w * h):fill(1)
    for round = 1, 30 do
      local q = queues[round % 3 + 1]
      a:copy(x)
      q:launch(mod.twice, {w, h}, a, b)
      queues[(round + 1) % 3 + 1]:launch(mod.twice, {w, h}, b, a)
      queues[(round + 2) % 3 + 1]:copy(x, a)
      x:view(1, 1):fill(round)
    end
    local t = x:read()
    assert.equal(30, t[1])
    for i = 2, w * h do assert.equal(4.0 ^ 30, t[i]) end
  end)

  it("run repeatedly", function()
    local a, b = lze.image("r32float", {3, 3}), lze.image("r32float", {3, 3})
    a:write {1, 2, 3, 4, 5, 6, 7, 8, 9}
    for _ = 1, 200 do mod.twice({3, 3}, a, b) end
    for _ = 1, 10 do
      mod.twice({3, 3}, a, b)
      mod.twice({3, 3}, b, a)
    end
    local t = a:read()
    for i = 1, 9 do assert.equal(i * 4.0 ^ 10, t[i]) end
  end)
end)

describe("lze.sampler", function()
  it("describes itself", function()
    local s <close> = lze.sampler()
    assert.same({"clamp", "nearest", false},
      {s.address, s.filter, s.normalized})
    assert.equal("sampler: clamp, nearest", tostring(s))
    local all = lze.sampler {address = "mirror", filter = "linear",
      normalized = true}
    assert.equal("sampler: mirror, linear, normalized", tostring(all))
    assert.equal("sampler", lze.type(all))
    all:close()
    assert.equal("sampler: mirror, linear, normalized (closed)", tostring(all))
    assert.matches("the sampler is closed",
      expect.misuse(function() return all.filter end))
    assert.matches("sampler expected, got no value",
      expect.misuse(function() s.close() end))
  end)

  it("refuses invalid options", function()
    for what, options in pairs {
      ["option address: none, repeat, clamp, border or mirror expected, got " ..
        "string 'edge'"] = {address = "edge"},
      ["option filter: nearest or linear expected"] = {filter = 1},
      ["option normalized: boolean expected"] = {normalized = 1},
      ["option address: repeat is for normalized coordinates"] =
        {address = "repeat"},
      ["option address: mirror is for normalized coordinates"] =
        {address = "mirror", normalized = false},
      ["unknown key 'adress' in a sampler's options"] = {adress = 1},
      ["table expected, got string"] = "clamp",
    } do
      assert.matches(what, expect.misuse(function() lze.sampler(options) end),
        1, true)
    end
  end)
end)

describe("graphs", function()
  it("have tasks with images", function()
    local w, h = 8, 4
    local m, t = counted("r32float", {w, h})
    local a, b = lze.image("r32float", {w, h}), lze.image("r32float", {w, h})
    local g = lze.graph "images"
    g:task("first", mod.twice, {w, h}, m, a)
    g:task("second", mod.twice, {w, h}, a, b)
    g:task("third", mod.twice, {w, h}, b, a)
    local plan = g:compile {profile = true}
    for round = 1, 3 do
      m:write(counting(w * h, round))
      a:write(("\0"):rep(a.bytes))
      plan:run()
      local got = a:read()
      for i = 1, w * h do assert.equal(8 * (i + round), got[i]) end
    end
    assert.is_true(#plan:report().tasks == 3)
    plan:set("third", "to", m)
    m:write(t)
    plan:run()
    for i, v in ipairs(m:read()) do assert.equal(8 * t[i], v) end
    assert.matches("image2d_t expected (an image), got integer 5",
      expect.misuse(function() plan:set("third", 2, 5) end), 1, true)
  end)

  it("keep the images that they use", function()
    local b = lze.image("r32float", {4, 4})
    local plan
    do
      local a = counted("r32float", {4, 4})
      plan = lze.graph():task("t", mod.twice, {4, 4}, a, b):compile()
    end
    collectgarbage()
    collectgarbage()
    plan:run()
    for i, v in ipairs(b:read()) do assert.equal(2 * i, v) end
  end)

  it("report a closed image", function()
    local a, b = lze.image("r32float", {4, 4}), lze.image("r32float", {4, 4})
    local plan = lze.graph():task("t", mod.twice, {4, 4}, a, b):compile()
    plan:run()
    a:close()
    assert.matches("closed", expect.misuse(function() plan:run() end))
  end)

  it("copy and fill buffers only", function()
    local m = lze.image("r32float", {4, 4})
    local x = lze.buffer("float", 16)
    local g = lze.graph()
    for _, f in ipairs {
      function() g:copy("a", m, x) end,
      function() g:copy("b", x, m) end,
      function() g:fill("c", m, 1) end,
      function() g:input(m, "every") end,
      function() g:output(m, "every") end,
      function() g:swap(m, x) end,
    } do
      assert.matches("image of r32float", expect.misuse(f))
    end
  end)

  it("do not split images into batches", function()
    local a = lze.image("r32float", {16, 1})
    local x = lze.buffer("float4", 16)
    local g = lze.graph():task("t", mod.channels, 16, a, x)
    assert.matches("argument 1: an image is not split", expect.misuse(function()
      g:compile {batch_bytes = 64}
    end), 1, true)
  end)
end)

describe("lze.tune", function()
  it("measures kernels that read images", function()
    local m = lze.image("r32sint", {8, 8, 8})
    local out = lze.buffer("int", 512)
    assert.is_true(#lze.tune(mod.sum3, {2, 2, 1}, m, out).results >= 1)
    assert.matches("argument 2: an image that the kernel writes to",
      expect.misuse(function()
        local a = lze.image("r32float", {4, 4})
        lze.tune(mod.twice, {4, 4}, a, a)
      end), 1, true)
  end)
end)

describe("the lifetime of images", function()
  local n, rounds = 4, 25000000
  local spun
  setup(function()
    local a, b = lze.image("r32uint", n), lze.image("r32uint", n)
    mod.slow(n, a, b, rounds)
    spun = b:read()
  end)

  local function collect()
    collectgarbage()
    collectgarbage()
  end

  it("lasts until the work is done", function()
    local out = lze.buffer("uint", n)
    do
      local a, b = lze.image("r32uint", n), lze.image("r32uint", n)
      mod.slow(n, a, b, rounds)
      out:copy(b)
    end
    collect()
    for _ = 1, 20 do lze.image("r32uint", n):write {7, 7, 7, 7} end
    assert.same(spun, out:read())
  end)

  it("lasts when it is closed in flight", function()
    local out = lze.buffer("uint", n)
    local a, b = lze.image("r32uint", n), lze.image("r32uint", n)
    mod.slow(n, a, b, rounds)
    out:copy(b)
    local c <close> = lze.image("r32uint", n):copy(b)
    assert.same(spun, c:read())
    assert.is_false(b:pending())
    mod.slow(n, a, b, rounds)
    out:copy(b)
    a:close()
    b:close()
    for _ = 1, 20 do lze.image("r32uint", n):write {7, 7, 7, 7} end
    assert.same(spun, out:read())
  end)

  it("is visible in lze.stats().bytes", function()
    collect()
    assert.is_true(lze.wait(limit))
    collect()
    local base = lze.stats().bytes
    do
      local m = lze.image("rgba32float", {64, 64}, {zero = false})
      assert.equal(base + m.bytes, lze.stats().bytes)
      m:close()
      assert.equal(base, lze.stats().bytes)
      for _ = 1, 50 do lze.image("rgba32float", {64, 64}):read() end
    end
    collect()
    assert.is_true(lze.wait(limit))
    collect()
    assert.equal(base, lze.stats().bytes)
  end)

  it("ends with its context", function()
    local c = lze.context(lze.device())
    local m = lze.image("r8uint", {4, 4}, {context = c})
    local s = lze.sampler {context = c}
    c:close()
    assert.equal("image: r8uint 4x4 (closed)", tostring(m))
    assert.equal("sampler: clamp, nearest (closed)", tostring(s))
    assert.matches("closed", expect.misuse(function() m:read() end))
  end)
end)

describe("an image of another device", function()
  it("is refused by kernels, copies and plans", function()
    local out = process.output([[
      local lze = require "lze"
      local one, two = lze.device(1), lze.device(2)
      local k = lze.compile("kernel void k(read_only image1d_t m, " ..
        "global int *x) { int i = get_global_id(0); " ..
        "x[i] = read_imagei(m, i).x; }").k
      local here = lze.image("r32sint", 2):write {3, 4}
      local there = lze.image("r32sint", 2, {device = two}):write {5, 6}
      local x = lze.buffer("int", 2)
      print(here.device == one, there.device == two)
      local function message(f, ...)
        local ok, err = pcall(f, ...)
        assert(not ok)
        print((tostring(err):gsub("^[^:]*:%d+: ", "")))
      end
      message(k, 2, there, x)
      message(function() here:copy(there) end)
      message(function() lze.queue(one):copy(x, there) end)
      message(function()
        lze.graph():task("t", k, 2, here, x):compile {device = two}
      end)
      k(2, here, x)
      print(x[1], x[2])
      here:write(there:read())
      k(2, here, x)
      x:copy(x)
      print(x[1], x[2], there:copy(lze.buffer("int", {7, 8})):read()[2])]],
      {env = {ZOCL_ROOT_DEVICES = "2", LZE_DEVICE = false}})
    assert.equal("true\ttrue\n" ..
      "kernel k: argument 1 (m): an image of another device\n" ..
      "bad argument #1 to 'copy' (an image of another device)\n" ..
      "bad argument #2 to 'copy' (an image of another device)\n" ..
      "graph graph: task graph.t: kernel k: argument 1 (m): an image of " ..
      "another device\n3\t4\n5\t6\t8\n", out)
  end)
end)

describe("a device without images", function()
  -- The driver reports what a driver without images reports.
  local function without(script)
    return process.output(([[
      local lze = require "lze"
      local source = "kernel void image(read_only image2d_t m, sampler_t s, " ..
        "global float *x) { x[0] = read_imagef(m, s, (float2)(0)).x; }" ..
        "kernel void plain(global int *x) { x[get_global_id(0)] = 5; }"
      local function message(f, ...)
        local ok, err = pcall(f, ...)
        assert(not ok)
        print((tostring(err):gsub("device .- has", "device D has")))
      end
      %s]]):format(script), {env = {
        ZE_ENABLE_ALT_DRIVERS = build .. "/spec/ze_fault.so",
        ZE_FAULT_DRIVER = build .. "/libze_opencl.so",
        ZE_FAULT = "fail zeDeviceGetImageProperties 0 0x78000003"}})
  end

  it("refuses images, samplers and launches, but not modules", function()
    local out = without [[
      local mod = lze.compile(source)
      local x = lze.buffer("int", 2)
      mod.plain(2, x)
      print(x[1], x[2], mod.image.args[1].type, #lze.device():image_formats())
      message(lze.image, "r8uint", {1, 1})
      message(lze.sampler)
      message(mod.image, 1, nil, nil, lze.buffer("float", 1))
      print(lze.device():properties().max_image_2d)
    ]]
    assert.equal("5\t5\timage2d_t\t0\n" ..
      "lze.image: device D has no images\n" ..
      "lze.sampler: device D has no images\n" ..
      "kernel image: argument 1 (m): device D has no images\n0\n",
      (out:gsub("[^:\n]*:%d+: ", "")))
  end)

  it("may be a PoCL sub-device, which cannot copy images", function()
    assert.equal("true\t4\n", process.output([[
      local lze = require "lze"
      local tile = lze.device():subdevices()[1]
      local ok, m = pcall(lze.image, "r8uint", {2, 2}, {device = tile})
      -- A device of one core has parts in name only.
      print(ok and #m:read() == 4 or m:find "has no images" ~= nil,
        #lze.image("r8uint", {2, 2}):read())]],
      {env = {ZOCL_SUB_DEVICES = "2"}}))
  end)
end)
