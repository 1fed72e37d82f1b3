/*
 * lze_compile.c - OpenCL C to SPIR-V, by clang and llvm-spirv, by clang alone,
 * or by libocloc.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_progress.h"
#include "device/lze_loader.h"
#include "module/lze_module.h"

#include "argument_text.h"
#include "cache.h"
#include "tool.h"

#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A compiler that takes longer has hung: even whole libraries take seconds. */
#define TOOL_SECONDS 120

static const char install[] =
    "OpenCL C is compiled by clang and llvm-spirv of one LLVM version: "
    "install them (Debian 12: apt install clang-15 llvm-spirv-15; "
    "Debian 13: apt install clang-18 llvm-spirv-18). A clang with a SPIR-V "
    "back end of its own, or Intel's libocloc, will do as well";

/* The ways from OpenCL C to SPIR-V, the best first: drivers expect the output
   of llvm-spirv, and libocloc may lose the source's information on
   arguments. */
typedef enum Way { WAY_TRANSLATOR, WAY_CLANG, WAY_OCLOC, WAY_NONE } Way;

/* The corresponding words of LZE_COMPILER. */
static const char *const way_words[] = {"llvm-spirv", "clang", "ocloc", NULL};

/* The two entry points of libocloc, from its documentation. */
typedef int (*OclocInvoke)(unsigned, const char **, uint32_t, const uint8_t **,
                           const uint64_t *, const char **, uint32_t,
                           const uint8_t **, const uint64_t *, const char **,
                           uint32_t *, uint8_t ***, uint64_t **, char ***);
typedef int (*OclocFree)(uint32_t *, uint8_t ***, uint64_t **, char ***);

/* The tools found, and resources to free. They are freed at once if Lua
   raises: another process that compiles the same source would otherwise wait
   for the lock. */
typedef struct Work {
  lua_State *L;
  bool interrupted;             /* by an error, which is on the stack */
  Way way;
  char clang[256], translator[256];
  void *ocloc;                  /* the library */
  int lock;                     /* locks the source's cache entry */
  tool_text log;
  unsigned char *llvm, *spirv, *kept_log;
} Work;

static void work_free(Work *w) {
  if (w->ocloc != NULL) dlclose(w->ocloc);
  cache_unlock(w->lock);
  free(w->log.text);
  free(w->llvm);
  free(w->spirv);
  free(w->kept_log);
  *w = (Work){.lock = -1};
}

static int work_gc(lua_State *L) {
  work_free(lua_touserdata(L, 1));
  return 0;
}

static const char work_key; /* the registry key of its metatable */

/* The tool_watch of all tools: lets a debug hook interrupt them. */
static bool work_watch(void *of) {
  Work *w = of;
  w->interrupted = lze_run_hook(w->L) != LUA_OK;
  return !w->interrupted;
}

static unsigned char *work_run(Work *w, char *const *arguments,
                               const void *input, size_t input_size,
                               size_t *size, tool_text *log) {
  lze_Progress progress;
  const char *slash = strrchr(arguments[0], '/');
  lze_progress_begin(&progress, "running",
                     slash != NULL ? slash + 1 : arguments[0]);
  unsigned char *output = tool_run(arguments, input, input_size, TOOL_SECONDS,
                                   work_watch, w, size, log);
  lze_progress_end(&progress);
  return output;
}

/* --- finding the tools -------------------------------------------------- */

/* Finds clang and llvm-spirv: the oldest pair starting with 15 (14 fails on
   ordinary code). LLVM before 17 has typed pointers, from which a reader of
   the SPIR-V learns what an argument points to. */
static bool find_translator(Work *w) {
  for (int v = 15; v <= 40; v++)
    if (tool_find("clang", (unsigned)v, w->clang, sizeof w->clang) == v &&
        tool_find("llvm-spirv", (unsigned)v, w->translator,
                  sizeof w->translator) == v)
      return true;
  return false;
}

/* Returns true if a clang has the target spirv64; caches clang's list of
   targets. */
