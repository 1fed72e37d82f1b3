/*
 * zocl_build.c - from SPIR-V to a program that kernels are made of.
 * SPDX-License-Identifier: MIT
 *
 * Much valid SPIR-V makes compilers fail an assertion, crash or hang.  So new
 * code is first built by the program lze-build in another process, which does
 * everything that may end a process except running a kernel.  Code that
 * survives is recorded as good, on disk and in this process, and is built
 * directly the next time; the compiler may then find in a cache of its own what
 * it compiled for lze-build.
 */
#include "module/zocl_build.h"
#include "module/zocl_server.h"
#include "base/zocl_exit.h"
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------
 * Building, in this process.
 */

/* Any flag of Level Zero is accepted, supported or not, and two flags of
   Intel's compiler. */
bool zocl_flags_check(const zocl_device *device, const char *flags, bool source,
                      tool_text *log)
{
  const char *p = flags;
  bool good = true;
  while (*(p += strspn(p, " \t\n")) != '\0') {
    size_t n = strcspn(p, " \t\n");
    bool known = (n > 4 && strncmp(p, "-ze-", 4) == 0) ||
                 (n == 2 && strncmp(p, "-g", 2) == 0) ||
                 (n == 20 && strncmp(p, "-library-compilation", 20) == 0) ||
                 device->driver->backend->takes_flag(p, n, source);
    if (!known)
      tool_text_add(log, "error: unknown build flag '%.*s'\n",
                    (int)(n < 200 ? n : 200), p);
    good = good && known;
    p += n;
  }
  return good;
}

/* Takes what `translate` made earlier; the module owns it. */
static backend_code code_of(const zocl_module *module)
{
  return (backend_code){.bytes = module->code,
                        .size = module->code_size,
                        .source = module->source,
                        .flags = module->flags,
                        .translated = module->translated,
                        .translated_size = module->translated_size};
}

static void code_keep(zocl_module *module, const backend_code *code)
{
  module->translated = code->translated;
  module->translated_size = code->translated_size;
}

bool zocl_build_here(zocl_module *module, tool_text *log)
{
  const zocl_device *device = module->device;
  const backend_table *backend = device->driver->backend;
  if (!module->source && !zocl_lower(module, log)) return false;
  backend_code code = code_of(module);
  zocl_exit_early();
  bool ok = backend->program_new(device, &code, log, &module->program);
  code_keep(module, &code);
  if (!ok) {
    module->program = NULL;
    return false;
  }
  if (!module->source || zocl_source_describe(module, &code, log)) return true;
  backend->program_free(device->driver, module->program);
  module->program = NULL;
  return false;
}

bool zocl_build_again(zocl_module *module, tool_text *log)
{
  const zocl_device *device = module->device;
  backend_code code = code_of(module);
  bool ok = device->driver->backend->program_again(device, &code, log,
                                                   &module->program);
  code_keep(module, &code);
  return ok;
}

/* ------------------------------------------------------------------------
 * Code that is known to be good.
 */

static struct {
  pthread_mutex_t lock;
  cache_key *keys;       /* of this process, in addition to the disk */
  size_t count, room;
} good = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns a key of the code, the tools that build it, and the device. */
static cache_key good_key(const zocl_module *module)
{
  const zocl_device *device = module->device;
  cache_key key = module->origin;
  cache_key_add(&key, LZE_VERSION, sizeof LZE_VERSION);
  cache_key_add(&key, module->flags, strlen(module->flags));
  device->driver->backend->program_key(device, module->source, &key);
  return key;
}

static bool good_has(const cache_key *key)
{
  bool found = false;
  pthread_mutex_lock(&good.lock);
  for (size_t i = good.count; i-- > 0 && !found;)
    found = memcmp(&good.keys[i], key, sizeof *key) == 0;
  pthread_mutex_unlock(&good.lock);
  return found;
}

static void good_add(const cache_key *key)
{
  pthread_mutex_lock(&good.lock);
  if (good.count == good.room) {
    size_t room = good.room > 0 ? 2 * good.room : 16;
    cache_key *keys = realloc(good.keys, room * sizeof *keys);
    if (keys != NULL) {
      good.keys = keys;
      good.room = room;
    }
  }
  if (good.count < good.room) good.keys[good.count++] = *key;
  pthread_mutex_unlock(&good.lock);
}

/* ------------------------------------------------------------------------
 * The trial in another process.
 */

enum {
  /* The limit in seconds of processor time.  Large modules were seen to take
     five seconds, and one never ended. */
  DEFAULT_LIMIT = 60,
  MAX_LIMIT = 86400
};

/* Finds lze-build, in libexec/lze below this library's directory or below one
   of the two directories above it. */
