/*
 * lze_error.h - error objects and argument errors, and hooks that interrupt.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_ERROR_H
#define LZE_ERROR_H

#include "base/lze_base.h"

#include <stdarg.h>

#define LZE_NO_MEMORY_TEXT "not enough memory"
/* Raise "not enough memory": what malloc has not, not the device. */
int lze_no_memory(lua_State *L) __attribute__((noreturn));
/* As lua_pushvfstring, which in Lua 5.5 answers NULL where memory runs out,
   and has pushed nothing. [-0, +1] */
void lze_push_text(lua_State *L, const char *format, va_list arguments);
/* The same unless `good`. */
void lze_check_memory(lua_State *L, bool good);

/* Raise an error object for a failure that is not Level Zero's (those are
   lze_fail's, device/lze_fail.h): `code` is a word, the rest is as there. */
int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format, ...)
    __attribute__((noreturn));

/* Raise {call, code, result, message, where, log, object} with the message on
   the top of the stack; result is left out where it is 0, strings where they
   are NULL. */
int lze_raise_error(lua_State *L, const char *object, const char *call,
                    const char *code, lua_Integer result, const char *log)
    __attribute__((noreturn));

struct lze_WorkFailure;
/* Raise the failure of work of the host's (lze.h), of which `object`, or NULL,
   names the command. */
int lze_raise_work(lua_State *L, const struct lze_WorkFailure *failure,
                   const char *object) __attribute__((noreturn));

/* As luaL_error, with the script's position where Lua code of lze's calls. */
int lze_misuse(lua_State *L, const char *format, ...)
    __attribute__((noreturn));

/* Whether an error object of lze is at `index`. */
bool lze_is_error(lua_State *L, int index);
/* Where the value on the top of the stack is an error object without a
   position, give it that of the running function's call. */
void lze_error_locate(lua_State *L);

/* A number of errno as its name, "ENOENT", for such a code. */
const char *lze_errno_name(int error);

/* An array is a table that lua/array.lua describes, which no script sees: a
   script has a userdata of lze_array_kind, whose user value is that table.  The
   registry has the metatable of the tables under the address of
   lze_array_key, that of the userdata under lze_array_kind. */
extern const char lze_array_key;
/* Returns true if an array, as either, is at `index`. */
bool lze_is_array(lua_State *L, int index);
/* Push a field of the array at `index`, and return its type. [-0, +1] */
int lze_array_get(lua_State *L, int index, const char *field);
/* Returns true if a table that is not an array is at `index`. */
bool lze_is_table(lua_State *L, int index);

/* "integer", "string "abc"", "buffer of float" ...: what came, for messages.
   [-0, +1] and returns the string. */
const char *lze_describe(lua_State *L, int index);

/* An argument that must be a number with an exact integer value. */
lua_Integer lze_check_integer(lua_State *L, int arg, const char *name);
lua_Integer lze_check_integer_or(lua_State *L, int arg, const char *name,
                                 lua_Integer otherwise);

/* A time-out in seconds at `arg`; none or nil: forever.  Returns the point in
   time of lze_now_ns at which it runs out, UINT64_MAX for never. */
uint64_t lze_check_deadline(lua_State *L, int arg);

/* Let a pending debug hook run (Ctrl-C in lua5.4 sets one), the main thread's
   for a coroutine that has none.  Returns LUA_OK, or the status of an error
   that is then on the stack, to be raised with lua_error after cleaning up. */
int lze_run_hook(lua_State *L);
/* The same for who has the state, as waits do that look again at once. */
int lze_run_hook_of(lua_State *L, lze_State *S);

/* The metatable of error objects. [-0, +0] */
void lze_open_error(lua_State *L);

#endif
