/*
 * lze_module.c - modules: SPIR-V, OpenCL C or a native binary, built.
 * SPDX-License-Identifier: MIT
 */
#include "module/lze_module.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_show.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_build.h"
#include "launch/lze_kernel.h"
#include "memory/lze_file.h"
#include "queue/lze_record.h"

#include "signature.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void module_destroy(lze_Object *o) {
  lze_Module *m = (lze_Module *)o;
  if (m->log != NULL) ZE(zeModuleBuildLogDestroy, m->log);
  if (m->guarded != NULL && m->guarded != m->handle)
    ZE(zeModuleDestroy, m->guarded);
  if (m->handle != NULL) ZE(zeModuleDestroy, m->handle);
  m->log = NULL;
  m->handle = m->guarded = NULL;
}

static void module_release(lze_Object *o) {
  spirv_free(((lze_Module *)o)->spirv);
  lze_build_options_free((lze_Module *)o);
}

static const lze_Class module_class = {"module", module_destroy,
                                       module_release};

typedef struct ModuleBox {
  lze_Box box;
  lze_Module *module;           /* NULL after __gc */
} ModuleBox;

static lze_Module *module_check(lua_State *L, int arg) {
  ModuleBox *b = lze_check_box(L, arg, lze_module_kind);
  if (b->module == NULL || b->module->o.closed)
    lze_closed(L, arg, lze_module_kind);
  return b->module;
}

/* Pushes and returns the text of the last build's log, or "". [-0, +1] */
static const char *module_log(lua_State *L, lze_Module *m) {
  size_t size = 0;
  if (m->log == NULL ||
      ZE(zeModuleBuildLogGetString, m->log, &size, NULL) !=
          ZE_RESULT_SUCCESS || size == 0)
    return lua_pushliteral(L, "");
  char *text = lua_newuserdatauv(L, size, 0);
  if (ZE(zeModuleBuildLogGetString, m->log, &size, text) != ZE_RESULT_SUCCESS)
    text[0] = '\0';
  text[size - 1] = '\0';
  lua_pushstring(L, text);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* Converts the specialization constants of the table at `t`, {name or id =
   value}, to the form of the module descriptor, in userdata that stay on the
   stack. [-0, +3] */
static void module_constants(lua_State *L, int t, const lze_Module *m,
                             ze_module_constants_t *out) {
  const spirv_module *s = m->spirv;
  size_t n = s->spec_constant_count;
  uint32_t *ids = lua_newuserdatauv(L, (n + 1) * sizeof *ids, 0);
  struct {
    uint64_t value;
    const void *pointer;
  } *values = lua_newuserdatauv(L, (n + 1) * sizeof *values, 0);
  const void **pointers =
      lua_newuserdatauv(L, (n + 1) * sizeof *pointers, 0);
  uint32_t count = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    const spirv_spec_constant *c = NULL;
    for (size_t i = 0; i < n; i++) {
      const spirv_spec_constant *each = &s->spec_constants[i];
      if (lua_isinteger(L, -2) ? lua_tointeger(L, -2) != each->spec_id
                               : lua_type(L, -2) != LUA_TSTRING ||
                                     each->name == NULL ||
                                     strcmp(lua_tostring(L, -2),
                                            each->name) != 0)
        continue;
      if (c == NULL) c = each;
      if (each->spec_id != c->spec_id)
        luaL_error(L, "option constants: %I and %I are both %s",
                   (LUAI_UACINT)c->spec_id, (LUAI_UACINT)each->spec_id,
                   c->name);
    }
    if (c == NULL) {
      const char *key = lze_describe(L, -2);
      luaL_Buffer b;
      luaL_buffinit(L, &b);
      for (size_t i = 0; i < n; i++) {
        char text[96];
        snprintf(text, sizeof text, " %u%s%.60s", s->spec_constants[i].spec_id,
                 s->spec_constants[i].name != NULL ? " " : "",
                 s->spec_constants[i].name != NULL
                     ? s->spec_constants[i].name : "");
        luaL_addstring(&b, text);
      }
      luaL_pushresult(&b);
      luaL_error(L, "option constants: no specialization constant %s (there "
                    "is:%s)", key, n == 0 ? " none" : lua_tostring(L, -1));
    }
    for (uint32_t i = 0; i < count; i++)
      if (ids[i] == c->spec_id)
        luaL_error(L, "option constants: %s: it is given twice",
                   c->name != NULL ? c->name : "a constant");
    values[count].value = 0;
    bool fits;
    if (c->type.kind == SPIRV_KIND_BOOL) {
      fits = lua_isboolean(L, -1);
      values[count].value = fits && lua_toboolean(L, -1);
      if (!fits) lua_pushliteral(L, "boolean expected");
    } else {
      bool real = c->type.kind == SPIRV_KIND_FLOAT;
      int log2 = c->type.bits == 8 ? 0 : c->type.bits == 16 ? 1
                 : c->type.bits == 32 ? 2 : 3;
      const lze_Type *type =
          lze_type_of(real ? (log2 == 1 ? LZE_F16
                              : log2 == 2 ? LZE_F32 : LZE_F64)
                           : (lze_Scalar)(LZE_I8 + 2 * log2), 1);
      fits = lze_type_store(L, type, -1, &values[count].value);
      if (!fits && !real) { /* SPIR-V does not say if it is signed */
        lua_pop(L, 1);
        type = lze_type_of((lze_Scalar)(type->scalar + 1), 1);
        fits = lze_type_store(L, type, -1, &values[count].value);
      }
    }
    if (!fits)
      luaL_error(L, "option constants: %s: %s",
                 c->name != NULL ? c->name : "a constant",
                 lua_tostring(L, -1));
    ids[count] = c->spec_id;
    pointers[count] = &values[count].value;
    count++;
  }
  *out = (ze_module_constants_t){count, ids, pointers};
}

