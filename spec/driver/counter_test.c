/*
 * counter_test.c - in-order lists with counter-based events.
 * SPDX-License-Identifier: MIT
 *
 * Events are used again without a reset; a wait refers to the state of the
 * event at the append.  A regular event that only the host signals blocks a
 * list, so that nothing depends on timing.
 */
#include "check.h"

#include <pthread.h>

/* As in the specification since 1.7, 1.9 and 1.15. */
enum {
  LIST_IN_ORDER = 0x8,
  QUEUE_IN_ORDER = 0x2,
  POOL_COUNTER = 0x20014,
  COUNTER = 0x2003a,
  MUTABLE_LIST = 0x20016,
  COMMAND_ID = 0x20017,
  EXTERNAL_SYNC = 0x2003b,
  EVENT_PROPERTIES = 0x2003e,
  IMMEDIATE = 0x1,
  REGULAR = 0x2,
  IPC = 0x8,
  DEVICE_TIMESTAMP = 0x10,
  HOST_TIMESTAMP = 0x20
};

typedef struct counter_desc {
  int stype;
  const void *next;
  uint32_t flags, signal, wait;
} counter_desc;

static setup s;
static ze_kernel_handle_t chain;
static uint32_t *out;
static ze_event_handle_t held;
static const ze_group_count_t one = {1, 1, 1};

static ze_result_t (*create)(ze_context_handle_t, ze_device_handle_t,
                             const void *, ze_event_handle_t *);
static ze_result_t (*flags_of)(ze_event_handle_t, uint32_t *);
static ze_result_t (*pool_of)(ze_event_handle_t, ze_event_pool_handle_t *);
static ze_result_t (*append_lists)(ze_command_list_handle_t, uint32_t,
                                   ze_command_list_handle_t *,
                                   ze_event_handle_t, uint32_t,
                                   ze_event_handle_t *);

static void find(void *function, const char *name)
{
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, name,
                                           (void **)function));
}

static ze_event_handle_t counter_new(uint32_t flags)
{
  counter_desc desc = {.stype = COUNTER, .flags = flags, .signal = 4};
  ze_event_handle_t event;
  MUST(create(s.context, s.device, &desc, &event));
  return event;
}

static ze_command_list_handle_t ordered_immediate(void)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .flags = QUEUE_IN_ORDER,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  return list;
}

static ze_command_list_handle_t ordered_list(void)
{
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .flags = LIST_IN_ORDER};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreate(s.context, s.device, &desc, &list));
  return list;
}

/* *to = *to * 3 + add */
static ze_result_t launch(ze_command_list_handle_t list, uint32_t *to,
                          uint32_t add, ze_event_handle_t signal,
                          ze_event_handle_t wait)
{
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof to, &to));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  return zeCommandListAppendLaunchKernel(list, chain, &one, signal,
                                         wait != NULL, &wait);
}

/* Blocks the list until `held` is signalled. */
static void hold(ze_command_list_handle_t list)
{
  MUST(zeEventHostReset(held));
  MUST(zeCommandListAppendWaitOnEvents(list, 1, &held));
}

static uint32_t chained(uint32_t x, uint32_t first, uint32_t last)
{
  for (uint32_t i = first; i <= last; i++) x = x * 3 + i;
  return x;
}

