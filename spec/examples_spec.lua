-- examples_spec.lua - every program in examples/ runs and prints the right
-- text.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local png = require "spec.support.png"
local process = require "spec.support.process"

-- Runs an example in this process, so that it uses the build under test in any
-- test runner. Returns its output. The example must not write to stderr, which
-- it does not see as a terminal. `globals` replaces our globals.
local function run_with(globals, name, ...)
  local out, complaint = {}, ""
  local stderr = {
    write = function(_, ...) complaint = complaint .. table.concat { ... } end,
  }
  local function require_quietly(module)
    local m = (globals.require or require)(module)
    return module ~= "lze" and m or
      setmetatable({ progress = function() return false end }, { __index = m })
  end
  local env = setmetatable({
    arg = { [0] = "examples/" .. name, ... },
    print = function(...)
      local words = table.pack(...)
      for i = 1, words.n do words[i] = tostring(words[i]) end
      out[#out + 1] = table.concat(words, "\t")
    end,
    -- Lua's own assert, which the test runner replaces.
    assert = function(v, ...)
      if not v then error((...), 0) end
      return v, ...
    end,
    io = setmetatable({ stderr = stderr }, { __index = globals.io or io }),
    os = setmetatable({
      exit = function() error((complaint:gsub("\n$", "")), 0) end,
    }, { __index = os }),
    require = require_quietly,
  }, { __index = function(_, key) return globals[key] or _G[key] end })
  function env.dofile(path) return assert(loadfile(path, "t", env))() end
  local start = os.time()
  assert(loadfile("examples/" .. name, "t", env))(...)
  local text = table.concat(out, "\n")
  -- No time can exceed the total, plus a second for rounding.
  local most = (os.time() - start + 1) * 1e3
  for ms in text:gmatch "([%d.]+) ms" do
    assert.is_true(tonumber(ms) <= most, text)
  end
  assert.equal("", complaint)
  return text
end

local function run(...) return run_with({}, ...) end

describe("an example with wrong arguments", function()
  it("prints its usage and exits 1", function()
    for name, arguments in pairs {histogram = "", nbody = "x", scan = "0",
      blur = "only.ppm"} do
      local command = ("%s examples/%s.lua %s"):format(
        process.runner, name, arguments)
      local pipe = assert(io.popen(command .. " 2>&1 >/dev/null"))
      local said = pipe:read "a"
      local _, how, code = pipe:close()
      assert.equal("exit 1", how .. " " .. code)
      assert.matches("^usage: lua5.4 examples/" .. name, said)
      assert.is_nil(said:find "traceback")
    end
  end)
end)

-- Runs an example without arguments in a directory. Returns its output.
local function run_in(directory, name)
  local pwd <close> = assert(io.popen "pwd")
  local root = pwd:read "l"
  local runner = process.runner:gsub("^[^/ ]+/", root .. "/%0")
  local pipe = assert(io.popen(("cd '%s' && %s '%s/examples/%s' 2>&1"):format(
    directory, runner, root, name)))
  local said = pipe:read "a"
  assert(pipe:close(), said)
  return (said:gsub("\n$", ""))
end

-- Returns the error that an example raises.
local function refusal(...)
  local ok, err = pcall(run, ...)
  assert.is_false(ok)
  return tostring(err)
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(file:read "a")
end

-- Returns the width, height and pixels of a PNG file whose rows have no filter.
local function decoded(path)
  local chunks = png.chunks(read(path))
  assert.equal("IHDR IDAT IEND", table.concat(chunks, " "))
  local width, height, bits, kind = (">I4I4BB"):unpack(chunks.IHDR)
  assert.equal(8, bits)
  local raw = png.unpacked(chunks.IDAT)
  local row, rows = width * (kind == 2 and 3 or 1), {}
  assert.equal((row + 1) * height, #raw)
  for y = 0, height - 1 do
    assert.equal(0, raw:byte(y * (row + 1) + 1))
    rows[y + 1] = raw:sub(y * (row + 1) + 2, (y + 1) * (row + 1))
  end
  return width, height, table.concat(rows)
end

-- Returns a kernel that spoils the last element of each buffer that it writes
-- to, after each run.
local function spoiled(kernel)
  local function launch(_, range, ...)
    local ev = kernel:launch(range, ...)
    for i, a in ipairs(kernel.args) do
      local x = select(i, ...)
      if a.space == "global" and a.access ~= "read" then
        x[#x] = x[#x] == 0 and 1 or 0
      end
    end
    return ev
  end
  return setmetatable({ launch = launch, real = kernel },
    { __index = function(_, key)
      if key ~= "group" then return kernel[key] end
      return function(_, ...) return kernel:group(...) end
    end })
end

-- Returns a graph whose plans spoil the last element of each output after a
-- run.
local function spoiled_graph(name)
  local g, outputs, proxy = lze.graph(name), {}, {}
  local function spoil()
    for _, x in ipairs(outputs) do
      local last = x[#x]
      if type(last) == "table" then
        for lane, v in ipairs(last) do last[lane] = v + 9 end
        x[#x] = last
      else
        x[#x] = last == 0 and 1 or 0
      end
    end
  end
  local function compiled(plan)
    local methods = {
      run = function(_, options) plan:run(options) spoil() end,
      start = function(_, options)
        local ev = plan:start(options)
        ev:wait()
        spoil()
        return ev
      end,
    }
    return setmetatable({}, { __close = function() plan:close() end,
      __index = function(_, key)
        return methods[key] or function(_, ...) return plan[key](plan, ...) end
      end })
  end
  return setmetatable(proxy, { __index = function(_, key)
    return function(_, x, k, ...)
      if key == "output" then outputs[#outputs + 1] = x end
      if key == "task" then k = k.real end -- only the graph is spoiled
      local result = g[key](g, x, k, ...)
      if key == "compile" then return compiled(result) end
      return result == g and proxy or result
    end
  end })
end

-- Loads a module like `require`, but spoils graphs, and kernels outside graphs.
local function spoiling(name)
  if name ~= "lze" then return require(name) end
  return setmetatable({ graph = spoiled_graph, load = function(path)
    local module = lze.load(path)
    return setmetatable({}, { __index = function(_, kernel)
      return spoiled(module[kernel])
    end })
  end, kernel = function(...) return spoiled(lze.kernel(...)) end },
    { __index = lze })
end

-- Returns the error that an example with spoiled kernels raises.
local function noticed(...)
  local ok, err = pcall(run_with, { require = spoiling }, ...)
  assert.is_false(ok)
  return tostring(err)
end

-- Loads a module like `require`, but every launch of a kernel except the first
-- checks that its buffers are not in use.
local function watching(name)
  if name ~= "lze" then return require(name) end
  local seen = {}
  local function watched(kernel)
    return setmetatable({ launch = function(_, range, ...)
      for i = 1, seen[kernel.name] and select("#", ...) or 0 do
        local x = select(i, ...)
        if lze.type(x) == "buffer" then assert.is_false(x:pending()) end
      end
      seen[kernel.name] = true
      return kernel:launch(range, ...)
    end }, { __index = function(_, key)
      if key ~= "group" then return kernel[key] end
      return function(_, ...) return kernel:group(...) end
    end })
  end
  return setmetatable({ load = function(path)
    local module = lze.load(path)
    return setmetatable({}, { __index = function(_, kernel)
      return watched(module[kernel])
    end })
  end, kernel = function(...) return watched(lze.kernel(...)) end },
    { __index = lze })
end

describe("an example that times launches", function()
  it("waits for earlier work", function()
    for _, words in ipairs { { "matmul.lua", "200", "200", "200" },
      { "vector_add.lua", "3000000" }, { "saxpy.lua", "1000000" } } do
      run_with({ require = watching }, table.unpack(words))
    end
  end)
end)

local directory
setup(function()
  local pipe = assert(io.popen("mktemp -d", "r"))
  directory = assert(pipe:read "l")
  assert(pipe:close())
end)
teardown(function() os.execute("rm -rf '" .. directory .. "'") end)

local function path_of(name) return directory .. "/" .. name end

-- Writes `bytes` to a file. Returns its path.
local function file_of(bytes)
  process.write(path_of "in", bytes)
  return path_of "in"
end

describe("examples/saxpy.lua", function()
  it("agrees with plain Lua", function()
    local out = run("saxpy.lua", "10007")
    assert.matches("^saxpy of 10007 floats on ", out)
    assert.matches("\n  group: ", out)
    assert.matches("\n  every element is what plain Lua says$", out)
  end)

  it("notices a wrong element", function()
    assert.matches("^y%[7%] is 0.0, not 21.0$", noticed("saxpy.lua", "7"))
  end)
end)

describe("examples/histogram.lua", function()
  local function with(bytes) return run("histogram.lua", file_of(bytes)) end

  it("agrees with plain Lua", function()
    local out = with(("abcb\0\255"):rep(1001))
    assert.matches("%(6006 bytes%)", out)
    assert.matches("what plain Lua says; 98 is commonest, 2002 times$", out)
  end)

  it("counts an empty file", function()
    assert.matches("0 is commonest, 0 times$", with "")
  end)

  it("reports a file that it cannot read", function()
    assert.has_error(function() run("histogram.lua", "/proc/none/x") end,
      "/proc/none/x: No such file or directory")
  end)

  it("notices a wrong count", function()
    assert.equal("byte 255: 0 times, not 2",
      noticed("histogram.lua", file_of "\255a\255"))
  end)
end)

describe("examples/vector_add.lua", function()
  it("agrees with plain Lua for all kinds of sizes", function()
    for _, n in ipairs { "1", "2", "257", "10007", "65536" } do
      local out = run("vector_add.lua", n)
      assert.matches("^vector_add of " .. n .. " floats on ", out)
      assert.matches("\n  group: %d+ of " .. n .. ": ", out)
      assert.matches("\n  every element is what plain Lua says$", out)
    end
  end)

  it("notices a wrong element", function()
    assert.equal("c[777] is 0.0, not 777", noticed("vector_add.lua", "777"))
  end)
end)

describe("examples/reduction.lua", function()
  it("agrees with plain Lua for all kinds of sizes", function()
    -- Sizes: one group, the last that is one group, two groups, several.
    local sums = { [1] = -492081, [2] = -976243 }
    for _, n in ipairs { 1, 2, 257, 8192, 8193, 100003 } do
      local sum = 0
      for i = 1, n do sum = sum + i * 7919 % 1000003 - 500000 end
      assert.equal(sums[n] or sum, sum)
      local out = run("reduction.lua", tostring(n))
      assert.matches("^reduction of " .. n .. " numbers on ", out)
      assert.matches("\n  group: %d+ of %d+: ", out)
      assert.equal(("the sum is %d, as plain Lua says"):format(sum),
        out:match "([^\n]*)$":match "^  (.*)")
    end
  end)

  it("notices a wrong sum", function()
    assert.matches("^the sum is [01], not %-976243$",
      noticed("reduction.lua", "2"))
  end)
end)

describe("examples/scan.lua", function()
  it("agrees with plain Lua for all kinds of sizes", function()
    -- Sizes: within one block, one whole block, one more, many blocks.
    local last = { [1] = 0, [2] = 356 }
    for _, n in ipairs { 1, 2, 257, 2048, 2049, 100003 } do
      local sum = 0
      for i = 1, n - 1 do sum = sum + i * 7919 % 1009 - 500 end
      assert.equal(last[n] or sum, sum)
      local out = run("scan.lua", tostring(n))
      assert.matches("^scan of " .. n .. " numbers on ", out)
      assert.matches(lze.device().software and "\n  %d+ runs of about %d+\n" or
        "\n  %d+ blocks of %d+; a group shares %d+ bytes ", out)
      assert.equal(
        ("every element is what plain Lua says; the last one is %d")
        :format(sum), out:match "([^\n]*)$":match "^  (.*)")
    end
  end)

  it("notices a wrong element", function()
    assert.equal("element 2 is 0, not 356", noticed("scan.lua", "2"))
    assert.matches("^element %d+ is %-?%d+, not %-?%d+$",
      noticed("scan.lua", "2049"))
  end)
end)

describe("examples/matmul.lua", function()
  it("agrees with plain Lua for all kinds of sizes", function()
    for _, sizes in ipairs { { 1, 1, 1 }, { 16, 32, 16 }, { 17, 31, 13 },
      { 1, 101, 3 }, { 101, 1, 47 } } do
      local rows, columns, inner = table.unpack(sizes)
      local out = run("matmul.lua", tostring(rows), tostring(columns),
        tostring(inner))
      assert.matches(("^matmul of %dx%d by %dx%d floats on ")
        :format(rows, inner, inner, columns), out)
      assert.matches("\n  group, plain: ", out)
      assert.matches("\n  group, tiled: 16x16 of ", out)
      assert.matches("\n  both kernels agree on every element\n", out)
      assert.matches(("\n  every element of %d of %d rows is what plain Lua " ..
        "says$"):format(rows, rows), out)
    end
  end)

  it("checks only some rows of a large product", function()
    local out = run("matmul.lua", "70", "1024", "1024")
    assert.matches("\n.* plain Lua, reckoned from 64 rows\n", out)
    assert.matches("\n  every element of 64 of 70 rows is what plain Lua says$",
      out)
  end)

  it("notices a wrong element", function()
    assert.matches("^row 2, column 3 is %-?%d+.0, not %-?%d+",
      noticed("matmul.lua", "2", "3", "5"))
  end)
end)

describe("examples/blur.lua", function()
  -- Returns the blurred picture, and the output.
  local function blurred(bytes, sigma)
    local out = run("blur.lua", file_of(bytes), path_of "out", sigma)
    assert.matches(" of " .. "(%d+) columns is what plain Lua says\n", out)
    return read(path_of "out"), out
  end

  it("spreads a white pixel along the Gaussian curve", function()
    local curve = string.char(1, 14, 62, 102, 62, 14, 1)
    local white = "\0\0\0\255\0\0\0"
    assert.equal("P5\n7 1\n255\n" .. curve,
      (blurred("P5\n7 1\n255\n" .. white, "1")))
    assert.equal("P5\n1 7\n255\n" .. curve,
      (blurred("P5 1 7 255 " .. white, "1")))
  end)

  it("keeps a uniform colour up to the edges", function()
    local out, text = blurred("P6 5 3 255\n" .. ("\255\1\128"):rep(15), "2.5")
    assert.equal("P6\n5 3\n255\n" .. ("\255\1\128"):rep(15), out)
    assert.matches(", 5x3 pixels of 3 bytes, sigma 2.5, on ", text)
    assert.matches("\n  group: %d+x%d+ of 15x3: ", text)
    assert.matches("\n  every byte of 15 of 15 columns is what", text)
  end)

  it("does not mix colours", function()
    -- Half the curve lies beyond the edge, which repeats the red pixel.
    assert.equal("P6\n3 1\n255\n" ..
      string.char(178, 0, 0, 77, 0, 0, 15, 0, 0),
      (blurred("P6\n3 1\n255\n\255" .. ("\0"):rep(8), "1")))
  end)

  it("takes a picture of one pixel, or smaller than the curve", function()
    assert.equal("P6\n1 1\n255\nabc", (blurred("P6 1 1 255 abc", "100")))
    assert.equal("P5\n1 1\n255\n\0", (blurred("P5 1 1 255 \0", "0.01")))
    blurred("P5 2 3 255 abcdef", "50")
  end)

  it("reads comments in the header, and keeps the greatest value", function()
    local out = blurred("P5 # grey\n#\n# two by two\n2\t# wide\n2\n100\ndddd")
    assert.equal("P5\n2 2\n100\ndddd", out)
  end)

  it("ignores data after the first picture", function()
    assert.equal("P5\n1 1\n255\nx", (blurred("P5 1 1 255 xP5 1 1 255 y")))
  end)

  it("agrees with plain Lua for all kinds of sizes", function()
    for _, size in ipairs { { 31, 17 }, { 101, 1 }, { 1, 103 }, { 64, 64 } } do
      local bytes = {}
      for i = 1, size[1] * size[2] * 3 do
        bytes[i] = string.char(i * i * 7919 % 256)
      end
      local header = ("P6\n%d %d\n255\n"):format(size[1], size[2])
      local out = blurred(header .. table.concat(bytes), "1.3")
      assert.equal(header, out:sub(1, #header))
      assert.equal(#header + #bytes, #out)
    end
  end)

  it("makes its own picture without arguments", function()
    local out = run_in(directory, "blur.lua")
    assert.matches("^blur of before.png, 480x320 pixels of 3 bytes, sigma 3,",
      out)
    assert.matches("\n  every byte of 1440 of 1440 columns is", out)
    assert.matches("\n  written to after.png$", out)
    local before, after = read(path_of "before.png"), read(path_of "after.png")
    local header = "\x89PNG\r\n\x1a\n" ..
      (">I4c4I4I4BBBBB"):pack(13, "IHDR", 480, 320, 8, 2, 0, 0, 0)
    assert.equal(header, before:sub(1, #header))
    assert.equal(header, after:sub(1, #header))
    assert.are_not.equal(before, after)
    for _, name in ipairs {"before.png", "after.png"} do
      assert.equal(3 * 480 * 320, #select(3, decoded(path_of(name))))
    end
  end)

  it("writes a PNG if the name asks for a PNG", function()
    run("blur.lua", file_of "P5\n2 1\n100\nd\0", path_of "grey.png", "0.01")
    local file = read(path_of "grey.png")
    assert.equal((">c4I4I4BB"):pack("IHDR", 2, 1, 8, 0), file:sub(13, 26))
    assert.same({2, 1, "\255\0"}, {decoded(path_of "grey.png")})
  end)

  it("reports an invalid picture", function()
    local out = path_of "never"
    for bytes, problem in pairs {
      [""] = "neither binary PPM (P6) nor binary PGM (P5)",
      ["P3\n1 1\n255\n1 2 3\n"] = "neither binary PPM (P6) nor binary PGM (P5)",
      ["P6"] = "no width in the header",
      ["P6\n# 1 1 255"] = "no width in the header",
      ["P6\n12 -1"] = "no height in the header",
      ["P6\n12 13\n"] = "no greatest value in the header",
      ["P6\n0 5\n255\n"] = "the width is 0, not from 1 to 99999999",
      ["P6\n5 0\n255\n"] = "the height is 0, not from 1 to 99999999",
      ["P6\n5 99999999999999999999\n255\n"] = "the height is " ..
        "99999999999999999999, not from 1 to 99999999",
      ["P6\n1 1\n65535\nabcdef"] = "the greatest value is 65535, " ..
        "not from 1 to 255",
      ["P6\n1 1\n0\nabc"] = "the greatest value is 0, not from 1 to 255",
      ["P6\n2 2\n255\n0123456789a"] = "truncated: 11 bytes of 4 pixels, not 12",
      ["P5\n2 2\n255"] = "truncated: 0 bytes of 4 pixels, not 4",
      ["P5\n99999999 99999999\n255\n"] = "truncated: 0 bytes of " ..
        "9999999800000001 pixels, not 9999999800000001",
    } do
      local path = file_of(bytes)
      assert.equal(path .. ": " .. problem, refusal("blur.lua", path, out))
    end
    assert.equal("/proc/none/x: No such file or directory",
      refusal("blur.lua", "/proc/none/x", out))
    assert.equal(directory .. ": Is a directory",
      refusal("blur.lua", directory, out))
    assert.is_nil(io.open(out))
    assert.equal("/proc/none/y: No such file or directory",
      refusal("blur.lua", file_of "P5 1 1 255 x", "/proc/none/y"))
  end)

  it("notices a wrong byte", function()
    assert.equal("pixel 1, 0, channel 2 is 1, not 120",
      noticed("blur.lua", file_of "P6 2 1 255 xxxxxx", path_of "never"))
    assert.is_nil(io.open(path_of "never"))
  end)
end)

describe("examples/mandelbrot.lua", function()
  -- The entries of the palette by colour.
  local entry_of = { ["\0\0\0"] = 0 }
  for i = 0, 254 do
    local colour = {}
    for c, wave in ipairs { { 7, 0 }, { 9, 0.03 }, { 11, 0.15 } } do
      local angle = 2 * math.pi * (wave[1] * i / 255 + wave[2])
      colour[c] = math.floor(127.5 - 127.5 * math.cos(angle))
    end
    entry_of[string.char(table.unpack(colour))] = i + 1
  end

  local function picture(width, height)
    local out = run("mandelbrot.lua", path_of "m.png", tostring(width),
      tostring(height))
    local size = ("mandelbrot of %dx%d pixels on "):format(width, height)
    assert.matches("\n" .. size, out)
    assert.matches("\n  written to " .. path_of "m.png":gsub("%p", "%%%0") ..
      "$", out)
    assert.matches(("\n  every pixel of %d of %d rows is what plain Lua says\n")
      :format(height, height), out)
    local w, h, colours = decoded(path_of "m.png")
    assert.same({ width, height }, { w, h })
    return colours:gsub("...", function(c)
      return string.char(entry_of[c])
    end), out
  end

  it("draws pictures of any size", function()
    assert.equal("\0", (picture(1, 1)))             -- -0.75
    assert.equal("\0\0", (picture(2, 1)))           -- -1.625, 0.125
    assert.equal("\0\0\6", (picture(3, 1)))         -- ..., 0.417
    picture(1, 101)
    picture(103, 1)
    picture(61, 43)
  end)

  it("shows the set and its surroundings", function()
    local pixels, out = picture(7, 5) -- half a unit apart
    assert.equal(1, pixels:byte(1))                       -- -2.25 - i
    assert.equal(0, pixels:byte(2 * 7 + 4))               -- -0.75
    assert.equal(0, pixels:byte(2 * 7 + 5))               -- -0.25
    assert.equal(pixels:sub(1, 7), pixels:sub(-7))        -- symmetric
    assert.matches("^  " .. ("[ .:=+*%%#-]"):rep(7) .. "\n", out)
  end)

  it("writes more than one block, from more than one band", function()
    picture(701, 401)
  end)

  it("reports a file that it cannot write", function()
    assert.matches("/proc/none/m.png: No such file or directory$",
      refusal("mandelbrot.lua", "/proc/none/m.png", "2", "2"))
  end)

  it("notices a wrong pixel", function()
    assert.equal("pixel 2, 0 is 0, not 6",
      noticed("mandelbrot.lua", path_of "never.png", "3", "1"))
    assert.is_nil(io.open(path_of "never.png"))
  end)
end)

describe("kernels for groups of any size:", function()
  local sizes = { 1, 2, 3, 7, 64, 100, 256 }
  local numbers, n = {}, 1009
  for i = 1, n do numbers[i] = i * i % 1013 - 500 end
  local x = lze.buffer("long", numbers)

  it("sum", function()
    local total = 0
    for i = 1, n do total = total + numbers[i] end
    local sum = lze.load("kernels/reduction.spv").sum
    for _, size in ipairs(sizes) do
      for _, groups in ipairs { 1, 2, 11, 2000 } do
        local sums = lze.buffer("long", groups)
        sum({ groups * size, group = size }, x, n, sums, size)
        sum({ size, group = size }, sums, groups, sums, size)
        assert.equal(total, sums[1])
      end
    end
  end)

  it("scan_blocks and add_blocks", function()
    local module = lze.load "kernels/scan.spv"
    local function scan(data, count, size, each)
      local blocks = (count - 1) // (size * each) + 1
      local range = { blocks * size, group = size }
      local totals = lze.buffer("long", blocks)
      module.scan_blocks(range, data, count, each, data, totals, 2 * size)
      if blocks > 1 then
        scan(totals, blocks, size, each)
        module.add_blocks(range, data, count, each, totals)
      end
    end
    local expected, sum = {}, 0
    for i = 1, n do
      expected[i] = sum
      sum = sum + numbers[i]
    end
    for _, size in ipairs(sizes) do
      for _, each in ipairs { 1, 2, 5 } do
        if size * each > 1 then -- blocks of one element would never end
          local data = lze.buffer("long", numbers)
          scan(data, n, size, each)
          assert.same(expected, data:read())
        end
      end
    end
  end)

  it("begin_runs and end_runs, with any number of work-items", function()
    local module = lze.load "kernels/scan.spv"
    for _, count in ipairs { 0, 1, 5, n } do
      local expected, sum = {}, 0
      for i = 1, count do
        expected[i] = sum
        sum = sum + numbers[i]
      end
      for i = count + 1, n do expected[i] = numbers[i] end
      for _, items in ipairs { 1, 2, 3, 16, 1008, 1009, 2000 } do
        local data = lze.buffer("long", numbers)
        local totals = lze.buffer("long", items)
        module.begin_runs(items, data, count, data, totals)
        module.end_runs(items, data, count, data, totals)
        assert.same(expected, data:read())
      end
    end
  end)

  it("matmul", function()
    local matmul = lze.load("kernels/matmul.spv").matmul
    local a = lze.buffer("float", { 1, 2, 3, 4, 5, 6 })
    local b = lze.buffer("float", { 1, 0, 2, -1, 3, 1 })
    local c = lze.buffer("float", 4)
    for _, group in ipairs { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 } } do
      c:fill(-1)
      matmul({ 2, 2, group = group }, a, b, c, 2, 3)
      assert.same({ 14, 1, 32, 1 }, c:read())
    end
  end)
end)

describe("an example", function()
  it("prints its usage if its arguments are invalid", function()
    local function wrong(name, ...)
      assert.matches("^usage: lua5.4 examples/" .. name .. ".lua %[.*\n.* " ..
        "a ?w?h?o?l?e? number ", refusal(name .. ".lua", ...))
    end
    for _, name in ipairs { "vector_add", "reduction", "scan" } do
      for _, n in ipairs { "0", "-1", "1.5", "many", "", "nan", "1e300",
        "16777217" } do
        wrong(name, n)
      end
      wrong(name, "1", "2")
    end
    for _, n in ipairs { "0", "-1", "1.5", "many", "262145" } do
      wrong("matmul", n, "1", "1")
      wrong("matmul", "1", n, "1")
      wrong("matmul", "1", "1", n)
    end
    assert.matches("^a matrix of more than 16777216 numbers: ",
      refusal("matmul.lua", "1", "4097", "4096"))
    wrong("matmul", "1")
    wrong("matmul", "1", "2")
    wrong("matmul", "1", "2", "3", "4")
    for _, n in ipairs { "0", "-1", "1.5", "many", "16385" } do
      wrong("mandelbrot", path_of "never.png", n, "1")
      wrong("mandelbrot", path_of "never.png", "1", n)
    end
    wrong("mandelbrot", path_of "never.png", "1")
    wrong("mandelbrot", path_of "never.png", "1", "1", "1")
    wrong("blur", "in")
    for _, sigma in ipairs { "0", "-1", "much", "nan", "101" } do
      wrong("blur", "in", "out", sigma)
    end
    wrong("blur", "in", "out", "1", "2")
  end)

  it("exits 1 after printing its usage", function()
    local r = process.run [[
      arg = { [0] = "examples/scan.lua", "0" }
      dofile(arg[0])
    ]]
    assert.equal("exit 1", r.how .. " " .. r.code)
    assert.matches("usage: lua5.4 examples/scan.lua %[n%]\n", r.output)
  end)
end)

-- Runs an example for which two seconds pass at each look at the clock.
local slowly = [[
  local now = 0
  function os.time() now = now + 2 return now end
  arg = load("return " .. arg[1])()
  dofile(arg[0])
]]

-- Returns the shell command of a process that runs an example in that way.
-- `words` is a Lua expression, the example's `arg`.
local function slow_command(words)
  process.write(path_of "slowly.lua", slowly)
  return ("%s '%s' '%s'"):format(process.runner, path_of "slowly.lua", words)
end

describe("stderr", function()
  -- Returns what an example writes to a terminal that is its standard error.
  local function on_terminal(words, progress)
    process.write(path_of "command", "exec " .. slow_command(words) ..
      " >'" .. path_of "out" .. "'")
    return process.output("", { before = ([[
      export TERM=xterm LZE_PROGRESS=%s
      exec script -qec 'sh %s' /dev/null </dev/null
    ]]):format(progress or "", path_of "command") })
  end

  it("shows an example's progress on a terminal, and then erases it", function()
    local picture = file_of "P5 9 1 255 123456789"
    for words, last in pairs {
      ['[0] = "examples/matmul.lua", "9", "2", "2"'] = "plain Lua: row 9 of 9",
      ['[0] = "examples/mandelbrot.lua", "' .. path_of "m.png" ..
        '", "2", "9"'] = "plain Lua: row 9 of 9",
      ['[0] = "examples/blur.lua", "' .. picture .. '", "' ..
        path_of "blurred" .. '"'] = "plain Lua: column 9 of 9",
      ['[0] = "examples/nbody.lua", "4", "6"'] = "step 6 of 6",
      ['[0] = "examples/digits.lua", "100"'] = "learning: 10000 of 10000",
    } do
      local out = on_terminal("{" .. words .. "}")
      local line = "\r\27[K  " .. last .. " \r\27[K"
      assert.is_truthy(out:find(line, 1, true), out)
      assert.equal("\27[K", out:sub(-3))
    end
    assert.equal("", on_terminal(
      '{[0] = "examples/matmul.lua", "9", "2", "2"}', "0"))
  end)

  it("stays empty if it is not a terminal", function()
    local small = {
      blur = '"IN", "OUT"', edges = '"IN", "OUT"', histogram = '"IN"',
      digits = '"100"', kmeans = '"7", "7"', mandelbrot = '"OUT", "2", "9"',
      matmul = '"9", "2", "2"', nbody = '"4", "6"', life = '"1", "8", "8"',
      rays = '"OUT", "4", "3"', conjugate_gradient = '"3"',
      ["arrays/blur"] = '"32", "OUT"', ["arrays/digits"] = '"12"',
      ["arrays/kmeans"] = '"3", "3"', ["arrays/conjugate_gradient"] = '"24"',
      ["arrays/least_squares"] = '"10"', ["arrays/kalman"] = '"1"',
      ["arrays/fft_filter"] = '"100"', ["arrays/pca"] = '"6"',
      ["arrays/csv_picture"] = "",
      reduction = '"2"', saxpy = '"7"', scan = '"2"', vector_add = '"2"',
    }
    local of = { IN = file_of "P5 9 1 255 123456789", OUT = path_of "some.png" }
    local pipe = assert(io.popen "cd examples && ls *.lua arrays/*.lua")
    for name in pipe:lines() do
      local words = assert(small[name:match "(.*)%.lua$"], name)
      local r = process.run("", { before = ("exec %s 2>&1 >/dev/null"):format(
        slow_command(('{[0] = "examples/%s"; %s}'):format(name,
          (words:gsub("%u+", of))))), env = { LZE_PROGRESS = "1" } })
      assert.equal("exit 0: ", ("%s %d: %s"):format(r.how, r.code, r.output))
    end
    pipe:close()
  end)
end)

describe("examples/edges.lua", function()
  it("agrees with plain Lua for all kinds of pictures", function()
    -- One pixel, one row, one column, grey, colour.
    for _, picture in ipairs { "P5 1 1 255 \7", "P5 5 1 255 abcde",
      "P5 1 5 255 abcde", "P5 3 3 255 a\0b\255c\0d\255e",
      "P6 2 2 255 abcdefghijkl" } do
      local out = run("edges.lua", file_of(picture), path_of "out")
      assert.matches("\n  every pixel and count is what plain Lua says; ", out)
      assert.matches("\nedges.slopes +task ", out)
    end
    assert.equal("P5\n2 2\n255\n", read(path_of "out"):sub(1, 11))
  end)

  it("makes its own picture without arguments", function()
    assert.matches("^edges of shapes.png, 480x320 pixels, on ",
      run_in(directory, "edges.lua"))
    for _, name in ipairs {"shapes.png", "edges.png"} do
      assert.equal("\x89PNG", read(path_of(name)):sub(1, 4))
    end
  end)

  it("finds the only edge", function()
    run("edges.lua", file_of("P5 40 3 255 " .. (("\0"):rep(20)
      .. ("\200"):rep(20)):rep(3)), path_of "out")
    local row = read(path_of "out"):sub(-40)
    assert.equal(("\0"):rep(14), row:sub(1, 14))
    assert.is_true(row:byte(20) > 80 and row:byte(20) == row:byte(21))
    assert.equal(("\0"):rep(14), row:sub(27))
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("edges.lua", "x"))
  end)

  it("notices a wrong pixel", function()
    assert.equal("pixel 1, 0 is 1, not 0", noticed("edges.lua",
      file_of "P5 2 1 255 aa", path_of "out"))
  end)
end)

describe("examples/nbody.lua", function()
  it("agrees with plain Lua", function()
    for _, n in ipairs { "1", "16", "61" } do
      local out = run("nbody.lua", n, "20")
      assert.matches("^" .. n .. " bodies, 20 steps, on ", out)
      assert.matches(" bodies are where plain Lua says after two steps; ", out)
    end
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("nbody.lua", "16", "3"))
    assert.matches("^usage: ", refusal("nbody.lua", "0"))
  end)

  it("notices a body in a wrong place", function()
    assert.matches("^body 4, mass: ", noticed("nbody.lua", "4", "2"))
  end)
end)

describe("examples/life.lua", function()
  it("agrees with plain Lua", function()
    for _, size in ipairs { { "1", "1", "1" }, { "7", "5", "4" },
        { "30", "31", "17" } } do
      local out = run("life.lua", table.unpack(size))
      assert.matches("\nlife: " .. size[1] .. " generations of ", "\n" .. out)
      assert.matches("\n  all cells are as plain Lua has them after " ..
        size[1] .. " generations$", out)
    end
  end)

  it("shows an R-pentomino after one generation", function()
    local out = run("life.lua", "1", "8", "8")
    assert.matches("\n  %.%.%.%.###%.\n  %.%.%.%.#%.%.%.\n  %.%.%.%.##%.%.\n",
      out)
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("life.lua", "0"))
    assert.matches("^usage: ", refusal("life.lua", "1", "2"))
  end)

  it("notices a wrong cell", function()
    assert.matches("^cell 20 of generation 1 is 1, not 0$",
      noticed("life.lua", "1", "5", "4"))
  end)
end)

describe("examples/rays.lua", function()
  it("agrees with plain Lua", function()
    local out = run("rays.lua", path_of "rays.png", "31", "17")
    assert.matches("^rays: 31x17 pixels in ", out)
    assert.matches("\n  %a+ %a+ of 17 of 17 rows is what plain Lua says\n", out)
    local file <close> = assert(io.open(path_of "rays.png", "rb"))
    assert.equal("\137PNG\r\n\26\n", file:read(8))
    local width, height, bits, colours =
      (">I4I4BB"):unpack(file:read(21):sub(9))
    assert.same({ 31, 17, 8, 2 }, { width, height, bits, colours })
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("rays.lua", "r.png", "3"))
  end)

  it("notices a wrong byte", function()
    if not lze.device().fp64 then return end
    assert.matches("^row 3: byte 36 is ",
      noticed("rays.lua", path_of "never.png", "4", "3"))
    assert.is_nil(io.open(path_of "never.png"))
  end)
end)

describe("examples/kmeans.lua", function()
  it("agrees with plain Lua", function()
    for n, k in pairs { [1] = 1, [7] = 7, [1009] = 5 } do
      assert.matches("\n  every point and centre is where plain Lua says$",
        run("kmeans.lua", tostring(n), tostring(k)))
    end
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("kmeans.lua", "3", "4"))
  end)

  it("notices a point at a wrong centre", function()
    assert.matches("^point 30 belongs to centre %d, not %d$",
      noticed("kmeans.lua", "30", "3"))
  end)
end)

describe("examples/conjugate_gradient.lua", function()
  it("finds a solution that plain Lua confirms", function()
    for _, side in ipairs { "2", "3", "40" } do
      local out = run("conjugate_gradient.lua", side)
      assert.matches("\n  plain Lua finds the equations met to ", out)
    end
    assert.matches("^1600 equations, 7840 elements, ",
      run("conjugate_gradient.lua", "40"))
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("conjugate_gradient.lua", "1"))
  end)

  it("notices a wrong answer", function()
    assert.matches("^after %d+ steps .* is left$",
      noticed("conjugate_gradient.lua", "16"))
  end)
end)

describe("examples/digits.lua", function()
  it("reads digits like plain Lua, with few errors", function()
    local out = run("digits.lua", "500")
    assert.matches("^500 digits of 10x10 points on ", out)
    local percent = out:match "plain Lua reads them alike; ([%d.]+) %%"
    assert.is_true(tonumber(percent) >= 95)
  end)

  it("prints its usage", function()
    assert.matches("^usage: ", refusal("digits.lua", "99"))
  end)

  it("notices a misread digit", function()
    assert.matches("^image 100 was read as [01]$", noticed("digits.lua", "100"))
  end)
end)

describe("examples/arrays:", function()
  -- Returns the error that an example raises if the last element of each result
  -- of A[name] is wrong.
  local function noticed_array(name, example, ...)
    local A = lze.array
    local function spoil(...)
      local a = A[name](...):clone()
      local flat = a:view {-1}
      flat[#flat] = flat[#flat] + 9
      return a
    end
    local wrong = setmetatable({[name] = spoil}, {__index = A,
      __call = function(_, ...) return A(...) end})
    local fake = setmetatable({array = wrong}, {__index = lze})
    local ok, err = pcall(run_with, {require = function(module)
      return module == "lze" and fake or require(module)
    end}, example, ...)
    assert.is_false(ok)
    return tostring(err)
  end

  it("kmeans.lua agrees with plain Lua", function()
    for n, k in pairs {[3] = 3, [1009] = 5} do
      assert.matches("\n  every point and centre is where plain Lua says$",
        run("arrays/kmeans.lua", tostring(n), tostring(k)))
    end
    assert.matches("^centre 3 is at ",
      noticed_array("stack", "arrays/kmeans.lua", "30", "3"))
    assert.matches("^usage: ", refusal("arrays/kmeans.lua", "3", "4"))
  end)

  it("conjugate_gradient.lua solves its equations", function()
    local out = run("arrays/conjugate_gradient.lua", "24")
    assert.matches("^576 equations, on ", out)
    assert.matches("\n  hottest, at 13, 9, by ", out)
    assert.matches("^usage: ", refusal("arrays/conjugate_gradient.lua", "2"))
  end)

  it("least_squares.lua finds how a ball was thrown", function()
    for _, count in ipairs {10, 1000} do
      local out = run("arrays/least_squares.lua", tostring(count))
      assert.matches("^" .. count .. " points, on ", out)
      assert.matches("\n  speed: 1[12]%.%d+ %+%- 0%.%d+, in truth 12%.0000\n",
        out)
    end
    assert.matches("^usage: ", refusal("arrays/least_squares.lua", "9"))
  end)

  it("kalman.lua is nearer to the truth than the measurements", function()
    local out = run("arrays/kalman.lua", "100")
    assert.is_true(tonumber(out:match "filtered ones by ([%d.]+)") < 0.3, out)
    assert.matches("^usage: ", refusal("arrays/kalman.lua", "0"))
  end)

  it("fft_filter.lua removes noise", function()
    for _, samples in ipairs {100, 1001} do
      local out = run("arrays/fft_filter.lua", tostring(samples))
      assert.matches("^" .. samples .. " samples, on ", out)
    end
    assert.matches("^usage: ", refusal("arrays/fft_filter.lua", "99"))
  end)

  it("pca.lua reads digits from few numbers", function()
    assert.matches("\n  35 of 35 numbers keep 100 %% of the variance, ",
      run("arrays/pca.lua", "35"))
    assert.matches("^usage: ", refusal("arrays/pca.lua", "36"))
  end)

  it("csv_picture.lua turns rows into a picture", function()
    process.with_directory(function(dir)
      local rows <close> = assert(io.open(dir .. "/some.csv", "w"))
      rows:write "x,y,z\n0,0,5\n1,1,7\n0,0,6\n"
      rows:close()
      assert.matches("^3 rows, .*\n  heights from 0%.000 to 7%.000$",
        run("arrays/csv_picture.lua", dir .. "/some.csv", dir .. "/out.png"))
      assert.equal("\137PNG", read(dir .. "/out.png"):sub(1, 4))
    end)
    assert.matches("^20000 rows, ", run("arrays/csv_picture.lua"))
    assert.matches("^usage: ", refusal("arrays/csv_picture.lua", "some.txt"))
  end)

  it("digits.lua learns", function()
    local out = run("arrays/digits.lua", "12")
    local now, first = out:match "off by ([%d.]+), at first by ([%d.]+)"
    assert.is_true(tonumber(now) < tonumber(first), out)
    assert.matches("^usage: ", refusal("arrays/digits.lua", "0"))
  end)

  it("blur.lua blurs like plain Lua, and writes a picture", function()
    process.with_directory(function(dir)
      assert.matches("\n  200 points differ from plain Lua's by at most ",
        run("arrays/blur.lua", "32", dir .. "/rings.png"))
      assert.equal("\137PNG", read(dir .. "/rings.png"):sub(1, 4))
    end)
    assert.matches("^a point is off by ",
      noticed_array("cat", "arrays/blur.lua", "16"))
    assert.matches("^usage: ", refusal("arrays/blur.lua", "15"))
  end)
end)
