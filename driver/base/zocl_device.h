/*
 * zocl_device.h - what drivers, devices and contexts are.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_DEVICE_H
#define ZOCL_DEVICE_H

#include "base/zocl_base.h"
#include "base/zocl_knob.h"

/* The functions of OpenCL's extension for unified shared memory, or NULLs. */
typedef struct zocl_usm {
  clHostMemAllocINTEL_fn host_alloc;
  clDeviceMemAllocINTEL_fn device_alloc;
  clSharedMemAllocINTEL_fn shared_alloc;
  clMemFreeINTEL_fn free;
  clSetKernelArgMemPointerINTEL_fn argument;
  clEnqueueMemcpyINTEL_fn copy;
  clEnqueueMemFillINTEL_fn fill;
} zocl_usm;

struct _ze_driver_handle_t {
  zocl_handle handle;
  zocl_cl *cl;
  cl_platform_id platform;
  cl_context context;
  unsigned pocl;         /* the major version of PoCL, whose habits are known
                            (zocl_opencl.c), or 0: it is another */
  bool asking_waits;     /* what asks for an event may have to wait for it */
  bool no_offsets;       /* it has a device that launches at 0 always */
  bool keeps_queues;     /* a queue must never be released: zocl_stream.c */
  bool narrow_fills;     /* patterns of 4 bytes at most: zocl_transfer.c */
  const zocl_memory *memory; /* how its devices have memory */
  zocl_usm usm;
  unsigned llvm;         /* the LLVM version it says it has, or 0 */
  _Atomic size_t stack;  /* of a thread of PoCL's; 0: not asked yet */
  char version[256];     /* CL_PLATFORM_VERSION */
  char name[64];         /* CL_PLATFORM_NAME */
  bool clock_known;      /* under a lock of zocl_stream.c */
  uint64_t clock_offset; /* from OpenCL's profiling clock to zocl_clock */
  zocl_context *default_context;
  _Atomic(cl_sampler) samplers[5][2][2]; /* zocl_image.c's */
  uint64_t host_bytes, host_max_alloc;
  uint32_t root_count;
  zocl_device **roots;   /* all that there are, with their parts */
  uint32_t device_count;
  zocl_device **devices; /* those that zeDeviceGet reports */
};

/* What sysman tells of a device (zocl_sysman.c). */
typedef enum zocl_sensor_kind {
  ZOCL_SENSOR_MEMORY,
  ZOCL_SENSOR_ENGINE,
  ZOCL_SENSOR_FREQUENCY,
  ZOCL_SENSOR_HOTTEST,
  ZOCL_SENSOR_COOLEST,
  ZOCL_SENSOR_POWER,
  ZOCL_SENSORS
} zocl_sensor_kind;

/* What handles of sensors point to. */
typedef struct zocl_sensor {
  zocl_handle handle;
  zocl_device *device;
} zocl_sensor;

struct _ze_device_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  uint32_t index;        /* of the root device, in the driver */
  zocl_device *root;     /* itself, or what it is a part of */
  zocl_device *parent;   /* the root as programs see it: NULL if they do not */
  uint32_t number;       /* of a sub-device among its parent's */
  uint32_t part_count, sub_count;
  zocl_device **parts;   /* all the sub-devices there are */
  zocl_device **subs;    /* those of them that programs see */
  bool shown;            /* ZE_AFFINITY_MASK lets it be seen */
  cl_device_id id;       /* what kernels are built for: the root's */
  cl_device_id queue_id; /* what commands run on: a part of that */
  bool takes_il;         /* SPIR-V through clCreateProgramWithIL */
  bool generics;         /* pointers of any address space */
  bool fp64, fp16;
  bool priorities;       /* its queues have them: cl_khr_priority_hints */
  bool native;           /* functions of ours are commands of its queues */
  cl_device_type type;
  cl_uint vendor_id, units, mhz, address_bits, vector_width;
  size_t max_group, max_size[3], max_argument_bytes;
  cl_ulong memory_bytes, max_alloc, local_bytes, cache_bytes;
  uint64_t memory_used;  /* zocl_memory.c's, where there is a limit */
  uint32_t subgroup_sizes[8], subgroup_count;
  uint8_t uuid[16];
  char name[ZE_MAX_DEVICE_NAME];
  zocl_sensor sensors[ZOCL_SENSORS]; /* of a root, by kind */
};

/* Whether commands of `device` may touch memory of `owner`. */
static inline bool zocl_device_reaches(const zocl_device *device,
                                       const zocl_device *owner)
{
  return device->root == owner->root ||
         (device->driver == owner->driver && zocl_knob.peer_access);
}

struct _ze_context_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
};

#endif
