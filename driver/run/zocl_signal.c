/*
 * zocl_signal.c - the state of events and fences: signalled or not.
 * SPDX-License-Identifier: MIT
 *
 * A signal is set by the host, or when a command attached to it completes.
 * Completion is polled on demand.  A command gets a callback only if a thread
 * sleeps or another command waits, so plain launches do not pay for one.  If
 * querying a mark may block until the command has ended, every command gets a
 * callback and is not queried before that comes; commands of other
 * streams then wait for the signal and not for the command, or they could end
 * before the signal is set.
 *
 * Several commands may be attached at once: a list that resets an event and
 * sets it again may be submitted many times before it first runs.  Each of
 * these commands sets the signal when it completes, and each reset clears it
 * when it runs.  A wait that cannot be resolved when it is submitted is
 * resolved when the stream gets there.  So the order of execution counts, not
 * the order of submission.
 *
 * Waiters are gates: commands that are already submitted wait for them until
 * the signal is set.  They are released in the order of their queues'
 * priorities, then in the order of submission.
 *
 * If the command that should set the signal failed, the signal is set with that
 * error, and the failure is reported to the waiters' streams.  The waiters
 * continue anyway: else nothing would run after them.
 *
 * A signal of a counter-based event is never reset.  It stands for one command,
 * and if that is submitted again, for its latest submission.  A wait for the
 * signal is a wait for the latest submission at that time.
 */
#include "run/zocl_signal.h"
#include "base/zocl_hook.h"
#include "run/zocl_feeder.h"
#include "run/zocl_stream.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  /* Time that a wait polls before it sleeps: about the cost of two context
     switches.  Longer polling would take the processor from the work that we
     wait for. */
  SPIN_NS = 3000,
  /* A sleeper polls at this interval, because a back end need not call back
     for a command that failed. */
  SLICE_NS = 50000000,
  /* Linux ends a sleep up to 50 us late, and then the thread must be scheduled:
     a wait with a limit sleeps no closer to it than this. */
  EARLY_NS = 150000
};

/* A command that will set the signal. */
typedef struct pending {
  backend_mark *mark;
  zocl_stream *stream;
  uint64_t number; /* its number in the stream */
  bool armed;      /* it has a callback */
  bool called;       /* the callback has come */
} pending;

/* Command `number` of a stream waits for `gate`. */
typedef struct waiter {
  backend_mark *gate;
  zocl_stream *stream;
  uint64_t number;
} waiter;

struct zocl_signal {
  atomic_uint refs;
  zocl_state *state;    /* `own`, or one of `shared` */
  zocl_state own;
  zocl_states *shared;  /* with other processes, or NULL */
  bool timed;
  bool counted;         /* of a counter-based event */
  zocl_driver *driver;
  pthread_mutex_t lock; /* of the state and all members below */
  pending one;          /* used if there is a single command, as usual */
  pending *commands;    /* in the order of submission */
  uint32_t command_count, command_room;
  zocl_stream *promised; /* its feeder will submit another, or NULL */
  uint32_t resets;      /* submitted to streams and not run yet */
  zocl_stream *reset_stream; /* of all these resets, only compared; NULL if
                                several */
  bool after_reset;     /* the last command was attached after the last reset */
  uint32_t waiter_count, waiter_room;
  waiter *waiters;      /* the first is released first */
  bool watched;         /* zocl_states.c will call zocl_signal_watch */
};

/* The data of a callback. */
typedef struct record {
  zocl_signal *signal;
  backend_mark *mark;
} record;

/* Work to do after the lock of a signal has been released: release waiters
   taken from it and wake sleepers, which would otherwise wait for the lock at
   once. */
typedef struct deferred {
  const zocl_driver *driver; /* set for waiters_done only */
  bool wake;
  waiter *waiters;
  uint32_t count;
  int status;
} deferred;

zocl_signal *zocl_signal_new(zocl_driver *driver, bool timed, bool set)
{
  zocl_signal *signal = calloc(1, sizeof *signal);
  if (signal == NULL) return NULL;
  atomic_init(&signal->refs, 1);
  signal->state = &signal->own;
  atomic_init(&signal->own.set, set);
  signal->timed = timed;
  signal->driver = driver;
  signal->commands = &signal->one;
  signal->command_room = 1;
  pthread_mutex_init(&signal->lock, NULL);
  return signal;
}

