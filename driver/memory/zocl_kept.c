/*
 * zocl_kept.c - freed blocks of memory, retained for reuse.
 * SPDX-License-Identifier: MIT
 */
#include "memory/zocl_kept.h"

#include <stdlib.h>

/* Retain as many bytes as the C library's malloc may retain, and few enough
   blocks that a search among them is fast. */
enum { KEPT_BYTES = 64 * 1024 * 1024, KEPT_BLOCKS = 8192 };

struct zocl_kept_block {
  TAILQ_ENTRY(zocl_kept_block) entry;
  zocl_block block;
};

size_t zocl_kept_size(size_t size)
{
  size_t step = 1;
  if (size > KEPT_BYTES) return size;
  while (step <= size / 16) step *= 2;
  return (size + step - 1) / step * step;
}

/* Caller holds the lock. */
static void kept_remove(zocl_kept *kept, struct zocl_kept_block *k)
{
  TAILQ_REMOVE(&kept->list, k, entry);
  kept->bytes -= k->block.size;
  kept->count--;
  free(k);
}

/* Releases the oldest blocks until `size` more bytes may be retained.  Caller
   holds the lock. */
static void kept_shrink(zocl_kept *kept, size_t size)
{
  struct zocl_kept_block *first;
  while ((first = TAILQ_FIRST(&kept->list)) != NULL &&
         (kept->bytes + size > KEPT_BYTES || kept->count >= KEPT_BLOCKS)) {
    kept->release(&first->block);
    kept_remove(kept, first);
  }
}

static bool is_like(const zocl_block *a, const zocl_block *b)
{
  return a->size == b->size && a->type == b->type && a->device == b->device &&
         a->driver == b->driver;
}

bool zocl_kept_take(zocl_kept *kept, zocl_block *block, size_t alignment)
{
  struct zocl_kept_block *k;
  pthread_mutex_lock(&kept->lock);
  TAILQ_FOREACH_REVERSE(k, &kept->list, zocl_kept_list, entry)
    if (is_like(&k->block, block) && (uintptr_t)k->block.at % alignment == 0)
      break;
  bool found = k != NULL;
  if (found) {
    block->at = k->block.at;
    kept_remove(kept, k);
  }
  pthread_mutex_unlock(&kept->lock);
  return found;
}

void zocl_kept_give(zocl_kept *kept, const zocl_block *block)
{
  struct zocl_kept_block *k =
      block->size <= KEPT_BYTES ? malloc(sizeof *k) : NULL;
  if (k == NULL) {
    kept->release(block);
    return;
  }
  k->block = *block;
  pthread_mutex_lock(&kept->lock);
  kept_shrink(kept, block->size);
  TAILQ_INSERT_TAIL(&kept->list, k, entry);
  kept->bytes += block->size;
  kept->count++;
  pthread_mutex_unlock(&kept->lock);
}

void zocl_kept_empty(zocl_kept *kept)
{
  pthread_mutex_lock(&kept->lock);
  kept_shrink(kept, KEPT_BYTES);
  pthread_mutex_unlock(&kept->lock);
}
