/*
 * lze_box.c - the common part of all lze userdata.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "base/lze_guard.h"

#include "lua_where.h"

#include <string.h>

const char lze_array_kind[] = "array";
const char lze_buffer_kind[] = "buffer";
const char lze_context_kind[] = "context";
const char lze_device_kind[] = "device";
const char lze_driver_kind[] = "driver";
const char lze_element_kind[] = "element";
const char lze_event_kind[] = "event";
const char lze_graph_kind[] = "graph";
const char lze_image_kind[] = "image";
const char lze_kernel_kind[] = "kernel";
const char lze_local_kind[] = "local_bytes";
const char lze_module_kind[] = "module";
const char lze_plan_kind[] = "plan";
const char lze_profile_kind[] = "profile";
const char lze_queue_kind[] = "queue";
const char lze_sampler_kind[] = "sampler";
const char lze_scratch_kind[] = "scratch";
const char lze_slice_kind[] = "slice";
const char lze_struct_kind[] = "struct";

/* The registry holds a kind's metatable under the address of its name. The two
   addresses after it hold its table of methods and fields, and the function
   that describes it. */
enum { METHODS = 1, DESCRIBE = 2 };

static const char *const kinds[] = {
    lze_buffer_kind, lze_context_kind, lze_device_kind, lze_driver_kind,
    lze_event_kind,  lze_graph_kind,   lze_kernel_kind, lze_local_kind,
    lze_module_kind, lze_plan_kind,    lze_queue_kind,  lze_scratch_kind,
    lze_slice_kind,  lze_struct_kind,  lze_element_kind, lze_profile_kind,
    lze_image_kind,  lze_sampler_kind};

/* The registry holds under this address a table whose weak keys are the
   userdata that finalizers have created. While Lua closes a state, it never
   finalizes objects that finalizers create, nor does it say that it is
   closing. */
static const char made_late;

static void box_is_late(lua_State *L) {
  luaL_checkstack(L, 3, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &made_late);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void *lze_push_box(lua_State *L, const char *kind, size_t size) {
  return lze_push_box_with(L, kind, size, 1);
}

void *lze_push_box_with(lua_State *L, const char *kind, size_t size,
                        int values) {
  lze_Box *box = lua_newuserdatauv(L, size, values);
  memset(box, 0, size);
  box->kind = kind;
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
  lua_setmetatable(L, -2);
  if (lua_gc(L, LUA_GCISRUNNING) < 0) box_is_late(L);
  return box;
}

void lze_boxes_open(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &made_late);
}

void lze_boxes_close(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &made_late);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const lze_Box *box = lua_touserdata(L, -2);
    lua_pop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, box->kind);
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, -2) == LUA_TFUNCTION) {
      lua_pushvalue(L, -3);
      lua_call(L, 1, 0);
    } else {
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void *lze_test_box(lua_State *L, int index, const char *kind) {
  lze_Box *box = lua_touserdata(L, index);
  if (box == NULL) return NULL;
  /* A light userdata has length 0. */
  if (lua_rawlen(L, index) < sizeof *box || box->kind != kind) return NULL;
  return box;
}

void *lze_check_box(lua_State *L, int arg, const char *kind) {
  void *box = lze_test_box(L, arg, kind);
  if (box == NULL)
    lze_argerror(L, arg, lua_pushfstring(L, "%s expected, got %s", kind,
                                          lze_describe(L, arg)));
  return box;
}

/* Returns true if Lua code of lze itself is running, for example the code of
   arrays. Messages then give the script's line and no argument number. */
static bool asked_by_lze(lua_State *L) {
  lua_Debug ar;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline >= 0) return lua_is_embedded(&ar);
  }
  return false;
}

int lze_closed(lua_State *L, int arg, const char *kind) {
  lua_Debug call;
  if (asked_by_lze(L)) {
    lua_where(L);
    lua_pushfstring(L, "%sthe %s is closed", lua_tostring(L, -1), kind);
    lze_keep_error(L);
    lua_error(L);
  }
  bool metamethod = lua_getstack(L, lze_call_level(L), &call) &&
                    lua_getinfo(L, "n", &call) &&
                    strcmp(call.namewhat, "metamethod") == 0;
  if (metamethod && strcmp(call.name, "len") == 0)
    luaL_error(L, "#: the %s is closed", kind);
  else if (metamethod && lua_type(L, 2) == LUA_TSTRING)
    luaL_error(L, "field '%s': the %s is closed", lua_tostring(L, 2), kind);
  else if (metamethod && lua_isinteger(L, 2))
    luaL_error(L, "index %I: the %s is closed",
               (LUAI_UACINT)lua_tointeger(L, 2), kind);
  lze_argerror(L, arg, lua_pushfstring(L, "the %s is closed", kind));
  __builtin_unreachable();
}

const char *lze_box_kind(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA) return NULL;
  lze_Box *box = lua_touserdata(L, index);
  if (lua_rawlen(L, index) < sizeof *box) return NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (box->kind == kinds[i]) return box->kind;
  return NULL;
}

void lze_push_kinds(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, kinds[i] + METHODS);
    lua_setfield(L, -2, kinds[i]);
  }
}

