/*
 * lze_run.c - runs of plans, and runs with parts on the host.
 * SPDX-License-Identifier: MIT
 *
 * A run is one command. If a plan calls the script's functions, any wait
 * submits the run's segments one after the other and calls the functions
 * between them, because script code runs only on Lua's own thread.
 */
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <stdlib.h>

struct lze_Run {
  lze_Plan *plan;               /* pinned by the command */
  lze_Command *command;         /* owned */
  lze_Recording *recording;     /* owned; the plan may be recorded again */
  int table;                    /* registry reference of the plan's table */
  uint32_t segment, parity;
  bool joined;                  /* a further iteration of one call, directly
                                   after the one before it */
  bool submitted;               /* the segment is */
  bool calling;                 /* its callback is running */
  struct lze_Run *next;
};

/* --- parts on the host -------------------------------------------------- */

/* Called with the run, its plan's table and a list. Calls the functions that
   follow the completed segment. Earlier array expressions must read the values
   that the run, or work after it, will have written, so they must not be
   evaluated now: they are set aside in the list. */
static int run_functions(lua_State *L) {
  struct lze_Run *r = lua_touserdata(L, 1);
  const lze_Recording *s = r->recording;
  const lze_Command *c = r->command;
  for (uint32_t i = 0; i < c->use_count; i++)
    lze_storage_suspend_readers(L, c->uses[i].storage, 3);
  lua_settop(L, 2);
  lze_getoption(L, 2, "steps");
  for (uint32_t i = 0; i < s->host_count; i++) {
    if (s->hosts[i].segment != r->segment) continue;
    lua_rawgeti(L, 3, (lua_Integer)s->hosts[i].step + 1);
    lua_rawgeti(L, 4, 1);
    lua_call(L, 0, 0);
    lua_settop(L, 3);
  }
  if (r->segment + 1 == s->segment_count)
    lze_plan_get_outputs(L, r->plan, 2, r->parity);
  /* Expressions made by the functions must read the present values, before the
     next segment or work after this run overwrites them. */
  for (uint32_t i = 0; i < c->use_count; i++)
    lze_storage_flush_readers(L, c->uses[i].storage);
  return 0;
}

/* Called protected, outside any guard, with the run and its plan's table. */
static int run_call(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, run_functions);
  for (int i = 1; i <= 3; i++) lua_pushvalue(L, i);
  int status = lua_pcall(L, 3, 0, 0);
  lze_storages_restore_readers(L, 3);
  return status == LUA_OK ? 0 : lua_error(L);
}

/* Removes a run from the list and frees it. */
static void run_end(lze_State *S, struct lze_Run *r) {
  struct lze_Run **link = &S->runs;
  while (*link != r) link = &(*link)->next;
  *link = r->next;
  luaL_unref(S->main, LUA_REGISTRYINDEX, r->table);
  lze_recording_disown(r->recording);
  lze_command_disown(r->command);
  free(r);
}

/* Returns the next iteration of the same call after a run, or NULL. */
static struct lze_Run *run_joined(const struct lze_Run *r) {
  struct lze_Run *o = r->next;
  while (o != NULL && o->plan != r->plan) o = o->next;
  return o != NULL && o->joined ? o : NULL;
}

static uint32_t parity_after(const lze_Plan *p, uint32_t parity) {
  return parity + 1 == p->parities ? 0 : parity + 1;
}

/* Handles a failed run. Its error is the value with the registry reference
   `error` or, if that is 0, the outcome. Later iterations of its call do not
   begin; the last one reports the error. For the runs after them it is as if
   these iterations had never existed. */
static void run_fail(struct lze_Run *r, const lze_Outcome *out, int error) {
  lze_State *S = r->command->state;
  if (r->command->status != LZE_PENDING) { /* the plan may be freed already */
    run_end(S, r);
    return;
  }
  lze_Plan *p = r->plan;
  uint32_t parity = r->parity;
  lze_pin(&p->o);
  for (struct lze_Run *next; (next = run_joined(r)) != NULL; r = next) {
    r->command->raised = true;
    lze_command_fail(r->command, out, 0);
    run_end(S, r);
    p->runs--;
    S->launches -= p->tasks;
  }
  struct lze_Run *o = r->next;
  lze_command_fail(r->command, out, error);
  run_end(S, r);
  for (; o != NULL; o = o->next)
    if (o->plan == p) o->parity = parity = parity_after(p, parity);
  p->parity = parity_after(p, parity);
  lze_unpin(&p->o);
}

