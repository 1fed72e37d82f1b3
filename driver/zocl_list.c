/*
 * zocl_list.c - command lists: what is appended runs now or is recorded.
 * SPDX-License-Identifier: MIT
 *
 * An immediate list has a stream and submits each command as it is appended.
 * A regular list keeps a copy of each with all it points to, in one block of
 * memory a command, and submits them in order whenever it is executed.
 */
#include "zocl.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* A copy or fill up to this size costs no more than handing it over. */
  SMALL_BYTES = 16384,
  /* Waits that need no memory. */
  FEW_WAITS = 8,
  LIST_FLAGS = 0x3f,
  QUEUE_FLAGS = 0x7
};

/* A recorded command; what it points to follows it in its block.  It refers
   to the signals, so that an event destroyed too early does no harm. */
typedef struct recorded {
  struct recorded *next;
  zocl_command command;
  zocl_launch launch;
} recorded;

struct zocl_commands {
  atomic_uint refs;
  uint32_t count;
  recorded *first, **last;
};

/* ------------------------------------------------------------------------
 * Recording and submitting.
 */

static zocl_commands *commands_new(void)
{
  zocl_commands *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  atomic_init(&made->refs, 1);
  made->last = &made->first;
  return made;
}

void zocl_commands_ref(zocl_commands *commands)
{
  atomic_fetch_add_explicit(&commands->refs, 1, memory_order_relaxed);
}

void zocl_commands_unref(zocl_commands *commands)
{
  if (commands == NULL ||
      atomic_fetch_sub_explicit(&commands->refs, 1, memory_order_acq_rel) != 1)
    return;
  for (recorded *r = commands->first, *next; r != NULL; r = next) {
    next = r->next;
    for (uint32_t i = 0; i < r->command.wait_count; i++)
      zocl_signal_unref(r->command.waits[i]);
    zocl_signal_unref(r->command.signal);
    zocl_signal_unref(r->command.reset);
    free(r);
  }
  free(commands);
}

uint32_t zocl_commands_count(const zocl_commands *commands)
{
  return commands->count;
}

static size_t round_up(size_t n)
{
  return (n + 15) & ~(size_t)15;
}

