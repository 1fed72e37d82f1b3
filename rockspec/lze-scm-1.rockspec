-- lze-scm-1.rockspec - `luarocks --lua-version=5.4 make` in the tree's top.
-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "lze"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "GPUs and CPUs through oneAPI Level Zero, as Lua values",
  detailed = [[
Devices, unified shared memory and SPIR-V kernels as Lua values, and a Level
Zero driver on top of OpenCL for machines that have no other.]],
  license = "MIT",
}
dependencies = {
  "lua >= 5.4, < 5.6",
}
supported_platforms = { "linux" }
build = {
  type = "make",
  variables = {
    BUILD = "build/luarocks",
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    LUA = "$(LUA)",
    LUA_INCDIR = "$(LUA_INCDIR)",
  },
  install_variables = {
    ADVICE = "no", -- LuaRocks has its own
    LUA_CMOD = "$(LIBDIR)",
    LIBDIR = "$(LIBDIR)",
    LIBEXECDIR = "$(LIBDIR)/libexec",
    BINDIR = "$(BINDIR)",
    INCLUDEDIR = "$(PREFIX)/include",
    DATADIR = "$(PREFIX)/share",
  },
}