/* Calls the functions; returns false if that ended the run. */
static bool run_call_back(lua_State *L, struct lze_Run *r) {
  static const lze_Outcome failed = {"call", ZE_RESULT_ERROR_UNKNOWN};
  static const lze_Outcome no_room = {"call",
                                      ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY};
  lze_Command *c = r->command;
  lze_State *S = c->state;
  lze_Command *outer = S->calling;
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    run_fail(r, &no_room, 0);
    return false;
  }
  r->calling = true;
  lze_command_suspend(c);
  c->caller = outer;
  S->calling = c;
  lua_pushcfunction(L, run_call);
  lua_pushlightuserdata(L, r);
  lua_rawgeti(L, LUA_REGISTRYINDEX, r->table);
  bool own;
  int status = lze_call_back(L, 2, 0, &own);
  S->calling = outer;
  r->calling = false;
  lze_Outcome out = failed;
  bool good = lze_command_resume(c, &out);
  if (status != LUA_OK) {
    run_fail(r, &failed, luaL_ref(L, LUA_REGISTRYINDEX));
    return false;
  }
  if (!good) run_fail(r, &out, 0);
  return good;
}

static lze_RunEvents run_events(const lze_Command *c) {
  return (lze_RunEvents){.end = lze_command_event(c),
                    .first = c->first != NULL ? c->first->handle : NULL,
                    .waits = c->wait_handles,
                    .wait_count = c->wait_count,
                    .tasks = c->tasks};
}

/* Submits the run's segment to the device; returns false if that ended the
   run. */
static bool run_submit(struct lze_Run *r) {
  lze_Plan *p = r->plan;
  lze_Outcome out;
  lze_RunEvents events = run_events(r->command);
  if (lze_plan_submit(p, r->recording, &events, r->segment, r->parity, false,
                    &out)) {
    r->submitted = true;
    return true;
  }
  lze_tasks_refuse(r->command);
  if (p->lost) {
    /* Leak everything that the device may still use. */
    r->command->state->abandoned = true;
    lze_pin(&p->o);
    lze_pin(&p->queue->o);
    for (uint32_t i = 0; i < r->recording->list_count; i++)
      lze_pin(&r->recording->lists[i]->o);
    for (uint32_t i = 0; i < p->storage_count; i++)
      lze_pin(&p->storages[i]->o);
    run_fail(r, &out, 0);
  } else {
    lze_command_doom(r->command, &out);
    run_end(r->command->state, r);
  }
  return false;
}

/* Returns true if an earlier run of the same plan is not over. */
static bool run_is_behind(const lze_State *S, const struct lze_Run *r) {
  for (const struct lze_Run *o = S->runs; o != r; o = o->next)
    if (o->plan == r->plan) return true;
  return false;
}

/* Advances a run if possible. Returns true if it did; the list may have
   changed then. */
static bool run_step(lua_State *L, struct lze_Run *r) {
  lze_State *S = r->command->state;
  if (r->calling || run_is_behind(S, r)) return false;
  if (r->command->status != LZE_PENDING) { /* the device is lost */
    run_end(S, r);
    return true;
  }
  if (!r->submitted) {
    run_submit(r);
    return true;
  }
  lze_Outcome out;
  ze_event_handle_t done = r->plan->done->handle;
  if (!ZE_TRY(&out, zeEventQueryStatus, done)) {
    if (lze_command_is_over(r->command, &out)) {
      run_fail(r, &out, 0);
      return true;
    }
    /* If the driver cannot report the status, a wait would never end. */
    if (out.result == ZE_RESULT_NOT_READY ||
        ZE(zeEventHostSynchronize, done, 0) != ZE_RESULT_SUCCESS)
      return false;
  }
  if (!run_call_back(L, r)) return true;
  r->segment++;
  r->submitted = false;
  if (r->segment < r->recording->segment_count) {
    run_submit(r);
  } else if (lze_plan_finish(r->plan, r->command, &out)) {
    run_end(S, r);
  } else {
    run_fail(r, &out, 0);
  }
  return true;
}

/* Advances all runs. An error in a callback is kept and raised by a wait for
   its run. */
