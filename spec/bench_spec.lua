-- bench_spec.lua - the benchmark suite measures correctly and checks results.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local function library(name)
  return dofile("bench/lib/" .. name .. ".lua")
end

describe("bench/lib", function()
  it("writes and reads JSON", function()
    local json = library "json"
    local value = {a = {1, 2.5, {}, 'x"\\\n\1 ü'}, b = true, ["ü"] = {c = -3}}
    assert.same(value, json.decode(json.encode(value)))
    assert.same({}, json.decode "[ ]")
    assert.same("a/é\t", json.decode [["a\/\u00e9\t"]])
    assert.same("null\n", json.encode(0 / 0))
    for text, expected in pairs {
      ["{"] = "key expected at byte 2", ["[1 2]"] = "']' expected at byte 4",
      ["1 x"] = "end expected at byte 3", [""] = "value expected at byte 1",
      ['"a'] = "end of string expected at byte 3",
    } do
      local ok, message = pcall(json.decode, text)
      assert.is_false(ok)
      assert.equal("JSON: " .. expected, message)
    end
  end)

  it("finds medians, means and intervals", function()
    local stats = library "stats"
    assert.equal(3, stats.median {5, 1, 3})
    assert.equal(2.5, stats.median {4, 1, 2, 3})
    assert.near(2, stats.geometric_mean {1, 2, 4}, 1e-12)
    local ratio, low, high = stats.ratio({2, 2, 2, 2}, {4, 4, 4, 4})
    assert.same({0.5, 0.5, 0.5}, {ratio, low, high})
    ratio, low, high = stats.ratio({1, 2, 3, 4, 5}, {2, 2, 2, 2, 2})
    assert.equal(1.5, ratio)
    assert.is_true(low >= 0.5 and low < 1.5 and high > 1.5 and high <= 2.5)
  end)

  it("searches powers of two, their multiples by 3 and 5, and divisors",
  function()
    local search = library "search"
    local function sizes(...)
      local list = search.groups(...)
      for i, g in ipairs(list) do list[i] = table.concat(g, "x") end
      return table.concat(list, " ")
    end
    assert.equal("1x1x1 2x1x1 3x1x1 4x1x1 5x1x1 6x1x1 7x1x1 8x1x1 10x1x1 " ..
      "12x1x1 14x1x1 16x1x1 20x1x1", sizes({28}, 20, {64, 64, 64}, false))
    assert.equal("1x1x1 2x1x1 4x1x1 7x1x1 14x1x1",
      sizes({28}, 20, {64, 64, 64}, true))
    assert.equal("1x1x1 1x3x1 3x1x1",
      sizes({3, 3}, 8, {4, 4, 4}, true))
    assert.equal(64, #search.groups({720720}, 1 << 20,
      {1 << 20, 1, 1}, false))
    assert.equal(48, #search.groups({720, 720}, 1024, {1024, 1024, 64}, true))
  end)

  -- Returns groups as words, such as "64x1 8x8".
  local function words(groups)
    local list = {}
    for i, g in ipairs(groups) do list[i] = table.concat(g, "x") end
    return table.concat(list, " ")
  end

  it("starts a search with a coarse grid and continues with neighbours",
  function()
    local neighbourhood = library "neighbourhood"
    local limits = {most = 8, sizes = {8, 8, 8}}
    assert.equal("1 2 3 4 6 8", words(neighbourhood.new({100}, limits)
      :coarse()))
    local space = neighbourhood.new({100, 3}, limits)
    assert.equal("1x1 1x3 4x1", words(space:coarse()))
    assert.equal("8x1 2x1 2x2 4x2", words(space:near {4, 1}))
    -- The range and half the range are also sizes. With `divide`, all sizes are
    -- divisors.
    assert.equal("1 2 3 4 6 7", words(neighbourhood.new({7}, limits):coarse()))
    limits.divide = true
    assert.equal("1 2 3 4 6", words(neighbourhood.new({12}, limits):coarse()))
  end)

  it("returns the group that oneAPI.jl would choose", function()
    local rule = library("oneapi_jl").group
    local limits = {most = 1024, sizes = {1024, 1024, 64}, spill = 0}
    assert.equal("1024x1x1 100x10x1 7x5x3", words {rule({5000}, limits),
      rule({100, 100}, limits), rule({7, 5, 3}, limits)})
    limits.spill = 3000 -- 256 of these take less than 1 MiB, 512 take more
    assert.equal("256x1x1", words {rule({5000}, limits)})
  end)
end)

