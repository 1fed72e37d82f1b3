/*
 * lze_guard.h - calls in the middle of which no Lua code runs.
 * SPDX-License-Identifier: MIT
 *
 * A C function that allocates may run Lua code at any allocation: finalisers,
 * and debug hooks where it calls something.  Such code may close or change
 * what the function works on.  Functions are therefore hot or cold.  A cold
 * one runs inside a guard: the collector makes no step, hooks are put off, and
 * both are as they were afterwards, also when it raises.  A hot one allocates
 * nothing while it holds on to something, and runs as it is.
 *
 * Inside a guard no metamethod or callback of a script may be called, as it
 * could call collectgarbage().  Waits (lze_run_hook) and the room that device
 * memory asks for (lze_pressure) are safe points: they pause the guard, and
 * what they return to asks again for what Lua code can have changed.
 */
#ifndef LZE_GUARD_H
#define LZE_GUARD_H

#include "base/lze_base.h"

typedef enum lze_Heat { LZE_HOT, LZE_COLD } lze_Heat;

/* A function of Lua's and whether it is guarded; tables of these end with one
   without a name. */
typedef struct lze_Method {
  const char *name;
  lua_CFunction function;
  lze_Heat heat;
} lze_Method;

/* As luaL_setfuncs. [-upvalues, +0] */
void lze_set_methods(lua_State *L, const lze_Method *methods, int upvalues);

/* Call the C function that is on the stack below its arguments inside a guard:
   what a hot function does seldom. Raises as lze_raise_again.
   [-(arguments + 1), +results] */
void lze_call_guarded(lua_State *L, int arguments, int results);

/* Between these two Lua code may run, as outside of any guard, if there is one
   at all.  Where it raises, the guard is not to be resumed, and the error stays
   as it is. */
typedef struct lze_Pause {
  lze_State *state;             /* NULL before there is any */
  struct lze_Guard *guard;
  struct lze_Protection *protection;
} lze_Pause;
lze_Pause lze_guard_pause(lua_State *L);
lze_Pause lze_guard_pause_of(lua_State *L, lze_State *S); /* who has it */
void lze_guard_resume(lua_State *L, lze_Pause pause);

/* Whether the collector runs, or will when the guard is paused: not where a
   script has stopped it, nor in a finaliser, where lua_gc answers -1. */
bool lze_collector_runs(lua_State *L);

/* As luaL_argerror, which names the function that the script called: this one
   does so inside a guard, too.  luaL_error and lze_fail give the position of
   the script's call there. */
int lze_argerror(lua_State *L, int arg, const char *message)
    __attribute__((noreturn));
/* Raise "<expected> expected, got <type>" unless `good`. */
void lze_argexpected(lua_State *L, bool good, int arg, const char *expected);

/* Call a function of the user's, which may do anything: as lua_pcall without a
   message handler, outside of any guard.  *own says whether it raised what Lua
   code of lze's means to raise (lze_own_error). */
int lze_call_back(lua_State *L, int arguments, int results, bool *own);

/* As lua_pcall without a message handler.  Where an argument error was raised
   inside, *arg is its number and the message is what was said of it, without
   the function's name.  It is LZE_AS_IT_IS for an error that must not be
   changed, LZE_OWN for one that Lua code of lze's means to raise, else 0. */
enum { LZE_AS_IT_IS = -1, LZE_OWN = -2 };
int lze_protected(lua_State *L, int arguments, int results, int *arg);
/* The same inside a guard. */
int lze_protected_guarded(lua_State *L, int arguments, int results, int *arg);
/* The error that is raised next is to stay as it is. */
void lze_keep_error(lua_State *L);
/* It is one of lze's, which Lua code of lze's means to raise. */
void lze_own_error(lua_State *L);
/* Raise the error on the top of the stack, which such a call has returned, as
   one of the function that calls this: an argument error with that function's
   name, another message, unless it is to stay as it is, with the position of
   the call. */
int lze_raise_again(lua_State *L, int status, int arg)
    __attribute__((noreturn));

/* The level of lua_getstack at which the function that the script called runs,
   asked for by what it calls: that of the guard, or 0 outside of one. */
int lze_call_level(lua_State *L);

#endif
