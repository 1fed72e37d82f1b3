/*
 * zocl_driver.c - initialisation, the drivers and their properties.
 * SPDX-License-Identifier: MIT
 */
#include "device/zocl_driver.h"
#include "base/zocl_hook.h"
#include "memory/zocl_memory.h"
#include "opencl/zocl_cl.h"
#include "opencl/zocl_lane.h"
#include "opencl/zocl_opencl.h"
#include "opencl/zocl_way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most this many OpenCL platforms are used. */
enum { MAX_DRIVERS = 8 };

static struct {
  pthread_mutex_t lock;
  bool tried;            /* initialisation was tried, with any outcome */
  uint32_t count;
  zocl_driver *drivers[MAX_DRIVERS];
  char why[512];         /* the reason if there are no drivers */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* zeInit or zeInitDrivers was called and succeeded. */
static atomic_bool initialised;

/* ------------------------------------------------------------------------
 * Initialisation.
 */

static void driver_free(zocl_driver *driver)
{
  if (driver->context != NULL) driver->cl->clReleaseContext(driver->context);
  free(driver->default_context);
  zocl_hierarchy_free(driver);
  free(driver);
}

/* Set options that PoCL 7 reads at each compilation.  By default it repeats a
   load after a loop or a barrier, although the element may have been written
   since; and it treats loops as if they had barriers, and then runs the code
   before them twice if a group has one work-item. */
static void pocl7_settle(void)
{
  setenv("POCL_PREGION_VALUE_REMAT", "0", 0);
  setenv("POCL_FORCE_PARALLEL_OUTER_LOOP", "0", 0);
}

/* Returns a driver for a platform, or NULL with the reason in
   zocl_last_error. */
static zocl_driver *driver_new(const zocl_platform *platform)
{
  zocl_driver *driver = zocl_handle_new(sizeof *driver);
  cl_device_id ids[64];
  cl_uint count = 0;
  if (driver == NULL) goto memory;
  driver->backend = &zocl_backend;
  driver->cl = platform->cl;
  driver->platform = platform->id;
  platform->cl->clGetPlatformInfo(platform->id, CL_PLATFORM_VERSION,
                                  sizeof driver->version - 1, driver->version,
                                  NULL);
  platform->cl->clGetPlatformInfo(platform->id, CL_PLATFORM_NAME,
                                  sizeof driver->name - 1, driver->name, NULL);
  /* Mesa holds an event's lock while it starts the event's work, and llvmpipe
     runs kernels at that point. */
  const bool mesa = strcmp(driver->name, "rusticl") == 0;
  driver->query_blocks = mesa || zocl_option.query_blocks;
  const char *pocl = strcasestr(driver->version, "pocl");
  if (pocl != NULL) driver->pocl = (unsigned)strtoul(pocl + 4, NULL, 10);
  if (pocl != NULL && driver->pocl == 0) driver->pocl = 1; /* unknown */
  if (driver->pocl >= 7) pocl7_settle();
  const char *llvm = strstr(driver->version, "LLVM ");
  if (llvm != NULL) driver->llvm = (unsigned)strtoul(llvm + 5, NULL, 10);
  if (platform->cl->clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, 64, ids,
                                   &count) != CL_SUCCESS || count == 0) {
    zocl_fail(0, "%s has no device%s", driver->name,
              mesa ? "; RUSTICL_ENABLE says which it shows, such as llvmpipe"
                   : "");
    goto fail;
  }
  if (count > 64) count = 64;
  driver->default_context = zocl_handle_new(sizeof *driver->default_context);
  if (driver->default_context == NULL) goto memory;
  driver->default_context->driver = driver;
  zocl_way_choose(driver, count, ids);
  for (cl_uint i = 0; i < count; i++) zocl_hierarchy_add(driver, ids[i]);
  if (driver->root_count == 0 || !zocl_hierarchy_show(driver)) goto fail;
  cl_device_id all[64 + ZOCL_MAX_PARTS];
  cl_context_properties properties[] = {
    CL_CONTEXT_PLATFORM, (cl_context_properties)platform->id, 0};
  cl_int error;
  driver->context = driver->cl->clCreateContext(
      properties,
      (cl_uint)zocl_hierarchy_ids(driver, all, sizeof all / sizeof *all), all,
      NULL, NULL, &error);
  if (driver->context == NULL) {
    zocl_cl_error(error, "clCreateContext");
    goto fail;
  }
  return driver;

memory:
  zocl_fail(0, "out of memory");
fail:
  if (driver != NULL) driver_free(driver);
  return NULL;
}

