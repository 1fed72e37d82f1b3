/*
 * zocl_ext.h - functions shared by the files of ext/ and zocl_ddi.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_EXT_H
#define ZOCL_EXT_H

#include "base/zocl_file.h"
#include "base/zocl_hook.h"
#include "run/zocl_signal.h"

void zocl_sysman_hook(zocl_hook *hook);
void zocl_image_hook(zocl_hook *hook);
void zocl_ipc_hook(zocl_hook *hook);
void zocl_states_hook(zocl_hook *hook);
void zocl_counter_hook(zocl_hook *hook);
void zocl_graph_hook(zocl_hook *hook);

/* ------------------------------------------------------------------------
 * zocl_sensors.c: what Linux reports about the CPUs.
 *
 * Each function returns false if the machine lacks the sensor.
 */

/* Get the bytes of memory, and the bytes that are available to programs. */
bool zocl_sensors_memory(uint64_t *size, uint64_t *available);

/* Get microseconds since boot, averaged over the CPUs: the time they were busy,
   and all time. */
bool zocl_sensors_activity(uint64_t *busy, uint64_t *all);

/* MHz, or -1 if unknown: the range from the slowest to the fastest CPU, the
   range that is allowed, and the current clock of the fastest CPU, which is
   always known. */
typedef struct zocl_frequency {
  double min, max, low, high, now;
} zocl_frequency;
bool zocl_sensors_frequency(zocl_frequency *frequency);

/* Celsius, of the hottest and the coolest sensor; the limit is -1 if
   unknown. */
typedef struct zocl_temperature {
  double most, least, limit;
} zocl_temperature;
bool zocl_sensors_temperature(zocl_temperature *temperature);

/* The sum of all packages: energy so far in microjoules; the limits for long,
   short and peak loads in milliwatts, with their intervals in milliseconds; -1
   if unknown. */
enum { ZOCL_POWER_LIMITS = 3 };
typedef struct zocl_power {
  uint32_t packages;
  bool enabled;
  uint64_t energy;
  int64_t limit[ZOCL_POWER_LIMITS], interval[ZOCL_POWER_LIMITS], max;
} zocl_power;
bool zocl_sensors_power(zocl_power *power);

/* ------------------------------------------------------------------------
 * zocl_virtual.c: reserved addresses, and physical memory mapped there.
 */

/* Returns a reference to the file of the physical memory with this handle; NULL
   if `pointer` is anything else. */
zocl_file *zocl_physical_file(const void *pointer);

/* ------------------------------------------------------------------------
 * zocl_intel.c: functions that Intel's driver has, which programs find by name.
 */

/* zexMemGetIpcHandles, zexMemOpenIpcHandles */
ze_result_t zocl_MemGetIpcHandles(ze_context_handle_t context,
                                  const void *pointer, uint32_t *count,
                                  ze_ipc_mem_handle_t *handles);
ze_result_t zocl_MemOpenIpcHandles(ze_context_handle_t context,
                                   ze_device_handle_t device, uint32_t count,
                                   ze_ipc_mem_handle_t *handles,
                                   ze_ipc_memory_flags_t flags, void **pointer);
/* zexDriverImportExternalPointer and the functions that follow it */
ze_result_t zocl_DriverImportExternalPointer(ze_driver_handle_t driver,
                                             void *pointer, size_t size);
ze_result_t zocl_DriverReleaseImportedPointer(ze_driver_handle_t driver,
                                              void *pointer);
ze_result_t zocl_DriverGetHostPointerBaseAddress(ze_driver_handle_t driver,
                                                 void *pointer, void **base);
ze_result_t zocl_KernelGetModuleHandleExt(ze_kernel_handle_t kernel,
                                          ze_module_handle_t *module);
ze_result_t zocl_ModuleGetDeviceHandleExt(ze_module_handle_t module,
                                          ze_device_handle_t *device);

/* ------------------------------------------------------------------------
 * zocl_states.c: the states of events that processes share.
 */

/* Returns the size of a file for `count` events. */
uint64_t zocl_states_bytes(uint64_t count);

/* Returns the states in a file, and takes over the reference to the file; NULL
   if out of memory. */
zocl_states *zocl_states_open(zocl_file *file);
void zocl_states_unref(zocl_states *states); /* NULL is allowed */
const zocl_file *zocl_states_file(const zocl_states *states);

#endif
