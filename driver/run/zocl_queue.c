/*
 * zocl_queue.c - command queues and the fences that follow their submissions.
 * SPDX-License-Identifier: MIT
 */
#include "run/zocl_list.h"

#include <stdlib.h>

struct _ze_command_queue_handle_t {
  zocl_handle handle;
  zocl_device *device;
  zocl_stream *stream;
  ze_command_queue_desc_t desc;
};

struct _ze_fence_handle_t {
  zocl_handle handle;
  zocl_signal *signal;
};

ze_result_t zocl_CommandQueueCreate(ze_context_handle_t context,
                                    ze_device_handle_t device,
                                    const ze_command_queue_desc_t *desc,
                                    ze_command_queue_handle_t *queue)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(queue);
  if (device->driver != context->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the device is not of the context's driver");
  ze_result_t result = zocl_queue_check(desc);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_queue *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->device = device;
  made->desc = *desc;
  result = zocl_stream_new(device, desc->priority, &made->stream);
  if (result != ZE_RESULT_SUCCESS) {
    free(made);
    return result;
  }
  *queue = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueDestroy(ze_command_queue_handle_t queue)
{
  ZOCL_NEED_HANDLE(queue);
  zocl_stream_close(queue->stream);
  free(queue);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueExecuteCommandLists(
    ze_command_queue_handle_t queue, uint32_t count,
    ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(lists);
  if (fence != NULL && !zocl_forked() &&
      zocl_signal_query(fence->signal) != ZE_RESULT_NOT_READY)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                     "the fence is signalled; it has to be reset first");
  zocl_commands *few[ZOCL_FEW_LISTS], **all;
  ze_result_t result = zocl_lists_take(count, lists, queue->device,
                                       queue->desc.ordinal, few, &all);
  if (result != ZE_RESULT_SUCCESS) return result;
  bool synchronous = queue->desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  /* A caller that waits for a list gains nothing from another thread. */
  result = zocl_commands_execute(queue->stream, count, all,
                                 fence != NULL ? fence->signal : NULL,
                                 synchronous);
  if (all != few) free(all);
  if (result == ZE_RESULT_SUCCESS && synchronous)
    result = zocl_stream_wait(queue->stream, UINT64_MAX);
  return result;
}

ze_result_t zocl_CommandQueueSynchronize(ze_command_queue_handle_t queue,
                                         uint64_t timeout)
{
  ZOCL_NEED_HANDLE(queue);
  return zocl_stream_wait(queue->stream, timeout);
}

ze_result_t zocl_CommandQueueGetOrdinal(ze_command_queue_handle_t queue,
                                        uint32_t *ordinal)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(ordinal);
  *ordinal = queue->desc.ordinal;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueGetIndex(ze_command_queue_handle_t queue,
                                      uint32_t *index)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(index);
  *index = queue->desc.index;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueGetFlags(ze_command_queue_handle_t queue,
                                      ze_command_queue_flags_t *flags)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(flags);
  *flags = queue->desc.flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueGetMode(ze_command_queue_handle_t queue,
                                     ze_command_queue_mode_t *mode)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(mode);
  *mode = queue->desc.mode;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandQueueGetPriority(ze_command_queue_handle_t queue,
                                         ze_command_queue_priority_t *priority)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(priority);
  *priority = queue->desc.priority;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Fences.
 */

ze_result_t zocl_FenceCreate(ze_command_queue_handle_t queue,
                             const ze_fence_desc_t *desc,
                             ze_fence_handle_t *fence)
{
  ZOCL_NEED_HANDLE(queue);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(fence);
  if (desc->flags & ~(ze_fence_flags_t)ZE_FENCE_FLAG_SIGNALED)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  zocl_fence *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->signal = zocl_signal_new(queue->device->driver, false,
                                 (desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0);
  if (made->signal == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  *fence = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_FenceDestroy(ze_fence_handle_t fence)
{
  ZOCL_NEED_HANDLE(fence);
  zocl_signal_unref(fence->signal);
  free(fence);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_FenceHostSynchronize(ze_fence_handle_t fence,
                                      uint64_t timeout)
{
  ZOCL_NEED_HANDLE(fence);
  return zocl_signal_wait(fence->signal, timeout);
}

ze_result_t zocl_FenceQueryStatus(ze_fence_handle_t fence)
{
  ZOCL_NEED_HANDLE(fence);
  return zocl_signal_query(fence->signal);
}

ze_result_t zocl_FenceReset(ze_fence_handle_t fence)
{
  ZOCL_NEED_HANDLE(fence);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  zocl_signal_reset(fence->signal);
  return ZE_RESULT_SUCCESS;
}
