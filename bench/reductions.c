/*
 * reductions.c - the reference for bench/arrays.lua: plain C on one thread.
 * SPDX-License-Identifier: MIT
 *
 * A Lua module, `require "bench.reductions"`.  Its functions take addresses
 * and a count and return their result.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>

static float *address(lua_State *L, int arg) {
  return (float *)(uintptr_t)luaL_checkinteger(L, arg);
}

/* now() -> seconds */
static int reductions_now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec * 1e-9);
  return 1;
}

/* copy(to, from, n) */
static int reductions_copy(lua_State *L) {
  size_t n = (size_t)luaL_checkinteger(L, 3);
  memcpy(address(L, 1), address(L, 2), n * sizeof(float));
  return 0;
}

/* sum(x, n) -> number */
static int reductions_sum(lua_State *L) {
  const float *x = address(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  float s = 0;
  for (lua_Integer i = 0; i < n; i++) s += x[i];
  lua_pushnumber(L, (lua_Number)s);
  return 1;
}

/* lengths(x, y, n) -> the sum of sqrt(x * x + y * y), in a double */
static int reductions_lengths(lua_State *L) {
  const float *x = address(L, 1), *y = address(L, 2);
  size_t n = (size_t)luaL_checkinteger(L, 3);
  double s = 0;
  for (size_t i = 0; i < n; i++)
    s += (double)sqrtf(x[i] * x[i] + y[i] * y[i]);
  lua_pushnumber(L, s);
  return 1;
}

/* min(x, n) -> number */
static int reductions_min(lua_State *L) {
  const float *x = address(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  float m = x[0];
  for (lua_Integer i = 1; i < n; i++) m = x[i] < m ? x[i] : m;
  lua_pushnumber(L, (lua_Number)m);
  return 1;
}

/* argmax(x, n) -> index from 1 */
static int reductions_argmax(lua_State *L) {
  const float *x = address(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2), best = 0;
  for (lua_Integer i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  lua_pushinteger(L, best + 1);
  return 1;
}

/* cumsum(to, x, n) */
static int reductions_cumsum(lua_State *L) {
  float *to = address(L, 1), s = 0;
  const float *x = address(L, 2);
  lua_Integer n = luaL_checkinteger(L, 3);
  for (lua_Integer i = 0; i < n; i++) to[i] = s += x[i];
  return 0;
}

int luaopen_bench_reductions(lua_State *L) {
  static const luaL_Reg functions[] = {{"now", reductions_now},
                                       {"copy", reductions_copy},
                                       {"sum", reductions_sum},
                                       {"lengths", reductions_lengths},
                                       {"min", reductions_min},
                                       {"argmax", reductions_argmax},
                                       {"cumsum", reductions_cumsum},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
