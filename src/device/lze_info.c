/*
 * lze_info.c - lze.info: a summary of the system, for a person.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_device.h"
#include "base/lze_embed.h"
#include "base/lze_guard.h"
#include "base/lze_lapack.h"
#include "base/lze_open.h"
#include "cache.h"
#include "device/lze_loader.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static const unsigned char info_text[] = {
#include "lua/info.h"
};
static const lze_Script info_script = {"lze info.lua", info_text,
                                       sizeof info_text, NULL};

/* Called by lua_pcall: stores the system and the default device. */
static int info_probe(lua_State *L) {
  const void **found = lua_touserdata(L, 1);
  const lze_System *s = lze_system(L);
  found[0] = s;
  if (s->device_count > 0) found[1] = lze_default_device(L);
  return 0;
}

/* Called by lua_pcall: returns the devices of lze.devices(). */
static int info_devices(lua_State *L) {
  lua_settop(L, 0);
  lua_pushnil(L);
  lze_select(L, 1, "");
  return 1;
}

static void info_integer(lua_State *L, const char *key, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, key);
}

static void info_boolean(lua_State *L, const char *key, bool b) {
  lua_pushboolean(L, b);
  lua_setfield(L, -2, key);
}

static void info_string(lua_State *L, const char *key, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, key);
}

/* Appends the description of a device to the array on the top. */
static void info_device(lua_State *L, const lze_DeviceInfo *d,
                        const lze_DeviceInfo *standard) {
  lua_createtable(L, 0, 13);
  info_string(L, "name", d->props.name);
  info_string(L, "type", d->type);
  info_boolean(L, "tile", d->parent != NULL);
  info_boolean(L, "default", d == standard);
  info_integer(L, "driver", (uint64_t)d->driver->index + 1);
  info_integer(L, "units", lze_device_units(d));
  info_integer(L, "max_group_size", d->compute.maxTotalGroupSize);
  info_integer(L, "memory_bytes", d->memory_bytes);
  info_boolean(L, "fp64", d->module.flags & ZE_DEVICE_MODULE_FLAG_FP64);
  info_boolean(L, "fp16", d->module.flags & ZE_DEVICE_MODULE_FLAG_FP16);
  info_boolean(L, "int64_atomics",
               d->module.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS);
  info_boolean(L, "offsets", d->driver->offsets);
  info_integer(L, "tiles", d->tile_count);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* Returns true if the table at `list` contains the device or one of its
   tiles. */
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

/* lze.info() -> text for a person: drivers, devices, settings in force. */
static int core_info(lua_State *L) {
  enum { PROBLEM = 1, LIST };
  const lze_System *s = NULL;
  const lze_DeviceInfo *standard = NULL;
  const void *found[2] = {NULL, NULL};
  lua_settop(L, 0);
  /* Show why devices are missing instead of raising an error. */
  lua_pushcfunction(L, info_probe);
  lua_pushlightuserdata(L, found);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    if (lua_istable(L, -1)) { /* the position in the script is not part of the
                                 text */
      lua_pushnil(L);
      lua_setfield(L, -2, "where");
    }
    luaL_tolstring(L, -1, NULL);
  } else {
    lua_pushnil(L);
  }
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
  lua_createtable(L, 0, 8);
  info_string(L, "version", LZE_VERSION);
  info_string(L, "loader", s != NULL ? s->loader : NULL);
  info_string(L, "problem", problem);
  static const lze_System nothing;
  if (s == NULL) s = &nothing;
  info_string(L, "missing", s->missing);
  lze_push_notes(L);
  lua_setfield(L, -2, "notes");
  const lze_Lapack *lapack = lze_lapack();
  info_string(L, "lapack", lapack->path);
  info_string(L, "lapack_kind", lapack->kind);
  info_string(L, "lapack_missing", lapack->missing);
  info_integer(L, "lapack_bits", (uint64_t)lapack->integer_bytes * 8);
  char uncached[PATH_MAX + 80];
  if (cache_problem(uncached, sizeof uncached))
    info_string(L, "uncached", uncached);
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    info_integer(L, "allowed", (uint64_t)CPU_COUNT(&allowed));
  info_integer(L, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
  lua_newtable(L);
  for (int i = 0; i < s->driver_count; i++) {
    const lze_Driver *d = &s->drivers[i];
    lua_createtable(L, 0, 3);
    info_string(L, "name", d->name);
    info_integer(L, "major", ZE_MAJOR_VERSION(d->api));
    info_integer(L, "minor", ZE_MINOR_VERSION(d->api));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "drivers");
  lua_newtable(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, LIST);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, LIST, i);
    const lze_DeviceInfo *d = lze_test_device(L, -1);
    lua_pop(L, 1);
    info_device(L, d, standard);
  }
  lua_setfield(L, -2, "devices");
  lua_newtable(L);
  for (int i = 0; i < s->device_count; i++)
    if (!info_lists(L, LIST, &s->devices[i]))
      info_device(L, &s->devices[i], NULL);
  lua_setfield(L, -2, "left_out");
  static const char *const variables[] = {
      "LZE_DEVICE", "LZE_SOFTWARE", "LZE_OPENCL", "LZE_GROUP_POLICY",
      "LZE_GROUP", "LZE_USE_IMMEDIATE_COMMANDLISTS",
      "LZE_SYNC", "LZE_CHECK", "LZE_FUSE", "LZE_LOG", "LZE_PROGRESS",
      "LZE_PROFILE", "LZE_TOP", "LZE_CACHE", "LZE_COMPILER", "LZE_CLANG",
      "LZE_BUILD_SECONDS", "LZE_LAPACK", "LZE_LIBRARIES",
      "ONEAPI_DEVICE_SELECTOR", "ZE_ENABLE_ALT_DRIVERS", "ZE_AFFINITY_MASK",
      "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_VALIDATION_LAYER",
      "ZE_ENABLE_PARAMETER_VALIDATION", "LZE_MPI", "LZE_MPI_TIMEOUT",
      "LZE_MPI_GPU",
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
      "PMIX_RANK", "POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (value == NULL) continue;
    lua_createtable(L, 0, 2);
    info_string(L, "name", variables[i]);
    info_string(L, "value", value);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "variables");
  lze_script_call(L, &info_script, "text", 1, 1);
  return 1;
}

static const lze_Method functions[] = {
    {"info", core_info, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_info(lua_State *L) { lze_set_methods(L, functions, 0); }
