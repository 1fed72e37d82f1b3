/*
 * saxpy_test.c - a kernel from a file, run through the loader, and its result.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

enum { COUNT = 100000, GROUP = 100 };

int main(void)
{
  setup s = setup_new();
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  float a = 2.0f, *x = shared_new(s, COUNT * sizeof *x),
        *y = shared_new(s, COUNT * sizeof *y);
  for (int i = 0; i < COUNT; i++) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }
  MUST(zeKernelSetGroupSize(kernel, GROUP, 1, 1));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof y, &y));
  ze_group_count_t groups = {COUNT / GROUP, 1, 1};

  /* Immediate and synchronous. */
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  int wrong = 0;
  for (int i = 0; i < COUNT; i++) wrong += y[i] != 2.0f * (float)i + 1.0f;
  EQUAL(wrong, 0);
  MUST(zeCommandListDestroy(list));

  /* Recorded; the argument has its value at the time of the append. */
  ze_command_queue_handle_t queue = queue_new(s);
  list = list_new(s);
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  a = -2.0f;
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeCommandListClose(list));
  for (int i = 0; i < 2; i++)
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
  MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
  wrong = 0;
  for (int i = 0; i < COUNT; i++) wrong += y[i] != 6.0f * (float)i + 1.0f;
  EQUAL(wrong, 0);
  MUST(zeCommandListDestroy(list));
  MUST(zeCommandQueueDestroy(queue));

  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
  MUST(zeMemFree(s.context, y));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
