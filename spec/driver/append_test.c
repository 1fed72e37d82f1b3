/*
 * append_test.c - commands beyond plain launches and copies.
 * SPDX-License-Identifier: MIT
 *
 * Indirect launches, launches with arguments, host functions, lists appended to
 * immediate ones, timestamps, and properties of lists.  Functions that the
 * oldest loader lacks are found by name.
 */
#include "check.h"

#include <stdatomic.h>
#include <unistd.h>

enum { N = 64 };

typedef struct group_size {
  uint32_t x, y, z;
} group_size;

static setup s;
static ze_kernel_handle_t chain, count, local_sum;
static uint32_t *out;
static ze_event_pool_handle_t pool;
static ze_event_handle_t e[4];

static void *find(const char *name)
{
  void *address = NULL;
  if (zeDriverGetExtensionFunctionAddress(s.driver, name, &address) !=
      ZE_RESULT_SUCCESS) {
    check_(__FILE__, __LINE__, false, "there is %s", name);
    exit(1);
  }
  return address;
}

static void reset_all(void)
{
  for (int i = 0; i < 4; i++) MUST(zeEventHostReset(e[i]));
  memset(out, 0, N * sizeof *out);
}

/* Appends to a list, runs it if it is a regular one, then waits. */
static void run(ze_command_list_handle_t list, bool regular)
{
  if (regular) {
    ze_command_queue_handle_t q = queue_new(s);
    MUST(zeCommandListAppendSignalEvent(list, e[3]));
    MUST(zeCommandListClose(list));
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &list, NULL));
    MUST(zeCommandQueueSynchronize(q, UINT64_MAX));
    MUST(zeCommandQueueDestroy(q));
  } else
    MUST(zeCommandListAppendSignalEvent(list, e[3]));
  MUST(zeEventHostSynchronize(e[3], UINT64_MAX));
}

static ze_command_list_handle_t list_of(bool regular)
{
  return regular ? list_new(s)
                 : immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
}

/* A launch uses the counts in memory when it begins, which an earlier copy has
   written.  Later commands see all its results. */
static void test_indirect(bool regular)
{
  ze_command_list_handle_t list = list_of(regular);
  ze_group_count_t *groups = shared_new(s, 64), wanted = {3, 1, 1};
  uint32_t *copy = shared_new(s, N * sizeof *out);
  memset(groups, 0, 64);
  reset_all();
  MUST(zeKernelSetGroupSize(count, 4, 1, 1));
  MUST(zeCommandListAppendWaitOnEvents(list, 1, &e[0]));
  MUST(zeCommandListAppendMemoryCopy(list, groups, &wanted, sizeof wanted,
                                     NULL, 0, NULL));
  MUST(zeCommandListAppendLaunchKernelIndirect(list, count, groups, e[1], 0,
                                               NULL));
  MUST(zeCommandListAppendMemoryCopy(list, copy, out, N * sizeof *out, e[2], 1,
                                     &e[1]));
  /* Arguments and group size are taken at the time of the append. */
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  MUST(zeEventHostSignal(e[0]));
  run(list, regular);
  EQUAL(copy[0], 1);
  EQUAL(copy[11], 1);
  EQUAL(copy[12], 0);
  ze_kernel_timestamp_result_t t1, t2;
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryKernelTimestamp(e[1], &t1));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryKernelTimestamp(e[2], &t2));
  CHECK(t1.global.kernelStart < t1.global.kernelEnd);
  CHECK(t1.global.kernelEnd <= t2.global.kernelEnd);
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, groups));
  MUST(zeMemFree(s.context, copy));
}

/* If a count is 0, nothing runs, but later commands do. */
static void test_indirect_nothing(void)
{
  ze_command_list_handle_t list = list_of(false);
  ze_group_count_t *groups = shared_new(s, 64);
  memset(groups, 0, 64);
  groups->groupCountX = 5;
  reset_all();
  MUST(zeCommandListAppendLaunchKernelIndirect(list, count, groups, e[0], 0,
                                               NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  EQUAL(out[0], 0);
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, groups));
}

