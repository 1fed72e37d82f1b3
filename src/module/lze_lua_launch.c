/*
 * lze_lua_launch.c - launches of kernels made of Lua functions.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_device.h"
#include "module/lze_lua_check.h"
#include "module/lze_lua_variant.h"
#include "queue/lze_queue.h"

/* Keeps the path of a plain launch as short as possible. */
#define NOINLINE __attribute__((noinline))

/* Returns how many leading parameters are indices if `count` arguments follow
   a range of `dims` dimensions: `dims` or 0. Raises for any other number. */
static int index_count(lua_State *L, const lze_LuaKernel *k, int dims,
                       int count) {
  int indices = (int)k->summary->parameters - count;
  if (indices != 0 && indices != dims)
    luaL_error(L, "%s: a range of %d dimension%s and %d argument%s, but the "
                  "function has %d parameter%s (%s): %d (indices first) or %d "
                  "(no indices) expected", k->head.name, dims,
               dims == 1 ? "" : "s", count, count == 1 ? "" : "s",
               (int)k->summary->parameters,
               k->summary->parameters == 1 ? "" : "s",
               lze_lua_push_parameters(L, k), dims + count, count);
  return indices;
}

/* Updates the place of a launch from the buffer at `index`. Returns false if
   that is not an open buffer. */
static bool place_of(lua_State *L, int index, lze_Place *place) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b)) return false;
  bool first = place->context == NULL;
  if (first) place->context = b->storage->o.context;
  if (place->device == NULL ||
      (!first && b->storage->usage == LZE_DEVICE &&
       b->storage->o.context == place->context))
    place->device = b->storage->device;
  return true;
}

/* Returns the place of a launch: from its table, else from its buffers or, if
   it has no buffers, from the captured ones; else the default device. */
static lze_Place find_place(lua_State *L, const lze_LuaKernel *k, int own,
                            const lze_Place *place, int range, int count) {
  lze_Place p = place != NULL ? *place : (lze_Place){NULL, NULL};
  if (p.context == NULL && lua_istable(L, range)) {
    lze_getoption(L, range, "queue");
    const lze_Queue *q = lze_test_queue(L, -1);
    lua_pop(L, 1);
    if (q != NULL) p = (lze_Place){q->o.context, q->device};
  }
  if (p.context != NULL && p.device != NULL) return p;
  bool found = false;
  for (int i = range + 1; i <= range + count; i++)
    found = place_of(L, i, &p) || found;
  for (size_t i = 0; i < k->summary->path_count && !found; i++) {
    /* Paths that start at the function itself. */
    lze_lua_push_path(L, own, 0, &k->summary->paths[i]);
    found = place_of(L, -1, &p);
    lua_pop(L, 1);
  }
  if (p.device == NULL) p.device = lze_default_device(L);
  if (p.context == NULL) p.context = lze_device_context(L, p.device);
  return p;
}

/* Raises for the value at `index`, argument i of a kernel, from 1. */
static void refuse_buffer(lua_State *L, const char *kernel, int i,
                          const char *name, int index) {
  luaL_error(L, "%s: argument %d (%s): a buffer of numbers or an array "
                "expected, got %s",
             kernel, i, name != NULL ? name : "?", lze_describe(L, index));
}

/* Raises if the arguments do not match the signature in ways that the kernel
   itself would accept: null, which ordinary kernels accept for a buffer, has
   no elements and no length; the length of a buffer of vectors is not the
   number of its scalars; the compiled kernel treats bfloat16 as ushort. */
