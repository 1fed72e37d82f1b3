/*
 * lze_spirv.c - lze.spirv: SPIR-V validation, assembly and reflection.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_progress.h"
#include "launch/lze_kernel.h"
#include "module/lze_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spirv_tools.h"
#include "tool.h"

/* SPIRV-Tools objects in a userdata, so that a Lua error frees them. */
typedef struct Work {
  spv_context context;
  spv_binary binary;
  spv_text text;
  spv_diagnostic diagnostic;
  spirv_module *module;
  unsigned char *output;        /* of spirv-opt */
  tool_text said;
} Work;

static int work_gc(lua_State *L) {
  Work *w = lua_touserdata(L, 1);
  if (w->diagnostic != NULL) spvDiagnosticDestroy(w->diagnostic);
  if (w->text != NULL) spvTextDestroy(w->text);
  if (w->binary != NULL) spvBinaryDestroy(w->binary);
  if (w->context != NULL) spvContextDestroy(w->context);
  spirv_free(w->module);
  free(w->output);
  free(w->said.text);
  memset(w, 0, sizeof *w);
  return 0;
}

static const char work_key; /* the registry key of its metatable */

/* Pushes a new one. [-0, +1] */
static Work *work_push(lua_State *L) {
  Work *w = lua_newuserdatauv(L, sizeof *w, 0);
  memset(w, 0, sizeof *w);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &work_key);
  lua_setmetatable(L, -2);
  return w;
}

static spv_context work_context(lua_State *L, Work *w, spv_target_env env) {
  w->context = spvContextCreate(env);
  if (w->context == NULL) lze_no_memory(L);
  return w->context;
}

static const char *check_bytes(lua_State *L, int arg, size_t *size) {
  if (lua_type(L, arg) != LUA_TSTRING)
    lze_argerror(L, arg, lua_pushfstring(L, "bytes: string expected, got %s",
                                          lze_describe(L, arg)));
  return lua_tolstring(L, arg, size);
}

void lze_check_spirv_memory(lua_State *L, const char *message) {
  if (strcmp(message, "out of memory") == 0)
    lze_no_memory(L);
}

spirv_module *lze_parse_spirv(lua_State *L, const void *bytes, size_t size,
                              const char *object, const char *call) {
  char message[512];
  spirv_module *m = spirv_parse(bytes, size, message, sizeof message);
  if (m != NULL) return m;
  lze_check_spirv_memory(L, message);
  lze_fail_word(L, object, call, "INVALID_SPIRV", NULL,
                "not a SPIR-V module that can be decoded: %s", message);
}

bool lze_validate_spirv(lua_State *L, const void *bytes, size_t size,
                        char *message, size_t cap) {
  if (spirv_validate(bytes, size, message, cap)) return true;
  lze_check_spirv_memory(L, message);
  return false;
}

/* Returns the words of the module at `arg` of the function `call`, aligned,
   without SPIRV.debug, which SPIRV-Tools does not support. [-0, +1] */
static const uint32_t *check_words(lua_State *L, int arg, const char *call,
                                   size_t *count) {
  size_t size;
  const char *bytes = check_bytes(L, arg, &size);
  if (size % 4 != 0 || size < 20)
    lze_fail_word(L, NULL, call, "INVALID_SPIRV", NULL,
                  "%I bytes are not a SPIR-V module", (LUAI_UACINT)size);
  uint32_t *words = lua_newuserdatauv(L, size, 0);
  memcpy(words, bytes, size);
  *count = spirv_without_debug(words, size / 4);
  return words;
}

/* Pushes the diagnostic as "line 3, column 4: text" (for a text) or "word 12:
   text". [-0, +1] */
static const char *work_message(lua_State *L, const Work *w) {
  const spv_diagnostic d = w->diagnostic;
  if (d == NULL || d->error == NULL) return lua_pushliteral(L, "invalid");
  if (d->isTextSource)
    return lua_pushfstring(L, "line %I, column %I: %s",
                           (LUAI_UACINT)d->position.line + 1,
                           (LUAI_UACINT)d->position.column + 1, d->error);
  return lua_pushfstring(L, "word %I: %s", (LUAI_UACINT)d->position.index,
                         d->error);
}

/* lze.spirv.validate(bytes [, target]) -> true | nil, message
   target: an environment in the syntax of spirv-val's --target-env; the
   default is the OpenCL environment for the module's version. */
