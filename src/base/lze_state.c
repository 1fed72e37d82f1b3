/*
 * lze_state.c - the data of one Lua state, kept in its registry.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_state.h"

#include <stdatomic.h>
#include <stdlib.h>

static const char state_key;

lze_State *lze_find_state(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  lze_State *S = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return S;
}

lze_State *lze_state(lua_State *L) {
  lze_State *S = lze_find_state(L);
  if (S == NULL) luaL_error(L, "lze is not open in this state");
  if (S->closed) luaL_error(L, "lze is closed in this state");
  return S;
}

void lze_keep_state(lua_State *L) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

void lze_push_kept_table(lua_State *L, const void *key) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void lze_leave(void *memory) {
  struct Left {
    struct Left *next;
    void *memory;
  };
  static _Atomic(struct Left *) all;
  struct Left *left = malloc(sizeof *left);
  if (left == NULL) return; /* then it is a leak */
  left->memory = memory;
  left->next = atomic_load(&all);
  while (!atomic_compare_exchange_weak(&all, &left->next, left)) continue;
}
