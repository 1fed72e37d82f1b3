/*
 * zocl_call.c - our functions, called in the order of an OpenCL queue.
 * SPDX-License-Identifier: MIT
 *
 * OpenCL calls them native kernels, but devices that are not CPUs do not
 * support them.  On such a device the queue waits for our user event.  When the
 * queue reaches it, a callback passes the function to a thread, which completes
 * the event after the call.  The callback cannot call the function itself:
 * OpenCL may run callbacks in a thread that holds locks, and they must not
 * wait.
 */
#include "opencl/zocl_cl.h"
#include "opencl/zocl_lane.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* The number of idle threads retained for later calls. */
enum { KEPT_IDLE = 4 };

typedef struct call {
  struct call *next;
  zocl_cl *cl;
  zocl_host_function function;
  cl_event user_event;     /* what the queue waits for */
  cl_int status;           /* of the commands before the call */
  alignas(max_align_t) unsigned char args[];
} call;

/* Calls that wait for a thread, and threads that wait for a call.  A function
   may wait for another function's result, so there are as many threads as
   simultaneous calls. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t work;
  call *first, **last;
  size_t calls, idle, threads;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER,
          .last = &pool.first};

/* Calls the function even if an earlier command failed, because others may wait
   for its effect. */
static void call_run(call *c)
{
  c->function(c->args);
  c->cl->clSetUserEventStatus(c->user_event, c->status);
  c->cl->clReleaseEvent(c->user_event);
  free(c);
}

static void *thread_run(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&pool.lock);
  while (pool.idle < KEPT_IDLE || pool.first != NULL) {
    pool.idle++;
    while (pool.first == NULL) pthread_cond_wait(&pool.work, &pool.lock);
    pool.idle--;
    pool.calls--;
    call *c = pool.first;
    pool.first = c->next;
    if (pool.first == NULL) pool.last = &pool.first;
    pthread_mutex_unlock(&pool.lock);
    call_run(c);
    pthread_mutex_lock(&pool.lock);
  }
  pool.threads--;
  pthread_mutex_unlock(&pool.lock);
  return NULL;
}

static void CL_CALLBACK call_ready(cl_event event, cl_int status, void *data)
{
  call *c = data;
  c->cl->clReleaseEvent(event);
  c->status = status;
  pthread_mutex_lock(&pool.lock);
  *pool.last = c;
  pool.last = &c->next;
  /* If no further thread can be started, an existing one will run the call;
     without one, this thread runs it. */
  bool here = false;
  if (++pool.calls > pool.idle) {
    pthread_t thread;
    if (zocl_thread_start(&thread, thread_run, NULL)) {
      pthread_detach(thread);
      pool.threads++;
    } else if (pool.threads == 0) {
      pool.first = NULL;
      pool.last = &pool.first;
      pool.calls = 0;
      here = true;
    }
  }
  if (!here) pthread_cond_signal(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  if (here) call_run(c);
}

static cl_int call_enqueue(const backend_place *place,
                           zocl_host_function function, const void *args,
                           size_t size)
{
  zocl_cl *cl = place->device->driver->cl;
  cl_command_queue queue = zocl_place_queue(place);
  if (place->device->native)
    return cl->clEnqueueNativeKernel(queue, function, (void *)args, size, 0,
                                     NULL, NULL, ZOCL_PLACE_EVENTS(place));
  call *c = malloc(sizeof *c + size);
  if (c == NULL) return CL_OUT_OF_HOST_MEMORY;
  *c = (call){.cl = cl, .function = function};
  memcpy(c->args, args, size);
  cl_int error;
  cl_event ready = NULL;
  c->user_event =
      cl->clCreateUserEvent(place->device->driver->context, &error);
  if (c->user_event == NULL) {
    free(c);
    return error;
  }
  error = zocl_lane_wait(place, &ready);
  if (error == CL_SUCCESS) {
    error = cl->clEnqueueBarrierWithWaitList(queue, 1, &c->user_event,
                                             (cl_event *)place->mark);
    /* The callback may run immediately, and then `ready` no longer exists. */
    if (error == CL_SUCCESS)
      error = cl->clSetEventCallback(ready, CL_COMPLETE, call_ready, c);
    if (error == CL_SUCCESS) {
      cl->clFlush(queue);
      return CL_SUCCESS;
    }
    cl->clReleaseEvent(ready);
  }
  cl->clSetUserEventStatus(c->user_event, CL_COMPLETE);
  cl->clReleaseEvent(c->user_event);
  free(c);
  return error;
}

ze_result_t zocl_call(const backend_place *place, zocl_host_function function,
                      const void *args, size_t size)
{
  cl_int error = call_enqueue(place, function, args, size);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}
