/*
 * lze_gc.c - lifetime: who holds what, and when it may go.
 * SPDX-License-Identifier: MIT
 *
 * Level Zero has no reference counts and may reuse freed memory at once, so
 * whatever a command on the device uses is pinned by that command until the
 * device has said that it is done.
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "lze_open.h"
#include "plan/lze_plan.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_queue.h"

#include <stdlib.h>
#include <string.h>

/* The same while runs of plans have parts on the host, which are looked for in
   between. */
#define RUNS_SLICE_NS 200000u

/* How long a closing state waits for its device, all queues together, when
   lze.gc was not told. Long enough for the work of an ordinary script, short
   enough for a person who waits for a program to end. */
#define CLOSE_NS 10000000000u

/* A program that only ever enqueues must not fill the memory with commands;
   past so many the oldest is waited for. */
#define MAX_IN_FLIGHT 16384u

/* --- native objects ----------------------------------------------------- */

void *lze_object_new(const lze_Class *cls, size_t size,
                     lze_Context *context) {
  lze_Object *o = calloc(1, size);
  if (o == NULL) return NULL;
  o->cls = cls;
  o->owners = 1;
  o->context = context;
  if (context != NULL) {
    lze_pin(&context->o);
    o->next = context->objects;
    if (o->next != NULL) o->next->prev = o;
    context->objects = o;
  }
  return o;
}

static void object_unlink(lze_Object *o) {
  lze_Context *c = o->context;
  if (c == NULL || &c->o == o) return;
  if (o->prev != NULL)
    o->prev->next = o->next;
  else
    c->objects = o->next;
  if (o->next != NULL) o->next->prev = o->prev;
  o->prev = o->next = NULL;
}

/* Destroy and free whatever nothing needs any more. */
static void object_settle(lze_Object *o) {
  if (o->pins != 0) return;
  if (!o->destroyed && (o->closed || o->owners == 0)) {
    lze_Context *c = o->context;
    bool is_context = c == NULL || &c->o == o;
    o->destroyed = true;
    o->pins++; /* a destructor may come back here */
    o->cls->destroy(o);
    o->pins--;
    object_unlink(o);
    o->context = NULL;
    if (!is_context && !o->part) lze_unpin(&c->o);
  }
  if (o->destroyed && o->owners == 0) {
    if (o->cls->release != NULL) o->cls->release(o);
    free(o);
  }
}

void lze_object_make_part(lze_Object *o) {
  o->part = true;
  o->context->o.pins--;
}

void lze_pin(lze_Object *o) { o->pins++; }

void lze_unpin(lze_Object *o) {
  o->pins--;
  object_settle(o);
}

void lze_own(lze_Object *o) { o->owners++; }

void lze_disown(lze_Object *o) {
  o->owners--;
  object_settle(o);
}

void lze_close(lze_Object *o) {
  if (o->closed) return;
  o->closed = true;
  if (o->context != NULL) o->context->state->closes++;
  object_settle(o);
}

/* --- the hazards of a storage ------------------------------------------- */

static void use_unlink(lze_Use *u) {
  if (!u->linked) return;
  if (u->prev != NULL)
    u->prev->next = u->next;
  else
    u->storage->uses = u->next;
  if (u->next != NULL) u->next->prev = u->prev;
  u->linked = false;
}

static bool use_conflicts(const lze_Use *u, size_t first, size_t last,
                          bool write) {
  return (write || u->write) && u->first < last && first < u->last;
}

/* Whatever waits for `newer` has waited for `older` too. */
static bool use_covers(const lze_Use *newer, const lze_Use *older) {
  return newer->command->queue == older->command->queue &&
         newer->command->queue->ordered &&
         newer->first <= older->first && newer->last >= older->last &&
         (newer->write || !older->write);
}

static void use_link(lze_Use *u) {
  lze_Storage *s = u->storage;
  for (lze_Use *old = s->uses, *next; old != NULL; old = next) {
    next = old->next;
    if (use_covers(u, old)) use_unlink(old);
  }
  u->prev = NULL;
  u->next = s->uses;
  if (u->next != NULL) u->next->prev = u;
  s->uses = u;
  u->linked = true;
}

/* --- commands ----------------------------------------------------------- */

static void command_free(lze_Command *c) {
  if (c->uses != c->inline_uses) free(c->uses);
  if (c->objects != c->inline_pins) free(c->objects);
  free(c->waits);
  free(c->wait_handles);
  free(c);
}

static void command_drop_error(lze_Command *c) {
  if (c->error_ref != 0)
    luaL_unref(c->state->main, LUA_REGISTRYINDEX, c->error_ref);
  c->error_ref = 0;
}

/* Back to the free list, when nothing refers to it. */
static void command_settle(lze_Command *c) {
  if (c->owners != 0 || c->pins != 0 || c->queue != NULL) return;
  lze_watch_free(c->watch);
  c->watch = NULL;
  command_drop_error(c);
  if (c->foreign) {
    lze_Context *context = c->context;
    lze_Command **link = &context->foreign;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    free(c->event);
    c->event = NULL;
    c->context = NULL;
    c->foreign = false;
    lze_disown(&context->o);
  }
  lze_State *S = c->state;
  if (S == NULL || S->closed) {
    command_free(c);
    return;
  }
  c->next = S->free_commands;
  S->free_commands = c;
}

/* A command's events can be used again when it is over and no command on the
   device waits for them any more. */
