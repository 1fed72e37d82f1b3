/*
 * errors_test.c - wrong parameters are answered with their error, by name.
 * SPDX-License-Identifier: MIT
 *
 * Needs a loader that hands calls straight to the driver: one driver and no
 * validation layer, which would answer itself.
 */
#include "check.h"

#define HANDLE(call) RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, call)
#define POINTER(call) RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, call)
#define ENUM(call) RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, call)
#define SIZE(call) RETURNS(ZE_RESULT_ERROR_INVALID_SIZE, call)

static setup s;

/* The reason of the last error of this thread, in words. */
static void test_description(void)
{
  ze_result_t (*describe)(ze_driver_handle_t, const char **);
  const char *text = NULL;
  ze_command_list_handle_t list;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .commandQueueGroupOrdinal = 5};
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeDriverGetLastErrorDescription", (void **)&describe));
  HANDLE(zeCommandListClose(NULL));
  MUST(describe(s.driver, &text));
  /* The validation layer answers in the driver's place. */
  const char *layer = getenv("ZE_ENABLE_PARAMETER_VALIDATION");
  CHECK(layer != NULL || strcmp(text, "list is null") == 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListCreate(s.context, s.device, &desc, &list));
  MUST(describe(s.driver, &text));
  CHECK(strcmp(text, "there is only one queue group, not 5") == 0);
  HANDLE(describe(NULL, &text));
}

static void test_driver_device(void)
{
  uint32_t n = 1;
  ze_api_version_t version;
  uint64_t a;
  ze_bool_t b;
  void *p;
  POINTER(zeDriverGet(NULL, NULL));
  HANDLE(zeDriverGetApiVersion(NULL, &version));
  POINTER(zeDriverGetApiVersion(s.driver, NULL));
  HANDLE(zeDriverGetProperties(NULL, NULL));
  POINTER(zeDriverGetProperties(s.driver, NULL));
  POINTER(zeDriverGetIpcProperties(s.driver, NULL));
  POINTER(zeDriverGetExtensionProperties(s.driver, NULL, NULL));
  POINTER(zeDriverGetExtensionFunctionAddress(s.driver, NULL, &p));
  POINTER(zeDriverGetExtensionFunctionAddress(s.driver, "zeInit", NULL));
  CHECK(zeDriverGetExtensionFunctionAddress(s.driver, "zeNothing", &p) !=
        ZE_RESULT_SUCCESS);
  HANDLE(zeDeviceGet(NULL, &n, NULL));
  POINTER(zeDeviceGet(s.driver, NULL, NULL));
  HANDLE(zeDeviceGetProperties(NULL, NULL));
  POINTER(zeDeviceGetProperties(s.device, NULL));
  POINTER(zeDeviceGetComputeProperties(s.device, NULL));
  POINTER(zeDeviceGetModuleProperties(s.device, NULL));
  POINTER(zeDeviceGetMemoryProperties(s.device, NULL, NULL));
  POINTER(zeDeviceGetMemoryAccessProperties(s.device, NULL));
  POINTER(zeDeviceGetCommandQueueGroupProperties(s.device, NULL, NULL));
  POINTER(zeDeviceGetCacheProperties(s.device, NULL, NULL));
  POINTER(zeDeviceGetGlobalTimestamps(s.device, &a, NULL));
  POINTER(zeDeviceCanAccessPeer(s.device, s.device, NULL));
  HANDLE(zeDeviceCanAccessPeer(s.device, NULL, &b));
  MUST(zeDeviceCanAccessPeer(s.device, s.device, &b));
  CHECK(b);
  MUST(zeDeviceGetStatus(s.device));
}

