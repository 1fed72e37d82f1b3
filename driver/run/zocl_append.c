/*
 * zocl_append.c - the commands that can be appended to a command list.
 * SPDX-License-Identifier: MIT
 */
#include "run/zocl_event.h"

#include <stdlib.h>
#include <string.h>

/* A copy or fill up to this size takes no longer than handing it over. */
enum { SMALL_BYTES = 16384 };

/* ------------------------------------------------------------------------
 * Launches.
 */

/* Returns true if the device may access all memory that the arguments point
   to. */
static bool arguments_reachable(const zocl_device *device,
                                const zocl_kernel *kernel,
                                const unsigned char *values)
{
  if (zocl_option.peer_access && device->driver->memory->any_pointer)
    return true;
  for (uint32_t i = 0; i < kernel->arg_count; i++) {
    const zocl_arg *arg = &kernel->args[i];
    const void *pointer;
    if (arg->cls != SPIRV_ARG_POINTER) continue;
    memcpy(&pointer, values + arg->offset, sizeof pointer);
    if (!zocl_memory_usable(device, pointer)) return false;
  }
  return true;
}

ze_result_t zocl_launch_check(const zocl_list *list, const zocl_kernel *kernel,
                              const unsigned char *values)
{
  const zocl_device *made_for = kernel->module->device;
  if (made_for != list->device && made_for != list->device->root)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the kernel was made for another device");
  return arguments_reachable(list->device, kernel, values)
             ? ZE_RESULT_SUCCESS
             : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t zocl_launch_describe(const zocl_list *list, zocl_kernel *kernel,
                                 const ze_group_count_t *groups,
                                 zocl_launch *launch)
{
  if (list->ordinal != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                     "a list of queue group %u takes no kernels",
                     list->ordinal);
  ze_result_t result = zocl_kernel_capture(kernel, groups, launch);
  if (result != ZE_RESULT_SUCCESS) return result;
  return zocl_launch_check(list, kernel, launch->values);
}

/* zeKernelSuggestMaxCooperativeGroupCount returns 1, because nothing is
   promised about groups that wait for each other. */
ze_result_t zocl_launch_cooperative(const ze_group_count_t *groups)
{
  if (groups->groupCountX > 1 || groups->groupCountY > 1 ||
      groups->groupCountZ > 1)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "a cooperative launch may have one group here");
  return ZE_RESULT_SUCCESS;
}