static void check_given(lua_State *L, const lze_LuaKernel *k, int dims,
                        int range, int count) {
  if (count != k->declared_count)
    luaL_error(L, "%s: %d argument%s expected, got %d", k->head.name,
               k->declared_count, k->declared_count == 1 ? "" : "s", count);
  for (int i = 1; i <= count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, range + i);
    if (k->declared[i - 1].kind != LZC_BUFFER) continue;
    const char *name = k->summary->names[dims + i - 1];
    if (b == NULL || b->type->lanes > 1)
      refuse_buffer(L, k->head.name, i, name, range + i);
    if (k->declared[i - 1].element == LZC_BFLOAT16 &&
        b->type->scalar != LZE_BF16)
      luaL_error(L, "%s: argument %d (%s): bfloat16* expected, got %s",
                 k->head.name, i, name != NULL ? name : "?",
                 lze_describe(L, range + i));
  }
}

/* Raises if a kernel with 32-bit integers is launched over indices that exceed
   them. */
static void check_indices(lua_State *L, const lze_LuaKernel *k, int range,
                          int dims, const lua_Integer size[3]) {
  lua_Integer from[3] = {0, 0, 0};
  if (!k->options.int32) return;
  if (lua_istable(L, range)) {
    if (lze_getoption(L, range, "offset") != LUA_TNIL)
      lze_range_triple(L, k->head.name, -1, "offset", 0, from);
    lua_pop(L, 1);
  }
  for (int d = 0; d < dims; d++)
    lze_lua_check_int32(L, k->head.name, "the last index of the range",
                        from[d] + size[d]);
}

/* Finds or compiles the variant for a launch and pushes its hidden
   arguments. */
static lze_LuaVariant *choose_variant(lua_State *L, lze_LuaKernel *k,
                                      int kernel, const lze_Place *place,
                                      bool checked, int own, int range,
                                      int count) {
  lua_Integer size[3];
  int dims = lze_range_triple(L, k->head.name, range, "global size", 0, size);
  int indices = index_count(L, k, dims, count);
  check_indices(L, k, range, dims, size);
  if (k->declared_count >= 0) check_given(L, k, indices, range, count);
  lze_LuaRequest r = {k, find_place(L, k, own, place, range, count), indices,
                      count, checked};
  lze_LuaVariant *v =
      lze_lua_find_variant(L, k, own, &r.place, checked, indices, range, count);
  if (v == NULL) {
    luaL_checkstack(L, count + 4, NULL);
    lua_pushcfunction(L, lze_lua_compile_variant);
    lua_pushlightuserdata(L, &r);
    lua_pushvalue(L, kernel);
    for (int i = 1; i <= count; i++) lua_pushvalue(L, range + i);
    lze_call_guarded(L, count + 2, 0);
    v = lze_lua_find_variant(L, k, own, &r.place, checked, indices, range,
                             count);
  }
  if (v == NULL)
    luaL_error(L, "%s: what it captures has changed while it was compiled",
               k->head.name);
  return v;
}

/* Raises if argument i of a kernel, from 1, is indexed with another number of
   dimensions than it has, or is an array indexed as a buffer. */
static void check_rank(lua_State *L, const char *kernel, const char *name,
                       int i, unsigned expected, unsigned rank) {
  if (expected == 0 || rank == expected) return;
  luaL_error(L, "%s: argument %d (%s): an array of %d dimension%s expected, "
                "got %s", kernel, i, name != NULL ? name : "?", (int)expected,
             expected == 1 ? "" : "s",
             rank == 1 ? "a buffer"
                       : lua_pushfstring(L, "one of %d", (int)rank));
}

/* Calls check_rank for all arguments of a kernel with a signature. */
static void check_declared(lua_State *L, const lze_LuaKernel *k,
                           const lze_LuaVariant *v, int range) {
  for (int i = 1; i <= v->count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, range + i);
    if (b != NULL)
      check_rank(L, k->head.name, k->summary->names[v->dims + i - 1], i,
                 v->ranks[i - 1], lze_lua_rank(L, range + i, b));
  }
}

