/*
 * zocl_ipc.c - memory and event pools shared with other processes.
 * SPDX-License-Identifier: MIT
 *
 * Processes share only files (zocl_file.c).  Opened memory stays valid after
 * its creator frees it or ends.  After that, it can no longer be opened.
 */
#include "run/zocl_event.h"
#include "ext/zocl_ext.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Map a part of a file as memory of `type`.  Takes over the reference to the
   file. */
static ze_result_t file_allocate(zocl_context *context, zocl_device *device,
                                 ze_memory_type_t type, zocl_origin origin,
                                 zocl_file *file, uint64_t offset,
                                 size_t size, void **pointer)
{
  ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  void *memory = zocl_file_map(file, offset, size, PROT_READ | PROT_WRITE,
                               NULL);
  zocl_allocation *made = malloc(sizeof *made);
  if (memory != NULL && made != NULL) {
    *made = (zocl_allocation){.base = memory,
                              .size = size,
                              .type = type,
                              .origin = origin,
                              .driver = context->driver,
                              .context = context,
                              .device = type == ZE_MEMORY_TYPE_HOST ? NULL
                                                                    : device,
                              .file = file,
                              .file_offset = offset};
    result = zocl_memory_add(made);
  }
  if (result == ZE_RESULT_SUCCESS) {
    *pointer = memory;
    return result;
  }
  if (memory != NULL) munmap(memory, zocl_file_pages(size));
  free(made);
  zocl_file_unref(file);
  return zocl_fail(result, "no address space for %zu bytes", size);
}

/* ------------------------------------------------------------------------
 * Memory.
 */

/* Create an allocation on the file that `import` names. */
static ze_result_t memory_import(zocl_context *context, zocl_device *device,
                                 ze_memory_type_t type,
                                 const ze_external_memory_import_fd_t *import,
                                 size_t size, void **pointer)
{
  zocl_file *file = zocl_file_open(import->fd);
  if (file == NULL) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_file_info info = zocl_file_is(file);
  if (info.kind != ZOCL_FILE_EVENTS && size <= info.size)
    return file_allocate(context, device, type, ZOCL_IMPORTED, file, 0, size,
                         pointer);
  zocl_file_unref(file);
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "descriptor %d is not of %zu bytes of memory", import->fd,
                   size);
}

