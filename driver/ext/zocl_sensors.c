/*
 * zocl_sensors.c - what Linux reports about the CPUs that kernels run on.
 * SPDX-License-Identifier: MIT
 *
 * The files in /sys and /proc are read at each query.  A test option prefixes
 * the paths with another directory, so that tests can simulate machines.  If a
 * file is missing or cannot be read, the sensor does not exist.
 */
#include "ext/zocl_ext.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* ------------------------------------------------------------------------
 * Files.
 */

static FILE *file_open(const char *directory, const char *name)
{
  char path[PATH_BYTES];
  int n = snprintf(path, sizeof path, "%s%s/%s", zocl_option.sysfs_root,
                   directory, name);
  return n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
}

/* Read the first word of a file. */
static bool file_word(const char *directory, const char *name, char word[64])
{
  FILE *f = file_open(directory, name);
  bool ok = f != NULL && fscanf(f, "%63s", word) == 1;
  if (f != NULL) fclose(f);
  return ok;
}

static bool file_number(const char *directory, const char *name, int64_t *n)
{
  char word[64], *end;
  if (!file_word(directory, name, word)) return false;
  *n = strtoll(word, &end, 10);
  return end != word && *end == '\0';
}

/* Call `visit` for each entry of a directory whose name consists of `prefix`, a
   number and `rest`. */
static void directory_visit(const char *directory, const char *prefix,
                            const char *rest,
                            void (*visit)(const char *directory,
                                          const char *name, void *data),
                            void *data)
{
  char path[PATH_BYTES];
  int n =
      snprintf(path, sizeof path, "%s%s", zocl_option.sysfs_root, directory);
  DIR *d = n > 0 && (size_t)n < sizeof path ? opendir(path) : NULL;
  if (d == NULL) return;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    size_t length = strlen(prefix);
    if (strncmp(e->d_name, prefix, length) != 0) continue;
    size_t digits = strspn(e->d_name + length, "0123456789");
    if (digits > 0 && strcmp(e->d_name + length + digits, rest) == 0)
      visit(directory, e->d_name, data);
  }
  closedir(d);
}

/* Join a directory's path and the name of a subdirectory. */
static bool path_join(char path[PATH_BYTES], const char *directory,
                      const char *name)
{
  int n = snprintf(path, PATH_BYTES, "%s/%s", directory, name);
  return n > 0 && n < PATH_BYTES;
}

/* ------------------------------------------------------------------------
 * Memory and engines.
 */

bool zocl_sensors_memory(uint64_t *size, uint64_t *available)
{
  char line[128];
  unsigned long long kilobytes;
  bool have_size = false, have_free = false;
  FILE *f = file_open("/proc", "meminfo");
  if (f == NULL) return false;
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "MemTotal: %llu kB", &kilobytes) == 1) {
      *size = kilobytes * 1024;
      have_size = true;
    } else if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1) {
      *available = kilobytes * 1024;
      have_free = true;
    }
  fclose(f);
  return have_size && have_free && *available <= *size;
}

bool zocl_sensors_activity(uint64_t *busy, uint64_t *all)
{
  char line[512];
  uint64_t cpus = 0, sum = 0, idle = 0;
  FILE *f = file_open("/proc", "stat");
  if (f == NULL) return false;
  while (fgets(line, sizeof line, f) != NULL) {
    unsigned long long t[8];
    /* user, nice, system, idle, iowait, irq, softirq, steal */
    if (strncmp(line, "cpu", 3) == 0 && line[3] >= '0' && line[3] <= '9')
      cpus++;
    else if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0],
                    &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 8) {
      for (int i = 0; i < 8; i++) sum += t[i];
      idle = t[3] + t[4];
    }
  }
  fclose(f);
  long ticks = sysconf(_SC_CLK_TCK);
  if (sum == 0 || cpus == 0 || ticks <= 0) return false;
  uint64_t scale = cpus * (uint64_t)ticks;
  *busy = (sum - idle) * 1000000 / scale;
  *all = sum * 1000000 / scale;
  return true;
}

/* ------------------------------------------------------------------------
 * Frequency.
 */

static void keep_least(double *least, int64_t n)
{
  if (*least < 0 || (double)n < *least) *least = (double)n;
}

static void keep_most(double *most, int64_t n)
{
  if ((double)n > *most) *most = (double)n;
}

/* A group of CPUs that share a clock; kHz. */
static void policy_read(const char *directory, const char *name, void *data)
{
  zocl_frequency *f = data;
  char policy[PATH_BYTES];
  int64_t khz;
  if (!path_join(policy, directory, name)) return;
  if (file_number(policy, "cpuinfo_min_freq", &khz)) keep_least(&f->min, khz);
  if (file_number(policy, "cpuinfo_max_freq", &khz)) keep_most(&f->max, khz);
  if (file_number(policy, "scaling_min_freq", &khz)) keep_least(&f->low, khz);
  if (file_number(policy, "scaling_max_freq", &khz)) keep_most(&f->high, khz);
  if (file_number(policy, "scaling_cur_freq", &khz)) keep_most(&f->now, khz);
}

