/*
 * zocl_memory.c - unified shared memory: allocations and their owners.
 * SPDX-License-Identifier: MIT
 *
 * The back end obtains memory.  If its kernels accept any pointer, each
 * allocation has whole pages, so that they can be replaced by pages of a file
 * when other processes need them: see zocl_memory_share.
 */
#include "memory/zocl_memory.h"
#include "base/zocl_hook.h"
#include "base/zocl_work.h"
#include "base/zocl_file.h"
#include "memory/zocl_storage.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  /* Each allocation begins at a cache line, so that no two share one. */
  DEFAULT_ALIGNMENT = 64,
  /* How long an export waits for commands to end, in milliseconds. */
  EXPORT_MS = 5000,
  /* ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, newer than the oldest headers. */
  ADDRESS_NOT_FOUND = 0x78000021
};
/* Intel's drivers accept alignments up to pages of 2 MiB, and conformance tests
   request 8 MiB. */
static const size_t max_alignment = (size_t)1 << 30;

typedef zocl_allocation allocation;

/* Allocations do not overlap, so "lies wholly before" is an order in which an
   address compares equal to the allocation that contains it. */
static struct {
  pthread_rwlock_t lock;
  void *root;
  uint64_t last_id;
  _Atomic uint64_t generation;
  uint32_t commands;     /* running, if device memory is private */
  allocation *deferred;  /* not in the tree, but perhaps in use */
} live = {.lock = PTHREAD_RWLOCK_INITIALIZER, .generation = 1};

static int allocation_order(const void *left, const void *right)
{
  const allocation *a = left, *b = right;
  if (a->base + a->size <= b->base) return -1;
  if (b->base + b->size <= a->base) return 1;
  return 0;
}

/* Copies the record of the allocation that contains `pointer`.  If `hold`, adds
   a reference to its file, if it has one. */
static bool allocation_copy(const void *pointer, bool hold, allocation *found)
{
  allocation key = {.size = 1};
  memcpy(&key.base, &pointer, sizeof pointer);
  pthread_rwlock_rdlock(&live.lock);
  void *node = tfind(&key, &live.root, allocation_order);
  if (node != NULL) {
    *found = **(allocation **)node;
    if (hold && found->file != NULL) zocl_file_ref(found->file);
  }
  pthread_rwlock_unlock(&live.lock);
  return node != NULL;
}

static bool allocation_find(const void *pointer, allocation *found)
{
  return allocation_copy(pointer, false, found);
}

bool zocl_memory_find(const void *pointer, ze_memory_type_t *type)
{
  allocation found;
  if (!allocation_find(pointer, &found)) return false;
  *type = found.type;
  return true;
}

uint64_t zocl_memory_id(const void *pointer)
{
  allocation found;
  return allocation_find(pointer, &found) ? found.id : 0;
}

uint64_t zocl_memory_generation(void)
{
  return atomic_load_explicit(&live.generation, memory_order_acquire);
}

/* ------------------------------------------------------------------------
 * Blocks.
 */

/* All blocks of some types, collected by twalk_r. */
typedef struct collection {
  const zocl_driver *driver;
  uint32_t types;        /* bits by ze_memory_type_t */
  size_t count;
  void **blocks;         /* or NULL, to count only */
} collection;

static void collect(const void *node, VISIT visit, void *data)
{
  collection *c = data;
  const allocation *a = *(allocation *const *)node;
  if ((visit != preorder && visit != leaf) || a->driver != c->driver ||
      !(c->types >> a->type & 1))
    return;
  if (c->blocks != NULL) c->blocks[c->count] = a->block.at;
  c->count++;
}

void **zocl_memory_blocks(const zocl_driver *driver,
                          ze_kernel_indirect_access_flags_t types, size_t more,
                          size_t *count)
{
  collection c = {.driver = driver};
  if (types & ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST)
    c.types |= 1u << ZE_MEMORY_TYPE_HOST;
  if (types & ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE)
    c.types |= 1u << ZE_MEMORY_TYPE_DEVICE;
  if (types & ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED)
    c.types |= 1u << ZE_MEMORY_TYPE_SHARED;
  pthread_rwlock_rdlock(&live.lock);
  twalk_r(live.root, collect, &c);
  c.blocks = malloc((c.count + more + 1) * sizeof *c.blocks);
  c.count = 0;
  if (c.blocks != NULL) twalk_r(live.root, collect, &c);
  pthread_rwlock_unlock(&live.lock);
  *count = c.count;
  return c.blocks;
}

