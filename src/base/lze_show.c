/*
 * lze_show.c - tables that print themselves, and detection of print.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_show.h"
#include "base/lze_embed.h"
#include "base/lze_guard.h"
#include "lua_where.h"

static const unsigned char show_text[] = {
#include "lua/show.h"
};
static const lze_Script show_script = {"lze show.lua", show_text,
                                       sizeof show_text, NULL};

static int show_call(lua_State *L, const char *function) {
  lze_argexpected(L, lua_istable(L, 1), 1, "table");
  lua_settop(L, 1);
  lze_script_call(L, &show_script, function, 1, 1);
  return 1;
}

static int table_tostring(lua_State *L) { return show_call(L, "table"); }

static int module_tostring(lua_State *L) { return show_call(L, "module"); }

/* Sets the metatable of the table on the top to the one that the registry
   holds at `key`. */
static void show_by(lua_State *L, const char *key, lua_CFunction f) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, "__tostring");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
  }
  lua_setmetatable(L, -2);
}

void lze_show_table(lua_State *L) {
  static const char key;
  show_by(L, &key, table_tostring);
}

void lze_show_module(lua_State *L) {
  static const char key;
  show_by(L, &key, module_tostring);
}

/* Replaces the text on the top by HTML that shows it verbatim. */
static void display_escape(lua_State *L) {
  luaL_Buffer b;
  const char *text = lua_tostring(L, -1);
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "<pre>");
  for (; *text != '\0'; text++) {
    if (*text == '&') luaL_addstring(&b, "&amp;");
    else if (*text == '<') luaL_addstring(&b, "&lt;");
    else luaL_addchar(&b, *text);
  }
  luaL_addstring(&b, "</pre>");
  luaL_pushresult(&b);
}

/* Pushes ilua.display.html and returns true if it is a function. */
static bool display_push_html(lua_State *L) {
  static const char *const path[] = {"ilua", "display", "html"};
  int top = lua_gettop(L);
  lua_pushglobaltable(L);
  for (int i = 0; i < 3; i++) {
    if (lua_type(L, -1) != LUA_TTABLE) break;
    lua_pushstring(L, path[i]);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  if (lua_type(L, -1) == LUA_TFUNCTION) return true;
  lua_settop(L, top);
  return false;
}

void lze_display(lua_State *L) {
  luaL_checkstack(L, 6, NULL);
  if (!display_push_html(L)) {
    lua_pop(L, 1);
    lua_getglobal(L, "print");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
    return;
  }
  lua_insert(L, -2);
  if (lua_isnil(L, -1)) {
    luaL_tolstring(L, 1, NULL);
    display_escape(L);
    lua_remove(L, -2);
    lua_remove(L, -2);
  }
  lua_call(L, 1, 0);
}

bool lze_is_printed(lua_State *L) {
  lua_Debug frame;
  luaL_checkstack(L, 6, NULL);
  int top = lua_gettop(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "_G");
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_pushliteral(L, "print");
    lua_rawget(L, -2);
  }
  bool found = false;
  /* Go up to the script's function, past functions of lze and C. */
  for (int level = 0; !found && lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sf", &frame);
    found = lua_iscfunction(L, -1) && lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    if (*frame.what != 'C' && !lua_is_embedded(&frame)) break;
  }
  lua_settop(L, top);
  return found;
}
