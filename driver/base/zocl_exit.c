/*
 * zocl_exit.c - waiting for work in flight when the process exits.
 * SPDX-License-Identifier: MIT
 */
#include "base/zocl_exit.h"
#include "base/zocl_work.h"

#include <stdlib.h>
#include <unistd.h>

enum {
  /* The time in seconds that exit waits for work in flight.  A compilation
     takes well under one second. */
  EXIT_SECONDS = 3,
  /* The further time that exit waits for a compilation that has begun:
     compilations are slow on a busy machine. */
  COMPILE_SECONDS = 10
};

static _Atomic(zocl_exit_query) compiles;

void zocl_exit_watch(zocl_exit_query is_compiling)
{
  atomic_store(&compiles, is_compiling);
}

static bool is_compiling(void)
{
  zocl_exit_query query = atomic_load(&compiles);
  return query != NULL && query();
}

/* Waits for work in flight for EXIT_SECONDS, unless an earlier wait timed out;
   then waits up to COMPILE_SECONDS until no compilation is running. */
static void drain(void)
{
  static atomic_bool in_vain;
  if (zocl_forked()) return;
  if (!atomic_load(&in_vain) &&
      zocl_work_wait(NULL, (uint64_t)EXIT_SECONDS * 1000000000u, false) ==
          ZE_RESULT_NOT_READY)
    atomic_store(&in_vain, true);
  for (int ms = 0; ms < 1000 * COMPILE_SECONDS && is_compiling(); ms += 5)
    usleep(5000);
}

static void drain_main_thread(void *unused)
{
  (void)unused;
  drain();
}

/* LLVM registers destructors while it compiles, in a build and again in a first
   launch, which another thread may run at an unknown time; and exit handlers
   run in reverse order.  So our handler that waits for that thread must run
   before all others. exit() begins with the thread-local destructors of the
   thread that calls it, nearly always the main thread; C++ libraries register
   these destructors with this function of the C library. */
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *)
    __attribute__((weak));
extern void *__dso_handle;

void zocl_exit_early(void)
{
  static atomic_flag once = ATOMIC_FLAG_INIT;
  if (&__cxa_thread_atexit_impl != NULL && getpid() == gettid() &&
      !atomic_flag_test_and_set(&once))
    __cxa_thread_atexit_impl(drain_main_thread, NULL, &__dso_handle);
}

/* Handles an exit from another thread: this handler runs before all handlers
   registered so far. */
void zocl_exit_late(void)
{
  static atomic_bool once;
  if (!atomic_load_explicit(&once, memory_order_relaxed) &&
      !atomic_exchange(&once, true))
    atexit(drain);
}