/* OpenCL C for a driver's own compiler; missing in Level Zero's header. */
#define FORMAT_OPENCL_C ((ze_module_format_t)3)

/* Returns a key of everything that a native binary, and its speed, depend
   on. */
static cache_key module_key(const lze_Module *m, const void *bytes,
                            size_t size, const char *flags,
                            const ze_module_constants_t *constants) {
  cache_key key = CACHE_KEY_INIT;
  const lze_DeviceInfo *d = m->device;
  cache_key_add(&key, bytes, size);
  cache_key_add(&key, flags != NULL ? flags : "",
                flags != NULL ? strlen(flags) : 0);
  cache_key_add(&key, &d->driver->version, sizeof d->driver->version);
  cache_key_add(&key, d->props.uuid.id, sizeof d->props.uuid.id);
  cache_key_add(&key, d->props.name, strlen(d->props.name));
  for (uint32_t i = 0; i < constants->numConstants; i++) {
    cache_key_add(&key, &constants->pConstantIds[i], sizeof(uint32_t));
    cache_key_add(&key, constants->pConstantValues[i], sizeof(uint64_t));
  }
  return key;
}

/* Adds the text on the top to mod.warnings; the module is at `box`. [-1, +0] */
static void module_warn(lua_State *L, int box) {
  lua_getiuservalue(L, box, 1);
  lua_rawgeti(L, -1, 1);
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 3);
}

/* Pushes an array with, for each kernel, the name of an undefined function
   that it calls, or NULL. [-0, +1] */
static const char **module_push_undefined(lua_State *L, const lze_Module *m) {
  const char **names = lua_newuserdatauv(
      L, (m->spirv->kernel_count + 1) * sizeof *names, 0);
  if (!spirv_undefined(m->spirv, names)) lze_no_memory(L);
  return names;
}

/* Warns of each kernel that calls an undefined function. Raises if all kernels
   do. */
static void module_warn_undefined(lua_State *L, int box, const lze_Module *m) {
  const size_t n = m->spirv->kernel_count;
  const char **names = module_push_undefined(L, m), *last = NULL;
  size_t undefined = 0;
  for (size_t i = 0; i < n; i++) {
    if (names[i] == NULL) continue;
    undefined++;
    last = names[i];
    lua_pushfstring(L, "kernel %s calls %s, which is not defined",
                    m->spirv->kernels[i].label, last);
    module_warn(L, box);
  }
  if (undefined > 0 && undefined == n)
    lze_fail(L, m->device->driver, ZE_RESULT_ERROR_MODULE_LINK_FAILURE,
             m->name, "zeModuleCreate",
             lua_pushfstring(L, "%s is called and not defined", last), NULL);
}

