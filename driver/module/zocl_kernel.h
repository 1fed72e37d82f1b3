/*
 * zocl_kernel.h - kernels, their arguments and their launch.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_KERNEL_H
#define ZOCL_KERNEL_H

#include "prepare.h"

#include "module/zocl_module.h"

typedef struct zocl_arg {
  spirv_class cls;
  bool set;
  size_t offset, bytes;  /* its place in zocl_kernel.values */
  uint32_t image;        /* of an image: its index in zocl_kernel.images */
} zocl_arg;

/* A launch shape that is compiled separately: see shape_is_known. */
typedef struct zocl_shape {
  uint32_t local[3];
  uint32_t variant;
} zocl_shape;

struct _ze_kernel_handle_t {
  zocl_handle handle;
  zocl_module *module;
  const spirv_kernel *info;
  cl_kernel id;
  uint32_t arg_count, unset_count;
  cl_uint dims;             /* set by zocl_KernelSetDimensions, or 0 */
  zocl_arg *args;
  size_t values_size;
  unsigned char *values;  /* as set through the API */
  uint32_t image_count;
  zocl_image **images;    /* the image arguments, each with a reference */
  uint32_t group[3], max_group;
  uint64_t offset[3];
  uint64_t local_bytes;   /* static, and of its LOCAL arguments */
  ze_kernel_indirect_access_flags_t indirect;
  pthread_mutex_t lock;   /* guards the members below and the cl_kernel */
  unsigned char *current; /* the values that the cl_kernel has */
  bool primed;            /* the cl_kernel has a value for every argument */
  uint64_t reached;       /* memory generation last passed to OpenCL, or 0 */
  uint32_t shape_count, shape_room;
  zocl_shape *shapes;
};

/* Returns true if a launch has no groups at all. */
static inline bool zocl_are_none(const ze_group_count_t *groups)
{
  return groups->groupCountX == 0 || groups->groupCountY == 0 ||
         groups->groupCountZ == 0;
}

/* A launch.  `values` are the captured arguments of the kernel. */
typedef struct zocl_launch {
  zocl_kernel *kernel;
  const unsigned char *values;
  size_t global[3], local[3], offset[3];
  cl_uint dims;           /* the least number of dimensions */
} zocl_launch;

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

/* For lze-build: sets every argument of the OpenCL kernel, to null pointers,
   zeros and a little local memory.  A kernel with an image or a sampler is not
   tried and counts as good.  Returns false with the reason in
   zocl_last_error. */
bool zocl_kernel_try(zocl_kernel *kernel);

/* Enqueues a captured launch. */
ze_result_t zocl_kernel_enqueue(const zocl_launch *launch,
                                const backend_place *place);

/* ------------------------------------------------------------------------
 * Images and samplers, as far as a launch needs them; ext/zocl_image.c makes
 * them.
 *
 * References to an image are counted: its handle, kernels with it as an
 * argument, and recorded commands have one each.  OpenCL itself retains the
 * images of submitted commands.
 */

struct _ze_image_handle_t {
  zocl_handle handle;
  atomic_uint refs;
  zocl_device *device;
  cl_mem mem, buffer;    /* `buffer`: the memory of a buffer image */
  ze_image_type_t type;
  cl_image_format format;
  uint32_t pixel_bytes;
  bool kernels_write;
  size_t extent[3];      /* in pixels; array layers count as the last one */
  uint64_t id;
};

struct _ze_sampler_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  cl_sampler id;         /* owned by the driver */
};

#endif