/* Returns true if a plain variant accepts argument i, from 0, at `at`. */
static bool takes_argument(lua_State *L, const lze_LuaVariant *v, int at,
                           int i) {
  const lze_Kernel *k = v->box->kernel;
  if (v->kinds[i] == LZC_INTEGER || v->kinds[i] == LZC_REAL)
    return lze_lua_takes_number(L, at, v->kinds[i] == LZC_INTEGER,
                        v->result->typed[i]);
  const lze_Buffer *b = lze_test_box(L, at, lze_buffer_kind);
  return b != NULL && b->type == v->types[i] && lze_buffer_is_open(b) &&
         b->storage->o.context == k->o.context &&
         b->storage->device == k->module->device;
}

/* Returns true if the last variant, a plain one, accepts the arguments between
   `range` and `top`. Its launch runs on the device of all its buffers. */
static NOINLINE bool plain_takes(lua_State *L, lze_LuaVariant *v, int range,
                                 int top) {
  const lze_Kernel *k = v->box->kernel;
  if (k == NULL || k->o.closed || v->count != top - range - 1 ||
      lua_type(L, range) != LUA_TNUMBER ||
      (v->int32 && lua_tonumber(L, range) > INT32_MAX))
    return false;
  const uint64_t now = v->box->state->buffers_gone;
  const bool same = v->seen_at == now;
  const void **seen = v->seen;
  for (int at = range + 1; at < top; at++, seen++) {
    const void *b = lua_touserdata(L, at);
    if (b != NULL && b == *seen && same) continue;
    if (!takes_argument(L, v, at, at - range - 1)) return false;
    *seen = b;
  }
  v->seen_at = now;
  return true;
}

/* Pushes the hidden arguments of a plain variant that accepts the arguments.
   Returns false, with some values pushed, if a number's type differs from the
   compiled one. */
static bool plain_push(lua_State *L, int kernel, const lze_LuaVariant *v,
                                int range, int top) {
  const lzc_hidden *h = v->result->hidden;
  const lzc_hidden *end = h + v->result->hidden_count;
  int at = top;
  lua_getiuservalue(L, kernel, LZE_FUNCTION_VALUE);
  for (; h < end; h++) {
    if (h->argument != 0) {
      const lze_Buffer *b = lua_touserdata(L, range + (int)h->argument);
      if (v->int32 && b->count > INT32_MAX) return false;
      lua_pushinteger(L, b->count);
    } else if (lua_getupvalue(L, top, (int)h->path->upvalue) == NULL ||
               !lze_lua_takes_number(L, -1, h->element < LZC_HALF, h->typed)) {
      return false;
    }
  }
  for (h = v->result->hidden; h < end; h++, at++) lua_copy(L, at + 1, at);
  return true;
}

/* Implements lze_lua_kernel_resolve for launches that are not plain. */
static NOINLINE lze_Kernel *resolve_any(lua_State *L, lze_LuaKernel *k,
                                        int kernel, const lze_Place *place,
                                        bool checked, int range, int *count) {
  if (k->head.closed) luaL_error(L, "%s is closed", k->head.name);
  if (lze_lua_kernel_checks(&k->head) == LZE_SETTING_WORD &&
      k->head.state->lua_checks == 0)
    lze_lua_check_launch(L, kernel, range, *count);
  int own = range + *count + 1;
  lua_settop(L, own - 1);
  lua_getiuservalue(L, kernel, LZE_OWN_VALUE);
  lze_LuaVariant *v =
      choose_variant(L, k, kernel, place, checked, own, range, *count);
  if (k->declared_count >= 0) check_declared(L, k, v, range);
  v->used = ++k->uses;
  lze_lua_set_last(L, k, kernel, v);
  *count += (int)v->result->hidden_count;
  lua_rawgeti(L, own, v->slot);
  lua_remove(L, own); /* the hidden arguments directly follow the others */
  return v->box->kernel;
}

