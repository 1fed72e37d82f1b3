/*
 * lze_share.c - what the states of a process hold together.
 * SPDX-License-Identifier: MIT
 *
 * Everything else belongs to one state and so to one thread at a time.  What
 * is here may be let go of by any of them: it is counted under one lock.
 */
#include "lze_private.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static lze_Native *natives;

/* --- native contexts ---------------------------------------------------- */

/* Called with the lock held. */
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

static lze_Native *native_create(const lze_Driver *driver, lze_Outcome *out) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t handle;
  if (!ZE_TRY(out, zeContextCreate, driver->handle, &desc, &handle))
    return NULL;
  lze_Native *n = native_add(driver, handle);
  if (n != NULL) return n;
  ZE(zeContextDestroy, handle);
  *out = (lze_Outcome){"zeContextCreate", ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY};
  return NULL;
}

/* Of all states, so that what one has another can be given. */
lze_Native *lze_native_shared(const lze_Driver *driver, lze_Outcome *out) {
  pthread_mutex_lock(&share_lock);
  lze_Native *n = natives;
  while (n != NULL && !(n->shared && n->driver == driver)) n = n->next;
  if (n != NULL) {
    n->references++;
  } else {
    n = native_create(driver, out);
    if (n != NULL) n->shared = true;
  }
  pthread_mutex_unlock(&share_lock);
  return n;
}

lze_Native *lze_native_new(const lze_Driver *driver, lze_Outcome *out) {
  pthread_mutex_lock(&share_lock);
  lze_Native *n = native_create(driver, out);
  pthread_mutex_unlock(&share_lock);
  return n;
}

/* A handle that is here already is that one, whoever made it: states that are
   lent the same context can share what is in it. */
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

void lze_native_ref(lze_Native *native) {
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
    /* Under the lock: a driver may give the handle out again at once. */
    if (!native->foreign) ZE(zeContextDestroy, native->handle);
  }
  pthread_mutex_unlock(&share_lock);
  if (last) free(native);
}
