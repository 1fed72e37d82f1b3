/*
 * zocl_storage.c - memory for program-scope variables.
 * SPDX-License-Identifier: MIT
 *
 * Compiled code is cached by its content, and the code contains the addresses
 * of variables.  So a module gets the same addresses in every process, if they
 * are free and kernels accept any pointer; otherwise its variables are in
 * shared memory.
 */
#include "memory/zocl_storage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* All storage that a driver allocated. */
static struct {
  pthread_mutex_t lock;
  zocl_storage *first;
} allocated = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A part of the address space that systems do not use on their own and that
   sanitizers leave to programs, divided into slots chosen by hash. */
static const uintptr_t area = (uintptr_t)0x7e8000000000u;
enum { SLOT_BITS = 22, SLOT_SHIFT = 16, SLOT_TRIES = 64 };

static void *map(void *wanted, size_t size, int flags)
{
  flags |= MAP_PRIVATE | MAP_ANONYMOUS;
  /* cppcheck-suppress invalidFunctionArg ; there is no file */
  return mmap(wanted, size, PROT_READ | PROT_WRITE, flags, -1, 0);
}

/* Allocates the storage as memory of the device's driver. */
static bool storage_allocate(zocl_storage *made, zocl_device *device)
{
  made->block = (zocl_block){.driver = device->driver,
                             .device = device,
                             .type = ZE_MEMORY_TYPE_SHARED};
  made->base = device->driver->memory->allocate(&made->block, made->size, 128);
  if (made->base == NULL) return false;
  memset(made->base, 0, made->size);
  pthread_mutex_lock(&allocated.lock);
  made->next = allocated.first;
  allocated.first = made;
  pthread_mutex_unlock(&allocated.lock);
  return true;
}

zocl_storage *zocl_storage_new(zocl_device *device, uint64_t hash,
                               size_t size)
{
  zocl_storage *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  atomic_init(&made->refs, 1);
  made->size = size;
  if (!device->driver->memory->any_pointer) {
    if (storage_allocate(made, device)) return made;
    free(made);
    return NULL;
  }
  for (uint64_t i = 0; i < SLOT_TRIES && sizeof(void *) == 8; i++) {
    uint64_t slot = (hash + i * 0x9e3779b9u) & ((1u << SLOT_BITS) - 1);
    void *wanted = (void *)(area + (uintptr_t)(slot << SLOT_SHIFT));
    made->base = map(wanted, size, MAP_FIXED_NOREPLACE);
    if (made->base == wanted) return made;
    if (made->base != MAP_FAILED) munmap(made->base, size);
  }
  made->base = map(NULL, size, 0);
  if (made->base != MAP_FAILED) return made;
  free(made);
  return NULL;
}

zocl_storage *zocl_storage_ref(zocl_storage *storage)
{
  if (storage != NULL)
    atomic_fetch_add_explicit(&storage->refs, 1, memory_order_relaxed);
  return storage;
}

void zocl_storage_unref(zocl_storage *storage)
{
  if (storage == NULL ||
      atomic_fetch_sub_explicit(&storage->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (storage->block.driver != NULL) {
    pthread_mutex_lock(&allocated.lock);
    zocl_storage **at = &allocated.first;
    while (*at != storage) at = &(*at)->next;
    *at = storage->next;
    pthread_mutex_unlock(&allocated.lock);
    storage->block.driver->memory->free(&storage->block);
  } else
    munmap(storage->base, storage->size);
  free(storage);
}

bool zocl_storage_has(const void *pointer)
{
  bool found = false;
  pthread_mutex_lock(&allocated.lock);
  for (const zocl_storage *s = allocated.first; s != NULL && !found;
       s = s->next)
    found = (uintptr_t)pointer - (uintptr_t)s->base < s->size;
  pthread_mutex_unlock(&allocated.lock);
  return found;
}
