/*
 * zocl_intel.c - functions that Intel's driver adds to the specification.
 * SPDX-License-Identifier: MIT
 *
 * Programs look them up by name (zeDriverGetExtensionFunctionAddress).
 */
#include "memory/zocl_memory.h"
#include "module/zocl_kernel.h"
#include "ext/zocl_ext.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------
 * IPC handles of memory: Intel's driver may need several, lze needs one.
 */

ze_result_t zocl_MemGetIpcHandles(ze_context_handle_t context,
                                  const void *pointer, uint32_t *count,
                                  ze_ipc_mem_handle_t *handles)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, 1) || handles == NULL) return ZE_RESULT_SUCCESS;
  return zocl_MemGetIpcHandle(context, pointer, handles);
}

/* Returns true if a handle contains only a descriptor: some programs pass only
   the descriptor through a socket. */
static bool is_descriptor(const ze_ipc_mem_handle_t *handle)
{
  static const char zeros[sizeof handle->data - sizeof(int)];
  return memcmp(handle->data + sizeof(int), zeros, sizeof zeros) == 0;
}

ze_result_t zocl_MemOpenIpcHandles(ze_context_handle_t context,
                                   ze_device_handle_t device, uint32_t count,
                                   ze_ipc_mem_handle_t *handles,
                                   ze_ipc_memory_flags_t flags, void **pointer)
{
  ZOCL_NEED_POINTER(handles);
  if (count != 1)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%u handles: an allocation has one", count);
  ze_ipc_mem_handle_t handle = *handles;
  if (is_descriptor(&handle)) {
    int descriptor;
    memcpy(&descriptor, handle.data, sizeof descriptor);
    ze_result_t result = zocl_MemGetIpcHandleFromFileDescriptorExp(
        context, (uint32_t)descriptor, &handle);
    if (result != ZE_RESULT_SUCCESS) return result;
  }
  return zocl_MemOpenIpcHandle(context, device, handle, flags, pointer);
}

/* ------------------------------------------------------------------------
 * Imported host memory.  If kernels accept any pointer, nothing must be done,
 * so the range is only recorded.
 */

typedef struct imported {
  char *base;
  size_t size;
  struct imported *next;
} imported;

static struct {
  pthread_mutex_t lock;
  imported *first;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

ze_result_t zocl_DriverImportExternalPointer(ze_driver_handle_t driver,
                                             void *pointer, size_t size)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(pointer);
  if (size == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  if (!driver->memory->any_pointer)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "kernels take only memory of the driver");
  imported *made = malloc(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  pthread_mutex_lock(&host.lock);
  *made = (imported){pointer, size, host.first};
  host.first = made;
  pthread_mutex_unlock(&host.lock);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DriverReleaseImportedPointer(ze_driver_handle_t driver,
                                              void *pointer)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(pointer);
  pthread_mutex_lock(&host.lock);
  imported **link = &host.first;
  while (*link != NULL && (*link)->base != pointer) link = &(*link)->next;
  imported *found = *link;
  if (found != NULL) *link = found->next;
  pthread_mutex_unlock(&host.lock);
  free(found);
  return found != NULL ? ZE_RESULT_SUCCESS
                       : zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                                   "%p is not imported", pointer);
}

ze_result_t zocl_DriverGetHostPointerBaseAddress(ze_driver_handle_t driver,
                                                 void *pointer, void **base)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(pointer);
  const char *at = pointer;
  pthread_mutex_lock(&host.lock);
  const imported *i = host.first;
  while (i != NULL && !(at >= i->base && (size_t)(at - i->base) < i->size))
    i = i->next;
  if (i != NULL && base != NULL) *base = i->base;
  pthread_mutex_unlock(&host.lock);
  return i != NULL ? ZE_RESULT_SUCCESS
                   : zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                               "%p is not in imported memory", pointer);
}

/* ------------------------------------------------------------------------
 * The module of a kernel and the device of a module.
 */

ze_result_t zocl_KernelGetModuleHandleExt(ze_kernel_handle_t kernel,
                                          ze_module_handle_t *module)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(module);
  *module = kernel->module;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleGetDeviceHandleExt(ze_module_handle_t module,
                                          ze_device_handle_t *device)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(device);
  *device = module->device;
  return ZE_RESULT_SUCCESS;
}