static void command_give_events(lze_Command *c) {
  if (c->context == NULL || c->status == LZE_PENDING || c->pins != 0) return;
  if (c->lent && c->owners != 0) return;
  lze_Context *context = c->context;
  c->context = NULL;
  lze_watch_join(c->watch);
  if (c->event != NULL) lze_event_give(context, c->event);
  if (c->first != NULL) lze_event_give(context, c->first);
  c->event = c->first = NULL;
  lze_unpin(&context->o);
}

void lze_command_own(lze_Command *c) { c->owners++; }

void lze_command_disown(lze_Command *c) {
  c->owners--;
  if (c->lent) command_give_events(c);
  command_settle(c);
}

static void command_unpin(lze_Command *c) {
  c->pins--;
  command_give_events(c);
  command_settle(c);
}

/* Let go of all that the command uses. */
static void command_release(lze_Command *c) {
  for (uint32_t i = 0; i < c->use_count; i++) {
    use_unlink(&c->uses[i]);
    lze_unpin(&c->uses[i].storage->o);
  }
  for (uint32_t i = 0; i < c->object_count; i++) lze_unpin(c->objects[i]);
  for (uint32_t i = 0; i < c->wait_count; i++) command_unpin(c->waits[i]);
  c->use_count = c->object_count = c->wait_count = 0;
  lze_Queue *q = c->queue;
  c->queue = NULL;
  lze_unpin(&q->o);
  command_give_events(c); /* last, because it lets go of the context */
}

static lze_Command *command_take(lze_State *S) {
  lze_Command *c = S->free_commands;
  if (c != NULL) {
    S->free_commands = c->next;
  } else {
    c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->state = S;
    c->uses = c->inline_uses;
    c->use_capacity = LZE_INLINE_USES;
    c->objects = c->inline_pins;
    c->object_capacity = LZE_INLINE_PINS;
  }
  c->next = NULL;
  c->status = LZE_PENDING;
  c->failure.call = NULL;
  c->raised = c->submitted = c->lent = c->hosted = false;
  c->start_ns = c->end_ns = c->kernel_ns = c->queued_ns = 0;
  return c;
}

static void command_set_name(lze_Command *c, const char *name) {
  if (memccpy(c->name, name, '\0', sizeof c->name) == NULL)
    c->name[sizeof c->name - 1] = '\0';
}

/* Retire what is done, asking the device for one command in this many. */
#define PROBE_EVERY 8

/* Of commands that need no event, one in this many gets one, so that what
   they pin is let go of while a script only enqueues. */
#define MARK_EVERY 64

static void begin_reap(lze_Queue *q) {
  if (q->probe == NULL || ++q->since_probe < PROBE_EVERY) return;
  q->since_probe = 0;
  lze_command_poll(q->probe);
}

/* It is one of this queue from now on. */
static void command_attach(lze_Command *c, lze_Queue *q, const char *name) {
  c->context = q->o.context;
  lze_pin(&c->context->o);
  c->queue = q;
  lze_pin(&q->o);
  c->device = q->device->base; /* it may outlive a lent context */
  command_set_name(c, name);
}

lze_Command *lze_begin(lua_State *L, lze_Queue *q, const char *name,
                       bool timed, bool *lazy) {
  lze_State *S = q->o.context->state;
  begin_reap(q);
  if (S->calling != NULL && lze_queue_is_later(q))
    luaL_error(L, "%s: the queue has work that waits for the run that the "
                  "callback is part of", name);
  lze_Outcome out;
  if (!lze_queue_open(q, &out))
    lze_fail(L, q->device->driver, out.result, name, out.call, NULL, NULL);
  lze_Command *c = command_take(S);
  if (c == NULL) luaL_error(L, "not enough memory");
  c->event = c->first = NULL;
  c->lazy = q->native_order && !q->batched ? lazy : NULL;
  if (c->lazy == NULL || !*c->lazy || q->unmarked >= MARK_EVERY) {
    c->event = lze_event_take(q->o.context, timed, &out);
    if (c->event == NULL) {
      command_settle(c);
      lze_fail(L, q->device->driver, out.result, name, out.call, NULL, NULL);
    }
  }
  command_attach(c, q, name);
  c->timed = timed;
  if (timed) c->queued_ns = lze_now_ns(); /* it may start before lze_end */
  return c;
}

void lze_begin_reserved(lze_Command *c, lze_Queue *q, const char *name,
                        lze_EventSlot *event) {
  c->event = event;
  c->first = NULL;
  c->lazy = NULL;
  c->timed = false;
  command_attach(c, q, name);
}

/* Give a command that has none an event, by way of a barrier after it. It is
   the newest of its queue, so the barrier waits for nothing else. */
static bool command_mark(lze_Command *c, lze_Outcome *out) {
  if (c->event != NULL) return true;
  c->event = lze_event_take(c->context, false, out);
  if (c->event == NULL) return false;
  lze_Queue *q = c->queue;
  if (!ZE_TRY(out, zeCommandListAppendBarrier, q->list, c->event->handle, 0,
              NULL)) {
    lze_event_give(c->context, c->event);
    c->event = NULL;
    return false;
  }
  if (c->lazy != NULL) *c->lazy = false;
  q->unmarked = 0;
  if (q->probe == NULL) q->probe = c;
  return true;
}

/* The command whose event tells that `c` is over: itself, or the first after
   it that has one; the newest gets one if need be.  NULL, with the driver's
   outcome, when it cannot be given any. */
static lze_Command *command_marked(lze_Command *c, lze_Outcome *out) {
  while (c->event == NULL && c->next != NULL) c = c->next;
  return command_mark(c, out) ? c : NULL;
}

