/*
 * lze_step.c - the values of a step: checks and copies them, and replaces
 * transient buffers.
 * SPDX-License-Identifier: MIT
 */
#include "plan/lze_step.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_object.h"
#include "module/lze_lua_kernel.h"
#include "module/lze_module.h"
#include "queue/lze_readers.h"

#include <string.h>

const char *const lze_step_names[] = {"task", "copy", "fill", "call", "graph"};

/* --- checking a step ------------------------------------------------------ */

/* Called by lua_pcall with lze_Checked and the values. */
static int step_check(lua_State *L) {
  lze_Checked *out = lua_touserdata(L, 1);
  lua_remove(L, 1);
  int count = lua_gettop(L);
  luaL_checkstack(L, 12, NULL);
  switch (out->kind) {
    case LZE_STEP_TASK:
      out->kernel = lze_test_kernel(L, 1);
      if (out->kernel == NULL) return luaL_error(L, "the kernel is closed");
      if (out->device != NULL && !out->kernel->o.closed &&
          out->kernel->module->device != out->device) {
        lze_push_kernel_for(L, 1, out->device);
        lua_replace(L, 1);
        out->kernel = lze_test_kernel(L, 1);
      }
      out->choice = lze_task_check(L, out->kernel, out->name, 2, count - 2,
                                   out->use, out->data);
      break;
    case LZE_STEP_COPY: {
      lua_settop(L, 5);
      lze_copy_check(L, 1, &out->copy);
      const lze_Copy *c = &out->copy;
      lze_Access to = {c->to, c->to_offset, c->to_offset + c->bytes, false,
                       true};
      lze_Access from = {c->from, c->from_offset, c->from_offset + c->bytes,
                         true, false};
      out->use(out->data, 0, &to);
      out->use(out->data, 1, &from);
      break;
    }
    case LZE_STEP_FILL: {
      lua_settop(L, 4);
      lze_fill_check(L, 1, &out->fill);
      const lze_Fill *f = &out->fill;
      lze_Access to = {f->to, f->offset, f->offset + f->bytes, false, true};
      out->use(out->data, 0, &to);
      break;
    }
    default: break;
  }
  return 0;
}

int lze_step_check(lua_State *L, int first, int count, lze_Checked *out) {
  first = lua_absindex(L, first);
  out->kernel = NULL;
  out->choice = NULL;
  luaL_checkstack(L, count + 4, "too many arguments");
  lua_pushcfunction(L, step_check);
  lua_pushlightuserdata(L, out);
  for (int i = 0; i < count; i++) lua_pushvalue(L, first + i);
  int arg;
  int status = lze_protected(L, count + 1, 0, &arg);
  if (arg > 0) {
    lua_pushfstring(L, "argument %d: %s", arg, lua_tostring(L, -1));
    lua_replace(L, -2);
  }
  return status;
}

int lze_named_argument(const lze_Kernel *k, const char *name) {
  int found = 0;
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    if (k->info->args[i].name == NULL ||
        strcmp(k->info->args[i].name, name) != 0)
      continue;
    if (found > 0) return -1;
    found = (int)i + 1;
    if (!k->info->args[i].is_capture) break;
  }
  return found;
}

void lze_use_nothing(void *data, int argument, const lze_Access *access) {
  (void)data;
  (void)argument;
  (void)access;
}

/* --- transient buffers ---------------------------------------------------- */

static lze_Scratch *scratch_test(lua_State *L, int index) {
  return lze_test_box(L, index, lze_scratch_kind);
}

/* Pushes the replacement of the value at `index` in the map at `map`, or the
   value itself if it is not in the map. A transient buffer that is not in the
   map gets a stub. */
static void value_resolve(lua_State *L, int index, int map,
                          lze_Context *context, const lze_DeviceInfo *device) {
  index = lua_absindex(L, index);
  if (lua_type(L, index) != LUA_TUSERDATA) {
    lua_pushvalue(L, index);
    return;
  }
  lua_pushvalue(L, index);
  if (lua_rawget(L, map) != LUA_TNIL) return;
  lua_pop(L, 1);
  const lze_Scratch *s = scratch_test(L, index);
  if (s == NULL) {
    lua_pushvalue(L, index);
    return;
  }
  lze_push_stub(L, context, device, s->type, s->count);
  lua_pushvalue(L, index);
  lua_pushvalue(L, -2);
  lua_rawset(L, map);
}

