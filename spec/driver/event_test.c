/*
 * event_test.c - events, fences and the order that they impose.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

enum { N = 64, TURNS = 1000000 };

static setup s;
static ze_kernel_handle_t spin, chain, count;
static uint32_t *out;
static const ze_group_count_t one = {1, 1, 1};
static ze_event_pool_handle_t pool;
static ze_event_handle_t e[8];

static ze_result_t (*synchronize)(ze_command_list_handle_t, uint64_t);

static void chain_append(ze_command_list_handle_t list, uint32_t add,
                         ze_event_handle_t signal, uint32_t n,
                         ze_event_handle_t *waits)
{
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, signal, n, waits));
}

static void reset_all(void)
{
  for (int i = 0; i < 8; i++) MUST(zeEventHostReset(e[i]));
  memset(out, 0, N * sizeof *out);
}

/* The host's side of an event alone. */
static void test_host(void)
{
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[0], 0));
  double start = seconds();
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[0], 30000000));
  double took = seconds() - start;
  check_(__FILE__, __LINE__, took >= 0.03,
         "a wait of 30 ms took %.1f ms", 1e3 * took);
  MUST(zeEventHostSignal(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], 0));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  MUST(zeEventHostSignal(e[0]));
  MUST(zeEventHostReset(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  MUST(zeEventHostReset(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
}

static void *signal_sleeping_host(void *event)
{
  AWAIT(state_of(getpid()) == 'S');
  zeEventHostSignal(event);
  return NULL;
}

static void test_host_wakes_host(void)
{
  pthread_t thread;
  pthread_create(&thread, NULL, signal_sleeping_host, e[0]);
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  pthread_join(thread, NULL);
  reset_all();
}

/* A kernel's event, waited for with and without a time-out. */
static void test_kernel(ze_command_list_handle_t list)
{
  uint32_t turns = 30 * TURNS;
  MUST(zeKernelSetArgumentValue(spin, 1, sizeof turns, &turns));
  MUST(zeCommandListAppendLaunchKernel(list, spin, &one, e[0], 0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[0], 1000000));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[0]));
  MUST(zeEventHostReset(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  turns = TURNS;
  MUST(zeKernelSetArgumentValue(spin, 1, sizeof turns, &turns));
}

/* A list that waits for the host; commands appended during the wait stay in
   order. */
static void test_gate(ze_command_list_handle_t list)
{
  reset_all();
  chain_append(list, 1, NULL, 1, &e[0]);
  uint32_t five = 5;
  MUST(zeCommandListAppendMemoryFill(list, out + 1, &five, sizeof five,
                                     sizeof five, NULL, 0, NULL));
  chain_append(list, 2, NULL, 0, NULL);
  MUST(zeCommandListAppendMemoryCopy(list, out + 2, out + 1, sizeof *out, NULL,
                                     0, NULL));
  chain_append(list, 3, e[1], 0, NULL);
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[1], 20000000));
  EQUAL(out[0], 0);
  MUST(zeEventHostSignal(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
  EQUAL(out[0], (1 * 3 + 2) * 3 + 3);
  EQUAL(out[1], (5 * 3 + 2) * 3 + 3);
  EQUAL(out[2], (5 * 3 + 2) * 3 + 3);
}

/* Two lists pass work back and forth with events alone. */
static void test_two_lists(ze_command_list_handle_t a,
                           ze_command_list_handle_t b)
{
  reset_all();
  uint32_t want = 0;
  for (uint32_t i = 0; i < 6; i++) {
    chain_append(i % 2 == 0 ? a : b, i, e[i], i > 0, &e[i > 0 ? i - 1 : 0]);
    want = want * 3 + i;
  }
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[5], UINT64_MAX));
  EQUAL(out[0], want);
  for (int i = 0; i < 6; i++)
    RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[i]));

  /* The waiting list is submitted first. */
  reset_all();
  chain_append(b, 2, e[1], 1, &e[0]);
  chain_append(a, 1, e[0], 0, NULL);
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
  EQUAL(out[0], 5);
}

