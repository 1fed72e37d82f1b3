-- help_spec.lua - lze.help: the manual on functions, objects and words.
-- SPDX-License-Identifier: MIT

local lze = require "lze"

-- Returns the first line of a section of the manual.
local function section(title)
  local file <close> = assert(io.open("doc/manual.md", "rb"))
  local text = file:read "a"
  local _, last = text:find("\n### " .. title .. "\n", 1, true)
  return text:match("^\n([^\n]+)", last + 1)
end

describe("lze.help", function()
  it("has the manual's section on a function or method", function()
    local title = "lze.type(v: any) -> kind | nil"
    assert.equal(title .. "\n\n" .. section(title),
      (lze.help(lze.type):match "^[^\n]+\n\n[^\n]+"))
    title = "x:pending() -> boolean"
    local text = lze.help(lze.buffer("int", 1).pending)
    assert.equal(title .. "\n\n" .. section(title),
      (text:match "^[^\n]+\n\n[^\n]+"))
    assert.equal(text, lze.help "x:pending")
    assert.equal(text, lze.help " X:pending() ")
    assert.matches("`lze.work.lane%(%)`", lze.help(lze.work.lane))
    assert.equal(lze.help(lze.work.lane), lze.help "w.lane")
    assert.matches("`a:cumsum%(%[dim%]%)`", lze.help(lze.array.cumsum))
    for _, name in ipairs {"sum", "zeros", "fuse"} do
      assert.equal(lze.help(lze.array[name]), lze.help("lze.array." .. name))
    end
    -- Many names are also names of other functions.
    for name, f in pairs(lze.array) do
      if type(f) == "function" then
        assert.matches("[aA][.:]" .. name .. "%f[^%w_]", lze.help(f))
      end
    end
    for name, heading in pairs {floor = "Operations", seed = "Random numbers",
      sign = "Operations", trace = "Linear algebra"} do
      assert.equal(heading, lze.help(lze.array[name]):match "^[^\n]*")
    end
  end)

  it("has the members of an object, and its chapter", function()
    local text = lze.help(lze.buffer("int", 1))
    assert.matches("^a buffer, x in the manual:\n  x:read%(", text)
    assert.matches("\n  `x.usage` +`\"shared\"`", text)
    assert.matches("\n6%. Buffers\n\nA buffer is an array", text)
    assert.matches("^an event, ev in the manual:\n  ev:done%(%)",
      lze.help(lze.load "kernels/saxpy.spv".saxpy:launch(1, 1,
        lze.buffer("float", 1), lze.buffer("float", 1))))
    assert.matches("^2%. Arrays\n", lze.help(lze.array.zeros {2}))
    assert.matches("^E%. SPIR%-V", lze.help(lze.spirv))
    -- The same for words for objects that no function of lze makes.
    for word, wanted in pairs {event = "an event, ev in", array = "2%. Arrays",
      plan = "a plan, plan in", mpi = "13%. Several processes",
      ["lze.mpi"] = "13%. Several processes"} do
      assert.matches("^" .. wanted, (lze.help(word)))
    end
    assert.matches("^lze%.buffer%(", lze.help "buffer")
  end)

  it("has the members of a communicator and a halo", function()
    local cart <close> = require "lze.mpi".world():cart {1}
    local text = lze.help(cart)
    assert.matches("^a communicator, world in the manual:\n", text)
    assert.matches("\n  world:send%(", text)
    assert.matches("\n  cart:shift%(", text)
    assert.matches("\n13%. Several processes\n", text)
    assert.matches("^a halo, halo in the manual:\n  halo:start%(",
      lze.help(cart:halo(lze.buffer("int", 3), {shape = {3}})))
    assert.equal(lze.help "cart:halo", lze.help "world:halo")
    assert.matches("^cart:halo%(", lze.help "world:halo")
  end)

  it("lists the chapters, and shows one by its title", function()
    assert.matches("\n  6%. Buffers\n", lze.help())
    assert.equal(lze.help(), lze.help(lze))
    assert.equal(lze.help(), lze.help "")
    local text = lze.help "task graphs"
    assert.matches("^10%. Task graphs\n\nA graph is", text)
    assert.matches("\n  g:compile%(%[options%]%) %-> plan", text)
    assert.matches("^Selectors\n", lze.help "selectors")
  end)

  it("searches for a word in headings, tables and the text", function()
    local text = lze.help "group"
    assert.matches("^k:group%(range", text)
    assert.matches("\nk:launch%b() %-> event\n  `group`  `integer` or", text)
    assert.matches("\nnamed in\n", text)
    text = lze.help "close"
    for _, name in ipairs {"x:close()", "mod:close()", "p:close()"} do
      assert.is_truthy(text:find("\n  " .. name .. "\n", 1, true))
    end
    assert.matches("^D%. Environment variables\n  `LZE_GROUP`  group sizes",
      lze.help "LZE_GROUP")
    assert.matches("^'collector' is named in\n.*\n  A%. Lifetime$",
      lze.help "collector")
  end)

  it("answers words of other libraries, and says what lze does not have",
    function()
      for word, answer in pairs {tensor = "an array: chapter 2",
        ndarray = "an array: chapter 2", cuda = "lze does not call CUDA%.",
        NVIDIA = "lze does not call CUDA%.", csv = "`p:save` writes",
        inverse = "linear algebra", lapack = "`a:inv%(%)`"}
      do
        local text, known = require "lze.prompt".help(word)
        assert.is_true(known, word)
        assert.matches("Words of other libraries\n[^\n]*`" .. word:lower() ..
          "`", text)
        assert.matches(answer, (text:gsub("%s+", " ")))
      end
    end)

  it("does not report an existing function as missing", function()
    local file <close> = assert(io.open("doc/manual.md", "rb"))
    local rows = file:read "a":match
      "\n### Words of other libraries\n.-\n|%-%-%-.-\n(.-)\n\n"
    local missing = 0
    for first, rest in rows:gmatch "| ([^|]*) | ([^|]*) |" do
      if rest:find "does not have" then
        for word in first:gmatch "`([^`]+)`" do
          missing = missing + 1
          assert.is_nil(rawget(lze.array, word), word)
          assert.is_nil(rawget(lze, word), word)
        end
      end
    end
    assert.is_true(missing > 0)
  end)

  it("reports unknown words, and names similar words", function()
    assert.matches("^the manual has nothing on 'bufer'; near: a%.buffer, " ..
      "buffer, ", lze.help "bufer")
    assert.matches("^the manual has nothing on 'lze.compil'; near: .*lze%." ..
      "compile", lze.help "lze.compil")
    assert.equal("the manual has nothing on 'qwxyzz'; lze.help() lists its " ..
      "chapters", lze.help "qwxyzz")
    assert.matches("^the manual has nothing on '%%d%*'; ", lze.help "%d*")
    for _, asked in ipairs {"A.Nope", "lze.array.Nope", "Nope"} do
      assert.equal("the manual has nothing on '" .. asked .. "'; lze.help() " ..
        "lists its chapters", lze.help(" " .. asked))
    end
  end)

  it("keeps to the width of a terminal, except in code and titles", function()
    for line in lze.help "LZE_CHECK":gmatch "[^\n]+" do
      assert.is_true(#line < 80)
    end
    assert.matches("\n    local lze = require \"lze\"\n", lze.help "lze.mark")
    assert.is_nil(lze.help "lze.mark":find "```")
  end)

  it("omits pictures", function()
    local text = lze.help "p:save"
    assert.matches("as the system%s+is%.\n\nProfiles of several", text)
    assert.is_nil(text:find("A page of a profile", 1, true))
  end)

  it("refuses other values", function()
    for _, v in ipairs {3, print, {}, false, io.stdout} do
      local ok, err = pcall(lze.help, v)
      assert.is_false(ok)
      assert.matches("bad argument #1 to '[%w.]+' %(x: a function or an " ..
        "object of lze, or a word expected, got ", err)
    end
  end)
end)