/* Make room for more than `count` items of `size`; false without memory.
   `items` starts as the inline array, or as NULL.  Seldom called, and kept out
   of what every launch runs. */
__attribute__((noinline)) static bool
command_grow(void **items, const void *inline_items, uint32_t count,
             uint32_t *capacity, size_t size) {
  uint32_t wanted = *capacity < 8 ? 8 : 2 * *capacity;
  bool is_inline = *items == inline_items && inline_items != NULL;
  void *p = realloc(is_inline ? NULL : *items, wanted * size);
  if (p == NULL) return false;
  if (is_inline) memcpy(p, inline_items, count * size);
  *items = p;
  *capacity = wanted;
  return true;
}

lze_Command *lze_reserve(lze_State *S, uint32_t uses, uint32_t pins) {
  lze_Command *c = command_take(S);
  bool good = c != NULL;
  while (good && c->use_capacity < uses)
    good = command_grow((void **)&c->uses, c->inline_uses, 0,
                        &c->use_capacity, sizeof *c->uses);
  while (good && c->object_capacity < pins)
    good = command_grow((void **)&c->objects, c->inline_pins, 0,
                        &c->object_capacity, sizeof *c->objects);
  if (good) return c;
  lze_unreserve(c);
  return NULL;
}

void lze_unreserve(lze_Command *c) {
  if (c != NULL) command_settle(c);
}

static void command_no_memory(lua_State *L, lze_Command *c) {
  lze_abort(c);
  luaL_error(L, "not enough memory");
}

void lze_command_use(lua_State *L, lze_Command *c, lze_Storage *storage,
                     size_t first, size_t last, bool write) {
  /* Nothing is linked before lze_end, so the array may still move. */
  if (c->use_count == c->use_capacity &&
      !command_grow((void **)&c->uses, c->inline_uses, c->use_count,
                    &c->use_capacity, sizeof *c->uses))
    command_no_memory(L, c);
  lze_Use *u = &c->uses[c->use_count++]; /* use_link() sets the rest */
  u->storage = storage;
  u->first = first;
  u->last = last;
  u->write = write;
  u->linked = false;
  u->command = c;
  lze_pin(&storage->o);
}

void lze_command_pin(lua_State *L, lze_Command *c, lze_Object *object) {
  if (c->object_count == c->object_capacity &&
      !command_grow((void **)&c->objects, c->inline_pins, c->object_count,
                    &c->object_capacity, sizeof *c->objects))
    command_no_memory(L, c);
  c->objects[c->object_count++] = object;
  lze_pin(object);
}

/* What a command needs, or another for its sake, cannot be had. */
static void command_refuse(lua_State *L, lze_Command *c,
                           const lze_Outcome *out) {
  const lze_Driver *driver = c->device->driver;
  lze_abort(c);
  lze_fail(L, driver, out->result, NULL, out->call, NULL, NULL);
}

/* Make c wait for another; false where that needs what cannot be had. */
static bool command_wait_for(lze_Command *c, lze_Command *other,
                             lze_Outcome *out) {
  if (other->status != LZE_PENDING) return true;
  if (other->queue == c->queue && c->queue->native_order) return true;
  if (!other->submitted && other->queue != c->queue)
    lze_queue_flush(other->queue);
  if (other->status != LZE_PENDING) return true; /* that has failed */
  other = command_marked(other, out);
  if (other == NULL) return false;
  for (uint32_t i = 0; i < c->wait_count; i++)
    if (c->waits[i] == other) return true;
  if (c->wait_count == c->wait_capacity) {
    uint32_t wanted = c->wait_capacity == 0 ? 4 : 2 * c->wait_capacity;
    void *waits = realloc(c->waits, wanted * sizeof *c->waits);
    if (waits != NULL) c->waits = waits;
    void *handles = realloc(c->wait_handles, wanted * sizeof *c->wait_handles);
    if (handles != NULL) c->wait_handles = handles;
    *out = LZE_NO_MEMORY;
    if (waits == NULL || handles == NULL) return false;
    c->wait_capacity = wanted;
  }
  c->waits[c->wait_count] = other;
  c->wait_handles[c->wait_count++] = other->event->handle;
  other->pins++;
  return true;
}

void lze_command_after(lua_State *L, lze_Command *c, lze_Command *other) {
  lze_Outcome out;
  if (!command_wait_for(c, other, &out)) command_refuse(L, c, &out);
}

bool lze_command_is_later(const lze_Command *c) {
  const lze_Command *calling = c->state->calling;
  while (calling != NULL && !lze_command_follows(c, calling))
    calling = calling->caller;
  return calling != NULL;
}

static void after_check(lua_State *L, int index, const lze_Queue *q,
                        const char *what) {
  const lze_Event *e = lze_test_event(L, index);
  if (e == NULL)
    luaL_error(L, "%s: event expected, got %s", what, lze_describe(L, index));
  const lze_Command *c = lze_event_command(e);
  if (c == NULL) luaL_error(L, "%s: the event is closed", what);
  if (c->status == LZE_PENDING && c->context != q->o.context)
    luaL_error(L, "%s: an event of another context", what);
  if (lze_command_is_later(c))
    luaL_error(L, "%s: an event that waits for the run that the callback is "
                  "part of", what);
}

void lze_check_after(lua_State *L, int index, const lze_Queue *q,
                     const char *what) {
  if (!lua_istable(L, index)) {
    after_check(L, index, q, what);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    after_check(L, -1, q, what);
    lua_pop(L, 1);
  }
}

