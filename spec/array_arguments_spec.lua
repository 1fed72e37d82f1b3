-- array_arguments_spec.lua - lze.array: error messages for wrong arguments.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local A = lze.array
local said = require "spec.support.expect".said

local function matrix(type)
  return A(type or "float", {{3, 1, 2}, {4, 5, 6}})
end

local unary = {"abs", "sign", "sqrt", "rsqrt", "exp", "log", "log2",
  "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan",
  "sinh", "cosh", "tanh", "sigmoid", "floor", "ceil", "round", "trunc", "isnan",
  "isfinite"}

describe("an argument of lze.array", function()
  -- The arguments of each function that takes arrays; `x` stands for an array.
  local calls = {
    {"reshape", "x", {6}}, {"view", "x", {6}}, {"t", "x"},
    {"permute", "x", {2, 1}}, {"expand", "x", {2, 2, 3}}, {"squeeze", "x"},
    {"flip", "x"}, {"roll", "x", 1}, {"tile", "x", {2, 2}}, {"set", "x", "x"},
    {"fill", "x", 1}, {"copy", "x", "x"}, {"clone", "x"}, {"to", "x", {"int"}},
    {"read", "x"}, {"table", "x"}, {"item", "x"}, {"eval", "x"},
    {"explain", "x"}, {"display", "x"}, {"eq", "x", "x"}, {"atan2", "x", "x"},
    {"min", "x", "x"}, {"max", "x"}, {"clamp", "x", "x", 1},
    {"lerp", "x", "x", "x"}, {"fma", "x", "x", "x"}, {"where", "x", "x", "x"},
    {"map", math.max, "x", "x"}, {"reduce", math.max, 0, "x"},
    {"scan", math.max, 0, "x"}, {"filter", function(v) return v > 1 end, "x"},
    {"argmin", "x"}, {"argmax", "x"}, {"dot", "x", "x"}, {"cumsum", "x"},
    {"cumprod", "x"}, {"cummax", "x"}, {"cummin", "x"}, {"sort", "x"},
    {"argsort", "x"}, {"topk", "x", 1}, {"unique", "x"},
    {"searchsorted", "x", "x"}, {"histogram", "x", 2}, {"mm", "x", "x"},
    {"mv", "x", "x"}, {"outer", "x", "x"}, {"trace", "x"}, {"tril", "x"},
    {"triu", "x"}, {"conv1d", "x", "x"}, {"conv2d", "x", "x"},
    {"convolve", "x", "x"}, {"correlate", "x", "x"}, {"fft", "x"},
    {"ifft", "x"}, {"rfft", "x"}, {"irfft", "x"}, {"fftn", "x"},
    {"rfft2", "x"}, {"hfft", "x"}, {"fftshift", "x"}, {"take", "x", "i"},
    {"gather", "x", "i"}, {"scatter", "x", "i", "x"}, {"nonzero", "x"},
    {"save", "x", {"a.npy"}}, {"qr", "x"}, {"lu", "x"}, {"diagonal", "x"},
    {"vecdot", "x", "x"}, {"kron", "x", "x"}, {"tensordot", "x", "x"},
    {"vector_norm", "x"}, {"matrix_norm", "x"}
  }
  for _, name in ipairs(unary) do calls[#calls + 1] = {name, "x"} end
  for _, name in ipairs {"sum", "prod", "mean", "var", "std", "norm", "all",
    "any", "count"} do
    calls[#calls + 1] = {name, "x"}
  end

  local ranks = {outer = 1, dot = 1, conv1d = 1, convolve = 1, correlate = 1,
    searchsorted = 1}
  local function given(name, i)
    if ranks[name] or name == "mv" and i == 2 then
      return A("float", {1, 2, 3})
    elseif name == "mm" and i == 2 then return matrix():t() end
    return matrix()
  end

  it("is named in the error if it is a closed array", function()
    for _, call in ipairs(calls) do
      local name = call[1]
      for closed = 2, #call do
        if call[closed] == "x" then
          local list = {}
          for i = 2, #call do
            local v = call[i]
            if v == "x" then
              v = given(name, i - 1)
              if i == closed then v:close() end
            elseif v == "i" then v = A("long", {{1, 2, 1}, {1, 1, 2}})
            elseif type(v) == "table" and type(v[1]) == "string" then v = v[1]
            end
            list[i - 1] = v
          end
          assert.matches(("^%s: argument %d %%(%%l+%%): the array is closed$")
            :format(name, closed - 1), said(A[name], table.unpack(list)))
        end
      end
    end
    local x, y = matrix(), matrix()
    y:close()
    assert.equal("cat: argument 1 (list): element 2: the array is closed",
      said(A.cat, {x, y}))
    assert.equal("array: argument 2 (source): the array is closed",
      said(A, "int", y))
    local b = lze.buffer("float", 6)
    b:close()
    assert.equal("array: argument 2 (source): the buffer is closed",
      said(A, "float", b))
    assert.equal("copy: argument 2 (src): the buffer is closed",
      said(x.copy, x, b))
    for what, f in pairs {
      ["a + b: a"] = function() return y + x end,
      ["a - b: b"] = function() return x - y end,
      ["a * b: b"] = function() return 2 * y end,
      ["a / b: a"] = function() return y / 2 end,
      ["-a: a"] = function() return -y end,
      ["a[m]: a"] = function() return y[x:gt(1)] end,
      ["a[m] = v: a"] = function() y[x:gt(1)] = 1 end
    } do
      assert.equal(what .. ": the array is closed", said(f))
    end
    if lze.device().fp64 then
      local d = matrix "double"
      d:close()
      assert.equal("a + b: b: the array is closed",
        said(function() return x + d end))
      assert.equal("sqrt: argument 1 (a): the array is closed", said(d.sqrt, d))
    end
    local other = A("float", lze.buffer("float", 6,
      {context = lze.context(lze.device())}))
    assert.equal("clamp: argument 3 (high): the array is closed",
      said(x.clamp, x, 0, y))
    other:close()
    assert.equal("a + b: b: the array is closed",
      said(function() return x + other end))
  end)

  it("is named in the error if it is an invalid dimension", function()
    local x = matrix()
    for what, f in pairs {
      ["squeeze: argument 2 (dim)"] = function(d) x:squeeze(d) end,
      ["permute: argument 3 (order)"] = function(d) x:permute(1, d) end,
      ["permute: argument 2 (order)"] = function(d) x:permute {1, d} end,
      ["flip: argument 3 (dim)"] = function(d) x:flip(1, d) end,
      ["roll: argument 3 (dim)"] = function(d) x:roll(1, d) end,
      ["cat: argument 2 (dim)"] = function(d) A.cat({x, x}, d) end,
      ["take: argument 3 (dim)"] = function(d) x:take({1}, d) end,
      ["gather: argument 3 (dim)"] = function(d) x:gather({{1}}, d) end,
      ["scatter: argument 4 (dim)"] = function(d) x:scatter({{1}}, 0, d) end,
      ["cumsum: argument 2 (dim)"] = function(d) x:cumsum(d) end,
      ["cummax: argument 2 (options): dim"] = function(d)
        x:cummax {dim = d}
      end,
      ["sum: argument 2 (options): dim"] = function(d) x:sum {dim = d} end,
      ["argmax: argument 2 (options): dim"] = function(d)
        x:argmax {dim = d}
      end,
      ["reduce: argument 4 (options): dim"] = function(d)
        A.reduce(math.max, 0, x, {dim = d})
      end,
      ["sort: argument 2 (options): dim"] = function(d) x:sort {dim = d} end,
      ["topk: argument 3 (options): dim"] = function(d)
        x:topk(1, {dim = d})
      end,
      ["fft: argument 2 (options): dim"] = function(d) x:fft {dim = d} end
    } do
      for given_text, d in pairs {["3"] = 3, ["0"] = 0, ["-3"] = -3,
        ["1.5"] = 1.5, inf = math.huge} do
        assert.equal(what .. ": a dimension of 1 to 2 expected, got " ..
          given_text, said(f, d))
      end
      if not what:find "cumsum" then
        assert.equal(what .. ": a dimension of 1 to 2 expected, got boolean",
          said(f, false))
      end
    end
    assert.equal("permute: argument 2 (order): the order of 2 dimensions " ..
      "expected, got 1", said(x.permute, x, 1))
    assert.equal("permute: argument 3 (order): dimension 2 is named twice",
      said(x.permute, x, 2, -1))
    assert.equal("squeeze: argument 2 (dim): dimension 2 has 3 elements, not 1",
      said(x.squeeze, x, 2))
  end)

  it("may be a whole float, as in Lua's own functions", function()
    local x = matrix()
    assert.same(x:cumsum(1):read(), x:cumsum(1.0):read())
    assert.same(x:sum({dim = -1}):read(), x:sum({dim = -1.0}):read())
    assert.same({2, 3}, A.zeros({2, 1, 3}):squeeze(2.0).shape)
    assert.same({3, 2}, x:permute(2.0, 1.0).shape)
    assert.same(x:flip(2):read(), x:flip(2.0):read())
    assert.same(x:roll(1, 2):read(), x:roll(1.0, 2.0):read())
    assert.same(x:tril(-1):read(), x:tril(-1.0):read())
    assert.same(x:sort({dim = 1}):read(), x:sort({dim = 1.0}):read())
    assert.same((x:topk(2)):read(), (x:topk(2.0)):read())
    assert.same((x:histogram(2)):read(), (x:histogram(2.0)):read())
    assert.same({4, 3}, A.cat({x, x}, 1.0).shape)
    assert.same({2, 2, 3}, A.stack({x, x}, 1.0).shape)
    assert.same({6}, x:reshape(6.0).shape)
    assert.same({3}, A.zeros(3.0).shape)
    assert.same({0, 0, 0}, A("int", 3.0):read())
    assert.same({3, 2}, x[{1, {1, 3, 2.0}}]:read())
    local row, two = A("float", {1, 2, 3}), A("float", {1, 1})
    assert.same({3}, row:conv1d(two, {stride = 2.0}):read())
    assert.same({3}, row:rfft():irfft({n = 3.0}).shape)
    A.seed(3.0)
    local drawn = A.rand({2}):read()
    A.seed(3)
    assert.same(drawn, A.rand({2}):read())
    A.seed(0)
  end)

  it("is refused if an option that is not boolean is false", function()
    local x = matrix()
    for what, f in pairs {
      ["zeros: argument 2 (options): type"] = function()
        A.zeros(1, {type = false})
      end,
      ["arange: argument 2 (options): type"] = function()
        A.arange(1, {type = false})
      end,
      ["eye: argument 2 (options): type"] = function()
        A.eye(1, {type = false})
      end,
      ["rand: argument 2 (options): type"] = function()
        A.rand(1, {type = false})
      end,
      ["randint: argument 4 (options): type"] = function()
        A.randint(1, 2, 3, {type = false})
      end,
      ["array: argument 3 (shape)"] = function() A("float", 1, false) end,
      ["irfft: argument 2 (options): n"] = function()
        A("float2", 3):irfft {n = false}
      end,
      ["histogram: argument 3 (options): low"] = function()
        x:histogram(2, {low = false})
      end
    } do
      assert.equal(what, said(f):match "^(.-): [^:]* expected, got boolean$")
    end
  end)

  it("is named in the error if it is a closed value of a masked write",
  function()
    local o, closed = A("float", {1, 2, 3}), A("float", {1, 2, 3})
    closed:close()
    assert.equal("a[m] = v: v: the array is closed", said(function()
      o[o:gt(1)] = closed
    end))
  end)

  it("is named in the error if it is a closed array with an index or a field",
  function()
    local x, y, open = A("int", {1, 2}), A("int", {{1, 2}, {3, 4}}),
      A("int", {{1, 2}, {3, 4}})
    x:close()
    y:close()
    for what, list in pairs {
      ["a[i]: a"] = {function() return x[1] end, function() return y[2] end},
      ["a[{...}]: a"] = {function() return x[{-1}] end,
        function() return y[{1, 2}] end, function() return y[{{1, 2}, 1}] end},
      ["a[i] = v: a"] = {function() x[1] = 1 end, function() y[2] = 1 end},
      ["a[{...}] = v: a"] = {function() x[{1}] = 1 end,
        function() y[{1, 2}] = 1 end, function() y[{{}, 1}] = 1 end},
      ["a[i] = v: v"] = {function() open[1] = x end},
      ["a[{...}] = v: v"] = {function() open[{{}, 1}] = x end,
        function() open[{1, 1}] = x end},
      ["set: argument 2 (v)"] = {function() open:set(x) end},
      ["a.device"] = {function() return x.device end}
    } do
      for _, f in ipairs(list) do
        assert.equal(what .. ": the array is closed", said(f))
      end
    end
    assert.is_nil(x[3])
    assert.same({1, 2, 3, 4}, open:read())
  end)

  it("is named in the error if the context of an expression is closed",
  function()
    local context = lze.context(lze.device())
    local e = A("float", lze.buffer("float", 3, {context = context})) + 1
    local x = A.zeros {3}
    context:close()
    for _, name in ipairs {"sum", "clone", "eval", "read", "table"} do
      assert.equal(name .. ": argument 1 (a): the array is closed",
        said(e[name], e))
    end
    for what, f in pairs {
      ["set: argument 2 (v)"] = function() x:set(e) end,
      ["a[i]: a"] = function() return e[1] end,
      ["a[{...}]: a"] = function() return e[{1}] end,
      ["a[i] = v: v"] = function() x[1] = e end,
      ["a.buffer"] = function() return e.buffer end,
      ["a.strides"] = function() return e.strides end,
      ["a.device"] = function() return e.device end
    } do
      assert.equal(what .. ": the array is closed", said(f))
    end
    assert.equal("array: float {3} (closed)", tostring(e))
    e:close()
    assert.same({0, 0, 0}, x:read())
  end)

  it("is named in the error if it is an invalid device", function()
    for what, f in pairs {
      ["zeros: argument 2"] = function(d) A.zeros(1, {device = d}) end,
      ["arange: argument 3"] = function(d) A.arange(1, 2, {device = d}) end,
      ["randn: argument 2"] = function(d) A.randn(1, {device = d}) end
    } do
      assert.equal(what .. " (options): device: device or selector " ..
        "expected, got boolean", said(f, false))
      assert.equal(what .. " (options): device: integer expected, got " ..
        "number 1.5", said(f, 1.5))
      assert.matches(" %(options%): device: no device matches string 'none'",
        said(f, "none"))
    end
    assert.equal(lze.device(), A.zeros(1, {device = lze.device()}).device)
  end)

  it("is named in errors of functions that cannot be compiled", function()
    local x = matrix()
    for _, f in ipairs {
      function() A.map(print, x) end, function() A.reduce(print, 0, x) end,
      function() A.filter(print, x) end, function() x:sort {by = print} end
    } do
      local text = said(f)
      assert.matches("a C function %(f%) is called here", text)
      assert.is_nil(text:find("lze array", 1, true))
      assert.matches("\n%S*array_arguments_spec.lua:%d+: ", text)
    end
    assert.equal("explain: argument 1 (a): real numbers expected, got " ..
      "complex64; real, imag, abs and angle give some",
      said(A.explain, A("float2", 2), "sum"))
  end)
end)
