/*
 * lze_queue.c - queues, the events a script sees and the driver's behind them.
 * SPDX-License-Identifier: MIT
 */
#include "run/lze_queue.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "lze_open.h"
#include "plan/lze_plan.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_kernel.h"

#include <lualib.h>

#include <stdlib.h>
#include <string.h>

/* Events come from the driver in pools of so many. */
enum { POOL_EVENTS = 64 };

/* ZE_COMMAND_QUEUE_FLAG_IN_ORDER for immediate lists and
   ZE_COMMAND_LIST_FLAG_IN_ORDER for others, since 1.7; the headers of 1.4 lack
   them, old loaders pass them through. */
#define QUEUE_FLAG_IN_ORDER 2u
#define LIST_FLAG_IN_ORDER 8u
#define API_IN_ORDER ZE_MAKE_VERSION(1, 7)

/* --- driver events ------------------------------------------------------ */

typedef struct lze_EventPool {
  struct lze_EventPool *next;
  ze_event_pool_handle_t handle;
  uint32_t count;               /* of events made */
  lze_EventSlot slots[POOL_EVENTS];
} lze_EventPool;

/* Make a pool with all its events and put them on the free list. */
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

/* One that stays signalled would end the next command before its time, so it
   is not used again; its pool destroys it. */
void lze_event_give(lze_Context *context, lze_EventSlot *slot) {
  if (ZE(zeEventHostReset, slot->handle) != ZE_RESULT_SUCCESS) return;
  slot->next = context->free_events[slot->timed];
  context->free_events[slot->timed] = slot;
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

/* --- times -------------------------------------------------------------- */

/* Device ticks as nanoseconds: cycles per second with the structure type
   that lze_loader.c asks with.  Multiplied as doubles: exact enough for
   2^53 ns, which is 104 days. */
static uint64_t ticks_ns(const lze_DeviceInfo *d, uint64_t ticks) {
  uint64_t frequency = d->props.timerResolution;
  if (frequency == 0 || frequency == 1000000000u) return ticks;
  return (uint64_t)((double)ticks * 1e9 / (double)frequency);
}

static uint64_t ticks_mask(const lze_DeviceInfo *d) {
  uint32_t bits = d->props.kernelTimestampValidBits;
  return bits == 0 || bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

bool lze_clock_read(const lze_DeviceInfo *device, lze_Clock *clock) {
  uint64_t host;
  if (ZE(zeDeviceGetGlobalTimestamps, device->handle, &host, &clock->ticks) !=
      ZE_RESULT_SUCCESS)
    return false;
  clock->host = lze_now_ns(); /* the driver's host clock may be another one */
  return true;
}

bool lze_event_times(const lze_DeviceInfo *d, const lze_Clock *clock,
                     const lze_EventSlot *first, const lze_EventSlot *last,
                     uint64_t *start_ns, uint64_t *kernel_ns) {
  ze_kernel_timestamp_result_t begin, end;
  if (ZE(zeEventQueryKernelTimestamp, last->handle, &end) !=
          ZE_RESULT_SUCCESS ||
      ZE(zeEventQueryKernelTimestamp, first->handle, &begin) !=
          ZE_RESULT_SUCCESS)
    return false;
  uint64_t mask = ticks_mask(d);
  uint64_t start_age = (clock->ticks - begin.global.kernelStart) & mask;
  uint64_t length = (end.global.kernelEnd - begin.global.kernelStart) & mask;
  if (start_age > mask / 2) start_age = length; /* a clock that lags a bit */
  *kernel_ns = ticks_ns(d, length);
  *start_ns = clock->host - ticks_ns(d, start_age);
  return true;
}

void lze_command_read_times(lze_Command *c) {
  lze_Clock clock;
  if (!lze_clock_read(c->device, &clock) ||
      !lze_event_times(c->device, &clock, c->first != NULL ? c->first
                                                           : c->event,
                       c->event, &c->start_ns, &c->kernel_ns))
    return;
  c->end_ns = c->start_ns + c->kernel_ns;
}

/* --- queues ------------------------------------------------------------- */

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
  if (q->home != NULL) o->owners--; /* its context's */
}

static const lze_Class queue_class = {"queue", queue_destroy, NULL};

/* Try the flag for lists in order first where the driver is new enough. */
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
    /* The validation layer of an old loader does not know the flag. */
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

/* What a batched queue appends to: a list that has run, or a new one. */
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
  if (ZE_TRY(&out, zeCommandListClose, b->list))
    ZE_TRY(&out, zeCommandQueueExecuteCommandLists, q->native, 1, &b->list,
           NULL);
  q->dirty = false;
  q->open = NULL;
  q->list = NULL;
  lze_Batch **end = &q->batches;
  while (*end != NULL) end = &(*end)->next;
  *end = b;
  lze_queue_submitted(q, &out);
}

