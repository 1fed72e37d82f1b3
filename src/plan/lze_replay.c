/*
 * lze_replay.c - plans as command lists that are run repeatedly.
 * SPDX-License-Identifier: MIT
 *
 * This code does not rely on implicit order: commands of a list may overlap
 * unless a barrier or an event is between them, and so may lists. A run makes
 * the same number of driver calls, however many steps it has.
 *
 * If the driver accepts closed lists in an immediate list, lane 0 goes
 * directly to the list of the plan's queue (p->direct). That is one call, and
 * no event between two queues.
 *
 * Newer driver features are not used, because they would save nothing. A run
 * of a recorded and instantiated graph (1.17) is one call, as here (and takes
 * as long with our driver, see bench/RESULTS.md), but any change requires
 * recording all of it again; here, only the list of LIST_STEPS steps that
 * contains the change is recorded again. Mutable lists can change arguments
 * and group counts in place, but not the kernel parts that a range is split
 * into, the events that a step waits for, or the order of steps; a new range
 * or buffer may change all of these. Mutable lists also must not be in flight
 * during a change, so that a plan:set after a plan:start would wait or need a
 * second list. Recording 64 steps again takes some 40 us, in addition to the
 * 50 us of plan:set itself.
 */
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "base/lze_vector.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <stdlib.h>

/* The number of steps in one list, which is recorded again as a whole. */
enum { LIST_STEPS = 64 };

/* --- the plan's objects --------------------------------------------------- */

static void list_destroy(lze_Object *o) {
  lze_PlanList *t = (lze_PlanList *)o;
  if (t->handle != NULL) ZE(zeCommandListDestroy, t->handle);
  t->handle = NULL;
}

static const lze_Class list_class = {"list", list_destroy, NULL};

static void event_drop(lze_Plan *p, lze_EventSlot **slot) {
  if (*slot != NULL) lze_event_give(p->o.context, *slot);
  *slot = NULL;
}

static void lists_drop(lze_PlanList **lists, uint32_t *count) {
  for (uint32_t i = 0; i < *count; i++)
    if (lists[i] != NULL) lze_disown(&lists[i]->o);
  *count = 0;
}

/* Returns the position of a lane's lists, which are adjacent. */
static struct lze_Chain *recording_chain(const lze_Recording *s,
                                         uint32_t parity, uint32_t segment,
                                         uint32_t lane) {
  return &s->chains[(parity * s->segment_count + segment) * s->lane_count +
                    lane];
}

/* Returns everything that the plan has recorded; NULL if memory runs out. */
static lze_Recording *recording_new(const lze_Plan *p) {
  uint32_t hosts = 0, segments = p->schedule.segment_count;
  size_t chains = (size_t)p->parities * segments * p->schedule.lane_count;
  for (uint32_t i = 0; i < p->count; i++) hosts += p->nodes[i].host;
  lze_Recording *s = calloc(
      1, sizeof *s + p->lists.count * (sizeof *s->lists + sizeof *s->handles) +
             chains * sizeof *s->chains + hosts * sizeof *s->hosts);
  if (s == NULL) return NULL;
  s->owners = 1;
  s->lists = (lze_PlanList **)(s + 1);
  s->handles = (ze_command_list_handle_t *)(s->lists + p->lists.count);
  s->chains = (struct lze_Chain *)(s->handles + p->lists.count);
  s->hosts = (struct lze_HostStep *)(s->chains + chains);
  s->list_count = p->lists.count;
  s->segment_count = segments;
  s->lane_count = p->schedule.lane_count;
  for (uint32_t i = 0; i < p->lists.count; i++) {
    lze_PlanList *t = p->lists.items[i];
    struct lze_Chain *chain =
        recording_chain(s, t->parity, t->segment, t->lane);
    s->lists[i] = t;
    lze_own(&t->o);
    s->handles[i] = t->handle;
    if (chain->count++ == 0) chain->first = i;
  }
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Node *n = &p->nodes[i];
    if (n->host)
      s->hosts[s->host_count++] = (struct lze_HostStep){n->segment, i};
  }
  return s;
}

void lze_recording_disown(lze_Recording *s) {
  if (s == NULL || --s->owners > 0) return;
  lists_drop(s->lists, &s->list_count);
  free(s);
}

