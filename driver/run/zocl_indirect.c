/*
 * zocl_indirect.c - launches whose group counts are read when they begin.
 * SPDX-License-Identifier: MIT
 *
 * The stream calls one of our functions, which reads the counts and puts the
 * kernels into a second stream of the back end; then the stream waits for a
 * gate that we open when the last kernel is done.  The function never sleeps,
 * because it may run on a thread of the back end.  Counts in memory that the
 * host cannot read are first copied to host memory.
 */
#include "base/zocl_exit.h"
#include "run/zocl_event.h"

#include <stdlib.h>
#include <string.h>

/* Launches whose group counts are read when they begin.  Their argument values
   follow in the same block, which contains no pointers into itself. */
typedef struct indirect_args {
  uint32_t count;                 /* of launches; an upper limit if count_at is
                                     set */
  const uint32_t *count_at;       /* address of the actual count, or NULL */
  const ze_group_count_t *groups; /* counts of each launch */
  struct {
    zocl_launch launch;           /* `global` and `values` are not set */
    size_t values;                /* offset from the start of this structure */
  } launches[];
} indirect_args;

/* An indirect command that has been submitted. */
typedef struct pending_launches {
  const zocl_device *device;
  const backend_table *backend;
  backend_stream *side;  /* the kernels run here; it records timestamps */
  backend_mark *gate;    /* the stream waits for it */
  zocl_stream *stream;   /* the stream of the command, and owner of `side` */
  uint64_t number;
  zocl_signal *signal;   /* or NULL */
  backend_mark *first;   /* of the first kernel that was launched, or NULL */
  indirect_args *what;
  uint32_t count;        /* copies of device memory, if the host cannot read
                            it */
  ze_group_count_t *groups;
  bool failed;           /* a kernel could not be launched */
  uint32_t image_count;  /* images of the kernels, retained until they are
                            done */
  zocl_image **images;
} pending_launches;

static void pending_free(pending_launches *p)
{
  const zocl_driver *driver = p->device->driver;
  if (p->first != NULL) p->backend->mark_release(driver, p->first);
  if (p->gate != NULL) p->backend->mark_release(driver, p->gate);
  zocl_signal_unref(p->signal);
  if (p->stream != NULL) zocl_stream_unref(p->stream);
  for (uint32_t i = 0; i < p->image_count; i++)
    zocl_ext.image_unref(p->images[i]);
  free(p->images);
  free(p->groups);
  free(p->what);
  free(p);
}

/* End a command that is done or has failed.  The signal comes first, so that
   commands which wait for the gate find it set. */
static void pending_end(pending_launches *p, bool ok, backend_mark *last)
{
  const zocl_driver *driver = p->device->driver;
  uint64_t start = zocl_clock(), end = start, other;
  if (ok && last != NULL) {
    p->backend->mark_times(driver, p->first, &start, &other);
    p->backend->mark_times(driver, last, &other, &end);
  }
  if (!ok) zocl_stream_fail(p->stream, p->number, BACKEND_FAILED);
  ok = zocl_stream_status(p->stream, p->number) == BACKEND_DONE;
  if (p->signal != NULL && ok)
    zocl_signal_set(p->signal, start, end);
  else if (p->signal != NULL)
    zocl_signal_fail(p->signal);
  p->backend->gate_open(driver, p->gate);
  pending_free(p);
}

static void launches_done(backend_mark *last, int status, void *data)
{
  pending_launches *p = data;
  const zocl_driver *driver = p->device->driver;
  pending_end(p, status == BACKEND_DONE && !p->failed, last);
  driver->backend->mark_release(driver, last);
}

/* Read the counts and launch the kernels.  Runs in the stream. */
static void launches_run(void *args)
{
  pending_launches *p = *(pending_launches **)args;
  const zocl_driver *driver = p->device->driver;
  const backend_table *backend = p->backend;
  const indirect_args *w = p->what;
  uint32_t n = w->count_at != NULL && *w->count_at < w->count ? *w->count_at
                                                              : w->count;
  backend_mark *last = NULL;
  bool ok = true;
  for (uint32_t i = 0; i < n && ok; i++) {
    if (zocl_are_none(&w->groups[i])) continue;
    zocl_launch launch = w->launches[i].launch;
    launch.values = (const unsigned char *)w + w->launches[i].values;
    launch.global[0] = launch.local[0] * w->groups[i].groupCountX;
    launch.global[1] = launch.local[1] * w->groups[i].groupCountY;
    launch.global[2] = launch.local[2] * w->groups[i].groupCountZ;
    backend_mark *mark = NULL;
    const backend_place place = {p->device, p->side, 0, NULL, &mark};
    ok = zocl_kernel_enqueue(&launch, &place) == ZE_RESULT_SUCCESS;
    if (!ok) break;
    if (p->first == NULL) {
      p->first = mark;
      backend->mark_retain(driver, mark);
    }
    if (last != NULL) backend->mark_release(driver, last);
    last = mark;
  }
  if (last == NULL) {
    pending_end(p, ok, NULL);
    return;
  }
  backend->flush(p->device, p->side);
  p->failed = !ok;
  if (!backend->mark_notify(driver, last, launches_done, p)) {
    /* The launched kernels still run, and nothing reports when they end. */
    pending_end(p, false, NULL);
    backend->mark_release(driver, last);
  }
}

/* Returns true if only the device can read the memory at `pointer`. */
static bool is_remote(const zocl_driver *driver, const void *pointer)
{
  ze_memory_type_t type;
  return !driver->memory->any_pointer && zocl_memory_find(pointer, &type) &&
         type == ZE_MEMORY_TYPE_DEVICE;
}

