/*
 * lze_report.c - descriptions of a plan, and the times of its last run.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_embed.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_loader.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <string.h>

#define REPORT_TNAME "lze.report"

/* --- measuring ------------------------------------------------------------ */

/* The times of a whole run. */
typedef struct Totals {
  bool measured;
  uint64_t total_ns;            /* from the first start to the last end */
  uint64_t busy_ns;             /* sum over all steps */
  uint64_t critical_ns;         /* of the longest chain */
  uint32_t critical_end;        /* its last step */
  uint64_t origin;              /* the first start */
} Totals;

/* Gets when step i of the last run, which is over, began and how long it took;
   a start of 0 if it is not measured. Returns false if the driver does not
   report it. */
static bool step_times(const lze_Plan *p, uint32_t i, uint64_t *start_ns,
                       uint64_t *ns) {
  const lze_Step *s = &p->steps[i];
  *start_ns = *ns = 0;
  if (s->event == NULL || s->empty) return true;
  const lze_DeviceInfo *d = p->engines[p->nodes[i].engine].device;
  return lze_event_times(p->o.context, d, lze_step_first(s), s->event, start_ns,
                         ns);
}

/* Reads the times of all steps after the last run is over. */
static bool steps_measure(lze_Plan *p) {
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    s->wait_ns = 0;
    s->critical = false;
    if (!step_times(p, i, &s->start_ns, &s->ns)) return false;
  }
  return true;
}

/* Finds the longest chain, by time, of steps that wait for each other. */
static void critical_find(lze_Plan *p, uint64_t *longest, uint32_t *before,
                          Totals *t) {
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Node *n = &p->nodes[i];
    longest[i] = 0;
    before[i] = UINT32_MAX;
    for (uint32_t d = 0; d < n->deps.count; d++) {
      uint32_t j = n->deps.items[d];
      if (before[i] != UINT32_MAX && longest[j] <= longest[i]) continue;
      longest[i] = longest[j];
      before[i] = j;
    }
    longest[i] += p->steps[i].ns;
    if (i == 0 || longest[i] > t->critical_ns) {
      t->critical_ns = longest[i];
      t->critical_end = i;
    }
  }
  for (uint32_t i = t->critical_end; i < p->count; i = before[i])
    p->steps[i].critical = true;
}

/* Measures the last run of the plan at 1 after a wait, if profile = true.
   Raises if the plan was closed during the wait. */
static Totals plan_measure(lua_State *L, lze_Plan *p) {
  Totals t = {0};
  if (!p->profile || p->last == NULL || p->count == 0) return t;
  lze_command_wait(L, p->last, UINT64_MAX);
  lze_check_plan(L);
  uint64_t *longest =
      lua_newuserdatauv(L, p->count * (sizeof *longest + sizeof(uint32_t)), 0);
  t.measured = p->last->status == LZE_DONE && steps_measure(p);
  if (t.measured) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < p->count; i++) {
      lze_Step *s = &p->steps[i];
      if (s->start_ns == 0) continue;
      if (t.origin == 0 || s->start_ns < t.origin) t.origin = s->start_ns;
      if (s->start_ns + s->ns > end) end = s->start_ns + s->ns;
      t.busy_ns += s->ns;
      uint64_t ready = 0;
      const lze_Numbers *deps = &p->nodes[i].deps;
      for (uint32_t d = 0; d < deps->count; d++) {
        const lze_Step *dep = &p->steps[deps->items[d]];
        if (dep->start_ns + dep->ns > ready) ready = dep->start_ns + dep->ns;
      }
      s->wait_ns = ready != 0 && s->start_ns > ready ? s->start_ns - ready : 0;
    }
    t.total_ns = end - t.origin;
    critical_find(p, longest, (uint32_t *)(longest + p->count), &t);
  }
  lua_pop(L, 1);
  return t;
}

/* --- the table ------------------------------------------------------------ */

static void set_integer(lua_State *L, const char *key, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, key);
}

