/*
 * lze_core.c - the module: its state, and luaopen_lze.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_progress.h"
#include "base/lze_show.h"
#include "base/lze_state.h"
#include "base/lze_struct.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_top.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "lze.h"

#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static int state_gc(lua_State *L) {
  lze_State *S = lze_find_state(L);
  if (S == NULL || lua_touserdata(L, 1) != (void *)S || S->closed) return 0;
  lze_boxes_close(L);
  lze_state_close(L, S);
  return 0;
}

/* Created first, so that its finalizer runs after the finalizers of all
   objects. */
static void state_new(lua_State *L) {
  lze_State *S = lua_newuserdatauv(L, sizeof *S, 0);
  memset(S, 0, sizeof *S);
  S->hook_ref = S->cache_ref = S->module_ref = LUA_NOREF;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  S->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lze_gc_init(S);
  lze_new_hidden(L, state_gc);
  lua_setmetatable(L, -2);
  static const char hooked[] = "for _ = 1, ... do end";
  if (luaL_loadbufferx(L, hooked, sizeof hooked - 1, "=lze", "t") != LUA_OK)
    lua_error(L);
  S->hook_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  S->cache_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lze_boxes_open(L);
  lze_keep_state(L);
}

/* Read a variable that is 0, 1 or `word`, if that is not NULL; returns
   `otherwise` if the variable is not set. */
static lze_Setting environment_word(lua_State *L, const char *name,
                                    const char *word, lze_Setting otherwise) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0') return otherwise;
  if (strcmp(value, "0") == 0) return LZE_SETTING_OFF;
  if (strcmp(value, "1") == 0) return LZE_SETTING_ON;
  if (word != NULL && strcmp(value, word) == 0) return LZE_SETTING_WORD;
  if (word != NULL)
    luaL_error(L, "%s=%s: 0, 1 or %s expected", name, value, word);
  luaL_error(L, "%s=%s: 0 or 1 expected", name, value);
  return otherwise;
}

static bool environment_flag(lua_State *L, const char *name, bool otherwise) {
  return environment_word(L, name, NULL, otherwise) == LZE_SETTING_ON;
}

/* LZE_PROGRESS applies until lze.progress sets something else. */
static void progress_configure(lua_State *L) {
  if (!lze_progress_is_said())
    lze_progress_switch(environment_flag(L, "LZE_PROGRESS", false));
}

/* Read the variables that configure a state. */
static void state_configure(lua_State *L, lze_State *S) {
  const char *policy = getenv("LZE_GROUP_POLICY");
  if (policy != NULL && *policy != '\0')
    S->policy = lze_check_policy(L, policy, "LZE_GROUP_POLICY");
  const char *groups = getenv("LZE_GROUP");
  if (groups != NULL && *groups != '\0' && S->groups == NULL) {
    lze_check_groups(L, groups);
    S->groups = strdup(groups);
    if (S->groups == NULL) lze_no_memory(L);
  }
  if (environment_flag(L, "LZE_TOP", true)) lze_top_open(S);
  S->check = environment_word(L, "LZE_CHECK", "lua", LZE_SETTING_OFF);
  S->sync = environment_flag(L, "LZE_SYNC", false) || S->check;
  S->lists = environment_word(L, "LZE_USE_IMMEDIATE_COMMANDLISTS", NULL,
                              LZE_SETTING_WORD);
  progress_configure(L);
}

/* lze.progress([on]) -> true if long operations are shown on the terminal */
static int core_progress(lua_State *L) {
  progress_configure(L);
  if (!lua_isnoneornil(L, 1)) {
    lze_argexpected(L, lua_isboolean(L, 1), 1, "boolean");
    lze_progress_switch(lua_toboolean(L, 1));
  }
  lua_pushboolean(L, lze_progress_on());
  return 1;
}

/* lze.type(v) -> "buffer", "device", ... or nil for other values */
static int core_type(lua_State *L) {
  luaL_checkany(L, 1);
  if (lze_is_array(L, 1)) lua_pushliteral(L, "array");
  else lua_pushstring(L, lze_box_kind(L, 1)); /* nil for NULL */
  return 1;
}

/* lze.default([device | selector | queue | context]) -> device
   Sets the defaults that apply if nothing else is given: the device, the
   context for devices of its driver, or the queue for its device and context.
   Returns the default device, with its context and queue. */
static int core_default(lua_State *L) {
  lua_settop(L, 1);
  lze_State *S = lze_state(L);
  lze_Queue *q = lze_test_queue(L, 1);
  if (lze_box_kind(L, 1) == lze_queue_kind) {
    q = lze_check_queue(L, 1);
    if (q->copy_engine)
      lze_argerror(L, 1, "a queue of a copy engine, which runs no kernels");
    S->device = q->device->base;
    lze_set_default_context(S, q->o.context);
    lze_set_default_queue(S, q);
    lze_cache_box(L, q); /* the same object for dev.queue */
  } else if (lze_box_kind(L, 1) == lze_context_kind) {
    lze_Context *c = lze_check_context(L, 1);
    S->device = lze_context_device(L, c)->base;
    lze_set_default_context(S, c);
  } else if (!lua_isnil(L, 1)) {
    lze_set_default_device(
        L, lze_device_argument(L, 1, 1, "device, queue or context"));
  }
  const lze_DeviceInfo *d = lze_push_default_device(L);
  lze_push_cached_queue(L, lze_push_device_context(L, d), d);
  return 3;
}

static const lze_Method functions[] = {
    {"default", core_default, LZE_GUARDED},
    {"progress", core_progress, LZE_UNGUARDED},
    {"type", core_type, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static void open_core(lua_State *L) {
  static const lze_ContextHooks hooks = {state_configure, lze_context_close,
                                         lze_context_drop};
  lze_state(L)->context_hooks = &hooks;
  lze_set_methods(L, functions, 0);
  lua_pushliteral(L, "lze " LZE_VERSION);
  lua_setfield(L, -2, "_VERSION");
  lua_pushliteral(L, LZE_VERSION);
  lua_setfield(L, -2, "version");
}

API int luaopen_lze(lua_State *L) {
  luaL_checkversion(L);
  lua_settop(L, 0);
  if (lze_find_state(L) == NULL) {
    state_new(L);
  } else if (lze_state(L)->module_ref != LUA_NOREF) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->module_ref);
    return 1;
  }
  lua_settop(L, 0);
  lua_newtable(L);
  lze_open_error(L);
  open_core(L);
  lze_open_context(L);
  lze_open_device(L);
  lze_open_info(L);
  lze_open_gc(L);
  lze_open_event(L);
  lze_open_queue(L);
  lze_open_memory(L);
  lze_open_struct(L);
  lze_open_element(L);
  lze_open_image(L);
  lze_open_module(L);
  lze_open_kernel(L);
  lze_open_lua_kernel(L);
  lze_open_lua_check(L);
  lze_open_work(L);
  lze_open_spirv(L);
  lze_open_compile(L);
  lze_open_wrap(L);
  lze_open_graph(L);
  lze_open_tune(L);
  lze_open_plan(L);
  lze_open_share(L);
  lze_open_parallel(L);
  lze_open_capi(L);
  lze_open_profile(L);
  lze_open_help(L);
  lze_open_arrays(L);
  lze_show_module(L);
  lze_open_names(L);
  lua_pushvalue(L, 1);
  lze_state(L)->module_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return 1;
}
