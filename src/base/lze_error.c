/*
 * lze_error.c - error objects, argument checks and waits that Lua can break.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_box.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "lze_open.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ERROR_TNAME "lze.error"

/* Results by name: those of specification 1.4 and the newer ones that a
   driver may return, by number where Debian 12's header lacks them. */
#define RESULTS(X)                                                           \
  X(0x0, SUCCESS)                                                            \
  X(0x1, NOT_READY)                                                          \
  X(0x70000001, ERROR_DEVICE_LOST)                                           \
  X(0x70000002, ERROR_OUT_OF_HOST_MEMORY)                                    \
  X(0x70000003, ERROR_OUT_OF_DEVICE_MEMORY)                                  \
  X(0x70000004, ERROR_MODULE_BUILD_FAILURE)                                  \
  X(0x70000005, ERROR_MODULE_LINK_FAILURE)                                   \
  X(0x70000006, ERROR_DEVICE_REQUIRES_RESET)                                 \
  X(0x70000007, ERROR_DEVICE_IN_LOW_POWER_STATE)                             \
  X(0x70010000, ERROR_INSUFFICIENT_PERMISSIONS)                              \
  X(0x70010001, ERROR_NOT_AVAILABLE)                                         \
  X(0x70020000, ERROR_DEPENDENCY_UNAVAILABLE)                                \
  X(0x70020001, WARNING_DROPPED_DATA)                                        \
  X(0x78000001, ERROR_UNINITIALIZED)                                         \
  X(0x78000002, ERROR_UNSUPPORTED_VERSION)                                   \
  X(0x78000003, ERROR_UNSUPPORTED_FEATURE)                                   \
  X(0x78000004, ERROR_INVALID_ARGUMENT)                                      \
  X(0x78000005, ERROR_INVALID_NULL_HANDLE)                                   \
  X(0x78000006, ERROR_HANDLE_OBJECT_IN_USE)                                  \
  X(0x78000007, ERROR_INVALID_NULL_POINTER)                                  \
  X(0x78000008, ERROR_INVALID_SIZE)                                          \
  X(0x78000009, ERROR_UNSUPPORTED_SIZE)                                      \
  X(0x7800000a, ERROR_UNSUPPORTED_ALIGNMENT)                                 \
  X(0x7800000b, ERROR_INVALID_SYNCHRONIZATION_OBJECT)                        \
  X(0x7800000c, ERROR_INVALID_ENUMERATION)                                   \
  X(0x7800000d, ERROR_UNSUPPORTED_ENUMERATION)                               \
  X(0x7800000e, ERROR_UNSUPPORTED_IMAGE_FORMAT)                              \
  X(0x7800000f, ERROR_INVALID_NATIVE_BINARY)                                 \
  X(0x78000010, ERROR_INVALID_GLOBAL_NAME)                                   \
  X(0x78000011, ERROR_INVALID_KERNEL_NAME)                                   \
  X(0x78000012, ERROR_INVALID_FUNCTION_NAME)                                 \
  X(0x78000013, ERROR_INVALID_GROUP_SIZE_DIMENSION)                          \
  X(0x78000014, ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)                        \
  X(0x78000015, ERROR_INVALID_KERNEL_ARGUMENT_INDEX)                         \
  X(0x78000016, ERROR_INVALID_KERNEL_ARGUMENT_SIZE)                          \
  X(0x78000017, ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE)                        \
  X(0x78000018, ERROR_INVALID_MODULE_UNLINKED)                               \
  X(0x78000019, ERROR_INVALID_COMMAND_LIST_TYPE)                             \
  X(0x7800001a, ERROR_OVERLAPPING_REGIONS)                                   \
  X(0x7800001b, WARNING_ACTION_REQUIRED)                                     \
  X(0x7800001c, ERROR_INVALID_KERNEL_HANDLE)                                 \
  X(0x7ffffffe, ERROR_UNKNOWN)

const char *lze_result_name(ze_result_t result) {
  static const struct {
    uint32_t code;
    const char *name;
  } results[] = {
#define X(code, name) {code, #name},
      RESULTS(X)
#undef X
  };
  for (size_t i = 0; i < sizeof results / sizeof *results; i++)
    if (results[i].code == (uint32_t)result) return results[i].name;
  return NULL;
}

/* What to say of a result where the driver says nothing better. */
static const char *result_sentence(ze_result_t result) {
  switch ((uint32_t)result) {
    case 0x70000001: return "the device hung, was reset or was removed";
    case 0x70000002: return "not enough host memory";
    case 0x70000003: return "not enough device memory";
    case 0x70000004: return "the driver could not build the module";
    case 0x70000005: return "the driver could not link the modules";
    case 0x78000001: return "no driver initialised";
    case 0x78000002: return "the driver does not support this version";
    case 0x78000003: return "the driver does not support this";
    case 0x78000009: return "the device does not support this size";
    case 0x7800000f: return "not a native binary of this device";
    case 0x78000018: return "the module imports what no module provides";
    default: return "the driver refused";
  }
}

