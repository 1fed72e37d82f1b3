/*
 * lze_memory.c - buffers, which are typed windows on storages: what scripts do
 * with them.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "lze_open.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_kernel.h"
#include "run/lze_queue.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Device buffers are read and written through host memory in pieces of this
   size: large enough for the bandwidth of any bus, small beside the data. */
#define STAGING_BYTES ((size_t)4 << 20)

/* The largest element: 16 lanes of 8 bytes. */
enum { ELEMENT_BYTES = 16 * 8 };

/* How many values `print(x)` shows. */
#define SHOWN 8

static const char *const usage_names[] = {"shared", "device", "host", NULL};

/* --- checks ------------------------------------------------------------- */

bool lze_buffer_is_open(const lze_Buffer *b) {
  return b->storage != NULL && !b->storage->o.closed;
}

lze_Buffer *lze_test_buffer(lua_State *L, int index) {
  return lze_test_box(L, index, lze_buffer_kind);
}

lze_Buffer *lze_check_buffer(lua_State *L, int arg) {
  lze_Buffer *b = lze_check_box(L, arg, lze_buffer_kind);
  if (!lze_buffer_is_open(b)) lze_closed(L, arg, lze_buffer_kind);
  return b;
}

static char *buffer_data(const lze_Buffer *b) {
  return b->storage->pointer + b->offset;
}

static lze_Queue *buffer_queue(lua_State *L, const lze_Buffer *b) {
  return lze_default_queue(L, b->storage->o.context, b->storage->device);
}

/* A position, counted from the end when it is negative. */
static lua_Integer buffer_from_end(const lze_Buffer *b, lua_Integer i) {
  return i < 0 ? i + b->count + 1 : i;
}

/* Where elements are put, at `arg`: 1, if not given, to #b + 1. */
static lua_Integer buffer_at(lua_State *L, const lze_Buffer *b, int arg,
                             const char *name) {
  lua_Integer given = lze_check_integer_or(L, arg, name, 1);
  lua_Integer at = buffer_from_end(b, given);
  if (at < 1 || at > b->count + 1)
    lze_argerror(L, arg, lua_pushfstring(L, "%s: %I is outside 1..%I", name,
                                          (LUAI_UACINT)given,
                                          (LUAI_UACINT)b->count + 1));
  return at;
}

/* Elements [*first, *first + *n), counted from 0, that the arguments i and j
   name: 1-based, inclusive, negative from the end, nothing clamped. */
static void buffer_range(lua_State *L, const lze_Buffer *b, int arg,
                         size_t *first, size_t *n) {
  const lua_Integer given_i = lze_check_integer_or(L, arg, "i", 1);
  const lua_Integer given_j = lze_check_integer_or(L, arg + 1, "j", b->count);
  lua_Integer i = buffer_from_end(b, given_i);
  lua_Integer j = buffer_from_end(b, given_j);
  if (i >= 1 && i <= b->count + 1 && j == i - 1) {
    *n = 0;
    *first = (size_t)i - 1;
    return;
  }
  if (i < 1 || i > b->count)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "i: %I is outside 1..%I",
                                  (LUAI_UACINT)given_i,
                                  (LUAI_UACINT)b->count));
  if (j < i || j > b->count)
    lze_argerror(L, arg + 1,
                  lua_pushfstring(L, "j: %I is outside %I..%I",
                                  (LUAI_UACINT)given_j, (LUAI_UACINT)i - 1,
                                  (LUAI_UACINT)b->count));
  *first = (size_t)i - 1;
  *n = (size_t)(j - i) + 1;
}

/* --- host access -------------------------------------------------------- */

/* Wait until the host may read, or write, n elements from `first` on.  A
   hook may run meanwhile: what is at `arg` must still be open after it. */
static void buffer_wait(lua_State *L, int arg, const lze_Buffer *b,
                        size_t first, size_t n, bool write) {
  size_t from = b->offset + first * b->type->bytes;
  if (n == 0) return;
  lze_storage_wait(L, b->storage, from, from + n * b->type->bytes, write);
  if (!lze_buffer_is_open(b))
    lze_argerror(L, arg, "the buffer was closed during the wait");
}

/* Append a copy to a queue and return its command. */
static lze_Command *copy_append(lua_State *L, lze_Queue *q, const char *name,
                                bool timed, const lze_Copy *copy) {
  lze_Command *c = lze_begin(L, q, name, timed, NULL);
  lze_command_use(L, c, copy->to, copy->to_offset,
                  copy->to_offset + copy->bytes, true);
  lze_command_use(L, c, copy->from, copy->from_offset,
                  copy->from_offset + copy->bytes, false);
  lze_command_order(L, c);
  ze_result_t r = ZE(zeCommandListAppendMemoryCopy, q->list,
                     copy->to->pointer + copy->to_offset,
                     copy->from->pointer + copy->from_offset, copy->bytes,
                     lze_command_event(c), c->wait_count, c->wait_handles);
  if (r != ZE_RESULT_SUCCESS) {
    lze_abort(c);
    lze_fail(L, q->device->driver, r, NULL, "zeCommandListAppendMemoryCopy",
             NULL, NULL);
  }
  lze_end(c);
  return c;
}

static lze_Context *context_of_buffer(lua_State *L, void *arg) {
  return lze_check_buffer(L, (int)(intptr_t)arg)->storage->o.context;
}