void lze_plan_strip(lze_Plan *p) {
  lze_tasks_free(p);
  lze_recording_disown(p->recording);
  p->recording = NULL;
  lists_drop(p->lists.items, &p->lists.count);
  lists_drop(p->old.items, &p->old.count);
  for (uint32_t i = 0; i < p->count; i++) {
    event_drop(p, &p->steps[i].event);
    event_drop(p, &p->steps[i].first);
  }
  event_drop(p, &p->go);
  event_drop(p, &p->done);
  for (uint32_t i = 0; i < LZE_MAX_LANES; i++) {
    event_drop(p, &p->starts[i]);
    event_drop(p, &p->ends[i]);
    if (p->queues[i] != NULL) ZE(zeCommandQueueDestroy, p->queues[i]);
    p->queues[i] = NULL;
  }
}

static bool event_need(lze_Plan *p, lze_EventSlot **slot, bool timed,
                       lze_Outcome *out) {
  if (*slot == NULL) *slot = lze_event_take(p->o.context, timed, out);
  return *slot != NULL;
}

int lze_plan_fail(lua_State *L, const lze_Plan *p,
                     const lze_Outcome *out) {
  return lze_fail(L, p->device->driver, out->result, p->name, out->call, NULL,
                  NULL);
}

/* Returns the lanes of a segment that have steps; lane 0 is always used. */
static uint32_t lanes_used(const lze_Plan *p, uint32_t segment) {
  uint32_t used = 1;
  for (uint32_t i = 0; i < p->count; i++)
    if (p->nodes[i].segment == segment && !p->nodes[i].host)
      used |= 1u << p->nodes[i].lane;
  return used;
}

static bool lane_queue(lze_Plan *p, uint32_t lane, lze_Outcome *out) {
  if (p->queues[lane] != NULL) return true;
  uint32_t engine = p->schedule.lane_engine[lane], index = 0;
  for (uint32_t i = 0; i < lane; i++)
    index += p->schedule.lane_engine[i] == engine;
  const lze_Engine *e = &p->engines[engine];
  ze_command_queue_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
      .ordinal = e->ordinal,
      .index = index,
      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  return ZE_TRY(out, zeCommandQueueCreate, p->o.context->handle,
                e->device->handle, &desc, &p->queues[lane]);
}

/* Makes the queues and events that the plan's order requires. */
static void plan_make_events(lua_State *L, lze_Plan *p) {
  lze_Outcome out = {NULL, ZE_RESULT_SUCCESS};
  /* Lane 0 and the plan's queue belong to the same engine. */
  p->direct = p->device->driver->append_lists != NULL;
  bool good = (p->direct || event_need(p, &p->go, false, &out)) &&
              ((p->direct && !p->hosted) ||
               event_need(p, &p->done, false, &out));
  for (uint32_t s = 0; s < p->schedule.segment_count && good; s++) {
    uint32_t used = lanes_used(p, s);
    for (uint32_t i = 0; i < p->schedule.lane_count && good; i++)
      if (used >> i & 1)
        good = ((i == 0 && p->direct) || lane_queue(p, i, &out)) &&
               (i == 0 || (event_need(p, &p->starts[i], false, &out) &&
                           event_need(p, &p->ends[i], false, &out)));
  }
  for (uint32_t i = 0; i < p->count && good; i++) {
    lze_Step *step = &p->steps[i];
    if (p->nodes[i].host) continue;
    if (p->nodes[i].awaited || (p->profile && !step->empty))
      good = event_need(p, &step->event, p->profile, &out);
    if (good && p->profile && step->parts > 1)
      good = event_need(p, &step->first, true, &out);
  }
  if (!good) lze_plan_fail(L, p, &out);
}

/* --- recording ------------------------------------------------------------ */

typedef struct Recorder {
  lze_Plan *p;
  int table;                    /* the plan's, on the stack */
  uint32_t segment, lane, parity, used;
  uint32_t number;              /* position of the list in the lane */
  lze_PlanList *list;               /* the list being recorded */
  ze_event_handle_t *waits;     /* room for the waits of any step */
  uint32_t *steps;              /* of the lane */
  uint32_t step_count;
} Recorder;

static void record_check(lua_State *L, const Recorder *r, bool good,
                         const lze_Outcome *out) {
  if (!good) lze_plan_fail(L, r->p, out);
}

