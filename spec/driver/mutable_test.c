/*
 * mutable_test.c - lists changed between their executions, and their clones.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

enum { N = 64 };

/* As in the specification since 1.9; the oldest headers lack them. */
enum {
  PROPERTIES = 0x20015,
  LIST_DESC = 0x20016,
  ID_DESC = 0x20017,
  COMMANDS_DESC = 0x20018,
  ARGUMENT_DESC = 0x20019,
  COUNT_DESC = 0x2001a,
  SIZE_DESC = 0x2001b,
  OFFSET_DESC = 0x2001c,
  CLONEABLE = 0x10
};

typedef struct base {
  int stype;
  const void *next;
  uint32_t flags;
} base;

typedef struct argument {
  int stype;
  const void *next;
  uint64_t id;
  uint32_t index;
  size_t size;
  const void *value;
} argument;

typedef struct group_count {
  int stype;
  const void *next;
  uint64_t id;
  const ze_group_count_t *groups;
} group_count;

typedef struct triple {
  int stype;
  const void *next;
  uint64_t id;
  uint32_t value[3];
} triple;

static setup s;
static ze_kernel_handle_t chain, count, where;
static uint32_t *out;
static ze_event_handle_t e[4];
static ze_command_queue_handle_t queue;
static const ze_group_count_t one = {1, 1, 1};

static ze_result_t (*next_id)(ze_command_list_handle_t, const void *,
                              uint64_t *);
static ze_result_t (*next_id_kernels)(ze_command_list_handle_t, const void *,
                                      uint32_t, ze_kernel_handle_t *,
                                      uint64_t *);
static ze_result_t (*update)(ze_command_list_handle_t, const void *);
static ze_result_t (*update_signal)(ze_command_list_handle_t, uint64_t,
                                    ze_event_handle_t);
static ze_result_t (*update_waits)(ze_command_list_handle_t, uint64_t,
                                   uint32_t, ze_event_handle_t *);
static ze_result_t (*update_kernels)(ze_command_list_handle_t, uint32_t,
                                     uint64_t *, ze_kernel_handle_t *);
static ze_result_t (*is_mutable)(ze_command_list_handle_t, ze_bool_t *);
static ze_result_t (*clone)(ze_command_list_handle_t,
                            ze_command_list_handle_t *);

static void find(void *function, const char *name)
{
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, name,
                                           (void **)function));
}

static ze_command_list_handle_t mutable_new(void)
{
  base extension = {LIST_DESC, NULL, 0};
  ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                 .pNext = &extension,
                                 .flags = CLONEABLE};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreate(s.context, s.device, &desc, &list));
  return list;
}

static uint64_t id_get(ze_command_list_handle_t list, uint32_t flags)
{
  base desc = {ID_DESC, NULL, flags};
  uint64_t id = 0;
  RETURNS(ZE_RESULT_SUCCESS, next_id(list, &desc, &id));
  CHECK(id != 0);
  return id;
}

static ze_result_t change(ze_command_list_handle_t list, const void *what)
{
  base desc = {COMMANDS_DESC, what, 0};
  return update(list, &desc);
}

/* Executes the list; checks elements 0 and `n` - 1, and the one after. */
static void runs(ze_command_list_handle_t list, uint32_t n, uint32_t first,
                 uint32_t beyond)
{
  memset(out, 0, N * sizeof *out);
  MUST(zeCommandListClose(list));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  EQUAL(out[0], first);
  EQUAL(out[n - 1], first);
  EQUAL(out[n], beyond);
}

