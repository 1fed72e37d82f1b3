/*
 * zocl_list.c - command lists: appended commands run now or are recorded.
 * SPDX-License-Identifier: MIT
 *
 * An immediate list has a stream and submits each command as it is appended.  A
 * regular list keeps a copy of each command (zocl_commands.c) and submits them
 * in order each time it is executed.
 */
#include "run/zocl_list.h"
#include "device/zocl_driver.h"
#include "run/zocl_feeder.h"
#include "run/zocl_event.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* With at most this many waits, no memory is allocated. */
  FEW_WAITS = 8,
  LIST_FLAGS = 0x3f,
  /* ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC */
  MUTABLE_LIST_DESC = 0x20016,
  QUEUE_FLAGS = 0x7
};

atomic_uint zocl_captures;

/* ------------------------------------------------------------------------
 * Recording and submitting.
 */

static ze_result_t list_record(zocl_list *list, const zocl_command *command)
{
  ze_result_t result = zocl_commands_record(list->commands, command,
                                            &list->next);
  if (result == ZE_RESULT_SUCCESS) list->next = (zocl_next){0};
  return result;
}

zocl_command zocl_list_command(const zocl_list *list,
                               zocl_host_function function,
                               zocl_transfer transfer, void *args,
                               size_t args_size, bool small)
{
  /* A caller that will wait for the command runs it itself, except a function
     of the program: that may call us, and we hold the stream's lock. */
  bool waits_anyway =
      list->stream != NULL &&
      list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS && transfer != NULL;
  bool here = transfer == NULL || list->device->driver->memory->any_pointer;
  return (zocl_command){.kind = here ? ZOCL_COMMAND_HOST
                                     : ZOCL_COMMAND_TRANSFER,
                        .small = small || waits_anyway,
                        .function = function,
                        .transfer = transfer,
                        .args = args,
                        .args_size = args_size};
}

ze_result_t zocl_list_submit(zocl_list *list, const zocl_command *command)
{
  zocl_feeder *feeder = zocl_stream_feeder(list->stream);
  if (zocl_feeder_busy(feeder)) zocl_feeder_wait(feeder, UINT64_MAX);
  return zocl_stream_submit(list->stream, command);
}

