/*
 * lze_fail.c - Level Zero failures as error objects.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_fail.h"
#include "base/lze_error.h"
#include "device/lze_loader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The names of results: all of specification 1.4, and newer ones that a driver
   may return, as numbers because Debian 12's header lacks them. */
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

/* Returns the text for a result if the driver has no better description. */
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

int lze_fail(lua_State *L, const lze_Driver *driver, ze_result_t result,
             const char *object, const char *call, const char *log,
             const char *format, ...) {
  luaL_checkstack(L, 8, NULL);
  if (call == NULL) lze_no_memory(L);
  const char *own = NULL;
  /* If `call` is not a driver function, the driver's last error description
     belongs to a different call. */
  bool asked = driver != NULL && driver->last_error != NULL &&
               (strncmp(call, "ze", 2) == 0 || strncmp(call, "zocl", 4) == 0);
  if (asked && driver->last_error(driver->raw, &own) != ZE_RESULT_SUCCESS)
    own = NULL;
  /* A build log includes this description. */
  if (own != NULL && (*own == '\0' || (log != NULL && *log != '\0')))
    own = NULL;
  if (format != NULL) {
    va_list arguments;
    va_start(arguments, format);
    lze_push_text(L, format, arguments);
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
  lze_raise_error(L, object, call, code, (lua_Integer)(uint32_t)result, log);
}