/* Arguments, counts, group sizes, offsets; one error rejects all changes. */
static void test_launch(void)
{
  ze_command_list_handle_t list = mutable_new();
  uint32_t add = 5, more = 9;
  MUST(zeKernelSetGroupSize(chain, 4, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  uint64_t second = id_get(list, 0x2);
  CHECK(second != id);
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  runs(list, 4, 5 * 3 + 5, 0);

  argument a = {ARGUMENT_DESC, NULL, id, 1, sizeof more, &more};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &a));
  more = 1000; /* it was copied */
  runs(list, 4, 9 * 3 + 5, 0);

  ze_group_count_t groups = {3, 1, 1}, none = {0, 1, 1};
  group_count c1 = {COUNT_DESC, NULL, id, &groups};
  group_count c2 = {COUNT_DESC, &c1, second, &groups};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &c2));
  runs(list, 12, 9 * 3 + 5, 0);
  c1.groups = &none;
  RETURNS(ZE_RESULT_SUCCESS, change(list, &c1));
  runs(list, 12, 5, 0);
  c1.groups = &groups;
  triple t = {SIZE_DESC, &c1, id, {8, 1, 1}};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &t));
  MUST(zeCommandListClose(list));
  runs(list, 12, 9 * 3 + 5, 9);
  t = (triple){SIZE_DESC, NULL, id, {4, 1, 1}};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &t));

  /* Only the count of the second may be changed; nothing has changed. */
  a = (argument){ARGUMENT_DESC, NULL, second, 1, sizeof more, &more};
  t = (triple){OFFSET_DESC, &a, id, {12, 0, 0}};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, change(list, &t));
  a = (argument){ARGUMENT_DESC, NULL, id, 1, 16, &more};
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, change(list, &a));
  a = (argument){ARGUMENT_DESC, NULL, 77, 1, sizeof more, &more};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, change(list, &a));
  a = (argument){0x1234, NULL, id, 1, sizeof more, &more};
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, change(list, &a));
  t = (triple){SIZE_DESC, NULL, id, {0, 1, 1}};
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, change(list, &t));
  runs(list, 12, 9 * 3 + 5, 0);
  t = (triple){OFFSET_DESC, NULL, id, {12, 0, 0}};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &t));
  runs(list, 12, 5, 9);

  /* The kernel itself is unchanged. */
  MUST(zeCommandListReset(list));
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  runs(list, 4, 5, 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, change(list, &t));
  MUST(zeCommandListDestroy(list));
}

/* A launch limited to one group, because groups wait for each other, stays
   limited. */
static void test_cooperative(void)
{
  ze_command_list_handle_t list = mutable_new();
  ze_group_count_t groups = {2, 1, 1};
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchCooperativeKernel(list, count, &one, NULL, 0,
                                                  NULL));
  group_count c = {COUNT_DESC, NULL, id, &groups};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, change(list, &c));
  runs(list, 1, 1, 0);
  MUST(zeCommandListDestroy(list));
}

/* Local memory is counted after all changes have been made. */
static void test_local(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "through_local");
  ze_device_compute_properties_t compute = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  MUST(zeDeviceGetComputeProperties(s.device, &compute));
  size_t all = compute.maxSharedLocalMemory, most = all - 16;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(k, 1, 16, NULL));
  MUST(zeKernelSetArgumentValue(k, 2, 16, NULL));
  ze_command_list_handle_t list = mutable_new();
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, k, &one, NULL, 0, NULL));
  argument a = {ARGUMENT_DESC, NULL, id, 1, most, NULL};
  argument b = {ARGUMENT_DESC, &a, id, 2, 32, NULL};
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, change(list, &b));
  runs(list, 1, 1, 0);
  RETURNS(ZE_RESULT_SUCCESS, change(list, &a));
  runs(list, 1, 1, 0);
  b.next = NULL;
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, change(list, &b));
  /* One argument grows by what the other gives back. */
  a.size = 16;
  b = (argument){ARGUMENT_DESC, &a, id, 2, most, NULL};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &b));
  runs(list, 1, 1, 0);
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(k));
}