zocl_signal *zocl_signal_on(zocl_states *states, uint32_t index,
                            zocl_driver *driver, bool timed)
{
  zocl_signal *signal = zocl_signal_new(driver, timed, false);
  if (signal == NULL) return NULL;
  signal->shared = states;
  signal->state = zocl_ext.states_at(states, index);
  zocl_ext.states_ref(states);
  return signal;
}

void zocl_signal_ref(zocl_signal *signal)
{
  atomic_fetch_add_explicit(&signal->refs, 1, memory_order_relaxed);
}

/* Complete a waiter, even if the command it waits for has failed. */
static void waiter_release(const zocl_driver *driver, const waiter *w,
                           int status)
{
  if (status < 0) zocl_stream_fail(w->stream, w->number, status);
  driver->backend->gate_open(driver, w->gate);
  driver->backend->mark_release(driver, w->gate);
  zocl_stream_unref(w->stream);
}

static void waiters_release(const zocl_driver *driver, const deferred *d)
{
  for (uint32_t i = 0; i < d->count; i++)
    waiter_release(driver, &d->waiters[i], d->status);
  free(d->waiters);
}

static void futex_wake(const void *word, bool shared)
{
  syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT_MAX,
          NULL, NULL, 0);
}

/* Release the lock, then do the deferred work.  A thread that sees the signal
   set may free it at once: after unlocking, only its address is used. */
static void unlock_release(zocl_signal *signal, const deferred *d)
{
  const zocl_driver *driver = signal->driver;
  const void *word = &signal->state->set;
  bool shared = signal->shared != NULL;
  pthread_mutex_unlock(&signal->lock);
  if (d->wake) futex_wake(word, shared);
  if (d->count > 0) waiters_release(driver, d);
}

static void command_drop(zocl_signal *signal, uint32_t i)
{
  const zocl_driver *driver = signal->driver;
  driver->backend->mark_release(driver, signal->commands[i].mark);
  zocl_stream_unref(signal->commands[i].stream);
  signal->command_count--;
  for (; i < signal->command_count; i++)
    signal->commands[i] = signal->commands[i + 1];
}

static void promise_drop(zocl_signal *signal)
{
  if (signal->promised != NULL) zocl_stream_unref(signal->promised);
  signal->promised = NULL;
}