/* Launches, copies and fills, without any event between them. */
static void test_order(void)
{
  uint32_t *a = out, *b = out + 1, seven = 7;
  ze_command_list_handle_t immediate = ordered_immediate();
  *a = *b = 0;
  hold(immediate);
  MUST(zeCommandListAppendMemoryFill(immediate, a, &seven, 4, 4, NULL, 0,
                                     NULL));
  for (uint32_t i = 1; i <= 40; i++) MUST(launch(immediate, a, i, NULL, NULL));
  MUST(zeCommandListAppendMemoryCopy(immediate, b, a, 4, NULL, 0, NULL));
  MUST(launch(immediate, a, 41, NULL, NULL));
  EQUAL(*a + *b, 0);
  MUST(zeEventHostSignal(held));
  ze_event_handle_t done = counter_new(0);
  MUST(zeCommandListAppendSignalEvent(immediate, done));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(done, UINT64_MAX));
  EQUAL(*b, chained(7, 1, 40));
  EQUAL(*a, chained(7, 1, 41));

  /* A regular list, executed repeatedly, alone and while it still runs. */
  ze_command_queue_handle_t queue = queue_new(s);
  ze_command_list_handle_t list = ordered_list();
  for (uint32_t i = 1; i <= 30; i++) MUST(launch(list, a, i, NULL, NULL));
  MUST(zeCommandListAppendMemoryCopy(list, b, a, 4, NULL, 0, NULL));
  for (uint32_t i = 31; i <= 35; i++) MUST(launch(list, a, i, NULL, NULL));
  MUST(zeCommandListClose(list));
  *a = 1;
  uint32_t wanted = 1, copied = 0;
  ze_command_list_handle_t thrice[] = {list, list, list};
  for (int i = 0; i < 4; i++) {
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, thrice, NULL));
    if (i == 2) MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  }
  MUST(zeCommandQueueExecuteCommandLists(queue, 3, thrice, NULL));
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  for (int i = 0; i < 7; i++) {
    copied = chained(wanted, 1, 30);
    wanted = chained(wanted, 1, 35);
  }
  EQUAL(*a, wanted);
  EQUAL(*b, copied);
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeCommandListDestroy(immediate));
  MUST(zeEventDestroy(done));
}

/* The event stands for the last command appended to signal it. */
static void test_reuse(void)
{
  ze_command_list_handle_t a = ordered_immediate(), b = ordered_immediate();
  ze_event_handle_t event = counter_new(0);
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(event));
  hold(a);
  out[0] = 0;
  MUST(launch(a, out, 1, event, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(event, 1000000));
  /* If a list that is not blocked signals it, it does not wait for the
     other. */
  out[1] = 5;
  MUST(launch(b, out + 1, 1, event, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[1], 16);
  EQUAL(out[0], 0);
  MUST(zeEventHostSignal(held));
  MUST(zeCommandListAppendSignalEvent(a, event));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], 1);

  /* A wait is for the command that the event stood for at the append.  If it
     were for a later command, behind it in its own list, neither would ever
     run. */
  hold(a);
  out[0] = 2;
  MUST(launch(a, out, 1, event, NULL));
  MUST(launch(b, out, 2, NULL, event));
  MUST(launch(b, out, 3, event, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], chained(2, 1, 3));

  /* Many times without waiting; destroyed while commands wait for it. */
  hold(a);
  out[0] = 0;
  for (uint32_t i = 1; i <= 50; i++)
    MUST(launch(i % 2 != 0 ? a : b, out, i, event, event));
  MUST(zeCommandListAppendWaitOnEvents(a, 1, &event));
  RETURNS(ZE_RESULT_SUCCESS, zeEventDestroy(event));
  MUST(zeEventHostSignal(held));
  event = counter_new(0);
  MUST(zeCommandListAppendSignalEvent(a, event));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], chained(0, 1, 50));
  MUST(zeEventDestroy(event));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
}

