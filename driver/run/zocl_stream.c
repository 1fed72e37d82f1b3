/*
 * zocl_stream.c - commands in order, on an in-order OpenCL queue.
 * SPDX-License-Identifier: MIT
 *
 * Commands are submitted in the order of the calls.  Resets, and copies and
 * fills if the memory allows it, are done by our functions, which OpenCL calls
 * in the queue's order (zocl_call.c).  If such a function is cheap and the
 * stream is idle, the caller runs it at once.
 */
#include "run/zocl_stream.h"
#include "base/zocl_work.h"
#include "opencl/zocl_cl.h"
#include "opencl/zocl_opencl.h"
#include "run/zocl_feeder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  /* With at most this many waits, no memory is allocated. */
  FEW_WAITS = 8,
  /* Maximum number of retained events. */
  HELD_EVENTS = 1024,
  /* After this many commands in a row that need no timestamps, a stream returns
     to a queue without them; the switch costs as much as a few of these
     commands. */
  UNTIMED_COMMANDS = 16
};

struct zocl_stream {
  zocl_work work;            /* base class, for waits for a device's work; must
                                be first */
  atomic_uint refs;
  zocl_device *device;
  ze_command_queue_priority_t priority;
  zocl_feeder *feeder;
  pthread_mutex_t lock;      /* of all members below that are not atomic */
  cl_command_queue queue;
  cl_command_queue side;     /* for indirect launches; NULL until needed */
  bool timed;                /* the queue records timestamps */
  cl_command_queue other;    /* a queue that differs from `queue` in timestamps;
                                NULL until needed */
  uint32_t untimed;          /* commands in a row that need no timestamps */
  uint64_t submitted;        /* number of the last command */
  cl_event block;            /* the last command that waits for events; NULL if
                                it is done */
  _Atomic uint64_t waiting;  /* number of that command */
  _Atomic uint64_t done;     /* all commands up to this one are done */
  _Atomic uint64_t last;     /* a closed stream ends after this command;
                                UINT64_MAX before closing and after the end */
  atomic_int failed;         /* the last OpenCL error; 0 before the first */
  atomic_bool unreported;        /* the error has not been reported yet */
  uint64_t failed_first, failed_last; /* commands that the error applies to, up
                                         to UINT64_MAX until the host has been
                                         informed; guarded by `failures` */
  uint64_t failed_heard;     /* `times_heard` when it failed */
  zocl_signal *tail;         /* of a marker after command `tail_number` */
  uint64_t tail_number;
  cl_event *held;            /* room for HELD_EVENTS; NULL until needed */
  uint32_t held_count;
  uint32_t held_old;         /* the first events, held since the stream was last
                                idle */
};

static const zocl_work_kind work_kind;
static ze_result_t stream_tail(zocl_stream *stream, zocl_signal **tail);

/* Returns true if all submitted commands have been seen to end. */
static bool stream_is_idle(const zocl_stream *stream)
{
  return atomic_load_explicit(&stream->done, memory_order_acquire) ==
         stream->submitted;
}

/* When the last reference to a queue is released, PoCL's CUDA device waits for
   the threads of that queue.  A command that ends holds a reference, which one
   of these threads releases.  If that is the last one, the thread waits for
   itself, and PoCL ends the process.  So these queues are never released; they
   are reused once all their commands are done. */
typedef struct spare {
  struct spare *next;
  cl_device_id id;
  bool timed;
  int rank;
  cl_command_queue queue;
  cl_event last;         /* NULL if the queue was idle */
} spare;

static struct {
  pthread_mutex_t lock;
  spare *first;
} spares = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool event_is_done(zocl_cl *cl, cl_event event)
{
  cl_int status = CL_QUEUED;
  return cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                            sizeof status, &status, NULL) == CL_SUCCESS &&
         status <= CL_COMPLETE;
}

/* Returns a spare queue that fits, or NULL. */
static cl_command_queue queue_kept(const zocl_stream *stream, bool timed)
{
  zocl_cl *cl = stream->device->driver->cl;
  cl_command_queue queue = NULL;
  pthread_mutex_lock(&spares.lock);
  for (spare **p = &spares.first; *p != NULL && queue == NULL;) {
    spare *s = *p;
    if (s->id == stream->device->queue_id && s->timed == timed &&
        s->rank == zocl_stream_rank(stream) &&
        (s->last == NULL || event_is_done(cl, s->last))) {
      *p = s->next;
      if (s->last != NULL) cl->clReleaseEvent(s->last);
      queue = s->queue;
      free(s);
    } else
      p = &s->next;
  }
  pthread_mutex_unlock(&spares.lock);
  return queue;
}

