/*
 * zocl_atomic.c - which atomic operations a program wants on shared memory.
 * SPDX-License-Identifier: MIT
 *
 * They work everywhere or nowhere on a device, whatever was asked for; so this
 * refuses what cannot be had and remembers the rest.
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

/* What was asked for last for a device and some bytes of an allocation; of no
   allocation where `id` is 0. */
typedef struct wish {
  zocl_device *device;
  uint64_t id;
  const char *begin, *end;
  uint32_t flags;
} wish;

static struct {
  pthread_mutex_t lock;
  wish *list;            /* the newest last */
  size_t count, room;
} wishes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The memory that a wish is about, or the error.  The wish's own range and
   allocation are filled in. */
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

/* Forget what is about memory that is gone, or that `new` is about.  The
   lock is held. */
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

/* Of a range that is in none for which something was asked, the default: 0. */
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