static int spirv_lua_validate(lua_State *L) {
  lua_settop(L, 2);
  size_t size;
  const char *bytes = check_bytes(L, 1, &size);
  if (lua_isnil(L, 2)) {
    char message[512];
    if (lze_validate_spirv(L, bytes, size, message, sizeof message)) {
      lua_pushboolean(L, true);
      return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, message);
    return 2;
  }
  spv_target_env env;
  if (lua_type(L, 2) != LUA_TSTRING ||
      !spvParseTargetEnv(lua_tostring(L, 2), &env))
    lze_argerror(L, 2,
                  lua_pushfstring(L, "target: an environment such as "
                                     "opencl1.2, opencl2.2, spv1.2 expected, "
                                     "got %s",
                                  lze_describe(L, 2)));
  if (size % 4 != 0 || size < 20) {
    lua_pushnil(L);
    lua_pushfstring(L, "%I bytes are not a SPIR-V module", (LUAI_UACINT)size);
    return 2;
  }
  size_t count;
  const uint32_t *words = check_words(L, 1, "lze.spirv.validate", &count);
  const char *refused = spirv_too_nested(words, count);
  if (refused != NULL) {
    lze_check_spirv_memory(L, refused);
    lua_pushnil(L);
    lua_pushstring(L, refused);
    return 2;
  }
  Work *w = work_push(L);
  spv_const_binary_t binary = {words, count};
  spv_result_t r = spvValidate(work_context(L, w, env), &binary,
                               &w->diagnostic);
  if (r == SPV_SUCCESS) {
    lua_pushboolean(L, true);
    return 1;
  }
  lua_pushnil(L);
  work_message(L, w);
  return 2;
}

/* lze.spirv.assemble(text) -> bytes
   text: SPIR-V assembly in the syntax of spirv-as. Errors give line and
   column. */
static int spirv_lua_assemble(lua_State *L) {
  size_t size;
  lua_settop(L, 1);
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "text: string expected, got %s",
                                        lze_describe(L, 1)));
  const char *text = lua_tolstring(L, 1, &size);
  Work *w = work_push(L);
  /* Numeric ids keep their numbers; OpenCL's newest core. */
  if (spvTextToBinaryWithOptions(
          work_context(L, w, SPV_ENV_UNIVERSAL_1_2), text, size,
          SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS, &w->binary,
          &w->diagnostic) != SPV_SUCCESS)
    lze_fail_word(L, NULL, "lze.spirv.assemble", "INVALID_ASSEMBLY", NULL,
                  "%s", work_message(L, w));
  lua_pushlstring(L, (const char *)w->binary->code,
                  w->binary->wordCount * sizeof(uint32_t));
  return 1;
}

/* lze.spirv.disassemble(bytes) -> text, indented and with friendly names */
static int spirv_lua_disassemble(lua_State *L) {
  lua_settop(L, 1);
  size_t count;
  const uint32_t *words = check_words(L, 1, "lze.spirv.disassemble", &count);
  Work *w = work_push(L);
  if (spvBinaryToText(work_context(L, w, SPV_ENV_UNIVERSAL_1_6), words, count,
                      SPV_BINARY_TO_TEXT_OPTION_INDENT |
                          SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES,
                      &w->text, &w->diagnostic) != SPV_SUCCESS)
    lze_fail_word(L, NULL, "lze.spirv.disassemble", "INVALID_SPIRV", NULL,
                  "%s", work_message(L, w));
  lua_pushlstring(L, w->text->str, w->text->length);
  return 1;
}

/* Returns true if the flag is neither a file nor a flag that makes the program
   do something else. */
static bool is_pass(const char *flag) {
  return strcmp(flag, "-O") == 0 || strcmp(flag, "-Os") == 0 ||
         (strncmp(flag, "--", 2) == 0 && strcmp(flag, "--help") != 0 &&
          strcmp(flag, "--version") != 0);
}

/* Lets a debug hook interrupt the program. */
static bool optimize_goes_on(void *of) {
  return lze_run_hook(of) == LUA_OK;
}

/* lze.spirv.optimize(bytes [, passes]) -> bytes
   Runs the program spirv-opt. passes: an array of its flags
   ("--eliminate-dead-..."); the default is "-O". It was made for shaders and
   does little for kernels. Raises if bytes is not SPIR-V, if a flag is
   unknown, or if spirv-opt is not installed. */
