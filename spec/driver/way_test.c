/*
 * way_test.c - memory of each kind, in each way that the driver can obtain it.
 * SPDX-License-Identifier: MIT
 *
 * The way depends on the environment in which the driver is initialised, so
 * each case runs this program again.  Device memory is private to the device:
 * if the driver touches it itself, the case ends.
 */
#include "check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NONE = 77, SIZE = 4096 };

static setup s;
static ze_command_list_handle_t list;

static unsigned char *device_new(size_t size, size_t alignment)
{
  ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  void *memory;
  MUST(zeMemAllocDevice(s.context, &desc, size, alignment, s.device, &memory));
  return memory;
}

static void copy(void *to, const void *from, size_t size)
{
  MUST(zeCommandListAppendMemoryCopy(list, to, from, size, NULL, 0, NULL));
}

/* From host memory and back, through two allocations. */
static void test_copies(void)
{
  unsigned char out[SIZE], in[SIZE];
  unsigned char *a = device_new(SIZE, 0), *b = device_new(SIZE, 1 << 16);
  CHECK((uintptr_t)b % (1 << 16) == 0);
  for (int i = 0; i < SIZE; i++) out[i] = (unsigned char)(i * 7 >> 2);
  memset(in, 0, SIZE);
  copy(a, out, SIZE);
  copy(b + 3, a, SIZE - 3);
  copy(b, out + 100, 3);
  copy(b, a, 0);
  copy(in, b, SIZE);
  CHECK(memcmp(in, out + 100, 3) == 0);
  CHECK(memcmp(in + 3, out, SIZE - 3) == 0);
  /* The driver tracks neither end. */
  copy(in, out, SIZE);
  CHECK(memcmp(in, out, SIZE) == 0);
  MUST(zeMemFree(s.context, a));
  MUST(zeMemFree(s.context, b));
}

/* Patterns of all sizes at all offsets, regardless of what OpenCL prefers. */
static void test_fills(void)
{
  enum { ROOM = 600 };
  unsigned char pattern[128], got[ROOM], *a = device_new(ROOM, 0);
  size_t wrong = 0;
  for (int i = 0; i < 128; i++) pattern[i] = (unsigned char)(5 * i + 3);
  for (size_t n = 1; n <= 128; n *= 2)
    for (size_t at = 0; at < 20; at += at < 4 ? 1 : 5) {
      size_t size = (ROOM - at) / n / 2 * n;
      unsigned char zero = 0;
      MUST(zeCommandListAppendMemoryFill(list, a, &zero, 1, ROOM, NULL, 0,
                                         NULL));
      MUST(zeCommandListAppendMemoryFill(list, a + at, pattern, n, size, NULL,
                                         0, NULL));
      copy(got, a, ROOM);
      for (size_t i = 0; i < ROOM; i++)
        wrong += got[i] !=
                 (i < at || i >= at + size ? 0 : pattern[(i - at) % n]);
    }
  EQUAL(wrong, 0);
  MUST(zeCommandListAppendMemoryFill(list, got + 1, pattern, 4, 64, NULL, 0,
                                     NULL));
  CHECK(memcmp(got + 1, pattern, 4) == 0 && memcmp(got + 61, pattern, 4) == 0);
  MUST(zeMemFree(s.context, a));
}

/* Boxes with contiguous rows, contiguous slices, fully contiguous or not at
   all. */
static void test_regions(void)
{
  enum { W = 8, H = 4, D = 3, ALL = W * H * D };
  static const ze_copy_region_t regions[] = {
    {0, 0, 0, W, H, D}, {0, 1, 0, W, 2, D}, {2, 1, 1, 3, 2, 2},
    {1, 3, 2, 5, 1, 1}, {0, 0, 1, W, H, 1}, {4, 2, 0, 1, 2, 0}};
  unsigned char from[ALL], got[ALL], *a = device_new(ALL, 0);
  for (int i = 0; i < ALL; i++) from[i] = (unsigned char)(i + 1);
  for (size_t r = 0; r < sizeof regions / sizeof *regions; r++) {
    const ze_copy_region_t *b = &regions[r];
    unsigned char zero = 0;
    MUST(zeCommandListAppendMemoryFill(list, a, &zero, 1, ALL, NULL, 0, NULL));
    MUST(zeCommandListAppendMemoryCopyRegion(list, a, b, W, W * H, from, b, W,
                                             W * H, NULL, 0, NULL));
    copy(got, a, ALL);
    int wrong = 0;
    uint32_t depth = b->depth > 0 ? b->depth : 1;
    for (uint32_t z = 0; z < D; z++)
      for (uint32_t y = 0; y < H; y++)
        for (uint32_t x = 0; x < W; x++) {
          bool in = x >= b->originX && x < b->originX + b->width &&
                    y >= b->originY && y < b->originY + b->height &&
                    z >= b->originZ && z < b->originZ + depth;
          uint32_t i = (z * H + y) * W + x;
          wrong += got[i] != (in ? from[i] : 0);
        }
    check_(__FILE__, __LINE__, wrong == 0, "region %zu: %d wrong", r, wrong);
  }
  MUST(zeMemFree(s.context, a));
}

