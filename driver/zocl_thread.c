/*
 * zocl_thread.c - threads of the driver's own, and copies that several share.
 * SPDX-License-Identifier: MIT
 */
#include "zocl.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

bool zocl_thread_start(pthread_t *thread, void *(*run)(void *), void *args)
{
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool started = pthread_create(thread, NULL, run, args) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return started;
}

/* ------------------------------------------------------------------------
 * Copies.
 */

enum {
  /* Starting a thread and waiting for it takes the time of some 300 KiB. */
  SHARE_BYTES = 4 << 20,
  /* More of them do not get more out of the memory. */
  MAX_SHARES = 4,
  SHARE_ALIGNMENT = 4096
};

typedef struct share {
  char *to;
  const char *from;
  size_t size;
  pthread_t thread;
  bool started;
} share;

static void *share_copy(void *args)
{
  const share *s = args;
  memcpy(s->to, s->from, s->size);
  return NULL;
}

static size_t shares_of(size_t size)
{
  static atomic_long processors;
  size_t count = size / SHARE_BYTES;
  if (count < 2) return 1;
  long n = atomic_load_explicit(&processors, memory_order_relaxed);
  if (n == 0) {
    n = sysconf(_SC_NPROCESSORS_ONLN);
    atomic_store_explicit(&processors, n, memory_order_relaxed);
  }
  if (count > MAX_SHARES) count = MAX_SHARES;
  if (n >= 1 && count > (size_t)n) count = (size_t)n;
  return count;
}

void zocl_copy_bytes(void *to, const void *from, size_t size)
{
  const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
  const size_t count = shares_of(size);
  if (count < 2 || (a < b ? b - a : a - b) < size) {
    memmove(to, from, size);
    return;
  }
  share shares[MAX_SHARES];
  const size_t part = (size / count) & ~(size_t)(SHARE_ALIGNMENT - 1);
  for (size_t i = 0; i < count; i++) {
    share *s = &shares[i];
    *s = (share){.to = (char *)to + i * part,
                 .from = (const char *)from + i * part,
                 .size = i + 1 < count ? part : size - i * part};
    /* The last is for this thread. */
    s->started =
        i + 1 < count && zocl_thread_start(&s->thread, share_copy, s);
  }
  for (size_t i = count; i-- > 0;)
    if (!shares[i].started) share_copy(&shares[i]);
  for (size_t i = 0; i < count; i++)
    if (shares[i].started) pthread_join(shares[i].thread, NULL);
}
