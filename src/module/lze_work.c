/*
 * lze_work.c - lze.work: the functions of work-items, on the host.
 * SPDX-License-Identifier: MIT
 *
 * The compiler recognises these functions by identity. On the host, atomics,
 * fma, random and print do the same as on a device, for one work-item at a
 * time; the others have no meaning there and raise.
 */
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_state.h"
#include "memory/lze_buffer.h"
#include "module/lze_builtin.h"
#include "module/lze_lua_check.h"

#include <math.h>
#include <stdio.h>

/* type(x) -> the element type of a buffer, or of the proxy that k:check
   substitutes for it; or nil */
static int work_type(lua_State *L) {
  if (lua_istable(L, 1)) {
    if (luaL_getmetafield(L, 1, "__elements") != LUA_TNIL) return 1;
  }
  const lze_Buffer *b = lze_test_buffer(L, 1);
  lua_pushstring(L, b != NULL && b->type->lanes == 1 ? b->type->name : NULL);
  return 1;
}

/* rank(x) -> the number of dimensions of an array; nil for other values */
static int work_rank(lua_State *L) {
  if (!lze_is_array(L, 1)) return 0;
  lze_array_get(L, 1, "dims");
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
  return 1;
}

/* get(x, i) -> x[i], and set(x, i, v): their errors do not get a position in
   work.lua */
static int work_get(lua_State *L) {
  lua_gettable(L, 1);
  return 1;
}

static int work_set(lua_State *L) {
  lua_settable(L, 1);
  return 0;
}

/* is_checked() -> true if k:check is running a work-item */
static int work_is_checked(lua_State *L) {
  lua_pushboolean(L, lze_is_work_item(L));
  return 1;
}

static const lze_Method primitives[] = {{"type", work_type, LZE_UNGUARDED},
                                        {"rank", work_rank, LZE_UNGUARDED},
                                        {"get", work_get, LZE_UNGUARDED},
                                        {"set", work_set, LZE_UNGUARDED},
                                        {"is_checked", work_is_checked,
                                         LZE_UNGUARDED},
                                        {NULL, NULL, LZE_UNGUARDED}};

static const unsigned char work_text[] = {
#include "lua/work.h"
};
static const lze_Script script = {"lze work.lua", work_text,
                                  sizeof work_text, primitives};

static int in_lua(lua_State *L, const char *name) {
  bool item = lze_is_work_item(L);
  if (item) lze_work_item_atomic(L, true);
  lze_script_call(L, &script, name, lua_gettop(L), LUA_MULTRET);
  if (item) lze_work_item_atomic(L, false);
  return lua_gettop(L);
}

static int in_kernels(lua_State *L, const char *name) {
  if (lze_is_work_item(L)) return lze_ask_work_item(L, name);
  return luaL_error(L, "lze.work.%s: only a work-item can ask that, in a "
                       "kernel", name);
}

/* fma(a, b, c) -> a * b + c, rounded once, as a double */
static int work_fma(lua_State *L) {
  lua_pushnumber(L, fma(luaL_checknumber(L, 1), luaL_checknumber(L, 2),
                        luaL_checknumber(L, 3)));
  return 1;
}

/* print(...): as Lua's print; in k:check the device prints */
static int work_print(lua_State *L) {
  if (lze_is_work_item(L)) return 0;
  int count = lua_gettop(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= count; i++) {
    if (i > 1) luaL_addchar(&b, '\t');
    luaL_tolstring(L, i, NULL);
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, '\n');
  luaL_pushresult(&b);
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  fwrite(text, 1, length, stdout);
  return 0;
}

#define WITH_A_NAME(X)                                                       \
  X(atomic_add, in_lua) X(atomic_sub, in_lua) X(atomic_min, in_lua)          \
  X(atomic_max, in_lua) X(atomic_and, in_lua) X(atomic_or, in_lua)           \
  X(atomic_xor, in_lua) X(atomic_exchange, in_lua)                           \
  X(atomic_compare_exchange, in_lua) X(random, in_lua)                       \
  X(global_id, in_kernels) X(local_id, in_kernels) X(group_id, in_kernels)   \
  X(global_size, in_kernels) X(local_size, in_kernels)                       \
  X(num_groups, in_kernels) X(barrier, in_kernels)                           \
  X(local_array, in_kernels) X(private_array, in_kernels)                    \
  X(sub_group_size, in_kernels) X(lane, in_kernels)

#define DEFINE(name, where)                                                  \
  static int work_##name(lua_State *L) { return where(L, #name); }
WITH_A_NAME(DEFINE)

static const lze_Method functions[] = {
#define ROW(name, where) {#name, work_##name, LZE_UNGUARDED},
    WITH_A_NAME(ROW)
    {"fma", work_fma, LZE_UNGUARDED},
    {"print", work_print, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_work(lua_State *L) {
  lua_newtable(L);
  lze_set_methods(L, functions, 0);
  lze_add_builtins(L, "work.");
  lua_setfield(L, -2, "work");
}
