/*
 * lze_buffer.h - buffers, copies and fills.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BUFFER_H
#define LZE_BUFFER_H

#include "base/lze_box.h"
#include "base/lze_types.h"
#include "queue/lze_storage.h"

/* The userdata: a window on a storage. */
typedef struct lze_Buffer {
  lze_Box box;
  bool view;
  bool imported;                /* one of storage->imports */
  bool lent;                    /* arrays may read through it */
  lze_Storage *storage;         /* NULL once closed */
  const lze_Type *type;
  size_t offset;                /* bytes into the storage */
  lua_Integer count;            /* elements */
} lze_Buffer;

/* USM memory that was allocated elsewhere: the whole allocation, as the driver
   describes it. */
typedef struct lze_Borrowed {
  lze_Usage usage;
  char *base;
  size_t bytes;
  uint64_t id;
} lze_Borrowed;
/* [-0, +1] Pushes a buffer of `count` elements that starts at `pointer`, inside
   `memory`.  Buffers on one allocation share a storage, so that their commands
   are ordered.  If `release` is not NULL, it is called when nothing in this
   state needs that storage any more; the same function with the same userdata
   is called once.  If this raises, `release` is never called. */
lze_Buffer *lze_push_borrowed(lua_State *L, lze_Context *context,
                              const lze_DeviceInfo *device,
                              const lze_Borrowed *memory, void *pointer,
                              const lze_Type *type, lua_Integer count,
                              void (*release)(void *, void *),
                              void *userdata);

/* [-0, +1] Pushes a buffer of a storage on exported memory: the storage that
   the context already has, or a new one, which takes over a reference;
   raises. */
lze_Buffer *lze_push_shared(lua_State *L, lze_Context *context,
                            const lze_Storage *like, const lze_Type *type,
                            size_t offset, lua_Integer count);
/* The function lze.buffer. */
int lze_buffer_new(lua_State *L);

/* Calls lze_storage_flush_readers before work that may write to the buffer at
   `index`, if that is an open buffer. */
void lze_buffer_flush_readers(lua_State *L, int index);
/* Returns the open buffer at `arg`, or the buffer of a contiguous array, which
   is computed if it is an expression; raises for anything else. */
lze_Buffer *lze_check_buffer(lua_State *L, int arg);
/* Like lze_check_buffer, for a caller that retains the buffer: replaces an
   array at `arg` by its buffer. */
lze_Buffer *lze_take_buffer(lua_State *L, int arg);
/* Returns the buffer at `index`, open or not, or NULL. */
lze_Buffer *lze_test_buffer(lua_State *L, int index);
static inline bool lze_buffer_is_open(const lze_Buffer *b) {
  return b->storage != NULL && !b->storage->o.closed;
}
/* Records that expressions have yet to read the buffer: they are evaluated
   before its storage is written.  Returns false if it is closed. */
static inline bool lze_buffer_await(const lze_Buffer *b) {
  if (!lze_buffer_is_open(b)) return false;
  b->storage->awaited = true;
  b->storage->asked++;
  return true;
}
/* Returns the address of the first element. */
static inline char *lze_buffer_data(const lze_Buffer *b) {
  return b->storage->pointer + b->offset;
}
/* Returns the position at `arg` for new elements: from 1, the default, to #b +
   1. */
lua_Integer lze_buffer_at(lua_State *L, const lze_Buffer *b, int arg,
                          const char *name);
/* Converts the arguments i and j to elements [*first, *first + *n), counted
   from 0. i and j are 1-based and inclusive; negative values count from the
   end; nothing is clamped. */
void lze_buffer_range(lua_State *L, const lze_Buffer *b, int arg,
                      size_t *first, size_t *n);
/* Waits until the host may read, or write, n elements from `first` on.  A hook
   may run during the wait; raises if it has closed the buffer at `arg`. */
void lze_buffer_wait(lua_State *L, int arg, const lze_Buffer *b,
                     size_t first, size_t n, bool write);
/* Returns the default queue of the buffer's device and context. */
lze_Queue *lze_buffer_default_queue(lua_State *L, const lze_Buffer *b);
/* Returns the queue at 1 if `arg` is not 1, else the default queue of the
   buffer at `arg`. */
lze_Queue *lze_buffer_queue_at(lua_State *L, int arg);
/* [-0, +1] Pushes a new buffer with undefined contents; raises when memory runs
   out. */
lze_Buffer *lze_push_buffer(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device, lze_Usage usage,
                            const lze_Type *type, size_t count);
/* [-0, +1] Pushes a shared buffer of `count` elements without memory, for the
   check of a launch. */
void lze_push_stub(lua_State *L, lze_Context *context,
                   const lze_DeviceInfo *device, const lze_Type *type,
                   lua_Integer count);
/* [-0, +1] Pushes a view: `count` elements from byte `offset` of the storage of
   the open buffer at `buffer`. */
void lze_push_window(lua_State *L, int buffer, size_t offset,
                     const lze_Type *type, lua_Integer count);

