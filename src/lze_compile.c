/*
 * lze_compile.c - OpenCL C to SPIR-V, by clang and llvm-spirv.
 * SPDX-License-Identifier: MIT
 */
#include "lze_private.h"

#include "cache.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A compiler that takes longer is stuck: whole libraries take seconds. */
#define TOOL_SECONDS 120

static const char install[] =
    "OpenCL C is compiled by clang and llvm-spirv of one LLVM version: "
    "install them (Debian 12: apt install clang-15 llvm-spirv-15; "
    "Debian 13: apt install clang-18 llvm-spirv-18)";

/* What has to be freed when Lua raises. */
typedef struct Work {
  tool_text log;
  unsigned char *bitcode, *spirv;
} Work;

static int work_gc(lua_State *L) {
  Work *w = lua_touserdata(L, 1);
  free(w->log.text);
  free(w->bitcode);
  free(w->spirv);
  memset(w, 0, sizeof *w);
  return 0;
}

static const char work_key; /* the registry key of its metatable */

/* The pair of tools to use: the oldest from 15 on (14 fails on ordinary
   code), because the typed pointers of the LLVMs before 17 let a reader of the
   SPIR-V know what an argument points to. */
static bool tools_find(char *clang, char *translator, size_t size) {
  for (int v = 15; v <= 40; v++)
    if (tool_find("clang", (unsigned)v, clang, size) == v &&
        tool_find("llvm-spirv", (unsigned)v, translator, size) == v)
      return true;
  return false;
}

/* The command line, its strings anchored on the stack. */
typedef struct Arguments {
  char **v;
  size_t n, capacity;
} Arguments;

static void arguments_add(lua_State *L, Arguments *a, const char *s) {
  if (a->n + 1 >= a->capacity) luaL_error(L, "too many compiler options");
  a->v[a->n++] = (char *)s;
  a->v[a->n] = NULL;
}

/* Each string of the array in option `key` of the table at t. */
static void options_add(lua_State *L, int t, const char *key, Arguments *a,
                        const char *before) {
  if (lze_getoption(L, t, key) == LUA_TNIL) return;
  if (!lua_istable(L, -1))
    luaL_error(L, "option %s: table expected, got %s", key,
               lze_describe(L, -1));
  int list = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  luaL_checkstack(L, (int)(n < 1000 ? n : 1000) + 10, "too many options");
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, list, i) != LUA_TSTRING)
      luaL_error(L, "option %s: item %d: string expected, got %s", key,
                 (int)i, lze_describe(L, -1));
    if (*before != '\0') arguments_add(L, a, before);
    arguments_add(L, a, lua_tostring(L, -1));
  }
}

/* {NAME = value, ...}: -DNAME=value, in the order of the names so that equal
   tables are equal to the cache. */
static void defines_add(lua_State *L, int t, Arguments *a) {
  if (lze_getoption(L, t, "defines") == LUA_TNIL) return;
  if (!lua_istable(L, -1))
    luaL_error(L, "option defines: table expected, got %s",
               lze_describe(L, -1));
  int table = lua_gettop(L);
  size_t first = a->n;
  for (lua_pushnil(L); lua_next(L, table);) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "option defines: names are strings, got %s",
                 lze_describe(L, -2));
    luaL_checkstack(L, 8, "too many defines");
    const char *name = lua_tostring(L, -2);
    switch (lua_type(L, -1)) {
      case LUA_TBOOLEAN:
        lua_pushfstring(L, lua_toboolean(L, -1) ? "-D%s=1" : "-U%s", name);
        break;
      case LUA_TNUMBER:
      case LUA_TSTRING:
        lua_pushvalue(L, -1); /* not to turn the key's value into a string */
        lua_pushfstring(L, "-D%s=%s", name, lua_tostring(L, -1));
        lua_remove(L, -2);
        break;
      default:
        luaL_error(L, "option defines: %s: string, number or boolean "
                      "expected, got %s", name, lze_describe(L, -1));
    }
    arguments_add(L, a, lua_tostring(L, -1));
    /* Keep the string below the key that lua_next needs on the top. */
    lua_replace(L, -2);
    lua_insert(L, -2);
  }
  for (size_t i = first + 1; i < a->n; i++)
    for (size_t j = i; j > first && strcmp(a->v[j], a->v[j - 1]) < 0; j--) {
      char *s = a->v[j];
      a->v[j] = a->v[j - 1];
      a->v[j - 1] = s;
    }
}

/* Includes make a result depend on files that no key sees. */
static bool source_includes(const char *source) {
  for (const char *p = source; (p = strchr(p, '#')) != NULL; p++) {
    const char *q = p + 1 + strspn(p + 1, " \t");
    if (strncmp(q, "include", 7) == 0) return true;
  }
  return false;
}

static int compile_fail(lua_State *L, const char *name, const char *tool,
                        const tool_text *log) {
  const char *base = strrchr(tool, '/') != NULL ? strrchr(tool, '/') + 1
                                                : tool;
  return lze_fail_word(L, name, base, "COMPILE_FAILED",
                       log->text != NULL ? log->text : "", "%s",
                       strncmp(base, "clang", 5) == 0
                           ? "the source does not compile"
                           : "the compiler's result cannot be translated");
}

