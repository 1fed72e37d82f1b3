/*
 * zocl_opencl.c - finding OpenCL, and checking what it needs.
 * SPDX-License-Identifier: MIT
 *
 * Implementations are found as an OpenCL loader finds them: through *.icd
 * files, each of which names a library.  We do this here rather than through
 * libOpenCL.so so that we can leave out implementations that use Level Zero
 * themselves.  They would call back into the loader that is initialising us,
 * and hang there.
 */
#include "opencl/zocl_opencl.h"
#include "base/zocl_exit.h"
#include "cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
  PATH_SIZE = 4096,
  MAX_LIBRARIES = 32,
  /* PoCL's compilation opens about a dozen files and pipes.  It was seen to
     abort with 12 free descriptors, and other threads may open some during the
     compilation. */
  NEEDED_DESCRIPTORS = 40,
  /* Room for a kernel's bitcode and code, in a few files, and for the temporary
     files of its linker: about 300 KiB for most kernels. */
  NEEDED_BYTES = 4 << 20,
  NEEDED_FILES = 16,
  /* If the limit of open files is huge, only the top of this many descriptors
     are examined, which is plenty to find free ones. */
  DESCRIPTORS_SEEN = 1 << 16
};

/* ------------------------------------------------------------------------
 * Checks before PoCL compiles.
 */

static bool path_has(const char *program)
{
  const char *path = getenv("PATH");
  char file[PATH_SIZE];
  for (; path != NULL && *path != '\0'; path += *path == ':') {
    size_t n = strcspn(path, ":");
    struct stat st;
    snprintf(file, sizeof file, "%.*s/%s", (int)n, n > 0 ? path : ".",
             program);
    if (access(file, X_OK) == 0 && stat(file, &st) == 0 &&
        S_ISREG(st.st_mode))
      return true;
    path += n;
  }
  return false;
}

/* Returns true if `needed` descriptors are free.  The system hands out the
   lowest ones first, so the top ones are nearly always free and this ends
   quickly. */
static bool descriptors_free(int needed)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  int top = limit.rlim_cur > DESCRIPTORS_SEEN ? DESCRIPTORS_SEEN
                                              : (int)limit.rlim_cur;
  for (int fd = top - 1; fd >= 0 && needed > 0; fd--)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) needed--;
  return needed <= 0;
}

/* PoCL's cache directory.  PoCL chooses it during initialisation, and so do we,
   with the rules of its pocl_cache.c, unless PoCL would create a home directory
   or share its cache with other users. */
static char cache_path[PATH_SIZE];

/* Sets PoCL's cache to a directory for temporary files that only this user can
   enter, because PoCL does not work without one.  Returns false if that fails,
   with the reason in zocl_last_error. */
static bool cache_choose_temporary(void)
{
  const char *tmp = getenv("TMPDIR"), *home = getenv("HOME");
  if (tmp == NULL || *tmp != '/') tmp = "/tmp";
  snprintf(cache_path, sizeof cache_path, "%s/lze-%lu", tmp,
           (unsigned long)geteuid());
  if (cache_make_private(cache_path) &&
      setenv("POCL_CACHE_DIR", cache_path, 1) == 0)
    return true;
  zocl_fail(0, "HOME=%s is not a directory, and '%s' cannot be PoCL's cache: "
               "it must be a directory that only this user enters (set "
               "POCL_CACHE_DIR)", home != NULL ? home : "", cache_path);
  return false;
}

static bool cache_choose(void)
{
  const char *given = getenv("POCL_CACHE_DIR");
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (given != NULL)
    snprintf(cache_path, sizeof cache_path, "%s", given);
  else if (xdg != NULL && *xdg != '\0')
    snprintf(cache_path, sizeof cache_path, "%s/pocl/kcache", xdg);
  else if (home != NULL && *home == '/')
    snprintf(cache_path, sizeof cache_path, "%s/.cache/pocl/kcache", home);
  else
    return cache_choose_temporary();
  return given != NULL || !cache_is_homeless(cache_path) ||
         cache_choose_temporary();
}

/* Finds the cache directory, or if it does not exist, its nearest existing
   parent. */
static void cache_find(char path[PATH_SIZE])
{
  memcpy(path, cache_path, PATH_SIZE);
  while (access(path, F_OK) != 0 && errno == ENOENT && *path != '\0') {
    char *slash = strrchr(path, '/');
    if (slash == NULL)
      strcpy(path, ".");
    else
      slash[slash == path] = '\0';
  }
}