static ze_result_t list_record(zocl_list *list, const zocl_command *command)
{
  size_t wait_bytes = command->wait_count * sizeof *command->waits;
  size_t args = round_up(command->args_size);
  size_t values = command->kind == ZOCL_COMMAND_LAUNCH
                      ? command->launch->kernel->values_size
                      : 0;
  size_t head = round_up(sizeof(recorded));
  recorded *r = malloc(head + round_up(wait_bytes) + args + values);
  if (r == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  char *at = (char *)r + head;
  r->next = NULL;
  r->command = *command;
  if (wait_bytes > 0)
    r->command.waits = memcpy(at, command->waits, wait_bytes);
  at += round_up(wait_bytes);
  if (command->args_size > 0)
    r->command.args = memcpy(at, command->args, command->args_size);
  at += args;
  if (command->kind == ZOCL_COMMAND_LAUNCH) {
    r->launch = *command->launch;
    if (values > 0)
      r->launch.values = memcpy(at, command->launch->values, values);
    r->command.launch = &r->launch;
  }
  for (uint32_t i = 0; i < command->wait_count; i++)
    zocl_signal_ref(command->waits[i]);
  if (command->signal != NULL) zocl_signal_ref(command->signal);
  if (command->reset != NULL) zocl_signal_ref(command->reset);
  zocl_commands *commands = list->commands;
  *commands->last = r;
  commands->last = &r->next;
  commands->count++;
  return ZE_RESULT_SUCCESS;
}

static void recorded_fail(const recorded *r)
{
  for (; r != NULL; r = r->next)
    if (r->command.signal != NULL) zocl_signal_fail(r->command.signal);
}

void zocl_commands_fail(const zocl_commands *commands)
{
  recorded_fail(commands->first);
}

ze_result_t zocl_commands_submit(const zocl_commands *commands,
                                 zocl_stream *stream, bool fail)
{
  for (const recorded *r = commands->first; r != NULL; r = r->next) {
    ze_result_t result = zocl_stream_submit(stream, &r->command);
    if (result != ZE_RESULT_SUCCESS) {
      if (fail) recorded_fail(r);
      return result;
    }
  }
  return ZE_RESULT_SUCCESS;
}

/* Submit or record.  What all appends have in common is checked here, so that
   they only describe their command. */
static ze_result_t list_append(zocl_list *list, zocl_command *command,
                               ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t *waits)
{
  if (wait_count > 0 && waits == NULL)
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < wait_count; i++) ZOCL_NEED_HANDLE(waits[i]);
  if (list->closed)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is closed");
  zocl_signal *few[FEW_WAITS], **signals = few;
  if (wait_count > FEW_WAITS) {
    signals = malloc(wait_count * sizeof(zocl_signal *));
    if (signals == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  for (uint32_t i = 0; i < wait_count; i++) signals[i] = waits[i]->signal;
  command->signal = signal != NULL ? signal->signal : NULL;
  command->wait_count = wait_count;
  command->waits = signals;
  ze_result_t result = list->stream != NULL
                           ? zocl_stream_submit(list->stream, command)
                           : list_record(list, command);
  if (signals != few) free(signals);
  if (result == ZE_RESULT_SUCCESS && list->synchronous)
    result = zocl_stream_wait(list->stream, UINT64_MAX);
  return result;
}

/* ------------------------------------------------------------------------
 * Lists.
 */

static ze_result_t list_new(zocl_context *context, zocl_device *device,
                            uint32_t ordinal, uint32_t index, zocl_list **list)
{
  if (device->driver != context->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the device is not of the context's driver");
  if (ordinal != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "there is only one queue group, not %u", ordinal);
  zocl_list *made = calloc(1, sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->device = device;
  made->ordinal = ordinal;
  made->index = index;
  *list = made;
  return ZE_RESULT_SUCCESS;
}

/* Commands run in order with and without the IN_ORDER flag. */
ze_result_t zocl_CommandListCreate(ze_context_handle_t context,
                                   ze_device_handle_t device,
                                   const ze_command_list_desc_t *desc,
                                   ze_command_list_handle_t *list)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(list);
  if (desc->flags & ~(uint32_t)LIST_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  zocl_list *made;
  ze_result_t result = list_new(context, device,
                                desc->commandQueueGroupOrdinal, 0, &made);
  if (result != ZE_RESULT_SUCCESS) return result;
  made->commands = commands_new();
  if (made->commands == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  *list = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_queue_check(const ze_command_queue_desc_t *desc)
{
  if (desc->flags & ~(uint32_t)QUEUE_FLAGS ||
      (unsigned)desc->mode > ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS ||
      (unsigned)desc->priority > ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->ordinal != 0 || desc->index >= ZOCL_QUEUES)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "there is no queue %u of group %u", desc->index,
                     desc->ordinal);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListCreateImmediate(
    ze_context_handle_t context, ze_device_handle_t device,
    const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(list);
  zocl_list *made;
  ze_result_t result = zocl_queue_check(desc);
  if (result == ZE_RESULT_SUCCESS)
    result = list_new(context, device, desc->ordinal, desc->index, &made);
  if (result != ZE_RESULT_SUCCESS) return result;
  made->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  result = zocl_stream_new(device, false, &made->stream);
  if (result != ZE_RESULT_SUCCESS) {
    free(made);
    return result;
  }
  *list = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListDestroy(ze_command_list_handle_t list)
{
  ZOCL_NEED_HANDLE(list);
  if (list->stream != NULL) zocl_stream_close(list->stream);
  zocl_commands_unref(list->commands);
  free(list);
  return ZE_RESULT_SUCCESS;
}

/* An immediate list is neither closed nor reset; both do nothing there. */
ze_result_t zocl_CommandListClose(ze_command_list_handle_t list)
{
  ZOCL_NEED_HANDLE(list);
  list->closed = list->stream == NULL;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListReset(ze_command_list_handle_t list)
{
  ZOCL_NEED_HANDLE(list);
  if (list->commands != NULL) {
    /* What was executed may still be on its way: it keeps its commands. */
    zocl_commands *empty = commands_new();
    if (empty == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    zocl_commands_unref(list->commands);
    list->commands = empty;
  }
  list->closed = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListHostSynchronize(ze_command_list_handle_t list,
                                            uint64_t timeout)
{
  ZOCL_NEED_HANDLE(list);
  if (list->stream == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "only an immediate command list can be waited for");
  return zocl_stream_wait(list->stream, timeout);
}

ze_result_t zocl_CommandListGetDeviceHandle(ze_command_list_handle_t list,
                                            ze_device_handle_t *device)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(device);
  *device = list->device;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListGetContextHandle(ze_command_list_handle_t list,
                                             ze_context_handle_t *context)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(context);
  *context = list->context;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListGetOrdinal(ze_command_list_handle_t list,
                                       uint32_t *ordinal)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(ordinal);
  *ordinal = list->ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListImmediateGetIndex(ze_command_list_handle_t list,
                                              uint32_t *index)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(index);
  if (list->stream == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is not an immediate one");
  *index = list->index;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListIsImmediate(ze_command_list_handle_t list,
                                        ze_bool_t *immediate)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(immediate);
  *immediate = list->stream != NULL;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Launches.
 */

/* Whether the device may touch what the launch's arguments point to. */
static bool arguments_reachable(const zocl_device *device,
                                const zocl_launch *launch)
{
  if (zocl_knob.peer_access) return true;
  for (uint32_t i = 0; i < launch->kernel->arg_count; i++) {
    const zocl_arg *arg = &launch->kernel->args[i];
    const void *pointer;
    if (arg->cls != SPIRV_ARG_POINTER) continue;
    memcpy(&pointer, launch->values + arg->offset, sizeof pointer);
    if (!zocl_memory_reachable(device, pointer)) return false;
  }
  return true;
}

ze_result_t zocl_CommandListAppendLaunchKernel(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  zocl_launch launch;
  ze_result_t result = zocl_kernel_capture(kernel, groups, &launch);
  if (result != ZE_RESULT_SUCCESS) return result;
  const zocl_device *made_for = kernel->module->device;
  if (made_for != list->device && made_for != list->device->root)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the kernel was made for another device");
  if (!arguments_reachable(list->device, &launch))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  /* A count of nought launches nothing and is done in its turn. */
  bool empty = groups->groupCountX == 0 || groups->groupCountY == 0 ||
               groups->groupCountZ == 0;
  zocl_command command = {
    .kind = empty ? ZOCL_COMMAND_NOTHING : ZOCL_COMMAND_LAUNCH,
    .launch = &launch};
  return list_append(list, &command, signal, wait_count, waits);
}

/* zeKernelSuggestMaxCooperativeGroupCount says 1: OpenCL promises nothing
   about groups that wait for each other. */
ze_result_t zocl_CommandListAppendLaunchCooperativeKernel(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  if ((uint64_t)groups->groupCountX * groups->groupCountY *
          groups->groupCountZ > 1)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "a cooperative launch may have one group here");
  return zocl_CommandListAppendLaunchKernel(list, kernel, groups, signal,
                                            wait_count, waits);
}

/* ------------------------------------------------------------------------
 * Events and barriers.
 */

ze_result_t zocl_CommandListAppendBarrier(ze_command_list_handle_t list,
                                          ze_event_handle_t signal,
                                          uint32_t wait_count,
                                          ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  zocl_command command = {.kind = ZOCL_COMMAND_NOTHING};
  return list_append(list, &command, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryRangesBarrier(
    ze_command_list_handle_t list, uint32_t count, const size_t *sizes,
    const void **ranges, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(sizes);
  ZOCL_NEED_POINTER(ranges);
  (void)count;
  return zocl_CommandListAppendBarrier(list, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendSignalEvent(ze_command_list_handle_t list,
                                              ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(event);
  return zocl_CommandListAppendBarrier(list, event, 0, NULL);
}

ze_result_t zocl_CommandListAppendWaitOnEvents(ze_command_list_handle_t list,
                                               uint32_t count,
                                               ze_event_handle_t *events)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(events);
  return zocl_CommandListAppendBarrier(list, NULL, count, events);
}

ze_result_t zocl_CommandListAppendEventReset(ze_command_list_handle_t list,
                                             ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(event);
  zocl_command command = {.kind = ZOCL_COMMAND_RESET,
                          .reset = event->signal};
  return list_append(list, &command, NULL, 0, NULL);
}

/* ------------------------------------------------------------------------
 * Memory.
 */

static ze_result_t append_host(zocl_list *list, zocl_host_function function,
                               void *args, size_t args_size, bool small,
                               ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t *waits)
{
  zocl_command command = {.kind = ZOCL_COMMAND_HOST,
                          .small = small,
                          .function = function,
                          .args = args,
                          .args_size = args_size};
  return list_append(list, &command, signal, wait_count, waits);
}

static bool both_reachable(const zocl_list *list, const void *to,
                           const void *from)
{
  return zocl_memory_reachable(list->device, to) &&
         zocl_memory_reachable(list->device, from);
}

ze_result_t zocl_CommandListAppendMemoryCopy(
    ze_command_list_handle_t list, void *to, const void *from, size_t size,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  ZOCL_NEED_POINTER(from);
  if (!both_reachable(list, to, from)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_copy copy = {to, from, size};
  return append_host(list, zocl_memory_copy, &copy, sizeof copy,
                     size <= SMALL_BYTES, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryFill(
    ze_command_list_handle_t list, void *to, const void *pattern,
    size_t pattern_size, size_t size, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  ZOCL_NEED_POINTER(pattern);
  if (pattern_size == 0 || pattern_size > ZOCL_MAX_PATTERN ||
      (pattern_size & (pattern_size - 1)) != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "a pattern has a power of two of bytes up to %d, not %zu",
                     ZOCL_MAX_PATTERN, pattern_size);
  if (size % pattern_size != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "%zu bytes are no multiple of the pattern's %zu", size,
                     pattern_size);
  if (!zocl_memory_reachable(list->device, to))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_fill fill = {.to = to, .size = size, .pattern_size = pattern_size};
  memcpy(fill.pattern, pattern, pattern_size);
  return append_host(list, zocl_memory_fill, &fill, sizeof fill,
                     size <= SMALL_BYTES, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t list, void *to, const ze_copy_region_t *to_region,
    uint32_t to_pitch, uint32_t to_slice, const void *from,
    const ze_copy_region_t *from_region, uint32_t from_pitch,
    uint32_t from_slice, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  ZOCL_NEED_POINTER(to_region);
  ZOCL_NEED_POINTER(from);
  ZOCL_NEED_POINTER(from_region);
  if (to_region->width != from_region->width ||
      to_region->height != from_region->height ||
      to_region->depth != from_region->depth)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "the two regions differ in size");
  if (!both_reachable(list, to, from)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_copy_region copy = {to,       from,     *to_region, *from_region,
                           to_pitch, to_slice, from_pitch, from_slice};
  uint64_t bytes = (uint64_t)from_region->width * from_region->height *
                   (from_region->depth > 0 ? from_region->depth : 1);
  return append_host(list, zocl_memory_copy_region, &copy, sizeof copy,
                     bytes <= SMALL_BYTES, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryCopyFromContext(
    ze_command_list_handle_t list, void *to, ze_context_handle_t from_context,
    const void *from, size_t size, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  /* Every context reaches all memory. */
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(from_context);
  return zocl_CommandListAppendMemoryCopy(list, to, from, size, signal,
                                          wait_count, waits);
}

/* Both are hints, and there is nowhere else to move the memory to. */
ze_result_t zocl_CommandListAppendMemoryPrefetch(ze_command_list_handle_t list,
                                                 const void *pointer,
                                                 size_t size)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(pointer);
  (void)size;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListAppendMemAdvise(ze_command_list_handle_t list,
                                            ze_device_handle_t device,
                                            const void *pointer, size_t size,
                                            ze_memory_advice_t advice)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(pointer);
  (void)size;
  /* The newest advice is 9, "system memory is not preferred" (1.7). */
  if ((unsigned)advice > 9)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Timestamps.
 */

static void write_timestamp(void *args)
{
  uint64_t *const *to = args;
  **to = zocl_clock() & ((UINT64_C(1) << ZOCL_TIMESTAMP_BITS) - 1);
}

ze_result_t zocl_CommandListAppendWriteGlobalTimestamp(
    ze_command_list_handle_t list, uint64_t *to, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  return append_host(list, write_timestamp, &to, sizeof to, true, signal,
                     wait_count, waits);
}

/* The events' times to memory, followed by the events' signals. */
typedef struct query_args {
  uint32_t count;
  char *to;
  const size_t *offsets;
  zocl_signal *signals[];
} query_args;

static void query_timestamps(void *args)
{
  const query_args *q = args;
  for (uint32_t i = 0; i < q->count; i++) {
    ze_kernel_timestamp_result_t result;
    size_t offset = q->offsets != NULL ? q->offsets[i] : i * sizeof result;
    if (!zocl_event_timestamps(q->signals[i], &result))
      memset(&result, 0, sizeof result);
    memcpy(q->to + offset, &result, sizeof result);
  }
}

ze_result_t zocl_CommandListAppendQueryKernelTimestamps(
    ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *events,
    void *to, const size_t *offsets, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(events);
  ZOCL_NEED_POINTER(to);
  size_t size = sizeof(query_args) + count * sizeof(zocl_signal *);
  query_args *args = malloc(size);
  if (args == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  args->count = count;
  args->to = to;
  args->offsets = offsets;
  for (uint32_t i = 0; i < count; i++) {
    if (events[i] == NULL) {
      free(args);
      return zocl_error(ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    }
    args->signals[i] = events[i]->signal;
  }
  ze_result_t result = append_host(list, query_timestamps, args, size, true,
                                   signal, wait_count, waits);
  free(args);
  return result;
}
