/*
 * lze_event_pool.c - the driver's events, in pools, and their times.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <stdlib.h>

/* Driver events are created in pools of this size. */
enum { POOL_EVENTS = 64 };

typedef struct lze_EventPool {
  struct lze_EventPool *next;
  ze_event_pool_handle_t handle;
  uint32_t count;               /* number of events created */
  lze_EventSlot slots[POOL_EVENTS];
} lze_EventPool;

/* Creates a pool with all its events and puts them on the free list. */
static void pool_new(lze_Context *context, bool timed, lze_Outcome *out) {
  lze_EventPool *p = calloc(1, sizeof *p);
  *out = LZE_NO_MEMORY;
  if (p == NULL) return;
  ze_event_pool_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
      .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
      .count = POOL_EVENTS};
  if (timed) desc.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  if (!ZE_TRY(out, zeEventPoolCreate, context->handle, &desc, 0, NULL,
              &p->handle)) {
    free(p);
    return;
  }
  while (p->count < POOL_EVENTS) {
    ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                             .index = p->count,
                             .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                             .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    lze_EventSlot *slot = &p->slots[p->count];
    if (!ZE_TRY(out, zeEventCreate, p->handle, &event, &slot->handle)) break;
    slot->timed = timed;
    p->count++;
  }
  if (p->count == 0) {
    ZE(zeEventPoolDestroy, p->handle);
    free(p);
    return;
  }
  p->next = context->pools;
  context->pools = p;
  for (uint32_t i = p->count; i-- > 0;) {
    p->slots[i].next = context->free_events[timed];
    context->free_events[timed] = &p->slots[i];
  }
}

lze_EventSlot *lze_event_take(lze_Context *context, bool timed,
                              lze_Outcome *out) {
  if (context->free_events[timed] == NULL) pool_new(context, timed, out);
  lze_EventSlot *slot = context->free_events[timed];
  if (slot != NULL) context->free_events[timed] = slot->next;
  return slot;
}

void lze_event_untake(lze_Context *context, lze_EventSlot *slot) {
  slot->next = context->free_events[slot->timed];
  context->free_events[slot->timed] = slot;
}

/* An event that stays signalled would end the next command too early, so it is
   not reused; its pool destroys it. */
void lze_event_give(lze_Context *context, lze_EventSlot *slot) {
  if (ZE(zeEventHostReset, slot->handle) == ZE_RESULT_SUCCESS)
    lze_event_untake(context, slot);
}

void lze_events_destroy(lze_Context *context) {
  while (context->pools != NULL) {
    lze_EventPool *p = context->pools;
    context->pools = p->next;
    for (uint32_t i = 0; i < p->count; i++)
      ZE(zeEventDestroy, p->slots[i].handle);
    ZE(zeEventPoolDestroy, p->handle);
    free(p);
  }
  context->free_events[0] = context->free_events[1] = NULL;
}

/* Converts device ticks to nanoseconds: lze_loader.c queries the timer
   resolution with the structure type that returns cycles per second.  The
   product of doubles is exact enough for 2^53 ns, which is 104 days. */
static uint64_t ticks_ns(const lze_DeviceInfo *d, uint64_t ticks) {
  uint64_t frequency = d->props.timerResolution;
  if (frequency == 0 || frequency == 1000000000u) return ticks;
  return (uint64_t)((double)ticks * 1e9 / (double)frequency);
}

static uint64_t ticks_mask(const lze_DeviceInfo *d) {
  uint32_t bits = d->props.kernelTimestampValidBits;
  return bits == 0 || bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* Ensures that the context's clock is that of the device, and too recent to
   have drifted by a relevant amount.  A busy machine may do other work between
   two readings that should be simultaneous, so the closest of three pairs
   counts. */
static bool clock_read(lze_Context *context, const lze_DeviceInfo *device) {
  enum { AGE_NS = 10000000, CLOSE_NS = 2000 };
  uint64_t before = lze_now_ns(), after, ticks, unused;
  if (context->clock.base == device->base &&
      before - context->clock.host < AGE_NS)
    return true;
  uint64_t closest = UINT64_MAX;
  for (int i = 0; i < 3 && closest > CLOSE_NS; i++, before = after) {
    /* The driver's host clock may be a different one. */
    if (ZE(zeDeviceGetGlobalTimestamps, device->handle, &unused, &ticks) !=
        ZE_RESULT_SUCCESS)
      return false;
    after = lze_now_ns();
    if (after - before >= closest) continue;
    closest = after - before;
    context->clock.base = device->base;
    context->clock.host = before + closest / 2;
    context->clock.ticks = ticks;
  }
  return true;
}

bool lze_stamp_times(lze_Context *context, const lze_DeviceInfo *d,
                     const ze_kernel_timestamp_result_t *first,
                     const ze_kernel_timestamp_result_t *last,
                     uint64_t *start_ns, uint64_t *kernel_ns) {
  if (!clock_read(context, d)) return false;
  uint64_t mask = ticks_mask(d), start = first->global.kernelStart;
  uint64_t since = (start - context->clock.ticks) & mask;
  uint64_t before = (context->clock.ticks - start) & mask;
  *kernel_ns = ticks_ns(d, (last->global.kernelEnd - start) & mask);
  *start_ns = since < before ? context->clock.host + ticks_ns(d, since)
                             : context->clock.host - ticks_ns(d, before);
  return true;
}

bool lze_event_times(lze_Context *context, const lze_DeviceInfo *d,
                     const lze_EventSlot *first, const lze_EventSlot *last,
                     uint64_t *start_ns, uint64_t *kernel_ns) {
  ze_kernel_timestamp_result_t begin, end = {.global = {0}};
  if (ZE(zeEventQueryKernelTimestamp, last->handle, &end) !=
      ZE_RESULT_SUCCESS)
    return false;
  begin = end;
  if (first != last &&
      ZE(zeEventQueryKernelTimestamp, first->handle, &begin) !=
          ZE_RESULT_SUCCESS)
    return false;
  return lze_stamp_times(context, d, &begin, &end, start_ns, kernel_ns);
}

void lze_command_read_times(lze_Command *c) {
  if (lze_event_times(c->context, c->device,
                      c->first != NULL ? c->first : c->event, c->event,
                      &c->start_ns, &c->kernel_ns))
    c->end_ns = c->start_ns + c->kernel_ns;
}
