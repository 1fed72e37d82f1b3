/*
 * lze_host.h - what other programs, states and processes share with this one.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_HOST_H
#define LZE_HOST_H

#include "run/lze_buffer.h"

/* lze.wrap itself. */
int lze_wrap(lua_State *L);

/* [-0, +1] a buffer on USM of the host's, after checking that it is that: see
   lze_push_borrowed. Raises as lze.wrap does. */
void lze_push_usm(lua_State *L, lze_Context *context,
                  const lze_DeviceInfo *device, void *pointer,
                  const lze_Type *type, lua_Integer count,
                  void (*release)(void *, void *), void *userdata);

/* A token for the open buffer at `arg`, after a wait; raises. */
uint64_t lze_export(lua_State *L, int arg);
/* [-0, +1] the buffer of a token, which is then used up; raises. */
void lze_push_import(lua_State *L, uint64_t token);

/* [-0, +1] a token, a string, for the buffer at `arg`, after a wait for all
   that this state has under way; raises. */
int lze_push_process_token(lua_State *L, int arg);
/* [-0, +1 and what keeps the context] the buffer of such a token at `arg`,
   where the table at `options`, or nil, says; raises. */
int lze_push_process_import(lua_State *L, int arg, int options);

/* lze_dlpack.c: a DLManagedTensorVersioned of that shape (NULL: one dimension)
   over the open buffer at `index`, after a wait; raises. */
void *lze_dlpack_export(lua_State *L, int index, const int64_t *shape,
                        int rank);
/* [-0, +1] a buffer on the memory of a tensor, or a copy of what the host can
   read and a device cannot.  True: the tensor is not needed any more, and still
   the caller's; false: it will be deleted here.  Raises. */
bool lze_dlpack_import(lua_State *L, lze_Context *context,
                       const lze_DeviceInfo *device, void *tensor);
/* Call its deleter. */
void lze_dlpack_delete(void *tensor);

#endif
