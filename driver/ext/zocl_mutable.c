/*
 * zocl_mutable.c - clones of command lists, and lists that can be changed.
 * SPDX-License-Identifier: MIT
 *
 * A command that will be changed later has an identifier, which the program
 * requests before appending it.  Changes apply to the recorded command.
 */
#include "run/zocl_event.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE */
  CLONEABLE = 0x10,
  /* ze_mutable_command_exp_flag_t */
  KERNEL_ARGUMENTS = 0x1,
  GROUP_COUNT = 0x2,
  GROUP_SIZE = 0x4,
  GLOBAL_OFFSET = 0x8,
  SIGNAL_EVENT = 0x10,
  WAIT_EVENTS = 0x20,
  KERNEL_INSTRUCTION = 0x40,
  ALL_FLAGS = 0xff,
  DEFAULT_FLAGS = ALL_FLAGS & ~KERNEL_INSTRUCTION,
  /* The descriptors that may be chained to ze_mutable_commands_exp_desc_t. */
  ARGUMENT_DESC = 0x20019,
  COUNT_DESC = 0x2001a,
  SIZE_DESC = 0x2001b,
  OFFSET_DESC = 0x2001c
};

/* ze_mutable_kernel_argument_exp_desc_t */
typedef struct argument_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint64_t id;
  uint32_t index;
  size_t size;
  const void *value;
} argument_desc;

/* ze_mutable_group_count_exp_desc_t */
typedef struct count_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint64_t id;
  const ze_group_count_t *groups;
} count_desc;

/* ze_mutable_group_size_exp_desc_t, ze_mutable_global_offset_exp_desc_t */
typedef struct triple_desc {
  ze_structure_type_t stype;
  const void *pNext;
  uint64_t id;
  uint32_t value[3];
} triple_desc;

/* ------------------------------------------------------------------------
 * Clones.
 */

/* The clone is closed like its source, and its commands have the same
   identifiers. */
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
  made->commands = zocl_commands_clone(list->commands);
  if (made->commands == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  *clone = made;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Identifiers.
 */

static ze_result_t not_mutable(void)
{
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "the command list is not a mutable one");
}

ze_result_t zocl_CommandListGetNextCommandIdWithKernelsExp(
    ze_command_list_handle_t list, const zocl_command_id_desc *desc,
    uint32_t count, ze_kernel_handle_t *kernels, uint64_t *id)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(id);
  if (desc->flags & ~(uint32_t)ALL_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (!list->can_change) return not_mutable();
  if (list->closed)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is closed");
  if (kernels == NULL && count > 0)
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  size_t room = 0;
  for (uint32_t i = 0; i < count; i++) {
    ZOCL_NEED_HANDLE(kernels[i]);
    if (room < kernels[i]->values_size) room = kernels[i]->values_size;
  }
  *id = list->next.id = zocl_commands_id(list->commands);
  if (*id == 0) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  list->next.flags = desc->flags != 0 ? desc->flags : DEFAULT_FLAGS;
  list->next.values_room = room;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListGetNextCommandIdExp(
    ze_command_list_handle_t list, const zocl_command_id_desc *desc,
    uint64_t *id)
{
  return zocl_CommandListGetNextCommandIdWithKernelsExp(list, desc, 0, NULL,
                                                        id);
}

ze_result_t zocl_CommandListIsMutableExp(ze_command_list_handle_t list,
                                         ze_bool_t *value)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(value);
  *value = list->can_change;
  return ZE_RESULT_SUCCESS;
}

/* Find the command with this identifier, and check that `flag` allows the
   change. */
static ze_result_t command_find(const zocl_list *list, uint64_t id,
                                uint32_t flag, zocl_recorded **command)
{
  if (!list->can_change) return not_mutable();
  *command = zocl_commands_find(list->commands, id);
  if (*command == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "there is no command %llu", (unsigned long long)id);
  if (!((*command)->mutable_flags & flag))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "command %llu was not to be changed so",
                     (unsigned long long)id);
  return ZE_RESULT_SUCCESS;
}

/* Find a command that launches a kernel, with the same checks. */
static ze_result_t launch_find(const zocl_list *list, uint64_t id,
                               uint32_t flag, zocl_recorded **command)
{
  ze_result_t result = command_find(list, id, flag, command);
  if (result == ZE_RESULT_SUCCESS && (*command)->launch.kernel == NULL)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "command %llu is not a launch", (unsigned long long)id);
  return result;
}

/* ------------------------------------------------------------------------
 * Changes.
 */

