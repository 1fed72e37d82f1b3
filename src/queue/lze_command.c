/*
 * lze_command.c - commands: from their start to their end on the device.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_command.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "base/lze_vector.h"
#include "device/lze_loader.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"
#include "queue/lze_storage.h"

#include <stdlib.h>
#include <string.h>

void lze_command_free(lze_Command *c) {
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

/* Returns the command to the free list if nothing refers to it. */
static void command_settle(lze_Command *c) {
  if (c->owners != 0 || c->pins != 0 || c->queue != NULL) return;
  lze_watch_free(c->watch);
  c->watch = NULL;
  command_drop_error(c);
  free(c->work_failure);
  c->work_failure = NULL;
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
    lze_command_free(c);
    return;
  }
  c->next = S->free_commands;
  S->free_commands = c;
}

/* A command's events can be reused when it is over and no command on the device
   waits for them any more. */
static void command_give_events(lze_Command *c) {
  if (c->context == NULL || c->status == LZE_PENDING || c->pins != 0) return;
  if (c->exposed && c->owners != 0) return;
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
  if (c->exposed) command_give_events(c);
  command_settle(c);
}

void lze_command_unpin(lze_Command *c) {
  c->pins--;
  command_give_events(c);
  command_settle(c);
}

/* Releases everything that the command uses. */
static void command_release(lze_Command *c) {
  for (uint32_t i = 0; i < c->use_count; i++) {
    lze_use_unlink(&c->uses[i]);
    lze_unpin(&c->uses[i].storage->o);
  }
  for (uint32_t i = 0; i < c->object_count; i++) lze_unpin(c->objects[i]);
  for (uint32_t i = 0; i < c->wait_count; i++) lze_command_unpin(c->waits[i]);
  c->use_count = c->object_count = c->wait_count = 0;
  lze_Queue *q = c->queue;
  c->queue = NULL;
  lze_unpin(&q->o);
  command_give_events(c); /* last, because it releases the context */
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
  c->raised = c->submitted = c->exposed = c->hosted = c->work = false;
  c->start_ns = c->end_ns = c->kernel_ns = c->queued_ns = c->record = 0;
  return c;
}

static void command_set_name(lze_Command *c, const char *name) {
  if (memccpy(c->name, name, '\0', sizeof c->name) == NULL)
    c->name[sizeof c->name - 1] = '\0';
}

/* The device is queried for finished commands once per this many new
   commands. */
#define PROBE_EVERY 8

/* One in this many commands gets an event that it does not need, so that pins
   are released while a script only enqueues. */
#define MARK_EVERY 64

static void begin_reap(lze_Queue *q) {
  lze_State *S = q->o.context->state;
  if (S->works != NULL && S->advance_in-- == 0) {
    S->advance_in = PROBE_EVERY;
    S->steps->advance(S, NULL, 0);
  }
  if (q->probe == NULL || ++q->since_probe < PROBE_EVERY) return;
  q->since_probe = 0;
  lze_command_poll(q->probe);
}

