-- everything.lua - a script that uses every public function of lze.
-- SPDX-License-Identifier: MIT
--
-- The sweeps run it: `everything(step)` calls step(name, f) for each part, and
-- step calls f in any way.  A part does not need another part and is not
-- disturbed if one fails.  Each part asserts its results.

local lze = require "lze"

-- Seconds within which all work that is waited for must finish.
local limit = 60

local function bytes_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(file:read "a")
end

local spv = bytes_of "kernels/spec.spv"

-- The module that the parts share, created again if it is missing or closed.
local shared
local function spec()
  if not shared or tostring(shared):find "closed" then
    shared = lze.load "kernels/spec.spv"
  end
  return shared
end

local function same(expected, t)
  assert(#expected == #t, "wrong length")
  for i, v in ipairs(expected) do
    if t[i] ~= v then
      error(("element %d is %s, not %s"):format(i, t[i], v))
    end
  end
end

local function filled(n, v)
  local t = {}
  for i = 1, n do t[i] = v end
  return t
end

local parts = {}
local function part(name, f) parts[#parts + 1] = {name = name, run = f} end

part("devices", function()
  assert(lze.info():find "lze")
  assert(#lze.drivers() > 0 and lze.drivers()[1].api)
  local dev = lze.device()
  assert(dev.name == lze.devices()[1].name)
  assert(dev:properties() and dev.uuid and #dev.subgroup_sizes >= 0)
  assert(dev.type and dev.vendor and dev.memory_bytes > 0)
  assert(dev.compute_units > 0 and dev.max_group_size > 0)
  for _, key in ipairs {"fp16", "fp64", "software"} do
    assert(type(dev[key]) == "boolean")
  end
  assert(dev.parent == nil)
  local driver = dev.driver
  assert(driver.name and driver.version and driver.handle and
    tostring(driver))
  local free, total = dev:memory()
  assert(free <= total and #dev:subdevices() >= 0)
  assert(dev:telemetry())
  assert(lze.type(dev) == "device" and tostring(dev))
  assert(lze.default(dev) == dev and dev.context and dev.queue)
end)

part("shared and host buffers", function()
  for _, usage in ipairs {"shared", "host"} do
    local x <close> = lze.buffer("int", {1, 2, 3, 4}, {usage = usage})
    local y <close> = lze.buffer("int", 4, {usage = usage})
    same({0, 0, 0, 0}, y:read())
    y:copy(x, 1, 2, 3):fill(9, 1, 2)
    same({9, 9, 1, 2}, y:read())
    y[1] = x[4]
    y:write({5, 6}, 2)
    same({4, 5, 6, 2}, y:read())
    assert(y:string(1, 1) == ("<i4"):pack(4) and tostring(y))
    y:write(("<i4"):pack(7), 4)
    y:write(x, 1)
    same({1, 2, 3, 4}, y:read())
    assert(y:pending() == false and y.pointer and y.handle)
    assert(y.bytes == 16)
    for i, v in pairs(y) do assert(i == v) end
  end
end)

part("device buffers", function()
  local x <close> = lze.buffer("float", {1, 2, 3, 4}, {usage = "device"})
  local y <close> = lze.buffer("float", 4, {usage = "device", zero = false})
  y:fill(0.5):copy(x, 2, 3, 1)
  same({2, 3, 0.5, 0.5}, y:read())
  y:write({7, 8}, 3)
  assert(y:string(4) == ("<f"):pack(8))
  y:write(x)
  same({1, 2, 3, 4}, y:read())
end)

part("views and boxes", function()
  local x <close> = lze.buffer("uchar", 32)
  local v = x:view(9, 16)
  v:fill(1)
  assert(x:view(9, 12, "uint")[1] == 0x01010101)
  local stamp = lze.buffer("uchar", {1, 2, 3, 4})
  x:copy_box(stamp, {size = {2, 2}, dst = {3, 2}, dst_width = 8})
  same({1, 1, 1, 2, 1, 1, 1, 1}, v:read())
  same({0, 0, 3, 4}, x:read(17, 20))
  v:close()
end)

part("images", function()
  local dev = lze.device()
  assert(#dev:image_formats(3) > 0)
  local m = lze.image("r32float", {3, 2}):write {1, 2, 3, 4, 5, 6}
  same({1, 2, 3, 4, 5, 6}, m:read())
  same({5, 6}, m:read {at = {2, 2}})
  assert(m:string {size = {1, 1}} == ("<f"):pack(1))
  assert(m.format == "r32float" and m.type == "float" and m.access == "both")
  assert(m.width == 3 and m.height == 2 and m.depth == 1)
  assert(m.dimensions == 2 and m.bytes == 24 and m.handle)
  assert(m.device == dev and m.context and m:pending() == false)
  assert(tostring(m):find "3x2")
  local n <close> = lze.image("r32float", {3, 2}, {zero = false}):copy(m)
  local x = lze.buffer("float", 12, {usage = "host"})
  x:view(1, 6):copy(n)
  same({1, 2, 3, 4, 5, 6}, x:read(1, 6))
  x:copy_box(n, {size = {2, 2}, dst = {1, 2}, dst_width = 4})
  same({1, 2, 3, 4, 1, 2, 0, 0, 4, 5, 0, 0}, (function()
    x:fill(0, 7, 8):fill(0, 11, 12)
    return x:read()
  end)())
  n:copy_box(x, {size = {2, 1}, src = {1, 3}, src_width = 4, dst = {2, 1}})
  same({1, 4, 5, 4, 5, 6}, n:read())
  m:close()
end)

part("images as arguments", function()
  local k = lze.compile([[
    kernel void turn(read_only image2d_t from, sampler_t s,
                     write_only image2d_t to) {
      int2 p = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(to, p.yx, read_imagef(from, s, p));
    }]]).turn
  local from = lze.image("r32float", {3, 2}):write {1, 2, 3, 4, 5, 6}
  local to = lze.image("r32float", {2, 3})
  local s <close> = lze.sampler {address = "clamp"}
  assert(s.address == "clamp" and s.filter == "nearest" and s.handle)
  assert(s.normalized == false and s.device == to.device and s.context)
  assert(tostring(s):find "nearest")
  k({3, 2}, from, s, to)
  same({1, 4, 2, 5, 3, 6}, to:read())
  local g = lze.graph():task("turn", k, {2, 3}, to, s, from)
  local plan = g:compile()
  to:write {9, 8, 7, 6, 5, 4}
  plan:run()
  same({9, 7, 5, 8, 6, 4}, from:read())
  lze.sampler():close()
end)

part("files", function()
  for _, usage in ipairs {"shared", "device"} do
    local x = lze.buffer("int", {1, 2, 3, 4}, {usage = usage})
    local file <close> = assert(io.tmpfile())
    x:save(file, 2, 4)
    file:seek "set"
    assert(x:load(file) == 3)
    same({2, 3, 4, 4}, x:read())
  end
end)

part("modules", function()
  local m = lze.module(spv)
  assert(#m:kernels() > 5 and m:spirv() == spv and m.device and m.handle)
  assert(#m.warnings >= 0 and lze.type(m) == "module" and tostring(m))
  local binary = m:native()
  m:close()
  local n = lze.module(binary, {spirv = spv})
  local x = lze.buffer("int", {1, 2})
  do
    local k <close> = n:kernel "add"
    k(2, x, 3)
  end
  same({4, 5}, x:read())
  n:close()
  local ok, err = pcall(lze.module, binary:sub(1, #binary // 2), {spirv = spv})
  assert(not ok)
  if err.code ~= "ERROR_INVALID_NATIVE_BINARY" then error(err, 0) end
end)

part("modules from source", function()
  local m <close> = lze.compile([[
    kernel void twice(global int *x) { x[get_global_id(0)] *= TIMES; }]],
    {defines = {TIMES = 2}})
  local x = lze.buffer("int", {1, 2})
  m.twice(2, x)
  same({2, 4}, x:read())
  assert(type(m.log) == "string" and #m.warnings == 0)
  local ok, err = pcall(lze.compile, "kernel void bad() { nonsense }")
  assert(not ok)
  if err.code ~= "COMPILE_FAILED" then error(err, 0) end
  assert(tostring(err):find "COMPILE_FAILED")
end)

part("spirv", function()
  local s = lze.spirv
  assert(s.validate(spv))
  assert(s.validate(s.assemble(s.disassemble(spv))))
  assert(s.reflect(spv) and s.validate(s.optimize(spv)))
end)

part("kernels", function()
  local k = spec().count
  assert(k.name == "count" and #k.args == 3 and k.max_group_size > 0)
  assert(k.subgroup_size and k.local_bytes and k.private_bytes and
    k.spill_bytes and k.handle and k.required_group_size == nil)
  assert(tostring(k) and lze.type(k) == "kernel" and k:prepare(0))
  k.group_hint = {7, 1}
  assert(k.group_hint[1] == 7 and k:group(7, 11) == 7)
  k.group_hint = nil
  for _, policy in ipairs {"lze", "driver", "largest", "tornado",
                           "tuned"} do
    local seen = lze.buffer("int", 7 * 11)
    assert(k:group {7, 11, policy = policy} > 0)
    k({7, 11, policy = policy}, seen, 7, 11)
    same(filled(77, 1), seen:read())
  end
  local seen = lze.buffer("int", 7)
  assert(#lze.tune(k, {7, 1}, seen, 7, 1).group == 3)
  same(filled(7, 0), seen:read())
  k:close()
end)

part("arrays", function()
  local A = lze.array
  local x = A("float", {{1, 2}, {3, 4}})
  same({3, 5, 7, 9}, (x * 2 + 1):read())
  x[{1, {}}] = x:t()[2]
  same({2, 4, 3, 4}, x:read())
  same({2, 4}, x:table()[1])
  same({4, 2}, x:take({4, 1}):read())
  same({4, 4}, x[x:gt(3)]:read())
  same({2, 4, 3, 4}, x:sort():read())
  local path = os.tmpname()
  x:save(path)
  local y = A.load(path)
  os.remove(path)
  same({2, 4, 3, 4}, y:read())
  x:save(path)
  local mapped = A.open(path)
  assert(mapped:sum():item() == 13)
  mapped:close()
  os.remove(path)
  x:save(path .. ".csv")
  same({2, 4, 3, 4}, A.load(path .. ".csv"):read())
  os.remove(path .. ".csv")
  A.save(path .. ".npz", {x = x, y = y}, {compress = true})
  same({2, 4, 3, 4}, A.load(path .. ".npz").y:read())
  os.remove(path .. ".npz")
  same({5, 8}, A("int", {{2, 4}, {3, 4}}):sum({dim = 1}):read())
  assert(A.reduce(function(a, b) return a + b end, 1, x):item() == 14)
  assert(A.map(function(a) return a + 1 end, x):sum():item() > 0)
  local z = x * 2
  x:set(x * 0.5 + z)
  same({5, 10, 7.5, 10}, x:eval():read())
  x:set(x * 0.4)
  same({4, 8, 6, 8}, z:read())
  same({3, 5, 4, 5}, A.fuse(function(a) return a + 1 end)(x):read())
  assert((x + 1):explain "sum" and A.stats().operations > 0)
  local g <close> = lze.graph()
  local plan <close> = g:array("step", x, x + 1):compile()
  plan:run()
  x:set(x - 1)
  assert(x[2][1] == 3 and #x == 2 and tostring(x) and lze.type(x) == "array")
end)

-- If a write fails, expressions that need the old elements are still computed.
part("writes of what expressions read", function()
  local A = lze.array
  local x = A("float", {1, 2, 3})
  local y = x + 1
  local z, w = y * 2, x:sqrt() * 0 + y
  local ok, err = pcall(x.fill, x, 0)
  if not ok then x:fill(0) end
  same({0, 0, 0}, x:read())
  same({4, 6, 8}, z:read())
  local done, why = pcall(y.fill, y, 7)
  if not done then y:fill(7) end
  same({7, 7, 7}, y:read())
  same({2, 3, 4}, w:read())
  same({4, 6, 8}, z:read())
  local e = z / 2
  local set, text = pcall(z.set, z, e)
  if not set then z:set(e) end
  same({2, 3, 4}, z:read())
  z:fill(0)
  same({2, 3, 4}, e:read())
  if not ok then error(err, 0) end
  if not done then error(why, 0) end
  if not set then error(text, 0) end
end)

part("printing", function()
  local A = lze.array
  local before = A.print_options()
  assert(A.print_options({precision = 2}).precision == 2)
  local x = A("float", {1 / 3})
  lze.wait()
  local text = tostring(x)
  assert(text == "array: float {1} [0.33]" or
    text == "array: float {1} (failed)") -- Memory may run out.
  A.print_options(before)
end)

part("matrices", function()
  local A = lze.array
  local x = A("float", {{1, 2}, {3, 4}})
  same({7, 10, 15, 22}, x:mm(x):read())
  same({5, 11}, x:mv(x[1]):read())
  same({3, 4, 6, 8}, x[1]:outer(x[2]):read())
  same({1, 0, 3, 4}, x:tril():read())
  same({1, 2, 0, 4}, x:triu():read())
  assert(x:trace():item() == 5)
end)

-- The functions that need no library.
part("linear algebra", function()
  local A = lze.array
  local x = A("double", {{4, 2}, {2, 5}})
  same({1, 2}, x:solve(A("double", {8, 12})):read())
  same({5 / 16, -1 / 8, -1 / 8, 1 / 4}, x:inv():read())
  assert(x:det():item() == 16 and x:slogdet():item() == 1)
  same({2, 0, 1, 2}, x:cholesky():read())
  same({2, 2}, x:triangular_solve(A("double", {8, 14})):read())
  local q, r = x:qr()
  assert((q:mm(r) - x):abs():max():item() < 1e-12)
  local _, l, u = x:lu()
  same({1, 0, 0.5, 1}, l:read())
  same({4, 2, 0, 4}, u:read())
  same({20, 18, 18, 29}, x:matrix_power(2):read())
  same({7, 5}, {x:matrix_norm({ord = 1}):item(),
    x:vector_norm({ord = math.huge}):item()})
  assert(math.abs(x:cond(1):item() - 49 / 16) < 1e-12)
  same({1, 0, 0, 1}, (x * 0):expm():read())
  same({8, 20}, x:matmul(A("double", {0, 4})):read())
  same({4, 5}, x:diagonal():diag():diag():read())
  assert(x:trace():item() == 9 and x:tensordot(x):item() == 49)
  same({20, 29}, x:vecdot(x):read())
  same({4, 2, 2, 5}, x:kron(A.ones {1, 1}):read())
  same({20, 18, 18, 29}, A.einsum("ij,kj", x, x:matrix_transpose()):read())
  same({0, 0, 0}, A.ones(3):cross(A.ones(3)):read())
end)

part("convolutions and transforms", function()
  local A = lze.array
  local x = A("float", {1, 2, 3, 4})
  same({3, 5, 7}, x:conv1d(A.ones {2}):read())
  same({10}, x:reshape {2, 2}:conv2d(A.ones {2, 2}):read())
  same({1, 3, 5, 7, 4}, x:convolve(A.ones {2}):read())
  same({3, 5, 7}, x:correlate(A.ones {2}):read())
  same({10, 0, -2, 2, -2, 0, -2, -2}, A("float", x:fft()):read())
  same({1, 0, 2, 0, 3, 0, 4, 0}, A("float", x:fft():ifft()):read())
  same({1, 2, 3, 4}, x:rfft():irfft():read())
  same({1, 2, 3, 4}, x:ihfft():hfft():read())
  local y = x:reshape {2, 2}
  for _, way in ipairs {"2", "n"} do
    same({10, 0, -2, 0, -4, 0, 0, 0}, A("float", A.fft["fft" .. way](y)):read())
    same({1, 0, 2, 0, 3, 0, 4, 0}, A("float",
      A.fft["ifft" .. way](A.fft["fft" .. way](y))):read())
    same({1, 2, 3, 4}, A.fft["irfft" .. way](A.fft["rfft" .. way](y)):read())
  end
  same({0, 0.25, -0.5, -0.25}, A.fftfreq(4):read())
  same({0, 0.25, 0.5}, A.rfftfreq(4):read())
  same({3, 4, 1, 2}, x:fftshift():read())
  same({1, 2, 3, 4}, x:fftshift():ifftshift():read())
end)

part("complex arrays", function()
  local A = lze.array
  local z = A.complex(A("float", {3, 0}), 4)
  same({3, 0}, z:real():read())
  same({4, 4}, z:imag():read())
  same({5, 4}, z:abs():read())
  same({3, -4, 0, -4}, A("float", z:conj()):read())
  assert(A.polar(2, 0):angle():item() == 0)
  same({9, 4, 3, 4}, A("float", z * z / z + A("float", {6, 3})):read())
end)

part("names of arrays", function()
  local A = lze.array
  local x = A("int", {3, 1, 3, -2})
  same({4, 2, 4, -1}, A.add(x, 1):read())
  same({2, 0, 2, -3}, x:subtract(1):read())
  same({6, 2, 6, -4}, x:multiply(2):read())
  same({1.5, 0.5, 1.5, -1}, x:divide(2):read())
  same({1, 0, 1, -1}, x:floor_divide(2):read())
  same({9, 1, 9, 4}, x:pow(2):read())
  same({-3, -1, -3, 2}, x:negative():read())
  same({-4, -2, -4, 1}, x:bitwise_invert():read())
  same({2, 0, 2, 2}, x:bitwise_and(2):read())
  same({3, 3, 3, -2}, x:bitwise_or(2):read())
  same({1, 3, 1, -4}, x:bitwise_xor(2):read())
  same({6, 2, 6, -4}, x:bitwise_left_shift(1):read())
  same({1, 0, 1}, x[{ {1, 3} }]:bitwise_right_shift(1):read())
  same({1, 0, 1, 0}, x:equal(3):read())
  same({0, 1, 0, 1}, x:not_equal(3):read())
  same({0, 1, 0, 1}, x:less(3):read())
  same({0, 1, 0, 1}, x:less_equal(2):read())
  same({1, 0, 1, 0}, x:greater(1):read())
  same({1, 1, 1, 0}, x:greater_equal(1):read())
  same({3, 2, 3, 2}, x:maximum(2):read())
  same({2, 1, 2, -2}, x:minimum(2):read())
  same({2, 1, 2, 0}, x:clip(0, 2):read())
  same({3, 1, 3, -2, 0}, A.concat{x, A("int", 1)}:read())
  same({4, 1}, x:reshape{1, 4}:permute_dims(2, 1).shape)
  same({2, 4}, x:broadcast_to({2, 4}).shape)
  same({1, 3}, x:take_along_axis({2, 1}):read())
  assert(x:count_nonzero():item() == 4 and x:astype "float".type == "float")
  same({3, 4, 7, 5}, x:cumulative_sum():read())
  same({3, 3, 9, -18}, x:cumulative_prod():read())
  same({-2, 1, 3}, x:unique_values():read())
  same({1, 1, 2}, select(2, x:unique_counts()):read())
  same({3, 2, 3, 1}, select(2, x:unique_inverse()):read())
  same({4, 2, 1}, select(2, x:unique_all()):read())
  same({0, 0}, A.empty(2):read())
  same({0, 0, 0, 0}, x:empty_like():read())
  assert(A.isdtype("int", "integral"))
end)

part("random arrays", function()
  local A = lze.array
  A.seed(1)
  local x, y = A.rand(4):read(), A.randn{2, 2}
  A.seed(1)
  same(x, A.rand(4):read())
  assert(y:read()[4] == A.randn{2, 2}:read()[4])
  same({5, 5}, A.randint(2, 5, 5):read())
  local g = A.random(3)
  for name, arguments in pairs {normal = {0, 1}, uniform = {0, 1},
    exponential = {1}, gamma = {2, 1}, poisson = {3}, binomial = {9, 0.5}} do
    assert(#g[name](g, 4, table.unpack(arguments)):read() == 4)
    assert(#A.random[name](4, table.unpack(arguments)):read() == 4)
  end
  same({1, 2, 3}, g:permutation(3):sort():read())
  same({1, 2, 3}, g:shuffle(A.arange(3)):sort():read())
  same({1, 1}, g:choice(2, 2, {p = {1, 0}}):read())
  same({4, 0}, g:multinomial({}, 4, {1, 0}):read())
end)

part("kernels in Lua", function()
  local w, a = lze.work, 2
  local x = lze.buffer("int", {1, 2, 3, 0})
  local k = lze.kernel(function(i, x)
    x[i] = x[i] + a * i
    w.atomic_add(x, 4, 1)
  end)
  k(3, x)
  same({3, 6, 9, 3}, x:read())
  assert(k:variant(3, x):group(3) and #k:spirv "int *x" > 0 and tostring(k))
  local r = k:check(3, x)
  assert(r.ok, table.concat(r.findings, "\n"))
  assert(not k:check(4, x).ok)
  for _, name in ipairs {"add", "sub", "min", "max", "and", "or", "xor",
                         "exchange"} do
    assert(math.type(w["atomic_" .. name](x, 1, 3)) == "integer")
  end
  assert(w.atomic_compare_exchange(x, 2, 0, 1) == 6)
  assert(w.random(1, 2) and w.fma(1, 2, 3) == 5)
  -- It would write to the standard output, which has another use here.
  assert(not pcall(w.print, setmetatable({}, {__tostring = error})))
  for _, name in ipairs {"global_id", "local_id", "group_id", "global_size",
                         "local_size", "num_groups", "barrier", "local_array",
                         "private_array", "sub_group_size", "lane"} do
    assert(not pcall(w[name]))
  end
  k:close()
end)

part("launches", function()
  local m, x = spec(), lze.buffer("int", 1009)
  m.add(1009, x, 1)
  local ev = m.add:launch({1009}, x, 1)
  m.add({9, group = 3, offset = 1000, after = ev}, x, 1)
  assert(ev:wait(limit))
  local t = x:read()
  assert(t[1000] == 2 and t[1001] == 3 and t[1009] == 3)
  assert(m.add:launch(0, x, 1):done())
  m.nothing(1)
end)

part("arguments", function()
  local m = spec()
  local reals, integers = lze.buffer("double", 2), lze.buffer("long", 8)
  m.scalars(1, reals, integers, -1, 1, -2, 2, -3, 3, -4, 4, 0.5, 0.25)
  same({0.5, 0.25}, reals:read())
  same({-1, 1, -2, 2, -3, 3, -4, 4}, integers:read())
  local f, i = lze.buffer("float4", 1), lze.buffer("int", 5)
  m.vectors(1, f, i, {1, 2, 3, 4}, {5, 6}, {7, 8, 9})
  same({5, 6, 7, 8, 9}, i:read())
  local r = lze.buffer("float", 2)
  local pair = lze.struct "int a; float b"
  m.structs(1, r, pair {a = 3, b = 0.5})
  same({3, 0.5}, r:read())
  local p = lze.buffer(pair, {{a = 1, b = 2}})
  p[1].a = 5
  assert(p[1].a == 5 and tostring(p[1]) and lze.type(p[1]) == "element")
  assert(pair == lze.struct "int a; float b" and tostring(pair))
  for _, v in pairs(p[1]) do assert(v) end
  assert(pair.bytes == 8 and #pair.fields == 2 and pair.name == p.type)
  assert(pair:unpack(lze.buffer(pair, p):string()).a == 5)
  local data = lze.buffer("int", {1, 2, 3, 4})
  m.reverse({4, group = 2}, data, 2)
  local sixteen = lze.local_bytes(16)
  assert(tostring(sixteen):find "16")
  m.reverse({4, group = 4}, data, sixteen)
  same({3, 4, 1, 2}, data:read())
  local null = lze.buffer("int", 1)
  m.is_null(1, null, nil)
  assert(null[1] == 1)
  local address, out = lze.buffer("ulong", {data.pointer}),
    lze.buffer("int", 1)
  m.indirect({1, uses = data}, address, out)
  assert(out[1] == 3)
  local eights = lze.buffer("int", 16)
  m.eights(16, eights)
  assert(eights[16] == 7)
end)

-- Every sort of queue does the same work, twice, so that it also reuses what it
-- has created.
local function work(q)
  local m = spec()
  local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
  for _ = 1, 2 do
    q:fill(x, 1)
    local ev = q:launch(m.add, 64, x, 2)
    q:copy(y, x)
    q:barrier()
    m.add({64, queue = q}, y, 4)
    local last = q:barrier {ev}
    q:prefetch(x)
    q:advise(y, "read_mostly")
    q:flush()
    assert(last:wait(limit) and q:wait(limit))
    same(filled(64, 3), x:read())
    same(filled(64, 7), y:read())
  end
end

for _, mode in ipairs {"immediate", "batched"} do
  for _, order in ipairs {"in", "out"} do
    part(mode .. " queue " .. order .. " order", function()
      local q <close> = lze.queue(nil, {mode = mode, order = order})
      assert(q.mode == mode and q.order == order and q.engine and q.device)
      assert(q.handle and tostring(q) and lze.type(q) == "queue")
      work(q)
    end)
  end
end

part("other queues", function()
  local low <close> = lze.queue {priority = "low", hazards = false}
  local high <close> = lze.queue {priority = "high", engine = "copy"}
  local m = spec()
  local x, y = lze.buffer("int", 64), lze.buffer("int", 64)
  local ev = m.add:launch({64, queue = low}, x, 1)
  assert(high:barrier(ev):wait(limit))
  high:copy(y, x)
  high:close()
  same(filled(64, 1), y:read())
end)

part("queues wait for each other", function()
  local a <close> = lze.queue {mode = "batched"}
  local b <close> = lze.queue {order = "out"}
  local m, x = spec(), lze.buffer("int", 64)
  for i = 1, 8 do
    m.add({64, queue = i % 2 == 0 and a or b}, x, 1)
  end
  same(filled(64, 8), x:read())
end)

part("events", function()
  local m, x = spec(), lze.buffer("int", 4)
  local ev = m.add:launch(4, x, 1)
  assert(ev.command == "kernel add" and tostring(ev))
  assert(lze.type(ev) == "event" and lze.wait(limit) and ev:done())
  assert(ev:fd() >= 0 and ev:time().kernel_ns >= 0)
  assert(ev:await())
  ev:close()
  local co = coroutine.create(function()
    return m.add:launch(4, x, 1):await()
  end)
  repeat
    local ok, result = coroutine.resume(co)
    if not ok then error(result, 0) end
  until coroutine.status(co) == "dead"
  local slow = m.spin:launch(1, lze.buffer("uint", 1), 1000000)
  assert(slow:fd() >= 0 and slow:wait(limit))
  same(filled(4, 2), x:read())
end)

part("launches without events", function()
  local m, x = spec(), lze.buffer("int", 4)
  for _ = 1, 200 do m.add(4, x, 1) end
  same(filled(4, 200), x:read())
end)

part("dropped and closed in flight", function()
  local m, result = spec(), lze.buffer("int", 4)
  for i = 1, 10 do
    local x = lze.buffer("int", 4)
    m.add(4, x, i)
    result:copy(x)
    if i % 2 == 0 then x:close() end
  end
  collectgarbage()
  same(filled(4, 10), result:read())
end)

part("another context", function()
  local c <close> = lze.context(lze.device())
  local x = lze.buffer("int", {1, 2, 3}, {context = c})
  local y = lze.buffer("int", 3):copy(x)
  same({1, 2, 3}, y:read())
  local m = lze.module(spv, {context = c})
  m.add(3, x, 1)
  same({2, 3, 4}, x:read())
  assert(tostring(c) and c.handle and lze.type(c) == "context")
end)

part("native objects", function()
  local c <close> = lze.context(lze.device())
  local x = lze.buffer("int", {1, 2, 3})
  local dev = lze.wrap {context = x.context.handle, device = x.device.handle}
  assert(dev == x.device and dev.driver == c.driver)
  local y = lze.wrap {buffer = x.handle, type = "int", count = 2, device = dev}
  local q <close> = lze.queue(dev)
  local ev = q:fill(x, 4)
  local seen <close> = lze.wrap {event = ev.handle, device = dev}
  spec().add({2, after = seen, signal = seen}, y, 1)
  assert(q:signal(seen):wait(limit) and seen:wait(limit))
  assert(seen:done() or seen:done()) -- a driver may fail to report it once
  same({5, 5, 4}, x:read())
  local list <close> = lze.wrap {queue = q.handle, device = dev}
  assert(list:fill(y, 6):wait(limit))
  same({6, 6, 4}, x:read())
end)

local unused -- a token that could not be imported for lack of memory

part("export and import", function()
  if unused then lze.import(unused):close() end
  unused = nil
  local c <close> = lze.context(lze.device())
  for _, context in ipairs {c, lze.device().context} do
    local x = lze.buffer("int", {1, 2}, {context = context})
    local token = x:export()
    x:close()
    unused = token
    local y = lze.import(token)
    unused = nil
    same({1, 2}, y:read())
  end
end)

part("export to another process", function()
  local x = lze.buffer("int", {1, 2})
  local can, token = pcall(x.export, x, "process")
  if not can and token.code == "ERROR_UNSUPPORTED_FEATURE" then return end
  if not can then error(token, 0) end
  assert(token:match "^lze%-%x+$")
  local ok, e = pcall(lze.import, token) -- only for another process
  assert(not ok and tostring(e):find "of this process", e)
  x:fill(3)
  same({3, 3}, x:read())
end)

part("several devices", function()
  local dev = lze.device()
  local x = lze.buffer("int", {1, 2, 3, 4})
  local k = spec().add
  local slice = lze.slice(x)
  assert(tostring(slice):find "slice")
  for _, argument in ipairs {x, slice} do
    local did = lze.parallel({dev}, 4, k, argument, 1)
    assert(#did == 1 and did[1].count == 4 and did[1].device == dev)
  end
  same({3, 4, 5, 6}, x:read())
  assert(spec():on(dev) == spec() and dev:reaches(dev))
end)

part("defaults", function()
  local dev, x = lze.device(), lze.buffer("int", 4)
  local q <close> = lze.queue {mode = "batched"}
  lze.default(q)
  local ok, err = pcall(function()
    spec().add(4, x, 1)
    same(filled(4, 1), x:read())
  end)
  lze.default(dev)
  if not ok then error(err, 0) end
end)

part("task graphs", function()
  local m, x, y = spec(), lze.buffer("int", 64), lze.buffer("int", 64)
  local source, result, calls = filled(64, 1), {}, 0
  local inner <close> = lze.graph "inner":task("add", m.add, 64, y, 1)
  local g = lze.graph "g"
  local s, t = g:buffer("int", 64), g:buffer("int", 64)
  g:input(x, "every", source):input(y, "first"):fill("zero", t, 0)
    :copy("in", s, x):task("one", m.add, {64, uses = t}, s, 1):copy("s", t, s)
    :task("two", m.add, {64, access = {"both"}, after = "one"}, t, 1)
    :copy("out", y, t):task("inner", inner)
    :call("count", function() calls = calls + 1 end)
    :task("last", m.add, 64, y, 1):output(y, "every", result)
  assert(g.name == "g" and tostring(g) and #s == 64 and s.bytes == 256)
  assert(s.type == "int" and tostring(s) and lze.type(g) == "graph")
  local plan <close> = g:compile {profile = true, queues = 3}
  inner:close()
  assert(lze.type(plan) == "plan" and tostring(plan) and plan.device)
  plan:run()
  same(filled(64, 5), result)
  plan:set("last", 2, 3)
  local ev = plan:start()
  assert(ev:wait(limit) and calls == 2)
  same(filled(64, 7), result)
  assert(tostring(plan:report()) and plan:json() and plan:trace())
  assert(plan:dot())
  local swaps = lze.graph "swaps":task("add", m.add, 64, x, 1):swap(x, y)
    :output(x, "demand"):compile()
  swaps:run {iterations = 3}
  same(filled(64, 3), x:read())
  same(filled(64, 8), swaps:current(x):read())
  assert(swaps:fetch(x) == x)
  swaps:close()
end)

part("runs that nothing has to be done for", function()
  local x = lze.buffer("int", 64)
  local plan <close> = lze.graph():task("add", spec().add, 64, x, 1):compile()
  for _ = 1, 4 do plan:run() end
  same(filled(64, 4), x:read())
end)

part("a callback that fails", function()
  local x = lze.buffer("int", 4)
  local plan = lze.graph():task("add", spec().add, 4, x, 1)
    :call("fail", function() error("as it should", 0) end):compile()
  local ok, err = pcall(plan.run, plan)
  assert(not ok)
  if err ~= "as it should" then error(err, 0) end
  same(filled(4, 1), x:read())
end)

part("task graphs on several queues", function()
  local m, x = spec(), {}
  local g = lze.graph "wide"
  for i = 1, 6 do
    x[i] = lze.buffer("int", 64)
    g:task("a" .. i, m.add, 64, x[i], i)
  end
  g:copy("b", x[1], x[2]):copy("c", x[3], x[1])
  local plan = g:compile()
  local events = {}
  for i = 1, 3 do events[i] = plan:start() end
  assert(events[3]:wait(limit))
  same(filled(64, 6), x[3]:read())
  same(filled(64, 18), x[6]:read())
end)

-- Only if there is another device: its memory is copied to the task through
-- host memory, and copied back.
part("memory of another device", function()
  local first, second = table.unpack(lze.devices())
  if not second then return end
  local m, n = spec(), 64
  local x = lze.buffer("int", n, {usage = "device", device = first})
  local y = lze.buffer("int", n, {usage = "device", device = second})
  local on_second = {n, device = second}
  local plan <close> = lze.graph():task("one", m.add, n, x, 1)
    :task("two", m.add, on_second, x, 10):copy("y", y, x)
    :task("three", m.add, on_second, y, 100):compile()
  plan:run():run()
  same(filled(n, 22), x:read())
  same(filled(n, 122), y:read())
  plan:set("two", 2, 20):run()
  same(filled(n, 43), x:read())
  y:copy(x)
  same(filled(n, 43), y:read())
  local z = lze.buffer("int", n, {usage = "shared", device = first})
  lze.parallel({first, second}, n, m.add, lze.slice(z), 1)
  same(filled(n, 1), z:read())
  assert(first:reaches(second) ~= nil)
end)

part("task graphs in batches", function()
  local n = 4096
  local x = lze.buffer("int", n, {usage = "host"}):fill(3)
  local plan <close> = lze.graph():task("add", spec().add, n, x, 1)
    :compile {batch_bytes = n, memory_bytes = 8 * n}
  plan:run()
  assert(x[1] == 4 and x[n] == 4)
end)

part("callbacks that enqueue beside work that waits for the run", function()
  local x = lze.buffer("int", 4, {usage = "device"}):fill(1)
  local plan <close> = lze.graph():task("add", spec().add, 4, x, 1)
    :call("call", function() x:fill(x:read(1, 1)[1] * 10) end):compile()
  local ev = plan:start()
  local y = lze.buffer("int", 4):copy(x)
  assert(ev:wait(limit))
  same({20, 20, 20, 20}, y:read())
end)

part("profiles", function()
  local x = lze.buffer("int", 4, {usage = "device"}):write {1, 2, 3, 4}
  local p, sum = lze.profile({events = 100}, function(a, b)
    spec().add(4, x, 1)
    x:read()
    lze.buffer("int", 8):close()
    return lze.mark("sum", function() return a + b end)
  end, 2, 3)
  assert(sum == 5 and not p.recording and p.dropped == 0)
  assert(#p.events > 0 and p.findings and p.start_ns <= p.end_ns)
  assert(tostring(p):find "kernels")
  local path = os.tmpname()
  os.remove(path)
  for _, ending in ipairs {".html", ".json", ".csv"} do
    p:save(path .. ending)
    os.remove(path .. ending)
  end
  _G.ilua = {display = {html = function(s) assert(s:find "iframe") end}}
  p:display()
  _G.ilua.display.html = function(s) assert(s:find "^<pre>") end
  x:display()
  lze.graph():task("add", spec().add, 4, x, 1):compile():display()
  _G.ilua = nil
  p:stop():close()
  local plan <close> = lze.graph():task("add", spec().add, 4, x, 1)
    :compile {profile = true}
  local q <close> = lze.profile()
  assert(q.recording)
  plan:run {iterations = 3}
  for _, e in ipairs(q:stop().events) do
    local call, code = (e.untimed or ""):match "(ze%w+): ([%w_]+)"
    if call then error {call = call, code = code} end
  end
end)

part("housekeeping", function()
  local s = lze.stats()
  assert(s.bytes <= s.peak_bytes and s.launches >= 0)
  assert(lze.gc().growth >= 1)
  lze.gc {soft_limit_bytes = 1 << 20}
  local x
  for _ = 1, 4 do x = lze.buffer("int", 1 << 17) end
  lze.gc {soft_limit_bytes = 256 << 20}
  assert(x[1] == 0 and lze.wait(limit) and lze.version)
  assert(lze.cache().entries)
  assert(not lze.progress(false))
  assert(lze.help(lze.gc):find "lze.gc" and lze.help(x):find "x:read")
  assert(lze.help "bufer":find "near:")
end)

part("closing the shared context", function()
  local x = lze.buffer("int", 4)
  spec().add(4, x, 1)
  x.context:close()
  assert(tostring(x) == "buffer: int[4] (closed)")
  local y = lze.buffer("int", {1, 2, 3, 4})
  spec().add(4, y, 1)
  same({2, 3, 4, 5}, y:read())
end)

return function(step)
  for _, p in ipairs(parts) do
    step(p.name, function()
      p.run()
      -- A failure on a device is raised here at the latest.
      assert(lze.wait(limit))
    end)
  end
end
