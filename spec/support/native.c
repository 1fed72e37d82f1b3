/*
 * native.c - a Lua module that uses Level Zero as a host program does.
 * SPDX-License-Identifier: MIT
 *
 * Handles are light userdata.  If a call fails, an error is raised with the
 * number of the result.  The module calls the loader that lze has initialised.
 */
#include <lauxlib.h>
#include <lua.h>

#include <level_zero/ze_api.h>

#include "lze.h"

#include <stdbool.h>
#include <string.h>

__attribute__((visibility("default"))) int luaopen_native(lua_State *L);

static void check(lua_State *L, ze_result_t r) {
  if (r != ZE_RESULT_SUCCESS) luaL_error(L, "result %d", (int)r);
}

static void *handle(lua_State *L, int arg) {
  luaL_checktype(L, arg, LUA_TLIGHTUSERDATA);
  return lua_touserdata(L, arg);
}

/* device(driver) -> the first device */
static int device(lua_State *L) {
  uint32_t count = 1;
  ze_device_handle_t d = NULL;
  check(L, zeDeviceGet(handle(L, 1), &count, &d));
  lua_pushlightuserdata(L, d);
  return 1;
}

/* context(driver) */
static int context(lua_State *L) {
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t c;
  check(L, zeContextCreate(handle(L, 1), &desc, &c));
  lua_pushlightuserdata(L, c);
  return 1;
}

static int context_destroy(lua_State *L) {
  check(L, zeContextDestroy(handle(L, 1)));
  return 0;
}

/* list(context, device, "immediate" | "regular") */
static int list(lua_State *L) {
  ze_command_list_handle_t l;
  if (strcmp(luaL_checkstring(L, 3), "immediate") == 0) {
    ze_command_queue_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    check(L, zeCommandListCreateImmediate(handle(L, 1), handle(L, 2), &desc,
                                          &l));
  } else {
    ze_command_list_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    check(L, zeCommandListCreate(handle(L, 1), handle(L, 2), &desc, &l));
  }
  lua_pushlightuserdata(L, l);
  return 1;
}

static int list_destroy(lua_State *L) {
  check(L, zeCommandListDestroy(handle(L, 1)));
  return 0;
}

/* fill(list, pointer, byte, size [, event to signal]) */
static int fill(lua_State *L) {
  char byte = (char)luaL_checkinteger(L, 3);
  check(L, zeCommandListAppendMemoryFill(
               handle(L, 1), handle(L, 2), &byte, 1,
               (size_t)luaL_checkinteger(L, 4),
               lua_isnoneornil(L, 5) ? NULL : handle(L, 5), 0, NULL));
  return 0;
}

/* alloc("shared" | "device" | "host", context, device, bytes) */
static int alloc(lua_State *L) {
  ze_device_mem_alloc_desc_t d = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  const char *usage = luaL_checkstring(L, 1);
  size_t bytes = (size_t)luaL_checkinteger(L, 4);
  void *p = NULL;
  if (strcmp(usage, "shared") == 0)
    check(L, zeMemAllocShared(handle(L, 2), &d, &h, bytes, 64, handle(L, 3),
                              &p));
  else if (strcmp(usage, "device") == 0)
    check(L, zeMemAllocDevice(handle(L, 2), &d, bytes, 64, handle(L, 3), &p));
  else
    check(L, zeMemAllocHost(handle(L, 2), &h, bytes, 64, &p));
  if (strcmp(usage, "device") != 0) memset(p, 0, bytes);
  lua_pushlightuserdata(L, p);
  return 1;
}

static int mem_free(lua_State *L) {
  check(L, zeMemFree(handle(L, 1), handle(L, 2)));
  return 0;
}

/* peek(pointer, bytes), poke(pointer, string), offset(pointer, bytes) */
static int peek(lua_State *L) {
  lua_pushlstring(L, handle(L, 1), (size_t)luaL_checkinteger(L, 2));
  return 1;
}

static int poke(lua_State *L) {
  size_t n;
  const char *s = luaL_checklstring(L, 2, &n);
  memcpy(handle(L, 1), s, n);
  return 0;
}

static int offset(lua_State *L) {
  lua_pushlightuserdata(L, (char *)handle(L, 1) + luaL_checkinteger(L, 2));
  return 1;
}

