/*
 * lze_core.c - the module, its state, drivers, devices and contexts.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "lze.h"
#include "lze_open.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_kernel.h"
#include "run/lze_queue.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* --- the state ---------------------------------------------------------- */

static int state_gc(lua_State *L) {
  lze_State *S = lze_find_state(L);
  if (S == NULL || lua_touserdata(L, 1) != (void *)S || S->closed) return 0;
  lze_boxes_close(L);
  lze_state_close(L, S);
  return 0;
}

/* Made first, so that its finaliser comes after those of all objects. */
static void state_new(lua_State *L) {
  lze_State *S = lua_newuserdatauv(L, sizeof *S, 0);
  memset(S, 0, sizeof *S);
  S->hook_ref = S->cache_ref = S->module_ref = LUA_NOREF;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  S->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lze_gc_init(S);
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "an object of lze");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
  static const char hooked[] = "for _ = 1, ... do end";
  if (luaL_loadbufferx(L, hooked, sizeof hooked - 1, "=lze", "t") != LUA_OK)
    lua_error(L);
  S->hook_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  S->cache_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lze_boxes_open(L);
  lze_keep_state(L);
}

/* A userdata that shows something native, the same one for as long as a
   script holds it: push what the cache has for `key`, or return false. */
static bool cache_get(lua_State *L, const void *key) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->cache_ref);
  if (lua_rawgetp(L, -1, key) == LUA_TNIL) {
    lua_pop(L, 2);
    return false;
  }
  lua_remove(L, -2);
  return true;
}

/* Remember the userdata on the top. */
static void cache_set(lua_State *L, const void *key) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->cache_ref);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, key);
  lua_pop(L, 1);
}

/* --- contexts ----------------------------------------------------------- */

/* A device as one of a lent context. */
typedef struct lze_LentDevice {
  lze_DeviceInfo info;
  struct lze_LentDevice *next;
} LentDevice;

static void context_destroy(lze_Object *o) {
  lze_Context *c = (lze_Context *)o;
  lze_queues_drop(c);
  lze_events_destroy(c);
  lze_Context **link = &c->state->contexts;
  while (*link != c) link = &(*link)->next;
  *link = c->next;
  if (c->native != NULL) lze_native_unref(c->native);
  c->native = NULL;
  c->handle = NULL;
}

static void context_release(lze_Object *o) {
  lze_Context *c = (lze_Context *)o;
  while (c->devices != NULL) {
    LentDevice *d = c->devices;
    c->devices = d->next;
    free(d);
  }
}

static const lze_Class context_class = {"context", context_destroy,
                                        context_release};

/* A variable that is 1, or 0 or not set. */
static bool environment_flag(lua_State *L, const char *name) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0' || strcmp(value, "0") == 0) return false;
  if (strcmp(value, "1") != 0)
    luaL_error(L, "%s=%s: 0 or 1 expected", name, value);
  return true;
}

/* The variables that say how a state works, read when it first gets to. */
static void state_configure(lua_State *L, lze_State *S) {
  if (S->configured) return;
  S->system = lze_system(L);
  const char *policy = getenv("LZE_GROUP_POLICY");
  if (policy != NULL && *policy != '\0')
    S->policy = lze_check_policy(L, policy, "LZE_GROUP_POLICY");
  const char *groups = getenv("LZE_GROUP");
  if (groups != NULL && *groups != '\0' && S->groups == NULL) {
    lze_check_groups(L, groups);
    S->groups = strdup(groups);
    if (S->groups == NULL) lze_no_memory(L);
  }
  bool check = environment_flag(L, "LZE_CHECK");
  S->sync = environment_flag(L, "LZE_SYNC") || check;
  S->check = check;
  S->configured = true;
}

/* A context of a driver, with one owner, for `count` of its devices, or all; it
   takes over a reference to its native one. */
static lze_Context *context_over(lua_State *L, const lze_Driver *driver,
                                 const lze_DeviceInfo *const *devices,
                                 uint32_t count, lze_Native *native) {
  lze_State *S = lze_state(L);
  lze_Context *c = lze_object_new(&context_class,
                                  sizeof *c + count * sizeof *devices, NULL);
  if (c == NULL) {
    lze_native_unref(native);
    lze_no_memory(L);
  }
  c->o.context = c;
  c->state = S;
  c->driver = driver;
  c->native = native;
  c->handle = native->handle;
  c->device_count = count;
  for (uint32_t i = 0; i < count; i++) c->only[i] = devices[i];
  c->next = S->contexts;
  S->contexts = c;
  return c;
}

/* One of its own for some devices, or the one that states share. */
static lze_Context *context_new(lua_State *L, const lze_Driver *driver,
                                const lze_DeviceInfo *const *devices,
                                uint32_t count) {
  state_configure(L, lze_state(L));
  lze_Outcome out;
  lze_Native *native = count == 0
                           ? lze_native_shared(driver, &out)
                           : lze_native_new(driver, devices, count, &out);
  if (native == NULL)
    lze_fail(L, driver, out.result, NULL, out.call, NULL, NULL);
  return context_over(L, driver, devices, count, native);
}

