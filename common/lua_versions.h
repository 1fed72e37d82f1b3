/*
 * lua_versions.h - the differences between Lua's versions, in one place.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_VERSIONS_H
#define LUA_VERSIONS_H

#include <lua.h>

/* How the CallInfo of an active function begins, in all releases of 5.4 and
   5.5. */
typedef struct lua_Active {
  void *function, *top;
  struct lua_Active *previous, *next;
  const void *instruction;      /* the next one of a Lua function */
} lua_Active;

/* Which instruction an active Lua function is at.  It is only good to be
   compared: lua_getinfo tells lines apart, but not the calls in one line. */
static inline const void *lua_instruction(const lua_Debug *ar) {
  return ((const lua_Active *)(const void *)ar->i_ci)->instruction;
}

/* The collector's state before it was paused, which lua_let_go restores; *owed
   collects the debt of earlier pauses. */
typedef struct lua_Held {
  size_t used;                  /* bytes, at the start */
} lua_Held;

#if LUA_VERSION_NUM >= 505

/* Makes one step of the collector. */
static inline void lua_step(lua_State *L) {
  lua_gc(L, LUA_GCSTEP, (size_t)0);
}

static inline size_t lua_used(lua_State *L) {
  return (size_t)lua_gc(L, LUA_GCCOUNT) << 10 |
         (size_t)lua_gc(L, LUA_GCCOUNTB);
}

/* Pauses the collector until lua_let_go. */
static inline void lua_hold(lua_State *L, lua_Held *held) {
  held->used = lua_used(L);
  lua_gc(L, LUA_GCSTOP);
}

/* The default number of bytes for a step. */
enum { LUA_STEP_BYTES = 10 << 10 };

/* The collector does not count what was allocated during the pause, so this
   makes a step for it. */
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

/* If memory runs out in luaL_error, it raises another string instead of the
   message. */
enum { LUA_LOSES_MESSAGES = 1 };

#else

static inline void lua_step(lua_State *L) { lua_gc(L, LUA_GCSTEP, 0); }

/* Makes the collector believe that it has this reserve: it makes no step, and
   allocations during the pause still count afterwards. LUA_GCSTOP and
   LUA_GCRESTART would forget that debt: a program that allocates only during
   pauses would never collect. */
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
