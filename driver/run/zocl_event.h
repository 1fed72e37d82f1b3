/*
 * zocl_event.h - event pools and events.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_EVENT_H
#define ZOCL_EVENT_H

#include "base/zocl_hook.h"
#include "run/zocl_list.h"

struct _ze_event_pool_handle_t {
  zocl_handle handle;
  zocl_context *context;
  ze_event_pool_flags_t flags;
  uint32_t count;
  uint32_t counter_modes; /* 0: its events are not counter-based */
  zocl_states *shared;   /* shared with other processes; NULL if not */
  bool opened;           /* made by another process */
};

struct _ze_event_handle_t {
  zocl_handle handle;
  zocl_signal *signal;
  zocl_event_pool *pool;       /* NULL if made without a pool */
  ze_event_scope_flags_t signal_scope, wait_scope;
  uint32_t counter_modes;      /* the same as its pool's */
  uint32_t counter_flags;      /* given to zeEventCounterBasedCreate */
  struct {                     /* the last captured command that signals it */
    uint64_t capture;          /* 0 if not captured */
    uint32_t branch, node;
    uint64_t work;             /* commands of the branch, this one included */
  } captured;                  /* used by zocl_graph.c */
};

/* Check that the host may signal or reset the event: a counter-based event
   allows neither. */
static inline ze_result_t zocl_event_plain(const zocl_event *event)
{
  if (event->counter_modes == 0) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "a counter-based event is signalled by commands alone, and "
                   "never reset");
}

/* Check that commands of the list may signal the event, counter-based or
   not. */
static inline ze_result_t zocl_event_check(const zocl_list *list,
                                           const zocl_event *event)
{
  return event->counter_modes == 0 ? ZE_RESULT_SUCCESS
                                   : zocl_ext.counter_check(list, event);
}

/* Returns the event's signal, with a reference: another thread may give a
   counter-based event a new signal. */
static inline zocl_signal *zocl_event_signal(zocl_event *event)
{
  if (event->counter_modes != 0) return zocl_ext.counter_signal(event);
  zocl_signal_ref(event->signal);
  return event->signal;
}

/* Returns the signal, with a reference, for a command of `list` that will
   signal the event; NULL if out of memory.  A counter-based event gets a new
   signal: zocl_event_end gives it to the event if `given`. */
static inline zocl_signal *zocl_event_begin(const zocl_list *list,
                                            zocl_event *event)
{
  if (event->counter_modes != 0) return zocl_ext.counter_begin(list, event);
  zocl_signal_ref(event->signal);
  return event->signal;
}
static inline void zocl_event_end(zocl_event *event, zocl_signal *signal,
                                  bool given)
{
  if (event->counter_modes != 0 && given)
    zocl_ext.counter_give(event, signal);
  else
    zocl_signal_unref(signal);
}

/* Fill in the results of zeEventQueryKernelTimestamp for `signal`; false if it
   is not set. */
bool zocl_event_timestamps(zocl_signal *signal,
                           ze_kernel_timestamp_result_t *result);

#endif
