/*
 * zocl_context.c - contexts, which are names: devices share all their memory.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_device.h"

#include <stdlib.h>

ze_result_t zocl_ContextCreate(ze_driver_handle_t driver,
                               const ze_context_desc_t *desc,
                               ze_context_handle_t *context)
{
  return zocl_ContextCreateEx(driver, desc, 0, NULL, context);
}

/* All devices of a driver are visible from each context, whichever devices the
   caller lists, because they share host memory. */
ze_result_t zocl_ContextCreateEx(ze_driver_handle_t driver,
                                 const ze_context_desc_t *desc, uint32_t count,
                                 ze_device_handle_t *devices,
                                 ze_context_handle_t *context)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(context);
  if (desc->flags & ~(ze_context_flags_t)0x1)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (devices == NULL && count > 0)
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < count; i++)
    if (devices[i] == NULL || devices[i]->driver != driver)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "device %u is not one of this driver", i);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  zocl_context *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->driver = driver;
  *context = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ContextDestroy(ze_context_handle_t context)
{
  ZOCL_NEED_HANDLE(context);
  if (context == context->driver->default_context)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the default context belongs to the driver");
  free(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ContextGetStatus(ze_context_handle_t context)
{
  ZOCL_NEED_HANDLE(context);
  return zocl_forked() ? zocl_error(ZE_RESULT_ERROR_DEVICE_LOST)
                       : ZE_RESULT_SUCCESS;
}

/* A CPU keeps its memory coherent, so nothing needs to be flushed. */
ze_result_t zocl_ContextSystemBarrier(ze_context_handle_t context,
                                      ze_device_handle_t device)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  atomic_thread_fence(memory_order_seq_cst);
  return ZE_RESULT_SUCCESS;
}

/* Host memory is always resident. */
ze_result_t zocl_ContextMakeMemoryResident(ze_context_handle_t context,
                                           ze_device_handle_t device,
                                           void *memory, size_t size)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(memory);
  return size > 0 ? ZE_RESULT_SUCCESS
                  : zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
}

ze_result_t zocl_ContextEvictMemory(ze_context_handle_t context,
                                    ze_device_handle_t device, void *memory,
                                    size_t size)
{
  return zocl_ContextMakeMemoryResident(context, device, memory, size);
}