static void runs_advance(lua_State *L) {
  lze_State *S = lze_state(L);
again:
  for (struct lze_Run *r = S->runs; r != NULL; r = r->next)
    if (run_step(L, r)) goto again;
}

/* The same before a wait for c, and also waits for at most `ns`. Returns 1 if
   something may have changed; -1, with an error on the stack, if c comes after
   the run whose callback is running. */
static int runs_wait(lua_State *L, lze_Command *c, uint64_t ns) {
  lze_State *S = c->state;
  if (lze_command_is_later(c)) {
    lua_pushfstring(L, "%s: what it waits for is the run that the callback is "
                       "part of", c->name);
    return -1;
  }
  runs_advance(L);
  if (c->status != LZE_PENDING || S->runs == NULL) return 1;
  for (const struct lze_Run *r = S->runs; r != NULL; r = r->next) {
    if (r->command != c || !r->submitted || r->calling) continue;
    /* This run is the one awaited. */
    if (ns == 0) return 0;
    if (ZE(zeEventHostSynchronize, r->plan->done->handle, ns) ==
        ZE_RESULT_SUCCESS)
      return 1;
  }
  return 0;
}

/* Called when a state ends: drops all runs, waiting for the device until the
   deadline. */
static void runs_abandon(lze_State *S, uint64_t deadline) {
  static const lze_Outcome out = {"call", ZE_RESULT_ERROR_NOT_AVAILABLE};
  while (S->runs != NULL) {
    struct lze_Run *r = S->runs;
    uint64_t now = lze_now_ns();
    /* A run that has ended because its device was lost no longer keeps its
       plan alive. */
    bool pending = r->command->status == LZE_PENDING;
    bool idle = pending &&
                (!r->submitted ||
                 ZE(zeEventHostSynchronize, r->plan->done->handle,
                    now < deadline ? deadline - now : 0) == ZE_RESULT_SUCCESS);
    S->runs = r->next;
    if (idle)
      lze_command_fail(r->command, &out, 0);
    lze_recording_disown(r->recording);
    lze_command_disown(r->command);
    free(r);
  }
}

void lze_open_run(lua_State *L) {
  static const lze_HostedRuns hosted = {runs_advance, runs_wait,
                                        runs_abandon, lze_tasks_over};
  lze_state(L)->hosted = &hosted;
}

void lze_run_drop(lze_State *S, struct lze_Run *r) {
  if (r == NULL) return;
  if (!S->closed) luaL_unref(S->main, LUA_REGISTRYINDEX, r->table);
  free(r);
}

/* --- starting ----------------------------------------------------------- */

/* Makes the run's command use all objects of the run; the plan must be the
   first. */
static void run_use(lua_State *L, lze_Plan *p, lze_Command *c) {
  lze_command_pin(L, c, &p->o);
  for (uint32_t i = 0; i < p->recording->list_count; i++)
    lze_command_pin(L, c, &p->recording->lists[i]->o);
  for (uint32_t i = 0; i < p->captured_count; i++) {
    const lze_Access *a = &p->captured[i];
    lze_command_use(L, c, a->storage, a->first, a->last, a->write);
  }
}

static lze_Command *run_begin(lua_State *L, lze_Plan *p, bool timed) {
  if (p->o.context->state->recorder != NULL) timed = true;
  lze_Command *c = lze_begin(L, p->queue, p->name, timed, NULL);
  lze_record_kind(c, LZE_RECORD_GRAPH, 0);
  run_use(L, p, c);
  lze_command_order(L, c);
  if (timed) lze_command_time_first(L, c);
  if (c->record != 0 && p->profile) lze_tasks_begin(p, c);
  return c;
}

static void run_count(lze_Plan *p) {
  p->runs++;
  p->parity = parity_after(p, p->parity);
  p->o.context->state->launches += p->tasks;
}

/* Returns the run of the plan whose callback is running, or NULL. */
static const struct lze_Run *run_calling(const lze_Plan *p) {
  const struct lze_Run *r = p->o.context->state->runs;
  while (r != NULL && !(r->plan == p && r->calling)) r = r->next;
  return r;
}

