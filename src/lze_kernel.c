/*
 * lze_kernel.c - kernels, their arguments and their launches.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_kernel.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_progress.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_group.h"
#include "launch/lze_launch.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <string.h>

/* Returns the kernel at 1; for a Lua kernel the variant that was launched
   last. */
static lze_Kernel *kernel_check(lua_State *L) { return lze_kernel_last(L, 1); }

/* Returns the kernel to launch with the arguments behind the one at `arg`: a
   range and *count arguments, counted here.  A Lua kernel whose launch is
   checked is inserted below them all: *below is 1, else 0. */
static lze_Kernel *launched(lua_State *L, int arg, const lze_Place *place,
                            int *count, int *below) {
  lze_KernelBox *b = lze_check_box(L, arg, lze_kernel_kind);
  *below = 0;
  *count = lua_gettop(L) - arg - 1;
  luaL_checkstack(L, 12, NULL);
  if (!b->is_lua && (b->kernel == NULL || b->kernel->o.closed))
    luaL_error(L, "%s is closed", b->name);
  if (*count < 0) luaL_error(L, "%s: no global size", b->name);
  if (b->state->arrays) lze_arrays_evaluate(L, arg + 1, arg + 1 + *count);
  if (!b->is_lua) {
    if (b->kernel->info->size_count != 0)
      lze_push_sizes(L, b->kernel, arg + 1, count);
    return b->kernel;
  }
  lze_configure(L); /* reads LZE_CHECK */
  if (lze_lua_kernel_checks(b) != LZE_SETTING_OFF) {
    lua_pushvalue(L, arg);
    lua_insert(L, 1);
    *below = 1;
    arg++;
  }
  return lze_lua_kernel_resolve(L, b, arg, place, *below != 0, arg + 1, count);
}

/* k(range | launch_table, ...): enqueue, return nothing. */
static int kernel_call(lua_State *L) {
  int count, below;
  lze_Kernel *k = launched(L, 1, NULL, &count, &below);
  lze_kernel_run(L, k, below + 2, count, NULL, 0);
  if (below != 0) lze_lua_kernel_report(L, 1, k, 3);
  return 0;
}

/* k:launch(range | launch_table, ...) -> event */
static int kernel_launch(lua_State *L) {
  int count, below;
  lze_Kernel *k = launched(L, 1, NULL, &count, &below);
  lze_push_event(L);
  int event = lua_gettop(L);
  lze_kernel_run(L, k, below + 2, count, NULL, event);
  if (below != 0) lze_lua_kernel_report(L, 1, k, 3);
  lua_settop(L, event);
  return 1;
}

/* q:launch(k, range | launch_table, ...) -> event */
static int queue_launch(lua_State *L) {
  lze_Queue *q = lze_check_queue(L, 1);
  const lze_Place place = {q->o.context, q->device};
  int count, below;
  lze_Kernel *k = launched(L, 2, &place, &count, &below);
  lze_launch_check_queue(L, k, q);
  lze_push_event(L);
  int event = lua_gettop(L);
  lze_kernel_run(L, k, below + 3, count, q, event);
  if (below != 0) lze_lua_kernel_report(L, 1, k, 4);
  lua_settop(L, event);
  return 1;
}

/* k:group(nx [, ny [, nz]] | launch_table) -> gx, gy, gz, why
   The group that a launch of that range would get, and the reason as text. */
static int kernel_group(lua_State *L) {
  lze_Kernel *k = kernel_check(L);
  lze_Launch l = {.policy = k->o.context->state->policy};
  int n = lua_gettop(L) - 1;
  if (n < 1) return luaL_error(L, "%s: no global size", k->name);
  if (!lua_istable(L, 2)) {
    if (n > 3)
      return luaL_error(L, "%s: at most three dimensions expected, got %d",
                        k->name, n);
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      lua_pushvalue(L, i + 1);
      lua_rawseti(L, -2, i);
    }
    lua_replace(L, 2);
  }
  lua_settop(L, 2);
  lze_launch_read(L, k, 2, &l);
  lze_launch_check_table(L, k, &l);
  if (l.empty) {
    for (int i = 0; i < 3; i++) lua_pushinteger(L, 1);
    lua_pushliteral(L, "an empty range runs nothing");
    return 4;
  }
  const lze_GroupChoice *c =
      lze_launch_group(L, k, &l, lze_kernel_local_bytes(k));
  for (int i = 0; i < 3; i++) lua_pushinteger(L, c->parts[0].group[i]);
  lua_pushstring(L, c->why);
  return 4;
}

/* Returns true if the table behind the range of k:prepare holds options: an
   array is a vector, and another table may be the first argument if that is a
   struct. */
static bool prepare_has_options(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (!lua_istable(L, 3) || lua_rawlen(L, 3) > 0) return false;
  if (b->kernel == NULL || b->kernel->info->arg_count == 0 ||
      b->kernel->info->args[0].type.kind != SPIRV_KIND_STRUCT)
    return true;
  bool named = lze_getoption(L, 3, "background") != LUA_TNIL;
  lua_pop(L, 1);
  return named;
}