static bool clang_writes_spirv(Work *w) {
  cache_key key = CACHE_KEY_INIT;
  size_t size;
  tool_text log = {0};
  cache_key_add_file(&key, w->clang);
  unsigned char *targets = cache_read("targets", &key, &size);
  if (targets == NULL) {
    char *const ask[] = {w->clang, "-print-targets", NULL};
    targets = work_run(w, ask, "", 0, &size, &log);
    if (targets != NULL) cache_write("targets", &key, targets, size);
  }
  bool found = targets != NULL && memmem(targets, size, "spirv64", 7) != NULL;
  free(targets);
  free(log.text);
  return found;
}

/* Finds a clang whose LLVM writes SPIR-V: LZE_CLANG, else the newest, because
   this back end is young. */
static bool find_clang(Work *w) {
  const char *given = secure_getenv("LZE_CLANG");
  if (given != NULL && *given != '\0') {
    if (*given != '/' || strlen(given) >= sizeof w->clang) return false;
    strcpy(w->clang, given);
    return clang_writes_spirv(w);
  }
  for (int v = 40; v >= 15 && !w->interrupted; v--)
    if (tool_find("clang", (unsigned)v, w->clang, sizeof w->clang) == v &&
        clang_writes_spirv(w))
      return true;
  return false;
}

/* Finds libocloc with the dynamic linker, but not under a relative path. */
static bool find_ocloc(Work *w) {
  struct link_map *map;
  w->ocloc = dlopen("libocloc.so", RTLD_NOW | RTLD_LOCAL);
  if (w->ocloc == NULL) return false;
  if (dlinfo(w->ocloc, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name == '/' &&
      strlen(map->l_name) < sizeof w->clang) {
    strcpy(w->clang, map->l_name); /* for the cache key */
    return true;
  }
  dlclose(w->ocloc);
  w->ocloc = NULL;
  return false;
}

/* Finds the compiler that LZE_COMPILER names, else the best available one. */
static void tools_find(lua_State *L, Work *w, const char *name) {
  static bool (*const find[])(Work *) = {find_translator, find_clang,
                                         find_ocloc};
  const char *word = getenv("LZE_COMPILER");
  bool any = word == NULL || *word == '\0';
  for (w->way = WAY_TRANSLATOR; w->way < WAY_NONE; w->way++) {
    if (!any && strcmp(word, way_words[w->way]) != 0) continue;
    if (find[w->way](w)) return;
    if (w->interrupted) lua_error(L);
    const char *clang = secure_getenv("LZE_CLANG");
    if (!any && w->way == WAY_CLANG && clang != NULL && *clang != '\0')
      lze_fail_word(L, name, word, "NOT_FOUND", NULL, "LZE_CLANG is '%s', not "
                    "the absolute path of a clang that has the target spirv64. "
                    "%s", clang, install);
    if (!any)
      lze_fail_word(L, name, word, "NOT_FOUND", NULL,
                    "LZE_COMPILER is '%s', which is not there. %s", word,
                    install);
  }
  if (!any)
    luaL_error(L, "LZE_COMPILER is '%s' (known: llvm-spirv, clang, ocloc)",
               word);
  lze_fail_word(L, name, "clang", "NOT_FOUND", NULL, "%s", install);
}

/* A command line; its strings are anchored on the stack. */
typedef struct Arguments {
  char **v;
  size_t n, capacity;
} Arguments;

static void arguments_add(lua_State *L, Arguments *a, const char *s) {
  if (a->n + 1 >= a->capacity) luaL_error(L, "too many compiler options");
  a->v[a->n++] = (char *)s;
  a->v[a->n] = NULL;
}

/* Returns a new one and pushes its memory. [-0, +1] */
static Arguments arguments_new(lua_State *L) {
  enum { CAPACITY = 256 };
  return (Arguments){lua_newuserdatauv(L, (CAPACITY + 1) * sizeof(char *), 0),
                     0, CAPACITY};
}

/* Adds each string of the array in option `key` of the table at `t`, preceded
   by `before`. */
static void options_add(lua_State *L, int t, const char *key, Arguments *a,
                        const char *before) {
  if (!lze_opt_table(L, t, key)) return;
  int list = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  luaL_checkstack(L, 2 * (int)(n < 1000 ? n : 1000) + 10, "too many options");
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, list, i) != LUA_TSTRING)
      luaL_error(L, "option %s: item %d: string expected, got %s", key,
                 (int)i, lze_describe(L, -1));
    if (lze_has_zero(L, -1))
      luaL_error(L, "option %s: item %d: it contains a zero byte", key, (int)i);
    arguments_add(L, a, lua_pushfstring(L, "%s%s", before,
                                        lua_tostring(L, -1)));
  }
}

