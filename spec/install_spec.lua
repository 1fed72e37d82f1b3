-- install_spec.lua - checks that the result of `make install` works elsewhere.
-- SPDX-License-Identifier: MIT

local process = require "spec.support.process"

local build = os.getenv "LZE_TEST_BUILD" or "build"

-- Returns the output of a make target; the library is not rebuilt.
local function make(words, before)
  local pipe = assert(io.popen((before or "") ..
    "env -u MAKEFLAGS -u MAKELEVEL -u LUA_CPATH -u LUA_CPATH_5_4 " ..
    ("make -s -o all BUILD=%s LUA=lua5.4 %s 2>&1"):format(build, words)))
  local said = pipe:read "a"
  assert(pipe:close(), said)
  return (said:gsub("^  U?N?INSTALL [^\n]*\n", ""))
end

local function lines(command)
  local pipe <close> = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  return list
end

local function there(path)
  local file <close> = io.open(path)
  return file ~= nil
end

describe("make install", function()
  it("installs what the manual describes, for programs elsewhere", function()
    process.with_directory(function(root)
      make("install PREFIX=" .. root)
      for _, path in ipairs {"share/lze/kernels/saxpy.spv",
          "share/lze/kernels/saxpy.cl", "share/lze/command/repl.lua",
          "share/lze/examples/lib/pnm.lua",
          "share/lze/examples/embed/lend.c", "share/lze/types/lze.lua",
          "share/doc/lze/manual.md", "lib/lua/5.4/lze.so",
          "lib/lua/5.4/lze/mpi.so"} do
        assert.is_true(there(root .. "/" .. path), path)
      end
      assert.is_false(there(root .. "/share/lze/kernels/spec.spv"))
      local docs = root .. "/share/doc/lze/"
      local manual <close> = assert(io.open(docs .. "manual.md"))
      for link in manual:read "a":gmatch "%]%(([^#%s)]+)[^)]*%)" do
        if not link:find "^https?:" then
          assert.is_true(there(docs .. link), link)
        end
      end
      if not process.hosted then -- needs a build without a host
        local env = {LUA_CPATH = root .. "/lib/lua/5.4/?.so"}
        assert.equal("module saxpy: saxpy\n", process.output(
          "print(require 'lze'.load 'saxpy')", {env = env, before = "cd /"}))
        assert.equal("1\n", process.output(
          "print(require 'lze.mpi'.world().size)", {env = env,
          before = "cd /"}))
        -- A module that is linked with lze may be anywhere: it finds its files
        -- through the driver.
        process.with_directory(function(elsewhere)
          os.rename(root .. "/lib/lua/5.4/lze.so", elsewhere .. "/lze.so")
          assert.equal("module saxpy: saxpy\n", process.output(
            "print(require 'lze'.load 'saxpy')", {before = "cd /", env = {
            LUA_CPATH = elsewhere .. "/?.so",
            LD_LIBRARY_PATH = root .. "/lib:" ..
              (os.getenv "LD_LIBRARY_PATH" or "")}}))
          os.rename(elsewhere .. "/lze.so", root .. "/lib/lua/5.4/lze.so")
        end)
        local said = lines(("cd / && LUA_CPATH='%s' %s " ..
          "%s/share/lze/examples/vector_add.lua"):format(env.LUA_CPATH,
          process.lua, root))
        assert.matches("every element", table.concat(said, "\n"))
        assert.same({"3"}, lines(("cd / && echo '1 + 2' | %s %s/bin/lze repl")
          :format(process.lua, root)))
      end
      make("uninstall PREFIX=" .. root)
      assert.same({}, lines("find " .. root .. " -type f"))
      assert.same({}, lines("find " .. root .. "/* -name '*lze*'"))
    end)
  end)

  it("ends with the variables to set if lze would not be found", function()
    if not os.execute "command -v pkg-config >/dev/null" then
      pending "needs pkg-config"
    end
    process.with_directory(function(root)
      local said = make("install PREFIX=" .. root)
      assert.equal([[
Programs find it after this in your shell:
  export PATH="]] .. root .. [[/bin:$PATH"
  export PKG_CONFIG_PATH="]] .. root ..
        [[/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  export LUA_CPATH="]] .. root .. "/lib/lua/5.4/?.so;;\"\n", said)
      -- These settings work; make does not print them again.
      process.write(root .. "/set", said:gsub("^[^\n]*\n", ""))
      local after = {"command -v lze", "pkg-config --variable=prefix lze",
        [[lua5.4 -e 'print(package.searchpath("lze", package.cpath))']]}
      for i, path in ipairs {"/bin/lze", "", "/lib/lua/5.4/lze.so"} do
        assert.same({root .. path},
          lines(("cd / && . %s/set && %s"):format(root, after[i])))
      end
      said = make("install PREFIX=" .. root, ". " .. root .. "/set;")
      assert.not_matches("PATH=\"[^\n]*bin", said)
      assert.not_matches("PKG_CONFIG_PATH", said)
    end)
  end)

  it("prints nothing for packagers, or if everything is found", function()
    process.with_directory(function(root)
      assert.equal("", make("install PREFIX=/usr/local DESTDIR=" .. root ..
        "/d"))
      assert.equal("", make("install PREFIX=/opt/x DESTDIR=" .. root .. "/d"))
      assert.equal("", make("install ADVICE=no PREFIX=" .. root .. "/e"))
      make("install 'PREFIX=~/tree' HOME=" .. root)
      assert.is_true(there(root .. "/tree/lib/lua/5.4/lze.so"))
    end)
  end)
end)

describe("make install and uninstall", function()
  it("do not show the commands that they run", function()
    process.with_directory(function(root)
      for _, what in ipairs {"install", "uninstall"} do
        local said = lines(("env -u MAKEFLAGS -u MAKELEVEL make -o all " ..
          "BUILD=%s LUA=lua5.4 %s ADVICE=no PREFIX=%s 2>&1"):format(build, what,
          root))
        assert.same({("  %-5s %s"):format(what:upper(), root)}, said)
      end
    end)
  end)
end)

describe("make with missing packages", function()
  it("names each package once, in a line to copy", function()
    local said = lines "CPPFLAGS=-nostdinc sh scripts/check-needs 2>&1"
    local line = table.concat(said, "\n"):match "\ninstall it:  ([^\n]*)"
    local seen = {}
    assert.matches("^apt%-get install libc6%-dev ", line)
    for word in line:gmatch "%S+" do
      assert.is_nil(seen[word])
      seen[word] = true
    end
    said = lines "CC=nowhere/cc sh scripts/check-needs 2>&1"
    assert.matches("^install it:  apt%-get install gcc libc6%-dev ", said[2])
  end)
end)

describe("an example", function()
  it("runs with the command of its first lines from any directory", function()
    if process.hosted then return end
    for _, at in ipairs {{".", "examples/"}, {"examples", ""}} do
      local said = lines(("cd %s && env -u LUA_CPATH -u LUA_CPATH_5_4 " ..
        "%s %svector_add.lua 2>&1"):format(at[1], process.lua, at[2]))
      assert.matches("every element", table.concat(said, "\n"))
    end
  end)
end)