void lze_command_after_all(lua_State *L, lze_Command *c, int index) {
  const lze_Event *e = lze_test_event(L, index);
  if (e != NULL) {
    lze_command_after(L, c, e->command);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    e = lze_test_event(L, -1);
    lua_pop(L, 1);
    lze_command_after(L, c, e->command);
  }
}

/* Whether every storage that `old` still stands for is used again by `c`,
   which comes after it in a queue in order: then nobody will ever need to know
   when `old` alone is over. */
static bool command_is_covered(const lze_Command *old, const lze_Command *c) {
  for (uint32_t i = 0; i < old->use_count; i++) {
    if (!old->uses[i].linked) continue;
    const lze_Use *u = &old->uses[i];
    uint32_t j = 0;
    while (j < c->use_count && (c->uses[j].storage != u->storage ||
                                !use_covers(&c->uses[j], u)))
      j++;
    if (j == c->use_count) return false;
  }
  return true;
}

bool lze_queue_is_later(const lze_Queue *q) {
  if (q->o.context->state->calling == NULL || q->tail == NULL) return false;
  if (q->ordered) return lze_command_is_later(q->tail);
  /* A device may keep the order all the same. */
  const lze_Command *c = q->head;
  while (c != NULL && !lze_command_is_later(c)) c = c->next;
  return c != NULL;
}

void lze_command_order(lua_State *L, lze_Command *c) {
  lze_Queue *q = c->queue;
  lze_Command *old = q->tail;
  if (old != NULL && old->lazy != NULL) {
    *old->lazy = command_is_covered(old, c);
    lze_Outcome out;
    if (!*old->lazy && !command_mark(old, &out)) command_refuse(L, c, &out);
  }
  /* A driver that does not keep a list in order is told to, one by one. */
  if (q->ordered && !q->native_order && q->tail != NULL)
    lze_command_after(L, c, q->tail);
  if (!q->hazards) return;
  const lze_Queue *kept = q->ordered ? q : NULL; /* in order as it is */
  for (uint32_t i = 0; i < c->use_count; i++) {
    const lze_Use *mine = &c->uses[i];
    for (lze_Use *u = mine->storage->uses; u != NULL; u = u->next)
      if (u->command->queue != kept &&
          use_conflicts(u, mine->first, mine->last, mine->write) &&
          !lze_command_is_later(u->command))
        lze_command_after(L, c, u->command);
  }
}

void lze_command_time_first(lua_State *L, lze_Command *c) {
  lze_Outcome out;
  c->first = lze_event_take(c->context, true, &out);
  if (c->first == NULL) command_refuse(L, c, &out);
}

ze_event_handle_t lze_command_event(const lze_Command *c) {
  return c->event != NULL ? c->event->handle : NULL;
}

void lze_end(lze_Command *c) {
  lze_Queue *q = c->queue;
  for (uint32_t i = 0; i < c->use_count; i++) use_link(&c->uses[i]);
  if (q->tail != NULL)
    q->tail->next = c;
  else
    q->head = c;
  q->tail = c;
  q->in_flight++;
  c->launches = 1;
  q->unmarked = c->event == NULL ? q->unmarked + 1 : 0;
  if (q->probe == NULL && c->event != NULL) q->probe = c;
  c->submitted = !q->batched;
  q->dirty = q->batched;
  c->batch = q->open;
  if (c->batch != NULL) c->batch->pending++;
  lze_State *S = c->state;
  c->serial = S->calling != NULL ? S->calling->serial : ++S->serial;
}

lze_Command *lze_extensible(const lze_Queue *q, const bool *lazy) {
  lze_Command *c = q->tail;
  return c != NULL && c->event == NULL && c->lazy == lazy &&
                 q->unmarked < MARK_EVERY
             ? c
             : NULL;
}

bool lze_command_repeats(const lze_Command *c, uint32_t i,
                         const lze_Storage *storage, size_t first, size_t last,
                         bool write) {
  if (i >= c->use_count) return false;
  const lze_Use *u = &c->uses[i];
  if (u->storage != storage || u->first != first || u->last != last ||
      u->write != write)
    return false;
  for (u = storage->uses; u != NULL; u = u->next)
    if (u->command != c) return false;
  return true;
}

void lze_extend(lze_Command *c) {
  c->launches++;
  c->queue->in_flight++;
  c->queue->unmarked++;
}

void lze_abort(lze_Command *c) {
  c->status = LZE_FAILED;
  c->raised = true;
  command_release(c);
  command_settle(c);
}

void lze_strand(lze_Command *c) {
  lze_Queue *q = c->queue;
  if (!q->native_order || q->batched) {
    /* Once more, and a driver that still refuses is not asked again. */
    if (ZE(zeCommandListAppendBarrier, q->list, lze_command_event(c), 0,
           NULL) == ZE_RESULT_SUCCESS)
      lze_end(c);
    else
      c->state->stranded = true;
    return;
  }
  if (c->event != NULL) lze_event_give(c->context, c->event);
  c->event = NULL;
  c->timed = false;
  lze_end(c);
}

lze_Command *lze_command_done(lua_State *L, const lze_DeviceInfo *device,
                              const char *name) {
  lze_Command *c = command_take(lze_state(L));
  if (c == NULL) luaL_error(L, "not enough memory");
  c->owners = 1;
  c->status = LZE_DONE;
  c->timed = true;
  c->device = device->base;
  c->queued_ns = c->start_ns = c->end_ns = lze_now_ns();
  command_set_name(c, name);
  return c;
}

