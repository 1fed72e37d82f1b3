/*
 * lze_array.h - arrays of C that grow.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_ARRAY_H
#define LZE_ARRAY_H

#include "base/lze_base.h"

/* Make the array that the pointer at `items` points at hold at least `wanted`
   items of `size`; false without memory, with all as it was.  The array is
   malloc'ed, NULL, or `start`: an array inside of something, whose first
   `count` items move. */
bool lze_array_reserve(void *items, const void *start, uint32_t count,
                       uint32_t wanted, uint32_t *capacity, size_t size);

/* Room for one more in a malloc'ed array, or NULL, of `count` items. */
#define LZE_ARRAY_GROW(items, count, capacity)                               \
  lze_array_reserve(&(items), NULL, (count), (count) + 1, &(capacity),       \
                    sizeof *(items))

#endif
