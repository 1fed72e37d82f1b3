/*
 * lze_check.c - LZE_CHECK: what lies round storages, and who wrote there.
 * SPDX-License-Identifier: MIT
 */
#include "run/lze_buffer.h"

#include <string.h>

/* With LZE_CHECK=1 this much memory of this pattern lies on both sides of a
   storage: a page, so that the alignment stays what it was. */
#define GUARD_BYTES ((size_t)4096)

#define GUARD_PATTERN 0xc5

size_t lze_storage_guard(const lze_Storage *s) {
  return s->guarded ? GUARD_BYTES : 0;
}

/* Where in a guard something was written, or -1. */
static ptrdiff_t guard_hit(const char *guard) {
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if ((unsigned char)guard[i] != GUARD_PATTERN) return (ptrdiff_t)i;
  return -1;
}

void lze_storage_mark(lze_Storage *s) {
  memset(s->pointer - GUARD_BYTES, GUARD_PATTERN, GUARD_BYTES);
  memset(s->pointer + s->bytes, GUARD_PATTERN, GUARD_BYTES);
}

bool lze_storage_damaged(lua_State *L, lze_Storage *s) {
  if (!s->guarded || s->pointer == NULL) return false;
  char *before = s->pointer - GUARD_BYTES, *after = s->pointer + s->bytes;
  const char *where = "after its end";
  ptrdiff_t hit = guard_hit(after);
  if (hit < 0) {
    where = "before its start";
    hit = guard_hit(before);
    if (hit < 0) return false;
    hit = (ptrdiff_t)GUARD_BYTES - hit;
  }
  lze_storage_mark(s);
  lua_pushfstring(L, "%I bytes %s", (LUAI_UACINT)hit, where);
  return true;
}
