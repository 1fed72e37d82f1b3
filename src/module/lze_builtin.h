/*
 * lze_builtin.h - the functions that Lua kernels recognise by identity.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BUILTIN_H
#define LZE_BUILTIN_H

#include "base/lze_base.h"

/* Registers the C functions of the table on the top of the stack that the
   compiler lists as PREFIX and their name: "work.", "math.". [-0, +0] */
void lze_add_builtins(lua_State *L, const char *prefix);

/* Pushes a new table of functions that only kernels can call, which
   compiler/function.c defines; `known` returns true if a kernel has them.
   [-0, +1] */
void lze_push_float_functions(lua_State *L);

/* Returns the compiler's number for the function at `index`, or 0. */
unsigned lze_builtin_of(lua_State *L, int index);

#endif
