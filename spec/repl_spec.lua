-- repl_spec.lua - the prompt, `lze repl`.
-- SPDX-License-Identifier: MIT

local lze = require "lze"
local process = require "spec.support.process"
local repl = dofile "command/repl.lua"

-- Runs the prompt with piped lines and returns its output on both streams and
-- its exit status.
local function run(lines, words)
  return process.run(("arg = {[0] = 'bin/lze', 'repl', %s}\n" ..
    "io.stdout:setvbuf 'no'\nio.input(%q)\ndofile 'bin/lze'"):format(
    words or "", lines))
end

local function typed(...)
  local r = run(...)
  assert(r.how == "exit" and r.code == 0, r.output)
  return r.output
end

-- Calls f with the name of a file of these lines.
local function with_lines(lines, f)
  process.with_directory(function(dir)
    process.write(dir .. "/lines", lines)
    f(dir .. "/lines", dir)
  end)
end

describe("lze repl", function()
  it("shows values of expressions, and runs statements", function()
    with_lines([[
1 + 2, "two", nil
y = 4
y * _
for i = 1, 2 do
  y = y + i
end
= y
print "printed"
10 //
 3
local hidden = 1
hidden
lze.buffer("int", 2)
setmetatable({}, {__tostring = function() return "shown" end})
]], function(path)
      assert.equal("3\ttwo\tnil\n12\n7\nprinted\n3\nnil\n" ..
        "buffer: int[2] shared {0, 0}\nshown\n", typed(path))
    end)
  end)

  it("keeps working after any change to the globals", function()
    with_lines([[
table, string, type, next, pcall, tostring, math = {}
6 * 7
_
:time
setmetatable(_ENV, {__newindex = function(_, k) error("set " .. k) end})
_ENV._ = nil
"strict"
_
was, print = print, function(...) was("<", ...) end
rawset(_ENV, "print", nil)
_G, select, require = nil
1
]], function(path)
      local text = typed(path)
      assert.matches("^42\n42\nwall [^\n]+\n", text)
      assert.matches("\nstrict\nstrict\n", text)
      assert.matches("\nerror calling 'print': [^\n]*a nil value[^\n]*\n$",
        text)
    end)
  end)

  it("continues after errors, which it shows with line numbers", function()
    with_lines([[
error "boom"
error(5)
local function f()
  error {1} end f()
lze.buffer("int", -1)
lze.load "nowhere.spv"
x = = 1
f(
)
setmetatable({}, {__tostring = function() error "bad" end})
"still here"
for]], function(path)
      local text = typed(path)
      assert.matches("^stdin:1: boom\nstack traceback:\n\t%[C%]: in " ..
        "%l+ 'error'\n\tstdin:1: in main chunk\n", text)
      assert.matches("\n5\nstack traceback:\n", text)
      assert.matches("\n%(error object is a table value%)\n", text)
      assert.matches("\nstdin:1: bad argument #2 to 'buffer' ", text)
      assert.matches("\nstdin:1: lze.load: ENOENT: nowhere.spv: ", text)
      assert.matches("\nstdin:1: unexpected symbol near '='\n", text)
      assert.matches("\nstdin:1: attempt to call a nil value %(global 'f'%)",
        text)
      assert.matches("\nerror calling 'print': ", text)
      assert.matches("\nstill here\n.*near <eof>\n$", text)
      assert.is_nil(text:find("repl.lua", 1, true))
    end)
  end)

  it("shows a script's calls in traces, but not lze's internal ones",
    function()
      with_lines([[
A = lze.array
A("float", {1, 2}) + A("float", {1, 2, 3})
A("float", {1}).nothing
A("float", {1}):sum("all")
function fail() error "boom" end
A.fuse(function(a) fail() return a end)(A.zeros {2})
lze.mark("here", fail)
]], function(path)
        local text = typed(path)
        assert.not_matches("\tlze [^\n]*%.lua:", text)
        assert.matches("%(dimension 1: 2 and 3%)\nstack traceback:\n" ..
          "\t%[C%]: in metamethod 'add'\n\tstdin:1: in main chunk\n", text)
        assert.matches("no field 'nothing' [^\n]*\nstack traceback:\n" ..
          "\t%[C%]: in metamethod 'index'\n\tstdin:1: in main chunk\n", text)
        assert.matches("\nstdin:1: sum: [^\n]*\nstack traceback:\n" ..
          "\t%[C%]: in method 'sum'\n\tstdin:1: in main chunk\n", text)
        assert.matches("\nstdin:1: boom\nstack traceback:\n" ..
          "\t%[C%]: in %l+ 'error'\n\tstdin:1: in [^\n]*'fail'\n" ..
          "\tstdin:1: in [^\n]*\n\tstdin:1: in main chunk\n", text)
        assert.matches("\nstdin:1: boom\nstack traceback:\n" ..
          "\t%[C%]: in %l+ 'error'\n\tstdin:1: in [^\n]*'fail'\n" ..
          "\t%[C%]: in %l+ '[%l.]*mark'\n\tstdin:1: in main chunk\n$", text)
      end)
    end)

  it("interrupts running code at Ctrl-C, including directives", function()
    with_lines([[
interrupt = function() while true do io.popen("kill -INT $PPID"):close() end end
interrupt()
"after one"
interrupt()
require "lze.prompt".kinds().profile.stop = interrupt
:time
:time
"after directives"
]], function(path)
      assert.matches("^interrupted!\nstack traceback:\n.*\nafter one\n" ..
        "interrupted!\n.*\ninterrupted!\ninterrupted!\nafter directives\n$",
        typed(path))
    end)
  end)

  it("ends at a second Ctrl-C if the first cannot stop the code", function()
    with_lines([[
interrupt = function() io.popen("kill -INT $PPID"):close() end
coroutine.wrap(function() for _ = 1, 1000 do interrupt() end end)()
"not reached"
]], function(path)
      local r = run(path)
      assert.same({"signal", 2, ""}, {r.how, r.code, r.output})
    end)
  end)

  it("shows the time of the last line, and its breakdown", function()
    with_lines([[
:time
k, x = lze.load "saxpy".saxpy, lze.buffer("float", 8)
for _ = 1, 3 do k(#x, 1, x, x) end
:time
:profile
:profile run.csv
:profile run.xyz
:profile /proc/none/it.csv
lze.buffer("int", 1000)
:time
plan = lze.graph():fill("a", x, 1):fill("b", x, 2):compile {profile = true}
plan:run()
:time
]], function(path)
      local file = path:gsub("lines$", "run.csv")
      process.write(path, (io.open(path):read "a":gsub("run.csv", file)))
      local text = typed(path)
      assert.matches("^nothing has run yet\nwall [%d.]+ ms, device [%d.]+ " ..
        "ms in 3 commands, waits [%d.]+ ms, builds 0.000 ms, memory %+0 " ..
        "bytes of devices and [+-]%d+ of Lua\n", text)
      assert.matches("\nkernels\n[^\n]+\n +[%d.]+ +[%d.]+ %l+ +3 .* saxpy +" ..
        "stdin:1\n", text)
      assert.matches("\nwritten: /[^\n]+\na name that ends in .csv, .html, " ..
        '.json or .txt expected, got "run.xyz"\n/proc/none/it.csv: No ' ..
        "such file or directory\n", text)
      assert.matches("memory %+4000 bytes of devices", text)
      -- The tasks of a run do not count as commands.
      assert.matches(" ms in 1 command, waits [^\n]*\n$", text)
      assert.matches("\nkernel,saxpy,stdin:1,", io.open(file):read "a")
    end)
  end)

  it("does not count the time until the next line is typed", function()
    local x = lze.buffer("int", 8)
    local said, n = {}, 0
    local lines = {"x:fill(1) x:read()", ":profile"}
    _G.x = x -- luacheck: ignore
    repl.run(function()
      n = n + 1
      lze.mark "typing"
      return lines[n]
    end, function(text) said[#said + 1] = text end, error, function() end)
    _G.x = nil -- luacheck: ignore
    assert.equal(1, #said)
    assert.matches("\ncopies and fills\n.* fill  stdin:1\n", said[1])
    assert.not_matches("typing", said[1])
  end)

  it("reports the line of the call that completes an expression", function()
    with_lines([[
lze.array.ones {4, 2}:sum():item()
:profile]], function(path)
      local text = typed(path)
      assert.matches("^8%.0\n", text)
      assert.matches(" array_%w+ +stdin:1\n", text)
      assert.not_matches("repl.lua", text, 1, true)
    end)
  end)

  it("shows the manual, and reports unknown directives", function()
    with_lines([[
x = lze.buffer("int", 1)
:help x:fill
:help x
:help lze.gc
:help
:wrong
:quit
1]], function(path)
      local text = typed(path)
      assert.matches("^x:fill%(v %[, i %[, j%]%]%) %-> x\n", text)
      assert.matches("\na buffer, x in the manual:\n", text)
      assert.matches("\nlze%.gc%(%[options%]%) %-> gc_options\n", text)
      assert.matches("\n:profile %[FILE%] .*\n  6%. Buffers\n", text)
      assert.matches("\nunknown: :wrong; :help lists what there is\n$", text)
    end)
  end)

  it("runs a script first, with its arguments, and keeps its globals",
    function()
      with_lines("value, arg[0]", function(path, dir)
        local script = dir .. "/a.lua"
        process.write(script, "value = select('#', ...) .. ... .. arg[2]")
        assert.equal("2pq\t" .. script .. "\n", typed(path, ("%q, 'p', 'q'")
          :format(script)))
        process.write(script, "value = 7 error 'stop'")
        assert.matches("a.lua:1: stop\n.*7\t", typed(path, ("%q"):format(
          script)))
      end)
    end)

  it("ends if the script is missing or invalid, as lua -i does", function()
    with_lines("'not reached'", function(path, dir)
      local r = run(path, "'/proc/none/a.lua'")
      assert.same({"exit", 1, "lze repl: cannot open /proc/none/a.lua: No " ..
        "such file or directory\n"}, {r.how, r.code, r.output})
      process.write(dir .. "/a.lua", "x = = 1")
      r = run(path, ("%q"):format(dir .. "/a.lua"))
      assert.same({"exit", 1}, {r.how, r.code})
      assert.matches("^lze repl: [^\n]*a.lua:1: unexpected symbol near '='\n$",
        r.output)
    end)
  end)

  -- Returns true if the prompt can run on a terminal.
  local function has_a_terminal()
    if not process.hosted and process.has_terminals() then return true end
    pending "needs script, and an interpreter of its own"
  end

  -- Types `lines`, in the form for printf, at a prompt on a terminal, and
  -- returns its output. The history is in `dir`. A Ctrl-D that arrives before
  -- readline is ready is lost.
  local function typed(dir, lines)
    local pipe <close> = assert(io.popen(("printf '%s' | " ..
      "XDG_STATE_HOME='%s' TERM=dumb timeout 60 script -qec " ..
      "'%s bin/lze repl' " ..
      "/dev/null"):format(lines, dir, process.lua)))
    return pipe:read "a"
  end

  it("edits lines on a terminal, and completes them", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      local text = typed(dir, "x = lze.buffer(\"int\", 2)\\nx:fil\\t(5)\\n" ..
        "x[1] * 11\\n:quit\\n")
      assert.matches("lze [%d.]+  :help lists", text)
      assert.matches("\n55\r?\n", text)
      local file = io.open(dir .. "/lze/history")
      if file then -- it has a line editor
        assert.matches("x:fill%(5%)\n", file:read "a")
        file:close()
      end
    end)
  end)

  it("creates no home directory for its history", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      local pipe <close> = assert(io.popen(("printf '1 + 1\\n:quit\\n' | " ..
        "env -u XDG_STATE_HOME HOME='%s/missing' TERM=dumb timeout 60 " ..
        "script -qec '%s bin/lze repl' /dev/null"):format(dir, process.lua)))
      assert.matches("2\r?\n", pipe:read "a")
      assert.is_nil(io.open(dir .. "/missing"))
    end)
  end)

  it("keeps its history when the terminal closes", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      -- Types lines and returns the history; nil without a line editor.
      local function history(lines)
        typed(dir, lines)
        local file <close> = io.open(dir .. "/lze/history")
        return file and file:read "a"
      end
      if not history "first = 1\\n:quit\\n" then return end
      local text = history("second = 2\\nos.execute(\"kill -HUP \" .. " ..
        "io.open(\"/proc/self/stat\"):read \"n\")\\nlate = 1\\n")
      assert.matches("first = 1\n.*second = 2\n.*kill %-HUP", text)
      assert.not_matches("late", text)
    end)
  end)

  it("ends at Ctrl-\\, even if a driver has changed its handler", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      -- The signal comes while readline reads. Readline then catches SIGTSTP,
      -- which drivers do not. os.execute takes a while and ignores SIGQUIT.
      process.write(dir .. "/quit", ([[
        trap "" HUP
        ended() { ! kill -0 $1 2>/dev/null; }
        reads() {
          caught=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' /proc/$1/status)
          [ $((0x$caught >> 19 & 1)) = 1 ]
        }
        for wanted in reads ended; do
          n=0
          until $wanted $1; do
            n=$((n + 1))
            [ $n = 200 ] && echo "never $wanted" >DIR/said && exit
            sleep .05
          done
          [ $wanted = reads ] && kill -QUIT $1
        done
        echo over >DIR/said]]):gsub("DIR", dir))
      local pipe <close> = assert(io.popen(([[
        { printf '%%s\n' 'print(lze.array.zeros {3} + 1)' \
            'p = io.open("/proc/self/stat"):read "n"' \
            'os.execute("sh DIR/quit " .. p .. " >/dev/null 2>&1 & sleep .3")'
          n=0
          until [ -e DIR/said ] || [ $n = 600 ]; do
            n=$((n + 1))
            sleep .05
          done
        } | XDG_STATE_HOME=DIR TERM=dumb timeout 60 script -qec \
          '%s bin/lze repl' /dev/null]]):format(process.lua)
        :gsub("DIR", dir), "r"))
      local text = pipe:read "a"
      assert.matches("%[1%.0 1%.0 1%.0%]", text)
      local file <close> = io.open(dir .. "/said")
      local said = file:read "l"
      if said ~= "never reads" then assert.equal("over", said) end
    end)
  end)

  it("appends to the history, even if another prompt has done so", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      local path = dir .. "/lze/history"
      typed(dir, "for i = 1, 2 do\\n\\nprint(i * 21)\\nend\\n" ..
        "io.open(\"" .. path .. "\", \"a\"):write(\"other = 1\\\\n\")" ..
        ":close()\\nlate = 1\\n:quit\\n")
      local file <close> = io.open(path)
      if not file then return end -- without a line editor
      local text = file:read "a"
      assert.matches("^for i = 1, 2 do\n\t\n\tprint%(i %* 21%)\n\tend\nio" ..
        "[^\n]+\nother = 1\nlate = 1\n$", text)
      -- Three lines up is the loop, as one entry.
      text = typed(dir, "\\020\\020\\020\\020\\n:quit\\n")
      assert.matches("\n21\r?\n42\r?\n", text)
    end)
  end)

  it("keeps the last entries of a long history", function()
    if not has_a_terminal() then return end
    process.with_directory(function(dir)
      assert(os.execute(("mkdir -m 700 '%s/lze'"):format(dir)))
      local lines = {}
      for i = 1, 4000 do lines[i] = ("x = %d +\n\t1\n"):format(i) end
      local path = dir .. "/lze/history"
      process.write(path, table.concat(lines))
      typed(dir, "late = 1\\n:quit\\n")
      local file <close> = io.open(path)
      local text = file:read "a"
      if not text:find "late" then return end -- without a line editor
      assert.is_true(text == table.concat(lines, "", 2001) .. "late = 1\n")
      local pipe <close> = io.popen(("stat -c %%a '%s'"):format(path))
      assert.equal("600\n", pipe:read "a")
    end)
  end)

  -- Debian's lua5.4 needs readline itself, but the host program does not.
  it("edits lines with libedit if readline is missing", function()
    local build = os.getenv "LZE_TEST_BUILD"
    if process.hosted or not os.execute "command -v script >/dev/null" or
        not os.execute("test -x " .. build .. "/spec/host") or
        not package.loadlib("libedit.so.2", "*") then
      pending "needs script, libedit, and an interpreter of its own"
      return
    end
    process.with_directory(function(dir)
      process.write(dir .. "/libreadline.so.8", "")
      process.write(dir .. "/libreadline.so.7", "")
      local pipe = assert(io.popen(("{ printf 'x = lze.buffer(\"int\", 2)\\n" ..
        "x:fil\\t(5)\\nx:\\t\\tfill(7)\\nx[1] * 11\\nos.exit()\\n'; } | " ..
        "XDG_STATE_HOME='%s' TERM=xterm LD_LIBRARY_PATH='%s' script -qec " ..
        "'%s/spec/host --script bin/lze repl' /dev/null"):format(dir, dir,
        build)))
      local text = pipe:read "a"
      pipe:close()
      assert.matches("\n77\r?\n", text)
      assert.matches("x:copy +x:export", text) -- both are listed
    end)
  end)
