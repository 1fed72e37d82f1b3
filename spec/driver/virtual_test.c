/*
 * virtual_test.c - reserved addresses, and physical memory mapped there.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

enum { PAGE = 4096, PAGES = 16, SIZE = PAGES * PAGE };
#define RW ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
#define RO ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY
#define NO ZE_MEMORY_ACCESS_ATTRIBUTE_NONE

/* ze_physical_mem_flag_t since 1.7. */
enum { ON_DEVICE = 1, ON_HOST = 2 };

static ze_physical_mem_handle_t physical_new(setup s, uint32_t flags,
                                             size_t size)
{
  ze_physical_mem_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
                                 .flags = flags,
                                 .size = size};
  ze_physical_mem_handle_t physical;
  MUST(zePhysicalMemCreate(s.context, s.device, &desc, &physical));
  return physical;
}

static char *reserved_new(setup s, size_t size)
{
  void *memory;
  MUST(zeVirtualMemReserve(s.context, NULL, size, &memory));
  return memory;
}

/* Checks the access of memory; returns how many bytes from there on have it. */
static size_t access_of(setup s, const void *memory, size_t size,
                        ze_memory_access_attribute_t wanted)
{
  ze_memory_access_attribute_t access;
  size_t same;
  MUST(zeVirtualMemGetAccessAttribute(s.context, memory, size, &access,
                                      &same));
  EQUAL(access, wanted);
  return same;
}

/* Data written at one address is read at the other. */
static void test_mapping(setup s, uint32_t flags)
{
  ze_physical_mem_handle_t physical = physical_new(s, flags, SIZE);
  char *one = reserved_new(s, SIZE), *two = reserved_new(s, SIZE);
  MUST(zeVirtualMemMap(s.context, one, SIZE, physical, 0, RW));
  MUST(zeVirtualMemMap(s.context, two + PAGE, PAGE, physical, 3 * PAGE, RW));
  one[3 * PAGE + 7] = 'x';
  EQUAL(two[PAGE + 7], 'x');
  ze_memory_allocation_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t device = NULL;
  void *base;
  size_t size;
  MUST(zeMemGetAllocProperties(s.context, two + PAGE + 5, &properties,
                               &device));
  EQUAL(properties.type, flags == ON_HOST ? ZE_MEMORY_TYPE_HOST
                                          : ZE_MEMORY_TYPE_DEVICE);
  CHECK(device == (flags == ON_HOST ? NULL : s.device));
  MUST(zeMemGetAddressRange(s.context, two + PAGE + 5, &base, &size));
  CHECK(base == two + PAGE && size == PAGE);
  MUST(zeMemGetAllocProperties(s.context, two, &properties, &device));
  EQUAL(properties.type, ZE_MEMORY_TYPE_UNKNOWN);
  /* It is not an allocation that zeMemFree can free. */
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(s.context, one));
  /* A kernel and copies. */
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  float *x = (void *)one, three = 3;
  char pattern = 0;
  MUST(zeCommandListAppendMemoryFill(list, one, &pattern, 1, SIZE, NULL, 0,
                                     NULL));
  EQUAL(two[PAGE + 7], 0);
  MUST(zeCommandListAppendMemoryFill(list, x, &three, sizeof three, SIZE,
                                     NULL, 0, NULL));
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  float a = 2;
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof a, &a));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof x, &x));
  MUST(zeKernelSetGroupSize(kernel, 64, 1, 1));
  ze_group_count_t groups = {SIZE / 64 / sizeof a, 1, 1};
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
  CHECK(x[0] == 9 && x[SIZE / sizeof a - 1] == 9);
  char *copy = shared_new(s, PAGE);
  MUST(zeCommandListAppendMemoryCopy(list, copy, two + PAGE, PAGE, NULL, 0,
                                     NULL));
  CHECK(memcmp(copy, x, PAGE) == 0);
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, copy));
  /* Mapped memory outlives the handle, and unmapped memory stays in the
     object. */
  MUST(zeVirtualMemUnmap(s.context, two + PAGE, PAGE));
  MUST(zePhysicalMemDestroy(s.context, physical));
  CHECK(x[5] == 9);
  RETURNS(ZE_RESULT_SUCCESS, zeVirtualMemFree(s.context, one, SIZE));
  RETURNS(ZE_RESULT_SUCCESS, zeVirtualMemFree(s.context, two, SIZE));
  MUST(zeMemGetAllocProperties(s.context, one, &properties, &device));
  EQUAL(properties.type, ZE_MEMORY_TYPE_UNKNOWN);
}

/* Returns the byte that a device reads.  The host must not touch opened device
   memory, and with ZOCL_DEVICE_MEMORY_PRIVATE it cannot. */