/* Another event to signal, other events to wait for, or no event. */
static void test_events(void)
{
  ze_command_list_handle_t list = mutable_new();
  ze_event_handle_t both[2] = {e[2], e[3]};
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, e[0], 1, &e[1]));
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE, update_waits(list, id, 2, both));
  RETURNS(ZE_RESULT_SUCCESS, update_waits(list, id, 1, &e[2]));
  RETURNS(ZE_RESULT_SUCCESS, update_signal(list, id, e[3]));
  memset(out, 0, N * sizeof *out);
  MUST(zeCommandListClose(list));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeEventHostSignal(e[1]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(e[3], 20000000));
  MUST(zeEventHostSignal(e[2]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[3], UINT64_MAX));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  for (int i = 0; i < 4; i++) MUST(zeEventHostReset(e[i]));
  ze_event_handle_t none = NULL;
  RETURNS(ZE_RESULT_SUCCESS, update_waits(list, id, 1, &none));
  RETURNS(ZE_RESULT_SUCCESS, update_signal(list, id, NULL));
  runs(list, 1, 1, 0);
  RETURNS(ZE_RESULT_SUCCESS, update_waits(list, id, 1, &e[1]));
  RETURNS(ZE_RESULT_SUCCESS, update_waits(list, id, 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, update_signal(list, id, NULL));
  runs(list, 1, 1, 0);
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[3]));
  MUST(zeCommandListDestroy(list));
}

/* Another kernel, if it was named beforehand. */
static void test_kernels(void)
{
  ze_command_list_handle_t list = mutable_new();
  ze_kernel_handle_t kernels[2] = {count, chain};
  base desc = {ID_DESC, NULL, 0x40 | 0x3};
  uint64_t id, other;
  uint32_t add = 7;
  MUST(zeKernelSetGroupSize(count, 8, 1, 1));
  MUST(zeKernelSetGroupSize(chain, 4, 1, 1));
  RETURNS(ZE_RESULT_SUCCESS, next_id_kernels(list, &desc, 2, kernels, &id));
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, NULL, 0, NULL));
  other = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, NULL, 0, NULL));
  runs(list, 8, 2, 0);
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  RETURNS(ZE_RESULT_SUCCESS, update_kernels(list, 1, &id, &chain));
  runs(list, 4, 8, 1);
  add = 2;
  argument a = {ARGUMENT_DESC, NULL, id, 1, sizeof add, &add};
  RETURNS(ZE_RESULT_SUCCESS, change(list, &a));
  runs(list, 4, 3, 1);
  RETURNS(ZE_RESULT_SUCCESS, update_kernels(list, 1, &id, &count));
  runs(list, 8, 2, 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          update_kernels(list, 1, &id, &where));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          update_kernels(list, 1, &other, &chain));
  MUST(zeCommandListDestroy(list));
}

/* A clone does the same as its source, and is changed separately. */
static void test_clone(void)
{
  ze_command_list_handle_t list = mutable_new(), copy, again;
  ze_command_list_handle_t plain = list_new(s);
  uint32_t add = 3, other = 4;
  MUST(zeKernelSetGroupSize(chain, N / 2, 1, 1));
  MUST(zeKernelSetArgumentValue(chain, 1, sizeof add, &add));
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, chain, &one, NULL, 0, NULL));
  MUST(zeCommandListAppendMemoryCopy(list, out + N / 2, out, 4, NULL, 0,
                                     NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, clone(list, &copy));
  MUST(zeCommandListClose(list));
  RETURNS(ZE_RESULT_SUCCESS, clone(list, &copy));
  argument a = {ARGUMENT_DESC, NULL, id, 1, sizeof other, &other};
  RETURNS(ZE_RESULT_SUCCESS, change(copy, &a));
  RETURNS(ZE_RESULT_SUCCESS, clone(copy, &again));
  runs(copy, N / 2, 4, 4);
  runs(list, N / 2, 3, 3);
  MUST(zeCommandListDestroy(copy));
  runs(again, N / 2, 4, 4);
  runs(list, N / 2, 3, 3);
  MUST(zeCommandListClose(plain));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, clone(plain, &copy));
  MUST(zeCommandListDestroy(again));
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandListDestroy(plain));
}

/* A clone has room for as many waits as its source, not only for the waits left
   there. */