/* Give the error object on the top of the stack that level's position. */
static void error_locate(lua_State *L, int level) {
  luaL_where(L, level);
  size_t length;
  const char *where = lua_tolstring(L, -1, &length);
  if (length >= 2) { /* luaL_where ends in ": " */
    lua_pushlstring(L, where, length - 2);
    lua_setfield(L, -3, "where");
  }
  lua_pop(L, 1);
}

void lze_error_locate(lua_State *L) {
  if (!lua_istable(L, -1) || !lua_getmetatable(L, -1)) return;
  luaL_getmetatable(L, ERROR_TNAME);
  bool ours = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  if (!ours) return;
  lua_pushliteral(L, "where");
  bool located = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 1);
  if (!located) error_locate(L, 1);
}

/* Raise {call, code, result, message, where, log, object}; the message is on
   the top of the stack. */
static _Noreturn void error_raise(lua_State *L, const char *object,
                                  const char *call, const char *code,
                                  lua_Integer result, const char *log) {
  lua_createtable(L, 0, 7);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  if (object != NULL) {
    lua_pushstring(L, object);
    lua_setfield(L, -2, "object");
  }
  lua_pushstring(L, call);
  lua_setfield(L, -2, "call");
  lua_pushstring(L, code);
  lua_setfield(L, -2, "code");
  if (result != 0) {
    lua_pushinteger(L, result);
    lua_setfield(L, -2, "result");
  }
  error_locate(L, 1 + lze_call_level(L));
  if (log != NULL && *log != '\0') {
    lua_pushstring(L, log);
    lua_setfield(L, -2, "log");
  }
  luaL_setmetatable(L, ERROR_TNAME);
  lua_error(L);
  __builtin_unreachable(); /* lua_error does not return, nor says so */
}

int lze_no_memory(lua_State *L) {
  luaL_error(L, "not enough memory");
  __builtin_unreachable();
}

void lze_check_memory(lua_State *L, bool good) {
  if (!good) lze_no_memory(L);
}

int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) {
  luaL_checkstack(L, 8, NULL);
  if (call == NULL) lze_no_memory(L);
  const char *own = NULL;
  /* Of what is not its call, the driver's last words are of another one. */
  bool asked = driver != NULL && driver->last_error != NULL &&
               strncmp(call, "ze", 2) == 0;
  if (asked && driver->last_error(driver->raw, &own) != ZE_RESULT_SUCCESS)
    own = NULL;
  /* A build log says the same and more. */
  if (own != NULL && (*own == '\0' || (log != NULL && *log != '\0')))
    own = NULL;
  if (format != NULL) {
    va_list arguments;
    va_start(arguments, format);
    lua_pushvfstring(L, format, arguments);
    va_end(arguments);
    if (own != NULL) {
      lua_pushfstring(L, " (%s)", own);
      lua_concat(L, 2);
    }
  } else {
    lua_pushstring(L, own != NULL ? own : result_sentence(result));
  }
  const char *code = lze_result_name(result);
  char number[16];
  if (code == NULL) {
    snprintf(number, sizeof number, "0x%x", (unsigned)result);
    code = number;
  }
  error_raise(L, object, call, code, (lua_Integer)(uint32_t)result,
                     log);
}

int lze_fail_word(lua_State *L, const char *object, const char *call,
                  const char *code, const char *log, const char *format,
                  ...) {
  luaL_checkstack(L, 8, NULL);
  va_list arguments;
  va_start(arguments, format);
  lua_pushvfstring(L, format, arguments);
  va_end(arguments);
  error_raise(L, object, call, code, 0, log);
}

static int error_tostring(lua_State *L) {
  static const struct {
    const char *key, *before, *after;
  } parts[] = {{"where", "", ": "}, {"object", "", ": "}, {"call", "", ": "},
               {"code", "", ": "},  {"message", "", ""},  {"log", "\n", ""}};
  lze_argexpected(L, lua_istable(L, 1), 1, "table");
  lua_settop(L, 1);
  lua_pushliteral(L, "");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (lua_getfield(L, 1, parts[i].key) == LUA_TSTRING) {
      lua_pushstring(L, parts[i].before);
      lua_insert(L, -2);
      lua_pushstring(L, parts[i].after);
      lua_concat(L, 4);
    } else {
      lua_pop(L, 1);
    }
  }
  return 1;
}

