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
  zocl_states *shared;   /* with other processes, or NULL */
  bool opened;           /* it is another process's */
};

struct _ze_event_handle_t {
  zocl_handle handle;
  zocl_signal *signal;
  zocl_event_pool *pool;       /* NULL: made without one */
  ze_event_scope_flags_t signal_scope, wait_scope;
  uint32_t counter_modes;      /* as of its pool */
  uint32_t counter_flags;      /* given to zeEventCounterBasedCreate */
  struct {                     /* the captured command that signals it last */
    uint64_t capture;          /* 0: none */
    uint32_t branch, node;
    uint64_t work;             /* commands of the branch up to it */
  } captured;                  /* zocl_graph.c's */
};

/* For what counter-based events cannot. */
static inline ze_result_t zocl_event_plain(const zocl_event *event)
{
  if (event->counter_modes == 0) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "a counter-based event is signalled by commands alone, and "
                   "never reset");
}

/* Whether commands of the list may signal the event, of whatever kind. */
static inline ze_result_t zocl_event_check(const zocl_list *list,
                                           const zocl_event *event)
{
  return event->counter_modes == 0 ? ZE_RESULT_SUCCESS
                                   : zocl_ext.counter_check(list, event);
}

/* The event's signal, with a reference: other threads may give one that is
   counter-based another signal. */
static inline zocl_signal *zocl_event_signal(zocl_event *event)
{
  if (event->counter_modes != 0) return zocl_ext.counter_signal(event);
  zocl_signal_ref(event->signal);
  return event->signal;
}

/* The signal of a command of `list` that is to signal the event, with a
   reference: a new one where that is counter-based, which becomes the event's
   with `given`.  NULL: out of memory. */
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

/* Results of zeEventQueryKernelTimestamp for `signal`; false if not set. */
bool zocl_event_timestamps(zocl_signal *signal,
                           ze_kernel_timestamp_result_t *result);

#endif