/* The argument values of a recorded launch are in its own block. */
static unsigned char *values_of(zocl_recorded *r)
{
  return (unsigned char *)r + r->values_at;
}

static void launch_resize(zocl_recorded *r, const ze_group_count_t *groups)
{
  const uint32_t counts[3] = {groups->groupCountX, groups->groupCountY,
                              groups->groupCountZ};
  r->command.groups = *groups;
  r->command.kind = zocl_are_none(groups) ? ZOCL_COMMAND_NOTHING
                                          : ZOCL_COMMAND_LAUNCH;
  for (int d = 0; d < 3; d++)
    r->launch.global[d] = r->launch.local[d] * counts[d];
}

/* Check that the launch has enough local memory once all these changes are
   made. */
static ze_result_t check_local(zocl_recorded *r, uint64_t id,
                               const ze_base_desc_t *changes)
{
  const zocl_kernel *kernel = r->launch.kernel;
  uint64_t sum = kernel->info->local_bytes;
  for (uint32_t i = 0; i < kernel->arg_count; i++) {
    if (kernel->args[i].cls != SPIRV_ARG_LOCAL) continue;
    uint64_t bytes = zocl_kernel_local(kernel, i, values_of(r));
    for (const ze_base_desc_t *d = changes; d != NULL; d = d->pNext) {
      const argument_desc *a = (const argument_desc *)d;
      if ((int)d->stype == ARGUMENT_DESC && a->id == id && a->index == i)
        bytes = a->size;
    }
    sum += bytes;
  }
  return zocl_kernel_fits(kernel, sum) ? ZE_RESULT_SUCCESS
                                       : zocl_kernel_too_big(kernel, sum);
}

/* Check that the launch's device may access the memory of a new pointer
   argument. */
static ze_result_t check_pointer(const zocl_list *list,
                                 const argument_desc *argument)
{
  const void *pointer = NULL;
  if (argument->value != NULL)
    memcpy(&pointer, argument->value, sizeof pointer);
  return zocl_memory_usable(list->device, pointer)
             ? ZE_RESULT_SUCCESS
             : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* Check one of the changes, or make it. */
static ze_result_t change(const zocl_list *list, const ze_base_desc_t *changes,
                          const ze_base_desc_t *desc, bool make)
{
  const argument_desc *argument = (const argument_desc *)desc;
  const count_desc *count = (const count_desc *)desc;
  const triple_desc *triple = (const triple_desc *)desc;
  zocl_recorded *r;
  ze_result_t result;
  switch ((int)desc->stype) {
  case ARGUMENT_DESC:
    result = launch_find(list, argument->id, KERNEL_ARGUMENTS, &r);
    if (result != ZE_RESULT_SUCCESS) return result;
    result = zocl_kernel_argument(r->launch.kernel, argument->index,
                                  argument->size, argument->value,
                                  make ? values_of(r) : NULL);
    if (result != ZE_RESULT_SUCCESS) return result;
    if (make)
      zocl_kernel_keep(r->launch.kernel, argument->index, values_of(r),
                       r->images);
    else if (r->launch.kernel->args[argument->index].cls == SPIRV_ARG_LOCAL)
      return check_local(r, argument->id, changes);
    else if (r->launch.kernel->args[argument->index].cls == SPIRV_ARG_POINTER)
      return check_pointer(list, argument);
    return ZE_RESULT_SUCCESS;
  case COUNT_DESC:
    result = launch_find(list, count->id, GROUP_COUNT, &r);
    if (result != ZE_RESULT_SUCCESS) return result;
    ZOCL_NEED_POINTER(count->groups);
    if (r->command.cooperative)
      result = zocl_launch_cooperative(count->groups);
    if (result != ZE_RESULT_SUCCESS) return result;
    if (make) launch_resize(r, count->groups);
    return ZE_RESULT_SUCCESS;
  case SIZE_DESC:
    result = launch_find(list, triple->id, GROUP_SIZE, &r);
    if (result == ZE_RESULT_SUCCESS)
      result = zocl_kernel_check_group(r->launch.kernel, triple->value[0],
                                       triple->value[1], triple->value[2]);
    if (result != ZE_RESULT_SUCCESS || !make) return result;
    for (int d = 0; d < 3; d++) r->launch.local[d] = triple->value[d];
    launch_resize(r, &r->command.groups);
    return ZE_RESULT_SUCCESS;
  case OFFSET_DESC:
    result = launch_find(list, triple->id, GLOBAL_OFFSET, &r);
    if (result == ZE_RESULT_SUCCESS)
      result = zocl_kernel_check_offset(r->launch.kernel, triple->value[0],
                                        triple->value[1], triple->value[2]);
    if (result != ZE_RESULT_SUCCESS || !make) return result;
    for (int d = 0; d < 3; d++) r->launch.offset[d] = triple->value[d];
    return ZE_RESULT_SUCCESS;
  default:
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "a change of type 0x%x", (unsigned)desc->stype);
  }
}

