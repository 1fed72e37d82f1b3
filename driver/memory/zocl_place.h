/*
 * zocl_place.h - copies, fills and the steps of a command.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_PLACE_H
#define ZOCL_PLACE_H

#include "base/backend.h"

/* Frees malloc'ed memory when `last` is reached, the mark of the place's last
   command, which also becomes the mark of the whole place. */
void zocl_place_free(const backend_place *place, backend_mark *last,
                     void *memory);

/* Returns the place for the next of several commands: only the first one waits,
   and only the last one has the mark. */
backend_place zocl_place_step(const backend_place *place, bool first,
                              bool last);

/* ------------------------------------------------------------------------
 * zocl_memory_host.c: our functions that copy and fill, run in a stream.
 */

void zocl_memory_copy(void *args);        /* args: a zocl_copy */
void zocl_memory_fill(void *args);        /* a zocl_fill */
void zocl_memory_copy_region(void *args); /* a zocl_copy_region */

enum { ZOCL_COPY_PATTERN = 128 }; /* of a queue that only copies */
/* Returns the largest pattern that queues of that group accept. */
static inline size_t zocl_pattern_max(uint32_t ordinal)
{
  return ordinal == 0 ? SIZE_MAX : ZOCL_COPY_PATTERN;
}

/* ------------------------------------------------------------------------
 * The same operations done by the back end, with the same `args`.
 */

typedef ze_result_t (*zocl_transfer)(const backend_place *place,
                                     const void *args, size_t size);
ze_result_t zocl_transfer_copy(const backend_place *place, const void *args,
                               size_t size);
ze_result_t zocl_transfer_fill(const backend_place *place, const void *args,
                               size_t size);
ze_result_t zocl_transfer_copy_region(const backend_place *place,
                                      const void *args, size_t size);

#endif
