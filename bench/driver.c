/*
 * driver.c - the driver's costs, compared with OpenCL, memcpy and a bare futex,
 * in interleaved rounds of one process; and the time of small calls.
 * SPDX-License-Identifier: MIT
 *
 *   driver [ROUNDS]
 *
 * Each row has the medians of the rounds of the driver and of the reference,
 * and the median of their ratios; "most" is the target.  The Level Zero device
 * is the first of the first driver, the OpenCL device the first of the first
 * platform.
 */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <level_zero/ze_api.h>

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  ITEMS = 64,        /* so few that the launch itself is measured */
  LAUNCHES = 1000,
  STEPS = 64,        /* launches recorded once and run again */
  COPY = 16 << 20,
  TURNS = 2000,      /* signals from thread to thread and back */
  CALLS = 1000,
  WARM_UP = 3,
  MAX_ROUNDS = 1000
};

_Noreturn static void die(const char *format, ...)
{
  va_list list;
  va_start(list, format);
  fputs("driver: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  exit(EXIT_FAILURE);
}

#define ZE(call)                                                    \
  do {                                                              \
    ze_result_t result_ = (call);                                   \
    if (result_ != ZE_RESULT_SUCCESS)                               \
      die("%s is 0x%x", #call, (unsigned)result_);                  \
  } while (0)
#define CL(call)                                                    \
  do {                                                              \
    cl_int error_ = (call);                                         \
    if (error_ != CL_SUCCESS) die("%s is %d", #call, (int)error_);  \
  } while (0)

static char *read_file(const char *path, size_t *size)
{
  FILE *f = fopen(path, "rb");
  if (f == NULL) die("%s: run this in the top directory", path);
  char *bytes = calloc(1, 1 << 20);
  *size = fread(bytes, 1, (1 << 20) - 1, f);
  fclose(f);
  return bytes;
}

/* ------------------------------------------------------------------------
 * The two interfaces.
 */

static ze_context_handle_t context;
static ze_device_handle_t device;
static ze_kernel_handle_t kernel;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t immediate, closed;
static ze_event_handle_t events[2];
static float *x, *y;

static ze_module_desc_t module_desc = {
  .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV};

static cl_command_queue cl_queue;
static cl_context cl_place;
static cl_device_id cl_device;
static unsigned char *cl_binary;
static size_t cl_binary_size;
static cl_kernel cl_saxpy;
static float *cl_x, *cl_y;

static char *from, *to;

/* Newer than the headers; graphs are from 1.17. */
typedef struct graph graph;
typedef struct executable executable;
static ze_result_t (*append_lists)(ze_command_list_handle_t, uint32_t,
                                   ze_command_list_handle_t *,
                                   ze_event_handle_t, uint32_t,
                                   ze_event_handle_t *);
static ze_result_t (*capture_begin)(ze_command_list_handle_t, const void *);
static ze_result_t (*capture_end)(ze_command_list_handle_t, const void *,
                                  graph **);
static ze_result_t (*graph_instantiate)(graph *, const void *, executable **);
static ze_result_t (*graph_append)(ze_command_list_handle_t, executable *,
                                   const void *, ze_event_handle_t, uint32_t,
                                   ze_event_handle_t *);
static ze_result_t (*executable_destroy)(executable *);
static ze_result_t (*graph_destroy)(graph *);
static ze_command_list_handle_t recorded;
static graph *captured;
static executable *instantiated;

static void *shared_new(size_t size)
{
  ze_device_mem_alloc_desc_t d = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t h = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *memory;
  ZE(zeMemAllocShared(context, &d, &h, size, 64, device, &memory));
  memset(memory, 0, size);
  return memory;
}

static void ze_arguments(float a)
{
  ZE(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  ZE(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  ZE(zeKernelSetArgumentValue(kernel, 2, sizeof y, &y));
}

static void ze_start(void)
{
  uint32_t one = 1;
  ze_driver_handle_t driver;
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ZE(zeInit(0));
  ZE(zeDriverGet(&one, &driver));
  one = 1;
  ZE(zeDeviceGet(driver, &one, &device));
  ZE(zeContextCreate(driver, &context_desc, &context));
  ze_module_handle_t module;
  module_desc.pInputModule = (const uint8_t *)read_file(
      "kernels/saxpy.spv", &module_desc.inputSize);
  ZE(zeModuleCreate(context, device, &module_desc, &module, NULL));
  ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                                  .pKernelName = "saxpy"};
  ZE(zeKernelCreate(module, &kernel_desc, &kernel));
  ZE(zeKernelSetGroupSize(kernel, ITEMS, 1, 1));
  ze_command_queue_desc_t queue_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ZE(zeCommandQueueCreate(context, device, &queue_desc, &queue));
  ZE(zeCommandListCreateImmediate(context, device, &queue_desc, &immediate));
  x = shared_new(ITEMS * sizeof *x);
  y = shared_new(ITEMS * sizeof *y);
  for (int i = 0; i < ITEMS; i++) x[i] = 1;
  from = shared_new(COPY);
  to = shared_new(COPY);
  ze_command_list_desc_t list_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ZE(zeCommandListCreate(context, device, &list_desc, &closed));
  ze_group_count_t one_group = {1, 1, 1};
  for (int i = 0; i < LAUNCHES; i++) {
    ze_arguments((float)(i % 2));
    ZE(zeCommandListAppendLaunchKernel(closed, kernel, &one_group, NULL, 0,
                                       NULL));
  }
  ZE(zeCommandListClose(closed));
  ze_event_pool_handle_t pool;
  ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                    .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                    .count = 2};
  ZE(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
  for (uint32_t i = 0; i < 2; i++) {
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i};
    ZE(zeEventCreate(pool, &desc, &events[i]));
  }
}

/* Appends launches that add 0 to y. */
static void steps_append(ze_command_list_handle_t list)
{
  ze_group_count_t one = {1, 1, 1};
  for (int i = 0; i < STEPS; i++) {
    ze_arguments(0);
    ZE(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  }
}

static void steps_record(void)
{
  ZE(zeCommandListReset(recorded));
  steps_append(recorded);
  ZE(zeCommandListClose(recorded));
}

static void steps_capture(void)
{
  if (instantiated != NULL) {
    ZE(executable_destroy(instantiated));
    ZE(graph_destroy(captured));
  }
  ZE(capture_begin(immediate, NULL));
  steps_append(immediate);
  ZE(capture_end(immediate, NULL, &captured));
  ZE(graph_instantiate(captured, NULL, &instantiated));
}

/* Returns false if the driver lacks one of the two. */
static bool replay_start(void)
{
  const struct {
    void *function;
    const char *name;
  } all[] = {
    {&append_lists, "zeCommandListImmediateAppendCommandListsExp"},
    {&capture_begin, "zeCommandListBeginGraphCaptureExt"},
    {&capture_end, "zeCommandListEndGraphCaptureExt"},
    {&graph_instantiate, "zeGraphInstantiateExt"},
    {&graph_append, "zeCommandListAppendGraphExt"},
    {&executable_destroy, "zeExecutableGraphDestroyExt"},
    {&graph_destroy, "zeGraphDestroyExt"},
  };
  ze_driver_handle_t driver;
  uint32_t one = 1;
  ZE(zeDriverGet(&one, &driver));
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (zeDriverGetExtensionFunctionAddress(
            driver, all[i].name, (void **)all[i].function) !=
        ZE_RESULT_SUCCESS)
      return false;
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ZE(zeCommandListCreate(context, device, &desc, &recorded));
  steps_record();
  steps_capture();
  return true;
}

static void cl_start(void)
{
  cl_platform_id platform;
  cl_device_id id;
  cl_int error;
  size_t size;
  const char *source = read_file("kernels/saxpy.cl", &size);
  CL(clGetPlatformIDs(1, &platform, NULL));
  CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL));
  cl_context c = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
  CL(error);
  cl_queue = clCreateCommandQueueWithProperties(c, id, NULL, &error);
  CL(error);
  cl_program program = clCreateProgramWithSource(c, 1, &source, NULL, &error);
  CL(error);
  CL(clBuildProgram(program, 1, &id, "", NULL, NULL));
  cl_saxpy = clCreateKernel(program, "saxpy", &error);
  CL(error);
  cl_place = c;
  cl_device = id;
  CL(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof cl_binary_size,
                      &cl_binary_size, NULL));
  cl_binary = malloc(cl_binary_size);
  CL(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof cl_binary,
                      &cl_binary, NULL));
  cl_x = clSVMAlloc(c, CL_MEM_READ_WRITE, ITEMS * sizeof *cl_x, 0);
  cl_y = clSVMAlloc(c, CL_MEM_READ_WRITE, ITEMS * sizeof *cl_y, 0);
  if (cl_x == NULL || cl_y == NULL) die("clSVMAlloc fails");
  for (int i = 0; i < ITEMS; i++) cl_x[i] = 1;
  memset(cl_y, 0, ITEMS * sizeof *cl_y);
}

