/*
 * lze_host_work.c - host work among the commands.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_host_work.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "device/lze_device.h"
#include "device/lze_fail.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A wait polls without sleeping for SPIN_NS, because copies by another process
   take less time than waking up; then it sleeps between steps, for a fraction
   of the time since the last progress, so that it is late by no more than that
   fraction. */
#define SPIN_NS 1000000u
#define ALONE_NS 20000u /* after this time it yields the core between polls */
#define SLEEP_PART 16
#define SLEEP_MOST_NS 500000u

/* A step that takes longer than this has made progress. */
#define LOOK_NS 1000u

struct lze_HostWork {
  struct lze_HostWork *next;
  lze_Command *command;         /* owned; NULL if the work uses no buffers */
  lze_EventSlot *event;         /* reserved for it, until the work is left
                                   pending */
  lze_State *state;
  uint64_t record;              /* of a profile, or 0 */
  uint64_t start_ns;            /* 0 until it has begun */
  bool begun;
  bool awaited;                 /* a wait for it will free it */
  int status;
  lze_WorkSpec spec;
  lze_WorkFailure failure;
};

/* --- steps -------------------------------------------------------------- */

/* Returns true if everything is over that it must wait for. */
static bool work_is_free(const struct lze_HostWork *w) {
  const lze_Command *c = w->command;
  for (uint32_t i = 0; c != NULL && i < c->wait_count; i++)
    if (!lze_command_poll(c->waits[i])) return false;
  return true;
}

static void work_step(struct lze_HostWork *w, uint64_t now) {
  if (!w->begun) {
    w->start_ns = now;
    if (w->command != NULL) w->command->start_ns = now;
  }
  w->begun = true;
  w->status = w->spec.step(w->spec.userdata, &w->failure);
}

/* Completes the record of a work that is over. */
static void work_record(const struct lze_HostWork *w) {
  char text[96] = "", name[128];
  size_t bytes = 0;
  if (w->spec.describe != NULL)
    w->spec.describe(w->spec.userdata, text, sizeof text, &bytes);
  snprintf(name, sizeof name, "%.30s%s", w->spec.name, text);
  lze_record_work_over(w->state, w->record, name, w->start_ns, bytes,
                       w->status != LZE_WORK_DONE);
}

/* Leaks a storage, because it is used for ever. */
static void storage_leave(lze_Storage *s) {
  s->o.context->state->abandoned = true;
  lze_pin(&s->o.context->o);
  lze_pin(&s->o);
}

/* Leaks everything that the work uses. */
static void work_leave(const struct lze_HostWork *w) {
  const lze_Command *c = w->command;
  lze_leave(w->spec.userdata);
  if (c == NULL) return;
  c->state->abandoned = true;
  lze_pin(&c->context->o);
  for (uint32_t i = 0; i < c->use_count; i++) storage_leave(c->uses[i].storage);
}

/* Ends a work that is over and unlinked. */
static void work_end(struct lze_HostWork *w, uint64_t now) {
  lze_Command *c = w->command;
  lze_Outcome out = {NULL, ZE_RESULT_SUCCESS};
  if (w->status == LZE_WORK_LEFT) work_leave(w);
  if (c != NULL && c->status == LZE_PENDING) {
    c->end_ns = now;
    c->kernel_ns = c->end_ns - c->start_ns;
    if (w->status == LZE_WORK_DONE) {
      ZE_TRY(&out, zeEventHostSignal, c->event->handle);
    } else {
      out = (lze_Outcome){"work", ZE_RESULT_ERROR_UNKNOWN};
      c->work_failure = malloc(sizeof *c->work_failure);
      if (c->work_failure != NULL) *c->work_failure = w->failure;
    }
    lze_command_retire_to(c, &out);
  }
  if (c != NULL) lze_command_disown(c);
  w->command = NULL;
  if (w->record != 0) work_record(w);
  w->spec.release(w->spec.userdata, w->status == LZE_WORK_LEFT);
  if (!w->awaited) free(w);
}

/* Returns the link to the next work, after ending this one if it is over. */
static struct lze_HostWork **work_pass(struct lze_HostWork **link,
                                       uint64_t now) {
  struct lze_HostWork *w = *link;
  if (w->status == LZE_WORK_PENDING) return &w->next;
  *link = w->next;
  work_end(w, now);
  return link;
}

/* Runs a step of each work that has begun, and begins each work that can begin;
   returns true if there was progress.  Updates the clock. */