/* Returns true if a macro may have this name: NAME, or NAME(a, b). */
static bool macro_name(const char *s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (*s == '\0' || strchr(letters, *s) == NULL) return false;
  while (*s != '\0' &&
         (strchr(letters, *s) != NULL || (*s >= '0' && *s <= '9')))
    s++;
  const char *end = *s == '(' ? strchr(s, ')') : NULL;
  return *s == '\0' || (end != NULL && end[1] == '\0');
}

/* Writes the number at `index` as OpenCL C: with all digits, and with a point
   in any locale. */
enum { NUMBER_BYTES = 40 };
static void number_text(lua_State *L, int index, char text[NUMBER_BYTES]) {
  if (lua_isinteger(L, index)) {
    snprintf(text, NUMBER_BYTES, LUA_INTEGER_FMT,
             (LUAI_UACINT)lua_tointeger(L, index));
    return;
  }
  double v = lua_tonumber(L, index);
  if (isnan(v) || isinf(v)) {
    strcpy(text, isnan(v) ? "NAN" : v < 0 ? "(-INFINITY)" : "INFINITY");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, NUMBER_BYTES, "%.*g", digits, v);
    if (strtod(text, NULL) == v) break;
  }
  size_t point = strspn(text, "-+0123456789");
  if (text[point] == '\0') strcpy(text + point, ".0");
  else if (text[point] != 'e') text[point] = '.';
}

/* {NAME = value, ...}: adds -DNAME=value, sorted by name so that equal tables
   have the same cache key. */
static void defines_add(lua_State *L, int t, Arguments *a) {
  if (!lze_opt_table(L, t, "defines")) return;
  int table = lua_gettop(L);
  size_t first = a->n;
  for (lua_pushnil(L); lua_next(L, table);) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "option defines: names are strings, got %s",
                 lze_describe(L, -2));
    luaL_checkstack(L, 8, "too many defines");
    const char *name = lua_tostring(L, -2);
    if (!macro_name(name) || lze_has_zero(L, -2))
      luaL_error(L, "option defines: the name of a macro expected, got %s",
                 lze_describe(L, -2));
    switch (lua_type(L, -1)) {
      case LUA_TBOOLEAN:
        lua_pushfstring(L, lua_toboolean(L, -1) ? "-D%s=1" : "-U%s", name);
        break;
      case LUA_TNUMBER: {
        char text[NUMBER_BYTES];
        number_text(L, -1, text);
        lua_pushfstring(L, "-D%s=%s", name, text);
        break;
      }
      case LUA_TSTRING:
        if (lze_has_zero(L, -1))
          luaL_error(L, "option defines: %s: it contains a zero byte", name);
        lua_pushfstring(L, "-D%s=%s", name, lua_tostring(L, -1));
        break;
      default:
        luaL_error(L, "option defines: %s: string, number or boolean "
                      "expected, got %s", name, lze_describe(L, -1));
    }
    arguments_add(L, a, lua_tostring(L, -1));
    /* Move the string below the key; lua_next needs the key on the top. */
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

/* --- what can be cached -------------------------------------------------- */

/* Returns the length of a line splice (a backslash and line end that the
   preprocessor removes), or 0. */
static size_t splice_at(const char *p) {
  size_t n = *p == '\\' ? 1 : strncmp(p, "?\?/", 3) == 0 ? 3 : 0;
  if (n == 0) return 0;
  n += strspn(p + n, " \t\v\f\r");
  return p[n] == '\n' ? n + 1 : 0;
}

