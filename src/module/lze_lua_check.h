/*
 * lze_lua_check.h - k:check and LZE_CHECK=lua: run a Lua kernel's function.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LUA_CHECK_H
#define LZE_LUA_CHECK_H

#include "base/lze_base.h"

/* Returns true if a kernel's function is running on the host as a work-item. */
bool lze_is_work_item(lua_State *L);
/* Pushes the results of lze.work.NAME for this work-item and returns their
   number; the arguments are the whole stack. */
int lze_ask_work_item(lua_State *L, const char *name);
/* Call it before and after the accesses that an atomic of lze.work makes for
   this work-item. */
void lze_work_item_atomic(lua_State *L, bool begins);

/* With LZE_CHECK=lua, before a launch of the Lua kernel at `kernel` with the
   range at `range` followed by `count` arguments: checks the launch if it has
   few work-items, and raises the findings. [-0, +0] */
void lze_lua_check_launch(lua_State *L, int kernel, int range, int count);

#endif