/* Returns true if files can be created in the cache directory, or if the
   directory itself can be created. */
static bool cache_is_usable(void)
{
  char path[PATH_SIZE];
  cache_find(path);
  struct stat st;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
      access(path, W_OK | X_OK) == 0)
    return true;
  zocl_fail(0, "PoCL's cache directory '%s' cannot be written (set "
               "POCL_CACHE_DIR to one that can)", cache_path);
  return false;
}

/* Returns true if the file system has room for a compiled kernel; most need
   less than a quarter of this room.  If the system does not report its free
   space, assume that there is room. */
static bool cache_has_room(void)
{
  char path[PATH_SIZE];
  struct statvfs v;
  cache_find(path);
  if (statvfs(path, &v) != 0) return true;
  bool files = v.f_files == 0 || v.f_favail >= NEEDED_FILES;
  if (files && (uint64_t)v.f_bavail * v.f_frsize >= NEEDED_BYTES) return true;
  zocl_fail(0, "the file system of PoCL's cache directory '%s' is full: PoCL "
               "could not compile and would abort (make room for %d MiB, or "
               "set POCL_CACHE_DIR)", cache_path, NEEDED_BYTES >> 20);
  return false;
}

bool zocl_opencl_may_compile(const zocl_driver *driver)
{
  if (!driver->pocl) return true;
  struct sigaction action;
  if (sigaction(SIGCHLD, NULL, &action) == 0 &&
      (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT))) {
    zocl_fail(0, "SIGCHLD is ignored in this process: PoCL could not wait for "
                 "its linker and would abort (restore SIG_DFL)");
    return false;
  }
  if (!path_has("ld")) {
    zocl_fail(0, "there is no ld on PATH, which PoCL links kernels with "
                 "(install binutils, or mend PATH)");
    return false;
  }
  if (!descriptors_free(NEEDED_DESCRIPTORS)) {
    zocl_fail(0, "fewer than %d file descriptors are free: PoCL could not "
                 "compile and would abort", NEEDED_DESCRIPTORS);
    return false;
  }
  return cache_is_usable() && cache_has_room();
}

void zocl_opencl_tidy(void)
{
  enum { HOUR = 3600 };
  static const char prefix[] = "tempfile_";
  DIR *directory = *cache_path != '\0' ? opendir(cache_path) : NULL;
  if (directory == NULL) return;
  for (struct dirent *e; (e = readdir(directory)) != NULL;) {
    struct stat st;
    if (strncmp(e->d_name, prefix, sizeof prefix - 1) == 0 &&
        fstatat(dirfd(directory), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && st.st_mtime < time(NULL) - HOUR)
      unlinkat(dirfd(directory), e->d_name, 0);
  }
  closedir(directory);
}

/* ------------------------------------------------------------------------
 * Finding OpenCL.
 */

/* Returns true if an element of the comma-separated list `words` is a part of
   `text`. */
static bool list_matches(const char *words, const char *text)
{
  char word[256];
  while (*words != '\0') {
    size_t n = strcspn(words, ",");
    if (n > 0 && n < sizeof word) {
      memcpy(word, words, n);
      word[n] = '\0';
      if (strcmp(word, "all") == 0 || strstr(text, word) != NULL) return true;
    }
    words += n + (words[n] == ',');
  }
  return false;
}

/* Reads the first line of an .icd file, without blanks. */
static bool icd_read(const char *path, char *library, size_t cap)
{
  FILE *f = fopen(path, "re");
  if (f == NULL) return false;
  bool ok = fgets(library, (int)cap, f) != NULL;
  fclose(f);
  if (!ok) return false;
  size_t start = strspn(library, " \t");
  size_t n = strcspn(library + start, " \t\r\n");
  memmove(library, library + start, n);
  library[n] = '\0';
  return n > 0;
}

static int is_icd(const struct dirent *entry)
{
  size_t n = strlen(entry->d_name);
  return n > 4 && strcmp(entry->d_name + n - 4, ".icd") == 0;
}

/* Lists the names of all vendors' libraries, as malloc'ed strings. */
static size_t libraries_list(char **libraries)
{
  static const char vendors[] = "/etc/OpenCL/vendors";
  const char *given = secure_getenv("OCL_ICD_VENDORS");
  const char *directory = vendors;
  char path[PATH_SIZE], library[PATH_SIZE];
  struct stat st;
  if (given != NULL && *given != '\0') {
    /* A directory, an .icd file (in the usual directory if the name has no
       slash) or a library: both common loaders accept these. */
    size_t n = strlen(given);
    if (stat(given, &st) == 0 && S_ISDIR(st.st_mode))
      directory = given;
    else if (n > 4 && strcmp(given + n - 4, ".icd") == 0) {
      snprintf(path, sizeof path, "%s%s%s", strchr(given, '/') ? "" : vendors,
               strchr(given, '/') ? "" : "/", given);
      if (!icd_read(path, library, sizeof library)) return 0;
      libraries[0] = strdup(library);
      return libraries[0] != NULL;
    } else {
      libraries[0] = strdup(given);
      return libraries[0] != NULL;
    }
  }
  struct dirent **entries;
  int n = scandir(directory, &entries, is_icd, alphasort);
  size_t count = 0;
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    if (count < MAX_LIBRARIES && icd_read(path, library, sizeof library) &&
        (libraries[count] = strdup(library)) != NULL)
      count++;
    free(entries[i]);
  }
  if (n >= 0) free(entries);
  return count;
}

