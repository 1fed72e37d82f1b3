/*
 * intel_test.c - functions of the Intel driver that programs find by name.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

static setup s;

static void *find(const char *name)
{
  void *function;
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, name, &function));
  return function;
}

/* An allocation has one handle; its descriptor alone is enough. */
static void test_handles(void)
{
  ze_result_t (*get)(ze_context_handle_t, const void *, uint32_t *,
                     ze_ipc_mem_handle_t *) = NULL;
  ze_result_t (*open)(ze_context_handle_t, ze_device_handle_t, uint32_t,
                      ze_ipc_mem_handle_t *, ze_ipc_memory_flags_t, void **) =
      NULL;
  *(void **)&get = find("zexMemGetIpcHandles");
  *(void **)&open = find("zexMemOpenIpcHandles");
  char *memory = shared_new(s, 5000);
  ze_ipc_mem_handle_t handle, bare = {{0}};
  uint32_t n = 0;
  void *opened;
  MUST(get(s.context, memory, &n, NULL));
  EQUAL(n, 1);
  n = 3;
  MUST(get(s.context, memory, &n, &handle));
  EQUAL(n, 1);
  memcpy(bare.data, handle.data, sizeof(int));
  ze_ipc_mem_handle_t *ways[] = {&handle, &bare};
  for (int i = 0; i < 2; i++) {
    memory[4999] = (char)(5 + i);
    RETURNS(ZE_RESULT_SUCCESS,
            open(s.context, s.device, 1, ways[i], 0, &opened));
    EQUAL(((char *)opened)[4999], 5 + i);
    MUST(zeMemCloseIpcHandle(s.context, opened));
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          open(s.context, s.device, 2, &handle, 0, &opened));
  memset(&bare, 0, sizeof bare);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          open(s.context, s.device, 1, &bare, 0, &opened));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, get(NULL, memory, &n, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          open(s.context, s.device, 1, NULL, 0, &opened));
  MUST(zeMemFree(s.context, memory));
}

static void test_import(void)
{
  ze_result_t (*import)(ze_driver_handle_t, void *, size_t) = NULL;
  ze_result_t (*release)(ze_driver_handle_t, void *) = NULL;
  ze_result_t (*base_of)(ze_driver_handle_t, void *, void **) = NULL;
  *(void **)&import = find("zexDriverImportExternalPointer");
  *(void **)&release = find("zexDriverReleaseImportedPointer");
  *(void **)&base_of = find("zexDriverGetHostPointerBaseAddress");
  static char memory[1000];
  void *base = NULL;
  if (!takes_host_pointers(s)) {
    RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            import(s.driver, memory, sizeof memory));
    return;
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, base_of(s.driver, memory, &base));
  RETURNS(ZE_RESULT_SUCCESS, import(s.driver, memory, sizeof memory));
  RETURNS(ZE_RESULT_SUCCESS, base_of(s.driver, memory + 999, &base));
  CHECK(base == memory);
  RETURNS(ZE_RESULT_SUCCESS, base_of(s.driver, memory, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          base_of(s.driver, memory + 1000, &base));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, release(s.driver, memory + 1));
  RETURNS(ZE_RESULT_SUCCESS, release(s.driver, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, release(s.driver, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE, import(s.driver, memory, 0));
}

static void test_makers(void)
{
  ze_result_t (*module_of)(ze_kernel_handle_t, ze_module_handle_t *) = NULL;
  ze_result_t (*device_of)(ze_module_handle_t, ze_device_handle_t *) = NULL;
  *(void **)&module_of = find("zeKernelGetModuleHandleExt");
  *(void **)&device_of = find("zeModuleGetDeviceHandleExt");
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv"), found;
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  ze_device_handle_t device;
  RETURNS(ZE_RESULT_SUCCESS, module_of(kernel, &found));
  CHECK(found == module);
  RETURNS(ZE_RESULT_SUCCESS, device_of(module, &device));
  CHECK(device == s.device);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, module_of(NULL, &found));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, device_of(module, NULL));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
}

int main(void)
{
  s = setup_new();
  ze_driver_ipc_properties_t ipc = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
  MUST(zeDriverGetIpcProperties(s.driver, &ipc));
  if (ipc.flags & ZE_IPC_PROPERTY_FLAG_MEMORY) test_handles();
  test_import();
  test_makers();
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