static bool helper_find(char path[PATH_MAX], tool_text *log)
{
  char directory[PATH_MAX];
  if (*library_path == '\0') {
    tool_text_add(log, "the driver does not know where its file is\n");
    return false;
  }
  memcpy(directory, library_path, sizeof directory);
  for (int up = 0; up < 3; up++) {
    char *slash = strrchr(directory, '/');
    if (slash == NULL) break;
    *slash = '\0';
    int n = snprintf(path, PATH_MAX, "%s/libexec/lze/lze-build", directory);
    if (n > 0 && n < PATH_MAX && access(path, X_OK) == 0) return true;
  }
  tool_text_add(log,
                "libexec/lze/lze-build, which builds modules in a process of "
                "its own, is not installed beside or above %s\n",
                library_path);
  return false;
}

/* Returns the limit in seconds; 0 if the user wants no trial, -1 if the setting
   is invalid. */
static int helper_limit(tool_text *log)
{
  const char *text = secure_getenv("LZE_BUILD_SECONDS");
  if (text == NULL || *text == '\0') return DEFAULT_LIMIT;
  char *end;
  long n = strtol(text, &end, 10);
  if (*end == '\0' && n >= 0 && n <= MAX_LIMIT) return (int)n;
  tool_text_add(log, "LZE_BUILD_SECONDS is '%s', not a number of 0 to %d\n",
                text, MAX_LIMIT);
  return -1;
}

bool zocl_build_is_tried(void)
{
  tool_text ignored = {0};
  int limit = helper_limit(&ignored);
  free(ignored.text);
  return limit != 0;
}

/* Returns a task for lze-build, malloc'ed; NULL: out of memory. */
static void *task_new(const zocl_module *module, const char *shapes,
                      size_t *size)
{
  size_t packed_size;
  void *packed = zocl_module_pack(module, module->code, module->code_size,
                                  &packed_size);
  if (packed == NULL) return NULL;
  const char *texts[] = {module->device->driver->version, module->device->name,
                         shapes != NULL ? shapes : ""};
  zocl_task head = {strlen(texts[0]) + 1, strlen(texts[1]) + 1,
                    strlen(texts[2]) + 1, packed_size};
  *size = sizeof head + head.version_size + head.name_size + head.shapes_size +
          packed_size;
  char *task = malloc(*size), *p = task;
  if (task != NULL) {
    p = mempcpy(p, &head, sizeof head);
    for (int i = 0; i < 3; i++) p = mempcpy(p, texts[i], strlen(texts[i]) + 1);
    memcpy(p, packed, packed_size);
  }
  free(packed);
  return task;
}

/* Has lze-build build the module, in the server if there is one, else in a new
   process.  `shapes`, if not NULL, lists further group sizes to compile. */
static bool helper_run(const zocl_module *module, const char *shapes,
                       int limit, tool_text *log)
{
  char path[PATH_MAX];
  size_t size, ignored;
  if (!helper_find(path, log)) return false;
  void *task = task_new(module, shapes, &size);
  if (task == NULL) {
    tool_text_add(log, "out of memory\n");
    return false;
  }
  zocl_served served = zocl_server_build(path, task, size, limit, log);
  if (served == ZOCL_NOT_SERVED) {
    char *const arguments[] = {path, NULL};
    tool_text said = {0};
    unsigned char *output =
        tool_run(arguments, task, size, limit, NULL, NULL, &ignored, &said);
    /* If the build succeeds, drop the messages, because they appear again when
       this process builds the module. */
    if (output == NULL) tool_text_append(log, &said);
    if (output != NULL) served = ZOCL_SERVED_FINE;
    free(said.text);
    free(output);
  }
  free(task);
  return served == ZOCL_SERVED_FINE;
}

ze_result_t zocl_DriverExpectModule(zocl_driver *driver)
{
  ZOCL_NEED_HANDLE(driver);
  char path[PATH_MAX];
  tool_text ignored = {0};
  if (helper_limit(&ignored) > 0 && driver->backend->may_compile(driver) &&
      helper_find(path, &ignored))
    zocl_server_prepare(path);
  free(ignored.text);
  return ZE_RESULT_SUCCESS;
}

static bool may_compile(const zocl_module *module)
{
  const zocl_driver *driver = module->device->driver;
  return driver->backend->may_compile(driver);
}

/* Lowers and translates the module while the server starts; the server's build
   would begin with these steps. */
static bool translate_ahead(zocl_module *module, tool_text *log)
{
  char path[PATH_MAX];
  if (!helper_find(path, log)) return false;
  if (!zocl_server_prepare(path) || module->source || module->device->takes_il)
    return true;
  if (!zocl_lower(module, log)) return false;
  backend_code code = code_of(module);
  bool ok = module->device->driver->backend->translate(module->device, &code,
                                                       log);
  code_keep(module, &code);
  return ok;
}

