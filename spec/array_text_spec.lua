-- array_text_spec.lua - arrays in files of text.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local lze = require "lze"
local process = require "spec.support.process"
local A = lze.array

-- Calls f with a path of that ending, where a file has this text.
local function with(text, ending, f)
  process.with_directory(function(directory)
    local path = directory .. "/x" .. ending
    if text then process.write(path, text) end
    f(path, directory)
  end)
end

-- Returns the array in a text.
local function loaded(text, o, ending)
  local a
  with(text, ending or ".csv", function(path) a = A.load(path, o) end)
  return a
end

-- Returns what is wrong in a text.
local function refused(text, o, ending)
  local said
  with(text, ending or ".csv", function(path)
    local err = expect.failure(function() A.load(path, o) end)
    assert.equal("lze.array.load", err.call)
    assert.equal("INVALID_FILE", err.code)
    assert.equal(path .. ": ", err.message:sub(1, #path + 2))
    said = err.message:sub(#path + 3)
  end)
  return said
end

-- Returns the text that save writes.
local function saved(a, o, ending)
  local text
  with(nil, ending or ".csv", function(path)
    a:save(path, o)
    local file <close> = assert(io.open(path, "rb"))
    text = file:read "a"
  end)
  return text
end

describe("A.load of a text", function()
  it("reads a row from each line", function()
    local a = loaded "1,2.5,-3\n4, +5e2 ,.25\r\n7,8.,-0.5e-1"
    assert.equal("float", a.type)
    assert.same({{1, 2.5, -3}, {4, 500, 0.25}, {7, 8, A("float",
      {-0.05}):item()}}, a:table())
    assert.same({{1}, {2}}, loaded("1\n2\n"):table())
    assert.same({2, 3}, loaded("1\t2\t3\n4\t5\t6\n", nil, ".tsv").shape)
    assert.same({{1, 2}, {3, 4}}, loaded("  1   2\n3\t4  \n", nil,
      ".txt"):table())
    assert.same({{1, 2}}, loaded("1;2", {delimiter = ";"}):table())
    assert.same({{1, 2}}, loaded("1  2", {delimiter = " "}):table())
  end)

  it("skips lines, comments, empty lines and a mark of the encoding", function()
    assert.same({{1, 2}}, loaded(
      "\xef\xbb\xbfname,other\n\n# 7,8\n1,2 # x\n \n", {skip = 1}):table())
    assert.same({{1}}, loaded("% a\n1", {comment = "%"}):table())
    assert.equal("line 1, column 1: a number expected, got '# a'",
      refused("# a\n1", {comment = false}))
    assert.same({0, 0}, loaded("").shape)
    assert.same({0, 0}, loaded("# nothing\n").shape)
    assert.same({0, 0}, loaded("1,2\n", {skip = 5}).shape)
    assert.same({0, 2}, loaded("", {columns = {1, 3}}).shape)
    assert.same({0}, loaded("", {columns = 1}).shape)
  end)

  it("selects columns, in any order", function()
    local text = 'a,"x, ""y"" # no",1,2\nb,z,3,4,5\n'
    assert.same({{2, 1}, {4, 3}}, loaded(text, {columns = {4, 3}}):table())
    assert.same({1, 3}, loaded(text, {columns = 3}):table())
    assert.same({{1}, {3}}, loaded(text, {columns = {3}}):table())
    assert.equal("line 1, column 1: a number expected, got 'a'",
      refused(text, {columns = {1}}))
    assert.equal("line 1: 5 columns expected, got 4",
      refused(text, {columns = 5}))
    assert.same({3, 6}, loaded("1 2 3\n4 5 6", {columns = 3}, ".dat"):read())
  end)

  it("reads quoted numbers, and a number for empty fields", function()
    assert.same({{1, 2}}, loaded('"1"," 2 "'):table())
    assert.same({{1, -1, -1}, {-1, 2, 3}}, loaded("1,,\n ,2,3\n",
      {missing = -1}):table())
    local a = loaded("1,\n", {missing = 0 / 0})
    assert.is_true(a[{1, 2}] ~= a[{1, 2}])
    assert.equal("line 1, column 2: a number expected, got nothing",
      refused "1,\n")
    assert.equal("line 1, column 1: a number expected, got '\"1'",
      refused '"1,2')
  end)

  it("reads every number type", function()
    for kind, values in pairs {
      char = {-128, 127}, uchar = {0, 255}, short = {-32768, 32767},
      ushort = {0, 65535}, int = {-2147483648, 2147483647},
      uint = {0, 4294967295}, long = {math.mininteger, math.maxinteger},
      half = {-65504, 0.5}, bfloat16 = {-3, 2.0 ^ 127},
      float = {-1.5, 2.0 ^ 100}, double = {-0.1, 1e300}
    } do
      local text = ("%s,%s"):format(table.unpack(values))
      assert.same({values}, loaded(text, {type = kind}):table(), kind)
    end
    assert.same({-1, 1}, loaded("18446744073709551615\n1",
      {type = "ulong", columns = 1}):read())
    assert.same({{2, 3000}}, loaded("2.0,3e3", {type = "int"}):table())
    for text, kind in pairs {["256"] = "uchar", ["-1"] = "uint",
      ["-129"] = "char", ["2.5"] = "long", ["18446744073709551616"] = "ulong",
      ["9223372036854775808"] = "long", inf = "int"} do
      assert.matches("^line 1, column 1: " .. kind .. " expected %(an integer "
        .. "from .*%), got ", refused(text, {type = kind}))
    end
  end)

  it("reads infinities and NaN", function()
    assert.same({{math.huge, -math.huge, math.huge}},
      loaded("inf,-INF,Infinity"):table())
    local v = loaded("nan")[{1, 1}]
    assert.is_true(v ~= v)
  end)

  it("rounds each real once", function()
    local texts, values = {}, {}
    math.randomseed(53)
    for i = 1, 3000 do
      local digits = {}
      for j = 1, math.random(1, 22) do digits[j] = math.random(0, 9) end
      local whole = table.concat(digits)
      local at = math.random(0, #whole)
      local text = whole:sub(1, at) .. "." .. whole:sub(at + 1)
      if i % 3 > 0 then text = text .. "e" .. math.random(-30, 30) end
      if i % 9 == 0 then text = text .. math.random(0, 9) end
      texts[i], values[i] = text, tonumber(text) + 0.0
    end
    for _, text in ipairs {"9007199254740993", "9007199254740995",
      "9007199254740993.00000000000000000001", "4503599627370496.5",
      "1e22", "1e23", "8.5e-324", "2.2250738585072011e-308", "1e400",
      "0." .. ("0"):rep(400) .. "1", ("1"):rep(300)} do
      texts[#texts + 1] = text
      values[#values + 1] = tonumber(text) + 0.0
    end
    assert.same(values, loaded(table.concat(texts, "\n"),
      {type = "double", columns = 1}):read())
    -- Between two floats: a double in between would be a tie, and so become the
    -- even float.
    assert.same({1, 1 + 2.0 ^ -23, 1, 2.0 ^ -149, 0}, loaded(table.concat({
      "1.000000059604644775390625", "1.00000005960464477539062500000000000001",
      "1.00000005960464477539062499999999999999",
      "7.0064923216240862e-46", "7.0064923216240853e-46"}, "\n"),
      {columns = 1}):read())
  end)

  it("names the line and the column of what is wrong", function()
    assert.equal("line 3, column 2: a number expected, got 'x'",
      refused "1,2\n\n3,x\n")
    assert.equal("line 2: 2 columns expected, got 1", refused "1,2\n3\n")
    assert.equal("line 2: 2 columns expected, got more", refused "1,2\n3,4,5\n")
    assert.equal("line 2: 2 columns expected, got more", refused "1,2\n3,4,\n")
    assert.equal("line 2: 2 columns expected, got more",
      refused("1 2\n3 4 5\n", nil, ".txt"))
    assert.equal("line 2: 2 columns expected, got 1",
      refused("1 2\n3 \n", nil, ".txt"))
    for _, text in ipairs {"0x10", "1e", "1e+", "--1", "1 2", "1.2.3", "e5",
                           ".", "-", "infinite", "1_000", "1d5"} do
      assert.equal("line 1, column 1: a number expected, got '" .. text .. "'",
        refused(text))
    end
    assert.equal("line 1, column 1: a number expected, got '??'",
      refused "\0\xff")
    assert.equal("a row of 2000001 columns (1048576 at most)",
      refused((","):rep(2000000)))
  end)

  it("refuses wrong options", function()
    for text, o in pairs {
      ["delimiter: one character other than a letter, a digit, '+', '-', " ..
        "'.' or '\"' expected, got string ',,'"] = {delimiter = ",,"},
      ["comment: one character other than a letter, a digit, '+', '-', '.' " ..
        "or '\"' expected, got string 'e'"] = {comment = "e"},
      ["skip: a number of lines expected, got -1"] = {skip = -1},
      ["columns: a column of 1 to 1048576 expected, got 0"] = {columns = {0}},
      ["columns: a column expected, got an empty table"] = {columns = {}},
      ["columns: column 2 is named twice"] = {columns = {2, 2}},
      ["missing: a number expected, got string 'x'"] = {missing = "x"},
      ["missing: int expected (an integer from -2147483648 to 2147483647), " ..
        "got number 0.5"] = {missing = 0.5, type = "int"},
      ["unknown option separator; there are skip, columns, delimiter, " ..
        "comment, missing, type, device"] = {separator = ";"},
    } do
      assert.equal("load: argument 2 (options): " .. text,
        expect.misuse(function() A.load("x.csv", o) end))
    end
  end)

  it("never crashes on random bytes", function()
    math.randomseed(53)
    local alphabet = '0123456789.,-+eE"\n\r #;naif\t\0\xff'
    for i = 1, 200 do
      local bytes = {}
      for j = 1, math.random(0, 60) do
        local at = math.random(#alphabet)
        bytes[j] = alphabet:sub(at, at)
      end
      with(table.concat(bytes), i % 2 == 0 and ".csv" or ".txt",
        function(path)
          local ok, err = pcall(A.load, path, {missing = 0})
          assert.is_true(ok or err.code == "INVALID_FILE", tostring(err))
        end)
    end
  end)
end)

describe("a:save of a text", function()
  it("writes a row in each line, and names of columns", function()
    local a = A("float", {{1, 2.5}, {-0.1, 1e20}})
    assert.equal("1,2.5\n-0.1,1e+20\n", saved(a))
    assert.equal("1 2.5\n-0.1 1e+20\n", saved(a, nil, ".txt"))
    assert.equal("1\t-0.1\n2.5\t1e+20\n", saved(a:t(), nil, ".tsv"))
    assert.equal('a;"b;""c"""\n1;2.5\n-0.1;1e+20\n', saved(a, {delimiter = ";",
      header = {"a", 'b;"c"'}}))
    assert.equal("2\n3\n", saved(A("int", {1, 2}) + 1))
    assert.equal("0\n1\n", saved(A("int", {1, 2}):gt(1)))
    assert.equal("7\n", saved(A.full({}, 7)))
    assert.equal("inf,-inf,nan,-0\n", saved(A("float",
      {{1 / 0, -1 / 0, 0 / 0, -0.0}})))
    assert.equal("", saved(A.zeros {0, 3}))
    assert.equal("18446744073709551615\n", saved(A("ulong", {-1})))
  end)

  it("writes numbers that are read back exactly", function()
    for _, kind in ipairs {"half", "bfloat16", "float", "double", "long",
                           "ulong"} do
      local values = {}
      for i = 1, 600 do
        local bits = lze.work.random(9, i) << 32 | (lze.work.random(8, i))
        local v = ("<d"):unpack(("<i8"):pack(bits))
        if kind == "float" then v = ("<f"):unpack(("<i4"):pack(bits >> 40)) end
        if kind == "half" or kind == "bfloat16" then
          v = (bits >> 50) * 2.0 ^ (bits % 20 - 20)
        end
        if kind:find "long" then v = bits end
        values[i] = v == v and v or 0
      end
      local a = A(kind, values, {200, 3})
      with(nil, ".csv", function(path)
        a:save(path)
        assert.same(a:read(), A.load(path, {type = kind}):read(), kind)
      end)
    end
  end)

  it("does not depend on the locale", function()
    process.with_directory(function(directory)
      local made = os.execute(("exec >'%s/log' 2>&1; localedef -c -i de_DE " ..
        "-f UTF-8 '%s/de_DE.UTF-8'"):format(directory, directory))
      if not made then pending "no localedef, or nothing to make one from" end
      assert.equal("0.5,0.333333333333333314829616256247391,1e-320\n" ..
        "0.5,0.3333333333333333,1e-320\n", process.output([[
        local lze = require "lze"
        assert(os.setlocale "de_DE.UTF-8")
        assert(tostring(0.5) == "0,5")
        local path = os.getenv "SPEC_DIR" .. "/x.csv"
        local function text()
          local file <close> = io.open(path)
          return file:read "a"
        end
        local file <close> = io.open(path, "w")
        file:write "0.5,0.333333333333333314829616256247391,1e-320\n"
        file:close()
        io.write(text())
        lze.array.load(path, {type = "double"}):save(path)
        io.write(text())]], {env = {LOCPATH = directory,
          SPEC_DIR = directory}}))
    end)
  end)

  it("refuses arrays and options that text cannot hold", function()
    local function says(text, a, o)
      assert.equal("save: argument " .. text,
        expect.misuse(function() a:save("x.csv", o) end))
    end
    says("1 (a): an array of at most 2 dimensions expected for text, got " ..
      "shape {1, 2, 3}", A.zeros {1, 2, 3})
    says("1 (a): elements of complex64 have no text in files", A("float2", 2))
    says("3 (options): header: a list of 2 names expected, got 1 names",
      A.zeros {2, 2}, {header = {"a"}})
    says("3 (options): header: name 1: a string without line breaks " ..
      "expected, got a string of 3 bytes", A.zeros {2}, {header = {"a\nb"}})
    says("3 (options): unknown option compress; there are delimiter, header",
      A.zeros {2}, {compress = true})
  end)
end)
