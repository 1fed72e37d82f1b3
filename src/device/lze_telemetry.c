/*
 * lze_telemetry.c - a device's readings through sysman.
 * SPDX-License-Identifier: MIT
 *
 * Sysman is opened at the first query only, because drivers take long for it.
 * A loader since 1.14 opens sysman by itself. With an older one, the driver
 * must be initialised with ZES_ENABLE_SYSMAN=1, and sysman takes the device's
 * own handle. Unavailable readings are left out; nothing here fails.
 */
#include "device/lze_device.h"
#include "device/lze_loader.h"

#include <level_zero/zes_api.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS(X)                                                         \
  X(zesDeviceEnumTemperatureSensors) X(zesTemperatureGetProperties)          \
  X(zesTemperatureGetState)                                                  \
  X(zesDeviceEnumPowerDomains) X(zesPowerGetProperties)                      \
  X(zesPowerGetEnergyCounter)                                                \
  X(zesDeviceEnumFrequencyDomains) X(zesFrequencyGetProperties)              \
  X(zesFrequencyGetState)                                                    \
  X(zesDeviceEnumMemoryModules) X(zesMemoryGetProperties)                    \
  X(zesMemoryGetState)                                                       \
  X(zesDeviceEnumEngineGroups) X(zesEngineGetProperties)                     \
  X(zesEngineGetActivity)

static struct {
#define X(name) __typeof__(&name) name;
  FUNCTIONS(X)
#undef X
} zes;

/* The kinds of engines that we report the activity of. */
static const struct {
  zes_engine_group_t group;
  const char *key;
} engine_kinds[] = {{ZES_ENGINE_GROUP_ALL, "activity"},
                    {ZES_ENGINE_GROUP_COMPUTE_ALL, "compute_activity"},
                    {ZES_ENGINE_GROUP_COPY_ALL, "copy_activity"}};
enum { KINDS = sizeof engine_kinds / sizeof *engine_kinds };

/* Counters that only grow; two readings give a rate. */
typedef struct Counters {
  bool has_energy, has_engine[KINDS];
  uint64_t energy, energy_time; /* microjoules, microseconds */
  uint64_t busy[KINDS], busy_time[KINDS];
} Counters;

/* The data of a device, indexed by its .index. */
typedef struct Gauge {
  zes_device_handle_t device;
  bool read;                    /* `last` is a reading */
  Counters last;
} Gauge;

/* Process-wide, like the loader. */
static pthread_mutex_t telemetry_lock = PTHREAD_MUTEX_INITIALIZER;
static Gauge *gauges;           /* NULL before the first query */

/* --- finding sysman ----------------------------------------------------- */

