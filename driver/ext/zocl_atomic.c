/*
 * zocl_atomic.c - which atomic operations a program wants on shared memory.
 * SPDX-License-Identifier: MIT
 *
 * On a device, atomic operations work either everywhere or nowhere, independent
 * of these attributes.  So this file rejects the operations that the device
 * does not have and stores the attributes for queries.
 */
#include "base/zocl_device.h"
#include "memory/zocl_memory.h"

#include <stdlib.h>

/* ze_memory_atomic_attr_exp_flag_t (1.7). */
enum {
  HOST_ATOMICS = 1 << 2,
  DEVICE_ATOMICS = 1 << 4,
  SYSTEM_ATOMICS = 1 << 6,
  ALL_FLAGS = 0x7f
};

/* The last request for a device and a part of an allocation.  `id` is 0 if the
   memory is not an allocation. */
typedef struct wish {
  zocl_device *device;
  uint64_t id;
  const char *begin, *end;
  uint32_t flags;
} wish;

static struct {
  pthread_mutex_t lock;
  wish *list;            /* the newest is last */
  size_t count, room;
} wishes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Fill in the range and the allocation of a wish, and which operations the
   device supports there, or return an error. */
static ze_result_t wish_find(wish *w, zocl_device *device,
                             const void *pointer, size_t size,
                             ze_memory_access_cap_flags_t *can)
{
  ze_device_memory_access_properties_t access = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  zocl_memory_find(pointer, &type);
  zocl_DeviceGetMemoryAccessProperties(device, &access);
  *can = type == ZE_MEMORY_TYPE_SHARED
             ? access.sharedSingleDeviceAllocCapabilities
         : type == ZE_MEMORY_TYPE_UNKNOWN
             ? access.sharedSystemAllocCapabilities
             : 0;
  *w = (wish){device, zocl_memory_id(pointer), pointer,
              (const char *)pointer + size, 0};
  if (*can == 0 || size == 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%zu bytes at %p are not shared memory", size, pointer);
  return ZE_RESULT_SUCCESS;
}

/* Remove wishes for memory that has been freed or that `new` covers.  The lock
   is held. */
static void wishes_prune(const wish *new)
{
  size_t kept = 0;
  for (size_t i = 0; i < wishes.count; i++) {
    const wish *w = &wishes.list[i];
    bool covered = w->device == new->device && w->begin >= new->begin &&
                   w->end <= new->end;
    if (!covered && zocl_memory_id(w->begin) == w->id)
      wishes.list[kept++] = *w;
  }
  wishes.count = kept;
}

ze_result_t zocl_MemSetAtomicAccessAttributeExp(ze_context_handle_t context,
                                                ze_device_handle_t device,
                                                const void *pointer,
                                                size_t size, uint32_t flags)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(pointer);
  if (flags & ~(uint32_t)ALL_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  ze_memory_access_cap_flags_t can;
  wish w;
  ze_result_t result = wish_find(&w, device, pointer, size, &can);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (((flags & (HOST_ATOMICS | DEVICE_ATOMICS)) != 0 &&
       !(can & ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC)) ||
      ((flags & SYSTEM_ATOMICS) != 0 &&
       !(can & ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC)))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the device has no such atomic operations there");
  w.flags = flags;
  pthread_mutex_lock(&wishes.lock);
  wishes_prune(&w);
  if (wishes.count == wishes.room) {
    size_t room = 2 * wishes.room + 8;
    wish *more = realloc(wishes.list, room * sizeof *more);
    if (more != NULL) {
      wishes.list = more;
      wishes.room = room;
    }
  }
  if (wishes.count < wishes.room)
    wishes.list[wishes.count++] = w;
  else
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  pthread_mutex_unlock(&wishes.lock);
  return result;
}

/* *flags is 0, the default, if no request covers the range. */
ze_result_t zocl_MemGetAtomicAccessAttributeExp(ze_context_handle_t context,
                                                ze_device_handle_t device,
                                                const void *pointer,
                                                size_t size, uint32_t *flags)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(pointer);
  ZOCL_NEED_POINTER(flags);
  ze_memory_access_cap_flags_t can;
  wish w;
  ze_result_t result = wish_find(&w, device, pointer, size, &can);
  if (result != ZE_RESULT_SUCCESS) return result;
  *flags = 0;
  pthread_mutex_lock(&wishes.lock);
  for (size_t i = wishes.count; i-- > 0;) {
    const wish *made = &wishes.list[i];
    if (made->device != w.device || made->id != w.id ||
        made->begin > w.begin || made->end < w.end)
      continue;
    *flags = made->flags;
    break;
  }
  pthread_mutex_unlock(&wishes.lock);
  return ZE_RESULT_SUCCESS;
}
