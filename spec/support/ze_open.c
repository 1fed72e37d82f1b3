/*
 * ze_open.c - when preloaded, makes the loader's checkers usable for the suite.
 * SPDX-License-Identifier: MIT
 *
 * The lifetime checker (loaders 1.20 to 1.32) treats a new immediate list as
 * closed and refuses everything that is appended to it.  A reset opens the list
 * for the checker and does nothing else.  The leak checker writes a table to
 * the standard error when the process ends, which specs do not expect.  Here
 * the table is appended to the file that LZE_LEAKS names, after the number of
 * contexts created by zeContextCreateEx, which that checker does not count.
 *
 * Programs that are linked with the loader find the functions below before the
 * loader's own; dlsym returns them too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <level_zero/ze_api.h>

#define SHOWN __attribute__((visibility("default")))

/* The loader's own functions. */
static struct {
  __typeof__(zeInit) *init;
  ze_result_t (*init_drivers)(uint32_t *, ze_driver_handle_t *, void *);
  __typeof__(zeContextCreateEx) *create_context;
  __typeof__(zeCommandListCreateImmediate) *create;
  __typeof__(zeCommandListReset) *reset;
} loader;

static atomic_int contexts; /* created by zeContextCreateEx */

/* Call the next dlsym, which every version of the C library has under one of
   these versions. */
static void *next_dlsym(void *library, const char *name)
{
  static void *(*next)(void *, const char *);
  if (next == NULL) {
    *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (next == NULL)
      *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (next == NULL) abort();
  }
  return next(library, name);
}

static void all_write(int fd, const char *text, size_t size)
{
  while (size > 0) {
    ssize_t n = write(fd, text, size);
    if (n <= 0) return;
    text += n;
    size -= (size_t)n;
  }
}

/* Redirect the standard error to that file, after writing the command line of
   this process and the count to the file. */
static void error_redirect(void)
{
  char text[256] = "";
  const char *path = getenv("LZE_LEAKS");
  int to = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
  if (to < 0) return;
  int from = open("/proc/self/cmdline", O_RDONLY);
  ssize_t n = from >= 0 ? read(from, text, sizeof text - 1) : 0;
  for (ssize_t i = 0; i < n; i++)
    if (text[i] == '\0' || text[i] == '\n') text[i] = ' ';
  text[n > 0 ? n : 0] = '\n';
  all_write(to, text, strlen(text));
  snprintf(text, sizeof text, "zeContextCreateEx = %d\n",
           atomic_load(&contexts));
  all_write(to, text, strlen(text));
  dup2(to, STDERR_FILENO);
  close(to);
  if (from >= 0) close(from);
}

/* Exit handlers run in reverse order, so one that is registered when the loader
   has loaded its checkers runs before theirs. */
static ze_result_t initialised(ze_result_t result)
{
  static int done;
  if (!done++) atexit(error_redirect);
  return result;
}

static ze_result_t init(ze_init_flags_t flags)
{
  return initialised(loader.init(flags));
}

static ze_result_t init_drivers(uint32_t *count, ze_driver_handle_t *drivers,
                                void *desc)
{
  return initialised(loader.init_drivers(count, drivers, desc));
}

static ze_result_t create_context(ze_driver_handle_t driver,
                                  const ze_context_desc_t *desc, uint32_t count,
                                  ze_device_handle_t *devices,
                                  ze_context_handle_t *context)
{
  ze_result_t result = loader.create_context(driver, desc, count, devices,
                                             context);
  if (result == ZE_RESULT_SUCCESS) atomic_fetch_add(&contexts, 1);
  return result;
}

static ze_result_t create(ze_context_handle_t context,
                          ze_device_handle_t device,
                          const ze_command_queue_desc_t *desc,
                          ze_command_list_handle_t *list)
{
  ze_result_t result = loader.create(context, device, desc, list);
  if (result == ZE_RESULT_SUCCESS) loader.reset(*list);
  return result;
}

/* Returns `found`, or its replacement. */
static void *replaced(void *library, const char *name, void *found)
{
  static const struct {
    const char *name;
    void **own;
    void (*function)(void);
  } all[] = {
    {"zeInit", (void **)&loader.init, (void (*)(void))init},
    {"zeInitDrivers", (void **)&loader.init_drivers,
     (void (*)(void))init_drivers},
    {"zeContextCreateEx", (void **)&loader.create_context,
     (void (*)(void))create_context},
    {"zeCommandListCreateImmediate", (void **)&loader.create,
     (void (*)(void))create},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (found != NULL && strcmp(name, all[i].name) == 0) {
      *all[i].own = found;
      *(void **)&loader.reset = next_dlsym(library, "zeCommandListReset");
      memcpy(&found, &all[i].function, sizeof found);
      break;
    }
  return found;
}

SHOWN void *dlsym(void *restrict library, const char *restrict name)
{
  return replaced(library, name, next_dlsym(library, name));
}

SHOWN ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags)
{
  replaced(RTLD_NEXT, "zeInit", next_dlsym(RTLD_NEXT, "zeInit"));
  return init(flags);
}

SHOWN ze_result_t ZE_APICALL zeCommandListCreateImmediate(
    ze_context_handle_t context, ze_device_handle_t device,
    const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list)
{
  replaced(RTLD_NEXT, "zeCommandListCreateImmediate",
           next_dlsym(RTLD_NEXT, "zeCommandListCreateImmediate"));
  return create(context, device, desc, list);
}