/* Whether a context is for a device: it, or what it is a tile of. */
static bool context_has(const lze_Context *c, const lze_DeviceInfo *info) {
  if (c->driver != info->driver) return false;
  for (; info != NULL; info = info->parent)
    for (uint32_t i = 0; i < c->device_count; i++)
      if (c->only[i] == info->base) return true;
  return c->device_count == 0;
}

/* The context that devices of a driver have by default, if it was made. */
static lze_Context *context_standard(const lze_State *S,
                                     const lze_Driver *driver) {
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    if (c->is_default && !c->o.closed && c->driver == driver) return c;
  return NULL;
}

lze_Context *lze_device_context(lua_State *L, const lze_DeviceInfo *info) {
  lze_State *S = lze_state(L);
  if (info->context != NULL) {
    if (info->context->o.closed) luaL_error(L, "the context is closed");
    return info->context;
  }
  if (S->context != NULL && !S->context->o.closed &&
      context_has(S->context, info))
    return S->context;
  lze_Context *c = context_standard(S, info->driver);
  if (c != NULL) return c;
  c = context_new(L, info->driver, NULL, 0);
  c->is_default = true;
  return c;
}

const lze_DeviceInfo *lze_device_in(lua_State *L, lze_Context *context,
                                    const lze_DeviceInfo *info) {
  info = info->base;
  if (!context_has(context, info))
    luaL_error(L, "the context was made without this device: %s (%s)",
               info->props.name, info->type);
  if (!context->lent) return info;
  for (LentDevice *d = context->devices; d != NULL; d = d->next)
    if (d->info.base == info) return &d->info;
  LentDevice *d = malloc(sizeof *d);
  if (d == NULL) lze_no_memory(L);
  d->info = *info;
  d->info.context = context;
  d->next = context->devices;
  context->devices = d;
  return &d->info;
}

/* The context over a native one, with one owner more, which takes over a
   reference to it. */
static lze_Context *context_adopt(lua_State *L, lze_Native *native) {
  lze_State *S = lze_state(L);
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    if (c->native == native && !c->o.closed) {
      lze_native_unref(native);
      lze_own(&c->o);
      return c;
    }
  lze_Context *c = context_over(L, native->driver, NULL, 0, native);
  if (native->shared) { /* the state's default, made a bit early */
    c->is_default = true;
    lze_own(&c->o);
  } else {
    c->lent = true;
  }
  return c;
}

typedef struct ContextBox {
  lze_Box box;
  lze_Context *context;         /* NULL once finalised */
} ContextBox;

/* The box comes first: making it may run finalisers, which may close any
   context that nothing owns. */
lze_Context *lze_push_context(lua_State *L, lze_ContextGetter *get, void *of) {
  lze_Context *context = get(L, of);
  if (cache_get(L, context)) {
    const ContextBox *cached = lze_test_box(L, -1, lze_context_kind);
    if (cached != NULL && cached->context == context) return context;
    lua_pop(L, 1); /* of an older one at the same address */
  }
  ContextBox *b = lze_push_box(L, lze_context_kind, sizeof *b);
  context = get(L, of);
  b->context = context;
  lze_own(&context->o);
  cache_set(L, context);
  return context;
}

static lze_Context *context_of_device(lua_State *L, void *info) {
  return lze_device_context(L, *(const lze_DeviceInfo **)info);
}

lze_Context *lze_push_device_context(lua_State *L,
                                     const lze_DeviceInfo *info) {
  return lze_push_context(L, context_of_device, &info);
}

static lze_Context *context_check(lua_State *L, int arg) {
  ContextBox *b = lze_check_box(L, arg, lze_context_kind);
  if (b->context == NULL || b->context->o.closed)
    lze_closed(L, arg, lze_context_kind);
  return b->context;
}

/* The struct stays until __gc, for a call that a finaliser closes it in. */
static int context_close(lua_State *L) {
  ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  lze_Context *c = b->context;
  if (c == NULL || c->o.closed) return 0;
  lze_context_close(c);
  if (c->is_default) lze_disown(&c->o); /* the state's */
  return 0;
}

static int context_gc(lua_State *L) {
  ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  lze_Context *c = b->context;
  b->context = NULL;
  if (c != NULL) lze_disown(&c->o);
  return 0;
}

static int context_tostring(lua_State *L) {
  const ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  if (b->context == NULL || b->context->o.closed)
    lua_pushliteral(L, "context (closed)");
  else
    lua_pushfstring(L, "context of driver %d", b->context->driver->index + 1);
  return 1;
}

static int field_context_handle(lua_State *L) {
  lua_pushlightuserdata(L, context_check(L, 1)->handle);
  return 1;
}

static void driver_push(lua_State *L, const lze_Driver *driver);

static int field_context_driver(lua_State *L) {
  driver_push(L, context_check(L, 1)->driver);
  return 1;
}

