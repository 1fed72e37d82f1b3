/*
 * lze_show.h - tables that print themselves, and who prints.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SHOW_H
#define LZE_SHOW_H

#include "base/lze_base.h"

/* tostring of the table on the top says what is in it, a line each: for a
   person at a prompt; it is a plain table else. [-0, +0] */
void lze_show_table(lua_State *L);
/* The same for the module: its version and the names in it. */
void lze_show_module(lua_State *L);

/* Whether a tostring that runs was called by Lua's print, directly: that waits
   where tostring does not. [-0, +0] */
bool lze_is_printed(lua_State *L);

/* obj:display(): show the value at 1 in a notebook, where its function
   ilua.display.html is, as the HTML on the top or, where that is nil, as its
   text; else by Lua's print. [-1, +0] */
void lze_display(lua_State *L);

#endif
