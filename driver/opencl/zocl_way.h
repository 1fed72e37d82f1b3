/*
 * zocl_way.h - the ways to obtain memory from OpenCL.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_WAY_H
#define ZOCL_WAY_H

#include "base/backend.h"
#include "base/zocl_device.h"

/* A way: everything that depends on how memory is obtained.  Kernels, queues
   and programs use the same pointers for it.  If kernels accept any pointer,
   `reach`, `copy` and `fill` are NULL. */
typedef struct zocl_way {
  zocl_memory memory;    /* what the front sees; must be first */
  bool (*fits)(const zocl_driver *driver, cl_device_id id);
  cl_int (*argument)(const zocl_driver *driver, cl_kernel kernel,
                     cl_uint index, const void *pointer);
  /* Called before a launch: makes memory accessible that the kernel may use
     without an argument pointing to it, namely memory of these types and the
     module's variables. */
  cl_int (*reach)(const zocl_driver *driver, cl_kernel kernel,
                  ze_kernel_indirect_access_flags_t indirect,
                  void *const *variables, size_t variable_count);
  /* The size is not 0; the memory is aligned to the pattern. */
  cl_int (*copy)(const backend_place *place, void *to, const void *from,
                 size_t size);
  cl_int (*fill)(const backend_place *place, void *to, const void *pattern,
                 size_t pattern_size, size_t size);
} zocl_way;

extern const zocl_way zocl_way_host, zocl_way_usm, zocl_way_svm;

/* Returns the way of a driver. */
static inline const zocl_way *zocl_way_of(const zocl_driver *driver)
{
  return (const zocl_way *)driver->memory;
}

/* Finds the extension's functions.  Returns false if one is missing. */
bool zocl_usm_find(zocl_usm *usm, zocl_cl *cl, cl_platform_id platform);

/* Chooses the driver's way: the first that suits all devices, else the first
   that suits one. */
void zocl_way_choose(zocl_driver *driver, cl_uint count,
                     const cl_device_id *ids);

#endif
