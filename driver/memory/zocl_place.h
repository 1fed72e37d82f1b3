/*
 * zocl_place.h - where commands go, and copies, fills and functions of ours
 * as commands.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_PLACE_H
#define ZOCL_PLACE_H

#include "base/zocl_device.h"

/* Where a command of OpenCL goes, what it waits for, and where its own event
   goes, or NULL. */
typedef struct zocl_place {
  const zocl_device *device;
  cl_command_queue queue;
  cl_uint count;
  const cl_event *waits;
  cl_event *event;
} zocl_place;

/* Free malloc'ed memory when `last` is done, the event of the place's last
   command, which becomes the event of them all. */
void zocl_place_free(const zocl_place *place, cl_event last, void *memory);

/* A command that does nothing but wait. */
cl_int zocl_place_wait(const zocl_place *place, cl_event *event);

/* Where the next of several commands goes. */
zocl_place zocl_place_step(const zocl_place *place, bool first, bool last);

/* ------------------------------------------------------------------------
 * zocl_call.c: functions of ours in the order of a queue.
 */

typedef void (*zocl_host_function)(void *args);

/* Have it called with a copy of `args`. */
cl_int zocl_call_enqueue(const zocl_place *place, zocl_host_function function,
                         const void *args, size_t size);

/* ------------------------------------------------------------------------
 * zocl_memory_host.c: functions of ours that copy and fill, run in a stream.
 */

/* Copy; `args` is a zocl_copy. */
typedef struct zocl_copy {
  void *to;
  const void *from;
  size_t size;
} zocl_copy;
void zocl_memory_copy(void *args);

/* Fill, likewise. */
enum { ZOCL_OPENCL_PATTERN = 128 }; /* the largest OpenCL type, double16 */
/* How large a pattern the queues of that group take: those that only copy
   what an OpenCL does. */
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

/* Copy of a box of rows, likewise.  Pitches in bytes. */
typedef struct zocl_copy_region {
  void *to;
  const void *from;
  ze_copy_region_t to_region, from_region; /* extents are from_region's */
  uint32_t to_pitch, to_slice, from_pitch, from_slice;
} zocl_copy_region;
void zocl_memory_copy_region(void *args);

/* ------------------------------------------------------------------------
 * zocl_transfer.c: the same put into a queue as commands of OpenCL.
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
