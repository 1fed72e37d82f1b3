/*
 * lze_pressure.c - how device memory drives Lua's collector.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"
#include "lua_versions.h"

bool lze_each_queue(lze_State *S, bool (*f)(lze_Queue *q, uint64_t number),
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

void lze_reap(lze_State *S) { lze_each_queue(S, queue_reap, 0); }

/* The collector takes a step for this number of bytes allocated or, if that is
   more, for this part of the soft limit or of the memory in use: a step costs
   up to 0.3 ms if there are many Lua objects, and less garbage would not be
   noticed. */
#define STEP_BYTES ((size_t)64 << 10)

#define STEP_SOFT_PART 256

#define STEP_USED_PART 32

/* Finalizers may run here. */
static void collect_all(lua_State *L, lze_State *S) {
  uint64_t start = S->recorder != NULL ? lze_now_ns() : 0;
  size_t before = S->bytes;
  lze_Pause pause = lze_guard_pause(L);
  lua_gc(L, LUA_GCCOLLECT);
  lze_guard_resume(L, pause);
  S->collections++;
  lze_reap(S);
  if (S->recorder == NULL || start == 0) return; /* finalizers may have started
                                                    a recorder */
  lze_record_host(L, S, LZE_RECORD_COLLECTION, "collection", start,
                  before > S->bytes ? before - S->bytes : 0);
}

/* Returns the limit for `bytes` live bytes. */
static size_t limit_of(const lze_State *S, size_t bytes) {
  double next = (double)bytes * S->growth;
  if (next < (double)S->soft_limit) return S->soft_limit;
  return next < (double)PTRDIFF_MAX ? (size_t)next : PTRDIFF_MAX;
}

/* Collects, then waits for the oldest commands until the collected memory that
   they use takes at most half of the room that the next limit leaves; the
   device has the other half to continue with.  Without the wait, a loop that
   only enqueues would get ahead of the device by any amount of memory, because
   collected memory is freed only when the commands that use it are over.
   Returns false if something raised an error, which is then on the stack. */
static bool collect_for(lua_State *L, lze_State *S, size_t bytes,
                        size_t (*dropped)(const lze_State *S)) {
  collect_all(L, S);
  size_t alive = S->bytes + bytes - dropped(S);
  size_t limit = limit_of(S, alive), most = alive + (limit - alive) / 2;
  int done = 1;
  for (uint64_t newest = S->serial; done == 1 && S->bytes + bytes > most;)
    done = lze_state_await_oldest(L, S, newest);
  S->limit = limit_of(S, S->bytes + bytes > most ? S->bytes + bytes : alive);
  return done != -1;
}

static void collect_some(lua_State *L) {
  lze_Pause pause = lze_guard_pause(L);
  lua_step(L);
  lze_guard_resume(L, pause);
}

bool lze_pressure(lua_State *L, size_t bytes,
                  size_t (*dropped)(const lze_State *S)) {
  lze_State *S = lze_state(L);
  bool ok = true;
  lze_reap(S);
  if (!lze_collector_runs(L)) return true;
  S->debt += bytes;
  if (S->bytes + bytes > S->limit) {
    ok = collect_for(L, S, bytes, dropped);
  } else if (S->debt >= STEP_BYTES &&
             S->debt >= S->soft_limit / STEP_SOFT_PART &&
             S->debt >= S->bytes / STEP_USED_PART) {
    collect_some(L);
  } else {
    return true;
  }
  S->debt = 0;
  return ok;
}

void lze_make_room(lua_State *L) {
  lze_State *S = lze_state(L);
  lze_reap(S);
  if (lze_collector_runs(L)) collect_all(L, S);
}
