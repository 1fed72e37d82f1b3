/*
 * lze_watch.c - a file descriptor that is readable once a command is over.
 * SPDX-License-Identifier: MIT
 *
 * Level Zero does not offer one, so a thread waits on the event and writes to
 * an eventfd.  The thread calls the driver but never Lua, and changes no
 * counters.  It is joined before the event serves another command or, if the
 * embedding program owns the event, before its context is closed.
 */
#include "base/lze_error.h"
#include "device/lze_loader.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The longest time until a thread notices that it must stop. */
#define SLICE_NS 100000000u

struct lze_Watch {
  int fd;
  bool running;                 /* the thread has not been joined */
  atomic_bool stop;
  pthread_t thread;
  ze_event_handle_t event;
};

static void *watch_run(void *argument) {
  lze_Watch *w = argument;
  while (!atomic_load(&w->stop) &&
         ZE(zeEventHostSynchronize, w->event, SLICE_NS) ==
             ZE_RESULT_NOT_READY)
    continue;
  uint64_t one = 1;
  if (write(w->fd, &one, sizeof one) < 0) return NULL; /* cannot happen */
  return NULL;
}

/* Starts the thread with all signals blocked: the program's other threads
   handle them. */
static int watch_start(lze_Watch *w) {
  sigset_t all, old;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  error = pthread_create(&w->thread, &attributes, watch_run, w);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  w->running = error == 0;
  return error;
}

int lze_watch_fd(lua_State *L, lze_Command *c, bool over) {
  if (c->watch != NULL) return c->watch->fd;
  lze_Watch *w = calloc(1, sizeof *w);
  if (w == NULL) return lze_no_memory(L);
  w->fd = eventfd(over, EFD_CLOEXEC | EFD_NONBLOCK);
  const char *call = "eventfd";
  int error = w->fd < 0 ? errno : 0;
  if (error == 0 && !over) {
    w->event = c->event->handle;
    call = "pthread_create";
    error = watch_start(w);
  }
  if (error != 0) {
    if (w->fd >= 0) close(w->fd);
    free(w);
    return lze_fail_word(L, c->name, call, lze_errno_name(error), NULL,
                         "%s", strerror(error));
  }
  c->watch = w;
  return w->fd;
}

void lze_watch_join(lze_Watch *w) {
  if (w == NULL || !w->running) return;
  pthread_join(w->thread, NULL);
  w->running = false;
}

void lze_watch_stop(lze_Watch *w) {
  if (w != NULL) atomic_store(&w->stop, true);
}

void lze_watch_free(lze_Watch *w) {
  if (w == NULL) return;
  lze_watch_stop(w);
  lze_watch_join(w);
  close(w->fd);
  free(w);
}