/* Pushes the launch table at `index` with its `uses` resolved. */
static void launch_resolve(lua_State *L, int index, int map,
                           lze_Context *context,
                           const lze_DeviceInfo *device) {
  if (lze_getoption(L, index, "uses") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushvalue(L, index);
    return;
  }
  int uses = lua_gettop(L);
  if (lze_is_table(L, uses)) {
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, uses); lua_pop(L, 1)) {
      lua_pushvalue(L, -2);
      value_resolve(L, -2, map, context, device);
      lua_rawset(L, uses + 1);
    }
  } else {
    value_resolve(L, uses, map, context, device);
  }
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, uses + 2);
  }
  lua_pushvalue(L, uses + 1);
  lua_setfield(L, uses + 2, "uses");
  lua_replace(L, uses);
  lua_settop(L, uses);
}

void lze_push_values(lua_State *L, int values, int count, int map,
                     lze_Context *context, const lze_DeviceInfo *device) {
  values = lua_absindex(L, values);
  map = lua_absindex(L, map);
  luaL_checkstack(L, count + 10, "too many arguments");
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, values, i);
    int value = lua_gettop(L);
    if (i == 2 && lua_istable(L, value))
      launch_resolve(L, value, map, context, device);
    else
      value_resolve(L, value, map, context, device);
    lua_replace(L, value);
  }
}

lze_Scratch *lze_push_scratch(lua_State *L, const lze_Type *type,
                              lua_Integer count) {
  lze_Scratch *s = lze_push_box(L, lze_scratch_kind, sizeof *s);
  s->type = type;
  s->count = count;
  return s;
}

static int scratch_length(lua_State *L) {
  const lze_Scratch *s = lze_check_box(L, 1, lze_scratch_kind);
  lua_pushinteger(L, s->count);
  return 1;
}

static int scratch_tostring(lua_State *L) {
  const lze_Scratch *s = lze_check_box(L, 1, lze_scratch_kind);
  lua_pushfstring(L, "scratch: %s[%I]", s->type->name,
                  (LUAI_UACINT)s->count);
  return 1;
}

static int field_scratch_type(lua_State *L) {
  const lze_Scratch *s = lze_check_box(L, 1, lze_scratch_kind);
  lua_pushstring(L, s->type->name);
  return 1;
}

static int field_scratch_bytes(lua_State *L) {
  const lze_Scratch *s = lze_check_box(L, 1, lze_scratch_kind);
  lua_pushinteger(L, s->count * s->type->bytes);
  return 1;
}

static const lze_Method scratch_methods[] = {{NULL, NULL, LZE_UNGUARDED}};

