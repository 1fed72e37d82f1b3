/*
 * sysman_test.c - properties that devices report, read from a fake machine.
 * SPDX-License-Identifier: MIT
 *
 * The files that Linux would have are written below our own directory, changed
 * and removed again.
 */
#include "check.h"

#include <level_zero/zes_api.h>

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static setup s;
static zes_device_handle_t device;

/* Writes a file, and makes its directories. */
static void put(const char *name, const char *text)
{
  char path[256];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0755);
    *p = '/';
  }
  FILE *f = fopen(path, "w");
  if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) exit(1);
}

static void take(const char *name)
{
  char path[256];
  snprintf(path, sizeof path, "%s%s", root, name);
  if (unlink(path) != 0) exit(1);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *at)
{
  (void)st;
  (void)flag;
  (void)at;
  return remove(path);
}

static void remove_root(void)
{
  nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define CPU "/sys/devices/system/cpu/cpufreq/policy"
#define RAPL "/sys/class/powercap/intel-rapl:"

static void machine_make(void)
{
  put("/proc/meminfo", "MemTotal:        2048 kB\nMemFree:          100 kB\n"
                       "MemAvailable:     512 kB\n");
  /* Two CPUs; 400 ticks in all, 100 of them busy. */
  put("/proc/stat", "cpu  50 10 20 250 50 5 5 10 3 3\ncpu0 25 5 10 125 25\n"
                    "cpu1 25 5 10 125 25\nintr 1\n");
  put(CPU "0/cpuinfo_min_freq", "800000\n");
  put(CPU "0/cpuinfo_max_freq", "3000000\n");
  put(CPU "0/scaling_min_freq", "1000000\n");
  put(CPU "0/scaling_max_freq", "2500000\n");
  put(CPU "0/scaling_cur_freq", "1200500\n");
  put(CPU "1/cpuinfo_min_freq", "900000\n");
  put(CPU "1/cpuinfo_max_freq", "3500000\n");
  put(CPU "1/scaling_cur_freq", "2100000\n");
  /* A disk's sensor does not count. */
  put("/sys/class/hwmon/hwmon0/name", "nvme\n");
  put("/sys/class/hwmon/hwmon0/temp1_input", "99000\n");
  put("/sys/class/hwmon/hwmon1/name", "coretemp\n");
  put("/sys/class/hwmon/hwmon1/temp1_input", "61500\n");
  put("/sys/class/hwmon/hwmon1/temp1_crit", "100000\n");
  put("/sys/class/hwmon/hwmon1/temp12_input", "48000\n");
  put("/sys/class/hwmon/hwmon1/temp12_max", "1000\n");
  put(RAPL "0/name", "package-0\n");
  put(RAPL "0/energy_uj", "900\n");
  put(RAPL "0/max_energy_range_uj", "1000\n");
  put(RAPL "0/enabled", "1\n");
  put(RAPL "0/constraint_0_name", "long_term\n");
  put(RAPL "0/constraint_0_power_limit_uw", "65000000\n");
  put(RAPL "0/constraint_0_max_power_uw", "95000000\n");
  put(RAPL "0/constraint_0_time_window_us", "28000000\n");
  put(RAPL "0/constraint_1_name", "short_term\n");
  put(RAPL "0/constraint_1_power_limit_uw", "81250000\n");
  put(RAPL "1/name", "package-1\n");
  put(RAPL "1/energy_uj", "50\n");
  put(RAPL "1/max_energy_range_uj", "1000\n");
  put(RAPL "1/constraint_0_name", "long_term\n");
  put(RAPL "1/constraint_0_power_limit_uw", "65000000\n");
  /* Another die of the first package. */
  put(RAPL "3/name", "package-0-die-1\n");
  put(RAPL "3/energy_uj", "20\n");
  put(RAPL "3/max_energy_range_uj", "1000\n");
  /* A part of a package, and a domain larger than packages. */
  put(RAPL "0:0/name", "core\n");
  put(RAPL "0:0/energy_uj", "7777\n");
  put(RAPL "2/name", "psys\n");
  put(RAPL "2/energy_uj", "8888\n");
}

static void test_device(void)
{
  zes_device_properties_t p = {.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  ze_device_properties_t core = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zesDeviceGetProperties(device, &p));
  MUST(zeDeviceGetProperties(s.device, &core));
  CHECK(memcmp(&p.core.uuid, &core.uuid, sizeof core.uuid) == 0);
  CHECK(strncmp(p.modelName, core.name, ZES_STRING_PROPERTY_SIZE - 1) == 0);
  CHECK(p.vendorName[0] != '\0' && strcmp(p.serialNumber, "unknown") == 0);
  EQUAL(p.numSubdevices, 2);
  zes_device_state_t state = {.stype = ZES_STRUCTURE_TYPE_DEVICE_STATE,
                              .reset = 9};
  MUST(zesDeviceGetState(device, &state));
  EQUAL(state.reset, 0);
  uint32_t n = 0;
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, zesDeviceEnumFans(device, &n,
                                                                 NULL));
}