/* Skips blanks and comments. */
static const char *after_blanks(const char *p) {
  for (;;) {
    p += strspn(p, " \t\v\f\r");
    if (strncmp(p, "/*", 2) != 0) return p;
    p = strstr(p + 2, "*/");
    if (p == NULL) return "";
    p += 2;
  }
}

static bool starts(const char *s, const char *with) {
  return strncmp(s, with, strlen(with)) == 0;
}

/* Returns true if the result of compiling the text may depend on files that
   are not in the cache key, or on the time. [-0, +0] */
static bool text_depends(lua_State *L, const char *text) {
  static const char *const words[] = {"__has_include", "__has_embed",
                                      "__DATE__", "__TIME", NULL};
  char *line = lua_newuserdatauv(L, strlen(text) + 1, 0), *end = line;
  for (const char *p = text; *p != '\0';) {
    size_t splice = splice_at(p);
    if (splice == 0) *end++ = *p++;
    p += splice;
  }
  *end = '\0';
  bool depends = false;
  for (int i = 0; words[i] != NULL; i++)
    depends = depends || strstr(line, words[i]) != NULL;
  for (const char *p = line; *p != '\0' && !depends; p++) {
    size_t n = *p == '#' ? 1 : starts(p, "%:") ? 2 : starts(p, "?\?=") ? 3 : 0;
    if (n == 0) continue;
    const char *word = after_blanks(p + n);
    depends = starts(word, "include") || starts(word, "import") ||
              starts(word, "embed");
  }
  lua_pop(L, 1);
  return depends;
}

/* Returns true if a compiler option by itself reads no file. */
static bool option_reads_nothing(const char *option) {
  static const char *const known[] = {"-D", "-U", "-I", "-O", "-w", "-cl-",
                                      "-std=", NULL};
  for (int i = 0; known[i] != NULL; i++)
    if (starts(option, known[i])) return true;
  return (starts(option, "-W") || starts(option, "-f") ||
          starts(option, "-m")) && strpbrk(option, ",=/@") == NULL;
}

/* Returns true if the same source and options always give the same result. */
static bool is_cacheable(lua_State *L, const char *source,
                         const Arguments *options) {
  if (getenv("CCC_OVERRIDE_OPTIONS") != NULL || text_depends(L, source))
    return false;
  for (size_t i = 0; i < options->n; i++)
    if (!option_reads_nothing(options->v[i]) ||
        text_depends(L, options->v[i]))
      return false;
  return true;
}

/* Raises a compilation error. `tool` is the name that scripts use, independent
   of its file name. */
static int compile_fail(lua_State *L, const char *name, const char *tool,
                        Work *w, const char *message) {
  if (w->interrupted) lua_error(L);
  if (w->log.unstarted)
    return lze_fail_word(L, name, tool, "NOT_STARTED", w->log.text,
                         "the compiler cannot be started");
  return lze_fail_word(L, name, tool, "COMPILE_FAILED",
                       w->log.text != NULL ? w->log.text : "", "%s", message);
}

/* --- compiling ---------------------------------------------------------- */

static const char broken[] = "the source does not compile";
static const char untranslated[] =
    "the compiler's result cannot be translated";

/* Adds clang's arguments except those for input and output. Uses -O0 without
   optnone: llvm-spirv cannot always translate optimised code, and the device's
   compiler optimises. */
static void clang_arguments(lua_State *L, Work *w, const char *standard,
                            Arguments *a) {
  static const char *const fixed[] = {"-O0", "-Xclang", "-disable-O0-optnone",
                                      "-cl-kernel-arg-info",
                                      "-fno-discard-value-names", "-target",
                                      NULL};
  arguments_add(L, a, w->clang);
  for (int i = 0; fixed[i] != NULL; i++) arguments_add(L, a, fixed[i]);
  arguments_add(L, a, w->way == WAY_TRANSLATOR ? "spir64"
                                               : "spirv64v1.2-unknown-unknown");
  arguments_add(L, a, standard);
}