const char *lze_errno_name(int error) {
  const char *name = strerrorname_np(error);
  return name != NULL ? name : "EIO";
}

const char *lze_describe(lua_State *L, int index) {
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: {
      lua_pushvalue(L, index);
      const char *text = lua_tostring(L, -1);
      const char *kind = lua_isinteger(L, index) ? "integer" : "number";
      text = lua_pushfstring(L, "%s %s", kind, text);
      lua_remove(L, -2);
      return text;
    }
    case LUA_TSTRING: {
      size_t length;
      const char *s = lua_tolstring(L, index, &length);
      bool plain = length <= 24;
      for (size_t i = 0; plain && i < length; i++)
        plain = (unsigned char)s[i] >= ' ' && (unsigned char)s[i] < 127;
      if (plain) return lua_pushfstring(L, "string '%s'", s);
      return lua_pushfstring(L, "a string of %I bytes", (LUAI_UACINT)length);
    }
    case LUA_TNONE: return lua_pushliteral(L, "no value");
    case LUA_TUSERDATA: {
      const char *text = lze_describe_box(L, index);
      if (text != NULL) return text;
      if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
        return lua_tostring(L, -1);
      return lua_pushliteral(L, "userdata");
    }
    default: return lua_pushstring(L, luaL_typename(L, index));
  }
}

lua_Integer lze_check_integer(lua_State *L, int arg, const char *name) {
  int exact;
  lua_Integer n = lua_tointegerx(L, arg, &exact);
  if (!exact || lua_type(L, arg) != LUA_TNUMBER)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "%s: integer expected, got %s", name,
                                  lze_describe(L, arg)));
  return n;
}

lua_Integer lze_check_integer_or(lua_State *L, int arg, const char *name,
                                 lua_Integer otherwise) {
  if (lua_isnoneornil(L, arg)) return otherwise;
  return lze_check_integer(L, arg, name);
}

uint64_t lze_check_deadline(lua_State *L, int arg) {
  if (lua_isnoneornil(L, arg)) return UINT64_MAX;
  if (lua_type(L, arg) != LUA_TNUMBER)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "seconds: number expected, got %s",
                                  lze_describe(L, arg)));
  lua_Number seconds = lua_tonumber(L, arg);
  if (!(seconds >= 0))
    lze_argerror(L, arg, lua_pushfstring(L, "seconds: a number that is not "
                                             "negative expected, got %s",
                                          lze_describe(L, arg)));
  uint64_t now = lze_now_ns();
  /* Ten years are for ever, and far from overflow. */
  if (seconds > 3.2e8) return UINT64_MAX;
  return now + (uint64_t)(seconds * 1e9);
}

uint64_t lze_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As many instructions as a slice of a wait counts for. */
enum { HOOK_LOOPS = 10000 };

static int run_hook(lua_State *L) {
  lze_State *S = lze_state(L);
  /* A signal's handler sets that of the main thread, whichever runs: a
     coroutine without one runs it in its place, and a hook that removes itself
     does so from there. */
  lua_Hook lent = lua_gethook(L) == NULL ? lua_gethook(S->main) : NULL;
  if (lua_gethook(L) == NULL && lent == NULL) return LUA_OK;
  if (!lua_checkstack(L, LUA_MINSTACK)) return LUA_OK;
  if (lent != NULL)
    lua_sethook(L, lent, lua_gethookmask(S->main), lua_gethookcount(S->main));
  /* Calling a Lua function is what makes Lua run a hook of calls, returns or
     lines.  For one of counts that is as good as nothing: it loops there as
     often as the hook waits for, within bounds, as if the script had. */
  lua_Integer loops = 0;
  if (lua_gethookmask(L) == LUA_MASKCOUNT) loops = lua_gethookcount(L);
  if (loops > HOOK_LOOPS) loops = HOOK_LOOPS;
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->hook_ref);
  lua_pushinteger(L, loops);
  int status = lua_pcall(L, 1, 0, 0);
  if (lent != NULL && lua_gethook(L) == NULL)
    lua_sethook(S->main, NULL, 0, 0);
  else if (lent != NULL)
    lua_sethook(L, NULL, 0, 0);
  return status;
}

int lze_run_hook(lua_State *L) {
  lze_Pause pause = lze_guard_pause(L);
  int status = run_hook(L);
  lze_guard_resume(L, pause);
  return status;
}

void lze_open_error(lua_State *L) {
  static const lze_Method metamethods[] = {
      {"__tostring", error_tostring, LZE_HOT},
      {NULL, NULL, LZE_HOT}};
  luaL_newmetatable(L, ERROR_TNAME);
  lze_set_methods(L, metamethods, 0);
  lua_pop(L, 1);
}