static void test_memory(void)
{
  uint32_t n = 0;
  zes_mem_handle_t memory[3];
  MUST(zesDeviceEnumMemoryModules(device, &n, NULL));
  EQUAL(n, 1);
  n = 3;
  MUST(zesDeviceEnumMemoryModules(device, &n, memory));
  EQUAL(n, 1);
  zes_mem_properties_t p = {.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES};
  zes_mem_state_t state = {.stype = ZES_STRUCTURE_TYPE_MEM_STATE};
  MUST(zesMemoryGetProperties(memory[0], &p));
  EQUAL(p.physicalSize, 2048 * 1024);
  EQUAL(p.onSubdevice, 0);
  MUST(zesMemoryGetState(memory[0], &state));
  EQUAL(state.size, 2048 * 1024);
  EQUAL(state.free, 512 * 1024);
  put("/proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: 256 kB\n");
  MUST(zesMemoryGetState(memory[0], &state));
  EQUAL(state.free, 256 * 1024);
  /* Missing or invalid files. */
  put("/proc/meminfo", "MemTotal: 2048 kB\nMemAvailable: 4096 kB\n");
  RETURNS(ZE_RESULT_ERROR_NOT_AVAILABLE, zesMemoryGetState(memory[0], &state));
  take("/proc/meminfo");
  RETURNS(ZE_RESULT_ERROR_NOT_AVAILABLE, zesMemoryGetState(memory[0], &state));
  n = 0;
  MUST(zesDeviceEnumMemoryModules(device, &n, NULL));
  EQUAL(n, 0);
}

static void test_engine(void)
{
  uint32_t n = 4;
  zes_engine_handle_t engine[4];
  MUST(zesDeviceEnumEngineGroups(device, &n, engine));
  EQUAL(n, 1);
  zes_engine_properties_t p = {.stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES};
  MUST(zesEngineGetProperties(engine[0], &p));
  EQUAL(p.type, ZES_ENGINE_GROUP_ALL);
  zes_engine_stats_t stats;
  MUST(zesEngineGetActivity(engine[0], &stats));
  uint64_t tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
  EQUAL(stats.activeTime, 100 * tick / 2);
  EQUAL(stats.timestamp, 400 * tick / 2);
}

static void test_frequency(void)
{
  uint32_t n = 4;
  zes_freq_handle_t domain[4];
  MUST(zesDeviceEnumFrequencyDomains(device, &n, domain));
  EQUAL(n, 1);
  zes_freq_properties_t p = {.stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES};
  zes_freq_range_t range;
  zes_freq_state_t state = {.stype = ZES_STRUCTURE_TYPE_FREQ_STATE};
  MUST(zesFrequencyGetProperties(domain[0], &p));
  EQUAL(p.min, 800);
  EQUAL(p.max, 3500);
  EQUAL(p.canControl, 0);
  MUST(zesFrequencyGetRange(domain[0], &range));
  EQUAL(range.min, 1000);
  EQUAL(range.max, 2500);
  MUST(zesFrequencyGetState(domain[0], &state));
  EQUAL(state.actual, 2100);
  put(CPU "0/scaling_cur_freq", "2900500\n");
  MUST(zesFrequencyGetState(domain[0], &state));
  EQUAL(state.actual * 10, 29005);
  take(CPU "0/scaling_cur_freq");
  take(CPU "1/scaling_cur_freq");
  n = 0;
  MUST(zesDeviceEnumFrequencyDomains(device, &n, NULL));
  EQUAL(n, 0);
}

