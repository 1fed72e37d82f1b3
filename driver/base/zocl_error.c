/*
 * zocl_error.c - error descriptions, stored per thread.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[512];

ze_result_t zocl_fail(ze_result_t result, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(last_error, sizeof last_error, format, args);
  va_end(args);
  return result;
}

ze_result_t zocl_error(ze_result_t result)
{
  static const struct {
    ze_result_t result;
    const char *text;
  } known[] = {
    {ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle is null"},
    {ZE_RESULT_ERROR_INVALID_NULL_POINTER, "a pointer is null"},
    {ZE_RESULT_ERROR_INVALID_ENUMERATION, "an enumerator or flag is unknown"},
    {ZE_RESULT_ERROR_INVALID_SIZE, "a size or count is not possible"},
    {ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "a size is not possible"},
    {ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "a range is empty"},
    {ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "not supported"},
    {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "out of memory"},
    {ZE_RESULT_ERROR_UNINITIALIZED, "the driver does not survive fork"},
    {ZE_RESULT_ERROR_DEVICE_LOST, "the driver does not survive fork"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].result == result)
      return zocl_fail(result, "%s", known[i].text);
  return zocl_fail(result, "error 0x%x", (unsigned)result);
}

const char *zocl_last_error(void)
{
  return last_error;
}

const char *zocl_last_error_take(void)
{
  static _Thread_local char taken[sizeof last_error];
  memcpy(taken, last_error, sizeof taken);
  last_error[0] = '\0';
  return taken;
}
