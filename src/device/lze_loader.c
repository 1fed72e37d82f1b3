/*
 * lze_loader.c - the Level Zero loader, drivers and devices, process-wide.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_loader.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* These are process-wide because the loader is: it initialises once, and its
   drivers and devices stay the same until the process ends. */
lze_Functions lze_ze;
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;
static lze_System loader_system;
static enum { UNTRIED, READY, FAILED } loader_state;
static lze_Outcome loader_outcome; /* of the failed call */

bool lze_log_calls, lze_log_builds, lze_log_notes;

void lze_log_call(const char *name, ze_result_t result, uint64_t start_ns) {
  uint64_t now = lze_now_ns();
  const char *word = lze_result_name(result);
  char number[16];
  snprintf(number, sizeof number, "0x%x", (unsigned)result);
  fprintf(stderr, "lze: %12.6f %9.3f us %s %s\n", (double)start_ns / 1e9,
          (double)(now - start_ns) / 1e3, name, word != NULL ? word : number);
}

void lze_log_build(const char *name, uint64_t start_ns, size_t bytes,
                   const char *origin) {
  char size[32] = "";
  if (bytes > 0) snprintf(size, sizeof size, ", %zu bytes", bytes);
  /* Write it with one call, because other processes may share standard
     error. */
  fprintf(stderr, "lze: %12.6f %9.3f ms build %s%s: %s\n",
          (double)start_ns / 1e9, (double)(lze_now_ns() - start_ns) / 1e6, name,
          size, origin);
}

/* Stays open: some entry points are looked up later. */
static void *loader_library;

/* Entry points that some loaders lack. */
static ze_result_t (*loader_last_error)(ze_driver_handle_t, const char **);
static ze_result_t (*loader_translate)(int, void *, void **);

static const char alt_drivers[] = "ZE_ENABLE_ALT_DRIVERS";
static const char software_name[] = "libze_opencl.so";

/* The drivers that loaders from 1.8 to 1.32 look for themselves. A list in
   ZE_ENABLE_ALT_DRIVERS replaces theirs; names of missing files in it are
   skipped. */
static const char known_drivers[] =
    "libze_intel_gpu.so.1,libze_intel_gpu_legacy1.so.1,libze_intel_npu.so.1,"
    "libze_intel_vpu.so.1";

/* The host's settings. */
static char own_drivers[PATH_MAX];
static bool keep_environment;

/* Sets the driver directory. Returns false if it is too late, because drivers
   were already initialised, or if the name is invalid. */
bool lze_set_drivers(const char *directory) {
  if (directory == NULL) directory = "";
  if (strlen(directory) >= sizeof own_drivers ||
      strchr(directory, ',') != NULL)
    return false;
  pthread_mutex_lock(&loader_lock);
  bool early = loader_state == UNTRIED;
  if (early) strcpy(own_drivers, directory);
  pthread_mutex_unlock(&loader_lock);
  return early;
}

bool lze_set_environment(bool keep) {
  pthread_mutex_lock(&loader_lock);
  bool early = loader_state == UNTRIED;
  if (early) keep_environment = keep;
  pthread_mutex_unlock(&loader_lock);
  return early;
}

static void loader_note(lze_System *s, const char *format, const char *a) {
  size_t used = strlen(s->missing);
  if (used != 0 && used + 1 < sizeof s->missing) s->missing[used++] = '\n';
  if (used + 1 >= sizeof s->missing) return;
  snprintf(s->missing + used, sizeof s->missing - used, format, a);
  if (lze_log_notes) fprintf(stderr, "lze: note: %s\n", s->missing + used);
}

void lze_push_notes(lua_State *L) {
  static const char key;
  lze_push_kept_table(L, &key);
}