static void set_string(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void push_step(lua_State *L, const lze_Plan *p, const Totals *t,
                      uint32_t i) {
  const lze_Step *s = &p->steps[i];
  const lze_Node *n = &p->nodes[i];
  lua_createtable(L, 0, 12);
  set_string(L, "name", s->name);
  set_string(L, "kind", lze_step_names[s->kind]);
  set_integer(L, "bytes", s->bytes);
  if (!n->host) {
    set_integer(L, "lane", n->lane + 1);
    set_string(L, "device", p->engines[n->engine].device->props.name);
  }
  set_integer(L, "segment", n->segment + 1);
  if (s->why != NULL) {
    lua_createtable(L, 3, 0);
    for (int d = 0; d < 3; d++) {
      lua_pushinteger(L, s->group[d]);
      lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, "group");
    set_integer(L, "parts", s->parts);
    set_string(L, "why", s->why);
  }
  lua_createtable(L, (int)n->deps.count, 0);
  for (uint32_t d = 0; d < n->deps.count; d++) {
    lua_pushstring(L, p->steps[n->deps.items[d]].name);
    lua_rawseti(L, -2, (lua_Integer)d + 1);
  }
  lua_setfield(L, -2, "after");
  if (!t->measured || s->start_ns == 0) return;
  set_integer(L, "ns", s->ns);
  set_integer(L, "start_ns", s->start_ns - t->origin);
  set_integer(L, "wait_ns", s->wait_ns);
  lua_pushboolean(L, s->critical);
  lua_setfield(L, -2, "critical");
}

/* Describes the inputs or outputs that are not steps. The plan's table is at
   2; the descriptions are appended to the table on the top of the stack. */
static void add_transfers(lua_State *L, const char *key) {
  bool input = strcmp(key, "inputs") == 0;
  int list = lua_gettop(L);
  lze_getoption(L, 2, key);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list + 1, i);
    for (int v = 1; v <= 3; v++) lua_rawgeti(L, list + 2, v);
    const lze_Buffer *b = lze_test_buffer(L, list + 3);
    bool in_place = lua_isnil(L, list + 5);
    lua_createtable(L, 0, 6);
    lua_rawgeti(L, list + 2, 4);
    lua_setfield(L, -2, "name");
    set_string(L, "direction", input ? "input" : "output");
    set_string(L, "when", lua_tostring(L, list + 4));
    set_string(L, "how", in_place ? "in place"
                         : input  ? "copied before the run"
                                  : "copied after the run");
    set_integer(L, "bytes",
                in_place ? 0 : (uint64_t)b->count * b->type->bytes);
    lua_rawgeti(L, list + 2, LZE_IO_NS);
    lua_setfield(L, -2, "ns");
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
    lua_settop(L, list + 1);
  }
  lua_settop(L, list);
}

/* Pushes the report of the plan at 1; returns false if its last run was not
   measured. [-0, +1] */
static bool report_push(lua_State *L) {
  lua_settop(L, 1);
  lze_Plan *p = lze_check_plan(L);
  lua_getiuservalue(L, 1, 1);
  Totals t = plan_measure(L, p);
  lua_createtable(L, 0, 16);
  luaL_setmetatable(L, REPORT_TNAME);
  set_string(L, "name", p->name);
  set_string(L, "device", p->device->props.name);
  set_integer(L, "runs", p->runs);
  lua_createtable(L, (int)p->count, 0);
  lua_Integer tasks = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->steps[i].redundant) continue;
    push_step(L, p, &t, i);
    lua_rawseti(L, -2, ++tasks);
  }
  lua_setfield(L, -2, "tasks");
  lua_newtable(L);
  add_transfers(L, "inputs");
  add_transfers(L, "outputs");
  lua_setfield(L, -2, "transfers");
  uint32_t lanes = 0;
  for (uint32_t i = 0; i < p->count; i++)
    if (!p->nodes[i].host) lanes |= 1u << p->nodes[i].lane;
  set_integer(L, "lanes", (uint64_t)__builtin_popcount(lanes));
  set_integer(L, "segments", p->schedule.segment_count);
  set_integer(L, "lists", p->lists.count);
  set_integer(L, "recorded", p->recorded);
  uint64_t captured = 0, transient = 0;
  for (uint32_t i = 0; i < p->storage_count; i++)
    captured += p->storages[i]->bytes;
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++)
    if (p->arenas[i] != NULL) transient += p->arenas[i]->bytes;
  set_integer(L, "captured_bytes", captured - transient);
  set_integer(L, "transient_bytes", transient);
  set_integer(L, "unshared_bytes", p->transient_bytes);
  if (!t.measured) return false;
  set_integer(L, "total_ns", t.total_ns);
  set_integer(L, "busy_ns", t.busy_ns);
  set_integer(L, "critical_ns", t.critical_ns);
  lua_pushnumber(L, t.total_ns > 0 ? (lua_Number)t.busy_ns /
                                         (lua_Number)t.total_ns : 0);
  lua_setfield(L, -2, "overlap");
  lua_newtable(L);
  for (uint32_t i = 0; i < p->count; i++) {
    if (!p->steps[i].critical) continue;
    lua_pushstring(L, p->steps[i].name);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "critical_path");
  return true;
}

