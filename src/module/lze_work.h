/*
 * lze_work.h - the functions that kernels in Lua know by identity.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_WORK_H
#define LZE_WORK_H

#include "base/lze_base.h"

/* From now on the C functions of the table on the top of the stack are known
   that the compiler calls PREFIX and their name: "work.", "math.". [-0, +0] */
void lze_add_builtins(lua_State *L, const char *prefix);

/* The number by which the compiler knows the function at `index`, or 0. */
unsigned lze_builtin_of(lua_State *L, int index);

#endif
