/*
 * zocl_lane.c - streams of the back end: in-order OpenCL queues.
 * SPDX-License-Identifier: MIT
 *
 * A stream has a queue without timestamps until a command needs them.
 */
#include "opencl/zocl_lane.h"
#include "opencl/zocl_cl.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* Maximum number of retained events. */
  HELD_EVENTS = 1024,
  /* After this many commands in a row that need no timestamps, a stream returns
     to a queue without them; the switch costs as much as a few of these
     commands. */
  UNTIMED_COMMANDS = 16
};

/* ------------------------------------------------------------------------
 * Queues that must never be released.
 *
 * When the last reference to a queue is released, PoCL's CUDA device waits for
 * the threads of that queue.  A command that ends holds a reference, which one
 * of these threads releases.  If that is the last one, the thread waits for
 * itself, and PoCL ends the process.  So these queues are never released; they
 * are reused once all their commands are done.
 */

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
static cl_command_queue queue_kept(const zocl_device *device, int rank,
                                   bool timed)
{
  zocl_cl *cl = device->driver->cl;
  cl_command_queue queue = NULL;
  pthread_mutex_lock(&spares.lock);
  for (spare **p = &spares.first; *p != NULL && queue == NULL;) {
    spare *s = *p;
    if (s->id == device->queue_id && s->timed == timed && s->rank == rank &&
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

static void queue_free(const zocl_device *device, int rank,
                       cl_command_queue queue, bool timed, bool idle)
{
  zocl_cl *cl = device->driver->cl;
  if (!device->driver->reuses_queues) {
    cl->clReleaseCommandQueue(queue);
    return;
  }
  spare *s = malloc(sizeof *s);
  if (s == NULL) return; /* the queue stays allocated, unused */
  *s = (spare){.id = device->queue_id,
               .timed = timed,
               .rank = rank,
               .queue = queue};
  /* At exit nobody waits for this marker, and CUDA may end before it. */
  if (!idle) {
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

static cl_command_queue queue_new(const zocl_device *device, int rank,
                                  bool timed, cl_int *error)
{
  cl_command_queue kept = device->driver->reuses_queues
                              ? queue_kept(device, rank, timed)
                              : NULL;
  if (kept != NULL) return kept;
  cl_queue_properties properties[5] = {
    CL_QUEUE_PROPERTIES, timed ? CL_QUEUE_PROFILING_ENABLE : 0};
  if (device->priorities && rank != 0) {
    properties[2] = CL_QUEUE_PRIORITY_KHR;
    properties[3] =
        rank > 0 ? CL_QUEUE_PRIORITY_HIGH_KHR : CL_QUEUE_PRIORITY_LOW_KHR;
  }
  return device->driver->cl->clCreateCommandQueueWithProperties(
      device->driver->context, device->queue_id, properties, error);
}

/* ------------------------------------------------------------------------
 * Events that must be retained while work is pending.
 *
 * PoCL's CUDA device creates a CUDA event for each command in one thread and
 * frees it in another.  These get in each other's way, so that a launch takes
 * twice as long; with timestamps, twice as long again.  A command that waits
 * for a host event has CUDA memory for that.  Freeing the memory waits for
 * everything that runs: forever, if some of that waits for an event which the
 * same thread should set.  So a stream of this device is `careful`.
 */

/* Releases the first `count` held events. */
static void held_release(zocl_cl *cl, zocl_lane *lane, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) cl->clReleaseEvent(lane->held[i]);
  lane->held_count -= count;
  if (lane->held_count > 0)
    memmove(lane->held, lane->held + count,
            lane->held_count * sizeof *lane->held);
}

/* Called when the stream is idle.  PoCL may still use the events of the last
   commands: if an event of one queue waits for an event of another, two threads
   look at both, even after the last reference is gone.  So this releases only
   events that were held when the stream was idle before. */
static void held_idle(zocl_cl *cl, zocl_lane *lane)
{
  held_release(cl, lane, lane->held_old);
  lane->held_old = lane->held_count;
}

/* Holds an event with another reference, if memory allows. */
static void held_add(zocl_cl *cl, zocl_lane *lane, cl_event event)
{
  if (lane->held == NULL) lane->held = malloc(HELD_EVENTS * sizeof *lane->held);
  if (lane->held == NULL) return;
  if (lane->held_count == HELD_EVENTS) {
    held_release(cl, lane, HELD_EVENTS / 2);
    lane->held_old = 0;
  }
  cl->clRetainEvent(event);
  lane->held[lane->held_count++] = event;
}

void zocl_lane_keep(const zocl_device *device, backend_stream *stream,
                    backend_mark *mark)
{
  held_add(device->driver->cl, (zocl_lane *)stream, (cl_event)mark);
}

/* ------------------------------------------------------------------------
 * Timestamps.
 */

/* Finds the difference between OpenCL's profiling clock and zocl_clock.  The
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

/* Makes `queue` begin when the commands in the stream's queue are done. */
static cl_int queue_follow(zocl_cl *cl, zocl_lane *lane,
                           cl_command_queue queue)
{
  cl_event events[2] = {NULL, NULL};
  cl_int error =
      cl->clEnqueueMarkerWithWaitList(lane->queue, 0, NULL, &events[0]);
  if (error == CL_SUCCESS)
    error = cl->clEnqueueBarrierWithWaitList(queue, 1, events, &events[1]);
  for (int i = 0; i < 2; i++) {
    if (events[i] == NULL) continue;
    if (lane->stream.careful) held_add(cl, lane, events[i]);
    cl->clReleaseEvent(events[i]);
  }
  cl->clFlush(lane->queue);
  return error;
}

/* Switches to the queue with timestamps, or back; it begins after the commands
   in the other queue. */
static ze_result_t lane_turn(const zocl_device *device, zocl_lane *lane,
                             bool idle)
{
  const bool timed = !lane->stream.timed, careful = lane->stream.careful;
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = lane->other;
  if (queue == NULL) queue = queue_new(device, lane->rank, timed, &error);
  if (queue == NULL)
    return zocl_cl_error(error, "clCreateCommandQueueWithProperties");
  if (timed) clock_calibrate(device->driver, queue);
  if (!idle) error = queue_follow(device->driver->cl, lane, queue);
  if (error != CL_SUCCESS) {
    if (lane->other == NULL)
      queue_free(device, lane->rank, queue, timed, idle);
    return zocl_cl_error(error, "clEnqueueBarrierWithWaitList");
  }
  lane->other = careful ? lane->queue : NULL;
  if (!careful) queue_free(device, lane->rank, lane->queue, !timed, idle);
  lane->queue = queue;
  lane->stream.timed = timed;
  lane->untimed = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_lane_begin(const zocl_device *device, backend_stream *stream,
                            bool timed, bool idle)
{
  zocl_lane *lane = (zocl_lane *)stream;
  if (lane->held_count > 0 && idle) held_idle(device->driver->cl, lane);
  if (timed) {
    lane->untimed = 0;
    return stream->timed ? ZE_RESULT_SUCCESS : lane_turn(device, lane, idle);
  }
  if (stream->timed && stream->careful && ++lane->untimed > UNTIMED_COMMANDS)
    return lane_turn(device, lane, idle);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Streams.
 */

ze_result_t zocl_lane_new(const zocl_device *device, int rank, bool timed,
                          backend_stream **stream)
{
  zocl_lane *made = calloc(1, sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  cl_int error;
  made->rank = rank;
  made->stream.timed = timed;
  made->stream.careful = device->driver->reuses_queues;
  /* PoCL starts by itself; other implementations may wait for the flush. */
  made->stream.lazy = !device->driver->pocl;
  made->queue = queue_new(device, rank, timed, &error);
  if (made->queue == NULL) {
    free(made);
    return zocl_cl_error(error, "clCreateCommandQueueWithProperties");
  }
  if (timed) clock_calibrate(device->driver, made->queue);
  *stream = &made->stream;
  return ZE_RESULT_SUCCESS;
}

void zocl_lane_close(const zocl_device *device, backend_stream *stream,
                     bool idle)
{
  zocl_lane *lane = (zocl_lane *)stream;
  queue_free(device, lane->rank, lane->queue, stream->timed, idle);
  if (lane->other != NULL)
    queue_free(device, lane->rank, lane->other, !stream->timed, idle);
  held_release(device->driver->cl, lane, lane->held_count);
  free(lane->held);
  free(lane);
}

void zocl_lane_flush(const zocl_device *device, backend_stream *stream)
{
  device->driver->cl->clFlush(((zocl_lane *)stream)->queue);
}

/* clFinish takes one wake-up less than a marker.  The queue is retained because
   others may release it. */
ze_result_t zocl_lane_finish(const zocl_device *device, backend_stream *stream,
                             pthread_mutex_t *held)
{
  zocl_cl *cl = device->driver->cl;
  cl_command_queue queue = ((zocl_lane *)stream)->queue;
  cl->clRetainCommandQueue(queue);
  pthread_mutex_unlock(held);
  cl_int error = cl->clFinish(queue);
  cl->clReleaseCommandQueue(queue);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clFinish");
}

cl_int zocl_lane_wait(const backend_place *place, cl_event *event)
{
  zocl_cl *cl = place->device->driver->cl;
  cl_command_queue queue = zocl_place_queue(place);
  if (place->wait_count > 0)
    return cl->clEnqueueBarrierWithWaitList(queue, place->wait_count,
                                            (const cl_event *)place->waits,
                                            event);
  return cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
}

ze_result_t zocl_lane_mark(const backend_place *place)
{
  cl_int error = zocl_lane_wait(place, (cl_event *)place->mark);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}
