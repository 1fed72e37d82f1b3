/*
 * zocl_indirect.c - launches whose group counts are read when they begin.
 * SPDX-License-Identifier: MIT
 *
 * OpenCL has no such thing.  So the stream calls a function of ours, that reads
 * the counts and puts the kernels into a second queue; behind it the stream
 * waits for a user event that opens when the last of them is done.  Nobody
 * sleeps in the function: it may run on a thread of OpenCL.  Counts in memory
 * that it could not read are first copied to where it can.
 */
#include "zocl.h"

#include <stdlib.h>
#include <string.h>

/* A command on its way. */
typedef struct pending_launches {
  zocl_driver *driver;
  cl_command_queue side; /* where the kernels run; it keeps timestamps */
  cl_event gate;         /* of the stream */
  zocl_signal *signal;   /* or NULL */
  cl_event first;        /* the kernel that was put there first, or NULL */
  zocl_indirect *what;
  uint32_t count;        /* copies of what `what` points to, if needed */
  ze_group_count_t *groups;
} pending_launches;

static void pending_free(pending_launches *p)
{
  zocl_cl *cl = p->driver->cl;
  if (p->first != NULL) cl->clReleaseEvent(p->first);
  if (p->side != NULL) cl->clReleaseCommandQueue(p->side);
  if (p->gate != NULL) cl->clReleaseEvent(p->gate);
  zocl_signal_unref(p->signal);
  free(p->groups);
  free(p->what);
  free(p);
}

/* All is done, or has failed.  The signal comes first: whoever is behind the
   gate finds it set. */
static void pending_end(pending_launches *p, bool ok, cl_event last)
{
  zocl_cl *cl = p->driver->cl;
  uint64_t now = zocl_clock();
  cl_ulong start = now - p->driver->clock_offset, end = start;
  if (ok && last != NULL) {
    cl->clGetEventProfilingInfo(p->first, CL_PROFILING_COMMAND_START,
                                sizeof start, &start, NULL);
    cl->clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end,
                                &end, NULL);
  }
  if (p->signal != NULL && ok)
    zocl_signal_set(p->signal, start + p->driver->clock_offset,
                    end + p->driver->clock_offset);
  else if (p->signal != NULL)
    zocl_signal_fail(p->signal);
  cl->clSetUserEventStatus(p->gate, ok ? CL_COMPLETE : CL_INVALID_OPERATION);
  pending_free(p);
}

static void CL_CALLBACK launches_done(cl_event last, cl_int status, void *data)
{
  pending_launches *p = data;
  zocl_cl *cl = p->driver->cl;
  pending_end(p, status == CL_COMPLETE, last);
  cl->clReleaseEvent(last);
}

static bool is_empty(const ze_group_count_t *groups)
{
  return groups->groupCountX == 0 || groups->groupCountY == 0 ||
         groups->groupCountZ == 0;
}

/* Read the counts and launch.  Runs in the stream. */
static void launches_run(void *args)
{
  pending_launches *p = *(pending_launches **)args;
  zocl_cl *cl = p->driver->cl;
  const zocl_indirect *w = p->what;
  uint32_t n = w->count_at != NULL && *w->count_at < w->count ? *w->count_at
                                                              : w->count;
  cl_event last = NULL;
  bool ok = true;
  for (uint32_t i = 0; i < n && ok; i++) {
    if (is_empty(&w->groups[i])) continue;
    zocl_launch launch = w->launches[i].launch;
    launch.values = (const unsigned char *)w + w->launches[i].values;
    launch.global[0] = launch.local[0] * w->groups[i].groupCountX;
    launch.global[1] = launch.local[1] * w->groups[i].groupCountY;
    launch.global[2] = launch.local[2] * w->groups[i].groupCountZ;
    cl_event event = NULL;
    ok = zocl_kernel_enqueue(&launch, p->side, 0, NULL, &event) ==
         ZE_RESULT_SUCCESS;
    if (!ok) break;
    if (p->first == NULL) {
      p->first = event;
      cl->clRetainEvent(event);
    }
    if (last != NULL) cl->clReleaseEvent(last);
    last = event;
  }
  if (last == NULL) {
    pending_end(p, ok, NULL);
    return;
  }
  cl->clFlush(p->side);
  if (!ok || cl->clSetEventCallback(last, CL_COMPLETE, launches_done, p) !=
                 CL_SUCCESS) {
    /* What was launched still runs, and nothing tells when it is done. */
    pending_end(p, false, NULL);
    cl->clReleaseEvent(last);
  }
}

/* Whether only the OpenCL can read what this points to. */
static bool is_remote(const zocl_driver *driver, const void *pointer)
{
  ze_memory_type_t type;
  return !driver->memory->any_pointer && zocl_memory_find(pointer, &type) &&
         type == ZE_MEMORY_TYPE_DEVICE;
}

/* Copy what the function is to read to where it can, as the queue comes to
   it; *place then waits for nothing more. */
static cl_int counts_fetch(pending_launches *p, zocl_place *place)
{
  const zocl_driver *driver = p->driver;
  zocl_indirect *w = p->what;
  cl_int error = CL_SUCCESS;
  if (is_remote(driver, w->groups)) {
    size_t bytes = w->count * sizeof *w->groups;
    p->groups = malloc(bytes);
    if (p->groups == NULL) return CL_OUT_OF_HOST_MEMORY;
    error = driver->memory->copy(place, p->groups, w->groups, bytes);
    w->groups = p->groups;
    place->count = 0;
    place->waits = NULL;
  }
  if (error == CL_SUCCESS && w->count_at != NULL &&
      is_remote(driver, w->count_at)) {
    error = driver->memory->copy(place, &p->count, w->count_at,
                                 sizeof p->count);
    w->count_at = &p->count;
    place->count = 0;
    place->waits = NULL;
  }
  return error;
}

ze_result_t zocl_indirect_enqueue(const zocl_place *place,
                                  cl_command_queue side,
                                  const zocl_command *command)
{
  zocl_driver *driver = place->device->driver;
  zocl_cl *cl = driver->cl;
  cl_int error;
  pending_launches *p = calloc(1, sizeof *p);
  if (p != NULL) p->what = malloc(command->args_size);
  if (p == NULL || p->what == NULL) {
    free(p);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  memcpy(p->what, command->args, command->args_size);
  p->driver = driver;
  p->gate = cl->clCreateUserEvent(driver->context, &error);
  if (p->gate == NULL) {
    pending_free(p);
    return zocl_cl_error(error, "clCreateUserEvent");
  }
  p->side = side;
  cl->clRetainCommandQueue(side);
  p->signal = command->signal;
  if (p->signal != NULL) zocl_signal_ref(p->signal);
  cl_event gate = p->gate;
  cl->clRetainEvent(gate);
  zocl_place step = *place;
  step.event = NULL;
  error = counts_fetch(p, &step);
  if (error == CL_SUCCESS)
    error = zocl_call_enqueue(&step, launches_run, &p, sizeof p);
  /* A copy that is on its way has to have where to go. */
  if (error == CL_SUCCESS)
    error = cl->clEnqueueBarrierWithWaitList(place->queue, 1, &gate, NULL);
  else if (p->groups == NULL && p->what->count_at != &p->count)
    pending_free(p);
  cl->clReleaseEvent(gate);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}