static const lze_Method scratch_metamethods[] = {
    {"__len", scratch_length, LZE_UNGUARDED},
    {"__tostring", scratch_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Field scratch_fields[] = {{"type", field_scratch_type},
                                           {"bytes", field_scratch_bytes},
                                           {NULL, NULL}};

void lze_open_scratch(lua_State *L) {
  lze_new_kind(L, lze_scratch_kind, scratch_metamethods, scratch_methods,
               scratch_fields);
}

/* --- kernels with hidden arguments ---------------------------------------- */

/* Pushes a table of the values, among `count` values of a launch of the Lua
   kernel at `lua`, that are lengths of others. [-0, +1] */
static void push_lengths(lua_State *L, int lua, int count) {
  lua_newtable(L);
  for (int i = 1; i <= count; i++) {
    int of = lze_length_of(L, lua, i);
    if (of == 0) continue;
    lua_pushinteger(L, of + 2);
    lua_rawseti(L, -2, i + 2);
  }
}

/* If value i of an entry was recorded as an array, puts that array at stack
   index `at`. */
static void put_array(lua_State *L, int entry, int i, int at) {
  int top = lua_gettop(L);
  if (lze_getoption(L, entry, "arrays") == LUA_TTABLE &&
      lua_rawgeti(L, -1, i) != LUA_TNIL)
    lua_copy(L, -1, at);
  lua_settop(L, top);
}

/* Pushes the arrays of several dimensions among the values from stack index
   `first` on: {[i] = array}. [-0, +1] */
static void push_shapes(lua_State *L, int first, int count) {
  lua_newtable(L);
  for (int i = 3; i <= count; i++) {
    if (!lze_is_array(L, first + i - 1)) continue;
    lze_array_get(L, first + i - 1, "dims");
    bool several = lua_rawlen(L, -1) > 1;
    lua_pop(L, 1);
    if (!several) continue;
    lua_pushvalue(L, first + i - 1);
    lua_rawseti(L, -2, i);
  }
}

void lze_task_resolve(lua_State *L, int entry, lze_Context *context,
                      const lze_DeviceInfo *device) {
  int top = lua_gettop(L);
  entry = lua_absindex(L, entry);
  luaL_checkstack(L, 12, NULL);
  if (lze_getoption(L, entry, "lua") == LUA_TNIL) {
    lua_rawgeti(L, entry, 1);
    lze_getoption(L, entry, "n");
    bool adds = lze_adds_arguments(L, top + 2);
    if (adds) {
      lua_setfield(L, entry, "given");
      lua_setfield(L, entry, "lua");
    }
    lua_settop(L, top);
    if (!adds) return;
    lze_getoption(L, entry, "lua");
  }
  lze_getoption(L, entry, "given");
  int given = (int)lua_tointeger(L, -1), count = given - 2;
  if (lze_getoption(L, entry, "device") != LUA_TNIL)
    device = lze_device_in(L, context, lze_test_device(L, -1));
  lua_newtable(L);
  int lua = top + 1, map = top + 4, first = top + 5;
  lze_push_values(L, entry, given, map, context, device);
  for (int i = 3; i <= given; i++) put_array(L, entry, i, first + i - 1);
  lua_pushvalue(L, lua);
  lua_replace(L, first);
  const lze_Place place = {context, device};
  lze_kernel_resolve(L, first, &place, first + 1, &count);
  push_lengths(L, lua, count);
  lua_setfield(L, entry, "lengths");
  lua_pushinteger(L, lze_dimensions_of(L, lua, given - 2));
  lua_setfield(L, entry, "dimensions");
  push_shapes(L, first, count + 2);
  lua_setfield(L, entry, "shapes");
  while (lua_gettop(L) > first - 1 + given) {
    lze_copy_value(L, lua_gettop(L), 1);
    lua_rawseti(L, entry, lua_gettop(L) - first + 1);
  }
  lua_pushvalue(L, first);
  lua_rawseti(L, entry, 1);
  lua_pushinteger(L, count + 2);
  lua_setfield(L, entry, "n");
  lua_settop(L, top);
}

void lze_graph_resolve(lua_State *L, int graph, lze_Context *context,
                       const lze_DeviceInfo *device, int depth) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 6, NULL);
  lze_getoption(L, graph, "entries");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n && depth <= LZE_MAX_DEPTH; i++) {
    lua_rawgeti(L, top + 1, i);
    if (lua_rawgeti(L, top + 2, 1) != LUA_TNIL &&
        lze_test_box(L, -1, lze_graph_kind) != NULL) {
      lze_push_graph_table(L, -1);
      lze_graph_resolve(L, lua_gettop(L), context, device, depth + 1);
    } else if (lze_getoption(L, top + 2, "lua") != LUA_TNIL) {
      lze_task_resolve(L, top + 2, context, device);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* --- contents of graphs --------------------------------------------------- */

/* The user value of a graph is its table, or its name once it is closed. */
void lze_push_graph_table(lua_State *L, int arg) {
  lze_check_box(L, arg, lze_graph_kind);
  if (lua_getiuservalue(L, arg, 1) == LUA_TTABLE) return;
  if (arg > 0) lze_closed(L, arg, "graph");
  luaL_error(L, "graph %s: the graph is closed", lua_tostring(L, -1));
}

void lze_copy_value(lua_State *L, int arg, int depth) {
  luaL_checkstack(L, 5, NULL);
  if (lze_is_array(L, arg)) {
    lze_push_array_buffer(L, arg);
    if (lua_isnil(L, -1)) lua_pop(L, 1); /* not contiguous: a later check
                                            refuses it */
    else lua_replace(L, arg);
    return;
  }
  if (!lua_istable(L, arg)) return;
  lua_createtable(L, (int)lua_rawlen(L, arg), 0);
  int own = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, arg); lua_settop(L, own + 1)) {
    if (depth > 1) lze_copy_value(L, own + 2, depth - 1);
    lua_pushvalue(L, own + 1);
    lua_insert(L, own + 2);
    lua_rawset(L, own);
  }
  lua_replace(L, arg);
}
