/*
 * lze_host.h - sharing with other programs, states and processes.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_HOST_H
#define LZE_HOST_H

#include "memory/lze_buffer.h"

/* Implements lze.wrap. */
int lze_wrap(lua_State *L);

/* Pushes a buffer on the host's USM, after checking that it is USM: see
   lze_push_borrowed. Raises as lze.wrap does. [-0, +1] */
void lze_push_usm(lua_State *L, lze_Context *context,
                  const lze_DeviceInfo *device, void *pointer,
                  const lze_Type *type, lua_Integer count,
                  void (*release)(void *, void *), void *userdata);

/* Returns a token for the open buffer at `arg`, after a wait; raises. */
uint64_t lze_export(lua_State *L, int arg);
/* Pushes the buffer of a token, which cannot be used again; raises. [-0, +1] */
void lze_push_import(lua_State *L, uint64_t token);

/* Pushes a token, a string, for the buffer at `arg`, after waiting for all
   work of this state; raises. [-0, +1] */
int lze_push_process_token(lua_State *L, int arg);
/* Pushes the buffer of a process token at `arg`, with the options of the table
   at `options`, or nil; raises. [-0, +1 and values that keep the context
   alive] */
int lze_push_process_import(lua_State *L, int arg, int options);

/* lze_dlpack.c: returns a DLManagedTensorVersioned of that shape (NULL: one
   dimension) over the open buffer at `index`, after a wait; raises. With
   `complex`, vectors of two reals become complex numbers. */
void *lze_dlpack_export(lua_State *L, int index, const int64_t *shape, int rank,
                        bool complex);
/* Pushes a buffer on the memory of a tensor, or a copy if the host can read
   the memory and a device cannot. Returns true if lze does not need the tensor
   any more; it still belongs to the caller then. Returns false if lze will
   delete it. Raises. [-0, +1] */
bool lze_dlpack_import(lua_State *L, lze_Context *context,
                       const lze_DeviceInfo *device, void *tensor);
/* Calls the tensor's deleter. */
void lze_dlpack_delete(void *tensor);

#endif