/* Tries the module in another process, unless an earlier trial succeeded. */
static bool try_once(zocl_module *module, const cache_key *key, int limit,
                     tool_text *log)
{
  size_t size;
  unsigned char *entry = cache_read("ok", key, &size);
  bool fine = entry != NULL || (translate_ahead(module, log) &&
                                helper_run(module, NULL, limit, log));
  if (fine && entry == NULL) cache_write("ok", key, "", 0);
  if (entry != NULL) module->found = PREPARE_CACHED;
  free(entry);
  return fine;
}

/* Builds code that this process has not built yet.  Only one thread of one
   process may do so at a time: a compiler may write a program to its cache in
   place, and another build of the same program would read an incomplete file
   and fail. */
static bool build_first(zocl_module *module, const cache_key *key, int limit,
                        tool_text *log)
{
  static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&building);
  int lock = cache_lock(key,
                        TOOL_WAITING * (limit > 0 ? limit : DEFAULT_LIMIT),
                        NULL, NULL);
  bool built = (limit == 0 || good_has(key) ||
                try_once(module, key, limit, log)) &&
               zocl_build_here(module, log);
  if (built && !good_has(key)) good_add(key);
  cache_unlock(lock);
  pthread_mutex_unlock(&building);
  return built;
}

/* ------------------------------------------------------------------------
 * Programs that several modules share.
 */

/* Reading a module that was built before takes 1.3 ms, or 20 ms if it must be
   translated, in one thread at a time.  So modules with the same code share a
   program, and the programs of recently destroyed modules are retained. */
struct zocl_program {
  zocl_program *next;
  cache_key key;
  const void *device;    /* its id, only compared */
  const zocl_driver *driver;
  backend_program *id;
  tool_text log;         /* of the build */
  size_t modules;
};

enum { IDLE_PROGRAMS = 8 }; /* at most, without a module */

static struct {
  pthread_mutex_t lock;
  zocl_program *first;   /* most recently added or released first */
} programs = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns true if every module of that origin has the same code.  The code of a
   module with variables contains their addresses, and a module of OpenCL C
   needs its own program for its description. */
static bool is_shareable(const zocl_module *module)
{
  return !module->source && module->global_count == 0 &&
         module->held_count == 0;
}

static bool program_take(zocl_module *module, const cache_key *key,
                         tool_text *log)
{
  if (!is_shareable(module)) return false;
  pthread_mutex_lock(&programs.lock);
  zocl_program *p = programs.first;
  while (p != NULL && (memcmp(&p->key, key, sizeof *key) != 0 ||
                       p->device != module->device->id))
    p = p->next;
  if (p != NULL) p->modules++;
  pthread_mutex_unlock(&programs.lock);
  if (p == NULL) return false;
  module->program = p->id;
  module->shared = p;
  tool_text_append(log, &p->log);
  return true;
}

/* Lets other modules share the program.  If another thread has added the same
   program, both stay. */
static void program_offer(zocl_module *module, const cache_key *key,
                          const tool_text *log)
{
  zocl_program *p = is_shareable(module) ? calloc(1, sizeof *p) : NULL;
  if (p == NULL) return;
  tool_text_append(&p->log, log);
  p->key = *key;
  p->device = module->device->id;
  p->driver = module->device->driver;
  p->id = module->program;
  p->modules = 1;
  module->shared = p;
  pthread_mutex_lock(&programs.lock);
  p->next = programs.first;
  programs.first = p;
  pthread_mutex_unlock(&programs.lock);
}

/* Releases a module's reference.  If too many programs are unused, frees the
   one that was unused for the longest time. */
static void program_return(zocl_program *p)
{
  zocl_program *old = NULL;
  pthread_mutex_lock(&programs.lock);
  if (--p->modules == 0) {
    zocl_program **at = &programs.first;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    p->next = programs.first;
    programs.first = p;
    int idle = 0;
    for (at = &programs.first; *at != NULL; at = &(*at)->next)
      if ((*at)->modules == 0 && ++idle > IDLE_PROGRAMS) {
        old = *at;
        *at = old->next;
        break;
      }
  }
  pthread_mutex_unlock(&programs.lock);
  if (old == NULL) return;
  old->driver->backend->program_free(old->driver, old->id);
  free(old->log.text);
  free(old);
}

void zocl_program_drop(const zocl_module *module)
{
  const zocl_driver *driver = module->device->driver;
  if (module->shared != NULL)
    program_return(module->shared);
  else if (module->program != NULL)
    driver->backend->program_free(driver, module->program);
}

bool zocl_build(zocl_module *module, tool_text *log)
{
  if (!may_compile(module)) {
    tool_text_add(log, "%s\n", zocl_last_error());
    return false;
  }
  int limit = helper_limit(log);
  if (limit < 0) return false;
  cache_key key = good_key(module);
  const bool known = good_has(&key);
  module->found = known ? PREPARE_PRESENT : PREPARE_COMPILED;
  if (program_take(module, &key, log)) return true;
  tool_text own = {0};
  bool built = known ? zocl_build_here(module, &own)
                     : build_first(module, &key, limit, &own);
  if (built) program_offer(module, &key, &own);
  tool_text_append(log, &own);
  free(own.text);
  free(module->translated);
  module->translated = NULL;
  return built;
}

