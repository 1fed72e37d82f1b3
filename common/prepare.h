/*
 * prepare.h - functions of the driver beyond Level Zero.
 * SPDX-License-Identifier: MIT
 *
 * zeDriverGetExtensionFunctionAddress returns them under the names
 * "zoclKernelPrepare", "zoclKernelPrepareStart", "zoclKernelSetDimensions",
 * "zoclModuleGetOrigin" and "zoclDriverExpectModule". They take the driver's
 * own handles of kernels, modules and drivers, without a loader's wrapper.
 */
#ifndef LZE_PREPARE_H
#define LZE_PREPARE_H

#include <stdint.h>

#include <level_zero/ze_api.h>

/* A launch: the group size, the number of groups and the offset. */
typedef struct prepare_launch {
  uint32_t group[3], count[3], offset[3];
} prepare_launch;

/* Compiles everything that the first launches of these shapes would compile,
   and runs nothing. Returns SUCCESS if nothing is left to compile,
   UNSUPPORTED_FEATURE if the OpenCL cannot do it, MODULE_BUILD_FAILURE if its
   compiler fails. */
typedef ze_result_t (*prepare_function)(ze_kernel_handle_t kernel,
                                        uint32_t count,
                                        const prepare_launch *launches);

/* The same without waiting: returns NOT_READY while it compiles, so call it
   again for the result, and NOT_AVAILABLE if too many compilations are in
   progress. With `cheaply` it also returns NOT_AVAILABLE if preparing costs
   much more than the launch's own compilation: for a module with many kernels,
   which are all compiled, or if it needs a new process. */
typedef ze_result_t (*prepare_start_function)(ze_kernel_handle_t kernel,
                                              uint32_t count,
                                              const prepare_launch *launches,
                                              ze_bool_t cheaply);

/* Sets the least number of dimensions that get_work_dim() returns in launches
   appended from now on: Level Zero always has three, and dimensions of size 1
   at the end do not count otherwise. */
typedef ze_result_t (*dimensions_function)(ze_kernel_handle_t kernel,
                                           uint32_t dimensions);

/* The origin of a module's code. */
typedef enum prepare_origin {
  PREPARE_COMPILED, /* it was new to the machine */
  PREPARE_CACHED,   /* an earlier build was found on disk */
  PREPARE_PRESENT   /* this process had built it */
} prepare_origin;

typedef ze_result_t (*origin_function)(ze_module_handle_t module,
                                       prepare_origin *origin);

/* Announces a module that is new to the machine: starts the process that builds
   it, without waiting. */
typedef ze_result_t (*expect_function)(ze_driver_handle_t driver);

#endif