/* Several kernels in order, their number read from memory. */
static void test_multiple(bool regular)
{
  ze_command_list_handle_t list = list_of(regular);
  struct {
    uint32_t number;
    ze_group_count_t groups[4];
  } *memory = shared_new(s, sizeof *memory);
  ze_kernel_handle_t kernels[4] = {count, chain, count, count};
  uint32_t add = 5;
  reset_all();
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  MUST(zeKernelSetGroupSize(chain, 1, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  for (int i = 0; i < 4; i++) memory->groups[i] = (ze_group_count_t){8, 1, 1};
  memory->groups[1].groupCountX = 6;
  memory->groups[2].groupCountX = 4;
  memory->number = 3;
  MUST(zeCommandListAppendLaunchMultipleKernelsIndirect(
      list, 4, kernels, &memory->number, memory->groups, e[0], 0, NULL));
  run(list, regular);
  EQUAL(out[0], (1 * 3 + 5) + 1);
  EQUAL(out[5], 1 * 3 + 5);
  EQUAL(out[7], 1);
  EQUAL(out[8], 0);
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeCommandListAppendLaunchMultipleKernelsIndirect(
              list, 4, kernels, NULL, memory->groups, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, memory));
}

/* A launch that waits for a destroyed event fails and reports it. */
static void test_indirect_failed(void)
{
  ze_command_list_handle_t list = list_of(false);
  ze_event_pool_handle_t own = pool_new(s, 0, 1);
  ze_event_handle_t gone = event_new(own, 0);
  ze_group_count_t *groups = shared_new(s, sizeof *groups);
  *groups = (ze_group_count_t){1, 1, 1};
  reset_all();
  MUST(zeKernelSetGroupSize(count, N, 1, 1));
  MUST(zeCommandListAppendLaunchKernelIndirect(list, count, groups, e[0], 1,
                                               &gone));
  MUST(zeEventDestroy(gone));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[0], UINT64_MAX));
  MUST(zeCommandListDestroy(list));
  MUST(zeEventPoolDestroy(own));
  MUST(zeMemFree(s.context, groups));
}

/* Consecutive lists with indirect launches, on two queues. */
static void test_indirect_chain(void)
{
  ze_command_queue_handle_t a = queue_new(s), b = queue_new(s);
  ze_command_list_handle_t l[2] = {list_of(true), list_of(true)};
  ze_group_count_t *groups = shared_new(s, 64);
  *groups = (ze_group_count_t){N, 1, 1};
  reset_all();
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  for (int i = 0; i < 2; i++) {
    MUST(zeCommandListAppendWaitOnEvents(l[i], 1, &e[1 - i]));
    MUST(zeCommandListAppendEventReset(l[i], e[1 - i]));
    for (int j = 0; j < 20; j++)
      MUST(zeCommandListAppendLaunchKernelIndirect(
          l[i], count, groups, j == 19 ? e[i] : NULL, 0, NULL));
    MUST(zeCommandListClose(l[i]));
  }
  MUST(zeEventHostSignal(e[1]));
  for (int i = 0; i < 10; i++) {
    MUST(zeCommandQueueExecuteCommandLists(a, 1, &l[0], NULL));
    MUST(zeCommandQueueExecuteCommandLists(b, 1, &l[1], NULL));
  }
  MUST(zeCommandQueueSynchronize(a, UINT64_MAX));
  MUST(zeCommandQueueSynchronize(b, UINT64_MAX));
  EQUAL(out[0], 400);
  EQUAL(out[N - 1], 400);
  for (int i = 0; i < 2; i++) MUST(zeCommandListDestroy(l[i]));
  MUST(zeCommandQueueDestroy(a));
  MUST(zeCommandQueueDestroy(b));
  MUST(zeMemFree(s.context, groups));
}