static int byte_at(setup s, const void *pointer)
{
  signed char byte = -1;
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  MUST(zeCommandListAppendMemoryCopy(list, &byte, pointer, 1, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  return byte;
}

/* Parts of mappings: their access, and unmapping them. */
static void test_parts(setup s)
{
  ze_physical_mem_handle_t physical = physical_new(s, ON_DEVICE, SIZE);
  char *memory = reserved_new(s, SIZE);
  EQUAL(access_of(s, memory, SIZE, NO), SIZE);
  MUST(zeVirtualMemMap(s.context, memory + PAGE, 8 * PAGE, physical,
                       2 * PAGE, RW));
  EQUAL(access_of(s, memory, SIZE, NO), PAGE);
  EQUAL(access_of(s, memory + PAGE, SIZE - PAGE, RW), 8 * PAGE);
  EQUAL(access_of(s, memory + PAGE, PAGE, RW), PAGE);
  memory[5 * PAGE] = 5;
  MUST(zeVirtualMemSetAccessAttribute(s.context, memory + 4 * PAGE, 2 * PAGE,
                                      RO));
  EQUAL(access_of(s, memory + PAGE, SIZE - PAGE, RW), 3 * PAGE);
  EQUAL(access_of(s, memory + 4 * PAGE, SIZE - 4 * PAGE, RO), 2 * PAGE);
  EQUAL(access_of(s, memory + 6 * PAGE, SIZE - 6 * PAGE, RW), 3 * PAGE);
  EQUAL(access_of(s, memory + 9 * PAGE, SIZE - 9 * PAGE, NO), 7 * PAGE);
  EQUAL(memory[5 * PAGE], 5);
  RETURNS(ZE_RESULT_SUCCESS,
          zeVirtualMemUnmap(s.context, memory + 2 * PAGE, 3 * PAGE));
  EQUAL(access_of(s, memory + PAGE, SIZE - PAGE, RW), PAGE);
  EQUAL(access_of(s, memory + 2 * PAGE, 3 * PAGE, NO), 3 * PAGE);
  EQUAL(memory[5 * PAGE], 5);
  EQUAL(access_of(s, memory + 5 * PAGE, 4 * PAGE, RO), PAGE);
  /* The hole takes another mapping, and the pages are still in the object. */
  MUST(zeVirtualMemMap(s.context, memory + 2 * PAGE, PAGE, physical, 6 * PAGE,
                       RO));
  EQUAL(memory[2 * PAGE], 5);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemMap(s.context, memory + 3 * PAGE, 3 * PAGE, physical, 0,
                          RW));
  /* Unmapped pages stay unmapped. */
  RETURNS(ZE_RESULT_SUCCESS,
          zeVirtualMemSetAccessAttribute(s.context, memory + PAGE, 4 * PAGE,
                                         RW));
  EQUAL(access_of(s, memory + PAGE, SIZE - PAGE, RW), 2 * PAGE);
  EQUAL(access_of(s, memory + 3 * PAGE, 2 * PAGE, NO), 2 * PAGE);
  MUST(zeVirtualMemSetAccessAttribute(s.context, memory + 2 * PAGE, PAGE, RO));
  EQUAL(access_of(s, memory + 2 * PAGE, PAGE, RO), PAGE);
  /* Other processes can open a part of it. */
  ze_ipc_mem_handle_t handle;
  void *opened;
  MUST(zeMemGetIpcHandle(s.context, memory + 5 * PAGE + 3, &handle));
  MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened));
  EQUAL(byte_at(s, opened), 5);
  MUST(zeMemCloseIpcHandle(s.context, opened));
  MUST(zeMemGetIpcHandle(s.context, physical, &handle));
  MUST(zeMemOpenIpcHandle(s.context, s.device, handle, 0, &opened));
  EQUAL(byte_at(s, (char *)opened + 6 * PAGE), 5);
  MUST(zeMemCloseIpcHandle(s.context, opened));
  MUST(zeVirtualMemFree(s.context, memory, SIZE));
  MUST(zePhysicalMemDestroy(s.context, physical));
}

