/*
 * lze_limits.c - the measured performance of devices.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_limits.h"
#include "cache.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"copy", "float", "double"};

static cache_key limits_key(const char *device) {
  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, device, strlen(device));
  return key;
}

void lze_push_limits(lua_State *L, const char *device) {
  cache_key key = limits_key(device);
  double values[3];
  size_t bytes = 0;
  unsigned char *entry = cache_read("limits", &key, &bytes);
  bool good = entry != NULL && bytes == sizeof values;
  if (good) memcpy(values, entry, sizeof values);
  free(entry);
  if (!good || !(values[0] > 0) || !(values[1] > 0)) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, 0, 3);
  for (int i = 0; i < 3; i++) {
    if (!(values[i] > 0)) continue;
    lua_pushnumber(L, values[i]);
    lua_setfield(L, -2, names[i]);
  }
}

void lze_keep_limits(lua_State *L, const char *device, int index) {
  cache_key key = limits_key(device);
  double values[3];
  index = lua_absindex(L, index);
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, index, names[i]);
    values[i] = lua_tonumber(L, -1); /* 0 for nil */
    lua_pop(L, 1);
  }
  cache_write("limits", &key, values, sizeof values);
}
