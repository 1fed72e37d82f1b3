/*
 * lze_vector.c - growing C arrays.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_vector.h"

#include <stdlib.h>
#include <string.h>

bool lze_vector_reserve(void *items, const void *start, uint32_t count,
                        uint32_t wanted, uint32_t *capacity, size_t size) {
  if (wanted <= *capacity) return true;
  uint32_t room = *capacity < 4 ? 4 : 2 * *capacity;
  if (room < wanted) room = wanted;
  void *old, *p;
  memcpy(&old, items, sizeof old);
  bool moves = old == start && start != NULL;
  p = realloc(moves ? NULL : old, room * size);
  if (p == NULL) return false;
  if (moves) memcpy(p, start, count * size);
  memcpy(items, &p, sizeof p);
  *capacity = room;
  return true; /* cppcheck-suppress memleak */
}
