-- decimal_comma_spec.lua - in a locale with a decimal comma, plan:json wrote
-- numbers with commas, arrays of reals could not be printed, and fft wrote
-- kernels with commas in numbers.  In any locale, plan:json wrote only 14
-- digits.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

-- Runs a plan whose steps overlap and checks the numbers in its output.
local script = [[
  local lze = require "lze"
  local locale = os.getenv "SPEC_LOCALE"
  if locale then
    assert(os.setlocale(locale), "no locale")
    assert(tostring(0.5) == "0,5")
  end
  local x, y = lze.buffer("int", 4096), lze.buffer("int", 4096)
  local plan = lze.graph "g":fill("x", x, 1):fill("y", y, 2):copy("z", x, y)
    :compile {profile = true}
  plan:run()
  local json, dot, trace, r = plan:json(), plan:dot(), plan:trace(),
    plan:report()
  assert(os.setlocale "C")
  assert(math.type(r.overlap) == "float")
  local overlap = json:match '"overlap":([^,}]*)[,}]'
  assert(overlap:find "^%d+%.%d+$", overlap)
  assert(math.abs(tonumber(overlap) - r.overlap) < 1e-300, overlap)
  assert(not json:find "%d,%d" and not trace:find "%d,%d", trace)
  assert(select(2, dot:gsub('xlabel="%d+%.%d us"', "")) == 3, dot)
  print "good"]]

-- Prints arrays and runs fft, whose kernels contain numbers.
local arrays = [[
  local A = require "lze".array
  local locale = os.getenv "SPEC_LOCALE"
  if locale then
    assert(os.setlocale(locale), "no locale")
    assert(tostring(0.5) == "0,5")
  end
  print(A("float", {1.5, -2, 0.1}))
  print(A("float", {1e-5, 2, 1e9}))
  for n = 3, 7, 2 do
    local sums = A("float", A.arange(n):fft()):sum {dim = 1}
    print(math.abs(sums[1] - n) < 1e-4 and math.abs(sums[2]) < 1e-4)
  end]]

local shown = "array: float {3} [ 1.5 -2.0  0.1]\n" ..
  "array: float {3} [1.0e-05 2.0e+00 1.0e+09]\n" .. ("true\n"):rep(3)

-- Calls f with the environment for processes in a locale with a decimal comma.
local function with_comma(f)
  process.with_directory(function(dir)
    local made = os.execute(("exec >'%s/log' 2>&1; localedef -c -i de_DE " ..
      "-f UTF-8 '%s/de_DE.UTF-8'"):format(dir, dir))
    if not made then pending "no localedef, or nothing to make one from" end
    f {LOCPATH = dir, SPEC_LOCALE = "de_DE.UTF-8"}
  end)
end

describe("the output of a plan for programs", function()
  it("has all digits of a number", function()
    assert.equal("good\n", process.output(script))
  end)

  it("has decimal points in a locale with decimal commas", function()
    with_comma(function(env)
      assert.equal("good\n", process.output(script, {env = env}))
    end)
  end)
end)

describe("arrays", function()
  it("are printed with decimal points in any locale", function()
    assert.equal(shown, process.output(arrays))
    with_comma(function(env)
      assert.equal(shown, process.output(arrays, {env = env}))
    end)
  end)
end)
