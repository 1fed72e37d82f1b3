/*
 * memory_test.c - allocations and their properties, copies and fills.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

/* The memory of the device; see main. */
enum { DEVICE_BYTES = 64 << 20 };
static setup s;
static const ze_device_mem_alloc_desc_t device_desc = {
  .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
static const ze_host_mem_alloc_desc_t host_desc = {
  .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

static void test_allocation(void)
{
  ze_memory_allocation_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t device;
  void *memory[3], *base;
  size_t size;
  MUST(zeMemAllocHost(s.context, &host_desc, 1000, 0, &memory[0]));
  MUST(zeMemAllocDevice(s.context, &device_desc, 1, 0, s.device, &memory[1]));
  MUST(zeMemAllocShared(s.context, &device_desc, &host_desc, 1 << 20, 0,
                        s.device, &memory[2]));
  static const ze_memory_type_t types[3] = {
    ZE_MEMORY_TYPE_HOST, ZE_MEMORY_TYPE_DEVICE, ZE_MEMORY_TYPE_SHARED};
  static const size_t sizes[3] = {1000, 1, 1 << 20};
  uint64_t last = 0;
  for (int i = 0; i < 3; i++) {
    char *end = (char *)memory[i] + sizes[i] - 1;
    MUST(zeMemGetAllocProperties(s.context, end, &p, &device));
    EQUAL(p.type, types[i]);
    CHECK(p.id != 0 && p.id != last);
    CHECK(p.pageSize > 0);
    CHECK(device == (i == 0 ? NULL : s.device));
    last = p.id;
    MUST(zeMemGetAddressRange(s.context, end, &base, &size));
    CHECK(base == memory[i] && size == sizes[i]);
    MUST(zeMemGetAddressRange(s.context, memory[i], NULL, &size));
    MUST(zeMemGetAddressRange(s.context, memory[i], &base, NULL));
    CHECK(zeMemGetAddressRange(s.context, end + 1, &base, &size) !=
              ZE_RESULT_SUCCESS || base != memory[i]);
  }
  int here;
  MUST(zeMemGetAllocProperties(s.context, &here, &p, &device));
  EQUAL(p.type, ZE_MEMORY_TYPE_UNKNOWN);
  CHECK(device == NULL);
  /* Another context does not have it. */
  const ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t other;
  MUST(zeContextCreate(s.driver, &desc, &other));
  for (int i = 0; i < 3; i++) {
    MUST(zeMemGetAllocProperties(other, memory[i], &p, &device));
    EQUAL(p.type, ZE_MEMORY_TYPE_UNKNOWN);
    CHECK(p.id == 0 && device == NULL);
  }
  for (int i = 0; i < 3; i++) {
    ze_ipc_mem_handle_t handle;
    ze_memory_free_ext_desc_t later = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
      .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(other, memory[i]));
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            zeMemFreeExt(other, &later, memory[i]));
    CHECK(zeMemGetAddressRange(other, memory[i], &base, &size) !=
          ZE_RESULT_SUCCESS);
    if (takes_host_pointers(s))
      RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
              zeMemGetIpcHandle(other, memory[i], &handle));
  }
  MUST(zeContextDestroy(other));
  CHECK(zeMemFree(s.context, (char *)memory[2] + 64) != ZE_RESULT_SUCCESS);
  CHECK(zeMemFree(s.context, &here) != ZE_RESULT_SUCCESS);
  for (int i = 0; i < 3; i++) MUST(zeMemFree(s.context, memory[i]));
  CHECK(zeMemFree(s.context, memory[2]) != ZE_RESULT_SUCCESS);
  CHECK(zeMemGetAddressRange(s.context, memory[2], &base, &size) !=
        ZE_RESULT_SUCCESS);

  for (size_t alignment = 1; alignment <= 8 << 20; alignment *= 2) {
    void *aligned;
    MUST(zeMemAllocDevice(s.context, &device_desc, 100, alignment, s.device,
                          &aligned));
    if ((uintptr_t)aligned % alignment != 0)
      check_(__FILE__, __LINE__, false, "%p is not aligned to %zu", aligned,
             alignment);
    MUST(zeMemFree(s.context, aligned));
  }
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
          zeMemAllocHost(s.context, &host_desc, 100, 3, &base));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeMemAllocHost(s.context, &host_desc, 0, 0, &base));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeMemAllocDevice(s.context, &device_desc, SIZE_MAX, 0, s.device,
                           &base));
  /* Shared memory that belongs to no device. */
  MUST(zeMemAllocShared(s.context, &device_desc, &host_desc, 10, 0, NULL,
                        &base));
  MUST(zeMemFree(s.context, base));

  /* Many at once, freed in a different order. */
  enum { MANY = 2000 };
  void *many[MANY];
  for (size_t i = 0; i < MANY; i++)
    MUST(zeMemAllocHost(s.context, &host_desc, 1 + i % 777, 0, &many[i]));
  int wrong = 0;
  for (size_t i = 0; i < MANY; i++) {
    MUST(zeMemGetAddressRange(s.context, (char *)many[i] + i % 777, &base,
                              &size));
    wrong += base != many[i] || size != 1 + i % 777;
  }
  EQUAL(wrong, 0);
  for (size_t i = 0; i < MANY; i++)
    MUST(zeMemFree(s.context, many[i * 7 % MANY]));
}

