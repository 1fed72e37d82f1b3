/*
 * states_test.c - many Lua states in one process, on one thread and on many.
 * SPDX-License-Identifier: MIT
 *
 *   states_test [STATES]   opens and closes STATES states, three times over
 *
 * `require "lze"` must find the module.  The results of each state are checked.
 * Built with -fsanitize=thread, it also reports data races.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 4 };

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1           /* retains freed memory for a while */
enum { DEFAULT_STATES = 10 };
#ifdef __SANITIZE_THREAD__
/* TSan's lock order record has a lock that a fork may find held, by a thread
   that the child lacks; the other tests use that record. */
__attribute__((visibility("default"))) const char *
__tsan_default_options(void);
const char *__tsan_default_options(void) { return "detect_deadlocks=0"; }
#endif
#else
#define SANITIZED 0
enum { DEFAULT_STATES = 300 };
#endif

static int failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void check(bool ok, const char *what, const char *got) {
  pthread_mutex_lock(&lock);
  printf("%s - %s%s%s\n", ok ? "ok" : "not ok", what, ok ? "" : ": ",
         ok ? "" : got);
  fflush(stdout);
  if (!ok) failures++;
  pthread_mutex_unlock(&lock);
}

static lua_State *state_new(void) {
  lua_State *L = luaL_newstate();
  if (L == NULL) abort();
  luaL_openlibs(L);
  return L;
}

/* Runs a script with a number as `...`; its error is a failure named `what`. */
static bool state_run(lua_State *L, const char *what, const char *script,
                      int number) {
  if (luaL_loadstring(L, script) == LUA_OK) {
    lua_pushinteger(L, number);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK) return true;
  }
  check(false, what, luaL_tolstring(L, -1, NULL));
  lua_pop(L, 2);
  return false;
}

/* --- what the states do ------------------------------------------------- */

/* Everything lze has, with this state's own numbers. */
static const char everything[] =
    "local n = ...\n"
    "require 'spec.support.everything' (function(name, f)\n"
    "  local ok, err = pcall(f)\n"
    "  if not ok then error(name .. ': ' .. tostring(err), 0) end\n"
    "end)\n"
    "local lze = require 'lze'\n"
    "local x = lze.buffer('int', 1000)\n"
    "local m = lze.load 'kernels/spec.spv'\n"
    "for _ = 1, 100 do m.add(1000, x, n) end\n"
    "for i = 1, 1000 do assert(x[i] == 100 * n) end\n";

/* A little work, left in flight. */
static const char little[] =
    "local lze = require 'lze'\n"
    "local m = lze.load 'kernels/spec.spv'\n"
    "local x = lze.buffer('int', {1, 2, 3})\n"
    "m.add(3, x, ...)\n"
    "assert(x[3] == 3 + ...)\n"
    "m.add(3, x, 1)\n"
    "local q = lze.queue {mode = 'batched'}\n"
    "q:launch(m.add, 3, lze.buffer('int', 3), 1)\n"
    "m.spin:launch(4, lze.buffer('uint', 4), 100000):fd()\n";

/* Objects that a finalizer makes while Lua closes the state, which finalizes
   none of them. */
static const char late[] =
    "local lze = require 'lze'\n"
    "local m = lze.load 'kernels/spec.spv'\n"
    "keep = setmetatable({}, {__gc = function()\n"
    "  for _ = 1, 4 do\n"
    "    local ev = lze.queue():launch(m.add, 3, lze.buffer('int', 3), 1)\n"
    "    assert(ev:wait(60))\n"
    "  end\n"
    "end})\n";

static const char parts[] =
    "local lze = require 'lze'\n"
    "mod = mod or lze.load 'kernels/spec.spv'\n"
    "x = x or lze.buffer('int', 1)\n"
    "mod.add(1, x, 1)\n"
    "steps = (steps or 0) + 1\n"
    "assert(x[1] == steps)\n";

/* --- threads ------------------------------------------------------------ */

typedef struct Job {
  const char *what, *script;
  int number, states;
  pthread_barrier_t *start;
} Job;

static void *job_run(void *argument) {
  const Job *j = argument;
  pthread_barrier_wait(j->start);
  for (int i = 0; i < j->states; i++) {
    lua_State *L = state_new();
    state_run(L, j->what, j->script, j->number + i);
    lua_close(L);
  }
  return NULL;
}

/* Each thread opens `states` states, one after the other. */
static void at_once(const char *what, const char *script, int states) {
  pthread_t threads[THREADS];
  Job jobs[THREADS];
  pthread_barrier_t start;
  int before = failures;
  pthread_barrier_init(&start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (Job){what, script, 1 + 100 * i, states, &start};
    if (pthread_create(&threads[i], NULL, job_run, &jobs[i]) != 0) abort();
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
  if (failures == before) check(true, what, "");
}

static void *hand_over(void *L) {
  state_run(L, "a state handed from thread to thread", parts, 0);
  return NULL;
}

static void *hand_over_and_close(void *L) {
  hand_over(L);
  lua_close(L);
  return NULL;
}

static void test_hand_over(void) {
  lua_State *L = state_new();
  int before = failures;
  for (int i = 0; i < 5; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, i < 4 ? hand_over : hand_over_and_close,
                       L) != 0)
      abort();
    pthread_join(thread, NULL);
  }
  if (failures == before)
    check(true, "a state handed from thread to thread", "");
}