static ze_result_t append_launch(zocl_list *list, zocl_kernel *kernel,
                                 const ze_group_count_t *groups,
                                 bool cooperative, ze_event_handle_t signal,
                                 uint32_t wait_count, ze_event_handle_t *waits)
{
  zocl_launch launch;
  ze_result_t result =
      cooperative ? zocl_launch_cooperative(groups) : ZE_RESULT_SUCCESS;
  if (result == ZE_RESULT_SUCCESS)
    result = zocl_launch_describe(list, kernel, groups, &launch);
  if (result != ZE_RESULT_SUCCESS) return result;
  /* A launch of 0 groups runs nothing but keeps its place in the order. */
  zocl_command command = {
    .kind = zocl_are_none(groups) ? ZOCL_COMMAND_NOTHING
                                  : ZOCL_COMMAND_LAUNCH,
    .launch = &launch,
    .groups = *groups,
    .cooperative = cooperative,
    .images = kernel->images,
    .image_count = kernel->image_count};
  return zocl_list_append(list, &command, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendLaunchKernel(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  return append_launch(list, kernel, groups, false, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendLaunchCooperativeKernel(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  return append_launch(list, kernel, groups, true, signal, wait_count, waits);
}

/* ze_command_list_append_launch_kernel_param_cooperative_desc_t (1.14), the
   only extension of a launch. */
enum { COOPERATIVE_DESC = 0x00020036 };
typedef struct cooperative_desc {
  ze_structure_type_t stype;
  const void *pNext;
  ze_bool_t cooperative;
} cooperative_desc;

static ze_result_t extensions_read(const void *extensions, bool *cooperative)
{
  *cooperative = false;
  for (const ze_base_desc_t *e = extensions; e != NULL; e = e->pNext)
    if ((int)e->stype != COOPERATIVE_DESC)
      return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "an extension of type 0x%x", (unsigned)e->stype);
    else if (((const cooperative_desc *)e)->cooperative)
      *cooperative = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListAppendLaunchKernelWithParameters(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t *groups, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(groups);
  bool cooperative;
  ze_result_t result = extensions_read(extensions, &cooperative);
  if (result != ZE_RESULT_SUCCESS) return result;
  return append_launch(list, kernel, groups, cooperative, signal, wait_count,
                       waits);
}

/* Each element of `arguments` points to a value; for local memory, to its size
   as a size_t. */
ze_result_t zocl_CommandListAppendLaunchKernelWithArguments(
    ze_command_list_handle_t list, ze_kernel_handle_t kernel,
    const ze_group_count_t groups, const zocl_group_size sizes,
    void **arguments, const void *extensions, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(kernel);
  if (kernel->arg_count > 0) ZOCL_NEED_POINTER(arguments);
  bool cooperative;
  ze_result_t result = extensions_read(extensions, &cooperative);
  if (result == ZE_RESULT_SUCCESS && cooperative)
    result = zocl_launch_cooperative(&groups);
  if (result == ZE_RESULT_SUCCESS)
    result = zocl_KernelSetGroupSize(kernel, sizes.x, sizes.y, sizes.z);
  for (uint32_t i = 0; i < kernel->arg_count && result == ZE_RESULT_SUCCESS;
       i++) {
    const void *value = arguments[i];
    size_t size = kernel->args[i].bytes;
    if (kernel->args[i].cls == SPIRV_ARG_LOCAL && value != NULL) {
      memcpy(&size, value, sizeof size);
      value = NULL;
    }
    result = zocl_KernelSetArgumentValue(kernel, i, size, value);
  }
  if (result != ZE_RESULT_SUCCESS) return result;
  return append_launch(list, kernel, &groups, cooperative, signal, wait_count,
                       waits);
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
  return zocl_list_append(list, &command, signal, wait_count, waits);
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
  ze_result_t result = zocl_event_plain(event);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_command command = {.kind = ZOCL_COMMAND_RESET,
                          .reset = event->signal};
  result = zocl_list_append(list, &command, NULL, 0, NULL);
  if (result == ZE_RESULT_SUCCESS && zocl_is_capturing())
    zocl_ext.graph_reset(list, event);
  return result;
}

/* ------------------------------------------------------------------------
 * Memory.
 */

static ze_result_t append_host(zocl_list *list, zocl_host_function function,
                               zocl_transfer transfer, void *args,
                               size_t args_size, bool small,
                               ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t *waits)
{
  zocl_command command =
      zocl_list_command(list, function, transfer, args, args_size, small);
  return zocl_list_append(list, &command, signal, wait_count, waits);
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
  return append_host(list, zocl_memory_copy, zocl_transfer_copy, &copy,
                     sizeof copy, size <= SMALL_BYTES, signal, wait_count,
                     waits);
}

ze_result_t zocl_CommandListAppendMemoryFill(
    ze_command_list_handle_t list, void *to, const void *pattern,
    size_t pattern_size, size_t size, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  ZOCL_NEED_POINTER(pattern);
  const size_t most = zocl_pattern_max(list->ordinal);
  if (pattern_size == 0 || pattern_size > most ||
      (pattern_size & (pattern_size - 1)) != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "a pattern has a power of two of bytes up to %zu, not %zu",
                     most, pattern_size);
  if (size % pattern_size != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "%zu bytes are not a multiple of the pattern's %zu", size,
                     pattern_size);
  if (!zocl_memory_reachable(list->device, to))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  _Alignas(zocl_fill) unsigned char few[sizeof(zocl_fill) +
                                        ZOCL_COPY_PATTERN];
  const size_t bytes = sizeof(zocl_fill) + pattern_size;
  zocl_fill *fill = bytes <= sizeof few ? (void *)few : malloc(bytes);
  if (fill == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  *fill = (zocl_fill){.to = to, .size = size, .pattern_size = pattern_size};
  memcpy(fill->pattern, pattern, pattern_size);
  ze_result_t result =
      append_host(list, zocl_memory_fill, zocl_transfer_fill, fill, bytes,
                  size <= SMALL_BYTES, signal, wait_count, waits);
  if ((void *)fill != (void *)few) free(fill);
  return result;
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
  return append_host(list, zocl_memory_copy_region, zocl_transfer_copy_region,
                     &copy, sizeof copy, bytes <= SMALL_BYTES, signal,
                     wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryCopyFromContext(
    ze_command_list_handle_t list, void *to, ze_context_handle_t from_context,
    const void *from, size_t size, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  /* Every context can access all memory. */
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(from_context);
  return zocl_CommandListAppendMemoryCopy(list, to, from, size, signal,
                                          wait_count, waits);
}

/* Prefetch and advice are hints; the memory cannot move anywhere else. */
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
 * Others.
 */

typedef struct host_args {
  zocl_host_callback function;
  void *data;
} host_args;

static void call_host(void *args)
{
  const host_args *a = args;
  a->function(a->data);
}

/* The thread that appends never runs the function, because it may hold
   locks. */
ze_result_t zocl_CommandListAppendHostFunction(
    ze_command_list_handle_t list, zocl_host_callback function, void *data,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(function);
  if (extensions != NULL)
    return zocl_error(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  host_args args = {function, data};
  return append_host(list, call_host, NULL, &args, sizeof args, false, signal,
                     wait_count, waits);
}

/* The lists must be closed and belong to the same device. */
ze_result_t zocl_CommandListImmediateAppendCommandListsExp(
    ze_command_list_handle_t list, uint32_t count,
    ze_command_list_handle_t *lists, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(lists);
  if (list->stream == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the command list is not an immediate one");
  zocl_commands *few[ZOCL_FEW_LISTS], **all;
  ze_result_t result = zocl_lists_take(count, lists, list->device,
                                       list->ordinal, few, &all);
  if (result != ZE_RESULT_SUCCESS) return result;
  result = zocl_list_append_all(list, count, all, signal, wait_count, waits);
  if (all != few) free(all);
  return result;
}

/* The same functions with extensions (1.16); none is supported. */
#define NO_EXTENSIONS(extensions)                                     \
  do {                                                                \
    if ((extensions) != NULL)                                         \
      return zocl_error(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);         \
  } while (0)

ze_result_t zocl_CommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t list, uint32_t count,
    ze_command_list_handle_t *lists, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  NO_EXTENSIONS(extensions);
  return zocl_CommandListImmediateAppendCommandListsExp(
      list, count, lists, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryCopyWithParameters(
    ze_command_list_handle_t list, void *to, const void *from, size_t size,
    const void *extensions, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  NO_EXTENSIONS(extensions);
  return zocl_CommandListAppendMemoryCopy(list, to, from, size, signal,
                                          wait_count, waits);
}

ze_result_t zocl_CommandListAppendMemoryFillWithParameters(
    ze_command_list_handle_t list, void *to, const void *pattern,
    size_t pattern_size, size_t size, const void *extensions,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  NO_EXTENSIONS(extensions);
  return zocl_CommandListAppendMemoryFill(list, to, pattern, pattern_size,
                                          size, signal, wait_count, waits);
}