/* PoCL puts the private arrays of a group's work-items, and the values that
   they need after a barrier, on the stack of the thread that runs the group:
   this allows 16 KiB for each of 4096 work-items.  Unused stack takes no
   memory. */
enum { THREAD_STACK = 4096 * (16 << 10) };

/* Runs on its own thread: PoCL needs 70 KiB of stack to find its devices, which
   the caller's thread may not have (ulimit -s). */
static void initialise(void)
{
  zocl_platform platforms[MAX_DRIVERS];
  zocl_ext.initialise();
  zocl_fail(0, "no OpenCL device");
  const size_t stack = zocl_stack_raise(THREAD_STACK);
  size_t n = zocl_options_read() ? zocl_opencl_platforms(platforms, MAX_DRIVERS)
                               : 0;
  for (size_t i = 0; i < n; i++) {
    zocl_driver *driver = driver_new(&platforms[i]);
    if (driver != NULL) state.drivers[state.count++] = driver;
  }
  zocl_stack_restore(stack);
  if (state.count == 0)
    snprintf(state.why, sizeof state.why, "%s", zocl_last_error());
  else
    zocl_fork_watch();
}

/* Initialises once and stores the outcome, since OpenCL cannot be initialised
   again after a failure. */
static ze_result_t drivers_ready(void)
{
  if (zocl_forked())
    return zocl_fail(ZE_RESULT_ERROR_UNINITIALIZED,
                     "OpenCL does not survive fork: initialise Level Zero in "
                     "the child, not before it is forked");
  pthread_mutex_lock(&state.lock);
  if (!state.tried) {
    state.tried = true;
    if (!zocl_thread_run(initialise))
      snprintf(state.why, sizeof state.why, "no thread can be started");
  }
  pthread_mutex_unlock(&state.lock);
  if (state.count == 0)
    return zocl_fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s", state.why);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_drivers(uint32_t *count, zocl_driver **drivers)
{
  ze_result_t result = drivers_ready();
  if (result != ZE_RESULT_SUCCESS) return result;
  bool query = *count == 0 || drivers == NULL;
  if (query || *count > state.count) *count = state.count;
  if (query) return ZE_RESULT_SUCCESS;
  memcpy(drivers, state.drivers, *count * sizeof *drivers);
  return ZE_RESULT_SUCCESS;
}

/* A CPU stands in for a GPU: programs that request only GPUs, such as Intel's
   tests, accept any device that runs their kernels.  It is not an NPU. */
enum { TYPE_GPU = 0x1, TYPE_NPU = 0x2 };

ze_result_t zocl_Init(ze_init_flags_t flags)
{
  if (flags & ~(ze_init_flags_t)(TYPE_GPU | TYPE_NPU))
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (flags == TYPE_NPU)
    return zocl_fail(ZE_RESULT_ERROR_UNINITIALIZED, "there is no NPU here");
  ze_result_t result = drivers_ready();
  if (result == ZE_RESULT_SUCCESS) atomic_store(&initialised, true);
  return result;
}

ze_result_t zocl_InitDrivers(uint32_t *count, ze_driver_handle_t *drivers,
                             zocl_init_desc *desc)
{
  ZOCL_NEED_POINTER(count);
  ZOCL_NEED_POINTER(desc);
  if (desc->flags == 0 || (desc->flags & ~(uint32_t)(TYPE_GPU | TYPE_NPU) &&
                           desc->flags != UINT32_MAX))
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (!(desc->flags & TYPE_GPU)) {
    *count = 0;
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t result = zocl_drivers(count, drivers);
  if (result == ZE_RESULT_SUCCESS) atomic_store(&initialised, true);
  return result;
}

static ze_result_t initialised_check(void)
{
  if (atomic_load(&initialised)) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNINITIALIZED,
                   "neither zeInit nor zeInitDrivers has succeeded");
}

ze_result_t zocl_DriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
  ze_result_t result = initialised_check();
  if (result != ZE_RESULT_SUCCESS) return result;
  ZOCL_NEED_POINTER(count);
  return zocl_drivers(count, drivers);
}

