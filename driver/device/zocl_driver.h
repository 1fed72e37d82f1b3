/*
 * zocl_driver.h - drivers and devices: finding out, and which are shown.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_DRIVER_H
#define ZOCL_DRIVER_H

#include "base/zocl_device.h"

/* The drivers as zeDriverGet counts and gives them, initialised once; not
   whether zeInit was called. */
ze_result_t zocl_drivers(uint32_t *count, zocl_driver **drivers);

/* ------------------------------------------------------------------------
 * zocl_device.c: devices and their properties.
 */

/* Fill `device` from an OpenCL device.  False where Level Zero cannot be had
   on it, with the reason in zocl_last_error. */
bool zocl_device_init(zocl_device *device, zocl_driver *driver, uint32_t index,
                      cl_device_id id);

/* Give the device a UUID that is the same in each process and after each
   boot; `part` is 0 for a root, or counts its sub-devices from 1. */
void zocl_device_name(zocl_device *device, uint32_t part);

/* How many groups of queues there are.  The first does everything, the second
   only copies. */
uint32_t zocl_device_groups(void);

/* ------------------------------------------------------------------------
 * zocl_hierarchy.c: root devices, sub-devices, and which of them are shown.
 */

/* Add the root devices for an OpenCL device, and their sub-devices.  False
   where there is none to be had, with the reason in zocl_last_error. */
bool zocl_hierarchy_add(zocl_driver *driver, cl_device_id id);

/* The OpenCL devices of all that was added, at most `cap`. */
size_t zocl_hierarchy_ids(const zocl_driver *driver, cl_device_id *ids,
                          size_t cap);

/* Choose what programs see, as the environment says.  False where that is
   nothing or the environment is wrong, with the reason in zocl_last_error. */
bool zocl_hierarchy_show(zocl_driver *driver);

void zocl_hierarchy_free(zocl_driver *driver);

#endif
