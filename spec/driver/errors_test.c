/*
 * errors_test.c - each invalid parameter returns its specified error.
 * SPDX-License-Identifier: MIT
 *
 * Needs a loader that passes calls straight to the driver: one driver and no
 * validation layer, which would return errors itself.
 */
#include "check.h"

#define HANDLE(call) RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, call)
#define POINTER(call) RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, call)
#define ENUM(call) RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, call)
#define SIZE(call) RETURNS(ZE_RESULT_ERROR_INVALID_SIZE, call)

#define ARGUMENT(call) RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, call)

static setup s;

/* Checks a function that gets one property of an object. */
static void getter(const char *name, void *object)
{
  union {
    void *pointer;
    uint64_t number;
  } value;
  ze_result_t (*function)(void *, void *);
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, name,
                                           (void **)&function));
  ze_result_t null_handle = function(NULL, &value);
  ze_result_t null_pointer = function(object, NULL);
  ze_result_t right = function(object, &value);
  check_(__FILE__, __LINE__,
         null_handle == ZE_RESULT_ERROR_INVALID_NULL_HANDLE &&
             null_pointer == ZE_RESULT_ERROR_INVALID_NULL_POINTER &&
             right == ZE_RESULT_SUCCESS,
         "%s: 0x%x, 0x%x, 0x%x", name, null_handle, null_pointer, right);
}

/* Checks the text for the last error of this thread. */
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
  CHECK(strcmp(text, "there is no queue group 5") == 0);
  HANDLE(describe(NULL, &text));
}

