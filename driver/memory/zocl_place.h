/*
 * zocl_place.h - the queue and events of a command, and our own copies, fills
 * and functions as commands.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_PLACE_H
#define ZOCL_PLACE_H

#include "base/zocl_device.h"

/* The queue of an OpenCL command, the events it waits for, and the address for
   its own event, or NULL. */
typedef struct zocl_place {
  const zocl_device *device;
  cl_command_queue queue;
  cl_uint count;
  const cl_event *waits;
  cl_event *event;
} zocl_place;

/* Frees malloc'ed memory when `last` is complete, the event of the place's last
   command, which also becomes the event of the whole place. */
void zocl_place_free(const zocl_place *place, cl_event last, void *memory);

/* Enqueues a command that only waits. */
cl_int zocl_place_wait(const zocl_place *place, cl_event *event);

/* Returns the place for the next of several commands: only the first one waits,
   and only the last one has the event. */
zocl_place zocl_place_step(const zocl_place *place, bool first, bool last);

/* ------------------------------------------------------------------------
 * zocl_call.c: our functions, called in the order of a queue.
 */

typedef void (*zocl_host_function)(void *args);

/* Has the function called with a copy of `args`. */
cl_int zocl_call_enqueue(const zocl_place *place, zocl_host_function function,
                         const void *args, size_t size);

/* ------------------------------------------------------------------------
 * zocl_memory_host.c: our functions that copy and fill, run in a stream.
 */

/* Copies; `args` is a zocl_copy. */
typedef struct zocl_copy {
  void *to;
  const void *from;
  size_t size;
} zocl_copy;
void zocl_memory_copy(void *args);

/* Fills; `args` is a zocl_fill. */
enum { ZOCL_OPENCL_PATTERN = 128 }; /* the largest OpenCL type, double16 */
/* Returns the largest pattern that queues of that group accept: queues that
   only copy accept the patterns that OpenCL accepts. */
static inline size_t zocl_pattern_max(uint32_t ordinal)
{
  return ordinal == 0 ? SIZE_MAX : ZOCL_OPENCL_PATTERN;
}
typedef struct zocl_fill {
  void *to;
  size_t size, pattern_size;
  unsigned char pattern[];
} zocl_fill;
void zocl_memory_fill(void *args);

/* Copies a box of rows; `args` is a zocl_copy_region.  Pitches are in bytes. */
typedef struct zocl_copy_region {
  void *to;
  const void *from;
  ze_copy_region_t to_region, from_region; /* from_region has the size */
  uint32_t to_pitch, to_slice, from_pitch, from_slice;
} zocl_copy_region;
void zocl_memory_copy_region(void *args);

/* ------------------------------------------------------------------------
 * zocl_transfer.c: the same operations enqueued as OpenCL commands.
 */

typedef cl_int (*zocl_transfer)(const zocl_place *place, const void *args,
                                size_t args_size);
cl_int zocl_transfer_copy(const zocl_place *place, const void *args,
                          size_t args_size);
cl_int zocl_transfer_fill(const zocl_place *place, const void *args,
                          size_t args_size);
cl_int zocl_transfer_copy_region(const zocl_place *place, const void *args,
                                 size_t args_size);

#endif