void lze_compile(lua_State *L, int source_index, int t, const char *name) {
  enum { MAX_ARGUMENTS = 256 };
  size_t source_size;
  const char *source = lua_tolstring(L, source_index, &source_size);
  Work *w = lua_newuserdatauv(L, sizeof *w, 0);
  memset(w, 0, sizeof *w);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &work_key);
  lua_setmetatable(L, -2);
  int top = lua_gettop(L);
  char clang[256], translator[256];
  if (!tools_find(clang, translator, sizeof clang))
    lze_fail_word(L, name, "clang", "NOT_FOUND", NULL, "%s", install);

  Arguments a = {lua_newuserdatauv(L, (MAX_ARGUMENTS + 1) * sizeof(char *), 0),
                 0, MAX_ARGUMENTS};
  const char *standard = "CL1.2";
  if (t != 0 && lze_getoption(L, t, "std") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "option std: string expected, got %s",
                 lze_describe(L, -1));
    standard = lua_tostring(L, -1);
  }
  /* -O0 without optnone: optimised code is what llvm-spirv cannot always
     translate, and the device's own compiler optimises. */
  static const char *const fixed[] = {"-x", "cl", "-target", "spir64",
                                      "-emit-llvm", "-c", "-O0", "-Xclang",
                                      "-disable-O0-optnone",
                                      "-cl-kernel-arg-info",
                                      "-fno-discard-value-names", NULL};
  arguments_add(L, &a, clang);
  for (int i = 0; fixed[i] != NULL; i++) arguments_add(L, &a, fixed[i]);
  arguments_add(L, &a, lua_pushfstring(L, "-cl-std=%s", standard));
  if (t != 0) {
    defines_add(L, t, &a);
    options_add(L, t, "include", &a, "-I");
    options_add(L, t, "flags", &a, "");
  }
  arguments_add(L, &a, "-");
  arguments_add(L, &a, "-o");
  arguments_add(L, &a, "-");

  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, source, source_size);
  for (size_t i = 0; i < a.n; i++) cache_key_add(&key, a.v[i], strlen(a.v[i]));
  cache_key_add_file(&key, clang);
  cache_key_add_file(&key, translator);
  bool cacheable = !source_includes(source);
  size_t size = 0, bitcode_size;
  if (cacheable) w->spirv = cache_read("spv", &key, &size);
  if (w->spirv == NULL) {
    /* Diagnostics then count the user's lines, under the user's name. */
    lua_pushfstring(L, "#line 1 \"%s\"\n", name);
    lua_pushvalue(L, source_index);
    lua_concat(L, 2);
    size_t input_size;
    const char *input = lua_tolstring(L, -1, &input_size);
    w->bitcode = tool_run(a.v, input, input_size, TOOL_SECONDS, &bitcode_size,
                          &w->log);
    if (w->bitcode == NULL) compile_fail(L, name, clang, &w->log);
    char *const translate[] = {
        translator, "--spirv-max-version=1.2",
        "--preserve-ocl-kernel-arg-type-metadata-through-string",
        "/proc/self/fd/0", "-o", "/proc/self/fd/1", NULL};
    w->spirv = tool_run(translate, w->bitcode, bitcode_size, TOOL_SECONDS,
                        &size, &w->log);
    if (w->spirv == NULL) compile_fail(L, name, translator, &w->log);
    if (cacheable) cache_write("spv", &key, w->spirv, size);
  }
  lua_pushlstring(L, (const char *)w->spirv, size);
  lua_replace(L, top);
  lua_settop(L, top);
}

/* lze.cache([clear]) -> {directory, entries, bytes}
   What is kept on disk (directory is nil where nothing is); clear = "clear"
   removes it all first. */
static int core_cache(lua_State *L) {
  lua_settop(L, 1);
  bool clear = !lua_isnil(L, 1);
  if (clear && (lua_type(L, 1) != LUA_TSTRING ||
                strcmp(lua_tostring(L, 1), "clear") != 0))
    luaL_argerror(L, 1, lua_pushfstring(L, "\"clear\" expected, got %s",
                                        lze_describe(L, 1)));
  size_t entries;
  uint64_t bytes;
  cache_count(clear, &entries, &bytes);
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)entries);
  lua_setfield(L, -2, "entries");
  lua_pushinteger(L, (lua_Integer)bytes);
  lua_setfield(L, -2, "bytes");
  char *directory = cache_directory();
  /* Copied first, so that nothing is leaked if Lua runs out of memory. */
  char text[4096] = "";
  if (directory != NULL) snprintf(text, sizeof text, "%s", directory);
  free(directory);
  if (*text != '\0') {
    lua_pushstring(L, text);
    lua_setfield(L, -2, "directory");
  }
  return 1;
}

static const luaL_Reg functions[] = {{"cache", core_cache}, {NULL, NULL}};

void lze_open_compile(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, work_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "an object of lze");
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &work_key);
  luaL_setfuncs(L, functions, 0);
}
