/*
 * lze_canary.h - LZE_CHECK: canaries around storages.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_CANARY_H
#define LZE_CANARY_H

#include "queue/lze_storage.h"

/* Returns the bytes of the canary before the storage, and of the one behind it:
   0 if it has none. */
size_t lze_canary_bytes(const lze_Storage *s);
/* Writes the canaries. */
void lze_canary_write(lze_Storage *s);
/* [-0, +0|1] Returns true, with LZE_CHECK=1, if a canary of the storage has
   been overwritten, and pushes the place, as "4 bytes after its end".  Restores
   the canaries, so that each hit is reported once. */
bool lze_canary_damaged(lua_State *L, lze_Storage *s);

#endif