static bool works_advance(lze_State *S, uint64_t *now) {
  bool moved = false;
  struct lze_HostWork **link = &S->works, *w;
  while ((w = *link) != NULL && (w->begun || work_is_free(w))) {
    uint64_t before = *now;
    work_step(w, before);
    *now = lze_now_ns();
    moved = moved || w->status != LZE_WORK_PENDING || *now - before > LOOK_NS;
    link = work_pass(link, *now);
  }
  return moved;
}

/* Returns true if a wait for `c`, or for the work without a command if c is
   NULL, waits for w. */
static bool work_is_needed(const struct lze_HostWork *w, const lze_Command *c) {
  if (c == NULL) return w->awaited;
  return w->command != NULL && lze_command_follows(c, w->command);
}

/* Notifies works that have begun that a wait needs them: for `c` or, with NULL,
   for the work without a command.  The other works begin in turn: if one of
   them is needed, the works that the first of them waits for are needed,
   too. */
static void works_tell(lze_State *S, const lze_Command *c, uint64_t began,
                       uint64_t now) {
  struct lze_HostWork **link = &S->works, *w, *first = S->works;
  bool asked = false;
  for (; first != NULL && first->begun; first = first->next)
    asked = asked || first->spec.awaited != NULL;
  if (!asked) return;
  const struct lze_HostWork *later = first;
  while (later != NULL && !work_is_needed(later, c)) later = later->next;
  const lze_Command *before = later != NULL ? first->command : NULL;
  while ((w = *link) != first) {
    if (w->spec.awaited != NULL &&
        (work_is_needed(w, c) ||
         (before != NULL && work_is_needed(w, before))))
      w->status = w->spec.awaited(w->spec.userdata, began, &w->failure);
    link = work_pass(link, now);
  }
}

static void works_look(lze_State *S, const lze_Command *awaited,
                       uint64_t began) {
  uint64_t now = lze_now_ns();
  works_advance(S, &now);
  if (awaited != NULL) works_tell(S, awaited, began, now);
}

static uint64_t works_pause(lze_State *S, const lze_Command *awaited,
                            lze_WaitTimes *times) {
  bool moved = works_advance(S, &times->now_ns);
  works_tell(S, awaited, times->began_ns, times->now_ns);
  if (moved) times->moved_ns = times->now_ns;
  uint64_t idle = times->now_ns - times->moved_ns;
  if (idle < SPIN_NS) {
    if (idle > ALONE_NS) sched_yield(); /* the awaited process may need this
                                           core */
    return 0;
  }
  return idle / SLEEP_PART < SLEEP_MOST_NS ? idle / SLEEP_PART : SLEEP_MOST_NS;
}

static lze_WaitTimes times_begin(void) {
  uint64_t now = lze_now_ns();
  return (lze_WaitTimes){now, now, now};
}

static void works_sleep(uint64_t ns) {
  const struct timespec t = {.tv_nsec = (long)ns};
  if (ns > 0) nanosleep(&t, NULL);
}

void lze_host_work_abandon(lze_State *S, uint64_t deadline) {
  lze_WaitTimes times = times_begin();
  for (struct lze_HostWork **link = &S->works, *w; (w = *link) != NULL;) {
    if (w->spec.cancel != NULL &&
        (!w->begun || w->spec.cancel(w->spec.userdata)))
      w->status = LZE_WORK_FAILED;
    link = work_pass(link, times.now_ns);
  }
  while (S->works != NULL && times.now_ns < deadline) {
    works_sleep(works_pause(S, NULL, &times));
    times.now_ns = lze_now_ns();
  }
  while (S->works != NULL) {
    struct lze_HostWork *w = S->works;
    S->works = w->next;
    w->status = w->begun ? LZE_WORK_LEFT : LZE_WORK_FAILED;
    work_end(w, times.now_ns);
  }
}

/* --- copies ------------------------------------------------------------- */

static int copy_fail(const lze_Outcome *out, lze_WorkFailure *f) {
  const char *name = lze_result_name(out->result);
  snprintf(f->call, sizeof f->call, "%s",
           out->call != NULL ? out->call : "malloc");
  if (name != NULL) snprintf(f->code, sizeof f->code, "%s", name);
  else snprintf(f->code, sizeof f->code, "0x%x", (unsigned)out->result);
  snprintf(f->message, sizeof f->message,
           "memory of a device was not copied: %s", f->code);
  return LZE_WORK_FAILED;
}