/* Runs clang with these arguments, plus `more` for this run only. */
static unsigned char *run_clang(lua_State *L, Work *w, Arguments *a,
                                const char *const *more, const void *input,
                                size_t input_size, size_t *size) {
  const size_t before = a->n;
  while (*more != NULL) arguments_add(L, a, *more++);
  unsigned char *made = work_run(w, a->v, input, input_size, size, &w->log);
  a->v[a->n = before] = NULL;
  return made;
}

/* LLVM's own SPIR-V writer drops the description of arguments, so we read
   clang's output between the two steps. */
static void compile_clang(lua_State *L, Work *w, const char *name,
                          Arguments *a, const char *input, size_t input_size,
                          size_t *size) {
  static const char *const bitcode[] = {"-c", "-emit-llvm", "-x", "cl", "-",
                                        "-o", "-", NULL};
  static const char *const text[] = {"-S", "-emit-llvm", "-x", "cl", "-",
                                     "-o", "-", NULL};
  static const char *const rest[] = {"-c", "-fintegrated-objemitter",
                                     "-Qunused-arguments", "-x", "ir", "-",
                                     "-o", "-", NULL};
  char *const translate[] = {
      w->translator, "--spirv-max-version=1.2",
      "--preserve-ocl-kernel-arg-type-metadata-through-string",
      "/proc/self/fd/0", "-o", "/proc/self/fd/1", NULL};
  const bool translated = w->way == WAY_TRANSLATOR;
  size_t llvm_size;
  w->llvm = run_clang(L, w, a, translated ? bitcode : text, input, input_size,
                      &llvm_size);
  if (w->llvm == NULL) compile_fail(L, name, "clang", w, broken);
  w->spirv = translated
                 ? work_run(w, translate, w->llvm, llvm_size, size, &w->log)
                 : run_clang(L, w, a, rest, w->llvm, llvm_size, size);
  if (w->spirv == NULL)
    compile_fail(L, name, translated ? "llvm-spirv" : "clang", w,
                 untranslated);
  if (!translated)
    lze_check_memory(L, argument_text_add((const char *)w->llvm, &w->spirv,
                                          size));
}

/* Pushes all options as one string, " -DA=1 -I/b", for a compiler that splits
   it at blanks. [-0, +1] */
