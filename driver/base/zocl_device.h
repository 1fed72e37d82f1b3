/*
 * zocl_device.h - drivers, devices and contexts.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_DEVICE_H
#define ZOCL_DEVICE_H

#include "base/backend.h"
#include "base/zocl_base.h"
#include "base/zocl_option.h"

/* OpenCL functions of the extension for unified shared memory, or NULL. */
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
  const backend_table *backend;
  zocl_cl *cl;
  cl_platform_id platform;
  cl_context context;
  unsigned pocl;         /* PoCL's major version, which selects workarounds
                            (opencl/zocl_opencl.c); 0: another */
  bool query_blocks;     /* mark_status may wait for the mark's command */
  bool no_offsets;       /* a device ignores global offsets of launches */
  bool reuses_queues;     /* a queue must never be released: zocl_lane.c */
  bool narrow_fills;     /* fill patterns have at most 4 bytes:
                            zocl_transfer.c */
  const zocl_memory *memory; /* of its devices */
  zocl_usm usm;
  unsigned llvm;         /* LLVM version that the platform names, or 0 */
  _Atomic size_t stack;  /* of a PoCL thread; 0: not yet determined */
  char version[256];     /* CL_PLATFORM_VERSION */
  char name[64];         /* CL_PLATFORM_NAME */
  bool clock_known;      /* guarded by a lock in zocl_lane.c */
  uint64_t clock_offset; /* from OpenCL's profiling clock to zocl_clock */
  zocl_context *default_context;
  _Atomic(cl_sampler) samplers[5][2][2]; /* for zocl_image.c */
  uint64_t host_bytes, host_max_alloc;
  uint32_t root_count;
  zocl_device **roots;   /* all root devices, with their sub-devices */
  uint32_t device_count;
  zocl_device **devices; /* the devices that zeDeviceGet reports */
};

/* The kinds of values that sysman reports (zocl_sysman.c). */
typedef enum zocl_sensor_kind {
  ZOCL_SENSOR_MEMORY,
  ZOCL_SENSOR_ENGINE,
  ZOCL_SENSOR_FREQUENCY,
  ZOCL_SENSOR_HOTTEST,
  ZOCL_SENSOR_COOLEST,
  ZOCL_SENSOR_POWER,
  ZOCL_SENSORS
} zocl_sensor_kind;

/* The structure that sensor handles point to. */
typedef struct zocl_sensor {
  zocl_handle handle;
  zocl_device *device;
} zocl_sensor;

struct _ze_device_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
  uint32_t index;        /* of the root device, in the driver */
  zocl_device *root;     /* the device itself, or the root it is part of */
  zocl_device *parent;   /* the root if programs see it, else NULL */
  uint32_t number;       /* of a sub-device, within its parent */
  uint32_t part_count, sub_count;
  zocl_device **parts;   /* all sub-devices */
  zocl_device **subs;    /* the sub-devices that programs see */
  bool shown;            /* ZE_AFFINITY_MASK does not hide it */
  cl_device_id id;       /* the device that kernels are built for: the root's */
  cl_device_id queue_id; /* the device that runs commands: a part of `id` */
  bool takes_il;         /* takes SPIR-V in clCreateProgramWithIL */
  bool generics;         /* supports generic pointers */
  bool cpu;              /* all memory has one address space */
  bool lacks_groups;     /* the compiler has no fences and copies of groups */
  bool lacks_signed;     /* it cannot write signed numbers to 3D images and 2D
                            arrays */
  bool fp64, fp16;
  bool priorities;       /* its queues support cl_khr_priority_hints */
  bool native;           /* its queues run our functions as commands */
  cl_device_type type;
  cl_uint vendor_id, units, mhz, address_bits, vector_width;
  size_t max_group, max_size[3], max_argument_bytes;
  cl_ulong memory_bytes, max_alloc, local_bytes, cache_bytes;
  uint64_t memory_used;  /* used by zocl_memory.c if memory is limited */
  uint32_t subgroup_sizes[8], subgroup_count;
  uint8_t uuid[16];
  char name[ZE_MAX_DEVICE_NAME];
  char vendor[ZES_STRING_PROPERTY_SIZE];
  zocl_sensor sensors[ZOCL_SENSORS]; /* of a root device, by kind */
};

/* Returns true if commands of `device` may access memory of `owner`. */
static inline bool zocl_device_reaches(const zocl_device *device,
                                       const zocl_device *owner)
{
  return device->root == owner->root ||
         (device->driver == owner->driver && zocl_option.peer_access);
}

struct _ze_context_handle_t {
  zocl_handle handle;
  zocl_driver *driver;
};

#endif
