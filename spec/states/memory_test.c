/*
 * memory_test.c - everything lze can do, while memory runs out.
 * SPDX-License-Identifier: MIT
 *
 *   memory_test [POINTS]     fail POINTS allocations of each part of
 *                            everything.lua (default 12, and 6 with a
 *                            sanitizer; 0 means all)
 *
 * The n-th allocation of a part fails in one of three ways: a Lua allocation,
 * with Lua's second try after a collection; a Lua allocation and all later
 * ones, until the part has ended; or an allocation that lze itself requests
 * from the C library.  The part either does its work anyway or reports "not
 * enough memory".  Afterwards the state works, and when it is closed nothing is
 * left in the driver.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "lua_versions.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

typedef enum Mode { ONCE, ON, NATIVE, MODES } Mode;
static const char *const mode_names[] = {"one of Lua's", "Lua's from one on",
                                         "one of lze's own"};

/* --- allocations that fail ---------------------------------------------- */

static Mode mode;
static long left;             /* until the one that fails */
static long fails;            /* how many have failed since then */
static bool armed;

/* Returns true if this allocation fails; `tries` is how often it is tried. */
static bool fails_now(long tries) {
  if (!armed || left-- > 0) return false;
  if (mode != ON && fails >= tries) return false;
  fails++;
  return true;
}

/* Returns true for memory that Lua needs to call a function.  Lua retains a few
   of these blocks (struct CallInfo; for an object `old` would give the kind).
   A finalizer that cannot be called is lost, with 160 bytes of a storage, say,
   which LeakSanitizer reports; the driver's memory goes with the context. */
static bool is_call(const void *p, size_t old, size_t new) {
  enum { CALL_INFO = 64 };
  return SANITIZED && p == NULL && old == 0 && new == CALL_INFO;
}

static void *lua_allocate(void *unused, void *p, size_t old, size_t new) {
  (void)unused;
  if (new == 0) {
    free(p);
    return NULL;
  }
  bool grows = (p == NULL || new > old) && !is_call(p, old, new);
  if (grows && mode != NATIVE && fails_now(2)) return NULL;
  return realloc(p, new);
}

#if !SANITIZED
/* The code of lze.so, to recognise its own calls of the C library. */
static uintptr_t module_first, module_last;

static int module_find(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (slash == NULL || strcmp(slash, "/lze.so") != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD ||
        (info->dlpi_phdr[i].p_flags & PF_X) == 0)
      continue;
    module_first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    module_last = module_first + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

static bool native_fails(const void *caller) {
  uintptr_t from = (uintptr_t)caller;
  return mode == NATIVE && from >= module_first && from < module_last &&
         fails_now(1);
}

/* Called by the whole process, except the C library itself. */
#pragma GCC visibility push(default)
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t),
    *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  return native_fails(__builtin_return_address(0)) ? NULL
                                                   : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return native_fails(__builtin_return_address(0))
             ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size) {
  return native_fails(__builtin_return_address(0)) ? NULL
                                                   : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return native_fails(__builtin_return_address(0))
             ? NULL : __libc_memalign(alignment, size);
}
#pragma GCC visibility pop
#endif

/* --- the sweep ---------------------------------------------------------- */

static int failures;
static long points, tried, told, survived;
static const char *part_wanted;

static void failed(const char *part, long n, const char *what) {
  printf("not ok - %s, %s, allocation %ld: %s\n", part, mode_names[mode], n,
         what);
  fflush(stdout);
  failures++;
}

static const char works[] =
    "local lze = require 'lze'\n"
    "local x = lze.buffer('int', {1, 2, 3})\n"
    "lze.load 'kernels/spec.spv'.add(3, x, 1)\n"
    "assert(x[1] == 2 and x[3] == 4 and lze.wait(60))\n"
    "collectgarbage() collectgarbage()\n";

static void state_works(lua_State *L, const char *part, long n) {
  lua_pushvalue(L, lua_upvalueindex(1));
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) return;
  failed(part, n, lua_pushfstring(L, "it does not work again: %s",
                                  luaL_tolstring(L, -1, NULL)));
  lua_settop(L, 2);
}

