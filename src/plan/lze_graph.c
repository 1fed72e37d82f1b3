/*
 * lze_graph.c - recording task graphs.
 * SPDX-License-Identifier: MIT
 *
 * Recording runs nothing and allocates nothing on a device. A graph consists
 * of the values that a script gave, each checked as a launch would check it.
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_kernel.h"
#include "plan/lze_plan.h"
#include "queue/lze_readers.h"

#include <string.h>

static const char *graph_name(lua_State *L, int table) {
  lze_getoption(L, table, "name");
  return lua_tostring(L, -1); /* the table keeps it alive */
}

/* lze.graph([name]) -> an empty graph */
static int core_graph(lua_State *L) {
  static const char *const arrays[] = {"names", "entries", "inputs",
                                       "outputs", "swaps"};
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lua_pushliteral(L, "graph");
    lua_replace(L, 1);
  }
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "name: string expected, got %s",
                                        lze_describe(L, 1)));
  if (lze_has_zero(L, 1)) lze_argerror(L, 1, "name: it contains a zero byte");
  lze_push_box(L, lze_graph_kind, sizeof(lze_Box));
  lua_createtable(L, 0, 6);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "name");
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    lua_newtable(L);
    lua_setfield(L, -2, arrays[i]);
  }
  lua_setiuservalue(L, 2, 1);
  return 1;
}

/* Appends the value on the top of the stack to the array `key` of the table at
   `t`. [-1, +0] */
static void table_append(lua_State *L, int t, const char *key) {
  lze_getoption(L, t, key);
  lua_insert(L, -2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

/* Pushes the table of the graph at 1, and returns the name at 2 for a new
   entry. Raises if the name is invalid or already in use. [-0, +1] */
static const char *entry_name(lua_State *L, lze_StepKind kind) {
  lze_push_graph_table(L, 1);
  int table = lua_gettop(L);
  if (lua_type(L, 2) != LUA_TSTRING || lua_rawlen(L, 2) == 0)
    lze_argerror(L, 2, lua_pushfstring(L, "name: string expected, got %s",
                                        lze_describe(L, 2)));
  const char *name = lua_tostring(L, 2);
  if (strlen(name) != lua_rawlen(L, 2) || strchr(name, '.') != NULL)
    lze_argerror(L, 2, "name: it cannot have a dot or a zero in it");
  lze_getoption(L, table, "names");
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL)
    luaL_error(L, "graph %s: %s %s: there is one of that name already",
               graph_name(L, table), lze_step_names[kind], name);
  lua_settop(L, table);
  return name;
}

/* Raises the error on the top of the stack. A message gets the prefix "graph
   G: task T: "; an error object is raised unchanged. */
static int entry_raise(lua_State *L, int table, lze_StepKind kind,
                       const char *name) {
  if (lua_type(L, -1) != LUA_TSTRING) return lua_error(L);
  const char *message = lua_tostring(L, -1);
  return luaL_error(L, "graph %s: %s %s: %s", graph_name(L, table),
                    lze_step_names[kind], name, message);
}

/* A task's device is determined when the graph is compiled. Until then, stubs
   in the map stand for memory of devices other than the kernel's. */
static void entry_stub_devices(lua_State *L, int entry, int count, int map,
                               lze_Context *context,
                               const lze_DeviceInfo *device) {
  for (int i = 3; i <= count; i++) {
    lua_rawgeti(L, entry, i);
    const lze_Buffer *b = lze_test_buffer(L, -1);
    if (b != NULL && lze_buffer_is_open(b) &&
        b->storage->o.context == context && b->storage->device != device &&
        (b->storage->usage == LZE_DEVICE ||
         !lze_device_reaches(device, b->storage))) {
      lze_push_stub(L, context, device, b->type, b->count);
      lua_rawset(L, map);
    } else {
      lua_pop(L, 1);
    }
  }
}

/* Checks the values of the entry at the top of the stack. */
static void entry_check(lua_State *L, int table, lze_StepKind kind,
                        const char *name, lze_Context *context,
                        const lze_DeviceInfo *device) {
  int entry = lua_gettop(L);
  lze_getoption(L, entry, "n");
  int count = (int)lua_tointeger(L, -1);
  lua_newtable(L);
  if (kind == LZE_STEP_TASK)
    entry_stub_devices(L, entry, count, entry + 2, context, device);
  lze_push_values(L, entry, count, entry + 2, context, device);
  lze_Checked check = {.kind = kind, .use = lze_use_nothing};
  if (lze_step_check(L, entry + 3, count, &check) != LUA_OK)
    entry_raise(L, table, kind, name);
  lua_settop(L, entry);
}

/* Adds the entry whose table is on the top of the stack. [-1, +0] */
static void entry_add(lua_State *L, int table, lze_StepKind kind) {
  lua_pushstring(L, lze_step_names[kind]);
  lua_setfield(L, -2, "kind");
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "name");
  lze_getoption(L, table, "names");
  lua_pushvalue(L, 2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  table_append(L, table, "entries");
}

/* Pushes a table of the values from stack index 3 to `last`. [-0, +1] */
static void entry_push(lua_State *L, int last) {
  lua_createtable(L, last - 2, 6);
  lua_newtable(L);
  for (int i = 3; i <= last; i++) {
    if (lze_is_array(L, i)) {
      lua_pushvalue(L, i);
      lua_rawseti(L, -2, i - 2);
    }
    lze_copy_value(L, i, 2);
  }
  lua_setfield(L, -2, "arrays");
  for (int i = 3; i <= last; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, i - 2);
  }
  lua_pushinteger(L, last - 2);
  lua_setfield(L, -2, "n");
}