/* ------------------------------------------------------------------------
 * The properties of a driver.
 */

/* The version that programs may expect.  README.md lists what is missing; these
   calls return UNSUPPORTED_FEATURE. */
#define API_VERSION ZE_MAKE_VERSION(1, 17)

#define GLOBAL_OFFSET_NAME "ZE_experimental_global_offset"
#define IMPORT_NAME "ZEX_driver_import_host_pointer"
#define HANDLES_NAME "ZEX_mem_ipc_handles"

static const struct {
  const char *name;
  uint32_t version;
} extensions[] = {
  {GLOBAL_OFFSET_NAME, ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_command_list_clone", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_event_pool_counter_based", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_event_query_timestamps", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_image_memory_properties", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_immediate_command_list_append", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_module_program", ZE_MAKE_VERSION(1, 0)},
  {"ZE_experimental_mutable_command_list", ZE_MAKE_VERSION(1, 1)},
  {"ZE_experimental_relaxed_allocation_limits", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_driver_ddi_handles", ZE_MAKE_VERSION(1, 1)},
  {"ZE_extension_event_query_kernel_timestamps", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_float_atomics", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_image_copy", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_image_query_alloc_properties", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_kernel_max_group_size_properties", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_memory_free_policies", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_linkage_inspection", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_record_replay_graph", ZE_MAKE_VERSION(1, 0)},
  {"ZE_extension_virtual_mem_readonly_properties", ZE_MAKE_VERSION(1, 0)},
  {IMPORT_NAME, ZE_MAKE_VERSION(1, 0)},
  {HANDLES_NAME, ZE_MAKE_VERSION(1, 0)},
};
enum { EXTENSIONS = sizeof extensions / sizeof *extensions };

static bool extension_is_there(const zocl_driver *driver, const char *name)
{
  if (strcmp(name, GLOBAL_OFFSET_NAME) == 0) return !driver->no_offsets;
  if (strcmp(name, IMPORT_NAME) == 0 || strcmp(name, HANDLES_NAME) == 0)
    return driver->memory->any_pointer;
  return true;
}

ze_result_t zocl_DriverGetApiVersion(ze_driver_handle_t driver,
                                     ze_api_version_t *version)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(version);
  *version = (ze_api_version_t)API_VERSION;
  return ZE_RESULT_SUCCESS;
}

/* ze_driver_ddi_handles_ext_properties_t */
enum { DDI_HANDLES_PROPERTIES = 0x20027, DDI_HANDLES_SUPPORTED = 0x1 };

ze_result_t zocl_DriverGetProperties(ze_driver_handle_t driver,
                                     ze_driver_properties_t *properties)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(properties);
  /* The UUID depends only on the OpenCL version and on this driver's
     version. */
  memset(&properties->uuid, 0, sizeof properties->uuid);
  uint64_t hash = 14695981039346656037u;
  for (const char *p = driver->version; *p != '\0'; p++)
    hash = (hash ^ (unsigned char)*p) * 1099511628211u;
  memcpy(properties->uuid.id, "lze zocl", 8);
  memcpy(properties->uuid.id + 8, &hash, 8);
  unsigned major = 0, minor = 0, patch = 0;
  sscanf(LZE_VERSION, "%u.%u.%u", &major, &minor, &patch);
  properties->driverVersion = major << 24 | minor << 16 | patch;
  ze_base_properties_t *next = properties->pNext;
  for (; next != NULL; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES)
      ((ze_driver_memory_free_ext_properties_t *)next)->freePolicies =
          ZOCL_FREE_POLICIES;
    else if ((int)next->stype == DDI_HANDLES_PROPERTIES)
      ((zocl_extension *)next)->value = DDI_HANDLES_SUPPORTED;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DriverGetIpcProperties(ze_driver_handle_t driver,
                                        ze_driver_ipc_properties_t *properties)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(properties);
  properties->flags = ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
  if (driver->memory->any_pointer)
    properties->flags |= ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_DriverGetExtensionProperties(
    ze_driver_handle_t driver, uint32_t *count,
    ze_driver_extension_properties_t *properties)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(count);
  uint32_t there[EXTENSIONS], all = 0;
  for (uint32_t i = 0; i < EXTENSIONS; i++)
    if (extension_is_there(driver, extensions[i].name)) there[all++] = i;
  if (zocl_is_query(count, all)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(properties);
  for (uint32_t i = 0; i < *count; i++) {
    memset(properties[i].name, 0, sizeof properties[i].name);
    strncpy(properties[i].name, extensions[there[i]].name,
            sizeof properties[i].name - 1);
    properties[i].version = extensions[there[i]].version;
  }
  return ZE_RESULT_SUCCESS;
}

/* `driver` may be NULL if initialisation failed, since no driver exists then.
   Each description is returned once, so that an old one is not taken for the
   description of a later error without one. */
ze_result_t zocl_DriverGetLastErrorDescription(ze_driver_handle_t driver,
                                               const char **text)
{
  if (state.count > 0) ZOCL_NEED_HANDLE(driver);
  return zocl_zerGetLastErrorDescription(text);
}

ze_context_handle_t zocl_DriverGetDefaultContext(ze_driver_handle_t driver)
{
  if (driver != NULL) return driver->default_context;
  zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "driver is null");
  return NULL;
}

