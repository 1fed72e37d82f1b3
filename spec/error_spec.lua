-- error_spec.lua - the form of errors: objects for failures, strings with a
-- position for misuse.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

local mod = lze.load "kernels/spec.spv"

describe("an error object", function()
  it("has a call, a code, a message and a place", function()
    local err = expect.failure(function() lze.load "nowhere.spv" end)
    local line = debug.getinfo(1, "l").currentline - 1
    assert.equal("lze.load", err.call)
    assert.equal("ENOENT", err.code)
    assert.equal("nowhere.spv: No such file or directory", err.message)
    assert.matches("error_spec%.lua:" .. line .. "$", err.where)
    assert.is_nil(err.log)
    assert.is_nil(err.result)
    assert.equal(err.where .. ": lze.load: ENOENT: nowhere.spv: No such " ..
      "file or directory", tostring(err))
  end)

  it("from the driver has the driver's result", function()
    local err = expect.failure(function() lze.buffer("char", 1 << 46) end)
    assert.equal("zeMemAllocShared", err.call)
    assert.matches("^ERROR_[A-Z_]+$", err.code)
    assert.is_true(err.result >= 0x70000000 and err.result <= 0x7fffffff)
    assert.equal(("%s: zeMemAllocShared: %s: %s"):format(err.where, err.code,
      err.message), tostring(err))
  end)

  it("names the object that it concerns", function()
    local err = expect.failure(function() lze.module "nonsense" end)
    assert.equal("module from a string", err.object)
    assert.equal(("%s: module from a string: %s: %s: %s"):format(err.where,
      err.call, err.code, err.message), tostring(err))
  end)

  it("ends with the log", function()
    local err = setmetatable({where = "a.lua:1", object = "kernel k",
      call = "zeModuleCreate", code = "ERROR_MODULE_BUILD_FAILURE",
      message = "no", log = "line 1\nline 2"}, debug.getmetatable(
        expect.failure(function() lze.load "nowhere.spv" end)))
    assert.equal("a.lua:1: kernel k: zeModuleCreate: " ..
      "ERROR_MODULE_BUILD_FAILURE: no\nline 1\nline 2", tostring(err))
  end)

  it("shows a build log", function()
    -- A valid module that calls a missing function.
    local bytes = lze.spirv.assemble [[
               OpCapability Addresses
               OpCapability Linkage
               OpCapability Kernel
               OpMemoryModel Physical64 OpenCL
               OpEntryPoint Kernel %main "main_kernel"
               OpDecorate %other LinkageAttributes "nobody_has_this" Import
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
      %other = OpFunction %void None %fn
               OpFunctionEnd
       %main = OpFunction %void None %fn
      %entry = OpLabel
       %call = OpFunctionCall %void %other
               OpReturn
               OpFunctionEnd]]
    local ok, err = pcall(function()
      local m = lze.module(bytes)
      m.main_kernel(1)
      lze.wait()
    end)
    assert.is_false(ok)
    assert.equal("table", type(err))
    assert.matches("^ERROR_", err.code)
    assert.matches("^ze%a+$", err.call)
    if err.log then
      assert.equal(err.log, tostring(err):sub(-#err.log))
      assert.truthy(tostring(err):find("\n" .. err.log, 1, true))
    end
    -- lze still works.
    local x = lze.buffer("int", {1})
    mod.add(1, x, 1)
    assert.equal(2, x[1])
  end)

  it("is shown unchanged by lua5.4", function()
    local r = process.run 'require "lze".load "nowhere.spv"'
    assert.equal("exit 1", r.how .. " " .. r.code)
    assert.truthy(r.output:find("stdin:1: lze.load: ENOENT: nowhere.spv: " ..
      "No such file or directory\n", 1, true), r.output)
  end)

  it("has the place of the calling Lua function", function()
    local function inner() lze.load "nowhere.spv" end
    local line = debug.getinfo(inner, "S").linedefined
    local err = expect.failure(function() inner() end)
    assert.matches(":" .. line .. "$", err.where)
    -- Also through pcall, which is written in C.
    line = debug.getinfo(1, "l").currentline + 1
    local ok, direct = pcall(lze.load, "nowhere.spv")
    assert.is_false(ok)
    assert.matches("error_spec%.lua:" .. line .. "$", direct.where)
    assert.equal(direct.where .. ": lze.load: ENOENT: nowhere.spv: No such "
      .. "file or directory", tostring(direct))
  end)
end)

describe("misuse", function()
  it("is a string with the position", function()
    local x = lze.buffer("int", 3)
    for _, f in ipairs {
      function() x[4] = 1 end,
      function() x:read(0) end,
      function() return x.nothing end,
      function() mod.add(1, x) end,
      function() mod.add(1, 2, 3) end,
      function() lze.buffer("int", {1}, {zero = 1}) end,
      function() lze.device "abacus" end,
      function() lze.local_bytes(-1) end,
    } do
      local line = debug.getinfo(f, "S").linedefined
      local ok, err = pcall(f)
      assert.is_false(ok)
      assert.equal("string", type(err))
      assert.matches("error_spec%.lua:" .. line .. ": ", err)
    end
  end)

  it("of a kernel names it, the argument and both types", function()
    local x = lze.buffer("float", 3)
    assert.equal("kernel add: argument 1 (x): int* expected, got buffer of " ..
      "float", expect.misuse(function() mod.add(1, x, 3) end))
    assert.equal(mod.add.args[1].name, "x")
  end)

  it("describes the given value", function()
    local function got(v)
      return expect.misuse(function() lze.device().context.x = v end),
        expect.misuse(function() mod.square(1, v, v) end):match "got (.*)$"
    end
    local function is(expected, v)
      local _, text = got(v)
      assert.equal(expected, text)
    end
    is("integer 5", 5)
    is("number 5.5", 5.5)
    is("number 5.0", 5.0)
    is("number 1e+300", 1e300)
    is("string 'abc'", "abc")
    is("string ''", "")
    is("a string of 1000 bytes", ("x"):rep(1000))
    is("a string of 3 bytes", "a\0b")
    is("a string of 1 bytes", "\n")
    is("boolean", true)
    is("table", {})
    is("function", print)
    is("thread", coroutine.create(print))
    is("FILE*", io.stdout)
    is("lze.kernel", mod.add)
    is("lze.event", mod.nothing:launch(1))
  end)

  it("of a closed object names the field or method that was used", function()
    local x, m, q = lze.buffer("int", 4), lze.load "kernels/spec.spv",
      lze.queue()
    local ev, ctx = m.nothing:launch(1), lze.context(lze.device())
    for _, o in ipairs {x, m, q, ev, ctx} do o:close() end
    local function is(message, f) assert.equal(message, expect.misuse(f)) end
    is("field 'bytes': the buffer is closed", function() return x.bytes end)
    is("index 2: the buffer is closed", function() return x[2] end)
    is("index 2: the buffer is closed", function() x[2] = 1 end)
    is("#: the buffer is closed", function() return #x end)
    is("field 'add': the module is closed", function() return m.add end)
    is("field 'mode': the queue is closed", function() return q.mode end)
    is("field 'command': the event is closed", function() return ev.command end)
    is("field 'driver': the context is closed",
      function() return ctx.driver end)
    is("calling 'read' on bad self (the buffer is closed)",
      function() return x:read() end)
  end)

  it("includes a method called without its object", function()
    local x = lze.buffer("int", 1)
    for _, call in ipairs {
      {x.read}, {x.write}, {x.string}, {x.fill}, {x.copy}, {x.view},
      {x.pending}, {x.close}, {mod.add.launch}, {mod.add.group},
      {mod.add.close}, {mod.kernels}, {mod.close},
      {lze.device().subdevices}, {lze.device().queue.wait},
      {mod.nothing:launch(1).wait},
    } do
      for _, self in ipairs {1, "x", {}, io.stdout} do
        local ok, err = pcall(call[1], self)
        assert.is_false(ok)
        assert.equal("string", type(err))
        assert.matches("expected, got ", err)
      end
      assert.is_false(pcall(call[1]))
    end
  end)

  it("of a metamethod does no harm", function()
    local x = lze.buffer("int", {1})
    for _, o in ipairs {x, mod, mod.add, mod.nothing:launch(1), lze.device(),
                        lze.device().queue, lze.device().context,
                        lze.device().driver, lze.local_bytes(1)} do
      local mt = debug.getmetatable(o)
      for name, f in pairs(mt) do
        if type(f) == "function" then
          for _, v in ipairs {1, "x", {}, io.stdout} do
            pcall(f, v)
            pcall(f, v, v)
            pcall(f, v, v, v)
          end
          pcall(f)
          assert.is_string(name)
        end
      end
    end
    collectgarbage()
    assert.equal(1, x[1])
  end)

  it("of a metamethod of another type does no harm", function()
    local objects = {lze.buffer("int", {1}), lze.load "kernels/saxpy.spv",
                     mod.nothing:launch(1), lze.queue(), lze.device(),
                     lze.local_bytes(1)}
    for _, a in ipairs(objects) do
      for _, b in ipairs(objects) do
        if a ~= b then
          for _, f in pairs(debug.getmetatable(a)) do
            if type(f) == "function" then
              assert.is_false(pcall(f, b, {}))
            end
          end
        end
      end
    end
    assert.equal(1, objects[1][1])
  end)
end)
