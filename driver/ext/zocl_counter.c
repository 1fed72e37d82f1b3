/*
 * zocl_counter.c - counter-based events.
 * SPDX-License-Identifier: MIT
 *
 * A counter-based event stands for the last command that was to signal it, in
 * an in-order list.  The host neither signals nor resets it.  Each command that
 * signals it gets a new signal, so earlier waits are not affected.
 *
 * Memory holds no counters: waits use the command's own mark.  So programs
 * can neither get the address of a counter nor use their own counters.
 */
#include "run/zocl_event.h"
#include "ext/zocl_ext.h"

#include <stdlib.h>

enum {
  /* ze_event_pool_counter_based_exp_desc_t, ze_event_sync_mode_desc_t */
  POOL_COUNTER_DESC = 0x20014,
  SYNC_MODE_DESC = 0x2003c,
  SYNC_MODE_EXTERNAL = 0x4,
  /* The mode limits the lists in which the event may be signalled. */
  IMMEDIATE = 0x1,
  REGULAR = 0x2,
  BOTH = IMMEDIATE | REGULAR,
  /* ze_event_counter_based_flag_t; the first two flags are the modes */
  FLAGS = 0x7f,
  FLAG_IPC = 0x8,
  FLAGS_TIMED = 0x30, /* at most one of the two */
  SCOPES = 0x7,
  /* ze_command_list_flag_t, ze_command_queue_flag_t */
  LIST_IN_ORDER = 0x8,
  QUEUE_IN_ORDER = 0x2
};

static uint32_t modes_of(uint32_t flags)
{
  return (flags & BOTH) != 0 ? flags & BOTH : IMMEDIATE;
}

/* Get the modes that a pool's descriptor requests, or 0. */
static ze_result_t counter_modes(const ze_event_pool_desc_t *desc,
                                 uint32_t *modes)
{
  *modes = 0;
  for (const ze_base_desc_t *e = desc->pNext; e != NULL; e = e->pNext) {
    const zocl_extension *counter = (const zocl_extension *)e;
    if ((int)e->stype != POOL_COUNTER_DESC) continue;
    if (counter->value & ~(uint32_t)BOTH)
      return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
    *modes = modes_of(counter->value);
  }
  return ZE_RESULT_SUCCESS;
}

/* Held while a counter-based event gets a new signal. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static zocl_signal *event_signal(zocl_event *event)
{
  pthread_mutex_lock(&lock);
  zocl_signal *signal = event->signal;
  zocl_signal_ref(signal);
  pthread_mutex_unlock(&lock);
  return signal;
}

static zocl_signal *counter_begin(const zocl_list *list,
                                  const zocl_event *event)
{
  pthread_mutex_lock(&lock);
  bool timed = zocl_signal_timed(event->signal);
  pthread_mutex_unlock(&lock);
  zocl_signal *made = zocl_signal_counter(list->device->driver, timed, false);
  if (made == NULL) zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  return made;
}

static void counter_give(zocl_event *event, zocl_signal *signal)
{
  pthread_mutex_lock(&lock);
  zocl_signal *old = event->signal;
  event->signal = signal;
  pthread_mutex_unlock(&lock);
  zocl_signal_unref(old);
}

static ze_result_t counter_check(const zocl_list *list,
                                 const zocl_event *event)
{
  bool immediate = list->stream != NULL;
  uint32_t mode = immediate ? IMMEDIATE : REGULAR;
  if (!(list->flags & (immediate ? QUEUE_IN_ORDER : LIST_IN_ORDER)))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "a counter-based event is signalled in lists made with "
                     "the flag IN_ORDER alone");
  if (!(event->counter_modes & mode))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the counter-based event was not made for %s lists",
                     immediate ? "immediate" : "regular");
  return ZE_RESULT_SUCCESS;
}

/* The wait mode of hosts is only a hint, but interrupts from other devices are
   not supported. */
static ze_result_t extensions_check(const void *extensions)
{
  for (const ze_base_desc_t *e = extensions; e != NULL; e = e->pNext)
    if ((int)e->stype != SYNC_MODE_DESC ||
        ((const zocl_extension *)e)->value & SYNC_MODE_EXTERNAL)
      return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "an extension of type 0x%x", (unsigned)e->stype);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventCounterBasedCreate(ze_context_handle_t context,
                                         ze_device_handle_t device,
                                         const zocl_counter_desc *desc,
                                         ze_event_handle_t *event)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(event);
  if (desc->flags & ~(uint32_t)FLAGS ||
      (desc->signal | desc->wait) & ~(uint32_t)SCOPES)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if ((desc->flags & FLAGS_TIMED) == FLAGS_TIMED)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "timestamps of the device and of the host at once");
  if (desc->flags & FLAG_IPC)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "counter-based events cannot be shared with processes");
  ze_result_t result = extensions_check(desc->pNext);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_event *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->signal = zocl_signal_counter(context->driver,
                                     (desc->flags & FLAGS_TIMED) != 0, true);
  if (made->signal == NULL) {
    free(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  made->counter_modes = modes_of(desc->flags);
  made->counter_flags = desc->flags;
  made->signal_scope = desc->signal;
  made->wait_scope = desc->wait;
  *event = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_EventGetCounterBasedFlags(ze_event_handle_t event,
                                           uint32_t *flags)
{
  ZOCL_NEED_HANDLE(event);
  ZOCL_NEED_POINTER(flags);
  *flags = event->counter_flags;
  return ZE_RESULT_SUCCESS;
}

void zocl_counter_hook(zocl_hook *hook)
{
  hook->counter_modes = counter_modes;
  hook->counter_signal = event_signal;
  hook->counter_begin = counter_begin;
  hook->counter_give = counter_give;
  hook->counter_check = counter_check;
}