int lze_host_copy(lze_Queue *q, lze_EventSlot **slot, void *to,
                  const void *from, size_t bytes, lze_WorkFailure *failure) {
  lze_Context *context = q->o.context;
  lze_Outcome out;
  if (*slot == NULL) {
    if (bytes == 0) return LZE_WORK_DONE;
    *slot = lze_event_take(context, false, &out);
    if (*slot == NULL) return copy_fail(&out, failure);
    if (!ZE_TRY(&out, zeCommandListAppendMemoryCopy, q->list, to, from, bytes,
                (*slot)->handle, 0, NULL)) {
      lze_event_give(context, *slot);
      *slot = NULL;
      return copy_fail(&out, failure);
    }
  }
  bool good = ZE_TRY(&out, zeEventQueryStatus, (*slot)->handle);
  if (!lze_is_over(q->device, &out)) return LZE_WORK_PENDING;
  lze_event_give(context, *slot);
  *slot = NULL;
  return good ? LZE_WORK_DONE : copy_fail(&out, failure);
}

/* --- issue -------------------------------------------------------------- */

/* Waits for a work without a command. */
static void work_await(lua_State *L, lze_State *S, struct lze_HostWork *w) {
  lze_WaitTimes times = times_begin();
  int status = LUA_OK;
  w->awaited = true;
  while (w->status == LZE_WORK_PENDING && status == LUA_OK) {
    uint64_t pause = works_pause(S, NULL, &times);
    if (w->status != LZE_WORK_PENDING) break;
    works_sleep(pause);
    status = lze_run_hook_of(L, S);
    times.now_ns = lze_now_ns();
  }
  w->awaited = false;
  if (w->status == LZE_WORK_PENDING) lua_error(L); /* it continues without the
                                                      wait */
  if (w->status != LZE_WORK_DONE && status == LUA_OK) {
    lze_WorkFailure failure = w->failure;
    const char *name = w->spec.name;
    free(w);
    lze_raise_work(L, &failure, name);
  }
  free(w);
  if (status != LUA_OK) lua_error(L);
}

/* Returns the context of the open buffers that the work uses; raises if one is
   closed or they differ in context. */
static lze_Context *work_buffers(lua_State *L, const lze_WorkSpec *spec,
                                 const lze_Buffer **b) {
  lze_Context *context = NULL;
  for (int i = 0; i < spec->count; i++) {
    b[i] = lze_test_buffer(L, spec->buffers[i]);
    if (b[i] == NULL)
      luaL_error(L, "%s: buffer expected, got %s", spec->name,
                 lze_describe(L, spec->buffers[i]));
    if (!lze_buffer_is_open(b[i]))
      luaL_error(L, "%s: the buffer is closed", spec->name);
    if (context != NULL && context != b[i]->storage->o.context)
      luaL_error(L, "%s: buffers of two contexts", spec->name);
    context = b[i]->storage->o.context;
  }
  return context;
}

static struct lze_HostWork *work_new(lze_State *S, const lze_WorkSpec *spec) {
  struct lze_HostWork *w = malloc(sizeof *w);
  if (w == NULL) return NULL;
  w->next = NULL;
  w->command = NULL;
  w->event = NULL;
  w->state = S;
  w->record = w->start_ns = 0;
  w->begun = w->awaited = false;
  w->status = LZE_WORK_PENDING;
  w->failure.call[0] = w->failure.code[0] = w->failure.message[0] = '\0';
  w->spec = *spec;
  return w;
}

/* Aborts a command that nothing has seen. */
static void work_abort(struct lze_HostWork *w) {
  lze_event_untake(w->command->context, w->event);
  lze_abort(w->command);
  w->command = NULL;
}

/* Returns the end of a buffer in its storage. */
static size_t buffer_end(const lze_Buffer *b) {
  return b->offset + (size_t)b->count * b->type->bytes;
}

/* Returns true if no pending command must precede a work that uses these
   buffers. */
static bool work_meets_none(const lze_WorkSpec *spec, const lze_Buffer **b) {
  for (int i = 0; i < spec->count; i++)
    if (lze_storage_conflict(b[i]->storage, b[i]->offset, buffer_end(b[i]),
                             spec->writes[i] != 0) != NULL)
      return false;
  return true;
}

/* Creates a command for the work; returns false, with the outcome, if that
   fails. */
static bool work_begin(struct lze_HostWork *w, lze_Queue *q,
                       const lze_Buffer **b, uint64_t now, lze_Outcome *out) {
  *out = LZE_NO_MEMORY;
  lze_Command *c = lze_reserve(q->o.context->state, (uint32_t)w->spec.count, 0);
  if (c == NULL) return false;
  w->event = lze_event_take(q->o.context, false, out);
  if (w->event == NULL) {
    lze_unreserve(c);
    return false;
  }
  lze_begin_reserved(c, q, w->spec.name, NULL);
  c->hosted = c->work = true;
  c->queued_ns = now;
  c->start_ns = w->start_ns;
  for (int i = 0; i < w->spec.count; i++)
    lze_command_use(NULL, c, b[i]->storage, b[i]->offset, buffer_end(b[i]),
                    w->spec.writes[i] != 0);
  w->command = c;
  if (lze_command_meet(c, out)) return true;
  work_abort(w);
  return false;
}

