/*
 * zocl_driver.h - drivers and devices: discovery, and which are shown.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_DRIVER_H
#define ZOCL_DRIVER_H

#include "base/zocl_device.h"

/* Counts and returns the drivers as zeDriverGet does, and initialises them the
   first time.  Does not check that zeInit was called. */
ze_result_t zocl_drivers(uint32_t *count, zocl_driver **drivers);

/* ------------------------------------------------------------------------
 * zocl_device.c: devices and their properties.
 */

/* Fills `device` from an OpenCL device.  Returns false if that device cannot
   support Level Zero, with the reason in zocl_last_error. */
bool zocl_device_init(zocl_device *device, zocl_driver *driver, uint32_t index,
                      cl_device_id id);

/* Gives the device a UUID that is the same in every process and after every
   boot; `part` is 0 for a root device, and 1, 2, ... for its sub-devices. */
void zocl_device_name(zocl_device *device, uint32_t part);

/* Returns the number of queue groups.  The first runs all commands, the second
   only copies. */
uint32_t zocl_device_groups(void);

/* ------------------------------------------------------------------------
 * zocl_hierarchy.c: root devices, sub-devices, and which of them are shown.
 */

/* Adds the root devices for an OpenCL device, and their sub-devices.  Returns
   false if that fails, with the reason in zocl_last_error. */
bool zocl_hierarchy_add(zocl_driver *driver, cl_device_id id);

/* Lists the OpenCL devices of all devices added, at most `cap`, and returns how
   many there are. */
size_t zocl_hierarchy_ids(const zocl_driver *driver, cl_device_id *ids,
                          size_t cap);

/* Chooses the devices that programs see, according to the environment.  Returns
   false if no device is left or the environment is invalid, with the reason in
   zocl_last_error. */
bool zocl_hierarchy_show(zocl_driver *driver);

void zocl_hierarchy_free(zocl_driver *driver);

#endif
