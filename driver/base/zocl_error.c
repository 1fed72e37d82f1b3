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
    {ZE_RESULT_ERROR_UNINITIALIZED, "OpenCL does not survive fork"},
    {ZE_RESULT_ERROR_DEVICE_LOST, "OpenCL does not survive fork"},
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

ze_result_t zocl_cl_error(cl_int error, const char *call)
{
  static const struct {
    cl_int error;
    ze_result_t result;
    const char *name;
  } known[] = {
    {CL_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
     "CL_OUT_OF_HOST_MEMORY"},
    {CL_OUT_OF_RESOURCES, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
     "CL_OUT_OF_RESOURCES"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
     "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_INVALID_BUFFER_SIZE, ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
     "CL_INVALID_BUFFER_SIZE"},
    {CL_INVALID_IMAGE_SIZE, ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
     "CL_INVALID_IMAGE_SIZE"},
    {CL_INVALID_WORK_GROUP_SIZE, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
     "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_WORK_ITEM_SIZE, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
     "CL_INVALID_WORK_ITEM_SIZE"},
    {CL_INVALID_GLOBAL_WORK_SIZE,
     ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
     "CL_INVALID_GLOBAL_WORK_SIZE"},
    {CL_INVALID_KERNEL_ARGS, ZE_RESULT_ERROR_INVALID_ARGUMENT,
     "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_ARG_SIZE, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
     "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_NAME, ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
     "CL_INVALID_KERNEL_NAME"},
    {CL_MEM_COPY_OVERLAP, ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
     "CL_MEM_COPY_OVERLAP"},
    {CL_DEVICE_NOT_AVAILABLE, ZE_RESULT_ERROR_DEVICE_LOST,
     "CL_DEVICE_NOT_AVAILABLE"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].error == error)
      return zocl_fail(known[i].result, "%s: %s", call, known[i].name);
  return zocl_fail(ZE_RESULT_ERROR_UNKNOWN, "%s: OpenCL error %d", call,
                   (int)error);
}

const char *zocl_last_error_take(void)
{
  static _Thread_local char taken[sizeof last_error];
  memcpy(taken, last_error, sizeof taken);
  last_error[0] = '\0';
  return taken;
}
