/*
 * lze_info.c - lze.info: what there is, for a person.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_device.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "device/lze_loader.h"
#include "lze_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void info_add(lua_State *L, luaL_Buffer *b) {
  (void)L;
  luaL_addvalue(b);
}

/* In a protected call: store the system and the default device. */
static int info_probe(lua_State *L) {
  const void **found = lua_touserdata(L, 1);
  const lze_System *s = lze_system(L);
  found[0] = s;
  if (s->device_count > 0) found[1] = lze_default_device(L);
  return 0;
}

/* In a protected call: the devices of lze.devices(). */
static int info_devices(lua_State *L) {
  lua_settop(L, 0);
  lua_pushnil(L);
  lze_select(L, 1, "");
  return 1;
}

/* What a person wants to know of a device after its name. */
static void info_device(lua_State *L, luaL_Buffer *b, const lze_DeviceInfo *d,
                        const char *note) {
  char memory[32];
  snprintf(memory, sizeof memory, "%.1f GiB",
           (double)d->memory_bytes / (1 << 30));
  lua_pushfstring(
      L,
      "%s (%s%s, driver %d)%s\n"
      "  %d compute unit%s, groups of up to %d, %s%s%s%s\n",
      d->props.name, d->type, d->parent != NULL ? " tile" : "",
      d->driver->index + 1, note, (int)lze_device_units(d),
      lze_device_units(d) == 1 ? "" : "s", (int)d->compute.maxTotalGroupSize,
      memory, d->module.flags & ZE_DEVICE_MODULE_FLAG_FP64 ? ", fp64" : "",
      d->module.flags & ZE_DEVICE_MODULE_FLAG_FP16 ? ", fp16" : "",
      d->driver->offsets ? "" : ", no global offsets");
  info_add(L, b);
  if (d->tile_count > 0) {
    lua_pushfstring(L, "  %d tile%s\n", (int)d->tile_count,
                    d->tile_count == 1 ? "" : "s");
    info_add(L, b);
  }
}

/* Whether a device or a tile of it is among those of the table at `list`. */
static bool info_lists(lua_State *L, int list, const lze_DeviceInfo *d) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  bool found = false;
  for (lua_Integer i = 1; i <= n && !found; i++) {
    lua_rawgeti(L, list, i);
    const lze_DeviceInfo *each = lze_test_device(L, -1);
    found = each == d || each->parent == d;
    lua_pop(L, 1);
  }
  return found;
}

/* lze.info() -> text for a person: drivers, devices, what is in force. */
static int core_info(lua_State *L) {
  enum { PROBLEM = 1, LIST };
  const lze_System *s = NULL;
  const lze_DeviceInfo *standard = NULL;
  const void *found[2] = {NULL, NULL};
  lua_settop(L, 0);
  /* What keeps devices away is what this is asked for: show it, not raise. */
  lua_pushcfunction(L, info_probe);
  lua_pushlightuserdata(L, found);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK)
    luaL_tolstring(L, -1, NULL);
  else
    lua_pushnil(L);
  lua_replace(L, PROBLEM);
  lua_settop(L, PROBLEM);
  const char *problem = lua_tostring(L, PROBLEM);
  s = found[0];
  standard = found[1];
  lua_pushcfunction(L, info_devices);
  if (s == NULL || lua_pcall(L, 0, 1, 0) != LUA_OK) {
    lua_newtable(L);
    lua_replace(L, LIST);
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "lze %s%s%s\n", LZE_VERSION,
                  s != NULL ? ", Level Zero through " : "",
                  s != NULL ? s->loader : "");
  info_add(L, &b);
  if (problem != NULL) {
    lua_pushfstring(L, "problem: %s\n", problem);
    info_add(L, &b);
  }
  static const lze_System nothing;
  if (s == NULL) s = &nothing;
  for (int i = 0; i < s->driver_count; i++) {
    const lze_Driver *d = &s->drivers[i];
    lua_pushfstring(L, "driver %d: %s, Level Zero %d.%d\n", i + 1, d->name,
                    (int)ZE_MAJOR_VERSION(d->api),
                    (int)ZE_MINOR_VERSION(d->api));
    info_add(L, &b);
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, LIST);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, LIST, i);
    const lze_DeviceInfo *d = lze_test_device(L, -1);
    lua_pop(L, 1);
    lua_pushfstring(L, "device %I: ", (LUAI_UACINT)i);
    info_add(L, &b);
    info_device(L, &b, d, d == standard ? ", the default" : "");
  }
  for (int i = 0; i < s->device_count; i++)
    if (!info_lists(L, LIST, &s->devices[i])) {
      luaL_addstring(&b, "left out: ");
      info_device(L, &b, &s->devices[i], ", by ONEAPI_DEVICE_SELECTOR");
    }
  if (s->device_count == 0) luaL_addstring(&b, "no device\n");
  for (const char *line = s->missing; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    luaL_addstring(&b, "note: ");
    luaL_addlstring(&b, line, length);
    luaL_addchar(&b, '\n');
    line += length + (line[length] == '\n');
  }
  static const char *const variables[] = {
      "LZE_DEVICE", "LZE_SOFTWARE", "LZE_OPENCL", "LZE_GROUP_POLICY",
      "LZE_GROUP", "LZE_USE_IMMEDIATE_COMMANDLISTS", "LZE_SYNC", "LZE_CHECK",
      "LZE_LOG", "LZE_CACHE", "LZE_COMPILER", "LZE_CLANG", "LZE_BUILD_SECONDS",
      "ONEAPI_DEVICE_SELECTOR", "ZE_ENABLE_ALT_DRIVERS", "ZE_AFFINITY_MASK",
      "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_VALIDATION_LAYER",
      "ZE_ENABLE_PARAMETER_VALIDATION"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (value == NULL) continue;
    lua_pushfstring(L, "%s=%s\n", variables[i], value);
    info_add(L, &b);
  }
  luaL_pushresult(&b);
  return 1;
}

static const lze_Method functions[] = {
    {"info", core_info, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_info(lua_State *L) { lze_set_methods(L, functions, 0); }