void zocl_signal_unref(zocl_signal *signal)
{
  if (signal == NULL) return;
  if (atomic_fetch_sub_explicit(&signal->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (!zocl_forked()) {
    while (signal->command_count > 0)
      command_drop(signal, signal->command_count - 1);
    /* The commands that the waiters wait for will never come. */
    waiters_release(signal->driver,
                    &(deferred){.waiters = signal->waiters,
                                .count = signal->waiter_count,
                                .status = BACKEND_GONE});
  }
  promise_drop(signal);
  if (signal->commands != &signal->one) free(signal->commands);
  pthread_mutex_destroy(&signal->lock);
  if (signal->shared != NULL) zocl_ext.states_unref(signal->shared);
  free(signal);
}

bool zocl_signal_timed(const zocl_signal *signal)
{
  return signal->timed;
}

zocl_signal *zocl_signal_counter(zocl_driver *driver, bool timed, bool set)
{
  zocl_signal *signal = zocl_signal_new(driver, timed, set);
  if (signal != NULL) signal->counted = true;
  return signal;
}

bool zocl_signal_counted(const zocl_signal *signal)
{
  return signal->counted;
}

/* Forget all commands submitted before.  The lock is held. */
static void forget_locked(zocl_signal *signal)
{
  while (signal->command_count > 0)
    command_drop(signal, signal->command_count - 1);
  signal->state->status = BACKEND_DONE;
  atomic_store(&signal->state->set, 0);
}

/* Take the waiters, to be released with the current status.  The lock is
   held. */
static void waiters_take(zocl_signal *signal, deferred *d)
{
  if (signal->waiter_count == 0) return;
  d->waiters = signal->waiters;
  d->count = signal->waiter_count;
  d->status = signal->state->status;
  signal->waiters = NULL;
  signal->waiter_count = signal->waiter_room = 0;
}

/* Set the signal.  The lock is held. */
static void set_locked(zocl_signal *signal, int status, uint64_t start,
                       uint64_t end, deferred *d)
{
  const uint64_t mask = (UINT64_C(1) << ZOCL_TIMESTAMP_BITS) - 1;
  zocl_state *state = signal->state;
  start &= mask;
  end &= mask;
  state->status = status;
  state->start = start > 0 ? start : 1;
  state->end = end > state->start ? end : state->start + 1;
  waiters_take(signal, d);
  if (signal->shared == NULL) {
    atomic_store_explicit(&state->set, 1, memory_order_release);
    if (atomic_load_explicit(&state->sleepers, memory_order_relaxed) > 0)
      d->wake = true;
    return;
  }
  /* Sleepers in other processes do not take the lock. */
  atomic_store(&state->set, 1);
  if (atomic_load(&state->sleepers) > 0) d->wake = true;
  zocl_ext.states_announce(signal->shared);
}

/* If command i is done, set the signal and remove the command.  With `ask`,
   query the mark even if the query may block.  The lock is held. */
static bool command_look(zocl_signal *signal, uint32_t i, bool ask, deferred *d)
{
  const zocl_driver *driver = signal->driver;
  const pending *p = &signal->commands[i];
  if (driver->query_blocks && !ask && p->armed && !p->called &&
      !zocl_stream_passed(p->stream, p->number))
    return false;
  int status = driver->backend->mark_status(driver, p->mark);
  if (status > BACKEND_DONE) return false;
  uint64_t start = 0, end = 0;
  if (signal->timed) driver->backend->mark_times(driver, p->mark, &start, &end);
  status = zocl_stream_done(p->stream, p->number, status);
  command_drop(signal, i);
  set_locked(signal, status, start, end, d);
  return true;
}

/* Find the commands that are done.  The lock is held.  If a command is not
   done, later commands of the same stream are not done either. */
static void look_locked(zocl_signal *signal, bool ask, deferred *d)
{
  const zocl_stream *busy = NULL;
  for (uint32_t i = 0; i < signal->command_count;) {
    if (signal->commands[i].stream != busy && command_look(signal, i, ask, d))
      continue;
    busy = signal->commands[i++].stream;
  }
}

static void mark_reached(backend_mark *mark, int status, void *data)
{
  record *r = data;
  zocl_signal *signal = r->signal;
  deferred d = {.count = 0};
  (void)status;
  pthread_mutex_lock(&signal->lock);
  for (uint32_t i = 0; i < signal->command_count; i++)
    if (signal->commands[i].mark == mark) signal->commands[i].called = true;
  look_locked(signal, false, &d);
  unlock_release(signal, &d);
  signal->driver->backend->mark_release(signal->driver, mark);
  zocl_signal_unref(signal);
  free(r);
}

/* Give every command a callback.  The lock is held; it is released while
   setting one, because it may come at once and in this thread. */
static void unlock_arm(zocl_signal *signal)
{
  const zocl_driver *driver = signal->driver;
  const backend_table *backend = driver->backend;
  for (uint32_t i = 0; i < signal->command_count;) {
    pending *p = &signal->commands[i++];
    if (p->armed) continue;
    record *r = malloc(sizeof *r);
    if (r == NULL) break; /* sleepers still poll, but later */
    *r = (record){signal, p->mark};
    p->armed = true;
    zocl_signal_ref(signal);
    backend->mark_retain(driver, r->mark);
    pthread_mutex_unlock(&signal->lock);
    if (!backend->mark_notify(driver, r->mark, mark_reached, r))
      mark_reached(r->mark, BACKEND_DONE, r);
    pthread_mutex_lock(&signal->lock);
    i = 0; /* the commands may have changed while unlocked */
  }
  pthread_mutex_unlock(&signal->lock);
}

void zocl_signal_arm(zocl_signal *signal)
{
  pthread_mutex_lock(&signal->lock);
  unlock_arm(signal);
}

/* ------------------------------------------------------------------------
 * Called by the host.
 */

void zocl_signal_set(zocl_signal *signal, uint64_t start, uint64_t end)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  if (signal->counted) forget_locked(signal);
  set_locked(signal, BACKEND_DONE, start, end, &d);
  unlock_release(signal, &d);
}

void zocl_signal_fail(zocl_signal *signal)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  set_locked(signal, BACKEND_FAILED, 0, 0, &d);
  unlock_release(signal, &d);
}