describe("bench/suite.lua", function()
  local directory

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
  end)
  after_each(function() os.execute("rm -rf " .. directory) end)

  local function suite(...)
    local words = {}
    for i, word in ipairs {"--out", directory, ...} do
      words[i] = ("%q"):format(word)
    end
    local r = process.run(
      ("arg = {[0] = 'bench/suite.lua', %s}\ndofile 'bench/suite.lua'")
      :format(table.concat(words, ", ")))
    assert.equal("exit", r.how, r.output)
    return r.code, r.output
  end

  local function results()
    local file <close> = assert(io.open(directory .. "/results.json"))
    return library("json").decode(file:read "a")
  end

  it("measures every policy and a search, checks results, and resumes",
  function()
    local code, output = suite("--rounds", "3", "--filter", "^stencil 127$")
    assert.equal(0, code, output)
    local all = results()
    assert.equal("cpu", all.machine.type)
    assert.equal(1, #all.cases)
    local case = all.cases[1]
    assert.equal("stencil", case.name)
    assert.equal(3, case.rounds)
    assert.equal("127x1x1", case.group.largest)
    -- Powers of two up to 64, their multiples by 3 and 5, and 127.
    local tried = {}
    for _, config in ipairs(case.tried) do tried[config.group] = config.ms end
    for _, n in ipairs {1, 2, 64, 3, 96, 5, 80, 127} do
      assert.is_true(tried[n .. "x1x1"] > 0)
    end
    -- The ratio is above 1 if a policy's group is faster in the compared rounds
    -- than the group that the search chose before them.
    assert.near(tried[case.best_group], case.best_ms, 1e-6)
    for policy, ratio in pairs(case.ratio) do
      assert.near(case.best_ms / case.ms[policy], ratio, 1e-6)
    end
    local file <close> = assert(io.open(directory .. "/plot.svg"))
    assert.matches("stencil 127", file:read "a")

    -- Existing results are not measured again.
    code, output = suite("--rounds", "3", "--filter", "^stencil 127$",
      "--seconds", "1")
    assert.equal(0, code, output)
    assert.same(all, results())
  end)

  it("reports wrong options", function()
    for said, arguments in pairs {
      ["unknown option --frob"] = {"--frob"},
      ["--rounds needs a whole number"] = {"--rounds", "x"},
      ["--rounds needs at least 3"] = {"--rounds", "2"},
      ["--seconds needs a number"] = {"--seconds", "long"},
      ["--device needs a value"] = {"--device"},
      ["no case matches --filter"] = {"--filter", "no such case"},
    } do
      local code, output = suite(table.unpack(arguments))
      assert.equal(2, code)
      assert.is_truthy(output:find(said, 1, true), output)
    end
  end)
end)

describe("bench/ranges.lua", function()
  local function ranges(...)
    local words = {}
    for i, word in ipairs {...} do words[i] = ("%q"):format(word) end
    local r = process.run(
      ("arg = {[0] = 'bench/ranges.lua', %s}\ndofile 'bench/ranges.lua'")
      :format(table.concat(words, ", ")))
    assert.equal("exit", r.how, r.output)
    return r.code, r.output
  end

  it("has three ranges for each kernel, and two halves", function()
    local code, output = ranges "list"
    assert.equal(0, code, output)
    local count = {tuned = 0, ["held-out"] = 0}
    for half, rest in output:gmatch "(%S+) +%S+ +(.-)\n" do
      count[half] = count[half] + 1
      local _, shapes = rest:gsub("%S+", "")
      assert.equal(3, shapes, rest)
    end
    assert.is_true(count.tuned >= 15)
    assert.near(count.tuned, count["held-out"], 1)
  end)

  it("compares lze's choice with a search", function()
    local code, output = ranges("all", "2", "^grey 13x3$")
    assert.equal(0, code, output)
    local best, own, ratio, group = output:match
      "\ngrey +13x3 +(%S+) +(%S+) +(%S+) +(%S+)"
    assert.is_true(tonumber(best) <= tonumber(own), output)
    local half = 0.00005 -- of the last digit shown, in both times
    assert.is_true(ratio + 0.005 >= (best - half) / (own + half), output)
    assert.is_true(ratio - 0.005 <= (best + half) / (own - half), output)
    assert.matches("^%d+x%d+$", group)
    assert.matches("\n%S+ +1 +[%d.]+ +[%d.]+ grey 13x3\n", output)
  end)

  it("reports wrong arguments", function()
    for said, arguments in pairs {
      ["tuned, held-out, all or list expected"] = {"most"},
      ["ROUNDS needs a positive integer"] = {"all", "many"},
      ["no case matches PATTERN"] = {"all", "3", "no such case"},
    } do
      local code, output = ranges(table.unpack(arguments))
      assert.equal(2, code)
      assert.is_truthy(output:find(said, 1, true), output)
    end
  end)
end)