bool zocl_sensors_frequency(zocl_frequency *frequency)
{
  double *all[] = {&frequency->min, &frequency->max, &frequency->low,
                   &frequency->high, &frequency->now};
  *frequency = (zocl_frequency){-1, -1, -1, -1, -1};
  directory_visit("/sys/devices/system/cpu/cpufreq", "policy", "", policy_read,
                  frequency);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (*all[i] >= 0) *all[i] /= 1000;
  return frequency->now >= 0;
}

/* ------------------------------------------------------------------------
 * Temperature.
 */

typedef struct input {
  zocl_temperature *temperature;
  bool found;
} input;

static void input_read(const char *directory, const char *name, void *data)
{
  input *in = data;
  int64_t n;
  if (!file_number(directory, name, &n)) return;
  double celsius = (double)n / 1000;
  zocl_temperature *t = in->temperature;
  if (!in->found || celsius > t->most) t->most = celsius;
  if (!in->found || celsius < t->least) t->least = celsius;
  in->found = true;
  /* tempN_crit is the critical limit. */
  char limit[64];
  int length = (int)strcspn(name, "_");
  snprintf(limit, sizeof limit, "%.*s_crit", length, name);
  if (file_number(directory, limit, &n) && (double)n / 1000 > t->limit)
    t->limit = (double)n / 1000;
}

static void hwmon_read(const char *directory, const char *name, void *data)
{
  static const char *const drivers[] = {"coretemp", "k10temp", "zenpower",
                                        "cpu_thermal"};
  char hwmon[PATH_BYTES], driver[64];
  if (!path_join(hwmon, directory, name) ||
      !file_word(hwmon, "name", driver))
    return;
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
    if (strcmp(driver, drivers[i]) == 0)
      directory_visit(hwmon, "temp", "_input", input_read, data);
}

bool zocl_sensors_temperature(zocl_temperature *temperature)
{
  input in = {.temperature = temperature};
  *temperature = (zocl_temperature){.limit = -1};
  directory_visit("/sys/class/hwmon", "hwmon", "", hwmon_read, &in);
  return in.found;
}

/* ------------------------------------------------------------------------
 * Power.
 */

enum { ZONES = 256 };

/* Energy counters wrap around; `whole` is what they counted before that. */
static struct {
  pthread_mutex_t lock;
  struct zone {
    bool seen;
    uint64_t last, whole;
  } zones[ZONES];
} energy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void constraint_read(const char *zone, int number, zocl_power *p)
{
  static const char *const names[ZOCL_POWER_LIMITS] = {
    "long_term", "short_term", "peak_power"};
  char file[48], name[64];
  int64_t microwatts, microseconds;
  snprintf(file, sizeof file, "constraint_%d_name", number);
  if (!file_word(zone, file, name)) return;
  snprintf(file, sizeof file, "constraint_%d_power_limit_uw", number);
  if (!file_number(zone, file, &microwatts)) return;
  for (int i = 0; i < ZOCL_POWER_LIMITS; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    p->limit[i] = (p->limit[i] < 0 ? 0 : p->limit[i]) + microwatts / 1000;
    snprintf(file, sizeof file, "constraint_%d_time_window_us", number);
    if (file_number(zone, file, &microseconds))
      p->interval[i] = microseconds / 1000;
    snprintf(file, sizeof file, "constraint_%d_max_power_uw", number);
    if (i == 0 && file_number(zone, file, &microwatts) && microwatts > 0)
      p->max = (p->max < 0 ? 0 : p->max) + microwatts / 1000;
  }
}

/* Read a zone named package-N or, if a package has several dies,
   package-N-die-M.  Other zones are parts of packages, or include more than
   CPUs. */
static void zone_read(const char *directory, const char *name, void *data)
{
  zocl_power *p = data;
  char zone[PATH_BYTES], what[64];
  int64_t now, range = 0, enabled = 0;
  unsigned number;
  if (!path_join(zone, directory, name) || !file_word(zone, "name", what) ||
      strncmp(what, "package-", 8) != 0 ||
      sscanf(name, "intel-rapl:%u", &number) != 1 || number >= ZONES ||
      !file_number(zone, "energy_uj", &now) || now < 0)
    return;
  if (!file_number(zone, "max_energy_range_uj", &range) || range < 0)
    range = 0;
  struct zone *k = &energy.zones[number];
  if (k->seen && (uint64_t)now < k->last) k->whole += (uint64_t)range;
  k->seen = true;
  k->last = (uint64_t)now;
  p->energy += k->whole + k->last;
  p->packages++;
  if (file_number(zone, "enabled", &enabled) && enabled != 0)
    p->enabled = true;
  for (int i = 0; i < ZOCL_POWER_LIMITS; i++) constraint_read(zone, i, p);
}

bool zocl_sensors_power(zocl_power *power)
{
  *power = (zocl_power){.max = -1};
  for (int i = 0; i < ZOCL_POWER_LIMITS; i++)
    power->limit[i] = power->interval[i] = -1;
  pthread_mutex_lock(&energy.lock);
  directory_visit("/sys/class/powercap", "intel-rapl:", "", zone_read, power);
  pthread_mutex_unlock(&energy.lock);
  return power->packages > 0;
}