/* Reset the signal.  Commands that have completed count as before the reset,
   seen or not, and so do the waiters that they release. */
static void reset_locked(zocl_signal *signal, deferred *d)
{
  look_locked(signal, true, d);
  signal->state->status = BACKEND_DONE;
  atomic_store(&signal->state->set, 0);
}

void zocl_signal_reset(zocl_signal *signal)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  reset_locked(signal, &d);
  unlock_release(signal, &d);
}

static ze_result_t result_of(const zocl_signal *signal)
{
  int status = signal->state->status;
  if (status == BACKEND_DONE) return ZE_RESULT_SUCCESS;
  zocl_failure_heard();
  return zocl_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                   "the command failed with %s error %d",
                   signal->driver->backend->name, status);
}

ze_result_t zocl_signal_query(zocl_signal *signal)
{
  deferred d = {.count = 0};
  if (!atomic_load_explicit(&signal->state->set, memory_order_acquire)) {
    if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
    pthread_mutex_lock(&signal->lock);
    look_locked(signal, false, &d);
    bool set = atomic_load(&signal->state->set);
    unlock_release(signal, &d);
    if (!set) return ZE_RESULT_NOT_READY;
  }
  return result_of(signal);
}

static uint64_t monotonic(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
  for (int i = 0; i < 8; i++) __builtin_ia32_pause();
#endif
}

/* Sleep until the signal may be set, or until `end` (UINT64_MAX: no limit). */
static void sleep_until(zocl_signal *signal, uint64_t end)
{
  pthread_mutex_lock(&signal->lock);
  zocl_state *state = signal->state;
  atomic_fetch_add(&state->sleepers, 1);
  unlock_arm(signal);
  uint64_t now = monotonic(), left = end > now ? end - now : 0;
  if (left > SLICE_NS) left = SLICE_NS;
  struct timespec t = {.tv_nsec = (long)left};
  syscall(SYS_futex, &state->set,
          signal->shared != NULL ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, 0, &t, NULL,
          0);
  atomic_fetch_sub(&state->sleepers, 1);
}

void zocl_signal_promise(zocl_signal *signal, zocl_stream *stream)
{
  zocl_stream_ref(stream);
  pthread_mutex_lock(&signal->lock);
  promise_drop(signal);
  signal->promised = stream;
  pthread_mutex_unlock(&signal->lock);
}

/* Submit the jobs of the feeder here instead of sleeping until its thread
   wakes. */
static void help(zocl_signal *signal, uint64_t timeout)
{
  pthread_mutex_lock(&signal->lock);
  zocl_stream *stream = signal->promised;
  if (stream != NULL) zocl_stream_ref(stream);
  pthread_mutex_unlock(&signal->lock);
  if (stream == NULL) return;
  zocl_feeder_wait(zocl_stream_feeder(stream), timeout);
  zocl_stream_unref(stream);
}

ze_result_t zocl_signal_wait(zocl_signal *signal, uint64_t timeout)
{
  ze_result_t result = zocl_signal_query(signal);
  if (result != ZE_RESULT_NOT_READY || timeout == 0) return result;
  uint64_t start = monotonic();
  help(signal, timeout);
  uint64_t end = timeout > UINT64_MAX - start ? UINT64_MAX : start + timeout;
  uint64_t spin = timeout < SPIN_NS ? end : start + SPIN_NS;
  for (uint64_t now = start; now < end; now = monotonic()) {
    if (now < spin || end - now <= EARLY_NS)
      pause_a_little();
    else
      sleep_until(signal, end == UINT64_MAX ? end : end - EARLY_NS);
    result = zocl_signal_query(signal);
    if (result != ZE_RESULT_NOT_READY) return result;
  }
  return result;
}

bool zocl_signal_times(zocl_signal *signal, uint64_t *start, uint64_t *end)
{
  deferred d = {.count = 0};
  if (zocl_forked()) return false;
  pthread_mutex_lock(&signal->lock);
  look_locked(signal, false, &d);
  bool set = atomic_load(&signal->state->set);
  *start = signal->state->start;
  *end = signal->state->end;
  unlock_release(signal, &d);
  return set;
}

/* ------------------------------------------------------------------------
 * Called by streams.
 */

