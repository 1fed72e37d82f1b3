/*
 * lze_queue_methods.c - the queues of a script.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <string.h>

typedef struct QueueBox {
  lze_Box box;
  lze_Queue *queue;             /* NULL once closed */
} QueueBox;

static lze_Queue *push_default_queue(lua_State *L, lze_Context *context,
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
  lze_Queue *q = lze_queue_new(L, context, device);
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

static const char *const mode_words[] = {"immediate", "batched", NULL};

static const char *const order_words[] = {"in", "out", NULL};

static const char *const engine_words[] = {"compute", "copy", NULL};

static const char *const priority_words[] = {"normal", "low", "high", NULL};

/* lze.queue([device | selector] [, options]) -> queue
   options: mode ("immediate", "batched"), order ("in", "out"), engine
   ("compute", "copy": falls back if the device has no copy engine), priority
   ("low", "normal", "high"), hazards (false: commands do not wait for
   conflicting commands of other queues), context. */
static int core_queue(lua_State *L) {
  static const char *const keys[] = {"mode", "order", "engine", "priority",
                                     "hazards", "context", "device", NULL};
  lua_settop(L, 2);
  /* A launch reaps its own queue only: a script with a new queue for each
     launch needs dropped memory released here. */
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
  if (!lua_isnil(L, 1) && lze_getoption(L, 2, "device") != LUA_TNIL)
    luaL_error(L, "option device: argument 1 is the device already");
  lua_settop(L, 2);
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 1, 2, &device, &context);
  int mode = lze_opt_word(L, 2, "mode", mode_words,
                         lze_queue_batched_by_default(L, device));
  int order = lze_opt_word(L, 2, "order", order_words, 0);
  int engine = lze_opt_word(L, 2, "engine", engine_words, 0);
  int priority = lze_opt_word(L, 2, "priority", priority_words, 0);
  bool hazards = lze_opt_boolean(L, 2, "hazards", true);
  QueueBox *b = lze_push_box(L, lze_queue_kind, sizeof *b);
  lze_Queue *q = lze_queue_new(L, context, device);
  b->queue = q;
  q->batched = mode == 1;
  q->ordered = order == 0;
  if (engine == 1) lze_queue_use_copy_engine(q);
  q->priority = (lze_Priority)priority;
  q->hazards = hazards;
  lze_Outcome out;
  if (!lze_queue_create(q, &out))
    lze_fail(L, device->driver, out.result, NULL, out.call, NULL, NULL);
  return 1;
}

/* q:wait([seconds]) -> boolean: true if everything is done in that time. */
static int queue_wait(lua_State *L) {
  lze_Queue *q = lze_check_queue(L, 1);
  lua_pushboolean(L, lze_queue_drain(L, q, lze_check_deadline(L, 2)));
  return 1;
}

/* q:flush(): submits the commands that a batched queue has collected; does
   nothing for an immediate queue. */
static int queue_flush(lua_State *L) {
  lze_queue_flush(lze_check_queue(L, 1));
  return 0;
}

lze_Queue *lze_check_ready_queue(lua_State *L, int arg) {
  lze_Queue *q;
  do q = lze_check_queue(L, arg);
  while (!lze_queue_ready(L, q));
  return q;
}

/* q:barrier([event | {event, ...}]) -> event
   Runs after the events or, without events, after everything issued to the
   queue before; commands issued later wait for it. */
static int queue_barrier(lua_State *L) {
  lua_settop(L, 2);
  lze_Event *e = lze_push_event(L);
  lze_Queue *q = lze_check_ready_queue(L, 1);
  if (!lua_isnil(L, 2)) lze_check_after(L, 2, q->o.context, "q:barrier");
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
   Signals a wrapped event when everything issued to the queue before it is
   done. */
static int queue_signal(lua_State *L) {
  lua_settop(L, 2);
  lze_Event *e = lze_push_event(L);
  lze_Queue *q = lze_check_ready_queue(L, 1);
  ze_event_handle_t event = lze_check_signal(L, 2, q->o.context, "q:signal");
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
  lze_queue_flush(q);
  return 1;
}

/* Closes the queue; the struct stays until __gc, for a call during which a hook
   closed the queue. */
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
  if (!q->o.closed && q->o.owners == 1) lze_queue_flush(q); /* nothing else
                                                               would */
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

/* The immediate list, or the command queue of a batched queue. */
static int field_queue_handle(lua_State *L) {
  const lze_Queue *q = lze_check_queue(L, 1);
  lua_pushlightuserdata(L, q->batched ? (void *)q->native : (void *)q->list);
  return 1;
}

static const lze_Method queue_methods[] = {
    {"wait", queue_wait, LZE_UNGUARDED},
    {"flush", queue_flush, LZE_UNGUARDED},
    {"barrier", queue_barrier, LZE_UNGUARDED},
    {"signal", queue_signal, LZE_UNGUARDED},
    {"close", queue_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method queue_metamethods[] = {
    {"__gc", queue_gc, LZE_UNGUARDED},
    {"__close", queue_close, LZE_UNGUARDED},
    {"__tostring", queue_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field queue_fields[] = {{"mode", field_mode},
                                         {"order", field_order},
                                         {"engine", field_engine},
                                         {"device", field_queue_device},
                                         {"handle", field_queue_handle},
                                         {NULL, NULL}};

bool lze_state_drain(lua_State *L, uint64_t deadline) {
  lze_State *S = lze_state(L);
  /* A hook may close queues, so start over after each one that had work. */
again:
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (lze_Queue *q = c->queues; q != NULL; q = q->next) {
      if (q->head == NULL && q->failed == NULL) continue;
      if (!lze_queue_drain(L, q, deadline)) return false;
      goto again;
    }
  return true;
}

/* lze.wait([seconds]) -> boolean: true if everything on every queue of this
   state is done in that time. */
static int state_wait(lua_State *L) {
  lua_pushboolean(L, lze_state_drain(L, lze_check_deadline(L, 1)));
  return 1;
}

static const lze_Method functions[] = {
    {"queue", core_queue, LZE_GUARDED},
    {"wait", state_wait, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_push_cached_queue(lua_State *L, lze_Context *context,
                           const lze_DeviceInfo *d) {
  const lze_Queue *q = lze_default_queue(L, context, d);
  if (lze_push_cached(L, q)) {
    if (lze_test_queue(L, -1) == q) return;
    lua_pop(L, 1); /* it belongs to an older queue at the same address */
  }
  lze_cache_box(L, push_default_queue(L, context, d));
}

static int field_queue(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  lze_push_cached_queue(L, lze_push_device_context(L, d), d);
  return 1;
}

static const lze_Field device_fields[] = {{"queue", field_queue},
                                          {NULL, NULL}};

void lze_open_queue(lua_State *L) {
  lze_add_fields(L, lze_device_kind, device_fields);
  lze_new_kind(L, lze_queue_kind, queue_metamethods, queue_methods,
               queue_fields);
  lze_set_methods(L, functions, 0);
}