static void test_temperature(void)
{
  uint32_t n = 4;
  zes_temp_handle_t sensor[4];
  zes_temp_properties_t p = {.stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES};
  double celsius = 0;
  MUST(zesDeviceEnumTemperatureSensors(device, &n, sensor));
  EQUAL(n, 2);
  MUST(zesTemperatureGetProperties(sensor[0], &p));
  EQUAL(p.type, ZES_TEMP_SENSORS_GLOBAL);
  EQUAL(p.maxTemperature, 100);
  MUST(zesTemperatureGetState(sensor[0], &celsius));
  EQUAL(celsius * 10, 615);
  MUST(zesTemperatureGetProperties(sensor[1], &p));
  EQUAL(p.type, ZES_TEMP_SENSORS_GLOBAL_MIN);
  MUST(zesTemperatureGetState(sensor[1], &celsius));
  EQUAL(celsius, 48);
  put("/sys/class/hwmon/hwmon1/name", "nouveau\n");
  n = 0;
  MUST(zesDeviceEnumTemperatureSensors(device, &n, NULL));
  EQUAL(n, 0);
}

static void test_power(void)
{
  uint32_t n = 4;
  zes_pwr_handle_t domain[4], card;
  MUST(zesDeviceEnumPowerDomains(device, &n, domain));
  EQUAL(n, 1);
  MUST(zesDeviceGetCardPowerDomain(device, &card));
  CHECK(card == domain[0]);
  zes_power_properties_t p = {.stype = ZES_STRUCTURE_TYPE_POWER_PROPERTIES};
  MUST(zesPowerGetProperties(domain[0], &p));
  EQUAL(p.maxLimit, 95000);
  EQUAL(p.canControl, 0);
  zes_power_energy_counter_t before, after;
  MUST(zesPowerGetEnergyCounter(domain[0], &before));
  EQUAL(before.energy, 970);
  MUST(zesPowerGetEnergyCounter(domain[0], &after));
  EQUAL(after.energy, 970);
  /* One counter wraps around, the others go on. */
  put(RAPL "0/energy_uj", "100\n");
  put(RAPL "1/energy_uj", "60\n");
  MUST(zesPowerGetEnergyCounter(domain[0], &after));
  EQUAL(after.energy, 1180);
  CHECK(after.timestamp >= before.timestamp && after.timestamp > 0);
  zes_power_sustained_limit_t sustained;
  zes_power_burst_limit_t burst;
  zes_power_peak_limit_t peak;
  MUST(zesPowerGetLimits(domain[0], &sustained, &burst, &peak));
  EQUAL(sustained.enabled, 1);
  EQUAL(sustained.power, 130000);
  EQUAL(sustained.interval, 28000);
  EQUAL(burst.power, 81250);
  EQUAL(peak.powerAC, -1);
  zes_power_limit_ext_desc_t limits[4];
  n = 0;
  MUST(zesPowerGetLimitsExt(domain[0], &n, NULL));
  EQUAL(n, 2);
  n = 4;
  MUST(zesPowerGetLimitsExt(domain[0], &n, limits));
  EQUAL(n, 2);
  EQUAL(limits[0].level, ZES_POWER_LEVEL_SUSTAINED);
  EQUAL(limits[0].limit, 130000);
  EQUAL(limits[1].level, ZES_POWER_LEVEL_BURST);
  EQUAL(limits[1].limit, 81250);
  take(RAPL "0/energy_uj");
  take(RAPL "1/energy_uj");
  take(RAPL "3/energy_uj");
  n = 0;
  MUST(zesDeviceEnumPowerDomains(device, &n, NULL));
  EQUAL(n, 0);
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zesDeviceGetCardPowerDomain(device, &card));
}

/* Without the variable, sysman is available after zesInit, which an old loader
   lacks. */
