/*
 * lze_transfer.c - which transfers of a plan need not be made.
 * SPDX-License-Identifier: MIT
 *
 * A task that uses memory of another device has it brought before and taken
 * back after it.  What it is brought to, the shadow, belongs to all tasks of
 * that device which use the same buffer.  So nothing is brought while the
 * shadow still is what the home has, and nothing taken back that the task has
 * not written, or that is taken back again before anybody looks at the home.
 */
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "plan/lze_step.h"
#include "plan/lze_plan.h"
#include "plan/lze_schedule.h"
#include "run/lze_buffer.h"

#include <string.h>

/* What is known of a visit while its plan's steps are gone through. */
typedef struct Known {
  lze_Access home, shadow;
  bool current;                 /* the shadow is what the home has */
  bool dirty;                   /* it has been written since */
  bool doomed;                  /* the home will be written as a whole */
} Known;

/* What a step reads, or writes: that of a copy. */
static lze_Access step_side(const lze_Node *n, bool write) {
  for (uint32_t a = 0; a < n->access_count; a++)
    if (n->accesses[a].write == write) return n->accesses[a];
  return (lze_Access){NULL, 0, 0, false, false};
}

/* Steps of a transfer as if each were made. */
static void transfers_restore(lua_State *L, lze_Plan *p, int table,
                              Known *known) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "steps");
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Step *s = &p->steps[i];
    if (s->leg == LZE_LEG_NONE) continue;
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    if (lze_plan_look(L, p, table, top + 2, i) != LUA_OK) lua_error(L);
    lua_settop(L, top + 1);
    if (s->leg == LZE_LEG_LEAVES)
      known[s->visit].home = step_side(&p->nodes[i], false);
    else if (s->leg == LZE_LEG_ARRIVES)
      known[s->visit].shadow = step_side(&p->nodes[i], true);
  }
  lua_settop(L, top);
}

/* Forwards: what is there already, and what has not changed. */
static void transfers_follow(const lze_Plan *p, Known *known,
                             bool *redundant) {
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Step *s = &p->steps[i];
    const lze_Node *n = &p->nodes[i];
    Known *own = s->leg != LZE_LEG_NONE ? &known[s->visit] : NULL;
    switch (s->leg) {
      case LZE_LEG_LEAVES: redundant[i] = own->current; continue;
      case LZE_LEG_ARRIVES:
        redundant[i] = own->current;
        own->current = true;
        own->dirty = false;
        continue;
      case LZE_LEG_RETURNS: redundant[i] = !own->dirty; continue;
      case LZE_LEG_BACK:
        redundant[i] = !own->dirty;
        if (!own->dirty) continue;
        own->dirty = false;
        own->current = true;
        break;
      default: break;
    }
    for (uint32_t v = 0; v < p->visit_count; v++) {
      Known *k = &known[v];
      if (s->kind == LZE_STEP_CALL) k->current = false;
      for (uint32_t a = 0; a < n->access_count; a++) {
        if (!n->accesses[a].write) continue;
        if (k != own && lze_access_meets(&n->accesses[a], &k->home))
          k->current = false;
        if (lze_access_meets(&n->accesses[a], &k->shadow)) k->dirty = true;
      }
    }
  }
}

/* Backwards: what is taken back once more before anybody has looked. */
static void transfers_precede(const lze_Plan *p, Known *known,
                              bool *redundant) {
  for (uint32_t i = p->count; i-- > 0;) {
    const lze_Step *s = &p->steps[i];
    const lze_Node *n = &p->nodes[i];
    Known *own = NULL;
    if (redundant[i] || s->leg == LZE_LEG_ARRIVES ||
        s->leg == LZE_LEG_RETURNS)
      continue;
    if (s->leg == LZE_LEG_BACK) {
      own = &known[s->visit];
      if (own->doomed) { /* and so is the step before, its other half */
        redundant[i] = redundant[i - 1] = true;
        continue;
      }
      own->doomed = true;
    }
    for (uint32_t v = 0; v < p->visit_count; v++) {
      Known *k = &known[v];
      if (k == own) continue;
      if (s->kind == LZE_STEP_CALL) k->doomed = false;
      for (uint32_t a = 0; a < n->access_count; a++)
        if (lze_access_meets(&n->accesses[a], &k->home)) k->doomed = false;
    }
  }
}

void lze_plan_spare(lua_State *L, lze_Plan *p, int table) {
  if (p->visit_count == 0) return;
  int top = lua_gettop(L);
  table = lua_absindex(L, table);
  Known *known = lua_newuserdatauv(L, p->visit_count * sizeof *known, 0);
  bool *redundant = lua_newuserdatauv(L, p->count, 0);
  memset(known, 0, p->visit_count * sizeof *known);
  memset(redundant, 0, p->count);
  transfers_restore(L, p, table, known);
  transfers_follow(p, known, redundant);
  transfers_precede(p, known, redundant);
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    if (s->leg == LZE_LEG_NONE) continue;
    if (s->redundant != redundant[i]) s->version++;
    s->redundant = redundant[i];
    if (!redundant[i]) continue;
    s->empty = true;
    s->bytes = 0;
    p->nodes[i].access_count = 0;
  }
  lua_settop(L, top);
}
