/*
 * lze_tasks.c - the tasks of runs, for profiles.
 * SPDX-License-Identifier: MIT
 *
 * All runs of a plan signal the same events; each run resets them when it
 * begins. Before that, the device copies the previous run's times to separate
 * memory. The times of the latest run are read from the events themselves.
 */
#include "device/lze_loader.h"
#include "launch/lze_kernel.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Task {
  uint64_t record;              /* record number */
  const lze_DeviceInfo *device;
  lze_EventSlot *first, *last;  /* of the step */
} Task;

/* The tasks of one run. */
typedef struct lze_Tasks {
  struct lze_Tasks *next;       /* in the plan's list */
  uint64_t run;                 /* number of the run's record */
  bool over;                    /* the run is over, and these are valid: */
  uint64_t start_ns, end_ns;
  bool unknown;                 /* the times of its tasks are not available */
  lze_EventSlot *saved;         /* signalled when they have been copied to
                                   `times` */
  ze_kernel_timestamp_result_t *times; /* two per task; or NULL */
  uint32_t count;
  Task tasks[];                 /* room for all of the plan's steps */
} lze_Tasks;

lze_EventSlot *lze_step_first(const lze_Step *s) {
  return s->parts > 1 && s->first != NULL ? s->first : s->event;
}

/* --- a run begins --------------------------------------------------------- */

static lze_Tasks *tasks_take(lze_Plan *p) {
  lze_Tasks *t = p->spare;
  if (t != NULL) p->spare = t->next;
  else t = calloc(1, sizeof *t + p->count * sizeof *t->tasks);
  if (t == NULL) return NULL;
  t->next = NULL;
  t->over = t->unknown = false;
  t->count = 0;
  return t;
}

void lze_tasks_begin(lze_Plan *p, lze_Command *c) {
  lze_Tasks *t = tasks_take(p);
  if (t == NULL) {
    lze_record_untimed(c->state, c->record, "no memory");
    return;
  }
  t->run = c->record;
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    const lze_Node *n = &p->nodes[i];
    s->record = 0;
    if (s->event == NULL || s->empty) continue;
    const lze_DeviceInfo *device = p->engines[n->engine].device;
    lze_Record *r =
        lze_record_task(c, s->name, device, s->why, &s->record);
    if (r == NULL) break;
    r->bytes = s->bytes;
    if (s->why != NULL) {
      r->bytes = s->moved;
      memcpy(r->shape.group, s->group, sizeof s->group);
      r->shape.dims = s->group[2] > 1 ? 3 : s->group[1] > 1 ? 2 : 1;
      lze_shape_flops(&r->shape, lze_kernel_flops(s->kernel), s->items);
    }
    for (uint32_t d = 0; d < n->deps.count; d++) {
      uint64_t before = p->steps[n->deps.items[d]].record;
      if (before > r->after) r->after = before;
    }
    t->tasks[t->count++] =
        (Task){s->record, device, lze_step_first(s), s->event};
  }
  lze_Tasks **end = &p->running;
  while (*end != NULL) end = &(*end)->next;
  *end = t;
  c->tasks = t;
}

void lze_tasks_refuse(const lze_Command *c) {
  if (c->tasks != NULL) c->tasks->unknown = true;
}

/* --- the next run begins -------------------------------------------------- */

/* Appends a copy of the times to the plan's queue; returns false with the
   outcome on failure. */
static bool tasks_copy(const lze_Plan *p, lze_Tasks *t, lze_Outcome *out) {
  ze_host_mem_alloc_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *memory = t->times;
  if (memory == NULL &&
      !ZE_TRY(out, zeMemAllocHost, p->o.context->handle, &desc,
              2 * (size_t)p->count * sizeof *t->times, sizeof *t->times,
              &memory))
    return false;
  t->times = memory;
  ze_event_handle_t *events = malloc(2 * t->count * sizeof *events);
  *out = LZE_NO_MEMORY;
  if (events == NULL) return false;
  for (uint32_t i = 0; i < t->count; i++) {
    events[2 * i] = t->tasks[i].first->handle;
    events[2 * i + 1] = t->tasks[i].last->handle;
  }
  t->saved = lze_event_take(p->o.context, false, out);
  bool good =
      t->saved != NULL &&
      ZE_TRY(out, zeCommandListAppendQueryKernelTimestamps, p->queue->list,
             2 * t->count, events, t->times, NULL, t->saved->handle, 0, NULL);
  free(events);
  if (!good && t->saved != NULL) {
    lze_event_give(p->o.context, t->saved);
    t->saved = NULL;
  }
  return good && (p->queue->native_order ||
                  ZE_TRY(out, zeCommandListAppendBarrier, p->queue->list, NULL,
                         0, NULL));
}