/* Returns true if a library, already mapped, uses Level Zero itself.  Intel's
   OpenCL for GPUs may, and PoCL with a Level Zero device does. */
static bool library_recurses(void *handle)
{
  struct link_map *map;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
  const char *strings = NULL;
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_NEEDED && strings != NULL &&
        strstr(strings + d->d_un.d_val, "libze_loader") != NULL)
      return true;
  if (strstr(map->l_name, "pocl") == NULL || getenv("POCL_DEVICES") != NULL)
    return false;
  const char *slash = strrchr(map->l_name, '/');
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%.*s/pocl/libpocl-devices-level0.so",
           slash != NULL ? (int)(slash - map->l_name) : 0, map->l_name);
  return access(path, F_OK) == 0;
}

/* PoCL 6 ends the process in clGetPlatformIDs if it cannot determine the
   hardware. */
static bool machine_is_readable(void)
{
  bool proc = access("/proc/self/status", R_OK) == 0;
  bool sys = access("/sys/devices/system/cpu", R_OK) == 0;
  if (proc && sys) return true;
  zocl_fail(0, "PoCL needs %s%s%s, which %s not mounted here",
            proc ? "" : "/proc", proc || sys ? "" : " and ", sys ? "" : "/sys",
            proc || sys ? "is" : "are");
  return false;
}

static void *thread_pass(void *lock)
{
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

/* Returns the number of threads that PoCL will start, at most `most`.  PoCL may
   start more if only this process is restricted to some of the processors. */
static int threads_wanted(int most)
{
  static const char *const names[] = {"POCL_MAX_PTHREAD_COUNT",
                                      "POCL_CPU_MAX_CU_COUNT"};
  cpu_set_t processors;
  long count = sched_getaffinity(0, sizeof processors, &processors) == 0
                   ? CPU_COUNT(&processors)
                   : 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = getenv(names[i]);
    long n = text != NULL ? strtol(text, NULL, 10) : 0;
    if (n > 0) count = n;
  }
  return count < most ? (int)count : most;
}

/* Returns true if as many threads as PoCL needs can exist at once, because PoCL
   ends the process if it cannot start them. */
static bool threads_are_there(void)
{
  enum { MOST = 256 };
  pthread_t threads[MOST];
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int wanted = threads_wanted(MOST), count = 0;
  pthread_mutex_lock(&lock);
  while (count < wanted &&
         zocl_thread_start(&threads[count], thread_pass, &lock))
    count++;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  if (count == wanted) return true;
  zocl_fail(0, "%d of %d threads can be started: PoCL could not start its own "
               "and would abort (raise the limit of processes, or set "
               "POCL_MAX_PTHREAD_COUNT)", count, wanted);
  return false;
}