/* Freed memory is reused for blocks of the same size, aligned as requested, and
   never for two blocks at once. */
static void test_reuse(void)
{
  enum { ALIVE = 40, ROUNDS = 2000 };
  static const size_t sizes[] = {100, 65536, 131071, 131072, 131073, 1 << 20,
                                 3 << 20, (3 << 20) + 1, 70 << 20};
  static const size_t alignments[] = {0, 4096, 1 << 17, 1 << 22};
  struct {
    char *at;
    size_t size;
  } blocks[ALIVE] = {{NULL, 0}};
  unsigned random = 1;
  int wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    int n = i % ALIVE;
    char tag = (char)n;
    random = random * 1103515245u + 12345u;
    if (blocks[n].at != NULL) {
      wrong += blocks[n].at[0] != tag ||
               blocks[n].at[blocks[n].size - 1] != tag;
      MUST(zeMemFree(s.context, blocks[n].at));
      blocks[n].at = NULL;
      if (random >> 16 & 1) continue;
    }
    size_t size = sizes[(random >> 17) % (sizeof sizes / sizeof *sizes)];
    size_t alignment = alignments[(random >> 25) % 4];
    void *memory;
    MUST(zeMemAllocHost(s.context, &host_desc, size, alignment, &memory));
    wrong += alignment > 0 && (uintptr_t)memory % alignment != 0;
    blocks[n].at = memory;
    blocks[n].size = size;
    blocks[n].at[0] = blocks[n].at[size - 1] = tag;
  }
  EQUAL(wrong, 0);
  for (int n = 0; n < ALIVE; n++)
    if (blocks[n].at != NULL) MUST(zeMemFree(s.context, blocks[n].at));
}