/* ------------------------------------------------------------------------
 * The measured operations.
 */

static void ze_launches(void)
{
  ze_group_count_t one = {1, 1, 1};
  for (int i = 0; i < LAUNCHES; i++) {
    ze_arguments((float)(i % 2));
    ZE(zeCommandListAppendLaunchKernel(immediate, kernel, &one,
                                       i == LAUNCHES - 1 ? events[0] : NULL, 0,
                                       NULL));
  }
  ZE(zeEventHostSynchronize(events[0], UINT64_MAX));
  ZE(zeEventHostReset(events[0]));
}

static void ze_closed(void)
{
  ZE(zeCommandQueueExecuteCommandLists(queue, 1, &closed, NULL));
  ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
}

static void cl_launches(void)
{
  const size_t items = ITEMS;
  for (int i = 0; i < LAUNCHES; i++) {
    float a = (float)(i % 2);
    CL(clSetKernelArg(cl_saxpy, 0, sizeof a, &a));
    CL(clSetKernelArgSVMPointer(cl_saxpy, 1, cl_x));
    CL(clSetKernelArgSVMPointer(cl_saxpy, 2, cl_y));
    CL(clEnqueueNDRangeKernel(cl_queue, cl_saxpy, 1, NULL, &items, &items, 0,
                              NULL, NULL));
  }
  CL(clFinish(cl_queue));
}