/* Timestamps written to memory that the host cannot touch. */
static void test_times(void)
{
  unsigned char *a = device_new(256, 0);
  uint64_t before, after, ticks, got;
  ze_kernel_timestamp_result_t times[2];
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 1);
  ze_event_handle_t event = event_new(pool, 0), both[2] = {event, event};
  size_t offsets[2] = {64, 0};
  MUST(zeDeviceGetGlobalTimestamps(s.device, &before, &ticks));
  MUST(zeCommandListAppendWriteGlobalTimestamp(list, (uint64_t *)a + 1, event,
                                               0, NULL));
  MUST(zeDeviceGetGlobalTimestamps(s.device, &after, &ticks));
  const uint64_t mask = (UINT64_C(1) << 56) - 1;
  copy(&got, a + 8, 8);
  CHECK(got >= (before & mask) && got <= (after & mask));
  MUST(zeCommandListAppendQueryKernelTimestamps(list, 2, both, a, offsets, NULL,
                                                0, NULL));
  copy(&times[0], a, sizeof *times);
  copy(&times[1], a + 64, sizeof *times);
  CHECK(times[0].global.kernelEnd > times[0].global.kernelStart);
  CHECK(memcmp(&times[0], &times[1], sizeof *times) == 0);
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, a));
}

/* Group counts, and the number of launches, in device memory.  Each work-item
   adds one to a variable of the module, which begins with 11. */
static void test_indirect(ze_module_handle_t module)
{
  ze_kernel_handle_t add = kernel_new(module, "count");
  unsigned char *a = device_new(256, 0);
  uint32_t got = 0;
  void *counter;
  struct {
    uint32_t launches, unused[3];
    ze_group_count_t groups[3];
  } what = {2, {0}, {{3, 2, 1}, {4, 1, 1}, {100, 1, 1}}};
  ze_kernel_handle_t kernels[3] = {add, add, add};
  MUST(zeModuleGetGlobalPointer(module, "counter", NULL, &counter));
  copy(a, &what, sizeof what);
  MUST(zeCommandListAppendLaunchMultipleKernelsIndirect(
      list, 3, kernels, (uint32_t *)(void *)a,
      (ze_group_count_t *)(void *)(a + 16), NULL, 0, NULL));
  copy(&got, counter, 4);
  EQUAL(got, 21);
  MUST(zeCommandListAppendLaunchKernelIndirect(
      list, add, (ze_group_count_t *)(void *)(a + 16), NULL, 0, NULL));
  copy(&got, counter, 4);
  EQUAL(got, 27);
  MUST(zeKernelDestroy(add));
  MUST(zeMemFree(s.context, a));
}

/* A linked list in device memory, each link a separate allocation. */
static void test_links(ze_kernel_handle_t follow)
{
  typedef struct node {
    struct node *next;
    uint32_t value;
  } node;
  node *nodes[3], *next = NULL;
  uint32_t *out = (uint32_t *)device_new(4, 0), got = 0;
  MUST(zeKernelSetIndirectAccess(follow,
                                 ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE));
  for (int i = 0; i < 3; i++) {
    node n = {next, (uint32_t)(i + 1) * 10};
    nodes[i] = (node *)(void *)device_new(sizeof n, 0);
    copy(nodes[i], &n, sizeof n);
    next = nodes[i];
    MUST(zeKernelSetArgumentValue(follow, 0, sizeof next, &next));
    MUST(zeKernelSetArgumentValue(follow, 1, sizeof out, &out));
    MUST(zeCommandListAppendLaunchKernel(list, follow,
                                         &(ze_group_count_t){1, 1, 1}, NULL, 0,
                                         NULL));
    copy(&got, out, 4);
    EQUAL(got, (i + 1) * (i + 2) / 2 * 10);
  }
  for (int i = 0; i < 3; i++) MUST(zeMemFree(s.context, nodes[i]));
  MUST(zeMemFree(s.context, out));
}

