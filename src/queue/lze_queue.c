/*
 * lze_queue.c - queues: their lists, batches and defaults.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_queue.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"
#include "queue/lze_storage.h"

#include <stdlib.h>
#include <string.h>

/* ZE_COMMAND_QUEUE_FLAG_IN_ORDER for immediate lists and
   ZE_COMMAND_LIST_FLAG_IN_ORDER for others, since 1.7; they are not in the
   headers of 1.4, and old loaders pass them through. */
#define QUEUE_FLAG_IN_ORDER 2u

#define LIST_FLAG_IN_ORDER 8u

#define API_IN_ORDER ZE_MAKE_VERSION(1, 7)

static void batch_destroy(lze_Batch *b) {
  ZE(zeCommandListDestroy, b->list);
  free(b);
}

static void queue_destroy(lze_Object *o) {
  lze_Queue *q = (lze_Queue *)o;
  lze_failure_drop(&q->failed);
  lze_Queue **link = &o->context->queues;
  while (*link != q) link = &(*link)->next;
  *link = q->next;
  if (q->open != NULL)
    batch_destroy(q->open);
  else if (q->list != NULL && !q->foreign)
    ZE(zeCommandListDestroy, q->list);
  while (q->batches != NULL) {
    lze_Batch *b = q->batches;
    q->batches = b->next;
    batch_destroy(b);
  }
  if (q->native != NULL) ZE(zeCommandQueueDestroy, q->native);
  q->open = NULL;
  q->list = NULL;
  q->native = NULL;
  if (q->home != NULL) o->owners--; /* drops the context's ownership */
}

static const lze_Class queue_class = {"queue", queue_destroy, NULL};

/* Returns true if the flag for lists in order should be tried first, because
   the driver is new enough. */
static bool queue_wants_order(const lze_Queue *q) {
  return q->ordered && q->device->driver->api >= API_IN_ORDER;
}

static bool queue_create_immediate(lze_Queue *q,
                                   ze_command_queue_desc_t *desc,
                                   lze_Outcome *out) {
  ze_context_handle_t context = q->o.context->handle;
  if (queue_wants_order(q)) {
    desc->flags = QUEUE_FLAG_IN_ORDER;
    q->native_order = ZE_TRY(out, zeCommandListCreateImmediate, context,
                             q->device->handle, desc, &q->list);
    /* The validation layer of an old loader rejects the flag. */
    if (out->result != ZE_RESULT_ERROR_INVALID_ENUMERATION)
      return q->native_order;
    desc->flags = 0;
  }
  return ZE_TRY(out, zeCommandListCreateImmediate, context, q->device->handle,
                desc, &q->list);
}

static bool queue_create_list(lze_Queue *q, lze_Batch *b, lze_Outcome *out) {
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .commandQueueGroupOrdinal = q->ordinal};
  ze_context_handle_t context = q->o.context->handle;
  if (queue_wants_order(q)) {
    desc.flags = LIST_FLAG_IN_ORDER;
    q->native_order = ZE_TRY(out, zeCommandListCreate, context,
                             q->device->handle, &desc, &b->list);
    if (out->result != ZE_RESULT_ERROR_INVALID_ENUMERATION)
      return q->native_order;
    desc.flags = 0;
  }
  return ZE_TRY(out, zeCommandListCreate, context, q->device->handle, &desc,
                &b->list);
}

/* Opens a list for a batched queue: one that has already run, or a new one. */
bool lze_queue_open(lze_Queue *q, lze_Outcome *out) {
  if (q->list != NULL) return true;
  lze_Batch *b = q->batches;
  if (b != NULL && b->pending == 0) {
    if (!ZE_TRY(out, zeCommandListReset, b->list)) return false;
    q->batches = b->next;
    b->next = NULL;
  } else {
    b = calloc(1, sizeof *b);
    *out = LZE_NO_MEMORY;
    if (b == NULL || !queue_create_list(q, b, out)) {
      free(b);
      return false;
    }
  }
  q->open = b;
  q->list = b->list;
  return true;
}

void lze_queue_flush(lze_Queue *q) {
  if (!q->batched || !q->dirty) return;
  lze_Batch *b = q->open;
  lze_Outcome out;
  uint64_t ns = lze_now_ns(); /* drivers may compile or run it now */
  if (ZE_TRY(&out, zeCommandListClose, b->list))
    ZE_TRY(&out, zeCommandQueueExecuteCommandLists, q->native, 1, &b->list,
           NULL);
  q->dirty = false;
  q->open = NULL;
  q->list = NULL;
  lze_Batch **end = &q->batches;
  while (*end != NULL) end = &(*end)->next;
  *end = b;
  lze_queue_submitted(q, ns, &out);
}

/* Creates the native objects of a queue from its fields. */
bool lze_queue_create(lze_Queue *q, lze_Outcome *out) {
  static const ze_command_queue_priority_t priorities[] = {
      ZE_COMMAND_QUEUE_PRIORITY_NORMAL, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
      ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH};
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .ordinal = q->ordinal,
                                  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
                                  .priority = priorities[q->priority]};
  if (!q->batched) return queue_create_immediate(q, &desc, out);
  return ZE_TRY(out, zeCommandQueueCreate, q->o.context->handle,
                q->device->handle, &desc, &q->native) &&
         lze_queue_open(q, out);
}

