/*
 * lze_buffer.h - storages and buffers, copies and fills.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BUFFER_H
#define LZE_BUFFER_H

#include "base/lze_box.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_native.h"

/* Bytes [first, last) of a storage, and what a step does with them. */
typedef struct lze_Access {
  lze_Storage *storage;
  size_t first, last;
  bool read, write;
} lze_Access;

/* Whether they share bytes. */
static inline bool lze_access_meets(const lze_Access *a, const lze_Access *b) {
  return a->storage == b->storage && a->first < b->last && b->first < a->last;
}

typedef enum lze_Usage { LZE_SHARED, LZE_DEVICE, LZE_HOST } lze_Usage;

/* A recorded command that has read or written a storage, and where. */
typedef struct lze_Touch {
  uint64_t record;
  size_t first, last;
} lze_Touch;

enum { LZE_TOUCHES = 4 };

/* One USM allocation, or an image or a sampler: what commands use. */
struct lze_Storage {
  lze_Object o;
  lze_Usage usage;
  const lze_DeviceInfo *device;
  char *pointer;                /* NULL when bytes is 0, and of an image */
  ze_image_handle_t image;      /* or NULL */
  ze_sampler_handle_t sampler;  /* or NULL */
  size_t bytes;
  bool guarded;                 /* has canaries on both sides */
  bool borrowed;                /* not ours to free: see lze_push_borrowed */
  uint64_t id;                  /* the driver's, of a borrowed one */
  bool awaited;                 /* expressions of arrays have yet to read it */
  uint64_t asked;               /* how often that was said */
  uint32_t imports;             /* buffers of its own state that import it */
  lze_Memory *memory;           /* where it is shared, or somebody is to be
                                   told of its end; else NULL */
  uint64_t serial;              /* unlike its address, never used again */
  uint64_t record;              /* that it was allocated, or 0 */
  lze_Touch touched[2][LZE_TOUCHES]; /* read, written: the newest first */
  lze_Use *uses;                /* what commands in flight touch */
  lze_Command *failed;          /* an unreported failure */
};

/* The userdata: a window on a storage. */
typedef struct lze_Buffer {
  lze_Box box;
  bool view;
  bool imported;                /* one of storage->imports */
  bool lent;                    /* arrays may read by it */
  lze_Storage *storage;         /* NULL once closed */
  const lze_Type *type;
  size_t offset;                /* bytes into the storage */
  lua_Integer count;            /* elements */
} lze_Buffer;

/* USM memory that was allocated elsewhere, all of its allocation, as the driver
   describes it. */
typedef struct lze_Borrowed {
  lze_Usage usage;
  char *base;
  size_t bytes;
  uint64_t id;
} lze_Borrowed;
/* [-0, +1] a buffer of `count` elements from `pointer` on, which lies in
   `memory`.  Buffers on one allocation share a storage, so that their commands
   are kept in order.  With a `release`, it is called when nothing in this
   state needs that storage any more; the same one with the same userdata is
   called once.  Raises, and then release is never called. */
lze_Buffer *lze_push_borrowed(lua_State *L, lze_Context *context,
                              const lze_DeviceInfo *device,
                              const lze_Borrowed *memory, void *pointer,
                              const lze_Type *type, lua_Integer count,
                              void (*release)(void *, void *),
                              void *userdata);

/* [-0, +1] a buffer of a storage on exported memory: the one that the context
   has already, or a new one, which takes over a reference; raises. */
lze_Buffer *lze_push_shared(lua_State *L, lze_Context *context,
                            const lze_Storage *like, const lze_Type *type,
                            size_t offset, lua_Integer count);
/* Where the memory of a storage begins, its canaries included. */
char *lze_storage_base(const lze_Storage *s);

/* lze.buffer itself. */
int lze_buffer_new(lua_State *L);

/* Whether what runs on a device may touch a storage of its context. */
bool lze_device_reaches(const lze_DeviceInfo *device, const lze_Storage *s);