/* Memory that was not allocated here, and a variable of a module. */
static void test_others(ze_module_handle_t module, ze_kernel_handle_t count)
{
  ze_memory_allocation_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  const ze_group_count_t one = {1, 1, 1};
  uint32_t own = 5, got = 0, five = 5;
  void *pointer = &own;
  bool any = takes_host_pointers(s);
  MUST(zeKernelSetArgumentValue(count, 0, sizeof pointer, &pointer));
  RETURNS(any ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendLaunchKernel(list, count, &one, NULL, 0, NULL));
  EQUAL(own, any ? 6 : 5);
  MUST(zeMemGetAllocProperties(s.context, pointer, &p, NULL));
  EQUAL(p.type, ZE_MEMORY_TYPE_UNKNOWN);
  MUST(zeModuleGetGlobalPointer(module, "counter", NULL, &pointer));
  copy(pointer, &five, 4);
  MUST(zeKernelSetArgumentValue(count, 0, sizeof pointer, &pointer));
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, NULL, 0, NULL));
  copy(&got, pointer, 4);
  EQUAL(got, 6);
}

/* Returns the peak memory of this process, in KiB. */
static long peak_kib(void)
{
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

/* Memory of each kind and of many sizes is allocated and freed, and the process
   does not grow, although PoCL 6.0 leaks an object of 0.6 KiB for each block
   that is returned through Intel's extension. */
static void test_turnover(void)
{
  enum { ALIVE = 30, ROUNDS = 12000, WARM = ROUNDS / 3 };
  void *alive[ALIVE] = {NULL};
  const ze_host_mem_alloc_desc_t host = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  const ze_device_mem_alloc_desc_t device = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  const char *way = getenv("ZOCL_MEMORY");
  long before = 0;
  int wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    void **at = &alive[i % ALIVE];
    size_t size = 1 + (size_t)i * 7919 % 20000;
    ze_memory_allocation_properties_t p = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_memory_type_t type = (ze_memory_type_t)(ZE_MEMORY_TYPE_HOST + i % 3);
    if (*at != NULL) MUST(zeMemFree(s.context, *at));
    if (type == ZE_MEMORY_TYPE_HOST)
      MUST(zeMemAllocHost(s.context, &host, size, 0, at));
    else if (type == ZE_MEMORY_TYPE_DEVICE)
      *at = device_new(size, i % 7 == 0 ? 4096 : 0);
    else
      MUST(zeMemAllocShared(s.context, &device, &host, size, 0, s.device, at));
    MUST(zeMemGetAllocProperties(s.context, *at, &p, NULL));
    wrong += p.type != type || (type == ZE_MEMORY_TYPE_DEVICE && i % 7 == 0 &&
                                (uintptr_t)*at % 4096 != 0);
    if (i == WARM) before = peak_kib();
  }
  EQUAL(wrong, 0);
  for (int i = 0; i < ALIVE; i++) MUST(zeMemFree(s.context, alive[i]));
  /* Sanitizers retain freed host memory. */
  long grown = peak_kib() - before;
  check_(__FILE__, __LINE__, strcmp(way, "usm") != 0 || grown < 2048,
         "grown by %ld KiB", grown);
}

static int run(void)
{
  if (zeInit(0) != ZE_RESULT_SUCCESS) return NONE;
  s = setup_new();
  ze_module_handle_t probe = module_load(s, "spec/driver/kernels/probe.spv");
  ze_module_handle_t poll = module_load(s, "spec/driver/kernels/poll.spv");
  ze_module_handle_t globals =
      module_load(s, "spec/driver/kernels/globals.spv");
  ze_kernel_handle_t count = kernel_new(probe, "count");
  ze_kernel_handle_t follow = kernel_new(poll, "follow");
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  test_copies();
  test_fills();
  test_regions();
  test_times();
  test_indirect(globals);
  test_links(follow);
  test_others(globals, count);
  test_turnover();
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(count));
  MUST(zeKernelDestroy(follow));
  MUST(zeModuleDestroy(globals));
  MUST(zeModuleDestroy(probe));
  MUST(zeModuleDestroy(poll));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}

int main(int argc, char **argv)
{
  static const char *const ways[] = {"host", "usm", "svm"};
  if (argc > 1) return run();
  int ran = 0;
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
    for (int native = 0; native < 2; native++)
      for (int private = 0; private < 2; private++) {
        printf("# %s, native kernels %d, private %d\n", ways[w], native,
               private);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
          setenv("ZOCL_MEMORY", ways[w], 1);
          setenv("ZOCL_NATIVE_KERNELS", native ? "1" : "0", 1);
          setenv("ZOCL_DEVICE_MEMORY_PRIVATE", private ? "1" : "0", 1);
          execl(argv[0], argv[0], "run", NULL);
          _exit(127);
        }
        int status = 0;
        waitpid(child, &status, 0);
        bool none = WIFEXITED(status) && WEXITSTATUS(status) == NONE;
        if (none)
          printf("# this OpenCL does not have it\n");
        else
          check_(__FILE__, __LINE__, status == 0,
                 "%s, native kernels %d, private %d: status 0x%x", ways[w],
                 native, private, (unsigned)status);
        ran += !none;
      }
  /* At least one, or nothing was tested. */
  CHECK(ran > 0);
  CHECK_DONE();
}