static const char *options_join(lua_State *L, const Arguments *options,
                                const char *who) {
  luaL_Buffer b;
  for (size_t i = 0; i < options->n; i++)
    if (strpbrk(options->v[i], " \t\n") != NULL)
      luaL_error(L, "%s takes no option with white space ('%s')", who,
                 options->v[i]);
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < options->n; i++) {
    luaL_addchar(&b, ' ');
    luaL_addstring(&b, options->v[i]);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Adds ocloc's arguments. It requires a device even for SPIR-V, which does not
   depend on one: if the device is not Intel's, we name an old one that all its
   releases support. */
static void ocloc_arguments(lua_State *L, const lze_DeviceInfo *device,
                            const char *standard, const Arguments *options,
                            Arguments *a) {
  static const char *const fixed[] = {"ocloc", "compile", "-spv_only",
                                      "-file", "source.cl", NULL};
  for (int i = 0; fixed[i] != NULL; i++) arguments_add(L, a, fixed[i]);
  arguments_add(L, a, "-device");
  if (device->props.vendorId == 0x8086 &&
      device->props.type == ZE_DEVICE_TYPE_GPU) {
    char id[16];
    snprintf(id, sizeof id, "0x%04x", device->props.deviceId);
    arguments_add(L, a, lua_pushstring(L, id));
  } else {
    arguments_add(L, a, "tgllp");
    /* tgllp does not have fp64 */
    if (device->module.flags & ZE_DEVICE_MODULE_FLAG_FP64) {
      arguments_add(L, a, "-internal_options");
      arguments_add(L, a, "-cl-ext=+cl_khr_fp64");
    }
  }
  lua_pushfstring(L, "%s -cl-kernel-arg-info%s", standard,
                  options_join(L, options, "libocloc"));
  arguments_add(L, a, "-options");
  arguments_add(L, a, lua_tostring(L, -1));
}

static void compile_ocloc(lua_State *L, Work *w, const char *name,
                          Arguments *a, const char *input, size_t input_size,
                          size_t *size) {
  OclocInvoke invoke;
  OclocFree release;
  *(void **)&invoke = dlsym(w->ocloc, "oclocInvoke");
  *(void **)&release = dlsym(w->ocloc, "oclocFreeOutput");
  if (invoke == NULL || release == NULL)
    lze_fail_word(L, name, "libocloc.so", "NOT_FOUND", NULL,
                  "%s lacks oclocInvoke or oclocFreeOutput", w->clang);
  const uint8_t *source = (const uint8_t *)input;
  uint64_t length = input_size + 1; /* it reads up to the zero byte */
  const char *file = "source.cl";
  uint32_t count = 0;
  uint8_t **data = NULL;
  uint64_t *lengths = NULL;
  char **names = NULL;
  int status = invoke((unsigned)a->n, (const char **)a->v, 1, &source, &length,
                      &file, 0, NULL, NULL, NULL, &count, &data, &lengths,
                      &names);
  for (uint32_t i = 0; i < count; i++) {
    const char *dot = strrchr(names[i], '.');
    if (dot != NULL && strcmp(dot, ".log") == 0)
      tool_text_add(&w->log, "%.*s", (int)lengths[i], (const char *)data[i]);
    else if (dot != NULL && strcmp(dot, ".spv") == 0 && status == 0 &&
             w->spirv == NULL && (w->spirv = malloc(lengths[i])) != NULL)
      memcpy(w->spirv, data[i], *size = lengths[i]);
  }
  release(&count, &data, &lengths, &names);
  if (w->spirv == NULL) compile_fail(L, name, "libocloc.so", w, broken);
}

/* Reads the options std, defines, include and flags of the table at `t` (0: no
   table); stores all except std in `options`. Returns "-cl-std=...", or "" if
   neither the table nor `standard` gives one. The values pushed keep the
   strings alive. [-0, +n] */
static const char *options_read(lua_State *L, int t, const char *standard,
                                Arguments *options) {
  const char *given = lze_opt_string(L, t, "std");
  if (given != NULL) standard = given;
  if (standard != NULL) standard = lua_pushfstring(L, "-cl-std=%s", standard);
  defines_add(L, t, options);
  options_add(L, t, "include", options, "-I");
  options_add(L, t, "flags", options, "");
  return standard != NULL ? standard : "";
}

const char *lze_compile_flags(lua_State *L, int t) {
  int top = lua_gettop(L);
  Arguments options = arguments_new(L);
  const char *standard = options_read(L, t, NULL, &options);
  lua_pushfstring(L, "%s%s", standard,
                  options_join(L, &options, "the driver's compiler"));
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return lua_tostring(L, -1);
}

/* Called by lua_pcall with the name, the device, the work, the source, and nil
   or the table of options. Returns the SPIR-V and the log. */
static int compile_body(lua_State *L) {
  enum { NAME = 1, DEVICE, WORK, SOURCE, OPTIONS };
  const char *name = lua_touserdata(L, NAME);
  const lze_DeviceInfo *device = lua_touserdata(L, DEVICE);
  Work *w = lua_touserdata(L, WORK);
  const int t = lua_isnil(L, OPTIONS) ? 0 : OPTIONS;
  size_t source_size;
  const char *source = lua_tolstring(L, SOURCE, &source_size);
  Arguments options = arguments_new(L), a = arguments_new(L);
  const char *standard = options_read(L, t, "CL1.2", &options);
  tools_find(L, w, name);
  if (w->way == WAY_OCLOC) {
    ocloc_arguments(L, device, standard, &options, &a);
  } else {
    clang_arguments(L, w, standard, &a);
    for (size_t i = 0; i < options.n; i++) arguments_add(L, &a, options.v[i]);
  }

  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, source, source_size);
  cache_key_add(&key, name, strlen(name)); /* the log contains it */
  for (size_t i = 0; i < a.n; i++) cache_key_add(&key, a.v[i], strlen(a.v[i]));
  cache_key_add_file(&key, w->clang);
  cache_key_add_file(&key, w->translator);
  bool cacheable = is_cacheable(L, source, &options);
  const uint64_t start = lze_now_ns();
  size_t size = 0, log_size;
  if (cacheable) w->spirv = cache_read("spv", &key, &size);
  if (cacheable && w->spirv == NULL) {
    /* One process compiles it; others that need it wait. */
    w->lock = cache_lock(&key, TOOL_WAITING * TOOL_SECONDS, work_watch, w);
    if (w->interrupted) compile_fail(L, name, "clang", w, broken);
    w->spirv = cache_read("spv", &key, &size);
  }
  const bool found = w->spirv != NULL;
  if (found) {
    w->kept_log = cache_read("log", &key, &log_size);
    if (w->kept_log != NULL)
      tool_text_add(&w->log, "%.*s", (int)log_size, (char *)w->kept_log);
  } else {
    lze_expect_module(device->driver);
    /* Makes diagnostics use the user's line numbers and name. */
    lua_pushfstring(L, "#line 1 \"%s\"\n", name);
    lua_pushvalue(L, SOURCE);
    lua_concat(L, 2);
    size_t input_size;
    const char *input = lua_tolstring(L, -1, &input_size);
    (w->way == WAY_OCLOC ? compile_ocloc : compile_clang)(
        L, w, name, &a, input, input_size, &size);
    if (cacheable && w->log.size > 0)
      cache_write("log", &key, w->log.text, w->log.size);
    if (cacheable) cache_write("spv", &key, w->spirv, size);
  }
  if (lze_log_builds)
    lze_log_build(lua_pushfstring(L, "SPIR-V of %s", name), start, size,
                  found ? "from the cache" : "compiled");
  lua_pushlstring(L, (const char *)w->spirv, size);
  lua_pushstring(L, w->log.text != NULL ? w->log.text : "");
  return 2;
}