lze_Command *lze_command_foreign(lua_State *L, lze_Context *context,
                                 const lze_DeviceInfo *device,
                                 ze_event_handle_t event) {
  lze_EventSlot *slot = calloc(1, sizeof *slot);
  if (slot == NULL) luaL_error(L, "not enough memory");
  slot->handle = event;
  lze_Command *c = command_take(context->state);
  if (c == NULL) {
    free(slot);
    luaL_error(L, "not enough memory");
  }
  c->foreign = c->submitted = true;
  c->owners = 1;
  c->timed = false;
  c->event = slot;
  c->context = context;
  c->next = context->foreign;
  context->foreign = c;
  lze_own(&context->o); /* not pinned: closing it leaves nothing there */
  c->device = device->base;
  command_set_name(c, "event");
  return c;
}

bool lze_command_signal(const lze_Command *c, ze_event_handle_t event,
                        lze_Outcome *out) {
  const lze_Queue *q = c->queue;
  ze_event_handle_t own = lze_command_event(c);
  uint32_t waits = q->native_order ? 0 : 1;
  return ZE_TRY(out, zeCommandListAppendBarrier, q->list, event, waits,
                waits != 0 ? &own : NULL);
}

ze_event_handle_t lze_check_signal(lua_State *L, int index,
                                   const lze_Queue *q, const char *what) {
  const lze_Event *e = lze_test_event(L, index);
  if (e == NULL)
    luaL_error(L, "%s: event expected, got %s", what, lze_describe(L, index));
  const lze_Command *c = lze_event_command(e);
  if (c == NULL) luaL_error(L, "%s: the event is closed", what);
  if (!c->foreign)
    luaL_error(L, "%s: an event of lze's own, which only its command signals; "
                  "one of lze.wrap expected", what);
  if (c->context != q->o.context)
    luaL_error(L, "%s: an event of another context", what);
  return c->event->handle;
}

/* --- completion --------------------------------------------------------- */

void lze_failure_drop(lze_Command **slot) {
  lze_Command *c = *slot;
  *slot = NULL;
  if (c != NULL) lze_command_disown(c);
}

/* Keep a failure where the next wait will find it, unless there is one that
   nobody has heard of. */
static void failure_keep(lze_Command **slot, lze_Command *c) {
  if (*slot != NULL && !(*slot)->raised) return;
  lze_failure_drop(slot);
  *slot = c;
  lze_command_own(c);
}

/* Raise the failure of a command that the caller owns, giving up that
   ownership; once is enough for each. */
static void failure_raise(lua_State *L, lze_Command *c) {
  bool raise = c->status == LZE_FAILED && !c->raised;
  const lze_Driver *driver = c->device->driver;
  lze_Outcome failure = c->failure;
  char name[sizeof c->name];
  memcpy(name, c->name, sizeof name);
  int error = c->error_ref;
  c->error_ref = 0;
  c->raised = true;
  lze_command_disown(c);
  if (error != 0) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, error);
    luaL_unref(L, LUA_REGISTRYINDEX, error);
    if (raise) lua_error(L);
    lua_pop(L, 1);
  }
  if (raise)
    lze_fail(L, driver, failure.result, name, failure.call, NULL, NULL);
}

/* Take a command off its queue, with its outcome. */
static void command_retire(lze_Command *c, const lze_Outcome *out) {
  lze_Queue *q = c->queue;
  lze_Command *before = NULL;
  if (q->head == c) {
    q->head = c->next;
  } else { /* only out of order */
    before = q->head;
    while (before->next != c) before = before->next;
    before->next = c->next;
  }
  if (q->tail == c) q->tail = before;
  if (q->probe == c) q->probe = NULL;
  q->in_flight -= c->launches;
  if (c->batch != NULL) c->batch->pending--;
  c->batch = NULL;
  c->next = NULL;
  c->owners++; /* it is looked at to the end of this function */
  const lze_Outcome doom = c->failure;
  lze_Outcome signal;
  if (c->hosted && out->result != ZE_RESULT_SUCCESS &&
      !ZE_TRY(&signal, zeEventHostSignal, c->event->handle)) {
    /* Others wait for it: that they cannot be told is worse. */
    out = &signal;
    command_drop_error(c);
  }
  if (out->result == ZE_RESULT_SUCCESS && doom.call != NULL) out = &doom;
  if (out->result == ZE_RESULT_SUCCESS) {
    if (c->timed && c->owners > 1) lze_command_read_times(c);
    c->status = LZE_DONE;
  } else {
    c->status = LZE_FAILED;
    c->failure = *out;
    failure_keep(&q->failed, c);
    for (uint32_t i = 0; i < c->use_count; i++)
      failure_keep(&c->uses[i].storage->failed, c);
  }
  command_release(c);
  lze_command_disown(c);
}

/* Keep a queue, and its context too, which a default queue does not. */
static void queue_hold(lze_Queue *q) {
  lze_pin(&q->o.context->o);
  lze_pin(&q->o);
}

static void queue_release(lze_Queue *q) {
  lze_Context *context = q->o.context;
  lze_unpin(&q->o);
  lze_unpin(&context->o);
}

bool lze_command_is_over(const lze_Command *c, const lze_Outcome *out) {
  if (out->result == ZE_RESULT_SUCCESS) return true;
  return (out->result == ZE_RESULT_ERROR_DEVICE_LOST ||
          out->result == ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET) &&
         ZE(zeDeviceGetStatus, c->device->handle) != ZE_RESULT_SUCCESS;
}

/* Retire `c`, of which that outcome is final.  What was issued before it on a
   queue that keeps the order is over too; how each of these went is asked all
   the same. */
