/*
 * zocl_kept.h - freed blocks, retained for reuse.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_KEPT_H
#define ZOCL_KEPT_H

#include <sys/queue.h>

#include "memory/zocl_memory.h"

/* Defined by ZOCL_KEPT(name, function that releases a block). */
typedef TAILQ_HEAD(zocl_kept_list, zocl_kept_block) zocl_kept_list;
typedef struct zocl_kept {
  pthread_mutex_t lock;
  zocl_kept_list list;   /* in the order in which they were freed */
  size_t count, bytes;
  void (*release)(const zocl_block *block);
} zocl_kept;
#define ZOCL_KEPT(name, release) \
  static zocl_kept name = {PTHREAD_MUTEX_INITIALIZER, \
                           TAILQ_HEAD_INITIALIZER(name.list), 0, 0, release}

/* Returns the size to request instead of `size` bytes, at most an eighth more,
   so that more blocks have the same size and can be reused. */
size_t zocl_kept_size(size_t size);
/* Takes a block for the same driver, device and type, of block->size bytes, at
   an address with this alignment, and sets block->at.  Returns false if there
   is none. */
bool zocl_kept_take(zocl_kept *kept, zocl_block *block, size_t alignment);
/* Retains a block for reuse, or releases it. */
void zocl_kept_give(zocl_kept *kept, const zocl_block *block);
/* Releases all blocks. */
void zocl_kept_empty(zocl_kept *kept);

#endif
