/*
 * zocl_memory_host.c - memory of this process.
 * SPDX-License-Identifier: MIT
 *
 * All memory is memory of this process: host, device and shared allocations
 * differ only in their reported type.  Our own functions copy and fill it.
 */
#include "base/zocl_file.h"
#include "memory/zocl_kept.h"
#include "memory/zocl_place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ------------------------------------------------------------------------
 * Allocation.
 *
 * Large blocks are mapped, and retained when they are freed, because mapping
 * and unmapping a block costs several times as much as everything else.
 */

enum { MAPPED_BYTES = 128 * 1024 }; /* blocks this large are mapped */

static void unmap(const zocl_block *block)
{
  munmap(block->at, block->size);
}

ZOCL_KEPT(kept, unmap);

/* Returns MAP_FAILED if out of memory. */
static char *map(size_t size)
{
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  /* cppcheck-suppress invalidFunctionArg ; there is no file */
  return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
}

/* Maps pages with this alignment, and unmaps the surplus around them. */
static void *map_aligned(size_t size, size_t alignment)
{
  size_t more = alignment > ZOCL_PAGE_BYTES ? alignment : 0;
  if (size > SIZE_MAX - more) return NULL;
  char *at = map(size + more);
  if (at == MAP_FAILED) {
    zocl_kept_empty(&kept);
    at = map(size + more);
  }
  if (at == MAP_FAILED) return NULL;
  if (more == 0) return at;
  size_t before = (alignment - (uintptr_t)at % alignment) % alignment;
  char *begin = at + before;
  if (before > 0) munmap(at, before);
  if (more > before) munmap(begin + size, more - before);
  return begin;
}

void *zocl_host_allocate(zocl_block *block, size_t size, size_t alignment)
{
  /* Host memory has no owner: any request may reuse it. */
  *block = (zocl_block){.size = zocl_file_pages(size)};
  if (block->size < MAPPED_BYTES)
    return posix_memalign(&block->at, alignment, block->size) == 0 ? block->at
                                                                   : NULL;
  if (!zocl_kept_take(&kept, block, alignment))
    block->at = map_aligned(block->size, alignment);
  return block->at;
}

void zocl_host_free(const zocl_block *block)
{
  if (block->size < MAPPED_BYTES)
    free(block->at);
  else
    zocl_kept_give(&kept, block);
}

/* ------------------------------------------------------------------------
 * Functions that streams run.
 */

void zocl_memory_copy(void *args)
{
  const zocl_copy *copy = args;
  memmove(copy->to, copy->from, copy->size);
}

void zocl_memory_fill(void *args)
{
  const zocl_fill *fill = args;
  char *to = fill->to;
  if (fill->pattern_size == 1) {
    memset(to, fill->pattern[0], fill->size);
    return;
  }
  /* Write the pattern once, then copy the filled part after itself. */
  size_t done = fill->pattern_size < fill->size ? fill->pattern_size
                                                : fill->size;
  memcpy(to, fill->pattern, done);
  while (done < fill->size) {
    size_t n = done < fill->size - done ? done : fill->size - done;
    /* Copy blocks that fit into a cache, each a multiple of the pattern. */
    if (n > (size_t)64 * 1024 * fill->pattern_size)
      n = (size_t)64 * 1024 * fill->pattern_size;
    memcpy(to + done, to, n);
    done += n;
  }
}

void zocl_memory_copy_region(void *args)
{
  const zocl_copy_region *c = args;
  const ze_copy_region_t *t = &c->to_region, *f = &c->from_region;
  uint32_t depth = f->depth > 0 ? f->depth : 1;
  for (uint32_t z = 0; z < depth; z++)
    for (uint32_t y = 0; y < f->height; y++)
      memmove((char *)c->to + (size_t)(t->originZ + z) * c->to_slice +
                  (size_t)(t->originY + y) * c->to_pitch + t->originX,
              (const char *)c->from + (size_t)(f->originZ + z) * c->from_slice +
                  (size_t)(f->originY + y) * c->from_pitch + f->originX,
              f->width);
}