/* Returns the kernel argument, from 1, for the number or name at stack index
   `key`; 0 if the kernel does not have it, -1 if the name has several. */
static lua_Integer task_argument(lua_State *L, const lze_Kernel *k,
                                 int key) {
  if (lua_type(L, key) == LUA_TSTRING)
    return lze_named_argument(k, lua_tostring(L, key));
  int exact;
  lua_Integer i = lua_tointegerx(L, key, &exact);
  return exact && lua_type(L, key) == LUA_TNUMBER && i >= 1 &&
                 i <= (lua_Integer)k->info->arg_count
             ? i : 0;
}

/* Pushes the `access` table at the top of the stack, with arguments as
 * numbers. [-0, +1]
 */
static void task_access(lua_State *L, int table, const char *name,
                        const lze_Kernel *k) {
  if (!lua_istable(L, -1))
    luaL_error(L, "graph %s: task %s: access: table expected, got %s",
               graph_name(L, table), name, lze_describe(L, -1));
  int given = lua_gettop(L);
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, given); lua_pop(L, 1)) {
    lua_Integer i = task_argument(L, k, -2);
    if (i <= 0)
      luaL_error(L, "graph %s: task %s: access: %s has %s argument %s",
                 graph_name(L, table), name, k->name,
                 i == 0 ? "no" : "more than one", lze_describe(L, -2));
    const char *word =
        lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int a = 1;
    while (a <= 3 && strcmp(lze_access_names[a], word) != 0) a++;
    if (a > 3)
      luaL_error(L, "graph %s: task %s: access: read, write or both expected, "
                    "got %s",
                 graph_name(L, table), name, lze_describe(L, -1));
    if (k->info->args[i - 1].cls != SPIRV_ARG_POINTER)
      luaL_error(L, "graph %s: task %s: access: argument %d is not a pointer",
                 graph_name(L, table), name, (int)i);
    lua_pushinteger(L, a);
    lua_rawseti(L, given + 1, i);
  }
}

/* Pushes the `after` at the top of the stack, a name or an array of names, as
   an array. [-0, +1] */