lze_Buffer *lze_push_beside(lua_State *L, int arg, lze_Usage usage,
                            size_t bytes) {
  lze_Context *context =
      lze_push_context(L, context_of_buffer, (void *)(intptr_t)arg);
  const lze_DeviceInfo *device = lze_check_buffer(L, arg)->storage->device;
  lze_Buffer *b =
      lze_push_buffer(L, context, device, usage, lze_type_of(LZE_U8, 1), bytes);
  lze_check_buffer(L, arg);
  return b;
}

/* Move bytes between a device storage and host memory at `host`, through a
   staging buffer. [-0, +2] */
static void staged_move(lua_State *L, int arg, const lze_Buffer *b,
                        size_t offset, char *host, size_t bytes, bool write) {
  size_t piece = bytes < STAGING_BYTES ? bytes : STAGING_BYTES;
  const lze_Buffer *staging = lze_push_beside(L, arg, LZE_HOST, piece);
  lze_Storage *s = b->storage;
  for (size_t done = 0; done < bytes; done += piece) {
    if (!lze_buffer_is_open(b))
      lze_argerror(L, arg, "the buffer was closed during the wait");
    if (piece > bytes - done) piece = bytes - done;
    lze_Storage *st = staging->storage;
    lze_Copy copy = {.to = st, .from = s, .from_offset = offset + done,
                     .bytes = piece};
    if (write) {
      memcpy(st->pointer, host + done, piece);
      copy = (lze_Copy){.to = s, .to_offset = offset + done, .from = st,
                        .bytes = piece};
    }
    copy_append(L, lze_transfer_queue(L, s->device, &copy),
                write ? "write" : "read", false, &copy);
    lze_storage_wait(L, st, 0, piece, true);
    if (!lze_buffer_is_open(staging))
      lze_argerror(L, arg, "the buffer was closed during the wait");
    if (!write) memcpy(host + done, st->pointer, piece);
  }
}

/* A copy of the bytes of n elements. [-0, +1] */
static const char *buffer_copy_bytes(lua_State *L, int arg,
                                     const lze_Buffer *b, size_t first,
                                     size_t n) {
  size_t bytes = n * b->type->bytes;
  char *copy = lua_newuserdatauv(L, bytes, 0);
  lze_check_buffer(L, arg); /* a finaliser may have closed it */
  if (n == 0) return copy;
  if (b->storage->usage == LZE_DEVICE) {
    staged_move(L, arg, b, b->offset + first * b->type->bytes, copy, bytes,
                false);
    lua_pop(L, 2);
  } else {
    buffer_wait(L, arg, b, first, n, false);
    memcpy(copy, buffer_data(b) + first * b->type->bytes, bytes);
  }
  return copy;
}

/* Host memory with the bytes of n elements: the storage itself, after a
   wait, for as long as nothing of Lua runs, or a copy of device memory.
   [-0, +1] keeps that alive. */
static const char *buffer_bytes(lua_State *L, int arg, const lze_Buffer *b,
                                size_t first, size_t n) {
  if (b->storage->usage == LZE_DEVICE)
    return buffer_copy_bytes(L, arg, b, first, n);
  buffer_wait(L, arg, b, first, n, false);
  lua_pushnil(L);
  return n == 0 ? "" : buffer_data(b) + first * b->type->bytes;
}

/* Put bytes from the host into elements from `first` on. */
static void buffer_put(lua_State *L, int arg, const lze_Buffer *b,
                       size_t first, const char *bytes, size_t n) {
  size_t size = n * b->type->bytes;
  if (n == 0) return;
  if (b->storage->usage == LZE_DEVICE) {
    staged_move(L, arg, b, b->offset + first * b->type->bytes, (char *)bytes,
                size, true);
    lua_pop(L, 2);
    return;
  }
  buffer_wait(L, arg, b, first, n, true);
  memcpy(buffer_data(b) + first * b->type->bytes, bytes, size);
}

/* --- methods ------------------------------------------------------------ */

static int buffer_read(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  buffer_range(L, b, 2, &first, &n);
  if (!lua_isnil(L, 4))
    lze_argexpected(L, lua_istable(L, 4), 4, "table");
  if (lua_isnil(L, 4)) /* only a hint, which is an int */
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  lze_check_buffer(L, 1); /* a finaliser may have closed it */
  const char *p = buffer_bytes(L, 1, b, first, n);
  lua_pushvalue(L, lua_isnil(L, 4) ? 5 : 4);
  /* In pieces, because growing the table may run a finaliser that closes
     the buffer. */
  char piece[4096];
  size_t step = sizeof piece / b->type->bytes;
  for (size_t i = 0; i < n; i += step) {
    if (step > n - i) step = n - i;
    if (!lze_buffer_is_open(b)) lze_closed(L, 1, lze_buffer_kind);
    memcpy(piece, p + i * b->type->bytes, step * b->type->bytes);
    lze_type_push_table(L, b->type, -1, (lua_Integer)i + 1, step, piece);
  }
  return 1;
}

static int buffer_string(lua_State *L) {
  lua_settop(L, 3);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  buffer_range(L, b, 2, &first, &n);
  const char *p = buffer_bytes(L, 1, b, first, n);
  lua_pushlstring(L, p, n * b->type->bytes);
  return 1;
}