/* Takes over the waiter's reference to the stream on success. */
static bool waiter_add(zocl_signal *signal, waiter added)
{
  int rank = zocl_stream_rank(added.stream);
  if (signal->shared != NULL && !signal->watched) {
    signal->watched = zocl_ext.states_watch(signal->shared, signal);
    if (!signal->watched) return false;
  }
  if (signal->waiter_count == signal->waiter_room) {
    uint32_t room = signal->waiter_room > 0 ? 2 * signal->waiter_room : 4;
    waiter *waiters = realloc(signal->waiters, room * sizeof *waiters);
    if (waiters == NULL) return false;
    signal->waiters = waiters;
    signal->waiter_room = room;
  }
  uint32_t i = signal->waiter_count++;
  for (; i > 0 && zocl_stream_rank(signal->waiters[i - 1].stream) < rank; i--)
    signal->waiters[i] = signal->waiters[i - 1];
  signal->waiters[i] = added;
  return true;
}

bool zocl_signal_watch(zocl_signal *signal)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  if (atomic_load(&signal->state->set)) waiters_take(signal, &d);
  bool more = signal->watched = signal->waiter_count > 0;
  unlock_release(signal, &d);
  return more;
}

/* Add a waiter; *gate is its gate, with a reference for the caller. */
static ze_result_t waiter_new(zocl_signal *signal, zocl_stream *stream,
                              uint64_t number, backend_mark **gate)
{
  const zocl_driver *driver = signal->driver;
  ze_result_t result = driver->backend->gate_new(driver, gate);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_stream_ref(stream);
  if (!waiter_add(signal, (waiter){*gate, stream, number})) {
    zocl_stream_unref(stream);
    driver->backend->mark_release(driver, *gate);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  driver->backend->mark_retain(driver, *gate);
  return ZE_RESULT_SUCCESS;
}

/* Returns true if the order of this stream alone ensures that the signal is
   set.  If resets are pending, they and the last command must be in this
   stream, with the command after the last reset. */
static bool stream_sets(const zocl_signal *signal, const zocl_stream *stream)
{
  uint32_t n = signal->command_count;
  if (signal->resets > 0)
    return n > 0 && signal->after_reset && signal->reset_stream == stream &&
           signal->commands[n - 1].stream == stream;
  for (uint32_t i = 0; i < n; i++)
    if (signal->commands[i].stream == stream) return true;
  return false;
}

/* Returns true if the first command will be the one that sets the signal.  If
   the commands belong to several streams, any of them may come first.  The host
   may be first if the stream waits for events.  If the command has failed, its
   stream reports that. */
static bool is_set_by_first(const zocl_signal *signal)
{
  if (signal->command_count == 0) return false;
  if (signal->counted) return true;
  const zocl_stream *stream = signal->commands[0].stream;
  for (uint32_t i = 1; i < signal->command_count; i++)
    if (signal->commands[i].stream != stream) return false;
  return !signal->driver->query_blocks && !zocl_stream_waits(stream) &&
         zocl_stream_status(signal->commands[0].stream,
                            signal->commands[0].number) == BACKEND_DONE;
}

ze_result_t zocl_signal_resolve(zocl_signal *signal, zocl_stream *stream,
                                uint64_t number, bool blocked, zocl_wait *wait,
                                backend_mark **mark)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  deferred d = {.count = 0};
  *wait = ZOCL_WAIT_NONE;
  pthread_mutex_lock(&signal->lock);
  if (blocked && !signal->counted)
    *wait = ZOCL_WAIT_LATER;
  else if (stream_sets(signal, stream))
    ; /* the stream's own order is enough */
  else if (!signal->counted && signal->resets > 0)
    *wait = ZOCL_WAIT_LATER;
  else if (!atomic_load(&signal->state->set)) {
    look_locked(signal, false, &d);
    if (atomic_load(&signal->state->set))
      ; /* it has just been set */
    else if (is_set_by_first(signal)) {
      *wait = ZOCL_WAIT_MARK;
      *mark = signal->commands[0].mark;
      signal->driver->backend->mark_retain(signal->driver, *mark);
    } else {
      *wait = ZOCL_WAIT_MARK;
      result = waiter_new(signal, stream, number, mark);
      unlock_arm(signal);
      return result;
    }
  }
  if (*wait == ZOCL_WAIT_NONE && atomic_load(&signal->state->set) &&
      signal->state->status < 0)
    zocl_stream_fail(stream, number, signal->state->status);
  unlock_release(signal, &d);
  return result;
}

