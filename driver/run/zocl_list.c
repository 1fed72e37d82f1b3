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
  /* Waits that need no memory. */
  FEW_WAITS = 8,
  LIST_FLAGS = 0x3f,
  /* ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE */
  CLONEABLE = 0x10,
  /* ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC */
  MUTABLE_LIST_DESC = 0x20016,
  QUEUE_FLAGS = 0x7
};

atomic_uint zocl_captures;

struct zocl_commands {
  atomic_uint refs;
  uint32_t count;
  bool counted;          /* see zocl_commands_counted */
  zocl_recorded *first, **last;
  uint64_t id_count;
  zocl_recorded **ids;   /* by identifier - 1; NULL: not appended yet */
};

/* ------------------------------------------------------------------------
 * Recording and submitting.
 */

zocl_commands *zocl_commands_new(void)
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
  for (zocl_recorded *r = commands->first, *next; r != NULL; r = next) {
    next = r->next;
    for (uint32_t i = 0; i < r->wait_room; i++)
      zocl_signal_unref(r->waits[i]);
    zocl_signal_unref(r->command.signal);
    zocl_signal_unref(r->command.reset);
    if (r->command.drop != NULL) r->command.drop(r->command.args);
    for (uint32_t i = 0; i < r->image_room; i++)
      zocl_ext.image_unref(r->images[i]);
    free(r);
  }
  free(commands->ids);
  free(commands);
}

uint32_t zocl_commands_count(const zocl_commands *commands)
{
  return commands->count;
}

bool zocl_commands_counted(const zocl_commands *commands)
{
  return commands->counted;
}

void zocl_commands_use(zocl_commands *commands, const zocl_signal *signal)
{
  commands->counted |= zocl_signal_counted(signal);
}

uint64_t zocl_commands_id(zocl_commands *commands)
{
  zocl_recorded **ids = realloc(commands->ids, (commands->id_count + 1) *
                                                   sizeof *commands->ids);
  if (ids == NULL) return 0;
  commands->ids = ids;
  ids[commands->id_count++] = NULL;
  return commands->id_count;
}

zocl_recorded *zocl_commands_find(const zocl_commands *commands, uint64_t id)
{
  return id > 0 && id <= commands->id_count ? commands->ids[id - 1] : NULL;
}

static size_t round_up(size_t n)
{
  return (n + 15) & ~(size_t)15;
}

static size_t values_room(const zocl_launch *launch, const zocl_next *next)
{
  size_t values = launch != NULL ? launch->kernel->values_size : 0;
  return launch != NULL && values < next->values_room ? next->values_room
                                                      : values;
}