/* An extension requests a cooperative launch; other extensions are refused. */
static void test_parameters(void)
{
  ze_result_t (*launch)(ze_command_list_handle_t, ze_kernel_handle_t,
                        const ze_group_count_t *, const void *,
                        ze_event_handle_t, uint32_t, ze_event_handle_t *);
  *(void **)&launch = find("zeCommandListAppendLaunchKernelWithParameters");
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  struct {
    int stype;
    const void *next;
    ze_bool_t cooperative;
  } extension = {0x00020036, NULL, 1};
  ze_group_count_t one = {1, 1, 1}, two = {2, 1, 1};
  ze_group_count_t high = {1, 2, 1}, deep = {1, 1, 2};
  reset_all();
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  RETURNS(ZE_RESULT_SUCCESS, launch(list, count, &two, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS,
          launch(list, count, &one, &extension, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          launch(list, count, &two, &extension, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          launch(list, count, &high, &extension, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          launch(list, count, &deep, &extension, NULL, 0, NULL));
  extension.cooperative = 0;
  RETURNS(ZE_RESULT_SUCCESS,
          launch(list, count, &two, &extension, NULL, 0, NULL));
  extension.stype = 0x1234;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          launch(list, count, &one, &extension, NULL, 0, NULL));
  EQUAL(out[0], 3);
  EQUAL(out[1], 2);
  MUST(zeCommandListDestroy(list));
}

/* Group size and all arguments in one call, including local memory. */
static void test_arguments(void)
{
  ze_result_t (*launch)(ze_command_list_handle_t, ze_kernel_handle_t,
                        const ze_group_count_t, const group_size, void **,
                        const void *, ze_event_handle_t, uint32_t,
                        ze_event_handle_t *);
  *(void **)&launch = find("zeCommandListAppendLaunchKernelWithArguments");
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  uint32_t *in = shared_new(s, N * sizeof *in);
  size_t part = 8 * sizeof(uint32_t);
  void *arguments[] = {&in, &out, &part};
  for (uint32_t i = 0; i < N; i++) in[i] = i;
  reset_all();
  RETURNS(ZE_RESULT_SUCCESS,
          launch(list, local_sum, (ze_group_count_t){2, 1, 1},
                 (group_size){8, 1, 1}, arguments, NULL, NULL, 0, NULL));
  EQUAL(out[0], 28);
  EQUAL(out[1], 28 + 64);
  EQUAL(out[2], 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          launch(list, local_sum, (ze_group_count_t){2, 1, 1},
                 (group_size){0, 1, 1}, arguments, NULL, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          launch(list, local_sum, (ze_group_count_t){2, 1, 1},
                 (group_size){8, 1, 1}, NULL, NULL, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, in));
}

static uint32_t seen[4];
static int seen_count;

static void see(void *data)
{
  seen[seen_count++] = *(volatile uint32_t *)data;
}

/* A host function is called in order, and later commands wait for it. */
static void test_host_function(bool regular)
{
  ze_result_t (*append)(ze_command_list_handle_t, void (*)(void *), void *,
                        const void *, ze_event_handle_t, uint32_t,
                        ze_event_handle_t *);
  *(void **)&append = find("zeCommandListAppendHostFunction");
  ze_command_list_handle_t list = list_of(regular);
  uint32_t add = 7;
  ze_group_count_t one = {1, 1, 1};
  seen_count = 0;
  reset_all();
  MUST(zeKernelSetGroupSize(chain, N, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  RETURNS(ZE_RESULT_SUCCESS, append(list, see, out, NULL, NULL, 1, &e[0]));
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, append(list, see, out, NULL, e[1], 0, NULL));
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          append(list, NULL, out, NULL, NULL, 0, NULL));
  MUST(zeEventHostSignal(e[0]));
  run(list, regular);
  EQUAL(seen_count, 2);
  EQUAL(seen[0], 0);
  EQUAL(seen[1], 7);
  EQUAL(out[0], 28);
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[1]));
  MUST(zeCommandListDestroy(list));
}

static ze_result_t (*synchronize_list)(ze_command_list_handle_t, uint64_t);
static ze_result_t seen_result;

static void ask(void *list)
{
  seen_result = synchronize_list(list, 0);
}

/* A function may query its own list, even while the caller waits for it. */
static void test_host_function_asks(void)
{
  ze_result_t (*append)(ze_command_list_handle_t, void (*)(void *), void *,
                        const void *, ze_event_handle_t, uint32_t,
                        ze_event_handle_t *);
  *(void **)&append = find("zeCommandListAppendHostFunction");
  *(void **)&synchronize_list = find("zeCommandListHostSynchronize");
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  seen_result = ZE_RESULT_SUCCESS;
  RETURNS(ZE_RESULT_SUCCESS, append(list, ask, list, NULL, NULL, 0, NULL));
  EQUAL(seen_result, ZE_RESULT_NOT_READY);
  MUST(zeCommandListDestroy(list));
}

static atomic_int turns;

static void take_turn(void *data)
{
  atomic_store((atomic_int *)data, 1 + atomic_fetch_add(&turns, 1));
}

/* Returns true if commands that wait for one event begin by list priority. */
static bool priorities_count(bool recorded)
{
  enum { LISTS = 9, HIGH = 6, NORMAL = 7 };
  ze_result_t (*append)(ze_command_list_handle_t, void (*)(void *), void *,
                        const void *, ze_event_handle_t, uint32_t,
                        ze_event_handle_t *);
  *(void **)&append = find("zeCommandListAppendHostFunction");
  ze_result_t (*synchronize)(ze_command_list_handle_t, uint64_t);
  *(void **)&synchronize = find("zeCommandListHostSynchronize");
  ze_command_list_handle_t lists[LISTS], closed[LISTS];
  ze_command_queue_handle_t queues[LISTS];
  atomic_int turn[LISTS];
  atomic_store(&turns, 0);
  reset_all();
  for (int i = 0; i < LISTS; i++) {
    ze_command_queue_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      .priority = i == HIGH     ? ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
                  : i == NORMAL ? ZE_COMMAND_QUEUE_PRIORITY_NORMAL
                                : ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW};
    atomic_store(&turn[i], 0);
    if (recorded) {
      closed[i] = list_new(s);
      MUST(zeCommandQueueCreate(s.context, s.device, &desc, &queues[i]));
      MUST(append(closed[i], take_turn, &turn[i], NULL, NULL, 1, &e[0]));
      MUST(zeCommandListClose(closed[i]));
      MUST(zeCommandQueueExecuteCommandLists(queues[i], 1, &closed[i], NULL));
    } else {
      MUST(zeCommandListCreateImmediate(s.context, s.device, &desc,
                                        &lists[i]));
      MUST(append(lists[i], take_turn, &turn[i], NULL, NULL, 1, &e[0]));
    }
  }
  EQUAL(atomic_load(&turns), 0);
  MUST(zeEventHostSignal(e[0]));
  for (int i = 0; i < LISTS; i++)
    if (recorded) {
      MUST(zeCommandQueueSynchronize(queues[i], UINT64_MAX));
      MUST(zeCommandQueueDestroy(queues[i]));
      MUST(zeCommandListDestroy(closed[i]));
    } else {
      MUST(synchronize(lists[i], UINT64_MAX));
      MUST(zeCommandListDestroy(lists[i]));
    }
  EQUAL(atomic_load(&turns), LISTS);
  return atomic_load(&turn[HIGH]) <= 4 && atomic_load(&turn[NORMAL]) <= 5;
}

/* The host's threads receive the commands in this order, but one of them may be
   stopped just then, often on a busy machine.  Without priorities, no stopped
   thread moves a command so far forward. */
static void test_priorities(bool recorded)
{
  enum { WANTED = 4, TRIES = 100 };
  int good = 0, tries = 0;
  while (good < WANTED && tries++ < TRIES) good += priorities_count(recorded);
  check_(__FILE__, __LINE__, good == WANTED, "by priority %d times of %d",
         good, tries);
}

/* Closed lists run in an immediate one, between earlier and later commands. */
static void test_lists(void)
{
  ze_result_t (*append)(ze_command_list_handle_t, uint32_t,
                        ze_command_list_handle_t *, ze_event_handle_t,
                        uint32_t, ze_event_handle_t *);
  *(void **)&append = find("zeCommandListImmediateAppendCommandListsExp");
  ze_command_list_handle_t immediate = list_of(false);
  ze_command_list_handle_t l[2] = {list_of(true), list_of(true)};
  ze_group_count_t one = {1, 1, 1};
  reset_all();
  MUST(zeKernelSetGroupSize(chain, N, 1, 1));
  for (uint32_t i = 0; i < 2; i++) {
    MUST(zeKernelSetArgumentValue(chain, 1, sizeof i, &i));
    MUST(zeCommandListAppendLaunchKernel(l[i], chain, &one, NULL, 0, NULL));
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          append(immediate, 2, l, NULL, 0, NULL));
  for (int i = 0; i < 2; i++) MUST(zeCommandListClose(l[i]));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, append(l[0], 1, l, NULL, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          append(immediate, 0, l, NULL, 0, NULL));
  uint32_t add = 2;
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  MUST(zeCommandListAppendLaunchKernel(immediate, chain, &one, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, append(immediate, 2, l, e[1], 1, &e[0]));
  MUST(zeCommandListAppendLaunchKernel(immediate, chain, &one, e[2], 0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[1]));
  MUST(zeEventHostSignal(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[2], UINT64_MAX));
  EQUAL(out[0], ((2 * 3 + 0) * 3 + 1) * 3 + 2);
  for (int i = 0; i < 2; i++) MUST(zeCommandListDestroy(l[i]));
  MUST(zeCommandListDestroy(immediate));
}

/* Event timestamps that the device writes to memory, a timestamp of the device
   clock between them, and the host clock for comparison. */
static void test_timestamps(void)
{
  ze_command_list_handle_t list = list_of(false);
  ze_kernel_timestamp_result_t *to = shared_new(s, 4 * sizeof *to);
  uint64_t *stamp = shared_new(s, 64);
  size_t offsets[2] = {2 * sizeof *to, 0};
  ze_group_count_t groups = {N, 1, 1};
  reset_all();
  memset(to, 0xff, 4 * sizeof *to);
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  MUST(zeCommandListAppendLaunchKernel(list, count, &groups, e[0], 0, NULL));
  MUST(zeCommandListAppendWriteGlobalTimestamp(list, stamp, NULL, 0, NULL));
  MUST(zeCommandListAppendLaunchKernel(list, count, &groups, e[1], 0, NULL));
  MUST(zeCommandListAppendQueryKernelTimestamps(list, 2, e, to, offsets, e[2],
                                                0, NULL));
  offsets[0] = offsets[1] = 1 << 20; /* they were read when appended */
  MUST(zeEventHostSynchronize(e[2], UINT64_MAX));
  const ze_kernel_timestamp_result_t *first = &to[2], *second = &to[0];
  CHECK(first->global.kernelStart > 0);
  CHECK(first->global.kernelEnd > first->global.kernelStart);
  CHECK(*stamp >= first->global.kernelEnd);
  CHECK(second->global.kernelEnd > second->global.kernelStart);
  CHECK(second->global.kernelEnd > *stamp);
  EQUAL(first->context.kernelEnd, first->global.kernelEnd);
  EQUAL(to[1].global.kernelStart, -1);

  ze_result_t (*query)(ze_event_handle_t, ze_device_handle_t, uint32_t *,
                       void *);
  *(void **)&query = find("zeEventQueryKernelTimestampsExt");
  ze_kernel_timestamp_result_t device, host;
  struct {
    int stype;
    void *next;
    ze_kernel_timestamp_result_t *device, *host;
  } results = {0, NULL, &device, &host};
  uint32_t n = 0;
  MUST(query(e[0], s.device, &n, NULL));
  EQUAL(n, 1);
  RETURNS(ZE_RESULT_SUCCESS, query(e[0], s.device, &n, &results));
  EQUAL(device.global.kernelEnd, first->global.kernelEnd);
  EQUAL(host.global.kernelStart, first->global.kernelStart);
  RETURNS(ZE_RESULT_NOT_READY, query(e[3], s.device, &n, &results));
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, to));
  MUST(zeMemFree(s.context, stamp));
}

