/*
 * zocl_thread.c - the driver's own threads, and forked processes.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_base.h"

#include <signal.h>
#include <sys/resource.h>

bool zocl_thread_start(pthread_t *thread, void *(*run)(void *), void *args)
{
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool started = pthread_create(thread, NULL, run, args) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return started;
}

static void *call_run(void *run)
{
  (*(void (**)(void))run)();
  return NULL;
}

bool zocl_thread_run(void (*run)(void))
{
  enum { STACK_BYTES = 1 << 20 };
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  bool started = pthread_create(&thread, &attributes, call_run, &run) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, NULL);
  return started;
}

size_t zocl_stack_raise(size_t bytes)
{
  struct rlimit space;
  pthread_attr_t all;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY ||
      pthread_getattr_default_np(&all) != 0)
    return 0;
  size_t now = 0, was = 0;
  if (pthread_attr_getstacksize(&all, &now) == 0 && now < bytes &&
      pthread_attr_setstacksize(&all, bytes) == 0 &&
      pthread_setattr_default_np(&all) == 0)
    was = now;
  pthread_attr_destroy(&all);
  return was;
}

void zocl_stack_restore(size_t was)
{
  pthread_attr_t all;
  if (was == 0 || pthread_getattr_default_np(&all) != 0) return;
  if (pthread_attr_setstacksize(&all, was) == 0)
    pthread_setattr_default_np(&all);
  pthread_attr_destroy(&all);
}

size_t zocl_stack_size(void)
{
  pthread_attr_t own;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &own) != 0) return 0;
  if (pthread_attr_getstacksize(&own, &size) != 0) size = 0;
  pthread_attr_destroy(&own);
  return size;
}

static atomic_bool forked;

bool zocl_forked(void)
{
  return atomic_load_explicit(&forked, memory_order_relaxed);
}

static void fork_child(void)
{
  atomic_store(&forked, true);
}

void zocl_fork_is_whole(void)
{
  atomic_store(&forked, false);
}

void zocl_fork_watch(void)
{
  pthread_atfork(NULL, NULL, fork_child);
}
