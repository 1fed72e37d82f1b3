/*
 * lze_native.c - objects that the states of a process share.
 * SPDX-License-Identifier: MIT
 *
 * All other objects belong to one state, and so to one thread at a time. Any
 * state may release the objects here, so one lock protects their counts.
 */
#include "device/lze_native.h"
#include "device/lze_loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;

static lze_Native *natives;

/* The lock is held. */
static lze_Native *native_add(const lze_Driver *driver,
                              ze_context_handle_t handle) {
  lze_Native *n = calloc(1, sizeof *n);
  if (n == NULL) return NULL;
  n->driver = driver;
  n->handle = handle;
  n->references = 1;
  n->next = natives;
  natives = n;
  return n;
}

/* For `count` devices, or for all if `count` is 0. */
static lze_Native *native_create(const lze_Driver *driver,
                                 const lze_DeviceInfo *const *devices,
                                 uint32_t count, lze_Outcome *out) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t handle = NULL;
  if (count == 0) {
    if (!ZE_TRY(out, zeContextCreate, driver->handle, &desc, &handle))
      return NULL;
  } else {
    ze_device_handle_t *handles = malloc(count * sizeof *handles);
    if (handles == NULL) {
      *out = LZE_NO_MEMORY;
      return NULL;
    }
    for (uint32_t i = 0; i < count; i++) handles[i] = devices[i]->handle;
    bool made = ZE_TRY(out, zeContextCreateEx, driver->handle, &desc, count,
                       handles, &handle);
    free(handles);
    if (!made) return NULL;
  }
  lze_Native *n = native_add(driver, handle);
  if (n != NULL) return n;
  ZE(zeContextDestroy, handle);
  *out = LZE_NO_MEMORY;
  return NULL;
}

/* All states share it, so that they can pass each other objects made in it. */
lze_Native *lze_native_shared(const lze_Driver *driver, lze_Outcome *out) {
  pthread_mutex_lock(&share_lock);
  lze_Native *n = natives;
  while (n != NULL && !(n->shared && n->driver == driver)) n = n->next;
  if (n != NULL) {
    n->references++;
  } else {
    n = native_create(driver, NULL, 0, out);
    if (n != NULL) n->shared = true;
  }
  pthread_mutex_unlock(&share_lock);
  return n;
}

lze_Native *lze_native_new(const lze_Driver *driver,
                           const lze_DeviceInfo *const *devices,
                           uint32_t count, lze_Outcome *out) {
  pthread_mutex_lock(&share_lock);
  lze_Native *n = native_create(driver, devices, count, out);
  pthread_mutex_unlock(&share_lock);
  return n;
}

/* A handle that is already listed gives the same object to any state, so
   states that borrow the same context can share its contents. */
lze_Native *lze_native_foreign(const lze_Driver *driver,
                               ze_context_handle_t handle) {
  pthread_mutex_lock(&share_lock);
  lze_Native *n = natives;
  while (n != NULL && n->handle != handle) n = n->next;
  if (n != NULL) {
    n->references++;
  } else {
    n = native_add(driver, handle);
    if (n != NULL) n->foreign = true;
  }
  pthread_mutex_unlock(&share_lock);
  return n;
}

static void native_ref(lze_Native *native) {
  pthread_mutex_lock(&share_lock);
  native->references++;
  pthread_mutex_unlock(&share_lock);
}

void lze_native_unref(lze_Native *native) {
  pthread_mutex_lock(&share_lock);
  bool last = --native->references == 0;
  if (last) {
    lze_Native **link = &natives;
    while (*link != native) link = &(*link)->next;
    *link = native->next;
    /* Under the lock: a driver may return the same handle for a new context at
       once. */
    if (!native->foreign) ZE(zeContextDestroy, native->handle);
  }
  pthread_mutex_unlock(&share_lock);
  if (last) free(native);
}

/* A callback for the end of an allocation. */
typedef struct Lease {
  void (*release)(void *userdata, void *pointer);
  void *userdata, *pointer;
  struct Lease *next;
} Lease;

struct lze_Memory {
  lze_Native *native;           /* a reference */
  void *base;
  bool owned;
  bool opened;                  /* from another process, given by: */
  lze_Origin origin;
  unsigned references;
  Lease *leases;
  lze_Exported *parts;
  lze_Memory *next;             /* in the list of opened ones */
};