/* Export the file of an allocation. */
static ze_result_t memory_export(zocl_context *context, const void *pointer,
                                 ze_external_memory_export_fd_t *export)
{
  const uint32_t known = ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD |
                         ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
  zocl_allocation found;
  if (export->flags & ~known)
    return zocl_error(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
  ze_result_t result = zocl_memory_share(context, pointer, &found);
  if (result != ZE_RESULT_SUCCESS) return result;
  export->fd = zocl_file_descriptor(found.file);
  zocl_file_unref(found.file); /* the allocation has another reference */
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_MemGetIpcHandle(ze_context_handle_t context,
                                 const void *pointer,
                                 ze_ipc_mem_handle_t *handle)
{
  zocl_allocation found;
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  ZOCL_NEED_POINTER(handle);
  zocl_file *physical = zocl_physical_file(pointer);
  if (physical != NULL) {
    zocl_file_handle(physical, zocl_file_descriptor(physical), 0,
                     zocl_file_is(physical).size, handle->data);
    zocl_file_unref(physical); /* the object has another reference */
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t result = zocl_memory_share(context, pointer, &found);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_file_handle(found.file, zocl_file_descriptor(found.file),
                   found.file_offset, found.size, handle->data);
  zocl_file_unref(found.file); /* the allocation has another reference */
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_MemGetIpcHandleWithProperties(ze_context_handle_t context,
                                               const void *pointer,
                                               void *extensions,
                                               ze_ipc_mem_handle_t *handle)
{
  enum { HANDLE_TYPE_DESC = 0x2003d, TYPE_FABRIC = 2, TYPES = 3 };
  for (zocl_handle_type_desc *next = extensions; next != NULL;
       next = next->pNext) {
    if (next->stype != (ze_structure_type_t)HANDLE_TYPE_DESC) continue;
    if (next->types & ~(uint32_t)TYPES)
      return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
    if (next->types & TYPE_FABRIC)
      return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "there is no fabric to share memory over");
  }
  return zocl_MemGetIpcHandle(context, pointer, handle);
}

/* A handle holds no resource that must be released: the allocation retains the
   file. */
ze_result_t zocl_MemPutIpcHandle(ze_context_handle_t context,
                                 ze_ipc_mem_handle_t handle)
{
  ZOCL_NEED_HANDLE(context);
  return zocl_file_handle_descriptor(handle.data) >= 0
             ? ZE_RESULT_SUCCESS
             : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t zocl_MemOpenIpcHandle(ze_context_handle_t context,
                                  ze_device_handle_t device,
                                  ze_ipc_mem_handle_t handle,
                                  ze_ipc_memory_flags_t flags, void **pointer)
{
  const uint32_t known =
      ZE_IPC_MEMORY_FLAG_BIAS_CACHED | ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED;
  uint64_t offset, size;
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(pointer);
  if (flags & ~known) return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (!zocl_memory_has_files(context->driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  zocl_file *file = zocl_file_of_handle(handle.data, &offset, &size);
  if (file == NULL) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  uint32_t kind = zocl_file_is(file).kind;
  if (kind == ZE_MEMORY_TYPE_HOST || kind == ZE_MEMORY_TYPE_DEVICE ||
      kind == ZE_MEMORY_TYPE_SHARED)
    return file_allocate(context, device, (ze_memory_type_t)kind, ZOCL_OPENED,
                         file, offset, (size_t)size, pointer);
  zocl_file_unref(file);
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "the handle is not of memory");
}

ze_result_t zocl_MemCloseIpcHandle(ze_context_handle_t context,
                                   const void *pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  return zocl_memory_close(context, (void *)(uintptr_t)pointer);
}

ze_result_t zocl_MemGetIpcHandleFromFileDescriptorExp(
    ze_context_handle_t context, uint64_t descriptor,
    ze_ipc_mem_handle_t *handle)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(handle);
  if (descriptor > INT32_MAX)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%llu is not a descriptor",
                     (unsigned long long)descriptor);
  zocl_file *file = zocl_file_open((int)descriptor);
  if (file == NULL) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_file_handle(file, (int)descriptor, 0, zocl_file_is(file).size,
                   handle->data);
  zocl_file_unref(file);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_MemGetFileDescriptorFromIpcHandleExp(
    ze_context_handle_t context, ze_ipc_mem_handle_t handle,
    uint64_t *descriptor)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(descriptor);
  int found = zocl_file_handle_descriptor(handle.data);
  if (found < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *descriptor = (uint64_t)found;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Event pools.
 */

ze_result_t zocl_EventPoolGetIpcHandle(ze_event_pool_handle_t pool,
                                       ze_ipc_event_pool_handle_t *handle)
{
  ZOCL_NEED_HANDLE(pool);
  ZOCL_NEED_POINTER(handle);
  if (pool->shared == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the pool has counter-based events, or was not created "
                     "with ZE_EVENT_POOL_FLAG_IPC");
  const zocl_file *file = zocl_states_file(pool->shared);
  zocl_file_handle(file, zocl_file_descriptor(file), 0,
                   zocl_file_is(file).size, handle->data);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventPoolPutIpcHandle(ze_context_handle_t context,
                                       ze_ipc_event_pool_handle_t handle)
{
  ZOCL_NEED_HANDLE(context);
  return zocl_file_handle_descriptor(handle.data) >= 0
             ? ZE_RESULT_SUCCESS
             : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t zocl_EventPoolOpenIpcHandle(ze_context_handle_t context,
                                        ze_ipc_event_pool_handle_t handle,
                                        ze_event_pool_handle_t *pool)
{
  uint64_t offset, size;
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pool);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  zocl_file *file = zocl_file_of_handle(handle.data, &offset, &size);
  if (file == NULL) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_file_info info = zocl_file_is(file);
  if (info.kind != ZOCL_FILE_EVENTS || offset != 0 || info.count == 0 ||
      info.count > UINT32_MAX || size < zocl_states_bytes(info.count)) {
    zocl_file_unref(file);
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the handle is not of an event pool");
  }
  zocl_states *states = zocl_states_open(file);
  zocl_event_pool *made = zocl_handle_new(sizeof *made);
  if (states == NULL || made == NULL) {
    zocl_states_unref(states);
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  made->context = context;
  made->flags = info.flags;
  made->count = (uint32_t)info.count;
  made->shared = states;
  made->opened = true;
  *pool = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventPoolCloseIpcHandle(ze_event_pool_handle_t pool)
{
  ZOCL_NEED_HANDLE(pool);
  if (!pool->opened)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the pool is not one that was opened");
  zocl_states_unref(pool->shared);
  free(pool);
  return ZE_RESULT_SUCCESS;
}

void zocl_ipc_hook(zocl_hook *hook)
{
  hook->memory_import = memory_import;
  hook->memory_export = memory_export;
}
