/*
 * lze_snapshot.h - LZE_CHECK: writes of a launch next to its arguments.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SNAPSHOT_H
#define LZE_SNAPSHOT_H

#include "memory/lze_buffer.h"

/* Saves the bytes of the storages of a launch that lie outside of all its
   buffers, which are views, to compare them later: call begin, name each buffer
   with the number of its argument, counted from 0, then take a copy when
   nothing writes there any more.  The last function returns false if there are
   no bytes to save. */
void lze_snapshot_begin(lua_State *L, lze_State *S);
void lze_snapshot_name(lua_State *L, lze_State *S, const lze_Buffer *b,
                      int argument);
bool lze_snapshot_take(lua_State *L, lze_State *S);
/* Retains the storages until lze_snapshot_forget, for a wait in which a hook
   may close them. */
void lze_snapshot_pin(lze_State *S);
/* Returns true, after the launch, if these bytes have been overwritten, and
   pushes the place, as "4 bytes after its end", with the argument next to
   it. */
bool lze_snapshot_damaged(lua_State *L, lze_State *S, int *argument);
void lze_snapshot_forget(lze_State *S);

#endif
