/*
 * ddi_test.c - tables: all exported, and written no further than allowed.
 * SPDX-License-Identifier: MIT
 *
 * Opens the driver itself, without a loader.
 */
#include "check.h"

#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

typedef void (*entry)(void);
typedef ze_result_t (*table_function)(ze_api_version_t, entry *);

static const char *const names[] = {
  "zeGetRTASBuilderProcAddrTable", "zeGetRTASBuilderExpProcAddrTable",
  "zeGetRTASParallelOperationProcAddrTable",
  "zeGetRTASParallelOperationExpProcAddrTable", "zeGetGlobalProcAddrTable",
  "zeGetDriverProcAddrTable", "zeGetDriverExpProcAddrTable",
  "zeGetDeviceProcAddrTable", "zeGetDeviceExpProcAddrTable",
  "zeGetContextProcAddrTable", "zeGetCommandQueueProcAddrTable",
  "zeGetCommandListProcAddrTable", "zeGetCommandListExpProcAddrTable",
  "zeGetImageProcAddrTable", "zeGetImageExpProcAddrTable",
  "zeGetMemProcAddrTable", "zeGetMemExpProcAddrTable",
  "zeGetFenceProcAddrTable", "zeGetEventPoolProcAddrTable",
  "zeGetEventProcAddrTable", "zeGetEventExpProcAddrTable",
  "zeGetModuleProcAddrTable", "zeGetModuleBuildLogProcAddrTable",
  "zeGetKernelProcAddrTable", "zeGetKernelExpProcAddrTable",
  "zeGetSamplerProcAddrTable", "zeGetPhysicalMemProcAddrTable",
  "zeGetVirtualMemProcAddrTable", "zeGetFabricVertexExpProcAddrTable",
  "zeGetFabricEdgeExpProcAddrTable", "zeGetGraphProcAddrTable",
  "zeGetExecutableGraphProcAddrTable",
  "zetGetMetricProgrammableExpProcAddrTable",
  "zetGetMetricTracerExpProcAddrTable", "zetGetMetricDecoderExpProcAddrTable",
  "zetGetDeviceProcAddrTable", "zetGetDeviceExpProcAddrTable",
  "zetGetContextProcAddrTable", "zetGetCommandListProcAddrTable",
  "zetGetCommandListExpProcAddrTable", "zetGetModuleProcAddrTable",
  "zetGetKernelProcAddrTable", "zetGetMetricProcAddrTable",
  "zetGetMetricExpProcAddrTable", "zetGetMetricGroupProcAddrTable",
  "zetGetMetricGroupExpProcAddrTable", "zetGetMetricStreamerProcAddrTable",
  "zetGetMetricQueryPoolProcAddrTable", "zetGetMetricQueryProcAddrTable",
  "zetGetTracerExpProcAddrTable", "zetGetDebugProcAddrTable",
  "zesGetGlobalProcAddrTable", "zesGetDeviceProcAddrTable",
  "zesGetDeviceExpProcAddrTable", "zesGetDriverProcAddrTable",
  "zesGetDriverExpProcAddrTable", "zesGetOverclockProcAddrTable",
  "zesGetSchedulerProcAddrTable", "zesGetPerformanceFactorProcAddrTable",
  "zesGetPowerProcAddrTable", "zesGetFrequencyProcAddrTable",
  "zesGetEngineProcAddrTable", "zesGetStandbyProcAddrTable",
  "zesGetFirmwareProcAddrTable", "zesGetFirmwareExpProcAddrTable",
  "zesGetMemoryProcAddrTable", "zesGetFabricPortProcAddrTable",
  "zesGetTemperatureProcAddrTable", "zesGetPsuProcAddrTable",
  "zesGetFanProcAddrTable", "zesGetLedProcAddrTable",
  "zesGetRasProcAddrTable", "zesGetRasExpProcAddrTable",
  "zesGetDiagnosticsProcAddrTable", "zesGetVFManagementExpProcAddrTable",
  "zerGetGlobalProcAddrTable",
};

enum { ROOM = 128 };

static entry table[ROOM];

/* Returns how many entries a version writes, and the last in *last. */
static int written(table_function fill, unsigned minor, int *last)
{
  int count = 0;
  *last = -1;
  memset(table, 0, sizeof table);
  ze_result_t result =
      fill((ze_api_version_t)ZE_MAKE_VERSION(1, minor), table);
  if (result != ZE_RESULT_SUCCESS) return -1;
  for (int i = 0; i < ROOM; i++)
    if (table[i] != NULL) {
      count++;
      *last = i;
    }
  return count;
}

