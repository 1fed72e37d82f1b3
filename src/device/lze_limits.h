/*
 * lze_limits.h - the measured performance of devices.
 * SPDX-License-Identifier: MIT
 *
 * `lze bench --device` measures it and stores it on disk; profiles compare
 * their results with it.
 */
#ifndef LZE_LIMITS_H
#define LZE_LIMITS_H

#include "base/lze_base.h"

/* [-0, +1] Pushes {copy, float, double} for the device with that name, or nil:
   the GB/s that a kernel reads and writes, and GFLOP/s; double only if the
   device supports it. */
void lze_push_limits(lua_State *L, const char *device);
/* Stores the limits in the table at `index`. */
void lze_keep_limits(lua_State *L, const char *device, int index);

#endif
