/*
 * clocks.c - runs a benchmark in Lua with two clocks that Lua lacks.
 * SPDX-License-Identifier: MIT
 *
 *   clocks FILE [ARGUMENT...]
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int clock_read(lua_State *L, clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec * 1e6 + (lua_Number)t.tv_nsec / 1e3);
  return 1;
}

/* cpu() -> microseconds that the calling thread has computed for */
static int bench_cpu(lua_State *L) {
  return clock_read(L, CLOCK_THREAD_CPUTIME_ID);
}

/* now() -> microseconds */
static int bench_now(lua_State *L) { return clock_read(L, CLOCK_MONOTONIC); }

int main(int argc, char **argv) {
  lua_State *L = argc > 1 ? luaL_newstate() : NULL;
  if (L == NULL) {
    fputs("usage: clocks FILE [ARGUMENT...]\n", stderr);
    return EXIT_FAILURE;
  }
  luaL_openlibs(L);
  lua_register(L, "cpu", bench_cpu);
  lua_register(L, "now", bench_now);
  lua_pushstring(L, argv[0]);
  lua_setglobal(L, "clocks"); /* for what starts itself again */
  int status = luaL_loadfile(L, argv[1]);
  for (int i = 2; i < argc; i++) lua_pushstring(L, argv[i]);
  if (status == LUA_OK) status = lua_pcall(L, argc - 2, 0, 0);
  if (status != LUA_OK)
    fprintf(stderr, "clocks: %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
