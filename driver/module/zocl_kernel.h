/*
 * zocl_kernel.h - kernels, their arguments and their launch.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_KERNEL_H
#define ZOCL_KERNEL_H

#include "prepare.h"

#include "module/zocl_module.h"

struct _ze_kernel_handle_t {
  zocl_handle handle;
  zocl_module *module;
  const spirv_kernel *info;
  backend_kernel *back;
  uint32_t arg_count, unset_count;
  uint32_t dims;            /* set by zocl_KernelSetDimensions, or 0 */
  zocl_arg *args;
  size_t values_size;
  unsigned char *values;  /* as set through the API */
  uint32_t image_count;
  zocl_image **images;    /* the image arguments, each with a reference */
  uint32_t group[3], max_group;
  uint64_t offset[3];
  uint64_t local_bytes;   /* static, and of its LOCAL arguments */
  ze_kernel_indirect_access_flags_t indirect;
  bool reaches;           /* call zocl_kernel_reach before a launch */
  pthread_mutex_t lock;   /* of `indirect` and `reached` */
  uint64_t reached;       /* memory generation last passed on, or 0 */
};

/* Returns true if a launch has no groups at all. */
static inline bool zocl_are_none(const ze_group_count_t *groups)
{
  return groups->groupCountX == 0 || groups->groupCountY == 0 ||
         groups->groupCountZ == 0;
}

/* Checks a value for an argument and, unless `values` is NULL, stores it there.
   A caller that retains `values` must call zocl_kernel_keep. */
ze_result_t zocl_kernel_argument(const zocl_kernel *kernel, uint32_t index,
                                 size_t size, const void *value,
                                 unsigned char *values);

/* Replaces the argument's reference in `images`, which has an entry for each
   image argument of the kernel, by a reference to the image in `values`.  Does
   nothing for an argument that is not an image. */
void zocl_kernel_keep(const zocl_kernel *kernel, uint32_t index,
                      const unsigned char *values, zocl_image **images);

/* Checks that the kernel can be launched in groups of this size. */
ze_result_t zocl_kernel_check_group(const zocl_kernel *kernel, uint32_t x,
                                    uint32_t y, uint32_t z);

/* Checks that its launches may have this offset. */
ze_result_t zocl_kernel_check_offset(const zocl_kernel *kernel, uint32_t x,
                                     uint32_t y, uint32_t z);

/* Returns true if a group of the kernel can have `bytes` bytes of local memory.
   Called for each launch. */
static inline bool zocl_kernel_fits(const zocl_kernel *kernel, uint64_t bytes)
{
  return bytes <= kernel->module->device->local_bytes;
}

/* Reports that a group needs too much local memory. */
ze_result_t zocl_kernel_too_big(const zocl_kernel *kernel, uint64_t bytes);

/* Returns the bytes of local memory that the argument has in `values`; 0 if it
   is not local memory. */
uint64_t zocl_kernel_local(const zocl_kernel *kernel, uint32_t index,
                           const unsigned char *values);

/* Describes a launch of the kernel with its current settings.  The launch uses
   the kernel's own values; copy them to retain the launch. */
ze_result_t zocl_kernel_capture(zocl_kernel *kernel,
                                const ze_group_count_t *groups,
                                zocl_launch *launch);

/* Described in prepare.h: set the number of dimensions of launches, and compile
   the kernel for some launches in advance. */
ze_result_t zocl_KernelSetDimensions(zocl_kernel *kernel, uint32_t dimensions);
ze_result_t zocl_KernelPrepare(zocl_kernel *kernel, uint32_t count,
                               const prepare_launch *launches);
ze_result_t zocl_KernelPrepareStart(zocl_kernel *kernel, uint32_t count,
                                    const prepare_launch *launches,
                                    ze_bool_t cheaply);

/* For lze-build: sets every argument of the compiled kernel, to null pointers,
   zeros and a little local memory.  A kernel with an image or a sampler is not
   tried and counts as good.  Returns false with the reason in
   zocl_last_error. */
bool zocl_kernel_try(zocl_kernel *kernel);

/* Makes memory accessible that launches may use without an argument pointing to
   it, unless that was done before. */
ze_result_t zocl_kernel_reach(zocl_kernel *kernel);

/* Enqueues a captured launch. */
static inline ze_result_t zocl_kernel_enqueue(const zocl_launch *launch,
                                              const backend_place *place)
{
  zocl_kernel *kernel = launch->kernel;
  if (kernel->reaches) {
    ze_result_t result = zocl_kernel_reach(kernel);
    if (result != ZE_RESULT_SUCCESS) return result;
  }
  return place->device->driver->backend->launch(place, kernel->back, launch);
}

#endif