static void task_after(lua_State *L, int table, const char *name) {
  int given = lua_gettop(L);
  lua_newtable(L);
  bool one = lua_type(L, given) == LUA_TSTRING;
  if (!one && !lua_istable(L, given))
    luaL_error(L, "graph %s: task %s: after: a task's name or an array of "
                  "them expected, got %s",
               graph_name(L, table), name, lze_describe(L, given));
  lua_Integer n = one ? 1 : lze_list_length(L, given);
  if (n < 0)
    luaL_error(L, "graph %s: task %s: after: array expected, got a table with "
                  "the key %s",
               graph_name(L, table), name, lze_describe(L, -1));
  lze_getoption(L, table, "names");
  for (lua_Integer i = 1; i <= n; i++) {
    if (one) lua_pushvalue(L, given);
    else lua_rawgeti(L, given, i);
    lua_pushvalue(L, -1);
    if (lua_type(L, -1) != LUA_TSTRING || lua_rawget(L, given + 2) == LUA_TNIL)
      luaL_error(L, "graph %s: task %s: after: nothing of the name %s has "
                    "been recorded before it",
                 graph_name(L, table), name, lze_describe(L, -2));
    lua_pop(L, 1);
    lua_rawseti(L, given + 1, i);
  }
  lua_pop(L, 1);
}

/* Splits the launch table at 4 into the options of a launch, and device,
   access and after; stores all of them in the table at `entry`. */
static void task_options(lua_State *L, int table, int entry, const char *name,
                         const lze_Kernel *k) {
  lua_newtable(L);
  int launch = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, 4); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "queue") == 0)
      luaL_error(L, "graph %s: task %s: queue: a plan chooses its queues",
                 graph_name(L, table), name);
    if (strcmp(key, "signal") == 0)
      luaL_error(L, "graph %s: task %s: signal: a run has one event, that of "
                    "plan:start",
                 graph_name(L, table), name);
    if (strcmp(key, "device") == 0) {
      lze_push_device(L, lze_device_at(L, lua_gettop(L), "device"));
      lua_setfield(L, entry, "device");
    } else if (strcmp(key, "access") == 0) {
      task_access(L, table, name, k);
      lua_setfield(L, entry, "access");
    } else if (strcmp(key, "after") == 0) {
      task_after(L, table, name);
      lua_setfield(L, entry, "after");
    } else {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, launch);
    }
    lua_settop(L, launch + 2);
  }
  lua_rawseti(L, entry, 2);
}

/* Returns the context and device for a task of the kernel at 3: the kernel's.
   For a Lua kernel: its first buffer argument's, else the device in its launch
   table, else the default one. */
static lze_Context *task_place(lua_State *L, int last,
                               const lze_DeviceInfo **device) {
  const lze_Kernel *k = lze_test_kernel(L, 3);
  if (k != NULL) {
    *device = k->module->device;
    return k->o.context;
  }
  for (int i = 5; i <= last; i++) {
    const lze_Buffer *b = lze_test_buffer(L, i);
    if (b == NULL || !lze_buffer_is_open(b)) continue;
    *device = b->storage->device;
    return b->storage->o.context;
  }
  *device = NULL;
  if (lua_istable(L, 4) && lze_getoption(L, 4, "device") != LUA_TNIL)
    *device = lze_device_at(L, lua_gettop(L), "device");
  if (*device == NULL) *device = lze_default_device(L);
  return lze_device_context(L, *device);
}

/* g:task(name, kernel, range | launch table, ...) -> g
   g:task(name, graph) -> g: adds the contents that the other graph has when
   this one is compiled */
