/*
 * lze_readers.h - arrays among the arguments of a call, and expressions that
 * have yet to read a storage.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_READERS_H
#define LZE_READERS_H

#include "queue/lze_storage.h"

/* [-2, +0] Makes the two tables on top of the stack the metatables of arrays:
   first the metatable of their tables, then the metatable of the objects that
   scripts have.  The first contains functions: if the elements of an array are
   not computed yet, `evaluate(array)` computes them; `flush_readers(serial)`
   evaluates the expressions that read the storage with that serial number;
   `suspend_readers(serial, list)` moves these expressions into a list, and
   `restore_readers(list)` undoes that. */
void lze_keep_array_metatable(lua_State *L);
/* Computes the elements of the expression at `index`, if it is one.  Runs
   everything that a launch runs. */
void lze_array_evaluate(lua_State *L, int index);
/* Evaluates the values at stack indices [first, last], and the elements of
   tables of arrays there.  Does nothing in a state without arrays. */
void lze_arrays_evaluate(lua_State *L, int first, int last);
/* Evaluates the expressions that have yet to read a storage, before the storage
   is written.  This is a safe point like a wait: buffers may be closed
   afterwards. */
void lze_storage_flush_readers(lua_State *L, lze_Storage *s);
/* Like lze_storage_flush_readers, but returns LUA_OK, or another status with
   the error on the stack. */
int lze_storage_try_flush_readers(lua_State *L, lze_Storage *s);
/* Moves the expressions that have yet to read a storage into the list at
   `index`, because the next work precedes them; the second function puts all
   expressions of a list back. */
void lze_storage_suspend_readers(lua_State *L, lze_Storage *s, int index);
void lze_storages_restore_readers(lua_State *L, int index);
/* [-0, +1] Pushes the buffer of exactly an array's elements; nil if they are
   not contiguous. */
void lze_push_array_buffer(lua_State *L, int index);

/* Pushes an array's shape as text, as "{2, 3}"; for any other value, a
   description. */
const char *lze_push_shape(lua_State *L, int index);

#endif