/* The two tables on the top of the stack are the metatables of arrays from now
   on: of their tables, then of what scripts have.  The first has functions: of
   an array whose elements are not computed yet, the expression, it has a
   function `evaluate(array)`, and `settle(serial)`, which evaluates those that
   read the storage with that serial number; `aside(serial, list)` puts these
   into a list, and `back(list)` undoes that. [-2, +0] */
void lze_keep_array_metatable(lua_State *L);
/* nodes(meta, handle) -> functions for expressions, by name; arrays have these
   metatables.  lze_node.c says what each does. */
int lze_array_nodes(lua_State *L);
/* Compute the elements of the expression at `index`, if it is one.  Runs what
   a launch does. */
void lze_array_evaluate(lua_State *L, int index);
/* The same of everything at stack indices [first, last], and in a table of
   arrays there.  Does nothing in a state without arrays. */
void lze_arrays_evaluate(lua_State *L, int first, int last);
/* Before a storage is written: evaluate the expressions that have yet to read
   it.  A safe point like a wait, afterwards buffers may be closed. */
void lze_storage_settle(lua_State *L, lze_Storage *s);
/* The same; returns LUA_OK, or another status with the error on the stack. */
int lze_storage_try_settle(lua_State *L, lze_Storage *s);
/* Put expressions that have yet to read a storage into the list at `index`, as
   what comes now is before them; and all of a list back where they were. */
void lze_storage_aside(lua_State *L, lze_Storage *s, int index);
void lze_storages_back(lua_State *L, int index);
/* As lze_storage_settle, before work that may write to the buffer at `index`,
   if it is one and open. */
void lze_buffer_settle(lua_State *L, int index);
/* Push the buffer of exactly an array's elements; nil where they are not
   contiguous. [-0, +1] */
void lze_push_array_buffer(lua_State *L, int index);

/* Push an array's shape as text, as "{2, 3}"; of anything else what it is. */
const char *lze_push_shape(lua_State *L, int index);

/* The open buffer at `arg`, or that of a contiguous array, which is computed if
   it is an expression; raises for anything else. */
lze_Buffer *lze_check_buffer(lua_State *L, int arg);
/* The same, for what is kept: an array at `arg` gives way to its buffer. */
lze_Buffer *lze_take_buffer(lua_State *L, int arg);
/* The buffer at `index`, open or not, or NULL. */
lze_Buffer *lze_test_buffer(lua_State *L, int index);
static inline bool lze_buffer_is_open(const lze_Buffer *b) {
  return b->storage != NULL && !b->storage->o.closed;
}
/* Expressions have yet to read it: its storage is settled before it is written;
   false where it is closed. */
static inline bool lze_buffer_await(const lze_Buffer *b) {
  if (!lze_buffer_is_open(b)) return false;
  b->storage->awaited = true;
  b->storage->asked++;
  return true;
}
/* Where its elements begin. */
static inline char *lze_buffer_data(const lze_Buffer *b) {
  return b->storage->pointer + b->offset;
}
/* Where elements are put, at `arg`: 1, if not given, to #b + 1. */
lua_Integer lze_buffer_at(lua_State *L, const lze_Buffer *b, int arg,
                          const char *name);
/* Elements [*first, *first + *n), counted from 0, that the arguments i and j
   name: 1-based, inclusive, negative from the end, nothing clamped. */
void lze_buffer_range(lua_State *L, const lze_Buffer *b, int arg,
                      size_t *first, size_t *n);
/* Wait until the host may read, or write, n elements from `first` on.  A hook
   may run meanwhile: what is at `arg` must still be open after it. */
void lze_buffer_wait(lua_State *L, int arg, const lze_Buffer *b,
                     size_t first, size_t n, bool write);
/* The default queue of its device and context. */
lze_Queue *lze_buffer_default_queue(lua_State *L, const lze_Buffer *b);
/* The queue at 1 if the buffer at `arg` is not, else its default one. */
lze_Queue *lze_buffer_queue_at(lua_State *L, int arg);
/* lze_check.c: with LZE_CHECK=1, how many bytes lie before and behind the
   storage; else 0. */