/* Runs steps of a work that follows nothing and that the caller waits for.
   Most are over before any other code could need their command, which is
   created only if the work takes longer. */
static void work_alone(struct lze_HostWork *w, lze_Queue *q,
                       const lze_Buffer **b, uint64_t now) {
  lze_Outcome unused; /* then it continues alone */
  work_step(w, now);
  while (w->status == LZE_WORK_PENDING) {
    now = lze_now_ns();
    if (now - w->start_ns > ALONE_NS &&
        (q == NULL || work_begin(w, q, b, w->start_ns, &unused)))
      return;
    works_advance(w->state, &now);
    work_step(w, now);
  }
  if (w->status != LZE_WORK_LEFT) return;
  for (int i = 0; i < w->spec.count; i++) storage_leave(b[i]->storage);
}

/* Ends a work that is done at once: it needs no command. */
static void work_forget(struct lze_HostWork *w) {
  lze_State *S = w->state;
  if (w->status == LZE_WORK_LEFT) work_leave(w);
  if (w->command != NULL) work_abort(w);
  if (w->record != 0) work_record(w);
  w->spec.release(w->spec.userdata, w->status == LZE_WORK_LEFT);
  lze_show(S);
}

void lze_host_work(lua_State *L, const lze_WorkSpec *spec, bool wait) {
  const lze_Buffer *b[LZE_WORK_BUFFERS];
  lze_WorkSpec own = *spec;
  for (int i = 0; i < own.count; i++)
    own.buffers[i] = lua_absindex(L, own.buffers[i]);
  spec = &own;
  lze_Event *e = wait ? NULL : lze_push_event(L);
  int top = lua_gettop(L);
  for (int i = 0; i < spec->count; i++)
    if (spec->writes[i]) lze_buffer_flush_readers(L, spec->buffers[i]);
  lze_Context *context = work_buffers(L, spec, b);
  lze_State *S = context != NULL ? context->state : lze_state(L);
  const lze_DeviceInfo *device = NULL;
  lze_Queue *q = NULL;
  if (context != NULL) {
    device = b[0]->storage->device;
  } else if (!wait) {
    device = lze_push_default_device(L);
    context = lze_push_device_context(L, device);
  }
  if (context != NULL) q = lze_host_queue(L, context, device);
  struct lze_HostWork *w = work_new(S, spec);
  lze_check_memory(L, w != NULL);
  uint64_t now = lze_now_ns();
  works_advance(S, &now);
  bool first = true; /* every work before it has begun */
  for (const struct lze_HostWork *o = S->works; o != NULL; o = o->next)
    first = first && o->begun;
  /* A profile shows each wait. */
  bool alone = wait && first && S->recorder == NULL && work_meets_none(spec, b);
  lze_Outcome out;
  if (!alone && q != NULL && !work_begin(w, q, b, now, &out)) {
    free(w);
    lze_fail(L, device->driver, out.result, spec->name, out.call, NULL, NULL);
  }
  lua_settop(L, top);
  spec->hold(spec->userdata);
  if (S->recorder != NULL) {
    w->record = lze_record_work(L, S, spec->name);
    now = lze_now_ns(); /* the work begins after that */
  }
  if (alone) work_alone(w, q, b, now);
  else if (first && work_is_free(w)) work_step(w, now);
  if (w->status == LZE_WORK_DONE || (w->status != LZE_WORK_PENDING && wait)) {
    work_forget(w);
    if (w->status != LZE_WORK_DONE) {
      lze_WorkFailure failure = w->failure;
      free(w);
      lze_raise_work(L, &failure, spec->name);
    }
    free(w);
    if (e != NULL) e->command = lze_command_done(L, device, spec->name);
    return;
  }
  lze_Command *c = w->command;
  if (c != NULL) {
    c->event = w->event;
    lze_command_own(c); /* owned by the work */
    lze_end(c);
  }
  if (e != NULL) {
    e->command = c;
    lze_command_own(c);
  }
  if (w->status != LZE_WORK_PENDING) { /* a wait for it raises the reason */
    work_end(w, lze_now_ns());
    return;
  }
  static const lze_WorkSteps steps = {works_look, works_pause};
  S->steps = &steps;
  struct lze_HostWork **end = &S->works;
  while (*end != NULL) end = &(*end)->next;
  *end = w;
  if (wait && c != NULL) lze_command_wait(L, c, UINT64_MAX);
  else if (wait) work_await(L, S, w);
}
