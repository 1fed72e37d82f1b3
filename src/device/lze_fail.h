/*
 * lze_fail.h - Level Zero failures as error objects.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_FAIL_H
#define LZE_FAIL_H

#include "base/lze_base.h"

/* Returns "ERROR_DEVICE_LOST" and so on, or NULL for an unknown code. */
const char *lze_result_name(ze_result_t result);

/* Raises an error object, or a plain "not enough memory" if `call` is NULL.
   `object` names the affected object ("kernel saxpy") or is NULL, `call` is
   the entry point or tool, `log` a build log or NULL. The remaining arguments
   are the message as for lua_pushfstring. If `format` is NULL, the message is
   the driver's own last description, or else a sentence for the code. */
int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) __attribute__((noreturn));

#endif