/* In regular lists. */
static void test_regular(void)
{
  ze_command_queue_handle_t queue = queue_new(s), other = queue_new(s);
  ze_command_list_handle_t makes = ordered_list(), takes = list_new(s);
  ze_command_list_handle_t immediate = ordered_immediate();
  ze_event_handle_t event = counter_new(IMMEDIATE | REGULAR);
  MUST(zeCommandListAppendWaitOnEvents(makes, 1, &held));
  for (uint32_t i = 1; i <= 30; i++)
    MUST(launch(makes, out, i, i == 30 ? event : NULL, NULL));
  MUST(zeCommandListClose(makes));
  MUST(launch(takes, out, 31, NULL, event));
  MUST(zeCommandListClose(takes));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));

  /* Waits block, even if the list that they wait for is executed later. */
  out[0] = 1;
  MUST(zeEventHostSignal(held));
  MUST(zeCommandQueueExecuteCommandLists(other, 1, &takes, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(other, 1000000));
  EQUAL(out[0], 1);
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &makes, NULL));
  MUST(zeCommandQueueSynchronize(other, UINT64_MAX));
  EQUAL(out[0], chained(1, 1, 31));
  /* If callbacks report ends, this one may arrive after the other. */
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(event));

  /* Executed again without a reset of the event. */
  for (int i = 0; i < 5; i++) {
    MUST(zeEventHostReset(held));
    out[0] = 2;
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &makes, NULL));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
    MUST(zeCommandQueueExecuteCommandLists(other, 1, &takes, NULL));
    MUST(zeEventHostSignal(held));
    MUST(zeCommandQueueSynchronize(other, UINT64_MAX));
    EQUAL(out[0], chained(2, 1, 31));
  }

  /* The same from an immediate list. */
  MUST(zeEventHostReset(held));
  out[0] = 3;
  ze_event_handle_t last = counter_new(0);
  RETURNS(ZE_RESULT_SUCCESS,
          append_lists(immediate, 1, &makes, NULL, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS,
          append_lists(immediate, 1, &takes, last, 0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(last));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(last, UINT64_MAX));
  EQUAL(out[0], chained(3, 1, 31));

  /* A wait for a list not executed yet is not blocked by a later use of the
     event. */
  ze_event_handle_t early = counter_new(IMMEDIATE | REGULAR);
  MUST(zeCommandListReset(makes));
  MUST(launch(makes, out, 1, early, NULL));
  MUST(zeCommandListClose(makes));
  out[0] = 4;
  MUST(launch(immediate, out, 2, NULL, early));
  MUST(zeEventHostReset(held));
  MUST(zeCommandListAppendWaitOnEvents(immediate, 1, &held));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &makes, NULL));
  MUST(launch(immediate, out, 3, early, NULL));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(early, UINT64_MAX));
  EQUAL(out[0], chained(4, 1, 3));

  MUST(zeEventDestroy(early));
  MUST(zeEventDestroy(last));
  MUST(zeEventDestroy(event));
  MUST(zeCommandListDestroy(immediate));
  MUST(zeCommandListDestroy(takes));
  MUST(zeCommandListDestroy(makes));
  MUST(zeCommandQueueDestroy(other));
  MUST(zeCommandQueueDestroy(queue));
}

/* An indirect launch in a list whose signal is changed, executed again: the
   event stands for the last execution. */
static void test_indirect(void)
{
  struct {
    int stype;
    const void *next;
    uint32_t flags;
  } can_change = {.stype = MUTABLE_LIST}, id_desc = {.stype = COMMAND_ID};
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .pNext = &can_change,
                                 .flags = LIST_IN_ORDER};
  ze_result_t (*next_id)(ze_command_list_handle_t, const void *, uint64_t *);
  ze_result_t (*update)(ze_command_list_handle_t, uint64_t, ze_event_handle_t);
  find(&next_id, "zeCommandListGetNextCommandIdExp");
  find(&update, "zeCommandListUpdateMutableCommandSignalEventExp");
  ze_event_handle_t first = counter_new(REGULAR), other = counter_new(REGULAR);
  ze_command_queue_handle_t queue = queue_new(s);
  ze_group_count_t *groups = shared_new(s, sizeof *groups);
  ze_command_list_handle_t list;
  uint32_t add = 1;
  uint64_t id;
  *groups = one;
  MUST(zeCommandListCreate(s.context, s.device, &desc, &list));
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  MUST(zeCommandListAppendWaitOnEvents(list, 1, &held));
  MUST(next_id(list, &id_desc, &id));
  MUST(zeCommandListAppendLaunchKernelIndirect(list, chain, groups, first, 0,
                                               NULL));
  MUST(zeCommandListClose(list));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(first));
  RETURNS(ZE_RESULT_SUCCESS, update(list, id, other));
  MUST(zeCommandListClose(list));
  out[0] = 0;
  for (uint32_t i = 1; i <= 3; i++) {
    MUST(zeEventHostReset(held));
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(other));
    MUST(zeEventHostSignal(held));
    RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(other, UINT64_MAX));
    EQUAL(out[0], i == 1 ? 1 : i == 2 ? 4 : 13);
  }
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(first));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeMemFree(s.context, groups));
  MUST(zeEventDestroy(first));
  MUST(zeEventDestroy(other));
}