static void queue_free(const zocl_stream *stream, cl_command_queue queue,
                       bool timed)
{
  zocl_cl *cl = stream->device->driver->cl;
  if (!stream->device->driver->reuses_queues) {
    cl->clReleaseCommandQueue(queue);
    return;
  }
  spare *s = malloc(sizeof *s);
  if (s == NULL) return; /* the queue stays allocated, unused */
  *s = (spare){.id = stream->device->queue_id,
               .timed = timed,
               .rank = zocl_stream_rank(stream),
               .queue = queue};
  /* At exit nobody waits for this marker, and CUDA may end before it. */
  if (!stream_is_idle(stream)) {
    if (cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &s->last) !=
        CL_SUCCESS) {
      free(s);
      return;
    }
    cl->clFlush(queue);
  }
  pthread_mutex_lock(&spares.lock);
  s->next = spares.first;
  spares.first = s;
  pthread_mutex_unlock(&spares.lock);
}

static cl_command_queue queue_new(const zocl_stream *stream, bool timed,
                                  cl_int *error)
{
  const zocl_device *device = stream->device;
  cl_command_queue kept =
      device->driver->reuses_queues ? queue_kept(stream, timed) : NULL;
  if (kept != NULL) return kept;
  cl_queue_properties properties[5] = {
    CL_QUEUE_PROPERTIES, timed ? CL_QUEUE_PROFILING_ENABLE : 0};
  if (device->priorities && zocl_stream_rank(stream) != 0) {
    properties[2] = CL_QUEUE_PRIORITY_KHR;
    properties[3] = zocl_stream_rank(stream) > 0 ? CL_QUEUE_PRIORITY_HIGH_KHR
                                                 : CL_QUEUE_PRIORITY_LOW_KHR;
  }
  return device->driver->cl->clCreateCommandQueueWithProperties(
      device->driver->context, device->queue_id, properties, error);
}

/* Returns true if events must be retained while work is pending and queues
   should have timestamps only when needed.  PoCL's CUDA device creates a CUDA
   event for each command in one thread and frees it in another.  These get in
   each other's way, so that a launch takes twice as long; with timestamps,
   twice as long again.  A command that waits for a host event has CUDA memory
   for that.  Freeing the memory waits for everything that runs: forever, if
   some of that waits for an event which the same thread should set. */
static bool reuses_queues(const zocl_stream *stream)
{
  return stream->device->driver->reuses_queues;
}

/* Release the first `count` held events. */
static void held_release(zocl_stream *stream, uint32_t count)
{
  zocl_cl *cl = stream->device->driver->cl;
  for (uint32_t i = 0; i < count; i++) cl->clReleaseEvent(stream->held[i]);
  stream->held_count -= count;
  if (stream->held_count > 0)
    memmove(stream->held, stream->held + count,
            stream->held_count * sizeof *stream->held);
}

/* The stream is idle.  PoCL may still use the events of the last commands: if
   an event of one queue waits for an event of another, two threads look at
   both, even after the last reference is gone.  So release only events that
   were held when the stream was idle before. */
static void held_idle(zocl_stream *stream)
{
  held_release(stream, stream->held_old);
  stream->held_old = stream->held_count;
}