/* Adds a list to the plan. */
static void lists_add(lua_State *L, lze_Plan *p, lze_PlanList *list) {
  bool good =
      list != NULL &&
      LZE_VECTOR_GROW(p->lists.items, p->lists.count, p->lists.capacity);
  if (!good && list != NULL) lze_disown(&list->o);
  lze_check_memory(L, good);
  p->lists.items[p->lists.count++] = list;
}

/* Reuses a previous list if it has these contents. Returns true on success. */
static bool list_keep(lua_State *L, const Recorder *r, uint64_t contents) {
  lze_Plan *p = r->p;
  for (uint32_t i = 0; i < p->old.count; i++) {
    lze_PlanList *t = p->old.items[i];
    if (t == NULL || t->segment != r->segment || t->lane != r->lane ||
        t->parity != r->parity || t->number != r->number ||
        t->contents != contents)
      continue;
    p->old.items[i] = NULL;
    lists_add(L, p, t);
    return true;
  }
  return false;
}

/* Begins a list of the lane. */
static void list_begin(lua_State *L, Recorder *r) {
  lze_Plan *p = r->p;
  lze_PlanList *t = lze_object_new(&list_class, sizeof *t, p->o.context);
  lists_add(L, p, t);
  t->segment = r->segment;
  t->lane = r->lane;
  t->parity = r->parity;
  t->number = r->number;
  const lze_Engine *e = &p->engines[p->schedule.lane_engine[r->lane]];
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .commandQueueGroupOrdinal = e->ordinal};
  lze_Outcome out;
  if (!ZE_TRY(&out, zeCommandListCreate, p->o.context->handle,
              e->device->handle, &desc, &t->handle)) {
    t->handle = NULL;
    lze_plan_fail(L, p, &out);
  }
  r->list = t;
}

static void record_barrier(lua_State *L, const Recorder *r,
                           const lze_EventSlot *signal,
                           const lze_EventSlot *wait) {
  lze_Outcome out;
  ze_event_handle_t handle = wait != NULL ? wait->handle : NULL;
  record_check(L, r,
               ZE_TRY(&out, zeCommandListAppendBarrier, r->list->handle,
                      signal != NULL ? signal->handle : NULL, wait != NULL,
                      wait != NULL ? &handle : NULL),
               &out);
}

static void record_reset(lua_State *L, const Recorder *r,
                         const lze_EventSlot *slot) {
  lze_Outcome out;
  if (slot == NULL) return;
  record_check(L, r,
               ZE_TRY(&out, zeCommandListAppendEventReset, r->list->handle,
                      slot->handle),
               &out);
}

/* Closes the list: it is complete and can be reused from now on. */
static void list_end(lua_State *L, Recorder *r, uint64_t contents) {
  lze_Outcome out;
  record_check(L, r, ZE_TRY(&out, zeCommandListClose, r->list->handle), &out);
  r->list->contents = contents;
  r->p->recorded++;
}

/* Records the start of a lane. If only one lane waits for an event, that lane
   resets it at once, so that a lane that runs ahead never sees an event of the
   previous run. Lane 0 resets the other events before it starts any other
   lane. */
static void record_head(lua_State *L, Recorder *r) {
  lze_Plan *p = r->p;
  const lze_EventSlot *go = r->lane > 0 ? p->starts[r->lane] : p->go;
  if (r->lane > 0 || !p->direct) {
    record_barrier(L, r, NULL, go);
    record_reset(L, r, go);
  }
  if (r->lane > 0) return;
  bool events = false;
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->nodes[i].segment != r->segment) continue;
    record_reset(L, r, p->steps[i].event);
    record_reset(L, r, p->steps[i].first);
    events = events || p->steps[i].event != NULL;
  }
  if (events) record_barrier(L, r, NULL, NULL);
  for (uint32_t i = 1; i < p->schedule.lane_count; i++)
    if (r->used >> i & 1) record_barrier(L, r, p->starts[i], NULL);
}

/* Records the end of a lane: lane 0 waits for the other lanes. */
static void record_tail(lua_State *L, Recorder *r) {
  lze_Plan *p = r->p;
  for (uint32_t i = 1; r->lane == 0 && i < p->schedule.lane_count; i++) {
    if (!(r->used >> i & 1)) continue;
    record_barrier(L, r, NULL, p->ends[i]);
    record_reset(L, r, p->ends[i]);
  }
  if (r->lane > 0 || !p->direct)
    record_barrier(L, r, r->lane == 0 ? p->done : p->ends[r->lane], NULL);
}