static void command_retire_to(lze_Command *c, const lze_Outcome *out) {
  lze_Queue *q = c->queue;
  if (!q->ordered) {
    command_retire(c, out);
    return;
  }
  queue_hold(q);
  for (bool last = false; !last;) {
    lze_Command *head = q->head;
    last = head == c;
    lze_Outcome own = *out;
    if (!last && head->event != NULL)
      ZE_TRY(&own, zeEventQueryStatus, head->event->handle);
    else if (!last)
      own.result = ZE_RESULT_SUCCESS;
    command_retire(head, lze_command_is_over(head, &own) ? &own : out);
  }
  queue_release(q);
}

/* --- commands with a part on the host ------------------------------------- */

bool lze_command_follows(const lze_Command *c, const lze_Command *first) {
  if (c == first) return true;
  if (c->status != LZE_PENDING || c->serial < first->serial) return false;
  for (uint32_t i = 0; i < c->wait_count; i++)
    if (lze_command_follows(c->waits[i], first)) return true;
  if (c->queue == NULL || !c->queue->ordered) return false;
  for (const lze_Command *o = c->queue->head; o != NULL && o != c;
       o = o->next) {
    if (o == first) return true;
    for (uint32_t i = 0; i < o->wait_count; i++)
      if (lze_command_follows(o->waits[i], first)) return true;
  }
  return false;
}

void lze_command_suspend(lze_Command *c) {
  for (uint32_t i = 0; i < c->use_count; i++) use_unlink(&c->uses[i]);
}

bool lze_command_resume(lze_Command *c, lze_Outcome *out) {
  for (uint32_t i = 0; i < c->wait_count; i++) command_unpin(c->waits[i]);
  c->wait_count = 0;
  bool good = true;
  for (uint32_t i = 0; i < c->use_count && good; i++) {
    const lze_Use *mine = &c->uses[i];
    for (lze_Use *u = mine->storage->uses; u != NULL && good; u = u->next) {
      /* What was issued after the run comes after it. */
      if (use_conflicts(u, mine->first, mine->last, mine->write) &&
          u->command->serial <= c->serial &&
          !lze_command_follows(u->command, c))
        good = command_wait_for(c, u->command, out);
    }
  }
  for (uint32_t i = 0; i < c->use_count; i++) use_link(&c->uses[i]);
  return good;
}

void lze_command_doom(lze_Command *c, const lze_Outcome *out) {
  c->failure = *out;
}

void lze_command_fail(lze_Command *c, const lze_Outcome *out, int error_ref) {
  c->error_ref = error_ref;
  command_retire_to(c, out);
}

/* As lze_command_poll, with what the driver says of a command that is not
   over. */
static bool command_ask(lze_Command *c, lze_Outcome *out) {
  *out = (lze_Outcome){NULL, ZE_RESULT_NOT_READY};
  if (c->status != LZE_PENDING) return true;
  if (!c->submitted) return false;
  if (c->foreign) {
    ZE_TRY(out, zeEventQueryStatus, c->event->handle);
    return lze_command_is_over(c, out);
  }
  lze_Command *marked = command_marked(c, out);
  if (marked != NULL)
    ZE_TRY(out, zeEventQueryStatus, marked->event->handle);
  if (!lze_command_is_over(c, out)) return false;
  command_retire_to(marked != NULL ? marked : c, out);
  return true;
}

bool lze_command_poll(lze_Command *c) {
  lze_Outcome out;
  return command_ask(c, &out);
}

/* Raise that the driver does not tell whether a command is over. */
_Noreturn static void command_untold(lua_State *L, const lze_Command *c,
                                     const lze_Outcome *out) {
  lze_fail(L, c->device->driver, out->result, c->name, out->call, NULL, NULL);
}

bool lze_command_check(lua_State *L, lze_Command *c) {
  lze_Outcome out;
  if (command_ask(c, &out)) return true;
  if (out.result != ZE_RESULT_NOT_READY) command_untold(L, c, &out);
  return false;
}

/* In a protected call: raise that a command cannot be waited for. */
static int await_raise(lua_State *L) {
  command_untold(L, lua_touserdata(L, 1), lua_touserdata(L, 2));
}

/* Wait; raises nothing.  -1 when something raised an error, which is then on
   the stack, else whether it is done. */
static int command_await(lua_State *L, lze_Command *c, uint64_t deadline) {
  while (c->status == LZE_PENDING) {
    if (!c->submitted) {
      lze_queue_flush(c->queue);
      continue; /* that may have failed */
    }
    uint64_t now = lze_now_ns();
    uint64_t slice = now >= deadline ? 0 : deadline - now;
    if (slice > LZE_SLICE_NS) slice = LZE_SLICE_NS;
    if (c->state->runs != NULL) {
      int wait = lze_runs_wait(L, c, slice);
      if (wait == -1) return -1;
      if (wait == 1) continue;
      if (slice > RUNS_SLICE_NS) slice = RUNS_SLICE_NS;
    }
    lze_Outcome out;
    lze_Command *marked = command_marked(c, &out);
    if (marked != NULL)
      ZE_TRY(&out, zeEventHostSynchronize, marked->event->handle, slice);
    if (c->foreign && out.result == ZE_RESULT_SUCCESS) {
      return 1; /* until the host resets it */
    } else if (!c->foreign && lze_command_is_over(c, &out)) {
      command_retire_to(marked != NULL ? marked : c, &out);
    } else if (out.result != ZE_RESULT_NOT_READY) {
      lua_pushcfunction(L, await_raise);
      lua_pushlightuserdata(L, c);
      lua_pushlightuserdata(L, &out);
      lua_pcall(L, 2, 0, 0);
      return -1;
    } else if (slice == 0) {
      return 0;
    } else if (lze_run_hook(L) != LUA_OK) {
      return -1;
    }
  }
  return 1;
}

