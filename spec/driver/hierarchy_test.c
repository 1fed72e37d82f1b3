/*
 * hierarchy_test.c - several devices, sub-devices, and the settings for tests.
 * SPDX-License-Identifier: MIT
 *
 * The devices depend on the environment in which the driver is initialised.
 * Each case therefore runs this program again, with the name of the case and
 * its own environment.
 */
#include "check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* The cases leave their objects to the end of the process. */
__attribute__((visibility("default"))) const char *
__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

static const char *self;

typedef struct devices {
  uint32_t count;
  ze_device_handle_t device[40];
} devices;

static ze_driver_handle_t driver_get(void)
{
  uint32_t one = 1;
  ze_driver_handle_t driver;
  MUST(zeInit(0));
  MUST(zeDriverGet(&one, &driver));
  return driver;
}

static devices devices_get(ze_driver_handle_t driver)
{
  devices d = {0};
  MUST(zeDeviceGet(driver, &d.count, NULL));
  MUST(zeDeviceGet(driver, &d.count, d.device));
  return d;
}

static devices subs_get(ze_device_handle_t device)
{
  devices d = {0};
  MUST(zeDeviceGetSubDevices(device, &d.count, NULL));
  MUST(zeDeviceGetSubDevices(device, &d.count, d.device));
  return d;
}

static ze_device_properties_t properties(ze_device_handle_t device)
{
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zeDeviceGetProperties(device, &p));
  return p;
}

/* Newer than the oldest loader: found by name. */
static ze_device_handle_t root_of(ze_driver_handle_t driver,
                                  ze_device_handle_t device)
{
  static ze_result_t (*get)(ze_device_handle_t, ze_device_handle_t *);
  ze_device_handle_t root = device;
  if (get == NULL)
    MUST(zeDriverGetExtensionFunctionAddress(driver, "zeDeviceGetRootDevice",
                                             (void **)&get));
  MUST(get(device, &root));
  return root;
}

/* Prints each device and each of its sub-devices: its UUID, its number, and the
   device that it reports as its parent. */
static int case_list(void)
{
  ze_driver_handle_t driver = driver_get();
  devices d = devices_get(driver);
  for (uint32_t i = 0; i < d.count; i++) {
    ze_device_properties_t p = properties(d.device[i]);
    devices s = subs_get(d.device[i]);
    ze_device_handle_t root = root_of(driver, d.device[i]);
    bool is_sub = (p.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0;
    printf("%s%02x%02x", i > 0 ? " " : "", p.uuid.id[0], p.uuid.id[1]);
    if (is_sub != (root != NULL)) printf("!");
    if (root != NULL) {
      devices r = subs_get(root);
      printf("<%u", r.count);
      if (p.subdeviceId >= r.count || r.device[p.subdeviceId] != d.device[i])
        printf("!");
    }
    for (uint32_t j = 0; j < s.count; j++) {
      ze_device_properties_t q = properties(s.device[j]);
      printf("%c%02x%02x", j > 0 ? ',' : '(', q.uuid.id[0], q.uuid.id[1]);
      if (q.subdeviceId != j || root_of(driver, s.device[j]) != d.device[i] ||
          !(q.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) ||
          subs_get(s.device[j]).count != 0)
        printf("!");
    }
    if (s.count > 0) printf(")");
  }
  printf("\n");
  return 0;
}

/* Prints why zeInit fails, or "" if it does not. */
static int case_why(void)
{
  ze_result_t (*fill)(ze_api_version_t, void *);
  ze_result_t (*table[32])(void *, const char **) = {NULL};
  const char *text = "";
  if (zeInit(0) != ZE_RESULT_SUCCESS) {
    void *library = dlopen(getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW);
    *(void **)&fill = dlsym(library, "zeGetDriverProcAddrTable");
    fill(ZE_MAKE_VERSION(1, 6), table);
    table[6](NULL, &text);
    dlclose(library); /* it stays, being linked with nodelete */
  }
  printf("%s\n", text);
  return 0;
}

/* ------------------------------------------------------------------------
 * Cases that check by themselves.
 */

/* Processor time of each thread of this process, in clock ticks. */
typedef struct usage {
  int count;
  struct { int id; long ticks; } thread[64];
} usage;

static usage usage_now(void)
{
  usage u = {0};
  DIR *directory = opendir("/proc/self/task");
  for (struct dirent *e; (e = readdir(directory)) != NULL && u.count < 64;) {
    char path[300], text[512] = "";
    unsigned long user = 0;
    if (*e->d_name == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
    FILE *f = fopen(path, "r");
    if (f == NULL) continue;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    if (at == NULL || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u "
                                     "%*u %*u %lu", &user) != 1)
      continue;
    u.thread[u.count].id = atoi(e->d_name);
    u.thread[u.count++].ticks = (long)user;
  }
  closedir(directory);
  return u;
}

/* Runs a kernel of many groups on `device`; returns the set of threads that
   worked, as bits by their place in /proc. */
static uint64_t threads_used(setup s, ze_kernel_handle_t kernel)
{
  uint32_t *out = shared_new(s, 4096), turns = 30000000;
  ze_group_count_t groups = {16, 1, 1};
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  MUST(zeKernelSetGroupSize(kernel, 1, 1, 1));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof out, &out));
  uint32_t warm = 1;
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof warm, &warm));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  usage before = usage_now();
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof turns, &turns));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  usage after = usage_now();
  uint64_t used = 0;
  for (int i = 0; i < after.count; i++) {
    long ticks = after.thread[i].ticks;
    for (int j = 0; j < before.count; j++)
      if (before.thread[j].id == after.thread[i].id)
        ticks -= before.thread[j].ticks;
    if (ticks >= 5) used |= UINT64_C(1) << i;
  }
  CHECK(out[0] != 0 && out[15] != 0);
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, out));
  return used;
}