/* Lists that reset their own events, executed repeatedly with no wait between:
   A waits for B's event and B for A's. */
static void test_ping_pong(void)
{
  enum { ROUNDS = 1000 };
  reset_all();
  ze_command_queue_handle_t qa = queue_new(s), qb = queue_new(s);
  ze_command_list_handle_t a = list_new(s), b = list_new(s);
  MUST(zeCommandListAppendWaitOnEvents(a, 1, &e[1]));
  MUST(zeCommandListAppendEventReset(a, e[1]));
  chain_append(a, 1, NULL, 0, NULL);
  MUST(zeCommandListAppendSignalEvent(a, e[0]));
  MUST(zeCommandListClose(a));
  MUST(zeCommandListAppendWaitOnEvents(b, 1, &e[0]));
  MUST(zeCommandListAppendEventReset(b, e[0]));
  chain_append(b, 2, NULL, 0, NULL);
  MUST(zeCommandListAppendSignalEvent(b, e[1]));
  MUST(zeCommandListClose(b));
  MUST(zeEventHostSignal(e[1]));
  uint32_t want = 0;
  for (int i = 0; i < ROUNDS; i++) {
    /* Either list may come first: the events decide. */
    MUST(zeCommandQueueExecuteCommandLists(i % 3 ? qa : qb, 1, i % 3 ? &a : &b,
                                           NULL));
    MUST(zeCommandQueueExecuteCommandLists(i % 3 ? qb : qa, 1, i % 3 ? &b : &a,
                                           NULL));
    want = (want * 3 + 1) * 3 + 2;
  }
  RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(qa, 10000000000));
  RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(qb, 10000000000));
  EQUAL(out[0], want);
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[1]));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
  MUST(zeCommandQueueDestroy(qa));
  MUST(zeCommandQueueDestroy(qb));
}

/* A list that signals, waits and resets, executed many times ahead. */
static void test_self_reset(void)
{
  reset_all();
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t l = list_new(s);
  chain_append(l, 1, e[0], 0, NULL);
  chain_append(l, 2, e[1], 1, &e[0]);
  MUST(zeCommandListAppendBarrier(l, NULL, 2, e));
  MUST(zeCommandListAppendEventReset(l, e[0]));
  MUST(zeCommandListAppendEventReset(l, e[1]));
  MUST(zeCommandListClose(l));
  uint32_t want = 0;
  for (int i = 0; i < 20; i++) {
    MUST(zeCommandQueueExecuteCommandLists(q, 1, &l, NULL));
    want = (want * 3 + 1) * 3 + 2;
  }
  RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(q, UINT64_MAX));
  EQUAL(out[0], want);
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[1]));

  /* A reset by the device, seen by the host. */
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  MUST(zeEventHostSignal(e[2]));
  MUST(zeCommandListAppendEventReset(list, e[2]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[2]));
  MUST(zeCommandListAppendSignalEvent(list, e[2]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[2]));
  MUST(zeCommandListDestroy(list));

  /* Lists: no execution while open, no append when closed, reset empties. */
  MUST(zeCommandListReset(l));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandQueueExecuteCommandLists(q, 1, &l, NULL));
  MUST(zeCommandListClose(l));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendSignalEvent(l, e[3]));
  MUST(zeCommandQueueExecuteCommandLists(q, 1, &l, NULL));
  MUST(zeCommandQueueSynchronize(q, UINT64_MAX));
  EQUAL(out[0], want);
  MUST(zeCommandListDestroy(l));
  MUST(zeCommandQueueDestroy(q));
}

