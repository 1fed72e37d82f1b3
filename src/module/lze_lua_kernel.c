/*
 * lze_lua_kernel.c - lze.kernel, for Lua functions.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "device/lze_device.h"
#include "module/lze_builtin.h"
#include "module/lze_lua_variant.h"
#include "module/lze_module.h"
#include "signature.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 250 };

/* Parses the C declarations of arguments in the signature at `index`; leaves
   the array of values on the stack. [-0, +1] */
static lzc_value *push_declared(lua_State *L, int index, int *count) {
  char message[256];
  size_t size;
  const char *signature = lua_tolstring(L, index, &size);
  if (strlen(signature) != size)
    luaL_error(L, "signature: it contains a zero byte");
  const char *text = lua_pushfstring(L, "k(%s)", signature);
  void *stubs = signature_spirv(text, 64, &size, message, sizeof message);
  spirv_module *m =
      stubs != NULL ? spirv_parse(stubs, size, message, sizeof message) : NULL;
  free(stubs);
  if (m == NULL) lze_check_spirv_memory(L, message);
  if (m == NULL)
    luaL_error(L, "signature \"%s\": %s", signature, message);
  if (m->kernel_count != 1) {
    spirv_free(m);
    luaL_error(L, "signature \"%s\": declarations of the arguments, as in C, "
                  "expected, without parentheses", signature);
  }
  const spirv_kernel *s = &m->kernels[0];
  lzc_value values[MOST_ARGUMENTS] = {{.kind = LZC_NIL}};
  uint32_t n = s->arg_count, bad = UINT32_MAX;
  for (uint32_t i = 0; i < n && i < MOST_ARGUMENTS && bad == UINT32_MAX; i++) {
    const spirv_arg *a = &s->args[i];
    bool pointer = a->cls == SPIRV_ARG_POINTER &&
                   a->space == SPIRV_SPACE_GLOBAL;
    values[i] = (lzc_value){.kind = pointer ? LZC_BUFFER : LZC_SCALAR,
                            .is_const = a->is_const};
    if ((!pointer && a->cls != SPIRV_ARG_VALUE) ||
        !lzc_element_find(a->source_type, strlen(a->source_type) - pointer,
                          &values[i].element))
      bad = i;
  }
  spirv_free(m);
  if (n > MOST_ARGUMENTS)
    luaL_error(L, "signature: more than %d arguments", MOST_ARGUMENTS);
  if (bad != UINT32_MAX)
    luaL_error(L, "signature \"%s\": argument %d: a number, or a pointer to "
                  "numbers in global memory expected", signature,
               (int)bad + 1);
  lua_pop(L, 1);
  lzc_value *out = lua_newuserdatauv(L, n * sizeof *out + 1, 0);
  memcpy(out, values, n * sizeof *out);
  *count = (int)n;
  return out;
}

/* Returns how many parameters are indices if a signature declares the
   others. */
static int declared_dims(lua_State *L, const lze_LuaKernel *k, int count) {
  int dims = (int)k->summary->parameters - count;
  if (dims < 0 || dims > 3)
    luaL_error(L, "%s: signature: %d argument%s, but the function has %d "
                  "parameter%s (%s), of which 0 to 3 may be indices",
               k->head.name, count, count == 1 ? "" : "s",
               (int)k->summary->parameters,
               k->summary->parameters == 1 ? "" : "s",
               lze_lua_push_parameters(L, k));
  return dims;
}