static void test_copies(ze_command_list_handle_t list, size_t size)
{
  unsigned char *a = shared_new(s, size), *b = shared_new(s, size);
  ze_event_pool_handle_t pool = pool_new(s, 0, 2);
  ze_event_handle_t done = event_new(pool, 0);
  for (size_t i = 0; i < size; i++) a[i] = (unsigned char)(i * 31 >> 3);
  memset(b, 0, size);
  MUST(zeCommandListAppendMemoryCopy(list, b, a, size, done, 0, NULL));
  MUST(zeEventHostSynchronize(done, UINT64_MAX));
  MUST(zeEventHostReset(done));
  check_(__FILE__, __LINE__, memcmp(a, b, size) == 0, "a copy of %zu", size);

  unsigned char pattern[128];
  for (int i = 0; i < 128; i++) pattern[i] = (unsigned char)(3 * i + 1);
  for (size_t n = 1; n <= 128; n *= 2) {
    size_t whole = size / n * n;
    memset(b, 0, size);
    MUST(zeCommandListAppendMemoryFill(list, b, pattern, n, whole, done, 0,
                                       NULL));
    MUST(zeEventHostSynchronize(done, UINT64_MAX));
    MUST(zeEventHostReset(done));
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
      wrong += b[i] != (i < whole ? pattern[i % n] : 0);
    check_(__FILE__, __LINE__, wrong == 0, "a fill of %zu by %zu: %zu wrong",
           whole, n, wrong);
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendMemoryFill(list, b, pattern, 3, 30, NULL, 0,
                                        NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendMemoryFill(list, b, pattern, 128, 64, NULL, 0,
                                        NULL));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, a));
  MUST(zeMemFree(s.context, b));
}

static void test_region(ze_command_list_handle_t list)
{
  enum { W = 16, H = 8, D = 3 };
  unsigned char *a = shared_new(s, W * H * D), *b = shared_new(s, W * H * D);
  for (int i = 0; i < W * H * D; i++) a[i] = (unsigned char)i;
  memset(b, 0xee, W * H * D);
  ze_copy_region_t to = {2, 1, 1, 5, 4, 2}, from = {7, 3, 0, 5, 4, 2};
  MUST(zeCommandListAppendMemoryCopyRegion(list, b, &to, W, W * H, a, &from, W,
                                           W * H, NULL, 0, NULL));
  int wrong = 0;
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        bool in = x >= 2 && x < 7 && y >= 1 && y < 5 && z >= 1 && z < 3;
        int want = in ? a[((z - 1) * H + y + 2) * W + x + 5] : 0xee;
        wrong += b[(z * H + y) * W + x] != want;
      }
  EQUAL(wrong, 0);
  to.width = 6;
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendMemoryCopyRegion(list, b, &to, W, W * H, a, &from,
                                              W, W * H, NULL, 0, NULL));
  MUST(zeMemFree(s.context, a));
  MUST(zeMemFree(s.context, b));
}

/* DEFER_FREE never waits, not even for an event that this thread has yet to
   signal.  The memory stays until its command is done. */
static void test_deferred(ze_command_list_handle_t list)
{
  enum { SIZE = 1 << 20 };
  ze_event_pool_handle_t pool = pool_new(s, 0, 2);
  ze_event_handle_t go = event_new(pool, 0), done = event_new(pool, 1);
  ze_memory_free_ext_desc_t later = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
    .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
  unsigned char *from = shared_new(s, SIZE), *to = shared_new(s, SIZE);
  void *other;
  memset(from, 0x5a, SIZE);
  MUST(zeCommandListAppendMemoryCopy(list, to, from, SIZE, done, 1, &go));
  MUST(zeMemFreeExt(s.context, &later, from));
  ze_memory_allocation_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  MUST(zeMemGetAllocProperties(s.context, from, &p, NULL));
  EQUAL(p.type, ZE_MEMORY_TYPE_UNKNOWN);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeMemFreeExt(s.context, &later, from));
  other = shared_new(s, SIZE);
  memset(other, 0xee, SIZE);
  MUST(zeEventHostSignal(go));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(done, UINT64_MAX));
  CHECK(to[0] == 0x5a && memcmp(to, to + 1, SIZE - 1) == 0);
  MUST(zeMemFree(s.context, other));
  later.freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
  MUST(zeMemFreeExt(s.context, &later, to));
  ze_driver_memory_free_ext_properties_t known = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES};
  ze_driver_properties_t driver = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, .pNext = &known};
  MUST(zeDriverGetProperties(s.driver, &driver));
  EQUAL(known.freePolicies, 3);
  MUST(zeEventDestroy(go));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(pool));
}

