/*
 * zocl_sysman.c - zes: properties and sensors of devices.
 * SPDX-License-Identifier: MIT
 *
 * The handles of drivers and devices are the same as in the core functions.  A
 * root device on CPUs has at most one sensor of each kind, and two of
 * temperature, for all its CPUs; each query finds out which exist
 * (zocl_sensors.c).  Devices that are not CPUs have no sensors, because Linux
 * reports nothing about them.
 */
#include "device/zocl_driver.h"
#include "ext/zocl_ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sysman is available after zesInit, or with the variable that older programs
   set before zeInit. */
static atomic_bool enabled;

/* Called by zeInit. */
static void variable_read(void)
{
  const char *wanted = getenv("ZES_ENABLE_SYSMAN");
  if (wanted != NULL && strcmp(wanted, "1") == 0) atomic_store(&enabled, true);
}

static ze_result_t sysman_check(void)
{
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (atomic_load(&enabled)) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNINITIALIZED,
                   "sysman is there after zesInit, or with ZES_ENABLE_SYSMAN=1 "
                   "at zeInit");
}

#define NEED_SYSMAN()                                    \
  do {                                                   \
    ze_result_t ready_ = sysman_check();                 \
    if (ready_ != ZE_RESULT_SUCCESS) return ready_;      \
  } while (0)

/* ------------------------------------------------------------------------
 * Drivers and devices.
 */

ze_result_t zocl_zesInit(uint32_t flags)
{
  if (flags > 1) return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  uint32_t count = 0;
  ze_result_t result = zocl_drivers(&count, NULL);
  if (result == ZE_RESULT_SUCCESS) atomic_store(&enabled, true);
  return result;
}

ze_result_t zocl_zesDriverGet(uint32_t *count, zes_driver_handle_t *drivers)
{
  ZOCL_NEED_POINTER(count);
  NEED_SYSMAN();
  return zocl_drivers(count, (zocl_driver **)drivers);
}

/* Returns all root devices: masks and hierarchies do not apply to sysman. */
ze_result_t zocl_zesDeviceGet(zes_driver_handle_t handle, uint32_t *count,
                              zes_device_handle_t *devices)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(count);
  NEED_SYSMAN();
  const zocl_driver *driver = (const zocl_driver *)handle;
  if (zocl_is_query(count, driver->root_count)) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(devices);
  for (uint32_t i = 0; i < *count; i++)
    devices[i] = (zes_device_handle_t)driver->roots[i];
  return ZE_RESULT_SUCCESS;
}

/* Reports a part of a device as that device and the number of the part. */
ze_result_t zocl_zesDriverGetDeviceByUuidExp(zes_driver_handle_t handle,
                                             ze_device_uuid_t uuid,
                                             zes_device_handle_t *device,
                                             ze_bool_t *on_sub_device,
                                             uint32_t *sub_device)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(device);
  ZOCL_NEED_POINTER(on_sub_device);
  ZOCL_NEED_POINTER(sub_device);
  NEED_SYSMAN();
  const zocl_driver *driver = (const zocl_driver *)handle;
  for (uint32_t i = 0; i < driver->root_count; i++) {
    zocl_device *root = driver->roots[i];
    for (uint32_t p = 0; p <= root->part_count; p++) {
      const zocl_device *d = p == 0 ? root : root->parts[p - 1];
      if (memcmp(d->uuid, uuid.id, sizeof uuid.id) != 0) continue;
      *device = (zes_device_handle_t)root;
      *on_sub_device = p > 0;
      *sub_device = p > 0 ? p - 1 : 0;
      return ZE_RESULT_SUCCESS;
    }
  }
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "no device has that UUID");
}

ze_result_t zocl_zesDeviceGetSubDevicePropertiesExp(
    zes_device_handle_t handle, uint32_t *count, zocl_sub_device_properties *p)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(count);
  NEED_SYSMAN();
  const zocl_device *device = (const zocl_device *)handle;
  if (zocl_is_query(count, device->part_count) || *count == 0)
    return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(p);
  for (uint32_t i = 0; i < *count; i++) {
    p[i].number = i;
    memcpy(p[i].uuid.id, device->parts[i]->uuid, sizeof p[i].uuid.id);
  }
  return ZE_RESULT_SUCCESS;
}

/* zes_device_ext_properties_t (1.9). */
enum { DEVICE_EXT_PROPERTIES = 0x2d };
typedef struct device_ext_properties {
  zes_structure_type_t stype;
  void *pNext;
  uint8_t uuid[16];
  uint32_t type, flags; /* the same as in the core's properties, except ECC */
} device_ext_properties;