/* Finds the events of other lanes that step i waits for, and returns their
   number. */
static uint32_t step_waits(const Recorder *r, uint32_t i) {
  const lze_Plan *p = r->p;
  const lze_Node *node = &p->nodes[i];
  uint32_t waits = 0;
  for (uint32_t d = 0; d < node->deps.count; d++) {
    uint32_t j = node->deps.items[d];
    if (!p->nodes[j].host && p->nodes[j].segment == node->segment &&
        p->nodes[j].lane != node->lane)
      r->waits[waits++] = p->steps[j].event->handle;
  }
  return waits;
}

/* Returns a hash of everything that the list of `count` steps depends on. It
   may be the first list of its lane, and the last. */
static uint64_t list_contents(const Recorder *r, const uint32_t *steps,
                              uint32_t count, bool first, bool last) {
  const lze_Plan *p = r->p;
  uint64_t h = lze_hash(0, &p->placement, sizeof p->placement);
  h = lze_hash(h, &r->used, sizeof r->used);
  h = lze_hash(h, &first, sizeof first);
  h = lze_hash(h, &last, sizeof last);
  for (uint32_t i = 0; first && r->lane == 0 && i < p->count; i++)
    if (p->nodes[i].segment == r->segment) {
      h = lze_hash(h, &p->steps[i].event, sizeof p->steps[i].event);
      h = lze_hash(h, &p->steps[i].first, sizeof p->steps[i].first);
    }
  for (uint32_t k = 0; k < count; k++) {
    uint32_t i = steps[k];
    const lze_Step *s = &p->steps[i];
    uint32_t waits = step_waits(r, i);
    h = lze_hash(h, &i, sizeof i);
    h = lze_hash(h, &s->version, sizeof s->version);
    h = lze_hash(h, &p->nodes[i].barrier, sizeof p->nodes[i].barrier);
    h = lze_hash(h, &s->event, sizeof s->event);
    h = lze_hash(h, &waits, sizeof waits);
    h = lze_hash(h, r->waits, waits * sizeof *r->waits);
  }
  return h;
}

/* Appends a checked step; returns false with the outcome on failure. */
static bool step_append(const Recorder *r, const lze_Step *step,
                        const lze_Checked *check, ze_event_handle_t signal,
                        uint32_t waits, lze_Outcome *out) {
  ze_command_list_handle_t list = r->list->handle;
  if (check->kind == LZE_STEP_TASK)
    return lze_task_append(
        check->kernel, check->choice, list, signal,
        step->first != NULL ? step->first->handle : NULL, waits, r->waits, out);
  if (check->kind == LZE_STEP_COPY) {
    const lze_Copy *c = &check->copy;
    return ZE_TRY(out, zeCommandListAppendMemoryCopy, list,
                  c->to->pointer + c->to_offset,
                  c->from->pointer + c->from_offset, c->bytes, signal, waits,
                  r->waits);
  }
  const lze_Fill *f = &check->fill;
  return ZE_TRY(out, zeCommandListAppendMemoryFill, list,
                f->to->pointer + f->offset, f->pattern, f->pattern_bytes,
                f->bytes, signal, waits, r->waits);
}

/* Appends a step. Checks its values again, because a kernel retains only the
   values of the last check. */
