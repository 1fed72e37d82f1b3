/*
 * lze_error.c - error objects and argument errors.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_box.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "lua_where.h"
#include "lze.h"

#include <stdarg.h>
#include <time.h>

#define ERROR_TNAME "lze.error"

/* Adds a position to the error object on the top of the stack: that of the
   innermost Lua function, starting at `level`, that is not part of lze. */
static void error_locate(lua_State *L, int level) {
  lua_Debug ar;
  if (!lua_caller(L, &ar, level)) return;
  lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
  lua_setfield(L, -2, "where");
}

bool lze_is_error(lua_State *L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  luaL_getmetatable(L, ERROR_TNAME);
  bool ours = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return ours;
}

void lze_error_locate(lua_State *L) {
  if (!lze_is_error(L, -1)) return;
  lua_pushliteral(L, "where");
  bool located = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 1);
  if (!located) error_locate(L, 1);
}

int lze_raise_error(lua_State *L, const char *object, const char *call,
                    const char *code, lua_Integer result, const char *log) {
  lua_createtable(L, 0, 7);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  if (object != NULL) {
    lua_pushstring(L, object);
    lua_setfield(L, -2, "object");
  }
  lua_pushstring(L, call);
  lua_setfield(L, -2, "call");
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  if (result != 0) {
    lua_pushinteger(L, result);
    lua_setfield(L, -2, "result");
  }
  error_locate(L, 1 + lze_call_level(L));
  if (log != NULL && *log != '\0') {
    lua_pushstring(L, log);
    lua_setfield(L, -2, "log");
  }
  luaL_setmetatable(L, ERROR_TNAME);
  lua_error(L);
  __builtin_unreachable(); /* lua_error never returns but is not declared so */
}

int lze_no_memory(lua_State *L) {
  luaL_error(L, LZE_NO_MEMORY_TEXT);
  __builtin_unreachable();
}

void lze_check_memory(lua_State *L, bool good) {
  if (!good) lze_no_memory(L);
}

void lze_push_text(lua_State *L, const char *format, va_list arguments) {
  if (lua_pushvfstring(L, format, arguments) == NULL) lze_no_memory(L);
}

int lze_misuse(lua_State *L, const char *format, ...) {
  lua_Debug ar;
  lze_own_error(L);
  if (lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) &&
      lua_is_embedded(&ar))
    lua_where(L);
  else
    luaL_where(L, 1);
  va_list arguments;
  va_start(arguments, format);
  lze_push_text(L, format, arguments);
  va_end(arguments);
  lua_concat(L, 2);
  lua_error(L);
  __builtin_unreachable(); /* lua_error never returns but is not declared so */
}

int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format,
                  ...) {
  luaL_checkstack(L, 8, NULL);
  va_list arguments;
  va_start(arguments, format);
  lze_push_text(L, format, arguments);
  va_end(arguments);
  lze_raise_error(L, object, call, code, 0, log);
}

int lze_raise_work(lua_State *L, const struct lze_WorkFailure *failure,
                   const char *object) {
  luaL_checkstack(L, 8, NULL);
  lua_pushstring(L, failure->message);
  lze_raise_error(L, object, failure->call, failure->code, 0, NULL);
}

static int error_tostring(lua_State *L) {
  static const struct {
    const char *key, *before, *after;
  } parts[] = {{"where", "", ": "}, {"object", "", ": "}, {"call", "", ": "},
               {"code", "", ": "},  {"message", "", ""},  {"log", "\n", ""}};
  lze_argexpected(L, lua_istable(L, 1), 1, "table");
  lua_settop(L, 1);
  lua_pushliteral(L, "");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (lua_getfield(L, 1, parts[i].key) == LUA_TSTRING) {
      lua_pushstring(L, parts[i].before);
      lua_insert(L, -2);
      lua_pushstring(L, parts[i].after);
      lua_concat(L, 4);
    } else {
      lua_pop(L, 1);
    }
  }
  return 1;
}

const char *lze_errno_name(int error) {
  const char *name = strerrorname_np(error);
  return name != NULL ? name : "EIO";
}

const char lze_array_key;

/* Returns true if the table of an array is at `index`. */
static bool is_array_table(lua_State *L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lze_array_key);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