/* All changes are checked before the first is made. */
ze_result_t zocl_CommandListUpdateMutableCommandsExp(
    ze_command_list_handle_t list, const ze_base_desc_t *desc)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(desc);
  for (int make = 0; make < 2; make++)
    for (const ze_base_desc_t *d = desc->pNext; d != NULL; d = d->pNext) {
      ze_result_t result = change(list, desc->pNext, d, make == 1);
      if (result != ZE_RESULT_SUCCESS) return result;
    }
  return ZE_RESULT_SUCCESS;
}

static void signal_replace(zocl_signal **place, zocl_signal *signal)
{
  if (signal != NULL) zocl_signal_ref(signal);
  zocl_signal_unref(*place);
  *place = signal;
}

ze_result_t zocl_CommandListUpdateMutableCommandSignalEventExp(
    ze_command_list_handle_t list, uint64_t id, ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(list);
  zocl_recorded *r;
  ze_result_t result = command_find(list, id, SIGNAL_EVENT, &r);
  if (result == ZE_RESULT_SUCCESS && event != NULL)
    result = zocl_event_check(list, event);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_signal *signal = event != NULL ? zocl_event_begin(list, event) : NULL;
  if (event != NULL && signal == NULL)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  signal_replace(&r->command.signal, signal);
  if (event == NULL) return ZE_RESULT_SUCCESS;
  zocl_commands_use(list->commands, signal);
  zocl_event_end(event, signal, true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListUpdateMutableCommandWaitEventsExp(
    ze_command_list_handle_t list, uint64_t id, uint32_t count,
    ze_event_handle_t *events)
{
  ZOCL_NEED_HANDLE(list);
  zocl_recorded *r;
  ze_result_t result = command_find(list, id, WAIT_EVENTS, &r);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (count > r->wait_room || (count > 0 && events == NULL))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "%u events for a command that was appended with %u",
                     count, r->wait_room);
  /* A null event is skipped. */
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++)
    if (events[i] != NULL) {
      zocl_signal *signal = zocl_event_signal(events[i]);
      zocl_commands_use(list->commands, signal);
      signal_replace(&r->waits[n++], signal);
      zocl_signal_unref(signal);
    }
  r->command.wait_count = n;
  while (n < r->wait_room) signal_replace(&r->waits[n++], NULL);
  return ZE_RESULT_SUCCESS;
}

/* Replace the kernel.  The launch retains its group count and offset, and gets
   the new kernel's current arguments and group size. */
static void kernel_replace(zocl_recorded *r, zocl_kernel *kernel)
{
  r->launch.kernel = kernel;
  r->launch.dims = kernel->dims;
  memcpy(values_of(r), kernel->values, kernel->values_size);
  for (uint32_t i = 0; i < kernel->arg_count; i++)
    zocl_kernel_keep(kernel, i, values_of(r), r->images);
  for (int d = 0; d < 3; d++) r->launch.local[d] = kernel->group[d];
  launch_resize(r, &r->command.groups);
}

ze_result_t zocl_CommandListUpdateMutableCommandKernelsExp(
    ze_command_list_handle_t list, uint32_t count, uint64_t *ids,
    ze_kernel_handle_t *kernels)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(ids);
  ZOCL_NEED_POINTER(kernels);
  for (int make = 0; make < 2; make++)
    for (uint32_t i = 0; i < count; i++) {
      zocl_recorded *r;
      ZOCL_NEED_HANDLE(kernels[i]);
      ze_result_t result = launch_find(list, ids[i], KERNEL_INSTRUCTION, &r);
      if (result != ZE_RESULT_SUCCESS) return result;
      if (kernels[i]->values_size > r->values_room)
        return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "kernel %s was not named for command %llu",
                         kernels[i]->info->name, (unsigned long long)ids[i]);
      if (!zocl_kernel_fits(kernels[i], kernels[i]->local_bytes))
        return zocl_kernel_too_big(kernels[i], kernels[i]->local_bytes);
      result = zocl_launch_check(list, kernels[i], kernels[i]->values);
      if (result != ZE_RESULT_SUCCESS) return result;
      if (make) kernel_replace(r, kernels[i]);
    }
  return ZE_RESULT_SUCCESS;
}