uint32_t lze_plan_parity(const lze_Plan *p, bool next) {
  const struct lze_Run *r = run_calling(p);
  if (r != NULL) return r->parity;
  return next || p->runs == 0 ? p->parity
                              : (p->parity + p->parities - 1) % p->parities;
}

void lze_plan_check_calling(lua_State *L, const lze_Plan *p) {
  if (run_calling(p) != NULL)
    luaL_error(L, "%s: a callback of the plan cannot start it", p->name);
}

lze_Command *lze_plan_start(lua_State *L, lze_Plan *p, int table,
                            bool joined, bool timed) {
  if (p->hosted && p->next_run == NULL) {
    /* If an error is raised before the run begins, the next run uses this. */
    p->next_run = calloc(1, sizeof *p->next_run);
    lze_check_memory(L, p->next_run != NULL);
    p->next_run->table = LUA_NOREF;
  }
  struct lze_Run *r = p->next_run;
  if (r != NULL && r->table == LUA_NOREF) {
    lua_pushvalue(L, table);
    r->table = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lze_Command *c = run_begin(L, p, timed);
  lze_Outcome out;
  bool good = true;
  if (r == NULL) {
    lze_RunEvents events = run_events(c);
    good = lze_plan_submit(p, p->recording, &events, 0, p->parity, true, &out);
  }
  if (!good) lze_tasks_refuse(c);
  if (p->lost) /* it holds its objects forever */
    c->state->abandoned = true;
  else
    lze_end(c);
  if (!good) lze_plan_fail(L, p, &out);
  joined = joined && p->last != NULL && p->last->next == c;
  if (p->last != NULL) lze_command_disown(p->last);
  p->last = c;
  lze_command_own(c);
  uint32_t parity = p->parity;
  run_count(p);
  if (r != NULL) {
    p->next_run = NULL;
    r->plan = p;
    r->recording = p->recording;
    r->recording->owners++;
    r->parity = parity;
    r->joined = joined;
    r->command = c;
    c->hosted = true;
    lze_command_own(c);
    struct lze_Run **end = &c->state->runs;
    while (*end != NULL) end = &(*end)->next;
    *end = r;
    if (!run_is_behind(c->state, r)) run_submit(r);
  }
  return c;
}

/* --- immediate runs ----------------------------------------------------- */

/* Returns true if a run has nothing to do or to wait for, before or after
   it. */
static bool run_is_free(const lze_Plan *p) {
  if (p->o.closed || p->changing || p->stale || p->broken ||
      p->reserve == NULL || p->queue->tail != NULL)
    return false;
  const lze_State *S = p->o.context->state;
  if (p->checked != S->closes || S->runs != NULL || S->works != NULL ||
      S->calling != NULL || S->recorder != NULL || S->check)
    return false;
  for (uint32_t i = 0; i < p->captured_count; i++) {
    const lze_Access *a = &p->captured[i];
    if (a->storage->uses != NULL || (a->write && a->storage->awaited))
      return false;
  }
  return true;
}

bool lze_plan_attempt(lze_Plan *p, lze_Attempt *a) {
  if (!run_is_free(p)) return false;
  lze_Context *context = p->o.context;
  lze_EventSlot *slot = lze_event_take(context, false, &a->out);
  if (slot == NULL) return false;
  lze_RunEvents events = {.end = slot->handle};
  bool good = lze_plan_submit(p, p->recording, &events, 0, p->parity, true,
                            &a->out);
  if (good) {
    run_count(p);
    lze_show(context->state);
    /* The state does nothing else until this is over, so the run need not be
       registered anywhere. */
    a->over = ZE(zeEventHostSynchronize, slot->handle, LZE_SLICE_NS) ==
              ZE_RESULT_SUCCESS;
    if (a->over) {
      lze_event_give(context, slot);
      return true;
    }
  }
  lze_Command *c = p->reserve;
  p->reserve = NULL;
  lze_begin_reserved(c, p->queue, p->name, slot);
  run_use(NULL, p, c);
  if (p->lost) /* it holds its objects forever */
    c->state->abandoned = true;
  else
    lze_end(c);
  a->over = false;
  a->command = good ? c : NULL;
  return true;
}

void lze_plan_complete(lua_State *L, const lze_Plan *p, const lze_Attempt *a) {
  if (a->command == NULL) lze_plan_fail(L, p, &a->out);
  lze_command_wait(L, a->command, UINT64_MAX);
}
