/*
 * lze_wait.c - waits, in slices that a debug hook (Ctrl-C) can end.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_progress.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"
#include "lze.h"

#include <string.h>
#include <time.h>

/* The slice of a wait while runs of plans have parts on the host, which are
   polled between slices. */
#define RUNS_SLICE_NS 200000u

/* A program that only ever enqueues must not fill the memory with commands:
   past this number it waits for the oldest command. */
#define MAX_IN_FLIGHT 16384u

/* Raises the failure of a command that the caller owns, giving up that
   ownership; each failure is raised once. */
static void failure_raise(lua_State *L, lze_Command *c) {
  bool raise = c->status == LZE_FAILED && !c->raised;
  const lze_Driver *driver = c->device->driver;
  lze_Outcome failure = c->failure;
  char name[sizeof c->name];
  memcpy(name, c->name, sizeof name);
  int error = c->error_ref;
  c->error_ref = 0;
  lze_WorkFailure work;
  bool work_failed = c->work_failure != NULL;
  if (work_failed) work = *c->work_failure;
  c->raised = true;
  lze_command_disown(c);
  if (error != 0) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, error);
    luaL_unref(L, LUA_REGISTRYINDEX, error);
    if (raise) {
      lze_keep_error(L); /* raised by a function of the script */
      lua_error(L);
    }
    lua_pop(L, 1);
  }
  if (raise && work_failed) lze_raise_work(L, &work, name);
  if (raise)
    lze_fail(L, driver, failure.result, name, failure.call, NULL, NULL);
}

/* Raises, in a protected call, that a command cannot be waited for. */
static int await_raise(lua_State *L) {
  lze_command_unreported(L, lua_touserdata(L, 1), lua_touserdata(L, 2));
}

/* Waits without raising.  Returns 1 when done, 0 at the deadline, and -1 if
   something raised an error, which is then on the stack. */
static int command_finish(lua_State *L, lze_Command *c, uint64_t deadline) {
  lze_WaitTimes times = {0};
  while (c->status == LZE_PENDING) {
    if (!c->submitted) {
      lze_queue_flush(c->queue);
      continue; /* that may have failed */
    }
    uint64_t now = lze_now_ns();
    times.now_ns = now;
    if (times.began_ns == 0) times.began_ns = times.moved_ns = now;
    lze_show(c->state);
    uint64_t slice = now >= deadline ? 0 : deadline - now;
    if (slice > LZE_SLICE_NS) slice = LZE_SLICE_NS;
    if (c->state->runs != NULL) {
      int wait = c->state->hosted->wait(L, c, slice);
      if (wait == -1) return -1;
      if (wait == 1) continue;
      times.now_ns = lze_now_ns();
      if (slice > RUNS_SLICE_NS) slice = RUNS_SLICE_NS;
    }
    bool last = slice == 0; /* the deadline has passed */
    if (c->state->works != NULL) {
      uint64_t pause = c->state->steps->pause(c->state, c, &times);
      if (c->status != LZE_PENDING) continue;
      if (slice > pause) slice = pause;
    }
    if (c->work) {
      const struct timespec t = {.tv_nsec = (long)slice};
      if (last) return 0;
      if (slice > 0) nanosleep(&t, NULL);
      if (lze_run_hook_of(L, c->state) != LUA_OK) return -1;
      continue;
    }
    lze_Outcome out;
    lze_Command *marked = lze_command_marked(c, &out);
    if (marked != NULL)
      ZE_TRY(&out, zeEventHostSynchronize, marked->event->handle, slice);
    if (c->foreign && out.result == ZE_RESULT_SUCCESS) {
      return 1; /* until the embedding program resets it */
    } else if (!c->foreign && lze_command_is_over(c, &out)) {
      lze_command_retire_to(marked != NULL ? marked : c, &out);
    } else if (out.result != ZE_RESULT_NOT_READY) {
      lua_pushcfunction(L, await_raise);
      lua_pushlightuserdata(L, c);
      lua_pushlightuserdata(L, &out);
      lua_pcall(L, 2, 0, 0);
      return -1;
    } else if (last) {
      return 0;
    } else if (lze_run_hook_of(L, c->state) != LUA_OK) {
      return -1;
    }
  }
  return 1;
}

/* Waits like command_finish, and records the wait. */
static int command_await(lua_State *L, lze_Command *c, uint64_t deadline) {
  bool recorded = c->state->recorder != NULL && c->status == LZE_PENDING;
  if (recorded) lze_record_power(L, c->state); /* while the device works */
  uint64_t start = recorded ? lze_now_ns() : 0;
  lze_Progress progress;
  lze_progress_begin(&progress, "waiting for", c->name);
  int done = command_finish(L, c, deadline);
  lze_progress_end(&progress);
  if (recorded && c->state->recorder != NULL) {
    lze_record_host(L, c->state, LZE_RECORD_WAIT, c->name, start, 0);
    lze_record_power(L, c->state);
  }
  lze_show(c->state);
  return done;
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

void lze_storage_wait(lua_State *L, lze_Storage *s, size_t first,
                      size_t last, bool write) {
  lze_Command *c, *failed = NULL;
  int done = 1;
  luaL_checkstack(L, 3, NULL);
  lze_own(&s->o); /* a hook or a finalizer may close the buffer */
  if (write && lze_storage_try_flush_readers(L, s) != LUA_OK) done = -1;
  while (done == 1 &&
         (c = lze_storage_conflict(s, first, last, write)) != NULL) {
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

/* Waits for the oldest command, like command_await; the queue may be destroyed
   by then. */
static int queue_await_oldest(lua_State *L, lze_Queue *q) {
  lze_Command *c = q->head;
  lze_queue_hold(q);
  lze_command_own(c);
  int done = command_await(L, c, UINT64_MAX);
  lze_command_disown(c);
  lze_queue_release(q);
  return done;
}

bool lze_queue_ready(lua_State *L, lze_Queue *q) {
  if (q->in_flight < MAX_IN_FLIGHT) return true;
  if (queue_await_oldest(L, q) == -1) lua_error(L);
  return false;
}

int lze_state_await_oldest(lua_State *L, lze_State *S, uint64_t newest) {
  if (S->works != NULL || S->runs != NULL || S->calling != NULL) return 0;
  lze_Queue *oldest = NULL;
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next) {
    if (c->foreign != NULL) return 0;
    for (lze_Queue *q = c->queues; q != NULL; q = q->next) {
      if (q->head == NULL || q->foreign || q->head->serial > newest) continue;
      if (oldest == NULL || q->head->serial < oldest->head->serial) oldest = q;
    }
  }
  return oldest != NULL ? queue_await_oldest(L, oldest) : 0;
}

lze_Command *lze_queue_last(const lze_Queue *q) {
  return q->ordered ? q->tail : q->head;
}

bool lze_queue_drain(lua_State *L, lze_Queue *q, uint64_t deadline) {
  int done = 1;
  lze_Command *failed = NULL;
  lze_queue_hold(q);
  /* At most the current number: a hook could enqueue for ever. */
  for (uint32_t n = q->in_flight; n > 0 && q->head != NULL && done == 1; n--) {
    lze_Command *last = lze_queue_last(q);
    lze_command_own(last);
    done = command_await(L, last, deadline);
    lze_command_disown(last);
    if (q->ordered) break;
  }
  if (done == 1) {
    failed = q->failed;
    q->failed = NULL;
  }
  lze_queue_release(q);
  if (done == -1) lua_error(L);
  if (failed != NULL) failure_raise(L, failed);
  return done == 1;
}