/* Make the native side of a queue whose fields say what is asked for. */
static bool queue_create(lze_Queue *q, lze_Outcome *out) {
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

/* Where the device has one. */
static void queue_use_copy_engine(lze_Queue *q) {
  q->ordinal = q->device->copy_ordinal;
  q->copy_engine = q->ordinal != q->device->ordinal;
}

/* A queue with what everybody gets who asks for nothing. */
static lze_Queue *queue_new(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device) {
  lze_Queue *q = lze_object_new(&queue_class, sizeof *q, context);
  if (q == NULL) luaL_error(L, "not enough memory");
  q->device = device;
  q->ordinal = device->ordinal;
  q->ordered = q->hazards = true;
  q->next = context->queues;
  context->queues = q;
  return q;
}

lze_Queue *lze_new_queue(lua_State *L, lze_Context *context,
                         const lze_DeviceInfo *device) {
  lze_Queue *q = queue_new(L, context, device);
  lze_Outcome out;
  if (queue_create(q, &out)) return q;
  lze_disown(&q->o);
  lze_fail(L, device->driver, out.result, NULL, out.call, NULL, NULL);
}

/* Whether new queues are batched.  A driver submits with low latency where it
   keeps immediate lists in order by itself; on older ones each command waits
   for an event of the one before, and is handed over alone. */
static bool queue_batched_by_default(lua_State *L,
                                     const lze_DeviceInfo *device) {
  const char *v = getenv("LZE_USE_IMMEDIATE_COMMANDLISTS");
  if (v == NULL || *v == '\0') return device->driver->api < API_IN_ORDER;
  if (strcmp(v, "0") != 0 && strcmp(v, "1") != 0)
    luaL_error(L, "LZE_USE_IMMEDIATE_COMMANDLISTS=%s: 0 or 1 expected", v);
  return *v == '0';
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

/* A queue that belongs to its context. */
static lze_Queue *queue_new_part(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device,
                                 bool transfers) {
  bool batched = queue_batched_by_default(L, device);
  lze_Queue *q = queue_new(L, context, device);
  lze_object_make_part(&q->o);
  q->home = context;
  q->batched = batched;
  q->transfers = transfers;
  if (transfers) queue_use_copy_engine(q);
  lze_Outcome out;
  if (queue_create(q, &out)) return q;
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
    if (q->home != NULL && !q->transfers && q->device == device &&
        !q->o.closed && !lze_queue_is_later(q))
      return q;
  return queue_new_part(L, context, device, false);
}

/* Reads that were given up stay on the queues that they wait on. */
enum { MAX_TRANSFER_QUEUES = 4 };

/* What the host has put on a list of its own nobody knows here: a copy that
   may have to come after that stays there. */
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
             ? queue_new_part(L, context, own->device, true)
             : own;
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

typedef struct QueueBox {
  lze_Box box;
  lze_Queue *queue;             /* NULL once closed */
} QueueBox;

lze_Queue *lze_push_default_queue(lua_State *L, lze_Context *context,
                                  const lze_DeviceInfo *device) {
  QueueBox *b = lze_push_box(L, lze_queue_kind, sizeof *b);
  if (context->o.closed) luaL_error(L, "the context is closed");
  b->queue = lze_default_queue(L, context, device);
  lze_queue_own(b->queue);
  return b->queue;
}

void lze_push_foreign_queue(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device,
                            ze_command_list_handle_t list,
                            uint32_t ordinal) {
  QueueBox *b = lze_push_box(L, lze_queue_kind, sizeof *b);
  if (context->o.closed) luaL_error(L, "the context is closed");
  lze_Queue *q = queue_new(L, context, device);
  b->queue = q;
  q->list = list;
  q->foreign = true;
  q->ordinal = ordinal;
  q->copy_engine = ordinal != device->ordinal;
}

lze_Queue *lze_test_queue(lua_State *L, int index) {
  QueueBox *b = lze_test_box(L, index, lze_queue_kind);
  return b != NULL ? b->queue : NULL;
}

lze_Queue *lze_check_queue(lua_State *L, int arg) {
  QueueBox *b = lze_check_box(L, arg, lze_queue_kind);
  if (b->queue == NULL || b->queue->o.closed)
    lze_closed(L, arg, lze_queue_kind);
  return b->queue;
}

/* The word at option `key` of the table at t, as its position in `words`, or
   `otherwise` when it is not given. */
static int option_word(lua_State *L, int t, const char *key,
                       const char *const *words, int otherwise) {
  if (lze_getoption(L, t, key) == LUA_TNIL) {
    lua_pop(L, 1);
    return otherwise;
  }
  const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  luaL_Buffer b;
  for (int i = 0; words[i] != NULL; i++)
    if (strcmp(words[i], word) == 0) {
      lua_pop(L, 1);
      return i;
    }
  const char *got = lze_describe(L, -1);
  luaL_buffinit(L, &b);
  for (int i = 0; words[i] != NULL; i++) {
    if (i > 0) luaL_addstring(&b, words[i + 1] == NULL ? " or " : ", ");
    luaL_addstring(&b, words[i]);
  }
  luaL_pushresult(&b);
  return luaL_error(L, "option %s: %s expected, got %s", key,
                    lua_tostring(L, -1), got);
}

static const char *const mode_words[] = {"immediate", "batched", NULL};
static const char *const order_words[] = {"in", "out", NULL};
static const char *const engine_words[] = {"compute", "copy", NULL};
static const char *const priority_words[] = {"normal", "low", "high", NULL};

/* lze.queue([device | selector] [, options]) -> queue
   options: mode ("immediate", "batched"), order ("in", "out"), engine
   ("compute", "copy": falls back where there is none), priority ("low",
   "normal", "high"), hazards (false: commands do not wait for those of other
   queues that they conflict with), context. */
static int core_queue(lua_State *L) {
  static const char *const keys[] = {"mode", "order", "engine", "priority",
                                     "hazards", "context", "device", NULL};
  lua_settop(L, 2);
  /* A launch looks after its own queue only: where each has a new one, what
     was dropped goes here. */
  lze_reap(lze_state(L));
  if (lua_istable(L, 1) && lua_isnil(L, 2)) {
    lua_insert(L, 1);
  }
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  lze_argexpected(L, lua_istable(L, 2), 2, "table");
  lze_check_keys(L, 2, "a queue's options", keys);
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 1, 2, &device, &context);
  int mode = option_word(L, 2, "mode", mode_words,
                         queue_batched_by_default(L, device));
  int order = option_word(L, 2, "order", order_words, 0);
  int engine = option_word(L, 2, "engine", engine_words, 0);
  int priority = option_word(L, 2, "priority", priority_words, 0);
  bool hazards = true;
  if (lze_getoption(L, 2, "hazards") != LUA_TNIL) {
    if (!lua_isboolean(L, -1))
      luaL_error(L, "option hazards: boolean expected, got %s",
                 lze_describe(L, -1));
    hazards = lua_toboolean(L, -1);
  }
  QueueBox *b = lze_push_box(L, lze_queue_kind, sizeof *b);
  if (context->o.closed) luaL_error(L, "the context is closed");
  lze_Queue *q = queue_new(L, context, device);
  b->queue = q;
  q->batched = mode == 1;
  q->ordered = order == 0;
  if (engine == 1) queue_use_copy_engine(q);
  q->priority = (lze_Priority)priority;
  q->hazards = hazards;
  lze_Outcome out;
  if (!queue_create(q, &out))
    lze_fail(L, device->driver, out.result, NULL, out.call, NULL, NULL);
  return 1;
}

/* q:wait([seconds]) -> boolean: whether everything is done in that time. */
static int queue_wait(lua_State *L) {
  lze_Queue *q = lze_check_queue(L, 1);
  lua_pushboolean(L, lze_queue_drain(L, q, lze_check_deadline(L, 2)));
  return 1;
}

/* q:flush(): give what a batched queue has collected to the device; an
   immediate one has nothing to flush. */
static int queue_flush(lua_State *L) {
  lze_queue_flush(lze_check_queue(L, 1));
  return 0;
}

/* The queue at 1 once it can take one more command. */
static lze_Queue *queue_ready(lua_State *L) {
  lze_Queue *q;
  do q = lze_check_queue(L, 1);
  while (!lze_queue_ready(L, q));
  return q;
}

/* q:barrier([event | {event, ...}]) -> event
   After the events or, when none are given, after everything issued to the
   queue before; what is issued later waits for it. */
static int queue_barrier(lua_State *L) {
  lua_settop(L, 2);
  lze_Event *e = lze_push_event(L);
  lze_Queue *q = queue_ready(L);
  if (!lua_isnil(L, 2)) lze_check_after(L, 2, q, "q:barrier");
  lze_Command *c = lze_begin(L, q, "barrier", true, NULL);
  if (!lua_isnil(L, 2)) lze_command_after_all(L, c, 2);
  lze_command_order(L, c);
  ze_result_t r = ZE(zeCommandListAppendBarrier, q->list, lze_command_event(c),
                     c->wait_count, c->wait_handles);
  if (r != ZE_RESULT_SUCCESS) {
    lze_abort(c);
    lze_fail(L, q->device->driver, r, NULL, "zeCommandListAppendBarrier",
             NULL, NULL);
  }
  lze_end(c);
  e->command = c;
  lze_command_own(c);
  return 1;
}

/* q:signal(ev) -> event
   Signal a wrapped event when everything issued to the queue before is done. */
static int queue_signal(lua_State *L) {
  lua_settop(L, 2);
  lze_Event *e = lze_push_event(L);
  lze_Queue *q = queue_ready(L);
  ze_event_handle_t event = lze_check_signal(L, 2, q, "q:signal");
  lze_Command *c = lze_begin(L, q, "signal", true, NULL);
  lze_command_order(L, c);
  lze_Outcome out;
  if (!ZE_TRY(&out, zeCommandListAppendBarrier, q->list, lze_command_event(c),
              c->wait_count, c->wait_handles)) {
    lze_abort(c);
    lze_fail(L, q->device->driver, out.result, NULL, out.call, NULL, NULL);
  }
  bool signalled = lze_command_signal(c, event, &out);
  lze_end(c);
  if (!signalled)
    lze_fail(L, q->device->driver, out.result, NULL, out.call, NULL, NULL);
  e->command = c;
  lze_command_own(c);
  return 1;
}

/* The common part of q:prefetch and q:advise: pin the buffer at 2, order the
   hint among its commands and find out when it is over. */
static int queue_hint(lua_State *L, const char *name,
                      ze_memory_advice_t advice, bool prefetch) {
  lze_Queue *q = queue_ready(L);
  lze_Buffer *b = lze_check_buffer(L, 2);
  lze_Storage *s = b->storage;
  size_t bytes = (size_t)b->count * b->type->bytes;
  if (s->o.context != q->o.context)
    lze_argerror(L, 2, "a buffer of another context");
  if (bytes == 0) return 0;
  lze_Command *c = lze_begin(L, q, name, false, NULL);
  lze_command_use(L, c, s, b->offset, b->offset + bytes, false);
  lze_command_order(L, c);
  const char *call = "zeCommandListAppendMemAdvise";
  ze_result_t r;
  if (prefetch) {
    call = "zeCommandListAppendMemoryPrefetch";
    r = ZE(zeCommandListAppendMemoryPrefetch, q->list,
                                                 s->pointer + b->offset,
                                                 bytes);
  } else {
    r = ZE(zeCommandListAppendMemAdvise, q->list, q->device->handle,
                                            s->pointer + b->offset, bytes,
                                            advice);
  }
  bool hinted = r == ZE_RESULT_SUCCESS;
  if (hinted) {
    call = "zeCommandListAppendBarrier"; /* hints signal nothing */
    r = ZE(zeCommandListAppendBarrier, q->list, lze_command_event(c),
                                          c->wait_count, c->wait_handles);
  }
  if (r == ZE_RESULT_SUCCESS) {
    lze_end(c);
    return 0;
  }
  if (hinted)
    lze_strand(c);
  else
    lze_abort(c);
  return lze_fail(L, q->device->driver, r, NULL, call, NULL, NULL);
}

/* q:prefetch(x): move shared memory to the device ahead of its use. */
static int queue_prefetch(lua_State *L) {
  return queue_hint(L, "prefetch", 0, true);
}

/* q:advise(x, word): tell the driver how the memory will be used. */
static int queue_advise(lua_State *L) {
  static const struct {
    const char *word;
    ze_memory_advice_t advice;
  } words[] = {
      {"read_mostly", ZE_MEMORY_ADVICE_SET_READ_MOSTLY},
      {"not_read_mostly", ZE_MEMORY_ADVICE_CLEAR_READ_MOSTLY},
      {"prefer_device", ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION},
      {"not_prefer_device", ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION},
      {"non_atomic_mostly", ZE_MEMORY_ADVICE_SET_NON_ATOMIC_MOSTLY},
      {"not_non_atomic_mostly", ZE_MEMORY_ADVICE_CLEAR_NON_ATOMIC_MOSTLY}};
  const char *word = lua_type(L, 3) == LUA_TSTRING ? lua_tostring(L, 3) : "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].word, word) == 0)
      return queue_hint(L, "advise", words[i].advice, false);
  return lze_argerror(
      L, 3, lua_pushfstring(L, "advice: read_mostly, prefer_device or "
                               "non_atomic_mostly (or not_ before one) "
                               "expected, got %s",
                            lze_describe(L, 3)));
}

/* The struct stays until __gc, for a call that a hook has closed it in. */
static int queue_close(lua_State *L) {
  QueueBox *b = lze_check_box(L, 1, lze_queue_kind);
  lze_Queue *q = b->queue;
  if (q == NULL || q->o.closed) return 0;
  lze_queue_flush(q);
  lze_close(&q->o);
  return 0;
}

static int queue_gc(lua_State *L) {
  QueueBox *b = lze_check_box(L, 1, lze_queue_kind);
  lze_Queue *q = b->queue;
  b->queue = NULL;
  if (q == NULL) return 0;
  if (!q->o.closed && q->o.owners == 1) lze_queue_flush(q); /* or nobody */
  lze_queue_disown(q);
  return 0;
}

static int queue_tostring(lua_State *L) {
  const QueueBox *b = lze_check_box(L, 1, lze_queue_kind);
  const lze_Queue *q = b->queue;
  if (q == NULL || q->o.closed)
    lua_pushliteral(L, "queue (closed)");
  else
    lua_pushfstring(L, "queue: %s, %s, %s order, %s engine, %d in flight",
                    q->device->props.name, mode_words[q->batched],
                    q->ordered ? "in" : "out of", engine_words[q->copy_engine],
                    (int)q->in_flight);
  return 1;
}

static int field_mode(lua_State *L) {
  lua_pushstring(L, mode_words[lze_check_queue(L, 1)->batched]);
  return 1;
}

static int field_order(lua_State *L) {
  lua_pushstring(L, order_words[!lze_check_queue(L, 1)->ordered]);
  return 1;
}

static int field_engine(lua_State *L) {
  lua_pushstring(L, engine_words[lze_check_queue(L, 1)->copy_engine]);
  return 1;
}

static int field_queue_device(lua_State *L) {
  lze_push_device(L, lze_check_queue(L, 1)->device);
  return 1;
}

/* The immediate list, or of a batched queue the command queue. */
static int field_queue_handle(lua_State *L) {
  const lze_Queue *q = lze_check_queue(L, 1);
  lua_pushlightuserdata(L, q->batched ? (void *)q->native : (void *)q->list);
  return 1;
}

static const lze_Method queue_methods[] = {
    {"wait", queue_wait, LZE_HOT},
    {"flush", queue_flush, LZE_HOT},
    {"launch", lze_queue_launch, LZE_HOT},
    {"copy", lze_queue_copy, LZE_HOT},
    {"fill", lze_queue_fill, LZE_HOT},
    {"barrier", queue_barrier, LZE_HOT},
    {"signal", queue_signal, LZE_HOT},
    {"prefetch", queue_prefetch, LZE_HOT},
    {"advise", queue_advise, LZE_HOT},
    {"close", queue_close, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method queue_metamethods[] = {
    {"__gc", queue_gc, LZE_HOT},
    {"__close", queue_close, LZE_HOT},
    {"__tostring", queue_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Field queue_fields[] = {{"mode", field_mode},
                                         {"order", field_order},
                                         {"engine", field_engine},
                                         {"device", field_queue_device},
                                         {"handle", field_queue_handle},
                                         {NULL, NULL}};

/* --- events ------------------------------------------------------------- */

lze_Event *lze_push_event(lua_State *L) {
  return lze_push_box(L, lze_event_kind, sizeof(lze_Event));
}

lze_Event *lze_test_event(lua_State *L, int index) {
  return lze_test_box(L, index, lze_event_kind);
}

lze_Command *lze_event_command(const lze_Event *e) {
  lze_Command *c = e->command;
  return c != NULL && c->foreign && c->context->o.closed ? NULL : c;
}

static lze_Command *event_check(lua_State *L) {
  lze_Command *c = lze_event_command(lze_check_box(L, 1, lze_event_kind));
  if (c == NULL) lze_closed(L, 1, lze_event_kind);
  return c;
}

/* The command of the event at 1, given to the device if it has not been, so
   that whoever asks again and again will see it done. */
static lze_Command *event_submitted(lua_State *L) {
  lze_Command *c = event_check(L);
  if (c->status == LZE_PENDING && !c->submitted) lze_queue_flush(c->queue);
  return c;
}

/* ev:done() -> boolean, without waiting; a failed command is done.  Raises what
   the driver says when it does not tell. */
static int event_done(lua_State *L) {
  lze_Command *c = event_submitted(L);
  lze_runs_advance(L);
  c = event_check(L);
  lua_pushboolean(L, lze_command_check(L, c));
  return 1;
}

/* ev:wait([seconds]) -> boolean: whether it is done in that time. */
static int event_wait(lua_State *L) {
  lze_Command *c = event_check(L);
  lua_pushboolean(L, lze_command_wait(L, c, lze_check_deadline(L, 2)));
  return 1;
}

/* ev:time() -> {queued_ns, start_ns, end_ns, kernel_ns}, after a wait. The
   clock is CLOCK_MONOTONIC; of a split launch, first start to last end. */
static int event_time(lua_State *L) {
  lze_Command *c = event_check(L);
  lze_command_wait(L, c, UINT64_MAX);
  if (c->foreign) lze_command_read_times(c); /* if its pool has timestamps */
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, (lua_Integer)c->queued_ns);
  lua_setfield(L, -2, "queued_ns");
  lua_pushinteger(L, (lua_Integer)c->start_ns);
  lua_setfield(L, -2, "start_ns");
  lua_pushinteger(L, (lua_Integer)c->end_ns);
  lua_setfield(L, -2, "end_ns");
  lua_pushinteger(L, (lua_Integer)c->kernel_ns);
  lua_setfield(L, -2, "kernel_ns");
  return 1;
}

/* ev:fd() -> a file descriptor that is readable once the command is over, for
   poll loops; it belongs to the event, which closes it. */
static int event_fd(lua_State *L) {
  lze_Command *c = event_submitted(L);
  lua_pushinteger(L, lze_watch_fd(L, c));
  return 1;
}

/* Stack: the event, the function to yield with. */
static int event_await_more(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  lua_settop(L, 2);
  lze_Command *c;
  event_submitted(L);
  for (;;) {
    lze_runs_advance(L);
    c = event_check(L);
    if (lze_command_check(L, c)) break;
    /* A hook of this coroutine's own runs in the call. */
    if (lua_gethook(L) == NULL && lze_run_hook(L) != LUA_OK)
      return lua_error(L);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 0, 0, event_await_more);
  }
  lze_command_wait(L, c, 0); /* raises its failure */
  lua_pushboolean(L, true);
  return 1;
}

/* ev:await([yield]) -> true
   Calls yield(ev), by default lze.yield, until the command is over; waits
   where it cannot yield.  Raises the command's failure, and what the driver
   says when it does not tell. */
static int event_await(lua_State *L) {
  lua_settop(L, 2);
  lze_Command *c = event_check(L);
  if (!lua_isnil(L, 2) && !lua_isfunction(L, 2) &&
      luaL_getmetafield(L, 2, "__call") == LUA_TNIL)
    lze_argerror(L, 2, lua_pushfstring(L, "yield: function expected, got %s",
                                        lze_describe(L, 2)));
  lua_settop(L, 2);
  if (!lua_isyieldable(L)) {
    lze_command_wait(L, c, UINT64_MAX);
    lua_pushboolean(L, true);
    return 1;
  }
  if (lua_isnil(L, 2)) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->module_ref);
    lua_getfield(L, -1, "yield");
    if (!lua_isfunction(L, -1) &&
        luaL_getmetafield(L, -1, "__call") == LUA_TNIL)
      luaL_error(L, "lze.yield: function expected, got %s",
                 lze_describe(L, -1));
    lua_settop(L, 4);
    lua_replace(L, 2);
    lua_settop(L, 2);
  }
  return event_await_more(L, LUA_OK, 0);
}

static int event_close(lua_State *L) {
  lze_Event *e = lze_check_box(L, 1, lze_event_kind);
  lze_Command *c = e->command;
  e->command = NULL;
  if (c != NULL) lze_command_disown(c);
  return 0;
}

static int event_tostring(lua_State *L) {
  static const char *const words[] = {"pending", "done", "failed"};
  const lze_Command *c =
      lze_event_command(lze_check_box(L, 1, lze_event_kind));
  if (c == NULL)
    lua_pushliteral(L, "event (closed)");
  else
    lua_pushfstring(L, "event: %s, %s", c->name,
                    c->foreign ? "of the host" : words[c->status]);
  return 1;
}

static int field_command(lua_State *L) {
  lua_pushstring(L, event_check(L)->name);
  return 1;
}

static int field_event_handle(lua_State *L) {
  lze_Command *c = event_submitted(L);
  if (c->event != NULL) {
    c->lent = true; /* not reset for another before this object is gone */
    lua_pushlightuserdata(L, c->event->handle);
  } else
    lua_pushnil(L); /* over, and its native event serves another command */
  return 1;
}

static const lze_Method event_methods[] = {
    {"done", event_done, LZE_HOT},
    {"wait", event_wait, LZE_HOT},
    {"time", event_time, LZE_HOT},
    {"await", event_await, LZE_HOT},
    {"fd", event_fd, LZE_HOT},
    {"close", event_close, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method event_metamethods[] = {
    {"__gc", event_close, LZE_HOT},
    {"__close", event_close, LZE_HOT},
    {"__tostring", event_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Field event_fields[] = {{"command", field_command},
                                         {"handle", field_event_handle},
                                         {NULL, NULL}};

bool lze_state_drain(lua_State *L, uint64_t deadline) {
  lze_State *S = lze_state(L);
  /* A hook may close queues, so start over after each that had work. */
again:
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (lze_Queue *q = c->queues; q != NULL; q = q->next) {
      if (q->head == NULL && q->failed == NULL) continue;
      if (!lze_queue_drain(L, q, deadline)) return false;
      goto again;
    }
  return true;
}

/* lze.wait([seconds]) -> boolean: everything on every queue of this state. */
static int state_wait(lua_State *L) {
  lua_pushboolean(L, lze_state_drain(L, lze_check_deadline(L, 1)));
  return 1;
}

/* What lze.yield is where there is no coroutine library. */
static int plain_yield(lua_State *L) { return lua_yield(L, 0); }

static const lze_Method functions[] = {
    {"queue", core_queue, LZE_COLD},
    {"wait", state_wait, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_queue(lua_State *L) {
  lze_new_kind(L, lze_queue_kind, queue_metamethods, queue_methods,
               queue_fields);
  lze_new_kind(L, lze_event_kind, event_metamethods, event_methods,
               event_fields);
  lze_set_methods(L, functions, 0);
  lua_pushcfunction(L, plain_yield);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE &&
      lua_getfield(L, -1, "yield") == LUA_TFUNCTION)
    lua_replace(L, -4);
  lua_settop(L, 2);
  lua_setfield(L, 1, "yield");
}