/* Returns true if the driver found no definition for some function. */
static bool module_lacks(lua_State *L, const lze_Module *m) {
  ze_module_properties_t p = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES};
  ze_result_t r = ZE(zeModuleGetProperties, m->handle, &p);
  if (r != ZE_RESULT_SUCCESS)
    lze_fail(L, m->device->driver, r, m->name, "zeModuleGetProperties", NULL,
             NULL);
  return p.flags & ZE_MODULE_PROPERTY_FLAG_IMPORTS;
}

/* Returns true if the build log names an undefined function: a build that
   failed for another reason may succeed next time. */
static bool module_log_tells(lua_State *L, lze_Module *m) {
  const char **names = module_push_undefined(L, m);
  const char *log = module_log(L, m);
  bool tells = false;
  for (size_t i = 0; i < m->spirv->kernel_count; i++)
    tells = tells || (names[i] != NULL && strstr(log, names[i]) != NULL);
  lua_pop(L, 2);
  return tells;
}

/* Builds the kernels that need no function that the driver lacks. */
static ze_result_t module_build_defined(lua_State *L, int box, lze_Module *m) {
  module_warn_undefined(L, box, m);
  if (m->handle != NULL) ZE(zeModuleDestroy, m->handle);
  m->handle = NULL;
  m->lacks = true;
  return lze_build_defined(m);
}

/* Builds SPIR-V, or as many of its kernels as possible. Only a build shows
   that a function is missing, so that is cached if the log says so and the
   remaining kernels can be built. */
static ze_result_t module_build_spirv(lua_State *L, int box, lze_Module *m,
                                      const void *bytes, size_t size,
                                      bool *cached) {
  static const char kind[] = "lacks";
  size_t ignored;
  unsigned char *entry =
      m->spirv->has_imports ? cache_read(kind, &m->key, &ignored) : NULL;
  const bool known = entry != NULL;
  bool found_out = false;
  free(entry);
  if (!known) {
    ze_result_t r = lze_build_spirv(m, bytes, size, cached);
    if (r != ZE_RESULT_SUCCESS || !m->spirv->has_imports ||
        !module_lacks(L, m))
      return r;
    found_out = module_log_tells(L, m);
  }
  *cached = known;
  ze_result_t r = module_build_defined(L, box, m);
  if (r == ZE_RESULT_SUCCESS && found_out) cache_write(kind, &m->key, "", 0);
  return r;
}

/* The end of a long path says more than its beginning. */
static void module_set_name(lze_Module *m, const char *name) {
  size_t length = strlen(name), room = sizeof m->name - sizeof "module ...";
  if (length <= room)
    snprintf(m->name, sizeof m->name, "module %s", name);
  else
    snprintf(m->name, sizeof m->name, "module ...%s", name + length - room);
}

/* The format of the string at stack index `bytes`. */
typedef enum Form { FORM_SPIRV, FORM_SOURCE } Form;

/* The options of a module, and its input. */
typedef struct Options {
  const char *flags;            /* for the driver's compiler, or NULL */
  const char *signature;        /* for source that the driver compiles */
  bool strict;
  int native;                   /* stack index of a native binary, or 0 */
  int bytes;                    /* stack index of the SPIR-V, or the source */
  int said;                     /* stack index of compilers' messages, or 0 */
} Options;

/* Reads format = "source" and signature, which require each other. */
static void options_read_source(lua_State *L, int t, Options *o) {
  const char *format = lze_opt_string(L, t, "format");
  o->signature = lze_opt_string(L, t, "signature");
  if (format != NULL && strcmp(format, "source") != 0)
    luaL_error(L, "option format: \"source\" expected, got string '%s'",
               format);
  if (format != NULL && o->signature == NULL)
    luaL_error(L, "option signature: the kernels' declarations expected, as "
                  "nothing else says what a driver's own compiler makes");
  if (format == NULL && o->signature != NULL)
    luaL_error(L, "option signature: it goes with format = \"source\"");
  if (o->signature == NULL) return;
  const char *flags = lze_compile_flags(L, t);
  o->flags = o->flags == NULL ? flags
                              : lua_pushfstring(L, "%s %s", o->flags, flags);
}

