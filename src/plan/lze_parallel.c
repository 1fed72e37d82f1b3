/*
 * lze_parallel.c - the C functions that lua/parallel.lua uses; slices.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_open.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"
#include "queue/lze_queue.h"

/* --- lze.slice ---------------------------------------------------------- */

/* An argument of which each device gets only its part; user value 1 is the
   buffer. */
typedef struct Slice {
  lze_Box box;
  lua_Integer size;             /* elements per work-item */
} Slice;

/* lze.slice(x [, size]) -> an argument of lze.parallel with `size` elements
   (default 1) per work-item: each device gets only the elements of its
   work-items. */
static int core_slice(lua_State *L) {
  lua_settop(L, 2);
  lze_take_buffer(L, 1);
  lua_Integer size = lze_check_integer_or(L, 2, "size", 1);
  if (size < 1)
    lze_argerror(L, 2, lua_pushfstring(L, "size: a positive integer "
                                           "expected, got %I",
                                        (LUAI_UACINT)size));
  Slice *s = lze_push_box(L, lze_slice_kind, sizeof *s);
  s->size = size;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static int slice_tostring(lua_State *L) {
  const Slice *s = lze_check_box(L, 1, lze_slice_kind);
  lua_getiuservalue(L, 1, 1);
  luaL_tolstring(L, -1, NULL);
  lua_pushfstring(L, "slice of %I: %s", (LUAI_UACINT)s->size,
                  lua_tostring(L, -1));
  return 1;
}

/* --- lze.parallel ------------------------------------------------------- */

/* slice(v) -> for a slice: its buffer, its size and, if the buffer is open,
   the buffer's number of elements; otherwise nothing */
static int parallel_slice(lua_State *L) {
  const Slice *s = lze_test_box(L, 1, lze_slice_kind);
  if (s == NULL) return 0;
  lua_getiuservalue(L, 1, 1);
  const lze_Buffer *b = lze_test_buffer(L, -1);
  lua_pushinteger(L, s->size);
  if (!lze_buffer_is_open(b)) return 2;
  lua_pushinteger(L, b->count);
  return 3;
}

/* device(v) -> the device, or the first that the selector matches */
static int parallel_device(lua_State *L) {
  lze_push_device(L, lze_device_at(L, 1, "devices"));
  return 1;
}

/* is_open(k) -> true if it is an open kernel */
static int parallel_is_open(lua_State *L) {
  lua_pushboolean(L, lze_kernel_is_open(L, 1));
  return 1;
}

/* is_lua(k) -> true if it is a Lua kernel, which has a variant for each
   device */
static int parallel_is_lua(lua_State *L) {
  lua_pushboolean(L, lze_is_lua_kernel(L, 1));
  return 1;
}

/* variant(k, n, ...) -> a Lua kernel's variant for whole slices: it determines
   what the parts read and write */
static int parallel_variant(lua_State *L) {
  int count = lua_gettop(L) - 2;
  luaL_checkstack(L, 8, NULL);
  for (int i = 3; i < count + 3; i++) {
    if (lze_test_box(L, i, lze_slice_kind) == NULL) continue;
    lua_getiuservalue(L, i, 1);
    lua_replace(L, i);
  }
  lze_kernel_resolve(L, 1, NULL, 2, &count);
  lua_settop(L, 1);
  return 1;
}

/* splits(k) -> true if its range may be launched in parts */
static int parallel_splits(lua_State *L) {
  lua_pushboolean(L, lze_kernel_splits(L, 1));
  return 1;
}

/* writes(k, i) -> true if it may write to argument i */
static int parallel_writes(lua_State *L) {
  lua_pushboolean(L,
                  lze_kernel_writes(L, 1, (uint32_t)lua_tointeger(L, 2) - 1));
  return 1;
}

/* place(k, variant, device) -> k as a kernel of that device, its context
   there, and the device's queue in that context. A Lua kernel is returned
   unchanged. */
static int parallel_place(lua_State *L) {
  enum { KERNEL = 1, VARIANT, DEVICE };
  const lze_DeviceInfo *device = lze_test_device(L, DEVICE);
  lze_Context *c;
  if (lze_is_lua_kernel(L, KERNEL)) {
    lua_pushvalue(L, KERNEL);
    c = lze_context_of_kernel(L, VARIANT);
    if (c->driver != device->driver) c = lze_device_context(L, device);
  } else {
    lua_getiuservalue(L, KERNEL, 1);
    lua_getfield(L, -1, "on");
    lua_insert(L, -2);
    lua_pushvalue(L, DEVICE);
    lua_call(L, 2, 1);
    lua_getfield(L, -1, "kernel");
    lua_insert(L, -2);
    lua_getfield(L, KERNEL, "name");
    lua_call(L, 2, 1);
    c = lze_context_of_kernel(L, lua_gettop(L));
  }
  lze_push_context(L, c);
  lze_push_cached_queue(L, c, device);
  return 3;
}

/* reaches(queue, x) -> true if commands on the queue can access the buffer */
static int parallel_reaches(lua_State *L) {
  const lze_Queue *q = lze_test_queue(L, 1);
  const lze_Storage *s = lze_check_buffer(L, 2)->storage;
  lua_pushboolean(L, s->o.context == q->o.context &&
                         lze_device_reaches(q->device, s) &&
                         (s->usage != LZE_DEVICE || s->device == q->device));
  return 1;
}

/* queue(x) -> the default queue of the buffer's device, in its context */
static int parallel_queue(lua_State *L) {
  const lze_Storage *s = lze_check_buffer(L, 1)->storage;
  lze_push_cached_queue(L, s->o.context, s->device);
  return 1;
}

/* stub(queue, device, x, count) -> a stand-in for elements of the buffer until
   all parts have been checked */
static int parallel_stub(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 3);
  lze_push_stub(L, lze_test_queue(L, 1)->o.context, lze_test_device(L, 2),
                b->type, lua_tointeger(L, 4));
  return 1;
}

