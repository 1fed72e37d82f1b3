/*
 * lze_arrays.c - lze.array: what its scripts need of C.
 * SPDX-License-Identifier: MIT
 *
 * Arrays are tables of lua/array.lua; its file and the others are loaded when a
 * program asks for lze.array for the first time.
 */
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_show.h"
#include "lze_open.h"
#include "run/lze_buffer.h"
#include "run/lze_file.h"

#include <string.h>

static const unsigned char array_text[] = {
#include "lua/array.h"
};

static const unsigned char array_file_text[] = {
#include "lua/array_file.h"
};
static const unsigned char array_show_text[] = {
#include "lua/array_show.h"
};

/* The other files, by what they are for. */
static const lze_Script parts[] = {
    {"lze array_file.lua", array_file_text, sizeof array_file_text, NULL},
    {"lze array_show.lua", array_show_text, sizeof array_show_text, NULL},
    {NULL, NULL, 0, NULL}};

/* part(name, C) -> what lua/NAME.lua returns, called with C */
static int array_part(lua_State *L) {
  char file[64];
  lua_settop(L, 2);
  snprintf(file, sizeof file, "lze %s.lua", luaL_checkstring(L, 1));
  for (const lze_Script *s = parts; s->name != NULL; s++) {
    if (strcmp(s->name, file) != 0) continue;
    lze_script_part(L, s);
    return 1;
  }
  return luaL_error(L, "no part %s", file);
}

/* text(t, name) -> the chunk of that text as a function, without globals */
static int array_load_text(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_pushfstring(L, "=lze array %s", luaL_checkstring(L, 2));
  if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
    return lua_error(L);
  lua_pushnil(L);
  if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
  return 1;
}

/* keep(meta): it is the metatable of arrays */
static int array_keep(lua_State *L) {
  lua_settop(L, 1);
  lze_keep_array_metatable(L);
  return 0;
}

/* files() -> functions on files */
static int array_files(lua_State *L) {
  lze_push_file_functions(L);
  return 1;
}

/* printed() -> whether Lua's print called the tostring that runs */
static int array_printed(lua_State *L) {
  lua_pushboolean(L, lze_is_printed(L));
  return 1;
}

static const lze_Method primitives[] = {{"files", array_files, LZE_HOT},
                                        {"printed", array_printed, LZE_HOT},
                                        {"part", array_part, LZE_HOT},
                                        {"text", array_load_text, LZE_HOT},
                                        {"keep", array_keep, LZE_HOT},
                                        {NULL, NULL, LZE_HOT}};

static const lze_Script script = {"lze array.lua", array_text,
                                  sizeof array_text, primitives};

/* Field `array` of the module at its first use. */
static int module_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING ||
      strcmp(lua_tostring(L, 2), "array") != 0)
    return 0;
  lua_settop(L, 1);
  lze_script_call(L, &script, "open", 0, 1);
  lua_pushliteral(L, "array");
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

/* After lze_show_module, whose metatable this adds to. */
void lze_open_arrays(lua_State *L) {
  if (!lua_getmetatable(L, -1)) lua_newtable(L);
  lua_pushcfunction(L, module_index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}