void lze_note(lua_State *L, const char *text) {
  if (lze_log_notes) fprintf(stderr, "lze: note: %s\n", text);
  lze_push_notes(L);
  lua_pushstring(L, text);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

/* Finds the path of the software driver: in the host's directory; next to this
   module, as in a build tree or with LuaRocks; where `make install` puts it,
   two directories up (lib/ seen from lib/lua/5.4/); or in ../lib/, for a
   program in bin/ that is linked with lze. Returns false if it is not in any
   of these places. */
static bool loader_software_near(char *path, size_t size) {
  if (*own_drivers != '\0') {
    int n = snprintf(path, size, "%s/%s", own_drivers, software_name);
    if (n > 0 && (size_t)n < size && access(path, R_OK) == 0) return true;
  }
  static const char *const places[] = {"", "../../", "../lib/"};
  char here[PATH_MAX];
  memcpy(here, library_path, sizeof here);
  char *slash = strrchr(here, '/');
  if (slash == NULL) return false;
  *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int n = snprintf(path, size, "%s/%s%s", here, places[i], software_name);
    if (n > 0 && (size_t)n < size && access(path, R_OK) == 0) return true;
  }
  return false;
}

/* Also looks where the system looks for libraries: a program linked with lze
   as lze.pc says has the path of the installed library. */
bool lze_software_path(char *path) {
  if (loader_software_near(path, PATH_MAX)) return true;
  void *driver = dlopen(software_name, RTLD_LAZY | RTLD_LOCAL);
  if (driver == NULL) return false;
  struct link_map *map;
  bool found = dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 &&
               realpath(map->l_name, path) != NULL;
  dlclose(driver);
  return found;
}

/* If our driver did not initialise, no handle exists to query the reason with,
   and the loader discards the reason. So query the driver's own table, as the
   loader does. The driver stays mapped (-z nodelete). */
static void loader_ask_software(lze_System *s, const char *path) {
  enum { ENTRIES = 64, LAST_ERROR = 6 }; /* in ze_driver_dditable_t of 1.6 */
  ze_result_t (*get_table)(uint32_t, void *);
  ze_result_t (*last_error)(ze_driver_handle_t, const char **);
  void *table[ENTRIES] = {NULL};
  const char *why = NULL;
  void *driver = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (driver == NULL) return;
  *(void **)&get_table = dlsym(driver, "zeGetDriverProcAddrTable");
  if (get_table != NULL &&
      get_table(ZE_MAKE_VERSION(1, 6), table) == ZE_RESULT_SUCCESS &&
      table[LAST_ERROR] != NULL) {
    *(void **)&last_error = table[LAST_ERROR];
    if (last_error(NULL, &why) == ZE_RESULT_SUCCESS && why != NULL &&
        *why != '\0') {
      snprintf(s->software, sizeof s->software, "%s", why);
      loader_note(s, "the software driver shows no device: %s", why);
    }
  }
  dlclose(driver);
}

/* Writes the list of drivers: each known driver, from the host's directory if
   it is there, then the software driver. */
static void loader_list(char *list, size_t size, const char *software) {
  char names[sizeof known_drivers], *rest, path[2 * PATH_MAX];
  size_t used = 0;
  memcpy(names, known_drivers, sizeof names);
  for (char *name = strtok_r(names, ",", &rest); name != NULL;
       name = strtok_r(NULL, ",", &rest)) {
    snprintf(path, sizeof path, "%s/%s", own_drivers, name);
    bool there = *own_drivers != '\0' && access(path, R_OK) == 0;
    used += (size_t)snprintf(list + used, size - used, "%s,",
                             there ? path : name);
  }
  snprintf(list + used, size - used, "%s", software);
}

/* Calls zeInit. The variable that lists the drivers is set only during the
   call; `own` is the user's value, or NULL. */
