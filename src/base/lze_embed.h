/*
 * lze_embed.h - the parts of lze that are written in Lua.
 * SPDX-License-Identifier: MIT
 *
 * A file lua/NAME.lua is a chunk that returns a table of functions.  Its bytes
 * are in the module: the C file that it belongs to includes "lua/NAME.h", which
 * the Makefile makes from it.  It is loaded when one of its functions is called
 * for the first time in a state.
 *
 * The chunk is called with one argument, a table of the script's primitives
 * and of these:
 *   argument(n, message)  raises an error about argument n of the function
 *                         that the user called, as lze_argerror
 *   pcall(f, ...)         calls a function of the user's, outside of any guard;
 *                         behind an error, whether it is one of lze's
 *   call(v, method, ...)  what v:method(...) returns; the position of what that
 *                         raises is not the script's
 *   lze()                 what require "lze" returns
 *   where()               "file:line: " of the function that the program called
 *   describe(v)           what a value is, for messages
 *   raise(e)              raises what such a function has raised, as it is
 * Its globals are Lua's own libraries `string`, `table` and `math`, and those
 * of Lua's basic functions that neither load nor print.  error(message, 0)
 * raises misuse; a position is added here, that of the user's call.
 *
 * What is called at every launch is not written in Lua.
 */
#ifndef LZE_EMBED_H
#define LZE_EMBED_H

#include "base/lze_guard.h"

typedef struct lze_Script {
  const char *name;             /* "lze report.lua", in messages of its own */
  const unsigned char *text;
  size_t size;
  /* Functions of C that it calls, or NULL.  An error that one raises has no
     position; their heat does not matter. */
  const lze_Method *primitives;
} lze_Script;

/* Call a function that the script returns with the `arguments` values on the
   top of the stack.  Raises as the C function does that this is called by.
   [-arguments, +results] */
void lze_script_call(lua_State *L, const lze_Script *script,
                     const char *function, int arguments, int results);

/* Replace a table of primitives on the top of the stack by what a further file
   of a script returns that is called with it; its own primitives are not
   used. [-1, +1] */
void lze_script_part(lua_State *L, const lze_Script *part);

#endif