static void options_read(lua_State *L, int t, Form form, Options *o) {
  /* The first six apply to source. */
  static const char *const all_keys[] = {
      "std", "defines", "include", "flags", "format", "signature", "device",
      "context", "options", "constants", "validate", "spirv", NULL};
  lze_argexpected(L, lua_istable(L, t), t, "table");
  lze_check_keys(L, t, "a module's options",
                 form == FORM_SOURCE ? all_keys : all_keys + 6);
  o->flags = lze_opt_string(L, t, "options");
  if (lze_getoption(L, t, "validate") != LUA_TNIL) {
    o->strict = lua_type(L, -1) == LUA_TSTRING &&
                strcmp(lua_tostring(L, -1), "strict") == 0;
    if (!o->strict) lze_opt_expected(L, "validate", "\"strict\"");
  }
  if (lze_getoption(L, t, "spirv") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING || form == FORM_SOURCE)
      lze_opt_expected(L, "spirv", "the SPIR-V of a native binary as a string");
    o->native = o->bytes;
    o->bytes = lua_gettop(L);
  }
  if (form == FORM_SOURCE) options_read_source(L, t, o);
}

/* Reads the declarations of kernels in source that the driver compiles. */
static void module_read_signature(lua_State *L, lze_Module *m,
                                  const char *signature) {
  char message[256];
  size_t size;
  void *stubs = signature_spirv(signature, 64, &size, message, sizeof message);
  if (stubs != NULL)
    m->spirv = spirv_parse(stubs, size, message, sizeof message);
  free(stubs);
  if (m->spirv == NULL) luaL_error(L, "option signature: %s", message);
  m->source = true;
}

/* Keeps a copy of the options at `t` (0: no options) that module_on needs. */
static void module_keep_options(lua_State *L, int box, int t) {
  static const char *const keys[] = {"options", "constants"};
  lua_getiuservalue(L, box, 1);
  lua_createtable(L, 0, 2);
  for (size_t i = 0; t != 0 && i < sizeof keys / sizeof *keys; i++) {
    if (lze_getoption(L, t, keys[i]) == LUA_TTABLE) {
      int from = lua_gettop(L);
      lua_newtable(L);
      for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, from + 1);
      }
      lua_remove(L, from);
    }
    lua_pushstring(L, keys[i]);
    lua_insert(L, -2);
    lua_rawset(L, -3);
  }
  lua_rawseti(L, -2, 3);
  lua_pop(L, 1);
}

/* Makes a module from the string at stack index `bytes` with the options at
   `t` and pushes its userdata; `name` is for messages. */