/* Put copies of counts that the host cannot read into the stream.  Then *place
   has no marks left to wait for. */
static ze_result_t counts_fetch(pending_launches *p, backend_place *place)
{
  const zocl_driver *driver = p->device->driver;
  indirect_args *w = p->what;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (is_remote(driver, w->groups)) {
    size_t bytes = w->count * sizeof *w->groups;
    p->groups = malloc(bytes);
    if (p->groups == NULL)
      return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    const zocl_copy copy = {p->groups, w->groups, bytes};
    result = p->backend->copy(place, &copy);
    w->groups = p->groups;
    place->wait_count = 0;
    place->waits = NULL;
  }
  if (result == ZE_RESULT_SUCCESS && w->count_at != NULL &&
      is_remote(driver, w->count_at)) {
    const zocl_copy copy = {&p->count, w->count_at, sizeof p->count};
    result = p->backend->copy(place, &copy);
    w->count_at = &p->count;
    place->wait_count = 0;
    place->waits = NULL;
  }
  return result;
}

static ze_result_t launches_enqueue(const backend_place *place,
                                    backend_stream *side, zocl_stream *stream,
                                    uint64_t number,
                                    const zocl_command *command)
{
  const zocl_driver *driver = place->device->driver;
  const backend_table *backend = driver->backend;
  pending_launches *p = calloc(1, sizeof *p);
  const uint32_t images = command->image_count;
  if (p == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  p->device = place->device;
  p->backend = backend;
  p->what = malloc(command->args_size);
  p->images = malloc((images + 1u) * sizeof(zocl_image *));
  if (p->what == NULL || p->images == NULL) {
    pending_free(p);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  memcpy(p->what, command->args, command->args_size);
  for (; p->image_count < images; p->image_count++) {
    p->images[p->image_count] = command->images[p->image_count];
    zocl_ext.image_ref(p->images[p->image_count]);
  }
  ze_result_t result = backend->gate_new(driver, &p->gate);
  if (result != ZE_RESULT_SUCCESS) {
    p->gate = NULL;
    pending_free(p);
    return result;
  }
  p->stream = stream;
  p->number = number;
  zocl_stream_ref(stream);
  p->side = side;
  p->signal = command->signal;
  if (p->signal != NULL) zocl_signal_ref(p->signal);
  backend_mark *gate = p->gate;
  backend->mark_retain(driver, gate);
  backend_place step = *place;
  step.mark = NULL;
  result = counts_fetch(p, &step);
  if (result == ZE_RESULT_SUCCESS)
    result = backend->call(&step, launches_run, &p, sizeof p);
  /* The target of a copy that is under way must stay allocated. */
  if (result == ZE_RESULT_SUCCESS) {
    step.wait_count = 1;
    step.waits = &gate;
    result = backend->mark(&step);
  } else if (p->groups == NULL && p->what->count_at != &p->count)
    pending_free(p);
  backend->mark_release(driver, gate);
  return result;
}

/* ------------------------------------------------------------------------
 * Appending.
 */

static ze_result_t append_indirect(zocl_list *list, uint32_t count,
                                   ze_kernel_handle_t *kernels,
                                   const uint32_t *count_at,
                                   const ze_group_count_t *groups,
                                   ze_event_handle_t signal,
                                   uint32_t wait_count,
                                   ze_event_handle_t *waits)
{
  const ze_group_count_t one = {1, 1, 1};
  indirect_args *args;
  size_t head = zocl_round_up(sizeof *args + count * sizeof *args->launches);
  size_t size = head;
  uint32_t image_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    ZOCL_NEED_HANDLE(kernels[i]);
    size += zocl_round_up(kernels[i]->values_size);
    image_count += kernels[i]->image_count;
  }
  if (!zocl_memory_reachable(list->device, groups) ||
      !zocl_memory_reachable(list->device, count_at))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  args = malloc(size);
  zocl_image **images = malloc((image_count + 1u) * sizeof(zocl_image *));
  if (args == NULL || images == NULL) {
    free(args);
    free(images);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  image_count = 0;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < kernels[i]->image_count; j++)
      images[image_count++] = kernels[i]->images[j];
  args->count = count;
  args->count_at = count_at;
  args->groups = groups;
  ze_result_t result = ZE_RESULT_SUCCESS;
  size_t at = head;
  for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++) {
    zocl_launch *launch = &args->launches[i].launch;
    result = zocl_launch_describe(list, kernels[i], &one, launch);
    if (result != ZE_RESULT_SUCCESS) break;
    args->launches[i].values = at;
    memcpy((char *)args + at, launch->values, kernels[i]->values_size);
    at += zocl_round_up(kernels[i]->values_size);
  }
  zocl_command command = {.kind = ZOCL_COMMAND_INDIRECT,
                          .indirect = launches_enqueue,
                          .images = images,
                          .image_count = image_count,
                          .args = args,
                          .args_size = size};
  if (result == ZE_RESULT_SUCCESS) {
    zocl_exit_early();
    result = zocl_list_append(list, &command, signal, wait_count, waits);
  }
  free(images);
  free(args);
  return result;
}

ze_result_t zocl_CommandListAppendLaunchKernelIndirect(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  return append_indirect(list, 1, &kernel, NULL, groups, signal, wait_count,
                         waits);
}

ze_result_t zocl_CommandListAppendLaunchMultipleKernelsIndirect(
    ze_command_list_handle_t list, uint32_t count, ze_kernel_handle_t *kernels,
    const uint32_t *count_at, const ze_group_count_t *groups,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(kernels);
  ZOCL_NEED_POINTER(count_at);
  ZOCL_NEED_POINTER(groups);
  return append_indirect(list, count, kernels, count_at, groups, signal,
                         wait_count, waits);
}
