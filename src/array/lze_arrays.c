/*
 * lze_arrays.c - the C functions that the scripts of lze.array use.
 * SPDX-License-Identifier: MIT
 *
 * lua/array.lua makes arrays. It and the other files are loaded when a program
 * first uses lze.array.
 */
#include "array/lze_expression.h"
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_show.h"
#include "base/lze_types.h"
#include "memory/lze_buffer.h"
#include "memory/lze_file.h"
#include "memory/lze_lapack_call.h"
#include "memory/lze_text.h"
#include "module/lze_builtin.h"
#include "module/lze_lua_kernel.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include "lua_where.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char array_text[] = {
#include "lua/array.h"
};

static const unsigned char array_archive_text[] = {
#include "lua/array_archive.h"
};
static const unsigned char array_expression_text[] = {
#include "lua/array_expression.h"
};
static const unsigned char array_complex_text[] = {
#include "lua/array_complex.h"
};
static const unsigned char array_complex_text_text[] = {
#include "lua/array_complex_text.h"
};
static const unsigned char array_file_text[] = {
#include "lua/array_file.h"
};
static const unsigned char array_map_text[] = {
#include "lua/array_map.h"
};
static const unsigned char array_reduce_text[] = {
#include "lua/array_reduce.h"
};
static const unsigned char array_index_text[] = {
#include "lua/array_index.h"
};
static const unsigned char array_order_text[] = {
#include "lua/array_order.h"
};
static const unsigned char array_linear_text[] = {
#include "lua/array_linear.h"
};
static const unsigned char array_linalg_text[] = {
#include "lua/array_linalg.h"
};
static const unsigned char array_factor_text[] = {
#include "lua/array_factor.h"
};
static const unsigned char array_product_text[] = {
#include "lua/array_product.h"
};
static const unsigned char array_network_text[] = {
#include "lua/array_network.h"
};
static const unsigned char array_random_text[] = {
#include "lua/array_random.h"
};
static const unsigned char array_show_text[] = {
#include "lua/array_show.h"
};
static const unsigned char array_signal_text[] = {
#include "lua/array_signal.h"
};
static const unsigned char array_fourier_text[] = {
#include "lua/array_fourier.h"
};
static const unsigned char array_names_text[] = {
#include "lua/array_names.h"
};
static const unsigned char array_search_text[] = {
#include "lua/array_search.h"
};
static const unsigned char array_shape_text[] = {
#include "lua/array_shape.h"
};
static const unsigned char array_statistics_text[] = {
#include "lua/array_statistics.h"
};
static const unsigned char array_text_text[] = {
#include "lua/array_text.h"
};

/* The other files, by purpose. */
static const lze_Script parts[] = {
    {"lze array_expression.lua", array_expression_text,
     sizeof array_expression_text, NULL},
    {"lze array_complex.lua", array_complex_text, sizeof array_complex_text,
     NULL},
    {"lze array_complex_text.lua", array_complex_text_text,
     sizeof array_complex_text_text, NULL},
    {"lze array_file.lua", array_file_text, sizeof array_file_text, NULL},
    {"lze array_archive.lua", array_archive_text, sizeof array_archive_text,
     NULL},
    {"lze array_map.lua", array_map_text, sizeof array_map_text, NULL},
    {"lze array_reduce.lua", array_reduce_text, sizeof array_reduce_text,
     NULL},
    {"lze array_index.lua", array_index_text, sizeof array_index_text, NULL},
    {"lze array_order.lua", array_order_text, sizeof array_order_text, NULL},
    {"lze array_linear.lua", array_linear_text, sizeof array_linear_text, NULL},
    {"lze array_factor.lua", array_factor_text, sizeof array_factor_text, NULL},
    {"lze array_linalg.lua", array_linalg_text, sizeof array_linalg_text, NULL},
    {"lze array_product.lua", array_product_text, sizeof array_product_text,
     NULL},
    {"lze array_network.lua", array_network_text, sizeof array_network_text,
     NULL},
    {"lze array_random.lua", array_random_text, sizeof array_random_text, NULL},
    {"lze array_show.lua", array_show_text, sizeof array_show_text, NULL},
    {"lze array_signal.lua", array_signal_text, sizeof array_signal_text, NULL},
    {"lze array_fourier.lua", array_fourier_text, sizeof array_fourier_text,
     NULL},
    {"lze array_names.lua", array_names_text, sizeof array_names_text, NULL},
    {"lze array_search.lua", array_search_text, sizeof array_search_text, NULL},
    {"lze array_shape.lua", array_shape_text, sizeof array_shape_text, NULL},
    {"lze array_statistics.lua", array_statistics_text,
     sizeof array_statistics_text, NULL},
    {"lze array_text.lua", array_text_text, sizeof array_text_text, NULL},
    {NULL, NULL, 0, NULL}};