static void test_fence(void)
{
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t l = list_new(s), empty = list_new(s);
  ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
  ze_fence_handle_t fence, signalled;
  uint32_t turns = 30 * TURNS;
  MUST(zeKernelSetArgumentValue(spin, 1, sizeof turns, &turns));
  MUST(zeFenceCreate(q, &desc, &fence));
  desc.flags = ZE_FENCE_FLAG_SIGNALED;
  MUST(zeFenceCreate(q, &desc, &signalled));
  RETURNS(ZE_RESULT_SUCCESS, zeFenceQueryStatus(signalled));
  MUST(zeFenceReset(signalled));
  RETURNS(ZE_RESULT_NOT_READY, zeFenceQueryStatus(signalled));
  RETURNS(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
  MUST(zeCommandListAppendLaunchKernel(l, spin, &one, NULL, 0, NULL));
  MUST(zeCommandListClose(l));
  MUST(zeCommandListClose(empty));
  for (int i = 0; i < 2; i++) {
    ze_command_list_handle_t both[2] = {l, empty};
    MUST(zeCommandQueueExecuteCommandLists(q, 2, both, fence));
    RETURNS(ZE_RESULT_NOT_READY, zeFenceQueryStatus(fence));
    RETURNS(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(fence, 1000000));
    RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(q, 0));
    RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(q, 1000000));
    RETURNS(ZE_RESULT_SUCCESS, zeFenceHostSynchronize(fence, UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeFenceQueryStatus(fence));
    RETURNS(ZE_RESULT_SUCCESS, zeCommandQueueSynchronize(q, UINT64_MAX));
    RETURNS(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
            zeCommandQueueExecuteCommandLists(q, 2, both, fence));
    MUST(zeFenceReset(fence));
  }
  MUST(zeCommandQueueExecuteCommandLists(q, 1, &empty, fence));
  RETURNS(ZE_RESULT_SUCCESS, zeFenceHostSynchronize(fence, UINT64_MAX));
  MUST(zeFenceDestroy(fence));
  MUST(zeFenceDestroy(signalled));
  MUST(zeCommandListDestroy(l));
  MUST(zeCommandListDestroy(empty));
  MUST(zeCommandQueueDestroy(q));
}

