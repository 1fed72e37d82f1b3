/*
 * zocl_event.c - event pools and events.
 * SPDX-License-Identifier: MIT
 */
#include "run/zocl_event.h"

#include <stdlib.h>

enum {
  POOL_FLAGS = 0xf, /* host visible, IPC, timestamp, mapped timestamp */
  POOL_TIMED = 0xc, /* the last two */
  SCOPES = 0x7
};

ze_result_t zocl_EventPoolCreate(ze_context_handle_t context,
                                 const ze_event_pool_desc_t *desc,
                                 uint32_t count, ze_device_handle_t *devices,
                                 ze_event_pool_handle_t *pool)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(pool);
  if (desc->flags & ~(uint32_t)POOL_FLAGS)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->count == 0 || (devices == NULL && count > 0))
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < count; i++) ZOCL_NEED_HANDLE(devices[i]);
  uint32_t modes = 0;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (desc->pNext != NULL) result = zocl_ext.counter_modes(desc, &modes);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_event_pool *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->flags = desc->flags;
  made->count = desc->count;
  made->counter_modes = modes;
  /* Counters belong to lists, which are never shared with another process. */
  if (modes == 0 && desc->flags & ZE_EVENT_POOL_FLAG_IPC) {
    result = zocl_ext.states_new(desc->flags, desc->count, &made->shared);
    if (result != ZE_RESULT_SUCCESS) {
      free(made);
      return result;
    }
  }
  *pool = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventPoolDestroy(ze_event_pool_handle_t pool)
{
  ZOCL_NEED_HANDLE(pool);
  if (pool->shared != NULL) zocl_ext.states_unref(pool->shared);
  free(pool);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventPoolGetContextHandle(ze_event_pool_handle_t pool,
                                           ze_context_handle_t *context)
{
  ZOCL_NEED_HANDLE(pool);
  ZOCL_NEED_POINTER(context);
  *context = pool->context;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventPoolGetFlags(ze_event_pool_handle_t pool,
                                   ze_event_pool_flags_t *flags)
{
  ZOCL_NEED_HANDLE(pool);
  ZOCL_NEED_POINTER(flags);
  *flags = pool->flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventCreate(ze_event_pool_handle_t pool,
                             const ze_event_desc_t *desc,
                             ze_event_handle_t *event)
{
  ZOCL_NEED_HANDLE(pool);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(event);
  if ((desc->signal | desc->wait) & ~(uint32_t)SCOPES)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->index >= pool->count)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "event %u of a pool of %u", desc->index, pool->count);
  zocl_event *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  zocl_driver *driver = pool->context->driver;
  bool timed = (pool->flags & POOL_TIMED) != 0;
  if (pool->counter_modes != 0) {
    made->signal = zocl_signal_counter(driver, timed, true);
  } else if (pool->shared == NULL) {
    made->signal = zocl_signal_new(driver, timed, false);
  } else {
    made->signal = zocl_signal_on(pool->shared, desc->index, driver, timed);
    /* An event of an opened pool may be set already. */
    if (made->signal != NULL && !pool->opened)
      zocl_signal_reset(made->signal);
  }
  if (made->signal == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  made->pool = pool;
  made->counter_modes = pool->counter_modes;
  made->signal_scope = desc->signal;
  made->wait_scope = desc->wait;
  *event = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventDestroy(ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(event);
  zocl_signal_unref(event->signal);
  free(event);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventHostSignal(ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(event);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  ze_result_t result = zocl_event_plain(event);
  if (result != ZE_RESULT_SUCCESS) return result;
  uint64_t now = zocl_signal_timed(event->signal) ? zocl_clock() : 0;
  zocl_signal_set(event->signal, now, now);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventHostReset(ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(event);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_DEVICE_LOST);
  ze_result_t result = zocl_event_plain(event);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_signal_reset(event->signal);
  return ZE_RESULT_SUCCESS;
}

/* Check that the host may wait for the event; captured events cannot be
   awaited. */
static ze_result_t event_check_wait(const zocl_event *event)
{
  return zocl_is_capturing() ? zocl_ext.graph_check_event(event)
                             : ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventHostSynchronize(ze_event_handle_t event,
                                      uint64_t timeout)
{
  ZOCL_NEED_HANDLE(event);
  ze_result_t result = event_check_wait(event);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_signal *signal = zocl_event_signal(event);
  result = zocl_signal_wait(signal, timeout);
  zocl_signal_unref(signal);
  return result;
}

ze_result_t zocl_EventQueryStatus(ze_event_handle_t event)
{
  ZOCL_NEED_HANDLE(event);
  ze_result_t result = event_check_wait(event);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_signal *signal = zocl_event_signal(event);
  result = zocl_signal_query(signal);
  zocl_signal_unref(signal);
  return result;
}

bool zocl_event_timestamps(zocl_signal *signal,
                           ze_kernel_timestamp_result_t *result)
{
  uint64_t start, end;
  if (!zocl_signal_times(signal, &start, &end)) return false;
  /* There is only one clock, so both pairs are the same, even if kernels share
     the device. */
  result->global.kernelStart = result->context.kernelStart = start;
  result->global.kernelEnd = result->context.kernelEnd = end;
  return true;
}

ze_result_t zocl_EventQueryKernelTimestamp(
    ze_event_handle_t event, ze_kernel_timestamp_result_t *result)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_POINTER(result);
  zocl_signal *signal = zocl_event_signal(event);
  bool timed = zocl_signal_timed(signal);
  bool known = timed && zocl_event_timestamps(signal, result);
  zocl_signal_unref(signal);
  if (!timed)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the event has no timestamps");
  return known ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

/* One packet per event.  The device's clock is the host's. */
ze_result_t zocl_EventQueryKernelTimestampsExt(ze_event_handle_t event,
                                               ze_device_handle_t device,
                                               uint32_t *count,
                                               zocl_timestamps_results *results)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(count);
  if (zocl_is_query(count, 1)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(results);
  ze_kernel_timestamp_result_t times;
  ze_result_t result = zocl_EventQueryKernelTimestamp(event, &times);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (results->device != NULL) *results->device = times;
  if (results->host != NULL) *results->host = times;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventQueryTimestampsExp(ze_event_handle_t event,
                                         ze_device_handle_t device,
                                         uint32_t *count,
                                         ze_kernel_timestamp_result_t *results)
{
  zocl_timestamps_results both = {.device = results};
  return zocl_EventQueryKernelTimestampsExt(event, device, count,
                                            results != NULL ? &both : NULL);
}

ze_result_t zocl_EventGetEventPool(ze_event_handle_t event,
                                   ze_event_pool_handle_t *pool)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_POINTER(pool);
  if (event->pool == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event has no pool");
  *pool = event->pool;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventGetSignalScope(ze_event_handle_t event,
                                     ze_event_scope_flags_t *scope)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_POINTER(scope);
  *scope = event->signal_scope;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventGetWaitScope(ze_event_handle_t event,
                                   ze_event_scope_flags_t *scope)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_POINTER(scope);
  *scope = event->wait_scope;
  return ZE_RESULT_SUCCESS;
}
