/*
 * zocl_base.c - handles, the clock, hashes.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_base.h"
#include "base/zocl_hook.h"

#include <stdlib.h>
#include <time.h>

uint64_t zocl_clock(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t zocl_hash(uint64_t seed, const void *bytes, size_t size)
{
  const unsigned char *p = bytes;
  uint64_t hash = seed ^ 14695981039346656037u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 1099511628211u;
  /* Let the last bytes affect all bits. */
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

zocl_handle zocl_tables;
zocl_hook zocl_ext;

void *zocl_handle_new(size_t size)
{
  zocl_handle *made = calloc(1, size);
  if (made != NULL) *made = zocl_tables;
  return made;
}