/* event(context) -> event, pool */
static int event(lua_State *L) {
  ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                               .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                               .count = 1};
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                                .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                                .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_pool_handle_t pool;
  ze_event_handle_t e;
  check(L, zeEventPoolCreate(handle(L, 1), &desc, 0, NULL, &pool));
  check(L, zeEventCreate(pool, &event_desc, &e));
  lua_pushlightuserdata(L, e);
  lua_pushlightuserdata(L, pool);
  return 2;
}

static int event_destroy(lua_State *L) {
  check(L, zeEventDestroy(handle(L, 1)));
  check(L, zeEventPoolDestroy(handle(L, 2)));
  return 0;
}

static int signal_event(lua_State *L) {
  check(L, zeEventHostSignal(handle(L, 1)));
  return 0;
}

static int reset(lua_State *L) {
  check(L, zeEventHostReset(handle(L, 1)));
  return 0;
}

/* group(kernel, size) */
static int group(lua_State *L) {
  check(L, zeKernelSetGroupSize(handle(L, 1),
                                (uint32_t)luaL_checkinteger(L, 2), 1, 1));
  return 0;
}

/* done(event [, seconds]) */
static int done(lua_State *L) {
  lua_Number seconds = luaL_optnumber(L, 2, 0);
  lua_pushboolean(L, zeEventHostSynchronize(handle(L, 1),
                                            (uint64_t)(seconds * 1e9)) ==
                         ZE_RESULT_SUCCESS);
  return 1;
}

static int null(lua_State *L) {
  lua_pushlightuserdata(L, NULL);
  return 1;
}

/* sum(buffer of int): uses lze.h without being linked with lze. */
static int sum(lua_State *L) {
  const lze_Api *lze = lze_find_api(L);
  lze_BufferInfo info = {.size = sizeof info};
  lze_ErrorInfo error;
  if (lze == NULL) return luaL_error(L, "lze has not been opened");
  if (lze->get_buffer(L, 1, &info, &error) != LZE_OK ||
      lze->wait_buffer(L, 1, 0, &error) != LZE_OK)
    return luaL_error(L, "%s", error.message);
  lua_Integer s = 0;
  for (size_t i = 0; i < info.count; i++) s += ((int *)info.pointer)[i];
  lua_pushinteger(L, s);
  return 1;
}

/* The hook that lua.c's handler of SIGINT sets. */
static void interrupt(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted!");
}

/* An allocator that sets this hook, as a signal would, during the n-th
   allocation. */
static struct {
  lua_State *L;
  lua_Alloc alloc;
  void *userdata;
  lua_Integer left;
  int mask;
} signalled;

static void *signalling_alloc(void *userdata, void *p, size_t old,
                              size_t size) {
  if (size > 0 && signalled.left > 0 && --signalled.left == 0) {
    lua_setallocf(signalled.L, signalled.alloc, signalled.userdata);
    lua_sethook(signalled.L, interrupt, signalled.mask, 1);
  }
  return signalled.alloc(userdata, p, old, size);
}

/* signal_at(n [, lines]): set the hook at the n-th allocation from now on; 0
   means never.  It is a hook for lines, or for all events, as in lua.c.
   Returns true if the hook requested before has not been set. */
static int signal_at(lua_State *L) {
  bool waits = signalled.left > 0;
  if (waits) lua_setallocf(L, signalled.alloc, signalled.userdata);
  signalled.L = L;
  signalled.left = luaL_checkinteger(L, 1);
  signalled.mask = lua_toboolean(L, 2)
                       ? LUA_MASKLINE
                       : LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE |
                             LUA_MASKCOUNT;
  signalled.alloc = lua_getallocf(L, &signalled.userdata);
  if (signalled.left > 0)
    lua_setallocf(L, signalling_alloc, signalled.userdata);
  lua_pushboolean(L, waits);
  return 1;
}

int luaopen_native(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"context", context}, {"context_destroy", context_destroy},
      {"device", device},
      {"list", list},       {"list_destroy", list_destroy},
      {"fill", fill},       {"alloc", alloc},
      {"free", mem_free},   {"peek", peek},
      {"poke", poke},       {"offset", offset},
      {"event", event},     {"event_destroy", event_destroy},
      {"signal", signal_event}, {"reset", reset},
      {"group", group},
      {"done", done},       {"null", null},
      {"sum", sum},         {"signal_at", signal_at},
      {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
