/*
 * lze_arena.c - the memory of plans: the accesses of a run, the places of
 * transient buffers, and swapped buffers.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "base/lze_types.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"

#include <stdlib.h>

/* --- swapped buffers ------------------------------------------------------ */

lze_Access lze_buffer_span(const lze_Buffer *b) {
  return (lze_Access){b->storage, b->offset,
                      b->offset + (size_t)b->count * b->type->bytes, true,
                      true};
}

bool lze_swap_access(const lze_Plan *p, lze_Access *a, bool *split) {
  for (uint32_t i = 0; i < p->swap_count; i++)
    for (int side = 0; side < 2; side++) {
      const lze_Access *from = side == 0 ? &p->swaps[i].a : &p->swaps[i].b;
      const lze_Access *to = side == 0 ? &p->swaps[i].b : &p->swaps[i].a;
      if (!lze_access_meets(a, from)) continue;
      *split = a->first < from->first || a->last > from->last;
      a->storage = to->storage;
      a->first = a->first - from->first + to->first;
      a->last = a->last - from->first + to->first;
      return true;
    }
  return false;
}

const char *lze_swap_problem(const lze_Plan *p, const lze_DeviceInfo *device,
                             const lze_Access *all, uint32_t count) {
  for (uint32_t a = 0; a < count; a++) {
    lze_Access moved = all[a];
    bool split;
    if (!lze_swap_access(p, &moved, &split)) continue;
    if (split) return "it uses more than the buffer that is swapped";
    if (device != NULL && !lze_device_reaches(device, moved.storage))
      return "its device cannot reach the memory of a buffer that is swapped";
  }
  return NULL;
}

/* Pushes the replacement of the value at stack index `value` in runs with
   swapped buffers; the map at `real` may already hold it. If the value is not
   swapped, pushes nothing and returns false. [-0, +0|1] */
static bool swap_push(lua_State *L, const lze_Plan *p, int value, int real) {
  lua_pushvalue(L, value);
  if (lua_rawget(L, real) != LUA_TNIL) return true;
  lua_pop(L, 1);
  const lze_Buffer *b = lze_test_buffer(L, value);
  if (b == NULL || !lze_buffer_is_open(b)) return false;
  lze_Access span = lze_buffer_span(b);
  bool split = false;
  if (!lze_swap_access(p, &span, &split) || split) return false;
  lze_push_storage_window(L, span.storage, span.first, b->type, b->count);
  return true;
}

/* Adds the replacement of the value at the top of the stack to the map. */
static void swap_value(lua_State *L, const lze_Plan *p, int real) {
  int value = lua_gettop(L);
  if (!swap_push(L, p, value, real)) return;
  lua_pushvalue(L, value);
  lua_insert(L, -2);
  lua_rawset(L, real);
}

void lze_plan_swapped(lua_State *L, const lze_Plan *p, int table, int index,
                      uint32_t parity) {
  int top = lua_gettop(L);
  index = lua_absindex(L, index);
  lze_getoption(L, table, "real");
  lua_rawgeti(L, -1, 2);
  if (parity == 0 || !swap_push(L, p, index, top + 2))
    lua_pushvalue(L, index);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

/* Calls f for each value of the steps, and for each of their `uses`. The value
   is at the top of the stack; anything that f pushes is dropped. */
static void each_value(lua_State *L, const lze_Plan *p, int table,
                       void (*f)(lua_State *L, const lze_Plan *p, int map),
                       int map) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "steps");
  for (uint32_t i = 0; i < p->count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    lze_getoption(L, -1, "n");
    lua_Integer count = lua_tointeger(L, -1);
    for (lua_Integer v = 1; v <= count; v++) {
      lua_rawgeti(L, top + 2, v);
      f(L, p, map);
      lua_settop(L, top + 4);
      if (v != 2 || !lua_istable(L, -1) ||
          lze_getoption(L, -1, "uses") == LUA_TNIL)
        continue;
      f(L, p, map);
      lua_settop(L, top + 5);
      lua_Integer uses =
          lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
      for (lua_Integer u = 1; u <= uses; u++) {
        lua_rawgeti(L, top + 5, u);
        f(L, p, map);
        lua_settop(L, top + 5);
      }
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* Fills the map for runs with swapped buffers. For the swapped buffers
   themselves, it uses the script's userdata. */
static void plan_swap_values(lua_State *L, const lze_Plan *p, int table,
                             int real) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "swaps");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, real);
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_rawset(L, real);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  each_value(L, p, table, swap_value, real);
}

/* --- memory ------------------------------------------------------------- */

/* Adds an owner to a storage, unless the plan owns it already. */
static void plan_own(lze_Plan *p, lze_Storage *s) {
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (p->storages[i] == s) return;
  p->storages[p->storage_count++] = s;
  lze_own(&s->o);
}

