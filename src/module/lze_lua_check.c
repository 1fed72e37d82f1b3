/*
 * lze_lua_check.c - k:check and LZE_CHECK=lua: run a Lua kernel's function.
 * SPDX-License-Identifier: MIT
 *
 * lua/check.lua runs it, with one coroutine for each work-item of a group.
 */
#include "module/lze_lua_check.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_state.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"
#include "queue/lze_readers.h"

#include "lua_versions.h"

#include <string.h>

/* --- primitives ----------------------------------------------------------- */

/* elements(v) -> the element type of an open buffer, or nil */
static int check_elements(lua_State *L) {
  const lze_Buffer *b = lze_test_buffer(L, 1);
  bool open = b != NULL && lze_buffer_is_open(b);
  lua_pushstring(L, open ? b->type->name : NULL);
  return 1;
}

/* flat(v) -> the buffer of a buffer or contiguous array, and an array's shape;
   or nil */
static int check_flat(lua_State *L) {
  lua_settop(L, 1);
  if (lze_test_buffer(L, 1) == NULL) lua_pushnil(L);
  else if (!lze_is_array(L, 1)) return 1;
  else lze_push_array_buffer(L, 1);
  if (lua_isnil(L, -1)) return 1;
  lze_array_get(L, 1, "dims");
  return 2;
}

/* is_lua(v) -> true if it is a function written in Lua */
static int check_is_lua(lua_State *L) {
  lua_pushboolean(L, lua_isfunction(L, 1) && !lua_iscfunction(L, 1));
  return 1;
}

/* copy_function(f) -> a copy of f with new upvalues, all nil, and their
   count */
static int check_copy_function(lua_State *L) {
  size_t size;
  int count = 0;
  lua_settop(L, 1);
  const char *bytes = lze_push_chunk(L, &size);
  if (luaL_loadbufferx(L, bytes, size, "=?", "b") != LUA_OK)
    return lua_error(L);
  /* Loading sets the first one to the global table. */
  while (lua_pushnil(L), lua_setupvalue(L, -2, count + 1) != NULL) count++;
  lua_pop(L, 1);
  lua_pushinteger(L, count);
  return 2;
}

/* upvalue(f, i) -> its value and name; set_upvalue(f, i, v) */
static int check_upvalue(lua_State *L) {
  const char *name = lua_getupvalue(L, 1, (int)lua_tointeger(L, 2));
  if (name == NULL) lua_pushnil(L);
  lua_pushstring(L, name);
  return 2;
}

static int check_set_upvalue(lua_State *L) {
  lua_settop(L, 3);
  lua_setupvalue(L, 1, (int)lua_tointeger(L, 2));
  return 0;
}

/* The program's hooks belong to its main thread: lets them run regularly. */
static void pause_thread(lua_State *L1, lua_Debug *ar) {
  (void)ar;
  if (lua_isyieldable(L1)) lua_yield(L1, 0);
}

/* thread(f) -> a coroutine that runs f */
static int check_thread(lua_State *L) {
  enum { INSTRUCTIONS = 100000 };
  lua_State *L1 = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, L1, 1);
  lua_sethook(L1, pause_thread, LUA_MASKCOUNT, INSTRUCTIONS);
  return 1;
}

/* go(thread, ...) -> the position of the barrier that it waits at, and the
   calls that led there | nil, the error it raised | nil.
   If memory runs out, raises: that is not a finding about the function. */
static int check_go(lua_State *L) {
  lua_State *L1 = lua_tothread(L, 1);
  int count = lua_gettop(L) - 1, results, status;
  if (!lua_checkstack(L1, count + 1)) luaL_error(L, "too many arguments");
  lua_xmove(L, L1, count);
  while ((status = lua_resume(L1, L, count, &results)) == LUA_YIELD &&
         results == 0) {
    count = 0;
    if (lze_run_hook(L) != LUA_OK) return lua_error(L);
  }
  if (status == LUA_YIELD) {
    lua_xmove(L1, L, results);
    return results;
  }
  lua_pushnil(L);
  if (status == LUA_OK) return 1;
  lua_xmove(L1, L, 1);
  if (status == LUA_ERRMEM) return lua_error(L);
  return 2;
}

/* checking(b): sets whether the functions of lze.work act as in a work-item.
   within(n): counts nested checks; n is 1 when one begins, -1 when it ends. */
static int check_checking(lua_State *L) {
  lze_state(L)->work_item = lua_toboolean(L, 1);
  return 0;
}

static int check_within(lua_State *L) {
  lze_state(L)->lua_checks += (int)lua_tointeger(L, 1);
  return 0;
}

