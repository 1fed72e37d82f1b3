/*
 * zocl_memory_usm.c - memory for an OpenCL that accepts only its own memory.
 * SPDX-License-Identifier: MIT
 *
 * Two ways: Intel's extension for unified shared memory, which
 * distinguishes host, device and shared memory; and OpenCL's fine-grained
 * shared virtual memory, which is always shared.  Copies and fills are OpenCL
 * commands.
 */
#include "memory/zocl_kept.h"
#include "opencl/zocl_lane.h"
#include "opencl/zocl_way.h"

#include <stdlib.h>
#include <string.h>

/* The size of OpenCL C's largest type, to which every OpenCL aligns memory. */
enum { OWN_ALIGNMENT = 128 };

/* Returns the size to request for `size` bytes with this alignment; 0 if that
   overflows. */
static size_t room(size_t size, size_t alignment)
{
  size_t more = alignment > OWN_ALIGNMENT ? alignment : 0;
  return size <= SIZE_MAX - more ? size + more : 0;
}

/* Returns the first address in a block with this alignment, or NULL if `block`
   is NULL. */
static void *aligned(void *block, size_t alignment)
{
  char *at = block;
  size_t over = (uintptr_t)at % alignment;
  return over > 0 ? at + (alignment - over) : at;
}

/* ------------------------------------------------------------------------
 * Intel's extension.
 */

static bool usm_fits(const zocl_driver *driver, cl_device_id id)
{
  static const cl_device_info needed[] = {
    CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    cl_device_unified_shared_memory_capabilities_intel has = 0;
    if (driver->cl->clGetDeviceInfo(id, needed[i], sizeof has, &has, NULL) !=
            CL_SUCCESS ||
        !(has & CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL))
      return false;
  }
  return driver->usm.shared_alloc != NULL;
}

bool zocl_usm_find(zocl_usm *usm, zocl_cl *cl, cl_platform_id platform)
{
  const struct {
    const char *name;
    void *place;
  } functions[] = {
    {"clHostMemAllocINTEL", &usm->host_alloc},
    {"clDeviceMemAllocINTEL", &usm->device_alloc},
    {"clSharedMemAllocINTEL", &usm->shared_alloc},
    {"clMemFreeINTEL", &usm->free},
    {"clSetKernelArgMemPointerINTEL", &usm->argument},
    {"clEnqueueMemcpyINTEL", &usm->copy},
    {"clEnqueueMemFillINTEL", &usm->fill},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *found = cl->clGetExtensionFunctionAddressForPlatform(
        platform, functions[i].name);
    if (found == NULL) {
      *usm = (zocl_usm){0};
      return false;
    }
    memcpy(functions[i].place, &found, sizeof found);
  }
  return true;
}

static void *usm_get(const zocl_block *b)
{
  const zocl_usm *usm = &b->driver->usm;
  cl_context context = b->driver->context;
  cl_device_id id = b->device != NULL ? b->device->id : NULL;
  cl_int error = CL_SUCCESS;
  if (b->type == ZE_MEMORY_TYPE_HOST)
    return usm->host_alloc(context, NULL, b->size, 0, &error);
  if (b->type == ZE_MEMORY_TYPE_DEVICE)
    return usm->device_alloc(context, id, NULL, b->size, 0, &error);
  return usm->shared_alloc(context, id, NULL, b->size, 0, &error);
}

static void usm_release(const zocl_block *block)
{
  block->driver->usm.free(block->driver->context, block->at);
}

/* PoCL 6.0 leaks an object for each block that it frees, which also slows down
   later allocations. */
ZOCL_KEPT(usm_kept, usm_release);

static void *usm_allocate(zocl_block *block, size_t size, size_t alignment)
{
  block->size = zocl_kept_size(room(size, alignment));
  if (block->size == 0) return NULL;
  if (!zocl_kept_take(&usm_kept, block, 1)) block->at = usm_get(block);
  if (block->at == NULL) {
    zocl_kept_empty(&usm_kept);
    block->at = usm_get(block);
  }
  return aligned(block->at, alignment);
}

static void usm_free(const zocl_block *block)
{
  if (!zocl_forked()) zocl_kept_give(&usm_kept, block);
}

static cl_int usm_argument(const zocl_driver *driver, cl_kernel kernel,
                           cl_uint index, const void *pointer)
{
  return driver->usm.argument(kernel, index, pointer);
}