static void record_step(lua_State *L, Recorder *r, uint32_t i) {
  lze_Plan *p = r->p;
  const lze_Node *node = &p->nodes[i];
  lze_Step *step = &p->steps[i];
  uint32_t waits = step_waits(r, i);
  if (node->barrier) record_barrier(L, r, NULL, NULL);
  ze_event_handle_t signal = step->event != NULL ? step->event->handle : NULL;
  lze_Outcome out;
  bool good = true;
  int top = lua_gettop(L);
  if (step->empty) {
    if (waits > 0 || signal != NULL)
      good = ZE_TRY(&out, zeCommandListAppendBarrier, r->list->handle, signal,
                    waits, r->waits);
    record_check(L, r, good, &out);
    return;
  }
  lze_getoption(L, r->table, "steps");
  lua_rawgeti(L, -1, (lua_Integer)i + 1);
  lze_getoption(L, top + 2, "n");
  int count = (int)lua_tointeger(L, -1);
  lze_getoption(L, r->table, "real");
  lua_rawgeti(L, -1, (lua_Integer)r->parity + 1);
  int map = lua_gettop(L);
  lze_push_values(L, top + 2, count, map, p->o.context, p->device);
  lze_Checked check = {.kind = step->kind, .name = step->name,
                       .device = step->device, .use = lze_use_nothing};
  if (lze_step_check(L, map + 1, count, &check) != LUA_OK) {
    if (lua_type(L, -1) == LUA_TSTRING)
      luaL_error(L, "task %s: %s", step->name, lua_tostring(L, -1));
    lua_error(L);
  }
  good = step_append(r, step, &check, signal, waits, &out);
  record_check(L, r, good, &out);
  lua_settop(L, top);
}

static void record_lane(lua_State *L, Recorder *r) {
  lze_Plan *p = r->p;
  r->step_count = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Node *n = &p->nodes[i];
    if (!n->host && n->segment == r->segment && n->lane == r->lane)
      r->steps[r->step_count++] = i;
  }
  uint32_t at = 0;
  for (r->number = 0; r->number == 0 || at < r->step_count; r->number++) {
    uint32_t count = r->step_count - at;
    if (count > LIST_STEPS) count = LIST_STEPS;
    bool first = at == 0, last = at + count == r->step_count;
    uint64_t contents = list_contents(r, r->steps + at, count, first, last);
    if (!list_keep(L, r, contents)) {
      list_begin(L, r);
      if (first) record_head(L, r);
      else record_barrier(L, r, NULL, NULL);
      for (uint32_t k = 0; k < count; k++) record_step(L, r, r->steps[at + k]);
      if (last) record_tail(L, r);
      list_end(L, r, contents);
    }
    at += count;
  }
}

void lze_plan_record(lua_State *L, lze_Plan *p, int table) {
  int top = lua_gettop(L);
  /* A run in flight keeps its lists alive, even if the plan drops them here. */
  lists_drop(p->old.items, &p->old.count);
  struct lze_PlanLists lists = p->lists;
  p->lists = p->old;
  p->old = lists;
  p->recorded = 0;
  plan_make_events(L, p);
  Recorder r = {.p = p, .table = lua_absindex(L, table)};
  r.waits = lua_newuserdatauv(L, (p->count + 1) * sizeof *r.waits, 0);
  r.steps = lua_newuserdatauv(L, (p->count + 1) * sizeof *r.steps, 0);
  for (r.parity = 0; r.parity < p->parities; r.parity++)
    for (r.segment = 0; r.segment < p->schedule.segment_count; r.segment++) {
      r.used = lanes_used(p, r.segment);
      for (r.lane = p->schedule.lane_count; r.lane-- > 0;)
        if (r.used >> r.lane & 1) record_lane(L, &r);
    }
  lua_settop(L, top);
  lze_Recording *recording = recording_new(p);
  lze_check_memory(L, recording != NULL);
  lze_recording_disown(p->recording);
  p->recording = recording;
  lists_drop(p->old.items, &p->old.count);
  lze_unreserve(p->reserve); /* a new one may need more room */
  p->reserve = NULL;
  p->checked = 0;
  p->stale = false;
}

/* --- running -------------------------------------------------------------- */

/* Submits a segment's lanes. Lane 0 starts the others, so it comes last; it is
   left out if it goes into a list. Adds the submitted lanes to *given. */
static bool submit_segment(lze_Plan *p, const lze_Recording *s, uint32_t parity,
                           uint32_t segment, uint32_t *given,
                           lze_Outcome *out) {
  for (uint32_t lane = s->lane_count; lane-- > (p->direct ? 1 : 0);) {
    const struct lze_Chain *chain = recording_chain(s, parity, segment, lane);
    if (chain->count == 0) continue;
    if (!ZE_TRY(out, zeCommandQueueExecuteCommandLists, p->queues[lane],
                chain->count, s->handles + chain->first, NULL)) {
      p->broken = true;
      return false;
    }
    *given |= 1u << lane;
  }
  return true;
}

/* Appends a barrier to the plan's queue, with a second attempt on failure:
   without it, the end of a run cannot be detected. */