ze_result_t zocl_commands_record(zocl_commands *commands,
                                 const zocl_command *command,
                                 const zocl_next *next)
{
  const zocl_launch *launch = command->launch;
  size_t wait_bytes = command->wait_count * sizeof *command->waits;
  size_t room = values_room(launch, next);
  /* A kernel that comes later has at most so many images. */
  uint32_t images = command->image_count;
  if (next->id != 0 && images < room / 16) images = (uint32_t)(room / 16);
  size_t waits_at = round_up(sizeof(zocl_recorded));
  size_t images_at = waits_at + round_up(wait_bytes);
  size_t args_at = images_at + round_up(images * sizeof(zocl_image *));
  size_t values_at = args_at + round_up(command->args_size);
  zocl_recorded *r = malloc(values_at + room);
  if (r == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  *r = (zocl_recorded){.command = *command,
                       .waits = (zocl_signal **)((char *)r + waits_at),
                       .wait_room = command->wait_count,
                       .images = (zocl_image **)((char *)r + images_at),
                       .image_room = images,
                       .values_at = values_at,
                       .values_room = room,
                       .id = next->id,
                       .mutable_flags = next->flags};
  if (wait_bytes > 0) memcpy(r->waits, command->waits, wait_bytes);
  r->command.waits = r->waits;
  r->command.images = r->images;
  r->command.image_count = images;
  for (uint32_t i = 0; i < images; i++) {
    r->images[i] = i < command->image_count ? command->images[i] : NULL;
    zocl_ext.image_ref(r->images[i]);
  }
  if (command->args_size > 0)
    r->command.args =
        memcpy((char *)r + args_at, command->args, command->args_size);
  if (launch != NULL) {
    size_t values = launch->kernel->values_size;
    r->launch = *launch;
    r->launch.values = (unsigned char *)r + values_at;
    if (values > 0) memcpy((char *)r + values_at, launch->values, values);
    r->command.launch = &r->launch;
  }
  for (uint32_t i = 0; i < command->wait_count; i++) {
    zocl_signal_ref(command->waits[i]);
    zocl_commands_use(commands, command->waits[i]);
  }
  if (command->signal != NULL) {
    zocl_signal_ref(command->signal);
    zocl_commands_use(commands, command->signal);
  }
  if (command->keep != NULL) command->keep(r->command.args);
  if (command->reset != NULL) zocl_signal_ref(command->reset);
  if (r->id != 0) commands->ids[r->id - 1] = r;
  *commands->last = r;
  commands->last = &r->next;
  commands->count++;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_commands_copy(zocl_commands *commands,
                               const zocl_commands *others)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (const zocl_recorded *r = others->first;
       r != NULL && result == ZE_RESULT_SUCCESS; r = r->next)
    result = zocl_commands_record(commands, &r->command, &(zocl_next){0});
  return result;
}

const zocl_recorded *zocl_commands_first(const zocl_commands *commands)
{
  return commands->first;
}

static ze_result_t list_record(zocl_list *list, const zocl_command *command)
{
  ze_result_t result = zocl_commands_record(list->commands, command,
                                            &list->next);
  if (result == ZE_RESULT_SUCCESS) list->next = (zocl_next){0};
  return result;
}

static void recorded_fail(const zocl_recorded *r)
{
  for (; r != NULL; r = r->next)
    if (r->command.signal != NULL) zocl_signal_fail(r->command.signal);
}

void zocl_commands_fail(const zocl_commands *commands)
{
  recorded_fail(commands->first);
}

/* Whether the command can have the signal that is wanted behind it, which
   saves OpenCL a command. */
static bool takes_signal(const zocl_command *command,
                         const zocl_signal *signal)
{
  return signal != NULL && command->signal == NULL &&
         !(command->kind == ZOCL_COMMAND_INDIRECT &&
           zocl_signal_counted(signal));
}

ze_result_t zocl_commands_submit(const zocl_commands *commands,
                                 zocl_stream *stream, zocl_signal *behind,
                                 bool fail)
{
  for (const zocl_recorded *r = commands->first; r != NULL; r = r->next) {
    zocl_command command = r->command;
    if (r->next == NULL && takes_signal(&command, behind)) {
      command.signal = behind;
      behind = NULL;
    }
    ze_result_t result = zocl_stream_submit(stream, &command);
    if (result != ZE_RESULT_SUCCESS) {
      if (fail) recorded_fail(r);
      return result;
    }
  }
  zocl_command after = {.kind = ZOCL_COMMAND_NOTHING, .signal = behind};
  return behind != NULL ? zocl_stream_submit(stream, &after)
                        : ZE_RESULT_SUCCESS;
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
  if (command->kind == ZOCL_COMMAND_INDIRECT && signal != NULL &&
      signal->counter_modes != 0) {
    /* It has no OpenCL event to stand for; what follows it has. */
    zocl_command after = {.kind = ZOCL_COMMAND_NOTHING};
    result = zocl_list_append(list, command, NULL, wait_count, waits);
    return result == ZE_RESULT_SUCCESS
               ? zocl_list_append(list, &after, signal, 0, NULL)
               : result;
  }
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
  for (uint32_t i = 0; i < wait_count; i++) signals[i] = waits[i]->signal;
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
  if (signals != few) free(signals);
  if (result == ZE_RESULT_SUCCESS &&
      list->stream != NULL && list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    result = zocl_stream_wait(list->stream, UINT64_MAX);
  return result;
}

ze_result_t zocl_list_append_all(zocl_list *list, uint32_t count,
                                 zocl_commands *const *all,
                                 ze_event_handle_t signal, uint32_t wait_count,
                                 ze_event_handle_t *waits)
{
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (wait_count > 0)
    result = zocl_CommandListAppendBarrier(list, NULL, wait_count, waits);
  if (result == ZE_RESULT_SUCCESS && signal != NULL)
    result = zocl_event_check(list, signal);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (list->graph != NULL) {
    result = zocl_ext.graph_append_all(list, count, all);
    return result == ZE_RESULT_SUCCESS
               ? zocl_CommandListAppendBarrier(list, signal, 0, NULL)
               : result;
  }
  bool synchronous = list->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  zocl_signal *set = NULL;
  if (signal != NULL && (set = zocl_event_begin(list, signal)) == NULL)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  result = zocl_feeder_execute(zocl_stream_feeder(list->stream), count, all,
                               set, synchronous);
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
  if (desc->ordinal >= zocl_device_groups() || desc->index >= zocl_knob.queues)
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

/* The copy is closed as its source is, and has the same identifiers. */
ze_result_t zocl_CommandListCreateCloneExp(ze_command_list_handle_t list,
                                           ze_command_list_handle_t *clone)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(clone);
  if (list->stream != NULL || !(list->flags & CLONEABLE) || !list->closed)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "only a closed command list made with the flag "
                     "EXP_CLONEABLE can be cloned");
  zocl_list *made = malloc(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  *made = *list;
  ze_result_t result = ZE_RESULT_SUCCESS;
  made->commands = zocl_commands_new();
  while (made->commands != NULL && result == ZE_RESULT_SUCCESS &&
         made->commands->id_count < list->commands->id_count)
    if (zocl_commands_id(made->commands) == 0)
      result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (made->commands == NULL) result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  for (const zocl_recorded *r = list->commands->first;
       r != NULL && result == ZE_RESULT_SUCCESS; r = r->next) {
    const zocl_next next = {r->id, r->mutable_flags, r->values_room};
    result = zocl_commands_record(made->commands, &r->command, &next);
  }
  if (result != ZE_RESULT_SUCCESS) {
    zocl_commands_unref(made->commands);
    free(made);
    return zocl_error(result);
  }
  *clone = made;
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
  if (list->stream != NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is an immediate one");
  *flags = list->flags;
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
