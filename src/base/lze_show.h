/*
 * lze_show.h - tables that print themselves, and detection of print.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SHOW_H
#define LZE_SHOW_H

#include "base/lze_base.h"

/* Makes tostring of the table on the top list its contents, one per line, for
   a person at a prompt. Otherwise it stays a plain table. [-0, +0] */
void lze_show_table(lua_State *L);
/* The same for the module: its version and the names in it. */
void lze_show_module(lua_State *L);

/* Returns true if the running tostring was called directly by Lua's print:
   then it waits, which tostring otherwise does not. [-0, +0] */
bool lze_is_printed(lua_State *L);

/* obj:display(): shows the value at 1 in a notebook if its function
   ilua.display.html exists: as the HTML on the top or, if that is nil, as the
   value's text. Else calls Lua's print. [-1, +0] */
void lze_display(lua_State *L);

#endif