static void test_timestamps(ze_command_list_handle_t list)
{
  ze_event_pool_handle_t timed = pool_new(
      s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
      4);
  ze_event_handle_t t[4];
  ze_kernel_timestamp_result_t r[4];
  uint64_t host[2], ticks[2];
  for (uint32_t i = 0; i < 4; i++) t[i] = event_new(timed, i);
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zeDeviceGetProperties(s.device, &p));
  EQUAL(p.timerResolution, 1);
  p.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  MUST(zeDeviceGetProperties(s.device, &p));
  EQUAL(p.timerResolution, 1000000000);
  CHECK(p.kernelTimestampValidBits > 32 && p.kernelTimestampValidBits < 64);

  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryKernelTimestamp(t[0], &r[0]));
  uint32_t turns = 10 * TURNS;
  MUST(zeKernelSetArgumentValue(spin, 1, sizeof turns, &turns));
  MUST(zeDeviceGetGlobalTimestamps(s.device, &host[0], &ticks[0]));
  double start = seconds();
  MUST(zeCommandListAppendLaunchKernel(list, spin, &one, t[0], 0, NULL));
  MUST(zeCommandListAppendLaunchKernel(list, spin, &one, t[1], 0, NULL));
  MUST(zeCommandListAppendMemoryCopy(list, out, out + 32, 64, t[2], 0, NULL));
  MUST(zeCommandListAppendBarrier(list, t[3], 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(t[3], UINT64_MAX));
  double took = 1e9 * (seconds() - start);
  MUST(zeDeviceGetGlobalTimestamps(s.device, &host[1], &ticks[1]));
  for (int i = 0; i < 4; i++) {
    MUST(zeEventQueryKernelTimestamp(t[i], &r[i]));
    CHECK(r[i].global.kernelStart > 0);
    CHECK(r[i].global.kernelEnd > r[i].global.kernelStart);
    CHECK(r[i].context.kernelEnd > r[i].context.kernelStart);
  }
  CHECK(r[0].global.kernelStart >= ticks[0]);
  CHECK(r[1].global.kernelStart >= r[0].global.kernelEnd);
  CHECK(r[2].global.kernelStart >= r[1].global.kernelEnd);
  CHECK(r[3].global.kernelEnd <= ticks[1]);
  double kernels = (double)(r[0].global.kernelEnd - r[0].global.kernelStart) +
                   (double)(r[1].global.kernelEnd - r[1].global.kernelStart);
  check_(__FILE__, __LINE__, kernels > 0.02 * took && kernels <= took,
         "two kernels took %.2f ms of %.2f ms", 1e-6 * kernels, 1e-6 * took);
  CHECK(host[1] > host[0] && ticks[1] > ticks[0]);

  /* By a command, from a list, with an offset. */
  ze_kernel_timestamp_result_t *copied = shared_new(s, 4 * sizeof *copied);
  uint64_t *stamp = shared_new(s, sizeof *stamp);
  memset(copied, 0, 4 * sizeof *copied);
  size_t offsets[2] = {2 * sizeof *copied, sizeof *copied};
  ze_command_queue_handle_t q = queue_new(s);
  ze_command_list_handle_t l = list_new(s);
  MUST(zeCommandListAppendQueryKernelTimestamps(l, 2, t, copied, offsets, NULL,
                                                0, NULL));
  MUST(zeCommandListAppendWriteGlobalTimestamp(l, stamp, NULL, 0, NULL));
  MUST(zeCommandListClose(l));
  MUST(zeCommandQueueExecuteCommandLists(q, 1, &l, NULL));
  MUST(zeCommandQueueSynchronize(q, UINT64_MAX));
  CHECK(memcmp(&copied[2], &r[0], sizeof r[0]) == 0);
  CHECK(memcmp(&copied[1], &r[1], sizeof r[1]) == 0);
  EQUAL(copied[0].global.kernelStart, 0);
  CHECK(*stamp >= ticks[1]);
  MUST(zeCommandListDestroy(l));
  MUST(zeCommandQueueDestroy(q));
  MUST(zeMemFree(s.context, copied));
  MUST(zeMemFree(s.context, stamp));

  /* An event of a pool without timestamps has no timestamp. */
  CHECK(zeEventQueryKernelTimestamp(e[0], &r[0]) != ZE_RESULT_SUCCESS);
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(t[i]));
  MUST(zeEventPoolDestroy(timed));
}

/* Events reset or destroyed before a command signals them. */
static void test_abandoned(ze_command_list_handle_t list)
{
  reset_all();
  ze_event_pool_handle_t mine = pool_new(s, 0, 100);
  uint32_t turns = TURNS / 100;
  MUST(zeKernelSetArgumentValue(spin, 1, sizeof turns, &turns));
  for (uint32_t i = 0; i < 100; i++) {
    ze_event_handle_t event = event_new(mine, i);
    MUST(zeCommandListAppendLaunchKernel(list, spin, &one, event, 0, NULL));
    if (i % 3 == 1) MUST(zeEventHostReset(event));
    if (i % 3 == 2) zeEventHostSynchronize(event, 1000);
    MUST(zeEventDestroy(event));
  }
  MUST(zeCommandListAppendSignalEvent(list, e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  MUST(zeEventPoolDestroy(mine));
}

/* Four threads, each with its own list, and a shared queue. */
static ze_command_queue_handle_t shared_queue;

static void *worker(void *argument)
{
  uint32_t *mine = argument;
  ze_event_pool_handle_t p = pool_new(s, 0, 1);
  ze_event_handle_t done = event_new(p, 0);
  ze_command_list_handle_t immediate =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t l = list_new(s);
  uint32_t pattern = 1;
  MUST(zeCommandListAppendMemoryFill(l, mine + 1, &pattern, sizeof pattern,
                                     sizeof pattern, NULL, 0, NULL));
  MUST(zeCommandListClose(l));
  for (int i = 0; i < 200; i++) {
    pattern = (uint32_t)i;
    MUST(zeCommandListAppendMemoryFill(immediate, mine, &pattern,
                                       sizeof pattern, sizeof pattern, done, 0,
                                       NULL));
    MUST(zeEventHostSynchronize(done, UINT64_MAX));
    if (*mine != pattern) abort();
    MUST(zeEventHostReset(done));
    MUST(zeCommandQueueExecuteCommandLists(shared_queue, 1, &l, NULL));
    if (i % 10 == 0)
      MUST(zeCommandQueueSynchronize(shared_queue, UINT64_MAX));
  }
  MUST(zeCommandQueueSynchronize(shared_queue, UINT64_MAX));
  MUST(zeCommandListDestroy(immediate));
  MUST(zeCommandListDestroy(l));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(p));
  return NULL;
}

static void test_threads(void)
{
  pthread_t threads[4];
  uint32_t *memory = shared_new(s, 4 * 64);
  memset(memory, 0, 4 * 64);
  shared_queue = queue_new(s);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, worker, memory + i * 16);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) {
    EQUAL(memory[i * 16], 199);
    EQUAL(memory[i * 16 + 1], 1);
  }
  MUST(zeCommandQueueDestroy(shared_queue));
  MUST(zeMemFree(s.context, memory));
}