static int spirv_lua_optimize(lua_State *L) {
  enum { MAX_PASSES = 64, SECONDS = 120 };
  char path[256];
  const char *arguments[MAX_PASSES + 5] = {path, "-O"};
  lua_settop(L, 2);
  size_t count, n = 1;
  const uint32_t *words = check_words(L, 1, "lze.spirv.optimize", &count);
  bool all = lua_isnil(L, 2);
  if (!all) {
    lze_argexpected(L, lua_istable(L, 2), 2, "table");
    n = (size_t)lua_rawlen(L, 2);
    if (n > MAX_PASSES) lze_argerror(L, 2, "passes: more than 64");
    luaL_checkstack(L, (int)n + 8, NULL);
    for (size_t i = 0; i < n; i++) {
      if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TSTRING)
        lze_argerror(L, 2, lua_pushfstring(L, "passes: item %d: string "
                                               "expected, got %s",
                                            (int)i + 1,
                                            lze_describe(L, -1)));
      arguments[i + 1] = lua_tostring(L, -1);
      if (!is_pass(arguments[i + 1]))
        lze_argerror(L, 2, lua_pushfstring(L, "passes: %s is not a valid flag",
                                           arguments[i + 1]));
    }
  }
  Work *w = work_push(L);
  if (spvBinaryParse(work_context(L, w, SPV_ENV_UNIVERSAL_1_6), NULL, words,
                     count, NULL, NULL, &w->diagnostic) != SPV_SUCCESS)
    lze_fail_word(L, NULL, "lze.spirv.optimize", "INVALID_SPIRV", NULL, "%s",
                  work_message(L, w));
  const char *refused = spirv_too_nested(words, count);
  if (refused != NULL) {
    lze_check_spirv_memory(L, refused);
    lze_fail_word(L, NULL, "lze.spirv.optimize", "FAILED", NULL, "%s", refused);
  }
  if (tool_find("spirv-opt", 0, path, sizeof path) == 0)
    lze_fail_word(L, NULL, "spirv-opt", "NOT_FOUND", NULL,
                  "there is no spirv-opt: install it (Debian: apt install "
                  "spirv-tools)");
  arguments[n + 1] = "-";
  arguments[n + 2] = "-o";
  arguments[n + 3] = "-";
  arguments[n + 4] = NULL;
  int top = lua_gettop(L);
  size_t size;
  lze_Progress progress;
  lze_progress_begin(&progress, "running", "spirv-opt");
  w->output = tool_run((char *const *)arguments, words, count * sizeof *words,
                       SECONDS, optimize_goes_on, L, &size, &w->said);
  lze_progress_end(&progress);
  if (lua_gettop(L) > top) lua_error(L); /* the error of a hook */
  if (w->output == NULL) {
    static const char prefix[] = "error: line 0: ";
    const char *said = w->said.text != NULL ? w->said.text : "it failed";
    if (strncmp(said, prefix, sizeof prefix - 1) == 0)
      said += sizeof prefix - 1;
    /* It accepts any SPIR-V, so the flags are wrong. */
    lua_pushlstring(L, said, strcspn(said, "\n"));
    if (!all)
      lze_argerror(L, 2, lua_pushfstring(L, "passes: %s",
                                         lua_tostring(L, -1)));
    lze_fail_word(L, NULL, "spirv-opt", "FAILED", said,
                  "it cannot optimise this module");
  }
  lua_pushlstring(L, (const char *)w->output, size);
  return 1;
}

/* --- reflection --------------------------------------------------------- */

static void set_string(lua_State *L, const char *key, const char *value) {
  if (value == NULL) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, key);
}

