/*
 * lze_guard.h - calls during which no Lua code runs.
 * SPDX-License-Identifier: MIT
 *
 * A C function that allocates may run Lua code at any allocation: finalizers,
 * and also debug hooks if it calls a function. That code may close or change
 * the objects in use. Functions are therefore either guarded (LZE_GUARDED) or
 * unguarded (LZE_UNGUARDED). A guarded one runs inside a guard: the collector
 * makes no steps and hooks are suspended; both are restored afterwards, even
 * when it raises. An unguarded one allocates nothing while it relies on an
 * object, and needs no guard.
 *
 * No metamethod or callback of a script may be called inside a guard, because
 * it could call collectgarbage(). Waits (lze_run_hook) and requests for room
 * in device memory (lze_pressure) are safe points: they pause the guard.
 * Afterwards their callers check again any state that Lua code can have
 * changed.
 */
#ifndef LZE_GUARD_H
#define LZE_GUARD_H

#include "base/lze_base.h"

typedef enum lze_Guarding { LZE_UNGUARDED, LZE_GUARDED } lze_Guarding;

/* A function callable from Lua, and whether it is guarded. Tables of these end
   with an entry that has no name. */
typedef struct lze_Method {
  const char *name;
  lua_CFunction function;
  lze_Guarding guarding;
} lze_Method;

/* As luaL_setfuncs. [-upvalues, +0] */
void lze_set_methods(lua_State *L, const lze_Method *methods, int upvalues);

/* Calls, inside a guard, the C function that is on the stack below its
   arguments. An unguarded function uses this for its rare paths. Raises as
   lze_raise_again. [-(arguments + 1), +results] */
void lze_call_guarded(lua_State *L, int arguments, int results);

/* Between pause and resume, Lua code may run as if outside any guard; both
   functions may also be called without an active guard. If that code raises,
   do not resume the guard; the error stays unchanged. */
typedef struct lze_Pause {
  lze_State *state;             /* NULL if not made yet */
  struct lze_Guard *guard;
  struct lze_Protection *protection;
} lze_Pause;
lze_Pause lze_guard_pause(lua_State *L);
lze_Pause lze_guard_pause_of(lua_State *L, lze_State *S); /* if S is at hand */
void lze_guard_resume(lua_State *L, lze_Pause pause);

/* Returns true if the collector runs, or will run when the guard is paused.
   Returns false if a script has stopped it, and in a finalizer, where lua_gc
   returns -1. */
bool lze_collector_runs(lua_State *L);

/* As luaL_argerror, which names the function that the script called, but works
   inside a guard too. Inside a guard, luaL_error and lze_fail also give the
   position of the script's call. */
int lze_argerror(lua_State *L, int arg, const char *message)
    __attribute__((noreturn));
/* Raises "<expected> expected, got <type>" unless `good`. */
void lze_argexpected(lua_State *L, bool good, int arg, const char *expected);

/* Calls a user function, which may do anything: as lua_pcall without a message
   handler, outside any guard. Sets *own to true if it raised an error that
   lze's own Lua code means to raise (lze_own_error). */
int lze_call_back(lua_State *L, int arguments, int results, bool *own);

/* As lua_pcall without a message handler. If an argument error was raised
   inside, *arg is the argument's number and the message is the bare text
   without the function's name. *arg is LZE_AS_IT_IS for an error that must not
   be changed, LZE_OWN for one that lze's own Lua code means to raise, else
   0. */
enum { LZE_AS_IT_IS = -1, LZE_OWN = -2 };
int lze_protected(lua_State *L, int arguments, int results, int *arg);
/* The same inside a guard. */
int lze_protected_guarded(lua_State *L, int arguments, int results, int *arg);
/* Marks the next error to be raised as one that must not be changed. */
void lze_keep_error(lua_State *L);
/* Marks it as an error that lze's own Lua code means to raise. */
void lze_own_error(lua_State *L);
/* Raises the error on the top of the stack, which one of these calls returned,
   as an error of the calling function: an argument error gets that function's
   name; any other message gets the position of the call, unless it must not be
   changed. */
int lze_raise_again(lua_State *L, int status, int arg)
    __attribute__((noreturn));

/* Returns the lua_getstack level of the function that the script called, as
   seen by code that it calls: the level of the guard, or 0 outside a guard. */
int lze_call_level(lua_State *L);

#endif
