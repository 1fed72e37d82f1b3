/*
 * zocl_states.c - the states of events that processes share.
 * SPDX-License-Identifier: MIT
 *
 * Each event of a shared pool has a state in the memory of a file.  Hosts sleep
 * on the state itself.  Commands that wait for an event wait for a gate.  A
 * thread, created when first needed, opens it: the thread sleeps on a count of
 * changes, which grows whenever an event of the pool is set.
 */
#include "ext/zocl_ext.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The start of the file; the states follow. */
typedef struct head {
  _Atomic uint32_t changes; /* how often an event was set */
  _Atomic uint32_t listeners;
  uint32_t unused[14];
} head;
_Static_assert(sizeof(head) == sizeof(zocl_state), "a head is a state");

/* A signal with waiters. */
typedef struct watch {
  zocl_signal *signal;
  struct watch *next;
} watch;

struct zocl_states {
  atomic_uint references;
  zocl_file *file;
  head *head;
  pthread_mutex_t lock;
  watch *watched; /* that the thread has not taken yet */
  bool watching;  /* the thread is running */
};

uint64_t zocl_states_bytes(uint64_t count)
{
  return (count + 1) * sizeof(zocl_state);
}

zocl_states *zocl_states_open(zocl_file *file)
{
  zocl_states *states = calloc(1, sizeof *states);
  size_t bytes = (size_t)zocl_file_is(file).size;
  if (states != NULL)
    states->head = zocl_file_map(file, 0, bytes, PROT_READ | PROT_WRITE, NULL);
  if (states == NULL || states->head == NULL) {
    free(states);
    zocl_file_unref(file);
    return NULL;
  }
  atomic_init(&states->references, 1);
  states->file = file;
  pthread_mutex_init(&states->lock, NULL);
  return states;
}

static void states_ref(zocl_states *states)
{
  atomic_fetch_add(&states->references, 1);
}

void zocl_states_unref(zocl_states *states)
{
  if (states == NULL || atomic_fetch_sub(&states->references, 1) != 1) return;
  munmap(states->head,
         zocl_file_pages((size_t)zocl_file_is(states->file).size));
  zocl_file_unref(states->file);
  pthread_mutex_destroy(&states->lock);
  free(states);
}

const zocl_file *zocl_states_file(const zocl_states *states)
{
  return states->file;
}

static zocl_state *states_at(zocl_states *states, uint32_t index)
{
  return (zocl_state *)states->head + 1 + index;
}

/* Wake the threads of all processes after a state was set. */
static void states_announce(zocl_states *states)
{
  atomic_fetch_add(&states->head->changes, 1);
  if (atomic_load(&states->head->listeners) > 0)
    syscall(SYS_futex, &states->head->changes, FUTEX_WAKE, INT_MAX, NULL, NULL,
            0);
}

/* Check all watched signals after each change, until the list is empty.  The
   thread has a reference. */
static void *watcher(void *data)
{
  /* If a process dies between setting and announcing, the thread sees the
     change after this time. */
  static const struct timespec slice = {.tv_nsec = 100000000};
  zocl_states *states = data;
  watch *list = NULL;
  atomic_fetch_add(&states->head->listeners, 1);
  for (;;) {
    uint32_t changes = atomic_load(&states->head->changes);
    pthread_mutex_lock(&states->lock);
    watch **last = &list;
    while (*last != NULL) last = &(*last)->next;
    *last = states->watched;
    states->watched = NULL;
    states->watching = list != NULL;
    pthread_mutex_unlock(&states->lock);
    if (list == NULL) break;
    for (watch **link = &list; *link != NULL;) {
      watch *w = *link;
      if (zocl_signal_watch(w->signal)) {
        link = &w->next;
        continue;
      }
      *link = w->next;
      zocl_signal_unref(w->signal);
      free(w);
    }
    if (list != NULL)
      syscall(SYS_futex, &states->head->changes, FUTEX_WAIT, changes, &slice,
              NULL, 0);
  }
  atomic_fetch_sub(&states->head->listeners, 1);
  zocl_states_unref(states);
  return NULL;
}

static bool states_watch(zocl_states *states, zocl_signal *signal)
{
  watch *w = malloc(sizeof *w);
  if (w == NULL) return false;
  *w = (watch){.signal = signal};
  pthread_mutex_lock(&states->lock);
  bool watched = states->watching;
  if (!watched) {
    pthread_t thread;
    states_ref(states);
    watched = states->watching = zocl_thread_start(&thread, watcher, states);
    if (watched)
      pthread_detach(thread);
    else
      atomic_fetch_sub(&states->references, 1);
  }
  if (watched) {
    zocl_signal_ref(signal);
    w->next = states->watched;
    states->watched = w;
  }
  pthread_mutex_unlock(&states->lock);
  if (watched)
    states_announce(states);
  else
    free(w);
  return watched;
}

static ze_result_t states_new(ze_event_pool_flags_t flags, uint32_t count,
                              zocl_states **states)
{
  zocl_file *file;
  zocl_file_info info = {.kind = ZOCL_FILE_EVENTS,
                         .flags = flags,
                         .size = zocl_states_bytes(count),
                         .count = count};
  ze_result_t result = zocl_file_new(&info, &file);
  if (result != ZE_RESULT_SUCCESS) return result;
  *states = zocl_states_open(file);
  return *states != NULL ? ZE_RESULT_SUCCESS
                        : zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

void zocl_states_hook(zocl_hook *hook)
{
  hook->states_new = states_new;
  hook->states_ref = states_ref;
  hook->states_unref = zocl_states_unref;
  hook->states_at = states_at;
  hook->states_announce = states_announce;
  hook->states_watch = states_watch;
}
