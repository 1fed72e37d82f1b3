/*
 * list_test.c - closed lists, especially long ones, and when they may go.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { N = 16, LONG = 400 };

static setup s;
static ze_kernel_handle_t chain, count;
static uint32_t *out;
static const ze_group_count_t one = {1, 1, 1};
static ze_event_pool_handle_t pool;
static ze_event_handle_t e[4];

static void chain_append(ze_command_list_handle_t list, uint32_t add,
                         ze_event_handle_t signal)
{
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, signal, 0, NULL));
}

/* Returns `x` after `n` commands of the chain. */
static uint32_t chained(uint32_t x, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) x = x * 3 + i;
  return x;
}

static ze_command_list_handle_t chain_new(uint32_t n, ze_event_handle_t wait,
                                          ze_event_handle_t signal)
{
  ze_command_list_handle_t list = list_new(s);
  if (wait != NULL) MUST(zeCommandListAppendWaitOnEvents(list, 1, &wait));
  for (uint32_t i = 0; i < n; i++)
    chain_append(list, i, i == n - 1 ? signal : NULL);
  MUST(zeCommandListClose(list));
  return list;
}

static void reset_all(void)
{
  for (int i = 0; i < 4; i++) MUST(zeEventHostReset(e[i]));
  memset(out, 0, N * sizeof *out);
}

/* Long and short lists, executed in one call and in several, run in order. */
static void test_order(void)
{
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t lists[3] = {chain_new(LONG, NULL, NULL),
                                       chain_new(3, NULL, NULL),
                                       chain_new(LONG / 2, NULL, NULL)};
  uint32_t wanted = 0;
  reset_all();
  for (int i = 0; i < 10; i++) {
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &lists[0], NULL));
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &lists[1], NULL));
    MUST(zeCommandQueueExecuteCommandLists(q, 3, lists, NULL));
    wanted = chained(chained(wanted, LONG), 3);
    wanted = chained(chained(chained(wanted, LONG), 3), LONG / 2);
    if (i % 3 == 0) MUST(zeCommandQueueSynchronize(q, UINT64_MAX));
  }
  MUST(zeCommandQueueSynchronize(q, UINT64_MAX));
  EQUAL(out[0], wanted);
  EQUAL(out[N - 1], wanted);
  for (int i = 0; i < 3; i++) MUST(zeCommandListDestroy(lists[i]));
  MUST(zeCommandQueueDestroy(q));
}

/* A long list between two immediate ones, ordered by events; a fence; all ways
   to query progress. */
static void test_events(void)
{
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t list = chain_new(LONG, e[0], e[1]);
  ze_command_list_handle_t immediate =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  MUST(zeFenceCreate(q, &desc, &fence));
  for (int i = 0; i < 5; i++) {
    reset_all();
    MUST(zeFenceReset(fence));
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &list, fence));
    MUST(zeCommandListAppendBarrier(immediate, NULL, 1, &e[1]));
    chain_append(immediate, 7, e[2]);
    RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(q, 0));
    RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(q, 2000000));
    RETURNS(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
    RETURNS(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence, 1000000));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[1]));
    EQUAL(out[0], 0);
    MUST(zeEventHostSignal(e[0]));
    if (i % 2 == 0)
      RETURNS(ZE_RESULT_SUCCESS, zeFenceHostSynchronize(fence, UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[2], UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[1]));
    EQUAL(out[0], chained(0, LONG) * 3 + 7);
    RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(q, UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeFenceQueryStatus(fence));
  }
  MUST(zeFenceDestroy(fence));
  MUST(zeCommandListDestroy(immediate));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(q));
}

/* A list is reset or destroyed, or its queue is destroyed, while its commands
   are in flight: they still run, once. */
static void test_gone(void)
{
  reset_all();
  for (uint32_t i = 0; i < 20; i++) {
    uint32_t before = out[0];
    ze_command_queue_handle_t q = queue_new(s);
    ze_command_list_handle_t list = chain_new(LONG, NULL, e[0]);
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &list, NULL));
    if (i % 2 == 0) {
      MUST(zeCommandListReset(list));
      MUST(zeCommandListAppendBarrier(list, NULL, 0, NULL));
      MUST(zeCommandListClose(list));
    }
    MUST(zeCommandListDestroy(list));
    if (i % 4 < 2) MUST(zeCommandQueueDestroy(q));
    MUST(zeEventHostSynchronize(e[0], UINT64_MAX));
    check_(__FILE__, __LINE__, out[0] == chained(before, LONG),
           "turn %u ran to its end", i);
    MUST(zeEventHostReset(e[0]));
    if (i % 4 >= 2) MUST(zeCommandQueueDestroy(q));
  }
}

/* A kernel that cannot be compiled is found only while the list runs: each
   caller that waits gets the error, once, and does not hang. */
