/*
 * check.h - checks and a set-up shared by the driver's tests.
 * SPDX-License-Identifier: MIT
 *
 * Each check prints an 'ok' or 'not ok' line; main ends with CHECK_DONE, which
 * exits non-zero if one failed.  ZE_ENABLE_ALT_DRIVERS names the driver under
 * test.
 */
#ifndef CHECK_H
#define CHECK_H

#include <level_zero/ze_api.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int check_count, check_failed;

#ifdef __SANITIZE_ADDRESS__
/* PoCL and LLVM retain much until the end; these are not our leaks. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
  return "leak:libpocl\nleak:libLLVM\nleak:libOpenCL\n";
}
#endif

__attribute__((unused, format(printf, 4, 5))) static bool
check_(const char *file, int line, bool ok, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  check_count++;
  if (ok)
    printf("ok %d - %s\n", check_count, text);
  else {
    check_failed++;
    printf("not ok %d - %s (%s:%d)\n", check_count, text, file, line);
  }
  fflush(stdout);
  return ok;
}

/* Runs a command that must succeed. */
__attribute__((unused, format(printf, 1, 2))) static void
shell(const char *format, ...)
{
  char command[20000];
  va_list args;
  va_start(args, format);
  vsnprintf(command, sizeof command, format, args);
  va_end(args);
  if (system(command) != 0) {
    printf("not ok - %s\n", command);
    exit(1);
  }
}

/* A condition that must hold. */
#define CHECK(condition) \
  check_(__FILE__, __LINE__, (condition), "%s", #condition)

/* Two integers that must be equal; both are printed. */
#define EQUAL(left, right)                                                  \
  do {                                                                      \
    long long left_ = (long long)(left), right_ = (long long)(right);       \
    check_(__FILE__, __LINE__, left_ == right_, "%s = %lld, wanted %s = %lld", \
           #left, left_, #right, right_);                                   \
  } while (0)

/* A call that must return this result. */
#define RETURNS(wanted, call)                                               \
  do {                                                                      \
    ze_result_t wanted_ = (wanted), got_ = (call);                          \
    check_(__FILE__, __LINE__, got_ == wanted_, "%s is 0x%x, wanted 0x%x",  \
           #call, (unsigned)got_, (unsigned)wanted_);                       \
  } while (0)

/* A call that must succeed, or nothing after it makes sense. */
#define MUST(call)                                                          \
  do {                                                                      \
    ze_result_t got_ = (call);                                              \
    if (got_ != ZE_RESULT_SUCCESS) {                                        \
      check_(__FILE__, __LINE__, false, "%s is 0x%x", #call, (unsigned)got_); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

#define CHECK_DONE()                                                  \
  do {                                                                \
    printf("1..%d\n%d passed, %d failed\n", check_count,              \
           check_count - check_failed, check_failed);                 \
    return check_failed > 0;                                          \
  } while (0)

/* The first driver and device, and a context. */
typedef struct setup {
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  ze_context_handle_t context;
} setup;

/* The context lives as long as the process, so it is stored in memory that
   LeakSanitizer scans. */
__attribute__((unused)) static setup setup_new(void)
{
  __attribute__((used)) static setup made[16];
  static int count = 0;
  setup s;
  uint32_t one = 1;
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  MUST(zeInit(0));
  MUST(zeDriverGet(&one, &s.driver));
  one = 1;
  MUST(zeDeviceGet(s.driver, &one, &s.device));
  MUST(zeContextCreate(s.driver, &desc, &s.context));
  made[count++ % 16] = s;
  return s;
}

/* Returns the bytes of a file, allocated with malloc. */
__attribute__((unused)) static void *file_read(const char *path, size_t *size)
{
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    printf("not ok - cannot open %s\n", path);
    exit(1);
  }
  char *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, f);
  fclose(f);
  return bytes;
}

/* Returns kernels/saxpy.spv with its kernel renamed to `name`, of the same
   length.  A name that no other module has makes a module that is in no
   cache. */
__attribute__((unused)) static void *saxpy_named(const char *name, size_t *size)
{
  char *bytes = file_read("kernels/saxpy.spv", size);
  for (size_t i = 0; i + 5 <= *size; i++)
    if (memcmp(bytes + i, "saxpy", 5) == 0) memcpy(bytes + i, name, 5);
  return bytes;
}

/* Tries to make a module of SPIR-V; the log goes to text. */
__attribute__((unused)) static ze_result_t
module_try(setup s, const void *bytes, size_t size, ze_module_handle_t *module,
           char *text, size_t cap)
{
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = size,
                           .pInputModule = bytes};
  ze_module_build_log_handle_t log = NULL;
  ze_result_t result = zeModuleCreate(s.context, s.device, &desc, module, &log);
  if (log == NULL) {
    printf("not ok - a module without a log: 0x%x\n", (unsigned)result);
    exit(1);
  }
  MUST(zeModuleBuildLogGetString(log, &cap, text));
  MUST(zeModuleBuildLogDestroy(log));
  return result;
}

/* Makes a module of SPIR-V; a failure prints `name`. */
__attribute__((unused)) static ze_module_handle_t
module_new(setup s, const char *name, const void *bytes, size_t size)
{
  char text[65536];
  ze_module_handle_t module;
  ze_result_t result =
      module_try(s, bytes, size, &module, text, sizeof text);
  if (result != ZE_RESULT_SUCCESS) {
    printf("not ok - %s: 0x%x\n%s\n", name, (unsigned)result, text);
    exit(1);
  }
  return module;
}

/* Makes a module of a SPIR-V file. */
__attribute__((unused)) static ze_module_handle_t module_load(setup s,
                                                              const char *path)
{
  size_t size;
  void *bytes = file_read(path, &size);
  ze_module_handle_t module = module_new(s, path, bytes, size);
  free(bytes);
  return module;
}

__attribute__((unused)) static ze_kernel_handle_t
kernel_new(ze_module_handle_t module, const char *name)
{
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = name};
  ze_kernel_handle_t kernel;
  MUST(zeKernelCreate(module, &desc, &kernel));
  return kernel;
}

__attribute__((unused)) static ze_command_list_handle_t
immediate_new(setup s, ze_command_queue_mode_t mode)
{
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                  .mode = mode};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  return list;
}

__attribute__((unused)) static ze_command_queue_handle_t queue_new(setup s)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_queue_handle_t queue;
  MUST(zeCommandQueueCreate(s.context, s.device, &desc, &queue));
  return queue;
}

