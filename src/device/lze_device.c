/*
 * lze_device.c - drivers, devices, and the choice of a device.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_device.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_show.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct DriverBox {
  lze_Box box;
  const lze_Driver *driver;
} DriverBox;

void lze_push_driver(lua_State *L, const lze_Driver *driver) {
  if (lze_push_cached(L, driver)) return;
  DriverBox *b = lze_push_box(L, lze_driver_kind, sizeof *b);
  b->driver = driver;
  lze_cache_box(L, driver);
}

static const lze_Driver *driver_check(lua_State *L) {
  return ((DriverBox *)lze_check_box(L, 1, lze_driver_kind))->driver;
}

static const char *version_text(lua_State *L, uint32_t version) {
  return lua_pushfstring(L, "%d.%d", (int)ZE_MAJOR_VERSION(version),
                         (int)ZE_MINOR_VERSION(version));
}

static int driver_tostring(lua_State *L) {
  const lze_Driver *d = driver_check(L);
  char version[16];
  snprintf(version, sizeof version, "0x%x", d->version);
  lua_pushfstring(L, "driver: %s, version %s, Level Zero %s", d->name, version,
                  version_text(L, d->api));
  return 1;
}

static int field_driver_name(lua_State *L) {
  lua_pushstring(L, driver_check(L)->name);
  return 1;
}

static int field_driver_version(lua_State *L) {
  lua_pushinteger(L, driver_check(L)->version);
  return 1;
}

static int field_driver_api(lua_State *L) {
  version_text(L, driver_check(L)->api);
  return 1;
}

static int field_driver_handle(lua_State *L) {
  lua_pushlightuserdata(L, driver_check(L)->handle);
  return 1;
}

static const lze_Method no_methods[] = {
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method driver_metamethods[] = {
    {"__tostring", driver_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field driver_fields[] = {{"name", field_driver_name},
                                          {"version", field_driver_version},
                                          {"api", field_driver_api},
                                          {"handle", field_driver_handle},
                                          {NULL, NULL}};

/* lze.drivers() -> array of drivers */
static int core_drivers(lua_State *L) {
  const lze_System *s = lze_system(L);
  lua_createtable(L, s->driver_count, 0);
  for (int i = 0; i < s->driver_count; i++) {
    lze_push_driver(L, &s->drivers[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lze_show_table(L);
  return 1;
}

typedef struct DeviceBox {
  lze_Box box;
  const lze_DeviceInfo *info;
  lze_Context *context;         /* owned, if the device belongs to a borrowed
                                   one; or NULL */
} DeviceBox;

/* Pushes a new userdata for the device at the pointer at 1. Runs in a guard: a
   borrowed context, and its devices with it, must not be freed before this
   userdata owns it. */
static int device_box(lua_State *L) {
  const lze_DeviceInfo *info = lua_touserdata(L, 1);
  DeviceBox *b = lze_push_box(L, lze_device_kind, sizeof *b);
  b->info = info;
  b->context = info->context;
  if (b->context != NULL) lze_own(&b->context->o);
  lze_cache_box(L, info);
  return 1;
}

void lze_push_device(lua_State *L, const lze_DeviceInfo *info) {
  if (lze_push_cached(L, info)) return;
  lua_pushcfunction(L, device_box);
  lua_pushlightuserdata(L, (void *)info);
  lze_call_guarded(L, 1, 1);
}

lze_Context *lze_push_borrowed_device(lua_State *L,
                                      const lze_DeviceInfo *info,
                                      ze_context_handle_t handle) {
  lze_configure(L);
  /* This userdata owns the context; the device of a default context would
     not. */
  DeviceBox *b = lze_push_box(L, lze_device_kind, sizeof *b);
  b->info = info->base;
  lze_Native *native = lze_native_foreign(info->driver, handle);
  if (native == NULL) lze_no_memory(L);
  if (native->driver != info->driver) {
    lze_native_unref(native);
    luaL_error(L, "option context: it is of another driver than the device");
  }
  b->context = lze_adopt_context(L, native);
  lze_push_device(L, lze_device_in(L, b->context, info));
  return b->context;
}

/* Only a device of a borrowed context owns anything. */
static int device_gc(lua_State *L) {
  DeviceBox *b = lze_check_box(L, 1, lze_device_kind);
  lze_Context *c = b->context;
  b->context = NULL;
  if (c != NULL) {
    b->info = b->info->base; /* the other would be freed with the context */
    lze_disown(&c->o);
  }
  return 0;
}

const lze_DeviceInfo *lze_test_device(lua_State *L, int index) {
  DeviceBox *b = lze_test_box(L, index, lze_device_kind);
  return b != NULL ? b->info : NULL;
}

const lze_DeviceInfo *lze_check_device(lua_State *L) {
  return ((DeviceBox *)lze_check_box(L, 1, lze_device_kind))->info;
}

uint32_t lze_device_units(const lze_DeviceInfo *d) {
  return d->props.numSlices * d->props.numSubslicesPerSlice *
         d->props.numEUsPerSubslice;
}

static bool device_is_software(const lze_DeviceInfo *d) {
  return d->props.type == ZE_DEVICE_TYPE_CPU;
}

static int device_tostring(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  lua_pushfstring(L, "device: %s (%s%s)", d->props.name, d->type,
                  d->parent != NULL ? " tile" : "");
  return 1;
}

/* Returns `other`, a tile or the parent of d, as a member of the same borrowed
   context if d belongs to one. */
static const lze_DeviceInfo *device_beside(lua_State *L,
                                           const lze_DeviceInfo *d,
                                           const lze_DeviceInfo *other) {
  return d->context != NULL ? lze_device_in(L, d->context, other) : other;
}

/* dev:subdevices() -> array of its tiles */
static int device_subdevices(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  lua_createtable(L, (int)d->tile_count, 0);
  for (uint32_t i = 0; i < d->tile_count; i++) {
    lze_push_device(L, device_beside(L, d, &d->tiles[i]));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lze_show_table(L);
  return 1;
}

/* The properties that dev:properties() shows: key, struct, member. */
#define PROPERTIES(X)                                                        \
  X("vendor_id", props, vendorId)                                            \
  X("device_id", props, deviceId)                                            \
  X("core_clock_mhz", props, coreClockRate)                                  \
  X("max_allocation_bytes", props, maxMemAllocSize)                          \
  X("max_hardware_contexts", props, maxHardwareContexts)                     \
  X("max_queue_priority", props, maxCommandQueuePriority)                    \
  X("threads_per_eu", props, numThreadsPerEU)                                \
  X("eu_simd_width", props, physicalEUSimdWidth)                             \
  X("eus_per_subslice", props, numEUsPerSubslice)                            \
  X("subslices_per_slice", props, numSubslicesPerSlice)                      \
  X("slices", props, numSlices)                                              \
  X("timer_hz", props, timerResolution)                                      \
  X("timestamp_bits", props, timestampValidBits)                             \
  X("kernel_timestamp_bits", props, kernelTimestampValidBits)                \
  X("max_group_size", compute, maxTotalGroupSize)                            \
  X("max_group_size_x", compute, maxGroupSizeX)                              \
  X("max_group_size_y", compute, maxGroupSizeY)                              \
  X("max_group_size_z", compute, maxGroupSizeZ)                              \
  X("max_group_count_x", compute, maxGroupCountX)                            \
  X("max_group_count_y", compute, maxGroupCountY)                            \
  X("max_group_count_z", compute, maxGroupCountZ)                            \
  X("local_bytes", compute, maxSharedLocalMemory)                            \
  X("max_argument_bytes", module, maxArgumentsSize)                          \
  X("printf_bytes", module, printfBufferSize)

/* The flags that it shows: key, struct, bit. */
#define FLAGS(X)                                                             \
  X("integrated", props, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED)                 \
  X("subdevice", props, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE)                   \
  X("ecc", props, ZE_DEVICE_PROPERTY_FLAG_ECC)                               \
  X("on_demand_paging", props, ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING)       \
  X("fp16", module, ZE_DEVICE_MODULE_FLAG_FP16)                              \
  X("fp64", module, ZE_DEVICE_MODULE_FLAG_FP64)                              \
  X("int64_atomics", module, ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)            \
  X("dp4a", module, ZE_DEVICE_MODULE_FLAG_DP4A)

ze_device_image_properties_t lze_device_images(lua_State *L,
                                               const lze_DeviceInfo *d) {
  ze_device_image_properties_t p = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
  ze_result_t r = ZE(zeDeviceGetImageProperties, d->handle, &p);
  if (r == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    return (ze_device_image_properties_t){.maxSamplers = 0};
  if (r != ZE_RESULT_SUCCESS)
    lze_fail(L, d->driver, r, NULL, "zeDeviceGetImageProperties", NULL, NULL);
  return p;
}

/* The image properties that it shows: key and member. */
#define IMAGES(X)                                                            \
  X("max_image_1d", maxImageDims1D)                                          \
  X("max_image_2d", maxImageDims2D)                                          \
  X("max_image_3d", maxImageDims3D)                                          \
  X("max_samplers", maxSamplers)                                             \
  X("max_read_images", maxReadImageArgs)                                     \
  X("max_write_images", maxWriteImageArgs)

static int field_subgroup_sizes(lua_State *L);

static int field_uuid(lua_State *L);

/* dev:properties() -> a plain table of the properties that the driver
   reports */
static int device_properties(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  lua_settop(L, 1);
  const ze_device_image_properties_t images = lze_device_images(L, d);
  lua_createtable(L, 0, 48);
#define X(key, part, member)                                                 \
  lua_pushinteger(L, (lua_Integer)d->part.member);                           \
  lua_setfield(L, 2, key);
  PROPERTIES(X)
#undef X
#define X(key, member)                                                       \
  lua_pushinteger(L, (lua_Integer)images.member);                            \
  lua_setfield(L, 2, key);
  IMAGES(X)
#undef X
#define X(key, part, flag)                                                   \
  lua_pushboolean(L, (d->part.flags & flag) != 0);                           \
  lua_setfield(L, 2, key);
  FLAGS(X)
#undef X
  lua_pushfstring(L, "%d.%d",
                  (int)ZE_MAJOR_VERSION(d->module.spirvVersionSupported),
                  (int)ZE_MINOR_VERSION(d->module.spirvVersionSupported));
  lua_setfield(L, 2, "spirv_version");
  lua_pushstring(L, d->props.name);
  lua_setfield(L, 2, "name");
  lua_pushstring(L, d->type);
  lua_setfield(L, 2, "type");
  lua_pushinteger(L, (lua_Integer)d->memory_bytes);
  lua_setfield(L, 2, "memory_bytes");
  field_subgroup_sizes(L);
  lua_setfield(L, 2, "subgroup_sizes");
  field_uuid(L);
  lua_setfield(L, 2, "uuid");
  lze_show_table(L);
  return 1;
}

bool lze_device_peers(const lze_DeviceInfo *device,
                      const lze_DeviceInfo *home) {
  ze_bool_t can = false;
  return device == home || (ZE(zeDeviceCanAccessPeer, device->handle,
                               home->handle, &can) == ZE_RESULT_SUCCESS &&
                            can);
}

/* dev:reaches(other) -> boolean: true if kernels on dev may access memory of
   the other device. */
static int device_reaches(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  const lze_DeviceInfo *other = lze_device_argument(L, 2, 2, "other");
  ze_bool_t reaches = 0;
  if (d->driver == other->driver) {
    ze_result_t r =
        ZE(zeDeviceCanAccessPeer, d->handle, other->handle, &reaches);
    if (r != ZE_RESULT_SUCCESS)
      lze_fail(L, d->driver, r, NULL, "zeDeviceCanAccessPeer", NULL, NULL);
  }
  lua_pushboolean(L, reaches);
  return 1;
}

/* dev:telemetry() -> table of the current readings of sysman */
static int device_telemetry(lua_State *L) {
  lze_push_telemetry(L, lze_check_device(L));
  return 1;
}

static int field_name(lua_State *L) {
  lua_pushstring(L, lze_check_device(L)->props.name);
  return 1;
}

static int field_type(lua_State *L) {
  lua_pushstring(L, lze_check_device(L)->type);
  return 1;
}

/* Vendors by PCI identifier. */
static int field_vendor(lua_State *L) {
  static const struct {
    uint32_t id;
    const char *name;
  } vendors[] = {{0x8086, "Intel"}, {0x1002, "AMD"}, {0x1022, "AMD"},
                 {0x10de, "NVIDIA"}, {0x13b5, "Arm"}, {0x5143, "Qualcomm"}};
  uint32_t id = lze_check_device(L)->props.vendorId;
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
    if (vendors[i].id == id) {
      lua_pushstring(L, vendors[i].name);
      return 1;
    }
  char number[16];
  snprintf(number, sizeof number, "0x%04x", id);
  lua_pushstring(L, number);
  return 1;
}

static int field_memory_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_check_device(L)->memory_bytes);
  return 1;
}

static int field_compute_units(lua_State *L) {
  lua_pushinteger(L, lze_device_units(lze_check_device(L)));
  return 1;
}

static int field_max_group_size(lua_State *L) {
  lua_pushinteger(L, lze_check_device(L)->compute.maxTotalGroupSize);
  return 1;
}

static int field_subgroup_sizes(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  uint32_t n = d->compute.numSubGroupSizes;
  if (n > ZE_SUBGROUPSIZE_COUNT) n = ZE_SUBGROUPSIZE_COUNT;
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushinteger(L, d->compute.subGroupSizes[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int field_fp64(lua_State *L) {
  lua_pushboolean(L, (lze_check_device(L)->module.flags &
                      ZE_DEVICE_MODULE_FLAG_FP64) != 0);
  return 1;
}

static int field_fp16(lua_State *L) {
  lua_pushboolean(L, (lze_check_device(L)->module.flags &
                      ZE_DEVICE_MODULE_FLAG_FP16) != 0);
  return 1;
}

static int field_uuid(lua_State *L) {
  const uint8_t *id = lze_check_device(L)->props.uuid.id;
  char text[2 * ZE_MAX_DEVICE_UUID_SIZE + 5], *p = text;
  for (int i = 0; i < ZE_MAX_DEVICE_UUID_SIZE; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
    p += sprintf(p, "%02x", id[i]);
  }
  lua_pushstring(L, text);
  return 1;
}

static int field_driver(lua_State *L) {
  lze_push_driver(L, lze_check_device(L)->driver);
  return 1;
}

static int field_context(lua_State *L) {
  lze_push_device_context(L, lze_check_device(L));
  return 1;
}

static int field_parent(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  if (d->parent != NULL)
    lze_push_device(L, device_beside(L, d, d->parent));
  else
    lua_pushnil(L);
  return 1;
}

static int field_software(lua_State *L) {
  lua_pushboolean(L, device_is_software(lze_check_device(L)));
  return 1;
}

static int field_device_handle(lua_State *L) {
  lua_pushlightuserdata(L, lze_check_device(L)->handle);
  return 1;
}

static const lze_Method device_methods[] = {
    {"subdevices", device_subdevices, LZE_GUARDED},
    {"properties", device_properties, LZE_GUARDED},
    {"telemetry", device_telemetry, LZE_GUARDED},
    {"reaches", device_reaches, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method device_metamethods[] = {
    {"__gc", device_gc, LZE_UNGUARDED},
    {"__tostring", device_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field device_fields[] = {
    {"name", field_name},
    {"type", field_type},
    {"vendor", field_vendor},
    {"memory_bytes", field_memory_bytes},
    {"compute_units", field_compute_units},
    {"max_group_size", field_max_group_size},
    {"subgroup_sizes", field_subgroup_sizes},
    {"fp64", field_fp64},
    {"fp16", field_fp16},
    {"uuid", field_uuid},
    {"driver", field_driver},
    {"context", field_context},
    {"parent", field_parent},
    {"software", field_software},
    {"handle", field_device_handle},
    {NULL, NULL}};

/* lze.devices([selector]) -> array of devices, GPUs first */
static int core_devices(lua_State *L) {
  lua_settop(L, 1);
  lze_select(L, 1, "selector");
  lze_show_table(L);
  return 1;
}

/* lze.device([selector]) -> the first match (no selector: the default) */
static int core_device(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lze_push_default_device(L);
    return 1;
  }
  lze_select(L, 1, "selector");
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) return lze_select_none(L, 1, "");
  return 1;
}

const lze_DeviceInfo *lze_default_device(lua_State *L) {
  lze_State *S = lze_state(L);
  if (S->device != NULL)
    return S->context != NULL && S->context->borrowed &&
                   !S->context->o.closed &&
                   S->context->driver == S->device->driver
               ? lze_device_in(L, S->context, S->device)
               : S->device;
  const char *wanted = getenv("LZE_DEVICE");
  int top = lua_gettop(L);
  if (wanted != NULL && *wanted != '\0')
    lua_pushstring(L, wanted);
  else
    lua_pushnil(L);
  lze_select(L, top + 1, "LZE_DEVICE");
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL)
    lze_select_none(L, top + 1, "LZE_DEVICE: ");
  S->device = lze_test_device(L, -1);
  lua_settop(L, top);
  return S->device;
}

const lze_DeviceInfo *lze_push_default_device(lua_State *L) {
  const lze_DeviceInfo *d = lze_default_device(L);
  lze_push_device(L, d);
  return d;
}

static bool is_selector(lua_State *L, int index) {
  int type = lua_type(L, index), whole = 0;
  if (type == LUA_TNUMBER) lua_tointegerx(L, index, &whole);
  return type == LUA_TSTRING || whole;
}

const lze_DeviceInfo *lze_device_at(lua_State *L, int index,
                                    const char *what) {
  const lze_DeviceInfo *d = lze_test_device(L, index);
  if (d != NULL) return d;
  if (!is_selector(L, index))
    luaL_error(L, "%s: device or selector expected, got %s", what,
               lze_describe(L, index));
  int top = lua_gettop(L);
  index = lua_absindex(L, index);
  lze_select(L, index, "selector");
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) lze_select_none(L, index, "");
  d = lze_test_device(L, -1);
  lua_settop(L, top);
  return d;
}

const lze_DeviceInfo *lze_device_argument(lua_State *L, int arg, int index,
                                          const char *what) {
  if (lze_test_device(L, index) == NULL && !is_selector(L, index))
    lze_argerror(L, arg, lua_pushfstring(L, "%s: device or selector expected, "
                                         "got %s", what,
                                         lze_describe(L, index)));
  return lze_device_at(L, index, what);
}

void lze_opt_place(lua_State *L, int given, int t,
                   const lze_DeviceInfo **device, lze_Context **context) {
  const lze_ContextBox *b = lze_opt_box(L, t, "context", lze_context_kind);
  lze_Context *c = b != NULL ? b->context : NULL;
  if (b != NULL && (c == NULL || c->o.closed))
    luaL_error(L, "option context: the context is closed");
  if (given != 0 && !lua_isnil(L, given))
    *device = lze_device_argument(L, given, given, "device");
  else if (t != 0 && lze_getoption(L, t, "device") != LUA_TNIL)
    *device = lze_device_at(L, -1, "option device");
  else if (c != NULL)
    *device = lze_context_device(L, c);
  else
    *device = lze_push_default_device(L);
  if (c == NULL)
    c = lze_push_device_context(L, *device);
  else if (c->driver != (*device)->driver)
    luaL_error(L, "option context: it is of another driver than the device");
  *context = c;
  *device = lze_device_in(L, c, *device);
}

void lze_set_default_device(lua_State *L, const lze_DeviceInfo *info) {
  lze_State *S = lze_state(L);
  if (info->context != NULL)
    lze_set_default_context(S, lze_device_context(L, info));
  S->device = info->base;
}

static const lze_Method functions[] = {
    {"devices", core_devices, LZE_GUARDED},
    {"device", core_device, LZE_GUARDED},
    {"drivers", core_drivers, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_device(lua_State *L) {
  lze_new_kind(L, lze_driver_kind, driver_metamethods, no_methods,
               driver_fields);
  lze_new_kind(L, lze_device_kind, device_metamethods, device_methods,
               device_fields);
  lze_set_methods(L, functions, 0);
}