static ze_result_t loader_init_with(lze_System *s, const char *own) {
  const char *wanted = getenv("LZE_SOFTWARE");
  bool software = wanted == NULL || strcmp(wanted, "0") != 0;
  if (own != NULL) {
    loader_note(s, "the drivers are those of ZE_ENABLE_ALT_DRIVERS=%s", own);
    return ZE(zeInit, 0);
  }
  if (!software) {
    loader_note(s, "the software driver is kept out by LZE_SOFTWARE=%s",
                wanted);
    return ZE(zeInit, 0);
  }
  char path[PATH_MAX], list[6 * PATH_MAX];
  if (!lze_software_path(path)) {
    loader_note(s, "the software driver %s is not near lze nor where the "
                   "system looks for libraries", software_name);
    return ZE(zeInit, 0);
  }
  if (keep_environment) {
    loader_note(s, "the program forbids a change of the environment: set "
                   "ZE_ENABLE_ALT_DRIVERS=%s for the software driver", path);
    return ZE(zeInit, 0);
  }
  if (strchr(path, ',') != NULL) { /* the list cannot quote it */
    loader_note(s, "the software driver is kept out: its path %s has a comma",
                path);
    return ZE(zeInit, 0);
  }
  loader_list(list, sizeof list, path);
  if (setenv(alt_drivers, list, 1) != 0)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  ze_result_t r = ZE(zeInit, 0);
  unsetenv(alt_drivers);
  loader_ask_software(s, path);
  return r;
}

/* An empty variable counts as not set: with it, a loader would open the
   program itself as a driver. */
static ze_result_t loader_init(lze_System *s) {
  const char *own = getenv(alt_drivers);
  bool empty = own != NULL && *own == '\0';
  if (empty && !keep_environment) unsetenv(alt_drivers);
  ze_result_t r = loader_init_with(s, empty ? NULL : own);
  if (empty && !keep_environment) setenv(alt_drivers, "", 1);
  return r;
}

/* --- drivers and devices ------------------------------------------------ */

static const char *device_type(ze_device_type_t type) {
  switch (type) {
    case ZE_DEVICE_TYPE_GPU: return "gpu";
    case ZE_DEVICE_TYPE_CPU: return "cpu";
    case ZE_DEVICE_TYPE_FPGA: return "fpga";
    case ZE_DEVICE_TYPE_MCA: return "mca";
    case ZE_DEVICE_TYPE_VPU: return "npu";
    default: return "other";
  }
}

/* Returns the rank of a device in lze.devices(): GPUs first, CPUs last. */
static int device_rank(const lze_DeviceInfo *d) {
  if (d->props.type == ZE_DEVICE_TYPE_GPU)
    return d->props.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED ? 1 : 0;
  return d->props.type == ZE_DEVICE_TYPE_CPU ? 3 : 2;
}

