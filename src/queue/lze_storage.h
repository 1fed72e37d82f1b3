/*
 * lze_storage.h - storages: the memory, images and samplers that commands use.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STORAGE_H
#define LZE_STORAGE_H

#include "base/lze_box.h"
#include "device/lze_device.h"
#include "device/lze_native.h"

/* Bytes [first, last) of a storage, and how a step accesses them. */
typedef struct lze_Access {
  lze_Storage *storage;
  size_t first, last;
  bool read, write;
} lze_Access;

/* Returns true if the two accesses share bytes. */
static inline bool lze_access_meets(const lze_Access *a, const lze_Access *b) {
  return a->storage == b->storage && a->first < b->last && b->first < a->last;
}

typedef enum lze_Usage { LZE_SHARED, LZE_DEVICE, LZE_HOST } lze_Usage;

/* A recorded command that has read or written these bytes of a storage. */
typedef struct lze_Touch {
  uint64_t record;
  size_t first, last;
} lze_Touch;

enum { LZE_TOUCHES = 4 };

/* One USM allocation, image or sampler that commands use. */
struct lze_Storage {
  lze_Object o;
  lze_Usage usage;
  const lze_DeviceInfo *device;
  char *pointer;                /* NULL if bytes is 0, and for an image */
  ze_image_handle_t image;      /* or NULL */
  ze_sampler_handle_t sampler;  /* or NULL */
  size_t bytes;
  bool canaries;                /* lie on both sides of it */
  bool borrowed;                /* not freed by lze: see lze_push_borrowed */
  uint64_t id;                  /* the driver's id, if borrowed */
  bool awaited;                 /* array expressions have yet to read it */
  uint64_t asked;               /* how often lze_buffer_await was called */
  uint32_t imports;             /* buffers of this state that import it */
  lze_Memory *memory;           /* NULL unless it is shared or a callback waits
                                   for its end */
  uint64_t serial;              /* unlike its address, never reused */
  uint64_t record;              /* number of the record of its allocation, or
                                   0 */
  lze_Touch touched[2][LZE_TOUCHES]; /* by reads, by writes; newest first */
  lze_Use *uses;                /* uses by commands in flight */
  lze_Command *failed;          /* an unreported failure */
};

/* The result of checking a copy. */
struct lze_Copy {
  lze_Storage *to, *from;
  size_t to_offset, from_offset, bytes;
};

/* Returns the start of the memory of a storage, canaries included. */
char *lze_storage_base(const lze_Storage *s);

/* Returns true if code that runs on a device may access a storage of its
   context. */
bool lze_device_reaches(const lze_DeviceInfo *device, const lze_Storage *s);

/* Checks every storage of the state; returns the first damaged one, or NULL. */
lze_Storage *lze_any_damaged(lua_State *L, lze_State *S);
/* Counts of the storages of a state. */
typedef struct lze_StorageCount {
  size_t bytes[LZE_HOST + 1];   /* by usage */
  size_t pinned, pinned_bytes;  /* used by work in flight */
} lze_StorageCount;
lze_StorageCount lze_count_storages(const lze_State *S);
/* Returns the memory of a device that this state does not use; Level Zero's
   core does not report what other processes use. */
uint64_t lze_free_bytes(const lze_State *S, const lze_DeviceInfo *device);
/* Returns an empty storage with one owner, after making room for `bytes` bytes:
   finalizers may run.  Raises. */
lze_Storage *lze_storage_new(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device, lze_Usage usage,
                             size_t bytes);
/* Allocates memory for a new storage: of `bytes` bytes, more than 0.  When
   memory runs out, raises an error that reports what the state uses. */
void lze_storage_allocate(lua_State *L, lze_Storage *s, size_t bytes);
/* Returns a new storage with one owner on memory that is allocated already, as
   `like` describes it.  Raises. */
lze_Storage *lze_storage_like(lua_State *L, lze_Context *context,
                              const lze_Storage *like);
/* Returns the open storage of a context that covers the address, or NULL.  A
   borrowed allocation may have been freed since, and replaced by another one,
   which has another id. */
lze_Storage *lze_storage_covering(lze_Context *context, const char *pointer,
                                  uint64_t id);
/* Returns the open storage of a context on that shared memory, or NULL. */
lze_Storage *lze_storage_sharing(lze_Context *context,
                                 const lze_Memory *memory);
/* Sets the size of the storage, which counts as the state's memory. */
void lze_storage_count(lze_Storage *s, size_t bytes);
/* "shared", "device", "host", NULL: by lze_Usage. */
extern const char *const lze_usage_names[];

#endif
