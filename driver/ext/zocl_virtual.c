/*
 * zocl_virtual.c - reserved addresses, and physical memory mapped there.
 * SPDX-License-Identifier: MIT
 *
 * A reservation is address space without access.  Physical memory is a file,
 * which can be mapped in several places and shared with other processes.
 */
#include "memory/zocl_memory.h"
#include "ext/zocl_ext.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct _ze_physical_mem_handle_t {
  zocl_handle handle;
  const zocl_context *context; /* only compared */
  zocl_device *device; /* NULL for host memory */
  zocl_file *file;
  uint64_t id, size;
  zocl_physical *next;
};

/* A mapping in a reservation; mappings are in the order of their addresses. */
typedef struct mapping {
  zocl_allocation a;   /* its `next` is not used */
  ze_memory_access_attribute_t access;
  struct mapping *next;
} mapping;

typedef struct reservation {
  const zocl_context *context; /* only compared */
  char *base;
  size_t size;
  mapping *first;
} reservation;

static struct {
  pthread_mutex_t lock;
  void *root;          /* tree of reservations, which do not overlap */
  zocl_physical *first;
  uint64_t last_id;
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int protection(ze_memory_access_attribute_t access)
{
  return access == ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
             ? PROT_READ | PROT_WRITE
         : access == ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY ? PROT_READ
                                                         : PROT_NONE;
}

/* Reserve addresses without memory, preferably at `at` unless it is NULL. */
static void *reserve(void *at, size_t size, int flags)
{
  flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  /* cppcheck-suppress invalidFunctionArg ; the mapping has no file */
  void *base = mmap(at, size, PROT_NONE, flags, -1, 0);
  if (base == MAP_FAILED) return NULL;
  /* cppcheck-suppress memleak ; the caller unmaps it */
  return base;
}

static ze_result_t size_check(uint64_t size)
{
  if (size > 0 && size % ZOCL_PAGE_BYTES == 0) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                   "%llu bytes are not whole pages of %d",
                   (unsigned long long)size, ZOCL_PAGE_BYTES);
}

static ze_result_t place_check(const char *what, uint64_t place)
{
  if (place % ZOCL_PAGE_BYTES == 0) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                   "%s 0x%llx does not begin a page of %d bytes", what,
                   (unsigned long long)place, ZOCL_PAGE_BYTES);
}

/* ------------------------------------------------------------------------
 * Reservations.
 */

static int reservation_order(const void *left, const void *right)
{
  const reservation *a = left, *b = right;
  if (a->base + a->size <= b->base) return -1;
  if (b->base + b->size <= a->base) return 1;
  return 0;
}

/* Lock and find the reservation that contains a range; unlock on failure. */
static ze_result_t range_lock(ze_context_handle_t context, const void *pointer,
                              size_t size, reservation **found)
{
  reservation key = {.size = 1};
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  ze_result_t result = size_check(size);
  if (result == ZE_RESULT_SUCCESS)
    result = place_check("address", (uintptr_t)pointer);
  if (result != ZE_RESULT_SUCCESS) return result;
  memcpy(&key.base, &pointer, sizeof pointer);
  pthread_mutex_lock(&space.lock);
  void *node = tfind(&key, &space.root, reservation_order);
  reservation *r = *found = node != NULL ? *(reservation **)node : NULL;
  if (r != NULL && r->context == context &&
      size <= r->size - (size_t)(key.base - r->base))
    return ZE_RESULT_SUCCESS;
  pthread_mutex_unlock(&space.lock);
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "%zu bytes from %p are not within one reservation of this "
                   "context", size, pointer);
}

