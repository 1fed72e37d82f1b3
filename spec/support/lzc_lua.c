/*
 * lzc_lua.c - a Lua module with only the compiler of Lua functions.
 * SPDX-License-Identifier: MIT
 *
 *   lzc.compile(f, {"id", "const double*", "long"} [, options])
 *     -> SPIR-V, hidden arguments | nil, findings
 *   lzc.work: a function for each one of lze.work, recognised by identity.
 *
 * Arguments: "id" an index, "T*" and "const T*" buffers, "integer" and "real"
 * Lua numbers, T a declared scalar.  Options: real, int32, fp64 (true).
 */
#include <lauxlib.h>
#include <lua.h>

#include "lzc.h"

#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) int luaopen_lzc(lua_State *L);

/* Upvalue 1 maps function values to builtins.  The table at index KEPT holds
   functions by identity and the chunks dumped from them. */
enum { FUNCTION = 1, KEPT = 4 };

static const char *chunk(lua_State *L, int function, size_t *size) {
  lua_getglobal(L, "string");
  lua_getfield(L, -1, "dump");
  lua_pushvalue(L, function);
  lua_call(L, 1, 1);
  const char *bytes = lua_tolstring(L, -1, size);
  lua_rawsetp(L, KEPT, bytes);
  lua_pop(L, 1);
  return bytes;
}

static void describe(lua_State *L, lzc_value *out) {
  memset(out, 0, sizeof *out);
  switch (lua_type(L, -1)) {
    case LUA_TNIL: out->kind = LZC_NIL; break;
    case LUA_TBOOLEAN:
      out->kind = LZC_BOOLEAN;
      out->boolean = lua_toboolean(L, -1);
      break;
    case LUA_TNUMBER:
      out->kind = lua_isinteger(L, -1) ? LZC_INTEGER : LZC_REAL;
      out->integer = lua_tointeger(L, -1);
      out->real = lua_tonumber(L, -1);
      break;
    case LUA_TSTRING:
      out->kind = LZC_STRING;
      out->bytes = lua_tolstring(L, -1, &out->size);
      break;
    case LUA_TTABLE: out->kind = LZC_TABLE; break;
    case LUA_TFUNCTION:
      out->identity = lua_topointer(L, -1);
      lua_pushvalue(L, -1);
      lua_rawget(L, lua_upvalueindex(1));
      out->builtin = (unsigned)lua_tointeger(L, -1);
      lua_pop(L, 1);
      if (out->builtin != 0) {
        out->kind = LZC_BUILTIN;
      } else if (lua_iscfunction(L, -1)) {
        out->kind = LZC_OTHER;
        out->bytes = "a C function";
      } else {
        out->kind = LZC_FUNCTION;
        lua_pushvalue(L, -1);
        lua_rawsetp(L, KEPT, out->identity);
        out->bytes = chunk(L, lua_gettop(L), &out->size);
      }
      break;
    default:
      out->kind = LZC_OTHER;
      out->bytes = luaL_typename(L, -1);
  }
}

static bool resolve(void *context, const lzc_path *path, lzc_value *out) {
  lua_State *L = context;
  int top = lua_gettop(L);
  luaL_checkstack(L, 20, NULL);
  if (path->function == NULL) lua_pushvalue(L, FUNCTION);
  else lua_rawgetp(L, KEPT, path->function);
  if (lua_getupvalue(L, -1, (int)path->upvalue) == NULL) lua_pushnil(L);
  for (size_t i = 0; i < path->count; i++) {
    if (!lua_istable(L, -1)) {
      lua_settop(L, top);
      return false;
    }
    lua_pushstring(L, path->fields[i]);
    lua_rawget(L, -2);
  }
  describe(L, out);
  lua_settop(L, top);
  return true;
}

