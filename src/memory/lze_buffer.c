/*
 * lze_buffer.c - buffers as arguments, and their indices.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_buffer.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "device/lze_device.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

/* Returns the buffer of exactly an array's elements, which the array retains;
   NULL if they are not contiguous. */
static lze_Buffer *array_buffer(lua_State *L, int index) {
  lze_Buffer *b;
  if (!lze_is_array(L, index)) return NULL;
  lze_array_evaluate(L, index);
  lze_push_array_buffer(L, index);
  b = lze_test_box(L, -1, lze_buffer_kind);
  lua_pop(L, 1);
  return b;
}

lze_Buffer *lze_test_buffer(lua_State *L, int index) {
  lze_Buffer *b = lze_test_box(L, index, lze_buffer_kind);
  return b == NULL ? array_buffer(L, index) : b;
}

lze_Buffer *lze_check_buffer(lua_State *L, int arg) {
  lze_Buffer *b = array_buffer(L, arg);
  if (b == NULL) b = lze_check_box(L, arg, lze_buffer_kind);
  if (!lze_buffer_is_open(b)) lze_closed(L, arg, lze_buffer_kind);
  return b;
}

lze_Buffer *lze_take_buffer(lua_State *L, int arg) {
  lze_Buffer *b = lze_check_buffer(L, arg);
  if (lze_test_box(L, arg, lze_buffer_kind) != NULL) return b;
  lze_push_array_buffer(L, arg);
  lua_replace(L, arg);
  return b;
}

void lze_buffer_flush_readers(lua_State *L, int index) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b != NULL && lze_buffer_is_open(b))
    lze_storage_flush_readers(L, b->storage);
}

lze_Queue *lze_buffer_default_queue(lua_State *L, const lze_Buffer *b) {
  return lze_default_queue(L, b->storage->o.context, b->storage->device);
}

/* Converts a position, which counts from the end if negative. */
static lua_Integer buffer_from_end(const lze_Buffer *b, lua_Integer i) {
  return i < 0 ? i + b->count + 1 : i;
}

lua_Integer lze_buffer_at(lua_State *L, const lze_Buffer *b, int arg,
                          const char *name) {
  lua_Integer given = lze_check_integer_or(L, arg, name, 1);
  lua_Integer at = buffer_from_end(b, given);
  if (at < 1 || at > b->count + 1)
    lze_argerror(L, arg, lua_pushfstring(L, "%s: %I is outside 1..%I", name,
                                          (LUAI_UACINT)given,
                                          (LUAI_UACINT)b->count + 1));
  return at;
}

void lze_buffer_range(lua_State *L, const lze_Buffer *b, int arg,
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

void lze_buffer_wait(lua_State *L, int arg, const lze_Buffer *b,
                     size_t first, size_t n, bool write) {
  size_t from = b->offset + first * b->type->bytes;
  if (n == 0) return;
  lze_storage_wait(L, b->storage, from, from + n * b->type->bytes, write);
  if (!lze_buffer_is_open(b))
    lze_argerror(L, arg, "the buffer was closed during the wait");
}

lze_Buffer *lze_push_beside(lua_State *L, int arg, lze_Usage usage,
                            size_t bytes) {
  lze_Context *context =
      lze_push_context(L, lze_check_buffer(L, arg)->storage->o.context);
  const lze_DeviceInfo *device = lze_check_buffer(L, arg)->storage->device;
  lze_Buffer *b =
      lze_push_buffer(L, context, device, usage, lze_type_of(LZE_U8, 1), bytes);
  lze_record_use(b->storage, "staging");
  lze_check_buffer(L, arg);
  return b;
}

lze_Queue *lze_buffer_queue_at(lua_State *L, int arg) {
  return arg > 1 ? lze_check_queue(L, 1)
                 : lze_buffer_default_queue(L, lze_check_buffer(L, arg));
}

lze_Queue *lze_buffer_queue(lua_State *L, int arg) {
  lze_Queue *q;
  lze_buffer_flush_readers(L, arg);
  do q = lze_buffer_queue_at(L, arg);
  while (!lze_queue_ready(L, q));
  return q;
}
