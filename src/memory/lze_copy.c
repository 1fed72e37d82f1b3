/*
 * lze_copy.c - copies and fills, within the device and from and to the host.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_guard.h"
#include "base/lze_pages.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <string.h>

static bool is_settled(lze_Storage *s, size_t first, size_t bytes) {
  return lze_storage_conflict(s, first, first + bytes, false) == NULL;
}

/* Appends a copy to a queue and returns its command. */
static lze_Command *copy_append(lua_State *L, lze_Queue *q, const char *name,
                                bool timed, const lze_Copy *copy) {
  lze_Command *c = lze_begin(L, q, name, timed, NULL);
  if (c->record != 0)
    lze_record_copy(c, copy,
                    is_settled(copy->from, copy->from_offset, copy->bytes),
                    is_settled(copy->to, copy->to_offset, copy->bytes));
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

/* Returns true if a copy on the queue would not follow other work, no work
   proceeds only in waits, and no recorder needs a record of the copy. */
static bool has_nothing_else(const lze_State *S, const lze_Queue *q,
                             const lze_Storage *s) {
  return q->tail == NULL && !q->foreign && !q->batched && s->uses == NULL &&
         s->failed == NULL && S->recorder == NULL && S->runs == NULL &&
         S->works == NULL && S->calling == NULL;
}

/* Copies between a device storage and host memory in one step.  No Lua code
   runs until it is over, so the host memory stays valid; such a delay is
   acceptable only if the device has no work to do first.  Returns false if it
   has work, or if the driver does not accept the host memory. */
static bool direct_move(lua_State *L, lze_Storage *s, size_t offset,
                        char *host, size_t bytes, bool write) {
  lze_Context *context = s->o.context;
  lze_Queue *q = lze_default_queue(L, context, s->device);
  while (q->tail != NULL && lze_command_poll(q->tail))
    ;
  if (!has_nothing_else(context->state, q, s)) return false;
  lze_Outcome out;
  lze_EventSlot *slot = lze_event_take(context, false, &out);
  if (slot == NULL) return false;
  char *there = s->pointer + offset;
  if (!ZE_TRY(&out, zeCommandListAppendMemoryCopy, q->list,
              write ? there : host, write ? host : there, bytes, slot->handle,
              0, NULL)) {
    lze_event_give(context, slot);
    return false;
  }
  bool good;
  do good = ZE_TRY(&out, zeEventHostSynchronize, slot->handle, LZE_SLICE_NS);
  while (!good && out.result == ZE_RESULT_NOT_READY);
  if (!good)
    lze_fail(L, s->device->driver, out.result, NULL, out.call, NULL, NULL);
  lze_event_give(context, slot);
  return true;
}

/* Moves bytes between a device storage and host memory at `host`: through a
   staging buffer, piece by piece, until the rest can be copied directly. */
static void host_move(lua_State *L, int arg, const lze_Buffer *b,
                      size_t offset, char *host, size_t bytes, bool write) {
  int top = lua_gettop(L);
  size_t piece = bytes < LZE_STAGING_BYTES ? bytes : LZE_STAGING_BYTES;
  const lze_Buffer *staging = NULL;
  lze_Storage *s = b->storage;
  for (size_t done = 0; done < bytes; done += piece) {
    if (!lze_buffer_is_open(b))
      lze_argerror(L, arg, "the buffer was closed during the wait");
    if (direct_move(L, s, offset + done, host + done, bytes - done, write))
      break;
    if (staging == NULL) staging = lze_push_beside(L, arg, LZE_HOST, piece);
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
  if (staging != NULL) lze_close(&staging->storage->o); /* not left to the
                                                           collector */
  lua_settop(L, top);
  /* The command that wrote these bytes is over, and may have failed. */
  if (!write && lze_buffer_is_open(b))
    lze_storage_wait(L, s, offset, offset + bytes, false);
}

/* [-0, +1] Returns a copy of the bytes of n elements. */
static const char *buffer_copy_bytes(lua_State *L, int arg,
                                     const lze_Buffer *b, size_t first,
                                     size_t n) {
  size_t bytes = n * b->type->bytes;
  char *copy = lua_newuserdatauv(L, bytes, 0);
  lze_check_buffer(L, arg); /* a finalizer may have closed it */
  if (n == 0) return copy;
  if (b->storage->usage == LZE_DEVICE) {
    lze_pages_advise(copy, bytes);
    host_move(L, arg, b, b->offset + first * b->type->bytes, copy, bytes,
              false);
  } else {
    lze_buffer_wait(L, arg, b, first, n, false);
    memcpy(copy, lze_buffer_data(b) + first * b->type->bytes, bytes);
  }
  return copy;
}

const char *lze_buffer_bytes(lua_State *L, int arg, const lze_Buffer *b,
                             size_t first, size_t n) {
  if (b->storage->usage == LZE_DEVICE)
    return buffer_copy_bytes(L, arg, b, first, n);
  lze_buffer_wait(L, arg, b, first, n, false);
  lua_pushnil(L);
  return n == 0 ? "" : lze_buffer_data(b) + first * b->type->bytes;
}

void lze_buffer_put(lua_State *L, int arg, const lze_Buffer *b,
                    size_t first, const char *bytes, size_t n) {
  size_t size = n * b->type->bytes;
  if (n == 0) return;
  if (b->storage->usage == LZE_DEVICE) {
    lze_storage_flush_readers(L, b->storage);
    lze_check_buffer(L, arg);
    host_move(L, arg, b, b->offset + first * b->type->bytes, (char *)bytes,
              size, true);
    return;
  }
  lze_buffer_wait(L, arg, b, first, n, true);
  memcpy(lze_buffer_data(b) + first * b->type->bytes, bytes, size);
}

void lze_buffer_too_many(lua_State *L, const lze_Buffer *b, int arg,
                         lua_Integer n, lua_Integer at) {
  lze_argerror(L, arg,
                lua_pushfstring(L, "%I element%s from position %I on do not "
                                   "fit a buffer of %I",
                                (LUAI_UACINT)n, n == 1 ? "" : "s",
                                (LUAI_UACINT)at,
                                (LUAI_UACINT)b->count));
}

/* Enqueues a fill; returns NULL if there is nothing to fill. */
lze_Command *lze_fill_append(lua_State *L, lze_Queue *q, bool timed,
                             const lze_Fill *f) {
  if (f->bytes == 0) return NULL;
  lze_Command *c = lze_begin(L, q, "fill", timed, NULL);
  lze_record_kind(c, LZE_RECORD_FILL, f->bytes);
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
  lze_buffer_range(L, b, arg + 2, &first, &n);
  if (b->type->fields != NULL)
    lze_argerror(L, arg, "queues and graphs do not fill structs: x:fill, or a "
                         "copy");
  if (!lze_type_store(L, b->type, arg + 1, f->pattern))
    lze_argerror(L, arg + 1, lua_tostring(L, -1));
  f->to = b->storage;
  f->pattern_bytes = b->type->bytes;
  f->offset = b->offset + first * b->type->bytes;
  f->bytes = n * b->type->bytes;
}

lze_Command *lze_fill_on(lua_State *L, int arg) {
  lze_check_buffer(L, arg);
  lze_Queue *q = lze_buffer_queue(L, arg);
  lze_Fill f;
  lze_fill_check(L, arg, &f);
  if (q->o.context != f.to->o.context)
    lze_argerror(L, arg, "a buffer of another context than the queue");
  if (!lze_device_reaches(q->device, f.to))
    q = lze_default_queue(L, f.to->o.context, f.to->device);
  return lze_fill_append(L, q, arg > 1, &f);
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

/* Appends a copy to the queue, or to the default queue of the storage's device
   if the queue cannot reach it; q is NULL if the caller will wait for the
   copy. */
static lze_Command *copy_append_near(lua_State *L, lze_Queue *q, bool timed,
                                     const lze_Storage *s,
                                     const lze_Copy *copy) {
  if (q == NULL)
    q = lze_transfer_queue(L, s->device, copy);
  else if (!lze_device_reaches(q->device, s))
    q = lze_default_queue(L, s->o.context, s->device);
  return copy_append(L, q, "copy", timed, copy);
}

lze_Command *lze_copy_elements(lua_State *L, lze_Queue *q,
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
    /* No queue reaches both: copy through host memory, and wait for it. */
    const char *p = buffer_copy_bytes(L, src_arg, src, first, n);
    lze_check_buffer(L, dst_arg);
    lze_buffer_put(L, dst_arg, dst, (size_t)at - 1, p, n);
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
       memory that its device does not reach: go through a third buffer, which
       the commands keep alive, on queues that reach it and one of the two. */
    lze_Buffer *third =
        lze_push_beside(L, dst_arg, apart ? LZE_HOST : LZE_DEVICE, bytes);
    if (!lze_buffer_is_open(src))
      lze_argerror(L, src_arg, "the buffer is closed");
    if (q != NULL) q = lze_buffer_queue_at(L, dst_arg);
    const lze_Copy there = {third->storage, s, 0, from, bytes};
    copy_append_near(L, q, false, s, &there);
    s = third->storage;
    from = 0;
  }
  const lze_Copy copy = {dst->storage, s, to, from, bytes};
  return copy_append_near(L, q, timed, dst->storage, &copy);
}

/* Checks dst, src, i, j, at from stack index `arg` on. */
static void copy_read(lua_State *L, int arg, lze_Buffer **dst,
                      lze_Buffer **src, size_t *first, size_t *n,
                      lua_Integer *at) {
  *dst = lze_check_buffer(L, arg);
  *src = lze_check_buffer(L, arg + 1);
  lze_buffer_range(L, *src, arg + 2, first, n);
  *at = lze_buffer_at(L, *dst, arg + 4, "at");
  if (*n > (size_t)((*dst)->count - *at + 1))
    lze_buffer_too_many(L, *dst, arg + 1, (lua_Integer)*n, *at);
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

lze_Command *lze_copy_on(lua_State *L, int arg) {
  lze_Buffer *dst;
  lze_arrays_evaluate(L, arg, arg + 1);
  lze_check_buffer(L, arg);
  lze_check_buffer(L, arg + 1);
  lze_Queue *q = lze_buffer_queue(L, arg);
  lze_Buffer *src;
  size_t first, n;
  lua_Integer at;
  copy_read(L, arg, &dst, &src, &first, &n, &at);
  return lze_copy_elements(L, q, arg > 1, arg, dst, arg + 1, src, first, n,
                              at);
}
