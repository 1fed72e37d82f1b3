/*
 * zocl_stream.c - commands in order, on a stream of the back end.
 * SPDX-License-Identifier: MIT
 *
 * Commands are submitted in the order of the calls.  Resets, and copies and
 * fills if the memory allows it, are done by our functions, which the back end
 * calls in the stream's order.  If such a function is cheap and the
 * stream is idle, the caller runs it at once.
 */
#include "run/zocl_stream.h"
#include "base/zocl_work.h"
#include "base/zocl_exit.h"
#include "run/zocl_feeder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  /* With at most this many waits, no memory is allocated. */
  FEW_WAITS = 8
};

struct zocl_stream {
  zocl_work work;            /* base class, for waits for a device's work; must
                                be first */
  atomic_uint refs;
  zocl_device *device;
  ze_command_queue_priority_t priority;
  zocl_feeder *feeder;
  pthread_mutex_t lock;      /* of all members below that are not atomic */
  backend_stream *lane;      /* the commands run here; NULL if closed */
  backend_stream *side;      /* for indirect launches, which refer to the stream
                                until they end; NULL until needed */
  uint64_t submitted;        /* number of the last command */
  backend_mark *block;       /* the last command that waits for events; NULL if
                                it is done */
  _Atomic uint64_t waiting;  /* number of that command */
  _Atomic uint64_t done;     /* all commands up to this one are done */
  _Atomic uint64_t last;     /* a closed stream ends after this command;
                                UINT64_MAX before closing and after the end */
  atomic_int failed;         /* the last error; 0 before the first */
  atomic_bool unreported;        /* the error has not been reported yet */
  uint64_t failed_first, failed_last; /* commands that the error applies to, up
                                         to UINT64_MAX until the host has been
                                         informed; guarded by `failures` */
  uint64_t failed_heard;     /* `times_heard` when it failed */
  zocl_signal *tail;         /* of a marker after command `tail_number` */
  uint64_t tail_number;
};

static const zocl_work_kind work_kind;
static ze_result_t stream_tail(zocl_stream *stream, zocl_signal **tail);

/* Returns true if all submitted commands have been seen to end. */
static bool stream_is_idle(const zocl_stream *stream)
{
  return atomic_load_explicit(&stream->done, memory_order_acquire) ==
         stream->submitted;
}

int zocl_stream_rank(const zocl_stream *stream)
{
  switch (stream->priority) {
  case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW: return -1;
  case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH: return 1;
  default: return 0;
  }
}

