/*
 * values.c - the cost of moving values between Lua and buffers, compared with
 * the minimum for C code with Lua's own interface, and the garbage of a launch;
 * in interleaved rounds of one process.
 * SPDX-License-Identifier: MIT
 *
 *   values [ROUNDS]      medians and their ratios
 *
 * Three pairs: a million floats from a table against a bare loop of
 * lua_rawgeti; reading elements against a bare __index that checks its userdata
 * and its index; x:string() against lua_pushlstring of the same bytes in a
 * method found by that __index.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 2, MAX_ROUNDS = 1000, FLOATS = 1000000 };

_Noreturn static void die(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("values: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  exit(EXIT_FAILURE);
}

/* ------------------------------------------------------------------------ */
/* The minimum for C code. */

static float floats[FLOATS];

/* floats_take(t): reads the floats of a table. */
static int floats_take(lua_State *L) {
  for (int i = 0; i < FLOATS; i++) {
    lua_rawgeti(L, 1, i + 1);
    floats[i] = (float)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  return 0;
}

typedef struct Bare {
  lua_Integer count;
  float *elements;
} Bare;

static const char bare_name[] = "bench.bare";

/* bare:string(): returns its bytes. */
static int bare_string(lua_State *L) {
  const Bare *b = luaL_checkudata(L, 1, bare_name);
  lua_pushlstring(L, (const char *)b->elements,
                  (size_t)b->count * sizeof *b->elements);
  return 1;
}

static int bare_index(lua_State *L) {
  const Bare *b = luaL_checkudata(L, 1, bare_name);
  if (lua_type(L, 2) == LUA_TSTRING) { /* its only method */
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
  }
  lua_Integer i = luaL_checkinteger(L, 2);
  if (i < 1 || i > b->count) return 0;
  lua_pushnumber(L, (lua_Number)b->elements[i - 1]);
  return 1;
}

/* bare_new(address, count): returns a view of floats. */
static int bare_new(lua_State *L) {
  Bare *b = lua_newuserdatauv(L, sizeof *b, 0);
  b->elements = lua_touserdata(L, 1);
  b->count = lua_tointeger(L, 2);
  luaL_newmetatable(L, bare_name);
  lua_pushcfunction(L, bare_string);
  lua_pushcclosure(L, bare_index, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}

/* ------------------------------------------------------------------------ */
/* The pairs.  Each Lua function below does one round's work. */

static const char setup[] =
  "local lze = require 'lze'\n"
  "local count, floats_take, bare_new = ...\n"
  "local t = {}\n"
  "for i = 1, count do t[i] = i + 0.5 end\n"
  "local x = lze.buffer('float', count)\n"
  "local bare = bare_new(x.handle, count)\n"
  "local function sum(v)\n"
  "  local s = 0.0\n"
  "  for i = 1, count do s = s + v[i] end\n"
  "  return s\n"
  "end\n"
  "local rows = {\n"
  "  {'a million floats from a table', 1.15,\n"
  "    function() floats_take(t) end,\n"
  "    function() x:write(t) end},\n"
  "  {'the same into a new buffer', 0,\n"
  "    function() floats_take(t) end,\n"
  "    function() lze.buffer('float', t):close() end},\n"
  "  {'reading a million elements', 1.5,\n"
  "    function() return sum(bare) end,\n"
  "    function() return sum(x) end},\n"
  "}\n"
  "x:write(t)\n"
  "assert(sum(x) == sum(bare) and x[count] == count + 0.5)\n"
  "for _, kib in ipairs {4, 64, 1024, 16384, 262144} do\n"
  "  local bytes, times = kib << 10, math.max(1, 16384 // kib)\n"
  "  local b = lze.buffer('uchar', bytes):fill(65)\n"
  "  b:string()\n"
  "  local p = bare_new(b.handle, bytes // 4)\n"
  "  assert(p:string() == b:string())\n"
  "  rows[#rows + 1] = {('a string of %d KiB'):format(kib), 1 / 0.95,\n"
  "    function() for _ = 1, times do p:string() end end,\n"
  "    function() for _ = 1, times do b:string() end end}\n"
  "end\n"
  "return rows\n";

static const char garbage[] =
  "local lze = require 'lze'\n"
  "local saxpy = lze.load('kernels/saxpy.spv').saxpy\n"
  "local x, y = lze.buffer('float', 64), lze.buffer('float', 64)\n"
  "local function grown(f, n)\n"
  "  collectgarbage() collectgarbage 'stop'\n"
  "  local before = collectgarbage 'count'\n"
  "  for _ = 1, n do f() end\n"
  "  local after = collectgarbage 'count'\n"
  "  collectgarbage 'restart'\n"
  "  return (after - before) * 1024\n"
  "end\n"
  "local function call() saxpy(64, 1.0, x, y) end\n"
  "local function launch() saxpy:launch(64, 1.0, x, y) end\n"
  "call() launch() lze.wait() grown(call, 1)\n"
  "local n = 10000\n"
  "print(('bytes of garbage of %d launches:  k(...) %d, k:launch(...) %d each')"
  ":format(n, grown(call, n), grown(launch, n) // n))\n";

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, compare);
  return values[n / 2];
}

static void check(lua_State *L, int status) {
  if (status != LUA_OK) die("%s", luaL_tolstring(L, -1, NULL));
}

/* Measures the pair at the top of the stack. */
static void pair_run(lua_State *L, int rounds) {
  static double ms[2][MAX_ROUNDS], ratios[MAX_ROUNDS];
  for (int r = -WARM_UP; r < rounds; r++) {
    for (int i = 0; i < 2; i++) {
      int way = (i + r + WARM_UP) % 2; /* each goes first in its turn */
      lua_gc(L, LUA_GCCOLLECT);
      lua_gc(L, LUA_GCSTOP);
      lua_rawgeti(L, -1, 3 + way);
      double start = now_ms();
      check(L, lua_pcall(L, 0, 0, 0));
      double end = now_ms();
      lua_gc(L, LUA_GCRESTART);
      if (r >= 0) ms[way][r] = end - start;
    }
    if (r >= 0) ratios[r] = ms[1][r] / ms[0][r];
  }
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  double limit = lua_tonumber(L, -1), ratio = median(ratios, rounds);
  printf("%-32s %9.3f %9.3f %6.2f", lua_tostring(L, -2),
         median(ms[0], rounds), median(ms[1], rounds), ratio);
  if (limit > 0) printf("  of %.2f", limit);
  putchar('\n');
  lua_pop(L, 2);
}

int main(int argc, char **argv) {
  char *end = "";
  long rounds = argc > 1 ? strtol(argv[1], &end, 10) : 15;
  if (*end != '\0' || rounds < 1 || rounds > MAX_ROUNDS)
    die("'%s' is not a number from 1 to %d", argv[1], MAX_ROUNDS);
  lua_State *L = luaL_newstate();
  if (L == NULL) die("no memory for a Lua state");
  luaL_openlibs(L);
  check(L, luaL_loadstring(L, setup));
  lua_pushinteger(L, FLOATS);
  lua_pushcfunction(L, floats_take);
  lua_pushcfunction(L, bare_new);
  check(L, lua_pcall(L, 3, 1, 0));
  printf("%ld rounds, medians in ms, and of the rounds' ratios\n", rounds);
  printf("%-32s %9s %9s %6s\n", "", "bare C", "lze", "ratio");
  for (int i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
    pair_run(L, (int)rounds);
    lua_pop(L, 1);
  }
  check(L, luaL_dostring(L, garbage));
  lua_close(L);
  return EXIT_SUCCESS;
}