void zocl_signal_complete(zocl_signal *signal, zocl_stream *stream,
                          uint64_t number, backend_mark *mark)
{
  const waiter w = {mark, stream, number};
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  look_locked(signal, false, &d);
  bool set = atomic_load(&signal->state->set);
  if (!set && waiter_add(signal, w)) {
    unlock_arm(signal);
    return;
  }
  int status = set ? signal->state->status : BACKEND_NO_MEMORY;
  unlock_release(signal, &d);
  waiter_release(signal->driver, &w, status);
}

static void waiters_done(backend_mark *mark, int status, void *data)
{
  deferred *d = data;
  (void)mark;
  d->status = status;
  waiters_release(d->driver, d);
  free(d);
}

/* Bind the waiters of a counted signal to the submission that `mark` stands
   for, even if the command is submitted again before that is done.  The lock is
   held; it is released. */
static ze_result_t unlock_bind(zocl_signal *signal, backend_mark *mark)
{
  const zocl_driver *driver = signal->driver;
  deferred *d = malloc(sizeof *d);
  if (d == NULL) {
    pthread_mutex_unlock(&signal->lock);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  *d = (deferred){.driver = driver,
                  .waiters = signal->waiters,
                  .count = signal->waiter_count};
  signal->waiters = NULL;
  signal->waiter_count = signal->waiter_room = 0;
  pthread_mutex_unlock(&signal->lock);
  if (!driver->backend->mark_notify(driver, mark, waiters_done, d))
    waiters_done(mark, BACKEND_FAILED, d);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_signal_attach(zocl_signal *signal, zocl_stream *stream,
                               uint64_t number, backend_mark *mark)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  if (signal->counted) {
    forget_locked(signal);
    if (signal->waiter_count > 0) {
      ze_result_t result = unlock_bind(signal, mark);
      if (result != ZE_RESULT_SUCCESS) return result;
      pthread_mutex_lock(&signal->lock);
    }
  }
  if (signal->command_count == signal->command_room) {
    /* First remove the oldest if they are done, so that a signal that nobody
       queries does not accumulate commands. */
    while (signal->command_count > 0 && command_look(signal, 0, false, &d))
      ;
    if (signal->command_count == signal->command_room) {
      uint32_t room = 2 * signal->command_room;
      bool first = signal->commands == &signal->one;
      pending *more = realloc(first ? NULL : signal->commands,
                              room * sizeof *more);
      if (more == NULL) {
        unlock_release(signal, &d);
        return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
      }
      if (first) *more = signal->one;
      signal->commands = more;
      signal->command_room = room;
    }
  }
  promise_drop(signal);
  signal->commands[signal->command_count++] =
      (pending){.mark = mark, .stream = stream, .number = number};
  zocl_stream_ref(stream);
  signal->after_reset = true;
  /* We cannot see whether another process waits for a shared signal. */
  if (signal->waiter_count > 0 || signal->shared != NULL ||
      signal->driver->query_blocks ||
      atomic_load_explicit(&signal->state->sleepers, memory_order_relaxed) >
          0) {
    const void *word = &signal->state->set;
    bool shared = signal->shared != NULL;
    unlock_arm(signal);
    if (d.wake) futex_wake(word, shared);
    waiters_release(signal->driver, &d);
  } else
    unlock_release(signal, &d);
  return ZE_RESULT_SUCCESS;
}

void zocl_signal_reset_begin(zocl_signal *signal, zocl_stream *stream)
{
  pthread_mutex_lock(&signal->lock);
  if (signal->resets++ == 0)
    signal->reset_stream = stream;
  else if (signal->reset_stream != stream)
    signal->reset_stream = NULL;
  signal->after_reset = false;
  pthread_mutex_unlock(&signal->lock);
  zocl_signal_ref(signal);
}

void zocl_signal_reset_end(zocl_signal *signal)
{
  deferred d = {.count = 0};
  pthread_mutex_lock(&signal->lock);
  signal->resets--;
  reset_locked(signal, &d);
  unlock_release(signal, &d);
  zocl_signal_unref(signal);
}
