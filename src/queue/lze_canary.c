/*
 * lze_canary.c - LZE_CHECK: canaries around storages.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_canary.h"

#include <string.h>

/* With LZE_CHECK=1, a canary with this pattern and size lies on both sides of a
   storage: a page, so that the alignment does not change. */
#define CANARY_BYTES ((size_t)4096)

#define CANARY_PATTERN 0xc5

size_t lze_canary_bytes(const lze_Storage *s) {
  return s->canaries ? CANARY_BYTES : 0;
}

/* Returns the offset of the first overwritten byte in a canary, or -1. */
static ptrdiff_t canary_hit(const char *canary) {
  for (size_t i = 0; i < CANARY_BYTES; i++)
    if ((unsigned char)canary[i] != CANARY_PATTERN) return (ptrdiff_t)i;
  return -1;
}

void lze_canary_write(lze_Storage *s) {
  memset(s->pointer - CANARY_BYTES, CANARY_PATTERN, CANARY_BYTES);
  memset(s->pointer + s->bytes, CANARY_PATTERN, CANARY_BYTES);
}

bool lze_canary_damaged(lua_State *L, lze_Storage *s) {
  if (!s->canaries || s->pointer == NULL) return false;
  char *before = s->pointer - CANARY_BYTES, *after = s->pointer + s->bytes;
  const char *where = "after its end";
  ptrdiff_t hit = canary_hit(after);
  if (hit < 0) {
    where = "before its start";
    hit = canary_hit(before);
    if (hit < 0) return false;
    hit = (ptrdiff_t)CANARY_BYTES - hit;
  }
  lze_canary_write(s);
  lua_pushfstring(L, "%I bytes %s", (LUAI_UACINT)hit, where);
  return true;
}