/* Sets the default name of a kernel: FILE_LINE. */
static void default_name(lze_LuaKernel *k) {
  const char *source = k->summary->source;
  char file[40] = "kernel";
  if (source != NULL && (*source == '@' || *source == '=')) {
    const char *slash = strrchr(source, '/');
    snprintf(file, sizeof file, "%s", slash != NULL ? slash + 1 : source + 1);
    char *dot = strrchr(file, '.');
    if (dot != NULL && dot != file) *dot = '\0';
  } else if (source != NULL) {
    strcpy(file, "string");
  }
  for (char *c = file; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  snprintf(k->name, sizeof k->name, "%s%s_%d",
           isdigit((unsigned char)file[0]) ? "_" : "", file,
           k->summary->line);
}

static void take_name(lua_State *L, lze_LuaKernel *k, int t) {
  if (t == 0 || lze_getoption(L, t, "name") == LUA_TNIL) {
    default_name(k);
    return;
  }
  const char *name = lua_tostring(L, -1);
  bool good = lua_type(L, -1) == LUA_TSTRING && *name != '\0' &&
              strlen(name) < sizeof k->name && !isdigit((unsigned char)*name);
  for (const char *c = name; good && *c != '\0'; c++)
    good = isalnum((unsigned char)*c) || *c == '_';
  if (!good)
    lze_opt_expected(L, "name", "a name of letters, digits and _, of 55 at "
                                "most");
  snprintf(k->name, sizeof k->name, "%s", name);
}

static void take_options(lua_State *L, lze_LuaKernel *k, int t) {
  static const char *const keys[] = {"signature", "name", "real", "int", "fast",
                                     "bounds", NULL};
  static const char *const reals[] = {"float", "double", NULL};
  static const char *const ints[] = {"long", "int", NULL};
  if (t != 0) lze_check_keys(L, t, "a Lua kernel's options", keys);
  take_name(L, k, t);
  snprintf(k->head.name, sizeof k->head.name, "kernel %s", k->name);
  k->options.name = k->name;
  static const lzc_element widths[] = {LZC_FLOAT, LZC_DOUBLE, LZC_ELEMENTS};
  k->options.real = widths[lze_opt_word(L, t, "real", reals, 2)];
  k->options.int32 = lze_opt_word(L, t, "int", ints, 0) == 1;
  k->options.fast = lze_opt_boolean(L, t, "fast", false);
  k->options.bounds = lze_opt_boolean(L, t, "bounds", false);
  k->head.checked = k->options.bounds;
}

/* Takes the signature at the top of the stack and compiles for it, on the
   default device. Raises without a device. */
static void take_signature(lua_State *L, lze_LuaKernel *k, int kernel) {
  if (lua_type(L, -1) != LUA_TSTRING)
    lze_opt_expected(L, "signature", "declarations of the arguments, as in C");
  int count;
  const lzc_value *values = push_declared(L, lua_gettop(L), &count);
  int dims = declared_dims(L, k, count);
  k->declared = malloc((size_t)count * sizeof *values + 1);
  lze_check_memory(L, k->declared != NULL);
  memcpy(k->declared, values, (size_t)count * sizeof *values);
  k->declared_count = count;
  const lze_DeviceInfo *device = lze_default_device(L);
  lze_LuaRequest r = {k, {lze_device_context(L, device), device}, dims, count,
                      false};
  lua_pushcfunction(L, lze_lua_compile_variant);
  lua_pushlightuserdata(L, &r);
  lua_pushvalue(L, kernel);
  for (int i = 0; i < count; i++) lua_pushnil(L);
  lua_call(L, count + 2, 0);
  lze_lua_set_last(L, k, kernel, k->variants[0]);
  lua_getiuservalue(L, kernel, LZE_OWN_VALUE);
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, LZE_AT_SIGNATURE);
}

/* lze.kernel(f [, options | signature]) -> kernel
   f: a Lua function, the body of a loop over the range of a launch. Its
   leading parameters are the indices, from 1, the others the arguments.
   options: signature ("float *y, const float *x, float a": the types of the
   arguments; without it, each launch determines them), name (default
   FILE_LINE), real ("float" or "double"), int ("long" or "int"), fast
   (contraction), bounds (out-of-range accesses and other mistakes raise at the
   launch). If the function uses features that kernels do not support, raises
   an error object with all findings in its log; without a signature, this
   happens at the first launch. */
static int core_kernel(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TFUNCTION)
    lze_argerror(L, 1, lua_pushfstring(L, "f: a Lua function expected, got %s",
                                       lze_describe(L, 1)));
  if (lua_iscfunction(L, 1))
    lze_argerror(L, 1, "f: a Lua function expected, got one of C");
  int t = lua_istable(L, 2) ? 2 : 0;
  if (t == 0 && !lua_isnil(L, 2) && lua_type(L, 2) != LUA_TSTRING)
    lze_argerror(L, 2, lua_pushfstring(L, "a table of options or a signature "
                                          "expected, got %s",
                                       lze_describe(L, 2)));
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushliteral(L, "math");
  if (lua_istable(L, -2) && lua_rawget(L, -2) == LUA_TTABLE)
    lze_add_builtins(L, "math.");
  lua_settop(L, 2);
  lze_LuaKernel *k =
      lze_push_box_with(L, lze_kernel_kind, sizeof *k, LZE_LAST_VALUE);
  k->head.is_lua = true;
  k->head.state = lze_state(L);
  k->declared_count = -1;
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, LZE_AT_FUNCTION);
  lua_setiuservalue(L, 3, LZE_OWN_VALUE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, LZE_FUNCTION_VALUE);
  lua_pushvalue(L, 1);
  size_t size;
  char message[200];
  const char *bytes = lze_push_chunk(L, &size);
  k->summary = lzc_analyse(bytes, size, message, sizeof message);
  if (k->summary == NULL) {
    lze_check_spirv_memory(L, message);
    luaL_error(L, "lze.kernel: %s", message);
  }
  take_options(L, k, t);
  if (k->summary->is_vararg)
    luaL_error(L, "%s: the function takes ...; a kernel takes a fixed number "
                  "of arguments", k->head.name);
  if (t != 0) lze_getoption(L, t, "signature");
  else lua_pushvalue(L, 2);
  if (!lua_isnil(L, -1)) take_signature(L, k, 3);
  lua_settop(L, 3);
  return 1;
}