void lze_tasks_replace(lze_Plan *p, lze_Tasks *next) {
  lze_Tasks *t = p->timed;
  lze_Outcome out;
  p->timed = next;
  if (t == NULL || t->unknown || t->count == 0 || tasks_copy(p, t, &out))
    return;
  char why[128];
  t->unknown = true;
  snprintf(why, sizeof why, "%s%s%s", out.call != NULL ? out.call : "no memory",
           out.call != NULL ? ": " : "",
           out.call != NULL ? lze_result_name(out.result) : "");
  lze_record_untimed(p->o.context->state, t->run, why);
}

/* --- a run is over -------------------------------------------------------- */

/* Gets when task i of the run began and how long it took. */
static bool task_times(const lze_Plan *p, const lze_Tasks *t, uint32_t i,
                       uint64_t *start_ns, uint64_t *ns) {
  const Task *k = &t->tasks[i];
  if (t->saved == NULL)
    return lze_event_times(p->o.context, k->device, k->first, k->last, start_ns,
                           ns);
  return lze_stamp_times(p->o.context, k->device, &t->times[2 * i],
                         &t->times[2 * i + 1], start_ns, ns);
}

static uint64_t clamp(uint64_t ns, const lze_Tasks *t) {
  return ns < t->start_ns ? t->start_ns : ns > t->end_ns ? t->end_ns : ns;
}

static const char untimed[] = "the driver does not say when they ran";

static void tasks_record(const lze_Plan *p, const lze_Tasks *t) {
  lze_State *S = p->o.context->state;
  for (uint32_t i = 0; i < t->count; i++) {
    uint64_t start, ns;
    if (!task_times(p, t, i, &start, &ns)) {
      lze_record_untimed(S, t->run, untimed);
      return;
    }
    lze_record_timed(S, t->tasks[i].record, clamp(start, t),
                     clamp(start + ns, t));
  }
}

/* Returns true if the device has finished copying the times. With `surely` the
   next run is over, so the copy must be done too, but this may become visible
   a bit later. */
static bool tasks_saved(const lze_Tasks *t, bool surely) {
  return t->saved == NULL ||
         ZE(zeEventHostSynchronize, t->saved->handle,
            surely ? LZE_SLICE_NS : 0) == ZE_RESULT_SUCCESS;
}

/* Called when the run of `newest` is over: records the tasks of all runs that
   are over and, if another run has begun, have been saved. */
static void tasks_settle(lze_Plan *p, const lze_Tasks *newest) {
  lze_Tasks **link = &p->running, *t;
  bool surely = true;
  while ((t = *link) != NULL) {
    surely = surely && t != newest;
    if (!t->over || !tasks_saved(t, surely)) {
      link = &t->next;
      continue;
    }
    if (!t->unknown) tasks_record(p, t);
    if (t->saved != NULL) lze_event_give(p->o.context, t->saved);
    t->saved = NULL;
    if (p->timed == t) p->timed = NULL;
    *link = t->next;
    t->next = p->spare;
    p->spare = t;
  }
}

void lze_tasks_over(lze_Command *c) {
  lze_Tasks *t = c->tasks;
  lze_Plan *p = (lze_Plan *)c->objects[0];
  c->tasks = NULL;
  t->over = true;
  t->start_ns = c->start_ns;
  t->end_ns = c->end_ns;
  if (c->status == LZE_FAILED) {
    t->unknown = true;
  } else if (!t->unknown && c->end_ns == 0) {
    t->unknown = true;
    lze_record_untimed(c->state, t->run, untimed);
  }
  tasks_settle(p, t);
}

/* --- the end -------------------------------------------------------------- */

static void tasks_free_all(lze_Context *context, lze_Tasks **list) {
  lze_Tasks *t;
  while ((t = *list) != NULL) {
    *list = t->next;
    /* Leak memory that the device may still use. */
    if (tasks_saved(t, true)) {
      if (t->saved != NULL) lze_event_give(context, t->saved);
      if (t->times != NULL) ZE(zeMemFree, context->handle, t->times);
    }
    free(t);
  }
}

void lze_tasks_free(lze_Plan *p) {
  tasks_free_all(p->o.context, &p->running);
  tasks_free_all(p->o.context, &p->spare);
  p->timed = NULL;
}