/* Pushes the sorted keys of the table at `t`, joined. */
static void box_list(lua_State *L, int t) {
  t = lua_absindex(L, t);
  lua_newtable(L);
  int names = lua_gettop(L), n = 0;
  lua_pushnil(L);
  while (lua_next(L, t)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, names, ++n);
  }
  for (int i = 2; i <= n; i++) /* only a few: insertion sort */
    for (int j = i; j > 1; j--) {
      lua_rawgeti(L, names, j);
      lua_rawgeti(L, names, j - 1);
      if (!lua_compare(L, -2, -1, LUA_OPLT)) {
        lua_pop(L, 2);
        break;
      }
      lua_rawseti(L, names, j);
      lua_rawseti(L, names, j - 1);
    }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addstring(&b, ", ");
    lua_rawgeti(L, names, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  lua_remove(L, names);
}

/* Pushes a phrase for the value at 1: "a buffer", "an event". [-0, +1] */
static const char *box_kind_phrase(lua_State *L) {
  const char *kind = lze_box_kind(L, 1);
  if (kind == NULL) kind = "value";
  return lua_pushfstring(L, strchr("aeio", *kind) != NULL ? "an %s" : "a %s",
                         kind);
}

int lze_box_index(lua_State *L) {
  lua_pushvalue(L, 2);
  int type = lua_rawget(L, lua_upvalueindex(1));
  if (type == LUA_TFUNCTION) return 1;
  if (type == LUA_TLIGHTUSERDATA) {
    const lze_Field *field = lua_touserdata(L, -1);
    lua_settop(L, 2);
    return field->get(L);
  }
  const char *kind = box_kind_phrase(L);
  box_list(L, lua_upvalueindex(1));
  const char *known = lua_tostring(L, -1);
  const char *key = lua_type(L, 2) == LUA_TSTRING
                        ? lua_pushfstring(L, "'%s'", lua_tostring(L, 2))
                        : lze_describe(L, 2);
  return luaL_error(L, "no field %s in %s (known: %s)", key, kind,
                    *known != '\0' ? known : "none");
}

static int box_newindex(lua_State *L) {
  return luaL_error(L, "%s has no field that can be set (%s)",
                    box_kind_phrase(L), lze_describe(L, 2));
}

/* An __index that first checks that the box is of this kind. Scripts reach
   metamethods only through debug.getmetatable, but they may. */
static int box_plain_index(lua_State *L) {
  if (lze_box_kind(L, 1) == NULL)
    return luaL_error(L, "bad argument #1 (an object of lze expected)");
  return lze_box_index(L);
}

/* Adds the fields to the table on the top. */
static void box_set_fields(lua_State *L, const lze_Field *fields) {
  for (; fields->name != NULL; fields++) {
    lua_pushlightuserdata(L, (void *)fields);
    lua_setfield(L, -2, fields->name);
  }
}

void lze_new_hidden(lua_State *L, lua_CFunction gc) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "an object of lze");
  lua_setfield(L, -2, "__metatable");
}

void lze_new_kind(lua_State *L, const char *kind,
                  const lze_Method *metamethods, const lze_Method *methods,
                  const lze_Field *fields) {
  lua_createtable(L, 0, 12);
  lua_newtable(L); /* methods and fields by name */
  lze_set_methods(L, methods, 0);
  box_set_fields(L, fields);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, box_plain_index, 1);
  lua_setfield(L, -3, "__index");
  lua_pushcfunction(L, box_newindex);
  lua_setfield(L, -3, "__newindex");
  luaL_checkstack(L, 3, NULL);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, kind + METHODS);
  lua_insert(L, -2); /* the table, then the metatable */
  lua_pushvalue(L, -2);
  lze_set_methods(L, metamethods, 1);
  lua_pushfstring(L, "lze.%s", kind);
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "an object of lze");
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, kind);
  lua_pop(L, 1);
}

void lze_add_methods(lua_State *L, const char *kind,
                     const lze_Method *methods) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind + METHODS);
  lze_set_methods(L, methods, 0);
  lua_pop(L, 1);
}

bool lze_push_cached(lua_State *L, const void *key) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->cache_ref);
  if (lua_rawgetp(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 2);
    return false;
  }
  lua_remove(L, -2);
  return true;
}

void lze_cache_box(lua_State *L, const void *key) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->cache_ref);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, key);
  lua_pop(L, 1);
}

void lze_add_fields(lua_State *L, const char *kind, const lze_Field *fields) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind + METHODS);
  box_set_fields(L, fields);
  lua_pop(L, 1);
}

void lze_set_describe(lua_State *L, const char *kind, lua_CFunction f) {
  lua_pushcfunction(L, f);
  lua_rawsetp(L, LUA_REGISTRYINDEX, kind + DESCRIBE);
}

const char *lze_describe_box(lua_State *L, int index) {
  const char *kind = lze_box_kind(L, index);
  if (kind == NULL) return NULL;
  index = lua_absindex(L, index);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, kind + DESCRIBE) == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  lua_pushvalue(L, index);
  lua_call(L, 1, 1);
  return lua_tostring(L, -1);
}