static void test_errors(setup s)
{
  ze_physical_mem_handle_t physical = physical_new(s, 0, SIZE), other;
  char *memory = reserved_new(s, SIZE);
  void *more;
  size_t page = 0;
  MUST(zeVirtualMemQueryPageSize(s.context, s.device, 1 << 21, &page));
  EQUAL(page, PAGE);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeVirtualMemReserve(NULL, NULL, SIZE, &more));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeVirtualMemReserve(s.context, NULL, SIZE, NULL));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeVirtualMemReserve(s.context, NULL, 100, &more));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeVirtualMemReserve(s.context, NULL, 0, &more));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
          zeVirtualMemReserve(s.context, NULL, (size_t)1 << 60, &more));
  MUST(zeVirtualMemReserve(s.context, memory, SIZE, &more)); /* taken */
  CHECK(more != memory);
  MUST(zeVirtualMemFree(s.context, more, SIZE));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemFree(s.context, more, SIZE));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemFree(s.context, memory, PAGE));
  ze_physical_mem_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
                                 .size = SIZE};
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zePhysicalMemCreate(s.context, NULL, &desc, &other));
  desc.flags = 0x10;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zePhysicalMemCreate(s.context, s.device, &desc, &other));
  desc.flags = 0;
  desc.size = 100;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zePhysicalMemCreate(s.context, s.device, &desc, &other));
  desc.size = (size_t)1 << 60;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zePhysicalMemCreate(s.context, s.device, &desc, &other));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeVirtualMemMap(s.context, memory, 2 * PAGE, physical, SIZE - PAGE,
                          RW));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
          zeVirtualMemMap(s.context, memory, 100, physical, 0, RW));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
          zeVirtualMemMap(s.context, memory, PAGE, physical, 1, RW));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
          zeVirtualMemMap(s.context, memory + 1, PAGE, physical, 0, RW));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeVirtualMemMap(s.context, memory, PAGE, physical, 0,
                          (ze_memory_access_attribute_t)7));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemMap(s.context, memory + SIZE - PAGE, 2 * PAGE, physical,
                          0, RW));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemUnmap(s.context, memory + SIZE, PAGE));
  RETURNS(ZE_RESULT_SUCCESS,
          zeVirtualMemSetAccessAttribute(s.context, memory, PAGE, RW));
  EQUAL(access_of(s, memory, SIZE, NO), SIZE);
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemSetAccessAttribute(s.context, memory, SIZE + PAGE, RW));
  RETURNS(ZE_RESULT_SUCCESS, zeVirtualMemUnmap(s.context, memory, SIZE));
  MUST(zeVirtualMemFree(s.context, memory, SIZE));
  MUST(zePhysicalMemDestroy(s.context, physical));
}

/* A buffer that grows in place. */
static void test_growth(setup s)
{
  enum { STEPS = 64 };
  const size_t room = (size_t)1 << 34;
  ze_physical_mem_handle_t physical[STEPS];
  char *memory = reserved_new(s, room);
  bool well = true;
  for (int i = 0; i < STEPS; i++) {
    physical[i] = physical_new(s, ON_DEVICE, SIZE);
    MUST(zeVirtualMemMap(s.context, memory + i * SIZE, SIZE, physical[i], 0,
                         RW));
    memset(memory + i * SIZE, i + 1, SIZE);
  }
  for (int i = 0; i < STEPS; i++)
    well = well && memory[i * SIZE] == i + 1 &&
           memory[(i + 1) * SIZE - 1] == i + 1;
  CHECK(well);
  EQUAL(access_of(s, memory, room, RW), STEPS * SIZE);
  MUST(zeVirtualMemFree(s.context, memory, room));
  for (int i = 0; i < STEPS; i++)
    MUST(zePhysicalMemDestroy(s.context, physical[i]));
}

/* Each object belongs to the context that made it. */
static void test_contexts(setup s)
{
  setup other = setup_new();
  void *memory;
  ze_physical_mem_handle_t physical;
  ze_physical_mem_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
                                 .size = SIZE};
  MUST(zeVirtualMemReserve(s.context, NULL, SIZE, &memory));
  MUST(zePhysicalMemCreate(other.context, s.device, &desc, &physical));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemMap(s.context, memory, SIZE, physical, 0,
                          ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zePhysicalMemDestroy(s.context, physical));
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeVirtualMemFree(other.context, memory, SIZE));
  MUST(zePhysicalMemDestroy(other.context, physical));
  MUST(zeVirtualMemFree(s.context, memory, SIZE));
  MUST(zeContextDestroy(other.context));
}

int main(void)
{
  setup s = setup_new();
  ze_driver_ipc_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
  MUST(zeDriverGetIpcProperties(s.driver, &properties));
  if (!(properties.flags & ZE_IPC_PROPERTY_FLAG_MEMORY)) {
    /* The driver does not own the memory: neither is supported. */
    void *memory;
    RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            zeVirtualMemReserve(s.context, NULL, SIZE, &memory));
    MUST(zeContextDestroy(s.context));
    CHECK_DONE();
  }
  test_mapping(s, ON_DEVICE);
  test_mapping(s, ON_HOST);
  test_parts(s);
  test_errors(s);
  test_contexts(s);
  test_growth(s);
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