bool lze_command_wait(lua_State *L, lze_Command *c, uint64_t deadline) {
  lze_command_own(c); /* a hook may drop every other owner */
  int done = command_await(L, c, deadline);
  if (done == 1) {
    failure_raise(L, c);
    return true;
  }
  lze_command_disown(c);
  if (done == -1) lua_error(L);
  return false;
}

/* A pending command that conflicts, or NULL. */
static lze_Command *storage_conflict(lze_Storage *s, size_t first,
                                     size_t last, bool write) {
  for (lze_Use *u = s->uses; u != NULL; u = u->next)
    if (use_conflicts(u, first, last, write) &&
        !lze_command_is_later(u->command))
      return u->command;
  return NULL;
}

void lze_storage_wait(lua_State *L, lze_Storage *s, size_t first,
                      size_t last, bool write) {
  lze_Command *c, *failed = NULL;
  int done = 1;
  lze_own(&s->o); /* a hook may close the buffer */
  while (done == 1 &&
         (c = storage_conflict(s, first, last, write)) != NULL) {
    lze_command_own(c);
    done = command_await(L, c, UINT64_MAX);
    lze_command_disown(c);
  }
  if (done == 1) {
    failed = s->failed;
    s->failed = NULL;
  }
  lze_disown(&s->o);
  if (done == -1) lua_error(L);
  if (failed != NULL) failure_raise(L, failed);
}

bool lze_storage_pending(lua_State *L, lze_Storage *s, size_t first,
                         size_t last, bool write) {
  lze_Command *c;
  while ((c = storage_conflict(s, first, last, write)) != NULL) {
    if (!c->submitted) lze_queue_flush(c->queue); /* or it would stay so */
    if (!(L != NULL ? lze_command_check(L, c) : lze_command_poll(c)))
      return true;
  }
  return false;
}

bool lze_queue_delays(lze_Queue *q, const lze_Copy *copy) {
  /* What has to wait for the newest waits for all of them anyway. */
  while (q->tail != NULL &&
         storage_conflict(copy->to, copy->to_offset,
                          copy->to_offset + copy->bytes, true) != q->tail &&
         storage_conflict(copy->from, copy->from_offset,
                          copy->from_offset + copy->bytes, false) != q->tail)
    if (!lze_command_poll(q->tail)) return true;
  return false;
}

bool lze_queue_ready(lua_State *L, lze_Queue *q) {
  if (q->in_flight < MAX_IN_FLIGHT) return true;
  lze_Command *c = q->head;
  queue_hold(q);
  lze_command_own(c);
  int done = command_await(L, c, UINT64_MAX);
  lze_command_disown(c);
  queue_release(q); /* from here on it may be gone */
  if (done == -1) lua_error(L);
  return false;
}

void lze_queue_submitted(lze_Queue *q, const lze_Outcome *out) {
  queue_hold(q);
  for (lze_Command *c = q->head, *next; c != NULL; c = next) {
    next = c->next;
    if (c->submitted) continue;
    c->submitted = true;
    if (out->result != ZE_RESULT_SUCCESS) command_retire(c, out);
  }
  queue_release(q);
}

/* The newest command that waiting for waits for all; without order, any. */
static lze_Command *queue_last(const lze_Queue *q) {
  return q->ordered ? q->tail : q->head;
}

bool lze_queue_drain(lua_State *L, lze_Queue *q, uint64_t deadline) {
  int done = 1;
  lze_Command *failed = NULL;
  queue_hold(q);
  /* As many as there are now: a hook could enqueue for ever. */
  for (uint32_t n = q->in_flight; n > 0 && q->head != NULL && done == 1; n--) {
    lze_Command *last = queue_last(q);
    lze_command_own(last);
    done = command_await(L, last, deadline);
    lze_command_disown(last);
    if (q->ordered) break;
  }
  if (done == 1) {
    failed = q->failed;
    q->failed = NULL;
  }
  queue_release(q);
  if (done == -1) lua_error(L);
  if (failed != NULL) failure_raise(L, failed);
  return done == 1;
}

/* --- contexts and the state --------------------------------------------- */

/* The host may destroy its events when their context is closed, so no thread
   is to wait for them any more.  All are told before one is waited for. */
static void context_stop_watches(const lze_Context *context) {
  for (lze_Command *c = context->foreign; c != NULL; c = c->next)
    lze_watch_stop(c->watch);
  for (lze_Command *c = context->foreign; c != NULL; c = c->next)
    lze_watch_join(c->watch);
}

void lze_context_close(lze_Context *context) {
  if (context->o.closed) return;
  lze_pin(&context->o);
  context_stop_watches(context);
  for (lze_Queue *q = context->queues, *next; q != NULL; q = next) {
    next = q->next;
    lze_queue_flush(q); /* what was issued runs */
  }
  for (lze_Object *o = context->objects; o != NULL; o = o->next)
    o->closed = true;
  context->state->closes++;
  for (lze_Object *o = context->objects; o != NULL;) {
    if (o->pins == 0 && !o->destroyed) {
      object_settle(o);
      o = context->objects; /* it may have taken others along */
    } else {
      o = o->next;
    }
  }
  lze_unpin(&context->o);
  lze_close(&context->o);
}

/* Below this much device memory nothing is forced; past the limit there is
   one full collection, and what survives it, times the growth, is the next
   limit. */