/* Each sub-device works with its own share of the cores; a module built for the
   whole device runs on the parts. */
static int case_cores(void)
{
  setup s = setup_new();
  devices subs = subs_get(s.device);
  ze_kernel_handle_t kernel =
      kernel_new(module_load(s, "spec/driver/kernels/probe.spv"), "spin");
  EQUAL(subs.count, 2);
  uint64_t used[2];
  for (int i = 0; i < 2; i++) {
    setup part = s;
    part.device = subs.device[i];
    used[i] = threads_used(part, kernel);
    ze_device_properties_t p = properties(part.device);
    EQUAL(__builtin_popcountll(used[i]),
          p.numSlices * p.numSubslicesPerSlice * p.numEUsPerSubslice);
  }
  EQUAL(used[0] & used[1], 0);
  /* A kernel built for one part does not run on another. */
  setup part = s;
  part.device = subs.device[1];
  ze_kernel_handle_t other =
      kernel_new(module_load(part, "spec/driver/kernels/probe.spv"), "count");
  uint32_t *out = shared_new(s, 64);
  MUST(zeKernelSetArgumentValue(other, 0, sizeof out, &out));
  part.device = subs.device[0];
  ze_command_list_handle_t list =
      immediate_new(part, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_group_count_t one = {1, 1, 1};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendLaunchKernel(list, other, &one, NULL, 0, NULL));
  return check_failed;
}

/* More sub-devices than cores: they exist in name only, but work. */
static int case_emulated(void)
{
  setup s = setup_new();
  devices subs = subs_get(s.device);
  ze_kernel_handle_t kernel =
      kernel_new(module_load(s, "spec/driver/kernels/probe.spv"), "count");
  EQUAL(subs.count, 16);
  uint32_t *out = shared_new(s, 64);
  memset(out, 0, 64);
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof out, &out));
  for (uint32_t i = 0; i < subs.count; i++) {
    setup part = s;
    part.device = subs.device[i];
    ze_command_list_handle_t list =
        immediate_new(part, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_group_count_t one = {1, 1, 1};
    MUST(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
    MUST(zeCommandListDestroy(list));
  }
  EQUAL(out[0], 16);
  return check_failed;
}

static ze_result_t device_new(setup s, ze_device_handle_t device, size_t size,
                              void **memory)
{
  ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  return zeMemAllocDevice(s.context, &desc, size, 64, device, memory);
}

/* A megabyte for each of two devices, half of it for each sub-device. */
static int case_memory(void)
{
  setup s = setup_new();
  devices d = devices_get(s.driver), subs = subs_get(d.device[0]);
  ze_device_memory_properties_t m = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
  uint32_t one = 1;
  void *a, *b, *c;
  MUST(zeDeviceGetMemoryProperties(d.device[0], &one, &m));
  EQUAL(m.totalSize, 1 << 20);
  MUST(zeDeviceGetMemoryProperties(subs.device[0], &one, &m));
  EQUAL(m.totalSize, 1 << 19);
  EQUAL(properties(subs.device[0]).maxMemAllocSize, 1 << 19);
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          device_new(s, d.device[0], (1 << 20) + 1, &a));
  MUST(device_new(s, d.device[0], 1 << 20, &a));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          device_new(s, d.device[0], 1, &b));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          device_new(s, subs.device[1], 1, &b));
  MUST(device_new(s, d.device[1], 1 << 20, &b));
  MUST(zeMemFree(s.context, a));
  MUST(zeMemFree(s.context, b));
  MUST(device_new(s, subs.device[0], 1 << 19, &a));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          device_new(s, subs.device[0], 1, &b));
  MUST(device_new(s, subs.device[1], 1 << 19, &b));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          device_new(s, d.device[0], 1, &c));
  MUST(zeMemFree(s.context, a));
  MUST(device_new(s, subs.device[0], 1 << 19, &a));
  /* Host memory does not count. */
  ze_host_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  RETURNS(ZE_RESULT_SUCCESS,
          zeMemAllocHost(s.context, &desc, 4 << 20, 64, &c));
  return check_failed;
}