size_t lze_storage_guard(const lze_Storage *s);
/* Write what is looked for there. */
void lze_storage_mark(lze_Storage *s);
/* With LZE_CHECK=1: whether what lies round a storage has been overwritten;
   then where is pushed, "4 bytes after its end". The canaries are made whole
   again, so that each hit is reported once. [-0, +0|1] */
bool lze_storage_damaged(lua_State *L, lze_Storage *s);
/* The same of any storage of the state; NULL where none is. */
lze_Storage *lze_any_damaged(lua_State *L, lze_State *S);
/* What lies in the storages of a launch's buffers outside of all of them, as
   they are views, is kept and compared: begin, name each buffer with the number
   of its argument, from 0, then take a copy, once nothing writes there. False
   where there is nothing to keep. */
void lze_outside_begin(lua_State *L, lze_State *S);
void lze_outside_name(lua_State *L, lze_State *S, const lze_Buffer *b,
                      int argument);
bool lze_outside_take(lua_State *L, lze_State *S);
/* Before a wait, in which a hook may close them: keep the storages, until all
   is forgotten. */
void lze_outside_pin(lze_State *S);
/* After the launch: whether it has been overwritten; then where is pushed, "4
   bytes after its end", with the argument that is next to that. */
bool lze_outside_damaged(lua_State *L, lze_State *S, int *argument);
void lze_outside_forget(lze_State *S);
/* What a state's storages come to. */
typedef struct lze_StorageCount {
  size_t bytes[LZE_HOST + 1];   /* by usage */
  size_t pinned, pinned_bytes;  /* those that work in flight uses */
} lze_StorageCount;
lze_StorageCount lze_count_storages(const lze_State *S);
/* Of a device's memory what this state does not use; what others use of it
   Level Zero's core cannot tell. */
uint64_t lze_free_bytes(const lze_State *S, const lze_DeviceInfo *device);
/* A storage with nothing in it and one owner, after making room for `bytes`:
   finalisers may run.  Raises. */
lze_Storage *lze_storage_new(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device, lze_Usage usage,
                             size_t bytes);
/* It has so many bytes from now on, which count as the state's. */
void lze_storage_count(lze_Storage *s, size_t bytes);
/* [-0, +1] a new buffer, its contents not set; raises when memory runs out. */
lze_Buffer *lze_push_buffer(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device, lze_Usage usage,
                            const lze_Type *type, size_t count);
/* [-0, +1] a shared buffer of so many elements with no memory behind it, to
   check a launch with. */
void lze_push_stub(lua_State *L, lze_Context *context,
                   const lze_DeviceInfo *device, const lze_Type *type,
                   lua_Integer count);
/* [-0, +1] a view: `count` elements from byte `offset` of the storage of the
   open buffer at `buffer` on. */
void lze_push_window(lua_State *L, int buffer, size_t offset,
                     const lze_Type *type, lua_Integer count);

/* [-0, +1] the same of a storage that something else keeps. */
void lze_push_storage_window(lua_State *L, lze_Storage *s, size_t offset,
                             const lze_Type *type, lua_Integer count);

/* A buffer of bytes beside the open buffer at `arg`, which making it may run a
   finaliser to close. [-0, +2] the context of both, and the new buffer. */
lze_Buffer *lze_push_beside(lua_State *L, int arg, lze_Usage usage,
                            size_t bytes);
/* The queue at 1 if the buffer at `arg` is not, else its default one, once it
   can take one more command; nothing of Lua's has run since it was found. */
lze_Queue *lze_buffer_queue(lua_State *L, int arg);
/* One to three positive integers at field `key` of the table at t; what is
   not given is 1. */
void lze_copy_box_triple(lua_State *L, int t, const char *key, bool needed,
                         size_t out[3]);
/* x:copy_box(src, box) */
int lze_copy_box(lua_State *L);

