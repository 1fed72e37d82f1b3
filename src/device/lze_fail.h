/*
 * lze_fail.h - failures of Level Zero as error objects.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_FAIL_H
#define LZE_FAIL_H

#include "base/lze_base.h"

/* "ERROR_DEVICE_LOST" and so on, or NULL for a code unknown to lze. */
const char *lze_result_name(ze_result_t result);

/* Raise an error object, or a plain "not enough memory" where `call` is NULL.
   `object` names what it is about ("kernel saxpy") or is NULL, `call` is the
   entry point or tool, `log` a build log or NULL; the rest is the message as
   for lua_pushfstring (NULL: a sentence made from the code and, where it has
   one, the driver's own last description). */
int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) __attribute__((noreturn));

#endif