static bool peers(ze_device_handle_t a, ze_device_handle_t b)
{
  ze_bool_t can = 2;
  ze_device_p2p_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
  MUST(zeDeviceCanAccessPeer(a, b, &can));
  MUST(zeDeviceGetP2PProperties(a, b, &p));
  CHECK(can == ((p.flags & ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS) != 0));
  return can;
}

static int case_peers(void)
{
  setup s = setup_new();
  devices d = devices_get(s.driver), subs = subs_get(d.device[0]);
  CHECK(peers(d.device[0], d.device[1]));
  CHECK(peers(subs.device[0], d.device[1]));
  return check_failed;
}

/* A recorded launch cannot be changed to another device's memory or kernel,
   which could not have been appended. */
static void changes_of_peers(setup s, ze_device_handle_t device,
                             ze_kernel_handle_t kernel, void *memory)
{
  struct {
    int stype;
    const void *next;
    uint32_t flags;
  } extension = {.stype = 0x20016}, id_desc = {.stype = 0x20017, .flags = 0x41},
    change = {.stype = 0x20018};
  struct {
    int stype;
    const void *next;
    uint64_t id;
    uint32_t index;
    size_t size;
    const void *value;
  } argument = {.stype = 0x20019, .size = sizeof memory, .value = &memory};
  ze_result_t (*next_id)(ze_command_list_handle_t, const void *, uint32_t,
                         ze_kernel_handle_t *, uint64_t *);
  ze_result_t (*update)(ze_command_list_handle_t, const void *);
  ze_result_t (*update_kernels)(ze_command_list_handle_t, uint32_t, uint64_t *,
                                ze_kernel_handle_t *);
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeCommandListGetNextCommandIdWithKernelsExp",
      (void **)&next_id));
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeCommandListUpdateMutableCommandsExp", (void **)&update));
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeCommandListUpdateMutableCommandKernelsExp",
      (void **)&update_kernels));
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .pNext = &extension};
  const ze_group_count_t one = {1, 1, 1};
  setup there = {s.driver, device, s.context};
  ze_kernel_handle_t foreign =
      kernel_new(module_load(there, "spec/driver/kernels/probe.spv"), "count");
  ze_command_list_handle_t list;
  MUST(zeCommandListCreate(s.context, s.device, &desc, &list));
  MUST(next_id(list, &id_desc, 1, &kernel, &argument.id));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  change.next = &argument;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, update(list, &change));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          update_kernels(list, 1, &argument.id, &foreign));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof memory, &memory));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          update_kernels(list, 1, &argument.id, &kernel));
  MUST(zeCommandListDestroy(list));
}

static int case_no_peers(void)
{
  setup s = setup_new();
  devices d = devices_get(s.driver), subs = subs_get(d.device[0]);
  CHECK(peers(d.device[0], d.device[0]));
  CHECK(peers(subs.device[0], subs.device[1]));
  CHECK(peers(subs.device[0], d.device[0]));
  CHECK(!peers(d.device[0], d.device[1]));
  CHECK(!peers(subs.device[0], d.device[1]));
  void *own, *other;
  MUST(device_new(s, d.device[0], 4096, &own));
  MUST(device_new(s, d.device[1], 4096, &other));
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  uint32_t word = 7, back = 0;
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendMemoryFill(list, own, &word, 4, 4096, NULL, 0,
                                        NULL));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendMemoryCopy(list, &back, (char *)own + 4092, 4,
                                        NULL, 0, NULL));
  EQUAL(back, 7);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendMemoryFill(list, other, &word, 4, 4096, NULL, 0,
                                        NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendMemoryCopy(list, own, other, 4, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendMemoryCopy(list, (char *)other + 64, own, 4, NULL,
                                        0, NULL));
  ze_kernel_handle_t kernel =
      kernel_new(module_load(s, "spec/driver/kernels/probe.spv"), "count");
  ze_group_count_t one = {1, 1, 1};
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof other, &other));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof own, &own));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendMemoryCopy(list, &back, own, 4, NULL, 0, NULL));
  EQUAL(back, 8);
  changes_of_peers(s, d.device[1], kernel, other);
  return check_failed;
}