/* Regular and immediate lists in turn, each waiting for the one before by the
   event that it signals itself. */
static void test_mixed(void)
{
  ze_command_queue_handle_t queue = queue_new(s);
  ze_command_list_handle_t immediate[3], regular[3];
  ze_event_handle_t event = counter_new(IMMEDIATE | REGULAR);
  uint32_t n = 0;
  out[0] = 0;
  for (int i = 0; i < 3; i++) {
    regular[i] = ordered_list();
    immediate[i] = ordered_immediate();
    MUST(launch(immediate[i], out, ++n, event, event));
    for (int k = 0; k < 20; k++)
      MUST(launch(regular[i], out, ++n, event, event));
    MUST(zeCommandListClose(regular[i]));
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &regular[i], NULL));
  }
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], chained(0, 1, n));
  for (int i = 0; i < 3; i++) {
    MUST(zeCommandListDestroy(regular[i]));
    MUST(zeCommandListDestroy(immediate[i]));
  }
  MUST(zeEventDestroy(event));
  MUST(zeCommandQueueDestroy(queue));
}

static void test_timestamps(void)
{
  ze_command_list_handle_t list = ordered_immediate();
  ze_event_handle_t event = counter_new(HOST_TIMESTAMP);
  ze_kernel_timestamp_result_t first, second;
  hold(list);
  MUST(launch(list, out, 1, event, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryKernelTimestamp(event, &first));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryKernelTimestamp(event, &first));
  CHECK(first.global.kernelEnd > first.global.kernelStart);
  MUST(launch(list, out, 1, event, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryKernelTimestamp(event, &second));
  CHECK(second.global.kernelStart >= first.global.kernelEnd);
  /* A command queries the timestamps of the previous launch; the event then
     goes to the next launch. */
  ze_kernel_timestamp_result_t *asked =
      (ze_kernel_timestamp_result_t *)(out + 16);
  memset(asked, 0, sizeof *asked);
  hold(list);
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendQueryKernelTimestamps(list, 1, &event, asked,
                                                   NULL, NULL, 0, NULL));
  MUST(launch(list, out, 1, event, NULL));
  MUST(zeEventDestroy(event));
  MUST(zeEventHostSignal(held));
  event = counter_new(0);
  MUST(zeCommandListAppendSignalEvent(list, event));
  MUST(zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(asked->global.kernelStart, second.global.kernelStart);
  EQUAL(asked->global.kernelEnd, second.global.kernelEnd);
  MUST(zeEventDestroy(event));
  event = counter_new(0);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeEventQueryKernelTimestamp(event, &second));
  MUST(zeEventDestroy(event));

  /* A launch whose group counts are read when it begins. */
  ze_group_count_t *groups = (ze_group_count_t *)(out + 8);
  event = counter_new(0);
  hold(list);
  out[0] = 7;
  *groups = one;
  uint32_t two = 2;
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof two, &two));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendLaunchKernelIndirect(list, chain, groups, event,
                                                  0, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], 23);
  MUST(zeEventDestroy(event));
  MUST(zeCommandListDestroy(list));
}