static void steps_over(void)
{
  ZE(zeEventHostSynchronize(events[0], UINT64_MAX));
  ZE(zeEventHostReset(events[0]));
}

static void run_captured(void)
{
  ZE(graph_append(immediate, instantiated, NULL, events[0], 0, NULL));
  steps_over();
}

static void run_recorded(void)
{
  ZE(append_lists(immediate, 1, &recorded, events[0], 0, NULL));
  steps_over();
}

static void ze_copy(void)
{
  ZE(zeCommandListAppendMemoryCopy(immediate, to, from, COPY, events[0], 0,
                                   NULL));
  ZE(zeEventHostSynchronize(events[0], UINT64_MAX));
  ZE(zeEventHostReset(events[0]));
}

static void plain_copy(void)
{
  memcpy(to, from, COPY);
  __asm__ volatile("" ::: "memory");
}

/* Signals another thread, which signals back; TURNS times. */
static void *ze_answer(void *unused)
{
  (void)unused;
  for (int i = 0; i < TURNS; i++) {
    ZE(zeEventHostSynchronize(events[0], UINT64_MAX));
    ZE(zeEventHostReset(events[0]));
    ZE(zeEventHostSignal(events[1]));
  }
  return NULL;
}

static void ze_signals(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, ze_answer, NULL);
  for (int i = 0; i < TURNS; i++) {
    ZE(zeEventHostSignal(events[0]));
    ZE(zeEventHostSynchronize(events[1], UINT64_MAX));
    ZE(zeEventHostReset(events[1]));
  }
  pthread_join(thread, NULL);
}

static _Atomic uint32_t words[2];

static void futex_wait(_Atomic uint32_t *word)
{
  while (atomic_load(word) == 0)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  atomic_store(word, 0);
}

static void futex_signal(_Atomic uint32_t *word)
{
  atomic_store(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *futex_answer(void *unused)
{
  (void)unused;
  for (int i = 0; i < TURNS; i++) {
    futex_wait(&words[0]);
    futex_signal(&words[1]);
  }
  return NULL;
}

static void futex_signals(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, futex_answer, NULL);
  for (int i = 0; i < TURNS; i++) {
    futex_signal(&words[0]);
    futex_wait(&words[1]);
  }
  pthread_join(thread, NULL);
}

static void ze_lists(void)
{
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  for (int i = 0; i < CALLS; i++) {
    ze_command_list_handle_t list;
    ZE(zeCommandListCreate(context, device, &desc, &list));
    ZE(zeCommandListDestroy(list));
  }
}

static void ze_immediates(void)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  for (int i = 0; i < CALLS; i++) {
    ze_command_list_handle_t list;
    ZE(zeCommandListCreateImmediate(context, device, &desc, &list));
    ZE(zeCommandListDestroy(list));
  }
}