static void test_failure(void)
{
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t list = list_new(s);
  ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence;
  MUST(zeFenceCreate(q, &desc, &fence));
  reset_all();
  for (uint32_t i = 0; i < LONG; i++) chain_append(list, i, NULL);
  MUST(zeKernelSetGroupSize(count, 3, 1, 1));
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, e[0], 0, NULL));
  chain_append(list, 1, e[1]);
  MUST(zeCommandListClose(list));
  void (*old)(int) = signal(SIGCHLD, SIG_IGN);
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandQueueExecuteCommandLists(q, 1, &list, fence));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[0], UINT64_MAX));
  signal(SIGCHLD, old);
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[1], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeFenceHostSynchronize(fence, UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
          zeCommandQueueSynchronize(q, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(q, UINT64_MAX));
  EQUAL(out[0], chained(0, LONG));
  RETURNS(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
          zeCommandQueueExecuteCommandLists(q, 1, &list, fence));
  /* The same list again, when it can be compiled. */
  reset_all();
  MUST(zeFenceReset(fence));
  MUST(zeCommandQueueExecuteCommandLists(q, 1, &list, fence));
  RETURNS(ZE_RESULT_SUCCESS, zeFenceHostSynchronize(fence, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[1]));
  EQUAL(out[0], (chained(0, LONG) + 1) * 3 + 1);
  EQUAL(out[N - 1], chained(0, LONG) * 3 + 1);
  MUST(zeFenceDestroy(fence));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(q));
}

/* Threads execute long and short lists on one queue. */
static ze_command_queue_handle_t shared_queue;
static ze_command_list_handle_t shared_lists[2];

static void *execute_many(void *unused)
{
  (void)unused;
  for (int i = 0; i < 30; i++) {
    MUST(zeCommandQueueExecuteCommandLists(shared_queue, 1,
                                           &shared_lists[i % 3 == 0], NULL));
    if (i % 7 == 0) zeCommandQueueSynchronize(shared_queue, 1000);
    if (i % 11 == 0) MUST(zeCommandQueueSynchronize(shared_queue, UINT64_MAX));
  }
  return NULL;
}

static void test_threads(void)
{
  pthread_t threads[4];
  reset_all();
  shared_queue = queue_new(s);
  MUST(zeKernelSetGroupSize(count, N, 1, 1));
  for (int i = 0; i < 2; i++) {
    shared_lists[i] = list_new(s);
    for (int j = 0; j < (i == 0 ? 100 : 2); j++)
      MUST(zeCommandListAppendLaunchKernel(shared_lists[i], count, &one, NULL,
                                           0, NULL));
    MUST(zeCommandListClose(shared_lists[i]));
  }
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, execute_many, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  MUST(zeCommandQueueSynchronize(shared_queue, UINT64_MAX));
  EQUAL(out[0], 4 * (20 * 100 + 10 * 2));
  for (int i = 0; i < 2; i++) MUST(zeCommandListDestroy(shared_lists[i]));
  MUST(zeCommandQueueDestroy(shared_queue));
}

/* A queue is destroyed while another thread does its work instead of waiting
   for it. */
static void *wait_for_fence(void *fence)
{
  return zeFenceHostSynchronize(fence, UINT64_MAX) == ZE_RESULT_SUCCESS
             ? fence : NULL;
}

static void test_helped(void)
{
  ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_command_list_handle_t list = chain_new(LONG, NULL, NULL);
  uint32_t wanted = 0;
  bool ok = true;
  reset_all();
  for (int i = 0; i < 200; i++) {
    ze_command_queue_handle_t q = queue_new(s);
    ze_fence_handle_t fence;
    pthread_t thread;
    MUST(zeFenceCreate(q, &desc, &fence));
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &list, fence));
    pthread_create(&thread, NULL, wait_for_fence, fence);
    MUST(zeCommandQueueDestroy(q));
    void *waited;
    pthread_join(thread, &waited);
    ok = ok && waited == fence;
    wanted = chained(wanted, LONG);
    MUST(zeFenceDestroy(fence));
  }
  CHECK(ok);
  EQUAL(out[0], wanted);
  MUST(zeCommandListDestroy(list));
}

int main(void)
{
  s = setup_new();
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  chain = kernel_new(module, "chain");
  count = kernel_new(module, "count");
  out = shared_new(s, N * sizeof *out);
  MUST(zeKernelSetGroupSize(chain, N, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(count, 0, sizeof out, &out));
  pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 4);
  for (uint32_t i = 0; i < 4; i++) e[i] = event_new(pool, i);
  test_order();
  test_events();
  test_gone();
  test_failure();
  test_threads();
  test_helped();
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeKernelDestroy(chain));
  MUST(zeKernelDestroy(count));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, out));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