/* [-0, +1] Pushes a view of a storage that something else keeps alive. */
void lze_push_storage_window(lua_State *L, lze_Storage *s, size_t offset,
                             const lze_Type *type, lua_Integer count);

/* [-0, +2] Pushes the context of the open buffer at `arg` and a new buffer of
   bytes in that context.  A finalizer may close the buffer at `arg` while this
   allocates; then it raises. */
lze_Buffer *lze_push_beside(lua_State *L, int arg, lze_Usage usage,
                            size_t bytes);
/* Returns lze_buffer_queue_at once that queue can take one more command; no Lua
   code has run since it was found. */
lze_Queue *lze_buffer_queue(lua_State *L, int arg);
/* Reads one to three positive integers from field `key` of the table at t;
   missing ones are 1. */
void lze_copy_box_triple(lua_State *L, int t, const char *key, bool needed,
                         size_t out[3]);
/* q:prefetch(x) and q:advise(x, word) */
int lze_queue_prefetch(lua_State *L);
int lze_queue_advise(lua_State *L);
/* x:copy_box(src, box) */
int lze_copy_box(lua_State *L);

/* The result of checking a fill. */
typedef struct lze_Fill {
  lze_Storage *to;
  size_t offset, bytes, pattern_bytes;
  _Alignas(8) char pattern[16 * 8];
} lze_Fill;
/* Checks dst, src, i, j, at, or x, v, i, j, from stack index `arg` on, as the
   methods of a buffer do.  Raises if the buffers belong to two contexts or a
   copy overlaps itself. */
void lze_copy_check(lua_State *L, int arg, lze_Copy *c);
void lze_fill_check(lua_State *L, int arg, lze_Fill *f);

/* Data that is not read or written at once goes through host memory in pieces
   of this size: large enough for the bandwidth of any bus, small compared with
   device memory. */
#define LZE_STAGING_BYTES ((size_t)4 << 20)
/* [-0, +1] Returns host memory with the bytes of n elements: the storage
   itself, after a wait, valid until Lua code runs, or a copy of device memory.
   The pushed value keeps that alive. */
const char *lze_buffer_bytes(lua_State *L, int arg, const lze_Buffer *b,
                             size_t first, size_t n);
/* Copies host bytes to elements from `first` on. */
void lze_buffer_put(lua_State *L, int arg, const lze_Buffer *b,
                    size_t first, const char *bytes, size_t n);
/* Raises that n elements from position `at` (from 1) on are too many. */
void lze_buffer_too_many(lua_State *L, const lze_Buffer *b, int arg,
                         lua_Integer n, lua_Integer at);
/* Enqueues a fill; returns the command. */
lze_Command *lze_fill_append(lua_State *L, lze_Queue *q, bool timed,
                             const lze_Fill *f);
/* Checks x, v, i, j from stack index `arg` on and fills on the default queue,
   or on the one at 1 if `arg` is 2. */
lze_Command *lze_fill_on(lua_State *L, int arg);
/* Copies src[first..] to element `at` (from 1) of dst, on queue q, which must
   be lze_buffer_queue_at(L, dst_arg); q is NULL if the caller will wait for the
   copy.  Returns the last command, or NULL if there is nothing to copy. */
lze_Command *lze_copy_elements(lua_State *L, lze_Queue *q,
                               bool timed, int dst_arg,
                               lze_Buffer *dst, int src_arg,
                               lze_Buffer *src, size_t first,
                               size_t n, lua_Integer at);
/* Checks dst, src, i, j, at from stack index `arg` on and copies on the default
   queue, or on the one at 1 if `arg` is 2. */
lze_Command *lze_copy_on(lua_State *L, int arg);

/* lze_element.c: [-0, +1] pushes the struct at byte `offset` of the storage of
   the buffer at `buffer`, as a place in it. */
/* [-0, +1] Pushes the table of a vector with the value at p, which lies at
   `offset` of the storage of the buffer at `buffer`: assignments to the table
   are also written there. */
void lze_push_vector(lua_State *L, int buffer, const lze_Type *type,
                     size_t offset, const void *p);
void lze_push_element(lua_State *L, int buffer, const lze_Type *type,
                      size_t offset);
/* Adds the text of the value at p. [-0, +0] except for the luaL_Buffer. */
void lze_type_add(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                  const void *p);
/* lze_buffer_new.c: [-0, +1] packs n elements of the table at `arg` into new
   memory, which the pushed value keeps alive.  Raises if an element does not
   fit. */
char *lze_table_pack(lua_State *L, const lze_Type *type, int arg,
                     size_t n);
/* Returns the length of the table at `arg`; raises if it has a hole. */
size_t lze_table_length(lua_State *L, int arg, const lze_Type *type);
/* Returns the length of a table with metamethods: a plain table with its
   elements replaces it, unless there are more than `most`.  Its metamethods may
   run any code. */
lua_Integer lze_table_ask(lua_State *L, int arg, const lze_Type *type,
                          lua_Integer most);

#endif