/* Attaches the command to this queue. */
static void command_attach(lze_Command *c, lze_Queue *q, const char *name) {
  c->context = q->o.context;
  lze_pin(&c->context->o);
  c->queue = q;
  lze_pin(&q->o);
  c->device = q->device->base; /* the command may outlive a context of the
                                  embedding program */
  lze_State *S = c->state;
  c->serial = S->calling != NULL ? S->calling->serial : ++S->serial;
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
  if (c == NULL) lze_no_memory(L);
  if (S->recorder != NULL) {
    timed = true;
    lazy = NULL;
  }
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
  if (S->recorder != NULL) lze_record_begin(L, c, name);
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

/* Gives a command an event if it lacks one, with a barrier after it.  The
   command is the newest of its queue, so the barrier waits for nothing else. */
bool lze_command_mark(lze_Command *c, lze_Outcome *out) {
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

/* Returns the command whose event reports that `c` is over: `c` itself, or the
   first after it with an event; the newest gets one if necessary.  Returns
   NULL, with the driver's outcome, if that fails. */
lze_Command *lze_command_marked(lze_Command *c, lze_Outcome *out) {
  while (c->event == NULL && c->next != NULL) c = c->next;
  return lze_command_mark(c, out) ? c : NULL;
}

lze_Command *lze_reserve(lze_State *S, uint32_t uses, uint32_t pins) {
  lze_Command *c = command_take(S);
  bool good = c != NULL;
  good = good && lze_vector_reserve(&c->uses, c->inline_uses, 0, uses,
                                    &c->use_capacity, sizeof *c->uses);
  good = good && lze_vector_reserve(&c->objects, c->inline_pins, 0, pins,
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
  lze_no_memory(L);
}

void lze_command_use(lua_State *L, lze_Command *c, lze_Storage *storage,
                     size_t first, size_t last, bool write) {
  /* Nothing is linked before lze_end, so the array may still move. */
  if (c->use_count == c->use_capacity &&
      !lze_vector_reserve(&c->uses, c->inline_uses, c->use_count,
                          c->use_count + 1, &c->use_capacity,
                          sizeof *c->uses))
    command_no_memory(L, c);
  lze_Use *u = &c->uses[c->use_count++]; /* lze_use_link() sets the rest */
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
      !lze_vector_reserve(&c->objects, c->inline_pins, c->object_count,
                          c->object_count + 1, &c->object_capacity,
                          sizeof *c->objects))
    command_no_memory(L, c);
  c->objects[c->object_count++] = object;
  lze_pin(object);
}

/* Aborts a command because it, or a command that it waits for, lacks a
   resource. */
void lze_command_refuse(lua_State *L, lze_Command *c,
                        const lze_Outcome *out) {
  const lze_Driver *driver = c->device->driver;
  lze_abort(c);
  lze_fail(L, driver, out->result, NULL, out->call, NULL, NULL);
}

bool lze_command_wait_for(lze_Command *c, lze_Command *other,
                          lze_Outcome *out) {
  if (other->status != LZE_PENDING) return true;
  if (other->queue == c->queue && c->queue->native_order) return true;
  if (!other->submitted && other->queue != c->queue)
    lze_queue_flush(other->queue);
  if (other->status != LZE_PENDING) return true; /* it has failed */
  other = lze_command_marked(other, out);
  if (other == NULL) return false;
  for (uint32_t i = 0; i < c->wait_count; i++)
    if (c->waits[i] == other) return true;
  if (c->wait_count == c->wait_capacity) {
    uint32_t waits = c->wait_capacity, handles = waits;
    *out = LZE_NO_MEMORY;
    if (!LZE_VECTOR_GROW(c->waits, c->wait_count, waits) ||
        !LZE_VECTOR_GROW(c->wait_handles, c->wait_count, handles))
      return false;
    c->wait_capacity = handles;
  }
  c->waits[c->wait_count] = other;
  c->wait_handles[c->wait_count++] = other->event->handle;
  other->pins++;
  return true;
}

void lze_command_after(lua_State *L, lze_Command *c, lze_Command *other) {
  lze_Outcome out;
  if (!lze_command_wait_for(c, other, &out)) lze_command_refuse(L, c, &out);
}

void lze_command_time_first(lua_State *L, lze_Command *c) {
  lze_Outcome out;
  c->first = lze_event_take(c->context, true, &out);
  if (c->first == NULL) lze_command_refuse(L, c, &out);
}

ze_event_handle_t lze_command_event(const lze_Command *c) {
  return c->event != NULL ? c->event->handle : NULL;
}

void lze_end(lze_Command *c) {
  lze_Queue *q = c->queue;
  for (uint32_t i = 0; i < c->use_count; i++) lze_use_link(&c->uses[i]);
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
  if (c->record != 0) lze_record_end(c);
  lze_show(c->state);
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
  lze_record_abort(c);
  c->status = LZE_FAILED;
  c->raised = true;
  command_release(c);
  command_settle(c);
}

void lze_abandon(lze_Command *c) {
  lze_Queue *q = c->queue;
  if (!q->native_order || q->batched) {
    /* Try once more; if the driver still refuses, give up. */
    if (ZE(zeCommandListAppendBarrier, q->list, lze_command_event(c), 0,
           NULL) == ZE_RESULT_SUCCESS)
      lze_end(c);
    else
      c->state->abandoned = true;
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
  if (c == NULL) lze_no_memory(L);
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
  if (slot == NULL) lze_no_memory(L);
  slot->handle = event;
  lze_Command *c = command_take(context->state);
  if (c == NULL) {
    free(slot);
    lze_no_memory(L);
  }
  c->foreign = c->submitted = true;
  c->owners = 1;
  c->timed = false;
  c->event = slot;
  c->context = context;
  c->next = context->foreign;
  context->foreign = c;
  lze_own(&context->o); /* not pinned: closing the context is safe */
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

void lze_failure_drop(lze_Command **slot) {
  lze_Command *c = *slot;
  *slot = NULL;
  if (c != NULL) lze_command_disown(c);
}

/* Stores a failure for the next wait, unless an unreported one is stored. */
static void failure_keep(lze_Command **slot, lze_Command *c) {
  if (*slot != NULL && !(*slot)->raised) return;
  lze_failure_drop(slot);
  *slot = c;
  lze_command_own(c);
}

/* Removes a command from its queue, with its outcome. */
static void command_retire(lze_Command *c, const lze_Outcome *out) {
  lze_Queue *q = c->queue;
  lze_Command *before = NULL;
  if (q->head == c) {
    q->head = c->next;
  } else { /* only on an unordered queue */
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
  c->owners++; /* it is used until the end of this function */
  const lze_Outcome doom = c->failure;
  lze_Outcome signal;
  if (c->hosted && out->result != ZE_RESULT_SUCCESS &&
      !ZE_TRY(&signal, zeEventHostSignal, c->event->handle)) {
    /* Other commands wait for that event: a failure to signal it matters
       more. */
    out = &signal;
    command_drop_error(c);
  }
  if (out->result == ZE_RESULT_SUCCESS && doom.call != NULL) out = &doom;
  if (out->result == ZE_RESULT_SUCCESS) {
    if (c->timed && (c->owners > 1 || c->record != 0))
      lze_command_read_times(c);
    c->status = LZE_DONE;
  } else {
    c->status = LZE_FAILED;
    c->failure = *out;
    failure_keep(&q->failed, c);
    for (uint32_t i = 0; i < c->use_count; i++)
      failure_keep(&c->uses[i].storage->failed, c);
  }
  if (c->record != 0) lze_record_over(c);
  command_release(c);
  lze_command_disown(c);
}

void lze_queue_hold(lze_Queue *q) {
  lze_pin(&q->o.context->o);
  lze_pin(&q->o);
}

void lze_queue_release(lze_Queue *q) {
  lze_Context *context = q->o.context;
  lze_unpin(&q->o);
  lze_unpin(&context->o);
}

bool lze_is_over(const lze_DeviceInfo *device, const lze_Outcome *out) {
  if (out->result == ZE_RESULT_SUCCESS) return true;
  return (out->result == ZE_RESULT_ERROR_DEVICE_LOST ||
          out->result == ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET) &&
         ZE(zeDeviceGetStatus, device->handle) != ZE_RESULT_SUCCESS;
}

bool lze_command_is_over(const lze_Command *c, const lze_Outcome *out) {
  return lze_is_over(c->device, out);
}

/* Retires `c` with its final outcome.  Commands issued before it on an ordered
   queue are over too; the outcome of each is queried anyway. */
void lze_command_retire_to(lze_Command *c, const lze_Outcome *out) {
  lze_Queue *q = c->queue;
  if (!q->ordered) {
    command_retire(c, out);
    return;
  }
  lze_queue_hold(q);
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
  lze_queue_release(q);
}

void lze_command_doom(lze_Command *c, const lze_Outcome *out) {
  c->failure = *out;
}

void lze_command_fail(lze_Command *c, const lze_Outcome *out, int error_ref) {
  c->error_ref = error_ref;
  lze_command_retire_to(c, out);
}

/* Like lze_command_poll, but also returns the driver's outcome for a command
   that is not over. */
static bool command_ask(lze_Command *c, lze_Outcome *out) {
  *out = (lze_Outcome){NULL, ZE_RESULT_NOT_READY};
  if (c->status != LZE_PENDING) return true;
  if (!c->submitted) return false;
  if (c->foreign) {
    ZE_TRY(out, zeEventQueryStatus, c->event->handle);
    return lze_command_is_over(c, out);
  }
  lze_Command *marked = lze_command_marked(c, out);
  if (marked != NULL)
    ZE_TRY(out, zeEventQueryStatus, marked->event->handle);
  if (!lze_command_is_over(c, out)) return false;
  lze_command_retire_to(marked != NULL ? marked : c, out);
  return true;
}

bool lze_command_poll(lze_Command *c) {
  lze_Outcome out;
  return command_ask(c, &out);
}

_Noreturn void lze_command_unreported(lua_State *L, const lze_Command *c,
                                  const lze_Outcome *out) {
  lze_fail(L, c->device->driver, out->result, c->name, out->call, NULL, NULL);
}

bool lze_command_check(lua_State *L, lze_Command *c) {
  lze_Outcome out;
  if (command_ask(c, &out)) return true;
  if (out.result != ZE_RESULT_NOT_READY) lze_command_unreported(L, c, &out);
  return false;
}

void lze_queue_submitted(lze_Queue *q, uint64_t ns, const lze_Outcome *out) {
  lze_queue_hold(q);
  for (lze_Command *c = q->head, *next; c != NULL; c = next) {
    next = c->next;
    if (c->submitted) continue;
    c->submitted = true;
    if (c->record != 0) lze_record_submitted(c, ns);
    if (out->result != ZE_RESULT_SUCCESS) command_retire(c, out);
  }
  lze_queue_release(q);
}
