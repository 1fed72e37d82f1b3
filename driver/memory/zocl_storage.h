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
  zocl_block block;      /* the memory; if it has no driver: mapped */
  struct zocl_storage *next; /* in the list of storage with a driver */
} zocl_storage;

/* Returns `size` zeroed bytes, if possible at an address that depends only on
   the hash; NULL: out of memory. */
zocl_storage *zocl_storage_new(zocl_device *device, uint64_t hash,
                               size_t size);
zocl_storage *zocl_storage_ref(zocl_storage *storage); /* NULL is allowed, */
void zocl_storage_unref(zocl_storage *storage);        /* here too */

/* Returns true if `pointer` points into memory that a driver allocated for
   variables. */
bool zocl_storage_has(const void *pointer);

#endif
