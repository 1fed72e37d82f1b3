/*
 * zocl_storage.h - memory for the program-scope variables of modules.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_STORAGE_H
#define ZOCL_STORAGE_H

#include "memory/zocl_memory.h"

typedef struct zocl_storage {
  atomic_uint refs;
  char *base;
  size_t size;
  zocl_block block;      /* whose memory this is; without a driver: mapped */
  struct zocl_storage *next; /* of those with a driver */
} zocl_storage;

/* So many zeros, at an address that is the same for the same hash where that
   is possible; NULL: out of memory. */
zocl_storage *zocl_storage_new(zocl_device *device, uint64_t hash,
                               size_t size);
zocl_storage *zocl_storage_ref(zocl_storage *storage); /* NULL is allowed, */
void zocl_storage_unref(zocl_storage *storage);        /* here too */

/* Whether a pointer is to memory of some driver's for variables. */
bool zocl_storage_has(const void *pointer);

#endif
