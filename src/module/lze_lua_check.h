/*
 * lze_lua_check.h - k:check and LZE_CHECK=lua: a Lua kernel's function itself.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LUA_CHECK_H
#define LZE_LUA_CHECK_H

#include "base/lze_base.h"

/* Whether a function of a kernel runs on the host now, as a work-item. */
bool lze_is_work_item(lua_State *L);
/* What lze.work.NAME gives such a work-item; the arguments are all that is on
   the stack.  Returns how many results it pushed. */
int lze_ask_work_item(lua_State *L, const char *name);
/* Around what an atomic of lze.work reads and writes for such a work-item. */
void lze_work_item_atomic(lua_State *L, bool begins);

/* With LZE_CHECK=lua, before a launch of the Lua kernel at `kernel` with the
   range at `range` and `count` arguments behind it: raises what is found where
   it has few work-items. [-0, +0] */
void lze_lua_check_launch(lua_State *L, int kernel, int range, int count);

#endif