/* Hold an event with another reference, if memory allows. */
static void held_add(zocl_stream *stream, cl_event event)
{
  if (stream->held == NULL)
    stream->held = malloc(HELD_EVENTS * sizeof *stream->held);
  if (stream->held == NULL) return;
  if (stream->held_count == HELD_EVENTS) {
    held_release(stream, HELD_EVENTS / 2);
    stream->held_old = 0;
  }
  stream->device->driver->cl->clRetainEvent(event);
  stream->held[stream->held_count++] = event;
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
  cl_int error;
  made->device = device;
  made->priority = priority;
  made->queue = queue_new(made, false, &error);
  if (made->queue == NULL) {
    zocl_feeder_free(made->feeder);
    free(made);
    return zocl_cl_error(error, "clCreateCommandQueueWithProperties");
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
  zocl_signal_unref(stream->tail);
  zocl_feeder_free(stream->feeder);
  pthread_mutex_destroy(&stream->lock);
  free(stream->held);
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
  queue_free(stream, stream->queue, stream->timed);
  if (stream->other != NULL) queue_free(stream, stream->other, !stream->timed);
  if (stream->side != NULL) queue_free(stream, stream->side, true);
  if (stream->block != NULL)
    stream->device->driver->cl->clReleaseEvent(stream->block);
  stream->queue = stream->other = stream->side = NULL;
  stream->block = NULL;
  held_release(stream, stream->held_count);
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
  int status = CL_COMPLETE;
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
  zocl_opencl_compiled();
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
  int status = CL_COMPLETE;
  if (stream->failed_first <= number + 1 &&
      atomic_exchange(&stream->unreported, false)) {
    status = atomic_load(&stream->failed);
    if (stream->failed_last > number) stream->failed_last = number;
  }
  pthread_mutex_unlock(&failures);
  if (status == CL_COMPLETE) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_DEVICE_LOST,
                   "a command failed with OpenCL error %d", status);
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
 * Timestamps.
 */

/* Find the difference between OpenCL's profiling clock and zocl_clock.  The
   time at which a command was queued lies between two readings of our clock;
   the closest pair of a few is used.  Intel's OpenCL for CPUs does not report
   when a marker was queued, only when it was submitted. */
static void clock_calibrate(zocl_driver *driver, cl_command_queue queue)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  zocl_cl *cl = driver->cl;
  uint64_t best = UINT64_MAX;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 8 && !driver->clock_known; i++) {
    cl_event event;
    cl_ulong queued = 0;
    uint64_t before = zocl_clock();
    if (cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
      break;
    uint64_t after = zocl_clock();
    cl->clWaitForEvents(1, &event);
    cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED,
                                sizeof queued, &queued, NULL);
    if (queued == 0) {
      after = zocl_clock();
      cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_SUBMIT,
                                  sizeof queued, &queued, NULL);
    }
    cl->clReleaseEvent(event);
    if (after - before < best) {
      best = after - before;
      /* If it lies between the two, both clocks are the same, as with PoCL. */
      driver->clock_offset =
          queued >= before && queued <= after ? 0
                                              : before + best / 2 - queued;
    }
  }
  driver->clock_known = true;
  pthread_mutex_unlock(&lock);
}

/* Make `queue` begin when the commands in the stream's queue are done. */
static cl_int queue_follow(zocl_stream *stream, cl_command_queue queue)
{
  zocl_cl *cl = stream->device->driver->cl;
  cl_event events[2] = {NULL, NULL};
  cl_int error =
      cl->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &events[0]);
  if (error == CL_SUCCESS)
    error = cl->clEnqueueBarrierWithWaitList(queue, 1, events, &events[1]);
  for (int i = 0; i < 2; i++) {
    if (events[i] == NULL) continue;
    if (reuses_queues(stream)) held_add(stream, events[i]);
    cl->clReleaseEvent(events[i]);
  }
  cl->clFlush(stream->queue);
  return error;
}

/* Switch to the queue with timestamps, or back; it begins after the commands in
   the other queue. */
static ze_result_t stream_turn(zocl_stream *stream)
{
  bool timed = !stream->timed;
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = stream->other;
  if (queue == NULL) queue = queue_new(stream, timed, &error);
  if (queue == NULL)
    return zocl_cl_error(error, "clCreateCommandQueueWithProperties");
  if (timed) clock_calibrate(stream->device->driver, queue);
  if (!stream_is_idle(stream)) error = queue_follow(stream, queue);
  if (error != CL_SUCCESS) {
    if (stream->other == NULL) queue_free(stream, queue, timed);
    return zocl_cl_error(error, "clEnqueueBarrierWithWaitList");
  }
  stream->other = reuses_queues(stream) ? stream->queue : NULL;
  if (stream->other == NULL) queue_free(stream, stream->queue, !timed);
  stream->queue = queue;
  stream->timed = timed;
  stream->untimed = 0;
  return ZE_RESULT_SUCCESS;
}