static int graph_task(lua_State *L) {
  int last = lua_gettop(L);
  if (last < 3) lze_argerror(L, 3, "a kernel or a graph expected");
  lze_arrays_evaluate(L, 4, last);
  if (lze_test_box(L, 3, lze_graph_kind) != NULL) {
    entry_name(L, LZE_STEP_GRAPH);
    int table = lua_gettop(L);
    if (last > 3)
      luaL_error(L, "graph %s: graph %s: a graph takes no arguments",
                 graph_name(L, table), lua_tostring(L, 2));
    lze_push_graph_table(L, 3);
    if (lua_rawequal(L, -1, table))
      luaL_error(L, "graph %s: graph %s: a graph cannot contain itself",
                 graph_name(L, table), lua_tostring(L, 2));
    lua_createtable(L, 1, 4);
    lua_pushvalue(L, 3);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, 1);
    lua_setfield(L, -2, "n");
    entry_add(L, table, LZE_STEP_GRAPH);
    lua_settop(L, 1);
    return 1;
  }
  const char *name = entry_name(L, LZE_STEP_TASK);
  int table = lua_gettop(L);
  const lze_KernelBox *b = lze_check_box(L, 3, lze_kernel_kind);
  if (!lze_kernel_is_open(L, 3))
    luaL_error(L, "graph %s: task %s: the kernel is closed",
               graph_name(L, table), name);
  if (last < 4)
    luaL_error(L, "graph %s: task %s: %s: no global size",
               graph_name(L, table), name, b->name);
  const lze_DeviceInfo *device;
  lze_Context *context = lze_push_context(L, task_place(L, last, &device));
  entry_push(L, last);
  int entry = lua_gettop(L);
  lze_task_resolve(L, entry, context, device);
  lua_rawgeti(L, entry, 1);
  const lze_Kernel *k = lze_test_kernel(L, -1);
  lua_pop(L, 1); /* the entry keeps it alive */
  if (lua_istable(L, 4)) task_options(L, table, entry, name, k);
  entry_check(L, table, LZE_STEP_TASK, name, context, device);
  entry_add(L, table, LZE_STEP_TASK);
  lua_settop(L, 1);
  return 1;
}

/* Returns the context and device of the first buffer among two values, else
   the default ones. */
static lze_Context *values_place(lua_State *L,
                                 const lze_DeviceInfo **device) {
  for (int i = 3; i <= 4; i++) {
    const lze_Buffer *b = lze_test_buffer(L, i);
    if (b == NULL || !lze_buffer_is_open(b)) continue;
    *device = b->storage->device;
    return b->storage->o.context;
  }
  *device = lze_default_device(L);
  return lze_device_context(L, *device);
}

static int graph_move(lua_State *L, lze_StepKind kind, int last) {
  lua_settop(L, last);
  const char *name = entry_name(L, kind);
  int table = lua_gettop(L);
  const lze_DeviceInfo *device;
  lze_Context *context = lze_push_context(L, values_place(L, &device));
  entry_push(L, last);
  entry_check(L, table, kind, name, context, device);
  entry_add(L, table, kind);
  lua_settop(L, 1);
  return 1;
}

/* g:copy(name, dst, src [, i [, j [, at]]]) -> g, as dst:copy does */
static int graph_copy(lua_State *L) { return graph_move(L, LZE_STEP_COPY, 7); }

/* g:fill(name, x, v [, i [, j]]) -> g, as x:fill does */
static int graph_fill(lua_State *L) { return graph_move(L, LZE_STEP_FILL, 6); }

/* Returns the position in `words` of the word at `arg`. */
static int check_when(lua_State *L, int arg, const char *const *words) {
  const char *word = lua_type(L, arg) == LUA_TSTRING ? lua_tostring(L, arg)
                                                     : "";
  luaL_Buffer b;
  for (int i = 0; words[i] != NULL; i++)
    if (strcmp(words[i], word) == 0) return i;
  const char *got = lze_describe(L, arg);
  luaL_buffinit(L, &b);
  for (int i = 0; words[i] != NULL; i++) {
    if (i > 0) luaL_addstring(&b, words[i + 1] == NULL ? " or " : ", ");
    luaL_addstring(&b, words[i]);
  }
  luaL_pushresult(&b);
  return lze_argerror(L, arg,
                       lua_pushfstring(L, "when: %s expected, got %s",
                                       lua_tostring(L, -1), got));
}

/* The common part of g:input and g:output. A buffer may be an input once and
   an output once. */