/* What a copy and a fill come to. */
struct lze_Copy {
  lze_Storage *to, *from;
  size_t to_offset, from_offset, bytes;
};
typedef struct lze_Fill {
  lze_Storage *to;
  size_t offset, bytes, pattern_bytes;
  _Alignas(8) char pattern[16 * 8];
} lze_Fill;
/* Check dst, src, i, j, at, or x, v, i, j, from stack index `arg` on, as the
   methods of a buffer do.  Buffers of two contexts, and copies that overlap,
   raise. */
void lze_copy_check(lua_State *L, int arg, lze_Copy *c);
void lze_fill_check(lua_State *L, int arg, lze_Fill *f);

/* What is not read or written at once goes through host memory in pieces of
   this size: large enough for the bandwidth of any bus, small beside it. */
#define LZE_STAGING_BYTES ((size_t)4 << 20)
/* Host memory with the bytes of n elements: the storage itself, after a wait,
   for as long as nothing of Lua runs, or a copy of device memory. [-0, +1]
   keeps that alive. */
const char *lze_buffer_bytes(lua_State *L, int arg, const lze_Buffer *b,
                             size_t first, size_t n);
/* Put bytes from the host into elements from `first` on. */
void lze_buffer_put(lua_State *L, int arg, const lze_Buffer *b,
                    size_t first, const char *bytes, size_t n);
/* Raise that n elements from position `at` (from 1) on are too many. */
void lze_buffer_too_many(lua_State *L, const lze_Buffer *b, int arg,
                         lua_Integer n, lua_Integer at);
/* Enqueue a fill; the command. */
lze_Command *lze_fill_append(lua_State *L, lze_Queue *q, bool timed,
                             const lze_Fill *f);
/* Check x, v, i, j from stack index `arg` on and fill on the default queue, or
   on the one at 1 if `arg` is 2. */
lze_Command *lze_fill_on(lua_State *L, int arg);
/* dst:copy(src[first..]) at element `at` (from 1) of dst, on queue q, which is
   that of `dst_arg` (lze_buffer_queue_at); NULL for a caller that waits for it.
   Returns the last command, or NULL when there is nothing to copy. */
lze_Command *lze_copy_elements(lua_State *L, lze_Queue *q,
                               bool timed, int dst_arg,
                               lze_Buffer *dst, int src_arg,
                               lze_Buffer *src, size_t first,
                               size_t n, lua_Integer at);
/* Check dst, src, i, j, at from stack index `arg` on and copy on the default
   queue, or on the one at 1 if `arg` is 2. */
lze_Command *lze_copy_on(lua_State *L, int arg);

/* "shared", "device", "host", NULL: by lze_Usage. */
extern const char *const lze_usage_names[];
/* lze_element.c: push the struct at byte `offset` of the storage of the buffer
   at `buffer`, as a place in it. [-0, +1] */
/* Push the table of a vector with the value at p, which lies at `offset` of the
   storage of the buffer at `buffer`: what is assigned in it is written there,
   too. [-0, +1] */
void lze_push_vector(lua_State *L, int buffer, const lze_Type *type,
                     size_t offset, const void *p);
void lze_push_element(lua_State *L, int buffer, const lze_Type *type,
                      size_t offset);
/* Add the text of the value at p. [-0, +0] but for the buffer's */
void lze_type_add(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                  const void *p);
/* lze_buffer_new.c: pack n elements of the table at `arg` into new memory.
   Raises where one does not fit. [-0, +1] keeps it */
char *lze_table_pack(lua_State *L, const lze_Type *type, int arg,
                     size_t n);
/* The length of the table at `arg`; raises where there is a hole. */
size_t lze_table_length(lua_State *L, int arg, const lze_Type *type);
/* The same of one that says itself what its length is: a plain table of what it
   gives takes its place, unless that is more than `most`.  Its metamethods may
   run anything. */
lua_Integer lze_table_ask(lua_State *L, int arg, const lze_Type *type,
                          lua_Integer most);

#endif
