/*
 * lze_error.h - error objects, argument errors, and interrupting hooks.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_ERROR_H
#define LZE_ERROR_H

#include "base/lze_base.h"

#include <stdarg.h>

#define LZE_NO_MEMORY_TEXT "not enough memory"
/* Raises "not enough memory": malloc failed, not the device. */
int lze_no_memory(lua_State *L) __attribute__((noreturn));
/* As lua_pushvfstring, but raises when memory runs out: Lua 5.5 returns NULL
   then and pushes nothing. [-0, +1] */
void lze_push_text(lua_State *L, const char *format, va_list arguments);
/* Calls lze_no_memory unless `good`. */
void lze_check_memory(lua_State *L, bool good);

/* Raises an error object for a failure that does not come from Level Zero (use
   lze_fail in device/lze_fail.h for one that does). `code` is a word; the
   other arguments are as there. */
int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format, ...)
    __attribute__((noreturn));

/* Raises {call, code, result, message, where, log, object} with the message on
   the top of the stack. Leaves out `result` if it is 0, and strings that are
   NULL. */
int lze_raise_error(lua_State *L, const char *object, const char *call,
                    const char *code, lua_Integer result, const char *log)
    __attribute__((noreturn));

struct lze_WorkFailure;
/* Raises the failure of host work (lze.h). `object` names the command, or is
   NULL. */
int lze_raise_work(lua_State *L, const struct lze_WorkFailure *failure,
                   const char *object) __attribute__((noreturn));

/* As luaL_error, but gives the user script's position when called by lze's own
   Lua code. */
int lze_misuse(lua_State *L, const char *format, ...)
    __attribute__((noreturn));

/* Returns true if an lze error object is at `index`. */
bool lze_is_error(lua_State *L, int index);
/* If the value on the top of the stack is an error object without a position,
   adds the position of the running function's call. */
void lze_error_locate(lua_State *L);

/* Returns the name of an errno value, such as "ENOENT", to be used as an error
   code. */
const char *lze_errno_name(int error);

/* lua/array.lua represents an array by a table that no script sees. A script
   holds a userdata of lze_array_kind whose user value is that table. The
   registry holds the tables' metatable under the address of lze_array_key and
   the userdata's under lze_array_kind. */
extern const char lze_array_key;
/* Returns true if an array is at `index`, as its table or its userdata. */
bool lze_is_array(lua_State *L, int index);
/* Pushes a field of the array at `index` and returns the field's type. [-0,
   +1] */
int lze_array_get(lua_State *L, int index, const char *field);
/* Returns true if a table that is not an array is at `index`. */
bool lze_is_table(lua_State *L, int index);

/* Pushes and returns a description of a value for messages: "integer 3",
   "string 'abc'", "buffer of float" ... [-0, +1] */
const char *lze_describe(lua_State *L, int index);

/* Returns an argument that must be a number with an exact integer value. */
lua_Integer lze_check_integer(lua_State *L, int arg, const char *name);
lua_Integer lze_check_integer_or(lua_State *L, int arg, const char *name,
                                 lua_Integer otherwise);

/* Reads a time-out in seconds at `arg`; nothing or nil means forever. Returns
   when it expires, as a value of lze_now_ns, or UINT64_MAX for never. */
uint64_t lze_check_deadline(lua_State *L, int arg);

/* Runs a pending debug hook (Ctrl-C in lua5.4 sets one); if a coroutine has no
   hook, runs the main thread's. Returns LUA_OK, or the status of an error that
   is then on the stack, which the caller must raise with lua_error after
   cleaning up. */
int lze_run_hook(lua_State *L);
/* The same for callers that have the lze_State, such as polling waits. */
int lze_run_hook_of(lua_State *L, lze_State *S);

/* Creates the metatable of error objects. [-0, +0] */
void lze_open_error(lua_State *L);

#endif
