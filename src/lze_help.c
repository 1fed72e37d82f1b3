/*
 * lze_help.c - lze.help: the manual at a prompt.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_open.h"

#include <string.h>

static const unsigned char manual[] = {
#include "doc/manual.h"
};

static const unsigned char help_text[] = {
#include "lua/help.h"
};

/* manual() -> the text of doc/manual.md */
static int help_manual(lua_State *L) {
  lua_pushlstring(L, (const char *)manual, sizeof manual);
  return 1;
}

/* kinds() -> the methods and fields of each kind of object, by name */
static int help_kinds(lua_State *L) {
  lze_push_kinds(L);
  return 1;
}

/* name(v) -> the __name of its metatable, or nothing */
static int help_name(lua_State *L) {
  return luaL_getmetafield(L, 1, "__name") != LUA_TNIL;
}

static const lze_Method primitives[] = {{"manual", help_manual, LZE_UNGUARDED},
                                        {"name", help_name, LZE_UNGUARDED},
                                        {"kinds", help_kinds, LZE_UNGUARDED},
                                        {NULL, NULL, LZE_UNGUARDED}};

static const lze_Script script = {"lze help.lua", help_text, sizeof help_text,
                                  primitives};

/* lze.help([x]) -> text: the manual's entry for a function, an object or a
   word; without an argument, its chapters. */
static int core_help(lua_State *L) {
  lua_settop(L, 1);
  if (lze_is_array(L, 1)) lua_pushliteral(L, "array");
  else lua_pushstring(L, lze_box_kind(L, 1));
  lze_script_call(L, &script, "help", 2, 1);
  return 1;
}

int lze_push_help(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lze_script_call(L, &script, "help", 1, 2);
  return 2;
}

/* __index of lze and of tables in it, with upvalue 1 as name.  Only programs
   look for names that begin with `_`, so these are nil. */
static int table_index(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(1));
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  if (*key == '_') return 0;
  if (strcmp(name, "lze") == 0 && strcmp(key, "array") == 0) {
    lua_settop(L, 1);
    lze_push_arrays(L);
    lua_pushvalue(L, 2);
    lua_setfield(L, 1, "array");
    return 1;
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lze_script_call(L, &script, "missing", 3, 0);
  return 0;
}

/* [-0, +0] Make the table at the top raise for missing fields. */
static void table_names(lua_State *L, const char *name) {
  if (!lua_getmetatable(L, -1)) lua_newtable(L);
  lua_pushstring(L, name);
  lua_pushcclosure(L, table_index, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

void lze_open_names(lua_State *L) {
  static const char *const parts[][2] = {{"spirv", "lze.spirv"},
                                         {"work", "lze.work"}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    lua_getfield(L, -1, parts[i][0]);
    table_names(L, parts[i][1]);
    lua_pop(L, 1);
  }
  table_names(L, "lze");
}

static const lze_Method functions[] = {{"help", core_help, LZE_UNGUARDED},
                                       {NULL, NULL, LZE_UNGUARDED}};

void lze_open_help(lua_State *L) { lze_set_methods(L, functions, 0); }