static void test_errors(void)
{
  ze_event_handle_t event = counter_new(0), regular = counter_new(REGULAR);
  ze_event_handle_t none = NULL;
  ze_event_pool_handle_t pool;
  ze_command_list_handle_t ordered = ordered_immediate();
  ze_command_list_handle_t recorded = ordered_list(), loose = list_new(s);
  ze_command_list_handle_t immediate =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  uint32_t flags = 99;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventHostSignal(event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventHostReset(event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendEventReset(ordered, event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendSignalEvent(immediate, event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendSignalEvent(loose, regular));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendSignalEvent(recorded, event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendSignalEvent(ordered, regular));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendSignalEvent(recorded, regular));
  /* A refused call leaves nothing behind, not even its wait. */
  ze_command_list_handle_t closed = list_new(s);
  MUST(zeCommandListClose(closed));
  MUST(zeEventHostReset(held));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          append_lists(immediate, 1, &closed, event, 1, &held));
  pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  ze_event_handle_t done = event_new(pool, 0);
  MUST(zeCommandListAppendSignalEvent(immediate, done));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(done, 60000000000));
  MUST(zeEventHostSignal(held));
  MUST(zeEventHostSynchronize(done, UINT64_MAX));
  MUST(zeEventDestroy(done));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandListDestroy(closed));
  /* Any list may wait. */
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendWaitOnEvents(immediate, 1, &event));
  RETURNS(ZE_RESULT_SUCCESS,
          zeCommandListAppendWaitOnEvents(loose, 1, &event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, pool_of(event, &pool));
  RETURNS(ZE_RESULT_SUCCESS, flags_of(regular, &flags));
  EQUAL(flags, REGULAR);

  counter_desc desc = {.stype = COUNTER};
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          create(NULL, s.device, &desc, &none));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          create(s.context, NULL, &desc, &none));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          create(s.context, s.device, NULL, &none));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          create(s.context, s.device, &desc, NULL));
  desc.flags = 0x80;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          create(s.context, s.device, &desc, &none));
  desc = (counter_desc){.stype = COUNTER, .wait = 8};
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          create(s.context, s.device, &desc, &none));
  desc = (counter_desc){.stype = COUNTER,
                        .flags = DEVICE_TIMESTAMP | HOST_TIMESTAMP};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          create(s.context, s.device, &desc, &none));
  desc.flags = IPC;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          create(s.context, s.device, &desc, &none));
  counter_desc external = {.stype = EXTERNAL_SYNC};
  desc = (counter_desc){.stype = COUNTER, .next = &external};
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          create(s.context, s.device, &desc, &none));
  CHECK(none == NULL);
  struct {
    int stype;
    void *next;
    uint32_t flags;
  } can = {.stype = EVENT_PROPERTIES, .flags = 99};
  ze_device_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &can};
  MUST(zeDeviceGetProperties(s.device, &properties));
  EQUAL(can.flags, 0);

  MUST(zeCommandListDestroy(immediate));
  MUST(zeCommandListDestroy(loose));
  MUST(zeCommandListDestroy(recorded));
  MUST(zeCommandListDestroy(ordered));
  MUST(zeEventDestroy(regular));
  MUST(zeEventDestroy(event));
}

/* Pools, as in 1.9. */
static void test_pool(void)
{
  struct {
    int stype;
    const void *next;
    uint32_t flags;
  } counter = {.stype = POOL_COUNTER, .flags = 4};
  ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                               .pNext = &counter,
                               .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                               .count = 2};
  ze_event_pool_handle_t pool, same;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeEventPoolCreate(s.context, &desc, 0, NULL, &pool));
  counter.flags = 0;
  MUST(zeEventPoolCreate(s.context, &desc, 0, NULL, &pool));
  ze_event_handle_t event = event_new(pool, 0);
  ze_command_list_handle_t list = ordered_immediate();
  RETURNS(ZE_RESULT_SUCCESS, zeEventQueryStatus(event));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventHostReset(event));
  RETURNS(ZE_RESULT_SUCCESS, pool_of(event, &same));
  CHECK(same == pool);
  uint32_t flags = 99;
  RETURNS(ZE_RESULT_SUCCESS, flags_of(event, &flags));
  EQUAL(flags, 0);
  hold(list);
  out[0] = 1;
  MUST(launch(list, out, 1, event, NULL));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(event));
  MUST(zeEventHostSignal(held));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], 4);
  MUST(zeCommandListDestroy(list));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
}

