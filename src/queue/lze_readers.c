/*
 * lze_readers.c - arrays among the arguments of a call, and expressions that
 * have yet to read a storage.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_readers.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_object.h"

void lze_keep_array_metatable(lua_State *L) {
  lze_state(L)->arrays = true;
  lua_rawsetp(L, LUA_REGISTRYINDEX, lze_array_kind);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &lze_array_key);
}

/* [-0, +1] Pushes a function of the arrays' metatable. */
static void array_push_function(lua_State *L, const char *name) {
  luaL_checkstack(L, 6, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &lze_array_key);
  lua_pushstring(L, name);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

void lze_array_evaluate(lua_State *L, int index) {
  index = lua_absindex(L, index);
  if (!lze_is_array(L, index)) return;
  lze_array_get(L, index, "op");
  bool expression = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (!expression) return;
  array_push_function(L, "evaluate");
  if (lua_istable(L, index)) lua_pushvalue(L, index);
  else lua_getiuservalue(L, index, 1);
  lze_Pause pause = lze_guard_pause(L);
  lua_call(L, 1, 0);
  lze_guard_resume(L, pause);
}

void lze_arrays_evaluate(lua_State *L, int first, int last) {
  if (!lze_state(L)->arrays) return;
  for (int i = first; i <= last; i++) {
    if (!lze_is_table(L, i)) {
      lze_array_evaluate(L, i);
      continue;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, i);
    for (lua_Integer k = 1; k <= n; k++) {
      lua_rawgeti(L, i, k);
      lze_array_evaluate(L, -1);
      lua_pop(L, 1);
    }
  }
}

/* Evaluates the expressions that read a storage.  A write by Lua code during
   the evaluation also evaluates the remaining ones.  If a reader was added
   after the last pass, `asked` has changed and another pass follows. */
static int storage_flush_readers(lua_State *L) {
  lze_Storage *s = lua_touserdata(L, 1);
  uint64_t asked;
  do {
    asked = s->asked;
    array_push_function(L, "flush_readers");
    lua_pushinteger(L, (lua_Integer)s->serial);
    lua_call(L, 1, 0);
  } while (s->asked != asked);
  s->awaited = false;
  return 0;
}

/* If the evaluation raises, the storage is still awaited.  Anything that
   allocates may run a finalizer that closes the storage. */
int lze_storage_try_flush_readers(lua_State *L, lze_Storage *s) {
  if (!s->awaited) return LUA_OK;
  luaL_checkstack(L, 3, NULL);
  lze_own(&s->o);
  lua_pushcfunction(L, storage_flush_readers);
  lua_pushlightuserdata(L, s);
  lze_Pause pause = lze_guard_pause(L);
  int status = lua_pcall(L, 1, 0, 0);
  lze_disown(&s->o);
  if (status == LUA_OK) lze_guard_resume(L, pause);
  return status;
}

void lze_storage_flush_readers(lua_State *L, lze_Storage *s) {
  if (lze_storage_try_flush_readers(L, s) != LUA_OK) lua_error(L);
}

void lze_storage_suspend_readers(lua_State *L, lze_Storage *s, int index) {
  if (!s->awaited) return;
  index = lua_absindex(L, index);
  array_push_function(L, "suspend_readers");
  lua_pushinteger(L, (lua_Integer)s->serial);
  lua_pushvalue(L, index);
  lua_call(L, 2, 0);
  s->awaited = false;
}

void lze_storages_restore_readers(lua_State *L, int index) {
  if (lua_rawlen(L, index) == 0) return;
  index = lua_absindex(L, index);
  array_push_function(L, "restore_readers");
  lua_pushvalue(L, index);
  lua_call(L, 1, 0);
}

void lze_push_array_buffer(lua_State *L, int index) {
  lze_array_get(L, index, "flat");
}

const char *lze_push_shape(lua_State *L, int index) {
  luaL_Buffer b;
  if (!lze_is_array(L, index)) return lze_describe(L, index);
  if (lze_array_get(L, index, "dims") != LUA_TTABLE)
    return lua_pushliteral(L, "array");
  int shape = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, shape);
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '{');
  for (lua_Integer d = 1; d <= n; d++) {
    if (d > 1) luaL_addstring(&b, ", ");
    lua_rawgeti(L, shape, d);
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, '}');
  luaL_pushresult(&b);
  lua_remove(L, shape);
  return lua_tostring(L, -1);
}
