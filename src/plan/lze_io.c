/*
 * lze_io.c - the host's copies for a plan: inputs before a run, outputs after
 * it.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "plan/lze_plan.h"

#include <string.h>

void lze_io_write(lua_State *L, int buffer, int source) {
  lua_getfield(L, buffer, "write");
  lua_pushvalue(L, buffer);
  lua_pushvalue(L, source);
  lua_call(L, 2, 0);
}

void lze_io_read(lua_State *L, int buffer, int destination) {
  lua_getfield(L, buffer, "read");
  lua_pushvalue(L, buffer);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushvalue(L, destination);
  lua_call(L, 4, 0);
}

void lze_io_took(lua_State *L, const lze_Plan *p, int io, uint64_t since) {
  if (!p->profile) return;
  lua_pushinteger(L, (lua_Integer)(lze_now_ns() - since));
  lua_rawseti(L, io, LZE_IO_NS);
}

/* Called by lua_pcall with the plan, its table, and a pointer for the number
   of the current input. A finalizer or hook, or the source's metamethods, may
   close the plan but not run it. */
static int inputs_put(lua_State *L) {
  lze_Plan *p = lua_touserdata(L, 1);
  lua_Integer *now = lua_touserdata(L, 3);
  lze_getoption(L, 2, "inputs");
  lua_Integer n = (lua_Integer)lua_rawlen(L, 4);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 4, i);
    for (int v = 1; v <= 3; v++) lua_rawgeti(L, 5, v);
    bool every = strcmp(lua_tostring(L, 7), "every") == 0;
    if (!lua_isnil(L, 8) && (every || !p->begun)) {
      *now = i;
      lze_plan_swapped(L, p, 2, 6, p->parity);
      uint64_t since = lze_now_ns();
      lze_io_write(L, 9, 8);
      lze_io_took(L, p, 5, since);
      if (p->o.closed) luaL_error(L, "the plan is closed");
    }
    lua_settop(L, 4);
  }
  p->begun = true;
  return 0;
}

void lze_plan_put_inputs(lua_State *L, lze_Plan *p, int table) {
  if (p->filling)
    luaL_error(L, "%s: it cannot be run while it is given its inputs", p->name);
  int arg;
  lua_Integer now;
  lua_pushcfunction(L, inputs_put);
  lua_pushlightuserdata(L, p);
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, &now);
  lze_pin(&p->o);
  p->filling = true;
  int status = lze_protected(L, 3, 0, &arg);
  p->filling = false;
  lze_unpin(&p->o);
  if (status == LUA_OK) return;
  if (arg > 0) {
    lze_getoption(L, table, "inputs");
    lua_rawgeti(L, -1, now);
    lua_rawgeti(L, -1, 4);
    luaL_error(L, "graph %s: %s", lua_tostring(L, -1), lua_tostring(L, -4));
  }
  lze_raise_again(L, status, arg);
}

void lze_plan_get_outputs(lua_State *L, const lze_Plan *p, int table,
                          uint32_t parity) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "outputs");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    for (int v = 1; v <= 3; v++) lua_rawgeti(L, top + 2, v);
    if (lua_istable(L, top + 5) &&
        strcmp(lua_tostring(L, top + 4), "every") == 0) {
      uint64_t since = lze_now_ns();
      lze_plan_swapped(L, p, table, top + 3, parity);
      lze_io_read(L, top + 6, top + 5);
      lze_io_took(L, p, top + 2, since);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}