/* --- states one after the other ----------------------------------------- */

static long resident_kib(void) {
  char line[128];
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fgets(line, sizeof line, f) == NULL ||
      sscanf(line, "%*d %ld", &pages) != 1)
    abort();
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void states_run(const char *what, const char *script, int states) {
  for (int i = 0; i < states; i++) {
    lua_State *L = state_new();
    state_run(L, what, script, i);
    lua_close(L);
  }
}

/* Once the allocators' arenas have filled, `states` more states leave the
   process as large as it was, except for half a KiB each: PoCL's only LLVM
   context retains some constants of every program that it reads. */
static void test_growth(const char *what, const char *script, int states) {
  char text[128];
  states_run(what, script, 2 * states);
  long first = resident_kib();
  states_run(what, script, states);
  long grown = resident_kib() - first;
  snprintf(text, sizeof text, "%d states grew the process by %ld KiB", states,
           grown);
  printf("%s: %s\n", what, text);
  check(SANITIZED || grown <= 512 + states / 2, what, text);
}

/* --- opening ------------------------------------------------------------ */

static void test_opening(void) {
  static const char twice[] =
      "local lze = require 'lze'\n"
      "local open = assert(package.loadlib(package.searchpath('lze',\n"
      "  package.cpath), 'luaopen_lze'))\n"
      "local x = lze.buffer('int', {1, 2, 3})\n"
      "assert(open() == lze and open() == lze)\n"
      "package.loaded.lze = nil\n"
      "assert(require 'lze' == lze)\n"
      "lze.load 'kernels/spec.spv'.add(3, x, 1)\n"
      "assert(x[3] == 4)\n";
  static const char coroutine[] =
      "local mod, x\n"
      "local co = coroutine.create(function()\n"
      "  local lze = require 'lze'\n"
      "  x = lze.buffer('int', {1, 2, 3})\n"
      "  mod = lze.load 'kernels/spec.spv'\n"
      "  mod.add(3, x, 1)\n"
      "  coroutine.yield()\n"
      "end)\n"
      "assert(coroutine.resume(co))\n"
      "co = nil\n"
      "collectgarbage() collectgarbage()\n"
      "mod.add(3, x, 1)\n"
      "assert(x[3] == 5)\n"
      "local lze = require 'lze'\n"
      "assert(lze.wait(60) and lze.buffer('int', 1)[1] == 0)\n"
      "debug.sethook(function() end, 'c')\n"
      "mod.spin(4, lze.buffer('uint', 4), 10000000)\n"
      "assert(lze.wait(60))\n";
  int before = failures;
  states_run("opened twice", twice, 1);
  states_run("opened in a coroutine that is gone", coroutine, 1);
  if (failures == before)
    check(true, "opened twice, and in a coroutine that is gone", "");
}

/* --- MPI ---------------------------------------------------------------- */

/* MPI belongs to the process: one state receives what another has sent, and
   later states can use it. */
static void test_mpi(void) {
  static const char sends[] =
      "local lze, world = require 'lze', require 'lze.mpi'.world()\n"
      "world:send(lze.buffer('int', {1, 2, 3}), 0, {tag = 7})\n"
      "world:send({name = 'first'}, 0)\n"
      "pending = world:irecv(lze.buffer('int', 1), 0, {tag = 8})\n";
  static const char receives[] =
      "local lze, world = require 'lze', require 'lze.mpi'.world()\n"
      "local x = lze.buffer('int', 3)\n"
      "local source, tag, count = world:recv(x, 0)\n"
      "assert(source == 0 and tag == 7 and count == 3 and x[3] == 3)\n"
      "assert(world:recv(nil, 0).name == 'first')\n"
      "world:close()\n"
      "assert(require 'lze.mpi'.world():allreduce(x, 'sum')[2] == 2)\n";
  int before = failures;
  lua_State *first = state_new(), *second = state_new();
  state_run(first, "MPI in one state", sends, 0);
  state_run(second, "MPI in another state", receives, 0);
  state_run(first, "MPI in one state again", sends, 0);
  lua_close(first);
  state_run(second, "MPI after a state has ended", receives, 0);
  lua_close(second);
  states_run("MPI after all states have ended", sends, 1);
  states_run("MPI in later states", receives, 1);
  if (failures == before) check(true, "states share MPI", "");
}

int main(int argc, char **argv) {
  int states = argc > 1 ? atoi(argv[1]) : DEFAULT_STATES;
  /* The kernel would make freed memory resident again, in huge pages, some
     seconds after the advice to free it. */
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  /* First, so that the threads meet while the drivers are opened. */
  at_once("states open the drivers at once", little, 1);
  at_once("states do everything at once", everything, 1);
  at_once("states come and go at once", little, 10);
  test_hand_over();
  test_opening();
  test_mpi();
  test_growth("states that only open lze", "require 'lze'", states);
  test_growth("states that work", little, states);
  test_growth("states with finalizers that work", late, states);
  printf("%s\n", failures == 0 ? "all passed" : "failed");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
