/*
 * zocl_place.c - the steps of a command; copies and fills by the back end.
 * SPDX-License-Identifier: MIT
 */
#include "memory/zocl_place.h"
#include "base/zocl_device.h"

#include <stdlib.h>

backend_place zocl_place_step(const backend_place *place, bool first, bool last)
{
  backend_place step = *place;
  if (!first) step.wait_count = 0;
  if (step.wait_count == 0) step.waits = NULL;
  if (!last) step.mark = NULL;
  return step;
}

static void place_reached(backend_mark *mark, int status, void *memory)
{
  (void)mark;
  (void)status;
  free(memory);
}

/* If nothing can report the mark, the memory leaks, because nothing says when
   it is unused. */
void zocl_place_free(const backend_place *place, backend_mark *last,
                     void *memory)
{
  const zocl_driver *driver = place->device->driver;
  if (place->mark != NULL) {
    driver->backend->mark_retain(driver, last);
    *place->mark = last;
  }
  driver->backend->mark_notify(driver, last, place_reached, memory);
  driver->backend->mark_release(driver, last);
}

ze_result_t zocl_transfer_copy(const backend_place *place, const void *args,
                               size_t size)
{
  (void)size;
  return place->device->driver->backend->copy(place, args);
}

ze_result_t zocl_transfer_fill(const backend_place *place, const void *args,
                               size_t size)
{
  (void)size;
  return place->device->driver->backend->fill(place, args);
}

ze_result_t zocl_transfer_copy_region(const backend_place *place,
                                      const void *args, size_t size)
{
  (void)size;
  return place->device->driver->backend->copy_region(place, args);
}