/* Select a queue for the next command, which needs timestamps or does not. */
static ze_result_t stream_time(zocl_stream *stream, bool needed)
{
  if (needed) {
    stream->untimed = 0;
    return stream->timed ? ZE_RESULT_SUCCESS : stream_turn(stream);
  }
  if (stream->timed && reuses_queues(stream) &&
      ++stream->untimed > UNTIMED_COMMANDS)
    return stream_turn(stream);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Submission.
 */

typedef struct later_args {
  zocl_signal *signal;
  zocl_stream *stream;
  uint64_t number;
  cl_event event;
} later_args;

static void run_later(void *args)
{
  const later_args *a = args;
  zocl_signal_complete(a->signal, a->stream, a->number, a->event);
  zocl_signal_unref(a->signal);
}

static void run_reset(void *args)
{
  zocl_signal *const *signal = args;
  zocl_signal_reset_end(*signal);
}

static zocl_place stream_place(const zocl_stream *stream, cl_uint count,
                               const cl_event *waits, cl_event *event)
{
  return (zocl_place){stream->device, stream->queue, count,
                      count > 0 ? waits : NULL, event};
}

/* Create an event that completes after the stream has reached this place and
   `signal` is set. */
static ze_result_t event_later(zocl_stream *stream, zocl_signal *signal,
                              cl_event *event)
{
  zocl_driver *driver = stream->device->driver;
  cl_int error;
  *event = driver->cl->clCreateUserEvent(driver->context, &error);
  if (*event == NULL) return zocl_cl_error(error, "clCreateUserEvent");
  later_args args = {signal, stream, stream->submitted + 1, *event};
  driver->cl->clRetainEvent(*event);
  zocl_signal_ref(signal);
  zocl_stream_ref(stream);
  cl_event here = NULL;
  const zocl_place place =
      stream_place(stream, 0, NULL, reuses_queues(stream) ? &here : NULL);
  error = zocl_call_enqueue(&place, run_later, &args, sizeof args);
  if (here != NULL) {
    held_add(stream, here);
    driver->cl->clReleaseEvent(here);
  }
  if (error == CL_SUCCESS) {
    stream->submitted++;
    return ZE_RESULT_SUCCESS;
  }
  zocl_stream_unref(stream);
  zocl_signal_unref(signal);
  driver->cl->clReleaseEvent(*event);
  driver->cl->clReleaseEvent(*event);
  *event = NULL;
  return zocl_cl_error(error, "clEnqueue");
}

/* Returns true if a command that waits for events is pending. */
static bool stream_is_blocked(zocl_stream *stream)
{
  zocl_cl *cl = stream->device->driver->cl;
  cl_int status;
  if (stream->block == NULL) return false;
  if (cl->clGetEventInfo(stream->block, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof status, &status, NULL) == CL_SUCCESS &&
      status > CL_COMPLETE)
    return true;
  cl->clReleaseEvent(stream->block);
  stream->block = NULL;
  return false;
}

/* Note that the last submitted command waits for events. */
static void stream_block(zocl_stream *stream, cl_event event)
{
  zocl_cl *cl = stream->device->driver->cl;
  if (stream->block != NULL) cl->clReleaseEvent(stream->block);
  cl->clRetainEvent(event);
  stream->block = event;
  atomic_store(&stream->waiting, stream->submitted);
}

/* Get the OpenCL events that `command` must wait for. */
static ze_result_t waits_resolve(zocl_stream *stream,
                                 const zocl_command *command, cl_event *waits,
                                 cl_uint *count)
{
  for (uint32_t i = 0; i < command->wait_count; i++) {
    zocl_wait wait;
    ze_result_t result =
        zocl_signal_resolve(command->waits[i], stream, stream->submitted + 1,
                            stream_is_blocked(stream), &wait, &waits[*count]);
    if (result == ZE_RESULT_SUCCESS && wait == ZOCL_WAIT_LATER)
      result = event_later(stream, command->waits[i], &waits[*count]);
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
                                   const zocl_command *command, cl_uint count,
                                   const cl_event *waits, cl_event *event)
{
  const zocl_place place = stream_place(stream, count, waits, event);
  cl_int error = CL_SUCCESS;
  zocl_signal *reset = command->reset;
  switch (command->kind) {
  case ZOCL_COMMAND_LAUNCH:
    return zocl_kernel_enqueue(command->launch, stream->queue, count, waits,
                               event);
  case ZOCL_COMMAND_HOST:
    error = zocl_call_enqueue(&place, command->function, command->args,
                              command->args_size);
    break;
  case ZOCL_COMMAND_TRANSFER:
    error = command->transfer(&place, command->args, command->args_size);
    break;
  case ZOCL_COMMAND_RESET:
    zocl_signal_reset_begin(reset, stream);
    error = zocl_call_enqueue(&place, run_reset, &reset, sizeof reset);
    if (error != CL_SUCCESS) zocl_signal_reset_end(reset);
    break;
  case ZOCL_COMMAND_INDIRECT:
    if (stream->side == NULL) {
      stream->side = queue_new(stream, true, &error);
      if (stream->side == NULL) break;
      clock_calibrate(stream->device->driver, stream->side);
    }
    return command->indirect(&place, stream->side, stream,
                             stream->submitted + 1, command);
  case ZOCL_COMMAND_NOTHING:
    error = zocl_place_wait(&place, event);
    break;
  }
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}

static ze_result_t command_enqueue_slow(zocl_stream *stream,
                                        const zocl_command *command,
                                        cl_uint count, const cl_event *waits,
                                        cl_event *event)
{
  void *args = NULL;
  zocl_place place = stream_place(stream, count, waits, NULL);
  cl_int error = zocl_call_enqueue(&place, run_before, &args, sizeof args);
  if (error != CL_SUCCESS) return zocl_cl_error(error, "clEnqueue");
  ze_result_t result = command_enqueue(stream, command, 0, NULL, NULL);
  place = stream_place(stream, 0, NULL,
                       result == ZE_RESULT_SUCCESS ? event : NULL);
  error = zocl_call_enqueue(&place, run_after, &args, sizeof args);
  if (result != ZE_RESULT_SUCCESS || error == CL_SUCCESS) return result;
  return zocl_cl_error(error, "clEnqueue");
}

ze_result_t zocl_stream_submit(zocl_stream *stream,
                               const zocl_command *command)
{
  zocl_cl *cl = stream->device->driver->cl;
  cl_event few[FEW_WAITS], *waits = few, event = NULL;
  cl_uint count = 0;
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  if (command->kind == ZOCL_COMMAND_INDIRECT && command->signal != NULL &&
      zocl_signal_counted(command->signal)) {
    /* An indirect launch has no OpenCL event that the signal could stand for,
       but a command after it has. */
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
  if (stream->held_count > 0 && stream_is_idle(stream)) held_idle(stream);
  /* An indirect launch sets its signal itself. */
  zocl_signal *signal =
      command->kind != ZOCL_COMMAND_INDIRECT ? command->signal : NULL;
  result = stream_time(stream, signal != NULL && zocl_signal_timed(signal));
  if (result != ZE_RESULT_SUCCESS) goto done;
  if (command->keep != NULL) command->keep(command->args);
  result = (zocl_option.slow ? command_enqueue_slow : command_enqueue)(
      stream, command, count, waits,
      signal != NULL || count > 0 || reuses_queues(stream) ? &event : NULL);
  /* Part of a failed command may be in the queue. */
  stream->submitted++;
  if (result != ZE_RESULT_SUCCESS) {
    if (command->drop != NULL) command->drop(command->args);
    goto done;
  }
  if (count > 0) stream_block(stream, event != NULL ? event : waits[count - 1]);
  if (event != NULL && reuses_queues(stream)) held_add(stream, event);
  if (signal == NULL && event != NULL) cl->clReleaseEvent(event);
  if (signal != NULL) {
    result = zocl_signal_attach(signal, stream, stream->submitted, event);
    if (result != ZE_RESULT_SUCCESS) cl->clReleaseEvent(event);
  }
  /* PoCL starts by itself; other implementations may wait for the flush. */
  if (!stream->device->driver->pocl) cl->clFlush(stream->queue);
done:
  pthread_mutex_unlock(&stream->lock);
  for (cl_uint i = 0; i < count; i++) cl->clReleaseEvent(waits[i]);
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
    cl_event event;
    if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    cl_int error = driver->cl->clEnqueueMarkerWithWaitList(stream->queue, 0,
                                                           NULL, &event);
    if (error != CL_SUCCESS) {
      zocl_signal_unref(made);
      return zocl_cl_error(error, "clEnqueueMarkerWithWaitList");
    }
    /* A new signal has room for one command. */
    zocl_signal_attach(made, stream, ++stream->submitted, event);
    driver->cl->clFlush(stream->queue);
    zocl_signal_unref(stream->tail);
    stream->tail = made;
    stream->tail_number = stream->submitted;
  }
  *tail = stream->tail;
  zocl_signal_ref(*tail);
  return ZE_RESULT_SUCCESS;
}

/* Wait without a limit: clFinish takes one wake-up less than a marker.  The
   lock is held and released; the queue is retained because others may release
   it. */
static ze_result_t stream_finish(zocl_stream *stream)
{
  zocl_cl *cl = stream->device->driver->cl;
  cl_command_queue queue = stream->queue;
  uint64_t number = stream->submitted;
  cl->clRetainCommandQueue(queue);
  pthread_mutex_unlock(&stream->lock);
  cl_int error = cl->clFinish(queue);
  cl->clReleaseCommandQueue(queue);
  if (error != CL_SUCCESS) return zocl_cl_error(error, "clFinish");
  zocl_stream_done(stream, number, CL_COMPLETE);
  return ZE_RESULT_SUCCESS;
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
  if (timeout == UINT64_MAX && stream->queue != NULL)
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
