/*
 * lze_tune.c - the C functions that lua/tune.lua uses.
 * SPDX-License-Identifier: MIT
 *
 * The measured launches go through k:launch like any other, so they have the
 * same checks and the same waits, which can be interrupted.
 */
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_open.h"
#include "device/lze_loader.h"
#include "launch/lze_group.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"
#include "plan/lze_step.h"
#include "queue/lze_readers.h"

#include <string.h>

enum { MOST_SIZES = 32 };

/* Stack indices of the kernel and its launch. */
enum { AT_KERNEL = 1, AT_LAUNCH = 2, AT_ARGUMENTS = 3 };

static void push_size(lua_State *L, const uint32_t size[3]) {
  lua_createtable(L, 3, 0);
  for (int d = 0; d < 3; d++) {
    lua_pushinteger(L, size[d]);
    lua_rawseti(L, -2, d + 1);
  }
}

/* Pushes the arguments that the kernel may write: i -> true, or "image". */
static void push_writes(lua_State *L, const lze_Kernel *k) {
  lua_newtable(L);
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const spirv_arg *arg = &k->info->args[i];
    if (arg->cls == SPIRV_ARG_IMAGE && k->arguments[i].write)
      lua_pushliteral(L, "image");
    else if (arg->access & SPIRV_ACCESS_WRITE)
      lua_pushboolean(L, true);
    else
      continue;
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* check(k, launch, ...) -> {argument, ..., n = , kernel = , name = , writes =
   , input = , empty = }: the kernel and arguments to launch, after all checks
   of a launch; for a Lua kernel, its variant and the variant's arguments */
static int tune_check(lua_State *L) {
  int count = lua_gettop(L) - AT_LAUNCH;
  lze_Kernel *k = lze_kernel_resolve(L, AT_KERNEL, NULL, AT_LAUNCH, &count);
  int last = lua_gettop(L);
  luaL_checkstack(L, last + 24, NULL);
  for (int i = AT_LAUNCH; i <= last; i++) lua_pushvalue(L, i);
  bool empty = lze_task_check(L, k, NULL, last + 1, last - AT_LAUNCH,
                              lze_use_nothing, NULL) == NULL;
  last -= (int)k->info->size_count; /* each launch determines these itself */
  lua_settop(L, last);
  lua_createtable(L, count, 6);
  for (int i = AT_ARGUMENTS; i <= last; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, i - AT_ARGUMENTS + 1);
  }
  lua_pushinteger(L, last - AT_LAUNCH);
  lua_setfield(L, -2, "n");
  lua_pushvalue(L, AT_KERNEL);
  lua_setfield(L, -2, "kernel");
  lua_pushstring(L, k->name);
  lua_setfield(L, -2, "name");
  lua_pushboolean(L, empty);
  lua_setfield(L, -2, "empty");
  push_writes(L, k);
  lua_setfield(L, -2, "writes");
  if (empty) return 1;
  lze_GroupInput *input = lua_newuserdatauv(L, sizeof *input, 0);
  *input = *lze_kernel_input(k);
  lua_setfield(L, -2, "input");
  return 1;
}

/* sizes(input) -> the sizes that the rule recommends, the best first */
static int tune_sizes(lua_State *L) {
  uint32_t sizes[MOST_SIZES][3];
  int n = lze_group_candidates(lua_touserdata(L, 1), sizes, MOST_SIZES);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_size(L, sizes[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* choose(input, policy) -> the size that a policy chooses, or nil */
static int tune_choose(lua_State *L) {
  lze_GroupInput input = *(const lze_GroupInput *)lua_touserdata(L, 1);
  lze_GroupChoice choice;
  input.policy = lze_check_policy(L, luaL_checkstring(L, 2), "lze.tune");
  memset(input.given, 0, sizeof input.given);
  if (!lze_group_choose(&input, &choice)) return 0;
  push_size(L, choice.parts[0].group);
  return 1;
}

/* buffer_of(v) -> the buffer that v is, or an array's buffer, or nil */
static int tune_buffer_of(lua_State *L) {
  lua_settop(L, 1);
  if (lze_test_buffer(L, 1) == NULL) return 0;
  if (lze_is_array(L, 1)) lze_push_array_buffer(L, 1);
  return 1;
}

/* keep(k, input, size) -> true if the result was stored and can be read
   again */
static int tune_keep(lua_State *L) {
  lze_Kernel *k = lze_test_kernel(L, 1);
  uint32_t size[3];
  for (int d = 0; d < 3; d++) {
    lua_rawgeti(L, 3, d + 1);
    size[d] = (uint32_t)lua_tointeger(L, -1);
  }
  bool open = k != NULL && !k->o.closed;
  lua_pushboolean(L, open && lze_tuned_keep(k, lua_touserdata(L, 2), size));
  if (open) lze_kernel_forget(k);
  return 1;
}

/* now() -> nanoseconds */
static int tune_now(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_now_ns());
  return 1;
}

static const unsigned char tune_text[] = {
#include "lua/tune.h"
};
static const lze_Method primitives[] = {
    {"check", tune_check, LZE_UNGUARDED},
    {"sizes", tune_sizes, LZE_UNGUARDED},
    {"choose", tune_choose, LZE_UNGUARDED},
    {"buffer", lze_buffer_new, LZE_UNGUARDED},
    {"buffer_of", tune_buffer_of, LZE_UNGUARDED},
    {"keep", tune_keep, LZE_UNGUARDED},
    {"now", tune_now, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Script script = {"lze tune.lua", tune_text, sizeof tune_text,
                                  primitives};

/* lze.tune(k, range | launch_table, ...) -> {group, ns, stored, results} */
static int core_tune(lua_State *L) {
  const lze_KernelBox *b = lze_test_box(L, AT_KERNEL, lze_kernel_kind);
  lze_argexpected(L, b != NULL, AT_KERNEL, "kernel");
  if (!lze_kernel_is_open(L, AT_KERNEL))
    return luaL_error(L, "the kernel is closed");
  if (lua_gettop(L) < AT_LAUNCH)
    return luaL_error(L, "%s: no global size", b->name);
  lze_script_call(L, &script, "tune", lua_gettop(L), 1);
  return 1;
}

/* It waits, so it is not guarded. */
static const lze_Method functions[] = {{"tune", core_tune, LZE_UNGUARDED},
                                       {NULL, NULL, LZE_UNGUARDED}};

void lze_open_tune(lua_State *L) { lze_set_methods(L, functions, 0); }