/* Runs the part at 2 with the n-th allocation failing.  Returns the number of
   allocations, or -1 if one has failed. */
static long part_run(lua_State *L, const char *part, long n) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  left = n;
  fails = 0;
  armed = true;
  int status = lua_pcall(L, 0, 0, 0);
  armed = false;
  if (fails == 0 && status == LUA_OK) return n - left;
  tried += fails != 0;
  if (status == LUA_OK) {
    survived++;
  } else {
    const char *message = luaL_tolstring(L, -1, NULL);
    told++;
    if (fails == 0)
      failed(part, n, message);
    else if (!LUA_LOSES_MESSAGES &&
             strstr(message, "not enough memory") == NULL &&
             strstr(message, "not enough host memory") == NULL)
      failed(part, n, message);
  }
  state_works(L, part, n);
  return -1;
}

/* step(name, f), as everything.lua calls it; upvalue 1 is `works`. */
static int step(lua_State *L) {
  const char *part = luaL_checkstring(L, 1);
  if (part_wanted != NULL && strcmp(part, part_wanted) != 0) return 0;
  part_run(L, part, LONG_MAX); /* the second run finds caches filled */
  long count = part_run(L, part, LONG_MAX);
  if (count < 0) {
    failed(part, 0, "it fails by itself");
    return 0;
  }
  long stride = points == 0 || count <= points ? 1 : count / points;
  for (long n = 0; n < count; n += stride) part_run(L, part, n);
  if (part_run(L, part, LONG_MAX) < 0) failed(part, count, "not any more");
  return 0;
}

static void sweep(unsigned long (*leaked)(void)) {
  lua_State *L = lua_state_of(lua_allocate, NULL);
  if (L == NULL) abort();
  luaL_openlibs(L);
  if (luaL_loadstring(L, "return require 'spec.support.everything'") !=
          LUA_OK ||
      lua_pcall(L, 0, 1, 0) != LUA_OK) {
    failed("everything.lua", 0, lua_tostring(L, -1));
    lua_close(L);
    return;
  }
#if !SANITIZED
  dl_iterate_phdr(module_find, NULL);
  if (module_first == 0) abort();
#endif
  if (luaL_loadstring(L, works) != LUA_OK) abort();
  lua_pushcclosure(L, step, 1);
  tried = told = survived = 0;
  if (lua_pcall(L, 1, 0, 0) != LUA_OK)
    failed("everything.lua", 0, luaL_tolstring(L, -1, NULL));
  lua_close(L);
  printf("%s: %ld failed, %ld errors, %ld survived\n", mode_names[mode], tried,
         told, survived);
  if (leaked() != 0) failed("everything.lua", 0, "something was left");
}

int main(int argc, char **argv) {
  const char *build = getenv("LZE_TEST_BUILD");
  char path[4096], driver[4096];
  if (build == NULL) build = "build";
  points = argc > 1 ? atol(argv[1]) : SANITIZED ? 6 : 12;
  part_wanted = argc > 2 ? argv[2] : NULL;
  snprintf(path, sizeof path, "%s/spec/ze_fault.so", build);
  snprintf(driver, sizeof driver, "%s/libze_opencl.so", build);
  setenv("ZE_ENABLE_ALT_DRIVERS", path, 1);
  setenv("ZE_FAULT_DRIVER", driver, 1);
  void *fault = dlopen(path, RTLD_NOW);
  unsigned long (*leaked)(void) = NULL;
  if (fault != NULL) *(void **)&leaked = dlsym(fault, "ze_fault_leaked");
  if (leaked == NULL) {
    printf("not ok - %s\n", dlerror());
    if (fault != NULL) dlclose(fault);
    return EXIT_FAILURE;
  }
  for (mode = ONCE; mode < MODES; mode++)
    if (!SANITIZED || mode != NATIVE) sweep(leaked);
  printf("%s\n", failures == 0 ? "all passed" : "failed");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
