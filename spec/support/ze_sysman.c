/*
 * ze_sysman.c - simulated sensors of ze_fault.so.
 * SPDX-License-Identifier: MIT
 *
 *   ZE_FAULT_SYSMAN=whole   each device has sensors
 *   ZE_FAULT_SYSMAN=tiles   each device has two tiles with sensors instead
 *   ZE_FAULT_SYSMAN=broken  each device has sensors that cannot be read
 *
 * A sensor's handle is a number: 1 and 2 belong to a device or its two tiles.
 * Between any two readings, the clock of the counters advances by 10 ms, energy
 * grows by 0.5 J, and engines work for a quarter of the time.
 */
#include "ze_sysman.h"

#include <level_zero/zes_ddi.h>

#include <stdlib.h>
#include <string.h>

static bool mode(const char *name) {
  const char *value = getenv("ZE_FAULT_SYSMAN");
  return value != NULL && strcmp(value, name) == 0;
}

static uintptr_t number(const void *sensor) { return (uintptr_t)sensor; }

/* Return two handles of each kind. */
static ze_result_t list(zes_device_handle_t d, uint32_t *n, void *handles) {
  (void)d;
  void **all = handles;
  if (all != NULL)
    for (uintptr_t i = 0; i < 2 && i < *n; i++)
      memcpy(&all[i], &(uintptr_t){i + 1}, sizeof *all);
  *n = 2;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t answer(void) {
  return mode("broken") ? ZE_RESULT_ERROR_NOT_AVAILABLE : ZE_RESULT_SUCCESS;
}

#define PROPERTIES(name, type, handle_type, ...)                             \
  static ze_result_t name(handle_type h, type *p) {                          \
    p->onSubdevice = mode("tiles");                                          \
    p->subdeviceId = (uint32_t)number(h) - 1;                                \
    __VA_ARGS__;                                                             \
    return answer();                                                         \
  }
PROPERTIES(temp_properties, zes_temp_properties_t, zes_temp_handle_t, (void)0)
PROPERTIES(power_properties, zes_power_properties_t, zes_pwr_handle_t, (void)0)
PROPERTIES(freq_properties, zes_freq_properties_t, zes_freq_handle_t,
           p->type = number(h) == 1 || mode("tiles") ? ZES_FREQ_DOMAIN_GPU
                                                     : ZES_FREQ_DOMAIN_MEMORY)
PROPERTIES(mem_properties, zes_mem_properties_t, zes_mem_handle_t,
           p->location = ZES_MEM_LOC_DEVICE)
PROPERTIES(engine_properties, zes_engine_properties_t, zes_engine_handle_t,
           p->type = number(h) == 1 || mode("tiles")
                         ? ZES_ENGINE_GROUP_ALL
                         : ZES_ENGINE_GROUP_COPY_ALL)

static ze_result_t temp_state(zes_temp_handle_t h, double *t) {
  *t = 50.5 + 10 * (double)number(h);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t freq_state(zes_freq_handle_t h, zes_freq_state_t *s) {
  s->actual = 1000 + 100 * (double)number(h);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t mem_state(zes_mem_handle_t h, zes_mem_state_t *s) {
  s->size = (uint64_t)8 << 30;
  s->free = s->size - ((uint64_t)number(h) << 30);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t energy(zes_pwr_handle_t h, zes_power_energy_counter_t *c) {
  static uint64_t readings[3];
  uint64_t n = ++readings[number(h)];
  c->energy = 500000 * n;
  c->timestamp = 10000 * n;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t engine(zes_engine_handle_t h, zes_engine_stats_t *s) {
  static uint64_t readings[3];
  uint64_t n = ++readings[number(h)];
  s->activeTime = 2500 * n * number(h);
  s->timestamp = 10000 * n;
  return ZE_RESULT_SUCCESS;
}

void ze_sysman_fill(const char *name, void *table) {
  const char *value = getenv("ZE_FAULT_SYSMAN");
  if (value == NULL || table == NULL) return;
  if (strcmp(name, "Device") == 0) {
    zes_device_dditable_t *t = table;
    t->pfnEnumTemperatureSensors = (void *)list;
    t->pfnEnumPowerDomains = (void *)list;
    t->pfnEnumFrequencyDomains = (void *)list;
    t->pfnEnumMemoryModules = (void *)list;
    t->pfnEnumEngineGroups = (void *)list;
  } else if (strcmp(name, "Temperature") == 0) {
    zes_temperature_dditable_t *t = table;
    t->pfnGetProperties = temp_properties;
    t->pfnGetState = temp_state;
  } else if (strcmp(name, "Power") == 0) {
    zes_power_dditable_t *t = table;
    t->pfnGetProperties = power_properties;
    t->pfnGetEnergyCounter = energy;
  } else if (strcmp(name, "Frequency") == 0) {
    zes_frequency_dditable_t *t = table;
    t->pfnGetProperties = freq_properties;
    t->pfnGetState = freq_state;
  } else if (strcmp(name, "Memory") == 0) {
    zes_memory_dditable_t *t = table;
    t->pfnGetProperties = mem_properties;
    t->pfnGetState = mem_state;
  } else if (strcmp(name, "Engine") == 0) {
    zes_engine_dditable_t *t = table;
    t->pfnGetProperties = engine_properties;
    t->pfnGetActivity = engine;
  }
}
