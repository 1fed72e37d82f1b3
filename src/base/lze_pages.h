/*
 * lze_pages.h - memory in large pages.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_PAGES_H
#define LZE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include <sys/mman.h>

enum { LZE_LARGE_PAGE = 2 << 20 };

/* Requests large pages for memory that was never used: creating many small
   pages takes longer than writing to them. */
static inline void lze_pages_advise(void *memory, size_t bytes) {
  const uintptr_t mask = LZE_LARGE_PAGE - 1;
  uintptr_t from = ((uintptr_t)memory + mask) & ~mask;
  uintptr_t to = ((uintptr_t)memory + bytes) & ~mask;
  if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE);
}

#endif