/* ------------------------------------------------------------------------
 * Test options.
 */

bool zocl_memory_take(zocl_device *device, uint64_t size)
{
  if (device == NULL || zocl_option.memory_bytes == UINT64_MAX) return true;
  zocl_device *root = device->root, *full = NULL;
  pthread_rwlock_wrlock(&live.lock);
  if (size > root->memory_bytes - root->memory_used) full = root;
  if (size > device->memory_bytes - device->memory_used) full = device;
  if (full != NULL) {
    zocl_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
              "%llu bytes asked for, %llu of %llu in use",
              (unsigned long long)size,
              (unsigned long long)full->memory_used,
              (unsigned long long)full->memory_bytes);
  } else {
    root->memory_used += size;
    if (device != root) device->memory_used += size;
  }
  pthread_rwlock_unlock(&live.lock);
  return full == NULL;
}

void zocl_memory_give(zocl_device *device, uint64_t size)
{
  if (device == NULL || zocl_option.memory_bytes == UINT64_MAX) return;
  pthread_rwlock_wrlock(&live.lock);
  device->root->memory_used -= size;
  if (device != device->root) device->memory_used -= size;
  pthread_rwlock_unlock(&live.lock);
}

static bool is_private(const allocation *a)
{
  return zocl_option.device_memory_private &&
         a->type == ZE_MEMORY_TYPE_DEVICE && a->origin != ZOCL_MAPPED;
}

static void protect(const allocation *a, int protection)
{
  if (is_private(a))
    mprotect(a->base, zocl_file_pages(a->size), protection);
}

static void protect_node(const void *node, VISIT visit, void *protection)
{
  if (visit == preorder || visit == leaf)
    protect(*(allocation *const *)node, *(const int *)protection);
}

void zocl_memory_begin(void)
{
  int protection = PROT_READ | PROT_WRITE;
  pthread_rwlock_wrlock(&live.lock);
  if (live.commands++ == 0) twalk_r(live.root, protect_node, &protection);
  pthread_rwlock_unlock(&live.lock);
}

void zocl_memory_end(void)
{
  int protection = PROT_NONE;
  pthread_rwlock_wrlock(&live.lock);
  if (--live.commands == 0) twalk_r(live.root, protect_node, &protection);
  pthread_rwlock_unlock(&live.lock);
}

bool zocl_memory_reachable(const zocl_device *device, const void *pointer)
{
  allocation found;
  if (zocl_option.peer_access || !allocation_find(pointer, &found) ||
      found.device == NULL || zocl_device_reaches(device, found.device))
    return true;
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "%p is memory of another device, and there is no peer access",
            pointer);
  return false;
}

bool zocl_memory_has_files(const zocl_driver *driver)
{
  if (!driver->memory->any_pointer)
    zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
              "memory of %s cannot be that of a file", driver->backend->name);
  return driver->memory->any_pointer;
}

ze_result_t zocl_memory_add(zocl_allocation *a)
{
  pthread_rwlock_wrlock(&live.lock);
  a->id = ++live.last_id;
  atomic_fetch_add(&live.generation, 1);
  void *node = tsearch(a, &live.root, allocation_order);
  if (node != NULL && live.commands == 0) protect(a, PROT_NONE);
  pthread_rwlock_unlock(&live.lock);
  return node != NULL ? ZE_RESULT_SUCCESS
                      : zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

void zocl_memory_resize(zocl_allocation *a, size_t size)
{
  pthread_rwlock_wrlock(&live.lock);
  a->size = size;
  pthread_rwlock_unlock(&live.lock);
}

void zocl_memory_remove(zocl_allocation *a)
{
  pthread_rwlock_wrlock(&live.lock);
  tdelete(a, &live.root, allocation_order);
  pthread_rwlock_unlock(&live.lock);
}

bool zocl_memory_usable(const zocl_device *device, const void *pointer)
{
  ze_memory_type_t type;
  bool any = device->driver->memory->any_pointer;
  if (any && zocl_option.peer_access) return true;
  if (any || pointer == NULL || zocl_memory_find(pointer, &type))
    return zocl_memory_reachable(device, pointer);
  if (zocl_storage_has(pointer)) return true;
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "%p was not allocated here, and the device does not reach other "
            "memory of the host", pointer);
  return false;
}

