/*
 * zocl_option.c - test options, by which a CPU imitates other machines.
 * SPDX-License-Identifier: MIT
 *
 * The options are environment variables whose names begin with ZOCL_, read
 * once.  An unknown option or an invalid value makes zeInit fail: a test must
 * not pass because its option was misspelt.
 */
#include "base/zocl_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

zocl_options zocl_option = {
  .root_devices = 1, .memory_bytes = UINT64_MAX, .peer_access = 1,
  .native_kernels = 1, .int64_atomics = 1, .queues = ZOCL_MAX_QUEUES};

static bool root_read(const char *text)
{
  if (*text == '/' && strlen(text) < sizeof zocl_option.sysfs_root &&
      access(text, X_OK) == 0) {
    strcpy(zocl_option.sysfs_root, text);
    return true;
  }
  zocl_fail(0, "ZOCL_SYSFS_ROOT=%s is not the full name of a directory", text);
  return false;
}

/* Reads ZOCL_MEMORY, whose values are names. */
static bool memory_read(const char *text)
{
  static const char *const ways[] = {"host", "usm", "svm"};
  for (uint64_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (strcmp(text, ways[i]) == 0) {
      zocl_option.memory = i + 1;
      return true;
    }
  zocl_fail(0, "ZOCL_MEMORY=%s is not host, usm or svm", text);
  return false;
}

static const struct {
  const char *name;
  uint64_t min, max;
  uint64_t *value;
  bool (*read)(const char *text); /* for a value that is not a number */
} options[] = {
  {"ZOCL_ROOT_DEVICES", 1, ZOCL_MAX_PARTS, &zocl_option.root_devices, NULL},
  {"ZOCL_SUB_DEVICES", 0, ZOCL_MAX_PARTS, &zocl_option.sub_devices, NULL},
  {"ZOCL_MEMORY_BYTES", 4096, UINT64_MAX, &zocl_option.memory_bytes, NULL},
  {"ZOCL_PEER_ACCESS", 0, 1, &zocl_option.peer_access, NULL},
  {"ZOCL_DEVICE_MEMORY_PRIVATE", 0, 1, &zocl_option.device_memory_private,
   NULL},
  {"ZOCL_GPU", 0, 1, &zocl_option.gpu, NULL},
  {"ZOCL_NATIVE_KERNELS", 0, 1, &zocl_option.native_kernels, NULL},
  {"ZOCL_INT64_ATOMICS", 0, 1, &zocl_option.int64_atomics, NULL},
  {"ZOCL_QUERY_BLOCKS", 0, 1, &zocl_option.query_blocks, NULL},
  {"ZOCL_COPY_ENGINE", 0, 1, &zocl_option.copy_engine, NULL},
  {"ZOCL_QUEUES", 1, ZOCL_MAX_QUEUES, &zocl_option.queues, NULL},
  {"ZOCL_DELAY_START_US", 0, 10000000, &zocl_option.delay_start_us, NULL},
  {"ZOCL_DELAY_END_US", 0, 10000000, &zocl_option.delay_end_us, NULL},
  {"ZOCL_MEMORY", 0, 0, NULL, memory_read},
  {"ZOCL_SYSFS_ROOT", 0, 0, NULL, root_read},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* Reads one environment variable, "NAME=value". */
static bool option_read(const char *definition)
{
  size_t n = strcspn(definition, "=");
  const char *text = definition + n + (definition[n] == '=');
  size_t i = 0;
  while (i < OPTIONS && (strlen(options[i].name) != n ||
                       memcmp(options[i].name, definition, n) != 0))
    i++;
  if (i == OPTIONS) {
    char names[40 * OPTIONS] = "";
    for (i = 0; i < OPTIONS; i++) {
      if (i > 0) strcat(names, ", ");
      strcat(names, options[i].name);
    }
    zocl_fail(0, "%.*s is not known, of %s", (int)n, definition, names);
    return false;
  }
  if (options[i].read != NULL) return options[i].read(text);
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
      value < options[i].min || value > options[i].max) {
    zocl_fail(0, "%s=%s is not a number from %llu to %llu", options[i].name,
              text, (unsigned long long)options[i].min,
              (unsigned long long)options[i].max);
    return false;
  }
  *options[i].value = value;
  return true;
}

bool zocl_options_read(void)
{
  for (char **e = environ; e != NULL && *e != NULL; e++)
    if (strncmp(*e, "ZOCL_", 5) == 0 && !option_read(*e)) return false;
  if (zocl_option.device_memory_private) zocl_option.peer_access = 0;
  zocl_option.slow = zocl_option.delay_start_us > 0 ||
                     zocl_option.delay_end_us > 0 ||
                     zocl_option.device_memory_private;
  return true;
}