static int module_new(lua_State *L, int bytes, int t, const char *name,
                      Form form) {
  const uint64_t start = lze_now_ns();
  Options o = {.bytes = bytes};
  if (t != 0 && lua_isnil(L, t)) t = 0;
  if (t != 0) options_read(L, t, form, &o);
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, t, &device, &context);
  if (form == FORM_SOURCE && o.signature == NULL) {
    lze_compile(L, o.bytes, t, name, device);
    o.said = lua_gettop(L);
    o.bytes = o.said - 1;
    /* A hook may have run during compilation. */
    if (context->o.closed) luaL_error(L, "the context is closed");
  }
  size_t size;
  const char *data = lua_tolstring(L, o.bytes, &size);
  ModuleBox *b = lze_push_box(L, lze_module_kind, sizeof *b);
  int box = lua_gettop(L);
  lua_createtable(L, 4, 8); /* its kernels by name; at 1 the warnings, at 2 the
                               log, at 3 its options, at 4 the same module on
                               other devices */
  lua_newtable(L);
  lua_rawseti(L, -2, 1);
  lua_setiuservalue(L, box, 1);
  lze_Module *m = lze_object_new(&module_class, sizeof *m, context);
  if (m == NULL) lze_no_memory(L);
  b->module = m;
  m->device = device;
  module_set_name(m, name);
  char message[512];
  bool valid = true;
  if (o.signature != NULL) {
    module_read_signature(L, m, o.signature);
  } else {
    m->spirv = lze_parse_spirv(L, data, size, m->name, "spirv_parse");
    valid = lze_validate_spirv(L, data, size, message, sizeof message);
  }
  if (form == FORM_SOURCE && m->spirv->kernel_count == 0)
    lze_fail_word(L, m->name, "lze.compile", "NO_KERNEL",
                  lua_tostring(L, o.said), "the source has no kernel "
                  "(kernel void name(...) { ... })");
  if (!valid && o.strict)
    lze_fail_word(L, m->name, "spirv_validate", "INVALID_SPIRV", NULL,
                  "%s", message);
  if (!valid) {
    lua_pushstring(L, message);
    module_warn(L, box);
  }
  ze_module_constants_t constants = {0};
  if (lze_opt_table(L, t, "constants"))
    module_constants(L, lua_gettop(L), m, &constants);
  module_keep_options(L, box, t);
  m->key = module_key(m, data, size, o.flags, &constants);
  lze_check_memory(L, lze_build_options(m, o.flags, &constants));
  ze_result_t r;
  bool cached = false;
  const uint64_t build = lze_now_ns();
  if (o.signature != NULL) {
    r = lze_build(m, FORMAT_OPENCL_C, data, size, &m->handle);
  } else if (o.native != 0) {
    size_t native_size;
    const char *binary = lua_tolstring(L, o.native, &native_size);
    r = lze_build(m, ZE_MODULE_FORMAT_NATIVE, binary, native_size, &m->handle);
  } else {
    r = module_build_spirv(L, box, m, data, size, &cached);
  }
  lze_build_log(m, m->name, m->handle, build, size, r, cached);
  if (r != ZE_RESULT_SUCCESS) {
    const char *log = module_log(L, m);
    if (!valid)
      log = lua_pushfstring(L, "the validator says: %s\n%s", message, log);
    lze_fail(L, device->driver, r, m->name, "zeModuleCreate", log, NULL);
  }
  lua_getiuservalue(L, box, 1);
  lua_pushstring(L, o.said != 0 ? lua_tostring(L, o.said) : "");
  module_log(L, m);
  lua_concat(L, 2);
  lua_rawseti(L, -2, 2);
  if (m->log != NULL) ZE(zeModuleBuildLogDestroy, m->log);
  m->log = NULL;
  lua_settop(L, box);
  lze_State *S = context->state;
  if (S->recorder != NULL)
    lze_record_host(L, S, LZE_RECORD_BUILD, m->name, start, size)->storage =
        (m->key.h[0] + (uint64_t)device->index) >> 1;
  return 1;
}

/* mod:on(device | selector) -> the same module, with the same options, on
   another device; always the same object. */
static int module_on(lua_State *L) {
  lua_settop(L, 2);
  lze_Module *m = module_check(L, 1);
  const lze_DeviceInfo *d = lze_device_argument(L, 2, 2, "device");
  lze_push_device(L, d);
  lua_replace(L, 2);
  if (d == m->device) {
    lua_settop(L, 1);
    return 1;
  }
  if (m->source)
    luaL_error(L, "%s: the driver compiled its source, which is not kept: "
                  "lze.compile it for that device", m->name);
  lua_getiuservalue(L, 1, 1);
  if (lua_rawgeti(L, 3, 4) == LUA_TNIL) {
    lua_newtable(L);
    lua_replace(L, 4);
    lua_pushvalue(L, 4);
    lua_rawseti(L, 3, 4);
  }
  lua_pushvalue(L, 2);
  lua_rawget(L, 4);
  ModuleBox *b = lze_test_box(L, 5, lze_module_kind);
  if (b != NULL && b->module != NULL && !b->module->o.closed) return 1;
  lua_settop(L, 4);
  lua_pushlstring(L, (const char *)m->spirv->words,
                  m->spirv->word_count * sizeof *m->spirv->words);
  lua_createtable(L, 0, 3);
  lua_rawgeti(L, 3, 3);
  for (lua_pushnil(L); lua_next(L, 7); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 6);
  }
  lua_pushliteral(L, "device");
  lua_pushvalue(L, 2);
  lua_rawset(L, 6);
  if (m->o.context->driver == d->driver) {
    lze_push_context(L, m->o.context);
    lua_setfield(L, 6, "context");
  }
  /* "module NAME" without the first word, which module_new adds. */
  lua_pushstring(L, m->name + strlen("module "));
  module_new(L, 5, 6, lua_tostring(L, -1), FORM_SPIRV);
  int made = lua_gettop(L);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, made);
  lua_rawset(L, 4);
  lua_settop(L, made);
  return 1;
}

