-- debugging_spec.lua - LZE_SYNC, LZE_CHECK and LZE_LOG.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

describe("LZE_SYNC=1", function()
  it("waits after each launch", function()
    assert.equal("true\ttrue\n", process.output([[
      local lze = require "lze"
      local mod = lze.load "kernels/spec.spv"
      local x = lze.buffer("uint", 1)
      local ev = mod.spin:launch(1, x, 20000000)
      print(ev:done(), not x:pending())]], {env = {LZE_SYNC = "1"}}))
  end)

  it("does not wait if it is 0 or empty", function()
    for _, value in ipairs {"0", ""} do
      assert.equal("false\n", process.output([[
        local lze = require "lze"
        local mod = lze.load "kernels/spec.spv"
        local x = lze.buffer("uint", 1)
        print(mod.spin:launch(1, x, 50000000):done())]],
        {env = {LZE_SYNC = value}}))
    end
  end)
end)

-- Without a guard for the access, a range beyond a buffer is refused.
local add = [[kernel void add(global int *x, int n) {
  if (n != 0) x[get_global_id(0)] += n; }]]

describe("LZE_CHECK=1", function()
  it("reports the launch that wrote to another buffer's guard", function()
    local out = process.output([[
      local lze = require "lze"
      local poke = lze.compile(os.getenv "POKE").poke
      local x, y = lze.buffer("int", 4), lze.buffer("int", 5)
      print(pcall(function() poke(1, x, (y.pointer - x.pointer) // 4 + 5) end))
      print(pcall(function() poke(1, y, 0) end))
      print(y[1])]], {env = {LZE_CHECK = "1", POKE = [[
        kernel void poke(global int *x, long i) { x[i] = 7; }]]}})
    assert.equal("false\tstdin:4: kernel poke: memory of others was " ..
      "written, 0 bytes after its end of a buffer of 20 bytes that it was " ..
      "not given\ntrue\n7\n", out)
  end)

  it("names the argument beyond whose view a kernel wrote", function()
    local out = process.output([[
      local lze = require "lze"
      local poke = lze.compile(os.getenv "POKE").poke
      local x = lze.buffer("int", {1, 2, 3, 4, 5, 6, 7, 8})
      local q <close> = lze.queue(nil, {order = "out"})
      for _, i in ipairs {-2, -1, 0, 1, 2, 4} do
        q:fill(x:view(7, 7), 70)
        print(i, pcall(poke, 1, x:view(3, 4), i, x:view(6, 6)))
      end
      print(pcall(poke, {1, uses = {x:view(7, 8)}}, x:view(3, 4), 5,
        x:view(6, 6)))
      print(pcall(poke, {1, uses = x}, x:view(3, 4), 2, x))
      print(table.concat(x:read(), " "))]],
      {env = {LZE_CHECK = "1", POKE = [[
        kernel void poke(global int *x, long i, global int *y) {
          y[0] = 1; if (i != 99) x[i] = 7; }]]}})
    local wrote = "\tfalse\tkernel poke: argument %d (%s): memory outside " ..
      "the view was written, %d bytes %s\n"
    assert.equal("-2" .. wrote:format(1, "x", 8, "before its start") ..
      "-1" .. wrote:format(1, "x", 4, "before its start") ..
      "0\ttrue\n1\ttrue\n" ..
      "2" .. wrote:format(1, "x", 0, "after its end") ..
      "4" .. wrote:format(3, "y", 0, "after its end") ..
      "true\ntrue\n1 7 7 7 7 1 7 7\n",
      (out:gsub("stdin:%d+: ", "")))
  end)

  it("names the kernel and the buffer beyond which it wrote", function()
    local out = process.output([[
      local lze = require "lze"
      local mod = {add = lze.compile(os.getenv "ADD").add}
      for _, usage in ipairs {"shared", "host", "device"} do
        local x = lze.buffer("int", {1, 2, 3, 4}, {usage = usage})
        print(pcall(function() mod.add(4, x, 1) end))
        print(table.concat(x:read(), " "))
        print(pcall(function() mod.add(5, x, 1) end))
        print(pcall(function() mod.add({1, offset = 7}, x, 1) end))
        print(table.concat(x:read(), " "))
      end
      local address = lze.buffer("ulong", 1)
      local out = lze.buffer("int", 2)
      lze.load "kernels/spec.spv".indirect({1, uses = {out}},
        address:write {out.pointer}, out)
      print(out[1])]], {env = {LZE_CHECK = "1", ADD = add}})
    local one = "true\n2 3 4 5\nfalse\tstdin:%d: kernel add: argument 1 " ..
      "(x): memory outside the buffer was written, 0 bytes after its end\n"
    local head = one:format(7)
    for block = 1, 3 do
      assert.equal(head, out:sub(1, #head), block)
      out = out:sub(#head + 1)
      assert.matches("^false\tstdin:8: kernel add: argument 1 %(x%): memory " ..
        "outside the buffer was written, %d+ bytes after its end\n3 4 5 6\n",
        out)
      out = out:gsub("^[^\n]*\n[^\n]*\n", "")
    end
    assert.equal("0\n", out)
  end)

  it("also checks before a buffer", function()
    assert.equal("stdin:5: kernel before: argument 1 (x): memory outside " ..
      "the buffer was written, 4 bytes before its start\n", process.output([[
        local lze = require "lze"
        local mod = lze.compile "kernel void before(global int *x) {x[-1] = 7;}"
        local x = lze.buffer("int", 4)
        print(select(2, pcall(function()
          mod.before(1, x) end)))]], {env = {LZE_CHECK = "1"}}))
  end)

  it("checks after runs of plans, and names the tasks", function()
    local out = process.output([[
      local lze = require "lze"
      local mod = {add = lze.compile(os.getenv "ADD").add}
      local x, y = lze.buffer("int", 4), lze.buffer("int", 4)
      local plan = lze.graph "g":task("y", mod.add, 4, y, 1)
        :task("a", mod.add, 4, x, 1):task("b", mod.add, 4, x, 1):compile()
      for _ = 1, 3 do plan:run() end
      plan:set("b", 0, 5)
      for _ = 1, 3 do print(pcall(plan.run, plan)) end
      print(pcall(plan.start, plan))
      plan:set("b", 0, 4):run()
      mod.add(4, x, 1)
      print(x[4], y[4])
      plan = lze.graph "h":task("c", mod.add, 5, x, 1)
        :call("f", function() end):compile()
      print(pcall(plan.run, plan))]], {env = {LZE_CHECK = "1", ADD = add}})
    local one = "false\tgraph %s: memory outside a buffer was written, " ..
      "0 bytes after its end; what writes to it: %s\n"
    assert.equal(one:format("g", "g.a, g.b"):rep(4) .. "17\t8\n" ..
      one:format("h", "h.c"), out)
  end)

  it("names the tasks of the run, and tasks that write transient buffers",
    function()
      local out = process.output([[
        local lze = require "lze"
        local mod = {add = lze.compile(os.getenv "ADD").add}
        local a, b = lze.buffer("int", 8), lze.buffer("int", 8)
        local plan = lze.graph "g":task("over", mod.add, 9, b, 1)
          :task("in", mod.add, 8, a, 1):swap(a, b):compile()
        for _ = 1, 3 do print(pcall(plan.run, plan)) end
        local g = lze.graph "h"
        local t = g:buffer("int", 8)
        plan = g:fill("f", t, 1):task("in", mod.add, 8, a, 1)
          :task("over", mod.add, 20, t, 1):copy("c", b, t):compile()
        print(pcall(plan.run, plan))]], {env = {LZE_CHECK = "1", ADD = add}})
      local one = "false\tgraph %s: memory outside a buffer was written, " ..
        "0 bytes after its end; what writes to it: %s.over\n"
      assert.equal(one:format("g", "g"):rep(3),
        out:match "^(.*\n)false\tgraph h")
      assert.matches("what writes to it: h.over\n$", out)
    end)

  it("refuses nil for a pointer that a kernel follows without checking",
    function()
      -- Mesa's llvmpipe reads what all work-items would read, even if no
      -- work-item reads it.
      if process.run([[
          local k = require "lze".compile [=[
            kernel void k(global int *x, global int *y) {
              if (x) y[0] = x[0];
            }]=].k
          k(1, nil, require "lze".buffer("int", 1))
          require "lze".wait()]]).how == "signal" then
        return pending "the device reads through pointers before it looks"
      end
      local refused = "stdin:2: kernel follow: argument 1 (x): nil, a null " ..
        "pointer, which the kernel follows (LZE_CHECK=1)\n"
      assert.equal((refused:rep(2) .. "7 8\n"),
        process.output([[
          local lze = require "lze"; local function misuse(f, ...)
            return select(2, pcall(function(...) f(...) end, ...)) end
          local mod = lze.compile [=[
            kernel void follow(global int *x) { x[0]++; }]=]
          print(misuse(mod.follow, 1, nil))
          mod = lze.compile [=[
            int there(global int *x) { return x != 0; }
            kernel void follow(global int *x) { x[0]++; }
            kernel void look(global int *x, global int *y) {
              if (there(x)) y[0] = x[0];
              else y[0] = 7;
              y[1] = 8;
            }]=]
          print(misuse(mod.follow, 1, nil))
          local y = lze.buffer("int", 2)
          mod.look(1, nil, y)
          print(y[1], y[2])]], {env = {LZE_CHECK = "1"}}):gsub("\t", " "))
    end)
end)

describe("LZE_LOG=calls", function()
  it("prints calls and their results on standard error", function()
    local script = [[
      local lze = require "lze"
      local x <close> = lze.buffer("int", {1})
      lze.load "kernels/spec.spv".add(1, x, 1)
      print(x[1]) ]]
    local quiet = process.output(script)
    assert.equal("2\n", quiet)
    local out = process.output(script, {env = {LZE_LOG = "calls"}})
    for _, call in ipairs {"zeInit", "zeMemAllocShared", "zeModuleCreate",
                           "zeKernelCreate", "zeKernelSetGroupSize",
                           "zeCommandListAppendLaunchKernel", "zeMemFree"} do
      assert.matches("\nlze: [^\n]* us " .. call .. " SUCCESS\n", "\n" .. out)
    end
    assert.equal("2\n", process.output(script, {
      env = {LZE_LOG = "calls"}, before = "exec 2>/dev/null"}))
  end)

  it("is a list of words, and unknown words are errors", function()
    local script = [[
      local ok, err = pcall(require "lze".buffer, "int", {7})
      print(ok and err[1] or err)
      print(require "lze".info():match "problem: [^\n]*")]]
    local out = process.output(script, {env = {LZE_LOG = "calls,"}})
    assert.matches("zeMemAllocShared SUCCESS", out)
    assert.matches("\n7\nnil\n", out)
    for _, list in ipairs {"yes", "calls,yes", "yes,calls"} do
      out = process.output(script, {env = {LZE_LOG = list}})
      assert.equal("LZE_LOG: unknown word 'yes' (known: calls, builds, " ..
        "notes)\n" ..
        "problem: LZE_LOG: unknown word 'yes' (known: calls, builds, " ..
        "notes)\n", out)
    end
    out = process.output(script, {env = {LZE_LOG = ("x"):rep(20000)}})
    assert.is_true(#out < 400, #out)
    assert.equal("7\nnil\n", process.output(script, {env = {LZE_LOG = ""}}))
  end)
end)

describe("LZE_LOG=builds", function()
  it("prints each build, and whether it was built before", function()
    local script = [[
      local lze = require "lze"
      local source = "kernel void f(global int *a) { a[0] = 1; }"
      lze.compile(source)
      lze.compile(source)
      print(pcall(lze.module, lze.compile(source):spirv(), {options = "-what"}))
    ]]
    process.with_directory(function(dir)
      local env = {LZE_LOG = "builds", XDG_CACHE_HOME = dir}
      local function builds()
        local list = {}
        local line = "lze: +[%d.]+ +[%d.]+ ms build ([^\n]-), " ..
          "[1-9]%d* bytes: (%l+)"
        for name, what in process.output(script, {env = env}):gmatch(line) do
          list[#list + 1] = name:match "^[^ ]+" .. " " .. what
        end
        return table.concat(list, ", ")
      end
      local again = "SPIR-V from, module as, SPIR-V from, module as, " ..
        "module refused"
      assert.equal("SPIR-V compiled, module compiled, " .. again, builds())
      assert.equal("SPIR-V from, module from, " .. again, builds())
    end)
  end)
end)

describe("LZE_PROGRESS", function()
  -- Each command starts two seconds late.
  local script = [[
    local lze = require "lze"
    if arg[1] then print(lze.progress(arg[1] == "on")) end
    local x = lze.buffer("int", {1})
    lze.load "kernels/spec.spv".add(1, x, 1)
    print(x[1], lze.progress())]]

  -- Returns the output to a terminal, which is standard error or, with another
  -- `to`, standard output.
  local function shown(progress, word, to, terminal)
    local output
    process.with_directory(function(dir)
      process.write(dir .. "/x.lua", script)
      output = process.run("", {before = ([[
        export ZOCL_DELAY_START_US=2000000 TERM=%s
        %s
        exec script -qec '%s %s/x.lua %s %s' /dev/null </dev/null
      ]]):format(terminal or "xterm", progress and "export LZE_PROGRESS=" ..
        progress or "unset LZE_PROGRESS", process.runner, dir, word or "",
        to or "")})
        .output
    end)
    return output
  end

  it("shows waits of more than half a second", function()
    local line = "\r\27%[Klze: waiting for kernel add, [0-9.]+ s"
    for _, out in ipairs {shown "1", shown(false, "on"), shown("0", "on")} do
      assert.matches(line .. "\r\27%[K", out) -- and is then erased
      assert.matches("\27%[K2\ttrue\r\n$", out)
    end
  end)

  it("shows nothing otherwise", function()
    assert.equal("2\tfalse\r\n", shown(false))
    for _, variable in ipairs {"0", "1"} do
      assert.equal("false\r\n2\tfalse\r\n", shown(variable, "off"))
    end
    assert.equal("2\tfalse\r\n", shown("1", "", "", "dumb"))
    assert.equal("2\tfalse\r\n", shown("1", "", "2>/dev/null"))
    local out = process.run('require "lze".buffer("int", 1)',
      {env = {LZE_PROGRESS = "yes"}}).output
    assert.matches("LZE_PROGRESS=yes: 0 or 1 expected", out)
  end)
end)