static bool barrier_retry(const lze_Plan *p, ze_event_handle_t signal,
                          const lze_EventSlot *wait, lze_Outcome *out) {
  ze_event_handle_t handle = wait != NULL ? wait->handle : NULL;
  bool good = false;
  for (int i = 0; i < 2 && !good; i++)
    good = ZE_TRY(out, zeCommandListAppendBarrier, p->queue->list, signal,
                  wait != NULL, wait != NULL ? &handle : NULL);
  return good;
}

/* Lane 0 was refused and the run has failed: lets the other submitted lanes
   run to their ends in any order, and waits for them. Each segment resets the
   events that it waits for, so it does no harm to signal the events of other
   segments. */
static bool release_lanes(const lze_Plan *p, const lze_Recording *s,
                          uint32_t given, lze_Outcome *out) {
  bool good = true;
  for (uint32_t i = 0; i < s->lane_count && good; i++)
    if (given >> i & 1)
      good = barrier_retry(p, p->starts[i]->handle, NULL, out);
  for (uint32_t i = 0; i < p->count && good && given != 0; i++)
    if (p->steps[i].event != NULL)
      good = barrier_retry(p, p->steps[i].event->handle, NULL, out);
  for (uint32_t i = 0; i < s->lane_count && good; i++)
    if (given >> i & 1) good = barrier_retry(p, NULL, p->ends[i], out);
  return good;
}

bool lze_plan_finish(lze_Plan *p, lze_Command *c, lze_Outcome *out) {
  return ZE_TRY(out, zeCommandListAppendBarrier, p->queue->list,
                lze_command_event(c), 0, NULL);
}

/* Submits lane 0 of the segment to the list of the plan's queue itself, after
   its commands so far and the first `count` events that the run waits for. */
static bool submit_direct(lze_Plan *p, const lze_Recording *s,
                          const lze_RunEvents *events, uint32_t segment,
                          uint32_t parity, bool last, uint32_t count,
                          uint32_t *given, lze_Outcome *out) {
  const struct lze_Chain *chain = recording_chain(s, parity, segment, 0);
  if (!submit_segment(p, s, parity, segment, given, out)) return false;
  if (lze_outcome(out, "zeCommandListImmediateAppendCommandListsExp",
                  lze_append_lists(p->device->driver, p->queue->list,
                                   chain->count, s->handles + chain->first,
                                   last ? events->end : p->done->handle, count,
                                   count > 0 ? events->waits : NULL)))
    return true;
  p->broken = true;
  return false;
}

bool lze_plan_submit(lze_Plan *p, const lze_Recording *s,
                     const lze_RunEvents *events, uint32_t segment,
                     uint32_t parity, bool last, lze_Outcome *out) {
  lze_Queue *q = p->queue;
  uint32_t count = events->wait_count, given = 0;
  bool good = true;
  if (!q->native_order && count > 0) { /* later commands must not overtake */
    good = ZE_TRY(out, zeCommandListAppendBarrier, q->list, NULL, count,
                  events->waits);
    count = 0;
  }
  if (p->timed != events->tasks && segment == 0)
    lze_tasks_replace(p, events->tasks);
  /* The queue or the host, when it waits for `done`, must not see an earlier
     signal. */
  if (good && !last)
    good = ZE_TRY(out, zeEventHostReset, p->done->handle);
  else if (good && !p->direct)
    good = ZE_TRY(out, zeCommandListAppendEventReset, q->list,
                  p->done->handle);
  if (good && events->first != NULL && segment == 0) {
    good = ZE_TRY(out, zeCommandListAppendBarrier, q->list, events->first,
                  count, events->waits);
    count = 0;
  }
  if (good && p->direct)
    good = submit_direct(p, s, events, segment, parity, last, count, &given,
                         out);
  else
    good = good &&
           ZE_TRY(out, zeCommandListAppendBarrier, q->list, p->go->handle,
                  count, count > 0 ? events->waits : NULL) &&
           submit_segment(p, s, parity, segment, &given, out);
  if (good && (!last || p->direct)) return true;
  lze_Outcome end;
  if (!p->lost &&
      !((good || release_lanes(p, s, given, &end)) &&
        barrier_retry(p, events->end, good ? p->done : NULL, &end))) {
    if (good) *out = end;
    p->broken = p->lost = true;
  }
  return good && !p->lost;
}
