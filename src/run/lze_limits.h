/*
 * lze_limits.h - what devices were measured to be able to do.
 * SPDX-License-Identifier: MIT
 *
 * `lze bench --device` measures and keeps them, on disk; profiles compare.
 */
#ifndef LZE_LIMITS_H
#define LZE_LIMITS_H

#include "base/lze_base.h"

/* [-0, +1] {copy, float, double} of the device of that name, or nil: GB/s that
   a kernel reads and writes, and GFLOP/s, those of double where it has it. */
void lze_push_limits(lua_State *L, const char *device);
/* Keep those of the table at `index`. */
void lze_keep_limits(lua_State *L, const char *device, int index);

#endif
