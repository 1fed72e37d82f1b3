/*
 * lze_select.c - device selectors, which lua/select.lua parses.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char select_text[] = {
#include "lua/select.h"
};
static const lze_Script select_script = {"lze select.lua", select_text,
                                         sizeof select_text, NULL};

/* Returns the k-th device of the system, counting roots and tiles, or NULL
   after the last. */
static const lze_DeviceInfo *system_device(const lze_System *s, int k) {
  for (int i = 0; i < s->device_count; i++) {
    const lze_DeviceInfo *root = &s->devices[i];
    if (k-- == 0) return root;
    if (k < (int)root->tile_count) return &root->tiles[k];
    k -= (int)root->tile_count;
  }
  return NULL;
}

/* Sets element n of the array on the top to the script's view of a device. */
static void select_add(lua_State *L, lua_Integer n, const lze_DeviceInfo *d) {
  lua_createtable(L, 0, 4);
  lua_pushstring(L, d->props.name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, d->type);
  lua_setfield(L, -2, "type");
  lua_pushinteger(L, d->tile_count);
  lua_setfield(L, -2, "tiles");
  lua_pushboolean(L, d->parent != NULL);
  lua_setfield(L, -2, "tile");
  lua_rawseti(L, -2, n);
}

void lze_select(lua_State *L, int arg, const char *what) {
  int type = lua_type(L, arg);
  if (type != LUA_TNIL && type != LUA_TNUMBER && type != LUA_TSTRING)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "selector: number or string expected, "
                                     "got %s",
                                  lze_describe(L, arg)));
  if (type == LUA_TNUMBER) lze_check_integer(L, arg, "selector");
  luaL_checkstack(L, 10, NULL);
  arg = lua_absindex(L, arg);
  const lze_System *s = lze_system(L);
  const lze_DeviceInfo *d;
  lua_createtable(L, s->total_devices, 0);
  for (int k = 0; (d = system_device(s, k)) != NULL; k++)
    select_add(L, k + 1, d);
  lua_pushvalue(L, arg);
  lua_pushstring(L, what);
  lua_pushstring(L, getenv("ONEAPI_DEVICE_SELECTOR"));
  lze_script_call(L, &select_script, "select", 4, 1);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    int place = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    lze_push_device(L, system_device(s, place - 1));
    lua_rawseti(L, -2, i);
  }
}

const lze_DeviceNumber *lze_number_devices(lua_State *L) {
  const lze_System *s = lze_system(L);
  const lze_DeviceInfo *d;
  size_t count = (size_t)s->total_devices;
  luaL_checkstack(L, 10, NULL);
  lze_DeviceNumber *numbers =
      lua_newuserdatauv(L, count * sizeof *numbers + 1, 0);
  memset(numbers, 0, count * sizeof *numbers);
  /* This also runs in the state of LZE_PROFILE, which contains only the
     script. */
  lua_newtable(L);
  lze_script_part(L, &select_script);
  lua_getfield(L, -1, "select");
  lua_createtable(L, s->total_devices, 0);
  for (int k = 0; (d = system_device(s, k)) != NULL; k++)
    select_add(L, k + 1, d);
  lua_pushnil(L);
  lua_pushliteral(L, "selector");
  lua_pushstring(L, getenv("ONEAPI_DEVICE_SELECTOR"));
  /* A borrowed device needs no selector, so an invalid selector is not an
     error. */
  int status = lua_pcall(L, 4, 1, 0);
  if (status != LUA_OK && status != LUA_ERRRUN) lua_error(L);
  lua_Integer n = status == LUA_OK ? (lua_Integer)lua_rawlen(L, -1) : 0;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    d = system_device(s, (int)lua_tointeger(L, -1) - 1);
    numbers[d->index].number = (uint32_t)i;
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  for (int k = 0; (d = system_device(s, k)) != NULL; k++) {
    lze_DeviceNumber *own = &numbers[d->index];
    if (own->number == 0 && d->parent != NULL) {
      own->number = numbers[d->parent->index].number;
      own->tile = (uint32_t)(d - d->parent->tiles) + 1;
    }
  }
  return numbers;
}

int lze_select_none(lua_State *L, int arg, const char *where) {
  const lze_System *s = lze_system(L);
  luaL_checkstack(L, 10, NULL);
  arg = lua_absindex(L, arg);
  bool any = lua_isnil(L, arg);
  lua_newtable(L);
  if (any) {
    for (int i = 0; i < s->device_count; i++)
      select_add(L, i + 1, &s->devices[i]);
  } else { /* the devices to choose from */
    lua_pushnil(L);
    lze_select(L, -1, where);
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, -1, i);
      const lze_DeviceInfo *d = lze_test_device(L, -1);
      lua_pushvalue(L, -4);
      select_add(L, i, d);
      lua_pop(L, 2);
    }
    lua_pop(L, 2);
  }
  if (any)
    lua_pushnil(L);
  else
    lze_describe(L, arg);
  lua_pushstring(L, where);
  lua_pushstring(L, getenv("ONEAPI_DEVICE_SELECTOR"));
  lua_pushstring(L, s->missing);
  lze_script_call(L, &select_script, "none", 5, 0);
  return 0;
}