static int module_kernel(lua_State *L);

void lze_push_module(lua_State *L, int bytes, int options, const char *name) {
  int top = lua_gettop(L);
  module_new(L, lua_absindex(L, bytes), lua_absindex(L, options), name,
             FORM_SPIRV);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

void lze_push_module_kernel(lua_State *L, int module, const char *name) {
  module = lua_absindex(L, module);
  lua_pushcfunction(L, module_kernel);
  lua_pushvalue(L, module);
  lua_pushstring(L, name);
  lua_call(L, 2, 1);
}

void lze_push_kernel_for(lua_State *L, int kernel,
                         const lze_DeviceInfo *device) {
  const lze_Kernel *k = lze_test_kernel(L, kernel);
  luaL_checkstack(L, 8, NULL);
  lua_pushcfunction(L, module_kernel);
  lua_pushcfunction(L, module_on);
  lua_getiuservalue(L, kernel, 1);
  const ModuleBox *b = lze_test_box(L, -1, lze_module_kind);
  if (b == NULL || b->module == NULL || b->module->o.closed)
    luaL_error(L, "%s is of another device, and its module is closed",
               k->name);
  lze_push_device(L, device);
  lua_call(L, 2, 1);
  lua_pushstring(L, k->info->label);
  lua_call(L, 2, 1);
}

/* lze.module(bytes [, options]) -> module
   bytes: a SPIR-V module; options: device, context, options (a string for the
   driver's compiler), constants ({name or id = value}), validate ("strict":
   raise if the validator finds an error; otherwise its message is added to
   mod.warnings). With spirv = bytes, the first argument is the native binary
   that mod:native returned for that SPIR-V. */
static int core_module(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "bytes: string expected, got %s",
                                        lze_describe(L, 1)));
  return module_new(L, 1, 2, "from a string", FORM_SPIRV);
}

/* lze.compile(source [, options]) -> module
   source: OpenCL C. options: those for lze.module, and std ("CL1.2", ...),
   defines ({NAME = value}), include ({directory, ...}), flags ({...} for
   clang). Raises an error object with the diagnostics as its log. With format
   = "source" the driver compiles it, and signature holds the kernels'
   declarations. */
static int core_compile(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "source: string expected, got %s",
                                        lze_describe(L, 1)));
  return module_new(L, 1, 2, "source", FORM_SOURCE);
}

static bool may_be_spirv(const char *bytes) {
  return memcmp(bytes, "\x03\x02\x23\x07", 4) == 0 ||
         memcmp(bytes, "\x07\x23\x02\x03", 4) == 0;
}

/* Reads the file at `path` into a string. If `spirv` is true and the file does
   not begin like SPIR-V, reads only its beginning. [-0, +1] */
static void file_read(lua_State *L, const char *path, bool spirv) {
  const int error = lze_push_file(L, path, spirv ? may_be_spirv : NULL);
  char names[512];
  if (error == ENOENT && lze_shipped_names(path, names, sizeof names))
    lze_fail_word(L, NULL, "lze.load", lze_errno_name(error), NULL,
                  "%s: %s, and no kernels of that name come with lze (known: "
                  "%s)", path, strerror(error), names);
  if (error != 0)
    lze_fail_word(L, NULL, "lze.load", lze_errno_name(error), NULL, "%s: %s",
                  path, strerror(error));
}