#define SOFT_LIMIT ((size_t)256 << 20)
#define GROWTH 1.4
/* The collector takes a step for so many bytes allocated, or for this part of
   the soft limit, or of what is in use, if that is more: a step costs up to
   0.3 ms beside many Lua objects, and less garbage would not be noticed. */
#define STEP_BYTES ((size_t)64 << 10)
#define STEP_SOFT_PART 256
#define STEP_USED_PART 32

void lze_gc_init(lze_State *S) {
  S->closes = 1; /* plans begin with 0: nothing was seen to be open */
  S->limit = S->soft_limit = SOFT_LIMIT;
  S->growth = GROWTH;
  S->close_ns = CLOSE_NS;
}

/* Whether the collector may be called: not where a script has stopped it, nor
   in a finaliser, where lua_gc answers -1. */
static bool collector_runs(lua_State *L) {
  return lua_gc(L, LUA_GCISRUNNING) == 1;
}

/* Finalisers may run here. */
static void collect(lua_State *L, lze_State *S, int what) {
  lze_Pause pause = lze_guard_pause(L);
  lua_gc(L, what, 0);
  lze_guard_resume(L, pause);
  if (what != LUA_GCCOLLECT) return;
  S->collections++;
  lze_reap(S);
}

void lze_pressure(lua_State *L, size_t bytes) {
  lze_State *S = lze_state(L);
  lze_reap(S);
  if (!collector_runs(L)) return;
  S->debt += bytes;
  if (S->bytes + bytes > S->limit) {
    collect(L, S, LUA_GCCOLLECT);
    double next = (double)(S->bytes + bytes) * S->growth;
    if (next < (double)S->soft_limit)
      S->limit = S->soft_limit;
    else
      S->limit = next < (double)PTRDIFF_MAX ? (size_t)next : PTRDIFF_MAX;
  } else if (S->debt >= STEP_BYTES &&
             S->debt >= S->soft_limit / STEP_SOFT_PART &&
             S->debt >= S->bytes / STEP_USED_PART) {
    collect(L, S, LUA_GCSTEP);
  } else {
    return;
  }
  S->debt = 0;
}

void lze_make_room(lua_State *L) {
  lze_State *S = lze_state(L);
  lze_reap(S);
  if (collector_runs(L)) collect(L, S, LUA_GCCOLLECT);
}

/* Wait for what a queue has in flight; false if that is not over in time, or
   nothing can tell any more. */
static bool queue_finish(lze_Queue *q, uint64_t deadline) {
  lze_queue_flush(q);
  while (q->head != NULL) {
    uint64_t now = lze_now_ns();
    lze_Outcome out;
    lze_Command *last = queue_last(q);
    lze_Command *marked = command_marked(last, &out);
    if (marked != NULL)
      ZE_TRY(&out, zeEventHostSynchronize, marked->event->handle,
             now < deadline ? deadline - now : 0);
    if (!lze_command_is_over(last, &out)) return false;
    command_retire_to(marked != NULL ? marked : last, &out);
  }
  return true;
}

/* Call f for each queue of the state; f may destroy it. Returns whether all
   calls returned true. */
static bool state_each_queue(lze_State *S,
                             bool (*f)(lze_Queue *q, uint64_t number),
                             uint64_t number) {
  bool all = true;
  for (lze_Context *c = S->contexts, *next; c != NULL; c = next) {
    next = c->next;
    lze_pin(&c->o);
    for (lze_Queue *q = c->queues, *after; q != NULL; q = after) {
      after = q->next;
      lze_pin(&q->o);
      all = f(q, number) && all;
      lze_unpin(&q->o);
    }
    lze_unpin(&c->o);
  }
  return all;
}

static bool queue_reap(lze_Queue *q, uint64_t unused) {
  (void)unused;
  while (q->head != NULL && lze_command_poll(q->head)) continue;
  return true;
}

void lze_reap(lze_State *S) { state_each_queue(S, queue_reap, 0); }

static bool queue_stop_watches(lze_Queue *q, uint64_t unused) {
  (void)unused;
  for (lze_Command *c = q->head; c != NULL; c = c->next)
    lze_watch_stop(c->watch);
  return true;
}

static bool queue_join_watches(lze_Queue *q, uint64_t unused) {
  (void)unused;
  for (lze_Command *c = q->head; c != NULL; c = c->next)
    lze_watch_join(c->watch);
  return true;
}

void lze_state_close(lua_State *L, lze_State *S) {
  lze_runs_abandon(S, lze_now_ns() + S->close_ns);
  bool hung = !state_each_queue(S, queue_finish, lze_now_ns() + S->close_ns);
  if (hung) { /* all are told before one is waited for */
    state_each_queue(S, queue_stop_watches, 0);
    state_each_queue(S, queue_join_watches, 0);
  }
  lze_set_default_queue(S, NULL);
  if (S->context != NULL) lze_disown(&S->context->o);
  S->context = NULL;
  for (lze_Context *c = S->contexts, *next; c != NULL; c = next) {
    next = c->next;
    if (!c->is_default || c->o.closed) continue;
    lze_context_close(c);
    lze_disown(&c->o);
  }
  lze_plans_forget(S);
  free(S->groups);
  S->groups = NULL;
  S->closed = true;
  while (S->free_commands != NULL) {
    lze_Command *c = S->free_commands;
    S->free_commands = c->next;
    command_free(c);
  }
  if (hung || S->stranded)
    lua_warning(L, "lze: the device is still busy; what it uses is leaked "
                   "rather than freed under it", 0);
}
