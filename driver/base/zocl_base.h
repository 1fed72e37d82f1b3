/*
 * zocl_base.h - what every file needs: types, errors, handles, time, threads.
 * SPDX-License-Identifier: MIT
 *
 * libze_opencl.so: a Level Zero driver on top of OpenCL.  README.md says how
 * its parts hang together.  The handles of Level Zero are pointers to
 * structures, whose tags are the ones that the API declares; the headers of
 * areas define them.
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

/* The loader's ze_handle_t: what every handle begins with, so that the loader
   finds a handle's driver without wrapping it.  Pointers to this driver's
   tables for core, tools, sysman and runtime functions. */
typedef struct zocl_handle {
  const void *core, *tools, *sysman, *runtime;
} zocl_handle;

/* What handles begin with; zocl_ddi.c sets it when the driver is loaded. */
extern zocl_handle zocl_tables;

/* Zeroed memory for a structure that begins with a zocl_handle, which is set;
   free releases it.  NULL: out of memory. */
void *zocl_handle_new(size_t size);

/* Nanoseconds of the one clock that all timestamps are in. */
uint64_t zocl_clock(void);

/* Timestamps have this many valid bits: fewer than 64, because programs
   compute ~(-1 << bits). */
enum { ZOCL_TIMESTAMP_BITS = 56 };

/* A hash for names and checksums, not for secrets. */
uint64_t zocl_hash(uint64_t seed, const void *bytes, size_t size);

/* ------------------------------------------------------------------------
 * zocl_error.c: what went wrong.
 */

/* Keep a reason for the calling thread's zeDriverGetLastErrorDescription and
   return `result`, so that one writes: return zocl_fail(result, "..."). */
ze_result_t zocl_fail(ze_result_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a result that says enough by itself. */
ze_result_t zocl_error(ze_result_t result);

/* The reason kept last by this thread, "" when there is none. */
const char *zocl_last_error(void);

/* The same, forgotten then: a text that lasts until the thread's next call. */
const char *zocl_last_error_take(void);

/* The Level Zero result for an OpenCL error; `call` names the function. */
ze_result_t zocl_cl_error(cl_int error, const char *call);

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

/* What several structures chained to properties and descriptors are. */
typedef struct zocl_extension {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t value;        /* flags, perhaps */
} zocl_extension;

/* At most UINT32_MAX. */
static inline uint32_t zocl_clamp(uint64_t n)
{
  return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* In whole units of 16 bytes, to which anything may be aligned. */
static inline size_t zocl_round_up(size_t n)
{
  return (n + 15) & ~(size_t)15;
}

/* Set the count of a function that lists what there is: to all of it where it
   is 0, which only asks for that (true), else to no more. */
static inline bool zocl_is_query(uint32_t *count, uint32_t there)
{
  bool query = *count == 0;
  if (query || *count > there) *count = there;
  return query;
}

/* ------------------------------------------------------------------------
 * zocl_thread.c: threads of the driver's own, and processes forked off it.
 */

/* Start a thread that takes none of the host's signals; false where there can
   be no more. */
bool zocl_thread_start(pthread_t *thread, void *(*run)(void *), void *args);

/* Run a function to its end on a thread whose stack has 1 MiB, whatever the
   caller's has.  The thread has the caller's signal mask, as have those that
   the function starts.  False if the thread cannot be started. */
bool zocl_thread_run(void (*run)(void));
/* Give threads that are started without a size of their own stacks of at least
   `bytes` until zocl_stack_restore.  *was becomes the size to restore, or 0 if
   nothing is changed: address space is limited here. */
void zocl_stack_raise(size_t bytes, size_t *was);
void zocl_stack_restore(size_t was);
/* The size of the calling thread's stack; 0: unknown. */
size_t zocl_stack_size(void);

/* True in a process forked after initialisation: OpenCL's threads do not
   exist there, so that nothing may be called and nothing waited for. */
bool zocl_forked(void);
/* Initialisation succeeds: look out for forks from now on. */
void zocl_fork_watch(void);

/* For a process that had one thread when it was forked: all is there. */
void zocl_fork_is_whole(void);

#endif