/* lze.load(path [, options]) -> module, as lze.module of the file's bytes, or
   as lze.compile if its name ends in .cl. If the file does not exist, the name
   may be that of kernels that come with lze. */
static int core_load(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TSTRING)
    lze_argerror(L, 1, lua_pushfstring(L, "path: string expected, got %s",
                                        lze_describe(L, 1)));
  if (lze_has_zero(L, 1)) lze_argerror(L, 1, "path: it contains a zero byte");
  const char *path = lua_tostring(L, 1);
  size_t length = strlen(path);
  bool source = length > 3 && strcmp(path + length - 3, ".cl") == 0;
  char shipped[PATH_MAX];
  struct stat st;
  bool there = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
  /* With the option `spirv` the file is a native binary. */
  bool native = lua_istable(L, 2) && lua_getfield(L, 2, "spirv") != LUA_TNIL;
  lua_settop(L, 2);
  file_read(L, !there && lze_shipped(path, shipped) ? shipped : path,
            !source && !native);
  return module_new(L, 3, 2, path, source ? FORM_SOURCE : FORM_SPIRV);
}

/* Pushes the names of a module's kernels as one list for a person. */
static const char *module_list(lua_State *L, const lze_Module *m) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < m->spirv->kernel_count; i++) {
    if (i > 0) luaL_addstring(&b, ", ");
    luaL_addstring(&b, m->spirv->kernels[i].label);
  }
  if (m->spirv->kernel_count == 0) luaL_addstring(&b, "none");
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static const spirv_kernel *module_find(const lze_Module *m, const char *name) {
  for (size_t i = 0; i < m->spirv->kernel_count; i++)
    if (strcmp(m->spirv->kernels[i].label, name) == 0)
      return &m->spirv->kernels[i];
  return NULL;
}

/* Pushes the existing kernel named by the string at 2 of the module at 1;
   returns false if it does not exist yet. */
static bool module_get(lua_State *L) {
  module_check(L, 1);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  return lua_rawget(L, 3) != LUA_TNIL && lze_kernel_is_open(L, -1);
}

/* mod:kernel(name) -> kernel; always the same object */
static int module_kernel(lua_State *L) {
  lze_Module *m = module_check(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING)
    lze_argerror(L, 2, lua_pushfstring(L, "name: string expected, got %s",
                                        lze_describe(L, 2)));
  if (module_get(L)) return 1;
  lua_settop(L, 3);
  const spirv_kernel *info =
      lze_has_zero(L, 2) ? NULL : module_find(m, lua_tostring(L, 2));
  if (info == NULL)
    return luaL_error(L, "%s has no kernel '%s' (there is: %s)", m->name,
                      lua_tostring(L, 2), module_list(L, m));
  lze_push_kernel(L, m, info);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 3);
  return 1;
}

/* mod:kernels() -> array of names */
static int module_kernels(lua_State *L) {
  const lze_Module *m = module_check(L, 1);
  lua_createtable(L, (int)m->spirv->kernel_count, 0);
  for (size_t i = 0; i < m->spirv->kernel_count; i++) {
    lua_pushstring(L, m->spirv->kernels[i].label);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lze_show_table(L);
  return 1;
}

/* Looks up methods and fields first, then kernels. */
static int module_index(lua_State *L) {
  lze_check_box(L, 1, lze_module_kind);
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    lua_settop(L, 2);
    return lze_box_index(L);
  }
  if (lua_type(L, 2) != LUA_TSTRING)
    return luaL_error(L, "a module has kernels by name, got %s",
                      lze_describe(L, 2));
  if (module_get(L)) return 1;
  lua_settop(L, 2);
  lua_pushcfunction(L, module_kernel);
  lua_insert(L, 1);
  lze_call_guarded(L, 2, 1);
  return 1;
}

/* Raises for a module without SPIR-V: its native binary could not be loaded
   again. */
static void module_check_spirv(lua_State *L, const lze_Module *m) {
  if (m->source)
    luaL_error(L, "%s was compiled by the driver from source and has no "
                  "SPIR-V", m->name);
}

