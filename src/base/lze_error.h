/*
 * lze_error.h - error objects and argument errors, and hooks that interrupt.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_ERROR_H
#define LZE_ERROR_H

#include "base/lze_base.h"

/* "ERROR_DEVICE_LOST" and so on, or NULL for a code unknown to lze. */
const char *lze_result_name(ze_result_t result);

/* Raise an error object, or a plain "not enough memory" where `call` is NULL.
   `object` names what it is about ("kernel saxpy")
   or is NULL, `call` is the entry point or tool, `log` a build log or NULL;
   the rest is the message as for lua_pushfstring (NULL: a sentence made from
   the code and, where it has one, the driver's own last description). */
int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) __attribute__((noreturn));

/* Raise "not enough memory": what malloc has not, not the device. */
int lze_no_memory(lua_State *L) __attribute__((noreturn));
/* The same unless `good`. */
void lze_check_memory(lua_State *L, bool good);

/* As lze_fail for failures that are not Level Zero's: `code` is a word. */
int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format, ...)
    __attribute__((noreturn));

/* Where the value on the top of the stack is an error object without a
   position, give it that of the running function's call. */
void lze_error_locate(lua_State *L);

/* A number of errno as its name, "ENOENT", for such a code. */
const char *lze_errno_name(int error);

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
   for a coroutine that has none.  Returns LUA_OK,
   or the status of an error that is then on the stack, to be raised with
   lua_error after cleaning up. */
int lze_run_hook(lua_State *L);

#endif
