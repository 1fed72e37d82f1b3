/*
 * lze_report.c - what a plan is, and what its runs took.
 * SPDX-License-Identifier: MIT
 */
#include "lze_private.h"

#include <string.h>

/* plan:report() -> table */
int lze_plan_report(lua_State *L) {
  lze_Plan *p = lze_check_plan(L);
  lua_newtable(L);
  lua_pushstring(L, p->name);
  lua_setfield(L, -2, "name");
  lua_createtable(L, (int)p->count, 0);
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Step *s = &p->steps[i];
    lua_createtable(L, 0, 8);
    lua_pushstring(L, s->name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, s->why);
    lua_setfield(L, -2, "why");
    lua_pushinteger(L, p->nodes[i].lane);
    lua_setfield(L, -2, "lane");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "tasks");
  return 1;
}

/* plan:dot() -> text for Graphviz */
int lze_plan_dot(lua_State *L) {
  lze_Plan *p = lze_check_plan(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "digraph \"%s\" {\n", p->name);
  luaL_addvalue(&b);
  for (uint32_t i = 0; i < p->count; i++) {
    lua_pushfstring(L, "  \"%s\";\n", p->steps[i].name);
    luaL_addvalue(&b);
    for (uint32_t d = 0; d < p->nodes[i].deps.count; d++) {
      lua_pushfstring(L, "  \"%s\" -> \"%s\";\n",
                      p->steps[p->nodes[i].deps.items[d]].name,
                      p->steps[i].name);
      luaL_addvalue(&b);
    }
  }
  luaL_addstring(&b, "}\n");
  luaL_pushresult(&b);
  return 1;
}