static int graph_io(lua_State *L, const char *key) {
  static const char *const input_words[] = {"first", "every", "none", NULL};
  static const char *const output_words[] = {"every", "demand", NULL};
  bool input = strcmp(key, "inputs") == 0;
  lua_settop(L, 4);
  lze_push_graph_table(L, 1);
  const lze_Buffer *b = lze_take_buffer(L, 2);
  if (lua_isnil(L, 3)) {
    lua_pushliteral(L, "every");
    lua_replace(L, 3);
  }
  check_when(L, 3, input ? input_words : output_words);
  const lze_Buffer *other = NULL;
  if (lze_test_buffer(L, 4) != NULL || lze_is_array(L, 4)) {
    other = lze_take_buffer(L, 4);
    const lze_Buffer *dst = input ? b : other, *src = input ? other : b;
    if (dst->type != src->type || src->count > dst->count)
      lze_argerror(L, 4, lua_pushfstring(L, "a buffer of %s%I %s expected, "
                                             "got one of %I %s",
                                          input ? "at most " : "at least ",
                                          (LUAI_UACINT)b->count, b->type->name,
                                          (LUAI_UACINT)other->count,
                                          other->type->name));
  } else if (!lua_isnil(L, 4) && !lze_is_table(L, 4) &&
             !(input && lua_type(L, 4) == LUA_TSTRING)) {
    lze_argerror(L, 4, lua_pushfstring(L, "%s expected, got %s",
                                        input ? "table, string or buffer"
                                              : "table or buffer",
                                        lze_describe(L, 4)));
  }
  if (lua_type(L, 4) == LUA_TSTRING) {
    size_t size = lua_rawlen(L, 4), most = (size_t)b->count * b->type->bytes;
    if (size % b->type->bytes != 0 || size > most)
      lze_argerror(L, 4, lua_pushfstring(L, "a string of at most %I bytes, "
                                             "whole %s of %d, expected, got "
                                             "one of %I",
                                          (LUAI_UACINT)most, b->type->name,
                                          (int)b->type->bytes,
                                          (LUAI_UACINT)size));
  }
  if (input && !lua_isnil(L, 4) && strcmp(lua_tostring(L, 3), "none") == 0)
    lze_argerror(L, 4, "scratch memory has no source");
  lze_getoption(L, 5, key);
  lua_createtable(L, 3, 0);
  for (int i = 1; i <= 3; i++) {
    lua_pushvalue(L, i + 1);
    lua_rawseti(L, 7, i);
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, 6);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 6, i);
    lua_rawgeti(L, -1, 1);
    if (lua_rawequal(L, -1, 2))
      luaL_error(L, "graph %s: the buffer is an %s already",
                 graph_name(L, 5), input ? "input" : "output");
    lua_pop(L, 2);
  }
  lua_rawseti(L, 6, n + 1);
  lua_settop(L, 1);
  return 1;
}

/* g:input(x [, when [, source]]) -> g
   when: "every" (before each run), "first" (once), "none" (scratch: the
   contents are undefined outside a run); source: a table, string or buffer. */
static int graph_input(lua_State *L) {
  return graph_io(L, "inputs");
}

/* g:output(x [, when [, destination]]) -> g
   when: "every" (after each run), "demand" (by plan:fetch); destination: a
   table or buffer. */
static int graph_output(lua_State *L) {
  return graph_io(L, "outputs");
}

/* g:call(name, f) -> g: calls the script's f() when all earlier entries are
   done; later entries wait for it. */
static int graph_call(lua_State *L) {
  lua_settop(L, 3);
  entry_name(L, LZE_STEP_CALL);
  int table = lua_gettop(L);
  lze_argexpected(L, lua_isfunction(L, 3), 3, "function");
  entry_push(L, 3);
  entry_add(L, table, LZE_STEP_CALL);
  lua_settop(L, 1);
  return 1;
}

/* Returns true if two windows share bytes. */
static bool windows_overlap(const lze_Buffer *a, const lze_Buffer *b) {
  lze_Access x = lze_buffer_span(a), y = lze_buffer_span(b);
  return lze_access_meets(&x, &y);
}

