/*
 * lze_tune.c - lze.tune: group sizes found by measuring, kept on disk.
 * SPDX-License-Identifier: MIT
 *
 * An entry of the cache belongs to what a kernel was built from and for, its
 * name and the class of its range; policy "tuned" looks there and nowhere
 * else.  The launches that are measured go through k:launch like any other, so
 * every check and every wait that can be interrupted is that one's.
 */
#include "base/lze_box.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "lze_open.h"
#include "module/lze_lua_kernel.h"
#include "plan/lze_step.h"
#include "run/lze_buffer.h"
#include "run/lze_group.h"
#include "run/lze_kernel.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_SIZES = 32,
  /* Enough for a median that one disturbed round does not move, and still odd
     after the budget has cut it. */
  ROUNDS = 11, LEAST_ROUNDS = 5,
  /* Whose first time is so many times the best's has no chance. */
  HOPELESS = 2
};

static const uint64_t BUDGET_NS = 10000000000; /* for all rounds together */

/* The heuristic's size stays unless another one is better by this much, which
   medians of so few rounds cannot tell from chance. */
static const double NOISE = 1.02;

typedef struct Candidate {
  uint32_t size[3];
  bool live;
  int rounds;
  uint64_t ns[ROUNDS], median;
} Candidate;

/* Stack indices of what lze.tune works with. */
enum { AT_KERNEL = 1, AT_LAUNCH = 2, AT_ARGUMENTS = 3 };

typedef struct Tune {
  lze_Kernel *kernel;
  int last;                 /* stack index of the last argument */
  int saved;                /* of the table of {buffer, its copy} */
  uint64_t started;
  int count;
  Candidate all[MOST_SIZES + 4];
} Tune;

/* --- candidates --------------------------------------------------------- */

static void tune_add(Tune *t, const uint32_t size[3]) {
  for (int i = 0; i < t->count; i++)
    if (memcmp(t->all[i].size, size, sizeof t->all[i].size) == 0) return;
  Candidate *c = &t->all[t->count++];
  memset(c, 0, sizeof *c);
  memcpy(c->size, size, sizeof c->size);
  c->live = true;
}

/* The heuristic's own size comes first, then what the rule thinks well of and
   what other policies choose. */
static void tune_candidates(Tune *t, const lze_GroupInput *in) {
  static const lze_Policy others[] = {LZE_POLICY_LARGEST, LZE_POLICY_TORNADO,
                                      LZE_POLICY_ONEAPI_JL};
  uint32_t sizes[MOST_SIZES][3];
  int n = lze_group_candidates(in, sizes, MOST_SIZES);
  for (int i = 0; i < n; i++) tune_add(t, sizes[i]);
  for (size_t i = 0; n > 1 && i < sizeof others / sizeof *others; i++) {
    lze_GroupInput other = *in;
    lze_GroupChoice choice;
    other.policy = others[i];
    memset(other.given, 0, sizeof other.given);
    if (lze_group_choose(&other, &choice)) tune_add(t, choice.parts[0].group);
  }
}

/* --- the buffers it writes ---------------------------------------------- */

/* Call a method of the value at `object` with what is on the stack after it:
   results replace these. [-count, +results] */
static void call_method(lua_State *L, int object, const char *method,
                        int count, int results) {
  object = lua_absindex(L, object);
  lua_getfield(L, object, method);
  lua_pushvalue(L, object);
  if (count > 0) lua_rotate(L, -(count + 2), 2);
  lua_call(L, count + 1, results);
}

/* Keep a copy of the buffer on the top of the stack. [-1, +0] */
static void save_buffer(lua_State *L, Tune *t) {
  int buffer = lua_gettop(L);
  if (luaL_len(L, buffer) == 0) {
    lua_pop(L, 1);
    return;
  }
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, buffer);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, lua_upvalueindex(1)); /* lze.buffer */
  lua_getfield(L, buffer, "type");
  lua_pushinteger(L, luaL_len(L, buffer));
  lua_createtable(L, 0, 4);
  static const char *const same[] = {"usage", "device", "context"};
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, buffer, same[i]);
    lua_setfield(L, -2, same[i]);
  }
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "zero");
  lua_call(L, 3, 1);
  lua_pushvalue(L, buffer);
  call_method(L, -2, "copy", 1, 0);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, t->saved, (lua_Integer)lua_rawlen(L, t->saved) + 1);
  lua_settop(L, buffer - 1);
}

