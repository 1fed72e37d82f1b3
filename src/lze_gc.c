/*
 * lze_gc.c - lifetime: ownership, and when objects may be freed.
 * SPDX-License-Identifier: MIT
 *
 * Level Zero has no reference counts and may reuse freed memory at once, so
 * every object that a command on the device uses is pinned by that command
 * until the device has reported that it is done.
 */
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_show.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_top.h"
#include "launch/lze_host_work.h"
#include "memory/lze_buffer.h"
#include "memory/lze_snapshot.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <math.h>
#include <stdlib.h>

/* The time that a closing state waits for its device, all queues together,
   unless lze.gc sets another.  Long enough for the work of an ordinary script,
   short enough for a person waiting for a program to end. */
#define CLOSE_NS 10000000000u

/* The embedding program may destroy its events when their context is closed, so
   no thread may wait for them any more.  All are marked before the first is
   joined. */
static void context_stop_watches(const lze_Context *context) {
  for (lze_Command *c = context->foreign; c != NULL; c = c->next)
    lze_watch_stop(c->watch);
  for (lze_Command *c = context->foreign; c != NULL; c = c->next)
    lze_watch_join(c->watch);
}

void lze_context_drop(lze_Context *context) {
  lze_queues_drop(context);
  lze_events_destroy(context);
}

void lze_context_close(lze_Context *context) {
  if (context->o.closed) return;
  lze_pin(&context->o);
  context_stop_watches(context);
  for (lze_Queue *q = context->queues, *next; q != NULL; q = next) {
    next = q->next;
    lze_queue_flush(q); /* commands already issued will run */
  }
  for (lze_Object *o = context->objects; o != NULL; o = o->next)
    o->closed = true;
  context->state->closes++;
  for (lze_Object *o = context->objects; o != NULL;) {
    if (o->pins == 0 && !o->destroyed) {
      lze_object_settle(o);
      o = context->objects; /* others may be gone with it */
    } else {
      o = o->next;
    }
  }
  lze_unpin(&context->o);
  lze_close(&context->o);
}

/* Below this much device memory nothing is forced; past the limit there is one
   full collection, and the surviving memory, times the growth, is the next
   limit. */
#define SOFT_LIMIT ((size_t)256 << 20)

#define GROWTH 1.4

void lze_gc_init(lze_State *S) {
  S->closes = 1; /* plans begin with 0: their objects were not yet checked to be
                    open */
  S->limit = S->soft_limit = SOFT_LIMIT;
  S->growth = GROWTH;
  S->close_ns = CLOSE_NS;
}

/* Wait for the commands of a queue in flight; false if they are not over in
   time, or the driver cannot report it any more. */
static bool queue_finish(lze_Queue *q, uint64_t deadline) {
  lze_queue_flush(q);
  while (q->head != NULL) {
    uint64_t now = lze_now_ns();
    lze_Outcome out;
    lze_Command *last = lze_queue_last(q);
    lze_Command *marked = lze_command_marked(last, &out);
    if (marked != NULL)
      ZE_TRY(&out, zeEventHostSynchronize, marked->event->handle,
             now < deadline ? deadline - now : 0);
    if (!lze_command_is_over(last, &out)) return false;
    lze_command_retire_to(marked != NULL ? marked : last, &out);
  }
  return true;
}

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
  lze_host_work_abandon(S, lze_now_ns() + S->close_ns);
  if (S->runs != NULL)
    S->hosted->abandon(S, lze_now_ns() + S->close_ns);
  bool hung = !lze_each_queue(S, queue_finish, lze_now_ns() + S->close_ns);
  if (hung) { /* all are marked before the first is joined */
    lze_each_queue(S, queue_stop_watches, 0);
    lze_each_queue(S, queue_join_watches, 0);
  }
  lze_snapshot_forget(S);
  lze_profile_end(S);
  lze_top_close(S);
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
    lze_command_free(c);
  }
  if (!hung && !S->abandoned) return;
  for (lze_Context *c = S->contexts; c != NULL; c = c->next) lze_leave(c);
  lua_warning(L, "lze: the device is still busy; what it uses is leaked "
                 "rather than freed under it", 0);
}

