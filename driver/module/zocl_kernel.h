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
  uint32_t image;        /* of an image, its place in zocl_kernel.images */
} zocl_arg;

/* What is compiled apart: see shape_is_known. */
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
  cl_uint dims;             /* that lze has told it of, or 0 */
  zocl_arg *args;
  size_t values_size;
  unsigned char *values;  /* as set through the API */
  uint32_t image_count;
  zocl_image **images;    /* those among the values, referred to */
  uint32_t group[3], max_group;
  uint64_t offset[3];
  uint64_t local_bytes;   /* static and of its LOCAL arguments */
  ze_kernel_indirect_access_flags_t indirect;
  pthread_mutex_t lock;   /* of what follows, and of the cl_kernel */
  unsigned char *current; /* what the cl_kernel has */
  bool primed;            /* every argument has been given to the cl_kernel */
  uint64_t reached;       /* the generation of memory it knows, or 0 */
  uint32_t shape_count, shape_room;
  zocl_shape *shapes;
};

/* Whether that means no groups at all. */
static inline bool zocl_are_none(const ze_group_count_t *groups)
{
  return groups->groupCountX == 0 || groups->groupCountY == 0 ||
         groups->groupCountZ == 0;
}

/* A launch.  `values` are the kernel's arguments as captured. */
typedef struct zocl_launch {
  zocl_kernel *kernel;
  const unsigned char *values;
  size_t global[3], local[3], offset[3];
  cl_uint dims;           /* at least so many */
} zocl_launch;

/* Check a value for an argument and, unless `values` is NULL, put it there.
   A caller that keeps it calls zocl_kernel_keep. */
ze_result_t zocl_kernel_argument(const zocl_kernel *kernel, uint32_t index,
                                 size_t size, const void *value,
                                 unsigned char *values);

/* Refer to an argument of `values` from `images`, which has a place for each
   image of the kernel, in place of what stood there; an argument that is not
   an image needs nothing. */
void zocl_kernel_keep(const zocl_kernel *kernel, uint32_t index,
                      const unsigned char *values, zocl_image **images);

/* Whether the kernel can be launched in such groups. */
ze_result_t zocl_kernel_check_group(const zocl_kernel *kernel, uint32_t x,
                                    uint32_t y, uint32_t z);

/* Whether its launches may begin there. */
ze_result_t zocl_kernel_check_offset(const zocl_kernel *kernel, uint32_t x,
                                     uint32_t y, uint32_t z);

/* Whether there is so much local memory for a group of the kernel.  Each launch
   asks. */
static inline bool zocl_kernel_fits(const zocl_kernel *kernel, uint64_t bytes)
{
  return bytes <= kernel->module->device->local_bytes;
}

/* The error where there is not. */
ze_result_t zocl_kernel_too_big(const zocl_kernel *kernel, uint64_t bytes);

/* The bytes of local memory that the argument is in `values`; 0 where it is
   none. */
uint64_t zocl_kernel_local(const zocl_kernel *kernel, uint32_t index,
                           const unsigned char *values);

/* Describe a launch of the kernel as it is set up now.  launch->values are
   the kernel's own: to be copied where the launch is kept. */
ze_result_t zocl_kernel_capture(zocl_kernel *kernel,
                                const ze_group_count_t *groups,
                                zocl_launch *launch);

/* These as prepare.h says: how many dimensions launches have, and compiling the
   kernel for some launches ahead of them. */
ze_result_t zocl_KernelSetDimensions(zocl_kernel *kernel, uint32_t dimensions);
ze_result_t zocl_KernelPrepare(zocl_kernel *kernel, uint32_t count,
                               const prepare_launch *launches);
ze_result_t zocl_KernelPrepareStart(zocl_kernel *kernel, uint32_t count,
                                    const prepare_launch *launches,
                                    ze_bool_t cheaply);

/* For lze-build: set every argument of the OpenCL kernel, to null pointers,
   zeros and a little local memory.  A kernel that has an image or a sampler is
   not tried and counts as good.  False with the reason in zocl_last_error. */
bool zocl_kernel_try(zocl_kernel *kernel);

/* Put a captured launch into a queue, after `waits`; its event goes to `event`
   unless that is NULL. */
ze_result_t zocl_kernel_enqueue(const zocl_launch *launch,
                                cl_command_queue queue, cl_uint wait_count,
                                const cl_event *waits, cl_event *event);

/* ------------------------------------------------------------------------
 * Images and samplers, as far as a launch needs them; ext/zocl_image.c makes
 * them.
 *
 * Counted: the handle, the kernels that have it for an argument and recorded
 * commands keep an image.  What has been submitted OpenCL keeps itself.
 */

struct _ze_image_handle_t {
  zocl_handle handle;
  atomic_uint refs;
  zocl_device *device;
  cl_mem mem, buffer;    /* the second is what a buffer image lies in */
  ze_image_type_t type;
  cl_image_format format;
  uint32_t pixel_bytes;
  bool kernels_write;
  size_t extent[3];      /* in pixels, the layers of an array last */
  uint64_t id;
};

struct _ze_sampler_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  cl_sampler id;         /* the driver's */
};

#endif