static sigjmp_buf escape;
static void on_fault(int number)
{
  (void)number;
  siglongjmp(escape, 1);
}

/* Returns true if the host can read at `pointer`. */
static bool host_reads(const void *pointer)
{
  struct sigaction old, fault = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &fault, &old);
  bool ok = sigsetjmp(escape, 1) == 0;
  if (ok) (void)*(const volatile char *)pointer;
  sigaction(SIGSEGV, &old, NULL);
  return ok;
}

/* Commands can access the memory of their device; the host cannot. */
static int case_private(void)
{
  setup s = setup_new();
  devices d = devices_get(s.driver);
  CHECK(!peers(d.device[0], d.device[1]));
  CHECK(!(properties(s.device).flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED));
  void *memory;
  MUST(device_new(s, s.device, 5000, &memory));
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  uint32_t word = 41, back = 0;
  MUST(zeCommandListAppendMemoryFill(list, memory, &word, 4, 5000, NULL, 0,
                                     NULL));
  CHECK(!host_reads(memory));
  ze_kernel_handle_t kernel =
      kernel_new(module_load(s, "spec/driver/kernels/probe.spv"), "count");
  ze_group_count_t one = {1, 1, 1};
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof memory, &memory));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  CHECK(!host_reads((char *)memory + 4999));
  MUST(zeCommandListAppendMemoryCopy(list, &back, memory, 4, NULL, 0, NULL));
  EQUAL(back, 42);
  char *shared = shared_new(s, 64);
  CHECK(host_reads(shared));
  RETURNS(ZE_RESULT_SUCCESS, zeMemFree(s.context, memory));
  RETURNS(ZE_RESULT_SUCCESS, zeMemFree(s.context, shared));
  return check_failed;
}

static int case_gpu(void)
{
  setup g = setup_new();
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zeDeviceGetProperties(g.device, &p));
  EQUAL(p.type, ZE_DEVICE_TYPE_GPU);
  return check_failed;
}

/* A second group of queues, which can only copy. */
static int case_copy_engine(void)
{
  setup c = setup_new();
  ze_command_queue_group_properties_t groups[3];
  uint32_t n = 3;
  MUST(zeDeviceGetCommandQueueGroupProperties(c.device, &n, groups));
  EQUAL(n, 2);
  EQUAL(groups[1].flags, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .ordinal = 1,
                                  .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t list, compute = list_new(c);
  ze_command_queue_handle_t queue;
  MUST(zeCommandListCreateImmediate(c.context, c.device, &desc, &list));
  int from = 5, to = 0;
  MUST(zeCommandListAppendMemoryCopy(list, &to, &from, sizeof to, NULL, 0,
                                     NULL));
  EQUAL(to, 5);
  ze_module_handle_t module = module_load(c, "spec/driver/kernels/probe.spv");
  ze_kernel_handle_t k = kernel_new(module, "count");
  ze_group_count_t one = {1, 1, 1};
  RETURNS(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
          zeCommandListAppendLaunchKernel(list, k, &one, NULL, 0, NULL));
  MUST(zeCommandQueueCreate(c.context, c.device, &desc, &queue));
  MUST(zeCommandListClose(compute));
  RETURNS(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
          zeCommandQueueExecuteCommandLists(queue, 1, &compute, NULL));
  desc.ordinal = 2;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandQueueCreate(c.context, c.device, &desc, &queue));
  return check_failed;
}

/* Groups of two queues. */
static int case_queues(void)
{
  setup c = setup_new();
  ze_command_queue_group_properties_t group;
  uint32_t n = 1;
  MUST(zeDeviceGetCommandQueueGroupProperties(c.device, &n, &group));
  EQUAL(group.numQueues, 2);
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                                  .index = 1};
  ze_command_list_handle_t list;
  ze_command_queue_handle_t queue;
  MUST(zeCommandListCreateImmediate(c.context, c.device, &desc, &list));
  MUST(zeCommandQueueCreate(c.context, c.device, &desc, &queue));
  desc.index = 2;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListCreateImmediate(c.context, c.device, &desc, &list));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandQueueCreate(c.context, c.device, &desc, &queue));
  return check_failed;
}