static void argument(lua_State *L, const char *text, lzc_input *in,
                     lzc_value *v) {
  memset(v, 0, sizeof *v);
  if (strcmp(text, "id") == 0) {
    in->dimensions++;
    return;
  }
  in->argument_count++;
  v->is_const = strncmp(text, "const ", 6) == 0;
  if (v->is_const) text += 6;
  size_t n = strlen(text);
  v->kind = strcmp(text, "integer") == 0 ? LZC_INTEGER
            : strcmp(text, "real") == 0 ? LZC_REAL
            : text[n - 1] == '*' ? LZC_BUFFER : LZC_SCALAR;
  if (v->kind == LZC_BUFFER) n--;
  if (v->kind >= LZC_SCALAR && !lzc_element_find(text, n, &v->element))
    luaL_error(L, "no type '%s'", text);
}

static bool option(lua_State *L, const char *name, bool otherwise) {
  if (!lua_istable(L, 3)) return otherwise;
  lua_getfield(L, 3, name);
  bool is = lua_isnil(L, -1) ? otherwise : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is;
}

static int compile(lua_State *L) {
  luaL_checktype(L, FUNCTION, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  lua_newtable(L);
  lzc_value arguments[32];
  bool fp64 = option(L, "fp64", true);
  lzc_input in = {
    .arguments = arguments, .resolve = resolve, .context = L,
    .options = {.name = "k", .real = LZC_ELEMENTS,
                .int32 = option(L, "int32", false),
                .bounds = option(L, "bounds", false)},
    .device = {.fp64 = fp64, .int64_atomics = option(L, "int64_atomics", true),
               .version = 0x00010200}};
  if (option(L, "float", false)) in.options.real = LZC_FLOAT;
  for (lua_Integer i = 1; i <= 31 && lua_geti(L, 2, i) != LUA_TNIL; i++) {
    argument(L, luaL_checkstring(L, -1), &in, &arguments[in.argument_count]);
    lua_pop(L, 1);
  }
  lua_settop(L, 4);
  in.identity = lua_topointer(L, FUNCTION);
  in.bytes = chunk(L, FUNCTION, &in.size);
  lzc_result *r = lzc_compile(&in);
  if (r == NULL) return luaL_error(L, "out of memory");
  if (r->words != NULL) {
    static const char *const kinds[] = {"number", "buffer", "length", "shape",
                                        "stride", "report"};
    lua_pushlstring(L, (const char *)r->words, r->word_count * 4);
    lua_createtable(L, (int)r->hidden_count, 0);
    for (size_t i = 0; i < r->hidden_count; i++) {
      lua_createtable(L, 0, 4);
      lua_pushstring(L, kinds[r->hidden[i].kind]);
      lua_setfield(L, -2, "kind");
      lua_pushstring(L, r->hidden[i].name);
      lua_setfield(L, -2, "name");
      lua_pushinteger(L, r->hidden[i].argument);
      lua_setfield(L, -2, "argument");
      lua_pushinteger(L, r->hidden[i].dimension);
      lua_setfield(L, -2, "dimension");
      lua_seti(L, -2, (lua_Integer)i + 1);
    }
    lzc_result_free(r);
    return 2;
  }
  lua_pushnil(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < r->finding_count; i++) {
    const lzc_finding *f = &r->findings[i];
    char line[700];
    snprintf(line, sizeof line, "%d:%s%s %s: %s\n", f->line,
             *f->function ? " " : "", f->function,
             f->variable ? f->variable : "", f->message);
    luaL_addstring(&b, line);
  }
  lzc_result_free(r);
  luaL_pushresult(&b);
  return 2;
}

static int nothing(lua_State *L) {
  return luaL_error(L, "only in kernels");
}

int luaopen_lzc(lua_State *L) {
  lua_newtable(L);
  lua_newtable(L);  /* work */
  lua_newtable(L);  /* builtins */
  lua_getglobal(L, "math");
  for (unsigned n = 1; lzc_builtin_name(n) != NULL; n++) {
    const char *name = lzc_builtin_name(n);
    if (strncmp(name, "math.", 5) == 0) {
      lua_getfield(L, -1, name + 5);
    } else {
      lua_pushinteger(L, n);
      lua_pushcclosure(L, nothing, 1);
      lua_pushvalue(L, -1);
      lua_setfield(L, -5, strchr(name, '.') + 1);
    }
    lua_pushinteger(L, n);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
  lua_pushcclosure(L, compile, 1);
  lua_setfield(L, -3, "compile");
  lua_setfield(L, -2, "work");
  return 1;
}