lze_Kernel *lze_lua_kernel_resolve(lua_State *L, lze_KernelBox *box,
                                   int kernel, const lze_Place *place,
                                   bool checked, int range, int *count) {
  lze_LuaKernel *k = (lze_LuaKernel *)(void *)box;
  lze_LuaVariant *v = k->plain;
  int top = range + *count + 1;
  if (v == NULL || place != NULL || !plain_takes(L, v, range, top) ||
      !plain_push(L, kernel, v, range, top))
    return resolve_any(L, k, kernel, place, checked, range, count);
  lua_getiuservalue(L, kernel, LZE_LAST_VALUE);
  v->used = ++k->uses;
  *count += (int)v->result->hidden_count;
  return v->box->kernel;
}

void lze_push_sizes(lua_State *L, const lze_Kernel *k, int range, int *count) {
  const spirv_kernel *s = k->info;
  uint32_t given = s->arg_count - s->size_count;
  if (*count > (int)given) lze_arguments_refuse(L, k, *count);
  if (*count < 0 || (uint32_t)*count != given) return;
  luaL_checkstack(L, (int)s->size_count + 8, NULL);
  for (uint32_t i = given; i < s->arg_count; i++) {
    int at = range + (int)s->args[i].size_of;
    const lze_Buffer *b = lze_test_buffer(L, at);
    const char *name = s->args[at - range - 1].name;
    if (b == NULL) refuse_buffer(L, k->name, at - range, name, at);
    lua_pushvalue(L, at);
    check_rank(L, k->name, name, at - range, s->args[i].rank,
               lze_lua_rank(L, -1, b));
    lze_lua_push_size(L, b, (int)s->args[i].dimension);
    lua_replace(L, -2);
  }
  *count = (int)s->arg_count;
}

lze_Kernel *lze_kernel_resolve(lua_State *L, int kernel,
                               const lze_Place *place, int range,
                               int *count) {
  lze_KernelBox *b = lze_check_box(L, kernel, lze_kernel_kind);
  luaL_checkstack(L, 12, NULL);
  if (b->is_lua) {
    lze_Kernel *v =
        lze_lua_kernel_resolve(L, b, kernel, place, false, range, count);
    lua_replace(L, kernel);
    lua_settop(L, range + *count);
    return v;
  }
  lze_Kernel *k = lze_kernel_last(L, kernel);
  if (k->info->size_count != 0) lze_push_sizes(L, k, range, count);
  return k;
}

int lze_length_of(lua_State *L, int kernel, int i) {
  const lze_LuaKernel *lua = lze_lua_kernel_test(L, kernel);
  if (lua == NULL)
    return (int)lze_kernel_last(L, kernel)->info->args[i - 1].size_of;
  const lze_LuaVariant *v = lua->last;
  const lzc_hidden *all = v->result->hidden;
  if (i <= v->count || all[i - v->count - 1].kind != LZC_HIDDEN_LENGTH)
    return 0;
  const lzc_hidden *length = &all[i - v->count - 1];
  if (length->argument != 0) return (int)length->argument;
  for (size_t h = 0; h < v->result->hidden_count; h++)
    if (all[h].kind == LZC_HIDDEN_BUFFER && all[h].path == length->path)
      return v->count + (int)h + 1;
  return 0;
}

int lze_dimensions_of(lua_State *L, int kernel, int count) {
  const lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  return k == NULL ? 0 : (int)k->summary->parameters - count;
}

lze_Kernel *lze_kernel_last(lua_State *L, int kernel) {
  const lze_KernelBox *b = lze_check_box(L, kernel, lze_kernel_kind);
  if (b->is_lua) {
    const lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
    if (k->head.closed) luaL_error(L, "%s is closed", b->name);
    if (k->last == NULL)
      luaL_error(L, "%s: nothing is compiled yet: the types of its arguments "
                    "are not known before a signature, a launch or "
                    "k:variant(range, ...)", b->name);
    b = k->last->box;
  }
  if (b->kernel == NULL || b->kernel->o.closed)
    luaL_error(L, "%s is closed", b->name);
  return b->kernel;
}