/* Appends the platforms of one library to `platforms`. */
static size_t library_platforms(const char *name, const char *chosen,
                                zocl_platform *platforms, size_t cap)
{
  const char *base = strrchr(name, '/');
  base = base != NULL ? base + 1 : name;
  if (chosen != NULL && !list_matches(chosen, base)) {
    zocl_fail(0, "%s is not among LZE_OPENCL=%s", base, chosen);
    return 0;
  }
  if (chosen == NULL && strstr(base, "igdrcl") != NULL) {
    zocl_fail(0, "%s is left out: Intel's GPUs have a Level Zero driver of "
                 "their own (LZE_OPENCL=all to use it)", base);
    return 0;
  }
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    zocl_fail(0, "%s", dlerror());
    return 0;
  }
  if (library_recurses(handle)) {
    zocl_fail(0, "%s is left out: it uses Level Zero itself (for PoCL, set "
                 "POCL_DEVICES=cpu)", base);
    dlclose(handle);
    return 0;
  }
  if (strstr(base, "pocl") != NULL) {
    if (!cache_choose() || !machine_is_readable() || !cache_is_usable() ||
        !threads_are_there())
      return 0;
  }

  /* From here on the library stays loaded: OpenCL cannot be shut down. */
  void *(*find)(const char *);
  *(void **)&find = dlsym(handle, "clGetExtensionFunctionAddress");
  cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
  if (find != NULL) *(void **)&get = find("clIcdGetPlatformIDsKHR");
  cl_platform_id ids[8];
  cl_uint count = 0;
  if (get == NULL || get(8, ids, &count) != CL_SUCCESS) {
    zocl_fail(0, "%s has no OpenCL platform", base);
    return 0;
  }
  size_t n = 0;
  for (cl_uint i = 0; i < count && i < 8 && n < cap; i++) {
    platforms[n].id = ids[i];
    /* cl_khr_icd: every object starts with the address of its function
       table. */
    platforms[n].cl = *(zocl_cl **)ids[i];
    n++;
  }
  return n;
}

static bool compiles_now(void);

size_t zocl_opencl_platforms(zocl_platform *platforms, size_t cap)
{
  zocl_exit_watch(compiles_now);
  char *libraries[MAX_LIBRARIES];
  size_t count = libraries_list(libraries), n = 0;
  const char *chosen = secure_getenv("LZE_OPENCL");
  if (chosen != NULL && *chosen == '\0') chosen = NULL;
  if (count == 0)
    zocl_fail(0, "no OpenCL is installed (pocl-opencl-icd is one for CPUs)");
  for (size_t i = 0; i < count; i++) {
    n += library_platforms(libraries[i], chosen, platforms + n, cap - n);
    free(libraries[i]);
  }
  return n;
}

/* ------------------------------------------------------------------------
 * Exit.
 */

/* First launches of kernels that may not have begun to run, each with a
   reference. */
static struct {
  pthread_mutex_t lock;
  size_t count, room;
  struct first_launch {
    zocl_cl *cl;
    cl_event event;
  } *launches;
} first = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Removes launches that have begun to run.  Returns true if PoCL is compiling a
   kernel: the launch is then submitted, while it is queued before that and
   running afterwards.  Caller holds the lock. */
static bool first_look(void)
{
  bool compiling = false;
  size_t kept = 0;
  for (size_t i = 0; i < first.count; i++) {
    struct first_launch *l = &first.launches[i];
    cl_int status = CL_COMPLETE;
    l->cl->clGetEventInfo(l->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                          sizeof status, &status, NULL);
    if (status > CL_RUNNING)
      first.launches[kept++] = *l;
    else
      l->cl->clReleaseEvent(l->event);
    compiling |= status == CL_SUBMITTED;
  }
  first.count = kept;
  return compiling;
}

void zocl_opencl_compiling(const zocl_driver *driver, cl_event event)
{
  if (!driver->pocl) return;
  pthread_mutex_lock(&first.lock);
  if (first.count == first.room) {
    first_look();
    size_t room = 2 * first.count + 16;
    struct first_launch *more =
        realloc(first.launches, room * sizeof *more);
    if (more != NULL) {
      first.launches = more;
      first.room = room;
    }
  }
  if (first.count < first.room) {
    driver->cl->clRetainEvent(event);
    first.launches[first.count++] = (struct first_launch){driver->cl, event};
  }
  pthread_mutex_unlock(&first.lock);
}

static bool compiles_now(void)
{
  pthread_mutex_lock(&first.lock);
  bool compiling = first_look();
  pthread_mutex_unlock(&first.lock);
  return compiling;
}