/* ------------------------------------------------------------------------
 * Allocation.
 */

/* Removes from the tree the allocation of a context that begins at `pointer`;
   `opened` says if the call closes IPC memory or frees other memory.  If
   `later`, defers freeing it.  Returns false if no such allocation exists. */
static bool detach(const zocl_context *context, void *pointer, bool opened,
                   bool later, allocation **detached)
{
  allocation key = {.base = pointer, .size = 1};
  *detached = NULL;
  pthread_rwlock_wrlock(&live.lock);
  void *node = tfind(&key, &live.root, allocation_order);
  allocation *a = node != NULL ? *(allocation **)node : NULL;
  if (a != NULL && a->base == pointer && a->context == context &&
      a->origin != ZOCL_MAPPED &&
      (a->origin == ZOCL_OPENED) == opened) {
    *detached = a;
    tdelete(&key, &live.root, allocation_order);
    atomic_fetch_add(&live.generation, 1);
    protect(a, PROT_READ | PROT_WRITE);
    if (later) {
      a->next = live.deferred;
      live.deferred = a;
    }
  }
  pthread_rwlock_unlock(&live.lock);
  if (*detached == NULL)
    zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              opened ? "%p is not what zeMemOpenIpcHandle returned in this "
                       "context"
                     : "%p is not the start of an allocation of this context",
              pointer);
  return *detached != NULL;
}

/* Frees an allocation that is not in the tree, with its memory. */
static void dispose(allocation *a)
{
  size_t bytes = zocl_file_pages(a->size);
  const int anew = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  void *own = a->base;
  if (a->origin != ZOCL_MADE)
    munmap(a->base, bytes);
  else if (a->file != NULL)
    /* Replace the file's pages, which other processes may map, by private ones
       before the back end gets the memory back; if that fails, it does not get
       it back. */
    /* cppcheck-suppress invalidFunctionArg ; there is no file */
    own = mmap(own, bytes, PROT_READ | PROT_WRITE, anew, -1, 0);
  if (a->origin == ZOCL_MADE && own != MAP_FAILED)
    a->driver->memory->free(&a->block);
  zocl_file_unref(a->file);
  free(a);
}

/* Frees a list of allocations that are not in the tree and no longer used. */
static void release(allocation *list)
{
  for (allocation *a = list; a != NULL; a = a->next)
    if (a->origin == ZOCL_MADE) zocl_memory_give(a->device, a->size);
  for (allocation *next; list != NULL; list = next) {
    next = list->next;
    dispose(list);
  }
}

/* Frees the deferred allocations if no command is running or waiting. */
static void deferred_release(void)
{
  pthread_rwlock_rdlock(&live.lock);
  bool any = live.deferred != NULL;
  pthread_rwlock_unlock(&live.lock);
  if (!any) return;
  pthread_rwlock_wrlock(&live.lock);
  allocation *list = live.deferred;
  live.deferred = NULL;
  pthread_rwlock_unlock(&live.lock);
  if (zocl_work_is_done()) {
    release(list);
    return;
  }
  pthread_rwlock_wrlock(&live.lock);
  allocation **last = &live.deferred;
  while (*last != NULL) last = &(*last)->next;
  *last = list;
  pthread_rwlock_unlock(&live.lock);
}

/* Replaces an allocation's pages by pages of a file, with the same content if
   `keep`.  No command may write to them during the call. */
static ze_result_t move_to_file(allocation *a, bool keep)
{
  zocl_file *file;
  zocl_file_info info = {.kind = (uint32_t)a->type, .size = a->size};
  ze_result_t result = zocl_file_new(&info, &file);
  if (result != ZE_RESULT_SUCCESS) return result;
  protect(a, PROT_READ);
  if ((!keep || zocl_file_write(file, a->base, a->size)) &&
      zocl_file_map(file, 0, a->size, PROT_READ | PROT_WRITE, a->base) !=
          NULL) {
    a->file = file;
  } else {
    zocl_file_unref(file);
    result = zocl_fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                       "no memory for %zu bytes that other processes can have",
                       a->size);
  }
  protect(a, live.commands == 0 ? PROT_NONE : PROT_READ | PROT_WRITE);
  return result;
}