static ze_result_t device_read(lze_DeviceInfo *d, const lze_Driver *driver,
                               ze_device_handle_t handle,
                               const lze_DeviceInfo *parent, int *index) {
  d->handle = handle;
  d->driver = driver;
  d->parent = parent;
  d->index = (*index)++;
  /* Since 1.2 this structure type requests cycles per second. */
  d->props.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  ze_result_t r = ZE(zeDeviceGetProperties, handle, &d->props);
  if (r != ZE_RESULT_SUCCESS) return r;
  d->props.name[sizeof d->props.name - 1] = '\0';
  d->type = device_type(d->props.type);
  d->compute.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  r = ZE(zeDeviceGetComputeProperties, handle, &d->compute);
  if (r != ZE_RESULT_SUCCESS) return r;
  d->module.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  r = ZE(zeDeviceGetModuleProperties, handle, &d->module);
  if (r != ZE_RESULT_SUCCESS) return r;

  ze_device_memory_properties_t memory[8];
  uint32_t count = 8;
  memset(memory, 0, sizeof memory);
  for (int i = 0; i < 8; i++)
    memory[i].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  r = ZE(zeDeviceGetMemoryProperties, handle, &count, memory);
  if (r != ZE_RESULT_SUCCESS) return r;
  for (uint32_t i = 0; i < count && i < 8; i++)
    d->memory_bytes += memory[i].totalSize;

  ze_command_queue_group_properties_t groups[16];
  count = 16;
  memset(groups, 0, sizeof groups);
  for (int i = 0; i < 16; i++)
    groups[i].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  r = ZE(zeDeviceGetCommandQueueGroupProperties, handle, &count, groups);
  if (r != ZE_RESULT_SUCCESS) return r;
  uint32_t compute = UINT32_MAX, copy = UINT32_MAX;
  for (uint32_t i = 0; i < count && i < 16; i++) {
    bool computes =
        groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    bool copies = groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    if (computes && compute == UINT32_MAX) compute = i;
    if (copies && !computes && copy == UINT32_MAX) copy = i;
  }
  d->ordinal = compute == UINT32_MAX ? 0 : compute;
  d->copy_ordinal = copy == UINT32_MAX ? d->ordinal : copy;
  d->queues = d->ordinal < 16 ? groups[d->ordinal].numQueues : 1;
  d->copy_queues = d->copy_ordinal < 16 ? groups[d->copy_ordinal].numQueues : 1;

  if (parent != NULL) return ZE_RESULT_SUCCESS;
  r = ZE(zeDeviceGetSubDevices, handle, &d->tile_count, NULL);
  if (r != ZE_RESULT_SUCCESS || d->tile_count == 0) {
    d->tile_count = 0; /* a driver without tiles may even fail here */
    return ZE_RESULT_SUCCESS;
  }
  ze_device_handle_t *handles = calloc(d->tile_count, sizeof *handles);
  d->tiles = calloc(d->tile_count, sizeof *d->tiles);
  if (handles == NULL || d->tiles == NULL) {
    free(handles);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  r = ZE(zeDeviceGetSubDevices, handle, &d->tile_count, handles);
  for (uint32_t i = 0; i < d->tile_count && r == ZE_RESULT_SUCCESS; i++)
    r = device_read(&d->tiles[i], driver, handles[i], d, index);
  free(handles);
  return r;
}

/* Returns the driver's own handle of an object, or NULL. `type` is a
   zel_handle_type_t. */
static void *handle_raw(int type, void *handle) {
  void *raw = handle;
  return loader_translate == NULL ||
                 loader_translate(type, handle, &raw) == ZE_RESULT_SUCCESS
             ? raw : NULL;
}

enum { HANDLE_DRIVER = 0, HANDLE_MODULE = 9, HANDLE_KERNEL = 11 };

/* Returns true if the loader wraps this driver's handles. A loader that has
   opened several drivers wraps them, even if only one driver could
   initialise. */
static bool driver_is_wrapped(ze_driver_handle_t handle) {
  void *raw = handle_raw(HANDLE_DRIVER, handle);
  return raw != NULL && raw != handle;
}

/* Finds the function that describes a driver's last error: through a loader
   that has the function, else from the driver itself, with the driver's own
   handle. */
static void driver_find_last_error(lze_Driver *d) {
  void *raw = d->handle;
  d->last_error = loader_last_error;
  if (d->last_error == NULL &&
      (raw = handle_raw(HANDLE_DRIVER, d->handle)) != NULL) {
    void *function = NULL;
    if (ZE(zeDriverGetExtensionFunctionAddress, d->handle,
           "zeDriverGetLastErrorDescription", &function) == ZE_RESULT_SUCCESS)
      *(void **)&d->last_error = function;
  }
  d->raw = raw;
}

/* Finds the functions of prepare.h; they stay NULL if this is not our
   driver. */
static void driver_find_prepare(lze_Driver *d) {
  const struct {
    const char *name;
    void **function;
  } own[] = {{"zoclKernelPrepare", (void **)&d->prepare},
             {"zoclKernelPrepareStart", (void **)&d->prepare_start},
             {"zoclModuleGetOrigin", (void **)&d->module_origin},
             {"zoclKernelSetDimensions", (void **)&d->dimensions},
             {"zoclDriverExpectModule", (void **)&d->expect_module}};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    void *function = NULL;
    if (ZE(zeDriverGetExtensionFunctionAddress, d->handle, own[i].name,
           &function) == ZE_RESULT_SUCCESS)
      *own[i].function = function;
  }
}