/* part(name, C) -> the result of lua/NAME.lua, called with C */
static int array_part(lua_State *L) {
  char file[64];
  lua_settop(L, 2);
  snprintf(file, sizeof file, "lze %s.lua", luaL_checkstring(L, 1));
  for (const lze_Script *s = parts; s->name != NULL; s++) {
    if (strcmp(s->name, file) != 0) continue;
    lze_script_part(L, s);
    return 1;
  }
  return luaL_error(L, "no part %s", file);
}

/* text(t, name) -> the chunk of text t as a function, without globals */
static int array_load_text(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  lua_pushfstring(L, "=lze array %s", luaL_checkstring(L, 2));
  if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
    return lua_error(L);
  lua_pushnil(L);
  if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
  return 1;
}

/* parameters(f) -> the number of arguments of f; nil if it varies */
static int array_parameters(lua_State *L) {
  lua_Debug ar;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_getinfo(L, ">u", &ar);
  if (ar.isvararg) return 0;
  lua_pushinteger(L, ar.nparams);
  return 1;
}

/* gives(kernel, device, number...): see lze_lua_kernel_gives */
static int array_gives(lua_State *L) {
  lua_pushcfunction(L, lze_lua_kernel_gives);
  lua_insert(L, 1);
  lze_call_guarded(L, lua_gettop(L) - 1, 2);
  return 2;
}

/* display(a): shows it in a notebook, or prints it */
static int array_display(lua_State *L) {
  lua_settop(L, 1);
  lua_pushnil(L);
  lze_display(L);
  return 0;
}

/* keep(meta, handle): registers the metatables of arrays */
static int array_keep(lua_State *L) {
  lua_settop(L, 2);
  lze_keep_array_metatable(L);
  return 0;
}

/* files() -> file functions */
static int array_files(lua_State *L) {
  lze_push_file_functions(L);
  lze_add_text_functions(L);
  return 1;
}

/* lapack() -> functions that call LAPACK */
static int array_lapack(lua_State *L) {
  lze_push_lapack_functions(L);
  return 1;
}

/* printed() -> true if Lua's print called the running tostring */
static int array_printed(lua_State *L) {
  lua_pushboolean(L, lze_is_printed(L));
  return 1;
}

/* storage(b) -> the unique number of a buffer's storage, and true if only the
   device can read it; nil if the buffer is closed */
static int array_storage(lua_State *L) {
  const lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  if (!lze_buffer_is_open(b)) return 0;
  lua_pushinteger(L, (lua_Integer)b->storage->serial);
  lua_pushboolean(L, b->storage->usage == LZE_DEVICE);
  return 2;
}

/* closes() -> true if a context may have been closed */
static int array_closes(lua_State *L) {
  lua_pushboolean(L, lze_state(L)->closes > 1);
  return 1;
}

/* address(b) -> the address of its first element, as a number */
static int array_address(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)lze_buffer_data(b));
  return 1;
}

/* beside(b, type, n) -> a buffer of n elements in b's context and for its
   device, with undefined contents */
static int array_beside(lua_State *L) {
  lua_settop(L, 3);
  const lze_Type *type = lze_check_type(L, 2);
  lua_Integer n = luaL_checkinteger(L, 3);
  lze_Context *context =
      lze_push_context(L, lze_check_buffer(L, 1)->storage->o.context);
  const lze_DeviceInfo *device = lze_check_buffer(L, 1)->storage->device;
  const lze_Buffer *b =
      lze_push_buffer(L, context, device, LZE_SHARED, type, (size_t)n);
  lze_record_use(b->storage, "array");
  return 1;
}

/* own(b) -> b, which was just made for an array */
static int array_own(lua_State *L) {
  lze_record_use(lze_check_buffer(L, 1)->storage, "array");
  lua_settop(L, 1);
  return 1;
}

/* await(b): requests a call of meta.flush_readers before b's storage is
   written; false if the buffer is closed */
static int array_await(lua_State *L) {
  lua_pushboolean(L, lze_buffer_await(lze_check_box(L, 1, lze_buffer_kind)));
  return 1;
}

/* lend(buffer) -> buffer; scripts and arrays share it from now on */
static int array_lend(lua_State *L) {
  lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  b->lent = true;
  lua_settop(L, 1);
  return 1;
}