static table_function find(void *driver, const char *name)
{
  table_function f;
  *(void **)&f = dlsym(driver, name);
  return f;
}

typedef struct runtime {
  ze_result_t (*describe)(const char **);
  uint32_t (*number)(ze_device_handle_t);
  ze_device_handle_t (*device)(uint32_t);
  ze_context_handle_t (*context)(void);
} runtime;

/* Returns why the last runtime function failed. */
static const char *reason(const runtime *zer)
{
  const char *text = NULL;
  RETURNS(ZE_RESULT_SUCCESS, zer->describe(&text));
  return text != NULL ? text : "no description";
}

/* Before zeInit the runtime functions fail, and give the reason. */
static void test_runtime_early(const runtime *zer)
{
  CHECK(zer->context() == NULL);
  CHECK(strstr(reason(zer), "zeInit") != NULL);
  CHECK(zer->device(0) == NULL);
  CHECK(strstr(reason(zer), "zeInit") != NULL);
  CHECK(zer->number(NULL) == UINT32_MAX);
  CHECK(strstr(reason(zer), "zeInit") != NULL);
}

/* The identifier of a device is its place in zeDeviceGet's list. */
static void test_runtime(void *opened, const runtime *zer,
                         const ze_driver_dditable_t *drivers)
{
  uint32_t one = 1, two = 2, n = 0;
  ze_driver_handle_t driver;
  ze_device_handle_t devices[2], part;
  ze_device_dditable_t device;
  find(opened, "zeGetDeviceProcAddrTable")(ZE_API_VERSION_1_0,
                                           (entry *)&device);
  MUST(drivers->pfnGet(&one, &driver));
  MUST(device.pfnGet(driver, &n, NULL));
  EQUAL(n, 2);
  MUST(device.pfnGet(driver, &two, devices));
  for (uint32_t i = 0; i < 2; i++) {
    EQUAL(zer->number(devices[i]), i);
    CHECK(zer->device(i) == devices[i]);
  }
  CHECK(strcmp(reason(zer), "") == 0);
  CHECK(zer->device(2) == NULL);
  CHECK(strstr(reason(zer), "no device 2") != NULL);
  CHECK(zer->number(NULL) == UINT32_MAX);
  CHECK(strcmp(reason(zer), "device is null") == 0);
  MUST(device.pfnGetSubDevices(devices[1], &one, &part));
  CHECK(zer->number(part) == UINT32_MAX);
  CHECK(strstr(reason(zer), "zeDeviceGet") != NULL);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zer->describe(NULL));
  ze_context_handle_t context = zer->context();
  CHECK(context != NULL && context == zer->context());
  ze_context_handle_t (*given)(ze_driver_handle_t);
  MUST(drivers->pfnGetExtensionFunctionAddress(
      driver, "zeDriverGetDefaultContext", (void **)&given));
  CHECK(given(driver) == context);
  CHECK(given(NULL) == NULL);
  CHECK(strcmp(reason(zer), "driver is null") == 0);
  void *address;
  MUST(drivers->pfnGetExtensionFunctionAddress(
      driver, "zerGetDefaultContext", &address));
  CHECK(memcmp(&address, &zer->context, sizeof address) == 0);
}