/* BLOCKING_FREE also frees after a failed command, and leaves the error to a
   caller that waits for the command. */
static void test_blocking(void)
{
  ze_memory_free_ext_desc_t blocking = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
    .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t gone = event_new(pool, 0);
  ze_command_queue_handle_t queue = queue_new(s);
  ze_command_list_handle_t list = list_new(s);
  void *memory = shared_new(s, 4096);
  MUST(zeCommandListAppendWaitOnEvents(list, 1, &gone));
  MUST(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  MUST(zeCommandListClose(list));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeEventDestroy(gone));
  RETURNS(ZE_RESULT_SUCCESS, zeMemFreeExt(s.context, &blocking, memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(s.context, memory));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeCommandQueueSynchronize(queue, UINT64_MAX));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeEventPoolDestroy(pool));
}

/* Commands that are pending when a queue or an immediate list is destroyed are
   waited for as usual.  Only one of the blocks fits into the device. */
static void test_destroyed(bool immediate)
{
  enum { BLOCK = DEVICE_BYTES / 2 + 1, SIZE = 1 << 16 };
  ze_event_pool_handle_t pool = pool_new(s, 0, 2);
  ze_event_handle_t go = event_new(pool, 0), done = event_new(pool, 1);
  ze_command_queue_handle_t queue = immediate ? NULL : queue_new(s);
  ze_command_list_handle_t list =
      immediate ? immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
                : list_new(s);
  ze_memory_free_ext_desc_t how = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
    .freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
  unsigned char *from = shared_new(s, BLOCK), *to = shared_new(s, SIZE);
  void *other, *unused = shared_new(s, SIZE);
  memset(from, 0x5a, SIZE);
  MUST(zeCommandListAppendMemoryCopy(list, to, from, SIZE, done, 1, &go));
  if (!immediate) {
    MUST(zeCommandListClose(list));
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    MUST(zeCommandQueueDestroy(queue));
  }
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFreeExt(s.context, &how, from));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          zeMemAllocShared(s.context, &device_desc, &host_desc, BLOCK, 0,
                           s.device, &other));
  MUST(zeEventHostSignal(go));
  how.freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
  MUST(zeMemFreeExt(s.context, &how, unused));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(done));
  CHECK(to[0] == 0x5a && memcmp(to, to + 1, SIZE - 1) == 0);
  RETURNS(ZE_RESULT_SUCCESS,
          zeMemAllocShared(s.context, &device_desc, &host_desc, BLOCK, 0,
                           s.device, &other));
  MUST(zeMemFree(s.context, other));
  MUST(zeMemFree(s.context, to));
  MUST(zeEventDestroy(go));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(pool));
}

/* A pattern larger than any OpenCL type. */
static void test_large_pattern(ze_command_list_handle_t list)
{
  enum { PATTERN = 4 << 20, TIMES = 3 };
  unsigned char *pattern = malloc(PATTERN);
  unsigned char *to = shared_new(s, TIMES * PATTERN);
  for (int i = 0; i < PATTERN; i++)
    pattern[i] = (unsigned char)(i * 7 + i / 256 + i / 65536);
  memset(to, 0, TIMES * PATTERN);
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendMemoryFill(list, to, pattern, PATTERN,
                                        TIMES * PATTERN, NULL, 0, NULL));
  for (int i = 0; i < TIMES; i++)
    CHECK(memcmp(to + i * PATTERN, pattern, PATTERN) == 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendMemoryFill(list, to, pattern, 2 * PATTERN,
                                        PATTERN, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeCommandListAppendMemoryFill(list, to, pattern, 3 << 10,
                                        TIMES * PATTERN, NULL, 0, NULL));
  free(pattern);
  MUST(zeMemFree(s.context, to));
}

