-- top_spec.lua - lze top, and the pages that programs publish for it.
-- SPDX-License-Identifier: MIT

local json = require "bench.lib.json"
local process = require "spec.support.process"

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function list(directory)
  local pipe <close> = io.popen("ls -A " .. quoted(directory) .. " 2>&1")
  return pipe:read "a"
end

-- Returns Lua code that runs `lze top` from within a program.
local function command(words)
  return ("os.execute [[%s bin/lze top %s]]"):format(process.lua, words)
end

local work = [[
  local lze = require "lze"
  local k = lze.load "kernels/saxpy.spv".saxpy
  local x = lze.buffer("float", 1000)
  for _ = 1, 7 do k(1000, 1, x, x) end
  local d = lze.buffer("float", 250, {usage = "device"})
  lze.wait()
]]

describe("lze top", function()
  if process.hosted then return end -- it needs the interpreter

  it("shows a program's memory, launches and kernels", function()
    process.with_directory(function(dir)
      local env = {env = {XDG_RUNTIME_DIR = dir}}
      local text = process.output(work .. "io.stdout:setvbuf 'no'\n" ..
        command "--json" .. command "--once" .. command "" ..
        command "--once --json" .. [[
          os.execute("stat -c '%a %s' " .. os.getenv "XDG_RUNTIME_DIR" ..
            "/lze " .. os.getenv "XDG_RUNTIME_DIR" .. "/lze/*")]], env)
      local now = json.decode(text:match "^[^\n]+")
      assert.equal(1, #now.programs)
      local again = json.decode(text:match "\n({[^\n]+)")
      assert.same(now.programs, again.programs)
      local p = now.programs[1]
      assert.same({5000, 4000, 1000, 0, 5000, 7, 0}, {p.bytes, p.shared_bytes,
        p.device_bytes, p.host_bytes, p.peak_bytes, p.launches, p.in_flight})
      assert.same({{name = "saxpy", launches = 7, launches_per_second = 0}},
        p.kernels)
      local lze = require "lze"
      assert.same({lze.device().name}, p.devices)
      assert.equal(#lze.devices(), #now.devices)
      assert.equal(lze.device().name, now.devices[1].name)
      local d = now.devices[1]
      if d.memory_used_bytes or #lze.devices() == 1 then
        assert.equal(d.memory_used_bytes or p.bytes,
          d.memory_total_bytes - d.memory_free_bytes)
      end
      for _ = 1, 2 do
        assert.is_truthy(text:find(("\n%8d %10s %10s %9d %10s  "):format(
          p.process, "4.9 KiB", "4.9 KiB", 0, "0"), 1, true))
        assert.matches(" 0  saxpy, 7 in all\n", text)
      end
      assert.matches("\ndevice 1: [^\n]*\n\n process", text)
      -- The size of the directory depends on the file system.
      assert.matches("\n700 %d+\n600 4096\n$", text)
      assert.equal("", list(dir .. "/lze"))
    end)
  end)

  it("counts launches that happen while it runs", function()
    process.with_directory(function(dir)
      local text = process.output(work .. [[
        local said = os.getenv "XDG_RUNTIME_DIR" .. "/said"
        os.execute("(]] .. process.lua .. [[ bin/lze top --json >" .. said ..
          ".part; mv " .. said .. ".part " .. said .. ") &")
        local file
        repeat
          for _ = 1, 10 do k(1000, 1, x, x) end
          lze.wait()
          file = io.open(said)
        until file
        print(file:read "a")]], {env = {XDG_RUNTIME_DIR = dir}})
      local p = json.decode(text).programs[1]
      assert.is_true(p.launches_per_second > 0)
      assert.is_true(p.kernels[1].launches_per_second > 0)
    end)
  end)

  it("counts a running launch, before and during a wait for it", function()
    process.with_directory(function(dir)
      local text = process.output([[
        local lze = require "lze"
        local said = os.getenv "XDG_RUNTIME_DIR" .. "/said"
        local top = "]] .. process.lua .. [[ bin/lze top --json >" .. said
        local k = lze.kernel(function(i, x, n)
          local s = x[i]
          for j = 1, n do s = s * 5 % 1021 + j end
          x[i] = s
        end)
        local x = lze.buffer("long", 1)
        k(1, x, 1)
        lze.wait()
        k(1, x, 10000000)
        lze.wait()
        -- Nothing waits.
        k(1, x, 400000000)
        assert(os.execute(top))
        assert(x:pending(), "the kernel was too short")
        print((io.open(said):read "a"))
        -- The same launches in waits.
        os.remove(said)
        local part = said .. ".part"
        os.execute("(for _ in 1 2 3 4 5 6 7 8 9; do " .. top .. ".part; " ..
          "grep -q '\"in_flight\":[1-9]' " .. part .. " && break; done; mv " ..
          part .. " " .. said .. ") &")
        local file
        repeat
          k(1, x, 50000000)
          lze.wait()
          file = io.open(said)
        until file
        print((file:read "a"))]], {env = {XDG_RUNTIME_DIR = dir}})
      local before, waiting = text:match "^([^\n]+)\n+([^\n]+)"
      local p = json.decode(before).programs[1]
      assert.same({1, 3, 3}, {p.in_flight, p.launches, p.kernels[1].launches})
      p = json.decode(waiting).programs[1]
      -- A wait may need a command, too.
      assert.is_true(p.in_flight == 1 or p.in_flight == 2)
      assert.equal(p.launches, p.kernels[1].launches)
    end)
  end)

  it("says why no device is present", function()
    for words, said in pairs {["--once"] = "^no devices: ", ["--json"] =
      '^{.*"problem":"'} do
      assert.matches(said .. "there is no device; the drivers show: .*; " ..
        "ONEAPI_DEVICE_SELECTOR=opencl:gpu", process.output(command(words),
        {env = {ONEAPI_DEVICE_SELECTOR = "opencl:gpu"}}))
    end
    assert.not_matches("problem", process.output(command "--json"))
  end)

  it("removes only the pages that killed programs left", function()
    process.with_directory(function(dir)
      process.output(work .. [[
        local dir = os.getenv "XDG_RUNTIME_DIR" .. "/lze/"
        local pipe = io.popen("ls " .. dir)
        local own = pipe:read "l"
        local page = io.open(dir .. own, "rb"):read "a"
        for _, name in ipairs {"1", "999999999", "other", "999999998.2"} do
          io.open(dir .. name, "wb"):write(page):close()
        end
        local being_written = page:sub(1, 32) .. "\1" .. page:sub(34)
        io.open(dir .. "999999996", "wb"):write(being_written):close()
        io.open(dir .. "999999997", "wb"):write "short":close()
        io.open(dir .. "999999995", "wb"):write(page, "more"):close()
        io.open(dir .. "999999994", "wb"):write(("x"):rep(4096)):close()]] ..
        command "--once >/dev/null", {env = {XDG_RUNTIME_DIR = dir}})
      assert.equal("999999994\n999999995\n999999997\nother\n",
        list(dir .. "/lze"))
    end)
  end)

  it("opens only regular files among its pages", function()
    process.with_directory(function(dir)
      process.write(dir .. "/page", "short")
      assert(os.execute(("cd %s && mkdir -m 700 lze && " ..
        "mkdir lze/999999996 && " ..
        "mkfifo lze/999999999 lze/1 && ln -s ../page lze/999999998 && " ..
        "ln -s /dev/zero lze/999999995"):format(quoted(dir))))
      local r = process.run(("os.exit(select(3, os.execute [[timeout 60 %s " ..
        "bin/lze top --once]]))"):format(process.lua),
        {env = {XDG_RUNTIME_DIR = dir}})
      assert.equal(0, r.code)
      assert.matches("\nno program that uses lze is running\n", r.output)
      -- These are not pages of programs.
      assert.equal("1\n999999995\n999999996\n999999998\n999999999\n",
        list(dir .. "/lze"))
    end)
  end)

  -- Each of these makes the directory dir/lze unsafe.
  local unsafe = {
    ["another user may enter it"] = "mkdir lze && chmod 750 lze",
    ["another user may write into it"] = "mkdir lze && chmod 722 lze",
    ["it is a link"] = "mkdir -m 700 there && ln -s there lze",
    ["it is a file"] = ": >lze",
  }

  it("leaves pages alone if another user could access them",
    function()
      for why, made in pairs(unsafe) do
        process.with_directory(function(dir)
          assert(os.execute(("cd %s && %s"):format(quoted(dir), made)))
          local text = process.output(work .. [[
            local dir = os.getenv "XDG_RUNTIME_DIR" .. "/lze/"
            local page = ("\0"):rep(40) .. "lze 9\nstarted 1\n"
            page = page .. ("\0"):rep(4096 - #page)
            local file = io.open(dir .. "999999999", "wb")
            if file then file:write(page):close() end
]] .. command "--once" ..
            command "--json", {env = {XDG_RUNTIME_DIR = dir}})
          assert.matches("\nprograms are not seen: " .. dir:gsub("%p", "%%%0")
            .. "/lze is not a directory for this user alone\n", text, nil, why)
          assert.matches('"programs":%[%]', text, nil, why)
          assert.matches(why == "it is a file" and "^[^\n]*/lze\n$" or
            "^999999999\n$", list(dir .. "/lze"), nil, why)
        end)
      end
    end)

  it("shows the readable parts of pages of other versions", function()
    process.with_directory(function(dir)
      local text = process.output(work .. [[
        io.stdout:setvbuf "no"
        local own = os.getenv "XDG_RUNTIME_DIR" .. "/lze/" ..
          io.open "/proc/self/stat":read "n"
        local page = io.open(own, "rb"):read "a"
        local started = page:match "\nstarted %d+\n"
        local function odd(i, numbers, text)
          io.open(own .. "." .. i, "wb"):write(numbers ..
            ("lze 9" .. started .. text .. ("\0"):rep(4096)):sub(1, 4056))
            :close()
        end
        local zeros = ("\0"):rep(40)
        odd(7, zeros, "")
        odd(8, ("\255"):rep(32) .. zeros:sub(1, 8), "in_flight x\nbytes x\n" ..
          "devices 1\nkernels\non\nlze\n99999999999999999999 big\n" ..
          "3 k\27[2J\n\n \nprocess 5\n")]] ..
        command "--once" .. command "--json" ..
        "os.remove(own .. '.7') os.remove(own .. '.8')",
        {env = {XDG_RUNTIME_DIR = dir}})
      local id = text:match "\n *(%d+) +4%.9 KiB +4%.9 KiB +0 "
      assert.matches("\n *" .. id .. " +0 B +0 B +0 ", text)
      assert.matches("\n *" .. id .. " +%-1 B +%-1 B +%- ", text)
      assert.matches("\n +0  k %[2J, 3 in all\n", text)
      local programs = json.decode(text:match "\n({[^\n]+)").programs
      assert.equal(3, #programs)
      for _, p in ipairs(programs) do
        assert.equal(math.tointeger(tonumber(id)), p.process)
      end
    end)
  end)

  it("ends normally if there is nothing to show", function()
    process.with_directory(function(dir)
      local text = process.output(command "", {env = {XDG_RUNTIME_DIR = dir}})
      assert.matches("\nno program that uses lze is running\n", text)
      for _, missing in ipairs {false, dir .. "/nowhere"} do
        text = process.output(command "", {env = {XDG_RUNTIME_DIR = missing}})
        assert.matches("not seen: XDG_RUNTIME_DIR does not name a " ..
          "directory\n", text)
      end
      local r = process.run("os.exit(select(3, " .. command "--twice" .. "))",
        {env = {XDG_RUNTIME_DIR = dir}})
      assert.equal(2, r.code)
      assert.matches("^lze top: unknown option %-%-twice\n", r.output)
    end)
  end)

  it("continues in a terminal until a key ends it", function()
    if not process.has_terminals() then return pending "needs script" end
    process.with_directory(function(dir)
      local pipe = io.popen(("printf ksq | XDG_RUNTIME_DIR='%s' TERM=vt100 " ..
        "timeout 60 script -qec '%s bin/lze top; stty -a' /dev/null"):format(
        dir, process.lua))
      local text = pipe:read "a"
      assert.is_true((pipe:close()))
      assert.matches("^.-\27%[%?1049h.*\27%[%?1049l", text)
      assert.matches("s: sort %(memory%)", text)
      assert.matches(" icanon ", text:gsub("%-icanon", ""))
    end)
  end)

  it("restores the terminal, however it ends, and fits its width",
    function()
      if not process.has_terminals() then return pending "needs script" end
      process.with_directory(function(dir)
        -- Killed once it has drawn, as Ctrl-\ kills all of its group; then the
        -- terminal is checked.
        process.write(dir .. "/watch", ([[
          stty cols 20 rows 24
          trap : QUIT
          sh -c '{ until grep -q "q: quit" "$0"; do sleep 0.02; done
            trap "" QUIT; kill -QUIT 0; kill -TERM $$; } &
            exec "%s" bin/lze top' "$1"
          until stty -a | grep -q " icanon"; do sleep 0.02; done
          echo restored]]):format(process.lua))
        assert.is_true((os.execute(("XDG_RUNTIME_DIR='%s' TERM=vt100 " ..
          "timeout 60 script -qefc 'exec sh %s/watch %s/seen' %s/seen " ..
          "</dev/null >/dev/null 2>&1"):format(dir, dir, dir, dir))))
        local seen = read(dir .. "/seen")
        assert.matches("\27%[%?1049h.*\27%[%?25h\27%[%?1049l.*restored", seen)
        -- Nor is it wider with characters of two columns.
        assert.matches("^.-\27%[%?7l.*\27%[%?7h", seen)
        assert.matches("\27%[24;1Hq: quit  s: sort %(la", seen)
        assert.not_matches("sort %(lau", seen)
      end)
    end)

  it("restores the terminal while it is stopped", function()
    if not process.has_terminals() then return pending "needs script" end
    process.with_directory(function(dir)
      process.write(dir .. "/watch", ([[
        set -m
        "%s" bin/lze top
        stty -a && echo suspended
        fg
        stty -a && echo ended
      ]]):format(process.lua))
      -- Ctrl-Z once it has drawn, and q after it continues.
      process.write(dir .. "/keys", [[
        until grep -q "q: quit" "$1"; do sleep 0.02; done
        printf "\032"
        until grep -q suspended "$1"; do sleep 0.02; done
        printf q
        until grep -q ended "$1"; do sleep 0.02; done]])
      process.write(dir .. "/seen", "")
      assert.is_true((os.execute(("timeout 50 sh '%s/keys' '%s/seen' | " ..
        "XDG_RUNTIME_DIR='%s' TERM=vt100 timeout 60 script -qfc " ..
        "'sh %s/watch' '%s/seen' >/dev/null 2>&1"):format(dir, dir, dir, dir,
        dir))))
      local before, after = read(dir .. "/seen"):match
        "^(.-\nsuspended)(.-\nended)"
      assert.is_truthy(after)
      for _, seen in ipairs {before, after} do
        assert.matches("\27%[%?1049h.*\27%[%?25h\27%[%?1049l.* icanon ",
          (seen:gsub("%-icanon", "")))
      end
    end)
  end)

  it("does not draw on a terminal without the capability", function()
    if not process.has_terminals() then return pending "needs script" end
    for _, term in ipairs {"TERM=dumb", "TERM=", "env -u TERM"} do
      local pipe <close> = io.popen(("printf q | XDG_RUNTIME_DIR= %s " ..
        "timeout 60 script -qec '%s bin/lze top' /dev/null"):format(term,
        process.lua))
      local text = pipe:read "a"
      assert.is_true((pipe:close()))
      assert.matches("device 1: .-\nprograms are not seen",
        (text:gsub("\r", "")))
      assert.is_nil(text:find("\27", 1, true))
    end
  end)
end)

describe("a program", function()
  it("leaves no page behind, however it ends", function()
    process.with_directory(function(dir)
      for ending, code in pairs {[""] = 0, ["os.exit(3)"] = 3,
        ["error 'boom'"] = 1, ["os.exit(4, true)"] = 4} do
        local r = process.run(work ..
          "assert(os.execute('ls ' .. os.getenv 'XDG_RUNTIME_DIR' .. " ..
          "'/lze/[0-9]*'))" .. ending, {env = {XDG_RUNTIME_DIR = dir}})
        assert.equal(code, r.code, r.output)
        assert.equal("", list(dir .. "/lze"))
      end
    end)
  end)

  it("keeps a file named after its process id unless that is a page", function()
    process.with_directory(function(dir)
      local kept = process.output([[
        local path = os.getenv "XDG_RUNTIME_DIR" .. "/lze/" ..
          io.open "/proc/self/stat":read "n"
        assert(os.execute("mkdir -m 700 $XDG_RUNTIME_DIR/lze"))
        io.open(path, "w"):write "mine":close()
        ]] .. work .. "print(io.open(path):read 'a')",
        {env = {XDG_RUNTIME_DIR = dir}})
      assert.equal("mine\n", kept)
      assert.matches("^%d+\n$", list(dir .. "/lze"))
    end)
  end)

  it("shows nothing if this is switched off or impossible", function()
    process.with_directory(function(dir)
      process.output(work .. "assert(not io.open(os.getenv " ..
        "'XDG_RUNTIME_DIR' .. '/lze'))", {env = {XDG_RUNTIME_DIR = dir,
        LZE_TOP = "0"}})
      assert.equal("", list(dir))
      for _, where in ipairs {"/proc/none", "", "relative"} do
        assert.equal("", process.output(work,
          {env = {XDG_RUNTIME_DIR = where}}))
      end
      local r = process.run(work, {env = {LZE_TOP = "yes"}})
      assert.equal(1, r.code)
      assert.matches("LZE_TOP=yes: 0 or 1 expected", r.output)
      assert.is_nil(read "relative/lze")
    end)
  end)
end)