/* mod:spirv() -> the SPIR-V of the module */
static int module_spirv(lua_State *L) {
  const lze_Module *m = module_check(L, 1);
  module_check_spirv(L, m);
  size_t size = m->spirv->word_count * sizeof *m->spirv->words;
  lua_pushlstring(L, (const char *)m->spirv->words, size);
  return 1;
}

/* mod:native() -> device binary, for lze.module(binary, {spirv = bytes}) */
static int module_native(lua_State *L) {
  const lze_Module *m = module_check(L, 1);
  module_check_spirv(L, m);
  size_t size = 0;
  ze_result_t r = ZE(zeModuleGetNativeBinary, m->handle, &size, NULL);
  if (r == ZE_RESULT_SUCCESS) {
    uint8_t *bytes = lua_newuserdatauv(L, size + 1, 0);
    r = ZE(zeModuleGetNativeBinary, m->handle, &size, bytes);
    if (r == ZE_RESULT_SUCCESS) {
      lua_pushlstring(L, (const char *)bytes, size);
      return 1;
    }
  }
  return lze_fail(L, m->device->driver, r, m->name, "zeModuleGetNativeBinary",
                  NULL, NULL);
}

/* mod.warnings: an array of the validator's messages, and of the kernels that
   call undefined functions; empty if there are no warnings. */
static int field_module_warnings(lua_State *L) {
  module_check(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, -1, 1);
  lua_newtable(L);
  for (lua_Integer i = 1; lua_rawgeti(L, -2, i) != LUA_TNIL; i++)
    lua_rawseti(L, -2, i);
  lua_pop(L, 1);
  return 1;
}

/* mod.log: messages of compilers that succeeded, or "". */
static int field_module_log(lua_State *L) {
  module_check(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, -1, 2);
  return 1;
}

/* The struct stays until __gc: a hook may close the module during a launch of
   its kernel. */
static int module_close(lua_State *L) {
  ModuleBox *b = lze_check_box(L, 1, lze_module_kind);
  lze_Module *m = b->module;
  if (m == NULL || m->o.closed) return 0;
  lze_pin(&m->o);
  lze_kernels_close(m);
  lze_close(&m->o);
  lze_unpin(&m->o);
  return 0;
}

static int module_gc(lua_State *L) {
  ModuleBox *b = lze_check_box(L, 1, lze_module_kind);
  lze_Module *m = b->module;
  b->module = NULL;
  if (m != NULL) lze_disown(&m->o);
  return 0;
}

static int module_tostring(lua_State *L) {
  const ModuleBox *b = lze_check_box(L, 1, lze_module_kind);
  if (b->module == NULL || b->module->o.closed)
    lua_pushliteral(L, "module (closed)");
  else
    lua_pushfstring(L, "%s: %s", b->module->name, module_list(L, b->module));
  return 1;
}

static int field_module_device(lua_State *L) {
  lze_push_device(L, module_check(L, 1)->device);
  return 1;
}

static int field_module_handle(lua_State *L) {
  lua_pushlightuserdata(L, module_check(L, 1)->handle);
  return 1;
}

static const lze_Method module_methods[] = {
    {"kernel", module_kernel, LZE_GUARDED},
    {"kernels", module_kernels, LZE_GUARDED},
    {"spirv", module_spirv, LZE_GUARDED},
    {"native", module_native, LZE_GUARDED},
    {"on", module_on, LZE_GUARDED},
    {"close", module_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method module_metamethods[] = {
    {"__index", module_index, LZE_UNGUARDED},
    {"__gc", module_gc, LZE_UNGUARDED},
    {"__close", module_close, LZE_UNGUARDED},
    {"__tostring", module_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field module_fields[] = {{"device", field_module_device},
                                          {"warnings", field_module_warnings},
                                          {"log", field_module_log},
                                          {"handle", field_module_handle},
                                          {NULL, NULL}};

static const lze_Method functions[] = {
    {"load", core_load, LZE_GUARDED},
    {"module", core_module, LZE_GUARDED},
    {"compile", core_compile, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_module(lua_State *L) {
  lze_new_kind(L, lze_module_kind, module_metamethods, module_methods,
               module_fields);
  lze_set_methods(L, functions, 0);
}