/* Reads back what lists and queues were created with. */
static void test_getters(void)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .index = 3,
    .flags = ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY,
    .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
    .priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW};
  ze_command_list_desc_t list_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
    .flags = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING};
  ze_command_list_handle_t immediate, regular;
  ze_command_queue_handle_t queue;
  MUST(zeCommandListCreateImmediate(s.context, s.device, &desc, &immediate));
  MUST(zeCommandListCreate(s.context, s.device, &list_desc, &regular));
  MUST(zeCommandQueueCreate(s.context, s.device, &desc, &queue));
  static const struct {
    const char *name;
    char kind; /* of a queue, an immediate or a regular list, any list */
    uint32_t wanted;
  } getters[] = {
    {"zeCommandQueueGetFlags", 'q', ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY},
    {"zeCommandQueueGetMode", 'q', ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS},
    {"zeCommandQueueGetPriority", 'q', ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW},
    {"zeCommandQueueGetIndex", 'q', 3},
    {"zeCommandQueueGetOrdinal", 'q', 0},
    {"zeCommandListGetFlags", 'r', ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING},
    {"zeCommandListImmediateGetFlags", 'i',
     ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY},
    {"zeCommandListImmediateGetMode", 'i', ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS},
    {"zeCommandListImmediateGetPriority", 'i',
     ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW},
    {"zeCommandListImmediateGetIndex", 'i', 3},
    {"zeCommandListGetOrdinal", 'l', 0},
  };
  for (size_t i = 0; i < sizeof getters / sizeof *getters; i++) {
    ze_result_t (*get)(void *, uint32_t *);
    *(void **)&get = find(getters[i].name);
    uint32_t value = 99;
    char kind = getters[i].kind;
    void *object = kind == 'q' ? (void *)queue
                   : kind == 'r' ? (void *)regular
                                 : (void *)immediate;
    ze_result_t result = get(object, &value);
    check_(__FILE__, __LINE__,
           result == ZE_RESULT_SUCCESS && value == getters[i].wanted,
           "%s gives %u", getters[i].name, value);
    CHECK(get(NULL, &value) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    CHECK(get(object, NULL) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    if (kind == 'i')
      CHECK(get(regular, &value) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    if (kind == 'r')
      CHECK(get(immediate, &value) == ZE_RESULT_SUCCESS && value == 0);
  }
  MUST(zeCommandListDestroy(immediate));
  MUST(zeCommandListDestroy(regular));
  MUST(zeCommandQueueDestroy(queue));
}

int main(void)
{
  s = setup_new();
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  chain = kernel_new(module, "chain");
  count = kernel_new(module, "count");
  local_sum = kernel_new(module, "local_sum");
  out = shared_new(s, N * sizeof *out);
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(count, 0, sizeof out, &out));
  pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
                         ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 4);
  for (uint32_t i = 0; i < 4; i++) e[i] = event_new(pool, i);
  for (int i = 0; i < 2; i++) {
    test_indirect(i);
    test_multiple(i);
    test_host_function(i);
    test_priorities(i);
  }
  test_host_function_asks();
  test_indirect_nothing();
  test_indirect_failed();
  test_indirect_chain();
  test_parameters();
  test_arguments();
  test_lists();
  test_timestamps();
  test_getters();
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeKernelDestroy(chain));
  MUST(zeKernelDestroy(count));
  MUST(zeKernelDestroy(local_sum));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, out));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
