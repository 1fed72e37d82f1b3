-- loader_spec.lua - the search for the Level Zero loader, and the error if it
-- is not found.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local first_use = [[
  local lze = require "lze"
  print(lze._VERSION, lze.type(1))
  for _ = 1, 2 do
    local ok, err = pcall(function() return lze.devices() end)
    if ok then
      print("devices", #err)
    else
      print(err.call, err.code, err.result, err.where)
      print(err)
    end
  end]]

describe("lze without a loader", function()
  -- Shadows the loader with a file that is not a library.
  local function run(script, contents)
    local out
    process.with_directory(function(dir)
      process.write(dir .. "/libze_loader.so.1", contents)
      out = process.output(script, {env = {LD_LIBRARY_PATH = dir}})
    end)
    return out
  end

  it("can be required, and says at first use what to install",
    function()
      local version = require "lze"._VERSION
      local line = "libze_loader.so.1\tNOT_FOUND\tnil\tstdin:4\n" ..
        "stdin:4: libze_loader.so.1: NOT_FOUND: install the Level Zero " ..
        "loader (Debian: apt install libze1)\n"
      assert.equal(version .. "\tnil\n" .. line .. line,
        run(first_use, "nonsense"))
      assert.equal(version .. "\tnil\n" .. line .. line, run(first_use, ""))
    end)

  it("raises the same error from every function that needs a driver", function()
    local out = run([[
      local lze = require "lze"
      local calls = {
        buffer = function() lze.buffer("int", 1) end,
        device = function() lze.device() end,
        drivers = function() lze.drivers() end,
        load = function() lze.load "kernels/spec.spv" end,
        queue = function() lze.queue() end,
      }
      for name, f in pairs(calls) do
        local ok, err = pcall(f)
        if ok or err.code ~= "NOT_FOUND" then print(name, err) end
      end
      print(lze.wait())]], "nonsense")
    assert.equal("true\n", out)
  end)

  it("reports the problem in lze.info(), too", function()
    assert.matches("^lze %d[%d.]*\nproblem: libze_loader.so.1: NOT_FOUND: " ..
      "install the Level Zero loader %(Debian: apt install libze1%)\n",
      run([[io.write(require "lze".info())]], "nonsense"))
  end)
end)

describe("lze without a driver", function()
  it("reports at every use that no driver initialised", function()
    local out = process.output(first_use,
      {env = {ZE_ENABLE_ALT_DRIVERS = "/proc/none/libze_nothing.so"}})
    local lines = {}
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    for i = 2, #lines, 3 do
      assert.matches("^zeInit\tERROR_UNINITIALIZED\t2013265921\tstdin:4$",
        lines[i])
      assert.equal("stdin:4: zeInit: ERROR_UNINITIALIZED: no Level Zero " ..
        "driver initialised: install one for your device, or an OpenCL for " ..
        "the software driver (Debian: apt install pocl-opencl-icd)",
        lines[i + 1])
      assert.equal("the drivers are those of ZE_ENABLE_ALT_DRIVERS=" ..
        "/proc/none/libze_nothing.so", lines[i + 2])
    end
    assert.equal(7, #lines)
  end)

  it("accepts an empty entry in the list of drivers", function()
    for _, value in ipairs {",", "/proc/none/libze_nothing.so,"} do
      local r = process.run(first_use, {env = {ZE_ENABLE_ALT_DRIVERS = value}})
      assert.equal("exit 0", r.how .. " " .. r.code, r.output)
    end
  end)
end)

describe("LZE_SOFTWARE", function()
  it("excludes the software driver if it is 0", function()
    local out = process.output([[
      local lze = require "lze"
      local ok, found = pcall(lze.devices)
      if ok then
        for _, d in ipairs(found) do if d.software then print(d) end end
      elseif found.code ~= "ERROR_UNINITIALIZED" or
        not tostring(found):find("kept out by LZE_SOFTWARE=0", 1, true) then
        print(found)
      end
      print "end"]], {env = {LZE_SOFTWARE = "0"}})
    assert.equal("end\n", out)
  end)

  it("keeps the software driver if it is 1 or empty", function()
    local count = #require "lze".devices()
    for _, value in ipairs {"1", ""} do
      assert.equal(count .. "\n", process.output(
        "print(#require 'lze'.devices())", {env = {LZE_SOFTWARE = value}}))
    end
  end)
end)

describe("a variable of the whole process", function()
  it("must have a known value", function()
    for name, known in pairs {LZE_SOFTWARE = "0 or 1", LZE_CACHE = "off or on"}
    do
      assert.equal(("stdin:1: %s=no: %s expected\n"):format(name, known),
        process.output("print(select(2, pcall(function() " ..
          "return require 'lze'.devices() end)))", {env = {[name] = "no"}}))
    end
  end)
end)

describe("the environment", function()
  it("is unchanged after first use, except for variables that PoCL 7 needs",
    function()
    local out = process.output [[
      local function environment()
        local pipe = io.popen("env | grep -v -e POCL_PREGION_ " ..
          "-e POCL_FORCE_ | sort", "r")
        local text = pipe:read "a"
        pipe:close()
        return text
      end
      local before = environment()
      local lze = require "lze"
      lze.devices()
      print(os.getenv "ZE_ENABLE_ALT_DRIVERS", environment() == before)]]
    assert.equal("nil\ttrue\n", out)
  end)

  it("may have an empty variable of drivers, which has no effect",
    function()
      assert.equal(#require "lze".devices() .. "\t\n", process.output(
        "print(#require 'lze'.devices(), os.getenv 'ZE_ENABLE_ALT_DRIVERS')",
        {env = {ZE_ENABLE_ALT_DRIVERS = ""}}))
    end)

  it("keeps the user's choice of drivers", function()
    local path = assert(package.searchpath("lze", package.cpath))
      :gsub("lze%.so$", "libze_opencl.so")
    local out = process.output([[
      local lze = require "lze"
      print(#lze.devices(), os.getenv "ZE_ENABLE_ALT_DRIVERS")
      print(lze.info():match "ZE_ENABLE_ALT_DRIVERS=[^\n]*")]],
      {env = {ZE_ENABLE_ALT_DRIVERS = path}})
    assert.equal(("1\t%s\nZE_ENABLE_ALT_DRIVERS=%s\n"):format(path, path), out)
  end)
end)