/* An event that the host or the list itself has set when a wait is appended may
   be reset before the list gets there.  The later command that resets it also
   lets the list go on. */
static void test_taken_back(ze_command_list_handle_t a,
                            ze_command_list_handle_t b)
{
  for (int itself = 0; itself < 2; itself++) {
    reset_all();
    if (itself) {
      chain_append(b, 1, e[1], 0, NULL);
      MUST(zeCommandListAppendBarrier(b, e[3], 0, NULL));
      RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[3], UINT64_MAX));
    } else
      MUST(zeEventHostSignal(e[1]));
    MUST(zeCommandListAppendBarrier(b, NULL, 1, &e[0]));
    MUST(zeCommandListAppendBarrier(b, e[2], 1, &e[1]));
    MUST(zeCommandListAppendEventReset(a, e[1]));
    MUST(zeCommandListAppendSignalEvent(a, e[0]));
    RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[2], 20000000));
    MUST(zeCommandListAppendSignalEvent(a, e[1]));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[2], UINT64_MAX));
  }
}

/* If two lists signal an event, the first signal releases the commands that
   wait for it. */
static void test_two_givers(ze_command_list_handle_t a,
                            ze_command_list_handle_t b)
{
  ze_command_list_handle_t c =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  for (int second = 0; second < 2; second++) {
    reset_all();
    MUST(zeCommandListAppendBarrier(a, e[0], 1, &e[1]));
    MUST(zeCommandListAppendBarrier(b, e[0], 1, &e[2]));
    MUST(zeCommandListAppendBarrier(c, e[3], 1, &e[0]));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[3]));
    MUST(zeEventHostSignal(e[1 + second]));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[3], UINT64_MAX));
    MUST(zeEventHostSignal(e[2 - second]));
    MUST(zeCommandListAppendSignalEvent(a, e[4]));
    MUST(zeCommandListAppendSignalEvent(b, e[5]));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[4], UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[5], UINT64_MAX));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[3], UINT64_MAX));
  }
  MUST(zeCommandListDestroy(c));
}

/* The host signals an event before the list does: commands that wait for it go
   on. */
static void test_overtaken(ze_command_list_handle_t a,
                           ze_command_list_handle_t b)
{
  reset_all();
  MUST(zeCommandListAppendBarrier(a, e[0], 1, &e[1]));
  MUST(zeCommandListAppendBarrier(b, e[2], 1, &e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[2]));
  MUST(zeEventHostSignal(e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[2], UINT64_MAX));
  MUST(zeEventHostSignal(e[1]));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(a, UINT64_MAX));
}