const char *lze_module_origin(const lze_Driver *d, ze_module_handle_t module,
                              bool cached) {
  prepare_origin origin = cached ? PREPARE_CACHED : PREPARE_COMPILED;
  void *raw = d->module_origin != NULL ? handle_raw(HANDLE_MODULE, module)
                                       : NULL;
  if (raw != NULL) (void)d->module_origin(raw, &origin);
  return origin == PREPARE_COMPILED ? "compiled"
         : origin == PREPARE_CACHED ? "from the cache"
                                    : "as before in this process";
}

void lze_set_dimensions(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t dimensions) {
  void *raw = d->dimensions != NULL ? handle_raw(HANDLE_KERNEL, kernel) : NULL;
  if (raw != NULL) (void)d->dimensions(raw, dimensions);
}

void lze_expect_module(const lze_Driver *d) {
  void *raw = d->expect_module != NULL ? handle_raw(HANDLE_DRIVER, d->handle)
                                       : NULL;
  if (raw == NULL) return;
  uint64_t start = lze_log_calls ? lze_now_ns() : 0;
  ze_result_t r = d->expect_module(raw);
  if (lze_log_calls) lze_log_call("zoclDriverExpectModule", r, start);
}

ze_result_t lze_prepare(const lze_Driver *d, ze_kernel_handle_t kernel,
                        uint32_t count, const prepare_launch *launches,
                        lze_Prepare how) {
  const bool start = how != LZE_PREPARE_WAIT;
  const bool can = start ? d->prepare_start != NULL : d->prepare != NULL;
  void *raw = can ? handle_raw(HANDLE_KERNEL, kernel) : NULL;
  if (raw == NULL) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  uint64_t begin = lze_log_calls ? lze_now_ns() : 0;
  ze_result_t r =
      start ? d->prepare_start(raw, count, launches,
                               how == LZE_PREPARE_CHEAPLY)
            : d->prepare(raw, count, launches);
  if (lze_log_calls) lze_log_call(lze_prepare_name(how), r, begin);
  return r;
}

const char *lze_prepare_name(lze_Prepare how) {
  return how == LZE_PREPARE_WAIT ? "zoclKernelPrepare"
                                 : "zoclKernelPrepareStart";
}

ze_result_t lze_append_lists(const lze_Driver *d,
                             ze_command_list_handle_t list, uint32_t count,
                             ze_command_list_handle_t *lists,
                             ze_event_handle_t signal, uint32_t wait_count,
                             ze_event_handle_t *waits) {
  uint64_t start = lze_log_calls ? lze_now_ns() : 0;
  ze_result_t r = d->append_lists(list, count, lists, signal, wait_count,
                                  waits);
  if (lze_log_calls)
    lze_log_call("zeCommandListImmediateAppendCommandListsExp", r, start);
  return r;
}

/* Finds the functions that return the owner of a native list or event, and the
   one that appends closed lists to a list: through a loader that has them,
   else from a driver whose handles the loader does not wrap. */
static void driver_find_newer(const lze_System *s, lze_Driver *d) {
  const struct {
    const char *name;
    void **function;
  } newer[] = {
      {"zeCommandListGetDeviceHandle", (void **)&d->list_device},
      {"zeCommandListGetContextHandle", (void **)&d->list_context},
      {"zeCommandListGetOrdinal", (void **)&d->list_ordinal},
      {"zeCommandListIsImmediate", (void **)&d->list_is_immediate},
      {"zeEventGetEventPool", (void **)&d->event_pool},
      {"zeEventPoolGetContextHandle", (void **)&d->pool_context},
      {"zeCommandListImmediateAppendCommandListsExp",
       (void **)&d->append_lists}};
  for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
    *newer[i].function = d->api >= ZE_MAKE_VERSION(1, 9)
                               ? dlsym(loader_library, newer[i].name)
                               : NULL;
    if (*newer[i].function == NULL && !s->wraps)
      ZE(zeDriverGetExtensionFunctionAddress, d->handle, newer[i].name,
         newer[i].function);
  }
  if (!d->appends_lists) d->append_lists = NULL;
}

