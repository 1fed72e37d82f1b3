/*
 * prepare.h - what lze asks of its driver beyond Level Zero.
 * SPDX-License-Identifier: MIT
 *
 * zeDriverGetExtensionFunctionAddress gives these under the names
 * "zoclKernelPrepare", "zoclKernelPrepareStart", "zoclKernelSetDimensions",
 * "zoclModuleGetOrigin" and "zoclDriverExpectModule", to be called with the
 * driver's own handle of a kernel, module or driver, not one that a loader has
 * wrapped.
 *
 * A driver that has the extension PREPARE_COMPILES_NAME compiles a kernel, in
 * some 40 ms, at the first launch of each group size, apart for launches with
 * and without an offset and for ranges of PREPARE_LARGE work-items along some
 * dimension.
 */
#ifndef LZE_PREPARE_H
#define LZE_PREPARE_H

#include <stdint.h>

#include <level_zero/ze_api.h>

#define PREPARE_COMPILES_NAME "ZOCL_group_size_compilation"
enum { PREPARE_LARGE = 65535 };

/* A launch: groups of that size, so many, from that offset on. */
typedef struct prepare_launch {
  uint32_t group[3], count[3], offset[3];
} prepare_launch;

/* Have compiled what the first launches of these shapes would compile, without
   running anything.  SUCCESS where nothing is left to compile for them;
   UNSUPPORTED_FEATURE where the OpenCL cannot do it;
   MODULE_BUILD_FAILURE where its compiler fails. */
typedef ze_result_t (*prepare_function)(ze_kernel_handle_t kernel,
                                        uint32_t count,
                                        const prepare_launch *launches);

/* The same without waiting: NOT_READY while it is being compiled, so that
   whoever wants to know asks again; NOT_AVAILABLE where too much is under way.
   With `cheaply` nothing is begun, and NOT_AVAILABLE returned, where that costs
   much more than the launch's own compilation would: of a module with many
   kernels, which are all compiled, or with a new process. */
typedef ze_result_t (*prepare_start_function)(ze_kernel_handle_t kernel,
                                              uint32_t count,
                                              const prepare_launch *launches,
                                              ze_bool_t cheaply);

/* How many dimensions get_work_dim() tells the launches that are appended from
   now on of, at least: Level Zero has always three, of which those behind the
   last that is larger than 1 are not counted. */
typedef ze_result_t (*dimensions_function)(ze_kernel_handle_t kernel,
                                           uint32_t dimensions);

/* Where the code of a module came from. */
typedef enum prepare_origin {
  PREPARE_COMPILED, /* it was new to the machine */
  PREPARE_CACHED,   /* it had been built before, and was found on disk */
  PREPARE_PRESENT   /* this process had built it */
} prepare_origin;

typedef ze_result_t (*origin_function)(ze_module_handle_t module,
                                       prepare_origin *origin);

/* A module that is new to the machine will be created soon: start the process
   that builds it, without waiting. */
typedef ze_result_t (*expect_function)(ze_driver_handle_t driver);

#endif