/* Milliseconds of collecting are cheap compared with running out of memory;
   these options set when to collect.
   lze.gc([{soft_limit_bytes = n, growth = f, close_seconds = s}]) -> table in
   force
   soft_limit_bytes: device memory below which it never forces a collection;
   growth: the ratio of the next limit to the memory that survived;
   close_seconds: the time that the end of the state waits for the device. */
static int core_gc(lua_State *L) {
  static const char *const keys[] = {"soft_limit_bytes", "growth",
                                     "close_seconds", NULL};
  lua_settop(L, 1);
  lze_State *S = lze_state(L);
  if (!lua_isnil(L, 1)) {
    lze_argexpected(L, lua_istable(L, 1), 1, "table");
    lze_check_keys(L, 1, "lze.gc's options", keys);
    lua_Integer soft = lze_opt_integer(
        L, 1, "soft_limit_bytes", 0, LUA_MAXINTEGER,
        "an integer that is not negative", (lua_Integer)S->soft_limit);
    double growth = lze_opt_number(L, 1, "growth", 1, HUGE_VAL,
                                   "a number of at least 1", S->growth);
    /* Cap the wait at one day. */
    double seconds = lze_opt_number(L, 1, "close_seconds", 0, 86400,
                                    "a number from 0 to 86400",
                                    (double)S->close_ns / 1e9);
    S->soft_limit = S->limit = (size_t)soft;
    S->growth = growth;
    S->close_ns = (uint64_t)(seconds * 1e9);
  }
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)S->soft_limit);
  lua_setfield(L, -2, "soft_limit_bytes");
  lua_pushnumber(L, S->growth);
  lua_setfield(L, -2, "growth");
  lua_pushnumber(L, (double)S->close_ns / 1e9);
  lua_setfield(L, -2, "close_seconds");
  return 1;
}

/* lze.stats() -> {objects = {kind = n}, bytes, shared_bytes, device_bytes,
   host_bytes, peak_bytes, pinned, pinned_bytes, pending, in_flight, launches,
   collections}: native objects by kind; USM in use, in total and by usage, and
   how much of it work in flight uses; the number of objects that are closed or
   dropped but still needed (pending); commands in flight; launches and
   collections forced by device memory, so far. */
static int core_stats(lua_State *L) {
  lze_State *S = lze_state(L);
  lze_reap(S);
  lua_Integer pending = 0, contexts = 0;
  lua_createtable(L, 0, 12);
  lua_newtable(L);
  for (lze_Context *c = S->contexts; c != NULL; c = c->next) {
    contexts++;
    for (lze_Object *o = c->objects; o != NULL; o = o->next) {
      lua_getfield(L, -1, o->cls->name);
      lua_pushinteger(L, lua_tointeger(L, -1) + 1);
      lua_setfield(L, -3, o->cls->name);
      lua_pop(L, 1);
      pending += o->pins != 0 && (o->closed || o->owners == 0);
    }
  }
  lua_pushinteger(L, contexts);
  lua_setfield(L, -2, "context");
  lua_setfield(L, -2, "objects");
  const lze_StorageCount storages = lze_count_storages(S);
  const struct {
    const char *key;
    lua_Integer value;
  } numbers[] = {{"bytes", (lua_Integer)S->bytes},
                 {"shared_bytes", (lua_Integer)storages.bytes[LZE_SHARED]},
                 {"device_bytes", (lua_Integer)storages.bytes[LZE_DEVICE]},
                 {"host_bytes", (lua_Integer)storages.bytes[LZE_HOST]},
                 {"peak_bytes", (lua_Integer)S->peak},
                 {"pinned", (lua_Integer)storages.pinned},
                 {"pinned_bytes", (lua_Integer)storages.pinned_bytes},
                 {"pending", pending},
                 {"in_flight", (lua_Integer)lze_count_in_flight(S)},
                 {"launches", (lua_Integer)S->launches},
                 {"collections", (lua_Integer)S->collections}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    lua_pushinteger(L, numbers[i].value);
    lua_setfield(L, -2, numbers[i].key);
  }
  lze_show_table(L);
  return 1;
}

static const lze_Method functions[] = {
    {"gc", core_gc, LZE_UNGUARDED},
    {"stats", core_stats, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_gc(lua_State *L) { lze_set_methods(L, functions, 0); }