static void driver_read(lze_Driver *d, ze_driver_handle_t handle, int index) {
  d->handle = handle;
  d->index = index;
  snprintf(d->name, sizeof d->name, "Level Zero");
  ze_api_version_t api = ZE_API_VERSION_1_0;
  ZE(zeDriverGetApiVersion, handle, &api);
  d->api = (uint32_t)api;
  ze_driver_properties_t props = {.stype =
                                      ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
  if (ZE(zeDriverGetProperties, handle, &props) == ZE_RESULT_SUCCESS)
    d->version = props.driverVersion;
  driver_find_last_error(d);
  driver_find_prepare(d);
  uint32_t count = 0;
  if (ZE(zeDriverGetExtensionProperties, handle, &count, NULL) !=
      ZE_RESULT_SUCCESS)
    return;
  ze_driver_extension_properties_t *all = calloc(count, sizeof *all);
  if (all != NULL && ZE(zeDriverGetExtensionProperties, handle, &count,
                        all) == ZE_RESULT_SUCCESS)
    for (uint32_t i = 0; i < count; i++) {
      if (strcmp(all[i].name, ZE_GLOBAL_OFFSET_EXP_NAME) == 0)
        d->offsets = lze_ze.zeKernelSetGlobalOffsetExp != NULL;
      if (strcmp(all[i].name,
                 "ZE_extension_kernel_max_group_size_properties") == 0)
        d->kernel_max = true;
      if (strcmp(all[i].name,
                 "ZE_experimental_immediate_command_list_append") == 0)
        d->appends_lists = true;
    }
  free(all);
}

/* Stable: devices of equal rank stay in the drivers' order. */
static void device_sort(lze_DeviceInfo *devices, int count) {
  for (int i = 1; i < count; i++)
    for (int j = i; j > 0 && device_rank(&devices[j]) <
                                 device_rank(&devices[j - 1]); j--) {
      lze_DeviceInfo d = devices[j];
      devices[j] = devices[j - 1];
      devices[j - 1] = d;
      for (uint32_t t = 0; t < devices[j].tile_count; t++)
        devices[j].tiles[t].parent = &devices[j];
      for (uint32_t t = 0; t < devices[j - 1].tile_count; t++)
        devices[j - 1].tiles[t].parent = &devices[j - 1];
    }
}

/* Adds a note about a failed device or driver; `format` has a %s for the
   reason. */
static void loader_note_result(lze_System *s, const char *format,
                               ze_result_t result) {
  char number[16];
  const char *word = lze_result_name(result);
  snprintf(number, sizeof number, "0x%x", (unsigned)result);
  loader_note(s, format, word != NULL ? word : number);
}

static ze_result_t loader_enumerate(lze_System *s) {
  static const char no_list[] =
      "a driver is left out: it does not list its devices (%s)";
  uint32_t count = 0;
  ze_result_t r = ZE(zeDriverGet, &count, NULL);
  if (r != ZE_RESULT_SUCCESS) return r;
  ze_driver_handle_t *handles = calloc(count + 1, sizeof *handles);
  s->drivers = calloc(count + 1, sizeof *s->drivers);
  if (handles == NULL || s->drivers == NULL)
    r = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  else
    r = ZE(zeDriverGet, &count, handles);
  uint32_t *per_driver = calloc(count + 1, sizeof *per_driver);
  if (per_driver == NULL) r = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  uint32_t total = 0;
  for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++) {
    driver_read(&s->drivers[i], handles[i], (int)i);
    ze_result_t listed = ZE(zeDeviceGet, handles[i], &per_driver[i], NULL);
    if (listed != ZE_RESULT_SUCCESS) {
      per_driver[i] = 0;
      loader_note_result(s, no_list, listed);
    }
    total += per_driver[i];
  }
  if (r == ZE_RESULT_SUCCESS) {
    const char *intercept = getenv("ZE_ENABLE_LOADER_INTERCEPT");
    s->wraps = count > 1 ||
               (intercept != NULL && strcmp(intercept, "1") == 0) ||
               (count == 1 && driver_is_wrapped(handles[0]));
    s->driver_count = (int)count;
    s->devices = calloc(total + 1, sizeof *s->devices);
    ze_device_handle_t *devices = calloc(total + 1, sizeof *devices);
    if (s->devices == NULL || devices == NULL)
      r = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++) {
      uint32_t n = per_driver[i];
      if (n == 0) continue;
      ze_result_t listed = ZE(zeDeviceGet, handles[i], &n, devices);
      if (listed != ZE_RESULT_SUCCESS) {
        loader_note_result(s, no_list, listed);
        continue;
      }
      for (uint32_t j = 0; j < n && r == ZE_RESULT_SUCCESS; j++) {
        lze_DeviceInfo *d = &s->devices[s->device_count];
        ze_result_t read = device_read(d, &s->drivers[i], devices[j], NULL,
                                       &s->total_devices);
        if (read == ZE_RESULT_SUCCESS) {
          s->device_count++;
          snprintf(s->drivers[i].name, sizeof s->drivers[i].name, "%s",
                   d->props.type == ZE_DEVICE_TYPE_CPU ? "software (OpenCL)"
                   : d->props.vendorId == 0x8086       ? "Intel"
                                                       : "Level Zero");
        } else {
          loader_note_result(s, "a device is left out: its properties cannot "
                                "be read (%s)", read);
          memset(d, 0, sizeof *d);
        }
      }
    }
    free(devices);
  }
  free(per_driver);
  free(handles);
  if (r != ZE_RESULT_SUCCESS) return r;
  device_sort(s->devices, s->device_count);
  for (int i = 0; i < s->device_count; i++) {
    lze_DeviceInfo *d = &s->devices[i];
    d->base = d;
    for (uint32_t t = 0; t < d->tile_count; t++)
      d->tiles[t].base = &d->tiles[t];
  }
  for (uint32_t i = 0; i < count; i++) driver_find_newer(s, &s->drivers[i]);
  return r;
}