ze_result_t zocl_list_append(zocl_list *list, zocl_command *command,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits)
{
  if (wait_count > 0 && waits == NULL)
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < wait_count; i++) ZOCL_NEED_HANDLE(waits[i]);
  if (list->closed)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is closed");
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (signal != NULL) result = zocl_event_check(list, signal);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (zocl_is_capturing()) {
    bool captured;
    result = zocl_ext.graph_append(list, command, signal, wait_count, waits,
                                   &captured);
    if (result != ZE_RESULT_SUCCESS || captured) return result;
  }
  zocl_signal *few[FEW_WAITS], **signals = few;
  if (wait_count > FEW_WAITS) {
    signals = malloc(wait_count * sizeof(zocl_signal *));
    if (signals == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  for (uint32_t i = 0; i < wait_count; i++)
    signals[i] = zocl_event_signal(waits[i]);
  command->signal = signal != NULL ? zocl_event_begin(list, signal) : NULL;
  command->wait_count = wait_count;
  command->waits = signals;
  if (signal != NULL && command->signal == NULL)
    result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  else
    result = list->stream != NULL ? zocl_list_submit(list, command)
                                  : list_record(list, command);
  if (command->signal != NULL)
    zocl_event_end(signal, command->signal, result == ZE_RESULT_SUCCESS);
  for (uint32_t i = 0; i < wait_count; i++) zocl_signal_unref(signals[i]);
  if (signals != few) free(signals);
  if (result == ZE_RESULT_SUCCESS &&
      list->stream != NULL && list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    result = zocl_stream_wait(list->stream, UINT64_MAX);
  return result;
}

static ze_result_t append_barrier(zocl_list *list, ze_event_handle_t signal,
                                  uint32_t wait_count,
                                  ze_event_handle_t *waits)
{
  zocl_command command = {.kind = ZOCL_COMMAND_NOTHING};
  return zocl_list_append(list, &command, signal, wait_count, waits);
}

ze_result_t zocl_list_append_all(zocl_list *list, uint32_t count,
                                 zocl_commands *const *all,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (signal != NULL) result = zocl_event_check(list, signal);
  if (result == ZE_RESULT_SUCCESS && wait_count > 0)
    result = append_barrier(list, NULL, wait_count, waits);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (list->graph != NULL) {
    result = zocl_ext.graph_append_all(list, count, all);
    return result == ZE_RESULT_SUCCESS
               ? append_barrier(list, signal, 0, NULL)
               : result;
  }
  bool synchronous = list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  zocl_signal *set = NULL;
  if (signal != NULL && (set = zocl_event_begin(list, signal)) == NULL)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  result = zocl_commands_execute(list->stream, count, all, set, synchronous);
  if (set != NULL)
    zocl_event_end(signal, set, result == ZE_RESULT_SUCCESS);
  if (result == ZE_RESULT_SUCCESS && synchronous)
    result = zocl_stream_wait(list->stream, UINT64_MAX);
  return result;
}

/* ------------------------------------------------------------------------
 * Lists.
 */

ze_result_t zocl_lists_take(uint32_t count, ze_command_list_handle_t *lists,
                            const zocl_device *device, uint32_t ordinal,
                            zocl_commands **few, zocl_commands ***all)
{
  if (count == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < count; i++) {
    ZOCL_NEED_HANDLE(lists[i]);
    if (!lists[i]->closed || lists[i]->device != device)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       lists[i]->closed ? "list %u is for another device"
                                        : "list %u is not closed", i);
    if (lists[i]->ordinal != ordinal)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                       "list %u is for queue group %u, not %u", i,
                       lists[i]->ordinal, ordinal);
  }
  *all = count <= ZOCL_FEW_LISTS ? few : malloc(count * sizeof **all);
  if (*all == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  for (uint32_t i = 0; i < count; i++) (*all)[i] = lists[i]->commands;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t list_new(zocl_context *context, zocl_device *device,
                            uint32_t ordinal, zocl_list **list)
{
  if (device->driver != context->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the device is not of the context's driver");
  if (ordinal >= zocl_device_groups())
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "there is no queue group %u", ordinal);
  zocl_list *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->device = device;
  made->ordinal = ordinal;
  *list = made;
  return ZE_RESULT_SUCCESS;
}

/* Commands run in order with or without the IN_ORDER flag. */
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
                                desc->commandQueueGroupOrdinal, &made);
  if (result != ZE_RESULT_SUCCESS) return result;
  made->flags = desc->flags;
  for (const ze_base_desc_t *e = desc->pNext; e != NULL; e = e->pNext)
    made->can_change |= (int)e->stype == MUTABLE_LIST_DESC;
  made->commands = zocl_commands_new();
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
  if (desc->ordinal >= zocl_device_groups() ||
      desc->index >= zocl_option.queues)
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
    result = list_new(context, device, desc->ordinal, &made);
  if (result != ZE_RESULT_SUCCESS) return result;
  made->index = desc->index;
  made->flags = desc->flags;
  made->mode = desc->mode;
  made->priority = desc->priority;
  result = zocl_stream_new(device, desc->priority, &made->stream);
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
  if (zocl_is_capturing()) zocl_ext.graph_leave(list);
  if (list->stream != NULL) zocl_stream_close(list->stream);
  zocl_commands_unref(list->commands);
  free(list);
  return ZE_RESULT_SUCCESS;
}

/* An immediate list cannot be closed or reset; both calls do nothing. */
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
    /* Executed commands that are not submitted yet have their own reference. */
    zocl_commands *empty = zocl_commands_new();
    if (empty == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    zocl_commands_unref(list->commands);
    list->commands = empty;
    list->next = (zocl_next){0};
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
  if (list->graph != NULL)
    return zocl_fail(ZOCL_ERROR_CAPTURE_UNSUPPORTED,
                     "what is captured cannot be waited for");
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

static ze_result_t not_immediate(void)
{
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "the command list is not an immediate one");
}

ze_result_t zocl_CommandListImmediateGetIndex(ze_command_list_handle_t list,
                                              uint32_t *index)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(index);
  if (list->stream == NULL) return not_immediate();
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

ze_result_t zocl_CommandListGetFlags(ze_command_list_handle_t list,
                                     ze_command_list_flags_t *flags)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(flags);
  /* An immediate list has queue flags instead. */
  *flags = list->stream == NULL ? list->flags : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListImmediateGetFlags(ze_command_list_handle_t list,
                                              ze_command_queue_flags_t *flags)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(flags);
  if (list->stream == NULL) return not_immediate();
  *flags = list->flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListImmediateGetMode(ze_command_list_handle_t list,
                                             ze_command_queue_mode_t *mode)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(mode);
  if (list->stream == NULL) return not_immediate();
  *mode = list->mode;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListImmediateGetPriority(
    ze_command_list_handle_t list, ze_command_queue_priority_t *priority)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(priority);
  if (list->stream == NULL) return not_immediate();
  *priority = list->priority;
  return ZE_RESULT_SUCCESS;
}
