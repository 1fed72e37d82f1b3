-- embed_spec.lua - the programs that embed lze, and modules that use lze.h
-- without linking to it.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local build = os.getenv "LZE_TEST_BUILD"

-- Returns the output of a program, which must succeed. `env` precedes the
-- command.
local function run(command, env)
  -- A small quarantine: memory that a sanitizer retains is not a leak.
  local pipe = assert(io.popen((
    "ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=1 %s " ..
    "timeout 120 '%s'/examples/embed/%s 2>&1")
    :format(env or "", build, command)))
  local output = pipe:read "a"
  local _, how, code = pipe:close()
  assert.equal("exit 0", how .. " " .. code, output)
  return output
end

describe("the program", function()
  for command, printed in pairs {
    ["frame_loop 60"] = "frame_loop: 60 frames of 4096 particles, " ..
      "the first is at 105\n",
    ["server 400"] = "server: 400 requests served by 4 threads\n",
    ["lend"] = "lend: 100000 results read where they lie\n",
    ["plugins 1000"] = "plugins: 1000 states, grown by %-?%d+ KB since .*\n",
  } do
    it(command .. " runs", function()
      assert.matches("^" .. printed .. "$", run(command))
    end)
  end
end)

-- Runs with a driver that forwards to ours and counts. Nothing may leak.
describe("the memory of a host program", function()
  for _, command in ipairs {"lend", "frame_loop 60", "server 40"} do
    it("is never copied: " .. command, function()
      process.with_directory(function(directory)
        local report = directory .. "/report"
        run(command, ("ZE_ENABLE_ALT_DRIVERS='%s'/spec/ze_fault.so " ..
          "ZE_FAULT_DRIVER='%s'/libze_opencl.so ZE_FAULT_REPORT='%s'"):format(
            build, build, report))
        local text = {}
        for line in io.lines(report) do text[#text + 1] = line end
        text = table.concat(text, "\n")
        assert.matches("copies: 0 copies, 0 bytes", text)
        for kind, live in text:gmatch "\n(%l+): [^\n]- (%d+) live" do
          assert.equal("0", live, kind)
        end
      end)
    end)
  end
end)

describe("a module that is not linked with lze", function()
  local library = build .. "/spec/native.so"
  local native = assert(package.loadlib(library, "luaopen_native"))()

  it("finds the table of functions in the registry", function()
    local x = lze.buffer("int", {1, 2, 3})
    lze.load "kernels/spec.spv".square(3, x, x)
    assert.equal(14, native.sum(x))
    assert.matches("buffer expected, got integer 5",
      expect.misuse(function() native.sum(5) end))
  end)

  it("fails before lze is opened", function()
    assert.matches("lze has not been opened", process.output(([[
      local native = package.loadlib(%q, "luaopen_native")()
      print(pcall(native.sum, 1))]]):format(library)))
  end)
end)