/* k:prepare(range | launch_table [, options] [, ...]) -> boolean
   Have the driver compile what this launch would need, without running it;
   false if the driver does not offer that.  The arguments are checked if
   given. */
static int kernel_prepare(lua_State *L) {
  static const char *const known[] = {"background", NULL};
  lze_Prepare how = LZE_PREPARE_WAIT;
  if (prepare_has_options(L)) {
    lze_check_keys(L, 3, "prepare option", known);
    if (lze_opt_boolean(L, 3, "background", false)) how = LZE_PREPARE_START;
    lua_remove(L, 3);
  }
  int count = 0, below = 0;
  lze_Kernel *k = lua_gettop(L) == 2
                      ? kernel_check(L)
                      : launched(L, 1, NULL, &count, &below);
  if (below != 0) lua_remove(L, 1);
  lze_Launch l = {.policy = k->o.context->state->policy};
  lze_launch_read(L, k, 2, &l);
  lze_launch_check_table(L, k, &l);
  const lze_GroupChoice *choice =
      count > 0   ? lze_launch_check(L, k, &l, 3, count)
      : !l.empty ? lze_launch_group(L, k, &l, lze_kernel_local_bytes(k))
                  : NULL;
  ze_result_t r = ZE_RESULT_SUCCESS;
  const uint64_t start = lze_now_ns();
  lze_Progress progress;
  lze_progress_begin(&progress, "compiling", k->name);
  if (!l.empty) r = lze_launch_prepare(k, choice, how);
  if (r == ZE_RESULT_ERROR_NOT_AVAILABLE) {
    how = LZE_PREPARE_WAIT;
    r = lze_launch_prepare(k, choice, how);
  }
  lze_progress_end(&progress);
  lze_State *S = k->o.context->state;
  if (S->recorder != NULL)
    lze_record_host(L, S, LZE_RECORD_BUILD, k->name, start, 0);
  const bool done = r == ZE_RESULT_SUCCESS || r == ZE_RESULT_NOT_READY;
  if (!done && r != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    lze_launch_fail(L, k, r, lze_prepare_name(how));
  if (lze_log_builds && done && !l.empty) {
    const uint32_t *g = choice->parts[0].group;
    lze_log_build(lua_pushfstring(L, "%s for groups of {%d, %d, %d}", k->name,
                                  (int)g[0], (int)g[1], (int)g[2]),
                  start, 0,
                  r == ZE_RESULT_NOT_READY ? "begun" : "prepared");
  }
  lua_pushboolean(L, done);
  return 1;
}

/* The struct stays until __gc, for a launch during which a hook closed it. */
static int kernel_close(lua_State *L) {
  lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (b->is_lua) lze_lua_kernel_close(L, 1);
  if (b->kernel != NULL) lze_close(&b->kernel->o);
  return 0;
}

static int kernel_gc(lua_State *L) {
  lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  lze_Kernel *k = b->kernel;
  if (b->is_lua) lze_lua_kernel_release(L, 1);
  b->kernel = NULL;
  if (k != NULL) lze_disown(&k->o);
  return 0;
}

static int kernel_tostring(lua_State *L) {
  const lze_KernelBox *box = lze_check_box(L, 1, lze_kernel_kind);
  const lze_Kernel *k = box->kernel;
  if (box->is_lua) {
    lze_lua_kernel_tostring(L, 1);
    return 1;
  }
  if (k == NULL || k->o.closed) {
    lua_pushfstring(L, "%s (closed)", box->name);
    return 1;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, k->name);
  luaL_addchar(&b, '(');
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const spirv_arg *a = &k->info->args[i];
    if (i > 0) luaL_addstring(&b, ", ");
    if (a->cls == SPIRV_ARG_LOCAL) luaL_addstring(&b, "local ");
    if (a->cls == SPIRV_ARG_POINTER && a->is_const)
      luaL_addstring(&b, "const ");
    const char *type = lze_argument_type_name(L, a);
    size_t length = strlen(type);
    bool pointer = length > 0 && type[length - 1] == '*';
    lua_pushlstring(L, type, length - pointer);
    lua_remove(L, -2);
    luaL_addvalue(&b);
    luaL_addstring(&b, pointer ? " *" : " ");
    luaL_addstring(&b, a->name != NULL ? a->name : "?");
  }
  luaL_addchar(&b, ')');
  luaL_pushresult(&b);
  return 1;
}

static int field_name(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (b->is_lua && !b->closed) /* it has a name before it is compiled */
    lua_pushstring(L, strchr(b->name, ' ') + 1);
  else
    lua_pushstring(L, kernel_check(L)->info->label);
  return 1;
}