static void test_init(void)
{
  uint32_t n = 0;
  ze_result_t (*init)(uint32_t);
  ze_result_t (*driver_get)(uint32_t *, zes_driver_handle_t *);
  ze_result_t (*device_get)(zes_driver_handle_t, uint32_t *,
                            zes_device_handle_t *);
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED,
          zesDeviceEnumMemoryModules(device, &n, NULL));
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zesInit",
                                           (void **)&init));
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zesDriverGet",
                                           (void **)&driver_get));
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zesDeviceGet",
                                           (void **)&device_get));
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, driver_get(&n, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION, init(2));
  RETURNS(ZE_RESULT_SUCCESS, init(0));
  zes_driver_handle_t driver;
  n = 1;
  MUST(driver_get(&n, &driver));
  EQUAL(n, 1);
  n = 0;
  MUST(device_get(driver, &n, NULL));
  CHECK(n >= 1);
  n = 1;
  zes_device_handle_t first;
  MUST(device_get(driver, &n, &first));
  zes_device_properties_t p = {.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  ze_device_properties_t core = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zesDeviceGetProperties(first, &p));
  MUST(zeDeviceGetProperties(s.device, &core));
  CHECK(memcmp(&p.core.uuid, &core.uuid, sizeof core.uuid) == 0);
  ze_result_t (*by_uuid)(zes_driver_handle_t, ze_device_uuid_t,
                         zes_device_handle_t *, ze_bool_t *, uint32_t *);
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zesDriverGetDeviceByUuidExp", (void **)&by_uuid));
  zes_device_handle_t found = NULL;
  ze_bool_t part = 1;
  uint32_t number = 7;
  MUST(by_uuid(driver, core.uuid, &found, &part, &number));
  CHECK(found == first && !part && number == 0);
  /* The parts, by their own properties. */
  struct {
    zes_structure_type_t stype;
    void *next;
    uint32_t number;
    ze_device_uuid_t uuid;
  } parts[3];
  ze_result_t (*parts_get)(zes_device_handle_t, uint32_t *, void *);
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zesDeviceGetSubDevicePropertiesExp", (void **)&parts_get));
  n = 0;
  RETURNS(ZE_RESULT_SUCCESS, parts_get(first, &n, NULL));
  EQUAL(n, 2);
  n = 3;
  RETURNS(ZE_RESULT_SUCCESS, parts_get(first, &n, parts));
  EQUAL(n, 2);
  ze_device_handle_t subs[2];
  MUST(zeDeviceGetSubDevices(s.device, &n, subs));
  for (uint32_t i = 0; i < 2; i++) {
    ze_device_properties_t sub = {.stype =
                                      ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    MUST(zeDeviceGetProperties(subs[i], &sub));
    CHECK(parts[i].number == i &&
          memcmp(&parts[i].uuid, &sub.uuid, sizeof sub.uuid) == 0);
    MUST(by_uuid(driver, sub.uuid, &found, &part, &number));
    CHECK(found == first && part && number == i);
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, parts_get(first, NULL, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER, parts_get(first, &n, NULL));
  core.uuid.id[3] ^= 1;
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          by_uuid(driver, core.uuid, &found, &part, &number));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          by_uuid(driver, core.uuid, NULL, &part, &number));
  n = 0;
  MUST(zesDeviceEnumMemoryModules(first, &n, NULL));
  EQUAL(n, 1);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zesDeviceEnumMemoryModules(first, NULL, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zesDeviceEnumMemoryModules(NULL, &n, NULL));
}

/* A machine that reports nothing about itself. */
static void test_nothing(void)
{
  uint32_t n = 7;
  MUST(zesDeviceEnumMemoryModules(device, &n, NULL));
  EQUAL(n, 0);
  n = 7;
  MUST(zesDeviceEnumEngineGroups(device, &n, NULL));
  EQUAL(n, 0);
  n = 7;
  MUST(zesDeviceEnumPowerDomains(device, &n, NULL));
  EQUAL(n, 0);
}

int main(int argc, char **argv)
{
  const char *part = argc > 1 ? argv[1] : "all";
  char command[512];
  snprintf(root, sizeof root, "/tmp/sysman_test.XXXXXX");
  if (mkdtemp(root) == NULL) return 1;
  atexit(remove_root);
  setenv("ZOCL_SYSFS_ROOT", root, 1);
  setenv("ZOCL_SUB_DEVICES", "2", 1);
  if (strcmp(part, "init") == 0)
    unsetenv("ZES_ENABLE_SYSMAN");
  else
    setenv("ZES_ENABLE_SYSMAN", "1", 1);
  s = setup_new();
  device = (zes_device_handle_t)s.device;
  if (strcmp(part, "init") != 0) test_nothing();
  machine_make();
  if (strcmp(part, "init") == 0) {
    test_init();
    CHECK_DONE();
  }
  test_device();
  test_memory();
  test_engine();
  test_frequency();
  test_temperature();
  test_power();
  snprintf(command, sizeof command, "%s init", argv[0]);
  CHECK(system(command) == 0);
  CHECK_DONE();
}
