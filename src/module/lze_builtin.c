/*
 * lze_builtin.c - the functions that Lua kernels recognise by identity.
 * SPDX-License-Identifier: MIT
 */
#include "module/lze_builtin.h"
#include "base/lze_box.h"
#include "base/lze_state.h"

#include "lzc.h"

#include <string.h>

/* Pushes {function = its number in the compiler}. [-0, +1] */
static void push_builtins(lua_State *L) {
  static const char key;
  lze_push_kept_table(L, &key);
}

void lze_add_builtins(lua_State *L, const char *prefix) {
  size_t length = strlen(prefix);
  int from = lua_gettop(L);
  push_builtins(L);
  for (unsigned n = 1; lzc_builtin_name(n) != NULL; n++) {
    const char *name = lzc_builtin_name(n);
    if (strncmp(name, prefix, length) != 0) continue;
    lua_pushstring(L, name + length);
    lua_rawget(L, from);
    /* A function that a program put in its place is not a builtin. */
    if (lua_iscfunction(L, -1)) {
      lua_pushinteger(L, n);
      lua_rawset(L, -3);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

unsigned lze_builtin_of(lua_State *L, int index) {
  if (!lua_iscfunction(L, index)) return 0;
  index = lua_absindex(L, index);
  push_builtins(L);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  unsigned n = (unsigned)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return n;
}

static int float_function(lua_State *L) {
  return luaL_error(L, "float.%s: only a kernel can call it",
                    lua_tostring(L, lua_upvalueindex(1)));
}

void lze_push_float_functions(lua_State *L) {
  static const char prefix[] = "float.";
  lua_newtable(L);
  for (unsigned n = 1; lzc_builtin_name(n) != NULL; n++) {
    const char *name = lzc_builtin_name(n);
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
    lua_pushstring(L, name + sizeof prefix - 1);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, float_function, 1);
    lua_rawset(L, -3);
  }
  lze_add_builtins(L, prefix);
}