/* plan:report() -> table: describes the plan and, with profile = true, the
   times of its last run, after waiting for it. tostring formats it as a
   table. */
int lze_plan_report(lua_State *L) {
  report_push(L);
  return 1;
}

/* --- text formats --------------------------------------------------------- */

static const unsigned char report_text[] = {
#include "lua/report.h"
};
static const unsigned char json_text[] = {
#include "lua/json.h"
};

int lze_push_json(lua_State *L) {
  static const lze_Script json = {"lze json.lua", json_text, sizeof json_text,
                                  NULL};
  lua_newtable(L);
  lze_script_part(L, &json);
  return 1;
}

static const lze_Method primitives[] = {{"json", lze_push_json, LZE_UNGUARDED},
                                        {NULL, NULL, LZE_UNGUARDED}};
static const lze_Script report_script = {"lze report.lua", report_text,
                                         sizeof report_text, primitives};

static int report_tostring(lua_State *L) {
  lze_argexpected(L, lua_istable(L, 1), 1, "table");
  lua_settop(L, 1);
  lze_script_call(L, &report_script, "text", 1, 1);
  return 1;
}

/* plan:json() -> the report as JSON */
int lze_plan_json(lua_State *L) {
  report_push(L);
  lze_script_call(L, &report_script, "json", 1, 1);
  return 1;
}

/* plan:trace() -> the last run as JSON for Perfetto or chrome://tracing;
   requires profile = true at compilation. */
int lze_plan_trace(lua_State *L) {
  const lze_Plan *p = lze_check_plan(L);
  if (!p->profile)
    return luaL_error(L, "%s: a trace needs profile = true when it is "
                         "compiled", p->name);
  if (p->last == NULL)
    return luaL_error(L, "%s: a trace needs a run", p->name);
  if (!report_push(L))
    return luaL_error(L, "%s: the last run could not be measured", p->name);
  lua_newtable(L); /* the lanes that have queues */
  lua_Integer n = 0;
  for (uint32_t lane = 0; lane < p->schedule.lane_count; lane++) {
    if (p->queues[lane] == NULL) continue;
    lua_pushinteger(L, (lua_Integer)lane + 1);
    lua_rawseti(L, -2, ++n);
  }
  lze_script_call(L, &report_script, "trace", 2, 1);
  return 1;
}

/* plan:dot() -> the graph of dependencies for Graphviz. With profile = true
   and after a run, also shows the time of each step, with the longest chain in
   bold. */
int lze_plan_dot(lua_State *L) {
  report_push(L);
  lze_script_call(L, &report_script, "dot", 1, 1);
  return 1;
}

void lze_open_report(lua_State *L) {
  static const lze_Method metamethods[] = {
      {"__tostring", report_tostring, LZE_UNGUARDED},
      {NULL, NULL, LZE_UNGUARDED}};
  luaL_newmetatable(L, REPORT_TNAME);
  lze_set_methods(L, metamethods, 0);
  lua_pop(L, 1);
}