static ze_result_t allocate(zocl_context *context, zocl_device *device,
                            ze_memory_type_t type, const void *extensions,
                            size_t size, size_t alignment, void **pointer)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  deferred_release();
  if (size == 0) return zocl_error(ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  if ((alignment & (alignment - 1)) != 0 || alignment > max_alignment)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
                     "alignment %zu is not a power of two up to %zu",
                     alignment, max_alignment);
  /* ze_relaxed_allocation_limits_exp_desc_t lifts the limit per allocation; the
     memory of the device or the host still limits the size. */
  bool relaxed = false, export = false;
  const ze_external_memory_import_fd_t *import = NULL;
  const ze_base_desc_t *extension = extensions;
  for (; extension != NULL; extension = extension->pNext) {
    relaxed |= extension->stype ==
               ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
    export |= extension->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    if (extension->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD)
      import = (const ze_external_memory_import_fd_t *)extension;
  }
  zocl_driver *driver = context->driver;
  if ((export || import != NULL) && !zocl_memory_has_files(driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  uint64_t most = relaxed          ? UINT64_MAX
                  : device != NULL ? device->max_alloc
                                   : driver->host_max_alloc;
  uint64_t all = device != NULL ? device->memory_bytes : driver->host_bytes;
  if (most > all) most = all;
  if (size > most)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                     "%zu bytes are more than the %llu that one allocation "
                     "may have", size, (unsigned long long)most);
  if (import != NULL)
    return zocl_ext.memory_import(context, device, type, import, size,
                                  pointer);
  allocation *made = malloc(sizeof *made);
  size_t bytes = size;
  if (alignment < DEFAULT_ALIGNMENT) alignment = DEFAULT_ALIGNMENT;
  /* Private memory needs whole pages too, because it is protected. */
  if (driver->memory->any_pointer || zocl_option.device_memory_private) {
    if (alignment < ZOCL_PAGE_BYTES) alignment = ZOCL_PAGE_BYTES;
    bytes = zocl_file_pages(size);
  }
  zocl_block block = {.driver = driver, .device = device, .type = type};
  void *memory = NULL;
  if (made != NULL) memory = driver->memory->allocate(&block, bytes, alignment);
  if (memory == NULL) {
    free(made);
    return zocl_fail(type == ZE_MEMORY_TYPE_DEVICE
                         ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                         : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                     "no memory for %zu bytes", size);
  }
  *made = (allocation){.base = memory,
                       .block = block,
                       .size = size,
                       .type = type,
                       .driver = driver,
                       .context = context,
                       .device = device};
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (!zocl_memory_take(device, size))
    result = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  else {
    if (export) result = move_to_file(made, false);
    if (result == ZE_RESULT_SUCCESS) result = zocl_memory_add(made);
    if (result != ZE_RESULT_SUCCESS) zocl_memory_give(device, size);
  }
  if (result != ZE_RESULT_SUCCESS) {
    dispose(made);
    return result;
  }
  *pointer = memory;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_memory_share(zocl_context *context, const void *pointer,
                              zocl_allocation *found)
{
  allocation key = {.size = 1};
  memcpy(&key.base, &pointer, sizeof pointer);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (!zocl_memory_has_files(context->driver))
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  bool known = allocation_copy(pointer, true, found);
  if (known && found->context != context) {
    zocl_file_unref(found->file);
    known = false;
  }
  if (!known)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "%p is in no allocation of this context", pointer);
  if (found->file != NULL) return ZE_RESULT_SUCCESS;
  /* A write between the copy and the mapping of the new pages would be lost. */
  for (int i = 0; !zocl_work_is_done(); i++) {
    if (i == EXPORT_MS)
      return zocl_fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "commands run or wait, so that %p cannot become memory "
                       "that other processes can have; memory allocated with "
                       "ze_external_memory_export_desc_t is from the start",
                       pointer);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  ze_result_t result = ZE_RESULT_SUCCESS;
  pthread_rwlock_wrlock(&live.lock);
  void *node = tfind(&key, &live.root, allocation_order);
  allocation *a = node != NULL ? *(allocation **)node : NULL;
  if (a == NULL)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "%p is in no allocation", pointer);
  else if (a->file == NULL)
    result = move_to_file(a, true);
  if (result == ZE_RESULT_SUCCESS) {
    *found = *a;
    zocl_file_ref(a->file);
  }
  pthread_rwlock_unlock(&live.lock);
  return result;
}

