/*
 * lze_transfer.c - finds unnecessary copies between devices.
 * SPDX-License-Identifier: MIT
 *
 * A task that uses memory of another device, its home, uses a shadow of it on
 * its own device instead. All tasks on that device that use the same buffer
 * share the shadow. Therefore nothing is copied to a shadow that already
 * equals the home. Nothing is copied back unless a task has written it, nor if
 * it will be copied back again before any step uses the home.
 */
#include "base/lze_option.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"

#include <string.h>

/* The state of a shadow during the passes over the steps. */
typedef struct Known {
  lze_Access home, shadow;
  bool current;                 /* the shadow equals the home */
  bool dirty;                   /* the shadow has been written since */
  bool overwritten;             /* all of the home will be overwritten */
} Known;

/* Returns the access that a copy step reads or writes. */
static lze_Access step_side(const lze_Node *n, bool write) {
  for (uint32_t a = 0; a < n->access_count; a++)
    if (n->accesses[a].write == write) return n->accesses[a];
  return (lze_Access){NULL, 0, 0, false, false};
}

/* Checks all copy steps again, as if all were necessary. */
static void copies_restore(lua_State *L, lze_Plan *p, int table,
                           Known *known) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "steps");
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Step *s = &p->steps[i];
    if (s->copy == LZE_COPY_NONE) continue;
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    if (lze_plan_check_step(L, p, table, top + 2, i) != LUA_OK) lua_error(L);
    lua_settop(L, top + 1);
    if (s->copy == LZE_COPY_OUT)
      known[s->shadow].home = step_side(&p->nodes[i], false);
    else if (s->copy == LZE_COPY_IN)
      known[s->shadow].shadow = step_side(&p->nodes[i], true);
  }
  lua_settop(L, top);
}

/* Forward pass: finds copies of data that the shadow already has, or that has
   not changed. */
static void copies_follow(const lze_Plan *p, Known *known, bool *redundant) {
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Step *s = &p->steps[i];
    const lze_Node *n = &p->nodes[i];
    Known *own = s->copy != LZE_COPY_NONE ? &known[s->shadow] : NULL;
    switch (s->copy) {
      case LZE_COPY_OUT: redundant[i] = own->current; continue;
      case LZE_COPY_IN:
        redundant[i] = own->current;
        own->current = true;
        own->dirty = false;
        continue;
      case LZE_COPY_BACK_OUT: redundant[i] = !own->dirty; continue;
      case LZE_COPY_BACK_IN:
        redundant[i] = !own->dirty;
        if (!own->dirty) continue;
        own->dirty = false;
        own->current = true;
        break;
      default: break;
    }
    for (uint32_t v = 0; v < p->shadow_count; v++) {
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

/* Backward pass: finds data that will be copied back again before any step
   uses it. */
static void copies_precede(const lze_Plan *p, Known *known, bool *redundant) {
  for (uint32_t i = p->count; i-- > 0;) {
    const lze_Step *s = &p->steps[i];
    const lze_Node *n = &p->nodes[i];
    Known *own = NULL;
    if (redundant[i] || s->copy == LZE_COPY_IN ||
        s->copy == LZE_COPY_BACK_OUT)
      continue;
    if (s->copy == LZE_COPY_BACK_IN) {
      own = &known[s->shadow];
      if (own->overwritten) { /* also skip the step before: its other half */
        redundant[i] = redundant[i - 1] = true;
        continue;
      }
      own->overwritten = true;
    }
    for (uint32_t v = 0; v < p->shadow_count; v++) {
      Known *k = &known[v];
      if (k == own) continue;
      for (uint32_t a = 0; a < n->access_count; a++)
        if (lze_access_meets(&n->accesses[a], &k->home)) k->overwritten = false;
    }
  }
}

void lze_plan_skip_copies(lua_State *L, lze_Plan *p, int table) {
  if (p->shadow_count == 0) return;
  int top = lua_gettop(L);
  table = lua_absindex(L, table);
  Known *known = lua_newuserdatauv(L, p->shadow_count * sizeof *known, 0);
  bool *redundant = lua_newuserdatauv(L, p->count, 0);
  memset(known, 0, p->shadow_count * sizeof *known);
  memset(redundant, 0, p->count);
  copies_restore(L, p, table, known);
  copies_follow(p, known, redundant);
  copies_precede(p, known, redundant);
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    if (s->copy == LZE_COPY_NONE) continue;
    if (s->redundant != redundant[i]) s->version++;
    s->redundant = redundant[i];
    if (!redundant[i]) continue;
    s->empty = true;
    s->bytes = 0;
    p->nodes[i].access_count = 0;
  }
  lua_settop(L, top);
}
