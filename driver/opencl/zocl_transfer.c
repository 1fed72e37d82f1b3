/*
 * zocl_transfer.c - copies and fills as OpenCL commands.
 * SPDX-License-Identifier: MIT
 *
 * For memory that our own functions cannot access.  Each operation becomes one
 * or more commands of the queue.  The first command waits for the operation's
 * events, and the last one signals that it is complete: the queue is in order.
 */
#include "memory/zocl_memory.h"
#include "memory/zocl_place.h"
#include "opencl/zocl_cl.h"
#include "opencl/zocl_lane.h"
#include "opencl/zocl_way.h"

#include <string.h>

/* The largest OpenCL type, double16. */
enum { MAX_PATTERN = 128 };

static ze_result_t result_of(cl_int error)
{
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}

ze_result_t zocl_copy_enqueue(const backend_place *place,
                              const zocl_copy *copy)
{
  if (copy->size == 0) return zocl_lane_mark(place);
  return result_of(zocl_way_of(place->device->driver)
                       ->copy(place, copy->to, copy->from, copy->size));
}

/* Returns true if all `size` bytes are the same. */
static bool is_uniform(const unsigned char *bytes, size_t size)
{
  return memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* OpenCL fills only memory that is aligned to the pattern.  An unaligned fill
   begins and ends with smaller patterns, with a rotated pattern in between.  If
   OpenCL accepts no pattern of this size, the part that is already filled is
   copied to the part after it. */
ze_result_t zocl_fill_enqueue(const backend_place *place,
                              const zocl_fill *f)
{
  const zocl_way *way = zocl_way_of(place->device->driver);
  ze_memory_type_t type;
  const size_t most =
      place->device->driver->narrow_fills ? 4 : MAX_PATTERN;
  size_t whole = f->pattern_size;
  if (f->size == 0) return zocl_lane_mark(place);
  /* OpenCL did not allocate it; it may be host memory. */
  if (!zocl_memory_find(f->to, &type))
    return zocl_call(place, zocl_memory_fill, f,
                     sizeof *f + f->pattern_size);
  if (is_uniform(f->pattern, whole)) whole = 1;
  cl_int error = CL_SUCCESS;
  for (size_t at = 0, n; at < f->size && error == CL_SUCCESS; at += n) {
    unsigned char pattern[MAX_PATTERN];
    char *to = (char *)f->to + at;
    size_t left = f->size - at, unit = whole;
    size_t there = whole > most ? at - at % whole : 0; /* bytes to copy from
                                                          before `to` */
    while (unit > left || unit > most || (uintptr_t)to % unit != 0) unit /= 2;
    for (size_t i = 0; i < unit; i++) pattern[i] = f->pattern[(at + i) % whole];
    n = there > 0       ? there < left ? there : left
        : unit == whole ? left / unit * unit
                        : unit;
    const backend_place step = zocl_place_step(place, at == 0, n == left);
    error = there > 0 ? way->copy(&step, to, to - there, n)
                      : way->fill(&step, to, pattern, unit, n);
  }
  return result_of(error);
}

/* Rows that are contiguous in both places are copied at once. */
ze_result_t zocl_copy_region_enqueue(const backend_place *place,
                                     const zocl_copy_region *c)
{
  const ze_copy_region_t *t = &c->to_region, *f = &c->from_region;
  const zocl_way *way = zocl_way_of(place->device->driver);
  size_t width = f->width, height = f->height;
  size_t depth = f->depth > 0 ? f->depth : 1;
  char *to = (char *)c->to + (size_t)t->originZ * c->to_slice +
             (size_t)t->originY * c->to_pitch + t->originX;
  const char *from = (const char *)c->from +
                     (size_t)f->originZ * c->from_slice +
                     (size_t)f->originY * c->from_pitch + f->originX;
  if (width == 0 || height == 0) return zocl_lane_mark(place);
  if (height == 1 || (width == c->to_pitch && width == c->from_pitch)) {
    width *= height;
    height = 1;
  }
  if (height == 1 &&
      (depth == 1 || (width == c->to_slice && width == c->from_slice))) {
    width *= depth;
    depth = 1;
  }
  cl_int error = CL_SUCCESS;
  for (size_t z = 0; z < depth; z++)
    for (size_t y = 0; y < height && error == CL_SUCCESS; y++) {
      const backend_place step =
          zocl_place_step(place, z == 0 && y == 0,
                     z == depth - 1 && y == height - 1);
      error = way->copy(&step, to + z * c->to_slice + y * c->to_pitch,
                           from + z * c->from_slice + y * c->from_pitch,
                           width);
    }
  return result_of(error);
}
