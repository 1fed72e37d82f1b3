/*
 * lze_embed.h - the parts of lze that are written in Lua.
 * SPDX-License-Identifier: MIT
 *
 * A file lua/NAME.lua is a chunk that returns a table of functions. Its bytes
 * are part of the module: the C file that uses it includes "lua/NAME.h", which
 * the Makefile generates. lze loads it when one of its functions is first
 * called in a state.
 *
 * The chunk is called with one argument: a table of the script's primitives
 * and these functions:
 *   argument(n, message)  raises an error about argument n of the function
 *                         that the user called, as lze_argerror
 *   pcall(f, ...)         calls a user function outside any guard; after an
 *                         error it also returns true if it is an lze error
 *   call(v, method, ...)  returns the results of v:method(...); its errors
 *                         do not get the script's position
 *   lze()                 returns the result of require "lze"
 *   where()               "file:line: " of the function that the program called
 *   describe(v)           a description of v for messages
 *   raise(e)              raises unchanged an error that a user function raised
 * Its globals are Lua's libraries `string`, `table` and `math`, and the basic
 * functions of Lua that neither load nor print. error(message, 0) raises
 * misuse; C adds the position of the user's call.
 *
 * Code that runs at every launch is not written in Lua.
 */
#ifndef LZE_EMBED_H
#define LZE_EMBED_H

#include "base/lze_guard.h"

typedef struct lze_Script {
  const char *name;             /* "lze report.lua", in its own messages */
  const unsigned char *text;
  size_t size;
  /* C functions that it calls, or NULL. Their errors have no position; whether
     they are guarded (`guarding`) is ignored. */
  const lze_Method *primitives;
} lze_Script;

/* Calls a function of the script's table with the `arguments` values on the
   top of the stack. Raises errors as if the calling C function had raised
   them. [-arguments, +results] */
void lze_script_call(lua_State *L, const lze_Script *script,
                     const char *function, int arguments, int results);

/* Calls another file of a script with the table of primitives on the top of
   the stack, and replaces the table by the result. The `primitives` of `part`
   are not used. [-1, +1] */
void lze_script_part(lua_State *L, const lze_Script *part);

#endif
