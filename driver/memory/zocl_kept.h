/*
 * zocl_kept.h - blocks that were freed, for the next that are like them.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_KEPT_H
#define ZOCL_KEPT_H

#include <sys/queue.h>

#include "memory/zocl_memory.h"

/* Defined by ZOCL_KEPT(name, what gives a block back). */
typedef TAILQ_HEAD(zocl_kept_list, zocl_kept_block) zocl_kept_list;
typedef struct zocl_kept {
  pthread_mutex_t lock;
  zocl_kept_list list;   /* the last freed last */
  size_t count, bytes;
  void (*release)(const zocl_block *block);
} zocl_kept;
#define ZOCL_KEPT(name, release) \
  static zocl_kept name = {PTHREAD_MUTEX_INITIALIZER, \
                           TAILQ_HEAD_INITIALIZER(name.list), 0, 0, release}

/* What to ask for instead of `size` bytes, at most an eighth more, so that more
   blocks are alike. */
size_t zocl_kept_size(size_t size);
/* Have one for the same driver, device and type, of block->size bytes, at an
   address so aligned; false where there is none. */
bool zocl_kept_take(zocl_kept *kept, zocl_block *block, size_t alignment);
/* Keep a block, or give it back. */
void zocl_kept_give(zocl_kept *kept, const zocl_block *block);
/* Give all back. */
void zocl_kept_empty(zocl_kept *kept);

#endif
