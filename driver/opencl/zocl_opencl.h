/*
 * zocl_opencl.h - finding OpenCL, and checking what it needs.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_OPENCL_H
#define ZOCL_OPENCL_H

#include "base/zocl_device.h"

typedef struct zocl_platform {
  cl_platform_id id;
  zocl_cl *cl;
} zocl_platform;

/* Finds the OpenCL platforms that this driver may use, at most `cap`, and
   returns their number.  If it is 0, the reason is in zocl_last_error.  Must be
   called once only. */
size_t zocl_opencl_platforms(zocl_platform *platforms, size_t cap);

/* Returns true if a compilation inside this process can succeed now.  PoCL ends
   the process if it cannot run its linker, so this must be checked before each
   build and before each launch that may compile.  If false, the reason is in
   zocl_last_error. */
bool zocl_opencl_may_compile(const zocl_driver *driver);

/* Removes the temporary files that killed compilations have left in PoCL's
   cache: files older than an hour, since a compilation takes seconds. */
void zocl_opencl_tidy(void);

/* Reports that the launch of this event compiles its kernel before it runs. */
void zocl_opencl_compiling(const zocl_driver *driver, cl_event event);

#endif