/* ------------------------------------------------------------------------
 * Launch shapes that are compiled in advance.
 */

static cache_key shapes_key(const zocl_module *module, const char *shapes)
{
  cache_key key = good_key(module);
  cache_key_add(&key, shapes, strlen(shapes));
  return key;
}

enum {
  MOST_BEHIND = 8,   /* at a time */
  CHEAP_KERNELS = 4  /* in a module */
};

/* Compilations in progress while the program runs. */
static struct {
  pthread_mutex_t lock;
  int count;
  struct behind {
    cache_key key;
    zocl_end answer;
  } jobs[MOST_BEHIND];
} behind = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Removes jobs that have ended.  Returns true if the job with this key is
   running; sets *failed if it has ended without success.  Caller holds the
   lock. */
static bool behind_goes_on(const cache_key *key, bool *failed)
{
  bool goes_on = false;
  *failed = false;
  for (int i = behind.count; i-- > 0;) {
    struct behind *job = &behind.jobs[i];
    zocl_served served;
    bool same = memcmp(&job->key, key, sizeof *key) == 0;
    if (!zocl_server_is_done(&job->answer, &served)) {
      goes_on = goes_on || same;
      continue;
    }
    if (served == ZOCL_SERVED_FINE) good_add(&job->key);
    *failed = *failed || (same && served == ZOCL_SERVED_BADLY);
    *job = behind.jobs[--behind.count];
  }
  return goes_on;
}

static bool behind_begin(const zocl_module *module, const cache_key *key,
                         const char *shapes, int limit)
{
  char path[PATH_MAX];
  size_t size;
  tool_text ignored = {0};
  struct behind *job = &behind.jobs[behind.count];
  void *task =
      helper_find(path, &ignored) ? task_new(module, shapes, &size) : NULL;
  bool begun = task != NULL &&
               zocl_server_start(path, task, size, limit, &job->answer);
  if (begun) {
    job->key = *key;
    behind.count++;
  }
  free(task);
  free(ignored.text);
  return begun;
}

/* Waits for an earlier compilation with this key, but not forever. */
static void behind_await(const cache_key *key, int limit)
{
  enum { SLICE_US = 2000 };
  bool goes_on = true, failed;
  int64_t us = (int64_t)TOOL_WAITING * 1000000 * limit;
  for (; goes_on && us > 0; us -= SLICE_US) {
    pthread_mutex_lock(&behind.lock);
    goes_on = behind_goes_on(key, &failed);
    pthread_mutex_unlock(&behind.lock);
    if (goes_on) usleep(SLICE_US);
  }
}

ze_result_t zocl_build_shapes(const zocl_module *module, const char *shapes)
{
  tool_text log = {0};
  if (!may_compile(module))
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  cache_key key = shapes_key(module, shapes);
  int limit = helper_limit(&log);
  behind_await(&key, limit > 0 ? limit : DEFAULT_LIMIT);
  if (good_has(&key)) {
    free(log.text);
    return ZE_RESULT_SUCCESS;
  }
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (limit >= 0 &&
      helper_run(module, shapes, limit > 0 ? limit : DEFAULT_LIMIT, &log))
    good_add(&key);
  else
    result = zocl_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "%s",
                       log.text != NULL ? log.text : "out of memory");
  free(log.text);
  return result;
}

ze_result_t zocl_build_shapes_start(const zocl_module *module,
                                    const char *shapes, bool cheaply)
{
  tool_text log = {0};
  int limit = helper_limit(&log);
  free(log.text);
  if (limit < 0 || !may_compile(module))
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  cache_key key = shapes_key(module, shapes);
  ze_result_t result = ZE_RESULT_NOT_READY;
  bool failed;
  pthread_mutex_lock(&behind.lock);
  bool goes_on = behind_goes_on(&key, &failed);
  if (good_has(&key))
    result = ZE_RESULT_SUCCESS;
  else if (failed)
    result = zocl_fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
                       "the kernels could not be compiled");
  else if (!goes_on &&
           (behind.count == MOST_BEHIND ||
            (cheaply && (module->spirv->kernel_count > CHEAP_KERNELS ||
                         !zocl_server_is_up())) ||
            !behind_begin(module, &key, shapes,
                          limit > 0 ? limit : DEFAULT_LIMIT)))
    result = zocl_fail(ZE_RESULT_ERROR_NOT_AVAILABLE,
                       "nothing more can be compiled beside the program");
  pthread_mutex_unlock(&behind.lock);
  return result;
}
