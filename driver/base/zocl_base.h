/*
 * zocl_base.h - what every file needs: types, errors, handles, time, threads.
 * SPDX-License-Identifier: MIT
 *
 * libze_opencl.so is a Level Zero driver on top of OpenCL.  README.md describes
 * its parts and how they work together.  Level Zero handles are pointers to
 * structures with the tags that the API declares; the header of each area
 * defines its own.
 */
#ifndef ZOCL_BASE_H
#define ZOCL_BASE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include "base/zocl_api.h"

typedef struct _ze_driver_handle_t zocl_driver;
typedef struct _ze_device_handle_t zocl_device;
typedef struct _ze_context_handle_t zocl_context;
typedef struct _ze_command_queue_handle_t zocl_queue;
typedef struct _ze_command_list_handle_t zocl_list;
typedef struct _ze_event_pool_handle_t zocl_event_pool;
typedef struct _ze_event_handle_t zocl_event;
typedef struct _ze_fence_handle_t zocl_fence;
typedef struct _ze_module_handle_t zocl_module;
typedef struct _ze_module_build_log_handle_t zocl_build_log;
typedef struct _ze_kernel_handle_t zocl_kernel;
typedef struct _ze_image_handle_t zocl_image;
typedef struct _ze_sampler_handle_t zocl_sampler;
typedef struct zocl_stream zocl_stream;
typedef struct zocl_signal zocl_signal;
typedef struct zocl_commands zocl_commands;
typedef struct zocl_feeder zocl_feeder;
typedef struct zocl_memory zocl_memory;
typedef struct _ze_physical_mem_handle_t zocl_physical;
typedef struct zocl_file zocl_file;
typedef struct zocl_program zocl_program;
typedef struct zocl_states zocl_states;
typedef struct zocl_state zocl_state;
typedef struct zocl_command zocl_command;

/* The functions of one OpenCL implementation. */
typedef const cl_icd_dispatch zocl_cl;

/* ------------------------------------------------------------------------
 * zocl_base.c: handles, the clock, hashes.
 */

/* The loader's ze_handle_t, with which every handle begins, so that the loader
   finds a handle's driver without wrapping it.  Pointers to this driver's
   tables for core, tools, sysman and runtime functions. */
typedef struct zocl_handle {
  const void *core, *tools, *sysman, *runtime;
} zocl_handle;

/* The beginning of every handle; zocl_ddi.c sets it when the driver is
   loaded. */
extern zocl_handle zocl_tables;

/* Returns zeroed memory for a structure that begins with a zocl_handle, and
   sets that handle; free releases it.  NULL: out of memory. */
void *zocl_handle_new(size_t size);

/* Returns the time in nanoseconds, by the one clock that all timestamps use. */
uint64_t zocl_clock(void);

/* Timestamps have this many valid bits: fewer than 64, because programs
   compute ~(-1 << bits). */
enum { ZOCL_TIMESTAMP_BITS = 56 };

/* Returns a hash for names and checksums, not for secrets. */
uint64_t zocl_hash(uint64_t seed, const void *bytes, size_t size);

/* ------------------------------------------------------------------------
 * zocl_error.c: error results and their descriptions.
 */

/* Stores a reason for the calling thread's zeDriverGetLastErrorDescription and
   returns `result`, so that callers can write: return zocl_fail(result,
   "..."). */
ze_result_t zocl_fail(ze_result_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Does the same with a standard text for a result that needs no details. */
ze_result_t zocl_error(ze_result_t result);

/* Returns the reason that this thread stored last, or "". */
const char *zocl_last_error(void);

/* Returns the same and clears it; the text lasts until the thread's next
   call. */
const char *zocl_last_error_take(void);

#define ZOCL_NEED_HANDLE(handle) \
  do {                                                                   \
    if ((handle) == NULL)                                                \
      return zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "%s is null", \
                       #handle);                                         \
  } while (0)
#define ZOCL_NEED_POINTER(pointer) \
  do {                                                                    \
    if ((pointer) == NULL)                                                \
      return zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s is null", \
                       #pointer);                                         \
  } while (0)

/* The form that several structures chained to properties and descriptors
   share. */
typedef struct zocl_extension {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t value;        /* often flags */
} zocl_extension;

/* Returns n, at most UINT32_MAX. */
static inline uint32_t zocl_clamp(uint64_t n)
{
  return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Returns n rounded up to units of 16 bytes, an alignment that suits any
   type. */
static inline size_t zocl_round_up(size_t n)
{
  return (n + 15) & ~(size_t)15;
}

/* Sets the count for a function that lists `there` objects: a count of 0 is a
   query and becomes `there`; a larger count is reduced to at most `there`.
   Returns true for a query. */
static inline bool zocl_is_query(uint32_t *count, uint32_t there)
{
  bool query = *count == 0;
  if (query || *count > there) *count = there;
  return query;
}

/* ------------------------------------------------------------------------
 * zocl_thread.c: the driver's own threads, and forked processes.
 */

/* Starts a thread with all signals blocked.  Returns false if no thread can be
   started. */
bool zocl_thread_start(pthread_t *thread, void *(*run)(void *), void *args);

/* Runs a function to its end on a thread with a stack of 1 MiB, however large
   the caller's is.  The thread, and threads that the function starts, have the
   caller's signal mask.  Returns false if the thread cannot be started. */
bool zocl_thread_run(void (*run)(void));
/* Raises the default stack size of new threads to at least `bytes` until
   zocl_stack_restore.  Returns the size to restore, or 0 if it changes nothing,
   for example because the address space is limited. */
size_t zocl_stack_raise(size_t bytes);
void zocl_stack_restore(size_t was);
/* Returns the size of the calling thread's stack, or 0 if unknown. */
size_t zocl_stack_size(void);

/* Returns true in a process forked after initialisation.  OpenCL's threads do
   not exist there, so the process must not call OpenCL or wait for anything. */
bool zocl_forked(void);
/* Starts detecting forks; called when initialisation succeeds. */
void zocl_fork_watch(void);

/* Declares that OpenCL works in this fork, because its parent had only one
   thread. */
void zocl_fork_is_whole(void);

#endif