/* g:swap(a, b) -> g: after each run, exchanges the two buffers in all tasks. */
static int graph_swap(lua_State *L) {
  lua_settop(L, 3);
  lze_push_graph_table(L, 1);
  const lze_Buffer *pair[] = {lze_check_buffer(L, 2), lze_check_buffer(L, 3)};
  if (pair[0]->type != pair[1]->type || pair[0]->count != pair[1]->count)
    lze_argerror(L, 3, lua_pushfstring(L, "a buffer of %I %s expected, got "
                                           "one of %I %s",
                                        (LUAI_UACINT)pair[0]->count,
                                        pair[0]->type->name,
                                        (LUAI_UACINT)pair[1]->count,
                                        pair[1]->type->name));
  if (windows_overlap(pair[0], pair[1]))
    lze_argerror(L, 3, "it shares memory with the other");
  lze_getoption(L, 4, "swaps");
  lua_createtable(L, 2, 0);
  for (int i = 1; i <= 2; i++) {
    lua_pushvalue(L, i + 1);
    lua_rawseti(L, 6, i);
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, 5);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 5, i);
    for (int side = 1; side <= 2; side++) {
      lua_rawgeti(L, 7, side);
      const lze_Buffer *other = lze_test_buffer(L, -1);
      for (int mine = 0; mine < 2; mine++)
        if (windows_overlap(pair[mine], other))
          lze_argerror(L, mine + 2, "it is swapped already");
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_rawseti(L, 5, n + 1);
  lua_settop(L, 1);
  return 1;
}

/* g:buffer(type, count) -> scratch: a buffer that exists only in plans. */
static int graph_buffer(lua_State *L) {
  lua_settop(L, 3);
  lze_push_graph_table(L, 1);
  const lze_Type *type = lze_check_type(L, 2);
  lua_Integer count = lze_check_integer(L, 3, "count");
  if (count < 0 || count > PTRDIFF_MAX / type->bytes)
    lze_argerror(L, 3, lua_pushfstring(L, "count: %I is %s",
                                        (LUAI_UACINT)count,
                                        count < 0 ? "negative"
                                                  : "more than any memory"));
  lze_push_scratch(L, type, count);
  return 1;
}

/* g:close(): drops the recorded entries. Compiled plans stay valid. */
static int graph_close(lua_State *L) {
  lze_check_box(L, 1, lze_graph_kind);
  if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) {
    lze_getoption(L, -1, "name");
    lua_setiuservalue(L, 1, 1);
  }
  return 0;
}

static int graph_tostring(lua_State *L) {
  lze_check_box(L, 1, lze_graph_kind);
  if (lua_getiuservalue(L, 1, 1) != LUA_TTABLE) {
    lua_pushfstring(L, "graph %s (closed)", lua_tostring(L, -1));
    return 1;
  }
  lze_getoption(L, -1, "entries");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  lua_pop(L, 1);
  lua_pushfstring(L, "graph %s: %I task%s", graph_name(L, -1), (LUAI_UACINT)n,
                  n == 1 ? "" : "s");
  return 1;
}

static int field_graph_name(lua_State *L) {
  lze_push_graph_table(L, 1);
  lze_getoption(L, -1, "name");
  return 1;
}

static const lze_Method graph_methods[] = {
    {"input", graph_input, LZE_GUARDED},
    {"task", graph_task, LZE_GUARDED},
    {"copy", graph_copy, LZE_GUARDED},
    {"fill", graph_fill, LZE_GUARDED},
    {"call", graph_call, LZE_GUARDED},
    {"swap", graph_swap, LZE_GUARDED},
    {"output", graph_output, LZE_GUARDED},
    {"buffer", graph_buffer, LZE_GUARDED},
    {"compile", lze_plan_compile, LZE_GUARDED},
    {"close", graph_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method graph_metamethods[] = {
    {"__close", graph_close, LZE_UNGUARDED},
    {"__tostring", graph_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field graph_fields[] = {{"name", field_graph_name},
                                         {NULL, NULL}};

static const lze_Method functions[] = {
    {"graph", core_graph, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_graph(lua_State *L) {
  lze_new_kind(L, lze_graph_kind, graph_metamethods, graph_methods,
               graph_fields);
  lze_open_scratch(L);
  lze_set_methods(L, functions, 0);
}
