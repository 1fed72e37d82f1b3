/*
 * lze_native.h - native contexts and memory that the states of a process
 * share.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_NATIVE_H
#define LZE_NATIVE_H

#include "base/lze_base.h"
#include "device/lze_loader.h"

/* lze_native.c: objects that the states of a process share. One lock protects
 * their reference counts, because any thread may release them.
 */

/* A native context. */
struct lze_Native {
  const lze_Driver *driver;
  ze_context_handle_t handle;
  bool shared;                  /* the one that states use by default */
  bool foreign;                 /* the host's; never destroyed by lze */
  unsigned references;
  lze_Native *next;             /* in the list of all */
};

/* Each returns a new reference: to the shared context of a driver, to a new
   one for some of its devices, or to the host's. NULL on failure, with the
   outcome. */
lze_Native *lze_native_shared(const lze_Driver *driver, lze_Outcome *out);
lze_Native *lze_native_new(const lze_Driver *driver,
                           const lze_DeviceInfo *const *devices,
                           uint32_t count, lze_Outcome *out);
lze_Native *lze_native_foreign(const lze_Driver *driver,
                               ze_context_handle_t handle);
void lze_native_unref(lze_Native *native); /* destroys it with the last one */

/* Returns a record, with one reference, of the work to do after the last use
   of an allocation: free `base` in its context if it is `owned`, then make all
   registered callbacks. NULL if memory runs out. */
lze_Memory *lze_memory_new(lze_Native *native, void *base, bool owned);
/* The origin of another process's allocation: that process, and the driver's
   number for the allocation in it. */
typedef struct lze_Origin {
  uint64_t process, id;
} lze_Origin;
/* The same for an allocation that was opened here: it will be closed, and can
   be found by its origin. A process thus opens an allocation only once and has
   it at one address, which keeps its commands in order. */
lze_Memory *lze_memory_opened(lze_Native *native, void *base,
                              const lze_Origin *origin);
/* Returns an opened allocation with a new reference, and its address; NULL if
   not found. */
lze_Memory *lze_memory_find(const lze_Native *native, const lze_Origin *origin,
                            void **base);
/* Returns a random number that identifies this process. */
uint64_t lze_process_id(void);
/* Returns the memory's native context. */
ze_context_handle_t lze_memory_context(const lze_Memory *memory);
void lze_memory_ref(lze_Memory *memory);
void lze_memory_unref(lze_Memory *memory);
/* Registers a callback, only once if the same one is registered again. Returns
   false if memory runs out. */
bool lze_memory_tell(lze_Memory *memory,
                     void (*release)(void *userdata, void *pointer),
                     void *userdata, void *pointer);
/* A part of an allocation that C code holds; it exists as long as the
   allocation is needed. Listed from the call of lze_memory_list to that of
   lze_memory_unlist. */
typedef struct lze_Exported {
  const char *from;
  size_t bytes;
  struct lze_Exported *next;
} lze_Exported;
void lze_memory_list(lze_Memory *memory, lze_Exported *part);
void lze_memory_unlist(lze_Memory *memory, lze_Exported *part);
/* Returns true if these bytes lie in a listed part. */
bool lze_memory_lists(lze_Memory *memory, const char *from, size_t bytes);

#endif
