/*
 * lze_vector.h - growing C arrays.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_VECTOR_H
#define LZE_VECTOR_H

#include "base/lze_base.h"

/* Ensures that the array pointed to by the pointer at `items` has room for at
   least `wanted` items of `size` bytes. Returns false if memory runs out;
   nothing has changed then. The array is malloc'ed, NULL, or `start`: an array
   embedded in another object, whose first `count` items are copied out. */
bool lze_vector_reserve(void *items, const void *start, uint32_t count,
                        uint32_t wanted, uint32_t *capacity, size_t size);

/* Makes room for one more item in a malloc'ed array (or NULL) of `count`
   items. */
#define LZE_VECTOR_GROW(items, count, capacity)                              \
  lze_vector_reserve(&(items), NULL, (count), (count) + 1, &(capacity),      \
                     sizeof *(items))

#endif
