/*
 * lua_where.h - where a script calls the Lua code that lze embeds.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_WHERE_H
#define LUA_WHERE_H

#include <lua.h>

#include <stdbool.h>
#include <string.h>

/* Whether a function whose source was asked for ("S") is embedded in lze. */
static inline bool lua_is_embedded(const lua_Debug *ar) {
  return *ar->source == '=' && strncmp(ar->source, "=lze ", 5) == 0;
}

/* The function written in Lua, not of lze, that was called last from a level
   on, with its source and line; false where there is none.  Those in C have no
   line, nor have those without debug information.  Level 0 is the one in C that
   asks. */
static inline bool lua_caller(lua_State *L, lua_Debug *ar, int level) {
  for (; lua_getstack(L, level, ar); level++) {
    lua_getinfo(L, "Sl", ar);
    if (ar->currentline >= 0 && !lua_is_embedded(ar)) return true;
  }
  return false;
}

/* where() -> "file:line: " of that function; "" where there is none */
static inline int lua_where(lua_State *L) {
  lua_Debug ar;
  if (lua_caller(L, &ar, 1))
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
  else
    lua_pushliteral(L, "");
  return 1;
}

#endif