/* Save what the kernel may write: arguments, and all that `uses` names. */
static void save_all(lua_State *L, Tune *t) {
  const spirv_kernel *info = t->kernel->info;
  for (uint32_t i = 0; i < info->arg_count; i++) {
    lua_pushvalue(L, AT_ARGUMENTS + (int)i);
    if ((info->args[i].access & SPIRV_ACCESS_WRITE) &&
        lze_test_buffer(L, -1) != NULL)
      save_buffer(L, t);
    else
      lua_pop(L, 1);
  }
  lua_getfield(L, AT_LAUNCH, "uses");
  if (lze_test_buffer(L, -1) != NULL) {
    save_buffer(L, t);
    return;
  }
  int uses = lua_gettop(L);
  lua_Integer n = lua_istable(L, uses) ? (lua_Integer)lua_rawlen(L, uses) : 0;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, uses, i);
    save_buffer(L, t);
  }
  lua_settop(L, uses - 1);
}

/* Have all of them hold again what they did; behind whatever still runs. */
static void restore_all(lua_State *L, const Tune *t) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, t->saved);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, t->saved, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    call_method(L, -2, "copy", 1, 0);
    lua_pop(L, 2);
  }
}

/* --- measuring ---------------------------------------------------------- */

/* Launch with a candidate's size and wait; the time it took on the device. */
static uint64_t tune_launch(lua_State *L, Tune *t, const Candidate *c) {
  lua_createtable(L, 3, 0);
  for (int d = 0; d < 3; d++) {
    lua_pushinteger(L, c->size[d]);
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, AT_LAUNCH, "group");
  int count = 0;
  for (int i = AT_LAUNCH; i <= t->last; i++, count++) lua_pushvalue(L, i);
  call_method(L, AT_KERNEL, "launch", count, 1);
  call_method(L, -1, "wait", 0, 0);
  call_method(L, -1, "time", 0, 1);
  lua_getfield(L, -1, "kernel_ns");
  uint64_t ns = (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 3);
  restore_all(L, t);
  return ns;
}

static int compare_ns(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void candidate_settle(Candidate *c) {
  qsort(c->ns, (size_t)c->rounds, sizeof *c->ns, compare_ns);
  c->median = c->ns[c->rounds / 2];
}

/* Called with (tune, kernel, launch table, arguments ...) in place: launches
   each once untimed, because that compiles, then times all in turns. */
static int tune_measure(lua_State *L) {
  Tune *t = lua_touserdata(L, -1);
  lua_pop(L, 1);
  luaL_checkstack(L, t->last + 16, NULL);
  for (int i = 0; i < t->count; i++) tune_launch(L, t, &t->all[i]);
  t->started = lze_now_ns();
  for (int round = 0; round < ROUNDS; round++) {
    if (round >= LEAST_ROUNDS && round % 2 != 0 &&
        lze_now_ns() - t->started > BUDGET_NS)
      break;
    for (int i = 0; i < t->count; i++) {
      /* Nobody always comes first. */
      Candidate *c = &t->all[(i + round) % t->count];
      if (c->live) c->ns[c->rounds++] = tune_launch(L, t, c);
    }
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < t->count; i++)
      if (t->all[i].live && t->all[i].ns[0] < best) best = t->all[i].ns[0];
    for (int i = 1; round == 0 && i < t->count; i++)
      if (t->all[i].ns[0] / HOPELESS > best) t->all[i].live = false;
  }
  return 0;
}

/* --- lze.tune ----------------------------------------------------------- */

/* Make a launch table of what is at AT_LAUNCH, without what lze.tune has to
   decide itself. */
