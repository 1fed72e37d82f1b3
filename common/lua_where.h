/*
 * lua_where.h - where a script calls the Lua code that lze embeds.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_WHERE_H
#define LUA_WHERE_H

#include <lua.h>

#include <string.h>

/* where() -> "file:line: " of the function written in Lua, not of lze, that was
   called last; "" where there is none */
static inline int lua_where(lua_State *L) {
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline < 0 || strncmp(ar.source, "=lze ", 5) == 0) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    return 1;
  }
  lua_pushliteral(L, "");
  return 1;
}

#endif
