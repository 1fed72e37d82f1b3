/*
 * misuse.c - a program whose mistakes the loader's checkers must find.
 * SPDX-License-Identifier: MIT
 *
 * It destroys an event pool twice and never destroys its context.  It returns 0
 * if the second destruction was refused and an immediate list was not refused.
 */
#include <level_zero/ze_api.h>

#include <stdio.h>

static int failed(const char *call, ze_result_t result)
{
  printf("misuse: %s is 0x%x\n", call, (unsigned)result);
  return 1;
}

#define MUST(call)                                                \
  do {                                                            \
    ze_result_t result_ = (call);                                 \
    if (result_ != ZE_RESULT_SUCCESS) return failed(#call, result_); \
  } while (0)

int main(void)
{
  uint32_t one = 1;
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  ze_context_handle_t context;
  ze_event_pool_handle_t pool;
  ze_command_list_handle_t list;
  const ze_context_desc_t context_desc = {
    .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  const ze_event_pool_desc_t pool_desc = {
    .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
  const ze_command_queue_desc_t queue_desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  MUST(zeInit(0));
  MUST(zeDriverGet(&one, &driver));
  one = 1;
  MUST(zeDeviceGet(driver, &one, &device));
  MUST(zeContextCreate(driver, &context_desc, &context));
  MUST(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
  MUST(zeCommandListAppendBarrier(list, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeEventPoolCreate(context, &pool_desc, 1, &device, &pool));
  MUST(zeEventPoolDestroy(pool));
  ze_result_t again = zeEventPoolDestroy(pool);
  return again == ZE_RESULT_ERROR_INVALID_NULL_HANDLE
             ? 0
             : failed("the second zeEventPoolDestroy", again);
}
