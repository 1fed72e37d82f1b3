/*
 * zocl_place.c - the queue of an OpenCL command, and the events it waits for.
 * SPDX-License-Identifier: MIT
 */
#include "memory/zocl_place.h"

#include <stdlib.h>

cl_int zocl_place_wait(const zocl_place *place, cl_event *event)
{
  zocl_cl *cl = place->device->driver->cl;
  if (place->count > 0)
    return cl->clEnqueueBarrierWithWaitList(place->queue, place->count,
                                            place->waits, event);
  return cl->clEnqueueMarkerWithWaitList(place->queue, 0, NULL, event);
}

/* Returns the place for the next of several commands. */
zocl_place zocl_place_step(const zocl_place *place, bool first, bool last)
{
  zocl_place step = *place;
  if (!first) step.count = 0;
  if (step.count == 0) step.waits = NULL;
  if (!last) step.event = NULL;
  return step;
}

static void CL_CALLBACK place_done(cl_event event, cl_int status, void *data)
{
  (void)event;
  (void)status;
  free(data);
}

/* If the callback cannot be set, the memory leaks, because nothing reports when
   it is unused. */
void zocl_place_free(const zocl_place *place, cl_event last, void *memory)
{
  zocl_cl *cl = place->device->driver->cl;
  if (place->event != NULL) {
    cl->clRetainEvent(last);
    *place->event = last;
  }
  cl->clSetEventCallback(last, CL_COMPLETE, place_done, memory);
  cl->clReleaseEvent(last);
}