bool lze_is_array(lua_State *L, int index) {
  return lze_test_box(L, index, lze_array_kind) != NULL ||
         is_array_table(L, index);
}

int lze_array_get(lua_State *L, int index, const char *field) {
  if (lua_istable(L, index)) lua_pushvalue(L, index);
  else lua_getiuservalue(L, index, 1);
  lua_pushstring(L, field);
  int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  return type;
}

bool lze_is_table(lua_State *L, int index) {
  return lua_istable(L, index) && !is_array_table(L, index);
}

/* Pushes "array of float", or why the array cannot serve as a buffer. [-0,
   +1] */
static const char *describe_array(lua_State *L, int index) {
  int top = lua_gettop(L);
  bool apart = lze_array_get(L, index, "flat") == LUA_TNIL;
  lze_array_get(L, index, "op");
  if (lua_toboolean(L, -1)) { /* an expression */
    lua_pushliteral(L, "type");
    lua_rawget(L, -2);
  } else if (apart) {
    lua_settop(L, top);
    return lua_pushliteral(L, "an array that is not contiguous (a:clone() is)");
  } else {
    lze_array_get(L, index, "kind");
  }
  lua_pushfstring(L, "array of %s", lua_tostring(L, -1));
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return lua_tostring(L, -1);
}

const char *lze_describe(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (lze_is_array(L, index)) return describe_array(L, index);
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: {
      lua_pushvalue(L, index);
      const char *text = lua_tostring(L, -1);
      const char *kind = lua_isinteger(L, index) ? "integer" : "number";
      text = lua_pushfstring(L, "%s %s", kind, text);
      lua_remove(L, -2);
      return text;
    }
    case LUA_TSTRING: {
      size_t length;
      const char *s = lua_tolstring(L, index, &length);
      bool plain = length <= 24;
      for (size_t i = 0; plain && i < length; i++)
        plain = (unsigned char)s[i] >= ' ' && (unsigned char)s[i] < 127;
      if (plain) return lua_pushfstring(L, "string '%s'", s);
      return lua_pushfstring(L, "a string of %I bytes", (LUAI_UACINT)length);
    }
    case LUA_TNONE: return lua_pushliteral(L, "no value");
    case LUA_TUSERDATA: {
      const char *text = lze_describe_box(L, index);
      if (text != NULL) return text;
      if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
        return lua_tostring(L, -1);
      return lua_pushliteral(L, "userdata");
    }
    default: return lua_pushstring(L, luaL_typename(L, index));
  }
}

lua_Integer lze_check_integer(lua_State *L, int arg, const char *name) {
  int exact;
  lua_Integer n = lua_tointegerx(L, arg, &exact);
  if (!exact || lua_type(L, arg) != LUA_TNUMBER)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "%s: integer expected, got %s", name,
                                  lze_describe(L, arg)));
  return n;
}

lua_Integer lze_check_integer_or(lua_State *L, int arg, const char *name,
                                 lua_Integer otherwise) {
  if (lua_isnoneornil(L, arg)) return otherwise;
  return lze_check_integer(L, arg, name);
}

uint64_t lze_check_deadline(lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) return UINT64_MAX;
  if (lua_type(L, arg) != LUA_TNUMBER)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "seconds: number expected, got %s",
                                  lze_describe(L, arg)));
  lua_Number seconds = lua_tonumber(L, arg);
  if (!(seconds >= 0))
    lze_argerror(L, arg, lua_pushfstring(L, "seconds: a number that is not "
                                             "negative expected, got %s",
                                          lze_describe(L, arg)));
  uint64_t now = lze_now_ns();
  /* Treat more than ten years as forever; they are far from overflow. */
  if (seconds > 3.2e8) return UINT64_MAX;
  return now + (uint64_t)(seconds * 1e9);
}

uint64_t lze_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void lze_open_error(lua_State *L) {
  static const lze_Method metamethods[] = {
      {"__tostring", error_tostring, LZE_UNGUARDED},
      {NULL, NULL, LZE_UNGUARDED}};
  luaL_newmetatable(L, ERROR_TNAME);
  lze_set_methods(L, metamethods, 0);
  lua_pop(L, 1);
}