/* If a mapping begins before `place` and ends after it, cut it in two. */
static ze_result_t mapping_cut(reservation *r, const char *place)
{
  mapping *m = r->first;
  while (m != NULL && m->a.base + m->a.size <= place) m = m->next;
  if (m == NULL || m->a.base >= place) return ZE_RESULT_SUCCESS;
  mapping *rest = malloc(sizeof *rest);
  if (rest == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  size_t all = m->a.size, head = (size_t)(place - m->a.base);
  *rest = *m;
  rest->a.base += head;
  rest->a.size -= head;
  rest->a.file_offset += head;
  zocl_memory_resize(&m->a, head);
  ze_result_t result = zocl_memory_add(&rest->a);
  if (result != ZE_RESULT_SUCCESS) {
    zocl_memory_resize(&m->a, all);
    free(rest);
    return result;
  }
  zocl_file_ref(rest->a.file);
  m->next = rest;
  return ZE_RESULT_SUCCESS;
}

/* Cut mappings so that they begin and end at the limits of a range. */
static ze_result_t range_cut(reservation *r, const char *base, size_t size)
{
  ze_result_t result = mapping_cut(r, base);
  return result == ZE_RESULT_SUCCESS ? mapping_cut(r, base + size) : result;
}

/* Forget the mappings in a range that has been unmapped already. */
static void range_forget(reservation *r, const char *base, size_t size)
{
  for (mapping **link = &r->first; *link != NULL;) {
    mapping *m = *link;
    if (m->a.base < base || m->a.base >= base + size) {
      link = &m->next;
      continue;
    }
    *link = m->next;
    zocl_memory_remove(&m->a);
    zocl_file_unref(m->a.file);
    free(m);
  }
}

ze_result_t zocl_VirtualMemReserve(ze_context_handle_t context,
                                   const void *start, size_t size,
                                   void **pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (!zocl_memory_has_files(context->driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  ze_result_t result = size_check(size);
  if (result != ZE_RESULT_SUCCESS) return result;
  reservation *made = calloc(1, sizeof *made);
  /* If `start` is taken, the system chooses another place. */
  void *base = made != NULL ? reserve((void *)(uintptr_t)start, size, 0) : NULL;
  if (base == NULL) {
    free(made);
    return zocl_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                     "no address space for %zu bytes", size);
  }
  *made = (reservation){.context = context, .base = base, .size = size};
  pthread_mutex_lock(&space.lock);
  void *node = tsearch(made, &space.root, reservation_order);
  pthread_mutex_unlock(&space.lock);
  if (node == NULL) {
    munmap(base, size);
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  *pointer = base;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_VirtualMemFree(ze_context_handle_t context,
                                const void *pointer, size_t size)
{
  reservation *r;
  ze_result_t result = range_lock(context, pointer, size, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (r->base != pointer || r->size != size) {
    pthread_mutex_unlock(&space.lock);
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%zu bytes from %p are only a part of what was reserved",
                     size, pointer);
  }
  range_forget(r, r->base, size);
  tdelete(r, &space.root, reservation_order);
  munmap(r->base, size);
  pthread_mutex_unlock(&space.lock);
  free(r);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_VirtualMemQueryPageSize(ze_context_handle_t context,
                                         ze_device_handle_t device,
                                         size_t size, size_t *page)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(page);
  if (!zocl_memory_has_files(context->driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  (void)size; /* all sizes have the same pages */
  *page = ZOCL_PAGE_BYTES;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_VirtualMemMap(ze_context_handle_t context,
                               const void *pointer, size_t size,
                               ze_physical_mem_handle_t physical,
                               size_t offset,
                               ze_memory_access_attribute_t access)
{
  reservation *r;
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(physical);
  ZOCL_NEED_POINTER(pointer);
  if ((unsigned)access > ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  ze_result_t result = place_check("offset", offset);
  if (result != ZE_RESULT_SUCCESS) return result;
  result = range_lock(context, pointer, size, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  char *base = r->base + ((const char *)pointer - r->base);
  mapping **link = &r->first, *made = NULL;
  while (*link != NULL && (*link)->a.base < base) {
    if ((*link)->a.base + (*link)->a.size > base) break;
    link = &(*link)->next;
  }
  if (physical->context != context)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%p is not physical memory of this context",
                       (void *)physical);
  else if (offset > physical->size || size > physical->size - offset)
    result = zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                       "%zu bytes from byte %zu on of physical memory of %llu",
                       size, offset, (unsigned long long)physical->size);
  else if (*link != NULL && (*link)->a.base < base + size)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "there is memory mapped at %p already",
                       (void *)(*link)->a.base);
  else if ((made = malloc(sizeof *made)) == NULL ||
           zocl_file_map(physical->file, offset, size, protection(access),
                         base) == NULL)
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  else {
    *made = (mapping){
      .a = {.base = base,
            .size = size,
            .type = physical->device != NULL ? ZE_MEMORY_TYPE_DEVICE
                                             : ZE_MEMORY_TYPE_HOST,
            .origin = ZOCL_MAPPED,
            .driver = context->driver,
            .context = context,
            .device = physical->device,
            .file = physical->file,
            .file_offset = offset},
      .access = access};
    result = zocl_memory_add(&made->a);
    if (result == ZE_RESULT_SUCCESS) {
      zocl_file_ref(physical->file);
      made->next = *link;
      *link = made;
    } else
      reserve(base, size, MAP_FIXED);
  }
  pthread_mutex_unlock(&space.lock);
  if (result != ZE_RESULT_SUCCESS) free(made);
  return result;
}

ze_result_t zocl_VirtualMemUnmap(ze_context_handle_t context,
                                 const void *pointer, size_t size)
{
  reservation *r;
  ze_result_t result = range_lock(context, pointer, size, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  char *base = r->base + ((const char *)pointer - r->base);
  result = range_cut(r, base, size);
  if (result == ZE_RESULT_SUCCESS && reserve(base, size, MAP_FIXED) == NULL)
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  if (result == ZE_RESULT_SUCCESS) range_forget(r, base, size);
  pthread_mutex_unlock(&space.lock);
  return result;
}

/* Returns the number of bytes from `base` on, at most `size`, that share one
   access attribute, and sets *access to it.  Unmapped addresses have no
   access. */
static size_t access_run(const reservation *r, const char *base, size_t size,
                         ze_memory_access_attribute_t *access)
{
  const char *at = base, *end = base + size;
  const mapping *m = r->first;
  while (m != NULL && m->a.base + m->a.size <= base) m = m->next;
  while (at < end) {
    bool mapped = m != NULL && m->a.base <= at;
    ze_memory_access_attribute_t here =
        mapped ? m->access : ZE_MEMORY_ACCESS_ATTRIBUTE_NONE;
    if (at == base)
      *access = here;
    else if (here != *access)
      break;
    if (mapped) {
      at = m->a.base + m->a.size;
      m = m->next;
    } else
      at = m != NULL ? m->a.base : end;
  }
  return at < end ? (size_t)(at - base) : size;
}

/* Unmapped addresses stay inaccessible; a later mapping there brings its own
   attribute. */
ze_result_t zocl_VirtualMemSetAccessAttribute(
    ze_context_handle_t context, const void *pointer, size_t size,
    ze_memory_access_attribute_t access)
{
  reservation *r;
  if ((unsigned)access > ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  ze_result_t result = range_lock(context, pointer, size, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  char *base = r->base + ((const char *)pointer - r->base);
  result = range_cut(r, base, size);
  for (mapping *m = r->first; result == ZE_RESULT_SUCCESS && m != NULL;
       m = m->next)
    if (m->a.base >= base && m->a.base < base + size) {
      if (mprotect(m->a.base, m->a.size, protection(access)) == 0)
        m->access = access;
      else
        result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    }
  pthread_mutex_unlock(&space.lock);
  return result;
}

ze_result_t zocl_VirtualMemGetAccessAttribute(
    ze_context_handle_t context, const void *pointer, size_t size,
    ze_memory_access_attribute_t *access, size_t *same)
{
  reservation *r;
  ZOCL_NEED_POINTER(access);
  ZOCL_NEED_POINTER(same);
  ze_result_t result = range_lock(context, pointer, size, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  *same = access_run(r, pointer, size, access);
  pthread_mutex_unlock(&space.lock);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Physical memory.
 */

ze_result_t zocl_PhysicalMemCreate(ze_context_handle_t context,
                                   ze_device_handle_t device,
                                   ze_physical_mem_desc_t *desc,
                                   ze_physical_mem_handle_t *physical)
{
  /* ze_physical_mem_flag_t since 1.7. */
  enum { ON_DEVICE = 1, ON_HOST = 2 };
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(physical);
  if (desc->flags & ~(uint32_t)(ON_DEVICE | ON_HOST) ||
      desc->flags == (ON_DEVICE | ON_HOST))
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  bool host = desc->flags == ON_HOST;
  if (!host) ZOCL_NEED_HANDLE(device);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (!zocl_memory_has_files(context->driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  ze_result_t result = size_check(desc->size);
  if (result != ZE_RESULT_SUCCESS) return result;
  uint64_t most = host ? context->driver->host_bytes : device->memory_bytes;
  if (desc->size > most)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                     "%zu bytes of %llu", desc->size,
                     (unsigned long long)most);
  zocl_physical *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->device = host ? NULL : device;
  made->size = desc->size;
  zocl_file_info info = {.kind = host ? ZE_MEMORY_TYPE_HOST
                                      : ZE_MEMORY_TYPE_DEVICE,
                         .size = desc->size};
  if (!zocl_memory_take(made->device, made->size))
    result = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  else {
    result = zocl_file_new(&info, &made->file);
    if (result != ZE_RESULT_SUCCESS)
      zocl_memory_give(made->device, made->size);
  }
  if (result != ZE_RESULT_SUCCESS) {
    free(made);
    return result;
  }
  pthread_mutex_lock(&space.lock);
  made->id = ++space.last_id;
  made->next = space.first;
  space.first = made;
  pthread_mutex_unlock(&space.lock);
  *physical = made;
  return ZE_RESULT_SUCCESS;
}

/* Existing mappings of the memory stay until they are unmapped. */
ze_result_t zocl_PhysicalMemDestroy(ze_context_handle_t context,
                                    ze_physical_mem_handle_t physical)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(physical);
  pthread_mutex_lock(&space.lock);
  zocl_physical **link = &space.first;
  while (*link != NULL && *link != physical) link = &(*link)->next;
  bool found = *link != NULL && physical->context == context;
  if (found) *link = physical->next;
  pthread_mutex_unlock(&space.lock);
  if (!found)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%p is not physical memory of this context",
                     (void *)physical);
  zocl_memory_give(physical->device, physical->size);
  zocl_file_unref(physical->file);
  free(physical);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_PhysicalMemGetProperties(
    ze_context_handle_t context, ze_physical_mem_handle_t physical,
    zocl_physical_properties *properties)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(physical);
  ZOCL_NEED_POINTER(properties);
  properties->id = physical->id;
  properties->size = physical->size;
  ze_base_properties_t *next = properties->pNext;
  for (; next != NULL; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD)
      ((ze_external_memory_export_fd_t *)next)->fd =
          zocl_file_descriptor(physical->file);
  return ZE_RESULT_SUCCESS;
}

zocl_file *zocl_physical_file(const void *pointer)
{
  zocl_file *file = NULL;
  pthread_mutex_lock(&space.lock);
  zocl_physical *physical = space.first;
  while (physical != NULL && (const void *)physical != pointer)
    physical = physical->next;
  if (physical != NULL) {
    file = physical->file;
    zocl_file_ref(file);
  }
  pthread_mutex_unlock(&space.lock);
  return file;
}
