-- ipc_spec.lua - buffers shared between processes. Events and damaged driver
-- handles are in spec/driver/ipc_test.c.
-- SPDX-License-Identifier: MIT

local expect = require "spec.support.expect"
local process = require "spec.support.process"
local lze = require "lze"

-- Returns the output of a Lua program in another process. The program can use
-- `token`, and `runner`, the command that runs a script file.
local function other(program, token)
  return process.output(("local lze = require 'lze'\nlocal token = %q\n" ..
    "local runner = %q\n"):format(token or "", process.runner) .. program)
end

-- If the driver cannot share memory, only the error message is tested.
local can, why = pcall(function()
  return lze.buffer("int", 1):export "process"
end)
if not can then
  describe("x:export 'process'", function()
    it("reports that the driver cannot share memory", function()
      assert.equal("ERROR_UNSUPPORTED_FEATURE", why.code)
      assert.equal("zeMemGetIpcHandle", why.call)
      assert.matches("cannot share this memory with other processes",
        why.message)
    end)
  end)
  return
end

describe("x:export 'process'", function()
  it("returns a string that opens the buffer in another process", function()
    for _, usage in ipairs {"shared", "device", "host"} do
      local x = lze.buffer("int", {1, 2, 3}, {usage = usage})
      local token = x:export "process"
      assert.matches("^lze%-%x+$", token)
      assert.equal("1 2 3\tint\t" .. usage .. "\ttrue\n", other([[
        local x = lze.import(token)
        print(table.concat(x:read(), " "), x.type, x.usage,
          x.device == lze.device())
        lze.load "kernels/spec.spv".square(#x, x, x)
        lze.wait()
      ]], token))
      assert.same({1, 4, 9}, x:read())
    end
  end)

  it("covers the elements of a view", function()
    local x = lze.buffer("float4", 1000)
    x[999] = {1, 2, 3, 4}
    assert.equal("8\t2.0\tfloat\n", other([[
      local y = lze.import(token)
      print(#y, y[2], y.type)
      y[8] = 5
    ]], x:view(999, 1000, "float"):export "process"))
    assert.same({0, 0, 0, 5}, {table.unpack(x[1000])})
  end)

  it("returns a token that is invalid after its process has ended", function()
    local out = other [[
      local x = lze.buffer("int", {7, 8})
      print(x:export "process")
    ]]
    -- The process has ended, and its memory is freed because nobody opened it.
    local token = out:match "lze%-%x+"
    assert.is_string(token)
    local err = expect.failure(function() lze.import(token) end)
    assert.equal("zeMemOpenIpcHandle", err.call)
    assert.equal("ERROR_INVALID_ARGUMENT", err.code)
    assert.matches("has not, or no longer, what the handle is of", err.message)
  end)

  it("keeps an opened buffer when its creator closes it", function()
    local x = lze.buffer("int", {1, 2}, {usage = "device"})
    local token = x:export "process"
    local go, script = os.tmpname(), os.tmpname()
    os.remove(go)
    process.write(script, ([[
      local lze = require "lze"
      local x = lze.import "%s"
      io.stdout:write "open\n"
      io.stdout:flush()
      repeat local f = io.open("%s") until f
      x:fill(9)
      print(table.concat(x:read(), " "))
    ]]):format(token, go))
    local pipe = assert(io.popen(process.runner .. " " .. script))
    assert.equal("open", pipe:read())
    x:close()
    collectgarbage()
    -- A new allocation of the same size must not reuse the memory.
    local y <close> = lze.buffer("int", {3, 4}, {usage = "device"})
    assert(io.open(go, "w")):close()
    assert.equal("9 9", pipe:read())
    assert.is_true(pipe:close())
    assert.same({3, 4}, y:read())
    os.remove(go)
    os.remove(script)
  end)

  it("maps a buffer once if it is imported twice, and unmaps it later",
    function()
    local x = lze.buffer("int", 1 << 20)
    x:fill(1)
    assert.equal("true\ttrue\t2\t0\n", other([[
      local before = lze.stats().bytes
      local a, b = lze.import(token), lze.import(token)
      print(a.pointer == b.pointer, (pcall(function()
        lze.load "kernels/spec.spv".square(#a, a, a)
        a:fill(2)
        assert(b:pending() or b[1] == 2)
      end)), b[1 << 20], lze.stats().bytes - before)
      a:close()
      assert(b[1] == 2 and not pcall(function() return a[1] end))
      b = nil
      collectgarbage() collectgarbage()
      for i = 1, 100 do
        local c = lze.import(token)
        assert(c[i] == 2)
        if i % 2 == 0 then c:close() end
      end
      collectgarbage() collectgarbage()
      local f = assert(io.open "/proc/self/maps")
      local _, n = f:read "a":gsub("memfd:lze", "")
      assert(n == 0, n)
    ]], x:export "process"))
    assert.equal(2, x[1])
  end)

  it("can be passed on", function()
    local x = lze.buffer("int", {4})
    assert.equal("50\n", other([[
      local y = lze.import(token)
      local z = lze.import(y:export()) -- within that process
      z[1] = z[1] + 1
      local path = os.tmpname()
      local f = assert(io.open(path, "w"))
      f:write("local x = require 'lze'.import '", y:export "process", "' ",
        "x[1] = x[1] * 10")
      f:close()
      assert(os.execute(runner .. " " .. path))
      os.remove(path)
      print(y[1])
    ]], x:export "process"))
    assert.equal(50, x[1])
  end)

  it("opens the buffer in the given context or device", function()
    local x = lze.buffer("int", {4, 5})
    assert.equal("true\ttrue\tfalse\n", other([[
      local c = lze.context(lze.device())
      local x = lze.import(token, {context = c})
      local y = lze.import(token, {device = 1})
      local ok, e = pcall(lze.import, token, {contex = c})
      assert(e:find "'contex'" and e:find "context, device", e)
      print(x.context == c, y.device == lze.device(1), ok)
      c:close()
      assert(not pcall(function() return x[1] end) and y[2] == 5)
      ok, e = pcall(lze.import, token, {context = c})
      assert(not ok and e:find "closed", e)
    ]], x:export "process"))
  end)

  it("opens the buffer on the device of a wrapped default context", function()
    local x = lze.buffer("int", {4, 5}, {usage = "device"})
    assert.equal("true\t5\n", other(([[
      local native = assert(package.loadlib(%q, "luaopen_native"))()
      local system = lze.device()
      local context = native.context(system.driver.handle)
      local d = lze.wrap {device = system, context = context}
      lze.default(d)
      local x = lze.import(token)
      print(x.device == d, lze.buffer("int", 2):copy(x)[2])
      lze.load("kernels/spec.spv", {device = d}).square(2, x, x)
      lze.wait()
      d.context:close()
      native.context_destroy(context)
    ]]):format(os.getenv "LZE_TEST_BUILD" .. "/spec/native.so"),
      x:export "process"))
    assert.same({16, 25}, x:read())
  end)

  it("refuses an invalid token", function()
    local x = lze.buffer("int", {4, 5})
    local token = x:export "process"
    assert.matches("the token is of this process, for which x:export%(%)",
      expect.misuse(function() lze.import(token) end))
    local function refused(text)
      assert.matches("that is not a token of x:export \"process\", or not all",
        expect.misuse(function() lze.import(text) end))
    end
    refused ""
    refused "12"
    refused(token:sub(1, -2))
    refused(token .. "0")
    refused("x" .. token:sub(2))
    refused("lze-" .. ("0"):rep(#token - 4))
    for at = 5, #token, 7 do
      local digit = token:sub(at, at) == "7" and "8" or "7"
      refused(token:sub(1, at - 1) .. digit .. token:sub(at + 1))
    end
    assert.matches("state or process expected, got string 'proces'",
      expect.misuse(function() x:export "proces" end))
    assert.matches("state or process expected, got integer 1",
      expect.misuse(function() x:export(1) end))
    assert.matches("an empty buffer has no memory",
      expect.misuse(function() lze.buffer("int", 0):export "process" end))
    local own = x:export()
    assert.matches("no options",
      expect.misuse(function() lze.import(own, {}) end))
    lze.import(own):close() -- or it would be kept forever
    x:close()
    assert.matches("the buffer is closed",
      expect.misuse(function() x:export "process" end))
  end)

  it("first computes pending expressions that read the buffer", function()
    local a = lze.array("int", {1, 2, 3})
    local b = a + 1
    other("lze.import(token):fill(100) lze.wait()", a.buffer:export "process")
    assert.same({2, 3, 4}, b:table())
  end)

  it("waits for pending work", function()
    local x = lze.buffer("uint", 1)
    local ev = lze.load "kernels/spec.spv".spin:launch(1, x, 50000000)
    local token = x:export "process"
    assert.is_true(ev:done())
    assert.equal(x[1] .. "\n", other("print(lze.import(token)[1])", token))
  end)
end)