/* check(k, queue, range, ...): raises the errors that a launch would raise */
static int parallel_check(lua_State *L) {
  const lze_Queue *q = lze_test_queue(L, 2);
  const lze_Place place = {q->o.context, q->device};
  int count = lua_gettop(L) - 3;
  lze_Kernel *k = lze_kernel_resolve(L, 1, &place, 3, &count);
  lze_launch_try(L, k, 3, count);
  lze_kernel_forget(k);
  return 0;
}

static const unsigned char parallel_text[] = {
#include "lua/parallel.h"
};
static const lze_Method primitives[] = {
    {"slice", parallel_slice, LZE_UNGUARDED},
    {"device", parallel_device, LZE_UNGUARDED},
    {"is_open", parallel_is_open, LZE_UNGUARDED},
    {"is_lua", parallel_is_lua, LZE_UNGUARDED},
    {"variant", parallel_variant, LZE_UNGUARDED},
    {"splits", parallel_splits, LZE_UNGUARDED},
    {"writes", parallel_writes, LZE_UNGUARDED},
    {"place", parallel_place, LZE_UNGUARDED},
    {"reaches", parallel_reaches, LZE_UNGUARDED},
    {"queue", parallel_queue, LZE_UNGUARDED},
    {"stub", parallel_stub, LZE_UNGUARDED},
    {"check", parallel_check, LZE_UNGUARDED},
    {"buffer", lze_buffer_new, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Script script = {"lze parallel.lua", parallel_text,
                                  sizeof parallel_text, primitives};

/* lze.parallel(devices, n, k, ...) -> array of {device, first, count,
   kernel_ns}: runs n work-items of a kernel on several devices, dividing them
   by the devices' measured speed; waits for all parts. */
static int core_parallel(lua_State *L) {
  for (int i = 1; i <= 3; i++) luaL_checkany(L, i);
  lze_script_call(L, &script, "parallel", lua_gettop(L), 1);
  return 1;
}

static const lze_Method slice_methods[] = {
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Method slice_metamethods[] = {
    {"__tostring", slice_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Field slice_fields[] = {{NULL, NULL}};

/* lze.parallel waits, so it is not guarded. */
static const lze_Method functions[] = {
    {"parallel", core_parallel, LZE_UNGUARDED},
    {"slice", core_slice, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_parallel(lua_State *L) {
  lze_new_kind(L, lze_slice_kind, slice_metamethods, slice_methods,
               slice_fields);
  lze_set_methods(L, functions, 0);
}