/* Raise that n elements from position `at` (from 1) on are too many. */
static void buffer_too_many(lua_State *L, const lze_Buffer *b, int arg,
                            lua_Integer n, lua_Integer at) {
  lze_argerror(L, arg,
                lua_pushfstring(L, "%I element%s from position %I on do not "
                                   "fit a buffer of %I",
                                (LUAI_UACINT)n, n == 1 ? "" : "s",
                                (LUAI_UACINT)at,
                                (LUAI_UACINT)b->count));
}

static lze_Command *buffer_copy_elements(lua_State *L, lze_Queue *q,
                                         bool timed, int dst_arg,
                                         lze_Buffer *dst, int src_arg,
                                         lze_Buffer *src, size_t first,
                                         size_t n, lua_Integer at);

/* Pack the table at `arg` into new memory. [-0, +1] */
static char *table_pack(lua_State *L, const lze_Type *type, int arg,
                        size_t n) {
  char *packed = lua_newuserdatauv(L, n * type->bytes, 0);
  size_t stored = lze_type_store_table(L, type, arg, 1, n, packed);
  if (stored != n)
    lze_argerror(L, arg, lua_pushfstring(L, "index %I: %s",
                                          (LUAI_UACINT)stored + 1,
                                          lua_tostring(L, -1)));
  return packed;
}

/* lua_next after the key at 2 of the table at 1, for a protected call. */
static int table_next(lua_State *L) {
  return lua_next(L, 1) ? 1 : 0;
}

/* Raise that the table at `arg` has nothing at an index. */
static void table_lacks(lua_State *L, int arg, const lze_Type *type,
                        lua_Integer index) {
  char element[ELEMENT_BYTES];
  lua_pushnil(L);
  lze_type_store(L, type, -1, element);
  lze_argerror(L, arg, lua_pushfstring(L, "index %I: %s", (LUAI_UACINT)index,
                                        lua_tostring(L, -1)));
}

/* The length of the table at `arg`; raises where there is a hole.  lua_next
   goes through the array part of a table in order before the rest, and begins
   at any index inside of it, there or not, while others that are not there are
   an error: so where it begins behind the border, what follows the border is
   all there is to look at. */
static size_t table_length(lua_State *L, int arg, const lze_Type *type) {
  lua_Integer border = (lua_Integer)lua_rawlen(L, arg), last = border;
  int top = lua_gettop(L);
  lua_pushcfunction(L, table_next);
  lua_pushvalue(L, arg);
  lua_pushinteger(L, border + 1);
  bool array = lua_pcall(L, 2, 0, 0) == LUA_OK;
  /* A debug hook may have run, and raised an error of its own. */
  if (!array && (lua_type(L, -1) != LUA_TSTRING ||
                 strstr(lua_tostring(L, -1), "to 'next'") == NULL))
    lua_error(L);
  lua_settop(L, top);
  if (array && border > 0) lua_pushinteger(L, border);
  else lua_pushnil(L);
  for (; lua_next(L, arg); lua_pop(L, 1))
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > last)
      last = lua_tointeger(L, -2);
  if (last != border) table_lacks(L, arg, type, border + 1);
  return (size_t)border;
}

/* A table that says itself what its length is stands for a plain one of what
   it gives, which takes its place at `arg`. */
static void table_ask(lua_State *L, int arg, const lze_Type *type) {
  if (luaL_getmetafield(L, arg, "__len") == LUA_TNIL) return;
  lua_Integer n = luaL_len(L, arg);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_geti(L, arg, i) == LUA_TNIL) table_lacks(L, arg, type, i);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, arg);
  lua_pop(L, 1);
}

static int buffer_write(lua_State *L) {
  lua_settop(L, 3);
  lze_Buffer *b = lze_check_buffer(L, 1);
  if (lua_istable(L, 2)) {
    table_ask(L, 2, b->type);
    b = lze_check_buffer(L, 1);
  }
  lua_Integer at = buffer_at(L, b, 3, "i");
  lua_Integer room = b->count - at + 1;
  size_t first = (size_t)at - 1;
  lze_Buffer *src = lze_test_buffer(L, 2);
  if (src != NULL) {
    lze_check_buffer(L, 2);
    if (src->count > room) buffer_too_many(L, b, 2, src->count, at);
    lze_Command *c =
        buffer_copy_elements(L, NULL, false, 1, b, 2, src, 0,
                             (size_t)src->count, at);
    if (c != NULL) lze_command_wait(L, c, UINT64_MAX);
  } else if (lua_istable(L, 2)) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
    if (n > room) buffer_too_many(L, b, 2, n, at);
    table_length(L, 2, b->type);
    char *packed = table_pack(L, b->type, 2, (size_t)n);
    buffer_put(L, 1, lze_check_buffer(L, 1), first, packed, (size_t)n);
  } else if (lua_type(L, 2) == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, 2, &length);
    if (length % b->type->bytes != 0)
      lze_argerror(L, 2,
                    lua_pushfstring(L, "%I bytes are not a whole number of "
                                       "%s (%d bytes each)",
                                    (LUAI_UACINT)length, b->type->name,
                                    b->type->bytes));
    size_t n = length / b->type->bytes;
    if (n > (size_t)room) buffer_too_many(L, b, 2, (lua_Integer)n, at);
    buffer_put(L, 1, b, first, bytes, n);
  } else {
    lze_argerror(L, 2, lua_pushfstring(L, "table, string or buffer "
                                           "expected, got %s",
                                        lze_describe(L, 2)));
  }
  lua_settop(L, 1);
  return 1;
}