/* ------------------------------------------------------------------------
 * The runtime functions, which use the default driver: the first.  The
 * identifier of a device is its index in the list that zeDeviceGet returns.
 */

/* Returns the default driver without locking; NULL before initialisation, with
   the reason in zocl_last_error. */
static zocl_driver *driver_default(void)
{
  return initialised_check() == ZE_RESULT_SUCCESS ? state.drivers[0] : NULL;
}

ze_result_t zocl_zerGetLastErrorDescription(const char **text)
{
  ZOCL_NEED_POINTER(text);
  *text = zocl_last_error_take();
  return ZE_RESULT_SUCCESS;
}

uint32_t zocl_zerTranslateDeviceHandleToIdentifier(ze_device_handle_t device)
{
  const zocl_driver *driver = driver_default();
  for (uint32_t i = 0; driver != NULL && i < driver->device_count; i++)
    if (driver->devices[i] == device) return i;
  if (driver != NULL)
    zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              "%s", device == NULL ? "device is null"
                                   : "the device is not one that zeDeviceGet "
                                     "returns for the default driver");
  return UINT32_MAX;
}

ze_device_handle_t zocl_zerTranslateIdentifierToDeviceHandle(
    uint32_t identifier)
{
  const zocl_driver *driver = driver_default();
  if (driver == NULL) return NULL;
  if (identifier < driver->device_count) return driver->devices[identifier];
  zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "there is no device %u: the default driver has %u", identifier,
            driver->device_count);
  return NULL;
}

ze_context_handle_t zocl_zerGetDefaultContext(void)
{
  zocl_driver *driver = driver_default();
  return driver != NULL ? driver->default_context : NULL;
}
