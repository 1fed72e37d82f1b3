/*
 * lze_embed.c - the parts of lze that are written in Lua.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_state.h"

#include "lua_where.h"

#include <lualib.h>

/* error(e, 0): as Lua's error, but also marks the error, so that
   lze_script_call can distinguish errors that a script means to raise from
   errors that a debug hook raises while it runs. */
static int embed_error(lua_State *L) {
  lua_settop(L, 1);
  lze_own_error(L);
  return lua_error(L);
}

/* argument(n, message) */
static int embed_argument(lua_State *L) {
  lze_argerror(L, (int)luaL_checkinteger(L, 1), luaL_checkstring(L, 2));
}

/* pcall(f, ...) -> true, f's results | false, the error, true if that is an
   lze error */
static int embed_pcall(lua_State *L) {
  bool own;
  lua_pushboolean(L, true);
  lua_insert(L, 1);
  if (lze_call_back(L, lua_gettop(L) - 2, LUA_MULTRET, &own) != LUA_OK) {
    lua_pushboolean(L, false);
    lua_replace(L, 1);
    lua_pushboolean(L, own);
  }
  return lua_gettop(L);
}

/* Calls the function at 1 with the remaining arguments. Its errors refer to
   the user's call, not to the line of the script. */
static int embed_protected(lua_State *L) {
  int arg;
  int status = lze_protected(L, lua_gettop(L) - 1, LUA_MULTRET, &arg);
  if (status == LUA_OK) return lua_gettop(L);
  if (arg != 0 && arg != LZE_OWN) lze_raise_again(L, status, arg);
  lze_own_error(L); /* lze_raise_again adds its position */
  return lua_error(L);
}

/* call(v, method, ...) -> the results of v:method(...) */
static int embed_call(lua_State *L) {
  lua_getfield(L, 1, luaL_checkstring(L, 2));
  lua_insert(L, 1);
  lua_remove(L, 3);
  return embed_protected(L);
}

/* raise(e) */
static int embed_raise(lua_State *L) {
  lua_settop(L, 1);
  lze_keep_error(L);
  return lua_error(L);
}

/* lze() -> the result of require "lze" */
static int embed_lze(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->module_ref);
  return 1;
}

/* describe(v) -> a description of v for messages */
static int embed_describe(lua_State *L) {
  lua_settop(L, 1);
  lze_describe(L, 1);
  return 1;
}

/* Calls a primitive: the function at upvalue 1. */
static int embed_primitive(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return embed_protected(L);
}

/* A program linked with only part of Lua may lack these functions. */
#pragma weak luaopen_base
#pragma weak luaopen_string
#pragma weak luaopen_table
#pragma weak luaopen_math

/* Pushes a library: the program's if it is open, else a private copy. Opening
   the copy does not affect the program: strings keep their metatable (or have
   none), and globals are unchanged. [-0, +1] */
static void embed_push_library(lua_State *L, const char *name,
                               lua_CFunction open) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushstring(L, name);
  int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  if (type == LUA_TTABLE) return;
  lua_pop(L, 1);
  if (open == NULL)
    luaL_error(L, "Lua's library %s is needed, and not there", name);
  lua_pushliteral(L, "");
  if (!lua_getmetatable(L, -1)) lua_pushnil(L);
  lua_pushglobaltable(L);
  lua_newtable(L);
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_pushcfunction(L, open);
  int status = lua_pcall(L, 0, 1, 0);
  lua_insert(L, -4); /* below the string, its metatable and the globals */
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  if (status != LUA_OK) lua_error(L);
}

/* Pushes the globals of lze's scripts. The program's globals cannot be used:
   it may have changed them or never opened the libraries. [-0, +1] */
static void embed_push_globals(lua_State *L) {
  const luaL_Reg libraries[] = {{"string", luaopen_string},
                                {"table", luaopen_table},
                                {"math", luaopen_math}};
  static const char *const basic[] = {
      "getmetatable", "ipairs", "next",   "pairs",        "rawequal",
      "rawget",       "rawlen", "rawset", "select",       "setmetatable",
      "tonumber",     "tostring", "type"};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    embed_push_library(L, libraries[i].name, libraries[i].func);
    lua_setfield(L, -2, libraries[i].name);
  }
  embed_push_library(L, "_G", luaopen_base);
  for (size_t i = 0; i < sizeof basic / sizeof *basic; i++) {
    lua_pushstring(L, basic[i]);
    lua_rawget(L, -2);
    lua_setfield(L, -3, basic[i]);
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, embed_error);
  lua_setfield(L, -2, "error");
}

/* Pushes a script's chunk as a function. [-0, +1] */
static void embed_load(lua_State *L, const lze_Script *s) {
  lua_pushfstring(L, "=%s", s->name);
  if (luaL_loadbufferx(L, (const char *)s->text, s->size, lua_tostring(L, -1),
                       "t") != LUA_OK)
    lua_error(L);
  lua_remove(L, -2);
  embed_push_globals(L);
  lua_setupvalue(L, -2, 1);
}

void lze_script_part(lua_State *L, const lze_Script *s) {
  luaL_checkstack(L, 6, NULL);
  embed_load(L, s);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

/* Pushes the table that the script returns. [-0, +1] */
static void embed_push(lua_State *L, const lze_Script *s) {
  static const lze_Method own[] = {{"argument", embed_argument, LZE_UNGUARDED},
                                   {"pcall", embed_pcall, LZE_UNGUARDED},
                                   {"call", embed_call, LZE_UNGUARDED},
                                   {"raise", embed_raise, LZE_UNGUARDED},
                                   {"lze", embed_lze, LZE_UNGUARDED},
                                   {"where", lua_where, LZE_UNGUARDED},
                                   {"describe", embed_describe, LZE_UNGUARDED},
                                   {NULL, NULL, LZE_UNGUARDED}};
  luaL_checkstack(L, 6, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, s) == LUA_TTABLE) return;
  lua_pop(L, 1);
  embed_load(L, s);
  lua_newtable(L);
  lze_set_methods(L, own, 0);
  for (const lze_Method *m = s->primitives; m != NULL && m->name != NULL; m++) {
    lua_pushcfunction(L, m->function);
    lua_pushcclosure(L, embed_primitive, 1);
    lua_setfield(L, -2, m->name);
  }
  lua_call(L, 1, 1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, s);
}

void lze_script_call(lua_State *L, const lze_Script *s, const char *function,
                     int arguments, int results) {
  int arg;
  embed_push(L, s);
  lua_getfield(L, -1, function);
  lua_replace(L, -2);
  lua_insert(L, -arguments - 1);
  int status = lze_protected(L, arguments, results, &arg);
  if (status == LUA_OK) return;
  lze_raise_again(L, status, arg == 0 ? LZE_AS_IT_IS : arg);
}