void *lze_loader_symbol(const char *name) {
  return dlsym(loader_library, name);
}

static bool loader_sysman;

bool lze_sysman_enabled(void) { return loader_sysman; }

/* --- opening ------------------------------------------------------------ */

/* Looks up all entry points. Returns the name of one that the loader lacks, or
   NULL. */
static const char *loader_resolve(void *library) {
  lze_Functions f;
#define X(name)                                                              \
  if ((*(void **)&f.name = dlsym(library, #name)) == NULL) return #name;
  LZE_FUNCTIONS(X)
#undef X
  *(void **)&f.zeKernelSetGlobalOffsetExp =
      dlsym(library, "zeKernelSetGlobalOffsetExp");
  *(void **)&loader_last_error =
      dlsym(library, "zeDriverGetLastErrorDescription");
  *(void **)&loader_translate = dlsym(library, "zelLoaderTranslateHandle");
  lze_ze = f;
  loader_library = library;
  return NULL;
}

/* Reads LZE_LOG, a list of words separated by commas; on an error, returns
   false and the message. */
static bool loader_read_log(char *wrong, size_t size) {
  static const struct {
    const char *word;
    bool *on;
  } words[] = {{"calls", &lze_log_calls},
               {"builds", &lze_log_builds},
               {"notes", &lze_log_notes}};
  enum { WORDS = sizeof words / sizeof *words };
  const char *list = getenv("LZE_LOG");
  bool on[WORDS] = {false};
  for (size_t n; list != NULL && *list != '\0'; list += n + (list[n] == ',')) {
    n = strcspn(list, ",");
    size_t i = 0;
    while (i < WORDS && (strlen(words[i].word) != n ||
                         strncmp(list, words[i].word, n) != 0))
      i++;
    if (i < WORDS) on[i] = true;
    if (i < WORDS || n == 0) continue;
    snprintf(wrong, size,
             "LZE_LOG: unknown word '%.*s' (known: calls, builds, notes)",
             (int)(n < 64 ? n : 64), list);
    return false;
  }
  for (size_t i = 0; i < WORDS; i++) *words[i].on = on[i];
  return true;
}

/* Returns true if a variable is unset, empty, or one of two words; otherwise
   returns false and a message. */
static bool loader_check_word(const char *name, const char *one,
                              const char *other, char *wrong, size_t size) {
  const char *value = getenv(name);
  if (value == NULL || *value == '\0' || strcmp(value, one) == 0 ||
      strcmp(value, other) == 0)
    return true;
  snprintf(wrong, size, "%s=%.64s: %s or %s expected", name, value, one, other);
  return false;
}

/* Reads the process-wide variables; on an error, returns false and the
   message. */
static bool loader_read_environment(char *wrong, size_t size) {
  return loader_check_word("LZE_SOFTWARE", "0", "1", wrong, size) &&
         loader_check_word("LZE_CACHE", "off", "on", wrong, size) &&
         loader_read_log(wrong, size);
}

const lze_System *lze_system(lua_State *L) {
  static const char install[] =
      "install the Level Zero loader (Debian: apt install libze1)";
  char problem[256] = "";
  char wrong[160] = "";
  pthread_mutex_lock(&loader_lock);
  if (loader_state == UNTRIED &&
      loader_read_environment(wrong, sizeof wrong)) {
    void *loaded = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
    bool before = loaded != NULL;
    if (before) dlclose(loaded); /* this only incremented its reference count */
    void *library = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
    const char *lacks = library != NULL ? loader_resolve(library) : NULL;
    if (library == NULL) {
      /* Not final: it may be installed while the program runs. */
      snprintf(problem, sizeof problem, "%s", install);
    } else if (lacks != NULL) {
      snprintf(problem, sizeof problem,
               "libze_loader.so.1 is too old: it lacks %s; %s", lacks,
               install);
      dlclose(library);
    } else {
      Dl_info info;
      const char *file = "libze_loader.so.1";
      char target[PATH_MAX];
      if (dladdr((void *)lze_ze.zeInit, &info) != 0 &&
          realpath(info.dli_fname, target) != NULL)
        file = strrchr(target, '/') != NULL ? strrchr(target, '/') + 1
                                            : target;
      snprintf(loader_system.loader, sizeof loader_system.loader, "%.31s",
               file);
      const char *sysman = getenv("ZES_ENABLE_SYSMAN");
      loader_sysman = sysman != NULL && strcmp(sysman, "1") == 0;
      bool ready = lze_outcome(&loader_outcome, "zeInit",
                               loader_init(&loader_system)) &&
                   lze_outcome(&loader_outcome, "zeDriverGet",
                               loader_enumerate(&loader_system));
      loader_state = ready ? READY : FAILED;
      if (before && loader_system.missing[0] == '\0')
        loader_note(&loader_system,
                    "%s was loaded by the program before lze: if it also "
                    "called zeInit, lze could not choose the drivers",
                    file);
    }
  }
  pthread_mutex_unlock(&loader_lock);
  if (wrong[0] != '\0') luaL_error(L, "%s", wrong);
  if (problem[0] != '\0')
    lze_fail_word(L, NULL, "libze_loader.so.1", "NOT_FOUND", NULL, "%s",
                  problem);
  if (loader_state == FAILED)
    lze_fail(L, NULL, loader_outcome.result, NULL, loader_outcome.call,
             loader_system.missing, "no Level Zero driver initialised: %s",
             loader_system.software[0] != '\0'
                 ? loader_system.software
                 : "install one for your device, or an OpenCL for the software "
                   "driver (Debian: apt install pocl-opencl-icd)");
  return &loader_system;
}