static int field_args(lua_State *L) {
  const spirv_kernel *info = kernel_check(L)->info;
  lua_createtable(L, (int)info->arg_count, 0);
  for (uint32_t i = 0; i < info->arg_count; i++) {
    const spirv_arg *a = &info->args[i];
    lua_createtable(L, 0, 4);
    lua_pushstring(L, a->name); /* nil if the module does not contain it */
    lua_setfield(L, -2, "name");
    lze_argument_type_name(L, a);
    lua_setfield(L, -2, "type");
    if (a->cls == SPIRV_ARG_POINTER || a->cls == SPIRV_ARG_LOCAL) {
      lua_pushstring(L, lze_space_names[a->space]);
      lua_setfield(L, -2, "space");
    }
    if (a->cls == SPIRV_ARG_POINTER || a->cls == SPIRV_ARG_IMAGE) {
      lua_pushstring(L, lze_access_names[a->access]);
      lua_setfield(L, -2, "access");
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int field_max_group_size(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->max_group);
  return 1;
}

/* [-0, +1] Push {x, y, z}, or nil if it is not set. */
static void push_size(lua_State *L, const uint32_t size[3]) {
  if (size[0] == 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* {x, y, z}, or nil if the kernel does not require one. */
static int field_required_group_size(lua_State *L) {
  push_size(L, kernel_check(L)->info->required_group);
  return 1;
}

/* {x, y, z}, or nil if it is not set. */
static int field_group_hint(lua_State *L) {
  push_size(L, kernel_check(L)->group_hint);
  return 1;
}

/* k.group_hint = a number, an array of one to three numbers, or nil */
static int kernel_newindex(lua_State *L) {
  lua_settop(L, 3);
  if (lua_type(L, 2) != LUA_TSTRING ||
      strcmp(lua_tostring(L, 2), "group_hint") != 0)
    return luaL_error(L, "a kernel has no field that can be set but "
                         "group_hint (%s)", lze_describe(L, 2));
  lze_Kernel *k = kernel_check(L);
  lua_Integer size[3] = {0, 0, 0};
  if (!lua_isnil(L, 3)) {
    size[1] = size[2] = 1;
    lze_range_triple(L, k->name, 3, "group_hint", 1, size);
  }
  for (int i = 0; i < 3; i++) k->group_hint[i] = (uint32_t)size[i];
  return 0;
}

static int field_subgroup_size(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->grouping->in.kernel_subgroup);
  return 1;
}

static int field_local_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_kernel_local_bytes(kernel_check(L)));
  return 1;
}

static int field_private_bytes(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->props.privateMemSize);
  return 1;
}

static int field_spill_bytes(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->props.spillMemSize);
  return 1;
}

static int field_kernel_handle(lua_State *L) {
  kernel_check(L)->exposed = true; /* other code may change it from now on */
  lua_pushlightuserdata(L, kernel_check(L)->whole.handle);
  return 1;
}

static const lze_Method kernel_methods[] = {
    {"launch", kernel_launch, LZE_UNGUARDED},
    {"group", kernel_group, LZE_GUARDED},
    {"prepare", kernel_prepare, LZE_GUARDED},
    {"close", kernel_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method kernel_metamethods[] = {
    {"__call", kernel_call, LZE_UNGUARDED},
    {"__newindex", kernel_newindex, LZE_UNGUARDED},
    {"__gc", kernel_gc, LZE_UNGUARDED},
    {"__close", kernel_close, LZE_UNGUARDED},
    {"__tostring", kernel_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field kernel_fields[] = {
    {"name", field_name},
    {"args", field_args},
    {"max_group_size", field_max_group_size},
    {"required_group_size", field_required_group_size},
    {"group_hint", field_group_hint},
    {"subgroup_size", field_subgroup_size},
    {"local_bytes", field_local_bytes},
    {"private_bytes", field_private_bytes},
    {"spill_bytes", field_spill_bytes},
    {"handle", field_kernel_handle},
    {NULL, NULL}};

/* lze.local_bytes(n) -> an argument of n bytes of local memory */
static int core_local_bytes(lua_State *L) {
  lua_Integer n = lze_check_integer(L, 1, "n");
  if (n < 1)
    lze_argerror(L, 1, lua_pushfstring(L, "n: a positive number of bytes "
                                           "expected, got %I",
                                        (LUAI_UACINT)n));
  lze_LocalBytes *b = lze_push_box(L, lze_local_kind, sizeof *b);
  b->bytes = (size_t)n;
  return 1;
}

static int local_tostring(lua_State *L) {
  const lze_LocalBytes *b = lze_check_box(L, 1, lze_local_kind);
  lua_pushfstring(L, "local_bytes: %I", (LUAI_UACINT)b->bytes);
  return 1;
}

static const lze_Method no_methods[] = {
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method local_metamethods[] = {
    {"__tostring", local_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field no_fields[] = {{NULL, NULL}};

static const lze_Method functions[] = {
    {"local_bytes", core_local_bytes, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method queue_methods[] = {
    {"launch", queue_launch, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_kernel(lua_State *L) {
  lze_add_methods(L, lze_queue_kind, queue_methods);
  lze_new_kind(L, lze_kernel_kind, kernel_metamethods, kernel_methods,
               kernel_fields);
  lze_new_kind(L, lze_local_kind, local_metamethods, no_methods, no_fields);
  lze_set_methods(L, functions, 0);
}
