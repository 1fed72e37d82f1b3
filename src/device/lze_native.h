/*
 * lze_native.h - native contexts and memory that the states of a process share.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_NATIVE_H
#define LZE_NATIVE_H

#include "base/lze_base.h"
#include "device/lze_loader.h"

/* lze_share.c: what the states of a process hold together.  Counted under one
 * lock, because any thread may let go of it.
 */

/* A native context. */
struct lze_Native {
  const lze_Driver *driver;
  ze_context_handle_t handle;
  bool shared;                  /* the one that states use by default */
  bool foreign;                 /* the host's, never destroyed here */
  unsigned references;
  lze_Native *next;             /* of all there are */
};

/* With one reference more: the shared one of a driver, a new one for some of
   its devices, or the host's.  NULL with the outcome. */
lze_Native *lze_native_shared(const lze_Driver *driver, lze_Outcome *out);
lze_Native *lze_native_new(const lze_Driver *driver,
                           const lze_DeviceInfo *const *devices,
                           uint32_t count, lze_Outcome *out);
lze_Native *lze_native_foreign(const lze_Driver *driver,
                               ze_context_handle_t handle);
void lze_native_unref(lze_Native *native); /* the last one destroys it */

/* What is to be done when an allocation is not needed any more: free `base` in
   its context if it is `owned`, then tell all that are to be told.  With one
   reference; NULL without memory. */
lze_Memory *lze_memory_new(lze_Native *native, void *base, bool owned);
/* An allocation of another process: of which, and the driver's number of it
   there. */
typedef struct lze_Origin {
  uint64_t process, id;
} lze_Origin;
/* The same for one that was opened here, to be closed, and that is found by
   where it comes from: a process that opens memory once has it at one address,
   so that its commands are kept in order. */
lze_Memory *lze_memory_opened(lze_Native *native, void *base,
                              const lze_Origin *origin);
/* With one reference more, and where it is; NULL where there is none. */
lze_Memory *lze_memory_find(const lze_Native *native, const lze_Origin *origin,
                            void **base);
/* A random number that this process has, and no other. */
uint64_t lze_process_id(void);
/* The native context that it is in. */
ze_context_handle_t lze_memory_context(const lze_Memory *memory);
void lze_memory_ref(lze_Memory *memory);
void lze_memory_unref(lze_Memory *memory);
/* Somebody to be told, once however often the same is given; false without
   memory. */
bool lze_memory_tell(lze_Memory *memory,
                     void (*release)(void *userdata, void *pointer),
                     void *userdata, void *pointer);
/* A part of an allocation that C code has, and that is there for as long as
   the allocation is needed.  It is listed from the first call to the second. */
typedef struct lze_Exported {
  const char *from;
  size_t bytes;
  struct lze_Exported *next;
} lze_Exported;
void lze_memory_list(lze_Memory *memory, lze_Exported *part);
void lze_memory_unlist(lze_Memory *memory, lze_Exported *part);
/* Whether these bytes are in a part that is listed. */
bool lze_memory_lists(lze_Memory *memory, const char *from, size_t bytes);

#endif
