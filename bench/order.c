/*
 * order.c - runs a benchmark in Lua with a clock and single-threaded C code to
 * compare with.
 * SPDX-License-Identifier: MIT
 *
 *   order FILE [ARGUMENT...]
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* now() -> microseconds */
static int order_now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec * 1e6 + (lua_Number)t.tv_nsec / 1e3);
  return 1;
}

static void *check_address(lua_State *L, int arg) {
  return (void *)(uintptr_t)luaL_checkinteger(L, arg);
}

static int compare(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* sort(address, n): floats, by qsort */
static int order_sort(lua_State *L) {
  qsort(check_address(L, 1), (size_t)luaL_checkinteger(L, 2), sizeof(float),
        compare);
  return 0;
}

/* histogram(counts, address, n, bins, low, high): floats into longs */
static int order_histogram(lua_State *L) {
  int64_t *counts = check_address(L, 1);
  const float *x = check_address(L, 2);
  lua_Integer n = luaL_checkinteger(L, 3);
  int bins = (int)luaL_checkinteger(L, 4);
  float low = (float)luaL_checknumber(L, 5);
  float high = (float)luaL_checknumber(L, 6);
  float scale = (float)bins / (high - low);
  memset(counts, 0, (size_t)bins * sizeof *counts);
  for (lua_Integer i = 0; i < n; i++) {
    if (!(x[i] >= low && x[i] <= high)) continue;
    int b = (int)((x[i] - low) * scale);
    counts[b < bins ? b : bins - 1]++;
  }
  return 0;
}

int main(int argc, char **argv) {
  lua_State *L = argc > 1 ? luaL_newstate() : NULL;
  if (L == NULL) {
    fputs("usage: order FILE [ARGUMENT...]\n", stderr);
    return EXIT_FAILURE;
  }
  luaL_openlibs(L);
  lua_register(L, "now", order_now);
  lua_register(L, "c_sort", order_sort);
  lua_register(L, "c_histogram", order_histogram);
  lua_createtable(L, argc - 2, 0);
  for (int i = 2; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setglobal(L, "arg");
  int failed = luaL_dofile(L, argv[1]);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