static lze_LuaKernel *check_lua_kernel(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  lze_LuaKernel *k = lze_lua_kernel_test(L, 1);
  if (k == NULL)
    luaL_error(L, "%s is not made of a Lua function", b->name);
  if (k->head.closed) luaL_error(L, "%s is closed", b->name);
  return k;
}

/* Returns the kernel that would run for the launch arguments from 2 on of the
   kernel at 1. */
static const lze_Kernel *launch_variant(lua_State *L, int count) {
  lze_Launch l = {0};
  const lze_Kernel *k = lze_kernel_resolve(L, 1, NULL, 2, &count);
  lze_launch_read(L, k, 2, &l);
  lze_launch_check_table(L, k, &l);
  return k;
}

/* k:variant(range | launch_table, ...) -> the ordinary kernel that such a
   launch would run, compiled now if necessary; k itself if it is not made of a
   Lua function */
static int kernel_variant(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  int count = lua_gettop(L) - 2;
  if (!lze_kernel_is_open(L, 1)) return luaL_error(L, "%s is closed", b->name);
  if (count < 0) return luaL_error(L, "%s: no global size", b->name);
  launch_variant(L, count);
  lua_settop(L, 1);
  return 1;
}

/* Called guarded: (kernel, signature) -> SPIR-V for these types. */
static int spirv_of_signature(lua_State *L) {
  lze_LuaKernel *k = check_lua_kernel(L);
  int count;
  const lzc_value *values = push_declared(L, 2, &count);
  int dims = declared_dims(L, k, count);
  lua_getiuservalue(L, 1, LZE_OWN_VALUE);
  lze_lua_compile(L, k, lua_gettop(L), values, dims, count, false,
                  lze_default_device(L));
  const lzc_result *r = k->pending->result;
  lua_pushlstring(L, (const char *)r->words,
                  r->word_count * sizeof *r->words);
  return 1;
}

/* k:spirv([signature | range, ...]) -> the SPIR-V for these types or
   arguments; without arguments, that of the last variant */
static int kernel_spirv(lua_State *L) {
  check_lua_kernel(L);
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_settop(L, 2);
    lua_pushcfunction(L, spirv_of_signature);
    lua_insert(L, 1);
    lze_call_guarded(L, 2, 1);
    return 1;
  }
  int count = lua_gettop(L) - 2;
  const lze_Kernel *v = count < 0 ? lze_kernel_last(L, 1)
                                  : launch_variant(L, count);
  const spirv_module *m = v->module->spirv;
  lua_pushlstring(L, (const char *)m->words,
                  m->word_count * sizeof *m->words);
  return 1;
}

void lze_lua_kernel_close(lua_State *L, int kernel) {
  lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  for (uint32_t i = 0; i < k->count; i++) {
    lze_Kernel *v = k->variants[i]->box->kernel;
    if (v != NULL) lze_close(&v->o);
  }
  k->head.closed = true;
  k->plain = NULL;
}

/* The kernels of variants have their own finalizers. */
void lze_lua_kernel_release(lua_State *L, int kernel) {
  lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  for (uint32_t i = 0; i < k->count; i++) lze_lua_variant_free(k->variants[i]);
  lze_lua_variant_free(k->pending);
  free(k->variants);
  free(k->declared);
  lzc_summary_free(k->summary);
  k->variants = NULL;
  k->last = k->plain = k->pending = NULL;
  k->count = 0;
  k->declared = NULL;
  k->summary = NULL;
  k->head.closed = true;
}