static void ze_allocations(void)
{
  ze_device_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  enum { ALIVE = 50 };
  void *memory[ALIVE];
  for (int i = 0; i < CALLS; i += ALIVE) {
    for (int j = 0; j < ALIVE; j++)
      ZE(zeMemAllocDevice(context, &desc, 1 << 20, 64, device, &memory[j]));
    for (int j = 0; j < ALIVE; j++) ZE(zeMemFree(context, memory[j]));
  }
}

static void ze_module(void)
{
  ze_module_handle_t module;
  ZE(zeModuleCreate(context, device, &module_desc, &module, NULL));
  ZE(zeModuleDestroy(module));
}

static void cl_module(void)
{
  const unsigned char *binary = cl_binary;
  cl_int error;
  cl_program program = clCreateProgramWithBinary(
      cl_place, 1, &cl_device, &cl_binary_size, &binary, NULL, &error);
  CL(error);
  CL(clBuildProgram(program, 1, &cl_device, "", NULL, NULL));
  CL(clReleaseProgram(program));
}

/* ------------------------------------------------------------------------
 * Measuring.
 */

static const struct {
  const char *name, *other;
  void (*run)(void), (*reference)(void);
  int calls;             /* in one run */
  double most;           /* ratio, or microseconds per call */
} rows[] = {
  {"launch, asynchronous", "OpenCL", ze_launches, cl_launches, LAUNCHES, 1.10},
  {"launch of a closed list", "OpenCL", ze_closed, cl_launches, LAUNCHES,
   1.10},
  {"copy of 16 MiB", "memcpy", ze_copy, plain_copy, 1, 1 / 0.95},
  {"signal and wake, there and back", "futex", ze_signals, futex_signals,
   TURNS, 1.30},
  {"graph of 64 launches, run", "closed list", run_captured, run_recorded, 1,
   0},
  {"the same captured again", "recorded again", steps_capture, steps_record, 1,
   0},
  {"module, the same made again", "OpenCL, binary", ze_module, cl_module, 1,
   1},
  {"list, made and destroyed", NULL, ze_lists, NULL, CALLS, 5},
  {"immediate list, the same", NULL, ze_immediates, NULL, CALLS, 0},
  {"1 MiB, allocated and freed", NULL, ze_allocations, NULL, CALLS, 3},
};
enum { ROWS = sizeof rows / sizeof *rows };

static double microseconds(void (*run)(void), int calls)
{
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  run();
  clock_gettime(CLOCK_MONOTONIC, &b);
  return (1e6 * (double)(b.tv_sec - a.tv_sec) +
          1e-3 * (double)(b.tv_nsec - a.tv_nsec)) / calls;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(const double *values, int n)
{
  double sorted[MAX_ROUNDS];
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

int main(int argc, char **argv)
{
  int rounds = argc > 1 ? atoi(argv[1]) : 31;
  if (rounds < 1 || rounds > MAX_ROUNDS) die("1 to %d rounds", MAX_ROUNDS);
  ze_start();
  cl_start();
  bool replays = replay_start();
  printf("%-32s %10s %10s %8s %8s\n", "microseconds each, medians", "driver",
         "other", "ratio", "most");
  for (size_t r = 0; r < ROWS; r++) {
    double own[MAX_ROUNDS], other[MAX_ROUNDS], ratio[MAX_ROUNDS];
    bool compared = rows[r].reference != NULL;
    if (!replays && rows[r].reference != NULL && rows[r].most == 0) continue;
    for (int i = -WARM_UP; i < rounds; i++) {
      int at = i < 0 ? 0 : i;
      own[at] = microseconds(rows[r].run, rows[r].calls);
      if (!compared) continue;
      other[at] = microseconds(rows[r].reference, rows[r].calls);
      ratio[at] = own[at] / other[at];
    }
    printf("%-32s %10.2f", rows[r].name, median(own, rounds));
    if (compared)
      printf(" %10.2f %8.2f %8.*f  %s\n", median(other, rounds),
             median(ratio, rounds), rows[r].most > 0 ? 2 : 0, rows[r].most,
             rows[r].other);
    else if (rows[r].most > 0)
      printf(" %10s %8s %8.2f  us\n", "", "", rows[r].most);
    else
      printf("\n");
  }
  /* Each has two rows; every other launch adds one. */
  float sum = (float)((rounds + WARM_UP) * 2 * (LAUNCHES / 2));
  for (int i = 0; i < ITEMS; i++)
    if (y[i] != sum || cl_y[i] != sum)
      die("y[%d] is %g and %g, not %g", i, (double)y[i], (double)cl_y[i],
          (double)sum);
  return 0;
}