/* Enqueue a fill; NULL when there is nothing to fill. */
static lze_Command *fill_append(lua_State *L, lze_Queue *q, bool timed,
                                const lze_Fill *f) {
  if (f->bytes == 0) return NULL;
  lze_Command *c = lze_begin(L, q, "fill", timed, NULL);
  lze_command_use(L, c, f->to, f->offset, f->offset + f->bytes, true);
  lze_command_order(L, c);
  ze_result_t r = ZE(zeCommandListAppendMemoryFill, q->list,
                     f->to->pointer + f->offset, f->pattern, f->pattern_bytes,
                     f->bytes, lze_command_event(c), c->wait_count,
                     c->wait_handles);
  if (r != ZE_RESULT_SUCCESS) {
    lze_abort(c);
    lze_fail(L, q->device->driver, r, NULL, "zeCommandListAppendMemoryFill",
             NULL, NULL);
  }
  lze_end(c);
  return c;
}

void lze_fill_check(lua_State *L, int arg, lze_Fill *f) {
  lze_Buffer *b = lze_check_buffer(L, arg);
  size_t first, n;
  buffer_range(L, b, arg + 2, &first, &n);
  if (!lze_type_store(L, b->type, arg + 1, f->pattern))
    lze_argerror(L, arg + 1, lua_tostring(L, -1));
  f->to = b->storage;
  f->pattern_bytes = b->type->bytes;
  f->offset = b->offset + first * b->type->bytes;
  f->bytes = n * b->type->bytes;
}

/* The queue at 1 if the buffer at `arg` is not, else its default one. */
static lze_Queue *buffer_queue_at(lua_State *L, int arg) {
  return arg > 1 ? lze_check_queue(L, 1)
                 : buffer_queue(L, lze_check_buffer(L, arg));
}

lze_Queue *lze_buffer_queue(lua_State *L, int arg) {
  lze_Queue *q;
  do q = buffer_queue_at(L, arg);
  while (!lze_queue_ready(L, q));
  return q;
}

/* Check x, v, i, j from stack index `arg` on and fill on the default queue,
   or on the one at 1 if `arg` is 2. */
static lze_Command *buffer_fill_on(lua_State *L, int arg) {
  lze_check_buffer(L, arg);
  lze_Queue *q = lze_buffer_queue(L, arg);
  lze_Fill f;
  lze_fill_check(L, arg, &f);
  if (q->o.context != f.to->o.context)
    lze_argerror(L, arg, "a buffer of another context than the queue");
  return fill_append(L, q, arg > 1, &f);
}