/* A thread appends waits for an event that another thread gives new signals. */
static ze_event_handle_t given;
static void *give_signals(void *list)
{
  bool ok = true;
  for (int i = 0; i < 500000 && ok; i++)
    ok = zeCommandListAppendSignalEvent(list, given) == ZE_RESULT_SUCCESS;
  return ok ? list : NULL;
}

static void test_threads(void)
{
  ze_command_list_handle_t giving = ordered_immediate();
  ze_command_list_handle_t waiting = ordered_immediate();
  given = counter_new(IMMEDIATE);
  MUST(zeCommandListAppendSignalEvent(giving, given));
  pthread_t thread;
  if (pthread_create(&thread, NULL, give_signals, giving) != 0) abort();
  bool ok = true;
  for (int i = 0; i < 500000 && ok; i++)
    ok = zeCommandListAppendWaitOnEvents(waiting, 1, &given) ==
         ZE_RESULT_SUCCESS;
  void *gave;
  pthread_join(thread, &gave);
  CHECK(ok && gave != NULL);
  ze_event_handle_t done = counter_new(IMMEDIATE);
  MUST(zeCommandListAppendSignalEvent(waiting, done));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(done, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(given, UINT64_MAX));
  MUST(zeEventDestroy(done));
  MUST(zeEventDestroy(given));
  MUST(zeCommandListDestroy(giving));
  MUST(zeCommandListDestroy(waiting));
}

/* Threads give an event new signals on their own lists. */
static void test_givers(void)
{
  ze_command_list_handle_t lists[2] = {ordered_immediate(),
                                       ordered_immediate()};
  pthread_t threads[2];
  given = counter_new(IMMEDIATE);
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, give_signals, lists[i]) != 0)
      abort();
  for (int i = 0; i < 2; i++) {
    void *gave;
    pthread_join(threads[i], &gave);
    CHECK(gave == lists[i]);
  }
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(given, UINT64_MAX));
  MUST(zeEventDestroy(given));
  for (int i = 0; i < 2; i++) MUST(zeCommandListDestroy(lists[i]));
}

/* Intel's older function and descriptor. */
static void test_older(void)
{
  counter_desc desc = {.stype = 0x3001c, .flags = 0x7, .signal = 4, .wait = 2};
  ze_result_t (*create_older)(ze_context_handle_t, ze_device_handle_t,
                              const void *, ze_event_handle_t *);
  find(&create_older, "zexCounterBasedEventCreate2");
  ze_command_list_handle_t list = ordered_immediate();
  ze_event_handle_t event;
  MUST(create_older(s.context, s.device, &desc, &event));
  int *memory = shared_new(s, 4), seven = 7;
  MUST(zeCommandListAppendMemoryFill(list, memory, &seven, 4, 4, event, 0,
                                     NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(*memory, 7);
  MUST(zeEventDestroy(event));
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, memory));
}

int main(void)
{
  s = setup_new();
  find(&create, "zeEventCounterBasedCreate");
  find(&flags_of, "zeEventGetCounterBasedFlags");
  find(&pool_of, "zeEventGetEventPool");
  find(&append_lists, "zeCommandListImmediateAppendCommandListsExp");
  ze_module_handle_t module =
      module_load(s, "spec/driver/kernels/probe.spv");
  chain = kernel_new(module, "chain");
  MUST(zeKernelSetGroupSize(chain, 1, 1, 1));
  out = shared_new(s, 64 * sizeof *out);
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  held = event_new(pool, 0);

  test_order();
  test_reuse();
  test_regular();
  test_mixed();
  test_indirect();
  test_timestamps();
  test_errors();
  test_pool();
  test_threads();
  test_givers();
  test_older();

  MUST(zeEventDestroy(held));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(chain));
  MUST(zeModuleDestroy(module));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
