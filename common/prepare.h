/*
 * prepare.h - what lze asks of its driver beyond Level Zero.
 * SPDX-License-Identifier: MIT
 *
 * zeDriverGetExtensionFunctionAddress gives these under the names
 * "zoclKernelPrepare" and "zoclKernelSetDimensions", to be called with the
 * driver's own handle of a kernel, not one that a loader has wrapped.
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

/* How many dimensions get_work_dim() tells the launches that are appended from
   now on of, at least: Level Zero has always three, of which those behind the
   last that is larger than 1 are not counted. */
typedef ze_result_t (*dimensions_function)(ze_kernel_handle_t kernel,
                                           uint32_t dimensions);

#endif