static bool plan_is_arena(const lze_Plan *p, const lze_Storage *s) {
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++)
    if (p->arenas[i] == s) return true;
  return false;
}

bool lze_plan_is_in(const lze_Plan *p, const lze_Access *a, uint32_t parity,
                    const lze_Storage *s) {
  lze_Access at = *a;
  bool split;
  /* A stub has no memory; the buffer it represents is in an arena. */
  if (at.storage->pointer == NULL && at.storage->image == NULL)
    return at.first < at.last && plan_is_arena(p, s);
  if (parity != 0) lze_swap_access(p, &at, &split);
  return at.storage == s;
}

/* Returns true if it is the stub of one of these transient buffers. */
static bool storage_is_stub(const lze_Storage *s, const lze_Transient *items,
                            uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (items[i].storage == s) return true;
  return false;
}

/* Adds x to the accesses, merging it with another if possible. Returns the new
   number of accesses. */
static uint32_t capture(lze_Access *all, uint32_t count, const lze_Access *x) {
  uint32_t j = 0;
  while (j < count && (all[j].storage != x->storage || all[j].first > x->last ||
                       all[j].last < x->first || all[j].write != x->write))
    j++;
  if (j == count) {
    all[count] = *x;
    return count + 1;
  }
  if (x->first < all[j].first) all[j].first = x->first;
  if (x->last > all[j].last) all[j].last = x->last;
  return count;
}

/* Merges the accesses of all steps into the accesses of a run. Owns their
   storages, and disowns the previous ones. */
static void plan_capture(lua_State *L, lze_Plan *p, const lze_Transient *items,
                         uint32_t n) {
  size_t total = LZE_MAX_PLACES;
  for (uint32_t i = 0; i < p->count; i++)
    total += p->nodes[i].access_count * p->parities;
  lze_Access *all = malloc(total * sizeof *all);
  lze_Storage **storages = malloc(total * sizeof(lze_Storage *));
  if (all == NULL || storages == NULL) {
    free(all);
    free(storages);
    lze_no_memory(L);
  }
  lze_Storage **old = p->storages;
  uint32_t old_count = p->storage_count, count = 0;
  p->storages = storages;
  p->storage_count = 0;
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++) {
    if (p->arenas[i] == NULL) continue;
    all[count++] =
        (lze_Access){p->arenas[i], 0, p->arenas[i]->bytes, true, true};
    plan_own(p, p->arenas[i]);
  }
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t a = 0; a < p->nodes[i].access_count * p->parities; a++) {
      lze_Access x = p->nodes[i].accesses[a / p->parities];
      bool split;
      if (storage_is_stub(x.storage, items, n) ||
          (a % p->parities == 1 && !lze_swap_access(p, &x, &split)))
        continue;
      plan_own(p, x.storage);
      count = capture(all, count, &x);
    }
  free(p->captured);
  p->captured = all;
  p->captured_count = count;
  for (uint32_t i = 0; i < old_count; i++) lze_disown(&old[i]->o);
  free(old);
}

/* Returns the number of the arena for a transient buffer. */
static uint32_t scratch_place(const lze_Plan *p, const lze_Scratch *s) {
  if (s->host) return 1;
  for (uint32_t e = 0; s->device != NULL && e < p->engine_count; e++)
    if (p->engines[e].device == s->device) return e + 2;
  return 0;
}

/* Returns true if all of the plan's devices can use memory of its first one. */
static bool plan_is_of_peers(const lze_Plan *p) {
  for (uint32_t e = 0; e < p->engine_count; e++)
    if (!lze_device_peers(p->engines[e].device, p->device)) return false;
  return true;
}

/* Makes the arena of a place, unless a large enough one exists. */
static void plan_arena(lua_State *L, lze_Plan *p, int arenas, uint32_t place,
                       size_t bytes) {
  if (bytes == 0 ||
      (p->arenas[place] != NULL && p->arenas[place]->bytes >= bytes))
    return;
  lze_Usage usage = place == 1                ? LZE_HOST
                    : place >= 2 || !p->spread ? LZE_DEVICE
                    : plan_is_of_peers(p)      ? LZE_SHARED
                                               : LZE_HOST;
  const lze_DeviceInfo *device =
      place >= 2 ? p->engines[place - 2].device : p->device;
  lze_Storage *arena = lze_push_buffer(L, p->o.context, device, usage,
                                       lze_type_of(LZE_U8, 1), bytes)
                           ->storage;
  /* Finalizers may have run to make room. */
  if (p->o.closed) luaL_error(L, "the plan is closed");
  p->arenas[place] = arena;
  lua_rawseti(L, arenas, (lua_Integer)place + 1);
}