void lze_queue_use_copy_engine(lze_Queue *q) {
  q->ordinal = q->device->copy_ordinal;
  q->copy_engine = q->ordinal != q->device->ordinal;
}

/* Creates a queue with default options. */
lze_Queue *lze_queue_new(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device) {
  lze_Queue *q = lze_object_new(&queue_class, sizeof *q, context);
  if (q == NULL) lze_no_memory(L);
  q->device = device;
  q->number = ++context->state->queues;
  q->ordinal = device->ordinal;
  q->ordered = q->hazards = true;
  q->next = context->queues;
  context->queues = q;
  return q;
}

lze_Queue *lze_new_queue(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device) {
  lze_Queue *q = lze_queue_new(L, context, device);
  lze_Outcome out;
  if (lze_queue_create(q, &out)) return q;
  lze_disown(&q->o);
  lze_fail(L, device->driver, out.result, NULL, out.call, NULL, NULL);
}

/* Returns true if new queues are batched.  A driver that keeps immediate lists
   in order itself submits with low latency; on older ones each command waits
   for an event of the previous one, and is submitted alone. */
bool lze_queue_batched_by_default(lua_State *L,
                                  const lze_DeviceInfo *device) {
  const lze_State *S = lze_state(L);
  return S->lists == LZE_SETTING_WORD ? device->driver->api < API_IN_ORDER
                                      : S->lists == LZE_SETTING_OFF;
}

void lze_queue_own(lze_Queue *q) {
  if (q->home != NULL) lze_own(&q->home->o);
  lze_own(&q->o);
}

void lze_queue_disown(lze_Queue *q) {
  lze_Context *home = q->home;
  lze_disown(&q->o);
  if (home != NULL) lze_disown(&home->o);
}

/* The purpose of a queue that its context owns. */
typedef enum Part { PART_DEFAULT, PART_TRANSFERS, PART_WORKS } Part;

static lze_Queue *queue_new_part(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device, Part part) {
  bool batched =
      part != PART_WORKS && lze_queue_batched_by_default(L, device);
  lze_Queue *q = lze_queue_new(L, context, device);
  lze_object_make_part(&q->o);
  q->home = context;
  q->batched = batched;
  q->transfers = part == PART_TRANSFERS;
  q->works = part == PART_WORKS;
  if (q->transfers || q->works) lze_queue_use_copy_engine(q);
  if (q->works) q->ordered = false;
  lze_Outcome out;
  if (lze_queue_create(q, &out)) return q;
  lze_close(&q->o);
  lze_fail(L, device->driver, out.result, NULL, out.call, NULL, NULL);
}

lze_Queue *lze_default_queue(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device) {
  lze_Queue *own = context->state->queue;
  device = lze_device_in(L, context, device);
  if (own != NULL && !own->o.closed && own->device == device &&
      own->o.context == context && !lze_queue_is_later(own))
    return own;
  for (lze_Queue *q = context->queues; q != NULL; q = q->next)
    if (q->home != NULL && !q->transfers && !q->works && q->device == device &&
        !q->o.closed && !lze_queue_is_later(q))
      return q;
  return queue_new_part(L, context, device, PART_DEFAULT);
}

lze_Queue *lze_host_queue(lua_State *L, lze_Context *context,
                          const lze_DeviceInfo *device) {
  device = lze_device_in(L, context, device);
  for (lze_Queue *q = context->queues; q != NULL; q = q->next)
    if (q->works && q->device == device && !q->o.closed) return q;
  return queue_new_part(L, context, device, PART_WORKS);
}

/* Abandoned reads stay on the queues that they wait on. */
enum { MAX_TRANSFER_QUEUES = 4 };

/* Commands that the embedding program appended itself are not tracked: a copy
   that may have to follow them stays on that list. */
lze_Queue *lze_transfer_queue(lua_State *L, const lze_DeviceInfo *device,
                              const lze_Copy *copy) {
  lze_Context *context = copy->to->o.context;
  lze_Queue *own = lze_default_queue(L, context, device);
  if (own->foreign || !lze_queue_delays(own, copy)) return own;
  int count = 0;
  for (lze_Queue *q = context->queues; q != NULL; q = q->next) {
    if (!q->transfers || q->device != own->device || q->o.closed) continue;
    if (!lze_queue_delays(q, copy)) return q;
    count++;
  }
  return count < MAX_TRANSFER_QUEUES
             ? queue_new_part(L, context, own->device, PART_TRANSFERS)
             : own;
}

uint64_t lze_count_in_flight(const lze_State *S) {
  uint64_t n = 0;
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (const lze_Queue *q = c->queues; q != NULL; q = q->next)
      n += q->in_flight;
  return n;
}

void lze_set_default_queue(lze_State *S, lze_Queue *q) {
  lze_Queue *old = S->queue;
  if (q != NULL) lze_queue_own(q);
  S->queue = q;
  if (old != NULL) lze_queue_disown(old);
}

void lze_queues_drop(lze_Context *context) {
  for (lze_Queue *q = context->queues, *next; q != NULL; q = next) {
    next = q->next;
    if (q->home != NULL) lze_close(&q->o);
  }
}