void lze_lua_kernel_tostring(lua_State *L, int kernel) {
  lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  if (k->head.closed) {
    lua_pushfstring(L, "%s (closed)", k->head.name);
    return;
  }
  const lzc_summary *s = k->summary;
  const char *source = s->source != NULL ? s->source : "=?";
  if (*source == '@' || *source == '=') source++;
  else source = "a string";
  lze_lua_push_parameters(L, k);
  lua_pushfstring(L, "%s(%s): function at %s:%d, %d variant%s", k->head.name,
                  lua_tostring(L, -1), source, s->line, (int)k->count,
                  k->count == 1 ? "" : "s");
  lua_remove(L, -2);
  lua_getiuservalue(L, kernel, LZE_OWN_VALUE);
  int own = lua_gettop(L);
  const char *between = "; captures ";
  for (size_t i = 0; i < s->path_count; i++) {
    const lzc_path *p = &s->paths[i];
    lzc_value v;
    lze_lua_push_path(L, own, 0, p);
    lze_lua_describe(L, &v);
    if (v.kind == LZC_TABLE || v.kind == LZC_BUILTIN) {
      lua_settop(L, own);
      continue;
    }
    const char *value = v.kind == LZC_FUNCTION ? "function"
                        : lze_is_array(L, -1) ? "array"
                        : v.kind == LZC_BOOLEAN
                            ? (v.boolean ? "true" : "false")
                        : v.kind == LZC_STRING || lua_isnumber(L, -1)
                            ? lua_tostring(L, -1) : lze_describe(L, -1);
    lua_pushvalue(L, own - 1);
    lua_pushfstring(L, "%s%s = %s", between, p->text, value);
    lua_concat(L, 2);
    lua_replace(L, own - 1);
    lua_settop(L, own);
    between = ", ";
  }
  lua_settop(L, own - 1);
}

void lze_lua_kernel_about(lua_State *L, int kernel, int count) {
  const lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  const lzc_summary *s = k->summary;
  const lze_LuaVariant *v = k->last;
  luaL_checkstack(L, 12, NULL);
  lua_getiuservalue(L, kernel, LZE_OWN_VALUE);
  int own = lua_gettop(L);
  lua_createtable(L, 0, 8);
  lua_rawgeti(L, own, LZE_AT_FUNCTION);
  lua_setfield(L, -2, "f");
  lua_pushstring(L, k->head.name);
  lua_setfield(L, -2, "name");
  lua_pushinteger(L, v->dims);
  lua_setfield(L, -2, "indices");
  const char *source = s->source != NULL ? s->source : "=?";
  lua_pushfstring(L, "%s:%d: ", *source == '@' || *source == '='
                                    ? source + 1 : "a string", s->line);
  lua_setfield(L, -2, "where");
  lua_newtable(L);
  for (unsigned i = 0; i < s->parameters; i++) {
    lua_pushstring(L, s->names[i] != NULL ? s->names[i] : "?");
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "parameters");
  lua_newtable(L);
  for (int i = 0; i < count && i < k->declared_count; i++)
    if (k->declared[i].kind == LZC_SCALAR) {
      lua_pushstring(L, lzc_element_name(k->declared[i].element));
      lua_rawseti(L, -2, i + 1);
    }
  lua_setfield(L, -2, "scalars");
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < s->path_count; i++) {
    bool found = lze_lua_push_path(L, own, 0, &s->paths[i]);
    if (found && lze_test_buffer(L, -1) != NULL) {
      lua_createtable(L, 0, 2);
      lua_insert(L, -2);
      lua_setfield(L, -2, "value");
      lua_pushstring(L, s->paths[i].text);
      lua_setfield(L, -2, "name");
      lua_rawseti(L, own + 2, (int)++n);
    }
    lua_settop(L, own + 2);
  }
  lua_setfield(L, -2, "captures");
  lua_createtable(L, 0, 5);
  lua_pushstring(L, k->name);
  lua_setfield(L, -2, "name");
  lua_pushliteral(L, "double");
  lua_setfield(L, -2, "real");
  lua_pushstring(L, k->options.int32 ? "int" : "long");
  lua_setfield(L, -2, "int");
  lua_rawgeti(L, own, LZE_AT_SIGNATURE);
  lua_setfield(L, -2, "signature");
  lua_pushboolean(L, true);
  lua_setfield(L, -2, "bounds");
  lua_setfield(L, -2, "twin");
  lua_remove(L, own);
}

static const lze_Method methods[] = {{"variant", kernel_variant, LZE_UNGUARDED},
                                     {"spirv", kernel_spirv, LZE_UNGUARDED},
                                     {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method functions[] = {{"kernel", core_kernel, LZE_GUARDED},
                                       {NULL, NULL, LZE_UNGUARDED}};

/* Call it after lze_open_kernel, because it extends that kind. */
void lze_open_lua_kernel(lua_State *L) {
  lze_add_methods(L, lze_kernel_kind, methods);
  lze_set_methods(L, functions, 0);
}