/* After a list has failed, a wait for its next command gets the error even if
   the wait begins while the command runs. */
static void test_behind_failed(ze_command_list_handle_t a,
                               ze_command_list_handle_t b)
{
  ze_command_list_handle_t c =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_handle_t gone = event_new(pool, 8);
  reset_all();
  MUST(zeCommandListAppendBarrier(a, e[0], 1, &gone));
  MUST(zeEventDestroy(gone));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[0], UINT64_MAX));
  MUST(zeCommandListAppendBarrier(c, NULL, 1, &e[0]));
  MUST(zeCommandListAppendLaunchKernel(c, spin, &one, e[1], 0, NULL));
  MUST(zeCommandListAppendBarrier(b, e[2], 1, &e[1]));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[2], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[1], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(b, UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(c, UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(a, UINT64_MAX));
  MUST(zeCommandListDestroy(c));
}

/* A list waits for an event that is destroyed: later commands are handled in
   order and fail, and no wait hangs. */
static void test_failed(bool waits_first)
{
  ze_command_list_handle_t a =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t b =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_event_handle_t gone = event_new(pool, 8);
  reset_all();
  MUST(zeEventHostSignal(e[1]));
  if (waits_first) MUST(zeCommandListAppendBarrier(b, e[3], 1, &e[2]));
  MUST(zeCommandListAppendBarrier(a, e[0], 1, &e[4]));
  MUST(zeCommandListAppendBarrier(a, NULL, 1, &gone));
  MUST(zeCommandListAppendEventReset(a, e[1]));
  MUST(zeCommandListAppendBarrier(a, NULL, 1, &e[5]));
  chain_append(a, 7, e[2], 0, NULL);
  if (!waits_first) MUST(zeCommandListAppendBarrier(b, e[3], 1, &e[2]));
  MUST(zeEventDestroy(gone));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[2]));
  RETURNS(ZE_RESULT_NOT_READY, synchronize(a, 0));
  MUST(zeEventHostSignal(e[4]));
  MUST(zeEventHostSignal(e[5]));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[3], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(b, UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(e[0]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[1]));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, zeEventQueryStatus(e[2]));
  /* A later wait for it also fails, until it is reset. */
  MUST(zeCommandListAppendBarrier(b, e[6], 1, &e[2]));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[6], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(b, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(b, 0));
  MUST(zeEventHostReset(e[2]));
  MUST(zeEventHostReset(e[6]));
  chain_append(a, 8, e[2], 0, NULL);
  chain_append(b, 9, e[6], 1, &e[2]);
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[6], UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(b, UINT64_MAX));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

int main(void)
{
  s = setup_new();
  MUST(zeDriverGetExtensionFunctionAddress(s.driver,
                                           "zeCommandListHostSynchronize",
                                           (void **)&synchronize));
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  spin = kernel_new(module, "spin");
  chain = kernel_new(module, "chain");
  count = kernel_new(module, "count");
  out = shared_new(s, N * sizeof *out);
  memset(out, 0, N * sizeof *out);
  MUST(zeKernelSetGroupSize(chain, N, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(spin, 0, sizeof out, &out));
  pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 9);
  for (uint32_t i = 0; i < 8; i++) e[i] = event_new(pool, i);
  ze_command_list_handle_t a =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t b =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  test_host();
  test_host_wakes_host();
  test_kernel(a);
  test_gate(a);
  test_two_lists(a, b);
  test_taken_back(a, b);
  test_two_givers(a, b);
  test_overtaken(a, b);
  test_failed(false);
  test_failed(true);
  test_behind_failed(a, b);
  test_ping_pong();
  test_self_reset();
  test_fence();
  test_timestamps(b);
  test_abandoned(a);
  test_threads();
  for (int i = 0; i < 8; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
  MUST(zeKernelDestroy(spin));
  MUST(zeKernelDestroy(chain));
  MUST(zeKernelDestroy(count));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, out));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