/* Commands begin, and are seen to end, a fifth of a second late. */
static int case_delays(void)
{
  setup s = setup_new();
  uint64_t *stamp = shared_new(s, 64), host, before;
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  ze_event_handle_t event = event_new(pool, 0);
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  MUST(zeDeviceGetGlobalTimestamps(s.device, &host, &before));
  double start = seconds();
  MUST(zeCommandListAppendWriteGlobalTimestamp(list, stamp, event, 0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(event, 250000000));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  CHECK(seconds() - start >= 0.4);
  CHECK(*stamp - before >= 200000000);
  return check_failed;
}

static const struct {
  const char *name;
  int (*run)(void);
} cases[] = {
  {"list", case_list},         {"why", case_why},
  {"cores", case_cores},       {"emulated", case_emulated},
  {"memory", case_memory},     {"peers", case_peers},
  {"no_peers", case_no_peers}, {"private", case_private},
  {"gpu", case_gpu},
  {"copy_engine", case_copy_engine}, {"queues", case_queues},
  {"delays", case_delays},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Runs a case with definitions added to the environment, separated by blanks;
   returns its status, and the first line that it wrote in `line`. */
static int again(const char *name, const char *definitions, char *line,
                 size_t size)
{
  int ends[2];
  fflush(stdout);
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    char text[512];
    snprintf(text, sizeof text, "%s", definitions);
    char *rest = NULL;
    for (char *d = strtok_r(text, " ", &rest); d != NULL;
         d = strtok_r(NULL, " ", &rest))
      putenv(strdup(d));
    dup2(ends[1], 1);
    close(ends[0]);
    execl(self, self, name, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  FILE *f = fdopen(ends[0], "r");
  char rest[512];
  line[0] = '\0';
  if (fgets(line, (int)size, f) != NULL) line[strcspn(line, "\n")] = '\0';
  while (fgets(rest, sizeof rest, f) != NULL)
    if (strncmp(rest, "not ok", 6) == 0) printf("%s", rest);
  fclose(f);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void passes(const char *name, const char *definitions)
{
  char line[512];
  int status = again(name, definitions, line, sizeof line);
  if (strncmp(line, "not ok", 6) == 0) printf("%s\n", line);
  check_(__FILE__, __LINE__, status == 0, "case %s, %s: status 0x%x", name,
         definitions, (unsigned)status);
}

/* In `format`, each letter is a device.  There are two with two parts each: A
   and B are whole devices, a b and c d their parts. */
static char uuids[6][5];

static void shows(const char *definitions, const char *format)
{
  char line[512], wanted[512] = "", all[600];
  for (const char *p = format; *p != '\0'; p++) {
    const char *letters = "AabBcd", *letter = strchr(letters, *p);
    if (letter != NULL)
      strcat(wanted, uuids[letter - letters]);
    else
      strncat(wanted, p, 1);
  }
  snprintf(all, sizeof all, "ZOCL_ROOT_DEVICES=2 ZOCL_SUB_DEVICES=2 %s",
           definitions);
  int status = again("list", all, line, sizeof line);
  check_(__FILE__, __LINE__, status == 0 && strcmp(line, wanted) == 0,
         "%s shows %s, wanted %s which is %s", definitions, line, format,
         wanted);
}

static void fails(const char *definitions, const char *why)
{
  char line[512];
  int status = again("why", definitions, line, sizeof line);
  check_(__FILE__, __LINE__, status == 0 && strstr(line, why) != NULL,
         "%s: \"%s\", wanted \"%s\"", definitions, line, why);
}

int main(int argc, char **argv)
{
  self = argv[0];
  if (argc > 1)
    for (size_t i = 0; i < CASES; i++)
      if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run() != 0;
  unsetenv("ZE_AFFINITY_MASK");
  unsetenv("ZE_FLAT_DEVICE_HIERARCHY");

  char line[512];
  again("list", "ZOCL_ROOT_DEVICES=2 ZOCL_SUB_DEVICES=2", line, sizeof line);
  EQUAL(sscanf(line, "%4s(%4[^,],%4[^)]) %4s(%4[^,],%4[^)])", uuids[0],
               uuids[1], uuids[2], uuids[3], uuids[4], uuids[5]), 6);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < i; j++) CHECK(strcmp(uuids[i], uuids[j]) != 0);
  shows("", "A(a,b) B(c,d)");
  shows("ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE", "A(a,b) B(c,d)");
  shows("ZE_FLAT_DEVICE_HIERARCHY=FLAT", "a b c d");
  shows("ZE_FLAT_DEVICE_HIERARCHY=COMBINED", "a<2 b<2 c<2 d<2");
  /* A device's UUID does not depend on other devices. */
  shows("ZOCL_ROOT_DEVICES=1 ZOCL_SUB_DEVICES=0", "A");

  shows("ZE_AFFINITY_MASK=0,1", "A(a,b) B(c,d)");
  shows("ZE_AFFINITY_MASK=0", "A(a,b)");
  shows("ZE_AFFINITY_MASK=1", "B(c,d)");
  shows("ZE_AFFINITY_MASK=0.0", "a");
  shows("ZE_AFFINITY_MASK=1.0,1.1", "B(c,d)");
  shows("ZE_AFFINITY_MASK=1.1,0", "A(a,b) d");
  shows("ZE_AFFINITY_MASK=1.1,0.0", "a d");
  shows("ZE_AFFINITY_MASK=7,1.0", "c");
  shows("ZE_AFFINITY_MASK=", "A(a,b) B(c,d)");
  shows("ZE_AFFINITY_MASK=0,3 ZE_FLAT_DEVICE_HIERARCHY=FLAT", "a d");
  shows("ZE_AFFINITY_MASK=2 ZE_FLAT_DEVICE_HIERARCHY=FLAT", "c");
  shows("ZE_AFFINITY_MASK=1,2,3 ZE_FLAT_DEVICE_HIERARCHY=COMBINED",
        "b<1 c<2 d<2");
  fails("ZE_AFFINITY_MASK=0.0 ZE_FLAT_DEVICE_HIERARCHY=FLAT",
        "there is nothing below a device");
  fails("ZE_AFFINITY_MASK=gpu", "ZE_AFFINITY_MASK=gpu is not a list");
  fails("ZE_AFFINITY_MASK=0,", "ZE_AFFINITY_MASK=0, is not a list");
  fails("ZE_AFFINITY_MASK=9", "ZE_AFFINITY_MASK=9 leaves none");
  fails("ZE_FLAT_DEVICE_HIERARCHY=flat",
        "ZE_FLAT_DEVICE_HIERARCHY=flat is not COMPOSITE, FLAT or COMBINED");

  fails("ZOCL_ROOT_DEVICES=0", "ZOCL_ROOT_DEVICES=0 is not a number from 1");
  fails("ZOCL_SYSFS_ROOT=sys", "ZOCL_SYSFS_ROOT=sys is not the full name");
  fails("ZOCL_SUB_DEVICES=two", "ZOCL_SUB_DEVICES=two is not a number");
  fails("ZOCL_PEER_ACCESS=", "ZOCL_PEER_ACCESS= is not a number from 0 to 1");
  fails("ZOCL_MEMORY_BYTES=99999999999999999999", "is not a number");
  fails("ZOCL_MEMORY=gpu", "ZOCL_MEMORY=gpu is not host, usm or svm");
  fails("ZOCL_DEVICES=2", "ZOCL_DEVICES is not known, of ZOCL_ROOT_DEVICES, ");

  passes("cores", "ZOCL_SUB_DEVICES=2");
  passes("emulated", "ZOCL_SUB_DEVICES=16");
  passes("memory",
         "ZOCL_ROOT_DEVICES=2 ZOCL_SUB_DEVICES=2 ZOCL_MEMORY_BYTES=1048576");
  passes("peers", "ZOCL_ROOT_DEVICES=2 ZOCL_SUB_DEVICES=2");
  passes("no_peers",
         "ZOCL_ROOT_DEVICES=2 ZOCL_SUB_DEVICES=2 ZOCL_PEER_ACCESS=0");
  passes("private", "ZOCL_ROOT_DEVICES=2 ZOCL_DEVICE_MEMORY_PRIVATE=1");
  passes("gpu", "ZOCL_GPU=1");
  passes("copy_engine", "ZOCL_COPY_ENGINE=1");
  passes("queues", "ZOCL_QUEUES=2");
  passes("delays", "ZOCL_DELAY_START_US=200000 ZOCL_DELAY_END_US=200000");
  CHECK_DONE();
}