int main(void)
{
  setenv("ZOCL_ROOT_DEVICES", "2", 1);
  setenv("ZOCL_SUB_DEVICES", "2", 1);
  const char *path = getenv("ZE_ENABLE_ALT_DRIVERS");
  void *driver = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (driver == NULL) {
    printf("not ok - set ZE_ENABLE_ALT_DRIVERS: %s\n",
           path != NULL ? dlerror() : "nothing there");
    return 1;
  }
  /* zeDriverGet does not initialise; zeInit does, with valid flags. */
  ze_global_dditable_t global;
  ze_driver_dditable_t drivers;
  runtime zer = {0};
  uint32_t n = 0;
  find(driver, "zerGetGlobalProcAddrTable")(
      (ze_api_version_t)ZE_MAKE_VERSION(1, 14), (entry *)&zer);
  if (zer.context == NULL) {
    printf("not ok - there are no runtime functions\n");
    return 1;
  }
  test_runtime_early(&zer);
  find(driver, "zeGetGlobalProcAddrTable")(ZE_API_VERSION_1_0,
                                           (entry *)&global);
  find(driver, "zeGetDriverProcAddrTable")(
      (ze_api_version_t)ZE_MAKE_VERSION(1, 4), (entry *)&drivers);
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, drivers.pfnGet(&n, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, global.pfnInit(1u << 30));
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, drivers.pfnGet(&n, NULL));
  EQUAL(n, 0);
  CHECK(strstr(reason(&zer), "zeInit") != NULL);
  RETURNS(ZE_RESULT_SUCCESS, global.pfnInit(0));
  /* A success leaves no description. */
  CHECK(strcmp(reason(&zer), "") == 0);
  RETURNS(ZE_RESULT_SUCCESS, drivers.pfnGet(&n, NULL));
  EQUAL(n, 1);
  test_runtime(driver, &zer, &drivers);

  size_t count = sizeof names / sizeof *names;
  EQUAL(count, 76);
  for (size_t i = 0; i < count; i++) {
    table_function f = find(driver, names[i]);
    int last;
    bool ok = f != NULL && written(f, 0, &last) >= 0 &&
              written(f, 17, &last) >= 0 &&
              written(f, 999, &last) == written(f, 17, &last) &&
              f(ZE_API_VERSION_1_0, NULL) ==
                  ZE_RESULT_ERROR_INVALID_NULL_POINTER &&
              f((ze_api_version_t)ZE_MAKE_VERSION(2, 0), table) ==
                  ZE_RESULT_ERROR_UNSUPPORTED_VERSION &&
              f((ze_api_version_t)0, table) ==
                  ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    check_(__FILE__, __LINE__, ok, "%s", names[i]);
  }

  /* Sizes of the tables in the named specifications: nothing is written past
     their ends. */
  static const struct {
    const char *name;
    unsigned minor;
    int size;
  } sizes[] = {
    {"zeGetGlobalProcAddrTable", 0, 1},
    {"zeGetGlobalProcAddrTable", 9, 1},
    {"zeGetGlobalProcAddrTable", 10, 2},
    {"zeGetDriverProcAddrTable", 0, 5},
    {"zeGetDriverProcAddrTable", 4, 6},
    {"zeGetDriverProcAddrTable", 6, 7},
    {"zeGetDriverProcAddrTable", 12, 7},
    {"zeGetDriverProcAddrTable", 14, 9},
    {"zeGetDeviceProcAddrTable", 0, 14},
    {"zeGetDeviceProcAddrTable", 4, 18},
    {"zeGetContextProcAddrTable", 0, 8},
    {"zeGetContextProcAddrTable", 4, 9},
    {"zeGetCommandQueueProcAddrTable", 4, 4},
    {"zeGetCommandQueueProcAddrTable", 9, 6},
    {"zeGetCommandListProcAddrTable", 0, 26},
    {"zeGetCommandListProcAddrTable", 4, 28},
    {"zeGetCommandListProcAddrTable", 6, 29},
    {"zeGetMemProcAddrTable", 0, 9},
    {"zeGetMemProcAddrTable", 4, 10},
    {"zeGetEventProcAddrTable", 4, 7},
    {"zeGetEventPoolProcAddrTable", 4, 5},
    {"zeGetModuleProcAddrTable", 4, 9},
    {"zeGetKernelProcAddrTable", 4, 12},
    {"zeGetKernelExpProcAddrTable", 0, 0},
    {"zeGetKernelExpProcAddrTable", 1, 1},
    {"zerGetGlobalProcAddrTable", 13, 0},
    {"zerGetGlobalProcAddrTable", 14, 4},
  };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int last;
    written(find(driver, sizes[i].name), sizes[i].minor, &last);
    check_(__FILE__, __LINE__, last < sizes[i].size,
           "%s of 1.%u: last entry %d of %d", sizes[i].name, sizes[i].minor,
           last, sizes[i].size);
  }

  /* Loaders call these functions without checking that they exist. */
  int last;
  written(find(driver, "zeGetGlobalProcAddrTable"), 0, &last);
  CHECK(table[0] != NULL);
  ze_result_t (*init)(ze_init_flags_t) = (ze_result_t(*)(ze_init_flags_t))
      table[0];
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, init(0x100));
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, init(2)); /* only NPUs */
  written(find(driver, "zeGetDriverProcAddrTable"), 0, &last);
  CHECK(table[0] && table[1] && table[2] && table[4]);
  written(find(driver, "zeGetDeviceProcAddrTable"), 0, &last);
  CHECK(table[0] && table[2]);
  CHECK_DONE();
}