/* x:fill(v [, i [, j]]) -> x, enqueued on the default queue */
static int buffer_fill(lua_State *L) {
  lua_settop(L, 4);
  buffer_fill_on(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* Give the event on the top of the stack its command, or one that is done
   from the start where there was nothing to do. */
static void event_set(lua_State *L, lze_Event *e, lze_Command *c,
                      const lze_DeviceInfo *device, const char *name) {
  e->command = c != NULL ? c : lze_command_done(L, device, name);
  if (c != NULL) lze_command_own(c);
}

/* q:fill(x, v [, i [, j]]) -> event */
static int queue_fill(lua_State *L) {
  lua_settop(L, 5);
  lze_Queue *q = lze_check_queue(L, 1);
  lze_Event *e = lze_push_event(L);
  lze_Command *c = buffer_fill_on(L, 2);
  lua_settop(L, 6);
  event_set(L, e, c, q->device, "fill");
  return 1;
}

static void buffer_check_copy_types(lua_State *L, int src_arg,
                                    const lze_Buffer *dst,
                                    const lze_Buffer *src) {
  if (src->type != dst->type)
    lze_argerror(L, src_arg,
                  lua_pushfstring(L, "buffer of %s expected, got buffer of "
                                     "%s (x:view can change the type)",
                                  dst->type->name, src->type->name));
}

bool lze_device_peers(const lze_DeviceInfo *device,
                      const lze_DeviceInfo *home) {
  ze_bool_t can = false;
  return device == home || (ZE(zeDeviceCanAccessPeer, device->handle,
                               home->handle, &can) == ZE_RESULT_SUCCESS &&
                            can);
}

bool lze_device_reaches(const lze_DeviceInfo *device, const lze_Storage *s) {
  return s->usage == LZE_HOST || lze_device_peers(device, s->device);
}

/* Append a copy to the queue, or the default one of the storage's device if
   that is needed; for a caller that waits for it, q is NULL. */
static lze_Command *copy_append_near(lua_State *L, lze_Queue *q, bool timed,
                                     const lze_Storage *s,
                                     const lze_Copy *copy) {
  if (q == NULL)
    q = lze_transfer_queue(L, s->device, copy);
  else if (!lze_device_reaches(q->device, s))
    q = lze_default_queue(L, s->o.context, s->device);
  return copy_append(L, q, "copy", timed, copy);
}

/* dst:copy(src[first..]) at element `at` (from 1) of dst, on queue q, which is
   that of `dst_arg` (buffer_queue_at); NULL for a caller that waits for it.
   Returns the last command, or NULL when there is nothing to copy. */
static lze_Command *buffer_copy_elements(lua_State *L, lze_Queue *q,
                                         bool timed, int dst_arg,
                                         lze_Buffer *dst, int src_arg,
                                         lze_Buffer *src, size_t first,
                                         size_t n, lua_Integer at) {
  buffer_check_copy_types(L, src_arg, dst, src);
  if (n == 0) return NULL;
  size_t size = dst->type->bytes, bytes = n * size;
  size_t to = dst->offset + ((size_t)at - 1) * size;
  size_t from = src->offset + first * size;
  lze_Storage *s = src->storage;
  if (q != NULL && q->o.context != dst->storage->o.context)
    lze_argerror(L, dst_arg, "buffer of another context than the queue");
  if (s->o.context != dst->storage->o.context) {
    /* No queue reaches both: by way of the host, and not only enqueued. */
    const char *p = buffer_copy_bytes(L, src_arg, src, first, n);
    lze_check_buffer(L, dst_arg);
    buffer_put(L, dst_arg, dst, (size_t)at - 1, p, n);
    return NULL;
  }
  if (s == dst->storage && from == to) return NULL;
  bool overlaps = s == dst->storage && from < to + bytes && to < from + bytes;
  const lze_DeviceInfo *device =
      q != NULL ? q->device : dst->storage->device;
  bool apart = !lze_device_reaches(device, s) ||
               !lze_device_reaches(device, dst->storage);
  if (overlaps || apart) {
    /* Level Zero does not define overlapping copies, and a queue cannot copy
       what its device does not reach: go by way of a third buffer, which the
       commands keep alive, on queues that reach it and one of the two. */
    lze_Buffer *third =
        lze_push_beside(L, dst_arg, apart ? LZE_HOST : LZE_DEVICE, bytes);
    if (!lze_buffer_is_open(src))
      lze_argerror(L, src_arg, "the buffer is closed");
    if (q != NULL) q = buffer_queue_at(L, dst_arg);
    const lze_Copy there = {third->storage, s, 0, from, bytes};
    copy_append_near(L, q, false, s, &there);
    s = third->storage;
    from = 0;
  }
  const lze_Copy copy = {dst->storage, s, to, from, bytes};
  return copy_append_near(L, q, timed, dst->storage, &copy);
}

/* Check dst, src, i, j, at from stack index `arg` on. */
static void copy_read(lua_State *L, int arg, lze_Buffer **dst,
                      lze_Buffer **src, size_t *first, size_t *n,
                      lua_Integer *at) {
  *dst = lze_check_buffer(L, arg);
  *src = lze_check_buffer(L, arg + 1);
  buffer_range(L, *src, arg + 2, first, n);
  *at = buffer_at(L, *dst, arg + 4, "at");
  if (*n > (size_t)((*dst)->count - *at + 1))
    buffer_too_many(L, *dst, arg + 1, (lua_Integer)*n, *at);
}

void lze_copy_check(lua_State *L, int arg, lze_Copy *c) {
  lze_Buffer *dst, *src;
  size_t first, n;
  lua_Integer at;
  copy_read(L, arg, &dst, &src, &first, &n, &at);
  buffer_check_copy_types(L, arg + 1, dst, src);
  size_t size = dst->type->bytes;
  c->to = dst->storage;
  c->from = src->storage;
  c->to_offset = dst->offset + ((size_t)at - 1) * size;
  c->from_offset = src->offset + first * size;
  c->bytes = n * size;
  if (c->to->o.context != c->from->o.context)
    lze_argerror(L, arg + 1, "a buffer of another context");
  if (c->to == c->from && c->from_offset < c->to_offset + c->bytes &&
      c->to_offset < c->from_offset + c->bytes)
    lze_argerror(L, arg + 1, "source and destination overlap");
}

/* Check dst, src, i, j, at from stack index `arg` on and copy on the default
   queue, or on the one at 1 if `arg` is 2. */
static lze_Command *buffer_copy_on(lua_State *L, int arg) {
  lze_Buffer *dst;
  lze_check_buffer(L, arg);
  lze_check_buffer(L, arg + 1);
  lze_Queue *q = lze_buffer_queue(L, arg);
  lze_Buffer *src;
  size_t first, n;
  lua_Integer at;
  copy_read(L, arg, &dst, &src, &first, &n, &at);
  return buffer_copy_elements(L, q, arg > 1, arg, dst, arg + 1, src, first, n,
                              at);
}

/* dst:copy(src [, i [, j [, at]]]) -> dst, enqueued on the default queue */
static int buffer_copy(lua_State *L) {
  lua_settop(L, 5);
  buffer_copy_on(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* q:copy(dst, src [, i [, j [, at]]]) -> event */
static int queue_copy(lua_State *L) {
  lua_settop(L, 6);
  /* A copy by way of the host runs hooks, which may close the queue. */
  const lze_DeviceInfo *device = lze_check_queue(L, 1)->device->base;
  lze_Event *e = lze_push_event(L);
  lze_Command *c = buffer_copy_on(L, 2);
  lua_settop(L, 7);
  event_set(L, e, c, device, "copy");
  return 1;
}

/* --- files -------------------------------------------------------------- */

static FILE *check_file(lua_State *L, int arg) {
  luaL_Stream *stream = luaL_checkudata(L, arg, LUA_FILEHANDLE);
  if (stream->closef == NULL) lze_argerror(L, arg, "the file is closed");
  return stream->f;
}

static int file_fail(lua_State *L, const char *call, int error) {
  if (error == 0) error = EIO;
  return lze_fail_word(L, NULL, call, lze_errno_name(error), NULL, "%s",
                       strerror(error));
}

/* x:save(file [, i [, j]]) -> x: the bytes of the elements to an open file,
   with no string in between. */
static int buffer_save(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  FILE *f = check_file(L, 2);
  size_t first, n;
  buffer_range(L, b, 3, &first, &n);
  size_t step = STAGING_BYTES / b->type->bytes;
  for (size_t done = 0; done < n; done += step) {
    if (step > n - done) step = n - done;
    b = lze_check_buffer(L, 1);
    const char *p = buffer_bytes(L, 1, b, first + done, step);
    f = check_file(L, 2); /* a hook may have closed it */
    errno = 0;
    if (fwrite(p, b->type->bytes, step, f) != step)
      return file_fail(L, "fwrite", errno);
    lua_settop(L, 4);
  }
  lua_settop(L, 1);
  return 1;
}

/* x:load(file [, i [, j]]) -> n: elements from an open file, with no string in
   between; n is how many there were before its end. */
static int buffer_load(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  check_file(L, 2);
  size_t first, n, done = 0;
  buffer_range(L, b, 3, &first, &n);
  size_t size = b->type->bytes, step = STAGING_BYTES / size;
  char *piece = lua_newuserdatauv(L, (step < n ? step : n) * size, 0);
  while (done < n) {
    if (step > n - done) step = n - done;
    FILE *f = check_file(L, 2); /* a hook may have closed it */
    clearerr(f); /* it may have grown, or recovered, since */
    errno = 0;
    size_t got = fread(piece, 1, step * size, f);
    if (ferror(f)) return file_fail(L, "fread", errno);
    if (got % size != 0)
      return lze_fail_word(L, NULL, "fread", "EOF", NULL,
                           "the file ends %d bytes into an element of %s",
                           (int)(got % size), b->type->name);
    b = lze_check_buffer(L, 1);
    buffer_put(L, 1, b, first + done, piece, got / size);
    done += got / size;
    if (got < step * size) break;
  }
  lua_pushinteger(L, (lua_Integer)done);
  return 1;
}

/* --- views, sharing, closing -------------------------------------------- */

static int buffer_view(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  buffer_range(L, b, 2, &first, &n);
  const lze_Type *type = lua_isnil(L, 4) ? b->type : lze_check_type(L, 4);
  size_t offset = b->offset + first * b->type->bytes;
  size_t bytes = n * b->type->bytes;
  if (bytes % type->bytes != 0 || offset % type->bytes != 0)
    lze_argerror(L, 4,
                  lua_pushfstring(L, "%I bytes from byte %I on are not whole "
                                     "elements of %s (%d bytes each)",
                                  (LUAI_UACINT)bytes, (LUAI_UACINT)offset,
                                  type->name, type->bytes));
  lze_push_window(L, 1, offset, type, (lua_Integer)(bytes / type->bytes));
  return 1;
}

/* x:export([where]) -> token, with which lze.import makes a buffer on the same
   memory, after a wait for pending work: an integer, for any state of this
   process, or with "process" a string, for another process. */
static int buffer_export(lua_State *L) {
  lze_check_buffer(L, 1);
  const char *where =
      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(where, "process") == 0) return lze_push_passport(L, 1);
  if (!lua_isnoneornil(L, 2) && strcmp(where, "state") != 0)
    lze_argerror(L, 2, lua_pushfstring(L, "state or process expected, got %s",
                                        lze_describe(L, 2)));
  lua_pushinteger(L, (lua_Integer)lze_export(L, 1));
  return 1;
}

/* x:pending() -> boolean: whether work in flight touches these elements,
   without waiting.  Raises what the driver says when it does not tell. */
static int buffer_pending(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushboolean(L, lze_storage_pending(
                         L, b->storage, b->offset,
                         b->offset + (size_t)b->count * b->type->bytes,
                         true));
  return 1;
}

static int buffer_close(lua_State *L) {
  lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  lze_Storage *s = b->storage;
  if (s == NULL) return 0;
  b->storage = NULL;
  if (!b->view) lze_close(&s->o);
  lze_disown(&s->o);
  return 0;
}

/* --- metamethods -------------------------------------------------------- */

static int buffer_gc(lua_State *L) {
  lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  lze_Storage *s = b->storage;
  b->storage = NULL;
  if (s != NULL) lze_disown(&s->o);
  return 0;
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, lze_check_buffer(L, 1)->count);
  return 1;
}

/* An integer-valued key as a 0-based position; false when out of range. */
static bool buffer_key(lua_State *L, const lze_Buffer *b, size_t *position) {
  int exact;
  lua_Integer i = lua_tointegerx(L, 2, &exact);
  if (!exact)
    luaL_error(L, "a buffer's index is an integer, got %s",
               lze_describe(L, 2));
  if (i < 1 || i > b->count) return false;
  *position = (size_t)i - 1;
  return true;
}

static void buffer_check_host(lua_State *L, const lze_Buffer *b) {
  if (b->storage->usage == LZE_DEVICE)
    luaL_error(L, "a device buffer has no elements on the host: use :read "
                  "or :write");
}

/* Push an element, after the work that it waits for. */
static void buffer_push_element(lua_State *L, const lze_Buffer *b,
                                size_t position) {
  if (b->storage->uses != NULL || b->storage->failed != NULL)
    buffer_wait(L, 1, b, position, 1, false);
  /* A copy, because the table of a vector may run a finaliser that closes. */
  char element[ELEMENT_BYTES];
  memcpy(element, buffer_data(b) + position * b->type->bytes, b->type->bytes);
  lze_type_push(L, b->type, element);
}

static int buffer_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) {
    lze_check_box(L, 1, lze_buffer_kind);
    return lze_box_index(L);
  }
  lze_Buffer *b = lze_check_buffer(L, 1);
  buffer_check_host(L, b);
  size_t position;
  if (!buffer_key(L, b, &position)) return 0;
  buffer_push_element(L, b, position);
  return 1;
}