void lze_compile(lua_State *L, int source, int t, const char *name,
                 const lze_DeviceInfo *device) {
  luaL_checkstack(L, 8, NULL);
  Work *w = lua_newuserdatauv(L, sizeof *w, 0);
  int work = lua_gettop(L);
  *w = (Work){.L = L, .lock = -1};
  lua_rawgetp(L, LUA_REGISTRYINDEX, &work_key);
  lua_setmetatable(L, -2);
  lua_pushcfunction(L, compile_body);
  lua_pushlightuserdata(L, (void *)name);
  lua_pushlightuserdata(L, (void *)device);
  lua_pushvalue(L, work);
  lua_pushvalue(L, source);
  if (t != 0) lua_pushvalue(L, t);
  else lua_pushnil(L);
  int status = lua_pcall(L, 5, 2, 0);
  work_free(w);
  lua_remove(L, work);
  if (status != LUA_OK) lua_error(L);
}

/* lze.cache([clear]) -> {directory, entries, bytes}
   Describes the cache on disk (directory is nil if nothing can be cached);
   clear = "clear" first removes all entries. */
static int core_cache(lua_State *L) {
  lua_settop(L, 1);
  bool clear = !lua_isnil(L, 1);
  if (clear && (lua_type(L, 1) != LUA_TSTRING ||
                strcmp(lua_tostring(L, 1), "clear") != 0))
    lze_argerror(L, 1, lua_pushfstring(L, "\"clear\" expected, got %s",
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
  /* Copied first, so that nothing leaks if Lua runs out of memory. */
  char text[4096] = "";
  if (directory != NULL) snprintf(text, sizeof text, "%s", directory);
  free(directory);
  if (*text != '\0') {
    lua_pushstring(L, text);
    lua_setfield(L, -2, "directory");
  }
  return 1;
}

static const lze_Method functions[] = {
    {"cache", core_cache, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_compile(lua_State *L) {
  lze_new_hidden(L, work_gc);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &work_key);
  lze_set_methods(L, functions, 0);
}
