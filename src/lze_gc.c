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

/* How long a closing state waits for its device, all queues together, when
   lze.gc was not told. Long enough for the work of an ordinary script, short
   enough for a person who waits for a program to end. */
#define CLOSE_NS 10000000000u

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
      lze_object_settle(o);
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
  if (S->runs != NULL)
    S->hosted->abandon(S, lze_now_ns() + S->close_ns);
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
    lze_command_free(c);
  }
  if (hung || S->stranded)
    lua_warning(L, "lze: the device is still busy; what it uses is leaked "
                   "rather than freed under it", 0);
}