static void set_counts(lua_State *L, const char *key, const uint32_t v[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

/* The same for a size, which is left out if it is 0. */
static void set_triple(lua_State *L, const char *key, const uint32_t v[3]) {
  if (v[0] != 0) set_counts(L, key, v);
}

/* Sets an array of the names of the bits that are set. */
static void set_bits(lua_State *L, const char *key, uint32_t bits,
                     const char *const *names) {
  lua_newtable(L);
  lua_Integer n = 0;
  for (int i = 0; names[i] != NULL; i++)
    if (bits >> i & 1) {
      lua_pushstring(L, names[i]);
      lua_rawseti(L, -2, ++n);
    }
  lua_setfield(L, -2, key);
}

static void push_type(lua_State *L, const spirv_type *t) {
  static const char *const kinds[] = {"unknown", "void",   "bool",  "int",
                                      "float",   "struct", "pointer"};
  static const char *const signs[] = {NULL, "signed", "unsigned"};
  lua_createtable(L, 0, 5);
  set_string(L, "kind", kinds[t->kind]);
  set_string(L, "sign", signs[t->sign]);
  set_integer(L, "bits", t->bits);
  set_integer(L, "lanes", t->lanes);
  set_integer(L, "bytes", t->bytes);
}

/* Adds the floating-point operations of a work-item to the table on the top. */
static void set_flops(lua_State *L, const spirv_module *m,
                      const spirv_kernel *k) {
  spirv_flops flops;
  lze_check_memory(L, spirv_count_flops(m, k, &flops));
  set_integer(L, "half_flops", flops.of_half);
  set_integer(L, "float_flops", flops.of_float);
  set_integer(L, "double_flops", flops.of_double);
  lua_pushboolean(L, !flops.whole);
  lua_setfield(L, -2, "more_flops");
}

static void push_kernel(lua_State *L, const spirv_module *m,
                        const spirv_kernel *k) {
  static const char *const builtins[] = {
      "GlobalInvocationId", "GlobalSize", "GlobalOffset", "GlobalLinearId",
      "LocalInvocationId", "LocalInvocationIndex", "WorkgroupId",
      "WorkgroupSize", "EnqueuedWorkgroupSize", "NumWorkgroups", "WorkDim",
      "sub-group", "other", NULL};
  static const char *const features[] = {
      "barrier", "local", "atomics", "group operations",
      "sub-group operations", "printf", "unknown call",
      "loops", "long maths", "sweeps local memory", "long loops", NULL};
  static const char *const classes[] = {"value", "pointer", "local", "image",
                                        "sampler", "other"};
  lua_createtable(L, 0, 16);
  set_string(L, "name", k->label);
  set_string(L, "entry", k->name);
  set_flops(L, m, k);
  set_triple(L, "required_group_size", k->required_group);
  set_triple(L, "group_size_hint", k->group_hint);
  if (k->required_subgroup != 0)
    set_integer(L, "required_subgroup_size", k->required_subgroup);
  set_integer(L, "local_bytes", k->local_bytes);
  set_bits(L, "builtins", k->builtins, builtins);
  set_bits(L, "features", k->features, features);
  set_counts(L, "beside", k->beside);
  set_counts(L, "apart", k->apart);
  set_counts(L, "again", k->again);
  set_counts(L, "stores", k->stores);
  set_counts(L, "spacing", k->spacing);
  set_counts(L, "local_fit", k->local_fit);
  set_integer(L, "local_items", k->local_items);
  lua_createtable(L, (int)k->arg_count, 0);
  for (uint32_t i = 0; i < k->arg_count; i++) {
    const spirv_arg *a = &k->args[i];
    lua_createtable(L, 0, 8);
    set_string(L, "name", a->name);
    set_string(L, "source_type", a->source_type);
    set_string(L, "class", classes[a->cls]);
    if (a->cls == SPIRV_ARG_POINTER || a->cls == SPIRV_ARG_LOCAL)
      set_string(L, "space", lze_space_names[a->space]);
    if (a->cls == SPIRV_ARG_POINTER || a->cls == SPIRV_ARG_IMAGE)
      set_string(L, "access", lze_access_names[a->access]);
    set_integer(L, "bytes", a->bytes);
    lua_pushboolean(L, a->is_const);
    lua_setfield(L, -2, "const");
    push_type(L, &a->type);
    lua_setfield(L, -2, "type");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "args");
}

/* lze.spirv.reflect(bytes) -> table
   version ("1.2"), generator, address_bits, capabilities (numbers), kernels
   ({name, args, builtins, features, local_bytes, required_group_size, ...}),
   spec_constants ({id, name, type}), imports, exports (booleans). */
static int spirv_lua_reflect(lua_State *L) {
  lua_settop(L, 1);
  size_t size;
  const char *bytes = check_bytes(L, 1, &size);
  Work *w = work_push(L);
  w->module = lze_parse_spirv(L, bytes, size, NULL, "lze.spirv.reflect");
  const spirv_module *m = w->module;
  lua_createtable(L, 0, 8);
  lua_pushfstring(L, "%d.%d", (int)(m->version >> 16 & 0xff),
                  (int)(m->version >> 8 & 0xff));
  lua_setfield(L, -2, "version");
  set_integer(L, "generator", m->generator);
  set_integer(L, "address_bits", m->address_bits);
  lua_pushboolean(L, m->has_imports);
  lua_setfield(L, -2, "imports");
  lua_pushboolean(L, m->has_exports);
  lua_setfield(L, -2, "exports");
  lua_createtable(L, (int)m->capability_count, 0);
  for (size_t i = 0; i < m->capability_count; i++) {
    lua_pushinteger(L, m->capabilities[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "capabilities");
  lua_createtable(L, (int)m->kernel_count, 0);
  for (size_t i = 0; i < m->kernel_count; i++) {
    push_kernel(L, m, &m->kernels[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "kernels");
  lua_createtable(L, (int)m->spec_constant_count, 0);
  for (size_t i = 0; i < m->spec_constant_count; i++) {
    const spirv_spec_constant *c = &m->spec_constants[i];
    lua_createtable(L, 0, 3);
    set_integer(L, "id", c->spec_id);
    set_string(L, "name", c->name);
    push_type(L, &c->type);
    lua_setfield(L, -2, "type");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "spec_constants");
  return 1;
}

static const lze_Method functions[] = {
    {"validate", spirv_lua_validate, LZE_GUARDED},
    {"assemble", spirv_lua_assemble, LZE_GUARDED},
    {"disassemble", spirv_lua_disassemble, LZE_GUARDED},
    {"optimize", spirv_lua_optimize, LZE_GUARDED},
    {"reflect", spirv_lua_reflect, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_spirv(lua_State *L) {
  lze_new_hidden(L, work_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &work_key);
  lua_newtable(L);
  lze_set_methods(L, functions, 0);
  lua_setfield(L, -2, "spirv");
}
