/*
 * lua_versions.h - what Lua's versions do differently, in one place.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_VERSIONS_H
#define LUA_VERSIONS_H

#include <lua.h>

/* How the collector is held back: what it has to know of before it is let go
   again, and in *owed of all that went before. */
typedef struct lua_Held {
  size_t used;                  /* bytes, at the start */
} lua_Held;

#if LUA_VERSION_NUM >= 505

/* One step of the collector. */
static inline void lua_step(lua_State *L) {
  lua_gc(L, LUA_GCSTEP, (size_t)0);
}

static inline size_t lua_used(lua_State *L) {
  return (size_t)lua_gc(L, LUA_GCCOUNT) << 10 |
         (size_t)lua_gc(L, LUA_GCCOUNTB);
}

/* The collector makes no step until it is let go. */
static inline void lua_hold(lua_State *L, lua_Held *held) {
  held->used = lua_used(L);
  lua_gc(L, LUA_GCSTOP);
}

/* A step is for so many bytes, by default. */
enum { LUA_STEP_BYTES = 10 << 10 };

/* It forgets what was allocated meanwhile, so a step is made for that here. */
static inline void lua_let_go(lua_State *L, const lua_Held *held,
                              size_t *owed) {
  size_t used = lua_used(L);
  if (used > held->used) *owed += used - held->used;
  lua_gc(L, LUA_GCRESTART);
  if (*owed < LUA_STEP_BYTES) return;
  *owed = 0;
  lua_step(L);
}

static inline lua_State *lua_state_of(lua_Alloc f, void *data) {
  return lua_newstate(f, data, 0);
}

/* Where memory runs out in luaL_error, it raises another string than that. */
enum { LUA_LOSES_MESSAGES = 1 };

#else

static inline void lua_step(lua_State *L) { lua_gc(L, LUA_GCSTEP, 0); }

/* So many KB the collector believes to have in reserve: it makes no step, and
   what is allocated meanwhile still counts afterwards.  LUA_GCSTOP and
   LUA_GCRESTART would forget the debt instead: a program whose allocations all
   are made meanwhile would never collect. */
enum { LUA_RESERVE_KB = 1 << 30 };

static inline void lua_hold(lua_State *L, lua_Held *held) {
  (void)held;
  lua_gc(L, LUA_GCSTEP, -LUA_RESERVE_KB);
}

static inline void lua_let_go(lua_State *L, const lua_Held *held,
                              size_t *owed) {
  (void)held;
  (void)owed;
  lua_gc(L, LUA_GCSTEP, LUA_RESERVE_KB);
}

static inline lua_State *lua_state_of(lua_Alloc f, void *data) {
  return lua_newstate(f, data);
}

enum { LUA_LOSES_MESSAGES = 0 };

#endif

#endif
