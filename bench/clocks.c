/*
 * clocks.c - runs a benchmark in Lua with two clocks that Lua lacks, and with
 * OpenBLAS's products of matrices if it is installed.
 * SPDX-License-Identifier: MIT
 *
 *   clocks FILE [ARGUMENT...]
 */
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int clock_read(lua_State *L, clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec * 1e6 + (lua_Number)t.tv_nsec / 1e3);
  return 1;
}

/* cpu() -> microseconds of CPU time of the calling thread */
static int bench_cpu(lua_State *L) {
  return clock_read(L, CLOCK_THREAD_CPUTIME_ID);
}

/* now() -> microseconds */
static int bench_now(lua_State *L) { return clock_read(L, CLOCK_MONOTONIC); }

/* As in cblas.h: the order, true if either is transposed, rows of a and
   columns of b, columns of a, a number, a, b, another number, c. */
typedef void Sgemm(int, int, int, int, int, int, float, const void *, int,
                   const void *, int, float, void *, int);
typedef void Dgemm(int, int, int, int, int, int, double, const void *, int,
                   const void *, int, double, void *, int);

enum { ROW_MAJOR = 101, AS_IT_IS = 111 };

/* gemm(type, m, n, k, a, b, c) -> true if OpenBLAS exists; it then has stored
   the product of the matrices at the addresses a and b at c */
static int bench_gemm(lua_State *L) {
  void *blas = dlopen("libopenblas.so.0", RTLD_NOW);
  bool is_double = strcmp(luaL_checkstring(L, 1), "double") == 0;
  void *found =
      blas == NULL ? NULL : dlsym(blas, is_double ? "cblas_dgemm"
                                                  : "cblas_sgemm");
  int m = (int)luaL_checkinteger(L, 2), n = (int)luaL_checkinteger(L, 3);
  int k = (int)luaL_checkinteger(L, 4);
  const void *a = (const void *)(uintptr_t)luaL_checkinteger(L, 5);
  const void *b = (const void *)(uintptr_t)luaL_checkinteger(L, 6);
  void *c = (void *)(uintptr_t)luaL_checkinteger(L, 7);
  if (found != NULL && is_double) {
    Dgemm *gemm;
    memcpy(&gemm, &found, sizeof gemm);
    gemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, m, n, k, 1, a, k, b, n, 0, c, n);
  } else if (found != NULL) {
    Sgemm *gemm;
    memcpy(&gemm, &found, sizeof gemm);
    gemm(ROW_MAJOR, AS_IT_IS, AS_IT_IS, m, n, k, 1, a, k, b, n, 0, c, n);
  }
  lua_pushboolean(L, found != NULL);
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = argc > 1 ? luaL_newstate() : NULL;
  if (L == NULL) {
    fputs("usage: clocks FILE [ARGUMENT...]\n", stderr);
    return EXIT_FAILURE;
  }
  luaL_openlibs(L);
  lua_register(L, "cpu", bench_cpu);
  lua_register(L, "now", bench_now);
  lua_register(L, "gemm", bench_gemm);
  lua_pushstring(L, argv[0]);
  lua_setglobal(L, "clocks"); /* for scripts that start themselves again */
  int status = luaL_loadfile(L, argv[1]);
  for (int i = 2; i < argc; i++) lua_pushstring(L, argv[i]);
  if (status == LUA_OK) status = lua_pcall(L, argc - 2, 0, 0);
  if (status != LUA_OK)
    fprintf(stderr, "clocks: %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