static void test_clone_waits(void)
{
  ze_command_list_handle_t list = mutable_new(), copy;
  ze_event_handle_t both[2] = {e[1], e[2]};
  for (int i = 0; i < 4; i++) MUST(zeEventHostReset(e[i]));
  MUST(zeKernelSetGroupSize(count, 1, 1, 1));
  uint64_t id = id_get(list, 0);
  MUST(zeCommandListAppendLaunchKernel(list, count, &one, e[0], 2, both));
  RETURNS(ZE_RESULT_SUCCESS, update_waits(list, id, 0, NULL));
  MUST(zeCommandListClose(list));
  RETURNS(ZE_RESULT_SUCCESS, clone(list, &copy));
  RETURNS(ZE_RESULT_SUCCESS, update_waits(copy, id, 2, both));
  MUST(zeCommandListClose(copy));
  MUST(zeCommandQueueExecuteCommandLists(queue, 1, &copy, NULL));
  MUST(zeEventHostSignal(e[1]));
  RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(e[0]));
  MUST(zeEventHostSignal(e[2]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  MUST(zeCommandListDestroy(copy));
  MUST(zeCommandListDestroy(list));
}

static void test_errors(void)
{
  ze_command_list_handle_t list = mutable_new(), plain = list_new(s);
  base desc = {ID_DESC, NULL, 0x100};
  uint64_t id;
  ze_bool_t value = 2;
  RETURNS(ZE_RESULT_SUCCESS, is_mutable(list, &value));
  EQUAL(value, 1);
  RETURNS(ZE_RESULT_SUCCESS, is_mutable(plain, &value));
  EQUAL(value, 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, next_id(list, &desc, &id));
  desc.flags = 0;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, next_id(plain, &desc, &id));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, next_id(list, &desc, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, next_id(NULL, &desc, &id));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, update(list, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, update_signal(plain, 1, NULL));
  /* An id that was requested, but not used yet. */
  RETURNS(ZE_RESULT_SUCCESS, next_id(list, &desc, &id));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, update_signal(list, id, NULL));
  MUST(zeCommandListClose(list));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, next_id(list, &desc, &id));
  struct {
    int stype;
    void *next;
    uint32_t list_flags, command_flags;
  } lists = {PROPERTIES, NULL, 99, 99};
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
                              .pNext = &lists};
  MUST(zeDeviceGetProperties(s.device, &p));
  EQUAL(lists.list_flags, 0);
  EQUAL(lists.command_flags, 0x7f);
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandListDestroy(plain));
}

int main(void)
{
  s = setup_new();
  find(&next_id, "zeCommandListGetNextCommandIdExp");
  find(&next_id_kernels, "zeCommandListGetNextCommandIdWithKernelsExp");
  find(&update, "zeCommandListUpdateMutableCommandsExp");
  find(&update_signal, "zeCommandListUpdateMutableCommandSignalEventExp");
  find(&update_waits, "zeCommandListUpdateMutableCommandWaitEventsExp");
  find(&update_kernels, "zeCommandListUpdateMutableCommandKernelsExp");
  find(&is_mutable, "zeCommandListIsMutableExp");
  find(&clone, "zeCommandListCreateCloneExp");
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  chain = kernel_new(module, "chain");
  count = kernel_new(module, "count");
  where = kernel_new(module, "where");
  queue = queue_new(s);
  out = shared_new(s, (N + 1) * sizeof *out);
  MUST(zeKernelSetArgumentValue(chain, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(count, 0, sizeof out, &out));
  ze_event_pool_handle_t pool =
      pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 4);
  for (uint32_t i = 0; i < 4; i++) e[i] = event_new(pool, i);
  test_launch();
  test_cooperative();
  test_local(module);
  test_events();
  test_kernels();
  test_clone();
  test_clone_waits();
  test_errors();
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeKernelDestroy(chain));
  MUST(zeKernelDestroy(count));
  MUST(zeKernelDestroy(where));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, out));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
