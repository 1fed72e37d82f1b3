/*
 * lua_where.h - the place where a script calls Lua code embedded in lze.
 * SPDX-License-Identifier: MIT
 */
#ifndef LUA_WHERE_H
#define LUA_WHERE_H

#include <lua.h>

#include <stdbool.h>
#include <string.h>

/* Returns true if the function, whose source ("S") is in *ar, is embedded in
   lze. */
static inline bool lua_is_embedded(const lua_Debug *ar) {
  return *ar->source == '=' && strncmp(ar->source, "=lze ", 5) == 0;
}

/* Finds the innermost Lua function at `level` or above that does not belong to
   lze, with its source and line; returns false if not found. C functions have
   no line, nor have functions without debug information. Level 0 is the C
   function that calls this. */
static inline bool lua_caller(lua_State *L, lua_Debug *ar, int level) {
  for (; lua_getstack(L, level, ar); level++) {
    lua_getinfo(L, "Sl", ar);
    if (ar->currentline >= 0 && !lua_is_embedded(ar)) return true;
  }
  return false;
}

/* where() -> "file:line: " of that function; "" if not found */
static inline int lua_where(lua_State *L) {
  lua_Debug ar;
  if (lua_caller(L, &ar, 1))
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
  else
    lua_pushliteral(L, "");
  return 1;
}

#endif