static void launch_copy(lua_State *L) {
  static const char *const taken[] = {"group", "policy", "after", "signal"};
  lua_newtable(L);
  if (!lua_istable(L, AT_LAUNCH)) {
    lua_pushvalue(L, AT_LAUNCH);
    lua_rawseti(L, -2, 1);
  } else {
    for (lua_pushnil(L); lua_next(L, AT_LAUNCH) != 0;) {
      for (int i = 0; i < 4; i++)
        if (lua_type(L, -2) == LUA_TSTRING &&
            strcmp(lua_tostring(L, -2), taken[i]) == 0)
          luaL_error(L, "lze.tune: %s: not in a launch table that is measured",
                     taken[i]);
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -4);
    }
  }
  lua_replace(L, AT_LAUNCH);
}

static void push_candidate(lua_State *L, const Candidate *c) {
  lua_createtable(L, 0, 4);
  lua_createtable(L, 3, 0);
  for (int d = 0; d < 3; d++) {
    lua_pushinteger(L, c->size[d]);
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "group");
  lua_pushinteger(L, (lua_Integer)c->median);
  lua_setfield(L, -2, "ns");
  lua_pushinteger(L, c->rounds);
  lua_setfield(L, -2, "rounds");
}

static int compare_candidates(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (x->rounds != y->rounds && (x->rounds == 1 || y->rounds == 1))
    return x->rounds == 1 ? 1 : -1;
  return compare_ns(&x->median, &y->median);
}

/* lze.tune(k, range | launch_table, ...) -> {group, ns, stored, results} */
static int core_tune(lua_State *L) {
  const lze_KernelBox *b = lze_test_box(L, AT_KERNEL, lze_kernel_kind);
  lze_argexpected(L, b != NULL, AT_KERNEL, "kernel");
  if (!lze_kernel_is_open(L, AT_KERNEL))
    return luaL_error(L, "the kernel is closed");
  int count = lua_gettop(L) - AT_LAUNCH;
  if (count < 0) return luaL_error(L, "%s: no global size", b->name);
  lze_Kernel *k = lze_kernel_resolve(L, AT_KERNEL, NULL, AT_LAUNCH, &count);
  int last = lua_gettop(L);
  luaL_checkstack(L, last + 24, NULL);
  launch_copy(L);
  Tune *t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = (Tune){.kernel = k, .last = last};
  lua_newtable(L);
  t->saved = lua_gettop(L);
  k = t->kernel = lze_test_kernel(L, AT_KERNEL);
  if (k == NULL || k->o.closed) return luaL_error(L, "the kernel is closed");
  /* Every argument is checked before anything is allocated. */
  for (int i = AT_LAUNCH; i <= last; i++) lua_pushvalue(L, i);
  bool empty = lze_task_check(L, k, NULL, t->saved + 1, last - AT_LAUNCH,
                              lze_use_nothing, NULL) == NULL;
  lua_settop(L, t->saved);
  if (empty)
    return luaL_error(L, "lze.tune: %s: an empty range runs nothing", k->name);
  lze_GroupInput in = *lze_kernel_input(k);
  tune_candidates(t, &in);
  save_all(L, t);

  /* However it ends, the buffers hold what they did. */
  lua_pushcfunction(L, tune_measure);
  for (int i = 1; i <= t->saved; i++) lua_pushvalue(L, i);
  lua_pushlightuserdata(L, t);
  int status = lua_pcall(L, t->saved + 1, 0, 0);
  restore_all(L, t);
  if (status != LUA_OK) return lua_error(L);

  for (int i = 0; i < t->count; i++) candidate_settle(&t->all[i]);
  Candidate usual = t->all[0];
  qsort(t->all, (size_t)t->count, sizeof *t->all, compare_candidates);
  const Candidate *best = &t->all[0];
  if ((double)usual.median <= (double)best->median * NOISE) best = &usual;
  push_candidate(L, best);
  lua_pushboolean(L, !k->o.closed && lze_tuned_keep(k, &in, best->size));
  lua_setfield(L, -2, "stored");
  if (!k->o.closed) lze_kernel_forget(k);
  lua_createtable(L, t->count, 0);
  for (int i = 0; i < t->count; i++) {
    push_candidate(L, &t->all[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "results");
  return 1;
}

/* The table of the module is on the top of the stack. */
void lze_open_tune(lua_State *L) {
  lua_getfield(L, -1, "buffer");
  lua_pushcclosure(L, core_tune, 1);
  lua_setfield(L, -2, "tune");
}