static void test_driver_device(void)
{
  uint32_t n = 1;
  ze_api_version_t version;
  uint64_t a;
  ze_bool_t b;
  void *p;
  /* The driver's own zeInit: loaders since 1.20 call it only once. */
  ze_result_t (*init)(ze_init_flags_t);
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zeInit",
                                           (void **)&init));
  ENUM(init(0x10));
  POINTER(zeDriverGet(NULL, NULL));
  HANDLE(zeDriverGetApiVersion(NULL, &version));
  POINTER(zeDriverGetApiVersion(s.driver, NULL));
  HANDLE(zeDriverGetProperties(NULL, NULL));
  POINTER(zeDriverGetProperties(s.driver, NULL));
  HANDLE(zeDriverGetIpcProperties(NULL, NULL));
  POINTER(zeDriverGetIpcProperties(s.driver, NULL));
  HANDLE(zeDriverGetExtensionProperties(NULL, &n, NULL));
  POINTER(zeDriverGetExtensionProperties(s.driver, NULL, NULL));
  HANDLE(zeDriverGetExtensionFunctionAddress(NULL, "zeInit", &p));
  POINTER(zeDriverGetExtensionFunctionAddress(s.driver, NULL, &p));
  POINTER(zeDriverGetExtensionFunctionAddress(s.driver, "zeInit", NULL));
  CHECK(zeDriverGetExtensionFunctionAddress(s.driver, "zeNothing", &p) !=
        ZE_RESULT_SUCCESS);
  HANDLE(zeDeviceGet(NULL, &n, NULL));
  POINTER(zeDeviceGet(s.driver, NULL, NULL));
  HANDLE(zeDeviceGetSubDevices(NULL, &n, NULL));
  POINTER(zeDeviceGetSubDevices(s.device, NULL, NULL));
  HANDLE(zeDeviceGetProperties(NULL, NULL));
  POINTER(zeDeviceGetProperties(s.device, NULL));
  HANDLE(zeDeviceGetComputeProperties(NULL, NULL));
  POINTER(zeDeviceGetComputeProperties(s.device, NULL));
  HANDLE(zeDeviceGetModuleProperties(NULL, NULL));
  POINTER(zeDeviceGetModuleProperties(s.device, NULL));
  HANDLE(zeDeviceGetMemoryProperties(NULL, &n, NULL));
  POINTER(zeDeviceGetMemoryProperties(s.device, NULL, NULL));
  HANDLE(zeDeviceGetMemoryAccessProperties(NULL, NULL));
  POINTER(zeDeviceGetMemoryAccessProperties(s.device, NULL));
  HANDLE(zeDeviceGetCommandQueueGroupProperties(NULL, &n, NULL));
  POINTER(zeDeviceGetCommandQueueGroupProperties(s.device, NULL, NULL));
  HANDLE(zeDeviceGetCacheProperties(NULL, &n, NULL));
  POINTER(zeDeviceGetCacheProperties(s.device, NULL, NULL));
  HANDLE(zeDeviceGetImageProperties(NULL, NULL));
  POINTER(zeDeviceGetImageProperties(s.device, NULL));
  HANDLE(zeDeviceGetExternalMemoryProperties(NULL, NULL));
  POINTER(zeDeviceGetExternalMemoryProperties(s.device, NULL));
  uint32_t vertices = 7;
  ze_fabric_vertex_handle_t vertex;
  RETURNS(ZE_RESULT_SUCCESS, zeFabricVertexGetExp(s.driver, &vertices, NULL));
  EQUAL(vertices, 0);
  HANDLE(zeFabricVertexGetExp(NULL, &vertices, NULL));
  POINTER(zeFabricVertexGetExp(s.driver, NULL, NULL));
  RETURNS(ZE_RESULT_EXP_ERROR_DEVICE_IS_NOT_VERTEX,
          zeDeviceGetFabricVertexExp(s.device, &vertex));
  CHECK(vertex == NULL);
  HANDLE(zeDeviceGetFabricVertexExp(NULL, &vertex));
  POINTER(zeDeviceGetFabricVertexExp(s.device, NULL));
  HANDLE(zeDeviceGetP2PProperties(NULL, s.device, NULL));
  HANDLE(zeDeviceGetP2PProperties(s.device, NULL, NULL));
  POINTER(zeDeviceGetP2PProperties(s.device, s.device, NULL));
  HANDLE(zeDeviceGetGlobalTimestamps(NULL, &a, &a));
  POINTER(zeDeviceGetGlobalTimestamps(s.device, NULL, &a));
  POINTER(zeDeviceGetGlobalTimestamps(s.device, &a, NULL));
  HANDLE(zeDeviceCanAccessPeer(NULL, s.device, &b));
  POINTER(zeDeviceCanAccessPeer(s.device, s.device, NULL));
  HANDLE(zeDeviceCanAccessPeer(s.device, NULL, &b));
  HANDLE(zeDeviceGetStatus(NULL));
  getter("zeDeviceGetRootDevice", s.device);
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
  ze_memory_free_ext_desc_t policy = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC};
  ze_memory_allocation_properties_t p;
  void *m;
  HANDLE(zeContextCreate(NULL, &desc, &context));
  POINTER(zeContextCreate(s.driver, NULL, &context));
  POINTER(zeContextCreate(s.driver, &desc, NULL));
  SIZE(zeContextCreateEx(s.driver, &desc, 1, NULL, &context));
  desc.flags = 0x80;
  ENUM(zeContextCreate(s.driver, &desc, &context));
  ENUM(zeContextCreateEx(s.driver, &desc, 0, NULL, &context));
  HANDLE(zeContextDestroy(NULL));
  HANDLE(zeContextGetStatus(NULL));
  HANDLE(zeContextSystemBarrier(NULL, s.device));
  HANDLE(zeContextSystemBarrier(s.context, NULL));
  HANDLE(zeContextMakeMemoryResident(NULL, s.device, &m, 8));
  HANDLE(zeContextMakeMemoryResident(s.context, NULL, &m, 8));
  POINTER(zeContextMakeMemoryResident(s.context, s.device, NULL, 8));
  HANDLE(zeContextEvictMemory(NULL, s.device, &m, 8));
  HANDLE(zeContextEvictMemory(s.context, NULL, &m, 8));
  POINTER(zeContextEvictMemory(s.context, s.device, NULL, 8));
  HANDLE(zeMemAllocHost(NULL, &host, 1, 1, &m));
  POINTER(zeMemAllocHost(s.context, NULL, 1, 1, &m));
  POINTER(zeMemAllocHost(s.context, &host, 1, 1, NULL));
  HANDLE(zeMemAllocDevice(NULL, &device, 1, 1, s.device, &m));
  HANDLE(zeMemAllocDevice(s.context, &device, 1, 1, NULL, &m));
  POINTER(zeMemAllocDevice(s.context, NULL, 1, 1, s.device, &m));
  POINTER(zeMemAllocDevice(s.context, &device, 1, 1, s.device, NULL));
  HANDLE(zeMemAllocShared(NULL, &device, &host, 1, 1, s.device, &m));
  POINTER(zeMemAllocShared(s.context, NULL, &host, 1, 1, s.device, &m));
  POINTER(zeMemAllocShared(s.context, &device, NULL, 1, 1, s.device, &m));
  POINTER(zeMemAllocShared(s.context, &device, &host, 1, 1, s.device, NULL));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeMemAllocHost(s.context, &host, 0, 1, &m));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
          zeMemAllocHost(s.context, &host, 1, 24, &m));
  device.flags = 0x100;
  ENUM(zeMemAllocDevice(s.context, &device, 1, 1, s.device, &m));
  ENUM(zeMemAllocShared(s.context, &device, &host, 1, 1, s.device, &m));
  device.flags = 0;
  host.flags = 0x100;
  ENUM(zeMemAllocHost(s.context, &host, 1, 1, &m));
  ENUM(zeMemAllocShared(s.context, &device, &host, 1, 1, s.device, &m));
  HANDLE(zeMemFree(NULL, &m));
  POINTER(zeMemFree(s.context, NULL));
  HANDLE(zeMemFreeExt(NULL, &policy, &m));
  POINTER(zeMemFreeExt(s.context, NULL, &m));
  POINTER(zeMemFreeExt(s.context, &policy, NULL));
  policy.freePolicy = 0x100;
  ENUM(zeMemFreeExt(s.context, &policy, &m));
  HANDLE(zeMemGetAllocProperties(NULL, &m, &p, NULL));
  POINTER(zeMemGetAllocProperties(s.context, NULL, &p, NULL));
  POINTER(zeMemGetAllocProperties(s.context, &m, NULL, NULL));
  HANDLE(zeMemGetAddressRange(NULL, &m, NULL, NULL));
  POINTER(zeMemGetAddressRange(s.context, NULL, NULL, NULL));
}