static void test_context_memory(void)
{
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t context;
  ze_device_mem_alloc_desc_t device = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_memory_allocation_properties_t p;
  void *m;
  HANDLE(zeContextCreate(NULL, &desc, &context));
  POINTER(zeContextCreate(s.driver, NULL, &context));
  POINTER(zeContextCreate(s.driver, &desc, NULL));
  desc.flags = 0x80;
  ENUM(zeContextCreate(s.driver, &desc, &context));
  HANDLE(zeContextDestroy(NULL));
  HANDLE(zeContextGetStatus(NULL));
  HANDLE(zeMemAllocHost(NULL, &host, 1, 1, &m));
  POINTER(zeMemAllocHost(s.context, NULL, 1, 1, &m));
  POINTER(zeMemAllocHost(s.context, &host, 1, 1, NULL));
  HANDLE(zeMemAllocDevice(s.context, &device, 1, 1, NULL, &m));
  POINTER(zeMemAllocDevice(s.context, NULL, 1, 1, s.device, &m));
  POINTER(zeMemAllocShared(s.context, &device, NULL, 1, 1, s.device, &m));
  device.flags = 0x100;
  ENUM(zeMemAllocDevice(s.context, &device, 1, 1, s.device, &m));
  host.flags = 0x100;
  ENUM(zeMemAllocHost(s.context, &host, 1, 1, &m));
  HANDLE(zeMemFree(NULL, &m));
  POINTER(zeMemFree(s.context, NULL));
  POINTER(zeMemGetAllocProperties(s.context, NULL, &p, NULL));
  POINTER(zeMemGetAllocProperties(s.context, &m, NULL, NULL));
  POINTER(zeMemGetAddressRange(s.context, NULL, NULL, NULL));
}

