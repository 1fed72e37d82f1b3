/*
 * plugins.c - a program that opens and closes a thousand Lua states.
 * SPDX-License-Identifier: MIT
 *
 *   cc -o plugins plugins.c $(pkg-config --cflags --libs lze)
 *   ./plugins [STATES]
 *
 * Each plug-in gets its own state, runs a kernel and is closed, sometimes with
 * work in flight, sometimes after an error.  The memory that states leave
 * behind is measured at the end: it must not grow.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lze.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const plugins[] = {
    /* one that is done when it returns */
    "local lze = require 'lze'\n"
    "local x = lze.buffer('float', {1, 2, 3})\n"
    "local y = lze.buffer('float', 3)\n"
    "lze.load 'saxpy'.saxpy(3, 2.0, x, y)\n"
    "return y[3] == 6.0\n",
    /* one that leaves work in flight and objects of all kinds */
    "local lze = require 'lze'\n"
    "k = lze.load 'saxpy'.saxpy\n"
    "x = lze.buffer('float', 1 << 16)\n"
    "q = lze.queue()\n"
    "ev = q:launch(k, #x, 2.0, x, x)\n"
    "v = x:view(1, 10)\n"
    "return true\n",
    /* one that fails */
    "local lze = require 'lze'\n"
    "local x <close> = lze.buffer('int', 4)\n"
    "x[5] = 1\n"};

/* Returns the resident memory of the process in KiB. */
static long resident(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
  fclose(f);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int plugin_run(const lze_Api *lze, int kind) {
  lze_ErrorInfo error;
  lua_State *L = luaL_newstate();
  if (L == NULL) return 0;
  luaL_openlibs(L);
  int good = lze->open(L, &error) == LZE_OK &&
             (luaL_dostring(L, plugins[kind]) == LUA_OK) == (kind != 2) &&
             (kind == 2 || lua_toboolean(L, -1));
  if (!good)
    fprintf(stderr, "plugins: plug-in %d: %s\n", kind,
            luaL_tolstring(L, -1, NULL));
  return lze->close(L, &error) == LZE_OK && good;
}

int main(int argc, char **argv) {
  int states = argc > 1 ? atoi(argv[1]) : 1000;
  int kinds = (int)(sizeof plugins / sizeof *plugins);
  const lze_Api *lze = lze_api(LZE_API_VERSION);
  long before = 0;
  for (int i = 0; i < states; i++) {
    if (!plugin_run(lze, i % kinds)) return EXIT_FAILURE;
    if (i == states / 4) before = resident(); /* by now caches are warm */
  }
  long grown = resident() - before;
  printf("plugins: %d states, grown by %ld KB since a quarter of them\n",
         states, grown);
  return grown < 8 * 1024 ? EXIT_SUCCESS : EXIT_FAILURE;
}