/* One step of pairs: the next index and its element. */
static int buffer_next(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  lua_Integer i = lze_check_integer(L, 2, "index");
  if (i < 0 || i >= b->count) return 0;
  buffer_check_host(L, b);
  lua_pushinteger(L, i + 1);
  buffer_push_element(L, b, (size_t)i);
  return 2;
}

/* Whether it is open and on the host is for the first step to say, which has
   a position. */
static int buffer_pairs(lua_State *L) {
  lze_check_box(L, 1, lze_buffer_kind);
  lua_pushcfunction(L, buffer_next);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static int buffer_newindex(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  if (lua_type(L, 2) != LUA_TNUMBER)
    return luaL_error(L, "a buffer has no field that can be set (%s)",
                      lze_describe(L, 2));
  buffer_check_host(L, b);
  size_t position;
  if (!buffer_key(L, b, &position))
    return luaL_error(L, "index %I is outside 1..%I",
                      (LUAI_UACINT)lua_tointeger(L, 2),
                      (LUAI_UACINT)b->count);
  char element[ELEMENT_BYTES];
  if (!lze_type_store(L, b->type, 3, element))
    return luaL_error(L, "index %I: %s", (LUAI_UACINT)position + 1,
                      lua_tostring(L, -1));
  if (b->storage->uses != NULL || b->storage->failed != NULL)
    buffer_wait(L, 1, b, position, 1, true);
  memcpy(buffer_data(b) + position * b->type->bytes, element,
         b->type->bytes);
  return 0;
}

static int buffer_tostring(lua_State *L) {
  const lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  const lze_Type *type = b->type;
  lua_Integer count = b->count;
  if (!lze_buffer_is_open(b)) {
    lua_pushfstring(L, "buffer: %s[%I] (closed)", type->name,
                    (LUAI_UACINT)count);
    return 1;
  }
  /* All that the text needs is taken here: making it may run a finaliser that
     closes the buffer. */
  char elements[SHOWN * ELEMENT_BYTES];
  size_t n = count < SHOWN ? (size_t)count : SHOWN, bytes = n * type->bytes;
  lze_Usage usage = b->storage->usage;
  bool values = usage != LZE_DEVICE && n > 0;
  bool busy = values && lze_storage_pending(NULL, b->storage, b->offset,
                                            b->offset + bytes, false);
  if (values && !busy) memcpy(elements, buffer_data(b), bytes);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  lua_pushfstring(L, "buffer: %s[%I] %s%s%s", type->name, (LUAI_UACINT)count,
                  usage_names[usage], b->view ? " view" : "",
                  busy ? " (busy)" : "");
  luaL_addvalue(&text);
  if (!values || busy) {
    luaL_pushresult(&text);
    return 1;
  }
  luaL_addstring(&text, " {");
  for (size_t i = 0; i < n; i++) {
    const char *p = elements + i * type->bytes;
    if (i > 0) luaL_addstring(&text, ", ");
    if (type->lanes > 1) luaL_addchar(&text, '{');
    for (int lane = 0; lane < type->lanes; lane++) {
      if (lane > 0) luaL_addstring(&text, ", ");
      lze_type_push(L, lze_type_of(type->scalar, 1),
                    p + lane * type->scalar_bytes);
      luaL_tolstring(L, -1, NULL);
      lua_remove(L, -2);
      luaL_addvalue(&text);
    }
    if (type->lanes > 1) luaL_addchar(&text, '}');
  }
  luaL_addstring(&text, (size_t)count > n ? ", ...}" : "}");
  luaL_pushresult(&text);
  return 1;
}

/* --- fields ------------------------------------------------------------- */

static int field_type(lua_State *L) {
  lua_pushstring(L, lze_check_buffer(L, 1)->type->name);
  return 1;
}

static int field_usage(lua_State *L) {
  lua_pushstring(L, usage_names[lze_check_buffer(L, 1)->storage->usage]);
  return 1;
}

static int field_bytes(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushinteger(L, b->count * b->type->bytes);
  return 1;
}

static int field_pointer(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushinteger(L, (lua_Integer)(intptr_t)buffer_data(b));
  return 1;
}

static int field_handle(lua_State *L) {
  lua_pushlightuserdata(L, buffer_data(lze_check_buffer(L, 1)));
  return 1;
}

static int field_device(lua_State *L) {
  lze_push_device(L, lze_check_buffer(L, 1)->storage->device);
  return 1;
}

static int field_context(lua_State *L) {
  lze_push_context(L, context_of_buffer, (void *)(intptr_t)1);
  return 1;
}

/* --- lze.buffer --------------------------------------------------------- */

/* lze.buffer(type, count | table | string [, options]) -> buffer
   type: an element type's name; count: elements, not negative; a table's or
   string's elements are taken.  options: usage ("shared", "device", "host"),
   device, context, zero (false: contents of a counted buffer undefined). */
int lze_buffer_new(lua_State *L) {
  static const char *const keys[] = {"usage", "device", "context", "zero",
                                     NULL};
  lua_settop(L, 3);
  const lze_Type *type = lze_check_type(L, 1);
  size_t count = 0;
  switch (lua_type(L, 2)) {
    case LUA_TNUMBER: {
      lua_Integer n = lze_check_integer(L, 2, "count");
      if (n < 0)
        lze_argerror(L, 2, lua_pushfstring(L, "count: %I is negative",
                                            (LUAI_UACINT)n));
      if (n > PTRDIFF_MAX / type->bytes)
        lze_argerror(L, 2, lua_pushfstring(L, "count: %I %s are larger than "
                                               "any memory",
                                            (LUAI_UACINT)n, type->name));
      count = (size_t)n;
      break;
    }
    case LUA_TTABLE:
      table_ask(L, 2, type);
      count = table_length(L, 2, type);
      break;
    case LUA_TSTRING: {
      size_t length;
      lua_tolstring(L, 2, &length);
      if (length % type->bytes != 0)
        lze_argerror(L, 2,
                      lua_pushfstring(L, "%I bytes are not a whole number of "
                                         "%s (%d bytes each)",
                                      (LUAI_UACINT)length, type->name,
                                      type->bytes));
      count = length / type->bytes;
      break;
    }
    default:
      lze_argerror(L, 2, lua_pushfstring(L, "count, table or string "
                                             "expected, got %s",
                                          lze_describe(L, 2)));
  }
  lze_Usage usage = LZE_SHARED;
  bool zero = true;
  if (!lua_isnil(L, 3)) {
    lze_argexpected(L, lua_istable(L, 3), 3, "table");
    lze_check_keys(L, 3, "a buffer's options", keys);
    usage = (lze_Usage)lze_opt_word(L, 3, "usage", usage_names, LZE_SHARED);
    zero = lze_opt_boolean(L, 3, "zero", true);
    lua_settop(L, 3);
  }
  /* What cannot be stored is found before anything is allocated. */
  const char *bytes = NULL;
  if (lua_istable(L, 2)) bytes = table_pack(L, type, 2, count);
  else if (lua_type(L, 2) == LUA_TSTRING) bytes = lua_tostring(L, 2);
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, lua_istable(L, 3) ? 3 : 0, &device, &context);
  lze_Buffer *b = lze_push_buffer(L, context, device, usage, type, count);
  if (count == 0) return 1;
  if (bytes != NULL) {
    buffer_put(L, lua_gettop(L), b, 0, bytes, count);
  } else if (zero) {
    const lze_Fill nothing = {.to = b->storage,
                              .bytes = b->storage->bytes,
                              .pattern_bytes = type->bytes};
    if (usage == LZE_DEVICE)
      fill_append(L, buffer_queue(L, b), false, &nothing);
    else
      memset(b->storage->pointer, 0, b->storage->bytes);
  }
  return 1;
}

