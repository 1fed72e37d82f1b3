/*
 * lze_wrap.c - the host program's native objects as lze objects.
 * SPDX-License-Identifier: MIT
 *
 * lze never destroys a wrapped object: the host must keep it until lze has
 * released it. lze checks the properties that Level Zero reports of a handle,
 * but cannot detect a pointer that is not a handle.
 */
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <string.h>

static const char *const wrap_keys[] = {"buffer", "context", "count",
                                        "device", "driver", "event", "queue",
                                        "type",   NULL};

/* Returns the handle in option `key` of the table at 1, or NULL if absent. The
   value must be a light userdata. */
static void *wrap_handle(lua_State *L, const char *key) {
  int type = lze_getoption(L, 1, key);
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  if (type != LUA_TLIGHTUSERDATA)
    lze_opt_expected(L, key, "a native handle (light userdata)");
  void *p = lua_touserdata(L, -1);
  if (p == NULL) luaL_error(L, "option %s: a null handle", key);
  lua_pop(L, 1);
  return p;
}

static const lze_DeviceInfo *system_find(const lze_System *s,
                                         ze_device_handle_t handle) {
  for (int i = 0; i < s->device_count; i++) {
    const lze_DeviceInfo *d = &s->devices[i];
    if (d->handle == handle) return d;
    for (uint32_t t = 0; t < d->tile_count; t++)
      if (d->tiles[t].handle == handle) return &d->tiles[t];
  }
  return NULL;
}

/* Returns the device in option `device`: a native handle, a device or a
   selector. The values pushed keep it alive. [-0, +2 at most] */
static const lze_DeviceInfo *wrap_device(lua_State *L) {
  int type = lze_getoption(L, 1, "device");
  const lze_DeviceInfo *d;
  if (type == LUA_TNIL) {
    d = lze_push_default_device(L);
  } else if (type == LUA_TLIGHTUSERDATA) {
    d = system_find(lze_system(L), lua_touserdata(L, -1));
    if (d == NULL)
      luaL_error(L, "option device: no driver of this loader has a device of "
                    "that handle");
  } else {
    d = lze_device_at(L, -1, "option device");
  }
  return d;
}

/* Returns the device and context for a native object that belongs to a
   context. The values pushed keep them alive. [-0, +3 at most] */
static lze_Context *wrap_place(lua_State *L, const lze_DeviceInfo **device) {
  *device = wrap_device(L);
  lze_Context *c = lze_push_device_context(L, *device);
  *device = lze_device_in(L, c, *device);
  return c;
}

/* Raises if there are options that the form does not accept. */
static void wrap_only(lua_State *L, const char *form,
                      const char *const *known) {
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    const char *key = lua_tostring(L, -2); /* a string, as lze_check_keys has
                                              verified */
    int i = 0;
    while (known[i] != NULL && strcmp(known[i], key) != 0) i++;
    if (known[i] == NULL)
      luaL_error(L, "option %s: of no use where a %s is wrapped", key, form);
    lua_pop(L, 1);
  }
}

/* {driver = p, device = p, context = p}: a device in the host's context.
   `driver` is optional, because the device implies it. */
static int wrap_context(lua_State *L) {
  static const char *const keys[] = {"context", "device", "driver", NULL};
  wrap_only(L, "context", keys);
  ze_context_handle_t handle = wrap_handle(L, "context");
  ze_driver_handle_t driver = wrap_handle(L, "driver");
  const lze_System *s = lze_system(L);
  for (int i = 0; i < s->driver_count; i++)
    if ((void *)s->drivers[i].handle == (void *)handle)
      luaL_error(L, "option context: it is the handle of a driver");
  if (system_find(s, (ze_device_handle_t)handle) != NULL)
    luaL_error(L, "option context: it is the handle of a device");
  const lze_DeviceInfo *d = wrap_device(L)->base;
  if (driver != NULL && driver != d->driver->handle)
    luaL_error(L, "option driver: the device is of another driver");
  for (lze_Context *c = lze_state(L)->contexts; c != NULL; c = c->next)
    if (c->handle == handle && !c->o.closed) {
      if (c->driver != d->driver)
        luaL_error(L, "option context: it is of another driver than the "
                      "device");
      if (!c->borrowed && !c->is_default)
        luaL_error(L, "option context: it is lze's own: use that context");
    }
  lze_push_borrowed_device(L, d, handle);
  return 1;
}

/* {queue = p, device = dev}: a queue on an immediate list. */
static int wrap_queue(lua_State *L) {
  static const char *const keys[] = {"device", "queue", NULL};
  wrap_only(L, "queue", keys);
  ze_command_list_handle_t list = wrap_handle(L, "queue");
  const lze_DeviceInfo *d;
  lze_Context *c = wrap_place(L, &d);
  const lze_Driver *driver = d->driver;
  ze_bool_t immediate = 1;
  if (driver->list_is_immediate != NULL &&
      driver->list_is_immediate(list, &immediate) == ZE_RESULT_SUCCESS &&
      !immediate)
    luaL_error(L, "option queue: a regular command list; an immediate one "
                  "expected");
  ze_device_handle_t device;
  if (driver->list_device != NULL &&
      driver->list_device(list, &device) == ZE_RESULT_SUCCESS &&
      device != d->handle)
    luaL_error(L, "option queue: the list is of another device");
  ze_context_handle_t context;
  if (driver->list_context != NULL &&
      driver->list_context(list, &context) == ZE_RESULT_SUCCESS &&
      context != c->handle)
    luaL_error(L, "option queue: the list is of another context");
  uint32_t ordinal = d->ordinal;
  if (driver->list_ordinal != NULL) driver->list_ordinal(list, &ordinal);
  lze_push_foreign_queue(L, c, d, list, ordinal);
  return 1;
}

