/*
 * lze-build.c - builds a module for the driver, to see whether it can be.
 * SPDX-License-Identifier: MIT
 *
 *   lze-build PLATFORM-VERSION DEVICE-NAME [SHAPES] <native binary
 *
 * The driver runs it before it builds a module for the first time, because
 * compilers may end their process or never come back.  It does what the
 * driver would do, with the driver's own code: builds the program, makes every
 * kernel, gives them arguments and has them compiled, for the group sizes of
 * SHAPES too, as PoCL lists them.  No kernel is run.
 * It ends with status 0 where all went well, else with the reason on its
 * standard error, or as the compilers wish.
 */
#include "zocl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"

/* All of standard input, malloc'ed. */
static void *input_read(size_t *size)
{
  size_t room = 1 << 16;
  char *bytes = malloc(room);
  *size = 0;
  while (bytes != NULL) {
    ssize_t n = read(0, bytes + *size, room - *size);
    if (n < 0) break;
    if (n == 0) return bytes;
    *size += (size_t)n;
    if (*size < room) continue;
    char *more = realloc(bytes, room *= 2);
    if (more == NULL) break;
    bytes = more;
  }
  free(bytes);
  return NULL;
}

/* The device of that platform and that name. */
static zocl_device *device_find(const char *version, const char *name)
{
  zocl_driver *drivers[16];
  uint32_t count = 16;
  if (zocl_drivers(&count, drivers) != ZE_RESULT_SUCCESS) return NULL;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < drivers[i]->device_count; j++)
      if (strcmp(drivers[i]->version, version) == 0 &&
          strcmp(drivers[i]->devices[j]->name, name) == 0)
        return drivers[i]->devices[j];
  zocl_fail(0, "there is no device '%s' of platform '%s' in a new process: "
               "the environment has changed since initialisation", name,
            version);
  return NULL;
}

/* Where memory runs out, this process goes first. */
static void volunteer(void)
{
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  io_write_all(fd, "1000", 4);
  close(fd);
}

int main(int argc, char **argv)
{
  if (argc != 3 && argc != 4) {
    fputs("usage: lze-build PLATFORM-VERSION DEVICE-NAME [SHAPES] "
          "<native-binary\n"
          "The driver libze_opencl.so runs it; there is no other use.\n",
          stderr);
    return 2;
  }
  volunteer();
  if (argc == 4) setenv("POCL_BINARY_SPECIALIZE_WG", argv[3], 1);
  size_t size;
  tool_text log = {NULL, 0};
  void *bytes = input_read(&size);
  zocl_device *device = bytes != NULL ? device_find(argv[1], argv[2]) : NULL;
  bool ok = device != NULL && zocl_module_try(device, bytes, size, &log);
  if (!ok && log.size > 0)
    fputs(log.text, stderr);
  else if (!ok)
    fprintf(stderr, "%s\n", bytes != NULL ? zocl_last_error()
                                          : "lze-build: out of memory");
  /* Without the destructors of compilers, which would have to wait for their
     threads. */
  fflush(NULL);
  _exit(ok ? 0 : 1);
}