ze_result_t zocl_zesDeviceGetProperties(zes_device_handle_t handle,
                                        zes_device_properties_t *p)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(p);
  NEED_SYSMAN();
  zocl_device *device = (zocl_device *)handle;
  void *extension = p->core.pNext;
  p->core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  p->core.pNext = NULL;
  zocl_DeviceGetProperties(device, &p->core);
  p->core.pNext = extension;
  p->numSubdevices = device->part_count;
  char *const unknown[] = {p->serialNumber, p->boardNumber, p->brandName,
                           p->vendorName};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    snprintf(unknown[i], ZES_STRING_PROPERTY_SIZE, "unknown");
  memcpy(p->vendorName, device->vendor, sizeof device->vendor);
  snprintf(p->modelName, ZES_STRING_PROPERTY_SIZE, "%.*s",
           ZES_STRING_PROPERTY_SIZE - 1, device->name);
  snprintf(p->driverVersion, ZES_STRING_PROPERTY_SIZE, "%s", LZE_VERSION);
  for (ze_base_properties_t *next = p->pNext; next != NULL; next = next->pNext)
    if ((int)next->stype == DEVICE_EXT_PROPERTIES) {
      device_ext_properties *extra = (device_ext_properties *)next;
      memcpy(extra->uuid, device->uuid, sizeof extra->uuid);
      extra->type = (uint32_t)p->core.type;
      extra->flags = p->core.flags & (ZE_DEVICE_PROPERTY_FLAG_INTEGRATED |
                                      ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE |
                                      ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING);
    }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesDeviceGetState(zes_device_handle_t device,
                                   zes_device_state_t *state)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(state);
  NEED_SYSMAN();
  state->reset = 0;
  state->repaired = ZES_REPAIR_STATUS_UNSUPPORTED;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Enumerating sensors.
 */

static bool has_memory(void)
{
  uint64_t size, available;
  return zocl_sensors_memory(&size, &available);
}

static bool has_engine(void)
{
  uint64_t busy, all;
  return zocl_sensors_activity(&busy, &all);
}

static bool has_frequency(void)
{
  zocl_frequency f;
  return zocl_sensors_frequency(&f);
}

static bool has_temperature(void)
{
  zocl_temperature t;
  return zocl_sensors_temperature(&t);
}

static bool has_power(void)
{
  zocl_power p;
  return zocl_sensors_power(&p);
}

/* List the device's sensors from `kind` on: `most` of them, or an empty list if
   `there` returns false. */
static ze_result_t sensors_list(zes_device_handle_t handle,
                                zocl_sensor_kind kind, uint32_t most,
                                bool (*there)(void), uint32_t *count,
                                void *handles)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(count);
  NEED_SYSMAN();
  zocl_device *root = ((zocl_device *)handle)->root;
  uint32_t all = root->cpu && there() ? most : 0;
  if (zocl_is_query(count, all) || *count == 0) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(handles);
  for (uint32_t i = 0; i < *count; i++) {
    zocl_sensor *sensor = &root->sensors[kind + i];
    memcpy((char *)handles + i * sizeof sensor, &sensor, sizeof sensor);
  }
  return ZE_RESULT_SUCCESS;
}

#define LIST(name, type, kind, most, there)                                  \
  ze_result_t zocl_zesDeviceEnum##name(zes_device_handle_t device,           \
                                       uint32_t *count, type *handles)       \
  {                                                                          \
    return sensors_list(device, kind, most, there, count, handles);          \
  }
LIST(MemoryModules, zes_mem_handle_t, ZOCL_SENSOR_MEMORY, 1, has_memory)
LIST(EngineGroups, zes_engine_handle_t, ZOCL_SENSOR_ENGINE, 1, has_engine)
LIST(FrequencyDomains, zes_freq_handle_t, ZOCL_SENSOR_FREQUENCY, 1,
     has_frequency)
LIST(TemperatureSensors, zes_temp_handle_t, ZOCL_SENSOR_HOTTEST, 2,
     has_temperature)
LIST(PowerDomains, zes_pwr_handle_t, ZOCL_SENSOR_POWER, 1, has_power)

ze_result_t zocl_zesDeviceGetCardPowerDomain(zes_device_handle_t device,
                                             zes_pwr_handle_t *power)
{
  ZOCL_NEED_POINTER(power);
  uint32_t one = 1;
  ze_result_t result = zocl_zesDeviceEnumPowerDomains(device, &one, power);
  if (result == ZE_RESULT_SUCCESS && one == 0)
    result = zocl_error(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  return result;
}

/* Report that a sensor which existed before can no longer be read. */
static ze_result_t gone(void)
{
  return zocl_fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "the sensor cannot be read");
}