/* reports() -> how many out-of-range accesses launches have raised so far */
static int check_reports(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_state(L)->reports);
  return 1;
}

/* has_double(kernel) -> true if its device supports double */
static int check_has_double(lua_State *L) {
  const lze_Kernel *k = lze_kernel_last(L, 1);
  lua_pushboolean(L, (k->module->device->module.flags &
                      ZE_DEVICE_MODULE_FLAG_FP64) != 0);
  return 1;
}

static int check_about(lua_State *L) {
  lze_lua_kernel_about(L, 1, lua_gettop(L) - 2);
  return 1;
}

static const lze_Method primitives[] = {
    {"elements", check_elements, LZE_UNGUARDED},
    {"flat", check_flat, LZE_UNGUARDED},
    {"is_lua", check_is_lua, LZE_UNGUARDED},
    {"copy_function", check_copy_function, LZE_UNGUARDED},
    {"upvalue", check_upvalue, LZE_UNGUARDED},
    {"set_upvalue", check_set_upvalue, LZE_UNGUARDED},
    {"thread", check_thread, LZE_UNGUARDED},
    {"go", check_go, LZE_UNGUARDED},
    {"checking", check_checking, LZE_UNGUARDED},
    {"within", check_within, LZE_UNGUARDED},
    {"reports", check_reports, LZE_UNGUARDED},
    {"has_double", check_has_double, LZE_UNGUARDED},
    {"about", check_about, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const unsigned char check_text[] = {
#include "lua/check.h"
};
static const lze_Script script = {"lze check.lua", check_text,
                                  sizeof check_text, primitives};

/* --- work-items ----------------------------------------------------------- */

bool lze_is_work_item(lua_State *L) { return lze_state(L)->work_item; }

/* Pushes a text that identifies the current calls: the current instruction of
   each active function, starting with this one's caller. [-0, +1] */
static void push_calls(lua_State *L) {
  luaL_Buffer b;
  lua_Debug ar;
  luaL_buffinit(L, &b);
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    const void *at = lua_instruction(&ar);
    luaL_addlstring(&b, (const char *)&at, sizeof at);
  }
  luaL_pushresult(&b);
}

int lze_ask_work_item(lua_State *L, const char *name) {
  if (strcmp(name, "barrier") == 0) {
    lua_settop(L, 0);
    luaL_where(L, 1);
    push_calls(L);
    return lua_yield(L, 2);
  }
  lua_pushstring(L, name);
  lua_insert(L, 1);
  luaL_where(L, 1);
  lua_insert(L, 2);
  lze_script_call(L, &script, "ask", lua_gettop(L), 1);
  return 1;
}

void lze_work_item_atomic(lua_State *L, bool begins) {
  lze_script_call(L, &script, begins ? "begin_atomic" : "end_atomic", 0, 0);
}

/* --- k:check -------------------------------------------------------------- */

/* k:check(range | launch_table, ...) -> report
   Runs the function itself on copies of the buffers, with one coroutine per
   work-item, group by group. If that finds nothing, also runs it on the device,
   in double if the device supports it, and as a launch would.
   report.findings: an array of texts, each with file and line: indices out of
   range, cells read before they are written, races, barriers that only some
   work-items reach, integer divisions by zero, and results that differ from
   Lua's (for + - * / // % sqrt, comparisons and integers: in any bit; for other
   functions: by more than OpenCL allows). report.ok: true if there are no
   findings. report.worst: the largest relative error of the launch as
   requested; report.worst_at: the element that has it. The script's buffers do
   not change. Raises if a launch with these arguments would be refused. */
static int kernel_check(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (!b->is_lua) luaL_error(L, "%s is not made of a Lua function", b->name);
  if (lua_gettop(L) < 2) luaL_error(L, "%s: no global size", b->name);
  lze_script_call(L, &script, "check", lua_gettop(L), 1);
  return 1;
}

void lze_lua_check_launch(lua_State *L, int kernel, int range, int count) {
  luaL_checkstack(L, count + 8, NULL);
  lua_pushvalue(L, kernel);
  for (int i = 0; i <= count; i++) lua_pushvalue(L, range + i);
  lze_script_call(L, &script, "before_launch", count + 2, 0);
}

static const lze_Method methods[] = {{"check", kernel_check, LZE_UNGUARDED},
                                     {NULL, NULL, LZE_UNGUARDED}};

/* Call it after lze_open_kernel, because it extends that kind. */
void lze_open_lua_check(lua_State *L) {
  lze_add_methods(L, lze_kernel_kind, methods);
}