/* collect(): runs a full collection, unless the script has stopped the
   collector */
static int array_collect(lua_State *L) {
  lua_settop(L, 0);
  lze_make_room(L);
  return 0;
}

/* run_collector(run): lets the collector run, or stops it; returns true if it
   ran before */
static int array_run_collector(lua_State *L) {
  bool ran = lua_gc(L, LUA_GCISRUNNING) == 1;
  lua_gc(L, lua_toboolean(L, 1) ? LUA_GCRESTART : LUA_GCSTOP);
  lua_pushboolean(L, ran);
  return 1;
}

/* heap() -> KiB of memory that Lua uses */
static int array_heap(lua_State *L) {
  lua_pushinteger(L, lua_gc(L, LUA_GCCOUNT));
  return 1;
}

/* now() -> a clock's time in seconds */
static int array_now(lua_State *L) {
  lua_pushnumber(L, (lua_Number)lze_now_ns() * 1e-9);
  return 1;
}

/* fuse() -> LZE_FUSE: "auto", "always" or "never" */
static int array_fuse(lua_State *L) {
  static const char *const words[] = {"auto", "always", "never", NULL};
  const char *value = getenv("LZE_FUSE");
  if (value == NULL || *value == '\0') value = "auto";
  for (int i = 0; words[i] != NULL; i++) {
    if (strcmp(words[i], value) != 0) continue;
    lua_pushstring(L, words[i]);
    return 1;
  }
  lua_where(L);
  return luaL_error(L, "%sLZE_FUSE=%s: auto, always or never expected",
                    lua_tostring(L, -1), value);
}

/* meant(kernel) -> kernel; marks lze's own kernel, whose launches are not
   checked because its results are intended */
static int array_meant(lua_State *L) {
  lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  b->meant = true;
  return 1;
}

/* misfit(type, v) -> why elements of a number type cannot hold v, or nil */
static int array_misfit(lua_State *L) {
  uint64_t element;
  return lze_type_store(L, lze_check_type(L, 1), 2, &element) ? 0 : 1;
}

/* floats() -> a new table of functions of floats, for kernels */
static int array_floats(lua_State *L) {
  lze_push_float_functions(L);
  return 1;
}

static const lze_Method primitives[] = {
    {"floats", array_floats, LZE_UNGUARDED},
    {"files", array_files, LZE_UNGUARDED},
    {"storage", array_storage, LZE_UNGUARDED},
    {"closes", array_closes, LZE_UNGUARDED},
    {"address", array_address, LZE_UNGUARDED},
    {"await", array_await, LZE_UNGUARDED},
    {"lapack", array_lapack, LZE_UNGUARDED},
    {"lend", array_lend, LZE_UNGUARDED},
    {"beside", array_beside, LZE_UNGUARDED},
    {"collect", array_collect, LZE_UNGUARDED},
    {"heap", array_heap, LZE_UNGUARDED},
    {"run_collector", array_run_collector, LZE_UNGUARDED},
    {"json", lze_push_json, LZE_UNGUARDED},
    {"meant", array_meant, LZE_UNGUARDED},
    {"misfit", array_misfit, LZE_UNGUARDED},
    {"expressions", lze_expression_functions, LZE_UNGUARDED},
    {"now", array_now, LZE_UNGUARDED},
    {"own", array_own, LZE_UNGUARDED},
    {"fuse", array_fuse, LZE_UNGUARDED},
    {"printed", array_printed, LZE_UNGUARDED},
    {"parameters", array_parameters, LZE_UNGUARDED},
    {"part", array_part, LZE_UNGUARDED},
    {"text", array_load_text, LZE_UNGUARDED},
    {"gives", array_gives, LZE_UNGUARDED},
    {"keep", array_keep, LZE_UNGUARDED},
    {"display", array_display, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Script script = {"lze array.lua", array_text,
                                  sizeof array_text, primitives};

void lze_push_arrays(lua_State *L) {
  lze_script_call(L, &script, "open", 0, 1);
}

/* g:array(name, dst, expression) -> g: a task that computes the expression
   into the array dst. Its arguments are dst and, from left to right, the
   arrays and numbers of the expression. */
static int graph_array(lua_State *L) {
  lua_settop(L, 4);
  lze_check_box(L, 1, lze_graph_kind);
  lze_script_call(L, &script, "record", 4, 1);
  return 1;
}

static const lze_Method graph_methods[] = {
    {"array", graph_array, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_arrays(lua_State *L) {
  lze_add_methods(L, lze_graph_kind, graph_methods);
}
