/*
 * lze_option.c - tables of options.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_option.h"
#include "base/lze_box.h"
#include "base/lze_error.h"

#include <string.h>

bool lze_has_zero(lua_State *L, int index) {
  return strlen(lua_tostring(L, index)) != lua_rawlen(L, index);
}

void lze_check_keys(lua_State *L, int t, const char *what,
                    const char *const *known) {
  t = lua_absindex(L, t);
  lua_pushnil(L);
  while (lua_next(L, t)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING && !lze_has_zero(L, -1)) {
      const char *key = lua_tostring(L, -1);
      const char *const *k = known;
      while (*k != NULL && strcmp(*k, key) != 0) k++;
      if (*k != NULL) continue;
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (const char *const *k = known; *k != NULL; k++) {
      if (k != known) luaL_addstring(&b, ", ");
      luaL_addstring(&b, *k);
    }
    luaL_pushresult(&b);
    const char *list = lua_tostring(L, -1);
    luaL_tolstring(L, -2, NULL);
    luaL_error(L, "unknown key '%s' in %s (known: %s)", lua_tostring(L, -1),
               what, list);
  }
}

lua_Integer lze_list_length(lua_State *L, int index) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_pushnil(L); lua_next(L, index);) {
    lua_pop(L, 1);
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1 ||
        lua_tointeger(L, -1) > n)
      return -1;
  }
  return n;
}

int lze_getoption(lua_State *L, int t, const char *key) {
  t = lua_absindex(L, t);
  lua_pushstring(L, key);
  return lua_rawget(L, t);
}

int lze_opt_expected(lua_State *L, const char *key, const char *expected) {
  luaL_error(L, "option %s: %s expected, got %s", key, expected,
             lze_describe(L, -1));
  __builtin_unreachable();
}

/* Pushes the option's value, or nil. */
static int option_get(lua_State *L, int t, const char *key) {
  if (t != 0) return lze_getoption(L, t, key);
  lua_pushnil(L);
  return LUA_TNIL;
}

lua_Integer lze_opt_integer(lua_State *L, int t, const char *key,
                            lua_Integer low, lua_Integer high,
                            const char *expected, lua_Integer otherwise) {
  int type = option_get(L, t, key), exact;
  lua_Integer n = lua_tointegerx(L, -1, &exact);
  if (type == LUA_TNIL)
    n = otherwise;
  else if (!exact || type != LUA_TNUMBER || n < low || n > high)
    lze_opt_expected(L, key, expected);
  lua_pop(L, 1);
  return n;
}

lua_Integer lze_opt_positive(lua_State *L, int t, const char *key,
                             lua_Integer otherwise) {
  return lze_opt_integer(L, t, key, 1, LUA_MAXINTEGER, "a positive integer",
                         otherwise);
}

lua_Number lze_opt_number(lua_State *L, int t, const char *key, lua_Number low,
                          lua_Number high, const char *expected,
                          lua_Number otherwise) {
  int type = option_get(L, t, key);
  lua_Number n = lua_tonumber(L, -1);
  if (type == LUA_TNIL)
    n = otherwise;
  else if (type != LUA_TNUMBER || !(n >= low && n <= high)) /* nor a NaN */
    lze_opt_expected(L, key, expected);
  lua_pop(L, 1);
  return n;
}

bool lze_opt_boolean(lua_State *L, int t, const char *key, bool otherwise) {
  int type = option_get(L, t, key);
  bool value = type == LUA_TNIL ? otherwise : lua_toboolean(L, -1);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    lze_opt_expected(L, key, "boolean");
  lua_pop(L, 1);
  return value;
}

int lze_opt_word(lua_State *L, int t, const char *key,
                 const char *const *words, int otherwise) {
  int type = option_get(L, t, key), found = otherwise;
  if (type != LUA_TNIL) {
    const bool whole = type == LUA_TSTRING && !lze_has_zero(L, -1);
    const char *word = whole ? lua_tostring(L, -1) : "";
    found = 0;
    while (words[found] != NULL && strcmp(words[found], word) != 0) found++;
    if (words[found] == NULL) {
      lua_pushliteral(L, "");
      for (int i = 0; words[i] != NULL; i++) {
        const char *joint = i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ";
        lua_pushfstring(L, "%s%s%s", lua_tostring(L, -1), joint, words[i]);
        lua_replace(L, -2);
      }
      lua_insert(L, -2);
      lze_opt_expected(L, key, lua_tostring(L, -2));
    }
  }
  lua_pop(L, 1);
  return found;
}

const char *lze_opt_string(lua_State *L, int t, const char *key) {
  int type = option_get(L, t, key);
  if (type != LUA_TNIL && type != LUA_TSTRING)
    lze_opt_expected(L, key, "string");
  if (type == LUA_TSTRING && lze_has_zero(L, -1))
    luaL_error(L, "option %s: it contains a zero byte", key);
  return lua_tostring(L, -1);
}

bool lze_opt_table(lua_State *L, int t, const char *key) {
  int type = option_get(L, t, key);
  if (type != LUA_TNIL && type != LUA_TTABLE) lze_opt_expected(L, key, "table");
  return type == LUA_TTABLE;
}

void *lze_opt_box(lua_State *L, int t, const char *key, const char *kind) {
  int type = option_get(L, t, key);
  void *box = lze_test_box(L, -1, kind);
  if (type != LUA_TNIL && box == NULL) lze_opt_expected(L, key, kind);
  return box;
}