static const lze_Method buffer_methods[] = {
    {"read", buffer_read, LZE_HOT},
    {"write", buffer_write, LZE_HOT},
    {"string", buffer_string, LZE_HOT},
    {"fill", buffer_fill, LZE_HOT},
    {"copy", buffer_copy, LZE_HOT},
    {"copy_box", lze_copy_box, LZE_HOT},
    {"load", buffer_load, LZE_HOT},
    {"save", buffer_save, LZE_HOT},
    {"view", buffer_view, LZE_HOT},
    {"pending", buffer_pending, LZE_HOT},
    {"export", buffer_export, LZE_HOT},
    {"close", buffer_close, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method buffer_metamethods[] = {
    {"__index", buffer_index, LZE_HOT},
    {"__newindex", buffer_newindex, LZE_HOT},
    {"__len", buffer_len, LZE_HOT},
    {"__pairs", buffer_pairs, LZE_HOT},
    {"__gc", buffer_gc, LZE_HOT},
    {"__close", buffer_close, LZE_HOT},
    {"__tostring", buffer_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Field buffer_fields[] = {
    {"type", field_type},       {"usage", field_usage},
    {"bytes", field_bytes},     {"pointer", field_pointer},
    {"handle", field_handle},   {"device", field_device},
    {"context", field_context}, {NULL, NULL}};

static const lze_Method functions[] = {
    {"buffer", lze_buffer_new, LZE_COLD},
    {NULL, NULL, LZE_HOT}};

static const lze_Method queue_methods[] = {
    {"copy", queue_copy, LZE_HOT},
    {"fill", queue_fill, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_memory(lua_State *L) {
  lze_add_methods(L, lze_queue_kind, queue_methods);
  lze_new_kind(L, lze_buffer_kind, buffer_metamethods, buffer_methods,
               buffer_fields);
  lze_set_methods(L, functions, 0);
}