__attribute__((unused)) static ze_command_list_handle_t list_new(setup s)
{
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreate(s.context, s.device, &desc, &list));
  return list;
}

__attribute__((unused)) static void *shared_new(setup s, size_t size)
{
  ze_device_mem_alloc_desc_t device = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *memory;
  MUST(zeMemAllocShared(s.context, &device, &host, size, 64, s.device,
                        &memory));
  return memory;
}

__attribute__((unused)) static ze_event_pool_handle_t
pool_new(setup s, ze_event_pool_flags_t flags, uint32_t count)
{
  ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                               .flags = flags,
                               .count = count};
  ze_event_pool_handle_t pool;
  MUST(zeEventPoolCreate(s.context, &desc, 1, &s.device, &pool));
  return pool;
}

__attribute__((unused)) static ze_event_handle_t
event_new(ze_event_pool_handle_t pool, uint32_t index)
{
  ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                          .index = index,
                          .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                          .wait = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_event_handle_t event;
  MUST(zeEventCreate(pool, &desc, &event));
  return event;
}

/* Returns true if kernels accept any host pointer. */
__attribute__((unused)) static bool takes_host_pointers(setup s)
{
  ze_device_memory_access_properties_t p = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
  MUST(zeDeviceGetMemoryAccessProperties(s.device, &p));
  return p.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW;
}

/* Waits for a condition, however slow the machine is; scripts/run-tests ends a
   test that waits too long, and shows the condition. */
#define AWAIT(condition)                                           \
  do {                                                             \
    if (condition) break;                                          \
    printf("# %s:%d awaits %s\n", __FILE__, __LINE__, #condition); \
    fflush(stdout);                                                \
    while (!(condition)) pause_shortly();                          \
  } while (0)

__attribute__((unused)) static void pause_shortly(void)
{
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Returns the state of a process or thread as in /proc; X if it is gone. */
__attribute__((unused)) static char state_of(int thread)
{
  char path[64], state = 'X';
  snprintf(path, sizeof path, "/proc/%d/stat", thread);
  FILE *f = fopen(path, "r");
  if (f == NULL) return state;
  if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 'X';
  fclose(f);
  return state;
}

/* Returns the seconds of a monotonic clock. */
__attribute__((unused)) static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