end)

describe("completion", function()
  local env = {
    lze = lze, t = {alpha = 1, also = {beta = 2}, ["not a name"] = 3},
    x = lze.buffer("float", 4), n = lze.buffer("int", 4), count = 4,
    m = lze.load "kernels/saxpy.spv", s = "text",
    a = lze.array.zeros({2}, {type = "char"}), bytes = lze.local_bytes(64),
    late = setmetatable({}, {__index = function() error "called" end}),
  }
  env.k = env.m.saxpy

  local function complete(line)
    local start = #line - #line:match "[%w_.:]*$" + 1
    return table.concat(repl.complete(line, start, env), " ")
  end

  it("offers names, keywords, fields and methods", function()
    assert.equal("t then true", complete "t")
    assert.equal("t.alpha t.also", complete "t.al")
    assert.equal("t.also.beta", complete "print(t.also.")
    assert.equal("x:fill", complete "x:fi")
    assert.equal("x.type", complete "y = x.ty")
    assert.equal("", complete "x:ty")
    assert.equal("x.device.compute_units", complete "x.device.comp")
    assert.equal("m.saxpy", complete "m.sa")
    assert.equal("a.shape", complete "a.sha")
    assert.equal("a.type", complete "a.typ")
    assert.equal("a:sum", complete "a:sum")
    local _, err = pcall(function() return env.a.nothing end)
    for name in tostring(err):match "known: (.-) and":gmatch "%w+" do
      assert.equal("a." .. name, complete("a." .. name))
    end
    assert.equal("", complete "a:xyz")
    assert.equal("s:byte", complete "s:by")
    assert.equal("lze.profile", complete "lze.prof")
    assert.equal("", complete "late.")
    assert.equal("", complete "nothing.at")
    assert.equal("", complete "late.further.")
    assert.equal("", complete "f(1).")
    assert.equal("", complete "t[1]:")
    assert.equal(":help", complete ":h")
  end)

  it("offers arrays before they are used", function()
    assert.equal("lze.array\n", process.output [[
      local repl = dofile "command/repl.lua"
      local env = {lze = require "lze"}
      print(table.concat(repl.complete("lze.ar", 1, env), " "))]])
  end)

  it("offers values that fit an argument of a kernel", function()
    assert.equal("[1: float a] count", complete "k(#x, ")
    assert.equal("[2: float* x] x", complete "k({4, group = 2}, f(1, 2), ")
    assert.equal("[3: float* y] x", complete "k:launch(4, 2, x, ")
    assert.equal("x", complete "k(4, 2, x")
    -- Local memory does not take a buffer, even of the same type.
    env.f = lze.load "kernels/spec.spv".reverse
    assert.equal("[2: local int* scratch] bytes count lze.local_bytes",
      complete "f(1, n, ")
    env.count = nil
    assert.equal("[1: float a] " .. tostring(env.k), complete "k(4, ")
  end)
end)