static void test_lists(void)
{
  ze_command_list_desc_t ld = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_command_list_handle_t list, none = NULL;
  ze_command_queue_handle_t queue;
  ze_fence_desc_t fd = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  ze_group_count_t groups = {1, 1, 1};
  ze_event_handle_t no_event = NULL;
  int x = 0, y = 0;
  HANDLE(zeCommandListCreate(NULL, s.device, &ld, &list));
  HANDLE(zeCommandListCreate(s.context, NULL, &ld, &list));
  POINTER(zeCommandListCreate(s.context, s.device, NULL, &list));
  POINTER(zeCommandListCreate(s.context, s.device, &ld, NULL));
  ld.flags = 0x1000;
  ENUM(zeCommandListCreate(s.context, s.device, &ld, &list));
  ld.flags = 0;
  ld.commandQueueGroupOrdinal = 5;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListCreate(s.context, s.device, &ld, &list));
  qd.mode = (ze_command_queue_mode_t)9;
  ENUM(zeCommandListCreateImmediate(s.context, s.device, &qd, &list));
  ENUM(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
  qd.priority = (ze_command_queue_priority_t)9;
  ENUM(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  qd.index = 1000;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.index = 0;
  POINTER(zeCommandQueueCreate(s.context, s.device, NULL, &queue));
  MUST(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  HANDLE(zeCommandQueueDestroy(NULL));
  HANDLE(zeCommandQueueSynchronize(NULL, 0));
  POINTER(zeCommandQueueExecuteCommandLists(queue, 1, NULL, NULL));
  HANDLE(zeCommandQueueExecuteCommandLists(queue, 1, &none, NULL));
  SIZE(zeCommandQueueExecuteCommandLists(queue, 0, &none, NULL));
  HANDLE(zeFenceCreate(NULL, &fd, &fence));
  POINTER(zeFenceCreate(queue, NULL, &fence));
  POINTER(zeFenceCreate(queue, &fd, NULL));
  fd.flags = 0x10;
  ENUM(zeFenceCreate(queue, &fd, &fence));
  HANDLE(zeFenceDestroy(NULL));
  HANDLE(zeFenceReset(NULL));
  HANDLE(zeFenceQueryStatus(NULL));
  HANDLE(zeFenceHostSynchronize(NULL, 0));

  list = list_new(s);
  HANDLE(zeCommandListDestroy(NULL));
  HANDLE(zeCommandListClose(NULL));
  HANDLE(zeCommandListReset(NULL));
  HANDLE(zeCommandListAppendBarrier(NULL, NULL, 0, NULL));
  SIZE(zeCommandListAppendBarrier(list, NULL, 1, NULL));
  HANDLE(zeCommandListAppendBarrier(list, NULL, 1, &no_event));
  HANDLE(zeCommandListAppendSignalEvent(list, NULL));
  HANDLE(zeCommandListAppendEventReset(list, NULL));
  POINTER(zeCommandListAppendWaitOnEvents(list, 1, NULL));
  HANDLE(zeCommandListAppendWaitOnEvents(list, 1, &no_event));
  HANDLE(zeCommandListAppendMemoryCopy(NULL, &x, &y, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopy(list, NULL, &y, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopy(list, &x, NULL, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryFill(list, NULL, &y, 4, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryFill(list, &x, NULL, 4, 4, NULL, 0, NULL));
  SIZE(zeCommandListAppendMemoryFill(list, &x, &y, 0, 4, NULL, 0, NULL));
  HANDLE(zeCommandListAppendLaunchKernel(list, NULL, &groups, NULL, 0, NULL));
  POINTER(zeCommandListAppendWriteGlobalTimestamp(list, NULL, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));
}

static void test_events(void)
{
  ze_event_pool_desc_t pd = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                             .count = 2};
  ze_event_desc_t ed = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_pool_handle_t pool;
  ze_event_handle_t event;
  ze_device_handle_t none = NULL;
  ze_kernel_timestamp_result_t r;
  HANDLE(zeEventPoolCreate(NULL, &pd, 0, NULL, &pool));
  POINTER(zeEventPoolCreate(s.context, NULL, 0, NULL, &pool));
  POINTER(zeEventPoolCreate(s.context, &pd, 0, NULL, NULL));
  SIZE(zeEventPoolCreate(s.context, &pd, 1, NULL, &pool));
  HANDLE(zeEventPoolCreate(s.context, &pd, 1, &none, &pool));
  pd.count = 0;
  SIZE(zeEventPoolCreate(s.context, &pd, 0, NULL, &pool));
  pd.count = 2;
  pd.flags = 0x1000;
  ENUM(zeEventPoolCreate(s.context, &pd, 0, NULL, &pool));
  pd.flags = 0;
  MUST(zeEventPoolCreate(s.context, &pd, 0, NULL, &pool));
  POINTER(zeEventCreate(pool, NULL, &event));
  POINTER(zeEventCreate(pool, &ed, NULL));
  HANDLE(zeEventCreate(NULL, &ed, &event));
  ed.index = 2;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventCreate(pool, &ed, &event));
  ed.index = 1;
  ed.wait = 0x100;
  ENUM(zeEventCreate(pool, &ed, &event));
  HANDLE(zeEventDestroy(NULL));
  HANDLE(zeEventHostSignal(NULL));
  HANDLE(zeEventHostReset(NULL));
  HANDLE(zeEventQueryStatus(NULL));
  HANDLE(zeEventHostSynchronize(NULL, 0));
  HANDLE(zeEventQueryKernelTimestamp(NULL, &r));
  HANDLE(zeEventPoolDestroy(NULL));
  MUST(zeEventPoolDestroy(pool));
}

static void test_modules(void)
{
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv"), other;
  ze_module_desc_t md = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
  ze_kernel_desc_t kd = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC};
  ze_kernel_handle_t kernel;
  uint32_t n;
  size_t size;
  HANDLE(zeModuleCreate(NULL, s.device, &md, &other, NULL));
  HANDLE(zeModuleCreate(s.context, NULL, &md, &other, NULL));
  POINTER(zeModuleCreate(s.context, s.device, NULL, &other, NULL));
  POINTER(zeModuleCreate(s.context, s.device, &md, NULL, NULL));
  POINTER(zeModuleCreate(s.context, s.device, &md, &other, NULL));
  HANDLE(zeModuleDestroy(NULL));
  HANDLE(zeModuleBuildLogDestroy(NULL));
  HANDLE(zeModuleBuildLogGetString(NULL, &size, NULL));
  POINTER(zeModuleGetKernelNames(module, NULL, NULL));
  POINTER(zeModuleGetNativeBinary(module, NULL, NULL));
  HANDLE(zeKernelCreate(NULL, &kd, &kernel));
  POINTER(zeKernelCreate(module, NULL, &kernel));
  POINTER(zeKernelCreate(module, &kd, &kernel));
  kd.pKernelName = "saxpy";
  POINTER(zeKernelCreate(module, &kd, NULL));
  kd.flags = 0x100;
  ENUM(zeKernelCreate(module, &kd, &kernel));
  kernel = kernel_new(module, "saxpy");
  HANDLE(zeKernelDestroy(NULL));
  HANDLE(zeKernelSetGroupSize(NULL, 1, 1, 1));
  HANDLE(zeKernelSetArgumentValue(NULL, 0, 4, &n));
  POINTER(zeKernelSuggestGroupSize(kernel, 1, 1, 1, &n, &n, NULL));
  POINTER(zeKernelGetProperties(kernel, NULL));
  POINTER(zeKernelGetName(kernel, NULL, NULL));
  HANDLE(zeKernelSetGlobalOffsetExp(NULL, 0, 0, 0));
  ENUM(zeKernelSetIndirectAccess(kernel, 0x100));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
}

int main(void)
{
  /* Before anything: the driver is initialised twice by some loaders. */
  RETURNS(ZE_RESULT_SUCCESS, zeInit(0));
  RETURNS(ZE_RESULT_SUCCESS, zeInit(ZE_INIT_FLAG_GPU_ONLY));
  s = setup_new();
  test_description();
  test_driver_device();
  test_context_memory();
  test_lists();
  test_events();
  test_modules();

  /* What it says of itself holds together. */
  ze_driver_properties_t dp = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
  MUST(zeDriverGetProperties(s.driver, &dp));
  CHECK(dp.driverVersion != 0);
  uint32_t n = 0;
  MUST(zeDriverGetExtensionProperties(s.driver, &n, NULL));
  ze_driver_extension_properties_t e[16];
  CHECK(n > 0 && n <= 16);
  MUST(zeDriverGetExtensionProperties(s.driver, &n, e));
  int offsets = 0;
  for (uint32_t i = 0; i < n; i++)
    offsets += strcmp(e[i].name, "ZE_experimental_global_offset") == 0 &&
               e[i].version == ZE_MAKE_VERSION(1, 0);
  EQUAL(offsets, 1);
  ze_device_compute_properties_t c = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  MUST(zeDeviceGetComputeProperties(s.device, &c));
  CHECK(c.maxTotalGroupSize >= 256 && c.maxGroupSizeX >= 256);
  CHECK(c.numSubGroupSizes >= 1 && c.subGroupSizes[0] >= 1);
  CHECK(c.maxSharedLocalMemory >= 16384);
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zeDeviceGetProperties(s.device, &p));
  EQUAL(p.type, ZE_DEVICE_TYPE_CPU);
  CHECK(strlen(p.name) > 3);
  CHECK(p.numEUsPerSubslice * p.numSubslicesPerSlice * p.numSlices >= 1);
  CHECK(p.maxMemAllocSize > 1 << 20);
  ze_command_queue_group_properties_t g[4];
  n = 4;
  MUST(zeDeviceGetCommandQueueGroupProperties(s.device, &n, g));
  EQUAL(n, 1);
  EQUAL(g[0].flags & 3, 3);
  CHECK(g[0].numQueues >= 1 && g[0].maxMemoryFillPatternSize >= 16);
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