static lze_Memory *opened;

lze_Memory *lze_memory_new(lze_Native *native, void *base, bool owned) {
  lze_Memory *m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->native = native;
  m->base = base;
  m->owned = owned;
  m->references = 1;
  native_ref(native);
  return m;
}

lze_Memory *lze_memory_opened(lze_Native *native, void *base,
                              const lze_Origin *origin) {
  lze_Memory *m = lze_memory_new(native, base, false);
  if (m == NULL) return NULL;
  m->opened = true;
  m->origin = *origin;
  pthread_mutex_lock(&share_lock);
  m->next = opened;
  opened = m;
  pthread_mutex_unlock(&share_lock);
  return m;
}

lze_Memory *lze_memory_find(const lze_Native *native, const lze_Origin *origin,
                            void **base) {
  pthread_mutex_lock(&share_lock);
  lze_Memory *m = opened;
  while (m != NULL &&
         !(m->native == native && m->origin.process == origin->process &&
           m->origin.id == origin->id))
    m = m->next;
  if (m != NULL) {
    m->references++;
    *base = m->base;
  }
  pthread_mutex_unlock(&share_lock);
  return m;
}

uint64_t lze_process_id(void) {
  static uint64_t id;
  pthread_mutex_lock(&share_lock);
  while (id == 0)
    if (getrandom(&id, sizeof id, 0) != sizeof id)
      id = (uint64_t)getpid() << 32 | (lze_now_ns() & UINT32_MAX);
  pthread_mutex_unlock(&share_lock);
  return id;
}

void lze_memory_ref(lze_Memory *memory) {
  pthread_mutex_lock(&share_lock);
  memory->references++;
  pthread_mutex_unlock(&share_lock);
}

void lze_memory_unref(lze_Memory *memory) {
  pthread_mutex_lock(&share_lock);
  bool last = --memory->references == 0;
  if (last && memory->opened) {
    lze_Memory **link = &opened;
    while (*link != memory) link = &(*link)->next;
    *link = memory->next;
  }
  pthread_mutex_unlock(&share_lock);
  if (!last) return;
  if (memory->owned) ZE(zeMemFree, memory->native->handle, memory->base);
  if (memory->opened)
    ZE(zeMemCloseIpcHandle, memory->native->handle, memory->base);
  /* Without the lock: the callback may do anything except use the state. */
  while (memory->leases != NULL) {
    Lease *l = memory->leases;
    memory->leases = l->next;
    l->release(l->userdata, l->pointer);
    free(l);
  }
  lze_native_unref(memory->native);
  free(memory);
}

bool lze_memory_tell(lze_Memory *memory,
                     void (*release)(void *userdata, void *pointer),
                     void *userdata, void *pointer) {
  bool done = true;
  pthread_mutex_lock(&share_lock);
  Lease *l = memory->leases;
  while (l != NULL && !(l->release == release && l->userdata == userdata &&
                        l->pointer == pointer))
    l = l->next;
  if (l == NULL) {
    l = malloc(sizeof *l);
    done = l != NULL;
    if (done) {
      *l = (Lease){release, userdata, pointer, memory->leases};
      memory->leases = l;
    }
  }
  pthread_mutex_unlock(&share_lock);
  return done;
}

void lze_memory_list(lze_Memory *memory, lze_Exported *part) {
  pthread_mutex_lock(&share_lock);
  part->next = memory->parts;
  memory->parts = part;
  pthread_mutex_unlock(&share_lock);
}

void lze_memory_unlist(lze_Memory *memory, lze_Exported *part) {
  pthread_mutex_lock(&share_lock);
  lze_Exported **link = &memory->parts;
  while (*link != part) link = &(*link)->next;
  *link = part->next;
  pthread_mutex_unlock(&share_lock);
}

bool lze_memory_lists(lze_Memory *memory, const char *from, size_t bytes) {
  pthread_mutex_lock(&share_lock);
  const lze_Exported *p = memory->parts;
  while (p != NULL && !(from >= p->from && bytes <= p->bytes &&
                        (size_t)(from - p->from) <= p->bytes - bytes))
    p = p->next;
  pthread_mutex_unlock(&share_lock);
  return p != NULL;
}

ze_context_handle_t lze_memory_context(const lze_Memory *memory) {
  return memory->native->handle;
}