/* The requested atomic access is stored until it changes. */
static void test_atomic_access(void)
{
  typedef ze_result_t setter(ze_context_handle_t, ze_device_handle_t,
                             const void *, size_t, uint32_t);
  typedef ze_result_t getter(ze_context_handle_t, ze_device_handle_t,
                             const void *, size_t, uint32_t *);
  enum { NO_HOST = 2, DEVICE = 16, SYSTEM = 64 };
  setter *set;
  getter *get;
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeMemSetAtomicAccessAttributeExp", (void **)&set));
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeMemGetAtomicAccessAttributeExp", (void **)&get));
  char *x = shared_new(s, 4096), here[64];
  uint32_t flags = 99;
  RETURNS(ZE_RESULT_SUCCESS, get(s.context, s.device, x, 4096, &flags));
  EQUAL(flags, 0);
  RETURNS(ZE_RESULT_SUCCESS, set(s.context, s.device, x, 4096, DEVICE));
  RETURNS(ZE_RESULT_SUCCESS, set(s.context, s.device, x + 64, 64, NO_HOST));
  MUST(get(s.context, s.device, x, 64, &flags));
  EQUAL(flags, DEVICE);
  MUST(get(s.context, s.device, x + 100, 8, &flags));
  EQUAL(flags, NO_HOST);
  ze_device_memory_access_properties_t can = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
  MUST(zeDeviceGetMemoryAccessProperties(s.device, &can));
  bool both = can.sharedSingleDeviceAllocCapabilities &
              ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
  RETURNS(both ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT,
          set(s.context, s.device, x, 4096, SYSTEM));
  MUST(get(s.context, s.device, x + 100, 8, &flags));
  EQUAL(flags, both ? SYSTEM : NO_HOST);
  if (takes_host_pointers(s)) {
    RETURNS(ZE_RESULT_SUCCESS, set(s.context, s.device, here, 64, DEVICE));
    MUST(get(s.context, s.device, here, 64, &flags));
    EQUAL(flags, DEVICE);
  } else
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            set(s.context, s.device, here, 64, DEVICE));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          set(s.context, s.device, x, 64, 128));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          set(s.context, s.device, x, 0, DEVICE));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          set(NULL, s.device, x, 64, DEVICE));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          set(s.context, NULL, x, 64, DEVICE));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          set(s.context, s.device, NULL, 64, DEVICE));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          get(s.context, s.device, x, 64, NULL));
  /* It applies to the allocation, not to the address. */
  for (int i = 0; i < 100; i++) {
    MUST(zeMemFree(s.context, x));
    x = shared_new(s, 4096);
    MUST(get(s.context, s.device, x, 64, &flags));
    if (flags != 0) break;
    MUST(set(s.context, s.device, x, 64, DEVICE));
  }
  EQUAL(flags, 0);
  MUST(zeMemFree(s.context, x));
  ze_host_mem_alloc_desc_t host = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  MUST(zeMemAllocHost(s.context, &host, 64, 0, (void **)&x));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          set(s.context, s.device, x, 64, DEVICE));
  MUST(zeMemFree(s.context, x));
}

int main(void)
{
  char bytes[20];
  snprintf(bytes, sizeof bytes, "%d", DEVICE_BYTES);
  setenv("ZOCL_MEMORY_BYTES", bytes, 1);
  s = setup_new();
  test_allocation();
  test_reuse();
  test_atomic_access();
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  test_copies(list, 1000);
  test_copies(list, 1000003);
  test_deferred(list);
  test_blocking();
  MUST(zeCommandListDestroy(list));
  test_destroyed(true);
  test_destroyed(false);
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  test_region(list);
  test_large_pattern(list);
  uint32_t value = 0;
  MUST(zeCommandListAppendMemoryPrefetch(list, &value, sizeof value));
  MUST(zeCommandListAppendMemAdvise(list, s.device, &value, sizeof value,
                                    ZE_MEMORY_ADVICE_SET_READ_MOSTLY));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeCommandListAppendMemAdvise(list, s.device, &value, sizeof value,
                                       (ze_memory_advice_t)99));
  MUST(zeCommandListDestroy(list));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