/* Program-scope variables are shared memory. */
static cl_int usm_reach(const zocl_driver *driver, cl_kernel kernel,
                        ze_kernel_indirect_access_flags_t indirect,
                        void *const *variables, size_t variable_count)
{
  (void)variables;
  const struct {
    cl_kernel_exec_info what;
    bool wanted;
  } infos[] = {
    {CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
     indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST},
    {CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
     indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE},
    {CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
     (indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED) ||
         variable_count > 0}};
  cl_int error = CL_SUCCESS;
  for (size_t i = 0; i < 3 && error == CL_SUCCESS; i++) {
    cl_bool value = infos[i].wanted;
    error = driver->cl->clSetKernelExecInfo(kernel, infos[i].what,
                                            sizeof value, &value);
  }
  return error;
}

static cl_int usm_copy(const backend_place *place, void *to,
                       const void *from, size_t size)
{
  return place->device->driver->usm.copy(
      zocl_place_queue(place), CL_FALSE, to, from, size,
      ZOCL_PLACE_EVENTS(place));
}

static cl_int usm_fill(const backend_place *place, void *to,
                       const void *pattern, size_t pattern_size, size_t size)
{
  return place->device->driver->usm.fill(
      zocl_place_queue(place), to, pattern, pattern_size, size,
      ZOCL_PLACE_EVENTS(place));
}

const zocl_way zocl_way_usm = {
  .memory = {.allocate = usm_allocate, .free = usm_free},
  .fits = usm_fits,
  .argument = usm_argument,
  .reach = usm_reach,
  .copy = usm_copy,
  .fill = usm_fill};

/* ------------------------------------------------------------------------
 * Shared virtual memory.
 */

static cl_device_svm_capabilities svm_of(const zocl_driver *driver,
                                         cl_device_id id)
{
  cl_device_svm_capabilities svm = 0;
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm,
                              NULL);
  return svm;
}

static bool svm_fits(const zocl_driver *driver, cl_device_id id)
{
  return svm_of(driver, id) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
}

static void *svm_allocate(zocl_block *block, size_t size, size_t alignment)
{
  const zocl_driver *driver = block->driver;
  cl_svm_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
  bool atomic = true;
  block->size = room(size, alignment);
  if (block->size == 0) return NULL;
  /* All devices of the context must support atomics. */
  for (uint32_t i = 0; i < driver->root_count; i++)
    atomic &= (svm_of(driver, driver->roots[i]->id) & CL_DEVICE_SVM_ATOMICS) !=
              0;
  if (atomic) flags |= CL_MEM_SVM_ATOMICS;
  block->at = driver->cl->clSVMAlloc(driver->context, flags, block->size, 0);
  return aligned(block->at, alignment);
}

static void svm_free(const zocl_block *block)
{
  if (!zocl_forked())
    block->driver->cl->clSVMFree(block->driver->context, block->at);
}

static cl_int svm_argument(const zocl_driver *driver, cl_kernel kernel,
                           cl_uint index, const void *pointer)
{
  return driver->cl->clSetKernelArgSVMPointer(kernel, index, pointer);
}

/* OpenCL requires a list of all blocks. */
static cl_int svm_reach(const zocl_driver *driver, cl_kernel kernel,
                        ze_kernel_indirect_access_flags_t indirect,
                        void *const *variables, size_t variable_count)
{
  size_t count;
  void **blocks =
      zocl_memory_blocks(driver, indirect, variable_count, &count);
  if (blocks == NULL) return CL_OUT_OF_HOST_MEMORY;
  if (variable_count > 0)
    memcpy(blocks + count, variables, variable_count * sizeof *blocks);
  count += variable_count;
  cl_int error =
      count > 0 ? driver->cl->clSetKernelExecInfo(
                      kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS,
                      count * sizeof *blocks, blocks)
                : CL_SUCCESS;
  free(blocks);
  return error;
}

static cl_int svm_copy(const backend_place *place, void *to,
                       const void *from, size_t size)
{
  return place->device->driver->cl->clEnqueueSVMMemcpy(
      zocl_place_queue(place), CL_FALSE, to, from, size,
      ZOCL_PLACE_EVENTS(place));
}

static cl_int svm_fill(const backend_place *place, void *to,
                       const void *pattern, size_t pattern_size, size_t size)
{
  return place->device->driver->cl->clEnqueueSVMMemFill(
      zocl_place_queue(place), to, pattern, pattern_size, size,
      ZOCL_PLACE_EVENTS(place));
}

const zocl_way zocl_way_svm = {
  .memory = {.allocate = svm_allocate, .free = svm_free},
  .fits = svm_fits,
  .argument = svm_argument,
  .reach = svm_reach,
  .copy = svm_copy,
  .fill = svm_fill};