/* Adds the value at the top of the stack to the set if it is a transient
   buffer. */
static void value_note(lua_State *L, const lze_Plan *p, int set) {
  (void)p;
  if (lze_test_box(L, -1, lze_scratch_kind) == NULL) return;
  lua_pushvalue(L, -1);
  lua_pushboolean(L, 1);
  lua_rawset(L, set);
}

/* Removes the transient buffers that no step uses any more. */
static void plan_forget(lua_State *L, const lze_Plan *p, int table, int stubs) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "real");
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_newtable(L);
  each_value(L, p, table, value_note, top + 4);
  for (lua_pushnil(L); lua_next(L, stubs);) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, top + 4) == LUA_TNIL)
      for (int map = top + 1; map <= top + 3; map++) {
        lua_pushvalue(L, top + 5);
        lua_pushnil(L);
        lua_rawset(L, map == top + 1 ? stubs : map);
      }
    lua_pop(L, 1);
  }
  lua_settop(L, top);
}

void lze_plan_place(lua_State *L, lze_Plan *p, int table) {
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  int top = lua_gettop(L);
  lze_getoption(L, table, "stubs");
  int stubs = lua_gettop(L);
  plan_forget(L, p, table, stubs);
  uint32_t n = 0, all = 0;
  for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) all++;
  lze_Transient *items = lua_newuserdatauv(L, (all + 1) * sizeof *items, 0);
  uint32_t first[LZE_MAX_PLACES + 1];
  size_t bytes[LZE_MAX_PLACES], used = 0, unshared = 0;
  for (uint32_t place = 0; place < LZE_MAX_PLACES; place++) {
    first[place] = n;
    for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) {
      const lze_Scratch *s = lze_test_box(L, -2, lze_scratch_kind);
      const lze_Buffer *stub = lze_test_buffer(L, -1);
      if (scratch_place(p, s) != place) continue;
      size_t size = (size_t)stub->count * stub->type->bytes;
      items[n++] = (lze_Transient){.storage = stub->storage, .bytes = size};
      unshared += size;
    }
    bytes[place] =
        lze_schedule_place(&p->schedule, p->nodes, p->count,
                           items + first[place], n - first[place],
                           LZE_PLACE_ALIGNMENT);
    lze_check_memory(L, bytes[place] != SIZE_MAX);
    used += bytes[place];
  }
  p->transient_bytes = unshared;
  plan_capture(L, p, items, n);
  size_t transient = used;
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (!plan_is_arena(p, p->storages[i])) used += p->storages[i]->bytes;
  if (p->limit >= 0 && used > (size_t)p->limit)
    luaL_error(L, "%s: memory_bytes: it needs %I bytes, %I for its transient "
                  "buffers, of %I",
               p->name, (LUAI_UACINT)used, (LUAI_UACINT)transient,
               (LUAI_UACINT)p->limit);
  lze_getoption(L, table, "arenas");
  int arenas = lua_gettop(L);
  for (uint32_t place = 0; place < LZE_MAX_PLACES; place++)
    plan_arena(L, p, arenas, place, bytes[place]);
  plan_capture(L, p, items, n);
  lze_getoption(L, table, "real");
  for (int parity = 1; parity <= 2; parity++)
    lua_rawgeti(L, arenas + 1, parity);
  for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) {
    int key = lua_gettop(L) - 1;
    const lze_Scratch *s = lze_test_box(L, key, lze_scratch_kind);
    const lze_Buffer *stub = lze_test_buffer(L, key + 1);
    uint32_t i = 0;
    while (items[i].storage != stub->storage) i++;
    if (lua_rawgeti(L, arenas, (lua_Integer)scratch_place(p, s) + 1) !=
        LUA_TNIL)
      lze_push_window(L, key + 2, items[i].offset, stub->type, stub->count);
    else
      lua_pushvalue(L, key + 1); /* it has no bytes */
    for (int parity = 1; parity <= 2; parity++) {
      lua_pushvalue(L, key);
      lua_pushvalue(L, key + 3);
      lua_rawset(L, arenas + 1 + parity);
    }
    lua_settop(L, key + 1);
  }
  if (p->parities == 2) plan_swap_values(L, p, table, arenas + 3);
  p->placement = 0;
  for (uint32_t place = 0; place < LZE_MAX_PLACES; place++) {
    const lze_Storage *s = p->arenas[place];
    uint64_t serial = s != NULL ? s->serial : 0;
    p->placement = lze_hash(p->placement, &serial, sizeof serial);
  }
  for (uint32_t i = 0; i < n; i++)
    p->placement = lze_hash(p->placement, &items[i], sizeof items[i]);
  lua_settop(L, top);
}
