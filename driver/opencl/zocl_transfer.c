/*
 * zocl_transfer.c - copies and fills as OpenCL commands.
 * SPDX-License-Identifier: MIT
 *
 * For memory that our own functions cannot access.  Each operation becomes one
 * or more commands of the queue.  The first command waits for the operation's
 * events, and the last one signals that it is complete: the queue is in order.
 */
#include "memory/zocl_memory.h"

#include <string.h>

cl_int zocl_transfer_copy(const zocl_place *place, const void *args,
                          size_t args_size)
{
  const zocl_copy *c = args;
  (void)args_size;
  if (c->size == 0) return zocl_place_wait(place, place->event);
  const zocl_place only = zocl_place_step(place, true, true);
  return place->device->driver->memory->copy(&only, c->to, c->from, c->size);
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
cl_int zocl_transfer_fill(const zocl_place *place, const void *args,
                          size_t args_size)
{
  const zocl_fill *f = args;
  const zocl_memory *memory = place->device->driver->memory;
  ze_memory_type_t type;
  const size_t most =
      place->device->driver->narrow_fills ? 4 : ZOCL_OPENCL_PATTERN;
  size_t whole = f->pattern_size;
  if (f->size == 0) return zocl_place_wait(place, place->event);
  /* OpenCL did not allocate it; it may be host memory. */
  if (!zocl_memory_find(f->to, &type))
    return zocl_call_enqueue(place, zocl_memory_fill, args, args_size);
  if (is_uniform(f->pattern, whole)) whole = 1;
  cl_int error = CL_SUCCESS;
  for (size_t at = 0, n; at < f->size && error == CL_SUCCESS; at += n) {
    unsigned char pattern[ZOCL_OPENCL_PATTERN];
    char *to = (char *)f->to + at;
    size_t left = f->size - at, unit = whole;
    size_t there = whole > most ? at - at % whole : 0; /* bytes to copy from
                                                          before `to` */
    while (unit > left || unit > most || (uintptr_t)to % unit != 0) unit /= 2;
    for (size_t i = 0; i < unit; i++) pattern[i] = f->pattern[(at + i) % whole];
    n = there > 0       ? there < left ? there : left
        : unit == whole ? left / unit * unit
                        : unit;
    const zocl_place step = zocl_place_step(place, at == 0, n == left);
    error = there > 0 ? memory->copy(&step, to, to - there, n)
                      : memory->fill(&step, to, pattern, unit, n);
  }
  return error;
}

/* Rows that are contiguous in both places are copied at once. */
cl_int zocl_transfer_copy_region(const zocl_place *place, const void *args,
                                 size_t args_size)
{
  const zocl_copy_region *c = args;
  const ze_copy_region_t *t = &c->to_region, *f = &c->from_region;
  const zocl_memory *memory = place->device->driver->memory;
  (void)args_size;
  size_t width = f->width, height = f->height;
  size_t depth = f->depth > 0 ? f->depth : 1;
  char *to = (char *)c->to + (size_t)t->originZ * c->to_slice +
             (size_t)t->originY * c->to_pitch + t->originX;
  const char *from = (const char *)c->from +
                     (size_t)f->originZ * c->from_slice +
                     (size_t)f->originY * c->from_pitch + f->originX;
  if (width == 0 || height == 0) return zocl_place_wait(place, place->event);
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
      const zocl_place step =
          zocl_place_step(place, z == 0 && y == 0,
                     z == depth - 1 && y == height - 1);
      error = memory->copy(&step, to + z * c->to_slice + y * c->to_pitch,
                           from + z * c->from_slice + y * c->from_pitch,
                           width);
    }
  return error;
}