ze_result_t zocl_stream_new(zocl_device *device,
                            ze_command_queue_priority_t priority,
                            zocl_stream **stream)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  zocl_stream *made = calloc(1, sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  if ((made->feeder = zocl_feeder_new()) == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  made->device = device;
  made->priority = priority;
  ze_result_t result = device->driver->backend->stream_new(
      device, zocl_stream_rank(made), false, &made->lane);
  if (result != ZE_RESULT_SUCCESS) {
    zocl_feeder_free(made->feeder);
    free(made);
    return result;
  }
  atomic_init(&made->refs, 1);
  atomic_init(&made->last, UINT64_MAX);
  pthread_mutex_init(&made->lock, NULL);
  made->work.kind = &work_kind;
  made->work.device = device;
  zocl_work_add(&made->work);
  *stream = made;
  return ZE_RESULT_SUCCESS;
}

zocl_feeder *zocl_stream_feeder(const zocl_stream *stream)
{
  return stream->feeder;
}

void zocl_stream_ref(zocl_stream *stream)
{
  atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void zocl_stream_unref(zocl_stream *stream)
{
  if (atomic_fetch_sub_explicit(&stream->refs, 1, memory_order_acq_rel) != 1)
    return;
  const zocl_device *device = stream->device;
  if (stream->side != NULL && !zocl_forked())
    device->driver->backend->stream_close(device, stream->side, true);
  zocl_signal_unref(stream->tail);
  zocl_feeder_free(stream->feeder);
  pthread_mutex_destroy(&stream->lock);
  free(stream);
}

/* Remove a closed stream from the device's work after its last command. */
static void stream_leave(zocl_stream *stream)
{
  uint64_t last = atomic_load(&stream->last);
  if (atomic_load(&stream->done) < last ||
      !atomic_compare_exchange_strong(&stream->last, &last, UINT64_MAX))
    return;
  zocl_work_remove(&stream->work);
  zocl_stream_unref(stream);
}

void zocl_stream_close(zocl_stream *stream)
{
  const zocl_device *device = stream->device;
  const backend_table *backend = device->driver->backend;
  if (zocl_forked()) return;
  zocl_feeder_stop(stream->feeder);
  pthread_mutex_lock(&stream->lock);
  zocl_signal *tail = NULL;
  /* Without a tail, nothing would report the end. */
  if (!stream_is_idle(stream) &&
      stream_tail(stream, &tail) != ZE_RESULT_SUCCESS)
    atomic_store(&stream->done, stream->submitted);
  if (tail == NULL) {
    tail = stream->tail;
    stream->tail = NULL;
  }
  const bool idle = stream_is_idle(stream);
  backend->stream_close(device, stream->lane, idle);
  if (stream->block != NULL)
    backend->mark_release(device->driver, stream->block);
  stream->lane = NULL;
  stream->block = NULL;
  zocl_stream_ref(stream);
  atomic_store(&stream->last, stream->submitted);
  pthread_mutex_unlock(&stream->lock);
  if (tail != NULL) zocl_signal_arm(tail);
  zocl_signal_unref(tail);
  stream_leave(stream);
  zocl_stream_unref(stream);
}

/* ------------------------------------------------------------------------
 * Failures.
 */

/* Held while a stream fails and while its error is reported. */
static pthread_mutex_t failures = PTHREAD_MUTEX_INITIALIZER;

/* The failure epoch: how often the host has been informed of a failure, of any
   stream. */
static _Atomic uint64_t times_heard;

void zocl_failure_heard(void) { atomic_fetch_add(&times_heard, 1); }

/* Call this before submitting a command: a new command does not inherit a
   failure already reported. */
static void failure_end(zocl_stream *stream)
{
  if (atomic_load_explicit(&stream->failed, memory_order_relaxed) == 0) return;
  pthread_mutex_lock(&failures);
  if (stream->failed_last == UINT64_MAX &&
      stream->failed_heard != atomic_load(&times_heard))
    stream->failed_last = stream->submitted;
  pthread_mutex_unlock(&failures);
}

static bool has_failed(const zocl_stream *stream, uint64_t number)
{
  return atomic_load(&stream->failed) != 0 && number >= stream->failed_first &&
         number <= stream->failed_last;
}

void zocl_stream_fail(zocl_stream *stream, uint64_t number, int status)
{
  pthread_mutex_lock(&failures);
  if (!has_failed(stream, number)) {
    stream->failed_first = number;
    stream->failed_last = UINT64_MAX;
    stream->failed_heard = atomic_load(&times_heard);
    atomic_store(&stream->failed, status);
    atomic_store(&stream->unreported, true);
  }
  pthread_mutex_unlock(&failures);
}

int zocl_stream_status(zocl_stream *stream, uint64_t number)
{
  int status = BACKEND_DONE;
  if (atomic_load_explicit(&stream->failed, memory_order_relaxed) == 0)
    return status;
  pthread_mutex_lock(&failures);
  if (has_failed(stream, number)) status = atomic_load(&stream->failed);
  pthread_mutex_unlock(&failures);
  return status;
}

/* A failed command may end before earlier ones, which still run. */
int zocl_stream_done(zocl_stream *stream, uint64_t number, int status)
{
  if (status < 0) {
    zocl_stream_fail(stream, number, status);
    return status;
  }
  uint64_t done = atomic_load_explicit(&stream->done, memory_order_relaxed);
  while (done < number && !atomic_compare_exchange_weak(&stream->done, &done,
                                                        number))
    ;
  status = zocl_stream_status(stream, number);
  zocl_exit_late();
  stream_leave(stream);
  return status;
}

/* Returns the pending error of commands up to `number` and of a wait after
   them. */
static ze_result_t stream_result(zocl_stream *stream, uint64_t number)
{
  ze_result_t result = zocl_feeder_result(stream->feeder);
  if (result != ZE_RESULT_SUCCESS ||
      !atomic_load_explicit(&stream->unreported, memory_order_relaxed))
    return result;
  pthread_mutex_lock(&failures);
  int status = BACKEND_DONE;
  if (stream->failed_first <= number + 1 &&
      atomic_exchange(&stream->unreported, false)) {
    status = atomic_load(&stream->failed);
    if (stream->failed_last > number) stream->failed_last = number;
  }
  pthread_mutex_unlock(&failures);
  if (status == BACKEND_DONE) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                   "a command failed with %s error %d",
                   stream->device->driver->backend->name, status);
}

bool zocl_stream_passed(const zocl_stream *stream, uint64_t number)
{
  return atomic_load_explicit(&stream->done, memory_order_acquire) >= number;
}

bool zocl_stream_waits(const zocl_stream *stream)
{
  return !zocl_stream_passed(stream, atomic_load(&stream->waiting));
}

/* ------------------------------------------------------------------------
 * Submission.
 */

typedef struct later_args {
  zocl_signal *signal;
  zocl_stream *stream;
  uint64_t number;
  backend_mark *gate;
} later_args;

static void run_later(void *args)
{
  const later_args *a = args;
  zocl_signal_complete(a->signal, a->stream, a->number, a->gate);
  zocl_signal_unref(a->signal);
}

static void run_reset(void *args)
{
  zocl_signal *const *signal = args;
  zocl_signal_reset_end(*signal);
}

static backend_place stream_place(const zocl_stream *stream, uint32_t count,
                                  backend_mark *const *waits,
                                  backend_mark **mark)
{
  return (backend_place){stream->device, stream->lane, count,
                         count > 0 ? waits : NULL, mark};
}

/* Create a gate that opens after the stream has reached this place and `signal`
   is set. */
static ze_result_t gate_later(zocl_stream *stream, zocl_signal *signal,
                              backend_mark **gate)
{
  const zocl_driver *driver = stream->device->driver;
  const backend_table *backend = driver->backend;
  ze_result_t result = backend->gate_new(driver, gate);
  if (result != ZE_RESULT_SUCCESS) return result;
  later_args args = {signal, stream, stream->submitted + 1, *gate};
  backend->mark_retain(driver, *gate);
  zocl_signal_ref(signal);
  zocl_stream_ref(stream);
  backend_mark *here = NULL;
  const backend_place place =
      stream_place(stream, 0, NULL, stream->lane->careful ? &here : NULL);
  result = backend->call(&place, run_later, &args, sizeof args);
  if (here != NULL) {
    backend->keep(stream->device, stream->lane, here);
    backend->mark_release(driver, here);
  }
  if (result == ZE_RESULT_SUCCESS) {
    stream->submitted++;
    return ZE_RESULT_SUCCESS;
  }
  zocl_stream_unref(stream);
  zocl_signal_unref(signal);
  backend->mark_release(driver, *gate);
  backend->mark_release(driver, *gate);
  *gate = NULL;
  return result;
}

/* Returns true if a command that waits for events is pending. */
static bool stream_is_blocked(zocl_stream *stream)
{
  const zocl_driver *driver = stream->device->driver;
  if (stream->block == NULL) return false;
  if (driver->backend->mark_status(driver, stream->block) > BACKEND_DONE)
    return true;
  driver->backend->mark_release(driver, stream->block);
  stream->block = NULL;
  return false;
}

/* Note that the last submitted command waits for events. */
static void stream_block(zocl_stream *stream, backend_mark *mark)
{
  const zocl_driver *driver = stream->device->driver;
  if (stream->block != NULL)
    driver->backend->mark_release(driver, stream->block);
  driver->backend->mark_retain(driver, mark);
  stream->block = mark;
  atomic_store(&stream->waiting, stream->submitted);
}

/* Get the marks that `command` must wait for. */
static ze_result_t waits_resolve(zocl_stream *stream,
                                 const zocl_command *command,
                                 backend_mark **waits, uint32_t *count)
{
  for (uint32_t i = 0; i < command->wait_count; i++) {
    zocl_wait wait;
    ze_result_t result =
        zocl_signal_resolve(command->waits[i], stream, stream->submitted + 1,
                            stream_is_blocked(stream), &wait, &waits[*count]);
    if (result == ZE_RESULT_SUCCESS && wait == ZOCL_WAIT_LATER)
      result = gate_later(stream, command->waits[i], &waits[*count]);
    if (result != ZE_RESULT_SUCCESS) return result;
    if (wait != ZOCL_WAIT_NONE) ++*count;
  }
  return ZE_RESULT_SUCCESS;
}

/* Run the command now in this thread, if that is as good as in the stream. */
static bool command_run(zocl_stream *stream, const zocl_command *command)
{
  if (zocl_option.slow || !stream_is_idle(stream) ||
      atomic_load_explicit(&stream->unreported, memory_order_relaxed))
    return false;
  if (command->kind == ZOCL_COMMAND_LAUNCH ||
      command->kind == ZOCL_COMMAND_INDIRECT ||
      command->kind == ZOCL_COMMAND_TRANSFER ||
      (command->kind == ZOCL_COMMAND_HOST && !command->small))
    return false;
  uint64_t start = zocl_clock();
  if (command->keep != NULL) command->keep(command->args);
  if (command->kind == ZOCL_COMMAND_HOST) command->function(command->args);
  if (command->kind == ZOCL_COMMAND_RESET) zocl_signal_reset(command->reset);
  if (command->signal != NULL)
    zocl_signal_set(command->signal, start, zocl_clock());
  return true;
}

/* With test options: run before and after each command. */
static void run_before(void *unused)
{
  (void)unused;
  usleep((useconds_t)zocl_option.delay_start_us);
  if (zocl_option.device_memory_private) zocl_memory_begin();
}

static void run_after(void *unused)
{
  (void)unused;
  if (zocl_option.device_memory_private) zocl_memory_end();
  usleep((useconds_t)zocl_option.delay_end_us);
}

static ze_result_t command_enqueue(zocl_stream *stream,
                                   const zocl_command *command,
                                   const backend_place *place)
{
  const backend_table *backend = stream->device->driver->backend;
  ze_result_t result = ZE_RESULT_SUCCESS;
  zocl_signal *reset = command->reset;
  switch (command->kind) {
  case ZOCL_COMMAND_LAUNCH:
    return zocl_kernel_enqueue(command->launch, place);
  case ZOCL_COMMAND_HOST:
    return backend->call(place, command->function, command->args,
                         command->args_size);
  case ZOCL_COMMAND_TRANSFER:
    return command->transfer(place, command->args, command->args_size);
  case ZOCL_COMMAND_RESET:
    zocl_signal_reset_begin(reset, stream);
    result = backend->call(place, run_reset, &reset, sizeof reset);
    if (result != ZE_RESULT_SUCCESS) zocl_signal_reset_end(reset);
    return result;
  case ZOCL_COMMAND_INDIRECT:
    if (stream->side == NULL)
      result = backend->stream_new(stream->device, zocl_stream_rank(stream),
                                   true, &stream->side);
    if (result != ZE_RESULT_SUCCESS) return result;
    return command->indirect(place, stream->side, stream,
                             stream->submitted + 1, command);
  case ZOCL_COMMAND_NOTHING:
    return backend->mark(place);
  }
  return result;
}

static ze_result_t command_enqueue_slow(zocl_stream *stream,
                                        const zocl_command *command,
                                        const backend_place *place)
{
  const backend_table *backend = stream->device->driver->backend;
  void *args = NULL;
  backend_place step = *place;
  step.mark = NULL;
  ze_result_t error = backend->call(&step, run_before, &args, sizeof args);
  if (error != ZE_RESULT_SUCCESS) return error;
  step = stream_place(stream, 0, NULL, NULL);
  ze_result_t result = command_enqueue(stream, command, &step);
  if (result == ZE_RESULT_SUCCESS) step.mark = place->mark;
  error = backend->call(&step, run_after, &args, sizeof args);
  return result != ZE_RESULT_SUCCESS ? result : error;
}

/* Use the mark of the last submitted command, which sets `signal` unless that
   is NULL.  Takes over the mark. */
__attribute__((noinline)) static ze_result_t
mark_use(zocl_stream *stream, zocl_signal *signal, backend_mark *mark)
{
  const zocl_driver *driver = stream->device->driver;
  if (stream->lane->careful)
    driver->backend->keep(stream->device, stream->lane, mark);
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (signal != NULL) {
    result = zocl_signal_attach(signal, stream, stream->submitted, mark);
    if (result == ZE_RESULT_SUCCESS) return result;
  }
  driver->backend->mark_release(driver, mark);
  return result;
}

static void marks_release(const zocl_driver *driver, uint32_t count,
                          backend_mark **marks)
{
  for (uint32_t i = 0; i < count; i++)
    driver->backend->mark_release(driver, marks[i]);
}

ze_result_t zocl_stream_submit(zocl_stream *stream,
                               const zocl_command *command)
{
  backend_mark *few[FEW_WAITS], **waits = few, *mark = NULL;
  uint32_t count = 0;
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  if (command->kind == ZOCL_COMMAND_INDIRECT && command->signal != NULL &&
      zocl_signal_counted(command->signal)) {
    /* An indirect launch has no mark that the signal could stand for, but a
       command after it has. */
    zocl_command launches = *command;
    zocl_command after = {.kind = ZOCL_COMMAND_NOTHING,
                          .signal = command->signal};
    launches.signal = NULL;
    ze_result_t launched = zocl_stream_submit(stream, &launches);
    return launched == ZE_RESULT_SUCCESS ? zocl_stream_submit(stream, &after)
                                         : launched;
  }
  if (command->wait_count > FEW_WAITS) {
    waits = malloc(command->wait_count * sizeof *waits);
    if (waits == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  pthread_mutex_lock(&stream->lock);
  failure_end(stream);
  ze_result_t result = waits_resolve(stream, command, waits, &count);
  if (result != ZE_RESULT_SUCCESS) goto done;
  if (count == 0) {
    /* The stream's own order is enough. */
    if (command->kind == ZOCL_COMMAND_NOTHING && command->signal == NULL)
      goto done;
    if (command_run(stream, command)) goto done;
  }
  /* An indirect launch sets its signal itself. */
  zocl_signal *signal =
      command->kind != ZOCL_COMMAND_INDIRECT ? command->signal : NULL;
  backend_stream *lane = stream->lane;
  const bool timed = signal != NULL && zocl_signal_timed(signal);
  if (lane->careful || (timed && !lane->timed)) {
    result = stream->device->driver->backend->begin(
        stream->device, lane, timed, stream_is_idle(stream));
    if (result != ZE_RESULT_SUCCESS) goto done;
  }
  if (command->keep != NULL) command->keep(command->args);
  const backend_place place = stream_place(
      stream, count, waits,
      signal != NULL || count > 0 || lane->careful ? &mark : NULL);
  result = (zocl_option.slow ? command_enqueue_slow : command_enqueue)(
      stream, command, &place);
  /* Part of a failed command may be in the stream. */
  stream->submitted++;
  if (result != ZE_RESULT_SUCCESS) {
    if (command->drop != NULL) command->drop(command->args);
    goto done;
  }
  if (count > 0) stream_block(stream, mark != NULL ? mark : waits[count - 1]);
  if (mark != NULL) result = mark_use(stream, signal, mark);
  if (lane->lazy)
    stream->device->driver->backend->flush(stream->device, lane);
done:
  pthread_mutex_unlock(&stream->lock);
  if (count > 0) marks_release(stream->device->driver, count, waits);
  if (waits != few) free(waits);
  return result;
}

/* ------------------------------------------------------------------------
 * Waiting.
 */

/* Get a signal behind everything submitted, with a reference for the caller. */
static ze_result_t stream_tail(zocl_stream *stream, zocl_signal **tail)
{
  zocl_driver *driver = stream->device->driver;
  if (stream->tail == NULL || stream->tail_number != stream->submitted) {
    zocl_signal *made = zocl_signal_new(driver, false, false);
    backend_mark *mark = NULL;
    if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    const backend_place place = stream_place(stream, 0, NULL, &mark);
    ze_result_t result = driver->backend->mark(&place);
    if (result != ZE_RESULT_SUCCESS) {
      zocl_signal_unref(made);
      return result;
    }
    /* A new signal has room for one command. */
    zocl_signal_attach(made, stream, ++stream->submitted, mark);
    driver->backend->flush(stream->device, stream->lane);
    zocl_signal_unref(stream->tail);
    stream->tail = made;
    stream->tail_number = stream->submitted;
  }
  *tail = stream->tail;
  zocl_signal_ref(*tail);
  return ZE_RESULT_SUCCESS;
}

/* Wait without a limit.  The lock is held and released. */
static ze_result_t stream_finish(zocl_stream *stream)
{
  const zocl_device *device = stream->device;
  uint64_t number = stream->submitted;
  ze_result_t result =
      device->driver->backend->finish(device, stream->lane, &stream->lock);
  if (result == ZE_RESULT_SUCCESS)
    zocl_stream_done(stream, number, BACKEND_DONE);
  return result;
}

/* Wait until all submitted commands have ended, successfully or not; *number is
   the last of them. */
static ze_result_t stream_end(zocl_stream *stream, uint64_t timeout,
                              uint64_t *number)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  uint64_t start = timeout == 0 || timeout == UINT64_MAX ? 0 : zocl_clock();
  if (zocl_feeder_busy(stream->feeder)) {
    ze_result_t fed = zocl_feeder_wait(stream->feeder, timeout);
    if (fed != ZE_RESULT_SUCCESS) return fed;
  }
  pthread_mutex_lock(&stream->lock);
  *number = stream->submitted;
  if (stream_is_idle(stream)) {
    pthread_mutex_unlock(&stream->lock);
    return ZE_RESULT_SUCCESS;
  }
  if (timeout == UINT64_MAX && stream->lane != NULL)
    return stream_finish(stream);
  zocl_signal *tail = NULL;
  ze_result_t result = stream_tail(stream, &tail);
  *number = stream->submitted;
  pthread_mutex_unlock(&stream->lock);
  if (result != ZE_RESULT_SUCCESS) return result;
  /* Ignore this error; the caller reports the stream's. */
  if (zocl_signal_wait(tail, zocl_time_left(timeout, start)) ==
      ZE_RESULT_NOT_READY)
    result = ZE_RESULT_NOT_READY;
  zocl_signal_unref(tail);
  return result;
}

ze_result_t zocl_stream_wait(zocl_stream *stream, uint64_t timeout)
{
  uint64_t number;
  ze_result_t result = stream_end(stream, timeout, &number);
  return result == ZE_RESULT_SUCCESS ? stream_result(stream, number) : result;
}

static bool work_is_idle(zocl_work *work)
{
  zocl_stream *stream = (zocl_stream *)work;
  zocl_signal *tail = NULL;
  if (zocl_feeder_wait(stream->feeder, 0) != ZE_RESULT_SUCCESS) return false;
  pthread_mutex_lock(&stream->lock);
  bool idle = stream_is_idle(stream);
  if (!idle && stream_tail(stream, &tail) != ZE_RESULT_SUCCESS) tail = NULL;
  pthread_mutex_unlock(&stream->lock);
  if (tail != NULL) idle = zocl_signal_query(tail) != ZE_RESULT_NOT_READY;
  zocl_signal_unref(tail);
  return idle;
}

static void work_ref(zocl_work *work)
{
  zocl_stream_ref((zocl_stream *)work);
}

static void work_unref(zocl_work *work)
{
  zocl_stream_unref((zocl_stream *)work);
}

static ze_result_t work_wait(zocl_work *work, uint64_t timeout, bool tell)
{
  uint64_t number;
  zocl_stream *stream = (zocl_stream *)work;
  return tell ? zocl_stream_wait(stream, timeout)
              : stream_end(stream, timeout, &number);
}

static const zocl_work_kind work_kind = {work_ref, work_unref, work_wait,
                                         work_is_idle};
