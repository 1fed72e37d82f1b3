/*
 * graph.c - runs bench/graph.lua with two clocks that Lua lacks.
 * SPDX-License-Identifier: MIT
 *
 *   graph [ROUNDS]
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
  lua_State *L = luaL_newstate();
  if (L == NULL) return EXIT_FAILURE;
  luaL_openlibs(L);
  lua_register(L, "cpu", bench_cpu);
  lua_register(L, "now", bench_now);
  int status = luaL_loadfile(L, "bench/graph.lua");
  for (int i = 1; i < argc; i++) lua_pushstring(L, argv[i]);
  if (status == LUA_OK) status = lua_pcall(L, argc - 1, 0, 0);
  if (status != LUA_OK)
    fprintf(stderr, "graph: %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
