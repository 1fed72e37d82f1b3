/*
 * lze.h - the public C interface of lze.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_H
#define LZE_H

#include <lua.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open lze in a state: pushes the module's table, as require "lze" returns
 * it, and returns 1.  For luaL_requiref(L, "lze", luaopen_lze, 0).  Opens no
 * driver; may be called more than once.  Raises only when memory runs out.
 */
int luaopen_lze(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
