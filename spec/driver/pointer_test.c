/*
 * pointer_test.c - pointers of all kinds, and kernels that wait for memory.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <unistd.h>

static setup s;
static ze_kernel_handle_t poll, follow, count;
static ze_command_list_handle_t a, b;
static const ze_group_count_t one = {1, 1, 1};

typedef struct node {
  struct node *next;
  uint32_t value;
} node;

static void argument(ze_kernel_handle_t kernel, uint32_t index, void *pointer)
{
  MUST(zeKernelSetArgumentValue(kernel, index, sizeof pointer, &pointer));
}

static void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel)
{
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
}

static void finish(ze_command_list_handle_t list)
{
  ze_event_pool_handle_t pool = pool_new(s, 0, 1);
  ze_event_handle_t event = event_new(pool, 0);
  MUST(zeCommandListAppendSignalEvent(list, event));
  MUST(zeEventHostSynchronize(event, UINT64_MAX));
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
}

/* Pointers into the middle of an allocation, and of host memory. */
static void test_pointers(void)
{
  bool any = takes_host_pointers(s);
  uint32_t *shared = shared_new(s, 64), *host = calloc(16, sizeof *host);
  memset(shared, 0, 64);
  argument(count, 0, shared + 5);
  launch(a, count);
  argument(count, 0, host + 3);
  if (any)
    launch(a, count);
  else
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            zeCommandListAppendLaunchKernel(a, count, &one, NULL, 0, NULL));
  finish(a);
  EQUAL(shared[4], 0);
  EQUAL(shared[5], 1);
  EQUAL(shared[6], 0);
  EQUAL(host[2], 0);
  EQUAL(host[3], any);
  free(host);
  MUST(zeMemFree(s.context, shared));
}

/* Pointers to several allocations, stored in memory. */
static void test_indirect(void)
{
  node *first = shared_new(s, sizeof *first);
  node *second = shared_new(s, 4 * sizeof *second), own = {NULL, 300}, *third;
  uint32_t *out = shared_new(s, 64);
  ze_host_mem_alloc_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  MUST(zeMemAllocHost(s.context, &desc, sizeof *third, 0, (void **)&third));
  *third = own;
  *first = (node){&second[2], 1};
  second[2] = (node){takes_host_pointers(s) ? &own : third, 20};
  MUST(zeKernelSetIndirectAccess(follow,
                                 ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED |
                                     ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
  argument(follow, 0, first);
  argument(follow, 1, out);
  launch(a, follow);
  finish(a);
  EQUAL(*out, 321);
  argument(follow, 0, NULL);
  launch(a, follow);
  finish(a);
  EQUAL(*out, 0);
  MUST(zeMemFree(s.context, third));
  MUST(zeMemFree(s.context, first));
  MUST(zeMemFree(s.context, second));
  MUST(zeMemFree(s.context, out));
}

/* A kernel that waits for a write by another queue's command, and then for a
   write by the host. */
static void test_polling(void)
{
  uint32_t *flag = shared_new(s, 64), *out = shared_new(s, 64), seven = 7;
  for (int turn = 0; turn < 6; turn++) {
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    *out = 0;
    argument(poll, 0, flag);
    argument(poll, 1, out);
    launch(a, poll);
    AWAIT(__atomic_load_n(out, __ATOMIC_SEQ_CST) == UINT32_MAX);
    if (turn % 3 == 0)
      MUST(zeCommandListAppendMemoryFill(b, flag, &seven, 4, 4, NULL, 0, NULL));
    else if (turn % 3 == 1) {
      argument(count, 0, flag);
      launch(b, count);
    } else
      __atomic_store_n(flag, 9, __ATOMIC_SEQ_CST);
    finish(a);
    finish(b);
    EQUAL(*out, turn % 3 == 0 ? 7 : turn % 3 == 1 ? 1 : 9);
  }
  MUST(zeMemFree(s.context, flag));
  MUST(zeMemFree(s.context, out));
}

int main(void)
{
  s = setup_new();
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/poll.spv");
  ze_module_handle_t probe = module_load(s, "spec/driver/kernels/probe.spv");
  poll = kernel_new(module, "poll");
  follow = kernel_new(module, "follow");
  count = kernel_new(probe, "count");
  a = immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  b = immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  test_pointers();
  test_indirect();
  /* A kernel that waits needs one thread, and the command it waits for
     another. */
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) test_polling();
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
  MUST(zeKernelDestroy(poll));
  MUST(zeKernelDestroy(follow));
  MUST(zeKernelDestroy(count));
  MUST(zeModuleDestroy(module));
  MUST(zeModuleDestroy(probe));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