ze_result_t zocl_memory_close(const zocl_context *context, void *pointer)
{
  allocation *found;
  if (!detach(context, pointer, true, false, &found))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  dispose(found);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Entry points.
 */

/* All flags of the two descriptors are hints about caches. */
enum { DEVICE_FLAGS = 0x7, HOST_FLAGS = 0xf };

ze_result_t zocl_MemAllocHost(ze_context_handle_t context,
                              const ze_host_mem_alloc_desc_t *desc,
                              size_t size, size_t alignment, void **pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(pointer);
  if (desc->flags & ~(uint32_t)HOST_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return allocate(context, NULL, ZE_MEMORY_TYPE_HOST, desc->pNext, size,
                  alignment, pointer);
}

ze_result_t zocl_MemAllocDevice(ze_context_handle_t context,
                                const ze_device_mem_alloc_desc_t *desc,
                                size_t size, size_t alignment,
                                ze_device_handle_t device, void **pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(pointer);
  if (desc->flags & ~(uint32_t)DEVICE_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return allocate(context, device, ZE_MEMORY_TYPE_DEVICE, desc->pNext, size,
                  alignment, pointer);
}

ze_result_t zocl_MemAllocShared(ze_context_handle_t context,
                                const ze_device_mem_alloc_desc_t *device_desc,
                                const ze_host_mem_alloc_desc_t *host_desc,
                                size_t size, size_t alignment,
                                ze_device_handle_t device, void **pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(device_desc);
  ZOCL_NEED_POINTER(host_desc);
  ZOCL_NEED_POINTER(pointer);
  if (device_desc->flags & ~(uint32_t)DEVICE_FLAGS ||
      host_desc->flags & ~(uint32_t)HOST_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return allocate(context, device, ZE_MEMORY_TYPE_SHARED, device_desc->pNext,
                  size, alignment, pointer);
}

ze_result_t zocl_MemFree(ze_context_handle_t context, void *pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  allocation *found;
  if (!detach(context, pointer, false, false, &found))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  release(found);
  return ZE_RESULT_SUCCESS;
}

/* BLOCKING_FREE waits for all commands, since pointers stored in memory are not
   tracked.  DEFER_FREE does not wait: the memory is freed at a later allocation
   or free when no command is pending. */
ze_result_t zocl_MemFreeExt(ze_context_handle_t context,
                            const ze_memory_free_ext_desc_t *desc,
                            void *pointer)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(pointer);
  if (desc->freePolicy & ~(uint32_t)ZOCL_FREE_POLICIES)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE) {
    allocation found;
    if (allocation_find(pointer, &found)) {
      ze_result_t result = zocl_work_wait(NULL, UINT64_MAX, false);
      if (result != ZE_RESULT_SUCCESS) return result;
    }
  } else if (desc->freePolicy != 0) {
    allocation *found;
    if (!detach(context, pointer, false, true, &found))
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    deferred_release();
    return ZE_RESULT_SUCCESS;
  }
  return zocl_MemFree(context, pointer);
}

ze_result_t zocl_MemGetAllocProperties(ze_context_handle_t context,
                                       const void *pointer,
                                       ze_memory_allocation_properties_t *p,
                                       ze_device_handle_t *device)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  ZOCL_NEED_POINTER(p);
  allocation found = {.type = ZE_MEMORY_TYPE_UNKNOWN};
  if (allocation_find(pointer, &found) && found.context != context)
    found = (allocation){.type = ZE_MEMORY_TYPE_UNKNOWN};
  p->type = found.type;
  p->id = found.id;
  p->pageSize = found.id != 0 ? (uint64_t)sysconf(_SC_PAGESIZE) : 0;
  if (device != NULL) *device = found.device;
  ze_base_properties_t *next = p->pNext;
  for (; found.id != 0 && next != NULL; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD) {
      ze_result_t result =
          zocl_ext.memory_export(context, pointer,
                                 (ze_external_memory_export_fd_t *)next);
      if (result != ZE_RESULT_SUCCESS) return result;
    }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_MemGetAddressRange(ze_context_handle_t context,
                                    const void *pointer, void **base,
                                    size_t *size)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(pointer);
  allocation found;
  if (!allocation_find(pointer, &found) || found.context != context)
    return zocl_fail((ze_result_t)ADDRESS_NOT_FOUND,
                     "%p is in no allocation of this context", pointer);
  if (base != NULL) *base = found.base;
  if (size != NULL) *size = found.size;
  return ZE_RESULT_SUCCESS;
}
