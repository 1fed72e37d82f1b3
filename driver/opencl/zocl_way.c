/*
 * zocl_way.c - which way to obtain memory suits OpenCL, and the first way.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_way.h"
#include "memory/zocl_memory.h"

/* ------------------------------------------------------------------------
 * For an OpenCL that accepts any host pointer: all memory is memory of this
 * process.
 */

/* PoCL's CPU devices accept any pointer, but report it only since version 4. */
static bool host_fits(const zocl_driver *driver, cl_device_id id)
{
  cl_device_svm_capabilities svm = 0;
  cl_device_type type = 0;
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm,
                              NULL);
  driver->cl->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
  return (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) ||
         (driver->pocl && (type & CL_DEVICE_TYPE_CPU));
}

static cl_int host_argument(const zocl_driver *driver, cl_kernel kernel,
                            cl_uint index, const void *pointer)
{
  return driver->cl->clSetKernelArgSVMPointer(kernel, index, pointer);
}

const zocl_way zocl_way_host = {
  .memory = {.any_pointer = true,
             .allocate = zocl_host_allocate,
             .free = zocl_host_free},
  .fits = host_fits,
  .argument = host_argument};

/* ------------------------------------------------------------------------
 * The choice.
 */

/* The best way first; zocl_option.memory is 1 + an index here. */
static const zocl_way *const ways[] = {&zocl_way_host, &zocl_way_usm,
                                      &zocl_way_svm};
enum { WAYS = sizeof ways / sizeof *ways };

void zocl_way_choose(zocl_driver *driver, cl_uint count,
                     const cl_device_id *ids)
{
  const zocl_way *forced =
      zocl_option.memory > 0 ? ways[zocl_option.memory - 1] : NULL;
  const zocl_way *chosen = forced;
  zocl_usm_find(&driver->usm, driver->cl, driver->platform);
  for (int w = 0; w < WAYS && forced == NULL; w++) {
    cl_uint fits = 0;
    for (cl_uint i = 0; i < count; i++)
      fits += ways[w]->fits(driver, ids[i]);
    if (fits == count || (fits > 0 && chosen == NULL))
      chosen = ways[w];
    if (fits == count) break;
  }
  driver->memory = &(chosen != NULL ? chosen : ways[0])->memory;
}