/* ------------------------------------------------------------------------
 * Memory and engines.
 */

/* The device's memory is the machine's memory. */
ze_result_t zocl_zesMemoryGetProperties(zes_mem_handle_t memory,
                                        zes_mem_properties_t *p)
{
  ZOCL_NEED_HANDLE(memory);
  ZOCL_NEED_POINTER(p);
  uint64_t size, available;
  if (!zocl_sensors_memory(&size, &available)) return gone();
  p->type = ZES_MEM_TYPE_DDR;
  p->onSubdevice = 0;
  p->subdeviceId = 0;
  p->location = ZES_MEM_LOC_DEVICE;
  p->physicalSize = size;
  p->busWidth = p->numChannels = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesMemoryGetState(zes_mem_handle_t memory,
                                   zes_mem_state_t *state)
{
  ZOCL_NEED_HANDLE(memory);
  ZOCL_NEED_POINTER(state);
  if (!zocl_sensors_memory(&state->size, &state->free)) return gone();
  state->health = ZES_MEM_HEALTH_UNKNOWN;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesEngineGetProperties(zes_engine_handle_t engine,
                                        zes_engine_properties_t *p)
{
  ZOCL_NEED_HANDLE(engine);
  ZOCL_NEED_POINTER(p);
  p->type = ZES_ENGINE_GROUP_ALL;
  p->onSubdevice = 0;
  p->subdeviceId = 0;
  return ZE_RESULT_SUCCESS;
}

/* Both times are averaged over all CPUs, so a full load makes them grow at the
   same rate. */
ze_result_t zocl_zesEngineGetActivity(zes_engine_handle_t engine,
                                      zes_engine_stats_t *stats)
{
  ZOCL_NEED_HANDLE(engine);
  ZOCL_NEED_POINTER(stats);
  return zocl_sensors_activity(&stats->activeTime, &stats->timestamp)
             ? ZE_RESULT_SUCCESS
             : gone();
}

/* ------------------------------------------------------------------------
 * Frequency and temperature.
 */

ze_result_t zocl_zesFrequencyGetProperties(zes_freq_handle_t frequency,
                                           zes_freq_properties_t *p)
{
  ZOCL_NEED_HANDLE(frequency);
  ZOCL_NEED_POINTER(p);
  zocl_frequency f;
  if (!zocl_sensors_frequency(&f)) return gone();
  p->type = ZES_FREQ_DOMAIN_GPU; /* the clock of the device that runs kernels */
  p->onSubdevice = 0;
  p->subdeviceId = 0;
  p->canControl = 0;
  p->isThrottleEventSupported = 0;
  p->min = f.min;
  p->max = f.max;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesFrequencyGetRange(zes_freq_handle_t frequency,
                                      zes_freq_range_t *range)
{
  ZOCL_NEED_HANDLE(frequency);
  ZOCL_NEED_POINTER(range);
  zocl_frequency f;
  if (!zocl_sensors_frequency(&f)) return gone();
  range->min = f.low;
  range->max = f.high;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesFrequencyGetState(zes_freq_handle_t frequency,
                                      zes_freq_state_t *state)
{
  ZOCL_NEED_HANDLE(frequency);
  ZOCL_NEED_POINTER(state);
  zocl_frequency f;
  if (!zocl_sensors_frequency(&f)) return gone();
  state->currentVoltage = state->request = -1;
  state->tdp = state->efficient = -1;
  state->actual = f.now;
  state->throttleReasons = 0;
  return ZE_RESULT_SUCCESS;
}

/* The two temperature sensors report the hottest and the coolest of the CPUs'
   sensors. */
static bool is_hottest(const zocl_sensor *sensor)
{
  return sensor == &sensor->device->sensors[ZOCL_SENSOR_HOTTEST];
}

ze_result_t zocl_zesTemperatureGetProperties(zes_temp_handle_t handle,
                                             zes_temp_properties_t *p)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(p);
  zocl_temperature t;
  if (!zocl_sensors_temperature(&t)) return gone();
  p->type = is_hottest((zocl_sensor *)handle) ? ZES_TEMP_SENSORS_GLOBAL
                                              : ZES_TEMP_SENSORS_GLOBAL_MIN;
  p->onSubdevice = 0;
  p->subdeviceId = 0;
  p->maxTemperature = t.limit;
  p->isCriticalTempSupported = 0;
  p->isThreshold1Supported = p->isThreshold2Supported = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesTemperatureGetState(zes_temp_handle_t handle,
                                        double *celsius)
{
  ZOCL_NEED_HANDLE(handle);
  ZOCL_NEED_POINTER(celsius);
  zocl_temperature t;
  if (!zocl_sensors_temperature(&t)) return gone();
  *celsius = is_hottest((zocl_sensor *)handle) ? t.most : t.least;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Power.
 */

/* Converts milliwatts and milliseconds to the types of the interface. */
static int32_t clamp(int64_t n)
{
  return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

ze_result_t zocl_zesPowerGetProperties(zes_pwr_handle_t power,
                                       zes_power_properties_t *p)
{
  ZOCL_NEED_HANDLE(power);
  ZOCL_NEED_POINTER(p);
  zocl_power now;
  if (!zocl_sensors_power(&now)) return gone();
  p->onSubdevice = 0;
  p->subdeviceId = 0;
  p->canControl = 0;
  p->isEnergyThresholdSupported = 0;
  p->defaultLimit = p->minLimit = -1;
  p->maxLimit = clamp(now.max);
  for (ze_base_properties_t *next = p->pNext; next != NULL; next = next->pNext)
    if ((int)next->stype == ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES)
      ((zes_power_ext_properties_t *)next)->domain = ZES_POWER_DOMAIN_PACKAGE;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesPowerGetEnergyCounter(zes_pwr_handle_t power,
                                          zes_power_energy_counter_t *counter)
{
  ZOCL_NEED_HANDLE(power);
  ZOCL_NEED_POINTER(counter);
  zocl_power now;
  if (!zocl_sensors_power(&now)) return gone();
  counter->energy = now.energy;
  counter->timestamp = zocl_clock() / 1000;
  return ZE_RESULT_SUCCESS;
}

/* The limits are in the order of zocl_power.limit. */
ze_result_t zocl_zesPowerGetLimits(zes_pwr_handle_t power,
                                   zes_power_sustained_limit_t *sustained,
                                   zes_power_burst_limit_t *burst,
                                   zes_power_peak_limit_t *peak)
{
  ZOCL_NEED_HANDLE(power);
  zocl_power now;
  if (!zocl_sensors_power(&now)) return gone();
  if (sustained != NULL) {
    sustained->enabled = now.enabled && now.limit[0] >= 0;
    sustained->power = clamp(now.limit[0]);
    sustained->interval = clamp(now.interval[0]);
  }
  if (burst != NULL) {
    burst->enabled = now.enabled && now.limit[1] >= 0;
    burst->power = clamp(now.limit[1]);
  }
  if (peak != NULL) {
    peak->powerAC = clamp(now.limit[2]);
    peak->powerDC = -1;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_zesPowerGetLimitsExt(zes_pwr_handle_t power, uint32_t *count,
                                      zes_power_limit_ext_desc_t *limits)
{
  static const zes_power_level_t levels[ZOCL_POWER_LIMITS] = {
    ZES_POWER_LEVEL_SUSTAINED, ZES_POWER_LEVEL_BURST, ZES_POWER_LEVEL_PEAK};
  ZOCL_NEED_HANDLE(power);
  ZOCL_NEED_POINTER(count);
  zocl_power now;
  uint32_t n = 0;
  if (!zocl_sensors_power(&now)) return gone();
  if (*count > 0) ZOCL_NEED_POINTER(limits);
  for (int i = 0; i < ZOCL_POWER_LIMITS; i++) {
    if (now.limit[i] < 0) continue;
    if (n < *count) {
      zes_power_limit_ext_desc_t *l = &limits[n];
      l->level = levels[i];
      l->source = ZES_POWER_SOURCE_ANY;
      l->limitUnit = ZES_LIMIT_UNIT_POWER;
      l->enabled = now.enabled;
      l->interval = clamp(now.interval[i]);
      l->limit = clamp(now.limit[i]);
      l->enabledStateLocked = l->intervalValueLocked = 1;
      l->limitValueLocked = 1;
    }
    n++;
  }
  if (*count == 0 || *count > n) *count = n;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Extensions of sysman: none.  Functions are found by name as in the core.
 */

ze_result_t zocl_zesDriverGetExtensionProperties(zes_driver_handle_t driver,
                                                 uint32_t *count,
                                                 void *properties)
{
  ZOCL_NEED_HANDLE(driver);
  ZOCL_NEED_POINTER(count);
  (void)properties; /* nothing to report */
  NEED_SYSMAN();
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

void zocl_sysman_hook(zocl_hook *hook)
{
  hook->initialise = variable_read;
}
