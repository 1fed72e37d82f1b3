/*
 * plan.c - runs of a plan, and the same launches one by one, for callgrind.
 * SPDX-License-Identifier: MIT
 *
 *   plan WAY RUNS TASKS
 *
 * A round is RUNS runs of a plan of TASKS tiny tasks: by the C interface
 * ("run"; "start", which waits for the events later), or by Lua ("lua"); or
 * the same number of single launches from Lua, and a wait ("launches").  One
 * round is a warm-up, the next has a name by which callgrind counts it.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lze.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char setup[] =
  "local lze = require 'lze'\n"
  "local runs, tasks = ...\n"
  "local add = lze.load('kernels/spec.spv').add\n"
  "local x, g = lze.buffer('int', 64), lze.graph()\n"
  "for i = 1, tasks do g:task('t' .. i, add, 64, x, 1) end\n"
  "local plan = g:compile()\n"
  "return plan, function()\n"
  "  for _ = 1, runs do plan:run() end\n"
  "end, function()\n"
  "  for _ = 1, runs do\n"
  "    for _ = 1, tasks do add(64, x, 1) end\n"
  "    lze.wait()\n"
  "  end\n"
  "end, function() assert(x[64] == 2 * runs * tasks, x[64]) end\n";

static const lze_Api *lze;
static lua_State *L;
static lze_PlanRef *plan;
static int runs, lua_ref, launches_ref;

static void must(int good, const char *message) {
  if (good) return;
  fprintf(stderr, "plan: %s\n", message);
  exit(EXIT_FAILURE);
}

static void call(int arguments, int results) {
  int status = lua_pcall(L, arguments, results, 0);
  if (status != LUA_OK) must(0, luaL_tolstring(L, -1, NULL));
}

static void call_kept(int reference) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, reference);
  call(0, 0);
}

static void round_run(void) {
  lze_ErrorInfo error = {0};
  for (int i = 0; i < runs; i++)
    if (lze->run_plan(L, plan, &error) != LZE_OK) must(0, error.message);
}

static void round_start(void) {
  lze_ErrorInfo error = {0};
  for (int i = 0; i < runs; i++) {
    if (lze->start_plan(L, plan, &error) != LZE_OK) must(0, error.message);
    lua_pop(L, 1);
  }
}

static void round_lua(void) { call_kept(lua_ref); }

static void round_launches(void) { call_kept(launches_ref); }

static const struct {
  const char *word;
  void (*round)(void);
} ways[] = {{"run", round_run},
            {"start", round_start},
            {"lua", round_lua},
            {"launches", round_launches}};

void bench_counted_round(void (*round)(void));
__attribute__((noinline)) void bench_counted_round(void (*round)(void)) {
  round();
  __asm__ volatile("");  /* prevents a tail call */
}

int main(int argc, char **argv) {
  must(argc == 4, "WAY RUNS TASKS expected");
  void (*round)(void) = NULL;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(ways[i].word, argv[1]) == 0) round = ways[i].round;
  if (round == NULL) {
    fprintf(stderr, "plan: run, start, lua or launches expected\n");
    return EXIT_FAILURE;
  }
  runs = atoi(argv[2]);
  L = luaL_newstate();
  must(L != NULL, "no memory");
  luaL_openlibs(L);
  must(luaL_loadstring(L, setup) == LUA_OK, "setup");
  lua_pushinteger(L, runs);
  lua_pushinteger(L, atoi(argv[3]));
  call(2, 4);
  lze = lze_find_api(L);
  must(lze != NULL, "another version of lze");
  lze_ErrorInfo error;
  must(lze->keep_plan(L, 1, &plan, &error) == LZE_OK, error.message);
  int check_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  launches_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_settop(L, 0);

  round();
  must(lze->wait_all(L, -1, &error) == LZE_OK, error.message);
  bench_counted_round(round);
  must(lze->wait_all(L, -1, &error) == LZE_OK, error.message);
  call_kept(check_ref);
  lze->drop_plan(plan);
  lua_close(L);
  return EXIT_SUCCESS;
}