static bool functions_find(void) {
#define X(name)                                                              \
  if ((*(void **)&zes.name = lze_loader_symbol(#name)) == NULL) return false;
  FUNCTIONS(X)
#undef X
  return true;
}

/* Gets the handles from a loader that opens sysman by itself; UUIDs identify
   the devices. Returns false if the loader cannot do this. */
static bool handles_by_init(const lze_System *s) {
  ze_result_t (*init)(uint32_t);
  ze_result_t (*driver_get)(uint32_t *, zes_driver_handle_t *);
  ze_result_t (*device_get)(zes_driver_handle_t, uint32_t *,
                            zes_device_handle_t *);
  __typeof__(&zesDeviceGetProperties) properties;
  *(void **)&init = lze_loader_symbol("zesInit");
  *(void **)&driver_get = lze_loader_symbol("zesDriverGet");
  *(void **)&device_get = lze_loader_symbol("zesDeviceGet");
  *(void **)&properties = lze_loader_symbol("zesDeviceGetProperties");
  if (init == NULL || driver_get == NULL || device_get == NULL ||
      properties == NULL)
    return false;
  if (init(0) != ZE_RESULT_SUCCESS) return true;
  zes_driver_handle_t drivers[16];
  zes_device_handle_t devices[64];
  uint32_t driver_count = 16;
  if (driver_get(&driver_count, drivers) != ZE_RESULT_SUCCESS) return true;
  for (uint32_t i = 0; i < driver_count && i < 16; i++) {
    uint32_t count = 64;
    if (device_get(drivers[i], &count, devices) != ZE_RESULT_SUCCESS) continue;
    for (uint32_t j = 0; j < count && j < 64; j++) {
      zes_device_properties_t p = {.stype =
                                       ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES};
      p.core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
      if (properties(devices[j], &p) != ZE_RESULT_SUCCESS) continue;
      for (int k = 0; k < s->device_count; k++)
        if (memcmp(p.core.uuid.id, s->devices[k].props.uuid.id,
                   sizeof p.core.uuid.id) == 0)
          gauges[s->devices[k].index].device = devices[j];
    }
  }
  return true;
}

static void handles_by_variable(const lze_System *s) {
  if (!lze_sysman_enabled()) return;
  for (int i = 0; i < s->device_count; i++)
    gauges[s->devices[i].index].device =
        (zes_device_handle_t)s->devices[i].handle;
}

static void telemetry_open(const lze_System *s) {
  gauges = calloc((size_t)s->total_devices + 1, sizeof *gauges);
  if (gauges == NULL || !functions_find()) return;
  if (!handles_by_init(s)) handles_by_variable(s);
  for (int i = 0; i < s->device_count; i++) /* tiles use their root's handle */
    for (uint32_t t = 0; t < s->devices[i].tile_count; t++)
      gauges[s->devices[i].tiles[t].index].device =
          gauges[s->devices[i].index].device;
}

/* --- reading ------------------------------------------------------------ */

enum { MOST = 64 };

/* Selects the sensors that count: for a tile, its own; for a device, the
   sensors of the whole device or, if it has no such sensors, the sensors of
   its tiles. */
typedef struct Filter {
  bool is_tile, parts;
  uint32_t tile;
} Filter;

static bool filter_takes(const Filter *f, ze_bool_t on_tile, uint32_t tile) {
  return f->is_tile ? on_tile && tile == f->tile : f->parts || !on_tile;
}

/* Fills `handles` and returns their number. */
#define LIST(function, device, handles)                                      \
  __extension__({                                                            \
    uint32_t list_count = MOST;                                              \
    if (zes.function(device, &list_count, handles) != ZE_RESULT_SUCCESS)     \
      list_count = 0;                                                        \
    list_count < MOST ? list_count : MOST;                                   \
  })

/* Reads the hottest sensor. */
static bool read_temperature(zes_device_handle_t d, const Filter *f,
                             double *celsius) {
  zes_temp_handle_t sensors[MOST];
  bool found = false;
  uint32_t n = LIST(zesDeviceEnumTemperatureSensors, d, sensors);
  for (uint32_t i = 0; i < n; i++) {
    zes_temp_properties_t p = {.stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES};
    double t;
    if (zes.zesTemperatureGetProperties(sensors[i], &p) !=
            ZE_RESULT_SUCCESS ||
        !filter_takes(f, p.onSubdevice, p.subdeviceId) ||
        zes.zesTemperatureGetState(sensors[i], &t) != ZE_RESULT_SUCCESS)
      continue;
    if (!found || t > *celsius) *celsius = t;
    found = true;
  }
  return found;
}

/* Reads the GPU's clock: the fastest if there are several. */
static bool read_frequency(zes_device_handle_t d, const Filter *f,
                           double *mhz) {
  zes_freq_handle_t domains[MOST];
  bool found = false;
  uint32_t n = LIST(zesDeviceEnumFrequencyDomains, d, domains);
  for (uint32_t i = 0; i < n; i++) {
    zes_freq_properties_t p = {.stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES};
    zes_freq_state_t state = {.stype = ZES_STRUCTURE_TYPE_FREQ_STATE};
    if (zes.zesFrequencyGetProperties(domains[i], &p) != ZE_RESULT_SUCCESS ||
        p.type != ZES_FREQ_DOMAIN_GPU ||
        !filter_takes(f, p.onSubdevice, p.subdeviceId) ||
        zes.zesFrequencyGetState(domains[i], &state) != ZE_RESULT_SUCCESS ||
        state.actual < 0)
      continue;
    if (!found || state.actual > *mhz) *mhz = state.actual;
    found = true;
  }
  return found;
}

/* Reads the memory on the device, all modules together. */
static bool read_memory(zes_device_handle_t d, const Filter *f,
                        uint64_t *used, uint64_t *total) {
  zes_mem_handle_t modules[MOST];
  bool found = false;
  *used = *total = 0;
  uint32_t n = LIST(zesDeviceEnumMemoryModules, d, modules);
  for (uint32_t i = 0; i < n; i++) {
    zes_mem_properties_t p = {.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES};
    zes_mem_state_t state = {.stype = ZES_STRUCTURE_TYPE_MEM_STATE};
    if (zes.zesMemoryGetProperties(modules[i], &p) != ZE_RESULT_SUCCESS ||
        p.location != ZES_MEM_LOC_DEVICE ||
        !filter_takes(f, p.onSubdevice, p.subdeviceId) ||
        zes.zesMemoryGetState(modules[i], &state) != ZE_RESULT_SUCCESS ||
        state.free > state.size)
      continue;
    *used += state.size - state.free;
    *total += state.size;
    found = true;
  }
  return found;
}

/* Reads energy. For a device, uses the first domain, which is the card and
   includes the others; for tiles that stand in for the device, adds all
   domains. */
static void read_energy(zes_device_handle_t d, const Filter *f, Counters *c) {
  zes_pwr_handle_t domains[MOST];
  uint32_t n = LIST(zesDeviceEnumPowerDomains, d, domains);
  for (uint32_t i = 0; i < n; i++) {
    zes_power_properties_t p = {.stype = ZES_STRUCTURE_TYPE_POWER_PROPERTIES};
    zes_power_energy_counter_t counter;
    if (zes.zesPowerGetProperties(domains[i], &p) != ZE_RESULT_SUCCESS ||
        !filter_takes(f, p.onSubdevice, p.subdeviceId) ||
        zes.zesPowerGetEnergyCounter(domains[i], &counter) !=
            ZE_RESULT_SUCCESS)
      continue;
    c->energy += counter.energy;
    c->energy_time = counter.timestamp;
    c->has_energy = true;
    if (!f->parts) return;
  }
}

static void read_engines(zes_device_handle_t d, const Filter *f,
                         Counters *c) {
  zes_engine_handle_t groups[MOST];
  uint32_t n = LIST(zesDeviceEnumEngineGroups, d, groups);
  for (uint32_t i = 0; i < n; i++) {
    zes_engine_properties_t p = {.stype =
                                     ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES};
    zes_engine_stats_t stats;
    if (zes.zesEngineGetProperties(groups[i], &p) != ZE_RESULT_SUCCESS ||
        !filter_takes(f, p.onSubdevice, p.subdeviceId) ||
        zes.zesEngineGetActivity(groups[i], &stats) != ZE_RESULT_SUCCESS)
      continue;
    for (int k = 0; k < KINDS; k++) {
      if (p.type != engine_kinds[k].group) continue;
      c->busy[k] += stats.activeTime;
      c->busy_time[k] += stats.timestamp; /* the sums give the mean of the
                                             tiles */
      c->has_engine[k] = true;
    }
  }
}

/* Calls a reader for the whole device, then for its tiles if it found
   nothing. */
#define READ(found, filter, call)                                            \
  do {                                                                       \
    (filter).parts = false;                                                  \
    call;                                                                    \
    if (!(found) && !(filter).is_tile) {                                     \
      (filter).parts = true;                                                 \
      call;                                                                  \
    }                                                                        \
  } while (0)

static Counters counters_read(zes_device_handle_t d, Filter f) {
  Counters c = {false};
  READ(c.has_energy, f, read_energy(d, &f, &c));
  READ(c.has_engine[0] || c.has_engine[1] || c.has_engine[2], f,
       read_engines(d, &f, &c));
  return c;
}

static bool counters_any(const Counters *c) {
  bool any = c->has_energy;
  for (int k = 0; k < KINDS; k++) any = any || c->has_engine[k];
  return any;
}

static void set_number(lua_State *L, const char *key, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, key);
}

/* Computes the growth of a per unit of b; returns false if b did not grow. */
static bool rate(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1,
                 double *r) {
  if (a1 < a0 || b1 <= b0) return false;
  *r = (double)(a1 - a0) / (double)(b1 - b0);
  return true;
}

/* The contents of the table, read before anything can raise. */
typedef struct Reading {
  bool temperature, frequency, memory;
  double celsius, mhz;
  uint64_t used, total;
  Counters before, now;
} Reading;

static Reading gauge_read(Gauge *g, Filter f) {
  Reading r = {false};
  if (g->device == NULL) return r;
  READ(r.temperature, f,
       r.temperature = read_temperature(g->device, &f, &r.celsius));
  READ(r.frequency, f, r.frequency = read_frequency(g->device, &f, &r.mhz));
  READ(r.memory, f, r.memory = read_memory(g->device, &f, &r.used, &r.total));
  r.now = counters_read(g->device, f);
  if (!g->read && counters_any(&r.now)) {
    /* The first time, nothing is available to compare with: wait a moment. */
    struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
    g->last = r.now;
    r.now = counters_read(g->device, f);
  }
  r.before = g->last;
  g->last = r.now;
  g->read = true;
  return r;
}

static Filter filter_for(const lze_DeviceInfo *d) {
  const lze_DeviceInfo *root = d->parent;
  return (Filter){.is_tile = root != NULL,
                  .tile = root != NULL ? (uint32_t)(d->base - root->tiles)
                                       : 0};
}

bool lze_energy_read(lua_State *L, const lze_DeviceInfo *d, uint64_t *energy,
                     uint64_t *time) {
  const lze_System *s = lze_system(L);
  Filter f = filter_for(d);
  Counters c = {false};
  pthread_mutex_lock(&telemetry_lock);
  if (gauges == NULL) telemetry_open(s);
  zes_device_handle_t device = gauges != NULL ? gauges[d->index].device : NULL;
  if (device != NULL) READ(c.has_energy, f, read_energy(device, &f, &c));
  pthread_mutex_unlock(&telemetry_lock);
  *energy = c.energy;
  *time = c.energy_time;
  return c.has_energy;
}

void lze_push_telemetry(lua_State *L, const lze_DeviceInfo *d) {
  const lze_System *s = lze_system(L);
  Filter f = filter_for(d);
  Reading r = {false};
  pthread_mutex_lock(&telemetry_lock);
  if (gauges == NULL) telemetry_open(s);
  if (gauges != NULL) r = gauge_read(&gauges[d->index], f);
  pthread_mutex_unlock(&telemetry_lock);
  lua_createtable(L, 0, 8);
  if (r.temperature) set_number(L, "temperature_celsius", r.celsius);
  if (r.frequency) set_number(L, "frequency_mhz", r.mhz);
  if (r.memory) {
    lua_pushinteger(L, (lua_Integer)r.used);
    lua_setfield(L, -2, "memory_used_bytes");
    lua_pushinteger(L, (lua_Integer)r.total);
    lua_setfield(L, -2, "memory_total_bytes");
  }
  double x;
  const Counters *a = &r.before, *b = &r.now;
  if (b->has_energy) set_number(L, "energy_joules", (double)b->energy / 1e6);
  if (b->has_energy && rate(a->energy, b->energy, a->energy_time,
                            b->energy_time, &x))
    set_number(L, "power_watts", x);
  for (int k = 0; k < KINDS; k++)
    if (b->has_engine[k] && rate(a->busy[k], b->busy[k], a->busy_time[k],
                                 b->busy_time[k], &x))
      set_number(L, engine_kinds[k].key, x);
}
