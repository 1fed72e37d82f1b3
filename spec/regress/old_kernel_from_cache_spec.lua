-- old_kernel_from_cache_spec.lua - if a file included by anything but a plain
-- #include changed, the cache still returned the old kernel.  Numbers in
-- `defines` lost digits and, in some locales, their decimal point.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"

local function write(path, text)
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
end

local function answer(source, options)
  local y = lze.buffer("int", 1)
  lze.compile(source, options):kernel "f"(1, y)
  return y[1]
end

local kernel = "\nkernel void f(global int *y) { *y = VALUE; }"

describe("a file that changes between compilations", function()
  local ways = {
    ["-include"] = {"", {"-include", "%s/v.h"}},
    ["-imacros"] = {"", {"-imacros", "%s/v.h"}},
    ["a response file"] = {"", {"@%s/options"}},
    ["#import"] = {"#import <v.h>"},
    ["%:include"] = {"%:include <v.h>"},
    ["a comment"] = {"# /* \n */ include <v.h>"},
    ["a spliced line"] = {"#inc\\\nlude <v.h>"},
    ["a spliced line with blanks"] = {"#inc\\ \nlude <v.h>"},
    ["a trigraph"] = {"??=include <v.h>", {"-trigraphs"}},
    ["include_next"] = {"#include_next <v.h>"},
  }
  for name, way in pairs(ways) do
    it("is read again: " .. name, function()
      process.with_directory(function(dir)
        local flags = {}
        for i, flag in ipairs(way[2] or {}) do
          flags[i] = (flag:gsub("%%s", dir))
        end
        for value = 1, 2 do
          write(dir .. "/v.h", "#define VALUE " .. value .. "\n")
          write(dir .. "/options", "-DVALUE=" .. value .. "\n")
          assert.equal(value, answer(way[1] .. kernel,
            {include = {dir}, flags = flags}))
        end
      end)
    end)
  end

  it("is looked for again by __has_include", function()
    process.with_directory(function(dir)
      local source = "#if __has_include(<v.h>)\n#define VALUE 2\n#else\n" ..
        "#define VALUE 1\n#endif" .. kernel
      assert.equal(1, answer(source, {include = {dir}}))
      write(dir .. "/v.h", "")
      assert.equal(2, answer(source, {include = {dir}}))
    end)
  end)

  it("is not looked for if the source includes nothing", function()
    -- Compiles a kernel twice; returns its results and the numbers of cache
    -- entries.  Its cache is separate, as other specs add to the shared one.
    local function twice(text)
      local output
      process.with_directory(function(dir)
        output = process.output(([[
          local lze = require "lze"
          local source = "#define VALUE 7 // %s \\\n 8\n" ..
            "kernel void f(global int *y) { *y = VALUE; }"
          for _ = 1, 2 do
            local y = lze.buffer("int", 1)
            lze.compile(source, {flags = {"-cl-mad-enable"}}).f(1, y)
            print(y[1], lze.cache().entries)
          end]]):format(text), {env = {XDG_CACHE_HOME = dir}})
      end)
      return output
    end
    local plain = twice "some, words"
    local entries = plain:match "^7\t(%d+)\n"
    assert.equal(("7\t%s\n"):rep(2):format(entries, entries), plain)
    assert.equal(plain, twice "import, include")
  end)
end)

describe("a number in defines", function()
  local source = [[kernel void f(global double *y, global long *n) {
    *y = X; *n = N; }]]
  for _, x in ipairs {math.pi, 2.5, 0.1, 2.0^53 + 2, -1e300, 5e-324, 3.0,
                      math.huge} do
    it("is exact: " .. ("%.17g"):format(x), function()
      local y, n = lze.buffer("double", 1), lze.buffer("long", 1)
      lze.compile(source, {defines = {X = x, N = 2^53 // 1 | 0}})
        :kernel "f"(1, y, n)
      assert.equal(x, y[1])
      assert.equal(1 << 53, n[1])
    end)
  end

  it("has a decimal point even if the locale has a decimal comma", function()
    process.with_directory(function(dir)
      local made = os.execute(("exec >'%s/log' 2>&1; localedef -c -i de_DE " ..
        "-f UTF-8 '%s/de_DE.UTF-8'"):format(dir, dir))
      if not made then pending "no localedef, or nothing to make one from" end
      assert.equal("2.5\n", process.output([[
        local lze = require "lze"
        assert(os.setlocale "de_DE.UTF-8" and tostring(0.5) == "0,5")
        local y = lze.buffer("double", 1)
        lze.compile("kernel void f(global double *y) { *y = X; }",
          {defines = {X = 2.5}}):kernel "f"(1, y)
        os.setlocale "C"
        print(y[1])]], {env = {LOCPATH = dir}}))
    end)
  end)
end)