static const lze_Method context_methods[] = {
    {"close", context_close, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method context_metamethods[] = {
    {"__gc", context_gc, LZE_HOT},
    {"__close", context_close, LZE_HOT},
    {"__tostring", context_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Field context_fields[] = {{"driver", field_context_driver},
                                           {"handle", field_context_handle},
                                           {NULL, NULL}};

/* --- drivers ------------------------------------------------------------ */

typedef struct DriverBox {
  lze_Box box;
  const lze_Driver *driver;
} DriverBox;

static void driver_push(lua_State *L, const lze_Driver *driver) {
  if (cache_get(L, driver)) return;
  DriverBox *b = lze_push_box(L, lze_driver_kind, sizeof *b);
  b->driver = driver;
  cache_set(L, driver);
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
    {NULL, NULL, LZE_HOT}};

static const lze_Method driver_metamethods[] = {
    {"__tostring", driver_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

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
    driver_push(L, &s->drivers[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* --- devices ------------------------------------------------------------ */

typedef struct DeviceBox {
  lze_Box box;
  const lze_DeviceInfo *info;
  lze_Context *context;         /* whose the device is, owned; or NULL */
} DeviceBox;

/* The userdata of the device that the one at 1 points at. */
static int device_box(lua_State *L) {
  const lze_DeviceInfo *info = lua_touserdata(L, 1);
  DeviceBox *b = lze_push_box(L, lze_device_kind, sizeof *b);
  b->info = info;
  b->context = info->context;
  if (b->context != NULL) lze_own(&b->context->o);
  cache_set(L, info);
  return 1;
}

/* A lent context must not go, with its devices, where making the box runs a
   finaliser that drops what kept it. */
void lze_push_device(lua_State *L, const lze_DeviceInfo *info) {
  if (cache_get(L, info)) return;
  lze_Context *c = info->context;
  lua_pushcfunction(L, device_box);
  lua_pushlightuserdata(L, (void *)info);
  if (c != NULL) lze_own(&c->o);
  int status = lua_pcall(L, 1, 1, 0);
  if (c != NULL) lze_disown(&c->o);
  if (status != LUA_OK) lua_error(L);
}

lze_Context *lze_push_lent_device(lua_State *L, const lze_DeviceInfo *info,
                                  ze_context_handle_t handle) {
  state_configure(L, lze_state(L));
  /* It owns the context, which the device of a default one does not. */
  DeviceBox *b = lze_push_box(L, lze_device_kind, sizeof *b);
  b->info = info->base;
  lze_Native *native = lze_native_foreign(info->driver, handle);
  if (native == NULL) lze_no_memory(L);
  if (native->driver != info->driver) {
    lze_native_unref(native);
    luaL_error(L, "option context: it is of another driver than the device");
  }
  b->context = context_adopt(L, native);
  lze_push_device(L, lze_device_in(L, b->context, info));
  return b->context;
}

/* Only a device of a lent context holds anything. */
static int device_gc(lua_State *L) {
  DeviceBox *b = lze_check_box(L, 1, lze_device_kind);
  lze_Context *c = b->context;
  b->context = NULL;
  if (c != NULL) {
    b->info = b->info->base; /* or it would die with the context */
    lze_disown(&c->o);
  }
  return 0;
}

const lze_DeviceInfo *lze_test_device(lua_State *L, int index) {
  DeviceBox *b = lze_test_box(L, index, lze_device_kind);
  return b != NULL ? b->info : NULL;
}

static const lze_DeviceInfo *device_check(lua_State *L) {
  return ((DeviceBox *)lze_check_box(L, 1, lze_device_kind))->info;
}

static uint32_t device_units(const lze_DeviceInfo *d) {
  return d->props.numSlices * d->props.numSubslicesPerSlice *
         d->props.numEUsPerSubslice;
}

static bool device_is_software(const lze_DeviceInfo *d) {
  return d->props.type == ZE_DEVICE_TYPE_CPU;
}

static int device_tostring(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  lua_pushfstring(L, "device: %s (%s%s)", d->props.name, d->type,
                  d->parent != NULL ? " tile" : "");
  return 1;
}

/* A tile or parent of d, in the same lent context where d is in one. */
static const lze_DeviceInfo *device_beside(lua_State *L,
                                           const lze_DeviceInfo *d,
                                           const lze_DeviceInfo *other) {
  return d->context != NULL ? lze_device_in(L, d->context, other) : other;
}

/* dev:subdevices() -> array of its tiles */
static int device_subdevices(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  lua_createtable(L, (int)d->tile_count, 0);
  for (uint32_t i = 0; i < d->tile_count; i++) {
    lze_push_device(L, device_beside(L, d, &d->tiles[i]));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* dev:memory() -> free_bytes, total_bytes
   Level Zero's core cannot tell what is free: free_bytes is the total less
   what this state uses there. */
static int device_memory(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  lua_pushinteger(L, (lua_Integer)lze_free_bytes(lze_state(L), d));
  lua_pushinteger(L, (lua_Integer)d->memory_bytes);
  return 2;
}

/* What dev:properties() shows: key, struct, member. */
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

/* Flags, likewise, with the bit. */
#define FLAGS(X)                                                             \
  X("integrated", props, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED)                 \
  X("subdevice", props, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE)                   \
  X("ecc", props, ZE_DEVICE_PROPERTY_FLAG_ECC)                               \
  X("on_demand_paging", props, ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING)       \
  X("fp16", module, ZE_DEVICE_MODULE_FLAG_FP16)                              \
  X("fp64", module, ZE_DEVICE_MODULE_FLAG_FP64)                              \
  X("int64_atomics", module, ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)            \
  X("dp4a", module, ZE_DEVICE_MODULE_FLAG_DP4A)

static int field_subgroup_sizes(lua_State *L);
static int field_uuid(lua_State *L);

/* dev:properties() -> what the driver reports, as one plain table */
static int device_properties(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  lua_settop(L, 1);
  lua_createtable(L, 0, 48);
#define X(key, part, member)                                                 \
  lua_pushinteger(L, (lua_Integer)d->part.member);                           \
  lua_setfield(L, 2, key);
  PROPERTIES(X)
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
  return 1;
}

/* dev:reaches(other) -> boolean: whether kernels on it may touch memory of the
   other device. */
static int device_reaches(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  const lze_DeviceInfo *other = lze_device_at(L, 2, "other");
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

/* dev:telemetry() -> table of what sysman tells just now */
static int device_telemetry(lua_State *L) {
  lze_push_telemetry(L, device_check(L));
  return 1;
}

static int field_name(lua_State *L) {
  lua_pushstring(L, device_check(L)->props.name);
  return 1;
}

static int field_type(lua_State *L) {
  lua_pushstring(L, device_check(L)->type);
  return 1;
}

/* Vendors by PCI identifier. */
static int field_vendor(lua_State *L) {
  static const struct {
    uint32_t id;
    const char *name;
  } vendors[] = {{0x8086, "Intel"}, {0x1002, "AMD"}, {0x1022, "AMD"},
                 {0x10de, "NVIDIA"}, {0x13b5, "Arm"}, {0x5143, "Qualcomm"}};
  uint32_t id = device_check(L)->props.vendorId;
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
  lua_pushinteger(L, (lua_Integer)device_check(L)->memory_bytes);
  return 1;
}

static int field_compute_units(lua_State *L) {
  lua_pushinteger(L, device_units(device_check(L)));
  return 1;
}

static int field_max_group_size(lua_State *L) {
  lua_pushinteger(L, device_check(L)->compute.maxTotalGroupSize);
  return 1;
}

static int field_subgroup_sizes(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
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
  lua_pushboolean(L, (device_check(L)->module.flags &
                      ZE_DEVICE_MODULE_FLAG_FP64) != 0);
  return 1;
}

static int field_fp16(lua_State *L) {
  lua_pushboolean(L, (device_check(L)->module.flags &
                      ZE_DEVICE_MODULE_FLAG_FP16) != 0);
  return 1;
}

static int field_uuid(lua_State *L) {
  const uint8_t *id = device_check(L)->props.uuid.id;
  char text[2 * ZE_MAX_DEVICE_UUID_SIZE + 5], *p = text;
  for (int i = 0; i < ZE_MAX_DEVICE_UUID_SIZE; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
    p += sprintf(p, "%02x", id[i]);
  }
  lua_pushstring(L, text);
  return 1;
}

static int field_driver(lua_State *L) {
  driver_push(L, device_check(L)->driver);
  return 1;
}

static int field_context(lua_State *L) {
  lze_push_device_context(L, device_check(L));
  return 1;
}

void lze_push_cached_queue(lua_State *L, lze_Context *context,
                           const lze_DeviceInfo *d) {
  const lze_Queue *q = lze_default_queue(L, context, d);
  if (cache_get(L, q)) {
    if (lze_test_queue(L, -1) == q) return;
    lua_pop(L, 1); /* of an older one at the same address */
  }
  cache_set(L, lze_push_default_queue(L, context, d));
}

static int field_queue(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  lze_push_cached_queue(L, lze_push_device_context(L, d), d);
  return 1;
}

static int field_parent(lua_State *L) {
  const lze_DeviceInfo *d = device_check(L);
  if (d->parent != NULL)
    lze_push_device(L, device_beside(L, d, d->parent));
  else
    lua_pushnil(L);
  return 1;
}

static int field_software(lua_State *L) {
  lua_pushboolean(L, device_is_software(device_check(L)));
  return 1;
}

static int field_device_handle(lua_State *L) {
  lua_pushlightuserdata(L, device_check(L)->handle);
  return 1;
}

static const lze_Method device_methods[] = {
    {"subdevices", device_subdevices, LZE_HOT},
    {"properties", device_properties, LZE_HOT},
    {"memory", device_memory, LZE_HOT},
    {"telemetry", device_telemetry, LZE_HOT},
    {"reaches", device_reaches, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method device_metamethods[] = {
    {"__gc", device_gc, LZE_HOT},
    {"__tostring", device_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

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
    {"queue", field_queue},
    {"parent", field_parent},
    {"software", field_software},
    {"handle", field_device_handle},
    {NULL, NULL}};

/* lze.devices([selector]) -> array of devices, GPUs first */
static int core_devices(lua_State *L) {
  lua_settop(L, 1);
  lze_select(L, 1, "selector");
  return 1;
}

/* Raise that no device matches; the selector is at `arg`, nil for none, and was
   found `where`, "" in an argument. */
static int device_none(lua_State *L, int arg, const char *where) {
  const lze_System *s = lze_system(L);
  bool all = lua_isnil(L, arg);
  lua_Integer n = s->device_count;
  int list = lua_gettop(L) + 1;
  if (!all) { /* what it could have chosen from */
    lua_pushnil(L);
    lze_select(L, list, "");
    lua_remove(L, list);
    n = (lua_Integer)lua_rawlen(L, list);
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  if (n == 0) luaL_addstring(&b, " none");
  for (lua_Integer i = 1; i <= n; i++) {
    const lze_DeviceInfo *d = &s->devices[i - 1];
    if (!all) {
      lua_rawgeti(L, list, i);
      d = lze_test_device(L, -1);
      lua_pop(L, 1);
    }
    lua_pushfstring(L, "%s %I: %s (%s%s)", i > 1 ? "," : "", (LUAI_UACINT)i,
                    d->props.name, d->type, d->parent != NULL ? " tile" : "");
    luaL_addvalue(&b);
  }
  const char *limit = getenv("ONEAPI_DEVICE_SELECTOR");
  if (limit != NULL && *limit != '\0') {
    lua_pushfstring(L, "; ONEAPI_DEVICE_SELECTOR=%s", limit);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  const char *text = lua_tostring(L, -1);
  if (all)
    return luaL_error(L, "there is no device; the drivers show:%s%s%s", text,
                      s->missing[0] != '\0' ? "; " : "", s->missing);
  return luaL_error(L, "%sno device matches %s; there is:%s%s", where,
                    lze_describe(L, arg), text,
                    lua_type(L, arg) == LUA_TSTRING &&
                            isdigit((unsigned char)*lua_tostring(L, arg))
                        ? " (numbers in a string count from 0)" : "");
}

/* lze.device([selector]) -> the first match (no selector: the default) */
static int core_device(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lze_push_default_device(L);
    return 1;
  }
  lze_select(L, 1, "selector");
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) return device_none(L, 1, "");
  return 1;
}

const lze_DeviceInfo *lze_default_device(lua_State *L) {
  lze_State *S = lze_state(L);
  if (S->device != NULL)
    return S->context != NULL && S->context->lent && !S->context->o.closed &&
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
    device_none(L, top + 1, "LZE_DEVICE: ");
  S->device = lze_test_device(L, -1);
  lua_settop(L, top);
  return S->device;
}

const lze_DeviceInfo *lze_push_default_device(lua_State *L) {
  const lze_DeviceInfo *d = lze_default_device(L);
  lze_push_device(L, d);
  return d;
}

const lze_DeviceInfo *lze_device_at(lua_State *L, int index,
                                    const char *what) {
  const lze_DeviceInfo *d = lze_test_device(L, index);
  if (d != NULL) return d;
  int type = lua_type(L, index), top = lua_gettop(L);
  if (type != LUA_TSTRING && type != LUA_TNUMBER)
    luaL_error(L, "%s: device or selector expected, got %s", what,
               lze_describe(L, index));
  index = lua_absindex(L, index);
  lze_select(L, index, "selector");
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) device_none(L, index, "");
  d = lze_test_device(L, -1);
  lua_settop(L, top);
  return d;
}

/* The one device that a context has; else the default device where the context
   has it, or its first: nobody is asked for what is told. */
static const lze_DeviceInfo *context_device(lua_State *L,
                                            const ContextBox *b) {
  const lze_Context *c = b->context;
  const lze_System *s = lze_system(L);
  uint32_t count = c->device_count;
  const lze_DeviceInfo *first = count > 0 ? c->only[0] : NULL;
  for (int i = 0; i < s->device_count && c->device_count == 0; i++)
    if (s->devices[i].driver == c->driver && count++ == 0)
      first = &s->devices[i];
  if (count == 1 && first->tile_count == 0) return first;
  const lze_DeviceInfo *standard = lze_default_device(L);
  /* A finaliser may have closed the context. */
  if (b->context == NULL || !context_has(b->context, standard)) return first;
  return standard;
}

void lze_opt_place(lua_State *L, int told, int t,
                   const lze_DeviceInfo **device, lze_Context **context) {
  const ContextBox *b = NULL;
  if (t != 0 && lze_getoption(L, t, "context") != LUA_TNIL) {
    b = lze_test_box(L, -1, lze_context_kind);
    if (b == NULL)
      luaL_error(L, "option context: context expected, got %s",
                 lze_describe(L, -1));
  }
  if (told != 0 && !lua_isnil(L, told))
    *device = lze_device_at(L, told, "device");
  else if (t != 0 && lze_getoption(L, t, "device") != LUA_TNIL)
    *device = lze_device_at(L, -1, "option device");
  else if (b != NULL && b->context != NULL)
    *device = context_device(L, b);
  else
    *device = lze_push_default_device(L);
  /* The context comes last, so that no finaliser runs in between. */
  if (b == NULL) {
    *context = lze_push_device_context(L, *device);
  } else {
    if (b->context == NULL || b->context->o.closed)
      luaL_error(L, "option context: the context is closed");
    *context = b->context;
    if (b->context->driver != (*device)->driver)
      luaL_error(L, "option context: it is of another driver than the device");
  }
  *device = lze_device_in(L, *context, *device);
}

/* --- the module --------------------------------------------------------- */

static void info_add(lua_State *L, luaL_Buffer *b) {
  (void)L;
  luaL_addvalue(b);
}

/* In a protected call: store the system and the default device. */
static int info_probe(lua_State *L) {
  const void **found = lua_touserdata(L, 1);
  const lze_System *s = lze_system(L);
  found[0] = s;
  if (s->device_count > 0) found[1] = lze_default_device(L);
  return 0;
}

/* In a protected call: the devices of lze.devices(). */
static int info_devices(lua_State *L) {
  lua_settop(L, 0);
  lua_pushnil(L);
  lze_select(L, 1, "");
  return 1;
}

/* What a person wants to know of a device after its name. */
static void info_device(lua_State *L, luaL_Buffer *b, const lze_DeviceInfo *d,
                        const char *note) {
  char memory[32];
  snprintf(memory, sizeof memory, "%.1f GiB",
           (double)d->memory_bytes / (1 << 30));
  lua_pushfstring(
      L,
      "%s (%s%s, driver %d)%s\n"
      "  %d compute unit%s, groups of up to %d, %s%s%s%s\n",
      d->props.name, d->type, d->parent != NULL ? " tile" : "",
      d->driver->index + 1, note, (int)device_units(d),
      device_units(d) == 1 ? "" : "s", (int)d->compute.maxTotalGroupSize,
      memory, d->module.flags & ZE_DEVICE_MODULE_FLAG_FP64 ? ", fp64" : "",
      d->module.flags & ZE_DEVICE_MODULE_FLAG_FP16 ? ", fp16" : "",
      d->driver->offsets ? "" : ", no global offsets");
  info_add(L, b);
  if (d->tile_count > 0) {
    lua_pushfstring(L, "  %d tile%s\n", (int)d->tile_count,
                    d->tile_count == 1 ? "" : "s");
    info_add(L, b);
  }
}

/* Whether a device or a tile of it is among those of the table at `list`. */
static bool info_lists(lua_State *L, int list, const lze_DeviceInfo *d) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  bool found = false;
  for (lua_Integer i = 1; i <= n && !found; i++) {
    lua_rawgeti(L, list, i);
    const lze_DeviceInfo *each = lze_test_device(L, -1);
    found = each == d || each->parent == d;
    lua_pop(L, 1);
  }
  return found;
}

/* lze.info() -> text for a person: drivers, devices, what is in force. */
static int core_info(lua_State *L) {
  enum { PROBLEM = 1, LIST };
  const lze_System *s = NULL;
  const lze_DeviceInfo *standard = NULL;
  const void *found[2] = {NULL, NULL};
  lua_settop(L, 0);
  /* What keeps devices away is what this is asked for: show it, not raise. */
  lua_pushcfunction(L, info_probe);
  lua_pushlightuserdata(L, found);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK)
    luaL_tolstring(L, -1, NULL);
  else
    lua_pushnil(L);
  lua_replace(L, PROBLEM);
  lua_settop(L, PROBLEM);
  const char *problem = lua_tostring(L, PROBLEM);
  s = found[0];
  standard = found[1];
  lua_pushcfunction(L, info_devices);
  if (s == NULL || lua_pcall(L, 0, 1, 0) != LUA_OK) {
    lua_newtable(L);
    lua_replace(L, LIST);
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "lze %s%s%s\n", LZE_VERSION,
                  s != NULL ? ", Level Zero through " : "",
                  s != NULL ? s->loader : "");
  info_add(L, &b);
  if (problem != NULL) {
    lua_pushfstring(L, "problem: %s\n", problem);
    info_add(L, &b);
  }
  static const lze_System nothing;
  if (s == NULL) s = &nothing;
  for (int i = 0; i < s->driver_count; i++) {
    const lze_Driver *d = &s->drivers[i];
    lua_pushfstring(L, "driver %d: %s, Level Zero %d.%d\n", i + 1, d->name,
                    (int)ZE_MAJOR_VERSION(d->api),
                    (int)ZE_MINOR_VERSION(d->api));
    info_add(L, &b);
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, LIST);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, LIST, i);
    const lze_DeviceInfo *d = lze_test_device(L, -1);
    lua_pop(L, 1);
    lua_pushfstring(L, "device %I: ", (LUAI_UACINT)i);
    info_add(L, &b);
    info_device(L, &b, d, d == standard ? ", the default" : "");
  }
  for (int i = 0; i < s->device_count; i++)
    if (!info_lists(L, LIST, &s->devices[i])) {
      luaL_addstring(&b, "left out: ");
      info_device(L, &b, &s->devices[i], ", by ONEAPI_DEVICE_SELECTOR");
    }
  if (s->device_count == 0) luaL_addstring(&b, "no device\n");
  for (const char *line = s->missing; *line != '\0';) {
    size_t length = strcspn(line, "\n");
    luaL_addstring(&b, "note: ");
    luaL_addlstring(&b, line, length);
    luaL_addchar(&b, '\n');
    line += length + (line[length] == '\n');
  }
  static const char *const variables[] = {
      "LZE_DEVICE", "LZE_SOFTWARE", "LZE_OPENCL", "LZE_GROUP_POLICY",
      "LZE_GROUP", "LZE_USE_IMMEDIATE_COMMANDLISTS", "LZE_SYNC", "LZE_CHECK",
      "LZE_LOG", "LZE_CACHE", "LZE_COMPILER", "LZE_CLANG", "LZE_BUILD_SECONDS",
      "ONEAPI_DEVICE_SELECTOR", "ZE_ENABLE_ALT_DRIVERS", "ZE_AFFINITY_MASK",
      "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_VALIDATION_LAYER",
      "ZE_ENABLE_PARAMETER_VALIDATION"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *value = getenv(variables[i]);
    if (value == NULL) continue;
    lua_pushfstring(L, "%s=%s\n", variables[i], value);
    info_add(L, &b);
  }
  luaL_pushresult(&b);
  return 1;
}

/* lze.type(v) -> "buffer", "device", ... or nil for what is not lze's */
static int core_type(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushstring(L, lze_box_kind(L, 1)); /* nil for NULL */
  return 1;
}

/* lze.context([device | selector | {device, ...}]) -> context
   Without a device the default one's shared context; with devices, which must
   be of one driver, a new one for these. */
static int core_context(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lze_push_device_context(L, lze_push_default_device(L));
    return 1;
  }
  bool several = lua_istable(L, 1);
  lua_Unsigned n = several ? lua_rawlen(L, 1) : 1;
  if (n == 0) return lze_argerror(L, 1, "devices: an empty table");
  if (n > (lua_Unsigned)lze_system(L)->total_devices)
    return lze_argerror(L, 1, "devices: more than there are");
  const lze_DeviceInfo **devices =
      lua_newuserdatauv(L, (size_t)n * sizeof *devices, 0);
  for (lua_Unsigned i = 0; i < n; i++) {
    if (several)
      lua_rawgeti(L, 1, (lua_Integer)i + 1);
    else
      lua_pushvalue(L, 1);
    devices[i] = lze_device_at(L, -1, several ? "devices" : "device")->base;
    lua_pop(L, 1);
    if (devices[i]->driver != devices[0]->driver)
      return lze_argerror(L, 1, "devices: they are of different drivers, "
                                 "which cannot share a context");
  }
  ContextBox *b = lze_push_box(L, lze_context_kind, sizeof *b);
  b->context = context_new(L, devices[0]->driver, devices, (uint32_t)n);
  cache_set(L, b->context);
  return 1;
}

static void state_set_context(lze_State *S, lze_Context *c) {
  lze_Context *old = S->context;
  lze_own(&c->o);
  S->context = c;
  if (old != NULL) lze_disown(&old->o);
}

void lze_set_default_device(lua_State *L, const lze_DeviceInfo *info) {
  lze_State *S = lze_state(L);
  if (info->context != NULL)
    state_set_context(S, lze_device_context(L, info));
  S->device = info->base;
}

/* lze.default([device | selector | queue | context]) -> device
   Sets what everything below uses when it is not told: the device, the
   context for devices of its driver, or the queue for its device and context.
   Returns the default device, with its context and queue. */
static int core_default(lua_State *L) {
  lua_settop(L, 1);
  lze_State *S = lze_state(L);
  lze_Queue *q = lze_test_queue(L, 1);
  if (lze_box_kind(L, 1) == lze_queue_kind) {
    q = lze_check_queue(L, 1);
    S->device = q->device->base;
    state_set_context(S, q->o.context);
    lze_set_default_queue(S, q);
    cache_set(L, q); /* the same object for dev.queue */
  } else if (lze_box_kind(L, 1) == lze_context_kind) {
    context_check(L, 1);
    const lze_DeviceInfo *d = context_device(L, lua_touserdata(L, 1));
    lze_Context *c = context_check(L, 1);
    S->device = d->base;
    state_set_context(S, c);
  } else if (!lua_isnil(L, 1)) {
    lze_set_default_device(L, lze_device_at(L, 1, "device, queue or context"));
  }
  const lze_DeviceInfo *d = lze_push_default_device(L);
  lze_push_cached_queue(L, lze_push_device_context(L, d), d);
  return 3;
}

/* Milliseconds of collecting are cheap beside running out of memory; these
   say when. lze.gc([{soft_limit_bytes = n, growth = f,
   close_seconds = s}]) -> table in force
   soft_limit_bytes: device memory below which none of it forces a collection;
   growth: how much more than what survived one the next limit is;
   close_seconds: how long the end of the state waits for the device. */
static int core_gc(lua_State *L) {
  static const char *const keys[] = {"soft_limit_bytes", "growth",
                                     "close_seconds", NULL};
  lua_settop(L, 1);
  lze_State *S = lze_state(L);
  if (!lua_isnil(L, 1)) {
    lze_argexpected(L, lua_istable(L, 1), 1, "table");
    lze_check_keys(L, 1, "lze.gc's options", keys);
    lua_Integer soft = lze_opt_integer(
        L, 1, "soft_limit_bytes", 0, LUA_MAXINTEGER,
        "an integer that is not negative", (lua_Integer)S->soft_limit);
    double growth = lze_opt_number(L, 1, "growth", 1, HUGE_VAL,
                                   "a number of at least 1", S->growth);
    /* A day is for ever to who waits for a program to end. */
    double seconds = lze_opt_number(L, 1, "close_seconds", 0, 86400,
                                    "a number from 0 to 86400",
                                    (double)S->close_ns / 1e9);
    S->soft_limit = S->limit = (size_t)soft;
    S->growth = growth;
    S->close_ns = (uint64_t)(seconds * 1e9);
  }
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)S->soft_limit);
  lua_setfield(L, -2, "soft_limit_bytes");
  lua_pushnumber(L, S->growth);
  lua_setfield(L, -2, "growth");
  lua_pushnumber(L, (double)S->close_ns / 1e9);
  lua_setfield(L, -2, "close_seconds");
  return 1;
}

/* lze.stats() -> {objects = {kind = n}, bytes, shared_bytes, device_bytes,
   host_bytes, peak_bytes, pinned, pinned_bytes, pending, in_flight, launches,
   collections}: native objects by kind, USM in use, in all and by usage, how
   much of it work in flight uses, how many objects are closed or dropped but
   still needed (pending), commands in flight, launches and collections that
   device memory forced, so far. */
static int core_stats(lua_State *L) {
  lze_State *S = lze_state(L);
  lze_reap(S);
  lua_Integer pending = 0, in_flight = 0, contexts = 0;
  lua_createtable(L, 0, 12);
  lua_newtable(L);
  for (lze_Context *c = S->contexts; c != NULL; c = c->next) {
    contexts++;
    for (lze_Queue *q = c->queues; q != NULL; q = q->next)
      in_flight += q->in_flight;
    for (lze_Object *o = c->objects; o != NULL; o = o->next) {
      lua_getfield(L, -1, o->cls->name);
      lua_pushinteger(L, lua_tointeger(L, -1) + 1);
      lua_setfield(L, -3, o->cls->name);
      lua_pop(L, 1);
      pending += o->pins != 0 && (o->closed || o->owners == 0);
    }
  }
  lua_pushinteger(L, contexts);
  lua_setfield(L, -2, "context");
  lua_setfield(L, -2, "objects");
  const lze_StorageCount storages = lze_count_storages(S);
  const struct {
    const char *key;
    lua_Integer value;
  } numbers[] = {{"bytes", (lua_Integer)S->bytes},
                 {"shared_bytes", (lua_Integer)storages.bytes[LZE_SHARED]},
                 {"device_bytes", (lua_Integer)storages.bytes[LZE_DEVICE]},
                 {"host_bytes", (lua_Integer)storages.bytes[LZE_HOST]},
                 {"peak_bytes", (lua_Integer)S->peak},
                 {"pinned", (lua_Integer)storages.pinned},
                 {"pinned_bytes", (lua_Integer)storages.pinned_bytes},
                 {"pending", pending},
                 {"in_flight", in_flight},
                 {"launches", (lua_Integer)S->launches},
                 {"collections", (lua_Integer)S->collections}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    lua_pushinteger(L, numbers[i].value);
    lua_setfield(L, -2, numbers[i].key);
  }
  return 1;
}

static const lze_Method functions[] = {
    {"devices", core_devices, LZE_HOT},
    {"device", core_device, LZE_HOT},
    {"drivers", core_drivers, LZE_HOT},
    {"context", core_context, LZE_HOT},
    {"default", core_default, LZE_HOT},
    {"gc", core_gc, LZE_HOT},
    {"stats", core_stats, LZE_HOT},
    {"info", core_info, LZE_HOT},
    {"type", core_type, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_core(lua_State *L) {
  lze_new_kind(L, lze_context_kind, context_metamethods, context_methods,
               context_fields);
  lze_new_kind(L, lze_driver_kind, driver_metamethods, no_methods,
               driver_fields);
  lze_new_kind(L, lze_device_kind, device_metamethods, device_methods,
               device_fields);
  lze_set_methods(L, functions, 0);
  lua_pushliteral(L, "lze " LZE_VERSION);
  lua_setfield(L, -2, "_VERSION");
  lua_pushliteral(L, LZE_VERSION);
  lua_setfield(L, -2, "version");
}

API int luaopen_lze(lua_State *L) {
  luaL_checkversion(L);
  lua_settop(L, 0);
  if (lze_find_state(L) == NULL) {
    state_new(L);
  } else if (lze_state(L)->module_ref != LUA_NOREF) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->module_ref);
    return 1;
  }
  lua_settop(L, 0);
  lua_newtable(L);
  lze_open_error(L);
  lze_open_core(L);
  lze_open_event(L);
  lze_open_queue(L);
  lze_open_memory(L);
  lze_open_module(L);
  lze_open_kernel(L);
  lze_open_spirv(L);
  lze_open_compile(L);
  lze_open_wrap(L);
  lze_open_graph(L);
  lze_open_tune(L);
  lze_open_plan(L);
  lze_open_share(L);
  lze_open_parallel(L);
  lze_open_capi(L);
  lua_pushvalue(L, 1);
  lze_state(L)->module_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return 1;
}