void lze_push_usm(lua_State *L, lze_Context *c, const lze_DeviceInfo *d,
                  void *pointer, const lze_Type *type, lua_Integer count,
                  void (*release)(void *, void *), void *userdata) {
  ze_memory_allocation_properties_t props = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t device = NULL;
  ze_result_t r = ZE(zeMemGetAllocProperties, c->handle, pointer, &props,
                     &device);
  if (r != ZE_RESULT_SUCCESS)
    lze_fail(L, d->driver, r, NULL, "zeMemGetAllocProperties", NULL, NULL);
  lze_Borrowed memory = {.id = props.id};
  switch (props.type) {
    case ZE_MEMORY_TYPE_HOST: memory.usage = LZE_HOST; break;
    case ZE_MEMORY_TYPE_DEVICE: memory.usage = LZE_DEVICE; break;
    case ZE_MEMORY_TYPE_SHARED: memory.usage = LZE_SHARED; break;
    default:
      luaL_error(L, "option buffer: %p is not unified shared memory (USM) of "
                    "this context", pointer);
  }
  if (memory.usage == LZE_DEVICE && device != d->handle)
    luaL_error(L, "option buffer: %p is memory of another device", pointer);
  void *base = NULL;
  r = ZE(zeMemGetAddressRange, c->handle, pointer, &base, &memory.bytes);
  if (r != ZE_RESULT_SUCCESS)
    lze_fail(L, d->driver, r, NULL, "zeMemGetAddressRange", NULL, NULL);
  memory.base = base;
  size_t room = memory.bytes - (size_t)((char *)pointer - memory.base);
  if ((uintptr_t)pointer % lze_type_align(type) != 0)
    luaL_error(L, "option buffer: %p is not aligned for %s (to %d bytes)",
               pointer, type->name, (int)lze_type_align(type));
  if (count < 0) luaL_error(L, "option count: %I is negative",
                            (LUAI_UACINT)count);
  if ((size_t)count > room / type->bytes)
    luaL_error(L, "option count: %I %s are more than the %I bytes that the "
                  "allocation has from there on",
               (LUAI_UACINT)count, type->name, (LUAI_UACINT)room);
  lze_push_borrowed(L, c, d, &memory, pointer, type, count, release,
                    userdata);
}

/* {buffer = p, type = "float", count = n, device = dev} */
static int wrap_buffer(lua_State *L) {
  static const char *const keys[] = {"buffer", "count", "device", "type",
                                     NULL};
  wrap_only(L, "buffer", keys);
  void *pointer = wrap_handle(L, "buffer");
  lze_getoption(L, 1, "type");
  const lze_Type *type = lze_to_type(L, -1);
  if (type == NULL) luaL_error(L, "option %s", lze_push_untyped(L, -1));
  lze_getoption(L, 1, "count");
  int exact;
  lua_Integer count = lua_tointegerx(L, -1, &exact);
  if (!exact || lua_type(L, -1) != LUA_TNUMBER)
    lze_opt_expected(L, "count", "integer");
  const lze_DeviceInfo *d;
  lze_Context *c = wrap_place(L, &d);
  lze_push_usm(L, c, d, pointer, type, count, NULL, NULL);
  return 1;
}

/* {event = p, device = dev} */
static int wrap_event(lua_State *L) {
  static const char *const keys[] = {"device", "event", NULL};
  wrap_only(L, "event", keys);
  ze_event_handle_t event = wrap_handle(L, "event");
  const lze_DeviceInfo *d;
  lze_Context *c = wrap_place(L, &d);
  ze_event_pool_handle_t pool;
  ze_context_handle_t context;
  if (d->driver->event_pool != NULL && d->driver->pool_context != NULL &&
      d->driver->event_pool(event, &pool) == ZE_RESULT_SUCCESS &&
      d->driver->pool_context(pool, &context) == ZE_RESULT_SUCCESS &&
      context != c->handle)
    luaL_error(L, "option event: it is of another context");
  lze_Event *e = lze_push_event(L);
  e->command = lze_command_foreign(L, c, d, event);
  return 1;
}

/* lze.wrap {driver = p, device = p, context = p} -> device
   lze.wrap {queue = p, device = dev} -> queue
   lze.wrap {buffer = p, type = name, count = n, device = dev} -> buffer
   lze.wrap {event = p, device = dev} -> event
   The handles are native handles, as light userdata; the host still owns
   them. */
int lze_wrap(lua_State *L) {
  static const struct {
    const char *key;
    int (*wrap)(lua_State *L);
  } forms[] = {{"queue", wrap_queue}, {"buffer", wrap_buffer},
               {"event", wrap_event}, {"context", wrap_context}};
  lua_settop(L, 1);
  lze_argexpected(L, lua_istable(L, 1), 1, "table");
  lze_check_keys(L, 1, "what is to be wrapped", wrap_keys);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    int type = lze_getoption(L, 1, forms[i].key);
    lua_pop(L, 1);
    if (type != LUA_TNIL) return forms[i].wrap(L);
  }
  return lze_argerror(L, 1, "one of queue, buffer, event or context "
                             "expected");
}

static const lze_Method functions[] = {
    {"wrap", lze_wrap, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_wrap(lua_State *L) { lze_set_methods(L, functions, 0); }
