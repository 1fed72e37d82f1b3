/*
 * zocl_opencl.h - finding OpenCL, and what must be true before it is used.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_OPENCL_H
#define ZOCL_OPENCL_H

#include "base/zocl_device.h"

typedef struct zocl_platform {
  cl_platform_id id;
  zocl_cl *cl;
} zocl_platform;

/* The OpenCL platforms this driver may use, at most `cap`; returns how many.
   Where there is none the reason is in zocl_last_error.  Called once. */
size_t zocl_opencl_platforms(zocl_platform *platforms, size_t cap);

/* Whether a compilation inside this process can succeed just now.  PoCL ends
   the process where its linker cannot be run, so this is asked before each
   build and before each launch that may compile.  On false the reason is in
   zocl_last_error. */
bool zocl_opencl_may_compile(const zocl_driver *driver);

/* Remove the temporary files that killed compilations have left in PoCL's
   cache: those older than an hour, as a compilation takes seconds. */
void zocl_opencl_tidy(void);

/* To be called where a compilation begins, by the thread that asks for it, and
   where one is known to have ended: at exit, streams are then drained before
   the destructors of the compiler's libraries run. */
void zocl_opencl_compiles(void);
void zocl_opencl_compiled(void);

/* The launch of this event compiles its kernel before it runs. */
void zocl_opencl_compiling(const zocl_driver *driver, cl_event event);

#endif
