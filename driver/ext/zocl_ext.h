/*
 * zocl_ext.h - what the files of ext/ use of each other, and the top of them.
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
 * zocl_sensors.c: what Linux tells of the CPUs.
 *
 * Each function is false where there is no such sensor.
 */

/* Bytes that there are, and that programs could have. */
bool zocl_sensors_memory(uint64_t *size, uint64_t *available);

/* Microseconds since the start of the machine that the CPUs were busy, on the
   mean, and all in all. */
bool zocl_sensors_activity(uint64_t *busy, uint64_t *all);

/* MHz, -1 where it is not known: what the slowest and the fastest CPU can do,
   what they are allowed, and the fastest one now, which is always known. */
typedef struct zocl_frequency {
  double min, max, low, high, now;
} zocl_frequency;
bool zocl_sensors_frequency(zocl_frequency *frequency);

/* Celsius, of the hottest and the coolest sensor; the limit may be -1. */
typedef struct zocl_temperature {
  double most, least, limit;
} zocl_temperature;
bool zocl_sensors_temperature(zocl_temperature *temperature);

/* All packages together: microjoules so far, and what they may draw for long,
   for short and at all, in milliwatts and over milliseconds, or -1. */
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

/* The file of the physical memory whose handle this is, a reference; NULL
   where it is something else. */
zocl_file *zocl_physical_file(const void *pointer);

/* ------------------------------------------------------------------------
 * zocl_intel.c: functions of Intel's driver, which programs find by name.
 */

/* zexMemGetIpcHandles, zexMemOpenIpcHandles */
ze_result_t zocl_MemGetIpcHandles(ze_context_handle_t context,
                                  const void *pointer, uint32_t *count,
                                  ze_ipc_mem_handle_t *handles);
ze_result_t zocl_MemOpenIpcHandles(ze_context_handle_t context,
                                   ze_device_handle_t device, uint32_t count,
                                   ze_ipc_mem_handle_t *handles,
                                   ze_ipc_memory_flags_t flags, void **pointer);
/* zexDriverImportExternalPointer and so on */
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

/* The bytes of a file for so many events. */
uint64_t zocl_states_bytes(uint64_t count);

/* The states in a file, whose reference is taken over; NULL where memory does
   not suffice. */
zocl_states *zocl_states_open(zocl_file *file);
void zocl_states_unref(zocl_states *states); /* NULL is allowed */
const zocl_file *zocl_states_file(const zocl_states *states);

#endif
