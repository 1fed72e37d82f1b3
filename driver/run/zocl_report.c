/*
 * zocl_report.c - writing timestamps, of commands or of now, to memory.
 * SPDX-License-Identifier: MIT
 */
#include "run/zocl_event.h"

#include <stdlib.h>
#include <string.h>

/* Timestamps to write to memory, `size` bytes each: the times of a signal, or
   the current time if the signal is NULL. */
typedef struct report_args {
  char *to;
  size_t size;
  uint32_t count;
  struct {
    zocl_signal *signal;
    size_t offset;         /* from `to` */
    ze_kernel_timestamp_result_t value;
  } parts[];
} report_args;

/* Retain the signals until their times have been written. */
static void report_keep(void *args)
{
  const report_args *report = args;
  for (uint32_t i = 0; i < report->count; i++)
    if (report->parts[i].signal != NULL)
      zocl_signal_ref(report->parts[i].signal);
}

static void report_drop(void *args)
{
  const report_args *report = args;
  for (uint32_t i = 0; i < report->count; i++)
    zocl_signal_unref(report->parts[i].signal);
}

static void report_write(report_args *report)
{
  for (uint32_t i = 0; i < report->count; i++) {
    ze_kernel_timestamp_result_t *value = &report->parts[i].value;
    memset(value, 0, sizeof *value);
    if (report->parts[i].signal != NULL)
      zocl_event_timestamps(report->parts[i].signal, value);
    else
      value->global.kernelStart =
          zocl_clock() & ((UINT64_C(1) << ZOCL_TIMESTAMP_BITS) - 1);
  }
  report_drop(report);
}

static void report_deliver(void *args)
{
  report_args *report = args;
  report_write(report);
  for (uint32_t i = 0; i < report->count; i++)
    memcpy(report->to + report->parts[i].offset, &report->parts[i].value,
           report->size);
}

static void report_write_at(void *args)
{
  report_args *const *report = args;
  report_write(*report);
}

/* If the times go to device memory, one of our functions first writes them to
   host memory, and the back end copies them from there. */
static ze_result_t report_enqueue(const backend_place *place, const void *args,
                                  size_t args_size)
{
  const backend_table *backend = place->device->driver->backend;
  const report_args *given = args;
  ze_memory_type_t type;
  if (!zocl_memory_find(given->to, &type) || type != ZE_MEMORY_TYPE_DEVICE ||
      given->count == 0)
    return backend->call(place, report_deliver, args, args_size);
  report_args *report = malloc(args_size);
  if (report == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  memcpy(report, args, args_size);
  backend_mark *last = NULL;
  backend_place step = zocl_place_step(place, true, false);
  ze_result_t result =
      backend->call(&step, report_write_at, &report, sizeof report);
  if (result != ZE_RESULT_SUCCESS) {
    free(report);
    return result;
  }
  step = zocl_place_step(place, false, true);
  step.mark = NULL;
  for (uint32_t i = 0; i < report->count && result == ZE_RESULT_SUCCESS; i++) {
    if (i + 1 == report->count) step.mark = &last;
    const zocl_copy copy = {report->to + report->parts[i].offset,
                            &report->parts[i].value, report->size};
    result = backend->copy(&step, &copy);
  }
  /* Without the last mark, nothing reports when the report can be freed, so it
     stays.  report_write and the caller both drop the signals, so retain them
     again. */
  if (result != ZE_RESULT_SUCCESS) {
    report_keep(report);
    return result;
  }
  zocl_place_free(place, last, report);
  return ZE_RESULT_SUCCESS;
}

/* Append a command that writes the times of `events`, or the current time if
   `events` is NULL. */
static ze_result_t append_report(zocl_list *list, void *to, size_t size,
                                 uint32_t count, ze_event_handle_t *events,
                                 const size_t *offsets,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits)
{
  if (!zocl_memory_reachable(list->device, to))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  report_args *report;
  size_t bytes = sizeof *report + count * sizeof *report->parts;
  report = calloc(1, bytes);
  if (report == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  report->to = to;
  report->size = size;
  report->count = count;
  for (uint32_t i = 0; i < count; i++) {
    if (events != NULL)
      report->parts[i].signal = zocl_event_signal(events[i]);
    report->parts[i].offset = offsets != NULL ? offsets[i] : i * size;
  }
  zocl_command command = zocl_list_command(list, report_deliver,
                                           report_enqueue, report, bytes,
                                           true);
  command.keep = report_keep;
  command.drop = report_drop;
  ze_result_t result =
      zocl_list_append(list, &command, signal, wait_count, waits);
  for (uint32_t i = 0; events != NULL && i < count; i++)
    zocl_signal_unref(report->parts[i].signal);
  free(report);
  return result;
}

ze_result_t zocl_CommandListAppendWriteGlobalTimestamp(
    ze_command_list_handle_t list, uint64_t *to, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  return append_report(list, to, sizeof *to, 1, NULL, NULL, signal, wait_count,
                       waits);
}

ze_result_t zocl_CommandListAppendQueryKernelTimestamps(
    ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *events,
    void *to, const size_t *offsets, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(events);
  ZOCL_NEED_POINTER(to);
  for (uint32_t i = 0; i < count; i++) ZOCL_NEED_HANDLE(events[i]);
  return append_report(list, to, sizeof(ze_kernel_timestamp_result_t), count,
                       events, offsets, signal, wait_count, waits);
}