static void test_queues(void)
{
  ze_command_list_desc_t ld = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_command_list_handle_t list, none = NULL;
  ze_command_queue_handle_t queue;
  ze_fence_desc_t fd = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  HANDLE(zeCommandListCreate(NULL, s.device, &ld, &list));
  HANDLE(zeCommandListCreate(s.context, NULL, &ld, &list));
  POINTER(zeCommandListCreate(s.context, s.device, NULL, &list));
  POINTER(zeCommandListCreate(s.context, s.device, &ld, NULL));
  ld.flags = 0x1000;
  ENUM(zeCommandListCreate(s.context, s.device, &ld, &list));
  ld.flags = 0;
  ld.commandQueueGroupOrdinal = 5;
  ARGUMENT(zeCommandListCreate(s.context, s.device, &ld, &list));
  HANDLE(zeCommandListCreateImmediate(NULL, s.device, &qd, &list));
  HANDLE(zeCommandListCreateImmediate(s.context, NULL, &qd, &list));
  POINTER(zeCommandListCreateImmediate(s.context, s.device, NULL, &list));
  POINTER(zeCommandListCreateImmediate(s.context, s.device, &qd, NULL));
  HANDLE(zeCommandQueueCreate(NULL, s.device, &qd, &queue));
  HANDLE(zeCommandQueueCreate(s.context, NULL, &qd, &queue));
  POINTER(zeCommandQueueCreate(s.context, s.device, NULL, &queue));
  POINTER(zeCommandQueueCreate(s.context, s.device, &qd, NULL));
  qd.flags = 0x1000;
  ENUM(zeCommandListCreateImmediate(s.context, s.device, &qd, &list));
  ENUM(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.flags = 0;
  qd.mode = (ze_command_queue_mode_t)9;
  ENUM(zeCommandListCreateImmediate(s.context, s.device, &qd, &list));
  ENUM(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.mode = ZE_COMMAND_QUEUE_MODE_DEFAULT;
  qd.priority = (ze_command_queue_priority_t)9;
  ENUM(zeCommandListCreateImmediate(s.context, s.device, &qd, &list));
  ENUM(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  qd.index = 1000;
  ARGUMENT(zeCommandListCreateImmediate(s.context, s.device, &qd, &list));
  ARGUMENT(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  qd.index = 0;
  MUST(zeCommandQueueCreate(s.context, s.device, &qd, &queue));
  HANDLE(zeCommandQueueDestroy(NULL));
  HANDLE(zeCommandQueueSynchronize(NULL, 0));
  getter("zeCommandQueueGetOrdinal", queue);
  getter("zeCommandQueueGetIndex", queue);
  list = list_new(s);
  HANDLE(zeCommandQueueExecuteCommandLists(NULL, 1, &list, NULL));
  POINTER(zeCommandQueueExecuteCommandLists(queue, 1, NULL, NULL));
  HANDLE(zeCommandQueueExecuteCommandLists(queue, 1, &none, NULL));
  SIZE(zeCommandQueueExecuteCommandLists(queue, 0, &none, NULL));
  /* A list that is still open. */
  ARGUMENT(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeCommandListDestroy(list));
  HANDLE(zeFenceCreate(NULL, &fd, &fence));
  POINTER(zeFenceCreate(queue, NULL, &fence));
  POINTER(zeFenceCreate(queue, &fd, NULL));
  fd.flags = 0x10;
  ENUM(zeFenceCreate(queue, &fd, &fence));
  HANDLE(zeFenceDestroy(NULL));
  HANDLE(zeFenceReset(NULL));
  HANDLE(zeFenceQueryStatus(NULL));
  HANDLE(zeFenceHostSynchronize(NULL, 0));
  MUST(zeCommandQueueDestroy(queue));
}

/* Checks common to all appends: a list, and a wait list with as many events as
   its count.  `call` uses the list l, n events at w. */
#define APPEND(call)                          \
  do {                                        \
    ze_command_list_handle_t l = NULL;        \
    ze_event_handle_t null_ = NULL, *w = NULL; \
    uint32_t n = 0;                           \
    HANDLE(call);                             \
    l = list;                                 \
    n = 1;                                    \
    SIZE(call);                               \
    w = &null_;                               \
    HANDLE(call);                             \
  } while (0)

static void test_lists(void)
{
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  ze_command_list_handle_t list = list_new(s);
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t event = event_new(pool, 0), no_event = NULL;
  ze_group_count_t groups = {1, 1, 1};
  ze_copy_region_t r = {0, 0, 0, 4, 1, 1}, other = {0, 0, 0, 2, 1, 1};
  int x = 0, y = 0;
  float a = 1;
  void *px = shared_new(s, sizeof x), *py = shared_new(s, sizeof y);
  size_t four = 4;
  const void *range = &x;
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof px, &px));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof py, &py));
  HANDLE(zeCommandListDestroy(NULL));
  HANDLE(zeCommandListClose(NULL));
  HANDLE(zeCommandListReset(NULL));
  getter("zeCommandListGetDeviceHandle", list);
  getter("zeCommandListGetContextHandle", list);
  getter("zeCommandListGetOrdinal", list);
  getter("zeCommandListIsImmediate", list);

  APPEND(zeCommandListAppendBarrier(l, NULL, n, w));
  APPEND(zeCommandListAppendMemoryRangesBarrier(l, 1, &four, &range, NULL, n,
                                                w));
  POINTER(zeCommandListAppendMemoryRangesBarrier(list, 1, NULL, &range, NULL,
                                                 0, NULL));
  POINTER(zeCommandListAppendMemoryRangesBarrier(list, 1, &four, NULL, NULL, 0,
                                                 NULL));
  HANDLE(zeCommandListAppendSignalEvent(NULL, event));
  HANDLE(zeCommandListAppendSignalEvent(list, NULL));
  HANDLE(zeCommandListAppendEventReset(NULL, event));
  HANDLE(zeCommandListAppendEventReset(list, NULL));
  HANDLE(zeCommandListAppendWaitOnEvents(NULL, 1, &event));
  POINTER(zeCommandListAppendWaitOnEvents(list, 1, NULL));
  HANDLE(zeCommandListAppendWaitOnEvents(list, 1, &no_event));

  APPEND(zeCommandListAppendMemoryCopy(l, &x, &y, 4, NULL, n, w));
  POINTER(zeCommandListAppendMemoryCopy(list, NULL, &y, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopy(list, &x, NULL, 4, NULL, 0, NULL));
  APPEND(zeCommandListAppendMemoryCopyFromContext(l, &x, s.context, &y, 4,
                                                  NULL, n, w));
  HANDLE(zeCommandListAppendMemoryCopyFromContext(list, &x, NULL, &y, 4, NULL,
                                                  0, NULL));
  POINTER(zeCommandListAppendMemoryCopyFromContext(list, NULL, s.context, &y,
                                                   4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopyFromContext(list, &x, s.context, NULL,
                                                   4, NULL, 0, NULL));
  APPEND(zeCommandListAppendMemoryFill(l, &x, &y, 4, 4, NULL, n, w));
  POINTER(zeCommandListAppendMemoryFill(list, NULL, &y, 4, 4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryFill(list, &x, NULL, 4, 4, NULL, 0, NULL));
  SIZE(zeCommandListAppendMemoryFill(list, &x, &y, 0, 4, NULL, 0, NULL));
  SIZE(zeCommandListAppendMemoryFill(list, &x, &y, 3, 3, NULL, 0, NULL));
  SIZE(zeCommandListAppendMemoryFill(list, &x, &y, 4, 6, NULL, 0, NULL));
  APPEND(zeCommandListAppendMemoryCopyRegion(l, &x, &r, 4, 4, &y, &r, 4, 4,
                                             NULL, n, w));
  POINTER(zeCommandListAppendMemoryCopyRegion(list, NULL, &r, 4, 4, &y, &r, 4,
                                              4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopyRegion(list, &x, NULL, 4, 4, &y, &r, 4,
                                              4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopyRegion(list, &x, &r, 4, 4, NULL, &r, 4,
                                              4, NULL, 0, NULL));
  POINTER(zeCommandListAppendMemoryCopyRegion(list, &x, &r, 4, 4, &y, NULL, 4,
                                              4, NULL, 0, NULL));
  SIZE(zeCommandListAppendMemoryCopyRegion(list, &x, &r, 4, 4, &y, &other, 4,
                                           4, NULL, 0, NULL));
  HANDLE(zeCommandListAppendMemoryPrefetch(NULL, &x, 4));
  POINTER(zeCommandListAppendMemoryPrefetch(list, NULL, 4));
  HANDLE(zeCommandListAppendMemAdvise(NULL, s.device, &x, 4, 0));
  HANDLE(zeCommandListAppendMemAdvise(list, NULL, &x, 4, 0));
  POINTER(zeCommandListAppendMemAdvise(list, s.device, NULL, 4, 0));
  ENUM(zeCommandListAppendMemAdvise(list, s.device, &x, 4, 1000));

  APPEND(zeCommandListAppendLaunchKernel(l, kernel, &groups, NULL, n, w));
  HANDLE(zeCommandListAppendLaunchKernel(list, NULL, &groups, NULL, 0, NULL));
  POINTER(zeCommandListAppendLaunchKernel(list, kernel, NULL, NULL, 0, NULL));
  APPEND(zeCommandListAppendLaunchCooperativeKernel(l, kernel, &groups, NULL,
                                                    n, w));
  HANDLE(zeCommandListAppendLaunchCooperativeKernel(list, NULL, &groups, NULL,
                                                    0, NULL));
  POINTER(zeCommandListAppendLaunchCooperativeKernel(list, kernel, NULL, NULL,
                                                     0, NULL));
  uint64_t stamp;
  ze_kernel_timestamp_result_t stamps;
  APPEND(zeCommandListAppendWriteGlobalTimestamp(l, &stamp, NULL, n, w));
  POINTER(zeCommandListAppendWriteGlobalTimestamp(list, NULL, NULL, 0, NULL));
  APPEND(zeCommandListAppendQueryKernelTimestamps(l, 1, &event, &stamps, NULL,
                                                  NULL, n, w));
  POINTER(zeCommandListAppendQueryKernelTimestamps(list, 1, NULL, &stamps,
                                                   NULL, NULL, 0, NULL));
  POINTER(zeCommandListAppendQueryKernelTimestamps(list, 1, &event, NULL, NULL,
                                                   NULL, 0, NULL));
  HANDLE(zeCommandListAppendQueryKernelTimestamps(list, 1, &no_event, &stamps,
                                                  NULL, NULL, 0, NULL));
  /* None of these commands was recorded. */
  ze_command_queue_handle_t queue = queue_new(s);
  MUST(zeCommandListClose(list));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
  /* A closed list accepts no more commands. */
  ARGUMENT(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  getter("zeCommandListImmediateGetIndex", list);
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, px));
  MUST(zeMemFree(s.context, py));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
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
  ed.wait = 0;
  ed.signal = 0x100;
  ENUM(zeEventCreate(pool, &ed, &event));
  HANDLE(zeEventDestroy(NULL));
  HANDLE(zeEventHostSignal(NULL));
  HANDLE(zeEventHostReset(NULL));
  HANDLE(zeEventQueryStatus(NULL));
  HANDLE(zeEventHostSynchronize(NULL, 0));
  HANDLE(zeEventQueryKernelTimestamp(NULL, &r));
  HANDLE(zeEventPoolDestroy(NULL));
  getter("zeEventPoolGetContextHandle", pool);
  getter("zeEventPoolGetFlags", pool);
  event = event_new(pool, 0);
  POINTER(zeEventQueryKernelTimestamp(event, NULL));
  getter("zeEventGetEventPool", event);
  getter("zeEventGetSignalScope", event);
  getter("zeEventGetWaitScope", event);
  MUST(zeEventDestroy(event));
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
  double two = 2.5;
  HANDLE(zeModuleCreate(NULL, s.device, &md, &other, NULL));
  HANDLE(zeModuleCreate(s.context, NULL, &md, &other, NULL));
  POINTER(zeModuleCreate(s.context, s.device, NULL, &other, NULL));
  POINTER(zeModuleCreate(s.context, s.device, &md, NULL, NULL));
  POINTER(zeModuleCreate(s.context, s.device, &md, &other, NULL));
  md.pInputModule = (const uint8_t *)"no SPIR-V";
  SIZE(zeModuleCreate(s.context, s.device, &md, &other, NULL));
  md.inputSize = 8;
  md.format = (ze_module_format_t)77;
  ENUM(zeModuleCreate(s.context, s.device, &md, &other, NULL));
  md.format = ZE_MODULE_FORMAT_NATIVE;
  RETURNS(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
          zeModuleCreate(s.context, s.device, &md, &other, NULL));
  md.format = ZE_MODULE_FORMAT_IL_SPIRV;
  RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
          zeModuleCreate(s.context, s.device, &md, &other, NULL));
  HANDLE(zeModuleDestroy(NULL));
  HANDLE(zeModuleBuildLogDestroy(NULL));
  HANDLE(zeModuleBuildLogGetString(NULL, &size, NULL));
  HANDLE(zeModuleGetKernelNames(NULL, &n, NULL));
  POINTER(zeModuleGetKernelNames(module, NULL, NULL));
  HANDLE(zeModuleGetNativeBinary(NULL, &size, NULL));
  POINTER(zeModuleGetNativeBinary(module, NULL, NULL));
  HANDLE(zeModuleGetProperties(NULL, NULL));
  POINTER(zeModuleGetProperties(module, NULL));
  HANDLE(zeKernelCreate(NULL, &kd, &kernel));
  POINTER(zeKernelCreate(module, NULL, &kernel));
  POINTER(zeKernelCreate(module, &kd, &kernel));
  kd.pKernelName = "nothing";
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
          zeKernelCreate(module, &kd, &kernel));
  kd.pKernelName = "saxpy";
  POINTER(zeKernelCreate(module, &kd, NULL));
  kd.flags = 0x100;
  ENUM(zeKernelCreate(module, &kd, &kernel));
  kernel = kernel_new(module, "saxpy");
  HANDLE(zeKernelDestroy(NULL));
  HANDLE(zeKernelSetGroupSize(NULL, 1, 1, 1));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(kernel, 0, 1, 1));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(kernel, UINT32_MAX, 1, 1));
  HANDLE(zeKernelSetArgumentValue(NULL, 0, 4, &n));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
          zeKernelSetArgumentValue(kernel, 3, 4, &n));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(kernel, 0, sizeof two, &two));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(kernel, 0, 2, &two));
  HANDLE(zeKernelSuggestGroupSize(NULL, 1, 1, 1, &n, &n, &n));
  POINTER(zeKernelSuggestGroupSize(kernel, 1, 1, 1, NULL, &n, &n));
  POINTER(zeKernelSuggestGroupSize(kernel, 1, 1, 1, &n, NULL, &n));
  POINTER(zeKernelSuggestGroupSize(kernel, 1, 1, 1, &n, &n, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
          zeKernelSuggestGroupSize(kernel, 1, 0, 1, &n, &n, &n));
  HANDLE(zeKernelSuggestMaxCooperativeGroupCount(NULL, &n));
  POINTER(zeKernelSuggestMaxCooperativeGroupCount(kernel, NULL));
  HANDLE(zeKernelGetProperties(NULL, NULL));
  POINTER(zeKernelGetProperties(kernel, NULL));
  HANDLE(zeKernelGetName(NULL, &size, NULL));
  POINTER(zeKernelGetName(kernel, NULL, NULL));
  HANDLE(zeKernelGetSourceAttributes(NULL, &n, NULL));
  POINTER(zeKernelGetSourceAttributes(kernel, NULL, NULL));
  HANDLE(zeKernelSetCacheConfig(NULL, 0));
  ENUM(zeKernelSetCacheConfig(kernel, 0x100));
  HANDLE(zeKernelSetGlobalOffsetExp(NULL, 0, 0, 0));
  HANDLE(zeKernelSetIndirectAccess(NULL, 0));
  ENUM(zeKernelSetIndirectAccess(kernel, 0x100));
  getter("zeKernelGetIndirectAccess", kernel);
  /* Nothing that a launch needs has been set yet. */
  ze_command_list_handle_t list = list_new(s);
  ze_group_count_t groups = {1, 1, 1};
  ARGUMENT(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0,
                                           NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
}

int main(void)
{
  /* First of all: some loaders initialise the driver twice. */
  RETURNS(ZE_RESULT_SUCCESS, zeInit(0));
  RETURNS(ZE_RESULT_SUCCESS, zeInit(ZE_INIT_FLAG_GPU_ONLY));
  s = setup_new();
  test_description();
  test_driver_device();
  test_context_memory();
  test_queues();
  test_lists();
  test_events();
  test_modules();

  /* The driver's properties are consistent. */
  ze_driver_properties_t dp = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
  MUST(zeDriverGetProperties(s.driver, &dp));
  CHECK(dp.driverVersion != 0);
  uint32_t n = 0;
  MUST(zeDriverGetExtensionProperties(s.driver, &n, NULL));
  ze_driver_extension_properties_t e[64];
  CHECK(n > 0 && n <= 64);
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
